//! `ctx search`: published and current texts, verified, in one order.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::Value;

use crate::harness::{Place, files_in};

const FEES: &str = "---\ntitle: Fees\ntags: [billing]\n---\n# Fees\n\nWhat we charge.\n\n## Late \
                    payment\n\nA late payment costs a fee of 5 %.\n\n## Refunds\n\nFees are refunded on request.\n";
const RETURNS: &str = "# Returns\n\nReturns within 30 days. No fee.\n";

fn place() -> Place {
    Place::published(&[
        ("nodes/fees", FEES),
        ("nodes/returns", RETURNS),
        ("nodes/jp", "# 返品\n\n返品規則は三十日です。\n"),
    ])
}

/// Returns the names of the sections that were found, in order.
fn names(json: &Value) -> Vec<String> {
    let name = |hit: &Value| match hit["anchor"].as_str() {
        Some(anchor) => format!("{}#{anchor}", hit["id"].as_str().unwrap()),
        None => hit["id"].as_str().unwrap().to_owned(),
    };
    json["hits"].as_array().unwrap().iter().map(name).collect()
}

fn found(place: &Place, query: &str) -> Vec<String> {
    names(&place.args(&["search", "--json", query]).run().ok().json("ctx.search"))
}

/// Returns the path of the index of a vault, whose folder has an unknown name.
fn index(place: &Place) -> PathBuf {
    let caches = place.home().join(".cache/contextnest");
    let vault = fs::read_dir(caches).unwrap().next().unwrap().unwrap().path();
    vault.join("search")
}

#[test]
fn sections_are_found_with_version_chain_hash_and_class() {
    let place = place();
    assert_snapshot!(place.ctx("search late fees").whole(), @"
    exit: 0
    -- stdout
    nodes/fees#late-payment  v1 2de0aa289fef  7.661  Fees
        ## Late payment A late payment costs a fee of 5 %.
    nodes/fees#fees  v1 2de0aa289fef  3.388  Fees
        # Fees What we charge.
    nodes/fees#refunds  v1 2de0aa289fef  1.798  Fees
        ## Refunds Fees are refunded on request.
    nodes/returns#returns  v1 0712b9773bb5  0.150  Returns
        # Returns Returns within 30 days. No fee.
    -- stderr
    4 hits at checkpoint 1, delegated to builtin
    ");
    let output = place.ctx("search late --json").ok();
    assert_snapshot!(output.stdout, @r###"
    {
      "schema": "ctx.search",
      "schema_version": 2,
      "query": "late",
      "class": "delegated",
      "backend": "builtin",
      "checkpoint": 1,
      "hits": [
        {
          "id": "nodes/fees",
          "anchor": "late-payment",
          "uri": "contextnest://nodes/fees@1#late-payment",
          "title": "Fees",
          "heading": "Late payment",
          "type": "document",
          "tags": [
            "billing"
          ],
          "version": 1,
          "checkpoint": 1,
          "chain_hash": "sha256:2de0aa289fef69e8ea6d2f6be4cad6093faf8dfe553bcf2985d740e52cced5cd",
          "class": "delegated",
          "score": 4.125057,
          "snippet": {
            "text": "## Late payment A late payment costs a fee of 5 %.",
            "matches": [
              {
                "start": 3,
                "end": 7
              },
              {
                "start": 18,
                "end": 22
              }
            ],
            "cut_before": false,
            "cut_after": false
          }
        }
      ],
      "withheld": [],
      "notes": []
    }
    "###);
    let json = output.json("ctx.search");
    let uri = json["hits"][0]["uri"].as_str().unwrap();
    assert!(place.ctx(&format!("read {uri}")).ok().stdout.starts_with("## Late payment\n"));
    let snippet = &json["hits"][0]["snippet"];
    let range = &snippet["matches"][0];
    let at = |key: &str| usize::try_from(range[key].as_u64().unwrap()).unwrap();
    assert_eq!(&snippet["text"].as_str().unwrap()[at("start")..at("end")], "Late");
}

#[test]
fn scores_are_explained() {
    let place = place();
    assert_snapshot!(place.ctx("search late fees --limit 1 --explain").whole(), @"
    exit: 0
    -- stdout
    nodes/fees#late-payment  v1 2de0aa289fef  7.661  Fees
        ## Late payment A late payment costs a fee of 5 %.
        3.277708 title: fee (boost 3, idf 0.980829 for 1 of 3, 1 in 1 words, average 1.33)
        0.257922 body: fee (boost 1, idf 0.287682 for 4 of 5, 1 in 10 words, average 7.80)
        2.358998 heading: late (boost 2, idf 1.386294 for 1 of 5, 1 in 2 words, average 1.40)
        1.766059 body: late (boost 1, idf 1.386294 for 1 of 5, 2 in 10 words, average 7.80)
        7.660687 in total; 1.000000 of it for the found part of the query
    -- stderr
    1 hit at checkpoint 1, delegated to builtin
    ");
    let json = place.ctx("search late fees --limit 1 --explain --json").ok().json("ctx.search");
    let hit = &json["hits"][0];
    let reasons = hit["explain"].as_array().unwrap();
    let sum: f64 = reasons.iter().map(|reason| reason["score"].as_f64().unwrap()).sum();
    let share = reasons[0]["share"].as_f64().unwrap();
    assert!((sum * share - hit["score"].as_f64().unwrap()).abs() < 1e-6);
}

#[test]
fn words_phrases_tags_and_scripts_without_blanks_are_found() {
    let place = place();
    assert_eq!(found(&place, "LATE"), ["nodes/fees#late-payment"]);
    assert_eq!(found(&place, "\"payment costs\""), ["nodes/fees#late-payment"]);
    assert_eq!(found(&place, "\"costs payment\""), [""; 0]);
    assert_eq!(found(&place, "#billing"), ["nodes/fees#fees"]);
    assert_eq!(found(&place, "規則"), ["nodes/jp#返品"]);
    assert_eq!(found(&place, "return"), ["nodes/returns#returns"]);
    assert_snapshot!(place.ctx("search unheard-of").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    note: no section matches at checkpoint 1, delegated to builtin
    ");
    assert_snapshot!(place.ctx("search '!'").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[query-invalid]: the query contains no word
    hint: a search word must contain letters or digits
    ");
    assert_eq!(place.ctx("search").exits(2).stdout, "");
    assert_eq!(place.ctx("search fee --limit 1").ok().lines().len(), 2);
    assert_snapshot!(Place::vault().ctx("search fee").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    hint: nothing is published; `ctx status` shows what can be
    ");
}

#[test]
fn only_what_is_published_and_current_is_found() {
    let place = place();
    assert_eq!(found(&place, "charge").len(), 1);
    place.edit("nodes/fees.md", "What we charge.", "Superseding words.");
    assert_eq!(found(&place, "superseding"), [""; 0], "an edit is not published");
    place.ctx("publish --changed").ok();
    assert_eq!(found(&place, "superseding"), ["nodes/fees#fees"]);
    assert_eq!(found(&place, "charge"), [""; 0], "an old version is not current");
    place.write("nodes/draft.md", "---\ntitle: D\nstatus: draft\n---\nUnfinished.\n");
    place
        .write("nodes/planted.md", "---\ntitle: P\nstatus: published\nversion: 1\n---\nPlanted.\n");
    assert_eq!(found(&place, "unfinished planted"), [""; 0]);
    place.ctx("retire nodes/returns").ok();
    assert_eq!(found(&place, "returns"), [""; 0], "a retired document is not current");
    assert_eq!(found(&place, "contextnest vault"), [""; 0], "governance files are no documents");
}

#[test]
fn the_answer_is_that_of_the_state_however_the_index_came_about() {
    let documents: Vec<(String, String)> = (0..30)
        .map(|n| {
            (
                format!("nodes/d{n}"),
                format!("# Doc {n}\n\nFee {}\n\n## More\n\nfee late {n}\n", n % 3),
            )
        })
        .collect();
    let (one, other) = (Place::vault(), Place::vault());
    for (place, order) in
        [(&one, documents.iter().collect::<Vec<_>>()), (&other, documents.iter().rev().collect())]
    {
        order.iter().for_each(|(id, text)| place.write(&format!("{id}.md"), text));
        place.ctx("publish --all").ok();
    }
    let ask =
        |place: &Place| place.ctx("search fee late 7 --limit 50 --json --explain").ok().stdout;
    assert_eq!(ask(&one), ask(&other));
    // One vault is indexed step by step, and the other only at the end.
    other.remove("nodes/d3.md");
    for place in [&one, &other] {
        place.ctx("publish nodes/d1").ok();
        for n in [5, 9, 5] {
            place.edit(&format!("nodes/d{n}.md"), "late", "late late");
            place.ctx("publish --changed").ok();
            // The clock advances equally for both.
            match std::ptr::eq(place, &one) {
                true => drop(ask(place)),
                false => drop(place.ctx("status").ok()),
            }
        }
        place.write("nodes/new.md", "# New\n\nlate fee 7\n");
        place.ctx("publish nodes/new").ok();
        place.ctx("retire nodes/d3").ok();
    }
    let extended = ask(&one);
    assert_eq!(extended, ask(&other));
    let fresh =
        one.typed("search fee late 7 --limit 50 --json --explain").without("HOME").run().ok();
    assert_eq!(extended, fresh.stdout, "an index in memory says the same");
    fs::remove_dir_all(index(&one)).unwrap();
    assert_eq!(extended, ask(&one), "a new index finds the same");
    assert_eq!(extended, ask(&one), "and one that is found");
}

#[test]
fn a_damaged_or_foreign_index_changes_nothing() {
    let place = place();
    let ask = || place.ctx("search late fee returns --json").ok();
    let (expected, told) = (ask().stdout, ask().stderr);
    let files: Vec<String> = files_in(&index(&place)).into_keys().collect();
    assert!(files.len() > 5, "{files:?}");
    for damage in ["cut", "flip", "flip unseen", "empty", "remove", "garbage"] {
        for name in &files {
            let path = index(&place).join(name);
            let Ok(found) = path.metadata() else { continue };
            let mut bytes = fs::read(&path).unwrap();
            match damage {
                "cut" => bytes.truncate(bytes.len() / 2),
                "empty" => bytes.clear(),
                "garbage" => bytes = b"{\"format\": []}".repeat(40),
                "remove" => fs::remove_file(&path).unwrap(),
                _ => bytes.iter_mut().for_each(|byte| *byte ^= 0x55),
            }
            if damage != "remove" {
                fs::write(&path, bytes).unwrap();
            }
            if damage == "flip unseen" {
                let file = fs::File::options().write(true).open(&path).unwrap();
                file.set_modified(found.modified().unwrap()).unwrap();
            }
            let answer = ask();
            assert_eq!(answer.stdout, expected, "{damage} {name}");
            assert_eq!(answer.stderr, told, "{damage} {name}");
        }
    }
    // The index of another vault replaces this one's.
    let other =
        Place::published(&[("nodes/fees", "# Late\n\nOther late fee.\n"), ("nodes/x", "Late.\n")]);
    let _ = other.ctx("search late").ok();
    fs::remove_dir_all(index(&place)).unwrap();
    for (path, bytes) in files_in(&index(&other)) {
        let path = index(&place).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    assert_eq!(ask().stdout, expected);
    // A folder that others may write to is not used.
    fs::set_permissions(index(&place), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(ask().stdout, expected);
}

#[test]
fn many_searches_at_once_build_one_index_and_agree() {
    let place = place();
    let children: Vec<_> =
        (0..8).map(|_| place.typed("search fee --json").command().spawn().unwrap()).collect();
    let outputs: Vec<Vec<u8>> =
        children.into_iter().map(|child| child.wait_with_output().unwrap().stdout).collect();
    assert!(!outputs[0].is_empty() && outputs.iter().all(|output| *output == outputs[0]));
    let generations = fs::read_dir(index(&place))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_type().unwrap().is_dir());
    assert_eq!(generations.count(), 1);
    let mode = fs::metadata(index(&place)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_document_that_cannot_be_verified_is_withheld_and_comes_back() {
    let place = place();
    let history = "nodes/.versions/fees/v1.md";
    let whole = place.read(history);
    assert_eq!(found(&place, "fee").len(), 4);
    place.write(history, whole.replace("5 %", "9 %"));
    let output = place.ctx("search fee").exits(1);
    assert!(
        output.stderr.contains("error[withheld]: `nodes/fees` is withheld"),
        "{}",
        output.stderr
    );
    assert!(!output.stdout.contains("9 %") && output.stdout.contains("nodes/returns"));
    // An index that is built meanwhile cannot contain it, so any query may match it.
    fs::remove_dir_all(index(&place)).unwrap();
    for _ in 0..2 {
        let json = place.ctx("search returns --json").exits(1).json("ctx.search");
        assert_eq!(json["withheld"][0]["id"], "nodes/fees");
        assert_eq!(names(&json), ["nodes/returns#returns"]);
    }
    place.write(history, whole);
    assert_eq!(found(&place, "fee").len(), 4);
}

#[test]
fn hostile_texts_cannot_control_a_terminal_or_hide_a_word() {
    let long = format!("# Long\n\nmarker {}\n", "x".repeat(1 << 20));
    let place = Place::published(&[
        ("nodes/esc", "# E\u{1b}[31m\n\nmarker \u{202e}\u{9b}evil pay\u{200b}ment\n"),
        ("nodes/long", &long),
    ]);
    let output = place.ctx("search marker").ok();
    assert!(!output.stdout.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{}", output.stdout);
    assert!(output.stdout.contains("\\u{202e}") && output.stdout.len() < 1500);
    assert_eq!(found(&place, "payment").len(), 1);
    let hostile = place.args(&["search", "\u{1b}]0;x\u{7} nothing\u{202e}"]).run().ok();
    assert!(!hostile.stderr.contains('\u{1b}'));
}

/// Writes a program outside of the vault and returns its path.
pub(super) fn program(place: &Place, script: &str) -> String {
    let path = place.home().join("program");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_program_proposes_and_the_chain_decides() {
    let place = place();
    place.edit("nodes/fees.md", "What we charge.", "Live words.");
    place.write("nodes/draft.md", "---\ntitle: D\nstatus: draft\n---\nUnfinished.\n");
    let program = program(
        &place,
        r##"cat > ../$0.asked 2>/dev/null || cat > "$0.asked"
echo '{"hits":[{"id":"nodes/returns","score":0.5},{"id":"nodes/fees","anchor":"refunds","score":0.5,"text":"forged"},
{"id":"nodes/fees","anchor":"none","score":0.25},{"id":"nodes/fees","anchor":"refunds","score":0.1},
{"id":"nodes/draft","score":9},{"id":"CONTEXT.md","score":9},{"id":"../etc/passwd","score":9},{"id":"nodes/jp","score":-1}]}'"##,
    );
    let run = |line: &str| place.typed(line).var("CTX_SEARCH_COMMAND", &program).run();
    assert_snapshot!(run("search costs 'late fee' --limit 5").whole(), @"
    exit: 0
    -- stdout
    nodes/fees#refunds  v1 2de0aa289fef  0.500  Fees
        ## Refunds Fees are refunded on request.
    nodes/returns  v1 0712b9773bb5  0.500  Returns
        # Returns Returns within 30 days. No fee.
    nodes/fees  v1 2de0aa289fef  0.250  Fees
        # Fees What we charge. ## Late payment A late payment costs a fee of 5 %. ## Refunds Fees are refunded on request.
    nodes/jp  v1 eba82030719e  -1.000  返品
        # 返品 返品規則は三十日です。
    -- stderr
    4 hits at checkpoint 1, delegated to program
    note: hits of program left out, because they are not published documents: 3
    note: hits of program left out, because they were named before: 1
    note: hits of program shown as whole documents, because their sections do not exist: 1
    ");
    let json = run("search fee --limit 5 --json").ok().json("ctx.search");
    assert_eq!(
        (json["class"].as_str(), json["backend"].as_str()),
        (Some("delegated"), Some("program"))
    );
    assert_eq!(json["hits"][0]["chain_hash"].as_str().unwrap().len(), 71);
    assert!(!json.to_string().contains("forged") && !json.to_string().contains("Live words"));
    let asked: Value =
        serde_json::from_slice(&fs::read(format!("{program}.asked")).unwrap()).unwrap();
    assert_eq!(
        (&asked["protocol"], &asked["query"], &asked["limit"]),
        (&1.into(), &"fee".into(), &5.into())
    );
    assert_eq!((&asked["checkpoint"], asked["vault"].as_str()), (&1.into(), place.root().to_str()));
}

#[test]
fn a_program_that_does_not_answer_is_an_error_and_no_index_takes_its_place() {
    let place = place();
    let run = |script: &str| {
        let program = program(&place, script);
        let run = place.typed("search fee").var("CTX_SEARCH_COMMAND", &program);
        run.var("CTX_SEARCH_TIMEOUT", "1").run()
    };
    assert_snapshot!(run("echo 'no \u{1b}[31mmodel' >&2; exit 7").whole(), @r#"
    exit: 5
    -- stdout
    -- stderr
    error[search-failed]: `program` failed: exit status: 7
      no \u{1b}[31mmodel
    hint: spec/search.md defines what a search program reads and prints; without CTX_SEARCH_COMMAND and a program in your configuration the built-in index is used
    "#);
    assert_snapshot!(run("sleep 30").whole(), @"
    exit: 5
    -- stdout
    -- stderr
    error[search-failed]: `program` did not answer within 1 seconds
    hint: spec/search.md defines what a search program reads and prints; without CTX_SEARCH_COMMAND and a program in your configuration the built-in index is used
    ");
    for script in
        ["echo nothing", "exec yes", "echo '{\"hits\":[{\"id\":\"nodes/fees\",\"score\":NaN}]}'"]
    {
        let output = run(script).exits(5);
        assert!(output.stderr.starts_with("error[search-failed]: `program` "), "{}", output.stderr);
        assert_eq!(output.stdout, "");
    }
    let relative = place.typed("search fee").var("CTX_SEARCH_COMMAND", "program").run();
    assert_snapshot!(relative.whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[config-invalid]: `program` is not run: its path is not absolute
    hint: a program is a file outside of the vault, named by its absolute path
    ");
}

#[test]
fn only_the_user_names_a_program_and_never_the_vault() {
    let place = place();
    let program = program(&place, "touch \"$0.ran\"; echo '{\"hits\":[]}'");
    let ran = || fs::remove_file(format!("{program}.ran")).is_ok();
    let config = place.read(".context/config.yaml");
    let vault = place.root().to_str().unwrap().to_owned();
    for search in [format!("{{backend: command, command: [{program}]}}"), program.clone()] {
        place.write(".context/config.yaml", format!("{config}search: {search}\n"));
        let output = place.ctx("search late").ok();
        assert!(
            output.stderr.contains("note: `search` in .context/config.yaml is ignored"),
            "{}",
            output.stderr
        );
        assert_eq!(output.lines().len(), 2, "{}", output.stdout);
        assert!(!ran());
    }
    place.write(".context/config.yaml", format!("{config}search: {{backend: builtin}}\n"));
    assert_eq!(
        place.ctx("search late").ok().stderr,
        "1 hit at checkpoint 1, delegated to builtin\n"
    );
    let user = place.home().join(".config/contextnest");
    fs::create_dir_all(&user).unwrap();
    let of = |vault: &str| {
        format!("vaults:\n  {vault}:\n    search:\n      command: [{program}]\n      timeout: 5\n")
    };
    fs::write(user.join("config.yaml"), of("/somewhere/else")).unwrap();
    assert_eq!(place.ctx("search late").ok().lines().len(), 2);
    fs::write(user.join("config.yaml"), of(&vault)).unwrap();
    let output = place.ctx("search late").ok();
    assert_eq!(output.stderr, "note: no section matches at checkpoint 1, delegated to program\n");
    assert!(ran());
    let output = place.typed("search late").var("XDG_CONFIG_HOME", &vault).run().ok();
    assert_eq!(output.lines().len(), 2, "there is none in the vault: {}", output.stderr);
    place.write("contextnest/config.yaml", of(&vault));
    place.typed("search late").var("XDG_CONFIG_HOME", &vault).run().exits(2);
    assert!(!ran());
}

#[test]
fn the_example_of_the_specification_answers() {
    let place = place();
    let spec = fs::read_to_string(crate::harness::repository().join("spec/search.md")).unwrap();
    let script = spec.split_once("```sh\n#!/bin/sh\n").unwrap().1.split_once("```").unwrap().0;
    let program = program(&place, script);
    let run = |line: &str| place.typed(line).var("CTX_SEARCH_COMMAND", &program).run().ok();
    let json = run("search late words --json").json("ctx.search");
    assert_eq!(
        (names(&json), json["notes"].as_array().unwrap().len()),
        (vec!["nodes/fees".to_owned()], 0)
    );
    assert_eq!(run("search absent").stdout, "");
}

#[test]
fn accents_typing_errors_and_beginnings_are_found_and_marked() {
    let place = Place::published(&[
        ("nodes/cafe", "# Café\n\nÉlan of the Ελλάδα, ёлка.\n"),
        ("nodes/pay", "# Payment\n\nPayments and payroll, paid late.\n"),
    ]);
    let marks = |line: &str| -> Vec<String> {
        let json = place.ctx(&format!("search {line} --json")).ok().json("ctx.search");
        let marked = |hit: &Value| {
            let text = hit["snippet"]["text"].as_str().unwrap();
            let range = |m: &Value| {
                let at = |key: &str| usize::try_from(m[key].as_u64().unwrap()).unwrap();
                text[at("start")..at("end")].to_owned()
            };
            hit["snippet"]["matches"].as_array().unwrap().iter().map(range).collect::<Vec<_>>()
        };
        json["hits"].as_array().unwrap().iter().flat_map(marked).collect()
    };
    for query in ["cafe", "CAFÉ", "cafes"] {
        assert_eq!(marks(query), ["Café"], "{query}");
    }
    assert_eq!(marks("ελλαδα елка elan"), ["Élan", "Ελλάδα", "ёлка"]);
    // One letter missing, added or replaced, and two letters swapped.
    for query in ["paymnt", "paymentt", "pajment", "paymetn"] {
        assert_eq!(marks(query), ["Payment", "Payments"], "{query}");
    }
    for query in ["pamnt", "'\"paymnt\"'", "layte1", "paod"] {
        assert_eq!(marks(query), [""; 0], "{query}");
    }
    assert_eq!(marks("payr --prefix"), ["payroll"]);
    assert_eq!(marks("late pay --prefix"), ["Payment", "Payments", "payroll", "late"]);
    assert_eq!(marks("pay late --prefix"), ["late"]);
    assert_snapshot!(place.ctx("search paymnt --explain").whole(), @"
    exit: 0
    -- stdout
    nodes/pay#payment  v1 f354bc490964  2.209  Payment
        # Payment Payments and payroll, paid late.
        1.039721 title: paymnt ~ payment (boost 1.5, idf 0.693147 for 1 of 2, 1 in 1 words, average 1.00)
        0.693147 heading: paymnt ~ payment (boost 1, idf 0.693147 for 1 of 2, 1 in 1 words, average 1.00)
        0.476539 body: paymnt ~ payment (boost 0.5, idf 0.693147 for 1 of 2, 2 in 6 words, average 6.00)
        2.209407 in total; 1.000000 of it for the found part of the query
    -- stderr
    1 hit at checkpoint 1, delegated to builtin
    note: no document contains `paymnt`; found instead: `payment`
    ");
    // Retired texts do not match, even if an index still contains them.
    place.ctx("retire nodes/pay").ok();
    assert_eq!(marks("paymnt"), [""; 0]);
}
