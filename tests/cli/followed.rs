//! `ctx mv` and `ctx retire`: which links they list, and how `--fix-links` writes them.

use insta::assert_snapshot;

use crate::harness::Place;

/// Returns a site whose folder `docs` has a page for the folder `s`.
fn site(pages: &[&str]) -> Place {
    let place = Place::vault();
    place.write("nodes/docs/r.md", "# R\n");
    for page in pages {
        place.write(page, "# S\n");
    }
    let config = place.read(".context/config.yaml");
    place
        .write(".context/config.yaml", format!("{config}links: {{\"/docs/\": \"nodes/docs/\"}}\n"));
    place
}

fn moved_link(pages: &[&str], link: &str, new: &str) -> String {
    let place = site(pages);
    place.write("nodes/f.md", format!("# F\n\n[a]({link})\n"));
    place.ctx("publish --all").ok();
    let out = place.ctx(&format!("mv nodes/docs/r {new} --fix-links")).ok();
    place.ctx("publish --changed").ok();
    let around = place.ctx("neighbors nodes/f --direction out").ok().stdout;
    assert!(around.contains(new) || out.stderr.contains("by hand"), "{around}{}", out.stdout);
    place.read("nodes/f.md").lines().last().unwrap().to_owned()
}

#[test]
fn a_link_of_a_site_is_written_so_that_it_names_the_moved_document() {
    let index = ["nodes/docs/s/index.md"];
    assert_eq!(moved_link(&index, "/docs/r/", "nodes/docs/s/README"), "[a](/docs/s/README/)");
    assert_eq!(moved_link(&index, "/docs/r/", "nodes/docs/s/_index"), "[a](/docs/s/%5Findex/)");
    let page = ["nodes/docs/s.md"];
    assert_eq!(moved_link(&page, "/docs/r/", "nodes/docs/s/index"), "[a](/docs/s/index/)");
    let above = ["nodes/docs/index.md"];
    assert_eq!(moved_link(&above, "/docs/r/", "nodes/docs/README"), "[a](/docs/README/)");
    assert_eq!(moved_link(&[], "/docs/r/", "nodes/docs/s/README"), "[a](/docs/s/)");
}

#[test]
fn a_link_to_a_document_with_another_ending_of_markdown_has_this_ending() {
    assert_eq!(moved_link(&[], "docs/r.md#r", "nodes/z/r.mdx"), "[a](z/r.mdx#r)");
    assert_eq!(moved_link(&[], "/docs/r.md", "nodes/docs/z.mdx"), "[a](/docs/z.mdx)");
    assert_eq!(
        moved_link(&[], "r) [[r.md]] [b](docs/r.md", "nodes/z/r.MD").split(' ').next_back(),
        Some("[b](z/r.MD)")
    );
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.ctx("mv nodes/a nodes/a.mdx").ok();
    place.write("nodes/b.md", "# B\n\n[a][r] [[a.mdx]]\n\n[r]: a.mdx\n");
    place.ctx("mv nodes/a.mdx nodes/c --fix-links").ok();
    assert_eq!(place.read("nodes/b.md"), "# B\n\n[a][r] [[nodes/c.md]]\n\n[r]: c.md\n");
}

#[test]
fn links_that_a_moved_document_takes_over_are_named() {
    let place = site(&["nodes/docs/s/index.md"]);
    place.write("nodes/f.md", "# F\n\n[c](/docs/s/) [[s/index]] [x](/docs/x/)\n");
    place.write("nodes/g.md", "# G\n\n[[index]]\n");
    place.ctx("publish --all").ok();
    assert_snapshot!(place.ctx("mv nodes/docs/r nodes/docs/s").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:02.000Z
      retired  nodes/docs/r  v2
      new      nodes/docs/s  v1
    -- stderr
    warning: nodes/f.md:13: this link leads to nodes/docs/s now, and led to nodes/docs/s/index
    ");
    let json = place.ctx("mv nodes/docs/s nodes/index --dry-run --json").ok().json("ctx.mv");
    assert_snapshot!(json["captured_links"].to_string(), @r#"[{"line":13,"path":"nodes/f.md","to":"nodes/docs/s/index","was":"nodes/docs/s"},{"line":13,"path":"nodes/g.md","to":"nodes/index","was":"nodes/docs/s/index"}]"#);
}

#[test]
fn a_mapping_of_links_that_is_not_published_is_noted() {
    let place = Place::published(&[("nodes/docs/r", "# R\n"), ("nodes/f", "[a](/docs/r/)\n")]);
    let config = place.read(".context/config.yaml");
    let mapped = format!("{config}links: {{\"/docs/\": \"nodes/docs/\"}}\n");
    place.write(".context/config.yaml", mapped);
    assert_snapshot!(place.ctx("mv nodes/docs/r nodes/z --dry-run").stderr, @"note: the change of `links` in the configuration is not published yet, so links from the root of a site follow the published setting; `ctx publish .context/config.yaml` publishes the change");
    let json = place.ctx("retire nodes/docs/r --dry-run --json").ok().json("ctx.retire");
    assert_snapshot!(json["notes"][0], @r#""the change of `links` in the configuration is not published yet, so links from the root of a site follow the published setting; `ctx publish .context/config.yaml` publishes the change""#);
    place.ctx("publish .context/config.yaml").ok();
    let out = place.ctx("mv nodes/docs/r nodes/z --fix-links").ok();
    assert!(!out.stderr.contains("note"), "{}", out.stderr);
    assert!(place.read("nodes/f.md").ends_with("[a](/nodes/z/)\n"));
}

#[test]
fn links_of_the_introduction_are_listed_and_changed() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.write("CONTEXT.md", "# C\n\nRead [a](nodes/a.md) and [[a]].\n");
    place.ctx("publish CONTEXT.md").ok();
    assert!(place.ctx("retire nodes/a --dry-run").ok().stdout.contains("CONTEXT.md:3  nodes/a"));
    assert_snapshot!(place.ctx("mv nodes/a nodes/z/a --fix-links").whole(), @"
    exit: 0
    -- stdout
    checkpoint 3 with 2 versions, 2026-11-21T10:00:04.000Z
      retired  nodes/a    v2
      new      nodes/z/a  v1
    Links that lead there:
      CONTEXT.md:3  nodes/a
      changed 2 links in CONTEXT.md, not published
    -- stderr
    next: `ctx diff` shows the changed links, `ctx publish --changed` publishes them
    ");
    assert_eq!(place.read("CONTEXT.md"), "# C\n\nRead [a](nodes/z/a.md) and [[nodes/z/a]].\n");
    assert!(place.ctx("publish --changed").ok().stdout.contains("CONTEXT.md"));
    place.ctx("verify").ok();
}

#[test]
fn links_of_published_documents_are_listed_whatever_files_are_unpublished() {
    let place = site(&["nodes/docs/s/README.md"]);
    place.write("nodes/f.md", "# F\n\n[c](/docs/s/)\n");
    place.ctx("publish --all").ok();
    place.write("nodes/docs/s/index.md", "# New\n");
    assert!(place.ctx("neighbors nodes/f").ok().stdout.contains("nodes/docs/s/README"));
    let listed = place.ctx("retire nodes/docs/s/README --dry-run").ok().stdout;
    assert!(listed.contains("nodes/f.md:13  nodes/docs/s/README"), "{listed}");
    assert_snapshot!(place.ctx("mv nodes/docs/s/README nodes/z --fix-links").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:04.000Z
      retired  nodes/docs/s/README  v2
      new      nodes/z              v1
    Links that lead there:
      nodes/f.md:13  nodes/docs/s/README
    -- stderr
    warning: nodes/f.md:13: change this link by hand: `/docs/s/`
    ");
}

#[test]
fn files_whose_links_cannot_be_read_are_named() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.write("nodes/b.md", "---\na: [\n---\n[[a]]\n");
    place.write("nodes/c.md", b"[[a]] \xff\n");
    assert_snapshot!(place.ctx("mv nodes/a nodes/z --dry-run").whole(), @"
    exit: 0
    -- stdout
    would make checkpoint 2 with 2 versions, 2026-11-21T10:00:02.000Z
      retired  nodes/a  v2
      new      nodes/z  v1
    would remove nodes/a.md
    would create nodes/z.md
    -- stderr
    note: the links of 2 files were not read: nodes/b.md, nodes/c.md; `ctx validate` says why
    ");
    let json = place.ctx("retire nodes/a --dry-run --json").ok().json("ctx.retire");
    assert_snapshot!(json["links_unread"].to_string(), @r#"["nodes/b.md","nodes/c.md"]"#);
}

#[test]
fn text_that_is_no_link_stays_after_an_embedded_wikilink() {
    let place = Place::published(&[("nodes/p/r", "# R\n")]);
    let text = "![[r]] [[R]]\n\\[[r]] \\[z](../p/r.md)\n";
    place.write("nodes/o/f.md", text);
    place.ctx("mv nodes/p/r nodes/z/b --fix-links").ok();
    let expected = "![[nodes/z/b]] [[nodes/z/b]]\n\\[[r]] \\[z](../p/r.md)\n";
    assert_eq!(place.read("nodes/o/f.md"), expected);
}

#[test]
fn names_in_a_moved_document_that_mean_another_document_from_its_new_folder_are_spelled_out() {
    let documents =
        [("nodes/a/k", "# one\n"), ("nodes/b/k", "# two\n"), ("nodes/a/y", "See [[k|K]].\n")];
    let place = Place::published(&documents);
    assert_snapshot!(place.duplicate().ctx("mv nodes/a/y nodes/b/y").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:02.000Z
      retired  nodes/a/y  v2
      new      nodes/b/y  v1
    -- stderr
    warning: nodes/b/y.md:12: this link leads to nodes/b/k now, and led to nodes/a/k
    ");
    assert_snapshot!(place.ctx("mv nodes/a/y nodes/b/y --fix-links").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:02.000Z
      retired  nodes/a/y  v2
      new      nodes/b/y  v1
      changed 1 link in nodes/b/y.md, not published
    -- stderr
    next: `ctx diff` shows the changed links, `ctx publish --changed` publishes them
    ");
    assert!(place.read("nodes/b/y.md").ends_with("See [[nodes/a/k|K]].\n"));
    place.ctx("publish --changed").ok();
    let out = place.ctx("neighbors nodes/b/y --direction out").ok().stdout;
    assert!(out.contains("nodes/a/k"), "{out}");
}

#[test]
fn links_by_an_alias_that_a_moved_document_takes_over_are_named() {
    let place = Place::new();
    place.write(".obsidian/app.json", "{}");
    place.write("policy.md", "---\naliases: [Refunds]\n---\n# Policy\n");
    place.write("other.md", "---\naliases: [Rest]\n---\n# Other\n");
    place.write("l.md", "[[Refunds]] [[Rest]]\n");
    place.ctx("init").ok();
    place.ctx("publish --all").ok();
    let out = place.ctx("mv other Refunds --fix-links").ok();
    assert_snapshot!(out.stderr, @"warning: l.md:11: this link leads to Refunds now, and led to policy");
    assert!(!out.stdout.contains("l.md"), "{}", out.stdout);
}

/// Returns a vault with two documents that `/docs/guide/` and `[[guide]]` may mean, and a page that
/// links to them.
fn guides() -> Place {
    let place = site(&["nodes/docs/guide.md", "nodes/docs/guide/index.md", "nodes/z/guide.md"]);
    place.write("nodes/p.md", "[x](/docs/guide/)\n[[guide]]\n");
    place.ctx("publish --all").ok();
    place
}

#[test]
fn links_that_lead_to_another_document_when_theirs_has_left_are_named() {
    let place = guides();
    assert_snapshot!(place.ctx("mv nodes/docs/guide nodes/docs/new --dry-run").stderr, @"
    warning: nodes/p.md:11: this link leads to nodes/docs/guide/index now, and led to nodes/docs/guide
    warning: nodes/p.md:12: this link leads to nodes/z/guide now, and led to nodes/docs/guide
    ");
    assert_snapshot!(place.ctx("retire nodes/docs/guide --dry-run").stderr, @"
    warning: nodes/p.md:11: this link leads to nodes/docs/guide/index now, and led to nodes/docs/guide
    warning: nodes/p.md:12: this link leads to nodes/z/guide now, and led to nodes/docs/guide
    ");
    let json = place.ctx("retire nodes/docs/guide --dry-run --json").ok().json("ctx.retire");
    assert_snapshot!(json["captured_links"][0].to_string(), @r#"{"line":11,"path":"nodes/p.md","to":"nodes/docs/guide/index","was":"nodes/docs/guide"}"#);
    let fixed = place.ctx("mv nodes/docs/guide nodes/docs/new --fix-links").ok();
    assert!(!fixed.stderr.contains("warning"), "{}", fixed.stderr);
    assert!(place.read("nodes/p.md").ends_with("[x](/docs/new/)\n[[nodes/docs/new]]\n"));
}

#[test]
fn links_of_a_recorded_move_are_changed_when_it_is_repeated() {
    let place = Place::published(&[("nodes/a", "[b](b.md) [[./a]]\n"), ("nodes/b", "# B\n")]);
    place.write("nodes/c.md", "[a](a.md) [[a]]\n");
    place.ctx("mv nodes/a nodes/z/new").ok();
    place.write("nodes/d.md", "[new](z/new.md)\n");
    let before = place.tree();
    assert_snapshot!(place.ctx("mv nodes/a nodes/z/new").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/a.md
        error[not-published]: it was moved to `nodes/z/new` already (`ctx mv nodes/a nodes/z/new --fix-links` changes the links that still lead to the old id)
    hint: nothing was written; fix the documents, or leave them out
    ");
    assert_snapshot!(place.ctx("mv nodes/b nodes/z/new --fix-links").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[exists]: `nodes/z/new.md` exists already
    hint: `ctx publish nodes/z/new` publishes the file as it is; or edit it first, or choose another id
    ");
    assert_eq!(place.tree(), before);
    assert_snapshot!(place.ctx("mv nodes/a nodes/z/new --fix-links").whole(), @"
    exit: 0
    -- stdout
    nothing to mv
      left out: nodes/a (it was moved already)
    Links that lead there:
      nodes/c.md:1  nodes/a
      nodes/z/new.md:12  nodes/a
    Relative links, written for the old folder:
      nodes/z/new.md:12  b.md
      changed 2 links in nodes/c.md, not published
      changed 2 links in nodes/z/new.md, not published
    -- stderr
    next: `ctx diff` shows the changed links, `ctx publish --changed` publishes them
    ");
    assert_eq!(place.read("nodes/c.md"), "[a](z/new.md) [[nodes/z/new]]\n");
    assert!(place.read("nodes/z/new.md").ends_with("[b](../b.md) [[./new]]\n"));
    let after = place.tree();
    assert_snapshot!(place.ctx("mv nodes/a nodes/z/new --fix-links").whole(), @"
    exit: 0
    -- stdout
    nothing to mv
      left out: nodes/a (it was moved already)
    -- stderr
    ");
    assert_eq!(place.tree(), after);
    place.ctx("publish --changed").ok();
    place.ctx("verify").ok();
}

#[test]
fn a_repeated_move_leaves_links_that_lead_to_another_document_by_now() {
    let place = guides();
    place.ctx("mv nodes/docs/guide nodes/docs/new").ok();
    let text = place.read("nodes/p.md");
    assert_snapshot!(place.ctx("mv nodes/docs/guide nodes/docs/new --fix-links").whole(), @"
    exit: 0
    -- stdout
    nothing to mv
      left out: nodes/docs/guide (it was moved already)
    Links that lead there:
      nodes/p.md:11  nodes/docs/guide
      nodes/p.md:12  nodes/docs/guide
    -- stderr
    warning: nodes/p.md:11: change this link by hand: `/docs/guide/`
    warning: nodes/p.md:12: change this link by hand: `guide`
    ");
    assert_eq!(place.read("nodes/p.md"), text);
}

#[test]
fn texts_after_wikilinks_that_name_a_moved_document_are_named() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.write("nodes/c.md", "[[1]](a.md) [[1]](b.md) [[1]](a.md#x 'y')\n[[1]] (a.md)\n[[1]](\n");
    assert_snapshot!(place.ctx("mv nodes/a nodes/z --fix-links --dry-run").stderr, @"warning: nodes/c.md:1: `(…)` after a wikilink is text, but names nodes/a; change it by hand");
    let json = place.ctx("retire nodes/a --dry-run --json").ok().json("ctx.retire");
    assert_snapshot!(json["texts_after_wikilinks"].to_string(), @r#"[{"kind":"reference","line":1,"path":"nodes/c.md","to":"nodes/a"}]"#);
}

#[test]
fn wikilinks_by_a_path_follow_a_moved_document() {
    let text = "[[./old]] [[../a/old|o]] [[../a/old.md#s]]\n";
    let place = Place::published(&[("nodes/a/old", text)]);
    place.write("nodes/a/f.md", "[[./old]] [[../a/old]]\n");
    let out = place.ctx("mv nodes/a/old nodes/b/new --fix-links").ok();
    assert!(!out.stderr.contains("warning"), "{}", out.stderr);
    let moved = place.read("nodes/b/new.md");
    assert!(moved.ends_with("[[../b/new]] [[../b/new|o]] [[../b/new.md#s]]\n"), "{moved}");
    assert_eq!(place.read("nodes/a/f.md"), "[[../b/new]] [[../b/new]]\n");
    place.ctx("publish --changed").ok();
    // A wikilink cannot name this id.
    let out = place.ctx("mv nodes/b/new 'nodes/c/x^y' --fix-links").ok();
    assert_snapshot!(out.stderr, @"
    warning: nodes/a/f.md:1: change this link by hand: `../b/new`
    warning: nodes/a/f.md:1: change this link by hand: `../b/new`
    warning: nodes/c/x^y.md:12: change this link by hand: `../b/new`
    warning: nodes/c/x^y.md:12: change this link by hand: `../b/new`
    warning: nodes/c/x^y.md:12: change this link by hand: `../b/new.md#s`
    ");
    assert_eq!(place.read("nodes/c/x^y.md").lines().last(), moved.lines().last());
}
