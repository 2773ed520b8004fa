//! Changes to a document's frontmatter in place: the named fields change, every other byte stays.
//!
//! An edit is a set of splices into the bytes of the file, each placed by the span of a parsed
//! value. The result is parsed again and compared with the request: the fields have their new
//! values, all others their old ones, and the body is the same bytes. If the spelling of a
//! frontmatter does not allow this, the edit is refused and nothing is
//! written (`spec/document.md`).

use std::ops::Range;

use super::live_form::ORIGINAL_FRONTMATTER;
use super::text::{self, BOM, Parts};
use super::{Document, Unreadable};
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;
use crate::values::yaml::edit::{
    NotExact, Splice, entry, first_entries, first_item, indentation, remove_lines, replace_value,
    spliced,
};
use crate::values::yaml::{Dialect, Node, Value, emit, parse};

/// A request to change fields of a frontmatter.
#[derive(Clone, Debug, Default)]
pub struct Edit {
    set: Vec<(&'static str, String)>,
    /// Fields to remove, with their lines.
    removed: Vec<&'static str>,
    original: Vec<(&'static str, String)>,
    /// Original frontmatter of a file that is not edited.
    frontmatter: Option<String>,
    derived_from: Option<String>,
}

/// The reason why a frontmatter could not be edited in place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The document cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The frontmatter is written as `{...}`.
    #[error("the frontmatter is written as `{{...}}`, which cannot be edited in place")]
    Flow,
    /// `metadata` is not a mapping.
    #[error("`metadata` is not a mapping, so the original values cannot be kept in it")]
    Metadata,
    /// The lines of this field would be removed, and have a comment, an anchor or a tag.
    #[error(
        "the lines of `{0}` have a comment, an anchor or a tag, which would be deleted with them"
    )]
    Words(&'static str),
    /// A person changed a field that only reviews set, and the edit would overwrite it.
    #[error("`{0}` was changed by hand, and only reviews set it: the change would be lost")]
    ByHand(&'static str),
    /// The edit would change something else.
    #[error("the frontmatter is spelled in a way that cannot be edited without changing more")]
    NotExact,
}

impl From<NotExact> for EditError {
    fn from(_: NotExact) -> Self {
        Self::NotExact
    }
}

impl EditError {
    /// Returns advice on how to fix the frontmatter.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable(why) => why.hint(),
            Self::Flow => "write one `key: value` on a line",
            Self::Metadata => "rename the `metadata` field, or give it fields",
            Self::ByHand(_) => "undo that change, and write the information elsewhere",
            Self::Words(_) => {
                "move the comment to a line of its own before that field, or delete what is not needed"
            }
            Self::NotExact => {
                "write status, version, updated_at and checksum as plain `key: value` lines, \
                 without anchors, and comments on lines of their own before the key"
            }
        }
    }
}

impl Edit {
    /// Sets a field to a text.
    #[must_use]
    pub fn text(mut self, key: &'static str, value: &str) -> Self {
        self.set.push((key, emit::scalar(value)));
        self
    }

    /// Sets a field to a number.
    #[must_use]
    pub fn number(mut self, key: &'static str, value: u64) -> Self {
        self.set.push((key, value.to_string()));
        self
    }

    /// Sets a field to a list of texts.
    #[must_use]
    pub fn list(
        mut self,
        key: &'static str,
        values: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Self {
        let items: Vec<String> = values.into_iter().map(|v| emit::in_flow(v.as_ref())).collect();
        self.set.push((key, format!("[{}]", items.join(", "))));
        self
    }

    /// Removes those of these fields that this edit does not set.
    #[must_use]
    pub(crate) fn without_others(mut self, fields: &[&'static str]) -> Self {
        let is_set = |field: &&&str| self.set.iter().any(|(key, _)| key == *field);
        let others: Vec<&'static str> = fields.iter().filter(|f| !is_set(f)).copied().collect();
        self.removed.extend(others);
        self
    }

    /// Keeps another program's value of one of our fields under `metadata.original`.
    #[must_use]
    pub fn keep_original(mut self, key: &'static str, value: &Node) -> Self {
        self.original.push((key, emit::flow(value)));
        self
    }

    /// Keeps the frontmatter of a file that is not edited, in `metadata.original_frontmatter`.
    #[must_use]
    pub fn keep_frontmatter(mut self, block: &str) -> Self {
        self.frontmatter = Some(emit::in_flow(block));
        self
    }

    /// Adds a URI to `derived_from` and keeps the others.
    #[must_use]
    pub fn derived_from(mut self, uri: &str) -> Self {
        self.derived_from = Some(emit::in_flow(uri));
        self
    }

    /// Makes the edit of the published text that retires a document at an instant.
    #[must_use]
    pub(crate) fn retirement(version: Version, at: Timestamp) -> Self {
        Self::default()
            .text("status", "draft")
            .number("version", version.0)
            .text("updated_at", &at.to_string())
    }

    /// Applies the change to the bytes of a document.
    ///
    /// # Errors
    /// The document cannot be read, or the spelling of its frontmatter does not allow this
    /// change alone.
    pub fn apply(&self, document: &str) -> Result<String, EditError> {
        let before = Document::parse(document)?;
        let edited = match &before.parts.frontmatter {
            Some(block) => self.edit_block(document, block.clone(), &before)?,
            None => self.new_block(document, &before.parts),
        };
        self.check(document, &before, &edited)?;
        Ok(edited)
    }

    /// Returns the text with a new frontmatter before it.
    fn new_block(&self, document: &str, parts: &Parts) -> String {
        let nl = parts.line_end;
        let mut lines = format!("---{nl}");
        self.append_lines(&mut lines, "", nl, None);
        let bom = if document.starts_with(BOM) { "\u{feff}" } else { "" };
        format!("{bom}{lines}---{nl}{}", &document[parts.rest.clone()])
    }

    fn edit_block(
        &self,
        document: &str,
        block: Range<usize>,
        before: &Document,
    ) -> Result<String, EditError> {
        let (yaml, parts) = (&document[block.clone()], &before.parts);
        let known = before.frontmatter.root.as_ref().filter(|root| root.entries().is_some());
        if known.is_some_and(|root| matches!(root.value, Value::Mapping { flow: true, .. })) {
            return Err(EditError::Flow);
        }
        let mut splices = Vec::new();
        for (key, spelled) in &self.set {
            if let Some((k, v)) = known.and_then(|r| entry(r, key)) {
                splices.push(replace_value(yaml, k, v, spelled)?);
            }
        }
        for (k, v) in self.removed.iter().filter_map(|key| known.and_then(|r| entry(r, key))) {
            splices.push(remove_lines(yaml, k, v)?);
        }
        if let (Some((k, v)), Some((key, value))) =
            (known.and_then(|r| entry(r, "metadata")), self.kept())
        {
            splices.push(match v.is_null() {
                true => replace_value(yaml, k, v, &format!("{{{key}: {value}}}"))?,
                false => self.metadata_splice(yaml, v, (key, value), parts.line_end)?,
            });
        }
        if let (Some(uri), Some((k, v))) =
            (&self.derived_from, known.and_then(|r| entry(r, "derived_from")))
        {
            splices.push(first_item(yaml, k, v, uri, parts.line_end)?);
        }
        let indent = known
            .and_then(|r| r.entries()?.first())
            .map_or("", |(k, _)| indentation(yaml, k.span.start));
        let mut tail = String::new();
        self.append_lines(&mut tail, indent, parts.line_end, known);
        splices.push(Splice { range: yaml.len()..yaml.len(), text: tail });
        let edited = spliced(yaml, splices)?;
        Ok(format!("{}{edited}{}", &document[..block.start], &document[block.end..]))
    }

    /// Appends the lines of fields that `known` does not have yet.
    fn append_lines(&self, out: &mut String, indent: &str, nl: &str, known: Option<&Node>) {
        let is_new = |key: &str| known.is_none_or(|r| entry(r, key).is_none());
        for (key, value) in self.set.iter().filter(|(key, _)| is_new(key)) {
            out.push_str(&format!("{indent}{key}: {value}{nl}"));
        }
        if let Some(uri) = self.derived_from.as_ref().filter(|_| is_new("derived_from")) {
            out.push_str(&format!("{indent}derived_from: [{uri}]{nl}"));
        }
        if let Some(block) = self.frontmatter.as_ref().filter(|_| is_new("metadata")) {
            let line = format!("{indent}  {ORIGINAL_FRONTMATTER}: {block}{nl}");
            out.push_str(&format!("{indent}metadata:{nl}{line}"));
        } else if !self.original.is_empty() && is_new("metadata") {
            out.push_str(&format!("{indent}metadata:{nl}{indent}  original:{nl}"));
            for (key, value) in &self.original {
                out.push_str(&format!("{indent}    {key}: {value}{nl}"));
            }
        }
    }

    /// Returns the key and the value to keep in `metadata`: original values as a mapping in one
    /// line, or the whole frontmatter.
    fn kept(&self) -> Option<(&'static str, String)> {
        if let Some(block) = &self.frontmatter {
            return Some((ORIGINAL_FRONTMATTER, block.clone()));
        }
        let pairs: Vec<String> = self.original.iter().map(|(k, v)| format!("{k}: {v}")).collect();
        (!pairs.is_empty()).then(|| ("original", format!("{{{}}}", pairs.join(", "))))
    }

    /// Returns the splice that adds kept values at the beginning of an existing `metadata`, or of
    /// its `original`.
    fn metadata_splice(
        &self,
        yaml: &str,
        metadata: &Node,
        (key, value): (&'static str, String),
        nl: &str,
    ) -> Result<Splice, EditError> {
        let Value::Mapping { entries, .. } = &metadata.value else {
            return Err(EditError::Metadata);
        };
        if metadata.decorated {
            return Err(EditError::NotExact);
        }
        let known = metadata.get(key).filter(|o| !o.is_null());
        let (parent, pairs) = match known {
            Some(_) if self.frontmatter.is_some() => return Err(EditError::Metadata),
            Some(original) => {
                let taken = original.entries().ok_or(EditError::Metadata)?;
                let free = |key: &str| {
                    let is_free =
                        |name: &String| !taken.iter().any(|(k, _)| k.text() == Some(name));
                    let numbered = (2..).map(|n| format!("{key}-{n}"));
                    std::iter::once(key.to_owned()).chain(numbered).find(is_free)
                };
                let pairs: Vec<_> = self
                    .original
                    .iter()
                    .filter_map(|(key, value)| Some((free(key)?, value.clone())))
                    .collect();
                (original, pairs)
            }
            None if entries.iter().any(|(k, _)| k.text() == Some(key)) => {
                return Err(EditError::Metadata);
            }
            None => (metadata, vec![(key.to_owned(), value)]),
        };
        Ok(first_entries(yaml, parent, &pairs, nl))
    }

    /// Compares the edited text with the request.
    fn check(&self, before: &str, old: &Document, after: &str) -> Result<(), EditError> {
        let new = Document::parse(after).map_err(|why| match why {
            Unreadable::FrontmatterTooLarge { .. } => why.into(),
            _ => EditError::NotExact,
        })?;
        let kept_in_metadata = self.kept().map(|(key, _)| key);
        let wished = |key: &str| {
            self.set.iter().any(|(k, _)| *k == key)
                || self.removed.contains(&key)
                || (key == "metadata" && kept_in_metadata.is_some())
                || (key == "derived_from" && self.derived_from.is_some())
        };
        let is_spelled = |is: Option<&Node>, spelled: &str| {
            let value = parse(&format!("k: {spelled}"), Dialect::Format).ok();
            let should = value.as_ref().and_then(|value| value.get("k"));
            is.zip(should).is_some_and(|(is, should)| is.same_value(should))
        };
        let set =
            self.set.iter().all(|(key, spelled)| is_spelled(new.frontmatter.get(key), spelled));
        let block_is_kept = self.frontmatter.as_ref().is_none_or(|spelled| {
            let metadata = new.frontmatter.get("metadata");
            is_spelled(metadata.and_then(|metadata| metadata.get(ORIGINAL_FRONTMATTER)), spelled)
        });
        let entries = |d: &'_ Document| -> Vec<(Node, Node)> {
            let root = d.frontmatter.root.as_ref();
            let all = root.and_then(Node::entries).unwrap_or_default();
            all.iter().filter(|(k, _)| !k.text().is_some_and(wished)).cloned().collect()
        };
        let (kept, found) = (entries(old), entries(&new));
        let others_stay = kept.len() == found.len()
            && kept.iter().zip(&found).all(|(a, b)| a.0.same_value(&b.0) && a.1.same_value(&b.1));
        let metadata_stays = kept_in_metadata.is_none()
            || match old.frontmatter.get("metadata").and_then(Node::entries) {
                Some(was) => {
                    was.iter().filter(|(k, _)| k.text() != kept_in_metadata).all(|(k, v)| {
                        let is = new.frontmatter.get("metadata");
                        let is = is.and_then(|m| m.get(k.text().unwrap_or_default()));
                        is.is_some_and(|is| is.same_value(v))
                    })
                }
                None => true,
            };
        let derived_stay = match (&self.derived_from, old.frontmatter.get("derived_from")) {
            (Some(_), Some(was)) if !was.is_null() => {
                let is = new.frontmatter.get("derived_from").and_then(Node::items);
                let was = was.items().unwrap_or(std::slice::from_ref(was));
                is.is_some_and(|is| was.iter().all(|w| is.iter().any(|i| i.text() == w.text())))
            }
            _ => true,
        };
        let rest = match old.parts.frontmatter {
            Some(_) => before[old.parts.rest.clone()] == after[new.parts.rest.clone()],
            None => before[old.parts.rest.clone()] == after[new.parts.body..],
        };
        let is_gone = self.removed.iter().all(|key| new.frontmatter.get(key).is_none());
        if set && is_gone && others_stay && metadata_stays && block_is_kept && derived_stay && rest
        {
            Ok(())
        } else {
            Err(EditError::NotExact)
        }
    }
}

/// Returns the hash that `checksum` records for a document's text.
pub fn checksum_of(document: &str) -> Result<String, Unreadable> {
    let parts = text::split(document).map_err(|text::Unclosed| Unreadable::Unclosed)?;
    let rest = match parts.frontmatter {
        Some(_) => document[parts.rest].to_owned(),
        // The frontmatter that publishing adds ends with a line end of its own.
        None => format!("\n{}", &document[parts.rest]),
    };
    Ok(text::checksum(&rest).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish() -> Edit {
        Edit::default().text("status", "published").number("version", 2)
    }

    fn edited(edit: &Edit, text: &str) -> String {
        edit.apply(text).unwrap_or_else(|e| panic!("{e}: {text:?}"))
    }

    #[test]
    fn edit_applied_twice_changes_nothing() {
        let tags = Edit::default().list("tags", &["a".to_owned(), "b".to_owned()]);
        for text in ["tags:  a, b\n", "tags: \n- a\n", "tags:   [x, y] # z\n", "tags:  {a: b}\n"] {
            let once = edited(&tags, &format!("---\n{text}---\nbody\n"));
            assert_eq!(edited(&tags, &once), once, "{text:?}");
        }
    }

    #[test]
    fn edit_changes_named_fields_and_no_other_byte() {
        let text = "---\n# who\ntitle: 'A'   # keep\nstatus :  draft # soon\n\nversion: 1\nx: [1,  2]\n---\nbody\n";
        insta::assert_snapshot!(edited(&publish(), text), @r"
        ---
        # who
        title: 'A'   # keep
        status :  published # soon

        version: 2
        x: [1,  2]
        ---
        body
        ");
    }

    #[test]
    fn edit_adds_missing_fields_with_the_line_end_of_the_file() {
        assert_eq!(
            edited(&publish(), "\u{feff}---\r\ntitle: A\r\n---\r\nb\r\n"),
            "\u{feff}---\r\ntitle: A\r\nstatus: published\r\nversion: 2\r\n---\r\nb\r\n"
        );
        assert_eq!(
            edited(&publish(), "\u{feff}# H\r\n"),
            "\u{feff}---\r\nstatus: published\r\nversion: 2\r\n---\r\n# H\r\n"
        );
        assert_eq!(edited(&publish(), "---\n---\n"), "---\nstatus: published\nversion: 2\n---\n");
        assert_eq!(edited(&publish(), ""), "---\nstatus: published\nversion: 2\n---\n");
    }

    #[test]
    fn edit_replaces_values_in_every_spelling() {
        for value in [
            " draft",
            " 'draft'",
            " \"draft\"",
            "",
            " ~",
            "\n  draft",
            " >\n  draft\n  more",
            " |-\n  draft",
            " [a,\n  b]",
            "\n  - a\n  - b",
            "\n  a: 1\n  b:\n    c: 2",
        ] {
            let text = format!("---\na: 1\nstatus:{value}\n# note\nz: 9\n---\nbody");
            let result = edited(&publish(), &text);
            let fields = Document::parse(&result).unwrap().frontmatter;
            assert_eq!(fields.status.as_str(), "published", "{text:?} -> {result:?}");
            assert!(result.contains("# note\nz: 9\n"), "{result:?}");
        }
    }

    #[test]
    fn edit_refuses_to_replace_comments_within_a_value() {
        for value in [
            " &s draft",
            " !!str draft",
            " |- # note\n  draft",
            "\n  - a # note\n  - b",
            " [a, # n\n  b]",
        ] {
            let text = format!("---\nstatus:{value}\n---\nbody");
            assert!(publish().apply(&text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn edit_moves_foreign_values_to_metadata_original() {
        let foreign = |text: &str| {
            let fields = Document::parse(text).unwrap().frontmatter;
            let edit = publish().keep_original("version", fields.get("version").unwrap());
            edited(&edit, text)
        };
        insta::assert_snapshot!(foreign("---\nversion: \"2.4\"\n---\n"), @r"
        ---
        version: 2
        status: published
        metadata:
          original:
            version: '2.4'
        ---
        ");
        insta::assert_snapshot!(foreign("---\nversion: 2.4\nmetadata:\n  a: 1\n---\n"), @r"
        ---
        version: 2
        metadata:
          original: {version: 2.4}
          a: 1
        status: published
        ---
        ");
        insta::assert_snapshot!(
            foreign("---\nversion: [x, 'y']\nmetadata: {original: {version: 1.0}}\n---\n"), @r"
        ---
        version: 2
        metadata: {original: {version-2: [x, 'y'], version: 1.0}}
        status: published
        ---
        ");
        insta::assert_snapshot!(foreign("---\nversion: a b\nmetadata: {}\n---\n"), @r"
        ---
        version: 2
        metadata: {original: {version: 'a b'}}
        status: published
        ---
        ");
        let scalar = "---\nversion: 2.4\nmetadata: text\n---\n";
        let fields = Document::parse(scalar).unwrap().frontmatter;
        let edit = publish().keep_original("version", fields.get("version").unwrap());
        assert_eq!(edit.apply(scalar), Err(EditError::Metadata));
    }

    #[test]
    fn edit_keeps_existing_entries_of_derived_from() {
        let add = Edit::default().derived_from("contextnest://nodes/a@3");
        for (before, after) in [
            ("", "derived_from: ['contextnest://nodes/a@3']\n"),
            ("derived_from: x\n", "derived_from: ['contextnest://nodes/a@3', x]\n"),
            ("derived_from: [x]\n", "derived_from: ['contextnest://nodes/a@3', x]\n"),
            ("derived_from:\n  - x\n", "derived_from:\n  - 'contextnest://nodes/a@3'\n  - x\n"),
        ] {
            let text = format!("---\ntitle: t\n{before}---\n");
            assert_eq!(edited(&add, &text), format!("---\ntitle: t\n{after}---\n"));
        }
    }

    #[test]
    fn edit_refuses_a_spelling_that_would_change_more() {
        for text in ["---\nstatus: &s draft\nother: *s\n---\n", "---\ntitle: x\n...\n---\n"] {
            assert_eq!(publish().apply(text), Err(EditError::NotExact), "{text:?}");
        }
        assert_eq!(publish().apply("---\n{title: x}\n---\n"), Err(EditError::Flow));
    }
}
