//! Sections: a part of a document with the metadata of the whole.

use insta::assert_snapshot;

use crate::harness::Place;

const POLICY: &str =
    "# Returns\n\nIntro.\n\n## Exceptions\n\nNone.\n\n### Bulk\n\nAsk.\n\n## Review\n\nYearly.\n";

fn place() -> Place {
    Place::published(&[("nodes/returns", POLICY), ("nodes/plain", "No heading.\n")])
}

#[test]
fn the_outline_lists_anchors_with_their_sizes() {
    let place = place();
    assert_snapshot!(place.ctx("read --outline nodes/returns").whole(), @"
    exit: 0
    -- stdout
    #returns       76 bytes  Returns
      #exceptions  38 bytes  Exceptions
        #bulk      16 bytes  Bulk
      #review      19 bytes  Review
    -- stderr
    ");
    assert_snapshot!(place.ctx("read --outline nodes/plain").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    note: the document has no headings
    ");
    let json = place.ctx("read --outline nodes/returns#exceptions --json").ok().json("ctx.outline");
    let anchors: Vec<&str> = json["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["anchor"].as_str().unwrap())
        .collect();
    assert_eq!(anchors, ["exceptions", "bulk"]);
}

#[test]
fn a_section_is_read_with_its_subsections_and_nothing_else() {
    let place = place();
    let section = "## Exceptions\n\nNone.\n\n### Bulk\n\nAsk.\n\n";
    for name in [
        "nodes/returns#exceptions",
        "nodes/returns@1#exceptions",
        "contextnest://nodes/returns@1#exceptions",
    ] {
        assert_eq!(place.ctx(&format!("read {name}")).ok().stdout, section, "{name}");
    }
    let json = place.ctx("read nodes/returns#bulk --json").ok().json("ctx.read");
    let whole = place.ctx("read nodes/returns").ok().stdout;
    let at = |key: &str| usize::try_from(json["section"][key].as_u64().unwrap()).unwrap();
    assert_eq!(json["body"].as_str().unwrap(), &whole[at("start")..at("end")]);
    assert_eq!((json["title"].as_str(), json["version"].as_u64()), (Some("Returns"), Some(1)));
}

#[test]
fn an_unknown_anchor_lists_the_others_and_serves_nothing() {
    let place = place();
    assert_snapshot!(place.ctx("read nodes/returns#exeptions").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-anchor]: no section has the anchor `#exeptions`
      #returns
      #exceptions
      #bulk
      #review
    hint: did you mean `#exceptions`?
    ");
    assert_snapshot!(place.ctx("resolve contextnest://nodes/plain#x --bodies").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-anchor]: no section has the anchor `#x` in `nodes/plain`
    hint: the document contains no headings
    ");
}

#[test]
fn a_section_is_that_of_the_version_then() {
    let place = place();
    place.edit("nodes/returns.md", "None.", "Some.");
    place.ctx("publish --changed").ok();
    let resolve = |uri: &str| place.ctx(&format!("resolve {uri} --bodies")).ok().stdout;
    assert!(resolve("contextnest://nodes/returns@1#exceptions").contains("None."));
    assert!(resolve("contextnest://nodes/returns#exceptions").contains("Some."));
    assert!(!resolve("contextnest://nodes/returns#exceptions").contains("Intro."));
}
