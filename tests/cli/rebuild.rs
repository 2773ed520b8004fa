//! `ctx checkpoint rebuild`: the log from the histories.

use insta::assert_snapshot;

use crate::harness::{Place, files_in, instant_of};

const LOG: &str = ".versions/checkpoints.jsonl";

/// Returns a vault with every kind of event.
fn eventful(form: &str) -> Place {
    let place = Place::vault();
    place.edit(
        ".context/config.yaml",
        "version: 1\n",
        &format!("version: 1\nversions: {{checkpoint_log: {form}}}\n"),
    );
    for name in ["a", "b", "c"] {
        place.write(&format!("nodes/{name}.md"), format!("# {name}\n"));
    }
    place.ctx("publish --all").ok();
    place.edit("nodes/a.md", "# a\n", "# a\n\nmore\n");
    place.edit("nodes/b.md", "# b\n", "# b\n\nmore\n");
    place.ctx("publish --changed").ok();
    place.ctx("retire nodes/b").ok();
    place.ctx("mv nodes/c nodes/d").ok();
    place.ctx("publish nodes/b").ok();
    place.ctx("pack add p --query type:document").ok();
    place.ctx("publish --changed").ok();
    place
}

fn path_of(form: &str) -> &'static str {
    if form == "full" { ".versions/context_history.yaml" } else { LOG }
}

#[test]
fn histories_of_ours_give_the_same_log_hash_for_hash() {
    for form in ["delta", "full"] {
        let place = eventful(form);
        let log = place.bytes(path_of(form));
        let before = place.tree();
        let output = place.ctx("checkpoint rebuild --from-scratch --dry-run").ok();
        assert_eq!(output.stdout, "the histories produce the same log: 6 checkpoints\n");
        assert_eq!(place.tree(), before);
        // An equal log is not written, and a missing one is written completely.
        place.ctx("checkpoint rebuild --from-scratch").ok();
        assert_eq!(place.bytes(path_of(form)), log);
        place.remove(path_of(form));
        place.ctx("verify").exits(1);
        if form == "full" {
            place.write(path_of(form), "checkpoints:\n");
        }
        place.ctx("checkpoint rebuild").ok();
        assert_eq!(
            String::from_utf8_lossy(&place.bytes(path_of(form))).trim_start_matches('#'),
            String::from_utf8_lossy(&log).trim_start_matches('#')
        );
        place.ctx("verify").ok();
    }
}

#[test]
fn rebuild_keeps_matching_checkpoints_and_derives_the_rest() {
    let place = eventful("delta");
    let log = place.read(LOG);
    let broken = log.replacen("\"checkpoint\":4", "\"checkpoint\":9", 1);
    place.write(LOG, &broken);
    assert_snapshot!(place.ctx("checkpoint rebuild --dry-run").ok().stdout, @"
    3 checkpoints would be kept, 3 checkpoints would be derived from the histories
      checkpoint 4  2026-11-21T10:00:04.000Z  2 versions
      checkpoint 5  2026-11-21T10:00:05.000Z  1 version
      checkpoint 6  2026-11-21T10:00:07.000Z  1 version
    ");
    assert_eq!(place.read(LOG), broken);
    assert_snapshot!(place.ctx("checkpoint rebuild").ok().stderr, @"note: the old log is kept in .versions/checkpoints.jsonl.replaced-1");
    assert_eq!(place.read(LOG), log);
    assert_eq!(place.read(".versions/checkpoints.jsonl.replaced-1"), broken);
    place.ctx("verify").ok();
    place.edit("nodes/a.md", "more", "much more");
    place.ctx("publish nodes/a").ok();
}

#[test]
fn rebuild_omits_unvouched_versions_with_force_only() {
    let place = eventful("delta");
    place.write(LOG, "");
    place.edit("nodes/.versions/d/v1.md", "# c", "# forged");
    let before = place.tree();
    assert_snapshot!(place.ctx("checkpoint rebuild").exits(1).whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[log-broken]: the chain does not vouch for 1 version
      nodes/d version 1: the stored text has hash sha256:f5cd781e09a404114d8289fc4a38474b7b1ed57df9f944e7e83559c612e1192c, but the history records sha256:e6baee76c67559e7b9ea13ebab86626d354bde029757bb697b09c4062438785a
    hint: nothing was written; restore the histories first, or leave these versions out with `--force`
    ");
    assert_eq!(place.tree(), before);
    let forced = place.ctx("checkpoint rebuild --force").exits(1);
    assert!(forced.stderr.contains("left out: nodes/d version 1"), "{}", forced.stderr);
    assert!(!place.ctx("list").ok().stdout.contains("nodes/d"));
}

#[test]
fn rebuild_replaces_a_trusted_head_with_force_only() {
    let place = eventful("delta");
    place.write(LOG, "");
    let path = "nodes/.versions/a/history.yaml";
    let first = place.read(path).split("  - version: 2").next().unwrap().to_owned();
    place.write(path, first);
    place.ctx("checkpoint rebuild").exits(4);
    place.ctx("checkpoint rebuild --force").ok();
    place.ctx("head").ok();
}

#[test]
fn a_log_that_lost_its_end_gets_it_back() {
    let place = eventful("delta");
    let log = place.read(LOG);
    let lines: Vec<&str> = log.lines().collect();
    place.write(LOG, format!("{}\n", lines[..4].join("\n")));
    place.ctx("verify").exits(1);
    place.ctx("checkpoint rebuild").ok();
    assert_eq!(place.read(LOG), log);
}

#[test]
fn rebuild_makes_no_checkpoint_of_uncommitted_files() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let log = place.read(LOG);
    place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    place.ctx("publish nodes/a").ok();
    place.write(LOG, &log);
    // The second publication was interrupted, and no head of it is trusted.
    place.ctx("head trust").ok();
    place.began(&instant_of(&place.read("nodes/.versions/a/history.yaml")));
    for _ in 0..2 {
        let output = place.ctx("checkpoint rebuild").ok();
        assert_eq!(output.stdout, "the histories produce the same log: 1 checkpoint\n");
        assert_eq!(place.read(LOG), log);
        place.ctx("recover").ok();
    }
}

#[test]
fn rebuild_beyond_the_trusted_head_needs_force() {
    let place = eventful("delta");
    let duplicate = place.duplicate();
    place.edit("nodes/a.md", "more", "much more");
    place.ctx("publish nodes/a").ok();
    // The log breaks for a user who never saw the last event.
    for (path, bytes) in files_in(place.root())
        .into_iter()
        .filter(|(path, _)| path.contains(".versions/") || path.contains("/audit/"))
    {
        duplicate.write(&path, bytes);
    }
    duplicate.write(LOG, "");
    duplicate.ctx("checkpoint rebuild --dry-run").ok();
    duplicate.ctx("checkpoint rebuild").ok();
    duplicate.ctx("verify --allow-drift").ok();
    let old = eventful("delta");
    for (path, bytes) in files_in(place.root())
        .into_iter()
        .filter(|(path, _)| path.contains(".versions/") || path.contains("/audit/"))
    {
        old.write(&path, bytes);
    }
    old.write(LOG, "");
    let before = old.tree();
    assert_snapshot!(old.ctx("checkpoint rebuild").exits(4).stderr, @"
    error[unexplained]: 1 checkpoint would follow the trusted head
    hint: nothing was written; check with `ctx checkpoint rebuild --dry-run` what they contain: an interrupted command or an attacker may have left them
    hint: `--force` makes checkpoints for everything that the histories record as published
    ");
    assert!(
        old.ctx("checkpoint rebuild --dry-run").ok().stderr.contains("refused without `--force`")
    );
    assert_eq!(old.tree(), before);
    old.ctx("checkpoint rebuild --force").ok();
}

/// A log that was truncated and then continued lacks checkpoints, and `rebuild` names them.
#[test]
fn rebuild_names_checkpoints_lost_before_later_ones() {
    let place = eventful("delta");
    let log = place.read(LOG);
    place.typed("add nodes/lost --body x").var("CTX_PRINCIPAL", "bob@example.com").run().ok();
    place.write(LOG, &log);
    place.ctx("head trust").ok();
    place.ctx("add nodes/later --body y").ok();
    let said = place.ctx("checkpoint rebuild --dry-run").exits(1).stderr;
    assert!(said.contains("not in the log: nodes/lost version 1"), "{said}");
    let json = place.ctx("checkpoint rebuild --dry-run --json").exits(1);
    let json = json.json("ctx.checkpoint.rebuild");
    assert_eq!(json["passed_over"], serde_json::json!([{"id": "nodes/lost", "version": 1}]));
}

/// Another first checkpoint would invalidate all heads that were noted elsewhere.
#[test]
fn another_first_checkpoint_needs_its_own_option() {
    let place = eventful("delta");
    place.edit("nodes/.versions/d/v1.md", "# c", "# forged");
    place.edit("nodes/.versions/a/v1.md", "# a", "# forged");
    let before = place.tree();
    assert_snapshot!(place.ctx("checkpoint rebuild --force").exits(1).whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[log-broken]: the log would begin with sha256:c72da500a888a013a9a7a7fec2339c6c61af20275c9017eeaed510ef3d03bf09 (it began with sha256:03520bc88d209b1304aec7a1104344d5802f6d2d4156cf9d31d773a0786c09f7)
    hint: nothing was written; `ctx verify` names the damaged histories: restore them first
    hint: `--force --new-first-checkpoint` replaces it; heads that were stored elsewhere (in CI, on other machines, in evidence) will not match this log
    ");
    let dry = place.ctx("checkpoint rebuild --force --dry-run --json").exits(1);
    let dry = dry.json("ctx.checkpoint.rebuild");
    assert!(dry["refused"].as_str().unwrap().starts_with("the log would begin with sha256:"));
    place.ctx("checkpoint rebuild --new-first-checkpoint").exits(2);
    assert_eq!(place.tree(), before);
    let forced = place.ctx("checkpoint rebuild --force --new-first-checkpoint").exits(1);
    let first = dry["replaced_first"].as_str().unwrap();
    let said = format!("warning: the log has another first checkpoint; it was {first}");
    assert!(forced.stderr.contains(&said), "{}", forced.stderr);
    place.ctx("checkpoint list").ok();
}

/// If the first line is forged, the trusted head shows the original one.
#[test]
fn the_trusted_first_checkpoint_needs_no_option() {
    let place = eventful("delta");
    let log = place.read(LOG);
    place.write(LOG, log.replacen("10:00:01.000Z", "10:00:01.001Z", 1));
    place.ctx("checkpoint rebuild --force").ok();
    assert_eq!(place.read(LOG), log);
}

/// Returns a governed vault without its log, and with a version of `nodes/b` that was published in
/// an ungoverned copy.
fn with_an_unreviewed_version() -> Place {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    let ungoverned = place.duplicate();
    place.write(
        "stewards.yaml",
        "vault: [{principal: bo@x.com, role: reviewer}, {principal: kim@x.com, role: reviewer}]\n",
    );
    place.ctx("govern on").ok();
    // The version is later than the beginning of governance.
    (0..9).for_each(|_| drop(ungoverned.ctx("list").ok()));
    ungoverned.edit("nodes/b.md", "# B", "# B\n\nEVIL");
    ungoverned.ctx("publish nodes/b").ok();
    for (path, bytes) in files_in(&ungoverned.path("nodes/.versions/b")) {
        place.write(&format!("nodes/.versions/b/{path}"), bytes);
    }
    place.remove(LOG);
    place.ctx("head forget").ok();
    place
}

#[test]
fn a_rebuild_publishes_nothing_in_a_governed_vault_that_no_approval_vouches_for() {
    let place = with_an_unreviewed_version();
    let before = place.tree();
    let refused = place.ctx("checkpoint rebuild").exits(3);
    assert!(refused.stderr.contains("error[governed]: no approval vouches for 1 version"));
    assert_eq!(place.tree(), before);
    let shown = place.ctx("checkpoint rebuild --dry-run --json").exits(1);
    let shown = shown.json("ctx.checkpoint.rebuild");
    assert_eq!(shown["unapproved"][0]["id"], "nodes/b");
    assert_eq!(shown["derived"].as_array().unwrap().len(), 2);
    assert!(!place.has(LOG));
    assert_snapshot!(place.ctx("checkpoint rebuild --force").exits(1).whole(), @"
    exit: 1
    -- stdout
    0 checkpoints kept, 2 checkpoints derived from the histories
      checkpoint 1  2026-11-21T10:00:01.000Z  4 versions
      checkpoint 2  2026-11-21T10:00:02.000Z  2 versions
    -- stderr
    left out from version 2 on, without an approval: nodes/b: it was published in a governed vault without a submission
    ");
    assert!(!place.ctx("read nodes/b --as bo@x.com").ok().stdout.contains("EVIL"));
    // No writer extends a history that was left out.
    let refused = place.ctx("submit nodes/b --as bo@x.com").exits(1).stderr;
    assert!(refused.contains("error[history-unsealed]"), "{refused}");
}

#[test]
fn a_rebuild_against_the_change_log_needs_force() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let copy = place.duplicate();
    copy.write("nodes/zz.md", "# Z\n");
    copy.ctx("publish nodes/zz").ok();
    (0..3).for_each(|_| drop(place.ctx("list").ok()));
    place.write("nodes/b.md", "# B\n");
    place.ctx("publish nodes/b").ok();
    // A history that is dated before the last event is planted, and the log is deleted.
    for (path, bytes) in files_in(&copy.path("nodes/.versions/zz")) {
        place.write(&format!("nodes/.versions/zz/{path}"), bytes);
    }
    place.remove(LOG);
    place.ctx("head forget").ok();
    let before = place.tree();
    let refused = place.ctx("checkpoint rebuild").exits(1).stderr;
    let expected = "error[log-broken]: the rebuilt log contradicts the change log: line ";
    assert!(refused.contains(expected), "{refused}");
    assert!(refused.contains("names checkpoint 2, which the log has with another hash"));
    assert_eq!(place.tree(), before);
    let shown = place.ctx("checkpoint rebuild --dry-run");
    assert!(shown.stderr.contains("refused without `--force`"), "{}", shown.whole());
    place.ctx("read nodes/zz").exits(1);
    place.ctx("checkpoint rebuild --force").ok();
    place.ctx("read nodes/zz").ok();
    let verified = place.ctx("verify --json").exits(1);
    assert!(
        verified.stdout.contains("audit-contradicts") || verified.stdout.contains("audit-replaced")
    );
}
