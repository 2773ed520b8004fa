//! The staged results beside the documents of an answer (STAGE-13).

use super::resolve::Resolved;
use super::{Call, Note};
use crate::files::vault::Vault;
use crate::read::snapshot::context::Context;
use crate::record::staging::StagedEntry;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::staging::{StagedLeftOutReport, StagedReport, block};
use crate::service::workspace::staging::Content;

/// The staged results of an answer.
#[derive(Default)]
pub(crate) struct Beside {
    /// Those that fit.
    pub(crate) taken: Vec<StagedResult>,
    /// What did not fit into the budget.
    pub(crate) left_out: Vec<StagedLeftOutReport>,
}

/// One of them, with its content where that was asked for.
pub(crate) struct StagedResult {
    entry: StagedEntry,
    own: bool,
    content: Option<Content>,
    /// What its block costs, where there is a budget.
    tokens: Option<u64>,
}

impl StagedResult {
    /// The report of it.
    pub(crate) fn report(&self) -> StagedReport {
        let report =
            StagedReport { tokens: self.tokens, ..StagedReport::of(&self.entry, self.own) };
        match &self.content {
            Some(content) => report.with(&content.bytes),
            None => report,
        }
    }

    /// Whether its content is part of the answer.
    pub(crate) fn has_content(&self) -> bool {
        self.content.is_some()
    }

    /// Its content between the lines that say what it is; none where only its name was asked for.
    pub(crate) fn block(&self) -> Option<String> {
        self.content.as_ref().map(|content| block(&self.entry, &content.bytes))
    }
}

impl Beside {
    /// The reports of those that fit.
    pub(crate) fn reports(&self) -> Vec<StagedReport> {
        self.taken.iter().map(StagedResult::report).collect()
    }

    /// Whether there was none.
    pub(crate) fn is_empty(&self) -> bool {
        self.taken.is_empty() && self.left_out.is_empty()
    }
}

impl Call<'_> {
    /// The staged results that stand beside the documents of an answer about now; a past one is
    /// answered from its checkpoint. A budget is for both: results get what documents leave of it, in
    /// their order.
    ///
    /// # Errors
    /// The chains, or what is in force, cannot be read.
    pub(crate) fn beside(
        &mut self,
        vault: &Vault,
        resolved: &Resolved<'_>,
        (context, with_contents): (&Context<'_>, bool),
    ) -> Result<Beside, Failure> {
        self.recording.listed = Some(context.portions.len());
        if !resolved.is_now || self.pinned.is_some() {
            return Ok(Beside::default());
        }
        let found = match self.workspace.staged_of(vault, &self.labels, &resolved.asked) {
            // That they cannot be read is no reason to keep documents back.
            Err(why) if why.code == Code::Io => {
                self.note(Note::NoStaging(why.message));
                None
            }
            found => found?,
        };
        let Some((view, entries)) = found else { return Ok(Beside::default()) };
        for source in view.damaged() {
            self.note(Note::DamagedChain(source.clone()));
        }
        let mut left = context.room.map(|room| room.saturating_sub(context.tokens()));
        let mut beside = Beside::default();
        for entry in entries {
            let own = view.is_own(&entry);
            let mut content = None;
            if with_contents || left.is_some() {
                match view.content(vault, &entry) {
                    Ok(found) => content = Some(found),
                    Err(why) => self.note(Note::NoContent(why.message)),
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
            let content = content.map(|found| self.release(found.handed_out(&entry)));
            beside.taken.push(StagedResult { entry, own, content, tokens });
        }
        self.recording.listed = Some(context.portions.len() + beside.taken.len());
        Ok(beside)
    }
}
