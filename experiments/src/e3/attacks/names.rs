//! Histories under names that some file system or reader mistakes for another.

use unicode_normalization::UnicodeNormalization as _;

use super::Attack;
use crate::e3::forge::{Target, history_dir};
use crate::e3::place::Place;

pub(super) const NAMES: &[(&str, Attack)] = &[
    ("twin-by-case", |t| {
        let id = t.live()?;
        let (folder, name) = id.rsplit_once('/')?;
        let duplicate = format!("{folder}/{}", name.to_uppercase());
        let duplicate =
            if duplicate == id { format!("{folder}/{}", name.to_lowercase()) } else { duplicate };
        copied(t, &id, &duplicate)?;
        Some(Place::of(&id).or(&duplicate))
    }),
    ("twin-by-normal-form", |t| {
        let id = t.live()?;
        // An accent as a character of its own.
        let apart: String = id.nfd().collect();
        let duplicate = if apart == id { format!("{id}e\u{301}") } else { apart };
        copied(t, &id, &duplicate)?;
        Some(Place::vault())
    }),
    ("history-of-reserved-id", |t| {
        let id = t.live()?;
        let name = t.draw.of(&["policy.yaml", "policy.yml"]);
        copied(t, &id, &format!("nodes/{name}"))?;
        Some(Place::vault())
    }),
];

fn copied(target: &Target, id: &str, duplicate: &str) -> Option<()> {
    if id == duplicate {
        return None;
    }
    target.copy(&history_dir(id), &history_dir(duplicate));
    Some(())
}
