//! Selects lines of an access log or change log.

use super::event::Event;
use super::hydration::Hydration;
use super::line::Line;
use super::text::Text;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// Conditions that a line must meet. A field that is `None` is not checked.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The session label.
    pub session: Option<String>,
    /// The agent label.
    pub agent: Option<String>,
    /// The thread label.
    pub thread: Option<String>,
    /// The task label.
    pub task: Option<String>,
    /// The node label.
    pub node: Option<String>,
    /// The principal.
    pub principal: Option<String>,
    /// The command, or its first words.
    pub verb: Option<String>,
    /// The document of a text that was handed out, or a source that was hydrated.
    pub document: Option<DocumentId>,
    /// The version of such a text or source.
    pub version: Option<Version>,
    /// The checkpoint at which such a text was handed out.
    pub checkpoint: Option<CheckpointNumber>,
    /// The earliest time.
    pub from: Option<Timestamp>,
    /// The end of the time range, exclusive.
    pub to: Option<Timestamp>,
}

/// Returns true if a command begins with the wanted words.
fn is_part_of(command: &str, wanted: &str) -> bool {
    let rest = command.strip_prefix(wanted);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

impl Filter {
    /// Returns bytes that each matching line contains. A log may have millions of lines: most are
    /// not read further.
    pub(super) fn needles(&self) -> Vec<Vec<u8>> {
        let named = [
            ("session", &self.session),
            ("agent", &self.agent),
            ("thread", &self.thread),
            ("task", &self.task),
            ("node", &self.node),
            ("principal", &self.principal),
        ];
        let needle = |(key, value): (&str, &Option<String>)| {
            let value = serde_json::to_string(value.as_ref()?).ok()?;
            Some(format!("\"{key}\":{value}").into_bytes())
        };
        let number = |key: &str, value: u64| format!("\"{key}\":{value}").into_bytes();
        // Without its first quote, the key also matches `source_version` of a hydration.
        let version = self.version.map(|version| format!("version\":{}", version.0).into_bytes());
        let checkpoint = self.checkpoint.map(|checkpoint| number("checkpoint", checkpoint.0));
        // The command of the line may have more words.
        let verb = self.verb.as_ref().and_then(|verb| serde_json::to_string(verb).ok());
        let verb = verb.map(|verb| format!("\"verb\":{}", verb.trim_end_matches('"')).into_bytes());
        named.into_iter().filter_map(needle).chain(verb).chain(version).chain(checkpoint).collect()
    }

    /// Returns true if a line matches.
    pub fn wants(&self, line: &Line) -> bool {
        let request = &line.request;
        let labels = &request.labels;
        let is = |wanted: &Option<String>, found: Option<&String>| {
            wanted.is_none() || wanted.as_ref() == found
        };
        let at: Option<Timestamp> = line.at.parse().ok();
        is(&self.session, labels.session.as_ref())
            && is(&self.agent, labels.agent.as_ref())
            && is(&self.thread, labels.thread.as_ref())
            && is(&self.task, labels.task.as_ref())
            && is(&self.node, labels.node.as_ref())
            && is(&self.principal, request.principal.as_ref())
            && self.verb.as_ref().is_none_or(|verb| is_part_of(&request.verb, verb))
            && self.from.is_none_or(|from| at.is_some_and(|at| at >= from))
            && self.to.is_none_or(|to| at.is_some_and(|at| at < to))
            && (!self.is_about_texts() || self.holds(line))
    }

    fn is_about_texts(&self) -> bool {
        self.document.is_some() || self.version.is_some() || self.checkpoint.is_some()
    }

    /// Returns true if a line has a matching text or hydration.
    fn holds(&self, line: &Line) -> bool {
        match &line.event {
            Event::Access(access) => access.documents.iter().any(|text| self.wants_text(text)),
            Event::Hydration(hydration) => self.wants_hydration(hydration),
            _ => false,
        }
    }

    /// Returns true if a hydration matches the document, version and checkpoint.
    pub fn wants_hydration(&self, hydration: &Hydration) -> bool {
        self.version.is_none_or(|version| version.0 == hydration.source_version)
            && self.checkpoint.is_none_or(|number| number.0 == hydration.checkpoint)
            && self.document.as_ref().is_none_or(|id| id.as_str() == hydration.source)
    }

    /// Returns true if a text matches the document, version and checkpoint.
    pub fn wants_text(&self, text: &Text) -> bool {
        self.version.is_none_or(|version| version.0 == text.version)
            && self.checkpoint.is_none_or(|number| Some(number.0) == text.checkpoint)
            && self.document.as_ref().is_none_or(|id| text.is_of(id.as_str()))
    }
}
