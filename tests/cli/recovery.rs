//! Uncommitted files of interrupted commands, and how the next command treats them.

use insta::assert_snapshot;

use crate::harness::{Place, instant_of};

const LOG: &str = ".versions/checkpoints.jsonl";
const HISTORY: &str = "nodes/.versions/a/history.yaml";

/// Returns a vault with two published versions of a document, and a copy from before the second.
fn two() -> (Place, Place) {
    let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
    let before = place.duplicate();
    // A trusted head belongs to one place.
    before.ctx("verify").ok();
    place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    place.ctx("publish nodes/a").ok();
    (place, before)
}

/// Returns a vault with version 2 in the history, whose writer died before its checkpoint.
fn interrupted_before_its_commit() -> Place {
    let (after, before) = two();
    before.write(HISTORY, after.bytes(HISTORY));
    before.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    before.began(&instant_of(&after.read(HISTORY)));
    before
}

#[test]
fn unsealed_versions_are_kept_and_the_next_publication_works() {
    let place = interrupted_before_its_commit();
    assert_snapshot!(place.ctx("verify --allow-drift").ok().stdout, @"
    intact, working copy differs
      anchor: checkpoint 1, trusted on this machine since 2026-11-21T10:00:02.000Z
      1 checkpoint, 3 artifacts, 3 versions recomputed
      head: checkpoint 1, sha256:c8cda864f998076dc45b7620db48a3aab69fa64d2556ecc46e57eba16af5045d

    Working copy: live files that differ from their published versions:
      [drift] nodes/a: the live file differs from the published text from line 13 on
          in nodes/a.md

    Notes:
      [unfinished] nodes/a: it ends in 1 entry that no checkpoint seals
          in nodes/.versions/a/history.yaml

    Meaning and remedy:
      [drift] A live file differs from the published text and is not a draft.
          `ctx diff ID` shows the change, `ctx publish --changed` publishes it; for a file of an older version, or one that says that it is not for use, `ctx status` says what to do. `ctx restore --force ID` undoes the change: it is lost.
    ");
    assert!(!place.ctx("read nodes/a").ok().stdout.contains("more"), "nobody serves it");
    assert_snapshot!(place.ctx("recover --dry-run").ok().whole(), @"
    exit: 0
    -- stdout
    1 uncommitted file would be moved to .context/local/recovered/
      nodes/.versions/a/history.yaml  unsealed entries  861 bytes  ana@example.com, 2026-11-21T10:00:02.000Z
    -- stderr
    ");
    let tail = place.read(HISTORY).split_once("  - version: 2").unwrap().1.to_owned();
    let before = place.tree();
    place.ctx("recover --dry-run --json").ok();
    assert_eq!(place.tree(), before);
    assert_snapshot!(place.ctx("publish nodes/a").ok().whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 1 version, 2026-11-21T10:00:07.000Z
      changed  nodes/a  v2
    -- stderr
    note: 1 uncommitted file of an interrupted command moved to .context/local/recovered/1/
    ");
    let kept = place.read(".context/local/recovered/1/nodes/versions/a/history.yaml.end");
    assert_eq!(kept, format!("  - version: 2{tail}"));
    place.ctx("verify").ok();
    assert_eq!(place.ctx("recover").ok().stdout, "nothing to clean up\n");
}

#[test]
fn an_entry_that_was_cut_short_hides_nothing_that_is_sealed() {
    let place = interrupted_before_its_commit();
    let whole = place.bytes(HISTORY);
    let sealed = place.read(HISTORY).find("  - version: 2").unwrap();
    let at = instant_of(&place.read(HISTORY));
    for end in (sealed + 3..whole.len()).step_by(7) {
        place.write(HISTORY, &whole[..end]);
        place.began(&at);
        assert_eq!(
            place.ctx("history nodes/a --json").ok().json("ctx.history")["versions"]
                .as_array()
                .unwrap()
                .len(),
            1,
            "{end}"
        );
        place.ctx("read nodes/a").ok();
        place.ctx("verify --allow-drift").ok();
        place.typed("verify --allow-drift").without("HOME").run().exits(1);
        place.ctx("recover").ok();
        assert_eq!(place.bytes(HISTORY), whole[..sealed], "{end}");
    }
    // A power cut may leave such bytes.
    for rubbish in [&b"\0\0\0\0"[..], b"\0\0\n\0", b"  - \xff\xfe"] {
        place.write(HISTORY, [&whole[..sealed], rubbish].concat());
        place.began(&at);
        place.ctx("read nodes/a").ok();
        place.ctx("verify --allow-drift").ok();
        place.ctx("recover").ok();
        assert_eq!(place.bytes(HISTORY), whole[..sealed], "{rubbish:?}");
    }
}

#[test]
fn a_torn_end_of_the_log_is_kept_where_a_writer_said_that_it_begins() {
    for rubbish in [&b"{\"at\":\"2026"[..], b"\0\0\0", b"\0\0\0\n", b"{}\n"] {
        let place = Place::published(&[("nodes/a", "# A\n")]);
        let log = place.bytes(LOG);
        place.write(LOG, [&log[..], rubbish].concat());
        // A trusted head alone proves nothing: another principal may have published since.
        place.ctx("verify").exits(1);
        place.ctx("retire nodes/a").exits(1);
        place.began("2026-11-21T10:00:02.000Z");
        place.ctx("read nodes/a").ok();
        place.ctx("verify").ok();
        place.typed("verify").without("HOME").run().exits(1);
        place.typed("retire nodes/a").without("HOME").run().exits(1);
        place.ctx("retire nodes/a").ok();
        assert_eq!(
            place.bytes(".context/local/recovered/1/versions/checkpoints.jsonl.end"),
            rubbish
        );
        assert!(place.bytes(LOG).starts_with(&log));
        place.ctx("verify").ok();
    }
}

#[test]
fn damage_before_the_end_of_the_log_is_not_torn() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A\n", "# B\n");
    place.ctx("publish nodes/a").ok();
    let log = place.read(LOG);
    place.write(LOG, log.replacen("\"checkpoint\":1", "\"checkpoint\":", 1));
    place.write("nodes/.versions/a/v9.md", "left\n");
    assert_snapshot!(place.ctx("recover").exits(1).whole(), @"
    exit: 1
    -- stdout
    lost: checkpoint 1: not a checkpoint: expected value at line 1 column 47
    -- stderr
    hint: restore what is lost from git or a backup; `ctx verify` reports more
    error[log-broken]: `.versions/checkpoints.jsonl`, entry 1: not a checkpoint: expected value at line 1 column 47
    hint: nothing was written; run `ctx verify` for a full report
    hint: `ctx checkpoint rebuild --dry-run` shows the log that the histories produce
    ");
    assert!(place.has("nodes/.versions/a/v9.md"), "nothing is moved beside damage");
}

#[test]
fn recover_names_lost_versions() {
    let (place, _) = two();
    place.remove("nodes/.versions/a/v1.md");
    assert_snapshot!(place.ctx("recover").exits(1).whole(), @"
    exit: 1
    -- stdout
    nothing to clean up
    lost: nodes/a version 1: the keyframe `nodes/.versions/a/v1.md` is missing
    lost: nodes/a version 2: the version before it cannot be rebuilt
    -- stderr
    hint: restore what is lost from git or a backup; `ctx verify` reports more
    ");
}

#[test]
fn without_a_trusted_head_the_user_decides() {
    let place = interrupted_before_its_commit();
    let before = place.tree();
    let recover = |line| place.typed(line).without("HOME").run();
    assert_snapshot!(recover("recover").exits(4).whole(), @"
    exit: 4
    -- stdout
    -- stderr
    error[unexplained]: no intent record on this machine explains 1 uncommitted file
      nodes/.versions/a/history.yaml: unsealed entries, 861 bytes, ana@example.com, 2026-11-21T10:00:02.000Z
    hint: either a command was interrupted, or the log was truncated: check the files
    hint: after an interrupted command, `ctx recover --force` moves them to .context/local/recovered/
    hint: after a truncation, restore the log, or see what `ctx checkpoint rebuild --dry-run` reports about them
    ");
    recover("publish nodes/a").exits(1);
    assert_eq!(place.tree(), before);
    recover("recover --force").ok();
    recover("publish nodes/a").ok();
    place.ctx("verify").ok();
}

/// The user has not seen later publications, but a log that was truncated to the trusted head is
/// still found.
#[test]
fn an_old_trusted_head_excuses_nothing() {
    let (place, before) = two();
    let cut = |place: &Place| {
        for (path, bytes) in place.tree().iter().filter(|(path, _)| path.contains(".versions")) {
            before.write(path, bytes);
        }
        before.write("nodes/a.md", place.bytes("nodes/a.md"));
    };
    let log = before.bytes(LOG);
    cut(&place);
    before.write(LOG, &log);
    let tree = before.tree();
    assert_snapshot!(before.ctx("verify").exits(1).stdout.lines().next().unwrap(), @"unsettled");
    before.ctx("publish --all").exits(1);
    before.ctx("recover").exits(4);
    // The intent record does not explain it either: the other version has another time.
    before.began("2026-11-21T10:00:02.500Z");
    before.ctx("verify").exits(1);
    before.ctx("publish --all").exits(1);
    before.began("2026-11-21T10:00:02.500Z");
    before.ctx("recover").exits(4);
    assert_eq!(before.tree(), tree);
    // The log that the record belongs to explains it.
    cut(&place);
    before.ctx("verify").ok();
}

/// Without the hint in the vault, the intent record still leads to the uncommitted files.
#[test]
fn recovery_works_without_the_hint() {
    let place = interrupted_before_its_commit();
    place.write("nodes/b.md", "# B\n");
    let output = place.ctx("publish nodes/b").ok();
    assert!(output.stderr.contains("1 uncommitted file"), "{}", output.stderr);
    place.ctx("verify --allow-drift").ok();
    // It is searched for once.
    place.write(HISTORY, [place.bytes(HISTORY), b"  - ver".to_vec()].concat());
    place.ctx("verify --allow-drift").exits(1);
}

/// Returns a vault whose last command was interrupted right after its commit, with its
/// intent record.
fn interrupted_after(line: &str) -> Place {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    let before = place.duplicate();
    place.ctx(line).ok();
    for path in ["nodes/a.md", "nodes/b.md", "nodes/c.md"] {
        if before.has(path) {
            place.write(path, before.bytes(path));
        } else if place.has(path) {
            place.remove(path);
        }
    }
    place.write(".context/local/event", "[\"nodes/a\"]\n");
    place
}

#[test]
fn files_that_were_left_behind_become_what_was_published() {
    for line in ["publish nodes/a", "retire nodes/b", "mv nodes/b nodes/c", "add nodes/c --body x"]
    {
        let place = interrupted_after(line);
        let whole = place.duplicate();
        whole.remove(".context/local");
        // Files in the vault are not trusted: without an intent record nothing is searched for.
        assert!(place.ctx("recover --dry-run").ok().stdout.contains("updated"), "{line}");
        let output = place.ctx("pack add p --query '#x'").ok();
        let output = if place.has(".context/local/event") {
            place.ctx("publish --changed").ok()
        } else {
            output
        };
        assert!(output.stderr.contains("updated"), "{line}: {}", output.stderr);
        if line != "publish nodes/a" {
            place.ctx("verify --allow-drift").ok();
        } else {
            place.ctx("verify").ok();
        }
        assert_eq!(place.has("nodes/c.md"), line.contains("nodes/c"), "{line}");
        assert_eq!(place.has("nodes/b.md"), !line.starts_with("mv"), "{line}");
        let retired = line.starts_with("retire");
        assert!(!retired || place.read("nodes/b.md").contains("status: draft"), "{line}");
    }
}

#[test]
fn a_file_that_was_moved_before_its_event_was_interrupted_is_brought_up_to_date() {
    let place = Place::published(&[("nodes/b", "# B\n\nText.\n")]);
    std::fs::rename(place.path("nodes/b.md"), place.path("nodes/c.md")).unwrap();
    let by_hand = place.bytes("nodes/c.md");
    place.ctx("mv nodes/b nodes/c").ok();
    let recorded = place.read("nodes/c.md");
    place.write("nodes/c.md", by_hand);
    place.write(".context/local/event", "[\"nodes/c\"]\n");
    assert!(place.ctx("recover").ok().stdout.contains("nodes/c.md"));
    assert_eq!(place.read("nodes/c.md"), recorded);
    assert!(!place.has("nodes/b.md"));
}

#[test]
fn an_edit_that_was_saved_meanwhile_is_not_undone() {
    let place = interrupted_after("publish nodes/a");
    place.edit("nodes/a.md", "more", "other");
    place.ctx("publish nodes/b").ok();
    assert!(place.read("nodes/a.md").contains("other"));
    assert!(!place.has(".context/local/event"), "somebody has looked");
}

#[test]
fn an_interrupted_first_event_leaves_an_empty_vault() {
    let place = Place::vault();
    place.write("nodes/a.md", "# A\n");
    let before = place.duplicate();
    before.ctx("verify").ok();
    place.ctx("publish nodes/a").ok();
    before.write(HISTORY, place.bytes(HISTORY));
    before.write("nodes/.versions/a/v1.md", place.bytes("nodes/.versions/a/v1.md"));
    before.began(&instant_of(&place.read(HISTORY)));
    assert_snapshot!(before.ctx("verify").ok().stdout, @"
    nothing published
      0 checkpoints, 1 artifact, 0 versions recomputed

    Notes:
      [policy-unsealed] .context/config.yaml: no checkpoint contains it
          in .context/config.yaml
      [policy-unsealed] CONTEXT.md: no checkpoint contains it
          in CONTEXT.md
      [unfinished] nodes/a: it ends in 1 entry that no checkpoint seals
          in nodes/.versions/a/history.yaml
    ");
    assert_eq!(before.ctx("list").ok().stdout, "");
    before.ctx("publish --all").ok();
    before.ctx("verify").ok();
}

#[test]
fn marks_of_a_merge_are_refused_with_the_way_out() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let log = place.read(LOG);
    place.write(LOG, format!("<<<<<<< HEAD\n{log}=======\n{log}>>>>>>> other\n"));
    assert_snapshot!(place.ctx("publish --all").exits(1).whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[log-broken]: line 1 of `.versions/checkpoints.jsonl` is a conflict marker of git
    hint: both branches published: `ctx merge` joins their logs, while git merges, rebases or cherry-picks
    hint: then `git add -A && git commit`; docs/git.md explains each case
    ");
    place.ctx("read nodes/a").exits(1);
    place.ctx("verify").exits(1);
}

#[test]
fn the_way_out_of_a_merge_works_in_a_repository() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    let git = |line: &str| {
        let name = "-c user.name=Ana -c user.email=ana@example.com -c init.defaultBranch=main";
        place.typed("").shell(&format!("git {name} {line}"))
    };
    let commit = || {
        git("add -A").ok();
        git("commit -qm x").ok();
    };
    git("init -q").ok();
    commit();
    git("checkout -qb topic").ok();
    place.edit("nodes/a.md", "# A\n", "# A\n\ntopic\n");
    place.write("nodes/c.md", "# C\n");
    place.ctx("publish --all").ok();
    commit();
    git("checkout -q main").ok();
    place.edit("nodes/b.md", "# B\n", "# B\n\nmain\n");
    place.ctx("publish --all").ok();
    commit();
    git("merge topic").exits(1);
    let refused = place.ctx("publish --all").exits(1).stderr;
    assert!(refused.contains("`ctx merge` joins their logs"), "{refused}");
    place.ctx("merge").ok();
    commit();
    place.ctx("verify").ok();
    for (id, text) in [("nodes/a", "topic"), ("nodes/b", "main"), ("nodes/c", "# C")] {
        assert!(place.ctx(&format!("read {id}")).ok().stdout.contains(text), "{id}");
    }
}

#[test]
fn a_live_file_that_cannot_be_written_does_not_stop_the_next_event() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    let before = place.read("nodes/a.md");
    place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    let edited = place.read("nodes/a.md");
    place.ctx("publish nodes/a").ok();
    // A writer died after its commit, and an obstacle in place of the live file stays.
    place.write("nodes/a.md", &edited);
    std::fs::create_dir(place.path(".context/local/event")).unwrap();
    place.edit("nodes/b.md", "# B\n", "# B\n\nmore\n");
    let refused = place.ctx("publish nodes/b").exits(5);
    assert!(refused.stderr.contains(".context/local/event"), "{}", refused.stderr);
    std::fs::remove_dir(place.path(".context/local/event")).unwrap();
    place.ctx("publish nodes/b").ok();
    assert_ne!(place.read("nodes/a.md"), before);
}

#[test]
fn publish_keeps_a_retirement_of_another_branch() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    let other = place.duplicate();
    other.ctx("retire nodes/b").ok();
    place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    place.ctx("publish nodes/a").ok();
    // The merge kept this branch's record, and the other's live file.
    place.write("nodes/b.md", other.read("nodes/b.md"));
    let output = place.ctx("publish --all").ok();
    assert!(!output.stdout.contains("updated"), "{}", output.stdout);
}

#[test]
fn checkpoints_that_the_log_lost_or_that_do_not_follow_are_named() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    place.ctx("publish nodes/a").ok();
    let path = ".versions/checkpoints.jsonl";
    let log = place.read(path);
    let (first, second) = log.split_once('\n').unwrap();
    place.write(path, format!("{first}\n"));
    let cut = place.ctx("recover").exits(4);
    assert_snapshot!(cut.stdout, @"lost: checkpoint 2: the trusted head is checkpoint 2");
    let altered = second.replace("\"at\":\"2026-11-21T10:00:02", "\"at\":\"2026-11-21T10:00:03");
    assert_ne!(altered, second);
    place.write(path, format!("{first}\n{altered}"));
    assert!(place.ctx("recover").exits(1).stdout.contains("lost: checkpoint 2:"));
}

/// Returns a vault with two versions of a document, and version 3 in its history, whose writer died
/// before its checkpoint.
fn third_interrupted_before_its_commit() -> Place {
    let (place, _) = two();
    let duplicate = place.duplicate();
    duplicate.ctx("verify").ok();
    place.edit("nodes/a.md", "more\n", "more and more\n");
    place.ctx("publish nodes/a").ok();
    duplicate.write(HISTORY, place.bytes(HISTORY));
    duplicate.began(&instant_of(&place.read(HISTORY)));
    duplicate
}

/// If a log was altered before its end, a sealed version might look like an uncommitted file.
#[test]
fn beside_an_altered_log_nothing_is_cleared() {
    let duplicate = third_interrupted_before_its_commit();
    let log = duplicate.read(LOG);
    duplicate.write(
        LOG,
        log.replacen("\"at\":\"2026-11-21T10:00:01", "\"at\":\"2026-11-21T10:00:00", 1),
    );
    let before = duplicate.tree();
    let refused = duplicate.ctx("publish nodes/a").exits(1);
    assert!(refused.stderr.contains("log-broken"), "{}", refused.whole());
    assert_eq!(duplicate.tree().keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert!(duplicate.tree() == before && !duplicate.has(".context/local/recovered"));
}

#[test]
fn a_history_without_an_end_to_cut_is_left_to_people() {
    let place = interrupted_before_its_commit();
    let history = place.read(HISTORY);
    let (interval, versions) = history.split_once('\n').unwrap();
    place.write(HISTORY, format!("{versions}{interval}\n"));
    let before = place.tree();
    assert_snapshot!(place.ctx("recover --force").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    warning: no file was moved next to the history of nodes/a: its `versions` are not a block list at the end of the file
    ");
    assert!(place.tree() == before);
}

/// The intent record is valid on every branch, until it is cleared.
#[test]
fn uncommitted_files_are_reported_on_every_branch() {
    let place = Place::new();
    for path in ["HEAD", "objects/x", "refs/x"] {
        place.write(&format!(".git/{path}"), "ref: refs/heads/main\n");
    }
    place.ctx("init --name Test").ok();
    place.ctx("add nodes/a --body one").ok();
    let before = place.tree();
    place.edit("nodes/a.md", "one", "two");
    place.ctx("publish nodes/a").ok();
    let died = place.bytes(HISTORY);
    // The files go back to before the commit of the writer.
    place.write(LOG, &before[LOG]);
    place.ctx("head trust").ok();
    place.write(HISTORY, &before[HISTORY]);
    place.ctx("verify --allow-drift").ok();
    place.write(HISTORY, &died);
    place.began(&instant_of(&place.read(HISTORY)));
    place.write(".git/HEAD", "ref: refs/heads/topic\n");
    place.ctx("verify --allow-drift").ok();
    let told = place.ctx("publish nodes/a").ok().stderr;
    assert!(told.contains("1 uncommitted file of an interrupted command"), "{told}");
    // The other branch contains no hint of it.
    place.write(HISTORY, &died);
    place.write(LOG, &before[LOG]);
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    assert!(place.ctx("verify").exits(1).stdout.contains("published-unsealed"));
}

/// A truncated log next to the files of an interrupted writer: only acknowledged events
/// are restored.
#[test]
fn a_rebuilt_log_has_nothing_that_was_never_acknowledged() {
    let duplicate = third_interrupted_before_its_commit();
    let log = duplicate.bytes(LOG);
    let history = {
        let died = duplicate.read(HISTORY);
        died.as_bytes()[..died.find("  - version: 3").unwrap()].to_vec()
    };
    let cut = log[..log.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    duplicate.write(LOG, &log[..cut]);
    duplicate.ctx("publish nodes/a").exits(4);
    duplicate.ctx("checkpoint rebuild").ok();
    assert_eq!(duplicate.bytes(LOG), log);
    duplicate.ctx("recover").ok();
    assert_eq!(duplicate.bytes(HISTORY), history);
    assert!(duplicate.ctx("verify").ok().stdout.starts_with("intact, anchored to checkpoint 2"));
}
