//! The authors of a submission, who may not approve it (paper, Proposition 2).

use super::content::Content;
use super::ruleset::Rules;
use super::track::{Bodies, Pending, Track};
use crate::text::document::Document;
use crate::text::document::review::Action;
use crate::values::model::digest::Digest;
use crate::values::model::principal::PrincipalKey;

/// The reason for which a principal is an author of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barred {
    /// The principal submitted it, or an earlier form of it.
    Submitter,
    /// The principal submitted the same body before.
    SameBody,
    /// The principal published or retired it without a valid approval.
    Unapproved,
    /// The principal submitted a version that the history has lost.
    Lost,
    /// The principal submitted a lost version under an id that moves link with this one.
    LostElsewhere,
    /// The field `author` names the principal.
    Author,
}

impl Barred {
    /// Returns the reason as a predicate whose subject is the principal: "submitted it".
    pub fn reason(self) -> &'static str {
        match self {
            Self::Submitter => "submitted it",
            Self::SameBody => "submitted the same text before",
            Self::Unapproved => "published or retired it without a valid approval",
            Self::Lost => "submitted a version of it that its history has lost",
            Self::LostElsewhere => {
                "submitted a version of it under another id, which the history of that id has lost"
            }
            Self::Author => "is named in its `author` field",
        }
    }
}

impl Track {
    /// Returns the reason for which a principal is an author of a submission of this artifact.
    ///
    /// `None` if the principal is not an author, and so may approve it.
    pub fn bars(&self, pending: &Pending, who: &PrincipalKey, rules: &Rules) -> Option<Barred> {
        if self.submitters.contains(who) {
            return Some(Barred::Submitter);
        }
        if self.distrusted.as_ref().is_some_and(|one| one.editors.contains(who)) {
            return Some(Barred::Unapproved);
        }
        // A retirement or a move writes no text.
        if pending.action.as_ref().is_none_or(|action| *action != Action::Publish) {
            return None;
        }
        let published = self.approved();
        let written = self.texts.get(&pending.body.unspaced).into_iter().flatten();
        let own = written.filter(|one| one.by == *who);
        let (same, respaced): (Vec<_>, Vec<_>) =
            own.partition(|one| one.body == pending.body.exact);
        if !(same.is_empty() && respaced.is_empty()) {
            let last = published.map(|last| Bodies::of(self.id(), &last.text));
            let is_new = |of: fn(Bodies) -> Digest| last.map(of) != Some(of(pending.body));
            if !same.is_empty() && is_new(|body| body.exact)
                || !respaced.is_empty() && is_new(|body| body.unspaced)
            {
                return Some(Barred::SameBody);
            }
        }
        let is_renewal = || self.renews((pending.version, pending.at), &pending.text);
        // If the body is the published one, only the frontmatter was written.
        let is_written_by = || {
            !same.is_empty() && {
                let content = |text: &str| Content::of(self.id(), text);
                let (now, before) = (content(&pending.text), published.map(|p| content(&p.text)));
                same.iter().any(|one| now.is_of(one.content(self.id()), before))
            }
        };
        if is_written_by() && !is_renewal() {
            return Some(Barred::SameBody);
        }
        let is_of = [(&self.lost, Barred::Lost), (&self.lost_elsewhere, Barred::LostElsewhere)];
        let lost = is_of.into_iter().find(|(submitters, _)| submitters.contains(who));
        if let Some((_, why)) = lost.filter(|_| !is_renewal()) {
            return Some(why);
        }
        if !self.id().is_document() {
            return None;
        }
        let written = authors_as_written(&pending.text);
        let is_named = authors(&written).contains(who);
        if !is_named && !rules.bar_author {
            return None;
        }
        // The text that was published last is read only for a principal about whom it can decide.
        let before = self.last_published().filter(|last| last.is_approved);
        let before = before.map(|last| authors_as_written(&last.text));
        let bars = match rules.bar_author {
            true => is_named || before.is_some_and(|before| authors(&before).contains(who)),
            false => before != Some(written),
        };
        bars.then_some(Barred::Author)
    }
}

/// Returns the texts in the field `author` as they are written.
///
/// These are items, and keys and values of mappings, at any depth.
fn authors_as_written(text: &str) -> Vec<String> {
    let document = Document::parse(text).ok();
    let field = document.as_ref().and_then(|document| document.frontmatter.get("author"));
    let (mut open, mut found) = (Vec::from_iter(field), Vec::new());
    while let Some(node) = open.pop() {
        match (node.text(), node.items(), node.entries()) {
            (Some(text), ..) if !node.is_null() => found.push(text.to_owned()),
            (_, Some(items), _) => open.extend(items.iter().rev()),
            (_, _, Some(entries)) => {
                open.extend(entries.iter().rev().flat_map(|(key, value)| [value, key]));
            }
            _ => {}
        }
    }
    found
}

/// Characters that may surround an address in a text.
const AROUND: [char; 14] = ['(', ')', '[', ']', '<', '>', '{', '}', '"', '\'', '.', ',', ';', ':'];

/// Returns the principals that these texts of the field `author` name: each text, each part of it
/// between commas or semicolons, the address in `<...>`, and each word with an `@`.
fn authors(items: &[String]) -> Vec<PrincipalKey> {
    let parts = items.iter().flat_map(|item| item.split([',', ';']).chain([item.as_str()]));
    let names = parts.flat_map(|part| {
        let address = part.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
        let words = part.split([' ', '\t', '\n']).filter(|word| word.contains('@'));
        let words = words.map(|word| word.trim_matches(AROUND));
        [Some(part), address.map(|(address, _)| address)].into_iter().flatten().chain(words)
    });
    names.map(PrincipalKey::of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::track::{Published, Written};
    use super::*;
    use crate::values::model::number::Version;

    #[test]
    fn each_author_is_read_with_the_address_in_angle_brackets() {
        let authors = |text: &str| authors(&authors_as_written(text));
        let keys = authors(
            "---\nauthor: ['Ana B <ANA@example.com>', 'kim@example.com, Lee <lee@example.com>']\n---\n",
        );
        for name in ["ana@example.com", "Kim@example.com", "lee@example.com"] {
            assert!(keys.contains(&PrincipalKey::of(name)), "{name}");
        }
        assert!(authors("---\ntitle: x\n---\n").is_empty());
        for text in [
            "{name: Kim, email: kim@example.com}",
            "[{name: Kim, email: [kim@example.com]}]",
            "{kim@example.com: {role: editor}}",
            "'Kim kim@example.com'",
            "'Kim (kim@example.com).'",
        ] {
            let keys = authors(&format!("---\nauthor: {text}\n---\n"));
            assert!(keys.contains(&PrincipalKey::of("kim@example.com")), "{text}");
        }
    }

    #[test]
    fn a_published_text_that_cannot_be_read_has_the_body_of_no_other() {
        let id: crate::values::model::id::DocumentId = "nodes/a".parse().unwrap();
        let text = "---\ntitle: a\n---\nbody\n";
        let who = PrincipalKey::of("ana@example.com");
        let bars = |published: &str| {
            let mut track = Track::new(&id);
            let text_of = |text: &str| text.to_owned();
            track.published = Some(Published {
                version: Version(1),
                text: text_of(published),
                is_approved: true,
            });
            let before = "---\ntitle: c\n---\nbody\n";
            let body = Bodies::of(&id, before);
            let written = Written::of(who.clone(), body, (&id, before), true);
            track.texts.insert(Bodies::of(&id, text).unspaced, vec![written]);
            let pending = Pending {
                version: Version(3),
                by: "bo@example.com".to_owned(),
                at: "2026-11-21T10:00:00.000Z".parse().unwrap(),
                base: Some(Version(1)),
                action: Some(Action::Publish),
                change: None,
                text: text_of(text),
                body: Bodies::of(&id, text),
                approvals: Vec::new(),
                last: (Version(3), text_of(text)),
                altered: None,
                backdated: None,
            };
            track.bars(&pending, &who, &Rules::default())
        };
        assert_eq!(bars("---\ntitle: b\n---\nbody\n"), None);
        assert_eq!(bars("---\ntitle: b\n---\nother\n"), Some(Barred::SameBody));
        assert_eq!(bars("---\ntitle: [b\n---\nbody\n"), Some(Barred::SameBody));
    }

    #[test]
    fn a_text_is_compared_in_the_same_way_whether_it_or_its_hash_is_kept() {
        let id: crate::values::model::id::DocumentId = "nodes/a".parse().unwrap();
        let who = PrincipalKey::of("ana@example.com");
        let hash = |text: &str, is_kept| {
            Written::of(who.clone(), Bodies::of(&id, text), (&id, text), is_kept).content(&id)
        };
        let (one, step) = ("---\ntitle: c\n---\nb\n", "---\ntitle: c\nversion: 2\n---\nb\n");
        assert_eq!(hash(one, true), hash(step, false));
        assert_ne!(hash(one, true), hash("---\ntitle: d\n---\nb\n", false));
    }
}
