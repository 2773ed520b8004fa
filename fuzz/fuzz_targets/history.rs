#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| contextnest_fuzz::targets::history::run(bytes));
