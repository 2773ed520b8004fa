//! Of which documents a call that writes may speak to its principal (`spec/mcp.md`, MCP-8, MCP-17).

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
    /// Refuses to tell of a submission of a document that was never published, but to its submitter
    /// and to editors: to others it is as unknown as one that there is not.
    ///
    /// # Errors
    /// The principal is neither.
    pub(super) fn check_told(&self, vault: &Vault, id: &DocumentId) -> Result<(), Failure> {
        match !is_hidden(vault, id) || self.is_party_to(vault, id)? {
            true => Ok(()),
            false => Err(unknown_upon(vault, id)?),
        }
    }

    /// As [`Workspace::check_told`]; a draft is told of to its author, too.
    ///
    /// # Errors
    /// The principal is neither of these.
    #[cfg(feature = "mcp")]
    pub(super) fn check_draft_told(&self, vault: &Vault, id: &DocumentId) -> Result<(), Failure> {
        match self.own_draft(vault, id)? {
            Some(_) => Ok(()),
            None => self.check_told(vault, id),
        }
    }

    /// Refuses a call about what the principal may not be told of, as one about what there is not.
    /// Where only the tags of a text say who reads it, its id says nothing: then a draft is told of to
    /// its author, and a submission to its submitter and to editors.
    ///
    /// # Errors
    /// The principal may not be told of it.
    pub(crate) fn check_writable(&self, vault: &Vault, id: &DocumentId) -> Result<(), Failure> {
        let unknown = match self.nameable(vault, id.clone()) {
            Err(failure) if failure.code == Code::UnknownId => failure,
            known => return known.map(|_| ()),
        };
        // Nothing says who may be told of anything.
        let is_sound =
            crate::record::trusted_head::open_log(vault).is_ok_and(|log| log.sound().is_ok());
        match is_sound && (self.is_party_unseen(vault, id)? || self.is_drafter_of(vault, id)?) {
            true => Ok(()),
            false => Err(unknown),
        }
    }

    /// The same for a new document. Who is an editor of its text may make it where nothing has the id:
    /// that an id is taken cannot be hidden from who makes a document with it (REV-25).
    ///
    /// # Errors
    /// As [`Workspace::check_writable`].
    pub(crate) fn check_new(
        &self,
        vault: &Vault,
        id: &DocumentId,
        text: &str,
    ) -> Result<(), Failure> {
        // A command is for who has the files.
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

    /// Returns true if the principal is told of every submission: in a governed vault an editor at every
    /// scope.
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

    /// Whether the principal submitted what awaits a decision, or is an editor of it.
    fn is_party_to(&self, vault: &Vault, id: &DocumentId) -> Result<bool, Failure> {
        let (me, _) = self.principal(vault.root(), None)?;
        // What the principal may not read is not there (REV-24).
        let pending = review::about(vault, id, &me).ok().and_then(|of| of.waiting.track.pending);
        match pending {
            Some(one) if PrincipalKey::of(&one.by) == me.key() => Ok(true),
            Some(one) => self.is_editor_of(vault, id, &[&one.text]),
            None => Ok(false),
        }
    }

    /// The same of an artifact that the principal may not be told of by its id. No file of it is looked at
    /// unless it is theirs: else the time that it takes would tell that there is one.
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

    /// Whether the principal has a draft of a document that was never published, and is an editor of
    /// all that was ever submitted of it: else a draft would say that there is more.
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

    /// The live file of a document, if its bytes are those that this principal wrote as a draft, as
    /// the change log says.
    ///
    /// # Errors
    /// The file or the log cannot be read, or there is no principal.
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
        // The file of another principal is not looked at.
        if mine.is_empty() {
            return Ok(None);
        }
        let bytes = vault.files().read_optional(&id.live_path(), limit::DOCUMENT)?;
        let Some(bytes) = bytes else { return Ok(None) };
        let hash = Digest::of(&bytes);
        Ok(mine.contains(&hash.to_string()).then_some((bytes, hash)))
    }

    /// Whether the principal is an editor of texts of a document; in an ungoverned vault each one is.
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

/// The failure for an id that nothing has.
fn unknown_upon(vault: &Vault, id: &DocumentId) -> Result<Failure, Failure> {
    let log = crate::record::trusted_head::open_log(vault)?;
    unknown(&Snapshot::at(vault, &log.sound()?, None)?, id.as_str())
}
