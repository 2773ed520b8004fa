//! Decides which documents a writing call may reveal to its principal (`spec/mcp.md`,
//! MCP-8, MCP-17).

use std::collections::BTreeSet;

use crate::files::vault::Vault;
use crate::policy::stewards::Role;
use crate::read::snapshot::{CheckpointSource, Need, Snapshot};
use crate::read::working;
use crate::record::audit::{Change, Event, Logs};
use crate::record::chain::{replay, vouched};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::Workspace;
use crate::service::workspace::recording::of_log;
use crate::service::workspace::version::{is_hidden, unknown};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::principal::PrincipalKey;
use crate::write::publish::{PublishError, review};

impl Workspace<'_> {
    /// Checks that the principal may know of the submissions of a document.
    ///
    /// If the document was never published, only the submitter and editors may. For others it looks
    /// like a missing one.
    ///
    /// # Errors
    /// The principal may not know of them.
    pub(super) fn check_told(&self, vault: &Vault, id: &DocumentId) -> Result<(), Failure> {
        match !is_hidden(vault, id) || self.is_party_to(vault, id)? {
            true => Ok(()),
            false => Err(unknown_upon(vault, id)?),
        }
    }

    /// Checks the same as [`Workspace::check_told`], but also lets the author of a draft pass.
    ///
    /// # Errors
    /// The principal may not know of the document.
    #[cfg(feature = "mcp")]
    pub(super) fn check_draft_told(&self, vault: &Vault, id: &DocumentId) -> Result<(), Failure> {
        match self.own_draft(vault, id)? {
            Some(_) => Ok(()),
            None => self.check_told(vault, id),
        }
    }

    /// Checks that the principal may know of a document; the error is that of a missing one.
    ///
    /// If reading is decided by the tags of a text, the id alone decides nothing: then the author
    /// may know of a draft, and the submitter and editors of a submission.
    ///
    /// # Errors
    /// The principal may not know of the document.
    pub(crate) fn check_writable(&self, vault: &Vault, id: &DocumentId) -> Result<(), Failure> {
        let unknown = match self.nameable(vault, id.clone()) {
            Err(failure) if failure.code == Code::UnknownId => failure,
            known => return known.map(|_| ()),
        };
        // Without a valid log, no rule allows more.
        let is_sound =
            crate::record::trusted_head::open_log(vault).is_ok_and(|log| log.sound().is_ok());
        match is_sound && (self.is_party_unseen(vault, id)? || self.is_drafter_of(vault, id)?) {
            true => Ok(()),
            false => Err(unknown),
        }
    }

    /// Checks the same for a new document, which an editor of its text may make with an unused id.
    /// The answer reveals to them if an id is taken (REV-25).
    ///
    /// # Errors
    /// As [`Workspace::check_writable`].
    pub(crate) fn check_new(
        &self,
        vault: &Vault,
        id: &DocumentId,
        text: &str,
    ) -> Result<(), Failure> {
        // A user of the command line has the files.
        if !vault.reader().is_of_published() {
            return Ok(());
        }
        match self.check_writable(vault, id) {
            Err(failure) if failure.code == Code::UnknownId => {
                match self.is_editor_of(vault, id, &[text])? && !working::is_known(vault, id) {
                    true => Ok(()),
                    false => Err(failure),
                }
            }
            checked => checked,
        }
    }

    /// Returns true if the principal may know of every submission. In a governed vault, that is an
    /// editor at every scope.
    #[cfg(feature = "mcp")]
    pub(crate) fn is_told_of_all(&self, vault: &Vault) -> bool {
        let Ok(log) = crate::record::trusted_head::open_log(vault) else { return false };
        let rules = log.sound().ok().map(|chronicle| review::rules_in_force(vault, &chronicle));
        match rules {
            Some(Ok(None)) => true,
            Some(Ok(Some(rules))) => self
                .principal(vault.root(), None)
                .is_ok_and(|(me, _)| rules.stewards.has_everywhere(&me.key(), Role::Editor)),
            _ => false,
        }
    }

    /// Returns true if the principal submitted the pending submission of a document, or is an
    /// editor of it.
    fn is_party_to(&self, vault: &Vault, id: &DocumentId) -> Result<bool, Failure> {
        let (me, _) = self.principal(vault.root(), None)?;
        // A document that the principal may not read looks like a missing one (REV-22).
        let pending = review::about(vault, id, &me).ok().and_then(|of| of.waiting.track.pending);
        match pending {
            Some(one) if PrincipalKey::of(&one.by) == me.key() => Ok(true),
            Some(one) => self.is_editor_of(vault, id, &[&one.text]),
            None => Ok(false),
        }
    }

    /// Returns the same for an artifact whose id the principal may not know. Files of others are
    /// not read, because the time for it would reveal that they exist.
    fn is_party_unseen(&self, vault: &Vault, id: &DocumentId) -> Result<bool, Failure> {
        let (me, _) = self.principal(vault.root(), None)?;
        let source = CheckpointSource::open(vault, Need::Versions, &mut |_, _| ())?;
        let queue = match review::queue(vault, &source, None) {
            Err(PublishError::Ungoverned) => return Ok(false),
            queue => queue?,
        };
        let Some(waiting) = queue.waiting.iter().find(|one| one.track.id() == id) else {
            return Ok(false);
        };
        let track = &waiting.track;
        let is_mine = |by: &str| PrincipalKey::of(by) == me.key();
        let is_party = track.pending.as_ref().is_some_and(|one| {
            let fit = queue.rules.require(me.as_str(), Role::Editor, [(id, one.text.as_str())]);
            is_mine(&one.by) || fit.is_ok()
        });
        let fit = queue.rules.require(me.as_str(), Role::Viewer, track.awaited());
        Ok(is_party && fit.is_ok())
    }

    /// Returns true if the principal has a draft of an unpublished document, and is an editor of
    /// every text that was submitted of it. Otherwise a draft would reveal that there are
    /// other texts.
    fn is_drafter_of(&self, vault: &Vault, id: &DocumentId) -> Result<bool, Failure> {
        if self.own_draft(vault, id)?.is_none() || !is_hidden(vault, id) {
            return Ok(false);
        }
        if !working::has_history(vault, id) {
            return Ok(true);
        }
        let Ok(history) = replay::load(vault.files(), id) else { return Ok(false) };
        let texts = history
            .entries()
            .map(|entry| vouched::vouched(vault.files(), id, &history, entry.version));
        let Ok(texts) = texts.collect::<Result<Vec<String>, _>>() else { return Ok(false) };
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.is_editor_of(vault, id, &texts)
    }

    /// Returns the bytes and hash of a live file if the change log names this principal as the
    /// writer of these bytes.
    ///
    /// # Errors
    /// The file or the log cannot be read, or the principal is unknown.
    pub(crate) fn own_draft(
        &self,
        vault: &Vault,
        id: &DocumentId,
    ) -> Result<Option<(Vec<u8>, Digest)>, Failure> {
        let (me, _) = self.principal(vault.root(), None)?;
        let me = Some(me.key());
        let mut mine = BTreeSet::new();
        let logs = of_log(Logs::of_changes(vault))?;
        let read = logs.drafts(&mut |line| {
            let Event::Change(Change::Draft { draft }) = &line.event else { return };
            let by = line.request.principal.as_deref().map(PrincipalKey::of);
            if draft.id == id.as_str() && by == me {
                mine.insert(draft.sha256.clone());
            }
        });
        of_log(read)?;
        // The files of other principals are not read.
        if mine.is_empty() {
            return Ok(None);
        }
        let bytes = vault.files().read_optional(&id.live_path(), limit::DOCUMENT)?;
        let Some(bytes) = bytes else { return Ok(None) };
        let hash = Digest::of(&bytes);
        Ok(mine.contains(&hash.to_string()).then_some((bytes, hash)))
    }

    /// Returns true if the principal is an editor of these texts of a document, or if the vault
    /// is ungoverned.
    pub(super) fn is_editor_of(
        &self,
        vault: &Vault,
        id: &DocumentId,
        texts: &[&str],
    ) -> Result<bool, Failure> {
        let log = crate::record::trusted_head::open_log(vault)?;
        let Some(rules) = review::rules_in_force(vault, &log.sound()?)? else { return Ok(true) };
        let (me, _) = self.principal(vault.root(), None)?;
        let texts = texts.iter().map(|text| (id, *text));
        Ok(rules.require(me.as_str(), Role::Editor, texts).is_ok())
    }
}

/// Returns the failure for an id that does not exist.
fn unknown_upon(vault: &Vault, id: &DocumentId) -> Result<Failure, Failure> {
    let log = crate::record::trusted_head::open_log(vault)?;
    unknown(&Snapshot::at(vault, &log.sound()?, None)?, id.as_str())
}
