//! Vaults of the reference implementation whose logs and histories differ from those of ctx: read,
//! extended, adopted, and the same records forged in vaults of ctx.

use std::collections::BTreeMap;

use contextnest::model::digest::Digest;
use contextnest::model::number::{CheckpointNumber, Version};
use contextnest::record::checkpoint::state::{Mark, PublishedSet};
use serde_json::Value;

use crate::harness::{Output, Place, repository};

const LOG: &str = ".versions/context_history.yaml";

const NOW: &str = "--now 2026-11-27T08:00:00.000Z";
const LATER: &str = "--now 2026-11-27T08:00:01.000Z";

fn vault(name: &str) -> Place {
    Place::copy_of(&repository().join("fixtures/interop").join(name))
}

/// Returns the findings of `verify` that are not about governance files, each as `code id`.
#[track_caller]
fn findings(place: &Place) -> Vec<String> {
    let report = place.ctx("verify --json --now 2027-01-01T00:00:00.000Z").json("ctx.verify");
    let found = report["findings"].as_array().unwrap().iter();
    let named = found.map(|f| {
        let place = f["id"].as_str().or(f["path"].as_str()).unwrap();
        format!("{} {place}", f["code"].as_str().unwrap())
    });
    let mut named: Vec<String> = named.filter(|f| !f.starts_with("policy-unsealed")).collect();
    named.dedup();
    named
}

#[track_caller]
fn damaged(place: &Place, finding: &str) {
    let found = findings(place);
    assert!(found.iter().any(|f| f == finding), "{found:?}");
    place.ctx("verify --now 2027-01-01T00:00:00.000Z").exits(1);
}

#[track_caller]
fn names(output: &Output, part: &str) {
    assert!(output.whole().contains(part), "{}", output.whole());
}

#[test]
fn fresh_vault_is_intact_and_extended() {
    let place = vault("begun");
    assert_eq!(findings(&place), ["derived-differs context.yaml", "foreign-record nodes/review"]);
    let verified = place.ctx(&format!("verify {NOW}")).ok();
    names(&verified, "ctx checkpoint adopt");
    place.ctx("read nodes/review").ok();
    place.edit("nodes/review.md", "The text", "Another text");
    place.ctx(&format!("publish --changed {NOW}")).ok();
    place.ctx(&format!("verify {LATER}")).ok();
    // Its pack names ids.
    assert_eq!(place.ctx("resolve pack:desk --ids").ok().lines().len(), 2);
    // The agents of the vault read this file, which is updated when ctx publishes.
    let derived = place.read("context.yaml");
    assert!(
        derived.starts_with("# generated-by: ctx index") && derived.contains("checkpoint: 3\n")
    );
}

#[test]
fn deleted_and_restarted_documents_are_notes_and_can_be_published_again() {
    let place = vault("deleted");
    let expected = [
        "derived-differs context.yaml",
        "foreign-record nodes/old",
        "foreign-record nodes/again",
        "foreign-record nodes/back",
    ];
    let found = findings(&place);
    assert!(expected.iter().all(|f| found.contains(&(*f).to_owned())), "{found:?}");
    place.ctx(&format!("verify {NOW}")).ok();
    assert_eq!(place.ctx("list").ok().lines().len(), 3);
    names(&place.ctx("read nodes/again").ok(), "Another text.");
    names(&place.ctx("recover --dry-run").ok(), "1 derived file would be updated");
    place.edit("nodes/again.md", "Another text.", "A third text.");
    place.ctx(&format!("publish nodes/again {NOW}")).ok();
    place.ctx(&format!("add nodes/old --title Old --body again {LATER}")).ok();
    place.ctx("verify --now 2026-11-27T08:00:02.000Z").ok();
    names(&place.ctx("read nodes/old").ok(), "again");
}

#[test]
fn deletion_that_no_checkpoint_followed_differs_in_the_working_copy_only() {
    let place = vault("deleted");
    place.remove("nodes/.versions/returns");
    damaged(&place, "history-missing nodes/returns");
    place.remove("nodes/returns.md");
    let found = findings(&place);
    assert!(found.contains(&"foreign-record nodes/returns".to_owned()), "{found:?}");
    assert!(found.contains(&"document-missing nodes/returns".to_owned()), "{found:?}");
    names(&place.ctx("status").ok(), "`ctx verify` reports what is missing");
    let told = "the live file and the history are missing: only git or a backup has the text";
    names(&place.ctx(&format!("verify {NOW}")).exits(1), told);
    names(&place.ctx(&format!("verify {NOW}")).exits(1), "intact, working copy differs");
    place.ctx(&format!("checkpoint adopt {NOW}")).ok();
    place.ctx(&format!("verify {LATER}")).ok();
    assert_eq!(place.ctx("list").ok().lines().len(), 2);
}

#[test]
fn adoption_lists_what_it_accepts_and_seals_a_strict_checkpoint() {
    for name in ["begun", "deleted", "forgotten"] {
        let place = vault(name);
        let before = place.tree();
        let listed = place.ctx(&format!("checkpoint adopt --dry-run {NOW}")).ok();
        names(&listed, "accepted: ");
        assert_eq!(place.tree(), before, "{name}");
        let hints = |now: &str| place.ctx(&format!("verify {now}")).stderr.contains("adopt");
        assert!(hints(NOW), "{name}");
        let report =
            place.ctx(&format!("checkpoint adopt --json {NOW}")).json("ctx.checkpoint.adopt");
        assert_eq!(report["adopted"], true);
        assert!(!report["accepted"].as_array().unwrap().is_empty(), "{name}");
        assert!(place.has(".versions/checkpoints.jsonl"));
        place.ctx(&format!("verify {LATER}")).ok();
        assert!(!hints(LATER), "{name}");
        place.edit("nodes/returns.md", "The text", "The new text");
        place.ctx(&format!("publish --changed {LATER}")).ok();
        place.ctx("verify --now 2026-11-27T08:00:02.000Z").ok();
        names(&place.ctx("checkpoint adopt").ok(), "needs no adoption");
        names(&place.ctx("recover --dry-run").ok(), "nothing to clean up");
    }
}

#[test]
fn documents_that_were_deleted_before_the_adoption_can_be_made_again() {
    let place = vault("deleted");
    place.ctx(&format!("checkpoint adopt {NOW}")).ok();
    place.ctx(&format!("add nodes/old --title Old --body again {LATER}")).ok();
    place.ctx("verify --now 2026-11-27T08:00:02.000Z").ok();
    names(&place.ctx("read nodes/old").ok(), "again");
    place.ctx("history nodes/old").ok();
}

#[test]
fn records_that_were_accepted_are_damage_after_the_adoption() {
    let adopted = |name: &str| {
        let place = vault(name);
        place.ctx(&format!("checkpoint adopt {NOW}")).ok();
        place
    };
    let place = adopted("deleted");
    place.remove("nodes/.versions/again");
    place.remove("nodes/again.md");
    damaged(&place, "history-missing nodes/again");
    // The maps contained the id at the adoption, and dropped it later.
    let place = adopted("deleted");
    place.ctx(&format!("retire nodes/returns {LATER}")).ok();
    place.remove("nodes/.versions/returns");
    place.remove("nodes/returns.md");
    damaged(&place, "history-missing nodes/returns");
    place.write("nodes/returns.md", "---\ntitle: R\n---\nforged\n");
    place.ctx(&format!("publish nodes/returns {LATER}")).exits(1);
    damaged(&place, "history-missing nodes/returns");
    let place = adopted("begun");
    place.edit(
        "nodes/.versions/review/history.yaml",
        "keyframe: true",
        "keyframe: true\n    tombstone: true\n    forgotten_by: x",
    );
    place.remove("nodes/.versions/review/v1.md");
    damaged(&place, "entry-malformed nodes/review");
}

#[test]
fn forged_records_of_the_reference_implementation_are_damage_in_a_vault_of_ours() {
    for place in [Place::vault(), Place::with_maps()] {
        place.write("nodes/a.md", "# A\n\nText of a.\n");
        place.write("nodes/b.md", "# B\n\nText of b.\n");
        place.ctx("publish --all").ok();
        place.ctx("retire nodes/b").ok();
        let copy = place.duplicate();
        copy.remove("nodes/.versions/b");
        damaged(&copy, "history-missing nodes/b");
        let copy = place.duplicate();
        let entry = "    tombstone: true\n    content_hash";
        copy.edit("nodes/.versions/b/history.yaml", "    content_hash", entry);
        copy.remove("nodes/.versions/b/v1.md");
        damaged(&copy, "entry-malformed nodes/b");
        let copy = place.duplicate();
        copy.write(".versions/chain_events.yaml", "- event_type: document.forgotten\n");
        assert_eq!(findings(&copy), ["unfinished .versions/chain_events.yaml"]);
        names(&copy.ctx("checkpoint adopt").ok(), "needs no adoption");
    }
}

#[test]
fn erased_documents_are_left_out_of_later_publications() {
    let place = vault("forgotten");
    for at in [NOW, LATER] {
        place.write(&format!("nodes/new{}.md", at.len()), "# New\n");
        let report = place.ctx(&format!("publish --all --json {at}")).ok().json("ctx.publish");
        let left = report["left_out"].as_array().unwrap();
        let is_erased =
            |file: &&Value| file["id"] == "nodes/jane" && file["reason_code"] == "erased";
        assert!(left.iter().any(|file| is_erased(&file)), "{left:?}");
        if at == NOW {
            place.ctx("checkpoint adopt --now 2026-11-27T08:00:00.500Z").ok();
        }
    }
    place.ctx("verify --now 2026-11-27T08:00:02.000Z").ok();
    names(&place.ctx("status").ok(), "nodes/jane.md (its texts were erased on purpose)");
    names(&place.ctx("publish nodes --now 2026-11-27T08:00:02.000Z").ok(), "erased on purpose");
    names(
        &place.ctx("publish nodes/jane --now 2026-11-27T08:00:03.000Z").exits(1),
        "its texts were erased on purpose",
    );
}

#[test]
fn governed_vaults_have_no_foreign_records() {
    let place = vault("begun");
    place.write(
        "stewards.yaml",
        "version: 1\nvault:\n  - {principal: bo@example.com, role: reviewer}\n  \
         - {principal: kim@example.com, role: reviewer}\n",
    );
    let adopted = place.duplicate();
    let refused = place.ctx(&format!("govern on {NOW}")).exits(1);
    names(&refused, "ctx checkpoint adopt");
    adopted.ctx(&format!("checkpoint adopt {NOW}")).ok();
    adopted.ctx(&format!("govern on {LATER}")).ok();
    adopted.ctx("verify --now 2026-11-27T08:00:02.000Z").ok();
}

#[test]
fn texts_that_are_marked_as_forgotten_are_never_served() {
    let place = vault("forgotten");
    assert_eq!(
        findings(&place),
        [
            "foreign-record .versions/chain_events.yaml",
            "derived-differs context.yaml",
            "key-unknown nodes/jane",
            "version-forgotten nodes/jane",
            "foreign-record nodes/jane",
        ]
    );
    place.ctx(&format!("verify {NOW}")).ok();
    // A backup restores the text.
    place.write("nodes/.versions/jane/v2.md", "---\ntitle: jane\n---\n\nPineapple.\n");
    let found = findings(&place);
    assert!(found.contains(&"forgotten-present nodes/jane".to_owned()), "{found:?}");
    place.ctx(&format!("verify {NOW}")).exits(1);
    for line in [
        "read nodes/jane",
        "read nodes/jane@2",
        "read nodes/jane --at 3",
        "show nodes/jane@2",
        "diff nodes/jane 2 3",
        "blame nodes/jane",
        "resolve contextnest://nodes/jane@3",
        "search pineapple",
        "checkout --at 3 -o out",
        "restore nodes/jane@2",
    ] {
        let shown = place.ctx(line);
        assert!(!shown.whole().contains("Pineapple."), "{line}: {}", shown.whole());
    }
}

#[test]
fn marked_text_of_a_vault_of_ours_is_not_served() {
    let place = Place::published(&[("nodes/a", "# A\n\nPineapple.\n")]);
    let entry = "    tombstone: true\n    content_hash";
    place.edit("nodes/.versions/a/history.yaml", "    content_hash", entry);
    names(&place.ctx("read nodes/a"), "error[withheld]");
    damaged(&place, "entry-malformed nodes/a");
}

/// A history that has both versions was not begun again: the checkpoint restores an older text.
#[test]
fn version_that_goes_back_within_one_history_stays_damage() {
    let place = vault("deleted");
    let log = place.read(LOG);
    let head = log.rsplit("  - checkpoint: ").next().unwrap();
    let history = place.read("nodes/.versions/back/history.yaml");
    let first = history.split_once("chain_hash: ").unwrap().1.lines().next().unwrap();
    let mut marks: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    for line in head.lines() {
        let Some((id, value)) = line.strip_prefix("      ").and_then(|l| l.split_once(": ")) else {
            continue;
        };
        match value.parse() {
            Ok(version) => marks.entry(id).or_default().0 = version,
            Err(_) => marks.entry(id).or_default().1 = value,
        }
    }
    assert_eq!(marks["nodes/back"].0, 3);
    marks.insert("nodes/back", (2, first));
    let mark = |(id, (version, hash)): (&&str, &(u64, &str))| {
        (id.parse().unwrap(), Mark::new(Version(*version), hash.parse().unwrap()))
    };
    let state: PublishedSet = marks.iter().map(mark).collect();
    let previous: Digest =
        head.trim_end().rsplit("checkpoint_hash: ").next().unwrap().parse().unwrap();
    let (at, trigger) = ("2026-11-27T07:00:00.000Z", "nodes/back");
    let hash = state.hash(Some(&previous), CheckpointNumber(8), at.parse().unwrap(), trigger);
    let versions: String =
        marks.iter().map(|(id, (version, _))| format!("      {id}: {version}\n")).collect();
    let hashes: String = marks.iter().map(|(id, (_, h))| format!("      {id}: {h}\n")).collect();
    let entry = format!(
        "  - checkpoint: 8\n    at: '{at}'\n    triggered_by: {trigger}\n    document_versions:\n\
         {versions}    document_chain_hashes:\n{hashes}    checkpoint_hash: {hash}\n"
    );
    place.write(LOG, log.clone() + &entry);
    damaged(&place, "version-regression nodes/back");
    assert_eq!(place.ctx("read nodes/back").exits(1).stdout, "");
    // Truncating the later version does not make it another history either.
    let (cut, _) = history.split_once("  - version: 3\n").unwrap();
    place.write("nodes/.versions/back/history.yaml", cut);
    damaged(&place, "version-regression nodes/back");
    assert_eq!(place.ctx("read nodes/back").exits(1).stdout, "");
}
