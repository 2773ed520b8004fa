//! `context_assign_steward`: assigns a role in a governed vault, with the consent of a human.

use schemars::JsonSchema;
use serde::Deserialize;

use super::author::event;
use super::{Answer, Asking, Outputs, Question};
use crate::files::vault::Vault;
use crate::front::mcp::consent::quoted;
use crate::policy::stewards::Scope;
use crate::service::report::event::StewardAssigned;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::Call;
use crate::service::workspace::governance_mode::is_governed;
use crate::service::workspace::stewards::{self, Assigning};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{STEWARDS, limit};
use crate::values::model::principal::PrincipalKey;
use crate::write::publish::{Mode, Outcome, PublishError, review};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AssignSteward {
    /// Principal, or with group the name of a group of stewards.yaml
    who: String,
    /// `viewer`, `editor` or `reviewer`
    role: String,
    /// At the scope of the whole vault
    #[serde(default)]
    whole_vault: bool,
    /// At this folder and everything below it
    #[serde(default)]
    folder: Option<String>,
    /// At every document with this tag
    #[serde(default)]
    tag: Option<String>,
    /// At this document or governance file
    #[schemars(extend("x-holds" = "document"))]
    #[serde(default)]
    document: Option<String>,
    /// `who` is the name of a group
    #[serde(default)]
    group: bool,
    /// Note for reviewers
    #[serde(default)]
    note: Option<String>,
}

impl Question for AssignSteward {
    const NAME: &'static str = "context_assign_steward";
    const TITLE: &'static str = "Assign a steward";
    const DESCRIPTION: &'static str = "Gives a principal a role at one scope (whole_vault, folder, \
        tag or document), in a governed vault: it edits stewards.yaml and submits it, and a reviewer \
        of the vault approves that. The user is asked for consent, and may refuse.";
    const REPLACES: bool = true;
    const ASKS: bool = true;
    const GOVERNED: bool = true;

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<StewardAssigned<'static>>();
    }

    fn asks(&self, call: &mut Call<'_>) -> Result<Option<Asking>, Failure> {
        let vault = call.vault()?;
        let trial = Mode { dry_run: true, ..Mode::default() };
        let (outcome, scope) = self.assign(call, &vault, trial)?;
        if outcome.items.is_empty() {
            return Ok(None);
        }
        let log = call.log(&vault)?;
        let is_edited = call.workspace.stewards_at(&vault, &log, None)?.0.is_edited;
        let live = vault.files().read_optional(STEWARDS, limit::DOCUMENT)?;
        let (me, _) = call.workspace.principal(vault.root(), None)?;
        let pending = review::about(&vault, &DocumentId::stewards(), &me).ok();
        let pending = pending.and_then(|about| about.waiting.track.pending);
        let is_own = pending.is_some_and(|pending| {
            let is_mine = PrincipalKey::of(&pending.by) == me.key();
            is_mine && live.as_deref() == Some(pending.text.as_bytes())
        });
        // Earlier changes that this principal submitted are submitted again with it.
        if is_edited && live.is_some() && !is_own {
            let message = format!("`{STEWARDS}` has other changes that are not published");
            return Err(Failure::new(Code::UnpublishedChanges, message)
                .hint("let a person submit or undo them first"));
        }
        let holder = if self.group { "group" } else { "principal" };
        let text = format!(
            "Assign this role, as {}?\n{holder}: {}\nrole: {}\nscope: {}\nIt changes stewards.yaml, \
             which is submitted for review.",
            quoted(me.as_str()),
            quoted(&self.who),
            quoted(&self.role),
            quoted(&scope.to_string()),
        );
        let about = Digest::of(&live.unwrap_or_default()).to_string();
        Ok(Some(Asking { text, has_words: false, about }))
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let vault = call.vault()?;
        let (outcome, _) = self.assign(call, &vault, Mode::default())?;
        let outcome = call.acted(&vault, outcome);
        event(call, &outcome, StewardAssigned)
    }
}

impl AssignSteward {
    fn assign(
        &self,
        call: &Call<'_>,
        vault: &Vault,
        mode: Mode,
    ) -> Result<(Outcome, Scope), Failure> {
        if !is_governed(vault)? {
            return Err(PublishError::Ungoverned.into());
        }
        let role = stewards::role(&self.role)?;
        let who = stewards::holder(&self.who, self.group)?;
        let scope = self.scope(call, vault)?;
        let about = (self.note.as_deref(), mode);
        let assigning = Assigning::To(role);
        let outcome = call.workspace.assign(vault, (&scope, &who), assigning, about)?;
        Ok((outcome, scope))
    }

    fn scope(&self, call: &Call<'_>, vault: &Vault) -> Result<Scope, Failure> {
        let (folder, tag) = (self.folder.as_deref(), self.tag.as_deref());
        let scopes = [self.whole_vault, folder.is_some(), tag.is_some(), self.document.is_some()];
        if scopes.iter().filter(|is_given| **is_given).count() != 1 {
            return Err(Failure::new(Code::Usage, "an assignment needs exactly one scope")
                .hint("pass one of `whole_vault`, `folder`, `tag` and `document`"));
        }
        let id =
            self.document.as_ref().map(|text| call.workspace.named(vault, text)).transpose()?;
        stewards::scope(folder, tag, id.as_ref())
    }
}
