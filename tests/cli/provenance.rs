//! Provenance: who wrote and approved a text, wherever a text or its version is reported.

use insta::assert_snapshot;
use serde_json::Value;

use crate::harness::Place;

const STEWARDS: &str = "\
version: 1
vault:
  - {principal: bo@x.com, role: reviewer}
  - {group: counsel, role: reviewer}
  - {principal: ana@x.com, role: editor}
groups: {counsel: [kim@x.com]}
review: {folders: {nodes/legal/: {required: 2, max_age: 30d}}}
";

/// Returns a governed vault in which Ana submitted and Bo and Kim approved a text.
fn governed() -> Place {
    let place = Place::published(&[("nodes/old", "---\nauthor: Old\n---\n# Old\n")]);
    place.write("stewards.yaml", STEWARDS);
    place.ctx("govern on --as ana@x.com").ok();
    place.ctx("add nodes/legal/terms --body '# Terms\n\nPay in 30 days.' --as ana@x.com").ok();
    place.ctx("submit nodes/legal/terms --as ana@x.com").ok();
    place.ctx("approve nodes/legal/terms --as kim@x.com").ok();
    place.ctx("approve nodes/legal/terms --as bo@x.com").ok();
    place
}

const KEYS: [&str; 7] =
    ["author", "edited_by", "edited_at", "approved_by", "approved_at", "steward", "review_due"];

/// Returns the keys of provenance that an object has.
fn provenance(of: &Value) -> Value {
    let keys = KEYS.iter().filter_map(|key| Some((key.to_string(), of.get(key)?.clone())));
    keys.collect()
}

#[test]
fn an_answer_names_submitter_approvers_steward_and_when_a_review_is_due() {
    let place = governed();
    let read = place.ctx("read nodes/legal/terms --json").ok().json("ctx.read");
    assert_snapshot!(provenance(&read), @r#"{"approved_at":"2026-11-21T10:00:06.000Z","approved_by":["kim@x.com","bo@x.com"],"author":"ana@x.com","edited_at":"2026-11-21T10:00:04.000Z","edited_by":"ana@x.com","review_due":"2026-12-21T10:00:06.000Z","steward":{"reviewers":["bo@x.com","group counsel"],"scope":"vault"}}"#);
    let old = place.ctx("read nodes/old --json").ok().json("ctx.read");
    assert_snapshot!(provenance(&old), @r#"{"author":"Old","edited_at":"2026-11-21T10:00:01.000Z","edited_by":"ana@example.com","steward":{"reviewers":["bo@x.com","group counsel"],"scope":"vault"}}"#);
    for (command, schema, list) in [
        ("resolve nodes/legal/terms --json", "ctx.resolve", "documents"),
        ("list --json", "ctx.list", "documents"),
        ("search pay --json", "ctx.search", "hits"),
    ] {
        let found = place.ctx(command).ok().json(schema);
        let mut found = provenance(&found[list][0]);
        found["author"] = read["author"].clone();
        assert_eq!(found, provenance(&read), "{command}");
    }
    // The access log records the same.
    let logs = crate::harness::files_in(place.home());
    let log = logs.iter().find(|(path, _)| path.starts_with(".local") && path.ends_with("jsonl"));
    let log = String::from_utf8(log.unwrap().1.clone()).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let line = lines.into_iter().find(|line| line["verb"] == "read").unwrap();
    assert_eq!(provenance(&line["documents"][0]), provenance(&read));
}

#[test]
fn history_and_blame_name_the_people_of_a_review() {
    let place = governed();
    assert_snapshot!(place.ctx("history nodes/legal/terms").ok().stdout, @"
    v1  submitted         -   keyframe  2026-11-21T10:00:04.000Z  ana@x.com  ee67715ea9cc
    v2  approved in part  -   diff      2026-11-21T10:00:05.000Z  kim@x.com  c2fd04bdd566
    v3  published         @3  diff      2026-11-21T10:00:06.000Z  bo@x.com   331fb1a82eee  submitted by ana@x.com, approved by kim@x.com, bo@x.com
    ");
    assert_snapshot!(place.ctx("blame nodes/legal/terms").ok().stdout, @"
    v1  ana@x.com (approved by kim@x.com, bo@x.com)  2026-11-21T10:00:04.000Z   1  ---
    v1  ana@x.com (approved by kim@x.com, bo@x.com)  2026-11-21T10:00:04.000Z   2  type: document
    v3  bo@x.com                                     2026-11-21T10:00:06.000Z   3  status: published
    v1  ana@x.com (approved by kim@x.com, bo@x.com)  2026-11-21T10:00:04.000Z   4  author: ana@x.com
    v1  ana@x.com (approved by kim@x.com, bo@x.com)  2026-11-21T10:00:04.000Z   5  title: Terms
    v3  bo@x.com                                     2026-11-21T10:00:06.000Z   6  version: 3
    v1  ana@x.com (approved by kim@x.com, bo@x.com)  2026-11-21T10:00:04.000Z   7  created_at: '2026-11-21T10:00:04.000Z'
    v3  bo@x.com                                     2026-11-21T10:00:06.000Z   8  updated_at: '2026-11-21T10:00:06.000Z'
    v1  ana@x.com (approved by kim@x.com, bo@x.com)  2026-11-21T10:00:04.000Z   9  checksum: sha256:1f8040a19b43c92de832b7db0e213678089009efdac9f5b4150fe64f1a415766
    v3  bo@x.com                                     2026-11-21T10:00:06.000Z  10  review: approved
    v3  bo@x.com                                     2026-11-21T10:00:06.000Z  11  approved_by: [kim@x.com, bo@x.com]
    v3  bo@x.com                                     2026-11-21T10:00:06.000Z  12  approved_at: '2026-11-21T10:00:06.000Z'
    v1  ana@x.com (approved by kim@x.com, bo@x.com)  2026-11-21T10:00:04.000Z  13  ---
    v1  ana@x.com (approved by kim@x.com, bo@x.com)  2026-11-21T10:00:04.000Z  14  # Terms
    v1  ana@x.com (approved by kim@x.com, bo@x.com)  2026-11-21T10:00:04.000Z  15
    v1  ana@x.com (approved by kim@x.com, bo@x.com)  2026-11-21T10:00:04.000Z  16  Pay in 30 days.
    ");
    assert_snapshot!(place.ctx("evidence report").ok().stdout, @"
    checkpoint,at,action,id,version,author,edited_by,edited_at,approved_by,emergency,ratified_by,ratified_at,complete,why,unprotected_note,chain_hash,checkpoint_hash
    1,2026-11-21T10:00:01.000Z,published,.context/config.yaml,1,,ana@example.com,2026-11-21T10:00:01.000Z,,,,,true,,,sha256:7ddb1cef5f59f6e25be8c63d596218975a871335eb62928694425884d957e2e9,sha256:6520a9d1674ebb73b3d3c3e59601285a1a61e534895dccc2590cffbf822954d9
    1,2026-11-21T10:00:01.000Z,published,CONTEXT.md,1,,ana@example.com,2026-11-21T10:00:01.000Z,,,,,true,,,sha256:0b291b9ba29b1131ceb13cccce2b81057c957ce1a74f8e873ade2a075a0feff6,sha256:6520a9d1674ebb73b3d3c3e59601285a1a61e534895dccc2590cffbf822954d9
    1,2026-11-21T10:00:01.000Z,published,nodes/old,1,Old,ana@example.com,2026-11-21T10:00:01.000Z,,,,,true,,,sha256:054a91e2d8e9299fb3337294fde56b38f89e645d6fe3695636071f371f661da5,sha256:6520a9d1674ebb73b3d3c3e59601285a1a61e534895dccc2590cffbf822954d9
    2,2026-11-21T10:00:02.000Z,published,.context/config.yaml,2,,ana@x.com,2026-11-21T10:00:02.000Z,,,,,true,,,sha256:688e6273fb1f20344b9dfc2eb1f3abd145a5d6c3cffba214da8a113a8c79609d,sha256:f5ecdd48a70b8bd0d5a5a1845d39935f037747c73ace06fd97099236f3220a35
    2,2026-11-21T10:00:02.000Z,published,stewards.yaml,1,,ana@x.com,2026-11-21T10:00:02.000Z,,,,,true,,,sha256:c4a7ecfebe87dadc541bfd520a2f9373ce636c884f2c207c3022b8fb326dfd3d,sha256:f5ecdd48a70b8bd0d5a5a1845d39935f037747c73ace06fd97099236f3220a35
    3,2026-11-21T10:00:06.000Z,published,nodes/legal/terms,3,ana@x.com,ana@x.com,2026-11-21T10:00:04.000Z,kim@x.com bo@x.com,,,,true,,,sha256:331fb1a82eee712f9ad326f933187ae1fdabb071bcdcd4e2f8a55a784febcf3e,sha256:8e9bfad245c54f7beeeca1c681692d3a94e847befdb4db15392e90e3b2e6fbd0
    ");
    // Blame of a governance file follows from its diffs.
    place.edit("stewards.yaml", "30d", "60d");
    place.ctx("submit stewards.yaml --as ana@x.com").ok();
    place.ctx("approve stewards.yaml --as bo@x.com").ok();
    assert_snapshot!(place.ctx("history stewards.yaml").ok().stdout, @"
    v1  published  @2  keyframe  2026-11-21T10:00:02.000Z  ana@x.com  c4a7ecfebe87
    v2  submitted  -   diff      2026-11-21T10:00:10.000Z  ana@x.com  646d6fd4ab4d
    v3  published  @4  diff      2026-11-21T10:00:11.000Z  bo@x.com   8c2b131c72b2  submitted by ana@x.com, approved by bo@x.com
    ");
    let read = place.ctx("read stewards.yaml --json").ok().json("ctx.read");
    assert_snapshot!(provenance(&read), @r#"{"approved_at":"2026-11-21T10:00:11.000Z","approved_by":["bo@x.com"],"author":null,"edited_at":"2026-11-21T10:00:10.000Z","edited_by":"ana@x.com","steward":{"reviewers":["bo@x.com","group counsel"],"scope":"vault"}}"#);
    let read = place.ctx("read nodes/legal/terms --json").ok().json("ctx.read");
    assert_snapshot!(read["review_due"], @r#""2027-01-20T10:00:06.000Z""#);
    place.ctx("verify").ok();
}

#[test]
fn fields_that_no_review_wrote_name_no_approver() {
    let body = "---\nreview: approved\napproved_by: kim@x.com\n\
                approved_at: '2026-11-21T10:00:02.000Z'\n---\n# A\n";
    let place = Place::published(&[("nodes/a", body)]);
    let read = place.ctx("read nodes/a --json").ok().json("ctx.read");
    assert!(read.get("approved_by").is_none(), "{read}");
    assert!(read.get("steward").is_none(), "{read}");
}

#[test]
fn a_bundle_proves_the_texts_of_a_reviewed_version() {
    let place = governed();
    place.typed("read nodes/legal/terms").var("CTX_SESSION", "s-1").run().ok();
    place.ctx("evidence export --session s-1 -o bundle.tar").ok();
    place.ctx("evidence verify bundle.tar").ok();
    place.ctx("evidence export --document nodes/legal/terms -o document.tar").ok();
    place.ctx("evidence verify document.tar").ok();
}

/// Returns Ana's submissions of two documents as one set, with the first approved by Kim.
fn half_approved() -> Place {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.write("stewards.yaml", STEWARDS);
    place.ctx("govern on --as ana@x.com").ok();
    for id in ["nodes/a", "nodes/b"] {
        place.edit(&format!("{id}.md"), "# ", "# New ");
    }
    place.ctx("submit nodes/a nodes/b --change c --as ana@x.com").ok();
    place.ctx("approve nodes/a --as kim@x.com").ok();
    place
}

#[test]
fn read_distinguishes_the_approver_of_a_set_from_its_submitter() {
    for completing in ["approve --change c --as kim@x.com", "approve nodes/b --as kim@x.com"] {
        let place = half_approved();
        place.ctx(completing).ok();
        for id in ["nodes/a", "nodes/b"] {
            let read = place.ctx(&format!("read {id} --json")).ok().json("ctx.read");
            assert_eq!(read["edited_by"], "ana@x.com", "{completing} {id}");
            assert_eq!(read["approved_by"], serde_json::json!(["kim@x.com"]), "{completing} {id}");
            let history = place.ctx(&format!("history {id}")).ok().stdout;
            let said = "submitted by ana@x.com, approved by kim@x.com";
            assert!(history.contains(said), "{completing}: {history}");
        }
        place.ctx("verify").ok();
    }
}

#[test]
fn the_target_of_a_move_has_the_review_of_its_source() {
    let place = half_approved();
    place.ctx("approve --change c --as kim@x.com").ok();
    place.ctx("mv nodes/a nodes/new --as ana@x.com").ok();
    place.ctx("approve nodes/a --as kim@x.com").ok();
    let read = place.ctx("read nodes/new --json").ok().json("ctx.read");
    assert_eq!(read["edited_by"], "ana@x.com");
    assert_eq!(read["approved_by"], serde_json::json!(["kim@x.com"]));
    let history = place.ctx("history nodes/new").ok().stdout;
    assert!(history.contains("submitted by ana@x.com, approved by kim@x.com"), "{history}");
    let blame = place.ctx("blame nodes/new --json").ok().json("ctx.blame");
    let origin = &blame["versions"];
    assert!(origin.to_string().contains("ana@x.com"), "{blame}");
    let report = place.ctx("evidence report --format json").ok().stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    let rows = report["publications"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == "nodes/new").unwrap();
    assert_eq!(row["approved_by"], serde_json::json!(["kim@x.com"]), "{row}");
}

#[test]
fn a_bundle_proves_who_completed_a_set_and_leaves_a_move_open() {
    let place = half_approved();
    place.ctx("approve --change c --as kim@x.com").ok();
    place.typed("read nodes/a").var("CTX_SESSION", "s-1").run().ok();
    place.ctx("evidence export --session s-1 -o set.tar").ok();
    let told = place.ctx("evidence verify set.tar").ok().stdout;
    assert!(told.contains(" 0 not proved, 0 contradicted"), "{told}");
    place.ctx("mv nodes/a nodes/new --as ana@x.com").ok();
    place.ctx("approve nodes/a --as kim@x.com").ok();
    place.typed("read nodes/new").var("CTX_SESSION", "s-2").run().ok();
    place.ctx("evidence export --session s-2 -o moved.tar").ok();
    let told = place.ctx("evidence verify moved.tar").ok().stdout;
    assert!(told.contains("but no checkpoint seals its end"), "{told}");
    assert!(told.contains(" 0 contradicted"), "{told}");
}

#[test]
fn an_approval_does_not_approve_the_lines_that_it_writes() {
    let place = half_approved();
    place.ctx("approve --change c --as kim@x.com").ok();
    let blame = place.ctx("blame nodes/b").ok().stdout;
    assert!(!blame.contains("kim@x.com (approved by kim@x.com)"), "{blame}");
    assert!(blame.contains("ana@x.com (approved by kim@x.com)"), "{blame}");
}
