//! Live files whose names differ in case from the ids of their documents, after `ctx mv` or a
//! rename by git, an editor or a sync program.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;

use insta::assert_snapshot;
use serde_json::json;

use crate::harness::Place;

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  \
                        - {principal: kim@x.com, role: reviewer}\n  \
                        - {principal: ana@example.com, role: editor}\n";

/// Returns a vault with two documents; `nodes/beta` links to `nodes/Alpha`.
fn place() -> Place {
    Place::published(&[
        ("nodes/Alpha", "# Alpha\n\nOne.\n"),
        ("nodes/beta", "# Beta\n\nSee [a](Alpha.md).\n"),
    ])
}

/// Returns a vault after `git mv nodes/Alpha.md nodes/alpha.md`.
fn renamed() -> Place {
    let place = place();
    rename(&place, "nodes/Alpha.md", "nodes/alpha.md");
    place
}

/// Returns the histories and the logs.
fn recorded(place: &Place) -> BTreeMap<String, Vec<u8>> {
    let mut files = place.tree();
    files.retain(|path, _| path.contains(".versions/") || path.contains(".context/audit/"));
    files
}

fn rename(place: &Place, from: &str, to: &str) {
    place.args::<&str>(&[]).shell(&format!("mv -n {from} {to}")).ok();
}

/// Returns the live files and the histories in `nodes`.
fn names(place: &Place) -> Vec<String> {
    let names = place.tree().into_keys().filter(|path| path.starts_with("nodes/"));
    let name = |path: String| {
        let history = path.strip_prefix("nodes/.versions/").and_then(|p| p.split_once('/'));
        history.map_or_else(|| path.clone(), |(name, _)| format!("history {name}"))
    };
    let mut names: Vec<String> = names.map(name).filter(|n| !n.ends_with("attributes")).collect();
    names.dedup();
    names
}

const RENAMED: [&str; 4] = ["history Alpha", "history beta", "nodes/alpha.md", "nodes/beta.md"];

fn states(place: &Place) -> Vec<(String, String)> {
    let report = place.ctx("status --json").ok().json("ctx.status");
    let rows = report["documents"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    rows.map(|row| (text(&row["path"]), format!("{} {}", text(&row["id"]), text(&row["state"]))))
        .collect()
}

fn state(path: &str, state: &str) -> (String, String) {
    (path.to_owned(), state.to_owned())
}

#[test]
fn a_file_that_git_renamed_stays_the_live_file_of_its_id() {
    let place = renamed();
    let before = place.tree();
    for line in ["publish --all", "publish nodes/alpha", "publish nodes/alpha.md", "validate"] {
        place.ctx(line).ok();
        assert_eq!(place.tree(), before, "{line}");
    }
    assert_eq!(
        states(&place),
        [
            state("nodes/alpha.md", "nodes/Alpha published"),
            state("nodes/beta.md", "nodes/beta published")
        ]
    );
    let verdict = place.ctx("verify --json").ok().json("ctx.verify");
    assert_eq!(verdict["findings"], json!([]), "{verdict:#}");
    place.duplicate().ctx("verify").ok();
}

#[test]
fn an_edit_of_a_recased_file_is_published_into_the_same_history_and_file() {
    let place = renamed();
    place.edit("nodes/alpha.md", "One.", "Two.");
    assert_eq!(states(&place)[0], state("nodes/alpha.md", "nodes/Alpha changed"));
    let found = place.ctx("verify").exits(1).stdout;
    assert!(found.contains("[drift] nodes/Alpha"), "{found}");
    assert!(place.ctx("diff").ok().stdout.contains("+Two."));
    assert_snapshot!(place.ctx("publish nodes/alpha.md").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 1 version, 2026-11-21T10:00:06.000Z
      changed  nodes/Alpha  v2
    -- stderr
    ");
    assert_eq!(names(&place), RENAMED);
    assert!(place.read("nodes/alpha.md").contains("version: 2"));
    place.edit("nodes/alpha.md", "Two.", "Three.");
    place.ctx("publish --changed").ok();
    place.edit("nodes/alpha.md", "Three.", "Four.");
    place.ctx("publish nodes").ok();
    assert_eq!(names(&place), RENAMED);
    for line in ["history nodes/alpha", "show nodes/alpha.md 2", "read nodes/alpha@2"] {
        let recorded = place.ctx(&line.replace("alpha", "Alpha")).ok();
        assert_eq!(place.ctx(line).ok().stdout, recorded.stdout, "{line}");
    }
    place.ctx("verify").ok();
    place.duplicate().ctx("verify").ok();
}

#[test]
fn mv_renames_only_the_file_if_only_the_case_changes() {
    let place = place();
    let before = place.tree();
    assert_snapshot!(place.ctx("mv nodes/Alpha nodes/alpha --dry-run").whole(), @"
    exit: 0
    -- stdout
    would rename `nodes/Alpha.md` to `nodes/alpha.md`
      the id stays `nodes/Alpha`, because some file systems cannot store histories under both names
    -- stderr
    ");
    assert_eq!(place.tree(), before);
    // Nothing is published, so edits may stay.
    place.edit("nodes/Alpha.md", "One.", "Two.");
    let text = place.read("nodes/Alpha.md");
    assert_snapshot!(place.ctx("mv nodes/Alpha nodes/alpha").whole(), @"
    exit: 0
    -- stdout
    renamed `nodes/Alpha.md` to `nodes/alpha.md`
      the id stays `nodes/Alpha`, because some file systems cannot store histories under both names
    -- stderr
    ");
    assert_eq!(
        (names(&place), place.read("nodes/alpha.md")),
        (RENAMED.map(str::to_owned).to_vec(), text)
    );
    let again = place.ctx("mv nodes/Alpha nodes/alpha").ok().stdout;
    assert!(again.starts_with("`nodes/alpha.md` has this name already\n"), "{again}");
    let report = place.ctx("mv nodes/alpha.md nodes/ALPHA --fix-links --json").ok().json("ctx.mv");
    assert_eq!(report["checkpoint"], json!(null));
    assert_eq!(
        report["renamed"],
        json!({
            "id": "nodes/Alpha", "from": "nodes/alpha.md", "to": "nodes/ALPHA.md",
            "reason": "the id stays `nodes/Alpha`, because some file systems cannot store histories under both names",
        })
    );
    place.ctx("mv nodes/Alpha nodes/Alpha").ok();
    assert!(place.has("nodes/Alpha.md") && !place.has("nodes/ALPHA.md"));
    assert_eq!(place.ctx("checkpoint list").ok().lines().len(), 1);
}

#[test]
fn a_recased_file_is_retired_restored_and_moved() {
    let place = renamed();
    place.ctx("retire nodes/alpha").ok();
    assert_eq!(names(&place), RENAMED);
    assert_eq!(states(&place)[0], state("nodes/alpha.md", "nodes/Alpha retired"));
    place.ctx("publish nodes/alpha").ok();
    place.edit("nodes/alpha.md", "One.", "Lost.");
    place.ctx("restore nodes/alpha --force").ok();
    assert!(place.read("nodes/alpha.md").contains("One."));
    place.remove("nodes/alpha.md");
    place.ctx("restore nodes/alpha").ok();
    assert!(place.has("nodes/Alpha.md") && !place.has("nodes/alpha.md"));
    rename(&place, "nodes/Alpha.md", "nodes/alpha.md");
    place.ctx("mv nodes/alpha nodes/gamma").ok();
    assert!(place.has("nodes/gamma.md") && !place.has("nodes/alpha.md"));
    place.ctx("verify").ok();
}

#[test]
fn a_governed_vault_lets_the_case_of_a_file_change_without_a_review() {
    let place = place();
    place.write("stewards.yaml", STEWARDS);
    place.ctx("govern on").ok();
    let before = recorded(&place);
    place.ctx("mv nodes/Alpha nodes/alpha").ok();
    assert!(recorded(&place) == before);
    place.edit("nodes/alpha.md", "One.", "Two.");
    place.ctx("submit nodes/alpha").ok();
    place.ctx("approve nodes/alpha --as bo@x.com").ok();
    assert_eq!(names(&place), RENAMED);
    assert!(place.ctx("read nodes/Alpha").ok().stdout.contains("Two."));
    place.ctx("verify").ok();
}

#[test]
fn two_files_whose_names_differ_in_case_are_refused() {
    let place = place();
    place.write("nodes/alpha.md", "# Other\n");
    assert!(place.ctx("validate").exits(1).stdout.contains("id-collision"));
    let refused = place.ctx("publish --all").exits(1).stderr;
    assert!(refused.contains("error[id-collision]"), "{refused}");
    let before = place.tree();
    place.ctx("mv nodes/Alpha nodes/alpha").exits(1);
    assert_eq!(place.tree(), before);
    place.ctx("verify").ok();
    // If two files differ in case from a third name, neither is its file.
    rename(&place, "nodes/Alpha.md", "nodes/ALPHA.md");
    let found = place.ctx("verify").exits(1).stdout;
    assert!(found.contains("[document-missing] nodes/Alpha"), "{found}");
    place.ctx("publish --all").exits(1);
}

#[test]
fn a_planted_file_in_another_case_is_drift_like_an_edit() {
    let place = place();
    let planted = place.read("nodes/Alpha.md").replace("One.", "Evil.");
    let codes = |place: &Place| {
        let report = place.ctx("verify --json").exits(1).json("ctx.verify");
        let findings = report["findings"].as_array().unwrap();
        let codes: Vec<String> =
            findings.iter().map(|f| format!("{} {}", f["code"], f["id"])).collect();
        (report["verdict"].clone(), codes)
    };
    let edited = place.duplicate();
    edited.write("nodes/Alpha.md", &planted);
    place.remove("nodes/Alpha.md");
    place.write("nodes/alpha.md", &planted);
    assert_eq!(codes(&place), codes(&edited));
    for id in ["nodes/alpha", "nodes/Alpha"] {
        assert!(place.ctx(&format!("read {id}")).ok().stdout.contains("One."));
    }
    // A link is not followed, and no file is written through it.
    place.remove("nodes/alpha.md");
    place.write("outside.txt", &planted);
    symlink("../outside.txt", place.path("nodes/alpha.md")).unwrap();
    let found = place.ctx("verify").exits(1).stdout;
    assert!(found.contains("[document-missing] nodes/Alpha"), "{found}");
    place.ctx("restore nodes/Alpha").ok();
    assert!(place.read("nodes/Alpha.md").contains("One."));
    assert_eq!(place.read("outside.txt"), planted);
}

#[test]
fn arguments_mean_a_recorded_id_in_another_case_and_uris_are_exact() {
    let place = place();
    for line in
        ["read nodes/alpha", "history nodes/ALPHA", "read nodes/alpha.md", "blame nodes/alpha"]
    {
        place.ctx(line).ok();
    }
    place.ctx("read contextnest://nodes/alpha").exits(1);
    assert_eq!(place.ctx("resolve contextnest://nodes/alpha --ids").stdout, "");
    place.write("nodes/BETA.md", "# Own\n");
    place.ctx("publish nodes/BETA").exits(1);
    place.ctx("add nodes/alpha --body x").exits(1);
    // A folder in another case is another folder.
    place.ctx("read Nodes/Alpha").exits(1);
}

#[test]
fn links_by_the_new_name_lead_to_the_document() {
    let place = renamed();
    place.edit("nodes/beta.md", "Alpha.md", "alpha.md");
    assert!(place.ctx("validate").ok().stdout.contains("0 warnings"));
    place.ctx("publish --changed").ok();
    for _ in 0..2 {
        let around = place.ctx("neighbors nodes/alpha").ok().stdout;
        assert!(around.contains("nodes/beta"), "{around}");
        let graph = place.ctx("graph --json").ok().json("ctx.graph");
        assert_eq!(graph["unresolved"], json!([]));
        assert_eq!(graph["edges"][0]["to"], "nodes/Alpha");
        place.ctx("index").ok();
    }
    let retired = place.ctx("retire nodes/alpha --dry-run").ok().stdout;
    assert!(retired.contains("nodes/beta.md:"), "{retired}");
    // Other readers do not find a file whose name differs.
    rename(&place, "nodes/alpha.md", "nodes/Alpha.md");
    assert!(place.ctx("validate").ok().stdout.contains("link-broken"));
}

#[test]
fn a_folder_in_another_case_is_refused_with_a_way_back() {
    let place = Place::published(&[("nodes/Legal/terms", "# Terms\n")]);
    let text = place.read("nodes/Legal/terms.md");
    place.args::<&str>(&[]).shell("mkdir nodes/legal; mv nodes/Legal/terms.md nodes/legal/").ok();
    let before = place.tree();
    assert_snapshot!(place.ctx("publish nodes/legal/terms").exits(1).stderr, @"
    error[refused]: 1 file refused
      nodes/legal/terms.md
        error[id-collision]: `nodes/legal/terms` and `nodes/Legal/terms` differ only in case or Unicode form (move the file to the folder `nodes/Legal`, or choose another name)
    hint: nothing was written; fix the documents, or leave them out
    ");
    place.ctx("publish --all").exits(1);
    assert_eq!(place.tree(), before);
    assert_eq!(place.read("nodes/legal/terms.md"), text);
    rename(&place, "nodes/legal/terms.md", "nodes/Legal/terms.md");
    place.ctx("verify").ok();
    place.ctx("mv nodes/Legal/terms nodes/legal/terms").exits(1);
    assert_eq!(place.read("nodes/Legal/terms.md"), text);
}

#[test]
fn hidden_documents_are_not_found_by_another_case() {
    let place = place();
    place.edit(".context/config.yaml", "layout:", "reads: stewards\nlayout:");
    place.ctx("publish .context/config.yaml").ok();
    place.write(
        "stewards.yaml",
        format!("{STEWARDS}folders: {{other/: [{{principal: vi@x.com, role: viewer}}]}}\n"),
    );
    place.ctx("govern on").ok();
    let answer = |id: &str| {
        let output = place.ctx(&format!("read {id} --as vi@x.com")).exits(1);
        output.whole().replace(id, "ID")
    };
    assert_eq!(answer("nodes/alpha"), answer("nodes/aleph"));
}

#[test]
fn an_ending_in_another_case_is_a_rename_of_case() {
    let place = place();
    rename(&place, "nodes/Alpha.md", "nodes/alpha.MD");
    place.ctx("publish --all").ok();
    place.edit("nodes/alpha.MD", "One.", "Two.");
    place.ctx("publish nodes/alpha.MD").ok();
    assert!(place.ctx("read nodes/Alpha").ok().stdout.contains("Two."));
    place.ctx("verify").ok();
}
