//! The data of a submission that a reviewer needs: the two texts, their authors, and who
//! may decide.

use std::borrow::Cow;

use super::blame::Blame;
use crate::text::document::Document;
use crate::text::document::review::FIELDS;
use crate::text::document::validate::Problem;
use crate::values::model::id::DocumentId;
use crate::values::model::principal::Principal;
use crate::values::yaml::emit;
use crate::write::publish::review::About;

/// Fields that each step sets again.
const STAMPED: [&str; 4] = ["status", "version", "updated_at", "checksum"];

/// A pending submission of one artifact, with everything that a reviewer needs.
pub(crate) struct Submitted {
    /// Kind of the submission.
    pub(crate) about: About,
    pub(crate) principal: Principal,
    /// Reason why this principal may not decide it.
    pub(crate) barred: Option<String>,
    /// Principals who may decide it now.
    pub(crate) reviewers: Vec<String>,
    pub(crate) note: Option<String>,
    /// Reason why it cannot be approved in its current state.
    pub(crate) fault: Option<String>,
    pub(crate) texts: Texts,
    /// Parts of the submitted text that a rendered page does not show.
    pub(crate) warnings: Vec<Problem>,
    /// Blame of the published text; `None` if its history does not verify.
    pub(crate) blame: Option<Blame>,
    /// Comments, in the order of the log.
    pub(crate) comments: Vec<Remark>,
}

/// The published text and the submitted one.
#[derive(Debug)]
pub(crate) struct Texts {
    pub(crate) published: String,
    pub(crate) submitted: String,
    /// Offsets at which the bodies begin.
    pub(crate) bodies: (usize, usize),
    /// Fields that differ.
    pub(crate) fields: Vec<FieldChange>,
    /// Lines of the two frontmatters; `None` if `fields` shows every difference. Comments, order
    /// and spelling are differences, too.
    pub(crate) frontmatter: Option<(Lines, Lines)>,
    /// True if the bodies are Markdown.
    pub(crate) is_markdown: bool,
}

/// Lines of a frontmatter, without those that each step writes.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Lines as one text.
    pub(crate) text: String,
    /// Number of each line in the whole text, from 1.
    pub(crate) numbers: Vec<usize>,
}

impl Lines {
    /// Selects the lines of a frontmatter. A line with a comment, or of a value with several lines,
    /// is not one that a step writes.
    fn of(frontmatter: &str) -> Self {
        let (mut text, mut numbers) = (String::new(), Vec::new());
        for (line, number) in frontmatter.split_inclusive('\n').zip(1..) {
            let key = line.split(':').next().unwrap_or_default();
            let is_ours = FIELDS.contains(&key) || STAMPED.contains(&key);
            if !is_ours || line.contains('#') {
                text.push_str(line);
                numbers.push(number);
            }
        }
        Self { text, numbers }
    }

    /// Returns true if both have the same lines, except lines of changed fields whose values are
    /// shown literally.
    fn differ_as_shown(&self, other: &Self, fields: &[FieldChange]) -> bool {
        let without = |lines: &Self, side: fn(&FieldChange) -> Option<&String>| -> Vec<String> {
            let shown = |field| Some(format!("{}: {}", FieldChange::name(field), side(field)?));
            let shown: Vec<String> = fields.iter().filter_map(shown).collect();
            let rest = lines.text.lines().filter(|line| !shown.iter().any(|one| one == line));
            rest.map(str::to_owned).collect()
        };
        without(self, |field| field.before.as_ref()) == without(other, |field| field.after.as_ref())
    }
}

/// A field of the frontmatter that differs.
#[derive(Debug)]
pub(crate) struct FieldChange {
    pub(crate) name: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

impl FieldChange {
    fn name(&self) -> &str {
        &self.name
    }
}

/// A comment on a submission.
#[derive(Debug)]
pub(crate) struct Remark {
    pub(crate) version: u64,
    pub(crate) by: String,
    pub(crate) at: String,
    pub(crate) text: String,
}

/// Returns a text without the lines of a frontmatter that each step sets, so that only changes by a
/// person remain.
pub(crate) fn unstamped<'t>(id: &DocumentId, text: &'t str) -> Cow<'t, str> {
    let parsed = id.is_document().then(|| Document::parse(text).ok()).flatten();
    let Some(body) = parsed.map(|document| document.parts.body) else { return text.into() };
    let mut is_ours = false;
    let mut out = String::new();
    for line in text[..body].split_inclusive('\n') {
        // An item or a further line of a value belongs to the key above it.
        if !line.starts_with([' ', '-', '\t']) || line.trim_end() == "---" {
            let key = line.split(':').next().unwrap_or_default();
            is_ours = FIELDS.contains(&key) || STAMPED.contains(&key);
        }
        if !is_ours {
            out.push_str(line);
        }
    }
    (out + &text[body..]).into()
}

impl Texts {
    /// Compares the two texts.
    pub(crate) fn new(id: &DocumentId, published: String, submitted: String) -> Self {
        let is_markdown = id.is_document() || id.live_path().ends_with(".md");
        let read = |text: &str| id.is_document().then(|| Document::parse(text).ok()).flatten();
        let (before, after) = (read(&published), read(&submitted));
        let body = |document: &Option<Document>| document.as_ref().map_or(0, |d| d.parts.body);
        let bodies = (body(&before), body(&after));
        let fields = fields(before.as_ref(), after.as_ref());
        let lines = (Lines::of(&published[..bodies.0]), Lines::of(&submitted[..bodies.1]));
        let is_shown = match before {
            Some(_) => lines.0.differ_as_shown(&lines.1, &fields),
            // The fields of a first version are listed. Lines show only what the fields do not.
            None => {
                let fences = Lines { text: "---\n---\n".to_owned(), numbers: Vec::new() };
                lines.1.text.is_empty() || fences.differ_as_shown(&lines.1, &fields)
            }
        };
        let frontmatter = (!is_shown).then_some(lines);
        Self { published, submitted, bodies, fields, frontmatter, is_markdown }
    }

    /// Returns the two bodies.
    pub(crate) fn compared(&self) -> (&str, &str) {
        (&self.published[self.bodies.0..], &self.submitted[self.bodies.1..])
    }
}

/// Returns the fields that differ, except those that every step sets.
fn fields(before: Option<&Document>, after: Option<&Document>) -> Vec<FieldChange> {
    let entries = |document: Option<&Document>| -> Vec<(String, String)> {
        let root = document.and_then(|document| document.frontmatter.root.as_ref());
        let entries = root.and_then(|root| root.entries()).unwrap_or_default().iter();
        let named = entries.filter_map(|(key, value)| {
            let key = key.text()?;
            let counts = !FIELDS.contains(&key) && !STAMPED.contains(&key);
            counts.then(|| (key.to_owned(), emit::flow(value)))
        });
        named.collect()
    };
    let (before, after) = (entries(before), entries(after));
    let value = |entries: &[(String, String)], name: &str| {
        entries.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
    };
    let added = after.iter().filter(|(name, _)| value(&before, name).is_none());
    let names = before.iter().chain(added).map(|(name, _)| name);
    let each = names.map(|name| FieldChange {
        name: name.clone(),
        before: value(&before, name),
        after: value(&after, name),
    });
    each.filter(|field| field.before != field.after).collect()
}
