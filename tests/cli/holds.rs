//! Legal holds in a governed vault: who may place, lift and see them (AUDIT-29).

use serde_json::Value;

use crate::acknowledged::rehashed;
use crate::harness::{Output, Place, files_in};

/// Returns a governed vault with two reviewers, `bo` and `kim`, an editor, `vi`, and `lee`, who
/// reviews one folder only; `more` is added to the configuration.
fn governed(more: &str) -> Place {
    let place = Place::vault();
    place.write("nodes/open.md", "# Open\n");
    place.write("nodes/legal/terms.md", "# Terms\n");
    place.edit(".context/config.yaml", "layout:", &format!("{more}layout:"));
    place.ctx("publish --all").ok();
    place.write(
        "stewards.yaml",
        "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  \
         - {principal: kim@x.com, role: reviewer}\n  - {principal: vi@x.com, role: editor}\n\
         folders: {nodes/legal/: [{principal: lee@x.com, role: reviewer}]}\n",
    );
    place.ctx("govern on").ok();
    place
}

fn place_hold(place: &Place, what: &str, who: &str) -> Output {
    place.ctx(&format!("trace hold place {what} --reason case --as {who}"))
}

fn lift(place: &Place, hold: &str, who: &str) -> Output {
    place.ctx(&format!("trace hold lift {} --reason closed --as {who}", hold.trim()))
}

/// Returns the names of the holds that are shown to a principal.
fn shown(place: &Place, who: &str) -> Vec<String> {
    let list = place.ctx(&format!("trace hold list --json --as {who}")).ok();
    let list = list.json("ctx.trace.hold.list");
    let id = |hold: &Value| hold["id"].as_str().unwrap().to_owned();
    list["holds"].as_array().unwrap().iter().map(id).collect()
}

#[track_caller]
fn refused(output: &Output, exit: i32, code: &str) {
    let told = format!("error[{code}]");
    assert!(output.exit == exit && output.stderr.contains(&told), "{}", output.whole());
}

#[test]
fn reviewers_of_the_vault_place_and_lift_holds() {
    let place = governed("");
    for who in ["vi@x.com", "lee@x.com", "eve@x.com"] {
        refused(&place_hold(&place, "--session s", who), 3, "not-a-steward");
        refused(&place_hold(&place, "--document nodes/legal/terms", who), 3, "not-a-steward");
        assert!(shown(&place, who).is_empty());
    }
    let listed = place.ctx("trace list --verb trace --json --as bo@x.com").ok();
    let listed = listed.json("ctx.trace.list");
    let of_vi = |line: &&Value| line["principal"] == "vi@x.com" && line["code"] == "not-a-steward";
    let traces = listed["traces"].as_array().unwrap();
    assert_eq!(traces.iter().filter(of_vi).count(), 2, "{listed:#}");

    let hold = place_hold(&place, "--session s", "bo@x.com").ok().stdout;
    for who in ["vi@x.com", "lee@x.com", "eve@x.com"] {
        refused(&lift(&place, &hold, who), 3, "not-a-steward");
        assert_eq!(shown(&place, who), [hold.trim()]);
    }
    refused(&lift(&place, "00000000", "vi@x.com"), 1, "unknown-hold");
    // The other reviewer placed it.
    lift(&place, &hold, "kim@x.com").ok();
    assert!(shown(&place, "bo@x.com").is_empty());
    place.ctx("verify").ok();
}

#[test]
fn any_principal_places_and_lifts_holds_of_an_ungoverned_vault() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let hold = place_hold(&place, "--session s", "eve@x.com").ok().stdout;
    lift(&place, &hold, "vi@x.com").ok();
    assert!(shown(&place, "vi@x.com").is_empty());
}

#[test]
fn a_hold_that_a_reader_is_shown_is_no_unknown_one() {
    let place = governed("reads: stewards\n");
    // The reviewers of the vault may not know of its document.
    let hold = place_hold(&place, "--document nodes/legal/terms", "lee@x.com").ok().stdout;
    refused(&place_hold(&place, "--document nodes/legal/terms", "bo@x.com"), 1, "unknown-id");
    refused(&place_hold(&place, "--session s", "lee@x.com"), 3, "not-a-steward");
    refused(&place_hold(&place, "--document nodes/open", "lee@x.com"), 1, "unknown-id");
    // Its file is in the folder of the user of this machine.
    for who in ["vi@x.com", "bo@x.com", "lee@x.com"] {
        assert_eq!(shown(&place, who), [hold.trim()], "{who}");
    }
    refused(&lift(&place, &hold, "vi@x.com"), 3, "not-a-steward");
    // Another machine has only its line.
    let other = place.duplicate();
    for who in ["vi@x.com", "bo@x.com"] {
        assert!(shown(&other, who).is_empty(), "{who}");
        refused(&lift(&other, &hold, who), 1, "unknown-hold");
    }
    assert_eq!(shown(&other, "lee@x.com"), [hold.trim()]);
    lift(&other, &hold, "lee@x.com").ok();
    lift(&place, &hold, "bo@x.com").ok();
    // A hold without a document is shown to the reviewers of the vault everywhere.
    let hold = place_hold(&place, "--session s", "bo@x.com").ok().stdout;
    let other = place.duplicate();
    assert!(shown(&other, "lee@x.com").is_empty() && shown(&other, "vi@x.com").is_empty());
    assert_eq!(shown(&other, "kim@x.com"), [hold.trim()]);
    lift(&other, &hold, "kim@x.com").ok();
}

#[test]
fn a_line_that_lifts_a_hold_counts_if_its_principal_may_lift_it() {
    let place = governed("");
    let hold = place_hold(&place, "--session s", "bo@x.com").ok().stdout;
    lift(&place, &hold, "kim@x.com").ok();
    let other = place.duplicate();
    assert!(shown(&other, "bo@x.com").is_empty());
    for (path, bytes) in files_in(&place.path(".context/audit")) {
        let text = String::from_utf8_lossy(&bytes);
        if path.ends_with(".jsonl") && text.contains("\"lift\"") {
            let renamed = rehashed(&text, |_, line| {
                if line["action"] == "lift" {
                    line["principal"] = "vi@x.com".into();
                }
            });
            other.write(&format!(".context/audit/{path}"), renamed);
        }
    }
    assert_eq!(shown(&other, "bo@x.com"), [hold.trim()]);
    lift(&other, &hold, "bo@x.com").ok();
    assert!(shown(&other, "bo@x.com").is_empty());
}

#[test]
fn a_hold_that_was_lifted_before_governance_stays_lifted() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let hold = place_hold(&place, "--session s", "eve@x.com").ok().stdout;
    lift(&place, &hold, "vi@x.com").ok();
    place.write(
        "stewards.yaml",
        "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  \
         - {principal: kim@x.com, role: reviewer}\n",
    );
    place.ctx("govern on").ok();
    assert!(shown(&place, "bo@x.com").is_empty());
}

#[test]
fn a_copy_from_before_governance_lifts_no_later_hold() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let old = place.duplicate();
    place.write(
        "stewards.yaml",
        "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  \
         - {principal: kim@x.com, role: reviewer}\n",
    );
    place.ctx("govern on").ok();
    let hold = place_hold(&place, "--session s", "bo@x.com").ok().stdout;
    // Nothing in the copy says that the vault is governed.
    let copy = |from: &Place, to: &Place| {
        for (path, bytes) in files_in(&from.path(".context/audit")) {
            let path = format!(".context/audit/{path}");
            if !to.has(&path) || to.bytes(&path).len() < bytes.len() {
                to.write(&path, bytes);
            }
        }
    };
    copy(&place, &old);
    lift(&old, &hold, "vi@x.com").ok();
    let third = place.duplicate();
    copy(&old, &third);
    assert_eq!(shown(&third, "bo@x.com"), [hold.trim()]);
}
