//! The staged entries of a bundle: the lines of staging chains that record results of sources, the
//! acts on them, and their contents (EVID-27).

use std::collections::{BTreeMap, BTreeSet};

use super::MAX_BUNDLE;
use super::export::{ExportError, Unproved};
use super::manifest::{STAGED, StagedRef, VersionRef, content_path, text_path};
use super::proofs::WantedText;
use super::sealed::Contents;
use crate::files::vault::Vault;
use crate::prove::evidence::staged::{StagedOf, UNSEEN, VisibleStaged, staged_uri};
use crate::record::audit::{Hydration, Line, Text};
use crate::record::staging::{
    Chain, FoundPayload, StagedEntry, StagedName, raw_lines, read_payload,
};
use crate::text::document::Document;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;

/// Entries that a bundle needs, by source.
#[derive(Default)]
pub(super) struct WantedEntries(BTreeMap<DocumentId, Vec<Wanted>>);

enum Wanted {
    /// Entry that a text of an access names, with its hash, or that a document was promoted from.
    Named { name: StagedName, hash: Option<String> },
    /// Result of a hydration, if it was staged.
    Result(ResultKey),
}

impl WantedEntries {
    /// Adds the entries that texts of accesses name. The bundle proves nothing about a diff.
    pub(super) fn add_texts(&mut self, texts: &[WantedText<'_>]) {
        for text in texts.iter().map(|wanted| wanted.text).filter(|text| text.part.is_none()) {
            if let Some(name) = text.uri.as_deref().and_then(staged_uri) {
                self.add_name(name, Some(text.chain_hash.clone()));
            }
        }
    }

    /// Adds the entry that is the result of a hydration.
    pub(super) fn add_result(&mut self, line: &Line, of: &Hydration) {
        if let (Ok(source), Some(key)) = (of.source.parse(), result_key(line, of)) {
            self.0.entry(source).or_default().push(Wanted::Result(key));
        }
    }

    /// Adds the entries that versions of the bundle were promoted from.
    pub(super) fn add_promoted(&mut self, versions: &[VersionRef], files: &Contents) {
        for (version, n) in versions.iter().zip(1..) {
            let text = files.get(&text_path(n)).map(|text| String::from_utf8_lossy(text));
            let name = text.and_then(|text| Some(promoted_from(&version.id, &text)?.0));
            if let Some(name) = name {
                self.add_name(name, None);
            }
        }
    }

    fn add_name(&mut self, name: StagedName, hash: Option<String>) {
        if let Some(source) = name.source.clone() {
            self.0.entry(source).or_default().push(Wanted::Named { name, hash });
        }
    }
}

/// Fields that a hydration and its staged entry have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ResultKey {
    /// Source and hash of the result, with the principal and session.
    pub(super) of: ResultOf,
    source_version: u64,
    checkpoint: Option<u64>,
    bytes: u64,
    server: Option<String>,
    tools: Vec<String>,
    cache: Option<String>,
    media_type: Option<String>,
    depends_on: Vec<String>,
}

/// Source, hash of the bytes, principal and session.
pub(super) type ResultOf = (String, String, Option<String>, Option<String>);

/// Returns the key of a hydration; `None` if the hydration failed.
pub(super) fn result_key(line: &Line, of: &Hydration) -> Option<ResultKey> {
    let (principal, session) =
        (line.request.principal.clone(), line.request.labels.session.clone());
    let key = ResultKey {
        of: (of.source.clone(), of.result_hash.clone(), principal, session),
        source_version: of.source_version,
        checkpoint: Some(of.checkpoint),
        bytes: of.bytes,
        server: of.server.clone(),
        tools: of.tools.clone(),
        cache: of.cache.map(|cached| cached.as_str().to_owned()),
        media_type: of.media_type.clone(),
        depends_on: of.depends_on.clone(),
    };
    of.error.is_none().then_some(key)
}

/// Returns the key of an entry.
pub(super) fn entry_key(entry: &StagedEntry) -> ResultKey {
    let of = entry.entry.clone();
    ResultKey {
        of: (
            entry.source.to_string(),
            of.raw_hash.clone(),
            of.principal.clone(),
            of.session.clone(),
        ),
        source_version: of.source_version,
        checkpoint: of.checkpoint().map(|checkpoint| checkpoint.0),
        bytes: of.bytes,
        server: of.server,
        tools: of.tools,
        cache: of.cache,
        media_type: of.media_type,
        depends_on: of.depends_on,
    }
}

/// Returns the entry that a document names as its origin, and the body of the document.
pub(super) fn promoted_from<'t>(id: &str, text: &'t str) -> Option<(StagedName, &'t str)> {
    // A cheap test spares most texts the parser.
    let is_document = id.parse::<DocumentId>().is_ok_and(|id| id.is_document());
    if !is_document || !text.contains("promoted_from") {
        return None;
    }
    let document = Document::parse(text).ok()?;
    let name = staged_uri(document.frontmatter.promoted_from()?)?;
    Some((name, text.get(document.parts.body..)?))
}

/// Staged entries of a bundle.
#[derive(Default)]
pub(super) struct StagedPart {
    pub(super) refs: Vec<StagedRef>,
    pub(super) unproved: Vec<Unproved>,
    /// Texts that the export hands out.
    pub(super) texts: Vec<Text>,
    /// Lines of the chains, in the order of `refs`.
    lines: Vec<u8>,
    /// Number of each content.
    contents: BTreeMap<Digest, usize>,
    size: u64,
}

impl StagedPart {
    /// Reads the wanted entries, the acts on them, and the contents of live entries.
    ///
    /// # Errors
    /// Returns [`ExportError::TooLarge`] if the bundle would exceed the limits.
    pub(super) fn of(
        vault: &Vault,
        staged_of: &StagedOf<'_>,
        wanted: &WantedEntries,
        files: &mut Contents,
    ) -> Result<Self, ExportError> {
        let mut part = Self::default();
        for (source, wanted) in &wanted.0 {
            match staged_of(source) {
                Ok(visible) => part.add_source(vault, &visible, wanted, files)?,
                Err(why) => part.lacks_all(wanted, &why),
            }
        }
        if !part.refs.is_empty() {
            let lines = std::mem::take(&mut part.lines);
            files.insert(STAGED.to_owned(), lines);
        }
        Ok(part)
    }

    fn add_source(
        &mut self,
        vault: &Vault,
        visible: &VisibleStaged,
        wanted: &[Wanted],
        files: &mut Contents,
    ) -> Result<(), ExportError> {
        let mut by_name: BTreeMap<StagedName, Vec<&StagedEntry>> = BTreeMap::new();
        let mut by_key: BTreeMap<ResultKey, Vec<&StagedEntry>> = BTreeMap::new();
        for entry in &visible.entries {
            by_name.entry(entry.name()).or_default().push(entry);
            by_key.entry(entry_key(entry)).or_default().push(entry);
        }
        let mut found: BTreeMap<Digest, &StagedEntry> = BTreeMap::new();
        for one in wanted {
            let (all, hash) = match one {
                Wanted::Named { name, hash } => (by_name.get(name), hash.as_ref()),
                Wanted::Result(key) => (by_key.get(key), None),
            };
            let is_it =
                |entry: &&&StagedEntry| hash.is_none_or(|hash| entry.hash.to_string() == *hash);
            let all: Vec<&StagedEntry> = all.into_iter().flatten().filter(is_it).copied().collect();
            if all.is_empty() && matches!(one, Wanted::Named { .. }) {
                // The name is hidden from principals who may not see the entry (STAGE-13).
                let (name, why) = ("a staged result".to_owned(), UNSEEN.to_owned());
                self.unproved.push(Unproved { name, why });
            }
            found.extend(all.into_iter().map(|entry| (entry.hash, entry)));
        }
        for chain in &visible.chains.chains {
            self.add_chain(vault, chain, &found, files)?;
        }
        Ok(())
    }

    /// Adds the lines of a chain that are entries of the bundle, or acts on them.
    fn add_chain(
        &mut self,
        vault: &Vault,
        chain: &Chain,
        found: &BTreeMap<Digest, &StagedEntry>,
        files: &mut Contents,
    ) -> Result<(), ExportError> {
        let is_upon = |hash: &str| hash.parse().is_ok_and(|hash: Digest| found.contains_key(&hash));
        let of_bundle = |line: &&crate::record::staging::StagedLine| match line.kind.act() {
            Some((_, act)) => is_upon(&act.entry.hash),
            None => line.hash.is_some_and(|hash| found.contains_key(&hash)),
        };
        let wanted: BTreeSet<Digest> =
            chain.lines.iter().filter(of_bundle).filter_map(|line| line.hash).collect();
        let lines = match raw_lines(vault.files(), chain, wanted) {
            Ok(lines) => lines,
            Err(why) => {
                let name = format!("the staging chain {}/{}", chain.source, chain.writer);
                self.unproved.push(Unproved { name, why: why.to_string() });
                return Ok(());
            }
        };
        for (bytes, line) in lines {
            let entry = line.hash.and_then(|hash| found.get(&hash)).filter(|entry| entry.is_live());
            let content = match entry {
                Some(entry) => self.content(vault, entry, files)?,
                None => None,
            };
            let (source, writer) = (chain.source.to_string(), chain.writer.to_string());
            self.refs.push(StagedRef { source, writer, seq: line.seq, content });
            self.size += bytes.len() as u64 + 1;
            self.lines.extend([&bytes[..], b"\n"].concat());
        }
        if self.size > MAX_BUNDLE { Err(ExportError::TooLarge) } else { Ok(()) }
    }

    /// Returns the number of a live entry's content; `None` if the content is missing or altered.
    fn content(
        &mut self,
        vault: &Vault,
        entry: &StagedEntry,
        files: &mut Contents,
    ) -> Result<Option<usize>, ExportError> {
        let Some(raw) = entry.entry.raw() else { return Ok(None) };
        let why = match read_payload(vault.files(), raw) {
            FoundPayload::Whole(bytes) => {
                self.texts.push(entry.text(&bytes));
                if let Some(number) = self.contents.get(&raw) {
                    return Ok(Some(*number));
                }
                let number = self.contents.len() + 1;
                self.contents.insert(raw, number);
                self.size += bytes.len() as u64;
                files.insert(content_path(number), bytes);
                let is_long = self.size > MAX_BUNDLE;
                return if is_long { Err(ExportError::TooLarge) } else { Ok(Some(number)) };
            }
            FoundPayload::Altered(_) => "its content is not what was received".to_owned(),
            FoundPayload::Missing => "its content is missing".to_owned(),
            FoundPayload::Unreadable(why) => why.to_string(),
        };
        self.unproved.push(Unproved { name: entry.name().to_string(), why });
        Ok(None)
    }

    /// Lists these entries as not proved. A hydration that was not staged lacks nothing.
    fn lacks_all(&mut self, wanted: &[Wanted], why: &str) {
        for one in wanted {
            if let Wanted::Named { name, .. } = one {
                self.unproved.push(Unproved { name: name.to_string(), why: why.to_owned() });
            }
        }
    }
}
