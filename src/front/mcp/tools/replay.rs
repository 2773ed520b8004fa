//! `context_replay`: reproduces the texts of recorded accesses.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, Outputs, Question, limit};
use crate::read::snapshot::Need;
use crate::record::audit::{Fault, FaultKind, Filter, Line, missing};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::replay::{Made, Replayed, lines};
use crate::service::workspace::call::{Call, Note};
use crate::service::workspace::recording::of_log;
use crate::service::workspace::traces::{of_writer, trace_id};
use crate::values::model::principal::PrincipalKey;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Replay {
    /// Name of an access; default: all of your session
    #[serde(default)]
    trace: Option<String>,
    /// Maximum tokens of the answer
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for Replay {
    const NAME: &'static str = "context_replay";
    const TITLE: &'static str = "Reproduce recorded accesses";
    const DESCRIPTION: &'static str = "Reproduces the texts of your recorded accesses, and \
        returns whether each is the same. Use it to prove what you based an answer on.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::trace::ReplayReport>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let name = self.trace.as_deref().map(trace_id).transpose()?;
        if name.is_none() && call.labels.session_implicit {
            let message = "neither an access nor a session is named";
            return Err(Failure::new(Code::Usage, message)
                .hint("pass `trace`, or name your session as `contextnest/session` in `_meta`"));
        }
        // The log contains the accesses of all callers: each replays only their own.
        let vault = call.workspace.vault()?;
        let me = call.workspace.principal(vault.root(), None).ok().map(|(me, _)| me.key());
        let is_mine =
            move |line: &Line| line.request.principal.as_deref().map(PrincipalKey::of) == me;
        let sight = call.workspace.sight(&vault)?.only(is_mine);
        let logs = call.workspace.asked_logs(&vault)?.logs.with_lost_checkpoints().seen_by(sight);
        let lost = missing::faults(&of_log(missing::accesses(&vault, logs.cuts()))?);
        let here = |fault: &&Fault| fault.kind != FaultKind::Elsewhere;
        let filter = Filter { session: call.labels.session.clone(), ..Filter::default() };
        let (which, lost) = match &name {
            Some(name) => (Replayed::Trace(name), of_writer(&lost, name).filter(here).count()),
            None => (Replayed::Session(&filter), lost.iter().filter(here).count()),
        };
        let (lines, faults) = lines(&vault, &logs, (which, Made::Texts))?;
        let faults = faults.len() + lost;
        if faults > 0 {
            call.note(Note::LogFaults(faults, None));
        }
        let source = call.source(&vault, Need::Versions, &mut |_, _| ())?;
        let report = call.replay((&vault, &source), &lines)?;
        let size = limit(self.budget);
        let answer = Answer::of(call, &report).cut(size, &[("texts", "omitted")]);
        answer.within(size, "raise `budget`")
    }
}
