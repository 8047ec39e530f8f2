//! See `gaia_bus_harness::fuzzing::mcp_lines`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gaia_bus_harness::fuzzing::mcp_lines(bytes));
