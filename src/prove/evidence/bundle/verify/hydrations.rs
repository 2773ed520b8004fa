//! Checks the versions of sources that hydrations name (EVID-26). The result of a source is judged
//! if it was staged; otherwise the bundle only proves that the line records its hash.

use std::collections::BTreeMap;

use super::super::manifest::Manifest;
use super::lines::Lines;
use super::versions::Versions;
use super::{Item, Judged, Kind, Verdict, contradicted, not_proved};
use crate::record::audit::Hydration;

/// Returns an item for the source of each hydration in the lines of the bundle.
pub(super) fn items(manifest: &Manifest, lines: &Lines, versions: &Versions) -> Vec<Item> {
    let places: BTreeMap<(&str, u64), usize> =
        manifest.versions.iter().zip(1..).map(|(v, n)| ((v.id.as_str(), v.version), n)).collect();
    let mut items = Vec::new();
    for (_, line, verdict) in lines.read_lines() {
        let Some(of) = line.hydration().filter(|of| manifest.scope.is_about(&of.source)) else {
            continue;
        };
        let place = places.get(&(of.source.as_str(), of.source_version)).copied();
        let judged = judge(versions, of, place).and_then(|()| match verdict {
            Verdict::Proved => Ok(()),
            _ => not_proved("the line is not proved"),
        });
        items.push(Item::new(Kind::Hydration, line.trace().to_string(), judged));
    }
    items
}

fn judge(versions: &Versions, of: &Hydration, place: Option<usize>) -> Judged {
    let Some(place) = place else {
        return not_proved("the bundle does not have the version of the source");
    };
    let Some(entry) = versions.entry(place) else {
        return not_proved("the version of the source is not proved");
    };
    if entry.chain_hash.to_string() != of.chain_hash {
        return contradicted(format!("the version has chain hash {}", entry.chain_hash));
    }
    match versions.sealed(place, of.checkpoint) {
        Some(Verdict::Proved) => Ok(()),
        Some(Verdict::Contradicted) => {
            contradicted(format!("checkpoint {} does not contain it", of.checkpoint))
        }
        _ => not_proved(format!("it is not proved that checkpoint {} contains it", of.checkpoint)),
    }
}
