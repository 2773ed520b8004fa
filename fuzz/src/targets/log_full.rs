//! The checkpoint log of whole maps: any bytes are read, and a sound log is spelled and read back.

use contextnest::files::vault::config::LogForm;

use super::check_log;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    check_log(LogForm::Full, bytes);
}
