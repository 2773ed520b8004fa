//! Edits that began before what is published now, and would undo it. A live file says what it was
//! edited from: by `version`, and by the `checksum` and `updated_at` that this version was given.

use super::Refusal;
use super::expect::Expect;
use crate::chain::described::{self, Fields};
use crate::chain::history::{Entry, History};
use crate::chain::replay::Replay;
use crate::document::frontmatter::Frontmatter;
use crate::model::digest::Digest;
use crate::model::id::Id;
use crate::model::timestamp::Timestamp;
use crate::vault::files::Files;
use crate::words::argument;

/// The version that an edit follows.
pub(super) struct Last<'a> {
    pub(super) version: u64,
    pub(super) chain_hash: &'a Digest,
    pub(super) text: &'a str,
    pub(super) history: &'a History,
}

/// What a live file was edited from, where that is not the last version.
enum Base {
    /// An older version.
    Older(u64),
    /// It does not say.
    Unsaid,
    /// A version of the same number that another history has.
    Other,
}

/// Refuses an edit (`stale`) of something else than the last version, unless the writer said that
/// it has read that one.
pub(super) fn refuse(
    files: &Files,
    id: &Id,
    live: &Frontmatter,
    last: &Last<'_>,
    expect: Expect,
) -> Result<(), Refusal> {
    let typed = argument(id.as_str());
    let head = last.version;
    let (message, hint) = match base(files, id, live, last) {
        Some(Base::Older(edited)) => (
            format!("the file was edited from version {edited}, but version {head} is published"),
            format!(
                "take in what `ctx diff {typed} {edited} {head}` shows, and set `version: {head}` in the file"
            ),
        ),
        Some(Base::Unsaid) if !expect.is_said() => (
            format!(
                "the file does not say from which version it was edited, but version {head} is published"
            ),
            format!(
                "see what it would undo with `ctx diff {typed}`; then set `version: {head}` in its frontmatter, or say `ctx publish {typed} --expect-version {head}`"
            ),
        ),
        // The number of the version is on both sides: it does not say which of them was read.
        Some(Base::Other) if expect.hash.is_none() => (
            format!(
                "the file was not edited from the published version {head}: its `checksum` or `updated_at` is another, as after a merge that took the history of one side and the file of the other"
            ),
            format!(
                "take in what `ctx diff {typed}` shows, with `checksum` and `updated_at`, or say `ctx publish {typed} --expect-hash {}`",
                last.chain_hash
            ),
        ),
        _ => return Ok(()),
    };
    Err(Refusal::new(id.live_path(), "stale", message, &hint))
}

fn base(files: &Files, id: &Id, live: &Frontmatter, last: &Last<'_>) -> Option<Base> {
    match live.version {
        Some(edited) if (1..last.version).contains(&edited) => Some(Base::Older(edited)),
        Some(edited) => {
            let is_other = edited == last.version && is_of_another(files, id, live, last);
            is_other.then_some(Base::Other)
        }
        None => (last.version > 1).then_some(Base::Unsaid),
    }
}

/// Whether no version of the history was given the `checksum` of a file, or its `updated_at`. Whoever
/// has taken in the last version may have set nothing but `version`; editors that keep `updated_at`
/// themselves make it later.
fn is_of_another(files: &Files, id: &Id, live: &Frontmatter, last: &Last<'_>) -> bool {
    let (checksum, at) = (digest(live.checksum.as_ref()), instant(live.updated_at.as_ref()));
    let is_strange = |given: &[Fields]| {
        let end = given.last().and_then(|fields| instant(fields.updated_at.as_ref()));
        let has_checksum = |fields: &Fields| digest(fields.checksum.as_ref()) == checksum;
        let has_instant = |fields: &Fields| instant(fields.updated_at.as_ref()) == at;
        let is_earlier = at.zip(end).is_some_and(|(at, end)| at < end);
        checksum.is_some() && !given.iter().any(has_checksum)
            || is_earlier && !given.iter().any(has_instant)
    };
    let mut described = described::Reader::default();
    let mut fields = |text: &str| Some(described.read(id, text).ok()??.fields);
    if !is_strange(fields(last.text).as_slice()) {
        return false;
    }
    let mut replay = Replay::new(files, id, None);
    let of_entry = |entry: &Entry| {
        let _ = replay.step(entry);
        fields(replay.text()?)
    };
    is_strange(&last.history.entries().filter_map(of_entry).collect::<Vec<_>>())
}

fn digest(text: Option<&String>) -> Option<Digest> {
    text?.parse().ok()
}

fn instant(text: Option<&String>) -> Option<Timestamp> {
    text?.parse().ok()
}
