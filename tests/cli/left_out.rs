//! Files that are not documents stop nothing: they are left out, with the reason.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use crate::harness::Place;

#[test]
fn publish_all_publishes_the_rest_of_odd_files() {
    let place = Place::vault();
    place.write("nodes/a.md", "# A\n");
    place.write("outside/deep.md", "# Deep\n");
    place.write("nodes/b.yml.md", "# B\n");
    place.write("nodes/e\u{301}.md", "# E\n");
    place.write("packs/p\u{ad}.yml", "id: p\nlabel: P\nquery: '#ok'\n");
    symlink("a.md", place.path("nodes/link.md")).unwrap();
    symlink("nowhere.md", place.path("nodes/broken.md")).unwrap();
    symlink("../outside", place.path("nodes/shared")).unwrap();
    symlink("../outside/deep.md", place.path("nodes/picture.png")).unwrap();
    symlink("p.yml", place.path("packs/q.yml")).unwrap();
    place.remove("CONTEXT.md");
    symlink("nodes/a.md", place.path("CONTEXT.md")).unwrap();
    assert_snapshot!(place.ctx("publish --all").whole(), @r"
    exit: 0
    -- stdout
    checkpoint 1 with 2 versions, 2026-11-21T10:00:01.000Z
      new  .context/config.yaml  v1
      new  nodes/a               v1
      left out: nodes/b.yml.md (`nodes/b.yml` is reserved for a file that is not a document; rename the file)
      left out: nodes/broken.md (a symbolic link, which is not followed)
      left out: nodes/é.md (the name is not in Unicode normal form C; rename the file to `nodes/é`)
      left out: nodes/link.md (a symbolic link, which is not followed)
      left out: nodes/shared (a symbolic link to a folder, which is not followed)
      left out: packs/p\u{ad}.yml (an id holds no invisible character, but `packs/p\u{ad}.yml` has U+00AD (soft hyphen) at character 8; the id without such characters is `packs/p.yml`)
      left out: packs/q.yml (a symbolic link, which is not followed)
      left out: CONTEXT.md (a symbolic link, which is not followed)
    -- stderr
    ");
    assert_snapshot!(place.ctx("status --ignored").whole(), @r"
    exit: 0
    -- stdout
    Checkpoint 1 of 2026-11-21T10:00:01.000Z
    Published and unchanged: 1 document

    Left out, not documents (next: ctx validate):
      nodes/b.yml.md
          `nodes/b.yml` is reserved for a file that is not a document
      nodes/broken.md
          it is a symbolic link, which is not followed
      nodes/é.md
          the name is not in Unicode normal form C; rename the file to `nodes/é`
      nodes/link.md
          it is a symbolic link, which is not followed

    Governance files changed (next: ctx publish --changed):
      CONTEXT.md (unreadable)
      packs/p\u{ad}.yml (new)

    Markdown files that are no documents:
      nodes/b.yml.md (`nodes/b.yml` is reserved for a file that is not a document; rename the file)
      nodes/broken.md (a symbolic link, which is not followed)
      nodes/é.md (the name is not in Unicode normal form C; rename the file to `nodes/é`)
      nodes/link.md (a symbolic link, which is not followed)
      nodes/shared (a symbolic link to a folder, which is not followed)
      outside/deep.md (outside of nodes/ and sources/)
    -- stderr
    ");
    let json = place.ctx("publish --all --json").json("ctx.publish");
    let first = &json["left_out"][0];
    assert!(first["id"].is_null(), "{first}");
    assert_eq!(
        (&first["path"], &first["reason_code"]),
        (&"nodes/b.yml.md".into(), &"name-invalid".into())
    );
    place.ctx("verify").ok();
}

#[test]
fn publish_all_refuses_a_published_document_that_became_a_link() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.remove("nodes/a.md");
    symlink("b.md", place.path("nodes/a.md")).unwrap();
    let refused = place.ctx("publish --all").exits(1).stderr;
    assert!(
        refused.contains("error[symbolic-link]") && refused.contains("--skip-invalid"),
        "{refused}"
    );
}

#[test]
fn init_names_linked_folders_and_counts_documents_only() {
    let place = Place::new();
    place.write("notes/a.md", "# A\n");
    std::fs::create_dir(place.home().join("wiki")).unwrap();
    symlink(place.home().join("wiki"), place.path("wiki")).unwrap();
    symlink("a.md", place.path("notes/b.md")).unwrap();
    assert_snapshot!(place.ctx("init").whole(), @"
    exit: 0
    -- stdout
    vault `vault` in [ROOT]/vault
      created .context/.gitignore
      created .gitattributes
      created CONTEXT.md
      created .context/config.yaml
    -- stderr
    note: left out: notes/b.md (a symbolic link, which is not followed)
    note: left out: wiki (a symbolic link to a folder, which is not followed)
    next: `ctx publish --all --dry-run` shows 1 document to publish
    ");
}
