//! Forged steps, moves and emergencies, and steps that are removed from histories.

use super::approvals::{more, sealed};
use super::{
    ALPHA, ANA, BO, EVE, Governed, KIM, LATER, LATER_STILL, MOVED, OTHER, PLAIN, Place, Target,
    last,
};
use crate::e3::attacks::Attack;
use crate::e3::forge::history::History;
use crate::e3::forge::history_dir;
use crate::e3::forge::lines::{CHANGES, LineLog};
use crate::e3::forge::review::{Becomes, approval, step, submission};

const LEE: &str = "lee@example.com";

pub(in crate::e3::attacks) const STEPS: &[(&str, Attack)] = &[
    ("review-pending-sealed", |t| {
        Governed::begin(t)?.submit(ANA, PLAIN)?;
        sealed(t, PLAIN)
    }),
    ("review-move-target-left-out", |t| {
        moved(t)?;
        t.remove(&history_dir(MOVED));
        t.remove(&format!("{MOVED}.md"));
        let mut log = t.log();
        log.checkpoints.last_mut()?.drop(MOVED);
        log.checkpoints.last_mut()?.trigger = ALPHA.to_owned();
        log.renew();
        log.write(t);
        Some(last(t, ALPHA))
    }),
    ("review-move-of-another-event", |t| {
        // A document from before the governance is moved once more, without a review.
        let mut vault = Governed::begin_after(t, &[&["retire", OTHER]])?;
        vault.submit(ANA, PLAIN)?;
        let target = "nodes/gov/copied";
        let mut source = History::read(t, OTHER);
        let retired = source.entries.pop()?;
        let removed = retired.retired.clone()?;
        source.write(t);
        let (text, version) = t.last(OTHER);
        let fields = [submission(version), moves_to(target)].concat();
        let submitted = step(&text, version + 1, &removed, "draft", &fields);
        t.add(OTHER, (ANA, &removed), Becomes::Step, &submitted)?;
        let approved = approval("approved", &[BO], &removed);
        let gone = step(&submitted, version + 2, &removed, "draft", &approved);
        t.add(OTHER, (BO, &removed), Becomes::Retired, &gone)?;
        let mut first = History::read(t, OTHER);
        first.entries.truncate(1);
        (first.id, first.entries[0].by) = (target.to_owned(), BO.to_owned());
        (first.entries[0].at, first.entries[0].published) =
            (removed.clone(), Some(removed.clone()));
        let origin = format!("derived_from: ['contextnest://{OTHER}@1']\n---\n\n# A rule");
        let text = step(&text, 1, &removed, "published", &approved);
        let text = text.replacen("---\n\n# A rule", &origin, 1);
        first.store(t, 0, std::slice::from_ref(&text));
        first.write(t);
        t.write(&format!("{target}.md"), text);
        t.seal(LATER, &[target], &[])?;
        Some(Place::of(target).version(1))
    }),
    ("review-retired-plainly", |t| {
        Governed::begin(t)?;
        let (text, version) = t.last(PLAIN);
        let text = step(&text, version + 1, LATER, "draft", &[]);
        t.add(PLAIN, (BO, LATER), Becomes::Retired, &text)?;
        t.seal(LATER, &[], &[PLAIN])?;
        Some(last(t, PLAIN))
    }),
    ("review-retirement-by-submitter", |t| {
        let mut vault = Governed::begin(t)?;
        vault.run(BO, &["retire", PLAIN])?;
        let (text, version) = t.last(PLAIN);
        let text = step(&text, version + 1, LATER, "draft", &approval("approved", &[BO], LATER));
        t.add(PLAIN, (BO, LATER), Becomes::Retired, &text)?;
        t.seal(LATER, &[], &[PLAIN])?;
        Some(last(t, PLAIN))
    }),
    ("review-retirement-published", |t| {
        // A document whose retirement was approved is published.
        let mut vault = Governed::begin(t)?;
        vault.run(ANA, &["retire", PLAIN])?;
        t.approve(PLAIN, (BO, LATER), &[BO])?;
        sealed(t, PLAIN)
    }),
    ("review-emergency-by-editor", |t| {
        Governed::begin(t)?;
        let (text, version) = t.last(PLAIN);
        let fields = [("review", "emergency".to_owned()), ("review_reason", "wrong".to_owned())];
        let text = step(&text, version + 1, LATER, "draft", &fields);
        t.add(PLAIN, (ANA, LATER), Becomes::Retired, &text)?;
        t.seal(LATER, &[], &[PLAIN])?;
        Some(last(t, PLAIN))
    }),
    ("review-ratified-by-same", |t| ratified(t, "BO@example.com")),
    ("review-ratified-by-editor", |t| ratified(t, ANA)),
    ("review-ratified-by-no-steward", |t| ratified(t, EVE)),
    ("review-ratified-nothing", |t| {
        Governed::begin(t)?;
        let (text, version) = t.last(PLAIN);
        let text = step(&text, version + 1, LATER, "draft", &approval("ratified", &[KIM], LATER));
        t.add(PLAIN, (KIM, LATER), Becomes::Step, &text)?;
        Some(last(t, PLAIN))
    }),
    ("review-reject-names-submission", |t| {
        Governed::begin(t)?.submit(ANA, PLAIN)?;
        let place = last(t, PLAIN);
        reworded(t, "submit", "reject")?;
        Some(place)
    }),
    ("review-submit-names-rejection", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        vault.run(BO, &["reject", PLAIN, "--reason", "no source"])?;
        let place = last(t, PLAIN);
        reworded(t, "reject", "submit")?;
        Some(place)
    }),
    ("review-submit-names-publication", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        vault.run(BO, &["approve", PLAIN])?;
        let (place, history) = (last(t, PLAIN), History::read(t, PLAIN));
        let published = history.entries.last()?;
        let (mut log, at) = step_line(t, "submit")?;
        let version = &mut log.lines[at]["versions"][0];
        version["version"] = published.version.into();
        version["chain_hash"] = published.chain.clone().into();
        log.renew();
        log.write(t);
        Some(place)
    }),
    ("review-submission-truncated", |t| {
        Governed::begin(t)?.submit(ANA, PLAIN)?;
        let place = last(t, PLAIN);
        t.truncate(PLAIN, 1)?;
        Some(place)
    }),
    ("review-first-submission-truncated", |t| {
        let mut vault = Governed::begin(t)?;
        t.write("nodes/gov/new.md", "---\ntitle: New\n---\n\nFirst line.\n");
        vault.run(ANA, &["submit", "nodes/gov/new"])?;
        t.truncate("nodes/gov/new", 1)?;
        Some(Place::of("nodes/gov/new").version(1))
    }),
    ("review-rejection-deleted", |t| {
        let mut vault = Governed::begin(t)?;
        vault.submit(ANA, PLAIN)?;
        vault.run(BO, &["reject", PLAIN, "--reason", "no source"])?;
        let place = last(t, PLAIN);
        t.truncate(PLAIN, 1)?;
        t.approve(PLAIN, (KIM, LATER), &[KIM])?;
        t.seal(LATER, &[PLAIN], &[])?;
        Some(place)
    }),
    ("review-submission-exchanged", |t| {
        Governed::begin(t)?.submit(ANA, PLAIN)?;
        let (text, version) = t.last(PLAIN);
        t.truncate(PLAIN, 1)?;
        t.add(PLAIN, (ANA, LATER), Becomes::Step, &more(&text))?;
        t.approve(PLAIN, (KIM, LATER_STILL), &[KIM])?;
        t.seal(LATER_STILL, &[PLAIN], &[])?;
        Some(Place::of(PLAIN).version(version))
    }),
    ("review-step-of-unknown-word", |t| {
        Governed::begin(t)?;
        let (text, version) = t.last(OTHER);
        let text =
            step(&more(&text), version + 1, LATER, "draft", &[("review", "done".to_owned())]);
        t.add(OTHER, (ANA, LATER), Becomes::Step, &text)?;
        Some(last(t, OTHER))
    }),
];

fn moves_to(target: &str) -> Vec<(&'static str, String)> {
    vec![("review_action", "move".to_owned()), ("review_target", target.to_owned())]
}

/// Moves a document by honest commands.
pub(super) fn moved(target: &Target) -> Option<()> {
    let assigned = super::ASSIGNED.replace(
        "max@example.com, role: reviewer}",
        "max@example.com, role: reviewer}\n    - {principal: lee@example.com, role: reviewer}",
    );
    let mut vault = Governed::begin(target)?;
    target.write(super::STEWARDS, assigned);
    vault.run(ANA, &["submit", super::STEWARDS])?;
    vault.run(BO, &["approve", super::STEWARDS])?;
    vault.run(ANA, &["mv", ALPHA, MOVED])?;
    vault.run(LEE, &["approve", ALPHA])
}

/// Ratifies, in this name, a document that Bo retired in an emergency.
fn ratified(target: &Target, by: &str) -> Option<Place> {
    let mut vault = Governed::begin(target)?;
    vault.run(BO, &["retire", PLAIN, "--emergency", "--reason", "wrong"])?;
    let (text, version) = target.last(PLAIN);
    let text = step(&text, version + 1, LATER, "draft", &approval("ratified", &[by], LATER));
    target.add(PLAIN, (by, LATER), Becomes::Step, &text)?;
    Some(last(target, PLAIN))
}

/// Returns the change log with a line of an action, and the position of the last one.
fn step_line(target: &Target, action: &str) -> Option<(LineLog, usize)> {
    let place = |log: LineLog| {
        let at = log.lines.iter().rposition(|line| line["action"] == action)?;
        Some((log, at))
    };
    LineLog::all(target, CHANGES).into_iter().find_map(place)
}

/// Changes the action of a line of a change log, with valid hashes.
fn reworded(target: &Target, from: &str, to: &str) -> Option<()> {
    let (mut log, at) = step_line(target, from)?;
    log.lines[at]["action"] = to.into();
    log.renew();
    log.write(target);
    Some(())
}
