//! Reads one submission for its reviewer.

use super::Workspace;
use super::version::{any_text_of, recorded};
use crate::files::vault::Vault;
use crate::policy::rules::Track;
use crate::prove::evidence::blame::Blame;
use crate::prove::evidence::submission::{Remark, Submitted, Texts};
use crate::read::working;
use crate::record::audit::{Change, Event, Logs, Part, Text, Traced};
use crate::record::checkpoint::log::Log;
use crate::service::report::failure::Failure;
use crate::text::document::Document;
use crate::text::document::validate::{Problem, problems};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::write::publish::review::{self, About};

impl Workspace<'_> {
    /// Reads the pending submission of an artifact, or an earlier one by its version.
    ///
    /// The record for the access log names both versions, with the hashes of their whole texts.
    ///
    /// # Errors
    /// There is no such submission, the principal lacks a role there, or the chain does not vouch
    /// for one of the texts.
    pub(crate) fn submission(
        &self,
        (vault, log): (&Vault, &Log),
        id: &DocumentId,
        version: Option<Version>,
    ) -> Result<Traced<Submitted>, Failure> {
        let chronicle = log.sound()?;
        let (principal, _) = self.principal(vault.root(), None)?;
        let about = match version {
            Some(version) => review::about_version(vault, id, version, &principal)?,
            None => review::about(vault, id, &principal)?,
        };
        let track = &about.waiting.track;
        let awaited = awaited(track);
        let mut texts: Vec<Text> = Vec::new();
        let mut record = |version: Version| -> Result<_, Failure> {
            let (text, history) = any_text_of(vault, &chronicle, id, version)?;
            let found =
                recorded((vault.files(), &chronicle), id, (version, &history), (&text, &text));
            texts.extend(found.map(|text| Text { part: Some(Part::Submission), ..text }));
            Ok((text, history))
        };
        let (submitted, history) = record(awaited)?;
        // A submission after a retirement is compared with the text that was published before it.
        let before = match &track.pending {
            Some(_) => track.last_approved(),
            None => track.published.as_ref(),
        };
        let published = match before {
            Some(published) => Some((record(published.version)?.0, published.version)),
            None => None,
        };
        let blame = published.as_ref().and_then(|(_, version)| {
            let hash = history.entry(*version)?.chain_hash;
            Blame::at(vault.files(), id, &history, (*version, hash)).ok()
        });
        let is_text = track.pending.as_ref().is_some_and(|pending| pending.writes_text(id));
        let (published, base) = published.unwrap_or_else(|| (String::new(), Version::NONE));
        let submitted = if is_text { submitted } else { published.clone() };
        let end = about.end.as_ref().map(|end| end.version);
        let mut warnings = match id.is_document() && is_text {
            true => hidden(vault, id, &submitted),
            false => Vec::new(),
        };
        warnings
            .extend(track.pending.as_ref().and_then(|pending| review::unapproved(track, pending)));
        let submitted = Submitted {
            warnings,
            barred: match about.end {
                None => review::may_decide(track, &principal, &about.rules).err(),
                Some(_) => None,
            },
            reviewers: reviewers(&about),
            note: history.entry(awaited).and_then(|entry| entry.note.clone()),
            fault: about.fault.clone(),
            texts: Texts::new(id, published, submitted),
            blame,
            comments: comments(vault, id, base.max(before_emergency(track)), end)?,
            about,
            principal,
        };
        Ok(Traced::new(submitted, texts))
    }
}

/// Returns the problems of text that a page of the document would not show.
fn hidden(vault: &Vault, id: &DocumentId, text: &str) -> Vec<Problem> {
    let Ok(document) = Document::parse(text) else { return Vec::new() };
    let criteria = working::criteria(vault, &id.live_path(), &document, false);
    let mut found = problems(text, &document, criteria);
    found.retain(|problem| ["hidden-character", "hidden-comment"].contains(&problem.code));
    found
}

/// Returns the version that awaits a decision.
fn awaited(track: &Track) -> Version {
    match (&track.pending, &track.emergency) {
        (Some(pending), _) => pending.version,
        (None, Some(emergency)) => emergency.version,
        (None, None) => Version::NONE,
    }
}

/// Returns the version before an emergency retirement. Remarks up to it are about something else.
fn before_emergency(track: &Track) -> Version {
    let version = track.emergency.as_ref().map_or(0, |emergency| emergency.version.0);
    Version(version.saturating_sub(1))
}

/// Returns the principals who may decide; empty if the submission is faulty or decided.
pub(super) fn reviewers(about: &About) -> Vec<String> {
    match about.fault.is_some() || about.end.is_some() {
        true => Vec::new(),
        false => review::reviewers(&about.waiting.track, &about.rules),
    }
}

/// Returns the remarks on submissions after the published version and before the end of
/// the submission.
fn comments(
    vault: &Vault,
    id: &DocumentId,
    base: Version,
    end: Option<Version>,
) -> Result<Vec<Remark>, Failure> {
    let is_about = |version: u64| version > base.0 && end.is_none_or(|end| version < end.0);
    let mut found = Vec::new();
    let logs = Logs::of_changes(vault);
    let read = logs.and_then(|logs| {
        logs.comments(&mut |line| {
            let Event::Change(Change::Comment { version, text }) = &line.event else { return };
            if version.id == id.as_str() && is_about(version.version) {
                let by = line.request.principal.clone().unwrap_or_default();
                let (version, text) = (version.version, text.clone());
                found.push(Remark { version, by, at: line.at, text });
            }
        })
    });
    read.map_err(|source| crate::files::vault::files::FileError::Io {
        path: crate::values::model::layout::AUDIT_DIR.to_owned(),
        action: "read",
        source,
    })?;
    found.sort_by(|a, b| a.at.cmp(&b.at));
    Ok(found)
}
