//! `reads: stewards`: the texts that a principal may see in a governed vault, for every verb.

use contextnest::model::id::DocumentId;
use contextnest::model::principal::Principal;
use contextnest::model::tag::Tag;
use contextnest::policy::stewards;
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;

use crate::harness::{Output, Place};
use crate::mcp::{STATELESS, answers_of, opener, request};

const VAULT: &str = "vault:\n  - {principal: bo@x.com, role: reviewer}\n  \
                     - {principal: kim@x.com, role: reviewer}\n";

/// Stewards: some read `#hush`, and others `#open`.
const BY_TAGS: &str = "tags:\n  \
    hush: [{principal: kim@x.com, role: reviewer}, {principal: bo@x.com, role: editor}]\n  \
    open: [{principal: vi@x.com, role: viewer}, {principal: kim@x.com, role: reviewer}, \
    {principal: bo@x.com, role: editor}]\n";

/// Returns a governed vault with these documents, which only these stewards read.
fn governed(documents: &[(String, String)], stewards: &str) -> Place {
    let place = Place::vault();
    for (id, text) in documents {
        place.write(&format!("{id}.md"), text);
    }
    place.edit(".context/config.yaml", "layout:", "reads: stewards\nlayout:");
    place.ctx("publish --all").ok();
    place.write("stewards.yaml", format!("version: 1\n{VAULT}{stewards}"));
    place.ctx("govern on").ok();
    place
}

fn documents(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect()
}

/// Returns a vault with two documents for everyone with a role at the vault, one for counsel, and
/// one for readers of `#secret`.
fn example() -> Place {
    let all = documents(&[
        ("nodes/open", "# Open\n\napple pie\n"),
        ("nodes/legal/terms", "# Terms\n\napple cider\n"),
        ("nodes/plan", "---\ntags: [secret]\n---\n# Plan\n\napple juice\n"),
    ]);
    let stewards = "  - {principal: vi@x.com, role: viewer}\n\
        folders: {nodes/legal/: [{principal: lee@x.com, role: reviewer}]}\n\
        tags: {secret: [{principal: sam@x.com, role: editor}]}\n";
    governed(&all, stewards)
}

#[test]
fn a_hold_that_a_reader_may_not_see_cannot_be_lifted_by_its_name() {
    let place = example();
    // Another machine has only the line of the change log.
    let other = place.home().join("other");
    let held = "trace hold place --document nodes/legal/terms --reason case --as lee@x.com";
    let hold = place.typed(held).var("CTX_AUDIT_DIR", other.to_str().unwrap()).run().ok().stdout;
    let lift =
        |who: &str| place.ctx(&format!("trace hold lift {} --reason x --as {who}", hold.trim()));
    let refused = lift("vi@x.com").exits(1);
    assert!(refused.stderr.contains("error[unknown-hold]"), "{}", refused.stderr);
    assert!(!refused.whole().contains("terms"), "{}", refused.whole());
    assert!(lift("lee@x.com").ok().stdout.contains("document nodes/legal/terms"));
}

#[test]
fn a_retired_document_stays_hidden_from_who_could_not_read_it() {
    let all =
        documents(&[("nodes/open", "# Open\n\napple pie\n"), ("nodes/pay", "# Pay\n\napple 5\n")]);
    let stewards = "  - {principal: vi@x.com, role: viewer}\n\
        documents: {nodes/pay: [{principal: lee@x.com, role: reviewer}]}\n";
    let place = governed(&all, stewards);
    place.ctx("read nodes/pay --session s1 --as lee@x.com").ok();
    let asked = |line: &str| place.ctx(&format!("{line} --as vi@x.com"));
    let export = "evidence export --session s1 -o ../bundle.tar";
    let report = "evidence report";
    for is_retired in [false, true] {
        if is_retired {
            place.ctx("retire nodes/pay --emergency --reason x --as lee@x.com").ok();
        }
        let refused = asked(export).exits(3).stderr;
        assert!(refused.starts_with("error[not-a-steward]"), "{is_retired}: {refused}");
        for line in [report, "trace list", "trace grep apple", "impact nodes/pay"] {
            let said = asked(line).whole();
            // A line in the folder of the user is visible to the user.
            let is_hidden = line != report || !said.contains("lee@x.com");
            assert!(!said.contains("apple 5") && is_hidden, "{line}: {said}");
        }
        let left_out = "note: rows of documents that you may not read are left out";
        assert!(asked(report).stderr.contains(left_out), "{is_retired}");
    }
}

#[test]
fn a_reader_sees_what_stewards_allow_and_how_much_is_not_shown() {
    let place = example();
    assert_snapshot!(place.ctx("list --as vi@x.com").whole(), @"
    exit: 0
    -- stdout
    nodes/open  v1  document  Open
    -- stderr
    note: you may not read 2 documents of checkpoint 2
    ");
    assert_snapshot!(place.ctx("list --as lee@x.com").whole(), @"
    exit: 0
    -- stdout
    nodes/legal/terms  v1  document  Terms
    -- stderr
    note: you may not read 2 documents of checkpoint 2
    ");
    assert_snapshot!(place.ctx("resolve type:document --as SAM@x.com").whole(), @"
    exit: 0
    -- stdout
    nodes/plan  v1  document  Plan
    -- stderr
    note: you may not read 2 documents of checkpoint 2
    ");
    assert_snapshot!(place.ctx("search apple --as vi@x.com").whole(), @"
    exit: 0
    -- stdout
    nodes/open#open  v1 9327c7276ee7  0.288  Open
        # Open apple pie
    -- stderr
    1 hit at checkpoint 2, delegated to builtin
    ");
    assert_snapshot!(place.ctx("read nodes/plan --as sam@x.com").whole(), @"
    exit: 0
    -- stdout
    ---
    tags: [secret]
    title: Plan
    type: document
    status: published
    version: 1
    author: ana@example.com
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:01.000Z'
    checksum: sha256:8c1e6e3693ce47570a23c8839f3e2251465c26a3bd13d23c7ee891d5600d9598
    ---
    # Plan

    apple juice
    -- stderr
    ");
    // Stewards of the vault read the documents that no narrower scope reserves.
    assert_snapshot!(place.ctx("list --as bo@x.com").whole(), @"
    exit: 0
    -- stdout
    nodes/open  v1  document  Open
    -- stderr
    note: you may not read 2 documents of checkpoint 2
    ");
}

#[test]
fn a_document_that_may_not_be_read_answers_as_one_that_there_is_not() {
    let place = example();
    let same = |command: &str| {
        let said = |id: &str| {
            let Output { exit, stdout, stderr, .. } =
                place.ctx(&format!("{} --as vi@x.com", command.replace("ID", id)));
            (exit, format!("{stdout}{stderr}").replace(id, "ID"))
        };
        let (hidden, unknown) = (said("nodes/plan"), said("nodes/nope"));
        assert_eq!(hidden, unknown, "{command}");
        assert!(hidden.0 != 0, "{command}: {hidden:?}");
    };
    for command in [
        "read ID",
        "read ID --json",
        "resolve ID",
        "resolve contextnest://ID",
        "resolve contextnest://ID@1",
        "blame ID",
        "show ID 1",
        "diff ID 1 1",
        "diff ID",
        "history ID",
        "neighbors ID",
        "steward who ID",
        "restore ID --version 1",
        "evidence export --document ID -o x.tar",
        "impact ID",
    ] {
        same(command);
    }
}

#[test]
fn nothing_is_readable_without_a_principal() {
    let place = example();
    for command in ["list", "read nodes/open", "search apple", "show nodes/open 1"] {
        let said = place.typed(command).without("CTX_PRINCIPAL").run().exits(2);
        assert_eq!(said.stdout, "", "{command}");
        assert!(said.stderr.contains("--as you@example.com"), "{command}: {}", said.stderr);
    }
    // The working copy is compared for every principal.
    place.typed("verify").without("CTX_PRINCIPAL").run().ok();
    place.typed("status").without("CTX_PRINCIPAL").run().ok();
}

#[test]
fn a_submission_is_shown_to_who_may_read_it() {
    let place = example();
    place.edit("nodes/plan.md", "juice", "vinegar");
    place.ctx("submit nodes/plan --as sam@x.com").ok();
    assert!(place.ctx("review --all --as sam@x.com").ok().stdout.contains("nodes/plan"));
    assert!(!place.ctx("review --all --as vi@x.com").ok().stdout.contains("nodes/plan"));
    let shown = |who: &str| place.ctx(&format!("review show nodes/plan --as {who}"));
    assert!(shown("sam@x.com").ok().stdout.contains("vinegar"));
    let refused = shown("vi@x.com");
    assert!(refused.exit != 0 && !refused.whole().contains("vinegar"), "{}", refused.whole());
    // Another tag in the live file does not open the published text.
    place.edit("nodes/plan.md", "tags: [secret]", "tags: [open]");
    place.ctx("submit nodes/plan --as sam@x.com").exits(3);
}

#[test]
fn an_earlier_text_that_may_not_be_read_is_not_restored() {
    let text = "---\ntags: [hush]\n---\n# T\n\napple juice\n";
    let place = governed(&documents(&[("nodes/t", text)]), BY_TAGS);
    place.edit("nodes/t.md", "tags: [hush]", "tags: [open]");
    place.edit("nodes/t.md", "juice", "pie");
    place.ctx("submit nodes/t --as bo@x.com").ok();
    place.ctx("approve nodes/t --as kim@x.com").ok();
    place.ctx("restore nodes/t --dry-run --as vi@x.com").ok();
    let before = place.read("nodes/t.md");
    for options in ["--dry-run", "", "--force"] {
        let command = format!("restore nodes/t --version 1 {options} --as vi@x.com");
        let refused = place.ctx(command.trim()).exits(1);
        assert!(refused.stderr.contains("error[unknown-version]"), "{}", refused.whole());
        assert!(!refused.whole().contains("juice"), "{}", refused.whole());
    }
    assert_eq!(place.read("nodes/t.md"), before);
    place.ctx("restore nodes/t --version 1 --dry-run --as bo@x.com").ok();
}

#[test]
fn a_refusal_shows_only_versions_that_its_reader_may_read() {
    let text = "---\ntags: [hush]\n---\n# T\n\napple juice\n";
    let place = governed(&documents(&[("nodes/t", text)]), BY_TAGS);
    place.edit("nodes/t.md", "tags: [hush]", "tags: [open]");
    place.ctx("submit nodes/t --as bo@x.com").ok();
    place.ctx("approve nodes/t -m kept --as kim@x.com").ok();
    let refused = |who: &str| {
        let command = format!("retire nodes/t --expect-version 1 --as {who}");
        place.ctx(&command).exits(4).stderr
    };
    assert!(refused("kim@x.com").contains("-tags: [hush]"), "{}", refused("kim@x.com"));
    // A viewer of `#open` may read version 3, but not version 1.
    let viewer = refused("vi@x.com");
    assert!(viewer.contains("version 3, by kim@x.com") && !viewer.contains("juice"), "{viewer}");
    assert!(!viewer.contains("hush"), "{viewer}");
    let hidden = refused("eve@x.com");
    assert_eq!(hidden.replace("nodes/t", "ID"), {
        let command = "retire nodes/nope --expect-version 1 --as eve@x.com";
        place.ctx(command).exits(4).stderr.replace("nodes/nope", "ID")
    });
}

#[test]
fn a_history_has_no_version_that_may_not_be_read() {
    let open = "---\ntags: [open]\n---\n# T\n\napple juice\n";
    let place = governed(&documents(&[("nodes/t", open)]), BY_TAGS);
    for (from, to) in [("open", "hush"), ("hush", "open")] {
        place.edit("nodes/t.md", &format!("tags: [{from}]"), &format!("tags: [{to}]"));
        place.ctx("submit nodes/t --as bo@x.com").ok();
        place.ctx("approve nodes/t --as kim@x.com").ok();
    }
    let versions = |report: &serde_json::Value| -> Vec<u64> {
        let rows = report["versions"].as_array().unwrap();
        rows.iter().map(|row| row["version"].as_u64().unwrap()).collect()
    };
    let listed = |who: &str| {
        let run = place.ctx(&format!("history nodes/t --json --as {who}"));
        versions(&run.ok().json("ctx.history"))
    };
    assert_eq!(listed("kim@x.com"), [1, 2, 3, 4, 5]);
    assert_eq!(listed("vi@x.com"), [1, 4, 5]);
    let mut messages = opener(STATELESS);
    let called = json!({"name": "context_history", "arguments": {"id": "nodes/t", "limit": 1}});
    messages.push(request(STATELESS, 1, "tools/call", called));
    let complete = json!({
        "ref": {"type": "ref/resource", "uri": "contextnest://{+id}@{checkpoint}"},
        "argument": {"name": "checkpoint", "value": ""},
        "context": {"arguments": {"id": "nodes/t"}},
    });
    messages.push(request(STATELESS, 2, "completion/complete", complete));
    let told = answers_of(&place, "mcp --as vi@x.com", &messages);
    let report = &told[&1]["result"]["structuredContent"];
    // The approved step is not shown to a viewer.
    assert_eq!((versions(report), &report["omitted"]), (vec![5], &json!(1)));
    assert_eq!(told[&2]["result"]["completion"]["values"], json!(["4", "1"]));
}

#[test]
fn stewards_in_force_now_decide_about_earlier_checkpoints() {
    let place = example();
    place.ctx("read nodes/legal/terms --at 1 --as lee@x.com").ok();
    place.edit("stewards.yaml", "lee@x.com", "max@x.com");
    place.ctx("submit stewards.yaml --as bo@x.com").ok();
    place.ctx("approve stewards.yaml --as kim@x.com").ok();
    place.ctx("read nodes/legal/terms --at 1 --as lee@x.com").exits(1);
    place.ctx("read nodes/legal/terms --at 1 --as max@x.com").ok();
}

#[test]
fn a_damaged_configuration_opens_nothing() {
    let place = example();
    let history = ".context/.versions/config.yaml/history.yaml";
    let text = place.read(history);
    place.write(history, text.replacen("content_hash: sha256:", "content_hash: sha256:0", 3));
    for who in ["vi@x.com", "sam@x.com"] {
        let said = place.ctx(&format!("read nodes/plan --as {who}"));
        assert_eq!((said.exit != 0, said.stdout.as_str()), (true, ""), "{who}");
    }
}

#[test]
fn a_configuration_that_was_limited_before_the_vault_was_governed_opens_nothing() {
    let place = Place::published(&[("nodes/plan", "# Plan\n")]);
    place.write(".context/config.yaml", place.read(".context/config.yaml") + "reads: stewards\n");
    place.ctx("publish .context/config.yaml").ok();
    for who in ["ana@x.com", "kim@x.com"] {
        place.ctx(&format!("steward assign {who} reviewer --whole-vault")).ok();
    }
    place.ctx("govern on").ok();
    place.ctx("read nodes/plan --as eve@x.com").exits(1);
    let history = ".context/.versions/config.yaml/history.yaml";
    let text = place.read(history);
    let (before, last) = text.rsplit_once("chain_hash: sha256:").unwrap();
    place.write(history, format!("{before}chain_hash: sha256:0{}", &last[1..]));
    for line in ["read nodes/plan", "list", "search plan", "resolve type:document --bodies"] {
        let said = place.ctx(&format!("{line} --as eve@x.com"));
        assert!(!said.whole().contains("Plan"), "{line}: {}", said.whole());
    }
}

#[test]
fn damage_to_a_file_of_the_rules_opens_nothing() {
    let open = documents(&[("nodes/plan", "# Plan\n\napple\n")]);
    // Readers are limited by the event that begins governance, or by a later one.
    let at_once = governed(&open, "");
    let later = Place::published(&[("nodes/plan", "# Plan\n\napple\n")]);
    later.write("stewards.yaml", format!("version: 1\n{VAULT}"));
    later.ctx("govern on").ok();
    later.write(".context/config.yaml", later.read(".context/config.yaml") + "reads: stewards\n");
    later.ctx("submit .context/config.yaml --as bo@x.com").ok();
    later.ctx("approve .context/config.yaml --as kim@x.com").ok();
    let config = ".context/.versions/config.yaml";
    let stewards = ".versions/stewards.yaml";
    let damages: [&dyn Fn(&Place); 5] = [
        &|place| {
            let path = format!("{config}/history.yaml");
            place.write(&path, place.read(&path).replace("+reads: stewards", "+reads: stewardz"));
        },
        &|place| {
            let path = format!("{config}/v1.md");
            place.write(&path, place.read(&path) + "# more\n");
        },
        &|place| {
            let path = format!("{stewards}/v1.md");
            place.write(&path, place.read(&path).replace("bo@x.com", "fo@x.com"));
        },
        &|place| place.remove(&format!("{stewards}/v1.md")),
        &|place| place.remove(stewards),
    ];
    for (whole, what) in [(&at_once, "at once"), (&later, "later")] {
        whole.ctx("read nodes/plan --as eve@x.com").exits(1);
        for (n, damage) in damages.iter().enumerate() {
            for is_cached in [true, false] {
                let place = whole.duplicate();
                damage(&place);
                let audit = place.home().join("audit").display().to_string();
                for line in
                    ["read nodes/plan", "list", "search apple", "show nodes/plan 1", "history"]
                {
                    let asked = place.typed(&format!("{line} --as eve@x.com"));
                    let said = match is_cached {
                        true => asked.run(),
                        false => asked
                            .without("XDG_CACHE_HOME")
                            .without("HOME")
                            .var("CTX_AUDIT_DIR", &audit)
                            .run(),
                    };
                    let is_told =
                        said.stdout.contains("apple") || said.stdout.contains("nodes/plan");
                    assert!(!is_told, "{what} {n} {is_cached} {line}: {}", said.whole());
                }
            }
        }
    }
}

/// Every way to get texts or names.
const QUESTIONS: [&str; 26] = [
    "list",
    "list --snippets",
    "list --snippets --json",
    "list --json",
    "resolve type:document --bodies",
    "resolve type:document --json --bodies",
    "resolve #s + #t --format markdown",
    "resolve contextnest://nodes/ --budget 100",
    "resolve status:published --explain",
    "search apple",
    "search apple --json --explain",
    "search aple",
    "context",
    "context --json",
    "graph",
    "graph --format json",
    "history",
    "history --json",
    "checkpoint list",
    "checkpoint list --json",
    "checkpoint show 1",
    "checkpoint show 1 --json",
    "checkpoint diff 0 1",
    "evidence report",
    "owners",
    "pack list",
];
const OF_ONE: [&str; 6] =
    ["read ID", "blame ID", "show ID 1", "history ID", "neighbors ID", "diff ID 1 1"];

const PEOPLE: [&str; 4] = ["vi@x.com", "lee@x.com", "sam@x.com", "bo@x.com"];
const FOLDERS: [&str; 3] = ["nodes", "nodes/a", "nodes/a/b"];
const TAGS: [&str; 3] = ["s", "t", "u"];

prop_compose! {
    fn document()(folder in 0..3_usize, tags in prop::sample::subsequence(TAGS.to_vec(), 0..3))
        -> (usize, Vec<&'static str>) { (folder, tags) }
}

/// Draws scopes with a role for some people.
fn scopes() -> impl Strategy<Value = Vec<(usize, Vec<&'static str>)>> {
    let people = || prop::sample::subsequence(PEOPLE.to_vec(), 1..3);
    prop::collection::btree_map(0..9_usize, people(), 0..6)
        .prop_map(|map| map.into_iter().collect())
}

/// Returns `stewards.yaml` with these scopes: folders, tags, documents.
fn spelled(scopes: &[(usize, Vec<&str>)], ids: &[String]) -> String {
    let list = |people: &[&str]| {
        let each = people.iter().map(|who| format!("{{principal: {who}, role: viewer}}"));
        format!("[{}]", each.collect::<Vec<_>>().join(", "))
    };
    let mut text = String::new();
    for (kind, key) in ["folders", "tags", "documents"].iter().enumerate() {
        let of_kind: Vec<_> = scopes.iter().filter(|(scope, _)| scope / 3 == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        text.push_str(&format!("{key}:\n"));
        for (scope, people) in of_kind {
            let name = match kind {
                0 => FOLDERS[scope % 3],
                1 => TAGS[scope % 3],
                _ => match ids.get(scope % 3) {
                    Some(id) => id.as_str(),
                    None => "nodes/none",
                },
            };
            text.push_str(&format!("  {name}: {}\n", list(people)));
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, ..ProptestConfig::default() })]
    #[test]
    fn no_verb_hands_out_more_than_a_role_allows(
        made in prop::collection::vec(document(), 3..5), scopes in scopes(), vault in 0..3_usize
    ) {
        let name = |n: usize| format!("doc{}name", ["one", "two", "three", "four", "five"][n]);
        let token = |n: usize| format!("tok{}en", ["one", "two", "three", "four", "five"][n]);
        let all: Vec<(String, String)> = made.iter().enumerate().map(|(n, (folder, tags))| {
            let text = format!("---\ntags: [{}]\n---\n# T\n\napple {}\n", tags.join(", "), token(n));
            (format!("{}/{}", FOLDERS[*folder], name(n)), text)
        }).collect();
        let ids: Vec<String> = all.iter().map(|(id, _)| id.clone()).collect();
        let mut text: String = PEOPLE[..vault].iter()
            .map(|who| format!("  - {{principal: {who}, role: viewer}}\n")).collect();
        text.push_str(&spelled(&scopes, &ids));
        let place = governed(&all, &text);
        let read = stewards::read(&place.read("stewards.yaml")).stewards.unwrap();
        for who in PEOPLE {
            let key = who.parse::<Principal>().unwrap().key();
            let may = |n: usize| {
                let id: DocumentId = ids[n].parse().unwrap();
                let tags: Vec<Tag> = made[n].1.iter().map(|tag| tag.parse().unwrap()).collect();
                read.role_of(&key, &id, &tags).is_some()
            };
            let audit = place.home().join("audit").display().to_string();
            let of_each = OF_ONE.iter().flat_map(|q| ids.iter().map(move |id| q.replace("ID", id)));
            let questions: Vec<String> =
                QUESTIONS.iter().map(|q| (*q).to_owned()).chain(of_each).collect();
            for question in questions {
                // Roles are not secret.
                let named_in_scopes = question == "owners";
                for is_cached in [true, false] {
                    let asked = place.typed(&format!("{question} --as {who}"));
                    let said = match is_cached {
                        true => asked.run(),
                        false => asked.without("XDG_CACHE_HOME").without("HOME")
                            .var("CTX_AUDIT_DIR", &audit).run(),
                    };
                    let text = format!("{}{}", said.stdout, said.stderr);
                    for n in (0..ids.len()).filter(|n| !may(*n)) {
                        let is_asked = question.contains(&name(n));
                        prop_assert!(!text.contains(&token(n)), "{question} as {who}: {text}");
                        prop_assert!(
                            is_asked || named_in_scopes || !text.contains(&name(n)),
                            "{question} as {who}: {text}"
                        );
                    }
                    if question.starts_with("list") {
                        for n in (0..ids.len()).filter(|n| may(*n)) {
                            prop_assert!(text.contains(&ids[n]), "{question} as {who}: {text}");
                        }
                    }
                }
            }
        }
    }
}

/// Returns a vault in which Lee may not read the documents below `nodes/sec/`; some were changed
/// before the vault was governed.
fn with_secrets() -> Place {
    let place = Place::vault();
    place.edit(".context/config.yaml", "layout:", "reads: stewards\nlayout:");
    place.ctx("add nodes/sec/s --title SECRETTITLE --body topsecretword --as ana@x.com").ok();
    place.ctx("add nodes/pub/p --title Open --body 'plain words' --as ana@x.com").ok();
    let lee = "folders: {nodes/pub/: [{principal: lee@x.com, role: viewer}, \
               {principal: ana@x.com, role: editor}, {principal: kim@x.com, role: reviewer}]}\n";
    let ana = "  - {principal: ana@x.com, role: editor}\n";
    place.write("stewards.yaml", format!("version: 1\n{VAULT}{ana}{lee}"));
    place.ctx("govern on --as ana@x.com").ok();
    for id in ["nodes/sec/s", "nodes/pub/p"] {
        place.write(&format!("{id}.md"), place.read(&format!("{id}.md")) + "more\n");
        let note = format!("submit {id} -m 'note about {id}'");
        place.args(&crate::harness::words(&format!("{note} --as ana@x.com"))).run().ok();
        place.ctx(&format!("comment {id} 'remark about {id}' --as kim@x.com")).ok();
        place.ctx(&format!("reject {id} --reason 'reason about {id}' --as kim@x.com")).ok();
    }
    place
}

/// Asserts that the output contains no word that Lee may not read.
fn hides(said: &Output, command: &str) {
    for word in ["sec/s", "SECRETTITLE", "topsecretword"] {
        assert!(!said.whole().contains(word), "{command} tells {word}: {}", said.whole());
    }
}

#[test]
fn a_change_of_a_document_that_may_not_be_read_is_not_in_the_change_log() {
    let place = with_secrets();
    let all = place.ctx("trace list --as kim@x.com --json").ok().json("ctx.trace.list");
    let listed = place.ctx("trace list --as lee@x.com --json").ok().json("ctx.trace.list");
    let changes = |of: &serde_json::Value| -> Vec<(String, String)> {
        let rows = of["traces"].as_array().unwrap().iter();
        let rows = rows.filter(|row| row["event"] == "change");
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        rows.map(|row| (text(&row["trace"]), text(&row["action"]))).collect()
    };
    let (all, seen) = (changes(&all), changes(&listed));
    let words: Vec<&str> = seen.iter().map(|(_, action)| action.as_str()).collect();
    assert_eq!(words, ["event", "submit", "comment", "reject"], "{seen:?}");
    assert!(all.len() > seen.len() + 3, "{all:?}");
    for (trace, _) in &all {
        let is_seen = seen.iter().any(|(other, _)| other == trace);
        for form in ["", " --json", " --format otlp", " --format prov-json"] {
            let command = format!("trace show {trace}{form} --as lee@x.com");
            let said = place.ctx(&command);
            assert_eq!(said.exit == 0, is_seen, "{command}: {}", said.whole());
            hides(&said, &command);
        }
        if !is_seen {
            let unknown = "trace show 00000000-1 --as lee@x.com";
            let said = place.ctx(&format!("trace show {trace} --as lee@x.com"));
            assert_eq!(
                said.stderr.replace(trace.as_str(), "00000000-1"),
                place.ctx(unknown).stderr
            );
        }
    }
    for command in ["trace list --format otlp", "trace list --format prov-json", "trace list"] {
        hides(&place.ctx(&format!("{command} --as lee@x.com")), command);
    }
    // Copies of change logs reveal no more.
    hides(&place.ctx("trace list --logs .context/audit --json --as lee@x.com"), "--logs");
    // Records about a readable document are shown, but no words of a command line.
    for (words, exit) in [
        ("topsecretword", 1),
        ("SECRETTITLE", 1),
        ("about nodes/sec/s", 1),
        ("note about nodes/pub/p", 1),
        ("nodes/pub/p", 0),
    ] {
        let command = format!("trace grep '{words}' --verb submit --as lee@x.com");
        place.args(&crate::harness::words(&command)).run().exits(exit);
    }
    // A principal who may read everything sees all of it; a command without a principal sees
    // nothing.
    place.ctx("trace grep topsecretword --as bo@x.com").exits(1);
    assert!(place.typed("trace list").without("CTX_PRINCIPAL").run().exits(2).stdout.is_empty());
}

#[test]
fn the_line_of_a_move_to_an_id_that_may_not_be_read_is_not_in_the_change_log() {
    let place = with_secrets();
    place.ctx("restore nodes/pub/p --force --as ana@x.com").ok();
    let submits = |who: &str| {
        let listed = place.ctx(&format!("trace list --as {who} --json")).ok();
        let listed = listed.json("ctx.trace.list");
        let rows = listed["traces"].as_array().unwrap().iter();
        rows.filter(|row| row["action"] == "submit").count()
    };
    for (target, is_seen) in [("nodes/pub/q", true), ("nodes/sec/q", false)] {
        let (lee, kim) = (submits("lee@x.com"), submits("kim@x.com"));
        place.ctx(&format!("mv nodes/pub/p {target} --as ana@x.com")).ok();
        assert_eq!(submits("kim@x.com"), kim + 1);
        assert_eq!(submits("lee@x.com"), lee + usize::from(is_seen), "{target}");
        place.ctx("withdraw nodes/pub/p --as ana@x.com").ok();
    }
}

#[test]
fn json_counts_documents_that_a_principal_may_not_read() {
    let place = example();
    for (command, schema) in [
        ("list --json", "ctx.list"),
        ("graph --format json", "ctx.graph"),
        ("owners --json", "ctx.owners"),
        ("checkpoint show 2 --json", "ctx.checkpoint.show"),
        ("resolve type:document --json", "ctx.resolve"),
        ("context --json", "ctx.context"),
    ] {
        let said = place.ctx(&format!("{command} --as vi@x.com")).ok().json(schema);
        assert_eq!(said["may_not_read"], 2, "{command}: {said}");
    }
    for command in ["search apple --json", "read nodes/open --json"] {
        let said = place.ctx(&format!("{command} --as vi@x.com")).ok();
        assert!(!said.stdout.contains("may_not_read"), "{command}");
    }
}

#[test]
fn status_names_a_submission_only_to_its_readers() {
    let place = with_secrets();
    place.ctx("submit nodes/sec/s --as ana@x.com").ok();
    let of = |who: &str| place.ctx(&format!("status --as {who}@x.com")).ok().stdout;
    assert!(of("bo").contains("Submitted, and not edited since"), "{}", of("bo"));
    assert!(!of("lee").contains("Submitted") && !of("lee").contains("Awaiting"), "{}", of("lee"));
}

#[test]
fn a_text_that_may_not_be_read_is_not_said_to_be_different() {
    let place = example();
    place.ctx("read nodes/plan --session s --as sam@x.com").ok();
    let told = |line: &str| {
        let replayed = place.ctx(line).exits(1).stdout;
        let outcome = replayed.lines().next().unwrap().split_once("  ").unwrap().1;
        outcome.to_owned()
    };
    assert_snapshot!(told("replay --session s --as vi@x.com"), @"contextnest://nodes/plan@2 v1  cannot tell: checkpoint 2 does not contain it, or you may not read it");
    assert_snapshot!(told("replay --session s --output --as vi@x.com"), @"read  cannot tell: you may not read all of it");
    place.ctx("replay --session s --as sam@x.com").ok();
}

#[test]
fn an_output_is_made_again_as_who_asked_for_it() {
    let place = example();
    place.ctx("list --session s --as vi@x.com").ok();
    place.ctx("read nodes/open --session s --as vi@x.com").ok();
    place.ctx("resolve type:document --bodies --session s --as vi@x.com").ok();
    let replayed = |who: &str| {
        let told = place.ctx(&format!("replay --session s --output --as {who}")).stdout;
        told.lines()
            .map(|line| line.split_once("  ").map_or(line, |(_, rest)| rest).to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_snapshot!(replayed("vi@x.com"), @"
    list  cannot tell: the output of `list` is not reproduced
    read  same
    resolve  same
    3 outputs: 2 same, 0 different, 1 cannot tell
    ");
    // Another reader may read these texts, but not everything that a list may name.
    assert_snapshot!(replayed("kim@x.com"), @"
    list  cannot tell: you may not read all of it
    read  same
    resolve  same
    3 outputs: 2 same, 0 different, 1 cannot tell
    ");
}

/// Returns a governed vault with two documents; Lee, a reviewer of one, may not read the other.
fn with_a_hidden_part() -> Place {
    let place = Place::vault();
    place.edit(".context/config.yaml", "layout:", "reads: stewards\nlayout:");
    for id in ["nodes/sec/s", "nodes/pub/p"] {
        place.ctx(&format!("add {id} --title Title --body words --as ana@x.com")).ok();
    }
    let folders = "folders:\n  nodes/pub/: [{principal: ana@x.com, role: editor}, \
                   {principal: lee@x.com, role: reviewer}]\n";
    let ana = "  - {principal: ana@x.com, role: editor}\n";
    place.write("stewards.yaml", format!("version: 1\n{VAULT}{ana}{folders}"));
    place.ctx("govern on --as ana@x.com").ok();
    place
}

#[test]
fn a_decision_about_a_change_does_not_name_its_parts_that_may_not_be_read() {
    let place = with_a_hidden_part();
    let submit = || {
        for id in ["nodes/sec/s", "nodes/pub/p"] {
            let path = format!("{id}.md");
            place.write(&path, place.read(&path) + "more\n");
        }
        place.ctx("submit --changed --change one --as ana@x.com").ok();
    };
    let hides = |line: &str| {
        let said = place.ctx(&format!("{line} --as lee@x.com")).ok();
        assert!(!said.whole().contains("sec/s"), "{line}: {}", said.whole());
        said
    };
    submit();
    hides("reject nodes/pub/p --reason wrong");
    submit();
    // The other part waits for its reviewer, or is published with this one.
    hides("approve nodes/pub/p --dry-run");
    hides("approve nodes/pub/p --dry-run --json");
    let waits = hides("approve nodes/pub/p --dry-run").stderr;
    assert_eq!(waits, "note: not decided: 1 part of the change that you may not read\n");
    place.ctx("approve nodes/sec/s --as kim@x.com").ok();
    assert_snapshot!(hides("approve nodes/pub/p").whole(), @"
    exit: 0
    -- stdout
    checkpoint 4 with 1 version, 2026-11-21T10:00:11.000Z
      changed  nodes/pub/p  v5
    -- stderr
    note: also decided: 1 part of the change that you may not read
    ");
    let published = place.ctx("read nodes/sec/s --as kim@x.com").ok().stdout;
    assert!(published.contains("more"), "{published}");
}

#[test]
fn an_error_about_a_change_does_not_name_its_parts_that_may_not_be_read() {
    let place = with_a_hidden_part();
    for id in ["nodes/sec/s", "nodes/pub/p"] {
        let path = format!("{id}.md");
        place.write(&path, place.read(&path) + "more\n");
    }
    place.ctx("submit --changed --change one --as ana@x.com").ok();
    let before = place.tree();
    let state = place.home().join("another/state").display().to_string();
    let lines = ["approve nodes/pub/p", "approve --change one", "reject nodes/pub/p --reason x"];
    let refused = |line: &str| {
        let said = place.typed(&format!("{line} --as lee@x.com")).var("XDG_STATE_HOME", &state);
        let said = said.run().whole();
        assert!(!said.contains("sec"), "{line}: {said}");
        assert!(said.contains("of the change that you may not read"), "{line}: {said}");
        said
    };
    // No line records the withdrawal of the hidden part.
    place.ctx("withdraw nodes/sec/s --as ana@x.com").ok();
    for (path, bytes) in &before {
        if path.starts_with(".context/audit/") || path.starts_with("nodes/pub/.versions/") {
            place.write(path, bytes);
        }
    }
    lines.iter().for_each(|line| drop(refused(line)));
    assert_snapshot!(refused("approve nodes/pub/p"), @"
    exit: 4
    -- stdout
    -- stderr
    error[unexplained]: 1 part of the change that you may not read has a step that no line of the change log names
    hint: a steward who may read every part of the change can see the reason
    ");
    place.write("nodes/pub/p.md", place.read("nodes/pub/p.md") + "mine\n");
    // Its history cannot be read.
    before.iter().for_each(|(path, bytes)| place.write(path, bytes));
    place.write("nodes/sec/.versions/s/history.yaml", "no: history\n");
    lines.iter().for_each(|line| drop(refused(line)));
    assert_snapshot!(refused("approve nodes/pub/p"), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file of the change that you may not read is refused
    hint: a steward who may read every part of the change can see the reason
    ");
}

#[test]
fn a_change_is_not_told_to_who_may_read_no_part_of_it() {
    let place = with_a_hidden_part();
    let submit = |change: &str, ids: &[&str]| {
        for id in ids {
            let path = format!("{id}.md");
            place.write(&path, place.read(&path) + "more\n");
        }
        place.ctx(&format!("submit {} --change {change} --as ana@x.com", ids.join(" "))).ok();
    };
    submit("hidden", &["nodes/sec/s"]);
    let by_lee = |line: &str| place.ctx(&format!("{line} --as lee@x.com"));
    for line in
        ["approve --change NAME", "withdraw --change NAME", "reject --change NAME --reason x"]
    {
        let [known, unknown] = ["hidden", "other"].map(|name| by_lee(&line.replace("NAME", name)));
        assert_eq!(known.whole(), unknown.whole().replace("other", "hidden"), "{line}");
    }
    place.write("nodes/pub/p.md", place.read("nodes/pub/p.md") + "mine\n");
    let refused = by_lee("submit nodes/pub/p --change hidden").exits(4).stderr;
    assert!(!refused.contains("ana@x.com") && !refused.contains("sec/s"), "{refused}");
    place.ctx("withdraw nodes/sec/s --as ana@x.com").ok();
    submit("one", &["nodes/sec/s", "nodes/pub/p"]);
    let shown = by_lee("review show nodes/pub/p").ok().stdout;
    assert!(shown.contains("change one, with 1 document that you may not read"), "{shown}");
    let shown = by_lee("review show nodes/pub/p --json").ok().json("ctx.review.show");
    assert_eq!(shown["members_hidden"], 1);
    place.write("nodes/pub/p.md", place.read("nodes/pub/p.md") + "mine\n");
    for form in [" --dry-run", " --dry-run --json", ""] {
        let said = by_lee(&format!("submit nodes/pub/p --supersede{form}")).ok().whole();
        assert!(!said.contains("sec/s"), "{form}: {said}");
        assert!(form.contains("json") || said.contains("1 part of the change"), "{form}: {said}");
    }
}

#[test]
fn the_block_for_an_agent_says_how_much_may_not_be_read() {
    let place = example();
    let head = |line: &str| {
        let said = place.ctx(&format!("{line} --format markdown")).ok().stdout;
        said.lines().next().unwrap().to_owned()
    };
    let found = head("resolve type:document --as vi@x.com");
    assert!(found.ends_with("withheld=0 may_not_read=2 -->"), "{found}");
    let found = head("resolve type:document --as vi@x.com --budget 4000");
    assert!(found.ends_with("withheld=0 may_not_read=2 -->"), "{found}");
    let found = head("resolve type:document --as bo@x.com");
    assert!(found.contains("may_not_read="), "{found}");
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let said = place.ctx("resolve type:document --format markdown").ok().stdout;
    assert!(!said.contains("may_not_read"), "{said}");
}

#[test]
fn accesses_of_others_in_the_vault_are_not_there_for_a_limited_reader() {
    let place = with_secrets();
    place.edit(".context/config.yaml", "audit:\n", "audit:\n  accesses: vault\n");
    // A stricter live setting is in force (AUDIT-23).
    place.ctx("read nodes/pub/p --session kims --as kim@x.com").ok();
    place.ctx("search 'plain whatKimAsks' --session kims --as kim@x.com").ok();
    place.ctx("read nodes/pub/p --session lees --as LEE@x.com").ok();
    let listed = |who: &str| {
        let listed = place.ctx(&format!("trace list --as {who} --json")).ok();
        let listed = listed.json("ctx.trace.list");
        let rows = listed["traces"].as_array().unwrap().iter();
        let rows = rows.filter(|row| row["event"] != "change");
        rows.map(|row| row["principal"].as_str().unwrap().to_lowercase()).collect::<Vec<_>>()
    };
    assert!(listed("kim@x.com").contains(&"lee@x.com".to_owned()), "{:?}", listed("kim@x.com"));
    let of_lee = listed("lee@x.com");
    assert!(!of_lee.is_empty() && of_lee.iter().all(|who| who == "lee@x.com"), "{of_lee:?}");
    let copies = place.home().join("copies");
    let access = place.path(".context/audit/access");
    std::fs::create_dir(&copies).unwrap();
    for file in std::fs::read_dir(access).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), copies.join(file.file_name())).unwrap();
    }
    let copies = copies.to_str().unwrap();
    for command in [
        "impact nodes/pub/p".to_owned(),
        "replay --session kims".to_owned(),
        "trace grep plain".to_owned(),
        "trace list --json".to_owned(),
        "trace list --format otlp".to_owned(),
        format!("trace list --logs {copies}"),
        format!("impact nodes/pub/p --logs {copies}"),
        "evidence export --session kims --out ../bundle".to_owned(),
    ] {
        let said = place.ctx(&format!("{command} --as lee@x.com")).whole();
        // Changes of documents that Lee may read are shown, even those by Kim.
        let is_of_changes = command.starts_with("trace list");
        for word in ["whatKimAsks", if is_of_changes { "kims" } else { "kim@x.com" }] {
            assert!(!said.contains(word), "{command} tells {word}: {said}");
        }
    }
    place.ctx("trace verify --as lee@x.com").ok();
}

/// Returns a vault that keeps accesses, in which Bo, a reviewer of the whole vault, may not
/// read `nodes/pub/`.
fn with_accesses() -> Place {
    let place = with_secrets();
    place.edit(".context/config.yaml", "audit:\n", "audit:\n  accesses: vault\n");
    place.ctx("read nodes/sec/s --session kims --as kim@x.com").ok();
    place.ctx("read nodes/pub/p --session pubs --as kim@x.com").ok();
    place.ctx("search topsecretword --session kims --as kim@x.com").ok();
    place.ctx("list --session kims --as kim@x.com").ok();
    place
}

#[test]
fn a_reviewer_of_the_vault_answers_for_accesses_of_what_they_may_read() {
    let place = with_accesses();
    let bo = |line: &str| place.ctx(&format!("{line} --as bo@x.com"));
    let listed = bo("trace list --session kims --json").ok().json("ctx.trace.list");
    let rows = listed["traces"].as_array().unwrap();
    let verbs: Vec<&str> = rows.iter().map(|row| row["verb"].as_str().unwrap()).collect();
    // A listing does not record what it listed.
    assert_eq!(verbs, ["read", "search"], "{listed}");
    assert!(rows.iter().all(|row| row["query"].is_null()), "{listed}");
    for row in rows {
        let trace = row["trace"].as_str().unwrap();
        for form in ["", " --json", " --format otlp", " --format prov-json"] {
            let said = bo(&format!("trace show {trace}{form}")).ok().stdout;
            assert!(said.contains("sec/s") || said.contains("sec%2Fs"), "{form}: {said}");
            for word in ["topsecretword", "argv", "query"] {
                assert!(!said.contains(word), "{form} tells {word}: {said}");
            }
        }
    }
    let impact = bo("impact nodes/sec/s --json").ok().json("ctx.impact");
    assert_eq!(impact["accesses"].as_array().unwrap().len(), 2, "{impact}");
    let replayed = bo("replay --session kims").exits(1).stdout;
    assert!(replayed.contains("2 texts: 1 same, 0 different, 1 cannot tell"), "{replayed}");
    let replayed = bo("replay --session kims --output").exits(1).stdout;
    assert!(replayed.contains("its command line is not shown to you"), "{replayed}");
    // Documents that Bo may not read are not shown, and Lee, without a role at the vault, sees
    // nothing.
    assert_snapshot!(bo("replay --session pubs").exits(1).stderr, @"
    note: only what you may read of the logs is shown
    error[unknown-trace]: no such access is recorded that you may read
    hint: `ctx trace list` lists accesses; `ctx trace verify` names lines that were altered
    ");
    assert_eq!(
        bo("replay --session pubs").stderr,
        place.ctx("replay --session kims --as lee@x.com").stderr
    );
    assert_eq!(bo("replay --session pubs").stderr, bo("replay --session nope").stderr);
    let impact = place.ctx("impact nodes/pub/p --as lee@x.com").ok();
    assert!(impact.stderr.contains("no such access that you may read"), "{}", impact.whole());
    assert_eq!(impact.stdout, "");
    let none = bo("trace list --session pubs").ok().stderr;
    assert!(none.contains("recorded access or change that you may read matches"), "{none}");
}

#[test]
fn an_access_is_there_by_the_tags_of_the_version_that_it_handed_out() {
    let place = example();
    place.edit(".context/config.yaml", "audit:\n", "audit:\n  accesses: vault\n");
    place.ctx("read nodes/open --session sams --as bo@x.com").ok();
    place.ctx("read nodes/plan --session sams --as sam@x.com").ok();
    place.ctx("read nodes/legal/terms --session sams --as lee@x.com").ok();
    let listed = place.ctx("trace list --session sams --as vi@x.com --json").ok();
    let listed = listed.json("ctx.trace.list");
    let rows = listed["traces"].as_array().unwrap().iter();
    let who: Vec<&str> = rows.map(|row| row["principal"].as_str().unwrap()).collect();
    assert_eq!(who, ["bo@x.com"], "{listed}");
}

#[test]
fn the_list_of_publications_reports_that_rows_are_left_out() {
    let place = with_secrets();
    let note = "note: rows of documents that you may not read are left out\n";
    for format in ["csv", "html", "json"] {
        let line = format!("evidence report --format {format} --as");
        let told = place.ctx(&format!("{line} lee@x.com")).ok();
        assert!(told.stderr.ends_with(note), "{}", told.whole());
        hides(&told, &line);
        let all = place.ctx(&format!("{line} kim@x.com")).ok().stderr;
        assert!(!all.contains("left out"), "{all}");
    }
    let json = place.ctx("evidence report --json --as lee@x.com").ok();
    assert_eq!(json.json("ctx.evidence.report")["may_not_read"], 1);
}

#[test]
fn no_question_about_the_log_finds_out_which_ids_are_taken() {
    let place = with_secrets();
    for line in [
        "trace hold place --document ID --reason x",
        "trace list --document ID",
        "trace grep x --document ID",
        "trace follow --document ID --for 0",
        "impact ID",
        "evidence export --document ID -o b.ctxe",
    ] {
        let asked = |id: &str| place.ctx(&format!("{} --as lee@x.com", line.replace("ID", id)));
        let (taken, unknown) = (asked("nodes/sec/s"), asked("nodes/sec/z"));
        assert!(unknown.stderr.contains("error[unknown-id]"), "{line}: {}", unknown.whole());
        assert_eq!(taken.exit, unknown.exit, "{line}");
        assert_eq!(taken.whole().replace("nodes/sec/s", "nodes/sec/z"), unknown.whole(), "{line}");
    }
    assert!(place.ctx("trace hold list --as kim@x.com").ok().stdout.is_empty());
    let told = place.ctx("trace hold list --as lee@x.com").ok().stderr;
    let note = "note: only holds of this machine, and those that you may lift, are listed\n";
    assert_eq!(told, note);
    place.ctx("trace hold place --document nodes/sec/s --reason x --as kim@x.com").ok();
}
