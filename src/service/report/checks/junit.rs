//! A report in the XML of JUnit, which dashboards of tests read.
//!
//! Each check is a suite, and each row a test case, which fails if the check fails because of it. A
//! suite without a row has one case that passes.

use std::fmt::Write as _;

use super::{Checked, Place, Row};
use crate::values::model::visible::{escaped, steers};

/// Prints one suite for each check.
pub(super) fn print(checks: &[Checked], place: &Place) -> String {
    let mut out =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"ctx\">\n".to_owned();
    for checked in checks {
        let failures = checked.rows.iter().filter(|row| row.fails).count();
        let tests = checked.rows.len().max(1);
        let name = checked.name;
        let _ = writeln!(
            out,
            "  <testsuite name=\"ctx {name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">"
        );
        for row in &checked.rows {
            case(&mut out, row, name, place);
        }
        if checked.rows.is_empty() {
            let _ = writeln!(out, "    <testcase classname=\"ctx.{name}\" name=\"{name}\"/>");
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>");
    out
}

fn case(out: &mut String, row: &Row, name: &str, place: &Place) {
    let path = place.path(&row.path);
    let line = row.line.map_or_else(String::new, |line| format!(" line=\"{line}\""));
    let at = row.line.map_or_else(|| path.clone(), |line| format!("{path}:{line}"));
    let (code, file, at, message) = (row.code, xml(&path), xml(&at), xml(&row.message));
    let _ = writeln!(
        out,
        "    <testcase classname=\"ctx.{name}\" name=\"{code}: {at}\" file=\"{file}\"{line}>"
    );
    let _ = match row.fails {
        true => writeln!(out, "      <failure type=\"{code}\" message=\"{message}\"/>"),
        false => writeln!(out, "      <system-out>{}: {message}</system-out>", row.level),
    };
    out.push_str("    </testcase>\n");
}

/// Escapes a text for an attribute or an element. Characters that XML 1.0 cannot contain, and line
/// ends, which a reader of an attribute would turn into blanks, are spelled out.
fn xml(text: &str) -> String {
    let cannot = |c: char| steers(c) || matches!(c, '\u{fffe}' | '\u{ffff}');
    let mut out = String::with_capacity(text.len());
    for c in escaped(text, cannot).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}
