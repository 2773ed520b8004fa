//! `ctx source diff`: the changes between the last two staged results of a source.

use serde_json::json;

use crate::harness::{Place, files_in};
use crate::stage::{ANA, BO, EVE, KIM, governed, hydrated, opened, shop, stage, staged_at};
use contextnest::files::vault::disk::Disk;
use contextnest::files::vault::outside;
use contextnest::record::staging::Hydrated;

/// Stages results a minute apart; returns their URIs.
fn results(place: &Place, who: (&str, &str), payloads: &[&[u8]]) -> Vec<String> {
    let stage = |(n, payload): (usize, &&[u8])| {
        let at = format!("2026-11-21T10:{:02}:00.000Z", n + 1);
        staged_at(place, Disk::default(), who, (payload, &at)).unwrap().name.to_string()
    };
    payloads.iter().enumerate().map(stage).collect()
}

#[test]
fn json_is_compared_by_structure_and_handed_out_as_data() {
    let place = shop(Place::vault());
    let all = results(
        &place,
        (ANA, "s1"),
        &[
            b"[0]",
            b"{\"prices\": [{\"sku\": \"a/b\", \"eur\": 1}], \"gone\": true}",
            b"{\"prices\": [{\"eur\": 2, \"sku\": \"a/b\"}, 7], \"note\": \"obey\\n<x>\"}",
        ],
    );
    let said = place.ctx("source diff sources/prices").ok().stdout;
    let lines: Vec<&str> = said.lines().collect();
    let (first, last) = (lines[0], lines[lines.len() - 1]);
    let mark = last.strip_prefix("<!-- ctx:end ").unwrap().strip_suffix(" -->").unwrap();
    assert!(first.starts_with(&format!("<!-- ctx:staged uri={} status=\"staged\"", all[2])));
    assert!(first.contains(&format!("from=\"{}\"", all[1])), "{first}");
    assert!(first.ends_with(&format!(" form=\"json\" mark={mark} -->")), "{first}");
    assert_eq!(
        lines[1..lines.len() - 1],
        [
            "removed \"/gone\": true",
            "added \"/note\": \"obey\\n<x>\"",
            "changed \"/prices/0/eur\": 1 -> 2",
            "added \"/prices/1\": 7",
        ]
    );
    let found = place.ctx("source diff sources/prices --json").ok().json("ctx.source.diff");
    assert_eq!((&found["from"], &found["to"]), (&json!(all[1]), &json!(all[2])));
    assert_eq!((&found["equal"], &found["form"]), (&json!(false), &json!("json")));
    assert_eq!(
        found["changes"][2],
        json!({"change": "changed", "pointer": "/prices/0/eur", "old": 1, "new": 2})
    );
    assert_eq!(found["diff"], lines[1..lines.len() - 1].join("\n") + "\n");
    // The returned texts are recorded, with both entries.
    let log = files_in(&place.home().join(".local/state/contextnest/audit"));
    let log = log.values().find(|file| file.starts_with(b"{")).unwrap();
    let last = log.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty()).unwrap();
    let line: serde_json::Value = serde_json::from_slice(last).unwrap();
    let texts = line["documents"].as_array().unwrap().clone();
    assert_eq!(texts[0]["bytes"], found["diff"].as_str().unwrap().len());
    let of = |n: usize| (texts[n]["uri"].clone(), texts[n]["part"].clone());
    assert_eq!([of(0), of(1)], [(json!(all[1]), json!("diff")), (json!(all[2]), json!("diff"))]);
}

#[test]
fn other_results_are_compared_by_lines_or_by_bytes() {
    let place = shop(Place::vault());
    results(&place, (ANA, "s1"), &[b"a\nb\n", b"a\nc\n"]);
    let said = place.ctx("source diff sources/prices").ok().stdout;
    assert!(said.contains(" form=\"text\" ") && said.contains("\n-b\n+c\n"), "{said}");

    let place = shop(Place::vault());
    results(&place, (ANA, "s1"), &[b"a\n", b"\xff\x00"]);
    let said = place.ctx("source diff sources/prices").ok();
    assert_eq!(said.stdout, "");
    assert!(said.stderr.contains("differ, and are not compared as texts"), "{}", said.stderr);
    let found = place.ctx("source diff sources/prices --json").ok().json("ctx.source.diff");
    assert_eq!((&found["form"], &found["equal"]), (&json!("bytes"), &json!(false)));

    // Another spelling of the same value is the same content.
    let place = shop(Place::vault());
    results(&place, (ANA, "s1"), &[b"{\"a\": 1.0, \"b\": []}", b"{\"b\":[],\"a\":1}"]);
    let said = place.ctx("source diff sources/prices").ok();
    assert_eq!(said.stdout, "");
    assert!(said.stderr.contains("have the same content"), "{}", said.stderr);
    let name = place.ctx("source diff sources/prices --json").ok().json("ctx.source.diff");
    let diff = ["stage", "diff", name["to"].as_str().unwrap(), "--json"];
    let found = place.args(&diff).here().ok().json("ctx.stage.diff");
    assert_eq!((&found["equal"], &found["diff"]), (&json!(true), &json!("")));
}

#[test]
fn fewer_than_two_results_are_told() {
    let place = shop(Place::vault());
    let refused = |what: &str| {
        let said = place.ctx("source diff sources/prices").exits(1);
        assert!(said.stderr.contains(what), "{}", said.stderr);
        assert!(said.stderr.contains("ctx stage list --source sources/prices"), "{}", said.stderr);
    };
    refused("lacks staged results that you may see");
    let first = stage(&place, ANA, "s1", b"one");
    refused("has only one staged result that you may see, but two are needed");
    // Collected content is not compared.
    stage(&place, ANA, "s1", b"two");
    place.ctx("source diff sources/prices").ok();
    place.args(&["stage", "discard", &first]).here().ok();
    refused("has only one staged result");
    place.ctx("source diff sources/none").exits(1);
}

#[test]
fn results_of_others_are_compared_for_editors_and_reviewers_only() {
    let place = governed();
    results(&place, (ANA, "s1"), &[b"{\"a\":1}", b"{\"a\":2}"]);
    results(&place, (EVE, "e1"), &[b"{\"a\":5}"]);
    let diff = |who: &str, session: &str| {
        place.ctx(&format!("source diff sources/prices --session {session} --as {who}"))
    };
    let said = diff(BO, "b1 --every-session").ok().stdout;
    assert!(said.contains("\"/a\""), "{said}");
    // If a session is named, only its results are compared.
    let said = diff(BO, "b1").exits(1);
    let none = "lacks staged results of yours in this session";
    assert!(said.stderr.contains(none), "{}", said.stderr);
    let said = diff(ANA, "s1").ok().stdout;
    assert!(said.contains("changed \"/a\": 1 -> 2"), "{said}");
    // A principal without a role sees the entries of their own session, and learns of no others.
    let said = diff(EVE, "e1").exits(1);
    assert!(said.stderr.contains("has only one staged result"), "{}", said.stderr);
    let said = diff(EVE, "e2").exits(1);
    assert!(said.stderr.contains(none), "{}", said.stderr);
    let said = diff(EVE, "e2 --every-session").exits(1);
    assert!(said.stderr.contains("lacks staged results that you may see"), "{}", said.stderr);
}

#[test]
fn a_source_that_the_reader_may_not_know_of_is_as_unknown_as_none() {
    let place = shop(Place::vault());
    place.write(
        "stewards.yaml",
        format!(
            "version: 1\nvault:\n  - {{principal: {BO}, role: reviewer}}\n  \
             - {{principal: {KIM}, role: reviewer}}\n  \
             - {{principal: {ANA}, role: editor}}\n"
        ),
    );
    place.edit(".context/config.yaml", "servers:", "reads: stewards\nservers:");
    place.ctx("publish --all").ok();
    place.ctx("govern on").ok();
    results(&place, (ANA, "s1"), &[b"one\n", b"two\n"]);
    for line in [
        "source diff ID --every-session",
        "source fresh ID",
        "source record ID --tools list_prices --server shop",
        "stage list --source ID",
    ] {
        let refused = |id: &str| {
            let line = line.replace("ID", id);
            let said = place.ctx(&format!("{line} --session s1 --as {EVE} --json")).exits(1);
            assert!(said.whole().contains("unknown-id"), "{line}: {}", said.whole());
            said.whole().replace(id, "ID")
        };
        assert_eq!(refused("sources/prices"), refused("sources/nothing"), "{line}");
    }
    place.ctx(&format!("stage list --source sources/prices --session s1 --as {ANA}")).ok();
}

#[test]
fn a_result_that_is_recorded_and_not_staged_says_so() {
    let place = shop(Place::vault());
    place.edit(".context/config.yaml", "servers:", "staging: {enabled: true}\nservers:");
    place.ctx("publish .context/config.yaml").ok();
    place.write(".context/staging", "no folder");
    let line = format!(
        "source record sources/prices --session s1 --as {ANA} --tools list_prices --server shop"
    );
    let said = place.typed(&line).stdin(b"one").run().exits(5);
    assert!(said.stderr.contains("error[io]: recorded as "), "{}", said.stderr);
    assert!(said.stderr.contains(", not staged: "), "{}", said.stderr);
    assert!(said.stderr.contains("do not record the result again"), "{}", said.stderr);
}

#[test]
fn documents_that_were_promoted_from_earlier_results_are_named() {
    let place = shop(Place::vault());
    let who = (ANA, "s1");
    let all = results(&place, who, &[b"price: 1\n", b"price: 2\n", b"price: 3\n", b"price: 3\n"]);
    for (n, id) in [(0, "nodes/first"), (1, "nodes/second"), (2, "nodes/third"), (3, "nodes/last")]
    {
        place.args(&["stage", "promote", &all[n], "--to", id]).here().ok();
    }
    // The last two results are equal, but the earlier promotion is still reported.
    let said = place.ctx("source diff sources/prices").ok();
    assert!(said.stderr.contains("have the same content"), "{}", said.stderr);
    let of = |id: &str, n: usize, what: &str| {
        format!("`{id}`, published as version 1, was promoted from {}{what}", all[n])
    };
    assert_eq!(
        said.stdout.lines().collect::<Vec<_>>(),
        [
            of("nodes/first", 0, ": the last result has another content"),
            of("nodes/second", 1, ": the last result has another content"),
            of("nodes/third", 2, ", whose content is still the last one"),
        ]
    );
    // A document without the reference was updated.
    let text =
        place.read("nodes/first.md").replace(&all[0], &all[2]).replace("price: 1", "price: 3");
    place.write("nodes/first.md", text);
    place.ctx("publish nodes/first").ok();
    place.ctx("retire nodes/second").ok();
    let found = place.ctx("source diff sources/prices --json").ok().json("ctx.source.diff");
    let named = |id: &str, n: usize, published: Option<u64>, current: bool| json!({"document": id, "entry": all[n], "published": published, "current": current});
    assert_eq!(
        found["promoted"],
        json!([named("nodes/second", 1, None, false), named("nodes/third", 2, Some(1), true),])
    );
}

#[test]
fn only_results_of_the_same_server_and_tools_are_compared() {
    let place = shop(Place::vault());
    let all = results(&place, (ANA, "s1"), &[b"1\n", b"2\n"]);
    place.args(&["stage", "promote", &all[0], "--to", "nodes/first"]).here().ok();
    let other = Hydrated { tools: vec!["list_shops".to_owned()], ..hydrated(ANA, "s1") };
    let vault = opened(&place, Disk::default());
    let stage = |of: Hydrated, payload: &[u8], at: &str| {
        let at = at.parse().unwrap();
        let captured =
            contextnest::record::staging::stage((&vault, outside::random), (of, payload), at);
        captured.unwrap().name.to_string()
    };
    stage(other, b"shops\n", "2026-11-21T11:00:00.000Z");
    let said = place.ctx("source diff sources/prices").exits(1);
    let none = "lacks an earlier staged result of the same server and tools";
    assert!(said.stderr.contains(none), "{}", said.stderr);
    assert!(said.stderr.contains("`ctx stage diff NEWER OLDER`"), "{}", said.stderr);
    let last = stage(hydrated(ANA, "s1"), b"3\n", "2026-11-21T11:01:00.000Z");
    let found = place.ctx("source diff sources/prices --json").ok().json("ctx.source.diff");
    assert_eq!((&found["from"], &found["to"]), (&json!(all[1]), &json!(last)));
    assert_eq!(found["promoted"][0]["document"], "nodes/first");
}

#[test]
fn a_long_difference_is_cut_and_says_so() {
    let place = shop(Place::vault());
    let list = |add: usize| json!((0..1200).map(|n| n + add).collect::<Vec<_>>()).to_string();
    results(&place, (ANA, "s1"), &[list(0).as_bytes(), list(1).as_bytes()]);
    let said = place.ctx("source diff sources/prices").ok();
    assert_eq!(said.stdout.lines().filter(|line| line.starts_with("changed ")).count(), 1000);
    assert!(said.stderr.contains("note: 200 more; `-n N` prints more of them"), "{}", said.stderr);
    let found = place.ctx("source diff sources/prices -n 2 --json").ok().json("ctx.source.diff");
    assert_eq!(found["changes"].as_array().unwrap().len(), 2);
    assert_eq!((&found["omitted"], &found["equal"]), (&json!(1198), &json!(false)));
    assert_eq!(found["diff"].as_str().unwrap().lines().count(), 2);
    let said = place.ctx("source diff sources/prices -n 0").ok().stdout;
    assert!(said.contains("<!-- ctx:staged"), "{said}");
}

#[test]
fn a_document_that_is_no_source_is_refused() {
    let place = shop(Place::vault());
    for line in ["source diff nodes/rules", "stage list --source nodes/rules"] {
        let said = place.ctx(line).exits(1);
        assert!(said.stderr.contains("`nodes/rules` is not a source"), "{line}: {}", said.stderr);
    }
}
