//! Checks the lines of the access log in a bundle: the hash of each, and that lines next to each
//! other in the log still follow one another (EVID-19).

use super::super::manifest::{LINES, LineRef, Manifest, Scope};
use super::log::Log;
use super::{Files, Item, Judged, Kind, Verdict, contradicted, not_proved};
use crate::record::audit::{Event, Line, Text};
use crate::values::model::digest::Digest;

/// Maximum length of a line of an access log, in bytes.
const MAX_LINE: usize = 16 << 20;

/// Lines of a bundle, and the items about them.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) items: Vec<Item>,
    /// Lines in the order of the file; `None` if a line cannot be read.
    lines: Vec<Option<Line>>,
}

impl Lines {
    pub(super) fn read(manifest: &Manifest, files: &Files<'_>, log: &Log) -> Self {
        let mut lines = Self::default();
        let bytes = files.get(LINES).unwrap_or_default();
        let mut found = bytes.split_inclusive(|byte| *byte == b'\n');
        let mut before: Option<(Line, Digest)> = None;
        let mut listed = manifest.lines.iter();
        loop {
            let (line, listed) = match (found.next(), listed.next()) {
                (None, None) => break,
                (Some(line), listed) => (line, listed),
                (None, Some(listed)) => {
                    lines.push(listed.trace.clone(), not_proved("the line is missing"), None);
                    continue;
                }
            };
            let number = lines.lines.len() + 1;
            let name = listed.map_or(format!("line {number}"), |listed| listed.trace.clone());
            match read(line) {
                Ok((line, hash)) => {
                    let last = before.as_ref().map(|(line, hash)| (line, hash));
                    let judged = judge(manifest, log, &line, listed, last);
                    before = Some((line.clone(), hash));
                    lines.push(name, judged, Some(line));
                }
                Err(why) => lines.push(name, Err(why), None),
            }
        }
        lines
    }

    fn push(&mut self, name: String, judged: Judged, line: Option<Line>) {
        self.items.push(Item::new(Kind::Line, name, judged));
        self.lines.push(line);
    }

    /// Returns the readable lines, with their numbers from 1 and verdicts.
    pub(super) fn read_lines(&self) -> impl Iterator<Item = (usize, &Line, Verdict)> {
        let lines = self.lines.iter().zip(&self.items).zip(1..);
        lines.filter_map(|((line, item), n)| Some((n, line.as_ref()?, item.verdict)))
    }

    /// Returns the readable lines.
    pub(super) fn all(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().flatten()
    }
}

fn read(line: &[u8]) -> Result<(Line, Digest), (Verdict, String)> {
    match line.strip_suffix(b"\n") {
        Some(line) if line.len() > MAX_LINE => contradicted("the line is too long"),
        Some(line) => Line::read(line).or_else(|why| contradicted(why.to_string())),
        None => contradicted("the line is incomplete"),
    }
}

fn judge(
    manifest: &Manifest,
    log: &Log,
    line: &Line,
    listed: Option<&LineRef>,
    before: Option<(&Line, &Digest)>,
) -> Judged {
    let trace = line.trace().to_string();
    if listed.is_none_or(|listed| listed.trace != trace) {
        return contradicted(format!("the manifest does not list {trace} in this place"));
    }
    if !manifest.scope.wants(line) || wanted(&manifest.scope, line).is_none() {
        return contradicted("the line is outside of the scope of the bundle");
    }
    if let Some(why) = line.value_fault() {
        return contradicted(why);
    }
    if let Some(why) = line.chain_fault(before) {
        return contradicted(why);
    }
    if let Some(why) = line.after_head() {
        return contradicted(why);
    }
    let Some(head) = &line.request.head else { return Ok(()) };
    if log.recorded(head.checkpoint).is_some_and(|found| found.to_string() != head.hash) {
        return contradicted(format!("checkpoint {} has another hash", head.checkpoint));
    }
    log.at(head.checkpoint)?;
    if log.is_after(head.checkpoint, &line.at) {
        let number = head.checkpoint;
        return contradicted(format!(
            "it is dated {}, before checkpoint {number} was made",
            line.at
        ));
    }
    Ok(())
}

/// Returns the texts of a line that the bundle must prove, with their numbers. Returns `None` if
/// the scope is a document and the line contains no text of it.
pub(super) fn wanted<'l>(scope: &Scope, line: &'l Line) -> Option<Vec<(usize, &'l Text)>> {
    let texts = match &line.event {
        Event::Access(access) => access.documents.as_slice(),
        // A hydration of the source is in scope, too.
        Event::Hydration(of) if scope.is_about(&of.source) => return Some(Vec::new()),
        _ => &[],
    };
    let all = (1..).zip(texts);
    let Scope::Document(id) = scope else { return Some(all.collect()) };
    let is_of = |(_, text): &(usize, &Text)| text.is_of(id);
    Some(all.filter(is_of).collect()).filter(|texts: &Vec<_>| !texts.is_empty())
}
