//! Files whose fields say that their text is not to be used, and drafts.

use insta::assert_snapshot;

use crate::harness::Place;

const WORDS: [&str; 8] = [
    "rejected",
    "superseded",
    "Deprecated",
    "archived",
    "obsolete",
    "pending_review",
    "wip",
    "TODO",
];

fn text(status: &str) -> String {
    format!("---\ntitle: T\nstatus: {status}\n---\nText.\n")
}

#[test]
fn publish_all_leaves_out_what_is_not_for_use() {
    let place = Place::vault();
    for word in WORDS {
        place.write(&format!("nodes/{word}.md"), text(word));
    }
    for word in ["active", "stable", "live", "final", "approved"] {
        place.write(&format!("nodes/{word}.md"), text(word));
    }
    let out = place.ctx("publish --all").ok();
    assert_snapshot!(out.stdout, @"
    checkpoint 1 with 7 versions, 2026-11-21T10:00:01.000Z
      new  .context/config.yaml  v1
      new  CONTEXT.md            v1
      new  nodes/active          v1
      new  nodes/approved        v1
      new  nodes/final           v1
      new  nodes/live            v1
      new  nodes/stable          v1
      left out: nodes/Deprecated (it says `status: Deprecated`; name it to publish it)
      left out: nodes/TODO (it says `status: TODO`; name it to publish it)
      left out: nodes/archived (it says `status: archived`; name it to publish it)
      left out: nodes/obsolete (it says `status: obsolete`; name it to publish it)
      left out: nodes/pending_review (it says `status: pending_review`; name it to publish it)
      left out: nodes/rejected (it says `status: rejected`; name it to publish it)
      left out: nodes/superseded (it says `status: superseded`; name it to publish it)
      left out: nodes/wip (it says `status: wip`; name it to publish it)
    ");
    let listed = place.ctx("list").ok().stdout;
    assert_eq!(listed.lines().count(), 5, "{listed}");
    // The status of another program is kept; a synonym of `published` is replaced.
    assert!(place.read("nodes/approved.md").contains("original:\n    status: approved"));
    assert!(!place.read("nodes/stable.md").contains("stable"));
    let json = place.ctx("publish --all --json").ok().json("ctx.publish");
    let left = json["left_out"].as_array().unwrap();
    assert_eq!(left.len(), WORDS.len());
    assert_eq!(left[0]["reason_code"], "not-for-use");
    place.ctx("verify").ok();
    // Naming a document publishes it.
    place.ctx("publish nodes/rejected nodes/wip.md").ok();
    assert!(place.read("nodes/rejected.md").contains("status: published"));
    assert_eq!(place.ctx("list").ok().lines().len(), 7);
}

#[test]
fn a_published_document_that_turns_obsolete_is_named_with_retire() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.edit("nodes/a.md", "status: published", "status: deprecated");
    place.edit("nodes/b.md", "# B\n", "# B\n\nMore.\n");
    for which in ["--changed", "nodes/", "--all"] {
        let out = place.ctx(&format!("publish {which} --dry-run")).ok().stdout;
        let line = "left out: nodes/a (it says `status: deprecated`, and its last version is \
                    published; `ctx retire nodes/a` withdraws the document, `ctx publish nodes/a` \
                    publishes the file)";
        assert!(out.contains(line) && out.contains("changed  nodes/b"), "{which}: {out}");
    }
    let status = place.ctx("status").ok().stdout;
    assert!(status.contains("nodes/a.md (v1) (`status: deprecated`: ctx retire"), "{status}");
    let json = place.ctx("status --json").ok().json("ctx.status");
    let row = &json["documents"][0];
    assert_eq!((&row["state"], &row["reason_code"]), (&"changed".into(), &"not-for-use".into()));
    assert!(row["hints"][0].as_str().unwrap().contains("`ctx retire nodes/a`"), "{row}");
    place.ctx("retire nodes/a").ok();
    place.ctx("publish --all").ok();
    assert_eq!(place.ctx("list").ok().lines().len(), 1);
}

#[test]
fn a_mark_that_was_published_does_not_leave_a_document_out_again() {
    let place = Place::vault();
    place.write("nodes/a.md", "---\ntitle: A\ndeprecated: true\n---\nOne.\n");
    assert!(place.ctx("publish --all").ok().stdout.contains("left out: nodes/a"));
    place.ctx("publish nodes/a").ok();
    place.edit("nodes/a.md", "One.", "Two.");
    assert!(place.ctx("publish --changed").ok().stdout.contains("changed  nodes/a"));
    place.edit("nodes/a.md", "Two.", "Three.");
    place.edit("nodes/a.md", "title: A", "title: A\narchived: true");
    assert!(place.ctx("publish --changed").ok().stdout.contains("`archived: true`"));
}

#[test]
fn drafts_are_published_by_name_or_on_request() {
    let place = Place::published(&[("nodes/old", "# Old\n")]);
    place.write("nodes/new.md", text("Draft"));
    place.write("nodes/plain.md", "# Plain\n");
    place.ctx("add nodes/mine --draft --body Mine.").ok();
    place.edit("nodes/old.md", "status: published", "status: draft");
    place.edit("nodes/old.md", "# Old\n", "# Old\n\nMore.\n");
    assert_snapshot!(place.ctx("publish --all").ok().stdout, @"
    checkpoint 2 with 1 version, 2026-11-21T10:00:03.000Z
      new  nodes/plain  v1
      left out: nodes/mine (it says `status: draft`; name it to publish it; `ctx publish --all --drafts` includes drafts)
      left out: nodes/new (it says `status: draft`; name it to publish it; `ctx publish --all --drafts` includes drafts)
      left out: nodes/old (its live file is a draft)
    ");
    let status = place.ctx("status").ok().stdout;
    assert!(status.contains("nodes/new.md (`status: draft`: only by its id)"), "{status}");
    let out = place.ctx("publish --all --drafts").ok().stdout;
    for id in ["new      nodes/new", "new      nodes/mine", "changed  nodes/old"] {
        assert!(out.contains(id), "{out}");
    }
    place.ctx("publish --changed --drafts").exits(2);
}

#[test]
fn submit_leaves_out_what_is_not_for_use() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    for who in ["ana@example.com", "kim@example.com"] {
        place.ctx(&format!("steward assign {who} reviewer --whole-vault")).ok();
    }
    place.ctx("govern on").ok();
    place.edit("nodes/a.md", "status: published", "status: obsolete");
    place.edit("nodes/b.md", "# B\n", "# B\n\nMore.\n");
    let out = place.ctx("submit --changed").ok().stdout;
    assert!(out.contains("submitted  nodes/b") && !out.contains("submitted  nodes/a"), "{out}");
    assert!(
        out.contains("`ctx retire nodes/a` withdraws")
            && out.contains("`ctx submit nodes/a` submits"),
        "{out}"
    );
    assert!(place.ctx("submit nodes/a").ok().stdout.contains("submitted  nodes/a"));
}

#[test]
fn events_of_a_folder_report_new_files_that_are_not_for_use() {
    let place = Place::published(&[("nodes/x/a", "# A\n"), ("nodes/y/b", "# B\n")]);
    place.edit("nodes/x/a.md", "# A\n", "# A\n\nMore.\n");
    for (id, status) in [("x/w", "wip"), ("x/r", "rejected"), ("x/d", "draft"), ("y/w", "wip")] {
        place.write(&format!("nodes/{id}.md"), text(status));
    }
    place.write("nodes/x/new.md", "# New\n");
    let check = |line: &str| {
        let out = place.ctx(line).ok().stdout;
        for left in ["nodes/x/w (it says `status: wip`", "nodes/x/r (it says", "nodes/x/d ("] {
            assert!(out.contains(&format!("left out: {left}")), "{line}: {out}");
        }
        assert!(!out.contains("nodes/y") && !out.contains("nodes/x/new"), "{line}: {out}");
    };
    check("publish nodes/x/ --dry-run");
    let named = place.ctx("publish nodes/x/ nodes/x/w --dry-run").ok().stdout;
    assert!(!named.contains("left out: nodes/x/w"), "{named}");
    for who in ["ana@example.com", "kim@example.com"] {
        place.ctx(&format!("steward assign {who} reviewer --whole-vault")).ok();
    }
    place.ctx("govern on").ok();
    check("submit nodes/x/ --dry-run");
}

#[test]
fn many_files_with_one_reason_are_one_line() {
    let place = Place::vault();
    for n in 0..7 {
        place.write(&format!("nodes/{n}.md"), text("wip"));
        place.write(&format!("nodes/c{n}.md"), format!("# C\n\n<!-- {n} -->\n"));
    }
    let out = place.ctx("publish --all").ok();
    let lines: Vec<&str> = out.stdout.lines().rev().take(2).collect();
    let first = "    first: nodes/0, nodes/1, nodes/2";
    assert_eq!(
        lines,
        [first, "  left out: 7 files (it says `status: wip`; name it to publish it)"]
    );
    assert_snapshot!(out.stderr, @"
    warning[hidden-comment]: 7 times in 7 files: an HTML comment
      first: nodes/c0:3, nodes/c1:3, nodes/c2:3
      hint: `ctx validate --all` lists each with its hint
    ");
    place.write("nodes/bad.md", "---\ntitle: ''\n---\n");
    for n in 0..7 {
        place.write(&format!("nodes/d{n}.md"), format!("---\ntitle: ''\n---\n<!-- {n} -->\n"));
    }
    let out = place.ctx("publish --all").exits(1).stderr;
    assert_eq!(out.matches("warning[hidden-comment]").count(), 1, "{out}");
    assert_eq!(out.matches("error[title-invalid]").count(), 8, "{out}");
}

#[test]
fn publish_all_leaves_out_other_spellings_of_not_for_use() {
    let place = Place::vault();
    for (n, fields) in [
        "status: Not yet approved",
        "status: ~~Accepted~~ Superseded by 7",
        "status: Stable (deprecated)",
        "status: veraltet",
        "deprecated: 2024-01-01",
        "superseded: by ADR 5",
        "metadata: {status: deprecated}",
        "Draft: true",
        "isDraft: yes",
    ]
    .into_iter()
    .enumerate()
    {
        place.write(&format!("nodes/{n}.md"), format!("---\n{fields}\n---\nText.\n"));
    }
    place.write("nodes/block.md", "<!-- x -->\n--- \nstatus: rejected\n--- \n# A\n");
    place.write("nodes/page.md", "status:: deprecated\n\n- Text.\n");
    place.write("nodes/_drafts/post.md", "# Post\n");
    place.write("nodes/logseq/bak/a/b.md", "# B\n");
    place.write("nodes/good.md", "---\nstatus: Approved (review due 2027)\n---\nText.\n");
    let json = place.ctx("publish --all --dry-run --json").ok().json("ctx.publish");
    let left = json["left_out"].as_array().unwrap();
    let codes: Vec<&str> = left.iter().map(|l| l["reason_code"].as_str().unwrap()).collect();
    let count = |code| codes.iter().filter(|one| **one == code).count();
    assert_eq!(
        ["not-for-use", "marked-draft", "drafts-folder", "backup"].map(count),
        [9, 2, 1, 1],
        "{json}"
    );
    let out = place.ctx("publish --all --drafts").ok().stdout;
    for id in ["nodes/7 ", "nodes/8 ", "nodes/_drafts/post ", "nodes/good "] {
        assert!(out.contains(&format!("new  {id}")), "{out}");
    }
    assert!(!out.contains("new  nodes/page") && !out.contains("new  nodes/logseq"), "{out}");
    place.ctx("publish nodes/block nodes/page").ok();
    place.edit("nodes/page.md", "- Text.", "- More.");
    assert!(place.ctx("publish --changed").ok().stdout.contains("changed  nodes/page"));
}

#[test]
fn a_block_of_fields_behind_a_line_is_no_frontmatter_of_a_draft() {
    for before in ["<!-- SPDX-License-Identifier: MIT -->\n", "\n", "Note.\n\n"] {
        let place = Place::published(&[("nodes/a", "# A\n\n30 days\n")]);
        place.edit("nodes/a.md", "30 days", "45 days");
        let text = format!("{before}{}", place.read("nodes/a.md"));
        place.write("nodes/a.md", &text);
        let verified = place.ctx("verify").exits(1).stdout;
        assert!(verified.contains("[drift] nodes/a"), "{before:?}: {verified}");
        for line in ["publish --changed", "publish --all", "publish nodes/a"] {
            let refused = place.ctx(line).exits(1).stderr;
            assert!(
                refused.contains("error[stale]: the frontmatter does not begin in line 1"),
                "{refused}"
            );
        }
        assert!(place.ctx("status").stdout.contains("does not begin in line 1"));
    }
}

#[test]
fn an_edit_without_frontmatter_is_no_draft() {
    let place = Place::published(&[("nodes/a", "# A\n\n30 days\n")]);
    place.write("nodes/a.md", "# A\n\n45 days\n");
    assert!(place.ctx("verify").exits(1).stdout.contains("[drift] nodes/a"));
    place.ctx("publish --changed").ok();
    assert!(place.ctx("read nodes/a").ok().stdout.contains("45 days"));
    place.ctx("verify").ok();
}

#[test]
fn a_draft_whose_frontmatter_does_not_begin_the_file_is_left_out() {
    for before in ["\n", "<!-- x -->\n"] {
        let place = Place::published(&[("nodes/a", "# A\n")]);
        place.write("nodes/d.md", format!("{before}---\ntitle: D\nstatus: draft\n---\n# D\n"));
        place.write("nodes/e.md", "--- \ntitle: E\nstatus: draft\n--- \n# E\n");
        let said = place.ctx("publish --all").ok().stdout;
        assert!(said.contains("left out: nodes/d") && said.contains("left out: nodes/e"), "{said}");
    }
}
