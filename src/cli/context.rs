//! `ctx context`.

use std::collections::BTreeMap;

use super::color::Paint;
use super::session::Session;
use super::ui::shown;
use super::{Answer, document};
use crate::model::layout;
use crate::model::number::CheckpointNumber;
use crate::report::failure::Failure;
use crate::report::resolve::{MapReport, instructions};
use crate::resolve::portion::Portion;
use crate::resolve::{Need, Served, Snapshot};
use crate::words::count;

/// Print the instructions for agents and a map of published documents
///
/// Prints CONTEXT.md as the last checkpoint seals it, then types, tags and folders with the number
/// of documents in each: what an agent needs to choose a selector.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx context\n  ctx context --at 3 --json")]
pub(super) struct Context {
    /// Answer as of this checkpoint
    #[arg(long, value_name = "N")]
    at: Option<CheckpointNumber>,
}

pub(super) fn run(args: &Context, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Versions)?;
    let snapshot = Snapshot::of(&vault, &source, args.at)?;
    let mut all = snapshot.all()?;
    let instructions = instructions(&snapshot, &mut all);
    let map = MapReport::new(&snapshot, &all, instructions.as_ref());
    match session.ui.json {
        true => session.ui.report(&map),
        false => text(session, instructions.as_ref(), &map),
    }
    let is_withheld = all.withheld.iter().any(|w| w.id.as_str() == layout::CONTEXT);
    if instructions.is_none() && !is_withheld {
        let next = match vault.files().exists(layout::CONTEXT) {
            true => "`ctx publish CONTEXT.md` publishes it",
            false => "the file does not exist",
        };
        session.ui.note(&format!("note: no checkpoint holds CONTEXT.md; {next}"));
    }
    document::note_withheld(session, &all.withheld);
    Ok(Answer::of(&all.withheld))
}

fn text(session: &mut Session<'_>, instructions: Option<&Served>, map: &MapReport<'_>) {
    let ui = &mut session.ui;
    if let Some(served) = instructions {
        // The file may contain lines that look like the map.
        ui.text(&Portion::whole(served).alone());
        ui.line("");
    }
    let (name, documents) = (shown(&map.name), count(map.documents, "document"));
    let heading = format!("# Map of {name} at checkpoint {}: {documents}", map.checkpoint);
    ui.painted(Paint::Heading, &heading);
    let spelled = |counts: &BTreeMap<&str, usize>, spell: &dyn Fn(&str) -> String| {
        counts.iter().map(|(word, n)| (spell(word), *n)).collect::<BTreeMap<String, usize>>()
    };
    let types = spelled(&map.types, &|word| format!("type:{word}"));
    let tags = spelled(&map.tags, &|word| format!("#{word}"));
    let folders = spelled(&map.folders, &|word| format!("{word}/"));
    for (heading, counts) in [("Types", types), ("Tags", tags), ("Folders", folders)] {
        if !counts.is_empty() {
            ui.line("");
            ui.painted(Paint::Heading, &format!("{heading}:"));
        }
        for (word, n) in counts {
            ui.line(&format!("  {} ({n})", shown(&word)));
        }
    }
}
