//! Conventions of git: folders as arguments, the whole vault by default, lists with `-n`.

use insta::assert_snapshot;

use crate::harness::Place;

/// Returns a vault with documents in two folders, each changed since its publication, and a draft.
fn changed() -> Place {
    let place = Place::published(&[
        ("nodes/x/a", "# A\n\nOne.\n"),
        ("nodes/x/b", "# B\n\nOne.\n"),
        ("nodes/y/c", "# C\n\nOne.\n"),
    ]);
    for path in ["nodes/x/a.md", "nodes/x/b.md", "nodes/y/c.md"] {
        place.edit(path, "One.", "Two.");
    }
    place.edit("nodes/x/b.md", "status: published", "status: draft");
    place.write("nodes/x/new.md", "# New\n");
    place
}

#[test]
fn diff_shows_all_changed_documents() {
    let place = changed();
    let diff = place.ctx("diff").ok();
    assert_snapshot!(diff.lines().iter().filter(|l| l.starts_with("+++") || l.starts_with("+T")).copied().collect::<Vec<_>>().join("\n"), @"
    +++ nodes/x/a.md (live)
    +Two.
    +++ nodes/x/b.md (live)
    +Two.
    +++ nodes/y/c.md (live)
    +Two.
    ");
    let json = place.ctx("diff nodes/y/ --json").ok().json("ctx.diff.all");
    assert_eq!(
        (json["diffs"].as_array().unwrap().len(), &json["diffs"][0]["id"]),
        (1, &"nodes/y/c".into())
    );
    // Paths are relative to the current folder.
    let here = place.typed("diff .").within(std::path::Path::new("nodes/y"));
    let here = here.run();
    assert!(here.stdout.contains("nodes/y/c.md") && !here.stdout.contains("nodes/x"));
    assert_snapshot!(place.ctx("diff nodes/x/ 1").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: a version needs a single document
    hint: name a document, not a folder
    ");
    assert_snapshot!(place.ctx("diff nodes/z/").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: no folder `nodes/z/` has documents
    hint: `ctx status` lists all documents
    ");
}

#[test]
fn status_looks_at_folders_and_documents() {
    let place = changed();
    assert_snapshot!(place.ctx("status nodes/y nodes/x/new.md").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 1 of 2026-11-21T10:00:01.000Z
    Published and unchanged: 0 documents

    Changed since publication (next: ctx publish --changed):
      nodes/y/c.md (v1)

    Never published (next: ctx publish ID, or ctx publish --all):
      nodes/x/new.md
    -- stderr
    ");
    let json = place.ctx("status nodes/x/ -n 1 --json").ok().json("ctx.status");
    assert_eq!((json["documents"].as_array().unwrap().len(), &json["omitted"]), (1, &2.into()));
    // A folder that was removed still has its published documents.
    place.remove("nodes/y");
    assert!(place.ctx("status nodes/y/").ok().stdout.contains("nodes/y/c.md"));
}

#[test]
fn publish_takes_the_changed_documents_of_a_folder() {
    let place = changed();
    assert_snapshot!(place.ctx("publish nodes/x/").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 1 version, 2026-11-21T10:00:02.000Z
      changed  nodes/x/a  v2
      left out: nodes/x/b (its live file is a draft)
    -- stderr
    ");
    // A document that is named is published, draft or not.
    assert_snapshot!(place.ctx("publish nodes/x/ nodes/x/b").whole(), @"
    exit: 0
    -- stdout
    checkpoint 3 with 1 version, 2026-11-21T10:00:03.000Z
      changed  nodes/x/b  v2
      unchanged: nodes/x/a
    -- stderr
    ");
    place.ctx("publish --changed").ok();
    place.ctx("verify").ok();
}

#[test]
fn publish_without_a_name_publishes_nothing() {
    let place = changed();
    let before = place.tree();
    assert_snapshot!(place.ctx("publish").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: no document to publish is named
    hint: `--changed` publishes changes to published documents, `--all` also new documents
    hint: or name documents or folders; `ctx status` lists all that differ
    ");
    let shown = place.typed("publish").var("NO_COLOR", "1").on_terminal();
    assert_snapshot!(shown.whole(), @"
    exit: 2
    -- stdout
    would make checkpoint 2 with 2 versions, 2026-11-21T10:00:03.000Z
      changed  nodes/x/a  v2
      changed  nodes/y/c  v2
      left out: nodes/x/b (its live file is a draft)
    --- nodes/x/a.md (now)
    +++ nodes/x/a.md (published)
    @@ -2,11 +2,11 @@
     title: A
     type: document
     status: published
    -version: 1
    +version: 2
     author: ana@example.com
     created_at: '2026-11-21T10:00:01.000Z'
    -updated_at: '2026-11-21T10:00:01.000Z'
    -checksum: sha256:daec7054da1c161d82a54b7d58aa8d91c055c8874fa3f1e231d9088bb2450409
    +updated_at: '2026-11-21T10:00:03.000Z'
    +checksum: sha256:75edd8a780f71a3b5994b08d7d2627111207578ee016611ee1e98592dab34839
     ---
     # A
     
    --- nodes/y/c.md (now)
    +++ nodes/y/c.md (published)
    @@ -2,11 +2,11 @@
     title: C
     type: document
     status: published
    -version: 1
    +version: 2
     author: ana@example.com
     created_at: '2026-11-21T10:00:01.000Z'
    -updated_at: '2026-11-21T10:00:01.000Z'
    -checksum: sha256:d665d91802f542674eefe3b6be67f3701b1b3b779de64ea842183ebe28edc243
    +updated_at: '2026-11-21T10:00:03.000Z'
    +checksum: sha256:875068da6d6c75902547d673ae0506d18379d0f1612d317b94f6e61f8f695b74
     ---
     # C
     
    -- stderr
    error[usage]: no document to publish is named
    hint: `--changed` publishes changes to published documents, `--all` also new documents
    hint: or name documents or folders; `ctx status` lists all that differ
    ");
    assert_eq!(place.tree(), before);
}

#[test]
fn history_lists_the_latest_versions_of_the_vault() {
    let place = changed();
    place.ctx("publish --changed").ok();
    place.ctx("retire nodes/x/b").ok();
    assert_snapshot!(place.ctx("history -n 4").whole(), @"
    exit: 0
    -- stdout
    @3  2026-11-21T10:00:03.000Z  retired    nodes/x/b
    @2  2026-11-21T10:00:02.000Z  published  nodes/x/a             v2
    @2  2026-11-21T10:00:02.000Z  published  nodes/y/c             v2
    @1  2026-11-21T10:00:01.000Z  published  .context/config.yaml  v1
    -- stderr
    note: 4 more; `-n N` prints more of them
    ");
    let json = place.ctx("history -n 1 --json").ok().json("ctx.history.all");
    assert_eq!((&json["versions"][0]["state"], &json["omitted"]), (&"retired".into(), &7.into()));
    let json = place.ctx("history nodes/x/a -n 1 --json").ok().json("ctx.history");
    assert_eq!((&json["versions"][0]["version"], &json["omitted"]), (&2.into(), &1.into()));
}

#[test]
fn lists_are_cut_to_a_limit() {
    let place = changed();
    place.ctx("publish nodes/y/").ok();
    assert_snapshot!(place.ctx("list -n 1").whole(), @"
    exit: 0
    -- stdout
    nodes/x/a  v1  document  A
    -- stderr
    note: 2 more; `-n N` prints more of them
    ");
    assert_snapshot!(place.ctx("list contextnest://nodes/y/").whole(), @"
    exit: 0
    -- stdout
    nodes/y/c  v2  document  C
    -- stderr
    ");
    assert_snapshot!(place.ctx("checkpoint list -n 1").whole(), @"
    exit: 0
    -- stdout
    @2  2026-11-21T10:00:02.000Z  ee6e6aec0294  1 published  nodes/y/c
    -- stderr
    note: 1 more; `-n N` prints more of them
    ");
    let json = place.ctx("checkpoint list -n 1 --json").ok().json("ctx.checkpoint.list");
    assert_eq!((&json["checkpoints"][0]["checkpoint"], &json["omitted"]), (&2.into(), &1.into()));
    assert_snapshot!(place.ctx("checkpoint list -n 0").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    note: 2 more; `-n N` prints more of them
    ");
    place.ctx("pack add p --query type:document").ok();
    place.ctx("publish --all").ok();
    let json = place.ctx("pack list -n 0 --json").ok().json("ctx.pack.list");
    assert_eq!(json["omitted"], 1);
}

#[test]
fn a_discarded_publication_is_named() {
    let place = Place::published(&[("nodes/a", "# A\n\nOne.\n")]);
    let git = |line: &str| {
        let line =
            format!("git -c user.name=a -c user.email=a@b -c init.defaultBranch=main {line}");
        place.typed("status").shell(&line).ok()
    };
    git("init -q");
    git("add -A");
    git("commit -qm first");
    // The trusted head belongs to the branch.
    place.ctx("head trust").ok();
    place.edit("nodes/a.md", "One.", "Two.");
    place.ctx("publish nodes/a").ok();
    git("checkout -q .");
    git("clean -qfd");
    place.edit("nodes/a.md", "One.", "Three.");
    for line in ["publish nodes/a", "retire nodes/a", "restore nodes/a", "mv nodes/a nodes/b"] {
        let refused = place.ctx(line).exits(4);
        assert!(
            refused.stderr.contains("git discarded a publication"),
            "{line}: {}",
            refused.stderr
        );
    }
    assert_snapshot!(place.ctx("publish nodes/a").whole(), @"
    exit: 4
    -- stdout
    -- stderr
    error[head-rollback]: git discarded a publication, and the log is as in the commit that is checked out: the trusted head is checkpoint 2 (05553128e32a), but the log ends at checkpoint 1
    hint: nothing was written; `git stash pop` restores stashed changes, and `git reflog` lists the commits that were left
    hint: to go on without the publication, `ctx head trust` trusts the log as it is
    ");
    place.ctx("head trust").ok();
    place.ctx("publish nodes/a").ok();
    // A log that was truncated by hand is not explained by git.
    git("add -A");
    git("commit -qm second");
    let log = place.read(".versions/checkpoints.jsonl");
    place.write(".versions/checkpoints.jsonl", log.lines().next().unwrap().to_owned() + "\n");
    let refused = place.ctx("publish nodes/a").exits(4);
    assert!(!refused.stderr.contains("git discarded"), "{}", refused.stderr);
    // Neither is one that a commit truncated.
    git("commit -qam cut");
    let refused = place.ctx("publish nodes/a").exits(4);
    assert!(!refused.stderr.contains("git discarded"), "{}", refused.stderr);
}

#[test]
fn a_document_without_a_body_is_not_published() {
    let place = Place::vault();
    let before = place.tree();
    assert_snapshot!(place.ctx("add nodes/a").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: the document has no body, so it was not published
    hint: pass it with `--body TEXT` or `--body -`; `--draft` makes an empty draft
    ");
    place.ctx("add nodes/a --body ''").exits(2);
    place.typed("add nodes/a --body -").stdin(" \n").run().exits(2);
    assert_eq!(place.tree(), before);
    place.ctx("add nodes/a --draft").ok();
}

#[test]
fn the_editor_gives_the_body_on_a_terminal() {
    let place = Place::vault();
    let add = |id: &str, editor: &str| {
        place.typed(&format!("add {id}")).var("VISUAL", editor).on_terminal()
    };
    let written = add("nodes/a", "sh -c 'printf \"# Hello\\n\" > \"$0\"'");
    assert!(written.ok().stdout.contains("checkpoint 1"));
    assert!(place.read("nodes/a.md").ends_with("# Hello\n"));
    assert!(add("nodes/b", "true").exits(2).stderr.contains("no body"));
    assert!(add("nodes/b", "'").exits(2).stderr.contains("is not a command"));
    add("nodes/b", "/nowhere/editor").exits(2);
    let failed = add("nodes/b", "sh -c 'echo kept > \"$0\"; exit 3'").exits(5);
    let (_, kept) = failed.stderr.split_once("your text is in ").unwrap();
    let kept = kept.split(": ").next().unwrap();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "kept\n");
    std::fs::remove_file(kept).unwrap();
    assert!(!place.has("nodes/b.md"));
    // An existing document is refused before the editor is opened.
    assert_eq!(add("nodes/a", "false").exit, 1);
}
