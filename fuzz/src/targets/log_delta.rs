//! The checkpoint log of lines: any bytes are read, and a sound log has one spelling.

use contextnest::files::vault::config::LogForm;

use super::check_log;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    check_log(LogForm::Delta, bytes);
}
