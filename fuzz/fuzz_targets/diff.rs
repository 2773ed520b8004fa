//! Diffs: any patch has a verdict and produces no more text than its input; a printed diff applies.
//!
//! The input is two texts with a NUL between them.

#![no_main]

use contextnest::model::number::Version;
use contextnest::record::chain::diff::{apply, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (old, second) = text.split_once('\0').unwrap_or(("", text));
    if let Ok(new) = apply(old, second) {
        assert!(new.len() <= old.len() + second.len());
    }
    let patch = print(old, second, Version(1), Version(2));
    assert_eq!(apply(old, &patch).as_deref(), Ok(second), "{patch}");
});
