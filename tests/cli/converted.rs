//! `ctx checkpoint convert`: from one form of the log to the other.

use contextnest::files::vault::config::LogForm;
use insta::assert_snapshot;

use crate::harness::{Place, repository};

const DELTA: &str = ".versions/checkpoints.jsonl";
const FULL: &str = ".versions/context_history.yaml";

/// Returns a vault with two documents, three checkpoints, and a configuration that does not mention
/// the log.
fn small() -> Place {
    let place = Place::vault();
    place.write("nodes/a.md", "# a\n");
    place.write("nodes/b.md", "# b\n");
    place.ctx("publish --all").ok();
    place.edit("nodes/a.md", "# a\n", "# a\n\nmore\n");
    place.ctx("publish nodes/a").ok();
    place.ctx("retire nodes/b").ok();
    place
}

fn hashes(place: &Place) -> Vec<String> {
    let list = place.ctx("checkpoint list --json").ok().json("ctx.checkpoint.list");
    let checkpoints = list["checkpoints"].as_array().unwrap().clone();
    checkpoints.iter().map(|c| c["checkpoint_hash"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn there_and_back_keeps_every_checkpoint_and_goes_on() {
    let place = small();
    let first = hashes(&place);
    let delta = place.bytes(DELTA);
    assert_snapshot!(place.ctx("checkpoint convert --to full").ok().whole(), @"
    exit: 0
    -- stdout
    checkpoint 4 with 1 version, 2026-11-21T10:00:05.000Z
      changed  .context/config.yaml  v2
    4 checkpoints converted to `full`, 1328 bytes to 2556
    -- stderr
    note: the old log is kept in .versions/checkpoints.jsonl.replaced-1
    ");
    assert!(!place.has(DELTA));
    assert_eq!(hashes(&place)[..3], first[..]);
    assert!(place.read(".context/config.yaml").contains("checkpoint_log: full"));
    // Only the entries that were appended meanwhile distinguish the old log from its earlier state.
    assert!(place.bytes(".versions/checkpoints.jsonl.replaced-1").starts_with(&delta));
    place.ctx("verify").ok();
    place.edit("nodes/a.md", "more", "much more");
    place.ctx("publish nodes/a").ok();
    let middle = hashes(&place);
    assert_eq!(middle.len(), 5);
    place.ctx("checkpoint convert --to delta").ok();
    assert!(!place.has(FULL));
    assert_eq!(hashes(&place)[..5], middle[..]);
    place.ctx("verify").ok();
    place.ctx("checkpoint rebuild --from-scratch --dry-run").ok();
    place.edit("nodes/a.md", "much more", "less");
    place.ctx("publish nodes/a").ok();
    place.ctx("verify").ok();
}

#[test]
fn a_log_that_has_the_form_is_left_alone() {
    let place = small();
    let before = place.tree();
    assert_snapshot!(place.ctx("checkpoint convert --to delta").ok().stdout, @"the log has the form `delta` already");
    assert_eq!(place.tree(), before);
    // A configuration that asks for the other form is changed as well.
    place.edit(".context/config.yaml", "layout:", "versions:\n  checkpoint_log: full\nlayout:");
    place.ctx("checkpoint convert --to delta").ok();
    assert!(place.read(".context/config.yaml").contains("checkpoint_log: delta"));
    place.ctx("verify").ok();
}

#[test]
fn a_dry_run_writes_nothing() {
    let place = small();
    let before = place.tree();
    assert_snapshot!(place.ctx("checkpoint convert --to full --dry-run").ok().stdout, @"
    would make checkpoint 4 with 1 version, 2026-11-21T10:00:04.000Z
      changed  .context/config.yaml  v2
    --- .context/config.yaml (now)
    +++ .context/config.yaml (published)
    @@ -3,3 +3,5 @@
     layout: structured
     audit:
       retention: 184d
    +versions:
    +  checkpoint_log: full
    4 checkpoints would be converted to `full`, 1328 bytes to 2556
    ");
    let json = place
        .ctx("checkpoint convert --to full --dry-run --json")
        .ok()
        .json("ctx.checkpoint.convert");
    assert_eq!(json["converted"], true);
    assert_eq!(place.tree(), before);
    // At the same instant, the result is the same.
    let at = "2026-11-21T12:00:00.000Z";
    let said = |line: &str| {
        let output = place.typed(line).var("CTX_NOW", at).run().ok();
        output.json("ctx.checkpoint.convert")
    };
    let planned = said("checkpoint convert --to full --dry-run --json");
    let done = said("checkpoint convert --to full --json");
    for key in ["checkpoints", "bytes_before", "bytes_after"] {
        assert_eq!(planned[key], done[key], "{key}");
        assert!(!done[key].is_null());
    }
}

#[test]
fn a_vault_of_the_reference_implementation_is_converted_and_verifies() {
    let place = Place::copy_of(&repository().join("fixtures/interop/procurement"));
    const LATER: &str = "--now 2026-11-22T08:00:00.000Z";
    let before = hashes(&place);
    assert_snapshot!(place.ctx(&format!("checkpoint convert --to delta {LATER}")).ok().whole(), @"
    exit: 0
    -- stdout
    checkpoint 17 with 1 version, 2026-11-22T08:00:00.000Z
      new  .context/config.yaml  v1
      left out: CONTEXT.md (it was not named; `--changed`, `--all` and its name publish it)
      left out: packs/onboarding.yml (it was not named; `--changed`, `--all` and its name publish it)
    17 checkpoints converted to `delta`, 11953 bytes to 5041
    -- stderr
    note: the old log is kept in .versions/context_history.yaml.replaced-1
    ");
    assert_eq!(hashes(&place)[..before.len()], before[..]);
    assert_snapshot!(place.ctx(&format!("verify {LATER}")).ok().stdout, @"
    intact, anchored to checkpoint 17
      anchor: checkpoint 17, trusted on this machine since 2026-11-22T08:00:00.000Z
      17 checkpoints, 5 artifacts, 17 versions recomputed
      head: checkpoint 17, sha256:b5d98b5fabb2a32b10526bd6820c965b831e4ac8b4cd54b16cb8b00fe54bd016
      covered by no hash: the notes of 13 versions

    Notes:
      [policy-unsealed] CONTEXT.md: no checkpoint contains it
          in CONTEXT.md
      [policy-unsealed] packs/onboarding.yml: no checkpoint contains it
          in packs/onboarding.yml
    ");
}

#[test]
fn a_record_that_does_not_verify_is_not_converted() {
    let place = small();
    place.edit("nodes/.versions/a/v1.md", "# a", "# forged");
    let before = place.tree();
    assert_snapshot!(place.ctx("checkpoint convert --to full").exits(1).stderr, @"
    error[log-broken]: the vault would not verify: `nodes/.versions/a/v1.md`: the stored text or diff does not have the recorded hash
    hint: the log was not converted; `ctx verify` lists all findings
    hint: Restore the file from git or from a backup that verifies; `git log -- FILE` shows who changed it. Do not repair it by hand: the hashes cannot be made to match.
    ");
    assert_eq!(place.tree(), before);
}

#[test]
fn convert_compares_the_expected_hash_before_it_writes() {
    let place = small();
    let before = place.tree();
    let head = hashes(&place);
    place.ctx(&format!("checkpoint convert --to full --expect-hash {}", head[1])).exits(4);
    assert_eq!(place.tree(), before);
    place.ctx(&format!("checkpoint convert --to full --expect-hash {}", head[2])).ok();
}

#[test]
fn an_empty_vault_has_nothing_to_convert() {
    assert_snapshot!(Place::vault().ctx("checkpoint convert --to full").exits(1).stderr, @"
    error[log-broken]: the log contains no checkpoint yet
    hint: set `versions: {checkpoint_log: full}` in .context/config.yaml before the first publication
    ");
}

/// Returns a vault whose conversion died between its two files, and the bytes of its old log.
fn halfway() -> (Place, Vec<u8>) {
    let place = small();
    let delta = place.read(DELTA);
    place.ctx("checkpoint convert --to full").ok();
    let duplicate = place.bytes(".versions/checkpoints.jsonl.replaced-1");
    assert!(duplicate.starts_with(delta.as_bytes()));
    place.write(DELTA, &duplicate);
    (place, duplicate)
}

#[test]
fn two_logs_that_say_the_same_are_read_and_the_next_writer_clears_one_away() {
    let (place, duplicate) = halfway();
    assert_snapshot!(place.ctx("verify").ok().stdout, @"
    intact, anchored to checkpoint 4
      anchor: checkpoint 4, trusted on this machine since 2026-11-21T10:00:04.000Z
      4 checkpoints, 4 artifacts, 7 versions recomputed
      head: checkpoint 4, sha256:1b5f7c038700e3235681c55b0027ed51f3da4679d18b94ee837aae7b09d78fd8
      covered by no hash: who retired 1 document

    Notes:
      [unfinished] .versions/checkpoints.jsonl: it contains the same checkpoints as the log: a conversion was interrupted
          in .versions/checkpoints.jsonl
    ");
    assert_eq!(hashes(&place).len(), 4);
    place.ctx("checkpoint rebuild --from-scratch --dry-run").ok();
    assert_snapshot!(place.ctx("recover --dry-run").ok().stdout, @"
    1 uncommitted file would be moved to .context/local/recovered/
      .versions/checkpoints.jsonl  duplicate log  1328 bytes
    ");
    place.edit("nodes/a.md", "more", "much more");
    assert_snapshot!(place.ctx("publish nodes/a").ok().stderr, @"note: 1 uncommitted file of an interrupted command moved to .context/local/recovered/1/");
    assert!(!place.has(DELTA));
    assert_eq!(place.bytes(".context/local/recovered/1/versions/checkpoints.jsonl"), duplicate);
    assert_eq!(hashes(&place).len(), 5);
    place.ctx("verify").ok();
}

#[test]
fn the_form_that_the_sealed_configuration_asks_for_is_the_one_that_stays() {
    let (place, _) = halfway();
    // A setting that was never published does not explain a second form.
    place.edit(".context/config.yaml", "checkpoint_log: full", "checkpoint_log: delta");
    place.ctx("recover").ok();
    assert!(place.has(FULL) && !place.has(DELTA));
    place.ctx("checkpoint convert --to delta").ok();
    place.write(FULL, place.bytes(".versions/context_history.yaml.replaced-1"));
    place.ctx("recover").ok();
    assert!(place.has(DELTA) && !place.has(FULL));
    assert_eq!(hashes(&place).len(), 5);
}

#[test]
fn a_conversion_that_fails_half_way_says_what_was_published() {
    let place = small();
    let run = place.typed("checkpoint convert --to full");
    assert_snapshot!(run.behind("trap '' XFSZ; ulimit -f 4").exits(5).stderr, @"
    error[io]: cannot create `.versions/context_history.yaml`: File too large (os error 27)
    hint: the system limits the size of files
    hint: checkpoint 4 was published with the new setting; the log keeps its old form until you run the command again
    ");
    assert!(place.has(DELTA) && !place.has(FULL));
    assert!(!place.has(".versions/checkpoints.jsonl.replaced-1"));
    place.ctx("checkpoint convert --to full").ok();
    place.ctx("verify").ok();
    assert_eq!(hashes(&place).len(), 4);
}

#[test]
fn no_command_uses_two_logs_that_differ() {
    let (place, duplicate) = halfway();
    let shorter = duplicate[..duplicate.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
    place.write(DELTA, &duplicate[..=shorter]);
    place.ctx("list").exits(1);
    let report = place.ctx("verify").exits(1);
    assert!(report.stdout.contains("foreign-log"), "{}", report.stdout);
    place.ctx("checkpoint convert --to delta").exits(1);
    place.ctx("recover").exits(1);
    assert!(place.has(DELTA) && place.has(FULL));
}

/// An attacker who adds the other form of the log does not change the form of the vault.
#[test]
fn a_planted_second_form_is_cleared_away() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let log = place.read(".versions/checkpoints.jsonl");
    let full = place.exported(LogForm::Full);
    place.write(".versions/context_history.yaml", &full);
    place.ctx("add nodes/b --body two").ok();
    assert!(place.read(".versions/checkpoints.jsonl").starts_with(&log));
    assert!(!place.has(".versions/context_history.yaml"));
    place.ctx("verify").ok();
    // A log with other content is left to people.
    place.write(".versions/context_history.yaml", &full);
    assert_snapshot!(place.ctx("add nodes/c --body three").exits(1).stderr, @"
    error[log-broken]: both `.versions/checkpoints.jsonl` and `.versions/context_history.yaml` exist
    hint: the two log files differ; nothing was written
    hint: find the right one with `git log -- .versions`, and move the other out of the vault
    ");
}

/// The ids of CKPT-11: a log of deltas orders them by UTF-16, one of whole maps by bytes.
#[test]
fn a_log_whose_ids_the_two_forms_order_differently_is_converted() {
    let place = Place::vault();
    for name in ["\u{fb01}", "\u{1f600}", "a"] {
        place.write(&format!("nodes/{name}.md"), "# x\n");
    }
    place.ctx("publish --all").ok();
    place.ctx("checkpoint convert --to full --dry-run").ok();
    let delta = place.bytes(DELTA);
    place.ctx("checkpoint convert --to full").ok();
    place.ctx("verify").ok();
    let event = place.bytes(".versions/checkpoints.jsonl.replaced-1");
    assert!(event.starts_with(&delta));
    // An interrupted conversion leaves both files.
    place.write(DELTA, event);
    let report = place.ctx("verify").ok();
    assert!(report.stdout.contains("unfinished"), "{}", report.stdout);
}

/// A conversion never leaves an empty file, so an empty one proves nothing.
#[test]
fn an_empty_second_log_is_one_finding() {
    let place = small();
    place.write(FULL, "");
    let told = place.ctx("verify --json").exits(1).json("ctx.verify");
    let codes = |told: &serde_json::Value| -> Vec<String> {
        let findings = told["findings"].as_array().unwrap();
        findings.iter().map(|f| f["code"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        (told["verdict"].as_str(), codes(&told)),
        (Some("unsettled"), vec!["foreign-log".to_owned()])
    );
    place.ctx("list").exits(1);
    place.remove(FULL);
    place.ctx("checkpoint convert --to full").ok();
    for text in ["", "rubbish\n"] {
        place.write(DELTA, text);
        let told = place.ctx("verify --json").exits(1).json("ctx.verify");
        assert_eq!(codes(&told), ["foreign-log"], "{text:?}");
    }
}

/// A power cut leaves whole lines of junk in place of the entry of an event (CKPT-18).
#[test]
fn lines_of_junk_at_the_end_of_a_log_of_whole_maps_are_torn_where_an_event_was_begun() {
    for junk in ["} junk\n", "  - checkpoint: 5\n    at: x\n", "[\n\n\"\n", "- 7\n"] {
        let place = small();
        place.ctx("checkpoint convert --to full").ok();
        let log = place.read(FULL);
        place.write(FULL, format!("{log}{junk}"));
        let told = place.ctx("verify --json").exits(1).json("ctx.verify");
        assert_eq!(told["verdict"], "damaged", "{junk:?}");
        assert_eq!(told["checkpoints"], 4, "what is before it is read");
        place.began("2026-11-21T11:00:00.000Z");
        let told = place.ctx("verify --json").ok().json("ctx.verify");
        assert_eq!(told["findings"][0]["code"], "unfinished", "{junk:?}: {told}");
        place.edit("nodes/a.md", "more", "much more");
        place.ctx("publish nodes/a").ok();
        place.ctx("verify").ok();
        assert!(place.read(FULL).starts_with(&log));
    }
}
