//! `ctx validate` looks at links: where they lead, and to which section.

use insta::assert_snapshot;

use crate::harness::Place;

#[test]
fn links_that_lead_nowhere_are_warnings_with_their_lines() {
    let place = Place::vault();
    place.write(
        "nodes/a.md",
        "# A\n\n[typo](polcy.md) [out](../../../x.md)\n[part](policy.md#exeptions) [ok](policy.md#exceptions)\n\
         [[policy#Exceptions]] [[nothing]] [[note]] [[file.pdf]]\ncontextnest://nodes/a?b contextnest://nodes/a@0\n",
    );
    place.write("nodes/policy.md", "# Policy\n\n## Exceptions\n");
    place.write("nodes/x/note.md", "# X\n");
    place.write("nodes/y/note.md", "# Y\n");
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 0
    -- stdout
    warning[link-broken]: nodes/a.md:3: the link leads to `nodes/polcy`, which is neither live nor published
      hint: did you mean `nodes/policy`?
    warning[link-broken]: nodes/a.md:3: the link `../../../x.md` names no document: the path leaves the vault
      hint: write a path in the vault, or `contextnest://` and an id
    warning[link-anchor]: nodes/a.md:4: `nodes/policy` has no section `#exeptions`
      hint: did you mean `#exceptions`?
    warning[link-broken]: nodes/a.md:5: the link leads to `nothing`, which is neither live nor published
      hint: name an existing document, or remove the link
    warning[link-ambiguous]: nodes/a.md:5: `note` fits 2 documents; `nodes/x/note` is taken
      hint: write `[[nodes/x/note]]`, or the id of another
    warning[link-broken]: nodes/a.md:6: the link `contextnest://nodes/a@0` names no document: expected a checkpoint number from 1 after `@`, but found `0`
      hint: write a path in the vault, or `contextnest://` and an id
    4 documents checked: 0 errors, 6 warnings
    -- stderr
    ");
}

#[test]
fn what_was_published_may_be_linked() {
    let place = Place::published(&[("nodes/old", "# Old\n\n## Part\n"), ("nodes/b", "# B\n")]);
    place.ctx("mv nodes/old nodes/new").ok();
    place.remove("nodes/b.md");
    place.write(
        "nodes/a.md",
        "[b](b.md#b) [old](contextnest://nodes/old@1#part) [new](new.md#part)\n",
    );
    let clean = place.ctx("validate").ok();
    assert_eq!(clean.lines().last(), Some(&"2 documents checked: 0 errors, 0 warnings"));
    place.edit("nodes/a.md", "nodes/old@1", "nodes/old");
    place.edit("nodes/a.md", "b.md#b", "b.md#c");
    assert_snapshot!(place.ctx("validate nodes/a").whole(), @"
    exit: 0
    -- stdout
    warning[link-anchor]: nodes/a.md:1: `nodes/b` has no section `#c`
      hint: did you mean `#b`?
    warning[link-broken]: nodes/a.md:1: the link leads to `nodes/old`, which is neither live nor published
      hint: did you mean `nodes/a`?
    1 document checked: 0 errors, 2 warnings
    -- stderr
    ");
}

#[test]
fn a_vault_without_a_usable_log_is_checked_all_the_same() {
    let place = Place::published(&[("nodes/a", "# A\n\n[b](b.md)\n")]);
    place.write(".versions/checkpoints.jsonl", "junk\n");
    let found = place.ctx("validate").ok();
    assert!(found.stdout.contains("warning[link-broken]: nodes/a.md:"), "{}", found.stdout);
}
