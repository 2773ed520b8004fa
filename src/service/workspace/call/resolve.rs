//! What a selector or a URI selects, with texts.

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

/// A selector that was read and planned.
pub(crate) struct Planned<'v> {
    /// What is asked.
    pub(crate) asked: Asked<'v>,
    /// Whether it is asked of the last checkpoint, and not of one that is named.
    pub(crate) is_now: bool,
}

/// What it selects.
pub(crate) struct Resolved<'v> {
    /// What was asked.
    pub(crate) asked: Asked<'v>,
    /// Whether it was asked of the last checkpoint.
    pub(crate) is_now: bool,
    /// The documents.
    pub(crate) resolution: Resolution,
    /// What the writer of the selector should know.
    pub(crate) notes: Vec<String>,
    instructions: Vec<Instructions>,
}

impl Call<'_> {
    /// Reads a selector or URI, and plans it at a checkpoint.
    ///
    /// # Errors
    /// It is invalid, or names what is not there.
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

    /// The documents that a selector selects, with the instructions that go before their texts if
    /// the answer is one for an agent.
    ///
    /// # Errors
    /// What is published cannot be read.
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
        // A search, or a lone name, is answered as if the others were not there.
        if asked.plan.class() == Class::Set {
            self.count_unreadable(&asked.snapshot)?;
        }
        Ok(Resolved { asked, is_now, resolution, notes, instructions })
    }
}

impl Resolved<'_> {
    /// What of it fits into a budget.
    ///
    /// # Errors
    /// What the checkpoint holds is not known.
    pub(crate) fn context(
        &self,
        budget: Option<u64>,
        tokenizer: Tokenizer,
    ) -> Result<Context<'_>, LogError> {
        self.context_of(Shape { budget, tokenizer, ..Shape::default() })
    }

    /// What of it fits into a shape, with the instructions.
    ///
    /// # Errors
    /// What the checkpoint holds is not known.
    pub(crate) fn context_of<'r>(&'r self, shape: Shape<'r>) -> Result<Context<'r>, LogError> {
        let shape = Shape { instructions: &self.instructions, ..shape };
        Ok(Context::new(self.asked.question()?, &self.resolution, shape))
    }

    /// The report of what a context holds, and of what stands beside it.
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
