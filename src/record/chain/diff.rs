//! Unified diffs between two versions: one printer, one strict applier (`spec/history.md`,
//! section 4).
//!
//! The text of a diff is hashed, so its result must not depend on a lenient reader: positions are
//! exact, context is equal, counts are right, and nothing follows. The applier also reads the
//! headers that jsdiff writes. A printed diff is applied before it is stored, so that a history
//! never contains a diff that does not restore its version.

pub mod change;
mod script;

use similar::DiffOp;

use crate::values::model::number::Version;

/// Lines of unchanged text around a change.
const CONTEXT: usize = 3;
const NO_NEWLINE: &str = "\\ No newline at end of file";

/// Maximum of lines of a text times lines of a patch for [`has_its_places`].
const MOST_PLACES: usize = 1 << 28;

/// Failure to apply a diff.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the diff: {problem}")]
pub struct PatchError {
    /// Line of the diff, from 1.
    pub line: usize,
    /// Reason, for people.
    pub problem: &'static str,
}

/// Prints the unified diff that turns `old` into `new`, with the headers of two versions.
pub fn print(old: &str, new: &str, old_version: Version, new_version: Version) -> String {
    print_between(old, new, &format!("v{old_version}"), &format!("v{new_version}"))
}

/// Returns true if a text begins with the two lines that [`print`] begins the diff of this version
/// with. In the history of a governance file this separates diffs from full texts, whatever an
/// entry says: every diff begins so, and no full text does.
pub(crate) fn is_of_version(text: &str, version: Version) -> bool {
    text.starts_with(&format!("--- v{}\n+++ v{version}", version.previous()))
}

/// Returns the diff of an act on a governance file: it changes nothing, and its second line names
/// the decision, such as `approved` (`spec/review.md`, REV-9).
pub(crate) fn of_act(version: Version, decision: &str) -> String {
    format!("--- v{}\n+++ v{version}\treview: {decision}\n", version.previous())
}

/// Returns the decision of an act on a governance file; `None` if the stored diff of this
/// version is not marked as one. An inner error is a marked diff that also changes lines, which
/// no writer makes.
pub(crate) fn act(diff: &str, version: Version) -> Option<Result<&str, ()>> {
    let second = diff.split('\n').nth(1)?;
    let (_, mark) = second.split_once('\t')?;
    let decision = mark.strip_prefix("review: ").unwrap_or_default();
    Some(if of_act(version, decision) == diff { Ok(decision) } else { Err(()) })
}

/// Returns true if the full text of a version could be stored as a diff with the same hash: it
/// begins like one, or it applies to the text before.
pub(crate) fn could_be_one(text: &str, version: Version, before: Option<&str>) -> bool {
    is_of_version(text, version) || before.is_some_and(|before| apply(before, text).is_ok())
}

/// Prints a unified diff between two texts with names of their own, for people to read.
pub fn print_between(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    let (a, b) = (lines_of(old), lines_of(new));
    let mut out = format!("--- {old_name}\n+++ {new_name}\n");
    let ops = script::script(&a, &b, script::BUDGET);
    for group in similar::group_diff_ops(ops, CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        // The header of an empty range contains the number of the line before it.
        let start = |r: &std::ops::Range<usize>| if r.is_empty() { r.start } else { r.start + 1 };
        out.push_str(&format!(
            "@@ -{},{} +{},{} @@\n",
            start(&old_range),
            old_range.len(),
            start(&new_range),
            new_range.len()
        ));
        for op in &group {
            let (removed, added) = match op {
                DiffOp::Equal { old_index, len, .. } => {
                    a[*old_index..old_index + len].iter().for_each(|l| push(&mut out, ' ', l));
                    continue;
                }
                op => (op.old_range(), op.new_range()),
            };
            a[removed].iter().for_each(|l| push(&mut out, '-', l));
            b[added].iter().for_each(|l| push(&mut out, '+', l));
        }
    }
    out
}

/// Returns true if every hunk of a diff has exactly one place in an edited text: the lines of its
/// old side follow one another there, after those of the hunk before. A patch program, which
/// guesses, then applies it correctly. Returns false for last lines without a newline, which such
/// programs treat differently.
pub(crate) fn has_its_places(text: &str, patch: &str) -> bool {
    if patch.contains(NO_NEWLINE) || !text.ends_with('\n') || text.contains('\r') {
        return false;
    }
    let lines: Vec<&str> = text.lines().collect();
    if lines.len().saturating_mul(patch.lines().count()) > MOST_PLACES {
        return false;
    }
    let mut begin = 0;
    patch.split("\n@@ ").skip(1).all(|hunk| {
        let body = hunk.lines().skip(1);
        let old: Vec<&str> = body.filter_map(|line| line.strip_prefix([' ', '-'])).collect();
        if old.is_empty() {
            return false;
        }
        let mut places = (0..lines.len()).filter(|at| lines[*at..].starts_with(&old));
        match (places.next(), places.next()) {
            (Some(at), None) if at >= begin => begin = at + old.len(),
            _ => return false,
        }
        true
    })
}

fn push(out: &mut String, sign: char, line: &str) {
    out.push(sign);
    out.push_str(line);
    if !line.ends_with('\n') {
        out.push('\n');
        out.push_str(NO_NEWLINE);
        out.push('\n');
    }
}

/// Splits a text into lines with their line ends; only the last may lack one.
fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Applies a unified diff to exactly the text that it was made from, both in normal form.
///
/// # Errors
/// Fails on the first line of the diff that does not fit.
pub fn apply(old: &str, patch: &str) -> Result<String, PatchError> {
    apply_with(old, patch, |_, _| ())
}

/// Effect of a diff on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    Removed,
    Added,
}

/// Applies a diff, and reports the effect on each line in order, except on those after the
/// last hunk.
fn apply_with(
    old: &str,
    patch: &str,
    mut note: impl FnMut(Fate, usize),
) -> Result<String, PatchError> {
    let mut patch = Patch { lines: Lines { rest: patch, taken: 0 }, at: 0 };
    patch.header()?;
    let mut out = Output { text: String::with_capacity(old.len()), lines: 0 };
    let mut old = Lines { rest: old, taken: 0 };
    while !patch.lines.rest.is_empty() {
        let hunk = patch.hunk_header()?;
        let lines = hunk.old_start.checked_sub(old.taken);
        let unchanged = lines.and_then(|lines| Some((lines, old.take(lines)?)));
        let Some((lines, unchanged)) = unchanged else {
            return Err(patch.error_before("the hunk begins outside the text"));
        };
        out.push(unchanged, lines, &patch)?;
        note(Fate::Kept, lines);
        if out.lines != hunk.new_start {
            return Err(patch.error_before("the hunk's position in the new text is wrong"));
        }
        let (mut removed, mut added) = (0, 0);
        while removed < hunk.old_count || added < hunk.new_count {
            let (sign, line) = patch.body_line()?;
            if sign == '+' {
                out.push(line, 1, &patch)?;
                note(Fate::Added, 1);
            } else {
                let Some(found) = old.take(1).filter(|found| *found == line) else {
                    return Err(patch.error_before("the text has another line here"));
                };
                if sign == ' ' {
                    out.push(found, 1, &patch)?;
                }
                note(if sign == ' ' { Fate::Kept } else { Fate::Removed }, 1);
                removed += 1;
            }
            added += usize::from(sign != '-');
        }
        if removed != hunk.old_count || added != hunk.new_count {
            return Err(patch.error_before("the hunk has other counts than its header says"));
        }
    }
    out.push(old.rest, 0, &patch)?;
    Ok(out.text)
}

/// A text from which some lines have been taken.
struct Lines<'t> {
    rest: &'t str,
    taken: usize,
}

impl<'t> Lines<'t> {
    /// Returns the next lines with their line ends; `None` if fewer are left.
    fn take(&mut self, lines: usize) -> Option<&'t str> {
        let mut end = 0;
        for _ in 0..lines {
            end += first_line(&self.rest[end..])?.len();
        }
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.taken += lines;
        Some(taken)
    }
}

/// Returns the first line with its line end, which only the last line of a text may lack.
fn first_line(text: &str) -> Option<&str> {
    let end = memchr::memchr(b'\n', text.as_bytes()).map_or(text.len(), |end| end + 1);
    Some(&text[..end]).filter(|line| !line.is_empty())
}

struct Output {
    text: String,
    lines: usize,
}

impl Output {
    /// Appends whole lines.
    fn push(&mut self, text: &str, lines: usize, patch: &Patch<'_>) -> Result<(), PatchError> {
        if !text.is_empty() && !self.text.is_empty() && !self.text.ends_with('\n') {
            return Err(patch.error_before("a line without newline is not the last one"));
        }
        self.text.push_str(text);
        self.lines += lines;
        Ok(())
    }
}

struct Hunk {
    /// Lines of the old text before the hunk.
    old_start: usize,
    old_count: usize,
    new_start: usize,
    new_count: usize,
}

struct Patch<'p> {
    lines: Lines<'p>,
    /// Number of lines that were read.
    at: usize,
}

impl<'p> Patch<'p> {
    fn error_before(&self, problem: &'static str) -> PatchError {
        PatchError { line: self.at.max(1), problem }
    }

    fn peek(&self) -> Option<&'p str> {
        first_line(self.lines.rest)
    }

    fn next(&mut self) -> Option<&'p str> {
        self.at += 1;
        self.lines.take(1)
    }

    /// Returns the next line without its line end; `None` at the end, or if that line
    /// is incomplete.
    fn whole_line(&self) -> Option<&'p str> {
        self.peek()?.strip_suffix('\n')
    }

    /// Skips the header. `Index: x` and a line of 67 `=` may precede `--- a` and `+++ b`.
    fn header(&mut self) -> Result<(), PatchError> {
        if self.whole_line().is_some_and(|l| l.starts_with("Index: ")) {
            self.next();
        }
        if self.whole_line().is_some_and(|l| l.len() == 67 && l.bytes().all(|b| b == b'=')) {
            self.next();
        }
        for (mark, problem) in [("--- ", "expected `--- `"), ("+++ ", "expected `+++ `")] {
            let line = self.next().and_then(|l| l.strip_suffix('\n'));
            if !line.is_some_and(|l| l.starts_with(mark)) {
                return Err(self.error_before(problem));
            }
        }
        Ok(())
    }

    /// Parses `@@ -start,count +start,count @@`, where `,1` may be left out.
    fn hunk_header(&mut self) -> Result<Hunk, PatchError> {
        let line = self.next().and_then(|l| l.strip_suffix('\n'));
        let parsed = line.and_then(|line| {
            let ranges = line.strip_prefix("@@ -")?.strip_suffix(" @@")?;
            let (old, new) = ranges.split_once(" +")?;
            let (old_start, old_count) = range(old)?;
            let (new_start, new_count) = range(new)?;
            Some(Hunk { old_start, old_count, new_start, new_count })
        });
        parsed
            .filter(|h| h.old_count + h.new_count > 0)
            .ok_or_else(|| self.error_before("expected `@@ -start,count +start,count @@`"))
    }

    /// Returns the sign and the text of one line of a hunk, with the newline unless it is marked
    /// as missing.
    fn body_line(&mut self) -> Result<(char, &'p str), PatchError> {
        let parsed = self.next().and_then(|l| {
            let sign = l.chars().next().filter(|c| matches!(c, ' ' | '-' | '+'))?;
            l.ends_with('\n').then(|| (sign, &l[1..]))
        });
        let (sign, mut text) = parsed
            .ok_or_else(|| self.error_before("expected a line that begins with ` `, `-` or `+`"))?;
        let is_mark = |l: &str| l.strip_suffix('\n').unwrap_or(l) == NO_NEWLINE;
        if self.lines.rest.starts_with('\\') && self.peek().is_some_and(is_mark) {
            self.next();
            text = text.strip_suffix('\n').unwrap_or(text);
        }
        Ok((sign, text))
    }
}

/// Parses `start,count` into the number of lines before the range, and of those in it.
fn range(text: &str) -> Option<(usize, usize)> {
    let number = |t: &str| {
        crate::values::yaml::canonical_number(t)
            .and_then(|n| usize::try_from(n).ok())
            .filter(|n| *n < 1 << 40)
    };
    let (start, count) = match text.split_once(',') {
        Some((start, count)) => (number(start)?, number(count)?),
        None => (number(text)?, 1),
    };
    // The header of an empty range contains the number of the line before it.
    if count == 0 { Some((start, 0)) } else { Some((start.checked_sub(1)?, count)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn act_changes_no_line_and_names_its_decision() {
        let diff = of_act(Version(3), "approved");
        assert_eq!(diff, "--- v2\n+++ v3\treview: approved\n");
        assert_eq!(apply("any\ntext", &diff).as_deref(), Ok("any\ntext"));
        assert!(is_of_version(&diff, Version(3)));
        assert_eq!(act(&diff, Version(3)), Some(Ok("approved")));
        assert_eq!(act(&diff, Version(4)), Some(Err(())));
        assert_eq!(
            act("--- v2\n+++ v3\treview: approved\n@@ -0,0 +1,1 @@\n+x\n", Version(3)),
            Some(Err(()))
        );
        assert_eq!(act("--- v2\n+++ v3\n@@ -0,0 +1,1 @@\n+x\n", Version(3)), None);
    }
    use proptest::prelude::*;

    #[test]
    fn diff_has_its_places_only_if_each_hunk_has_exactly_one() {
        let lines = |range: std::ops::RangeInclusive<u32>| -> String {
            range.map(|n| format!("line {n}\n")).collect()
        };
        let old = lines(1..=30);
        let new = old.replace("line 5\n", "five\n").replace("line 25\n", "");
        let patch = print(&old, &new, Version(1), Version(2));
        assert!(has_its_places(&old, &patch));
        assert!(has_its_places(&format!("before\n{}", old.replace("line 15\n", "x\ny\n")), &patch));
        assert!(!has_its_places(&new, &patch));
        assert!(!has_its_places(&old.replace("line 7\n", "x\n"), &patch));
        // The second place is before the first.
        assert!(!has_its_places(&format!("{}{}", lines(20..=30), lines(1..=10)), &patch));
        assert!(!has_its_places("", &print("a\n", "", Version(1), Version(2))));
        // Two places, between which a program would have to choose, and line ends that it
        // treats differently.
        assert!(!has_its_places(&old.repeat(2), &patch));
        assert!(!has_its_places(&old.replace('\n', "\r\n"), &patch));
        assert!(!has_its_places(&format!("{old}mine"), &patch));
        let open = print(&old, &format!("{old}more"), Version(1), Version(2));
        assert!(!has_its_places(&format!("{old}mine\n"), &open));
    }

    #[test]
    fn a_printed_diff_has_three_lines_of_context() {
        let old: String = (1..=12).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 6\n", "line six\n").replace("line 12\n", "line 12");
        insta::assert_snapshot!(print(&old, &new, Version(1), Version(2)), @r"
        --- v1
        +++ v2
        @@ -3,10 +3,10 @@
         line 3
         line 4
         line 5
        -line 6
        +line six
         line 7
         line 8
         line 9
         line 10
         line 11
        -line 12
        +line 12
        \ No newline at end of file
        ");
    }

    #[test]
    fn apply_refuses_a_diff_that_does_not_fit_exactly() {
        let old = "a\nb\nc\nd\n";
        let good = "--- v1\n+++ v2\n@@ -2,2 +2,2 @@\n-b\n+B\n c\n";
        assert_eq!(apply(old, good).unwrap(), "a\nB\nc\nd\n");
        let cases = [
            ("", "line 1 of the diff: expected `--- `"),
            ("--- a\n", "line 2 of the diff: expected `+++ `"),
            (
                "--- a\n+++ b\njunk\n",
                "line 3 of the diff: expected `@@ -start,count +start,count @@`",
            ),
            (
                &good.replace("-2,2 +", "-1,2 +"),
                "line 3 of the diff: the hunk's position in the new text is wrong",
            ),
            (
                &good.replace("-2,2", "-3,2"),
                "line 3 of the diff: the hunk's position in the new text is wrong",
            ),
            (
                &good.replace("+2,2", "+3,2"),
                "line 3 of the diff: the hunk's position in the new text is wrong",
            ),
            (
                &good.replace("@@ -2,2 +2,2", "@@ -3,2 +3,2"),
                "line 4 of the diff: the text has another line here",
            ),
            (
                &good.replace("2,2 @@", "2,3 @@"),
                "line 7 of the diff: expected a line that begins with ` `, `-` or `+`",
            ),
            (
                &good.replace("-2,2 +2,2", "-2,1 +2,1"),
                "line 6 of the diff: expected `@@ -start,count +start,count @@`",
            ),
            (
                &good.replace("-b\n+B\n", " b\n+B\n"),
                "line 6 of the diff: the hunk has other counts than its header says",
            ),
            (&good.replace("-b", "-x"), "line 4 of the diff: the text has another line here"),
            (
                &good.replace(" c\n", " c"),
                "line 6 of the diff: expected a line that begins with ` `, `-` or `+`",
            ),
            (
                &format!("{good}trailing\n"),
                "line 7 of the diff: expected `@@ -start,count +start,count @@`",
            ),
            (
                &good.replace("+B\n", "+B\n\\ No newline at end of file\n"),
                "line 7 of the diff: a line without newline is not the last one",
            ),
            (
                &good.replace("2,2", "02,2"),
                "line 3 of the diff: expected `@@ -start,count +start,count @@`",
            ),
        ];
        for (patch, expected) in cases {
            let found = apply(old, patch).map_or_else(|e| e.to_string(), |t| format!("ok {t:?}"));
            assert_eq!(found, expected, "{patch:?}");
        }
    }

    #[test]
    fn apply_requires_the_same_missing_newline() {
        let patch = "--- v1\n+++ v2\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n";
        assert_eq!(apply("a", patch).unwrap(), "b\n");
        assert!(apply("a\n", patch).is_err());
        let patch = "--- v1\n+++ v2\n@@ -1,1 +0,0 @@\n-a\n";
        assert_eq!(apply("a\n", patch).unwrap(), "");
        assert!(apply("a", patch).is_err());
    }

    fn texts() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec![
            "a\n",
            "b\n",
            "\n",
            " \n",
            "-- x\n",
            "++ y\n",
            "@@ -1 +1 @@\n",
            "\\ No newline at end of file\n",
            "\t\n",
            "é😀\n",
            "\u{2028}\n",
            "--- a\n",
            "+++ b\n",
            "no end",
        ]);
        prop::collection::vec(line, 0..30).prop_map(|lines| lines.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn apply_restores_the_new_text_of_print(old in texts(), new in texts()) {
            let patch = print(&old, &new, Version(7), Version(8));
            prop_assert_eq!(apply(&old, &patch), Ok(new));
        }

        #[test]
        fn apply_never_panics(old in texts(), patch in texts()) {
            let _ = apply(&old, &format!("--- v1\n+++ v2\n@@ -1,2 +1,3 @@\n{patch}"));
        }
    }
}
