//! `ctx read`.

use super::Answer;
use super::as_of::AsOf;
use super::session::Session;
use super::ui::shown;
use crate::service::report::failure::Failure;
use crate::service::workspace::call::read::{self, Reading};
use crate::text::document::sections::Section;
use crate::values::text_util::count;

/// Print the published text of a document, verified
///
/// The text is the one that the checkpoint seals, byte for byte, with its frontmatter. The live
/// file is not read. With the layout of Obsidian, `--json` leaves out `%%comments%%`, as answers
/// for agents do. `#ANCHOR` names a section: the anchor that GitHub gives its heading, or the name
/// that the heading gives itself with {#name}.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx read nodes/policies/returns\n  \
ctx read nodes/policies/returns@3\n  ctx read nodes/policies/returns --outline\n  \
ctx read nodes/policies/returns#exceptions\n  ctx read CONTEXT.md --json")]
pub(super) struct Read {
    /// Id, `ID@N`, URI or file of a document, with `#ANCHOR` for a section
    #[arg(value_name = "ID[@N][#ANCHOR]")]
    id: String,
    /// List the sections with their anchors and sizes instead
    #[arg(long)]
    outline: bool,
    #[command(flatten)]
    at: AsOf,
}

pub(super) fn run(args: &Read, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, read::NEED)?;
    let at = args.at.moment();
    let reading = session.ask(|call, _| call.read((&vault, &source), &args.id, at))?;
    if args.outline {
        outline(session, &reading);
    } else if session.ui.json {
        let report = session.release(reading.report());
        session.ui.report(&report);
    } else {
        sealed(session, &reading);
    }
    Ok(Answer::Yes)
}

/// Returns a part of the sealed text, including the parts that answers for agents omit.
fn sealed(session: &mut Session<'_>, Reading { served, section }: &Reading) {
    let text = session.release(served.sealed(section.as_ref()));
    session.ui.harmless(text);
    let range = section.as_ref().map_or(0..served.text.len(), |section| section.range.clone());
    let (_, comments) = served.shown(range);
    if comments > 0 {
        let what = count(comments, "comment");
        session.ui.note(&format!("note: the text has {what}, which `--json` leaves out"));
    }
}

/// Prints the sections of a document, or those inside one of them.
fn outline(session: &mut Session<'_>, reading: &Reading) {
    let sections = session.outline(reading);
    session.print(&reading.outlined(&sections), |session, _| {
        let row = |section: &Section| {
            let indent = "  ".repeat(usize::from(section.level) - 1);
            vec![
                format!("{indent}#{}", shown(&section.anchor)),
                format!("{} bytes", section.range.len()),
                shown(&section.title).into_owned(),
            ]
        };
        session.ui.table(&sections.iter().map(row).collect::<Vec<_>>());
        if sections.is_empty() {
            session.ui.note("note: the document has no headings");
        }
    });
}
