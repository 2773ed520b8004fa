//! The table of attacks in `spec/threat-model.md`, which defines what a verifier has to find.

use std::collections::BTreeSet;

use crate::process::Result;

/// The text of the table.
const SPEC: &str = include_str!("../../../spec/threat-model.md");

/// The expected result of a verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// A finding that fails, from the files alone.
    Files,
    /// No finding from the files; one with a head from elsewhere.
    Anchor,
    /// A finding that does not fail.
    Note,
    /// No finding is possible.
    No,
}

/// One attack.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Its section, such as `5.1 Stored texts, hashes left as they are`.
    pub(super) section: String,
    pub(super) name: String,
    /// The code of its finding, if it has one.
    pub(super) finding: Option<String>,
    /// In a vault with a delta log; `None` if the attack does not exist.
    pub(super) delta: Option<Expected>,
    /// In a vault with the log of the reference implementation.
    pub(super) full: Option<Expected>,
}

/// Reads the rows of section 5.
pub(super) fn rows() -> Result<Vec<Row>> {
    let (mut section, mut rows) = (String::new(), Vec::new());
    for line in SPEC.lines() {
        if let Some(title) = line.strip_prefix("### 5.") {
            section = format!("5.{title}");
        }
        let Some(cells) = line.strip_prefix("| `").and_then(|rest| rest.strip_suffix(" |")) else {
            continue;
        };
        // A cell may contain `|` only within backticks; no row does so far.
        let cells: Vec<&str> = cells.split(" | ").collect();
        let [name, _, finding, delta, full] = cells[..] else {
            return Err(format!("not a row of five cells: {line}").into());
        };
        let finding = Some(finding.trim_matches('`').to_owned()).filter(|code| code != "–");
        let (delta, full) = (expected(delta)?, expected(full)?);
        let name = name.trim_end_matches('`').to_owned();
        rows.push(Row { section: section.clone(), name, finding, delta, full });
    }
    let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    if names.len() < rows.len() || rows.is_empty() {
        return Err("the table of attacks is empty, or has a name twice".into());
    }
    Ok(rows)
}

fn expected(cell: &str) -> Result<Option<Expected>> {
    Ok(match cell {
        "files" => Some(Expected::Files),
        "anchor" => Some(Expected::Anchor),
        "note" => Some(Expected::Note),
        "no" => Some(Expected::No),
        "–" => None,
        other => return Err(format!("`{other}` is not a word of the table").into()),
    })
}
