//! Decides which results are staged, and for how long (STAGE-9, STAGE-10).

use crate::files::vault::staging::Staging;
use crate::values::model::stage::StagePolicy;
use crate::values::model::timestamp::Timestamp;

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Returns the number of days for which a result is kept; `None` if it is not staged. `policy` and
/// `retention` are the values of the source.
pub fn days_kept(
    policy: Option<StagePolicy>,
    staging: Staging,
    retention: Option<u64>,
) -> Option<u64> {
    let is_staged = match policy {
        Some(StagePolicy::Never) => false,
        None | Some(StagePolicy::Default) => staging.is_enabled(),
        Some(StagePolicy::Always) => true,
    };
    is_staged.then(|| retention.unwrap_or(staging.retention))
}

/// Returns the time from which an entry that is kept for this number of days may be collected.
pub fn retention_until(at: Timestamp, days: u64) -> Timestamp {
    let days = i64::try_from(days).unwrap_or(i64::MAX);
    let until = at.millis().saturating_add(days.saturating_mul(DAY));
    Timestamp::from_millis(until.min(Timestamp::MAX.millis()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_kept_prefers_the_source_over_the_vault() {
        let on = Staging { enabled: Some(true), ..Staging::default() };
        let off = Staging { enabled: Some(false), ..Staging::default() };
        for (policy, staging, own, days) in [
            (Some(StagePolicy::Never), on, Some(3), None),
            (None, on, None, Some(30)),
            (None, off, None, None),
            (Some(StagePolicy::Default), on, Some(3), Some(3)),
            (Some(StagePolicy::Default), off, Some(3), None),
            (Some(StagePolicy::Always), off, None, Some(30)),
        ] {
            assert_eq!(days_kept(policy, staging, own), days, "{policy:?}");
        }
    }

    #[test]
    fn retention_until_is_limited_by_the_calendar() {
        let at = Timestamp::from_millis(0);
        assert_eq!(retention_until(at, 1).millis(), DAY);
        assert_eq!(retention_until(at, u64::MAX), Timestamp::MAX);
    }
}
