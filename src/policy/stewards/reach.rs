//! Detects scopes whose submissions can never be approved, because there are not enough reviewers
//! besides the submitter (STEW-18).

use std::fmt;

use super::{ReviewEntry, Role, Scope, Scoped, Stewards};
use crate::values::text_util::count;

/// A scope at which no submission by any principal could be approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The scope.
    pub scope: Scope,
    /// The scope whose stewards decide there, if it is another one; `None` if the scope itself
    /// decides, or if even the vault is without stewards.
    pub decides: Option<Scope>,
    /// Number of approvals that are required.
    pub required: u32,
    /// Number of reviewers who may decide.
    pub reviewers: usize,
    /// Number of principals who may submit, including the reviewers.
    pub editors: usize,
}

impl Stewards {
    /// Returns the scopes of the file at which nothing could be approved.
    ///
    /// Scopes with stewards come first, each kind in the order of [`Stewards::scopes`].
    pub fn stuck(&self) -> Vec<Stuck> {
        let assigned = self.scopes().map(|assigned| &assigned.scope);
        let entries = self.review_entries().map(|(scope, _)| scope);
        let entries = entries.filter(|scope| self.at(scope).is_none());
        assigned.chain(entries).filter_map(|scope| self.stuck_at(scope)).collect()
    }

    /// Returns the scope if nothing could be approved there, by its own settings or those of the
    /// scopes above it.
    pub fn stuck_at(&self, scope: &Scope) -> Option<Stuck> {
        let deciding = self.scopes.nearest(scope, |_| true);
        let holders = deciding.map(|deciding| self.holders(deciding)).unwrap_or_default();
        let with = |role| holders.iter().filter(|holder| holder.role >= role).count();
        let (reviewers, editors) = (with(Role::Reviewer), with(Role::Editor));
        let has = |(_, entry): &(Scope, ReviewEntry)| entry.required.is_some();
        let required = self.review.nearest(scope, has).and_then(|(_, entry)| entry.required);
        let required = required.unwrap_or(1);
        // If an editor who is not a reviewer submits, all reviewers may approve.
        let left = if editors > reviewers { reviewers } else { reviewers.saturating_sub(1) };
        let decides = deciding.map(|deciding| deciding.scope.clone());
        let decides =
            decides.filter(|of| of.kind() != scope.kind() || of.folded() != scope.folded());
        let is_stuck = (left as u64) < u64::from(required);
        let scope = scope.clone();
        is_stuck.then_some(Stuck { scope, decides, required, reviewers, editors })
    }
}

impl<T> Scoped<T> {
    /// Returns the value of a scope, or of the next scope above it, that satisfies `counts`.
    ///
    /// The scopes above a document are its folders and the vault; its tags are unknown here.
    fn nearest(&self, scope: &Scope, counts: impl Fn(&T) -> bool) -> Option<&T> {
        let own = self.get(scope).filter(|value| counts(value));
        let above = || {
            let folded = scope.folded();
            let mut name = match scope {
                Scope::Document(_) | Scope::Folder(_) => folded.as_str(),
                Scope::Tag(_) | Scope::Vault => return None,
            };
            while let Some((folder, _)) = name.rsplit_once('/') {
                name = folder;
                if let Some(value) = self.folders.get(name).filter(|value| counts(value)) {
                    return Some(value);
                }
            }
            None
        };
        own.or_else(above).or_else(|| self.vault.as_ref().filter(|value| counts(value)))
    }
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope, decides, required, reviewers, editors } = self;
        write!(f, "{scope}")?;
        if let Some(decides) = decides {
            write!(f, ", where the stewards of {decides} decide,")?;
        }
        let required = count(*required as usize, "approval");
        match (*reviewers, *editors) {
            (0, 0) => f.write_str(" lacks editors and reviewers"),
            (0, _) => f.write_str(" lacks a reviewer"),
            (1, 1) if self.required == 1 => {
                f.write_str(" has one reviewer and no other editor who submits")
            }
            // With another editor the scope would not be stuck.
            (reviewers, _) if reviewers as u64 >= u64::from(self.required) => write!(
                f,
                " requires {required}, and has {reviewers} reviewers and no other editor who submits"
            ),
            (reviewers, _) => {
                write!(f, " requires {required}, and has {}", count(reviewers, "reviewer"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;

    const VAULT: &str = "vault: [{principal: a, role: reviewer}, {principal: b, role: reviewer}, \
        {principal: c, role: editor}]\n";

    fn stuck(text: &str) -> String {
        let reading = read(text);
        assert_eq!(reading.problems, []);
        let found = reading.stewards.unwrap().stuck();
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn scopes_with_enough_reviewers_besides_an_editor_are_not_stuck() {
        for more in ["", "review: {vault: {required: 2}}\n"] {
            assert_eq!(stuck(&format!("{VAULT}{more}")), "");
        }
        let two = "vault: [{principal: a, role: reviewer}, {principal: b, role: reviewer}]\n";
        assert_eq!(stuck(two), "");
        let group = "groups: {g: [a, b, d]}\nreview: {vault: {required: 2}}\n\
            vault: [{group: g, role: reviewer}, {principal: A, role: editor}]\n";
        assert_eq!(stuck(group), "");
    }

    #[test]
    fn stuck_scopes_lack_reviewers_or_editors() {
        let text = "vault: [{principal: a, role: reviewer}, {principal: b, role: reviewer}]\n\
            folders: {n/law: [{principal: a, role: editor}], n/seen: [{principal: a, role: viewer}]}\n\
            tags: {s: [{principal: a, role: reviewer}]}\n\
            review: {vault: {required: 2}, folders: {n: {required: 3}}, documents: {n/law/x: {required: 1}}}\n";
        insta::assert_snapshot!(stuck(text), @"
        folder n/law/ lacks a reviewer
        folder n/seen/ lacks editors and reviewers
        tag #s requires 2 approvals, and has 1 reviewer
        vault requires 2 approvals, and has 2 reviewers and no other editor who submits
        document n/law/x, where the stewards of folder n/law/ decide, lacks a reviewer
        folder n/, where the stewards of vault decide, requires 3 approvals, and has 2 reviewers
        ");
        let alone = "vault: [{principal: a, role: reviewer}]\n";
        assert_eq!(stuck(alone), "vault has one reviewer and no other editor who submits");
        assert_eq!(
            stuck("folders: {n: [{principal: a, role: editor}]}\n"),
            "folder n/ lacks a reviewer"
        );
    }
}
