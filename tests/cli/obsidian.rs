//! Documents that only the layout of Obsidian reads differently.

use insta::assert_snapshot;

use crate::harness::{Output, Place};

/// Returns a vault with this layout in which these documents are published.
fn vault(layout: &str, documents: &[(&str, &str)]) -> Place {
    let place = Place::new();
    place.ctx(&format!("init --name Notes --layout {layout}")).ok();
    for (id, text) in documents {
        place.write(&format!("{id}.md"), text);
    }
    place.ctx("publish --all").ok();
    place
}

/// Changes the layout in the configuration.
fn set_layout(place: &Place, from: &str, to: &str) {
    place.edit(".context/config.yaml", &format!("layout: {from}"), &format!("layout: {to}"));
}

const ALIASED: [(&str, &str); 4] = [
    ("nodes/returns", "---\naliases: [Refund policy, RP, other]\n---\n# Returns\n"),
    ("nodes/a", "# A\n\n[[refund policy]] and [[RP]]\n"),
    ("nodes/other", "# Other\n"),
    ("nodes/b", "# B\n\n[[other]]\n"),
];

#[test]
fn an_alias_leads_to_its_document_and_a_file_name_wins() {
    let place = vault("obsidian", &ALIASED);
    assert_snapshot!(place.ctx("neighbors nodes/returns").whole(), @"
    exit: 0
    -- stdout
    1  nodes/a  A  <- reference
    -- stderr
    ");
    assert_snapshot!(place.ctx("neighbors nodes/a").whole(), @"
    exit: 0
    -- stdout
    1  nodes/returns  Returns  -> reference
    -- stderr
    ");
    assert_snapshot!(place.ctx("neighbors nodes/b").whole(), @"
    exit: 0
    -- stdout
    1  nodes/other  Other  -> reference
    -- stderr
    ");
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 0
    -- stdout
    4 documents checked: 0 errors, 0 warnings
    -- stderr
    ");
    let plain = vault("structured", &ALIASED);
    assert_snapshot!(plain.ctx("neighbors nodes/returns").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    note: no document is linked with it in this way
    ");
    assert!(plain.ctx("validate").whole().contains("link-broken"));
}

#[test]
fn an_alias_of_two_documents_is_ambiguous() {
    let place = vault(
        "obsidian",
        &[
            ("x/one", "---\nalias: Shared\n---\n# One\n"),
            ("y/two", "---\naliases: shared\n---\n# Two\n"),
            ("z", "# Z\n\n[[SHARED]]\n"),
            ("y/near", "# Near\n\n[[Shared]]\n"),
        ],
    );
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 0
    -- stdout
    warning[link-ambiguous]: z.md:13: `SHARED` matches 2 documents; `x/one` is used
      hint: write `[[x/one]]`, or the id of another
    4 documents checked: 0 errors, 1 warning
    -- stderr
    ");
    assert_snapshot!(place.ctx("neighbors z").whole(), @"
    exit: 0
    -- stdout
    1  x/one  One  -> reference
    -- stderr
    ");
    assert_snapshot!(place.ctx("neighbors y/near").whole(), @"
    exit: 0
    -- stdout
    1  y/two  Two  -> reference
    -- stderr
    ");
}

#[test]
fn links_by_an_alias_are_reported_by_a_retirement_and_outlast_a_move() {
    let place = vault("obsidian", &ALIASED);
    assert_snapshot!(place.ctx("retire nodes/returns --dry-run").whole(), @"
    exit: 0
    -- stdout
    would make checkpoint 2 with 1 version, 2026-11-21T10:00:02.000Z
      retired  nodes/returns  v2
    Links that lead there:
      nodes/a.md:13  nodes/returns
    --- nodes/returns.md (now)
    +++ nodes/returns.md (retired)
    @@ -2,11 +2,11 @@
     aliases: [Refund policy, RP, other]
     title: Returns
     type: document
    -status: published
    -version: 1
    +status: draft
    +version: 2
     author: ana@example.com
     created_at: '2026-11-21T10:00:01.000Z'
    -updated_at: '2026-11-21T10:00:01.000Z'
    +updated_at: '2026-11-21T10:00:02.000Z'
     checksum: sha256:1bc69dfb881764629d6b9bedff07c887e17213778cf9c3c2e575ebf82dfeb5a3
     ---
     # Returns
    -- stderr
    ");
    place.ctx("mv nodes/returns nodes/policy --fix-links").ok();
    assert!(place.read("nodes/a.md").contains("[[refund policy]] and [[RP]]"));
    assert_snapshot!(place.ctx("neighbors nodes/policy").whole(), @"
    exit: 0
    -- stdout
    1  nodes/a  A  <- reference
    -- stderr
    ");
}

#[test]
fn answers_follow_the_layout_that_the_checkpoint_seals() {
    let place = vault("structured", &ALIASED);
    set_layout(&place, "structured", "obsidian");
    assert_snapshot!(place.ctx("neighbors nodes/returns").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    note: no document is linked with it in this way
    ");
    place.ctx("publish --all").ok();
    assert!(place.ctx("neighbors nodes/returns").ok().stdout.contains("nodes/a"));
    set_layout(&place, "obsidian", "structured");
    assert!(place.ctx("neighbors nodes/returns").ok().stdout.contains("nodes/a"));
    place.ctx("publish --all").ok();
    assert!(!place.ctx("neighbors nodes/returns").ok().stdout.contains("nodes/a"));
}

const TAGGED: [(&str, &str); 3] = [
    (
        "nodes/a",
        "---\ntags: [policy]\n---\n# A #policy\n\nOf #retail, not `#code` or %%#hidden%%.\n",
    ),
    ("nodes/b", "# B\n\n#policy #nested/tag\n"),
    ("nodes/c", "# C\n\n[a #policy](a.md)\n"),
];

#[test]
fn hashtags_of_a_body_are_tags() {
    let place = vault("obsidian", &TAGGED);
    assert_snapshot!(place.ctx("resolve '#policy'").whole(), @"
    exit: 0
    -- stdout
    nodes/a  v1  document  A #policy
    nodes/b  v1  document  B
    -- stderr
    ");
    assert_snapshot!(place.ctx("resolve '#retail'").whole(), @"
    exit: 0
    -- stdout
    nodes/a  v1  document  A #policy
    -- stderr
    ");
    assert_snapshot!(place.ctx("resolve '#hidden | #code | #nested'").whole(), @"
    exit: 0
    -- stdout
    nodes/b  v1  document  B
    -- stderr
    note: no published document has #hidden
    note: no published document has #code
    ");
    let read = place.ctx("read nodes/a --json").json("ctx.read");
    assert_eq!(read["tags"].to_string(), r#"["policy","retail"]"#);
    place.ctx("index").ok();
    assert!(place.read("context.yaml").contains("tags: [policy, retail]"));
    place.write("packs/p.yml", "id: p\nquery: '#draft'\n");
    assert!(place.ctx("validate").whole().contains("pack-unmatched"));
    place.write("nodes/d.md", "# D\n\n#draft\n");
    assert!(!place.ctx("validate").whole().contains("pack-unmatched"));
    assert!(place.ctx("resolve '#draft'").whole().contains("1 unpublished document"));
}

#[test]
fn the_sealed_layout_says_whether_hashtags_count() {
    let place = vault("structured", &TAGGED);
    let count = |at: &str| {
        let answer = place.ctx(&format!("resolve '#policy' {at} --json")).json("ctx.resolve");
        answer["documents"].as_array().unwrap().len()
    };
    set_layout(&place, "structured", "obsidian");
    assert_eq!(count(""), 1);
    place.ctx("publish --all").ok();
    assert_eq!((count(""), count("--at 1")), (2, 1));
    set_layout(&place, "obsidian", "structured");
    assert_eq!(count(""), 2);
    place.ctx("publish --all").ok();
    assert_eq!((count(""), count("--at 2"), count("--at 1")), (1, 2, 1));
}

const COMMENTED: [(&str, &str); 2] = [
    (
        "nodes/a",
        "---\ntitle: A\ntags: [policy]\n---\n# A\n\nShown %%secretive%% text.\n\n%%\n## Concealed\n\n[[b]]\n%%\n\n\
         ## Part\n\n`%%code%%`\n",
    ),
    ("nodes/b", "# B\n\nPlain.\n"),
];

#[test]
fn comments_are_not_served() {
    let place = vault("obsidian", &COMMENTED);
    assert_snapshot!(place.ctx("resolve '#policy' --format markdown").whole(), @r##"
    exit: 0
    -- stdout
    <!-- ctx:context selector="#policy" class=set checkpoint=1 checkpoint_hash=sha256:4c493ab382f0692db77e814b7f41efc3532bda0b84482f6ecd040d63d1375f5c at=2026-11-21T10:00:01.000Z mark=c824dd2221e0818c84f40936 parts=2 tokens=226 left_out=0 withheld=0 -->
    <!-- ctx:instructions n=1 uri=contextnest://CONTEXT.md@1 version=1 -->

    # Notes

    What this vault is about, and how agents are to use it. This text goes to every agent first.

    - Act on published documents only, and cite them by `contextnest://` URI and version.
    <!-- ctx:end c824dd2221e0818c84f40936 -->
    <!-- ctx:begin n=2 uri=contextnest://nodes/a@1 title="A" version=1 comments=2 -->
    # A

    Shown  text.



    ## Part

    `%%code%%`
    <!-- ctx:end c824dd2221e0818c84f40936 -->
    <!-- ctx:hashes sha256
    1 a245bbb4b37e1d13bc19fe12581009ef3eb01235154cbd1ce41ea6f327ea49a7
    2 6f35ec2c9de0e9e0d0add1f13f4335191f67152064df94f7e2ffb677b72f78b1
    -->
    -- stderr
    "##);
    let answer = place.ctx("resolve '#policy' --json --bodies").json("ctx.resolve");
    let document = &answer["documents"][0];
    assert_snapshot!(document["body"].as_str().unwrap(), @"
    # A

    Shown  text.



    ## Part

    `%%code%%`
    ");
    assert_eq!(document["comments"], 2);
    let answer = place.ctx("resolve contextnest://nodes/a#a --json --bodies").json("ctx.resolve");
    assert_eq!(answer["documents"][0]["sections"][0]["comments"], 2);
    let read = place.ctx("read nodes/a#part --json").json("ctx.read");
    assert_eq!(
        (read["body"].as_str(), read.get("comments")),
        (Some("## Part\n\n`%%code%%`\n"), None)
    );
    assert_snapshot!(place.ctx("read nodes/a --outline").whole(), @"
    exit: 0
    -- stdout
    #a       79 bytes  A
      #part  20 bytes  Part
    -- stderr
    ");
    assert_snapshot!(place.ctx("read nodes/a#concealed").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-anchor]: no section has the anchor `#concealed`
      #a
      #part
    hint: `ctx read ID --outline` lists the sections with their sizes
    ");
    // Sealed texts can be audited, and a link in a comment is a link.
    let read = place.ctx("read nodes/a").ok();
    assert!(read.stdout.contains("%%secretive%%"));
    assert_eq!(read.stderr, "note: the text has 2 comments, which `--json` leaves out\n");
    assert!(place.ctx("neighbors nodes/b").ok().stdout.contains("nodes/a"));
    place.ctx("verify").ok();
}

#[test]
fn a_search_neither_finds_nor_shows_a_comment() {
    let place = vault("obsidian", &COMMENTED);
    for word in ["secretive", "concealed"] {
        let answer = place.ctx(&format!("search {word} --json")).json("ctx.search");
        assert_eq!(answer["hits"].as_array().unwrap().len(), 0, "{word}");
    }
    assert_snapshot!(place.ctx("search 'shown text'").whole(), @"
    exit: 0
    -- stdout
    nodes/a#a  v1 6f35ec2c9de0  1.756  A
        # A Shown text.
    -- stderr
    1 hit at checkpoint 1, delegated to builtin
    ");
    let found = |word: &str| place.ctx(&format!("search {word}")).ok().stdout;
    assert!(found("code").contains("#part"));
    // Another layout has the same versions indexed again.
    set_layout(&place, "obsidian", "structured");
    place.ctx("publish --all").ok();
    assert!(found("secretive").contains("nodes/a"));
    set_layout(&place, "structured", "obsidian");
    place.ctx("publish --all").ok();
    assert!(!found("secretive").contains("nodes/a"));
}

#[test]
fn a_comment_without_an_end_hides_the_rest_with_a_warning() {
    let place = vault("obsidian", &[("a", "---\ntitle: A\n---\nShown.\n\n100 %% of\n\n## Gone\n")]);
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 0
    -- stdout
    warning[comment-unclosed]: a.md:13: no `%%` ends the comment: the rest of the text is part of it
      hint: end it with `%%`, or write the `%%` as code
    1 document checked: 0 errors, 1 warning
    -- stderr
    ");
    let read = place.ctx("read a --json").json("ctx.read");
    assert_eq!((read["body"].as_str(), &read["comments"]), (Some("Shown.\n\n100 "), &1.into()));
    place.edit(".context/config.yaml", "layout: obsidian", "layout: structured");
    assert!(!place.ctx("validate").whole().contains("comment-unclosed"));
}

#[test]
fn comments_stay_out_where_the_sealed_configuration_is_damaged() {
    let place = vault("obsidian", &COMMENTED);
    let history = ".context/.versions/config.yaml/history.yaml";
    place.edit(history, "chain_hash: sha256:", "chain_hash: sha256:0");
    let found = place.ctx("resolve '#policy' --format markdown").whole();
    assert!(found.contains("Shown  text.") && !found.contains("secretive"), "{found}");
    assert!(found.contains(".context/config.yaml"), "{found}");
}

#[test]
fn a_title_is_not_taken_from_a_comment() {
    let text = "%%\n# Draft\n%%\n\n# Shown %%or not%%\n";
    for (layout, title) in [("obsidian", "Shown"), ("structured", "Draft")] {
        let place = vault(layout, &[("nodes/a", text)]);
        let read = place.ctx("read nodes/a --json").json("ctx.read");
        assert_eq!(read["title"], title);
        // A file that a publication could not write is still recognized as the published text.
        place.write("nodes/a.md", text);
        assert!(place.ctx("publish nodes/a").ok().stdout.contains("nodes/a"));
        assert!(place.read("nodes/a.md").contains(&format!("title: {title}\n")));
        assert_eq!(place.ctx("head --json").json("ctx.head")["checkpoint"], 1);
    }
}

#[test]
fn resolve_selects_nested_tags_without_case() {
    let documents = [
        ("nodes/a", "# A\n\n#area/ops and #Caf\u{e9}\n"),
        ("nodes/b", "---\ntags: [Area, 2024-goals]\n---\n# B\n"),
        ("nodes/c", "---\ntags: ['#area/Legal/eu']\n---\n# C\n\n#areas\n"),
    ];
    let place = vault("obsidian", &documents);
    let plain = vault("structured", &documents);
    let ids = |out: Output| {
        let answer = out.json("ctx.resolve");
        let documents = answer["documents"].as_array().unwrap();
        documents.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let line = |selector: &str| format!("resolve \"{selector}\" --json");
    let found = |place: &Place, selector: &str| ids(place.ctx(&line(selector)));
    place.write("blocked", "");
    let nowhere = place.path("blocked");
    let unindexed = |selector: &str| {
        let run = place.typed(&line(selector));
        ids(run.var("XDG_CACHE_HOME", nowhere.join("none").to_str().unwrap()).run())
    };
    let cases = [
        ("#area/ops", &["nodes/a"][..], &[][..]),
        ("#AREA", &["nodes/a", "nodes/b", "nodes/c"], &[]),
        ("#area - #area/legal", &["nodes/a", "nodes/b"], &[]),
        ("contextnest://tag/area/legal", &["nodes/c"], &[]),
        ("#caf\u{e9} | #2024-goals", &["nodes/a", "nodes/b"], &[]),
        ("#Area", &["nodes/a", "nodes/b", "nodes/c"], &["nodes/b"]),
        ("#ops", &[], &[]),
    ];
    for (selector, obsidian, structured) in cases {
        assert_eq!(found(&place, selector), obsidian, "{selector}");
        assert_eq!(found(&plain, selector), structured, "{selector}");
        assert_eq!(unindexed(selector), obsidian, "{selector}");
    }
    // The layout that the checkpoint seals decides, whatever the live file says.
    set_layout(&place, "obsidian", "structured");
    assert_eq!(found(&place, "#AREA/ops"), ["nodes/a"]);
}

#[test]
fn the_map_counts_the_documents_that_each_tag_selects() {
    let documents = [
        ("nodes/a", "# A\n\n#area/ops #Area\n"),
        ("nodes/b", "---\ntags: [area, Area]\n---\n# B\n"),
        ("nodes/c", "# C\n\n#AREA/ops/eu\n"),
    ];
    let place = vault("obsidian", &documents);
    assert_snapshot!(place.ctx("context --all").ok().stdout, @r#"
    <!-- ctx:begin chain_hash=sha256:a245bbb4b37e1d13bc19fe12581009ef3eb01235154cbd1ce41ea6f327ea49a7 mark=03603be7921b0daaf7f2a1e4 uri=contextnest://CONTEXT.md@1 version=1 -->
    ---
    title: "Notes"
    ---

    # Notes

    What this vault is about, and how agents are to use it. This text goes to every agent first.

    - Act on published documents only, and cite them by `contextnest://` URI and version.
    <!-- ctx:end 03603be7921b0daaf7f2a1e4 -->

    # Map of Notes at checkpoint 1: 3 documents

    Types:
      type:document (3)

    Tags:
      #AREA/ops/eu (1)
      #Area (3)
      #area/ops (2)

    Folders:
      nodes/ (3)
    "#);
}

#[test]
fn a_note_names_the_nearest_tag_of_obsidian() {
    let place = vault("obsidian", &[("nodes/a", "# A\n\n#Area/Ops\n")]);
    assert_snapshot!(place.ctx("resolve '#area/opps | #AREA'").whole(), @"
    exit: 0
    -- stdout
    nodes/a  v1  document  A
    -- stderr
    note: no published document has #area/opps; did you mean #Area/Ops?
    ");
}

#[test]
fn hashtags_that_select_nothing_are_named_by_a_validator() {
    let place =
        vault("obsidian", &[("nodes/a", "# A\n\n#a//b #ok %%#c//d%%\n#a//b #caf\u{e9}/\n")]);
    assert_snapshot!(place.ctx("validate nodes/a").whole(), @"
    exit: 0
    -- stdout
    warning[tag-grammar]: nodes/a.md:13: hashtag `#a//b` selects nothing
      hint: a tag has letters, digits, `_` and `-`, not digits alone, and `/` between its levels
    warning[tag-grammar]: nodes/a.md:14: hashtag `#café/` selects nothing
      hint: a tag has letters, digits, `_` and `-`, not digits alone, and `/` between its levels
    1 document checked: 0 errors, 2 warnings
    -- stderr
    ");
    for n in 0..6 {
        place.write(&format!("nodes/n{n}.md"), format!("# N\n\n#area//{n}\n"));
    }
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 0
    -- stdout
    warning[tag-grammar]: 8 times in 7 files: hashtag … selects nothing
      first: nodes/a.md:13, nodes/a.md:14, nodes/n0.md:3
      hint: `ctx validate --all` lists each with its hint
    7 documents checked: 0 errors, 8 warnings
    -- stderr
    ");
    let out = place.ctx("publish --all").ok();
    assert!(!out.stderr.contains("tag-grammar"), "{}", out.stderr);
    let place = vault("structured", &[("nodes/a", "# A\n\n#a//b\n")]);
    assert!(!place.ctx("validate").ok().stdout.contains("tag-grammar"));
}

#[test]
fn validate_reports_embedded_files_that_are_not_there() {
    let place = Place::new();
    place.ctx("init --layout obsidian").ok();
    place.write("media/Deep/Photo.PNG", "x");
    place.write("Drawing.excalidraw.md", "# D\n");
    place.write(
        "notes/a.md",
        "# A\n\n![[photo.png]] ![[media/Deep/Photo.PNG|300]] ![[Drawing.excalidraw]] ![[b]]\n\n\
         ![[missing.png]]\n\n![[tape.mp3#t=3]] `![[code.png]]`\n",
    );
    place.write("notes/b.md", "# B\n");
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 0
    -- stdout
    warning[image-missing]: notes/a.md:5: the file of the image `missing.png` does not exist
      hint: add the file to the vault or its git repository, or fix the path
    warning[image-missing]: notes/a.md:7: the file of the image `tape.mp3` does not exist
      hint: add the file to the vault or its git repository, or fix the path
    3 documents checked: 0 errors, 2 warnings
    -- stderr
    ");
}

#[test]
fn validate_accepts_links_of_a_site_in_another_case() {
    let place = Place::new();
    place.ctx("init --layout obsidian").ok();
    place.write("docs/Getting-Started/API.md", "# API\n");
    place.write(
        "docs/a.md",
        "[a](/docs/getting-started/api) [b](/Docs/Getting-Started/api/) [c](/docs/none)\n\n\
         [d](getting-started/API.md)\n",
    );
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 0
    -- stdout
    warning[link-broken]: docs/a.md:1: the link leads to `docs/none`, which is neither live nor published
      hint: name an existing document, or remove the link
    warning[link-broken]: docs/a.md:3: the link leads to `docs/getting-started/API`, which is neither live nor published
      hint: did you mean `docs/Getting-Started/API`?
    2 documents checked: 0 errors, 2 warnings
    -- stderr
    ");
}
