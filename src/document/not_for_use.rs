//! Words by which a file says that its text is not for use: not yet, or no longer (`spec/document.md`,
//! section 11).

use super::frontmatter::{Frontmatter, one_or_many};
use crate::yaml::Node;

/// Words of `status`, as [`plain`] writes them, for a text that is not for use yet.
const NOT_YET: &[&str] = &[
    "auto draft",
    "backlog",
    "blocked",
    "deferred",
    "draft",
    "drafting",
    "first draft",
    "for review",
    "future",
    "hidden",
    "hold",
    "idea",
    "in development",
    "in draft",
    "in progress",
    "in review",
    "incomplete",
    "needs review",
    "needs work",
    "not started",
    "on hold",
    "pending",
    "placeholder",
    "planned",
    "postponed",
    "private",
    "proposal",
    "proposed",
    "ready for review",
    "review",
    "rough draft",
    "scheduled",
    "stub",
    "tbd",
    "to be reviewed",
    "to do",
    "to review",
    "todo",
    "unapproved",
    "under construction",
    "under development",
    "under review",
    "unfinished",
    "unpublished",
    "unreleased",
    "unreviewed",
    "waiting",
    "wip",
    "work in progress",
    "working draft",
];

/// The same for a text that is no longer for use, or never was.
const NO_LONGER: &[&str] = &[
    "abandoned",
    "archive",
    "archived",
    "canceled",
    "cancelled",
    "declined",
    "defunct",
    "deleted",
    "deprecated",
    "disabled",
    "discarded",
    "discontinued",
    "do not use",
    "dropped",
    "end of life",
    "eol",
    "expired",
    "historic",
    "historical",
    "inactive",
    "invalid",
    "legacy",
    "no longer valid",
    "not in use",
    "obsolete",
    "out of date",
    "outdated",
    "rejected",
    "removed",
    "repealed",
    "replaced",
    "rescinded",
    "retired",
    "revoked",
    "stale",
    "superseded",
    "suspended",
    "terminated",
    "trash",
    "trashed",
    "void",
    "voided",
    "withdrawn",
];

/// Fields of other programs that say the same with `true`, whatever `status` says.
const MARKS: &[&str] = &[
    "abandoned",
    "archived",
    "deprecated",
    "expired",
    "obsolete",
    "outdated",
    "rejected",
    "retired",
    "superseded",
    "wip",
    "withdrawn",
];

/// Fields of other programs that say the same with `false`.
const NEGATED: &[&str] = &["publish", "published"];

/// The fields by which a file says that its text is not for use, each as `status: rejected` and with its
/// value.
pub(crate) fn said(fields: &Frontmatter) -> Vec<(String, &Node)> {
    let entries = fields.root.as_ref().and_then(Node::entries).unwrap_or_default();
    let said = entries.iter().filter_map(|(key, value)| {
        let key = key.text()?;
        // Obsidian writes lists, and names in any case.
        let word = one_or_many(Some(value)).iter().filter_map(Node::text).find(|word| {
            let is = |name: &&str| key.eq_ignore_ascii_case(name);
            if is(&"status") {
                is_not_for_use(word)
            } else if MARKS.iter().any(is) {
                word.eq_ignore_ascii_case("true")
            } else {
                NEGATED.iter().any(is) && word.eq_ignore_ascii_case("false")
            }
        })?;
        Some((format!("{key}: {word}"), value))
    });
    said.collect()
}

/// Whether a status word says that a text is not for use. `draft` alone is a status of its own.
fn is_not_for_use(word: &str) -> bool {
    let word = plain(word);
    let begins = |entry: &&str| {
        word.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let is_replaced = [" superseded by ", " replaced by "].iter().any(|part| word.contains(part));
    word != "draft" && (is_replaced || NOT_YET.iter().chain(NO_LONGER).any(begins))
}

/// The letters and digits of a word in lower case, each other run of characters as one blank.
fn plain(word: &str) -> String {
    let parts = word.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn of(frontmatter: &str) -> Vec<String> {
        let document = Document::parse(&format!("---\n{frontmatter}\n---\n")).unwrap();
        said(&document.frontmatter).into_iter().map(|(said, _)| said).collect()
    }

    #[test]
    fn the_words_are_those_of_the_specification() {
        let rules = include_str!("../../spec/document.md");
        let words = |row: &str| -> Vec<String> {
            let row = rules.lines().find(|line| line.starts_with(row)).expect(row);
            row.split('`').skip(1).step_by(2).map(str::to_owned).collect()
        };
        assert_eq!(words("| `status`, not yet"), [&["status"][..], NOT_YET].concat());
        assert_eq!(words("| `status`, no longer"), [&["status"][..], NO_LONGER].concat());
        assert_eq!(words("| with the value true"), MARKS);
        assert_eq!(words("| with the value false"), NEGATED);
    }

    #[test]
    fn words_are_compared_without_case_and_punctuation() {
        for word in [
            "rejected",
            "Rejected",
            "PENDING_REVIEW",
            "pending-review",
            "'In Review'",
            "wip",
            "'WIP: ana'",
            "Superseded by ADR-0005",
            "'superseded by [ADR-5](5.md)'",
            "To-Do",
            "'❌ Deprecated'",
            "deprecated since 2024",
            "'Accepted (superseded by 0012)'",
            "[archived]",
            "\n  - obsolete",
            "draft for comment",
            "work_in_progress",
        ] {
            assert_eq!(of(&format!("status: {word}")).len(), 1, "{word}");
        }
        for word in [
            "draft",
            "published",
            "active",
            "stable",
            "live",
            "final",
            "approved",
            "accepted",
            "current",
            "in force",
            "todos",
            "supersedes ADR-4",
            "not deprecated",
            "reviewed",
            "archivedx",
            "1",
            "null",
            "{a: rejected}",
        ] {
            assert_eq!(of(&format!("status: {word}")), Vec::<String>::new(), "{word}");
        }
    }

    #[test]
    fn marks_of_other_programs_say_the_same() {
        assert_eq!(of("status: published\ndeprecated: true"), ["deprecated: true"]);
        assert_eq!(
            of("Status: Rejected\npublished: false"),
            ["Status: Rejected", "published: false"]
        );
        let none: [&str; 0] = [];
        assert_eq!(of("archived: false\npublish: true\npublished: 2026-01-01\nwip: no"), none);
    }
}
