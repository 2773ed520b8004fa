//! `ctx verify`: its reports on sound, drifted and altered vaults. [`super::tamper`] has one
//! alteration for each code of a finding.

use insta::assert_snapshot;

use serde_json::Value;

use crate::harness::{Place, files_in};

fn codes(json: &Value) -> Vec<&str> {
    json["findings"].as_array().unwrap().iter().filter_map(|f| f["code"].as_str()).collect()
}

fn two() -> Place {
    let place = Place::published(&[("nodes/a", "# A\n\nOne.\n"), ("nodes/b", "# B\n")]);
    place.edit("nodes/a.md", "One.", "Two.");
    place.ctx("publish --changed -m 'a note'").ok();
    place
}

#[test]
fn an_empty_vault_has_nothing_that_could_be_intact() {
    assert_snapshot!(Place::vault().ctx("verify").whole(), @"
    exit: 0
    -- stdout
    nothing published
      0 checkpoints, 0 artifacts, 0 versions recomputed

    Notes:
      [policy-unsealed] .context/config.yaml: no checkpoint contains it
          in .context/config.yaml
      [policy-unsealed] CONTEXT.md: no checkpoint contains it
          in CONTEXT.md
    -- stderr
    ");
}

#[test]
fn a_whole_vault_is_intact_but_not_anchored() {
    let place = two();
    let before = place.tree();
    assert_snapshot!(place.ctx("verify").whole(), @"
    exit: 0
    -- stdout
    intact, anchored to checkpoint 2
      anchor: checkpoint 2, trusted on this machine since 2026-11-21T10:00:02.000Z
      2 checkpoints, 4 artifacts, 5 versions recomputed
      head: checkpoint 2, sha256:da42a3add208a0e9985ea245368d4a38247f855fb23923bd3efd1ac9c32e412d
      covered by no hash: the notes of 1 version
    -- stderr
    ");
    assert_snapshot!(place.ctx("verify --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.verify",
      "schema_version": 2,
      "verdict": "intact, anchored",
      "whole": true,
      "anchors": [
        {
          "source": "trusted-head",
          "since": "2026-11-21T10:00:02.000Z",
          "checkpoint": 2,
          "checkpoint_hash": "sha256:da42a3add208a0e9985ea245368d4a38247f855fb23923bd3efd1ac9c32e412d"
        }
      ],
      "checkpoints": 2,
      "checkpoint_hash": "sha256:da42a3add208a0e9985ea245368d4a38247f855fb23923bd3efd1ac9c32e412d",
      "artifacts": 4,
      "versions": 5,
      "unprotected_notes": 1,
      "unprotected_retirements": 0,
      "findings": []
    }
    -- stderr
    "#);
    assert_eq!(place.tree(), before);
}

#[test]
fn a_working_draft_is_no_finding() {
    let place = two();
    place.edit("nodes/a.md", "status: published", "status: draft");
    place.edit("nodes/a.md", "Two.", "Three.");
    place.ctx("verify").ok();
}

#[test]
fn drift_is_reported_and_may_be_allowed() {
    let place = two();
    place.edit("nodes/a.md", "Two.", "Three.");
    place.remove("nodes/b.md");
    place.write("nodes/planted.md", "---\nstatus: published\n---\n");
    place.write("CONTEXT.md", "other");
    assert_snapshot!(place.ctx("verify").whole(), @"
    exit: 1
    -- stdout
    intact, working copy differs
      anchor: checkpoint 2, trusted on this machine since 2026-11-21T10:00:02.000Z
      2 checkpoints, 4 artifacts, 5 versions recomputed
      head: checkpoint 2, sha256:da42a3add208a0e9985ea245368d4a38247f855fb23923bd3efd1ac9c32e412d
      covered by no hash: the notes of 1 version

    Working copy: live files that differ from their published versions:
      [policy-drift] CONTEXT.md: the live file differs from the published text from line 1 on
          in CONTEXT.md
      [drift] nodes/a: the live file differs from the published text from line 13 on
          in nodes/a.md
      [document-missing] nodes/b: the live file is missing
          in nodes/b.md
      [published-without-history] nodes/planted: the file says published, but no checkpoint contains it now
          in nodes/planted.md

    Meaning and remedy:
      [policy-drift] A live governance file differs from its published version.
          `ctx diff FILE` shows the change, `ctx publish FILE` publishes it (and retires a deleted file). `ctx restore --force FILE` undoes it: the change is lost.
      [drift] A live file differs from the published text and is not a draft.
          `ctx diff ID` shows the change, `ctx publish --changed` publishes it; for a file of an older version, or one that says that it is not for use, `ctx status` says what to do. `ctx restore --force ID` undoes the change: it is lost.
      [document-missing] The live file of a published document is missing.
          If git leaves the file out, `git sparse-checkout disable` brings it back. Otherwise restore it with `ctx restore ID`, or withdraw the document with `ctx retire ID`.
      [published-without-history] A live file has the status published, but no checkpoint contains the document.
          If it is a copy of another file, merge the two and delete it. Otherwise run `ctx publish ID`, or set `status: draft` in the file, or delete it.
    -- stderr
    hint: `ctx help CODE` explains a finding
    ");
    assert_snapshot!(place.ctx("verify --allow-drift").exits(0).stderr, @"hint: `ctx help CODE` explains a finding");
    let json = place.ctx("verify --json").exits(1).json("ctx.verify");
    assert_eq!(json["verdict"], "intact, working copy differs");
}

#[test]
fn an_altered_text_is_damage_whatever_is_allowed() {
    let place = two();
    place.edit("nodes/.versions/a/v1.md", "One.", "Ten.");
    assert_snapshot!(place.ctx("verify --allow-drift").whole(), @"
    exit: 1
    -- stdout
    damaged
      anchor: checkpoint 2, trusted on this machine since 2026-11-21T10:00:02.000Z
      2 checkpoints, 4 artifacts, 5 versions recomputed
      head: checkpoint 2, sha256:da42a3add208a0e9985ea245368d4a38247f855fb23923bd3efd1ac9c32e412d
      covered by no hash: the notes of 1 version

    Damage: recorded data was altered or is missing:
      [content-hash-mismatch] nodes/a v1: the stored text or diff does not have the recorded hash
          expected sha256:28c96fd1cf24665250e158fe836c944986dcc9da8191d5368a98eabfc27a30d6
          found    sha256:0bb5ef62d6a77f0af08714cfae0c98dbef548720c4eaf000ce14d83b11a7de25
          in nodes/.versions/a/v1.md
      [version-unreconstructable] nodes/a v2: the diff does not apply: line 18 of the diff: the text has another line here
          in nodes/.versions/a/history.yaml

    Notes:
      [checksum-mismatch] nodes/a v1: its `checksum` field does not match its body
          expected sha256:059207229e76ec21e10d583fb46b00f1d4f4e83706ceb64a2d93f192ecdaa5c9
          found    sha256:daec7054da1c161d82a54b7d58aa8d91c055c8874fa3f1e231d9088bb2450409
          in nodes/.versions/a/history.yaml

    Meaning and remedy:
      [content-hash-mismatch] A stored text or diff does not have its recorded hash.
      [version-unreconstructable] The text of a version cannot be rebuilt.
          Restore the file from git or from a backup that verifies; `git log -- FILE` shows who changed it. Do not repair it by hand: the hashes cannot be made to match.
    -- stderr
    hint: `ctx help CODE` explains a finding
    ");
}

#[test]
fn findings_in_json_carry_place_expected_and_found() {
    let place = two();
    place.edit("nodes/.versions/b/v1.md", "# B", "# C");
    let json = place.ctx("verify --json").exits(1).json("ctx.verify");
    assert_snapshot!(serde_json::to_string_pretty(&json["findings"][0]).unwrap(), @r#"
    {
      "checkpoint": null,
      "class": "damage",
      "code": "content-hash-mismatch",
      "expected": "sha256:571c66758608f69a319659a348469c8956eb4d5764117e4c4a06cdd434d11b48",
      "found": "sha256:2d167ba83f48ad09d6884521e7b270df134e47bade4e6e5dc00ecf0126dc356e",
      "id": "nodes/b",
      "message": "the stored text or diff does not have the recorded hash",
      "path": "nodes/.versions/b/v1.md",
      "version": 1
    }
    "#);
}

#[test]
fn a_cut_log_is_unsettled() {
    let place = two();
    let log = place.read(".versions/checkpoints.jsonl");
    place.write(".versions/checkpoints.jsonl", log.lines().next().unwrap().to_owned() + "\n");
    assert_snapshot!(place.ctx("verify").whole(), @"
    exit: 1
    -- stdout
    damaged
      1 checkpoint, 4 artifacts, 5 versions recomputed
      head: checkpoint 1, sha256:80ace6c73a495cd8c96ba1a14de603190c23a4109c3f003300640c66874cb2db
      covered by no hash: the notes of 1 version

    Damage: recorded data was altered or is missing:
      [head-rollback] .versions/checkpoints.jsonl, checkpoint 2: it is trusted on this machine, but the log ends at checkpoint 1
          expected sha256:da42a3add208a0e9985ea245368d4a38247f855fb23923bd3efd1ac9c32e412d
          in .versions/checkpoints.jsonl
      [audit-contradicts] .context/audit, checkpoint 2: line [WRITER]-2 names checkpoint 2, which the log lacks
          in .context/audit

    Unsettled: incomplete or unreadable records:
      [published-unsealed] nodes/a v2: the history records it as published (ana@example.com, 2026-11-21T10:00:02.000Z), but no checkpoint contains it
          in nodes/.versions/a/history.yaml

    Working copy: live files that differ from their published versions:
      [drift] nodes/a: the live file differs from the published text from line 5 on
          in nodes/a.md

    Meaning and remedy:
      [head-rollback] The log ends before an anchor.
          Look for the missing checkpoints on other branches and in `git stash list`, or restore the log and the histories from git or a backup. If the vault was reset on purpose, run `ctx head trust`, or pass another hash or revision to --expect-head or --since.
      [audit-contradicts] A change log names a checkpoint, or a version of a review, that is missing or has another hash, or contradicts the log or the histories.
          Restore the checkpoint log, the histories and `.context/audit` together from git or a backup. If the vault was reset on purpose, or two branches published and the publications of one were made again after the merge, run `ctx head trust`: it is recorded, too.
      [published-unsealed] A history records a publication or retirement that no checkpoint contains.
          Find out who wrote it before you publish again, because later the files do not show it. After an interrupted command, `ctx recover --dry-run` lists what no checkpoint seals, with author and time. If the log was truncated, restore it, or see with `ctx checkpoint rebuild --dry-run` which checkpoints the histories produce.
      [drift] A live file differs from the published text and is not a draft.
          `ctx diff ID` shows the change, `ctx publish --changed` publishes it; for a file of an older version, or one that says that it is not for use, `ctx status` says what to do. `ctx restore --force ID` undoes the change: it is lost.
    -- stderr
    hint: `ctx help CODE` explains a finding
    ");
    // No writer extends an unsealed version.
    place.edit("nodes/a.md", "Two.", "Three.");
    assert_snapshot!(place.ctx("publish --changed").whole(), @"
    exit: 4
    -- stdout
    -- stderr
    error[head-rollback]: the trusted head is checkpoint 2 (da42a3add208), but the log ends at checkpoint 1
    hint: nothing was written; restore the log from git or a backup, then run `ctx verify`
    hint: `ctx checkpoint rebuild --dry-run` shows the log that the histories produce
    hint: if the vault was changed on purpose, `ctx head trust` trusts the log as it is
    ");
}

#[test]
fn nothing_is_published_on_top_of_damage() {
    let place = two();
    place.edit("nodes/.versions/a/v1.md", "One.", "Ten.");
    place.edit("nodes/a.md", "Two.", "Three.");
    let before = place.tree();
    assert_snapshot!(place.ctx("publish --changed").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/.versions/a/history.yaml
        error[history-broken]: its history cannot be extended: the stored text has hash sha256:0bb5ef62d6a77f0af08714cfae0c98dbef548720c4eaf000ce14d83b11a7de25, but the history records sha256:28c96fd1cf24665250e158fe836c944986dcc9da8191d5368a98eabfc27a30d6 (run `ctx verify`; nothing is published while the history is broken)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    assert_eq!(place.tree(), before);
    let place = two();
    place.write(".versions/checkpoints.jsonl", "{}\n");
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[log-broken]: `.versions/checkpoints.jsonl`, entry 1: not a checkpoint: missing field `at` at line 1 column 2
    hint: nothing was written; run `ctx verify` for a full report
    hint: `ctx checkpoint rebuild --dry-run` shows the log that the histories produce
    ");
    assert_snapshot!(place.ctx("list").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[log-broken]: `.versions/checkpoints.jsonl`, entry 1: not a checkpoint: missing field `at` at line 1 column 2
    hint: nothing was written; run `ctx verify` for a full report
    hint: `ctx checkpoint rebuild --dry-run` shows the log that the histories produce
    ");
    assert_snapshot!(place.ctx("verify").whole(), @"
    exit: 1
    -- stdout
    damaged
      0 checkpoints, 4 artifacts, 5 versions recomputed
      covered by no hash: the notes of 1 version

    Damage: recorded data was altered or is missing:
      [checkpoint-log-unreadable] .versions/checkpoints.jsonl, checkpoint 1: entry 1: not a checkpoint: missing field `at` at line 1 column 2
          in .versions/checkpoints.jsonl
      [audit-contradicts] .context/audit, checkpoint 1: line [WRITER]-1 names checkpoint 1, which the log lacks
          in .context/audit
      [head-rollback] .versions/checkpoints.jsonl, checkpoint 2: it is trusted on this machine, but the log ends at checkpoint 0
          expected sha256:da42a3add208a0e9985ea245368d4a38247f855fb23923bd3efd1ac9c32e412d
          in .versions/checkpoints.jsonl
      [audit-contradicts] .context/audit, checkpoint 2: line [WRITER]-2 names checkpoint 2, which the log lacks
          in .context/audit

    Meaning and remedy:
      [checkpoint-log-unreadable] The checkpoint log or an entry of it cannot be read.
          Restore the file from git or from a backup that verifies. While git merges two branches, `ctx merge` joins their records. After a merge that was committed with conflict markers or the lines of both sides, undo that commit, merge again, and run `ctx merge`. If git converted line ends, add the line `**/.versions/** -text -whitespace -ident -filter -working-tree-encoding` to `.gitattributes` and let git write the files again (`find . -path '*/.versions/*' -exec touch {} +`, then `git restore -- ':(glob)**/.versions/**'`). Until then nothing in the file is served or published.
      [audit-contradicts] A change log names a checkpoint, or a version of a review, that is missing or has another hash, or contradicts the log or the histories.
          Restore the checkpoint log, the histories and `.context/audit` together from git or a backup. If the vault was reset on purpose, or two branches published and the publications of one were made again after the merge, run `ctx head trust`: it is recorded, too.
      [head-rollback] The log ends before an anchor.
          Look for the missing checkpoints on other branches and in `git stash list`, or restore the log and the histories from git or a backup. If the vault was reset on purpose, run `ctx head trust`, or pass another hash or revision to --expect-head or --since.
    -- stderr
    hint: `ctx help CODE` explains a finding
    ");
}

#[test]
fn a_part_of_a_vault_can_be_verified() {
    let place = two();
    place.edit("nodes/.versions/a/v1.md", "One.", "Ten.");
    assert_snapshot!(place.ctx("verify nodes/b CONTEXT.md").whole(), @"
    exit: 0
    -- stdout
    intact, anchored to checkpoint 2 (2 artifacts and the log; nothing else was checked)
      anchor: checkpoint 2, trusted on this machine since 2026-11-21T10:00:02.000Z
      2 checkpoints, 2 artifacts, 2 versions recomputed
      head: checkpoint 2, sha256:da42a3add208a0e9985ea245368d4a38247f855fb23923bd3efd1ac9c32e412d
    -- stderr
    ");
    let json = place.ctx("verify nodes/a --json").exits(1).json("ctx.verify");
    assert_eq!((&json["whole"], &json["artifacts"]), (&false.into(), &1.into()));
    // A head that was not verified is not trusted.
    place.ctx("head forget").ok();
    place.ctx("verify nodes/b").ok();
    assert_eq!(place.ctx("head --json").ok().json("ctx.head")["remembered"], Value::Null);
    place.ctx("verify nodes/nowhere").exits(1);
}

#[test]
fn quiet_prints_nothing_for_an_intact_vault() {
    let place = two();
    let quiet = place.ctx("verify --quiet").ok();
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    place.edit("nodes/a.md", "Two.", "Three.");
    assert_eq!(place.ctx("verify --quiet --allow-drift").ok().stdout, "");
    assert!(place.ctx("verify -q").exits(1).stdout.contains("[drift] nodes/a"));
    // Without its trusted head, a verification compares less than its user expects.
    place.edit("nodes/a.md", "Three.", "Two.");
    place.ctx("verify -q").ok();
    let state = place.home().join(".local/state/contextnest");
    let heads = files_in(&state).into_keys().filter(|path| path.ends_with("head.json"));
    heads.for_each(|head| std::fs::write(state.join(head), "{").unwrap());
    let quiet = place.ctx("verify -q").ok();
    assert!(quiet.stderr.contains("warning: the trusted head in"), "{}", quiet.whole());
    assert_eq!(quiet.stdout, "");
}

#[test]
fn findings_are_exported_as_sarif() {
    let place = two();
    place.edit("nodes/.versions/a/v1.md", "One.", "Ten.");
    place.edit("nodes/b.md", "# B", "# \u{202e}B");
    place.write("packs/a pack\u{1b}.yml", "id: x\n");
    let output = place.ctx("verify --sarif").exits(1);
    assert!(!output.stdout.contains('\u{1b}'));
    let sarif: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&sarif["version"], sarif["runs"].as_array().unwrap().len()), (&"2.1.0".into(), 1));
    let run = &sarif["runs"][0];
    assert_eq!(run["properties"]["verdict"], "damaged");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    let told: Vec<String> = results
        .iter()
        .map(|result| {
            // A result names its rule by id and by index.
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
            let place = &result["locations"][0]["physicalLocation"]["artifactLocation"];
            assert_eq!(place["uriBaseId"], "VAULT");
            let line = &result["locations"][0]["physicalLocation"]["region"]["startLine"];
            format!("{} {} {}:{line}", result["level"], result["ruleId"], place["uri"])
                .replace('"', "")
                .replace(":null", "")
        })
        .collect();
    assert_snapshot!(told.join("\n"), @"
    error content-hash-mismatch nodes/.versions/a/v1.md
    error version-unreconstructable nodes/.versions/a/history.yaml
    warning drift nodes/b.md:11
    note policy-unsealed packs/a%20pack%1B.yml
    note checksum-mismatch nodes/.versions/a/history.yaml
    ");
    assert_eq!(
        run["originalUriBaseIds"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["VAULT"]
    );
    place.ctx("verify --sarif --json").exits(2);
}

#[test]
fn places_in_sarif_are_relative_to_the_repository() {
    let place = Place::new();
    for folder in [".git/objects", ".git/refs", "the docs/nodes"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    place.ctx("init \"the docs\" --name Test").ok();
    place.write("the docs/nodes/a=b.md", "# A\n\n[x](missing.md)\n");
    place.ctx("publish --all --vault \"the docs\"").ok();
    place.edit("the docs/nodes/a=b.md", "# A\n", "# A\n\nmore\n");
    let place_of = |line: &str, exit| {
        let text = place.ctx(&format!("{line} --sarif --vault \"the docs\"")).exits(exit).stdout;
        let sarif: Value = serde_json::from_str(&text).unwrap();
        let run = &sarif["runs"][0];
        // The base has no address: a host puts its own checkout there.
        let base = &run["originalUriBaseIds"]["%SRCROOT%"];
        assert!(base["uri"].is_null() && base["description"]["text"].is_string());
        let rule = &run["tool"]["driver"]["rules"][0];
        assert!(rule["shortDescription"]["text"].as_str().unwrap().ends_with('.'));
        let result = &run["results"][0];
        assert_eq!(rule["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uriBaseId"], "%SRCROOT%");
        let (uri, line) = (&place["artifactLocation"]["uri"], &place["region"]["startLine"]);
        format!("{} {} {uri} {line}", result["level"], result["ruleId"]).replace('"', "")
    };
    assert_eq!(place_of("verify", 1), "warning drift the%20docs/nodes/a%3Db.md 13");
    assert_eq!(place_of("validate", 0), "warning link-broken the%20docs/nodes/a%3Db.md 15");
    place.ctx("validate --sarif --json").exits(2);
}

#[test]
fn every_finding_is_explained() {
    let place = Place::vault();
    assert_snapshot!(place.ctx("help drift").whole(), @"
    exit: 0
    -- stdout
    drift: a finding of `ctx verify`, class working copy

    A live file differs from the published text and is not a draft.

    The file was edited after publication.

    `ctx diff ID` shows the change, `ctx publish --changed` publishes it; for a file of an older version, or one that says that it is not for use, `ctx status` says what to do. `ctx restore --force ID` undoes the change: it is lost.
    -- stderr
    ");
    assert_snapshot!(place.ctx("help head-fork").whole(), @"
    exit: 0
    -- stdout
    head-fork: a finding of `ctx verify`, class damage

    The log has another checkpoint in the place of an anchor.

    The log was rewritten, another vault was made in the same folder, or another branch of the same name was checked out.

    Look for the missing checkpoints on other branches and in `git stash list`, or restore the log and the histories from git or a backup. If the vault was reset on purpose, run `ctx head trust`, or pass another hash or revision to --expect-head or --since.

    head-fork: an error, exit code 4

    The log has another checkpoint in place of the trusted head.

    Another branch was checked out, or the log was replaced. Run `ctx verify`, find the missing checkpoints on other branches, and restore the log. Run `ctx head trust` only if you know why the log differs.
    -- stderr
    ");
    for code in contextnest::prove::verify::Code::ALL {
        let help = place.ctx(&format!("help {code}")).ok().stdout;
        for text in [code.meaning(), code.cause()] {
            assert!(help.contains(text) && text.ends_with('.'), "{code}: {help}");
        }
    }
    assert!(place.ctx("help checkpoint show").ok().stdout.contains("Number of the checkpoint"));
    assert_snapshot!(place.ctx("help driff").exits(2).stderr, @"
    error[usage]: unknown command `driff`
    hint: did you mean the code `drift`?
    ");
    place.ctx("help checkpoint nowhere").exits(2);
}

#[test]
fn a_folder_that_cannot_be_listed_is_reported() {
    let place = two();
    // The path is deeper than the system allows.
    let name = "d".repeat(200);
    let line = format!("cd nodes; for n in $(seq 25); do mkdir {name}; cd -P {name} || exit; done");
    place.typed("").shell(&line).ok();
    let json = place.ctx("verify --json").exits(1).json("ctx.verify");
    assert_eq!(json["verdict"], "unsettled");
    assert_eq!(json["findings"][0]["code"], "folder-unreadable");
    place.typed("").shell("rm -rf nodes/d*").ok();
}

#[test]
fn an_unknown_file_among_versions_is_reported() {
    let place = two();
    place.write("nodes/.versions/evil.md", "# evil\n");
    place.write(".versions/checkpoints.jsonl.bak", "{}\n");
    place.write("packs/.versions/x/y/z.md", "deeper\n");
    std::os::unix::fs::symlink("/tmp", place.path("nodes/.versions/link")).unwrap();
    place.remove("nodes/b.md");
    std::os::unix::fs::symlink("/etc/hostname", place.path("nodes/b.md")).unwrap();
    let json = place.ctx("verify --json").exits(1).json("ctx.verify");
    let found: Vec<String> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| format!("{} {}", f["code"], f["path"]).replace('"', ""))
        .collect();
    assert_snapshot!(found.join("\n"), @"
    drift nodes/b.md
    unfinished .versions/checkpoints.jsonl.bak
    unfinished nodes/.versions/evil.md
    file-ignored nodes/.versions/link
    file-ignored nodes/b.md
    unfinished packs/.versions/x/history.yaml
    ");
}

#[test]
fn a_governance_file_that_looks_like_its_own_diff_is_refused() {
    let place = two();
    place.write("CONTEXT.md", "a\n");
    place.ctx("publish --all").ok();
    for text in ["--- v1\n+++ v2\n", "--- a\n+++ b\n", "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-a\n+b\n"] {
        place.write("CONTEXT.md", text);
        let refused = place.ctx("publish --all").exits(1);
        assert!(refused.stderr.contains("error[looks-like-diff]"), "{}", refused.stderr);
    }
    // A patch that does not apply to the version before is an ordinary text.
    place.write("CONTEXT.md", "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-x\n+b\n");
    place.ctx("publish --all").ok();
    place.ctx("verify").ok();
}

#[test]
fn an_altered_text_is_nothing_that_a_live_file_could_differ_from() {
    let place = Place::published(&[("nodes/a", "# A\n\nalpha\n")]);
    place.edit("nodes/.versions/a/v1.md", "alpha", "omega");
    let json = place.ctx("verify --json").exits(1).json("ctx.verify");
    assert_eq!(codes(&json), ["content-hash-mismatch", "checksum-mismatch"]);
}

#[test]
fn a_part_is_looked_at_whether_or_not_a_checkpoint_holds_it() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.write("nodes/evil.md", "---\ntitle: E\nstatus: published\n---\nevil\n");
    place.write("packs/q.yml", "id: q\nlabel: Q\nquery: '#t'\n");
    place.write("nodes/draft.md", "# Draft\n");
    let part = |line: &str| {
        let run = place.ctx(&format!("verify --json {line}"));
        let json = run.json("ctx.verify");
        (run.exit, json["verdict"].as_str().unwrap().to_owned(), codes(&json).join(" "))
    };
    let found = |exit, verdict: &str, codes: &str| (exit, verdict.to_owned(), codes.to_owned());
    let planted = found(1, "intact, working copy differs", "published-without-history");
    assert_eq!(part("nodes/evil"), planted);
    assert_eq!(part("packs/q.yml"), found(0, "nothing published", "policy-unsealed"));
    assert_eq!(part("nodes/draft"), found(0, "nothing published", ""));
    assert_eq!(part("nodes/a"), found(0, "intact, anchored", ""));
    // Only the log contains this id.
    place.remove("nodes/b.md");
    std::fs::remove_dir_all(place.path("nodes/.versions/b")).unwrap();
    assert_eq!(part("nodes/b"), found(1, "damaged", "history-missing document-missing"));
    place.ctx("verify nodes/c").exits(1);
}

#[test]
fn a_file_that_claims_to_be_published_is_reported_in_any_folder() {
    let place = Place::published(&[("nodes/café", "# Café\n")]);
    let published = "---\ntitle: T\nstatus: published\n---\nforged\n";
    place.write("nodes/cafe\u{301}.md", published);
    place.write("nodes/twice.md", published.replace("status", "status: draft\nstatus"));
    place.write("nodes/merge.md", published.replace("title: T", "<<: {a: 1}"));
    place.write("nodes/latin.md", [published.as_bytes(), &[0xff]].concat());
    place.write("nodes/hidden\u{200b}.md", published);
    place.write("nodes/broken.md", "---\ntitle: [\n---\nnotes\n");
    let json = place.ctx("verify --json").exits(1).json("ctx.verify");
    let expected = [["published-without-history"; 5].as_slice(), &["file-ignored"]].concat();
    assert_eq!(codes(&json), expected);
}

#[test]
fn links_in_the_place_of_packs_are_not_followed() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    std::fs::create_dir(place.home().join("out")).unwrap();
    std::fs::write(place.home().join("out/secret.yml"), "id: s\n").unwrap();
    std::os::unix::fs::symlink(place.home().join("out"), place.path("packs")).unwrap();
    let json = place.ctx("verify --json").ok().json("ctx.verify");
    assert_eq!(codes(&json), ["file-ignored"]);
    assert_eq!(json["findings"][0]["path"], "packs");
    place.remove("packs");
    std::fs::create_dir(place.path("packs")).unwrap();
    std::os::unix::fs::symlink(place.home().join("out/secret.yml"), place.path("packs/l.yml"))
        .unwrap();
    let json = place.ctx("verify --json").ok().json("ctx.verify");
    assert_eq!(json["findings"][0]["path"], "packs/l.yml");
}

#[test]
fn a_vault_inside_of_another_says_so() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let inner = Place::published(&[("nodes/b", "# B\n")]);
    for (path, bytes) in files_in(inner.root()) {
        place.write(&format!("nodes/team/{path}"), bytes);
    }
    let team = place.path("nodes/team");
    let json = place.typed("verify --json").within(&team).run().ok().json("ctx.verify");
    assert_eq!(codes(&json), ["vault-nested"]);
    let list = place.typed("list").within(&team).run().ok();
    assert!(list.stderr.contains("is inside the vault"), "{}", list.stderr);
    assert_eq!(place.typed("list --vault .").within(&team).run().ok().stderr, "");
}

#[test]
fn a_file_that_may_not_be_read_is_not_called_altered() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let file = place.path("nodes/.versions/a/v1.md");
    set_mode(&file, 0o000);
    let run = place.ctx("verify --json");
    set_mode(&file, 0o644);
    // Root can read everything.
    if run.exit != 0 {
        assert_eq!(codes(&run.exits(1).json("ctx.verify")), ["file-unreadable"]);
    }
}

fn set_mode(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn quiet_is_quiet_and_two_formats_are_refused() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.write("../state/contextnest", "no folder");
    let state = place.home().join("state").display().to_string();
    let loud = place.typed("verify").var("XDG_STATE_HOME", &state).run().ok();
    assert!(loud.stderr.contains("warning: "), "{}", loud.stderr);
    let quiet = place.typed("verify --quiet").var("XDG_STATE_HOME", &state).run().ok();
    let is_only_warning = quiet.stdout.is_empty() && quiet.stderr.starts_with("warning: ");
    assert!(is_only_warning && loud.stderr.starts_with(&quiet.stderr), "{}", quiet.whole());
    let json = place.typed("verify --json").var("XDG_STATE_HOME", &state).run().ok();
    assert!(
        json.json("ctx.verify")["trusted_head_error"].as_str().unwrap().contains("trusted head")
    );
    for line in ["verify --sarif --json", "--json verify --sarif"] {
        place.ctx(line).exits(2);
    }
}

#[test]
fn codes_of_documents_are_explained() {
    let place = Place::vault();
    assert_snapshot!(place.ctx("help stale").ok().stdout, @"
    stale: a problem of a document or its history

    The file was edited from another version than the published one.

    A merge, or an editor with an old copy, put an older text into the file. `ctx diff ID` shows what it would undo. Merge the published text with its `version`, `checksum` and `updated_at`.
    ");
    assert_snapshot!(place.ctx("help title-invalid").ok().stdout, @"
    title-invalid: a problem of a document

    The title is empty, not text, or longer than 200 characters.

    Write one text of 1 to 200 characters: `title: 'Returns'`. Without the key, publishing uses the first heading.
    ");
    let json = place.ctx("help drift --json").ok().json("ctx.help");
    assert_eq!(json["codes"][0]["code"], "drift");
}

#[test]
fn a_heap_of_notes_hides_no_damage() {
    let place = Place::published(&[("nodes/a", "# A\n\nalpha\n")]);
    for n in 0..1_100 {
        place.write(&format!("nodes/.versions/a/stray-{n}"), "");
    }
    place.edit("nodes/.versions/a/v1.md", "alpha", "omega");
    let json = place.ctx("verify --json").exits(1).json("ctx.verify");
    assert_eq!(json["verdict"], "damaged");
    assert_eq!(codes(&json)[..2], ["content-hash-mismatch", "unfinished"]);
    assert_eq!(json["omitted"], 100);
}

#[test]
fn the_published_text_of_a_broken_governance_file_can_be_read() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.remove("CONTEXT.md");
    let missing = place.ctx("diff CONTEXT.md").exits(1);
    assert_snapshot!(missing.stderr, @"
    error[unknown-id]: the file `CONTEXT.md` does not exist
    hint: `ctx read CONTEXT.md` prints the published text
    ");
    place.write(".context/config.yaml", "a: [\n");
    let broken = place.ctx("publish --all").exits(2);
    assert!(broken.stderr.contains("ctx read .context/config.yaml"), "{}", broken.stderr);
    for rule in ["CONTEXT.md", ".context/config.yaml"] {
        place.write(rule, place.ctx(&format!("read {rule}")).ok().stdout);
    }
    assert_eq!(place.ctx("verify --json").ok().json("ctx.verify")["verdict"], "intact, anchored");
}

/// Another reader may treat a foreign status as `published`; only a draft is free (VER-6).
#[test]
fn a_live_file_with_a_foreign_status_is_compared_and_a_draft_is_not() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A\n", "# B\n");
    let cases =
        [("status: archived", vec!["drift"]), ("status: draft", vec![]), ("# none", vec![])];
    for (status, expected) in cases {
        let text = place.read("nodes/a.md");
        let old = text.lines().find(|line| line.starts_with("status:")).unwrap().to_owned();
        place.edit("nodes/a.md", &old, status);
        assert_eq!(codes(&place.ctx("verify --json").json("ctx.verify")), expected, "{status}");
    }
}
