//! `ctx context`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::rows::{WithheldJson, tell_withheld};
use super::session::Session;
use super::ui::shown;
use super::{Answer, Failure};
use crate::model::layout;
use crate::resolve::portion::Portion;
use crate::resolve::{Need, Served, Snapshot};
use crate::words::count;

/// Print the vault's instructions for agents and a map of what is published
///
/// CONTEXT.md as the last checkpoint seals it, then types, tags and folders with counts: what an
/// agent needs to choose a selector.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx context\n  ctx context --at 3 --json")]
pub(super) struct Context {
    /// As of this checkpoint
    #[arg(long, value_name = "N")]
    at: Option<u64>,
}

#[derive(Serialize)]
struct ContextJson<'c> {
    name: String,
    checkpoint: u64,
    instructions: Option<&'c str>,
    documents: usize,
    types: BTreeMap<&'c str, usize>,
    tags: BTreeMap<&'c str, usize>,
    folders: BTreeMap<&'c str, usize>,
    withheld: Vec<WithheldJson>,
}

pub(super) fn run(args: &Context, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Versions)?;
    let snapshot = Snapshot::of(&vault, &source, args.at)?;
    let mut all = snapshot.all()?;
    let identity = layout::CONTEXT.parse().ok().and_then(|id| snapshot.get(&id));
    let instructions = match identity {
        Some(Ok(served)) => Some(served),
        Some(Err(withheld)) => {
            all.withheld.push(withheld);
            None
        }
        None => None,
    };
    let map = ContextJson {
        name: snapshot.name(),
        checkpoint: snapshot.checkpoint(),
        instructions: instructions.as_ref().map(|served| &*served.text),
        documents: all.documents.len(),
        types: counted(&all.documents, |d| vec![d.fields.node_type.as_str()]),
        tags: counted(&all.documents, |d| d.fields.tags.iter().map(String::as_str).collect()),
        folders: counted(&all.documents, |d| {
            d.id.as_str().rsplit_once('/').map(|(folder, _)| folder).into_iter().collect()
        }),
        withheld: all.withheld.iter().map(WithheldJson::from).collect(),
    };
    if session.ui.json {
        session.ui.result("context", &map);
    } else {
        text(session, instructions.as_ref(), &map);
    }
    let is_withheld = all.withheld.iter().any(|w| w.id.as_str() == layout::CONTEXT);
    if instructions.is_none() && !is_withheld {
        let next = match vault.files().exists(layout::CONTEXT) {
            true => "the next publication takes it along",
            false => "there is no such file either",
        };
        session.ui.note(&format!("note: no checkpoint holds CONTEXT.md; {next}"));
    }
    tell_withheld(session, &all.withheld);
    Ok(if all.withheld.is_empty() { Answer::Yes } else { Answer::No })
}

fn counted<'d>(
    documents: &'d [Served],
    words: impl Fn(&'d Served) -> Vec<&'d str>,
) -> BTreeMap<&'d str, usize> {
    let mut counts = BTreeMap::new();
    for word in documents.iter().flat_map(words) {
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

fn text(session: &mut Session<'_>, instructions: Option<&Served>, map: &ContextJson<'_>) {
    let ui = &mut session.ui;
    if let Some(served) = instructions {
        // The file may hold lines that look like the map.
        ui.text(&Portion { served, section: None }.to_markdown());
        ui.line("");
    }
    ui.line(&format!(
        "# Map of {} at checkpoint {}: {}",
        shown(&map.name),
        map.checkpoint,
        count(map.documents, "document")
    ));
    let tags: BTreeMap<String, usize> =
        map.tags.iter().map(|(t, n)| (format!("#{t}"), *n)).collect();
    let types = map.types.iter().map(|(t, n)| (format!("type:{t}"), *n)).collect();
    let folders = map.folders.iter().map(|(f, n)| (format!("{f}/"), *n)).collect();
    for (heading, counts) in [("Types", types), ("Tags", tags), ("Folders", folders)] {
        if !counts.is_empty() {
            ui.line("");
            ui.line(&format!("{heading}:"));
        }
        for (word, n) in counts {
            ui.line(&format!("  {} ({n})", shown(&word)));
        }
    }
}
