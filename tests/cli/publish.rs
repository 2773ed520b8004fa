//! `ctx publish`: its effect on a file, its history, and the log.

use insta::assert_snapshot;

use crate::harness::{Place, Run};

#[test]
fn a_first_publication_seals_documents_and_governance_files() {
    let place = Place::vault();
    place.write("nodes/a.md", "# A\n\nOne.\n");
    place.write("nodes/b.md", "---\ntitle: B\nstatus: draft # for now\n---\nTwo.\n");
    assert_snapshot!(place.ctx("publish --all --drafts -m 'first release'").whole(), @"
    exit: 0
    -- stdout
    checkpoint 1 with 4 versions, 2026-11-21T10:00:01.000Z
      new  .context/config.yaml  v1
      new  CONTEXT.md            v1
      new  nodes/a               v1
      new  nodes/b               v1
    -- stderr
    ");
    assert_snapshot!(place.read("nodes/b.md"), @"
    ---
    title: B
    status: published # for now
    type: document
    version: 1
    author: ana@example.com
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:01.000Z'
    checksum: sha256:e618283df24156efd65bd542fa439f638a2e88264b93d74f99bb8056866304f8
    ---
    Two.
    ");
    assert_snapshot!(place.read("nodes/.versions/b/history.yaml"), @"
    keyframe_interval: 10
    versions:
      - version: 1
        keyframe: true
        edited_by: ana@example.com
        edited_at: '2026-11-21T10:00:01.000Z'
        published_at: '2026-11-21T10:00:01.000Z'
        note: first release
        content_hash: sha256:fa4b466adbc2f00076baec61a573eb743bc2744b20342cf90527964487609f4d
        chain_hash: sha256:bd859bc84136e8abe3ce92269177f914d72b46fdabe062484c418d471c4707e2
    ");
    assert_eq!(place.read("nodes/.versions/b/v1.md"), place.read("nodes/b.md"));
}

#[test]
fn a_second_version_is_a_diff_behind_the_first() {
    let place = Place::published(&[("nodes/a", "# A\n\nOne.\n")]);
    place.edit("nodes/a.md", "One.", "Two.");
    let first = place.read("nodes/.versions/a/history.yaml");
    assert_snapshot!(place.ctx("publish nodes/a -m 'a second' --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.publish",
      "schema_version": 2,
      "dry_run": false,
      "checkpoint": {
        "checkpoint": 2,
        "at": "2026-11-21T10:00:02.000Z",
        "triggered_by": "nodes/a",
        "checkpoint_hash": "sha256:9452d920202f94810360de292db245ff43e177ed5d822c4db661056a7587d348"
      },
      "versions": [
        {
          "id": "nodes/a",
          "change": "changed",
          "version": 2,
          "chain_hash": "sha256:5d3e7a237162ee3bcceaf404183c63360e94bc76e69105176cb05e7973d312e2",
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
    let both = place.read("nodes/.versions/a/history.yaml");
    assert!(both.starts_with(&first));
    assert_snapshot!(&both[first.len()..], @r#"
    - version: 2
      diff: "--- v1\n+++ v2\n@@ -2,12 +2,12 @@\n title: A\n type: document\n status: published\n-version: 1\n+version: 2\n author: ana@example.com\n created_at: '2026-11-21T10:00:01.000Z'\n-updated_at: '2026-11-21T10:00:01.000Z'\n-checksum: sha256:daec7054da1c161d82a54b7d58aa8d91c055c8874fa3f1e231d9088bb2450409\n+updated_at: '2026-11-21T10:00:02.000Z'\n+checksum: sha256:75edd8a780f71a3b5994b08d7d2627111207578ee016611ee1e98592dab34839\n ---\n # A\n \n-One.\n+Two.\n"
      edited_by: ana@example.com
      edited_at: '2026-11-21T10:00:02.000Z'
      published_at: '2026-11-21T10:00:02.000Z'
      note: a second
      content_hash: sha256:1aca6790437a1de4c774c7b0137e85d20cc2c077d0d7e4b0210863f94b237286
      chain_hash: sha256:5d3e7a237162ee3bcceaf404183c63360e94bc76e69105176cb05e7973d312e2
    "#);
    assert!(!place.has("nodes/.versions/a/v2.md"));
}

#[test]
fn the_tenth_version_is_a_full_text_again() {
    let place = Place::published(&[("nodes/a", "# A\n\n0\n")]);
    for n in 1..=10 {
        place.edit("nodes/a.md", &format!("\n{}\n", n - 1), &format!("\n{n}\n"));
        place.ctx("publish nodes/a").ok();
    }
    let kept = |n| place.has(&format!("nodes/.versions/a/v{n}.md"));
    assert_eq!((1..=11).filter(|n| kept(*n)).collect::<Vec<_>>(), [1, 10]);
    assert_eq!(place.read("nodes/.versions/a/v10.md"), place.ctx("show nodes/a 10").ok().stdout);
    assert!(place.ctx("show nodes/a 9").ok().stdout.ends_with("\n8\n"));
    place.ctx("verify").ok();
}

#[test]
fn crlf_and_a_byte_order_mark_stay_in_the_file_and_out_of_the_hash() {
    let place = Place::vault();
    place.write("nodes/a.md", "\u{feff}---\r\ntitle: A\r\n---\r\n\r\nOne.\r\n");
    place.ctx("publish --all").ok();
    let live = place.read("nodes/a.md");
    assert!(live.starts_with("\u{feff}---\r\ntitle: A\r\n"), "{live:?}");
    assert!(live.ends_with("---\r\n\r\nOne.\r\n"), "{live:?}");
    assert_eq!(live.matches('\n').count(), live.matches("\r\n").count());
    let kept = place.read("nodes/.versions/a/v1.md");
    assert!(!kept.contains('\r') && !kept.contains('\u{feff}'));
    let plain = Place::vault();
    plain.write("nodes/a.md", "---\ntitle: A\n---\n\nOne.\n");
    plain.ctx("publish --all").ok();
    assert_eq!(kept, plain.read("nodes/.versions/a/v1.md"));
    // Another line end is not a change.
    place.write("nodes/a.md", &kept);
    assert_snapshot!(place.ctx("publish --changed").whole(), @"
    exit: 0
    -- stdout
    nothing to publish
      unchanged: nodes/a
    -- stderr
    ");
    place.ctx("verify").ok();
}

#[test]
fn a_dry_run_shows_everything_and_writes_nothing() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    place.write("nodes/c.md", "---\ntype: post\nversion: '2.4'\ntags: x, 1st\n---\n# C\n");
    let before = place.tree();
    assert_snapshot!(place.ctx("publish --all --dry-run").whole(), @"
    exit: 0
    -- stdout
    would make checkpoint 2 with 2 versions, 2026-11-21T10:00:02.000Z
      changed  nodes/a  v2
      new      nodes/c  v1
      unchanged: nodes/b
    --- nodes/a.md (now)
    +++ nodes/a.md (published)
    @@ -2,11 +2,11 @@
     title: A
     type: document
     status: published
    -version: 1
    +version: 2
     author: ana@example.com
     created_at: '2026-11-21T10:00:01.000Z'
    -updated_at: '2026-11-21T10:00:01.000Z'
    -checksum: sha256:86121e4a2c2c57bb1d848c6af8fa8c0c44a590d053e2313eef21ea21b294b983
    +updated_at: '2026-11-21T10:00:02.000Z'
    +checksum: sha256:8391527e7ac39ed593803711d4f9b5dc88b447f3db69a09404894365d3e8d17e
     ---
     # A
     
    --- nodes/c.md (now)
    +++ nodes/c.md (published)
    @@ -1,6 +1,15 @@
     ---
     type: post
    -version: '2.4'
    +version: 1
     tags: x, 1st
    +title: C
    +status: published
    +author: ana@example.com
    +created_at: '2026-11-21T10:00:02.000Z'
    +updated_at: '2026-11-21T10:00:02.000Z'
    +checksum: sha256:199b9a836be61ac8de2011a011396aa369d99b83ed14ab6c244f53cdaa28caf1
    +metadata:
    +  original:
    +    version: '2.4'
     ---
     # C
    -- stderr
    warning[field-foreign]: nodes/c, line 3: `version` has a value that ctx did not write (publishing replaces it, and keeps the old value under `metadata.original`)
    warning[tag-grammar]: nodes/c, line 4: tag `1st` selects nothing (a tag is a letter, then letters, digits, `_` and `-`)
    ");
    place.ctx("publish --all --dry-run --json").ok().json("ctx.publish");
    assert_eq!(place.tree(), before);
    assert!(!place.has(".context/local/recovered"));
}

#[test]
fn a_principal_comes_from_the_option_the_environment_git_or_the_author() {
    let by = |run: Run<'_>| {
        run.run().ok();
    };
    let place = Place::vault();
    let last = |id: &str| {
        let history = place.ctx(&format!("history {id} --json")).ok().json("ctx.history");
        history["versions"][0]["edited_by"].as_str().unwrap().to_owned()
    };
    by(place.typed("add nodes/a --body a"));
    assert_eq!(last("nodes/a"), "ana@example.com");
    by(place.typed("add nodes/b --body b --as lee@example.com"));
    assert_eq!(last("nodes/b"), "lee@example.com");
    std::fs::write(place.home().join(".gitconfig"), "[user]\n\temail = git@example.com\n").unwrap();
    by(place.typed("add nodes/c --body c").without("CTX_PRINCIPAL"));
    assert_eq!(last("nodes/c"), "git@example.com");
    std::fs::remove_file(place.home().join(".gitconfig")).unwrap();
    place.write("nodes/d.md", "# D\n");
    let nobody = place.typed("publish nodes/d").without("CTX_PRINCIPAL").run();
    assert_snapshot!(nobody.whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[no-principal]: no principal configured
    hint: pass `--as you@example.com`, set CTX_PRINCIPAL, or run `git config --global user.email you@example.com`
    ");
    by(place.typed("publish nodes/d --author kim@example.com").without("CTX_PRINCIPAL"));
    assert_eq!(last("nodes/d"), "kim@example.com");
    assert!(place.read("nodes/d.md").contains("author: kim@example.com\n"));
}

#[test]
fn an_author_is_set_only_where_there_is_none() {
    let place = Place::vault();
    place.write("nodes/a.md", "---\nauthor: Bo\n---\n# A\n");
    place.write("nodes/b.md", "# B\n");
    place.ctx("publish --all --author 'Kim Lee'").ok();
    assert!(place.read("nodes/a.md").contains("author: Bo\n"));
    assert!(place.read("nodes/b.md").contains("author: Kim Lee\n"));
    let history = place.ctx("history nodes/b --json").ok().json("ctx.history");
    assert_eq!(history["versions"][0]["edited_by"], "ana@example.com");
}

#[test]
fn a_principal_that_would_blur_the_chain_is_refused() {
    let place = Place::vault();
    assert_snapshot!(place.ctx("add nodes/a --body x --as system:seed").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[no-principal]: a principal cannot contain `:` or control characters, but found `:`
    ");
}

#[test]
fn a_clock_that_did_not_move_gives_the_next_millisecond() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A\n", "# A\n\nx\n");
    place.ctx("publish --changed --now 2026-11-21T10:00:01.000Z").ok();
    place.edit("nodes/a.md", "x\n", "y\n");
    place.ctx("publish --changed --now 2026-11-20T20:00:00.000Z").ok();
    let log = place.ctx("checkpoint list --json").ok().json("ctx.checkpoint.list");
    let times: Vec<&str> =
        log["checkpoints"].as_array().unwrap().iter().map(|c| c["at"].as_str().unwrap()).collect();
    assert_snapshot!(times.join("\n"), @"
    2026-11-21T10:00:01.000Z
    2026-11-21T10:00:01.001Z
    2026-11-21T10:00:01.002Z
    ");
    place.ctx("verify").ok();
}

#[test]
fn a_clock_a_day_behind_stops_everything() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A\n", "# A\n\nx\n");
    let before = place.tree();
    assert_snapshot!(place.ctx("publish --changed --now 2026-11-20T09:00:00.000Z").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[clock-behind]: the clock shows 2026-11-20T09:00:00.000Z, but the last checkpoint was made at 2026-11-21T10:00:01.000Z
    hint: set the clock: a checkpoint cannot be older than the one before it
    hint: if the clock of the last publication was wrong and its checkpoint is not in use yet, restore `.versions` from before it and publish again
    ");
    assert_eq!(place.tree(), before);
}

#[test]
fn no_event_follows_the_last_millisecond_of_the_calendar() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    for name in ["b", "c"] {
        place.write(&format!("nodes/{name}.md"), "# B\n");
    }
    place.ctx("publish nodes/b --now 9999-12-31T23:59:59.998Z").ok();
    place.ctx("publish nodes/c --now 9999-12-31T23:59:59.998Z").ok();
    place.edit("nodes/a.md", "# A\n", "# A\n\nx\n");
    let before = place.tree();
    for command in ["publish --changed", "retire nodes/b", "mv nodes/b nodes/d"] {
        let refused = place.ctx(&format!("{command} --now 9999-12-31T23:59:59.999Z"));
        assert_eq!(refused.exit, 1, "{command}: {}", refused.whole());
        assert!(refused.stderr.starts_with("error[clock-ended]: "), "{}", refused.whole());
    }
    assert_eq!(place.tree(), before);
    place.ctx("verify --now 9999-12-31T23:59:59.999Z").exits(1);
}

#[test]
fn foreign_values_are_kept_and_their_reading_is_reported() {
    let place = Place::vault();
    let text = "---\ntitle: Post\ntype: post\ntags: a, 1st\nversion: \"2.4\"\nstatus: archived\nlayout: wide\n---\nx\n";
    place.write("nodes/a.md", text);
    assert_snapshot!(place.ctx("publish nodes/a").whole(), @"
    exit: 0
    -- stdout
    checkpoint 1 with 3 versions, 2026-11-21T10:00:01.000Z
      new  .context/config.yaml  v1
      new  CONTEXT.md            v1
      new  nodes/a               v1
    -- stderr
    warning[tag-grammar]: nodes/a, line 4: tag `1st` selects nothing (a tag is a letter, then letters, digits, `_` and `-`)
    warning[field-foreign]: nodes/a, line 5: `version` has a value that ctx did not write (publishing replaces it, and keeps the old value under `metadata.original`)
    warning[not-for-use]: nodes/a, line 6: `status: archived` marks the text as not for use (`ctx publish --changed` leaves the file out; delete the line, or name the document, to publish it)
    ");
    assert_snapshot!(place.read("nodes/a.md"), @"
    ---
    title: Post
    type: post
    tags: a, 1st
    version: 1
    status: published
    layout: wide
    author: ana@example.com
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:01.000Z'
    checksum: sha256:d23f9b4076f55f1e650c593f80f451f2094dc59cce470c063eb22aea63e4cb39
    metadata:
      original:
        version: '2.4'
        status: archived
    ---
    x
    ");
    place.ctx("verify").ok();
}

#[test]
fn an_import_need_not_wait_for_the_disk() {
    let (place, other) = (Place::vault(), Place::vault());
    for place in [&place, &other] {
        for n in 0..20 {
            place.write(&format!("nodes/d{n}.md"), format!("# D{n}\n"));
        }
    }
    place.ctx("publish --all --no-sync").ok();
    other.ctx("publish --all").ok();
    assert_eq!(place.chained(), other.chained(), "the bytes are the same");
    place.ctx("verify").ok();
}

/// An editor may have opened the file before version 1 was made from it.
#[test]
fn a_file_without_a_version_reverts_none() {
    let place = Place::vault();
    place.write("nodes/n.md", "my draft\n");
    place.ctx("publish nodes/n").ok();
    // A text that was saved over version 1 was made from the text of version 1.
    place.write("nodes/n.md", "my draft\nmore\n");
    place.ctx("publish nodes/n").ok();
    place.write("nodes/n.md", "my draft\nhuman line\n");
    assert_snapshot!(place.ctx("publish nodes/n").exits(1).stderr, @"
    error[refused]: 1 file refused
      nodes/n.md
        error[stale]: the file does not say which version it was edited from; version 2 is published (see what it would undo with `ctx diff nodes/n`, then set `version` in its frontmatter, or run `ctx publish nodes/n --expect-version 2`)
    hint: nothing was written; fix the documents, or leave them out
    ");
    let hash = place.ctx("head").ok().stdout;
    place.ctx("publish nodes/n --expect-version 1").exits(4);
    place.ctx(&format!("publish nodes/n --expect-hash {}", hash.trim())).ok();
    assert!(place.ctx("read nodes/n").ok().stdout.contains("human line"));
}

#[test]
fn a_status_comes_before_the_draft_mark_of_another_program() {
    let place = Place::vault();
    place.write("nodes/a.md", "---\ntitle: A\ndraft: true\n---\n\nOne.\n");
    let out = place.ctx("publish --all").ok();
    assert!(out.stdout.contains("left out: nodes/a (it says `draft: true`"), "{}", out.stdout);
    place.ctx("publish nodes/a").ok();
    assert_snapshot!(place.ctx("validate nodes/a").ok().stdout, @"
    warning[field-foreign]: nodes/a.md:3: `draft: true` has no effect: `status` is `published`
      hint: delete the line; with `status: draft`, `ctx publish --changed` and `ctx publish --all` leave the file out
    1 document checked: 0 errors, 1 warning
    ");
    place.edit("nodes/a.md", "One.", "Two.");
    assert!(place.ctx("publish --all").ok().stdout.contains("changed  nodes/a"));
    place.edit("nodes/a.md", "status: published", "status: draft");
    assert!(!place.ctx("validate nodes/a").ok().stdout.contains("field-foreign"));
}
