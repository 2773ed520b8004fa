//! E3 of the paper (section 12.3): every attack of the threat model, on random vaults of
//! every kind.
//!
//! The table of `spec/threat-model.md` says what must be found; each row has a generator here, and
//! each generator a row. The run fails if an attack is not found as its row says.

mod attacks;
mod bundles;
mod draw;
mod forge;
mod judge;
mod place;
mod reviewed;
mod script;
mod speed;
mod table;
mod vaults;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::Options;
use crate::process::{Result, head, row};
use judge::{Maker, Outcome, Vault};
use table::{Expected, Row};
use vaults::Kind;
pub(crate) use written::write_vaults;

/// Runs the experiment, prints its tables, and returns the claims that failed.
pub(crate) fn run(options: &Options) -> Result<Vec<String>> {
    let mut rows = table::rows()?;
    let makers = makers()?;
    let mut broken: Vec<String> = Vec::new();
    let names: BTreeSet<String> = rows.iter().map(|row| row.name.clone()).collect();
    let without = names.iter().filter(|name| !makers.contains_key(name.as_str()));
    broken.extend(without.map(|name| format!("no generator for the row `{name}`")));
    let unlisted = makers.keys().filter(|name| !names.contains(**name));
    broken.extend(unlisted.map(|name| format!("no row for the generator `{name}`")));
    if let Some(word) = &options.only {
        rows.retain(|row| row.name.contains(word.as_str()));
    }
    let folder = Folder::make(options)?;
    let groups = groups(options);
    let vaults: usize = groups.iter().map(Vec::len).sum();
    eprintln!("e3: {} rows, {vaults} vaults, in {}", rows.len(), folder.0.display());
    let runs: std::result::Result<Vec<Vec<Run<'_>>>, String> = groups
        .par_iter()
        .map(|group| {
            let vaults = group.iter().map(|(kind, seed)| Vault::make(*kind, *seed, &folder.0));
            let vaults: Vec<Vault> =
                vaults.collect::<Result<_>>().map_err(|why| why.to_string())?;
            attacked(&vaults, &rows, &makers)
        })
        .collect();
    let runs: Vec<Run<'_>> = runs?.into_iter().flatten().collect();
    println!("{}", summary(&rows, &runs));
    let astray = runs.iter().filter_map(|run| match &run.outcome {
        Outcome::Astray(where_to) => {
            Some(format!("- `{}` in {}: {where_to}", run.row.name, run.vault))
        }
        _ => None,
    });
    let astray: Vec<String> = astray.collect();
    if !astray.is_empty() {
        println!("Findings that point elsewhere:\n\n{}\n", astray.join("\n"));
    }
    let (table, otherwise) = otherwise(&rows, &runs);
    if !otherwise.is_empty() {
        println!("{table}");
    }
    broken.extend(otherwise);
    if !options.quick {
        broken.extend(speed::run(&folder.0)?);
    }
    Ok(broken)
}

/// One attack on one vault.
struct Run<'r> {
    row: &'r Row,
    kind: Kind,
    vault: String,
    expected: Expected,
    outcome: Outcome,
}

impl Run<'_> {
    fn is_as_listed(&self) -> bool {
        matches!(self.outcome, Outcome::Quiet | Outcome::Pointed | Outcome::Astray(_))
    }
}

/// A folder in memory, if there is one, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn make(options: &Options) -> Result<Self> {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() && !options.dir_named {
            memory.join(format!("ctx-e3-{}", std::process::id()))
        } else {
            options.dir.join("e3")
        };
        fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn makers() -> Result<BTreeMap<&'static str, Maker>> {
    let forged = attacks::all().into_iter().map(|(name, attack)| (name, Maker::Forged(attack)));
    let rewritten = attacks::REWRITTEN.iter();
    let rewritten = rewritten.map(|(name, attack)| (*name, Maker::Rewritten(*attack)));
    let mut makers = BTreeMap::new();
    let bundles = attacks::BUNDLES.iter();
    let bundles = bundles.map(|(name, attack)| (*name, Maker::Bundle(*attack)));
    for (name, maker) in forged.chain(rewritten).chain(bundles) {
        if makers.insert(name, maker).is_some() {
            return Err(format!("two generators have the name `{name}`").into());
        }
    }
    Ok(makers)
}

/// Makes every attack that exists for the kinds of some vaults, each on one of them.
fn attacked<'r>(
    vaults: &[Vault],
    rows: &'r [Row],
    makers: &BTreeMap<&str, Maker>,
) -> std::result::Result<Vec<Run<'r>>, String> {
    let mut runs = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        // Each row begins with another vault of the group.
        for vault in vaults.iter().cycle().skip(n % vaults.len()).take(vaults.len()) {
            let column = if vault.kind == Kind::Delta { row.delta } else { row.full };
            let (Some(expected), Some(maker)) = (column, makers.get(row.name.as_str())) else {
                break;
            };
            let judged = vault.judge(row, expected, *maker);
            let outcome = judged.map_err(|why| format!("{}: {why}", vault.name()))?;
            let had_place = !matches!(outcome, Outcome::NoPlace);
            runs.push(Run { row, kind: vault.kind, vault: vault.name(), expected, outcome });
            if had_place {
                break;
            }
        }
    }
    Ok(runs)
}

/// Vaults by their kinds and seeds.
type Group = Vec<(Kind, u64)>;

/// Returns the groups of vaults; each attack is made on one vault of each group that it applies to.
/// A full run has all vaults, a quick one has one group for each kind, and a brief one for each
/// column of the table.
fn groups(options: &Options) -> Vec<Group> {
    let of = |kinds: &[Kind], seeds: u64| -> Group {
        (0..seeds).flat_map(|seed| kinds.iter().map(move |kind| (*kind, seed))).collect()
    };
    let kinds = Kind::ALL.map(|kind| [kind]);
    let each = || of(&Kind::ALL, 20).into_iter().map(|vault| vec![vault]).collect();
    let quick = || kinds.iter().map(|kind| of(kind, 3)).collect();
    let brief = || vec![of(&Kind::ALL[..1], 3), of(&Kind::ALL[1..], 2)];
    options.size::<&dyn Fn() -> Vec<Group>>((&each, &quick, &brief))()
}

/// Returns the counts by section.
fn summary(rows: &[Row], runs: &[Run<'_>]) -> String {
    let mut table = String::new();
    head(&mut table, "section | attacks | runs | found as the table says | points at the place");
    let sections: BTreeSet<(usize, &str)> = rows.iter().map(|row| order(&row.section)).collect();
    let all = sections.iter().map(|(_, section)| (*section, *section));
    for (title, section) in all.chain([("**all**", "")]) {
        let of = |row: &Row| section.is_empty() || row.section == section;
        let attacks = rows.iter().filter(|row| of(row)).count();
        let runs = runs.iter().filter(|run| of(run.row));
        let (mut made, mut as_told, mut pointing, mut placed) = (0, 0, 0, 0);
        for run in runs {
            made += usize::from(!matches!(run.outcome, Outcome::NoPlace));
            as_told += usize::from(run.is_as_listed());
            placed += usize::from(matches!(run.outcome, Outcome::Pointed));
            pointing += usize::from(matches!(run.outcome, Outcome::Pointed | Outcome::Astray(_)));
        }
        let cells = [attacks, made].map(|n| n.to_string());
        let shares = [share(as_told, made), share(placed, pointing)];
        row(&mut table, &[&[title.to_owned()][..], &cells, &shares].concat());
    }
    table
}

/// Returns a sort key: `5.10` comes after `5.9`.
fn order(section: &str) -> (usize, &str) {
    let number = section.trim_start_matches("5.").split(' ').next().unwrap_or_default();
    (number.parse().unwrap_or(0), section)
}

fn share(part: usize, of: usize) -> String {
    if of == 0 {
        return "–".to_owned();
    }
    // Only a complete count is shown as 100 %.
    let percent = part as f64 / of as f64 * 100.0;
    if part == of {
        format!("{part} (100 %)")
    } else {
        format!("{part} ({:.1} %)", percent.min(99.9))
    }
}

/// Returns the rows that differ from the table, and a failed claim for each.
fn otherwise(rows: &[Row], runs: &[Run<'_>]) -> (String, Vec<String>) {
    let (mut table, mut broken) = (String::new(), Vec::new());
    head(&mut table, "attack | vaults | expected | runs | otherwise | such as");
    for this in rows {
        for kind in Kind::ALL {
            let of: Vec<&Run<'_>> = runs
                .iter()
                .filter(|run| run.row.name == this.name && run.kind == kind)
                .filter(|run| !matches!(run.outcome, Outcome::NoPlace))
                .collect();
            let wrong = of.iter().filter_map(|run| match &run.outcome {
                Outcome::Otherwise(found) => Some(format!("{}: {found}", run.vault)),
                _ => None,
            });
            let wrong: Vec<String> = wrong.collect();
            let Some(example) = wrong.first() else { continue };
            let code = this.finding.as_deref().unwrap_or("nothing");
            let expected = format!("{:?} {code}", of[0].expected).to_lowercase();
            let counts = [of.len(), wrong.len()].map(|n| n.to_string());
            let cells = [this.name.clone(), kind.name().to_owned(), expected];
            row(&mut table, &[&cells[..], &counts, std::slice::from_ref(example)].concat());
            broken.push(format!("`{}` in vaults of the kind {}", this.name, kind.name()));
        }
        let made = |kinds: &[Kind]| {
            let of = |run: &&Run<'_>| run.row.name == this.name && kinds.contains(&run.kind);
            runs.iter().filter(of).any(|run| !matches!(run.outcome, Outcome::NoPlace))
        };
        let columns =
            [(this.delta, "delta", &[Kind::Delta][..]), (this.full, "full", &Kind::ALL[1..])];
        for (column, name, kinds) in columns {
            if column.is_some() && !made(kinds) {
                broken
                    .push(format!("`{}` found no place in any vault of column {name}", this.name));
            }
        }
    }
    (table, broken)
}
