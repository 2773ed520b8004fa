//! `ctx status` and `ctx validate`: the states of files, and their problems.

use insta::assert_snapshot;

use crate::harness::Place;

/// Returns a vault with one document in each state.
fn mixed() -> Place {
    let place = Place::published(&[
        ("nodes/changed", "# C\n"),
        ("nodes/draft", "# D\n"),
        ("nodes/gone", "# G\n"),
        ("nodes/retired", "# R\n"),
        ("nodes/same", "# S\n"),
        ("nodes/broken", "# B\n"),
    ]);
    place.ctx("retire nodes/retired").ok();
    place.edit("nodes/changed.md", "# C\n", "# C\n\nx\n");
    place.edit("nodes/draft.md", "status: published", "status: draft");
    place.edit("nodes/broken.md", "title: B", "title: [B]");
    place.edit("CONTEXT.md", "# Test", "# T");
    place.remove("nodes/gone.md");
    place.write("nodes/new.md", "# New\n");
    place.write("nodes/odd.md", "---\ntitle: a: b\n---\n");
    place.write("nodes/warned.md", "---\ntitle: W\ntype: glosary\n---\n");
    place
}

#[test]
fn status_says_how_many_entries_a_limit_leaves_out() {
    let place = Place::vault();
    for name in ["a", "b", "c"] {
        place.write(&format!("nodes/{name}.md"), "# N\n");
    }
    assert_snapshot!(place.ctx("status -n 1").whole(), @"
    exit: 0
    -- stdout
    Nothing is published yet
    Published and unchanged: 0 documents

    Never published (next: ctx publish ID, or ctx publish --all):
      nodes/a.md
      … 2 more

    Governance files changed (next: ctx publish --changed):
      .context/config.yaml (new)
      CONTEXT.md (new)
    -- stderr
    note: 2 more; `-n N` prints more of them
    ");
}

#[test]
fn status_names_every_standing_and_the_next_command() {
    let place = mixed();
    let before = place.tree();
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 2 of 2026-11-21T10:00:02.000Z
    Published and unchanged: 1 document

    Invalid, cannot be published (next: ctx validate):
      nodes/broken.md (v1)
          `title` is not a text
      nodes/odd.md
          the frontmatter is not valid YAML: line 2, column 9: mapping values are not allowed in this context

    Changed since publication (next: ctx publish --changed):
      nodes/changed.md (v1)

    Published, but the live file is missing (next: ctx restore ID, or ctx retire ID):
      nodes/gone.md (v1)

    Published, with a draft of the next version (next: ctx publish ID):
      nodes/draft.md (v1)

    Never published (next: ctx publish ID, or ctx publish --all):
      nodes/new.md
      nodes/warned.md

    Retired (next: ctx restore ID, then ctx publish ID, to bring one back):
      nodes/retired.md

    Governance files changed (next: ctx publish --changed):
      CONTEXT.md (changed)
    -- stderr
    ");
    assert_snapshot!(place.ctx("status --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.status",
      "schema_version": 2,
      "checkpoint": 2,
      "documents": [
        {
          "path": "nodes/broken.md",
          "id": "nodes/broken",
          "state": "invalid",
          "version": 1,
          "problems": [
            {
              "code": "title-invalid",
              "severity": "error",
              "line": 2,
              "message": "`title` is not a text",
              "hint": "write `title: ...` on one line"
            }
          ]
        },
        {
          "path": "nodes/changed.md",
          "id": "nodes/changed",
          "state": "changed",
          "version": 1,
          "problems": []
        },
        {
          "path": "nodes/draft.md",
          "id": "nodes/draft",
          "state": "draft",
          "version": 1,
          "reason_code": "draft",
          "problems": []
        },
        {
          "path": "nodes/gone.md",
          "id": "nodes/gone",
          "state": "missing",
          "version": 1,
          "problems": [],
          "hints": [
            "`ctx restore nodes/gone` writes the file again",
            "`ctx retire nodes/gone` withdraws the document"
          ]
        },
        {
          "path": "nodes/new.md",
          "id": "nodes/new",
          "state": "unpublished",
          "version": null,
          "problems": []
        },
        {
          "path": "nodes/odd.md",
          "id": "nodes/odd",
          "state": "invalid",
          "version": null,
          "problems": [
            {
              "code": "frontmatter-yaml",
              "severity": "error",
              "message": "the frontmatter is not valid YAML: line 2, column 9: mapping values are not allowed in this context",
              "hint": "fix the line; a text with `: ` or `#` in it needs quotes"
            }
          ]
        },
        {
          "path": "nodes/retired.md",
          "id": "nodes/retired",
          "state": "retired",
          "version": null,
          "problems": []
        },
        {
          "path": "nodes/same.md",
          "id": "nodes/same",
          "state": "published",
          "version": 1,
          "problems": []
        },
        {
          "path": "nodes/warned.md",
          "id": "nodes/warned",
          "state": "unpublished",
          "version": null,
          "problems": [
            {
              "code": "type-unknown",
              "severity": "warning",
              "line": 3,
              "message": "type `glosary` is read as document",
              "hint": "did you mean `glossary`?"
            }
          ]
        }
      ],
      "governance": [
        {
          "id": "CONTEXT.md",
          "state": "changed"
        }
      ]
    }
    -- stderr
    "#);
    assert_eq!(place.tree(), before);
}

#[test]
fn status_of_an_empty_and_of_a_clean_vault_is_short() {
    assert_snapshot!(Place::vault().ctx("status").whole(), @"
    exit: 0
    -- stdout
    Nothing is published yet
    Published and unchanged: 0 documents

    Governance files changed (next: ctx publish --changed):
      .context/config.yaml (new)
      CONTEXT.md (new)
    -- stderr
    ");
    assert_snapshot!(Place::published(&[("nodes/a", "# A\n")]).ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 1 of 2026-11-21T10:00:01.000Z
    Published and unchanged: 1 document
    Nothing to publish
    -- stderr
    ");
}

#[test]
fn validate_checks_every_live_file() {
    let place = mixed();
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 1
    -- stdout
    error[title-invalid]: nodes/broken.md:2: `title` is not a text
      hint: write `title: ...` on one line
    error[frontmatter-yaml]: nodes/odd.md: the frontmatter is not valid YAML: line 2, column 9: mapping values are not allowed in this context
      hint: fix the line; a text with `: ` or `#` in it needs quotes
    warning[type-unknown]: nodes/warned.md:3: type `glosary` is read as document
      hint: did you mean `glossary`?
    8 documents checked: 2 errors, 1 warning
    -- stderr
    ");
    assert_snapshot!(place.ctx("validate nodes/warned nodes/same --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.validate",
      "schema_version": 2,
      "checked": 2,
      "errors": 0,
      "warnings": 1,
      "files": [
        {
          "path": "nodes/warned.md",
          "problems": [
            {
              "code": "type-unknown",
              "severity": "warning",
              "line": 3,
              "message": "type `glosary` is read as document",
              "hint": "did you mean `glossary`?"
            }
          ]
        }
      ]
    }
    -- stderr
    "#);
    assert_snapshot!(place.ctx("validate nodes/gone").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: the file `nodes/gone.md` does not exist
    hint: `ctx read nodes/gone` prints the published text
    ");
    assert_snapshot!(place.ctx("validate nodes/nope").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: no document has the id `nodes/nope`
    hint: did you mean `nodes/new`?
    ");
}

#[test]
fn validate_looks_at_the_configuration_too() {
    let place = Place::vault();
    place.write(".context/config.yaml", "version: 1\ngovernence: governed\n");
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 0
    -- stdout
    warning[config]: .context/config.yaml:2: unknown key `governence`; did you mean `governance`?
      hint: fix the line; spec/vault.md lists the keys
    0 documents checked: 0 errors, 1 warning
    -- stderr
    ");
    place.write(".context/config.yaml", "version: 1\nlayout: flat\n");
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 1
    -- stdout
    error[config]: .context/config.yaml:2: expected `structured` or `obsidian`
      hint: fix the line; spec/vault.md lists the keys
    0 documents checked: 1 error, 0 warnings
    -- stderr
    ");
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[config-invalid]: `.context/config.yaml` cannot be read: line 2, column 9: expected `structured` or `obsidian`
    hint: fix the line in .context/config.yaml; `ctx read .context/config.yaml` prints the published version
    ");
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[config-invalid]: `.context/config.yaml` cannot be read: line 2, column 9: expected `structured` or `obsidian`
    hint: fix the line in .context/config.yaml; `ctx read .context/config.yaml` prints the published version
    ");
    // An auditor can still verify.
    place.ctx("verify").ok();
}

/// The status cache is in the user's caches, and hides no edit.
#[test]
fn status_records_what_it_compared_and_notices_an_edit_that_puts_length_and_time_back() {
    let place = Place::published(&[("nodes/a", "# A\n\nOne.\n"), ("nodes/b", "# B\n")]);
    let (clean, before) = (place.ctx("status").ok().stdout, place.tree());
    let recorded = || {
        let caches = std::fs::read_dir(place.home().join(".cache/contextnest")).unwrap();
        let folders = caches.map(|folder| folder.unwrap().path().join("status/compared"));
        folders.filter_map(|path| std::fs::read(path).ok()).map(|bytes| bytes.len()).sum::<usize>()
    };
    assert_eq!(recorded(), 0, "the files are too young");
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    assert_eq!(place.ctx("status").ok().stdout, clean);
    assert!(recorded() > 0);
    assert_eq!(place.tree(), before, "nothing of it is in the vault");
    let path = place.path("nodes/a.md");
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    place.edit("nodes/a.md", "One.", "Two.");
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_times(std::fs::FileTimes::new().set_modified(modified)).unwrap();
    let altered = place.ctx("status").ok().stdout;
    assert!(altered.contains("Changed since publication"), "{altered}");
    assert_eq!(place.typed("status").without("HOME").run().stdout, altered);
    place.ctx("publish --changed").ok();
    assert!(place.ctx("status").ok().stdout.contains("unchanged: 2 documents"));
    // A version that was damaged later is noticed too.
    place.edit("nodes/.versions/b/v1.md", "# B", "# C");
    assert!(place.ctx("status").ok().stdout.contains("Withheld"));
}

/// Returns a vault with two published documents; the first one was renamed by hand.
fn renamed() -> Place {
    let place = Place::published(&[("nodes/a", "# A\n\nOne.\n"), ("nodes/b", "# B\n")]);
    std::fs::create_dir(place.path("nodes/deep")).unwrap();
    std::fs::rename(place.path("nodes/a.md"), place.path("nodes/deep/c.md")).unwrap();
    place
}

#[test]
fn a_missing_file_is_shown_with_both_ways_out() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.remove("nodes/a.md");
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 1 of 2026-11-21T10:00:01.000Z
    Published and unchanged: 1 document

    Published, but the live file is missing (next: ctx restore ID, or ctx retire ID):
      nodes/a.md (v1)
    -- stderr
    ");
    let json = place.ctx("status --json").ok().json("ctx.status");
    assert_snapshot!(json["documents"][0].to_string(), @r#"{"hints":["`ctx restore nodes/a` writes the file again","`ctx retire nodes/a` withdraws the document"],"id":"nodes/a","path":"nodes/a.md","problems":[],"state":"missing","version":1}"#);
    assert_snapshot!(place.ctx("publish nodes/a").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/a.md
        error[document-missing]: the live file is missing (`ctx restore nodes/a` writes the published text into the file again, `ctx retire nodes/a` withdraws the document)
    hint: nothing was written; fix the documents, or leave them out
    ");
}

#[test]
fn a_file_that_was_moved_is_recognised_by_its_text() {
    let place = renamed();
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 1 of 2026-11-21T10:00:01.000Z
    Published and unchanged: 1 document

    Published, but the live file is missing (next: ctx restore ID, or ctx retire ID):
      nodes/a.md (v1)
          its text is in another file; `ctx mv nodes/a nodes/deep/c` records the move

    Never published (next: ctx publish ID, or ctx publish --all):
      nodes/deep/c.md
          it has the text of a document whose file is missing; `ctx mv nodes/a nodes/deep/c` records the move
    -- stderr
    ");
    let json = place.ctx("status --json").ok().json("ctx.status");
    let moved: Vec<String> = json["documents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            format!(
                "{} {} to {} from {}",
                row["id"], row["state"], row["moved_to"], row["moved_from"]
            )
        })
        .collect();
    assert_snapshot!(moved.join("\n"), @r#"
    "nodes/a" "missing" to "nodes/deep/c" from null
    "nodes/b" "published" to null from null
    "nodes/deep/c" "unpublished" to null from "nodes/a"
    "#);
    // An edit of the frontmatter, or other line ends, do not hide the rename.
    let text = place.read("nodes/deep/c.md");
    place.write("nodes/deep/c.md", text.replace("title: A", "title: B").replace('\n', "\r\n"));
    assert!(place.ctx("status").ok().stdout.contains("`ctx mv nodes/a nodes/deep/c`"));
    place.edit("nodes/deep/c.md", "One.", "Two.");
    assert!(!place.ctx("status").ok().stdout.contains("ctx mv"));
}

#[test]
fn a_file_that_may_be_one_of_several_is_not_guessed() {
    let place = renamed();
    let text = place.read("nodes/deep/c.md");
    place.write("nodes/d.md", text.replace("title: A", "title: D"));
    // Only one of the files has the whole text.
    assert!(place.ctx("status").ok().stdout.contains("`ctx mv nodes/a nodes/deep/c`"));
    place.write("nodes/d.md", text);
    assert!(!place.ctx("status").ok().stdout.contains("ctx mv"));
    place.ctx("retire nodes/a").ok();
    assert!(!place.ctx("status").ok().stdout.contains("ctx mv"));
}

#[test]
fn status_offers_no_restore_where_the_history_is_damaged() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.remove("nodes/a.md");
    place.remove("nodes/.versions/a");
    place.remove("nodes/b.md");
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 1 of 2026-11-21T10:00:01.000Z
    Published and unchanged: 0 documents

    Withheld, because the history does not verify (next: ctx verify):
      nodes/a.md (v1)
          its history is missing
          its file is missing too; `ctx verify` reports what is missing. Put the history back from git or a backup, then run `ctx restore nodes/a`

    Published, but the live file is missing (next: ctx restore ID, or ctx retire ID):
      nodes/b.md (v1)
    -- stderr
    ");
    let json = place.ctx("status --json").ok().json("ctx.status");
    assert_snapshot!(serde_json::to_string_pretty(&json["documents"][0]).unwrap(), @r#"
    {
      "hints": [
        "its file is missing too; `ctx verify` reports what is missing. Put the history back from git or a backup, then run `ctx restore nodes/a`"
      ],
      "id": "nodes/a",
      "path": "nodes/a.md",
      "problems": [],
      "state": "withheld",
      "version": 1,
      "withheld": "its history is missing"
    }
    "#);
}

#[test]
fn status_offers_to_restore_a_deleted_governance_file() {
    let place = Place::vault();
    place.ctx("pack add p --query type:document").ok();
    place.ctx("publish --all").ok();
    place.remove("packs/p.yml");
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 1 of 2026-11-21T10:00:02.000Z
    Published and unchanged: 0 documents

    Governance files deleted (next: ctx restore FILE, or ctx retire FILE):
      packs/p.yml (deleted)
    -- stderr
    ");
    let json = place.ctx("status --json").ok().json("ctx.status");
    assert_snapshot!(serde_json::to_string_pretty(&json["governance"]).unwrap(), @r#"
    [
      {
        "hints": [
          "`ctx restore packs/p.yml` writes the file again",
          "`ctx retire packs/p.yml` withdraws it"
        ],
        "id": "packs/p.yml",
        "state": "deleted"
      }
    ]
    "#);
    place.ctx("restore packs/p.yml").ok();
    assert!(place.ctx("status").ok().stdout.contains("Published and unchanged"));
}

#[test]
fn status_offers_no_move_for_a_folder_that_differs_only_in_case() {
    let place = Place::published(&[("nodes/l/a", "# A\n\nOne.\n")]);
    let text = place.bytes("nodes/l/a.md");
    place.remove("nodes/l/a.md");
    place.write("nodes/L/a.md", &text);
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 1 of 2026-11-21T10:00:01.000Z
    Published and unchanged: 0 documents

    Published, but the live file is missing (next: ctx restore ID, or ctx retire ID):
      nodes/l/a.md (v1)
          rename `nodes/L/a.md` back to `nodes/l/a.md`: ids that differ only in case or Unicode form share one history on some systems

    Never published (next: ctx publish ID, or ctx publish --all):
      nodes/L/a.md
          rename `nodes/L/a.md` back to `nodes/l/a.md`: ids that differ only in case or Unicode form share one history on some systems
    -- stderr
    ");
}

#[test]
fn a_file_that_publishing_all_leaves_out_is_published_by_its_id() {
    let place = Place::vault();
    place.write("nodes/a.md", "---\ntitle: A\ndraft: true\n---\n\nOne.\n");
    assert_snapshot!(place.ctx("status").ok().stdout, @"
    Nothing is published yet
    Published and unchanged: 0 documents

    Never published (next: ctx publish ID):
      nodes/a.md (`draft: true`: only by its id)

    Governance files changed (next: ctx publish --changed):
      .context/config.yaml (new)
      CONTEXT.md (new)
    ");
    place.write("nodes/b.md", "# B\n");
    assert_snapshot!(place.ctx("status").ok().stdout, @"
    Nothing is published yet
    Published and unchanged: 0 documents

    Never published (next: ctx publish ID, or ctx publish --all):
      nodes/a.md (`draft: true`: only by its id)
      nodes/b.md

    Governance files changed (next: ctx publish --changed):
      .context/config.yaml (new)
      CONTEXT.md (new)
    ");
}

#[test]
fn status_names_the_commands_that_bring_a_retired_document_back() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.ctx("retire nodes/a").ok();
    let status = place.ctx("status").ok().stdout;
    let next = "next: ctx restore ID, then ctx publish ID, to bring one back";
    assert!(status.contains(next), "{status}");
    place.ctx("restore nodes/a").ok();
    place.ctx("publish nodes/a").ok();
    assert!(place.ctx("read nodes/a").ok().stdout.contains("# A"));
}
