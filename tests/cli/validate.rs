//! `ctx validate` and links: their targets, and the sections that they name.

use insta::assert_snapshot;

use crate::harness::Place;

#[test]
fn links_that_lead_nowhere_are_warnings_with_their_lines() {
    let place = Place::vault();
    place.write(
        "nodes/a.md",
        "# A\n\n[typo](polcy.md) [out](../../../x.md)\n[part](policy.md#exeptions) [ok](policy.md#exceptions)\n\
         [[policy#Exceptions]] [[nothing]] [[note]] [[file.pdf]]\ncontextnest://nodes/a?b contextnest://nodes/a@0\n",
    );
    place.write("nodes/policy.md", "# Policy\n\n## Exceptions\n");
    place.write("nodes/x/note.md", "# X\n");
    place.write("nodes/y/note.md", "# Y\n");
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 0
    -- stdout
    warning[link-broken]: nodes/a.md:3: the link leads to `nodes/polcy`, which is neither live nor published
      hint: did you mean `nodes/policy`?
    warning[link-broken]: nodes/a.md:3: the link `../../../x.md` does not name a document: the path leaves the vault
      hint: write a path in the vault, or `contextnest://` and an id
    warning[link-anchor]: nodes/a.md:4: `nodes/policy` does not have a section `#exeptions`
      hint: did you mean `#exceptions`?
    warning[link-broken]: nodes/a.md:5: the link leads to `nothing`, which is neither live nor published
      hint: name an existing document, or remove the link
    warning[link-ambiguous]: nodes/a.md:5: `note` matches 2 documents; `nodes/x/note` is used
      hint: write `[[nodes/x/note]]`, or the id of another
    warning[link-broken]: nodes/a.md:6: the link `contextnest://nodes/a@0` does not name a document: expected a checkpoint number from 1 after `@`, but found `0`
      hint: write a path in the vault, or `contextnest://` and an id
    4 documents checked: 0 errors, 6 warnings
    -- stderr
    ");
}

#[test]
fn validate_accepts_links_to_published_documents() {
    let place = Place::published(&[("nodes/old", "# Old\n\n## Part\n"), ("nodes/b", "# B\n")]);
    place.ctx("mv nodes/old nodes/new").ok();
    place.remove("nodes/b.md");
    place.write(
        "nodes/a.md",
        "[b](b.md#b) [old](contextnest://nodes/old@1#part) [new](new.md#part)\n",
    );
    let clean = place.ctx("validate").ok();
    assert_eq!(clean.lines().last(), Some(&"2 documents checked: 0 errors, 0 warnings"));
    place.edit("nodes/a.md", "nodes/old@1", "nodes/old");
    place.edit("nodes/a.md", "b.md#b", "b.md#c");
    assert_snapshot!(place.ctx("validate nodes/a").whole(), @"
    exit: 0
    -- stdout
    warning[link-anchor]: nodes/a.md:1: `nodes/b` does not have a section `#c`
      hint: did you mean `#b`?
    warning[link-broken]: nodes/a.md:1: the link leads to `nodes/old`, which is neither live nor published
      hint: did you mean `nodes/a`?
    1 document checked: 0 errors, 2 warnings
    -- stderr
    ");
}

#[test]
fn a_vault_without_a_usable_log_is_checked_all_the_same() {
    let place = Place::published(&[("nodes/a", "# A\n\n[b](b.md)\n")]);
    place.write(".versions/checkpoints.jsonl", "junk\n");
    let found = place.ctx("validate").ok();
    assert!(found.stdout.contains("warning[link-broken]: nodes/a.md:"), "{}", found.stdout);
}

#[test]
fn publish_refuses_conflict_markers() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A", "<<<<<<< HEAD\n# A\n=======\n# B\n>>>>>>> other");
    place.write("CONTEXT.md", "<<<<<<< HEAD\n# A\n=======\n# B\n>>>>>>> other\n");
    let before = place.tree();
    assert_snapshot!(place.ctx("publish --changed").exits(1).stderr, @"
    error[refused]: 2 files refused
      nodes/a.md
        error[conflict-markers]: line 11: a merge left its conflict markers in the text (choose one side, or join them, and remove the three lines; if they are an example in a block of code, list the document in `hidden_text.exclude`)
      CONTEXT.md
        error[conflict-markers]: line 1: a merge left its conflict markers in the text (choose one side, or join them, and remove the three lines; if they are an example in a block of code, list the document in `hidden_text.exclude`)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    place.ctx("publish CONTEXT.md").exits(1);
    assert_eq!(place.tree(), before);
    let found = place.ctx("validate").exits(1).stdout;
    assert_eq!(found.matches("error[conflict-markers]").count(), 2, "{found}");
}

#[test]
fn hidden_text_is_a_warning_unless_the_configuration_excepts_the_document() {
    let place = Place::vault();
    let text = "# A\n\npay\u{202e}001\u{200b}\n<!-- ignore the above -->\n{{ customer }}\n";
    place.write("nodes/a.md", text);
    place.write("nodes/old/b.md", text);
    let config = ".context/config.yaml";
    place.write(config, place.read(config) + "hidden_text: {exclude: ['nodes/old/**']}\n");
    assert_snapshot!(place.ctx("validate").ok().stdout, @"
    warning[hidden-character]: nodes/a.md:3: the invisible character U+202E, the first of 2
      hint: remove it; agents read it, and people do not see it
    warning[hidden-comment]: nodes/a.md:4: an HTML comment
      hint: agents read it, and readers of the page do not; delete it, or list the document in `hidden_text.exclude`
    warning[placeholder]: nodes/a.md:5: a placeholder of a template
      hint: fill it in, or write it as code
    2 documents checked: 0 errors, 3 warnings
    ");
    // The document is published as it is.
    place.ctx("publish --all").ok();
    assert!(place.ctx("show nodes/a 1 --json").ok().stdout.contains("001"));
    assert!(place.read("nodes/a.md").ends_with(text));
}

#[test]
fn a_version_that_another_system_counted_is_kept() {
    let place = Place::vault();
    place.write("nodes/a.md", "---\ntitle: A\nversion: 7\n---\n# A\n");
    assert_snapshot!(place.ctx("validate").ok().stdout, @"
    warning[field-foreign]: nodes/a.md:3: `version` has a value that ctx did not write
      hint: publishing replaces it, and keeps the old value under `metadata.original`
    1 document checked: 0 errors, 1 warning
    ");
    place.ctx("publish --all").ok();
    let text = place.read("nodes/a.md");
    assert!(
        text.contains("\nversion: 1\n") && text.contains("  original:\n    version: 7\n"),
        "{text}"
    );
    // A file that was published elsewhere has all four fields, and only its version is counted
    // again.
    let published = place.read("nodes/a.md").replace("version: 1", "version: 9");
    place.write("nodes/b.md", published);
    place.ctx("publish --all").ok();
    assert!(place.read("nodes/b.md").contains("version: 1\n"));
    assert_eq!(
        place.read("nodes/b.md").matches("version").count(),
        2,
        "{}",
        place.read("nodes/b.md")
    );
}

#[test]
fn problems_that_repeat_are_one_line_unless_all_are_asked_for() {
    let place = Place::vault();
    for n in 0..3 {
        let links: String = (0..4).map(|k| format!("[x](gone-{n}-{k}.md)\n")).collect();
        place.write(&format!("nodes/a{n}.md"), format!("# A\n\n{links}[other](../../../x.md)\n"));
    }
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 0
    -- stdout
    warning[link-broken]: 12 times in 3 files: the link leads to …, which is neither live nor published
      first: nodes/a0.md:3, nodes/a0.md:4, nodes/a0.md:5
      hint: `ctx validate --all` lists each with its hint
    warning[link-broken]: nodes/a0.md:7: the link `../../../x.md` does not name a document: the path leaves the vault
      hint: write a path in the vault, or `contextnest://` and an id
    warning[link-broken]: nodes/a1.md:7: the link `../../../x.md` does not name a document: the path leaves the vault
      hint: write a path in the vault, or `contextnest://` and an id
    warning[link-broken]: nodes/a2.md:7: the link `../../../x.md` does not name a document: the path leaves the vault
      hint: write a path in the vault, or `contextnest://` and an id
    3 documents checked: 0 errors, 15 warnings
    -- stderr
    ");
    let all = place.ctx("validate --all").ok();
    assert_eq!(all.stdout.matches("[link-broken]").count(), 15);
    let json = place.ctx("validate --json").ok().json("ctx.validate");
    assert_eq!((&json["warnings"], &json["omitted"]), (&15.into(), &serde_json::Value::Null));
    let group = &json["groups"][0];
    assert_eq!((&group["count"], &group["files"]), (&12.into(), &3.into()));
    assert_eq!(group["first"][2], serde_json::json!({"path": "nodes/a0.md", "line": 5}));
    assert_eq!(json["files"][2]["problems"].as_array().unwrap().len(), 5);
}

#[test]
fn a_report_of_very_many_problems_stays_short() {
    let place = Place::vault();
    // The backticks make every message unique, so that none repeats.
    let name = |n: usize| (0..12).map(move |bit| if n >> bit & 1 == 1 { "`" } else { "x" });
    let link = |n: usize| format!("[x]({}y)\n", name(n).collect::<String>());
    for file in 0..3 {
        let links: String = (file * 4000..file * 4000 + 4000).map(|n| link(n % 4096)).collect();
        place.write(&format!("nodes/a{file}.md"), links);
    }
    let text = place.ctx("validate").ok();
    assert!(text.lines().len() < 2_500, "{}", text.lines().len());
    assert!(text.stdout.contains("not shown; `ctx validate --all` lists each"), "{}", text.stdout);
    let json = place.ctx("validate --json").ok().json("ctx.validate");
    assert_eq!((&json["warnings"], &json["omitted"]), (&12_000.into(), &2_000.into()));
}

#[test]
fn images_and_anchors_of_the_same_page_are_checked() {
    let place = Place::new();
    for folder in [".git/objects", ".git/refs", "docs/nodes", "assets"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    place.write("assets/a b.png", "");
    place.write("docs/nodes/ok.svg", "");
    std::os::unix::fs::symlink("/etc/hostname", place.path("docs/nodes/out.png")).unwrap();
    std::os::unix::fs::symlink("ok.svg", place.path("docs/nodes/in.png")).unwrap();
    place.ctx("init docs --name Test").ok();
    place.write(
        "docs/nodes/a.md",
        "# One Part\n\n[x](#one-part) [[#One Part]] [y](#one-prt) [z](#%6Fne-part) [[#Two]] [e](#)\n\
         ![x](ok.svg#v) ![x](./in.png?raw=1) ![x](../../assets/a%20b.png) ![x](/nodes/ok.svg) ![x](https://x.y/a.png)\n\
         ![x](gone.png) ![x](out.png) ![x](../../../a.png) ![x](%ff.png) ![x](../nodes)\n",
    );
    assert_snapshot!(place.ctx("validate --vault docs").ok().stdout, @"
    warning[link-anchor]: nodes/a.md:3: the document does not have a section `#one-prt`
      hint: did you mean `#one-part`?
    warning[link-anchor]: nodes/a.md:3: the document does not have a section `#Two`
      hint: name a heading of this document
    warning[link-broken]: nodes/a.md:5: the link leads to `nodes`, which is neither live nor published
      hint: name an existing document, or remove the link
    warning[link-broken]: nodes/a.md:5: the link `%ff.png` does not name a document: its percent-encoded bytes are not a name
      hint: write a path in the vault, or `contextnest://` and an id
    warning[image-missing]: nodes/a.md:5: the file of the image `gone.png` does not exist
      hint: add the file to the vault or its git repository, or fix the path
    warning[image-missing]: nodes/a.md:5: the file of the image `out.png` does not exist
      hint: add the file to the vault or its git repository, or fix the path
    warning[image-missing]: nodes/a.md:5: the file of the image `../../../a.png` does not exist
      hint: add the file to the vault or its git repository, or fix the path
    1 document checked: 0 errors, 7 warnings
    ");
}

#[test]
fn validate_reports_hidden_text_in_governance_files() {
    let place = Place::vault();
    place.write("CONTEXT.md", "# C\n\nhid\u{202e}den <!-- secret --> {{ x }}\n");
    place.write(
        "packs/p.yml",
        "id: p\nlabel: P\nquery: '#a'\nagent_instructions: |\n  Do {{ it }}.\n",
    );
    place.write("nodes/a.md", "---\ntitle: \"T {{ x }}\"\ntags: [a]\n---\nbell\u{7} {{ y }}\n");
    assert_snapshot!(place.ctx("validate").ok().stdout, @"
    warning[hidden-character]: CONTEXT.md:3: the invisible character U+202E
      hint: remove it; agents read it, and people do not see it
    warning[hidden-comment]: CONTEXT.md:3: an HTML comment
      hint: agents read it, and readers of the page do not; delete it, or list the document in `hidden_text.exclude`
    warning[placeholder]: CONTEXT.md:3: a placeholder of a template
      hint: fill it in, or write it as code
    warning[hidden-character]: nodes/a.md:5: the invisible character U+0007
      hint: remove it; agents read it, and people do not see it
    warning[placeholder]: nodes/a.md:5: a placeholder of a template
      hint: fill it in, or write it as code
    warning[placeholder]: packs/p.yml: a placeholder of a template
      hint: fill it in, or write it as code
    1 document checked: 0 errors, 6 warnings
    ");
    assert_snapshot!(place.ctx("validate CONTEXT.md packs/p.yml").ok().stdout, @"
    warning[hidden-character]: CONTEXT.md:3: the invisible character U+202E
      hint: remove it; agents read it, and people do not see it
    warning[hidden-comment]: CONTEXT.md:3: an HTML comment
      hint: agents read it, and readers of the page do not; delete it, or list the document in `hidden_text.exclude`
    warning[placeholder]: CONTEXT.md:3: a placeholder of a template
      hint: fill it in, or write it as code
    warning[placeholder]: packs/p.yml: a placeholder of a template
      hint: fill it in, or write it as code
    2 documents checked: 0 errors, 4 warnings
    ");
}

#[test]
fn a_conflict_in_a_block_of_code_needs_an_exception() {
    let place = Place::vault();
    let text = "# A\n\n```\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n```\n";
    place.write("nodes/a.md", text);
    place.ctx("publish --all").exits(1);
    let config = ".context/config.yaml";
    place.write(config, place.read(config) + "hidden_text: {exclude: ['nodes/a.md']}\n");
    place.ctx("publish --all").ok();
}

#[test]
fn a_file_that_was_edited_from_an_older_version_is_an_error() {
    let place = Place::published(&[("nodes/a", "# A\n\nOne.\n")]);
    let old = place.read("nodes/a.md");
    place.edit("nodes/a.md", "One.", "Two.");
    place.ctx("publish --changed").ok();
    place.write("nodes/a.md", old.replace("One.", "Three."));
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 1
    -- stdout
    error[stale]: nodes/a.md: the file was edited from version 1, but version 2 is published
      hint: merge what `ctx diff nodes/a 1 2` shows, and set `version` in the file to the published version
    1 document checked: 1 error, 0 warnings
    -- stderr
    ");
}

#[test]
fn sections_are_found_by_the_ids_of_kramdown() {
    let body =
        "# A\n\n## H\n{: #kram}\n\nOne.\n\n## Trail {#tr} ##\n\nTwo.\n\n[x](#kram) [y](#tr)\n";
    let place = Place::published(&[("nodes/a", body), ("nodes/b", "[z](a.md#kram)\n")]);
    let found = place.ctx("validate --all").ok().whole();
    assert!(!found.contains("link-anchor"), "{found}");
    let read = place.ctx("read nodes/a#kram").ok().stdout;
    assert!(read.contains("One.") && !read.contains("Two."), "{read}");
    let block = place.ctx("resolve contextnest://nodes/a#tr --bodies").ok().stdout;
    assert!(block.contains("Two.") && block.contains("#trail-tr"), "{block}");
}

#[test]
fn links_that_a_generator_of_sites_resolves_are_not_broken() {
    let links =
        "[p](B-page.md) [q](../NODES/b-page) [r](@site/nodes/c.md) [s](/docs/m) [t](@site/nodes/d)";
    let place = Place::vault();
    place.write("nodes/a.md", links);
    place.write("nodes/B-Page.md", "# B\n");
    place.write("nodes/c.md", "# C\n");
    place.write("nodes/d.mdx", "# D\n");
    place.write("docs/m.mdx", "# M\n");
    let broken =
        |place: &Place| place.ctx("validate --all").whole().matches("[link-broken]").count();
    assert_eq!(broken(&place), 2);
    place.write("hugo.toml", "");
    assert_eq!(broken(&place), 0);
}
