//! Promotes a staged entry to a document (STAGE-16).

use super::acts::{Desk, act_upon};
use super::view::{Judged, chains_of, content, judged};
use std::collections::BTreeMap;

use crate::files::vault::Vault;
use crate::policy::in_force::{NotMade, version_made};
use crate::policy::stewards::Role;
use crate::prove::recover::CompletedPromotion;
use crate::read::index::staged::{KnownEntry, Sharing};
use crate::record::audit::StagedStep;
use crate::record::chain::replay;
use crate::record::staging::{ActKind, Promoting, StagedEntry, StagedName};
use crate::record::trusted_head;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::Workspace;
use crate::service::workspace::governance_mode::is_governed;
use crate::text::document::Document;
use crate::text::document::edit::Edit;
use crate::text::document::frontmatter::NodeType;
use crate::text::document::not_for_use;
use crate::text::document::text::normalise;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::values::model::tag::Tag;
use crate::write::commit::UncommittedFile;
use crate::write::publish::review::{ReviewError, Submission, rules_in_force, submit};
use crate::write::publish::{self, Author, Mode, NewDocument, Outcome, Request, Which};

/// The document to make of an entry.
pub(crate) struct Target<'t> {
    /// The id of the document.
    pub(crate) id: &'t DocumentId,
    /// The title; `None` for the last part of the id.
    pub(crate) title: Option<&'t str>,
    /// The tags.
    pub(crate) tags: Vec<Tag>,
    /// The type.
    pub(crate) node_type: NodeType,
    /// The principal who promotes it, and their note.
    pub(crate) author: &'t Author,
    /// Options of the event.
    pub(crate) mode: Mode,
}

/// The result of a promotion.
pub(crate) struct Promoted<O> {
    /// The entry before the promotion.
    pub(crate) entry: StagedEntry,
    /// The document.
    pub(crate) document: DocumentId,
    /// The publication or submission; `None` if an interrupted command had made it.
    pub(crate) outcome: Option<O>,
    /// The version of the document.
    pub(crate) version: Version,
    /// True if the document awaits a decision.
    pub(crate) submitted: bool,
}

impl Workspace<'_> {
    /// Promotes an entry that the viewer sees: makes a new document, then records the act on
    /// the entry.
    ///
    /// # Errors
    /// Nothing was made; or the document was made and the act was not recorded. The same call then
    /// records it.
    pub(crate) fn promote_staged(
        &self,
        vault: &Vault,
        entry: &StagedEntry,
        target: &Target<'_>,
    ) -> Result<Promoted<Outcome>, Failure> {
        let (text, name) = (text_of(vault, entry, target)?, entry.name());
        self.check_new(vault, target.id, &text)?;
        self.refuse_shared_name(vault, &name)?;
        let submitted = is_governed(vault)?;
        if submitted {
            require_editor(vault, (target, &text))?;
        }
        let mark = Promoting::of(&name, target.id);
        let (outcome, version) = match self.made_before(vault, target.id, entry)? {
            Some(version) => (None, version),
            None => {
                if !target.mode.dry_run {
                    let _lock = vault.lock(&self.holder()?)?;
                    mark.begin(vault.files())?;
                }
                let outcome = make(vault, (target, text), submitted).inspect_err(|_| {
                    // An event that failed after its commit remains.
                    if !vault.files().exists(&target.id.history_path()) {
                        mark.end(vault.files());
                    }
                })?;
                let version = outcome.items.iter().find(|item| item.id == *target.id);
                let version = version.map(|item| item.version);
                let version = version.ok_or_else(|| {
                    Failure::new(Code::Refused, format!("`{}` was not made", target.id))
                })?;
                (Some(outcome), version)
            }
        };
        if !target.mode.dry_run {
            self.record_promotion(vault, &name, (target.id, version))?;
            mark.end(vault.files());
        }
        let (entry, document) = (entry.clone(), target.id.clone());
        Ok(Promoted { entry, document, outcome, version, submitted })
    }

    /// Refuses an entry whose name another one has, because `promoted_from` would be ambiguous.
    fn refuse_shared_name(&self, vault: &Vault, name: &StagedName) -> Result<(), Failure> {
        let desk = Desk::named(self, vault, (name, Sharing::Unasked))?;
        match desk.staged.all_named(name).len() {
            ..=1 => Ok(()),
            _ => {
                let message = format!(
                    "`{name}` names two staged entries, so a document could not record which one it \
                     was promoted from"
                );
                Err(Failure::new(Code::Refused, message)
                    .hint(Hint::call("run {} for a full report", Verb::Verify)))
            }
        }
    }

    /// Returns the version of the document if an interrupted command made it of this entry.
    fn made_before(
        &self,
        vault: &Vault,
        id: &DocumentId,
        entry: &StagedEntry,
    ) -> Result<Option<Version>, Failure> {
        let files = vault.files();
        if !files.exists(&id.history_path()) {
            return match files.exists(&id.live_path()) {
                true => Err(exists(id)),
                false => Ok(None),
            };
        }
        version_made(files, id, entry).map(Some).map_err(|why| match why {
            NotMade::Other => exists(id),
            NotMade::OtherBody => {
                let name = entry.name();
                let message = format!(
                    "`{id}` names `{name}` in `promoted_from`, but its body differs from that entry"
                );
                Failure::new(Code::Exists, message).hint(
                    "choose another id, and remove `promoted_from` from a document that \
                     was not made by a promotion",
                )
            }
        })
    }

    fn record_promotion(
        &self,
        vault: &Vault,
        name: &StagedName,
        (id, version): (&DocumentId, Version),
    ) -> Result<(), Failure> {
        let unfinished = |why: Failure| {
            why.hint("the document was made; run the same command again to record the promotion")
        };
        let _lock = self.lock_to_act(vault).map_err(unfinished)?;
        let desk = Desk::named(self, vault, (name, Sharing::Unasked)).map_err(unfinished)?;
        let Some(entry) = desk.staged.find(name).cloned() else {
            let message = format!("the entry `{name}` was removed by another process");
            return Err(unfinished(Failure::new(Code::UnknownStaged, message)));
        };
        match is_promoted_to(&entry, id) {
            true => Ok(()),
            false => self.act_promoted(vault, &entry, (id, version), None).map_err(unfinished),
        }
    }

    /// Completes interrupted promotions whose document was made, and withdraws the others. Returns
    /// the completed ones.
    ///
    /// The acts are recorded for the principals whom the histories name. If `is_done` is false,
    /// nothing is written. `kept` are the files that the recovery moves away.
    ///
    /// # Errors
    /// Something could not be read or recorded.
    pub(crate) fn settle_promotions(
        &self,
        vault: &Vault,
        kept: &[UncommittedFile],
        is_done: bool,
    ) -> Result<Vec<CompletedPromotion>, Failure> {
        let marks = Promoting::interrupted(vault.files());
        if marks.is_empty() {
            return Ok(Vec::new());
        }
        let _lock = match is_done {
            true => Some(self.lock_to_act(vault)?),
            false => None,
        };
        let mut settled = Vec::new();
        for mark in marks {
            let names = mark.names().filter(|(_, id)| {
                let history = id.history_path();
                let is_it = |file: &UncommittedFile| file.path == history && file.from == 0;
                !kept.iter().any(is_it)
            });
            if let Some((name, document)) = names
                && let Some((entry, version, who)) = made(vault, &name, &document)?
                && !is_promoted_to(&entry, &document)
            {
                if is_done {
                    self.act_promoted(vault, &entry, (&document, version), Some(&who))?;
                }
                let entry = entry.name().to_string();
                settled.push(CompletedPromotion { entry, document, version });
            }
            if is_done {
                mark.end(vault.files());
            }
        }
        Ok(settled)
    }

    /// Records that an entry was promoted. The caller holds the lock of [`Self::lock_to_act`].
    /// `made_by` is the principal of an interrupted command.
    fn act_promoted(
        &self,
        vault: &Vault,
        entry: &StagedEntry,
        (id, version): (&DocumentId, Version),
        made_by: Option<&str>,
    ) -> Result<(), Failure> {
        let step = StagedStep {
            staged: vec![entry.name().to_string()],
            document: Some(id.to_string()),
            document_version: Some(version.0),
            reason: None,
        };
        let who = match made_by {
            Some(who) => who.to_owned(),
            None => self.principal(vault.root(), None)?.0.to_string(),
        };
        let line = ActKind::Promote.line(act_upon(entry, &who, &step));
        let lines = BTreeMap::from([(&entry.source, vec![line])]);
        self.record_act(vault, (ActKind::Promote, self.now()?), (step, lines), made_by)
    }
}

fn is_promoted_to(entry: &StagedEntry, id: &DocumentId) -> bool {
    entry.promoted.iter().any(|promotion| promotion.document == *id)
}

/// Returns the entry with a name, the version of a document that was promoted from it, and the
/// principal who made that version; `None` if there is no such entry or version.
fn made(
    vault: &Vault,
    name: &StagedName,
    id: &DocumentId,
) -> Result<Option<(StagedEntry, Version, String)>, Failure> {
    let is_named = |entry: &KnownEntry<'_>| entry.is_named(name);
    let Judged { staged, .. } = judged(vault, &|in_force| {
        chains_of((vault, in_force), name.source.as_ref(), (&is_named, Sharing::Unasked))
    })?;
    let named = staged.all_named(name);
    let ([entry], Ok(history)) = (&named[..], replay::load(vault.files(), id)) else {
        return Ok(None);
    };
    let Ok(version) = version_made(vault.files(), id, entry) else { return Ok(None) };
    let mut entries = history.entries();
    let found = entries.find(|found| found.version == version);
    Ok(found.map(|found| ((*entry).clone(), version, found.edited_by.clone())))
}

/// Refuses a principal who may not make a document with this text. They do not learn which ids are
/// taken (STAGE-14).
fn require_editor(vault: &Vault, (target, text): (&Target<'_>, &str)) -> Result<(), Failure> {
    let log = trusted_head::open_log(vault)?;
    let Some(rules) = rules_in_force(vault, &log.sound()?)? else { return Ok(()) };
    let who = target.author.principal.as_str();
    let fit = rules.require(who, Role::Editor, [(target.id, text)]);
    fit.map_err(|why| ReviewError::from(why).into())
}

fn exists(id: &DocumentId) -> Failure {
    Failure::new(Code::Exists, format!("`{id}` exists already, or existed before"))
        .hint("a promotion makes a new document: choose another id")
}

/// Returns the text of the document: its frontmatter, and the content of the entry byte for byte.
fn text_of(vault: &Vault, entry: &StagedEntry, target: &Target<'_>) -> Result<String, Failure> {
    let content = content(vault, entry)?;
    let refused = |why: &str| {
        let message =
            format!("the content of `{}` cannot be the body of a document: {why}", entry.name());
        Failure::new(Code::Refused, message)
            .hint("it stays staged; pin it, and cite its URI from a document that you write")
    };
    let Some(body) = content.text() else {
        return Err(refused("it is not UTF-8, or contains NUL"));
    };
    let name = target.id.as_str().rsplit('/').next().unwrap_or_default();
    let own = Document::of_live(body).ok();
    let said = own.and_then(|own| not_for_use::said(body, &own).into_iter().next());
    if let Some(not_for_use::Said { says, .. }) = said {
        let name = entry.name().to_string();
        let message = format!("the content of `{name}` says `{says}`, so it is not promoted");
        let show = Call::new(Verb::StageShow).value(name).word("--raw");
        let hint = "{} prints it; to publish it anyway, write it to a file and name that file";
        return Err(Failure::new(Code::Refused, message).hint(Hint::call(hint, show)));
    }
    let mut edit = Edit::default()
        .text("title", target.title.unwrap_or(name))
        .text("type", target.node_type.as_str());
    if !target.tags.is_empty() {
        edit = edit.list("tags", target.tags.clone());
    }
    let edit = edit
        .text("status", "draft")
        .text("author", target.author.principal.as_str())
        .text("promoted_from", &entry.name().to_string());
    // The edit gets an empty text, so that the start of the content is not read as a frontmatter.
    let head = edit.apply("").map_err(|why| refused(&why.to_string()))?;
    let text = format!("{head}{body}");
    if normalise(&text) != text {
        return Err(refused("its line ends would be changed"));
    }
    match Document::parse(&text) {
        Ok(document) if text.get(document.parts.body..) == Some(body) => Ok(text),
        _ => Err(refused("it would be read as another text")),
    }
}

fn make(
    vault: &Vault,
    (target, text): (&Target<'_>, String),
    is_governed: bool,
) -> Result<Outcome, Failure> {
    let (id, author, mode) = (target.id.clone(), target.author, target.mode);
    let which = Which::Ids(vec![id.clone()]);
    let new = NewDocument { id, text };
    Ok(match is_governed {
        true => {
            let (from, change) = (Some(new), None);
            let (supersede, renew) = (false, false);
            submit(vault, &Submission { author, which, from, change, supersede, renew, mode })?
        }
        false => {
            let request = Request { author: author.clone(), which, mode };
            publish::add(vault, new, &request)?
        }
    })
}
