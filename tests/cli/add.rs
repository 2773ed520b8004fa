//! `ctx add`: a new document, published at once or as a draft.

use insta::assert_snapshot;

use crate::harness::Place;

#[test]
fn a_new_document_is_written_and_published_at_once() {
    let place = Place::vault();
    let add =
        "add nodes/policies/returns --title Returns --tags policy,#retail --body 'Within 30 days.'";
    assert_snapshot!(place.ctx(add).whole(), @"
    exit: 0
    -- stdout
    checkpoint 1 with 3 versions, 2026-11-21T10:00:01.000Z
      new  .context/config.yaml    v1
      new  CONTEXT.md              v1
      new  nodes/policies/returns  v1
    -- stderr
    ");
    assert_snapshot!(place.read("nodes/policies/returns.md"), @"
    ---
    title: Returns
    type: document
    tags: [policy, retail]
    status: published
    author: ana@example.com
    version: 1
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:01.000Z'
    checksum: sha256:c7c6f013e8620d86647b2fe511f0fa6878ad98f55133a76acc52a66abdd7c094
    ---
    Within 30 days.
    ");
    assert_snapshot!(place.read("nodes/policies/.versions/returns/history.yaml"), @"
    keyframe_interval: 10
    versions:
      - version: 1
        keyframe: true
        edited_by: ana@example.com
        edited_at: '2026-11-21T10:00:01.000Z'
        published_at: '2026-11-21T10:00:01.000Z'
        content_hash: sha256:5c81d8b20ed9a40ffe3568fc42e07c6647576b0691ea1956e4b753b17af1f260
        chain_hash: sha256:a4e2c4754508ff0431c93484b1605390f7386180feb37533be7acc03dc37f542
    ");
    assert_snapshot!(place.read(".versions/checkpoints.jsonl"), @r#"{"at":"2026-11-21T10:00:01.000Z","checkpoint":1,"checkpoint_hash":"sha256:0363c7fa4ec28ba8cab747354a03573212e71acf06fdaa44a924007cf4d3e6bd","removed":[],"set":{".context/config.yaml":[1,"sha256:7ddb1cef5f59f6e25be8c63d596218975a871335eb62928694425884d957e2e9"],"CONTEXT.md":[1,"sha256:0b291b9ba29b1131ceb13cccce2b81057c957ce1a74f8e873ade2a075a0feff6"],"nodes/policies/returns":[1,"sha256:a4e2c4754508ff0431c93484b1605390f7386180feb37533be7acc03dc37f542"]},"triggered_by":"nodes/policies/returns"}"#);
    place.ctx("verify").ok();
}

#[test]
fn a_draft_is_only_a_file() {
    let place = Place::vault();
    let add = place.typed("add nodes/call.md --draft --type prompt --body -");
    assert_snapshot!(add.stdin("# Call\n\ntext without end").run().whole(), @"
    exit: 0
    -- stdout
    created nodes/call.md as a draft
    -- stderr
    next: edit it, then run `ctx publish nodes/call`
    ");
    assert_snapshot!(place.read("nodes/call.md"), @"
    ---
    type: prompt
    status: draft
    author: ana@example.com
    ---
    # Call

    text without end
    ");
    assert!(!place.has(".versions"));
    assert_snapshot!(place.ctx("add nodes/other --draft --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.add",
      "schema_version": 2,
      "id": "nodes/other",
      "path": "nodes/other.md",
      "status": "draft",
      "live_hash": "sha256:7e2e7492616db1e2903425670a797cbf46f43431741d1a9b2c67b16e792a8f0e"
    }
    -- stderr
    "#);
}

#[test]
fn json_is_that_of_a_publication() {
    let place = Place::vault();
    assert_snapshot!(place.ctx("add nodes/a --body A -m first --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.add",
      "schema_version": 2,
      "dry_run": false,
      "checkpoint": {
        "checkpoint": 1,
        "at": "2026-11-21T10:00:01.000Z",
        "triggered_by": "nodes/a",
        "checkpoint_hash": "sha256:be80b2221357ce2747d1a1662d6db132b27308a87e9e026e51a644796ffeac21"
      },
      "versions": [
        {
          "id": ".context/config.yaml",
          "change": "new",
          "version": 1,
          "chain_hash": "sha256:7ddb1cef5f59f6e25be8c63d596218975a871335eb62928694425884d957e2e9",
          "warnings": []
        },
        {
          "id": "CONTEXT.md",
          "change": "new",
          "version": 1,
          "chain_hash": "sha256:0b291b9ba29b1131ceb13cccce2b81057c957ce1a74f8e873ade2a075a0feff6",
          "warnings": []
        },
        {
          "id": "nodes/a",
          "change": "new",
          "version": 1,
          "chain_hash": "sha256:d040d5ca4898f8889953de751e135ead231ac3ebe0b648b5a1a3d1e9f1eb35b9",
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
}

#[test]
fn an_existing_file_is_never_touched() {
    let place = Place::vault();
    place.write("nodes/a.md", "mine");
    assert_snapshot!(place.ctx("add nodes/a --body theirs").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[exists]: `nodes/a.md` exists already
    hint: `ctx publish nodes/a` publishes the file as it is; or edit it first, or choose another id
    ");
    assert_snapshot!(place.ctx("add nodes/a --draft --body theirs").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[exists]: `nodes/a.md` exists already
    hint: `ctx publish nodes/a` publishes the file as it is; or edit it first, or choose another id
    ");
    assert_eq!(place.read("nodes/a.md"), "mine");
    let refused = place.ctx("add nodes/a.md").exits(1);
    assert!(refused.stderr.contains("`ctx publish nodes/a` publishes"), "{}", refused.stderr);
    place.ctx("publish nodes/a").ok();
}

#[test]
fn a_body_that_brings_its_own_frontmatter_keeps_it() {
    let place = Place::vault();
    let body = "---\n# ours\nowner: kim\ntags: [a]\n---\n# Call\n";
    place.typed("add nodes/call --body -").stdin(body).run().ok();
    assert_snapshot!(place.read("nodes/call.md"), @"
    ---
    # ours
    owner: kim
    tags: [a]
    type: document
    status: published
    author: ana@example.com
    title: Call
    version: 1
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:01.000Z'
    checksum: sha256:8d20016f78818a65f3e3162e5cdeef6cd4d8ed9ea3e003a54e6c96b0e8512e85
    ---
    # Call
    ");
}

#[test]
fn a_place_without_documents_is_refused() {
    let place = Place::vault();
    assert_snapshot!(place.ctx("add other/x --body x").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[misplaced]: `other/x.md` is not a place for documents in the layout of this vault
    hint: documents belong in `nodes/` or `sources/`; see `layout` and `exclude` in .context/config.yaml
    ");
    assert_snapshot!(place.ctx("add README --body x").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[misplaced]: `README.md` is not a place for documents in the layout of this vault
    hint: documents belong in `nodes/` or `sources/`; see `layout` and `exclude` in .context/config.yaml
    ");
    assert_snapshot!(place.ctx("add nodes/../x --body x").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[id-invalid]: an id is a path of names: `..` is not a name
    hint: an id is a path in the vault without `.md`, such as `nodes/policies/returns`
    ");
    assert_snapshot!(place.ctx("add nodes/x.yml --body x").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[id-invalid]: `nodes/x.yml` is reserved for a file that is not a document
    hint: an id is a path in the vault without `.md`, such as `nodes/policies/returns`
    ");
    assert_snapshot!(place.ctx("add nodes/x --type promtp --body x").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: unknown type `promtp`
    hint: did you mean `prompt`?
    ");
    assert_snapshot!(place.ctx("add nodes/x --tags 1st --body x").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: `1st` is not a tag
    hint: a tag is a letter, then letters, digits, `_` and `-`
    ");
    assert!(!place.has("nodes/x.md"));
}

#[test]
fn add_writes_nothing_if_the_text_cannot_be_published() {
    let place = Place::vault();
    let before = place.tree();
    assert_snapshot!(place.ctx("add nodes/x --type source --body x").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/x.md
        error[source-invalid]: line 2: a source node needs a `source` block (add `source:` with transport and tools)
    hint: nothing was written; fix the documents, or leave them out
    ");
    assert_snapshot!(place.typed("add nodes/x --body -").stdin(b"a\xff").run().whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: standard input is not UTF-8 at byte 1
    hint: convert the file to UTF-8
    ");
    assert_eq!(place.tree(), before);
}
