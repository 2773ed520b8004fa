//! Records that git converts or merges, in real repositories.

use insta::assert_snapshot;

use crate::acknowledged::rehashed;
use crate::anchored::git;
use crate::harness::{Output, Place, files_in};

const LOG: &str = ".versions/checkpoints.jsonl";

/// Returns a committed vault with one document and this `.gitattributes`.
fn committed(attributes: &str) -> Place {
    let place = Place::published(&[("nodes/a", "# A\n\none\n")]);
    place.write(".gitattributes", attributes);
    git(&place, "init -q");
    git(&place, "add -A");
    git(&place, "commit -q -m one");
    place
}

/// Returns a committed vault without attributes, as earlier versions made it.
fn unprotected() -> Place {
    let place = committed("");
    git(&place, "rm -q -f ':(glob)**/.versions/.gitattributes'");
    git(&place, "commit -q -m unprotected");
    place
}

#[test]
fn line_ends_that_git_converted_are_named_with_what_mends_them() {
    let source = unprotected();
    let place = Place::new();
    git(&place, &format!("clone -q -c core.autocrlf=true {} .", source.root().display()));
    assert!(place.read(LOG).ends_with("\r\n"));
    assert_snapshot!(place.ctx("list").exits(1).stderr, @"
    error[log-broken]: `.versions/checkpoints.jsonl`, entry 1: its line end was converted to CRLF; the line `**/.versions/** -text -whitespace -ident -filter -working-tree-encoding` in `.gitattributes` keeps git from that
    hint: nothing was written; run `ctx verify` for a full report
    hint: `ctx checkpoint rebuild --dry-run` shows the log that the histories produce
    ");
    let verified = place.ctx("verify").exits(1).stdout;
    let remedy = "add the line `**/.versions/** -text -whitespace -ident -filter -working-tree-encoding` to `.gitattributes` and let git write \
                  the files again (`find . -path '*/.versions/*' -exec touch {} +`, then `git restore -- \
                  ':(glob)**/.versions/**'`)";
    assert!(verified.contains(remedy), "{verified}");
    place.write(
        ".gitattributes",
        "**/.versions/** -text -whitespace -ident -filter -working-tree-encoding\n",
    );
    let line =
        "find . -path '*/.versions/*' -exec touch {} + && git restore -- ':(glob)**/.versions/**'";
    place.typed("").shell(line).ok();
    assert_eq!(place.bytes(LOG), source.bytes(LOG));
    place.ctx("verify").ok();
}

#[test]
fn status_names_the_retirement_of_another_branch() {
    let place = Place::published(&[("nodes/a", "# A\n\none\n")]);
    let branch = place.duplicate();
    branch.ctx("retire nodes/a").ok();
    place.write("nodes/a.md", branch.read("nodes/a.md"));
    assert_snapshot!(place.ctx("status").ok().stdout, @"
    Checkpoint 1 of 2026-11-21T10:00:01.000Z
    Published and unchanged: 0 documents

    Published, but the live file was retired on another branch (next: ctx retire ID, or ctx restore ID):
      nodes/a.md (v1)
    ");
    assert!(place.ctx("diff").ok().stdout.contains("+status: draft"));
    // An edit of that file is a draft, as before.
    place.edit("nodes/a.md", "one", "two");
    assert!(place.ctx("status").ok().stdout.contains("with a draft of the next version"));
    place.write("nodes/a.md", branch.read("nodes/a.md"));
    place.ctx("retire nodes/a").ok();
    place.ctx("verify").ok();
}

#[test]
fn git_converts_no_line_end_of_a_change_log() {
    let source = Place::published(&[("nodes/a", "# A\n\none\n")]);
    source.write(
        ".gitattributes",
        "**/.versions/** -text -whitespace -ident -filter -working-tree-encoding\n",
    );
    git(&source, "init -q");
    git(&source, "add -A");
    git(&source, "commit -q -m one");
    let place = Place::new();
    git(&place, &format!("clone -q -c core.autocrlf=true {} .", source.root().display()));
    assert!(place.read(".context/config.yaml").ends_with("\r\n"));
    place.ctx("verify").ok();
}

#[test]
fn change_logs_of_two_branches_merge_and_the_way_out_ends_in_a_vault_that_verifies() {
    let place = Place::published(&[("nodes/a", "# A\n\none\n"), ("nodes/b", "# B\n\none\n")]);
    git(&place, "init -q -b main");
    git(&place, "add -A");
    git(&place, "commit -q -m one");
    for (branch, id) in [("theirs", "nodes/b"), ("ours", "nodes/a")] {
        git(&place, &format!("checkout -q -b {branch} main"));
        place.edit(&format!("{id}.md"), "one", branch);
        place.ctx(&format!("publish {id}")).ok();
        git(&place, "add -A");
        git(&place, &format!("commit -q -m {branch}"));
    }
    // Both wrote checkpoint 2: the checkpoint log is in conflict, the change logs are not.
    let merged = merge_in_conflict(&place);
    assert!(!merged.contains("UU .context/audit"), "{merged}");
    let told = place.ctx("publish nodes/b").exits(1).stderr;
    assert!(told.contains("`ctx merge` joins their logs"), "{told}");
    keep_ours(&place);
    place.ctx("publish nodes/b").ok();
    let verified = place.ctx("verify").exits(1).stdout;
    assert!(
        verified.contains("[audit-contradicts]") && verified.contains("two branches"),
        "{verified}"
    );
    place.ctx("head trust").ok();
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.starts_with("intact, anchored to checkpoint 3"), "{verified}");
    git(&place, "add -A");
    git(&place, "commit -q -m merged");
    let clone = Place::new();
    git(&clone, &format!("clone -q {} .", place.root().display()));
    clone.ctx("verify").ok();
}

/// Merges the branch `theirs`, with a conflict in the checkpoint log; returns the output of git.
fn merge_in_conflict(place: &Place) -> String {
    let line =
        "git -c user.name=Ana -c user.email=ana@example.com merge -q theirs; git status --short";
    let merged = place.typed("").shell(line).ok().stdout;
    assert!(merged.contains("UU .versions/checkpoints.jsonl"), "{merged}");
    merged
}

/// Keeps the records of the branch that is checked out, as the documentation says.
fn keep_ours(place: &Place) {
    let keep = "git restore --source=HEAD --staged --worktree -- ':(glob)**/.versions/**' && git checkout -q --ours context.yaml";
    place.typed("").shell(keep).ok();
}

/// Some file systems have one file for `r.MD` and `r.md`, so a text of one may return as the other.
#[test]
fn approve_refuses_the_submitter_under_a_colliding_id() {
    let place = governed();
    let by = |who: &str, line: &str| by(&place, who, line);
    git(&place, "checkout -q -b theirs main");
    place.write("nodes/r.MD", "# R\n\nrule\n");
    by("bo", "submit nodes/r.MD").ok();
    git(&place, "add -A");
    git(&place, "commit -q -m theirs");
    git(&place, "checkout -q main");
    git(&place, "checkout -q theirs -- .context/audit");
    place.write("nodes/r.md", "# R\n\nrule\n");
    by("ana", "submit nodes/r").ok();
    let refused = by("bo", "approve nodes/r").exits(3);
    assert!(refused.stderr.contains("error[own-submission]"), "{}", refused.whole());
    by("kim", "approve nodes/r").ok();
}

/// No history contains what a merge abandons, but its text may be submitted again.
#[test]
fn approve_refuses_the_submitter_on_an_abandoned_branch() {
    let place = governed();
    let by = |who: &str, line: &str| by(&place, who, line);
    on_branch(&place, "theirs", &EDITED);
    on_branch(&place, "ours", &OTHER);
    merge_in_conflict(&place);
    keep_ours(&place);
    // The text of Bo, who is a reviewer, is submitted again by another principal.
    by("ana", "submit nodes/b --expect-version 1").ok();
    let shown = place.ctx("review show nodes/b").ok();
    assert!(shown.stdout.contains("theirs"));
    let hint = "hint: a merge lost submissions of it, whose submitters may not approve it; `ctx audit dismiss nodes/b --reason TEXT`";
    assert!(shown.stderr.contains(hint), "{}", shown.stderr);
    let refused = by("bo", "approve nodes/b").exits(3);
    assert_snapshot!(refused.stderr, @"
    error[own-submission]: `bo@example.com` may not approve `nodes/b`: bo@example.com submitted a version of it that its history has lost
    hint: another reviewer must decide; `ctx steward who nodes/b` shows who may
    hint: your submission was lost in a merge; after `ctx audit dismiss nodes/b --reason TEXT` by another reviewer of the vault, you may approve again
    ");
    assert!(by("bo", "review").ok().stdout.contains("nothing awaits"));
    by("kim", "approve nodes/b").ok();
    place.ctx("head trust").ok();
    place.ctx("verify").ok();
    // Neither a publication nor the trusted head ends the bar: only another reviewer of the vault
    // does.
    let submit = |text: &str| {
        write_body(&place, "nodes/b", text);
        by("ana", "submit nodes/b").ok();
    };
    submit("two");
    by("bo", "approve nodes/b").exits(3);
    for (who, why) in [("bo", "are your own"), ("ana", "is not a reviewer of the vault")] {
        let refused = by(who, "audit dismiss nodes/b --reason merged");
        assert!(refused.stderr.contains(why), "{}", refused.whole());
        assert!([1, 3].contains(&refused.exit), "{}", refused.whole());
    }
    let listed = by("kim", "audit dismiss nodes/b --dry-run").ok();
    assert_snapshot!(listed.stdout, @"would dismiss: version 2 of nodes/b, submitted by bo@example.com at 2026-11-21T10:00:07.000Z");
    by("bo", "approve nodes/b").exits(3);
    let report = by("kim", "audit dismiss nodes/b --reason merged --json").ok();
    let report = report.json("ctx.audit.dismiss");
    let one = &report["dismissed"][0];
    let found = [&one["id"], &one["version"], &one["submitter"], &report["own"]];
    let expected = serde_json::json!(["nodes/b", 2, "bo@example.com", 0]);
    assert_eq!(serde_json::json!(found), expected);
    by("bo", "approve nodes/b").ok();
    let again = by("kim", "audit dismiss nodes/b --reason merged").exits(1);
    assert_snapshot!(again.stderr, @"
    error[not-lost]: `nodes/b` does not have a lost submission to dismiss
    ");
    place.ctx("verify").ok();
}

/// Two reviewers who both lost submissions of the stewards could otherwise never approve
/// stewards again.
#[test]
fn two_reviewers_with_lost_submissions_dismiss_those_of_each_other() {
    let place = governed();
    let by = |who: &str, line: &str| by(&place, who, line);
    git(&place, "checkout -q -b theirs main");
    for (who, other) in [("bo", "kim"), ("kim", "bo")] {
        by(who, &format!("steward assign new-{who}@example.com editor --whole-vault")).ok();
        by(other, "approve stewards.yaml").ok();
    }
    git(&place, "add -A");
    git(&place, "commit -q -m theirs");
    on_branch(&place, "ours", &OTHER);
    let line = "git -c user.name=Ana -c user.email=ana@example.com merge -q -s ours theirs; git checkout -q theirs -- .context/audit";
    place.typed("").shell(line).ok();
    place.ctx("head trust").ok();
    let assigned = by("ana", "steward assign lee@example.com editor --whole-vault").ok();
    assert_snapshot!(assigned.stderr, @"note: no steward may approve stewards.yaml, because reviewers submitted versions of it that were lost in a merge; after `ctx audit dismiss stewards.yaml --reason TEXT` by another reviewer of the vault, a reviewer may approve it again");
    by("bo", "approve stewards.yaml").exits(3);
    by("kim", "approve stewards.yaml").exits(3);
    by("kim", "audit dismiss stewards.yaml --reason merged").ok();
    by("kim", "approve stewards.yaml").exits(3);
    by("bo", "approve stewards.yaml").ok();
    place.ctx("verify").ok();
}

/// An approval in part is older than the merge that brings the line of a lost submission.
#[test]
fn an_access_review_lists_approvals_of_principals_whose_submission_was_lost() {
    let place = governed();
    let by = |who: &str, line: &str| by(&place, who, line);
    let two = "version: 1\nreview: {vault: {required: 2}}\n";
    place.edit("stewards.yaml", "version: 1\n", two);
    place.edit("stewards.yaml", "ana@example.com, role: editor", "ana@example.com, role: reviewer");
    by("ana", "submit stewards.yaml").ok();
    by("kim", "approve stewards.yaml").ok();
    git(&place, "add -A");
    git(&place, "commit -q -m two");
    on_branch(&place, "theirs", &EDITED[..2]);
    on_branch(
        &place,
        "ours",
        &[("ana", "edit nodes/b"), ("ana", "submit nodes/b"), ("bo", "approve nodes/b")],
    );
    place.typed("").shell("git checkout -q theirs -- .context/audit").ok();
    let listed = by("kim", "owners --access-review").ok().stdout;
    let why = "lapsed: v2 of nodes/b: `bo@example.com` approved it, but submitted a version of it that its history has lost";
    assert!(listed.contains(why), "{listed}");
    by("kim", "audit dismiss nodes/b --reason merged").ok();
    assert!(!by("kim", "owners --access-review").ok().stdout.contains("lapsed"));
    by("kim", "approve nodes/b").ok();
    place.ctx("head trust").ok();
    place.ctx("verify").ok();
}

/// A dismissal is judged by the roles at its head, and is never valid for its own principal.
#[test]
fn a_dismissal_by_an_editor_or_by_the_submitter_does_not_count() {
    let place = governed();
    let by = |who: &str, line: &str| by(&place, who, line);
    on_branch(&place, "theirs", &EDITED);
    on_branch(&place, "ours", &OTHER);
    merge_in_conflict(&place);
    keep_ours(&place);
    place.ctx("head trust").ok();
    by("ana", "submit nodes/b --expect-version 1").ok();
    by("kim", "audit dismiss nodes/b --reason merged").ok();
    let logs = files_in(&place.path(".context/audit")).into_iter();
    let mut logs = logs.map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap()));
    let (name, text) = logs.find(|(_, text)| text.contains("\"dismiss\"")).unwrap();
    let file = format!(".context/audit/{name}");
    for other in ["ana", "bo"] {
        let named = format!("{other}@example.com");
        let forged = rehashed(&text, |_, line| {
            if line["action"] == "dismiss" {
                line["principal"] = named.clone().into();
            }
        });
        place.write(&file, forged);
        by("bo", "approve nodes/b").exits(3);
    }
    place.write(&file, text);
    by("bo", "approve nodes/b").ok();
}

/// With `reads: stewards`, reviewers of the vault do not learn of a document of other stewards.
#[test]
fn a_dismissal_names_no_document_that_its_principal_may_not_read() {
    let place = Place::published(&[("nodes/a", "# A\n\none\n"), ("nodes/b", "# B\n\none\n")]);
    let steward = |who: &str| format!("  - {{principal: {who}@example.com, role: reviewer}}\n");
    let all: String = ["bo", "kim", "tom", "ana"].map(steward).concat();
    let secret = "folders:\n  nodes/secret/: [{principal: bo@example.com, role: reviewer}, {principal: kim@example.com, role: reviewer}]\n";
    place.write("stewards.yaml", format!("version: 1\nvault:\n{all}{secret}"));
    let config = place.read(".context/config.yaml");
    place.write(".context/config.yaml", format!("{config}\nreads: stewards\n"));
    place.ctx("govern on").ok();
    git(&place, "init -q -b main");
    git(&place, "add -A");
    git(&place, "commit -q -m one");
    let moved = [("kim", "mv nodes/b nodes/secret/deal"), ("bo", "approve nodes/b")];
    let edited = [("bo", "edit nodes/secret/deal"), ("bo", "submit nodes/secret/deal")];
    on_branch(&place, "theirs", &[moved, edited].concat());
    git(&place, "checkout -q main");
    place.typed("").shell("git checkout -q theirs -- .context/audit").ok();
    place.ctx("head trust --as kim@example.com").ok();
    for (id, code) in [("nodes/secret/deal", "unknown-id"), ("nodes/secret/deals", "unknown-id")] {
        let refused = by(&place, "tom", &format!("audit dismiss {id} --dry-run")).exits(1);
        assert!(refused.stderr.contains(code), "{}", refused.whole());
    }
    let said = by(&place, "tom", "audit dismiss nodes/b --dry-run");
    assert!(!said.whole().contains("secret"), "{}", said.whole());
    let said = by(&place, "kim", "audit dismiss nodes/b --dry-run").ok();
    assert!(said.stdout.contains("nodes/secret/deal"), "{}", said.whole());
}

/// Replaces the body of a document.
fn write_body(place: &Place, id: &str, word: &str) {
    let text = place.read(&format!("{id}.md"));
    let fields = text.split("\n# ").next().unwrap_or_default().to_owned();
    place.write(&format!("{id}.md"), format!("{fields}\n# B\n\n{word}\n"));
}

/// Returns a governed vault in git, on the branch `main`; Bo and Kim review, Ana edits.
fn governed() -> Place {
    let place = Place::published(&[("nodes/a", "# A\n\none\n"), ("nodes/b", "# B\n\none\n")]);
    let steward =
        |who: &str, role: &str| format!("  - {{principal: {who}@example.com, role: {role}}}\n");
    let (bo, kim) = (steward("bo", "reviewer"), steward("kim", "reviewer"));
    let ana = steward("ana", "editor");
    place.write("stewards.yaml", format!("version: 1\nvault:\n{bo}{kim}{ana}"));
    place.ctx("govern on").ok();
    git(&place, "init -q -b main");
    git(&place, "add -A");
    git(&place, "commit -q -m one");
    place
}

/// Runs a command of one of the three.
fn by(place: &Place, who: &str, line: &str) -> Output {
    place.ctx(&format!("{line} --as {who}@example.com"))
}

/// Runs each command as its principal on a branch; the word `edit` changes a text instead.
fn on_branch(place: &Place, branch: &str, steps: &[(&str, &str)]) {
    git(place, &format!("checkout -q -b {branch} main"));
    for (who, line) in steps {
        match line.strip_prefix("edit ") {
            Some(id) => place.edit(&format!("{id}.md"), "one", branch),
            None if who.is_empty() => drop(place.ctx(line).ok()),
            None => drop(by(place, who, line).ok()),
        }
    }
    git(place, "add -A");
    git(place, &format!("commit -q -m {branch}"));
}

/// Bo edits, and Kim approves.
const EDITED: [(&str, &str); 3] =
    [("bo", "edit nodes/b"), ("bo", "submit nodes/b"), ("kim", "approve nodes/b")];
/// Ana edits another document.
const OTHER: [(&str, &str); 3] =
    [("ana", "edit nodes/a"), ("ana", "submit nodes/a"), ("kim", "approve nodes/a")];
/// Ana moves, and Kim approves.
const MOVED: [(&str, &str); 2] = [("ana", "mv nodes/b nodes/uno"), ("kim", "approve nodes/b")];

/// The document may have another id on the abandoned branch, or have been moved on either.
#[test]
fn approve_refuses_the_submitter_under_an_id_that_a_move_links() {
    let moved_first =
        [("bo", "edit nodes/uno"), ("bo", "submit nodes/uno"), ("kim", "approve nodes/uno")];
    let edited_and_moved = [&EDITED[..], &MOVED].concat();
    let moved_and_edited = [&MOVED[..], &moved_first].concat();
    for (theirs, ours, id) in [
        (&edited_and_moved[..], &OTHER[..], "nodes/uno"),
        (&moved_and_edited, &OTHER, "nodes/b"),
        (&EDITED, &MOVED, "nodes/uno"),
    ] {
        let place = governed();
        on_branch(&place, "theirs", theirs);
        on_branch(&place, "ours", ours);
        let before =
            place.path(&format!("{id}.md")).exists().then(|| place.read(&format!("{id}.md")));
        merge_in_conflict(&place);
        keep_ours(&place);
        // No field of the text names its origin.
        let text = before.unwrap_or_else(|| "# B\n\none\n".to_owned()).replace("one", "theirs");
        place.write(&format!("{id}.md"), text);
        by(&place, "ana", &format!("submit {id}")).ok();
        let refused = by(&place, "bo", &format!("approve {id}")).exits(3);
        let why =
            "submitted a version of it under another id, which the history of that id has lost";
        assert!(refused.stderr.contains(why), "{id}: {}", refused.whole());
        assert!(by(&place, "bo", "review").ok().stdout.contains("nothing awaits"));
        by(&place, "kim", &format!("approve {id}")).ok();
        place.ctx("head trust").ok();
        // The file of the other id is gone.
        place.ctx("verify --allow-drift").ok();
    }
}

#[test]
fn the_lines_of_two_branches_one_after_the_other_are_named() {
    let place = committed("");
    // As an earlier version wrote them, and a person changed them.
    for folder in [".versions", "nodes/.versions"] {
        place.write(&format!("{folder}/.gitattributes"), "* -text merge=union\n");
    }
    git(&place, "add -A");
    git(&place, "commit -q -m union");
    for (branch, word) in [("theirs", "two"), ("ours", "three")] {
        git(&place, &format!("checkout -q -b {branch} main"));
        place.edit("nodes/a.md", "one", word);
        place.ctx("publish nodes/a").ok();
        git(&place, "add -A");
        git(&place, &format!("commit -q -m {word}"));
    }
    git(&place, "merge -q -X ours theirs");
    assert_snapshot!(place.ctx("status").exits(1).stderr, @"
    error[log-broken]: `.versions/checkpoints.jsonl`, entry 3 is checkpoint 2 again, as after a git merge with `merge=union`
    hint: nothing was written; run `ctx verify` for a full report
    hint: `ctx checkpoint rebuild --dry-run` shows the log that the histories produce
    ");
    let found: Vec<String> = place
        .ctx("verify")
        .exits(1)
        .lines()
        .iter()
        .filter(|line| line.contains("merge=union"))
        .map(ToString::to_string)
        .collect();
    assert_snapshot!(found.join("\n"), @"
    [history-unreadable] nodes/a: the history cannot be read: line 22 repeats the end of an entry, as after a git merge with `merge=union`, but the log seals 3 of its versions
    [checkpoint-gap] .versions/checkpoints.jsonl, checkpoint 2: expected checkpoint 3, but found 2 again, as after a git merge with `merge=union`
    ");
    // `ctx help` advises to keep the record of one side, and to publish the texts of the other
    // again.
    let line =
        "git restore --source=HEAD~1 --staged --worktree -- ':(glob)**/.versions/**' nodes/a.md";
    place.typed("").shell(line).ok();
    // Only the change log of the other branch remains.
    assert!(place.ctx("verify").exits(1).stdout.contains("[audit-contradicts]"));
    place.ctx("head trust").ok();
    assert!(place.ctx("verify").ok().stdout.contains("[audit-replaced]"));
}

#[test]
fn whole_entries_of_two_branches_are_named_too() {
    let place = committed("");
    let history = "nodes/.versions/a/history.yaml";
    let before = place.read(history);
    place.edit("nodes/a.md", "one", "two");
    place.ctx("publish nodes/a").ok();
    let after = place.read(history);
    place.write(history, format!("{after}{}", &after[before.len()..]));
    let verified = place.ctx("verify").exits(1).stdout;
    let said = "nodes/a v2: it is recorded twice, as after a git merge with `merge=union`";
    assert!(verified.contains(said), "{verified}");
}
