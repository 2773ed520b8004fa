//! A small writer with the effects of the reference implementation on a vault, which shares no code
//! with ctx. It does not know governance files, and every time of a publication differs:
//! `updated_at`, then `published_at`, then `edited_at`, then the checkpoint.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use contextnest::files::vault::Vault;
use contextnest::model::digest::Digest;
use contextnest::model::id::DocumentId;
use contextnest::model::number::Version;
use contextnest::model::timestamp::Timestamp;
use contextnest::record::chain::replay;
use contextnest::record::chain::vouched;
use serde_yaml::Value;

use crate::corpus::Draw;
use crate::inside::write;
use crate::process::Result;

const GENESIS: &str = "contextnest:genesis:v1";
const LOG: &str = ".versions/context_history.yaml";
/// Lines of context around a change, as jsdiff prints them.
const CONTEXT: usize = 4;

/// The kind of a new version of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Published,
    /// A version that was never published.
    Submitted,
}

/// The reference implementation at work in a vault.
pub(crate) struct OtherTool<'t> {
    pub(crate) root: &'t Path,
    pub(crate) principal: &'t str,
    pub(crate) draw: &'t mut Draw,
    /// Its clock, which advances with each write.
    pub(crate) now: i64,
}

/// The last entry of the log.
#[derive(Default)]
struct Last {
    number: u64,
    at: Option<Timestamp>,
    hash: Option<String>,
    /// Of documents only.
    versions: BTreeMap<String, (u64, String)>,
}

impl OtherTool<'_> {
    /// Writes the next version of a document; returns its live text, its number and its chain hash.
    /// `None` if its time would be before the recorded ones: the tool lacks a rule for that,
    /// and this is not about clocks.
    pub(crate) fn version(
        &mut self,
        id: &str,
        what: What,
        diffs_in_files: bool,
    ) -> Result<Option<(String, u64, String)>> {
        let live_path = self.root.join(format!("{id}.md"));
        let Ok(live) = fs::read_to_string(&live_path) else { return Ok(None) };
        if !live.starts_with("---\n") || live.contains('\r') {
            return Ok(None);
        }
        let dir = self.history_dir(id);
        let history_path = dir.join("history.yaml");
        let history = fs::read_to_string(&history_path).unwrap_or_default();
        let parsed: Value = serde_yaml::from_str(&history)?;
        let last = parsed["versions"].as_sequence().and_then(|entries| entries.last());
        let before = last.and_then(|entry| entry["version"].as_u64()).unwrap_or(0);
        let previous = last.and_then(|entry| entry["chain_hash"].as_str()).unwrap_or(GENESIS);
        let recorded = last.and_then(|entry| entry["edited_at"].as_str()?.parse().ok());
        if recorded.max(self.last()?.at).is_some_and(|at| at.millis() >= self.now) {
            return Ok(None);
        }
        let version = before + 1;
        let updated = self.later(1);
        let status = if what == What::Published { "published" } else { "draft" };
        let text = stamped(&live, status, version, &updated);
        let published = self.later(2);
        let edited = self.later(3);
        let base = match before {
            0 => None,
            _ => Some(self.text(id, before)?),
        };
        let (mut lines, mut file) = (format!("  - version: {version}\n"), None);
        let content = match base.filter(|_| !(version - 1).is_multiple_of(10)) {
            None => {
                lines += "    keyframe: true\n";
                file = Some((format!("v{version}.md"), text.clone()));
                Digest::of(text.as_bytes())
            }
            Some(base) => {
                let diff = jsdiff(&base, &text, before, version);
                let content = Digest::of(diff.as_bytes());
                if diffs_in_files {
                    file = Some((format!("v{version}.diff"), diff));
                } else {
                    lines += &format!("    diff: {}\n", serde_json::to_string(&diff)?);
                }
                content
            }
        };
        let principal = self.principal;
        let chain = format!("{previous}:{content}:{version}:{principal}:{edited}");
        let chain = Digest::of(chain.as_bytes()).to_string();
        lines += &format!("    edited_by: {principal}\n    edited_at: '{edited}'\n");
        if what == What::Published {
            lines += &format!("    published_at: '{published}'\n");
        }
        if self.draw.below(3) == 0 {
            lines += "    note: by the reference implementation\n";
        }
        lines += &format!("    content_hash: {content}\n    chain_hash: {chain}\n");
        fs::create_dir_all(&dir)?;
        if let Some((name, text)) = file {
            fs::write(dir.join(name), text)?;
        }
        let head = if before == 0 { "keyframe_interval: 10\nversions:\n" } else { "" };
        append(&history_path, &format!("{head}{lines}"))?;
        fs::write(live_path, &text)?;
        Ok(Some((text, version, chain)))
    }

    /// Seals the documents of the maps, and these versions, under one checkpoint.
    pub(crate) fn checkpoint(
        &mut self,
        trigger: &str,
        versions: &[(&str, u64, &str)],
    ) -> Result<()> {
        let mut last = self.last()?;
        for (id, version, chain) in versions {
            last.versions.insert((*id).to_owned(), (*version, (*chain).to_owned()));
        }
        let (number, at) = (last.number + 1, self.later(12));
        let numbers: BTreeMap<&str, u64> =
            last.versions.iter().map(|(id, (version, _))| (id.as_str(), *version)).collect();
        let hashes: BTreeMap<&str, &str> =
            last.versions.iter().map(|(id, (_, hash))| (id.as_str(), hash.as_str())).collect();
        let (v, h) = (serde_jcs::to_string(&numbers)?, serde_jcs::to_string(&hashes)?);
        let previous = last.hash.as_deref().unwrap_or(GENESIS);
        let hash = Digest::of(format!("{previous}:{number}:{at}:{trigger}:{v}:{h}").as_bytes());
        let mut entry = String::new();
        if last.number == 0 {
            entry += "# Auto-generated. Do not edit manually.\ncheckpoints:\n";
        }
        entry +=
            &format!("  - checkpoint: {number}\n    at: '{at}'\n    triggered_by: {trigger}\n");
        entry += "    document_versions:\n";
        for (id, version) in &numbers {
            entry += &format!("      {id}: {version}\n");
        }
        entry += "    document_chain_hashes:\n";
        for (id, hash) in &hashes {
            entry += &format!("      {id}: {hash}\n");
        }
        entry += &format!("    checkpoint_hash: {hash}\n");
        fs::create_dir_all(self.root.join(".versions"))?;
        append(&self.root.join(LOG), &entry)
    }

    /// Returns true if its clock is not behind the log.
    pub(crate) fn is_on_time(&self) -> Result<bool> {
        Ok(self.last()?.at.is_none_or(|at| at.millis() < self.now))
    }

    /// Returns true if the last map contains a document.
    pub(crate) fn seals(&self, id: &str) -> Result<bool> {
        Ok(self.last()?.versions.contains_key(id))
    }

    fn last(&self) -> Result<Last> {
        let Ok(log) = fs::read_to_string(self.root.join(LOG)) else {
            return Ok(Last::default());
        };
        // Only the last entry is read, since a log of whole maps is long.
        let Some(from) = log.rfind("\n  - checkpoint: ") else { return Ok(Last::default()) };
        let entry: Value = serde_yaml::from_str(&log[from..])?;
        let entry = &entry[0];
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let mut versions = BTreeMap::new();
        for (id, version) in entry["document_versions"].as_mapping().into_iter().flatten() {
            let (Some(name), Some(version)) = (id.as_str(), version.as_u64()) else { continue };
            let hash = entry["document_chain_hashes"][name].as_str().unwrap_or_default();
            if name.parse::<DocumentId>().is_ok_and(|id| id.is_document()) {
                versions.insert(name.to_owned(), (version, hash.to_owned()));
            }
        }
        Ok(Last {
            number: entry["checkpoint"].as_u64().unwrap_or(0),
            at: text("at").parse().ok(),
            hash: Some(text("checkpoint_hash")),
            versions,
        })
    }

    fn history_dir(&self, id: &str) -> PathBuf {
        let (folder, name) = id.rsplit_once('/').unwrap_or(("", id));
        self.root.join(folder).join(".versions").join(name)
    }

    /// Returns the text of a version; reading is not tested here.
    fn text(&self, id: &str, version: u64) -> Result<String> {
        let (vault, id) = (Vault::open(self.root)?, id.parse::<DocumentId>()?);
        let history = replay::load(vault.files(), &id)?;
        Ok(vouched::vouched(vault.files(), &id, &history, Version(version))?)
    }

    fn later(&mut self, most: usize) -> Timestamp {
        self.now += i64::try_from(self.draw.below(most) + 1).unwrap_or(1);
        Timestamp::from_millis(self.now)
    }
}

fn append(path: &Path, text: &str) -> Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    Ok(file.write_all(text.as_bytes())?)
}

/// Makes a document in the reference implementation's spelling.
pub(crate) fn create(root: &Path, id: &str, title: &str, body: &str) -> Result<()> {
    let text = format!(
        "---\ntitle: {title}\ntype: document\ntags:\n  - '#other'\nstatus: draft\nauthor: lee@example.com\n---\n\n# {title}\n\n{body}\n"
    );
    write(root, &format!("{id}.md"), text)
}

/// Returns the text with the fields that a publication sets, each on its line.
fn stamped(live: &str, status: &str, version: u64, updated: &Timestamp) -> String {
    let end = live[4..].find("\n---\n").map_or(live.len(), |at| at + 5);
    let (fields, rest) = live.split_at(end);
    let checksum = Digest::of(rest.strip_prefix("---").unwrap_or(rest).as_bytes());
    let values = [
        ("status", status.to_owned()),
        ("version", version.to_string()),
        ("updated_at", format!("'{updated}'")),
        ("checksum", format!("'{checksum}'")),
    ];
    let mut lines: Vec<String> = fields.lines().map(str::to_owned).collect();
    for (key, value) in values {
        let line = format!("{key}: {value}");
        let start = format!("{key}:");
        match lines.iter_mut().find(|line| line.starts_with(&start)) {
            Some(found) => *found = line,
            None => lines.push(line),
        }
    }
    format!("{}\n{rest}", lines.join("\n"))
}

/// Returns a unified diff with one hunk, under the header that jsdiff writes.
fn jsdiff(old: &str, new: &str, from: u64, to: u64) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let least = old.len().min(new.len()) - same;
    let pairs = old.iter().rev().zip(new.iter().rev()).take(least);
    let end = pairs.take_while(|(a, b)| a == b).count();
    let start = same.saturating_sub(CONTEXT);
    let after = end.min(CONTEXT);
    let (old_end, new_end) = (old.len() - end, new.len() - end);
    let counts = (old_end + after - start, new_end + after - start);
    let equals = "=".repeat(67);
    let mut out = format!("Index: v{from}\n{equals}\n--- v{from}\tv{from}\n+++ v{from}\tv{to}\n");
    out += &format!("@@ -{},{} +{},{} @@\n", start + 1, counts.0, start + 1, counts.1);
    let mut print = |mark: char, lines: &[&str]| {
        for line in lines {
            out.push(mark);
            out += line;
            if !line.ends_with('\n') {
                out += "\n\\ No newline at end of file\n";
            }
        }
    };
    print(' ', &old[start..same]);
    print('-', &old[same..old_end]);
    print('+', &new[same..new_end]);
    print(' ', &old[old_end..old_end + after]);
    out
}
