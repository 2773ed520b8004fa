//! The budget of an answer: it covers the whole answer, and omitted entries are counted (MCP-5).

use serde_json::{Value, json};

use crate::harness::Place;
use crate::mcp_writing::{called, code};

/// Returns a vault in which many documents have one tag.
fn many(documents: usize) -> Place {
    let text =
        |n: usize| format!("---\ntags: ['#big', '#t{n}']\n---\n# Part {n}\n\nWords of part {n}.\n");
    let place = Place::vault();
    for n in 0..documents {
        place.write(&format!("nodes/f{n}/part-{n:03}.md"), text(n));
    }
    place.ctx("publish --all").ok();
    place
}

/// Returns the tokens of the larger form of a result.
fn tokens(result: &Value) -> usize {
    let text = result["content"][0]["text"].as_str().unwrap().len();
    text.max(result["structuredContent"].to_string().len()).div_ceil(4)
}

#[track_caller]
fn kept(place: &Place, tool: &str, arguments: &Value, budget: usize) -> Value {
    let mut arguments = arguments.clone();
    arguments["budget"] = budget.into();
    let result = called(place, "", tool, arguments)["result"].take();
    assert_eq!(result["isError"], false, "{tool} {budget}: {result}");
    assert!(tokens(&result) <= budget, "{tool} has {} tokens of {budget}", tokens(&result));
    result["structuredContent"].clone()
}

fn entries(report: &Value, list: &str) -> u64 {
    report[list].as_array().unwrap().len() as u64
}

#[test]
fn a_resolved_answer_keeps_its_budget_and_counts_what_is_left_out() {
    let place = many(200);
    for bodies in [true, false] {
        let asked = json!({"selector": "#big", "bodies": bodies, "no_instructions": true});
        let mut before = 0;
        for budget in [300, 600, 1_000, 2_000, 10_000, 25_000] {
            let report = kept(&place, "context_resolve", &asked, budget);
            let (given, named) = (entries(&report, "documents"), entries(&report, "left_out"));
            let omitted = report["omitted"].as_u64().unwrap_or(0);
            assert_eq!(given + named + omitted, 200, "{bodies} {budget}: {report}");
            assert!(given >= before && (given > 0 || budget < 600), "{bodies} {budget}: {report}");
            assert_eq!(report["budget"], budget);
            before = given;
        }
        assert!(before > 40, "{bodies}: {before}");
    }
    // A broad selector is cut, not refused.
    let listed =
        called(&place, "", "context_resolve", json!({"selector": "#big", "bodies": false}));
    let report = &listed["result"]["structuredContent"];
    assert_eq!(entries(report, "documents") + report["omitted"].as_u64().unwrap(), 200);
    // The named tokenizer counts the whole answer, too.
    let asked = json!({"selector": "#big", "tokenizer": "o200k_base"});
    kept(&place, "context_resolve", &asked, 2_000);
    // A budget that is too small is refused with the number that is needed.
    let refused = called(&place, "", "context_resolve", json!({"selector": "#big", "budget": 10}));
    assert_eq!(code(&refused["result"]), "answer-too-large");
}

#[test]
fn only_texts_that_leave_are_recorded() {
    let place = many(30);
    let asked = json!({"selector": "#big", "no_instructions": true});
    let given = entries(&kept(&place, "context_resolve", &asked, 2_000), "documents");
    let hits = entries(&kept(&place, "context_search", &json!({"query": "words"}), 600), "hits");
    let opened = entries(&kept(&place, "context_overview", &json!({}), 900), "documents");
    assert!(given > 0 && hits > 0 && opened > 1, "{given} {hits} {opened}");
    let log = crate::mcp::log(&place);
    let recorded: Vec<u64> = log.iter().map(|line| entries(line, "documents")).collect();
    assert_eq!(recorded, [given, hits, opened]);
}

#[test]
fn a_page_that_is_too_large_is_shorter_and_the_next_one_goes_on() {
    let place = many(60);
    for n in 0..20 {
        let text = format!("# Part 0\n\nText {n}.\n\n[a](../f1/part-001.md)\n");
        place.write("nodes/f0/part-000.md", text);
        place.ctx(&format!("publish nodes/f0/part-000 --expect-version {}", n + 1)).ok();
    }
    for (tool, list, arguments, all, budget) in [
        ("context_overview", "documents", json!({"limit": 1_000}), 60, 1_500),
        ("context_overview", "documents", json!({"selector": "#big", "limit": 1_000}), 59, 1_500),
        ("context_search", "hits", json!({"query": "part", "limit": 1_000}), 60, 1_500),
        ("context_history", "versions", json!({"id": "nodes/f0/part-000"}), 21, 600),
        ("context_neighbors", "neighbors", json!({"id": "nodes/f0/part-000"}), 1, 300),
    ] {
        let (mut found, mut pages, mut asked) = (0, 0, arguments);
        loop {
            let page = kept(&place, tool, &asked, budget);
            (found, pages) = (found + entries(&page, list), pages + 1);
            assert!(pages < 100, "{tool}");
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            asked["cursor"] = cursor.into();
        }
        assert!(found == all && (pages > 1 || all == 1), "{tool}: {found} on {pages} pages");
    }
}

#[test]
fn lists_without_pages_are_cut_and_counted() {
    let place = many(120);
    let text: String = (0..200).map(|n| format!("## Section {n}\n\nText.\n\n")).collect();
    place.write("nodes/long.md", format!("# Long\n\n{text}"));
    place.ctx("publish nodes/long").ok();
    let uris: Vec<String> =
        (0..120).map(|n| format!("contextnest://nodes/f{n}/part-{n:03}@1")).collect();
    let id = json!({"id": "nodes/long"});
    let with = |name: &str| json!({"id": "nodes/long", name: true});
    for (tool, list, arguments, all) in [
        ("context_check", "uris", json!({"uris": uris}), 120),
        ("context_read", "sections", with("outline"), 201),
        ("context_blame", "sections", with("sections"), 202),
        ("context_blame", "lines", id, 812),
    ] {
        let report = kept(&place, tool, &arguments, 1_000);
        let given = entries(&report, list);
        assert!(given > 3, "{tool}: {given}");
        assert_eq!(given + report["omitted"].as_u64().unwrap(), all, "{tool}");
    }
}

#[test]
fn a_map_names_less_and_keeps_the_instructions_as_long_as_they_fit() {
    let place = many(120);
    let whole = kept(&place, "context_init", &json!({"all": true}), 25_000);
    assert!(whole["instructions"].is_string() && entries_of(&whole, "tags") == 121);
    let less = kept(&place, "context_init", &json!({"all": true}), 500);
    let tags = entries_of(&less, "tags");
    assert!(less["instructions"].is_string() && (1..100).contains(&tags), "{less}");
    assert_eq!(tags as u64 + less["omitted"]["tags"].as_u64().unwrap(), 121);
    place.write("CONTEXT.md", "Cite documents. ".repeat(10_000));
    place.ctx("publish CONTEXT.md").ok();
    let without = kept(&place, "context_init", &json!({}), 25_000);
    assert!(without["instructions"].is_null() && entries_of(&without, "tags") == 100);
    let note = without["notes"][0].as_str().unwrap();
    assert!(note.contains("do not fit") && note.contains("`context_read`"), "{note}");
}

fn entries_of(report: &Value, counts: &str) -> usize {
    report[counts].as_object().unwrap().len()
}

#[test]
fn a_hit_has_the_first_digits_of_a_hash_and_the_whole_one_on_request() {
    let place = many(2);
    let hash = |arguments: Value| {
        let report = kept(&place, "context_search", &arguments, 5_000);
        report["hits"][0]["chain_hash"].as_str().unwrap().to_owned()
    };
    let (short, whole) =
        (hash(json!({"query": "part"})), hash(json!({"query": "part", "full_hashes": true})));
    assert_eq!((short.len(), whole.len()), ("sha256:".len() + 12, "sha256:".len() + 64));
    assert!(whole.starts_with(&short), "{whole} {short}");
}
