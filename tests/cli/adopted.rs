//! Existing folders of Markdown: which files are documents, and why others are not.

use insta::assert_snapshot;

use crate::anchored::git;
use crate::harness::Place;

/// Returns a vault of every Markdown file, at the top of a git repository.
fn in_git() -> Place {
    let place = Place::new();
    git(&place, "init -q -b main");
    place.ctx("init --name Site --layout obsidian").ok();
    place
}

/// Returns the paths that `status` lists, with their states.
fn states(place: &Place, flags: &str) -> Vec<String> {
    let report = place.ctx(&format!("status --json {flags}")).json("ctx.status");
    let rows = report["documents"].as_array().unwrap().iter();
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
    rows.map(|row| format!("{} {}", text(row, "path"), text(row, "state"))).collect()
}

#[test]
fn files_that_git_ignores_are_no_documents() {
    let place = in_git();
    place.write(".gitignore", "build/\n*.tmp.md\n!keep.tmp.md\n/notes/*\n!/notes/shared.md\n");
    place.write("deep/.gitignore", "!b.tmp.md\nsecret.md\n");
    for path in [
        "a.md",
        "a.tmp.md",
        "keep.tmp.md",
        "build/x.md",
        "deep/build/x.md",
        "notes/mine.md",
        "notes/shared.md",
        "deep/b.tmp.md",
        "deep/secret.md",
        "secret.md",
    ] {
        place.write(path, "# T\n");
    }
    assert_snapshot!(states(&place, "").join("\n"), @r"
    a.md unpublished
    deep/b.tmp.md unpublished
    keep.tmp.md unpublished
    notes/shared.md unpublished
    secret.md unpublished
    ");
    let refused = place.ctx("publish deep/secret").exits(1);
    assert!(
        refused.stderr.contains("git ignores it, by `secret.md` in deep/.gitignore"),
        "{}",
        refused.stderr
    );
    // A file that is named next to a folder is reported, too.
    let beside = place.ctx("publish deep/ deep/secret").exits(1);
    assert!(beside.stderr.contains("git ignores it"), "{}", beside.stderr);
    assert_snapshot!(place.ctx("add build/y --body x").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[misplaced]: git ignores `build/y.md`, by `build/` in .gitignore
    hint: change the rule, or choose another id
    ");
    place.ctx("publish --all").ok();
    assert!(states(&place, "").iter().all(|row| row.ends_with(" published")));
    assert!(!place.has("deep/.versions/secret"));
    place.ctx("verify").ok();
}

#[test]
fn an_ignore_rule_hides_nothing_that_is_published() {
    let place = in_git();
    place.write("a.md", "# A\n");
    place.ctx("publish --all").ok();
    place.write(".gitignore", "*\n");
    place.write("planted.md", "---\nstatus: published\n---\n");
    assert_eq!(states(&place, ""), ["a.md published"]);
    place.ctx("verify").ok();
    place.edit("a.md", "# A\n", "# A\n\nmore\n");
    assert_eq!(states(&place, ""), ["a.md changed"]);
    let found = place.ctx("verify").exits(1).stdout;
    assert!(found.contains("[drift] a:") && !found.contains("planted"), "{found}");
    place.edit("a.md", "title: A", "title: [A]");
    let found = place.ctx("validate").exits(1).stdout;
    assert!(found.contains("a.md"), "{found}");
    place.edit("a.md", "title: [A]", "title: A");
    place.ctx("publish a").ok();
    assert_eq!(states(&place, ""), ["a.md published"]);
    place.ctx("publish --all").ok();
}

#[test]
fn only_ignore_files_of_the_repository_count() {
    let place = Place::new();
    place.write("docs/.gitignore", "b.md\n");
    place.write(".gitignore", "a.md\n");
    place.write("docs/.ignore", "c.md\n");
    for path in ["docs/a.md", "docs/b.md", "docs/c.md", "docs/d.md"] {
        place.write(path, "# T\n");
    }
    place.ctx("init docs --name Docs --layout obsidian").ok();
    let paths =
        |place: &Place| states(place, "--vault docs").join(", ").replace(" unpublished", "");
    assert_eq!(paths(&place), "a.md, b.md, c.md, d.md", "no repository");
    git(&place, "init -q -b main");
    place.write(".git/info/exclude", "d.md\n");
    assert_eq!(paths(&place), "c.md, d.md");
    // `--staged` reports the same, although it reads another folder.
    git(&place, "add -f -A");
    assert_eq!(
        place.ctx("validate --vault docs --staged").ok().stdout.split(' ').next(),
        Some("2")
    );
    // The repository does not contain a folder that the rules above exclude.
    place.write(".gitignore", "a.md\n/docs/\n");
    assert_eq!(paths(&place), "a.md, b.md, c.md, d.md");
}

#[test]
fn ignore_files_that_cannot_be_used_are_reported() {
    let place = in_git();
    place.write("a.md", "# A\n");
    place.write("big/.gitignore", vec![b'x'; (64 << 10) + 1]);
    place.write("big/b.md", "# B\n");
    place.write("rules", "*\n");
    std::os::unix::fs::symlink("rules", place.path(".gitignore")).unwrap();
    assert_eq!(
        states(&place, ""),
        [
            ".gitignore invalid",
            "a.md unpublished",
            "big/.gitignore invalid",
            "big/b.md unpublished"
        ]
    );
    place.ctx("publish --all").exits(1);
    assert!(!place.has(".versions/a"));
    let found = place.ctx("verify").stdout;
    assert_eq!(found.matches("[file-ignored]").count(), 2, "{found}");
    place.ctx("publish a").ok();
}

#[test]
fn status_lists_what_is_left_out_with_the_reason() {
    let place = Place::new();
    git(&place, "init -q -b main");
    place.ctx("init --name Site").ok();
    place.write(".gitignore", "*.tmp.md\nbuild/\n");
    place.edit(
        ".context/config.yaml",
        "layout:",
        "exclude: ['nodes/drafts/**', 'nodes/sealed.md']\nlayout:",
    );
    for path in [
        "README.md",
        "docs/x.md",
        "plain.md",
        "nodes/a.md",
        "nodes/a.tmp.md",
        "nodes/drafts/b.md",
        "nodes/.hidden.md",
        "nodes/INDEX.md",
        "nodes/node_modules/m.md",
        "build/c.md",
        ".obsidian/d.md",
        "nodes/other/.context/config.yaml",
        "nodes/sealed.md",
        "image.png",
    ] {
        place.write(path, "# T\n");
    }
    place.write("nodes/big.md", vec![b'x'; (16 << 20) + 1]);
    std::os::unix::fs::symlink("a.md", place.path("nodes/link.md")).unwrap();
    assert_snapshot!(place.ctx("status --ignored").stdout, @"
    Nothing is published yet
    Published and unchanged: 0 documents

    Invalid, cannot be published (next: ctx validate):
      nodes/big.md
          `nodes/big.md` is larger than 16777216 bytes

    Never published (next: ctx publish ID, or ctx publish --all):
      nodes/a.md

    Left out, not documents (next: ctx validate):
      nodes/link.md
          it is a symbolic link, which is not followed

    Governance files changed (next: ctx publish --changed):
      .context/config.yaml (new)
      CONTEXT.md (new)

    Markdown files that are not documents:
      .obsidian/ (the name begins with a dot)
      README.md (`readme: true` in the configuration makes it a document)
      build/ (git ignores it, by `build/` in .gitignore)
      docs/x.md (outside of nodes/ and sources/)
      nodes/.hidden.md (the name begins with a dot)
      nodes/INDEX.md (the name is reserved)
      nodes/a.tmp.md (git ignores it, by `*.tmp.md` in .gitignore)
      nodes/big.md (larger than 16 MiB)
      nodes/drafts/b.md (excluded by the configuration)
      nodes/link.md (a symbolic link, which is not followed)
      nodes/node_modules/ (the name is reserved)
      nodes/other/ (a vault of its own)
      nodes/sealed.md (excluded by the configuration)
      plain.md (in the root, without frontmatter)
    ");
    let report = place.ctx("status --ignored --json").json("ctx.status");
    let rule =
        report["ignored"].as_array().unwrap().iter().find(|file| file["path"] == "nodes/a.tmp.md");
    assert_eq!(rule.unwrap()["rule"]["pattern"], "*.tmp.md");
    assert!(place.ctx("status --json").json("ctx.status").get("ignored").is_none());
}

#[test]
fn other_endings_of_markdown_are_documents_whose_ids_keep_them() {
    let place = Place::new();
    place.ctx("init --name Site --layout obsidian").ok();
    place.write("a.mdx", "# A\n\nSee [b](sub/b.MD#part) and [[c.markdown]].\n");
    place.write("sub/b.MD", "# B\n\n## Part\n\nText.\n");
    place.write("c.markdown", "# C\n");
    place.write("a.md", "# Another A\n");
    place.ctx("publish --all").ok();
    assert_eq!(
        states(&place, ""),
        ["a.md published", "a.mdx published", "c.markdown published", "sub/b.MD published"]
    );
    assert!(place.has(".versions/a.mdx/history.yaml") && place.has("sub/.versions/b.MD/v1.md"));
    place.ctx("verify").ok();
    place.ctx("validate").ok();
    assert!(place.ctx("read a.mdx").ok().stdout.contains("See [b]"));
    assert!(place.ctx("resolve contextnest://sub/b.MD --bodies").ok().stdout.contains("Text."));
    let around = place.ctx("neighbors a.mdx").ok().stdout;
    assert!(around.contains("sub/b.MD") && around.contains("c.markdown"), "{around}");
    place.edit("a.mdx", "See", "Look at");
    place.ctx("publish a.mdx").ok();
    place.ctx("mv a.mdx d.mdx").ok();
    assert!(place.has("d.mdx") && !place.has("a.mdx"));
    place.ctx("verify").ok();
    place.ctx("checkout 1 ../copy").ok();
    assert!(place.home().join("copy/sub/b.MD").exists());
}

#[test]
fn endings_that_some_file_system_takes_for_one_are_refused() {
    let place = Place::new();
    place.ctx("init --name Site --layout obsidian").ok();
    place.write("a.md", "# A\n");
    place.ctx("publish --all").ok();
    place.write("a.MD", "# Other\n");
    let refused = place.ctx("publish a.MD").exits(1).stderr;
    assert!(refused.contains("id-collision"), "{refused}");
    assert!(place.ctx("validate").exits(1).stdout.contains("id-collision"));
    place.remove("a.MD");
    place.write("b.mdx.md", "---\nstatus: published\n---\n# B\n");
    let left_out = place.ctx("publish --all").ok().stdout;
    assert!(
        left_out.contains("`b.mdx` is the id of the file with exactly that name"),
        "{left_out}"
    );
    let found = place.ctx("verify").exits(1).stdout;
    assert!(found.contains("[published-without-history]"), "{found}");
}

#[test]
fn a_readme_is_a_document_where_the_configuration_says_so() {
    let place = Place::new();
    place.write("README.md", "# Site\n\nSee [guide](guide.md).\n");
    place.write("guide.md", "# Guide\n\nBack to [the start](README.md) and [[README]].\n");
    place.ctx("init --name Site").ok();
    assert!(place.read(".context/config.yaml").contains("readme: true\n"));
    place.ctx("publish --all").ok();
    assert_eq!(states(&place, ""), ["README.md published", "guide.md published"]);
    assert!(place.ctx("neighbors README").ok().stdout.contains("guide"));
    place.ctx("verify").ok();
    // A published document stays a document.
    place.edit(".context/config.yaml", "readme: true", "readme: false");
    assert_eq!(states(&place, ""), ["README.md published", "guide.md published"]);

    let place = Place::vault();
    place.write("README.md", "---\ntitle: R\nstatus: published\n---\n");
    place.write("nodes/a.md", "# A\n\n[R](../README.md), [[README]]\n");
    assert_eq!(states(&place, ""), ["nodes/a.md unpublished"]);
    assert_eq!(place.ctx("validate").ok().stdout, "1 document checked: 0 errors, 0 warnings\n");
    place.ctx("publish README").exits(1);
}

#[test]
fn the_folder_of_templates_of_obsidian_holds_no_documents() {
    let place = Place::new();
    place.write(".obsidian/templates.json", "{\"folder\": \"Extra/Templates/\"}");
    place.write("Extra/Templates/day.md", "# {{title}}\n");
    place.write("Extra/Templates.md", "# About\n");
    place.write("a.md", "# A\n");
    place.ctx("init --name Site").ok();
    assert_eq!(states(&place, ""), ["Extra/Templates.md unpublished", "a.md unpublished"]);
    let listed = place.ctx("status --ignored").ok().stdout;
    assert!(listed.contains("Extra/Templates/day.md (in the folder of templates"), "{listed}");
    place.ctx("publish Extra/Templates/day").exits(1);
    for setting in ["{\"folder\": \"/\"}", "{\"folder\": \"../x\"}", "[", "{\"folder\": 1}"] {
        place.write(".obsidian/templates.json", setting);
        assert_eq!(states(&place, "").len(), 3, "{setting}");
    }
}

#[test]
fn init_warns_of_rules_that_keep_histories_out_of_git() {
    let place = Place::new();
    git(&place, "init -q -b main");
    place.write(".gitignore", ".*\n!.gitignore\n");
    let said = place.ctx("init --name Site").ok().stderr;
    assert!(said.contains("warning: git ignores .context, by `.*` in .gitignore"), "{said}");
    assert!(said.contains("warning: git ignores .versions, by `.*` in .gitignore"), "{said}");
    assert!(!in_git().ctx("init ../other").ok().stderr.contains("git ignores"));
}
