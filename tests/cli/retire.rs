//! `ctx retire`: removes a document from the maps, and deletes nothing.

use insta::assert_snapshot;

use crate::harness::Place;

fn two() -> Place {
    Place::published(&[("nodes/a", "# A\n\nOne.\n"), ("nodes/b", "# B\n")])
}

#[test]
fn a_retired_document_leaves_the_map_and_keeps_its_history() {
    let place = two();
    assert_snapshot!(place.ctx("retire nodes/a -m replaced").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 1 version, 2026-11-21T10:00:02.000Z
      retired  nodes/a  v2
    -- stderr
    ");
    assert_snapshot!(place.read("nodes/a.md"), @"
    ---
    title: A
    type: document
    status: draft
    version: 2
    author: ana@example.com
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:02.000Z'
    checksum: sha256:daec7054da1c161d82a54b7d58aa8d91c055c8874fa3f1e231d9088bb2450409
    ---
    # A

    One.
    ");
    assert_snapshot!(place.ctx("history nodes/a").whole(), @"
    exit: 0
    -- stdout
    v1  published  @1  keyframe  2026-11-21T10:00:01.000Z  ana@example.com  ecf46616d8c2
    v2  retired    @2  diff      2026-11-21T10:00:02.000Z  ana@example.com  ab01177552cb  (replaced)
    -- stderr
    ");
    assert_eq!(place.ctx("resolve status:published --ids").ok().lines(), ["nodes/b"]);
    assert_eq!(place.ctx("resolve status:published --ids --at 1").ok().lines().len(), 2);
    assert_snapshot!(place.ctx("read nodes/a").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: `nodes/a` is not published at checkpoint 2
    hint: `ctx history nodes/a` shows when it was published
    ");
    assert_snapshot!(place.ctx("verify").whole(), @"
    exit: 0
    -- stdout
    intact, anchored to checkpoint 2
      anchor: checkpoint 2, trusted on this machine since 2026-11-21T10:00:02.000Z
      2 checkpoints, 4 artifacts, 5 versions recomputed
      head: checkpoint 2, sha256:e0ec29376b1ac749f86c376e12116faf2e9461b87c0a46d41f97960ae96312f0
      covered by no hash: the notes of 1 version
      covered by no hash: who retired 1 document
    -- stderr
    ");
}

#[test]
fn its_file_may_be_gone() {
    let place = two();
    place.remove("nodes/a.md");
    assert_snapshot!(place.ctx("retire nodes/a --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.retire",
      "schema_version": 2,
      "dry_run": false,
      "checkpoint": {
        "checkpoint": 2,
        "at": "2026-11-21T10:00:02.000Z",
        "triggered_by": "nodes/a",
        "checkpoint_hash": "sha256:e0ec29376b1ac749f86c376e12116faf2e9461b87c0a46d41f97960ae96312f0"
      },
      "versions": [
        {
          "id": "nodes/a",
          "change": "retired",
          "version": 2,
          "chain_hash": "sha256:ab01177552cbb5dd5341e47269829343f3edcf08fd91208c215e3604528f81be",
          "warnings": []
        }
      ],
      "unchanged": [],
      "brought_up_to_date": [],
      "left_out": [],
      "refused": [],
      "not_updated": []
    }
    -- stderr
    "#);
    assert!(!place.has("nodes/a.md"));
    place.ctx("verify").ok();
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 2 of 2026-11-21T10:00:02.000Z
    Published and unchanged: 1 document
    Nothing to publish
    -- stderr
    ");
}

#[test]
fn an_unpublished_edit_stays_but_for_its_status() {
    let place = two();
    place.edit("nodes/a.md", "One.", "An edit.");
    place.ctx("retire nodes/a").ok();
    assert_snapshot!(place.read("nodes/a.md"), @"
    ---
    title: A
    type: document
    status: draft
    version: 1
    author: ana@example.com
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:01.000Z'
    checksum: sha256:daec7054da1c161d82a54b7d58aa8d91c055c8874fa3f1e231d9088bb2450409
    ---
    # A

    An edit.
    ");
    place.ctx("verify").ok();
}

#[test]
fn a_retired_document_whose_file_is_gone_cannot_come_back_by_itself() {
    let place = two();
    place.ctx("retire nodes/a").ok();
    place.remove("nodes/a.md");
    assert_snapshot!(place.ctx("publish nodes/a").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/a.md
        error[document-missing]: the live file is missing (`ctx restore nodes/a` writes the last text into the file again)
    hint: nothing was written; fix the documents, or leave them out
    ");
    let old = place.ctx("show nodes/a 1").ok().stdout;
    place.write("nodes/a.md", old);
    place.ctx("publish nodes/a").ok();
    place.ctx("verify").ok();
}

#[test]
fn twice_is_said_and_changes_nothing() {
    let place = two();
    place.ctx("retire nodes/a").ok();
    let before = place.tree();
    assert_snapshot!(place.ctx("retire nodes/a").whole(), @"
    exit: 0
    -- stdout
    nothing to retire
      left out: nodes/a (it is retired already)
    -- stderr
    ");
    assert_eq!(place.tree(), before);
}

#[test]
fn retire_refuses_a_document_that_was_never_published() {
    let place = two();
    place.write("nodes/c.md", "# C\n");
    assert_snapshot!(place.ctx("retire nodes/c").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/c.md
        error[not-published]: it was never published (leave it as a draft, or delete the file)
    hint: nothing was written; fix the documents, or leave them out
    ");
    assert_snapshot!(place.ctx("retire nodes/nope").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: no document has the id `nodes/nope`
    hint: `ctx list` lists published documents, `ctx status` lists new and changed ones
    ");
}

#[test]
fn a_dry_run_writes_nothing() {
    let place = two();
    let before = place.tree();
    assert_snapshot!(place.ctx("retire nodes/a nodes/b --dry-run").whole(), @"
    exit: 0
    -- stdout
    would make checkpoint 2 with 2 versions, 2026-11-21T10:00:02.000Z
      retired  nodes/a  v2
      retired  nodes/b  v2
    --- nodes/a.md (now)
    +++ nodes/a.md (retired)
    @@ -1,11 +1,11 @@
     ---
     title: A
     type: document
    -status: published
    -version: 1
    +status: draft
    +version: 2
     author: ana@example.com
     created_at: '2026-11-21T10:00:01.000Z'
    -updated_at: '2026-11-21T10:00:01.000Z'
    +updated_at: '2026-11-21T10:00:02.000Z'
     checksum: sha256:daec7054da1c161d82a54b7d58aa8d91c055c8874fa3f1e231d9088bb2450409
     ---
     # A
    --- nodes/b.md (now)
    +++ nodes/b.md (retired)
    @@ -1,11 +1,11 @@
     ---
     title: B
     type: document
    -status: published
    -version: 1
    +status: draft
    +version: 2
     author: ana@example.com
     created_at: '2026-11-21T10:00:01.000Z'
    -updated_at: '2026-11-21T10:00:01.000Z'
    +updated_at: '2026-11-21T10:00:02.000Z'
     checksum: sha256:2e71cb286b30953aa153f470a6ca6db7cffb5921b0d09c4735d9d5b12f580a52
     ---
     # B
    -- stderr
    ");
    assert_eq!(place.tree(), before);
}

/// Returns a vault whose documents and pack refer to `nodes/a`, in each way that breaks if it
/// is retired.
fn referred() -> Place {
    let place = two();
    place.write(
        "nodes/b.md",
        "---\nderived_from: [nodes/a]\n---\n# B\n\n[a](a.md#one) and [[a]],\ncontextnest://nodes/a, then contextnest://nodes/a@1.\n",
    );
    place.ctx("pack add p --include contextnest://nodes/a").ok();
    place
}

#[test]
fn links_to_a_retired_document_are_listed() {
    let place = referred();
    assert_snapshot!(place.ctx("retire nodes/a --dry-run").whole(), @"
    exit: 0
    -- stdout
    would make checkpoint 2 with 1 version, 2026-11-21T10:00:03.000Z
      retired  nodes/a  v2
      left out: packs/p.yml (it was not named; `--changed`, `--all` and its name publish it)
    Links that lead there:
      nodes/b.md:6  nodes/a
      nodes/b.md:7  nodes/a
      packs/p.yml:4  nodes/a  pack
    --- nodes/a.md (now)
    +++ nodes/a.md (retired)
    @@ -1,11 +1,11 @@
     ---
     title: A
     type: document
    -status: published
    -version: 1
    +status: draft
    +version: 2
     author: ana@example.com
     created_at: '2026-11-21T10:00:01.000Z'
    -updated_at: '2026-11-21T10:00:01.000Z'
    +updated_at: '2026-11-21T10:00:03.000Z'
     checksum: sha256:daec7054da1c161d82a54b7d58aa8d91c055c8874fa3f1e231d9088bb2450409
     ---
     # A
    -- stderr
    ");
    let json = place.ctx("retire nodes/a --json").ok().json("ctx.retire");
    assert_snapshot!(json["inbound_links"].to_string(), @r#"[{"kind":"reference","line":6,"path":"nodes/b.md","to":"nodes/a"},{"kind":"reference","line":7,"path":"nodes/b.md","to":"nodes/a"},{"kind":"pack","line":4,"path":"packs/p.yml","to":"nodes/a"}]"#);
}
