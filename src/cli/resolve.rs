//! `ctx resolve`.

use std::collections::HashMap;

use serde::Serialize;

use super::failure::Code;
use super::rows::{DocumentJson, WithheldJson, document_table, tell_withheld};
use super::session::{Session, is_uri};
use super::ui::shown;
use super::{Answer, Failure};
use crate::document::id::Id;
use crate::document::sections::{Section, UnknownAnchor};
use crate::live;
use crate::resolve::{Need, Resolution, Snapshot, matching_drafts};
use crate::selector::{self, Atom, Expr, Node, Selector, StatusFilter};
use crate::uri::{Target, Uri};
use crate::vault::Vault;
use crate::words::count;

/// Select published documents, verified, in byte order of their ids
///
/// A selector combines #tag, type:, status:, transport:, server: and contextnest:// URIs of a
/// document, a folder/ or a tag/NAME: `a b` and `a + b` mean both, `a - b` means a without b, `a | b` either;
/// parentheses bind most, then `+`, then ` - `, then `|`. A `-` inside a word belongs to it. Only published
/// versions are selected, and their text comes from the chain, never from the live file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx resolve '#policy + type:document'\n  \
ctx resolve '#deploy #payments-service - #retired' --ids\n  \
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
    let Asked { selector, pin, anchor } = read(&args.selector)?;
    let at = match (args.at, pin) {
        (Some(at), Some(pin)) if at != pin => {
            let message = format!("the URI is pinned to checkpoint {pin}, but `--at` says {at}");
            return Err(Failure::new(Code::Usage, message).hint("leave one of them out"));
        }
        (at, pin) => at.or(pin),
    };
    let need = if selector.expr.needs_metadata() { Need::Fields } else { Need::Versions };
    let source = session.source(&vault, at, need)?;
    let snapshot = Snapshot::of(&vault, &source, at)?;
    let resolution = snapshot.resolve(&selector)?;
    let notes = notes(&selector.expr);
    let sections = match &anchor {
        None => HashMap::new(),
        Some(anchor) => sections(&resolution, anchor)?,
    };
    let answer = Answered {
        selector: &selector,
        snapshot: &snapshot,
        resolution: &resolution,
        sections: &sections,
        notes: &notes,
    };
    print(args, session, &answer);
    if resolution.documents.is_empty() && resolution.withheld.is_empty() {
        tell_empty(session, &vault, &snapshot, &selector, at.is_none())?;
    }
    for note in &notes {
        session.ui.note(&format!("note: {note}"));
    }
    tell_withheld(session, &resolution.withheld);
    Ok(if resolution.withheld.is_empty() { Answer::Yes } else { Answer::No })
}

/// What was asked for.
struct Asked {
    selector: Selector,
    pin: Option<u64>,
    anchor: Option<String>,
}

/// A selector, or a URI that stands alone and may be pinned and name a section.
fn read(text: &str) -> Result<Asked, Failure> {
    let trimmed = text.trim();
    if is_uri(trimmed) && !trimmed.contains([' ', '\t', '\n', '|', '(', ')', '+']) {
        let uri: Uri = trimmed.parse()?;
        match uri.target {
            Target::Document { id, checkpoint: pin, anchor } => {
                let expr = Expr::atom(Atom::Document(id), 0..trimmed.len());
                return Ok(Asked { selector: Selector { expr }, pin, anchor });
            }
            Target::Search(_) => {
                return Err(Failure::new(Code::UriInvalid, "searches are not answered yet")
                    .hint("select by tag, type or folder"));
            }
            Target::Tag(_) | Target::Folder(_) => {}
        }
    }
    let selector = selector::parse(text).map_err(|why| Failure::selector(&why, text))?;
    Ok(Asked { selector, pin: None, anchor: None })
}

/// The section of each document that an anchor narrows it to; never the whole document.
fn sections<'r>(
    resolution: &'r Resolution,
    anchor: &str,
) -> Result<HashMap<&'r Id, Section>, Failure> {
    let documents = resolution.documents.iter();
    let found = documents.map(|served| Ok((&served.id, served.section(anchor)?)));
    found.collect::<Result<_, UnknownAnchor>>().map_err(Failure::from)
}

/// What the writer of a selector should know beside the answer.
fn notes(expr: &Expr) -> Vec<String> {
    let mut stack = vec![expr];
    while let Some(expr) = stack.pop() {
        match &expr.node {
            Node::Atom(Atom::Status(StatusFilter::Draft)) => {
                let note = "`status:draft` is always empty: only published documents are resolved; \
                            `ctx status` shows drafts";
                return vec![note.to_owned()];
            }
            Node::Atom(_) => {}
            Node::Intersection(all) | Node::Union(all) => stack.extend(all),
            Node::Difference(first, others) => {
                stack.push(first);
                stack.extend(others);
            }
        }
    }
    Vec::new()
}

/// An answer and what it was asked of.
struct Answered<'a> {
    selector: &'a Selector,
    snapshot: &'a Snapshot<'a>,
    resolution: &'a Resolution,
    /// Documents that are narrowed to a section.
    sections: &'a HashMap<&'a Id, Section>,
    notes: &'a [String],
}

fn print(args: &Resolve, session: &mut Session<'_>, answer: &Answered<'_>) {
    let Answered { selector, snapshot, resolution, sections, notes } = answer;
    let ui = &mut session.ui;
    if ui.json {
        let json = ResolveJson {
            selector: selector.to_string(),
            checkpoint: snapshot.checkpoint(),
            documents: resolution
                .documents
                .iter()
                .map(|served| match sections.get(&served.id) {
                    Some(section) => DocumentJson::of_section(served, section, args.bodies),
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
        for (n, served) in resolution.documents.iter().enumerate() {
            if n > 0 {
                ui.line("");
            }
            let name = served.uri().map_or_else(|| served.id.to_string(), |uri| uri.to_string());
            let (name, version) = (shown(&name), served.entry.version);
            let hash = served.entry.chain_hash;
            let (anchor, body) = match sections.get(&served.id) {
                Some(section) => {
                    (format!("#{}", section.anchor), &served.text[section.range.clone()])
                }
                None => (String::new(), served.body()),
            };
            // The length tells where a text ends, whatever it says.
            ui.line(&format!("<!-- {name}{anchor} v{version} {hash} {} bytes -->", body.len()));
            ui.text(body);
        }
    } else {
        document_table(&resolution.documents).iter().for_each(|row| ui.line(row));
    }
}

/// An empty set is an answer; if drafts would match, that is what the user wants to know.
fn tell_empty(
    session: &mut Session<'_>,
    vault: &Vault,
    snapshot: &Snapshot<'_>,
    selector: &Selector,
    at_head: bool,
) -> Result<(), Failure> {
    let checkpoint = snapshot.checkpoint();
    session.ui.note(&format!("no published document matches at checkpoint {checkpoint}"));
    if !at_head {
        return Ok(());
    }
    let state = snapshot.state()?;
    let unpublished = live::all(vault).into_iter().filter_map(|file| {
        let id = file.id.filter(|id| state.get(id.as_str()).is_none())?;
        Some((id, file.content.ok()?.document.frontmatter))
    });
    let drafts = matching_drafts(selector, unpublished.collect());
    if let Some(first) = drafts.first() {
        let (what, id) = (count(drafts.len(), "unpublished document"), shown(first.as_str()));
        let verb = if drafts.len() == 1 { "matches" } else { "match" };
        session.ui.note(&format!("hint: {what} {verb}; publish with `ctx publish {id}`"));
    }
    Ok(())
}
