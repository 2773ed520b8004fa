//! Results of sources, and replays, over `ctx mcp` (`spec/mcp.md`, MCP-3, MCP-17, MCP-21).

use serde_json::{Value, json};

use crate::harness::Place;
use crate::mcp::{REVISIONS, STATELESS, log, opener, request};
use crate::mcp_writing::{Client, called, code, no, yes};
use crate::stage::shop;

/// Returns a governed vault with a source; Bo and Kim review, Ana and Lee edit, Eve views.
fn governed() -> Place {
    let place = shop(Place::vault());
    place.write(
        "stewards.yaml",
        "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  - {principal: kim@x.com, \
         role: reviewer}\n  - {principal: ana@x.com, role: editor}\n  - {principal: lee@x.com, role: \
         editor}\n  - {principal: eve@x.com, role: viewer}\n",
    );
    place.ctx("govern on --as bo@x.com").ok();
    place
}

/// Returns the result of one call of a principal in a session.
fn asked(place: &Place, (who, session): (&str, &str), tool: &str, arguments: Value) -> Value {
    let mut messages = opener(STATELESS);
    let mut params = json!({"name": tool, "_meta": {"contextnest/session": session}});
    params["arguments"] = arguments;
    messages.push(request(STATELESS, 1, "tools/call", params));
    let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let options = format!("mcp --profile author --as {who}@x.com");
    let output = place.typed(&options).stdin(lines).here().ok();
    let answer: Value = serde_json::from_str(output.stdout.lines().last().unwrap()).unwrap();
    crate::mcp_schema::check(tool, &answer["result"]);
    answer["result"].clone()
}

fn prices(result: &str) -> Value {
    json!({"id": "sources/prices", "tools": ["list_prices"], "server": "shop", "result": result,
           "media_type": "application/json", "cache": "miss", "duration_ms": 12})
}

/// Records a result; returns the report.
#[track_caller]
fn recorded(place: &Place, by: (&str, &str), result: &str) -> Value {
    let answer = asked(place, by, "context_source_record", prices(result));
    assert_eq!(answer["isError"], false, "{answer}");
    answer["structuredContent"].clone()
}

/// Returns the URIs of a list.
fn listed(place: &Place, by: (&str, &str)) -> Vec<Value> {
    let answer = asked(place, by, "context_stage_list", json!({}));
    assert_eq!(answer["isError"], false, "{answer}");
    let staged = answer["structuredContent"]["staged"].as_array().unwrap().clone();
    staged.iter().map(|one| one["uri"].clone()).collect()
}

#[test]
fn a_result_is_recorded_and_staged_as_by_the_command() {
    let place = governed();
    let of_tool = recorded(&place, ("ana", "s-1"), "{\"a\": 1}");
    assert_eq!(of_tool["schema"], "ctx.source.record");
    let command = "source record sources/prices --session s-1 --tools list_prices --server shop \
                   --media-type application/json --cache miss --duration-ms 12 --json --as ana@x.com";
    let of_command = place.typed(command).stdin("{\"a\": 1}").here().ok();
    let mut of_command: Value = serde_json::from_str(&of_command.stdout).unwrap();
    assert_ne!(of_command["trace"], of_tool["trace"]);
    for name in ["trace", "staged"] {
        assert!(of_tool[name].is_string() && of_command[name].is_string(), "{name}");
        of_command[name] = of_tool[name].clone();
    }
    assert_eq!(of_command, of_tool);
    let lines = log(&place);
    let line = lines.iter().find(|line| line["client"] == "tester/1").unwrap();
    assert_eq!((&line["event"], &line["verb"]), (&json!("hydration"), &json!("source record")));
    // Only principals who may read the staged entry get the output of the source.
    let words = line["args"]["argv"][1].as_str().unwrap();
    assert!(words.contains(r#""result":{"bytes":8,"hash":"sha256:"#), "{words}");
    let listed = asked(&place, ("ana", "s-1"), "context_stage_list", json!({}));
    let of_command = place.ctx("stage list --session s-1 --json --as ana@x.com").ok().stdout;
    let of_command: Value = serde_json::from_str(&of_command).unwrap();
    assert_eq!(listed["structuredContent"], of_command);
    assert_eq!(of_command["staged"].as_array().unwrap().len(), 2);
    place.ctx("verify").ok();
}

#[test]
fn a_result_is_refused_that_does_not_fit_its_source_or_names_no_session() {
    let place = governed();
    let refused = |arguments: Value| {
        let answer = asked(&place, ("ana", "s-1"), "context_source_record", arguments);
        let text = answer["content"][0]["text"].as_str().unwrap();
        format!("{}\n", text.replace('\n', " | "))
    };
    let with = |name: &str, value: Value| {
        let mut arguments = prices("{}");
        arguments[name] = value;
        arguments
    };
    let all = [
        with("server", json!("other")),
        with("server", Value::Null),
        with("tools", json!(["drop_all"])),
        with("tools", json!([])),
        with("tools", json!([" "])),
        with("media_type", json!("json")),
        with("duration_ms", json!(9_007_199_254_740_993_u64)),
        with("depends_on", json!(["00000000-1"])),
        with("id", json!("nodes/rules")),
        with("id", json!("sources/none")),
        with("result", Value::Null),
    ];
    let said: String = all.into_iter().map(refused).collect();
    insta::assert_snapshot!(said, @r#"
    error[usage]: `sources/prices` declares the server `shop`, not `other` | hint: name the server that the source declares
    error[usage]: `sources/prices` declares the server `shop`, but none is given | hint: name the server that the source declares
    error[usage]: `sources/prices` does not declare the tool `drop_all` | hint: its tools are list_prices
    error[usage]: the value of `tools` is invalid: it names no tool
    error[usage]: the value of `tools` is invalid: one name is empty
    error[usage]: the value of `media_type` is invalid: expected a media type such as `application/json`
    error[usage]: the value of `duration_ms` is invalid: it is too large
    error[unknown-trace]: no hydration `00000000-1` of this session is recorded in this vault | hint: record the dependency first; the answer has its name
    error[not-a-source]: `nodes/rules` is not a source | hint: `context_overview` with `selector`: "type:source" lists the sources
    error[unknown-id]: no document has the id `sources/none` | hint: `context_overview` lists published documents, `ctx status` (a command for a person) lists new and changed ones
    error[usage]: there is neither a result nor an error | hint: pass `result`, or describe the failure in `error`
    "#);
    let before = place.tree();
    let mut messages = opener(STATELESS);
    let params = json!({"name": "context_source_record", "arguments": prices("{}")});
    messages.push(request(STATELESS, 1, "tools/call", params));
    let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let output = place.typed("mcp --profile author --as ana@x.com").stdin(lines).here().ok().stdout;
    assert!(output.contains("a hydration needs a named session"), "{output}");
    assert!(before == place.tree());
    assert_eq!(log(&place).iter().filter(|line| line["event"] == "hydration").count(), 0);
}

#[test]
fn a_list_has_no_entry_of_another_session_or_principal() {
    for is_governed in [false, true] {
        let place = if is_governed { governed() } else { shop(Place::vault()) };
        place.edit(".context/config.yaml", "servers:", "staging: {enabled: true}\nservers:");
        place.ctx("publish --all --as bo@x.com").exits(if is_governed { 3 } else { 0 });
        let own = recorded(&place, ("ana", "s-1"), "{\"own\": 1}")["staged"].clone();
        recorded(&place, ("ana", "s-2"), "{\"later\": 1}");
        recorded(&place, ("lee", "s-1"), "{\"other\": 1}");
        assert_eq!(listed(&place, ("ana", "s-1")), [own]);
        assert_eq!(listed(&place, ("eve", "s-1")), Vec::<Value>::new());
        assert_eq!(listed(&place, ("bo", "s-3")), Vec::<Value>::new());
        let one = asked(&place, ("eve", "s-1"), "context_stage_list", json!({"all": true}));
        assert!(!one.to_string().contains("staged/sources/prices"), "{one}");
    }
}

#[test]
fn a_promotion_needs_the_consent_of_a_human() {
    for revision in REVISIONS {
        let place = governed();
        let entry = recorded(&place, ("ana", "s-1"), "{\"a\": 1}\n")["staged"].clone();
        let promote = json!({"entry": entry, "to": "nodes/prices", "title": "Prices of today",
                             "tags": ["prices"]});
        let before = place.tree();
        let unchanged = |what: &str| assert!(before == place.tree(), "{revision}: {what}");
        let tool = "context_stage_promote";

        // A principal who may not see entries of others, or create documents, is refused before a
        // human is asked.
        let mut client = Client::connect(&place, "eve", revision, true);
        let (question, result) = client.decided(tool, &promote, Some(yes));
        assert_eq!((&question, code(&result)), (&Value::Null, "unknown-staged"), "{result}");
        client.end();
        let mut client = Client::connect(&place, "ana", revision, false);
        let (_, result) = client.decided(tool, &promote, None);
        assert_eq!(code(&result), "consent-unavailable", "{result}");
        client.end();
        let mut client = Client::connect(&place, "ana", revision, true);
        let (question, result) = client.decided(tool, &promote, Some(no));
        assert_eq!(code(&result), "consent-declined", "{result}");
        unchanged("declined");
        for answer in [
            || json!({"action": "accept", "content": {"agree": false}}),
            || json!({"action": "accept"}),
            || json!({"action": "cancel"}),
        ] {
            let (_, result) = client.decided(tool, &promote, Some(answer));
            assert_eq!(code(&result), "consent-declined", "{result}");
            unchanged("not agreed");
        }
        // Each refusal by the human is recorded, like one by a client without a human.
        let refused = log(&place).into_iter().filter(|line| line["event"] == "refused");
        let codes: Vec<Value> = refused
            .map(|line| {
                assert_eq!(
                    (&line["verb"], &line["principal"]),
                    (&json!("stage promote"), &json!("ana@x.com"))
                );
                line["code"].clone()
            })
            .collect();
        let mut expected = vec!["consent-unavailable"];
        expected.extend(["consent-declined"; 4]);
        assert_eq!(codes, expected);
        let asked = question["params"]["message"].as_str().unwrap();
        assert!(asked.starts_with("As \"ana@x.com\": make the new document \"nodes/prices\""));
        assert!(asked.contains("9 bytes that \"ana@x.com\" recorded in \"s-1\""), "{asked}");
        assert!(asked.ends_with("It is submitted for review."), "{asked}");
        for (name, value, refusal) in [
            ("to", "nodes/rules", "exists"),
            ("to", "../out", "id-invalid"),
            ("entry", "contextnest://staged/sources/prices/00000000-9", "unknown-staged"),
            ("type", "snipet", "usage"),
        ] {
            let mut wrong = promote.clone();
            wrong[name] = value.into();
            let (question, result) = client.decided(tool, &wrong, Some(yes));
            assert_eq!((&question, code(&result)), (&Value::Null, refusal), "{result}");
        }
        unchanged("after refusals");
        let (_, result) = client.decided(tool, &promote, Some(yes));
        client.end();
        let report = &result["structuredContent"];
        assert_eq!(report["schema"], "ctx.stage.promote", "{result}");
        assert_eq!((&report["submitted"], &report["uri"]), (&json!(true), &entry));
        place.ctx("approve nodes/prices --version 1 --as bo@x.com").ok();
        assert!(place.ctx("read nodes/prices").ok().stdout.ends_with("{\"a\": 1}\n"));
        place.ctx("verify").ok();
    }
}

#[test]
fn a_principal_replays_what_they_were_handed_and_nothing_else() {
    let place = governed();
    let read = json!({"id": "nodes/rules"});
    asked(&place, ("ana", "s-1"), "context_read", read.clone());
    asked(&place, ("lee", "s-1"), "context_read", read.clone());
    asked(&place, ("ana", "s-2"), "context_read", read);
    let replay = |by, arguments: Value| asked(&place, by, "context_replay", arguments);
    let own = replay(("ana", "s-1"), json!({}));
    let report = &own["structuredContent"];
    assert_eq!((&report["schema"], &report["same"]), (&json!("ctx.replay"), &json!(1)), "{own}");
    let trace = report["texts"][0]["trace"].as_str().unwrap().to_owned();
    let of_command = place.ctx(&format!("replay {trace} --json --as ana@x.com")).ok().stdout;
    assert_eq!(*report, serde_json::from_str::<Value>(&of_command).unwrap());
    let shown = place.ctx(&format!("trace show {trace} --as ana@x.com")).ok().stdout;
    assert!(shown.contains("  call       context_read {\"id\":\"nodes/rules\"}\n"), "{shown}");
    assert!(shown.contains("  client     tester/1\n"), "{shown}");
    let named = replay(("ana", "s-9"), json!({"trace": trace}));
    assert_eq!(named["structuredContent"], *report);
    // For another principal, the line answers like a missing one.
    let of_other = replay(("lee", "s-1"), json!({"trace": trace}));
    let (writer, _) = trace.split_once('-').unwrap();
    let of_none = replay(("lee", "s-1"), json!({"trace": format!("{writer}-99")}));
    assert_eq!(code(&of_other), "unknown-trace", "{of_other}");
    assert_eq!(of_other.to_string().replace(&trace, &format!("{writer}-99")), of_none.to_string());
    let nothing = replay(("eve", "s-1"), json!({}));
    assert_eq!(code(&nothing), "unknown-trace", "{nothing}");
    assert!(!nothing.to_string().contains("rules"), "{nothing}");

    let file = "nodes/.versions/rules/history.yaml";
    place.write(file, place.read(file).replace("sha256:", "sha256:0"));
    let broken = replay(("ana", "s-1"), json!({}));
    assert_eq!(broken["structuredContent"]["cannot_tell"], 1, "{broken}");
    assert_eq!(
        code(&called(&place, "", "context_replay", json!({"trace": "x"}))["result"]),
        "usage"
    );
}

#[test]
fn the_whole_answer_of_a_tool_is_made_again() {
    let place = crate::mcp::place();
    let mut messages = opener(STATELESS);
    for ((tool, arguments), id) in crate::mcp::calls().into_iter().zip(1..) {
        let params = json!({"name": tool, "arguments": arguments,
                            "_meta": {"contextnest/session": "s-1"}});
        messages.push(request(STATELESS, id, "tools/call", params));
    }
    crate::mcp::answers(&place, &messages);
    // A later publication changes nothing.
    place.edit("nodes/returns.md", "60 days", "90 days");
    place.ctx("publish nodes/returns").ok();
    let outputs = |place: &Place| -> String {
        let line = "replay --session s-1 --output --json --as ana@x.com";
        let said = place.ctx(line).exits(1).stdout;
        let report: Value = serde_json::from_str(&said).unwrap();
        let row = |row: &Value| {
            let why = row["why"].as_str().map_or(String::new(), |why| format!(": {why}"));
            format!("{} {}{why}\n", row["verb"].as_str().unwrap(), row["outcome"].as_str().unwrap())
        };
        report["outputs"].as_array().unwrap().iter().map(row).collect()
    };
    insta::assert_snapshot!(outputs(&place), @r#"
    context same
    list cannot tell: the output of `context_overview` is not reproduced
    search cannot tell: the output of `context_search` is not reproduced
    resolve same
    read same
    neighbors cannot tell: the output of `context_neighbors` is not reproduced
    resolve same
    diff same
    history cannot tell: the output of `context_history` is not reproduced
    blame same
    check cannot tell: the output of `context_check` is not reproduced
    "#);
    let file = "nodes/.versions/fees/history.yaml";
    place.write(file, place.read(file).replace("sha256:", "sha256:0"));
    insta::assert_snapshot!(outputs(&place), @r#"
    context cannot tell: recorded: 1093 bytes; printed now: 1239 bytes with another hash; 1 document more may not be served now
    list cannot tell: the output of `context_overview` is not reproduced
    search cannot tell: the output of `context_search` is not reproduced
    resolve cannot tell: recorded: 4266 bytes; printed now: 3081 bytes with another hash; 1 document more may not be served now
    read same
    neighbors cannot tell: the output of `context_neighbors` is not reproduced
    resolve cannot tell: recorded: 4896 bytes; printed now: 3711 bytes with another hash; 1 document more may not be served now
    diff same
    history cannot tell: the output of `context_history` is not reproduced
    blame cannot tell: the call fails now: `nodes/fees` is withheld: the entry on line 3 of the history is malformed
    check cannot tell: the output of `context_check` is not reproduced
    "#);
    let place = governed();
    asked(
        &place,
        ("ana", "s-1"),
        "context_update",
        json!({"id": "nodes/rules", "body": "two", "submit": true}),
    );
    asked(&place, ("ana", "s-1"), "context_read", json!({"id": "nodes/rules", "draft": true}));
    insta::assert_snapshot!(outputs(&place), @"read cannot tell: no checkpoint contains a draft");
}
