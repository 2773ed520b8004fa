//! Blame of whole histories, valid and damaged.

use super::*;
use crate::prove::evidence::attribution::Span;
use crate::record::chain::diff;
use crate::record::chain::history::{EntryState, Forget};
use crate::record::chain::preimage::chain_hash;

/// A history of `CONTEXT.md` with these texts; every tenth version is a keyframe.
struct Written {
    place: tempfile::TempDir,
    files: Files,
    history: String,
    sealed: Vec<(Version, Digest)>,
}

impl Written {
    fn of(texts: &[String]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let (id, interval) = (DocumentId::instructions(), 10);
        let mut written = Self {
            files: Files::open(place.path()).unwrap(),
            place,
            history: String::new(),
            sealed: Vec::new(),
        };
        let mut before = "";
        for (version, text) in Version::sequence().zip(texts) {
            let is_keyframe = version == Version::FIRST || version.0.is_multiple_of(interval);
            let (stored, bytes) = if is_keyframe {
                written.write(&id.keyframe_path(version), text);
                (TextStorage::Keyframe, text.clone())
            } else {
                let diff = diff::print(before, text, version.previous(), version);
                (TextStorage::Diff(diff.clone()), diff)
            };
            let edited_by = format!("writer-{}", version.0 % 7);
            let edited_at = Timestamp::from_millis(version.0.cast_signed() * 1000);
            let previous = written.sealed.last().map(|(_, hash)| *hash);
            let content_hash = Digest::of(bytes.as_bytes());
            let chain_hash =
                chain_hash(previous.as_ref(), &content_hash, version, &edited_by, edited_at);
            // Some versions of a submission were never published.
            let state = match version.0 % 3 {
                0 => EntryState::Unpublished,
                _ => EntryState::Published(edited_at),
            };
            let entry = Entry {
                version,
                stored,
                edited_by,
                edited_at,
                state,
                note: None,
                forget: Forget::None,
                content_hash,
                chain_hash,
            };
            let history = written.parsed().unwrap_or_default();
            written.history += &history.append(&entry, interval).unwrap();
            written.sealed.push((version, chain_hash));
            before = text;
        }
        written
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.place.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn parsed(&self) -> Option<History> {
        History::parse(self.history.as_bytes()).ok()
    }

    fn blame(&self, version: usize) -> Result<Blame, String> {
        let history = self.parsed().unwrap();
        let sealed = self.sealed[version - 1];
        Blame::at(&self.files, &DocumentId::instructions(), &history, sealed).map_err(|found| {
            format!("{}: {}", found.version.map_or(0, |version| version.0), found.why)
        })
    }
}

fn of_lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn two_hundred_versions_are_followed_line_by_line() {
    // Each version replaces one line and appends one; no two lines are ever equal.
    let mut lines: Vec<(String, u64)> = Vec::new();
    let (mut texts, mut expected) = (Vec::new(), Vec::new());
    for version in 1..=200u64 {
        let place = usize::try_from(version * 7919).unwrap() % (lines.len() + 1);
        if let Some(line) = lines.get_mut(place) {
            *line = (format!("changed in {version}"), version);
        }
        lines.push((format!("added in {version}"), version));
        let (text, versions): (Vec<String>, Vec<u64>) = lines.iter().cloned().unzip();
        texts.push(of_lines(&text));
        expected.push(versions);
    }
    let written = Written::of(&texts);
    for version in [1, 9, 10, 11, 99, 100, 200] {
        let blame = written.blame(version).unwrap();
        let versions = |span: &Span| vec![span.version.0; span.end - span.start];
        let found: Vec<u64> = blame.attribution.spans().iter().flat_map(versions).collect();
        assert_eq!(found, expected[version - 1], "{version}");
        let used: BTreeSet<Version> = found.into_iter().map(Version).collect();
        assert!(used.iter().eq(blame.origins.keys()));
        for (version, origin) in &blame.origins {
            assert_eq!(origin.edited_by, format!("writer-{}", version.0 % 7));
            assert_eq!(*origin.author, *origin.edited_by);
            assert_eq!(origin.edited_at.millis(), version.0.cast_signed() * 1000);
        }
    }
}

#[test]
fn blame_reports_the_version_that_does_not_verify() {
    let texts: Vec<String> = (1..=12).map(|n| format!("# A\n\nText {n}.\n")).collect();
    let mut written = Written::of(&texts);
    assert!(written.blame(12).is_ok());
    let whole = written.history.clone();
    // Another text in a version that no text served later depends on.
    written.history = whole.replacen("+Text 2.", "+Text x.", 1);
    assert!(written.blame(12).unwrap_err().starts_with("2: the stored text has hash"));
    assert!(written.blame(1).is_ok(), "later versions do not matter");
    // A maker that no hash covers.
    written.history = whole.replacen("edited_by: writer-4", "edited_by: writer-x", 1);
    assert!(written.blame(12).unwrap_err().starts_with("4: the entry has chain hash"));
    // A missing version, and the history of another document.
    let (start, end) =
        (whole.find("  - version: 3\n").unwrap(), whole.find("  - version: 4\n").unwrap());
    written.history = format!("{}{}", &whole[..start], &whole[end..]);
    assert!(written.blame(12).unwrap_err().starts_with("4: "));
    written.history = whole.clone();
    written.sealed[11].1 = written.sealed[10].1;
    assert!(written.blame(12).unwrap_err().contains("but the checkpoint log"));
    written.sealed[11].0 = Version(13);
    assert_eq!(written.blame(12).unwrap_err(), "13: the history has no version 13");
    // A malformed entry.
    written.history = whole.replacen("    edited_by: writer-5\n", "", 1);
    assert!(written.blame(11).unwrap_err().starts_with("5: the entry on line"));
    // A keyframe with another text.
    written.history = whole;
    written.write(&DocumentId::instructions().keyframe_path(Version(10)), "x\n");
    assert!(written.blame(11).unwrap_err().starts_with("10: the stored text has hash"));
}

#[test]
fn lines_are_counted_from_bytes() {
    let text = "a\n\nb\nc";
    assert_eq!(Blame::lines_of(text, 0..6), 0..4);
    assert_eq!(Blame::lines_of(text, 3..5), 2..3);
    assert_eq!(Blame::lines_of(text, 2..2), 1..1);
    assert_eq!(Blame::lines_of("", 0..0), 0..0);
}
