//! Edge cases of the rules of a verifier: which of two findings it reports, with which values, and
//! what it does not report.

use insta::assert_snapshot;

use crate::harness::{Output, Place};

const LOG: &str = ".versions/checkpoints.jsonl";
const HISTORY: &str = "nodes/.versions/a/history.yaml";
const FIRST: &str = "nodes/.versions/a/v1.md";

/// Returns a vault with three versions of a document, each with its own event.
fn three() -> Place {
    let body = |word: &str| format!("# A\n\n{word}\n\none\ntwo\nthree\nfour\nfar\n");
    let place = Place::published(&[("nodes/a", &body("first"))]);
    for (before, after) in [("first", "second"), ("second", "third")] {
        place.edit("nodes/a.md", before, after);
        place.ctx("publish nodes/a").ok();
    }
    place
}

/// Returns one line for each finding, from the files alone, without a trusted head.
fn found(place: &Place) -> String {
    shown_text(&place.typed("verify --json").without("HOME").run())
}

fn shown_text(output: &Output) -> String {
    let json = output.json("ctx.verify");
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => format!(" {text}"),
        other => format!(" {other}"),
    };
    let line = |finding: &serde_json::Value| {
        let [code, version, path] = ["code", "version", "path"].map(|key| text(&finding[key]));
        let [message, expected, found] =
            ["message", "expected", "found"].map(|key| text(&finding[key]));
        let values = match expected.is_empty() && found.is_empty() {
            true => String::new(),
            false => format!(" ({} /{})", expected.trim(), found),
        };
        format!("{}{version} in{path}:{message}{values}\n", code.trim())
    };
    json["findings"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn the_head_of_a_damaged_vault_is_not_trusted() {
    let place = three().duplicate();
    place.edit(FIRST, "far", "fur");
    place.ctx("verify").exits(1);
    assert!(place.ctx("head --json").ok().json("ctx.head")["remembered"].is_null());
}

#[test]
fn verify_counts_bytes_after_the_last_whole_entry() {
    let place = three();
    let whole = place.bytes(HISTORY);
    place.write(HISTORY, [&whole[..], b"  - version: 4\n    ed"].concat());
    assert_snapshot!(found(&place), @"torn-tail in nodes/.versions/a/history.yaml: 21 bytes follow its last whole entry");
    place.began("2026-11-21T10:01:00.000Z");
    assert_snapshot!(shown_text(&place.ctx("verify --json").ok()), @"unfinished in nodes/.versions/a/history.yaml: it ends in 21 bytes that no checkpoint seals");
    // A whole entry of the event is followed by the beginning of another.
    place.write(HISTORY, &whole);
    let duplicate = place.duplicate();
    duplicate.edit("nodes/a.md", "third", "fourth");
    duplicate.ctx("publish nodes/a").ok();
    place.write(HISTORY, [&duplicate.bytes(HISTORY)[..], b"  - v"].concat());
    place.began(&crate::harness::instant_of(&duplicate.read(HISTORY)));
    assert_snapshot!(shown_text(&place.ctx("verify --json").ok()), @"unfinished in nodes/.versions/a/history.yaml: it ends in 1 entry and 5 bytes that no checkpoint seals");
}

#[test]
fn an_unreadable_first_history_of_an_interrupted_writer_is_cleared_away() {
    let place = three();
    place.write("nodes/.versions/b/history.yaml", "\0\0\0\n");
    assert_snapshot!(found(&place), @r"history-unreadable in nodes/.versions/b/history.yaml: the history cannot be read: line 1, column 1: unexpected character: `\u{0}'");
    place.began("2026-11-21T10:01:00.000Z");
    assert_snapshot!(shown_text(&place.ctx("verify --json").ok()), @r"unfinished in nodes/.versions/b/history.yaml: the history cannot be read: line 1, column 1: unexpected character: `\u{0}'");
    // Sealed records are damaged all the same.
    place.write(HISTORY, "\0\0\0\n");
    let output = place.ctx("verify --json").exits(1);
    assert!(shown_text(&output).contains(&format!("history-unreadable in {HISTORY}")));
}

/// The retirement after the last sealed version is sealed when the maps drop the id.
#[test]
fn a_retirement_that_was_cut_short_is_damage() {
    let place = three();
    place.ctx("retire nodes/a").ok();
    let whole = place.read(HISTORY);
    let at = whole.rfind("edited_at").unwrap();
    place.write(HISTORY, &whole[..at + 3]);
    assert_snapshot!(found(&place), @"history-unreadable in nodes/.versions/a/history.yaml: the history cannot be read: line 44, column 5: simple key expected ':', but the log seals 3 of its versions");
    place.write(HISTORY, &whole);
    assert_eq!(found(&place), "");
}

#[test]
fn keys_that_mean_nothing_are_named_and_counted() {
    let place = three();
    let keys: String = (0..12).map(|n| format!("key{n}: x\n")).collect();
    place.write(HISTORY, keys + &place.read(HISTORY));
    assert_snapshot!(found(&place), @"
    history-respelled in nodes/.versions/a/history.yaml: it does not have the bytes that ctx writes
    key-unknown in nodes/.versions/a/history.yaml: 4 more unknown keys
    key-unknown in nodes/.versions/a/history.yaml: line 1: unknown key `key0`
    key-unknown in nodes/.versions/a/history.yaml: line 2: unknown key `key1`
    key-unknown in nodes/.versions/a/history.yaml: line 3: unknown key `key2`
    key-unknown in nodes/.versions/a/history.yaml: line 4: unknown key `key3`
    key-unknown in nodes/.versions/a/history.yaml: line 5: unknown key `key4`
    key-unknown in nodes/.versions/a/history.yaml: line 6: unknown key `key5`
    key-unknown in nodes/.versions/a/history.yaml: line 7: unknown key `key6`
    key-unknown in nodes/.versions/a/history.yaml: line 8: unknown key `key7`
    ");
}

#[test]
fn each_broken_version_is_reported_without_its_consequences() {
    let place = three();
    // The keyframe has a changed line that no diff touches, and the third version another maker.
    place.edit(FIRST, "far", "fur");
    let history = place.read(HISTORY);
    let (before, last) = history.rsplit_once("edited_by: ana@").unwrap();
    place.write(HISTORY, format!("{before}edited_by: eve@{last}"));
    assert_snapshot!(found(&place), @"
    content-hash-mismatch 1 in nodes/.versions/a/v1.md: the stored text or diff does not have the recorded hash, but its history fits if white space is ignored: a formatter such as prettier, markdownlint or a hook of pre-commit may have rewritten it (a change of lines that all later versions keep looks the same) (sha256:fbe1f783e10605c7e365b6c02ac28fb71cdb1df6da9f0ef19fbd4f517955ffd1 / sha256:461ee0a85c9e128545661bd3d0b7b7f4c6ea60e643fa0e3e763b81f7c55cb497)
    chain-hash-mismatch 3 in nodes/.versions/a/history.yaml: the chain hash does not follow from the entry and the one before (sha256:5d71f3d0f0ef5f051abd3d399c4c5553b0f2f496c1b2fe0c6363c70433ef1f5a / sha256:9be6c36b362309a77670ce2fe99fca52bb50e10f7a63a1cb5c3b3dd0abfb6c3c)
    checksum-mismatch 1 in nodes/.versions/a/history.yaml: its `checksum` field does not match its body (sha256:ea32530540573df4f4f15c4fff1ac04d2f428c41058b100cb928e60e96b2a268 / sha256:8004ff2390d8aba5825021a45d77b160dfd53eba9facd7d6004cad78ce26209a)
    checksum-mismatch 2 in nodes/.versions/a/history.yaml: its `checksum` field does not match its body (sha256:a81a95146893c23a8c4077a7004bbb507750bcc6b77e68811cc5a08ad02ca741 / sha256:6eee755172ed1b46595ef8f603e818208fcd91d9a867fbc483ff5477a65af52c)
    checksum-mismatch 3 in nodes/.versions/a/history.yaml: its `checksum` field does not match its body (sha256:f9ab411787dacc6ea7425f5ad27b9bb74e2dd0939a991f92b783d5d98541fa60 / sha256:999fe9ec2853f1b0a2a9348abe5a1ef632038e74426d6dfaddff6a941c6fddf7)
    ");
}

#[test]
fn nothing_is_compared_with_a_text_that_is_not_the_recorded_one() {
    let place = three();
    place.edit(FIRST, "far", "fur");
    assert!(!found(&place).contains("drift"), "{}", found(&place));
}

/// An entry is in the history, wherever its text is.
#[test]
fn an_entry_that_was_altered_is_looked_for_in_the_history() {
    let place = three();
    place.edit(HISTORY, "edited_by: ana@", "edited_by: eve@");
    let told = found(&place);
    assert!(told.starts_with(&format!("chain-hash-mismatch 1 in {HISTORY}:")), "{told}");
}

#[test]
fn a_lost_text_hides_no_other_fault() {
    let place = three();
    place.remove(FIRST);
    let history = place.read(HISTORY);
    let at = history.find("  - version: 2").unwrap();
    let (before, after) = history.split_at(at);
    place.write(HISTORY, format!("{before}{}", after.replacen("by: ana@", "by: eve@", 1)));
    let told = found(&place);
    let codes: Vec<&str> = told.lines().filter_map(|line| line.split(" in ").next()).collect();
    assert_eq!(codes, ["keyframe-missing 1", "chain-hash-mismatch 2"]);
}

#[test]
fn a_self_description_mismatch_shows_both_values() {
    let place = three();
    place.edit(FIRST, "version: 1", "version: 7");
    assert_snapshot!(found(&place), @"
    content-hash-mismatch 1 in nodes/.versions/a/v1.md: the stored text or diff does not have the recorded hash (sha256:fbe1f783e10605c7e365b6c02ac28fb71cdb1df6da9f0ef19fbd4f517955ffd1 / sha256:51a0597af6e64fb8a10da26ddabcf012902ec29c7d89d67ff8f9a1a0854d6d41)
    version-self-mismatch 1 in nodes/.versions/a/v1.md: the text states another version or status than its entry (version 1, published / version 7, published)
    version-unreconstructable 2 in nodes/.versions/a/history.yaml: the diff does not apply: line 7 of the diff: the text has another line here
    ");
    let place = three();
    place.write(FIRST, vec![b'x'; (16 << 20) + 1]);
    assert_snapshot!(found(&place), @"too-large 1 in nodes/.versions/a/v1.md: `nodes/.versions/a/v1.md` is larger than 16777216 bytes");
}

#[test]
fn a_history_begins_with_its_first_version_and_goes_on_by_one() {
    let place = three();
    let history = place.read(HISTORY);
    let parts: Vec<&str> = history.split_inclusive("  - version: ").collect();
    let (head, first, second, third) = (parts[0], parts[1], parts[2], parts[3]);
    let entry = |text: &str| text.trim_end_matches("  - version: ").to_owned();
    let lay = |order: [&str; 3]| {
        let entries = order.map(entry).join("  - version: ");
        place.write(HISTORY, format!("{head}{entries}"));
        let all = found(&place);
        let numbers = ["version-gap", "version-order", "version-duplicate"];
        let kept = all.lines().filter(|line| numbers.iter().any(|n| line.starts_with(n)));
        kept.map(|line| format!("{line}\n")).collect::<String>()
    };
    assert_eq!(lay([first, second, third]), "");
    assert_snapshot!(lay([second, first, third]), @"
    version-order 1 in nodes/.versions/a/history.yaml: it follows version 2
    version-gap 2 in nodes/.versions/a/history.yaml: the history begins at version 2
    version-gap 3 in nodes/.versions/a/history.yaml: it follows version 1; the versions between are missing
    ");
    assert_snapshot!(lay([first, third, second]), @"
    version-order 2 in nodes/.versions/a/history.yaml: it follows version 3
    version-gap 3 in nodes/.versions/a/history.yaml: it follows version 1; the versions between are missing
    ");
    assert_snapshot!(lay([first, second, second]), @"version-duplicate 2 in nodes/.versions/a/history.yaml: it is recorded twice, as after a git merge with `merge=union`");
}

#[test]
fn only_what_is_later_than_the_clock_is_of_the_future() {
    let place = three();
    let at = crate::harness::instant_of(&place.read(HISTORY));
    let verify = |now: &str| {
        shown_text(&place.typed("verify --json").without("HOME").var("CTX_NOW", now).run())
    };
    assert_eq!(verify(&at), "");
    assert_snapshot!(verify("2026-11-21T10:00:02.500Z"), @"
    timestamp-future 3 in nodes/.versions/a/history.yaml: it is from 2026-11-21T10:00:03.000Z, later than the clock
    timestamp-future in .versions/checkpoints.jsonl: it is dated 2026-11-21T10:00:03.000Z, but the clock says 2026-11-21T10:00:02.500Z
    ");
}

/// A retirement is compared with the last published version, whatever came before.
#[test]
fn a_document_with_a_past_is_retired_and_published_again() {
    let place = three();
    place.ctx("retire nodes/a").ok();
    assert_eq!(found(&place), "");
    place.edit("nodes/a.md", "status: draft", "status: published");
    place.edit("nodes/a.md", "third", "fifth");
    place.ctx("publish nodes/a").ok();
    place.ctx("retire nodes/a").ok();
    assert_eq!(found(&place), "");
}

#[test]
fn a_history_of_an_impossible_name_is_reported() {
    let place = three();
    place.write("nodes/.versions/INDEX/history.yaml", place.bytes(HISTORY));
    place.write("nodes/.versions/INDEX/v1.md", place.bytes(FIRST));
    let told = found(&place);
    assert!(told.contains("id-collision in nodes/.versions/INDEX"), "{told}");
}

#[test]
fn a_log_that_is_a_link_is_named() {
    let place = three();
    let log = place.bytes(LOG);
    place.write("elsewhere", log);
    place.remove(LOG);
    std::os::unix::fs::symlink(place.path("elsewhere"), place.path(LOG)).unwrap();
    let told = found(&place);
    assert!(told.starts_with(&format!("checkpoint-log-unreadable in {LOG}")), "{told}");
}
