//! Failures with a difference that explains them, for readers who may read both texts.

use super::super::failure::Failure;
use super::writing::first;
use crate::record::chain::history::Entry;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// Maximum number of lines of a diff in a failure.
const MOST_OF_DIFF: usize = 60;

/// The difference between two versions of an artifact.
pub(crate) struct Difference<'d> {
    pub(crate) id: &'d DocumentId,
    /// Versions that were published or retired in between.
    pub(crate) between: &'d [Entry],
    /// Unified diff; empty if the texts are equal or the reader may not read one of them.
    pub(crate) diff: &'d str,
    /// Version that the caller has read, the published version, and the way to merge it.
    pub(crate) merge: Option<(Version, Version, HowToMerge)>,
}

/// Way to merge later published changes into the live file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HowToMerge {
    /// The file states that it is based on the published version.
    Done,
    /// The diff applies to the file.
    Patch,
    /// The file has edits in the same lines, or the places are ambiguous.
    ByHand,
    /// The file does not exist.
    Absent,
}

impl Failure {
    /// Adds the difference, its authors, and how to merge it.
    pub(crate) fn with_difference(mut self, difference: &Difference<'_>) -> Self {
        self.details.extend(lines(difference));
        // The last hint is about the next step and must remain last.
        let at = self.hints.len().saturating_sub(1);
        self.hints.splice(at..at, difference.merge.map(|merge| hint(difference.id, merge)));
        self
    }

    /// Adds the commands that show the differences, for a front end that does not print these.
    #[cfg(feature = "mcp")]
    pub(crate) fn without_differences(mut self) -> Self {
        let at = self.hints.len().saturating_sub(1);
        let published = self.compared.iter().filter(|compared| compared.is_published);
        let calls = published.filter_map(|compared| {
            let from = compared.from.filter(|from| *from > Version::NONE && compared.to > *from)?;
            Some(Hint::call("{} shows the changes", diff(&compared.id, from, compared.to)))
        });
        self.hints.splice(at..at, calls.collect::<Vec<_>>());
        self
    }
}

fn lines(difference: &Difference<'_>) -> Vec<String> {
    let id = difference.id;
    let entry = |entry: &Entry| {
        let (version, by, at) = (entry.version, &entry.edited_by, entry.edited_at);
        let what = if entry.is_retirement() { " (retired)" } else { "" };
        let note = entry.note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
        format!("{id} version {version}{what}, by {by} at {at}{note}")
    };
    let mut lines: Vec<String> = difference.between.iter().map(entry).collect();
    lines.extend(first(MOST_OF_DIFF, difference.diff.lines().map(str::to_owned).collect()));
    lines
}

fn diff(id: &DocumentId, from: Version, to: Version) -> Call {
    Call::new(Verb::Diff).value(id.as_str()).value(from.to_string()).value(to.to_string())
}

fn hint(id: &DocumentId, (from, to, how): (Version, Version, HowToMerge)) -> Hint {
    let (path, diff) = (id.live_path(), diff(id, from, to));
    match how {
        HowToMerge::Done => {
            format!("`{path}` is based on version {to} already: check what it contains").into()
        }
        HowToMerge::Patch => Hint::call(
            "in the vault's folder, {} applies the changes to your file",
            diff.patching(path),
        ),
        HowToMerge::ByHand => Hint::call(
            "{} shows the changes: apply them to your file by hand, and set `version` to the published one",
            diff,
        ),
        HowToMerge::Absent => {
            let show = Call::new(Verb::Show).value(id.as_str()).value(to.to_string());
            Hint::call("the live file is missing: {} prints the published text", show)
        }
    }
}
