//! Checks the working copy: live files against the texts that the head seals, and other files of
//! the vault.

use rayon::prelude::*;

use super::artifact::Pass;
use super::finding::{Code, Finding};
use super::log::View;
use crate::files::vault::Vault;
use crate::files::vault::config::FrontmatterMode;
use crate::files::vault::files::{FileError, Files};
use crate::files::vault::walk::{Survey, WalkedFiles};
use crate::read::working::copies;
use crate::record::checkpoint::foreign::Foreign;
use crate::record::staging::{Acting, Promoting};
use crate::text::document::frontmatter::Status;
use crate::text::document::live_form::{LiveForm, is_edited};
use crate::text::document::stamp::is_submitted;
use crate::text::document::text::normalise;
use crate::text::document::validate::has_our_four;
use crate::text::document::{Document, utf8};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{self, limit};

impl Pass<'_> {
    /// Compares the live file of a published artifact with the sealed text.
    pub(super) fn live(&mut self, sealed: Option<&str>) {
        let path = self.id.live_path();
        let drift = self.drift();
        let bytes = match self.vault.files().read_optional(&path, limit::DOCUMENT) {
            Ok(Some(bytes)) => bytes,
            Ok(None) if self.is_deletion_submitted() => {
                self.checked.drafts += 1;
                return;
            }
            Ok(None) => {
                let code = if self.id.is_document() { Code::DocumentMissing } else { drift };
                let message = match self.vault.files().exists(&self.id.history_path()) {
                    true => "the live file is missing",
                    false => {
                        "the live file and the history are missing: only git or a backup has the text"
                    }
                };
                self.push(Finding::new(code, path, message));
                return;
            }
            Err(why) => {
                let code = match why {
                    FileError::Io { .. } => Code::FileUnreadable,
                    _ => drift,
                };
                self.push(Finding::new(code, path, why.to_string()));
                return;
            }
        };
        // An unreadable sealed text has been reported, and there is nothing to compare with.
        let Some(sealed) = sealed else { return };
        let live = match utf8(&bytes) {
            Ok(live) => normalise(live),
            Err(why) => {
                self.push(Finding::new(drift, path, format!("the file is {why}")));
                return;
            }
        };
        let pending =
            self.reviews.as_ref().and_then(|reviews| reviews.approvals.track.pending.as_ref());
        if !self.id.is_document() {
            let is_submitted = pending.is_some_and(|pending| pending.text == *live);
            match *live == *sealed {
                true => {}
                false if is_submitted => self.checked.drafts += 1,
                false => self.differs(sealed, &live),
            }
            return;
        }
        let submitted = pending.map(|pending| pending.text.as_str()).unwrap_or_default();
        let form = LiveForm::of(sealed);
        let is_draft = || {
            let document = Document::of_live(&live);
            document.is_ok_and(|document| {
                form.is_draft(&document, self.rules.frontmatter)
                    || is_submitted(self.id, &live, &document, submitted)
            })
        };
        if form.is_of(&live) {
            return;
        }
        match is_draft() {
            true => self.checked.drafts += 1,
            false => self.differs(form.text(), &live),
        }
    }

    /// Returns true if a governance file is missing and its deletion was submitted.
    fn is_deletion_submitted(&self) -> bool {
        let pending =
            self.reviews.as_ref().and_then(|reviews| reviews.approvals.track.pending.as_ref());
        !self.id.is_document() && pending.is_some_and(|pending| pending.text.is_empty())
    }

    /// Reports that a live file differs from the expected text.
    fn differs(&mut self, expected: &str, live: &str) {
        let (path, code) = (self.id.live_path(), self.drift());
        let line = first_difference(expected, live);
        let message = format!("the live file differs from the published text from line {line} on");
        self.push(Finding::new(code, path, message).line(line));
    }

    fn drift(&self) -> Code {
        if self.id.is_document() { Code::Drift } else { Code::PolicyDrift }
    }
}

/// Returns the first line, from 1, in which two texts differ.
fn first_difference(sealed: &str, live: &str) -> usize {
    sealed.split('\n').zip(live.split('\n')).take_while(|(a, b)| a == b).count() + 1
}

/// Reports live files with the status published that the head does not contain.
pub(super) fn planted(
    vault: &Vault,
    paths: &[String],
    view: &View,
    mode: FrontmatterMode,
) -> Vec<Finding> {
    // Live files of documents in the head have been compared already.
    let beside_head = |path: &&String| {
        let id = DocumentId::of_document_file(path);
        !id.is_ok_and(|id| view.head.get(id.as_str()).is_some())
    };
    let planted = |path: &String| {
        let finding = |code, message: String| {
            let finding = Finding::new(code, path, message);
            Some(Finding { id: DocumentId::of_document_file(path).ok(), ..finding })
        };
        let bytes = match vault.files().read_optional(path, limit::DOCUMENT) {
            Ok(bytes) => bytes?,
            Err(why @ FileError::Io { .. }) => {
                return finding(Code::FileUnreadable, why.to_string());
            }
            Err(why) => return finding(Code::FileIgnored, why.to_string()),
        };
        let is_published = match utf8(&bytes).and_then(Document::of_live) {
            // If publishing does not edit files, the status alone may come from another program.
            Ok(live) if is_edited(&live, mode) || has_our_four(&live.frontmatter) => {
                live.frontmatter.status == Status::Published
            }
            Ok(_) => false,
            // Other readers are less strict.
            Err(_) if claims_published(&bytes) => true,
            Err(why) => return finding(Code::FileIgnored, format!("it is not a document: {why}")),
        };
        if !is_published {
            return None;
        }
        let body = utf8(&bytes)
            .ok()
            .and_then(|text| Some(&text[Document::of_live(text).ok()?.parts.body..]));
        let copy = body.and_then(|body| copies::problem(vault, path, body));
        let copy = copy.map_or_else(String::new, |copy| format!("; {}", copy.message));
        let message = format!("the file says published, but no checkpoint contains it now{copy}");
        finding(Code::PublishedWithoutHistory, message)
    };
    paths.par_iter().filter(beside_head).filter_map(planted).collect()
}

/// Returns true if a line of a malformed document could be read as the status published.
fn claims_published(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    // Every character that ends a line for some reader (YAML-9).
    let mut lines = text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).map(str::trim_start);
    lines.any(|line| line.strip_prefix("status").is_some_and(|rest| rest.contains("published")))
}

/// Reports a vault inside another one: a process that works there does not see the other vault.
pub(super) fn inside(vault: &Vault) -> Option<Finding> {
    let (_, outer) = Vault::nested(vault.root())?;
    let message = format!("the vault is inside another one, `{}`", outer.display());
    Some(Finding::new(Code::VaultNested, layout::CONTEXT_DIR, message))
}

/// Reports paths that are named like documents but are not documents.
pub(super) fn ignored(found: &WalkedFiles) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (paths, code, message) in [
        (&found.nested, Code::VaultNested, "it is a vault of its own, which this one leaves alone"),
        (&found.links, Code::FileIgnored, "it is a symbolic link, which is not followed"),
        (&found.not_files, Code::FileIgnored, "it is not a regular file, so it is not read"),
        (
            &found.unreadable_names,
            Code::FileIgnored,
            "its name is not UTF-8, so it cannot be an id",
        ),
        (
            &found.unusable_rules,
            Code::FileIgnored,
            "its ignore rules are not read: it is a link, too large or unreadable",
        ),
    ] {
        findings.extend(paths.iter().map(|path| Finding::new(code, path, message)));
    }
    findings
}

/// Reports stray files among the histories, and folders that could not be listed.
pub(super) fn strays(survey: &Survey, foreign: &Foreign) -> Vec<Finding> {
    let lists = [
        (&survey.strays, Code::Unfinished, "it does not belong to a history"),
        (&survey.links, Code::FileIgnored, "it is a symbolic link, which is not followed"),
        (&survey.unlisted, Code::FolderUnreadable, "it cannot be listed"),
    ];
    let found = lists.into_iter().flat_map(|(paths, code, message)| {
        paths.iter().map(move |path| match layout::FOREIGN_FILES.contains(&path.as_str()) {
            true if code == Code::Unfinished && foreign.is_any() => {
                let message = "the reference implementation keeps it; no hash covers it";
                Finding::new(Code::ForeignRecord, path, message)
            }
            _ => Finding::new(code, path, message),
        })
    });
    found.collect()
}

/// Reports the marks of interrupted acts on staged entries.
pub(super) fn acts(files: &Files) -> Vec<Finding> {
    let act = Acting::is_left(files).then(|| layout::STAGING_ACT.to_owned());
    let message = "an act on a staged entry was interrupted before it was completely recorded";
    let found = act.into_iter().chain(Promoting::left(files));
    found.map(|path| Finding::new(Code::Unfinished, path, message)).collect()
}

/// Reports governance files that no checkpoint seals.
pub(super) fn unsealed_policy(paths: &[String], view: &View) -> Vec<Finding> {
    let unsealed = paths.iter().filter(|path| view.head.get(path).is_none());
    let finding = |path: &String| {
        let message = match DocumentId::of_governance_file(path) {
            Ok(_) => "no checkpoint contains it".to_owned(),
            Err(why) => format!("no checkpoint contains it, and none can: {why}"),
        };
        let finding = Finding::new(Code::PolicyUnsealed, path, message);
        Finding { id: path.parse().ok(), ..finding }
    };
    unsealed.map(finding).collect()
}
