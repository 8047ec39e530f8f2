//! See `gaia_bus_harness::fuzzing::raw_log`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gaia_bus_harness::fuzzing::raw_log(bytes));
