//! The list of publications as CSV and as a page.

use crate::prove::evidence::bundle::page;
use crate::service::report::evidence::{EmergencyRow, PublicationRow, PublicationsReport};
use crate::values::text_util;

const COLUMNS: [&str; 17] = [
    "checkpoint",
    "at",
    "action",
    "id",
    "version",
    "author",
    "edited_by",
    "edited_at",
    "approved_by",
    "emergency",
    "ratified_by",
    "ratified_at",
    "complete",
    "why",
    "unprotected_note",
    "chain_hash",
    "checkpoint_hash",
];

fn cells(row: &PublicationRow) -> [String; COLUMNS.len()] {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let emergency = row.emergency.as_ref();
    let ratified = |field: fn(&EmergencyRow) -> &Option<String>| {
        emergency.map(|emergency| text(field(emergency))).unwrap_or_default()
    };
    [
        row.checkpoint.to_string(),
        row.at.clone(),
        row.action.to_string(),
        row.id.clone(),
        row.version.map_or(String::new(), |version| version.to_string()),
        text(&row.author),
        text(&row.edited_by),
        text(&row.edited_at),
        row.approved_by.join(" "),
        emergency.map(|emergency| emergency.reason.clone()).unwrap_or_default(),
        ratified(|emergency| &emergency.ratified_by),
        ratified(|emergency| &emergency.ratified_at),
        row.complete.to_string(),
        text(&row.why),
        text(&row.unprotected_note),
        text(&row.chain_hash),
        row.checkpoint_hash.clone(),
    ]
}

/// Formats the report as CSV (RFC 4180).
pub(super) fn csv(report: &PublicationsReport) -> String {
    let mut out = COLUMNS.join(",") + "\r\n";
    for row in &report.publications {
        let cells = cells(row).map(|cell| csv_cell(&cell));
        out.push_str(&cells.join(","));
        out.push_str("\r\n");
    }
    out
}

/// Returns a cell, quoted if necessary. A spreadsheet treats a cell that begins with one of these
/// characters as a formula, and runs it; an apostrophe makes it a text.
fn csv_cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    match text.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

/// Formats the report as a page.
pub(super) fn html(report: &PublicationsReport) -> String {
    let bound = |at: &Option<String>, none: &str| at.clone().unwrap_or_else(|| none.to_owned());
    let period = format!(
        "from {} to {}",
        bound(&report.from, "the first checkpoint"),
        bound(&report.to, "the last checkpoint")
    );
    let rows = report
        .publications
        .iter()
        .map(|row| cells(row).map(|cell| text_util::html(&cell)).to_vec());
    let body = format!(
        "<h1>Publications</h1>\n<p>{}</p>\n{}",
        text_util::html(&period),
        page::table(&COLUMNS, rows)
    );
    page::document("Publications", &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_no_formula_and_ends_where_it_ends() {
        let cell = |text: &str| csv_cell(text);
        assert_eq!(cell("=HYPERLINK(1,2)"), "\"'=HYPERLINK(1,2)\"");
        assert_eq!(["+1", "-1", "@a", "\ta"].map(cell), ["'+1", "'-1", "'@a", "'\ta"]);
        assert_eq!(cell("a\"b"), "\"a\"\"b\"");
        assert_eq!(cell("a\r\nb"), "\"a\r\nb\"");
        assert_eq!(cell("\r=1"), "\"'\r=1\"");
        assert_eq!(cell("a - b"), "a - b");
    }
}
