//! Lists the staged results of sources, and promotes one to a document (STAGE-13, STAGE-16).

use super::{Call, Note};
use crate::files::vault::Vault;
use crate::read::snapshot::{Need, Snapshot};
use crate::record::chain::diff::print_between;
use crate::record::staging::{StagedEntry, StagedName, parse_name};
use crate::service::report::Spell;
use crate::service::report::event::{Acted, EventReport};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::staging::{StagedListReport, StagedPromoteReport, StagedReport};
use crate::service::workspace::argument::{node_type, tags};
use crate::service::workspace::source::no_source;
use crate::service::workspace::staging::{Listed, Promoted, Target, content, handed_out, lines_of};
use crate::text::document::frontmatter::NodeType;
use crate::values::model::id::DocumentId;
use crate::write::publish::Mode;

/// The staged entries to list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Listing<'l> {
    /// Only entries of this source, by id or file.
    pub(crate) source: Option<&'l str>,
    /// Only entries of this session.
    pub(crate) session: Option<&'l str>,
    /// Only entries that the principal recorded in the session of the call.
    pub(crate) own: bool,
    /// Also entries that have ended.
    pub(crate) ended: bool,
}

/// A staged entry to promote to a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promoting<'p> {
    /// The name of the entry.
    pub(crate) entry: &'p str,
    /// The id of the document.
    pub(crate) to: &'p str,
    /// The title of the document.
    pub(crate) title: Option<&'p str>,
    /// The type of the document.
    pub(crate) node_type: Option<&'p str>,
    /// The tags of the document.
    pub(crate) tags: &'p [String],
    /// A note to store with the version.
    pub(crate) note: Option<&'p str>,
}

/// Parses the name of a staged entry.
///
/// # Errors
/// The text is not such a name.
pub(crate) fn staged_name(text: &str) -> Result<StagedName, Failure> {
    parse_name(text).map_err(|why| {
        let text = crate::values::model::visible::shown(text).into_owned();
        Failure::new(Code::Usage, format!("`{text}` is not the name of a staged entry: {why}"))
    })
}

impl Call<'_> {
    /// Returns the staged entries that the principal may see, oldest first, and true if a damaged
    /// chain may hide some.
    ///
    /// # Errors
    /// The chains, or the configuration and stewards in force, cannot be read; or the document is
    /// not a source.
    pub(crate) fn staged(
        &mut self,
        vault: &Vault,
        listing: Listing<'_>,
    ) -> Result<(StagedListReport, bool), Failure> {
        let Listing { session, own, ended, .. } = listing;
        let source = listing.source.map(|id| self.workspace.readable_id(vault, id)).transpose()?;
        let listed = Listed { source: source.as_ref(), session, ended };
        let view = self.workspace.staged_listed(vault, &self.labels, listed)?;
        let mut visible = view.visible();
        visible.retain(|entry| {
            (ended || entry.is_live())
                && (!own || view.is_own(entry))
                && session.is_none_or(|session| entry.entry.session.as_deref() == Some(session))
        });
        let is_of = |id: &&DocumentId| source.as_ref().is_none_or(|source| *id == source);
        let damaged: Vec<DocumentId> = view.damaged().filter(is_of).cloned().collect();
        let is_damaged = !damaged.is_empty();
        damaged.into_iter().for_each(|source| self.note(Note::DamagedChain(source)));
        self.recording.listed = Some(visible.len());
        let own_elsewhere = view.own_elsewhere(source.as_ref());
        let of = |entry| StagedReport::of(entry, view.is_own(entry));
        let staged: Vec<StagedReport> = visible.into_iter().map(of).collect();
        if let Some(source) = source.filter(|_| staged.is_empty()) {
            let checkpoints = self.source(vault, Need::Versions, &mut |_, _| ())?;
            let head = Snapshot::of(vault, &checkpoints, None)?;
            no_source(&head, &source).map_or(Ok(()), Err)?;
        }
        Ok((StagedListReport { staged, own_elsewhere }, is_damaged))
    }

    /// Returns the diff from the content of an older entry to that of a newer one; empty if they are
    /// equal.
    ///
    /// # Errors
    /// A content is gone, is not what was received, or is not a text.
    pub(crate) fn staged_diff(
        &mut self,
        vault: &Vault,
        (old, new): (&StagedEntry, &StagedEntry),
    ) -> Result<String, Failure> {
        let (old_content, new_content) = (content(vault, old)?, content(vault, new)?);
        let is_json = old.entry.canonical == new.entry.canonical;
        let lines = |content, entry: &StagedEntry| {
            lines_of(content, is_json.then_some(entry.entry.canonical)).ok_or_else(|| {
                let message = format!("the content of `{}` is not text", entry.name());
                Failure::new(Code::Refused, message)
                    .hint("compare the bytes that `ctx stage show --raw` prints")
            })
        };
        let (old_text, new_text) = (lines(&old_content, old)?, lines(&new_content, new)?);
        let (from, to) = (old.name().to_string(), new.name().to_string());
        let diff = match old_text == new_text {
            true => String::new(),
            false => print_between(&old_text, &new_text, &from, &to),
        };
        self.recording.listed = Some(2);
        Ok(self.release(handed_out(diff, (old, new))))
    }

    /// Makes a document from a staged entry that the principal sees. If the document was submitted,
    /// the program of the user's configuration is notified.
    ///
    /// # Errors
    /// An argument is invalid, or one of the errors of
    /// [`crate::service::workspace::Workspace::promote_staged`].
    pub(crate) fn promote(
        &mut self,
        vault: &Vault,
        promoting: &Promoting<'_>,
        mode: Mode,
    ) -> Result<Promoted<Acted>, Failure> {
        let name = staged_name(promoting.entry)?;
        let id: DocumentId = self.workspace.new_id(vault, promoting.to)?;
        DocumentId::of_document_file(&id.live_path())?;
        let author = self.workspace.author(vault, promoting.note, None)?;
        let view = self.workspace.staged_named(vault, &self.labels, &[&name])?;
        let entry = view.find(&name)?;
        let target = Target {
            id: &id,
            title: promoting.title,
            tags: tags(promoting.tags, vault)?,
            node_type: promoting.node_type.map_or(Ok(NodeType::Document), node_type)?,
            author: &author,
            mode,
        };
        let promoted = self.workspace.promote_staged(vault, entry, &target)?;
        let Promoted { entry, document, outcome, version, submitted } = promoted;
        let outcome = outcome.map(|outcome| self.acted(vault, outcome));
        Ok(Promoted { entry, document, outcome, version, submitted })
    }
}

impl Promoted<Acted> {
    pub(crate) fn report(&self, spell: Spell) -> StagedPromoteReport<'_> {
        let event = self.outcome.as_ref().map(|outcome| EventReport::new(outcome, false, spell));
        StagedPromoteReport {
            uri: self.entry.name().to_string(),
            document: self.document.to_string(),
            version: self.version.0,
            submitted: self.submitted,
            event,
        }
    }
}
