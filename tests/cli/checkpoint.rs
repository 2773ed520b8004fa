//! `ctx checkpoint` and `ctx context`.

use contextnest::files::vault::config::LogForm;
use insta::assert_snapshot;

use crate::harness::Place;

fn three() -> Place {
    let place =
        Place::published(&[("nodes/a", "---\ntags: [x]\n---\n# A\n"), ("nodes/b", "# B\n")]);
    place.edit("nodes/a.md", "# A\n", "# A\n\nx\n");
    place.ctx("publish --changed").ok();
    place.ctx("retire nodes/b").ok();
    place
}

#[test]
fn list_shows_every_event() {
    let place = three();
    assert_snapshot!(place.ctx("checkpoint list").whole(), @"
    exit: 0
    -- stdout
    @1  2026-11-21T10:00:01.000Z  c37db7878576  4 published  nodes/b and 3 more
    @2  2026-11-21T10:00:02.000Z  cf11a2b707ea  1 published  nodes/a
    @3  2026-11-21T10:00:03.000Z  5eaa53396222  1 retired    nodes/b
    -- stderr
    ");
    let json = place.ctx("checkpoint list --json").ok().json("ctx.checkpoint.list");
    assert_eq!(json["checkpoints"][2]["removed"], serde_json::json!(["nodes/b"]));
    assert_snapshot!(Place::vault().ctx("checkpoint list").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    hint: there is no checkpoint yet; `ctx publish --all` makes the first
    ");
}

#[test]
fn show_tells_what_changed_and_what_it_holds() {
    let place = three();
    assert_snapshot!(place.ctx("checkpoint show 2").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 of 2026-11-21T10:00:02.000Z
    triggered by nodes/a
    hash sha256:cf11a2b707ea22565856f627953c68fcdd3651125e29a2972bad976737d37308
    contains 4 artifacts (* = set by this checkpoint):
        .context/config.yaml  v1  7ddb1cef5f59
        CONTEXT.md            v1  0b291b9ba29b
      * nodes/a               v2  13a0547c1537
        nodes/b               v1  a54520b350d0
    -- stderr
    ");
    assert_snapshot!(place.ctx("checkpoint show 3 --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.checkpoint.show",
      "schema_version": 2,
      "checkpoint": 3,
      "at": "2026-11-21T10:00:03.000Z",
      "triggered_by": "nodes/b",
      "checkpoint_hash": "sha256:5eaa53396222f353fead527f5731895a2fcb2487df7c751eba2c37f9b18eb1f2",
      "set": [],
      "removed": [
        "nodes/b"
      ],
      "holds": [
        {
          "id": ".context/config.yaml",
          "version": 1,
          "chain_hash": "sha256:7ddb1cef5f59f6e25be8c63d596218975a871335eb62928694425884d957e2e9"
        },
        {
          "id": "CONTEXT.md",
          "version": 1,
          "chain_hash": "sha256:0b291b9ba29b1131ceb13cccce2b81057c957ce1a74f8e873ade2a075a0feff6"
        },
        {
          "id": "nodes/a",
          "version": 2,
          "chain_hash": "sha256:13a0547c15370934a7db5b28502d2c691d990229559f644e652954eba49dd1aa"
        }
      ]
    }
    -- stderr
    "#);
    assert_snapshot!(place.ctx("checkpoint show 4").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-checkpoint]: checkpoint 4 does not exist; the last one is 3
    hint: `ctx checkpoint list` lists all checkpoints
    ");
    assert_snapshot!(place.ctx("checkpoint show 0").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-checkpoint]: checkpoint 0 does not exist; the last one is 3
    hint: `ctx checkpoint list` lists all checkpoints
    ");
}

#[test]
fn a_delta_log_exported_as_whole_maps_is_the_same_log() {
    let place = three();
    let delta = place.exported(LogForm::Delta);
    assert_eq!(delta, place.read(".versions/checkpoints.jsonl"));
    let full = place.exported(LogForm::Full);
    assert_snapshot!(full, @"
    # Auto-generated. Do not edit manually.
    checkpoints:
      - checkpoint: 1
        at: '2026-11-21T10:00:01.000Z'
        triggered_by: nodes/b
        document_versions:
          '.context/config.yaml': 1
          CONTEXT.md: 1
          nodes/a: 1
          nodes/b: 1
        document_chain_hashes:
          '.context/config.yaml': sha256:7ddb1cef5f59f6e25be8c63d596218975a871335eb62928694425884d957e2e9
          CONTEXT.md: sha256:0b291b9ba29b1131ceb13cccce2b81057c957ce1a74f8e873ade2a075a0feff6
          nodes/a: sha256:1eef00e9495d875700ff5472a5c8cb05d194c8e63748ae33b60101c6c47c6765
          nodes/b: sha256:a54520b350d0de868289dc4ca1821ec1d3d6bb384aba5390ad879e2ff0550fda
        checkpoint_hash: sha256:c37db78785764c0f75848df43bc991ece6ca13c65eec6695514accf63655b782
      - checkpoint: 2
        at: '2026-11-21T10:00:02.000Z'
        triggered_by: nodes/a
        document_versions:
          '.context/config.yaml': 1
          CONTEXT.md: 1
          nodes/a: 2
          nodes/b: 1
        document_chain_hashes:
          '.context/config.yaml': sha256:7ddb1cef5f59f6e25be8c63d596218975a871335eb62928694425884d957e2e9
          CONTEXT.md: sha256:0b291b9ba29b1131ceb13cccce2b81057c957ce1a74f8e873ade2a075a0feff6
          nodes/a: sha256:13a0547c15370934a7db5b28502d2c691d990229559f644e652954eba49dd1aa
          nodes/b: sha256:a54520b350d0de868289dc4ca1821ec1d3d6bb384aba5390ad879e2ff0550fda
        checkpoint_hash: sha256:cf11a2b707ea22565856f627953c68fcdd3651125e29a2972bad976737d37308
      - checkpoint: 3
        at: '2026-11-21T10:00:03.000Z'
        triggered_by: nodes/b
        document_versions:
          '.context/config.yaml': 1
          CONTEXT.md: 1
          nodes/a: 2
        document_chain_hashes:
          '.context/config.yaml': sha256:7ddb1cef5f59f6e25be8c63d596218975a871335eb62928694425884d957e2e9
          CONTEXT.md: sha256:0b291b9ba29b1131ceb13cccce2b81057c957ce1a74f8e873ade2a075a0feff6
          nodes/a: sha256:13a0547c15370934a7db5b28502d2c691d990229559f644e652954eba49dd1aa
        checkpoint_hash: sha256:5eaa53396222f353fead527f5731895a2fcb2487df7c751eba2c37f9b18eb1f2
    ");
    let answer = place.ctx("resolve '#x' --json").ok().stdout;
    place.remove(".versions/checkpoints.jsonl");
    place.write(".versions/context_history.yaml", &full);
    assert_eq!(place.exported(LogForm::Full), full);
    assert_eq!(place.exported(LogForm::Delta), delta);
    assert_eq!(place.ctx("resolve '#x' --json").ok().stdout, answer);
    // The hashes are equal, but the configuration of this vault never asked for this form.
    let verify = place.ctx("verify --json").exits(1).json("ctx.verify");
    let found: Vec<&str> =
        verify["findings"].as_array().unwrap().iter().filter_map(|f| f["code"].as_str()).collect();
    assert_eq!(found, ["foreign-log"]);
}

#[test]
fn a_hash_that_does_not_follow_is_refused_by_those_who_rely_on_it() {
    let place = three();
    place.edit(
        ".versions/checkpoints.jsonl",
        "2026-11-21T10:00:01.000Z",
        "2026-11-21T10:00:01.001Z",
    );
    place.ctx("checkpoint list").ok();
    assert_snapshot!(place.ctx("checkpoint show 1").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[log-broken]: checkpoint 1 has hash sha256:98437ceafac915d186e11ff0ccd7f88c933facee5a67e37af28c79f1c7d57854, but the log records sha256:c37db78785764c0f75848df43bc991ece6ca13c65eec6695514accf63655b782
    hint: nothing was written; run `ctx verify` for a full report
    hint: `ctx checkpoint rebuild --dry-run` shows the log that the histories produce
    ");
    assert_snapshot!(place.ctx("list --at 1").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[log-broken]: checkpoint 1 has hash sha256:98437ceafac915d186e11ff0ccd7f88c933facee5a67e37af28c79f1c7d57854, but the log records sha256:c37db78785764c0f75848df43bc991ece6ca13c65eec6695514accf63655b782
    hint: nothing was written; run `ctx verify` for a full report
    hint: `ctx checkpoint rebuild --dry-run` shows the log that the histories produce
    ");
}

#[test]
fn context_prints_the_instructions_and_a_map() {
    let place = three();
    assert_snapshot!(place.ctx("context").whole(), @r#"
    exit: 0
    -- stdout
    <!-- ctx:begin chain_hash=sha256:0b291b9ba29b1131ceb13cccce2b81057c957ce1a74f8e873ade2a075a0feff6 mark=da94edfefeaf86edf7c5ff96 uri=contextnest://CONTEXT.md@3 version=1 -->
    ---
    title: "Test"
    ---

    # Test

    What this vault is about, and how agents are to use it. This text goes to every agent first.

    - Act on published documents only, and cite them by `contextnest://` URI and version.
    <!-- ctx:end da94edfefeaf86edf7c5ff96 -->

    # Map of Test at checkpoint 3: 1 document

    Types:
      type:document (1)

    Tags:
      #x (1)

    Folders:
      nodes/ (1)
    -- stderr
    "#);
    assert_snapshot!(place.ctx("context --at 1 --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.context",
      "schema_version": 2,
      "name": "Test",
      "checkpoint": 1,
      "instructions": "---\ntitle: \"Test\"\n---\n\n# Test\n\nWhat this vault is about, and how agents are to use it. This text goes to every agent first.\n\n- Act on published documents only, and cite them by `contextnest://` URI and version.\n",
      "documents": 2,
      "types": {
        "document": 2
      },
      "tags": {
        "x": 1
      },
      "folders": {
        "nodes": 2
      },
      "servers": {},
      "packs": [],
      "omitted": {
        "tags": 0,
        "folders": 0,
        "servers": 0,
        "packs": 0
      },
      "withheld": []
    }
    -- stderr
    "#);
    place.write("CONTEXT.md", "not published");
    assert!(!place.ctx("context").ok().stdout.contains("not published"));
    assert_snapshot!(Place::vault().ctx("context").whole(), @"
    exit: 0
    -- stdout
    # Map of vault at checkpoint 0: 0 documents
    -- stderr
    note: no checkpoint contains CONTEXT.md; `ctx publish CONTEXT.md` publishes it
    ");
}
