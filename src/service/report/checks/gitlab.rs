//! A Code Quality report of GitLab, a subset of the format of Code Climate.

use std::collections::HashMap;

use serde_json::json;

use super::{Checked, Level, Place};
use crate::values::model::digest::Digest;

/// Prints one list with every row.
pub(super) fn print(checks: &[Checked], place: &Place) -> String {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut issues = Vec::new();
    for row in checks.iter().flat_map(|checked| &checked.rows) {
        let nth = seen.entry(&row.fingerprint).or_default();
        *nth += 1;
        // GitLab drops a second issue with the same fingerprint.
        let fingerprint = match *nth {
            1 => row.fingerprint.clone(),
            n => Digest::of(format!("{}\n{n}", row.fingerprint).as_bytes()).short(),
        };
        issues.push(json!({
            "description": row.message,
            "check_name": row.code,
            "fingerprint": fingerprint,
            "severity": match row.level {
                Level::Error => "critical",
                Level::Warning => "minor",
                Level::Note => "info",
            },
            // The line is required.
            "location": {
                "path": place.path(&row.path),
                "lines": {"begin": row.line.unwrap_or(1)},
            },
        }));
    }
    crate::service::report::harmless(serde_json::to_string_pretty(&issues).unwrap_or_default())
}
