//! Anchors: knowledge about a log from outside of the vault (`spec/verify.md`, section 6).
//!
//! The files of a vault can show that a record contradicts itself, but never that it is the record
//! of yesterday. An anchor is a checkpoint hash that a user keeps elsewhere.

use super::finding::{Code, Finding};
use super::log::View;
use crate::record::audit::past::PastLogs;
use crate::record::trusted_head::{Head, Lost, TrustedHead};
use crate::values::codes::serialize_as_words;
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;

/// Knowledge about a log from outside of the vault.
#[derive(Clone, Debug)]
pub struct Anchor {
    /// Source of the anchor.
    pub source: AnchorSource,
    known: Known,
    /// Audit logs and staging chains at the revision or merge base.
    pub(super) logs: Option<PastLogs>,
}

/// Source of an anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnchorSource {
    /// Named in the request.
    Expected,
    /// Trusted head in the state directory of the user.
    Trusted {
        /// Time since which the head is trusted.
        since: Timestamp,
    },
    /// Log at a revision of a repository.
    Revision {
        /// Revision, as it was named.
        name: String,
        /// Commit of the revision.
        commit: String,
    },
    /// Log at the last commit that this branch has in common with a revision. It vouches for
    /// nothing: a process that can choose the branch can choose that commit.
    MergeBase {
        /// Revision, as it was named.
        name: String,
        /// Commit in common.
        commit: String,
        /// Number of checkpoints of the log at the revision that this log does not contain.
        behind: u64,
    },
}

serialize_as_words!(AnchorSource);

impl AnchorSource {
    /// Returns the word of the source in reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Expected => "expected",
            Self::Trusted { .. } => "trusted-head",
            Self::Revision { .. } => "revision",
            Self::MergeBase { .. } => "merge-base",
        }
    }

    /// Returns how something is known from the source, for people.
    pub(super) fn known(&self) -> String {
        match self {
            Self::Expected => "expected".to_owned(),
            Self::Trusted { .. } => "trusted on this machine".to_owned(),
            Self::Revision { name, .. } => format!("known from revision {name}"),
            Self::MergeBase { name, .. } => format!("known from the merge base with {name}"),
        }
    }

    /// Returns the explanation that a branch may be behind the revision; empty for other sources.
    pub(super) fn fork(&self) -> String {
        // Only git knows whether a branch is behind another one.
        match self {
            // A hook names the commit itself, and the branch is not behind it.
            Self::Revision { name, commit } if !commit.starts_with(name.as_str()) => format!(
                "; this branch is behind {name}, or its log was rolled back: `--since-fork {name}` accepts the former"
            ),
            _ => String::new(),
        }
    }
}

#[derive(Clone, Debug)]
enum Known {
    /// Hash of some checkpoint of the log.
    Somewhere(Digest),
    /// Head that the log once had; with the checkpoint that its side line leaves, if the log holds
    /// it on one and it is known how it came there (MERGE-25).
    Head(Head, Option<CheckpointNumber>),
    /// Hashes that checkpoints 1, 2, 3 and so on once had.
    Sequence(Vec<Digest>),
    /// Hashes at a merge base, and at the revision that it is the merge base with.
    Fork { base: Vec<Digest>, theirs: Vec<Digest> },
}

/// An anchor that the log contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorResult {
    /// Source of the anchor.
    pub source: AnchorSource,
    /// Last checkpoint that the source knows; 0 for an empty log.
    pub checkpoint: CheckpointNumber,
    /// Hash of that checkpoint.
    pub hash: Option<Digest>,
    /// Checkpoint that the source knows, if it is on a side line. The result is then the checkpoint
    /// that this line leaves (MERGE-24).
    pub side: Option<CheckpointNumber>,
}

impl AnchorResult {
    /// Returns true if the anchor vouches for a checkpoint.
    pub fn vouches(&self) -> bool {
        self.checkpoint > CheckpointNumber::NONE
            && !matches!(self.source, AnchorSource::MergeBase { .. })
    }
}

impl Anchor {
    /// Makes an anchor of a hash that one of the log's checkpoints must have.
    pub fn expected(hash: Digest) -> Self {
        Self { source: AnchorSource::Expected, known: Known::Somewhere(hash), logs: None }
    }

    /// Makes an anchor of a trusted head. `leaves` is the checkpoint that its side line leaves, if
    /// it is on one and counts as held.
    pub(super) fn remembered(trusted: &TrustedHead, leaves: Option<CheckpointNumber>) -> Self {
        let source = AnchorSource::Trusted { since: trusted.at };
        Self { source, known: Known::Head(trusted.head, leaves), logs: None }
    }

    /// Makes an anchor of the hashes of all checkpoints at a revision. The log must begin
    /// with them.
    pub fn revision(name: String, commit: String, hashes: Vec<Digest>) -> Self {
        let source = AnchorSource::Revision { name, commit };
        Self { source, known: Known::Sequence(hashes), logs: None }
    }

    /// Makes an anchor of the hashes of all checkpoints at a merge base, with which the log must
    /// begin, and of those at the revision.
    pub fn merge_base(
        name: String,
        commit: String,
        base: Vec<Digest>,
        theirs: Vec<Digest>,
    ) -> Self {
        let source = AnchorSource::MergeBase { name, commit, behind: 0 };
        Self { source, known: Known::Fork { base, theirs }, logs: None }
    }

    /// Returns the anchor with the audit logs and staging chains of its revision or merge base, which
    /// must be the beginning of the present ones.
    #[must_use]
    pub(crate) fn with_logs(self, logs: PastLogs) -> Self {
        Self { logs: Some(logs), ..self }
    }

    /// Checks that the main line of the log contains the anchor, or, if `allow_merged` is true, that
    /// the log holds it; returns a finding otherwise.
    pub(super) fn check(
        self,
        view: &View,
        allow_merged: bool,
        path: &str,
    ) -> Result<AnchorResult, Finding> {
        let last = view.head_number;
        let hash_of = |number: CheckpointNumber| view.hash_of(number);
        let source = self.source;
        let held = |checkpoint, hash| AnchorResult {
            source: source.clone(),
            checkpoint,
            hash,
            side: None,
        };
        let left = |leaves, side| AnchorResult { side, ..held(leaves, view.hash_of(leaves)) };
        // An anchor on a side line is refused with another reason than one that is nowhere.
        let lost = |hash: Option<&Digest>, why: Finding| match hash
            .and_then(|hash| view.held.side_of(hash))
        {
            Some((side, leaves)) if allow_merged => Ok(left(leaves, Some(side))),
            Some((side, leaves)) => {
                let message = format!(
                    "checkpoint {side} is {}, and the log holds it on a side line that leaves \
                         the main line after checkpoint {leaves}",
                    source.known()
                );
                let finding = Finding::new(Code::HeadFork, path, message).checkpoint(side);
                Err(Finding { expected: hash.map(ToString::to_string), ..finding })
            }
            None => Err(why),
        };
        match self.known {
            Known::Somewhere(hash) => match view.number_of(&hash) {
                Some(checkpoint) => Ok(held(checkpoint, Some(hash))),
                None => {
                    let message = format!(
                        "no checkpoint has the expected hash; the log ends at checkpoint {last}"
                    );
                    let finding = Finding::new(Code::HeadRollback, path, message);
                    let finding = Finding { expected: Some(hash.to_string()), ..finding };
                    lost(Some(&hash), finding)
                }
            },
            Known::Head(head, leaves) => match head.is_held(last, hash_of) {
                Ok(()) => Ok(held(head.checkpoint, head.hashes.map(|hashes| hashes.last))),
                Err(why) => match leaves {
                    Some(leaves) => Ok(left(leaves, Some(head.checkpoint))),
                    None => {
                        let hash = head.hashes.map(|hashes| hashes.last);
                        lost(hash.as_ref(), finding_of(&why, &source, path))
                    }
                },
            },
            Known::Sequence(hashes) => match sequence(&hashes, view) {
                Some(why) => lost(hashes.last(), finding_of(&why, &source, path)),
                None => Ok(held(CheckpointNumber::of_count(hashes.len()), hashes.last().copied())),
            },
            Known::Fork { base, theirs } => {
                if let Some(why) = sequence(&base, view) {
                    return lost(base.last(), finding_of(&why, &source, path));
                }
                let same = CheckpointNumber::sequence()
                    .zip(&theirs)
                    .take_while(|(n, hash)| hash_of(*n) == Some(**hash));
                let beyond = theirs.len() - same.count();
                let mut held = held(CheckpointNumber::of_count(base.len()), base.last().copied());
                if let AnchorSource::MergeBase { behind, .. } = &mut held.source {
                    *behind = beyond as u64;
                }
                Ok(held)
            }
        }
    }
}

/// Returns the reason why a log does not begin with checkpoints of these hashes; `None` if it does.
fn sequence(hashes: &[Digest], view: &View) -> Option<Lost> {
    let other =
        hashes.iter().zip(CheckpointNumber::sequence()).find_map(|(expected, checkpoint)| {
            let found = view.hash_of(checkpoint).filter(|found| found != expected)?;
            Some(Lost::Fork { checkpoint, expected: *expected, found })
        });
    let missing = CheckpointNumber::sequence()
        .zip(hashes)
        .find(|(number, _)| view.hash_of(*number).is_none());
    let (checkpoint, last) = (CheckpointNumber::of_count(hashes.len()), view.head_number);
    let gone =
        missing.and(hashes.last()).map(|hash| Lost::Rollback { checkpoint, hash: *hash, last });
    other.or(gone)
}

/// Returns the finding for a head that the log does not contain.
fn finding_of(why: &Lost, source: &AnchorSource, path: &str) -> Finding {
    let (known, fork) = (source.known(), source.fork());
    match why {
        Lost::Rollback { checkpoint, hash, last } => {
            let message = format!("it is {known}, but the log ends at checkpoint {last}{fork}");
            let finding = Finding::new(Code::HeadRollback, path, message).checkpoint(*checkpoint);
            Finding { expected: Some(hash.to_string()), ..finding }
        }
        Lost::Fork { checkpoint, expected, found } => {
            let message = format!("it is {known} with another hash{fork}");
            let finding = Finding::new(Code::HeadFork, path, message).checkpoint(*checkpoint);
            finding.values(expected, found)
        }
    }
}
