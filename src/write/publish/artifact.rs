//! The next version of one document or governance file, with all bytes that are written for it.

use std::sync::Arc;

use super::governance_files::Governed;
use super::transaction::Transaction;
use super::{Refusal, Which};
use crate::files::vault::files::FileError;
use crate::files::vault::git_past::NOT_SPARSE;
use crate::files::vault::left_out::Reason;
use crate::files::vault::replace::Fingerprint;
use crate::read::working;
use crate::record::chain::diff;
use crate::record::chain::error::ChainError;
use crate::record::chain::form::{self, Form, Sizes};
use crate::record::chain::history::{Entry, EntryState, Forget, History, TextStorage};
use crate::record::chain::preimage::chain_hash;
use crate::record::chain::replay;
use crate::record::chain::vouched;
use crate::record::checkpoint::state::Mark;
use crate::record::trusted_head::EventKey;
use crate::text::document::dependent::Dependent;
use crate::text::document::edit::EditError;
use crate::text::document::live_form::{self, LiveForm};
use crate::text::document::obsidian::Markup;
use crate::text::document::stamp::{self, Stamp, StampedAs};
use crate::text::document::text::{is_normal, normalise};
use crate::text::document::validate::problems;
use crate::text::document::{Document, utf8};
use crate::values::model::digest::Digest;
use crate::values::model::filtered::filtered;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;
use crate::values::yaml::emit;
use crate::write::commit::stale;
use crate::write::commit::{Change, Extension, Item, Live, Step};

/// The result of preparing a candidate.
pub(super) enum Prepared {
    Version(Box<Item>),
    Unchanged,
    /// The live file still has the text from which the head was made, and must be updated.
    Behind(Live),
    LeftOut(Reason),
    Refused(Refusal),
}

/// The history that a new version extends.
pub(super) struct Base {
    pub(super) history: Arc<History>,
    /// Number, chain hash and text of the last version.
    pub(super) last: Option<(Version, Digest, String)>,
    /// The text that the head seals.
    pub(super) sealed: Option<String>,
    /// True if the history ends with a retirement.
    pub(super) retired: bool,
}

impl Base {
    /// Returns the base of a first version.
    pub(super) fn nothing() -> Self {
        Self { history: Arc::default(), last: None, sealed: None, retired: false }
    }

    /// Returns the number of the next version.
    pub(super) fn next(&self) -> Version {
        self.last.as_ref().map_or(Version::FIRST, |(version, ..)| version.next())
    }

    /// Returns the form in which the next version is stored.
    fn prescribed(&self, interval: u64, text: &str) -> Form {
        let diffs = self.history.diffs_at_end();
        let sizes = self.last.as_ref().map(|(.., before)| Sizes::of(before.len(), text, diffs));
        form::prescribed(self.next(), interval, sizes)
    }

    pub(super) fn change(&self) -> Change {
        match (&self.last, self.retired) {
            (None, _) => Change::New,
            (Some(_), true) => Change::Restored,
            (Some(_), false) => Change::Changed,
        }
    }
}

impl Transaction<'_> {
    /// Returns the base of the next version of an artifact, with every hash recomputed.
    pub(super) fn base(
        &self,
        id: &DocumentId,
        last_sealed: Option<Version>,
    ) -> Result<Base, Refusal> {
        let refuse = |why: &ChainError| self.broken(id, why);
        let files = self.vault.files();
        let mark = self.state.get(id.as_str());
        let held = self.in_force.timeline.history(id);
        let read = held.map_or_else(|| replay::load(files, id).map(Arc::new), Ok);
        let history = match read {
            Ok(history) => history,
            Err(ChainError::HistoryMissing) if last_sealed.is_none() => {
                return Ok(Base::nothing());
            }
            Err(ChainError::HistoryUnreadable(_)) if last_sealed.is_none() => {
                return Err(
                    self.unsealed(id, "its history cannot be read, and no checkpoint seals it")
                );
            }
            Err(why) => return Err(refuse(&why.explained(self.vault, id))),
        };
        let sealed = match mark.map(|mark| mark.sealed().ok_or(ChainError::HalfSealed)) {
            None => None,
            Some(Err(why)) => return Err(refuse(&why)),
            Some(Ok((version, hash))) => {
                let sealed = vouched::sealed(files, id, &history, version, &hash);
                Some((version, sealed.map_err(|why| refuse(&why))?.text))
            }
        };
        let known = last_sealed.unwrap_or(Version::NONE);
        let next = self.beyond.first_unsealed(id, &history, known, mark.is_some());
        if next == 0 && known > Version::NONE {
            return Err(refuse(&ChainError::VersionMissing(known)));
        }
        for slot in &history.slots[..next] {
            let faulty =
                |faults: &Vec<_>| refuse(&ChainError::Malformed(slot.line, faults.clone()));
            let entry = slot.entry.as_ref().map_err(faulty)?;
            if entry.version > known && entry.edited_at > self.at {
                let message =
                    format!("its version {} was made at {}", entry.version, entry.edited_at);
                let hint = "the clock of the reference implementation is ahead of this one";
                return Err(Refusal::new(id.history_path(), "history-broken", message, hint));
            }
        }
        // Only sealed versions may be extended.
        if let Some(slot) = history.slots.get(next) {
            let what =
                slot.version.map_or_else(|| "an entry".to_owned(), |n| format!("version {n}"));
            let event = slot.entry.as_ref().ok().map(EventKey::of);
            let what = what + &event.map_or_else(String::new, |event| format!(" ({event})"));
            if let Some(old) = self.moved_from(&history) {
                return Err(moved_with_its_folder(old, id));
            }
            let message = format!("its history has {what}, which no checkpoint seals");
            return Err(self.unsealed(id, &message));
        }
        if history.torn > 0 {
            return Err(self.unsealed(id, "its history ends in an entry that was cut short"));
        }
        let Some(version) = history.last_version().filter(|v| *v > Version::NONE) else {
            return Err(refuse(&ChainError::HistoryMissing));
        };
        let entry =
            history.entry(version).ok_or_else(|| refuse(&ChainError::VersionMissing(version)))?;
        let (chain, retired) = (entry.chain_hash, entry.is_retirement());
        let text = match &sealed {
            Some((number, text)) if *number == version => text.clone(),
            _ => vouched::vouched(files, id, &history, version).map_err(|why| refuse(&why))?,
        };
        let last = Some((version, chain, text));
        Ok(Base { history, last, sealed: sealed.map(|(_, text)| text), retired })
    }

    /// Refuses a history that cannot be extended.
    pub(super) fn broken(&self, id: &DocumentId, why: &ChainError) -> Refusal {
        if let ChainError::File(why @ FileError::Link { .. }) = why {
            return refused_file(&id.history_path(), why);
        }
        let message = format!("its history cannot be extended: {why}");
        let hint = match why {
            ChainError::LeftOut => NOT_SPARSE.into(),
            _ => {
                Hint::call("run {}; nothing is published while the history is broken", Verb::Verify)
            }
        };
        Refusal::new(id.history_path(), "history-broken", message, hint)
    }

    /// Refuses a history with bytes that no checkpoint seals.
    ///
    /// These are of an interrupted writer, or of another process.
    fn unsealed(&self, id: &DocumentId, message: &str) -> Refusal {
        let hint = Hint::calls(
            "either a command was interrupted or the entry is forged: run {}, then {}",
            [Verb::Verify.into(), Call::new(Verb::Recover).word("--dry-run")],
        );
        Refusal::new(id.history_path(), "history-unsealed", message.to_owned(), hint)
    }

    /// Prepares a document for publication. `fresh` is the text of a document without a live file.
    pub(super) fn prepare(
        &self,
        id: &DocumentId,
        fresh: Option<&str>,
        last_sealed: Option<Version>,
        which: &Which,
    ) -> Prepared {
        if !id.is_document() {
            let prepared = match fresh {
                Some(text) => {
                    self.handed_in(id, text, last_sealed).unwrap_or_else(Governed::Refused)
                }
                None => self.prepare_governance(id, last_sealed),
            };
            return match prepared {
                Governed::Version(item) => Prepared::Version(item),
                Governed::Unchanged | Governed::Reseal(_) => Prepared::Unchanged,
                Governed::Refused(refusal) => Prepared::Refused(refusal),
            };
        }
        self.document(id, fresh, last_sealed, which).unwrap_or_else(Prepared::Refused)
    }

    fn document(
        &self,
        id: &DocumentId,
        fresh: Option<&str>,
        last_sealed: Option<Version>,
        which: &Which,
    ) -> Result<Prepared, Refusal> {
        let path = id.live_path();
        if self.state.get(id.as_str()).is_none() {
            self.refuse_misplaced(&path, which)?;
        }
        let bytes = match fresh {
            Some(text) => text.as_bytes().to_vec(),
            None => match self.vault.files().read_optional(&path, limit::DOCUMENT) {
                Ok(Some(bytes)) => bytes,
                Ok(None) if which.is_named() && self.vault.gone().has(&path) => {
                    let message = "git leaves the live file out here (a sparse checkout)";
                    let (code, message) = ("document-missing", message.to_owned());
                    return Err(Refusal::new(path, code, message, NOT_SPARSE));
                }
                Ok(None) if which.is_named() => {
                    let message = "the live file is missing".to_owned();
                    let hint = match self.state.get(id.as_str()) {
                        Some(_) => restore_or_retire(id),
                        None => Hint::call(
                            "{} writes the last text into the file again",
                            Call::new(Verb::Restore).value(id.as_str()),
                        ),
                    };
                    return Err(Refusal::new(path, "document-missing", message, hint));
                }
                Ok(None) if self.vault.gone().has(&path) => {
                    return Ok(Prepared::LeftOut(Reason::NotCheckedOut));
                }
                Ok(None) => return Ok(Prepared::LeftOut(Reason::Missing)),
                Err(FileError::Link { .. }) if !which.is_named() => {
                    return Ok(Prepared::LeftOut(Reason::Link));
                }
                Err(FileError::NotRegular { .. }) if !which.is_named() => {
                    return Ok(Prepared::LeftOut(Reason::NotAFile));
                }
                Err(why) => return Err(refused_file(&path, &why)),
            },
        };
        if let Some(form) = filtered(&bytes).filter(|_| !which.is_named()) {
            return Ok(Prepared::LeftOut(Reason::Filtered(form)));
        }
        let live = readable(&path, &bytes)?;
        let document = parsed(&path, live)?;
        let base = match self.base(id, last_sealed) {
            Err(_)
                if self.state.get(id.as_str()).is_none() && working::is_erased(self.vault, id) =>
            {
                return match which.is_named() {
                    true => Err(erased(id)),
                    false => Ok(Prepared::LeftOut(Reason::Erased)),
                };
            }
            base => base?,
        };
        let form = base.sealed.as_deref().map(LiveForm::of);
        // A text that is handed in without fields keeps the published ones (REV-5).
        let kept = fresh.and(form.as_ref()).and_then(|form| form.with_body_of(live, &document));
        let whole = kept.as_deref().unwrap_or(live);
        if form.as_ref().is_some_and(|form| form.is_of(whole)) {
            return Ok(Prepared::Unchanged);
        }
        let mode = self.vault.config().frontmatter;
        let why = working::why_left_out((self.vault, &path), (live, &document), form.as_ref());
        let is_included = |why: &Reason| self.drafts && why.is_draft();
        match which {
            Which::All if base.retired => return Ok(Prepared::LeftOut(Reason::Retired)),
            Which::All
                if form.is_none() && working::is_plain_root_file(self.vault, &path, &document) =>
            {
                return Ok(Prepared::LeftOut(Reason::NoFrontmatter));
            }
            Which::All | Which::Changed => {
                if let Some(why) = why.filter(|why| !is_included(why)) {
                    return Ok(Prepared::LeftOut(why));
                }
            }
            Which::Ids(_) | Which::Read(_) | Which::Within { .. } => {}
        }
        if matches!(which, Which::Changed)
            && form.as_ref().is_some_and(|form| form.is_draft(&document, mode))
        {
            return Ok(Prepared::LeftOut(Reason::Draft));
        }
        let is_edited = live_form::is_edited(&document, mode);
        let place = (self.vault.files(), id);
        let sealed = base.sealed.as_deref().filter(|_| is_edited);
        let by_hand = sealed.and_then(|sealed| {
            stale::changed_by_hand(place, &document.frontmatter, (sealed, &base.history))
        });
        if let Some(sealed) = sealed.filter(|_| by_hand.is_none())
            && let Some(new) = stamp::left_behind(id, live, &document, sealed)
        {
            return Ok(match fresh {
                // A text that is handed in equals the published one, and its live file stays as
                // it is.
                Some(_) => Prepared::Unchanged,
                None => Prepared::Behind(Live::Replace {
                    old: Fingerprint::of(&bytes),
                    new: new.into(),
                }),
            });
        }
        let mark = self.state.get(id.as_str()).and_then(Mark::sealed);
        if let (Some(form), Some((version, chain_hash)), Some(text)) = (&form, mark, &base.sealed) {
            let (history, chain_hash) = (&base.history, &chain_hash);
            let last = stale::Last { version, chain_hash, text, history };
            let edit = stale::Edit { expect: self.expect, is_handed_in: fresh.is_some() };
            let found = stale::find(place, (live, &document), (form, mode), &last, edit);
            if let Some(stale) = found {
                return Err(Refusal::new(path, "stale", stale.message, stale.hint));
            }
        }
        let is_of_last = mark.map(|(version, _)| version) == document.frontmatter.version;
        if let Some(field) = by_hand.filter(|_| is_of_last) {
            return Err(Refusal::of_spelling(&path, &EditError::ByHand(field)));
        }
        let (live, document) = match &kept {
            Some(text) => (text.as_str(), parsed(&path, text)?),
            None => (live, document),
        };
        let is_new = base.next() == Version::FIRST;
        let found =
            problems(live, &document, working::criteria(self.vault, &path, &document, is_new));
        let mut warnings = Refusal::unless_valid(&path, found)?;
        warnings.extend(working::expired(id, &document.frontmatter.validity, self.at));
        let version = base.next();
        // A document without `created_at` was created at the start of its history.
        let first = base.history.slots.first().and_then(|slot| slot.entry.as_ref().ok());
        let created = first.map_or(self.at, |entry| entry.edited_at);
        let stamp = Stamp { stamped_as: self.stage(id), ..self.stamp(version, created) };
        let next = stamp.next(id, live, &document, None, mode);
        let next = next.map_err(|why| Refusal::of_spelling(&path, &why))?;
        if is_new {
            let content = working::Text { text: live.to_owned(), document };
            warnings.extend(working::of_name(self.vault, id, &content));
        }
        let change =
            if self.submits.is_some() { Change::Step(Step::Submit) } else { base.change() };
        let mut item = self.next_version(id, &base, &next.sealed, change)?;
        item.warnings = warnings;
        item.live = match (fresh, next.live) {
            _ if self.submits.is_some() => Live::Keep,
            (Some(text), new) => Live::Create(new.as_deref().unwrap_or(text).into()),
            (None, Some(new)) => Live::Replace { old: Fingerprint::of(&bytes), new },
            (None, None) => Live::Keep,
        };
        Ok(Prepared::Version(Box::new(item)))
    }

    /// Refuses an unpublished document at a path where this vault does not look for documents.
    fn refuse_misplaced(&self, path: &str, which: &Which) -> Result<(), Refusal> {
        let refuse =
            |message, hint: &'static str| Err(Refusal::new(path, "misplaced", message, hint));
        if !self.vault.is_document_path(path) {
            let message = "the layout of the vault does not allow documents there".to_owned();
            return refuse(message, "see `layout` and `exclude` in .context/config.yaml");
        }
        // A walk skips other vaults and ignored files, but a document can be named.
        if !which.is_named() {
            return Ok(());
        }
        if let Some(folder) = self.vault.nested_above(path) {
            let message = format!("`{folder}` is a vault of its own");
            return refuse(message, "publish it there, or move that vault out of this one");
        }
        match self.vault.ignore_rule(path) {
            Some(rule) => {
                refuse(format!("git ignores it, by {rule}"), "change the rule, or move the file")
            }
            None => Ok(()),
        }
    }

    /// Returns the values that this event writes into the frontmatter of a document.
    pub(super) fn stamp(&self, version: Version, created: Timestamp) -> Stamp {
        let author = self.author.author.as_deref();
        Stamp {
            version,
            author: author.unwrap_or_else(|| self.author.principal.as_str()).to_owned(),
            created: created.to_string(),
            updated: self.at.to_string(),
            markup: Markup::of(self.vault.config()),
            stamped_as: StampedAs::Published,
        }
    }

    /// Returns the kind of stamp of a document: published or submitted.
    fn stage(&self, id: &DocumentId) -> StampedAs {
        match &self.submits {
            None => StampedAs::Published,
            Some(submits) => StampedAs::Submitted {
                base: self.state.get(id.as_str()).and_then(|mark| mark.version).unwrap_or_default(),
                change: submits.set_of(id),
            },
        }
    }

    /// Returns a new version: a full text or a diff, both hashes, and the bytes to append.
    pub(super) fn next_version(
        &self,
        id: &DocumentId,
        base: &Base,
        text: &Arc<str>,
        change: Change,
    ) -> Result<Item, Refusal> {
        self.decided_version(id, base, text, change, None)
    }

    /// Returns a new version that decides about a submission.
    ///
    /// A governance file is without review fields, so its diff records the decision.
    pub(super) fn decided_version(
        &self,
        id: &DocumentId,
        base: &Base,
        text: &Arc<str>,
        change: Change,
        decision: Option<&'static str>,
    ) -> Result<Item, Refusal> {
        let refuse = |message: String, hint: Hint| {
            Err(Refusal::new(id.live_path(), "too-large", message, hint))
        };
        if text.len() as u64 > limit::DOCUMENT {
            return refuse(
                "the text is larger than 16 MiB".to_owned(),
                "split the document".into(),
            );
        }
        if !is_normal(text) {
            let message = "the text starts with two byte order marks (U+FEFF)";
            let hint = "remove both";
            return Err(Refusal::new(id.live_path(), "two-marks", message.to_owned(), hint));
        }
        let interval =
            base.history.keyframe_interval.unwrap_or(self.vault.config().keyframe_interval);
        let version = base.next();
        let previous = base.last.as_ref().map(|(_, chain, _)| chain);
        let decision = decision.filter(|_| !id.is_document());
        let stored = match (&base.last, base.prescribed(interval, text)) {
            _ if decision.is_some() => {
                TextStorage::Diff(diff::of_act(version, decision.unwrap_or_default()))
            }
            (Some((last, _, before)), Form::Diff | Form::DiffIfItFits) => {
                stored_diff(before, text, *last, version)
            }
            (_, _) => TextStorage::Keyframe,
        };
        let content = match &stored {
            TextStorage::Diff(diff) => Digest::of(normalise(diff).as_bytes()),
            TextStorage::Keyframe | TextStorage::DiffFile => Digest::of(text.as_bytes()),
        };
        let principal = self.author.principal.as_str();
        let chain = chain_hash(previous, &content, version, principal, self.at);
        let state = match change {
            Change::Retired => EntryState::Retired(self.at),
            Change::Step(_) => EntryState::Unpublished,
            Change::New | Change::Changed | Change::Restored => EntryState::Published(self.at),
        };
        let entry = Entry {
            version,
            stored,
            edited_by: principal.to_owned(),
            edited_at: self.at,
            state,
            note: self.author.note.clone(),
            forget: Forget::None,
            content_hash: content,
            chain_hash: chain,
        };
        // A version is served only if its text agrees with its entry, so this is checked
        // before sealing.
        if let Err(why) = vouched::self_described(id, &entry, text) {
            let hint = "write the frontmatter as plain `key: value` lines";
            return Err(Refusal::new(
                id.live_path(),
                "frontmatter-spelling",
                why.to_string(),
                hint,
            ));
        }
        let keyframe = (entry.stored == TextStorage::Keyframe)
            .then(|| (id.keyframe_path(version), Arc::clone(text)));
        if let Some((path, _)) =
            keyframe.as_ref().filter(|(path, _)| self.vault.files().exists(path))
        {
            let message = format!("`{path}` exists, but no checkpoint seals it");
            return Err(self.unsealed(id, &message));
        }
        let bytes = match base.history.append(&entry, interval) {
            Ok(bytes) => bytes,
            Err(why) => {
                let message = format!("its history cannot be appended to: {why}");
                let path = id.history_path();
                let hint = Hint::call("run {}; only ctx writes histories", Verb::Verify);
                return Err(Refusal::new(path, "history-broken", message, hint));
            }
        };
        let history = Extension { path: id.history_path(), length: base.history.length, bytes };
        Ok(Item {
            id: id.clone(),
            change,
            version,
            chain_hash: chain,
            warnings: Vec::new(),
            live: Live::Keep,
            set: None,
            submitted: (change == Change::Step(Step::Submit)).then(|| Arc::clone(text)),
            approved: None,
            dependent: Dependent::of(id, text)
                .filter(|_| !entry.is_retirement() && id.is_document())
                .unwrap_or_default(),
            keyframe,
            history,
        })
    }
}

fn stored_diff(before: &str, text: &str, last: Version, version: Version) -> TextStorage {
    let diff = diff::print(before, text, last, version);
    // Escapes may make a diff too long for one line of a history.
    let fits = emit::long_text(&diff, 4).len() <= form::MAX_SPELLED_DIFF;
    // A diff must never be hashed if it does not restore its version.
    if fits && diff::apply(before, &diff).as_deref() == Ok(text) {
        TextStorage::Diff(diff)
    } else {
        TextStorage::Keyframe
    }
}

pub(super) fn readable<'b>(path: &str, bytes: &'b [u8]) -> Result<&'b str, Refusal> {
    utf8(bytes).map_err(|why| Refusal::new(path, why.code(), why.to_string(), why.hint()))
}

pub(super) fn parsed(path: &str, text: &str) -> Result<Document, Refusal> {
    Document::of_live(text)
        .map_err(|why| Refusal::new(path, why.code(), why.to_string(), why.hint()))
}

pub(super) fn refused_file(path: &str, why: &FileError) -> Refusal {
    Refusal { path: path.to_owned(), problems: vec![working::unreadable(why)] }
}

/// Refuses a document whose texts the reference implementation erased.
fn erased(id: &DocumentId) -> Refusal {
    let message = "its texts were erased on purpose, and its history cannot be extended".to_owned();
    let hint = "publish a new text in a file of another name";
    Refusal::new(id.live_path(), "history-broken", message, hint)
}

/// Returns a hint for a published document whose live file is missing.
pub(super) fn restore_or_retire(id: &DocumentId) -> Hint {
    let call = |verb| Call::new(verb).value(id.as_str());
    Hint::calls(
        "{} writes the published text into the file again, {} withdraws the document",
        [call(Verb::Restore), call(Verb::Retire)],
    )
}

/// Refuses a document whose history was moved without ctx, as `git mv` of a folder does.
fn moved_with_its_folder(old: &DocumentId, new: &DocumentId) -> Refusal {
    let message = format!("its history is that of `{old}`, which was moved here with its folder");
    let mv = Call::new(Verb::Mv).value(old.as_str()).value(new.as_str());
    let hint = match old.collision_with(new) {
        Some(_) => "move the folder back as you moved it: the ids differ only in case".into(),
        None => Hint::call("move the folder back as you moved it, then run {}", mv),
    };
    Refusal::new(new.history_path(), "history-unsealed", message, hint)
}
