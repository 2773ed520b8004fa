//! The one spelling of a history that ctx writes (`spec/history.md`, HIST-35), and a reader of
//! exactly that spelling.
//!
//! Nearly every history of a vault has this spelling, and a scan of its lines is many times faster
//! than a YAML reader. The scan accepts nothing else: a field is accepted only if spelling its
//! value returns the same bytes. All other histories are left to the YAML reader.

use super::{Entry, EntryState, Forget, History, Slot, Tail, TextStorage, UnknownKeys};
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;
use crate::values::yaml::{canonical_number, emit, exact};

/// Indentation of entries in a file that ctx began.
pub(super) const INDENT: usize = 2;

/// Returns the text before the first entry.
pub(super) fn head(keyframe_interval: u64) -> String {
    format!("keyframe_interval: {keyframe_interval}\nversions:\n")
}

/// Spells an entry whose dash is indented by `indent` blanks.
pub(super) fn spell(entry: &Entry, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let mut out = format!("{pad}- version: {}\n", entry.version);
    let mut line = |key: &str, value: &str| out.push_str(&format!("{pad}  {key}:{value}"));
    match &entry.stored {
        TextStorage::Keyframe => line("keyframe", " true\n"),
        TextStorage::Diff(diff) => line("diff", &emit::long_text(diff, indent + 2)),
        TextStorage::DiffFile => {}
    }
    let time = |t: Timestamp| format!(" {}\n", emit::scalar(&t.to_string()));
    line("edited_by", &format!(" {}\n", emit::scalar(&entry.edited_by)));
    line("edited_at", &time(entry.edited_at));
    match entry.state {
        EntryState::Published(at) => line("published_at", &time(at)),
        EntryState::Retired(at) => line("retired_at", &time(at)),
        EntryState::Unpublished => {}
    }
    if let Some(note) = &entry.note {
        line("note", &format!(" {}\n", emit::scalar(note)));
    }
    line("content_hash", &format!(" {}\n", entry.content_hash));
    line("chain_hash", &format!(" {}\n", entry.chain_hash));
    out
}

/// Reads a history in the spelling of ctx; `None` for any other.
pub(super) fn read(text: &str) -> Option<History> {
    let mut scan = Scan { rest: text, line: 1 };
    let interval = scan.field("keyframe_interval: ").and_then(canonical_number)?;
    scan.field("versions:").filter(|rest| rest.is_empty())?;
    let mut slots = Vec::new();
    while !scan.rest.is_empty() {
        let (line, at) = (scan.line, (text.len() - scan.rest.len()) as u64);
        let entry = scan.entry()?;
        slots.push(Slot { line, at, version: Some(entry.version), entry: Ok(entry) });
    }
    if interval == 0 || slots.is_empty() {
        return None;
    }
    slots.shrink_to_fit();
    Some(History {
        keyframe_interval: Some(interval),
        slots,
        length: text.len() as u64,
        torn: 0,
        canonical: true,
        unknown: UnknownKeys::default(),
        tail: Some(Tail { newline: true, indent: INDENT }),
    })
}

/// The rest of a text, and the number of its first line.
struct Scan<'t> {
    rest: &'t str,
    line: usize,
}

impl<'t> Scan<'t> {
    /// Returns the rest of the line if it begins with `key`.
    fn field(&mut self, key: &str) -> Option<&'t str> {
        let (value, rest) = self.rest.strip_prefix(key)?.split_once('\n')?;
        self.rest = rest;
        self.line += 1;
        Some(value)
    }

    fn entry(&mut self) -> Option<Entry> {
        let version = canonical_number(self.field("  - version: ")?)?;
        let stored = self.stored()?;
        let edited_by = exact::scalar(self.field("    edited_by: ")?)?.into_owned();
        let edited_at = self.time("    edited_at: ")?;
        let published_at = self.optional_time("    published_at: ")?;
        let retired_at = self.optional_time("    retired_at: ")?;
        // The other reader reports entries that break a rule.
        let state = EntryState::of(published_at, retired_at)?;
        let note = match self.field("    note: ") {
            Some(note) => Some(exact::scalar(note)?.into_owned()),
            None => None,
        };
        let content_hash = self.field("    content_hash: ")?.parse().ok()?;
        let chain_hash = self.field("    chain_hash: ")?.parse().ok()?;
        let version = Version::recordable(version)?;
        let sound = !edited_by.is_empty() && !edited_by.chars().any(char::is_control);
        sound.then_some(Entry {
            version,
            stored,
            edited_by,
            edited_at,
            state,
            note,
            forget: Forget::None,
            content_hash,
            chain_hash,
        })
    }

    fn stored(&mut self) -> Option<TextStorage> {
        match self.field("    keyframe: ") {
            Some("true") => return Some(TextStorage::Keyframe),
            Some(_) => return None,
            None => {}
        }
        match self.field("    diff: ") {
            Some("|") => self.block().map(TextStorage::Diff),
            Some(quoted) => exact::long_text(quoted).map(TextStorage::Diff),
            None => Some(TextStorage::DiffFile),
        }
    }

    /// Returns the text of a literal block, if its spelling is that of ctx.
    fn block(&mut self) -> Option<String> {
        const PAD: &str = "      ";
        let begin = self.rest;
        let mut lines = 0;
        loop {
            match self.rest.strip_prefix(PAD) {
                // In this spelling, an empty line is not indented.
                Some(line) if line.starts_with('\n') => return None,
                Some(line) => self.rest = line.split_once('\n')?.1,
                None => match self.rest.strip_prefix('\n') {
                    Some(rest) => self.rest = rest,
                    None => break,
                },
            }
            lines += 1;
        }
        self.line += lines;
        let block = &begin[..begin.len() - self.rest.len()];
        let mut text = String::with_capacity(block.len().saturating_sub(lines * PAD.len()));
        for line in block.split_inclusive('\n') {
            text.push_str(line.strip_prefix(PAD).unwrap_or(line));
        }
        emit::is_exact_block(&text).then_some(text)
    }

    fn time(&mut self, key: &str) -> Option<Timestamp> {
        self.optional_time(key)?
    }

    /// Returns the time in single quotes under `key`, if the key is present. A time has
    /// one spelling.
    fn optional_time(&mut self, key: &str) -> Option<Option<Timestamp>> {
        let Some(value) = self.field(key) else { return Some(None) };
        let time = value.strip_prefix('\'')?.strip_suffix('\'')?;
        time.parse().ok().map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::chain::history::read;
    use crate::values::model::digest::Digest;
    use crate::values::model::number::MAX_NUMBER;
    use proptest::prelude::*;

    /// Reads a text both ways; returns true if the scan accepts it.
    fn is_read_alike(text: &str) -> bool {
        let Some(scanned) = read(text) else {
            return false;
        };
        let parsed = read::history(text).map(|parsed| History { canonical: true, ..parsed });
        assert_eq!(Ok(scanned), parsed, "{text:?}");
        true
    }

    fn stored() -> impl Strategy<Value = TextStorage> {
        prop_oneof![
            Just(TextStorage::Keyframe),
            Just(TextStorage::DiffFile),
            "(?s).{0,30}".prop_map(TextStorage::Diff),
            "[ -~\t\n\r\u{85}\u{2028}é😀]{0,40}\n".prop_map(TextStorage::Diff),
            "--- v1\n\\+\\+\\+ v2\n(@@ -1,2 \\+1,2 @@\n([ +-][a-z:#'\" -]{0,6}[a-z]\n|\n){1,5}){0,2}"
                .prop_map(TextStorage::Diff),
        ]
    }

    fn entry() -> impl Strategy<Value = Entry> {
        let note = prop::option::of("(?s).{0,12}|[a-zA-Z:' #|>@-]{0,12}");
        let time = (0..9_999_999_999_999i64).prop_map(Timestamp::from_millis);
        let event = prop_oneof![Just(None), Just(Some(true)), Just(Some(false))];
        (stored(), "\\PC{1,12}|[a-z: ]{1,8}", time, event, note, any::<u64>()).prop_map(
            |(stored, edited_by, at, event, note, seed)| Entry {
                version: Version(seed % (MAX_NUMBER + 1)),
                stored,
                edited_by,
                edited_at: at,
                state: match event {
                    Some(true) => EntryState::Published(at),
                    Some(false) => EntryState::Retired(at),
                    None => EntryState::Unpublished,
                },
                note,
                forget: Forget::None,
                content_hash: Digest::of(&seed.to_le_bytes()),
                chain_hash: Digest::of(b"chain"),
            },
        )
    }

    proptest! {
        #[test]
        fn scan_reads_every_history_that_ctx_writes(
            interval in 1u64.., entries in prop::collection::vec(entry(), 1..6)
        ) {
            let mut text = head(interval);
            entries.iter().for_each(|entry| text.push_str(&spell(entry, INDENT)));
            let sound = |entry: &Entry| {
                entry.version > Version::NONE && !entry.edited_by.chars().any(char::is_control)
            };
            prop_assert_eq!(is_read_alike(&text), entries.iter().all(sound));
        }

        #[test]
        fn scan_declines_any_other_indentation(entry in entry(), indent in 0usize..6) {
            let text = head(10) + &spell(&entry, indent);
            prop_assert!(indent == INDENT || !is_read_alike(&text));
        }
    }

    #[test]
    fn scan_declines_an_indented_empty_line() {
        let at = "2026-11-21T20:06:06.689Z".parse().unwrap();
        let entry = Entry {
            version: Version(1),
            stored: TextStorage::Diff("--- v1\n\n c\n".to_owned()),
            edited_by: "ana".to_owned(),
            edited_at: at,
            state: EntryState::Published(at),
            note: None,
            forget: Forget::None,
            content_hash: Digest::of(b"content"),
            chain_hash: Digest::of(b"chain"),
        };
        let text = head(10) + &spell(&entry, INDENT);
        assert!(is_read_alike(&text));
        let indented = text.replace("--- v1\n\n", "--- v1\n      \n");
        assert_ne!(indented, text);
        assert!(read(&indented).is_none());
    }

    #[test]
    fn scan_agrees_with_the_reader_or_declines_for_every_byte() {
        let at = "2026-11-21T20:06:06.689Z".parse().unwrap();
        let entry = |version, stored, note: Option<&str>| Entry {
            version,
            stored,
            edited_by: "ana".to_owned(),
            edited_at: at,
            state: if version == Version(3) {
                EntryState::Retired(at)
            } else {
                EntryState::Published(at)
            },
            note: note.map(str::to_owned),
            forget: Forget::None,
            content_hash: Digest::of(b"content"),
            chain_hash: Digest::of(b"chain"),
        };
        let block = "--- v1\n+++ v2\n@@ -1,2 +1,1 @@\n-a: b\n\n c\n".to_owned();
        let text = head(10)
            + &spell(&entry(Version(1), TextStorage::Keyframe, Some("it's # so")), INDENT)
            + &spell(
                &entry(Version(2), TextStorage::Diff(block), Some("tab\tand é\u{2028}")),
                INDENT,
            )
            + &spell(
                &entry(Version(3), TextStorage::Diff("a \n\"\\".to_owned()), Some("plain")),
                INDENT,
            );
        assert!(is_read_alike(&text));
        let mut taken = 0;
        for at in 0..text.len() {
            let others = b" \t\n\r'\"\\|:-#+09azAZ\x00\x7f.";
            let replaced = others.iter().map(|b| ([*b].to_vec(), at + 1));
            let inserted = others.iter().map(|b| ([*b].to_vec(), at));
            for (bytes, after) in replaced.chain(inserted).chain([(Vec::new(), at + 1)]) {
                let mutant = [&text.as_bytes()[..at], &bytes, &text.as_bytes()[after..]].concat();
                let mutant = String::from_utf8(mutant);
                taken += usize::from(mutant.is_ok_and(|mutant| is_read_alike(&mutant)));
            }
        }
        assert!(taken > text.len(), "some mutants must be accepted: {taken}");
    }
}
