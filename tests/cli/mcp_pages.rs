//! Pages of answers: together they are the whole answer, and a cursor of no page or of a changed
//! list is refused (MCP-34).

use serde_json::{Value, json};

use crate::harness::Place;
use crate::mcp::{STATELESS, opener, place, request};
use crate::mcp_writing::code;
use crate::properties::{Draw, history_in};

/// Returns the result of a call.
fn called(place: &Place, options: &str, tool: &str, arguments: Value) -> Value {
    crate::mcp_writing::called(place, options, tool, arguments)["result"].take()
}

/// Returns the report of a call, which must succeed.
#[track_caller]
fn report(place: &Place, options: &str, tool: &str, arguments: &Value) -> Value {
    let result = called(place, options, tool, arguments.clone());
    assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
    result["structuredContent"].clone()
}

/// Returns all entries of all pages with `limit` entries each. `omitted`, if present, must be the
/// number of the remaining ones.
#[track_caller]
fn paged(
    (place, options): (&Place, &str),
    (tool, member): (&str, &str),
    arguments: &Value,
    limit: usize,
) -> Vec<Value> {
    let (mut all, mut arguments) = (Vec::new(), arguments.clone());
    let (mut left, mut checkpoint) = (None, None);
    arguments["limit"] = limit.into();
    loop {
        let mut page = report(place, options, tool, &arguments);
        assert!(*checkpoint.get_or_insert(page["checkpoint"].clone()) == page["checkpoint"]);
        let entries = page[member].as_array().unwrap().clone();
        assert!(entries.len() <= limit, "{tool} {arguments}: {page}");
        let omitted = page["omitted"].as_u64();
        if let Some(left) = left {
            assert_eq!(left - entries.len() as u64, omitted.unwrap_or(0), "{tool} {arguments}");
        }
        left = omitted;
        match tool {
            "context_history" => drop(all.splice(0..0, entries)),
            _ => all.extend(entries),
        }
        let cursor = page["next_cursor"].take();
        if cursor.is_null() {
            assert_eq!(left, None, "{tool} {arguments}");
            return all;
        }
        arguments["cursor"] = cursor;
        arguments.as_object_mut().unwrap().remove("at");
        assert!(all.len() < 1000, "{tool} {arguments} never ends");
    }
}

#[test]
fn all_pages_together_are_the_whole_answer_on_random_vaults() {
    for seed in 20..22 {
        let (place, _) = history_in(Place::vault(), seed);
        let mut draw = Draw::new(seed);
        let listed = place.ctx("list --json").ok().json("ctx.list");
        let id = |n: usize| {
            let all = listed["documents"].as_array().unwrap();
            all[n % all.len()]["id"].as_str().unwrap().to_owned()
        };
        let asked = [
            ("context_overview", "documents", json!({})),
            ("context_overview", "documents", json!({"selector": "#red", "at": 2})),
            ("context_search", "hits", json!({"query": "number"})),
            ("context_search", "hits", json!({"query": "words more part", "explain": true})),
            ("context_neighbors", "neighbors", json!({"id": id(draw.below(8)), "hops": 3})),
            ("context_neighbors", "neighbors", json!({"id": id(draw.below(8)), "direction": "in"})),
            ("context_history", "versions", json!({"id": id(draw.below(8))})),
            ("context_history", "versions", json!({"id": id(draw.below(8))})),
        ];
        let mut most = 0;
        for (tool, member, arguments) in asked {
            let mut whole = arguments.clone();
            whole["limit"] = 1000.into();
            let whole = report(&place, "", tool, &whole)[member].as_array().unwrap().clone();
            most = most.max(whole.len());
            for limit in [1, 2, 3, whole.len().max(1)] {
                let pages = paged((&place, ""), (tool, member), &arguments, limit);
                assert_eq!(pages, whole, "seed {seed}: {tool} {arguments}, {limit} a page");
            }
        }
        assert!(most > 3, "seed {seed}");
    }
}

#[test]
fn later_pages_are_those_of_the_first_one_though_the_vault_goes_on() {
    let place = place();
    place.write("nodes/z.md", "# Z\n\nSee [returns](returns.md).\n");
    place.ctx("publish nodes/z").ok();
    let first = |tool: &str, arguments: Value| {
        let page = report(&place, "", tool, &arguments);
        let mut next = arguments;
        next["cursor"] = page["next_cursor"].clone();
        assert!(next["cursor"].is_string(), "{page}");
        (page, next)
    };
    let (_, around) =
        first("context_neighbors", json!({"id": "nodes/returns", "direction": "both", "limit": 1}));
    let (versions, older) = first("context_history", json!({"id": "nodes/returns", "limit": 1}));
    let (_, hits) = first("context_search", json!({"query": "returns", "limit": 1}));
    assert_eq!(versions["versions"][0]["version"], 2);
    place.write("nodes/a.md", "# A\n\nSee [returns](returns.md).\n");
    place.edit("nodes/returns.md", "60 days", "90 days");
    place.ctx("publish nodes/a nodes/returns").ok();

    let page = report(&place, "", "context_neighbors", &around);
    assert_eq!((&page["checkpoint"], &page["neighbors"][0]["id"]), (&json!(3), &json!("nodes/z")));
    assert_eq!((&page["truncated"], page.get("next_cursor")), (&json!(false), None));
    let page = report(&place, "", "context_history", &older);
    assert_eq!(page["versions"].as_array().unwrap().len(), 1);
    assert_eq!((&page["versions"][0]["version"], page.get("omitted")), (&json!(1), None));
    // A search cannot be asked of an earlier checkpoint.
    let refused = called(&place, "", "context_search", hits);
    assert_eq!(code(&refused), "search-past");
    let text = refused["content"][0]["text"].as_str().unwrap();
    insta::assert_snapshot!(text, @r"
    error[search-past]: a search answers for the last checkpoint, 4, but the previous page is from checkpoint 3
    hint: search again from the first page
    ");
}

/// A program that returns unpublished documents before published ones, up to the limit of
/// the request.
const FINDS: &str = r#"#!/bin/sh
read -r line
limit=$(printf %s "$line" | sed 's/.*"limit":\([0-9]*\).*/\1/')
printf '{"hits":['
n=0
for id in nodes/none nodes/secret nodes/gone nodes/lost nodes/fees nodes/also nodes/returns; do
  [ "$n" -lt "$limit" ] || break
  [ "$n" = 0 ] || printf ,
  n=$((n + 1))
  printf '{"id":"%s","score":%s}' "$id" "$((100 - n))"
done
printf ']}'
"#;

#[test]
fn a_page_of_hits_that_may_not_be_shown_is_not_its_own_next_one() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = place();
    let program = place.home().join("finds.sh");
    std::fs::write(&program, FINDS).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    for limit in [1, 2, 5, 10] {
        let (mut found, mut arguments) = (Vec::new(), json!({"query": "x", "limit": limit}));
        for pages in 0.. {
            assert!(pages < 5, "{limit} a page: {found:?}");
            let mut messages = opener(STATELESS);
            let params = json!({"name": "context_search", "arguments": arguments});
            messages.push(request(STATELESS, 1, "tools/call", params));
            let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
            let run = place.typed("mcp").stdin(lines);
            let said = run.var("CTX_SEARCH_COMMAND", program.to_str().unwrap()).run().ok().stdout;
            let last: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
            let page = &last["result"]["structuredContent"];
            let hits = page["hits"].as_array().unwrap_or_else(|| panic!("{last}"));
            assert!(hits.len() <= limit, "{page}");
            found.extend(hits.iter().map(|hit| hit["id"].as_str().unwrap().to_owned()));
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            arguments["cursor"] = cursor.into();
        }
        assert_eq!(found, ["nodes/fees", "nodes/returns"], "{limit} a page");
    }
}

#[test]
fn pages_refuse_cursors_that_no_page_returned() {
    let place = place();
    let long = "9".repeat(100_000);
    let wrong = [
        ":",
        "2",
        "2:",
        ":1",
        "2:-1",
        "+2:1",
        "2:1 ",
        "02:1",
        "9:0",
        "2:18446744073709551616",
        "18446744073709551616:0",
        "x",
        "\u{0}\u{1b}",
        "before:",
        "before:99",
        "before:01",
        "2:1:1",
        long.as_str(),
    ];
    for (tool, arguments) in [
        ("context_overview", json!({})),
        ("context_search", json!({"query": "fee"})),
        ("context_neighbors", json!({"id": "nodes/fees"})),
        ("context_history", json!({"id": "nodes/fees"})),
    ] {
        for cursor in wrong {
            let mut arguments = arguments.clone();
            arguments["cursor"] = cursor.into();
            let result = called(&place, "", tool, arguments);
            assert_eq!(code(&result), "usage", "{tool} {cursor}");
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("next_cursor") && text.len() < 300, "{tool} {cursor}: {text}");
        }
    }
}

/// Returns lists of several pages, each with arguments of another list.
fn lists() -> [(&'static str, Value, Value); 6] {
    let returns = json!({"id": "nodes/returns"});
    [
        ("context_overview", json!({}), json!({"selector": "#policy"})),
        ("context_overview", json!({"selector": "#policy"}), json!({"selector": "#fee"})),
        (
            "context_search",
            json!({"query": "returns"}),
            json!({"query": "returns", "prefix": true}),
        ),
        ("context_neighbors", returns.clone(), json!({"id": "nodes/returns", "hops": 2})),
        (
            "context_neighbors",
            json!({"id": "nodes/returns", "hops": 2}),
            json!({"id": "nodes/fees"}),
        ),
        ("context_history", returns, json!({"id": "nodes/fees"})),
    ]
}

/// Returns a vault in which each of these lists has several pages.
fn with_pages() -> Place {
    let place = place();
    place.write("nodes/z.md", "# Z\n\nSee [returns](returns.md).\n");
    place.ctx("publish nodes/z").ok();
    place
}

#[test]
fn a_cursor_of_another_list_is_none() {
    let place = with_pages();
    let with = |arguments: &Value, cursor: &str, limit: usize| {
        let mut arguments = arguments.clone();
        (arguments["cursor"], arguments["limit"]) = (cursor.into(), limit.into());
        arguments
    };
    let mut cursors = Vec::new();
    for (tool, arguments, _) in lists() {
        let mut first = arguments.clone();
        first["limit"] = 1.into();
        let page = report(&place, "", tool, &first);
        cursors.push(page["next_cursor"].as_str().unwrap_or_else(|| panic!("{page}")).to_owned());
    }
    let all = lists();
    for (n, (tool, arguments, other)) in all.iter().enumerate() {
        for (m, cursor) in cursors.iter().enumerate() {
            let result = called(&place, "", tool, with(arguments, cursor, 1));
            assert_eq!(result["isError"], n != m, "{tool} {arguments} {cursor}: {result}");
            if n != m {
                assert_eq!(code(&result), "usage", "{tool} {arguments} {cursor}");
            }
        }
        let result = called(&place, "", tool, with(other, &cursors[n], 1));
        assert_eq!(code(&result), "usage", "{tool} {other}");
        // The size of a page and the parts shown of a hit do not make another list.
        let mut same = with(arguments, &cursors[n], 7);
        same["budget"] = 100_000.into();
        match *tool {
            "context_search" => same["explain"] = true.into(),
            "context_neighbors" if same["hops"].is_null() => same["hops"] = 1.into(),
            _ => {}
        }
        report(&place, "", tool, &same);
        if ["context_overview", "context_neighbors"].contains(tool) {
            same["at"] = 2.into();
            assert_eq!(code(&called(&place, "", tool, same)), "usage", "{tool}");
        }
    }
}

#[test]
fn a_cursor_of_a_place_that_the_list_does_not_have_is_none() {
    let place = with_pages();
    for (tool, arguments, _) in lists() {
        let mut next = arguments.clone();
        next["limit"] = 1.into();
        let cursor = report(&place, "", tool, &next)["next_cursor"].take();
        let parts: Vec<&str> = cursor.as_str().unwrap().split(':').collect();
        let other = |n: usize, part: &str| {
            let mut parts = parts.clone();
            parts[n] = part;
            parts.join(":")
        };
        for count in ["0", "00", "01", "99", "1001", "18446744073709551615"] {
            next["cursor"] = other(1, count).into();
            let result = called(&place, "", tool, next.clone());
            assert_eq!(code(&result), "usage", "{tool} {arguments} {}", next["cursor"]);
        }
        if tool != "context_history" {
            for checkpoint in ["0", "9", "18446744073709551615"] {
                next["cursor"] = other(0, checkpoint).into();
                assert_eq!(code(&called(&place, "", tool, next.clone())), "usage", "{tool}");
            }
        }
    }
}

/// Returns the stewards of a vault in which Eve reads these folders, and Bo and Kim everything.
fn stewards(folders: &[&str]) -> String {
    let bo = "{principal: bo@x.com, role: reviewer}";
    let of =
        |name: &&str| format!("  nodes/{name}/: [{bo}, {{principal: eve@x.com, role: viewer}}]\n");
    let vault = format!("version: 1\nvault: [{bo}, {{principal: kim@x.com, role: reviewer}}]\n");
    let folders: String = folders.iter().map(of).collect();
    if folders.is_empty() { vault } else { format!("{vault}folders:\n{folders}") }
}

/// Returns a vault that only stewards read, with documents and packs of three folders.
fn limited(folders: &[&str]) -> Place {
    let place = Place::vault();
    for (folder, n) in ["a", "b", "c"].iter().flat_map(|folder| (0..60).map(move |n| (folder, n))) {
        let text = format!(
            "---\ntags: ['#t']\n---\n[x](../b/{n:02}.md) [y](../a/00.md) [z](../b/00.md)\n"
        );
        place.write(&format!("nodes/{folder}/{n:02}.md"), text);
    }
    place.edit(".context/config.yaml", "layout:", "reads: stewards\nlayout:");
    place.ctx("publish --all --as bo@x.com").ok();
    place.write("stewards.yaml", stewards(folders));
    place.ctx("govern on --as bo@x.com").ok();
    place
}

/// Lets Eve read these folders from now on.
fn reads(place: &Place, folders: &[&str]) {
    place.write("stewards.yaml", stewards(folders));
    place.ctx("submit stewards.yaml --as bo@x.com").ok();
    place.ctx("approve stewards.yaml --as kim@x.com").ok();
}

const EVE: &str = "--as eve@x.com";

/// Returns the answer to a request of Eve.
fn listed(place: &Place, method: &str, params: Value) -> Value {
    let mut messages = opener(STATELESS);
    messages.push(request(STATELESS, 1, method, params));
    crate::mcp::answers_of(place, "mcp --as eve@x.com", &messages).remove(&1).unwrap()
}

#[test]
fn no_page_loses_what_was_readable_when_rights_change_between_pages() {
    for (before, after) in [(["a", "b"].as_slice(), ["b"].as_slice()), (&["b"], &["a", "b"])] {
        let place = limited(before);
        let calls = [
            ("context_overview", json!({"limit": 3})),
            ("context_overview", json!({"limit": 3, "selector": "#t"})),
            ("context_neighbors", json!({"id": "nodes/b/01", "hops": 2, "limit": 1})),
        ];
        let next = calls.map(|(tool, mut arguments)| {
            let page = report(&place, EVE, tool, &arguments);
            arguments["cursor"] = page["next_cursor"].clone();
            assert!(arguments["cursor"].is_string(), "{tool}: {page}");
            (tool, arguments)
        });
        let more = listed(&place, "resources/list", json!({}))["result"]["nextCursor"].take();
        // Changes for other principals, and later publications, change no page.
        place.edit("nodes/c/00.md", "[x]", "[z]");
        place.ctx("submit nodes/c/00 --as bo@x.com").ok();
        place.ctx("approve nodes/c/00 --as kim@x.com").ok();
        for (tool, arguments) in &next {
            report(&place, EVE, tool, arguments);
        }
        if before.len() > 1 {
            let page = listed(&place, "resources/list", json!({"cursor": more}));
            assert_eq!(page["result"]["resources"].as_array().unwrap().len(), 20, "{page}");
        }

        reads(&place, after);
        for (tool, arguments) in next {
            let result = called(&place, EVE, tool, arguments);
            assert_eq!(code(&result), "changed", "{tool}: {result}");
            insta::allow_duplicates! {
                insta::assert_snapshot!(result["content"][0]["text"].as_str().unwrap(), @r"
                error[changed]: the part of this list that you may read changed since the page before
                hint: begin again from the first page, without `cursor`
                ");
            }
        }
        if before.len() > 1 {
            let error = &listed(&place, "resources/list", json!({"cursor": more}))["error"];
            assert_eq!(
                (&error["code"], &error["data"]["code"]),
                (&json!(-32602), &json!("changed"))
            );
        }
    }
}

/// Returns a governed vault with submissions of Ana that await Bo.
fn submitted(count: usize) -> Place {
    let place = Place::vault();
    place.write(
        "stewards.yaml",
        "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  \
         - {principal: kim@x.com, role: reviewer}\n  - {principal: ana@x.com, role: editor}\n",
    );
    place.ctx("govern on").ok();
    for n in 0..count {
        place.write(&format!("nodes/d{n}.md"), format!("# D{n}\n\n{}", "a line\n".repeat(n + 1)));
        place.ctx(&format!("submit nodes/d{n} --as ana@x.com")).ok();
    }
    place
}

const BO: &str = "--profile reviewer --as bo@x.com";

#[test]
fn review_pages_end_if_the_queue_changes() {
    let place = submitted(5);
    let whole = place.ctx("review --as bo@x.com --json").ok().json("ctx.review");
    let whole = whole["waiting"].as_array().unwrap();
    assert_eq!(whole.len(), 5);
    for limit in [1, 2, 5] {
        let pages = paged((&place, BO), ("context_review", "waiting"), &json!({}), limit);
        assert_eq!(pages, *whole, "{limit} a page");
    }
    let first = report(&place, BO, "context_review", &json!({"limit": 2}));
    assert_eq!((&first["omitted"], &first["others"]), (&json!(3), &json!(0)));
    let cursor = first["next_cursor"].as_str().unwrap();
    let next = json!({"limit": 2, "cursor": cursor});
    // Other principals have another list.
    let of_ana =
        called(&place, "--profile reviewer --as ana@x.com", "context_review", next.clone());
    assert_eq!(code(&of_ana), "changed");
    for wrong in ["2:1", "0123456789abcdef", &cursor.to_uppercase(), &format!("{cursor}1 ")] {
        let result = called(&place, BO, "context_review", json!({"cursor": wrong}));
        assert_eq!(code(&result), "usage", "{wrong}");
    }
    for about in
        [json!({"id": "nodes/d0", "limit": 1}), json!({"id": "nodes/d0", "cursor": cursor})]
    {
        assert_eq!(code(&called(&place, BO, "context_review", about)), "usage");
    }
    place.write("nodes/e.md", "# E\n");
    place.ctx("submit nodes/e --as ana@x.com").ok();
    let refused = called(&place, BO, "context_review", next);
    assert_eq!(code(&refused), "changed");
    insta::assert_snapshot!(refused["content"][0]["text"].as_str().unwrap(), @r"
    error[changed]: the pending submissions changed since the page before
    hint: list it again from the first page, without `cursor`
    ");
}

#[test]
fn pages_of_a_history_have_no_steps_of_others() {
    let place = submitted(1);
    place.ctx("approve nodes/d0 --as bo@x.com").ok();
    for n in 0..4 {
        place.edit("nodes/d0.md", "a line", &format!("line {n}, a line"));
        place.ctx("submit nodes/d0 --as ana@x.com").ok();
        let act = if n % 2 == 0 { "reject nodes/d0 --reason no" } else { "approve nodes/d0" };
        place.ctx(&format!("{act} --as bo@x.com")).ok();
    }
    for who in ["bo@x.com", "vi@x.com"] {
        let options = format!("--as {who}");
        let asked = json!({"id": "nodes/d0", "limit": 100});
        let whole = report(&place, &options, "context_history", &asked)["versions"].clone();
        let whole = whole.as_array().unwrap();
        let has_steps = whole.iter().any(|row| row["state"] == "unpublished");
        assert_eq!(has_steps, who == "bo@x.com", "{whole:?}");
        for limit in [1, 2] {
            let tool = ("context_history", "versions");
            let pages = paged((&place, &options), tool, &json!({"id": "nodes/d0"}), limit);
            assert_eq!(pages, *whole, "{who}, {limit} a page");
        }
    }
}
