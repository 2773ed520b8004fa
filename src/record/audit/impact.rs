//! Who was handed a document, or hydrated a source, and whether it was still in force then (AUDIT-8).

use super::event::Event;
use super::filter::Filter;
use super::line::Line;
use super::text::{Part, Text};
use crate::record::chain::history::{Entry, History};
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;

/// A text of a document that was handed out, or a hydration as a version of it says.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What names it.
    pub uri: Option<String>,
    /// The anchor of the section that it is.
    pub anchor: Option<String>,
    /// What was made of the version's text, where it is no piece of it.
    pub part: Option<Part>,
    /// The version.
    pub version: u64,
    /// The checkpoint that was answered.
    pub checkpoint: Option<u64>,
    /// The hash of what was handed out, or of the result.
    pub sha256: String,
    /// When the version had been replaced or retired, if that was before the access.
    pub ended: Option<Timestamp>,
}

/// The texts of a line that a filter wants, all of the document with this history; a hydration is one,
/// too. A version that was replaced or retired before the access carries the instant of that.
pub fn readings(line: &Line, filter: &Filter, history: &History) -> Vec<Reading> {
    let at: Option<Timestamp> = line.at.parse().ok();
    let ended = |version| {
        let ended = ended(history, Version(version));
        ended.filter(|ended| at.is_none_or(|at| at >= *ended))
    };
    match &line.event {
        Event::Access(access) => {
            let texts = access.documents.iter().filter(|text| filter.wants_text(text));
            let reading = |text: &Text| Reading {
                uri: text.uri.clone(),
                anchor: text.anchor().map(str::to_owned),
                part: text.part,
                version: text.version,
                checkpoint: text.checkpoint,
                sha256: text.sha256.clone(),
                ended: ended(text.version),
            };
            texts.map(reading).collect()
        }
        Event::Hydration(of) if filter.wants_hydration(of) => vec![Reading {
            uri: of.uri.clone(),
            anchor: None,
            part: None,
            version: of.source_version,
            checkpoint: Some(of.checkpoint),
            sha256: of.result_hash.clone(),
            ended: ended(of.source_version),
        }],
        _ => Vec::new(),
    }
}

/// When a version was replaced or retired: the instant of the first later one that was published
/// or that records a retirement.
fn ended(history: &History, version: Version) -> Option<Timestamp> {
    let later = history.entries().filter(|entry| entry.version > version);
    later.filter_map(Entry::event_at).min()
}
