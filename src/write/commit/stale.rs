//! Edits that are based on an earlier version, and would undo the published one. A live file names
//! the version that it was edited from by `version`, `checksum` and `updated_at`.

use super::expect::Expect;
use crate::files::vault::config::FrontmatterMode;
use crate::files::vault::files::Files;
use crate::record::chain::described::{self, Fields};
use crate::record::chain::history::{Entry, EntryState, History};
use crate::record::chain::walk::Walk;
use crate::text::document::Document;
use crate::text::document::frontmatter::Frontmatter;
use crate::text::document::live_form::LiveForm;
use crate::text::document::review::{self, ReviewFields, ReviewState};
use crate::text::document::second_block::second_block;
use crate::values::model::digest::Digest;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;

/// The version that an edit follows.
pub(crate) struct Last<'a> {
    pub(crate) version: Version,
    pub(crate) chain_hash: &'a Digest,
    pub(crate) text: &'a str,
    pub(crate) history: &'a History,
}

/// The text of an edit, and the version that its writer states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit {
    /// The version that the writer has read.
    pub(crate) expect: Expect,
    /// True if the text was handed in instead of the live file.
    ///
    /// A live file needs no version to be an edit of the first one: it may be the file from which
    /// the document was made.
    pub(crate) is_handed_in: bool,
}

/// The version that a live file was edited from, if it is not the last one.
enum Base {
    /// An older version.
    Older(Version),
    /// The file does not name a version.
    Unsaid,
    /// A version of the same number in another history.
    Other,
}

/// The reason for which a live file is `stale`, and a hint.
#[derive(Clone, Debug)]
pub(crate) struct Stale {
    pub(crate) message: String,
    pub(crate) hint: Hint,
}

/// Returns the reason for which a live file is not an edit of the last version.
///
/// `None` if it is one, or if the writer stated that it has read that version. `form` is the live
/// form of the last version.
pub(crate) fn find(
    (files, id): (&Files, &DocumentId),
    (live, document): (&str, &Document),
    (form, mode): (&LiveForm<'_>, FrontmatterMode),
    last: &Last<'_>,
    edit: Edit,
) -> Option<Stale> {
    if !edit.is_handed_in && !form.is_untouched() && document.lacks_frontmatter() {
        let body = &live[document.parts.body..];
        if second_block(body).is_some() {
            let message = "the frontmatter does not begin in line 1 with `---`, so its fields are part of the body";
            let hint = "move what is before the frontmatter below it; {} writes the published text";
            let restore = Call::new(Verb::Restore).value(id.as_str());
            return Some(Stale { message: message.to_owned(), hint: Hint::call(hint, restore) });
        }
    }
    match form.has_our_fields(document, mode) {
        true => by_fields(files, id, &document.frontmatter, last, edit),
        false => older_text(files, id, live, last, edit),
    }
}

/// Finds an edit of an earlier or other version by the fields of the file.
fn by_fields(
    files: &Files,
    id: &DocumentId,
    live: &Frontmatter,
    last: &Last<'_>,
    edit: Edit,
) -> Option<Stale> {
    let (head, expect) = (last.version, edit.expect);
    let call = |verb| Call::new(verb).value(id.as_str());
    let version = |call: Call, n: Version| call.value(n.to_string());
    let (message, hint) = match base(files, id, live, last, edit.is_handed_in) {
        Some(Base::Older(edited)) if !edit.is_handed_in && is_first_approval(last, edited) => (
            format!(
                "version {head} is a text that was submitted and approved; the file was edited from version {edited} too, and has other changes"
            ),
            Hint::calls(
                "{} shows what differs; merge what is not a later edit of yours, set `version` in the file to the published version, and run {}",
                [call(Verb::Diff), call(Verb::Publish)],
            ),
        ),
        Some(Base::Older(edited)) => (
            format!("the file was edited from version {edited}, but version {head} is published"),
            Hint::calls(
                "merge what {} shows, and set `version` in the file to the published version",
                [version(version(call(Verb::Diff), edited), head)],
            ),
        ),
        Some(Base::Unsaid) if !expect.is_said() && edit.is_handed_in => (
            format!(
                "the text does not say which version it was edited from; version {head} is published"
            ),
            Hint::calls(
                "merge what {} prints, and set `version` in the frontmatter, or run {}",
                [
                    call(Verb::Read),
                    version(
                        call(Verb::Submit).word("--from").word("FILE").word("--expect-version"),
                        head,
                    ),
                ],
            ),
        ),
        Some(Base::Unsaid) if !expect.is_said() && is_first_approval(last, Version::NONE) => (
            format!(
                "version {head} is a text that was submitted and approved; the file has other changes, and does not say which version it was edited from"
            ),
            Hint::calls(
                "{} shows what differs; merge what is not a later edit of yours, and run {}",
                [call(Verb::Diff), version(call(Verb::Publish).word("--expect-version"), head)],
            ),
        ),
        Some(Base::Unsaid) if !expect.is_said() => (
            format!(
                "the file does not say which version it was edited from; version {head} is published"
            ),
            Hint::calls(
                "see what it would undo with {}, then set `version` in its frontmatter, or run {}",
                [call(Verb::Diff), version(call(Verb::Publish).word("--expect-version"), head)],
            ),
        ),
        // Both sides have the same version number, so `--expect-version` does not show which one
        // was read.
        Some(Base::Other) if expect.hash.is_none() => (
            format!(
                "the file was not edited from the published version {head}: its `checksum` or `updated_at` differs, as after a merge that took the history of one side and the file of the other"
            ),
            Hint::calls(
                match review::is_ours(live) {
                    true => {
                        "merge what {} shows, with `checksum`, `updated_at` and the fields of the review, or run {}"
                    }
                    false => "merge what {} shows, with `checksum` and `updated_at`, or run {}",
                },
                [
                    call(Verb::Diff),
                    call(Verb::Publish).word("--expect-hash").value(last.chain_hash.to_string()),
                ],
            ),
        ),
        _ => return None,
    };
    Some(Stale { message, hint })
}

/// Returns true if the last version is an approved submission, and no other version was published
/// after `edited`.
///
/// In most cases the submission was made from the same file, which was then edited further.
fn is_first_approval(last: &Last<'_>, edited: Version) -> bool {
    let document = Document::parse(last.text).ok();
    let fields = document.and_then(|document| ReviewFields::of(&document.frontmatter));
    let between = |entry: &&Entry| entry.version > edited && entry.version < last.version;
    let mut between = last.history.entries().filter(between);
    fields.is_some_and(|fields| fields.state == ReviewState::Approved)
        && between.all(|entry| entry.state == EntryState::Unpublished)
}

/// Finds an earlier version with the text of a live file whose fields do not name a version.
fn older_text(
    files: &Files,
    id: &DocumentId,
    live: &str,
    last: &Last<'_>,
    edit: Edit,
) -> Option<Stale> {
    if edit.expect.is_said() {
        return None;
    }
    let mut walk = Walk::new(files, id, last.history);
    let mut older = None;
    while let Some(step) = walk.next() {
        let Ok(version) = step.version else { continue };
        let is_it = |text: &str| LiveForm::of(text).is_of(live);
        if version.entry.version < last.version && version.text.is_some_and(is_it) {
            older = Some(version.entry.version);
        }
    }
    let older = older?;
    let head = last.version;
    let message =
        format!("the file has the text of version {older}, but version {head} is published");
    let call = |verb| Call::new(verb).value(id.as_str());
    let hint = Hint::calls(
        "merge what {} shows; or run {}, if the old text is to be published again",
        [
            call(Verb::Diff).value(older.to_string()).value(head.to_string()),
            call(Verb::Publish).word("--expect-version").value(head.to_string()),
        ],
    );
    Some(Stale { message, hint })
}

fn base(
    files: &Files,
    id: &DocumentId,
    live: &Frontmatter,
    last: &Last<'_>,
    is_handed_in: bool,
) -> Option<Base> {
    match live.version {
        Some(edited) if (Version::FIRST..last.version).contains(&edited) => {
            Some(Base::Older(edited))
        }
        Some(edited) => {
            let is_other = edited == last.version
                && is_of_another((files, id), live, (last.text, last.history));
            is_other.then_some(Base::Other)
        }
        None => (is_handed_in || last.version > Version::FIRST).then_some(Base::Unsaid),
    }
}

/// Returns true if no version of the history has the `checksum` of a file, or its `updated_at`.
///
/// An author who merged the last version may have changed only `version`; editors that update
/// `updated_at` themselves make it later.
fn is_of_another(
    (files, id): (&Files, &DocumentId),
    live: &Frontmatter,
    (text, history): (&str, &History),
) -> bool {
    let (checksum, at) = (digest(live.checksum.as_ref()), instant(live.updated_at.as_ref()));
    let is_strange = |given: &[Fields]| {
        let end = given.last().and_then(|fields| instant(fields.updated_at.as_ref()));
        let has_checksum = |fields: &Fields| digest(fields.checksum.as_ref()) == checksum;
        let has_instant = |fields: &Fields| instant(fields.updated_at.as_ref()) == at;
        let is_earlier = at.zip(end).is_some_and(|(at, end)| at < end);
        checksum.is_some() && !given.iter().any(has_checksum)
            || is_earlier && !given.iter().any(has_instant)
    };
    let described = described::Reader::default().read(id, text).ok().flatten();
    if !is_strange(described.map(|described| described.fields).as_slice()) {
        return false;
    }
    let mut walk = Walk::new(files, id, history);
    let mut given = Vec::new();
    while let Some(step) = walk.next() {
        let described = step.version.ok().and_then(|mut version| version.describe().ok().flatten());
        given.extend(described.map(|described| described.fields));
    }
    is_strange(&given)
}

/// Returns the first field of a review that a person changed in a live file; `text` is the published
/// one (REV-4).
///
/// Fields that are all those of one version were not changed: the file was edited from that version.
/// Neither were those of another branch, whose file [`find`] refuses unless the writer has read the
/// published text.
pub(crate) fn changed_by_hand(
    (files, id): (&Files, &DocumentId),
    live: &Frontmatter,
    (text, history): (&str, &History),
) -> Option<&'static str> {
    let field = review::changed(live, &Document::parse(text).ok()?.frontmatter)?;
    let mut walk = Walk::new(files, id, history);
    while let Some(step) = walk.next() {
        let text = step.version.ok().and_then(|version| version.text);
        let other = text.and_then(|text| Document::parse(text).ok());
        if other.is_some_and(|other| review::differing(live, &other.frontmatter).is_none()) {
            return None;
        }
    }
    (!is_of_another((files, id), live, (text, history))).then_some(field)
}

fn digest(text: Option<&String>) -> Option<Digest> {
    text?.parse().ok()
}

fn instant(text: Option<&String>) -> Option<Timestamp> {
    text?.parse().ok()
}
