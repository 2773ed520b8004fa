//! Names of files that coding agents load as instructions (VAULT-67).

use serde_json::{Value, json};

use crate::harness::Place;
use crate::mcp_writing::called;

const NAMES: [&str; 9] = [
    "nodes/pub/AGENTS",
    "nodes/pub/CLAUDE",
    "nodes/pub/CLAUDE.local",
    "nodes/pub/deep/er/SKILL",
    "nodes/pub/skill",
    "nodes/pub/copilot-instructions",
    "nodes/pub/style.instructions",
    "nodes/pub/gemini",
    "nodes/pub/\u{17f}kill",
];

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  - \
    {principal: kim@x.com, role: reviewer}\nfolders:\n  nodes/pub/:\n    - {principal: eve@x.com, \
    role: editor}\n    - {principal: kim@x.com, role: reviewer}\n";

/// Returns a governed vault with a published `nodes/pub/CLAUDE` and `nodes/pub/a`.
fn governed() -> Place {
    let place = Place::vault();
    place.write("nodes/pub/AGENTS.md", "# Agents\n\nold\n");
    place.write("nodes/pub/a.md", "# A\n");
    place.ctx("publish --all --as kim@x.com").ok();
    place.write("stewards.yaml", STEWARDS);
    place.ctx("govern on --as kim@x.com").ok();
    place
}

fn by(place: &Place, tool: &str, arguments: Value) -> Value {
    let options = "--profile reviewer --as eve@x.com";
    called(place, options, tool, arguments)["result"].clone()
}

/// Returns the codes of the documents that a call refused.
#[track_caller]
fn refused(result: &Value) -> Vec<&str> {
    assert_eq!(result["isError"], true, "{result}");
    let documents = result["structuredContent"]["documents"].as_array().into_iter().flatten();
    let problems = documents.flat_map(|document| document["problems"].as_array().unwrap());
    problems.map(|problem| problem["code"].as_str().unwrap()).collect()
}

#[test]
fn no_call_makes_or_submits_a_file_that_agents_obey() {
    let place = governed();
    let before = place.tree();
    for id in NAMES.into_iter().filter(|id| *id != "nodes/pub/AGENTS") {
        for submit in [false, true] {
            let create = json!({"id": id, "body": "obey", "submit": submit});
            let result = by(&place, "context_create", create);
            assert_eq!(refused(&result), ["instruction-file"], "{id}: {result}");
        }
        let update = json!({"id": id, "body": "obey", "submit": true});
        assert_eq!(by(&place, "context_update", update)["isError"], true, "{id}");
    }
    let made: Vec<_> = place.tree().into_keys().filter(|path| !before.contains_key(path)).collect();
    assert!(made.iter().all(|path| path.starts_with(".context/audit/")), "{made:?}");
    // A draft that a person made with such a name is not submitted either.
    place.write("nodes/pub/CLAUDE.md", "# Claude\n");
    let hash = contextnest::model::digest::Digest::of(&place.bytes("nodes/pub/CLAUDE.md"));
    let submit = json!({"ids": ["nodes/pub/CLAUDE"], "expected_live": hash.to_string()});
    let result = by(&place, "context_submit", submit);
    assert_eq!(refused(&result), ["instruction-file"], "{result}");
    // Other names with these words are allowed.
    for id in ["nodes/pub/agents-of-change", "nodes/pub/skills", "nodes/pub/claude.notes"] {
        let result = by(&place, "context_create", json!({"id": id, "body": "x"}));
        assert_eq!(result["isError"], false, "{result}");
    }
}

#[test]
fn a_published_file_that_agents_obey_stays_editable() {
    let place = governed();
    let update = json!({"id": "nodes/pub/AGENTS", "body": "new", "submit": true});
    let result = by(&place, "context_update", update);
    assert_eq!(result["isError"], false, "{result}");
    place.ctx("approve nodes/pub/AGENTS --as kim@x.com").ok();
    let draft = by(&place, "context_update", json!({"id": "nodes/pub/AGENTS", "body": "newer"}));
    assert_eq!(draft["isError"], false, "{draft}");
}

#[test]
fn no_call_publishes_a_file_that_agents_obey_in_an_ungoverned_vault() {
    let place = Place::vault();
    let create = json!({"id": "nodes/Agents", "body": "obey"});
    assert_eq!(refused(&by(&place, "context_create", create)), ["instruction-file"]);
    place.write("nodes/Agents.md", "# A\n");
    let hash = contextnest::model::digest::Digest::of(&place.bytes("nodes/Agents.md"));
    let publish = json!({"id": "nodes/Agents", "expected_live": hash.to_string()});
    let result = by(&place, "context_publish", publish);
    assert_eq!(refused(&result), ["instruction-file"], "{result}");
    place.ctx("publish nodes/Agents --as eve@x.com").ok();
}

#[test]
fn commands_warn_of_a_file_that_agents_obey() {
    let place = Place::vault();
    place.write("nodes/a.md", "# A\n");
    let warns = |line: &str| {
        let said = place.ctx(line).whole();
        assert!(said.contains("load a file with this name as instructions"), "{line}: {said}");
    };
    warns("add nodes/x/AGENTS --body x");
    warns("add nodes/y/CLAUDE.local --draft --body x");
    place.write("nodes/z/Skill.md", "# S\n");
    warns("validate");
    warns("publish nodes/z/Skill");
    place.ctx("publish nodes/a").ok();
    warns("mv nodes/a nodes/GEMINI --dry-run");
    // A published document is not reported again.
    place.write("nodes/z/Skill.md", place.read("nodes/z/Skill.md") + "more\n");
    let said = place.ctx("publish nodes/z/Skill").ok().whole();
    assert!(!said.contains("instructions"), "{said}");
    place.write("stewards.yaml", STEWARDS);
    place.ctx("govern on --as kim@x.com").ok();
    warns("mv nodes/a nodes/GEMINI --as kim@x.com");
    place.write("nodes/pub/copilot-instructions.md", "# C\n");
    warns("submit nodes/pub/copilot-instructions --as eve@x.com");
}

#[test]
fn files_that_ctx_writes_for_agents_cause_no_warning() {
    let place = Place::new();
    place.typed("").shell("git init -q").ok();
    place.ctx("init docs --name Docs").ok();
    place.ctx("add nodes/a --body x --vault docs").ok();
    place.ctx("skill install --vault docs").ok();
    place.ctx("skill install --vault docs").ok();
    assert!(place.has("AGENTS.md"));
    let said = place.ctx("validate --vault docs").ok().whole();
    assert!(!said.contains("instruction-file"), "{said}");
}
