//! Report of one event: the versions that it published or retired, and the after-commit steps.

use std::ops::Deref;

use serde::Serialize;

use super::checkpoint::CheckpointReport;
use super::problem::{FileProblems, ProblemReport};
use super::recover::RecoveredReport;
use super::review::LeftReport;
use super::{Report, Spell};
use crate::files::vault::config::FrontmatterMode;
use crate::files::vault::left_out::{LeftOut, Reason};
use crate::policy::rules::Pending;
use crate::read::working::inbound::{Captured, FixedLinks, Inbound, InboundKind, RelativeLink};
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::write::commit::{AfterCommit, Change, Item, Step, StepFailure};
use crate::write::publish::{Outcome, Recased, Unapprovable};

/// The result of an event, after the user was notified if the event requires it.
///
/// Only `Call::acted` constructs it, so that no front end can skip the notification.
#[derive(Debug)]
pub(crate) struct Acted(Outcome);

impl Acted {
    /// Wraps the result of an event after its notification.
    pub(in crate::library::service) fn told(outcome: Outcome) -> Self {
        Self(outcome)
    }
}

impl Deref for Acted {
    type Target = Outcome;

    fn deref(&self) -> &Outcome {
        &self.0
    }
}

/// Report of an event or its dry run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct EventReport<'e> {
    /// True if nothing was written.
    dry_run: bool,
    /// Checkpoint that the event made; null if it made none.
    checkpoint: Option<CheckpointReport>,
    /// Versions that the event made, or would make.
    versions: Vec<VersionReport<'e>>,
    /// Artifacts whose text is already published.
    unchanged: &'e [DocumentId],
    /// Artifacts whose live files were updated to the published text.
    brought_up_to_date: Vec<&'e DocumentId>,
    /// Files that the event does not include.
    left_out: Vec<LeftOutReport<'e>>,
    /// Files that cannot be published, with their problems.
    refused: Vec<FileProblems>,
    /// Submissions that wait for more approvals, or for the other parts of their change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    awaiting: Vec<AwaitingReport<'e>>,
    /// Live file that was renamed in another case instead of moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed: Option<RenamedReport<'e>>,
    /// Links to the documents that were retired or moved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inbound_links: Vec<InboundReport<'e>>,
    /// Links in moved documents that would have another target in the new folder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    relative_links: Vec<RelativeReport<'e>>,
    /// Links that have another target after the event.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    captured_links: Vec<CapturedReport<'e>>,
    /// Paths in parentheses right after a wikilink that name what was retired or moved. They are
    /// not links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    texts_after_wikilinks: Vec<InboundReport<'e>>,
    /// Live files whose links could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links_unread: Vec<&'e str>,
    /// Live files whose links were changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixed_links: Vec<FixedReport<'e>>,
    /// Remarks about how the documents were treated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// Live files that were not updated; the event is committed nevertheless.
    not_updated: Vec<NotUpdatedReport<'e>>,
    /// After-commit steps that failed; the event is committed nevertheless.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after_commit: Vec<StepReport<'e>>,
    /// Uncommitted files of an interrupted command that were settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered: Option<RecoveredReport<'e>>,
}

/// A submission that waits for more approvals.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct AwaitingReport<'e> {
    /// Id of the document or governance file.
    id: &'e DocumentId,
    /// Number of valid approvals.
    approvals: usize,
    /// Number of approvals that are required.
    required: u32,
    /// Name of the change that the submission is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'e str>,
}

/// A live file that was renamed in another case.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct RenamedReport<'e> {
    /// Id of the document or governance file.
    id: &'e DocumentId,
    /// Path of the live file before.
    from: &'e str,
    /// Path of the live file after the event.
    to: &'e str,
    /// Reason why the id stays.
    reason: String,
}

impl<'e> From<&'e Recased> for RenamedReport<'e> {
    fn from(recased: &'e Recased) -> Self {
        let Recased { id, from, to } = recased;
        Self { id, from, to, reason: why_id_stays(id) }
    }
}

/// Explains that a document keeps its id when the case of its file name changes.
pub(crate) fn why_id_stays(id: &DocumentId) -> String {
    format!(
        "the id stays `{id}`, because some file systems cannot store histories under both names"
    )
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct VersionReport<'e> {
    /// Id of the document or governance file.
    id: &'e DocumentId,
    /// `new`, `changed`, `restored`, `retired`, or the step of a review.
    change: Change,
    /// Number of the version.
    version: Version,
    /// Chain hash of the version.
    chain_hash: String,
    /// Warnings about the text.
    warnings: Vec<ProblemReport>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct LeftOutReport<'e> {
    /// Id of the document; null for a file that is not a document.
    id: Option<&'e DocumentId>,
    /// Path in the vault.
    path: &'e str,
    /// Reason, as a stable word.
    reason_code: &'e Reason,
    /// Reason, as a sentence.
    reason: String,
    /// Advice on how to include the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl<'e> LeftOutReport<'e> {
    fn of(left: &'e LeftOut, spell: Spell) -> Self {
        let LeftOut { path, id, why } = left;
        let (reason_code, reason) = (why, why.to_string());
        let hint = left.hint().map(|hint| hint.render(spell));
        Self { id: id.as_ref(), path, reason_code, reason, hint }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct InboundReport<'e> {
    /// Path in the vault.
    path: &'e str,
    /// Number of the line in the file, from 1.
    line: usize,
    /// Kind of the link: `reference`, `derived_from`, `depends_on` or `pack`.
    kind: InboundKind,
    /// Target of the link.
    to: &'e DocumentId,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct RelativeReport<'e> {
    /// Path in the vault.
    path: &'e str,
    /// Number of the line in the file, from 1.
    line: usize,
    /// Target of the link as it was written.
    text: &'e str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct CapturedReport<'e> {
    /// Path in the vault.
    path: &'e str,
    /// Number of the line in the file, from 1.
    line: usize,
    /// Former target of the link.
    was: &'e DocumentId,
    /// Target of the link after the event.
    to: &'e DocumentId,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct NotUpdatedReport<'e> {
    /// Path in the vault.
    path: &'e str,
    /// Reason why the file was not updated.
    reason: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct StepReport<'e> {
    /// Step that failed.
    step: AfterCommit,
    /// Path of the file that the step writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'e str>,
    /// Reason of the failure.
    reason: &'e str,
}

impl<'e> EventReport<'e> {
    /// Reports an outcome.
    pub(crate) fn new(Acted(outcome): &'e Acted, dry_run: bool, spell: Spell) -> Self {
        let committed = outcome.committed.as_ref();
        let left_alone = committed.map(|c| c.left_alone.as_slice()).unwrap_or_default();
        let after = committed.map(|c| c.after.as_slice()).unwrap_or_default();
        let version = |item: &'e Item| VersionReport {
            id: &item.id,
            change: item.change,
            version: item.version,
            chain_hash: item.chain_hash.to_string(),
            warnings: ProblemReport::all(&item.warnings, spell),
        };
        let refused = |refusal| FileProblems::of_refusal(refusal, spell);
        let not_updated =
            |(path, why): &'e (String, _)| NotUpdatedReport { path, reason: reason(why) };
        let step = |failure: &'e StepFailure| StepReport {
            step: failure.step,
            path: failure.path.as_deref(),
            reason: &failure.why,
        };
        Self {
            dry_run,
            checkpoint: outcome.checkpoint.as_ref().map(CheckpointReport::from),
            versions: outcome.items.iter().map(version).collect(),
            unchanged: &outcome.unchanged,
            brought_up_to_date: outcome.behind.iter().map(|(id, _)| id).collect(),
            left_out: outcome.left_out.iter().map(|left| LeftOutReport::of(left, spell)).collect(),
            refused: outcome.refused.iter().map(refused).collect(),
            awaiting: outcome
                .awaited
                .iter()
                .map(|awaited| AwaitingReport {
                    id: &awaited.id,
                    approvals: awaited.found,
                    required: awaited.required,
                    change: awaited.change.as_deref(),
                })
                .collect(),
            renamed: outcome.recased.as_ref().map(RenamedReport::from),
            inbound_links: outcome.links.inbound.iter().map(InboundReport::from).collect(),
            captured_links: outcome.links.captured.iter().map(CapturedReport::from).collect(),
            texts_after_wikilinks: outcome.links.texts.iter().map(InboundReport::from).collect(),
            links_unread: outcome.links.unread.iter().map(String::as_str).collect(),
            relative_links: outcome.relative.iter().map(RelativeReport::from).collect(),
            fixed_links: outcome.fixed.iter().map(FixedReport::from).collect(),
            notes: notes(outcome, spell),
            not_updated: left_alone.iter().map(not_updated).collect(),
            after_commit: after.iter().map(step).collect(),
            recovered: (!outcome.recovered.is_empty())
                .then(|| RecoveredReport::from(&outcome.recovered)),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
struct FixedReport<'e> {
    /// Id of the document or governance file.
    id: &'e DocumentId,
    /// Path of the live file.
    path: String,
    /// Lines of the links that were changed.
    changed: &'e [usize],
    /// Lines of the links that must be changed by hand.
    by_hand: Vec<usize>,
}

impl<'e> From<&'e FixedLinks> for FixedReport<'e> {
    fn from(file: &'e FixedLinks) -> Self {
        let changed = &file.new.changed;
        let by_hand = file.new.left.iter().map(|link| link.line).collect();
        Self { id: &file.id, path: file.id.live_path(), changed, by_hand }
    }
}

impl<'e> From<&'e Captured> for CapturedReport<'e> {
    fn from(link: &'e Captured) -> Self {
        Self { path: &link.path, line: link.line, was: &link.was, to: &link.now }
    }
}

impl<'e> From<&'e Inbound> for InboundReport<'e> {
    fn from(link: &'e Inbound) -> Self {
        Self { path: &link.path, line: link.line, kind: link.kind, to: &link.to }
    }
}

/// Returns notes about how the documents of an event were treated.
pub(crate) fn notes(outcome: &Outcome, spell: Spell) -> Vec<String> {
    let live = outcome.unpublished_mode;
    let has_document = outcome.items.iter().any(|item| item.id.is_document());
    let publish = || Call::new(Verb::Publish).value(DocumentId::config().as_str());
    let of_mode = |live: FrontmatterMode| {
        let text = match live {
            FrontmatterMode::Untouched => {
                "`frontmatter: untouched` is not published yet, so publishing still writes fields \
                 into files; {} {publishes} the setting"
            }
            FrontmatterMode::Managed => {
                "`frontmatter: untouched` is still published, so no fields were written into files; \
                 {} {publishes} the setting of the configuration"
            }
        };
        Hint::call(text, publish()).render(spell)
    };
    let of_links = || {
        let text = "the change of `links` in the configuration is not published yet, so links from the \
                    root of a site follow the published setting; {} {publishes} the change";
        Hint::call(text, publish()).render(spell)
    };
    let of_mode = live.filter(|_| has_document).map(of_mode);
    let of_reviewers = outcome.unapprovable.iter().map(|Unapprovable { id, is_by_loss }| {
        let of = |verb| Call::new(verb).value(id.as_str());
        if *is_by_loss {
            let text = format!(
                "no steward may approve {id}, because reviewers submitted versions of it that were lost in a merge;"
            );
            let dismiss = of(Verb::AuditDismiss).word("--reason").word("TEXT");
            let hint = " after {} by another reviewer of the vault, a reviewer may approve it again";
            return text + &Hint::calls(hint, [dismiss]).render(spell);
        }
        let text = format!(
            "no steward may approve {id}: every reviewer of all its texts is also one of its authors;"
        );
        let hint = " {} shows the reviewers; assign another one in stewards.yaml, or run {} and let another principal submit a new text";
        text + &Hint::calls(hint, [of(Verb::StewardWho), of(Verb::Withdraw)]).render(spell)
    });
    let is_alone =
        |item: &&Item| item.change == Change::Step(Step::Submit) && !item.id.is_document();
    let alone = outcome.items.iter().filter(|_| outcome.change.is_some()).filter(is_alone);
    let of_alone = alone.map(|item| {
        format!("{} is not part of a change: a governance file is decided on its own", item.id)
    });
    let of_awaiting = outcome.awaiting.iter().map(|(id, version, by)| {
        let text =
            format!("{id} with this text already awaits a decision (version {version}, by {by});");
        let show = Call::new(Verb::ReviewShow).value(id.as_str());
        text + &Hint::call(" {} shows it", show).render(spell)
    });
    let of_ended = outcome.ended.iter().map(|(id, Pending { version, by, change, .. })| {
        let change = change.as_ref();
        let left = change.map(|name| format!(" and removes it from the change {name}"));
        let left = left.unwrap_or_default();
        let text = format!("the retirement ends the submission of {id} (version {version}, by {by}){left};");
        let of = |verb| Call::new(verb).value(id.as_str());
        let show = of(Verb::ReviewShow).word("--version").value(version.to_string());
        let hint = " {} shows it; to propose its text again, its submitter runs {}, with `--from FILE` if the text was handed in";
        text + &Hint::calls(hint, [show, of(Verb::Submit)]).render(spell)
    });
    let of_left = outcome.left.iter().map(|part| LeftReport::from(part).to_string());
    let of_superseding = outcome.superseding.iter().map(|(id, reviewers)| {
        let named: Vec<&str> = reviewers.iter().take(MOST_REVIEWERS).map(String::as_str).collect();
        let more = match reviewers.len() - named.len() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let named = named.join(", ");
        format!("the submitters of the replaced submission of {id} may not approve it either; these principals may: {named}{more}")
    });
    let of_scopes = outcome.stuck.iter().map(|stuck| {
        format!("{stuck}: submissions there cannot be approved; a reviewer of the whole vault can approve a change of stewards.yaml")
    });
    let of_settings = of_mode.into_iter().chain(outcome.unpublished_links.then(of_links));
    let of_hidden =
        [("also decided", outcome.hidden.len()), ("not decided", outcome.hidden_awaited)];
    let of_hidden =
        of_hidden.into_iter().filter(|(_, number)| *number > 0).map(|(state, number)| {
            let what = crate::values::text_util::count(number, "part");
            format!("{state}: {what} of the change that you may not read")
        });
    of_settings
        .chain(of_scopes)
        .chain(of_reviewers)
        .chain(of_ended)
        .chain(of_left)
        .chain(of_superseding)
        .chain(of_awaiting)
        .chain(of_alone)
        .chain(of_hidden)
        .collect()
}

/// Maximum number of reviewers that a note names.
const MOST_REVIEWERS: usize = 5;

impl<'e> From<&'e RelativeLink> for RelativeReport<'e> {
    fn from(link: &'e RelativeLink) -> Self {
        Self { path: &link.path, line: link.line, text: &link.text }
    }
}

fn reason(why: &crate::files::vault::files::FileError) -> String {
    why.to_string()
}

/// Defines the reports of all commands that make an event, each with its own schema.
macro_rules! events {
    ($($(#[$doc:meta])* $name:ident $schema:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
            #[serde(transparent)]
            pub struct $name<'e>(pub EventReport<'e>);

            impl Report for $name<'_> {
                const SCHEMA: &'static str = $schema;
            }
        )*
    };
}

events! {
    /// The answer of `add`.
    Added "add";
    /// The answer of `publish`.
    Published "publish";
    /// The answer of `retire`.
    Retired "retire";
    /// The answer of `mv`.
    Moved "mv";
    /// The answer of `submit`.
    Submitted "submit";
    /// The answer of `approve`.
    Approved "approve";
    /// The answer of `reject`.
    Rejected "reject";
    /// The answer of `withdraw`.
    Withdrawn "withdraw";
    /// The answer of `govern on`.
    GovernOn "govern.on";
    /// The answer of `govern off`.
    GovernOff "govern.off";
    /// The answer of `audit begin`.
    AuditBegun "audit.begin";
    /// The answer of `steward assign`.
    StewardAssigned "steward.assign";
    /// The answer of `steward remove`.
    StewardRemoved "steward.remove";
}
