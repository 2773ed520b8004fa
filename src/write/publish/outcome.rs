//! The outcome of an event or a dry run, and the reasons for which documents were refused.

use std::collections::{BTreeSet, HashSet};

use super::review;
use crate::files::vault::config::FrontmatterMode;
use crate::files::vault::left_out::LeftOut;
use crate::files::vault::replace::Fingerprint;
use crate::policy::rules::Pending;
use crate::policy::stewards::Stuck;
use crate::read::working::inbound::{FixedLinks, FoundLinks, RelativeLink};
use crate::record::checkpoint::event::Checkpoint;
use crate::text::document::edit::EditError;
use crate::text::document::validate::{Problem, Severity};
use crate::values::model::hint::Hint;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::write::commit::{Committed, Item, Live, Recovered};

/// The problems of a document that cannot be part of an event.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Path of the file in the vault.
    pub path: String,
    /// The reasons, at least one of them an error.
    pub problems: Vec<Problem>,
}

impl Refusal {
    pub(super) fn new(
        path: impl Into<String>,
        code: &'static str,
        message: String,
        hint: impl Into<Hint>,
    ) -> Self {
        let hint = hint.into();
        let problem = Problem { code, severity: Severity::Error, line: None, message, hint };
        Self { path: path.into(), problems: vec![problem] }
    }

    /// Returns the refusal of a frontmatter that cannot be edited in place.
    pub(crate) fn of_spelling(path: &str, why: &EditError) -> Self {
        Self::new(path, "frontmatter-spelling", why.to_string(), why.hint())
    }

    /// Returns the problems of a file, or refuses it if one of them is an error.
    pub(super) fn unless_valid(path: &str, found: Vec<Problem>) -> Result<Vec<Problem>, Self> {
        match found.iter().any(|problem| problem.severity == Severity::Error) {
            true => Err(Self { path: path.to_owned(), problems: found }),
            false => Ok(found),
        }
    }
}

/// The act of an event, as the program that the user configured is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Act {
    /// Versions were published; the program is not told.
    #[default]
    Publish,
    /// Versions were submitted.
    Submit,
    /// Submissions were approved.
    Approve,
    /// Submissions were rejected, with the reason.
    Reject(String),
    /// Submissions were withdrawn, with the reason if there is one.
    Withdraw(Option<String>),
    /// Documents were retired in an emergency, with the reason.
    Emergency(String),
}

impl Act {
    /// Returns the reason, if the act has one.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Reject(reason) | Self::Emergency(reason) => Some(reason),
            Self::Withdraw(reason) => reason.as_deref(),
            Self::Publish | Self::Submit | Self::Approve => None,
        }
    }
}

/// The outcome of an event or a dry run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The act of the event.
    pub act: Act,
    /// The new checkpoint; `None` if nothing had to be published.
    pub checkpoint: Option<Checkpoint>,
    /// The new versions in byte order of their ids.
    pub items: Vec<Item>,
    /// Documents that equal their version at the last checkpoint.
    pub unchanged: Vec<DocumentId>,
    /// Live files that an earlier event could not write, with their change.
    pub behind: Vec<(DocumentId, Live)>,
    /// Artifacts that the event does not include, with the reason.
    pub left_out: Vec<LeftOut>,
    /// The frontmatter mode of the live configuration, if another one is published and in
    /// force (DOC-30).
    pub unpublished_mode: Option<FrontmatterMode>,
    /// True if the live configuration maps site links differently from the published one, which is
    /// in force.
    pub unpublished_links: bool,
    /// Links of live files to retired or moved documents, and links whose target changes.
    pub links: FoundLinks,
    /// Links of moved documents whose target would change in the new folder.
    pub relative: Vec<RelativeLink>,
    /// Live files whose links were edited to keep their targets; the edits are not published.
    pub fixed: Vec<FixedLinks>,
    /// A live file that was renamed in case only, instead of a move.
    pub recased: Option<Recased>,
    /// Documents that were refused while others were published.
    pub refused: Vec<Refusal>,
    /// Submissions that no steward may approve.
    pub unapprovable: Vec<Unapprovable>,
    /// The scopes at which nothing could be approved, by the submitted or published stewards.
    pub stuck: Vec<Stuck>,
    /// Submissions that replaced another principal's, with the stewards who may still approve each.
    pub superseding: Vec<(DocumentId, Vec<String>)>,
    /// Pending submissions of the same texts, with their versions and submitters.
    pub awaiting: Vec<(DocumentId, Version, String)>,
    /// Pending submissions that an emergency retirement ended, with their versions and submitters.
    pub ended: Vec<(DocumentId, Pending)>,
    /// Parts that left the approved sets by emergency retirements.
    pub left: Vec<review::LeftPart>,
    /// Submissions that need more approvals.
    pub awaited: Vec<review::Awaited>,
    /// Artifacts of a decided set that the reader may not read; they are counted, but not named.
    pub hidden: BTreeSet<DocumentId>,
    /// Number of artifacts of a set that are not decided, and that the reader may not read.
    pub hidden_awaited: usize,
    /// Name of the set that contains the submissions.
    pub change: Option<String>,
    /// The commit; `None` for a dry run.
    pub committed: Option<Committed>,
    /// The cleanup after an interrupted command.
    pub recovered: Recovered,
}

/// A live file whose name changes only in case.
///
/// Its document keeps its id and its history (`spec/vault.md`, VAULT-65), so that nothing
/// is published.
#[derive(Clone, Debug)]
pub struct Recased {
    /// The id.
    pub id: DocumentId,
    /// The path of the file before.
    pub from: String,
    /// The path of the file afterwards.
    pub to: String,
}

impl Outcome {
    /// Removes artifacts from the outcome that its reader may not read (REV-25).
    pub(super) fn without_hidden(mut self) -> Self {
        let hidden = std::mem::take(&mut self.hidden);
        let is_awaited = |id: &&DocumentId| !self.items.iter().any(|item| item.id == **id);
        let awaited: BTreeSet<DocumentId> = hidden.iter().filter(is_awaited).cloned().collect();
        let paths: HashSet<String> = hidden.iter().map(DocumentId::live_path).collect();
        self.items.retain(|item| !hidden.contains(&item.id));
        self.awaited.retain(|awaited| !hidden.contains(&awaited.id));
        self.unapprovable.retain(|one| !hidden.contains(&one.id));
        self.superseding.retain(|(id, _)| !hidden.contains(id));
        self.awaiting.retain(|(id, ..)| !hidden.contains(id));
        if hidden.contains(&DocumentId::stewards()) {
            self.stuck.clear();
        }
        let is_shown = |path: &str, to: &DocumentId| !paths.contains(path) && !hidden.contains(to);
        self.links.inbound.retain(|link| is_shown(&link.path, &link.to));
        self.links.texts.retain(|link| is_shown(&link.path, &link.to));
        self.links.captured.retain(|link| is_shown(&link.path, &link.was));
        let decided = hidden.difference(&awaited).cloned().collect();
        Self { hidden: decided, hidden_awaited: awaited.len(), ..self }
    }

    /// Returns the changes of live files without a version in the event.
    pub(super) fn other_lives(&self) -> Vec<(DocumentId, Live)> {
        // The file of a published document already gets its new links with the version.
        let is_item = |file: &&FixedLinks| self.items.iter().any(|item| item.id == file.id);
        let fixed = self.fixed.iter().filter(|file| !file.new.changed.is_empty() && !is_item(file));
        let fixed = fixed.map(|file| {
            let new = file.new.text.as_str().into();
            (file.id.clone(), Live::Replace { old: Fingerprint::of(&file.old), new })
        });
        self.behind.iter().cloned().chain(fixed).collect()
    }
}

/// A submission that no steward may approve.
#[derive(Clone, Debug)]
pub struct Unapprovable {
    /// The artifact.
    pub id: DocumentId,
    /// True if the reviewers are barred only by submissions that histories have lost (REV-28).
    pub is_by_loss: bool,
}
