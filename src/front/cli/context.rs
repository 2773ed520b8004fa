//! `ctx context`.

use std::collections::BTreeMap;

use super::Answer;
use super::as_of::AsOf;
use super::color::Paint;
use super::session::Session;
use super::ui::shown;
use crate::read::snapshot::Served;
use crate::read::snapshot::portion::Portion;
use crate::service::report::failure::Failure;
use crate::service::report::map::{Extent, MapReport};
use crate::service::workspace::call::{Note, map};
use crate::text::document::frontmatter::NodeType;
use crate::text::selector::{Atom, Term};
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::layout;
use crate::values::text_util::count;

/// Print the instructions for agents and a map of published documents
///
/// Prints CONTEXT.md as the last checkpoint seals it, then types, tags, folders, servers and packs
/// with the number of documents in each: everything an agent needs to choose a selector. It names
/// at most 100 tags, folders, servers and packs each, those with the most documents; `ctx list`
/// prints the ids.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx context\n  ctx context --at 3 --json\n  ctx context --all"
)]
pub(super) struct Context {
    #[command(flatten)]
    at: AsOf,
    /// Name every tag, folder, server and pack
    #[arg(long)]
    all: bool,
}

pub(super) fn run(args: &Context, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, map::NEED)?;
    let at = args.at.moment();
    let mapped = session.ask(|call, _| call.map((&vault, &source), at))?;
    let extent = if args.all { Extent::Whole } else { Extent::default() };
    let map = session.ask(|call, _| call.map_report(&mapped, extent))?;
    match session.ui.json {
        true => {
            let map = session.release(mapped.with_instructions(map));
            session.ui.report(&map);
        }
        false => text(session, mapped.instructions.as_ref(), &map),
    }
    if mapped.lacks_instructions() && mapped.snapshot.is_limited() {
        session.ask(|call, _| {
            call.note(Note::NoInstructions);
            Ok(())
        })?;
    } else if mapped.lacks_instructions() {
        let next = match vault.files().exists(layout::CONTEXT) {
            true => {
                let publish = Call::new(Verb::Publish).value(layout::CONTEXT);
                Hint::call("{} {publishes} it", publish).render(session.ui.spell())
            }
            false => "the file does not exist".to_owned(),
        };
        session.ui.note(&format!("note: no checkpoint contains CONTEXT.md; {next}"));
    }
    Ok(session.answer(mapped.withheld()))
}

fn text(session: &mut Session<'_>, instructions: Option<&Served>, map: &MapReport<'_>) {
    if let Some(served) = instructions {
        // The file may contain lines that look like the map.
        let text = session.release(Portion::whole(served).handed_out_alone());
        session.ui.harmless(&text);
        session.ui.line("");
    }
    let ui = &mut session.ui;
    let (name, documents) = (shown(&map.name), count(map.documents, "document"));
    let heading = format!("# Map of {name} at checkpoint {}: {documents}", map.checkpoint);
    ui.painted(Paint::Heading, &heading);
    let spelled = |counts: &BTreeMap<&str, usize>, spell: &dyn Fn(&str) -> String| {
        let lines = counts.iter().map(|(word, n)| (spell(word), *n));
        let lines: BTreeMap<String, usize> = lines.collect();
        lines.iter().map(|(word, n)| format!("{} ({n})", shown(word))).collect::<Vec<_>>()
    };
    let packs = map.packs.iter().map(|pack| {
        let documents = pack.documents.map_or_else(String::new, |n| format!(" ({n})"));
        let label = pack.label.map_or_else(String::new, |label| format!(": {}", shown(label)));
        format!("{}{documents}{label}", shown(&Term::Pack(pack.id.to_owned()).to_string()))
    });
    let as_type = |word: &str| {
        let node_type = NodeType::from_word(word).unwrap_or_default();
        Atom::Type(node_type).to_string()
    };
    let omitted = map.omitted;
    let sections = [
        ("Types", spelled(&map.types, &as_type), omitted.types),
        ("Tags", spelled(&map.tags, &|word| format!("#{word}")), omitted.tags),
        ("Folders", spelled(&map.folders, &|word| format!("{word}/")), omitted.folders),
        (
            "Servers",
            spelled(&map.servers, &|word| Atom::Server(word.to_owned()).to_string()),
            omitted.servers,
        ),
        ("Packs", packs.collect(), omitted.packs),
    ];
    for (heading, lines, omitted) in sections {
        if lines.is_empty() {
            continue;
        }
        ui.line("");
        ui.painted(Paint::Heading, &format!("{heading}:"));
        for line in lines {
            ui.line(&format!("  {line}"));
        }
        if omitted > 0 {
            ui.line(&format!("  and {omitted} more; `ctx context --all` names them"));
        }
    }
}
