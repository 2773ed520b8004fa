//! Readings of a document or source: who received which version, and whether the version was still
//! in force (AUDIT-8).

use super::event::Event;
use super::filter::Filter;
use super::line::Line;
use super::text::{Part, Text};
use crate::record::chain::history::History;
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;

/// A text of a document that was handed out, or a hydration of a source.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The URI that was handed out.
    pub uri: Option<String>,
    /// The anchor of the section, if the text is one.
    pub anchor: Option<String>,
    /// The way the text was derived from the version, if it is not a piece of it.
    pub part: Option<Part>,
    /// The number of the version.
    pub version: u64,
    /// The checkpoint of the answer.
    pub checkpoint: Option<u64>,
    /// The SHA-256 of the text that was handed out, or of the result.
    pub sha256: String,
    /// The end of the version, if that was before the access.
    pub ended: Option<Ended>,
}

/// The publication or retirement after which a version was no longer in force.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The time of that event.
    pub at: Timestamp,
    /// True if the event was a retirement.
    pub is_retired: bool,
}

/// Returns the texts and hydrations of a line that match a filter. All of them must be of the
/// document with this history.
pub fn readings(line: &Line, filter: &Filter, history: &History) -> Vec<Reading> {
    let at: Option<Timestamp> = line.at.parse().ok();
    let ended = |version| {
        let ended = ended(history, Version(version));
        ended.filter(|ended| at.is_none_or(|at| at >= ended.at))
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

/// Returns the end of a version: the first later version that was published or that records a
/// retirement.
fn ended(history: &History, version: Version) -> Option<Ended> {
    let later = history.entries().filter(|entry| entry.version > version);
    let events = later.filter_map(|entry| {
        entry.event_at().map(|at| Ended { at, is_retired: entry.is_retirement() })
    });
    events.min_by_key(|ended| ended.at)
}
