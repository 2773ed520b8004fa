//! The workflow of a governed vault: what is submitted is published after a reviewer approved it,
//! and not otherwise.

use insta::assert_snapshot;

use crate::harness::{Output, Place};

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  - \
    {principal: kim@x.com, role: reviewer}\n  - {principal: ana@x.com, role: editor}\n";

/// A governed vault with `nodes/a`; Bo and Kim review, Ana edits.
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

/// A command of one of the three.
fn by(place: &Place, who: &str, line: &str) -> Output {
    place.ctx(&format!("{line} --as {who}@x.com"))
}

/// The vault is intact and no live file differs.
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
    hint: `--alone` is enough for one, who can then approve nothing of their own
    ");
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
    note: 1 submission of others; `--all` lists them
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
    // Bringing it back is a submission.
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
    // The same text again is another submission; its author still may not approve it.
    by(&place, "bo", "submit nodes/a").ok();
    assert_eq!(code(&by(&place, "ana", "approve nodes/a").exits(3)), "own-submission");
    assert_eq!(code(&by(&place, "kim", "withdraw nodes/a").exits(3)), "not-the-submitter");
    by(&place, "bo", "withdraw nodes/a").ok();
    // What is neither published nor submitted is an edit like any other.
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
    assert_eq!(history.lines().count(), 4, "{history}");
    by(&place, "bo", "approve nodes/a").ok();
    intact(&place);
}

#[test]
fn bytes_are_submitted_without_touching_the_live_file() {
    let place = governed();
    let live = place.read("nodes/a.md");
    place.write("draft.txt", "# A\n\nproposed\n");
    by(&place, "ana", "submit nodes/a --from draft.txt").ok();
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
    // What it was edited from is not what is published.
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
    by(&place, "ana", "submit CONTEXT.md").exits(1);
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
    by(&place, "kim", "approve nodes/a").ok();
    assert!(by(&place, "kim", "review --all").ok().stdout.contains("nothing awaits"));
    intact(&place);
}

#[test]
fn the_mode_ends_by_a_review_when_nothing_else_awaits_one() {
    let place = governed();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    assert_eq!(code(&by(&place, "ana", "govern off").exits(3)), "work-pending");
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
