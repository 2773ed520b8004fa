//! The rules in force before an event: stewards, and the requirements of an approval.

use crate::files::vault::config::{Config, FrontmatterMode};
use crate::files::vault::federation::Authorities;
use crate::policy::stewards::{ReviewSettings, Role, Stewards};
use crate::text::document::Document;
use crate::text::document::obsidian::Markup;
use crate::values::model::id::DocumentId;
use crate::values::model::principal::{Principal, PrincipalKey};
use crate::values::model::tag::Tag;

/// The rules in force before an event of a governed vault.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The stewards; empty if `stewards.yaml` is missing or cannot be read.
    pub stewards: Stewards,
    /// The file that cannot be read, so that no role is known; `None` if both files can be read.
    pub lost: Option<DocumentId>,
    /// True if principals named by the field `author` may not approve, even if it did not change.
    pub bar_author: bool,
    /// How the tags of a text are read.
    pub markup: Markup,
    /// How publishing treats the frontmatter of live files.
    pub frontmatter: FrontmatterMode,
    /// The authorities of the vaults that URIs can name.
    pub authorities: Authorities,
}

/// The reason for which a principal may not act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .lost.as_ref().map_or_else(|| self.lacks(), |file| self.unknown(file)))]
pub struct Unfit {
    /// The principal.
    pub who: String,
    /// The role that the principal has.
    pub role: Option<Role>,
    /// The artifact: the one under review, or the target of a move.
    pub id: DocumentId,
    /// The scope that decides, as text.
    pub scope: String,
    /// The least role that is required.
    pub needed: Role,
    /// The file that cannot be read, so that the role is unknown.
    pub lost: Option<DocumentId>,
}

impl Unfit {
    fn lacks(&self) -> String {
        let role = self.role.map_or("not a steward", Role::as_str);
        format!("`{}` is {role} of {}, but {} is needed", self.who, self.scope, self.needed)
    }

    fn unknown(&self, file: &DocumentId) -> String {
        let Self { who, needed, .. } = self;
        format!(
            "{needed} is needed, but the role of `{who}` cannot be judged, because the `{file}` in force \
             then cannot be read"
        )
    }
}

impl Rules {
    /// Returns the rules of a configuration, with these stewards.
    pub fn of(config: &Config, stewards: Stewards) -> Self {
        Self {
            stewards,
            lost: None,
            bar_author: config.review.bar_author,
            markup: Markup::of(config),
            frontmatter: config.frontmatter,
            authorities: config.authorities.clone(),
        }
    }

    /// Returns the tags of a text, including hashtags if the vault has them; empty for a governance
    /// file or a text that cannot be read.
    pub fn tags(&self, id: &DocumentId, text: &str) -> Vec<Tag> {
        let Some(document) = id.is_document().then(|| Document::parse(text).ok()).flatten() else {
            return Vec::new();
        };
        let body = &text[document.parts.body..];
        let more = self.markup.additions(&document.frontmatter, body).tags;
        document.frontmatter.tags.into_iter().chain(more).collect()
    }

    /// Returns the tags of a text, or nothing if no scope of the stewards is a tag.
    ///
    /// Such a vault needs no text to be read.
    fn deciding_tags(&self, id: &DocumentId, text: &str) -> Vec<Tag> {
        if self.stewards.depend_on_tags() { self.tags(id, text) } else { Vec::new() }
    }

    /// Refuses a principal without this role for each of these texts, under each of these ids.
    ///
    /// # Errors
    /// The first text for which the principal lacks the role.
    pub fn require<'t>(
        &self,
        who: &str,
        needed: Role,
        texts: impl IntoIterator<Item = (&'t DocumentId, &'t str)>,
    ) -> Result<(), Unfit> {
        // `edited_by` may contain a text that is not the name of a principal, if another program
        // wrote it.
        let is_sound = who.parse::<Principal>().is_ok();
        let key = PrincipalKey::of(who);
        for (id, text) in texts {
            let tags = self.deciding_tags(id, text);
            let role = self.stewards.role_of(&key, id, &tags).filter(|_| is_sound);
            if role < Some(needed) {
                let scope = self.stewards.scope_of(id, &tags);
                let scope = scope.map_or_else(|| "any scope".to_owned(), |s| s.scope.to_string());
                let (who, id, lost) = (who.to_owned(), id.clone(), self.lost.clone());
                return Err(Unfit { who, role, id, scope, needed, lost });
            }
        }
        Ok(())
    }

    /// Returns true if a principal is a reviewer of the whole vault, as a change of the
    /// configuration requires (STEW-10).
    pub fn is_reviewer_of_vault(&self, who: &str) -> bool {
        self.require(who, Role::Reviewer, [(&DocumentId::config(), "")]).is_ok()
    }

    /// Refuses a principal who has this role for none of these texts.
    ///
    /// # Errors
    /// The refusal for the first text.
    pub fn require_any<'t>(
        &self,
        who: &str,
        needed: Role,
        texts: impl IntoIterator<Item = (&'t DocumentId, &'t str)>,
    ) -> Result<(), Unfit> {
        let mut first = None;
        for text in texts {
            match self.require(who, needed, [text]) {
                Ok(()) => return Ok(()),
                Err(why) => drop(first.get_or_insert(why)),
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// Returns the strictest review settings that any of these texts requires.
    pub fn required<'t>(
        &self,
        texts: impl IntoIterator<Item = (&'t DocumentId, &'t str)>,
    ) -> ReviewSettings {
        let settings = |(id, text): (&'t DocumentId, &'t str)| {
            self.stewards.review_of(id, &self.deciding_tags(id, text))
        };
        let each = texts.into_iter().map(settings);
        each.fold(ReviewSettings::default(), |most, settings| ReviewSettings {
            required: most.required.max(settings.required),
            max_age: settings.max_age.or(most.max_age),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::stewards;

    #[test]
    fn tags_decide_roles_and_settings_wherever_one_of_them_is_for_a_tag() {
        let vault = "version: 1\nvault: [{principal: a@x, role: reviewer}]\n";
        let id: DocumentId = "nodes/a".parse().unwrap();
        let text = "---\ntags: [law]\n---\nbody\n";
        for (more, is_reviewer, required) in [
            ("", true, 1),
            ("review: {vault: {required: 2}}\n", true, 2),
            ("tags: {law: [{principal: a@x, role: editor}]}\n", false, 1),
            ("review: {tags: {law: {required: 2}}}\n", true, 2),
        ] {
            let stewards = stewards::read(&format!("{vault}{more}")).stewards.unwrap();
            let rules = Rules { stewards, ..Rules::default() };
            let subject = [(&id, text)];
            let fit = rules.require("a@x", Role::Reviewer, subject);
            assert_eq!(fit.is_ok(), is_reviewer, "{more}");
            assert_eq!(rules.required(subject).required, required, "{more}");
        }
    }
}
