//! Documents as tables, and shared notes of several verbs.

use super::session::Session;
use super::ui::shown;
use crate::read::snapshot::Withheld;
use crate::read::snapshot::portion::Portion;
use crate::service::report::failure::Failure;

/// Returns a row for each document, with the sections that an answer narrows it to.
pub(super) fn rows(portions: &[Portion<'_>]) -> Vec<Vec<String>> {
    let row = |portions: &[Portion<'_>]| {
        let d = portions.first()?.served;
        let sections = portions.iter().filter_map(|portion| portion.section);
        let anchors: String = sections.map(|section| format!(" #{}", section.anchor)).collect();
        let name = match anchors.trim_start() {
            one if !one.contains(' ') => format!("{}{one}", d.id),
            several => format!("{} {several}", d.id),
        };
        Some(vec![
            shown(&name).into_owned(),
            format!("v{}", d.entry.version),
            d.fields.node_type.as_str().to_owned(),
            shown(d.title()).into_owned(),
        ])
    };
    portions.chunk_by(Portion::is_beside).filter_map(row).collect()
}

/// Notes which back-end found the documents of a search, and its remarks.
pub(super) fn note(session: &mut Session<'_>, backend: Option<&str>, notes: &[String]) {
    if let Some(backend) = backend {
        let backend = shown(backend);
        session.ui.note(&format!(
            "note: found by {backend}; another search program may find other sections"
        ));
    }
    for note in notes {
        session.ui.note(&format!("note: {}", shown(note)));
    }
}

/// Notes which documents were withheld.
pub(in crate::front::cli) fn note_withheld(session: &mut Session<'_>, withheld: &[Withheld]) {
    if !withheld.is_empty() {
        let report = Failure::withheld(withheld);
        let text = report.report(session.ui.spell()).to_string();
        session.ui.note(&text);
    }
}
