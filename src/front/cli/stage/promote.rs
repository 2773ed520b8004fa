//! `ctx stage promote`.

use crate::front::cli::session::Session;
use crate::front::cli::{Answer, Locking, event};
use crate::service::report::event::{Added, Submitted};
use crate::service::report::failure::Failure;
use crate::service::workspace::call::stage::Promoting;
use crate::write::publish::Mode;

/// Make a document from a staged entry
///
/// The body of the document is the content, byte for byte, and `promoted_from` names the entry. It
/// is published, or in a governed vault submitted for review. Needs the role editor at the scope of
/// the new document. A promoted entry is never collected.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx stage promote 0a1b2c3d-17 --to nodes/prices/2026-11 \
--title 'Prices of November' --tags prices")]
pub(super) struct Promote {
    /// URI of the staged entry, or only its last part: `0a1b2c3d-17`
    #[arg(value_name = "ENTRY")]
    entry: String,
    /// Id of the new document
    #[arg(long, value_name = "ID")]
    to: String,
    /// Title; default: the last part of the id
    #[arg(long)]
    title: Option<String>,
    /// Type: document, snippet, glossary, persona, prompt, tool, reference, skill, or a word of
    /// your own
    #[arg(long = "type", value_name = "TYPE")]
    node_type: Option<String>,
    /// Tags, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "TAG,...")]
    tags: Vec<String>,
    /// Note to store with the version (covered by no hash)
    #[arg(short = 'm', long = "message", value_name = "NOTE")]
    note: Option<String>,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Promote, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let promoting = Promoting {
        entry: &args.entry,
        to: &args.to,
        title: args.title.as_deref(),
        node_type: args.node_type.as_deref(),
        tags: &args.tags,
        note: args.note.as_deref(),
    };
    let promoted = session.ask(|call, _| call.promote(&vault, &promoting, Mode::default()))?;
    if session.ui.json {
        let spell = session.ui.spell();
        session.ui.report(&promoted.report(spell));
        return Ok(Answer::Yes);
    }
    let (uri, id, version) = (promoted.entry.name(), &promoted.document, promoted.version);
    let answer = match (&promoted.outcome, promoted.submitted) {
        (Some(outcome), true) => event::print(session, outcome, false, Submitted),
        (Some(outcome), false) => event::print(session, outcome, false, Added),
        (None, _) => Answer::Yes,
    };
    session.ui.note(&format!("promoted {uri} to `{id}`, version {version}"));
    Ok(answer)
}
