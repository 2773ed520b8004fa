//! `ctx add`.

use super::expect::{self, ExpectArgs};
use super::session::Session;
use super::{Acting, Answer, event};
use crate::document::edit::Edit;
use crate::document::frontmatter::NodeType;
use crate::govern::{self, NewDocument, Request, Which};
use crate::model::id::DocumentId;
use crate::model::layout::limit;
use crate::model::tag::is_tag;
use crate::report::event::{Added, DraftReport};
use crate::report::failure::{Code, Failure};
use crate::words::{argument, nearest};

/// Create a document and publish it
///
/// Writes a new file and publishes it; with --draft only the file is written. An existing file is
/// never changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx add nodes/policies/returns --title \"Returns\" --tags \
policy,retail --body \"Returns within 30 days.\"\n  ctx add nodes/notes/call --draft --body - < call.md")]
pub(super) struct Add {
    /// Id of the new document: its path in the vault without `.md`
    id: String,
    /// Type: document, snippet, glossary, persona, prompt, source, tool, reference, skill
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
    acting: Acting,
}

pub(super) fn run(args: &Add, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.acting(&args.acting)?;
    let id: DocumentId = session.workspace.new_id(&vault, &args.id)?;
    DocumentId::of_document_file(&id.live_path())?;
    govern::check_place(&vault, &id)?;
    let body = text_or_input(args.body.as_deref(), session)?;
    let author = session.workspace.author(&vault, args.note.as_deref(), None)?;
    let mut edit = Edit::default();
    if let Some(title) = &args.title {
        edit = edit.text("title", title);
    }
    let node_type = args.node_type.as_deref().map_or(Ok(NodeType::Document), node_type)?;
    edit = edit.text("type", node_type.as_str());
    if !args.tags.is_empty() {
        edit = edit.list("tags", &tags(args)?);
    }
    edit = edit.text("status", "draft").text("author", author.principal.as_str());
    let text = edit
        .apply(&body)
        .map_err(|why| Failure::new(Code::Refused, why.to_string()).hint(why.hint()))?;
    if args.draft {
        let _lock = vault.lock(&author.holder())?;
        expect::check(&vault, &[&id], args.expect.read()?)?;
        let path = id.live_path();
        vault.files().create_durable(&path, text.as_bytes())?;
        if session.ui.json {
            session.ui.report(&DraftReport { id: &id, path: &path, status: "draft" });
        } else {
            session.ui.line(&format!("created {path} as a draft"));
            let next = format!("next: edit it, then run `ctx publish {}`", argument(id.as_str()));
            session.ui.note(&next);
        }
        return Ok(Answer::Yes);
    }
    let which = Which::Ids(vec![id.clone()]);
    let request = Request { author, which, mode: args.expect.mode(false)? };
    let outcome = govern::add(&vault, NewDocument { id, text }, &request)?;
    Ok(event::print(session, &outcome, false, Added))
}

/// A text of the command line, which ends with a line end, or standard input in the place of `-`.
pub(super) fn text_or_input(
    text: Option<&str>,
    session: &mut Session<'_>,
) -> Result<String, Failure> {
    use std::io::Read as _;
    match text {
        None => Ok(String::new()),
        Some("-") => {
            let limit = limit::DOCUMENT;
            let mut bytes = Vec::new();
            let mut input = (&mut *session.stdin).take(limit + 1);
            input.read_to_end(&mut bytes).map_err(|why| {
                Failure::new(Code::Io, format!("cannot read standard input: {why}"))
            })?;
            if bytes.len() as u64 > limit {
                return Err(Failure::new(Code::Refused, "the text is larger than 16 MiB")
                    .hint("split the document"));
            }
            let text = crate::document::utf8(&bytes).map_err(|why| {
                Failure::new(Code::Refused, format!("standard input is {why}")).hint(why.hint())
            })?;
            Ok(text.to_owned())
        }
        Some(text) if text.ends_with('\n') || text.is_empty() => Ok(text.to_owned()),
        Some(text) => Ok(format!("{text}\n")),
    }
}

/// The type that a word of the command line names.
pub(super) fn node_type(word: &str) -> Result<NodeType, Failure> {
    NodeType::from_word(word).ok_or_else(|| {
        let words = NodeType::ALL.map(|(word, _)| word);
        let failure = Failure::new(Code::Usage, format!("unknown type `{word}`"));
        match nearest(word, words) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint(format!("types are {}", words.join(", "))),
        }
    })
}

fn tags(args: &Add) -> Result<Vec<String>, Failure> {
    let plain = args.tags.iter().map(|tag| tag.trim().trim_start_matches('#').to_owned());
    plain
        .filter(|tag| !tag.is_empty())
        .map(|tag| {
            if is_tag(&tag) {
                return Ok(tag);
            }
            Err(Failure::new(Code::Usage, format!("`{tag}` is not a tag"))
                .hint("a tag is a letter, then letters, digits, `_` and `-`"))
        })
        .collect()
}
