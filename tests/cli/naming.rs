//! How arguments name documents, and edits that began before the last publication.

use insta::assert_snapshot;

use crate::harness::Place;

#[test]
fn no_file_takes_the_place_of_a_pin() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let pinned = place.ctx("read nodes/a@1").ok().stdout;
    place.write("nodes/a@1.md", "# Other\n");
    place.ctx("publish nodes/a@1").ok();
    // `ctx` does not guess which of the two is meant.
    assert_snapshot!(place.ctx("read nodes/a@1").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: `nodes/a@1` is the id of a document, and can also mean `nodes/a` at checkpoint 1
    hint: name one of them by its URI: `ctx read 'contextnest://nodes/a%401'` reads the document, `ctx read contextnest://nodes/a@1` the checkpoint
    ");
    assert_eq!(place.ctx("read contextnest://nodes/a@1").ok().stdout, pinned);
    assert!(place.ctx("read nodes/a%401@2").ok().stdout.contains("# Other"));
    assert!(place.ctx("read contextnest://nodes/a%401").ok().stdout.contains("# Other"));
    place.ctx("history nodes/a@1").ok();
}

#[test]
fn a_new_document_is_created_at_its_path() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let nodes = place.path("nodes");
    place.typed("add new.md --body x").within(&nodes).run().ok();
    assert!(place.has("nodes/new.md"));
    place.typed("mv a.md ./b.md").within(&nodes).run().ok();
    assert!(place.has("nodes/b.md") && !place.has("nodes/a.md"));
    place.typed("add nodes/plain --body x").within(&nodes).run().ok();
    assert!(place.has("nodes/plain.md"));
    let outside = place.typed("add ../../x.md --body x").within(&nodes).run().exits(2);
    assert!(outside.stderr.contains("id-invalid"), "{}", outside.stderr);
}

/// The path `nodes/b.md` would name another document than the id.
#[test]
fn no_command_makes_an_id_that_is_the_path_of_another_document() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let before = place.tree();
    place.write("draft.txt", "# B\n");
    for line in [
        "add nodes/b.md.md --body x",
        "mv nodes/a nodes/b.md.md",
        "submit nodes/b.md.md --from draft.txt",
        "submit contextnest://nodes/b.md --from draft.txt",
    ] {
        let refused = place.ctx(line).exits(2);
        let said = "error[id-invalid]: a new id cannot end in `.md`: the path `nodes/b.md` is that of another document";
        assert!(refused.stderr.contains(said), "{line}: {}", refused.whole());
    }
    place.remove("draft.txt");
    assert_eq!(place.tree(), before);
    // An existing file already has such an id.
    place.write("nodes/b.md.md", "# B\n");
    place.ctx("publish nodes/b.md").ok();
    // If a file has that path, the argument names two documents.
    place.write("nodes/b.md", "# Other\n");
    for line in ["publish nodes/b.md", "read nodes/b.md", "history nodes/b.md"] {
        let refused = place.ctx(line).exits(2);
        let said = "`nodes/b.md` is the file of `nodes/b`, and the id of the file `nodes/b.md.md`";
        assert!(refused.stderr.contains(said), "{line}: {}", refused.whole());
    }
    place.ctx("publish nodes/b").ok();
    assert!(place.ctx("read contextnest://nodes/b.md").ok().stdout.contains("# B"));
}

#[test]
fn an_edit_of_an_older_version_does_not_undo_the_newer_one() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let mine = place.read("nodes/a.md") + "mine\n";
    place.write("nodes/a.md", place.read("nodes/a.md") + "colleague\n");
    place.ctx("publish --changed").ok();
    place.write("nodes/a.md", &mine);
    assert_snapshot!(place.ctx("status").ok().stdout, @"
    Checkpoint 2 of 2026-11-21T10:00:02.000Z
    Published and unchanged: 0 documents

    Not edited from the published version (next: as shown for each):
      nodes/a.md (v2)
          the file was edited from version 1, but version 2 is published
          merge what `ctx diff nodes/a 1 2` shows, and set `version` in the file to the published version
    ");
    assert_snapshot!(place.ctx("publish --changed").exits(1).stderr, @"
    error[refused]: 1 file refused
      nodes/a.md
        error[stale]: the file was edited from version 1, but version 2 is published (merge what `ctx diff nodes/a 1 2` shows, and set `version` in the file to the published version)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    assert!(place.ctx("read nodes/a").ok().stdout.contains("colleague"));
    place.write("nodes/a.md", mine.replace("version: 1", "version: 2"));
    place.ctx("publish --changed").ok();
}

#[test]
fn a_file_that_a_publication_left_behind_is_brought_up_to_date() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.edit("nodes/a.md", "# A", "# A, edited");
    let left = place.read("nodes/a.md");
    place.ctx("publish --changed").ok();
    let published = place.read("nodes/a.md");
    // The command died between the commit and the live file.
    place.write("nodes/a.md", &left);
    assert!(place.ctx("status").ok().stdout.contains("Changed since publication"));
    assert_snapshot!(place.ctx("publish nodes/a").exits(0).stdout, @"
    nothing to publish
      live file updated: nodes/a (an earlier publication did not update it)
    ");
    assert_eq!(place.read("nodes/a.md"), published);
    assert!(place.ctx("verify").ok().stdout.starts_with("intact"));
}

#[test]
fn a_folder_in_the_place_of_a_document_is_named_as_one() {
    let place = Place::published(&[("nodes/policies/a", "# A\n")]);
    assert_snapshot!(place.ctx("read nodes/policies/").exits(2).stderr, @"
    error[usage]: `nodes/policies/` is a folder, but a document is expected
    hint: `ctx list contextnest://nodes/policies/` lists the published documents in it
    ");
    assert_snapshot!(place.ctx("history nodes/").exits(2).stderr, @"
    error[usage]: `nodes/` is a folder, but a document is expected
    hint: `ctx list contextnest://nodes/` lists the published documents in it
    ");
}

#[test]
fn a_folder_is_listed_by_its_path_from_here() {
    let place = Place::published(&[("nodes/sub/a", "# A\n"), ("nodes/b", "# B\n")]);
    for (line, from) in [("list nodes/sub/", ""), ("list nodes/sub", ""), ("list sub/", "nodes")] {
        let out = place.typed(line).within(&place.path(from)).run().ok();
        assert_eq!(out.lines().len(), 1, "{line}: {}", out.whole());
        assert!(out.stdout.contains("nodes/sub/a"), "{line}: {}", out.whole());
    }
    let all = place.typed("list ..").within(&place.path("nodes/sub")).run().ok();
    assert_eq!(all.lines().len(), 2, "{}", all.whole());
    assert_eq!(place.ctx("list .").ok().lines().len(), 2);
    let read = place.typed("read sub/").within(&place.path("nodes")).run().exits(2);
    assert!(read.stderr.contains("`ctx list contextnest://nodes/sub/`"), "{}", read.stderr);
}

#[test]
fn commands_refuse_paths_outside_of_the_vault() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A", "# B");
    let root = place.root().display().to_string();
    for line in ["publish ../..", "publish /tmp", "diff /tmp", "diff ../..", "status .."] {
        let out = place.ctx(line).exits(2);
        let outside =
            format!("is outside of the vault\nhint: name a document or a folder in {root}");
        assert!(out.stderr.contains(&outside), "{line}: {}", out.whole());
    }
    place.typed("publish ..").within(&place.path("nodes")).run().ok();
}

#[test]
fn documents_whose_files_are_gone_are_named_beside_the_diffs() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.remove("nodes/a.md");
    assert_snapshot!(place.ctx("diff").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    note: the live files of 1 document are missing: nodes/a; `ctx status` says what to do
    ");
    let json = place.ctx("diff --json").ok().json("ctx.diff.all");
    assert_eq!(json["missing"][0], "nodes/a");
    assert!(place.ctx("diff nodes/b").ok().stderr.contains("are equal"));
}
