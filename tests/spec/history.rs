//! Histories: hashes, diffs, and the rebuilt text of every version (`spec/history.md`).

use contextnest::files::vault::files::Files;
use contextnest::model::digest::Digest;
use contextnest::model::id::DocumentId;
use contextnest::model::number::Version;
use contextnest::model::timestamp::Timestamp;
use contextnest::record::chain::diff;
use contextnest::record::chain::history::{
    Entry, EntryState, FaultKind, Forget, History, TextStorage,
};
use contextnest::record::chain::preimage::chain_hash;
use contextnest::record::chain::replay::{load as load_history, reconstruct};
use contextnest::text::document::text::normalise;
use proptest::prelude::*;
use serde::Deserialize;

use crate::vectors::load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chain {
    name: String,
    previous: Option<String>,
    content_hash: String,
    version: Version,
    edited_by: String,
    edited_at: String,
    pre_image: String,
    chain_hash: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Print {
    name: String,
    old_version: Version,
    old: String,
    new: String,
    patch: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Apply {
    name: String,
    old: String,
    patch: String,
    new: Option<String>,
    #[serde(default)]
    refused: bool,
}

#[test]
fn a_chain_hash_binds_version_principal_and_time() {
    let cases: Vec<Chain> = load("chain/cases.json");
    for case in cases {
        let previous = case.previous.map(|p| p.parse::<Digest>().unwrap());
        let found = chain_hash(
            previous.as_ref(),
            &case.content_hash.parse().unwrap(),
            case.version,
            &case.edited_by,
            case.edited_at.parse().unwrap(),
        );
        assert_eq!(found.to_string(), case.chain_hash, "{}", case.name);
        assert_eq!(found, Digest::of(case.pre_image.as_bytes()), "{}", case.name);
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    name: String,
    text: String,
    refused: Vec<String>,
}

#[test]
fn a_field_of_an_entry_has_its_form_and_is_not_null() {
    let cases: Vec<Entries> = load("history/entries.json");
    for case in cases {
        // The fast reader of our own spelling and the reader of all YAML agree.
        for text in [case.text.clone(), format!("keyframe_interval: 10\n{}", case.text)] {
            let history = History::parse(text.as_bytes()).unwrap();
            let faults =
                history.slots.iter().filter_map(|slot| slot.entry.as_ref().err()).flatten();
            let faults: Vec<String> = faults
                .map(|fault| match fault.kind {
                    FaultKind::FieldMalformed => format!("field {}", fault.field),
                    other => panic!("{}: {other:?}", case.name),
                })
                .collect();
            assert_eq!(faults, case.refused, "{}", case.name);
        }
    }
}

#[test]
fn a_diff_is_printed_in_one_form() {
    let cases: Vec<Print> = load("diff/print.json");
    for case in cases {
        let found = diff::print(&case.old, &case.new, case.old_version, case.old_version.next());
        assert_eq!(found, case.patch, "{}", case.name);
        assert_eq!(diff::apply(&case.old, &found), Ok(case.new), "{}", case.name);
    }
}

#[test]
fn a_diff_applies_exactly_or_not_at_all() {
    let cases: Vec<Apply> = load("diff/apply.json");
    for case in cases {
        let found = diff::apply(&normalise(&case.old), &normalise(&case.patch));
        assert_eq!(found.is_err(), case.refused, "{}: {found:?}", case.name);
        assert_eq!(found.ok(), case.new, "{}", case.name);
    }
}

/// Lines that a patch, a YAML block or a reader of lines could mistake for its own.
const LINES: [&str; 26] = [
    "a\n",
    "b\n",
    "\n",
    " \n",
    "\t\n",
    "  indented\n",
    "ends in blanks  \n",
    "--- v1\n",
    "+++ v2\n",
    "---\n",
    "...\n",
    "@@ -1,1 +1,1 @@\n",
    "\\ No newline at end of file\n",
    "-\n",
    "+\n",
    "versions:\n",
    "  - version: 1\n",
    "# c: 'x' \"y\" \\n\n",
    "é😀日本\n",
    "\u{2028}x\u{85}y\u{b}z\n",
    "in\u{feff}side\n",
    "\u{0}\u{7}\u{7f}\n",
    "crlf\r\n",
    "lone\rcr\n",
    "cr cr lf\r\r\n",
    "no newline",
];

/// Draws edits: the position, the number of removed lines, and the added ones.
fn edits() -> impl Strategy<Value = Vec<(usize, usize, Vec<&'static str>)>> {
    let line = prop::sample::select(LINES.to_vec());
    let edit = (0..60_usize, 0..4_usize, prop::collection::vec(line, 0..5));
    prop::collection::vec(edit, 40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_version_of_forty_is_had_back(edits in edits(), interval in 1..13_u64, first in 1..3usize) {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        let id: DocumentId = "CONTEXT.md".parse().unwrap();
        let start: Timestamp = "2026-11-21T20:06:06.689Z".parse().unwrap();
        let (mut lines, mut texts): (Vec<&str>, Vec<String>) = (vec!["first\n"], Vec::new());
        let (mut previous, mut base) = (None, String::new());
        for (n, (at, taken, put)) in edits.into_iter().enumerate() {
            let at = at.min(lines.len());
            let end = (at + taken).min(lines.len());
            lines.splice(at..end, put);
            let text = normalise(&lines.concat()).into_owned();
            let version = Version::of_count(first + n);
            let patch = diff::print(&base, &text, version.previous(), version);
            let (stored, hashed) = if n == 0 || version.0.is_multiple_of(interval) {
                files.create_new(&id.keyframe_path(version), text.as_bytes()).unwrap();
                (TextStorage::Keyframe, text.clone())
            } else {
                (TextStorage::Diff(patch.clone()), patch)
            };
            let content_hash = Digest::of(normalise(&hashed).as_bytes());
            let edited_at = Timestamp::from_millis(start.millis() + n as i64);
            let by = "ana@example.com";
            let hash = chain_hash(previous.as_ref(), &content_hash, version, by, edited_at);
            let entry = Entry {
                version,
                stored,
                edited_by: by.to_owned(),
                edited_at,
                state: EntryState::Published(edited_at),
                note: None,
                forget: Forget::None,
                content_hash,
                chain_hash: hash,
            };
            let history = load_history(&files, &id).unwrap_or_default();
            let bytes = history.append(&entry, interval).unwrap();
            files.append(&id.history_path(), history.length, bytes.as_bytes()).unwrap();
            (previous, base) = (Some(hash), text.clone());
            texts.push(text);
        }
        let history = load_history(&files, &id).unwrap();
        for (n, text) in texts.iter().enumerate() {
            let found = reconstruct(&files, &id, &history, Version::of_count(first + n)).unwrap();
            prop_assert_eq!(&found, text, "version {}", first + n);
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Torn {
    name: String,
    text: String,
    /// The last version that the log seals; 0 if there is none.
    sealed: Version,
    #[serde(default)]
    refused: bool,
    entries: Option<usize>,
    faults: Option<usize>,
    torn: Option<u64>,
}

#[test]
fn a_torn_end_is_no_part_of_a_history() {
    let cases: Vec<Torn> = load("history/torn.json");
    for case in cases {
        let found = History::read(case.text.as_bytes(), case.sealed);
        assert_eq!(found.is_err(), case.refused, "{}", case.name);
        let Ok(history) = found else { continue };
        let faults = history.slots.iter().filter(|slot| slot.entry.is_err()).count();
        assert_eq!(
            (Some(history.slots.len()), Some(faults), Some(history.torn)),
            (case.entries, case.faults, case.torn),
            "{}",
            case.name
        );
    }
}
