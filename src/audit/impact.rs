//! Who was handed a document, and whether it was still in force then (AUDIT-8).

use super::event::Event;
use super::filter::Filter;
use super::line::Line;
use super::text::Text;
use crate::chain::history::{Entry, History};
use crate::model::number::Version;
use crate::model::timestamp::Timestamp;

/// A text of a document that was handed out.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What was handed out.
    pub text: Text,
    /// When the version had been replaced or retired, if that was before the access.
    pub ended: Option<Timestamp>,
}

/// The texts of a line that a filter wants, all of the document with this history. A version that was
/// replaced or retired before the access carries the instant of that.
pub fn readings(line: &Line, filter: &Filter, history: &History) -> Vec<Reading> {
    let Event::Access(access) = &line.event else { return Vec::new() };
    let texts = access.documents.iter().filter(|text| filter.wants_text(text));
    let at: Option<Timestamp> = line.at.parse().ok();
    let reading = |text: &Text| {
        let ended = ended(history, Version(text.version));
        let ended = ended.filter(|ended| at.is_none_or(|at| at >= *ended));
        Reading { text: text.clone(), ended }
    };
    texts.map(reading).collect()
}

/// When a version was replaced or retired: the instant of the first later one that was published
/// or that records a retirement.
fn ended(history: &History, version: Version) -> Option<Timestamp> {
    let later = history.entries().filter(|entry| entry.version > version);
    later.filter_map(Entry::event_at).min()
}
