//! `ctx resolve`.

use serde::Serialize;

use super::ask::Asked;
use super::rows::{DocumentJson, WithheldJson, document_table, tell_notes, tell_withheld};
use super::session::Session;
use super::ui::{Ui, shown};
use super::{Answer, Failure};
use crate::live;
use crate::resolve::context::{Context, LeftOut, Reason};
use crate::resolve::matching_drafts;
use crate::resolve::portion::Portion;
use crate::vault::Vault;
use crate::words::count;

/// Select published documents, verified, in byte order of their ids
///
/// A selector combines #tag, type:, status:, transport:, server:, pack: and contextnest:// URIs of a
/// document, a document#section, a folder/ or a tag/NAME: `a b` and `a + b` mean both, `a - b` means a
/// without b, `a | b` either; parentheses bind most, then `+`, then ` - `, then `|`. A `-` inside a word
/// belongs to it; quotes hold other signs: server:"a b". Only published versions are selected, and their
/// text comes from the chain, never from the live file. `ctx explain` shows how an answer comes about.
///
/// `contextnest://search/WORDS` is what a search finds, at the last checkpoint only; such an answer says
/// that it is delegated. `--budget` takes whole documents, or named sections, in the order of the answer
/// as long as they fit, and says what it left out; `--format` gives them to an agent, each with its source.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx resolve '#policy + type:document'\n  \
ctx resolve '#deploy #payments-service - #retired' --ids\n  \
ctx resolve 'pack:procurement.onboarding - type:persona' --at 3\n  \
ctx resolve contextnest://nodes/policies/ --at 3 --json --bodies\n  \
ctx resolve contextnest://nodes/policies/returns@3 --bodies\n  \
ctx resolve '#policy | contextnest://search/late%20fee' --budget 4000 --format markdown")]
pub(super) struct Resolve {
    /// Selector or contextnest:// URI
    #[arg(value_name = "SELECTOR|URI", allow_hyphen_values = true)]
    selector: String,
    /// Answer as of this checkpoint
    #[arg(long, value_name = "N")]
    at: Option<u64>,
    /// Print only the ids
    #[arg(long, conflicts_with_all = ["bodies", "json"])]
    ids: bool,
    /// Print the texts, each between two lines that say where it is from and where it ends
    #[arg(long)]
    bodies: bool,
    /// Print only what fits into so many tokens (4 bytes each), and say what is left out
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,
    /// Print one block of Markdown for an agent, or JSON with the texts and their tokens
    #[arg(long, value_enum, conflicts_with_all = ["ids", "bodies", "json"])]
    format: Option<Format>,
}

/// How an agent gets its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Each text between two lines that say where it is from and where it ends
    Markdown,
    /// As `--json --bodies`, with tokens
    Json,
}

#[derive(Serialize)]
struct ResolveJson<'r> {
    selector: String,
    class: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<&'r str>,
    checkpoint: u64,
    documents: Vec<DocumentJson<'r>>,
    #[serde(flatten)]
    context: Option<ContextJson<'r>>,
    withheld: Vec<WithheldJson>,
    notes: &'r [String],
}

/// What a budget does to an answer.
#[derive(Serialize)]
struct ContextJson<'r> {
    budget: Option<u64>,
    tokens: u64,
    left_out: Vec<LeftOutJson<'r>>,
}

#[derive(Serialize)]
struct LeftOutJson<'r> {
    id: &'r str,
    uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anchor: Option<&'r str>,
    tokens: u64,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    depends_on: Option<&'r str>,
}

pub(super) fn run(args: &Resolve, session: &mut Session<'_>) -> Result<Answer, Failure> {
    session.ui.json |= args.format == Some(Format::Json);
    let vault = session.vault()?;
    let source = session.source(&vault, Asked::need(&args.selector))?;
    let mut asked = Asked::new(session, &vault, &source, &args.selector, args.at)?;
    let mut resolution = asked.snapshot.resolve(&asked.plan)?;
    asked.add_withheld(&mut resolution);
    let notes = asked.notes(&resolution)?;
    let context = Context::new(asked.question(), &resolution, args.budget);
    if session.ui.json {
        let json = ResolveJson {
            selector: asked.selector.to_string(),
            class: asked.plan.class().as_str(),
            backend: asked.plan.backend.as_deref(),
            checkpoint: asked.snapshot.checkpoint(),
            documents: documents(args, &context),
            context: args.counts().then(|| ContextJson::from(&context)),
            withheld: resolution.withheld.iter().map(WithheldJson::from).collect(),
            notes: &notes,
        };
        session.ui.result("resolve", &json);
    } else {
        print(args, &mut session.ui, &context);
    }
    if resolution.documents.is_empty() && resolution.withheld.is_empty() {
        let at_head = args.at.or(asked.selector.checkpoint).is_none();
        tell_empty(session, &vault, &asked, at_head)?;
    }
    tell_notes(session, asked.plan.backend.as_deref(), &notes);
    tell_left_out(session, &context);
    tell_withheld(session, &resolution.withheld);
    Ok(if resolution.withheld.is_empty() { Answer::Yes } else { Answer::No })
}

impl Resolve {
    /// Whether tokens are part of the answer.
    fn counts(&self) -> bool {
        self.budget.is_some() || self.format.is_some()
    }
}

fn documents<'r>(args: &Resolve, context: &Context<'r>) -> Vec<DocumentJson<'r>> {
    let with_body = args.bodies || args.format == Some(Format::Json);
    let document = |portions: &[Portion<'r>]| {
        let document = DocumentJson::of(portions, with_body)?;
        Some(if args.counts() { document.with_tokens(portions) } else { document })
    };
    context.portions.chunk_by(Portion::is_beside).filter_map(document).collect()
}

impl<'c> From<&'c Context<'_>> for ContextJson<'c> {
    fn from(context: &'c Context<'_>) -> Self {
        let left_out = context.left_out.iter().map(LeftOutJson::from).collect();
        Self { budget: context.budget, tokens: context.tokens(), left_out }
    }
}

impl<'c> From<&'c LeftOut<'_>> for LeftOutJson<'c> {
    fn from(out: &'c LeftOut<'_>) -> Self {
        let (left, depends_on) = match &out.why {
            Reason::Budget { left } => (Some(*left), None),
            Reason::Dependency(id) => (None, Some(id.as_str())),
        };
        Self {
            id: out.portion.served.id.as_str(),
            uri: out.portion.uri().map(|uri| uri.to_string()),
            anchor: out.portion.section.map(|section| section.anchor.as_str()),
            tokens: out.portion.tokens(),
            reason: out.why.as_str(),
            left,
            depends_on,
        }
    }
}

fn print(args: &Resolve, ui: &mut Ui<'_>, context: &Context<'_>) {
    if args.format == Some(Format::Markdown) {
        ui.text(&context.to_markdown());
    } else if args.ids {
        for portions in context.portions.chunk_by(Portion::is_beside) {
            portions.iter().take(1).for_each(|p| ui.line(&shown(p.served.id.as_str())));
        }
    } else if args.bodies {
        context.portions.iter().for_each(|portion| ui.text(&portion.to_markdown()));
    } else {
        document_table(&context.portions).iter().for_each(|row| ui.line(row));
    }
}

/// What a text is called: its URI, or what comes next to one.
fn name(portion: &Portion<'_>) -> String {
    match (portion.uri(), portion.section) {
        (Some(uri), _) => uri.to_string(),
        (None, None) => portion.served.id.to_string(),
        (None, Some(section)) => format!("{}#{}", portion.served.id, section.anchor),
    }
}

/// What did not fit is part of what was asked for, and no failure.
fn tell_left_out(session: &mut Session<'_>, context: &Context<'_>) {
    let (Some(budget), [_, ..]) = (context.budget, context.left_out.as_slice()) else { return };
    let (out, tokens) = (context.left_out.len(), context.tokens());
    let all = count(out + context.portions.len(), "text");
    let taken = match (tokens, context.head_tokens()) {
        (0, head) => {
            format!("{budget} tokens do not hold the first line of the block, {head} tokens")
        }
        _ => format!("{tokens} of {budget} tokens are taken"),
    };
    session.ui.note(&format!("left out: {out} of {all}; {taken}"));
    for out in &context.left_out {
        let (name, tokens) = (name(&out.portion), out.portion.tokens());
        let why = match &out.why {
            Reason::Budget { left } => format!("{left} were left"),
            Reason::Dependency(id) => format!("it depends on {id}, which is left out"),
        };
        session.ui.note(&format!("  {}: {tokens} tokens; {}", shown(&name), shown(&why)));
    }
}

/// The most published documents beside which drafts are looked through for a hint.
const LOOKED_THROUGH: usize = 2_000;

/// An empty set is an answer; if drafts would match, that is what the user wants to know.
fn tell_empty(
    session: &mut Session<'_>,
    vault: &Vault,
    asked: &Asked<'_>,
    at_head: bool,
) -> Result<(), Failure> {
    let checkpoint = asked.snapshot.checkpoint();
    session.ui.note(&format!("no published document matches at checkpoint {checkpoint}"));
    if !at_head {
        return Ok(());
    }
    let drafts = match asked.snapshot.size()? > LOOKED_THROUGH {
        true => None,
        false => {
            let state = asked.snapshot.state()?;
            live::drafts(vault, |id| state.get(id.as_str()).is_some())
        }
    };
    let Some(drafts) = drafts else {
        session.ui.note("hint: drafts were not looked through; `ctx status` shows them");
        return Ok(());
    };
    let drafts = matching_drafts(&asked.plan, drafts);
    if !drafts.is_empty() {
        let what = count(drafts.len(), "unpublished document");
        let verb = if drafts.len() == 1 { "matches" } else { "match" };
        // Anybody may have put the file there, so that its name is no part of a command.
        session.ui.note(&format!("hint: {what} {verb}; `ctx status` shows what is not published"));
    }
    Ok(())
}
