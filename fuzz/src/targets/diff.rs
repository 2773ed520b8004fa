//! Diffs: any patch has a verdict and produces no more text than its input; a printed diff applies.
//!
//! The input is two texts with a NUL between them.

use contextnest::model::number::Version;
use contextnest::record::chain::diff::{apply, print};

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let text = super::text(bytes);
    let (old, second) = text.split_once('\0').unwrap_or(("", text));
    if let Ok(new) = apply(old, second) {
        assert!(new.len() <= old.len() + second.len());
    }
    let patch = print(old, second, Version(1), Version(2));
    assert_eq!(apply(old, &patch).as_deref(), Ok(second), "{patch}");
}
