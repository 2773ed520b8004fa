//! What is known of a log from outside of the vault: the remembered head, `--expect-head`,
//! `--since`, and `ctx head`.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::harness::{Place, files_in};
use crate::tampering::LOG;

/// Three checkpoints, and a copy of the vault after the second.
fn three() -> (Place, Place) {
    let place = Place::published(&[("nodes/a", "# A\n\nOne.\n"), ("nodes/b", "# B\n")]);
    place.edit("nodes/a.md", "One.", "Two.");
    place.ctx("publish --changed").ok();
    let before = place.twin();
    place.edit("nodes/a.md", "Two.", "Three.");
    place.ctx("publish --changed").ok();
    (place, before)
}

/// Puts the files of one vault in the place of another's.
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

    Damage: what was recorded was altered, or is gone:
      [head-rollback] .versions/checkpoints.jsonl, checkpoint 3: it is remembered here, but the log ends at checkpoint 2
          expected sha256:8a5f13dd1ca5d62278bd007d9edae63e5cc98ceb6e015d3b59b131ae41ac174a
          in .versions/checkpoints.jsonl

    What it means, and what to do:
      [head-rollback] The log no longer has a checkpoint that is known from elsewhere.
          If the vault was put back on purpose, say so with `ctx head trust`. Else bring the log and the histories back from git or a backup: what is missing there was published once.
    -- stderr
    hint: `ctx help CODE` says more of a finding
    ");
    let tree = place.tree();
    place.edit("nodes/a.md", "Two.", "Four.");
    let tree_edited = place.tree();
    assert_snapshot!(place.ctx("publish --changed").whole(), @"
    exit: 4
    -- stdout
    -- stderr
    error[head-rollback]: checkpoint 3 (8a5f13dd1ca5) is remembered here, but the log ends at checkpoint 2
    hint: nothing was written; bring the log back from git or a backup, and run `ctx verify`
    hint: if the vault was changed on purpose, `ctx head trust` remembers the log as it is
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
    // It is still there to be read.
    assert!(place.ctx("read nodes/a").ok().stdout.contains("Two."));

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
    // Another vault altogether differs from the first checkpoint on.
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
fn nothing_is_anchored_by_an_empty_log() {
    let place = Place::vault();
    let head = place.ctx("head --json").exits(1).json("ctx.head");
    assert_eq!((&head["checkpoint"], &head["remembered"]["checkpoint"]), (&0.into(), &0.into()));
    // Somebody else's vault in the place of the empty one.
    replace(&place, &Place::published(&[("nodes/x", "# X\n")]));
    assert!(place.ctx("verify").ok().stdout.starts_with("intact, not anchored\n"));
    // That verification was remembered.
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
    checkpoint 3 of 2026-11-21T10:00:03.000Z
    ");
    let hash = head.stdout.trim();
    let bare = |place: &Place, line: &str| place.typed(line).without("HOME").run();
    let verdict =
        |line: String| bare(&place, &line).stdout.lines().take(2).collect::<Vec<_>>().join("\n");
    assert_snapshot!(verdict(format!("verify --expect-head {hash}")), @"
    intact, anchored to checkpoint 3
      anchor: checkpoint 3, as expected
    ");
    // An older head holds too, and says what it does not vouch for.
    let older = bare(&before, "head").ok().stdout;
    let text = bare(&place, &format!("verify --expect-head {}", older.trim())).ok().stdout;
    assert!(text.contains("newer than the anchor: checkpoint 3\n"), "{text}");
    assert_snapshot!(bare(&before, &format!("verify --expect-head {hash}")).whole(), @"
    exit: 1
    -- stdout
    damaged
      2 checkpoints, 4 artifacts, 5 versions recomputed
      head: checkpoint 2, sha256:f8759c8328fab6fe6bcb4099be5653809070e2873f170ff006c7a1c2b51465d8

    Damage: what was recorded was altered, or is gone:
      [head-rollback] .versions/checkpoints.jsonl: no checkpoint has the hash that is expected; the log ends at checkpoint 2
          expected sha256:8a5f13dd1ca5d62278bd007d9edae63e5cc98ceb6e015d3b59b131ae41ac174a
          in .versions/checkpoints.jsonl

    What it means, and what to do:
      [head-rollback] The log no longer has a checkpoint that is known from elsewhere.
          If the vault was put back on purpose, say so with `ctx head trust`. Else bring the log and the histories back from git or a backup: what is missing there was published once.
    -- stderr
    hint: `ctx help CODE` says more of a finding
    ");
    let misuse = place.ctx("verify --expect-head 5f70").exits(2);
    assert_snapshot!(misuse.stderr, @"
    error[usage]: `5f70` is no checkpoint hash: expected `sha256:`, but found `5f70`
    hint: `ctx head` prints one
    ");
}

#[test]
fn what_is_remembered_can_be_listed_and_forgotten() {
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
    forgotten
    -- stderr
    ");
    assert_eq!(place.ctx("head list").ok().stdout, "");
    assert_eq!(place.ctx("head forget").ok().stdout, "nothing was remembered\n");
    assert!(place.ctx("verify").ok().stdout.starts_with("intact, not anchored\n"));
    let nowhere = place.typed("head trust").without("HOME").run().exits(2);
    assert_snapshot!(nowhere.stderr, @"
    error[usage]: there is no place to remember a head in
    hint: set HOME or XDG_STATE_HOME to a folder outside of the vault
    ");
}

#[test]
fn a_memory_that_cannot_be_read_stops_writers() {
    let (place, _) = three();
    let dir = place.home().join(".local/state/contextnest");
    let memory = fs::read_dir(&dir).unwrap().next().unwrap().unwrap().path().join("head.json");
    let text = fs::read_to_string(&memory).unwrap();
    let live = place.read("nodes/b.md");
    for broken in ["", "{}", "\0\0\0", &text.replace("sha256:", "sha1:")] {
        fs::write(&memory, broken).unwrap();
        let verify = place.ctx("verify").ok();
        assert!(verify.stdout.starts_with("intact, not anchored\n"), "{}", verify.stdout);
        assert!(verify.stderr.starts_with("warning: the remembered head in"), "{}", verify.stderr);
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
fn a_memory_inside_of_the_vault_is_none() {
    let (place, before) = three();
    let state = place.path(".context/local").display().to_string();
    replace(&place, &before);
    let verify = place.typed("verify").var("XDG_STATE_HOME", &state).run().ok();
    assert!(verify.stdout.starts_with("intact, not anchored\n"), "{}", verify.stdout);
}

#[test]
fn what_a_dead_command_left_is_told_from_a_forgery_by_the_memory() {
    let (place, _) = three();
    let log = place.read(LOG);
    // The histories were written, the checkpoint was not.
    place.edit("nodes/a.md", "Three.", "Four.");
    let history = "nodes/.versions/a/history.yaml";
    let twin = place.twin();
    twin.ctx("publish --changed").ok();
    place.write(history, twin.bytes(history));
    place.write("nodes/a.md", place.read("nodes/a.md").replace("Four.", "Three."));
    place.write(LOG, format!("{log}{{\"at\""));
    let report = place.ctx("verify --json").ok().json("ctx.verify");
    assert_eq!(
        (report["verdict"].as_str(), codes(&report)),
        (Some("intact, anchored"), vec!["unfinished"; 2])
    );
    let bare = place.typed("verify --json").without("HOME").run().exits(1).json("ctx.verify");
    assert_eq!(codes(&bare), ["torn-tail", "published-unsealed"]);
}

/// Runs git in the vault.
fn git(place: &Place, line: &str) -> String {
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
    // The same, where the vault is not the root of the repository.
    let nested = Place::new();
    for (path, bytes) in files_in(place.root()) {
        nested.write(&format!("docs/vault/{path}"), bytes);
    }
    git(&nested, "init -q");
    git(&nested, "add -A");
    git(&nested, "commit -q -m three");
    let verify = nested.typed("verify --since main --vault docs/vault").without("HOME").run().ok();
    assert!(verify.stdout.starts_with("intact, anchored to checkpoint 3\n"), "{}", verify.stdout);

    // A log that was cut or written anew does not begin with what git has.
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
    error[usage]: git has no revision `nowhere` here
    hint: name a commit, branch or tag of the repository that holds the vault; a shallow clone may lack it
    ");
    before.ctx("verify --since=-x").exits(2);
    before.ctx("verify --since=--output=/tmp/x").exits(2);
}

#[test]
fn another_branch_or_commit_is_another_memory() {
    let (place, _) = three();
    git(&place, "init -q");
    git(&place, "add -A");
    git(&place, "commit -q -m three");
    place.ctx("verify").ok();
    git(&place, "checkout -q -b topic");
    place.edit("nodes/a.md", "Three.", "Four.");
    place.ctx("publish --changed").ok();
    git(&place, "commit -q -a -m four");
    // Back on main the log is shorter, and was never longer there.
    git(&place, "checkout -q main");
    assert!(place.ctx("verify").ok().stdout.starts_with("intact, anchored to checkpoint 3\n"));
    git(&place, "checkout -q --detach topic");
    place.ctx("verify").ok();
    git(&place, "checkout -q --detach main");
    place.ctx("verify").ok();
    // Put back on the same branch it is.
    git(&place, "checkout -q topic");
    git(&place, "reset -q --hard HEAD~1");
    let json = place.ctx("verify --json").exits(1).json("ctx.verify");
    assert_eq!(codes(&json), ["head-rollback"]);
}
