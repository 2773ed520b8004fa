//! `ctx restore`: restores the text of a version in the live file, and loses no edit.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use crate::harness::Place;

/// Returns a vault with a document in two versions.
fn two_versions() -> Place {
    let place = Place::published(&[("nodes/a", "# A\n\nOne.\n")]);
    place.edit("nodes/a.md", "One.", "Two.");
    place.ctx("publish nodes/a").ok();
    place
}

#[test]
fn a_file_that_is_gone_gets_the_published_text() {
    let place = two_versions();
    let published = place.read("nodes/a.md");
    place.remove("nodes/a.md");
    assert_snapshot!(place.ctx("restore nodes/a --dry-run").whole(), @"
    exit: 0
    -- stdout
    would restore nodes/a.md from version 2
    would create nodes/a.md
    -- stderr
    ");
    assert!(!place.has("nodes/a.md"));
    let before = place.tree();
    assert_snapshot!(place.ctx("restore nodes/a").whole(), @"
    exit: 0
    -- stdout
    restored nodes/a.md from version 2
    -- stderr
    ");
    assert_eq!(place.read("nodes/a.md"), published);
    let mut after = place.tree();
    after.remove("nodes/a.md");
    assert_eq!(after, before, "nothing but the live file is written");
    assert_snapshot!(place.ctx("restore nodes/a").whole(), @"
    exit: 0
    -- stdout
    unchanged: nodes/a.md has the text of version 2
    -- stderr
    ");
    assert_eq!(place.ctx("publish nodes/a").ok().lines()[0], "nothing to publish");
    place.ctx("verify").ok();
}

#[test]
fn an_earlier_text_is_published_as_a_new_version() {
    let place = two_versions();
    assert_snapshot!(place.ctx("restore nodes/a.md --version 1").whole(), @"
    exit: 0
    -- stdout
    restored nodes/a.md from version 1
    -- stderr
    hint: the published version stays; `ctx publish nodes/a` publishes this text as a new version, `ctx restore nodes/a` restores the published text
    ");
    // The file records that it was edited from the published version.
    assert_snapshot!(place.ctx("diff nodes/a").ok().stdout, @"
    --- v2
    +++ live
    @@ -10,4 +10,4 @@
     ---
     # A
     
    -Two.
    +One.
    ");
    assert_snapshot!(place.ctx("publish --changed").whole(), @"
    exit: 0
    -- stdout
    checkpoint 3 with 1 version, 2026-11-21T10:00:05.000Z
      changed  nodes/a  v3
    -- stderr
    ");
    let body = |text: String| text.split("---\n").last().unwrap().to_owned();
    assert_eq!(body(place.ctx("show nodes/a 3").ok().stdout), "# A\n\nOne.\n");
    place.ctx("verify").ok();
}

#[test]
fn an_earlier_text_is_stale_once_another_version_is_published() {
    let place = two_versions();
    let other = place.read("nodes/a.md");
    place.ctx("restore nodes/a --version 1").ok();
    let earlier = place.read("nodes/a.md");
    place.write("nodes/a.md", other.replace("Two.", "Three."));
    place.ctx("publish nodes/a").ok();
    place.write("nodes/a.md", earlier);
    assert!(place.ctx("publish nodes/a").exits(1).stderr.contains("error[stale]"));
    // The file still has the text of version 1, without an edit.
    place.ctx("restore nodes/a").ok();
    assert!(place.read("nodes/a.md").contains("Three."));
}

#[test]
fn an_edit_is_not_overwritten_unless_forced() {
    let place = two_versions();
    place.edit("nodes/a.md", "Two.", "An edit.");
    let before = place.tree();
    for line in ["restore nodes/a", "restore nodes/a --version 1", "restore nodes/a --dry-run"] {
        place.ctx(line).exits(4);
    }
    assert_snapshot!(place.ctx("restore nodes/a").whole(), @"
    exit: 4
    -- stdout
    -- stderr
    error[unpublished-changes]: `nodes/a.md` has changes that no version contains
    hint: nothing was written; `ctx diff nodes/a` shows the changes, `ctx publish nodes/a` makes a version of them
    hint: `--force` overwrites the changes, which are then lost
    ");
    assert_eq!(place.tree(), before);
    place.ctx("restore nodes/a --force").ok();
    assert!(place.read("nodes/a.md").contains("Two."));
}

#[test]
fn a_changed_title_is_an_edit_and_other_line_ends_are_none() {
    let place = two_versions();
    let published = place.read("nodes/a.md");
    place.write("nodes/a.md", published.replace("title: A", "title: B"));
    place.ctx("restore nodes/a").exits(4);
    place.write("nodes/a.md", published.replace('\n', "\r\n"));
    place.ctx("restore nodes/a --version 1").ok();
    // The text of one version may replace that of another.
    place.ctx("restore nodes/a").ok();
    assert_eq!(place.read("nodes/a.md"), published);
}

#[test]
fn a_changed_status_or_version_is_an_edit() {
    for (from, to) in [("status: published", "status: draft"), ("version: 2", "version: 9")] {
        let place = two_versions();
        place.edit("nodes/a.md", from, to);
        place.ctx("restore nodes/a").exits(4);
        assert!(place.read("nodes/a.md").contains(to));
    }
    // A restored text is not an edit, even after another version.
    let place = two_versions();
    place.ctx("restore nodes/a --version 1").ok();
    let restored = place.read("nodes/a.md");
    place.ctx("publish nodes/a").ok();
    place.write("nodes/a.md", restored);
    place.ctx("restore nodes/a").ok();
    place.ctx("verify").ok();
}

#[test]
fn one_edit_keeps_all_files_from_being_written() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.remove("nodes/a.md");
    place.write("nodes/b.md", "# Mine\n");
    place.ctx("restore nodes/a nodes/b").exits(4);
    assert!(!place.has("nodes/a.md"));
}

#[test]
fn a_retired_document_comes_back_as_a_draft() {
    let place = two_versions();
    place.ctx("retire nodes/a").ok();
    place.remove("nodes/a.md");
    assert_snapshot!(place.ctx("restore nodes/a").whole(), @"
    exit: 0
    -- stdout
    restored nodes/a.md from version 3
    -- stderr
    hint: it stays retired; `ctx publish nodes/a` publishes it again, as a new version
    ");
    assert_snapshot!(place.read("nodes/a.md"), @"
    ---
    title: A
    type: document
    status: draft
    version: 3
    author: ana@example.com
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:03.000Z'
    checksum: sha256:75edd8a780f71a3b5994b08d7d2627111207578ee016611ee1e98592dab34839
    ---
    # A

    Two.
    ");
    place.ctx("restore nodes/a --version 1").ok();
    assert_snapshot!(place.read("nodes/a.md"), @"
    ---
    title: A
    type: document
    status: draft
    version: 3
    author: ana@example.com
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:03.000Z'
    checksum: sha256:75edd8a780f71a3b5994b08d7d2627111207578ee016611ee1e98592dab34839
    ---
    # A

    One.
    ");
    assert_snapshot!(place.ctx("publish nodes/a").ok().stdout, @"
    checkpoint 4 with 1 version, 2026-11-21T10:00:06.000Z
      restored  nodes/a  v4
    ");
    place.ctx("verify").ok();
}

#[test]
fn governance_files_are_restored_as_they_were() {
    let place = two_versions();
    let context = place.read("CONTEXT.md");
    place.write("CONTEXT.md", "# Other\n");
    place.ctx("publish CONTEXT.md").ok();
    place.ctx("restore CONTEXT.md --version 1").ok();
    assert_eq!(place.read("CONTEXT.md"), context);
    place.ctx("restore CONTEXT.md").ok();
    place.remove("CONTEXT.md");
    place.ctx("retire CONTEXT.md").ok();
    assert_snapshot!(place.ctx("restore CONTEXT.md").whole(), @"
    exit: 0
    -- stdout
    restored CONTEXT.md from version 2
    -- stderr
    hint: it stays retired; `ctx publish CONTEXT.md` publishes it again, as a new version
    ");
    assert_eq!(place.read("CONTEXT.md"), "# Other\n");
}

#[test]
fn a_configuration_that_cannot_be_read_is_restored() {
    let place = two_versions();
    let config = place.read(".context/config.yaml");
    place.write(".context/config.yaml", "name: [\n");
    place.ctx("restore .context/config.yaml").exits(4);
    place.ctx("restore .context/config.yaml --force").ok();
    assert_eq!(place.read(".context/config.yaml"), config);
}

#[test]
fn restore_refuses_texts_that_are_not_vouched_for() {
    let place = two_versions();
    place.remove("nodes/a.md");
    place.edit("nodes/.versions/a/v1.md", "One.", "Uno.");
    assert_snapshot!(place.ctx("restore nodes/a").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[withheld]: version 2 of `nodes/a`: the stored text has hash sha256:b0fb7697862915a04089b94a8237903f8fca7e7ea837451c629bbd49bf359688, but the history records sha256:28c96fd1cf24665250e158fe836c944986dcc9da8191d5368a98eabfc27a30d6
    hint: run `ctx verify` for a full report
    ");
    assert!(!place.has("nodes/a.md"));
    place.ctx("restore nodes/a --version 9").exits(1);
    place.write("nodes/b.md", "# B\n");
    assert_snapshot!(place.ctx("restore nodes/b").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: `nodes/b` was never published
    hint: `ctx publish nodes/b` publishes version 1
    ");
}

#[test]
fn a_log_that_was_put_back_restores_nothing() {
    let place = two_versions();
    let log = ".versions/checkpoints.jsonl";
    let line = place.read(log).lines().next().unwrap().to_owned() + "\n";
    place.remove("nodes/a.md");
    place.write(log, line);
    assert!(place.ctx("restore nodes/a").exits(4).stderr.contains("error[head-rollback]"));
    assert!(!place.has("nodes/a.md"));
}

#[test]
fn nothing_is_written_through_a_link() {
    let place = two_versions();
    place.remove("nodes/a.md");
    std::fs::write(place.home().join("outside.md"), "mine").unwrap();
    symlink(place.home().join("outside.md"), place.path("nodes/a.md")).unwrap();
    place.ctx("restore nodes/a --force").exits(5);
    assert_eq!(std::fs::read_to_string(place.home().join("outside.md")).unwrap(), "mine");
}

#[test]
fn json_says_what_is_written_and_what_comes_next() {
    let place = two_versions();
    let json = place.ctx("restore nodes/a --version 1 --json").ok().json("ctx.restore");
    assert_snapshot!(json.to_string(), @r#"{"documents":[{"hint":"the published version stays; `ctx publish nodes/a` publishes this text as a new version, `ctx restore nodes/a` restores the published text","id":"nodes/a","outcome":"restored","path":"nodes/a.md","state":"earlier","version":1}],"dry_run":false,"schema":"ctx.restore","schema_version":2}"#);
    assert!(place.ctx("restore nodes/a nodes/a --version 1").exits(2).stderr.contains("usage"));
}

#[test]
fn a_document_whose_history_is_gone_is_withheld_and_not_called_unpublished() {
    let place = two_versions();
    place.remove("nodes/a.md");
    std::fs::remove_dir_all(place.path("nodes/.versions/a")).unwrap();
    let why = place.ctx("restore nodes/a").exits(1).stderr;
    assert!(why.contains("error[withheld]") && !why.contains("never published"), "{why}");
}
