//! Verifying a bundle without its vault, item by item (EVID-17 to EVID-21).
//!
//! `log` recomputes the checkpoints, `lines` the lines of the access log, `versions` the texts from
//! their histories, `reviews` who approved them, `approvals` whether these could, `texts` what was handed out of these, `stewards` who
//! decided about it, `hydrations` which sources were hydrated, and `staged` what these returned. Each
//! gives items; none stops at the first that does not hold.

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
    FileRef, Gap, INDEX, MANIFEST, Manifest, ManifestFault, README, Scope, ScopeKind, what_is,
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

/// The version of this program.
const TOOL: &str = env!("CARGO_PKG_VERSION");

/// Why bytes are no bundle.
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
    /// No container of ours.
    #[error("{0}")]
    Container(String),
    /// There is no manifest.
    #[error("it has no {MANIFEST}")]
    NoManifest,
    /// The manifest cannot be relied on.
    #[error("{0}")]
    Manifest(String),
    /// A file that the manifest does not list.
    #[error("the manifest does not list `{0}`")]
    Unlisted(String),
}

words! {
    /// What a verifier says of an item.
    pub enum Verdict {
        /// Every hash that it depends on is recomputed and equal.
        Proved = "proved",
        /// It holds, and nothing outside of the bundle was compared with it.
        NotAnchored = "not anchored",
        /// What would prove it is missing, or does not hold.
        NotProved = "not proved",
        /// No bundle could prove it.
        Unprovable = "not proved",
        /// The bundle says two things that cannot both be.
        Contradicted = "contradicted",
    }
}

impl Verdict {
    /// Whether the bundle does not prove what it should.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::NotProved | Self::Contradicted)
    }
}

words! {
    /// What is verified.
    pub enum Kind {
        /// The file itself, where its hash was noted elsewhere.
        Bundle = "bundle",
        /// That the bundle has what its name says.
        Scope = "scope",
        /// A place where the log was not whole from which the bundle was exported, as it says.
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
        /// That no version of a document was published before the checkpoints of the bundle.
        History = "history",
        /// That a valid approval published a version.
        Approval = "approval",
        /// A text that was handed out.
        Text = "text",
        /// Who decided about it, and when its approval was due again.
        Steward = "steward",
        /// The source of a hydration.
        Hydration = "hydration",
        /// A line of a staging chain.
        Staged = "staged",
        /// The content of a staged entry.
        Content = "content",
        /// That the principal who ended an entry without a content had the role.
        Role = "role",
        /// The result of a hydration, which was staged.
        Result = "result",
        /// That the body of a version is the content that it was promoted from.
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

/// One thing that a bundle proves, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What kind.
    pub kind: Kind,
    /// Which one.
    pub name: String,
    /// What is said of it.
    pub verdict: Verdict,
    /// Why, unless it is proved.
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

/// That no bundle can prove it, so that no proof is missing.
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

/// What the verification of a bundle gave.
#[derive(Debug)]
pub struct Verified {
    /// `trace`, `session` or `document`, and what it names.
    pub scope: (ScopeKind, String),
    /// The version of the program that made the bundle, as it says.
    pub tool: String,
    /// The head that the bundle was exported at.
    pub head: Option<HeadRef>,
    /// The items, in the order of the kinds.
    pub items: Vec<Item>,
}

impl Verified {
    /// The same with an item for the hash that the whole bundle is expected to have.
    #[must_use]
    pub fn compared_with(mut self, bytes: &[u8], expected: &Digest) -> Self {
        let found = Digest::of(bytes);
        let judged = match found == *expected {
            true => Ok(()),
            false => contradicted(format!("it has hash {found}, not the one that is expected")),
        };
        self.items.insert(0, Item::new(Kind::Bundle, Kind::Bundle.as_str(), judged));
        self
    }
}

/// The files of a bundle.
struct Files<'b>(BTreeMap<&'b str, &'b [u8]>);

impl<'b> Files<'b> {
    fn get(&self, path: &str) -> Result<&'b [u8], (Verdict, String)> {
        match self.0.get(path) {
            Some(bytes) => Ok(bytes),
            None => not_proved(format!("`{path}` is missing")),
        }
    }
}

/// Verifies the bytes of a bundle. With `expected`, its checkpoints have to lead to that head.
///
/// # Errors
/// The bytes are no bundle.
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

/// That a file is the one that is listed. What it contains is judged by other items; a page for people
/// is made again and compared.
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
    if !["", what_is(path)].contains(&listed.what.as_str()) {
        let what = what_is(path);
        return contradicted(format!("the manifest says of it something else than `{what}`"));
    }
    if ![README, INDEX].contains(&path) {
        return Ok(());
    }
    // The manifest names `tool`, so that an attacker may name any: every page is compared.
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

/// That no line is missing at a place where the log was not whole. Of lines that were pruned, and of
/// one that was not written to its end, nothing could prove that.
fn gap(gap: &Gap) -> Item {
    let verdict = if gap.is_damage() { Verdict::NotProved } else { Verdict::Unprovable };
    let why = match gap.is_about_approval() {
        true => format!("{}: {}; no valid approval published it", gap.code, gap.why),
        false => format!("{}: {}; accesses may be missing here", gap.code, gap.why),
    };
    Item::new(Kind::Gap, format!("{}:{}", gap.file, gap.line), Err((verdict, why)))
}

/// That the bundle has something of what it is named for.
fn scope(manifest: &Manifest, lines: &Lines) -> Item {
    let (word, name) = manifest.scope.parts();
    let has = match &manifest.scope {
        Scope::Trace(trace) => lines.all().any(|line| line.trace().to_string() == *trace),
        Scope::Session(_) => lines.all().any(|line| manifest.scope.wants(line)),
        Scope::Document(id) => manifest.versions.iter().any(|version| version.id == *id),
    };
    let judged = if has { Ok(()) } else { not_proved("the bundle has nothing of it") };
    Item::new(Kind::Scope, format!("{word} {name}"), judged)
}
