//! A folder of Markdown that was not written for `ctx`: every byte of each body stays.

use std::collections::BTreeMap;

use insta::assert_snapshot;

use crate::harness::{Place, repository};

fn folder() -> Place {
    let place = Place::copy_of(&repository().join("fixtures/foreign"));
    let mut large = "---\ntitle: Large\ntags: [large]\n---\n\n# Large\n".to_owned();
    for n in 0..25_000 {
        large.push_str(&format!("Line {n} of a long reference, é and \t tab.\n"));
    }
    place.write("reference/large.md", large);
    place.write("posts/latin-1.md", b"# Caf\xe9\n");
    place
}

/// Returns the bytes after the frontmatter, or all bytes if there is no frontmatter.
fn body(bytes: &[u8]) -> &[u8] {
    let start = if bytes.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    let mut at = start;
    for (n, line) in bytes[start..].split_inclusive(|b| *b == b'\n').enumerate() {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let is_mark = text.strip_suffix(b"\r").unwrap_or(text) == b"---";
        at += line.len();
        match (n, is_mark) {
            (0, false) => return &bytes[start..],
            (0, true) | (_, false) => {}
            (_, true) => return &bytes[at..],
        }
    }
    &bytes[start..]
}

/// Returns the lines of a frontmatter.
fn fields(bytes: &[u8]) -> Vec<String> {
    let head = &bytes[..bytes.len() - body(bytes).len()];
    String::from_utf8_lossy(head)
        .trim_start_matches('\u{feff}')
        .lines()
        .map(|l| l.trim_end().to_owned())
        .collect()
}

#[test]
fn an_adopted_folder_is_published_without_touching_a_body() {
    let place = folder();
    assert!(place.bytes("reference/large.md").len() > 1 << 20);
    let before = place.tree();
    place.ctx("init --name Foreign").ok();
    for (path, bytes) in &before {
        assert_eq!(place.bytes(path), *bytes, "{path}");
    }
    let refused = place.ctx("publish --all");
    assert_snapshot!(refused.whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      posts/latin-1.md
        error[not-utf8]: not UTF-8 at byte 5 (convert the file to UTF-8)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    for (path, bytes) in &before {
        assert_eq!(place.bytes(path), *bytes, "{path}");
    }
    assert!(!place.has(".versions"));
    assert_snapshot!(place.ctx("publish --all --skip-invalid").whole(), @"
    exit: 1
    -- stdout
    checkpoint 1 with 20 versions, 2026-11-21T10:00:02.000Z
      new  .context/config.yaml            v1
      new  CONTEXT.md                      v1
      new  guides/bom                      v1
      new  guides/bom-crlf-no-frontmatter  v1
      new  guides/crlf                     v1
      new  guides/no-final-newline         v1
      new  guides/no-frontmatter           v1
      new  guides/only-heading             v1
      new  guides/tabs                     v1
      new  posts/dates                     v1
      new  posts/emoji                     v1
      new  posts/lone-cr                   v1
      new  posts/setext                    v1
      new  posts/tags-string               v1
      new  posts/type-post                 v1
      new  reference/aliases               v1
      new  reference/dashes                v1
      new  reference/empty-frontmatter     v1
      new  reference/large                 v1
      new  reference/quoted-keys           v1
      left out: reference/comments (it says `status: draft`; name it to publish it; `ctx publish --all --drafts` includes drafts)
      left out: reference/version-string (it says `status: archived`; name it to publish it)
    -- stderr
    warning[tag-grammar]: posts/type-post, line 13: tag `focus time` selects nothing (a tag has letters, digits, `_` and `-`, not digits alone, and `/` between its levels)
    error[not-utf8]: posts/latin-1.md: not UTF-8 at byte 5 (convert the file to UTF-8)
    ");
    place.remove("posts/latin-1.md");
    assert_snapshot!(place.ctx("publish reference/comments reference/version-string").ok().stderr, @"
    warning[field-foreign]: reference/version-string, line 3: `version` has a value that ctx did not write (publishing replaces it, and keeps the old value under `metadata.original`)
    warning[not-for-use]: reference/version-string, line 4: `status: archived` marks the text as not for use (`ctx publish --changed` leaves the file out; delete the line, or name the document, to publish it)
    ");
    for (path, old) in before.iter().filter(|(path, _)| *path != "posts/latin-1.md") {
        let new = place.bytes(path);
        assert_eq!(body(&new), body(old), "{path}");
        let kept = fields(&new);
        let ours = [
            "title",
            "type",
            "status",
            "version",
            "author",
            "created_at",
            "updated_at",
            "checksum",
        ];
        for field in fields(old) {
            let is_ours = ours
                .iter()
                .any(|name| field.split(':').next().is_some_and(|key| key.trim() == *name));
            assert!(is_ours || kept.contains(&field), "{path} lost {field:?}: {kept:#?}");
        }
    }
    let verify = place.ctx("verify").ok();
    assert!(verify.stdout.starts_with("intact, anchored to checkpoint 2\n"), "{}", verify.stdout);
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 0
    -- stdout
    nothing to publish
      unchanged: 20 documents
    -- stderr
    ");
    let resolved = place.ctx("resolve status:published --json --bodies").ok().json("ctx.resolve");
    let documents = resolved["documents"].as_array().unwrap();
    assert_eq!(documents.len(), before.len() - 1);
    let served: BTreeMap<&str, &str> = documents
        .iter()
        .map(|d| (d["id"].as_str().unwrap(), d["body"].as_str().unwrap()))
        .collect();
    assert_eq!(served["reference/large"].lines().count(), 25_002);
    assert_snapshot!(place.ctx("list").whole(), @r#"
    exit: 0
    -- stdout
    guides/bom                      v1  document  Printing from the lab
    guides/bom-crlf-no-frontmatter  v1  document  Borrowing a projector
    guides/crlf                     v1  document  Setting up a workstation
    guides/no-final-newline         v1  document  Cleaning the coffee machine
    guides/no-frontmatter           v1  document  Working late
    guides/only-heading             v1  document  Parking
    guides/tabs                     v1  document  Exporting the address list
    posts/dates                     v1  document  The new bicycle shed
    posts/emoji                     v1  document  Café menu ☕ 日本語のメニュー
    posts/lone-cr                   v1  document  Notes from an old terminal
    posts/setext                    v1  document  Moving house, a checklist
    posts/tags-string               v1  document  Moving the backups
    posts/type-post                 v1  post      A week without meetings
    reference/aliases               v1  document  Telephone tree
    reference/comments              v1  document  Door codes
    reference/dashes                v1  document  Before --- and after
    reference/empty-frontmatter     v1  document  Fire drill
    reference/large                 v1  document  Large
    reference/quoted-keys           v1  document  It's the "other" entrance
    reference/version-string        v1  document  Interface of the badge reader
    -- stderr
    "#);
}

#[test]
fn an_edit_of_a_large_document_costs_a_small_diff() {
    let place = folder();
    place.remove("posts/latin-1.md");
    place.ctx("init --name Foreign").ok();
    place.ctx("publish --all").ok();
    let history = "reference/.versions/large/history.yaml";
    let before = place.bytes(history).len();
    place.edit("reference/large.md", "Line 12000 ", "Line twelve thousand ");
    place.ctx("publish --changed").ok();
    let grown = place.bytes(history).len() - before;
    assert!(grown < 2000, "{grown}");
    place.ctx("verify").ok();
}
