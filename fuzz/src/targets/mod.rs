//! The fuzz targets. A target panics if its input breaks a promise.

use super::{alter, authorities, bundle, check_log, input, vault};

pub mod audit;
pub mod diff;
pub mod document;
pub mod evidence;
pub mod history;
pub mod log_delta;
pub mod log_full;
pub mod message;
pub mod selector;
pub mod uri;
pub mod verify;

/// Returns the valid text that an input begins with.
fn text(bytes: &[u8]) -> &str {
    bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}
