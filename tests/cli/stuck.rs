//! Stewards who could approve nothing: a state that no principal can leave is refused, and other
//! stuck scopes are reported.

use insta::assert_snapshot;

use crate::harness::{Output, Place};

/// Returns a vault with `nodes/a` and these stewards.
fn with(stewards: &str) -> Place {
    let place = Place::published(&[("nodes/a", "# A\n\none\n")]);
    place.write("stewards.yaml", format!("version: 1\n{stewards}"));
    place
}

const TWO: &str =
    "vault: [{principal: bo@x.com, role: reviewer}, {principal: kim@x.com, role: reviewer}";
const ANA: &str = ", {principal: ana@x.com, role: editor}]\n";

fn by(place: &Place, who: &str, line: &str) -> Output {
    place.ctx(&format!("{line} --as {who}@x.com"))
}

#[test]
fn govern_on_refuses_stewards_among_whom_no_change_of_them_could_be_approved() {
    let place = with(&format!("{TWO}]\nreview: {{vault: {{required: 2}}}}\n"));
    let before = place.tree();
    assert_snapshot!(place.ctx("govern on").exits(3).stderr, @"
    error[too-few-reviewers]: vault requires 2 approvals, and has 2 reviewers and no other editor who submits: nothing could be approved, not even a change of stewards.yaml or the end of mandatory review
    hint: run `ctx steward assign PRINCIPAL editor --whole-vault`: the reviewers approve the texts that an editor submits
    hint: or lower `required` for the vault under `review` in stewards.yaml
    ");
    place.write("stewards.yaml", format!("{TWO}{ANA}review: {{vault: {{required: 3}}}}\n"));
    assert_snapshot!(place.ctx("govern on").exits(3).stderr, @"
    error[too-few-reviewers]: vault requires 3 approvals, and has 2 reviewers: nothing could be approved, not even a change of stewards.yaml or the end of mandatory review
    hint: run `ctx steward assign PRINCIPAL reviewer --whole-vault` for each missing reviewer
    hint: or lower `required` for the vault under `review` in stewards.yaml
    ");
    place.remove("stewards.yaml");
    assert_eq!(place.tree().len() + 1, before.len());
    // With an additional editor, two reviewers can approve what the editor submits.
    place.write("stewards.yaml", format!("{TWO}{ANA}review: {{vault: {{required: 2}}}}\n"));
    place.ctx("govern on").ok();
    place.edit("nodes/a.md", "one", "two");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "bo", "approve nodes/a").ok();
    by(&place, "kim", "approve nodes/a").ok();
    place.ctx("verify").ok();
}

#[test]
fn stewards_that_no_principal_could_change_again_are_refused() {
    let place = with(&format!("{TWO}{ANA}"));
    place.ctx("govern on").ok();
    for (from, to) in [
        ("version: 1\n", "version: 1\nreview: {vault: {required: 3}}\n"),
        (ANA, "]\nreview: {vault: {required: 2}}\n"),
        (", {principal: kim@x.com, role: reviewer}, {principal: ana@x.com, role: editor}", ""),
    ] {
        let before = place.read("stewards.yaml");
        place.edit("stewards.yaml", from, to);
        let refused = by(&place, "ana", "submit stewards.yaml").exits(3);
        assert!(refused.stderr.contains("too-few-reviewers"), "{}", refused.whole());
        place.write("stewards.yaml", before);
    }
    place.ctx("verify").ok();
}

#[test]
fn scopes_at_which_nothing_could_be_approved_are_named() {
    let folders = "folders: {nodes/law/: [{principal: ana@x.com, role: editor}]}\n";
    let review = "review: {folders: {nodes/: {required: 4}}}\n";
    let place = with(&format!("{TWO}{ANA}"));
    place.ctx("govern on").ok();
    assert!(!place.ctx("status").ok().whole().contains("cannot be approved"));
    place.write("stewards.yaml", place.read("stewards.yaml") + folders + review);
    let said = by(&place, "ana", "submit stewards.yaml").ok();
    let law = "folder nodes/law/ lacks a reviewer";
    let all = "folder nodes/, where the stewards of vault decide, requires 4 approvals, and has 2 reviewers";
    for named in [law, all] {
        assert!(said.stderr.contains(named), "{named}: {}", said.whole());
    }
    let said = by(&place, "bo", "approve stewards.yaml --json").ok();
    let notes = said.json("ctx.approve")["notes"].to_string();
    assert!(notes.contains(law) && notes.contains(all), "{notes}");
    let status = place.ctx("status").ok().whole();
    assert!(status.contains(law) && status.contains(all), "{status}");
    let status = place.ctx("status --json").ok().json("ctx.status");
    assert_eq!(
        status["stuck_scopes"],
        serde_json::json!([
            {"scope": "folder nodes/law/", "required": 4, "reviewers": 0, "editors": 1},
            {"scope": "folder nodes/", "decided_by": "vault", "required": 4, "reviewers": 2, "editors": 3},
        ])
    );
    let checked = place.ctx("validate stewards.yaml").ok().whole();
    assert!(checked.contains("warning[scope-stuck]"), "{checked}");
    assert!(checked.contains(law) && checked.contains(all), "{checked}");
    // A reviewer of the whole vault can change that.
    let text = place.read("stewards.yaml").replace(review, "").replace(folders, "");
    place.write("stewards.yaml", text);
    by(&place, "ana", "submit stewards.yaml").ok();
    by(&place, "bo", "approve stewards.yaml").ok();
    assert!(!place.ctx("status").ok().whole().contains("cannot be approved"));
    place.ctx("verify").ok();
}

#[test]
fn validate_names_no_stuck_scope_that_the_list_of_stewards_hides() {
    let place = Place::vault();
    place.write(".context/config.yaml", place.read(".context/config.yaml") + "reads: stewards\n");
    place.write("nodes/pub/faq.md", "# FAQ\n");
    place.write(
        "stewards.yaml",
        "version: 1\nvault: [{principal: ana@x.com, role: reviewer}, {principal: lee@x.com, role: reviewer}]\n\
         folders: {nodes/hr/: [{principal: kim@x.com, role: editor}], \
         nodes/pub/: [{principal: bob@x.com, role: editor}]}\n",
    );
    place.ctx("publish --all --as ana@x.com").ok();
    place.ctx("govern on --as ana@x.com").ok();
    for line in ["validate", "validate --json", "validate stewards.yaml", "status"] {
        let all = by(&place, "ana", line).whole();
        assert!(all.contains("nodes/hr/") && all.contains("nodes/pub/"), "{line}: {all}");
        let own = by(&place, "bob", line).whole();
        assert!(!own.contains("nodes/hr/") && own.contains("nodes/pub/"), "{line}: {own}");
    }
}
