//! One history: a person, a vault, and its expected state, kept by rules that share nothing with
//! the verifier.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::corpus::Draw;
use crate::inside::{Person, Said, files};
use crate::process::Result;

/// The origin of a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Made by `ctx`, with a delta log.
    Delta,
    /// Made by `ctx`, configured for a log of whole maps.
    Full,
    /// Made by the reference implementation.
    Interop,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Delta, Self::Full, Self::Interop];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Full => "full",
            Self::Interop => "reference",
        }
    }
}

/// The published texts, as their publisher knows them.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// The normal form of each published text, by id.
    pub(super) sealed: BTreeMap<String, String>,
    /// Governance files that the reference implementation dropped from the maps, as they were. The
    /// next event of ctx restores them; meanwhile a live file is compared with the dropped text.
    pub(super) dropped: BTreeMap<String, String>,
    /// Documents that were retired.
    pub(super) retired: BTreeSet<String>,
}

/// The counts of all histories.
#[derive(Default)]
pub(super) struct Tally {
    /// Steps by kind of vault and name.
    pub(super) steps: BTreeMap<(&'static str, Kind), usize>,
    pub(super) verifications: usize,
    pub(super) without_trusted_head: usize,
    /// Findings by class and code.
    pub(super) findings: BTreeMap<(String, String), usize>,
    /// Refused publications, by code.
    pub(super) refused: BTreeMap<String, usize>,
}

/// A vault with its person and its model.
pub(super) struct Scene {
    pub(super) kind: Kind,
    pub(super) draw: Draw,
    pub(super) person: Person,
    /// Folder of everything in this history.
    pub(super) base: PathBuf,
    pub(super) root: PathBuf,
    pub(super) model: Model,
    pub(super) git: Option<super::git::Git>,
    pub(super) backup: Option<(PathBuf, Model)>,
    /// The latest time of any write.
    pub(super) latest: i64,
    /// True if the history ends here, because a command was interrupted and was not recovered.
    pub(super) over: bool,
    pub(super) counter: usize,
    pub(super) tally: Tally,
}

const HOUR: i64 = 3_600_000;

impl Scene {
    /// Runs a command as some user, some time later.
    pub(super) fn ctx(&mut self, args: &[&str]) -> Said {
        self.person.ctx(&self.root, args)
    }

    /// Returns a fresh path next to the vault.
    pub(super) fn beside(&mut self, what: &str) -> PathBuf {
        let number = self.number();
        self.base.join(format!("{what}-{number}"))
    }

    pub(super) fn number(&mut self) -> usize {
        self.counter += 1;
        self.counter
    }

    /// Chooses another principal, and another time: mostly a little later, sometimes the same
    /// instant, a jump ahead, or a clock that was set back.
    pub(super) fn pass_time(&mut self) {
        let people = ["ana@example.com", "bo@example.com", "agent-7", "Zoë"];
        self.person.principal = people[self.draw.below(people.len())].to_owned();
        let by = |draw: &mut Draw, most: i64| draw.below(usize::try_from(most).unwrap_or(1)) as i64;
        let step = match self.draw.below(12) {
            0 => 0,
            1 => by(&mut self.draw, 40 * 24 * HOUR),
            2 => -by(&mut self.draw, 20 * HOUR),
            3 | 4 => 1,
            _ => 1 + by(&mut self.draw, HOUR),
        };
        // If the clock is behind by more than a day, `ctx` refuses to publish; this is not tested
        // here.
        self.person.now = (self.person.now + step).max(self.latest - 20 * HOUR);
        self.latest = self.latest.max(self.person.now);
    }

    /// Runs a command that publishes or retires, and records its changes.
    pub(super) fn event(&mut self, args: &[&str]) -> Result<bool> {
        let said = self.ctx(&[args, &["--json"]].concat());
        let json = said.json();
        let learned = self.learn(&json)?;
        let mut refused = BTreeSet::new();
        if said.exit > 1 || json["code"].is_string() {
            let code = json["code"].as_str().unwrap_or("?");
            // This code summarizes single documents, each with its own reason.
            refused.extend((code != "refused").then(|| code.to_owned()));
        }
        let about = [&json["refused"], &json["documents"]];
        for document in about.into_iter().filter_map(Value::as_array).flatten() {
            for problem in document["problems"].as_array().into_iter().flatten() {
                refused.insert(problem["code"].as_str().unwrap_or("?").to_owned());
            }
        }
        if refused.is_empty() && !learned && said.exit != 0 {
            return Err(said.complaint().into());
        }
        for code in refused {
            *self.tally.refused.entry(code).or_default() += 1;
        }
        Ok(learned)
    }

    /// Records an event; returns true if there was one.
    pub(super) fn learn(&mut self, json: &Value) -> Result<bool> {
        if json["checkpoint"].is_null() || json["dry_run"] == true {
            return Ok(false);
        }
        for version in json["versions"].as_array().into_iter().flatten() {
            let id = version["id"].as_str().unwrap_or_default().to_owned();
            if version["change"] == "retired" {
                self.model.sealed.remove(&id);
                self.model.retired.insert(id);
            } else {
                let text = fs::read(self.root.join(live_path(&id)))?;
                self.model.sealed.insert(id.clone(), normal(&text));
                self.model.retired.remove(&id);
            }
        }
        let left_out = |id: &String| {
            let mut all = json["left_out"].as_array().into_iter().flatten();
            all.any(|one| one["id"] == id.as_str())
        };
        for (id, before) in std::mem::take(&mut self.model.dropped) {
            match fs::read(self.root.join(&id)) {
                Ok(text) if !left_out(&id) => self.model.sealed.insert(id, normal(&text)),
                _ => self.model.dropped.insert(id, before),
            };
        }
        Ok(true)
    }

    /// Verifies the vault as its user does, and compares the report with the model.
    pub(super) fn verify(&mut self) -> Result<()> {
        let said = self.ctx(&["verify", "--json"]);
        self.tally.verifications += 1;
        self.judge(&said)
    }

    /// Verifies as a user who never saw this vault.
    pub(super) fn verify_without_trusted_head(&mut self) -> Result<()> {
        let stranger = Person { home: None, ..self.person.clone() };
        let said = stranger.ctx(&self.root, &["verify", "--json"]);
        self.tally.without_trusted_head += 1;
        self.judge(&said)
    }

    fn judge(&mut self, said: &Said) -> Result<()> {
        let json = said.json();
        let findings = json["findings"].as_array().ok_or_else(|| said.complaint())?;
        let mut differs = BTreeSet::new();
        for finding in findings {
            let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            let (class, code) = (text("class"), text("code"));
            // These findings cannot occur in records that only `ctx` wrote.
            let ours = ["history-respelled", "key-unknown", "keyframe-interval"];
            let strange = self.kind == Kind::Delta && ours.contains(&code.as_str());
            if class == "damage" || class == "unsettled" || strange {
                return Err(format!("false alarm: {finding}").into());
            }
            if class == "working copy" {
                differs.insert((code.clone(), text("path")));
            }
            *self.tally.findings.entry((class, code)).or_default() += 1;
        }
        let expected = self.differences()?;
        if differs != expected {
            let more: Vec<_> = differs.difference(&expected).collect();
            let less: Vec<_> = expected.difference(&differs).collect();
            return Err(
                format!("live files: found without reason {more:?}, missed {less:?}").into()
            );
        }
        if said.exit != u8::from(!differs.is_empty()) {
            return Err(said.complaint().into());
        }
        Ok(())
    }

    /// Returns every difference between live files and published texts, as a report names it.
    fn differences(&self) -> Result<BTreeSet<(String, String)>> {
        let mut differs = BTreeSet::new();
        let mut push = |code: &str, path: &str| differs.insert((code.to_owned(), path.to_owned()));
        for (id, sealed) in self.model.sealed.iter().chain(&self.model.dropped) {
            let path = live_path(id);
            let live = fs::read(self.root.join(&path)).ok().map(|bytes| normal(&bytes));
            match live {
                None if is_document(id) => push("document-missing", &path),
                None => push("policy-drift", &path),
                Some(live) if live == *sealed => continue,
                // A file without a frontmatter is not a draft.
                Some(live)
                    if is_document(id)
                        && live.starts_with("---\n")
                        && says(&live) == Says::Draft =>
                {
                    continue;
                }
                Some(_) if is_document(id) => push("drift", &path),
                Some(_) => push("policy-drift", &path),
            };
        }
        for path in self.documents()? {
            let id = path.strip_suffix(".md").unwrap_or(&path);
            let live = normal(&fs::read(self.root.join(&path))?);
            if !self.model.sealed.contains_key(id)
                && !self.is_excluded(&path)
                && says(&live) == Says::Published
            {
                push("published-without-history", &path);
            }
        }
        Ok(differs)
    }

    /// Returns true if the live configuration excludes a file.
    pub(super) fn is_excluded(&self, path: &str) -> bool {
        let config = fs::read_to_string(self.root.join(CONFIG)).unwrap_or_default();
        config.contains("exclude:") && path.starts_with("nodes/private/")
    }

    /// Returns the Markdown files of the folders for documents.
    pub(super) fn documents(&self) -> Result<Vec<String>> {
        let is_document = |path: &String| {
            let placed = path.starts_with("nodes/") || path.starts_with("sources/");
            let hidden = path.split('/').any(|name| name.starts_with('.'));
            placed && !hidden && path.ends_with(".md") && !path.ends_with("/INDEX.md")
        };
        Ok(files(&self.root)?.into_iter().filter(is_document).collect())
    }

    /// Returns the ids of published documents.
    pub(super) fn published(&self) -> Vec<String> {
        self.model.sealed.keys().filter(|id| is_document(id)).cloned().collect()
    }

    /// Returns one of some.
    pub(super) fn one_of(&mut self, from: &[String]) -> Option<String> {
        (!from.is_empty()).then(|| from[self.draw.below(from.len())].clone())
    }

    /// Returns a published document.
    pub(super) fn any_published(&mut self) -> Option<String> {
        let published = self.published();
        self.one_of(&published)
    }

    /// Reads a live file as text.
    pub(super) fn live(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }
}

pub(super) const CONFIG: &str = ".context/config.yaml";

/// Returns true if an id is that of a document, not of a governance file.
pub(super) fn is_document(id: &str) -> bool {
    id.starts_with("nodes/") || id.starts_with("sources/")
}

/// Returns the path of the file that an id names.
pub(super) fn live_path(id: &str) -> String {
    if is_document(id) { format!("{id}.md") } else { id.to_owned() }
}

/// Returns a text without its byte order mark, with LF line ends.
pub(super) fn normal(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// The status of a live file.
#[derive(PartialEq, Eq)]
enum Says {
    Published,
    Draft,
}

/// Reads the status of a text of this experiment: on a line of its own, or missing.
fn says(text: &str) -> Says {
    let fields = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    let published = fields.is_some_and(|(fields, _)| {
        fields.lines().any(|line| line.trim_end() == "status: published")
    });
    if published { Says::Published } else { Says::Draft }
}

/// Returns the path of a copy of a vault.
pub(super) fn copy_of(root: &Path, number: usize) -> PathBuf {
    root.with_file_name(format!("vault-{number}"))
}
