//! Judges acts on staged entries by the stewards in force and the documents promoted from the
//! entries (`spec/staging.md`, STAGE-19).

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use super::timeline::{InForce, Mode};
use crate::files::vault::files::Files;
use crate::policy::stewards::Role;
use crate::record::chain::error::ChainError;
use crate::record::chain::walk::Walk;
use crate::record::chain::{replay, vouched};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::staging::{ActKind, JudgedAct, StagedEntry, Standing, VoidAct};
use crate::text::document::Document;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// Judges acts by the rules and histories of a sound log.
pub(crate) struct ActJudge<'j, 'l> {
    files: &'j Files,
    chronicle: &'j Chronicle<'l>,
    eras: OnceCell<Vec<Era>>,
    /// The published texts of sources, which decide roles.
    texts: RefCell<HashMap<DocumentId, Vec<String>>>,
    /// The principals already asked about, with true for a reviewer of the source and `None`
    /// if unknown.
    decided: RefCell<HashMap<Asked, Option<bool>>>,
}

/// A source and a principal, in the era that begins at a checkpoint.
type Asked = (DocumentId, String, CheckpointNumber);

/// The mode from a checkpoint on.
struct Era {
    from: CheckpointNumber,
    at: Timestamp,
    mode: Mode,
}

impl Era {
    /// Returns true if a principal has a role for any of these texts; `None` if that is unknown.
    fn allows(&self, who: &str, needed: Role, id: &DocumentId, texts: &[String]) -> Option<bool> {
        match &self.mode {
            Mode::Ungoverned => Some(true),
            Mode::Unreadable { .. } => None,
            Mode::Governed(_) if texts.is_empty() => None,
            Mode::Governed(rules) => {
                let texts = texts.iter().map(|text| (id, text.as_str()));
                Some(rules.require_any(who, needed, texts).is_ok())
            }
        }
    }
}

/// The result of a search for the version that a promotion made.
enum Made {
    /// A version was made from the entry; contains its text.
    Of(String),
    /// No version was made from the entry.
    Not,
    /// Some versions cannot be read.
    Unknown,
}

impl<'j, 'l> ActJudge<'j, 'l> {
    /// Creates a judge for this log.
    pub(crate) fn new(files: &'j Files, chronicle: &'j Chronicle<'l>) -> Self {
        let (eras, texts, decided) = Default::default();
        Self { files, chronicle, eras, texts, decided }
    }

    /// Returns the standing of an act.
    pub(crate) fn standing(&self, act: &JudgedAct<'_>) -> Standing {
        match act.kind {
            // Retention removes entries without a role.
            ActKind::Collect => Standing::Sound,
            ActKind::Promote => self.of_promotion(act),
            ActKind::Pin | ActKind::Unpin | ActKind::Discard | ActKind::Erase => {
                let source = &act.entry.source;
                self.of_role(act, |era, who| self.reviews(era, who, source))
            }
        }
    }

    fn of_promotion(&self, act: &JudgedAct<'_>) -> Standing {
        let document = act.act.document.as_deref().and_then(|id| id.parse::<DocumentId>().ok());
        // A line without these fields is not read.
        let Some((id, version)) = document.zip(act.act.version) else { return Standing::Sound };
        match self.made(&id, Version(version), &act.entry.name().to_string()) {
            Made::Not => Standing::Void(VoidAct::NoDocument),
            Made::Unknown => Standing::Doubtful,
            Made::Of(text) if !is_content(&text, act.entry) => Standing::Void(VoidAct::OtherBody),
            Made::Of(text) => {
                let texts = [text];
                self.of_role(act, |era, who| era.allows(who, Role::Editor, &id, &texts))
            }
        }
    }

    /// Returns the version of a document that names an entry as its origin.
    ///
    /// After a merge its number may differ from that in the act.
    fn made(&self, id: &DocumentId, version: Version, entry: &str) -> Made {
        let history = match replay::load(self.files, id) {
            Ok(history) => history,
            Err(ChainError::HistoryMissing) => return Made::Not,
            Err(_) => return Made::Unknown,
        };
        let named = vouched::vouched(self.files, id, &history, version).ok();
        if let Some(text) = named.filter(|text| promoted_from(text).as_deref() == Some(entry)) {
            return Made::Of(text);
        }
        let (mut walk, mut is_whole) = (Walk::new(self.files, id, &history), true);
        while let Some(step) = walk.next() {
            match step.version.ok().and_then(|version| version.text) {
                Some(text) if promoted_from(text).as_deref() == Some(entry) => {
                    return Made::Of(text.to_owned());
                }
                Some(_) => {}
                None => is_whole = false,
            }
        }
        if is_whole { Made::Not } else { Made::Unknown }
    }

    /// Judges the role of a principal at the time of their act.
    ///
    /// An act names the hash of its entry, which names the checkpoint that was consumed; so the act
    /// is later than both. Which later checkpoint its writer had read is not recorded, only a time.
    fn of_role(
        &self,
        act: &JudgedAct<'_>,
        allows: impl Fn(&Era, &str) -> Option<bool>,
    ) -> Standing {
        let who = act.act.principal.as_deref().unwrap_or_default();
        let eras = self.eras.get_or_init(|| self.read_eras());
        let consumed = act.entry.entry.checkpoint().unwrap_or(CheckpointNumber::NONE);
        let first = eras.partition_point(|era| era.from <= consumed).saturating_sub(1);
        let possible = eras.get(first..).unwrap_or_default();
        // Times are written in one form, so that they can be compared as texts.
        let at = act.at.max(act.entry.at.as_str()).parse::<Timestamp>().ok();
        let then = possible.iter().rposition(|era| Some(era.at) <= at).unwrap_or(0);
        match possible.get(then).map(|era| allows(era, who)) {
            None | Some(Some(true)) => Standing::Sound,
            _ if possible.iter().any(|era| allows(era, who) != Some(false)) => Standing::Doubtful,
            _ => Standing::Void(VoidAct::NoRole),
        }
    }

    /// Returns true if a principal is a reviewer of a source by any of its sealed versions.
    fn reviews(&self, era: &Era, who: &str, source: &DocumentId) -> Option<bool> {
        let key = (source.clone(), who.to_owned(), era.from);
        if let Some(known) = self.decided.borrow().get(&key) {
            return *known;
        }
        let mut texts = self.texts.borrow_mut();
        let texts = texts.entry(source.clone()).or_insert_with(|| self.sealed_texts(source));
        let found = era.allows(who, Role::Reviewer, source, texts);
        self.decided.borrow_mut().insert(key, found);
        found
    }

    /// Returns every published text of a source.
    fn sealed_texts(&self, source: &DocumentId) -> Vec<String> {
        let Ok(history) = replay::load(self.files, source) else { return Vec::new() };
        let (mut walk, mut texts) = (Walk::new(self.files, source, &history), Vec::new());
        while let Some(step) = walk.next() {
            let Ok(version) = step.version else { continue };
            let text = version.text.filter(|_| version.entry.is_published());
            texts.extend(text.map(str::to_owned));
        }
        texts
    }

    /// Returns the eras of the log, in order.
    fn read_eras(&self) -> Vec<Era> {
        let at = Timestamp::from_millis(0);
        let before = Era { from: CheckpointNumber::NONE, at, mode: Mode::Ungoverned };
        let in_force = InForce::of(self.files, self.chronicle);
        let eras = in_force.modes().map(|(from, at, mode)| Era { from, at, mode: mode.clone() });
        std::iter::once(before).chain(eras).collect()
    }
}

/// Returns the first version of a document that names an entry as its origin and has its content as
/// the body.
///
/// # Errors
/// No version does, or some versions cannot be read.
pub(crate) fn version_made(
    files: &Files,
    id: &DocumentId,
    entry: &StagedEntry,
) -> Result<Version, NotMade> {
    let history = replay::load(files, id).map_err(|_| NotMade::Other)?;
    let (mut walk, mut why) = (Walk::new(files, id, &history), NotMade::Other);
    let name = entry.name().to_string();
    while let Some(step) = walk.next() {
        let Ok(version) = step.version else { continue };
        match version.text {
            Some(text) if promoted_from(text).as_deref() != Some(&name) => {}
            Some(text) if is_content(text, entry) => return Ok(version.entry.version),
            Some(_) => why = NotMade::OtherBody,
            None => {}
        }
    }
    Err(why)
}

/// The reason for which a document was not promoted from an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotMade {
    /// A version names the entry as its origin, but has another body.
    OtherBody,
    /// No readable version names the entry as its origin.
    Other,
}

/// Returns true if the body of a text is the content of an entry, byte for byte (STAGE-16).
fn is_content(text: &str, entry: &StagedEntry) -> bool {
    let body = Document::parse(text).ok().and_then(|document| text.get(document.parts.body..));
    let is_it = |body: &str| Some(Digest::of(body.as_bytes())) == entry.entry.raw();
    body.is_some_and(is_it)
}

/// Returns the entry that a text names as its origin.
fn promoted_from(text: &str) -> Option<String> {
    let root = Document::parse(text).ok()?.frontmatter.root?;
    Some(root.get("promoted_from")?.text()?.to_owned())
}
