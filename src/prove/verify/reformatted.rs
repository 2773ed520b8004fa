//! Explains stored texts without their recorded hash by a formatter: the diffs of the history still
//! apply if white space, or everything that formatters exchange, is ignored. That proves nothing
//! about lines that no diff touches, so the finding stays damage and only its message changes
//! (`spec/verify.md`, VER-38).

use std::collections::BTreeSet;

use crate::files::vault::files::Files;
use crate::record::chain::history::{Entry, History, TextStorage};
use crate::text::document::text::normalise;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;

/// Maximum number of bytes that are compared in one history.
const MOST: usize = 64 << 20;

/// Returns true for a character that is ignored.
pub(crate) type Ignored = fn(char) -> bool;

/// Characters that formatters exchange, with their name. Most formatters change white space only;
/// prettier also changes quotes, list markers, emphasis and the lines of tables.
pub(crate) const KINDS: [(Ignored, &str); 2] = [
    (char::is_whitespace, "white space"),
    (
        |c| c.is_whitespace() || matches!(c, '\'' | '"' | '*' | '_' | '-' | '+' | '|' | '\\'),
        "white space, quotes and signs of Markdown",
    ),
];
/// Programs that exchange these characters.
pub(crate) const FORMATTER: &str =
    "a formatter such as prettier, markdownlint or a hook of pre-commit";

/// Returns the altered versions that match their history if some characters are ignored.
pub(super) fn respaced(
    (files, id): (&Files, &DocumentId),
    history: &History,
    altered: &BTreeSet<Version>,
    ignored: Ignored,
) -> BTreeSet<Version> {
    let solid = |text: &str| solid(text, ignored);
    let (mut found, mut run) = (BTreeSet::new(), Run::default());
    let mut left = MOST;
    for slot in &history.slots {
        let stored = slot.entry.as_ref().ok().and_then(|entry| {
            let text = stored(files, id, entry)?;
            left = left.checked_sub(text.len())?;
            Some((entry, text))
        });
        let Some((entry, text)) = stored else {
            run = Run::default();
            continue;
        };
        let is_altered = altered.contains(&entry.version);
        let is_proved = || {
            is_spelled_with(&text, &entry.content_hash)
                || is_respaced_live(files, id, (&text, &entry.content_hash), ignored)
        };
        if is_altered && is_proved() {
            found.insert(entry.version);
        }
        if entry.stored == TextStorage::Keyframe {
            found.extend(std::mem::take(&mut run).fitting());
            run.text = Some(solid(&text));
        } else {
            run.text = run.text.as_deref().and_then(|base| applied(base, &text, ignored));
            left = left.saturating_sub(run.text.as_ref().map_or(0, String::len));
            run.confirmed += run.altered.len().min(1);
        }
        match &run.text {
            None => run = Run::default(),
            Some(_) if is_altered => run.altered.push(entry.version),
            Some(_) => {}
        }
    }
    found.extend(run.fitting());
    found
}

/// Consecutive versions from one full text on.
#[derive(Default)]
struct Run {
    /// Text without ignored characters; `None` if a diff did not apply.
    text: Option<String>,
    altered: Vec<Version>,
    /// Number of diffs that applied after the first altered version.
    confirmed: usize,
}

impl Run {
    /// Returns the altered versions, if a later diff confirms them.
    fn fitting(self) -> Vec<Version> {
        if self.confirmed > 0 && self.text.is_some() { self.altered } else { Vec::new() }
    }
}

fn stored(files: &Files, id: &DocumentId, entry: &Entry) -> Option<String> {
    let bytes = match (&entry.stored, entry.text_path(id)) {
        (TextStorage::Diff(diff), _) => return Some(normalise(diff).into_owned()),
        (_, Some(path)) => files.read_optional(&path, limit::DOCUMENT).ok()??,
        _ => return None,
    };
    Some(normalise(std::str::from_utf8(&bytes).ok()?).into_owned())
}

/// Returns true if another spelling of the text has the hash: another end, or, in a diff, the blank
/// at the start of each empty context line. A hash proves that nothing else differs.
fn is_spelled_with(text: &str, hash: &Digest) -> bool {
    let ended = text.trim_end_matches('\n');
    let blank = |text: &str| {
        let lines = text.split('\n').map(|line| if line.is_empty() { " " } else { line });
        lines.collect::<Vec<_>>().join("\n")
    };
    let endings = [
        ended.to_owned(),
        format!("{ended}\n"),
        format!("{ended}\n\n"),
        format!("{}\n", blank(ended)),
    ];
    endings.iter().any(|text| Digest::of(text.as_bytes()) == *hash)
}

/// Returns true if the live file has the hash, and differs from this text only in
/// ignored characters.
fn is_respaced_live(
    files: &Files,
    id: &DocumentId,
    (text, hash): (&str, &Digest),
    ignored: Ignored,
) -> bool {
    let live = files.read_optional(&id.live_path(), limit::DOCUMENT).ok().flatten();
    let live = live.and_then(|bytes| String::from_utf8(bytes).ok());
    live.is_some_and(|live| {
        let live = normalise(&live);
        Digest::of(live.as_bytes()) == *hash && solid(&live, ignored) == solid(text, ignored)
    })
}

/// Returns the characters of a text that are not ignored.
pub(crate) fn solid(text: &str, ignored: Ignored) -> String {
    text.chars().filter(|c| !ignored(*c)).collect()
}

/// Applies a diff to the characters of a text that are not ignored; `None` if it does not apply.
fn applied(old: &str, diff: &str, ignored: Ignored) -> Option<String> {
    let solid = |text: &str| solid(text, ignored);
    let (mut out, mut rest) = (String::with_capacity(old.len()), old);
    let mut lines = diff.lines().skip_while(|line| !line.starts_with("@@ ")).peekable();
    lines.peek()?;
    while lines.next().is_some() {
        let (mut before, mut after) = (String::new(), String::new());
        while let Some(line) = lines.next_if(|line| !line.starts_with("@@ ")) {
            match line.chars().next() {
                None => {}
                Some('\\') => {}
                Some(' ') => {
                    before.push_str(&solid(line));
                    after.push_str(&solid(line));
                }
                Some('-') => before.push_str(&solid(&line[1..])),
                Some('+') => after.push_str(&solid(&line[1..])),
                Some(_) => return None,
            }
        }
        let at = rest.find(&before)?;
        out.push_str(&rest[..at]);
        out.push_str(&after);
        rest = &rest[at + before.len()..];
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_applies_if_white_space_is_ignored() {
        let diff = "--- a\n+++ b\n@@ -1,3 +1,3 @@\n # A\n\n-one two\n+three\n@@ -9 +9 @@\n-x\n+y\n";
        assert_eq!(
            applied("#Aonetwo...x!", diff, char::is_whitespace).as_deref(),
            Some("#Athree...y!")
        );
        assert_eq!(applied("#Aonetoo...x!", diff, char::is_whitespace), None);
        assert_eq!(applied("x#Aonetwo", diff, char::is_whitespace), None);
        assert_eq!(applied("#A", "no diff", char::is_whitespace), None);
    }

    #[test]
    fn hash_proves_another_end_or_blank_context() {
        let hash = Digest::of(b"@@ -1,2 +1,2 @@\n \n-a\n+b\n");
        assert!(is_spelled_with("@@ -1,2 +1,2 @@\n\n-a\n+b\n", &hash));
        assert!(!is_spelled_with("@@ -1,2 +1,2 @@\n\n-a\n+c\n", &hash));
        assert!(is_spelled_with("text\n", &Digest::of(b"text")));
    }
}
