//! Random governed vaults in which people work as reviews allow: every step of a review, moves,
//! emergency retirements, and results of a source that are staged and promoted.

use std::fs;
use std::path::Path;

use super::draw::Draw;
use crate::inside::{Person, Said, write};
use crate::process::Result;

const ANA: &str = "ana@example.com";
const REVIEWERS: [&str; 2] = ["bo@example.com", "kim@example.com"];
/// Time of the first event: 2026-11-22T08:00:00Z.
const BEGIN: i64 = 1_795_334_400_000;
const SOURCE: &str = "---\ntitle: Source\ntype: source\nsource: {transport: cli, server: shop, tools: [list]}\n---\nCall it.\n";

/// Makes such a vault in a folder that does not exist yet.
pub(super) fn make(root: &Path, seed: u64) -> Result<()> {
    fs::create_dir_all(root)?;
    let home = root.with_extension("home");
    fs::create_dir_all(&home)?;
    let person = Person { home: Some(home.clone()), principal: ANA.to_owned(), now: BEGIN };
    let mut vault = Reviewed { root, person, draw: Draw::new(seed, "reviewed"), steps: 0 };
    vault.begin()?;
    for _ in 0..10 + vault.draw.below(40) {
        vault.steps += 1;
        let said = vault.step()?;
        if said.exit > 4 {
            return Err(said.complaint().into());
        }
    }
    Ok(fs::remove_dir_all(home)?)
}

struct Reviewed<'r> {
    root: &'r Path,
    person: Person,
    draw: Draw,
    steps: usize,
}

impl Reviewed<'_> {
    fn begin(&mut self) -> Result<()> {
        self.done(&["init", ".", "--name", "Reviewed"])?;
        let config = "servers: {shop: {transport: cli}}\nstaging: {enabled: true, bind: true}\n";
        self.append(".context/config.yaml", config)?;
        for n in 0..5 {
            let text = format!("---\ntitle: D{n}\ntags: ['#t{}']\n---\n\n# D{n}\n\ntext\n", n % 2);
            write(self.root, &format!("nodes/d{n}.md"), text)?;
        }
        write(self.root, "nodes/source.md", SOURCE)?;
        self.done(&["publish", "--all"])?;
        let [bo, kim] = REVIEWERS;
        let required = 1 + self.draw.below(2);
        let stewards = format!(
            "version: 1\nvault:\n  - {{principal: {ANA}, role: editor}}\n  - {{principal: {bo}, role: reviewer}}\n  - {{principal: {kim}, role: reviewer}}\nreview:\n  vault: {{required: {required}}}\n"
        );
        write(self.root, "stewards.yaml", stewards)?;
        self.done(&["govern", "on"])
    }

    fn step(&mut self) -> Result<Said> {
        let number = self.steps;
        let ids = self.listed(&["list", "--json"], "documents", "id");
        let id = self.draw.pick(ids).unwrap_or_else(|| "nodes/d0".to_owned());
        let waiting = self.listed(&["review", "--all", "--json"], "waiting", "id");
        let pending = self.draw.pick(waiting).unwrap_or_else(|| id.clone());
        let reviewer = self.draw.of(&REVIEWERS);
        let (new, change) = (format!("nodes/new{number}"), format!("change {number}"));
        let live = format!("{id}.md");
        let (who, args): (&str, Vec<&str>) = match self.draw.below(20) {
            0 | 1 => {
                self.append(&live, &format!("more {number}\n"))?;
                (ANA, vec!["submit", &id])
            }
            2 => {
                self.append(&live, &format!("more {number}\n"))?;
                (ANA, vec!["submit", "--changed", "--change", &change])
            }
            3 => {
                let file = self.draw.of(&["CONTEXT.md", "stewards.yaml"]);
                self.append(file, &format!("# {number}\n"))?;
                (ANA, vec!["submit", file])
            }
            4..=8 => (reviewer, vec!["approve", &pending]),
            9 => (reviewer, vec!["reject", &pending, "--reason", "not yet"]),
            10 => (ANA, vec!["withdraw", &pending]),
            11 => (ANA, vec!["retire", &id]),
            12 => (reviewer, vec!["retire", &id, "--emergency", "--reason", "wrong"]),
            13 => (ANA, vec!["mv", &id, &new]),
            14 => (ANA, vec!["add", &new, "--title", "New", "--body", "new"]),
            15 => (ANA, vec!["submit", &new]),
            16 | 17 => return Ok(self.recorded()),
            _ => {
                let entries = self.listed(&["stage", "list", "--json"], "staged", "uri");
                let Some(entry) = self.draw.pick(entries) else { return Ok(self.recorded()) };
                let act = self.draw.of(&["promote", "promote", "pin", "unpin", "discard"]);
                let mut args = vec!["stage", act, &entry];
                args.extend(["--to", &new].iter().filter(|_| act == "promote"));
                let who = if self.draw.below(2) == 0 { ANA } else { reviewer };
                return Ok(self.said(who, &args));
            }
        };
        Ok(self.said(who, &args))
    }

    fn recorded(&mut self) -> Said {
        self.pass_time();
        let args =
            ["source", "record", "nodes/source", "--session", "s", "--server", "shop", "--tools"];
        let result = format!("result {}\n", self.steps);
        self.person.given(result.as_bytes(), self.root, &[&args[..], &["list"]].concat())
    }

    fn said(&mut self, who: &str, args: &[&str]) -> Said {
        self.pass_time();
        self.person.named(who).ctx(self.root, args)
    }

    fn done(&mut self, args: &[&str]) -> Result<()> {
        self.pass_time();
        self.person.done(self.root, args).map(drop)
    }

    fn pass_time(&mut self) {
        self.person.now += 1 + i64::try_from(self.draw.below(1_000_000)).unwrap_or(0);
    }

    /// Returns one field of each row of a report; empty if the command refuses.
    fn listed(&mut self, args: &[&str], rows: &str, field: &str) -> Vec<String> {
        let report = self.said(REVIEWERS[0], args).json();
        let rows = report[rows].as_array().cloned().unwrap_or_default();
        rows.iter().filter_map(|row| row[field].as_str().map(str::to_owned)).collect()
    }

    /// Appends to a live file, if it exists.
    fn append(&self, path: &str, text: &str) -> Result<()> {
        match fs::read_to_string(self.root.join(path)) {
            Ok(before) => write(self.root, path, before + text),
            Err(_) => Ok(()),
        }
    }
}
