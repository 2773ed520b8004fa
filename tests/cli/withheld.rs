//! Documents that the chain does not vouch for are withheld and named by every verb that
//! serves texts.

use insta::assert_snapshot;

use crate::forger::{Becomes, Forger};
use crate::harness::Place;
use crate::resolve::vault;

#[test]
fn one_damaged_document_is_withheld_and_the_others_served() {
    let place = vault();
    place.edit("nodes/.versions/ab/v1.md", "AB.", "Forged.");
    assert_snapshot!(place.ctx("resolve '#a'").whole(), @"
    exit: 1
    -- stdout
    nodes/ac  v1  glossary  AC
    -- stderr
    error[withheld]: `nodes/ab` is withheld: the stored text has hash sha256:6f63f1a790c118338012532ab9542f0a649fa87fa724c0a70153e0b594fd3fb2, but the history records sha256:202fab2a691ec4188f3e349b1653665face44d57fe3c8ff5f1eb6e5648d8f0bd
    hint: the chain does not vouch for the text; run `ctx verify` for a full report
    ");
    assert_snapshot!(place.ctx("resolve '#b' --bodies").whole(), @r##"
    exit: 1
    -- stdout
    <!-- ctx:context selector="#b" class=set checkpoint=1 checkpoint_hash=sha256:40c37bf74186efcb1c87017efaf8e55547f47460df49201a2012a2c9df798667 at=2026-11-21T10:00:01.000Z mark=f3f10812022cee4aef5612d1 parts=2 tokens=214 left_out=0 withheld=1 -->
    <!-- ctx:instructions n=1 uri=contextnest://CONTEXT.md@1 version=1 -->

    # Test

    What this vault is about, and how agents are to use it. This text goes to every agent first.

    - Act on published documents only, and cite them by `contextnest://` URI and version.
    <!-- ctx:end f3f10812022cee4aef5612d1 -->
    <!-- ctx:begin n=2 uri=contextnest://nodes/deep/b@1 title="B" version=1 -->

    B.
    <!-- ctx:end f3f10812022cee4aef5612d1 -->
    <!-- ctx:hashes sha256
    1 0b291b9ba29b1131ceb13cccce2b81057c957ce1a74f8e873ade2a075a0feff6
    2 4e9c3f7226a062922d8e5096ae9cbd90ca0ef3ed601498fd5e8833e94f2a37ee
    -->
    -- stderr
    error[withheld]: `nodes/ab` is withheld: the stored text has hash sha256:6f63f1a790c118338012532ab9542f0a649fa87fa724c0a70153e0b594fd3fb2, but the history records sha256:202fab2a691ec4188f3e349b1653665face44d57fe3c8ff5f1eb6e5648d8f0bd
    hint: the chain does not vouch for the text; run `ctx verify` for a full report
    "##);
    let json = place.ctx("resolve '#a' --json --bodies").exits(1).json("ctx.resolve");
    assert_eq!(json["withheld"][0]["id"], "nodes/ab");
    assert_eq!(json["documents"].as_array().unwrap().len(), 1);
    place.remove("nodes/.versions/ac");
    assert_snapshot!(place.ctx("resolve '#a'").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[withheld]: 2 documents are withheld
      nodes/ab: the stored text has hash sha256:6f63f1a790c118338012532ab9542f0a649fa87fa724c0a70153e0b594fd3fb2, but the history records sha256:202fab2a691ec4188f3e349b1653665face44d57fe3c8ff5f1eb6e5648d8f0bd
      nodes/ac: its history is missing
    hint: the chain does not vouch for the text; run `ctx verify` for a full report
    ");
    assert_snapshot!(place.ctx("list").whole(), @"
    exit: 1
    -- stdout
    nodes/deep/b     v1  document  B
    nodes/pay        v1  document  Pay
    sources/tickets  v1  source    Tickets
    -- stderr
    error[withheld]: 2 documents are withheld
      nodes/ab: the stored text has hash sha256:6f63f1a790c118338012532ab9542f0a649fa87fa724c0a70153e0b594fd3fb2, but the history records sha256:202fab2a691ec4188f3e349b1653665face44d57fe3c8ff5f1eb6e5648d8f0bd
      nodes/ac: its history is missing
    hint: the chain does not vouch for the text; run `ctx verify` for a full report
    ");
    assert_snapshot!(place.ctx("read nodes/ab").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[withheld]: `nodes/ab` is withheld: the stored text has hash sha256:6f63f1a790c118338012532ab9542f0a649fa87fa724c0a70153e0b594fd3fb2, but the history records sha256:202fab2a691ec4188f3e349b1653665face44d57fe3c8ff5f1eb6e5648d8f0bd
    hint: the chain does not vouch for the text; run `ctx verify` for a full report
    ");
    assert_snapshot!(place.ctx("show nodes/ab 1").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[withheld]: version 1 of `nodes/ab`: the stored text has hash sha256:6f63f1a790c118338012532ab9542f0a649fa87fa724c0a70153e0b594fd3fb2, but the history records sha256:202fab2a691ec4188f3e349b1653665face44d57fe3c8ff5f1eb6e5648d8f0bd
    hint: run `ctx verify` for a full report
    ");
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 1 of 2026-11-21T10:00:01.000Z
    Published and unchanged: 3 documents

    Withheld, because the history does not verify (next: ctx verify):
      nodes/ab.md (v1)
          the stored text has hash sha256:6f63f1a790c118338012532ab9542f0a649fa87fa724c0a70153e0b594fd3fb2, but the history records sha256:202fab2a691ec4188f3e349b1653665face44d57fe3c8ff5f1eb6e5648d8f0bd
      nodes/ac.md (v1)
          its history is missing
    -- stderr
    ");
    // A map counts the documents that the index contains (IDX-8).
    assert!(place.ctx("context").ok().stdout.contains(": 5 documents"));
    let by_log = place.typed("context").without("HOME").run().exits(1);
    assert!(by_log.stdout.contains(": 3 documents"));
    // The last line reports that the access was not recorded.
    assert_eq!(by_log.stderr.lines().count(), 5);
    // A selector that no tampered document can match is served without a message.
    place.ctx("resolve contextnest://sources/").ok();
}

/// Returns a governed vault whose documents only stewards read.
fn limited() -> Place {
    let place = Place::vault();
    place.edit(".context/config.yaml", "layout:", "reads: stewards\nlayout:");
    place.write("nodes/a.md", "---\ntags: ['#t']\n---\n# A\n\none\n");
    place.write("packs/p.yml", "id: p\nlabel: P\nquery: '#t'\n");
    place.ctx("publish --all --as bo@x.com").ok();
    place.write(
        "stewards.yaml",
        "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  - {principal: kim@x.com, \
         role: reviewer}\n",
    );
    place.ctx("govern on --as bo@x.com").ok();
    place
}

/// Asserts that every answer to a reader exits with 1, and names the file and its fault.
#[track_caller]
fn is_named_everywhere(place: &Place, id: &str, why: &str) {
    for line in [
        "list",
        "list nodes/",
        "list --snippets",
        "search one",
        "context",
        "owners",
        "pack list",
        "read nodes/a",
        "read nodes/absent",
        "resolve nodes/",
        "resolve contextnest://nodes/a",
        "resolve '#t' --bodies",
        "resolve pack:p",
        "graph",
        "neighbors nodes/a",
    ] {
        let answer = place.ctx(&format!("{line} --as bo@x.com"));
        assert_eq!(answer.exit, 1, "{id}, {line}: {}", answer.whole());
        let is_named =
            answer.stderr.contains(&format!("`{id}` is withheld")) && answer.stderr.contains(why);
        assert!(is_named, "{id}, {line}: {}", answer.whole());
    }
}

#[test]
fn damaged_rules_of_reading_are_named_in_every_answer_that_they_empty() {
    for lost in [".context/.versions/config.yaml", ".versions/stewards.yaml"] {
        let place = limited();
        std::fs::remove_dir_all(place.path(lost)).unwrap();
        is_named_everywhere(&place, &lost.replace(".versions/", ""), "its history is missing");
    }
}

#[test]
fn rules_that_cannot_be_parsed_are_named_in_every_answer_that_they_empty() {
    for id in [".context/config.yaml", "stewards.yaml"] {
        let place = limited();
        // No command submits such a text.
        place.write(id, place.read(id) + "a: [\n");
        let refused = place.ctx(&format!("submit {id} --as bo@x.com")).exits(1);
        assert!(refused.stderr.contains("unclosed"), "{}", refused.whole());
        let mut forger = Forger::new(&place);
        let text = forger.last(id).1 + "a: [\n";
        forger.add(id, "bo@x.com", Becomes::Step, &text);
        forger.later();
        // A text that another program submitted is not approved either.
        let refused = place.ctx(&format!("approve {id} --as kim@x.com"));
        assert_ne!(refused.exit, 0, "{}", refused.whole());
        forger.approve_rules(id, "kim@x.com");
        is_named_everywhere(&place, id, "its text cannot be parsed: ");
    }
}
