//! Hints in a governed vault: each command in a hint works in its situation.

use insta::assert_snapshot;

use crate::harness::{Output, Place};

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  - {principal: kim@x.com, \
     role: reviewer}\n  - {principal: lee@x.com, role: reviewer}\n  - {principal: ana@x.com, role: editor}\n";

/// Returns a governed vault with three documents; `more` is appended to its `stewards.yaml`.
fn governed(more: &str) -> Place {
    let place = Place::vault();
    for id in ["nodes/a", "nodes/b", "nodes/c"] {
        place.write(&format!("{id}.md"), "# T\n\none\n");
    }
    place.ctx("publish --all --as ana@x.com").ok();
    place.write("stewards.yaml", format!("{STEWARDS}{more}"));
    place.ctx("govern on --as ana@x.com").ok();
    place
}

fn by(place: &Place, who: &str, line: &str) -> Output {
    place.ctx(&format!("{line} --as {who}@x.com"))
}

/// Returns the hints of an output.
fn hints(output: &Output) -> String {
    let lines = output.stderr.lines().filter(|line| line.starts_with("hint: "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn hint_resubmits_the_same_action_after_an_approval_expired() {
    let place = governed("review: {folders: {nodes/: {required: 2}}}\n");
    by(&place, "ana", "retire nodes/a").ok();
    by(&place, "ana", "mv nodes/b nodes/d").ok();
    place.edit("nodes/c.md", "one", "two");
    by(&place, "ana", "submit nodes/c --change autumn").ok();
    for id in ["nodes/a", "nodes/b", "nodes/c"] {
        by(&place, "lee", &format!("approve {id}")).ok();
    }
    place.edit("stewards.yaml", "lee@x.com, role: reviewer", "lee@x.com, role: editor");
    by(&place, "ana", "submit stewards.yaml").ok();
    by(&place, "bo", "approve stewards.yaml").ok();
    let said = ["nodes/a", "nodes/b", "nodes/c"].map(|id| {
        let refused = by(&place, "bo", &format!("approve {id}")).exits(3);
        assert!(refused.stderr.contains("error[approval-lapsed]"), "{}", refused.whole());
        hints(&refused)
    });
    assert_snapshot!(said.join("\n"), @"
    hint: its submitter runs `ctx withdraw nodes/a` and then `ctx retire nodes/a`, or a reviewer rejects it with `ctx reject nodes/a --version 2 --reason TEXT`
    hint: its submitter runs `ctx withdraw nodes/b` and then `ctx mv nodes/b nodes/d`, or a reviewer rejects it with `ctx reject nodes/b --version 2 --reason TEXT`
    hint: its submitter runs `ctx withdraw --change autumn`, and submits each part again, this one with `ctx submit nodes/c --change autumn` (with `--from FILE` if the text was handed in); or a reviewer rejects the change with `ctx reject nodes/c --version 2 --reason TEXT`
    ");
    for line in [
        "its submitter runs `ctx withdraw nodes/a` and then `ctx retire nodes/a`",
        "its submitter runs `ctx withdraw nodes/b` and then `ctx mv nodes/b nodes/d`",
        "`ctx submit nodes/c --change autumn`",
    ] {
        for command in ["status", "review"] {
            let said = by(&place, "ana", command).ok().whole();
            assert!(said.contains(line), "{command}: {said}");
        }
    }
    for line in [
        "withdraw nodes/a",
        "retire nodes/a",
        "withdraw nodes/b",
        "mv nodes/b nodes/d",
        "withdraw --change autumn",
        "submit nodes/c --change autumn",
    ] {
        by(&place, "ana", line).ok();
    }
    for who in ["bo", "kim"] {
        for id in ["nodes/a", "nodes/b", "nodes/c"] {
            by(&place, who, &format!("approve {id}")).ok();
        }
    }
    place.ctx("verify").ok();
}

#[test]
fn a_text_that_is_handed_in_for_a_path_is_of_the_document_at_that_path() {
    let place = governed("");
    place.write("draft.txt", "# New\n\ntext\n");
    by(&place, "ana", "submit nodes/new.md --from draft.txt").ok();
    by(&place, "bo", "approve nodes/new").ok();
    assert!(place.ctx("read nodes/new").ok().stdout.contains("text"));
    // The path of an existing file still stands for it.
    place.write("draft.txt", "text of a\n");
    by(&place, "ana", "submit nodes/a.md --from draft.txt --expect-version 1").ok();
    by(&place, "bo", "approve nodes/a").ok();
    assert!(place.ctx("read nodes/a").ok().stdout.contains("text of a"));
    place.ctx("verify").ok();
}

#[test]
fn the_name_of_a_change_in_another_case_is_named() {
    let place = governed("");
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a --change Autumn").ok();
    assert_snapshot!(by(&place, "bo", "approve --change autumn").exits(1).stderr, @"
    error[not-submitted]: no submission belongs to the change `autumn`
    hint: `Autumn` awaits a decision; names of changes are compared exactly
    hint: `ctx review` lists the submissions that await a decision
    ");
    let other = by(&place, "bo", "approve --change spring").exits(1).stderr;
    assert!(!other.contains("Autumn"), "{other}");
}

#[test]
fn a_change_of_which_parts_are_hidden_is_not_said_to_be_named() {
    let place = Place::vault();
    for id in ["nodes/a", "nodes/legal/t"] {
        place.write(&format!("{id}.md"), "# T\n\none\n");
    }
    place.edit(".context/config.yaml", "layout:", "reads: stewards\nlayout:");
    place.ctx("publish --all --as ana@x.com").ok();
    let legal = "folders: {nodes/legal/: [{principal: ana@x.com, role: editor}, {principal: max@x.com, role: reviewer}]}\n";
    place.write("stewards.yaml", format!("{STEWARDS}{legal}"));
    place.ctx("govern on --as ana@x.com").ok();
    for id in ["nodes/a", "nodes/legal/t"] {
        place.edit(&format!("{id}.md"), "one", "two");
    }
    by(&place, "ana", "submit nodes/a nodes/legal/t --change autumn").ok();
    by(&place, "bo", "approve nodes/a").ok();
    let said = by(&place, "bo", "approve nodes/a").exits(3).stderr;
    assert_snapshot!(said, @"
    error[approved-already]: `nodes/a` has the approvals that it needs; it waits for the other parts of the change `autumn`
    hint: `ctx review show nodes/a` lists the other parts that you may read, and the number of further ones
    ");
    // A principal without a role gets the number of the scopes.
    let review = by(&place, "eve", "owners --access-review --json").ok();
    assert!(
        review.whole().contains("2 scopes at which you do not have a role"),
        "{}",
        review.whole()
    );
    let review = by(&place, "max", "owners --access-review --json").ok();
    assert!(
        review.whole().contains("1 scope at which you do not have a role"),
        "{}",
        review.whole()
    );
}

#[test]
fn status_says_where_a_document_went_whose_old_file_is_left() {
    let place = governed("");
    by(&place, "ana", "mv nodes/a nodes/moved").ok();
    place.edit("nodes/a.md", "one", "more");
    by(&place, "bo", "approve nodes/a").ok();
    let status = place.ctx("status").ok().stdout;
    let said = "the document was moved to `nodes/moved`, its text is in `nodes/moved.md`: copy the other \
                changes of this file into that one, and delete it";
    assert!(status.contains(said), "{status}");
    let status = place.ctx("status nodes/a --json").ok().json("ctx.status");
    let row = &status["documents"][0];
    assert_eq!((&row["state"], &row["moved_to"]), (&"retired".into(), &"nodes/moved".into()));
    // A document that was retired without a move has nowhere to point to.
    by(&place, "ana", "retire nodes/b").ok();
    by(&place, "bo", "approve nodes/b").ok();
    let status = place.ctx("status nodes/b --json").ok().json("ctx.status");
    assert!(status["documents"][0].get("moved_to").is_none(), "{status}");
}

#[test]
fn status_says_that_a_file_was_edited_on_after_it_was_submitted() {
    let place = governed("");
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    place.edit("nodes/a.md", "two", "two and a half");
    place.write("nodes/new.md", "# New\n\nfirst\n");
    by(&place, "ana", "submit nodes/new").ok();
    place.edit("nodes/new.md", "first", "first and more");
    by(&place, "bo", "approve nodes/a nodes/new").ok();
    let status = place.ctx("status").ok().stdout;
    assert_snapshot!(status.lines().skip(1).collect::<Vec<_>>().join("\n"), @"
    Published and unchanged: 2 documents

    Not edited from the published version (next: as shown for each):
      nodes/a.md (v3)
          version 3 is a text that was submitted and approved; the file was edited from version 1 too, and has other changes
          `ctx diff nodes/a` shows what differs; merge what is not a later edit of yours, set `version` in the file to the published version, and run `ctx submit nodes/a`
      nodes/new.md (v2)
          version 2 is a text that was submitted and approved; the file has other changes, and does not say which version it was edited from
          `ctx diff nodes/new` shows what differs; merge what is not a later edit of yours, and run `ctx submit nodes/new --expect-version 2`
    ");
    let refused = by(&place, "ana", "submit nodes/new").exits(1).stderr;
    let said = "version 2 is a text that was submitted and approved; the file has other changes, and does not say \
                which version it was edited from";
    assert!(refused.contains(said) && refused.contains("--expect-version 2"), "{refused}");
    // The advice can be followed.
    place.edit("nodes/a.md", "version: 1", "version: 3");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "ana", "submit nodes/new --expect-version 2").ok();
    by(&place, "bo", "approve nodes/a nodes/new").ok();
    assert!(place.ctx("read nodes/a").ok().stdout.contains("two and a half"));
    assert!(place.ctx("read nodes/new").ok().stdout.contains("first and more"));
    place.ctx("verify").ok();
}
