//! Attacks on the text that an approved move publishes under the new id.

use super::steps::moved;
use super::{ANA, CONFIG, EVE, Governed, MOVED, Place, Target};
use crate::e3::attacks::Attack;
use crate::e3::forge::history::History;

pub(in crate::e3::attacks) const MOVES: &[(&str, Attack)] = &[
    ("review-move-target-altered", |t| {
        moved(t)?;
        altered(t, &[("First line.", "Another line.")])
    }),
    ("review-move-pin-altered", |t| {
        moved(t)?;
        let pin = pin(t)?;
        altered(t, &[(&pin, "@999'")])
    }),
    ("review-move-pin-of-the-past", |t| {
        moved(t)?;
        let pin = pin(t)?;
        altered(t, &[(&pin, "@1'")])
    }),
    ("review-move-origin-anchored", |t| {
        moved(t)?;
        let pin = pin(t)?;
        let anchored = pin.replacen('\'', "#approved-by-the-board'", 1);
        altered(t, &[(&pin, &anchored)])
    }),
    ("review-move-origin-added", |t| {
        moved(t)?;
        altered(t, &[("derived_from: [", "derived_from: ['contextnest://nodes/gov/plain', ")])
    }),
    ("review-move-comment-added", |t| {
        moved(t)?;
        altered(t, &[("title:", "# Approved by the board.\ntitle:")])
    }),
    ("review-move-author-altered", |t| {
        moved(t)?;
        altered(t, &[("author: ana@example.com", "author: eve@example.com")])
    }),
    ("review-move-time-altered", |t| {
        moved(t)?;
        altered(t, &[("created_at: '2026", "created_at: '2016")])
    }),
    ("review-move-by-another", |t| {
        moved(t)?;
        let mut history = History::read(t, MOVED);
        EVE.clone_into(&mut history.entries.first_mut()?.by);
        history.rechain(0);
        history.write(t);
        t.rewrite_last(MOVED, str::to_owned);
        Some(Place::of(MOVED).version(1))
    }),
    ("review-move-untouched-comment", |t| {
        untouched(t, &[("title: A rule\n", "# Approved by the board.\ntitle: A rule\n")])
    }),
    ("review-move-untouched-origin-added", |t| {
        untouched(t, &[("derived_from: [", "derived_from: ['contextnest://nodes/gov/plain', ")])
    }),
    ("review-move-untouched-reason", |t| {
        untouched(t, &[("metadata:\n", "review_reason: approved by the board\nmetadata:\n")])
    }),
    ("review-move-untouched-change", |t| {
        untouched(t, &[("metadata:\n", "change: autumn\nmetadata:\n")])
    }),
    ("review-move-untouched-author", |t| {
        untouched(t, &[("author: lee@example.com", "author: eve@example.com")])
    }),
    ("review-move-untouched-type", |t| untouched(t, &[("type: document", "type: prompt")])),
    ("review-move-untouched-kept-plainly", |t| {
        // The live form is the same, but the published text is edited as a managed one.
        untouched(t, &[("metadata:\n  original_frontmatter:", "metadata:\n  copied:")])
    }),
];

/// Returns the pin of the origin that the target names, with the quote after it.
fn pin(target: &Target) -> Option<String> {
    let text = target.last(MOVED).0;
    let origin = text.lines().find(|line| line.starts_with("derived_from:"))?;
    let from = origin.find('@')?;
    let to = from + origin[from..].find('\'')?;
    Some(origin[from..=to].to_owned())
}

/// Moves a document by honest commands, in a vault in which publishing edits no live file.
fn untouched(target: &Target, changes: &[(&str, &str)]) -> Option<Place> {
    target.edit(CONFIG, |text| text.to_owned() + "frontmatter: untouched\n");
    Governed::at(target)?.run(ANA, &["publish", CONFIG, "--no-sync"])?;
    moved(target)?;
    altered(target, changes)
}

/// Publishes the target of the move with these changes; its file follows if it contains them.
fn altered(target: &Target, changes: &[(&str, &str)]) -> Option<Place> {
    let change = |text: &str| {
        changes.iter().fold(text.to_owned(), |text, (old, new)| text.replacen(old, new, 1))
    };
    let before = target.last(MOVED).0;
    if change(&before) == before {
        return None;
    }
    target.rewrite_last(MOVED, change);
    let path = format!("{MOVED}.md");
    if target.read(&path) == before {
        target.edit(&path, change);
    }
    Some(Place::of(MOVED).version(1))
}
