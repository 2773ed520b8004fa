//! Shared arguments and answers of the tools that write.

use super::Answer;
use crate::files::vault::Vault;
use crate::front::mcp::offer::Profile;
use crate::front::mcp::spelling;
use crate::service::report::Report;
use crate::service::report::draft::DraftReport;
use crate::service::report::event::{Acted, EventReport, Submitted};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::argument::{node_type, tags};
use crate::service::workspace::call::Call;
use crate::service::workspace::call::draft::Fields;
use crate::values::model::digest::{Digest, DigestError};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::write::commit::expect::Expect;
use crate::write::publish::{Draft, Mode};

/// Returns the fields of arguments.
pub(super) fn fields(
    vault: &Vault,
    title: Option<String>,
    word: Option<&str>,
    words: Option<&[String]>,
) -> Result<Fields, Failure> {
    check_tags(words)?;
    Ok(Fields {
        title,
        node_type: word.map(node_type).transpose()?,
        tags: words.map(|words| tags(words, vault)).transpose()?,
    })
}

/// Refuses an empty tag. A command line ignores an empty item between two commas.
pub(super) fn check_tags(words: Option<&[String]>) -> Result<(), Failure> {
    let is_empty = |word: &String| word.trim().trim_start_matches('#').is_empty();
    match words.unwrap_or_default().iter().any(is_empty) {
        true => Err(Failure::new(Code::Usage, "an item of `tags` is empty")
            .hint("leave `tags` out, or pass `[]` for none")),
        false => Ok(()),
    }
}

/// Returns the version that an argument names.
pub(super) fn version(number: Option<u64>) -> Option<Version> {
    number.map(Version)
}

/// Returns the mode of an event whose caller expects this version.
pub(super) fn mode(expected: Option<u64>) -> Mode {
    Mode { expect: Expect { version: version(expected), hash: None }, ..Mode::default() }
}

/// Parses the hash of a live file.
pub(super) fn digest(text: Option<&str>) -> Result<Option<Digest>, Failure> {
    let read = text.map(str::parse).transpose();
    read.map_err(|why: DigestError| {
        Failure::new(Code::Usage, format!("invalid value of `expected_live`: {why}"))
            .hint("pass `live_hash` of an answer as it is")
    })
}

/// Refuses an argument of a submission if a draft is written.
pub(super) fn check_submit(submits: bool, argument: Option<&str>) -> Result<(), Failure> {
    match argument {
        Some(_) if !submits => {
            let message = "`change` and `supersede` are only for submissions";
            Err(Failure::new(Code::Usage, message).hint("set `submit`, or leave them out"))
        }
        _ => Ok(()),
    }
}

/// Refuses a call without ids and without a change.
pub(super) fn check_ids(ids: &[String], change: Option<&str>) -> Result<(), Failure> {
    match ids.is_empty() && change.is_none() {
        true => Err(Failure::new(Code::Usage, "no document and no change is named")
            .hint("pass `ids` or `change`")),
        false => Ok(()),
    }
}

/// Returns the answer of a tool that made an event, or a step of a review.
pub(super) fn event<'o, R: Report>(
    call: &Call<'_>,
    outcome: &'o Acted,
    report: fn(EventReport<'o>) -> R,
) -> Result<Answer, Failure> {
    let report = report(EventReport::new(outcome, false, spelling::of(Profile::Author)));
    Ok(Answer::of(call, &report))
}

/// Answers of tools that write texts.
pub(super) struct Written;

impl Written {
    /// Returns the answer about a draft.
    pub(super) fn draft(
        call: &Call<'_>,
        (id, draft): (&DocumentId, &Draft),
    ) -> Result<Answer, Failure> {
        Ok(Answer::of(call, &DraftReport::new(id, draft)))
    }

    /// Returns the answer about a submission.
    pub(super) fn submitted(call: &Call<'_>, outcome: &Acted) -> Result<Answer, Failure> {
        event(call, outcome, Submitted)
    }
}
