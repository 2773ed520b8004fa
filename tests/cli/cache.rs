//! The index in the user's caches: it changes what an answer costs, never the answer.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::harness::{Output, Place};
use crate::mcp::{STATELESS, answers_of, opener, request};
use crate::resolve::vault;

/// Returns the folders of vaults in the caches of the place.
fn folders(place: &Place) -> Vec<PathBuf> {
    let caches = place.home().join(".cache/contextnest");
    let Ok(found) = fs::read_dir(caches) else { return Vec::new() };
    found.map(|entry| entry.unwrap().path()).collect()
}

fn manifest(place: &Place) -> PathBuf {
    let folders = folders(place);
    assert_eq!(folders.len(), 1);
    folders[0].join("index")
}

const QUESTIONS: [&str; 6] = [
    "resolve '#a - #b' --json --bodies",
    "resolve 'type:source' --json --bodies",
    "resolve contextnest://nodes/ --at 1 --json",
    "read nodes/ab --json",
    "list --json",
    "context --json",
];

fn answers(place: &Place) -> Vec<String> {
    QUESTIONS.map(|line| place.ctx(line).stdout).to_vec()
}

#[test]
fn answers_are_the_same_with_a_cache_and_without_one() {
    let place = vault();
    place.ctx("resolve '#a'").ok();
    let with = answers(&place);
    assert!(manifest(&place).exists());
    let nowhere = |line: &str| place.typed(line).without("HOME").run();
    assert_eq!(with, QUESTIONS.map(|line| nowhere(line).stdout).to_vec());
    // The cache cannot be written, because a file has its path.
    fs::write(place.home().join("file"), "").unwrap();
    let blocked = place.home().join("file/caches");
    let blocked =
        |line: &str| place.typed(line).var("XDG_CACHE_HOME", blocked.to_str().unwrap()).run();
    assert_eq!(with, QUESTIONS.map(|line| blocked(line).stdout).to_vec());
}

#[test]
fn nothing_is_written_into_the_vault_and_only_the_user_may_look() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = vault();
    let before = place.tree();
    place.ctx("resolve '#a'").ok();
    assert_eq!(place.tree(), before);
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = &folders(&place)[0];
    assert_eq!(mode(folder), 0o700);
    for file in fs::read_dir(folder).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[test]
fn a_publication_updates_the_index() {
    let place = vault();
    place.ctx("resolve '#a'").ok();
    let before = fs::read(manifest(&place)).unwrap();
    place.write("nodes/new.md", "---\ntitle: New\ntags: [a]\n---\n");
    place.ctx("publish nodes/new").ok();
    let after = fs::read(manifest(&place)).unwrap();
    assert_ne!(before, after);
    assert!(place.ctx("resolve '#a' --ids").stdout.contains("nodes/new"));
    assert_eq!(fs::read(manifest(&place)).unwrap(), after, "nothing was left for the reader");
    place.ctx("retire nodes/new").ok();
    assert!(!place.ctx("resolve '#a' --ids").stdout.contains("nodes/new"));
    assert!(place.ctx("resolve '#a' --ids --at 2").stdout.contains("nodes/new"));
}

#[test]
fn a_damaged_index_is_built_again() {
    let place = vault();
    place.ctx("resolve '#a'").ok();
    let expected = answers(&place);
    let folder = folders(&place).remove(0);
    let segment = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|e| e == "segment"))
        .unwrap();
    let whole = fs::read(&segment).unwrap();
    for altered in [vec![], whole[..whole.len() / 2].to_vec(), vec![0xff; whole.len()], {
        let mut flipped = whole.clone();
        flipped[20] ^= 1;
        flipped
    }] {
        fs::write(&segment, &altered).unwrap();
        assert_eq!(answers(&place), expected);
        assert_eq!(fs::read(&segment).unwrap(), whole, "it was made again");
    }
}

#[test]
fn a_log_that_was_altered_is_not_answered_from_the_index_of_the_whole_one() {
    let place = vault();
    place.ctx("resolve '#a'").ok();
    let log = place.read(".versions/checkpoints.jsonl");
    let broken = |output: Output| output.exits(1).stderr.contains("log-broken");
    // The log has the same length, but another last hash.
    let at = log.rfind("sha256:").unwrap() + 10;
    let digit = if log.as_bytes()[at] == b'0' { "1" } else { "0" };
    let mut altered = log.clone();
    altered.replace_range(at..=at, digit);
    let head = log.rfind("\"checkpoint_hash\":\"sha256:").unwrap() + 30;
    let digit = if log.as_bytes()[head] == b'0' { "1" } else { "0" };
    altered.replace_range(head..=head, digit);
    place.write(".versions/checkpoints.jsonl", &altered);
    assert!(broken(place.ctx("resolve '#a'")));
    // The log is restored, but for a byte in the middle.
    let at = log.find("2026-").unwrap() + 18;
    let mut altered = log.clone();
    altered.replace_range(at..=at, if log.as_bytes()[at] == b'0' { "1" } else { "0" });
    place.write(".versions/checkpoints.jsonl", &altered);
    assert!(broken(place.ctx("resolve '#a'")));
    // The log is truncated, and then emptied.
    place.write(".versions/checkpoints.jsonl", "");
    assert!(broken(place.ctx("read nodes/ab")));
    place.write(".versions/checkpoints.jsonl", &log);
    place.ctx("read nodes/ab").ok();
    // A text that is altered after indexing is not served either.
    place.edit("nodes/.versions/ab/v1.md", "AB.", "Forged.");
    assert!(place.ctx("read nodes/ab").exits(1).stderr.contains("withheld"));
}

#[test]
fn a_damaged_document_leads_nowhere_with_an_index_and_without() {
    let place = Place::published(&[
        ("nodes/a", "---\ntitle: A\n---\n[[b]]\n"),
        ("nodes/b", "---\ntitle: B\n---\n[[c]]\n"),
        ("nodes/c", "---\ntitle: C\n---\n"),
    ]);
    place.ctx("resolve type:document").ok();
    place.edit("nodes/.versions/b/v1.md", "title: B", "title: X");
    for line in [
        "neighbors nodes/a --hops 2 --direction out",
        "neighbors nodes/a --hops 2 --direction out --json",
        "neighbors nodes/b --direction out",
        "graph --format json",
    ] {
        let with = place.ctx(line).exits(1);
        let audit = place.home().join("audit");
        let without = place.typed(line).without("HOME");
        let without = without.var("CTX_AUDIT_DIR", audit.to_str().unwrap()).run().exits(1);
        assert_eq!((&with.stdout, &with.stderr), (&without.stdout, &without.stderr), "{line}");
        assert!(!with.stdout.contains("nodes/c") || line.contains("graph"), "{}", with.stdout);
    }
}

#[test]
fn a_cache_in_the_vault_is_no_cache() {
    let place = vault();
    let before = place.tree();
    let inside = place.path("caches");
    place.typed("resolve '#a'").var("XDG_CACHE_HOME", inside.to_str().unwrap()).run().ok();
    assert_eq!(place.tree(), before);
}

#[test]
fn a_server_makes_the_index_whatever_is_asked_first() {
    let place = vault();
    let read = json!({"name": "context_read", "arguments": {"id": "nodes/ab"}});
    let mut messages = opener(STATELESS);
    messages.push(request(STATELESS, 1, "tools/call", read));
    // A clone lacks the index.
    fs::remove_file(manifest(&place)).unwrap();
    let with = &answers_of(&place, "mcp", &messages)[&1];
    assert!(manifest(&place).exists());
    let again = &answers_of(&place, "mcp", &messages)[&1];
    assert_eq!((with, &with["result"]["isError"]), (again, &json!(false)));
}
