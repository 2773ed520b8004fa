//! `ctx explain`, and how pins, sections and names of vaults work in a selector.

use insta::assert_snapshot;

use crate::harness::Place;
use crate::resolve::vault;

#[test]
fn the_tree_shows_each_set_and_what_a_pack_stands_for() {
    let place = vault();
    place.write(
        "packs/p.yml",
        "id: p\nlabel: P\nquery: '#a | #b'\nexcludes: [contextnest://nodes/ac]\nfilters: \
         {node_types: [document]}\n",
    );
    place.ctx("publish --changed").ok();
    assert_snapshot!(place.ctx("resolve --explain '(#a | server:\"a b\") pack:p -#c | type:source'").whole(), @r#"
    exit: 0
    -- stdout
    (#a | server:"a b") + pack:p - #c | type:source at checkpoint 2
      |                                   2
        -                                 1
          +                               1
            |                             2
              #a                          2
              server:"a b"                0
            pack:p                        2  packs/p.yml v1
              +                           2
                -                         2
                  |                       3
                    #a                    2
                    #b                    2
                  contextnest://nodes/ac  1
                type:document             3
          #c                              2
        type:source                       1
    cost: 8 sets looked up, 8 documents in them, 2 texts in the answer
    -- stderr
    note: no published document has server:"a b"
    "#);
    assert_snapshot!(place.ctx("resolve --explain 'pack:p -#b' --json").whole(), @r##"
    exit: 0
    -- stdout
    {
      "schema": "ctx.explain",
      "schema_version": 2,
      "selector": "pack:p - #b",
      "class": "set",
      "checkpoint": 2,
      "tree": {
        "text": "-",
        "documents": 0,
        "parts": [
          {
            "text": "pack:p",
            "documents": 2,
            "pack": {
              "path": "packs/p.yml",
              "version": 1
            },
            "parts": [
              {
                "text": "+",
                "documents": 2,
                "parts": [
                  {
                    "text": "-",
                    "documents": 2,
                    "parts": [
                      {
                        "text": "|",
                        "documents": 3,
                        "parts": [
                          {
                            "text": "#a",
                            "documents": 2
                          },
                          {
                            "text": "#b",
                            "documents": 2
                          }
                        ]
                      },
                      {
                        "text": "contextnest://nodes/ac",
                        "documents": 1
                      }
                    ]
                  },
                  {
                    "text": "type:document",
                    "documents": 3
                  }
                ]
              }
            ]
          },
          {
            "text": "#b",
            "documents": 2
          }
        ]
      },
      "cost": {
        "lookups": 5,
        "postings": 9,
        "documents": 0
      },
      "withheld": [],
      "notes": []
    }
    -- stderr
    "##);
    assert_snapshot!(place.ctx("resolve --explain '#a' --at 1").whole(), @"
    exit: 0
    -- stdout
    #a at checkpoint 1
      #a  2
    cost: 1 set looked up, 2 documents in them, 2 texts in the answer
    -- stderr
    ");
    place.ctx("resolve --explain pack:p --at 1").exits(1);
}

#[test]
fn the_same_vault_gives_the_same_explanation() {
    let explain =
        || vault().ctx("resolve --explain '#a #b | type:source - server:jira' --json").ok().stdout;
    assert_eq!(explain(), explain());
}

#[test]
fn an_unknown_name_is_reported_with_the_nearest_one() {
    let place = vault();
    assert_snapshot!(place.ctx("resolve '#paymnets + server:jria'").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    note: no published document matches at checkpoint 1
    note: no published document has #paymnets; did you mean #payments?
    note: no published document has server:jria
    ");
    assert_snapshot!(place.ctx("resolve --explain '#A'").whole(), @"
    exit: 0
    -- stdout
    #A at checkpoint 1
      #A  0
    cost: 1 set looked up, 0 documents in them, 0 texts in the answer
    -- stderr
    note: no published document has #A; did you mean #a?
    ");
    // An exclusion may match nothing on purpose, but not because of a misspelt id.
    let found = place.ctx("resolve '#a | #paymnets - #archived'").ok();
    assert_snapshot!(found.stderr, @"note: no published document has #paymnets; did you mean #payments?");
}

#[test]
fn a_uri_that_names_nothing_is_reported_in_a_larger_selector() {
    let place = Place::published(&[("nodes/policies/returns", "# R\n"), ("nodes/b", "# B\n")]);
    assert_snapshot!(place.ctx("resolve contextnest://nodes/polcies/").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    note: no published document matches at checkpoint 1
    note: no published document is in `nodes/polcies/`; did you mean `nodes/policies/`?
    ");
    assert_snapshot!(
        place.ctx("resolve 'type:document - contextnest://nodes/policies/retuns'").whole(),
        @"
    exit: 0
    -- stdout
    nodes/b                 v1  document  B
    nodes/policies/returns  v1  document  R
    -- stderr
    note: `nodes/policies/retuns` is not published at checkpoint 1; did you mean `nodes/policies/returns`?
    "
    );
    assert_snapshot!(
        place.ctx("resolve 'contextnest://nodes/b | contextnest://nodes/policies/'").stderr, @""
    );
}

#[test]
fn all_pins_are_one_checkpoint_for_the_whole_selector() {
    let place = vault();
    place.edit("nodes/ac.md", "tags: [a, c]", "tags: [c]");
    place.ctx("publish --changed").ok();
    let ids = |selector: &str| place.args(&["resolve", selector, "--ids"]).run().ok().stdout;
    assert_eq!(ids("#a | contextnest://nodes/pay"), "nodes/ab\nnodes/pay\n");
    assert_eq!(ids("#a | contextnest://nodes/pay@1"), "nodes/ab\nnodes/ac\nnodes/pay\n");
    assert_eq!(
        ids("contextnest://nodes/ab@2 | contextnest://nodes/pay@2"),
        "nodes/ab\nnodes/pay\n"
    );
    assert_snapshot!(place.ctx("resolve 'contextnest://nodes/ab@1 | contextnest://nodes/pay@2'").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[selector-invalid]: a selector cannot name two checkpoints, but found 2 after 1
      contextnest://nodes/ab@1 | contextnest://nodes/pay@2
                                 ^^^^^^^^^^^^^^^^^^^^^^^^^
    hint: pin every URI to `@1`, or resolve them one by one
    ");
    assert_snapshot!(place.ctx("resolve '#a | contextnest://nodes/pay@1' --at 2").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: the pin names checkpoint 1, but 2 was also given
    hint: name only one checkpoint
    ");
}

const BODY: &str = "# R\n\nIntro.\n\n## One\n\n1.\n\n### Deep\n\n1.1.\n\n## Two\n\n2.\n";

fn sections() -> Place {
    let tagged = |tag: &str| format!("---\ntags: [{tag}]\n---\n{BODY}");
    Place::published(&[("nodes/r", &tagged("t")), ("nodes/s", &tagged("u"))])
}

#[test]
fn a_section_narrows_its_document_and_the_whole_beats_it() {
    let place = sections();
    let report: Vec<String> = [
        "contextnest://nodes/r#one",
        "contextnest://nodes/r#two | contextnest://nodes/r#deep",
        "contextnest://nodes/r#deep | contextnest://nodes/r#one",
        "contextnest://nodes/r#one | #t",
        "contextnest://nodes/r#one + #t",
        "contextnest://nodes/r#one + #u",
        "contextnest://nodes/r#one + contextnest://nodes/r#two",
        "(contextnest://nodes/r#one + #t) | (contextnest://nodes/r#two + #u)",
        "contextnest://nodes/r#two | #u",
        "contextnest://nodes/r#two - #u",
        "contextnest://nodes/r@1#two | contextnest://nodes/s#one",
    ]
    .iter()
    .map(|text| format!("{text}\n{}", place.args(&["resolve", text]).run().ok().stdout))
    .collect();
    assert_snapshot!(report.join("\n"), @"
    contextnest://nodes/r#one
    nodes/r#one  v1  document  R

    contextnest://nodes/r#two | contextnest://nodes/r#deep
    nodes/r #deep #two  v1  document  R

    contextnest://nodes/r#deep | contextnest://nodes/r#one
    nodes/r#one  v1  document  R

    contextnest://nodes/r#one | #t
    nodes/r  v1  document  R

    contextnest://nodes/r#one + #t
    nodes/r#one  v1  document  R

    contextnest://nodes/r#one + #u

    contextnest://nodes/r#one + contextnest://nodes/r#two
    nodes/r #one #two  v1  document  R

    (contextnest://nodes/r#one + #t) | (contextnest://nodes/r#two + #u)
    nodes/r#one  v1  document  R

    contextnest://nodes/r#two | #u
    nodes/r#two  v1  document  R
    nodes/s      v1  document  R

    contextnest://nodes/r#two - #u
    nodes/r#two  v1  document  R

    contextnest://nodes/r@1#two | contextnest://nodes/s#one
    nodes/r#two  v1  document  R
    nodes/s#one  v1  document  R
    ");
}

#[test]
fn bodies_and_json_hold_the_sections_and_nothing_else() {
    let place = sections();
    let selector = "contextnest://nodes/r#two | contextnest://nodes/r#deep";
    assert_snapshot!(place.args(&["resolve", selector, "--bodies"]).run().whole(), @r#"
    exit: 0
    -- stdout
    <!-- ctx:context selector="contextnest://nodes/r#two | contextnest://nodes/r#deep" class=set checkpoint=1 checkpoint_hash=sha256:97b2389965c68f4998da1bcabafc79e96cb3c3308a56b3ffeb5130f0b54a74f2 at=2026-11-21T10:00:01.000Z mark=cba4155ac8dfa31f7f2be407 parts=3 tokens=262 left_out=0 withheld=0 -->
    <!-- ctx:instructions n=1 uri=contextnest://CONTEXT.md@1 version=1 -->

    # Test

    What this vault is about, and how agents are to use it. This text goes to every agent first.

    - Act on published documents only, and cite them by `contextnest://` URI and version.
    <!-- ctx:end cba4155ac8dfa31f7f2be407 -->
    <!-- ctx:begin n=2 uri=contextnest://nodes/r@1#deep title="R" version=1 -->
    ### Deep

    1.1.

    <!-- ctx:end cba4155ac8dfa31f7f2be407 -->
    <!-- ctx:begin n=2 uri=contextnest://nodes/r@1#two title="R" version=1 -->
    ## Two

    2.
    <!-- ctx:end cba4155ac8dfa31f7f2be407 -->
    <!-- ctx:hashes sha256
    1 0b291b9ba29b1131ceb13cccce2b81057c957ce1a74f8e873ade2a075a0feff6
    2 652ad2a3c97e862829ad0b29b8450976c0abb29579c3087e41296d2a41d7fec5
    -->
    -- stderr
    "#);
    let json = place.args(&["resolve", selector, "--bodies", "--json"]).run().ok();
    let json = json.json("ctx.resolve");
    let document = &json["documents"][0];
    assert_eq!(document["body"], serde_json::Value::Null);
    assert_eq!(document["sections"][0]["body"], "### Deep\n\n1.1.\n\n");
    assert_eq!(document["sections"][1]["anchor"], "two");
}

#[test]
fn a_section_that_is_not_there_is_an_error_wherever_it_stands() {
    let place = sections();
    assert_snapshot!(place.ctx("resolve '#t | contextnest://nodes/r#thre'").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-anchor]: no section has the anchor `#thre` in `nodes/r`
      #r
      #one
      #deep
      #two
    hint: `ctx read ID --outline` lists the sections with their sizes
    ");
    // A document outside of the answer is not read.
    place.ctx("resolve '#u + contextnest://nodes/r#thre'").ok();
    assert_snapshot!(place.ctx("resolve '#t - contextnest://nodes/r#one'").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[selector-invalid]: a difference removes whole documents, not sections
      #t - contextnest://nodes/r#one
           ^^^^^^^^^^^^^^^^^^^^^^^^^
    hint: remove the `#` and the name after it
    ");
}
