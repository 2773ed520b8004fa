//! The staged results beside the documents of an answer (STAGE-13).

use super::Resolve;
use crate::cli::session::Session;
use crate::cli::stage;
use crate::cli::ui::shown;
use crate::report::failure::Failure;
use crate::report::staging::{StagedLeftOutReport, StagedReport, block};
use crate::resolve::context::Context;
use crate::staging::StagedEntry;
use crate::vault::Vault;
use crate::words::count;
use crate::workspace::ask::Asked;
use crate::workspace::staging::Content;

/// The staged results of an answer.
#[derive(Default)]
pub(super) struct Beside {
    pub(super) taken: Vec<StagedResult>,
    /// What did not fit into the budget.
    pub(super) left_out: Vec<StagedLeftOutReport>,
}

/// One of them, with its content where that was asked for.
pub(super) struct StagedResult {
    entry: StagedEntry,
    own: bool,
    content: Option<Content>,
    /// What its block costs, where there is a budget.
    tokens: Option<u64>,
}

impl StagedResult {
    pub(super) fn report(&self) -> StagedReport {
        let report =
            StagedReport { tokens: self.tokens, ..StagedReport::of(&self.entry, self.own) };
        match &self.content {
            Some(content) => report.with(&content.bytes),
            None => report,
        }
    }
}

/// The staged results that stand beside the documents of an answer about now. A budget is for both:
/// results get what documents leave of it, in their order.
pub(super) fn beside(
    session: &mut Session<'_>,
    (vault, asked): (&Vault, &Asked<'_>),
    (context, with_contents): (&Context<'_>, bool),
) -> Result<Beside, Failure> {
    let found = session.workspace.staged_of(vault, &session.labels, asked)?;
    let Some((view, entries)) = found else { return Ok(Beside::default()) };
    stage::warn_of_damage(session, view.damaged());
    let mut left = context.budget.map(|budget| budget.saturating_sub(context.tokens()));
    let mut beside = Beside::default();
    for entry in entries {
        let own = view.is_own(&entry);
        let mut content = None;
        if with_contents || left.is_some() {
            match view.content(vault, &entry) {
                Ok(found) => content = Some(found),
                Err(why) => session.ui.note(&format!("warning: {}", shown(&why.message))),
            }
        }
        let mut tokens = None;
        if let (Some(left), Some(content)) = (&mut left, &content) {
            let cost = context.tokenizer().count(&block(&entry, &content.bytes));
            if cost > *left {
                let uri = entry.name().to_string();
                beside.left_out.push(StagedLeftOutReport { uri, tokens: cost, left: *left });
                continue;
            }
            *left -= cost;
            tokens = Some(cost);
        }
        let content = content.filter(|_| with_contents);
        let content = content.map(|found| session.release(found.handed_out(&entry)));
        beside.taken.push(StagedResult { entry, own, content, tokens });
    }
    Ok(beside)
}

pub(super) fn print(args: &Resolve, session: &mut Session<'_>, beside: &Beside) {
    if !args.ids {
        for one in &beside.taken {
            if let Some(content) = &one.content {
                session.ui.harmless(&block(&one.entry, &content.bytes));
            }
        }
        let listed = beside.taken.iter().filter(|one| one.content.is_none());
        let rows: Vec<_> = listed.map(|one| stage::row(&one.report())).collect();
        session.ui.table(&rows);
    }
}

/// What did not fit is part of the answer, and no failure.
pub(super) fn note_left_out(session: &mut Session<'_>, beside: &Beside) {
    if beside.left_out.is_empty() {
        return;
    }
    let all = count(beside.left_out.len() + beside.taken.len(), "staged result");
    session.ui.note(&format!("left out: {} of {all}", beside.left_out.len()));
    for out in &beside.left_out {
        let (uri, tokens, left) = (shown(&out.uri), out.tokens, out.left);
        session.ui.note(&format!("  {uri}: {tokens} tokens; {left} were left"));
    }
}
