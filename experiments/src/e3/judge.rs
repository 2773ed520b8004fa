//! One attack on one vault, judged by `ctx verify --json`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

use super::attacks::{Attack, BundleAttack, Rewritten};
use super::bundles::Bundles;
use super::draw::Draw;
use super::forge::Target;
use super::forge::history::History;
use super::place::Place;
use super::script::{Script, ctx, tree};
use super::table::{Expected, Row};
use super::vaults::{Kind, script};
use crate::inside::copy;
use crate::process::Result;

/// A time after everything that any vault records.
pub(super) const NOW: &str = "2027-01-01T00:00:00.000Z";

/// The findings of an anchor.
const HEADS: [&str; 2] = ["head-rollback", "head-fork"];

/// The result of an attack.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// The attack does not apply to this vault.
    NoPlace,
    /// As the table says, without a finding from the files.
    Quiet,
    /// As the table says, with a finding that points at the place.
    Pointed,
    /// As the table says, with a finding that points to this other place.
    Astray(String),
    /// Not as the table says; the findings instead.
    Otherwise(String),
}

/// The way to make an attack.
#[derive(Clone, Copy)]
pub(super) enum Maker {
    /// By changing the files of a vault.
    Forged(Attack),
    /// By honest commands, in place of a vault.
    Rewritten(Rewritten),
    /// By changing a bundle that was exported from a vault.
    Bundle(BundleAttack),
}

/// A vault under attack, and the report of `verify` before the attacks.
pub(super) struct Vault {
    pub(super) kind: Kind,
    pub(super) seed: u64,
    script: Script,
    other: Script,
    folder: PathBuf,
    before: BTreeSet<String>,
    bundles: OnceLock<Bundles>,
}

/// The report of `verify`.
struct Report {
    exit: u8,
    head: Option<String>,
    verdict: String,
    findings: Vec<Value>,
}

impl Vault {
    /// Makes a vault, and another one of its kind.
    pub(super) fn make(kind: Kind, seed: u64, folder: &Path) -> Result<Self> {
        let own = script(kind, seed);
        // The other vault is not shorter, so that it has another checkpoint in place of the head.
        let others = (1..50).map(|n| script(kind, seed + n));
        let mut others = others.filter(|other| other.events.len() >= own.events.len().max(1));
        let other = others.next().ok_or("no other vault is as long")?;
        let folder = folder.join(format!("{}-{seed}", kind.name()));
        let (before, bundles) = (BTreeSet::new(), OnceLock::new());
        let vault = Self { kind, seed, script: own, other, folder, before, bundles };
        vault.script.play(&vault.base())?;
        vault.other.play(&vault.folder.join("other"))?;
        vault.tools_agree()?;
        let report = verify(&vault.base(), &[], None)?;
        if report.exit != 0 {
            return Err(format!("{}: not intact before: {report}", vault.name()).into());
        }
        Ok(Self { before: report.findings.iter().map(key).collect(), ..vault })
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}", self.kind.name(), self.seed)
    }

    fn base(&self) -> PathBuf {
        self.folder.join("base")
    }

    /// Checks that the forger's tools read and write the same bytes, hashes and all: they know
    /// the rules.
    fn tools_agree(&self) -> Result<()> {
        let target = Target::at(&self.base());
        let mut log = target.log();
        let text = target.read(target.log_path());
        log.renew();
        if log.text() != text {
            return Err(format!("{}: the log is not what its hashes give", self.name()).into());
        }
        for mut history in target.histories() {
            let before = history.clone();
            history.rechain(0);
            let same = before.entries.iter().zip(&history.entries);
            // The reference implementation spells diffs differently.
            let is_same = same
                .clone()
                .all(|(a, b)| a.chain == b.chain && (self.kind == Kind::Interop || a.raw == b.raw));
            if !is_same {
                return Err(format!("{}: {} is spelled otherwise", self.name(), history.id).into());
            }
        }
        Ok(())
    }

    /// Returns a fresh copy of the vault for an attack.
    fn copied(&self, name: &str) -> Result<Target> {
        let root = self.folder.join("attacked/vault");
        let outside = self.folder.join("attacked/outside");
        for folder in [&root, &outside] {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
        }
        fs::create_dir_all(&root)?;
        copy(&self.base(), &root)?;
        let draw = Draw::new(self.seed, &format!("{} {name}", self.kind.name()));
        Ok(Target { root, outside, other: self.folder.join("other"), draw })
    }

    /// Writes the vault, attacked if asked for, to a folder that does not exist yet; false if the
    /// attack does not apply to the vault.
    pub(super) fn written(
        &self,
        folder: &Path,
        name: &str,
        attack: Option<Attack>,
    ) -> Result<bool> {
        let mut target = self.copied(name)?;
        let has_place = attack.is_none_or(|attack| attack(&mut target).is_some());
        if has_place {
            fs::rename(&target.root, folder)?;
        }
        Ok(has_place)
    }

    /// Makes an attack and judges it.
    pub(super) fn judge(&self, row: &Row, expected: Expected, maker: Maker) -> Result<Outcome> {
        match maker {
            Maker::Forged(attack) => {
                let mut target = self.copied(&row.name)?;
                let head = self.remembered(&target)?;
                let Some(place) = attack(&mut target) else { return Ok(Outcome::NoPlace) };
                // Only a trusted head can be on a side line (MERGE-25).
                let is_of_head = row.finding.as_deref() == Some("head-merged");
                let state = is_of_head.then(|| self.state());
                let report = verify(&target.root, &[], state.as_deref())?;
                if let Some(id) = handed_out(&target, &report) {
                    let said = format!("`ctx read {id}` hands out what was not approved");
                    return Ok(Outcome::Otherwise(said));
                }
                match self.of_files(row, expected, &place, &report) {
                    // The code of the row is that of vaults whose log follows from histories.
                    Outcome::Quiet if expected == Expected::Anchor => {
                        self.anchored(&target, &head, expected, &HEADS)
                    }
                    outcome => Ok(outcome),
                }
            }
            Maker::Rewritten(rewritten) => self.rewritten(row, expected, rewritten),
            Maker::Bundle(attack) => {
                let draw = Draw::new(self.seed, &format!("{} {}", self.kind.name(), row.name));
                self.bundles()?.judge(row, expected, attack, draw)
            }
        }
    }

    /// Returns the bundles of the vault, made on first use.
    fn bundles(&self) -> Result<&Bundles> {
        if let Some(bundles) = self.bundles.get() {
            return Ok(bundles);
        }
        let folder = self.folder.join("bundles");
        let made = Bundles::make(&self.base(), &self.folder.join("other"), &folder)?;
        Ok(self.bundles.get_or_init(|| made))
    }

    fn of_files(&self, row: &Row, expected: Expected, place: &Place, report: &Report) -> Outcome {
        let code = row.finding.as_deref();
        let new: Vec<&Value> =
            report.findings.iter().filter(|f| !self.before.contains(&key(f))).collect();
        let looked_at: Vec<&Value> =
            if place.standing { report.findings.iter().collect() } else { new.clone() };
        let named: Vec<&&Value> =
            looked_at.iter().filter(|f| f["code"].as_str() == code && code.is_some()).collect();
        let is_note = |f: &Value| f["class"] == "note";
        let is_as_listed = match expected {
            Expected::Files => report.exit == 1 && named.iter().any(|f| !is_note(f)),
            Expected::Note => report.exit == 0 && named.iter().any(|f| is_note(f)),
            Expected::No => report.exit == 0 && new.is_empty(),
            // The report on an honest vault, with notes such as unpublished files.
            Expected::Anchor => report.exit == 0 && new.iter().all(|f| is_note(f)),
        };
        // In logs of the reference implementation a note may take the place of the code (VER-13).
        let is_foreign = |f: &&Value| f["code"] == "foreign-record";
        if !is_as_listed && self.kind == Kind::Interop && new.iter().any(is_foreign) {
            let is_placed = new.iter().any(|f| place.is_of(f));
            return if is_placed { Outcome::Pointed } else { Outcome::Quiet };
        }
        if !is_as_listed {
            Outcome::Otherwise(shown_text(report, &new))
        } else if named.is_empty() {
            Outcome::Quiet
        } else if named.iter().any(|f| place.is_of(f)) {
            Outcome::Pointed
        } else {
            Outcome::Astray(format!("expected {place}, found {}", shown_text(report, &new)))
        }
    }

    /// Replaces this vault by one that honest commands made.
    fn rewritten(&self, row: &Row, expected: Expected, make: Rewritten) -> Result<Outcome> {
        let mut draw = Draw::new(self.seed, &row.name);
        let Some(duplicate) = make(&self.script, &self.other, &mut draw) else {
            return Ok(Outcome::NoPlace);
        };
        let target = self.copied(&row.name)?;
        let head = self.remembered(&target)?;
        if let Some(surgery) = &duplicate.surgery {
            surgery(&target);
        }
        let by_hand = tree(&target.root)?;
        fs::remove_dir_all(&target.root)?;
        duplicate.script.play(&target.root)?;
        let by_commands = tree(&target.root)?;
        if by_hand != by_commands && duplicate.surgery.is_some() {
            let differing =
                by_commands.iter().find(|(path, bytes)| by_hand.get(*path) != Some(bytes));
            let path = differing.map_or_else(String::new, |(path, _)| path.display().to_string());
            return Ok(Outcome::Otherwise(format!("the forgery by hand is another vault: {path}")));
        }
        let report = verify(&target.root, &[], None)?;
        match self.of_files(row, expected, &Place::vault(), &report) {
            Outcome::Quiet => {}
            other => return Ok(other),
        }
        if report.verdict.contains("anchored to") {
            return Ok(Outcome::Otherwise(format!("without an anchor: {}", report.verdict)));
        }
        let code = row.finding.as_deref().unwrap_or_default();
        self.anchored(&target, &head, expected, &[code])
    }

    fn state(&self) -> PathBuf {
        self.folder.join("attacked/state")
    }

    /// Verifies before the attack, so that the head is trusted.
    fn remembered(&self, target: &Target) -> Result<String> {
        let state = self.state();
        if state.exists() {
            fs::remove_dir_all(&state)?;
        }
        let before = verify(&target.root, &[], Some(&state))?;
        Ok(before.head.ok_or("a vault without a head")?)
    }

    /// Judges with the head from before the attack: once as the expected head, once as the
    /// trusted head.
    fn anchored(
        &self,
        target: &Target,
        head: &str,
        expected: Expected,
        codes: &[&str],
    ) -> Result<Outcome> {
        let expecting = verify(&target.root, &["--expect-head", head], None)?;
        let remembering = verify(&target.root, &[], Some(&self.state()))?;
        let has = |report: &Report, codes: &[&str]| {
            report.exit == 1
                && report.findings.iter().any(|f| codes.iter().any(|code| f["code"] == *code))
        };
        if expected == Expected::No {
            let is_quiet = !has(&expecting, &HEADS) && !has(&remembering, &HEADS);
            let said = format!("expecting: {expecting}; remembering: {remembering}");
            return Ok(if is_quiet { Outcome::Quiet } else { Outcome::Otherwise(said) });
        }
        if !has(&expecting, &HEADS) {
            return Ok(Outcome::Otherwise(format!("with `--expect-head`: {expecting}")));
        }
        if !has(&remembering, codes) {
            return Ok(Outcome::Otherwise(format!("with the trusted head: {remembering}")));
        }
        Ok(Outcome::Quiet)
    }
}

/// Returns a document that readers return although the served version was not approved (RES-31).
fn handed_out(target: &Target, report: &Report) -> Option<String> {
    let unapproved = report.findings.iter().filter(|finding| {
        let code = finding["code"].as_str().unwrap_or_default();
        // Readers do not judge whether the parts of a set were published together (RES-30).
        let is_split =
            finding["message"].as_str().is_some_and(|words| words.contains("the same change"));
        code.starts_with("approval-") && !is_split
    });
    let mut named = unapproved.filter_map(|f| Some((f["id"].as_str()?, f["version"].as_u64()?)));
    let is_served = |&(id, version): &(&str, u64)| {
        let read = ctx(&target.root, &["read", id, "--json", "--as", "x", "--now", NOW], None);
        let Ok(json) = serde_json::from_str::<Value>(&read.stdout) else { return false };
        let Some(served) = json["version"].as_u64().filter(|_| read.exit == 0) else {
            return false;
        };
        let published = |n: u64| {
            let history = History::read(target, id);
            history.entries.iter().any(|entry| entry.version == n && entry.published.is_some())
        };
        // A later version has an approval of its own, unless the finding is about its submission.
        served >= version && !(version..served).any(published)
    };
    named.find(is_served).map(|(id, _)| id.to_owned())
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&shown_text(self, &self.findings.iter().collect::<Vec<_>>()))
    }
}

fn verify(root: &Path, args: &[&str], state: Option<&Path>) -> Result<Report> {
    let args = [&["verify", "--json", "--now", NOW], args].concat();
    let said = ctx(root, &args, state);
    let Ok(json) = serde_json::from_str::<Value>(&said.stdout) else {
        let why: Value = serde_json::from_str(&said.stderr).unwrap_or_default();
        let verdict = why["message"].as_str().unwrap_or("no answer").to_owned();
        return Ok(Report { exit: said.exit, head: None, verdict, findings: Vec::new() });
    };
    Ok(Report {
        exit: said.exit,
        head: json["checkpoint_hash"].as_str().map(str::to_owned),
        verdict: json["verdict"].as_str().unwrap_or_default().to_owned(),
        findings: json["findings"].as_array().cloned().unwrap_or_default(),
    })
}

/// Returns all fields of a finding that identify it, without its text.
fn key(finding: &Value) -> String {
    let fields = ["code", "path", "id", "version", "checkpoint", "expected", "found"];
    fields.map(|field| finding[field].to_string()).join(" ")
}

/// Returns exit code, verdict, and the codes of findings.
fn shown_text(report: &Report, findings: &[&Value]) -> String {
    let codes: BTreeSet<String> = findings
        .iter()
        .map(|f| {
            let number = |key: &str, mark: &str| {
                f[key].as_u64().map_or(String::new(), |n| format!(" {mark}{n}"))
            };
            let id = f["id"].as_str().or(f["path"].as_str()).unwrap_or_default();
            let code = f["code"].as_str().unwrap_or_default();
            format!("{code} {id}{}{}", number("version", "v"), number("checkpoint", "#"))
        })
        .collect();
    let more = codes.len().saturating_sub(4);
    let mut codes: Vec<String> = codes.into_iter().take(4).collect();
    if more > 0 {
        codes.push(format!("{more} more"));
    }
    format!("exit {}, {}: {}", report.exit, report.verdict, codes.join("; "))
}
