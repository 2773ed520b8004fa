//! Explains flipped bits that need not be found: the only accepted reason is equality of the parsed
//! file before and after, never the position of the bit.

use std::path::Path;

use contextnest::files::vault::Vault;
use contextnest::files::vault::config::LogForm;
use contextnest::model::timestamp::Timestamp;
use contextnest::record::chain::history::{Entry, History, Slot};
use contextnest::record::chain::vouched;
use contextnest::record::checkpoint::event::Checkpoint;
use contextnest::record::checkpoint::log::Log;
use contextnest::record::checkpoint::state::Mark;
use contextnest::text::document::Document;
use contextnest::text::document::frontmatter::Status;
use contextnest::text::document::text::normalise;

use super::vaults::{Role, Target};
use crate::honest::Kind;

/// Returns why the verifier may ignore a change of a file from `target` to `after`; `None` if it
/// may not. `root` is the untouched vault, and `is_sealed` is true of a governance file that any
/// checkpoint contains.
pub(super) fn explain(
    kind: Kind,
    root: &Path,
    target: &Target,
    after: &[u8],
    is_sealed: bool,
) -> Option<&'static str> {
    match target.role {
        Role::History => history(kind, &target.bytes, after)
            .or_else(|| publication_time(kind, root, target, after)),
        Role::Log => log(kind, &target.bytes, after),
        Role::Keyframe | Role::DiffFile => line_ends(&target.bytes, after),
        Role::Governance if !is_sealed => Some("a governance file that no checkpoint holds"),
        Role::Governance => line_ends(&target.bytes, after),
        Role::Live => line_ends(&target.bytes, after).or_else(|| draft(after)),
    }
}

fn history(kind: Kind, before: &[u8], after: &[u8]) -> Option<&'static str> {
    let (before, after) = (History::parse(before).ok()?, History::parse(after).ok()?);
    // In a log that follows from the histories, every spelling and every interval is determined.
    let is_free = kind != Kind::Delta;
    let intervals = (before.keyframe_interval, after.keyframe_interval);
    let (old, new) = (entries(&before.slots)?, entries(&after.slots)?);
    let (old_bare, new_bare) = (old.iter().map(bare), new.iter().map(bare));
    if old == new && intervals.0 == intervals.1 {
        return is_free.then_some("another spelling of the same record");
    }
    if !old_bare.eq(new_bare) {
        return None;
    }
    match (old == new, intervals.0 == intervals.1) {
        (false, true) => Some("a note, which no hash covers"),
        (true, false) if is_free => Some("a keyframe interval that nothing vouches for"),
        _ => None,
    }
}

/// Returns the entries, if all are sound and match their places.
fn entries(slots: &[Slot]) -> Option<Vec<Entry>> {
    slots.iter().map(|slot| slot.entry.clone().ok()).collect()
}

/// The reference implementation publishes at an instant between those of text and checkpoint that
/// nothing else records: any other one between them is equivalent.
fn publication_time(
    kind: Kind,
    root: &Path,
    target: &Target,
    after: &[u8],
) -> Option<&'static str> {
    let (id, vault) = (target.id.as_ref()?, Vault::open(root).ok()?);
    let (before, after) = (History::parse(&target.bytes).ok()?, History::parse(after).ok()?);
    let log = Log::read(&vault).ok()?;
    let (old, new) = (entries(&before.slots)?, entries(&after.slots)?);
    if kind != Kind::Interop || old.len() != new.len() {
        return None;
    }
    for (old, new) in old.iter().zip(&new).filter(|(old, new)| old != new) {
        let (_, now) = (old.published_at()?, new.published_at()?);
        if *old != (Entry { state: old.state, ..new.clone() }) {
            return None;
        }
        let text = vouched::vouched(vault.files(), id, &before, old.version).ok()?;
        let updated: Timestamp =
            Document::parse(&text).ok()?.frontmatter.updated_at?.parse().ok()?;
        let seals = |checkpoint: &&Checkpoint| {
            let sealed = |mark: &Mark| mark.chain_hash == Some(old.chain_hash);
            checkpoint.set.iter().any(|(of, mark)| of == id && sealed(mark))
        };
        let sealed = log.entries.iter().flatten().find(seals)?.at;
        if now < updated || now > sealed {
            return None;
        }
    }
    Some("a time of publication between those of text and checkpoint")
}

fn bare(entry: &Entry) -> Entry {
    Entry { note: None, ..entry.clone() }
}

fn log(kind: Kind, before: &[u8], after: &[u8]) -> Option<&'static str> {
    // A line of a delta log has one spelling.
    if kind == Kind::Delta {
        return None;
    }
    let read = |bytes| Log::parse(LogForm::Full, bytes);
    let (before, after) = (read(before), read(after));
    let is_same = before.diagnosis.unreadable.is_none()
        && after.diagnosis.unreadable.is_none()
        && before.entries == after.entries
        && before.diagnosis.torn == after.diagnosis.torn;
    is_same.then_some("another spelling of the same record")
}

fn line_ends(before: &[u8], after: &[u8]) -> Option<&'static str> {
    let (before, after) = (std::str::from_utf8(before).ok()?, std::str::from_utf8(after).ok()?);
    (normalise(before) == normalise(after)).then_some("line ends")
}

fn draft(after: &[u8]) -> Option<&'static str> {
    let document = Document::parse(&normalise(std::str::from_utf8(after).ok()?)).ok()?;
    (document.frontmatter.status == Status::Draft).then_some("a live file that says draft")
}
