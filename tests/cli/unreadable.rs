//! Commands while a file with the rules in force cannot be read.

use serde_json::json;

use crate::harness::{Output, Place};
use crate::mcp_resources::asked;

/// Returns a governed vault in which a version of `nodes/a` awaits a decision.
fn place() -> Place {
    place_with("")
}

/// Returns such a vault with more lines in the configuration.
fn place_with(config: &str) -> Place {
    let documents = [("nodes/a", "# A\n\nOne.\n"), ("nodes/b", "# B\n\nTwo.\n")];
    let place = Place::published_with(config, &documents);
    place.write(
        "stewards.yaml",
        "vault: [{principal: ana@x.com, role: editor}, {principal: bo@x.com, role: reviewer}]\n",
    );
    place.ctx("govern on --alone").ok();
    let edited = place.read("nodes/a.md").replace("One", "Other");
    place.write("nodes/a.md", edited);
    place.ctx("submit nodes/a --as ana@x.com").ok();
    place.edit("nodes/b.md", "Two", "Third");
    place
}

const STEWARDS: &str = ".versions/stewards.yaml/v1.md";
const CONFIG: &str = ".context/.versions/config.yaml/v1.md";

/// Commands that need the role of their principal, and the list of pending submissions.
const OF_ROLES: [&str; 11] = [
    "review --as bo@x.com",
    "review show nodes/a --as bo@x.com",
    "approve nodes/a --as bo@x.com",
    "approve nodes/a --dry-run --as bo@x.com",
    "reject nodes/a --reason r --as bo@x.com",
    "withdraw nodes/a --as ana@x.com",
    "submit nodes/b --as ana@x.com",
    "retire nodes/b --as ana@x.com",
    "mv nodes/b nodes/c --as ana@x.com",
    "comment nodes/a x --as bo@x.com",
    "stage list --all --as bo@x.com",
];

#[test]
fn a_command_that_asks_for_a_role_names_the_unreadable_file() {
    let whole = place();
    for (file, id) in [(STEWARDS, "stewards.yaml"), (CONFIG, ".context/config.yaml")] {
        for is_gone in [false, true] {
            for line in OF_ROLES {
                let place = whole.duplicate();
                match is_gone {
                    true => place.remove(file),
                    false => place.write(file, place.read(file) + "# more\n"),
                }
                let before = place.chained();
                let said = place.ctx(line).exits(1);
                assert!(
                    said.stderr.contains("error[withheld]") && said.stderr.contains(id),
                    "{file} {line}: {}",
                    said.whole()
                );
                assert!(place.chained() == before, "{file} {line}: it wrote");
            }
        }
    }
}

#[test]
fn an_approved_text_is_read_where_everybody_may_read() {
    let place = place();
    place.write(STEWARDS, "vault: []\n");
    assert!(place.ctx("read nodes/a --as ana@x.com").ok().stdout.contains("One."));
    // Without a review, nothing can be published either.
    let refused = place.ctx("publish nodes/b --as ana@x.com").exits(3);
    assert!(refused.stderr.contains("error[governed]"), "{}", refused.stderr);
    assert!(place.ctx("verify").exits(1).stdout.contains("stewards.yaml"));
}

const DAMAGES: [(&str, &str); 2] = [(STEWARDS, "stewards.yaml"), (CONFIG, ".context/config.yaml")];

/// Runs a command after damage to a file, with or without the index of an earlier command.
fn after_damage(whole: &Place, file: &str, line: &str, is_indexed: bool) -> Output {
    let place = whole.duplicate();
    let blocked = place.home().join("file/caches").display().to_string();
    let typed = |line: &str| match is_indexed {
        true => place.typed(line),
        false => place.typed(line).var("XDG_CACHE_HOME", &blocked),
    };
    typed("list --as bo@x.com").run().ok();
    place.write(file, place.read(file) + "# more\n");
    typed(line).run()
}

#[track_caller]
fn names(said: &Output, id: &str) {
    let is_named = said.stderr.contains("error[withheld]") || said.stderr.contains("\"withheld\"");
    assert!(said.exit == 1 && is_named && said.stderr.contains(id), "{}", said.whole());
}

/// Commands whose answers are empty if no principal may read.
const OF_READERS: [&str; 35] = [
    "read nodes/a",
    "list",
    "search one",
    "graph",
    "neighbors nodes/a",
    "history",
    "history --json",
    "history nodes/a",
    "show nodes/a 1",
    "diff",
    "diff --json",
    "diff nodes/a 1",
    "restore nodes/a",
    "restore nodes/a --version 1",
    "impact nodes/a",
    "blame nodes/a",
    "check nodes/a@1",
    "evidence export --document nodes/a --output bundle.tar",
    "evidence report",
    "checkpoint list",
    "checkpoint list --json",
    "checkpoint show 1",
    "checkpoint diff 1 2",
    "trace list",
    "trace list --json",
    "trace grep publish",
    "trace show 00000000-1",
    "trace hold list",
    "trace hold place --document nodes/a --reason r",
    "trace hold lift 0a1b2c3d --reason r",
    "source check",
    "source diff nodes/a",
    "stage list --source nodes/a",
    "steward who nodes/a",
    "owners",
];

#[test]
fn answers_that_damage_to_the_rules_empties_name_the_file() {
    let whole = place_with("reads: stewards\n");
    for (file, id) in DAMAGES {
        for is_indexed in [false, true] {
            for line in OF_READERS {
                names(
                    &after_damage(&whole, file, &format!("{line} --as bo@x.com"), is_indexed),
                    id,
                );
            }
        }
    }
}

#[test]
fn answers_over_mcp_that_damage_to_the_rules_empties_name_the_file() {
    let whole = place_with("reads: stewards\n");
    for (file, id) in DAMAGES {
        let place = whole.duplicate();
        place.write(file, place.read(file) + "# more\n");
        let call =
            |tool: &str, arguments| ("tools/call", json!({"name": tool, "arguments": arguments}));
        let requests = [
            ("resources/list", json!({})),
            ("resources/read", json!({"uri": "contextnest://nodes/a"})),
            ("prompts/list", json!({})),
            completing("nodes/"),
            completing("none/"),
            call("context_history", json!({"id": "nodes/a"})),
            call("context_diff", json!({"id": "nodes/a", "v1": 1, "v2": 1})),
            call("context_read", json!({"id": "nodes/a"})),
        ];
        for answer in asked(&place, "mcp --as bo@x.com", &requests) {
            let answer = answer.to_string();
            assert!(answer.contains("withheld") && answer.contains(id), "{answer}");
        }
    }
}

fn completing(beginning: &str) -> (&'static str, serde_json::Value) {
    let template = json!({"type": "ref/resource", "uri": "contextnest://{+id}"});
    let argument = json!({"name": "id", "value": beginning});
    ("completion/complete", json!({"ref": template, "argument": argument}))
}

/// Commands that need the roles in force.
const OF_STEWARDS: [&str; 7] = [
    "owners",
    "owners --json",
    "owners --access-review",
    "steward who nodes/a",
    "steward who nodes/a --json",
    "steward list",
    "steward export --codeowners",
];

#[test]
fn questions_about_roles_name_the_unreadable_file() {
    let whole = place();
    for (file, id) in DAMAGES {
        for is_indexed in [false, true] {
            for line in OF_STEWARDS {
                let said = after_damage(&whole, file, &format!("{line} --as bo@x.com"), is_indexed);
                names(&said, id);
                assert!(!said.whole().contains("without any steward"), "{}", said.whole());
                assert!(!said.stdout.contains("x.com"), "{}", said.whole());
            }
        }
    }
}

#[test]
fn status_names_the_unreadable_file_and_advises_nothing_that_is_refused() {
    let whole = place();
    let path = "nodes/b.md";
    let edited = whole.ctx("status --as bo@x.com").ok().stdout;
    assert!(edited.contains("Awaiting a decision"), "{edited}");
    for (file, id) in DAMAGES {
        for line in ["status --as bo@x.com", "status --json --as bo@x.com", "status"] {
            let said = after_damage(&whole, file, line, false);
            names(&said, id);
            assert!(said.stdout.contains(path), "{}", said.whole());
            for refused in ["ctx submit", "ctx publish", "ctx approve"] {
                assert!(!said.whole().contains(refused), "{}", said.whole());
            }
        }
    }
}

#[test]
fn readers_and_verify_name_the_file_without_which_no_approval_can_be_judged() {
    let whole = place();
    whole.ctx("approve nodes/a --as bo@x.com").ok();
    let lines = ["read nodes/a", "resolve nodes/a", "show nodes/a 3", "history nodes/a"];
    let message = "[approval-unauthorised] version 2: editor is needed, but the role of `ana@x.com` \
                   cannot be judged, because the `stewards.yaml` in force then cannot be read";
    for is_indexed in [false, true] {
        for line in lines {
            let said = after_damage(&whole, STEWARDS, &format!("{line} --as bo@x.com"), is_indexed);
            assert!(said.whole().contains(message), "{line}: {}", said.whole());
            assert!(!said.exits(1).stderr.contains("no valid approval"), "{line}");
        }
    }
    let said = after_damage(&whole, STEWARDS, "verify", false).exits(1).stdout;
    let message = message.replace("version 2", "nodes/a v2");
    assert!(said.contains(&message) && !said.contains("no steward"), "{said}");
}

#[test]
fn stewards_whose_own_approval_cannot_be_judged_are_named() {
    let whole = place_with("reads: stewards\nversions: {keyframe_interval: 1}\n");
    whole.ctx("approve nodes/a --as bo@x.com").ok();
    whole.write("stewards.yaml", whole.read("stewards.yaml") + "# Reviewed.\n");
    whole.ctx("submit stewards.yaml --as ana@x.com").ok();
    whole.ctx("approve stewards.yaml --as bo@x.com").ok();
    // The text in force can be read, but not the record of its approval.
    let export = "evidence export --session s --output bundle.tar";
    for line in
        ["read nodes/b", "list", "review", "review --json", "owners", "submit nodes/b", export]
    {
        for is_indexed in [false, true] {
            let said = after_damage(&whole, STEWARDS, &format!("{line} --as bo@x.com"), is_indexed);
            names(&said, "`stewards.yaml`");
            let is_why = said.stderr.contains("its approval cannot be judged");
            assert!(is_why, "{line}: {}", said.whole());
        }
    }
}

#[test]
fn review_names_a_document_whose_history_cannot_be_read() {
    for config in ["", "reads: stewards\n"] {
        let whole = place_with(config);
        let history = "nodes/.versions/a/history.yaml";
        let damages: [&dyn Fn(&Place); 4] = [
            &|place| place.write("nodes/.versions/a/v1.md", "altered"),
            &|place| {
                place.write(history, place.read(history).replace("chain_hash: ", "chain_hash: 0"));
            },
            &|place| place.write(history, ""),
            &|place| place.remove(history),
        ];
        for damage in damages {
            for is_indexed in [false, true] {
                let place = whole.duplicate();
                let blocked = place.home().join("file/caches").display().to_string();
                let said = |line: &str| match is_indexed {
                    true => place.typed(line).run(),
                    false => place.typed(line).var("XDG_CACHE_HOME", &blocked).run(),
                };
                said("list --as bo@x.com").ok();
                damage(&place);
                for line in ["review", "review --json", "review --all", "review show nodes/a"] {
                    let said = said(&format!("{line} --as bo@x.com"));
                    names(&said, "nodes/a");
                    assert!(!said.stdout.contains("nothing awaits"), "{line}: {}", said.whole());
                }
                let json = said("review --json --as bo@x.com").stdout;
                assert!(json.contains("\"withheld\""), "{json}");
                // Governance does not end while a submission may await a decision.
                let ended = said("govern off --as bo@x.com");
                assert!(ended.exit != 0, "{}", ended.whole());
            }
        }
    }
}

#[test]
fn lists_of_staged_results_name_a_chain_that_lost_its_lines() {
    let place = Place::vault();
    let config = place.read(".context/config.yaml");
    place.write(".context/config.yaml", format!("{config}staging: {{enabled: true}}\n"));
    let (place, who) = (crate::stage::shop(place), "bo@example.com");
    let record = "source record sources/prices --session s1 --tools list_prices --server shop \
                  --as ana@example.com";
    place.typed(record).stdin("a result").run().ok();
    let listed = place.ctx(&format!("stage list --as {who}")).ok().stdout;
    let uri = listed.split_whitespace().next().unwrap().to_owned();
    let mut files = place.tree().into_keys();
    let chain = files.find(|file| file.contains("staging/chains/")).unwrap();
    let text = place.read(&chain);
    for damaged in [String::new(), text.replace("sources", "sourcez")] {
        place.write(&chain, &damaged);
        for line in
            ["stage list", "stage list --source sources/prices", &format!("stage show {uri}")]
        {
            let said = place.ctx(&format!("{line} --as {who}")).exits(1).stderr;
            assert!(
                said.contains("a staging chain of `sources/prices` is damaged"),
                "{line}: {said}"
            );
        }
    }
    place.remove(&chain);
    place.ctx(&format!("stage list --as {who}")).exits(1);
    place.write(&chain, &text);
    place.ctx(&format!("stage list --as {who}")).ok();
}

#[test]
fn a_refusal_does_not_advise_a_command_about_a_hidden_id() {
    let place = place_with("reads: stewards\n");
    let said = place.ctx("submit nodes/b --as viv@x.com").exits(3).stderr;
    assert!(!said.contains("steward who"), "{said}");
    let said = place.ctx("submit nodes/b --as bo@x.com").whole();
    assert!(!said.contains("no document has the id"), "{said}");
}

/// Removes the last entries of a history.
fn cut_history(place: &Place, dir: &str, entries: usize) {
    let path = format!("{dir}/history.yaml");
    let text = place.read(&path);
    let starts: Vec<usize> = text.match_indices("  - version: ").map(|(at, _)| at).collect();
    place.write(&path, &text[..starts[starts.len() - entries]]);
}

#[test]
fn history_names_a_sealed_version_that_the_history_lacks() {
    let whole = place_with("versions: {keyframe_interval: 1}\n");
    whole.ctx("approve nodes/a --as bo@x.com").ok();
    whole.write("stewards.yaml", whole.read("stewards.yaml") + "# Reviewed.\n");
    whole.ctx("submit stewards.yaml --as ana@x.com").ok();
    whole.ctx("approve stewards.yaml --as bo@x.com").ok();
    whole.edit("nodes/b.md", "Third", "Two");
    whole.ctx("retire nodes/b --as ana@x.com").ok();
    whole.ctx("approve nodes/b --as bo@x.com").ok();
    let lost = [
        (
            "nodes/a",
            "nodes/.versions/a",
            "the history has no version 3",
            "checkpoint-version-unknown",
        ),
        (
            "stewards.yaml",
            ".versions/stewards.yaml",
            "the history has no version 3",
            "checkpoint-version-unknown",
        ),
        ("nodes/b", "nodes/.versions/b", "does not record a retirement", "unrecorded-removal"),
    ];
    for (id, dir, message, code) in lost {
        for is_indexed in [false, true] {
            let place = whole.duplicate();
            if is_indexed {
                place.ctx("index").ok();
            }
            cut_history(&place, dir, 1);
            for line in [format!("history {id}"), format!("history {id} --json")] {
                let said = place.ctx(&format!("{line} --as bo@x.com")).exits(1).whole();
                assert!(said.contains(message) && said.contains(code), "{line}: {said}");
                // A verifier reports the same.
                let verified = place.ctx("verify").exits(1).stdout;
                assert!(verified.contains(message) && verified.contains(code), "{verified}");
            }
        }
    }
    let place = whole.duplicate();
    cut_history(&place, "nodes/.versions/a", 1);
    for line in ["show nodes/a 3", "diff nodes/a 1 3", "restore nodes/a --version 3"] {
        let said = place.ctx(&format!("{line} --as bo@x.com")).exits(1).stderr;
        assert!(
            said.contains("error[withheld]") && said.contains("no version 3"),
            "{line}: {said}"
        );
    }
    let said = place.ctx("show nodes/a 9 --as bo@x.com").exits(1).stderr;
    assert!(said.contains("error[unknown-version]"), "{said}");
}

/// Commands about the logs, whose answers are empty while readers are unknown.
const OF_LOGS: [&str; 9] = [
    "trace list",
    "trace list --json",
    "trace list --format otlp",
    "trace grep publish",
    "trace show 00000000-1",
    "trace hold list",
    "trace hold lift 0a1b2c3d --reason r",
    "impact nodes/a",
    "stage list --source nodes/a",
];

#[test]
fn answers_that_damage_to_the_checkpoint_log_empties_name_the_log() {
    let whole = place_with("reads: stewards\n");
    whole.ctx("approve nodes/a --as bo@x.com").ok();
    let log = ".versions/checkpoints.jsonl";
    let text = whole.read(log);
    let lines: Vec<&str> = text.lines().collect();
    let damages = [
        String::new(),
        [&lines[..1], &lines[2..]].concat().join("\n") + "\n",
        text.replacen(lines[1], "garbled", 1),
    ];
    for damaged in damages {
        let place = whole.duplicate();
        place.ctx("read nodes/b --as bo@x.com").ok();
        place.write(log, &damaged);
        for line in OF_LOGS {
            let said = place.ctx(&format!("{line} --as bo@x.com")).exits(1);
            assert!(said.stderr.contains("log-broken"), "{line}: {}", said.whole());
        }
        // The readable lines come first.
        let listed = place.ctx("trace list --as bo@x.com").exits(1).stdout;
        assert!(listed.contains(" read "), "{listed}");
    }
}

#[test]
fn roles_at_a_checkpoint_are_not_told_with_an_index_either_after_damage() {
    let whole = place_with("versions: {keyframe_interval: 1}\n");
    whole.write("stewards.yaml", whole.read("stewards.yaml") + "# Reviewed.\n");
    whole.ctx("submit stewards.yaml --as ana@x.com").ok();
    whole.ctx("approve stewards.yaml --as bo@x.com").ok();
    let config = ".context/config.yaml";
    whole.write(config, whole.read(config) + "description: d\n");
    whole.ctx("submit .context/config.yaml --as ana@x.com").ok();
    whole.ctx("approve .context/config.yaml --as bo@x.com").ok();
    let roots =
        ["version 1 of `stewards.yaml` cannot be read", "version 1: the stored text has hash"];
    for is_indexed in [false, true] {
        for line in ["owners --at 2", "owners", "owners --access-review", "steward list"] {
            let said = after_damage(&whole, STEWARDS, &format!("{line} --as bo@x.com"), is_indexed);
            names(&said, "`stewards.yaml`");
            assert!(!said.whole().contains("note: you may not read"), "{line}: {}", said.whole());
            // The damaged version is named, and so are dependent answers, by their version.
            assert!(
                roots.iter().any(|root| said.stderr.contains(root)),
                "{line}: {}",
                said.whole()
            );
            assert!(!said.whole().contains("has problems"), "{line}: {}", said.whole());
        }
    }
    let said = after_damage(&whole, CONFIG, "steward list --as bo@x.com", false);
    names(&said, "`.context/config.yaml`");
    let roots = ["version 1 of `.context/config.yaml`", "version 1: the stored text"];
    assert!(roots.iter().any(|root| said.stderr.contains(root)), "{}", said.whole());
    assert!(!said.whole().contains("has problems"), "{}", said.whole());
}

#[test]
fn a_move_whose_source_is_damaged_names_the_damaged_version() {
    let place = place();
    place.edit("nodes/b.md", "Third", "Two");
    place.ctx("mv nodes/b nodes/c --as ana@x.com").ok();
    place.ctx("approve nodes/b --as bo@x.com").ok();
    place.ctx("read nodes/c --as bo@x.com").ok();
    place.write("nodes/.versions/b/v1.md", "# Altered\n");
    let message = "its move cannot be judged, because version 1 of `nodes/b` cannot be read: the \
                   stored text has hash";
    for line in ["read nodes/c", "history nodes/c", "verify"] {
        let blocked = place.home().join("file/caches").display().to_string();
        let line = format!("{line} --as bo@x.com");
        let said = place.typed(&line).var("XDG_CACHE_HOME", &blocked).run().exits(1).whole();
        assert!(said.contains(message) && said.contains("approval-missing"), "{line}: {said}");
        assert!(!said.contains("without a submission"), "{line}: {said}");
    }
}

#[test]
fn a_log_cut_before_the_limit_of_readers_hands_out_nothing() {
    let whole = place_with("reads: stewards\n");
    const LOG: &str = ".versions/checkpoints.jsonl";
    let log = whole.read(LOG);
    let first = log.split_inclusive('\n').next().unwrap();
    assert!(first.len() < log.len(), "{log}");
    let others = ["review", "resolve #none", "trace list", "context nodes/a", "list --at 1"];
    for is_indexed in [false, true] {
        for line in OF_READERS.iter().chain(&others) {
            let place = whole.duplicate();
            let blocked = place.home().join("file/caches").display().to_string();
            let typed = |line: &str| match is_indexed {
                true => place.typed(line),
                false => place.typed(line).var("XDG_CACHE_HOME", &blocked),
            };
            typed("list --as bo@x.com").run().ok();
            place.write(LOG, first);
            for who in ["bo@x.com", "eve@x.com"] {
                let said = typed(&format!("{line} --as {who}")).run();
                assert!(said.exit != 0 && !said.whole().contains("One."), "{}", said.whole());
            }
            // Without the history that records the limit, `stewards.yaml` shows that there was one.
            std::fs::remove_dir_all(place.path(".context/.versions/config.yaml")).unwrap();
            let said = typed(&format!("{line} --as eve@x.com")).run();
            assert!(said.exit != 0 && !said.whole().contains("One."), "{}", said.whole());
        }
        let place = whole.duplicate();
        place.write(LOG, first);
        let read = ("tools/call", json!({"name": "context_read", "arguments": {"id": "nodes/a"}}));
        let answers = asked(&place, "mcp --as eve@x.com", &[("resources/list", json!({})), read]);
        for answer in answers {
            let answer = answer.to_string();
            assert!(answer.contains("withheld") && !answer.contains("One."), "{answer}");
        }
    }
    // All principals may read if the later versions do not limit readers either.
    let open = place();
    let log = open.read(LOG);
    open.write(LOG, log.split_inclusive('\n').next().unwrap());
    assert!(open.ctx("read nodes/a --as eve@x.com").ok().stdout.contains("One."));
}
