//! `ctx mv` and `ctx retire`: which links they list, and how `--fix-links` writes them.

use insta::assert_snapshot;

use crate::harness::Place;

/// A site whose folder `docs` has a page that stands for the folder `s`.
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
    warning: nodes/f.md:13: this link leads to the new id now, and led to nodes/docs/s/index
    ");
    let json = place.ctx("mv nodes/docs/s nodes/index --dry-run --json").ok().json("ctx.mv");
    assert_snapshot!(json["captured_links"].to_string(), @r#"[{"line":13,"path":"nodes/g.md","was":"nodes/docs/s/index"}]"#);
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
