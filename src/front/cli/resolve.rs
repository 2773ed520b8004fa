//! `ctx resolve`.

mod staged;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::as_of::AsOf;
use super::session::Session;
use super::ui::shown;
use super::{Answer, document};
use crate::files::vault::Vault;
use crate::read::snapshot::Explained;
use crate::read::snapshot::context::{Context, Reason};
use crate::read::snapshot::portion::Portion;
use crate::read::snapshot::tokens::Tokenizer;
use crate::service::report::failure::Failure;
use crate::service::report::resolve::{Detail, ExplainReport};
use crate::service::workspace::ask::Asked;
use crate::service::workspace::call::resolve::Resolved;
use crate::values::text_util::count;

/// Select published documents with a selector or URI
///
/// A selector combines #TAG, type:, status:, transport:, server:, pack: and contextnest:// URIs of
/// a document, a document#section, a folder/ or a tag/NAME. `a b` and `a + b` select documents in
/// both, `a - b` those in a and not in b, `a | b` those in either. Parentheses bind first, then
/// `+`, then ` - `, then `|`. An id with a `/` stands for the document's URI. A `-` inside a word
/// belongs to the word; quotes allow other characters: server:"a b". Only published versions are
/// selected. Their texts come from the histories, verified, never from live files.
///
/// `contextnest://search/WORDS` selects the sections that a search finds, the best first, at the
/// last checkpoint only; such an answer is marked as delegated. `--budget` includes whole
/// documents, or named or found sections, in the order of the answer while they fit, and lists the
/// ones that it left out. It includes a repeated passage of a search once, and the best section of
/// a text that does not fit. Staged results of sources get the rest of the budget. `--format`
/// formats the texts for an agent, each with its source. `--explain` shows how the selector is
/// understood, and prints no documents.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx resolve '#policy + type:document'\n  \
ctx resolve '#deploy #payments-service - #retired' --ids\n  \
ctx resolve 'pack:procurement.onboarding - type:persona' --at 3\n  \
ctx resolve contextnest://nodes/policies/ --at 3 --json --bodies\n  \
ctx resolve contextnest://nodes/policies/returns@3 --bodies\n  \
ctx resolve '#policy | contextnest://search/late%20fee' --budget 4000 --format markdown\n  \
ctx resolve '#policy + type:document - #retired' --explain")]
pub(super) struct Resolve {
    /// Selector, contextnest:// URI or id
    #[arg(value_name = "SELECTOR|URI", allow_hyphen_values = true)]
    selector: String,
    #[command(flatten)]
    at: AsOf,
    /// Print only the ids
    #[arg(long, conflicts_with_all = ["bodies", "json"])]
    ids: bool,
    /// Print the texts as --format markdown does; with --json, add them
    #[arg(long)]
    bodies: bool,
    /// Print what fits into this many tokens, and list the rest
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,
    /// Count tokens by this vocabulary instead of 4 bytes each
    #[arg(long, value_name = "NAME", value_parser = tokenizers())]
    tokenizer: Option<Tokenizer>,
    /// Print the whole documents that a search finds, not the sections
    #[arg(long)]
    whole: bool,
    /// Leave out CONTEXT.md and the instructions of packs
    #[arg(long)]
    no_instructions: bool,
    /// Print one block for an agent: Markdown, or JSON with texts and tokens
    #[arg(long, value_enum, conflicts_with_all = ["ids", "bodies", "json"])]
    format: Option<Format>,
    /// Show the selector's tree, the size of each set, and the cost
    #[arg(long, conflicts_with_all = ["ids", "bodies", "budget", "format"])]
    explain: bool,
}

/// The format of the context of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Instructions and texts, each between lines with its source and end
    Markdown,
    /// As `--json --bodies`, with instructions and tokens
    Json,
}

fn tokenizers() -> impl TypedValueParser<Value = Tokenizer> {
    let names = Tokenizer::ALL.map(|(_, name)| name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Tokenizer>())
}

impl Resolve {
    /// Returns true if the answer is for an agent: every form of it includes the instructions.
    fn has_instructions(&self) -> bool {
        let is_context = self.bodies || self.format.is_some() || self.budget.is_some();
        is_context && !self.no_instructions
    }
}

pub(super) fn run(args: &Resolve, session: &mut Session<'_>) -> Result<Answer, Failure> {
    session.ui.json |= args.format == Some(Format::Json);
    let vault = session.vault()?;
    let source = session.source(&vault, Asked::need(&args.selector))?;
    let (places, asked) =
        ((&vault, &source), (args.selector.as_str(), args.at.moment(), args.whole));
    let planned = session.ask(|call, on_slow| call.plan(places, asked, on_slow))?;
    if args.explain {
        return explain(session, planned.asked);
    }
    let has_instructions = args.has_instructions();
    let resolved = session.ask(|call, _| call.resolve(&vault, planned, has_instructions))?;
    let context = resolved.context(args.budget, args.tokenizer.unwrap_or_default())?;
    let with_contents = args.bodies || args.format.is_some();
    let beside =
        session.ask(|call, _| call.beside(&vault, &resolved, (&context, with_contents)))?;
    if session.ui.json {
        let is_context = args.format.is_some();
        let tokens = is_context || args.budget.is_some() || args.tokenizer.is_some();
        let detail = Detail {
            bodies: args.bodies || is_context,
            tokens,
            instructions: is_context && !args.no_instructions,
        };
        let report = session.release(resolved.report(&context, &beside, detail));
        session.ui.report(&report);
    } else {
        print(args, session, &context);
        staged::print(args, session, &beside);
    }
    let Resolved { asked, resolution, .. } = &resolved;
    let is_empty = resolution.documents.is_empty() && beside.is_empty();
    if is_empty && resolution.withheld.is_empty() {
        note_empty(session, &vault, asked, resolved.is_now)?;
    }
    document::note(session, asked.plan.backend.as_deref(), &resolved.notes);
    note_left_out(session, &context);
    staged::note_left_out(session, &beside);
    Ok(session.answer(&resolution.withheld))
}

fn print(args: &Resolve, session: &mut Session<'_>, context: &Context<'_>) {
    if args.bodies || args.format == Some(Format::Markdown) {
        let block = session.release(context.handed_out());
        return session.ui.harmless(&block);
    }
    let ui = &mut session.ui;
    if args.ids {
        for portions in context.portions.chunk_by(Portion::is_beside) {
            portions.iter().take(1).for_each(|p| ui.line(&shown(p.served.id.as_str())));
        }
    } else {
        ui.table(&document::rows(&context.portions));
    }
}

/// Returns the URI of a text, or the nearest name.
fn name(portion: &Portion<'_>) -> String {
    match (portion.uri(), portion.section) {
        (Some(uri), _) => uri.to_string(),
        (None, None) => portion.served.id.to_string(),
        (None, Some(section)) => format!("{}#{}", portion.served.id, section.anchor),
    }
}

/// Omitted texts are part of the answer, and not a failure.
fn note_left_out(session: &mut Session<'_>, context: &Context<'_>) {
    let (Some(budget), [_, ..]) = (context.budget, context.left_out.as_slice()) else { return };
    let (out, tokens) = (context.left_out.len(), context.tokens());
    let all = count(out + context.portions.len(), "text");
    let taken = match (tokens, context.head_tokens()) {
        (0, head) => {
            format!("{budget} tokens are too few for the first line of the block, {head} tokens")
        }
        _ => format!("{tokens} of {budget} tokens are used"),
    };
    session.ui.note(&format!("left out: {out} of {all}; {taken}"));
    if context.left_out.iter().any(|out| out.portion.instructions.is_some()) {
        session.ui.note("warning: instructions for agents did not fit into the budget");
    }
    for out in &context.left_out {
        let (name, tokens) = (name(&out.portion), out.tokens);
        let why = match &out.why {
            Reason::Budget { left } => format!("{left} were left"),
            Reason::Dependency(id) => format!("it depends on {id}, which is left out"),
            Reason::Duplicate(name) => format!("it repeats {}", shown(name)),
        };
        session.ui.note(&format!("  {}: {tokens} tokens; {}", shown(&name), shown(&why)));
    }
}

/// An empty set is an answer; if drafts would match, the user wants to know.
fn note_empty(
    session: &mut Session<'_>,
    vault: &Vault,
    asked: &Asked<'_>,
    at_head: bool,
) -> Result<(), Failure> {
    let checkpoint = asked.snapshot.checkpoint();
    session.ui.note(&format!("note: no published document matches at checkpoint {checkpoint}"));
    if !at_head {
        return Ok(());
    }
    let Some(drafts) = asked.matching_drafts(vault)? else {
        session.ui.note("hint: drafts were not searched; `ctx status` lists them");
        return Ok(());
    };
    if !drafts.is_empty() {
        let what = count(drafts.len(), "unpublished document");
        let verb = if drafts.len() == 1 { "matches" } else { "match" };
        // An attacker may have made the file, so its name is not part of a command.
        session.ui.note(&format!("hint: {what} {verb}; `ctx status` lists unpublished documents"));
    }
    Ok(())
}

/// Shows how a selector is understood.
fn explain(session: &mut Session<'_>, mut asked: Asked<'_>) -> Result<Answer, Failure> {
    let (tree, cost, mut resolution) = asked.snapshot.explain(&asked.plan)?;
    asked.add_withheld(&mut resolution);
    let notes = asked.notes(&resolution)?;
    let (selector, checkpoint) = (asked.selector.to_string(), asked.snapshot.checkpoint());
    let withheld = &resolution.withheld;
    if session.ui.json {
        let (about, answer) = ((selector.as_str(), checkpoint), (&tree, &cost));
        session.ui.report(&ExplainReport::new(about, &asked.plan, answer, withheld, &notes));
    } else {
        session.ui.line(&format!("{} at checkpoint {checkpoint}", shown(&selector)));
        let mut rows = Vec::new();
        tree_rows(&tree, 1, &mut rows);
        session.ui.table(&rows);
        let (sets, texts) = (count(cost.lookups, "set"), count(resolution.documents.len(), "text"));
        session.ui.line(&format!(
            "cost: {sets} looked up, {} in them, {texts} in the answer",
            count(usize::try_from(cost.postings).unwrap_or(usize::MAX), "document"),
        ));
    }
    document::note(session, asked.plan.backend.as_deref(), &notes);
    document::note_withheld(session, withheld);
    Ok(Answer::of(withheld))
}

fn tree_rows(explained: &Explained, depth: usize, rows: &mut Vec<Vec<String>>) {
    let text = format!("{}{}", "  ".repeat(depth), shown(&explained.text));
    let mut row = vec![text, explained.documents.to_string()];
    if let Some((file, version)) = &explained.pack {
        row.push(format!("{} v{version}", shown(file.as_str())));
    }
    rows.push(row);
    for part in &explained.parts {
        tree_rows(part, depth + 1, rows);
    }
}
