//! Checks the staged entries of a bundle: the lines of their chains, their contents, the texts and
//! results that use them, and the documents promoted from them (EVID-27 to EVID-29).

use std::collections::{BTreeMap, BTreeSet};

use super::super::manifest::{Manifest, STAGED, StagedRef, content_path, text_path};
use super::super::staged::{ResultKey, ResultOf, entry_key, promoted_from, result_key};
use super::lines::{Lines, wanted};
use super::reviews::Run;
use super::stewards::Stewards;
use super::versions::Versions;
use super::{Files, Item, Judged, Kind, Verdict, contradicted, not_proved};
use crate::record::audit::{Text, WriterId};
use crate::record::staging::{
    ActKind, Canonical, Chain, Chains, Ended, LineKind, Staged, StagedEntry, StagedLine, StagedName,
};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;

/// Maximum length of a line of a staging chain, in bytes.
const MAX_LINE: usize = 16 << 20;

/// A readable line, with its place in the bundle.
struct Placed<'m> {
    listed: &'m StagedRef,
    source: DocumentId,
    writer: WriterId,
    line: StagedLine,
}

/// Staged entries of a bundle, and the items about them.
#[derive(Debug, Default)]
pub(super) struct StagedProofs {
    pub(super) items: Vec<Item>,
    /// Entries whose lines are proved, with the proved acts on them.
    entries: Vec<StagedEntry>,
    /// Indexes of the entries by hash (the first of equal ones), and by name (`None` if two share
    /// it, STAGE-6).
    by_hash: BTreeMap<Digest, usize>,
    by_name: BTreeMap<StagedName, Option<usize>>,
    by_result: BTreeMap<ResultKey, usize>,
    /// Entries that are not the result of any hydration of the bundle, by the fields that a
    /// hydration could share with them.
    left: BTreeSet<ResultOf>,
    /// Verdict about the content of each entry.
    contents: Vec<Judged>,
}

impl StagedProofs {
    pub(super) fn read(
        manifest: &Manifest,
        files: &Files<'_>,
        lines: &Lines,
        versions: &Versions,
    ) -> Self {
        let mut read = read_lines(manifest, files);
        let Staged { entries, astray, .. } = staged_of(&read);
        let astray: BTreeSet<_> = astray.into_iter().collect();
        // Each act must have an entry.
        for (_, judged, placed) in &mut read {
            let is_astray = |placed: &Placed<'_>| {
                let place = (placed.source.clone(), placed.writer.clone(), placed.line.seq);
                astray.contains(&place)
            };
            if judged.is_ok() && placed.as_ref().is_some_and(is_astray) {
                *judged = contradicted("the bundle does not have the entry of this act");
            }
        }
        let numbers: BTreeMap<Digest, Option<usize>> = read
            .iter()
            .filter_map(|(_, _, placed)| placed.as_ref())
            .filter_map(|placed| Some((placed.line.hash?, placed.listed.content)))
            .collect();
        let line = |(name, judged, _)| Item::new(Kind::Staged, name, judged);
        let mut proofs = Self { items: read.into_iter().map(line).collect(), ..Self::default() };
        let mut hashed = Hashes::default();
        for (at, entry) in entries.iter().enumerate() {
            let number = numbers.get(&entry.hash).copied().flatten();
            let judged = content(files, entry, number, &mut hashed);
            let item = Item::new(Kind::Content, entry.name().to_string(), judged.clone());
            proofs.items.push(item);
            proofs.contents.push(judged);
            proofs.by_hash.entry(entry.hash).or_insert(at);
            let named = proofs.by_name.entry(entry.name());
            named.and_modify(|shared| *shared = None).or_insert(Some(at));
            proofs.by_result.entry(entry_key(entry)).or_insert(at);
        }
        let mut proofs = Self { entries, ..proofs };
        proofs.judge_needed(manifest, files, lines, versions);
        proofs
    }

    /// Checks that something in the bundle uses each entry. Otherwise only the entry's own line
    /// connects it with the bundle.
    fn judge_needed(
        &mut self,
        manifest: &Manifest,
        files: &Files<'_>,
        lines: &Lines,
        versions: &Versions,
    ) {
        let (mut hashes, mut keys) = (BTreeSet::new(), BTreeSet::new());
        for (_, line, _) in lines.read_lines() {
            let texts = wanted(&manifest.scope, line).unwrap_or_default();
            let texts = texts.into_iter().filter(|(_, text)| text.part.is_none());
            hashes.extend(texts.filter_map(|(_, text)| text.chain_hash.parse::<Digest>().ok()));
            let of = line.hydration().filter(|of| manifest.scope.is_about(&of.source));
            keys.extend(of.and_then(|of| result_key(line, of)));
        }
        let names: BTreeSet<StagedName> =
            promoted(manifest, files, versions).map(|(_, name, _)| name).collect();
        let mut unneeded = BTreeSet::new();
        for entry in &self.entries {
            let (key, name) = (entry_key(entry), entry.name());
            let is_result = keys.contains(&key);
            if !is_result {
                self.left.insert(key.of);
            }
            if !is_result && !hashes.contains(&entry.hash) && !names.contains(&name) {
                unneeded.insert(name.to_string());
            }
        }
        let is_unneeded =
            |item: &&mut Item| item.kind == Kind::Staged && unneeded.contains(&item.name);
        for item in self.items.iter_mut().filter(is_unneeded) {
            let why = not_proved("no text, hydration or version of the bundle uses this entry");
            *item = Item::new(Kind::Staged, item.name.clone(), why);
        }
    }

    /// Judges the text of an access that is a staged content.
    pub(super) fn judge_text(&self, text: &Text) -> Judged {
        if let Some(part) = text.part {
            return unprovable(format!("a bundle cannot prove a {}", part.as_str()));
        }
        let hash = text.chain_hash.parse::<Digest>().ok();
        let Some(at) = hash.and_then(|hash| self.by_hash.get(&hash).copied()) else {
            return not_proved("the bundle does not have the staged entry");
        };
        let entry = &self.entries[at];
        let said = entry.entry.raw_hash.clone();
        let expected = Text { bytes: entry.entry.bytes, sha256: said, ..entry.text(b"") };
        let (steward, review_due) = (text.steward.clone(), text.review_due.clone());
        if *text != (Text { steward, review_due, ..expected }) {
            return contradicted("it does not match its staged entry");
        }
        self.judge_content(at)
    }

    fn judge_content(&self, at: usize) -> Judged {
        match &self.contents[at] {
            Ok(()) => Ok(()),
            Err((Verdict::Unprovable, why)) => unprovable(why.clone()),
            _ => not_proved("the content of the staged entry is not proved"),
        }
    }

    /// Returns an item for each entry whose content is gone: whether the principal who ended it had
    /// the role (EVID-28).
    pub(super) fn roles(&self, stewards: &Stewards<'_>) -> Vec<Item> {
        let mut items = Vec::new();
        for (entry, judged) in self.entries.iter().zip(&self.contents) {
            let Some(ended) = entry.ended.as_ref().filter(|ended| ended.kind != ActKind::Collect)
            else {
                continue;
            };
            if !matches!(judged, Err((Verdict::Unprovable, _))) {
                continue;
            }
            let at = ended.at.as_str().max(entry.at.as_str());
            let consumed = entry.entry.checkpoint().map_or(0, |consumed| consumed.0);
            let who = ended.by.as_deref().unwrap_or_default();
            let judged = stewards.may_review(&entry.source, (consumed, at), who);
            items.push(Item::new(Kind::Role, entry.name().to_string(), judged));
        }
        items
    }

    /// Returns an item for each hydration whose result was staged.
    pub(super) fn results(&self, manifest: &Manifest, lines: &Lines) -> Vec<Item> {
        let mut items = Vec::new();
        for (_, line, verdict) in lines.read_lines() {
            let of = line.hydration().filter(|of| manifest.scope.is_about(&of.source));
            let Some(of) = of else { continue };
            let Some(key) = result_key(line, of) else { continue };
            let judged = match (self.by_result.get(&key), verdict) {
                (None, _) if self.left.contains(&key.of) => {
                    contradicted("its staged entry records a different call")
                }
                (None, _) => continue,
                (Some(at), Verdict::Proved) => self.judge_content(*at),
                _ => not_proved("the line is not proved"),
            };
            items.push(Item::new(Kind::Result, line.trace().to_string(), judged));
        }
        items
    }

    /// Returns an item for each version that names a staged entry as its origin.
    pub(super) fn promotions(
        &self,
        manifest: &Manifest,
        files: &Files<'_>,
        versions: &Versions,
    ) -> Vec<Item> {
        let judged = promoted(manifest, files, versions).filter_map(|(n, name, body)| {
            let version = &manifest.versions[n - 1];
            let id = version.id.parse().ok()?;
            let run = versions.promoted(&id, n, &name);
            let judged = self.promotion(&name, &id, body, &run);
            let named = format!("{} v{}", version.id, version.version);
            Some(Item::new(Kind::Promotion, named, judged))
        });
        judged.collect()
    }

    /// Compares the content with the version that the promotion made, and with this version.
    fn promotion(
        &self,
        name: &StagedName,
        id: &DocumentId,
        (bytes, body): (u64, Digest),
        run: &Run,
    ) -> Judged {
        let at = match self.by_name.get(name) {
            Some(Some(at)) => *at,
            Some(None) => return not_proved("the bundle has two entries with this name"),
            None => return not_proved("the bundle does not have the staged entry"),
        };
        let entry = &self.entries[at];
        let is_content = |bytes: u64, body: Digest| {
            bytes == entry.entry.bytes && Some(body) == entry.entry.raw()
        };
        let acts = entry.promoted.iter().filter(|to| to.document == *id);
        let acts: BTreeSet<u64> = acts.map(|to| to.version).collect();
        if acts.is_empty() && !entry.promoted.is_empty() && run.is_whole && run.is_made {
            return contradicted("the entry was promoted to another document");
        }
        if is_content(bytes, body) {
            return Ok(());
        }
        // Compares with the version that the act names, which a merge may have renumbered.
        let named = run.bodies.iter().filter(|(number, ..)| acts.contains(number));
        let named: Vec<_> = named.collect();
        let of = if named.is_empty() { run.bodies.iter().collect() } else { named.clone() };
        if of.iter().any(|(_, bytes, body)| is_content(*bytes, *body)) {
            return unprovable("its body was changed after the promotion".to_owned());
        }
        match acts.is_empty() {
            true => not_proved("no act promoted the entry to it, and its body is not the content"),
            false if !named.is_empty() || run.is_whole => {
                contradicted("the version that was made from the entry does not match its content")
            }
            false => unprovable("the bundle does not have the version made from it".into()),
        }
    }
}

/// Returns the versions that name a staged entry as their origin, with their numbers from 1, and
/// length and hash of the body.
fn promoted<'b>(
    manifest: &'b Manifest,
    files: &'b Files<'b>,
    versions: &'b Versions,
) -> impl Iterator<Item = (usize, StagedName, (u64, Digest))> + 'b {
    manifest.versions.iter().zip(1..).filter_map(|(version, n)| {
        let text = versions.entry(n).and_then(|_| files.get(&text_path(n)).ok())?;
        let text = String::from_utf8_lossy(text);
        let (name, body) = promoted_from(&version.id, &text)?;
        Some((n, name, (body.len() as u64, Digest::of(body.as_bytes()))))
    })
}

fn unprovable(why: String) -> Judged {
    Err((Verdict::Unprovable, why))
}

/// A line with its name and its verdict so far.
type Read<'m> = (String, Judged, Option<Placed<'m>>);

/// Reads the lines of the bundle, and compares each with the one before it.
fn read_lines<'m>(manifest: &'m Manifest, files: &Files<'_>) -> Vec<Read<'m>> {
    let bytes = files.get(STAGED).unwrap_or_default();
    let mut found = bytes.split_inclusive(|byte| *byte == b'\n');
    let mut listed = manifest.staged.iter();
    let mut read: Vec<Read<'m>> = Vec::new();
    let mut last: Option<usize> = None;
    loop {
        let (line, listed) = match (found.next(), listed.next()) {
            (None, None) => return read,
            pair => pair,
        };
        let n = read.len();
        let owner = listed.and_then(|of| Some((of.source.parse().ok()?, of.writer.parse().ok()?)));
        let (Some(listed), Some((source, writer))) = (listed, owner) else {
            let why = "the manifest names no source and writer for it";
            read.push((format!("staged line {}", n + 1), contradicted(why), None));
            continue;
        };
        let name = StagedName::of(&source, &writer, listed.seq).to_string();
        let Some(line) = line else {
            read.push((name, not_proved("the line is missing"), None));
            continue;
        };
        match sound(line, &source) {
            Ok(line) => {
                let before = last.and_then(|at: usize| read[at].2.as_ref());
                let placed = Placed { listed, source, writer, line };
                let judged = placed.follows(before).and_then(|()| placed.is_before(manifest));
                last = if judged.is_ok() { Some(n) } else { last };
                read.push((name, judged, Some(placed)));
            }
            Err(why) => read.push((name, Err(why), None)),
        }
    }
}

fn sound(line: &[u8], source: &DocumentId) -> Result<StagedLine, (Verdict, String)> {
    match line.strip_suffix(b"\n") {
        Some(line) if line.len() > MAX_LINE => contradicted("the line is too long"),
        Some(line) => StagedLine::read(line, source).or_else(|why| contradicted(why.to_string())),
        None => contradicted("the line is incomplete"),
    }
}

impl Placed<'_> {
    /// Checks that the line is in its place, after the last valid line of the bundle.
    fn follows(&self, before: Option<&Placed<'_>>) -> Judged {
        if self.line.seq != self.listed.seq {
            return contradicted("the manifest does not list it in this place");
        }
        if self.line.kind.act().is_some() && self.listed.content.is_some() {
            return contradicted("an act cannot have content");
        }
        if !self.line.is_after(&self.source, &self.writer, None) {
            return contradicted("it does not begin the chain of its writer");
        }
        let Some(before) = before else { return Ok(()) };
        let place = (&self.source, &self.writer, self.line.seq);
        if (&before.source, &before.writer, before.line.seq) >= place {
            return contradicted("the lines are not in order");
        }
        let is_next = (&before.source, &before.writer) == (&self.source, &self.writer);
        match !is_next || self.line.is_after(&self.source, &self.writer, Some(&before.line)) {
            true => Ok(()),
            false => contradicted("it does not follow the line before it"),
        }
    }
}

impl Placed<'_> {
    /// Checks that the entry did not consume a checkpoint after the last one of the bundle.
    fn is_before(&self, manifest: &Manifest) -> Judged {
        let head = manifest.head.as_ref().map_or(0, |head| head.checkpoint);
        let consumed = match &self.line.kind {
            LineKind::Stage(entry) => entry.checkpoint().map_or(0, |consumed| consumed.0),
            _ => 0,
        };
        match consumed > head {
            true => contradicted(format!("it consumed checkpoint {consumed}, after the last one")),
            false => Ok(()),
        }
    }
}

/// Returns the entries whose lines are proved, with the proved acts on them.
fn staged_of(read: &[Read<'_>]) -> Staged {
    let mut chains: BTreeMap<(&DocumentId, &WriterId), Vec<StagedLine>> = BTreeMap::new();
    for (_, judged, placed) in read {
        if let (Ok(()), Some(placed)) = (judged, placed) {
            let of = (&placed.source, &placed.writer);
            chains.entry(of).or_default().push(placed.line.clone());
        }
    }
    let chain = |((source, writer), lines): ((&DocumentId, &WriterId), Vec<StagedLine>)| Chain {
        source: source.clone(),
        writer: writer.clone(),
        lines,
        faults: Vec::new(),
    };
    Staged::of(&Chains { chains: chains.into_iter().map(chain).collect(), strays: Vec::new() })
}

/// Computed hashes of contents, by content number. A manifest may name one
/// content for many entries.
#[derive(Default)]
struct Hashes {
    raw: BTreeMap<usize, Digest>,
    canonical: BTreeMap<usize, Option<Digest>>,
}

impl Hashes {
    fn are(&mut self, entry: &StagedEntry, number: usize, bytes: &[u8]) -> bool {
        let raw = *self.raw.entry(number).or_insert_with(|| Digest::of(bytes));
        let said = &entry.entry;
        if said.raw_hash != raw.to_string() || said.bytes != bytes.len() as u64 {
            return false;
        }
        let canonical = match said.canonical {
            Canonical::Raw => Some(raw),
            jcs => *self.canonical.entry(number).or_insert_with(|| jcs.hash(bytes, raw)),
        };
        canonical.is_some_and(|hash| hash.to_string() == said.content_hash)
    }
}

/// Checks that the bundle contains the content of an entry, and that it matches the entry.
fn content(
    files: &Files<'_>,
    entry: &StagedEntry,
    number: Option<usize>,
    hashed: &mut Hashes,
) -> Judged {
    match (number, &entry.ended) {
        (Some(number), _) => {
            let bytes = files.get(&content_path(number))?;
            match bytes.len() as u64 <= limit::STAGED && hashed.are(entry, number, bytes) {
                true => Ok(()),
                false => contradicted("it does not match the entry"),
            }
        }
        (None, Some(Ended { kind: ActKind::Collect, at, .. }))
            if *at < entry.entry.retention_until =>
        {
            not_proved("the entry was collected before its retention ended")
        }
        // A promoted entry is not ended, so no act that ends it was allowed (STAGE-16, STAGE-18).
        (None, Some(_)) if entry.is_promoted() => {
            not_proved("the entry was promoted, so its content must not be removed")
        }
        (None, Some(Ended { at, .. })) => {
            unprovable(format!("the content is gone: the entry was {}, {at}", entry.state()))
        }
        (None, None) => not_proved("the bundle does not have the content"),
    }
}
