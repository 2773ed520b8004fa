//! The workflow of a governed vault: a submission is published only after a reviewer approved it.

use std::collections::BTreeMap;

use insta::assert_snapshot;

use crate::harness::{Output, Place};

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  - \
    {principal: kim@x.com, role: reviewer}\n  - {principal: ana@x.com, role: editor}\n";

/// Returns a governed vault with `nodes/a`; Bo and Kim review, Ana edits.
fn governed_by(stewards: &str) -> Place {
    let place = Place::vault();
    place.write("nodes/a.md", "# A\n\none\n");
    place.ctx("publish --all --as ana@x.com").ok();
    place.write("stewards.yaml", stewards);
    place.ctx("govern on --as ana@x.com").ok();
    place
}

fn governed() -> Place {
    governed_by(STEWARDS)
}

/// Runs a command of one of the three.
fn by(place: &Place, who: &str, line: &str) -> Output {
    place.ctx(&format!("{line} --as {who}@x.com"))
}

/// Asserts that the vault is intact and no live file differs.
fn intact(place: &Place) {
    let verified = place.ctx("verify --json").ok().json("ctx.verify");
    assert_eq!(verified["findings"], serde_json::json!([]), "{verified}");
    place.ctx("checkpoint rebuild --from-scratch --dry-run").ok();
}

fn code(output: &Output) -> String {
    let start = output.stderr.find("error[").map_or(0, |at| at + "error[".len());
    output.stderr[start..].split(']').next().unwrap_or_default().to_owned()
}

#[test]
fn govern_on_needs_two_reviewers_and_publishes_both_files() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let refused = place.ctx("govern on").exits(3);
    assert_eq!(code(&refused), "too-few-reviewers");
    place.write("stewards.yaml", "vault: [{principal: bo@x.com, role: reviewer}]\n");
    assert_snapshot!(place.ctx("govern on").whole(), @"
    exit: 3
    -- stdout
    -- stderr
    error[too-few-reviewers]: 1 of 2 reviewers for the whole vault are assigned
    hint: run `ctx steward assign PRINCIPAL reviewer --whole-vault` for each of them
    hint: with `--alone` one is enough, together with an editor who submits texts
    ");
    assert_eq!(code(&place.ctx("govern on --alone").exits(3)), "too-few-reviewers");
    let two =
        "vault: [{principal: bo@x.com, role: reviewer}, {principal: ana@x.com, role: editor}]\n";
    place.write("stewards.yaml", two);
    let before = place.tree();
    place.ctx("govern on --alone --dry-run").ok();
    assert_eq!(before, place.tree());
    place.ctx("govern on --alone").ok();
    assert!(place.read(".context/config.yaml").ends_with("governance: governed\n"));
    assert_eq!(code(&place.ctx("govern on --alone").exits(3)), "governed");
    intact(&place);
}

#[test]
fn a_configuration_that_says_governed_is_published_by_govern_on_alone() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let config = place.read(".context/config.yaml") + "governance: governed\n";
    place.write(".context/config.yaml", config);
    place.write("nodes/a.md", place.read("nodes/a.md") + "more\n");
    for line in ["publish --changed", "publish nodes/a", "retire nodes/a"] {
        assert_eq!(code(&place.ctx(line).exits(3)), "governed");
    }
    place.write("stewards.yaml", STEWARDS);
    place.ctx("govern on").ok();
}

#[test]
fn a_submission_is_published_by_a_reviewer_who_is_no_author() {
    let place = governed();
    for line in ["publish nodes/a", "publish --all"] {
        assert_eq!(code(&by(&place, "ana", line).exits(3)), "governed");
    }
    place.edit("nodes/a.md", "one", "two");
    let live = place.read("nodes/a.md");
    by(&place, "ana", "submit nodes/a -m why").ok();
    assert_eq!(place.read("nodes/a.md"), live);
    intact(&place);
    assert!(by(&place, "ana", "submit nodes/a").ok().stdout.contains("unchanged: nodes/a"));
    assert_eq!(code(&by(&place, "ana", "approve nodes/a").exits(3)), "own-submission");
    assert_eq!(code(&by(&place, "eve", "approve nodes/a").exits(3)), "not-a-steward");
    assert_eq!(code(&by(&place, "ANA", "approve nodes/a").exits(3)), "own-submission");
    let served = place.ctx("read nodes/a").ok().stdout;
    assert!(served.contains("one") && !served.contains("two"));
    assert_eq!(code(&place.ctx("show nodes/a 2").exits(1)), "withheld");
    assert_eq!(code(&place.ctx("diff nodes/a 1 2").exits(1)), "withheld");
    by(&place, "bo", "approve nodes/a").ok();
    assert!(place.ctx("read nodes/a").ok().stdout.contains("two"));
    let approved = place.read("nodes/a.md");
    for line in ["review: approved\n", "approved_by: bo@x.com\n", "status: published\n", "two\n"] {
        assert!(approved.contains(line), "{line} in {approved}");
    }
    assert_eq!(code(&by(&place, "kim", "approve nodes/a").exits(1)), "not-submitted");
    intact(&place);
}

#[test]
fn the_queue_lists_what_a_reviewer_may_approve() {
    let place = governed();
    place.write("nodes/b.md", "# B\n");
    by(&place, "ana", "submit nodes/b").ok();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "bo", "submit nodes/a").ok();
    assert_snapshot!(by(&place, "bo", "review").whole(), @"
    exit: 0
    -- stdout
    nodes/b  v1  publish  2026-11-21T10:00:03.000Z  ana@x.com  +7 -0  0 of 1
    -- stderr
    note: 1 submission that you are not asked to decide; `--all` lists them
    ");
    let all = by(&place, "bo", "review --all --json").ok().json("ctx.review");
    let ids: Vec<&str> =
        all["waiting"].as_array().unwrap().iter().map(|w| w["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["nodes/b", "nodes/a"]);
    assert!(by(&place, "ana", "review").ok().stdout.contains("nothing awaits your decision"));
}

#[test]
fn add_makes_a_draft_and_retire_and_mv_make_submissions() {
    let place = governed();
    assert!(
        by(&place, "ana", "add nodes/b --body text").ok().stderr.contains("ctx submit nodes/b")
    );
    by(&place, "ana", "submit nodes/b").ok();
    by(&place, "bo", "approve nodes/b").ok();
    by(&place, "ana", "mv nodes/b nodes/c").ok();
    assert!(place.has("nodes/b.md"));
    by(&place, "kim", "approve nodes/b").ok();
    assert!(!place.has("nodes/b.md") && place.has("nodes/c.md"));
    assert!(place.read("nodes/c.md").contains("approved_by: kim@x.com"));
    by(&place, "ana", "mv nodes/b nodes/c --fix-links").ok();
    intact(&place);
    by(&place, "ana", "retire nodes/c").ok();
    assert!(place.ctx("list").ok().stdout.contains("nodes/c"));
    assert_eq!(code(&by(&place, "ana", "approve nodes/c").exits(3)), "own-submission");
    by(&place, "bo", "approve nodes/c").ok();
    assert!(!place.ctx("list").ok().stdout.contains("nodes/c"));
    intact(&place);
    // Restoring it is a submission.
    by(&place, "bo", "submit nodes/c").ok();
    by(&place, "kim", "approve nodes/c").ok();
    assert!(place.ctx("list").ok().stdout.contains("nodes/c"));
    intact(&place);
}

#[test]
fn the_parts_of_a_change_are_published_together_by_their_reviewers() {
    let stewards = format!(
        "{STEWARDS}folders:\n  nodes/legal/: [{{principal: lee@x.com, role: reviewer}}, {{principal: ana@x.com, role: editor}}]\n"
    );
    let place = governed_by(&stewards);
    place.write("nodes/legal/b.md", "# B\n");
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a nodes/legal/b --change autumn").ok();
    assert_eq!(code(&by(&place, "bo", "approve nodes/legal/b").exits(3)), "not-a-steward");
    assert_snapshot!(by(&place, "bo", "approve --change autumn").whole(), @"
    exit: 0
    -- stdout
    1 version recorded, nothing published
      approved in part  nodes/a  v3
      waits: nodes/a (1 of 1 approvals, change autumn)
      waits: nodes/legal/b (0 of 1 approvals, change autumn)
    -- stderr
    ");
    assert_eq!(code(&by(&place, "bo", "approve nodes/a").exits(3)), "approved-already");
    intact(&place);
    by(&place, "lee", "approve --change autumn").ok();
    let history = place.ctx("history nodes/a").ok().stdout;
    assert!(history.contains("@3  "), "{history}");
    assert!(place.read("nodes/a.md").contains("approved_by: bo@x.com"));
    intact(&place);
}

#[test]
fn to_reject_one_part_of_a_change_rejects_all() {
    let place = governed();
    place.write("nodes/b.md", "# B\n");
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a nodes/b --change set").ok();
    by(&place, "bo", "reject nodes/b --reason 'cite the law'").ok();
    assert!(place.ctx("review --all --as bo@x.com").ok().stdout.contains("nothing awaits"));
    assert_eq!(code(&by(&place, "bo", "approve nodes/a").exits(1)), "not-submitted");
    // The same text again is another submission, which its author still may not approve.
    by(&place, "bo", "submit nodes/a").ok();
    assert_eq!(code(&by(&place, "ana", "approve nodes/a").exits(3)), "own-submission");
    assert_eq!(code(&by(&place, "kim", "withdraw nodes/a").exits(3)), "not-the-submitter");
    by(&place, "bo", "withdraw nodes/a").ok();
    // A text that is neither published nor submitted is an ordinary edit.
    place.ctx("verify --allow-drift").ok();
}

#[test]
fn a_scope_may_ask_for_two_reviewers() {
    let place = governed_by(&format!("{STEWARDS}review: {{vault: {{required: 2}}}}\n"));
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "bo", "approve nodes/a").ok();
    assert_eq!(code(&by(&place, "Bo", "approve nodes/a").exits(3)), "approved-already");
    assert!(!place.ctx("read nodes/a").ok().stdout.contains("two"));
    intact(&place);
    by(&place, "kim", "approve nodes/a").ok();
    assert!(place.read("nodes/a.md").contains("approved_by: [bo@x.com, kim@x.com]"));
    intact(&place);
}

#[test]
fn an_approval_is_of_the_version_that_the_reviewer_has_read() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    place.edit("nodes/a.md", "two", "three");
    by(&place, "ana", "submit nodes/a").ok();
    let refused = by(&place, "bo", "approve nodes/a --version 2").exits(4);
    assert_eq!(code(&refused), "submission-changed");
    by(&place, "bo", "approve nodes/a --version 3").ok();
    intact(&place);
}

#[test]
fn another_principals_submission_is_superseded_on_request() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    assert!(by(&place, "kim", "submit nodes/a").ok().stdout.contains("unchanged: nodes/a"));
    place.edit("nodes/a.md", "two", "three");
    assert_eq!(code(&by(&place, "kim", "submit nodes/a").exits(4)), "submission-pending");
    by(&place, "kim", "submit nodes/a --supersede").ok();
    let history = place.ctx("history nodes/a").ok().stdout;
    assert_eq!(history.lines().count(), 3, "{history}");
    by(&place, "bo", "approve nodes/a").ok();
    intact(&place);
}

#[test]
fn bytes_are_submitted_without_touching_the_live_file() {
    let place = governed();
    let live = place.read("nodes/a.md");
    place.write("draft.txt", "# A\n\nproposed\n");
    by(&place, "ana", "submit nodes/a --from draft.txt --expect-version 1").ok();
    let text = live.replace("one", "proposed");
    place.typed("submit nodes/a --from - --as ana@x.com").stdin(&text).run().ok();
    assert_eq!(place.read("nodes/a.md"), live);
    place.typed("submit nodes/new --from - --as ana@x.com").stdin("# New\n").run().ok();
    assert!(!place.has("nodes/new.md"));
    intact(&place);
    by(&place, "bo", "approve nodes/a nodes/new").ok();
    assert!(place.read("nodes/a.md").contains("proposed") && place.has("nodes/new.md"));
    intact(&place);
}

#[test]
fn a_text_without_frontmatter_keeps_the_published_fields() {
    for setting in ["managed", "untouched"] {
        let place = Place::vault();
        let config = place.read(".context/config.yaml") + &format!("frontmatter: {setting}\n");
        place.write(".context/config.yaml", config);
        place.write(
            "nodes/a.md",
            "---\ntitle: Fees\ntags: [policy]\nteam: legal\n---\n# A\n\none\n",
        );
        place.ctx("publish --all --as ana@x.com").ok();
        place.write("stewards.yaml", STEWARDS);
        place.ctx("govern on --as ana@x.com").ok();
        let submit = |text: &str| {
            let line = "submit nodes/a --from - --expect-version 1 --as ana@x.com";
            place.typed(line).stdin(text).run()
        };
        assert!(submit("# A\n\none\n").ok().stdout.contains("unchanged: nodes/a"), "{setting}");
        // The file does not name the version that it was edited from.
        if setting == "managed" {
            let line = "submit nodes/a --from - --as ana@x.com";
            place.typed(line).stdin("# B\n\ntwo\n").run().exits(1);
        }
        submit("# B\r\n\r\ntwo\r\n").ok();
        assert!(submit("# B\n\ntwo\n").ok().stdout.contains("unchanged: nodes/a"), "{setting}");
        by(&place, "bo", "approve nodes/a").ok();
        let text = place.ctx("show nodes/a 3").ok().stdout;
        for kept in ["title: Fees\n", "tags: [policy]\n", "team: legal\n", "\n# B\n\ntwo\n"] {
            assert!(text.contains(kept), "{setting}: {kept} in {text}");
        }
        intact_but_for_drift(&place);
    }
}

/// Asserts that live files differ, and nothing else is found.
fn intact_but_for_drift(place: &Place) {
    let verified = place.ctx("verify --allow-drift --json").ok().json("ctx.verify");
    let findings = verified["findings"].as_array().unwrap();
    let others: Vec<_> = findings.iter().filter(|found| found["code"] != "drift").collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn a_text_from_elsewhere_says_which_version_it_was_edited_from() {
    let place = governed();
    place.write("draft.txt", "# A\n\nproposed\n");
    assert_snapshot!(by(&place, "ana", "submit nodes/a --from draft.txt").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/a.md
        error[stale]: the text does not say which version it was edited from; version 1 is published (merge what `ctx read nodes/a` prints, and set `version` in the frontmatter, or run `ctx submit nodes/a --from FILE --expect-version 1`)
    hint: nothing was written; fix the documents, or leave them out
    ");
    let stamped = place.read("nodes/a.md").replace("one", "proposed");
    place.write("stamped.txt", stamped);
    by(&place, "ana", "submit nodes/a --from stamped.txt --dry-run").ok();
    // The live file of a first version may be the one that the version was made from.
    place.write("nodes/a.md", "# A\n\none and a half\n");
    by(&place, "ana", "submit nodes/a --dry-run").ok();
}

#[test]
fn submit_compares_the_expected_version_with_the_published_one() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    let refused = |who: &str, line: &str| {
        let said = by(&place, who, &format!("{line} --expect-version 7")).exits(4);
        assert_eq!(code(&said), "not-as-expected", "{line}");
    };
    refused("ana", "submit nodes/a");
    refused("ana", "retire nodes/a");
    refused("ana", "mv nodes/a nodes/b");
    refused("bo", "retire nodes/a --emergency --reason wrong");
    by(&place, "ana", "submit nodes/a --expect-version 1").ok();
    let head = place.ctx("head").ok().stdout;
    let head = head.split_whitespace().find(|word| word.starts_with("sha256:")).unwrap();
    by(&place, "ana", &format!("submit nodes/a --expect-hash {head}")).ok();
    by(&place, "bo", "approve nodes/a").ok();
    place.edit("nodes/a.md", "two", "three");
    by(&place, "ana", &format!("submit nodes/a --expect-hash {head}")).exits(4);
}

#[test]
fn an_edit_after_the_submission_is_not_lost() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    place.edit("nodes/a.md", "two", "two and a half");
    let live = place.read("nodes/a.md");
    by(&place, "bo", "approve nodes/a").ok();
    assert_eq!(place.read("nodes/a.md"), live);
    assert!(place.ctx("read nodes/a").ok().stdout.contains("two\n"));
    place.ctx("verify").exits(1);
    // The file was edited from another version than the published one.
    assert!(by(&place, "ana", "submit nodes/a").exits(1).stderr.contains("stale"));
}

#[test]
fn tags_do_not_choose_the_reviewer() {
    let stewards = format!(
        "{STEWARDS}tags:\n  mine: [{{principal: eve@x.com, role: reviewer}}, {{principal: ana@x.com, role: editor}}]\n"
    );
    let place = governed_by(&stewards);
    place.edit("nodes/a.md", "title: A", "title: A\ntags: [mine]");
    // The published text has other stewards than the proposed one: both decide.
    by(&place, "ana", "submit nodes/a").ok();
    assert_eq!(code(&by(&place, "eve", "approve nodes/a").exits(3)), "not-a-steward");
    assert_eq!(code(&by(&place, "bo", "approve nodes/a").exits(3)), "not-a-steward");
    intact(&place);
}

#[test]
fn governance_files_are_reviewed_too() {
    let place = governed();
    place.write("packs/start.yml", "id: start\nlabel: Start\n");
    by(&place, "ana", "submit --changed").ok();
    by(&place, "bo", "approve packs/start.yml").ok();
    assert!(place.ctx("pack list").ok().stdout.contains("start"));
    place.remove("packs/start.yml");
    by(&place, "ana", "submit packs/start.yml").ok();
    by(&place, "bo", "approve packs/start.yml").ok();
    assert!(!place.ctx("pack list").ok().stdout.contains("start"));
    intact(&place);
    place.write("stewards.yaml", STEWARDS.replace("role: reviewer", "role: editor"));
    assert_eq!(code(&by(&place, "ana", "submit stewards.yaml").exits(3)), "too-few-reviewers");
    place.write("stewards.yaml", STEWARDS.replace("editor", "reviewer"));
    by(&place, "ana", "submit stewards.yaml").ok();
    by(&place, "bo", "approve stewards.yaml").ok();
    intact(&place);
    place.remove("CONTEXT.md");
    let refused = by(&place, "ana", "submit CONTEXT.md").exits(1);
    assert!(refused.stderr.contains("ctx restore CONTEXT.md"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("retire"), "{}", refused.stderr);
}

#[test]
fn a_reviewer_retires_in_an_emergency_and_another_one_ratifies_it() {
    let place = governed();
    assert_eq!(
        code(&by(&place, "ana", "retire nodes/a --emergency --reason x").exits(3)),
        "not-a-steward"
    );
    by(&place, "bo", "retire nodes/a --emergency --reason 'wrong threshold'").ok();
    assert!(!place.ctx("list").ok().stdout.contains("nodes/a"));
    assert!(by(&place, "kim", "review").ok().stdout.contains("emergency"));
    assert_eq!(code(&by(&place, "bo", "approve nodes/a").exits(3)), "own-submission");
    let reported = || {
        let report = place.ctx("evidence report --json").ok().json("ctx.evidence.report");
        let rows = report["publications"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["action"] == "retired").unwrap()
    };
    let row = reported();
    assert_eq!(row["emergency"]["reason"], "wrong threshold", "{row}");
    assert!(row["emergency"]["ratified_by"].is_null(), "{row}");
    by(&place, "kim", "approve nodes/a").ok();
    assert!(by(&place, "kim", "review --all").ok().stdout.contains("nothing awaits"));
    let row = reported();
    assert_eq!(
        (&row["edited_by"], &row["approved_by"]),
        (&"bo@x.com".into(), &serde_json::json!([]))
    );
    assert_eq!(row["emergency"]["ratified_by"], "kim@x.com", "{row}");
    let at = row["emergency"]["ratified_at"].as_str().unwrap();
    let csv = place.ctx("evidence report").ok().stdout;
    let retired = csv.lines().find(|line| line.contains(",retired,")).unwrap();
    assert!(retired.contains(&format!(",wrong threshold,kim@x.com,{at},true")), "{retired}");
    let html = place.ctx("evidence report --format html").ok().stdout;
    assert!(html.contains("wrong threshold") && html.contains("ratified_by"), "{html}");
    // A document that was not retired in an emergency does not have the key.
    let report = place.ctx("evidence report --json").ok().json("ctx.evidence.report");
    let rows = report["publications"].as_array().unwrap();
    assert_eq!(rows.iter().filter(|row| row.get("emergency").is_some()).count(), 1);
    intact(&place);
}

#[test]
fn withdrawn_submission_does_not_end_an_emergency() {
    let place = governed();
    by(&place, "bo", "retire nodes/a --emergency --reason boom").ok();
    by(&place, "bo", "submit nodes/a").ok();
    assert!(by(&place, "kim", "review --all").ok().stdout.contains("publish"));
    by(&place, "bo", "withdraw nodes/a").ok();
    for line in ["review", "review --all", "status"] {
        let said = by(&place, "kim", line).ok().stdout;
        assert!(said.contains("emergency") || said.contains("ratif"), "{line}: {said}");
    }
    assert_eq!(code(&by(&place, "bo", "approve nodes/a").exits(3)), "own-submission");
    by(&place, "kim", "approve nodes/a").ok();
    assert!(by(&place, "kim", "review --all").ok().stdout.contains("nothing awaits"));
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "kim", "approve nodes/a").ok();
    assert!(by(&place, "kim", "review --all").ok().stdout.contains("nothing awaits"));
    intact(&place);
}

#[test]
fn an_emergency_ends_with_the_publication_that_brings_the_document_back() {
    let place = governed();
    by(&place, "bo", "retire nodes/a --emergency --reason boom").ok();
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "kim", "approve nodes/a --version 3").ok();
    assert!(by(&place, "kim", "review --all").ok().stdout.contains("nothing awaits"));
    intact(&place);
}

#[test]
fn approve_refuses_a_document_with_two_pending_decisions() {
    let place = governed();
    by(&place, "bo", "retire nodes/a --emergency --reason boom").ok();
    let shown = by(&place, "kim", "review show nodes/a").ok().stderr;
    assert!(shown.contains("hint: run `ctx approve nodes/a --version 2`"), "{shown}");
    by(&place, "ana", "submit nodes/a").ok();
    let tree = place.tree();
    assert_snapshot!(by(&place, "kim", "approve nodes/a").exits(4).stderr, @"
    error[submission-pending]: two decisions about `nodes/a` are pending: version 3 was submitted, and version 2 retired it in an emergency
    hint: decide the submission first: `ctx approve nodes/a --version 3` publishes its text, `ctx reject nodes/a --version 3 --reason TEXT` leaves the document retired
    hint: if the document stays retired, `ctx approve nodes/a --version 2` ratifies the retirement
    ");
    // A reviewer who read the retirement does not approve the text that was submitted since.
    let pinned = by(&place, "kim", "approve nodes/a --version 2").exits(4);
    assert_eq!(code(&pinned), "submission-changed");
    assert_eq!(tree, place.tree());
    by(&place, "kim", "reject nodes/a --version 3 --reason no").ok();
    // A reviewer who read the submission does not ratify the retirement.
    let pinned = by(&place, "kim", "approve nodes/a --version 3").exits(4);
    assert_eq!(code(&pinned), "submission-changed");
    by(&place, "kim", "approve nodes/a --version 2").ok();
    intact(&place);
}

#[test]
fn approve_dry_run_compares_with_the_published_text() {
    let place =
        governed_by(&(STEWARDS.to_owned() + "review: {folders: {nodes/two/: {required: 2}}}\n"));
    place.write("nodes/two/n.md", "# N\n\nnew\n");
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a nodes/two/n").ok();
    let planned = by(&place, "kim", "approve nodes/a --dry-run").ok().stdout;
    assert!(
        planned.contains("\n--- nodes/a.md (published)\n+++ nodes/a.md (approved)\n"),
        "{planned}"
    );
    assert!(planned.contains("\n-one\n+two\n"), "{planned}");
    // The same if the text is new, needs another approval, or the file was edited since.
    let planned = by(&place, "kim", "approve nodes/two/n --dry-run").ok().stdout;
    assert!(planned.contains("\n+new\n"), "{planned}");
    place.edit("nodes/a.md", "two", "three");
    let planned = by(&place, "kim", "approve nodes/a --dry-run").ok().stdout;
    assert!(planned.contains("\n-one\n+two\n"), "{planned}");
    place.edit("stewards.yaml", "version: 1\n", "version: 1\n# note\n");
    by(&place, "ana", "submit stewards.yaml").ok();
    let planned = by(&place, "kim", "approve stewards.yaml --dry-run").ok().stdout;
    assert!(planned.contains("\n+# note\n"), "{planned}");
}

#[test]
fn author_submits_edits_that_were_made_after_the_submission() {
    let place = governed();
    for (n, text) in [("one", "two"), ("two", "three")] {
        place.edit("nodes/a.md", n, text);
        by(&place, "ana", "submit nodes/a").ok();
        if text == "three" {
            place.edit("nodes/a.md", "three", "four");
        }
        by(&place, "kim", "approve nodes/a").ok();
    }
    let status = by(&place, "ana", "status").ok().stdout;
    assert!(status.contains("set `version` in the file to the published version"), "{status}");
    place.edit("nodes/a.md", "version: 3", "version: 5");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "kim", "approve nodes/a").ok();
    assert!(place.ctx("read nodes/a").ok().stdout.contains("four"));
    // A change by hand is not one of an earlier version.
    place.edit("nodes/a.md", "approved_by: kim@x.com", "approved_by: ask legal first");
    let refused = by(&place, "ana", "submit nodes/a").exits(1);
    assert!(refused.stderr.contains("frontmatter-spelling"), "{}", refused.whole());
    place.edit("nodes/a.md", "approved_by: ask legal first", "approved_by: kim@x.com");
    intact(&place);
}

#[test]
fn submit_keeps_a_change_by_hand_that_an_approval_left_alone() {
    let place = governed();
    for (n, text) in [("one", "two"), ("two", "three")] {
        place.edit("nodes/a.md", n, text);
        by(&place, "ana", "submit nodes/a").ok();
        if text == "three" {
            place.edit("nodes/a.md", "approved_by: kim@x.com", "approved_by: ask legal first");
        }
        by(&place, "kim", "approve nodes/a").ok();
    }
    let live = place.read("nodes/a.md");
    assert!(
        by(&place, "ana", "status").ok().stdout.contains("Not edited from the published version")
    );
    let refused = by(&place, "ana", "submit nodes/a").exits(1);
    assert!(refused.stderr.contains("error[stale]"), "{}", refused.whole());
    assert_eq!(place.read("nodes/a.md"), live);
}

#[test]
fn author_submits_the_file_of_another_branch() {
    let place = governed();
    let branch = place.duplicate();
    // The branches publish at different times.
    branch.ctx("status").ok();
    for (place, text) in [(&branch, "theirs"), (&place, "ours")] {
        place.edit("nodes/a.md", "one", text);
        by(place, "ana", "submit nodes/a").ok();
        by(place, if text == "ours" { "kim" } else { "bo" }, "approve nodes/a").ok();
    }
    place.write("nodes/a.md", branch.read("nodes/a.md"));
    let status = by(&place, "ana", "status").ok().stdout;
    let advice = "with `checksum`, `updated_at` and the fields of the review, or run `ctx ";
    let line = status.split_once(advice).unwrap_or_else(|| panic!("{status}")).1;
    by(&place, "ana", line.split_once('`').unwrap().0).ok();
    by(&place, "kim", "approve nodes/a").ok();
    assert!(place.ctx("read nodes/a").ok().stdout.contains("theirs"));
    intact(&place);
}

#[test]
fn submit_skips_invalid_documents_on_request() {
    let place = governed();
    place.write("nodes/b.md", "# B\n\none\n");
    by(&place, "ana", "submit nodes/b").ok();
    by(&place, "kim", "approve nodes/b").ok();
    place.edit("nodes/a.md", "one", "two");
    place.edit("nodes/b.md", "approved_by: kim@x.com", "approved_by: ask legal first");
    let refused = by(&place, "ana", "submit --changed").exits(1).stderr;
    assert!(refused.contains("hint: `--skip-invalid` submits the valid documents"), "{refused}");
    let said = by(&place, "ana", "submit --changed --skip-invalid").exits(1).whole();
    assert!(said.contains("submitted  nodes/a  v2"), "{said}");
    assert!(said.contains("error[frontmatter-spelling]: nodes/b.md"), "{said}");
    by(&place, "kim", "approve nodes/a").ok();
    // The parts of a change are submitted together.
    by(&place, "ana", "submit --changed --change one --skip-invalid").exits(2);
}

#[test]
fn status_names_a_refused_submission() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "kim", "reject nodes/a --reason 'cite the law'").ok();
    let refused = || {
        let status = by(&place, "ana", "status").ok().stdout;
        status.split_once("\n\nNot approved, ").map(|(_, rest)| rest.to_owned())
    };
    assert_snapshot!(refused().unwrap(), @"
    and not submitted again (next: edit the file, then ctx submit ID):
      nodes/a (v2, by ana@x.com)
          rejected by kim@x.com, v3, 2026-11-21T10:00:04.000Z: cite the law
    ");
    let json = by(&place, "ana", "status --json").ok().json("ctx.status");
    assert_eq!(json["refused"][0]["ended"]["reason"], "cite the law", "{json}");
    by(&place, "ana", "submit nodes/a").ok();
    assert_eq!(refused(), None);
    by(&place, "ana", "withdraw nodes/a").ok();
    assert_eq!(refused(), None);
    by(&place, "ana", "submit nodes/a").ok();
    let retired = by(&place, "bo", "retire nodes/a --emergency --reason wrong").ok().stderr;
    assert_snapshot!(retired, @"note: the retirement ends the submission of nodes/a (version 6, by ana@x.com); `ctx review show nodes/a --version 6` shows it; to propose its text again, its submitter runs `ctx submit nodes/a`, with `--from FILE` if the text was handed in");
    by(&place, "kim", "approve nodes/a").ok();
    let ended = refused().unwrap();
    assert!(ended.contains("nodes/a (v6, by ana@x.com)\n      ended by bo@x.com, v7, "), "{ended}");
    by(&place, "ana", "restore nodes/a --force").ok();
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "kim", "approve nodes/a").ok();
    assert_eq!(refused(), None);
}

#[test]
fn restore_advises_to_submit_an_earlier_text() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "kim", "approve nodes/a").ok();
    let restored = by(&place, "ana", "restore nodes/a --version 1").ok().stderr;
    assert!(
        restored.contains("`ctx submit nodes/a` submits this text as a new version"),
        "{restored}"
    );
}

#[test]
fn an_emergency_compares_what_its_reviewer_has_read() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "kim", "approve nodes/a").ok();
    let hash = format!("sha256:{}", "0".repeat(64));
    let tree = place.tree();
    for expected in ["--expect-version 1", &format!("--expect-hash {hash}")] {
        let line = format!("retire nodes/a --emergency --reason boom {expected}");
        assert_eq!(code(&by(&place, "bo", &line).exits(4)), "not-as-expected", "{expected}");
    }
    assert_eq!(tree, place.tree());
    by(&place, "bo", "retire nodes/a --emergency --reason boom --expect-version 3").ok();
}

#[test]
fn approve_refuses_the_writer_of_only_the_frontmatter() {
    let place = governed_by(&STEWARDS.replace(
        "kim@x.com, role: reviewer}",
        "kim@x.com, role: reviewer}\n  - {principal: sam@x.com, role: editor}",
    ));
    let published = place.read("nodes/a.md");
    place.edit("nodes/a.md", "title: A", "title: B\ntags: [x]");
    for (n, end) in ["kim:reject nodes/a --reason no", "bo:withdraw nodes/a"].iter().enumerate() {
        let (who, end) = end.split_once(':').unwrap();
        by(&place, "bo", "submit nodes/a").ok();
        by(&place, who, end).ok();
        by(&place, "sam", "submit nodes/a").ok();
        let refused = by(&place, "bo", "approve nodes/a").exits(3);
        assert_eq!(code(&refused), "own-submission", "{n}");
        assert!(refused.stderr.contains("submitted the same text before"), "{n}");
        by(&place, "sam", "withdraw nodes/a").ok();
    }
    // Bo's submission does not bar other fields, or a renewal of the published text.
    place.write("nodes/a.md", published.replace("title: A", "title: C"));
    by(&place, "sam", "submit nodes/a").ok();
    by(&place, "bo", "approve nodes/a").ok();
    by(&place, "sam", "submit nodes/a --renew").ok();
    by(&place, "bo", "approve nodes/a").ok();
    intact(&place);
}

/// Replaces the files of a folder by earlier ones.
fn roll_back(place: &Place, before: &BTreeMap<String, Vec<u8>>, folder: &str) {
    let is_in = |path: &&String| path.starts_with(folder);
    place.tree().keys().filter(is_in).for_each(|path| place.remove(path));
    before
        .iter()
        .filter(|(path, _)| is_in(path))
        .for_each(|(path, bytes)| place.write(path, bytes));
}

#[test]
fn approve_refuses_a_rejected_submission_after_a_rollback() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    let before = place.tree();
    by(&place, "bo", "reject nodes/a --reason no").ok();
    roll_back(&place, &before, "nodes/.versions/");
    assert!(by(&place, "kim", "review --all").ok().stdout.contains("nothing awaits"));
    for line in ["approve nodes/a", "reject nodes/a --reason no"] {
        let refused = by(&place, "kim", line).exits(4);
        assert_eq!(code(&refused), "unexplained", "{line}");
        assert!(refused.stderr.contains("records a decision"), "{line}");
    }
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "ana", "submit nodes/a").ok();
    assert!(!place.ctx("read nodes/a").ok().stdout.contains("two"));
}

#[test]
fn parts_of_a_change_that_a_rollback_brought_back_are_not_decided() {
    for (who, end) in [("bo", "reject --change set --reason no"), ("ana", "withdraw --change set")]
    {
        for folder in ["nodes/.versions/b/", "nodes/.versions/"] {
            let place = governed();
            place.write("nodes/b.md", "# B\n");
            place.edit("nodes/a.md", "one", "two");
            by(&place, "ana", "submit nodes/a nodes/b --change set").ok();
            let before = place.tree();
            by(&place, who, end).ok();
            roll_back(&place, &before, folder);
            let listed = by(&place, "kim", "review --all").ok().stdout;
            assert!(listed.contains("nothing awaits"), "{end} {folder}: {listed}");
            for line in ["approve nodes/b", "approve nodes/a nodes/b", "reject nodes/b --reason no"]
            {
                let refused = by(&place, "kim", line)
                    .exits(if folder.ends_with("b/") && line.contains("/a") { 1 } else { 4 });
                assert!(
                    ["unexplained", "not-submitted"].contains(&code(&refused).as_str()),
                    "{line}"
                );
            }
            let refused = by(&place, "kim", "approve --change set").exits(1);
            assert_eq!(code(&refused), "not-submitted", "{end} {folder}");
            // An editor submits the texts again, and a reviewer can decide.
            by(&place, "ana", "submit nodes/a nodes/b --change again").ok();
            by(&place, "kim", "approve --change again").ok();
            assert!(place.ctx("read nodes/a").ok().stdout.contains("two"));
        }
    }
}

#[test]
fn a_change_that_was_published_is_not_published_again_after_a_rollback() {
    let place = governed();
    place.write("nodes/b.md", "# B\n");
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a nodes/b --change set").ok();
    let before = place.tree();
    by(&place, "bo", "approve --change set").ok();
    roll_back(&place, &before, "nodes/.versions/");
    assert_eq!(by(&place, "kim", "approve nodes/b").exit, 1);
    roll_back(&place, &before, ".versions/");
    for line in ["approve nodes/b", "approve --change set"] {
        assert_eq!(code(&by(&place, "kim", line).exits(4)), "head-rollback", "{line}");
    }
}

#[test]
fn a_rebuild_does_not_make_a_governed_vault_ungoverned() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "bo", "approve nodes/a").ok();
    // The user of the copy trusts no head.
    let place = Place::copy_of(place.root());
    place.edit(".context/config.yaml", ": governed", ": ungoverned");
    place.remove(".versions/checkpoints.jsonl");
    let mut tree = place.tree();
    let lost = [
        (".context/.versions", "a line of the change log names a review of `nodes/a`"),
        (".context/audit", "the history of `nodes/a` has steps of reviews"),
        (
            "nodes/.versions",
            "there is a `stewards.yaml`, but the history of the configuration is missing",
        ),
    ];
    for (folder, why) in lost {
        std::fs::remove_dir_all(place.path(folder)).unwrap();
        tree.retain(|path, _| !path.starts_with(folder));
        let refused = place.ctx("checkpoint rebuild").exits(3);
        assert_eq!(code(&refused), "governed");
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
        let is_kept = |path: &&String| !path.starts_with(".context/local");
        assert!(tree.keys().filter(is_kept).eq(place.tree().keys().filter(is_kept)), "{folder}");
    }
    place.ctx("checkpoint rebuild --force").ok();
}

#[test]
fn a_part_that_has_its_approvals_waits_for_the_other_parts() {
    let place =
        governed_by(&(STEWARDS.to_owned() + "review: {folders: {nodes/two/: {required: 2}}}\n"));
    place.write("nodes/b.md", "# B\n");
    place.write("nodes/two/c.md", "# C\n");
    by(&place, "ana", "submit nodes/b nodes/two/c --change set").ok();
    by(&place, "kim", "approve --change set").ok();
    let shown = by(&place, "kim", "review show nodes/b").ok().stdout;
    assert!(shown.contains("approvals: 1 of 1: kim@x.com"), "{shown}");
    let waits =
        "It has the approvals that it needs, and waits for the other parts of the change set";
    assert!(shown.contains(waits) && !shown.contains("steward may"), "{shown}");
    let refused = by(&place, "kim", "approve nodes/b").exits(3);
    assert_eq!(code(&refused), "approved-already");
    assert!(refused.stderr.contains("waits for the other parts of the change `set`"));
    let refused = by(&place, "kim", "approve nodes/two/c").exits(3).stderr;
    assert!(refused.contains("another reviewer has to approve it, too"), "{refused}");
    by(&place, "bo", "approve nodes/two/c").ok();
    intact(&place);
}

#[test]
fn a_move_to_a_folder_that_differs_only_in_case_is_refused_at_once() {
    let place = governed();
    let tree = place.tree();
    let refused = by(&place, "ana", "mv nodes/a Nodes/x").exits(1);
    assert!(refused.stderr.contains("id-collision"), "{}", refused.stderr);
    assert_eq!(tree, place.tree());
}

#[test]
fn status_names_submissions_where_the_folder_of_the_configuration_is_gone() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    std::fs::remove_dir_all(place.path(".context")).unwrap();
    let said = place.ctx("status").whole();
    assert!(!said.contains("ctx publish"), "{said}");
}

#[test]
fn the_mode_ends_by_a_review_when_nothing_else_awaits_one() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    assert_eq!(code(&by(&place, "ana", "govern off").exits(3)), "reviews-pending");
    by(&place, "ana", "withdraw nodes/a").ok();
    by(&place, "ana", "govern off").ok();
    by(&place, "bo", "approve .context/config.yaml").ok();
    by(&place, "ana", "publish nodes/a").ok();
    let live = place.read("nodes/a.md");
    assert!(!live.contains("review") && !live.contains("approved_by"), "{live}");
    assert_eq!(code(&by(&place, "ana", "submit nodes/a").exits(1)), "not-governed");
    intact(&place);
}

#[test]
fn untouched_files_stay_as_they_are() {
    let place = Place::vault();
    place.edit(".context/config.yaml", "layout:", "frontmatter: untouched\nlayout:");
    place.write("nodes/a.md", "+++\ntitle = 'A'\n+++\none\n");
    place.ctx("publish --all --as ana@x.com").ok();
    place.write("stewards.yaml", STEWARDS);
    place.ctx("govern on --as ana@x.com").ok();
    place.edit("nodes/a.md", "one", "two");
    let live = place.read("nodes/a.md");
    by(&place, "ana", "submit nodes/a").ok();
    intact(&place);
    by(&place, "bo", "approve nodes/a").ok();
    assert_eq!(place.read("nodes/a.md"), live);
    intact(&place);
}

#[test]
fn foreign_fields_of_the_names_of_ours_are_kept() {
    let place = Place::published(&[(
        "nodes/a",
        "---\nreview: quarterly\nchange: minor\n---\n# A\n\none\n",
    )]);
    assert!(place.read("nodes/a.md").contains("review: quarterly"));
    place.write("stewards.yaml", STEWARDS);
    place.ctx("govern on --as ana@x.com").ok();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "bo", "approve nodes/a").ok();
    let live = place.read("nodes/a.md");
    assert!(live.contains("quarterly") && live.contains("minor"), "{live}");
    assert!(live.contains("review: approved"));
    intact(&place);
}

#[test]
fn remarks_and_steps_are_lines_of_the_change_log() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "kim", "comment nodes/a 'which law?'").ok();
    assert_eq!(code(&by(&place, "eve", "comment nodes/a hm").exits(3)), "not-a-steward");
    by(&place, "bo", "approve nodes/a").ok();
    let lines = place.ctx("trace list --json").ok().json("ctx.trace.list");
    let actions: Vec<&str> = lines["traces"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|line| line["action"].as_str())
        .collect();
    assert!(actions.ends_with(&["submit", "comment", "event"]), "{actions:?}");
}

#[test]
fn a_reason_is_required_and_limited() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    for reason in ["''", "' '", "a\u{200b}b", "'a\u{7}b'"] {
        by(&place, "bo", &format!("reject nodes/a --reason {reason}")).exits(2);
    }
    let long = "x".repeat(1001);
    by(&place, "bo", &format!("reject nodes/a --reason {long}")).exits(2);
    by(&place, "ana", "submit nodes/a --change ''").exits(2);
}

#[test]
fn a_vault_that_the_reference_implementation_shares_is_governed_with_a_warning() {
    let place = Place::with_maps();
    place.write("nodes/a.md", "# A\n\none\n");
    place.ctx("publish --all --as ana@x.com").ok();
    place.write("stewards.yaml", STEWARDS);
    let begun = place.ctx("govern on --as ana@x.com").ok();
    assert!(begun.stderr.contains("the reference implementation can write"), "{}", begun.stderr);
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "bo", "approve nodes/a").ok();
    place.ctx("verify").ok();
}

/// Runs a command on another machine, which has the files of the vault but no state of the user.
fn elsewhere(place: &Place, who: &str, line: &str) -> Output {
    let state = place.home().join("another/state");
    let state = state.display().to_string();
    place.typed(&format!("{line} --as {who}@x.com")).var("XDG_STATE_HOME", &state).run()
}

#[test]
fn approve_refuses_a_submission_that_no_editor_made() {
    let place = governed_by(&format!("{STEWARDS}  - {{principal: vi@x.com, role: viewer}}\n"));
    place.edit("nodes/a.md", "one", "two");
    assert_eq!(code(&by(&place, "vi", "submit nodes/a").exits(3)), "not-a-steward");
    by(&place, "ana", "submit nodes/a").ok();
    // Another program recorded Vi as the submitter.
    let history = "nodes/.versions/a/history.yaml";
    forge_submitter(&place, history, "vi@x.com");
    let shown = by(&place, "bo", "review show nodes/a").ok();
    assert!(
        shown.stderr.contains("it cannot be approved: `vi@x.com` is viewer of vault"),
        "{}",
        shown.whole()
    );
    assert!(shown.stdout.contains("No steward may approve it"), "{}", shown.whole());
    let refused = by(&place, "bo", "approve nodes/a").exits(3);
    assert_eq!(code(&refused), "not-a-steward");
    assert!(refused.stderr.contains("`vi@x.com` is viewer of vault, but editor is needed"));
    by(&place, "bo", "approve nodes/a --dry-run").exits(3);
    by(&place, "bo", "reject nodes/a --reason no").ok();
}

/// Replaces the principal of the last entry of a history, with valid hashes and a valid line.
fn forge_submitter(place: &Place, history: &str, who: &str) {
    let text = place.read(history);
    let at = text.rfind("edited_by: ").unwrap();
    let (before, last) = text.split_at(at);
    let of = |key: &str, text: &str| {
        let start = text.find(&format!("{key}: ")).unwrap() + key.len() + 2;
        text[start..].lines().next().unwrap().trim_matches(['"', '\'']).to_owned()
    };
    let (content, chain) = (of("content_hash", last), of("chain_hash", last));
    let start = before.rfind("chain_hash: ").unwrap();
    let previous = of("chain_hash", &before[start..]);
    let forged = contextnest::record::chain::preimage::chain_hash(
        Some(&previous.parse().unwrap()),
        &content.parse().unwrap(),
        contextnest::model::number::Version(2),
        who,
        of("edited_at", last).parse().unwrap(),
    );
    let old = of("edited_by", last);
    let last = last.replacen(&old, who, 1).replace(&chain, &forged.to_string());
    place.write(history, format!("{before}{last}"));
    for (path, bytes) in place.tree() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if path.starts_with(".context/audit/") && text.contains(&chain) {
            let (before, last) = text.trim_end().rsplit_once('\n').unwrap();
            let last = last.replace(&chain, &forged.to_string());
            let mut line: serde_json::Value = serde_json::from_str(&last).unwrap();
            let hash = line.as_object_mut().unwrap().remove("hash").unwrap();
            let bytes = serde_json::to_vec(&line).unwrap();
            let sealed = contextnest::model::digest::Digest::of(&bytes).to_string();
            place.write(
                &path,
                format!("{before}\n{}\n", last.replace(hash.as_str().unwrap(), &sealed)),
            );
        }
    }
}

#[test]
fn a_step_that_no_line_names_is_not_decided_elsewhere() {
    let place = governed();
    place.write("nodes/b.md", "# B\n");
    place.edit("nodes/a.md", "one", "two");
    let lines: Vec<(String, Vec<u8>)> =
        place.tree().into_iter().filter(|(path, _)| path.starts_with(".context/audit/")).collect();
    by(&place, "ana", "submit nodes/a nodes/b --change set").ok();
    // The command was killed before its line, and the other document has no entry.
    lines.iter().for_each(|(path, bytes)| place.write(path, bytes));
    std::fs::remove_dir_all(place.path("nodes/.versions/b")).unwrap();
    assert_eq!(code(&elsewhere(&place, "bo", "approve nodes/a").exits(4)), "unexplained");
    assert_eq!(code(&elsewhere(&place, "bo", "approve --change set").exits(4)), "unexplained");
    assert_eq!(
        code(&elsewhere(&place, "bo", "reject nodes/a --reason no").exits(4)),
        "unexplained"
    );
    let shown = elsewhere(&place, "bo", "review show nodes/a").ok();
    assert!(
        shown.stderr.contains("no line of the change log names version 2"),
        "{}",
        shown.whole()
    );
    let noted = elsewhere(&place, "bo", "verify --json").json("ctx.verify");
    let findings = noted["findings"].as_array().unwrap();
    assert!(findings.iter().any(|f| f["code"] == "unfinished" && f["version"] == 2), "{noted}");
    // An editor replaces the submission, and a reviewer can decide.
    assert_eq!(code(&elsewhere(&place, "kim", "submit nodes/a").exits(4)), "submission-pending");
    elsewhere(&place, "kim", "submit nodes/a --supersede").ok();
    elsewhere(&place, "bo", "approve nodes/a").ok();
    assert!(place.ctx("read nodes/a").ok().stdout.contains("two"));
}

#[test]
fn a_part_of_a_set_whose_end_no_line_names_is_not_decided_elsewhere() {
    let place = governed();
    place.write("nodes/b.md", "# B\n");
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a nodes/b --change set").ok();
    let before = place.tree();
    by(&place, "ana", "withdraw nodes/a").ok();
    // The command was killed between the two histories.
    for (path, bytes) in before {
        if path.starts_with(".context/audit/") || path.starts_with("nodes/.versions/b/") {
            place.write(&path, bytes);
        }
    }
    let listed = elsewhere(&place, "bo", "review").ok();
    assert!(listed.stdout.contains("nodes/b") && !listed.stdout.contains("nodes/a"));
    assert!(listed.stderr.contains("names version 3 of nodes/a;"), "{}", listed.whole());
    for line in ["approve nodes/b", "approve --change set", "reject nodes/b --reason no"] {
        assert_eq!(code(&elsewhere(&place, "bo", line).exits(4)), "unexplained", "{line}");
    }
    // Once that part belongs to another submission, the rest may be rejected, but not approved.
    elsewhere(&place, "ana", "submit nodes/a").ok();
    assert_eq!(code(&elsewhere(&place, "bo", "approve nodes/b").exits(4)), "submission-changed");
    elsewhere(&place, "bo", "reject nodes/b --reason no").ok();
    elsewhere(&place, "bo", "approve nodes/a").ok();
    let verified = elsewhere(&place, "bo", "verify --json").json("ctx.verify");
    assert!(!verified.to_string().contains("approval-"), "{verified}");
}

#[test]
fn a_submission_that_is_refused_supersedes_nothing() {
    let place = governed();
    place.write("nodes/b.md", "# B\n");
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a nodes/b --change set").ok();
    let before = place.tree();
    place.edit("nodes/a.md", "title: A", "title: ''");
    by(&place, "kim", "submit nodes/a --supersede").exits(1);
    place.edit("nodes/a.md", "title: ''", "title: A");
    assert_eq!(code(&by(&place, "eve", "submit nodes/a --supersede").exits(3)), "not-a-steward");
    assert_eq!(before, place.tree());
    place.edit("nodes/a.md", "two", "three");
    by(&place, "kim", "submit nodes/a --supersede").ok();
    // One step contains the replacement and the withdrawal of the rest of the set.
    let a = place.ctx("history nodes/a --json").ok().json("ctx.history");
    let b = place.ctx("history nodes/b --json").ok().json("ctx.history");
    let last = |history: &serde_json::Value| {
        history["versions"].as_array().unwrap().last().cloned().unwrap()
    };
    let number = |history: &serde_json::Value| history["versions"].as_array().unwrap().len();
    assert_eq!((number(&a), number(&b)), (3, 2), "{a} {b}");
    assert_eq!(last(&a)["edited_at"], last(&b)["edited_at"]);
    let waiting = by(&place, "bo", "review --all").ok().stdout;
    assert!(waiting.contains("nodes/a") && !waiting.contains("nodes/b"), "{waiting}");
    // A submitter whose submission is replaced stays an author of the replacement.
    assert!(
        by(&place, "ana", "review show nodes/a").ok().stderr.contains("ana@x.com submitted it")
    );
    by(&place, "bo", "approve nodes/a").ok();
    by(&place, "ana", "submit nodes/b").ok();
    place.ctx("verify --allow-drift").ok();
}

#[test]
fn an_approval_that_is_due_is_renewed_without_a_change_of_the_text() {
    let place = governed_by(&format!("{STEWARDS}review: {{vault: {{max_age: 30d}}}}\n"));
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "bo", "approve nodes/a").ok();
    let later = |who: &str, month: u32, line: &str| {
        let now = format!("2027-{month:02}-21T10:00:00.000Z");
        place.typed(&format!("{line} --as {who}@x.com")).var("CTX_NOW", &now).run()
    };
    let due = later("bo", 2, "status").ok().stdout;
    assert!(due.contains("ctx submit ID --renew"), "{due}");
    // An edited live file is neither submitted nor changed.
    place.edit("nodes/a.md", "two", "two and more");
    let edited = place.read("nodes/a.md");
    for month in 2..5 {
        // Author and former approver take turns, and neither decides alone.
        let (who, other) = if month % 2 == 0 { ("bo", "kim") } else { ("kim", "bo") };
        let day = |line: &str, who: &str| later(who, month, line);
        day("submit nodes/a --renew -m still", who).ok();
        assert!(day("submit nodes/a --renew", who).ok().stdout.contains("unchanged: nodes/a"));
        assert_eq!(code(&day("approve nodes/a", who).exits(3)), "own-submission");
        let shown = day("review show nodes/a", other).ok().stdout;
        assert!(shown.contains("The text is the published one."), "{shown}");
        day("approve nodes/a", other).ok();
        assert!(!day("status", "bo").ok().stdout.contains("due after"), "{month}");
        assert_eq!(place.read("nodes/a.md"), edited);
        day("verify --allow-drift", "bo").ok();
    }
    assert!(place.ctx("read nodes/a").ok().stdout.contains("two\n"));
    later("ana", 6, "submit nodes/never --renew").exits(1);
    later("ana", 6, "submit packs/none.yml --renew").exits(1);
    later("ana", 6, "submit nodes/ --renew").exits(2);
}

#[test]
fn submit_names_remaining_approvers_if_it_replaces_a_submission() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "bo", "approve nodes/a").ok();
    by(&place, "ana", "submit nodes/a --renew").ok();
    let said = by(&place, "bo", "submit nodes/a --renew --supersede --dry-run").ok().stderr;
    assert!(said.contains("may not approve it either; these principals may: kim@x.com"), "{said}");
    by(&place, "bo", "submit nodes/a --renew --supersede").ok();
    // Both reviewers are authors then.
    let said = by(&place, "kim", "submit nodes/a --renew --supersede").ok().stderr;
    assert!(
        said.contains("no steward may approve nodes/a") && said.contains("ctx withdraw nodes/a"),
        "{said}"
    );
    for who in ["bo", "kim"] {
        assert_eq!(code(&by(&place, who, "approve nodes/a").exits(3)), "own-submission", "{who}");
    }
    by(&place, "kim", "withdraw nodes/a").ok();
    let said = by(&place, "kim", "submit nodes/a --renew").ok();
    assert!(!said.stderr.contains("may approve"), "{}", said.whole());
    by(&place, "bo", "approve nodes/a").ok();
    intact(&place);
}

#[test]
fn a_submission_whose_author_is_the_only_other_reviewer_is_said_to_have_none() {
    let place = governed();
    place.edit("nodes/a.md", "author: ana@x.com", "author: kim@x.com");
    let said = by(&place, "bo", "submit nodes/a").ok().stderr;
    assert!(said.contains("no steward may approve nodes/a"), "{said}");
}

#[test]
fn the_name_of_a_change_differs_from_another_one_in_more_than_case() {
    let place = governed();
    place.write("nodes/b.md", "# B\n");
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a --change Q3").ok();
    for (who, name) in [("ana", "q3"), ("kim", "q3"), ("ana", " Q3")] {
        let line = format!("submit nodes/b --change '{name}'");
        let refused = by(&place, who, &line).exits(4);
        assert_eq!(code(&refused), "submission-pending", "{line}");
        assert!(refused.stderr.contains("differs only in case"), "{}", refused.whole());
    }
    by(&place, "ana", "submit nodes/b --change Q3").ok();
    by(&place, "bo", "approve --change Q3").ok();
    // The name of the change can be used again.
    place.edit("nodes/a.md", "two", "three");
    by(&place, "ana", "submit nodes/a --change q3").ok();
    by(&place, "bo", "approve --change q3").ok();
    intact(&place);
}

/// Returns the change logs.
fn change_logs(place: &Place) -> Vec<(String, Vec<u8>)> {
    place.tree().into_iter().filter(|(path, _)| path.starts_with(".context/audit/")).collect()
}

#[test]
fn a_change_whose_line_was_lost_is_replaced_part_by_part() {
    let place = governed();
    place.write("nodes/b.md", "# B\n");
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a nodes/b").ok();
    let lines = change_logs(&place);
    by(&place, "ana", "submit nodes/a nodes/b --change set").ok();
    lines.iter().for_each(|(path, bytes)| place.write(path, bytes));
    let refused = elsewhere(&place, "bo", "approve --change set").exits(4);
    assert_snapshot!(refused.stderr, @"
    error[unexplained]: no line of the change log names version 3 of `nodes/a`: its writer may have been interrupted
    hint: if its writer was interrupted, that writer's next command completes or undoes the step
    hint: if a change log has lost the line, restore `.context/audit` from git or a backup
    hint: an editor can replace it: `ctx submit nodes/a --supersede` submits the live text, `ctx submit nodes/a --renew --supersede` the published text
    ");
    elsewhere(&place, "kim", "submit nodes/a --supersede").ok();
    let listed = elsewhere(&place, "bo", "review").ok();
    assert!(listed.stderr.contains("names version 2 of nodes/b;"), "{}", listed.whole());
    elsewhere(&place, "bo", "approve nodes/a").ok();
    elsewhere(&place, "kim", "submit nodes/b --supersede").ok();
    elsewhere(&place, "bo", "approve nodes/b").ok();
    let verified = elsewhere(&place, "bo", "verify --json").json("ctx.verify");
    assert!(!verified.to_string().contains("approval-"), "{verified}");
}

#[test]
fn a_retirement_whose_line_was_lost_is_replaced_by_the_published_text() {
    let place = governed();
    let lines = change_logs(&place);
    by(&place, "ana", "retire nodes/a").ok();
    lines.iter().for_each(|(path, bytes)| place.write(path, bytes));
    assert_eq!(code(&elsewhere(&place, "bo", "approve nodes/a").exits(4)), "unexplained");
    let same = elsewhere(&place, "kim", "submit nodes/a --supersede").ok().stdout;
    assert!(same.contains("unchanged: nodes/a"), "{same}");
    elsewhere(&place, "kim", "submit nodes/a --renew --supersede").ok();
    elsewhere(&place, "bo", "approve nodes/a").ok();
    assert!(place.ctx("list").ok().stdout.contains("nodes/a"));
}

#[test]
fn a_queue_that_is_read_leaves_a_line() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "bo", "review").ok();
    by(&place, "bo", "review show nodes/a").ok();
    let lines = place.ctx("trace list --json").ok().json("ctx.trace.list");
    let said: Vec<String> = lines["traces"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|line| line["verb"].as_str().unwrap().starts_with("review"))
        .map(|line| format!("{} {}", line["event"], line["verb"]))
        .collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("listing") && said[1].contains("access"), "{said:?}");
}

#[test]
fn a_part_of_a_change_stays_one_until_the_change_ends() {
    let place = governed();
    place.write("nodes/b.md", "# B\n");
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a nodes/b --change set").ok();
    by(&place, "bo", "approve nodes/b").ok();
    place.edit("nodes/a.md", "two", "three");
    by(&place, "ana", "submit nodes/a").ok();
    let other = by(&place, "ana", "submit nodes/a --change other").exits(4);
    assert_eq!(code(&other), "submission-pending");
    let shown = by(&place, "bo", "review show nodes/a").ok().stdout;
    assert!(shown.contains("change set, with nodes/b"), "{shown}");
    by(&place, "bo", "approve --change set").ok();
    assert!(place.ctx("list").ok().stdout.contains("nodes/b"));
    intact(&place);
}

#[test]
fn rest_of_a_change_is_published_after_an_emergency() {
    let place = governed();
    place.write("nodes/b.md", "# B\n");
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a nodes/b --change set").ok();
    by(&place, "bo", "approve nodes/b").ok();
    let retired = by(&place, "kim", "retire nodes/a --emergency --reason wrong").ok().stderr;
    assert!(
        retired.contains("(version 2, by ana@x.com) and removes it from the change set;"),
        "{retired}"
    );
    // The rest of the change names the part that left it, even after the ratification.
    let left = "the change set no longer contains nodes/a: its emergency retirement, version 3, \
                ended the submission";
    for is_ratified in [false, true] {
        if is_ratified {
            by(&place, "bo", "approve nodes/a --version 3").ok();
        }
        let list = by(&place, "bo", "review --all").ok().stderr;
        assert!(list.contains(left), "{list}");
        let json = by(&place, "bo", "review --all --json").ok().json("ctx.review");
        assert_eq!(json["left"][0]["id"], "nodes/a", "{json}");
        let shown = by(&place, "bo", "review show nodes/b").ok().stdout;
        assert!(
            shown.contains("  no longer with nodes/a, which was retired in an emergency\n"),
            "{shown}"
        );
        let json = by(&place, "bo", "review show nodes/b --json").ok().json("ctx.review.show");
        assert_eq!(json["members_left"], serde_json::json!(["nodes/a"]), "{json}");
    }
    let approved = by(&place, "bo", "approve nodes/b").ok().stderr;
    assert!(approved.contains(left), "{approved}");
    assert!(place.ctx("list").ok().stdout.contains("nodes/b"));
    intact(&place);
    // A later change of this name is another one.
    place.edit("nodes/b.md", "# B", "# B\n\ntwo");
    by(&place, "ana", "submit nodes/b --change set").ok();
    let list = by(&place, "bo", "review").ok().stderr;
    assert!(!list.contains(left), "{list}");
}

#[test]
fn white_space_does_not_make_rejected_words_another_principals() {
    let lee = "  - {principal: lee@x.com, role: editor}\n";
    let place = governed_by(&(STEWARDS.to_owned() + lee));
    place.edit("nodes/a.md", "one", "one\n\nrejected words");
    by(&place, "kim", "submit nodes/a").ok();
    by(&place, "bo", "reject nodes/a --reason no").ok();
    place.write(
        "nodes/a.md",
        place.read("nodes/a.md").replace("rejected words", "rejected\nwords\n"),
    );
    by(&place, "lee", "submit nodes/a").ok();
    let refused = by(&place, "kim", "approve nodes/a").exits(3);
    assert_eq!(code(&refused), "own-submission");
    by(&place, "bo", "approve nodes/a").ok();
    intact(&place);
}

#[test]
fn reasons_for_governance_files_are_read_from_the_change_log() {
    let place = governed();
    place.write("stewards.yaml", place.read("stewards.yaml") + "# more\n");
    by(&place, "bo", "submit stewards.yaml").ok();
    by(&place, "kim", "reject stewards.yaml --reason 'not zoe'").ok();
    let history = place.ctx("history stewards.yaml").ok().stdout;
    assert!(history.contains("because: not zoe"), "{history}");
    let shown = by(&place, "kim", "review show stewards.yaml --version 2").ok().stdout;
    assert!(shown.contains("rejected by kim@x.com, v3, "), "{shown}");
    assert!(shown.contains("Z: not zoe\n"), "{shown}");
    let status = by(&place, "bo", "status --json").ok().json("ctx.status");
    assert_eq!(status["refused"][0]["ended"]["reason"], "not zoe", "{status}");
    let list = place.ctx("trace list --changes --json").whole();
    assert!(!list.is_empty());
    place.ctx("trace verify").ok();
}

#[test]
fn the_target_of_a_move_is_kept_until_it_is_decided() {
    let place = governed();
    by(&place, "ana", "mv nodes/a nodes/new").ok();
    place.typed("submit nodes/new --from - --as ana@x.com").stdin("# New\n").run().exits(1);
    place.write("nodes/c.md", "# C\n");
    by(&place, "ana", "submit nodes/c").ok();
    by(&place, "bo", "approve nodes/c").ok();
    let second = by(&place, "ana", "mv nodes/c nodes/new").exits(1);
    assert!(
        second.stderr.contains("a move of `nodes/a` to `nodes/new` awaits"),
        "{}",
        second.whole()
    );
    by(&place, "bo", "approve nodes/a").ok();
    intact(&place);
}

#[test]
fn a_submission_is_rejected_by_the_reviewers_of_the_published_text() {
    let stewards = format!(
        "{STEWARDS}tags:\n  mine: [{{principal: eve@x.com, role: reviewer}}, {{principal: ana@x.com, role: editor}}]\n"
    );
    let place = governed_by(&stewards);
    place.edit("nodes/a.md", "title: A", "title: A\ntags: [mine]");
    let said = by(&place, "ana", "submit nodes/a").ok();
    assert!(said.stderr.contains("note: no steward may approve nodes/a"), "{}", said.whole());
    by(&place, "bo", "reject nodes/a --reason 'not yours'").ok();
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "kim", "review --all").ok();
    place.ctx("verify --allow-drift").ok();
}

#[test]
fn an_approval_that_lapsed_is_said_before_the_decision() {
    let place = governed_by(&format!(
        "{STEWARDS}  - {{principal: lee@x.com, role: reviewer}}\nreview: {{vault: {{required: 2}}}}\n"
    ));
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "lee", "approve nodes/a").ok();
    by(&place, "ana", "steward remove lee@x.com --whole-vault").ok();
    by(&place, "bo", "approve stewards.yaml").ok();
    by(&place, "kim", "approve stewards.yaml").ok();
    let shown = by(&place, "bo", "review show nodes/a").ok();
    assert!(
        shown.stderr.contains("it cannot be approved: `lee@x.com` is not a steward"),
        "{}",
        shown.whole()
    );
    assert!(shown.stdout.contains("No steward may approve it"), "{}", shown.whole());
}

#[test]
fn submissions_that_await_a_decision_are_bounded() {
    let place = governed();
    let long = format!("# A\n\n{}\n", "word ".repeat(3 << 20));
    let ids = ["nodes/l1", "nodes/l2", "nodes/l3", "nodes/l4", "nodes/l5"];
    for id in ids {
        place.write(&format!("{id}.md"), &long);
    }
    place.ctx("submit nodes/l1 nodes/l2 nodes/l3 nodes/l4 --as ana@x.com").ok();
    let before = place.chained();
    let refused = place.ctx("submit nodes/l5 --as ana@x.com").exits(1).stderr;
    let message =
        "the texts that await a decision would have 76 MiB together, but at most 64 are allowed";
    assert!(refused.contains("error[too-large]") && refused.contains(message), "{refused}");
    assert_eq!(place.chained(), before);
    place.ctx("withdraw nodes/l1 --as ana@x.com").ok();
    place.ctx("submit nodes/l5 --as ana@x.com").ok();
}
