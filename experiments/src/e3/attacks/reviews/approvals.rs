//! Approvals by the wrong principals, by too few, or of another text.

use super::{
    ANA, ASSIGNED, BO, CHLOE, CONFIG, EVE, Governed, KIM, LAST, LATER, LATER_STILL, MAX, MOVED,
    OTHER, PLAIN, Place, SAM, TAGGED, TWO, Target, last,
};
use crate::e3::attacks::Attack;
use crate::e3::attacks::fields::moved;
use crate::e3::forge::history::{Entry, History};
use crate::e3::forge::review::{Becomes, approval, step, submission};

pub(in crate::e3::attacks) const APPROVALS: &[(&str, Attack)] = &[
    ("review-self-by-case", |t| approved(t, BO, "BO@Example.com")),
    ("review-self-by-normal-form", |t| approved(t, CHLOE, "Chloe\u{301} Duval")),
    ("review-self-by-blanks", |t| approved(t, BO, "bo@example.com ")),
    ("review-self-by-invisible-character", |t| approved(t, BO, "bo\u{200b}@example.com")),
    ("review-approver-no-steward", |t| approved(t, ANA, EVE)),
    ("review-approver-editor", |t| approved(t, BO, ANA)),
    ("review-approver-forged", |t| {
        Governed::begin(t)?.submit(BO, PLAIN)?;
        t.approve(PLAIN, (BO, LATER), &[KIM])?;
        sealed(t, PLAIN)
    }),
    ("review-approver-added", |t| {
        // In a set, an entry may name only those who approved before it.
        Governed::begin(t)?.submit_as(ANA, TWO, &["--change", "one"], &more)?;
        t.approve(TWO, (BO, LATER), &[KIM, BO])?;
        sealed(t, TWO)
    }),
    ("review-approval-of-older", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        let older = t.last(PLAIN).0;
        vault.submit(ANA, PLAIN)?;
        let version = t.last(PLAIN).1 + 1;
        let text = step(&older, version, LATER, "published", &approval("approved", &[BO], LATER));
        t.add(PLAIN, (BO, LATER), Becomes::Published, &text)?;
        sealed(t, PLAIN)
    }),
    ("review-approval-of-another-document", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit_as(ANA, OTHER, &[], &|text| text.to_owned() + "\nAnother line.\n")?;
        vault.submit(ANA, PLAIN)?;
        let (other, version) = (t.last(OTHER).0, t.last(PLAIN).1 + 1);
        let text = step(&other, version, LATER, "published", &approval("approved", &[BO], LATER));
        t.add(PLAIN, (BO, LATER), Becomes::Published, &text)?;
        sealed(t, PLAIN)
    }),
    ("review-without-submission", |t| {
        Governed::begin(t)?;
        let (text, version) = t.last(PLAIN);
        let text = step(&more(&text), version + 1, LATER, "published", &approved_by(&[BO]));
        t.add(PLAIN, (BO, LATER), Becomes::Published, &text)?;
        sealed(t, PLAIN)
    }),
    ("review-published-plainly", |t| {
        Governed::begin(t)?.submit(ANA, PLAIN)?;
        let (text, version) = t.last(PLAIN);
        let none = [("review", String::new())];
        let text = step(&text, version + 1, LATER, "published", &none);
        t.add(PLAIN, (ANA, LATER), Becomes::Published, &text.replacen("review: \n", "", 1))?;
        sealed(t, PLAIN)
    }),
    ("review-published-in-a-copy", |t| {
        // An ungoverned copy of the vault publishes it in this way. A log that is derived from the
        // histories without approvals has the same checkpoint.
        Governed::begin(t)?;
        let (text, version) = t.last(PLAIN);
        let text = step(&more(&text), version + 1, LATER, "published", &[]);
        t.add(PLAIN, (ANA, LATER), Becomes::Published, &text)?;
        sealed(t, PLAIN)
    }),
    ("review-text-changed", |t| {
        Governed::begin(t)?.submit(ANA, PLAIN)?;
        let (text, version) = t.last(PLAIN);
        let text = step(&more(&text), version + 1, LATER, "published", &approved_by(&[BO]));
        t.add(PLAIN, (BO, LATER), Becomes::Published, &text)?;
        sealed(t, PLAIN)
    }),
    ("review-field-changed", |t| {
        Governed::begin(t)?.submit(ANA, PLAIN)?;
        let (text, version) = t.last(PLAIN);
        let text = text.replacen("title: A rule", "title: Another rule", 1);
        let text = step(&text, version + 1, LATER, "published", &approved_by(&[BO]));
        t.add(PLAIN, (BO, LATER), Becomes::Published, &text)?;
        sealed(t, PLAIN)
    }),
    ("review-approved-by-editor-of-unapproved", |t| {
        Governed::begin(t)?;
        published_past(t, PLAIN, KIM, &more)?;
        submitted(t, (ANA, LATER_STILL), PLAIN, t.last(PLAIN).1, &more)?;
        approved_last(t, PLAIN, KIM)
    }),
    ("review-authorship-ended-by-unapproved", |t| {
        Governed::begin(t)?.submit(BO, PLAIN)?;
        published_past(t, PLAIN, EVE, &|text| text.replacen("First line.", "A line.", 1))?;
        submitted(t, (ANA, LATER_STILL), PLAIN, t.last(PLAIN).1, &more)?;
        approved_last(t, PLAIN, BO)
    }),
    ("review-role-by-tags-of-unapproved", |t| {
        Governed::begin(t)?;
        published_past(t, TAGGED, EVE, &untagged)?;
        submitted(t, (ANA, LATER_STILL), TAGGED, t.last(TAGGED).1, &more)?;
        approved_last(t, TAGGED, KIM)
    }),
    ("review-emergency-by-tags-of-unapproved", |t| {
        Governed::begin(t)?;
        published_past(t, TAGGED, EVE, &untagged)?;
        let (text, version) = t.last(TAGGED);
        let fields = [("review", "emergency".to_owned()), ("review_reason", "wrong".to_owned())];
        let text = step(&text, version + 1, LATER_STILL, "draft", &fields);
        t.add(TAGGED, (KIM, LATER_STILL), Becomes::Retired, &text)?;
        t.seal(LATER_STILL, &[], &[TAGGED])?;
        Some(last(t, TAGGED))
    }),
    ("review-base-forged", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        vault.run(BO, &["approve", PLAIN])?;
        // The submission is based on the version before the published one.
        submitted(t, (ANA, LATER), PLAIN, 1, &more)?;
        t.approve(PLAIN, (BO, LATER_STILL), &[BO])?;
        t.seal(LATER_STILL, &[PLAIN], &[])?;
        Some(last(t, PLAIN))
    }),
    ("review-quorum-not-met", |t| {
        Governed::begin(t)?.submit(ANA, TWO)?;
        t.approve(TWO, (BO, LATER), &[BO])?;
        sealed(t, TWO)
    }),
    ("review-quorum-one-twice", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, TWO)?;
        vault.run(BO, &["approve", TWO])?;
        t.approve(TWO, ("BO@example.com", LATER), &[BO, "BO@example.com"])?;
        sealed(t, TWO)
    }),
    ("review-part-altered", |t| {
        Governed::begin(t)?.submit(ANA, TWO)?;
        let (text, version) = t.last(TWO);
        let part = step(&more(&text), version + 1, LATER, "draft", &approval("", &[BO], LATER));
        t.add(TWO, (BO, LATER), Becomes::Step, &part)?;
        t.approve(TWO, (KIM, LATER_STILL), &[BO, KIM])?;
        t.seal(LATER_STILL, &[TWO], &[])?;
        Some(last(t, TWO))
    }),
    ("review-part-by-author", |t| {
        Governed::begin(t)?.submit(BO, TWO)?;
        let (text, version) = t.last(TWO);
        let part = step(&text, version + 1, LATER, "draft", &approval("", &[BO], LATER));
        t.add(TWO, (BO, LATER), Becomes::Step, &part)?;
        t.approve(TWO, (KIM, LATER_STILL), &[BO, KIM])?;
        t.seal(LATER_STILL, &[TWO], &[])?;
        Some(last(t, TWO))
    }),
    ("review-rejected-approved", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        let submitted = t.last(PLAIN).0;
        vault.run(BO, &["reject", PLAIN, "--reason", "no source"])?;
        approved_after(t, &submitted)
    }),
    ("review-withdrawn-approved", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        let submitted = t.last(PLAIN).0;
        vault.run(ANA, &["withdraw", PLAIN])?;
        approved_after(t, &submitted)
    }),
    ("review-resubmitted-by-another", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(BO, PLAIN)?;
        vault.run(ANA, &["submit", PLAIN, "--supersede"])?;
        t.approve(PLAIN, (BO, LATER), &[BO])?;
        sealed(t, PLAIN)
    }),
    ("review-resubmitted-after-rejection", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(BO, PLAIN)?;
        vault.run(KIM, &["reject", PLAIN, "--reason", "not yet"])?;
        vault.run(ANA, &["submit", PLAIN])?;
        t.approve(PLAIN, (BO, LATER), &[BO])?;
        sealed(t, PLAIN)
    }),
    ("review-author-approves", |t| {
        let author = |text: &str| {
            let own = "author: ana@example.com\n";
            let bare = more(text).replacen(own, "", 1);
            bare.replacen("title:", "author: 'Bo <BO@example.com>, Ana'\ntitle:", 1)
        };
        Governed::begin(t)?.submit_as(ANA, PLAIN, &[], &author)?;
        t.approve(PLAIN, (BO, LATER), &[BO])?;
        sealed(t, PLAIN)
    }),
    ("review-submitted-by-no-steward", |t| {
        Governed::begin(t)?;
        let version = t.last(PLAIN).1;
        let submitted = submitted(t, (EVE, LATER), PLAIN, version, &more)?;
        t.approve(PLAIN, (BO, LATER_STILL), &[BO])?;
        t.seal(LATER_STILL, &[PLAIN], &[])?;
        Some(Place::of(PLAIN).version(submitted))
    }),
    ("review-submitted-before-the-mode", |t| {
        Governed::begin(t)?;
        submitted_anew(t, "2020-01-01T00:00:00.000Z")
    }),
    ("review-submitted-in-a-pause", |t| {
        let mut vault = Governed::begin(t)?;
        vault.run(ANA, &["govern", "off"])?;
        vault.run(BO, &["approve", CONFIG])?;
        let pause = t.log().checkpoints.last()?.at.clone();
        vault.run(ANA, &["govern", "on"])?;
        submitted_anew(t, &moved(&pause, 1_000))
    }),
    ("review-submitted-before-a-version", |t| {
        let mut vault = Governed::begin(t)?;
        let then = moved(&t.log().checkpoints.last()?.at, 1_000);
        let without = ASSIGNED.replace("  - {principal: ana@example.com, role: editor}\n", "");
        t.write(super::STEWARDS, without);
        vault.run(ANA, &["submit", super::STEWARDS])?;
        vault.run(BO, &["approve", super::STEWARDS])?;
        vault.submit(KIM, PLAIN)?;
        vault.run(BO, &["approve", PLAIN])?;
        submitted(t, (ANA, &then), PLAIN, t.last(PLAIN).1, &more)?;
        t.approve(PLAIN, (BO, LATER), &[BO])?;
        sealed(t, PLAIN)
    }),
    ("review-approved-before-the-submission", |t| {
        Governed::begin(t)?;
        submitted(t, (ANA, LATER_STILL), PLAIN, t.last(PLAIN).1, &more)?;
        t.approve(PLAIN, (BO, LATER), &[BO])?;
        sealed(t, PLAIN)
    }),
    ("review-tags-removed", |t| {
        let untagged = |text: &str| more(text).replacen("'#security'", "'#other'", 1);
        Governed::begin(t)?.submit_as(ANA, TAGGED, &[], &untagged)?;
        t.approve(TAGGED, (BO, LATER), &[BO])?;
        sealed(t, TAGGED)
    }),
    ("review-tags-added", |t| {
        let tagged = |text: &str| more(text).replacen("title:", "tags: ['#security']\ntitle:", 1);
        Governed::begin(t)?.submit_as(ANA, PLAIN, &[], &tagged)?;
        t.approve(PLAIN, (SAM, LATER), &[SAM])?;
        sealed(t, PLAIN)
    }),
    ("review-moved-to-own-folder", |t| {
        let mut vault = Governed::begin(t)?;
        vault.run(ANA, &["mv", super::ALPHA, MOVED])?;
        let (text, version) = t.last(super::ALPHA);
        let text = step(&text, version + 1, LATER, "draft", &approved_by(&[MAX]));
        t.add(super::ALPHA, (MAX, LATER), Becomes::Retired, &text)?;
        t.seal(LATER, &[], &[super::ALPHA])?;
        Some(last(t, super::ALPHA))
    }),
    ("review-stewards-used-at-once", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        t.write(super::STEWARDS, with_eve());
        vault.run(ANA, &["submit", super::STEWARDS])?;
        t.act(super::STEWARDS, (BO, LATER), (Becomes::Published, "approved", ""))?;
        t.approve(PLAIN, (EVE, LATER), &[EVE])?;
        t.seal(LATER, &[PLAIN, super::STEWARDS], &[])?;
        Some(last(t, PLAIN))
    }),
    ("review-reviewer-removed", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        let without = ASSIGNED.replacen("  - {principal: bo@example.com, role: reviewer}\n", "", 1);
        t.write(super::STEWARDS, without);
        vault.run(ANA, &["submit", super::STEWARDS])?;
        vault.run(KIM, &["approve", super::STEWARDS])?;
        t.approve(PLAIN, (BO, LATER), &[BO])?;
        sealed(t, PLAIN)
    }),
    ("review-set-split", |t| {
        let mut vault = Governed::begin(t)?;
        for id in [PLAIN, OTHER] {
            vault.submit_as(ANA, id, &["--change", "autumn"], &more)?;
        }
        t.approve(PLAIN, (BO, LATER), &[BO])?;
        sealed(t, PLAIN)?;
        Some(Place::of(PLAIN))
    }),
    ("review-set-left", |t| {
        // The other part is published, two events later.
        let mut vault = Governed::begin(t)?;
        for id in [PLAIN, OTHER] {
            vault.submit_as(ANA, id, &["--change", "autumn"], &more)?;
        }
        for (id, at) in [(PLAIN, LATER), (OTHER, LAST)] {
            t.approve(id, (BO, at), &[BO])?;
            t.seal(at, &[id], &[])?;
        }
        Some(Place::of(PLAIN))
    }),
    ("review-set-part-withdrawn", |t| {
        let mut vault = Governed::begin(t)?;
        for id in [PLAIN, OTHER] {
            vault.submit_as(ANA, id, &["--change", "autumn"], &more)?;
        }
        let (text, version) = t.last(OTHER);
        let text = step(&text, version + 1, LATER, "draft", &[("review", "withdrawn".to_owned())]);
        t.add(OTHER, (ANA, LATER), Becomes::Step, &text)?;
        t.approve(PLAIN, (BO, LATER_STILL), &[BO])?;
        t.seal(LATER_STILL, &[PLAIN], &[])?;
        Some(Place::of(PLAIN))
    }),
    ("review-set-completed-by-no-steward", |t| {
        Governed::begin(t)?.submit_as(ANA, PLAIN, &["--change", "autumn"], &more)?;
        partly(t, PLAIN)?;
        t.approve(PLAIN, (EVE, LATER_STILL), &[BO])?;
        t.seal(LATER_STILL, &[PLAIN], &[])?;
        Some(last(t, PLAIN))
    }),
    ("review-set-completed-by-author", |t| {
        let mut vault = Governed::begin(t)?;
        for id in [PLAIN, OTHER] {
            vault.submit_as(ANA, id, &["--change", "autumn"], &more)?;
            partly(t, id)?;
        }
        for id in [PLAIN, OTHER] {
            t.approve(id, (ANA, LATER_STILL), &[BO])?;
        }
        t.seal(LATER_STILL, &[PLAIN, OTHER], &[])?;
        Some(last(t, PLAIN))
    }),
    ("review-set-of-two-editors", |t| {
        let mut vault = Governed::begin(t)?;
        for id in [PLAIN, OTHER] {
            vault.submit_as(ANA, id, &["--change", "autumn"], &more)?;
        }
        partly(t, PLAIN)?;
        t.approve(PLAIN, (EVE, LATER_STILL), &[BO])?;
        t.approve(OTHER, (KIM, LATER_STILL), &[KIM])?;
        t.seal(LATER_STILL, &[PLAIN, OTHER], &[])?;
        Some(last(t, PLAIN))
    }),
    ("review-event-of-two-editors", |t| {
        let mut vault = Governed::begin(t)?;
        for id in [PLAIN, OTHER] {
            vault.submit_as(ANA, id, &[], &more)?;
        }
        t.approve(PLAIN, (BO, LATER), &[BO])?;
        t.approve(OTHER, (KIM, LATER), &[KIM])?;
        t.seal(LATER, &[PLAIN, OTHER], &[])?;
        Some(last(t, PLAIN))
    }),
];

/// Publishes a document with another text past the review.
fn published_past(
    target: &Target,
    id: &str,
    by: &str,
    change: &dyn Fn(&str) -> String,
) -> Option<()> {
    let history = History::read(target, id);
    let published = history.entries.iter().rposition(Entry::is_published)?;
    let text = change(&history.texts(target)[published]);
    let version = target.last(id).1 + 1;
    let text = step(&text, version, LATER, "published", &[]);
    target.add(id, (by, LATER), Becomes::Published, &text)?;
    target.seal(LATER, &[id], &[])?;
    Some(())
}

/// Approves the pending submission, and seals it, at the last of the times.
fn approved_last(target: &Target, id: &str, by: &str) -> Option<Place> {
    target.approve(id, (by, LAST), &[by])?;
    target.seal(LAST, &[id], &[])?;
    Some(last(target, id))
}

fn untagged(text: &str) -> String {
    text.replacen("\ntags: ['#security']", "", 1)
}

/// Bo approves the pending submission in part.
fn partly(target: &Target, id: &str) -> Option<u64> {
    let (text, version) = target.last(id);
    let part = step(&text, version + 1, LATER, "draft", &approval("", &[BO], LATER));
    target.add(id, (BO, LATER), Becomes::Step, &part)
}

/// Eve submits a new document at this time, and Bo approves it.
fn submitted_anew(target: &Target, at: &str) -> Option<Place> {
    const NEW: &str = "nodes/gov/new";
    let text = "---\ntitle: New\ntype: document\n---\n\n# New\n\nFirst line.\n";
    let mut history = History::read(target, PLAIN);
    history.entries.truncate(1);
    NEW.clone_into(&mut history.id);
    let first = history.entries.first_mut()?;
    (first.by, first.at, first.published) = (EVE.to_owned(), at.to_owned(), None);
    let text = step(text, 1, at, "draft", &submission(0));
    history.store(target, 0, std::slice::from_ref(&text));
    history.write(target);
    target.approve(NEW, (BO, LATER), &[BO])?;
    target.write(&format!("{NEW}.md"), target.last(NEW).0);
    target.seal(LATER, &[NEW], &[])?;
    Some(Place::of(NEW).version(1))
}

/// Returns a text with one more line.
pub(super) fn more(text: &str) -> String {
    text.to_owned() + "\nA line more.\n"
}

fn with_eve() -> String {
    ASSIGNED.replacen(
        "eviewer}\n",
        "eviewer}\n  - {principal: eve@example.com, role: reviewer}\n",
        1,
    )
}

fn approved_by(by: &[&str]) -> Vec<(&'static str, String)> {
    approval("approved", by, LATER)
}

/// Seals the last version of a document by a checkpoint of the forger.
pub(super) fn sealed(target: &Target, id: &str) -> Option<Place> {
    target.seal(LATER, &[id], &[])?;
    Some(last(target, id))
}

/// Approves and publishes the submission of one principal by another name.
fn approved(target: &Target, submitter: &str, approver: &str) -> Option<Place> {
    Governed::begin(target)?.submit(submitter, PLAIN)?;
    target.approve(PLAIN, (approver, LATER), &[approver])?;
    sealed(target, PLAIN)
}

/// Approves a submission that has ended.
fn approved_after(target: &Target, submitted: &str) -> Option<Place> {
    let version = target.last(PLAIN).1 + 1;
    let text = step(submitted, version, LATER, "published", &approved_by(&[BO]));
    target.add(PLAIN, (BO, LATER), Becomes::Published, &text)?;
    sealed(target, PLAIN)
}

/// Submits a change of the published text; returns the version.
pub(super) fn submitted(
    target: &Target,
    by: (&str, &str),
    id: &str,
    base: u64,
    change: &dyn Fn(&str) -> String,
) -> Option<u64> {
    let history = History::read(target, id);
    let published = history.entries.iter().rposition(Entry::is_published)?;
    let text = change(&history.texts(target)[published]);
    let version = target.last(id).1 + 1;
    let text = step(&text, version, by.1, "draft", &submission(base));
    target.add(id, by, Becomes::Step, &text)
}
