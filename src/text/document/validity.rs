//! The end of validity of a text and its successor, as its fields declare them (`spec/document.md`,
//! section 12). No selection depends on them: an answer contains the values, and only commands that
//! receive a clock evaluate them.

use super::frontmatter::one_or_many;
use crate::values::model::timestamp::Timestamp;
use crate::values::yaml::Node;

/// Fields with the end of validity, in lower case, without blanks, `_` and `-`.
const UNTIL: &[&str] = &[
    "bestbefore",
    "effectiveto",
    "effectiveuntil",
    "enddate",
    "expiration",
    "expirationdate",
    "expires",
    "expiresat",
    "expireson",
    "expiry",
    "expirydate",
    "staleafter",
    "unpublishdate",
    "validthrough",
    "validtill",
    "validto",
    "validuntil",
];

/// Fields with the successor of the text, in the same spelling.
const SUPERSEDED: &[&str] =
    &["deprecatedby", "obsoletedby", "replacedby", "succeededby", "supercededby", "supersededby"];

/// Maximum number of characters of a value that is kept.
const MAX: usize = 200;

const DAY: i64 = 24 * 3_600_000;

/// The declared validity of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validity {
    /// End of validity, as it is written.
    pub until: Option<String>,
    /// Successor of the text, as it is written.
    pub superseded_by: Option<String>,
    /// Line of the end of validity in the document.
    line: usize,
    /// Name of the field with the end of validity.
    field: String,
}

impl Validity {
    /// Reads the fields of a frontmatter; the first of several names for the same value is used.
    pub(super) fn read(root: Option<&Node>) -> Self {
        let mut found = Self::default();
        for (key, value) in root.and_then(Node::entries).unwrap_or_default() {
            let Some(name) = key.text() else { continue };
            let is_end = is_one_of(name, UNTIL);
            let place = match is_end {
                true => &mut found.until,
                false if is_one_of(name, SUPERSEDED) => &mut found.superseded_by,
                false => continue,
            };
            let (None, Some(text)) = (place.as_ref(), text_of(value)) else { continue };
            *place = Some(text);
            if is_end {
                // A frontmatter begins on the second line of its document.
                (found.line, found.field) = (value.line + 1, name.to_owned());
            }
        }
        found
    }

    /// Returns the field with the end of validity, as `expires: 2026-12-31`.
    pub(crate) fn said(&self) -> Option<String> {
        Some(format!("{}: {}", self.field, self.until.as_deref()?))
    }

    /// Returns the line of that field in the document.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// Returns the instant from which the text is no longer valid; `None` if the value is not
    /// a date.
    pub(crate) fn end(&self) -> Option<Timestamp> {
        end_of(self.until.as_deref()?)
    }

    /// Returns true if the end of validity has passed.
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.end().is_some_and(|end| end <= now)
    }
}

/// Returns the name of a field if it is in these tables.
fn known(key: &Node) -> Option<&str> {
    key.text().filter(|name| is_one_of(name, UNTIL) || is_one_of(name, SUPERSEDED))
}

/// Returns the fields about validity that are not read, each with its line in the document: those
/// whose value is not a text, and those in `metadata`.
pub(super) fn unread(root: Option<&Node>) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (key, value) in root.and_then(Node::entries).unwrap_or_default() {
        let items = one_or_many(Some(value));
        let is_text = items.iter().all(|node| node.text().is_some() || wikilink(node).is_some());
        match known(key) {
            Some(name) if !is_text => found.push((name.to_owned(), key.line + 1)),
            _ if key.text().is_some_and(|name| is_one_of(name, &["meta", "metadata"])) => {
                let inner =
                    value.entries().unwrap_or_default().iter().filter(|(_, v)| !v.is_null());
                let inner = inner.filter_map(|(key, _)| Some((known(key)?, key.line + 1)));
                let outer = key.text().unwrap_or_default();
                found.extend(inner.map(|(name, line)| (format!("{outer}.{name}"), line)));
            }
            _ => {}
        }
    }
    found
}

/// Returns true if a name is in a list, apart from case, blanks, `_` and `-`: `expiryDate`
/// equals `expiry_date`.
pub(super) fn is_one_of(name: &str, names: &[&str]) -> bool {
    let letters = name.bytes().filter(|b| !matches!(b, b' ' | b'_' | b'-'));
    let letters = letters.map(|b| b.to_ascii_lowercase());
    names.iter().any(|name| letters.clone().eq(name.bytes()))
}

/// Returns the texts of a value, joined; `None` for words such as `none` or `never`.
fn text_of(value: &Node) -> Option<String> {
    let nodes = one_or_many(Some(value)).iter().filter(|node| !node.is_null());
    let texts = nodes.map(|node| match node.text() {
        Some(text) => text.trim().to_owned(),
        None => wikilink(node).unwrap_or_default(),
    });
    let text = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ");
    let is_none = ["", "false", "never", "no", "none", "null", "~"];
    let is_none = is_none.iter().any(|word| text.eq_ignore_ascii_case(word));
    (!is_none).then(|| text.chars().take(MAX).collect())
}

/// Returns `[[adr-9]]` written without quotes, which YAML reads as a list in a list.
fn wikilink(node: &Node) -> Option<String> {
    let [inner] = node.items()? else { return None };
    // As an item of a list, it has one more level.
    let inner = match inner.items() {
        Some([inner]) => inner,
        _ => inner,
    };
    Some(format!("[[{}]]", inner.text()?.trim())).filter(|_| !inner.is_null())
}

/// Returns the first instant after a date or a month in UTC, or the instant of a time, which is in
/// UTC if it lacks a zone.
fn end_of(text: &str) -> Option<Timestamp> {
    let after = |day: Timestamp| Timestamp::from_millis(day.millis().saturating_add(DAY));
    if let Some((year, month)) = text.split_once('-').filter(|_| text.len() == "2026-12".len()) {
        let (year, month): (u32, u32) = (year.parse().ok()?, month.parse().ok()?);
        let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        let first = format!("{:04}-{:02}-01", next.0, next.1);
        return Timestamp::of_rfc3339(&first).filter(|_| (1..=12).contains(&month));
    }
    let (date, time) = text.split_at_checked("2026-12-31".len())?;
    let time: String = time.chars().filter(|c| *c != ' ').collect();
    let time = time.trim_start_matches(['T', 't']);
    if time.is_empty() {
        return Timestamp::of_rfc3339(date).map(after);
    }
    let spellings = [time.to_owned(), format!("{time}Z"), format!("{time}:00Z")];
    spellings.iter().find_map(|time| Timestamp::of_rfc3339(&format!("{date}T{time}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::document::Document;

    fn of(frontmatter: &str) -> Validity {
        let document = Document::parse(&format!("---\n{frontmatter}\n---\n")).unwrap();
        document.frontmatter.validity
    }

    #[test]
    fn names_are_compared_without_case_and_separators() {
        let names = [
            "valid_until",
            "stale_after",
            "expires",
            "expiryDate",
            "expiry_date",
            "expiration",
            "Valid Until",
            "valid-until",
            "expirationDate",
            "expires_at",
        ];
        for name in names {
            assert_eq!(of(&format!("{name}: 2026-12-31")).until.as_deref(), Some("2026-12-31"));
        }
        for name in ["superseded_by", "supersededBy", "replaced-by", "Obsoleted By"] {
            let by = of(&format!("{name}: [nodes/a, '[[B]]']")).superseded_by;
            assert_eq!(by.as_deref(), Some("nodes/a, [[B]]"), "{name}");
        }
        assert_eq!(
            of("expired: 2026\nsupersedes: a\nvalid: x\nreview_by: 2026-01-01"),
            Validity::default()
        );
        assert_eq!(of("expires: never\nvalid_until:\nsuperseded_by: []"), Validity::default());
        for link in ["[[adr-9]]", "[[ adr-9 ]]", "\n  - [[adr-9]]"] {
            let by = of(&format!("superseded_by: {link}")).superseded_by;
            assert_eq!(by.as_deref(), Some("[[adr-9]]"), "{link}");
        }
        let both = of("expires: never\nvalid_until: 2026-01-01\nexpiry: 2027-01-01");
        assert_eq!(both.said().as_deref(), Some("valid_until: 2026-01-01"));
    }

    #[test]
    fn fields_that_are_not_read_are_named() {
        for (fields, expected) in [
            ("valid_until: {date: 2026-01-01}", &["valid_until"][..]),
            ("metadata: {valid_until: 2026-01-01, x: y}", &["metadata.valid_until"]),
            ("superseded_by: {id: a}\nexpires: 2026-01-01", &["superseded_by"]),
            ("superseded_by: [[a]]\nexpires: never\nmetadata: {x: y}", &[]),
        ] {
            let document = Document::parse(&format!("---\n{fields}\n---\n")).unwrap();
            let found = unread(document.frontmatter.root.as_ref());
            let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, expected, "{fields}");
        }
    }

    #[test]
    fn a_date_is_valid_to_its_end() {
        let end = |text: &str| of(&format!("expires: '{text}'")).end().map(|end| end.to_string());
        for (text, expected) in [
            ("2026-12-31", Some("2027-01-01T00:00:00.000Z")),
            ("2026-12", Some("2027-01-01T00:00:00.000Z")),
            ("2026-02", Some("2026-03-01T00:00:00.000Z")),
            ("2026-12-31T10:00:00Z", Some("2026-12-31T10:00:00.000Z")),
            ("2026-12-31 10:00:00 +02:00", Some("2026-12-31T08:00:00.000Z")),
            ("2026-12-31T10:00", Some("2026-12-31T10:00:00.000Z")),
            ("2026-12-31 10:00:30", Some("2026-12-31T10:00:30.000Z")),
            ("31.12.2026", None),
            ("2026-13", None),
            ("2026-02-30", None),
            ("90d", None),
            ("é026-12-31", None),
            ("9999-12-31", Some("9999-12-31T23:59:59.999Z")),
        ] {
            assert_eq!(end(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_names_are_those_of_the_specification() {
        let rules = include_str!("../../../spec/document.md");
        let names = |row: &str| -> Vec<String> {
            let row = rules.lines().find(|line| line.starts_with(row)).expect(row);
            row.split('`').skip(1).step_by(2).map(str::to_owned).collect()
        };
        assert_eq!(names("| end of validity"), UNTIL);
        assert_eq!(names("| what took its place"), SUPERSEDED);
    }
}
