//! What a line of the change log says of the change (AUDIT-19).

use serde::{Deserialize, Serialize};

use crate::record::checkpoint::event::Checkpoint;
use crate::record::trusted_head::Head;
use crate::values::model::id::DocumentId;

/// How many documents one line holds; further lines name the first as their cause.
pub const MAX_DOCUMENTS: usize = 1000;

/// The vault was changed, or what is trusted of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Change {
    /// An event: versions were published or retired.
    Event {
        /// The checkpoint that it made.
        sealed: HeadRef,
        /// What it set and removed, in the order of the ids.
        ids: Vec<String>,
        /// Whether the line was written by a later command, because its own was interrupted.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        recovered: bool,
    },
    /// An event is about to be committed, whose checkpoint binds this line (AUDIT-25).
    Bind {
        /// The time of the event.
        event_at: String,
        /// The ends of staging chains that the checkpoint binds too (STAGE-21).
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        staged: Vec<StagedEnd>,
    },
    /// What an interrupted command left was moved away, or live files were brought up to date.
    Recover {
        /// The files.
        paths: Vec<String>,
    },
    /// The checkpoint log was derived from the histories, or converted to its other form.
    ReplaceLog {
        /// Its end.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        to: Option<HeadRef>,
    },
    /// A head was trusted, whatever was trusted before.
    HeadTrust {
        /// What was trusted.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        from: Option<HeadRef>,
        /// What is trusted; none for the empty log.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        to: Option<HeadRef>,
        /// The lines of this user that the logs in the vault lack, and that are given up.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        lost: Vec<LostLines>,
    },
    /// Texts were submitted.
    Submit(ReviewStep),
    /// Submissions were approved, and wait for more approvals.
    ApproveInPart(ReviewStep),
    /// Submissions were rejected.
    Reject(ReviewStep),
    /// Submissions were withdrawn.
    Withdraw(ReviewStep),
    /// Emergency retirements were ratified.
    Ratify(ReviewStep),
    /// Documents were retired by one reviewer; the event has a line of its own.
    Emergency(ReviewStep),
    /// A remark about a submission.
    Comment {
        /// The submission.
        version: VersionRef,
        /// The remark.
        text: String,
    },
    /// A draft was written: a live file that no version holds.
    Draft {
        /// The file.
        draft: DraftRef,
    },
    /// What was trusted of the vault was deleted.
    HeadForget {
        /// What was trusted.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        from: Option<HeadRef>,
    },
    /// Staged entries are kept until they are unpinned.
    Pin(StagedStep),
    /// They are kept no longer than others.
    Unpin(StagedStep),
    /// A staged entry became a document; the version has a line of its own.
    Promote(StagedStep),
    /// Staged entries were ended by a reviewer.
    Discard(StagedStep),
    /// Staged entries were ended by their retention.
    Collect(StagedStep),
    /// The content of staged entries was removed.
    Erase(StagedStep),
    /// A user declares that an event has no line, and why: its writer can no longer add one.
    Acknowledge {
        /// The checkpoint of the event.
        acknowledged: HeadRef,
        /// Why.
        reason: String,
    },
    /// Submissions that no history has are dismissed by a reviewer, and bar their submitters no more
    /// (REV-28).
    Dismiss {
        /// Their versions, as their own lines name them.
        dismissed: Vec<VersionRef>,
        /// Why.
        reason: String,
    },
    /// Accesses must not be pruned.
    Hold {
        /// Which, and why.
        hold: Hold,
    },
    /// Accesses that were held may be pruned again.
    Lift {
        /// The name of the hold.
        lifted: String,
        /// Why.
        reason: String,
    },
    /// The oldest accesses are deleted from here on.
    Prune {
        /// Only accesses before this time go.
        before: String,
        /// The last line of each writer that goes.
        pruned: Vec<Cut>,
    },
}

/// Lines of a writer that its log lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostLines {
    /// The writer.
    pub writer: String,
    /// The number of the first of them.
    pub from: u64,
    /// The number of the last.
    pub to: u64,
}

/// A step of a review: it makes no checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewStep {
    /// The versions that it made, in the order of their ids.
    pub versions: Vec<VersionRef>,
    /// The set of submissions that they belong to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub change: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Whether the line was written by a later command, because its own was interrupted.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub recovered: bool,
}

/// An act upon staged entries (STAGE-12).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedStep {
    /// The URIs of the entries.
    pub staged: Vec<String>,
    /// The document that the entry was promoted to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub document: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub document_version: Option<u64>,
    /// Why.
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

/// A live file of a document as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftRef {
    /// The document.
    pub id: String,
    /// The hash of its bytes.
    pub sha256: String,
}

/// A version of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRef {
    /// The artifact.
    pub id: String,
    /// The version.
    pub version: u64,
    /// Its chain hash.
    pub chain_hash: String,
    /// The id that the artifact gets, where the version is the submission of a move.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<String>,
}

impl Change {
    /// The step of a review that it is.
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

    /// The act upon staged entries that it is.
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

    /// The versions that it names.
    pub fn versions(&self) -> &[VersionRef] {
        match self {
            Self::Comment { version, .. } => std::slice::from_ref(version),
            other => other.step().map_or(&[], |step| &step.versions),
        }
    }

    /// An event that made a checkpoint.
    pub(super) fn of_event(checkpoint: &Checkpoint, recovered: bool) -> Self {
        let set = checkpoint.set.iter().map(|(id, _)| id);
        let mut ids: Vec<&DocumentId> = set.chain(&checkpoint.removed).collect();
        ids.sort_unstable();
        let ids = ids.into_iter().map(ToString::to_string).collect();
        Self::Event { sealed: checkpoint.into(), ids, recovered }
    }

    /// The checkpoint that it made.
    pub fn sealed(&self) -> Option<&HeadRef> {
        match self {
            Self::Event { sealed, .. } => Some(sealed),
            _ => None,
        }
    }

    /// Whether a later command recorded it.
    pub fn is_recovered(&self) -> bool {
        matches!(self, Self::Event { recovered: true, .. })
            || self.step().is_some_and(|step| step.recovered)
    }

    /// The time of the event whose checkpoint binds the line.
    pub fn event_at(&self) -> Option<&str> {
        match self {
            Self::Bind { event_at, .. } => Some(event_at),
            _ => None,
        }
    }

    /// The head that was trusted before.
    pub fn from(&self) -> Option<&HeadRef> {
        match self {
            Self::HeadTrust { from, .. } | Self::HeadForget { from } => from.as_ref(),
            _ => None,
        }
    }

    /// The head that counts after it.
    pub fn to(&self) -> Option<&HeadRef> {
        match self {
            Self::HeadTrust { to, .. } | Self::ReplaceLog { to } => to.as_ref(),
            _ => None,
        }
    }

    /// The ids or files that it is about.
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

    /// Why, where the user had to say it.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Hold { hold } => Some(&hold.reason),
            Self::Lift { reason, .. }
            | Self::Acknowledge { reason, .. }
            | Self::Dismiss { reason, .. } => Some(reason),
            other => other.staged().and_then(|step| step.reason.as_deref()),
        }
    }

    /// The cuts that it records.
    pub fn pruned(&self) -> &[Cut] {
        match self {
            Self::Prune { pruned, .. } => pruned,
            _ => &[],
        }
    }

    /// Its word.
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

    /// The change in parts, each with at most [`MAX_DOCUMENTS`] names or cuts.
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

    /// The parts of a step with many versions.
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
pub struct HeadRef {
    /// The number of the last checkpoint.
    pub checkpoint: u64,
    /// Its hash.
    pub hash: String,
}

/// The last line of a writer that may be gone: the next one follows its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The writer.
    pub writer: String,
    /// The number of the line.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
}

/// What is held: accesses that have all of what it names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Its name: 8 hexadecimal digits.
    pub id: String,
    /// Why.
    pub reason: String,
    /// The session of the accesses.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// Who asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub principal: Option<String>,
    /// A document of which a text was handed out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub document: Option<String>,
    /// One access.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trace: Option<String>,
}

impl Hold {
    /// What it holds, in words.
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

    /// Whether it names something that is held.
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
    /// The end of a log; none of the empty one.
    pub(crate) fn of(head: &Head) -> Option<Self> {
        let hash = head.hashes?.last.to_string();
        Some(Self { checkpoint: head.checkpoint.0, hash })
    }
}
