//! `ctx blame`: the version, maker and time of each line.

use insta::assert_snapshot;

use crate::harness::{Place, repository};

const POLICY: &str = "---\ntitle: Returns\nauthor: Legal\n---\n# Returns\n\n30 days.\n\n\
                      ## Exceptions\n\nNone.\n\n## Review\n\nYearly.\n";

/// Returns a vault with three versions by two principals, the second of another author.
fn place() -> Place {
    let place = Place::published(&[("nodes/returns", POLICY)]);
    place.edit("nodes/returns.md", "None.", "Electronics: 14 days.");
    place.edit("nodes/returns.md", "author: Legal", "author: Sales");
    place.ctx("publish --changed --as lee@example.com").ok();
    place.edit("nodes/returns.md", "Yearly.\n", "Yearly.\n\nBy Legal.\n");
    place.ctx("publish --changed").ok();
    place
}

#[test]
fn each_line_has_the_version_that_added_it() {
    let place = place();
    assert_snapshot!(place.ctx("blame nodes/returns").whole(), @"
    exit: 0
    -- stdout
    v1  ana@example.com  2026-11-21T10:00:01.000Z   1  ---
    v1  ana@example.com  2026-11-21T10:00:01.000Z   2  title: Returns
    v2  lee@example.com  2026-11-21T10:00:02.000Z   3  author: Sales
    v1  ana@example.com  2026-11-21T10:00:01.000Z   4  type: document
    v1  ana@example.com  2026-11-21T10:00:01.000Z   5  status: published
    v3  ana@example.com  2026-11-21T10:00:03.000Z   6  version: 3
    v1  ana@example.com  2026-11-21T10:00:01.000Z   7  created_at: '2026-11-21T10:00:01.000Z'
    v3  ana@example.com  2026-11-21T10:00:03.000Z   8  updated_at: '2026-11-21T10:00:03.000Z'
    v3  ana@example.com  2026-11-21T10:00:03.000Z   9  checksum: sha256:ffbe3390af20cb142d3376a238f22e49a4163f418bba41712ccb8597b85a1954
    v1  ana@example.com  2026-11-21T10:00:01.000Z  10  ---
    v1  ana@example.com  2026-11-21T10:00:01.000Z  11  # Returns
    v1  ana@example.com  2026-11-21T10:00:01.000Z  12
    v1  ana@example.com  2026-11-21T10:00:01.000Z  13  30 days.
    v1  ana@example.com  2026-11-21T10:00:01.000Z  14
    v1  ana@example.com  2026-11-21T10:00:01.000Z  15  ## Exceptions
    v1  ana@example.com  2026-11-21T10:00:01.000Z  16
    v2  lee@example.com  2026-11-21T10:00:02.000Z  17  Electronics: 14 days.
    v1  ana@example.com  2026-11-21T10:00:01.000Z  18
    v1  ana@example.com  2026-11-21T10:00:01.000Z  19  ## Review
    v1  ana@example.com  2026-11-21T10:00:01.000Z  20
    v1  ana@example.com  2026-11-21T10:00:01.000Z  21  Yearly.
    v3  ana@example.com  2026-11-21T10:00:03.000Z  22
    v3  ana@example.com  2026-11-21T10:00:03.000Z  23  By Legal.
    -- stderr
    ");
    let text = place.ctx("read nodes/returns").ok().stdout;
    let printed = place.ctx("blame nodes/returns").ok().stdout;
    assert_eq!(printed.lines().count(), text.lines().count());
    for (line, printed) in text.lines().zip(printed.lines()) {
        assert!(printed.ends_with(line), "{printed}");
    }
}

#[test]
fn a_section_a_range_or_an_earlier_checkpoint_is_blamed() {
    let place = place();
    assert_snapshot!(place.ctx("blame nodes/returns#exceptions").whole(), @"
    exit: 0
    -- stdout
    v1  ana@example.com  2026-11-21T10:00:01.000Z  15  ## Exceptions
    v1  ana@example.com  2026-11-21T10:00:01.000Z  16
    v2  lee@example.com  2026-11-21T10:00:02.000Z  17  Electronics: 14 days.
    v1  ana@example.com  2026-11-21T10:00:01.000Z  18
    -- stderr
    ");
    assert_snapshot!(place.ctx("blame nodes/returns -L 15,+3").whole(), @"
    exit: 0
    -- stdout
    v1  ana@example.com  2026-11-21T10:00:01.000Z  15  ## Exceptions
    v1  ana@example.com  2026-11-21T10:00:01.000Z  16
    v2  lee@example.com  2026-11-21T10:00:02.000Z  17  Electronics: 14 days.
    -- stderr
    ");
    let at = place.ctx("blame nodes/returns#exceptions --at 1").ok();
    assert_snapshot!(at.whole(), @"
    exit: 0
    -- stdout
    v1  ana@example.com  2026-11-21T10:00:01.000Z  15  ## Exceptions
    v1  ana@example.com  2026-11-21T10:00:01.000Z  16
    v1  ana@example.com  2026-11-21T10:00:01.000Z  17  None.
    v1  ana@example.com  2026-11-21T10:00:01.000Z  18
    -- stderr
    ");
    for name in [
        "nodes/returns@1#exceptions",
        "contextnest://nodes/returns@1#exceptions",
        "nodes/returns@1#exceptions --at 1",
    ] {
        assert_eq!(place.ctx(&format!("blame {name}")).ok().stdout, at.stdout, "{name}");
    }
    let same = place.ctx("blame nodes/returns -L 15,17").ok().stdout;
    assert_eq!(place.ctx("blame nodes/returns --lines 15,+3").ok().stdout, same);
}

#[test]
fn sections_are_summed_up_by_version() {
    let place = place();
    assert_snapshot!(place.ctx("blame nodes/returns --sections").whole(), @"
    exit: 0
    -- stdout
    before the first section: 10 lines
      v3  ana@example.com  2026-11-21T10:00:03.000Z  3 lines
      v2  lee@example.com  2026-11-21T10:00:02.000Z  1 line
      v1  ana@example.com  2026-11-21T10:00:01.000Z  6 lines
    #returns: 13 lines
      v3  ana@example.com  2026-11-21T10:00:03.000Z  2 lines
      v2  lee@example.com  2026-11-21T10:00:02.000Z  1 line
      v1  ana@example.com  2026-11-21T10:00:01.000Z  10 lines
    #exceptions: 4 lines
      v2  lee@example.com  2026-11-21T10:00:02.000Z  1 line
      v1  ana@example.com  2026-11-21T10:00:01.000Z  3 lines
    #review: 5 lines
      v3  ana@example.com  2026-11-21T10:00:03.000Z  2 lines
      v1  ana@example.com  2026-11-21T10:00:01.000Z  3 lines
    -- stderr
    ");
    assert_snapshot!(place.ctx("blame nodes/returns#review --sections --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.blame.sections",
      "schema_version": 2,
      "id": "nodes/returns",
      "uri": "contextnest://nodes/returns@3",
      "version": 3,
      "checkpoint": 3,
      "sections": [
        {
          "anchor": "review",
          "title": "Review",
          "level": 2,
          "start": 300,
          "end": 330,
          "count": 5,
          "versions": [
            {
              "version": 3,
              "checkpoint": 3,
              "author": "Sales",
              "edited_by": "ana@example.com",
              "edited_at": "2026-11-21T10:00:03.000Z",
              "count": 2
            },
            {
              "version": 1,
              "checkpoint": 1,
              "author": "Legal",
              "edited_by": "ana@example.com",
              "edited_at": "2026-11-21T10:00:01.000Z",
              "count": 3
            }
          ]
        }
      ]
    }
    -- stderr
    "#);
}

#[test]
fn json_has_author_and_checkpoint_of_each_version() {
    let place = place();
    assert_snapshot!(place.ctx("blame nodes/returns#review --json").whole(), @r###"
    exit: 0
    -- stdout
    {
      "schema": "ctx.blame",
      "schema_version": 2,
      "id": "nodes/returns",
      "uri": "contextnest://nodes/returns@3",
      "version": 3,
      "checkpoint": 3,
      "section": {
        "anchor": "review",
        "title": "Review",
        "level": 2,
        "start": 300,
        "end": 330
      },
      "lines": [
        {
          "line": 19,
          "version": 1,
          "text": "## Review"
        },
        {
          "line": 20,
          "version": 1,
          "text": ""
        },
        {
          "line": 21,
          "version": 1,
          "text": "Yearly."
        },
        {
          "line": 22,
          "version": 3,
          "text": ""
        },
        {
          "line": 23,
          "version": 3,
          "text": "By Legal."
        }
      ],
      "versions": [
        {
          "version": 3,
          "checkpoint": 3,
          "author": "Sales",
          "edited_by": "ana@example.com",
          "edited_at": "2026-11-21T10:00:03.000Z",
          "count": 2
        },
        {
          "version": 1,
          "checkpoint": 1,
          "author": "Legal",
          "edited_by": "ana@example.com",
          "edited_at": "2026-11-21T10:00:01.000Z",
          "count": 3
        }
      ]
    }
    -- stderr
    "###);
}

#[test]
fn blame_refuses_what_it_does_not_take() {
    let place = place();
    place.write("nodes/new.md", "# New\n");
    let report: Vec<String> = [
        "blame nodes/returns -L 3",
        "blame nodes/returns -L 40,50",
        "blame nodes/returns#review -L 1,2",
        "blame nodes/returns@1 --at 2",
        "blame nodes/returns --at 9",
        "blame nodes/returns#reviews",
        "blame nodes/new",
        "blame nodes/none",
    ]
    .map(|line| format!("{line}\n{}", place.ctx(line).whole()))
    .to_vec();
    assert_snapshot!(report.join("\n"), @"
    blame nodes/returns -L 3
    exit: 2
    -- stdout
    -- stderr
    error[usage]: `3` is not a range of lines
    hint: write START,END, such as `3,7`, or START,+COUNT, such as `3,+5`; lines are numbered 1, 2, 3

    blame nodes/returns -L 40,50
    exit: 2
    -- stdout
    -- stderr
    error[usage]: the range `40,50` begins after line 23, the last one
    hint: a range can end after the last line, but cannot begin after it

    blame nodes/returns#review -L 1,2
    exit: 2
    -- stdout
    -- stderr
    error[usage]: `#review` and a range of lines both choose lines
    hint: use either the section or the range, not both

    blame nodes/returns@1 --at 2
    exit: 2
    -- stdout
    -- stderr
    error[usage]: the pin names checkpoint 1, but 2 was also given
    hint: name only one checkpoint

    blame nodes/returns --at 9
    exit: 1
    -- stdout
    -- stderr
    error[unknown-checkpoint]: checkpoint 9 does not exist; the last one is 3
    hint: `ctx checkpoint list` lists all checkpoints

    blame nodes/returns#reviews
    exit: 1
    -- stdout
    -- stderr
    error[unknown-anchor]: no section has the anchor `#reviews`
      #returns
      #exceptions
      #review
    hint: did you mean `#review`?

    blame nodes/new
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: `nodes/new` is not published at checkpoint 3
    hint: it was never published; `ctx publish nodes/new` publishes it

    blame nodes/none
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: `nodes/none` is not published at checkpoint 3
    hint: `ctx list` lists published documents, `ctx status` lists new and changed ones
    ");
}

#[test]
fn a_retired_document_is_blamed_at_an_earlier_checkpoint() {
    let place = place();
    place.ctx("retire nodes/returns").ok();
    assert_snapshot!(place.ctx("blame nodes/returns").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: `nodes/returns` is not published at checkpoint 4
    hint: `ctx history nodes/returns` shows when it was published
    ");
    place.ctx("blame nodes/returns --at 3").ok();
    // After another publication, the earlier lines keep their makers.
    place.edit("nodes/returns.md", "status: draft", "status: published");
    place.ctx("publish nodes/returns").ok();
    let again = place.ctx("blame nodes/returns#review").ok().stdout;
    assert_snapshot!(again, @"
    v1  ana@example.com  2026-11-21T10:00:01.000Z  19  ## Review
    v1  ana@example.com  2026-11-21T10:00:01.000Z  20
    v1  ana@example.com  2026-11-21T10:00:01.000Z  21  Yearly.
    v3  ana@example.com  2026-11-21T10:00:03.000Z  22
    v3  ana@example.com  2026-11-21T10:00:03.000Z  23  By Legal.
    ");
}

#[test]
fn governance_files_are_blamed_too() {
    let place = Place::vault();
    place.ctx("publish --all").ok();
    place.write("CONTEXT.md", "# Context\n\nUse ids.\n");
    place.ctx("publish CONTEXT.md").ok();
    place.write("CONTEXT.md", "# Context\n\nUse ids.\nCite versions.");
    place.ctx("publish CONTEXT.md --as lee@example.com").ok();
    assert_snapshot!(place.ctx("blame CONTEXT.md").whole(), @"
    exit: 0
    -- stdout
    v2  ana@example.com  2026-11-21T10:00:02.000Z  1  # Context
    v1  ana@example.com  2026-11-21T10:00:01.000Z  2
    v2  ana@example.com  2026-11-21T10:00:02.000Z  3  Use ids.
    v3  lee@example.com  2026-11-21T10:00:03.000Z  4  Cite versions.
    -- stderr
    ");
}

/// The text of the last version does not depend on the first one, so `read` serves it.
#[test]
fn a_history_that_does_not_verify_is_refused_with_the_finding() {
    let place = place();
    for n in 4..=10 {
        place.edit("nodes/returns.md", "30 days", &format!("{n} days, 30 days"));
        place.ctx("publish --changed").ok();
    }
    place.ctx("blame nodes/returns").ok();
    let history = "nodes/.versions/returns/history.yaml";
    let text = place.read(history);
    place.edit(history, "Electronics: 14 days", "Electronics: 41 days");
    place.ctx("read nodes/returns").ok();
    assert_snapshot!(place.ctx("blame nodes/returns").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[withheld]: the lines of `nodes/returns` cannot be attributed: version 2: the stored text has hash sha256:fffdf50c2839c1cc846cc0cf018b6f92daa8b33d3c45943959a61aa4fd79aa4b, but the history records sha256:bb73f807e762594a5507ce95c78bdb8872310a7a8799c4bec0703c9d63a591b7
    hint: run `ctx verify` for a full report
    ");
    assert_snapshot!(place.ctx("blame nodes/returns --json").exits(1).stderr, @r#"
    {
      "schema": "ctx.error",
      "schema_version": 2,
      "code": "withheld",
      "message": "the lines of `nodes/returns` cannot be attributed: version 2: the stored text has hash sha256:fffdf50c2839c1cc846cc0cf018b6f92daa8b33d3c45943959a61aa4fd79aa4b, but the history records sha256:bb73f807e762594a5507ce95c78bdb8872310a7a8799c4bec0703c9d63a591b7",
      "hints": [
        "run `ctx verify` for a full report"
      ]
    }
    "#);
    place.write(history, text.replacen("lee@example.com", "eve@example.com", 1));
    assert_snapshot!(place.ctx("blame nodes/returns").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[withheld]: the lines of `nodes/returns` cannot be attributed: version 2: the entry has chain hash sha256:6b099214ee4887273371f234c9995e798b949732a7357fdea88b0dd63a5daf47, but the history records sha256:f12b4ccdd766d27e45f324c4b1e9fe9a1b09ba25fbc1e6c86415f916f58b778e
    hint: run `ctx verify` for a full report
    ");
    place.write(history, &text);
    place.remove("nodes/.versions/returns/v1.md");
    assert_snapshot!(place.ctx("blame nodes/returns").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[withheld]: the lines of `nodes/returns` cannot be attributed: version 1: the keyframe `nodes/.versions/returns/v1.md` is missing
    hint: run `ctx verify` for a full report
    ");
}

#[test]
fn hostile_lines_and_names_cannot_steer_a_terminal() {
    let body = "# A\n\na\u{1b}[31m\u{202e}b\tc\n";
    let place = Place::published(&[("nodes/a", body)]);
    let printed = place.typed("blame nodes/a#a").on_terminal().ok().stdout;
    assert!(printed.ends_with("  a\\u{1b}[31m\\u{202e}b\tc\n"), "{printed}");
    let piped = place.ctx("blame nodes/a#a").ok().stdout;
    assert!(piped.ends_with("  a\u{1b}[31m\u{202e}b\tc\n"), "{piped}");
}

#[test]
fn comments_are_left_out_of_json() {
    let place = Place::new();
    place.ctx("init --name Test --layout obsidian").ok();
    place.write("nodes/a.md", "# A\n\nSeen %%not\nseen%% again.\n");
    place.ctx("publish --all").ok();
    let json = place.ctx("blame nodes/a#a --json").ok().json("ctx.blame");
    let lines = json["lines"].as_array().unwrap();
    let texts: Vec<&str> = lines.iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["# A", "", "Seen ", " again."]);
    assert_eq!(json["comments"], 1);
    let text = place.ctx("blame nodes/a#a").ok();
    assert!(text.stdout.ends_with("  seen%% again.\n"), "{}", text.stdout);
    assert_eq!(text.stderr, "note: the lines have 1 comment, which `--json` leaves out\n");
}

#[test]
fn a_history_of_the_reference_implementation_is_followed() {
    let place = Place::copy_of(&repository().join("fixtures/interop/procurement"));
    let json = place.ctx("blame nodes/vendor-risk --json").ok().json("ctx.blame");
    let of = |line: &serde_json::Value| {
        let version = line["version"].as_u64().unwrap();
        (version, line["text"].as_str().unwrap().to_owned())
    };
    let lines: Vec<(u64, String)> = json["lines"].as_array().unwrap().iter().map(of).collect();
    let texts: Vec<String> =
        (1..=13).map(|n| place.ctx(&format!("show nodes/vendor-risk {n}")).ok().stdout).collect();
    let whole: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
    assert_eq!(whole, texts[12]);
    // Each line that is not empty is in the version that added it, and not in the one before.
    let is_in = |line: &str, version: u64| {
        let text = usize::try_from(version).ok().and_then(|n| texts.get(n.checked_sub(1)?));
        text.is_some_and(|text| text.lines().any(|other| other == line))
    };
    for (version, line) in lines.iter().filter(|(_, line)| !line.is_empty()) {
        assert!(is_in(line, *version), "{version}: {line}");
        assert!(*version == 1 || !is_in(line, version - 1), "{version}: {line}");
    }
    assert_eq!(json["versions"][0]["checkpoint"], 16);
}
