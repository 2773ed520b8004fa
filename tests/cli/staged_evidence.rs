//! Bundles of evidence with staged results of sources.

use std::collections::BTreeMap;

use contextnest::prove::evidence::bundle::verify::{Item, Verdict, verify};
use serde_json::{Value, json};

use crate::evidence::{failures, files, rebuilt, sha256};
use crate::harness::Place;
use crate::stage::{ANA, BO, EVE, KIM, governed, shop};

/// Records a result of the prices as ana; returns the URI of its staged entry.
pub(crate) fn recorded(place: &Place, session: &str, result: &[u8]) -> String {
    let line = format!(
        "source record sources/prices --session {session} --as {ANA} --tools list_prices --server shop --json"
    );
    let said = place.typed(&line).stdin(result).run().ok().json("ctx.source.record");
    said["staged"].as_str().unwrap().to_owned()
}

fn staging() -> Place {
    let place = shop(Place::vault());
    place.edit(".context/config.yaml", "servers:", "staging: {enabled: true}\nservers:");
    place.ctx("publish .context/config.yaml").ok();
    place
}

fn export(place: &Place, scope: &str) -> Vec<u8> {
    place.typed(&format!("evidence export {scope}")).run().ok().stdout.into_bytes()
}

/// Returns the items of a kind: name, verdict, and true if a proof is missing.
fn said(bundle: &[u8], kind: &str) -> Vec<(String, &'static str, bool)> {
    let items = verify(bundle, None).unwrap().items.into_iter();
    let of = |item: Item| (item.name, item.verdict.as_str(), item.verdict == Verdict::NotProved);
    items.filter(|item| item.kind.as_str() == kind).map(of).collect()
}

fn holds(bundle: &[u8]) -> bool {
    !verify(bundle, None).unwrap().items.iter().any(|item| item.verdict.is_failure())
}

#[test]
fn a_session_carries_what_its_sources_returned() {
    let place = staging();
    let kept = recorded(&place, "s", b"{\"eur\": 1.50}");
    let gone = recorded(&place, "s", b"the address of a person");
    let other = recorded(&place, "t", b"of another session");
    for uri in [&kept, &gone] {
        place.args(&["stage", "show", uri, "--session", "s"]).run().ok();
    }
    place.args(&["stage", "erase", &gone, "--reason", "personal data"]).run().ok();
    let bundle = export(&place, "--session s");
    assert!(holds(&bundle));
    let act = kept.replace("-1", "-4");
    let proved = |name: &String| (name.clone(), "proved", false);
    assert_eq!(said(&bundle, "staged"), [proved(&kept), proved(&gone), proved(&act)]);
    let is_gone = |name: &String| (name.clone(), "not proved", false);
    assert_eq!(said(&bundle, "content"), [proved(&kept), is_gone(&gone)]);
    let verdicts = |kind| said(&bundle, kind).into_iter().map(|one| one.1).collect::<Vec<_>>();
    assert_eq!(verdicts("result"), ["proved", "not proved"]);
    assert_eq!(verdicts("text"), ["proved", "not proved"]);
    let why = verify(&bundle, None).unwrap().items.into_iter();
    let why: Vec<String> = why
        .filter(|item| item.kind.as_str() == "content" && item.verdict != Verdict::Proved)
        .filter_map(|item| item.why)
        .collect();
    assert!(why[0].starts_with("the content is gone: the entry was erased, "), "{why:?}");
    // The bundle has the content as it was received, and nothing that was erased or is of another
    // session.
    let found = files(&bundle);
    assert_eq!(found["contents/1"], b"{\"eur\": 1.50}");
    let all: Vec<u8> = found.into_values().flatten().collect();
    let all = String::from_utf8_lossy(&all).into_owned();
    assert!(!all.contains("the address of a person") && !all.contains("of another session"));
    assert!(!all.contains(&other));
}

#[test]
fn a_promoted_document_is_the_content_byte_for_byte() {
    let place = staging();
    let uri = recorded(&place, "s", b"Price: 1\n");
    place.args(&["stage", "promote", &uri, "--to", "nodes/price"]).run().ok();
    place.edit("nodes/price.md", "Price: 1", "Price: about 1");
    place.ctx("publish nodes/price").ok();
    let bundle = export(&place, "--document nodes/price");
    assert!(holds(&bundle));
    assert_eq!(
        said(&bundle, "promotion"),
        [
            ("nodes/price v1".to_owned(), "proved", false),
            // The document was edited since, so it is not proved to be the content.
            ("nodes/price v2".to_owned(), "not proved", false),
        ]
    );
    assert_eq!(said(&bundle, "content"), [(uri, "proved", false)]);
}

/// Returns a bundle with one change.
fn with(bundle: &[u8], change: impl FnOnce(&mut BTreeMap<String, Vec<u8>>, &mut Value)) -> Vec<u8> {
    let mut all = files(bundle);
    let mut manifest: Value = serde_json::from_slice(&all["manifest.json"]).unwrap();
    change(&mut all, &mut manifest);
    let staged = manifest["staged"].clone();
    rebuilt(all, |manifest| {
        match staged.as_array().is_some_and(Vec::is_empty) {
            true => manifest.as_object_mut().unwrap().remove("staged"),
            false => manifest.as_object_mut().unwrap().insert("staged".to_owned(), staged),
        };
    })
}

#[test]
fn bundle_verification_reports_alterations() {
    let place = staging();
    let uri = recorded(&place, "s", b"Price: 1\n");
    place.args(&["stage", "show", &uri, "--session", "s"]).run().ok();
    place.args(&["stage", "promote", &uri, "--to", "nodes/price"]).run().ok();
    place.ctx("read nodes/price --session s").ok();
    let bundle = export(&place, "--session s");
    assert!(holds(&bundle));
    let of = |bundle: &[u8]| {
        ["staged", "content", "text", "result", "promotion"].map(|kind| {
            said(bundle, kind).into_iter().map(|one| (one.1, one.2)).collect::<Vec<_>>()
        })
    };
    let (yes, no, lacks) = (("proved", false), ("contradicted", false), ("not proved", true));
    assert_eq!(of(&bundle), [vec![yes; 2], vec![yes], vec![yes; 2], vec![yes], vec![yes]]);

    let content = with(&bundle, |files, _| {
        files.insert("contents/1".to_owned(), b"Price: 2\n".to_vec());
    });
    assert_eq!(of(&content), [vec![yes; 2], vec![no], vec![lacks, yes], vec![lacks], vec![yes]]);
    let missing = with(&bundle, |files, manifest| {
        files.remove("contents/1");
        manifest["staged"][0].as_object_mut().unwrap().remove("content");
    });
    assert_eq!(of(&missing), [vec![yes; 2], vec![lacks], vec![lacks, yes], vec![lacks], vec![yes]]);
    let line = with(&bundle, |files, _| {
        let text = String::from_utf8(files["staged.jsonl"].clone()).unwrap();
        files.insert("staged.jsonl".to_owned(), text.replacen(ANA, EVE, 1).into_bytes());
    });
    assert_eq!(of(&line), [vec![no; 2], vec![], vec![lacks, yes], vec![], vec![lacks]]);
    let act = with(&bundle, |_, manifest| manifest["staged"][1]["content"] = json!(1));
    assert_eq!(of(&act)[0], [yes, no]);
    let writer = with(&bundle, |_, manifest| {
        manifest["staged"][0]["writer"] = json!("0".repeat(32));
    });
    assert_eq!(of(&writer)[0], [no, no]);
    let none = with(&bundle, |files, manifest| {
        files.remove("staged.jsonl");
        files.remove("contents/1");
        manifest["staged"] = json!([]);
    });
    assert_eq!(of(&none), [vec![], vec![], vec![lacks, yes], vec![], vec![lacks]]);
    for altered in [content, missing, line, act, writer, none] {
        assert!(!holds(&altered));
    }
}

/// Returns a bundle with other lines in its one staging chain, and valid hashes.
fn restaged(bundle: &[u8], change: impl FnOnce(&mut Files, &mut Vec<Value>)) -> Vec<u8> {
    with(bundle, |files, _| {
        let read = String::from_utf8(files["staged.jsonl"].clone()).unwrap();
        let mut lines: Vec<Value> =
            read.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        change(files, &mut lines);
        let mut hashes: BTreeMap<u64, Value> = BTreeMap::new();
        let mut written = Vec::new();
        for line in &mut lines {
            line.as_object_mut().unwrap().remove("hash");
            let seq = line["seq"].as_u64().unwrap();
            if let Some(before) = hashes.get(&(seq - 1)) {
                line["prev"] = before.clone();
            }
            if let Some(of) = line["entry"]["seq"].as_u64() {
                line["entry"]["hash"] = hashes[&of].clone();
            }
            let hash = sha256(&serde_jcs::to_vec(line).unwrap());
            line["hash"] = json!(hash);
            hashes.insert(seq, json!(hash));
            written.extend([serde_jcs::to_vec(line).unwrap(), b"\n".to_vec()].concat());
        }
        files.insert("staged.jsonl".to_owned(), written);
    })
}

type Files = BTreeMap<String, Vec<u8>>;

#[test]
fn a_replaced_content_of_a_reviewed_document_is_contradicted() {
    let place = governed();
    let uri = recorded(&place, "s", b"Price: 1\n");
    place.args(&["stage", "promote", &uri, "--to", "nodes/price", "--as", KIM]).run().ok();
    place.ctx(&format!("approve nodes/price --as {BO}")).ok();
    let export = format!("evidence export --document nodes/price --as {KIM}");
    let bundle = place.typed(&export).run().ok().stdout.into_bytes();
    assert!(holds(&bundle), "{:?}", failures(&bundle));
    let promotions = |bundle: &[u8]| said(bundle, "promotion");
    assert!(promotions(&bundle).iter().all(|one| one.1 == "proved"), "{:?}", promotions(&bundle));
    let replaced = restaged(&bundle, |files, lines| {
        let body = b"Price: 7\n";
        files.insert("contents/1".to_owned(), body.to_vec());
        for key in ["raw_hash", "content_hash"] {
            lines[0][key] = json!(sha256(body));
        }
    });
    assert_eq!(said(&replaced, "content")[0].1, "proved");
    assert!(promotions(&replaced).iter().all(|one| one.1 == "contradicted"));
    assert!(!holds(&replaced));
    let elsewhere = restaged(&bundle, |_, lines| lines[1]["document"] = json!("nodes/other"));
    assert!(promotions(&elsewhere).iter().all(|one| one.1 == "contradicted"));
}

#[test]
fn lines_of_a_bundle_that_disagree_are_not_proved() {
    let place = staging();
    recorded(&place, "s", b"one");
    let bundle = export(&place, "--session s");
    assert!(holds(&bundle));
    for (key, value) in [
        ("server", json!("other")),
        ("tools", json!(["other"])),
        ("cache", json!("hit")),
        ("source_version", json!(2)),
    ] {
        let altered = restaged(&bundle, |_, lines| lines[0][key] = value);
        assert_eq!(said(&altered, "result")[0].1, "contradicted", "{key}");
        assert!(!holds(&altered), "{key}");
    }
    for (key, value) in [("session", json!("t")), ("principal", json!(EVE))] {
        let altered = restaged(&bundle, |_, lines| lines[0][key] = value);
        assert_eq!(
            (said(&altered, "staged")[0].1, holds(&altered)),
            ("not proved", false),
            "{key}"
        );
    }
    let later = json!("contextnest://sources/prices@99");
    let later = restaged(&bundle, |_, lines| lines[0]["source"] = later);
    assert_eq!(said(&later, "staged")[0].1, "contradicted");
}

#[test]
fn an_act_without_the_role_excuses_no_missing_content() {
    let place = governed();
    let uri = recorded(&place, "s", b"Price: 1\n");
    place.args(&["stage", "discard", &uri, "--as", BO]).run().ok();
    let bundle = place.typed(&format!("evidence export --session s --as {KIM}")).run().ok();
    let bundle = bundle.stdout.into_bytes();
    assert!(holds(&bundle), "{:?}", failures(&bundle));
    assert_eq!(said(&bundle, "role"), [(uri.clone(), "proved", false)]);
    for who in [EVE, ANA] {
        let by_other = restaged(&bundle, |_, lines| lines[1]["principal"] = json!(who));
        assert_eq!(said(&by_other, "role"), [(uri.clone(), "not proved", true)]);
        assert!(!holds(&by_other));
    }
}

#[test]
fn an_entry_that_the_reader_may_not_see_is_not_exported() {
    let place = governed();
    let uri = recorded(&place, "s", b"Price: 1\n");
    place.args(&["stage", "show", &uri, "--session", "s", "--as", ANA]).run().ok();
    let export = |who: &str| {
        let run = place.args(&["evidence", "export", "--session", "s", "--as", who]);
        run.without("CTX_SESSION").run()
    };
    let own = export(ANA).ok().stdout.into_bytes();
    assert_eq!(said(&own, "content"), [(uri.clone(), "proved", false)]);
    let by_editor = export(KIM).ok().stdout.into_bytes();
    assert!(holds(&by_editor));
    assert_eq!(said(&by_editor, "content"), [(uri.clone(), "proved", false)]);
    let by_viewer = export("viv@example.com").exits(1);
    assert!(
        by_viewer.stderr.contains("this staged entry does not exist, or you may not see it"),
        "{}",
        by_viewer.stderr
    );
    assert!(!by_viewer.stderr.contains("contextnest://staged/"), "{}", by_viewer.stderr);
    let bundle = by_viewer.stdout.into_bytes();
    assert_eq!(said(&bundle, "staged"), []);
    assert_eq!(said(&bundle, "text")[0].1, "not proved");
    assert!(!holds(&bundle));
}

/// Returns the outcomes of the texts of a session, with their reasons.
fn replayed(place: &Place, session: &str, who: &str) -> Vec<String> {
    made_again(place, session, who, false)
}

/// Returns the outcomes of the results that were recorded in a session.
fn results_again(place: &Place, session: &str, who: &str) -> Vec<String> {
    made_again(place, session, who, true)
}

fn made_again(place: &Place, session: &str, who: &str, results: bool) -> Vec<String> {
    let report = place.ctx(&format!("replay --session {session} --as {who} --json"));
    let report = report.json("ctx.replay");
    let row = |row: &Value| {
        let why = row["why"].as_str().map_or(String::new(), |why| format!(": {why}"));
        format!("{}{why}", row["outcome"].as_str().unwrap())
    };
    let rows = report["texts"].as_array().unwrap().iter();
    rows.filter(|row| row["result"].as_bool().unwrap_or(false) == results).map(row).collect()
}

#[test]
fn results_of_sources_are_made_again_from_what_is_kept() {
    let place = governed();
    let kept = recorded(&place, "s", b"one");
    recorded(&place, "s", b"two");
    assert_eq!(results_again(&place, "s", ANA), ["same"; 2]);
    assert_eq!(results_again(&place, "s", KIM), ["same"; 2]);
    let unseen =
        "cannot tell: a staged entry with this result does not exist, or you may not see it";
    assert_eq!(results_again(&place, "s", EVE), [unseen; 2]);
    let trace = place.ctx("trace list --session s --json").ok().json("ctx.trace.list");
    let trace = trace["traces"][0]["trace"].as_str().unwrap().to_owned();
    let said = place.ctx(&format!("replay {trace} --session s --as {ANA}"));
    assert_eq!(said.exit, 2, "{}", said.whole());
    let line = format!("replay {trace} --as {KIM}");
    let said = place.typed(&line).without("CTX_SESSION").run().ok().stdout;
    assert!(said.contains("result of contextnest://sources/prices@2 v1  same\n"), "{said}");
    place.args(&["stage", "discard", &kept, "--as", KIM]).run().ok();
    let now = results_again(&place, "s", ANA);
    assert!(now[0].starts_with("cannot tell: the content is gone: the entry was discarded, "));
    assert_eq!(now[1], "same");
    // A call that failed had no result.
    let line = format!(
        "source record sources/prices --session s --as {ANA} --tools list_prices --server shop \
         --error late"
    );
    place.typed(&line).stdin(b"").run().ok();
    assert_eq!(results_again(&place, "s", ANA).len(), 2);
    let said = place.ctx("trace list --session s --json").ok().json("ctx.trace.list");
    let failed = said["traces"][2]["trace"].as_str().unwrap().to_owned();
    let said = place.typed(&format!("replay {failed}")).without("CTX_SESSION").run().exits(2);
    assert!(said.stderr.contains("without texts"), "{}", said.stderr);
}

#[test]
fn staged_texts_are_made_again_from_what_is_kept() {
    let place = staging();
    let kept = recorded(&place, "s", b"{\"eur\": 1.50}");
    let gone = recorded(&place, "s", b"gone");
    for uri in [&kept, &gone] {
        place.args(&["stage", "show", uri, "--session", "s", "--as", ANA]).run().ok();
    }
    let line = format!("resolve status:staged --bodies --session s --as {ANA}");
    place.ctx(&line).ok();
    assert_eq!(replayed(&place, "s", ANA), ["same"; 4]);
    place.args(&["stage", "discard", &gone]).run().ok();
    let now = replayed(&place, "s", ANA);
    assert_eq!((&now[0][..], &now[2][..]), ("same", "same"));
    assert!(now[1].starts_with("cannot tell: the content is gone: the entry was discarded, "));
    assert_eq!(now[1], now[3]);
    let hash = sha256(b"{\"eur\": 1.50}");
    let object = format!(".context/staging/objects/{}/{}", &hash[7..9], &hash[9..]);
    place.write(&object, "{\"eur\": 1.60}");
    assert_eq!(replayed(&place, "s", ANA)[0], "cannot tell: the content is not what was received");
    place.remove(&object);
    assert_eq!(replayed(&place, "s", ANA)[0], "cannot tell: the content is missing");
}

#[test]
fn a_result_that_was_fresh_is_made_again() {
    let place = staging();
    place.edit("sources/prices.md", "  tools:", "  cache_ttl: 3600\n  tools:");
    place.ctx("publish sources/prices").ok();
    recorded(&place, "s", b"one");
    let fresh = format!("source fresh sources/prices --session s --as {ANA}");
    assert!(place.ctx(&fresh).ok().stdout.contains("\none"));
    assert_eq!(replayed(&place, "s", ANA), ["same"]);
}

#[test]
fn a_staged_text_of_others_is_not_told() {
    let place = governed();
    let uri = recorded(&place, "s", b"Price: 1\n");
    place.args(&["stage", "show", &uri, "--session", "s", "--as", ANA]).run().ok();
    assert_eq!(replayed(&place, "s", ANA), ["same"]);
    assert_eq!(replayed(&place, "s", KIM), ["same"]);
    assert_eq!(
        replayed(&place, "s", EVE),
        ["cannot tell: this staged entry does not exist, or you may not see it"]
    );
    // Its name and hash are not printed either.
    for json in ["", " --json"] {
        let said = place.ctx(&format!("replay --session s --as {EVE}{json}")).exits(1).stdout;
        assert!(!said.contains("contextnest://staged/") && !said.contains("sha256:"), "{said}");
    }
}

#[test]
fn the_output_of_a_command_with_staged_entries_is_not_called_different() {
    let place = staging();
    let uri = recorded(&place, "s", b"one");
    for bodies in ["--bodies", ""] {
        place.ctx(&format!("resolve status:staged {bodies} --session s --as {ANA}")).ok();
    }
    let is_told = || {
        let report = place.ctx(&format!("replay --session s --as {ANA} --output --json"));
        let report = report.json("ctx.replay.output");
        for row in report["outputs"].as_array().unwrap() {
            let why = row["why"].as_str().unwrap();
            assert_eq!(row["outcome"], "cannot tell", "{why}");
            assert!(why.ends_with("staged results do not belong to a checkpoint"), "{why}");
        }
        report["outputs"].as_array().unwrap().len()
    };
    assert_eq!(is_told(), 2);
    place.args(&["stage", "discard", &uri]).run().ok();
    assert_eq!(is_told(), 2);
}
