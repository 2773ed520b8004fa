//! The versions of a bundle: which ones are needed, and the parts of histories that
//! prove them (EVID-14).

use std::collections::{BTreeMap, BTreeSet};

use super::MAX_BUNDLE;
use super::export::{ExportError, Unproved};
use super::manifest::{VersionRef, chain_path, keyframe_path, text_path};
use super::segment::{Segment, SegmentEntry};
use crate::files::vault::Vault;
use crate::files::vault::files::Files;
use crate::policy::rules::Reviewed;
use crate::read::snapshot::traced::Origin;
use crate::record::audit::{Hydration, Part, Text};
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{Entry, History, TextStorage};
use crate::record::chain::replay::{self, Replay};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::state::PublishedSet;
use crate::text::document::Document;
use crate::text::document::frontmatter::Frontmatter;
use crate::text::document::review::ReviewFields;
use crate::text::document::text::normalise;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::{CheckpointNumber, Version};

/// Versions that a bundle must prove, each with the checkpoints that must seal it.
#[derive(Debug, Default)]
pub(super) struct Needed {
    versions: BTreeMap<(DocumentId, Version), BTreeSet<u64>>,
}

impl Needed {
    fn add(&mut self, id: &DocumentId, version: Version, checkpoint: u64) {
        self.versions.entry((id.clone(), version)).or_default().insert(checkpoint);
    }

    /// Adds the version of a text of an access.
    pub(super) fn add_text(
        &mut self,
        chronicle: &Chronicle<'_>,
        id: Option<&DocumentId>,
        text: &Text,
    ) {
        let checkpoint = text
            .checkpoint
            .filter(|number| chronicle.checkpoint(CheckpointNumber(*number)).is_ok());
        if let (Some(id), Some(checkpoint)) = (id, checkpoint) {
            self.add(id, Version(text.version), checkpoint);
        }
    }

    /// Adds the version of a source that a hydration names.
    pub(super) fn add_hydration(&mut self, chronicle: &Chronicle<'_>, of: &Hydration) {
        let is_known = chronicle.checkpoint(CheckpointNumber(of.checkpoint)).is_ok();
        if let (Ok(id), true) = (of.source.parse(), is_known) {
            self.add(&id, Version(of.source_version), of.checkpoint);
        }
    }

    /// Adds every published version of a document, for the checkpoint that published it.
    pub(super) fn add_document(&mut self, chronicle: &Chronicle<'_>, id: &str) {
        for checkpoint in chronicle.checkpoints() {
            for (id, mark) in checkpoint.set.iter().filter(|(set, _)| set.as_str() == id) {
                if let Some(version) = mark.version {
                    self.add(id, version, checkpoint.number.0);
                }
            }
        }
    }

    /// Adds the entries of a document before the first version that the log seals (EVID-11).
    /// Returns true if the history shows that none of these was published.
    pub(super) fn add_beginning(
        &mut self,
        files: &Files,
        chronicle: &Chronicle<'_>,
        id: &str,
    ) -> bool {
        let sets = chronicle.checkpoints().iter().flat_map(|checkpoint| &checkpoint.set);
        let mut sets = sets.filter(|(set, _)| set.as_str() == id);
        let Some((id, first)) = sets.find_map(|(id, mark)| Some((id, mark.version?))) else {
            return true;
        };
        let Ok(history) = replay::load(files, id) else { return false };
        let before = || history.entries().take_while(|entry| entry.version < first);
        // The text of a governance file does not show whether it was published.
        if before().any(|entry| entry.is_published() || !id.is_document()) {
            return false;
        }
        self.add_history((id, &history), first);
        true
    }

    /// Adds every entry of a history up to a version, without checkpoints: that version, and the
    /// last version before each keyframe.
    pub(super) fn add_history(&mut self, (id, history): (&DocumentId, &History), last: Version) {
        let upon = history.entries().filter(|entry| entry.version <= last);
        let later = upon.skip(1);
        let keyframes = later.filter(|entry| entry.stored == TextStorage::Keyframe);
        let before = keyframes.map(|keyframe| keyframe.version.previous());
        for version in before.chain([last]) {
            self.versions.entry((id.clone(), version)).or_default();
        }
    }

    /// Returns the checkpoints that must seal a version.
    pub(super) fn checkpoints(&self) -> BTreeSet<u64> {
        self.versions.values().flatten().copied().collect()
    }

    /// Returns the versions that a checkpoint must seal.
    pub(super) fn sealed(&self) -> impl Iterator<Item = (&DocumentId, Version)> {
        let sealed = self.versions.iter().filter(|(_, checkpoints)| !checkpoints.is_empty());
        sealed.map(|((id, version), _)| (id, *version))
    }

    /// Adds the governance files in force at each checkpoint that is needed so far, without packs.
    pub(super) fn add_governance(&mut self, chronicle: &Chronicle<'_>) {
        let wanted = self.checkpoints();
        let mut state = PublishedSet::default();
        for checkpoint in chronicle.checkpoints() {
            checkpoint.apply(&mut state);
            if wanted.contains(&checkpoint.number.0) {
                let in_force = state.iter().filter(|(id, _)| id.is_kept());
                for (id, mark) in in_force {
                    if let Some(version) = mark.version {
                        self.add(id, version, checkpoint.number.0);
                    }
                }
            }
        }
    }
}

/// Files of a bundle, by name.
pub(super) type Contents = BTreeMap<String, Vec<u8>>;

/// Versions that are rebuilt from one keyframe, each with its checkpoints.
type Group = BTreeMap<Version, BTreeSet<u64>>;

/// Versions with their texts and proofs.
#[derive(Debug, Default)]
pub(super) struct Sealed {
    pub(super) files: Contents,
    pub(super) versions: Vec<VersionRef>,
    pub(super) unproved: Vec<Unproved>,
    /// Texts that the export hands out.
    pub(super) texts: Vec<Text>,
    chains: usize,
    size: u64,
}

impl Sealed {
    /// Reads the histories of the versions that are needed, and recomputes every hash on the way.
    ///
    /// # Errors
    /// Returns [`ExportError::TooLarge`] if the bundle would exceed the limits.
    pub(super) fn of(vault: &Vault, needed: Needed) -> Result<Self, ExportError> {
        let mut sealed = Self::default();
        let mut documents: BTreeMap<DocumentId, Group> = BTreeMap::new();
        for ((id, version), checkpoints) in needed.versions {
            documents.entry(id).or_default().insert(version, checkpoints);
        }
        for (id, versions) in documents {
            match replay::load(vault.files(), &id) {
                Ok(history) => sealed.add_all(vault.files(), (&id, &history), versions)?,
                Err(why) => versions.keys().for_each(|version| sealed.lacks(&id, *version, &why)),
            }
        }
        Ok(sealed)
    }

    fn lacks(&mut self, id: &DocumentId, version: Version, why: &ChainError) {
        self.unproved.push(Unproved { name: format!("{id} v{version}"), why: why.to_string() });
    }

    /// Adds versions of a document, and the entries of their reviews. The last keyframe comes
    /// first, because missing entries of a review are before it.
    fn add_all(
        &mut self,
        files: &Files,
        (id, history): (&DocumentId, &History),
        versions: Group,
    ) -> Result<(), ExportError> {
        let mut groups = BTreeMap::new();
        for (version, checkpoints) in versions {
            self.place(&mut groups, (id, history), version, checkpoints);
        }
        let (mut chains, mut size) = (Vec::new(), 0);
        while let Some((_, group)) = groups.pop_last() {
            let mut chain = Chain::default();
            if let Err(why) = chain.read(files, (id, history), &group) {
                let proved = chain.texts.len();
                group.keys().skip(proved).for_each(|version| self.lacks(id, *version, &why));
            }
            for version in chain.before_keyframes(files, (id, history)) {
                self.place(&mut groups, (id, history), version, BTreeSet::new());
            }
            size += chain.texts.iter().map(|(_, text)| text.len() as u64).sum::<u64>();
            if self.size + size > MAX_BUNDLE {
                return Err(ExportError::TooLarge);
            }
            chains.push((chain, group));
        }
        chains.reverse();
        chains
            .into_iter()
            .try_for_each(|(chain, group)| self.add(files, (id, history), chain, &group))
    }

    /// Groups a version with the others that are rebuilt from its keyframe.
    fn place(
        &mut self,
        groups: &mut BTreeMap<Version, Group>,
        (id, history): (&DocumentId, &History),
        version: Version,
        checkpoints: BTreeSet<u64>,
    ) {
        match history.chain_to(version) {
            Ok((_, chain)) => {
                let keyframe = chain.first().map_or(version, |first| first.version);
                groups.entry(keyframe).or_default().entry(version).or_default().extend(checkpoints);
            }
            Err(gap) => self.lacks(id, version, &gap.into()),
        }
    }

    /// Adds versions that are rebuilt from one keyframe, up to the first one that does not verify.
    fn add(
        &mut self,
        files: &Files,
        (id, history): (&DocumentId, &History),
        mut chain: Chain,
        group: &Group,
    ) -> Result<(), ExportError> {
        let Some((last, _)) = chain.texts.last() else { return Ok(()) };
        chain.entries.retain(|entry| entry.version <= last.version.0);
        self.chains += 1;
        for (entry, text) in &chain.texts {
            let checkpoints = group[&entry.version].iter().copied().collect();
            let (id, version, number) = (id.to_string(), entry.version.0, self.chains);
            self.versions.push(VersionRef { id, version, chain: number, checkpoints });
            let path = text_path(self.versions.len());
            self.put(path, text.clone().into_bytes())?;
        }
        self.texts.extend(chain.handed_out(files, (id, history), group));
        let segment = Segment {
            id: id.to_string(),
            previous: chain.previous.map(|hash| hash.to_string()),
            entries: chain.entries,
        };
        self.put(chain_path(self.chains), segment.spell()?)?;
        let path = keyframe_path(self.chains);
        self.put(path, chain.keyframe.into_bytes())
    }

    fn put(&mut self, path: String, bytes: Vec<u8>) -> Result<(), ExportError> {
        self.size += bytes.len() as u64;
        self.files.insert(path, bytes);
        if self.size > MAX_BUNDLE { Err(ExportError::TooLarge) } else { Ok(()) }
    }
}

/// A part of a history, up to the first entry that does not verify.
#[derive(Debug, Default)]
struct Chain {
    previous: Option<Digest>,
    entries: Vec<SegmentEntry>,
    keyframe: String,
    /// Entries of the versions that are needed, with their texts.
    texts: Vec<(Entry, String)>,
}

impl Chain {
    /// Reads the entries from the keyframe to the last version that is needed.
    ///
    /// # Errors
    /// Returns the fault of the first entry that does not verify.
    fn read(
        &mut self,
        files: &Files,
        (id, history): (&DocumentId, &History),
        group: &Group,
    ) -> Result<(), ChainError> {
        let last = group.keys().next_back().copied().unwrap_or_default();
        let (previous, entries) = history.chain_to(last)?;
        self.previous = previous;
        let mut replay = Replay::new(files, id, previous);
        for entry in entries {
            if let Some(why) = replay.step(entry).into_iter().next() {
                return Err(why);
            }
            let text = replay.text().unwrap_or_default();
            let diff = match &entry.stored {
                TextStorage::Keyframe => None,
                TextStorage::Diff(diff) => Some(normalise(diff).into_owned()),
                TextStorage::DiffFile => {
                    let bytes = files.read(&id.diff_path(entry.version), limit::HISTORY)?;
                    Some(normalise(&String::from_utf8_lossy(&bytes)).into_owned())
                }
            };
            if diff.is_none() {
                text.clone_into(&mut self.keyframe);
            }
            self.entries.push(SegmentEntry::of(entry, diff));
            if group.contains_key(&entry.version) {
                self.texts.push((entry.clone(), text.to_owned()));
            }
        }
        Ok(())
    }

    /// Returns the version before each keyframe within the reviews of these versions. With the
    /// chain of that version, the bundle contains all entries of the review.
    fn before_keyframes(
        &self,
        files: &Files,
        (id, history): (&DocumentId, &History),
    ) -> Vec<Version> {
        let is_keyframe = |version: Version| {
            history.entry(version).is_some_and(|entry| entry.stored == TextStorage::Keyframe)
        };
        let of_review = |(entry, text): &(Entry, String)| {
            let (_, reviewed) = review_of(files, (id, history), entry, text);
            let first = reviewed.map_or(entry.version.0, |reviewed| reviewed.submission.0);
            (first..entry.version.0).map(Version)
        };
        let steps = self.texts.iter().flat_map(of_review);
        steps.filter(|step| is_keyframe(step.next())).collect()
    }

    /// Returns the texts to record in the access log: the versions, the keyframe, and the diffs
    /// between them.
    fn handed_out(
        &self,
        files: &Files,
        (id, history): (&DocumentId, &History),
        group: &Group,
    ) -> Vec<Text> {
        let mut texts = Vec::new();
        for (entry, text) in &self.texts {
            let (fields, reviewed) = review_of(files, (id, history), entry, text);
            let author = fields.as_ref().and_then(|fields| fields.author.as_deref());
            let first = group[&entry.version].first();
            let checkpoint = first.map(|number| CheckpointNumber(*number));
            let reviewed = reviewed.as_ref();
            texts.push(Origin { id, checkpoint, entry, author, reviewed }.text(text));
        }
        for entry in &self.entries {
            let (text, part) = match &entry.diff {
                Some(diff) => (diff, Some(Part::Diff)),
                None if group.contains_key(&Version(entry.version)) => continue,
                None => (&self.keyframe, None),
            };
            texts.push(Text {
                uri: None,
                id: Some(id.to_string()),
                version: entry.version,
                checkpoint: None,
                chain_hash: entry.chain_hash.clone(),
                range: None,
                part,
                author: None,
                edited_by: entry.edited_by.clone(),
                edited_at: entry.edited_at.clone(),
                approved_by: Vec::new(),
                approved_at: None,
                steward: None,
                review_due: None,
                bytes: text.len() as u64,
                sha256: Digest::of(text.as_bytes()).to_string(),
            });
        }
        texts
    }
}

/// Returns the fields of a version's text, and the review that published it.
fn review_of(
    files: &Files,
    (id, history): (&DocumentId, &History),
    entry: &Entry,
    text: &str,
) -> (Option<Frontmatter>, Option<Reviewed>) {
    let document = id.is_document().then(|| Document::parse(text).ok()).flatten();
    let fields = document.map(|document| document.frontmatter);
    let review = fields.as_ref().and_then(ReviewFields::of);
    let reviewed = Reviewed::of(files, id, history, entry.version, review.as_ref());
    (fields, reviewed)
}
