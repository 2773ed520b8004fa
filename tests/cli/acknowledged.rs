//! `ctx audit acknowledge`, for events whose writer can no longer add the line (AUDIT-31).

use std::sync::Arc;

use serde_json::Value;

use crate::anchored::git;
use crate::changes::Mute;
use crate::harness::{Output, Place, files_in};

/// Returns a vault that lacks the line of checkpoint 2, and the lost machine that made it.
fn lost() -> (Place, Place) {
    let machine = Place::published(&[("nodes/a", "# A\n\nOne.\n")]);
    machine.edit("nodes/a.md", "One.", "Two.");
    let output = machine.typed("publish --changed").on(Arc::new(Mute));
    assert_eq!(output.exit, 5, "{}", output.whole());
    (machine.duplicate(), machine)
}

/// Returns the code, the checkpoint and the message of each finding.
fn findings(place: &Place) -> Vec<(String, Value, String)> {
    let report = place.ctx("verify --json").json("ctx.verify");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = report["findings"].as_array().unwrap().iter();
    all.map(|f| (text(&f["code"]), f["checkpoint"].clone(), text(&f["message"]))).collect()
}

#[track_caller]
fn only(place: &Place) -> (String, Value, String) {
    let found = findings(place);
    let [one] = found.as_slice() else { panic!("{found:?}") };
    one.clone()
}

#[track_caller]
fn refused(output: &Output, exit: i32, code: &str) {
    let told = format!("error[{code}]");
    assert!(output.exit == exit && output.stderr.contains(&told), "{}", output.whole());
}

const ACKNOWLEDGE: &str = "audit acknowledge 2 --reason 'the laptop of ana was lost'";

#[test]
fn an_acknowledged_event_is_a_note_that_says_who_and_why() {
    let (place, _) = lost();
    place.ctx("verify").exits(1);
    assert_eq!(only(&place).0, "audit-missing");
    let report = place.ctx(&format!("{ACKNOWLEDGE} --json --as kim@example.com")).ok();
    let report = report.json("ctx.audit.acknowledge");
    assert_eq!((&report["checkpoint"], &report["dry_run"]), (&2.into(), &false.into()));
    assert_eq!(report["principal"], "kim@example.com");
    let (code, checkpoint, message) = only(&place);
    assert_eq!((code.as_str(), checkpoint), ("audit-acknowledged", 2.into()));
    let told = "of `kim@example.com` acknowledges it: the laptop of ana was lost";
    assert!(message.starts_with("no line of a change log records the event"), "{message}");
    assert!(message.ends_with(told), "{message}");
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.contains("[audit-acknowledged]"), "{verified}");

    let traces = place.ctx("trace list --json").ok().json("ctx.trace.list");
    let line = traces["traces"].as_array().unwrap().last().unwrap();
    assert_eq!((&line["action"], line.get("sealed")), (&"acknowledge".into(), None));
    let shown = place.ctx(&format!("trace show {}", line["trace"].as_str().unwrap())).ok().stdout;
    assert!(shown.contains("no line    checkpoint 2 sha256:"), "{shown}");
    assert!(shown.contains("reason     the laptop of ana was lost"), "{shown}");
    place.ctx("trace grep 'laptop of ana'").ok();
    place.ctx("trace list --format otlp").ok();
    place.ctx("trace list --format prov-json").ok();

    // The maker of the event may acknowledge it as well, and is named as its maker.
    let (own, _) = lost();
    own.ctx(ACKNOWLEDGE).ok();
    let message = only(&own).2;
    assert!(
        message.ends_with("; the histories name this principal as the maker of the event"),
        "{message}"
    );

    // Another clone reports the same, and later events are recorded as usual.
    assert_eq!(only(&place.duplicate()).0, "audit-acknowledged");
    place.edit("nodes/a.md", "Two.", "Three.");
    place.ctx("publish --changed").ok();
    assert_eq!(only(&place).0, "audit-acknowledged");
    refused(&place.ctx(ACKNOWLEDGE), 1, "not-missing");
}

#[test]
fn the_line_of_the_event_itself_ends_the_note() {
    let (place, machine) = lost();
    place.ctx(ACKNOWLEDGE).ok();
    // The machine is found again.
    machine.ctx("recover").ok();
    for (path, bytes) in files_in(&machine.path(".context/audit")) {
        place.write(&format!(".context/audit/{path}"), bytes);
    }
    assert_eq!(findings(&place), []);
}

#[test]
fn only_what_is_missing_is_acknowledged() {
    let (place, machine) = lost();
    let before = place.tree();
    let run = |line: &str| place.ctx(&format!("audit acknowledge {line}"));
    refused(&run("1 --reason x"), 1, "not-missing");
    refused(&run("9 --reason x"), 1, "unknown-checkpoint");
    refused(&run("2 --reason ' '"), 2, "usage");
    assert_eq!(run("2").exit, 2);
    let none = place.typed(ACKNOWLEDGE).without("CTX_PRINCIPAL").run();
    refused(&none, 2, "no-principal");
    let told = run("2 --reason x --dry-run").ok().stdout;
    assert!(told.starts_with("would acknowledge: no change log has the event"), "{told}");
    assert_eq!(place.tree(), before);
    // The machine writes its own line instead.
    refused(&machine.ctx(ACKNOWLEDGE), 1, "not-missing");
    assert_eq!(findings(&machine), []);
    let place = Place::unrecorded(&[("nodes/a", "# A\n")]);
    refused(&place.ctx("audit acknowledge 1 --reason x"), 1, "not-begun");
}

#[test]
fn a_log_that_lacks_the_trusted_head_is_not_acknowledged() {
    let (place, _) = lost();
    place.ctx(ACKNOWLEDGE).ok();
    let log = place.read(".versions/checkpoints.jsonl");
    place.edit("nodes/a.md", "Two.", "Three.");
    place.ctx("publish --changed").ok();
    place.write(".versions/checkpoints.jsonl", log);
    refused(&place.ctx(ACKNOWLEDGE), 4, "head-rollback");
}

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  - \
    {principal: kim@x.com, role: reviewer}\n  - {principal: ana@x.com, role: editor}\n\
    folders:\n  nodes/:\n    - {principal: lee@x.com, role: reviewer}\n";

/// Returns a governed vault that lacks the line of checkpoint 3.
fn governed() -> Place {
    by(|machine| {
        let line = "approve stewards.yaml --as kim@x.com";
        let output = machine.typed(line).on(Arc::new(Mute));
        assert_eq!(output.exit, 5, "{}", output.whole());
    })
    .duplicate()
}

/// Returns a governed vault whose checkpoint 3 is approved by `approve`.
fn by(approve: impl Fn(&Place)) -> Place {
    let machine = Place::vault();
    machine.write("nodes/a.md", "# A\n\nOne.\n");
    machine.ctx("publish --all --as ana@x.com").ok();
    machine.write("stewards.yaml", STEWARDS);
    machine.ctx("govern on --as ana@x.com").ok();
    let stewards = STEWARDS.replace("ana@x.com", "ann@x.com");
    machine.write("stewards.yaml", stewards);
    machine.ctx("submit stewards.yaml --as bo@x.com").ok();
    approve(&machine);
    machine
}

/// The writer of an acknowledgement chooses its head, so an old head must not avoid the roles.
#[test]
fn before_governance_those_acknowledge_who_were_reviewers_when_it_began() {
    for (who, code) in [("eve@x.com", "audit-missing"), ("kim@x.com", "audit-acknowledged")] {
        let (place, _) = lost();
        place.ctx("audit acknowledge 2 --reason x --as eve@x.com").ok();
        assert_eq!(only(&place).0, "audit-acknowledged");
        let logs = files_in(&place.path(".context/audit"));
        let is_it = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("\"acknowledge\"");
        let (path, bytes) = logs.iter().find(|(_, bytes)| is_it(bytes)).unwrap();
        let path = format!(".context/audit/{path}");
        place.write(&path, renamed(bytes, who));
        place.write("stewards.yaml", STEWARDS);
        place.ctx("govern on --as ana@x.com").ok();
        let codes: Vec<String> =
            findings(&place.duplicate()).into_iter().map(|(code, ..)| code).collect();
        assert_eq!(codes, [code], "{who}");
    }
}

#[test]
fn a_line_that_this_machine_wrote_is_not_acknowledged_away() {
    let place = by(|machine| {
        machine.ctx("approve stewards.yaml --as kim@x.com").ok();
    });
    git(&place, "init -q");
    let logs = files_in(&place.path(".context/audit"));
    let (path, bytes) = logs.iter().find(|(path, _)| path.ends_with(".jsonl")).unwrap();
    let text = String::from_utf8_lossy(bytes);
    let kept: Vec<&str> = text.split_inclusive('\n').collect();
    place.write(&format!(".context/audit/{path}"), kept[..kept.len() - 1].concat());
    place.ctx("audit acknowledge 3 --reason 'laptop lost' --as kim@x.com").ok();
    let codes: Vec<String> = findings(&place).into_iter().map(|(code, ..)| code).collect();
    assert_eq!(codes, ["audit-rollback", "audit-acknowledged"]);
    place.ctx("verify").exits(1);
}

#[test]
fn in_a_governed_vault_a_reviewer_of_the_whole_vault_acknowledges() {
    let place = governed();
    assert_eq!((only(&place).0.as_str(), only(&place).1), ("audit-missing", 3.into()));
    let line = "audit acknowledge 3 --reason 'laptop lost'";
    for who in ["ann", "lee", "eve"] {
        refused(&place.ctx(&format!("{line} --as {who}@x.com")), 3, "not-a-steward");
    }
    assert_eq!(only(&place).0, "audit-missing");
    place.ctx(&format!("{line} --as kim@x.com")).ok();
    assert_eq!(only(&place).0, "audit-acknowledged");
    // A line in another name is not valid, and is reported.
    let forged = governed();
    place.ctx("verify").ok();
    for (path, bytes) in files_in(&place.path(".context/audit")) {
        if path.ends_with(".jsonl") && String::from_utf8_lossy(&bytes).contains("acknowledge") {
            forged.write(&format!(".context/audit/{path}"), renamed(&bytes, "lee@x.com"));
        }
    }
    let (code, _, message) = only(&forged);
    assert_eq!(code, "audit-missing");
    assert!(message.ends_with("but `lee@x.com` was not a reviewer of the vault"), "{message}");
    forged.ctx("verify").exits(1);
}

/// Returns the lines of a log in another name, with valid hashes.
fn renamed(bytes: &[u8], who: &str) -> String {
    rehashed(&String::from_utf8_lossy(bytes), |_, line| line["principal"] = who.into())
}

/// Returns the lines of a log, each changed by its number, with valid hashes.
pub(crate) fn rehashed(text: &str, change: impl Fn(usize, &mut Value)) -> String {
    use sha2::{Digest as _, Sha256};
    let (mut out, mut prev) = (String::new(), None::<String>);
    for (n, line) in text.lines().enumerate() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().remove("hash");
        change(n + 1, &mut line);
        if let Some(prev) = prev {
            line["prev"] = prev.into();
        }
        let digest = Sha256::digest(serde_jcs::to_vec(&line).unwrap());
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let hash = format!("sha256:{digits}");
        line["hash"] = hash.clone().into();
        out += &(serde_jcs::to_string(&line).unwrap() + "\n");
        prev = Some(hash);
    }
    out
}
