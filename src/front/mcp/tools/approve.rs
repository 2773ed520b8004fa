//! `context_approve`: publishes a submission, with the consent of a human.

mod shown;

use schemars::JsonSchema;
use serde::Deserialize;

use super::author::event;
use super::{Answer, Asking, Outputs, Profile, Question};
use crate::files::vault::Vault;
use crate::front::mcp::consent::quoted;
use crate::front::mcp::spelling;
use crate::service::report::event::Approved;
use crate::service::report::failure::Failure;
use crate::service::report::review::QueuedAction;
use crate::service::report::spelling::command_line;
use crate::service::report::submission::SubmissionReport;
use crate::service::workspace::call::Call;
use crate::service::workspace::call::submit::{Decided, Deciding};
use crate::values::model::digest::Digest;
use crate::values::model::hint::{Call as Words, Verb};
use crate::values::model::number::Version;
use crate::values::text_util::count;
use crate::write::publish::Mode;
use shown::{Shown, changes};

/// Maximum number of ids in a question.
const MOST: usize = 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Approve {
    /// Id of the submitted document
    #[schemars(extend("x-holds" = "document"))]
    id: String,
    /// The version that was submitted, as context_review shows it
    version: u64,
    /// Note to store with the version
    #[serde(default)]
    note: Option<String>,
}

impl Question for Approve {
    const NAME: &'static str = "context_approve";
    const TITLE: &'static str = "Approve a submission";
    const DESCRIPTION: &'static str = "Approves exactly one version of a submission, which publishes \
        it if no further approval is needed. The user is asked for consent, and may refuse. Read the \
        submission with context_review first. Authors cannot approve their own submissions.";
    const REPLACES: bool = true;
    const ASKS: bool = true;

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<Approved<'static>>();
    }

    fn asks(&self, call: &mut Call<'_>) -> Result<Option<Asking>, Failure> {
        let vault = call.vault()?;
        asking(call, &vault, (&self.id, Version(self.version)), self.note.as_deref()).map(Some)
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let vault = call.vault()?;
        approve(call, &vault, (&self.id, Version(self.version)), self.note.as_deref())
    }
}

/// Approves one submission.
pub(super) fn approve(
    call: &mut Call<'_>,
    vault: &Vault,
    (id, version): (&str, Version),
    note: Option<&str>,
) -> Result<Answer, Failure> {
    let ids = [id.to_owned()];
    let decided = decided(&ids, version, note);
    let outcome = call.decide(vault, &decided, Deciding::Approve)?;
    event(call, &outcome, Approved)
}

fn decided<'d>(ids: &'d [String], version: Version, note: Option<&'d str>) -> Decided<'d> {
    Decided { ids, change: None, version: Some(version), note, mode: Mode::default() }
}

/// Returns the question before the approval of a submission. A call that would fail afterwards is
/// refused here, so that no human is asked in vain.
pub(super) fn asking(
    call: &mut Call<'_>,
    vault: &Vault,
    (id, version): (&str, Version),
    note: Option<&str>,
) -> Result<Asking, Failure> {
    let ids = [id.to_owned()];
    let mut trial = decided(&ids, version, note);
    trial.mode.dry_run = true;
    let outcome = call.decide(vault, &trial, Deciding::Approve)?;
    let submitted = call.submission(vault, id, None)?;
    let report = SubmissionReport::new(&submitted, spelling::of(Profile::Reviewer));
    let one = &report.submission;
    let what = match (one.action, one.target) {
        (QueuedAction::Emergency, _) => "the emergency retirement of".to_owned(),
        (QueuedAction::Retire, _) => "the retirement of".to_owned(),
        (QueuedAction::Move, Some(target)) => format!("the move to {} of", quoted(target.as_str())),
        _ => format!("the changes (+{} -{} lines) of", one.lines_added, one.lines_removed),
    };
    let (me, by) = (submitted.principal.as_str(), quoted(one.by));
    let published = outcome.checkpoint.as_ref().map(|_| &outcome.items);
    let then = match published {
        Some(items) => {
            let named = items.iter().take(MOST).map(|item| quoted(item.id.as_str()));
            let named: Vec<_> = named.collect();
            let more = match items.len().saturating_sub(MOST) {
                0 => String::new(),
                more => format!(", and {}", count(more, "other")),
            };
            format!("With this approval it takes effect, for {}{more}.", named.join(", "))
        }
        None if one.action == QueuedAction::Emergency => {
            "It is ratified, and stays retired.".to_owned()
        }
        None => "It takes effect after further approvals.".to_owned(),
    };
    let id = quoted(one.id.as_str());
    let show = command_line(&Words::new(Verb::ReviewShow).value(one.id.as_str()));
    let Shown { lines, lacks } = changes(&report);
    let has_words = !lines.is_empty();
    let lacks = match lacks.is_empty() {
        true => String::new(),
        false => format!("This question {lacks}. Read all of them first: {show}\n"),
    };
    let warnings = report.warnings.iter().filter(|warning| warning.code == "base-unapproved");
    let warnings = warnings.map(|warning| format!("Warning: {}.\n", warning.message));
    let left = report.members_left.iter().map(|id| {
        format!("{} left the change: it was retired in an emergency.\n", quoted(id.as_str()))
    });
    let warnings: String = warnings.chain(left).collect();
    let changes = if has_words { format!("\nChanges:{lines}") } else { lines };
    let text = format!(
        "{lacks}{warnings}As {}: approve {what} {id}, version {}, submitted by {by}, {}? {then} \
         This shows it: {show}{changes}",
        quoted(me),
        one.version,
        one.at,
    );
    let pending = submitted.about.waiting.track.pending.as_ref();
    let about = pending.map(|pending| Digest::of(pending.text.as_bytes()).to_string());
    Ok(Asking { text, has_words, about: about.unwrap_or_default() })
}
