//! Adds to a failure the differences that explain it, and to a dry run what it would write. These
//! are texts of documents: they need the same permission, and are recorded in the same way, as any
//! other (REV-21, AUDIT-5).

use super::Call;
use super::diff::{Ground, as_live, handed_out};
use crate::files::vault::Vault;
use crate::read::snapshot::Snapshot;
use crate::record::audit::Text;
use crate::record::chain::diff::{has_its_places, print_between};
use crate::record::chain::history::{Entry, EntryState};
use crate::record::chain::replay;
use crate::service::report::advice::difference::{Difference, HowToMerge};
use crate::service::report::failure::{Compared, Failure};
use crate::service::workspace::version::{any_text_of, check_name, check_text, recorded, text_of};
use crate::text::document::text::normalise;
use crate::text::document::{Document, utf8};
use crate::text::uri::Class;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;
use crate::write::publish::review;

impl Call<'_> {
    /// Adds the differences that explain a failure, as far as the reader may read them.
    pub(crate) fn explained(&mut self, failure: Failure) -> Failure {
        let mut failure = self.workspace.explained(failure);
        for compared in std::mem::take(&mut failure.compared) {
            failure = self.with_difference(failure, &compared);
        }
        failure
    }

    /// Adds one difference; returns the failure unchanged if the log is not valid.
    fn with_difference(&mut self, failure: Failure, compared: &Compared) -> Failure {
        let Ok(vault) = self.vault() else { return failure };
        let Ok(log) = self.log(&vault) else { return failure };
        let Ok(chronicle) = log.sound() else { return failure };
        let Ok(head) = Snapshot::at(&vault, &chronicle, None) else { return failure };
        let ground = (&vault, &chronicle, &head);
        let id = &compared.id;
        if check_name(&head, id).is_err() && compared.is_published {
            return failure;
        }
        let between = match compared.is_published {
            true => self.between(ground, compared),
            false => Vec::new(),
        };
        let diff = self.diff_of(ground, compared);
        let merge = match (compared.from, &diff) {
            (Some(from), Some(diff)) if compared.is_published && compared.to > from => {
                Some((from, compared.to, how_to_merge(&vault, id, compared.to, diff)))
            }
            _ => None,
        };
        self.recording.class = Some(Class::Direct);
        self.recording.query = Some(id.to_string());
        let diff = diff.unwrap_or_default();
        failure.with_difference(&Difference { id, between: &between, diff: &diff, merge })
    }

    /// Returns the versions since the one that the caller has read, as far as this reader may read
    /// them. Submissions and rejected versions are left out, because not every reader may see them.
    fn between(&mut self, (vault, chronicle, head): Ground<'_>, compared: &Compared) -> Vec<Entry> {
        let Ok(history) = replay::load(vault.files(), &compared.id) else { return Vec::new() };
        let may_read = |entry: &Entry| {
            !head.is_limited()
                || text_of(vault, head, chronicle, &compared.id, entry.version).is_ok()
        };
        let since = |entry: &&Entry| {
            entry.state != EntryState::Unpublished
                && compared.from.is_some_and(|from| entry.version > from)
                && may_read(entry)
        };
        let between: Vec<Entry> = history.entries().filter(since).cloned().collect();
        self.recording.listed = Some(self.recording.listed.unwrap_or_default() + between.len());
        between
    }

    /// The diff between two versions; `None` if one of them does not exist or may not be read.
    fn diff_of(&mut self, ground: Ground<'_>, compared: &Compared) -> Option<String> {
        let mut versions: Vec<Text> = Vec::new();
        let mut side = |version: Version| {
            let text = self.readable(ground, &compared.id, version)?;
            let history = replay::load(ground.0.files(), &compared.id).ok()?;
            let of = (version, &history);
            versions.extend(recorded((ground.0.files(), ground.1), &compared.id, of, (&text, "")));
            Some(match compared.is_published {
                true => as_live(&compared.id, text),
                false => text,
            })
        };
        let from = compared.from.filter(|version| *version > Version::NONE)?;
        let (old, new) = (side(from)?, side(compared.to)?);
        let names = (format!("v{from}"), format!("v{}", compared.to));
        let diff = match old == new {
            true => String::new(),
            false => print_between(&old, &new, &names.0, &names.1),
        };
        Some(self.release(handed_out(diff, versions)))
    }

    /// Returns the text of a version: like `diff` for a published one, like `review show` for
    /// a step.
    fn readable(
        &self,
        (vault, chronicle, head): Ground<'_>,
        id: &DocumentId,
        version: Version,
    ) -> Option<String> {
        if let Ok((text, _)) = text_of(vault, head, chronicle, id, version) {
            return Some(text);
        }
        let (principal, _) = self.workspace.principal(vault.root(), None).ok()?;
        review::about_version(vault, id, version, &principal).ok()?;
        let (text, history) = any_text_of(vault, chronicle, id, version).ok()?;
        check_text(head, id, (version, &history), &text).ok().map(|_| text)
    }

    /// Returns the part of a dry run about one live file; `None` if the reader may not read the
    /// document. `submitted`: the version that is approved.
    pub(crate) fn dry_run(
        &mut self,
        ground: Ground<'_>,
        id: &DocumentId,
        submitted: Option<Version>,
        diff: String,
    ) -> Option<String> {
        let (vault, chronicle, head) = ground;
        check_name(head, id).ok()?;
        let mut versions: Vec<Text> = Vec::new();
        if let Some(served) = head.get(id) {
            versions.push(served.ok()?.origin().text(""));
        }
        if let Some(version) = submitted {
            let text = self.readable(ground, id, version)?;
            let history = replay::load(vault.files(), id).ok()?;
            let of = (version, &history);
            versions.extend(recorded((vault.files(), chronicle), id, of, (&text, "")));
        }
        self.recording.class = Some(Class::Direct);
        Some(self.release(handed_out(diff, versions)))
    }
}

fn how_to_merge(vault: &Vault, id: &DocumentId, to: Version, diff: &str) -> HowToMerge {
    let Ok(bytes) = vault.files().read(&id.live_path(), limit::DOCUMENT) else {
        return HowToMerge::Absent;
    };
    let live = utf8(&bytes).unwrap_or_default();
    if Document::parse(&normalise(live)).is_ok_and(|live| live.frontmatter.version == Some(to)) {
        HowToMerge::Done
    } else if has_its_places(live, diff) {
        HowToMerge::Patch
    } else {
        HowToMerge::ByHand
    }
}
