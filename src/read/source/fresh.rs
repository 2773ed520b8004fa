//! Whether a recorded result may be used again (SRC-10).

use super::call::SourceCall;
use crate::record::audit::{Hydration, Line};
use crate::values::codes::words;
use crate::values::model::timestamp::Timestamp;

/// A hydration of a source in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedResult {
    /// What names its line.
    pub(crate) trace: String,
    /// When it was recorded.
    pub(crate) at: Timestamp,
    /// Until when its result is fresh; none without a time to live.
    pub(crate) until: Option<Timestamp>,
    /// What it says.
    pub(crate) hydration: Hydration,
}

words! {
    /// Why no recorded result of a source may be used again.
    pub(crate) enum Stale {
        /// None is recorded.
        Unrecorded = "unrecorded",
        /// The source names no time to live.
        NoTtl = "no-ttl",
        /// The last one failed.
        Failed = "failed",
        /// The last one is as another version of the source says.
        OtherVersion = "other-version",
        /// The last one is of a time after now.
        Later = "later",
        /// The time to live of the last one is over.
        Expired = "expired",
        /// A reviewer discarded the staged result.
        Discarded = "discarded",
        /// The staged result was erased.
        Erased = "erased",
    }
}

impl Stale {
    /// What it means.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Unrecorded => "no result of it is recorded in this session",
            Self::NoTtl => "the source names no `cache_ttl`",
            Self::Failed => "the last result is one of a call that failed",
            Self::OtherVersion => "the source was published again since the last result",
            Self::Later => "the last result is of a time after now",
            Self::Expired => "the time to live of the last result is over",
            Self::Discarded => "the last result was staged and discarded, and is no longer kept",
            Self::Erased => "the last result was staged and erased, and is no longer kept",
        }
    }
}

/// The result that may be used again, or the last one with the reason why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Freshness {
    /// The hydration.
    pub(crate) result: Option<RecordedResult>,
    /// Why it may not be used.
    pub(crate) stale: Option<Stale>,
}

impl RecordedResult {
    /// A line as a result of a source; none for a line of something else.
    pub(crate) fn of(line: &Line, ttl: Option<u64>) -> Option<Self> {
        let at: Timestamp = line.at.parse().ok()?;
        let millis = ttl.map(|ttl| i64::try_from(ttl.saturating_mul(1000)).unwrap_or(i64::MAX));
        let until = millis.map(|ms| Timestamp::from_millis(at.millis().saturating_add(ms)));
        let hydration = line.hydration()?.clone();
        Some(Self { trace: line.trace().to_string(), at, until, hydration })
    }

    fn stale(&self, call: &SourceCall<'_>, now: Timestamp) -> Option<Stale> {
        let is_same = self.hydration.chain_hash == call.served.entry.chain_hash.to_string();
        match self.until {
            _ if self.hydration.error.is_some() => Some(Stale::Failed),
            _ if !is_same => Some(Stale::OtherVersion),
            _ if self.at > now => Some(Stale::Later),
            None => Some(Stale::NoTtl),
            Some(until) if now >= until => Some(Stale::Expired),
            Some(_) => None,
        }
    }
}

/// Which of the results of a session may be used again, in the order in which they were recorded.
pub(crate) fn freshness(
    call: &SourceCall<'_>,
    results: Vec<RecordedResult>,
    now: Timestamp,
) -> Freshness {
    let mut last: Option<Freshness> = None;
    for result in results {
        let stale = result.stale(call, now);
        // A result that may be used counts before every one that may not.
        let is_next = last.as_ref().is_none_or(|last| match (last.stale, stale) {
            (None, Some(_)) => false,
            (Some(_), None) => true,
            _ => last.result.as_ref().is_none_or(|last| last.at <= result.at),
        });
        if is_next {
            last = Some(Freshness { result: Some(result), stale });
        }
    }
    last.unwrap_or(Freshness { result: None, stale: Some(Stale::Unrecorded) })
}
