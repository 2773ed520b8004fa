//! The view of a submission that a reviewer gets before the decision.

use std::sync::Arc;

use insta::assert_snapshot;

use crate::changes::Mute;
use crate::harness::Place;

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: bo@example.com, role: reviewer}\n  \
    - {principal: kim@example.com, role: reviewer}\n  - {principal: ana@example.com, role: editor}\n";

fn governed() -> Place {
    let place = Place::vault();
    let text = "# Returns\n\nReturns take 30 days.\n\n## Old\n\nx [-y-]\n";
    place.write("nodes/a.md", text);
    place.write("nodes/b.md", "# B\n");
    place.write("packs/p.yml", "id: p\nlabel: P\nquery: '#a'\n");
    place.write("stewards.yaml", STEWARDS);
    place.ctx("publish --all").ok();
    place.ctx("govern on").ok();
    place
}

#[test]
fn a_reviewer_sees_words_fields_sections_and_who_wrote_what() {
    let place = governed();
    place.edit("nodes/a.md", "30 days", "14 days");
    place.edit("nodes/a.md", "x [-y-]", "w [-y-]");
    place.edit("nodes/a.md", "---\n", "---\nowner: legal\n");
    place.ctx("submit nodes/a nodes/b --change autumn -m 'new law'").ok();
    place.edit("nodes/b.md", "# B", "# B b");
    place.ctx("submit nodes/b --change autumn").ok();
    place.ctx("comment nodes/a 'which law?' --as bo@example.com").ok();
    assert_snapshot!(place.ctx("review show nodes/a --as bo@example.com").whole(), @"
    exit: 0
    -- stdout
    nodes/a v2 is to be published
    submitted by ana@example.com, 2026-11-21T10:00:03.000Z, based on v1
    note: new law
    change autumn, with nodes/b
    approvals: 0 of 1

    owner: (none) -> legal
    @@ line 11 -> 15 #returns #old, replaces lines of ana@example.com (v1) @@
     # Returns
     
    ~Returns take [-30-]{+14+} days.
     
     ## Old
     
    -x [-y-]
    +w [-y-]

    comment by bo@example.com of v2, 2026-11-21T10:00:05.000Z: which law?
    may approve: bo@example.com, kim@example.com
    -- stderr
    hint: run `ctx approve nodes/a --version 2`
    ");
    let own = place.ctx("review show nodes/a").ok();
    assert!(
        own.stderr.contains("may not approve it: ana@example.com submitted it"),
        "{}",
        own.stderr
    );
    let json = place.ctx("review show nodes/a --json").ok().json("ctx.review.show");
    assert_eq!(json["fields"][0]["name"], "owner");
    assert_eq!(json["members"][0], "nodes/b");
    assert_eq!(json["reviewers"].as_array().unwrap().len(), 2);
    assert_eq!(json["hunks"][0]["replaces"][0]["edited_by"], "ana@example.com");
    let other = place.ctx("review show nodes/a --as eve@example.com");
    assert_eq!(other.exit, 3, "{}", other.whole());
    assert!(!other.stdout.contains("14"), "{}", other.stdout);
}

#[test]
fn the_access_log_names_both_versions_of_a_submission() {
    let place = governed();
    place.edit("nodes/a.md", "30 days", "14 days");
    place.ctx("submit nodes/a").ok();
    place.ctx("review show nodes/a --as bo@example.com").ok();
    let id = place.ctx("trace list --json").ok().json("ctx.trace.list");
    let id =
        id["traces"].as_array().unwrap().iter().find(|line| line["verb"] == "review show").unwrap();
    let id = id["trace"].as_str().unwrap();
    let line = place.ctx(&format!("trace show {id} --json")).ok().stdout;
    assert!(line.contains("\"part\": \"submission\""), "{line}");
    assert!(line.contains("\"verb\": \"review show\""), "{line}");
    place.ctx("trace verify").ok();
}

#[test]
fn retirements_moves_deletions_and_governance_files_are_shown_as_such() {
    let place = governed();
    place.ctx("retire nodes/a").ok();
    place.ctx("mv nodes/b nodes/c").ok();
    place.remove("packs/p.yml");
    place.edit("stewards.yaml", "ana@example.com, role: editor", "ana@example.com, role: viewer");
    place.ctx("submit packs/p.yml stewards.yaml").ok();
    let shown: String = ["nodes/a", "nodes/b", "packs/p.yml", "stewards.yaml"]
        .map(|id| place.ctx(&format!("review show {id} --as kim@example.com")).ok().stdout)
        .join("\n");
    assert_snapshot!(shown, @"
    nodes/a v2 is to be retired
    submitted by ana@example.com, 2026-11-21T10:00:03.000Z, based on v1
    approvals: 0 of 1
    The text stays as it is published.
    may approve: bo@example.com, kim@example.com

    nodes/b v2 is to be moved to nodes/c
    submitted by ana@example.com, 2026-11-21T10:00:04.000Z, based on v1
    approvals: 0 of 1
    The text stays as it is published.
    may approve: bo@example.com, kim@example.com

    packs/p.yml v2 is to be retired
    submitted by ana@example.com, 2026-11-21T10:00:05.000Z, based on v1
    approvals: 0 of 1

    @@ line 1 -> 1, replaces lines of ana@example.com (v1) @@
    -id: p
    -label: P
    -query: '#a'

    may approve: bo@example.com, kim@example.com

    stewards.yaml v2 is to be published
    submitted by ana@example.com, 2026-11-21T10:00:05.000Z, based on v1
    approvals: 0 of 1

    @@ line 2 -> 2, replaces lines of ana@example.com (v1) @@
     vault:
       - {principal: bo@example.com, role: reviewer}
       - {principal: kim@example.com, role: reviewer}
    ~  - {principal: ana@example.com, role: [-editor-]{+viewer+}}

    may approve: bo@example.com, kim@example.com
    ");
    place.ctx("withdraw nodes/a").ok();
    place.ctx("retire nodes/a --emergency --reason wrong --as bo@example.com").ok();
    assert_snapshot!(place.ctx("review show nodes/a --as kim@example.com").whole(), @"
    exit: 0
    -- stdout
    nodes/a v4 was retired in an emergency
    retired by bo@example.com, 2026-11-21T10:00:11.000Z
    reason: wrong
    approvals: 0 of 1
    may ratify: kim@example.com
    -- stderr
    hint: run `ctx approve nodes/a --version 4`
    note: to bring the document back, restore and submit it
    ");
}

#[test]
fn hostile_text_of_a_submission_is_spelled_out_for_a_pipe_too() {
    let place = governed();
    place.edit("nodes/a.md", "30 days", "30\u{1b}[31m\u{202e} days");
    place.ctx("submit nodes/a -m '\u{1b}[2J'").ok();
    let output = place.ctx("review show nodes/a --as bo@example.com").ok();
    assert!(output.stdout.contains("{+\\u{1b}[31m\\u{202e}+}"), "{}", output.stdout);
    assert!(!output.stdout.contains(['\u{1b}', '\u{202e}']), "{}", output.stdout);
}

#[test]
fn status_and_advice_of_a_governed_vault_name_submissions() {
    let place = governed();
    place.edit("nodes/a.md", "30 days", "14 days");
    place.write("nodes/new.md", "# New\n");
    let before = place.ctx("status").ok().stdout;
    assert!(before.contains("ctx submit --changed") && !before.contains("ctx publish"), "{before}");
    place.ctx("submit nodes/a nodes/new").ok();
    place.ctx("retire nodes/b").ok();
    place.remove("packs/p.yml");
    place.ctx("submit packs/p.yml").ok();
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 2 of 2026-11-21T10:00:02.000Z
    Published and unchanged: 1 document

    Submitted, and not edited since (next: ctx review show ID):
      nodes/a.md (v1)
      nodes/new.md

    Governance files submitted (next: ctx review show ID):
      packs/p.yml (submitted)

    Awaiting a decision (next: ctx review show ID):
      nodes/a (v2 to publish, by ana@example.com)
      nodes/b (v2 to retire, by ana@example.com)
      nodes/new (v1 to publish, by ana@example.com)
      packs/p.yml (v2 to retire, by ana@example.com)
    -- stderr
    ");
    let json = place.ctx("status --json").ok().json("ctx.status");
    assert_eq!(json["submissions"].as_array().unwrap().len(), 4);
    assert_eq!(json["documents"][0]["state"], "submitted");
    assert_snapshot!(place.ctx("verify").ok().stdout, @"
    intact, anchored to checkpoint 2
      anchor: checkpoint 2, trusted on this machine since 2026-11-21T10:00:02.000Z
      2 checkpoints, 7 artifacts, 11 versions recomputed
      head: checkpoint 2, sha256:e91cbb1dcaa1ab072786d665693f43171d4fb0f4b2c85c94966b74cb68c1443a
      no finding: 2 edited live files, drafts or awaiting a decision; `ctx status` lists them
    ");
    place.edit("nodes/a.md", "14 days", "10 days");
    let edited = place.ctx("status").ok().stdout;
    assert!(edited.contains("Changed since publication (next: ctx submit --changed)"), "{edited}");
    assert!(place.ctx("pack add q --query '#a'").ok().stderr.contains("ctx submit --changed"));
}

#[test]
fn stewards_and_settings_of_a_governed_vault_are_submitted() {
    let place = governed();
    let assigned = place.ctx("steward assign lee@example.com reviewer --folder nodes/").ok();
    assert_snapshot!(assigned.whole(), @"
    exit: 0
    -- stdout
    1 version recorded, nothing published
      submitted  stewards.yaml  v2
    -- stderr
    note: folder nodes/ has one reviewer and no other editor who submits: submissions there cannot be approved; a reviewer of the whole vault can approve a change of stewards.yaml
    ");
    assert!(place.read("stewards.yaml").contains("lee@example.com"));
    let listed = place.ctx("steward list").ok().stdout;
    assert!(!listed.contains("lee@example.com"), "{listed}");
    let again = place.ctx("steward assign lee@example.com reviewer --folder nodes/").ok();
    assert_eq!(again.stdout, "the assignment is submitted or published already\n");
    place.ctx("approve stewards.yaml --as kim@example.com").ok();
    assert!(place.ctx("steward list").ok().stdout.contains("lee@example.com"));
    place.ctx("steward remove lee@example.com --folder nodes/").ok();
    place.ctx("approve stewards.yaml --as kim@example.com").ok();
    let single = place.ctx("steward assign lee@example.com reviewer --document nodes/a").ok();
    assert!(single.stdout.contains("submitted"), "{}", single.stdout);
    place.ctx("approve stewards.yaml --as kim@example.com").ok();
    let status = place.ctx("status").ok().stderr;
    let said = "document nodes/a has one reviewer and no other editor who submits";
    assert!(status.contains(said), "{status}");
    place.ctx("steward assign ana@example.com editor --document nodes/a").ok();
    place.ctx("approve stewards.yaml --as kim@example.com").ok();
    let status = place.ctx("status").ok().stderr;
    assert!(
        status.contains("lee@example.com is the only reviewer of document nodes/a"),
        "{status}"
    );
    assert_snapshot!(place.ctx("checkpoint convert --to full").whole(), @"
    exit: 3
    -- stdout
    -- stderr
    error[governed]: this vault is governed: publication needs a review
    hint: set `checkpoint_log` under `versions` in .context/config.yaml, run `ctx submit .context/config.yaml`, and convert the log once that is approved
    ");
    place.ctx("verify").ok();
}

#[test]
fn an_old_approval_is_due_and_the_clock_is_handed_in() {
    let place = governed();
    place.edit("stewards.yaml", "version: 1\n", "version: 1\nreview: {vault: {max_age: 90d}}\n");
    place.ctx("submit stewards.yaml").ok();
    place.ctx("approve stewards.yaml --as bo@example.com").ok();
    assert!(!place.ctx("status").ok().stdout.contains("Due"));
    let later = |line: &str| place.typed(line).var("CTX_NOW", "2027-02-18T10:00:00.000Z").run();
    assert!(!later("validate").ok().stdout.contains("approval-due"), "ninety days are allowed");
    let later = |line: &str| place.typed(line).var("CTX_NOW", "2027-03-01T10:00:00.000Z").run();
    assert_snapshot!(later("status").ok().stdout, @"
    Checkpoint 3 of 2026-11-21T10:00:04.000Z
    Published and unchanged: 2 documents
    Nothing to submit

    Due for a review, because the approval is too old, or there is none (next: ctx submit ID --renew):
      nodes/a (published at 2026-11-21T10:00:01.000Z without a review, due after 90 days)
      nodes/b (published at 2026-11-21T10:00:01.000Z without a review, due after 90 days)
    ");
    assert_eq!(later("status --json").ok().json("ctx.status")["due"][0]["max_age_days"], 90);
    let found = later("validate").ok().stdout;
    assert!(found.contains("warning[approval-due]: nodes/a.md: it was published at"), "{found}");
}

#[test]
fn an_access_review_lists_roles_acts_and_lapsed_approvals() {
    let place = governed();
    let two = "version: 1\nreview: {vault: {required: 2}}\n";
    place.edit("stewards.yaml", "version: 1\n", two);
    place.ctx("submit stewards.yaml").ok();
    place.ctx("approve stewards.yaml --as bo@example.com").ok();
    place.edit("nodes/a.md", "30 days", "14 days");
    place.ctx("submit nodes/a").ok();
    place.ctx("approve nodes/a --as bo@example.com").ok();
    place.edit(
        "stewards.yaml",
        "bo@example.com, role: reviewer",
        "lee@example.com, role: reviewer",
    );
    place.ctx("submit stewards.yaml").ok();
    place.ctx("approve stewards.yaml --as bo@example.com").ok();
    place.ctx("approve stewards.yaml --as kim@example.com").ok();
    assert_snapshot!(place.ctx("owners --access-review").whole(), @"
    exit: 0
    -- stdout
    ana@example.com  submit at 2026-11-21T10:00:07.000Z           editor of vault
    bo@example.com   approve-in-part at 2026-11-21T10:00:08.000Z  no role
    kim@example.com  approval at 2026-11-21T10:00:09.000Z         reviewer of vault
    lee@example.com  no recorded act                              reviewer of vault
    lapsed: v2 of nodes/a: `bo@example.com` is not a steward of vault, but reviewer is needed
    -- stderr
    ");
    let json = place.ctx("owners --access-review --json").ok().json("ctx.owners.access");
    assert_eq!(json["lapsed_approvals"][0]["by"], "bo@example.com");
}

#[test]
fn a_program_of_the_user_is_told_of_submissions_and_decisions() {
    let place = governed();
    let (log, tell) = (place.home().join("told"), place.home().join("tell"));
    let script = format!("#!/bin/sh\ncat >> {}\n", log.display());
    std::fs::write(&tell, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&tell, mode).unwrap();
    let config = |program: &str| {
        let folder = place.home().join(".config/contextnest");
        std::fs::create_dir_all(&folder).unwrap();
        let vault = place.root().display();
        let text = format!("vaults:\n  {vault}:\n    notify: {{command: ['{program}']}}\n");
        std::fs::write(folder.join("config.yaml"), text).unwrap();
    };
    config(&tell.display().to_string());
    place.edit("nodes/a.md", "30 days", "14 days");
    place.ctx("submit nodes/a --change autumn --dry-run").ok();
    assert!(!log.exists(), "nothing was submitted");
    place.ctx("submit nodes/a --change autumn").ok();
    place.ctx("reject nodes/a --reason 'which law?' --as bo@example.com").ok();
    let told = std::fs::read_to_string(&log).unwrap();
    let told = told.replace(&place.root().display().to_string(), "VAULT");
    assert_snapshot!(told, @r#"
    {"protocol":1,"action":"submit","vault":"VAULT","items":[{"id":"nodes/a","version":2,"change":"autumn","outcome":"submitted","reviewers":["bo@example.com","kim@example.com"]}],"by":"ana@example.com","at":"2026-11-21T10:00:04.000Z","change":"autumn"}
    {"protocol":1,"action":"reject","vault":"VAULT","items":[{"id":"nodes/a","version":3,"change":"autumn","outcome":"rejected","reviewers":[]}],"by":"bo@example.com","at":"2026-11-21T10:00:05.000Z","change":"autumn","reason":"which law?"}
    "#);
    config("/bin/false");
    let output = place.ctx("submit nodes/a").ok();
    assert!(
        output.stderr.contains("recorded, but the notification failed: failed:"),
        "{}",
        output.stderr
    );
    // A program in the vault is never run.
    place.write("evil", "#!/bin/sh\n");
    config(&place.path("evil").display().to_string());
    let output = place.ctx("withdraw nodes/a").ok();
    assert!(output.stderr.contains("is not run: it is in the vault"), "{}", output.stderr);
}

#[test]
fn advice_follows_the_mode_in_force_and_not_the_live_configuration() {
    let place = governed();
    place.edit("nodes/b.md", "# B", "# B\n\nmore");
    place.ctx("submit nodes/b").ok();
    place.edit("nodes/a.md", "30 days", "14 days");
    let before = place.ctx("status").ok().stdout;
    assert!(before.contains("next: ctx submit --changed"), "{before}");
    place.edit(".context/config.yaml", "governance: governed", "governance: ungoverned");
    let set_by_hand = place.ctx("status").ok().stdout;
    place.remove(".context/config.yaml");
    let without = place.ctx("status").ok().stdout;
    for said in [set_by_hand, without] {
        assert!(said.contains("next: ctx submit --changed"), "{said}");
        assert!(said.contains("Awaiting a decision"), "{said}");
        assert!(!said.contains("ctx publish"), "{said}");
    }
    let owners = place.ctx("owners").ok();
    assert!(!owners.whole().contains("needs no steward"), "{}", owners.whole());
}

#[test]
fn an_older_version_is_restored_whatever_awaits_a_decision() {
    let place = governed();
    for days in ["14 days", "7 days"] {
        let text = place.read("nodes/a.md").replace("30 days", days).replace("14 days", days);
        place.write("nodes/a.md", text);
        place.ctx("submit nodes/a").ok();
        if days == "14 days" {
            place.ctx("approve nodes/a --as kim@example.com").ok();
        }
    }
    // Version 3 is published, version 4 awaits a decision.
    for end in ["", "withdraw nodes/a"] {
        if !end.is_empty() {
            place.ctx(end).ok();
        }
        place.ctx("restore nodes/a --version 1 --force").ok();
        assert!(place.read("nodes/a.md").contains("30 days"));
        // The file is an edit of the published version.
        assert!(place.read("nodes/a.md").contains("version: 3"), "{}", place.read("nodes/a.md"));
        place.ctx("restore nodes/a").ok();
    }
    place.ctx("restore nodes/a --version 1").ok();
    place.ctx("submit nodes/a").ok();
    place.ctx("approve nodes/a --as kim@example.com").ok();
    assert!(place.ctx("read nodes/a").ok().stdout.contains("30 days"));
}

#[test]
fn history_says_why_a_text_was_rejected() {
    let place = governed();
    place.edit("nodes/a.md", "30 days", "14 days");
    place.ctx("submit nodes/a").ok();
    place
        .args(&["reject", "nodes/a", "--reason", "too short", "--as", "kim@example.com"])
        .run()
        .ok();
    let history = place.ctx("history nodes/a").ok().stdout;
    assert!(history.contains("because: too short"), "{history}");
    let json = place.ctx("history nodes/a --json").ok().json("ctx.history");
    assert_eq!(json["versions"][2]["reason"], "too short");
    assert_snapshot!(place.ctx("show nodes/a 2").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[withheld]: version 2 of `nodes/a` was never published
    hint: if it is a submission, `ctx review show nodes/a --version 2` shows it to its submitter, editors and reviewers
    ");
    assert_snapshot!(place.ctx("review show nodes/a").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[not-submitted]: no submission of `nodes/a` awaits a decision
    hint: `ctx review` lists the submissions that await a decision
    hint: `ctx history nodes/a` shows the decisions and their reasons
    ");
}

#[test]
fn a_retirement_that_was_ratified_is_still_one() {
    let place = governed();
    let reason = ["retire", "--emergency", "nodes/b", "--reason", "wrong", "--as"];
    place.args(&[&reason[..], &["bo@example.com"]].concat()).run().ok();
    place.write("nodes/b.md", "# B\n");
    let said = |place: &Place| place.ctx("status").ok().stdout;
    assert!(said(&place).contains("Retired (next"), "{}", said(&place));
    place.ctx("approve nodes/b --as kim@example.com").ok();
    assert!(said(&place).contains("Retired (next"), "{}", said(&place));
}

#[test]
fn the_size_of_a_submission_is_what_a_person_changed() {
    let place = governed();
    place.edit("nodes/a.md", "30 days", "14 days");
    place.ctx("submit nodes/a").ok();
    place.ctx("mv nodes/b nodes/c").ok();
    let json = place.ctx("review --all --json").ok().json("ctx.review");
    let sizes = json["waiting"].as_array().unwrap().iter();
    let sizes: Vec<String> = sizes
        .map(|one| format!("{} +{} -{}", one["id"], one["lines_added"], one["lines_removed"]))
        .collect();
    assert_eq!(sizes, ["\"nodes/a\" +1 -1", "\"nodes/b\" +0 -0"]);
}

#[test]
fn an_empty_text_is_no_submission_from_a_file() {
    let place = governed();
    for text in ["", " \n", "\u{feff}\n"] {
        let run = place.typed("submit nodes/a --from -").stdin(text).run();
        assert!(run.exits(2).stderr.contains("the text to submit is empty"), "{text:?}");
    }
}

#[test]
fn a_text_that_is_handed_in_and_published_is_unchanged() {
    let place = governed();
    let submit = |version: u64| {
        let line = format!("submit nodes/a --from - --expect-version {version}");
        place.typed(&line).stdin("# Returns\n\nReturns take 14 days.\n").run()
    };
    submit(1).ok();
    place.ctx("approve nodes/a --as bo@example.com").ok();
    let before = place.read("nodes/a.md");
    let said = submit(3).ok();
    assert!(said.stdout.contains("unchanged: nodes/a"), "{}", said.whole());
    let whole = said.whole();
    assert!(!whole.contains("did not update it") && !whole.contains("changed nodes/a"), "{whole}");
    assert_eq!(place.read("nodes/a.md"), before);
}

#[test]
fn a_submitted_governance_file_is_not_listed_as_one_to_submit() {
    let place = governed();
    place.write("CONTEXT.md", "# About\n");
    place.ctx("submit CONTEXT.md").ok();
    let said = place.ctx("status").ok().stdout;
    assert!(said.contains("Governance files submitted (next: ctx review show ID):"), "{said}");
    assert!(!said.contains("Governance files changed"), "{said}");
}

#[test]
fn each_reason_to_refuse_a_step_has_its_own_code() {
    let place = governed();
    place.write("stewards.yaml", place.read("stewards.yaml") + "review: {vault: {required: 2}}\n");
    place.ctx("submit stewards.yaml").ok();
    place.ctx("approve stewards.yaml --as kim@example.com").ok();
    place.edit("nodes/a.md", "30 days", "14 days");
    place.ctx("submit nodes/a").ok();
    let refused = |line: &str| place.ctx(line).exits(3).stderr;
    assert!(refused("withdraw nodes/a --as bo@example.com").contains("error[not-the-submitter]"));
    place.ctx("approve nodes/a --as bo@example.com").ok();
    assert!(refused("approve nodes/a --as bo@example.com").contains("error[approved-already]"));
}

#[test]
fn a_submission_that_was_decided_is_shown_to_its_submitter_editors_and_reviewers() {
    let place = governed();
    let stewards = place.read("stewards.yaml") + "  - {principal: vi@example.com, role: viewer}\n";
    place.write("stewards.yaml", stewards);
    place.ctx("submit stewards.yaml").ok();
    place.ctx("approve stewards.yaml --as kim@example.com").ok();
    place.edit("nodes/a.md", "30 days", "14 days");
    place.ctx("submit nodes/a").ok();
    place.ctx("comment nodes/a 'which law?' --as bo@example.com").ok();
    place.ctx("reject nodes/a --reason 'no such law' --as bo@example.com").ok();
    let said = place.ctx("read nodes/a --version 2 --as vi@example.com");
    assert!(!said.stdout.contains("14 days"), "{}", said.whole());
    assert_snapshot!(place.ctx("review show nodes/a --version 2").whole(), @"
    exit: 0
    -- stdout
    nodes/a v2 was to be published
    submitted by ana@example.com, 2026-11-21T10:00:05.000Z, based on v1
    rejected by bo@example.com, v3, 2026-11-21T10:00:07.000Z: no such law
    approvals: 0 of 1

    @@ line 11 -> 13 #returns, replaces lines of ana@example.com (v1) @@
     # Returns
     
    ~Returns take [-30-]{+14+} days.
     
     ## Old
     

    comment by bo@example.com of v2, 2026-11-21T10:00:06.000Z: which law?
    -- stderr
    ");
    let json = place.ctx("review show nodes/a --version 2 --as kim@example.com --json").ok();
    let json = json.json("ctx.review.show");
    assert_eq!(json["ended"]["how"], "rejected", "{json}");
    assert_eq!(json["ended"]["reason"], "no such law", "{json}");
    for who in ["vi", "eve"] {
        let said = place.ctx(&format!("review show nodes/a --version 2 --as {who}@example.com"));
        assert!(said.exit == 3 && !said.stdout.contains("14"), "{}", said.whole());
    }
    // One version is not a submission, one is missing, and one awaits a decision.
    for version in [1, 3, 9] {
        let said = place.ctx(&format!("review show nodes/a --version {version}")).exits(1);
        assert!(said.stderr.contains("error[not-submitted]"), "{}", said.whole());
    }
    place.edit("nodes/a.md", "14 days", "15 days");
    place.ctx("submit nodes/a").ok();
    assert_eq!(
        place.ctx("review show nodes/a --version 4").ok().stdout,
        place.ctx("review show nodes/a").ok().stdout
    );
    // Each other end is reported.
    place.edit("nodes/a.md", "15 days", "16 days");
    place.ctx("submit nodes/a").ok();
    place.ctx("approve nodes/a --as bo@example.com").ok();
    place.edit("nodes/a.md", "16 days", "17 days");
    place.ctx("submit nodes/a").ok();
    place.ctx("withdraw nodes/a").ok();
    place.ctx("submit nodes/a").ok();
    place.ctx("retire nodes/a --emergency --reason wrong --as bo@example.com").ok();
    let how = |version: u32| {
        let line = format!("review show nodes/a --version {version} --json");
        let ended = place.ctx(&line).ok().json("ctx.review.show")["ended"].clone();
        format!("{} {}", ended["how"].as_str().unwrap(), ended["version"])
    };
    let found = [4, 5, 7, 9].map(how);
    assert_eq!(found, ["replaced 5", "approved 6", "withdrawn 8", "ended 10"]);
    // A governance file is submitted, whose text has no fields.
    place.ctx("review show stewards.yaml --version 2 --as bo@example.com").ok();
}

#[test]
fn comment_and_reject_report_a_change_log_that_cannot_be_written() {
    let place = governed();
    place.edit("nodes/a.md", "30 days", "14 days");
    place.ctx("submit nodes/a").ok();
    let comment = "comment nodes/a 'which law?' --as bo@example.com";
    let muted = place.typed(comment).on(Arc::new(Mute)).exits(5);
    assert!(muted.stderr.starts_with("error[io]: the change log: "), "{}", muted.stderr);
    assert!(muted.stderr.contains("ctx review show"), "{}", muted.stderr);
    let rejected = place.typed("reject nodes/a --reason no --as bo@example.com");
    let rejected = rejected.on(Arc::new(Mute)).exits(5);
    let told = "warning: recorded, but the change log could not be written: ";
    assert!(rejected.stderr.contains(told), "{}", rejected.stderr);
}
