//! `ctx resolve`.

use serde::Serialize;

use super::ask::Asked;
use super::rows::{DocumentJson, WithheldJson, document_table, tell_withheld};
use super::session::Session;
use super::ui::shown;
use super::{Answer, Failure};
use crate::live;
use crate::resolve::{Resolution, Served, matching_drafts};
use crate::vault::Vault;
use crate::words::count;

/// Select published documents, verified, in byte order of their ids
///
/// A selector combines #tag, type:, status:, transport:, server:, pack: and contextnest:// URIs of a
/// document, a document#section, a folder/ or a tag/NAME: `a b` and `a + b` mean both, `a - b` means a
/// without b, `a | b` either; parentheses bind most, then `+`, then ` - `, then `|`. A `-` inside a word
/// belongs to it; quotes hold other signs: server:"a b". Only published versions are selected, and their
/// text comes from the chain, never from the live file. `ctx explain` shows how an answer comes about.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx resolve '#policy + type:document'\n  \
ctx resolve '#deploy #payments-service - #retired' --ids\n  \
ctx resolve 'pack:procurement.onboarding - type:persona' --at 3\n  \
ctx resolve contextnest://nodes/policies/ --at 3 --json --bodies\n  \
ctx resolve contextnest://nodes/policies/returns@3 --bodies")]
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
    /// Print the texts too
    #[arg(long)]
    bodies: bool,
}

#[derive(Serialize)]
struct ResolveJson<'r> {
    selector: String,
    checkpoint: u64,
    documents: Vec<DocumentJson<'r>>,
    withheld: Vec<WithheldJson>,
    notes: Vec<String>,
}

pub(super) fn run(args: &Resolve, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Asked::need(&args.selector))?;
    let mut asked = Asked::new(&vault, &source, &args.selector, args.at)?;
    let mut resolution = asked.snapshot.resolve(&asked.plan)?;
    asked.add_withheld(&mut resolution);
    let notes = asked.notes(&resolution)?;
    let answer = Answered { asked: &asked, resolution: &resolution, notes: &notes };
    print(args, session, &answer);
    if resolution.documents.is_empty() && resolution.withheld.is_empty() {
        let at_head = args.at.or(asked.selector.checkpoint).is_none();
        tell_empty(session, &vault, &asked, at_head)?;
    }
    for note in &notes {
        session.ui.note(&format!("note: {}", shown(note)));
    }
    tell_withheld(session, &resolution.withheld);
    Ok(if resolution.withheld.is_empty() { Answer::Yes } else { Answer::No })
}

/// An answer and what it was asked of.
struct Answered<'a> {
    asked: &'a Asked<'a>,
    resolution: &'a Resolution,
    notes: &'a [String],
}

fn print(args: &Resolve, session: &mut Session<'_>, answer: &Answered<'_>) {
    let Answered { asked, resolution, notes } = answer;
    let ui = &mut session.ui;
    if ui.json {
        let json = ResolveJson {
            selector: asked.selector.to_string(),
            checkpoint: asked.snapshot.checkpoint(),
            documents: resolution
                .documents
                .iter()
                .map(|served| match resolution.sections.get(&served.id) {
                    Some(sections) => DocumentJson::of_sections(served, sections, args.bodies),
                    None => DocumentJson::new(served, args.bodies),
                })
                .collect(),
            withheld: resolution.withheld.iter().map(WithheldJson::from).collect(),
            notes: notes.to_vec(),
        };
        ui.result("resolve", &json);
    } else if args.ids {
        for served in &resolution.documents {
            ui.line(&shown(served.id.as_str()));
        }
    } else if args.bodies {
        let mut is_first = true;
        for served in &resolution.documents {
            let name = served.uri().map_or_else(|| served.id.to_string(), ToString::to_string);
            for (anchor, body) in texts(served, resolution) {
                if !is_first {
                    ui.line("");
                }
                is_first = false;
                let (name, version) = (shown(&name), served.entry.version);
                let (anchor, hash) = (shown(&anchor), served.entry.chain_hash);
                // The length tells where a text ends, whatever it says.
                let bytes = body.len();
                ui.line(&format!("<!-- {name}{anchor} v{version} {hash} {bytes} bytes -->"));
                ui.text(body);
            }
        }
    } else {
        document_table(resolution).iter().for_each(|row| ui.line(row));
    }
}

/// The texts that are put out of a document, each with the `#anchor` of its section.
fn texts<'r>(served: &'r Served, resolution: &Resolution) -> Vec<(String, &'r str)> {
    match resolution.sections.get(&served.id) {
        None => vec![(String::new(), served.body())],
        Some(sections) => sections
            .iter()
            .map(|s| (format!("#{}", s.anchor), &served.text[s.range.clone()]))
            .collect(),
    }
}

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
    let state = asked.snapshot.state()?;
    let unpublished = live::all(vault).into_iter().filter_map(|file| {
        let id = file.id.filter(|id| state.get(id.as_str()).is_none())?;
        Some((id, file.content.ok()?.document.frontmatter))
    });
    let drafts = matching_drafts(&asked.plan, unpublished.collect());
    if let Some(first) = drafts.first() {
        let (what, id) = (count(drafts.len(), "unpublished document"), shown(first.as_str()));
        let verb = if drafts.len() == 1 { "matches" } else { "match" };
        session.ui.note(&format!("hint: {what} {verb}; publish with `ctx publish {id}`"));
    }
    Ok(())
}
