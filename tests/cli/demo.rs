//! `ctx demo`: the main workflow from beginning to end.

use insta::assert_snapshot;

use crate::harness::Place;

#[test]
fn the_tour_shows_the_main_job_and_leaves_a_vault() {
    let place = Place::new();
    let demo = place.typed("demo my-vault").without("CTX_PRINCIPAL").run();
    assert_snapshot!(demo.whole(), @r#"
    exit: 0
    -- stdout

    Make a vault with policies, a runbook, a glossary, a persona, a pack and a source node:

    $ ctx init my-vault --name Procurement --starter policy
    vault `Procurement` in [ROOT]/vault/my-vault
      created .context/.gitignore
      created .gitattributes
      created CONTEXT.md
      created nodes/glossary.md
      created nodes/personas/procurement-agent.md
      created nodes/policies/data-handling.md
      created nodes/policies/vendor-risk.md
      created nodes/runbooks/vendor-onboarding.md
      created packs/onboarding.yml
      created sources/vendor-tickets.md
      created .context/config.yaml
    next: `ctx publish --all --dry-run` shows 6 documents to publish

    Nothing is published yet. Publishing makes version 1 of each document, under one checkpoint:

    $ cd my-vault

    $ ctx publish --all -m 'first release' --as ana@example.com
    checkpoint 1 with 9 versions, 2026-11-21T10:00:00.000Z
      new  .context/config.yaml              v1
      new  CONTEXT.md                        v1
      new  nodes/glossary                    v1
      new  nodes/personas/procurement-agent  v1
      new  nodes/policies/data-handling      v1
      new  nodes/policies/vendor-risk        v1
      new  nodes/runbooks/vendor-onboarding  v1
      new  packs/onboarding.yml              v1
      new  sources/vendor-tickets            v1

    A policy and its runbook are edited. The change is not visible to agents until it is published:

    $ sed -i 's/elow 60/elow 50/; s/rom 60/rom 50/' nodes/policies/vendor-risk.md nodes/runbooks/vendor-onboarding.md

    $ ctx status
    Checkpoint 1 of 2026-11-21T10:00:00.000Z
    Published and unchanged: 4 documents

    Changed since publication (next: ctx publish --changed):
      nodes/policies/vendor-risk.md (v1)
      nodes/runbooks/vendor-onboarding.md (v1)

    $ ctx publish --changed -m 'lower threshold' --as lee@example.com
    checkpoint 2 with 2 versions, 2026-11-21T10:00:00.001Z
      changed  nodes/policies/vendor-risk        v2
      changed  nodes/runbooks/vendor-onboarding  v2
      unchanged: 4 documents

    Agents read published versions only. A selector chooses them, and gives everyone the same answer:

    $ ctx resolve '#policy + #procurement'
    nodes/policies/vendor-risk  v2  document  Vendor risk threshold

    $ ctx resolve contextnest://nodes/policies/vendor-risk@1 --json
    {
      "schema": "ctx.resolve",
      "schema_version": 2,
      "selector": "contextnest://nodes/policies/vendor-risk@1",
      "class": "direct",
      "checkpoint": 1,
      "documents": [
        {
          "id": "nodes/policies/vendor-risk",
          "uri": "contextnest://nodes/policies/vendor-risk@1",
          "title": "Vendor risk threshold",
          "type": "document",
          "tags": [
            "policy",
            "procurement"
          ],
          "status": "published",
          "version": 1,
          "checkpoint": 1,
          "author": "ana@example.com",
          "created_at": "2026-11-21T10:00:00.000Z",
          "edited_by": "ana@example.com",
          "edited_at": "2026-11-21T10:00:00.000Z",
          "published_at": "2026-11-21T10:00:00.000Z",
          "content_hash": "sha256:fe0c6219477be6ee1b315397d50bd06744f707fcd5fef14f13dfedca6f0902a2",
          "chain_hash": "sha256:e9bf985f067e94f69dab378c64858c6167bb21a5ed35383dfe0aa11ac7ded21d"
        }
      ],
      "withheld": [],
      "notes": []
    }

    The versions of the policy, and the change between them:

    $ ctx history nodes/policies/vendor-risk
    v1  published  @1  keyframe  2026-11-21T10:00:00.000Z  ana@example.com  e9bf985f067e  (first release)
    v2  published  @2  diff      2026-11-21T10:00:00.001Z  lee@example.com  485b6c12c122  (lower threshold)

    $ ctx diff nodes/policies/vendor-risk 1 2
    --- v1
    +++ v2
    @@ -5,11 +5,11 @@
       - '#policy'
       - '#procurement'
     status: published
    -version: 1
    +version: 2
     author: ana@example.com
     created_at: '2026-11-21T10:00:00.000Z'
    -updated_at: '2026-11-21T10:00:00.000Z'
    -checksum: sha256:88ddf6cf82c627c733d289fdc41196be932a00956936e793f0ebadab10631fe3
    +updated_at: '2026-11-21T10:00:00.001Z'
    +checksum: sha256:0df2e8bf4ad2cbd97255401eb6dc58d17a0ccb0996698ca4a01ac6260dc8ab47
     ---
     
     # Vendor risk threshold
    @@ -27,15 +27,15 @@
     The risk score runs from 0 (no concern) to 100 (do not use). It is the result of the current
     vendor questionnaire and is valid for twelve months.
     
    -- Approve a vendor with a risk score below 60, if the questionnaire is complete.
    -- Do not approve a vendor with a risk score from 60 to 79 without escalation.
    +- Approve a vendor with a risk score below 50, if the questionnaire is complete.
    +- Do not approve a vendor with a risk score from 50 to 79 without escalation.
     - Reject a vendor with a risk score of 80 or more.
     
     A vendor without a valid score is treated as one with a score of 80.
     
     ## Escalation
     
    -A score from 60 to 79 goes to the security lead and the legal lead together. Both must agree in
    +A score from 50 to 79 goes to the security lead and the legal lead together. Both must agree in
     writing within five business days. If they do not agree, or do not answer in time, the vendor is
     rejected and may be proposed again after 90 days.
     

    $ ctx checkpoint list
    @1  2026-11-21T10:00:00.000Z  98ed12b0165e  9 published  sources/vendor-tickets and 8 more
    @2  2026-11-21T10:00:00.001Z  c97fa032cdfc  2 published  nodes/runbooks/vendor-onboarding and 1 more

    Verification recomputes every hash:

    $ ctx verify
    intact, not anchored
      2 checkpoints, 9 artifacts, 11 versions recomputed
      head: checkpoint 2, sha256:c97fa032cdfc117c8bb41aeb838f4a24d07e26d48da5b55e24da420bf6992a76
      covered by no hash: the notes of 11 versions

    Notes:
      [timestamp-future] nodes/policies/vendor-risk v2: it is from 2026-11-21T10:00:00.001Z, later than the clock
          in nodes/policies/.versions/vendor-risk/history.yaml
      [timestamp-future] nodes/runbooks/vendor-onboarding v2: it is from 2026-11-21T10:00:00.001Z, later than the clock
          in nodes/runbooks/.versions/vendor-onboarding/history.yaml
      [timestamp-future] .versions/checkpoints.jsonl, checkpoint 2: it is dated 2026-11-21T10:00:00.001Z, but the clock says 2026-11-21T10:00:00.000Z
          in .versions/checkpoints.jsonl
    hint: store the output of `ctx head` elsewhere, and pass it to `ctx verify --expect-head`, to detect truncation or a full rewrite

    In a copy, an attacker alters one byte of version 1:

    $ cd .. && cp -r my-vault my-vault-altered && cd my-vault-altered

    $ sed -i 's/score below 60/score below 90/' nodes/policies/.versions/vendor-risk/v1.md

    $ ctx verify
    damaged
      2 checkpoints, 9 artifacts, 11 versions recomputed
      head: checkpoint 2, sha256:c97fa032cdfc117c8bb41aeb838f4a24d07e26d48da5b55e24da420bf6992a76
      covered by no hash: the notes of 11 versions

    Damage: recorded data was altered or is missing:
      [content-hash-mismatch] nodes/policies/vendor-risk v1: the stored text or diff does not have the recorded hash
          expected sha256:fe0c6219477be6ee1b315397d50bd06744f707fcd5fef14f13dfedca6f0902a2
          found    sha256:b7ea3c51b6f65ac86491956df9c2d1e6edd0de44ad410c5ded3b3d58c5dfeb50
          in nodes/policies/.versions/vendor-risk/v1.md
      [version-unreconstructable] nodes/policies/vendor-risk v2: the diff does not apply: line 22 of the diff: the text has another line here
          in nodes/policies/.versions/vendor-risk/history.yaml

    Notes:
      [checksum-mismatch] nodes/policies/vendor-risk v1: its `checksum` field does not match its body
          expected sha256:d207e292731dbcf0e6836c5a29e06e3f63fcbceaba6909e663fc6e571e96fdba
          found    sha256:88ddf6cf82c627c733d289fdc41196be932a00956936e793f0ebadab10631fe3
          in nodes/policies/.versions/vendor-risk/history.yaml
      [timestamp-future] nodes/policies/vendor-risk v2: it is from 2026-11-21T10:00:00.001Z, later than the clock
          in nodes/policies/.versions/vendor-risk/history.yaml
      [timestamp-future] nodes/runbooks/vendor-onboarding v2: it is from 2026-11-21T10:00:00.001Z, later than the clock
          in nodes/runbooks/.versions/vendor-onboarding/history.yaml
      [timestamp-future] .versions/checkpoints.jsonl, checkpoint 2: it is dated 2026-11-21T10:00:00.001Z, but the clock says 2026-11-21T10:00:00.000Z
          in .versions/checkpoints.jsonl

    Meaning and remedy:
      [content-hash-mismatch] A stored text or diff does not have its recorded hash.
      [version-unreconstructable] The text of a version cannot be rebuilt.
          Restore the file from git or from a backup that verifies; `git log -- FILE` shows who changed it. Do not repair it by hand: the hashes cannot be made to match.
    hint: `ctx help CODE` explains a finding

    Exit code 1: agents are not served that version, and CI fails.

    Try more commands in the vault: cd my-vault
    -- stderr
    "#);
    place.typed("verify").within(&place.path("my-vault")).run().ok();
    place.typed("verify").within(&place.path("my-vault-altered")).run().exits(1);
    assert_snapshot!(place.ctx("demo my-vault").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[exists]: `[ROOT]/vault/my-vault` exists already
    hint: name another folder; to repeat a demo, remove its folders and run `ctx head forget FOLDER`
    ");
}

#[test]
fn its_commands_are_those_that_a_user_would_type() {
    let place = Place::new();
    let json = place.ctx("demo tour --json").ok().json("ctx.demo");
    place.remove("tour");
    place.remove("tour-altered");
    let mut cwd = place.root().to_owned();
    let mut exits = Vec::new();
    for step in json["steps"].as_array().unwrap() {
        let command = step["command"].as_str().unwrap().strip_prefix("ctx ").unwrap();
        if command == "verify"
            && cwd != place.root()
            && exits.len() + 1 == json["steps"].as_array().unwrap().len()
        {
            break;
        }
        if command == "status" {
            let policy = "tour/nodes/policies/vendor-risk.md";
            place.edit(policy, "score below 60", "score below 50");
        }
        exits.push(place.typed(command).within(&cwd).run().exit);
        if command.starts_with("init") {
            cwd = place.path("tour");
        }
    }
    assert!(exits.iter().all(|exit| *exit == 0), "{exits:?}");
}

#[test]
fn the_edit_leaves_no_score_without_a_rule() {
    let place = Place::new();
    place.ctx("demo tour").ok();
    for path in ["nodes/policies/vendor-risk.md", "nodes/runbooks/vendor-onboarding.md"] {
        let text = place.read(&format!("tour/{path}"));
        let body = text.splitn(3, "---\n").last().unwrap();
        assert!(!body.contains("60") && body.contains("elow 50"), "{path}: {body}");
        assert!(body.contains("rom 50 to 79"), "{path}");
    }
    place.ctx("--vault tour status").ok();
}

#[test]
fn the_tour_of_a_review_refuses_the_author_and_publishes_by_a_reviewer() {
    let place = Place::new();
    let demo = place.typed("demo --governed my-team").without("CTX_PRINCIPAL").run();
    assert_snapshot!(demo.whole(), @"
    exit: 0
    -- stdout

    Ana makes a vault and publishes it alone:

    $ ctx init my-team --name Procurement --starter policy
    vault `Procurement` in [ROOT]/vault/my-team
      created .context/.gitignore
      created .gitattributes
      created CONTEXT.md
      created nodes/glossary.md
      created nodes/personas/procurement-agent.md
      created nodes/policies/data-handling.md
      created nodes/policies/vendor-risk.md
      created nodes/runbooks/vendor-onboarding.md
      created packs/onboarding.yml
      created sources/vendor-tickets.md
      created .context/config.yaml
    next: `ctx publish --all --dry-run` shows 6 documents to publish

    $ cd my-team

    $ ctx publish --all --as ana@example.com
    checkpoint 1 with 9 versions, 2026-11-21T10:00:00.000Z
      new  .context/config.yaml              v1
      new  CONTEXT.md                        v1
      new  nodes/glossary                    v1
      new  nodes/personas/procurement-agent  v1
      new  nodes/policies/data-handling      v1
      new  nodes/policies/vendor-risk        v1
      new  nodes/runbooks/vendor-onboarding  v1
      new  packs/onboarding.yml              v1
      new  sources/vendor-tickets            v1

    A team needs two reviewers. From then on every publication needs a review:

    $ ctx steward assign ana@example.com reviewer --whole-vault --as ana@example.com
    checkpoint 2 with 1 version, 2026-11-21T10:00:00.001Z
      new  stewards.yaml  v1

    $ ctx steward assign lee@example.com reviewer --whole-vault --as ana@example.com
    checkpoint 3 with 1 version, 2026-11-21T10:00:00.002Z
      changed  stewards.yaml  v2

    $ ctx govern on --as ana@example.com
    checkpoint 4 with 1 version, 2026-11-21T10:00:00.003Z
      changed  .context/config.yaml  v2
      unchanged: stewards.yaml

    Ana edits a policy and its runbook, and submits both as one change:

    $ sed -i 's/elow 60/elow 50/; s/rom 60/rom 50/' nodes/policies/vendor-risk.md nodes/runbooks/vendor-onboarding.md

    $ ctx submit nodes/policies/vendor-risk nodes/runbooks/vendor-onboarding --change threshold -m 'lower threshold' --as ana@example.com
    2 versions recorded, nothing published
      submitted  nodes/policies/vendor-risk        v2
      submitted  nodes/runbooks/vendor-onboarding  v2

    Agents still read the published text. Ana cannot approve what she wrote:

    $ ctx approve --change threshold --as ana@example.com
    error[own-submission]: `ana@example.com` may not approve `nodes/policies/vendor-risk`: ana@example.com submitted it
    hint: another reviewer must decide; `ctx steward who nodes/policies/vendor-risk` shows who may

    Lee lists the pending submissions, reads one, and approves it. Both are published:

    $ ctx review --as lee@example.com
    nodes/policies/vendor-risk        v2  publish  2026-11-21T10:00:00.004Z  ana@example.com  +3 -3  0 of 1  change threshold
    nodes/runbooks/vendor-onboarding  v2  publish  2026-11-21T10:00:00.004Z  ana@example.com  +2 -2  0 of 1  change threshold

    $ ctx review show nodes/policies/vendor-risk --as lee@example.com
    nodes/policies/vendor-risk v2 is to be published
    submitted by ana@example.com, 2026-11-21T10:00:00.004Z, based on v1
    note: lower threshold
    change threshold, with nodes/runbooks/vendor-onboarding
    approvals: 0 of 1

    @@ line 27 -> 30 #threshold #escalation, replaces lines of ana@example.com (v1) @@
     The risk score runs from 0 (no concern) to 100 (do not use). It is the result of the current
     vendor questionnaire and is valid for twelve months.
     
    ~- Approve a vendor with a risk score below [-60-]{+50+}, if the questionnaire is complete.
    ~- Do not approve a vendor with a risk score from [-60-]{+50+} to 79 without escalation.
     - Reject a vendor with a risk score of 80 or more.
     
     A vendor without a valid score is treated as one with a score of 80.
     
     ## Escalation
     
    ~A score from [-60-]{+50+} to 79 goes to the security lead and the legal lead together. Both must agree in
     writing within five business days. If they do not agree, or do not answer in time, the vendor is
     rejected and may be proposed again after 90 days.
     

    may approve: lee@example.com
    hint: run `ctx approve nodes/policies/vendor-risk --version 2`

    $ ctx approve --change threshold --as lee@example.com
    checkpoint 5 with 2 versions, 2026-11-21T10:00:00.005Z
      changed  nodes/policies/vendor-risk        v3
      changed  nodes/runbooks/vendor-onboarding  v3

    The history says who wrote and who approved, and verification checks the approval again:

    $ ctx history nodes/policies/vendor-risk
    v1  published  @1  keyframe  2026-11-21T10:00:00.000Z  ana@example.com  e9bf985f067e
    v2  submitted  -   diff      2026-11-21T10:00:00.004Z  ana@example.com  c20299f760dd  (lower threshold)
    v3  published  @5  diff      2026-11-21T10:00:00.005Z  lee@example.com  4263c2b8180a  submitted by ana@example.com, approved by lee@example.com

    $ ctx verify
    intact, not anchored
      5 checkpoints, 10 artifacts, 16 versions recomputed
      head: checkpoint 5, sha256:572aba8bc04f0ab7f37b9d97e085da278f9ebaf5e920da090403f1877b1214d6
      covered by no hash: the notes of 2 versions

    Notes:
      [timestamp-future] .context/config.yaml v2: it is from 2026-11-21T10:00:00.003Z, later than the clock
          in .context/.versions/config.yaml/history.yaml
      [timestamp-future] nodes/policies/vendor-risk v2: it is from 2026-11-21T10:00:00.004Z, later than the clock
          in nodes/policies/.versions/vendor-risk/history.yaml
      [timestamp-future] nodes/policies/vendor-risk v3: it is from 2026-11-21T10:00:00.005Z, later than the clock
          in nodes/policies/.versions/vendor-risk/history.yaml
      [timestamp-future] nodes/runbooks/vendor-onboarding v2: it is from 2026-11-21T10:00:00.004Z, later than the clock
          in nodes/runbooks/.versions/vendor-onboarding/history.yaml
      [timestamp-future] nodes/runbooks/vendor-onboarding v3: it is from 2026-11-21T10:00:00.005Z, later than the clock
          in nodes/runbooks/.versions/vendor-onboarding/history.yaml
      [timestamp-future] stewards.yaml v1: it is from 2026-11-21T10:00:00.001Z, later than the clock
          in .versions/stewards.yaml/history.yaml
      [timestamp-future] stewards.yaml v2: it is from 2026-11-21T10:00:00.002Z, later than the clock
          in .versions/stewards.yaml/history.yaml
      [timestamp-future] .versions/checkpoints.jsonl, checkpoint 2: it is dated 2026-11-21T10:00:00.001Z, but the clock says 2026-11-21T10:00:00.000Z
          in .versions/checkpoints.jsonl
      [timestamp-future] .versions/checkpoints.jsonl, checkpoint 3: it is dated 2026-11-21T10:00:00.002Z, but the clock says 2026-11-21T10:00:00.000Z
          in .versions/checkpoints.jsonl
      [timestamp-future] .versions/checkpoints.jsonl, checkpoint 4: it is dated 2026-11-21T10:00:00.003Z, but the clock says 2026-11-21T10:00:00.000Z
          in .versions/checkpoints.jsonl
      [timestamp-future] .versions/checkpoints.jsonl, checkpoint 5: it is dated 2026-11-21T10:00:00.005Z, but the clock says 2026-11-21T10:00:00.000Z
          in .versions/checkpoints.jsonl
    hint: store the output of `ctx head` elsewhere, and pass it to `ctx verify --expect-head`, to detect truncation or a full rewrite

    Try more commands in the vault: cd my-team
    -- stderr
    ");
    assert!(!place.has("my-team-altered"));
    let json = place.typed("demo --governed other --json").without("CTX_PRINCIPAL").run();
    let json = json.ok().json("ctx.demo");
    let steps = json["steps"].as_array().unwrap();
    assert_eq!(steps.iter().filter(|step| step["exit"] == 3).count(), 1);
}
