//! Accesses at other paths of a vault: before it was moved, in a worktree, a clone or a
//! copy (AUDIT-34).

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

/// Returns the folders that the rows of an answer name; `null` for the log of the vault's own path.
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
    // Both continue: a checkpoint of one is not a checkpoint of the other.
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
    let named =
        "note: 1 line at checkpoints that this vault does not contain, in the access log of";
    let hint = told.stderr.lines().find(|line| line.starts_with(named));
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
    // Nothing shows which vault the log belongs to.
    let told = place.ctx("impact nodes/fees").ok();
    let named =
        "may lack accesses of this vault: `0123456789abcdef0123456789abcdef.jsonl`, line 1:";
    assert!(told.stderr.contains(named), "{}", told.whole());
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

/// Returns the only log file of a path.
fn log_file(place: &Place, folder: &Path) -> PathBuf {
    let audit = place.home().join(".local/state/contextnest/audit");
    let is_of = |dir: &PathBuf| {
        let report = at(place, folder, "trace verify --json").json("ctx.trace.verify");
        report["folder"].as_str() == dir.to_str()
    };
    let mut dirs = fs::read_dir(audit).unwrap().map(|dir| dir.unwrap().path());
    let dir = dirs.find(is_of).expect("the path has a log");
    fs::read_dir(dir).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn trace_verify_covers_every_log_that_answers() {
    let place = vault();
    place.ctx("read nodes/fees --session s").ok();
    let (former, file) = (place.root().to_owned(), log_file(&place, place.root()));
    let renamed = place.home().join("renamed");
    fs::rename(&former, &renamed).unwrap();
    let verified = at(&place, &renamed, "trace verify").ok().stdout;
    let log = format!("log of {}: {}\n", former.display(), file.parent().unwrap().display());
    assert!(verified.contains(&log) && verified.contains("1 line of 1 writer"), "{verified}");
    let text = fs::read_to_string(&file).unwrap();
    let both = format!("{text}{}", text.replace("\"seq\":1", "\"seq\":2"));
    fs::write(&file, &both).unwrap();
    for line in ["impact nodes/fees", "trace list", "replay --session s"] {
        let told = at(&place, &renamed, line).exits(1);
        assert!(told.stderr.contains("run `ctx trace verify`"), "{}", told.whole());
    }
    let verified = at(&place, &renamed, "trace verify").exits(1);
    assert!(verified.stdout.contains(file.to_str().unwrap()), "{}", verified.whole());
    let report = at(&place, &renamed, "trace verify --json").json("ctx.trace.verify");
    assert_eq!(report["other_paths"][0]["log_of"], former.to_str().unwrap(), "{report}");
    assert_eq!(report["faults"][0]["file"], file.to_str().unwrap(), "{report}");
    // The hint names the log that was asked for.
    let folder = file.parent().unwrap().display().to_string();
    let told = at(&place, &renamed, &format!("trace list --logs {folder}")).exits(1);
    assert!(
        told.stderr.contains(&format!("`ctx trace verify --logs {folder}`")),
        "{}",
        told.whole()
    );
}

#[test]
fn trace_verify_covers_the_state_directory_beside_ctx_audit_dir() {
    let place = vault();
    place.ctx("read nodes/fees").ok();
    let file = log_file(&place, place.root());
    let with = |line: &str| {
        let kept = place.home().join("kept");
        place.typed(line).var("CTX_AUDIT_DIR", kept.to_str().unwrap()).run()
    };
    with("read nodes/fees").ok();
    assert!(with("trace verify").ok().stdout.contains("2 lines of 2 writers"));
    let text = fs::read_to_string(&file).unwrap().replace("\"tool\":\"", "\"tool\":\"x");
    fs::write(&file, text).unwrap();
    assert!(with("trace verify").exits(1).stdout.contains(file.to_str().unwrap()));
}

#[test]
fn an_altered_log_of_the_former_path_is_not_silent() {
    let place = vault();
    place.ctx("read nodes/fees --session s").ok();
    let file = log_file(&place, place.root());
    let renamed = place.home().join("renamed");
    fs::rename(place.root(), &renamed).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let flipped = text.replace(
        "\"head\":{\"checkpoint\":1,\"hash\":\"sha256:",
        "\"head\":{\"checkpoint\":1,\"hash\":\"sha256:0",
    );
    assert_ne!(flipped, text);
    let questions = [
        "impact nodes/fees",
        "trace list",
        "evidence export --document nodes/fees -o ../b.tar --force",
    ];
    let folder = file.parent().unwrap().to_str().unwrap();
    // The head that is trusted for the former path shows that the log was this vault's.
    for (bytes, code) in [(flipped.as_str(), 1), ("garbage\n", 1), ("torn", 0), ("", 0)] {
        fs::write(&file, bytes).unwrap();
        for question in questions {
            let told = at(&place, &renamed, question).exits(code);
            let says = if code == 0 { folder } else { "accesses may be missing" };
            assert!(told.stderr.contains(says), "{bytes}: {}", told.whole());
        }
        at(&place, &renamed, "trace verify").exits(code);
    }
    // Nothing shows the relation.
    at(&place, &renamed, &format!("head forget {}", place.root().display())).ok();
    for bytes in [flipped.as_str(), "garbage\n", "torn", ""] {
        fs::write(&file, bytes).unwrap();
        for question in questions {
            let told = at(&place, &renamed, question).ok();
            assert!(told.stderr.contains(folder), "{bytes}: {}", told.whole());
        }
    }
    fs::write(&file, text).unwrap();
    assert_eq!(at(&place, &renamed, "trace list").ok().stderr, "");
}

#[test]
fn a_sound_log_of_another_vault_is_not_named() {
    let place = vault();
    place.ctx("read nodes/fees").ok();
    let other = place.home().join("other");
    fs::create_dir(&other).unwrap();
    for line in ["init --name Other", "add nodes/fees --body other", "read nodes/fees"] {
        at(&place, &other, line).ok();
    }
    for folder in [place.root(), &other] {
        let told = at(&place, folder, "trace list --verb read").ok();
        assert_eq!((told.stdout.lines().count(), told.stderr.as_str()), (1, ""));
    }
}

#[test]
fn accesses_of_a_former_vault_of_the_same_path_are_named_and_not_mixed_in() {
    let place = vault();
    place.ctx("read nodes/fees --session old").ok();
    let trace =
        place.ctx("trace list --verb read --json").json("ctx.trace.list")["traces"][0]["trace"]
            .clone();
    let kept = place.home().join("kept");
    fs::rename(place.root(), &kept).unwrap();
    fs::create_dir(place.root()).unwrap();
    place.ctx("head forget .").ok();
    place.ctx("init --name Another").ok();
    place.ctx("add nodes/fees --body 'canteen menu'").ok();
    let named = "note: 1 line at checkpoints that this vault does not contain";
    for question in [
        "impact nodes/fees --json",
        "trace list --session old --json",
        "evidence export --document nodes/fees -o ../b.tar --json",
    ] {
        let told = place.ctx(question).ok();
        assert!(told.stderr.contains(named), "{}", told.whole());
        assert!(!told.stdout.contains(trace.as_str().unwrap()), "{}", told.whole());
    }
    place.ctx("evidence verify ../b.tar").ok();
    // The line is found by its name, and its text differs.
    place.ctx(&format!("trace show {}", trace.as_str().unwrap())).ok();
    place.ctx("replay --session old").exits(1);
    assert_eq!(impact(&place, &kept).len(), 1);
}

#[test]
fn accesses_at_checkpoints_that_were_cut_off_are_named() {
    let place = vault();
    place.ctx("read nodes/fees --session a").ok();
    let former = place.read(".versions/checkpoints.jsonl");
    place.edit("nodes/fees.md", "5 percent", "6 percent");
    place.ctx("publish nodes/fees").ok();
    place.ctx("read nodes/fees --session b").ok();
    place.write(".versions/checkpoints.jsonl", former);
    let told = place.ctx("trace list --verb read").ok();
    assert_eq!(told.stdout.lines().count(), 1, "{}", told.whole());
    assert!(told.stderr.contains("note: 1 line at checkpoints that this vault does not contain"));
    place.ctx("replay --session b").exits(1);
}

#[test]
fn a_worktree_or_a_copy_that_published_since_is_named() {
    let place = Place::published(&[("nodes/fees", "# Fees\n\n5\n"), ("nodes/x", "# X\n")]);
    let git = "git -c user.name=a -c user.email=a@example.com -c init.defaultBranch=main";
    place.typed("").shell(&format!("{git} init -q && {git} add -A && {git} commit -qm a")).ok();
    place.typed("").shell(&format!("{git} worktree add -q ../tree")).ok();
    let copy = copied(&place, "copy");
    for folder in [&place.home().join("tree"), &copy] {
        at(&place, folder, "add nodes/new --body new").ok();
        at(&place, folder, "read nodes/fees").ok();
        let told = at(&place, place.root(), "impact nodes/fees").ok();
        let named = format!("does not contain, in the access log of `{}`", folder.display());
        assert!(told.stderr.contains(&named), "{}", told.whole());
    }
    // The log of a worktree is found by its repository, whatever was read there.
    let tree = place.home().join("tree");
    place.typed("").within(&tree).shell("rm -rf ../copy").ok();
    at(&place, &tree, "read nodes/new").ok();
    let told = at(&place, place.root(), "trace list").ok();
    assert!(told.stderr.contains("note: 2 lines at checkpoints"), "{}", told.whole());
}

#[test]
fn logs_refuses_a_folder_without_a_log() {
    let place = vault();
    place.ctx("read nodes/fees").ok();
    fs::create_dir(place.home().join("empty")).unwrap();
    for question in
        ["trace list", "impact nodes/fees", "trace verify", "trace grep x", "replay --session s"]
    {
        for folder in ["../empty", "nodes"] {
            let told = place.ctx(&format!("{question} --logs {folder}")).exits(5);
            assert!(told.stderr.contains("is not a folder of access logs"), "{}", told.whole());
        }
    }
    // The folder above the log of this vault, as CTX_AUDIT_DIR names it.
    let audit = place.home().join(".local/state/contextnest/audit");
    let listed = place.ctx(&format!("trace list --logs {}", audit.display())).ok();
    assert_eq!(listed.stdout.lines().count(), 1, "{}", listed.whole());
}
