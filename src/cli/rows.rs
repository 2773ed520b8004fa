//! What several verbs print alike: a served document, and an event.

use serde::Serialize;

use super::failure::{ProblemJson, RefusedDocument};
use super::recover::{self, RecoveredJson};
use super::session::Session;
use super::ui::{shown, table};
use super::{Answer, Failure};
use crate::document::sections::Section;
use crate::model::id::Id;
use crate::publish::Outcome;
use crate::resolve::portion::Portion;
use crate::resolve::{Served, Withheld};
use crate::txn::{Change, Item, Live};
use crate::words::count;

/// A published document in JSON.
#[derive(Serialize)]
pub(super) struct DocumentJson<'d> {
    id: &'d str,
    uri: Option<String>,
    title: &'d str,
    #[serde(rename = "type")]
    node_type: &'static str,
    tags: &'d [String],
    status: &'d str,
    version: u64,
    checkpoint: u64,
    author: Option<&'d str>,
    created_at: Option<&'d str>,
    edited_by: &'d str,
    edited_at: String,
    published_at: Option<String>,
    content_hash: String,
    chain_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<SectionJson<'d>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sections: Vec<SectionJson<'d>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'d str>,
}

/// A section of a document in JSON; `start` and `end` are bytes of the document's text.
#[derive(Serialize)]
pub(super) struct SectionJson<'d> {
    anchor: String,
    title: String,
    level: u8,
    start: usize,
    end: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'d str>,
}

impl From<&Section> for SectionJson<'_> {
    fn from(section: &Section) -> Self {
        Self {
            anchor: section.anchor.clone(),
            title: section.title.clone(),
            level: section.level,
            start: section.range.start,
            end: section.range.end,
            tokens: None,
            body: None,
        }
    }
}

impl<'d> DocumentJson<'d> {
    pub(super) fn new(served: &'d Served, with_body: bool) -> Self {
        let fields = &served.fields;
        Self {
            id: served.id.as_str(),
            uri: served.uri().map(ToString::to_string),
            title: served.title(),
            node_type: fields.node_type.as_str(),
            tags: &fields.tags,
            status: fields.status.as_str(),
            version: served.entry.version,
            checkpoint: served.checkpoint,
            author: fields.author.as_deref(),
            created_at: fields.created_at.as_deref(),
            edited_by: &served.entry.edited_by,
            edited_at: served.entry.edited_at.to_string(),
            published_at: served.entry.published_at.map(|t| t.to_string()),
            content_hash: served.entry.content_hash.to_string(),
            chain_hash: served.entry.chain_hash.to_string(),
            section: None,
            sections: Vec::new(),
            tokens: None,
            body: with_body.then(|| served.body()),
        }
    }

    /// The document narrowed to one section.
    pub(super) fn of_section(served: &'d Served, section: &Section, with_body: bool) -> Self {
        let body = with_body.then(|| &served.text[section.range.clone()]);
        Self { section: Some(section.into()), body, ..Self::new(served, false) }
    }

    /// What is put out of a document: all of it, or some of its sections, each with its own text.
    pub(super) fn of(portions: &[Portion<'d>], with_body: bool) -> Option<Self> {
        let first = portions.first()?;
        let section = |portion: &Portion<'d>| {
            let body = with_body.then(|| portion.text());
            portion.section.map(|section| SectionJson { body, ..section.into() })
        };
        let sections: Vec<SectionJson<'d>> = portions.iter().filter_map(section).collect();
        let is_whole = sections.is_empty();
        Some(Self { sections, ..Self::new(first.served, with_body && is_whole) })
    }

    /// All that is put out.
    pub(super) fn all(portions: &[Portion<'d>], with_body: bool) -> Vec<Self> {
        let documents = portions.chunk_by(Portion::is_beside);
        documents.filter_map(|portions| Self::of(portions, with_body)).collect()
    }

    /// With the tokens that each of its texts takes in a context.
    pub(super) fn with_tokens(mut self, portions: &[Portion<'d>]) -> Self {
        let tokens: Vec<u64> = portions.iter().map(Portion::tokens).collect();
        for (section, tokens) in self.sections.iter_mut().zip(&tokens) {
            section.tokens = Some(*tokens);
        }
        self.tokens = Some(tokens.iter().sum());
        self
    }
}

/// A withheld document in JSON.
#[derive(Serialize)]
pub(super) struct WithheldJson {
    id: String,
    reason: String,
}

impl From<&Withheld> for WithheldJson {
    fn from(withheld: &Withheld) -> Self {
        Self { id: withheld.id.to_string(), reason: withheld.why.to_string() }
    }
}

/// What is put out as a table, a row a document, each with the sections that it is narrowed to.
pub(super) fn document_table(portions: &[Portion<'_>]) -> Vec<String> {
    let row = |portions: &[Portion<'_>]| {
        let d = portions.first()?.served;
        let sections = portions.iter().filter_map(|portion| portion.section);
        let anchors: String = sections.map(|section| format!(" #{}", section.anchor)).collect();
        let name = match anchors.trim_start() {
            one if !one.contains(' ') => format!("{}{one}", d.id),
            several => format!("{} {several}", d.id),
        };
        Some(vec![
            shown(&name).into_owned(),
            format!("v{}", d.entry.version),
            d.fields.node_type.as_str().to_owned(),
            shown(d.title()).into_owned(),
        ])
    };
    table(&portions.chunk_by(Portion::is_beside).filter_map(row).collect::<Vec<_>>())
}

/// Tells on stderr who found the documents of a search, and what else there is to know.
pub(super) fn tell_notes(session: &mut Session<'_>, backend: Option<&str>, notes: &[String]) {
    if let Some(backend) = backend {
        let backend = shown(backend);
        session
            .ui
            .note(&format!("note: delegated to {backend}, which says what its searches find"));
    }
    for note in notes {
        session.ui.note(&format!("note: {}", shown(note)));
    }
}

/// Tells on stderr which documents were withheld.
pub(super) fn tell_withheld(session: &mut Session<'_>, withheld: &[Withheld]) {
    if !withheld.is_empty() {
        let failure = Failure::withheld(withheld);
        session.ui.note(&failure.text());
    }
}

#[derive(Serialize)]
struct EventJson<'e> {
    dry_run: bool,
    checkpoint: Option<CheckpointJson>,
    versions: Vec<VersionJson<'e>>,
    unchanged: &'e [Id],
    brought_up_to_date: Vec<&'e Id>,
    left_out: Vec<LeftOutJson<'e>>,
    refused: Vec<RefusedDocument>,
    not_updated: Vec<NotUpdatedJson<'e>>,
    /// Derived files that were left as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_derived: Vec<NotUpdatedJson<'e>>,
    /// Why the new head is not remembered.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
    /// What was cleared away of a command that had been interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered: Option<RecoveredJson<'e>>,
}

#[derive(Serialize)]
struct CheckpointJson {
    checkpoint: u64,
    at: String,
    triggered_by: String,
    checkpoint_hash: String,
}

#[derive(Serialize)]
struct VersionJson<'e> {
    id: &'e Id,
    change: &'static str,
    version: u64,
    chain_hash: String,
    warnings: Vec<ProblemJson>,
}

#[derive(Serialize)]
struct LeftOutJson<'e> {
    id: &'e Id,
    reason: &'e str,
}

#[derive(Serialize)]
struct NotUpdatedJson<'e> {
    path: &'e str,
    reason: String,
}

fn word(change: Change) -> &'static str {
    match change {
        Change::New => "new",
        Change::Changed => "changed",
        Change::Restored => "restored",
        Change::Retired => "retired",
    }
}

/// Prints an event, done or only planned, and says how the verb ends.
pub(super) fn event(
    session: &mut Session<'_>,
    verb: &str,
    outcome: &Outcome,
    dry_run: bool,
) -> Answer {
    let committed = outcome.committed.as_ref();
    let left_alone = committed.map(|c| c.left_alone.as_slice()).unwrap_or_default();
    let not_derived = committed.map(|c| c.derived.as_slice()).unwrap_or_default();
    if session.ui.json {
        let json = EventJson {
            dry_run,
            checkpoint: outcome.checkpoint.as_ref().map(|c| CheckpointJson {
                checkpoint: c.number,
                at: c.at.to_string(),
                triggered_by: c.triggered_by.to_string(),
                checkpoint_hash: c.hash.to_string(),
            }),
            versions: outcome.items.iter().map(version_json).collect(),
            unchanged: &outcome.unchanged,
            brought_up_to_date: outcome.behind.iter().map(|(id, _)| id).collect(),
            left_out: outcome
                .left_out
                .iter()
                .map(|(id, reason)| LeftOutJson { id, reason })
                .collect(),
            refused: outcome.refused.iter().map(RefusedDocument::from).collect(),
            not_updated: left_alone
                .iter()
                .map(|(path, why)| NotUpdatedJson { path, reason: why.to_string() })
                .collect(),
            not_derived: not_derived
                .iter()
                .map(|(path, why)| NotUpdatedJson { path, reason: why.clone() })
                .collect(),
            memory: committed.and_then(|c| Some(c.forgotten.as_ref()?.to_string())),
            recovered: (!outcome.recovered.is_empty()).then(|| recover::json(&outcome.recovered)),
        };
        session.ui.result(verb, &json);
    } else {
        event_text(session, verb, outcome, dry_run);
    }
    tell_trouble(session, outcome)
}

/// Tells on stderr what an event could not do besides, and says how the verb ends.
pub(super) fn tell_trouble(session: &mut Session<'_>, outcome: &Outcome) -> Answer {
    let committed = outcome.committed.as_ref();
    let left_alone = committed.map(|c| c.left_alone.as_slice()).unwrap_or_default();
    let not_derived = committed.map(|c| c.derived.as_slice()).unwrap_or_default();
    for (path, why) in left_alone {
        let path = shown(path);
        session
            .ui
            .note(&format!("warning: the event stands, but `{path}` was left as it is: {why}"));
    }
    for (path, why) in not_derived {
        let (path, why) = (shown(path), shown(why));
        session.ui.note(&format!("note: the derived file `{path}` was left as it is: {why}"));
    }
    if let Some(why) = committed.and_then(|c| c.forgotten.as_ref()) {
        session.ui.note(&format!("warning: the event stands, but is not remembered: {why}"));
    }
    recover::tell(session, &outcome.recovered);
    if left_alone.iter().any(|(_, why)| !why.is_changed()) {
        Answer::Incomplete
    } else if outcome.refused.is_empty() {
        Answer::Yes
    } else {
        Answer::No
    }
}

fn version_json(item: &Item) -> VersionJson<'_> {
    VersionJson {
        id: &item.id,
        change: word(item.change),
        version: item.version,
        chain_hash: item.chain_hash.to_string(),
        warnings: item.warnings.iter().map(ProblemJson::from).collect(),
    }
}

pub(super) fn event_text(session: &mut Session<'_>, verb: &str, outcome: &Outcome, dry_run: bool) {
    let ui = &mut session.ui;
    match &outcome.checkpoint {
        Some(checkpoint) => {
            let what = count(outcome.items.len(), "version");
            let (number, at) = (checkpoint.number, checkpoint.at);
            let would = if dry_run { "would make " } else { "" };
            ui.line(&format!("{would}checkpoint {number} with {what}, {at}"));
        }
        None => ui.line(&format!("nothing to {verb}")),
    }
    let rows: Vec<Vec<String>> = outcome
        .items
        .iter()
        .map(|item| {
            let id = shown(item.id.as_str()).into_owned();
            vec![format!("  {}", word(item.change)), id, format!("v{}", item.version)]
        })
        .collect();
    table(&rows).iter().for_each(|row| ui.line(row));
    match outcome.unchanged.as_slice() {
        [] => {}
        [id] => ui.line(&format!("  unchanged: {}", shown(id.as_str()))),
        all => ui.line(&format!("  unchanged: {}", count(all.len(), "document"))),
    }
    for (id, _) in &outcome.behind {
        let id = shown(id.as_str());
        ui.line(&format!("  brought up to date: {id} (its file was left behind by a publication)"));
    }
    for (id, why) in &outcome.left_out {
        ui.line(&format!("  left out: {} ({why})", shown(id.as_str())));
    }
    for item in &outcome.items {
        for warning in &item.warnings {
            let line = warning.line.map_or_else(String::new, |n| format!(", line {n}"));
            let (message, hint) = (shown(&warning.message), shown(&warning.hint));
            let id = shown(item.id.as_str());
            ui.note(&format!("warning[{}]: {id}{line}: {message} ({hint})", warning.code));
        }
    }
    for refusal in &outcome.refused {
        for problem in &refusal.problems {
            let line = problem.line.map_or_else(String::new, |n| format!(", line {n}"));
            let (path, message) = (shown(&refusal.path), shown(&problem.message));
            let (severity, code) = (super::failure::severity(problem.severity), problem.code);
            let hint = shown(&problem.hint);
            ui.note(&format!("{severity}[{code}]: {path}{line}: {message} ({hint})"));
        }
    }
    if dry_run {
        for item in &outcome.items {
            live_change(session, item);
        }
    }
}

/// Shows what a publication would write into a live file.
fn live_change(session: &mut Session<'_>, item: &Item) {
    let path = item.id.live_path();
    let shown_path = shown(&path).into_owned();
    match &item.live {
        Live::Keep => {}
        Live::Create(_) => session.ui.line(&format!("would create {shown_path}")),
        Live::Remove(_) => session.ui.line(&format!("would remove {shown_path}")),
        Live::Replace { old, new } => {
            let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
            let then = if item.is_retirement() { "retired" } else { "published" };
            let (from, to) = (format!("{shown_path} (now)"), format!("{shown_path} ({then})"));
            let diff = crate::chain::diff::print_between(&old, &new, &from, &to);
            session.ui.text(&diff);
        }
    }
}
