//! The staged results next to the documents of an answer (STAGE-13).

use super::resolve::Resolved;
use super::{Call, Note};
use crate::files::vault::Vault;
use crate::read::snapshot::context::Context;
use crate::record::staging::StagedEntry;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::staging::{StagedLeftOutReport, StagedReport, block};
use crate::service::workspace::staging::{Content, content};

/// The staged results of an answer.
#[derive(Default)]
pub(crate) struct Beside {
    /// The results that fit into the budget.
    pub(crate) taken: Vec<StagedResult>,
    /// The results that do not fit into the budget.
    pub(crate) left_out: Vec<StagedLeftOutReport>,
}

/// A staged result, with its content if that was asked for.
pub(crate) struct StagedResult {
    entry: StagedEntry,
    own: bool,
    content: Option<Content>,
    /// Tokens of its block; `None` without a budget.
    tokens: Option<u64>,
}

impl StagedResult {
    pub(crate) fn report(&self) -> StagedReport {
        let report =
            StagedReport { tokens: self.tokens, ..StagedReport::of(&self.entry, self.own) };
        match &self.content {
            Some(content) => report.with(&content.bytes),
            None => report,
        }
    }

    /// Returns true if the content is part of the answer.
    pub(crate) fn has_content(&self) -> bool {
        self.content.is_some()
    }

    /// Returns the content between the lines that identify it; `None` if only the name was
    /// asked for.
    pub(crate) fn block(&self) -> Option<String> {
        self.content.as_ref().map(|content| block(&self.entry, &content.bytes))
    }
}

impl Beside {
    /// Returns the reports of the results that fit.
    pub(crate) fn reports(&self) -> Vec<StagedReport> {
        self.taken.iter().map(StagedResult::report).collect()
    }

    /// Returns true if nothing was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.taken.is_empty() && self.left_out.is_empty()
    }
}

impl Call<'_> {
    /// Returns the staged results that go next to the documents of an answer about the present.
    ///
    /// An answer about the past has none, because checkpoints do not contain them. Documents and
    /// results share a budget: results get what documents leave of it, in their order.
    ///
    /// # Errors
    /// The chains, or the configuration and stewards in force, cannot be read.
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
            // Documents are answered even if staged results cannot be read.
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
            let mut kept = None;
            if with_contents || left.is_some() {
                match content(vault, &entry) {
                    Ok(found) => kept = Some(found),
                    Err(why) => self.note(Note::NoContent(why.message)),
                }
            }
            let mut tokens = None;
            if let (Some(left), Some(content)) = (&mut left, &kept) {
                let cost = context.tokenizer().count(&block(&entry, &content.bytes));
                if cost > *left {
                    let uri = entry.name().to_string();
                    beside.left_out.push(StagedLeftOutReport { uri, tokens: cost, left: *left });
                    continue;
                }
                *left -= cost;
                tokens = Some(cost);
            }
            let content = kept.filter(|_| with_contents);
            let content = content.map(|found| self.release(found.handed_out(&entry)));
            beside.taken.push(StagedResult { entry, own, content, tokens });
        }
        self.recording.listed = Some(context.portions.len() + beside.taken.len());
        Ok(beside)
    }
}
