//! The checkpoints of a bundle: each hash recomputed from the complete maps, and the chain to the
//! head (EVID-18).

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

/// What the checkpoints of a bundle are, and what was proved of them.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) items: Vec<Item>,
    /// The hash of each checkpoint that could be read.
    hashes: BTreeMap<u64, Digest>,
    /// When each was made.
    times: BTreeMap<u64, Timestamp>,
    /// The last checkpoint that is not proved; one that cannot be read is beyond all of them.
    last_fault: Option<u64>,
    /// With an expected head: the checkpoint that it is, 0 if none is.
    anchor: Option<u64>,
    /// What the maps of checkpoints have of the documents that are asked for.
    marks: BTreeMap<(u64, String), Mark>,
    checkpoints: Vec<Checkpoint>,
    /// Of a bundle of a document: the checkpoints that set a version of it, with its number.
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
            Err(_) => (Vec::new(), Some("the hash before the first line is none".to_owned())),
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

    /// Keeps what the maps have of the versions that are to be proved.
    fn note_marks(&mut self, manifest: &Manifest, checkpoints: &[Checkpoint]) {
        let mut wanted: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
        for version in &manifest.versions {
            for checkpoint in &version.checkpoints {
                wanted.entry(*checkpoint).or_default().insert(&version.id);
            }
        }
        // That a checkpoint holds no such file is a proof, too.
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
            None => Err((Verdict::NotAnchored, "no head from elsewhere was given".to_owned())),
            Some(0) => contradicted("no checkpoint of the bundle has the expected hash"),
            Some(_) => Ok(()),
        }
    }

    /// The hash of a checkpoint that is proved, and that the head follows.
    pub(super) fn at(&self, checkpoint: u64) -> Result<&Digest, (Verdict, String)> {
        let Some(hash) = self.hashes.get(&checkpoint) else {
            return not_proved(format!("the bundle has no checkpoint {checkpoint}"));
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

    /// The checkpoints that are proved, and that the head follows.
    pub(super) fn proved(&self) -> impl Iterator<Item = &Checkpoint> {
        self.checkpoints.iter().filter(|checkpoint| self.at(checkpoint.number.0).is_ok())
    }

    /// The recorded hash of a checkpoint, proved or not.
    pub(super) fn recorded(&self, checkpoint: u64) -> Option<&Digest> {
        self.hashes.get(&checkpoint)
    }

    /// Whether a checkpoint was made after a time.
    pub(super) fn is_after(&self, checkpoint: u64, at: &str) -> bool {
        let made_at = self.times.get(&checkpoint);
        made_at.is_some_and(|made_at| at.parse::<Timestamp>().is_ok_and(|at| at < *made_at))
    }

    /// The versions that the bundle has to prove for a checkpoint, in their order: of its document
    /// each that a checkpoint set, and the governance files in force at each checkpoint that a version
    /// is to be proved for (EVID-11, EVID-16).
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

    /// Of a bundle of a document whose checkpoints do not begin with the first one: the version of the
    /// document that they set first, none where they set none.
    pub(super) fn first_published(&self, manifest: &Manifest) -> Option<Option<u64>> {
        let is_of_document = matches!(manifest.scope, Scope::Document(_));
        let first = *self.hashes.keys().next()?;
        let is_partial = is_of_document && first > 1;
        is_partial.then(|| self.published.first().map(|(_, version)| *version))
    }

    /// What the maps of a checkpoint have of a document.
    pub(super) fn mark(&self, checkpoint: u64, id: &str) -> Option<&Mark> {
        self.marks.get(&(checkpoint, id.to_owned()))
    }
}

/// The checkpoints up to the first line that is none, and what is wrong with that.
fn parse(bytes: &[u8], has_previous: bool) -> (Vec<Checkpoint>, Option<String>) {
    let mut checkpoints: Vec<Checkpoint> = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let read = CheckpointLog::parse(LogForm::Delta, line);
        let checkpoint = match read.entries.into_iter().next() {
            Some(Ok(checkpoint)) => checkpoint,
            Some(Err(why)) => return (checkpoints, Some(why.to_string())),
            None => return (checkpoints, Some("the line has no end".to_owned())),
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
