//! The staged entries that a selector selects (STAGE-13, SEL-9).

use std::collections::HashMap;

use super::view::StagedView;
use crate::files::vault::Vault;
use crate::read::snapshot::Snapshot;
use crate::read::snapshot::plan::PlanPart;
use crate::record::audit::Labels;
use crate::record::staging::StagedEntry;
use crate::record::trusted_head;
use crate::service::report::failure::Failure;
use crate::service::workspace::Workspace;
use crate::service::workspace::ask::{Asked, names_staged};
use crate::service::workspace::version::any_text_of;
use crate::text::document::Document;
use crate::text::document::frontmatter::Frontmatter;
use crate::text::selector::matches::matches;
use crate::text::selector::{Atom, StatusFilter};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::STAGING_CHAINS;
use crate::values::model::number::Version;

/// The frontmatters of sources, at the versions that were fetched.
type Sources = HashMap<(DocumentId, u64), Option<Frontmatter>>;

impl Workspace<'_> {
    /// Returns the entries of an answer at the head that the selector selects: those of this
    /// session and principal, and, if it names `status:staged`, also those of others. `None` if no
    /// entries are searched.
    ///
    /// # Errors
    /// The chains, or the configuration and stewards in force, cannot be read.
    pub(crate) fn staged_of(
        &self,
        vault: &Vault,
        labels: &Labels,
        asked: &Asked<'_>,
    ) -> Result<Option<(StagedView, Vec<StagedEntry>)>, Failure> {
        let names_staged = asked.names_staged();
        // A search only finds published documents.
        let is_asked = asked.plan.backend.is_none() && (names_staged || !labels.session_implicit);
        // If checkpoints bind chains, a missing chain has to be reported.
        let may_have = vault.files().exists(STAGING_CHAINS) || vault.config().staging.bind;
        if !is_asked || !may_have {
            return Ok(None);
        }
        let places = (vault, labels);
        let view = self.staged_own(places, None, names_staged, &|entry| entry.may_be_live())?;
        let log = trusted_head::open_log(vault)?;
        let chronicle = log.sound()?;
        let markup = Snapshot::at(vault, &chronicle, None)?.markup();
        let mut sources = Sources::new();
        let mut found = Vec::new();
        for entry in view.visible() {
            if !entry.is_live() || !(view.is_own(entry) || names_staged) {
                continue;
            }
            let key = (entry.source.clone(), entry.entry.source_version);
            let fields = sources.entry(key).or_insert_with(|| {
                let version = Version(entry.entry.source_version);
                let text = any_text_of(vault, &chronicle, &entry.source, version).ok();
                text.and_then(|(text, _)| {
                    let Document { mut frontmatter, parts, .. } = Document::parse(&text).ok()?;
                    let additions = markup.additions(&frontmatter, &text[parts.body..]);
                    frontmatter.add_tags(additions.tags, markup);
                    Some(frontmatter)
                })
            });
            let fields = fields.as_ref();
            if asked.plan.parts.holds(&|part: &PlanPart| is_in(&part.atom, entry, fields)) {
                found.push(entry.clone());
            }
        }
        Ok(Some((view, found)))
    }
}

impl Asked<'_> {
    /// Returns true if the selector names staged entries.
    pub(crate) fn names_staged(&self) -> bool {
        let terms = self.selector.expr.leaves();
        terms.iter().any(|(term, _)| names_staged(term))
    }
}

/// Returns true if an entry is in a set: it has the type, tags and URI of its source, and
/// is staged.
fn is_in(atom: &Atom, entry: &StagedEntry, fields: Option<&Frontmatter>) -> bool {
    match atom {
        Atom::Status(status) => *status == StatusFilter::Staged,
        atom => matches(atom, &entry.source, || fields),
    }
}
