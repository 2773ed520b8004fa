//! Workflow commands of GitHub Actions, which annotate the files of a change.

use super::{Checked, Level, Place, Row};
use crate::values::model::visible::shown;

/// Prints one command for each row.
pub(super) fn print(checks: &[Checked], place: &Place) -> String {
    let rows = checks.iter().flat_map(|checked| &checked.rows);
    rows.map(|row| command(row, place)).collect::<Vec<_>>().join("\n")
}

fn command(row: &Row, place: &Place) -> String {
    let name = match row.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    };
    let file = property(&place.path(&row.path));
    let line = row.line.map_or_else(String::new, |line| format!(",line={line}"));
    let (title, message) = (property(row.code), data(&shown(&row.message)));
    format!("::{name} file={file}{line},title={title}::{message}")
}

/// Escapes the message of a command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
