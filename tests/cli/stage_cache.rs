//! The index of staged results in the user's caches changes the cost of an answer, never the
//! answer. Collections search for unclaimed contents only after an interrupted command. Erased
//! content is in no file, apart from git's own.

use std::fs;
use std::path::PathBuf;

use contextnest::files::vault::disk::Disk;
use serde_json::Value;

use crate::anchored::git;
use crate::harness::{Place, files_in};
use crate::stage::{ANA, BO, EVE, KIM, governed, shop, stage, staged_at};

const MARK: &str = ".context/local/staging-unfinished";

/// Returns the folders with rows in the caches of the place.
fn caches(place: &Place) -> Vec<PathBuf> {
    let found = fs::read_dir(place.home().join(".cache/contextnest")).into_iter().flatten();
    let folders = found.map(|entry| entry.unwrap().path().join("staged"));
    folders.filter(|folder| folder.join("chains").exists()).collect()
}

/// Returns a governed vault with entries of two sessions, after many acts.
fn busy() -> (Place, Vec<String>) {
    let place = governed();
    let mut uris = Vec::new();
    for (n, (who, session, word)) in [
        (EVE, "s1", "one"),
        (EVE, "s2", "two"),
        (ANA, "s1", "one"),
        (EVE, "s1", "three"),
        (EVE, "s3", "four"),
        (BO, "s3", "five"),
        (EVE, "s2", "six"),
    ]
    .into_iter()
    .enumerate()
    {
        let at = format!("2026-11-21T10:01:{n:02}.000Z");
        let staged = staged_at(&place, Disk::default(), (who, session), (word.as_bytes(), &at));
        uris.push(staged.unwrap().name.to_string());
    }
    for line in [
        format!("stage pin {}", uris[0]),
        format!("stage discard {}", uris[1]),
        format!("stage erase {} --reason x", uris[3]),
        format!("stage promote {} --to nodes/p", uris[5]),
    ] {
        place.typed(&format!("{line} --as {KIM}")).here().ok();
    }
    (place, uris)
}

#[test]
fn answers_are_the_same_with_the_index_and_without_one() {
    let (place, uris) = busy();
    let late = "2026-12-30T00:00:00.000Z";
    let mut lines = Vec::new();
    for who in [ANA, BO, EVE, KIM] {
        for more in ["", "--all", "--session s1", "--session s2 --all", "--session s9"] {
            lines.push(format!("stage list --json --as {who} {more}"));
            lines.push(format!("stage list --json --source sources/prices --as {who} {more}"));
        }
        lines.push(format!("resolve #prices --json --as {who} --session s1"));
        lines.push(format!("resolve status:staged --json --bodies --as {who} --session s2"));
        lines.push(format!("source diff sources/prices --json --as {who} --session s1"));
        lines.push(format!("source diff sources/prices --json --as {who} --every-session"));
        lines.push(format!("stage gc --dry-run --json --as {who} --now {late}"));
        lines.push(format!("stage gc --dry-run --unclaimed --json --as {who} --now {late}"));
        for uri in &uris {
            lines.push(format!("stage show {uri} --json --as {who} --session s1"));
            lines.push(format!("stage diff {uri} --json --as {who} --session s1"));
            lines.push(format!("stage diff {uri} {} --json --as {who}", uris[0]));
            lines.push(format!("stage erase {uri} --reason x --dry-run --json --as {who}"));
        }
    }
    let nowhere = place.home().join("file");
    fs::write(&nowhere, "").unwrap();
    let nowhere = nowhere.join("caches");
    let answer = |line: &str, has_cache: bool| {
        let run = place.typed(line).var("CTX_NOW", "2026-11-21T11:00:00.000Z");
        let said = match has_cache {
            true => run.here(),
            false => run.var("XDG_CACHE_HOME", nowhere.to_str().unwrap()).here(),
        };
        (said.exit, said.stdout, said.stderr)
    };
    let without: Vec<_> = lines.iter().map(|line| answer(line, false)).collect();
    for _ in 0..2 {
        for (line, expected) in lines.iter().zip(&without) {
            assert_eq!(&answer(line, true), expected, "{line}");
        }
    }
    assert_eq!(caches(&place).len(), 1);
    // A damaged index is removed, and the answer is the same.
    for folder in caches(&place) {
        for (name, bytes) in files_in(&folder) {
            let mut altered = bytes.clone();
            let middle = altered.len() / 2;
            altered.get_mut(middle).into_iter().for_each(|byte| *byte ^= 4);
            fs::write(folder.join(&name), altered).unwrap();
            for (line, expected) in lines.iter().zip(&without).step_by(5) {
                assert_eq!(&answer(line, true), expected, "{name}: {line}");
            }
        }
    }
}

#[test]
fn the_index_is_for_the_user_alone_and_not_in_the_vault() {
    use std::os::unix::fs::PermissionsExt as _;
    let (place, _) = busy();
    let before = place.tree();
    place.ctx("stage list").ok();
    assert_eq!(place.tree(), before);
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = caches(&place).remove(0);
    assert_eq!(mode(&folder), 0o700);
    for name in files_in(&folder).into_keys() {
        assert_eq!(mode(&folder.join(&name)), 0o600, "{name}");
    }
}

#[test]
fn a_collection_looks_for_unclaimed_contents_after_an_interrupted_command() {
    let place = shop(Place::vault());
    let young = stage(&place, ANA, "s1", b"young");
    let stray = format!(".context/staging/objects/{}/{}", "ab", "cd".repeat(31));
    place.write(&stray, "no entry names it");
    assert!(!place.has(MARK));
    let files =
        |line: &str| place.typed(line).here().ok().json("ctx.stage.gc")["files"].as_u64().unwrap();
    assert_eq!(files("stage gc --json"), 0);
    assert_eq!(files("stage gc --dry-run --unclaimed --json"), 1);
    place.write(MARK, "");
    assert_eq!(files("stage gc --dry-run --json"), 1);
    assert!(place.has(MARK));
    // A command that ended leaves the mark of another one.
    stage(&place, ANA, "s1", b"another");
    assert!(place.has(MARK));
    assert_eq!(files("stage gc --json"), 1);
    assert!(!place.has(MARK) && !place.has(&stray));
    place.write(&stray, "no entry names it");
    assert_eq!(files("stage gc --unclaimed --json"), 1);
    place.args(&["stage", "show", &young, "--raw"]).here().ok();
    let verified = place.ctx("verify --json").ok().stdout;
    assert!(!verified.contains("staged-"), "{verified}");
}

#[test]
fn an_erased_content_is_in_no_file_and_its_commits_are_named() {
    let place = Place::vault();
    let config = place.read(".context/config.yaml");
    place.write(".context/config.yaml", format!("{config}staging: {{enabled: true}}\n"));
    git(&place, "init -q -b main");
    let place = shop(place);
    let secret = "Mrs. Example lives in 17 Rose Lane";
    let record = |session: &str| {
        let line = format!(
            "source record sources/prices --session {session} --tools list_prices --server shop --json"
        );
        let said = place.typed(&line).stdin(secret).run().ok().json("ctx.source.record");
        said["staged"].as_str().unwrap().to_owned()
    };
    let (first, second) = (record("s1"), record("s2"));
    git(&place, "add -A");
    git(&place, "commit -q -m staged");
    let commit = git(&place, "rev-parse HEAD");
    place.ctx("stage list").ok();
    place.ctx("resolve status:staged --bodies").ok();
    let done = place.args(&["stage", "erase", &first, "--reason", "personal data", "--json"]);
    let done = done.run().ok().json("ctx.stage.erase");
    assert_eq!(done["erased"], serde_json::json!([first, second]));
    assert_eq!(done["commits"], serde_json::json!([commit]));
    assert_eq!((&done["git"], &done["everywhere"]), (&Value::Null, &true.into()));
    // Only git, which is not rewritten, contains it.
    let has = |bytes: &[u8]| bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
    let files = files_in(place.home());
    assert!(files.keys().any(|path| path.starts_with(".cache/")), "caches are looked at");
    assert!(files.keys().any(|path| path.starts_with(".local/state/")), "state is looked at");
    let held: Vec<&String> =
        files.iter().filter(|(_, bytes)| has(bytes)).map(|(path, _)| path).collect();
    assert_eq!(held, [""; 0]);
    let listed = place.ctx("stage list --json").ok().json("ctx.stage.list");
    assert_eq!(listed["staged"], serde_json::json!([]));
    place.ctx("verify").ok();
}
