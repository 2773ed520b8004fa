//! `ctx publish`: which documents it selects, and which it refuses.

use insta::assert_snapshot;

use crate::harness::Place;

#[test]
fn all_includes_drafts_on_request_and_skips_what_did_not_change() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.edit("nodes/b.md", "# B\n", "# B\n\nx\n");
    place.edit("nodes/b.md", "status: published", "status: draft");
    place.write("nodes/c.md", "---\nstatus: draft\n---\n# C\n");
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 0
    -- stdout
    nothing to publish
      unchanged: nodes/a
      left out: nodes/b (its live file is a draft)
      left out: nodes/c (it says `status: draft`; name it to publish it; `ctx publish --all --drafts` includes drafts)
    -- stderr
    ");
    assert_snapshot!(place.ctx("publish --all --drafts").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:03.000Z
      changed  nodes/b  v2
      new      nodes/c  v1
      unchanged: nodes/a
    -- stderr
    ");
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 0
    -- stdout
    nothing to publish
      unchanged: 3 documents
    -- stderr
    ");
    assert_snapshot!(place.ctx("publish nodes/a").whole(), @"
    exit: 0
    -- stdout
    nothing to publish
      unchanged: nodes/a
    -- stderr
    ");
}

#[test]
fn changed_takes_published_documents_that_do_not_say_draft() {
    let place =
        Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n"), ("nodes/c", "# C\n")]);
    place.edit("nodes/a.md", "# A\n", "# A\n\nx\n");
    place.edit("nodes/b.md", "status: published", "status: draft");
    place.remove("nodes/c.md");
    place.write("nodes/new.md", "# New\n");
    assert_snapshot!(place.ctx("publish --changed").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 1 version, 2026-11-21T10:00:02.000Z
      changed  nodes/a  v2
      left out: nodes/b (its live file is a draft)
      left out: nodes/c (its file is missing)
    -- stderr
    ");
}

#[test]
fn ids_are_taken_as_files_and_uris_too_and_each_once() {
    let place = Place::vault();
    place.write("nodes/a.md", "# A\n");
    place.write("nodes/b.md", "# B\n");
    assert_snapshot!(place.ctx("publish nodes/a nodes/a.md contextnest://nodes/b").whole(), @"
    exit: 0
    -- stdout
    checkpoint 1 with 4 versions, 2026-11-21T10:00:01.000Z
      new  .context/config.yaml  v1
      new  CONTEXT.md            v1
      new  nodes/a               v1
      new  nodes/b               v1
    -- stderr
    ");
}

#[test]
fn all_or_nothing_lists_every_invalid_document() {
    let place = Place::published(&[("nodes/good", "# Good\n")]);
    place.edit("nodes/good.md", "# Good\n", "# Good\n\nx\n");
    place.write("nodes/title.md", format!("---\ntitle: {}\ntype: post\n---\n", "x".repeat(201)));
    place.write("nodes/yaml.md", "---\ntitle: a\ntags: [a\n---\n");
    place.write("nodes/latin.md", b"# Caf\xe9\n");
    place.write("nodes/open.md", "---\ntitle: a\n");
    let before = place.tree();
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 4 files refused
      nodes/latin.md
        error[not-utf8]: not UTF-8 at byte 5 (convert the file to UTF-8)
      nodes/open.md
        error[frontmatter-unclosed]: line 1 opens a frontmatter with `---` that no line `---` closes (close the block with a line `---`, or begin the file with an empty line if the dashes are a thematic break)
      nodes/title.md
        error[title-invalid]: line 2: `title` has 201 characters; at most 200 are allowed (shorten it)
      nodes/yaml.md
        error[frontmatter-yaml]: the frontmatter is not valid YAML: line 3, column 7: unclosed bracket '[' (fix the line; a text with `: ` or `#` in it needs quotes)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    assert_eq!(place.tree(), before);
    let error = place.ctx("publish --all --json").exits(1).json("ctx.error");
    assert_eq!(error["documents"].as_array().unwrap().len(), 4);
}

#[test]
fn skip_invalid_publishes_the_rest_and_says_no() {
    let place = Place::published(&[("nodes/good", "# Good\n")]);
    place.edit("nodes/good.md", "# Good\n", "# Good\n\nx\n");
    place.write("nodes/latin.md", b"# Caf\xe9\n");
    assert_snapshot!(place.ctx("publish --all --skip-invalid").whole(), @"
    exit: 1
    -- stdout
    checkpoint 2 with 1 version, 2026-11-21T10:00:02.000Z
      changed  nodes/good  v2
    -- stderr
    error[not-utf8]: nodes/latin.md: not UTF-8 at byte 5 (convert the file to UTF-8)
    ");
    assert_eq!(place.bytes("nodes/latin.md"), b"# Caf\xe9\n");
    let json = place.ctx("publish --all --skip-invalid --json").exits(1).json("ctx.publish");
    assert_eq!(json["refused"][0]["path"], "nodes/latin.md");
    place.ctx("verify").ok();
}

#[test]
fn arguments_that_choose_nothing_are_misuse() {
    let place = Place::vault();
    assert_snapshot!(place.ctx("publish").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: no document to publish is named
    hint: `--changed` publishes changes to published documents, `--all` also new documents
    hint: or name documents or folders; `ctx status` lists all that differ
    ");
    assert_snapshot!(place.ctx("publish --all nodes/a").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error: the argument '--all' cannot be used with '[ID|FOLDER]...'

    Usage: ctx publish --all [ID|FOLDER]...

    For more information, try '--help'.
    ");
    assert_snapshot!(place.ctx("publish nodes/nothing").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: no document has the id `nodes/nothing`
    hint: `ctx list` lists published documents, `ctx status` lists new and changed ones
    ");
    place.write("nodes/a.md", "# A\n");
    assert_snapshot!(place.ctx("publish nodes/a@1").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: no document has the id `nodes/a@1`
    hint: did you mean `nodes/a`?
    ");
}

#[test]
fn an_unknown_id_names_the_nearest() {
    let place = Place::published(&[("nodes/returns", "# R\n")]);
    assert_snapshot!(place.ctx("publish nodes/retruns").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: no document has the id `nodes/retruns`
    hint: did you mean `nodes/returns`?
    ");
}

#[test]
fn a_published_document_whose_file_is_gone_is_not_published_by_name() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.remove("nodes/a.md");
    assert_snapshot!(place.ctx("publish nodes/a").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/a.md
        error[document-missing]: the live file is missing (`ctx restore nodes/a` writes the published text into the file again, `ctx retire nodes/a` withdraws the document)
    hint: nothing was written; fix the documents, or leave them out
    ");
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 0
    -- stdout
    nothing to publish
      left out: nodes/a (its file is missing)
    -- stderr
    ");
}

#[test]
fn ids_that_differ_only_in_case_are_refused() {
    let place = Place::published(&[("nodes/returns", "# R\n")]);
    place.write("nodes/Returns.md", "# R\n");
    let before = place.tree();
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/Returns.md
        error[id-collision]: `nodes/Returns` and `nodes/returns` differ only in case or Unicode form (choose another name; ids of retired documents and of submissions are taken, too, because their histories stay)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    assert_eq!(place.tree(), before);
    assert_snapshot!(place.ctx("publish --all --skip-invalid").whole(), @"
    exit: 1
    -- stdout
    nothing to publish
      unchanged: nodes/returns
    -- stderr
    error[id-collision]: nodes/Returns.md: `nodes/Returns` and `nodes/returns` differ only in case or Unicode form (choose another name; ids of retired documents and of submissions are taken, too, because their histories stay)
    ");
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 1
    -- stdout
    error[id-collision]: nodes/returns.md: its id differs from that of `nodes/Returns.md` only in case or Unicode form
      hint: rename one of the files
    2 documents checked: 1 error, 0 warnings
    -- stderr
    ");
}

#[test]
fn retired_documents_are_left_out_of_all_and_come_back_by_name() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.ctx("retire nodes/a").ok();
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 0
    -- stdout
    nothing to publish
      unchanged: nodes/b
      left out: nodes/a (it is retired)
    -- stderr
    ");
    assert_snapshot!(place.ctx("publish nodes/a").whole(), @"
    exit: 0
    -- stdout
    checkpoint 3 with 1 version, 2026-11-21T10:00:04.000Z
      restored  nodes/a  v3
    -- stderr
    ");
    assert_snapshot!(place.ctx("history nodes/a").whole(), @"
    exit: 0
    -- stdout
    v1  published  @1  keyframe  2026-11-21T10:00:01.000Z  ana@example.com  91884a421a74
    v2  retired    @2  diff      2026-11-21T10:00:02.000Z  ana@example.com  ff9c1493b8b7
    v3  published  @3  diff      2026-11-21T10:00:04.000Z  ana@example.com  6b5bfbdaf286
    -- stderr
    ");
    place.ctx("verify").ok();
}

#[test]
fn a_root_file_is_a_document_once_it_has_a_frontmatter() {
    let place = Place::vault();
    place.write("notes.md", "# Notes\n");
    place.write("plan.md", "---\ntitle: Plan\n---\n");
    place.write("README.md", "---\ntitle: Read me\n---\n");
    place.write("nodes/INDEX.md", "# Index\n");
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 0
    -- stdout
    checkpoint 1 with 3 versions, 2026-11-21T10:00:01.000Z
      new  .context/config.yaml  v1
      new  CONTEXT.md            v1
      new  plan                  v1
      left out: notes (in the root, without frontmatter)
    -- stderr
    ");
}

#[test]
fn excluded_files_and_hidden_folders_are_no_documents() {
    let place = Place::vault();
    place.write(".context/config.yaml", "version: 1\nexclude: ['nodes/drafts/**']\n");
    place.write("nodes/drafts/a.md", "# A\n");
    place.write("nodes/.hidden/b.md", "# B\n");
    place.write("nodes/node_modules/c.md", "# C\n");
    place.write("nodes/d.md", "# D\n");
    place.ctx("publish --all").ok();
    assert_eq!(place.ctx("resolve status:published --ids").ok().lines(), ["nodes/d"]);
}
