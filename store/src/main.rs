//! The program. All it does is to hand over to the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    gaia_bus::cli::main()
}
