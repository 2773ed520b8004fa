//! What a reviewer wants to know of a submission: the two texts, who wrote them, and who may decide.

use std::borrow::Cow;

use super::blame::Blame;
use crate::document::Document;
use crate::document::review::FIELDS;
use crate::govern::review::About;
use crate::model::id::DocumentId;
use crate::model::principal::Principal;
use crate::yaml::emit;

/// Fields that each step sets again.
const STAMPED: [&str; 4] = ["status", "version", "updated_at", "checksum"];

/// What awaits a decision of one artifact, with all that a reviewer wants to know of it.
pub(crate) struct Submitted {
    /// What awaits.
    pub(crate) about: About,
    /// Who asks.
    pub(crate) principal: Principal,
    /// Why this principal may not decide it.
    pub(crate) barred: Option<String>,
    /// Every principal who may decide it now.
    pub(crate) reviewers: Vec<String>,
    /// The note of the submission.
    pub(crate) note: Option<String>,
    /// Why it cannot be approved as it is.
    pub(crate) fault: Option<String>,
    /// The two texts.
    pub(crate) texts: Texts,
    /// Who added each line of the published text; none where its history does not verify.
    pub(crate) blame: Option<Blame>,
    /// What was remarked, in the order of the log.
    pub(crate) comments: Vec<Remark>,
}

/// The published text and the submitted one.
#[derive(Debug)]
pub(crate) struct Texts {
    pub(crate) published: String,
    pub(crate) submitted: String,
    /// Where their bodies begin.
    pub(crate) bodies: (usize, usize),
    /// The fields that differ.
    pub(crate) fields: Vec<FieldChange>,
    /// Whether the frontmatter differs, and none of these fields does.
    pub(crate) is_respelled: bool,
    /// Whether the bodies are Markdown.
    pub(crate) is_markdown: bool,
}

/// A field of the frontmatter that differs.
#[derive(Debug)]
pub(crate) struct FieldChange {
    pub(crate) name: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// A remark about a submission.
#[derive(Debug)]
pub(crate) struct Remark {
    pub(crate) version: u64,
    pub(crate) by: String,
    pub(crate) at: String,
    pub(crate) text: String,
}

/// A text without the lines of a frontmatter that each step sets, so that only what a person changed
/// counts.
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
    /// Compares the two.
    pub(crate) fn new(id: &DocumentId, published: String, submitted: String) -> Self {
        let is_markdown = id.is_document() || id.live_path().ends_with(".md");
        let read = |text: &str| id.is_document().then(|| Document::parse(text).ok()).flatten();
        let (before, after) = (read(&published), read(&submitted));
        let body = |document: &Option<Document>| document.as_ref().map_or(0, |d| d.parts.body);
        let bodies = (body(&before), body(&after));
        let fields = fields(before.as_ref(), after.as_ref());
        let spelled = |text: &str, end: usize| -> Vec<String> {
            let is_ours = |line: &&str| {
                let key = line.split(':').next().unwrap_or_default();
                FIELDS.contains(&key) || STAMPED.contains(&key)
            };
            text[..end].lines().filter(|line| !is_ours(line)).map(str::to_owned).collect()
        };
        let is_respelled = fields.is_empty()
            && before.is_some()
            && spelled(&published, bodies.0) != spelled(&submitted, bodies.1);
        Self { published, submitted, bodies, fields, is_respelled, is_markdown }
    }

    /// The two bodies.
    pub(crate) fn compared(&self) -> (&str, &str) {
        (&self.published[self.bodies.0..], &self.submitted[self.bodies.1..])
    }
}

/// The fields that differ, but those that every step sets.
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
