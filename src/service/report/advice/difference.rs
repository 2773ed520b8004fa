//! A failure with the difference that explains it, which its reader may read.

use super::super::failure::Failure;
use super::writing::first;
use crate::record::chain::history::Entry;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// How many lines of a diff a failure has.
const MOST_OF_DIFF: usize = 60;

/// What differs between two versions of an artifact.
pub(crate) struct Difference<'d> {
    pub(crate) id: &'d DocumentId,
    /// The versions that were published or retired in between.
    pub(crate) between: &'d [Entry],
    /// Empty if the texts are equal, or one of them may not be read.
    pub(crate) diff: &'d str,
    /// What was published since the caller has read the document, and how that gets into the live file.
    pub(crate) merge: Option<(Version, Version, HowToMerge)>,
}

/// How to merge what was published since into the live file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HowToMerge {
    /// It is there: the file says that it was made from the published version.
    Done,
    /// The diff has its places in the file.
    Patch,
    /// The file was edited in the same lines, or the places are ambiguous.
    ByHand,
    /// The file does not exist.
    Absent,
}

impl Failure {
    /// The same failure with a difference: who changed what, and how to merge it.
    pub(crate) fn with_difference(mut self, difference: &Difference<'_>) -> Self {
        self.details.extend(lines(difference));
        // How to go on is said last.
        let at = self.hints.len().saturating_sub(1);
        self.hints.splice(at..at, difference.merge.map(|merge| hint(difference.id, merge)));
        self
    }

    /// The same failure for a front end that prints no differences: it names who shows them.
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
            "in the vault's folder, {} puts the changes into your file",
            diff.patching(path),
        ),
        HowToMerge::ByHand => Hint::call(
            "{} shows the changes: put them into your file by hand, and set `version` to the published one",
            diff,
        ),
        HowToMerge::Absent => {
            let show = Call::new(Verb::Show).value(id.as_str()).value(to.to_string());
            Hint::call("the live file is missing: {} prints what is published", show)
        }
    }
}
