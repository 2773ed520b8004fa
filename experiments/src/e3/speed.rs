//! The time until an attack is reported, in vaults of the paper's corpus.
//!
//! `ctx verify` reads everything before its verdict, so an attack is reported when it ends,
//! wherever it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use super::forge::history::History;
use super::forge::{Target, history_dir, live_path};
use crate::corpus;
use crate::process::{Result, command, ctx, head, ms, row};

const SEED: u64 = 42;

/// The attacked document, which every corpus has.
const DOCUMENT: &str = "nodes/deploy/payments-service";

/// Name, finding, and the change.
type Attack = (&'static str, &'static str, fn(&Target));

/// Documents of the vaults.
const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

/// Prints the table, and returns the attacks that were not found.
pub(super) fn run(folder: &Path) -> Result<Vec<String>> {
    let (mut table, mut broken) = (String::new(), Vec::new());
    head(&mut table, "documents | attack | finding | time until the verdict");
    for documents in SIZES {
        eprintln!("e3: {documents} documents");
        let root = folder.join(format!("corpus-{documents}"));
        let outcome = measured(&root, documents, &mut table)?;
        broken.extend(outcome);
        fs::remove_dir_all(&root)?;
    }
    println!("{table}");
    Ok(broken)
}

fn measured(root: &Path, documents: usize, table: &mut String) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    corpus::write(root, documents / corpus::TEMPLATES, SEED)?;
    ctx(root, &["init", ".", "--name", "Corpus"])?;
    ctx(root, &["publish", "--all", "--no-sync"])?;
    let target = Target::at(root);
    target.edit(&live_path(DOCUMENT), |text| format!("{text}\nOne more line.\n"));
    ctx(root, &["publish", DOCUMENT, "--no-sync"])?;
    let mut told = |attack: &str, code: &str, args: &[&str]| -> Result<String> {
        let began = Instant::now();
        let output = command(root, &[&["verify", "--json"], args].concat()).output()?;
        let time = ms(began.elapsed());
        let json: Value = serde_json::from_slice(&output.stdout)?;
        let mut findings = json["findings"].as_array().into_iter().flatten();
        let is_told = findings.any(|finding| finding["code"] == code);
        let found = if is_told { code } else { "–" };
        row(table, &[documents.to_string(), attack.to_owned(), found.to_owned(), time]);
        if is_told == code.is_empty() || output.status.success() != code.is_empty() {
            broken.push(format!("`{attack}` in {documents} documents"));
        }
        Ok(json["checkpoint_hash"].as_str().unwrap_or_default().to_owned())
    };
    let head = told("none", "", &[])?;
    let keyframe = format!("{}/v1.md", history_dir(DOCUMENT));
    let history = format!("{}/history.yaml", history_dir(DOCUMENT));
    let log = target.log_path();
    let attacks: [Attack; 4] = [
        ("keyframe-edited", "content-hash-mismatch", |t| {
            t.edit(&format!("{}/v1.md", history_dir(DOCUMENT)), |text| text.to_owned() + "more\n");
        }),
        ("author-rewritten", "chain-hash-mismatch", |t| {
            let mut history = History::read(t, DOCUMENT);
            history.entries[0].set("edited_by", "eve@example.com");
            history.write(t);
        }),
        ("checkpoint-redated", "checkpoint-hash-mismatch", |t| {
            let mut log = t.log();
            log.checkpoints[0].at = "2020-01-01T00:00:00.000Z".to_owned();
            log.respell(0);
            log.write(t);
        }),
        ("map-loses-document", "unrecorded-removal", |t| {
            let mut log = t.log();
            log.checkpoints[1].drop("nodes/migration/payments-service");
            log.renew();
            log.write(t);
        }),
    ];
    for (name, code, attack) in attacks {
        let saved = saved(&target, &[&keyframe, &history, log]);
        attack(&target);
        told(name, code, &[])?;
        restore(&target, saved);
    }
    // The last event is removed from log, history and live file.
    let mut rolled = History::read(&target, DOCUMENT);
    let text = rolled.texts(&target).swap_remove(0);
    rolled.entries.truncate(1);
    rolled.write(&target);
    target.write(&live_path(DOCUMENT), text);
    let mut short = target.log();
    short.checkpoints.truncate(1);
    short.write(&target);
    told("rollback-last-event", "head-rollback", &["--expect-head", &head])?;
    Ok(broken)
}

fn saved(target: &Target, paths: &[&str]) -> BTreeMap<String, Vec<u8>> {
    paths.iter().map(|path| ((*path).to_owned(), target.bytes(path))).collect()
}

fn restore(target: &Target, saved: BTreeMap<String, Vec<u8>>) {
    for (path, bytes) in saved {
        target.write(&path, bytes);
    }
}
