//! Searches in selectors: the results of a back-end are a set like others, of the head, verified,
//! and marked as delegated.

use std::fs;

use insta::assert_snapshot;

use crate::harness::{Output, Place};
use crate::search::program;

/// Returns a vault with three documents, two of them with the word `fee`, and a pack that searches.
fn place() -> Place {
    let place = Place::vault();
    place.write("nodes/fees.md", "---\ntitle: Fees\ntags: [billing]\n---\n# Fees\n\nA fee.\n");
    place.write("nodes/returns.md", "---\ntitle: Returns\ntags: [retail]\n---\nNo fee.\n");
    place.write("nodes/team.md", "---\ntitle: Team\ntags: [retail]\n---\nWho we are.\n");
    place.write(
        "packs/money.yml",
        "id: money\nlabel: Money\nquery: 'contextnest://search/fee - #retail'\n",
    );
    place.ctx("publish --all").ok();
    place
}

fn ids(place: &Place, selector: &str) -> String {
    place.args(&["resolve", selector, "--ids"]).run().ok().lines().join(" ")
}

/// Returns the answer to a selector, or its explanation.
fn answer(place: &Place, verb: &str, selector: &str) -> Output {
    match verb {
        "explain" => place.args(&["resolve", "--explain", selector, "--json"]).run(),
        verb => place.args(&[verb, selector, "--json"]).run(),
    }
}

#[test]
fn resolve_treats_search_results_as_a_set() {
    let place = place();
    assert_snapshot!(place.ctx("resolve contextnest://search/fee").whole(), @"
    exit: 0
    -- stdout
    nodes/fees#fees  v1  document  Fees
    nodes/returns    v1  document  Returns
    -- stderr
    note: found by builtin; another search program may find other sections
    ");
    for (selector, expected) in [
        ("contextnest://search/fee - #retail", "nodes/fees"),
        ("#retail + contextnest://search/fee", "nodes/returns"),
        ("contextnest://search/who%20are | #billing", "nodes/team nodes/fees"),
        ("\"contextnest://search/who+are\" | #billing", "nodes/team nodes/fees"),
        ("contextnest://search/fee - contextnest://search/fee", ""),
        ("#retail - contextnest://search/absent", "nodes/returns nodes/team"),
        ("pack:money | #retail", "nodes/fees nodes/returns nodes/team"),
    ] {
        assert_eq!(ids(&place, selector), expected, "{selector}");
    }
    assert_snapshot!(place.ctx("resolve contextnest://search/absent").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    note: no published document matches at checkpoint 1
    note: found by builtin; another search program may find other sections
    ");
    let nothing = Place::vault().ctx("resolve contextnest://search/fee --json").ok();
    assert_eq!(nothing.json("ctx.resolve")["class"], "delegated");
}

#[test]
fn an_answer_says_its_class_and_its_back_end() {
    let place = place();
    let said = |verb: &str, selector: &str| {
        let json = answer(&place, verb, selector).ok().json(&format!("ctx.{verb}"));
        (json["class"].as_str().unwrap().to_owned(), json["backend"].as_str().map(str::to_owned))
    };
    for verb in ["resolve", "explain"] {
        for (selector, class) in [
            ("contextnest://nodes/fees", "direct"),
            ("\"contextnest://nodes/fees#fees\"", "direct"),
            ("contextnest://nodes/fees@1", "direct"),
            ("contextnest://nodes/", "set"),
            ("contextnest://tag/retail", "set"),
            ("#retail", "set"),
            ("contextnest://nodes/fees | contextnest://nodes/team", "set"),
        ] {
            assert_eq!(said(verb, selector), (class.to_owned(), None), "{verb} {selector}");
        }
        for selector in
            ["contextnest://search/fee", "#retail - contextnest://search/x", "pack:money"]
        {
            let expected = ("delegated".to_owned(), Some("builtin".to_owned()));
            assert_eq!(said(verb, selector), expected, "{verb} {selector}");
        }
    }
    assert_snapshot!(place.ctx("resolve --explain 'contextnest://search/fee - #retail'").whole(), @"
    exit: 0
    -- stdout
    contextnest://search/fee - #retail at checkpoint 1
      -                                    1
        contextnest://search/fee           2
          |                                2
            contextnest://nodes/fees#fees  1
            contextnest://nodes/returns    1
        #retail                            2
    cost: 3 sets looked up, 3 documents in them, 1 text in the answer
    -- stderr
    note: found by builtin; another search program may find other sections
    ");
    let show = place.ctx("pack show money --json").ok().json("ctx.pack.show");
    assert_eq!((&show["class"], &show["backend"]), (&"delegated".into(), &"builtin".into()));
    assert_eq!(show["documents"].as_array().unwrap().len(), 1);
}

#[test]
fn a_list_of_packs_asks_no_back_end() {
    let place = place();
    let program = program(&place, "touch \"$0.ran\"; echo '{\"hits\":[]}'");
    let list = place.typed("pack list").var("CTX_SEARCH_COMMAND", &program).run();
    assert_snapshot!(list.whole(), @"
    exit: 0
    -- stdout
    money  delegated  packs/money.yml v1  Money
    -- stderr
    ");
    let list = place.typed("pack list --json").var("CTX_SEARCH_COMMAND", &program).run().ok();
    let pack = &list.json("ctx.pack.list")["packs"][0];
    assert_eq!((pack["class"].as_str(), pack["documents"].is_null()), (Some("delegated"), true));
    assert!(!fs::exists(format!("{program}.ran")).unwrap());
    place.typed("pack show money").var("CTX_SEARCH_COMMAND", &program).run().ok();
    assert!(fs::exists(format!("{program}.ran")).unwrap());
}

#[test]
fn only_what_is_published_and_current_is_in_the_set() {
    let place = place();
    let answer = || ids(&place, "contextnest://search/fee+superseding+unfinished+planted");
    assert_eq!(answer(), "nodes/fees nodes/returns");
    place.edit("nodes/fees.md", "A fee.", "Superseding words.");
    place.write("nodes/draft.md", "---\ntitle: D\nstatus: draft\n---\nUnfinished fee.\n");
    place.write("nodes/planted.md", "---\nstatus: published\nversion: 1\n---\nPlanted fee.\n");
    place.write("nodes/.versions/planted/v1.md", "---\ntitle: P\n---\nPlanted fee.\n");
    assert_eq!(answer(), "nodes/fees nodes/returns");
    assert_eq!(ids(&place, "contextnest://search/superseding"), "", "an edit is not published");
    place.ctx("publish nodes/fees").ok();
    place.ctx("retire nodes/returns").ok();
    assert_eq!(answer(), "nodes/fees");
    assert_eq!(
        ids(&place, "contextnest://search/%22a+fee%22"),
        "",
        "an old version is not current"
    );
    // The program proposes all of these, with texts of its own.
    let program = program(
        &place,
        r#"echo '{"hits":[{"id":"nodes/draft","score":9},{"id":"nodes/planted","score":9},
{"id":"nodes/returns","score":9},{"id":"CONTEXT.md","score":9},{"id":"../etc/passwd","score":9},
{"id":"nodes/fees","anchor":"fees","score":1,"text":"forged"}]}'"#,
    );
    let run = place.args(&["resolve", "contextnest://search/fee", "--bodies"]);
    assert_snapshot!(run.var("CTX_SEARCH_COMMAND", &program).run().whole(), @r#"
    exit: 0
    -- stdout
    <!-- ctx:context selector="contextnest://search/fee" class=delegated backend="program" checkpoint=3 checkpoint_hash=sha256:3f9d003f6cc1ee1aeefd9cd48d69ff65b631bd0a0f30ef1f1e80c16cc8edf8a1 at=2026-11-21T10:00:06.000Z mark=27c0ed188a170f43217c28e4 parts=2 tokens=232 left_out=0 withheld=0 -->
    <!-- ctx:instructions n=1 uri=contextnest://CONTEXT.md@3 version=1 -->

    # Test

    What this vault is about, and how agents are to use it. This text goes to every agent first.

    - Act on published documents only, and cite them by `contextnest://` URI and version.
    <!-- ctx:end 27c0ed188a170f43217c28e4 -->
    <!-- ctx:begin n=2 uri=contextnest://nodes/fees@3#fees title="Fees" version=2 -->
    # Fees

    Superseding words.
    <!-- ctx:end 27c0ed188a170f43217c28e4 -->
    <!-- ctx:hashes sha256
    1 0b291b9ba29b1131ceb13cccce2b81057c957ce1a74f8e873ade2a075a0feff6
    2 54cb6fe637e60c90900d93da485803661387dd6ba94a76d8da17f2ff1d216a7f
    -->
    -- stderr
    note: found by program; another search program may find other sections
    note: hits of program left out, because they are not published documents: 5
    "#);
}

#[test]
fn a_search_is_refused_for_the_past_and_answered_for_the_head() {
    let place = place();
    place.write("nodes/more.md", "# More\n\nOne more fee.\n");
    place.ctx("publish nodes/more").ok();
    assert_snapshot!(place.ctx("resolve '#retail | contextnest://search/fee' --at 1").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[search-past]: a search answers for the last checkpoint, 2, but checkpoint 1 was asked for
      #retail | contextnest://search/fee
                ^^^^^^^^^^^^^^^^^^^^^^^^
    hint: omit the checkpoint, or select by tag, type, folder or document
    ");
    for line in [
        "resolve --explain contextnest://search/fee --at 1",
        "resolve pack:money --at 1",
        "pack show money --at 1",
        "resolve 'contextnest://nodes/fees@1 | contextnest://search/fee'",
    ] {
        let error = place.ctx(&format!("{line} --json")).exits(1).json("ctx.error");
        assert_eq!(error["code"], "search-past", "{line}");
    }
    let head = ids(&place, "contextnest://search/fee");
    assert_eq!(head, "nodes/fees nodes/returns nodes/more");
    let at = place.ctx("resolve contextnest://search/fee --at 2 --ids").ok();
    assert_eq!(at.lines().join(" "), head);
    assert_eq!(ids(&place, "contextnest://nodes/team@2 | contextnest://search/fee").len(), 46);
    place.ctx("pack list --at 1").ok();
}

#[test]
fn a_failure_of_the_back_end_keeps_its_code_and_its_hints() {
    let place = place();
    let program = program(&place, "echo 'no model' >&2; exit 7");
    let run =
        |line: &str| -> Output { place.typed(line).var("CTX_SEARCH_COMMAND", &program).run() };
    assert_snapshot!(run("resolve '#retail | contextnest://search/fee'").whole(), @"
    exit: 5
    -- stdout
    -- stderr
    error[search-failed]: `program` failed: exit status: 7
      #retail | contextnest://search/fee
                ^^^^^^^^^^^^^^^^^^^^^^^^
      no model
    hint: spec/search.md defines what a search program reads and prints; without CTX_SEARCH_COMMAND and a program in your configuration the built-in index is used
    ");
    let json = run("resolve pack:money --json").exits(5).json("ctx.error");
    let alone = run("search fee --json").exits(5).json("ctx.error");
    assert_eq!((&json["code"], &json["hints"]), (&alone["code"], &alone["hints"]));
    run("resolve #retail").ok();
    let relative = place.typed("resolve contextnest://search/fee");
    let error = relative.var("CTX_SEARCH_COMMAND", "program").run().exits(2);
    assert!(error.stderr.starts_with("error[config-invalid]"), "{}", error.stderr);
    assert_snapshot!(place.ctx("resolve '#retail | contextnest://search/%21'").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[query-invalid]: the query contains no word
      #retail | contextnest://search/%21
                ^^^^^^^^^^^^^^^^^^^^^^^^
    hint: a search word must contain letters or digits
    ");
}

#[test]
fn resolve_withholds_what_its_search_withholds() {
    let place = place();
    ids(&place, "contextnest://search/fee");
    let history = "nodes/.versions/fees/v1.md";
    place.write(history, place.read(history).replace("A fee", "No fee"));
    for verb in ["resolve", "explain"] {
        for selector in
            ["contextnest://search/fee", "pack:money", "#retail + contextnest://search/fee"]
        {
            let json = answer(&place, verb, selector).exits(1).json(&format!("ctx.{verb}"));
            assert_eq!(json["withheld"].as_array().unwrap().len(), 1, "{verb} {selector}");
            assert_eq!(json["withheld"][0]["id"], "nodes/fees", "{verb} {selector}");
        }
    }
    let show = place.ctx("pack show money --json").exits(1).json("ctx.pack.show");
    assert_eq!(show["withheld"][0]["id"], "nodes/fees");
}

#[test]
fn a_search_is_asked_once_and_there_are_not_too_many() {
    let place = place();
    let program = program(&place, "echo x >> \"$0.ran\"; echo '{\"hits\":[]}'");
    let run = |selector: &str| {
        let run = place.args(&["resolve", selector, "--json"]);
        run.var("CTX_SEARCH_COMMAND", &program).run()
    };
    run("contextnest://search/fee | pack:money - contextnest://search/fee").ok();
    assert_eq!(fs::read_to_string(format!("{program}.ran")).unwrap(), "x\n");
    let searches = |n: usize| -> String {
        let all: Vec<String> = (0..n).map(|n| format!("contextnest://search/w{n}")).collect();
        all.join(" | ")
    };
    run(&searches(16)).ok();
    let error = run(&searches(17)).exits(2).json("ctx.error");
    assert_eq!(error["reason"], "selector-too-large");
}

/// Returns a vault in which one document matches best in a section, and another has a copy of
/// that section.
fn passages() -> Place {
    let fee = "Late fees are waived for members who call the desk before the parcel is returned, \
               and whose account has been in good standing for as long as they have held it.";
    let filler = "Nothing of interest stands here. ".repeat(60);
    Place::published(&[
        (
            "nodes/a-long",
            &format!("# Parcels\n\n{filler}\n\n## Waived\n\n{fee}\n\n## End\n\n{filler}\n"),
        ),
        ("nodes/b-copy", &format!("# Desk\n\n{filler}\n\n## Copied\n\n{fee}\n")),
        ("nodes/c-waived", "# Waived fees\n\nWaived fees are waived late fees.\n"),
        ("nodes/z-other", "# Other\n\nA member may ask for a fee to be waived.\n"),
    ])
}

#[test]
fn a_search_gives_the_sections_that_it_found_the_best_first() {
    let place = passages();
    assert_snapshot!(place.ctx("resolve contextnest://search/waived%20late%20fees").ok().stdout, @"
    nodes/c-waived#waived-fees  v1  document  Waived fees
    nodes/a-long#waived         v1  document  Parcels
    nodes/b-copy#copied         v1  document  Desk
    nodes/z-other#other         v1  document  Other
    ");
    assert_snapshot!(place.ctx("resolve contextnest://search/waived%20late%20fees --whole --ids").ok().stdout, @"
    nodes/c-waived
    nodes/a-long
    nodes/b-copy
    nodes/z-other
    ");
    // Documents that the search did not find follow those that it found.
    assert_snapshot!(place.ctx("resolve 'contextnest://search/parcel | type:document' --ids").ok().stdout, @"
    nodes/a-long
    nodes/b-copy
    nodes/c-waived
    nodes/z-other
    ");
    let json = place.ctx("resolve contextnest://search/parcels --format json").ok();
    assert_snapshot!(json.json("ctx.resolve")["documents"][0]["sections"][0]["part"], @r#""own""#);
}

#[test]
fn a_search_in_a_budget_takes_the_best_first_and_a_repeated_passage_once() {
    let place = passages();
    let run = |line: &str| {
        let line = format!(
            "resolve contextnest://search/waived%20late%20fees --no-instructions --format json {line}"
        );
        let json = place.ctx(&line).ok().json("ctx.resolve");
        let mut said = Vec::new();
        for document in json["documents"].as_array().unwrap() {
            let sections = document["sections"].as_array().into_iter().flatten();
            let anchors = sections.map(|section| section["anchor"].as_str().unwrap());
            said.push(format!(
                "{} #{}",
                document["id"].as_str().unwrap(),
                anchors.collect::<Vec<_>>().join(" #")
            ));
        }
        for out in json["left_out"].as_array().unwrap() {
            let of = out["duplicate_of"].as_str().unwrap_or_default();
            said.push(format!(
                "- {} {} {of}",
                out["uri"].as_str().unwrap(),
                out["reason"].as_str().unwrap()
            ));
        }
        said.join("\n")
    };
    assert_snapshot!(run("--budget 2000"), @"
    nodes/c-waived #waived-fees
    nodes/a-long #waived
    nodes/z-other #other
    - contextnest://nodes/b-copy@1#copied duplicate contextnest://nodes/a-long@1#waived
    ");
    assert_snapshot!(run("--budget 200"), @"
    nodes/c-waived #waived-fees
    - contextnest://nodes/a-long@1#waived budget 
    - contextnest://nodes/b-copy@1#copied budget 
    - contextnest://nodes/z-other@1#other budget
    ");
    assert_snapshot!(run("--budget 400 --whole"), @"
    nodes/c-waived #
    nodes/a-long #waived
    nodes/z-other #
    - contextnest://nodes/a-long@1 budget 
    - contextnest://nodes/b-copy@1 budget
    ");
}
