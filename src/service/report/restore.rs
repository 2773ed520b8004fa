//! Report of live files that were restored.

use serde::Serialize;

use super::{Report, Spell};
use crate::values::codes::words;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::write::commit::Live;
use crate::write::publish::{RestoredFile, Standing};

/// The answer of `restore`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct RestoreReport<'r> {
    /// True if nothing was written.
    dry_run: bool,
    /// Live files that were restored, or would be.
    documents: Vec<RestoredReport<'r>>,
}

words! {
    /// Outcome for a live file.
    pub enum RestoreOutcome {
        /// The text was written.
        Restored = "restored",
        /// The file already had the text.
        Unchanged = "unchanged",
    }
}

/// One live file.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct RestoredReport<'r> {
    /// Id of the artifact.
    id: &'r DocumentId,
    /// Path of the file.
    pub path: String,
    /// Version of the text in the file.
    pub version: Version,
    /// `restored` or `unchanged`.
    pub outcome: RestoreOutcome,
    /// State of that version: `published`, `earlier` or `retired`.
    state: Standing,
    /// Advice for the next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Report for RestoreReport<'_> {
    const SCHEMA: &'static str = "restore";
}

impl<'r> RestoreReport<'r> {
    /// Reports the files that were restored, or would be in a dry run.
    pub(crate) fn new(files: &'r [RestoredFile], dry_run: bool, spell: Spell) -> Self {
        let documents = files.iter().map(|file| RestoredReport::new(file, spell)).collect();
        Self { dry_run, documents }
    }
}

impl<'r> RestoredReport<'r> {
    /// Reports one file.
    pub(crate) fn new(file: &'r RestoredFile, spell: Spell) -> Self {
        let (id, version) = (&file.id, file.version);
        let outcome = match file.live {
            Live::Keep => RestoreOutcome::Unchanged,
            _ => RestoreOutcome::Restored,
        };
        let hint = next(file).map(|hint| hint.render(spell));
        Self { id, path: id.live_path(), version, outcome, state: file.stands, hint }
    }
}

/// Returns the hint about the next step with a restored text.
fn next(file: &RestoredFile) -> Option<Hint> {
    let call = |verb| Call::new(verb).value(file.id.as_str());
    match file.stands {
        Standing::Published => None,
        Standing::EarlierUntouched(last) => Some(Hint::calls(
            "the published version stays; {} {publishes} this text as a new version, {} restores the published text",
            [
                call(Verb::Publish).word("--expect-version").value(last.to_string()),
                call(Verb::Restore),
            ],
        )),
        Standing::Earlier => Some(Hint::calls(
            "the published version stays; {} {publishes} this text as a new version, {} restores the published text",
            [call(Verb::Publish), call(Verb::Restore)],
        )),
        Standing::Retired => Some(Hint::call(
            "it stays retired; {} {publishes} it again, as a new version",
            call(Verb::Publish),
        )),
    }
}
