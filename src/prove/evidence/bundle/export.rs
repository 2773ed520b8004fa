//! Export of a bundle: the requested lines of the access log, and the proofs of each text that they
//! name (EVID-11 to EVID-16).

use std::collections::{BTreeMap, BTreeSet};

use super::judged::add_histories;
use super::manifest::{
    CHECKPOINTS, FORM, FileRef, Gap, INDEX, LINES, LineRef, MANIFEST, Manifest, README, Scope,
    UNJUDGED, VersionRef,
};
use super::proofs::{proofs, wanted_texts};
use super::sealed::{Contents, Needed, Sealed};
use super::staged::{StagedPart, WantedEntries};
use super::{MAX_BUNDLE, MAX_FILES, MAX_MANIFEST, page, tar};
use crate::files::vault::Vault;
use crate::policy::in_force::Sealings;
use crate::prove::evidence::staged::StagedOf;
use crate::read::snapshot::Snapshot;
use crate::record::audit::{HeadRef, Line, RawLine, Traced};
use crate::record::chain::replay;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::record::Searched;
use crate::record::checkpoint::state::Mark;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};

/// A bundle, and the list of what it does not prove.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) bytes: Vec<u8>,
    /// Number of lines of the access log.
    pub(crate) lines: usize,
    /// Number of versions whose texts the bundle contains.
    pub(crate) versions: usize,
    pub(crate) head: Option<HeadRef>,
    /// Texts and versions without a proof in the bundle, with the reason.
    pub(crate) unproved: Vec<Unproved>,
    /// Places where the access logs are incomplete.
    pub(crate) gaps: Vec<Gap>,
}

/// A text or version that the bundle should prove and does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unproved {
    /// Name of a text of an access, or of a version.
    pub(crate) name: String,
    pub(crate) why: String,
}

/// Reason why no bundle was made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExportError {
    /// The log of the reference implementation can contain checkpoints that a bundle cannot.
    #[error("an artifact is in one of the two maps of a checkpoint only")]
    HalfSealed,
    /// A line names a checkpoint of a side line, which a bundle does not have.
    #[error(
        "line {line} of `{file}` names checkpoint {checkpoint} of a branch that was merged since"
    )]
    SideLine {
        /// The log.
        file: String,
        /// The number of the line in it.
        line: u64,
        /// The checkpoint.
        checkpoint: u64,
    },
    /// The bundle would exceed the limits of a verifier.
    #[error("the bundle would have more than {} MiB, or {MAX_FILES} files", MAX_BUNDLE >> 20)]
    TooLarge,
    /// JSON cannot represent a number. Numbers of this program never cause it.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// Makes the bundle of these lines of the access log.
///
/// # Errors
/// See [`ExportError`].
pub(crate) fn export(
    (vault, chronicle): (&Vault, &Chronicle<'_>),
    head: &Snapshot<'_>,
    (scope, staged_of): (Scope, &StagedOf<'_>),
    (lines, gaps): (&[RawLine], Vec<Gap>),
) -> Result<Traced<Exported>, ExportError> {
    refuse_side_lines(chronicle, lines)?;
    let mut needed = Needed::default();
    let mut entries = WantedEntries::default();
    let texts = wanted_texts(vault, &scope, lines);
    entries.add_texts(&texts);
    for wanted in &texts {
        needed.add_text(chronicle, wanted.id.as_ref(), wanted.text);
    }
    for line in lines.iter().map(|raw| &raw.line) {
        if let Some(hydration) = line.hydration().filter(|of| scope.is_about(&of.source)) {
            needed.add_hydration(chronicle, hydration);
            entries.add_result(line, hydration);
        }
    }
    let mut begins_later = true;
    if let Scope::Document(id) = &scope {
        needed.add_document(chronicle, id);
        begins_later = needed.add_beginning(vault.files(), chronicle, id);
    }
    needed.add_governance(chronicle);
    let records = Searched::new(chronicle.checkpoints().to_vec());
    let approvals = Sealings::new(records).comparing_events();
    let heads = lines.iter().filter_map(|raw| Some(raw.line.request.head.as_ref()?.checkpoint));
    let (is_ungoverned, unreadable) =
        add_histories(&mut needed, (vault.files(), head), &approvals, heads);
    begins_later &= is_ungoverned;
    let Sealed { mut files, versions, mut unproved, texts: mut handed_out, .. } =
        Sealed::of(vault, needed)?;
    entries.add_promoted(&versions, &files);
    let staged = StagedPart::of(vault, staged_of, &entries, &mut files)?;
    unproved.extend(unreadable);
    unproved.extend(staged.unproved);
    handed_out.extend(staged.texts);
    let texts = proofs(vault, chronicle, &texts, &versions);
    let mut gaps = gaps;
    gaps.extend(unapproved(vault, &approvals, &versions));
    let previous = add_checkpoints(&mut files, chronicle, (lines, &versions), begins_later)?;
    let mut log = Vec::new();
    lines.iter().for_each(|line| log.extend([&line.bytes[..], b"\n"].concat()));
    files.insert(LINES.to_owned(), log);
    let line_ref = |line: &RawLine| LineRef {
        trace: line.line.trace().to_string(),
        file: line.file.clone(),
        line: line.number,
    };
    let last = chronicle.head();
    let head = last.map(|head| HeadRef { checkpoint: head.number.0, hash: head.hash.to_string() });
    let manifest = Manifest {
        v: FORM,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        scope,
        head: head.clone(),
        previous,
        lines: lines.iter().map(line_ref).collect(),
        gaps: gaps.clone(),
        versions,
        texts,
        staged: staged.refs,
        files: BTreeMap::new(),
    };
    let versions = manifest.versions.len();
    let bytes = packed(files, manifest, lines)?;
    let exported = Exported { bytes, lines: lines.len(), versions, head, unproved, gaps };
    Ok(Traced::new(exported, handed_out))
}

/// Refuses lines whose checkpoint is on a side line.
fn refuse_side_lines(chronicle: &Chronicle<'_>, lines: &[RawLine]) -> Result<(), ExportError> {
    for raw in lines {
        let Some(head) = &raw.line.request.head else { continue };
        let Ok(hash) = head.hash.parse::<Digest>() else { continue };
        if chronicle.sides().any(|side| side.hash == hash) {
            let (file, line, checkpoint) = (raw.file.clone(), raw.number, head.checkpoint);
            return Err(ExportError::SideLine { file, line, checkpoint });
        }
    }
    Ok(())
}

/// Returns the faults in the approvals of versions. The bundle proves that these versions were
/// handed out, and lists that no valid approval published them.
fn unapproved(vault: &Vault, approvals: &Sealings<'_>, versions: &[VersionRef]) -> Vec<Gap> {
    let (files, mut gaps) = (vault.files(), Vec::new());
    for of_id in versions.chunk_by(|a, b| a.id == b.id) {
        let id = of_id.first().and_then(|first| first.id.parse::<DocumentId>().ok());
        let history = id.and_then(|id| Some((replay::load(files, &id).ok()?, id)));
        let Some((history, id)) = history else { continue };
        let sealed = of_id.iter().filter(|version| !version.checkpoints.is_empty());
        let marks = sealed.filter_map(|version| {
            let entry = history.entry(Version(version.version))?;
            Some((entry.version, Mark::new(entry.version, entry.chain_hash)))
        });
        for (version, found) in approvals.versions(files, (&id, &history), &marks.collect()) {
            let code = found.unapproved().map_or(UNJUDGED, |found| found.code).to_owned();
            let why = format!("version {version}: {found}");
            gaps.push(Gap { code, file: id.history_path(), line: version.0, why });
        }
    }
    gaps
}

/// Packs these files, the pages for people and the manifest.
fn packed(
    mut files: Contents,
    mut manifest: Manifest,
    lines: &[RawLine],
) -> Result<Vec<u8>, ExportError> {
    let list = |path: &String, bytes: &[u8]| (path.clone(), FileRef::of(path, bytes));
    manifest.files = files.iter().map(|(path, bytes)| list(path, bytes)).collect();
    let lines: Vec<&Line> = lines.iter().map(|raw| &raw.line).collect();
    for path in [README, INDEX] {
        let page = page::made_again(path, &manifest, &lines).unwrap_or_default().into_bytes();
        let path = path.to_owned();
        manifest.files.extend([list(&path, &page)]);
        files.insert(path, page);
    }
    let spelled = manifest.spell()?;
    let is_long = spelled.len() > MAX_MANIFEST || files.len() >= MAX_FILES;
    files.insert(MANIFEST.to_owned(), spelled);
    let size: usize = files.values().map(|bytes| bytes.len() + 1024).sum();
    if is_long || size as u64 >= MAX_BUNDLE {
        return Err(ExportError::TooLarge);
    }
    Ok(tar::write(files.iter().map(|(path, bytes)| (path.as_str(), &bytes[..]))))
}

/// Adds the checkpoint log and returns the hash of the checkpoint before its first line. If
/// `begins_later` is true, the log begins with the first checkpoint that a line or version names,
/// otherwise with checkpoint 1.
fn add_checkpoints(
    files: &mut Contents,
    chronicle: &Chronicle<'_>,
    (lines, versions): (&[RawLine], &[VersionRef]),
    begins_later: bool,
) -> Result<Option<String>, ExportError> {
    let Some(head) = chronicle.head() else { return Ok(None) };
    let heads = lines.iter().filter_map(|raw| Some(raw.line.request.head.as_ref()?.checkpoint));
    let named: BTreeSet<u64> =
        heads.chain(versions.iter().flat_map(|version| version.checkpoints.clone())).collect();
    let first = named.first().map_or(head.number.0, |first| (*first).clamp(1, head.number.0));
    let first = if begins_later { first } else { CheckpointNumber::FIRST.0 };
    let from = chronicle.export_from(CheckpointNumber(first));
    let (previous, log) = from.ok_or(ExportError::HalfSealed)?;
    files.insert(CHECKPOINTS.to_owned(), log);
    Ok(previous.map(|hash| hash.to_string()))
}
