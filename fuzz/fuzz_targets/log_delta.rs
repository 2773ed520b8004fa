//! The checkpoint log of lines: any bytes are read, and a sound log has one spelling.

#![no_main]

use contextnest::files::vault::config::LogForm;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| contextnest_fuzz::check_log(LogForm::Delta, bytes));
