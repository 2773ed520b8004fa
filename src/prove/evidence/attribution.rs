//! Attribution of each line of a text to a version, followed from one version to the next
//! (`spec/evidence.md`, EVID-3 to EVID-6).
//!
//! Consecutive lines from one version are one span, so the cost of a version depends on the number
//! of spans and changes, not of lines.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;

use crate::record::chain::diff::change::Changes;
use crate::values::model::number::Version;

/// Consecutive lines that come from one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Version that added the lines.
    pub version: Version,
    /// First line, counted from 0.
    pub start: usize,
    /// Line after the last one.
    pub end: usize,
}

/// Versions that the lines of a text come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    spans: Vec<Span>,
}

impl Attribution {
    /// Applies the changes that made the next version. Added lines come from that version; all
    /// other lines keep their origin.
    pub fn follow(&mut self, changes: &Changes, version: Version) {
        let mut old = Rest { spans: mem::take(&mut self.spans), first: 0, at: 0 };
        for change in &changes.0 {
            old.take(change.kept, |span| self.push(span.version, span.end - span.start));
            old.take(change.removed, |_| ());
            self.push(version, change.added);
        }
        old.take(usize::MAX, |span| self.push(span.version, span.end - span.start));
    }

    /// Returns the spans, in the order of the text.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the number of lines of the text.
    pub fn lines(&self) -> usize {
        self.spans.last().map_or(0, |last| last.end)
    }

    /// Returns the spans of a range of lines, cut at both ends of the range.
    pub fn within(&self, lines: Range<usize>) -> impl Iterator<Item = Span> {
        let first = self.spans.partition_point(|span| span.end <= lines.start);
        let (start, end) = (lines.start, lines.end);
        let inside = self.spans[first..].iter().take_while(move |span| span.start < end);
        inside.map(move |span| Span {
            start: span.start.max(start),
            end: span.end.min(end),
            ..*span
        })
    }

    /// Returns the number of lines in a range that come from each version.
    pub fn counts(&self, lines: Range<usize>) -> BTreeMap<Version, usize> {
        let mut counts = BTreeMap::new();
        for span in self.within(lines) {
            *counts.entry(span.version).or_default() += span.end - span.start;
        }
        counts
    }

    fn push(&mut self, version: Version, lines: usize) {
        let start = self.lines();
        match self.spans.last_mut().filter(|last| last.version == version) {
            Some(last) => last.end += lines,
            None if lines > 0 => self.spans.push(Span { version, start, end: start + lines }),
            None => {}
        }
    }
}

/// Lines of the previous text that were not yet taken.
struct Rest {
    spans: Vec<Span>,
    /// Index of the span that contains the next line.
    first: usize,
    /// Number of the next line.
    at: usize,
}

impl Rest {
    /// Takes up to `lines` lines, and passes each span of them to `each`.
    fn take(&mut self, lines: usize, mut each: impl FnMut(Span)) {
        let end = self.at.saturating_add(lines);
        while let Some(span) = self.spans.get(self.first).filter(|_| self.at < end) {
            let taken = Span { start: self.at, end: span.end.min(end), ..*span };
            self.at = taken.end;
            self.first += usize::from(taken.end == span.end);
            each(taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::chain::diff;
    use crate::record::chain::diff::change::Work;

    /// Returns the version of each line.
    fn versions(attribution: &Attribution) -> Vec<u64> {
        let each = |span: &Span| vec![span.version.0; span.end - span.start];
        attribution.spans().iter().flat_map(each).collect()
    }

    /// Applies a patch that [`diff::print`] made, line by line. Returns each line with its version.
    fn patched(old: &[(String, u64)], patch: &str, version: u64) -> Vec<(String, u64)> {
        let (mut new, mut at) = (Vec::new(), 0);
        let mut lines = patch.split_inclusive('\n').skip(2).peekable();
        while let Some(line) = lines.next() {
            if let Some(hunk) = line.strip_prefix("@@ -") {
                let (start, rest) = hunk.split_once(',').unwrap();
                let is_empty = rest.starts_with("0 ");
                let start = start.parse::<usize>().unwrap() - usize::from(!is_empty);
                new.extend_from_slice(&old[at..start]);
                at = start;
                continue;
            }
            let is_open = lines.next_if(|next| next.starts_with('\\')).is_some();
            let text = line[1..line.len() - usize::from(is_open)].to_owned();
            match &line[..1] {
                "+" => new.push((text, version)),
                sign => {
                    assert_eq!(old[at].0, text);
                    new.extend((sign == " ").then(|| old[at].clone()));
                    at += 1;
                }
            }
        }
        new.extend_from_slice(&old[at..]);
        new
    }

    fn text() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec!["a\n", "b\n", "c\n", "\n", "d\n", "open"]);
        prop::collection::vec(line, 0..25).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn each_line_has_the_version_of_a_replay_line_by_line(
            texts in prop::collection::vec((text(), any::<bool>()), 1..12)
        ) {
            let (mut attribution, mut work) = (Attribution::default(), Work::default());
            let (mut model, mut before) = (Vec::new(), String::new());
            for (version, (text, is_keyframe)) in (1..).zip(texts) {
                let patch = diff::print(&before, &text, Version(version - 1), Version(version));
                let changes = match is_keyframe {
                    true => Changes::between(&before, &text, &mut work),
                    false => Changes::of_patch(&before, &patch).unwrap().1,
                };
                attribution.follow(&changes, Version(version));
                model = patched(&model, &patch, version);
                let (lines, expected): (Vec<String>, Vec<u64>) = model.iter().cloned().unzip();
                prop_assert_eq!(lines.concat(), text.as_str());
                prop_assert_eq!(versions(&attribution), expected);
                before = text;
            }
        }

        #[test]
        fn any_number_of_steps_attributes_every_line(
            old in text(), new in text(), steps in 0..60u64
        ) {
            let mut work = Work::of(steps);
            let mut attribution = Attribution::default();
            attribution.follow(&Changes::between("", &old, &mut work), Version(1));
            attribution.follow(&Changes::between(&old, &new, &mut work), Version(2));
            prop_assert_eq!(attribution.lines(), new.split_inclusive('\n').count());
            let kept = versions(&attribution).iter().filter(|version| **version == 1).count();
            prop_assert!(kept <= old.split_inclusive('\n').count());
        }

        #[test]
        fn a_part_of_the_lines_has_their_spans(
            changes in prop::collection::vec((1..4u64, 1..4usize), 0..8), start in 0..9usize, len in 0..9usize
        ) {
            let mut attribution = Attribution::default();
            for (version, lines) in changes {
                attribution.push(Version(version), lines);
            }
            let all = versions(&attribution);
            let (start, end) = (start.min(all.len()), (start + len).min(all.len()));
            let part: Vec<u64> = attribution.within(start..end)
                .flat_map(|span| vec![span.version.0; span.end - span.start]).collect();
            prop_assert_eq!(&part, &all[start..end]);
            prop_assert_eq!(attribution.counts(start..end).values().sum::<usize>(), part.len());
        }
    }

    #[test]
    fn a_comparison_without_steps_replaces_what_is_between_unique_lines() {
        let (old, new) = ("a\nx\nb\nx\nx\n", "c\nx\nb\nx\ny\n");
        let of = |steps| {
            let mut attribution = Attribution::default();
            let mut work = Work::of(steps);
            attribution.follow(&Changes::between("", old, &mut work), Version(1));
            attribution.follow(&Changes::between(old, new, &mut work), Version(2));
            versions(&attribution)
        };
        assert_eq!(of(1_000), [2, 1, 1, 1, 2]);
        assert_eq!(of(0), [2, 1, 1, 1, 2]);
        let (old, new) = ("a\nx\nx\nb\n", "c\nx\nx\nd\n");
        let mut attribution = Attribution::default();
        attribution.follow(&Changes::between("", old, &mut Work::of(0)), Version(1));
        attribution.follow(&Changes::between(old, new, &mut Work::of(0)), Version(2));
        assert_eq!(versions(&attribution), [2, 2, 2, 2]);
    }
}
