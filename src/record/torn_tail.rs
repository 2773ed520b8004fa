//! Finds the positions at which files that are appended to may still be whole, if their end is
//! incomplete or damaged.

/// Beginnings of the lines that git writes at a conflict.
const MARKERS: [&[u8]; 2] = [b"<<<<<<< ", b">>>>>>> "];

/// Explanation for a record that contains the lines of two branches.
pub(crate) const UNION: &str = "as after a git merge with `merge=union`";

/// Returns the number of the first line, from 1, that is a conflict marker of git.
pub(crate) fn conflict(bytes: &[u8]) -> Option<usize> {
    let is_marker = |line: &[u8]| MARKERS.iter().any(|marker| line.starts_with(marker));
    bytes.split(|byte| *byte == b'\n').position(is_marker).map(|n| n + 1)
}

/// Returns the number of the first line, from 1, that ends an entry which has already ended. If the
/// two sides of a merge differ, `merge=union` writes the lines of both one after the other.
pub(crate) fn doubled(bytes: &[u8]) -> Option<usize> {
    let mut has_ended = false;
    let doubles = |line: &[u8]| {
        let begins = line.trim_ascii_start().starts_with(b"- ");
        let ends = lacks_line_end_only(line);
        let doubles = ends && has_ended && !begins;
        has_ended = ends || has_ended && !begins;
        doubles
    };
    bytes.split(|byte| *byte == b'\n').position(doubles).map(|n| n + 1)
}

/// Returns the lengths, greatest first, that a YAML list may have had before an incomplete append
/// of an item. These are the end of the last line that is text, and the beginning of the last item
/// unless that has the line with which items end.
///
/// A list that is truncated between two lines is readable, but its last item lacks fields. A list
/// that is truncated within a line, or has other bytes in its place, may be unreadable.
pub(crate) fn ends_before_torn(bytes: &[u8], is_readable: bool) -> impl Iterator<Item = usize> {
    let text = std::str::from_utf8(bytes).map_or_else(|why| why.valid_up_to(), str::len);
    let text = memchr::memchr(0, &bytes[..text]).unwrap_or(text);
    let is_cut_short = text < bytes.len() || !bytes.ends_with(b"\n");
    let lines = memchr::memrchr(b'\n', &bytes[..text]).map(|n| n + 1);
    let item = lines.filter(|_| is_cut_short || is_readable).and_then(|end| {
        let start = begin_of_last_item(&bytes[..end])?;
        (is_cut_short || !has_hash(&bytes[start..end])).then_some(start)
    });
    [lines, item].into_iter().flatten().filter(|end| *end < bytes.len())
}

/// Returns the offset of the last line that begins an item.
fn begin_of_last_item(bytes: &[u8]) -> Option<usize> {
    let mut end = bytes.len();
    while let Some(start) = memchr::memrchr(b'\n', &bytes[..end - 1]).map(|n| n + 1) {
        let line = &bytes[start..end];
        let indent = blanks(line);
        if indent <= MOST_INDENTED && line[indent..].starts_with(b"- ") {
            return Some(start);
        }
        end = start;
    }
    None
}

/// Returns true if an item has the key of the hash with which items end. A text in the item is
/// indented deeper than its keys.
fn has_hash(item: &[u8]) -> bool {
    let dash = blanks(item);
    let indent = dash + 1 + blanks(&item[dash + 1..]);
    let is_hash = |line: &[u8]| HASHES.iter().any(|key| line[indent..].starts_with(key));
    item.split(|byte| *byte == b'\n').any(|line| blanks(line) == indent && is_hash(line))
}

fn blanks(line: &[u8]) -> usize {
    line.iter().take_while(|byte| **byte == b' ').count()
}

/// Returns the length up to the last line that ends an entry. No whole entry follows it.
pub(crate) fn end_of_last_entry(bytes: &[u8]) -> Option<usize> {
    let mut end = memchr::memrchr(b'\n', bytes)? + 1;
    while !ends_in_hash(&bytes[..end]) {
        end = memchr::memrchr(b'\n', &bytes[..end - 1])? + 1;
    }
    Some(end)
}

/// Returns true if the last line is the hash with which every entry ends: nothing was
/// truncated then.
fn ends_in_hash(bytes: &[u8]) -> bool {
    bytes.strip_suffix(b"\n").is_some_and(lacks_line_end_only)
}

/// Returns true if the last entry of a file is whole and only its line end is missing.
pub(crate) fn lacks_line_end_only(bytes: &[u8]) -> bool {
    const LENGTH: usize = 64;
    let Some(at) = bytes.len().checked_sub(LENGTH) else { return false };
    let (before, hash) = bytes.split_at(at);
    let Some(before) = before.strip_suffix(b" sha256:") else { return false };
    HASHES.iter().any(|key| before.strip_suffix(*key).is_some_and(|indent| indent.ends_with(b" ")))
        && hash.iter().all(u8::is_ascii_hexdigit)
}

/// Maximum indentation of an item in a list of ctx or of the reference implementation; diffs are
/// indented deeper.
const MOST_INDENTED: usize = 2;
/// The keys with which an entry ends, in a history and in a log in full form.
const HASHES: [&[u8]; 2] = [b"chain_hash:", b"checkpoint_hash:"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torn_file_may_end_before_its_last_line_or_item() {
        let ends = |text: &[u8]| ends_before_torn(text, true).collect::<Vec<_>>();
        assert_eq!(ends(b""), [] as [usize; 0]);
        assert_eq!(ends(b"a:\n  - 1\n  - 2\n"), [9], "the whole text is not a candidate");
        assert_eq!(ends(b"a:\n  - 1\n    b: |\n      - x\n    c"), [28, 3]);
        assert_eq!(ends(b"a:\n  - 1\n\0\0\n\0"), [9, 3]);
        assert_eq!(ends(b"a:\n  - 1\n  - \xff\n"), [9, 3]);
        assert_eq!(ends(b"no line end"), [] as [usize; 0]);
        let hash = "0123456789abcdef".repeat(4);
        let whole = format!("a:\n  - 1\n  - b: 1\n    chain_hash: sha256:{hash}\n");
        assert_eq!(ends(whole.as_bytes()), [] as [usize; 0], "nothing is missing");
        assert_eq!(ends(&whole.as_bytes()[..whole.len() - 2]), [18, 9]);
        let malformed = b"a:\n  - 1\n  - b: 1\n    chain_hash: md5:0\n    note: ~\n";
        assert_eq!(ends(malformed), [] as [usize; 0], "nothing is missing, but it is malformed");
        let quoted = b"a:\n  - 1\n  - b: |\n      chain_hash: x\n";
        assert_eq!(ends(quoted), [9], "the hash is in a text");
        let unreadable = b"a:\n  - 1\n  - }\n";
        assert_eq!(ends_before_torn(unreadable, false).collect::<Vec<_>>(), [] as [usize; 0]);
    }

    #[test]
    fn end_of_last_entry_is_after_the_line_of_its_hash() {
        let hash = "0123456789abcdef".repeat(4);
        let whole = format!("a:\n  - 1\n    checkpoint_hash: sha256:{hash}\n");
        assert_eq!(end_of_last_entry(whole.as_bytes()), Some(whole.len()));
        let more = format!("{whole}  - 2\n}} junk\nmore junk\nend");
        assert_eq!(end_of_last_entry(more.as_bytes()), Some(whole.len()));
        assert_eq!(end_of_last_entry(whole.trim_end().as_bytes()), None);
        assert_eq!(end_of_last_entry(b""), None);
    }

    #[test]
    fn conflict_finds_the_markers_of_a_merge() {
        assert_eq!(conflict(b"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n"), Some(2));
        assert_eq!(conflict(b"a\n=======\n <<<<<<< HEAD\n"), None);
    }

    #[test]
    fn doubled_finds_an_entry_that_ends_twice() {
        let hash = format!("    chain_hash: sha256:{:064x}\n", 1);
        let entry = format!("  - version: 1\n{hash}");
        assert_eq!(doubled(entry.repeat(2).as_bytes()), None);
        assert_eq!(doubled((entry.clone() + "    by: x\n" + &hash + &entry).as_bytes()), Some(4));
        assert_eq!(doubled(hash.as_bytes()), None);
    }
}
