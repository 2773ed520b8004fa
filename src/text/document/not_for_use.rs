//! Fields that mark a text as not for use: not yet, or no longer (`spec/document.md`, section 11).

mod words;

use super::Document;
use super::frontmatter::{Frontmatter, one_or_many};
use super::second_block::{SecondBlock, second_block};
use super::validity::is_one_of;
use crate::values::yaml::Node;
use words::is_not_for_use;

/// Fields that contain a status, in the form that [`is_one_of`] compares.
const STATUS: &[&str] = &[
    "status",
    "adrstatus",
    "approvalstatus",
    "contentstatus",
    "docstate",
    "docstatus",
    "documentstate",
    "documentstatus",
    "lifecycle",
    "lifecyclestage",
    "lifecyclestate",
    "lifecyclestatus",
    "pagestatus",
    "policystatus",
    "publicationstate",
    "publicationstatus",
    "publishstate",
    "publishstatus",
    "recordstatus",
    "reviewstate",
    "reviewstatus",
    "stage",
    "state",
    "workflowstate",
    "workflowstatus",
];

/// Fields that mark a text as not for use if they are true or give a reason, whatever `status` is;
/// also with `is` before the name.
const MARKS: &[&str] = &[
    "abandoned",
    "archived",
    "cancelled",
    "canceled",
    "decommissioned",
    "deleted",
    "deprecated",
    "discontinued",
    "donotuse",
    "embargoed",
    "expired",
    "inactive",
    "obsolete",
    "outdated",
    "rejected",
    "repealed",
    "rescinded",
    "retired",
    "revoked",
    "superseded",
    "trashed",
    "unapproved",
    "unpublished",
    "wip",
    "withdrawn",
];

/// Fields that mark a text as not for use if they are false; also with `is` before the name.
const NEGATED: &[&str] =
    &["active", "approved", "current", "final", "publish", "published", "released", "valid"];

/// Mappings whose fields are read like those of the frontmatter.
const MAPPINGS: &[&str] = &[
    "adr",
    "doc",
    "document",
    "info",
    "lifecycle",
    "meta",
    "metadata",
    "page",
    "properties",
    "publication",
    "state",
    "status",
];

/// Fields of a mapping that is itself a status.
const VALUES: &[&str] = &["current", "label", "name", "value"];

/// True values of YAML 1.1 and of people, in lower case.
const TRUE: &[&str] = &["true", "yes", "on", "y", "t", "1"];
const FALSE: &[&str] =
    &["false", "no", "off", "n", "f", "0", "never", "none", "null", "n/a", "-", "~", ""];

/// A field that marks a text as not for use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// Field and its value, as `status: rejected`.
    pub(crate) says: String,
    /// Line in the document.
    pub(crate) line: usize,
}

/// Returns true if a value is true in a spelling of YAML 1.1.
pub(super) fn is_true(value: &Node) -> bool {
    value.text().is_some_and(|text| is_word_of(TRUE, text))
}

/// Returns the fields that mark a document as not for use: those of the frontmatter, of a second
/// block, and properties at the beginning of the body.
pub(crate) fn said(text: &str, document: &Document) -> Vec<Said> {
    // A frontmatter begins on the second line of its document.
    let mut found = of_fields(&document.frontmatter, FieldPlace::Frontmatter, 1);
    let (before, body) = text.split_at(document.parts.body);
    let above = before.matches('\n').count();
    let block = second_block(body);
    if let Some(block) = &block {
        let above = above + body[..block.fields.start].matches('\n').count();
        found.extend(of_block(body, block, above));
    }
    found.extend(of_properties(body, above));
    found
}

/// The place of fields.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldPlace {
    Frontmatter,
    /// In the body, where a field `status` is not that of ctx.
    Body,
}

fn of_fields(fields: &Frontmatter, place: FieldPlace, above: usize) -> Vec<Said> {
    let mut found = Vec::new();
    for (key, value) in fields.root.as_ref().and_then(Node::entries).unwrap_or_default() {
        let Some(name) = key.text() else { continue };
        let mut add = |says: Option<String>, node: &Node| {
            found.extend(says.map(|says| Said { says, line: above + node.line }));
        };
        add(said_by(name, value, place), value);
        if !is_one_of(name, MAPPINGS) {
            continue;
        }
        let is_status = is_one_of(name, STATUS);
        for (key, value) in value.entries().unwrap_or_default() {
            let Some(inner) = key.text() else { continue };
            let own = if is_status && is_one_of(inner, VALUES) { "status" } else { inner };
            add(
                said_by(own, value, place).map(|_| format!("{name}.{inner}: {}", shown(value))),
                value,
            );
        }
    }
    found
}

/// Reads the fields of a second block. A block that is not YAML or TOML is read line by line.
fn of_block(body: &str, block: &SecondBlock, above: usize) -> Vec<Said> {
    let fields = &body[block.fields.clone()];
    let mark = if block.is_toml { "+++" } else { "---" };
    match Document::of_live(&format!("{mark}\n{fields}{mark}\n")) {
        Ok(document) => of_fields(&document.frontmatter, FieldPlace::Body, above),
        Err(_) => lines(fields, if block.is_toml { "=" } else { ":" }, above),
    }
}

/// Reads the properties of Logseq and Dataview, `status:: deprecated`, in the first lines of
/// a body.
fn of_properties(body: &str, above: usize) -> Vec<Said> {
    let is_head = |line: &&str| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with('#') || line.contains("::")
    };
    let end: usize = body.split_inclusive('\n').take_while(is_head).map(str::len).sum();
    lines(&body[..end], "::", above)
}

/// Reads the fields of lines with a key, a separator and a text.
fn lines(text: &str, separator: &str, above: usize) -> Vec<Said> {
    let said = text.lines().enumerate().filter_map(|(n, line)| {
        let (key, value) = line.split_once(separator)?;
        let name = key.trim().trim_start_matches(['-', '*', '[', '(', ' ']).trim_end();
        let value = value.trim().trim_matches(['"', '\'', ']', ')']);
        is_said(name, value, FieldPlace::Body)
            .then(|| Said { says: format!("{name}{separator} {value}"), line: above + n + 1 })
    });
    said.collect()
}

/// Returns the field and its value if it marks the text as not for use. Values may be lists, as
/// Obsidian writes them.
fn said_by(name: &str, value: &Node, place: FieldPlace) -> Option<String> {
    // `deprecated: {since: 1.2}` also marks the text.
    if value.entries().is_some_and(|entries| !entries.is_empty()) {
        return is_mark(name, MARKS).then(|| format!("{name}: {}", shown(value)));
    }
    let texts = one_or_many(Some(value)).iter().filter_map(Node::text);
    let text = texts.into_iter().find(|text| is_said(name, text, place))?;
    Some(format!("{name}: {text}"))
}

fn is_said(name: &str, text: &str, place: FieldPlace) -> bool {
    if is_one_of(name, STATUS) {
        // In the field of ctx, `draft` alone is a status of its own.
        let is_own = place == FieldPlace::Frontmatter && name.eq_ignore_ascii_case("status");
        let is_draft = !is_own && text.trim().eq_ignore_ascii_case("draft");
        return is_draft || is_not_for_use(text);
    }
    match is_mark(name, MARKS) {
        true => !is_word_of(FALSE, text) && !text.trim().to_lowercase().starts_with("not "),
        false => is_mark(name, NEGATED) && is_word_of(FALSE, text) && !text.trim().is_empty(),
    }
}

fn is_mark(name: &str, names: &[&str]) -> bool {
    let rest = name.get(..2).filter(|start| start.eq_ignore_ascii_case("is")).map(|_| &name[2..]);
    is_one_of(name, names) || rest.is_some_and(|rest| is_one_of(rest, names))
}

fn is_word_of(words: &[&str], text: &str) -> bool {
    words.contains(&text.trim().to_lowercase().as_str())
}

/// Returns a value for a message.
fn shown(value: &Node) -> String {
    let texts = one_or_many(Some(value)).iter().filter_map(Node::text);
    let texts = texts.collect::<Vec<_>>().join(", ");
    if value.entries().is_some() { "{…}".to_owned() } else { texts }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(frontmatter: &str) -> Vec<String> {
        of_text(&format!("---\n{frontmatter}\n---\n"))
    }

    fn of_text(text: &str) -> Vec<String> {
        let document = Document::parse(text).unwrap();
        said(text, &document).into_iter().map(|said| said.says).collect()
    }

    #[test]
    fn the_fields_are_those_of_the_specification() {
        let rules = include_str!("../../../spec/document.md");
        for (row, names) in [
            ("| words of a status:", STATUS),
            ("| true, or what made it so:", MARKS),
            ("| false | a false value of", NEGATED),
            ("| a mapping with such fields:", MAPPINGS),
            ("| true is |", TRUE),
            ("| false, as an empty text, is |", &FALSE[..FALSE.len() - 1]),
        ] {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            assert!(rules.contains(&format!("{row} {} |", names.join(", "))), "{row}");
        }
    }

    #[test]
    fn not_for_use_recognizes_other_names_and_values() {
        for field in [
            "status: rejected",
            "STATUS: WIP",
            "status: [archived]",
            "status:\n  - active\n  - obsolete",
            "status: {state: deprecated}",
            "status: {name: deprecated}",
            "state: deprecated",
            "state: draft",
            "lifecycle: deprecated",
            "doc_status: obsolete",
            "publishState: draft",
            "metadata: {status: deprecated}",
            "metadata:\n  archived: yes",
            "adr: {status: superseded}",
            "deprecated: true",
            "deprecated: yes",
            "deprecated: 2024-01-01",
            "deprecated: 'use X'",
            "deprecated: {since: 1.2}",
            "archived: YES",
            "archived: on",
            "archived: 1",
            "is_archived: true",
            "isDeprecated: y",
            "superseded: by ADR 5",
            "withdrawn: 2024-02-02",
            "published: false",
            "published: no",
            "publish: Off",
            "approved: no",
            "isPublished: false",
        ] {
            assert_eq!(of(field).len(), 1, "{field}");
        }
        for field in [
            "deprecated: false",
            "deprecated: no",
            "archived:",
            "archived: off",
            "archived: never",
            "archived: []",
            "deprecated: not yet",
            "published: 2026-01-01",
            "published: yes",
            "publish:",
            "state: New York",
            "status: {a: rejected}",
            "status: [draft]",
            "metadata: {original: {status: rejected}}",
            "server: {status: disabled}",
            "supersedes: a",
            "issue: rejected",
        ] {
            assert_eq!(of(field), Vec::<String>::new(), "{field}");
        }
        assert_eq!(
            of("Status: Rejected\npublished: false"),
            ["Status: Rejected", "published: false"]
        );
        assert_eq!(of("metadata: {status: wip}"), ["metadata.status: wip"]);
    }

    #[test]
    fn not_for_use_reads_blocks_and_properties_in_the_body() {
        for text in [
            "\n---\nstatus: rejected\n---\n# A\n",
            "--- \nstatus: rejected\n--- \n",
            "<!-- x -->\n---\ntitle: A\nstatus: rejected\n---\n",
            "---\ntitle: A\n---\n---\nstatus: rejected\n---\n",
            "\n---\nstatus: rejected\n{{ x }}\n---\n",
            "\n+++\nstatus = 'rejected'\n+++\n",
            "status:: rejected\n\nText.\n",
            "# A\n\n- status:: rejected\n",
        ] {
            let found = of_text(text);
            assert!(matches!(&found[..], [one] if one.contains("rejected")), "{text}: {found:?}");
            let found = of_text(&text.replace("rejected", "draft"));
            assert!(matches!(&found[..], [one] if one.contains("draft")), "{text}: {found:?}");
        }
        for text in ["Text.\nstatus:: rejected\n", "\n---\nstatus: accepted\n---\n", "A::B\n"] {
            assert_eq!(of_text(text), Vec::<String>::new(), "{text}");
        }
        let text = "---\ntitle: A\n---\n\n---\nx: y\nstatus: wip\n---\n";
        let document = Document::parse(text).unwrap();
        assert_eq!(said(text, &document)[0].line, 7);
    }
}
