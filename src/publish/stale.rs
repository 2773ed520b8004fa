//! Edits that began before what is published now, and would undo it. A live file says what it was
//! edited from: by `version`, and by the `checksum` and `updated_at` that this version was given.

use super::Refusal;
use super::expect::Expect;
use crate::chain::digest::Digest;
use crate::document::Document;
use crate::document::frontmatter::Frontmatter;
use crate::document::id::Id;
use crate::vault::clock::Timestamp;
use crate::words::argument;

/// The version that an edit follows.
pub(super) struct Last<'a> {
    pub(super) version: u64,
    pub(super) chain_hash: &'a Digest,
    pub(super) text: &'a str,
}

/// What a live file was edited from, where that is not the last version.
enum Base {
    /// An older version.
    Older(u64),
    /// It does not say.
    Unsaid,
    /// A version of the same number, or a later one, of another history.
    Other,
}

/// Refuses an edit (`stale`) of something else than the last version, unless the writer said that
/// it has read that one.
pub(super) fn refuse(
    id: &Id,
    live: &Frontmatter,
    last: &Last<'_>,
    expect: Expect,
) -> Result<(), Refusal> {
    let typed = argument(id.as_str());
    let head = last.version;
    let (message, hint) = match base(live, last) {
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

fn base(live: &Frontmatter, last: &Last<'_>) -> Option<Base> {
    match live.version {
        Some(edited) if (1..last.version).contains(&edited) => Some(Base::Older(edited)),
        Some(_) => is_other(live, last.text).then_some(Base::Other),
        None => (last.version > 1).then_some(Base::Unsaid),
    }
}

/// Whether the fields that publishing sets are of another publication. Editors that keep
/// `updated_at` themselves make it later, never earlier.
fn is_other(live: &Frontmatter, text: &str) -> bool {
    let Ok(made) = Document::parse(text).map(|document| document.frontmatter) else { return false };
    let digest = |of: &Frontmatter| of.checksum.as_ref()?.parse::<Digest>().ok();
    let instant = |of: &Frontmatter| of.updated_at.as_ref()?.parse::<Timestamp>().ok();
    let differs = digest(live).zip(digest(&made)).is_some_and(|(edited, made)| edited != made);
    let is_earlier = instant(live).zip(instant(&made)).is_some_and(|(edited, made)| edited < made);
    differs || is_earlier
}
