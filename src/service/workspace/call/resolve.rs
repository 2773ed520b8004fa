//! Resolves a selector or a URI to documents with their texts.

use super::beside::Beside;
use super::{Call, Places};
use crate::files::vault::Vault;
use crate::read::snapshot::Resolution;
use crate::read::snapshot::context::{Context, Shape};
use crate::read::snapshot::instructions::Instructions;
use crate::read::snapshot::tokens::Tokenizer;
use crate::record::audit::Traced;
use crate::record::checkpoint::fault::LogError;
use crate::service::report::failure::Failure;
use crate::service::report::resolve::{Detail, ResolveReport};
use crate::service::workspace::ask::{Asked, Query};
use crate::service::workspace::moment::Moment;
use crate::service::workspace::search::OnSlow;
use crate::text::uri::Class;

/// A selector that is parsed and planned.
pub(crate) struct Planned<'v> {
    /// The selector and its checkpoint.
    pub(crate) asked: Asked<'v>,
    /// True if the question names no checkpoint, so that the head answers.
    pub(crate) is_now: bool,
}

/// The documents of a selector.
pub(crate) struct Resolved<'v> {
    /// The selector and its checkpoint.
    pub(crate) asked: Asked<'v>,
    /// True if the question named no checkpoint, so that the head answered.
    pub(crate) is_now: bool,
    /// The documents.
    pub(crate) resolution: Resolution,
    /// Notes on the selector for its writer.
    pub(crate) notes: Vec<String>,
    instructions: Vec<Instructions>,
}

impl Call<'_> {
    /// Parses a selector or URI, and plans it at a checkpoint.
    ///
    /// # Errors
    /// The selector is invalid, or names something that does not exist.
    pub(crate) fn plan<'v>(
        &mut self,
        (vault, source): Places<'v>,
        (text, at, whole): (&str, Option<Moment>, bool),
        on_slow: OnSlow<'_>,
    ) -> Result<Planned<'v>, Failure> {
        let at = self.workspace.checkpoint_at((vault, source), at)?;
        let query = Query { text, at, whole, staged: true };
        let asked = Asked::new(&self.workspace, (vault, source), query, on_slow)?;
        let is_now = at.or(asked.selector.checkpoint).is_none();
        Ok(Planned { asked, is_now })
    }

    /// Resolves a selector to documents, with the instructions that precede their texts in an
    /// answer for an agent.
    ///
    /// # Errors
    /// The published documents cannot be read.
    pub(crate) fn resolve<'v>(
        &mut self,
        vault: &Vault,
        Planned { mut asked, is_now }: Planned<'v>,
        with_instructions: bool,
    ) -> Result<Resolved<'v>, Failure> {
        self.recording.class = Some(asked.plan.class());
        self.recording.query = Some(asked.selector.to_string());
        let mut resolution = asked.resolve(vault)?;
        let notes = asked.notes(&resolution)?;
        let instructions = match with_instructions {
            true => asked.instructions(&mut resolution),
            false => Vec::new(),
        };
        // The answer to a search, or to a single name, does not depend on unreadable documents.
        if asked.plan.class() == Class::Set {
            self.count_unreadable(&asked.snapshot)?;
        }
        Ok(Resolved { asked, is_now, resolution, notes, instructions })
    }
}

impl Resolved<'_> {
    /// Returns the part of the answer that fits into a budget.
    ///
    /// # Errors
    /// The state of the checkpoint cannot be read.
    pub(crate) fn context(
        &self,
        budget: Option<u64>,
        tokenizer: Tokenizer,
    ) -> Result<Context<'_>, LogError> {
        self.context_of(Shape { budget, tokenizer, ..Shape::default() })
    }

    /// Returns the part of the answer that fits into a shape, with the instructions.
    ///
    /// # Errors
    /// The state of the checkpoint cannot be read.
    pub(crate) fn context_of<'r>(&'r self, shape: Shape<'r>) -> Result<Context<'r>, LogError> {
        let shape = Shape { instructions: &self.instructions, ..shape };
        Ok(Context::new(self.asked.question()?, &self.resolution, shape))
    }

    /// Returns the report of a context, and of the staged results next to it.
    pub(crate) fn report<'r>(
        &'r self,
        context: &'r Context<'r>,
        beside: &'r Beside,
        detail: Detail,
    ) -> Traced<ResolveReport<'r>> {
        let about = (self.asked.selector.to_string(), self.asked.snapshot.checkpoint());
        let (plan, resolution, notes) = (&self.asked.plan, &self.resolution, &self.notes);
        let report = ResolveReport::new(about, plan, context, resolution, notes, detail);
        report.map(|report| report.beside(beside.reports(), &beside.left_out))
    }
}
