//! Files that are not documents: they are left out, with the reason, and stop no command.

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
      left out: nodes/é.md (the letters of the name are decomposed (Unicode NFD); rename the file to the composed form `nodes/é` (NFC), which looks the same)
      left out: nodes/link.md (a symbolic link, which is not followed)
      left out: nodes/shared (a symbolic link to a folder, which is not followed)
      left out: packs/p\u{ad}.yml (ids cannot contain invisible characters, but `packs/p\u{ad}.yml` has U+00AD (soft hyphen) at character 8; the id without such characters is `packs/p.yml`)
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
          the letters of the name are decomposed (Unicode NFD); rename the file to the composed form `nodes/é` (NFC), which looks the same
      nodes/link.md
          it is a symbolic link, which is not followed

    Governance files changed (next: ctx publish --changed):
      CONTEXT.md (unreadable)
      packs/p\u{ad}.yml (new)

    Markdown files that are not documents:
      nodes/b.yml.md (`nodes/b.yml` is reserved for a file that is not a document; rename the file)
      nodes/broken.md (a symbolic link, which is not followed)
      nodes/é.md (the letters of the name are decomposed (Unicode NFD); rename the file to the composed form `nodes/é` (NFC), which looks the same)
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
fn a_published_document_that_became_a_link_is_left_out_unless_it_is_named() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.remove("nodes/a.md");
    symlink("b.md", place.path("nodes/a.md")).unwrap();
    place.edit("nodes/b.md", "# B\n", "# B\n\nmore\n");
    for line in ["publish --all --dry-run --json", "publish --changed --json"] {
        let report = place.ctx(line).ok().json("ctx.publish");
        assert_eq!(report["left_out"][0]["id"], "nodes/a", "{line}");
        assert_eq!(report["left_out"][0]["reason_code"], "symbolic-link", "{line}");
        assert_eq!(report["left_out"].as_array().unwrap().len(), 1, "{line}");
        assert_eq!(report["versions"][0]["id"], "nodes/b", "{line}");
    }
    let refused = place.ctx("publish nodes/a").exits(1).stderr;
    assert!(refused.contains("error[symbolic-link]"), "{refused}");
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

const COPY: &str = "nodes/returns.sync-conflict-20240131-123456-ABCDEFG";

#[test]
fn publish_all_leaves_out_copies_of_sync_programs() {
    let place = Place::published(&[("nodes/returns", "# Returns\n\nWithin 30 days.\n")]);
    let copy = "# Returns\n\nWithin 45 days.\n";
    place.write(&format!("{COPY}.md"), copy);
    place.write("nodes/returns (Ana's conflicted copy 2024-01-31).md", copy);
    place.write("nodes/gone (conflicted copy 2024-01-31 123456).md", "# Gone\n");
    let pack = "id: p\nlabel: P\nquery: '#ok'\n";
    place.write("packs/p.yml", pack);
    place.write("packs/p (conflicted copy 2024-01-31 123456).yml", pack);
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:02.000Z
      new  nodes/gone (conflicted copy 2024-01-31 123456)  v1
      new  packs/p.yml                                     v1
      unchanged: nodes/returns
      left out: nodes/returns (Ana's conflicted copy 2024-01-31) (a copy of `nodes/returns.md` that a sync program wrote; name it to publish it)
      left out: nodes/returns.sync-conflict-20240131-123456-ABCDEFG (a copy of `nodes/returns.md` that Syncthing wrote; name it to publish it)
      left out: packs/p (conflicted copy 2024-01-31 123456).yml (a copy of `packs/p.yml` that a sync program wrote; name it to publish it)
    -- stderr
    ");
    assert!(!place.ctx("resolve type:document --bodies").ok().stdout.contains("45 days"));
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 0
    -- stdout
    warning[copy]: nodes/returns (Ana's conflicted copy 2024-01-31).md: it is a copy of `nodes/returns.md` that a sync program wrote
      hint: merge the two files, and delete the copy
    warning[copy]: nodes/returns.sync-conflict-20240131-123456-ABCDEFG.md: it is a copy of `nodes/returns.md` that Syncthing wrote
      hint: merge the two files, and delete the copy
    warning[pack-unmatched]: packs/p (conflicted copy 2024-01-31 123456).yml:3: the query selects no live document
      hint: correct the tags, filters and paths of the query, or give a file a matching field, such as `tags: [policy]`
    warning[pack-twice]: packs/p.yml:1: `packs/p (conflicted copy 2024-01-31 123456).yml` has the id `p`, too
      hint: give one of them another id
    warning[pack-unmatched]: packs/p.yml:3: the query selects no live document
      hint: correct the tags, filters and paths of the query, or give a file a matching field, such as `tags: [policy]`
    4 documents checked: 0 errors, 5 warnings
    -- stderr
    ");
    // Naming the file publishes it, and then it is an ordinary document.
    place.args(&["publish", COPY]).run().ok();
    place.edit(&format!("{COPY}.md"), "45 days", "60 days");
    let published = place.ctx("publish --all").ok().stdout;
    assert!(published.contains(&format!("changed  {COPY}")), "{published}");
}

#[test]
fn publish_all_leaves_out_a_copy_of_a_document_whose_file_is_gone() {
    let place = Place::published(&[("nodes/returns", "# Returns\n\nWithin 30 days.\n")]);
    let pack = "id: p\nlabel: P\nquery: '#ok'\n";
    place.write("packs/p.yml", pack);
    place.ctx("publish --changed").ok();
    place.remove("nodes/returns.md");
    place.remove("packs/p.yml");
    let copies = [
        "nodes/returns (conflicted copy 2024-01-31)",
        "nodes/returns.sync-conflict-20240131-123456-ABCDEFG",
    ];
    for copy in copies {
        place.write(&format!("{copy}.md"), "# Returns\n\nWithin 45 days.\n");
    }
    place.write("packs/p (conflicted copy 2024-01-31).yml", pack);
    let status = place.ctx("status").ok().stdout;
    assert!(status.contains("next: merge each copy with its original"), "{status}");
    let report = place.ctx("publish --all --json").ok().json("ctx.publish");
    let left = report["left_out"].as_array().unwrap();
    let left = left.iter().filter(|file| file["reason_code"] == "copy");
    let left: Vec<_> = left.map(|file| file["id"].as_str().unwrap()).collect();
    assert_eq!(left, [copies[0], copies[1], "packs/p (conflicted copy 2024-01-31).yml"]);
    assert!(!place.ctx("resolve type:document --bodies").ok().stdout.contains("45 days"));
}

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 12345\n";

#[test]
fn files_that_a_filter_of_git_stores_are_never_published() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.write("nodes/a.md", POINTER);
    place.write("nodes/b.md", b"\0GITCRYPT\0\xff\xfe");
    place.write("nodes/c.md", "/annex/objects/MD5-s1--0\n");
    place.write("nodes/d.md", "# D\n");
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 1 version, 2026-11-21T10:00:02.000Z
      new  nodes/d  v1
      left out: nodes/a (a pointer of Git LFS; `git lfs pull` writes the text)
      left out: nodes/b (a file that git-crypt encrypted; `git-crypt unlock` decrypts it)
      left out: nodes/c (a pointer of git-annex; `git annex get` writes the text)
    -- stderr
    ");
    place.ctx("publish --changed").ok();
    assert!(place.ctx("read nodes/a").ok().stdout.contains("# A"));
    assert_snapshot!(place.ctx("publish nodes/a nodes/b").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 2 files refused
      nodes/a.md
        error[git-filtered]: it is a pointer of Git LFS, not the text (`git lfs pull` writes the text)
      nodes/b.md
        error[git-filtered]: it is a file that git-crypt encrypted, not the text (`git-crypt unlock` decrypts it)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 1
    -- stdout
    error[git-filtered]: nodes/a.md: it is a pointer of Git LFS, not the text
      hint: `git lfs pull` writes the text
    error[git-filtered]: nodes/b.md: it is a file that git-crypt encrypted, not the text
      hint: `git-crypt unlock` decrypts it
    error[git-filtered]: nodes/c.md: it is a pointer of git-annex, not the text
      hint: `git annex get` writes the text
    4 documents checked: 3 errors, 0 warnings
    -- stderr
    ");
    place.write("nodes/a.md", "# A\n");
    place.write("nodes/b.md", "# B\n");
    place.write("CONTEXT.md", POINTER);
    let refused = place.ctx("publish --all").exits(1);
    assert!(refused.stderr.contains("git-filtered"), "{}", refused.stderr);
}

#[test]
fn publish_warns_of_names_of_copies_with_nearly_the_same_text() {
    let place = Place::published(&[
        ("nodes/returns", "# Returns\n\nWithin 30 days.\n"),
        ("nodes/chapter", "# One\n\nIt was a dark and stormy night.\n"),
    ]);
    place.write("nodes/returns 2.md", "# Returns\n\nWithin 45 days.\n");
    place.write("nodes/returns - Copy.md", "# Returns\n\nWithin 30 days.\n");
    place.write("nodes/returns-Anas-MacBook.md", "# Returns\n\nWithin 30 days.\n");
    place.write("nodes/returns-EU.md", "# Returns\n\nWithin 45 days.\n");
    place.write("nodes/chapter 2.md", "# Two\n\nThe sun rose late.\n");
    let published = place.ctx("publish --all").ok();
    for (name, is_copy) in [
        ("returns 2", true),
        ("returns - Copy", true),
        ("returns-Anas-MacBook", true),
        ("returns-EU", false),
        ("chapter 2", false),
    ] {
        assert!(published.stdout.contains(&format!("new  nodes/{name} ")), "{}", published.stdout);
        let warning = format!("warning[copy]: nodes/{name}:");
        assert_eq!(published.stderr.contains(&warning), is_copy, "{name}: {}", published.stderr);
    }
}

#[test]
fn a_second_block_of_fields_is_reported_and_never_becomes_the_title() {
    let place = Place::vault();
    place.write(
        "nodes/a.md",
        "---\ntags: [x]\n---\n\n---\ntitle: Old\nstatus: x\n---\n# Real {#real}\n",
    );
    let published = place.ctx("publish nodes/a").ok();
    assert!(
        published.stderr.contains("warning[frontmatter-second]: nodes/a, line 5"),
        "{}",
        published.stderr
    );
    let text = place.read("nodes/a.md");
    assert!(text.contains("\ntitle: Real\n"), "{text}");
    let read = place.ctx("read nodes/a#real").ok().stdout;
    assert!(read.contains("# Real {#real}"), "{read}");
}

#[test]
fn names_that_windows_cannot_hold_are_a_warning() {
    let place = Place::vault();
    for name in ["a: b", "aux", "com1.notes", "x./c", "q?"] {
        place.write(&format!("nodes/{name}.md"), "# A\n");
    }
    place.write("nodes/auxiliary.md", "# A\n");
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 0
    -- stdout
    warning[name-windows]: nodes/a: b.md: Windows does not allow the name `a: b`: it contains `:`
      hint: rename it; git on Windows cannot check it out
    warning[name-windows]: nodes/aux.md: Windows does not allow the name `aux`: it is the name of a device
      hint: rename it; git on Windows cannot check it out
    warning[name-windows]: nodes/com1.notes.md: Windows does not allow the name `com1.notes`: it is the name of a device
      hint: rename it; git on Windows cannot check it out
    warning[name-windows]: nodes/q?.md: Windows does not allow the name `q?`: it contains `?`
      hint: rename it; git on Windows cannot check it out
    warning[name-windows]: nodes/x./c.md: Windows does not allow the name `x.`: it ends in a dot or a blank
      hint: rename it; git on Windows cannot check it out
    6 documents checked: 0 errors, 5 warnings
    -- stderr
    ");
    place.ctx("publish --all").ok();
}

#[test]
fn verify_and_status_report_a_copy_as_a_copy() {
    let body = format!("# Policy\n\n{}\n", "Return goods within 30 days. ".repeat(10));
    let place = Place::published(&[("nodes/policy", &body), ("nodes/db", "# Databases\n")]);
    let text = place.read("nodes/policy.md");
    place.write("nodes/Copy of policy.md", &text);
    place.write("nodes/policy-anas-imac.md", &text);
    // One file has a text of its own, and one is from a merge tool.
    place.write("nodes/db_BACKUP_2024.md", "# How the backup of 2024 was made\n");
    place.write("nodes/policy_BACKUP_4711.md", &text);
    let verified = place.ctx("verify").exits(1).stdout;
    for mark in [
        "it is a copy of `nodes/policy.md` that Google Drive wrote",
        "its text is nearly that of `nodes/policy.md`",
        "merge the two and delete it",
    ] {
        assert!(verified.contains(mark), "{mark}: {verified}");
    }
    let status = place.ctx("status").ok().stdout;
    let hint = "merge the two files, and delete the copy";
    assert!(status.contains("nodes/Copy of policy.md (it is a copy of") && status.contains(hint));
    assert!(status.contains("nodes/policy-anas-imac.md (its text is nearly"), "{status}");
    assert!(status.contains("nodes/db_BACKUP_2024.md\n"), "{status}");
    place.remove("nodes/policy-anas-imac.md");
    place.remove("nodes/db_BACKUP_2024.md");
    let status = place.ctx("status").ok().stdout;
    assert!(
        status.contains("(next: merge each copy with its original, and delete it)"),
        "{status}"
    );
    assert!(place.ctx("publish --all").ok().stdout.contains("left out: nodes/policy_BACKUP_4711"));
}
