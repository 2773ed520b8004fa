//! The checkpoint log of whole maps: any bytes are read, and a sound log is spelled and read back.

#![no_main]

use contextnest::files::vault::config::LogForm;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| contextnest_fuzz::check_log(LogForm::Full, bytes));
