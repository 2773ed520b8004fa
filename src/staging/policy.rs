//! What is staged, and for how long (STAGE-9, STAGE-10).

use crate::model::timestamp::Timestamp;
use crate::vault::staging::Staging;

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// What a source says of staging its results, as `stage` in its block `source`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Capture {
    /// They are not staged.
    Never,
    /// They are staged where the vault stages.
    #[default]
    Default,
    /// They are staged.
    Always,
}

impl Capture {
    /// Each with its word.
    pub const ALL: [(&'static str, Self); 3] =
        [("never", Self::Never), ("default", Self::Default), ("always", Self::Always)];

    /// For how many days a result is kept; none if it is not staged. `retention` is the source's own.
    pub fn days(self, staging: Staging, retention: Option<u64>) -> Option<u64> {
        let is_staged = match self {
            Self::Never => false,
            Self::Default => staging.is_enabled(),
            Self::Always => true,
        };
        is_staged.then(|| retention.unwrap_or(staging.retention))
    }
}

/// When an entry may be collected that is kept for so many days.
pub fn retention_until(at: Timestamp, days: u64) -> Timestamp {
    let days = i64::try_from(days).unwrap_or(i64::MAX);
    let until = at.millis().saturating_add(days.saturating_mul(DAY));
    Timestamp::from_millis(until.min(Timestamp::MAX.millis()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_decides_over_the_vault() {
        let on = Staging { enabled: Some(true), ..Staging::default() };
        let off = Staging { enabled: Some(false), ..Staging::default() };
        for (capture, staging, own, days) in [
            (Capture::Never, on, Some(3), None),
            (Capture::Default, on, None, Some(30)),
            (Capture::Default, on, Some(3), Some(3)),
            (Capture::Default, off, Some(3), None),
            (Capture::Always, off, None, Some(30)),
        ] {
            assert_eq!(capture.days(staging, own), days, "{capture:?}");
        }
    }

    #[test]
    fn no_retention_overflows_the_calendar() {
        let at = Timestamp::from_millis(0);
        assert_eq!(retention_until(at, 1).millis(), DAY);
        assert_eq!(retention_until(at, u64::MAX), Timestamp::MAX);
    }
}
