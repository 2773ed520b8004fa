//! Tests of reading, extending and damaging histories.

use super::*;
use proptest::prelude::*;

fn entry(version: u64, stored: TextStorage, note: Option<String>) -> Entry {
    let at: Timestamp = "2026-11-21T20:06:06.689Z".parse().unwrap();
    Entry {
        version: Version(version),
        stored,
        edited_by: "ana@example.com".to_owned(),
        edited_at: at,
        state: EntryState::Published(at),
        note,
        forget: Forget::None,
        content_hash: Digest::of(b"content"),
        chain_hash: Digest::of(b"chain"),
    }
}

#[test]
fn history_append_uses_one_spelling() {
    let mut history = History::new().append(&entry(1, TextStorage::Keyframe, None), 10).unwrap();
    let parsed = History::parse(history.as_bytes()).unwrap();
    let second = entry(2, TextStorage::Diff("--- v1\n+++ v2\n".to_owned()), Some("why: so".into()));
    history.push_str(&parsed.append(&second, 10).unwrap());
    insta::assert_snapshot!(history, @r"
    keyframe_interval: 10
    versions:
      - version: 1
        keyframe: true
        edited_by: ana@example.com
        edited_at: '2026-11-21T20:06:06.689Z'
        published_at: '2026-11-21T20:06:06.689Z'
        content_hash: sha256:ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73
        chain_hash: sha256:9414886b1ebf025db067a4cbd13a0903fbd9733a5372bba1b58bd72c1699b798
      - version: 2
        diff: |
          --- v1
          +++ v2
        edited_by: ana@example.com
        edited_at: '2026-11-21T20:06:06.689Z'
        published_at: '2026-11-21T20:06:06.689Z'
        note: 'why: so'
        content_hash: sha256:ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73
        chain_hash: sha256:9414886b1ebf025db067a4cbd13a0903fbd9733a5372bba1b58bd72c1699b798
    ");
}

#[test]
fn history_parse_collects_the_faults_of_each_entry() {
    let text = "versions:\n  - version: 01\n    keyframe: yes\n    edited_by: ''\n    \
                edited_at: 2026-11-21\n    content_hash: md5:00\n    chain_hash: sha256:0\n  - 7\n";
    let history = History::parse(text.as_bytes()).unwrap();
    let faults: Vec<String> = history
        .slots
        .iter()
        .flat_map(|s| s.entry.as_ref().unwrap_err())
        .map(|f| format!("{:?} {} `{}` on line {}", f.kind, f.field, f.found, f.line))
        .collect();
    insta::assert_snapshot!(faults.join("\n"), @"
    FieldMalformed version `01` on line 2
    FieldMalformed keyframe `yes` on line 3
    FieldMalformed edited_by `` on line 4
    TimestampMalformed edited_at `2026-11-21` on line 5
    UnknownHashAlgorithm content_hash `md5:00` on line 6
    FieldMalformed chain_hash `sha256:0` on line 7
    EntryMalformed version `nothing` on line 8
    EntryMalformed edited_by `nothing` on line 8
    EntryMalformed edited_at `nothing` on line 8
    EntryMalformed content_hash `nothing` on line 8
    EntryMalformed chain_hash `nothing` on line 8
    ");
}

#[test]
fn history_parse_refuses_files_that_are_not_histories() {
    for (text, expected) in [
        ("", "line 1, column 1: expected `versions:`"),
        ("versions:\n", "it contains no version"),
        ("versions: []\n", "it contains no version"),
        ("versions: 3\n", "line 1, column 11: expected a list of versions"),
        ("keyframe_interval: 0\nversions: [1]\n", "line 1, column 20: expected a number above 0"),
    ] {
        assert_eq!(History::parse(text.as_bytes()).unwrap_err().to_string(), expected);
    }
}

#[test]
fn history_append_refuses_spellings_that_it_would_break() {
    let first = History::new().append(&entry(1, TextStorage::Keyframe, None), 10);
    let good = first.unwrap();
    for text in [
        "versions: [{version: 1}]\n".to_owned(),
        good.replace("versions:\n  - version", "versions:\n  -   version")
            .replace("\n    ", "\n      "),
        good.replace("\n  - ", "\n  -\n    "),
        format!("{good}...\n"),
        format!("{good}\r...\n"),
        format!("{good}more: 1\n"),
    ] {
        let history = History::parse(text.as_bytes()).unwrap();
        let second = entry(2, TextStorage::Keyframe, None);
        assert_eq!(history.append(&second, 10), Err(AppendError::Spelling), "{text}");
    }
    let unindented = good.replace("\n  ", "\n");
    let history = History::parse(unindented.as_bytes()).unwrap();
    let second = entry(2, TextStorage::Diff("--- v1\n+++ v2\n".to_owned()), None);
    let text = history.append(&second, 10).unwrap();
    let both = History::parse(format!("{unindented}{text}").as_bytes()).unwrap();
    assert_eq!(both.slots[1].entry, Ok(second));
    assert_eq!(both.slots[1].at, unindented.len() as u64);
}

#[test]
fn history_parse_reports_a_version_beyond_the_limit() {
    let text = History::new().append(&entry(1, TextStorage::DiffFile, None), 10).unwrap();
    let more = text.split_once("versions:\n").unwrap().1.to_owned();
    let text = text.replace("version: 1", "version: 18446744073709551615") + &more;
    let history = History::parse(text.as_bytes()).unwrap();
    assert!(matches!(history.chain_to(Version(1)), Err(ChainGap::Faulty(3, _))));
}

#[test]
fn chain_to_names_the_missing_version() {
    let spelled = |entries: &[Entry]| -> History {
        let first = History::new().append(&entries[0], 10).unwrap();
        let more = entries[1..].iter().map(|entry| spell(entry, spelling::INDENT));
        History::parse((first + &more.collect::<String>()).as_bytes()).unwrap()
    };
    let full = |n| entry(n, TextStorage::Keyframe, None);
    let diff = |n| entry(n, TextStorage::Diff("--- \n".to_owned()), None);
    let gap = spelled(&[full(1), diff(2), diff(5), diff(6)]);
    assert_eq!(gap.chain_to(Version(6)), Err(ChainGap::Missing(Version(4))));
    assert_eq!(gap.chain_to(Version(3)), Err(ChainGap::Missing(Version(3))));
    assert_eq!(spelled(&[diff(1), diff(2)]).chain_to(Version(2)), Err(ChainGap::NoKeyframe));
    let (before, chain) = gap.chain_to(Version(2)).unwrap();
    assert_eq!((before, chain.len()), (None, 2));

    let two = spelled(&[diff(1), full(2), diff(3)]);
    let (before, chain) = two.chain_to(Version(3)).unwrap();
    let versions: Vec<Version> = chain.iter().map(|entry| entry.version).collect();
    assert_eq!((before, versions), (Some(Digest::of(b"chain")), vec![Version(2), Version(3)]));
    let mut faulty = two.clone();
    faulty.slots[0].entry = Err(Vec::new());
    assert_eq!(
        faulty.chain_to(Version(3)),
        Err(ChainGap::Faulty(faulty.slots[0].line, Vec::new()))
    );
}

#[test]
fn history_append_refuses_to_exceed_the_limit() {
    let mut history = History::parse(
        History::new().append(&entry(1, TextStorage::Keyframe, None), 10).unwrap().as_bytes(),
    )
    .unwrap();
    let second = entry(2, TextStorage::Keyframe, None);
    let text = history.append(&second, 10).unwrap();
    history.length = limit::HISTORY - text.len() as u64;
    assert_eq!(history.append(&second, 10), Ok(text));
    history.length += 1;
    assert_eq!(history.append(&second, 10), Err(AppendError::TooLarge));
}

#[test]
fn history_parse_limits_the_number_of_faulty_entries() {
    let rubbish = |n| History::parse(format!("versions:\n{}", "- 7\n".repeat(n)).as_bytes());
    assert_eq!(rubbish(read::MAX_FAULTY).unwrap().slots.len(), read::MAX_FAULTY);
    assert!(rubbish(read::MAX_FAULTY + 1).is_err_and(|why| why.to_string().contains("malformed")));
}

#[test]
fn history_parse_limits_the_length_of_a_line() {
    let good = History::new().append(&entry(1, TextStorage::Keyframe, None), 10).unwrap();
    let with = |length: usize| format!("{good}#{}\n", "x".repeat(length - 1));
    assert!(History::parse(with(limit::LINE).as_bytes()).is_ok());
    let line = good.lines().count() + 1;
    let why = History::parse(with(limit::LINE + 1).as_bytes());
    assert_eq!(why, Err(HistoryError::LineTooLong(line)));
}

proptest! {
    #[test]
    fn history_parse_reads_appends_back(texts in prop::collection::vec("(?s).{0,30}", 1..6)) {
        let mut bytes = String::new();
        let mut expected = Vec::new();
        for (n, text) in texts.iter().enumerate() {
            let stored = if n == 0 { TextStorage::Keyframe } else { TextStorage::Diff(text.clone()) };
            let new = entry(n as u64 + 1, stored, Some(text.clone()));
            let history = if n == 0 { History::new() } else { History::parse(bytes.as_bytes()).unwrap() };
            bytes.push_str(&history.append(&new, 10).unwrap());
            expected.push(new);
        }
        let read: Vec<Entry> = History::parse(bytes.as_bytes()).unwrap()
            .slots.into_iter().map(|s| s.entry.unwrap()).collect();
        prop_assert_eq!(read, expected);
    }
}
