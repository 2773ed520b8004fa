//! A vault of the reference implementation: read, extended, and left so that the reference
//! implementation still works.

use contextnest::model::digest::Digest;
use insta::assert_snapshot;

use crate::harness::{Output, Place, repository};

const LOG: &str = ".versions/context_history.yaml";
const LATER: &str = "--now 2026-11-22T08:00:00.000Z";

fn vault() -> Place {
    Place::copy_of(&repository().join("fixtures/interop/procurement"))
}

#[test]
fn nothing_is_damaged_and_what_it_does_not_record_is_noted() {
    let place = vault();
    assert_snapshot!(place.ctx(&format!("verify {LATER}")).ok().whole(), @"
    exit: 0
    -- stdout
    intact, not anchored
      16 checkpoints, 4 artifacts, 16 versions recomputed
      head: checkpoint 16, sha256:03ca0ce2589e06897b2d6c062fa6a4cc52b89abd8062d7351ba395517c55774b
      covered by no hash: the notes of 13 versions

    Notes:
      [policy-unsealed] .context/config.yaml: no checkpoint contains it
          in .context/config.yaml
      [policy-unsealed] CONTEXT.md: no checkpoint contains it
          in CONTEXT.md
      [policy-unsealed] packs/onboarding.yml: no checkpoint contains it
          in packs/onboarding.yml
    -- stderr
    hint: store the output of `ctx head` elsewhere, and pass it to `ctx verify --expect-head`, to detect truncation or a full rewrite
    ");
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 16 of 2026-11-21T20:27:24.820Z
    Published and unchanged: 4 documents

    Governance files changed (next: ctx publish --changed):
      .context/config.yaml (new)
      CONTEXT.md (new)
      packs/onboarding.yml (new)
    -- stderr
    ");
    assert_snapshot!(place.ctx("list").whole(), @"
    exit: 0
    -- stdout
    nodes/glossaire         v1   glossary   Glossaire – été ☀
    nodes/legal/review      v1   reference  Legal review
    nodes/vendor-risk       v13  document   Vendor risk threshold
    sources/vendor-tickets  v1   source     Vendor tickets
    -- stderr
    ");
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 0
    -- stdout
    4 documents checked: 0 errors, 0 warnings
    -- stderr
    ");
}

#[test]
fn publishing_into_it_only_appends_in_the_same_spelling() {
    let place = vault();
    let before = place.tree();
    place.edit("nodes/vendor-risk.md", "risk score of 59", "risk score of 50");
    assert_snapshot!(place.ctx(&format!("publish --changed -m 'by ctx' {LATER}")).whole(), @"
    exit: 0
    -- stdout
    checkpoint 17 with 4 versions, 2026-11-22T08:00:00.000Z
      new      .context/config.yaml  v1
      new      CONTEXT.md            v1
      changed  nodes/vendor-risk     v14
      new      packs/onboarding.yml  v1
      unchanged: 3 documents
    -- stderr
    ");
    assert!(!place.has(".versions/checkpoints.jsonl"));
    let log = place.read(LOG);
    let old = String::from_utf8(before[LOG].clone()).unwrap();
    assert!(log.starts_with(&old), "the old entries changed");
    assert_snapshot!(&log[old.len()..], @"
    - checkpoint: 17
      at: '2026-11-22T08:00:00.000Z'
      triggered_by: nodes/vendor-risk
      document_versions:
        '.context/config.yaml': 1
        CONTEXT.md: 1
        nodes/glossaire: 1
        nodes/legal/review: 1
        nodes/vendor-risk: 14
        packs/onboarding.yml: 1
        sources/vendor-tickets: 1
      document_chain_hashes:
        '.context/config.yaml': sha256:1fecf293051985edfa6326a8a4b1722dbc2e0c52588e925f46a8efd58fcdeaf9
        CONTEXT.md: sha256:6660ca5f2c5f3eb9190d4ee4414cb063ad565354002997dca04965a8b87aae37
        nodes/glossaire: sha256:b0bd980a628c8ae2493fb12d31868ac217c660f34da26d9d46e1ac9a69184ef8
        nodes/legal/review: sha256:dd9ebc8d3c12445429b35c5fd2d88d555a7af041e42bf7832cacbf1e87199294
        nodes/vendor-risk: sha256:7bfb64c6751b969a36aaac4bcfd4cb2e6bb1635e96dc12a4c928df2d5c89c525
        packs/onboarding.yml: sha256:9a9ee76b77a15e5da045f2611268f3637e314a2a8d79462bb5a555f541a34008
        sources/vendor-tickets: sha256:ba623cfbe5a49f74d931d3ba4012db2c3df25a9f568fc0e823a97bbfb87e22f4
      checkpoint_hash: sha256:324c26938c33a79bfaebd4e1162c96153f936ba0eb405f2093a49b21dd58eb6d
    ");
    let changed: Vec<&String> = before
        .iter()
        .filter(|(path, bytes)| place.bytes(path) != **bytes)
        .map(|(p, _)| p)
        .collect();
    assert_eq!(changed, [LOG, "nodes/.versions/vendor-risk/history.yaml", "nodes/vendor-risk.md"]);
    let history = "nodes/.versions/vendor-risk/history.yaml";
    assert!(place.bytes(history).starts_with(&before[history]));
    assert_snapshot!(&place.read(history)[before[history].len()..], @r#"
    - version: 14
      diff: "--- v13\n+++ v14\n@@ -6,14 +6,15 @@\n   - '#procurement'\n status: published\n author: ana@example.com\n-version: 13\n-updated_at: '2026-11-21T20:27:24.802Z'\n-checksum: 'sha256:a4a7163758c98e7078de51562dc58afce80468c8b752e824a39b08e7e75d2135'\n+version: 14\n+updated_at: '2026-11-22T08:00:00.000Z'\n+checksum: sha256:1184e1d59b3d69517ce757f08e51c5a5b0be4cfa71ae5b76b45164117d4b17fa\n+created_at: '2026-11-21T20:27:24.274Z'\n ---\n \n # Vendor risk threshold\n \n-Approve a vendor below a risk score of 59.\n+Approve a vendor below a risk score of 50.\n \n ## Escalation\n \n"
      edited_by: ana@example.com
      edited_at: '2026-11-22T08:00:00.000Z'
      published_at: '2026-11-22T08:00:00.000Z'
      note: by ctx
      content_hash: sha256:13ab3dc640d7c1ee9a1683e44eb27349ca82de9efb802c05fd30555435bc7988
      chain_hash: sha256:7bfb64c6751b969a36aaac4bcfd4cb2e6bb1635e96dc12a4c928df2d5c89c525
    "#);
    assert_snapshot!(place.ctx(&format!("verify {LATER}")).ok().whole(), @"
    exit: 0
    -- stdout
    intact, anchored to checkpoint 17
      anchor: checkpoint 17, trusted on this machine since 2026-11-22T08:00:00.000Z
      17 checkpoints, 7 artifacts, 20 versions recomputed
      head: checkpoint 17, sha256:324c26938c33a79bfaebd4e1162c96153f936ba0eb405f2093a49b21dd58eb6d
      covered by no hash: the notes of 17 versions
    -- stderr
    ");
    assert!(place.ctx("read nodes/vendor-risk").ok().stdout.contains("risk score of 50"));
    assert!(place.ctx("show nodes/vendor-risk 13").ok().stdout.contains("risk score of 59"));
}

#[test]
fn retiring_and_moving_work_in_it_too() {
    let place = vault();
    place.ctx(&format!("retire nodes/glossaire {LATER}")).ok();
    place.ctx(&format!("mv nodes/legal/review nodes/review {LATER}")).ok();
    let old = vault();
    assert!(place.bytes(LOG).starts_with(&old.bytes(LOG)));
    let json = place.ctx(&format!("verify --json {LATER}")).ok().json("ctx.verify");
    assert_eq!(json["verdict"], "intact, anchored");
    assert_eq!(json["checkpoints"], 16 + 2);
}

/// The reference implementation reads a history with any YAML parser, and recomputes each hash from
/// the stored bytes: it does not know reviews.
#[test]
fn histories_of_reviews_are_read_by_its_rules() {
    let place = vault();
    let stewards = "version: 1\nvault:\n  - {principal: ana@example.com, role: editor}\n  \
        - {principal: bo@example.com, role: reviewer}\n  \
        - {principal: kim@example.com, role: reviewer}\n";
    place.write("stewards.yaml", stewards);
    let run = |by: &str, line: &str, second: u32| {
        place
            .ctx(&format!("{line} --as {by}@example.com --now 2026-11-22T08:00:{second:02}.000Z"))
            .ok();
    };
    run("ana", "govern on", 0);
    place.edit("nodes/glossaire.md", "\n---\n", "\n---\n\nUn mot de plus.\n");
    run("ana", "submit nodes/glossaire", 1);
    run("bo", "reject nodes/glossaire --reason source?", 2);
    run("ana", "submit nodes/glossaire", 3);
    run("bo", "approve nodes/glossaire", 4);
    run("ana", "retire nodes/vendor-risk", 5);
    run("kim", "approve nodes/vendor-risk", 6);
    place.write("stewards.yaml", format!("{stewards}# reviewed\n"));
    run("ana", "submit stewards.yaml", 7);
    run("bo", "approve stewards.yaml", 8);
    let ids =
        ["nodes/.versions/glossaire", "nodes/.versions/vendor-risk", ".versions/stewards.yaml"];
    let mut steps = 0;
    for folder in ids {
        let history = place.read(&format!("{folder}/history.yaml"));
        let history: serde_yaml::Value = serde_yaml::from_str(&history).unwrap();
        let mut before = "contextnest:genesis:v1".to_owned();
        for (entry, version) in history["versions"].as_sequence().unwrap().iter().zip(1_u64..) {
            let text = |key: &str| entry[key].as_str().unwrap_or_default();
            assert_eq!(entry["version"].as_u64(), Some(version), "{folder}");
            let stored = match entry["keyframe"].as_bool() {
                Some(true) => place.read(&format!("{folder}/v{version}.md")),
                _ => text("diff").to_owned(),
            };
            let content = Digest::of(stored.as_bytes()).to_string();
            assert_eq!(text("content_hash"), content, "{folder} {version}");
            let (by, at) = (text("edited_by"), text("edited_at"));
            let chained = format!("{before}:{content}:{version}:{by}:{at}");
            before = Digest::of(chained.as_bytes()).to_string();
            assert_eq!(text("chain_hash"), before, "{folder} {version}");
            // It recognizes a current version by this key only.
            steps += u32::from(entry.get("published_at").is_none());
        }
    }
    // Three steps of one document, a submission and a retirement of the other, and one of the
    // stewards.
    assert_eq!(steps, 3 + 2 + 1);
    let log: serde_yaml::Value = serde_yaml::from_str(&place.read(LOG)).unwrap();
    let checkpoints = log["checkpoints"].as_sequence().unwrap();
    assert_eq!(checkpoints.len(), 16 + 4);
    let last = &checkpoints[19]["document_versions"];
    assert_eq!(last["nodes/glossaire"].as_u64(), Some(5));
    assert!(last.get("nodes/vendor-risk").is_none());
}

#[track_caller]
fn unusable(output: &Output) {
    assert!(output.whole().contains("error[config-invalid]"), "{}", output.whole());
}

const FOREIGN_REVIEW: &str = "review: 'on'\n";

#[test]
fn foreign_review_is_a_warning_in_a_log_that_ctx_did_not_begin() {
    let place = vault();
    let config = place.read(".context/config.yaml") + FOREIGN_REVIEW;
    place.write(".context/config.yaml", &config);
    for verb in ["status", "list", "index", "verify", "head"] {
        place.ctx(&format!("{verb} {LATER}")).ok();
    }
    let found = place.ctx("validate").ok().whole();
    assert!(found.contains("1 warning") && found.contains("`review`"), "{found}");
    place.ctx(&format!("publish --changed {LATER}")).ok();
    // The sealed configuration is read, too.
    place.ctx("status").ok();
    place.ctx("verify --now 2026-11-22T08:00:01.000Z").ok();
    // A configuration that protects the vault fails closed.
    for protects in ["governance: governed\n", "reads: stewards\n"] {
        place.write(".context/config.yaml", format!("{config}{protects}"));
        unusable(&place.ctx("status"));
        unusable(&place.ctx("publish --changed"));
    }
    for foreign in ["governance: 'on'\n", "reads: 'on'\n", "audit: 'on'\n", "staging: 'on'\n"] {
        place.write(".context/config.yaml", format!("{config}{foreign}"));
        unusable(&place.ctx("status"));
    }
}

#[test]
fn foreign_review_is_an_error_in_a_log_that_ctx_began_or_would_begin() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.write(".context/config.yaml", place.read(".context/config.yaml") + FOREIGN_REVIEW);
    for verb in ["status", "publish --changed", "index"] {
        unusable(&place.ctx(verb));
    }
    // The first event of ctx would make it unusable.
    let place = Place::vault();
    place.write(".context/config.yaml", place.read(".context/config.yaml") + FOREIGN_REVIEW);
    place.write("nodes/a.md", "# A\n");
    place.ctx("status").ok();
    let found = place.ctx("publish --all").whole();
    assert!(found.contains("`review`") && found.contains("error[refused]"), "{found}");
}
