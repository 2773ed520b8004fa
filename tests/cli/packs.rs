//! Packs: selected as sealed, listed, shown, made and checked.

use contextnest::files::vault::Vault;
use contextnest::read::snapshot::plan::{Cut, Found, Searched};
use contextnest::read::snapshot::{QueryPlan, Snapshot};
use contextnest::record::checkpoint::log::Log;
use contextnest::text::selector::parse;
use insta::assert_snapshot;

use crate::harness::Place;

const PACK: &str = "id: buy.start\nlabel: Buying\nquery: '#policy | #runbook'\nincludes:\n  - \
                    'contextnest://nodes/words#vendor'\nexcludes: [contextnest://nodes/old]\n\
                    agent_instructions: |\n  Cite.\n";

fn document(title: &str, tags: &str) -> String {
    format!(
        "---\ntitle: {title}\ntags: [{tags}]\n---\n\n# {title}\n\n## Vendor\n\nWho sells.\n\n## Buyer\n\nWho buys.\n"
    )
}

/// Returns a vault with four documents and a pack, published; then a fifth document.
fn place() -> Place {
    let place = Place::vault();
    for (id, tags) in
        [("nodes/risk", "policy"), ("nodes/old", "policy"), ("nodes/words", ""), ("nodes/x", "x")]
    {
        place.write(&format!("{id}.md"), document(id.trim_start_matches("nodes/"), tags));
    }
    place.write("packs/buy.yml", PACK);
    place.ctx("publish --all").ok();
    place.write("nodes/steps.md", document("steps", "runbook"));
    place.ctx("publish nodes/steps").ok();
    place
}

fn rows(place: &Place, selector: &str) -> String {
    place.args(&["resolve", selector]).run().ok().stdout
}

#[test]
fn a_pack_is_query_and_includes_without_excludes() {
    let place = place();
    assert_snapshot!(rows(&place, "pack:buy.start"), @"
    nodes/risk          v1  document  risk
    nodes/steps         v1  document  steps
    nodes/words#vendor  v1  document  words
    ");
    assert_snapshot!(rows(&place, "pack:\"buy.start\" - #policy | #x"), @"
    nodes/steps         v1  document  steps
    nodes/words#vendor  v1  document  words
    nodes/x             v1  document  x
    ");
    assert_snapshot!(rows(&place, "#policy - pack:buy.start"), @"nodes/old  v1  document  old");
    assert_snapshot!(rows(&place, "pack:buy.start + contextnest://nodes/words"), @"nodes/words#vendor  v1  document  words");
    let then = place.ctx("resolve pack:buy.start --at 1 --ids").ok().stdout;
    assert_eq!(then, "nodes/risk\nnodes/words\n");
    let pinned = place.ctx("resolve 'pack:buy.start - contextnest://nodes/risk@1' --ids").ok();
    assert_eq!(pinned.stdout, "nodes/words\n");
}

#[test]
fn a_pack_is_the_sealed_one_and_its_past_stays() {
    let place = place();
    let sealed = place.ctx("resolve pack:buy.start --json").ok().stdout;
    let then = place.ctx("resolve pack:buy.start --at 1 --json").ok().stdout;
    place.edit("packs/buy.yml", "'#policy | #runbook'", "'#x'");
    assert_eq!(place.ctx("resolve pack:buy.start --json").ok().stdout, sealed);
    place.ctx("publish --changed").ok();
    assert_eq!(rows(&place, "pack:buy.start").lines().count(), 2);
    assert_eq!(place.ctx("resolve pack:buy.start --at 1 --json").ok().stdout, then);
    place.remove("packs/buy.yml");
    place.ctx("publish --changed").ok();
    assert_snapshot!(place.ctx("resolve pack:buy.start").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-pack]: checkpoint 4 does not seal a pack `buy.start`
    hint: `ctx pack list` lists the packs; a file in packs/ is used only after its publication
    ");
    assert_eq!(place.ctx("resolve pack:buy.start --at 1 --json").ok().stdout, then);
}

#[test]
fn a_pack_that_is_not_there_or_cannot_be_used_is_an_error() {
    let place = place();
    assert_snapshot!(place.ctx("resolve '#x | pack:buy.strat'").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-pack]: checkpoint 2 does not seal a pack `buy.strat`
      #x | pack:buy.strat
           ^^^^^^^^^^^^^^
    hint: did you mean `pack:buy.start`?
    ");
    assert_snapshot!(place.ctx("resolve pack:other").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-pack]: checkpoint 2 does not seal a pack `other`
    hint: `ctx pack list` lists the packs; a file in packs/ is used only after its publication
    ");
    place.write("packs/bad.yml", "id: bad\nlabel: Bad\nquery: '#a + typ:tool'\n");
    place.write("packs/nest.yml", "id: nest\nlabel: Nest\nquery: 'pack:buy.start'\n");
    place.write("packs/twin.yml", "id: buy.start\nlabel: Twin\nquery: '#x'\n");
    place.ctx("publish --changed").ok();
    assert_snapshot!(place.ctx("resolve pack:bad").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[pack-invalid]: `packs/bad.yml`, line 3, column 8: the query is not a selector: expected a tag, a filter, `pack:` or a URI, but found `typ:`
      #a + typ:tool
           ^^^^
    hint: did you mean `type:`?
    hint: `ctx pack check` checks the live pack files
    ");
    assert_snapshot!(place.ctx("resolve pack:nest").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[pack-invalid]: `packs/nest.yml`, line 3, column 8: a pack cannot contain another pack, but found `pack:buy.start`
    hint: copy the query of the other pack
    hint: `ctx pack check` checks the live pack files
    ");
    assert_snapshot!(place.ctx("resolve pack:buy.start").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[pack-invalid]: `packs/buy.yml` and `packs/twin.yml` both have the id `buy.start`
    hint: change the id of one of the packs
    ");
}

#[test]
fn a_forged_pack_is_withheld_and_so_is_what_depends_on_it() {
    let place = place();
    place.write("packs/.versions/buy.yml/v1.md", PACK.replace("#policy", "#x"));
    assert_snapshot!(place.ctx("resolve pack:buy.start").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[withheld]: `packs/buy.yml` is withheld, which may be the pack `buy.start`: the stored text has hash sha256:eb3621851311163c655c5383b8091592d2e47ef5a266a9a71dec7f94f3f92a2d, but the history records sha256:35f7017cacb318bdaa9f39a2cdbb4794a82130061ee5fefb84c58ded77fe31fa
    hint: run `ctx verify` for a full report
    ");
    place.ctx("pack list").exits(1);
    place.ctx("resolve '#x'").ok();
}

#[test]
fn a_withheld_pack_beside_the_one_asked_for_is_named() {
    let place = place();
    place.write("packs/other.yml", "id: other\nlabel: Other\nquery: '#x'\n");
    place.ctx("publish --changed").ok();
    place.write("packs/.versions/buy.yml/v1.md", "forged");
    for (verb, schema) in [("resolve", "ctx.resolve"), ("resolve --explain", "ctx.explain")] {
        let json = place.ctx(&format!("{verb} pack:other --json")).exits(1);
        let json = json.json(schema);
        assert_eq!(json["withheld"][0]["id"], "packs/buy.yml", "{verb}");
    }
}

#[test]
fn packs_cannot_make_a_selector_too_large() {
    let place = place();
    let many: String = (0..2000).map(|n| format!("  - contextnest://nodes/n{n}\n")).collect();
    place.write("packs/many.yml", format!("id: many\nlabel: Many\nincludes:\n{many}"));
    place.ctx("publish --changed").ok();
    place.ctx(&format!("resolve '{}'", ["pack:many"; 32].join(" | "))).ok();
    let error = place.ctx(&format!("resolve '{}' --json", ["pack:many"; 33].join(" | "))).exits(2);
    assert_eq!(error.json("ctx.error")["reason"], "selector-too-large");
}

#[test]
fn a_search_is_the_union_of_what_the_back_end_finds() {
    let place = place();
    let vault = Vault::open(place.root()).unwrap();
    let log = Log::read(&vault).unwrap();
    let snapshot = Snapshot::at(&vault, &log.sound().unwrap(), None).unwrap();
    let mut asked = 0;
    let mut found = |query: &str| {
        assert_eq!(query, "who sells");
        asked += 1;
        let hit = |id: &str| Found { id: id.parse().unwrap(), cut: Cut::Whole };
        let found = ["nodes/x", "nodes/risk", "nodes/x"].map(hit).to_vec();
        Ok::<_, String>(Searched { found, ..Searched::default() })
    };
    let search = "contextnest://search/who%20sells";
    let selector = parse(&format!("{search} - #policy | {search} - {search}")).unwrap();
    let plan = QueryPlan::new(&selector, &snapshot, &mut found).unwrap();
    let ids: Vec<String> =
        snapshot.resolve(&plan).unwrap().documents.iter().map(|d| d.id.to_string()).collect();
    assert_eq!((ids, asked), (vec!["nodes/x".to_owned()], 1), "a search is asked once");
}

#[test]
fn list_and_show_tell_what_is_sealed() {
    let place = place();
    assert_snapshot!(place.ctx("pack list").whole(), @"
    exit: 0
    -- stdout
    buy.start  3 documents  packs/buy.yml v1  Buying
    -- stderr
    ");
    assert_snapshot!(place.ctx("pack list --at 1 --json").whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.pack.list",
      "schema_version": 2,
      "checkpoint": 1,
      "packs": [
        {
          "id": "buy.start",
          "label": "Buying",
          "path": "packs/buy.yml",
          "version": 1,
          "class": "set",
          "documents": 2
        }
      ],
      "unusable": [],
      "withheld": []
    }
    -- stderr
    "#);
    assert_snapshot!(place.ctx("pack show pack:buy.start").whole(), @"
    exit: 0
    -- stdout
    # packs/buy.yml v1 at checkpoint 2
    id: buy.start
    label: Buying
    query: '#policy | #runbook'
    includes:
      - 'contextnest://nodes/words#vendor'
    excludes:
      - contextnest://nodes/old
    agent_instructions: |
      Cite.

    # 3 documents
    nodes/risk          v1  document  risk
    nodes/steps         v1  document  steps
    nodes/words#vendor  v1  document  words
    -- stderr
    ");
    let json = place.ctx("pack show buy.start --json").ok().json("ctx.pack.show");
    assert_eq!(json["includes"][0], "contextnest://nodes/words#vendor");
    assert_eq!(json["documents"][2]["sections"][0]["anchor"], "vendor");
    assert_snapshot!(Place::vault().ctx("pack list").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    hint: no pack is published; `ctx pack add` makes one
    ");
    place.ctx("pack show buy.strat").exits(1);
}

#[test]
fn add_writes_a_file_that_reads_back_and_never_over_another() {
    let place = place();
    let line = "pack add new --id 'a b' --label \"Ana's\" --query '#policy -#x' --include \
                contextnest://nodes/./words#buyer --exclude contextnest://nodes/old --type \
                document,skill --audience buyers --instructions 'Ask first.'";
    assert_snapshot!(place.ctx(line).whole(), @"
    exit: 0
    -- stdout
    created packs/new.yml
    -- stderr
    next: `ctx pack check` checks it, `ctx publish --changed` seals it
    ");
    assert_snapshot!(place.read("packs/new.yml"), @"
    id: a b
    label: 'Ana''s'
    query: '#policy - #x'
    includes:
      - 'contextnest://nodes/words#buyer'
    excludes:
      - contextnest://nodes/old
    filters:
      node_types: [document, skill]
    audiences: [buyers]
    agent_instructions: |
      Ask first.
    ");
    place.ctx("pack check").ok();
    place.ctx("publish --changed").ok();
    assert_snapshot!(rows(&place, "pack:\"a b\""), @"
    nodes/risk         v1  document  risk
    nodes/words#buyer  v1  document  words
    ");
    assert_snapshot!(place.ctx(line).whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[exists]: `packs/new.yml` has the id `a b` already
    hint: choose another id with `--id`
    ");
    assert_snapshot!(place.ctx("pack add new --id other --query '#x'").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[exists]: the file `packs/new.yml` exists already
    hint: edit the file, or choose another name
    ");
    for (line, exit) in [
        ("pack add n --query '#a +'", 2),
        ("pack add n --query pack:buy.start", 2),
        ("pack add n", 2),
        ("pack add n --include nodes/x", 2),
        ("pack add n --include contextnest://nodes/x@3", 2),
        ("pack add n --exclude contextnest://nodes/x#a", 2),
        ("pack add n --query '#a' --type documnet", 2),
        ("pack add a/b --query '#a'", 2),
        ("pack add ../n --query '#a'", 2),
    ] {
        let _ = place.ctx(line).exits(exit);
    }
    assert!(!place.has("packs/n.yml"));
}

#[test]
fn check_and_validate_find_what_is_wrong_with_live_packs() {
    let place = place();
    assert_snapshot!(place.ctx("pack check").whole(), @"
    exit: 0
    -- stdout
    1 pack checked: 0 problems
    -- stderr
    ");
    place.write(
        "packs/bad.yml",
        "id: bad\nlabel: Bad\nlable: x\nquery: '#a + typ:tool'\nincludes: [nodes//a]\n",
    );
    place.write(
        "packs/dead.yml",
        "id: buy.start\nlabel: Dead\nquery: 'contextnest://nodes/risk#vendro'\nincludes: \
         [contextnest://nodes/gone, contextnest://gone/, contextnest://tag/gone]\n",
    );
    place.write("packs/escape.yml", "id: e\nlabel: E\n\"\\e[31m\\u202E\": 1\nquery: \"#\\e[2J\"\n");
    assert_snapshot!(place.ctx("pack check").whole(), @r"
    exit: 1
    -- stdout
    warning[pack-key]: packs/bad.yml:3:1: unknown key `lable`
      hint: fix the line; spec/vault.md lists the keys
    error[pack-query]: packs/bad.yml:4:8: the query is not a selector: expected a tag, a filter, `pack:` or a URI, but found `typ:`
      #a + typ:tool
           ^^^^
      hint: did you mean `type:`?
    error[pack-uri]: packs/bad.yml:5:12: `nodes//a` is not a URI: expected `contextnest://`
      hint: write `contextnest://` and the path of the document, without `.md`
    error[pack-twice]: packs/dead.yml:1:1: `packs/buy.yml` has the id `buy.start`, too
      hint: give one of them another id
    warning[pack-anchor]: packs/dead.yml:3:8: `nodes/risk` has no section `#vendro`
      hint: did you mean `#vendor`?
    warning[pack-dead]: packs/dead.yml:4:12: `contextnest://nodes/gone` does not name a live document
      hint: fix the path, or remove the line
    warning[pack-dead]: packs/dead.yml:4:38: `contextnest://gone/` does not name a live document
      hint: fix the path, or remove the line
    warning[pack-dead]: packs/dead.yml:4:59: `contextnest://tag/gone` does not name a live document
      hint: fix the path, or remove the line
    warning[pack-key]: packs/escape.yml:3:1: unknown key `\u{1b}[31m\u{202e}`
      hint: fix the line; spec/vault.md lists the keys
    error[pack-query]: packs/escape.yml:4:8: the query is not a selector: expected a tag, but found `\u{1b}[2J`
      #\u{1b}[2J
      ^^^^^^^^^^
      hint: a tag has letters, digits, `_` and `-`, not digits alone, and `/` between its levels
    4 packs checked: 10 problems
    -- stderr
    ");
    assert_snapshot!(place.ctx("validate").whole(), @r"
    exit: 0
    -- stdout
    warning[pack-key]: packs/bad.yml:3: unknown key `lable`
      hint: fix the line; spec/vault.md lists the keys
    warning[pack-query]: packs/bad.yml:4: the query is not a selector: expected a tag, a filter, `pack:` or a URI, but found `typ:`
      hint: did you mean `type:`?
    warning[pack-uri]: packs/bad.yml:5: `nodes//a` is not a URI: expected `contextnest://`
      hint: write `contextnest://` and the path of the document, without `.md`
    warning[pack-twice]: packs/dead.yml:1: `packs/buy.yml` has the id `buy.start`, too
      hint: give one of them another id
    warning[pack-anchor]: packs/dead.yml:3: `nodes/risk` has no section `#vendro`
      hint: did you mean `#vendor`?
    warning[pack-dead]: packs/dead.yml:4: `contextnest://nodes/gone` does not name a live document
      hint: fix the path, or remove the line
    warning[pack-dead]: packs/dead.yml:4: `contextnest://gone/` does not name a live document
      hint: fix the path, or remove the line
    warning[pack-dead]: packs/dead.yml:4: `contextnest://tag/gone` does not name a live document
      hint: fix the path, or remove the line
    warning[pack-key]: packs/escape.yml:3: unknown key `\u{1b}[31m\u{202e}`
      hint: fix the line; spec/vault.md lists the keys
    warning[pack-query]: packs/escape.yml:4: the query is not a selector: expected a tag, but found `\u{1b}[2J`
      hint: a tag has letters, digits, `_` and `-`, not digits alone, and `/` between its levels
    5 documents checked: 0 errors, 10 warnings
    -- stderr
    ");
    let json = place.ctx("pack check --json").exits(1).json("ctx.pack.check");
    assert_eq!((json["checked"].as_u64(), json["problems"].as_u64()), (Some(4), Some(10)));
    assert_eq!(json["files"][0]["problems"][1]["caret"], "#a + typ:tool\n     ^^^^");
    assert_eq!(json["files"][0]["usable"], false);
}

#[test]
fn hostile_pack_files_are_problems_and_no_more() {
    let place = place();
    place.write("packs/big.yml", format!("id: big\nlabel: {}\n", "x".repeat(70_000)));
    place.write("packs/binary.yml", b"\xff\xfe\0");
    place.write("packs/deep.yml", format!("id: {}\n", "[".repeat(20_000)));
    place.write("packs/empty.yml", "");
    let parens = "(".repeat(8000);
    place.write("packs/parens.yml", format!("id: p\nlabel: P\nquery: '{parens}'\n"));
    let report = place.ctx("pack check").exits(1).stdout;
    for name in ["big", "binary", "deep", "empty", "parens"] {
        assert!(report.contains(&format!("packs/{name}.yml:")), "{name}\n{report}");
    }
    assert!(report.lines().all(|line| line.len() < 300), "{report}");
}

#[test]
fn instructions_stand_before_the_texts_unless_they_are_not_wanted() {
    let place = place();
    let lines = |args: &[&str]| -> Vec<String> {
        let block = place.args(&[&["resolve", "--bodies"], args].concat()).run().ok().stdout;
        let begins = block.lines().filter(|l| ["ctx:i", "ctx:b"].iter().any(|k| l.contains(k)));
        begins.map(str::to_owned).collect()
    };
    assert_snapshot!(lines(&["pack:buy.start"]).join("\n"), @r#"
    <!-- ctx:instructions n=1 uri=contextnest://CONTEXT.md@2 version=1 -->
    <!-- ctx:instructions n=2 uri=contextnest://packs/buy.yml@2 pack="buy.start" version=1 -->
    <!-- ctx:begin n=3 uri=contextnest://nodes/risk@2 title="risk" version=1 -->
    <!-- ctx:begin n=4 uri=contextnest://nodes/steps@2 title="steps" version=1 -->
    <!-- ctx:begin n=5 uri=contextnest://nodes/words@2#vendor title="words" version=1 -->
    "#);
    // A pack that only excludes documents is not reported.
    assert_snapshot!(lines(&["#x - pack:buy.start"]).join("\n"), @r#"
    <!-- ctx:instructions n=1 uri=contextnest://CONTEXT.md@2 version=1 -->
    <!-- ctx:begin n=2 uri=contextnest://nodes/x@2 title="x" version=1 -->
    "#);
    assert_snapshot!(lines(&["pack:buy.start + #runbook", "--no-instructions"]).join("\n"), @r#"<!-- ctx:begin n=1 uri=contextnest://nodes/steps@2 title="steps" version=1 -->"#);
    let json = place.ctx("resolve pack:buy.start --format json").ok().json("ctx.resolve");
    assert_eq!(json["instructions"][1]["body"], "Cite.\n");
    let json = place.ctx("resolve pack:buy.start --format json --no-instructions").ok();
    assert!(json.json("ctx.resolve").get("instructions").is_none());
}

#[test]
fn a_query_that_selects_nothing_is_a_warning() {
    let place = Place::vault();
    place.write("nodes/a.md", "---\ntags: [x]\n---\n# A\n");
    place.write("packs/none.yml", "id: none\nlabel: N\nquery: '#x - type:document'\n");
    place.write("packs/some.yml", "id: some\nlabel: S\nquery: '#x'\n");
    place.write("packs/maybe.yml", "id: maybe\nlabel: M\nquery: 'contextnest://search/zzz'\n");
    assert_snapshot!(place.ctx("pack check").whole(), @"
    exit: 1
    -- stdout
    warning[pack-unmatched]: packs/none.yml:3:8: the query selects no live document
      hint: correct the tags, filters and paths of the query, or give a file a matching field, such as `tags: [policy]`
    3 packs checked: 1 problem
    -- stderr
    ");
}

#[test]
fn validate_warns_of_a_pack_that_matches_nothing() {
    let place = Place::vault();
    place.write("nodes/a.md", "---\ntags: [x]\n---\n# A\n");
    let pack = |id: &str, rest: &str| {
        place.write(&format!("packs/{id}.yml"), format!("id: {id}\nlabel: L\n{rest}"));
    };
    pack("emptied", "query: '#x'\nexcludes: [contextnest://nodes/a]\n");
    pack("included", "includes: [contextnest://nodes/a]\nexcludes: [contextnest://nodes/]\n");
    pack("typed", "query: '#x'\nfilters: {node_types: [source]}\n");
    pack("tag", "query: '#x - #archvied'\n");
    pack("whole", "query: '#x - #archvied - #x'\n");
    assert_snapshot!(place.ctx("pack check").whole(), @"
    exit: 1
    -- stdout
    warning[pack-unmatched]: packs/emptied.yml:4:12: the pack selects no live document: `excludes` or `node_types` leave none
      hint: correct the query, `excludes` or `node_types`
    warning[pack-unmatched]: packs/included.yml:4:12: the pack selects no live document: `excludes` or `node_types` leave none
      hint: correct the query, `excludes` or `node_types`
    warning[pack-unmatched]: packs/tag.yml:3:8: no live document has `#archvied`, which is in the query
      hint: correct the tag, or remove it from the query
    warning[pack-unmatched]: packs/typed.yml:3:8: the pack selects no live document: `excludes` or `node_types` leave none
      hint: correct the query, `excludes` or `node_types`
    warning[pack-unmatched]: packs/whole.yml:3:8: the query selects no live document
      hint: correct the tags, filters and paths of the query, or give a file a matching field, such as `tags: [policy]`
    5 packs checked: 5 problems
    -- stderr
    ");
}
