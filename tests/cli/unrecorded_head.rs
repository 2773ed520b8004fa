//! Events that are committed, but whose trusted head could not be recorded.

use std::sync::Arc;

use contextnest::files::vault::disk::{Change, Overseer, Verdict};

use crate::harness::{Output, Place, instant_of};

const LOG: &str = ".versions/checkpoints.jsonl";
const HISTORY: &str = "nodes/.versions/a/history.yaml";

/// A disk that refuses to rename trusted heads into place.
#[derive(Debug)]
struct Forgetful;

impl Overseer for Forgetful {
    fn judge(&self, change: &Change<'_>) -> Verdict {
        match change {
            Change::Rename { to, .. } if to.ends_with("/head.json") => Verdict::Refuse(5),
            _ => Verdict::Allow,
        }
    }
}

/// Publishes on that disk.
fn publish(place: &Place, flags: &str) -> Output {
    place.typed(&format!("publish nodes/a {flags}")).on(Arc::new(Forgetful)).ok()
}

#[test]
fn an_event_whose_head_is_not_recorded_is_committed_and_reported() {
    let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    assert!(publish(&place, "").stderr.contains("the trusted head was not updated: cannot write"));
    place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    assert!(publish(&place, "--json").stdout.contains("\"trusted-head\""));
    assert!(place.ctx("history nodes/a").ok().stdout.contains("v3"));
}

/// The trusted head is older than the log, and a log that was truncated to it must not look like
/// that of an interrupted writer.
#[test]
fn an_acknowledged_event_without_a_trusted_head_is_not_cleared_away() {
    let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
    let log = place.bytes(LOG);
    place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    let _ = publish(&place, "");
    place.write(LOG, &log);
    let cut = place.tree();
    assert!(place.ctx("verify").exits(1).stdout.contains("published-unsealed"));
    place.ctx("publish nodes/a").exits(1);
    place.ctx("recover").exits(4);
    assert_eq!(place.tree(), cut);
    // The same bytes are uncommitted if the writer died before it acknowledged anything.
    place.began(&instant_of(&place.read(HISTORY)));
    place.ctx("verify --allow-drift").ok();
}

/// A user who trusts a truncated log lacks an intent record that explains it.
#[test]
fn trust_in_a_cut_log_excuses_nothing() {
    let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
    let log = place.bytes(LOG);
    place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    place.ctx("publish nodes/a").ok();
    place.write(LOG, &log);
    place.ctx("head trust").ok();
    assert!(place.ctx("verify").exits(1).stdout.contains("published-unsealed"));
    place.ctx("head forget").ok();
    assert!(place.ctx("verify").exits(1).stdout.contains("published-unsealed"));
}

/// A full text is cleared with its entry: a text that is not of the event stays, and so does
/// its entry.
#[test]
fn an_event_of_another_user_is_not_cleared_away() {
    let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
    let log = place.bytes(LOG);
    place.typed("add nodes/bobs --body two").var("CTX_PRINCIPAL", "bob@example.com").run().ok();
    place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    let duplicate = place.duplicate();
    duplicate.ctx("publish nodes/a").ok();
    // A writer dies at the instant of another user's publication, and the log is truncated.
    place.write(HISTORY, duplicate.bytes(HISTORY));
    place.write(LOG, &log);
    place.ctx("head trust").ok();
    place.began(&instant_of(&place.read(HISTORY)));
    let bobs = "nodes/.versions/bobs";
    let before = ["history.yaml", "v1.md"].map(|name| place.bytes(&format!("{bobs}/{name}")));
    assert!(place.ctx("verify").exits(1).stdout.contains("published-unsealed"));
    place.began(&instant_of(&place.read(&format!("{bobs}/history.yaml"))));
    assert!(place.ctx("verify").exits(1).stdout.contains("published-unsealed"), "another person");
    place.ctx("publish nodes/a").exits(1);
    assert_eq!(["history.yaml", "v1.md"].map(|n| place.bytes(&format!("{bobs}/{n}"))), before);
    assert!(!place.ctx("verify").exits(1).stdout.contains("damaged"));
}

/// An event that failed without a trace explains nothing.
#[test]
fn a_refused_event_is_no_interrupted_one() {
    let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
    std::fs::create_dir_all(place.path(".context/local/event/x")).unwrap();
    place.ctx("add nodes/b --body two").exits(5);
    place.remove(".context/local/event");
    place.write(LOG, [&place.bytes(LOG)[..], b"{\"at\""].concat());
    assert!(place.ctx("verify").exits(1).stdout.contains("torn-tail"));
}

/// Bytes that another tool would never have written are not attributed to it.
#[test]
fn a_rule_of_which_the_publication_was_taken_out_is_unsettled() {
    let place = Place::with_maps();
    place.write("nodes/a.md", "# A\n");
    place.ctx("publish --all").ok();
    let before = place.duplicate();
    before.ctx("verify").ok();
    place.edit("CONTEXT.md", "\n", "\nMore rules.\n");
    place.ctx("publish --all").ok();
    let path = ".versions/CONTEXT.md/history.yaml";
    let history = place.read(path);
    let line = history.lines().rfind(|line| line.contains("published_at")).unwrap();
    let at = history.rfind(line).unwrap();
    let cut = format!("{}{}", &history[..at], &history[at + line.len() + 1..]);
    before.write(path, cut);
    assert!(before.ctx("verify").exits(1).stdout.contains("version-unsealed"));
    before.write("CONTEXT.md", "# Other rules\n");
    before.ctx("publish CONTEXT.md").exits(1);
}
