//! `ctx merge`: two branches that both published, in real repositories.

use insta::assert_snapshot;
use serde_json::Value;

use crate::anchored::git;
use crate::harness::{Output, Place};

const LOG: &str = ".versions/checkpoints.jsonl";

/// Returns a committed vault with three documents, on the branch `main`.
fn committed() -> Place {
    let place = Place::published(&[
        ("nodes/a", "# A\n\none\n"),
        ("nodes/b", "# B\n\none\n"),
        ("nodes/c", "# C\n\none\n"),
    ]);
    git(&place, "init -q -b main");
    commit(&place, "first");
    place
}

fn commit(place: &Place, name: &str) {
    git(place, "add -A");
    git(place, &format!("commit -q -m {name}"));
}

/// Publishes an edit of each document, each as an event of its own, on the current branch.
fn publish(place: &Place, word: &str, ids: &[&str]) {
    for id in ids {
        let path = format!("{id}.md");
        match place.path(&path).exists() {
            true => place.write(&path, format!("{}\n{word}\n", place.read(&path))),
            false => place.write(&path, format!("---\ntitle: {word}\n---\n\n# {word}\n")),
        }
        place.ctx(&format!("publish {id}")).ok();
    }
    commit(place, word);
}

/// Runs a git command that may stop because of a conflict.
fn try_git(place: &Place, line: &str) -> Output {
    let who = "-c user.name=Ana -c user.email=ana@example.com -c core.editor=true";
    place.typed("").shell(&format!("git {who} {line} 2>&1 || true"))
}

/// Returns a vault in which `topic` and `main` published other documents.
fn diverged() -> Place {
    let place = committed();
    git(&place, "checkout -q -b topic");
    publish(&place, "topic", &["nodes/b", "nodes/b", "nodes/new"]);
    git(&place, "checkout -q main");
    publish(&place, "trunk", &["nodes/a"]);
    place
}

/// Ends the merge as the note of `ctx merge` says.
fn finish(place: &Place) {
    commit(place, "merged");
}

#[test]
fn merge_keeps_what_both_branches_published() {
    let place = diverged();
    let side = git(&place, "show topic:.versions/checkpoints.jsonl");
    assert!(try_git(&place, "merge topic").stdout.contains("CONFLICT"));
    let refused = place.ctx("list").exits(1).stderr;
    assert!(refused.starts_with("error[log-broken]"), "{refused}");
    let before = place.read(LOG);
    let dry = place.ctx("merge --dry-run").ok();
    assert_eq!(place.read(LOG), before);
    assert!(dry.stdout.contains("checkpoint 3 would merge them"), "{}", dry.whole());
    let merged = place.ctx("merge").ok();
    assert_snapshot!(merged.whole(), @"
    exit: 0
    -- stdout
    trunk: main, up to checkpoint 2; branch: topic, 3 checkpoints since checkpoint 1
    checkpoint 3 merges them: nodes/b v3, nodes/new v1
    -- stderr
    next: git add -A && git commit
    ");
    let listed = place.ctx("checkpoint list --merged").ok().stdout;
    assert_eq!(listed.lines().count(), 3, "{listed}");
    let again = place.ctx("merge").ok().stdout;
    assert!(again.contains("the log was merged already"), "{again}");
    finish(&place);
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to checkpoint 2"), "{verified}");
    // Every version keeps its number, author, time and text.
    let log = place.read(LOG);
    for line in side.lines().skip(1) {
        let one: Value = serde_json::from_str(line).unwrap();
        assert!(log.contains(one["checkpoint_hash"].as_str().unwrap()), "{line}");
    }
    let shown = place.ctx("history nodes/b --json").ok().json("ctx.history");
    let versions = shown["versions"].as_array().unwrap();
    assert_eq!(versions.len(), 3);
    assert!(place.ctx("read nodes/b").ok().stdout.contains("topic\n\ntopic"));
    assert!(place.ctx("read nodes/a").ok().stdout.contains("trunk"));
    // Publishing, reading with and without an index, and cloning go on.
    publish(&place, "later", &["nodes/a", "nodes/b", "nodes/new", "nodes/c"]);
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to checkpoint 7"), "{verified}");
    let clone = Place::new();
    git(&clone, &format!("clone -q {} .", place.root().display()));
    clone.ctx("verify").ok();
    clone.ctx("list").ok();
}

#[test]
fn merges_of_both_directions_have_the_same_checkpoint() {
    let (one, other) = (diverged(), diverged());
    let merged = |place: &Place, branch: &str, from: &str| {
        git(place, &format!("checkout -q {branch}"));
        try_git(place, &format!("merge {from}"));
        let now = "2026-11-21T11:00:00.000Z";
        let report = place.ctx(&format!("merge --json --now {now}")).ok().json("ctx.merge");
        let hash = report["checkpoint_hash"].as_str().unwrap().to_owned();
        (hash, place.read(LOG))
    };
    assert_eq!(merged(&one, "main", "topic"), merged(&other, "topic", "main"));
}

#[test]
fn merge_of_a_branch_that_merged_the_trunk_goes_on() {
    let place = diverged();
    git(&place, "checkout -q topic");
    try_git(&place, "merge main");
    place.ctx("merge").ok();
    finish(&place);
    publish(&place, "more", &["nodes/b"]);
    git(&place, "checkout -q main");
    publish(&place, "again", &["nodes/c"]);
    assert!(try_git(&place, "merge topic").stdout.contains("CONFLICT"));
    place.ctx("merge").ok();
    finish(&place);
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to"), "{verified}");
    assert!(place.ctx("read nodes/b").ok().stdout.contains("more"));
}

/// Returns a vault in which both branches published `nodes/a`, and the branch `nodes/b` too; git
/// waits for the merge.
fn in_conflict() -> Place {
    let place = committed();
    git(&place, "checkout -q -b topic");
    publish(&place, "topic", &["nodes/a", "nodes/b"]);
    git(&place, "checkout -q main");
    publish(&place, "trunk", &["nodes/a"]);
    try_git(&place, "merge topic");
    place
}

#[test]
fn merge_keeps_the_branchs_history_of_a_document_that_both_published() {
    let place = in_conflict();
    let theirs = git(&place, "show topic:nodes/.versions/a/history.yaml");
    let merged = place.ctx("merge").exits(1);
    assert!(merged.stdout.contains("conflict: nodes/a (trunk: v2 by "), "{}", merged.whole());
    assert!(merged.stdout.contains("merges them: nodes/b v2"), "{}", merged.whole());
    // The trunk's history stays, and the branch's is aside, byte for byte.
    assert_eq!(
        place.read("nodes/.versions/a/history.yaml").trim(),
        git(&place, "show main:nodes/.versions/a/history.yaml")
    );
    let aside: Vec<String> = place.tree().into_keys().filter(|p| p.contains("/aside/")).collect();
    let [aside] = aside.as_slice() else { panic!("{aside:?}") };
    assert_eq!(place.read(aside).trim(), theirs);
    assert_eq!(place.ctx("read nodes/a").ok().stdout.matches("trunk").count(), 1);
    // The text of the branch is an edit of the trunk's version, which can be published.
    let taken = place.ctx("merge --take branch nodes/a").ok();
    assert!(taken.stdout.contains("nodes/a (trunk: v2"), "{}", taken.whole());
    place.ctx("publish nodes/a").ok();
    finish(&place);
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to"), "{verified}");
    let read = place.ctx("read nodes/a").ok().stdout;
    assert!(read.contains("topic") && !read.contains("trunk"), "{read}");
    // A settled conflict does not return.
    git(&place, "checkout -q topic");
    publish(&place, "more", &["nodes/c"]);
    git(&place, "checkout -q main");
    publish(&place, "later", &["nodes/a"]);
    try_git(&place, "merge topic");
    place.ctx("merge").ok();
    finish(&place);
    place.ctx("verify").ok();
    // Nothing aside can be altered or removed unseen.
    let bytes = place.read(aside);
    place.write(aside, bytes.replace("topic", "forged"));
    assert!(place.ctx("verify").exits(1).stdout.contains("[content-hash-mismatch]"));
    place.remove(aside);
    assert!(place.ctx("verify").exits(1).stdout.contains("[history-missing]"));
}

#[test]
fn merge_of_both_texts_leaves_markers_only_where_lines_overlap() {
    let place = committed();
    let edit = |place: &Place, from: &str, to: &str| {
        place.write("nodes/a.md", place.read("nodes/a.md").replace(from, to));
        place.ctx("publish nodes/a").ok();
        commit(place, "x");
    };
    edit(&place, "one\n", "top\n\none\n\ntwo\n\nend\n");
    git(&place, "checkout -q -b topic");
    edit(&place, "end", "branch");
    git(&place, "checkout -q main");
    edit(&place, "top", "trunk");
    try_git(&place, "merge topic");
    place.ctx("merge").exits(1);
    place.ctx("merge --take both nodes/a").ok();
    place.ctx("publish nodes/a").ok();
    let read = place.ctx("read nodes/a").ok().stdout;
    assert!(read.contains("trunk") && read.contains("branch"), "{read}");
    finish(&place);
    place.ctx("verify").ok();
    // The same line on both sides.
    git(&place, "checkout -q -b second");
    edit(&place, "branch", "left");
    git(&place, "checkout -q main");
    edit(&place, "branch", "right");
    try_git(&place, "merge second");
    let taken = place.ctx("merge --take both nodes/a").exits(1);
    assert!(taken.stdout.contains("it has conflict markers"), "{}", taken.whole());
    assert!(
        place.read("nodes/a.md").contains("<<<<<<< trunk\nright\n=======\nleft\n>>>>>>> branch\n")
    );
    let again = place.ctx("merge").exits(1);
    assert!(again.stderr.contains("edit the conflict markers in nodes/a"), "{}", again.whole());
    place.ctx("merge --take trunk nodes/a").ok();
    finish(&place);
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to"), "{verified}");
}

#[test]
fn merge_of_a_retirement_and_an_edit_keeps_the_trunks_value() {
    let place = committed();
    git(&place, "checkout -q -b topic");
    place.ctx("retire nodes/a").ok();
    commit(&place, "retired");
    git(&place, "checkout -q main");
    publish(&place, "trunk", &["nodes/a"]);
    try_git(&place, "merge topic");
    let merged = place.ctx("merge").exits(1);
    assert!(merged.stdout.contains("branch: v2 (retired)"), "{}", merged.whole());
    place.ctx("merge --take trunk nodes/a").ok();
    finish(&place);
    place.ctx("verify").ok();
    assert!(place.ctx("read nodes/a").ok().stdout.contains("trunk"));
}

#[test]
fn merge_refuses_what_it_cannot_merge() {
    let place = committed();
    let refused = place.ctx("merge").exits(1).stderr;
    assert!(refused.starts_with("error[not-merging]"), "{refused}");
    // Another vault in the same place.
    git(&place, "checkout -q --orphan other");
    git(&place, "rm -rfq .");
    place.typed("").shell("rm -rf .versions .context nodes/.versions").ok();
    let other = Place::published(&[("nodes/x", "# X\n")]);
    place.typed("").shell(&format!("cp -a {}/. .", other.root().display())).ok();
    commit(&place, "other");
    git(&place, "checkout -q -f main");
    try_git(&place, "merge --allow-unrelated-histories other");
    let refused = place.ctx("merge").exits(1).stderr;
    assert!(refused.starts_with("error[two-vaults]"), "{refused}");
}

#[test]
fn rebase_of_a_branch_merges_each_commit() {
    let place = committed();
    git(&place, "checkout -q -b topic");
    publish(&place, "one", &["nodes/b"]);
    publish(&place, "two", &["nodes/c"]);
    git(&place, "checkout -q main");
    publish(&place, "trunk", &["nodes/a"]);
    git(&place, "checkout -q topic");
    try_git(&place, "rebase main");
    for _ in 0..2 {
        place.ctx("merge").ok();
        git(&place, "add -A");
        try_git(&place, "rebase --continue");
    }
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to"), "{verified}");
    let texts = ["nodes/a", "nodes/b", "nodes/c"];
    let words = ["trunk", "one", "two"];
    for (id, word) in texts.iter().zip(words) {
        assert!(place.ctx(&format!("read {id}")).ok().stdout.contains(word), "{id}");
    }
}

#[test]
fn cherry_pick_after_publications_that_are_missing_is_refused() {
    let place = committed();
    git(&place, "checkout -q -b topic");
    publish(&place, "one", &["nodes/b"]);
    publish(&place, "two", &["nodes/c"]);
    git(&place, "checkout -q main");
    publish(&place, "trunk", &["nodes/a"]);
    try_git(&place, "cherry-pick topic");
    let refused = place.ctx("merge").exits(1).stderr;
    assert!(refused.starts_with("error[merge-conflict]"), "{refused}");
    assert!(refused.contains("merge the whole branch"), "{refused}");
}

#[test]
fn altered_merges_are_damage() {
    let place = diverged();
    try_git(&place, "merge topic");
    place.ctx("merge").ok();
    finish(&place);
    let log = place.read(LOG);
    let line = log.lines().last().unwrap();
    let found = |text: String, code: &str| {
        place.write(LOG, text);
        let verified = place.ctx("verify").exits(1).stdout;
        assert!(verified.contains(&format!("[{code}]")), "{code}: {verified}");
        assert!(verified.starts_with("damaged"), "{verified}");
        place.write(LOG, log.clone());
    };
    let mut value: Value = serde_json::from_str(line).unwrap();
    let sides = value["merged"].as_array().unwrap().clone();
    assert_eq!(sides.len(), 3);
    let spelled = |value: &Value| log.replace(line, &serde_json::to_string(value).unwrap());
    // An item is dropped, exchanged with another, repeated or edited.
    value["merged"] = sides[1..].to_vec().into();
    found(spelled(&value), "merge-mismatch");
    value["merged"] = vec![sides[1].clone(), sides[0].clone(), sides[2].clone()].into();
    found(spelled(&value), "merge-mismatch");
    value["merged"] = vec![sides[0].clone(), sides[0].clone(), sides[2].clone()].into();
    found(spelled(&value), "merge-mismatch");
    value["merged"] = sides.clone().into();
    value["merged"][0]["at"] = "2026-11-21T10:00:00.001Z".into();
    found(spelled(&value), "checkpoint-hash-mismatch");
    value["merged"] = sides.into();
    value["merged"][2]["triggered_by"] = "nodes/other".into();
    found(spelled(&value), "checkpoint-hash-mismatch");
}

/// Returns a governed vault in git, on the branch `main`: Bo and Kim review, Ana edits.
fn governed() -> Place {
    let place = Place::published(&[
        ("nodes/a", "# A\n\none\n"),
        ("nodes/b", "# B\n\none\n"),
        ("nodes/c", "# C\n\none\n"),
    ]);
    let role =
        |who: &str, role: &str| format!("  - {{principal: {who}@example.com, role: {role}}}\n");
    let (bo, kim, ana) = (role("bo", "reviewer"), role("kim", "reviewer"), role("ana", "editor"));
    place.write("stewards.yaml", format!("version: 1\nvault:\n{bo}{kim}{ana}"));
    place.ctx("govern on").ok();
    git(&place, "init -q -b main");
    commit(&place, "first");
    place
}

/// Runs each command as its principal; the word `edit` changes a text instead.
fn steps(place: &Place, branch: &str, steps: &[(&str, &str)]) {
    for (who, line) in steps {
        match line.strip_prefix("edit ") {
            Some(id) => place.write(
                &format!("{id}.md"),
                format!("{}\n{branch}\n", place.read(&format!("{id}.md"))),
            ),
            None => drop(place.ctx(&format!("{line} --as {who}@example.com")).ok()),
        }
    }
    commit(place, branch);
}

#[test]
fn merge_of_governed_branches_carries_what_was_approved() {
    let place = governed();
    git(&place, "checkout -q -b topic");
    let approved = [
        ("ana", "edit nodes/b"),
        ("ana", "submit nodes/b"),
        ("kim", "approve nodes/b"),
        ("ana", "edit nodes/c"),
        ("ana", "submit nodes/c"),
    ];
    steps(&place, "topic", &approved);
    git(&place, "checkout -q main");
    let approved = [("ana", "edit nodes/a"), ("ana", "submit nodes/a"), ("bo", "approve nodes/a")];
    steps(&place, "trunk", &approved);
    try_git(&place, "merge topic");
    let merged = place.ctx("merge").ok();
    assert!(merged.stdout.contains("merges them: nodes/b v"), "{}", merged.whole());
    finish(&place);
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to"), "{verified}");
    assert!(place.ctx("read nodes/b").ok().stdout.contains("topic"));
    assert!(place.ctx("read nodes/a").ok().stdout.contains("trunk"));
    // A pending submission of the branch still waits, and its submitter may not approve it.
    let waits = place.ctx("review --as kim@example.com").ok().stdout;
    assert!(waits.contains("nodes/c"), "{waits}");
    place.ctx("approve nodes/c --as kim@example.com").ok();
    place.ctx("verify").ok();
}

#[test]
fn merge_of_governed_branches_keeps_authors_and_removed_reviewers_out() {
    let place = governed();
    git(&place, "checkout -q -b topic");
    let approved = [("bo", "edit nodes/b"), ("bo", "submit nodes/b"), ("kim", "approve nodes/b")];
    steps(&place, "topic", &approved);
    git(&place, "checkout -q main");
    let approved = [("ana", "edit nodes/b"), ("ana", "submit nodes/b"), ("kim", "approve nodes/b")];
    steps(&place, "trunk", &approved);
    try_git(&place, "merge topic");
    place.ctx("merge").exits(1);
    place.ctx("merge --take branch nodes/b").ok();
    // Ana submits it, but the text is Bo's.
    place.ctx("submit nodes/b --as ana@example.com").ok();
    let refused = place.ctx("approve nodes/b --as bo@example.com").exits(3).stderr;
    assert!(refused.contains("submitted"), "{refused}");
    place.ctx("approve nodes/b --as kim@example.com").ok();
    finish(&place);
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to"), "{verified}");

    // The trunk removed Kim, who approved on the branch.
    let place = governed();
    git(&place, "checkout -q -b topic");
    let approved = [("ana", "edit nodes/b"), ("ana", "submit nodes/b"), ("kim", "approve nodes/b")];
    steps(&place, "topic", &approved);
    git(&place, "checkout -q main");
    let stewards = place.read("stewards.yaml");
    let kim = stewards.lines().find(|line| line.contains("kim")).unwrap();
    place.write("stewards.yaml", stewards.replace(&format!("{kim}\n"), ""));
    let submitted = [("ana", "submit stewards.yaml"), ("bo", "approve stewards.yaml")];
    steps(&place, "trunk", &submitted);
    try_git(&place, "merge topic");
    let merged = place.ctx("merge").exits(1).stdout;
    assert!(merged.contains("its approval does not hold on the trunk"), "{merged}");
    place.ctx("merge --take trunk nodes/b").ok();
    finish(&place);
    place.ctx("verify").ok();
    assert!(!place.ctx("read nodes/b").ok().stdout.contains("topic"));
}

#[test]
fn merge_keeps_each_event_of_a_governed_branch() {
    let place = governed();
    git(&place, "checkout -q -b topic");
    let approved = [
        ("ana", "edit nodes/b"),
        ("ana", "submit nodes/b"),
        ("kim", "approve nodes/b"),
        ("ana", "edit nodes/c"),
        ("ana", "submit nodes/c"),
        ("bo", "approve nodes/c"),
        ("ana", "edit nodes/b"),
        ("ana", "submit nodes/b"),
        ("bo", "approve nodes/b"),
    ];
    steps(&place, "topic", &approved);
    git(&place, "checkout -q main");
    let approved = [("ana", "edit nodes/a"), ("ana", "submit nodes/a"), ("bo", "approve nodes/a")];
    steps(&place, "trunk", &approved);
    try_git(&place, "merge topic");
    place.ctx("merge").ok();
    finish(&place);
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to"), "{verified}");
    for id in ["nodes/b", "nodes/c"] {
        assert!(place.ctx(&format!("read {id}")).ok().stdout.contains("topic"), "{id}");
    }
}

#[test]
fn merge_carries_an_approved_move() {
    let place = governed();
    git(&place, "checkout -q -b topic");
    let moved = [
        ("ana", "edit nodes/b"),
        ("ana", "submit nodes/b"),
        ("kim", "approve nodes/b"),
        ("ana", "mv nodes/b nodes/moved"),
        ("kim", "approve nodes/b"),
    ];
    steps(&place, "topic", &moved);
    git(&place, "checkout -q main");
    let approved = [("ana", "edit nodes/a"), ("ana", "submit nodes/a"), ("bo", "approve nodes/a")];
    steps(&place, "trunk", &approved);
    steps(
        &place,
        "more",
        &[("ana", "edit nodes/c"), ("ana", "submit nodes/c"), ("bo", "approve nodes/c")],
    );
    try_git(&place, "merge topic");
    place.ctx("merge").ok();
    finish(&place);
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to"), "{verified}");
    assert!(place.ctx("read nodes/moved").ok().stdout.contains("topic"));
}

/// Registers the merge driver for the files of a vault.
fn with_driver(place: &Place) {
    let ctx = env!("CARGO_BIN_EXE_ctx");
    place
        .typed("")
        .shell(&format!("git config merge.ctx.driver '{ctx} merge-driver %O %A %B %P'"))
        .ok();
    let lines = "**/.versions/checkpoints.jsonl merge=ctx\n**/.versions/**/history.yaml merge=ctx\n\
                 *.md merge=ctx\ncontext.yaml merge=ctx\n";
    place.write(".git/info/attributes", lines);
}

#[test]
fn the_driver_merges_and_rebases_without_a_command() {
    let place = diverged();
    with_driver(&place);
    let merged = try_git(&place, "merge topic");
    assert!(!merged.stdout.contains("CONFLICT"), "{}", merged.whole());
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to"), "{verified}");
    assert!(place.ctx("read nodes/b").ok().stdout.contains("topic\n\ntopic"));
    // A rebase of several commits.
    git(&place, "checkout -q -b second");
    publish(&place, "one", &["nodes/b"]);
    publish(&place, "two", &["nodes/c"]);
    git(&place, "checkout -q main");
    publish(&place, "three", &["nodes/a"]);
    git(&place, "checkout -q second");
    let rebased = try_git(&place, "rebase main");
    assert!(!rebased.stdout.contains("CONFLICT"), "{}", rebased.whole());
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to"), "{verified}");
    for (id, word) in [("nodes/a", "three"), ("nodes/b", "one"), ("nodes/c", "two")] {
        assert!(place.ctx(&format!("read {id}")).ok().stdout.contains(word), "{id}");
    }
}

#[test]
fn the_driver_leaves_a_document_in_conflict_to_the_command() {
    let place = committed();
    with_driver(&place);
    git(&place, "checkout -q -b topic");
    publish(&place, "topic", &["nodes/a", "nodes/b"]);
    git(&place, "checkout -q main");
    publish(&place, "trunk", &["nodes/a"]);
    assert!(try_git(&place, "merge topic").stdout.contains("CONFLICT"));
    // Nothing is read or published until the merge is settled.
    let refused = place.ctx("publish --changed").exits(1).stderr;
    assert!(refused.contains("`ctx merge` joins their logs"), "{refused}");
    place.ctx("merge").exits(1);
    place.ctx("merge --take trunk nodes/a").ok();
    finish(&place);
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to"), "{verified}");
    assert!(place.ctx("read nodes/b").ok().stdout.contains("topic"));
}

#[test]
fn the_driver_keeps_an_edit_of_a_document_that_the_branch_published() {
    let place = Place::published(&[("nodes/a", "# A\n\none\n\ntwo\n\nthree\n")]);
    git(&place, "init -q -b main");
    commit(&place, "first");
    with_driver(&place);
    git(&place, "checkout -q -b topic");
    place.edit("nodes/a.md", "three", "published");
    place.ctx("publish nodes/a").ok();
    commit(&place, "topic");
    git(&place, "checkout -q main");
    place.edit("nodes/a.md", "one", "edited");
    commit(&place, "edited");
    let merged = try_git(&place, "merge topic");
    assert!(!merged.stdout.contains("CONFLICT"), "{}", merged.whole());
    let text = place.read("nodes/a.md");
    assert!(text.contains("edited") && text.contains("published\n"), "{text}");
    place.ctx("verify --allow-drift").ok();
    place.ctx("publish nodes/a").ok();
    place.ctx("verify").ok();
}

#[test]
fn merge_of_two_reviews_of_one_document_keeps_both() {
    let place = governed();
    git(&place, "checkout -q -b topic");
    steps(&place, "topic", &[("ana", "edit nodes/b"), ("ana", "submit nodes/b")]);
    git(&place, "checkout -q main");
    steps(&place, "trunk", &[("bo", "edit nodes/b"), ("bo", "submit nodes/b")]);
    // No side published, so only the history is in conflict.
    try_git(&place, "merge topic");
    let merged = place.ctx("merge").exits(1);
    assert!(merged.stdout.contains("conflict: nodes/b"), "{}", merged.whole());
    assert!(merged.stdout.contains("the steps of the branch are kept aside"), "{}", merged.whole());
    assert!(place.ctx("merge").exits(1).stdout.contains("conflict: nodes/b"));
    place.ctx("merge --take trunk nodes/b").ok();
    finish(&place);
    place.ctx("verify").ok();
    let waits = place.ctx("review --as kim@example.com").ok().stdout;
    assert!(waits.contains("nodes/b"), "{waits}");
    // The submitter of the branch is an author of a text of it.
    place.ctx("approve nodes/b --as kim@example.com").ok();
    place.ctx("verify").ok();
}

#[test]
fn merge_of_governed_branches_needs_a_known_trunk() {
    let place = governed();
    git(&place, "branch -m main dev");
    git(&place, "checkout -q -b topic");
    let approved = [("ana", "edit nodes/b"), ("ana", "submit nodes/b"), ("kim", "approve nodes/b")];
    steps(&place, "topic", &approved);
    git(&place, "checkout -q dev");
    let approved = [("ana", "edit nodes/a"), ("ana", "submit nodes/a"), ("bo", "approve nodes/a")];
    steps(&place, "dev", &approved);
    try_git(&place, "merge topic");
    let refused = place.ctx("merge").exits(1).stderr;
    assert!(refused.contains("git config contextnest.trunk BRANCH"), "{refused}");
    git(&place, "config contextnest.trunk dev");
    place.ctx("merge").ok();
    finish(&place);
    place.ctx("verify").ok();
}

#[test]
fn a_merge_that_git_takes_back_leaves_an_intact_vault() {
    let place = in_conflict();
    place.ctx("merge").exits(1);
    git(&place, "merge --abort");
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to"), "{verified}");
    assert!(verified.contains("a merge was taken back"), "{verified}");
}

#[test]
fn the_driver_stops_a_revert_of_an_earlier_publication() {
    let place = committed();
    with_driver(&place);
    publish(&place, "one", &["nodes/a"]);
    publish(&place, "two", &["nodes/b"]);
    let reverted = try_git(&place, "revert --no-edit HEAD~1");
    assert!(reverted.stdout.contains("CONFLICT"), "{}", reverted.whole());
    git(&place, "revert --abort");
    place.ctx("verify").ok();
}

#[test]
fn a_document_that_the_branch_published_and_retired_can_be_published_again() {
    let place = committed();
    git(&place, "checkout -q -b topic");
    publish(&place, "topic", &["nodes/b"]);
    place.ctx("retire nodes/b").ok();
    commit(&place, "retired");
    git(&place, "checkout -q main");
    publish(&place, "trunk", &["nodes/a"]);
    try_git(&place, "merge topic");
    place.ctx("merge").ok();
    finish(&place);
    place.ctx("verify").ok();
    place.ctx("restore nodes/b").ok();
    place.ctx("publish nodes/b").ok();
    place.ctx("verify").ok();
}

#[test]
fn merge_after_a_squash_takes_the_longer_change_log() {
    let place = committed();
    git(&place, "checkout -q -b topic");
    publish(&place, "one", &["nodes/a"]);
    git(&place, "checkout -q main");
    git(&place, "merge -q --squash topic");
    commit(&place, "squashed");
    git(&place, "checkout -q topic");
    publish(&place, "two", &["nodes/b"]);
    try_git(&place, "merge main");
    place.ctx("merge").ok();
    finish(&place);
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to"), "{verified}");
}

#[test]
fn merge_names_a_document_with_conflict_markers() {
    let place = committed();
    git(&place, "checkout -q -b topic");
    publish(&place, "topic", &["nodes/a"]);
    git(&place, "checkout -q main");
    place.edit("nodes/a.md", "one", "edited");
    publish(&place, "trunk", &["nodes/b"]);
    try_git(&place, "merge topic");
    let merged = place.ctx("merge").exits(1);
    assert!(merged.stderr.contains("`nodes/a.md` has conflict markers"), "{}", merged.whole());
}
