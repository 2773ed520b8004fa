//! Provenance of a text in a bundle: who wrote, approved and decides about it follows from the
//! chains and governance files, never from the line of the log, which its writer can forge.

use contextnest::prove::evidence::bundle::verify::{Kind, Verdict, verify};
use serde_json::{Value, json};

use crate::evidence::{failures, files, rebuilt, sha256};
use crate::harness::Place;

const STEWARDS: &str = "\
version: 1
vault:
  - {principal: ana@x.com, role: reviewer}
  - {principal: kim@x.com, role: reviewer}
  - {principal: bo@x.com, role: reviewer}
review: {vault: {required: 2, max_age: 30d}}
";

/// Returns a governed vault with two keyframes in a review, and a session that read an approved
/// text, one that no review published, and one from before the governance.
fn governed() -> Place {
    let place = Place::vault();
    place.edit(".context/config.yaml", "layout:", "versions:\n  keyframe_interval: 2\nlayout:");
    place.write("CONTEXT.md", "# Welcome\n");
    place.write("nodes/terms.md", "---\ntags: [legal]\n---\n# Terms\n\nPay in 30 days.\n");
    place.ctx("publish --all --as ana@x.com").ok();
    place.write("stewards.yaml", STEWARDS);
    place.ctx("govern on --as ana@x.com").ok();
    place.ctx("read nodes/terms --session s").ok();
    place.edit("nodes/terms.md", "30 days", "14 days");
    place.ctx("submit nodes/terms --as ana@x.com").ok();
    place.ctx("approve nodes/terms --as kim@x.com").ok();
    place.ctx("approve nodes/terms --as bo@x.com").ok();
    for line in ["read nodes/terms", "read CONTEXT.md", "read stewards.yaml", "search pay"] {
        place.ctx(&format!("{line} --session s")).ok();
    }
    place
}

fn bundle(place: &Place) -> Vec<u8> {
    place.ctx("evidence export --session s").ok().stdout.into_bytes()
}

/// Returns a bundle with changed lines, which are chained again.
fn forged(bundle: &[u8], change: impl FnOnce(&mut Vec<Value>)) -> Vec<u8> {
    let mut files = files(bundle);
    let text = String::from_utf8(files["lines.jsonl"].clone()).unwrap();
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    change(&mut lines);
    let mut out = Vec::new();
    let mut before: Option<(u64, Value)> = None;
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("hash");
        let seq = line["seq"].as_u64().unwrap();
        if let Some((_, hash)) = before.filter(|(last, _)| last + 1 == seq) {
            line["prev"] = hash;
        }
        line["hash"] = sha256(&serde_jcs::to_vec(line).unwrap()).into();
        before = Some((seq, line["hash"].clone()));
        out.extend(serde_jcs::to_vec(line).unwrap());
        out.push(b'\n');
    }
    files.insert("lines.jsonl".to_owned(), out);
    // Other verifiers do not generate these pages either.
    files.remove("index.html");
    files.remove("README.md");
    rebuilt(files, |_| {})
}

/// Returns the text of the access that is `n` before the last one.
fn text<'l>(lines: &'l mut [Value], verb: &str, n: usize) -> &'l mut Value {
    let mut of_verb = lines.iter_mut().filter(|line| line["verb"] == verb);
    &mut of_verb.nth(n).unwrap()["documents"][0]
}

#[test]
fn bundle_proves_who_wrote_and_approved_a_text() {
    let place = governed();
    let bundle = bundle(&place);
    assert_eq!(failures(&bundle), Vec::<String>::new());
    let verified = verify(&bundle, None).unwrap();
    let proved = |kind| {
        let of_kind = verified.items.iter().filter(|item| item.kind == kind);
        of_kind.filter(|item| item.verdict == Verdict::Proved).count()
    };
    // The line of a search is not reproduced, but its provenance is compared all the same.
    assert_eq!((proved(Kind::Text), proved(Kind::Steward)), (4, 4));
    let document = place.ctx("evidence export --document nodes/terms").ok().stdout;
    assert_eq!(failures(document.as_bytes()), Vec::<String>::new());
}

#[test]
fn a_forged_editor_approver_time_or_author_is_contradicted() {
    let bundle = bundle(&governed());
    type Forgery = (&'static str, usize, fn(&mut Value));
    let forgeries: [Forgery; 11] = [
        ("read", 1, |text| text["approved_by"] = json!(["ceo@x.com"])),
        ("read", 1, |text| text["approved_by"] = json!(["kim@x.com"])),
        ("read", 1, |text| drop(text.as_object_mut().unwrap().remove("approved_by"))),
        ("read", 1, |text| text["approved_at"] = "2026-11-21T10:00:05.000Z".into()),
        ("read", 1, |text| text["edited_by"] = "eve@x.com".into()),
        ("read", 1, |text| text["edited_at"] = "2020-01-01T00:00:00.000Z".into()),
        ("read", 1, |text| text["author"] = "eve@x.com".into()),
        ("read", 2, |text| {
            text["approved_by"] = json!(["ceo@x.com"]);
            text["approved_at"] = text["edited_at"].clone();
            text["edited_by"] = "eve@x.com".into();
        }),
        ("read", 0, |text| {
            text["approved_by"] = json!(["ceo@x.com"]);
            text["approved_at"] = text["edited_at"].clone();
        }),
        ("search", 0, |text| text["approved_by"] = json!(["ceo@x.com"])),
        ("search", 0, |text| text["edited_by"] = "eve@x.com".into()),
    ];
    for (n, (verb, at, forge)) in forgeries.into_iter().enumerate() {
        let told = failures(&forged(&bundle, |lines| forge(text(lines, verb, at))));
        let is_it = |told: &String| told.starts_with("text ") && told.contains(" contradicted: ");
        let texts: Vec<&String> = told.iter().filter(|told| is_it(told)).collect();
        assert_eq!(texts.len(), 1, "forgery {n}: {told:?}");
    }
}

#[test]
fn a_forged_steward_or_time_of_review_is_contradicted() {
    let bundle = bundle(&governed());
    let forgeries: [fn(&mut Value); 3] = [
        |text| text["steward"]["reviewers"] = json!(["eve@x.com"]),
        |text| text["steward"]["scope"] = "document nodes/terms".into(),
        |text| text["review_due"] = "2036-01-01T00:00:00.000Z".into(),
    ];
    for forge in forgeries {
        let told = failures(&forged(&bundle, |lines| forge(text(lines, "read", 1))));
        let is_it = |told: &&String| told.starts_with("steward ") && told.contains("contradicted");
        assert_eq!(told.iter().filter(is_it).count(), 1, "{told:?}");
    }
    // An ungoverned checkpoint cannot name an approver either.
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.ctx("read nodes/a --session s").ok();
    let bundle = place.ctx("evidence export --session s").ok().stdout.into_bytes();
    let told = failures(&forged(&bundle, |lines| {
        text(lines, "read", 0)["steward"] = json!({"reviewers": ["ceo@x.com"], "scope": "vault"});
    }));
    assert!(told[0].starts_with("steward ") && told[0].contains("contradicted"), "{told:?}");
}

#[test]
fn without_the_entries_of_a_review_nothing_is_said_of_who_approved() {
    let bundle = bundle(&governed());
    let mut files = files(&bundle);
    let manifest: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    // The submission of the document is proved for no checkpoint.
    let versions = manifest["versions"].as_array().unwrap();
    let is_step = |version: &Value| {
        version["checkpoints"] == json!([])
            && version["id"] == "nodes/terms"
            && version["version"] == 3
    };
    let step = versions.iter().position(is_step).unwrap();
    let chain = versions[step]["chain"].as_u64().unwrap();
    for path in [format!("chains/{chain}.json"), format!("chains/{chain}.md")] {
        files.remove(&path);
    }
    let told = failures(&rebuilt(files, |_| {}));
    let is_it = |told: &&String| {
        told.starts_with("text ")
            && told.contains("not proved: the bundle does not have the entries of its review")
    };
    assert!(told.iter().filter(is_it).count() >= 1, "{told:?}");
}

#[test]
fn a_line_whose_uri_names_another_checkpoint_is_none() {
    let bundle = bundle(&governed());
    let told = failures(&forged(&bundle, |lines| {
        text(lines, "read", 1)["uri"] = "contextnest://nodes/terms@1".into();
    }));
    assert!(
        told.iter().any(|told| told.starts_with("line ") && told.contains("not pinned")),
        "{told:?}"
    );
}

#[test]
fn a_line_that_is_older_than_the_checkpoint_it_names_is_contradicted() {
    let bundle = bundle(&governed());
    let told = failures(&forged(&bundle, |lines| {
        lines.last_mut().unwrap()["at"] = "2020-01-01T00:00:00.000Z".into();
    }));
    assert!(
        told[0].starts_with("line ") && told[0].contains("contradicted: it is dated 2020"),
        "{told:?}"
    );
}
