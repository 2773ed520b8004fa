//! Attacks on the mode and the stewards, so that no approval is needed, or that of
//! another principal.

use super::approvals::{more, sealed, submitted};
use super::{
    ANA, ASSIGNED, BO, CONFIG, EVE, Governed, KIM, LAST, LATER, LATER_STILL, PLAIN, Place,
    STEWARDS, Target, last,
};
use crate::e3::attacks::Attack;
use crate::e3::forge::history::History;
use crate::e3::forge::history_dir;
use crate::e3::forge::review::{Becomes, step};

const GOVERNED: &str = "governance: governed\n";

pub(in crate::e3::attacks) const RULES: &[(&str, Attack)] = &[
    ("review-mode-off-live", |t| {
        Governed::begin(t)?;
        t.edit(CONFIG, |text| text.replacen(GOVERNED, "", 1));
        published(t, LATER)
    }),
    ("review-mode-off-forged", |t| {
        Governed::begin(t)?;
        let text = t.last(CONFIG).0.replacen(GOVERNED, "", 1);
        t.write(CONFIG, &text);
        t.add(CONFIG, (BO, LATER), Becomes::Published, &text)?;
        t.seal(LATER, &[CONFIG], &[])?;
        let place = last(t, CONFIG);
        published(t, LATER_STILL)?;
        Some(place)
    }),
    ("review-mode-off-approved-by-editor", |t| {
        let mut vault = Governed::begin(t)?;
        vault.run(BO, &["govern", "off"])?;
        t.act(CONFIG, (ANA, LATER), (Becomes::Published, "approved", ""))?;
        sealed(t, CONFIG)
    }),
    ("review-config-truncated", |t| {
        Governed::begin(t)?;
        let place = last(t, CONFIG);
        t.truncate(CONFIG, 1)?;
        published(t, LATER)?;
        t.has(&history_dir(CONFIG)).then_some(place)
    }),
    ("review-config-deleted", |t| {
        Governed::begin(t)?;
        t.remove(&history_dir(CONFIG));
        published(t, LATER)?;
        Some(Place::of(CONFIG))
    }),
    ("review-config-retired", |t| {
        Governed::begin(t)?;
        gone(t, CONFIG)?;
        let place = last(t, CONFIG);
        published(t, LATER_STILL)?;
        Some(place)
    }),
    ("review-config-retired-and-published", |t| {
        Governed::begin(t)?;
        gone(t, CONFIG)?;
        published(t, LATER_STILL)
    }),
    ("review-config-dropped", |t| {
        Governed::begin(t)?;
        t.seal(LATER, &[], &[CONFIG])?;
        published(t, LATER_STILL)
    }),
    ("review-stewards-retired", |t| {
        Governed::begin(t)?;
        gone(t, STEWARDS)?;
        Some(last(t, STEWARDS))
    }),
    ("review-stewards-deletion-approved", |t| {
        Governed::begin(t)?;
        t.add(STEWARDS, (ANA, LATER), Becomes::Step, "")?;
        t.act(STEWARDS, (BO, LATER_STILL), (Becomes::Retired, "approved", ""))?;
        t.seal(LATER_STILL, &[], &[STEWARDS])?;
        Some(last(t, STEWARDS))
    }),
    ("review-stewards-dropped", |t| {
        // Without stewards no principal could approve; with the sealed ones, eve cannot.
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        t.seal(LATER, &[], &[STEWARDS])?;
        t.approve(PLAIN, (EVE, LATER_STILL), &[EVE])?;
        t.seal(LATER_STILL, &[PLAIN], &[])?;
        Some(last(t, PLAIN))
    }),
    ("review-stewards-unreadable", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        let text = ASSIGNED.replacen("role: editor", "role: king", 1);
        t.add(STEWARDS, (ANA, "2026-12-31T15:59:00.000Z"), Becomes::Step, &text)?;
        t.act(STEWARDS, (BO, LATER), (Becomes::Published, "approved", ""))?;
        t.seal(LATER, &[STEWARDS], &[])?;
        t.approve(PLAIN, (KIM, LATER_STILL), &[KIM])?;
        t.seal(LATER_STILL, &[PLAIN], &[])?;
        Some(last(t, PLAIN))
    }),
    ("review-stewards-forged", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        let text =
            ASSIGNED.replace("ana@example.com, role: editor", "ana@example.com, role: reviewer");
        t.write(STEWARDS, &text);
        t.add(STEWARDS, (ANA, LATER), Becomes::Published, &text)?;
        sealed(t, STEWARDS)
    }),
    ("review-stewards-forged-and-used", |t| {
        // The forged stewards name the next approver.
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        let text = ASSIGNED.replace("bo@example.com, role", "eve@example.com, role");
        t.write(STEWARDS, &text);
        t.add(STEWARDS, (ANA, LATER), Becomes::Published, &text)?;
        t.seal(LATER, &[STEWARDS], &[])?;
        t.approve(PLAIN, (EVE, LATER_STILL), &[EVE])?;
        t.seal(LATER_STILL, &[PLAIN], &[])?;
        Some(last(t, PLAIN))
    }),
    ("review-mode-off-forged-and-published", |t| {
        Governed::begin(t)?;
        let text = t.last(CONFIG).0.replacen(GOVERNED, "", 1);
        t.write(CONFIG, &text);
        t.add(CONFIG, (BO, LATER), Becomes::Published, &text)?;
        t.seal(LATER, &[CONFIG], &[])?;
        published(t, LATER_STILL)
    }),
    ("review-instructions-dropped", |t| {
        t.write("CONTEXT.md", "Read the rules.\n");
        Governed::begin_after(t, &[&["publish", "CONTEXT.md", "--no-sync"]])?;
        t.seal(LATER, &[], &["CONTEXT.md"])?;
        Some(Place::of("CONTEXT.md"))
    }),
    ("review-approved-before-the-role", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        t.approve(PLAIN, (EVE, LATER), &[EVE])?;
        let text = ASSIGNED.replace("kim@example.com, role", "eve@example.com, role");
        t.write(STEWARDS, &text);
        t.add(STEWARDS, (KIM, LATER), Becomes::Step, &text)?;
        t.act(STEWARDS, (BO, LATER_STILL), (Becomes::Published, "approved", ""))?;
        t.seal(LATER_STILL, &[STEWARDS], &[])?;
        t.seal(LAST, &[PLAIN], &[])?;
        Some(last(t, PLAIN))
    }),
    ("review-stewards-approved-by-author", |t| {
        let mut vault = Governed::begin(t)?;
        t.edit(STEWARDS, |text| text.to_owned() + "# changed\n");
        vault.run(BO, &["submit", STEWARDS])?;
        t.act(STEWARDS, (BO, LATER), (Becomes::Published, "approved", ""))?;
        sealed(t, STEWARDS)
    }),
    ("review-act-with-hunks", |t| {
        changed_stewards(t)?;
        let lines = t.last(STEWARDS).0.lines().count();
        let hunk = format!("@@ -{lines},0 +{},1 @@\n+# more\n", lines + 1);
        t.act(STEWARDS, (KIM, LATER), (Becomes::Published, "approved", &hunk))?;
        sealed(t, STEWARDS)
    }),
    ("review-act-as-plain-diff", |t| {
        changed_stewards(t)?;
        t.act(STEWARDS, (KIM, LATER), (Becomes::Published, "", ""))?;
        sealed(t, STEWARDS)
    }),
    ("review-act-as-keyframe", |t| {
        changed_stewards(t)?;
        let (text, version) = t.last(STEWARDS);
        t.add(STEWARDS, (KIM, LATER), Becomes::Published, &text)?;
        let mut history = History::read(t, STEWARDS);
        history.entries.last_mut()?.stored = crate::e3::forge::history::Stored::Keyframe;
        let mut texts = History::read(t, STEWARDS).texts(t);
        let at = texts.len() - 1;
        texts[at] = text;
        history.store(t, at, &texts);
        history.write(t);
        t.seal(LATER, &[STEWARDS], &[])?;
        Some(Place::of(STEWARDS).version(version + 1))
    }),
    ("review-submission-by-no-steward-of-the-mode", |t| {
        Governed::begin(t)?;
        let text = t.last(CONFIG).0.replacen(GOVERNED, "", 1);
        let version = t.add(CONFIG, (EVE, LATER), Becomes::Step, &text)?;
        t.act(CONFIG, (BO, LATER_STILL), (Becomes::Published, "approved", ""))?;
        t.seal(LATER_STILL, &[CONFIG], &[])?;
        Some(Place::of(CONFIG).version(version))
    }),
    ("review-role-given-back", |t| {
        // Eve is a steward of her own file only.
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        let text = ASSIGNED.to_owned()
            + "documents:\n  nodes/gov/other: [{principal: eve@example.com, role: reviewer}]\n";
        t.write(STEWARDS, text);
        vault.run(ANA, &["submit", STEWARDS])?;
        vault.run(BO, &["approve", STEWARDS])?;
        t.approve(PLAIN, (EVE, LATER), &[EVE])?;
        sealed(t, PLAIN)
    }),
    ("review-before-the-mode", |t| {
        // A submission from before the vault was governed is published without an approval.
        Governed::begin(t)?;
        let version = t.last(PLAIN).1;
        submitted(t, (ANA, LATER), PLAIN, version, &more)?;
        let (text, version) = t.last(PLAIN);
        let text = step(&text, version + 1, LATER_STILL, "published", &[]);
        t.add(PLAIN, (BO, LATER_STILL), Becomes::Published, &text)?;
        t.seal(LATER_STILL, &[PLAIN], &[])?;
        Some(last(t, PLAIN))
    }),
];

/// Retires a governance file, as in an ungoverned vault.
fn gone(target: &Target, id: &str) -> Option<()> {
    target.remove(id);
    target.add(id, (BO, LATER), Becomes::Retired, "")?;
    target.seal(LATER, &[], &[id])?;
    Some(())
}

/// Publishes a document, as in an ungoverned vault.
fn published(target: &Target, at: &str) -> Option<Place> {
    let (text, version) = target.last(PLAIN);
    let text = step(&more(&text), version + 1, at, "published", &[]);
    target.add(PLAIN, (ANA, at), Becomes::Published, &text)?;
    target.seal(at, &[PLAIN], &[])?;
    Some(last(target, PLAIN))
}

fn changed_stewards(target: &Target) -> Option<()> {
    let mut vault = Governed::begin(target)?;
    target.edit(STEWARDS, |text| text.to_owned() + "# changed\n");
    vault.run(ANA, &["submit", STEWARDS])
}
