//! `ctx stage promote`.

use super::name;
use crate::cli::session::Session;
use crate::cli::{Acting, Answer, event};
use crate::document::frontmatter::NodeType;
use crate::model::id::DocumentId;
use crate::report::event::{Added, EventReport, Submitted};
use crate::report::failure::Failure;
use crate::report::staging::StagedPromoteReport;
use crate::workspace::argument::{node_type, tags};
use crate::workspace::staging::Target;

/// Make a document of a staged entry
///
/// The body of the document is the content, byte for byte, and `promoted_from` names the entry. It is
/// published, or in a governed vault submitted for review. Needs the role editor at the scope of the
/// new document. A promoted entry is never collected.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ctx stage promote 0a1b2c3d-17 --to nodes/prices/2026-11 \
--title 'Prices of November' --tags prices")]
pub(super) struct Promote {
    /// URI of the entry, or the last part of it
    #[arg(value_name = "ENTRY")]
    entry: String,
    /// Id of the new document
    #[arg(long, value_name = "ID")]
    to: String,
    /// Title; default: the last part of the id
    #[arg(long)]
    title: Option<String>,
    /// Type: document, snippet, glossary, persona, prompt, tool, reference, skill
    #[arg(long = "type", value_name = "TYPE")]
    node_type: Option<String>,
    /// Tags, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "TAG,...")]
    tags: Vec<String>,
    /// Note to store with the version (covered by no hash)
    #[arg(short = 'm', long = "message", value_name = "NOTE")]
    note: Option<String>,
    #[command(flatten)]
    acting: Acting,
}

pub(super) fn run(args: &Promote, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.acting(&args.acting)?;
    let name = name(&args.entry)?;
    let workspace = &session.call.workspace;
    let id: DocumentId = workspace.new_id(&vault, &args.to)?;
    DocumentId::of_document_file(&id.live_path())?;
    let author = workspace.author(&vault, args.note.as_deref(), None)?;
    let view = workspace.staged_named(&vault, &session.labels, &[&name])?;
    let entry = view.find(&name)?;
    let tags = match args.tags.is_empty() {
        true => Vec::new(),
        false => tags(&args.tags)?,
    };
    let target = Target {
        id: &id,
        title: args.title.as_deref(),
        tags,
        node_type: args.node_type.as_deref().map_or(Ok(NodeType::Document), node_type)?,
        author: &author,
    };
    let promoted = workspace.promote_staged(&vault, entry, &target)?;
    if let Some(outcome) = promoted.outcome.as_ref().filter(|_| promoted.submitted) {
        session.notify(&vault, outcome, ("submit", None));
    }
    let (uri, version) = (promoted.entry.name().to_string(), promoted.version.0);
    if session.ui.json {
        let spell = session.ui.spell();
        let event =
            promoted.outcome.as_ref().map(|outcome| EventReport::new(outcome, false, spell));
        let (document, submitted) = (id.to_string(), promoted.submitted);
        session.ui.report(&StagedPromoteReport { uri, document, version, submitted, event });
        return Ok(Answer::Yes);
    }
    let answer = match (&promoted.outcome, promoted.submitted) {
        (Some(outcome), true) => event::print(session, outcome, false, Submitted),
        (Some(outcome), false) => event::print(session, outcome, false, Added),
        (None, _) => Answer::Yes,
    };
    session.ui.note(&format!("promoted {uri} to `{id}`, version {version}"));
    Ok(answer)
}
