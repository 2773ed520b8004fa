//! Attacks that alter, plant and remove governance files.

use super::{Attack, reworded};
use crate::e3::forge::Target;
use crate::e3::forge::history::Stored;
use crate::e3::place::Place;

const CONFIGURATION: &str = ".context/config.yaml";

pub(super) const POLICY: &[(&str, Attack)] = &[
    ("policy-edited", |t| {
        let id = sealed(t)?;
        t.edit(&id, |text| format!("{text}# Everybody may read everything.\n"));
        Some(Place::of(&id))
    }),
    ("policy-edited-unsealed", |t| {
        let never_sealed =
            |id: &&str| t.log().checkpoints.iter().all(|c| !c.versions.contains_key(*id));
        let ids = ["CONTEXT.md", CONFIGURATION, "packs/onboarding.yml"];
        let ids: Vec<&str> = ids.into_iter().filter(|id| t.has(id)).filter(never_sealed).collect();
        let id = t.draw.pick(ids)?;
        t.edit(id, |text| format!("{text}# Everybody may read everything.\n"));
        Some(Place { standing: true, ..Place::of(id) })
    }),
    ("policy-deleted", |t| {
        let id = sealed(t)?;
        t.remove(&id);
        Some(Place::of(&id))
    }),
    ("policy-planted", |t| {
        t.write("packs/planted.yml", "id: planted\nlabel: Planted\nquery: '#red'\n");
        Some(Place::of("packs/planted.yml"))
    }),
    ("policy-history-edited", |t| {
        let histories = t.policies();
        let history = t.draw.pick(histories)?;
        let keyframes = history.entries.iter().filter(|entry| entry.stored == Stored::Keyframe);
        let version = t.draw.pick(keyframes)?.version;
        t.edit(&history.keyframe(version), reworded);
        Some(Place::of(&history.id).version(version))
    }),
    ("configuration-broken", |t| {
        let text = t.draw.of(&["{[", "version: 1\nversion: 2\n", "- 1\n", "\u{0}", "a: *b\n"]);
        t.write(CONFIGURATION, text);
        Some(Place::of(CONFIGURATION))
    }),
    ("configuration-hides", |t| {
        t.edit(CONFIGURATION, |text| format!("{text}exclude:\n  - 'nodes/**'\n"));
        Some(Place::of(CONFIGURATION))
    }),
];

/// Returns a governance file in the maps of the head.
fn sealed(target: &mut Target) -> Option<String> {
    let ids = target.policies().into_iter().map(|history| history.id);
    let ids: Vec<String> = ids.filter(|id| target.has(id)).collect();
    target.draw.pick(ids)
}
