//! `ctx explain`.

use serde::Serialize;

use super::ask::Asked;
use super::rows::{WithheldJson, tell_notes, tell_withheld};
use super::session::Session;
use super::ui::{shown, table};
use super::{Answer, Failure};
use crate::resolve::{Cost, Explained};
use crate::words::count;

/// Show how a selector is understood: its tree, the size of each set, and what it costs
///
/// Each line is an operator or a term with the number of published documents in its set. A pack is
/// followed by what its sealed file stands for. The cost counts the sets that are looked up when the
/// selector is resolved, the documents in them that can still matter, and the texts of the answer.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx explain '#policy + type:document - #retired'\n  \
ctx explain pack:procurement.onboarding --at 3 --json")]
pub(super) struct Explain {
    /// Selector or contextnest:// URI
    #[arg(value_name = "SELECTOR|URI", allow_hyphen_values = true)]
    selector: String,
    /// Explain the answer as of this checkpoint
    #[arg(long, value_name = "N")]
    at: Option<u64>,
}

#[derive(Serialize)]
struct ExplainJson<'e> {
    selector: String,
    class: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<&'e str>,
    checkpoint: u64,
    tree: NodeJson<'e>,
    cost: CostJson,
    withheld: Vec<WithheldJson>,
    notes: &'e [String],
}

#[derive(Serialize)]
struct NodeJson<'e> {
    text: &'e str,
    documents: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pack: Option<PackJson<'e>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Self>,
}

#[derive(Serialize)]
struct PackJson<'e> {
    file: &'e str,
    version: u64,
}

#[derive(Serialize)]
struct CostJson {
    lookups: usize,
    postings: u64,
    documents: u64,
}

pub(super) fn run(args: &Explain, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Asked::need(&args.selector))?;
    let mut asked = Asked::new(session, &vault, &source, &args.selector, args.at)?;
    let (tree, cost, mut resolution) = asked.snapshot.explain(&asked.plan)?;
    asked.add_withheld(&mut resolution);
    let notes = asked.notes(&resolution)?;
    let (selector, checkpoint) = (asked.selector.to_string(), asked.snapshot.checkpoint());
    if session.ui.json {
        let Cost { lookups, postings, documents } = cost;
        let json = ExplainJson {
            selector,
            class: asked.plan.class().as_str(),
            backend: asked.plan.backend.as_deref(),
            checkpoint,
            tree: node(&tree),
            cost: CostJson { lookups, postings, documents },
            withheld: resolution.withheld.iter().map(WithheldJson::from).collect(),
            notes: &notes,
        };
        session.ui.result("explain", &json);
    } else {
        session.ui.line(&format!("{} at checkpoint {checkpoint}", shown(&selector)));
        let mut rows = Vec::new();
        lines(&tree, 1, &mut rows);
        table(&rows).iter().for_each(|row| session.ui.line(row));
        let (sets, texts) = (count(cost.lookups, "set"), count(resolution.documents.len(), "text"));
        session.ui.line(&format!(
            "cost: {sets} looked up, {} in them, {texts} in the answer",
            count(usize::try_from(cost.postings).unwrap_or(usize::MAX), "document"),
        ));
    }
    tell_notes(session, asked.plan.backend.as_deref(), &notes);
    tell_withheld(session, &resolution.withheld);
    Ok(if resolution.withheld.is_empty() { Answer::Yes } else { Answer::No })
}

fn node(explained: &Explained) -> NodeJson<'_> {
    let pack = explained.pack.as_ref();
    NodeJson {
        text: &explained.text,
        documents: explained.documents,
        pack: pack.map(|(file, version)| PackJson { file: file.as_str(), version: *version }),
        parts: explained.parts.iter().map(node).collect(),
    }
}

fn lines(explained: &Explained, depth: usize, rows: &mut Vec<Vec<String>>) {
    let text = format!("{}{}", "  ".repeat(depth), shown(&explained.text));
    let mut row = vec![text, explained.documents.to_string()];
    if let Some((file, version)) = &explained.pack {
        row.push(format!("{} v{version}", shown(file.as_str())));
    }
    rows.push(row);
    for part in &explained.parts {
        lines(part, depth + 1, rows);
    }
}
