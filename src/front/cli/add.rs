//! `ctx add`.

use super::expect::ExpectArgs;
use super::session::Session;
use super::{Answer, Locking, editor, event};
use crate::files::vault::Vault;
use crate::read::working;
use crate::service::report::draft::DraftReport;
use crate::service::report::event::Added;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::argument::{node_type, tags, text_or_input};
use crate::service::workspace::call::draft::Fields;
use crate::service::workspace::governance_mode::is_governed;
use crate::text::document::frontmatter::NodeType;
use crate::values::model::id::DocumentId;
use crate::values::text_util::argument;
use crate::write::publish::{self, Author, NewDocument, Request, Upon, Which};

/// Create a document and publish it
///
/// Writes a new file and publishes it; with --draft only the file is written. An existing file
/// is never changed. On a terminal, without --body, VISUAL or EDITOR is opened for the body. A
/// document without a body is not published. In a governed vault only the file is written, as
/// a draft.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx add nodes/policies/returns --title \"Returns\" --tags \
policy,retail --body \"Returns within 30 days.\"\n  ctx add nodes/notes/call --draft --body - < call.md")]
pub(super) struct Add {
    /// Id of the new document: its path in the vault without `.md`
    id: String,
    /// Type: document, snippet, glossary, persona, prompt, source, tool, reference, skill, or a
    /// word of your own
    #[arg(long = "type", value_name = "TYPE")]
    node_type: Option<String>,
    /// Title; default: the first heading of the body, or the last part of the id
    #[arg(long)]
    title: Option<String>,
    /// Tags, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "TAG,...")]
    tags: Vec<String>,
    /// Body, or `-` to read it from standard input
    #[arg(long, value_name = "TEXT|-", allow_hyphen_values = true)]
    body: Option<String>,
    /// Write the file without publishing it
    #[arg(long)]
    draft: bool,
    /// Note to store with the version (covered by no hash)
    #[arg(short = 'm', long = "message", value_name = "NOTE")]
    note: Option<String>,
    #[command(flatten)]
    expect: ExpectArgs,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Add, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let id: DocumentId = session.workspace.new_id(&vault, &args.id)?;
    DocumentId::of_document_file(&id.live_path())?;
    let mut body = text_or_input(args.body.as_deref(), session.stdin)?;
    let author = session.workspace.author(&vault, args.note.as_deref(), None)?;
    let mut composed = None;
    if args.body.is_none() && !args.draft && session.ui.is_interactive() {
        publish::check_place(&vault, &id)?;
        let written = editor::compose(session)?;
        body.clone_from(&written.text);
        composed = Some(written);
    }
    if body.trim().is_empty() && !args.draft {
        publish::check_place(&vault, &id)?;
        return Err(Failure::new(Code::Usage, "the document has no body, so it was not published")
            .hint("pass it with `--body TEXT` or `--body -`; `--draft` makes an empty draft"));
    }
    let done = publish(args, session, (&vault, id), (&body, author));
    done.map_err(|failure| match composed {
        Some(written) => written.keep(failure),
        None => failure,
    })
}

/// Publishes the document, or writes the draft.
fn publish(
    args: &Add,
    session: &mut Session<'_>,
    (vault, id): (&Vault, DocumentId),
    (body, author): (&str, Author),
) -> Result<Answer, Failure> {
    let tags = if args.tags.is_empty() { None } else { Some(tags(&args.tags, vault)?) };
    let node_type = args.node_type.as_deref().map_or(Ok(NodeType::Document), node_type)?;
    let fields = Fields { title: args.title.clone(), node_type: Some(node_type), tags };
    let text = fields
        .of_new(body, author.principal.as_str())
        .map_err(|why| Failure::new(Code::Refused, why.to_string()).hint(why.hint()))?;
    if args.draft || is_governed(vault)? {
        let mode = args.expect.mode(false)?;
        let about = (args.note.as_deref(), mode);
        let compose = |_: Option<&str>, _: &str| Ok(text.clone());
        let draft = session.call.write_draft(vault, (&id, Upon::Nothing), about, compose)?;
        session.tell();
        if let Some(found) = working::instructions(&id) {
            session.ui.warn(&format!("{}: {}", id.live_path(), found.message));
        }
        let path = draft.path.as_str();
        if session.ui.json {
            session.ui.report(&DraftReport::new(&id, &draft));
        } else {
            session.ui.line(&format!("created {path} as a draft"));
            let verb = if is_governed(vault)? { "submit" } else { "publish" };
            let next = format!("next: edit it, then run `ctx {verb} {}`", argument(id.as_str()));
            session.ui.note(&next);
        }
        return Ok(Answer::Yes);
    }
    let which = Which::Ids(vec![id.clone()]);
    let request = Request { author, which, mode: args.expect.mode(false)? };
    let outcome = publish::add(vault, NewDocument { id, text }, &request)?;
    let outcome = session.acted(vault, outcome);
    Ok(event::print(session, &outcome, false, Added))
}
