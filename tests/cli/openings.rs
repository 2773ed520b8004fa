//! `ctx list --snippets`: the beginning of each text, as it is served, and recorded like a text of
//! a search.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::Place;
use crate::mcp::{STATELESS, answers_of, keep_from_bo, log, opener, request};

fn place() -> Place {
    let place = Place::published(&[
        (
            "nodes/fees",
            "---\ntitle: Fees\ntags: [billing]\n---\n# Fees\n\nWhat we\n  charge.\n\n## Late\n\nFive.\n",
        ),
        ("nodes/empty", "# Empty\n"),
        (
            "nodes/long",
            "Lore\n====\n\nA first paragraph about the returns of goods that customers bought online, which goes on for long enough that a reader would not want all of it in a list of documents.\n",
        ),
        ("nodes/plain", "---\ntitle: Plain\n---\nNo heading: \u{1b}[2J\u{202e}.\n"),
        ("nodes/sub", "---\ntitle: Sub\n---\n## A part\n\nOf it.\n"),
    ]);
    place
        .write("nodes/fees.md", place.read("nodes/fees.md").replace("What we", "Drafted words we"));
    place.write("nodes/new.md", "# New\n\nDrafted words.\n");
    place
}

/// Returns the snippets of a report, by ids.
fn snippets(report: &Value) -> Vec<(String, String)> {
    let of = |one: &Value| {
        let dots = if one["snippet"]["cut_after"] == true { "…" } else { "" };
        let text = one["snippet"]["text"].as_str().unwrap();
        (one["id"].as_str().unwrap().to_owned(), format!("{text}{dots}"))
    };
    report["documents"].as_array().unwrap().iter().map(of).collect()
}

/// Returns the answer of `context_overview` to a principal.
fn overview(place: &Place, who: &str, arguments: &Value) -> Value {
    let mut messages = opener(STATELESS);
    let params = json!({"name": "context_overview", "arguments": arguments});
    messages.push(request(STATELESS, 1, "tools/call", params));
    let mut answers = answers_of(place, &format!("mcp{who}"), &messages);
    answers.remove(&1).unwrap()["result"].take()
}

#[test]
fn a_list_shows_how_each_published_text_begins() {
    let place = place();
    assert_snapshot!(place.typed("list --snippets -n 4").var("NO_COLOR", "1").on_terminal().whole(), @r"
    exit: 0
    -- stdout
    nodes/empty  v1  document  Empty
    nodes/fees   v1  document  Fees
        What we charge. ## Late Five.
    nodes/long   v1  document  Lore
        A first paragraph about the returns of goods that customers bought online, which goes on for long enough that a reader would not want all of it in a list of…
    nodes/plain  v1  document  Plain
        No heading: \u{1b}[2J\u{202e}.
    -- stderr
    note: 1 more; `-n N` prints more of them
    ");
    let report = place.ctx("list --snippets --json").ok().json("ctx.list");
    let found = snippets(&report);
    assert_eq!(found[1], ("nodes/fees".to_owned(), "What we charge. ## Late Five.".to_owned()));
    assert_eq!(found[3].1, "No heading: \u{1b}[2J\u{202e}.");
    assert_eq!(found[4].1, "## A part Of it.");
    let first = json!({"text": "", "matches": [], "cut_before": false, "cut_after": false});
    assert_eq!(report["documents"][0]["snippet"], first);
    let without = place.ctx("list --json").ok().json("ctx.list");
    assert!(without["documents"][0].get("snippet").is_none());
    let colored = place.typed("list --snippets -n 2").var("CLICOLOR_FORCE", "1").run().ok().stdout;
    assert!(colored.contains("\u{1b}[2m    What we charge."), "{colored}");
}

#[test]
fn a_list_with_snippets_is_recorded_as_an_access_to_each_text() {
    let place = place();
    place.ctx("list").ok();
    place.ctx("list nodes/ --snippets -n 2 --json").ok();
    let lines = log(&place);
    let [listing, access] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&listing["event"], &listing["count"]), (&json!("listing"), &json!(5)));
    assert_eq!((&access["event"], &access["class"]), (&json!("access"), &json!("set")));
    assert_eq!(access["query"], "contextnest://nodes/");
    let texts = access["documents"].as_array().unwrap();
    let names: Vec<&Value> = texts.iter().map(|text| &text["uri"]).collect();
    assert_eq!(names, ["contextnest://nodes/empty@1", "contextnest://nodes/fees@1"]);
    let length = "What we charge. ## Late Five.".len();
    assert_eq!((&texts[1]["part"], &texts[1]["bytes"]), (&json!("snippet"), &json!(length)));
    place.ctx("trace verify").ok();
    let listed = place.ctx("trace list --verb list --json").ok().json("ctx.trace.list");
    let mut traces = listed["traces"].as_array().unwrap().iter();
    let trace = traces.find(|line| line["event"] == "access").unwrap()["trace"].as_str().unwrap();
    let replayed = place.ctx(&format!("replay {trace}"));
    assert!(replayed.stdout.contains("a snippet is not reproduced"), "{}", replayed.whole());
}

#[test]
fn a_snippet_has_no_comments() {
    let place = Place::vault();
    place.edit(".context/config.yaml", "layout: structured", "layout: obsidian");
    place.write("a.md", "# A\n\n%% hidden words %%\nShown words.\n");
    place.ctx("publish --all").ok();
    let report = place.ctx("list --snippets --json").ok().json("ctx.list");
    let found = snippets(&report);
    let found = found.iter().find(|(id, _)| id == "a").unwrap();
    assert_eq!(found.1, "Shown words.");
}

#[test]
fn a_text_that_is_withheld_is_named_and_the_others_are_listed() {
    let place = place();
    let file = "nodes/.versions/fees/history.yaml";
    place.write(file, place.read(file).replace("chain_hash: sha256:", "chain_hash: sha256:0"));
    let report = place.ctx("list --snippets --json").exits(1).json("ctx.list");
    assert_eq!(report["withheld"][0]["id"], "nodes/fees");
    assert_eq!(snippets(&report).len(), 4);
    let answer = overview(&place, "", &json!({}));
    assert_eq!(answer["structuredContent"], report);
    assert!(!answer.to_string().contains("What we charge"), "{answer}");
}

#[test]
fn a_withheld_document_is_an_entry_of_its_page_with_an_index_and_without() {
    let place = place();
    let pages = || -> Vec<Value> {
        let (mut pages, mut cursor) = (Vec::new(), json!(null));
        loop {
            let page = overview(&place, "", &json!({"limit": 2, "cursor": cursor}));
            let mut report = page["structuredContent"].clone();
            cursor = report["next_cursor"].take();
            pages.push(report);
            if cursor.is_null() {
                return pages;
            }
        }
    };
    let ids = |page: &Value| {
        let of = |list: &Value| {
            let list = list.as_array().cloned().unwrap_or_default();
            list.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        (of(&page["documents"]), of(&page["withheld"]), page["omitted"].as_u64())
    };
    let before = pages();
    let file = "nodes/.versions/fees/history.yaml";
    place.write(file, place.read(file).replace("chain_hash: sha256:", "chain_hash: sha256:0"));
    let with = pages();
    let listed: Vec<_> = with.iter().map(ids).collect();
    assert_eq!(listed[0].1, ["nodes/fees"]);
    assert_eq!(listed.iter().map(|page| page.2).collect::<Vec<_>>(), [Some(3), Some(1), None]);
    for (page, before) in listed.iter().zip(&before) {
        let mut all = [page.0.clone(), page.1.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, ids(before).0);
    }
    std::fs::remove_dir_all(place.home().join(".cache")).unwrap();
    let cache = place.home().join(".cache");
    std::fs::write(cache, "no folder").unwrap();
    assert_eq!(pages(), with);
    // The command reads the same number.
    place.ctx("list -n 1").ok();
    place.ctx("list -n 2").exits(1);
}

#[test]
fn an_overview_has_no_text_that_its_reader_may_not_read() {
    let place = Place::vault();
    place.write("nodes/open.md", "# Open\n\nFor all readers.\n");
    place.write("nodes/hr/pay.md", "# Pay\n\nApples and pears.\n");
    keep_from_bo(&place);
    let of_bo = overview(&place, " --as bo@x.com", &json!({}));
    assert!(of_bo.to_string().contains("For all readers."), "{of_bo}");
    assert!(!of_bo.to_string().contains("Apples"), "{of_bo}");
    let of_kim = overview(&place, " --as kim@x.com", &json!({}));
    assert!(of_kim.to_string().contains("Apples and pears."), "{of_kim}");
    let past = overview(&place, " --as bo@x.com", &json!({"at": 1}));
    assert!(!past.to_string().contains("Apples"), "{past}");
}

#[test]
fn a_page_of_long_texts_is_within_the_budget() {
    let place = Place::vault();
    for n in 0..60 {
        let text = format!(
            "---\ntags: [ledger, returns, policy]\n---\n# 返品規則 {n}\n\n{}\n",
            "返品規則は三十日".repeat(80)
        );
        place.write(&format!("nodes/policies/returns/rules-of-returns-{n:02}.md"), text);
    }
    place.ctx("publish --all").ok();
    let page = overview(&place, "", &json!({}));
    let report = &page["structuredContent"];
    assert_eq!(
        (&report["omitted"], report["documents"].as_array().map(Vec::len)),
        (&json!(10), Some(50))
    );
    let length = page["content"][0]["text"].as_str().unwrap().len();
    assert!(length.div_ceil(4) < 20_000, "{length}");
}
