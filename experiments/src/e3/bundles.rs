//! Attacks on bundles of evidence, judged by `ctx evidence verify --json`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use std::collections::BTreeMap;

use super::attacks::{self, BundleAttack, Exported, UNAPPROVED};
use super::draw::Draw;
use super::forge::Target;
use super::forge::bundle::Bundle;
use super::judge::Outcome;
use super::script::ctx;
use super::table::{Expected, Row};
use crate::inside::copy;
use crate::process::Result;

/// The bundles of a vault, and its head.
pub(super) struct Bundles {
    bundle: Bundle,
    other: Bundle,
    head: String,
    /// Bundles of documents that were published past the review, by the attack, each with its head.
    unapproved: BTreeMap<&'static str, (Bundle, String)>,
}

impl Bundles {
    /// Reads and exports two vaults, each a fresh copy in a folder.
    pub(super) fn make(base: &Path, other: &Path, folder: &Path) -> Result<Self> {
        let (bundle, head) = exported(base, &folder.join("own"))?;
        let (other, _) = exported(other, &folder.join("other"))?;
        let mut unapproved = BTreeMap::new();
        for name in UNAPPROVED {
            let made = unreviewed(base, &folder.join(name), name)?;
            unapproved.extend(made.map(|made| (name, made)));
        }
        let bundles = Self { bundle, other, head, unapproved };
        let honest = bundles.verify(&bundles.bundle.packed(), Some(&bundles.head))?;
        match honest.exit {
            0 => Ok(bundles),
            _ => Err(format!("an honest bundle is not proved: {honest:?}").into()),
        }
    }

    /// Makes an attack and judges it.
    pub(super) fn judge(
        &self,
        row: &Row,
        expected: Expected,
        attack: BundleAttack,
        draw: Draw,
    ) -> Result<Outcome> {
        let (bundle, other, head) = (self.bundle.clone(), self.other.clone(), self.head.clone());
        let mut exported =
            Exported { bundle, other, head, unapproved: self.unapproved.clone(), draw };
        let Some(bytes) = attack(&mut exported) else {
            return Ok(Outcome::NoPlace);
        };
        let alone = self.verify(&bytes, None)?;
        let anchored = self.verify(&bytes, Some(&exported.head))?;
        let code = row.finding.as_deref().unwrap_or_default();
        let found = |said: &Said| said.exit == 1 && said.found.iter().any(|found| found == code);
        Ok(match expected {
            Expected::Files if found(&alone) && found(&anchored) => Outcome::Pointed,
            Expected::Anchor if alone.exit == 0 && found(&anchored) => Outcome::Pointed,
            Expected::No if alone.exit == 0 && anchored.exit == 0 => Outcome::Quiet,
            _ => Outcome::Otherwise(format!("{alone:?}; with a head: {anchored:?}")),
        })
    }

    fn verify(&self, bytes: &[u8], head: Option<&str>) -> Result<Said> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("bundle.tar");
        fs::write(&path, bytes)?;
        let path = path.display().to_string();
        let mut args = vec!["evidence", "verify", &path, "--json"];
        if let Some(head) = head {
            args.extend(["--expect-head", head]);
        }
        let said = ctx(folder.path(), &args, None);
        let answer: Value =
            serde_json::from_str(if said.stdout.is_empty() { &said.stderr } else { &said.stdout })?;
        let code = answer["code"].as_str().map(str::to_owned);
        let items = answer["items"].as_array().into_iter().flatten();
        let wrong =
            items.filter(|item| item["verdict"] == "contradicted" || item["missing"] == true);
        let word = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
        let wrong = wrong.map(|item| format!("{} {}", word(item, "kind"), word(item, "verdict")));
        let mut found: Vec<String> = wrong.chain(code).collect();
        found.sort();
        found.dedup();
        Ok(Said { exit: said.exit, found })
    }
}

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: ana@example.com, role: reviewer}\n  \
    - {principal: kim@example.com, role: reviewer}\n  - {principal: bo@example.com, role: reviewer}\n\
    review: {vault: {required: 2}}\n";

/// The report of `ctx evidence verify`.
#[derive(Debug)]
struct Said {
    exit: u8,
    /// The kinds and verdicts of the items that failed, or the code of the error.
    found: Vec<String>,
}

/// Returns the bundle of a document that an attack published past the review, in a copy of a vault,
/// and the last head; `None` if the attack does not apply to the vault.
fn unreviewed(vault: &Path, folder: &Path, name: &str) -> Result<Option<(Bundle, String)>> {
    let (root, state) = (folder.join("vault"), folder.join("state"));
    fs::create_dir_all(&root)?;
    fs::create_dir_all(&state)?;
    copy(vault, &root)?;
    let attack = attacks::all().into_iter().find(|(of, _)| *of == name);
    let (_, attack) = attack.ok_or("there is no such attack")?;
    if attack(&mut Target::at(&root)).is_none() {
        return Ok(None);
    }
    let file = folder.join("bundle.tar").display().to_string();
    let now = "2026-12-31T20:00:00.000Z";
    let run = |args: &[&str]| ctx(&root, &[args, &["--now", now]].concat(), Some(&state));
    let said = run(&["evidence", "export", "--document", attacks::PLAIN, "-o", &file]);
    if said.exit > 1 {
        return Err(said.complaint().into());
    }
    let bundle = Bundle::read(&fs::read(&file)?).ok_or("the bundle is none")?;
    Ok(Some((bundle, run(&["head"]).stdout.trim().to_owned())))
}

/// Returns a bundle of the accesses of one session in a copy of a vault, at two checkpoints and
/// after reviews, before one more event; and the last head.
fn exported(vault: &Path, folder: &Path) -> Result<(Bundle, String)> {
    let (root, state) = (folder.join("vault"), folder.join("state"));
    fs::create_dir_all(&root)?;
    fs::create_dir_all(&state)?;
    copy(vault, &root)?;
    let run = |minute: usize, args: &[&str]| {
        let now = format!("2026-12-31T12:{minute:02}:00.000Z");
        let said = ctx(&root, &[args, &["--now", &now]].concat(), Some(&state));
        if said.exit == 0 { Ok(said.stdout) } else { Err(said.complaint()) }
    };
    let log: Value = serde_json::from_str(&run(0, &["checkpoint", "list", "--json"])?)?;
    let count = log["checkpoints"].as_array().map_or(0, Vec::len);
    let middle = count.div_ceil(2).to_string();
    run(1, &["resolve", "type:document", "--bodies", "--at", &middle, "--session", "s"])?;
    run(2, &["resolve", "type:document", "--bodies", "--session", "s"])?;
    run(3, &["list", "--session", "s"])?;
    fs::write(root.join("nodes/after.md"), "---\ntitle: After\n---\n\nLater.\n")?;
    run(4, &["publish", "nodes/after", "--no-sync", "--as", "ana@example.com"])?;
    // From here on reviewers publish.
    fs::write(root.join("stewards.yaml"), STEWARDS)?;
    run(5, &["govern", "on", "--as", "ana@example.com"])?;
    for (minute, days) in [(10, "14 days."), (20, "30 days."), (30, "60 days.")] {
        let text = fs::read_to_string(root.join("nodes/after.md"))?;
        let kept = text.rsplit_once("\n\n").map_or(text.as_str(), |(kept, _)| kept);
        fs::write(root.join("nodes/after.md"), format!("{kept}\n\n{days}\n"))?;
        run(minute, &["submit", "nodes/after", "--as", "ana@example.com"])?;
        run(minute + 1, &["approve", "nodes/after", "--as", "kim@example.com"])?;
        run(minute + 2, &["approve", "nodes/after", "--as", "bo@example.com"])?;
        if minute < 30 {
            run(minute + 3, &["read", "nodes/after", "--session", "s"])?;
        }
    }
    let file = folder.join("bundle.tar").display().to_string();
    run(40, &["evidence", "export", "--session", "s", "-o", &file])?;
    let bundle = Bundle::read(&fs::read(&file)?).ok_or("the bundle is none")?;
    Ok((bundle, run(41, &["head"])?.trim().to_owned()))
}
