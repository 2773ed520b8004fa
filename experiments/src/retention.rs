//! A year of an agent that consults sources of four volatilities, in vaults that keep results for
//! 1, 7, 30 and 365 days: the size of the staged results, and the share of the consumed results
//! that an auditor can still see (paper, "Staged source-node lifecycle" in section 12.4).
//!
//! Each day some results are recorded by `ctx source record`, then `ctx stage gc` collects. Then
//! the auditor asks for results that were consumed some days before: a content is found if the
//! file that the hash of the hydration names exists and has that hash. The claim fails if a
//! result younger than the retention is not found, or if `ctx verify` does not call a vault
//! intact at the end.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::Options;
use crate::inside::{Person, scratch};
use crate::process::{Result, head, row};

/// Name, and minutes between changes of a source.
const SOURCES: [(&str, i64); 4] =
    [("minutes", 15), ("hours", 6 * 60), ("weeks", 7 * 24 * 60), ("years", 365 * 24 * 60)];
const RETENTIONS: [i64; 4] = [1, 7, 30, 365];
/// Days between consumption and question.
const ASKED: [i64; 3] = [3, 20, 180];
/// Length of a result in bytes.
const RESULT: usize = 4096;
const DAY: i64 = 24 * 60;
/// 2026-01-01T00:00:00Z, in minutes.
const BEGIN: i64 = 29_453_760;
/// The time before midnight, when the day's results are collected and asked for.
const CLOSE: i64 = DAY - 1;

/// Duration and frequency.
struct Scale {
    days: i64,
    /// Consumptions of each source in a day.
    each_day: i64,
}

/// Runs the experiment, prints its table, and returns the claims that failed.
pub(crate) fn run(options: &Options) -> Result<Vec<String>> {
    let scale = match options.quick {
        true => Scale { days: 40, each_day: 2 },
        false => Scale { days: 365, each_day: 8 },
    };
    let mut table = String::new();
    head(
        &mut table,
        "retention | source changes within | results | contents kept | bytes of contents \
         | bytes of lines | shown after 3 days | after 20 | after 180",
    );
    let mut broken = Vec::new();
    for days in RETENTIONS {
        eprintln!("retention: {days} days, {} days of use", scale.days);
        let place = scratch(&options.dir)?;
        let mut vault = Vault::make(place.path(), days)?;
        for day in 0..scale.days {
            vault.pass(day, scale.each_day)?;
        }
        broken.append(&mut vault.broken);
        if vault.agent.at(scale.days * DAY).ctx(&vault.root, &["verify"]).exit != 0 {
            broken.push(format!("the vault that keeps results for {days} days is not intact"));
        }
        for (at, (name, _)) in SOURCES.iter().enumerate() {
            row(&mut table, &vault.cells(days, (at, name))?);
        }
    }
    println!("{table}");
    println!(
        "{} results of each source in a day, of {RESULT} bytes, for {} days.\n",
        scale.each_day, scale.days
    );
    Ok(broken)
}

/// A consumed result: its time, its source, and its recorded hash.
struct Consumed {
    minute: i64,
    source: usize,
    digits: String,
}

struct Vault {
    root: PathBuf,
    agent: Clocked,
    /// In days.
    retention: i64,
    consumed: Vec<Consumed>,
    /// For each source and each of `ASKED`, the number of questions, and of results that
    /// were shown.
    asked: [[(usize, usize); ASKED.len()]; SOURCES.len()],
    broken: Vec<String>,
}

/// An agent with a fixed clock.
struct Clocked(Person);

impl Clocked {
    /// Returns the agent at a minute after the beginning.
    fn at(&self, minute: i64) -> Person {
        Person { now: (BEGIN + minute) * 60_000, ..self.0.clone() }
    }
}

impl Vault {
    fn make(within: &Path, retention: i64) -> Result<Self> {
        let root = within.join("vault");
        let home = Some(within.to_owned());
        let agent = Clocked(Person { home, principal: "agent@example.com".to_owned(), now: 0 });
        let person = agent.at(0);
        fs::create_dir(&root)?;
        person.done(&root, &["init", ".", "--name", "Market"])?;
        let config = root.join(".context/config.yaml");
        let staging = format!("staging: {{enabled: true, retention: {retention}d}}\n");
        fs::write(&config, fs::read_to_string(&config)? + &staging)?;
        for (name, _) in SOURCES {
            let text = format!(
                "---\ntitle: {name}\ntype: source\nsource:\n  transport: cli\n  tools: [call]\n---\n\n\
                 Call it.\n"
            );
            let path = root.join(format!("sources/{name}.md"));
            fs::create_dir_all(path.parent().unwrap_or(&root))?;
            fs::write(path, text)?;
        }
        person.done(&root, &["publish", "--all", "--no-sync"])?;
        let (consumed, asked, broken) = Default::default();
        Ok(Self { root, agent, retention, consumed, asked, broken })
    }

    /// Passes a day of the agent, the collection, and the questions of the auditor.
    fn pass(&mut self, day: i64, each_day: i64) -> Result<()> {
        for n in 0..each_day {
            let minute = day * DAY + n * (CLOSE / each_day) + 1;
            for source in 0..SOURCES.len() {
                self.consume(source, minute)?;
            }
        }
        let now = day * DAY + CLOSE;
        self.agent.at(now).done(&self.root, &["stage", "gc"])?;
        for (at, days) in ASKED.iter().enumerate() {
            let of_day = |one: &&Consumed| one.minute / DAY == day - days;
            for one in self.consumed.iter().filter(of_day) {
                let is_shown = self.is_shown(one);
                let (asked, shown) = &mut self.asked[one.source][at];
                *asked += 1;
                *shown += usize::from(is_shown);
                if !is_shown && now - one.minute <= self.retention * DAY {
                    let name = SOURCES[one.source].0;
                    self.broken.push(format!("a result of `{name}` was gone after {days} days"));
                }
            }
        }
        Ok(())
    }

    fn consume(&mut self, source: usize, minute: i64) -> Result<()> {
        let (name, changes) = SOURCES[source];
        let content = content(name, minute / changes);
        let id = format!("sources/{name}");
        let args = ["source", "record", &id, "--tools", "call", "--session", "year"];
        let said = self.agent.at(minute).given(&content, &self.root, &args);
        if said.exit != 0 {
            return Err(said.complaint().into());
        }
        let digits = hex(&content);
        self.consumed.push(Consumed { minute, source, digits });
        Ok(())
    }

    fn path(&self, digits: &str) -> PathBuf {
        self.root.join(".context/staging/objects").join(&digits[..2]).join(&digits[2..])
    }

    /// Returns true if the consumed content exists and matches its record.
    fn is_shown(&self, one: &Consumed) -> bool {
        fs::read(self.path(&one.digits)).is_ok_and(|bytes| hex(&bytes) == one.digits)
    }

    fn cells(&self, retention: i64, (source, name): (usize, &str)) -> Result<Vec<String>> {
        let of = self.consumed.iter().filter(|one| one.source == source);
        let results = of.clone().count();
        let mut kept: Vec<PathBuf> = of.map(|one| self.path(&one.digits)).collect();
        kept.sort();
        kept.dedup();
        kept.retain(|path| path.exists());
        let chains = self.root.join(format!(".context/staging/chains/sources/{name}"));
        let mut lines = 0;
        for file in fs::read_dir(chains)? {
            lines += file?.metadata()?.len();
        }
        let shown = self.asked[source].iter().map(|(asked, shown)| match asked {
            0 => "–".to_owned(),
            _ => format!("{:.1} %", 100.0 * *shown as f64 / *asked as f64),
        });
        let (files, bytes) = (kept.len(), kept.len() * RESULT);
        let numbers = [results.to_string(), files.to_string(), mb(bytes as u64), mb(lines)];
        let first = [format!("{retention} days"), name.to_owned()];
        Ok(first.into_iter().chain(numbers).chain(shown).collect())
    }
}

/// Returns the answer of a source in one of its periods.
fn content(name: &str, period: i64) -> Vec<u8> {
    let line = format!("{name}, period {period}: the value is {}.\n", period * 7919 % 1000);
    line.bytes().cycle().take(RESULT).collect()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn mb(bytes: u64) -> String {
    format!("{:.2} MB", bytes as f64 / 1e6)
}
