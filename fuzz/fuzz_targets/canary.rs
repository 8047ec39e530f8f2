//! See `gaia_bus_harness::fuzzing::canary`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gaia_bus_harness::fuzzing::canary(bytes));
