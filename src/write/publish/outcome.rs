//! What an event did, or would do, and why documents are no part of it.

use std::collections::{BTreeSet, HashSet};

use super::review;
use crate::files::vault::config::FrontmatterMode;
use crate::files::vault::left_out::LeftOut;
use crate::files::vault::replace::Fingerprint;
use crate::policy::stewards::Stuck;
use crate::read::working::inbound::{FixedLinks, FoundLinks, RelativeLink};
use crate::record::checkpoint::event::Checkpoint;
use crate::text::document::edit::EditError;
use crate::text::document::validate::{Problem, Severity};
use crate::values::model::hint::Hint;
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::write::commit::{Committed, Item, Live, Recovered};

/// Why one document cannot be part of an event.
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

    /// A frontmatter that cannot be edited in place.
    pub(crate) fn of_spelling(path: &str, why: &EditError) -> Self {
        Self::new(path, "frontmatter-spelling", why.to_string(), why.hint())
    }

    /// The problems of a file, which is refused if one of them is an error.
    pub(super) fn unless_valid(path: &str, found: Vec<Problem>) -> Result<Vec<Problem>, Self> {
        match found.iter().any(|problem| problem.severity == Severity::Error) {
            true => Err(Self { path: path.to_owned(), problems: found }),
            false => Ok(found),
        }
    }
}

/// The act of an event, as the program of the user is told it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Act {
    /// Versions were published. The program is not told it.
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
    /// Documents were retired before another reviewer agreed, with the reason.
    Emergency(String),
}

/// What a publication did, or would do.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was done.
    pub act: Act,
    /// The new checkpoint; none where nothing had to be published.
    pub checkpoint: Option<Checkpoint>,
    /// The new versions in byte order of their ids.
    pub items: Vec<Item>,
    /// Documents that already are what the last checkpoint holds.
    pub unchanged: Vec<DocumentId>,
    /// Documents whose file a former publication could not write, and which it is to catch up with.
    pub behind: Vec<(DocumentId, Live)>,
    /// What the event does not include, with the reason.
    pub left_out: Vec<LeftOut>,
    /// What the live configuration says of frontmatter, where another setting is published and counts
    /// (DOC-30).
    pub unpublished_mode: Option<FrontmatterMode>,
    /// Whether the live configuration maps links of a site otherwise than the published one, by which
    /// the links here were read.
    pub unpublished_links: bool,
    /// Links of live files to what was retired or moved, and those that lead elsewhere afterwards.
    pub links: FoundLinks,
    /// Links of what was moved that would name something else from its new folder.
    pub relative: Vec<RelativeLink>,
    /// Live files whose links were changed, so that they lead where they led; the changes are not
    /// published.
    pub fixed: Vec<FixedLinks>,
    /// A live file that got its name in another case, instead of a move.
    pub recased: Option<Recased>,
    /// Documents that were refused while others were published.
    pub refused: Vec<Refusal>,
    /// Submissions that no steward may approve.
    pub unapprovable: Vec<Unapprovable>,
    /// The scopes at which nothing could be approved, by the stewards that are submitted or published.
    pub stuck: Vec<Stuck>,
    /// Submissions that took the place of another principal's, with who may still approve each.
    pub superseding: Vec<(DocumentId, Vec<String>)>,
    /// Submissions of the same texts that await a decision already: their versions and submitters.
    pub awaiting: Vec<(DocumentId, Version, String)>,
    /// Submissions that wait for more approvals.
    pub awaited: Vec<review::Awaited>,
    /// What of a set that was decided the reader may not read: it is counted, and not named.
    pub hidden: BTreeSet<DocumentId>,
    /// The set that what was submitted belongs to.
    pub change: Option<String>,
    /// Whether it was written, and what could not be brought up to date afterwards.
    pub committed: Option<Committed>,
    /// What a command before it had left, and what was done about that.
    pub recovered: Recovered,
}

/// A live file whose name changes only in case. Its document keeps its id and its history
/// (`spec/vault.md`, VAULT-65), so that nothing is published.
#[derive(Clone, Debug)]
pub struct Recased {
    /// The id.
    pub id: DocumentId,
    /// The path of the file before.
    pub from: String,
    /// Its path afterwards.
    pub to: String,
}

impl Outcome {
    /// Leaves out of the report what its reader may not read (REV-25).
    pub(super) fn without_hidden(mut self) -> Self {
        let hidden = std::mem::take(&mut self.hidden);
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
        Self { hidden, ..self }
    }

    /// What happens to live files of which the event makes no version.
    pub(super) fn other_lives(&self) -> Vec<(DocumentId, Live)> {
        // The file of a document that the event publishes has its new links already.
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
    /// Whether only submissions that histories have lost bar the reviewers (REV-28).
    pub is_by_loss: bool,
}
