//! `valid_until`: the fields that carry the date, and the commands that judge it.

use insta::assert_snapshot;

use crate::harness::Place;

// The clock of the tests begins in November 2026.
const OLD: &str =
    "---\ntitle: Old\ntags: [p]\nexpiryDate: 2026-11-20\nsuperseded_by: nodes/new\n---\nOld.\n";
const NEW: &str = "---\ntitle: New\ntags: [p]\nvalid_until: 2026-11-21\n---\nNew.\n";

fn place() -> Place {
    Place::published(&[("nodes/new", NEW), ("nodes/old", OLD), ("nodes/plain", "# Plain\n")])
}

#[test]
fn answers_carry_the_end_of_validity_and_not_the_judgement() {
    let place = place();
    let read = place.ctx("read nodes/old --json").ok().json("ctx.read");
    assert_eq!(
        (&read["valid_until"], &read["superseded_by"]),
        (&"2026-11-20".into(), &"nodes/new".into())
    );
    assert!(
        place.ctx("read nodes/plain --json").ok().json("ctx.read").get("valid_until").is_none()
    );
    let hits = place.ctx("search old --json").ok().json("ctx.search");
    assert_eq!(hits["hits"][0]["valid_until"], "2026-11-20", "{hits}");
    let list = place.ctx("list --json").ok().json("ctx.list");
    assert_eq!(list["documents"][0]["valid_until"], "2026-11-21", "{list}");
    let block = || place.ctx("resolve #p --format markdown").ok().stdout;
    let first = block();
    let line = "title=\"Old\" version=1 valid_until=\"2026-11-20\" superseded_by=\"nodes/new\" -->";
    assert!(first.contains(line), "{first}");
    let later =
        place.args(&["resolve", "#p", "--format", "markdown", "--now", "2030-01-01T00:00:00Z"]);
    assert_eq!(later.here().ok().stdout, first);
}

#[test]
fn status_validate_and_check_warn_of_what_has_expired() {
    let place = place();
    for _ in 0..2 {
        // The second run may have cached the comparison.
        let status = place.ctx("status").ok().stdout;
        assert!(
            status.contains("no longer valid")
                && status.contains("nodes/old.md (expired at 2026-11-21T00:00:00.000Z)"),
            "{status}"
        );
        assert!(!status.contains("nodes/new.md"), "{status}");
    }
    let json = place.ctx("status --json").ok().json("ctx.status");
    assert_eq!(json["documents"][1]["expired"], true, "{json}");
    assert!(json["documents"][0].get("expired").is_none(), "{json}");
    assert_snapshot!(place.ctx("validate").ok().stdout, @"
    warning[expired]: nodes/old.md:4: `expiryDate: 2026-11-20` has passed
      hint: write a later date, or `ctx retire nodes/old` if it is published
    3 documents checked: 0 errors, 1 warning
    ");
    let check = place.ctx("check nodes/old@1 nodes/new@1").ok();
    assert_snapshot!(check.whole(), @"
    exit: 0
    -- stdout
    current  nodes/old@1
    current  nodes/new@1
    -- stderr
    warning: nodes/old@1: version 1 expired: valid until 2026-11-20
    warning: nodes/old@1: version 1 says that it is superseded by nodes/new
    ");
    let json = place.ctx("check nodes/old@1 nodes/new@1 --json").ok().json("ctx.check");
    assert_eq!(json["uris"][0]["current"]["expired"], true, "{json}");
    assert!(json["uris"][1]["current"].get("expired").is_none(), "{json}");
    let later = place.args(&["check", "nodes/new@1", "--now", "2026-11-22T00:00:00Z"]).here().ok();
    assert!(later.stderr.contains("expired"), "{}", later.stderr);
}

#[test]
fn publishing_an_expired_text_warns_of_it() {
    let place = Place::vault();
    place.write("nodes/a.md", "---\ntitle: A\nvalid_until: 2020-01-01\n---\nText.\n");
    place.write("nodes/b.md", "---\ntitle: B\nmetadata: {valid_until: 2020-01-01}\n---\nText.\n");
    let said = place.ctx("publish nodes/a nodes/b").ok().stderr;
    assert!(
        said.contains("warning[expired]: nodes/a, line 3: `valid_until: 2020-01-01`"),
        "{said}"
    );
    assert!(said.contains("`metadata.valid_until` is not read"), "{said}");
}
