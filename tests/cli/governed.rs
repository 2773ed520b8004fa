//! Governed vaults: commands in messages work there, and messages reveal nothing that a principal
//! may not read.

use crate::harness::{Output, Place};

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  - \
    {principal: kim@x.com, role: reviewer}\n  - {principal: ana@x.com, role: editor}\n";

fn by(place: &Place, who: &str, line: &str) -> Output {
    place.ctx(&format!("{line} --as {who}@x.com"))
}

fn governed(stewards: &str) -> Place {
    let place = Place::vault();
    place.write("nodes/a.md", "# A\n\none\n\n## Part\n\ntwo\n");
    place.write("nodes/b.md", "# B\n\n[a](a.md)\n");
    place.write("packs/start.yml", "id: start\nlabel: Start\n");
    place.ctx("publish --all --as ana@x.com").ok();
    place.write("stewards.yaml", stewards);
    place.ctx("govern on --as ana@x.com").ok();
    place
}

#[test]
fn no_advice_in_a_governed_vault_names_publish() {
    let place = governed(&format!("{STEWARDS}review: {{vault: {{max_age: 1d}}}}\n"));
    let mut said = Vec::new();
    let mut run = |line: &str| {
        let mut output = by(&place, "ana", line);
        output.stdout.push_str(&output.stderr);
        said.push((line.to_owned(), output.stdout));
        let json = by(&place, "ana", &format!("{line} --json"));
        said.push((format!("{line} --json"), json.stdout + &json.stderr));
    };
    for line in ["status", "validate", "verify", "list", "submit nodes/none", "history nodes/none"]
    {
        run(line);
    }
    place.write("nodes/draft.md", "---\nstatus: draft\n---\n# Draft\n");
    place.write("nodes/hugo.md", "---\ndraft: true\n---\n# Hugo\n");
    place.edit("nodes/a.md", "one", "three");
    place.edit("packs/start.yml", "Start", "Begin");
    place.edit(".context/config.yaml", "layout:", "frontmatter: untouched\nlayout:");
    for line in [
        "status",
        "validate",
        "verify",
        "diff",
        "publish nodes/a",
        "add nodes/new --body x",
        "add nodes/a --body x",
        "mv nodes/a nodes/c",
        "mv nodes/draft nodes/c",
        "retire nodes/draft",
        "retire stewards.yaml",
        "retire packs/start.yml",
        "restore nodes/a",
        "restore nodes/a --version 1",
        "history nodes/draft",
        "read nodes/draft",
        "resolve nodes/draft",
        "checkout nodes/a out",
        "pack list",
        "pack check",
        "pack add other nodes/a",
        "context",
        "context --edit",
        "audit begin",
        "checkpoint convert --to full",
        "steward assign lee@x.com editor --whole-vault --dry-run",
        "submit nodes/a",
        "approve nodes/a",
        "review",
        "review show nodes/a",
        "mv nodes/b nodes/d --fix-links",
        "help approval-due",
        "help policy-drift",
        "help drift",
        "help published-without-history",
        "help policy-unsealed",
        "help approval-missing",
        "owners",
    ] {
        run(line);
    }
    place.remove("stewards.yaml");
    place.remove("packs/start.yml");
    place.remove("nodes/b.md");
    for line in ["status", "verify", "validate", "submit stewards.yaml"] {
        run(line);
    }
    let wrong = said.iter().filter(|(_, text)| {
        let is_wrong = |line: &str| {
            line.contains("ctx publish")
                || line.contains("ctx retire FILE")
                || line.contains("submit") && line.contains("` publishes")
        };
        text.lines().any(is_wrong)
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns a vault in which Ana reads and edits only `nodes/open/`; `nodes/hidden/` has a published
/// document, a submitted one, and a retired one.
fn limited() -> Place {
    let place = Place::vault();
    for id in ["open/a", "hidden/s", "hidden/g"] {
        place.write(&format!("nodes/{id}.md"), "# A\n\none\n\n## Part\n\ntwo\n");
    }
    place.edit(".context/config.yaml", "layout:", "reads: stewards\nlayout:");
    place.ctx("publish --all --as bo@x.com").ok();
    place.ctx("retire nodes/hidden/g --as bo@x.com").ok();
    place.write(
        "stewards.yaml",
        "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  - {principal: kim@x.com, \
         role: reviewer}\nfolders:\n  nodes/open/: [{principal: ana@x.com, role: reviewer}]\n  \
         nodes/hidden/: [{principal: kim@x.com, role: reviewer}, {principal: bo@x.com, role: editor}]\n",
    );
    place.ctx("govern on --as bo@x.com").ok();
    place.write("nodes/hidden/w.md", "# W\n");
    place.ctx("submit nodes/hidden/w --as bo@x.com").ok();
    place.edit("nodes/hidden/s.md", "one", "more");
    place.ctx("submit nodes/hidden/s --as bo@x.com").ok();
    // A front end without a working copy has only these.
    for id in ["s", "w", "g"] {
        place.remove(&format!("nodes/hidden/{id}.md"));
    }
    place
}

#[test]
fn hidden_documents_answer_like_unknown_ids() {
    let place = limited();
    for line in [
        "read ID",
        "read ID#part",
        "read ID#none",
        "read ID@1",
        "resolve ID",
        "resolve ID#part",
        "resolve contextnest://ID#part",
        "show ID 1",
        "blame ID",
        "history ID",
        "diff ID 1 2",
        "review show ID",
        "approve ID",
        "approve ID --version 2",
        "reject ID --reason no",
        "withdraw ID",
        "comment ID hm",
        "retire ID",
        "retire ID --emergency --reason x",
        "mv ID nodes/open/moved",
        "submit ID",
        "submit ID --renew",
        "steward who ID",
        "neighbors ID",
        "impact ID",
        "restore ID",
    ] {
        let answer = |id: &str| {
            let output = by(&place, "ana", &line.replace("ID", id));
            let text = format!("{}\n{}\n{}", output.exit, output.stdout, output.stderr);
            text.replace(id, "ID")
        };
        let unknown = answer("nodes/hidden/x");
        for id in ["nodes/hidden/s", "nodes/hidden/w", "nodes/hidden/g"] {
            assert_eq!(answer(id), unknown, "`{line}` of {id}");
        }
    }
    let near = by(&place, "ana", "approve nodes/hidden/ss");
    assert!(!near.stderr.contains("hidden/s`"), "{}", near.whole());
}

#[test]
fn scopes_at_which_a_limited_reader_has_no_role_are_counted_only() {
    let place = limited();
    let own = by(&place, "ana", "steward list").ok();
    assert!(
        own.stdout.contains("nodes/open/") && !own.stdout.contains("hidden"),
        "{}",
        own.whole()
    );
    assert!(own.stderr.contains("2 scopes at which you do not have a role"), "{}", own.whole());
    let json = by(&place, "ana", "steward list --json").ok().stdout;
    assert!(!json.contains("hidden"), "{json}");
    assert!(by(&place, "bo", "steward list").ok().stdout.contains("nodes/hidden/"));
}

#[test]
fn a_limited_reader_is_told_of_their_own_scopes_and_acts_wherever_stewards_are_shown() {
    let place = limited();
    place.edit("nodes/open/a.md", "one", "more");
    by(&place, "ana", "submit nodes/open/a").ok();
    for line in
        ["owners", "owners --json", "owners --access-review", "owners --access-review --json"]
    {
        let own = by(&place, "ana", line).ok();
        assert!(own.stdout.contains("nodes/open/"), "{}", own.whole());
        assert!(!own.stdout.contains("hidden") && !own.stdout.contains("kim@"), "{}", own.whole());
        let none = by(&place, "eve", line).ok();
        assert!(
            !none.stdout.contains("nodes/") && !none.stdout.contains("@x.com\""),
            "{}",
            none.whole()
        );
        assert!(by(&place, "bo", line).ok().stdout.contains("nodes/hidden/"), "{line}");
    }
    let acts = by(&place, "ana", "owners --access-review").ok();
    assert!(
        acts.stdout.contains("ana@x.com") && acts.stdout.contains("submit at"),
        "{}",
        acts.whole()
    );
    let refused = by(&place, "ana", "steward export --codeowners").exits(3);
    assert!(refused.stderr.contains("not-a-steward"), "{}", refused.whole());
    by(&place, "kim", "steward export --codeowners").ok();
}

#[test]
fn an_access_review_names_approvals_assignments_and_emergencies() {
    let place = governed(STEWARDS);
    let last = |who: &str| {
        let review = by(&place, "ana", "owners --access-review --json").ok();
        let review = review.json("ctx.owners.access");
        let all = review["principals"].as_array().unwrap().clone();
        let one = all.into_iter().find(|one| one["principal"] == format!("{who}@x.com")).unwrap();
        one["last_action"].as_str().unwrap().to_owned()
    };
    assert_eq!(last("ana"), "assignment");
    place.edit("nodes/a.md", "one", "three");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "kim", "approve nodes/a").ok();
    assert_eq!((last("ana").as_str(), last("kim").as_str()), ("submit", "approval"));
    by(&place, "kim", "retire nodes/b --emergency --reason wrong").ok();
    assert_eq!(last("kim"), "emergency");
}

#[test]
fn an_access_review_of_a_checkpoint_has_no_act_after_it() {
    let place = governed(STEWARDS);
    let before = by(&place, "ana", "owners --access-review").ok().stdout;
    place.edit("nodes/a.md", "one", "three");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "kim", "approve nodes/a").ok();
    let at = by(&place, "ana", "owners --access-review --at 2").ok().stdout;
    assert_eq!(at, before);
    assert!(before.contains("kim@x.com  no recorded act"), "{before}");
    let now = by(&place, "ana", "owners --access-review").ok().stdout;
    assert!(!now.contains("kim@x.com  no recorded act") && now.contains("submit at"), "{now}");
}
