//! Accesses at other paths of a vault: before it was moved, in a worktree, a clone or a copy
//! (AUDIT-34).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Output, Place};

fn vault() -> Place {
    Place::published(&[("nodes/fees", "# Fees\n\nFees are 5 percent.\n")])
}

/// Runs a command in another folder of the place.
fn at(place: &Place, folder: &Path, line: &str) -> Output {
    place.typed(line).within(folder).run()
}

/// The folders that the rows of an answer name; `null` for the log of the vault's own path.
fn folders(rows: &Value) -> Vec<Value> {
    rows.as_array().unwrap().iter().map(|row| row["log_of"].clone()).collect()
}

fn impact(place: &Place, folder: &Path) -> Vec<Value> {
    let report = at(place, folder, "impact nodes/fees --json").ok().json("ctx.impact");
    folders(&report["accesses"])
}

fn listed(place: &Place, folder: &Path) -> Vec<Value> {
    let report = at(place, folder, "trace list --verb read --json").ok().json("ctx.trace.list");
    folders(&report["traces"])
}

fn copied(place: &Place, to: &str) -> PathBuf {
    let to = place.home().join(to);
    place.typed("").shell(&format!("cp -r . '{}'", to.display())).ok();
    to
}

#[test]
fn a_vault_that_was_moved_keeps_its_accesses() {
    let place = vault();
    place.ctx("read nodes/fees --session s-1").ok();
    place.ctx("read nodes/fees --session s-2").ok();
    let (former, renamed) = (place.path(""), place.home().join("renamed"));
    let former = former.to_str().unwrap().trim_end_matches('/').to_owned();
    fs::rename(&former, &renamed).unwrap();
    fs::create_dir(&former).unwrap();
    at(&place, &renamed, "read nodes/fees --session s-1").ok();
    let expected = [former.clone().into(), former.clone().into(), Value::Null];
    assert_eq!(impact(&place, &renamed), expected);
    assert_eq!(listed(&place, &renamed), expected);
    let found = at(&place, &renamed, "trace grep s-2 --json").ok().json("ctx.trace.grep");
    assert_eq!(folders(&found["traces"]), expected[..1]);
    let text = at(&place, &renamed, "impact nodes/fees").ok();
    assert_eq!(text.stdout.matches(&format!("log of {former}")).count(), 2, "{}", text.whole());
    assert_eq!(text.stderr, "");
    let rows = at(&place, &renamed, "trace list --session s-2 --json").ok().json("ctx.trace.list");
    let trace = rows["traces"][0]["trace"].as_str().unwrap().to_owned();
    let shown = at(&place, &renamed, &format!("trace show {trace}")).ok();
    assert!(shown.stdout.contains(&format!("log of     {former}\n")), "{}", shown.whole());
    let replayed = at(&place, &renamed, "replay --session s-1 --json").ok().json("ctx.replay");
    assert_eq!(replayed["same"], 2);
    for (what, lines) in [("--session s-1", 2), ("--document nodes/fees", 3), (trace.as_str(), 1)] {
        let line = format!("evidence export {what} -o ../b.tar --force --json");
        let exported = at(&place, &renamed, &line).ok();
        let report = exported.json("ctx.evidence.export");
        assert!(report["line_count"].as_u64().unwrap() >= lines, "{report}");
        assert!(exported.stderr.contains(&former), "{}", exported.whole());
        at(&place, &renamed, "evidence verify ../b.tar").ok();
    }
    place.ctx("head forget .").ok();
    place.ctx("init --name Another").ok();
    assert_eq!(impact(&place, &renamed)[..3], expected);
}

#[test]
fn accesses_in_a_worktree_and_a_clone_answer_in_each_other() {
    let place = vault();
    let git = "git -c user.name=a -c user.email=a@example.com -c init.defaultBranch=main";
    place.typed("").shell(&format!("{git} init -q && {git} add -A && {git} commit -qm a")).ok();
    place.typed("").shell(&format!("{git} worktree add -q ../tree")).ok();
    place.typed("").shell(&format!("{git} clone -q . ../clone")).ok();
    place.ctx("read nodes/fees").ok();
    let (tree, clone) = (place.home().join("tree"), place.home().join("clone"));
    for folder in [&tree, &clone] {
        at(&place, folder, "read nodes/fees").ok();
    }
    for folder in [place.root(), &tree, &clone] {
        assert_eq!(impact(&place, folder).len(), 3, "{}", folder.display());
        let mut named = listed(&place, folder);
        named.sort_by_key(Value::to_string);
        let others = [place.root(), &tree, &clone].into_iter().filter(|other| *other != folder);
        let mut expected: Vec<Value> = others.map(|path| path.to_str().into()).collect();
        expected.push(Value::Null);
        expected.sort_by_key(Value::to_string);
        assert_eq!(named, expected);
    }
}

#[test]
fn accesses_of_another_lineage_do_not_answer_and_are_named() {
    let place = vault();
    place.ctx("read nodes/fees").ok();
    let copy = copied(&place, "copy");
    // Both go on: what only one of them has is no checkpoint of the other.
    for (folder, text) in [(place.root(), "6"), (&copy, "7")] {
        fs::write(folder.join("nodes/fees.md"), format!("# Fees\n\n{text} percent.\n")).unwrap();
        at(&place, folder, "publish nodes/fees").ok();
        at(&place, folder, "read nodes/fees").ok();
    }
    let names_other = |folder: &Path| {
        let told = at(&place, folder, "impact nodes/fees").ok();
        (told.stdout.lines().count(), told.stderr.contains("`--logs "))
    };
    // They have the first checkpoint in common, as all copies of a template have.
    assert_eq!((names_other(place.root()), names_other(&copy)), ((2, false), (2, false)));
    let place = vault();
    place.edit("nodes/fees.md", "5 percent", "6 percent");
    place.ctx("publish nodes/fees").ok();
    place.ctx("read nodes/fees").ok();
    let copy = copied(&place, "copy");
    place.edit("nodes/fees.md", "6 percent", "7 percent");
    place.ctx("publish nodes/fees").ok();
    place.ctx("read nodes/fees").ok();
    at(&place, &copy, "read nodes/fees").ok();
    let told = at(&place, &copy, "trace list --verb read").ok();
    assert_eq!(told.stdout.lines().count(), 2, "{}", told.whole());
    let hint = told.stderr.lines().find(|line| line.starts_with("hint: the access log of"));
    let option = hint.and_then(|hint| hint.split_once("--logs ")).expect("the log is named").1;
    let folder = option.split('`').next().unwrap();
    let whole = at(&place, &copy, &format!("trace list --verb read --logs {folder}")).ok();
    assert_eq!(whole.stdout.lines().count(), 2, "{}", whole.whole());
}

#[test]
fn logs_outside_of_ctx_audit_dir_answer_too() {
    let place = vault();
    place.ctx("read nodes/fees").ok();
    let kept = place.home().join("kept");
    let with = |line: &str| place.typed(line).var("CTX_AUDIT_DIR", kept.to_str().unwrap()).run();
    with("read nodes/fees").ok();
    let report = with("impact nodes/fees --json").ok().json("ctx.impact");
    assert_eq!(folders(&report["accesses"]).len(), 2);
}

#[test]
fn damage_and_unrelated_logs_of_other_paths_are_told_apart() {
    let place = vault();
    place.ctx("read nodes/fees").ok();
    let audit = place.home().join(".local/state/contextnest/audit");
    let log = |folder: &Path| {
        let file = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
        (fs::read_to_string(&file).unwrap(), file)
    };
    let own = fs::read_dir(&audit).unwrap().next().unwrap().unwrap().path();
    let unrelated = audit.join("0123456789abcdef01234567");
    fs::create_dir(&unrelated).unwrap();
    fs::write(unrelated.join("0123456789abcdef0123456789abcdef.jsonl"), "damage\n").unwrap();
    let told = place.ctx("impact nodes/fees").ok();
    assert_eq!(told.stderr, "");
    // A log that cannot be listed may have any lines.
    let linked = audit.join("1123456789abcdef01234567");
    std::os::unix::fs::symlink(&unrelated, &linked).unwrap();
    let told = place.ctx("impact nodes/fees").ok();
    assert!(told.stderr.contains("warning: the access logs in `"), "{}", told.whole());
    fs::remove_file(&linked).unwrap();
    let renamed = place.home().join("renamed");
    fs::rename(place.root(), &renamed).unwrap();
    at(&place, &renamed, "read nodes/fees").exits(0);
    let (text, file) = log(&own);
    fs::write(&file, format!("{text}{}", text.replace("\"seq\":1", "\"seq\":2"))).unwrap();
    let told = at(&place, &renamed, "impact nodes/fees").exits(1);
    assert!(told.stderr.contains("trace verify"), "{}", told.whole());
}
