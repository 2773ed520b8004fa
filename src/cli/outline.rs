//! `ctx outline`.

use serde::Serialize;

use super::rows::SectionJson;
use super::session::Session;
use super::ui::{shown, table};
use super::{Answer, Failure};
use crate::resolve::{Need, Snapshot};

/// List the sections of a published document, with their anchors and sizes
///
/// An anchor is what GitHub makes of a heading, or the name that the heading gives itself with
/// {#name}. `ctx read ID#anchor` prints the section, its subsections included.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx outline nodes/policies/returns\n  \
ctx outline nodes/policies/returns@3 --json")]
pub(super) struct Outline {
    /// Id, `ID@CHECKPOINT`, URI or file of a document
    #[arg(value_name = "ID[@N]")]
    id: String,
}

#[derive(Serialize)]
struct OutlineJson<'o> {
    id: &'o str,
    version: u64,
    checkpoint: u64,
    bytes: usize,
    sections: Vec<SectionJson<'o>>,
}

pub(super) fn run(args: &Outline, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Versions)?;
    let named = session.named_at(&vault, &source, &args.id)?;
    let snapshot = Snapshot::of(&vault, &source, named.checkpoint)?;
    let served = super::read::get(&vault, &snapshot, &named.id)?;
    let sections = match named.anchor {
        None => served.sections(),
        Some(anchor) => {
            let whole = served.section(&anchor)?;
            let inside = |s: &crate::document::sections::Section| {
                whole.range.start <= s.range.start && s.range.end <= whole.range.end
            };
            served.sections().into_iter().filter(inside).collect()
        }
    };
    if session.ui.json {
        let json = OutlineJson {
            id: served.id.as_str(),
            version: served.entry.version,
            checkpoint: served.checkpoint,
            bytes: served.text.len(),
            sections: sections.iter().map(SectionJson::from).collect(),
        };
        session.ui.result("outline", &json);
        return Ok(Answer::Yes);
    }
    let rows: Vec<Vec<String>> = sections
        .iter()
        .map(|section| {
            let indent = "  ".repeat(usize::from(section.level) - 1);
            let bytes = format!("{} bytes", section.range.len());
            vec![
                format!("{indent}#{}", shown(&section.anchor)),
                bytes,
                shown(&section.title).into_owned(),
            ]
        })
        .collect();
    table(&rows).iter().for_each(|row| session.ui.line(row));
    if sections.is_empty() {
        session.ui.note("the document has no headings");
    }
    Ok(Answer::Yes)
}
