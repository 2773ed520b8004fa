//! One alteration of a sound vault for each code of a finding.

use std::fs::File;
use std::os::unix::fs::symlink;

use contextnest::prove::verify::Code;

use crate::harness::{Place, files_in};

pub(super) const LOG: &str = ".versions/checkpoints.jsonl";
pub(super) const HISTORY: &str = "nodes/.versions/a/history.yaml";
pub(super) const FULL_LOG: &str = ".versions/context_history.yaml";

/// Returns a vault with four checkpoints: `nodes/a` in three versions, `nodes/b` retired.
pub(super) fn whole() -> Place {
    let place = Place::published(&[("nodes/a", "# A\n\nOne.\n"), ("nodes/b", "# B\n")]);
    for (old, new) in [("One.", "Two."), ("Two.", "Three.")] {
        place.edit("nodes/a.md", old, new);
        place.ctx("publish --changed").ok();
    }
    place.ctx("retire nodes/b").ok();
    place
}

/// Writes the entries of the history in this order; 0 is the head of the file.
fn entries_again(place: &Place, order: &[usize]) {
    let text = place.read(HISTORY);
    let mut parts: Vec<String> = text.split("\n  - ").map(str::to_owned).collect();
    let last = parts.last_mut().unwrap();
    *last = last.trim_end().to_owned();
    let chosen: Vec<&str> = order.iter().map(|n| parts[*n].as_str()).collect();
    place.write(HISTORY, chosen.join("\n  - ") + "\n");
}

fn line(place: &Place, number: usize, from: &str, to: &str) {
    let text = place.read(LOG);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert!(lines[number - 1].contains(from), "{from}: {}", lines[number - 1]);
    lines[number - 1] = lines[number - 1].replacen(from, to, 1);
    place.write(LOG, lines.join("\n") + "\n");
}

/// Replaces the number or hash after `key` in the first or the n-th entry of a history.
fn field(place: &Place, version: usize, key: &str, to: &str) {
    let text = place.read(HISTORY);
    let mut parts: Vec<String> = text.split("\n  - ").map(str::to_owned).collect();
    let mut lines: Vec<String> = parts[version].lines().map(str::to_owned).collect();
    let at = lines.iter().position(|line| line.trim_start().starts_with(&format!("{key}:")));
    let at = at.unwrap_or_else(|| panic!("no {key} in {text}"));
    if to.is_empty() {
        lines.remove(at);
    } else {
        lines[at] = format!("    {key}: {to}");
    }
    parts[version] = lines.join("\n");
    place.write(HISTORY, parts.join("\n  - ") + "\n");
}

pub(super) type Tampering = (Code, fn(&Place));

pub(super) const TAMPERINGS: &[Tampering] = &[
    (Code::ContentHashMismatch, |p| p.edit("nodes/.versions/a/v1.md", "One.", "Ten.")),
    (Code::ChainHashMismatch, |p| field(p, 2, "edited_by", "eve@example.com")),
    (Code::VersionUnreconstructable, |p| p.edit(HISTORY, "-One.", "-Ten.")),
    (Code::VersionSelfMismatch, |p| p.edit("nodes/.versions/a/v1.md", "version: 1", "version: 7")),
    (Code::KeyframeMissing, |p| p.remove("nodes/.versions/a/v1.md")),
    (Code::DiffMissing, |p| field(p, 2, "diff", "")),
    (Code::EntryMalformed, |p| field(p, 2, "edited_by", "")),
    (Code::VersionGap, |p| entries_again(p, &[0, 1, 3])),
    (Code::VersionDuplicate, |p| entries_again(p, &[0, 1, 2, 2, 3])),
    (Code::VersionOrder, |p| entries_again(p, &[0, 1, 3, 2])),
    (Code::FieldMalformed, |p| field(p, 2, "content_hash", "sha256:ABC")),
    (Code::TimestampMalformed, |p| field(p, 2, "edited_at", "'2026-11-21 10:00:02'")),
    (Code::TimestampOrder, |p| field(p, 2, "edited_at", "'2026-11-21T09:00:00.000Z'")),
    (Code::UnknownHashAlgorithm, |p| {
        field(p, 2, "content_hash", "md5:d41d8cd98f00b204e9800998ecf8427e");
    }),
    (Code::HistoryMissing, |p| p.remove("nodes/.versions/a")),
    (Code::HistoryUnreadable, |p| p.write(HISTORY, "versions: [\n")),
    (Code::HistoryEmpty, |p| p.write(HISTORY, "keyframe_interval: 10\nversions:\n")),
    (Code::CheckpointLogMissing, |p| p.remove(LOG)),
    (Code::CheckpointLogUnreadable, |p| line(p, 2, "{", "")),
    (Code::CheckpointHashMismatch, |p| line(p, 2, "10:00:02.000Z", "10:00:02.001Z")),
    (Code::CheckpointGap, |p| {
        let text = p.read(LOG);
        let lines: Vec<&str> = text.lines().collect();
        p.write(LOG, [lines[0], lines[2], lines[3], ""].join("\n"));
    }),
    (Code::CrossChainMismatch, |p| {
        let text = p.read(LOG);
        let second = text.lines().nth(1).unwrap();
        let at = second.find("[2,\"sha256:").unwrap() + 11;
        line(p, 2, &second[at..at + 64], &"0".repeat(64));
    }),
    (Code::CheckpointVersionUnknown, |p| line(p, 3, "\"nodes/a\":[3,", "\"nodes/a\":[9,")),
    (Code::CheckpointVersionUnpublished, |p| field(p, 1, "published_at", "")),
    (Code::CheckpointTriggerUnknown, |p| {
        line(p, 2, "\"triggered_by\":\"nodes/a\"", "\"triggered_by\":\"nodes/x\"");
    }),
    (Code::VersionRegression, |p| line(p, 3, "\"nodes/a\":[3,", "\"nodes/a\":[1,")),
    (Code::PublicationTimeMismatch, |p| field(p, 2, "published_at", "'2026-11-21T11:00:00.000Z'")),
    (Code::IdCollision, |p| {
        for (name, bytes) in files_in(&p.path("nodes/.versions/a")) {
            p.write(&format!("nodes/.versions/A/{name}"), bytes);
        }
    }),
    (Code::TooLarge, |p| {
        let history = File::options().write(true).open(p.path(HISTORY)).unwrap();
        history.set_len((256 << 20) + 1).unwrap();
    }),
    (Code::PublishedUnsealed, |p| {
        let text = p.read(LOG);
        let lines: Vec<&str> = text.lines().take(3).collect();
        p.write(LOG, lines.join("\n") + "\n");
    }),
    (Code::UnrecordedRemoval, |p| {
        let path = "nodes/.versions/b/history.yaml";
        let text = p.read(path);
        let kept: Vec<&str> = text.lines().filter(|l| !l.contains("retired_at")).collect();
        p.write(path, kept.join("\n") + "\n");
    }),
    (Code::ForeignLog, |p| p.write(FULL_LOG, "checkpoints: []\n")),
    (Code::TornTail, |p| {
        let text = p.read(LOG);
        p.write(LOG, text + "{\"at\"");
    }),
    (Code::Drift, |p| p.edit("nodes/a.md", "Three.", "Four.")),
    (Code::PublishedWithoutHistory, |p| p.write("nodes/x.md", "---\nstatus: published\n---\n")),
    (Code::DocumentMissing, |p| p.remove("nodes/a.md")),
    (Code::PolicyDrift, |p| p.write("CONTEXT.md", "other\n")),
    (Code::Unfinished, |p| p.write("nodes/.versions/x/v1.md", "# X\n")),
    (Code::PolicyUnsealed, |p| p.write("packs/x.yml", "id: x\n")),
    (Code::ChecksumMismatch, |p| p.edit("nodes/.versions/a/v1.md", "# A", "# Z")),
    (Code::CheckpointTriggerMismatch, |p| {
        line(p, 1, "\"triggered_by\":\"nodes/b\"", "\"triggered_by\":\"nodes/a\"");
    }),
    (Code::FileIgnored, |p| symlink("/etc/hostname", p.path("nodes/x.md")).unwrap()),
    (Code::HistoryRespelled, |p| p.edit(HISTORY, "version: 2", "version:  2")),
    (Code::KeyUnknown, |p| {
        p.edit(HISTORY, "    edited_by", "    approved_by: boss\n    edited_by");
    }),
    (Code::KeyframeInterval, |p| p.edit(HISTORY, "keyframe_interval: 10", "keyframe_interval: 5")),
    (Code::CheckpointTriggerUnchanged, |p| {
        line(p, 2, "\"triggered_by\":\"nodes/a\"", "\"triggered_by\":\"nodes/b\"");
    }),
];
