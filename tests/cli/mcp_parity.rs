//! A tool and its command return one report, on random vaults with drafts, unpublished edits and
//! staged results of others, and no report contains any of those.

use serde_json::{Value, json};

use crate::harness::Place;
use crate::mcp::{STATELESS, answers_of, opener, request};
use crate::properties::{Draw, SELECTORS, history_in};
use crate::stage::{ANA, BO, shop, stage};

const VAULTS: u64 = 3;
/// Time of the calls, after everything in the vault.
const NOW: &str = "2026-11-21T12:00:00.000Z";
/// Session of the calls.
const SESSION: &str = "s-asks";
/// Words that no answer may contain.
const HIDDEN: [&str; 4] = ["Not published.", "drafted-words", "staged-by-bo", "staged-elsewhere"];

/// Returns a vault with a history, and records that the caller may not see.
fn vault(seed: u64) -> Place {
    let (place, _) = history_in(shop(Place::vault()), seed);
    place.write(
        "nodes/x/hidden.md",
        "---\ntags: [red]\nstatus: draft\n---\n# Number\n\ndrafted-words more\n",
    );
    stage(&place, BO, SESSION, b"staged-by-bo");
    stage(&place, ANA, "s-other", b"staged-elsewhere");
    stage(&place, ANA, SESSION, b"staged-for-this-session");
    place
}

/// Returns calls, each with the equivalent command.
fn calls(place: &Place, draw: &mut Draw) -> Vec<(&'static str, Value, Vec<String>)> {
    let listed = place.ctx("list --json").ok().json("ctx.list");
    let ids = listed["documents"].as_array().unwrap().iter();
    let mut ids: Vec<String> = ids.map(|one| one["id"].as_str().unwrap().to_owned()).collect();
    ids.extend(
        ["nodes/x/hidden", "nodes/x/draft", "nodes/none", "sources/prices", "CONTEXT.md"]
            .map(str::to_owned),
    );
    let list = place.ctx("checkpoint list --json").ok().json("ctx.checkpoint.list");
    let head = list["checkpoints"].as_array().unwrap().len();
    let words = |line: &[&str]| line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut all = vec![
        ("context_init", json!({}), words(&["context"])),
        ("context_init", json!({"all": true}), words(&["context", "--all"])),
        ("context_overview", json!({}), words(&["list", "--snippets"])),
        (
            "context_search",
            json!({"full_hashes": true, "query": "drafted words more"}),
            words(&["search", "drafted words more"]),
        ),
        (
            "context_search",
            json!({"full_hashes": true, "query": "number", "limit": 3}),
            words(&["search", "number", "--limit", "3"]),
        ),
        ("context_pack", json!({"id": "warm", "bodies": false}), words(&["resolve", "pack:warm"])),
        ("context_verify", json!({}), words(&["verify"])),
    ];
    for selector in
        SELECTORS.iter().chain(&["contextnest://nodes/x/hidden", "sources/prices", "#prices"])
    {
        let at = draw.below(head) + 1;
        all.push((
            "context_overview",
            json!({"selector": selector}),
            words(&["list", selector, "--snippets"]),
        ));
        all.push((
            "context_resolve",
            json!({"selector": selector, "bodies": false, "at": at}),
            words(&["resolve", selector, "--at", &at.to_string()]),
        ));
        all.push((
            "context_resolve",
            json!({"selector": selector, "budget": 30_000}),
            words(&["resolve", selector, "--budget", "30000", "--format", "json"]),
        ));
    }
    for id in &ids {
        let (v1, v2) = (draw.below(2) + 1, draw.below(3) + 1);
        let uri = format!("contextnest://{id}@{}", draw.below(head) + 1);
        let (one, two) = (v1.to_string(), v2.to_string());
        all.push(("context_read", json!({"id": id}), words(&["read", id])));
        all.push((
            "context_read",
            json!({"id": id, "outline": true}),
            words(&["read", id, "--outline"]),
        ));
        all.push((
            "context_neighbors",
            json!({"id": id, "hops": 2}),
            words(&["neighbors", id, "--hops", "2"]),
        ));
        all.push((
            "context_diff",
            json!({"id": id, "v1": v1, "v2": v2}),
            words(&["diff", id, &one, &two]),
        ));
        all.push(("context_history", json!({"id": id}), words(&["history", id])));
        all.push(("context_blame", json!({"id": id}), words(&["blame", id])));
        all.push(("context_check", json!({"uris": [uri]}), words(&["check", &uri])));
        // Unpublished documents do not exist for the tool.
        if !["nodes/x/hidden", "nodes/x/draft"].contains(&id.as_str()) {
            all.push(("context_verify", json!({"ids": [id]}), words(&["verify", id])));
        }
    }
    all
}

#[test]
fn tools_and_commands_agree_on_random_vaults_and_show_nothing_that_is_not_published() {
    for seed in 0..VAULTS {
        let (place, mut draw) = (vault(seed), Draw::new(seed));
        let calls = calls(&place, &mut draw);
        let mut messages = opener(STATELESS);
        for ((tool, arguments, _), id) in calls.iter().zip(1..) {
            let meta = json!({"contextnest/session": SESSION});
            let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
            messages.push(request(STATELESS, id, "tools/call", params));
        }
        let answers = answers_of(&place, &format!("mcp --now {NOW}"), &messages);
        let mut served = 0;
        for ((tool, arguments, line), id) in calls.iter().zip(1..) {
            let mut result = answers[&id]["result"].clone();
            // A command does not page.
            if let Some(report) = result["structuredContent"].as_object_mut() {
                report.remove("next_cursor");
            }
            let result = &result;
            let (text, structured) = (result.to_string(), &result["structuredContent"]);
            for hidden in HIDDEN {
                let is_own = arguments.to_string().contains(hidden);
                assert!(
                    is_own || !text.contains(hidden),
                    "seed {seed}: {tool} {arguments}: {text}"
                );
            }
            let mut args: Vec<&str> = line.iter().map(String::as_str).collect();
            args.extend(["--now", NOW]);
            if !args.contains(&"--format") {
                args.push("--json");
            }
            let printed = place.args(&args).var("CTX_SESSION", SESSION).here();
            let text = if printed.stdout.is_empty() { &printed.stderr } else { &printed.stdout };
            let expected: Value = serde_json::from_str(text).unwrap_or_default();
            let about = format!("seed {seed}: {tool} {arguments}\n{structured}\n{expected}");
            if result["isError"] == true {
                assert_eq!(structured["code"], expected["code"], "{about}");
            } else {
                served += 1;
                assert_eq!(*structured, expected, "{about}");
            }
        }
        assert!(served * 2 > calls.len(), "seed {seed}: most calls fail");
    }
}
