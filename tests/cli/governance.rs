//! Governance files: published with documents, named, and retired if their files are gone.

use insta::assert_snapshot;

use crate::harness::Place;

#[test]
fn changed_governance_files_are_included_and_named() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.write("packs/start.yml", "id: start\nlabel: Start\nquery: '#a'\n");
    place.write("stewards.yaml", "version: 1\n");
    place.edit("CONTEXT.md", "# Test", "# Test vault");
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 1 of 2026-11-21T10:00:01.000Z
    Published and unchanged: 1 document

    Governance files changed (next: ctx publish --changed):
      CONTEXT.md (changed)
      packs/start.yml (new)
      stewards.yaml (new)
    -- stderr
    ");
    place.edit("nodes/a.md", "# A\n", "# A\n\nx\n");
    assert_snapshot!(place.ctx("publish --changed").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 4 versions, 2026-11-21T10:00:03.000Z
      changed  CONTEXT.md       v2
      changed  nodes/a          v2
      new      packs/start.yml  v1
      new      stewards.yaml    v1
    -- stderr
    ");
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 2 of 2026-11-21T10:00:03.000Z
    Published and unchanged: 1 document
    Nothing to publish
    -- stderr
    ");
    assert_eq!(
        place.read(".versions/CONTEXT.md/v1.md"),
        place.ctx("read CONTEXT.md@1").ok().stdout
    );
    assert_eq!(place.read("CONTEXT.md"), place.ctx("read CONTEXT.md").ok().stdout);
    place.ctx("verify").ok();
}

#[test]
fn an_event_about_documents_leaves_them_out_and_runs_under_what_is_sealed() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let config = ".context/config.yaml";
    let text = place.read(config) + "exclude: [nodes/x*]\nversions: {keyframe_interval: 2}\n";
    place.write(config, &text);
    place.write("packs/start.yml", "id: start\nlabel: Start\n");
    assert_snapshot!(place.ctx("add nodes/x --body text").ok().stdout, @"
    checkpoint 2 with 1 version, 2026-11-21T10:00:02.000Z
      new  nodes/x  v1
      left out: .context/config.yaml (it was not named; `--changed`, `--all` and its name publish it)
      left out: packs/start.yml (it was not named; `--changed`, `--all` and its name publish it)
    ");
    place.ctx("add nodes/y --body text").ok();
    place.edit("nodes/a.md", "# A", "# A a");
    place.ctx("publish nodes/a").ok();
    place.ctx("mv nodes/a nodes/b").ok();
    place.ctx("retire nodes/y").ok();
    assert!(place.read("nodes/.versions/x/history.yaml").starts_with("keyframe_interval: 10"));
    let report = place.ctx("verify --allow-drift --json").ok().json("ctx.verify");
    let codes: Vec<_> = report["findings"].as_array().unwrap().iter().map(|f| &f["code"]).collect();
    assert_eq!(codes, ["policy-drift", "policy-unsealed"], "{report}");
    // An invalid configuration does not prevent it either.
    place.write(config, "layout: [");
    place.ctx("add nodes/z --body text").ok();
    place.write(config, &text);
    assert_snapshot!(place.ctx("publish .context/config.yaml").whole(), @"
    exit: 0
    -- stdout
    checkpoint 8 with 1 version, 2026-11-21T10:00:09.000Z
      changed  .context/config.yaml  v2
      left out: packs/start.yml (it was not named; `--changed`, `--all` and its name publish it)
    -- stderr
    ");
    place.ctx("add nodes/new --body text").ok();
    assert!(place.read("nodes/.versions/new/history.yaml").starts_with("keyframe_interval: 2"));
    place.ctx("add nodes/xx --body text").exits(2);
    place.ctx("publish packs/start.yml").ok();
    place.ctx("verify").ok();
}

#[test]
fn publish_can_contain_only_governance_files() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("CONTEXT.md", "# Test", "# Test vault");
    assert_snapshot!(place.ctx("publish --changed").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 1 version, 2026-11-21T10:00:02.000Z
      changed  CONTEXT.md  v2
      unchanged: nodes/a
    -- stderr
    ");
    assert_snapshot!(place.ctx("history CONTEXT.md").whole(), @"
    exit: 0
    -- stdout
    v1  published  @1  keyframe  2026-11-21T10:00:01.000Z  ana@example.com  0b291b9ba29b
    v2  published  @2  diff      2026-11-21T10:00:02.000Z  ana@example.com  39b27fd70d31
    -- stderr
    ");
}

#[test]
fn a_deleted_one_is_retired() {
    let place = Place::vault();
    place.write("packs/start.yml", "id: start\nlabel: Start\n");
    place.write("nodes/a.md", "# A\n");
    place.ctx("publish --all").ok();
    place.remove("packs/start.yml");
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 1 of 2026-11-21T10:00:01.000Z
    Published and unchanged: 1 document

    Governance files deleted (next: ctx restore FILE, or ctx retire FILE):
      packs/start.yml (deleted)
    -- stderr
    ");
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 1 version, 2026-11-21T10:00:03.000Z
      retired  packs/start.yml  v2
      unchanged: nodes/a
    -- stderr
    ");
    assert_snapshot!(place.ctx("read packs/start.yml").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: `packs/start.yml` is not published at checkpoint 2
    hint: `ctx history packs/start.yml` shows when it was published
    ");
    assert_snapshot!(place.ctx("read packs/start.yml@1").whole(), @"
    exit: 0
    -- stdout
    id: start
    label: Start
    -- stderr
    ");
    place.ctx("verify").ok();
}

#[test]
fn one_that_is_no_text_stops_a_publication_and_is_named() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A\n", "# A\n\nx\n");
    place.write("CONTEXT.md", b"\xff");
    assert_snapshot!(place.ctx("publish --changed").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      CONTEXT.md
        error[not-utf8]: not UTF-8 at byte 0 (convert the file to UTF-8)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 1 of 2026-11-21T10:00:01.000Z
    Published and unchanged: 0 documents

    Changed since publication (next: ctx publish --changed):
      nodes/a.md (v1)

    Governance files changed (next: ctx publish --changed):
      CONTEXT.md (unreadable)
    -- stderr
    ");
}

#[test]
fn one_is_retired_by_deleting_it_and_not_by_name() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let before = place.tree();
    assert_snapshot!(place.ctx("retire CONTEXT.md").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      CONTEXT.md
        error[not-a-document]: a governance file is retired by deleting it (delete the file first, then retire it)
    hint: nothing was written; fix the documents, or leave them out
    ");
    assert_eq!(place.tree(), before);
    place.remove("CONTEXT.md");
    assert_snapshot!(place.ctx("retire CONTEXT.md").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 1 version, 2026-11-21T10:00:03.000Z
      retired  CONTEXT.md  v2
    -- stderr
    ");
    place.ctx("verify").ok();
}

#[test]
fn selectors_never_return_them() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    assert_eq!(place.ctx("resolve status:published --ids").ok().lines(), ["nodes/a"]);
    assert_eq!(place.ctx("resolve type:document --ids").ok().lines(), ["nodes/a"]);
}

#[test]
fn a_governed_vault_refuses_every_writer() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A\n", "# A\n\nx\n");
    place.write(".context/config.yaml", "version: 1\ngovernance: governed\n");
    let before = place.tree();
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 3
    -- stdout
    -- stderr
    error[governed]: the configuration says `governance: governed`, which is not published
    hint: `ctx govern on` publishes it with the stewards
    hint: or remove the line from .context/config.yaml
    ");
    for line in ["add nodes/b --body b", "retire nodes/a", "mv nodes/a nodes/b"] {
        let error = place.ctx(&format!("{line} --json")).exits(3).json("ctx.error");
        assert_eq!(error["code"], "governed", "{line}");
    }
    assert_eq!(place.tree(), before);
}

#[test]
fn without_a_configuration_a_new_history_has_the_default_interval() {
    let place = Place::vault();
    let config = ".context/config.yaml";
    place.write(config, "version: 1\nlayout: structured\nversions:\n  keyframe_interval: 3\n");
    place.ctx("add nodes/a --body a").ok();
    place.remove(config);
    place.write("nodes/b.md", "b\n");
    place.ctx("publish --all").ok();
    place.ctx("add nodes/c --body c").ok();
    place.write(config, "version: 1\nlayout: structured\nversions:\n  keyframe_interval: 2\n");
    place.write("nodes/d.md", "d\n");
    place.ctx("publish --all").ok();
    let report = place.ctx("verify --json").ok().json("ctx.verify");
    assert_eq!(report["findings"].as_array().unwrap().len(), 0, "{report}");
}

#[test]
fn to_ask_for_the_form_that_the_log_has_frees_nothing_from_the_rules() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/.versions/a/history.yaml", "keyframe_interval: 10", "keyframe_interval: 9");
    let config = ".context/config.yaml";
    place.write(config, place.read(config) + "versions: {checkpoint_log: delta}\n");
    place.ctx("publish --changed").ok();
    let report = place.ctx("verify --json").ok().json("ctx.verify");
    assert_eq!(report["findings"][0]["code"], "keyframe-interval", "{report}");
}
