//! Freshness of recorded results: when a result may be used again (SRC-10).

use super::call::SourceCall;
use crate::record::audit::{Hydration, Line};
use crate::values::codes::words;
use crate::values::model::timestamp::Timestamp;

/// A hydration of a source in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedResult {
    /// Name of its line.
    pub(crate) trace: String,
    /// Time when it was recorded.
    pub(crate) at: Timestamp,
    /// Time until which its result is fresh; `None` without a time to live.
    pub(crate) until: Option<Timestamp>,
    /// Recorded hydration.
    pub(crate) hydration: Hydration,
}

words! {
    /// Reason why no recorded result of a source may be used again.
    pub(crate) enum Stale {
        /// No result is recorded.
        Unrecorded = "unrecorded",
        /// The source does not set a time to live.
        NoTtl = "no-ttl",
        /// The last call failed.
        Failed = "failed",
        /// The source was published again since the last result.
        OtherVersion = "other-version",
        /// The last result has a time in the future.
        Later = "later",
        /// The time to live of the last result has expired.
        Expired = "expired",
        /// A reviewer discarded the staged result.
        Discarded = "discarded",
        /// The staged result was erased.
        Erased = "erased",
    }
}

impl Stale {
    /// Returns the reason as a sentence.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Unrecorded => "no result of it is recorded in this session",
            Self::NoTtl => "the source does not set `cache_ttl`",
            Self::Failed => "the last call failed",
            Self::OtherVersion => "the source was published again since the last result",
            Self::Later => "the last result has a time in the future",
            Self::Expired => "the time to live of the last result has expired",
            Self::Discarded => "the last result was staged and discarded, and is no longer kept",
            Self::Erased => "the last result was staged and erased, and is no longer kept",
        }
    }
}

/// A result that may be used again, or the last one with the reason why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Freshness {
    /// The hydration, if one is recorded.
    pub(crate) result: Option<RecordedResult>,
    /// Reason why it may not be used; `None` if it may.
    pub(crate) stale: Option<Stale>,
}

impl RecordedResult {
    /// Parses a line as a result of a source; `None` for any other line.
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

/// Returns the result of a session that may be used again, or the reason why none may. The results
/// must be in the order of recording.
pub(crate) fn freshness(
    call: &SourceCall<'_>,
    results: Vec<RecordedResult>,
    now: Timestamp,
) -> Freshness {
    let mut last: Option<Freshness> = None;
    for result in results {
        let stale = result.stale(call, now);
        // A result that may be used comes before every one that may not.
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
