//! One submission as a reviewer reads it.

use super::Workspace;
use super::version::{any_text_of, recorded};
use crate::audit::{Change, Event, Logs, Part, Text, Traced};
use crate::checkpoint::log::Log;
use crate::document::Document;
use crate::document::review::FIELDS;
use crate::evidence::blame::Blame;
use crate::govern::review::{self, About};
use crate::model::id::DocumentId;
use crate::model::number::Version;
use crate::model::principal::Principal;
use crate::report::failure::Failure;
use crate::review::Track;
use crate::vault::Vault;
use crate::yaml::emit;

/// Fields that each step sets anew.
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

impl Workspace<'_> {
    /// Reads what awaits a decision of an artifact. What is recorded of it names both versions with
    /// the hashes of their whole texts.
    ///
    /// # Errors
    /// Nothing awaits a decision, the principal has no role there, or the chain does not vouch for
    /// one of the texts.
    pub(crate) fn submission(
        &self,
        (vault, log): (&Vault, &Log),
        id: &DocumentId,
    ) -> Result<Traced<Submitted>, Failure> {
        let chronicle = log.sound()?;
        let (principal, _) = self.principal(vault.root(), None)?;
        let about = review::about(vault, id, &principal)?;
        let track = &about.waiting.track;
        let awaited = awaited(track);
        let mut texts: Vec<Text> = Vec::new();
        let mut record = |version: Version| -> Result<_, Failure> {
            let (text, history) = any_text_of(vault, &chronicle, id, version)?;
            let found = recorded(&chronicle, id, (version, &history), (&text, &text));
            texts.extend(found.map(|text| Text { part: Some(Part::Submission), ..text }));
            Ok((text, history))
        };
        let (submitted, history) = record(awaited)?;
        let published = match &track.published {
            Some(published) => Some((record(published.version)?.0, published.version)),
            None => None,
        };
        let blame = published.as_ref().and_then(|(_, version)| {
            let hash = history.entry(*version)?.chain_hash;
            Blame::at(vault.files(), id, &history, (*version, hash)).ok()
        });
        // What is to be retired or moved, or was retired, is no other text.
        let action = track.pending.as_ref().and_then(|pending| pending.action.as_ref());
        let is_text = action.is_some_and(|action| !action.is_retirement()) || !id.is_document();
        let (published, base) = published.unwrap_or_else(|| (String::new(), Version::NONE));
        let submitted =
            if is_text && track.pending.is_some() { submitted } else { published.clone() };
        let submitted = Submitted {
            barred: review::may_decide(track, &principal, &about.rules).err(),
            reviewers: reviewers(&about),
            note: history.entry(awaited).and_then(|entry| entry.note.clone()),
            fault: track.pending.as_ref().and_then(|p| track.submission(p)).map(|f| f.message),
            texts: Texts::new(id, published, submitted),
            blame,
            comments: comments(vault, id, base.max(before_emergency(track)))?,
            about,
            principal,
        };
        Ok(Traced::new(submitted, texts))
    }
}

/// The version that awaits a decision.
fn awaited(track: &Track) -> Version {
    match (&track.pending, &track.emergency) {
        (Some(pending), _) => pending.version,
        (None, Some(emergency)) => emergency.version,
        (None, None) => Version::NONE,
    }
}

/// The version before an emergency retirement: remarks up to it are about something else.
fn before_emergency(track: &Track) -> Version {
    let version = track.emergency.as_ref().map_or(0, |emergency| emergency.version.0);
    Version(version.saturating_sub(1))
}

/// Every principal who may decide: the stewards of the scopes, less those whom the rules bar.
fn reviewers(about: &About) -> Vec<String> {
    let (track, rules) = (&about.waiting.track, &about.rules);
    let Some((id, text)) = track.awaited().into_iter().next() else { return Vec::new() };
    // A reviewer has the role for each of the texts: so it is one of the first text's.
    let Some(scope) = rules.stewards.scope_of(id, &rules.tags(id, text)) else { return Vec::new() };
    let holders = rules.stewards.holders(scope).into_iter();
    let may = holders.filter(|holder| review::may_decide(track, holder.principal, rules).is_ok());
    may.map(|holder| holder.principal.to_string()).collect()
}

/// The remarks about submissions after the published version.
fn comments(vault: &Vault, id: &DocumentId, base: Version) -> Result<Vec<Remark>, Failure> {
    let mut found = Vec::new();
    let logs = Logs::of_changes(vault)?;
    let read = logs.each(&mut |line| {
        let Event::Change(Change::Comment { version, text }) = &line.event else { return };
        if version.id == id.as_str() && version.version > base.0 {
            let by = line.request.principal.clone().unwrap_or_default();
            let (version, text) = (version.version, text.clone());
            found.push(Remark { version, by, at: line.at, text });
        }
    });
    read.map_err(|source| crate::vault::files::FileError::Io {
        path: crate::model::layout::AUDIT_DIR.to_owned(),
        action: "read",
        source,
    })?;
    found.sort_by(|a, b| a.at.cmp(&b.at));
    Ok(found)
}

impl Texts {
    fn new(id: &DocumentId, published: String, submitted: String) -> Self {
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
