//! Which lines of the log a question is about.

use super::event::Event;
use super::hydration::Hydration;
use super::line::Line;
use super::text::Text;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// What a line must have; what is none is not looked at.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The session.
    pub session: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The thread.
    pub thread: Option<String>,
    /// The task.
    pub task: Option<String>,
    /// The node.
    pub node: Option<String>,
    /// Who asked.
    pub principal: Option<String>,
    /// The command, or the beginning of its words.
    pub verb: Option<String>,
    /// A document of which a text was handed out, or a source that was hydrated.
    pub document: Option<DocumentId>,
    /// The version of such a text.
    pub version: Option<Version>,
    /// The checkpoint that such a text was handed out as of.
    pub checkpoint: Option<CheckpointNumber>,
    /// The first instant.
    pub from: Option<Timestamp>,
    /// The instant after the last.
    pub to: Option<Timestamp>,
}

/// Returns true if a command is the wanted one, or a part of it.
fn is_part_of(command: &str, wanted: &str) -> bool {
    let rest = command.strip_prefix(wanted);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

impl Filter {
    /// Bytes that each wanted line has. A log may have millions of lines: most are not read further.
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
        // A hydration has `source_version`.
        let version = self.version.map(|version| format!("version\":{}", version.0).into_bytes());
        let checkpoint = self.checkpoint.map(|checkpoint| number("checkpoint", checkpoint.0));
        // The line may have more words of a command.
        let verb = self.verb.as_ref().and_then(|verb| serde_json::to_string(verb).ok());
        let verb = verb.map(|verb| format!("\"verb\":{}", verb.trim_end_matches('"')).into_bytes());
        named.into_iter().filter_map(needle).chain(verb).chain(version).chain(checkpoint).collect()
    }

    /// Whether a line is wanted.
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

    /// Whether a wanted text is among those of a line.
    fn holds(&self, line: &Line) -> bool {
        match &line.event {
            Event::Access(access) => access.documents.iter().any(|text| self.wants_text(text)),
            Event::Hydration(hydration) => self.wants_hydration(hydration),
            _ => false,
        }
    }

    /// Whether a hydration is as the wanted version of a source at the wanted checkpoint says.
    pub fn wants_hydration(&self, hydration: &Hydration) -> bool {
        self.version.is_none_or(|version| version.0 == hydration.source_version)
            && self.checkpoint.is_none_or(|number| number.0 == hydration.checkpoint)
            && self.document.as_ref().is_none_or(|id| id.as_str() == hydration.source)
    }

    /// Whether a text is of the wanted document, version and checkpoint.
    pub fn wants_text(&self, text: &Text) -> bool {
        self.version.is_none_or(|version| version.0 == text.version)
            && self.checkpoint.is_none_or(|number| Some(number.0) == text.checkpoint)
            && self.document.as_ref().is_none_or(|id| text.is_of(id.as_str()))
    }
}
