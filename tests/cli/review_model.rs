//! A minimal second description of a governed vault: who may do what, which submissions are
//! pending, which texts are published. It lacks histories, hashes and files, and shares no code
//! with the program (`spec/review.md`, section 3, and `spec/stewards.md`).

use std::collections::{BTreeMap, BTreeSet};

pub(crate) const STEWARDS: &str = "stewards.yaml";
pub(crate) const CONFIG: &str = ".context/config.yaml";

/// A principal by its key.
pub(crate) type Who = &'static str;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Viewer,
    Editor,
    Reviewer,
}

/// The roles in the folder `nodes/x`, at the tag `red` and in the vault, and the required approvals
/// of each of the three; 0 if not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stewards {
    pub(crate) scopes: [BTreeMap<Who, Role>; 3],
    pub(crate) required: [usize; 3],
}

const HEADS: [&str; 3] = ["folders: {nodes/x/: ", "tags: {red: ", "vault: "];
const REVIEWS: [&str; 3] = ["folders: {nodes/x/: ", "tags: {red: ", "vault: "];

impl Stewards {
    /// Returns the text of the file.
    pub(crate) fn text(&self) -> String {
        let mut out = "version: 1\n".to_owned();
        for (n, scope) in self.scopes.iter().enumerate().filter(|(_, scope)| !scope.is_empty()) {
            let each = scope.iter().map(|(who, role)| {
                format!("{{principal: {who}, role: {}}}", format!("{role:?}").to_lowercase())
            });
            let each = each.collect::<Vec<_>>().join(", ");
            out += &format!("{}[{each}]{}\n", HEADS[n], if n < 2 { "}" } else { "" });
        }
        if self.required.iter().any(|required| *required > 0) {
            out += "review:\n";
        }
        for (n, required) in self.required.iter().enumerate().filter(|(_, n)| **n > 0) {
            let end = if n < 2 { "}" } else { "" };
            out += &format!("  {}{{required: {required}}}{end}\n", REVIEWS[n]);
        }
        out
    }

    pub(crate) fn vault_reviewers(&self) -> usize {
        self.scopes[2].values().filter(|role| **role == Role::Reviewer).count()
    }

    /// Returns true if a change of the stewards can be approved: by enough reviewers of the vault,
    /// without the principal who submits it.
    pub(crate) fn is_changeable(&self) -> bool {
        let (reviewers, editors) = (self.vault_reviewers(), self.scopes[2].values());
        let editors = editors.filter(|role| **role >= Role::Editor).count();
        editors > self.required[2].max(1) && reviewers >= self.required[2].max(1)
    }

    fn role(&self, who: Who, id: &str, text: &Text) -> Option<Role> {
        let scope = matching(id, text).find(|n| !self.scopes[*n].is_empty())?;
        self.scopes[scope].get(who).copied()
    }

    fn required(&self, id: &str, text: &Text) -> usize {
        matching(id, text).map(|n| self.required[n]).find(|n| *n > 0).unwrap_or(1)
    }
}

/// Returns the scopes that an artifact is in; the first one decides.
fn matching(id: &str, text: &Text) -> impl Iterator<Item = usize> {
    let is_red = matches!(text, Text::Document { is_red: true, .. });
    let is_in = [id.starts_with("nodes/x/"), is_red, true];
    (0..3).filter(move |n| is_in[*n])
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// A document: the unique word of its body, whether it has the tag, and its field `author`.
    Document { word: String, is_red: bool, author: Option<String> },
    /// A governance file; an empty text proposes its deletion.
    File(String),
}

impl Text {
    /// Returns the unique word of the body.
    pub(crate) fn body(&self) -> &str {
        match self {
            Self::Document { word, .. } => word,
            Self::File(text) => text,
        }
    }

    fn author(&self) -> Option<&str> {
        if let Self::Document { author, .. } = self { author.as_deref() } else { None }
    }

    /// Returns true if a version was made from this file, which may lack the author.
    pub(crate) fn is_source_of(&self, made: &Self) -> bool {
        let is_author = self.author().is_none() || self.author() == made.author();
        let tag = |text: &Self| matches!(text, Self::Document { is_red: true, .. });
        self.body() == made.body() && tag(self) == tag(made) && is_author
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Publish,
    Retire,
    Move(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) by: Who,
    pub(crate) text: Text,
    pub(crate) action: Action,
    pub(crate) change: Option<String>,
    pub(crate) approvals: Vec<Who>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Artifact {
    pub(crate) published: Option<Text>,
    /// The last published text of a retired document.
    former: Option<Text>,
    pub(crate) pending: Option<Pending>,
    /// The principal of an emergency retirement, and the text.
    pub(crate) emergency: Option<(Who, Text)>,
    pub(crate) has_history: bool,
    /// The bodies of all versions.
    pub(crate) recorded: BTreeSet<String>,
    submitters: BTreeSet<Who>,
    bodies: BTreeMap<String, BTreeSet<Who>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) is_governed: bool,
    pub(crate) stewards: Stewards,
    bar_author: bool,
    pub(crate) artifacts: BTreeMap<String, Artifact>,
    /// The stewards of each text of `stewards.yaml`.
    pub(crate) known: BTreeMap<String, Stewards>,
}

/// A refusal, with the rule that demands it.
pub(crate) type Outcome = Result<(), &'static str>;

/// The subject of a decision: names, or a set.
#[derive(Clone, Debug)]
pub(crate) enum About {
    Id(String),
    Change(String),
}

impl Model {
    fn artifact(&mut self, id: &str) -> &mut Artifact {
        self.artifacts.entry(id.to_owned()).or_default()
    }

    fn pending(&self, id: &str) -> Option<&Pending> {
        self.artifacts.get(id)?.pending.as_ref()
    }

    /// Returns the number of artifacts that await a decision.
    pub(crate) fn waiting(&self) -> usize {
        let waits = |a: &&Artifact| a.pending.is_some() || a.emergency.is_some();
        self.artifacts.values().filter(waits).count()
    }

    fn has(&self, who: Who, needed: Role, subjects: &[(String, Text)]) -> bool {
        let role = |(id, text): &(String, Text)| {
            let vault_only = [STEWARDS, CONFIG].contains(&id.as_str());
            match vault_only {
                true => self.stewards.scopes[2].get(who).copied(),
                false => self.stewards.role(who, id, text),
            }
        };
        subjects.iter().all(|subject| role(subject) >= Some(needed))
    }

    /// Returns true if the role is at one of the texts, which is enough to end a submission.
    fn has_any(&self, who: Who, needed: Role, subjects: &[(String, Text)]) -> bool {
        subjects.iter().any(|subject| self.has(who, needed, std::slice::from_ref(subject)))
    }

    /// Returns the texts that roles are looked up for.
    fn subjects(&self, id: &str, text: &Text, action: &Action) -> Vec<(String, Text)> {
        let artifact = self.artifacts.get(id);
        let published = artifact.and_then(|a| a.published.clone().or_else(|| a.former.clone()));
        let is_said = *text != Text::File(String::new());
        let texts: Vec<Text> =
            Some(text.clone()).filter(|_| is_said).into_iter().chain(published).collect();
        let mut subjects: Vec<(String, Text)> =
            texts.iter().map(|text| (id.to_owned(), text.clone())).collect();
        if let Action::Move(target) = action {
            subjects.extend(texts.into_iter().map(|text| (target.clone(), text)));
        }
        subjects
    }

    fn subjects_of(&self, id: &str, pending: &Pending) -> Vec<(String, Text)> {
        self.subjects(id, &pending.text, &pending.action)
    }

    fn required(&self, id: &str, pending: &Pending) -> usize {
        let each = self.subjects_of(id, pending);
        each.iter().map(|(id, text)| self.stewards.required(id, text)).max().unwrap_or(1)
    }

    fn is_author(&self, id: &str, pending: &Pending, who: Who) -> bool {
        let Some(artifact) = self.artifacts.get(id) else { return false };
        if artifact.submitters.contains(who) {
            return true;
        }
        if pending.action != Action::Publish {
            return false;
        }
        let (text, published) = (&pending.text, artifact.published.as_ref());
        let is_published = published.is_some_and(|last| last.body() == text.body());
        let submitted = artifact.bodies.get(text.body()).is_some_and(|by| by.contains(who));
        if submitted && !is_published {
            return true;
        }
        let last = published.or(artifact.former.as_ref());
        let is_changed = last.is_none_or(|last| last.author() != text.author());
        let counts = is_changed || self.bar_author;
        counts && text.author().is_some_and(|author| author.to_lowercase() == who)
    }

    /// Checks whether a principal may approve the pending submission.
    pub(crate) fn may_approve(&self, id: &str, who: Who) -> Outcome {
        let pending = self.pending(id).ok_or("nothing awaits")?;
        for by in &pending.approvals {
            self.is_eligible(id, pending, by).map_err(|_| "an approver is none any more")?;
        }
        self.could_approve(id, pending, who)
    }

    /// Checks whether a principal could approve, if all approvals so far were valid.
    fn could_approve(&self, id: &str, pending: &Pending, who: Who) -> Outcome {
        // If no further approval is needed, one of the approvers publishes.
        let is_enough =
            pending.change.is_none() && pending.approvals.len() >= self.required(id, pending);
        if pending.approvals.contains(&who) && !is_enough {
            return Err("approved already");
        }
        self.is_eligible(id, pending, who)
    }

    fn is_eligible(&self, id: &str, pending: &Pending, who: Who) -> Outcome {
        if self.is_author(id, pending, who) {
            return Err("an author");
        }
        match self.has(who, Role::Reviewer, &self.subjects_of(id, pending)) {
            true => Ok(()),
            false => Err("no reviewer"),
        }
    }

    /// Returns the artifacts that a principal is asked to decide, and their own submissions that no
    /// other principal can approve.
    pub(crate) fn asked(&self, who: Who) -> BTreeSet<String> {
        let is_asked = |(id, artifact): &(&String, &Artifact)| {
            let is_lapsed =
                |p: &Pending| p.approvals.iter().any(|by| self.is_eligible(id, p, by).is_err());
            let is_of_submission = artifact.pending.as_ref().is_some_and(|pending| {
                self.could_approve(id, pending, who).is_ok()
                    || pending.by == who && is_lapsed(pending)
            });
            // A submission after an emergency retirement does not end the emergency.
            is_of_submission || self.may_ratify(id, who).is_ok()
        };
        self.artifacts.iter().filter(is_asked).map(|(id, _)| id.clone()).collect()
    }

    fn may_ratify(&self, id: &str, who: Who) -> Outcome {
        let emergency = self.artifacts.get(id).and_then(|a| a.emergency.as_ref());
        let (by, text) = emergency.ok_or("nothing to ratify")?;
        if *by == who {
            return Err("their own emergency");
        }
        match self.has(who, Role::Reviewer, &[(id.to_owned(), text.clone())]) {
            true => Ok(()),
            false => Err("no reviewer"),
        }
    }

    /// Checks whether submissions are possible.
    pub(crate) fn governed(&self) -> Outcome {
        if self.is_governed { Ok(()) } else { Err("not governed") }
    }

    fn check_change(&self, who: Who, change: Option<&str>) -> Outcome {
        let is_taken = |a: &Artifact| {
            a.pending.as_ref().is_some_and(|p| p.change.as_deref() == change && p.by != who)
        };
        match change.is_some() && self.artifacts.values().any(is_taken) {
            true => Err("another's change"),
            false => Ok(()),
        }
    }

    /// Returns true if a submission would equal the pending one, or the published text.
    pub(crate) fn is_submitted(&self, id: &str, text: &Text, change: Option<&str>) -> bool {
        let same = |p: &Pending| {
            p.change.as_deref() == change
                && p.action == Action::Publish
                && text.is_source_of(&p.text)
        };
        self.pending(id).is_some_and(same)
    }

    /// Submits the texts of files; `text` is that of the live file.
    pub(crate) fn submit(
        &mut self,
        (who, spelled): (Who, &str),
        files: &[(String, Text)],
        change: Option<&str>,
    ) -> Outcome {
        self.governed()?;
        self.check_change(who, change)?;
        let mut next = self.clone();
        for (id, text) in files {
            let change = &self.set_of(who, id, change);
            let change = change.as_deref();
            let mut made = text.clone();
            if let Text::Document { author: author @ None, .. } = &mut made {
                *author = Some(spelled.to_owned());
            }
            let action = match &made {
                Text::File(text) if text.is_empty() => Action::Retire,
                _ => Action::Publish,
            };
            self.check_submission(id, &made, &action, who)?;
            self.check_targets(id, None)?;
            if id == STEWARDS && !self.known[made.body()].is_changeable() {
                return Err("no change of the stewards could be approved");
            }
            let others = self.waiting() - usize::from(self.pending(id).is_some());
            if id == CONFIG && others > 0 && !made.body().contains("governance: governed") {
                return Err("others await");
            }
            let is_mine = self.pending(id).is_none_or(|p| p.by == who);
            if self.is_submitted(id, text, change) {
                continue;
            }
            if !is_mine {
                return Err("another's submission");
            }
            self.check_set(id, change)?;
            next.propose(id, made, action, (who, change));
        }
        *self = next;
        Ok(())
    }

    /// Returns the set that a submission belongs to: a part of a set stays one.
    fn set_of(&self, who: Who, id: &str, change: Option<&str>) -> Option<String> {
        let own = self.pending(id).filter(|pending| pending.by == who);
        change.map(str::to_owned).or_else(|| own?.change.clone())
    }

    /// Checks that a part leaves its set only with the whole set.
    fn check_set(&self, id: &str, change: Option<&str>) -> Outcome {
        let of = self.pending(id).and_then(|pending| pending.change.as_deref());
        match of.is_some() && of != change {
            true => Err("a part of a change"),
            false => Ok(()),
        }
    }

    /// Checks that the id is not reserved for a pending move.
    fn check_targets(&self, id: &str, target: Option<&str>) -> Outcome {
        let others = self.artifacts.iter().filter(|(other, _)| *other != id);
        let mut taken =
            others.filter_map(|(_, artifact)| match &artifact.pending.as_ref()?.action {
                Action::Move(target) => Some(target.as_str()),
                Action::Publish | Action::Retire => None,
            });
        match taken.any(|taken| taken == id || Some(taken) == target) {
            true => Err("the target of a move"),
            false => Ok(()),
        }
    }

    fn check_submission(&self, id: &str, text: &Text, action: &Action, who: Who) -> Outcome {
        match self.has(who, Role::Editor, &self.subjects(id, text, action)) {
            true => Ok(()),
            false => Err("no editor"),
        }
    }

    fn propose(&mut self, id: &str, text: Text, action: Action, by: (Who, Option<&str>)) {
        let (by, change) = (by.0, by.1.map(str::to_owned));
        let artifact = self.artifact(id);
        artifact.submitters.insert(by);
        if action == Action::Publish {
            artifact.bodies.entry(text.body().to_owned()).or_default().insert(by);
        }
        artifact.recorded.insert(text.body().to_owned());
        artifact.has_history = true;
        let approvals = Vec::new();
        artifact.pending = Some(Pending { by, text, action, change, approvals });
    }

    /// Withdraws the submission of another principal, before one's own.
    pub(crate) fn supersede(&mut self, who: Who, id: &str, change: Option<&str>) -> Outcome {
        self.governed()?;
        self.check_change(who, change)?;
        let Some(pending) = self.pending(id).filter(|pending| pending.by != who) else {
            return Ok(());
        };
        if !self.has_any(who, Role::Editor, &self.subjects_of(id, pending)) {
            return Err("no editor");
        }
        let submitters = self.artifact(id).submitters.clone();
        self.end(&About::Id(id.to_owned()));
        // The replaced submitter stays an author of the replacement.
        self.artifact(id).submitters = submitters;
        Ok(())
    }

    /// Proposes to retire or to move documents.
    pub(crate) fn propose_leaving(
        &mut self,
        who: Who,
        ids: &[String],
        action: &Action,
        change: Option<&str>,
    ) -> Outcome {
        self.governed()?;
        self.check_change(who, change)?;
        if let Action::Move(target) = action
            && self.artifacts.get(target).is_some_and(|a| a.has_history)
        {
            return Err("the target has a history");
        }
        let mut next = self.clone();
        for id in ids {
            let published = self.artifacts.get(id).and_then(|a| a.published.clone());
            let published = published.ok_or("not published")?;
            self.check_submission(id, &published, action, who)?;
            self.check_targets(
                id,
                if let Action::Move(target) = action { Some(target) } else { None },
            )?;
            let change = &self.set_of(who, id, change);
            let change = change.as_deref();
            if let Some(pending) = self.pending(id) {
                if pending.change.as_deref() == change && pending.action == *action {
                    continue;
                }
                if pending.by != who {
                    return Err("another's submission");
                }
                self.check_set(id, change)?;
            }
            next.propose(id, published, action.clone(), (who, change));
        }
        *self = next;
        Ok(())
    }

    /// Returns the artifacts of a decision; true for those that were named.
    fn concerned(&self, about: &About) -> BTreeMap<String, bool> {
        let change = match about {
            About::Change(name) => Some(name.clone()),
            About::Id(id) => self.pending(id).and_then(|p| p.change.clone()),
        };
        let of_change = |artifact: &Artifact| {
            change.is_some() && artifact.pending.as_ref().is_some_and(|p| p.change == change)
        };
        let parts = self.artifacts.iter().filter(|(_, artifact)| of_change(artifact));
        let mut ids: BTreeMap<String, bool> = parts.map(|(id, _)| (id.clone(), false)).collect();
        if let About::Id(id) = about {
            ids.insert(id.clone(), true);
        }
        ids
    }

    /// Approves. Returns the texts that this publishes.
    pub(crate) fn approve(&mut self, who: Who, about: &About) -> Result<Vec<String>, &'static str> {
        self.governed()?;
        let concerned = self.concerned(about);
        if concerned.is_empty() {
            return Err("no such change");
        }
        if let About::Id(id) = about
            && self.pending(id).is_none()
        {
            self.may_ratify(id, who)?;
            self.artifact(id).emergency = None;
            return Ok(Vec::new());
        }
        if let About::Id(id) = about
            && self.artifacts.get(id).is_some_and(|artifact| artifact.emergency.is_some())
        {
            return Err("two decisions are pending");
        }
        let mut next = self.clone();
        let (mut is_complete, mut is_any, mut is_any_done) = (true, false, false);
        for (id, is_named) in &concerned {
            let may = self.may_approve(id, who);
            // A part with its approvals waits only for the rest of its set.
            let is_done = self.pending(id).is_some_and(|p| {
                p.approvals.contains(&who) && p.approvals.len() >= self.required(id, p)
            });
            is_any_done |= is_done;
            if *is_named && !is_done {
                may?;
            }
            let is_mine =
                !is_done && may.is_ok() && (*is_named || matches!(about, About::Change(_)));
            is_any |= is_mine;
            let Some(pending) = next.artifact(id).pending.as_mut() else { continue };
            pending.approvals.extend(is_mine.then_some(who));
            let required = self.required(id, pending);
            is_complete &= pending.approvals.len() >= required;
        }
        if !(is_any || is_complete && is_any_done) {
            return Err("none of it may be approved");
        }
        if !is_complete {
            *self = next;
            return Ok(Vec::new());
        }
        // Each former approver must still be a reviewer.
        for id in concerned.keys() {
            let Some(pending) = next.pending(id) else { continue };
            for who in &pending.approvals {
                self.is_eligible(id, pending, who).map_err(|_| "an approver is none any more")?;
            }
        }
        let ids: Vec<String> = concerned.into_keys().collect();
        next.publish_all(&ids, self.waiting())?;
        *self = next;
        Ok(ids)
    }

    fn publish_all(&mut self, ids: &[String], waiting: usize) -> Outcome {
        for id in ids {
            let Some(Pending { text, action, .. }) = self.artifact(id).pending.take() else {
                continue;
            };
            if let Action::Move(target) = &action {
                if self.artifact(target).has_history {
                    return Err("the target has a history");
                }
                let moved = self.artifact(id).published.clone().ok_or("not published")?;
                self.publish(target, moved);
            }
            match action {
                Action::Publish => self.publish(id, text),
                Action::Retire | Action::Move(_) => self.retire(id),
            }
        }
        if !self.is_governed && waiting > ids.len() {
            return Err("others await");
        }
        Ok(())
    }

    /// Publishes a text without a review, or after it.
    pub(crate) fn publish(&mut self, id: &str, text: Text) {
        match id {
            STEWARDS => self.stewards = self.known[text.body()].clone(),
            CONFIG => {
                self.is_governed = text.body().contains("governance: governed");
                self.bar_author = text.body().contains("bar_author: true");
            }
            _ => {}
        }
        let artifact = self.artifact(id);
        artifact.recorded.insert(text.body().to_owned());
        (artifact.published, artifact.former) = (Some(text), None);
        artifact.has_history = true;
        artifact.ends();
    }

    pub(crate) fn retire(&mut self, id: &str) {
        let artifact = self.artifact(id);
        let published = artifact.published.take();
        artifact.former = published.or(artifact.former.take());
        artifact.ends();
    }

    /// Rejects or withdraws, with the rest of the set.
    pub(crate) fn refuse(&mut self, who: Who, about: &About, is_withdrawn: bool) -> Outcome {
        self.governed()?;
        let concerned = self.concerned(about);
        if concerned.is_empty() {
            return Err("no such change");
        }
        for (id, is_named) in &concerned {
            let pending = self.pending(id).ok_or("nothing awaits")?;
            if !is_named && matches!(about, About::Id(_)) {
                continue;
            }
            let may = match is_withdrawn {
                true => pending.by == who,
                false => self.has_any(who, Role::Reviewer, &self.subjects_of(id, pending)),
            };
            if !may {
                return Err("not theirs to end");
            }
        }
        self.end(about);
        Ok(())
    }

    fn end(&mut self, about: &About) {
        for id in self.concerned(about).into_keys() {
            let artifact = self.artifact(&id);
            artifact.pending = None;
            artifact.submitters.clear();
        }
    }

    /// Retires at once.
    pub(crate) fn emergency(&mut self, who: Who, id: &str) -> Outcome {
        self.governed()?;
        let published = self.artifacts.get(id).and_then(|a| a.published.clone());
        let text = published.ok_or("not published")?;
        if !self.has(who, Role::Reviewer, &[(id.to_owned(), text.clone())]) {
            return Err("no reviewer");
        }
        self.retire(id);
        self.artifact(id).emergency = Some((who, text));
        Ok(())
    }
}

impl Artifact {
    fn ends(&mut self) {
        self.pending = None;
        self.emergency = None;
        self.submitters.clear();
    }
}
