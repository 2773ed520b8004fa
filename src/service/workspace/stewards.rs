//! Reads and changes stewards for a command: those in force, those of one artifact, and those in
//! the live `stewards.yaml`.

use std::collections::BTreeSet;

use super::Workspace;
use crate::files::vault::Vault;
use crate::policy::in_force::{self, TextInForce};
use crate::policy::stewards::basis::StewardsAt;
use crate::policy::stewards::codeowners::{Imported, Mapped};
use crate::policy::stewards::{Role, Scope, ScopeKind, Stewards, Who, edit, read};
use crate::policy::viewer::Viewer;
use crate::read::snapshot::{CheckpointSource, Snapshot, Withheld};
use crate::read::working;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::log::Log;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::stewards::{ScopeKey, scope_key};
use crate::text::document::text::normalise;
use crate::text::document::utf8;
use crate::text::document::validate::Problem;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{STEWARDS, limit};
use crate::values::model::number::CheckpointNumber;
use crate::values::model::tag::Tag;
use crate::write::publish::{self, Mode, Outcome, PublishError, Refusal};

/// Maximum number of assignments in one import.
const MAX_IMPORTED: usize = 1_000;

/// The tags of an artifact, and the text that has them.
pub(crate) struct TagsOf {
    pub(crate) tags: Vec<Tag>,
    /// True if the tags are those of the live file.
    pub(crate) is_live: bool,
    /// The tags of the published text, if they differ.
    pub(crate) published: Option<Vec<Tag>>,
}

/// A change of one assignment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Assigning {
    /// Assigns this role.
    To(Role),
    /// Removes the assignment.
    Nothing,
}

/// Parses a role.
///
/// # Errors
/// There is no such role.
pub(crate) fn role(word: &str) -> Result<Role, Failure> {
    Role::from_word(word).ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{word}` is not a role"))
            .hint("roles are `viewer`, `editor` and `reviewer`")
    })
}

/// Parses a principal, or the name of a group.
///
/// # Errors
/// The name is not a valid principal.
pub(crate) fn holder(name: &str, is_group: bool) -> Result<Who, Failure> {
    if is_group {
        return Ok(Who::Group(name.to_owned()));
    }
    let principal = name
        .parse()
        .map_err(|why| Failure::new(Code::Usage, format!("`{name}` is not a principal: {why}")))?;
    Ok(Who::Principal(principal))
}

/// Returns the scope of a folder, a tag or an id, or else that of the vault.
///
/// # Errors
/// The name is not valid for this kind of scope.
pub(crate) fn scope(
    folder: Option<&str>,
    tag: Option<&str>,
    document: Option<&DocumentId>,
) -> Result<Scope, Failure> {
    let (kind, name) = match (folder, tag, document) {
        (Some(folder), ..) => (ScopeKind::Folder, folder),
        (_, Some(tag), _) => (ScopeKind::Tag, tag),
        (.., Some(id)) => (ScopeKind::Document, id.as_str()),
        (None, None, None) => (ScopeKind::Vault, ""),
    };
    Scope::parse(kind, name).map_err(|why| Failure::new(Code::Usage, why.to_string()))
}

impl Workspace<'_> {
    /// Returns the stewards in force at a checkpoint or at the head, and a failure if the roles
    /// there are unknown because a file of the rules cannot be read.
    ///
    /// # Errors
    /// There is no such checkpoint, or the log is not valid.
    pub(crate) fn stewards_at(
        &self,
        vault: &Vault,
        log: &Log,
        at: Option<CheckpointNumber>,
    ) -> Result<(StewardsAt, Result<(), Failure>), Failure> {
        let chronicle = log.sound()?;
        let checkpoint = match at {
            Some(number) => chronicle.checkpoint(number)?.number,
            None => chronicle.head_number(),
        };
        let rules = in_force::InForce::of(vault.files(), &chronicle);
        let in_force = rules.stewards(vault.files(), checkpoint);
        let is_edited = at.is_none() && is_edited(vault, &chronicle);
        let is_governed = rules.at(checkpoint).rules().is_some();
        let mut lost = rules.lost_at(checkpoint).into_iter();
        let known = match lost.find(|lost| is_governed || lost.id == DocumentId::stewards()) {
            Some(lost) => Err(Withheld::of_rules(vault, &lost).into()),
            None => Ok(()),
        };
        Ok((StewardsAt { checkpoint, in_force, is_edited }, known))
    }

    /// Returns the scopes at which the reader has a role, by kind and name, if the reader may not
    /// read `stewards.yaml` itself; `None` if the reader may see all scopes.
    ///
    /// # Errors
    /// No principal is configured, the log is not valid, or a file of the rules cannot be read.
    pub(crate) fn own_scopes(
        &self,
        vault: &Vault,
        log: &Log,
        found: &StewardsAt,
    ) -> Result<Option<BTreeSet<ScopeKey>>, Failure> {
        let Some(viewer) = Viewer::of_log(vault, &log.sound()?)? else { return Ok(None) };
        if let Some(lost) = viewer.lost.first() {
            return Err(Withheld::of_rules(vault, lost).into());
        }
        let own = viewer.own_scopes(&found.in_force.stewards);
        Ok(own.map(|own| own.iter().map(scope_key).collect()))
    }

    /// Returns the tags that decide about the stewards of an artifact: of the live file, if there
    /// is one and `at` is `None`, or else of the published text.
    ///
    /// # Errors
    /// No artifact has this id at the checkpoint, or its text cannot be read.
    pub(crate) fn tags_of(
        &self,
        (vault, source): (&Vault, &CheckpointSource),
        id: &DocumentId,
        at: Option<CheckpointNumber>,
    ) -> Result<TagsOf, Failure> {
        let of_live = |tags| TagsOf { tags, is_live: true, published: None };
        if !id.is_document() && at.is_none() {
            return Ok(of_live(Vec::new()));
        }
        let snapshot = Snapshot::of(vault, source, at)?;
        let published = snapshot.get(id);
        let live = match at {
            Some(_) => None,
            None => working::tags(vault, id),
        };
        match (live, published) {
            (Some(live), published) => {
                let tags = live.map_err(|problem| unread(id, &problem))?;
                let published = published.and_then(Result::ok).map(|served| served.fields.tags);
                let published = published.filter(|other| folded(other) != folded(&tags));
                Ok(TagsOf { published, ..of_live(tags) })
            }
            (None, Some(Ok(served))) => {
                Ok(TagsOf { tags: served.fields.tags, is_live: false, published: None })
            }
            (None, Some(Err(Withheld { why, .. }))) => {
                Err(Failure::new(Code::Withheld, format!("`{id}` is withheld: {why}")))
            }
            (None, None) => Err(Failure::unknown_id(id.as_str(), None)),
        }
    }

    /// Changes one assignment in the live file, and publishes the file.
    ///
    /// # Errors
    /// Nothing was changed.
    pub(crate) fn assign(
        &self,
        vault: &Vault,
        (scope, who): (&Scope, &Who),
        assigning: Assigning,
        (note, mode): (Option<&str>, Mode),
    ) -> Result<Outcome, Failure> {
        let stewards = live_stewards(vault)?;
        check_group(&stewards, who)?;
        if matches!(assigning, Assigning::Nothing) && !is_assigned(&stewards, scope, who) {
            let message = format!("{who} does not have a role at {scope} in the live `{STEWARDS}`");
            return Err(Failure::new(Code::Usage, message)
                .hint("`ctx steward list` lists the published assignments"));
        }
        self.set_stewards(vault, (note, mode), |text| match assigning {
            Assigning::To(role) => edit::assign(text, scope, who, role),
            Assigning::Nothing => edit::remove(text, scope, who),
        })
    }

    /// Makes the owners in a `CODEOWNERS` file reviewers, and publishes the live file. If the live
    /// file already has all of them, nothing is published, even if it has other edits.
    ///
    /// # Errors
    /// Nothing was changed.
    pub(crate) fn import_owners(
        &self,
        vault: &Vault,
        imported: &Imported,
        (note, mode): (Option<&str>, Mode),
    ) -> Result<Outcome, Failure> {
        live_stewards(vault)?;
        let count: usize = imported.mapped.iter().map(|one| one.reviewers.len()).sum();
        if count > MAX_IMPORTED {
            let message =
                format!("the file has {count} owners, but at most {MAX_IMPORTED} are read");
            return Err(Failure::new(Code::Usage, message).hint("split the file"));
        }
        let assigned = |text: &str| {
            let mut text = text.to_owned();
            // Each one is added at the front, so the reverse order keeps theirs.
            for Mapped { scope, reviewers, .. } in imported.mapped.iter().rev() {
                for reviewer in reviewers.iter().rev() {
                    let who = Who::Principal(reviewer.clone());
                    text = edit::assign(&text, scope, &who, Role::Reviewer)?;
                }
            }
            Ok::<_, String>(text)
        };
        let live = vault.files().read_optional(STEWARDS, limit::DOCUMENT).ok().flatten();
        let live = live.as_deref().and_then(|bytes| utf8(bytes).ok()).unwrap_or_default();
        if assigned(live).is_ok_and(|text| text == live) {
            let unchanged = vec![DocumentId::stewards()];
            return Ok(Outcome { unchanged, ..Outcome::default() });
        }
        self.set_stewards(vault, (note, mode), assigned)
    }

    fn set_stewards(
        &self,
        vault: &Vault,
        (note, mode): (Option<&str>, Mode),
        edit: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Outcome, Failure> {
        let author = self.author(vault, note, None)?;
        let edited = |text: &str| {
            // A new file begins with the version of its format.
            edit(if text.trim().is_empty() { "version: 1\n" } else { text })
        };
        Ok(publish::change_governance_file(vault, &DocumentId::stewards(), &author, mode, edited)?)
    }
}

/// Returns true if the live file differs from the one in force.
fn is_edited(vault: &Vault, chronicle: &Chronicle<'_>) -> bool {
    let live = vault.files().read_optional(STEWARDS, limit::DOCUMENT).ok().flatten();
    let live = live.as_deref().map(|bytes| utf8(bytes).map(|text| normalise(text).into_owned()));
    let id = DocumentId::stewards();
    let in_force = in_force::InForce::of(vault.files(), chronicle);
    let sealed = in_force.text(vault.files(), chronicle.head_number(), &id);
    match (live, sealed) {
        (Some(Ok(live)), Ok(TextInForce::Sealed { text })) => live != text,
        (live, Ok(TextInForce::Never | TextInForce::Retired { .. })) => live.is_some(),
        _ => true,
    }
}

fn folded(tags: &[Tag]) -> BTreeSet<String> {
    tags.iter().map(|tag| tag.as_str().to_ascii_lowercase()).collect()
}

fn unread(id: &DocumentId, problem: &Problem) -> Failure {
    let path = id.live_path();
    let refusal = Refusal { path, problems: vec![problem.clone()] };
    PublishError::Refused(vec![refusal]).into()
}

/// Returns the stewards of the live file; empty if the file is missing.
fn live_stewards(vault: &Vault) -> Result<Stewards, Failure> {
    let refused = |problems: Vec<Problem>| {
        let refusal = Refusal { path: STEWARDS.to_owned(), problems };
        Failure::from(PublishError::Refused(vec![refusal]))
    };
    let bytes = vault.files().read_optional(STEWARDS, limit::DOCUMENT);
    let bytes = bytes.map_err(|why| refused(vec![working::unreadable(&why)]))?;
    let Some(bytes) = bytes else { return Ok(Stewards::default()) };
    let text = utf8(&bytes).map_err(|why| {
        let message = format!("`{STEWARDS}`: {why}");
        Failure::new(Code::Refused, message).hint(why.hint())
    })?;
    let reading = read(&normalise(text));
    reading.stewards.ok_or_else(|| refused(reading.problems.iter().map(Problem::from).collect()))
}

fn check_group(stewards: &Stewards, who: &Who) -> Result<(), Failure> {
    let Who::Group(name) = who else { return Ok(()) };
    if stewards.groups().any(|(known, _)| known == name) {
        return Ok(());
    }
    let message = format!("`{STEWARDS}` does not define a group `{name}`");
    Err(Failure::new(Code::Usage, message)
        .hint(format!("add a line below `groups:`, such as `{name}: [lee@example.com]`")))
}

fn is_assigned(stewards: &Stewards, scope: &Scope, who: &Who) -> bool {
    let same = |other: &Who| match (who, other) {
        (Who::Principal(a), Who::Principal(b)) => a.key() == b.key(),
        (a, b) => a == b,
    };
    stewards.at(scope).is_some_and(|at| at.assignments.iter().any(|one| same(&one.who)))
}
