//! `ctx source show`.

use crate::front::cli::Answer;
use crate::front::cli::as_of::AsOf;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::read::snapshot::portion::Portion;
use crate::read::snapshot::{Need, Snapshot};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::source::SourceShowReport;
use crate::service::workspace::source::call_of;
use crate::service::workspace::version::published;
use crate::text::uri::Class;
use crate::values::model::hint::{Call, Hint, Verb};

/// Show one source: its calls, and its instructions
///
/// The instructions are between two lines that name the version and end the text, like answers for
/// agents: they are data of the vault, not words of ctx. Showing them is recorded as an access.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx source show sources/vendor-tickets\n  \
ctx source show sources/vendor-tickets@3 --json")]
pub(super) struct Show {
    /// Id, `ID@CHECKPOINT`, URI or file of a source
    #[arg(value_name = "ID[@N]")]
    id: String,
    #[command(flatten)]
    at: AsOf,
}

pub(super) fn run(args: &Show, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Versions)?;
    let at = args.at.checkpoint(session, &vault, &source)?;
    let named = session.workspace.named_at(&vault, &source, &args.id)?.at(at)?;
    if let Some(anchor) = &named.anchor {
        let message = format!("`#{}` names a section, and a source is shown whole", shown(anchor));
        let read = Call::new(Verb::Read).value(&args.id);
        return Err(
            Failure::new(Code::Usage, message).hint(Hint::call("{} prints a section", read))
        );
    }
    session.recording.class = Some(Class::Direct);
    session.recording.query = Some(args.id.clone());
    let snapshot = Snapshot::of(&vault, &source, named.checkpoint)?;
    let served = published(&vault, &snapshot, &named.id)?;
    let call = call_of(&served)?;
    if session.ui.json {
        let report = session.release(SourceShowReport::new(&served));
        session.ui.report(&report);
        return Ok(Answer::Yes);
    }
    let block = call.block;
    let transport = block.transport.map(|transport| transport.as_str().to_owned());
    let needed: Vec<String> = call.needed().iter().map(ToString::to_string).collect();
    let fields = [
        ("source", Some(format!("{} v{}", served.id, served.entry.version))),
        ("transport", transport),
        ("server", block.server.clone()),
        ("tools", Some(block.tools.join(", "))),
        ("depends on", (!needed.is_empty()).then(|| needed.join(", "))),
        ("cache ttl", block.cache_ttl.map(|seconds| format!("{seconds} s"))),
        ("stage", block.stage.map(|stage| stage.as_str().to_owned())),
        ("retention", block.retention.map(|days| format!("{days}d"))),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            session.ui.line(&format!("{name:<11}{}", shown(&value)));
        }
    }
    session.ui.line("");
    let text = session.release(Portion::whole(&served).handed_out_alone());
    session.ui.harmless(&text);
    Ok(Answer::Yes)
}
