//! The staged results in an answer, after its documents (STAGE-13).

use super::Resolve;
use crate::front::cli::session::Session;
use crate::front::cli::stage;
use crate::front::cli::ui::shown;
use crate::service::workspace::call::beside::Beside;
use crate::values::text_util::count;

pub(super) fn print(args: &Resolve, session: &mut Session<'_>, beside: &Beside) {
    if !args.ids {
        for one in &beside.taken {
            if let Some(block) = one.block() {
                session.ui.harmless(&block);
            }
        }
        let listed = beside.taken.iter().filter(|one| !one.has_content());
        let rows: Vec<_> = listed.map(|one| stage::row(&one.report())).collect();
        session.ui.table(&rows);
    }
}

/// Omitted results are part of the answer, and not a failure.
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
