//! Checks the checkpoints of a bundle: each hash is recomputed from the complete maps, and the
//! chain must lead to the head (EVID-18).

use std::collections::{BTreeMap, BTreeSet};

use super::super::manifest::{CHECKPOINTS, Manifest, Scope};
use super::{Files, Item, Judged, Kind, Verdict, contradicted, not_proved};
use crate::files::vault::config::LogForm;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::log::Log as CheckpointLog;
use crate::record::checkpoint::maps;
use crate::record::checkpoint::state::{Mark, PublishedSet};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::timestamp::Timestamp;

/// Checkpoints of a bundle, and the items about them.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) items: Vec<Item>,
    /// Hash of each checkpoint that could be read.
    hashes: BTreeMap<u64, Digest>,
    /// Time of each checkpoint.
    times: BTreeMap<u64, Timestamp>,
    /// Last checkpoint that is not proved; `u64::MAX` if a line cannot be read.
    last_fault: Option<u64>,
    /// Number of the checkpoint with the expected hash, 0 if none matches; `None` without an
    /// expected head.
    anchor: Option<u64>,
    /// Entries of the requested documents in the maps of checkpoints.
    marks: BTreeMap<(u64, String), Mark>,
    checkpoints: Vec<Checkpoint>,
    /// Checkpoints that set a version of the document of the scope, with the version.
    published: Vec<(u64, u64)>,
}

impl Log {
    pub(super) fn read(manifest: &Manifest, files: &Files<'_>, expected: Option<&Digest>) -> Self {
        let mut log = Self::default();
        let bytes = files.get(CHECKPOINTS).unwrap_or_default();
        let previous = manifest.previous.as_ref().map(|hash| hash.parse::<Digest>());
        let (checkpoints, malformed) = match previous.transpose() {
            Ok(previous) => {
                let (checkpoints, malformed) = parse(bytes, previous.is_some());
                log.compare(&checkpoints, previous.as_ref());
                (checkpoints, malformed)
            }
            Err(_) => (Vec::new(), Some("the hash before the first line is malformed".to_owned())),
        };
        if let Some(why) = malformed {
            let name = format!("line {}", checkpoints.len() + 1);
            log.items.push(Item::new(Kind::Checkpoint, name, contradicted(why)));
            log.last_fault = Some(u64::MAX);
        }
        log.note_marks(manifest, &checkpoints);
        if manifest.head.is_some() || !bytes.is_empty() || expected.is_some() {
            let judged = log.head(manifest, &checkpoints, expected);
            log.items.push(Item::new(Kind::Head, "head", judged));
        }
        log.checkpoints = checkpoints;
        log
    }

    /// Recomputes the hash of each checkpoint.
    fn compare(&mut self, checkpoints: &[Checkpoint], previous: Option<&Digest>) {
        let all: Vec<&Checkpoint> = checkpoints.iter().collect();
        let compared = maps::compare_after(previous, &all);
        let faults: BTreeMap<usize, Digest> = compared.faults.into_iter().collect();
        for (n, checkpoint) in checkpoints.iter().enumerate() {
            let (number, recorded) = (checkpoint.number.0, checkpoint.hash);
            let judged = match faults.get(&n) {
                _ if compared.end.is_some_and(|end| n >= end) => {
                    not_proved("the maps before it have more bytes than a verifier hashes")
                }
                Some(found) => contradicted(format!("its hash is {found}, not {recorded}")),
                None => Ok(()),
            };
            self.last_fault = judged.as_ref().err().map(|_| number).or(self.last_fault);
            self.hashes.insert(number, recorded);
            self.times.insert(number, checkpoint.at);
            self.items.push(Item::new(Kind::Checkpoint, number.to_string(), judged));
        }
    }

    /// Keeps the map entries of the versions that must be proved.
    fn note_marks(&mut self, manifest: &Manifest, checkpoints: &[Checkpoint]) {
        let mut wanted: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
        for version in &manifest.versions {
            for checkpoint in &version.checkpoints {
                wanted.entry(*checkpoint).or_default().insert(&version.id);
            }
        }
        // The absence of a governance file from a checkpoint is proved, too.
        let in_force = DocumentId::kept();
        wanted.values_mut().for_each(|ids| ids.extend(in_force.iter().map(DocumentId::as_str)));
        let mut state = PublishedSet::default();
        for checkpoint in checkpoints {
            checkpoint.apply(&mut state);
            let number = checkpoint.number.0;
            if let Scope::Document(of) = &manifest.scope {
                let set = checkpoint.set.iter().filter(|(id, _)| id.as_str() == of);
                let versions = set.filter_map(|(_, mark)| Some((number, mark.version?.0)));
                self.published.extend(versions);
            }
            for id in wanted.remove(&number).unwrap_or_default() {
                if let Some(mark) = state.get(id) {
                    self.marks.insert((number, id.to_owned()), *mark);
                }
            }
        }
    }

    fn head(
        &mut self,
        manifest: &Manifest,
        checkpoints: &[Checkpoint],
        expected: Option<&Digest>,
    ) -> Judged {
        let anchor = expected.map(|expected| {
            let found = checkpoints.iter().find(|checkpoint| checkpoint.hash == *expected);
            found.map_or(0, |checkpoint| checkpoint.number.0)
        });
        self.anchor = anchor;
        let Some(head) = &manifest.head else {
            return contradicted("the manifest names no head");
        };
        let Some(last) = checkpoints.last() else {
            return not_proved("no checkpoint can be read");
        };
        if (last.number.0, last.hash.to_string()) != (head.checkpoint, head.hash.clone()) {
            return contradicted(format!("the last checkpoint is {} {}", last.number, last.hash));
        }
        if self.last_fault.is_some() {
            return not_proved("the checkpoints do not lead to it");
        }
        match anchor {
            None => Err((Verdict::NotAnchored, "no expected head was given".to_owned())),
            Some(0) => contradicted("no checkpoint of the bundle has the expected hash"),
            Some(_) => Ok(()),
        }
    }

    /// Returns the hash of a checkpoint; fails if it is not proved, or does not lead to the head.
    pub(super) fn at(&self, checkpoint: u64) -> Result<&Digest, (Verdict, String)> {
        let Some(hash) = self.hashes.get(&checkpoint) else {
            return not_proved(format!("the bundle does not contain checkpoint {checkpoint}"));
        };
        if self.last_fault.is_some_and(|fault| fault >= checkpoint) {
            return not_proved(format!("checkpoint {checkpoint} does not lead to the head"));
        }
        match self.anchor {
            Some(anchor) if anchor < checkpoint => {
                not_proved(format!("checkpoint {checkpoint} comes after the expected head"))
            }
            _ => Ok(hash),
        }
    }

    /// Returns the checkpoints that are proved and lead to the head.
    pub(super) fn proved(&self) -> impl Iterator<Item = &Checkpoint> {
        self.checkpoints.iter().filter(|checkpoint| self.at(checkpoint.number.0).is_ok())
    }

    /// Returns the recorded hash of a checkpoint, proved or not.
    pub(super) fn recorded(&self, checkpoint: u64) -> Option<&Digest> {
        self.hashes.get(&checkpoint)
    }

    /// Returns true if a checkpoint was made after a time.
    pub(super) fn is_after(&self, checkpoint: u64, at: &str) -> bool {
        let made_at = self.times.get(&checkpoint);
        made_at.is_some_and(|made_at| at.parse::<Timestamp>().is_ok_and(|at| at < *made_at))
    }

    /// Returns the versions that the bundle must prove, in order (EVID-11, EVID-16). The first kind
    /// is each version that a checkpoint set of the document of the scope. The second kind is the
    /// governance files in force at each checkpoint that must seal a version.
    pub(super) fn promised(&self, manifest: &Manifest) -> BTreeSet<(u64, String, u64)> {
        let at = manifest.versions.iter().flat_map(|version| version.checkpoints.iter());
        let at: BTreeSet<u64> = at.copied().collect();
        let in_force = DocumentId::kept();
        let in_force = at.iter().flat_map(|at| in_force.iter().map(|id| (*at, id.as_str())));
        let of_mark = |(at, id)| Some((at, id, self.mark(at, id)?.version?.0));
        let owned = |(at, id, version): (u64, &str, u64)| (at, id.to_owned(), version);
        let of_document = self.published.iter().map(|(at, version)| {
            let (_, id) = manifest.scope.parts();
            (*at, id, *version)
        });
        in_force.filter_map(of_mark).chain(of_document).map(owned).collect()
    }

    /// Returns the first version that the checkpoints set of the document of the scope
    /// (`Some(None)` if they set none). Returns `None` for other scopes, and if the checkpoints
    /// begin with the first one.
    pub(super) fn first_published(&self, manifest: &Manifest) -> Option<Option<u64>> {
        let is_of_document = matches!(manifest.scope, Scope::Document(_));
        let first = *self.hashes.keys().next()?;
        let is_partial = is_of_document && first > 1;
        is_partial.then(|| self.published.first().map(|(_, version)| *version))
    }

    /// Returns the entry of a document in the maps of a checkpoint.
    pub(super) fn mark(&self, checkpoint: u64, id: &str) -> Option<&Mark> {
        self.marks.get(&(checkpoint, id.to_owned()))
    }
}

/// Parses the checkpoints up to the first malformed line. Returns them with the fault of that line.
fn parse(bytes: &[u8], has_previous: bool) -> (Vec<Checkpoint>, Option<String>) {
    let mut checkpoints: Vec<Checkpoint> = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let read = CheckpointLog::parse(LogForm::Delta, line);
        let checkpoint = match read.entries.into_iter().next() {
            Some(Ok(checkpoint)) => checkpoint,
            Some(Err(why)) => return (checkpoints, Some(why.to_string())),
            None => return (checkpoints, Some("the line is incomplete".to_owned())),
        };
        let follows = match checkpoints.last() {
            Some(last) => last.number.next() == checkpoint.number,
            None => checkpoint.removed.is_empty() && (checkpoint.number.0 > 1) == has_previous,
        };
        if !follows {
            return (checkpoints, Some("it does not follow the line before it".to_owned()));
        }
        checkpoints.push(checkpoint);
    }
    (checkpoints, None)
}
