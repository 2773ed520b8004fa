//! Links as edges: neighbours, the whole graph, hubs, and the order of sources.

use insta::assert_snapshot;

use crate::harness::Place;

fn source(needs: &str) -> String {
    format!(
        "---\ntitle: S\ntype: source\nsource:\n  transport: cli\n  tools: [t]\n  depends_on: [{needs}]\n---\nx\n"
    )
}

fn place() -> Place {
    Place::published(&[
        ("nodes/a", "# A\n\n[b](b.md), [[c]], [gone](gone.md)\n"),
        ("nodes/b", "# B\n\ncontextnest://nodes/c#part\n"),
        ("nodes/x/c", "---\ntitle: \"C \\\"quoted\\\" \\e[31m\"\nderived_from: nodes/a\n---\n"),
        ("nodes/d", "# D\n\n[[c]] and [a](/nodes/a.md)\n"),
    ])
}

#[test]
fn neighbours_come_by_distance_with_the_way_to_them() {
    let place = place();
    assert_snapshot!(place.ctx("neighbors nodes/a").whole(), @r#"
    exit: 0
    -- stdout
    1  nodes/b    B                      -> reference
    1  nodes/d    D                      <- reference
    1  nodes/x/c  C "quoted" \u{1b}[31m  -> reference, <- derived_from
    -- stderr
    "#);
    assert_snapshot!(place.ctx("neighbors nodes/b --hops 3").whole(), @r#"
    exit: 0
    -- stdout
    1  nodes/a    A                      <- reference
    2  nodes/d    D                      nodes/a <- reference
    2  nodes/x/c  C "quoted" \u{1b}[31m  nodes/a -> reference, 1 more
    -- stderr
    "#);
    assert_snapshot!(place.ctx("neighbors nodes/x/c --direction in --kind reference").whole(), @"
    exit: 0
    -- stdout
    1  nodes/a  A  <- reference
    1  nodes/d  D  <- reference
    -- stderr
    ");
    assert_snapshot!(place.ctx("neighbors nodes/d --direction in").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    note: no document is linked with it in this way
    ");
    assert_snapshot!(place.ctx("neighbors nodes/a --limit 1").whole(), @"
    exit: 0
    -- stdout
    1  nodes/b  B  -> reference
    -- stderr
    hint: there are more than 1; raise `--limit` to list them
    ");
    let json = place.ctx("neighbors nodes/b@1 --json").ok().json("ctx.neighbors");
    assert_eq!(json["neighbors"][0]["id"], "nodes/a");
    assert_eq!(json["neighbors"][0]["via"][0]["kind"], "reference");
}

#[test]
fn the_past_has_its_own_graph() {
    let place = place();
    place.edit("nodes/b.md", "contextnest://nodes/c#part", "[d](d.md)");
    place.ctx("publish nodes/b").ok();
    assert_eq!(place.ctx("neighbors nodes/b --direction out").ok().lines().len(), 1);
    let before = place.ctx("neighbors nodes/b --direction out --at 1").ok();
    assert_eq!(before.stdout, "", "nodes/c is no document; only its end is named by wikilinks");
    assert_snapshot!(place.ctx("neighbors nodes/c").exits(1).whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: no document has the id `nodes/c`
    hint: did you mean `nodes/x/c`?
    ");
}

#[test]
fn the_graph_is_printed_for_programs() {
    let place = place();
    assert_snapshot!(place.ctx("graph").whole(), @r#"
    exit: 0
    -- stdout
    digraph vault {
      "nodes/a" [label="A", class=document];
      "nodes/b" [label="B", class=document];
      "nodes/d" [label="D", class=document];
      "nodes/x/c" [label="C \"quoted\" \\u{1b}[31m", class=document];
      "nodes/a" -> "nodes/b" [class=reference];
      "nodes/a" -> "nodes/x/c" [class=reference];
      "nodes/d" -> "nodes/a" [class=reference];
      "nodes/d" -> "nodes/x/c" [class=reference];
      "nodes/x/c" -> "nodes/a" [class=derived_from];
    }
    -- stderr
    "#);
    let json = place.ctx("graph --format json").ok().json("ctx.graph");
    let unresolved: Vec<&str> =
        json["unresolved"].as_array().unwrap().iter().map(|u| u["to"].as_str().unwrap()).collect();
    assert_eq!(unresolved, ["nodes/gone", "nodes/c"]);
    assert_eq!(json["edges"].as_array().unwrap().len(), 5);
    assert_snapshot!(place.ctx("graph --hubs 2").whole(), @r#"
    exit: 0
    -- stdout
    2  nodes/x/c  C "quoted" \u{1b}[31m
    1  nodes/a    A
    -- stderr
    "#);
    assert_eq!(
        place.ctx("graph --hubs 1 --json").ok().json("ctx.graph.hubs")["hubs"][0]["degree"],
        2
    );
}

#[test]
fn sources_are_resolved_in_hydration_order() {
    let place = Place::published(&[
        ("nodes/z", "# Z\n"),
        ("sources/a", &source("contextnest://sources/c")),
        ("sources/b", &source("")),
        ("sources/c", &source("contextnest://sources/b")),
    ]);
    let ids = |json: &serde_json::Value| -> Vec<String> {
        let all = json["documents"].as_array().unwrap();
        all.iter().map(|d| d["id"].as_str().unwrap().to_owned()).collect()
    };
    let all = place.ctx("resolve type:source --json").ok().json("ctx.resolve");
    assert_eq!(ids(&all), ["sources/b", "sources/c", "sources/a"]);
    place.ctx("retire sources/c").ok();
    let two = place.ctx("resolve type:source --json").ok().json("ctx.resolve");
    assert_eq!(ids(&two), ["sources/a", "sources/b"]);
    let before = place.ctx("resolve type:source --at 1 --json").ok().json("ctx.resolve");
    assert_eq!(ids(&before), ids(&all));
}

#[test]
fn sources_that_wait_for_each_other_are_refused() {
    let place = Place::vault();
    place.write("sources/a.md", source("contextnest://sources/b"));
    place.write("sources/b.md", source("contextnest://sources/a"));
    place.write("nodes/n.md", "# N\n");
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 1
    -- stdout
    error[dependency-cycle]: sources/a.md:7: sources depend on each other: sources/a -> sources/b -> sources/a
      hint: remove one of these from `source.depends_on`
    error[dependency-cycle]: sources/b.md:7: sources depend on each other: sources/a -> sources/b -> sources/a
      hint: remove one of these from `source.depends_on`
    3 documents checked: 2 errors, 0 warnings
    -- stderr
    ");
    let one = place.ctx("validate sources/b").exits(1);
    assert!(one.stdout.contains("sources/b -> sources/a -> sources/b"), "{}", one.stdout);
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 2 files refused
      sources/a.md
        error[dependency-cycle]: sources depend on each other: sources/a -> sources/b -> sources/a (remove one of these from `source.depends_on`)
      sources/b.md
        error[dependency-cycle]: sources depend on each other: sources/a -> sources/b -> sources/a (remove one of these from `source.depends_on`)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    let partly = place.ctx("publish --all --skip-invalid").exits(1);
    assert!(partly.stdout.contains("new  nodes/n"), "{}", partly.stdout);

    // Published one by one, the second document closes the cycle.
    place.ctx("publish sources/a").ok();
    let closing = place.ctx("publish sources/b --json").exits(1).json("ctx.error");
    assert_eq!(closing["documents"][0]["problems"][0]["code"], "dependency-cycle");
    place.write("sources/b.md", source("contextnest://sources/b"));
    place.ctx("publish sources/b").exits(1);
    place.write("sources/b.md", source(""));
    place.ctx("publish sources/b").ok();
    // One event may open and close a cycle.
    place.edit("sources/a.md", "contextnest://sources/b", "");
    place.edit("sources/b.md", "[]", "[contextnest://sources/a]");
    place.ctx("publish sources/a sources/b").ok();
}

#[test]
fn a_link_to_a_folder_of_a_site_leads_to_the_document_that_stands_for_it() {
    let place = Place::vault();
    place.edit(".context/config.yaml", "layout:", "links: {/docs/: nodes/docs/}\nlayout:");
    for (path, text) in [
        ("b.md", "# B\n"),
        ("b/index.md", "# Not meant\n"),
        ("c/README.md", "# C\n"),
        ("c/d.md", "# D\n"),
        ("e/f.md", "# F\n"),
    ] {
        place.write(&format!("nodes/docs/{path}"), text);
    }
    let text =
        "# A\n\n[b](/docs/b/#no) [c](/docs/c/)\n[e](/docs/e/)\n[g](/docs/gone/)\n[t](/tags/x/)\n";
    place.write("nodes/a.md", text);
    assert_snapshot!(place.ctx("validate nodes/a").whole(), @"
    exit: 0
    -- stdout
    warning[link-anchor]: nodes/a.md:3: `nodes/docs/b` does not have a section `#no`
      hint: `ctx read nodes/docs/b --outline` lists its sections
    warning[link-broken]: nodes/a.md:5: the link leads to `nodes/docs/gone`, which is neither live nor published
      hint: name an existing document, or remove the link
    1 document checked: 0 errors, 2 warnings
    -- stderr
    ");
    place.ctx("publish --all").ok();
    let out = place.ctx("neighbors nodes/a --json").ok().json("ctx.neighbors");
    let found = out["neighbors"].as_array().unwrap().iter().map(|n| n["id"].as_str().unwrap());
    assert_eq!(found.collect::<Vec<_>>(), ["nodes/docs/b", "nodes/docs/c/README"]);
    for (id, count) in [("b", 1), ("b/index", 0), ("c/README", 1), ("c/d", 0)] {
        let into = place.ctx(&format!("neighbors nodes/docs/{id} --direction in")).ok();
        assert_eq!(into.lines().len(), count, "{id}");
    }
    let graph = place.ctx("graph --json").ok().json("ctx.graph");
    assert_eq!(graph["unresolved"].as_array().unwrap().len(), 1, "{graph}");
    assert_eq!(graph["unresolved"][0]["to"], "nodes/docs/gone");
    assert_snapshot!(place.ctx("mv nodes/docs/b nodes/docs/new --fix-links").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:09.000Z
      retired  nodes/docs/b    v2
      new      nodes/docs/new  v1
    Links that lead there:
      nodes/a.md:13  nodes/docs/b
      changed 1 link in nodes/a.md, not published
    -- stderr
    next: `ctx diff` shows the changed links, `ctx publish --changed` publishes them
    ");
    assert!(place.read("nodes/a.md").contains("[b](/docs/new/#no) [c](/docs/c/)"));
    let listed = place.ctx("retire nodes/docs/c/README --dry-run").ok();
    assert!(listed.stdout.contains("nodes/a.md:"), "{}", listed.stdout);
    let listed = place.ctx("retire nodes/docs/b/index --dry-run").ok();
    assert!(!listed.stdout.contains("nodes/a.md:"), "{}", listed.stdout);
}

#[test]
fn links_from_the_root_of_a_site_lead_where_the_sealed_configuration_says() {
    let place = Place::vault();
    place.write("nodes/docs/b.md", "# B\n");
    place.write("docs.md", "---\ntitle: D\n---\n");
    place.write("nodes/a.md", "# A\n\n[b](/docs/b.md) [x](/docs/gone.md)\n");
    place.ctx("publish --all").ok();
    place.edit(".context/config.yaml", "layout:", "links: {/docs/: nodes/docs/}\nlayout:");
    // A validator uses the live configuration, an answer the sealed one.
    let text = place.ctx("validate").ok().stdout;
    assert!(text.contains("leads to `nodes/docs/gone`") && !text.contains("`docs/b`"), "{text}");
    assert_eq!(place.ctx("neighbors nodes/a").ok().stdout, "");
    place.ctx("publish --changed").ok();
    for state in ["", "--at 2"] {
        let out = place.ctx(&format!("neighbors nodes/a {state}")).ok().stdout;
        assert!(out.contains("nodes/docs/b") && out.contains("-> reference"), "{out}");
        let into = place.ctx(&format!("neighbors nodes/docs/b --direction in {state}")).ok().stdout;
        assert!(into.contains("nodes/a") && into.contains("<- reference"), "{into}");
    }
    assert_eq!(place.ctx("neighbors nodes/a --at 1").ok().stdout, "");
    assert_eq!(place.ctx("neighbors nodes/docs/b --at 1 --direction in").ok().stdout, "");
    let graph = place.ctx("graph --json").ok().json("ctx.graph");
    assert_eq!(graph["edges"][0]["to"], "nodes/docs/b");
    assert_eq!(graph["unresolved"][0]["to"], "nodes/docs/gone");
    let before = place.ctx("graph --json --at 1").ok().json("ctx.graph");
    assert_eq!(before["unresolved"][0]["to"], "docs/b");
    assert!(place.read("context.yaml").contains("nodes/docs/b"));
    // A folder that has documents may have a page of its own.
    place.write("nodes/f.md", "[x](/docs/nope/) [i](/docs/) [u](/else/)\n");
    let found = place.ctx("validate nodes/f").ok().stdout;
    assert!(found.contains("leads to `nodes/docs/nope`") && found.contains("1 warning"), "{found}");
    place.ctx("publish nodes/f").ok();
    let graph = place.ctx("graph --json").ok().json("ctx.graph");
    assert_eq!(graph["unresolved"][1]["to"], "nodes/docs/nope");
    assert_eq!(graph["unresolved"].as_array().unwrap().len(), 2);
    place.ctx("retire nodes/docs/b").ok();
    // Its file is live, like that of a draft.
    assert!(!place.ctx("validate nodes/a").ok().stdout.contains("docs/b"));
    let graph = place.ctx("graph --json").ok().json("ctx.graph");
    assert_eq!(graph["unresolved"][0]["to"], "nodes/docs/b");
}

#[test]
fn validate_takes_anchors_of_mkdocs_for_those_of_their_headings() {
    let place = Place::vault();
    let links = "[1](#x-y) [2](#x--y) [3](#flag) [4](#-) [5](#xy)\n";
    place.write("nodes/a.md", format!("# A\n\n## X & Y\n\n## `--flag`\n\n{links}"));
    let warned = place.ctx("validate nodes/a").ok().stdout;
    assert_eq!(warned.matches("link-anchor").count(), 2, "{warned}");
    assert!(warned.contains("a section `#-`") && warned.contains("a section `#xy`"), "{warned}");
}

#[test]
fn validate_takes_paths_of_folders_of_pages_in_a_site_of_hugo() {
    let place = Place::new();
    place.write("hugo.toml", "baseURL = '/'\n");
    place.write("content/docs/page/index.md", "# P\n");
    place.write("content/docs/_index.md", "# S\n");
    place.write("content/Blog/Post.md", "# B\n");
    let links =
        "[1](/docs/page) [2](/docs) [3](/blog/post) [4](/Blog/Post)\n[5](/nope/) [6](/gone)\n";
    place.write("content/a.md", format!("# A\n\n{links}"));
    let setting = "links: {/: content/}";
    let said = place.ctx("init").ok().stderr;
    assert!(said.contains(&format!("with `{setting}` in .context/config.yaml")), "{said}");
    let config = place.read(".context/config.yaml");
    place.write(".context/config.yaml", format!("{config}\n{setting}\n"));
    let warned = place.ctx("validate").ok().stdout;
    assert_eq!(warned.matches("link-broken").count(), 2, "{warned}");
    assert_eq!(warned.matches("content/a.md:4: ").count(), 2, "{warned}");
}
