//! `ctx list`, `read`, `history`, `show` and `diff`: reading published texts.

use std::path::Path;

use insta::assert_snapshot;

use crate::harness::Place;

fn edited() -> Place {
    let place =
        Place::published(&[("nodes/a", "---\ntitle: A\n---\n\nOne.\n"), ("nodes/deep/b", "# B\n")]);
    place.edit("nodes/a.md", "One.", "Two.");
    place.typed("publish --changed -m 'second | one' --as lee@example.com").run().ok();
    place
}

#[test]
fn list_shows_what_is_published_now_or_then() {
    let place = edited();
    assert_snapshot!(place.ctx("list").whole(), @"
    exit: 0
    -- stdout
    nodes/a       v2  document  A
    nodes/deep/b  v1  document  B
    -- stderr
    ");
    assert_snapshot!(place.ctx("list --at 1").whole(), @"
    exit: 0
    -- stdout
    nodes/a       v1  document  A
    nodes/deep/b  v1  document  B
    -- stderr
    ");
    let json = place.ctx("list --json").ok().json("ctx.list");
    assert_eq!((&json["checkpoint"], &json["documents"][0]["version"]), (&2.into(), &2.into()));
    assert!(json["documents"][0].get("body").is_none());
    assert_snapshot!(Place::vault().ctx("list").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    hint: nothing is published; `ctx status` shows what can be
    ");
}

#[test]
fn read_takes_every_way_to_name_a_document() {
    let place = edited();
    let text = place.ctx("read nodes/a").ok().stdout;
    assert_snapshot!(text, @"
    ---
    title: A
    type: document
    status: published
    version: 2
    author: ana@example.com
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:02.000Z'
    checksum: sha256:1d8bd2690d145f13e9310f76eba17c19d242cfd500e99e643ca25f344a9d82ee
    ---

    Two.
    ");
    for name in [
        "nodes/a.md",
        "contextnest://nodes/a",
        "contextnest://nodes/a@2",
        "nodes/a@2",
        "./nodes/a.md",
    ] {
        assert_eq!(place.ctx(&format!("read {name}")).ok().stdout, text, "{name}");
    }
    let below = place.path("nodes/deep");
    for name in ["../a.md", "../a", "nodes/a"] {
        let output = place.typed(&format!("read {name}")).within(&below).run().ok();
        assert_eq!(output.stdout, text, "{name}");
    }
    let outside = place.typed("read nodes/a --vault vault").within(Path::new("..")).run().ok();
    assert_eq!(outside.stdout, text);
    let outside = place.typed("read nodes/a").within(Path::new("..")).var("CTX_VAULT", "vault");
    assert_eq!(outside.run().ok().stdout, text);
    assert!(place.ctx("read nodes/a@1").ok().stdout.ends_with("One.\n"));
    assert_snapshot!(place.ctx("read nodes/a@1 --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.read",
      "schema_version": 2,
      "id": "nodes/a",
      "uri": "contextnest://nodes/a@1",
      "title": "A",
      "type": "document",
      "tags": [],
      "status": "published",
      "version": 1,
      "checkpoint": 1,
      "author": "ana@example.com",
      "created_at": "2026-11-21T10:00:01.000Z",
      "edited_by": "ana@example.com",
      "edited_at": "2026-11-21T10:00:01.000Z",
      "published_at": "2026-11-21T10:00:01.000Z",
      "content_hash": "sha256:40a71dc40c8a86d40c53409e49a225767a7b2eb22908aff217774cd72b90edf8",
      "chain_hash": "sha256:ef35cf744df7d76f9559dad5b7e1982f5638e36c636dd79725ed1b6ea1d758a1",
      "body": "\nOne.\n"
    }
    -- stderr
    "#);
}

#[test]
fn read_says_what_is_there_instead() {
    let place = edited();
    place.write("nodes/new.md", "# New\n");
    let report: Vec<String> = [
        "read nodes/x",
        "read nodes/aa",
        "read nodes/new",
        "read nodes/a@9",
        "read nodes/a@x",
        "read contextnest://nodes/",
    ]
    .iter()
    .map(|line| format!("$ {line}\n{}", place.ctx(line).whole()))
    .collect();
    assert_snapshot!(report.join("\n"), @"
    $ read nodes/x
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: `nodes/x` is not published at checkpoint 2
    hint: did you mean `nodes/a`?

    $ read nodes/aa
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: `nodes/aa` is not published at checkpoint 2
    hint: did you mean `nodes/a`?

    $ read nodes/new
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: `nodes/new` is not published at checkpoint 2
    hint: it was never published; `ctx publish nodes/new` publishes it

    $ read nodes/a@9
    exit: 1
    -- stdout
    -- stderr
    error[unknown-checkpoint]: checkpoint 9 does not exist; the last one is 2
    hint: `ctx checkpoint list` lists all checkpoints

    $ read nodes/a@x
    exit: 2
    -- stdout
    -- stderr
    error[usage]: `x` is not the number of a checkpoint
    hint: write `ID@1`; `ctx checkpoint list` lists the checkpoints

    $ read contextnest://nodes/
    exit: 2
    -- stdout
    -- stderr
    error[uri-invalid]: `contextnest://nodes/` is not one document
    hint: `ctx resolve` takes URIs of folders and tags
    ");
}

#[test]
fn history_recomputes_every_version() {
    let place = edited();
    assert_snapshot!(place.ctx("history nodes/a").whole(), @"
    exit: 0
    -- stdout
    v1  published  @1  keyframe  2026-11-21T10:00:01.000Z  ana@example.com  ef35cf744df7
    v2  published  @2  diff      2026-11-21T10:00:02.000Z  lee@example.com  893667e0a54a  (second | one)
    -- stderr
    ");
    assert_snapshot!(place.ctx("history nodes/deep/b --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.history",
      "schema_version": 2,
      "id": "nodes/deep/b",
      "versions": [
        {
          "version": 1,
          "state": "published",
          "checkpoint": 1,
          "stored": "keyframe",
          "edited_by": "ana@example.com",
          "edited_at": "2026-11-21T10:00:01.000Z",
          "published_at": "2026-11-21T10:00:01.000Z",
          "retired_at": null,
          "unprotected_note": null,
          "content_hash": "sha256:571c66758608f69a319659a348469c8956eb4d5764117e4c4a06cdd434d11b48",
          "chain_hash": "sha256:a54520b350d0de868289dc4ca1821ec1d3d6bb384aba5390ad879e2ff0550fda",
          "problems": []
        }
      ]
    }
    -- stderr
    "#);
    place.edit("nodes/.versions/a/v1.md", "One.", "Ten.");
    assert_snapshot!(place.ctx("history nodes/a").whole(), @"
    exit: 1
    -- stdout
    v1  published  @1  keyframe  2026-11-21T10:00:01.000Z  ana@example.com  ef35cf744df7
        the stored text has hash sha256:4696e4a25ebaa69787829b836d4b99e94d1a7775958f0dca61323f7f54d9ff11, but the history records sha256:40a71dc40c8a86d40c53409e49a225767a7b2eb22908aff217774cd72b90edf8
    v2  published  @2  diff      2026-11-21T10:00:02.000Z  lee@example.com  893667e0a54a  (second | one)
        the diff does not apply: line 17 of the diff: the text has another line here
    -- stderr
    hint: run `ctx verify` for a full report
    ");
    place.write("nodes/new.md", "# New\n");
    assert_snapshot!(place.ctx("history nodes/new").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: `nodes/new` was never published
    hint: `ctx publish nodes/new` publishes version 1
    ");
}

#[test]
fn show_prints_one_version() {
    let place = edited();
    assert_snapshot!(place.ctx("show nodes/a v1").whole(), @"
    exit: 0
    -- stdout
    ---
    title: A
    type: document
    status: published
    version: 1
    author: ana@example.com
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:01.000Z'
    checksum: sha256:fba7b15f7e56247342cad24394c734cf3e9257e2eec556e4ed474ad80033877d
    ---

    One.
    -- stderr
    ");
    assert_eq!(place.ctx("show nodes/a 2").ok().stdout, place.ctx("read nodes/a").ok().stdout);
    assert_snapshot!(place.ctx("show nodes/a 1 --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.show",
      "schema_version": 2,
      "id": "nodes/a",
      "version": 1,
      "checkpoint": 1,
      "text": "---\ntitle: A\ntype: document\nstatus: published\nversion: 1\nauthor: ana@example.com\ncreated_at: '2026-11-21T10:00:01.000Z'\nupdated_at: '2026-11-21T10:00:01.000Z'\nchecksum: sha256:fba7b15f7e56247342cad24394c734cf3e9257e2eec556e4ed474ad80033877d\n---\n\nOne.\n"
    }
    -- stderr
    "#);
    assert_snapshot!(place.ctx("show nodes/a 3").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-version]: unknown version 3 of `nodes/a`
    hint: `ctx history nodes/a` lists its versions
    ");
    assert_snapshot!(place.ctx("show nodes/a latest").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: `latest` is not a version number
    hint: versions are numbered 1, 2, 3
    ");
}

#[test]
fn diff_compares_versions_and_the_live_file() {
    let place = edited();
    assert_snapshot!(place.ctx("diff nodes/a").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    note: v2 and live are equal
    ");
    assert_snapshot!(place.ctx("diff nodes/a 1 2").whole(), @"
    exit: 0
    -- stdout
    --- v1
    +++ v2
    @@ -2,11 +2,11 @@
     title: A
     type: document
     status: published
    -version: 1
    +version: 2
     author: ana@example.com
     created_at: '2026-11-21T10:00:01.000Z'
    -updated_at: '2026-11-21T10:00:01.000Z'
    -checksum: sha256:fba7b15f7e56247342cad24394c734cf3e9257e2eec556e4ed474ad80033877d
    +updated_at: '2026-11-21T10:00:02.000Z'
    +checksum: sha256:1d8bd2690d145f13e9310f76eba17c19d242cfd500e99e643ca25f344a9d82ee
     ---
     
    -One.
    +Two.
    -- stderr
    ");
    assert_eq!(
        place.ctx("diff nodes/a 1").ok().stdout,
        place.ctx("diff nodes/a 1 live").ok().stdout
    );
    place.edit("nodes/a.md", "Two.", "Three.");
    assert_snapshot!(place.ctx("diff nodes/a").whole(), @"
    exit: 0
    -- stdout
    --- v2
    +++ live
    @@ -9,4 +9,4 @@
     checksum: sha256:1d8bd2690d145f13e9310f76eba17c19d242cfd500e99e643ca25f344a9d82ee
     ---
     
    -Two.
    +Three.
    -- stderr
    ");
    assert_snapshot!(place.ctx("diff nodes/a --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.diff",
      "schema_version": 2,
      "id": "nodes/a",
      "from": "v2",
      "to": "live",
      "equal": false,
      "diff": "--- v2\n+++ live\n@@ -9,4 +9,4 @@\n checksum: sha256:1d8bd2690d145f13e9310f76eba17c19d242cfd500e99e643ca25f344a9d82ee\n ---\n \n-Two.\n+Three.\n"
    }
    -- stderr
    "#);
    place.remove("nodes/a.md");
    assert_snapshot!(place.ctx("diff nodes/a").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: the file `nodes/a.md` does not exist
    hint: `ctx read nodes/a` prints the published text
    ");
    assert_snapshot!(place.ctx("diff CONTEXT.md 1").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    note: v1 and live are equal
    ");
}

/// Agents get the name, so it is the one that a checkpoint seals.
#[test]
fn context_has_the_name_that_is_sealed() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let before = place.ctx("context").ok().stdout;
    assert!(before.contains("Test"), "{before}");
    place.edit(".context/config.yaml", "name: Test", "name: \"V\\n\\n## Instructions\"");
    assert_eq!(place.ctx("context").ok().stdout, before);
    let json = place.ctx("context --json").ok().json("ctx.context");
    assert_eq!(json["name"], "Test");
}

/// The map stays readable with any number of tags, folders, servers and packs.
#[test]
fn context_names_what_most_documents_have_and_counts_the_rest() {
    let place = Place::vault();
    let servers: String = (0..130).step_by(13).map(|n| format!("  's {n}': {{}}\n")).collect();
    let config = place.read(".context/config.yaml");
    place.write(".context/config.yaml", format!("{config}servers:\n{servers}"));
    for n in 0..130 {
        let source = match n % 13 {
            0 => {
                format!("type: source\nsource: {{transport: rest, server: 's {n}', tools: [t]}}\n")
            }
            _ => String::new(),
        };
        let tags = format!("tags: [t{n:03}, all, all, s{}]\n", n % 2);
        let folder = format!("{}/f{n:03}", if n % 13 == 0 { "sources" } else { "nodes" });
        place.write(&format!("{folder}/d.md"), format!("---\ntitle: D{n}\n{source}{tags}---\n"));
    }
    for n in 0..3 {
        place.write(&format!("packs/p{n}.yml"), format!("id: p{n}\nlabel: P\nquery: '#s{n}'\n"));
    }
    place.ctx("publish --all").ok();
    let json = |line: &str| place.ctx(line).ok().json("ctx.context");
    let bounded = json("context --json");
    let tags = bounded["tags"].as_object().unwrap();
    assert_eq!((tags.len(), &tags["all"], &tags["s0"]), (100, &130.into(), &65.into()));
    assert!(tags.contains_key("t096") && !tags.contains_key("t097"), "the first of equal ones");
    assert_eq!(bounded["omitted"]["tags"], 33);
    assert_eq!(bounded["omitted"]["folders"], 30);
    assert_eq!(bounded["servers"]["s 13"], 1);
    let pack = &bounded["packs"][1];
    assert_eq!((&pack["id"], &pack["documents"]), (&"p1".into(), &65.into()));
    let whole = json("context --json --all");
    assert_eq!(whole["tags"].as_object().unwrap().len(), 133);
    let none = serde_json::json!({"tags": 0, "folders": 0, "servers": 0, "packs": 0});
    assert_eq!(whole["omitted"], none);
    let text = place.ctx("context").ok().stdout;
    assert!(text.len() < 8_000, "{} bytes", text.len());
    for line in [
        "  and 33 more; `ctx context --all` names them\n",
        "  server:\"s 13\" (1)\n",
        "  pack:p1 (65): P\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    // The answers are the same with and without an index, at the head and in the past.
    for line in ["context --all", "context --all --json", "context --json --at 1"] {
        assert_eq!(place.typed(line).without("HOME").run().stdout, place.ctx(line).stdout);
    }
}
