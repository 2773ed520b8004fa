//! Anchors of a log outside of the vault: the trusted head, `--expect-head`, `--since`, and
//! `ctx head`.

use std::collections::BTreeSet;
use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::harness::{Place, files_in, instant_of};
use crate::tampering::LOG;

/// Returns a vault with three checkpoints, and a copy of it after the second.
fn three() -> (Place, Place) {
    let place = Place::unrecorded(&[("nodes/a", "# A\n\nOne.\n"), ("nodes/b", "# B\n")]);
    place.edit("nodes/a.md", "One.", "Two.");
    place.ctx("publish --changed").ok();
    let before = place.duplicate();
    place.edit("nodes/a.md", "Two.", "Three.");
    place.ctx("publish --changed").ok();
    (place, before)
}

/// Replaces the files of one vault with those of another.
fn replace(place: &Place, by: &Place) {
    for entry in fs::read_dir(place.root()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }
    for (path, bytes) in files_in(by.root()) {
        place.write(&path, bytes);
    }
}

fn codes(json: &Value) -> Vec<&str> {
    json["findings"].as_array().unwrap().iter().filter_map(|f| f["code"].as_str()).collect()
}

#[test]
fn a_vault_that_was_put_back_is_found_and_not_written_to() {
    let (place, before) = three();
    replace(&place, &before);
    assert_snapshot!(place.ctx("verify").whole(), @"
    exit: 1
    -- stdout
    damaged
      2 checkpoints, 4 artifacts, 5 versions recomputed
      head: checkpoint 2, sha256:f8759c8328fab6fe6bcb4099be5653809070e2873f170ff006c7a1c2b51465d8

    Damage: recorded data was altered or is missing:
      [head-rollback] .versions/checkpoints.jsonl, checkpoint 3: it is trusted on this machine, but the log ends at checkpoint 2
          expected sha256:8a5f13dd1ca5d62278bd007d9edae63e5cc98ceb6e015d3b59b131ae41ac174a
          in .versions/checkpoints.jsonl

    Meaning and remedy:
      [head-rollback] The log ends before an anchor.
          Look for the missing checkpoints on other branches and in `git stash list`, or restore the log and the histories from git or a backup. If the vault was reset on purpose, run `ctx head trust`, or pass another hash or revision to --expect-head or --since.
    -- stderr
    hint: `ctx help CODE` explains a finding
    ");
    let tree = place.tree();
    place.edit("nodes/a.md", "Two.", "Four.");
    let tree_edited = place.tree();
    assert_snapshot!(place.ctx("publish --changed").whole(), @"
    exit: 4
    -- stdout
    -- stderr
    error[head-rollback]: the trusted head is checkpoint 3 (8a5f13dd1ca5), but the log ends at checkpoint 2
    hint: nothing was written; restore the log from git or a backup, then run `ctx verify`
    hint: `ctx checkpoint rebuild --dry-run` shows the log that the histories produce
    hint: if the vault was changed on purpose, `ctx head trust` trusts the log as it is
    ");
    for line in [
        "publish --changed --dry-run",
        "retire nodes/b",
        "mv nodes/b nodes/c",
        "add nodes/n --body x",
    ] {
        let refused = place.ctx(line).exits(4);
        assert!(refused.stderr.starts_with("error[head-rollback]"), "{line}: {}", refused.stderr);
    }
    assert_eq!(place.tree(), tree_edited);
    // The file can still be read.
    assert!(place.ctx("read nodes/a").ok().stdout.contains("Two."));
    for line in [
        "resolve type:document",
        "read nodes/a",
        "search two",
        "list",
        "context",
        "status",
        "history nodes/a",
        "show nodes/a 2",
        "diff nodes/a 1 2",
        "neighbors nodes/a",
        "graph",
        "pack list",
        "read --outline nodes/a",
        "checkpoint list",
        "resolve --explain #x",
    ] {
        let read = place.ctx(line);
        let warnings = read
            .stderr
            .lines()
            .filter(|line| line.contains("the log may be truncated or replaced"));
        assert_eq!(warnings.count(), 1, "{line}: {}", read.whole());
        assert!(read.stderr.contains("log ends at checkpoint 2; run `ctx verify`"), "{line}");
        if line != "graph" && line != "context" {
            let json: Value =
                serde_json::from_str(&place.ctx(&format!("{line} --json")).stdout).unwrap();
            let note = json["notes"][0].as_str().unwrap_or_default();
            assert!(note.starts_with("the log may be truncated or replaced"), "{line}: {json}");
        }
    }
    let out = place.home().join("out").display().to_string();
    assert!(
        place.ctx(&format!("checkout 1 {out}")).stderr.contains("may be truncated or replaced")
    );

    assert_snapshot!(place.ctx("head trust --dry-run").whole(), @"
    exit: 0
    -- stdout
    before: checkpoint 3, sha256:8a5f13dd1ca5d62278bd007d9edae63e5cc98ceb6e015d3b59b131ae41ac174a
    would be: checkpoint 2, sha256:f8759c8328fab6fe6bcb4099be5653809070e2873f170ff006c7a1c2b51465d8
    -- stderr
    ");
    place.ctx("publish --changed").exits(4);
    assert_snapshot!(place.ctx("head trust").whole(), @"
    exit: 0
    -- stdout
    before: checkpoint 3, sha256:8a5f13dd1ca5d62278bd007d9edae63e5cc98ceb6e015d3b59b131ae41ac174a
    now: checkpoint 2, sha256:f8759c8328fab6fe6bcb4099be5653809070e2873f170ff006c7a1c2b51465d8
    -- stderr
    next: `ctx verify` recomputes everything up to it
    ");
    place.edit("nodes/a.md", "Four.", "Two.");
    assert_eq!(place.tree(), tree);
    assert!(place.ctx("verify").ok().stdout.starts_with("intact, anchored to checkpoint 2\n"));
    place.edit("nodes/a.md", "Two.", "Four.");
    place.ctx("publish --changed").ok();
}

#[test]
fn another_history_in_the_same_place_is_a_fork() {
    let (place, before) = three();
    before.edit("nodes/a.md", "Two.", "Other.");
    before.ctx("publish --changed").ok();
    replace(&place, &before);
    let report = place.ctx("verify --json").exits(1).json("ctx.verify");
    assert_eq!((report["verdict"].as_str(), codes(&report)), (Some("damaged"), vec!["head-fork"]));
    assert_eq!(report["findings"][0]["checkpoint"], 3);
    // An unrelated vault differs from the first checkpoint on.
    let other = Place::published(&[("nodes/x", "# X\n")]);
    replace(&place, &other);
    let report = place.ctx("verify --json").exits(1).json("ctx.verify");
    assert_eq!(
        (codes(&report), &report["findings"][0]["checkpoint"]),
        (vec!["head-fork"], &1.into())
    );
    let refused = place.ctx("publish --all").exits(4);
    assert!(refused.stderr.starts_with("error[head-fork]"), "{}", refused.stderr);
}

#[test]
fn edited_copies_do_not_hide_that_nothing_anchors_the_log() {
    let place = Place::published(&[("nodes/x", "# X\n")]);
    place.edit("nodes/x.md", "# X", "# Y");
    let verified = |place: &Place| place.ctx("verify").exits(1).stdout;
    assert!(!verified(&place).contains("not anchored"), "{}", verified(&place));
    place.ctx("head forget").ok();
    let text = verified(&place);
    assert!(text.starts_with("intact, working copy differs\n  not anchored: "), "{text}");
}

#[test]
fn nothing_is_anchored_by_an_empty_log() {
    let place = Place::vault();
    let head = place.ctx("head --json").exits(1).json("ctx.head");
    assert_eq!((&head["checkpoint"], &head["trusted"]["checkpoint"]), (&0.into(), &0.into()));
    // Another principal's vault replaces the empty one.
    replace(&place, &Place::published(&[("nodes/x", "# X\n")]));
    assert!(place.ctx("verify").ok().stdout.starts_with("intact, not anchored\n"));
    // The verification made that head trusted.
    assert!(place.ctx("verify").ok().stdout.starts_with("intact, anchored to checkpoint 1\n"));
}

#[test]
fn an_expected_head_is_demanded_in_the_log() {
    let (place, before) = three();
    let head = place.ctx("head").ok();
    assert_snapshot!(head.whole(), @"
    exit: 0
    -- stdout
    sha256:8a5f13dd1ca5d62278bd007d9edae63e5cc98ceb6e015d3b59b131ae41ac174a
    -- stderr
    note: checkpoint 3 of 2026-11-21T10:00:03.000Z
    ");
    let hash = head.stdout.trim();
    let bare = |place: &Place, line: &str| place.typed(line).without("HOME").run();
    let verdict =
        |line: String| bare(&place, &line).stdout.lines().take(2).collect::<Vec<_>>().join("\n");
    assert_snapshot!(verdict(format!("verify --expect-head {hash}")), @"
    intact, anchored to checkpoint 3
      anchor: checkpoint 3, as expected
    ");
    // An older head matches too, and names the checkpoints that it does not vouch for.
    let older = bare(&before, "head").ok().stdout;
    let text = bare(&place, &format!("verify --expect-head {}", older.trim())).ok().stdout;
    assert!(text.contains("newer than the anchor: checkpoint 3\n"), "{text}");
    assert_snapshot!(bare(&before, &format!("verify --expect-head {hash}")).whole(), @"
    exit: 1
    -- stdout
    damaged
      2 checkpoints, 4 artifacts, 5 versions recomputed
      head: checkpoint 2, sha256:f8759c8328fab6fe6bcb4099be5653809070e2873f170ff006c7a1c2b51465d8

    Damage: recorded data was altered or is missing:
      [head-rollback] .versions/checkpoints.jsonl: no checkpoint has the expected hash; the log ends at checkpoint 2
          expected sha256:8a5f13dd1ca5d62278bd007d9edae63e5cc98ceb6e015d3b59b131ae41ac174a
          in .versions/checkpoints.jsonl

    Meaning and remedy:
      [head-rollback] The log ends before an anchor.
          Look for the missing checkpoints on other branches and in `git stash list`, or restore the log and the histories from git or a backup. If the vault was reset on purpose, run `ctx head trust`, or pass another hash or revision to --expect-head or --since.
    -- stderr
    hint: `ctx help CODE` explains a finding
    ");
    let misuse = place.ctx("verify --expect-head 5f70").exits(2);
    assert_snapshot!(misuse.stderr, @"
    error[usage]: `5f70` is not a checkpoint hash: expected `sha256:`, but found `5f70`
    hint: `ctx head` prints one
    ");
}

#[test]
fn trusted_heads_can_be_listed_and_forgotten() {
    let (place, _) = three();
    let listed = place.ctx("head list").ok();
    assert_snapshot!(listed.whole(), @"
    exit: 0
    -- stdout
    [ROOT]/vault  -  checkpoint 3, sha256:8a5f13dd1ca5d62278bd007d9edae63e5cc98ceb6e015d3b59b131ae41ac174a  2026-11-21T10:00:03.000Z
    -- stderr
    ");
    assert_snapshot!(place.ctx("head forget").whole(), @"
    exit: 0
    -- stdout
    the trusted head was deleted
    -- stderr
    ");
    assert_eq!(place.ctx("head list").ok().stdout, "");
    assert_eq!(place.ctx("head forget").ok().stdout, "there was no trusted head\n");
    assert!(place.ctx("verify").ok().stdout.starts_with("intact, not anchored\n"));
    let nowhere = place.typed("head trust").without("HOME").run().exits(2);
    assert_snapshot!(nowhere.stderr, @"
    error[usage]: the state directory for trusted heads is unknown
    hint: set HOME or XDG_STATE_HOME to a folder outside of the vault
    ");
}

#[test]
fn an_unreadable_trusted_head_stops_writers() {
    let (place, _) = three();
    let dir = place.home().join(".local/state/contextnest");
    let memory = fs::read_dir(&dir).unwrap().next().unwrap().unwrap().path().join("head.json");
    let text = fs::read_to_string(&memory).unwrap();
    let live = place.read("nodes/b.md");
    for broken in ["", "{}", "\0\0\0", &text.replace("sha256:", "sha1:")] {
        fs::write(&memory, broken).unwrap();
        let verify = place.ctx("verify").ok();
        assert!(verify.stdout.starts_with("intact, not anchored\n"), "{}", verify.stdout);
        assert!(verify.stderr.starts_with("warning: the trusted head in"), "{}", verify.stderr);
        place.edit("nodes/b.md", "# B", "# B ");
        let refused = place.ctx("publish --changed").exits(5);
        assert!(refused.stderr.contains("ctx head trust"), "{}", refused.stderr);
        place.write("nodes/b.md", &live);
    }
    place.ctx("head trust").ok();
    place.edit("nodes/b.md", "# B", "# B ");
    place.ctx("publish --changed").ok();
}

#[test]
fn a_trusted_head_inside_the_vault_is_ignored() {
    let (place, before) = three();
    let state = place.path(".context/local").display().to_string();
    replace(&place, &before);
    let verify = place.typed("verify").var("XDG_STATE_HOME", &state).run().ok();
    assert!(verify.stdout.starts_with("intact, not anchored\n"), "{}", verify.stdout);
}

#[test]
fn an_intent_record_distinguishes_an_interrupted_command_from_a_forgery() {
    let (place, _) = three();
    let log = place.read(LOG);
    // The histories were written, but the checkpoint was not.
    place.edit("nodes/a.md", "Three.", "Four.");
    let history = "nodes/.versions/a/history.yaml";
    let duplicate = place.duplicate();
    duplicate.ctx("publish --changed").ok();
    place.write(history, duplicate.bytes(history));
    place.write("nodes/a.md", place.read("nodes/a.md").replace("Four.", "Three."));
    place.write(LOG, format!("{log}{{\"at\""));
    // An attacker could have truncated the log to the trusted head.
    let told = place.ctx("verify --json").exits(1).json("ctx.verify");
    assert_eq!(codes(&told), ["torn-tail", "published-unsealed"]);
    place.began(&instant_of(&place.read(history)));
    let report = place.ctx("verify --json").ok().json("ctx.verify");
    assert_eq!(
        (report["verdict"].as_str(), codes(&report)),
        (Some("intact, anchored"), vec!["unfinished"; 2])
    );
    let bare = place.typed("verify --json").without("HOME").run().exits(1).json("ctx.verify");
    assert_eq!(codes(&bare), ["torn-tail", "published-unsealed"]);
}

/// Runs git in the vault.
pub(crate) fn git(place: &Place, line: &str) -> String {
    let name = "-c user.name=Ana -c user.email=ana@example.com -c init.defaultBranch=main";
    place.typed("").shell(&format!("git {name} {line}")).ok().stdout.trim().to_owned()
}

#[test]
fn the_log_at_a_revision_is_the_beginning_of_this_one() {
    let (place, before) = three();
    git(&before, "init -q");
    git(&before, "add -A");
    git(&before, "commit -q -m two");
    let commit = git(&before, "rev-parse HEAD");
    before.edit("nodes/a.md", "Two.", "Three.");
    before.ctx("publish --changed").ok();
    let json =
        before.typed("verify --json --since HEAD").without("HOME").run().ok().json("ctx.verify");
    assert_eq!(json["verdict"], "intact, anchored");
    let anchor = &json["anchors"][0];
    assert_eq!((&anchor["source"], &anchor["checkpoint"]), (&"revision".into(), &2.into()));
    assert_eq!(anchor["commit"], commit);
    // A vault below the root of the repository behaves the same.
    let nested = Place::new();
    for (path, bytes) in files_in(place.root()) {
        nested.write(&format!("docs/vault/{path}"), bytes);
    }
    git(&nested, "init -q");
    git(&nested, "add -A");
    git(&nested, "commit -q -m three");
    let verify = nested.typed("verify --since main --vault docs/vault").without("HOME").run().ok();
    assert!(verify.stdout.starts_with("intact, anchored to checkpoint 3\n"), "{}", verify.stdout);

    // A truncated or replaced log does not begin with the committed one.
    let kept = before.tree();
    let cut: String = before.read(LOG).lines().take(1).map(|line| format!("{line}\n")).collect();
    before.write(LOG, cut);
    let json = before.ctx("verify --json --since HEAD").exits(1).json("ctx.verify");
    assert!(codes(&json).contains(&"head-rollback"), "{:?}", codes(&json));
    for (path, bytes) in kept {
        before.write(&path, bytes);
    }
    let refused = before.ctx("verify --since nowhere").exits(2);
    assert_snapshot!(refused.stderr, @"
    error[usage]: unknown git revision `nowhere`
    hint: name a commit, branch or tag of the vault's repository; a shallow clone may lack it
    ");
    before.ctx("verify --since=-x").exits(2);
    before.ctx("verify --since=--output=/tmp/x").exits(2);
}

#[test]
fn another_branch_or_commit_has_its_own_trusted_head() {
    let (place, _) = three();
    git(&place, "init -q");
    git(&place, "add -A");
    git(&place, "commit -q -m three");
    place.ctx("verify").ok();
    git(&place, "checkout -q -b topic");
    place.edit("nodes/a.md", "Three.", "Four.");
    place.ctx("publish --changed").ok();
    git(&place, "commit -q -a -m four");
    // On main the log is shorter, and was never longer there.
    git(&place, "checkout -q main");
    assert!(place.ctx("verify").ok().stdout.starts_with("intact, anchored to checkpoint 3\n"));
    git(&place, "checkout -q --detach topic");
    place.ctx("verify").ok();
    git(&place, "checkout -q --detach main");
    place.ctx("verify").ok();
    // On the same branch, a shorter log is a rollback.
    git(&place, "checkout -q topic");
    git(&place, "reset -q --hard HEAD~1");
    let json = place.ctx("verify --json").exits(1).json("ctx.verify");
    assert_eq!(codes(&json), ["head-rollback", "head-elsewhere"]);
}

/// Returns a vault in a folder of a repository with one commit, and a duplicate that was replaced.
pub(crate) fn in_repository() -> Place {
    let place = Place::new();
    let (three, _) = three();
    for (path, bytes) in files_in(three.root()) {
        place.write(&format!("docs/{path}"), bytes);
    }
    git(&place, "init -q");
    git(&place, "add -A");
    git(&place, "commit -q -m three");
    place
}

pub(crate) fn replace_log(place: &Place) {
    let other = Place::published(&[("nodes/a", "# Forged\n")]);
    fs::remove_dir_all(place.path("docs")).unwrap();
    for (path, bytes) in files_in(other.root()) {
        place.write(&format!("docs/{path}"), bytes);
    }
}

#[test]
fn a_revision_that_cannot_be_read_anchors_nothing_and_passes_nothing() {
    let place = in_repository();
    let since = |line: &str| place.typed(line).without("HOME").run();
    since("verify --vault docs --since HEAD").ok();
    // A tag has the name of a branch: a process that may push tags could choose what the name
    // means.
    git(&place, "update-ref refs/remotes/origin/main HEAD");
    since("verify --vault docs --since origin/main").ok();
    since("verify --vault docs --since origin/main~0").ok();
    git(&place, "tag origin/main");
    for name in ["origin/main", "origin/main~0", "origin/main^{commit}"] {
        let refused = since(&format!("verify --vault docs --since {name}")).exits(2);
        assert!(
            refused.stderr.contains("it names `refs/remotes/origin/main`"),
            "{}",
            refused.stderr
        );
    }
    since("verify --vault docs --since refs/remotes/origin/main").ok();
    // A commit without a vault has no log that could be the beginning of this one.
    git(&place, "mv docs handbook");
    let refused = since("verify --vault handbook --since HEAD --quiet").exits(2);
    assert_snapshot!(refused.stderr, @"
    error[usage]: this folder was not a vault at revision `HEAD`
    hint: name a revision at which the vault existed in this folder
    ");
    git(&place, "mv handbook docs");
    // The blob of the log is missing, as in a clone without blobs.
    let object = git(&place, "rev-parse HEAD:docs/.versions/checkpoints.jsonl");
    place.remove(&format!(".git/objects/{}/{}", &object[..2], &object[2..]));
    replace_log(&place);
    let refused = since("verify --vault docs --since HEAD").exits(5);
    assert!(refused.stderr.contains(&format!("git cat-file blob {object}")), "{}", refused.stderr);
    // Git or the repository is missing.
    let alone = Place::published(&[("nodes/a", "# A\n")]);
    let refused = alone.ctx("verify --since HEAD").exits(2);
    assert!(refused.stderr.contains("not a git repository"), "{}", refused.stderr);
    let refused = alone.typed("verify --since HEAD").var("PATH", "/nowhere").run().exits(2);
    assert!(refused.stderr.contains("git cannot be run"), "{}", refused.stderr);
}

#[test]
fn a_vault_that_had_nothing_published_is_the_empty_log() {
    let place = Place::vault();
    git(&place, "init -q");
    git(&place, "add -A");
    git(&place, "commit -q -m empty");
    place.write("nodes/a.md", "# A\n");
    place.ctx("publish --all").ok();
    let json =
        place.typed("verify --json --since HEAD").without("HOME").run().ok().json("ctx.verify");
    assert_eq!(json["verdict"], "intact, not anchored");
    assert_eq!(json["anchors"][0]["checkpoint"], 0);
}

#[test]
fn the_repository_is_the_one_that_holds_the_vault() {
    let place = in_repository();
    replace_log(&place);
    // The environment of a hook names its repository, and the hook runs at the top of it.
    let git_dir = place.path(".git").display().to_string();
    for line in ["verify --vault docs --since HEAD", "verify --vault docs --since=main"] {
        let run = place.typed(line).without("HOME").var("GIT_DIR", &git_dir).run().exits(1);
        assert!(run.stdout.contains("head-fork"), "{}", run.stdout);
    }
    // Files of the vault that look like a repository are not one.
    let inner = Place::new();
    git(&inner, "init -q --bare fake.git");
    for (path, bytes) in files_in(&inner.path("fake.git")) {
        place.write(&format!("docs/{path}"), bytes);
    }
    for folder in ["objects", "refs"] {
        fs::create_dir_all(place.path("docs").join(folder)).unwrap();
    }
    let run = place.typed("verify --vault docs --since HEAD").without("HOME").run();
    assert!(run.exit == 2 || run.stdout.contains("head-fork"), "{}", run.whole());
    // A hook checked a commit out into a folder without a repository.
    let out = Place::new();
    let good = in_repository();
    for (path, bytes) in files_in(&good.path("docs")) {
        out.write(&format!("docs/{path}"), bytes);
    }
    let run = |dir: &str, tree: &str| {
        let run = out.typed("verify --vault docs --since HEAD").without("HOME");
        run.var("GIT_DIR", dir).var("GIT_WORK_TREE", tree).run()
    };
    let dir = good.path(".git").display().to_string();
    let tree = out.root().display().to_string();
    assert!(run(&dir, &tree).ok().stdout.starts_with("intact, anchored to checkpoint 3\n"));
    assert!(run(&dir, ".").ok().stdout.starts_with("intact, anchored to checkpoint 3\n"));
    assert!(run(&dir, "").exits(2).stderr.contains("not a git repository"));
}

#[test]
fn a_new_repository_does_not_discard_the_trusted_head() {
    // Git rejects the folder as a repository, and none is above it: the trusted head stays.
    let (place, before) = three();
    replace(&place, &before);
    fs::create_dir(place.path(".git")).unwrap();
    place.write(".git/HEAD", "ref: refs/heads/x\n");
    assert_eq!(codes(&place.ctx("verify --json").exits(1).json("ctx.verify")), ["head-rollback"]);
    // In a valid repository, a head that was trusted before is valid for all branches.
    fs::remove_dir_all(place.path(".git")).unwrap();
    git(&place, "init -q");
    git(&place, "checkout -q -b other");
    assert_eq!(codes(&place.ctx("verify --json").exits(1).json("ctx.verify")), ["head-rollback"]);
    place.ctx("publish --all").exits(4);
    // After `head trust`, nothing of the old head remains.
    place.ctx("head trust").ok();
    place.ctx("verify").ok();
    // Another branch that is behind is a note, because the branch may be old.
    place.edit("nodes/a.md", "Two.", "Four.");
    place.ctx("publish --changed").ok();
    replace_but_git(&place, &before);
    git(&place, "symbolic-ref HEAD refs/heads/behind");
    let json = place.ctx("verify --json").ok().json("ctx.verify");
    assert_eq!(codes(&json), ["head-elsewhere"]);
    assert_eq!(json["verdict"], "intact, not anchored");
}

fn replace_but_git(place: &Place, by: &Place) {
    for path in place.tree().keys().filter(|path| !path.starts_with(".git/")) {
        place.remove(path);
    }
    for (path, bytes) in files_in(by.root()) {
        place.write(&path, bytes);
    }
}

#[test]
fn a_new_vault_in_the_same_place_keeps_the_trusted_head() {
    let (place, _) = three();
    git(&place, "init -q");
    place.ctx("verify").ok();
    for entry in fs::read_dir(place.root()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }
    place.ctx("init --name Another").exits(4);
    place.ctx("head forget .").ok();
    place.ctx("init --name Another").ok();
    place.ctx("verify").ok();
    git(&place, "init -q");
    place.ctx("verify").ok();
}

#[test]
fn the_trusted_head_of_a_removed_vault_can_be_forgotten() {
    let (place, _) = three();
    let root = place.root().display().to_string();
    fs::remove_dir_all(place.root()).unwrap();
    let out = place.args(&["head", "forget", &root]).within(place.home()).run().ok();
    assert_eq!(out.stdout, "the trusted head was deleted\n");
    let out = place.args(&["head", "list"]).within(place.home()).run().ok();
    assert_eq!(out.stdout, "");
}

/// Returns the n-th script of `docs/hooks.md`, with the tested binary.
pub(crate) fn hook(number: usize) -> String {
    let page = include_str!("../../docs/hooks.md");
    let script = page.split("```sh\n#!/bin/sh\n").nth(number).unwrap().split("```").next().unwrap();
    format!("#!/bin/sh\n{}", script.replace("ctx v", &format!("{} v", env!("CARGO_BIN_EXE_ctx"))))
}

pub(crate) fn install(place: &Place, path: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    place.write(path, script);
    fs::set_permissions(place.path(path), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_hooks_of_the_documentation_let_honest_work_through_and_stop_a_rewritten_vault() {
    let place = in_repository();
    install(&place, ".git/hooks/pre-commit", &hook(1));
    let server = place.home().join("server.git").display().to_string();
    git(&place, &format!("clone -q --bare . {server}"));
    fs::write(format!("{server}/hooks/pre-receive"), hook(2)).unwrap();
    let hooks = format!("{server}/hooks/pre-receive");
    git(&place, &format!("version && chmod +x {hooks}"));
    git(&place, &format!("remote add origin {server}"));

    place.edit("docs/nodes/a.md", "Three.", "Four.");
    place.ctx("publish --changed --vault docs").ok();
    git(&place, "add -A");
    git(&place, "commit -q -m four");
    git(&place, "push -q origin HEAD:main");
    git(&place, "push -q origin HEAD:refs/heads/new");
    git(&place, "push -q origin :refs/heads/new");
    // A push leaves no trusted head on the server.
    let heads = place.ctx("head list --json").ok().json("ctx.head.list");
    let heads = heads["heads"].as_array().unwrap().iter();
    assert!(heads.map(|head| head["path"].to_string()).all(|path| !path.contains("/tree/")));

    // In a linked worktree, git names its repository to hooks.
    let tree = place.home().join("tree").display().to_string();
    git(&place, &format!("worktree add -q {tree} -b other"));
    replace_log(&place);
    let forged = files_in(&place.path("docs"));
    let commit = |folder: &str, options: &str| {
        let name = "-c user.name=Eve -c user.email=eve@example.com";
        place
            .typed("")
            .shell(&format!("cd {folder} && git add -A && git {name} commit -q {options}"))
    };
    commit(".", "-m forged").exits(1);
    fs::remove_dir_all(format!("{tree}/docs")).unwrap();
    for (path, bytes) in forged {
        let path = std::path::Path::new(&tree).join("docs").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    commit(&tree, "-m forged").exits(1);
    commit(&tree, "--no-verify -m forged").ok();
    let push = |what: &str| place.typed("").shell(&format!("git push -q origin {what}")).exits(1);
    let refused = push("other:main");
    assert!(refused.stderr.contains("head-fork"), "{}", refused.stderr);
    // The branch is deleted and pushed again, and pushed as another branch.
    let refused = push(":main");
    assert!(refused.stderr.contains("this branch is not deleted"), "{}", refused.stderr);
    let refused = push("other:refs/heads/again");
    assert!(refused.stderr.contains("head-fork"), "{}", refused.stderr);
    commit(&tree, "--no-verify --amend --allow-empty -m again").ok();
    place.typed("").shell(&format!("cd {tree} && git checkout -q --orphan alone")).ok();
    commit(&tree, "--no-verify -m alone").ok();
    let refused = push("alone:refs/heads/alone");
    assert!(refused.stderr.contains("no commit in common"), "{}", refused.stderr);
    // A branch that is reset loses checkpoints.
    let refused = push("-f HEAD~1:main");
    assert!(refused.stderr.contains("head-rollback"), "{}", refused.stderr);
}

/// The first commit of a new repository brings the vault.
#[test]
fn the_hooks_of_the_documentation_work_in_a_new_repository() {
    let place = Place::new();
    git(&place, "init -q -b main");
    install(&place, ".git/hooks/pre-commit", &hook(1));
    let server = place.home().join("server.git").display().to_string();
    git(&place, &format!("init -q --bare -b main {server}"));
    let path = format!("{server}/hooks/pre-receive");
    fs::write(&path, hook(2)).unwrap();
    git(&place, &format!("version && chmod +x {path}"));
    git(&place, &format!("remote add origin {server}"));
    place.ctx("init docs --name Docs").ok();
    for text in ["# A\n", "# A\n\nmore\n"] {
        place.write("docs/nodes/a.md", text);
        place.ctx("publish --all --vault docs").ok();
        git(&place, "add -A");
        git(&place, "commit -q -m next");
        git(&place, "push -q origin main");
    }
    // A line of the change log that no checkpoint shows is not removed.
    place.ctx("trace hold place --session s --reason case --vault docs").ok();
    git(&place, "add -A");
    git(&place, "commit -q -m hold");
    git(&place, "push -q origin main");
    let mut logs = files_in(&place.path("docs/.context/audit")).into_iter();
    let is_held = |(_, log): &(String, Vec<u8>)| String::from_utf8_lossy(log).contains("case");
    let (name, log) = logs.find(is_held).unwrap();
    let end = log[..log.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
    place.write(&format!("docs/.context/audit/{name}"), &log[..=end]);
    git(&place, "add -A");
    let name = "-c user.name=Ana -c user.email=ana@example.com";
    let commit = |options: &str| place.typed("").shell(&format!("git {name} commit -q {options}"));
    commit("-m cut").exits(1);
    commit("--no-verify -m cut").ok();
    let refused = place.typed("").shell("git push -q origin main").exits(1);
    assert!(refused.stderr.contains("audit-rollback"), "{}", refused.stderr);
    git(&place, "reset -q --hard HEAD~1");
    // A folder that is no longer a vault is refused.
    git(&place, "rm -rq docs/.context docs/.versions");
    git(&place, "commit -q --no-verify -m gone");
    place.typed("").shell("git push -q origin main").exits(1);
}

/// A branch that is behind is not damaged, but vouches for nothing.
#[test]
fn since_fork_accepts_a_branch_that_is_merely_behind() {
    let place = in_repository();
    git(&place, "branch topic");
    place.edit("docs/nodes/a.md", "Three.", "Four.");
    place.ctx("publish --changed --vault docs").ok();
    git(&place, "commit -q -a -m four");
    git(&place, "checkout -q topic");
    let verify =
        |line: &str| place.typed(&format!("verify --vault docs {line}")).without("HOME").run();
    let strict = verify("--since main").exits(1);
    assert!(strict.stdout.contains("this branch is behind main"), "{}", strict.stdout);
    assert!(strict.stdout.contains("`--since-fork main`"), "{}", strict.stdout);
    let text = verify("--since-fork main").ok().stdout;
    assert!(text.starts_with("intact, not anchored\n"), "{text}");
    assert!(text.contains("at the merge base with main"), "{text}");
    assert!(text.contains("1 checkpoint behind"), "{text}");
    let json = verify("--json --since-fork main").ok().json("ctx.verify");
    assert_eq!(json["anchors"][0]["source"], "merge-base");
    assert_eq!(
        (&json["anchors"][0]["behind"], &json["anchors"][0]["checkpoint"]),
        (&1.into(), &3.into())
    );
    // Checkpoints from before the branch began must still exist.
    replace_log(&place);
    assert!(verify("--since-fork main").exits(1).stdout.contains("head-fork"));
    verify("--since-fork nowhere").exits(2);
}

#[test]
fn without_a_state_folder_no_head_is_read_or_recorded() {
    let (place, before) = three();
    replace(&place, &before);
    place.ctx("verify").exits(1);
    let state = files_in(&place.home().join(".local/state"));
    let text = place.ctx("verify --no-trusted-head").ok().stdout;
    assert!(text.starts_with("intact, not anchored\n"), "{text}");
    assert_eq!(files_in(&place.home().join(".local/state")), state);
}

/// A writer of the vault can plant a repository, let another writer record its head under a branch
/// of it, and remove both. A head that was trusted in another repository is still compared.
#[test]
fn a_planted_repository_discards_no_trusted_head() {
    for is_within_a_repository in [false, true] {
        let place = Place::published(&[("nodes/a", "# A\n")]);
        if is_within_a_repository {
            place.typed("").shell("git init -q ..").ok();
        }
        place.ctx("verify").ok();
        let before = place.tree();
        place.write(".git/HEAD", "ref: refs/heads/x\n");
        place.write(".git/objects/x", "");
        place.write(".git/refs/x", "");
        place.ctx("add nodes/acknowledged --body two").ok();
        let json = place.ctx("verify --json").ok().json("ctx.verify");
        assert_eq!(json["verdict"], "intact, anchored");
        // On another branch of the planted repository, the report says so and claims no anchor.
        let rolled_back = || {
            for path in place.tree().keys().filter(|path| !before.contains_key(*path)) {
                if !path.starts_with(".git/") {
                    place.remove(path);
                }
            }
            for (path, bytes) in &before {
                place.write(path, bytes);
            }
        };
        rolled_back();
        place.write(".git/HEAD", "ref: refs/heads/y\n");
        // No commit shows that the planted branch had fewer checkpoints.
        let json = place.ctx("verify --json").exits(1).json("ctx.verify");
        assert_eq!(codes(&json), ["audit-rollback", "head-elsewhere"]);
        assert_eq!(json["anchors"], serde_json::json!([]), "{json:#}");
        // The planted repository is removed.
        place.remove(".git");
        let json = place.ctx("verify --json").exits(1).json("ctx.verify");
        assert_eq!(codes(&json), ["audit-rollback", "head-rollback"]);
        place.ctx("add nodes/third --body x").exits(4);
        place.ctx("head trust").ok();
        place.ctx("add nodes/third --body x").ok();
        place.ctx("verify").ok();
    }
}

/// A head that was trusted without a repository is still compared next to a planted repository
/// whose other branch is ahead, even if the path is not valid text.
#[test]
fn a_planted_branch_that_is_ahead_discards_no_trusted_head() {
    use std::os::unix::ffi::OsStrExt as _;
    for name in [&b"plain"[..], b"no\xfftext"] {
        let place = Place::new();
        let folder = std::path::Path::new(std::ffi::OsStr::from_bytes(name));
        let root = place.root().join(folder);
        fs::create_dir(&root).unwrap();
        let ctx = |line: &str| place.typed(line).within(folder).run();
        ctx("init").ok();
        ctx("add nodes/a --body one").ok();
        let before = files_in(&root);
        ctx("add nodes/b --body two").ok();
        for inner in [".git/objects", ".git/refs"] {
            fs::create_dir_all(root.join(inner)).unwrap();
        }
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/a\n").unwrap();
        ctx("verify").ok();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/b\n").unwrap();
        for path in files_in(&root).keys().filter(|path| !path.starts_with(".git/")) {
            fs::remove_file(root.join(path)).unwrap();
        }
        for (path, bytes) in before {
            fs::write(root.join(path), bytes).unwrap();
        }
        let json = ctx("verify --json").exits(1).json("ctx.verify");
        assert_eq!(codes(&json), ["audit-rollback", "head-rollback", "head-elsewhere"]);
        ctx("add nodes/c --body x").exits(4);
    }
}

/// The folder behind a link has another history, and another trusted head.
#[test]
fn a_vault_is_not_reached_through_a_link_inside_a_work_tree() {
    let place = in_repository();
    place.ctx("verify --vault docs").ok();
    let old = place.duplicate();
    let _ = fs::remove_dir_all(old.path(".git"));
    place.edit("docs/nodes/a.md", "Three.", "Four.");
    place.ctx("publish --changed --vault docs").ok();
    git(&place, "mv docs kept");
    for (path, bytes) in files_in(&old.path("docs")) {
        place.write(&format!("other/{path}"), bytes);
    }
    std::os::unix::fs::symlink("other", place.path("docs")).unwrap();
    git(&place, "add -A");
    git(&place, "commit -q -m link");
    for line in ["verify", "verify --since HEAD", "read nodes/a", "publish --changed", "status"] {
        let refused = place.ctx(&format!("{line} --vault docs")).exits(2);
        assert!(refused.stderr.contains("is a symbolic link inside a git work tree"), "{line}");
        assert!(refused.stderr.contains("/other`"), "{line}: {}", refused.stderr);
    }
    // A shell walks to the same path.
    let walked = place.path("docs/nodes").display().to_string();
    let shell = format!("cd {walked} && {} status", env!("CARGO_BIN_EXE_ctx"));
    let refused = place.typed("").shell(&shell).exits(2);
    assert!(refused.stderr.contains("symbolic link"), "{}", refused.stderr);
    place.ctx("verify --vault other").ok();
}

#[test]
fn a_link_in_the_place_of_a_trusted_vault_is_refused_until_its_head_is_forgotten() {
    let (place, before) = three();
    let root = place.root().display().to_string();
    let link = place.home().join("link");
    std::os::unix::fs::symlink(place.root(), &link).unwrap();
    // A link that existed from the start is equivalent to its folder.
    place.args(&["verify", "--vault", &link.display().to_string()]).within(place.home()).run().ok();
    fs::rename(place.root(), place.home().join("away")).unwrap();
    std::os::unix::fs::symlink(before.root(), place.root()).unwrap();
    let verify = || place.args(&["verify", "--vault", &root]).within(place.home()).run();
    let refused = verify().exits(2);
    assert!(refused.stderr.contains("it was a vault with a trusted head"), "{}", refused.stderr);
    place.args(&["head", "forget", &root]).within(place.home()).run().ok();
    verify().ok();
}

/// A CI machine checks out one commit after the other.
#[test]
fn the_latest_trusted_heads_of_detached_commits_stay() {
    let (place, _) = three();
    git(&place, "init -q");
    place.ctx("verify").ok();
    let heads = |place: &Place| {
        let json = place.ctx("head list --json").ok().json("ctx.head.list");
        let refs = json["heads"].as_array().unwrap().iter();
        refs.map(|head| head["ref"].as_str().unwrap_or("none").to_owned()).collect::<BTreeSet<_>>()
    };
    let before = heads(&place);
    let commit = |n: u32| format!("{n:040x}");
    for n in 0..70 {
        place.write(".git/HEAD", commit(n) + "\n");
        place.ctx("verify").ok();
    }
    let mut expected = before;
    expected.extend((6..70).map(commit));
    assert_eq!(heads(&place), expected);
    // The head that is trusted for a commit is still compared.
    place.write(".git/HEAD", commit(6) + "\n");
    place.ctx("verify --json").ok();
    assert_eq!(heads(&place).len(), expected.len());
}

#[test]
fn a_command_does_not_wait_without_limit_for_the_lock_on_the_trusted_head() {
    let (place, _) = three();
    let folders = fs::read_dir(place.home().join(".local/state/contextnest")).unwrap();
    let mut folders = folders.map(|entry| entry.unwrap().path());
    let folder = folders.find(|dir| dir.join("head.json").exists()).unwrap();
    let held = fs::File::open(&folder).unwrap();
    held.lock().unwrap();
    // The published version stays published, and the trusted head stays the one before.
    place.edit("nodes/a.md", "Three.", "Four.");
    let published = place.ctx("publish --changed --lock-timeout 0").ok();
    let why = "another process has held its lock for more than 0 s";
    assert!(published.stderr.contains(why), "{}", published.whole());
    drop(held);
    place.ctx("verify").ok();
    place.ctx("head trust").ok();
}
