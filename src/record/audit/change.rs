//! Actions of the change log, with their keys (AUDIT-19).

use serde::{Deserialize, Serialize};

use crate::record::checkpoint::event::Checkpoint;
use crate::record::trusted_head::Head;
use crate::values::model::id::DocumentId;

/// Maximum number of documents in one line. Further lines name the first as their cause.
pub const MAX_DOCUMENTS: usize = 1000;

/// A change of the vault, or of the head that is trusted for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Change {
    /// An event: versions were published or retired.
    Event {
        /// The checkpoint that it made.
        sealed: HeadRef,
        /// The ids that it set and removed, in order.
        ids: Vec<String>,
        /// True if a later command wrote the line, because its own was interrupted.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        recovered: bool,
    },
    /// An event is about to be committed; its checkpoint binds this line (AUDIT-25).
    Bind {
        /// The time of the event.
        event_at: String,
        /// The ends of staging chains that the checkpoint also binds (STAGE-21).
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        staged: Vec<StagedEnd>,
    },
    /// Files of an interrupted command were moved away, or live files were brought up to date.
    Recover {
        /// The paths of the files.
        paths: Vec<String>,
    },
    /// The checkpoint log was derived from the histories, or converted to its other form.
    ReplaceLog {
        /// The end of the new log.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        to: Option<HeadRef>,
    },
    /// A head was trusted, whatever was trusted before.
    HeadTrust {
        /// The head that was trusted before.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        from: Option<HeadRef>,
        /// The head that is trusted now; `None` for the empty log.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        to: Option<HeadRef>,
        /// The lines of this user that the logs in the vault lack, and that are given up.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        lost: Vec<LostLines>,
    },
    /// Texts were submitted.
    Submit(ReviewStep),
    /// Submissions were approved, and need more approvals.
    ApproveInPart(ReviewStep),
    /// Submissions were rejected.
    Reject(ReviewStep),
    /// Submissions were withdrawn.
    Withdraw(ReviewStep),
    /// Emergency retirements were ratified.
    Ratify(ReviewStep),
    /// Documents were retired by one reviewer; the event has its own line.
    Emergency(ReviewStep),
    /// A comment on a submission was recorded.
    Comment {
        /// The version of the submission.
        version: VersionRef,
        /// The text of the comment.
        text: String,
    },
    /// A draft was written: a live file whose text is not a version.
    Draft {
        /// The document and its bytes.
        draft: DraftRef,
    },
    /// The trusted head of the vault was deleted.
    HeadForget {
        /// The head that was trusted.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        from: Option<HeadRef>,
    },
    /// Staged entries were pinned.
    Pin(StagedStep),
    /// Staged entries were unpinned.
    Unpin(StagedStep),
    /// A staged entry became a document; the version has its own line.
    Promote(StagedStep),
    /// A reviewer discarded staged entries.
    Discard(StagedStep),
    /// Staged entries were collected after their retention.
    Collect(StagedStep),
    /// The content of staged entries was removed.
    Erase(StagedStep),
    /// A user acknowledges that the line of an event is missing, because its writer can no longer
    /// add one.
    Acknowledge {
        /// The checkpoint of the event.
        acknowledged: HeadRef,
        /// The user's reason.
        reason: String,
    },
    /// A reviewer dismissed submissions that no history contains. They no longer prevent their
    /// principals from approving (REV-28).
    Dismiss {
        /// Their versions, as their own lines name them.
        dismissed: Vec<VersionRef>,
        /// The reviewer's reason.
        reason: String,
    },
    /// A hold was placed on accesses.
    Hold {
        /// The held accesses, and the reason.
        hold: Hold,
    },
    /// A hold was lifted.
    Lift {
        /// The id of the hold.
        lifted: String,
        /// The reason for lifting it.
        reason: String,
    },
    /// The oldest accesses are deleted after this line.
    Prune {
        /// Only accesses before this time are deleted.
        before: String,
        /// The last deleted line of each writer.
        pruned: Vec<Cut>,
    },
}

/// Lines of a writer that are missing from its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct LostLines {
    /// The id of the writer.
    pub writer: String,
    /// The number of the first missing line.
    pub from: u64,
    /// The number of the last missing line.
    pub to: u64,
}

/// A step of a review. It does not make a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewStep {
    /// The versions that it made, in the order of their ids.
    pub versions: Vec<VersionRef>,
    /// The name of the set of submissions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub change: Option<String>,
    /// The reason that the user gave.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// True if a later command wrote the line, because its own was interrupted.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub recovered: bool,
}

/// An act on staged entries (STAGE-12).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedStep {
    /// The URIs of the entries.
    pub staged: Vec<String>,
    /// The id of the document that the entry became.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub document: Option<String>,
    /// The version of that document.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub document_version: Option<u64>,
    /// The reason that the user gave.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

/// The end of a staging chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedEnd {
    /// The path of the chain.
    pub chain: String,
    /// The number of its last line.
    pub seq: u64,
    /// The hash of that line.
    pub hash: String,
}

/// A live file of a document, at the time when it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftRef {
    /// The id of the document.
    pub id: String,
    /// The SHA-256 of the bytes of its live file.
    pub sha256: String,
}

/// A version of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct VersionRef {
    /// The id of the artifact.
    pub id: String,
    /// The number of the version.
    pub version: u64,
    /// The chain hash of the version.
    pub chain_hash: String,
    /// The new id of the artifact, if the version is the submission of a move.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<String>,
}

impl Change {
    /// Returns the step of a review, if the change is one.
    pub fn step(&self) -> Option<&ReviewStep> {
        match self {
            Self::Submit(step)
            | Self::ApproveInPart(step)
            | Self::Reject(step)
            | Self::Withdraw(step)
            | Self::Ratify(step)
            | Self::Emergency(step) => Some(step),
            _ => None,
        }
    }

    /// Returns the act on staged entries, if the change is one.
    pub fn staged(&self) -> Option<&StagedStep> {
        match self {
            Self::Pin(step)
            | Self::Unpin(step)
            | Self::Promote(step)
            | Self::Discard(step)
            | Self::Collect(step)
            | Self::Erase(step) => Some(step),
            _ => None,
        }
    }

    /// Returns the versions that the change names.
    pub fn versions(&self) -> &[VersionRef] {
        match self {
            Self::Comment { version, .. } => std::slice::from_ref(version),
            other => other.step().map_or(&[], |step| &step.versions),
        }
    }

    /// Returns the change for an event that made a checkpoint.
    pub(super) fn of_event(checkpoint: &Checkpoint, recovered: bool) -> Self {
        let set = checkpoint.set.iter().map(|(id, _)| id);
        let mut ids: Vec<&DocumentId> = set.chain(&checkpoint.removed).collect();
        ids.sort_unstable();
        let ids = ids.into_iter().map(ToString::to_string).collect();
        Self::Event { sealed: checkpoint.into(), ids, recovered }
    }

    /// Returns the checkpoint that an event made.
    pub fn sealed(&self) -> Option<&HeadRef> {
        match self {
            Self::Event { sealed, .. } => Some(sealed),
            _ => None,
        }
    }

    /// Returns true if a later command recorded the change.
    pub fn is_recovered(&self) -> bool {
        matches!(self, Self::Event { recovered: true, .. })
            || self.step().is_some_and(|step| step.recovered)
    }

    /// Returns the time of the event whose checkpoint binds the line.
    pub fn event_at(&self) -> Option<&str> {
        match self {
            Self::Bind { event_at, .. } => Some(event_at),
            _ => None,
        }
    }

    /// Returns the head that was trusted before the change.
    pub fn from(&self) -> Option<&HeadRef> {
        match self {
            Self::HeadTrust { from, .. } | Self::HeadForget { from } => from.as_ref(),
            _ => None,
        }
    }

    /// Returns the end of the log that is valid after the change.
    pub fn to(&self) -> Option<&HeadRef> {
        match self {
            Self::HeadTrust { to, .. } | Self::ReplaceLog { to } => to.as_ref(),
            _ => None,
        }
    }

    /// Returns the ids, paths or URIs that the change is about.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Event { ids: names, .. } | Self::Recover { paths: names } => {
                names.iter().map(String::as_str).collect()
            }
            Self::Bind { staged, .. } => staged.iter().map(|end| end.chain.as_str()).collect(),
            Self::Dismiss { dismissed, .. } => {
                dismissed.iter().map(|version| version.id.as_str()).collect()
            }
            Self::Draft { draft } => vec![draft.id.as_str()],
            other => match other.staged() {
                Some(step) => step.staged.iter().map(String::as_str).collect(),
                None => other.versions().iter().map(|version| version.id.as_str()).collect(),
            },
        }
    }

    /// Returns the reason, if the action has one from the user.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Hold { hold } => Some(&hold.reason),
            Self::Lift { reason, .. }
            | Self::Acknowledge { reason, .. }
            | Self::Dismiss { reason, .. } => Some(reason),
            other => {
                let staged = other.staged().and_then(|step| step.reason.as_deref());
                staged.or_else(|| other.step()?.reason.as_deref())
            }
        }
    }

    /// Returns the cuts of a pruning.
    pub fn pruned(&self) -> &[Cut] {
        match self {
            Self::Prune { pruned, .. } => pruned,
            _ => &[],
        }
    }

    /// Returns the value of `action`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Event { .. } => "event",
            Self::Bind { .. } => "bind",
            Self::Recover { .. } => "recover",
            Self::ReplaceLog { .. } => "replace-log",
            Self::HeadTrust { .. } => "head-trust",
            Self::HeadForget { .. } => "head-forget",
            Self::Submit(_) => "submit",
            Self::ApproveInPart(_) => "approve-in-part",
            Self::Reject(_) => "reject",
            Self::Withdraw(_) => "withdraw",
            Self::Ratify(_) => "ratify",
            Self::Emergency(_) => "emergency",
            Self::Comment { .. } => "comment",
            Self::Draft { .. } => "draft",
            Self::Pin(_) => "pin",
            Self::Unpin(_) => "unpin",
            Self::Promote(_) => "promote",
            Self::Discard(_) => "discard",
            Self::Collect(_) => "collect",
            Self::Erase(_) => "erase",
            Self::Acknowledge { .. } => "acknowledge",
            Self::Dismiss { .. } => "dismiss",
            Self::Hold { .. } => "hold",
            Self::Lift { .. } => "lift",
            Self::Prune { .. } => "prune",
        }
    }

    /// Splits the change into parts with at most [`MAX_DOCUMENTS`] names or cuts each.
    pub(super) fn parts(self) -> Vec<Self> {
        let split = |names: &[String], part: &dyn Fn(Vec<String>) -> Self| {
            names.chunks(MAX_DOCUMENTS).map(|names| part(names.to_vec())).collect()
        };
        match self {
            Self::Event { sealed, ids, recovered } if ids.len() > MAX_DOCUMENTS => {
                split(&ids, &|ids| Self::Event { sealed: sealed.clone(), ids, recovered })
            }
            Self::Recover { paths } if paths.len() > MAX_DOCUMENTS => {
                split(&paths, &|paths| Self::Recover { paths })
            }
            Self::Prune { before, pruned } if pruned.len() > MAX_DOCUMENTS => {
                let cuts = pruned.chunks(MAX_DOCUMENTS).map(<[Cut]>::to_vec);
                cuts.map(|pruned| Self::Prune { before: before.clone(), pruned }).collect()
            }
            Self::Bind { event_at, staged } if staged.len() > MAX_DOCUMENTS => {
                let ends = staged.chunks(MAX_DOCUMENTS).map(<[StagedEnd]>::to_vec);
                ends.map(|staged| Self::Bind { event_at: event_at.clone(), staged }).collect()
            }
            Self::Dismiss { dismissed, reason } if dismissed.len() > MAX_DOCUMENTS => {
                let parts = dismissed.chunks(MAX_DOCUMENTS).map(<[VersionRef]>::to_vec);
                let part = |dismissed| Self::Dismiss { dismissed, reason: reason.clone() };
                parts.map(part).collect()
            }
            Self::Collect(step) if step.staged.len() > MAX_DOCUMENTS => {
                split(&step.staged, &|staged| Self::Collect(StagedStep { staged, ..step.clone() }))
            }
            Self::Erase(step) if step.staged.len() > MAX_DOCUMENTS => {
                split(&step.staged, &|staged| Self::Erase(StagedStep { staged, ..step.clone() }))
            }
            whole => whole.in_steps(),
        }
    }

    /// Splits a step with many versions into parts.
    fn in_steps(self) -> Vec<Self> {
        let wrap: fn(ReviewStep) -> Self = match &self {
            Self::Submit(_) => Self::Submit,
            Self::ApproveInPart(_) => Self::ApproveInPart,
            Self::Reject(_) => Self::Reject,
            Self::Withdraw(_) => Self::Withdraw,
            Self::Ratify(_) => Self::Ratify,
            Self::Emergency(_) => Self::Emergency,
            _ => return vec![self],
        };
        let Some(step) = self.step() else { return vec![self] };
        let part = |versions: &[VersionRef]| {
            wrap(ReviewStep { versions: versions.to_vec(), ..step.clone() })
        };
        step.versions.chunks(MAX_DOCUMENTS).map(part).collect()
    }
}

/// The end of the checkpoint log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct HeadRef {
    /// The number of the last checkpoint.
    pub checkpoint: u64,
    /// Its hash.
    pub hash: String,
}

/// The last line of a writer that was pruned. The next line follows its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The id of the writer.
    pub writer: String,
    /// The number of the line.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
}

/// A legal hold on the accesses that match every field it names (AUDIT-29).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct Hold {
    /// Its id: 8 hexadecimal digits.
    pub id: String,
    /// The reason for the hold.
    pub reason: String,
    /// The session of the accesses.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// The agent of the accesses.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// The principal of the accesses.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub principal: Option<String>,
    /// The id of a document; its accesses are held.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub document: Option<String>,
    /// The trace of one access.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trace: Option<String>,
}

impl Hold {
    /// Returns the fields that the hold names, as in `session x, agent y`.
    pub fn held(&self) -> String {
        let Self { session, agent, principal, document, trace, .. } = self;
        let named = [
            ("session", session),
            ("agent", agent),
            ("principal", principal),
            ("document", document),
            ("trace", trace),
        ];
        let named = named.into_iter().filter_map(|(name, value)| {
            let value = value.as_deref()?;
            Some(format!("{name} {value}"))
        });
        named.collect::<Vec<_>>().join(", ")
    }

    /// Returns true if the hold names at least one field.
    pub fn is_of_something(&self) -> bool {
        let Self { session, agent, principal, document, trace, .. } = self;
        [session, agent, principal, document, trace].into_iter().any(Option::is_some)
    }
}

impl From<&Checkpoint> for HeadRef {
    fn from(checkpoint: &Checkpoint) -> Self {
        Self { checkpoint: checkpoint.number.0, hash: checkpoint.hash.to_string() }
    }
}

impl HeadRef {
    /// Returns the end of a log; `None` if the log is empty.
    pub(crate) fn of(head: &Head) -> Option<Self> {
        let hash = head.hashes?.last.to_string();
        Some(Self { checkpoint: head.checkpoint.0, hash })
    }
}
