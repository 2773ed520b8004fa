//! Live files that a writer did not bring up to date, because it was interrupted after its commit.
//! Their intended text follows from the sealed versions and from their present text.

use std::collections::{BTreeSet, HashSet};
use std::sync::OnceLock;

use rayon::prelude::*;

use super::hint;
use super::item::Live;
use crate::files::vault::Vault;
use crate::files::vault::config::{Config, FrontmatterMode};
use crate::files::vault::replace::Fingerprint;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::sealed::sealed_text;
use crate::record::checkpoint::state::PublishedSet;
use crate::text::document::edit::Edit;
use crate::text::document::frontmatter::Status;
use crate::text::document::links::{Link, LinkKind, links};
use crate::text::document::live_form::LiveForm;
use crate::text::document::review::ReviewFields;
use crate::text::document::stamp::{left_behind, moved_behind, retired_live};
use crate::text::document::text::normalise;
use crate::text::document::{Document, utf8};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;

/// Returns the artifacts of the last event whose live files it did not bring up to date.
///
/// If `edited` is set, files that were edited since are included.
pub(super) fn of_last_event(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    edited: bool,
) -> Vec<(DocumentId, Live)> {
    let Some(head) = chronicle.head() else { return Vec::new() };
    let Ok(before) = chronicle.state_at(head.number.previous()) else { return Vec::new() };
    let Ok(state) = chronicle.state_at(head.number) else { return Vec::new() };
    let hinted = hint::read(vault.files(), head.at).unwrap_or_default();
    let event = Event { vault, head, before, state, hinted, edited, origins: OnceLock::new() };
    let published = head.set.par_iter().map(|(id, _)| id);
    let published = published.filter_map(|id| Some((id.clone(), event.published(id)?)));
    let retired = head.removed.par_iter();
    let retired = retired.filter_map(|id| Some((id.clone(), event.retired(id)?)));
    published.chain(retired).collect()
}

/// The last event, and the published versions before and after it.
struct Event<'e> {
    vault: &'e Vault,
    head: &'e Checkpoint,
    before: PublishedSet,
    state: PublishedSet,
    /// The artifacts in its hint, which still exists if its command did not end.
    hinted: BTreeSet<DocumentId>,
    /// True if files that were edited after the interruption are included.
    edited: bool,
    /// The documents from which those of the event are derived, by `derived_from`.
    origins: OnceLock<HashSet<DocumentId>>,
}

impl Event<'_> {
    /// Returns the change of the file of a document that the event published.
    fn published(&self, id: &DocumentId) -> Option<Live> {
        if !id.is_document() {
            return self.governance(id);
        }
        let sealed = sealed_text(self.vault, &self.state, id)?.ok()?;
        let is_new = self.before.get(id.as_str()).is_none()
            && self.state.get(id.as_str())?.version == Some(Version::FIRST);
        let Some(bytes) =
            self.vault.files().read_optional(&id.live_path(), limit::DOCUMENT).ok()?
        else {
            // Only an event that creates a document creates its file.
            return is_new.then(|| Live::Create(LiveForm::of(&sealed).into_text().into_bytes()));
        };
        let live = utf8(&bytes).ok()?;
        let form = LiveForm::of(&sealed);
        if form.is_of(live) || form.is_untouched() {
            return None;
        }
        let document = Document::parse(live).ok()?;
        let new = left_behind(id, live, &document, &sealed);
        let new = new.or_else(|| match is_new {
            true => moved_behind(id, live, &document, &sealed),
            false => self.edited_since(id, live, &document, &sealed),
        })?;
        Some(Live::Replace { old: Fingerprint::of(&bytes), new: new.into() })
    }

    /// Returns a file with the number of the version that the event made from it.
    ///
    /// The file was edited after its command was interrupted.
    fn edited_since(
        &self,
        id: &DocumentId,
        live: &str,
        document: &Document,
        sealed: &str,
    ) -> Option<String> {
        let version = |state: &PublishedSet| Some(state.get(id.as_str())?.sealed()?.0);
        let (last, next) = (version(&self.before)?, version(&self.state)?);
        let is_source = self.edited
            && self.hinted.contains(id)
            && next == last.next()
            && document.frontmatter.version == Some(last);
        if !is_source {
            return None;
        }
        let published = sealed_text(self.vault, &self.before, id)?.ok()?;
        let is_approval = ReviewFields::of(&Document::parse(sealed).ok()?.frontmatter).is_some();
        if is_approval || LiveForm::of(&published).is_of(live) {
            return None;
        }
        Edit::default().number("version", next.0).apply(live).ok()
    }

    /// Returns the change of a governance file that the event changed, if it still has the text
    /// from before.
    ///
    /// Only the hint shows that its command was interrupted.
    fn governance(&self, id: &DocumentId) -> Option<Live> {
        if !self.hinted.contains(id) {
            return None;
        }
        let sealed = sealed_text(self.vault, &self.state, id)?.ok()?;
        let before = sealed_text(self.vault, &self.before, id);
        let bytes = self.vault.files().read_optional(&id.live_path(), limit::DOCUMENT).ok()?;
        let Some(bytes) = bytes else {
            return before.is_none().then(|| Live::Create(sealed.as_bytes().to_vec()));
        };
        let is_before = *normalise(utf8(&bytes).ok()?) == *before?.ok()?;
        let new = (*sealed).into();
        is_before.then(|| Live::Replace { old: Fingerprint::of(&bytes), new })
    }

    /// Returns the change of the file of a document that the event retired or moved.
    fn retired(&self, id: &DocumentId) -> Option<Live> {
        if !id.is_document() {
            return None;
        }
        let bytes = self.vault.files().read(&id.live_path(), limit::DOCUMENT).ok()?;
        let live = utf8(&bytes).ok()?;
        let (last, _) = self.before.get(id.as_str())?.sealed()?;
        let sealed = sealed_text(self.vault, &self.before, id)?.ok()?;
        if LiveForm::of(&sealed).is_of(live) && self.origins().contains(id) {
            return Some(Live::Remove(bytes));
        }
        let document = Document::of_live(live).ok()?;
        if document.frontmatter.status != Status::Published
            || document.frontmatter.version != Some(last)
        {
            return None;
        }
        let retirement = Edit::retirement(last.next(), self.head.at);
        let new = retired_live(live, &sealed, retirement, self.mode())?;
        Some(Live::Replace { old: Fingerprint::of(&bytes), new: new.into() })
    }

    /// Returns the mode that decided if the writer of the event edited live files.
    fn mode(&self) -> FrontmatterMode {
        let config = sealed_text(self.vault, &self.state, &DocumentId::config());
        let config = config.and_then(|text| Config::parse(&text.ok()?).ok());
        config.unwrap_or_else(|| self.vault.config().clone()).frontmatter
    }

    fn origins(&self) -> &HashSet<DocumentId> {
        let is_origin = |link: &Link| {
            link.kind == LinkKind::DerivedFrom
                && link.checkpoint == Some(self.head.number.previous())
        };
        let named = |(id, _): &(DocumentId, _)| -> Option<Vec<DocumentId>> {
            let text = sealed_text(self.vault, &self.state, id)?.ok()?;
            let document = Document::parse(&text).ok()?;
            let links = links(id, &text, &document);
            Some(
                links.iter().filter(|l| is_origin(l)).filter_map(|l| l.target.document()).collect(),
            )
        };
        self.origins.get_or_init(|| self.head.set.iter().filter_map(named).flatten().collect())
    }
}
