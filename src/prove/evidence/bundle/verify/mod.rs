//! Verifies a bundle without its vault, item by item (EVID-17 to EVID-21).
//!
//! `log` recomputes the checkpoints, `lines` the lines of the access log, and `versions` the texts
//! from their histories. `reviews` finds who approved the versions, and `approvals` whether they
//! were allowed to. `texts` compares the texts that were handed out, and `stewards` the recorded
//! stewards. `hydrations` checks which sources were hydrated, and `staged` their results. Each
//! module returns items, and none stops at the first failure.

mod approvals;
mod histories;
mod hydrations;
mod lines;
mod log;
mod reviews;
mod staged;
mod stewards;
mod texts;
mod versions;

use std::collections::BTreeMap;

use super::manifest::{
    FileRef, Gap, INDEX, MANIFEST, Manifest, ManifestFault, README, Scope, ScopeKind, file_kind,
};
use super::{MAX_BUNDLE, MAX_FILES, MAX_MANIFEST, page, tar};
use crate::record::audit::{HeadRef, Line};
use crate::values::codes::words;
use crate::values::model::digest::Digest;
use approvals::Approvals;
use lines::Lines;
use log::Log;
use staged::StagedProofs;
use stewards::Stewards;
use versions::Versions;

/// Version of this program.
const TOOL: &str = env!("CARGO_PKG_VERSION");

/// Reason why bytes are not a bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleFault {
    /// More bytes than a verifier reads.
    #[error("it has more than {} MiB", MAX_BUNDLE >> 20)]
    TooLarge,
    /// More files than a verifier reads.
    #[error("it has more than {MAX_FILES} files")]
    TooManyFiles,
    /// A larger manifest than a verifier reads.
    #[error("its {MANIFEST} has more than {} MiB", MAX_MANIFEST >> 20)]
    ManifestTooLarge,
    /// Not a container in the format of this program.
    #[error("{0}")]
    Container(String),
    /// The manifest is missing.
    #[error("it has no {MANIFEST}")]
    NoManifest,
    /// The manifest is malformed or was changed.
    #[error("{0}")]
    Manifest(String),
    /// The manifest does not list a file.
    #[error("the manifest does not list `{0}`")]
    Unlisted(String),
}

words! {
    /// Verdict about an item.
    pub enum Verdict {
        /// Every hash that the item depends on is recomputed and equal.
        Proved = "proved",
        /// The item is consistent, but it was not compared with anything outside of the bundle.
        NotAnchored = "not anchored",
        /// The proof is missing or does not match.
        NotProved = "not proved",
        /// No bundle could prove the item.
        Unprovable = "not proved",
        /// The bundle contradicts itself.
        Contradicted = "contradicted",
    }
}

impl Verdict {
    /// Returns true if the bundle lacks a proof that it should contain, or contradicts itself.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::NotProved | Self::Contradicted)
    }
}

words! {
    /// Kind of a verified item.
    pub enum Kind {
        /// The file itself, if its hash was noted elsewhere.
        Bundle = "bundle",
        /// The bundle contains something of its scope.
        Scope = "scope",
        /// A place where the exported log was incomplete, as the bundle states.
        Gap = "gap",
        /// A file of the bundle.
        File = "file",
        /// A checkpoint.
        Checkpoint = "checkpoint",
        /// The last checkpoint.
        Head = "head",
        /// A line of the access log.
        Line = "line",
        /// A version of a document.
        Version = "version",
        /// A version in the maps of a checkpoint.
        Sealed = "sealed",
        /// No version of a document was published before the checkpoints of the bundle.
        History = "history",
        /// A valid approval published a version.
        Approval = "approval",
        /// A text that was handed out.
        Text = "text",
        /// Steward of a text, and the time when its approval is due again.
        Steward = "steward",
        /// The source of a hydration.
        Hydration = "hydration",
        /// A line of a staging chain.
        Staged = "staged",
        /// The content of a staged entry.
        Content = "content",
        /// The principal who ended an entry without a content had the role.
        Role = "role",
        /// The staged result of a hydration.
        Result = "result",
        /// The body of a version is the content that it was promoted from.
        Promotion = "promotion",
    }
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 19] = [
        Self::Bundle,
        Self::Scope,
        Self::Gap,
        Self::File,
        Self::Checkpoint,
        Self::Head,
        Self::Line,
        Self::Version,
        Self::Sealed,
        Self::History,
        Self::Approval,
        Self::Text,
        Self::Steward,
        Self::Hydration,
        Self::Staged,
        Self::Content,
        Self::Role,
        Self::Result,
        Self::Promotion,
    ];
}

/// One thing that a bundle proves, or fails to prove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Kind of the item.
    pub kind: Kind,
    /// Name of the item, unique in its kind.
    pub name: String,
    /// Verdict about the item.
    pub verdict: Verdict,
    /// Reason of the verdict; `None` if the item is proved.
    pub why: Option<String>,
}

/// A verdict with its reason.
type Judged = Result<(), (Verdict, String)>;

fn contradicted<T>(why: impl Into<String>) -> Result<T, (Verdict, String)> {
    Err((Verdict::Contradicted, why.into()))
}

fn not_proved<T>(why: impl Into<String>) -> Result<T, (Verdict, String)> {
    Err((Verdict::NotProved, why.into()))
}

/// Fails because no bundle can prove the item, so that no proof is missing.
fn unprovable<T>(why: &str) -> Result<T, (Verdict, String)> {
    Err((Verdict::Unprovable, why.to_owned()))
}

impl Item {
    fn new(kind: Kind, name: impl Into<String>, judged: Judged) -> Self {
        let (verdict, why) = match judged {
            Ok(()) => (Verdict::Proved, None),
            Err((verdict, why)) => (verdict, Some(why)),
        };
        Self { kind, name: name.into(), verdict, why }
    }
}

/// Result of the verification of a bundle.
#[derive(Debug)]
pub struct Verified {
    /// Kind of the scope, and the trace, session or document that it names.
    pub scope: (ScopeKind, String),
    /// Version of the program that made the bundle, as the bundle states.
    pub tool: String,
    /// Head at which the bundle was exported.
    pub head: Option<HeadRef>,
    /// Items, in the order of the kinds.
    pub items: Vec<Item>,
}

impl Verified {
    /// Adds an item that compares the hash of the whole bundle with the expected one.
    #[must_use]
    pub fn compared_with(mut self, bytes: &[u8], expected: &Digest) -> Self {
        let found = Digest::of(bytes);
        let judged = match found == *expected {
            true => Ok(()),
            false => contradicted(format!("it has hash {found}, not the expected one")),
        };
        self.items.insert(0, Item::new(Kind::Bundle, Kind::Bundle.as_str(), judged));
        self
    }
}

/// Files of a bundle, by path.
struct Files<'b>(BTreeMap<&'b str, &'b [u8]>);

impl<'b> Files<'b> {
    fn get(&self, path: &str) -> Result<&'b [u8], (Verdict, String)> {
        match self.0.get(path) {
            Some(bytes) => Ok(bytes),
            None => not_proved(format!("`{path}` is missing")),
        }
    }
}

/// Verifies the bytes of a bundle. With `expected`, its checkpoints must lead to that head.
///
/// # Errors
/// Fails if the bytes are not a bundle.
pub fn verify(bytes: &[u8], expected: Option<&Digest>) -> Result<Verified, BundleFault> {
    if bytes.len() as u64 > MAX_BUNDLE {
        return Err(BundleFault::TooLarge);
    }
    let read = tar::read(bytes).map_err(|why| BundleFault::Container(why.to_string()))?;
    if read.len() > MAX_FILES {
        return Err(BundleFault::TooManyFiles);
    }
    let mut files: BTreeMap<&str, &[u8]> = read.into_iter().collect();
    let manifest = files.remove(MANIFEST).ok_or(BundleFault::NoManifest)?;
    if manifest.len() > MAX_MANIFEST {
        return Err(BundleFault::ManifestTooLarge);
    }
    let unreadable = |why: ManifestFault| BundleFault::Manifest(why.to_string());
    let manifest = Manifest::read(manifest).map_err(unreadable)?;
    if let Some(unlisted) = files.keys().find(|path| !manifest.files.contains_key(**path)) {
        return Err(BundleFault::Unlisted((*unlisted).to_owned()));
    }
    Ok(judge(manifest, &Files(files), expected))
}

fn judge(manifest: Manifest, files: &Files<'_>, expected: Option<&Digest>) -> Verified {
    let log = Log::read(&manifest, files, expected);
    let lines = Lines::read(&manifest, files, &log);
    let versions = Versions::read(&manifest, files, &log);
    let mut items = vec![scope(&manifest, &lines)];
    items.extend(manifest.gaps.iter().map(gap));
    let (paths, read): (_, Vec<&Line>) = (manifest.paths(), lines.all().collect());
    items.extend(manifest.files.iter().map(|(path, listed)| {
        let judged = match paths.contains(path) {
            true => file(&manifest, files, (path, listed), &read),
            false => contradicted("a bundle has no such file"),
        };
        Item::new(Kind::File, path, judged)
    }));
    items.extend(log.items.iter().cloned());
    items.extend(lines.items.iter().cloned());
    items.extend(versions.items.iter().cloned());
    let approvals = Approvals::read(&manifest, files, &log, &versions);
    items.extend(approvals.items.iter().cloned());
    let staged = StagedProofs::read(&manifest, files, &lines, &versions);
    let proved = (&log, &versions, &approvals);
    items.extend(texts::items((&manifest, files), &lines, proved, &staged));
    items.extend(hydrations::items(&manifest, &lines, &versions));
    items.extend(staged.items.iter().cloned());
    items.extend(staged.roles(&Stewards::new(&manifest, files, proved)));
    items.extend(staged.results(&manifest, &lines));
    items.extend(staged.promotions(&manifest, files, &versions));
    let (word, name) = manifest.scope.parts();
    let scope = (word, name.to_owned());
    Verified { scope, tool: manifest.tool, head: manifest.head, items }
}

/// Checks that a file is the one that the manifest lists. Other items judge its content; a page for
/// people is made again and compared.
fn file(
    manifest: &Manifest,
    files: &Files<'_>,
    (path, listed): (&str, &FileRef),
    lines: &[&Line],
) -> Judged {
    let bytes = files.get(path)?;
    let found = Digest::of(bytes).to_string();
    if bytes.len() as u64 != listed.bytes || found != listed.sha256 {
        return contradicted(format!("it has hash {found}, and the manifest another"));
    }
    if !["", file_kind(path)].contains(&listed.what.as_str()) {
        let what = file_kind(path);
        return contradicted(format!("the manifest does not describe it as `{what}`"));
    }
    if ![README, INDEX].contains(&path) {
        return Ok(());
    }
    // The manifest names `tool`, so an attacker may name any: every page is compared.
    match page::made_again(path, manifest, lines).is_some_and(|page| page.as_bytes() == bytes) {
        true => Ok(()),
        false if manifest.tool == TOOL => {
            contradicted("it is not the page that ctx makes of this bundle")
        }
        false => not_proved(format!(
            "it is not the page that ctx {TOOL} makes of this bundle; only ctx {} can check it",
            manifest.tool
        )),
    }
}

/// Returns the item of a gap. A gap by pruning or by an incomplete last line cannot be proved by
/// any bundle.
fn gap(gap: &Gap) -> Item {
    let verdict = if gap.is_damage() { Verdict::NotProved } else { Verdict::Unprovable };
    let why = match gap.is_about_approval() {
        true => format!("{}: {}; no valid approval published it", gap.code, gap.why),
        false => format!("{}: {}; accesses may be missing here", gap.code, gap.why),
    };
    Item::new(Kind::Gap, format!("{}:{}", gap.file, gap.line), Err((verdict, why)))
}

/// Checks that the bundle contains something of its scope.
fn scope(manifest: &Manifest, lines: &Lines) -> Item {
    let (word, name) = manifest.scope.parts();
    let has = match &manifest.scope {
        Scope::Trace(trace) => lines.all().any(|line| line.trace().to_string() == *trace),
        Scope::Session(_) => lines.all().any(|line| manifest.scope.wants(line)),
        Scope::Document(id) => manifest.versions.iter().any(|version| version.id == *id),
    };
    let judged = if has { Ok(()) } else { not_proved("the bundle contains nothing of it") };
    Item::new(Kind::Scope, format!("{word} {name}"), judged)
}
