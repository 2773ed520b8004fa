//! `.versions/context_history.yaml`: the log of the reference implementation, with whole maps in
//! every entry (`spec/checkpoint.md`, section 4). The log is read, checked and appended to in its
//! own form, so that the reference implementation continues to work.

use std::collections::BTreeMap;

use super::MAX_FAULTY;
use crate::record::checkpoint::event::Checkpoint;
use crate::record::checkpoint::fault::EntryFault;
use crate::record::checkpoint::state::{Bound, Mark, PublishedSet, in_json_order};
use crate::record::torn_tail;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::yaml::{self, Dialect, List, Node, emit};

/// Text before the first entry.
pub(super) const HEADER: &str = "# Auto-generated. Do not edit manually.\ncheckpoints:\n";

/// Contents of a log in full form.
pub(super) struct Read {
    /// The entries, each as the changes since the one before.
    pub(super) entries: Vec<Result<Checkpoint, EntryFault>>,
    /// True if an appended entry becomes the next item.
    pub(super) appendable: bool,
    /// Offset of the last entry.
    pub(super) last_at: usize,
    /// The first line at which an entry that ctx made or adopted is not in the spelling of ctx.
    pub(super) respelled: Option<usize>,
}

/// Parses the entries one by one. Only the changes are kept of the maps of each.
pub(super) fn parse(text: &str) -> Result<Read, yaml::Error> {
    let (mut entries, mut faulty, mut first, mut last) = (Vec::new(), 0, None, 0);
    let mut state = PublishedSet::default();
    let mut spelling = Spelling::new(text);
    let mut take = |item: Node| {
        first.get_or_insert(item.span.start);
        last = item.span.start;
        let entry = read_entry(&item, &mut state);
        spelling.entry(line_start(text, last), entry.as_ref().ok(), &state);
        faulty += usize::from(entry.is_err());
        if faulty > MAX_FAULTY {
            return Err(item.error(format!("more than {MAX_FAULTY} entries are malformed")));
        }
        entries.push(entry);
        Ok(())
    };
    let list = List { key: "checkpoints", nodes: yaml::MAX_NODES, take: &mut take };
    let root = yaml::parse_list(text, Dialect::Format, list)?;
    let list = root.get("checkpoints").ok_or_else(|| root.error("expected `checkpoints:`"))?;
    if !list.is_null() && list.items().is_none() {
        return Err(list.error("expected a list of checkpoints"));
    }
    let appendable = is_appendable(text, &root, first);
    let respelled = spelling.finish();
    Ok(Read { entries, appendable, last_at: line_start(text, last), respelled })
}

/// Returns the offset of the line that contains a byte.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |n| n + 1)
}

/// Compares the bytes of a log with the spelling that ctx writes for its entries (CKPT-28). The
/// reference implementation never seals a governance file: from the first entry that does, ctx
/// wrote the log.
struct Spelling<'t> {
    text: &'t str,
    /// Offset up to which the bytes have been compared, or need no comparison.
    at: usize,
    /// Expected spelling of the bytes from that offset to the next entry.
    expected: Option<String>,
    is_first: bool,
    is_ours: bool,
    differs_at: Option<usize>,
}

impl<'t> Spelling<'t> {
    fn new(text: &'t str) -> Self {
        let expected = Some(HEADER.to_owned());
        Self { text, at: 0, expected, is_first: true, is_ours: false, differs_at: None }
    }

    /// Adds the entry that begins at an offset; `None` for an entry that cannot be read, which is
    /// reported separately.
    fn entry(&mut self, at: usize, entry: Option<&Checkpoint>, state: &PublishedSet) {
        if self.differs_at.is_some() {
            return;
        }
        let was_ours = self.is_ours;
        self.is_ours |= entry.is_some_and(Checkpoint::seals_governance);
        // The text before the first entry is from the writer of that entry.
        if was_ours || self.is_ours && self.is_first {
            self.compare(at);
        }
        self.is_first = false;
        self.at = at;
        self.expected = entry.filter(|_| self.is_ours).map(|entry| spell(entry, state));
    }

    /// Compares the bytes up to an offset.
    fn compare(&mut self, to: usize) {
        let Some(expected) = self.expected.take() else { return };
        let found = self.text.get(self.at..to).unwrap_or_default();
        if found != expected {
            let same = found.bytes().zip(expected.bytes()).take_while(|(a, b)| a == b).count();
            self.differs_at = Some(self.at + same);
        }
    }

    /// Returns the line of the first difference, from 1.
    fn finish(mut self) -> Option<usize> {
        if self.is_ours && self.differs_at.is_none() {
            self.compare(self.text.len());
        }
        let before = self.text.as_bytes().get(..self.differs_at?)?;
        Some(1 + memchr::memchr_iter(b'\n', before).count())
    }
}

/// Returns true if `checkpoints` is the last key, with a block list indented by two, or still
/// empty. `first` is the offset of the first entry.
fn is_appendable(text: &str, root: &Node, first: Option<usize>) -> bool {
    let last = root.entries().and_then(<[_]>::last);
    let is_last = last.is_some_and(|(key, _)| key.text() == Some("checkpoints"));
    let spelled = match first {
        Some(first) => text[..first].ends_with("\n  - "),
        None => text.ends_with("checkpoints:\n"),
    };
    // In YAML, a lone CR also ends a line.
    let ended = text.split(['\n', '\r']).any(|line| line.starts_with("..."));
    let ends = text.ends_with('\n') || torn_tail::lacks_line_end_only(text.as_bytes());
    is_last && spelled && !ended && ends
}

fn read_entry(item: &Node, state: &mut PublishedSet) -> Result<Checkpoint, EntryFault> {
    let field = |name: &'static str| match item.get(name) {
        None => Err(EntryFault::Field(name, "nothing".to_owned())),
        Some(null) if null.is_null() => Err(EntryFault::Field(name, "null".to_owned())),
        Some(node) => Ok(node),
    };
    let text = |name: &'static str| {
        field(name)?.text().ok_or_else(|| EntryFault::Field(name, "a collection".to_owned()))
    };
    let number = field("checkpoint")?;
    let number = number.number().and_then(CheckpointNumber::recordable).ok_or_else(|| {
        EntryFault::Field("checkpoint", number.text().unwrap_or("a collection").to_owned())
    })?;
    let at = text("at")?
        .parse()
        .map_err(|_| EntryFault::Timestamp(text("at").unwrap_or_default().to_owned()))?;
    let trigger = text("triggered_by")?;
    let triggered_by = trigger
        .parse()
        .map_err(|e| EntryFault::Field("triggered_by", format!("`{trigger}`: {e}")))?;
    let hash = digest("checkpoint_hash", text("checkpoint_hash")?)?;
    let mut marks: BTreeMap<DocumentId, Mark> = BTreeMap::new();
    for (id, node) in pairs("document_versions", field("document_versions")?)? {
        let version = node.number().and_then(Version::recordable).ok_or_else(|| {
            EntryFault::Field("document_versions", node.text().unwrap_or("a collection").to_owned())
        })?;
        marks.insert(id, Mark { version: Some(version), chain_hash: None });
    }
    for (id, node) in pairs("document_chain_hashes", field("document_chain_hashes")?)? {
        let hash = digest("document_chain_hashes", node.text().unwrap_or_default())?;
        marks.entry(id).or_insert(Mark { version: None, chain_hash: None }).chain_hash = Some(hash);
    }
    let (chains, marks): (BTreeMap<DocumentId, Mark>, BTreeMap<DocumentId, Mark>) =
        marks.into_iter().partition(|(id, _)| id.is_chain());
    let gone = state.bound().keys().filter(|id| !chains.contains_key(*id)).cloned();
    let mut bound: Vec<Bound> = gone.map(|id| (id, None)).collect();
    let set = chains.into_iter().filter(|(id, mark)| state.bound().get(id) != Some(mark));
    bound.extend(set.map(|(id, mark)| (id, Some(mark))));
    bound.sort_by(|(a, _), (b, _)| a.cmp(b));
    let removed: Vec<DocumentId> =
        state.iter().map(|(id, _)| id).filter(|id| !marks.contains_key(*id)).cloned().collect();
    let mut set: Vec<(DocumentId, Mark)> =
        marks.into_iter().filter(|(id, mark)| state.get(id.as_str()) != Some(mark)).collect();
    set.shrink_to_fit();
    in_json_order(&mut set);
    for id in &removed {
        state.remove(id);
    }
    for (id, mark) in &set {
        state.set(id.clone(), *mark);
    }
    state.bind(&bound);
    Ok(Checkpoint { number, at, triggered_by, hash, set, removed, bound, merged: None })
}

fn digest(field: &'static str, text: &str) -> Result<Digest, EntryFault> {
    text.parse().map_err(|e| EntryFault::of_digest(field, text, &e))
}

fn pairs<'n>(
    field: &'static str,
    node: &'n Node,
) -> Result<Vec<(DocumentId, &'n Node)>, EntryFault> {
    let entries =
        node.entries().ok_or_else(|| EntryFault::Field(field, "not a mapping".to_owned()))?;
    entries
        .iter()
        .map(|(key, value)| {
            let name = key.text().unwrap_or_default();
            if key.is_null() {
                return Err(EntryFault::Field(field, "an id is null".to_owned()));
            }
            let id =
                name.parse().map_err(|e| EntryFault::Field(field, format!("`{name}`: {e}")))?;
            Ok((id, value))
        })
        .collect()
}

/// Spells an entry with the maps of `state`, as the reference implementation does.
pub(super) fn spell(checkpoint: &Checkpoint, state: &PublishedSet) -> String {
    let mut out = format!(
        "  - checkpoint: {}\n    at: {}\n    triggered_by: {}\n",
        checkpoint.number,
        emit::scalar(&checkpoint.at.to_string()),
        emit::scalar(checkpoint.triggered_by.as_str())
    );
    let mut map = |key: &str, value: &dyn Fn(&Mark) -> Option<String>| {
        let lines: String = state
            .whole()
            .into_iter()
            .filter_map(|(id, mark)| Some((emit::scalar(id.as_str()), value(mark)?)))
            .map(|(id, value)| format!("      {id}: {value}\n"))
            .collect();
        let empty = if lines.is_empty() { " {}" } else { "" };
        out.push_str(&format!("    {key}:{empty}\n{lines}"));
    };
    map("document_versions", &|mark| mark.version.map(|v| v.to_string()));
    map("document_chain_hashes", &|mark| mark.chain_hash.map(|h| h.to_string()));
    out.push_str(&format!("    checkpoint_hash: {}\n", checkpoint.hash));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::model::number::MAX_NUMBER;

    const INTEROP: &str =
        include_str!("../../../../fixtures/interop/procurement/.versions/context_history.yaml");

    #[test]
    fn full_spells_a_log_like_the_reference_implementation() {
        let mut state = PublishedSet::default();
        let mut again = HEADER.to_owned();
        for entry in parse(INTEROP).unwrap().entries {
            let entry = entry.unwrap();
            for (id, mark) in &entry.set {
                state.set(id.clone(), *mark);
            }
            again.push_str(&spell(&entry, &state));
        }
        assert_eq!(again, INTEROP);
    }

    #[test]
    fn full_finds_the_line_of_the_last_entry() {
        let at = parse(INTEROP).unwrap().last_at;
        assert_eq!(Some(at), INTEROP.rfind("\n  - checkpoint:").map(|newline| newline + 1));
    }

    #[test]
    fn full_limits_the_number_of_malformed_entries() {
        let rubbish = |n: usize| parse(&format!("checkpoints:\n{}", "  - 7\n".repeat(n)));
        assert_eq!(rubbish(MAX_FAULTY).unwrap().entries.len(), MAX_FAULTY);
        assert!(rubbish(MAX_FAULTY + 1).is_err_and(|why| why.to_string().contains("malformed")));
    }

    #[test]
    fn full_refuses_numbers_out_of_range() {
        let numbered = |n: &str| {
            let text = INTEROP.replacen("- checkpoint: 1\n", &format!("- checkpoint: {n}\n"), 1);
            parse(&text).unwrap().entries[0].is_ok()
        };
        assert!(numbered("1") && numbered(&MAX_NUMBER.to_string()));
        assert!(!numbered("0") && !numbered(&(MAX_NUMBER + 1).to_string()));
    }

    #[test]
    fn full_is_appendable_only_if_the_next_entry_fits() {
        let appendable = |text: &str| parse(text).unwrap().appendable;
        assert!(appendable(INTEROP));
        assert!(appendable(HEADER));
        assert!(appendable(INTEROP.trim_end()), "a writer ends the line first");
        for text in [
            "checkpoints: []\n",
            "checkpoints: ~\n",
            &INTEROP.replace("\n  ", "\n"),
            &format!("{INTEROP}...\n"),
            &format!("{INTEROP}\r...\n"),
            &format!("{INTEROP}more: 1\n"),
        ] {
            assert!(!appendable(text), "{text:.200}");
        }
    }
}
