//! Reads the text of one version, of the published one, or of the live file.

use crate::files::vault::Vault;
use crate::files::vault::files::Files;
use crate::policy::rules::{Reviewed, Track};
use crate::policy::stewards::Role;
use crate::read::snapshot::traced::Origin;
use crate::read::snapshot::{Served, Snapshot, seals};
use crate::read::working;
use crate::record::audit::Text;
use crate::record::chain::error::ChainError;
use crate::record::chain::history::{EntryState, History};
use crate::record::chain::{replay, vouched};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::service::report::failure::{Code, Failure};
use crate::text::document::Document;
use crate::text::document::review::ReviewFields;
use crate::text::document::text::normalise;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{self, limit};
use crate::values::model::number::Version;
use crate::values::text_util::nearest_name;
use crate::values::yaml::canonical_number;
use crate::write::publish::review::rules_in_force;

/// Parses a version number: `3` or `v3`.
pub(crate) fn number(text: &str) -> Result<Version, Failure> {
    let digits = text.strip_prefix('v').unwrap_or(text);
    let number = canonical_number(digits).filter(|n| *n > 0);
    number.map(Version).ok_or_else(|| {
        let failure = Failure::new(Code::Usage, format!("`{text}` is not a version number"));
        let pinned = text.rsplit_once('@').and_then(|(_, number)| canonical_number(number));
        match pinned {
            Some(number) => failure.hint(format!("did you mean the number alone, `{number}`?")),
            None => failure.hint("versions are numbered 1, 2, 3"),
        }
    })
}

/// Returns the verified text of a version, and its history. Steps of a review are refused, and a
/// version that the reader of `head` may not read looks like a missing one.
pub(super) fn text_of(
    vault: &Vault,
    head: &Snapshot<'_>,
    chronicle: &Chronicle<'_>,
    id: &DocumentId,
    version: Version,
) -> Result<(String, History), Failure> {
    check_name(head, id)?;
    if is_hidden(vault, id) {
        return Err(unknown(head, id.as_str())?);
    }
    let (text, history) = any_text_of(vault, chronicle, id, version)?;
    let is_step = check_text(head, id, (version, &history), &text)?;
    if is_step && !(chronicle.form().is_shared() && id.is_document()) {
        let message = format!("version {version} of `{id}` was never published");
        let awaits = Track::of(vault.files(), id, &history).is_ok_and(|track| {
            track
                .pending
                .is_some_and(|pending| (pending.version..=pending.last.0).contains(&version))
        });
        let call = Call::new(Verb::ReviewShow).value(id.as_str());
        let (call, hint) = match awaits {
            true => (call, "it awaits a decision: {} shows it to reviewers"),
            false => (
                call.word("--version").value(version.to_string()),
                "if it is a submission, {} shows it to its submitter, editors and reviewers",
            ),
        };
        return Err(Failure::new(Code::Withheld, message).hint(Hint::call(hint, call)));
    }
    match head.unapproved(id, version, &history) {
        Some(why) => Err(failed(vault, id, version, why)),
        None => Ok((text, history)),
    }
}

/// Returns the text of a version that was published without a valid approval, and the fault, for
/// comparison by a reviewer; `None` for other versions and other principals.
pub(super) fn unapproved_text(
    (vault, chronicle, head): (&Vault, &Chronicle<'_>, &Snapshot<'_>),
    id: &DocumentId,
    version: Version,
) -> Option<(String, History, String)> {
    check_name(head, id).ok()?;
    let (text, history) = any_text_of(vault, chronicle, id, version).ok()?;
    check_text(head, id, (version, &history), &text).ok()?;
    let finding = head.unapproved(id, version, &history)?.to_string();
    let rules = rules_in_force(vault, chronicle).ok().flatten()?;
    let (principal, _) = vault.reader().principal()?;
    let is_fit = rules.require(principal.as_str(), Role::Reviewer, [(id, text.as_str())]);
    is_fit.ok().map(|()| (text, history, finding))
}

/// Refuses a text that the reader of `head` may not read, as if the version did not exist (REV-24).
/// Returns true if it is a step of a review.
pub(crate) fn check_text(
    head: &Snapshot<'_>,
    id: &DocumentId,
    (version, history): (Version, &History),
    text: &str,
) -> Result<bool, Failure> {
    let is_step =
        history.entry(version).is_some_and(|entry| entry.state == EntryState::Unpublished);
    match head.may_read(id, text, is_step) {
        true => Ok(is_step),
        false => Err(no_version(id, version)),
    }
}

/// Returns the text and history of any version, for a reviewer. A sealed version must
/// match its seal.
pub(super) fn any_text_of(
    vault: &Vault,
    chronicle: &Chronicle<'_>,
    id: &DocumentId,
    version: Version,
) -> Result<(String, History), Failure> {
    let failed = |why| failed(vault, id, version, why);
    let history = replay::load(vault.files(), id).map_err(failed)?;
    if history.entry(version).is_none() {
        return Err(no_entry((vault, chronicle), id, version, &history));
    }
    let text = vouched::vouched(vault.files(), id, &history, version).map_err(failed)?;
    let found = history.entry(version).map(|entry| entry.chain_hash);
    let changes = chronicle.checkpoints().iter().flat_map(|checkpoint| checkpoint.changes());
    for (_, _, mark) in changes.filter(|(changed, ..)| *changed == id) {
        if let (Some((number, expected)), Some(found)) =
            (mark.and_then(|mark| mark.sealed()), found)
            && number == version
            && expected != found
        {
            return Err(failed(ChainError::CrossChain { expected, found }));
        }
    }
    Ok((text, history))
}

/// Returns the failure for a version that cannot be read.
pub(crate) fn failed(vault: &Vault, id: &DocumentId, version: Version, why: ChainError) -> Failure {
    match why.explained(vault, id) {
        why @ (ChainError::HistoryMissing | ChainError::LeftOut) => {
            Failure::history(vault, id, why)
        }
        ChainError::VersionMissing(_) => no_version(id, version),
        why => Failure::new(Code::Withheld, format!("version {version} of `{id}`: {why}"))
            .hint(Hint::call("run {} for a full report", Verb::Verify)),
    }
}

/// Returns the failure for a version without an entry in the history. A checkpoint may seal it.
fn no_entry(
    (vault, chronicle): (&Vault, &Chronicle<'_>),
    id: &DocumentId,
    version: Version,
    history: &History,
) -> Failure {
    let record = chronicle.own_record(id, history);
    let seal = record.seals.iter().find(|seal| seal.mark.version == Some(version));
    let Some(seal) = seal else {
        return failed(vault, id, version, ChainError::VersionMissing(version));
    };
    let (missing, at) = (ChainError::VersionMissing(version), seal.checkpoint);
    Failure::new(
        Code::Withheld,
        format!("`{id}` is withheld: {missing}, but checkpoint {at} seals it"),
    )
    .hint(Hint::call("run {} for a full report", Verb::Verify))
}

/// Returns the failure for a version that an artifact does not have.
fn no_version(id: &DocumentId, version: Version) -> Failure {
    let history = Call::new(Verb::History).value(id.as_str());
    Failure::new(Code::UnknownVersion, format!("unknown version {version} of `{id}`"))
        .hint(Hint::call("{} lists its versions", history))
}

/// Returns true if an artifact does not exist for the reader because no version of it was ever
/// published. An unreadable history may contain a published version.
pub(crate) fn is_hidden(vault: &Vault, id: &DocumentId) -> bool {
    vault.reader().is_of_published() && !was_published(vault, id)
}

fn was_published(vault: &Vault, id: &DocumentId) -> bool {
    match replay::load(vault.files(), id) {
        Ok(history) => !history.slots.iter().all(|slot| {
            slot.entry.as_ref().is_ok_and(|entry| entry.state == EntryState::Unpublished)
        }),
        Err(ChainError::HistoryMissing) => false,
        Err(_) => true,
    }
}

/// Refuses an artifact that the reader of `head` cannot know of, like a missing one.
pub(crate) fn check_name(head: &Snapshot<'_>, id: &DocumentId) -> Result<(), Failure> {
    if head.may_name(id) { Ok(()) } else { Err(unknown(head, id.as_str())?) }
}

/// Returns the failure for an unknown name, with the nearest id that the reader of `head` may
/// know of.
///
/// # Errors
/// Damage to a file of the rules hides every name (REV-21), or the log is not valid.
pub(crate) fn unknown(head: &Snapshot<'_>, name: &str) -> Result<Failure, Failure> {
    head.check_rules()?;
    let known = || Ok::<_, Failure>(head.state()?.iter().map(|(id, _)| id.as_str()));
    // The name may be a folder, or a shell pattern for the files in one.
    let folder = name.find('*').map_or(Some(name), |at| Some(name[..at].rsplit_once('/')?.0));
    let folder = folder.map(|folder| format!("{folder}/"));
    if let Some(folder) = folder
        && known()?.any(|id| id.starts_with(&folder))
    {
        let resolve = Call::new(Verb::Resolve).value(folder.as_str());
        let failure = Failure::unknown_id(name, Some(&folder));
        return Ok(failure.hint(Hint::call("{} prints the documents in this folder", resolve)));
    }
    Ok(Failure::unknown_id(name, nearest_name(name, known()?, '/')))
}

/// Returns the access-log record of a text that was made from a version.
pub(crate) fn recorded(
    (files, chronicle): (&Files, &Chronicle<'_>),
    id: &DocumentId,
    (version, history): (Version, &History),
    (sealed, handed_out): (&str, &str),
) -> Option<Text> {
    let entry = history.entry(version)?;
    let checkpoint = seals::of_log(chronicle, id, history).get(&version).copied();
    let fields = Document::parse(sealed).ok().map(|read| read.frontmatter);
    let author = fields.as_ref().and_then(|fields| fields.author.as_deref());
    let review = fields.as_ref().and_then(ReviewFields::of);
    let reviewed = Reviewed::of(files, id, history, version, review.as_ref());
    let reviewed = reviewed.as_ref();
    Some(Origin { id, checkpoint, entry, author, reviewed }.text(handed_out))
}

/// Returns the live text of an artifact, in normal form.
pub(crate) fn live_text(vault: &Vault, id: &DocumentId) -> Result<String, Failure> {
    let path = id.live_path();
    let missing = || missing_file(id);
    if !id.is_document() {
        let bytes = vault.files().read_optional(&path, limit::DOCUMENT)?.ok_or_else(missing)?;
        let text = crate::text::document::utf8(&bytes)
            .map_err(|why| Failure::new(Code::Refused, format!("`{path}` is {why}")))?;
        return Ok(normalise(text).into_owned());
    }
    match working::read(vault, &path) {
        None => Err(missing()),
        Some(working::LiveFile { content: Ok(content), .. }) => {
            Ok(normalise(&content.text).into_owned())
        }
        Some(working::LiveFile { content: Err(problem), .. }) => {
            Err(Failure::new(Code::Refused, format!("`{path}`: {}", problem.message))
                .hint(problem.hint))
        }
    }
}

/// Returns the failure for an artifact without a live file.
pub(crate) fn missing_file(id: &DocumentId) -> Failure {
    let read = Call::new(Verb::Read).value(id.as_str());
    Failure::new(Code::UnknownId, format!("the file `{}` does not exist", id.live_path()))
        .hint(Hint::call("{} prints the published text", read))
}

/// Returns the verified text of an artifact, or a failure that explains why it is not published.
pub(crate) fn published(
    vault: &Vault,
    snapshot: &Snapshot<'_>,
    id: &DocumentId,
) -> Result<Served, Failure> {
    match snapshot.get(id) {
        Some(Ok(served)) => Ok(served),
        Some(Err(withheld)) => Err(withheld.into()),
        None => {
            snapshot.check_rules()?;
            let at = snapshot.checkpoint();
            let message = format!("`{id}` is not published at checkpoint {at}");
            let call = |verb| Call::new(verb).value(id.as_str());
            let is_limited = snapshot.is_limited() || is_hidden(vault, id);
            let hint = if !is_limited && vault.files().exists(&id.history_path()) {
                Hint::call("{} shows when it was published", call(Verb::History))
            } else if !is_limited && vault.files().exists(&id.live_path()) {
                match DocumentId::of_document_file(&id.live_path()) {
                    Ok(_) if !vault.is_document_path(&id.live_path()) => Hint::call(
                        "no document can have this path; {} gives the reason",
                        Call::new(Verb::Status).word("--ignored"),
                    ),
                    Ok(_) => {
                        Hint::call("it was never published; {} {publishes} it", call(Verb::Publish))
                    }
                    Err(_) if id.live_path() == layout::CONTEXT => Hint::call(
                        "{} prints the instructions of the vault",
                        Call::new(Verb::Read).value(layout::CONTEXT),
                    ),
                    Err(_) => Hint::from(format!("`{}` is not a document", id.live_path())),
                }
            } else {
                let unknown = unknown(snapshot, id.as_str())?;
                // A reader with limits must not learn anything else about a hidden document.
                let is_same = snapshot.is_limited();
                return Err(if is_same { unknown } else { Failure { message, ..unknown } });
            };
            Err(Failure::new(Code::UnknownId, message).hint(hint))
        }
    }
}
