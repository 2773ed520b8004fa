//! `ctx mv`: one event, two ids.

use insta::assert_snapshot;

use crate::harness::Place;

fn one() -> Place {
    Place::published(&[("nodes/a", "---\ntitle: A\ntags: [x]\n---\n\nOne.\n")])
}

#[test]
fn a_moved_document_names_where_it_came_from() {
    let place = one();
    assert_snapshot!(place.ctx("mv nodes/a nodes/deep/b -m tidy").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:02.000Z
      retired  nodes/a       v2
      new      nodes/deep/b  v1
    -- stderr
    ");
    assert!(!place.has("nodes/a.md"));
    assert_snapshot!(place.read("nodes/deep/b.md"), @"
    ---
    title: A
    tags: [x]
    type: document
    status: published
    version: 1
    author: ana@example.com
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:02.000Z'
    checksum: sha256:fba7b15f7e56247342cad24394c734cf3e9257e2eec556e4ed474ad80033877d
    derived_from: ['contextnest://nodes/a@1']
    ---

    One.
    ");
    assert_eq!(place.ctx("resolve '#x' --ids").ok().lines(), ["nodes/deep/b"]);
    assert_eq!(place.ctx("resolve '#x' --ids --at 1").ok().lines(), ["nodes/a"]);
    assert_snapshot!(place.ctx("checkpoint show 2").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 of 2026-11-21T10:00:02.000Z
    triggered by nodes/deep/b
    hash sha256:918073620ab521fe01d79632dffebb8ed0bdca6acc678ddc0671aa0a9f627190
    removed nodes/a
    contains 3 artifacts (* = set by this checkpoint):
        .context/config.yaml  v1  7ddb1cef5f59
        CONTEXT.md            v1  0b291b9ba29b
      * nodes/deep/b          v1  c34519d1c482
    -- stderr
    ");
    place.ctx("verify").ok();
}

#[test]
fn json_lists_both() {
    let place = one();
    let json = place.ctx("mv nodes/a nodes/b --json").ok().json("ctx.mv");
    let changes: Vec<String> = json["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| format!("{} {} v{}", v["change"], v["id"], v["version"]))
        .collect();
    assert_snapshot!(changes.join("\n"), @r#"
    "retired" "nodes/a" v2
    "new" "nodes/b" v1
    "#);
}

#[test]
fn the_id_of_a_retired_document_stays_taken_in_any_case() {
    let place = one();
    place.ctx("retire nodes/a").ok();
    assert_snapshot!(place.ctx("add nodes/A --body x").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/A.md
        error[id-collision]: `nodes/A` and `nodes/a` differ only in case or Unicode form (choose another name; ids of retired documents and of submissions are taken, too, because their histories stay)
    hint: nothing was written; fix the documents, or leave them out
    ");
    assert!(!place.has("nodes/A.md"));
    place.ctx("verify").ok();
}

#[test]
fn mv_refuses_an_edited_document() {
    let place = one();
    place.edit("nodes/a.md", "One.", "Two.");
    let before = place.tree();
    assert_snapshot!(place.ctx("mv nodes/a nodes/b").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/a.md
        error[unpublished-changes]: its live file was changed (publish the change first, or undo it)
    hint: nothing was written; fix the documents, or leave them out
    ");
    assert_eq!(place.tree(), before);
    place.remove("nodes/a.md");
    assert_snapshot!(place.ctx("mv nodes/a nodes/b").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/a.md
        error[document-missing]: the live file is missing (`ctx restore nodes/a` writes the published text into the file again, `ctx retire nodes/a` withdraws the document)
    hint: nothing was written; fix the documents, or leave them out
    ");
}

#[test]
fn targets_and_origins_that_do_not_fit_are_refused() {
    let place = one();
    place.write("nodes/taken.md", "mine");
    place.write("nodes/draft.md", "# D\n");
    let before = place.tree();
    assert_snapshot!(place.ctx("mv nodes/a nodes/taken").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[exists]: `nodes/taken.md` exists already
    hint: `ctx publish nodes/taken` publishes the file as it is; or edit it first, or choose another id
    ");
    assert_snapshot!(place.ctx("mv nodes/a nodes/a").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[exists]: `nodes/a.md` exists already
    hint: `ctx publish nodes/a` publishes the file as it is; or edit it first, or choose another id
    ");
    assert_snapshot!(place.ctx("mv nodes/a elsewhere/b").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[misplaced]: `elsewhere/b.md` is not a place for documents in the layout of this vault
    hint: documents belong in `nodes/` or `sources/`; see `layout` and `exclude` in .context/config.yaml
    ");
    assert_snapshot!(place.ctx("mv nodes/draft nodes/b").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/draft.md
        error[not-published]: it is not published (rename the file; nothing is recorded about it)
    hint: nothing was written; fix the documents, or leave them out
    ");
    assert_snapshot!(place.ctx("mv nodes/nope nodes/b").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-id]: no document has the id `nodes/nope`
    hint: `ctx list` lists published documents, `ctx status` lists new and changed ones
    ");
    assert_snapshot!(place.ctx("mv CONTEXT.md nodes/b").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      CONTEXT.md
        error[not-a-document]: a governance file keeps its name (edit it in place)
    hint: nothing was written; fix the documents, or leave them out
    ");
    assert_eq!(place.tree(), before);
}

#[test]
fn a_dry_run_writes_nothing() {
    let place = one();
    let before = place.tree();
    assert_snapshot!(place.ctx("mv nodes/a nodes/b --dry-run").whole(), @"
    exit: 0
    -- stdout
    would make checkpoint 2 with 2 versions, 2026-11-21T10:00:02.000Z
      retired  nodes/a  v2
      new      nodes/b  v1
    would remove nodes/a.md
    would create nodes/b.md
    -- stderr
    ");
    assert_eq!(place.tree(), before);
}

#[test]
fn mv_refuses_a_retired_document() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.ctx("retire nodes/a").ok();
    let refused = place.ctx("mv nodes/a nodes/b").exits(1).stderr;
    assert!(refused.contains("it was retired: rename the file"), "{refused}");
}

#[test]
fn a_move_is_not_undone_by_another_one() {
    let place = one();
    place.ctx("mv nodes/a nodes/b").ok();
    assert_snapshot!(place.ctx("mv nodes/b nodes/a").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/b.md
        error[id-taken]: `nodes/a` has a history already (choose an id that was never used, because histories stay)
    hint: nothing was written; fix the documents, or leave them out
    ");
}

/// Returns a vault with a document whose file was moved by hand.
fn moved_by_hand() -> Place {
    let place = one();
    std::fs::rename(place.path("nodes/a.md"), place.path("nodes/b.md")).unwrap();
    place
}

#[test]
fn a_file_that_was_moved_before_is_recorded_at_its_new_place() {
    let (place, by_hand) = (one(), moved_by_hand());
    place.ctx("mv nodes/a nodes/b").ok();
    assert_snapshot!(by_hand.ctx("mv nodes/a nodes/b").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:02.000Z
      retired  nodes/a  v2
      new      nodes/b  v1
    -- stderr
    ");
    assert_eq!(by_hand.chained(), place.chained(), "both ways give the same bytes");
    by_hand.ctx("verify").ok();
    assert!(by_hand.ctx("status").ok().stdout.contains("Nothing to publish"));
}

#[test]
fn a_file_that_was_moved_before_is_looked_at_in_a_dry_run() {
    let place = moved_by_hand();
    let before = place.tree();
    assert_snapshot!(place.ctx("mv nodes/a nodes/b --dry-run").whole(), @"
    exit: 0
    -- stdout
    would make checkpoint 2 with 2 versions, 2026-11-21T10:00:02.000Z
      retired  nodes/a  v2
      new      nodes/b  v1
    --- nodes/b.md (now)
    +++ nodes/b.md (published)
    @@ -6,8 +6,9 @@
     version: 1
     author: ana@example.com
     created_at: '2026-11-21T10:00:01.000Z'
    -updated_at: '2026-11-21T10:00:01.000Z'
    +updated_at: '2026-11-21T10:00:02.000Z'
     checksum: sha256:fba7b15f7e56247342cad24394c734cf3e9257e2eec556e4ed474ad80033877d
    +derived_from: ['contextnest://nodes/a@1']
     ---
     
     One.
    -- stderr
    ");
    assert_eq!(place.tree(), before);
}

#[test]
fn a_file_that_was_moved_and_changed_is_not_taken_for_a_move() {
    let place = moved_by_hand();
    place.edit("nodes/b.md", "One.", "Two.");
    let before = place.tree();
    assert_snapshot!(place.ctx("mv nodes/a nodes/b").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/b.md
        error[unpublished-changes]: its body differs from that of `nodes/a`, whose file is missing (undo the change and publish it after the move; or run `ctx retire nodes/a` and `ctx publish nodes/b`)
    hint: nothing was written; fix the documents, or leave them out
    ");
    assert_eq!(place.tree(), before);
    // A changed field goes into version 1 of the new id, if it can be published.
    place.edit("nodes/b.md", "Two.", "One.");
    place.edit("nodes/b.md", "title: A", "title: []");
    assert!(place.ctx("mv nodes/a nodes/b").exits(1).stderr.contains("title-invalid"));
    place.edit("nodes/b.md", "title: []", "title: B");
    place.ctx("mv nodes/a nodes/b").ok();
    assert!(place.ctx("read nodes/b").ok().stdout.contains("title: B"));
    place.ctx("verify").ok();
}

#[test]
fn links_to_the_old_id_are_listed() {
    let place = one();
    place.write("nodes/c.md", "# C\n\n[[a]] and [b](b.md)\n");
    assert_snapshot!(place.ctx("mv nodes/a nodes/b").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:02.000Z
      retired  nodes/a  v2
      new      nodes/b  v1
    Links that lead there:
      nodes/c.md:3  nodes/a
    -- stderr
    ");
}

#[test]
fn links_to_the_old_id_are_changed_in_place() {
    let place = Place::published(&[("nodes/a", "# A\n\n## One\n"), ("nodes/deep/x", "# X\n")]);
    let text = "---\r\ntitle:  C # kept\r\nderived_from: [nodes/a]\r\n---\r\n# C\r\n\r\n\
                [a.md](a.md#one \"a.md\"), [[a]], [[nodes/a.md#One|the a]], ![[a]]\r\n\
                <contextnest://nodes/a> contextnest://nodes/a#one, contextnest://nodes/a@1.\r\n\
                `[[a]]` [x](deep/x.md) [root](/nodes/a) contextnest://nodes/a/\r\n\
                [by reference][r]\r\n\r\n[r]: a.md\r\n";
    place.write("nodes/c.md", text);
    place.write("nodes/deep/d.md", "[a](../a.md)\n");
    place.write("nodes/e.md", "[b](b.md)\n");
    let before = place.tree();
    let dry = place.ctx("mv nodes/a 'nodes/deep/b c' --fix-links --dry-run").ok();
    assert!(dry.stdout.contains("+[a](b%20c.md)"), "{}", dry.stdout);
    assert_eq!(place.tree(), before);
    assert_snapshot!(place.ctx("mv nodes/a 'nodes/deep/b c' --fix-links").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:03.000Z
      retired  nodes/a         v2
      new      nodes/deep/b c  v1
    Links that lead there:
      nodes/c.md:7  nodes/a
      nodes/c.md:8  nodes/a
      nodes/c.md:9  nodes/a
      nodes/c.md:10  nodes/a
      nodes/deep/d.md:1  nodes/a
      changed 8 links in nodes/c.md, not published
      changed 1 link in nodes/deep/d.md, not published
    -- stderr
    next: `ctx diff` shows the changed links, `ctx publish --changed` publishes them
    ");
    assert_snapshot!(place.read("nodes/c.md").replace('\r', ""), @r#"
    ---
    title:  C # kept
    derived_from: [nodes/a]
    ---
    # C

    [a.md](deep/b%20c.md#one "a.md"), [[nodes/deep/b c]], [[nodes/deep/b c.md#One|the a]], ![[nodes/deep/b c]]
    <contextnest://nodes/deep/b%20c> contextnest://nodes/deep/b%20c#one, contextnest://nodes/a@1.
    `[[a]]` [x](deep/x.md) [root](/nodes/deep/b%20c) contextnest://nodes/a/
    [by reference][r]

    [r]: deep/b%20c.md
    "#);
    assert_eq!(place.read("nodes/c.md").matches("\r\n").count(), text.matches("\r\n").count());
    assert_eq!(place.read("nodes/deep/d.md"), "[a](b%20c.md)\n");
    assert_eq!(place.read("nodes/e.md"), "[b](b.md)\n");
    place.ctx("verify --allow-drift").ok();
}

#[test]
fn definitions_of_links_to_the_old_id_are_changed() {
    let place = Place::published(&[("nodes/a", "# A\n\n## One\n")]);
    place.write(
        "nodes/deep/c.md",
        "[x][a.md] [a.md] ![y][A.md] [z][2] [w][unused]\n\n[a.md]: <../a.md#one> \"a.md\"\n\
         > [2]:\n>   ../a.md\n>   'two'\n\n<!-- [3]: ../a.md -->\n\n```\n[4]: ../a.md\n```\n",
    );
    assert_snapshot!(place.ctx("mv nodes/a nodes/deep/b --fix-links").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:02.000Z
      retired  nodes/a       v2
      new      nodes/deep/b  v1
    Links that lead there:
      nodes/deep/c.md:1  nodes/a
      changed 3 links in nodes/deep/c.md, not published
    -- stderr
    warning: nodes/deep/c.md:1: change this link by hand: `../a.md`
    next: `ctx diff` shows the changed links, `ctx publish --changed` publishes them
    ");
    assert_snapshot!(place.read("nodes/deep/c.md"), @r#"
    [x][a.md] [a.md] ![y][A.md] [z][2] [w][unused]

    [a.md]: <b.md#one> "a.md"
    > [2]:
    >   ../a.md
    >   'two'

    <!-- [3]: ../a.md -->

    ```
    [4]: ../a.md
    ```
    "#);
}

/// A document with links of every kind to places that do not move with it.
const LINKED: &str = "# A\n\n[b](b.md#one \"b.md\") [b](./b.md?x#y) [b](<b.md>) [b](deep/x)\n\
    ![i](../img/a%20b.png) [![i](i.png)](b.md) [p](deep/) [r][r] [here](.) [up](../..)\n\
    [[./b|B]] ![[../img/c.png]] [[b]] [s](/nodes/b) [w](https://a.b/c) <m@a.b> [t](#t)\n\
    `[b](b.md)` <!-- [b](b.md) --> [repo](../../src/main.rs)\n\n[r]: ./b.md 'B'\n\n\
    [self](a.md#t) [[a]] [root](/nodes/a) contextnest://nodes/a\n";

#[test]
fn relative_links_of_a_moved_document_are_listed() {
    let place = Place::published(&[("nodes/a", LINKED), ("nodes/b", "# B\n")]);
    let json = place.ctx("mv nodes/a nodes/deep/c --dry-run --json").ok().json("ctx.mv");
    assert_snapshot!(json["relative_links"][0].to_string(), @r#"{"line":14,"path":"nodes/deep/c.md","text":"b.md#one"}"#);
    assert_snapshot!(place.ctx("mv nodes/a nodes/deep/c").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:03.000Z
      retired  nodes/a       v2
      new      nodes/deep/c  v1
    Links that lead there:
      nodes/deep/c.md:21  nodes/a
    Relative links, written for the old folder:
      nodes/deep/c.md:14  b.md#one
      nodes/deep/c.md:14  ./b.md?x#y
      nodes/deep/c.md:14  b.md
      nodes/deep/c.md:14  deep/x
      nodes/deep/c.md:15  ../img/a%20b.png
      nodes/deep/c.md:15  i.png
      nodes/deep/c.md:15  b.md
      nodes/deep/c.md:15  deep/
      nodes/deep/c.md:15  .
      nodes/deep/c.md:15  ../..
      nodes/deep/c.md:15  ./b.md
      nodes/deep/c.md:16  ./b
      nodes/deep/c.md:16  ../img/c.png
      nodes/deep/c.md:17  ../../src/main.rs
    -- stderr
    ");
}

#[test]
fn relative_links_of_a_moved_document_name_what_they_named() {
    let place = Place::published(&[("nodes/a", LINKED), ("nodes/b", "# B\n")]);
    let before = place.tree();
    let dry = place.ctx("mv nodes/a nodes/deep/c --fix-links --dry-run").ok();
    assert!(dry.stdout.contains("+[[../b|B]]"), "{}", dry.stdout);
    assert_eq!(place.tree(), before);
    assert_snapshot!(place.ctx("mv nodes/a nodes/deep/c --fix-links").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:03.000Z
      retired  nodes/a       v2
      new      nodes/deep/c  v1
    Links that lead there:
      nodes/deep/c.md:21  nodes/a
    Relative links, written for the old folder:
      nodes/deep/c.md:14  b.md#one
      nodes/deep/c.md:14  ./b.md?x#y
      nodes/deep/c.md:14  b.md
      nodes/deep/c.md:14  deep/x
      nodes/deep/c.md:15  ../img/a%20b.png
      nodes/deep/c.md:15  i.png
      nodes/deep/c.md:15  b.md
      nodes/deep/c.md:15  deep/
      nodes/deep/c.md:15  .
      nodes/deep/c.md:15  ../..
      nodes/deep/c.md:15  ./b.md
      nodes/deep/c.md:16  ./b
      nodes/deep/c.md:16  ../img/c.png
      nodes/deep/c.md:17  ../../src/main.rs
      changed 18 links in nodes/deep/c.md, not published
    -- stderr
    next: `ctx diff` shows the changed links, `ctx publish --changed` publishes them
    ");
    let live = place.read("nodes/deep/c.md");
    assert_snapshot!(live.split_once("# A").unwrap().1, @r#"


    [b](../b.md#one "b.md") [b](../b.md?x#y) [b](<../b.md>) [b](x)
    ![i](../../img/a%20b.png) [![i](../i.png)](../b.md) [p](./) [r][r] [here](..) [up](../../..)
    [[../b|B]] ![[../../img/c.png]] [[b]] [s](/nodes/b) [w](https://a.b/c) <m@a.b> [t](#t)
    `[b](b.md)` <!-- [b](b.md) --> [repo](../../../src/main.rs)

    [r]: ../b.md 'B'

    [self](c.md#t) [[nodes/deep/c]] [root](/nodes/deep/c) contextnest://nodes/deep/c
    "#);
    let sealed = place.ctx("read nodes/deep/c").ok().stdout;
    assert!(sealed.ends_with(LINKED), "{sealed}");
    place.ctx("publish --changed").ok();
    place.ctx("verify").ok();
}

#[test]
fn the_relative_links_of_a_file_that_was_moved_by_hand_are_changed() {
    let place = Place::published(&[("nodes/a", "[b](b.md)\n"), ("nodes/b", "# B\n")]);
    let text = place.read("nodes/a.md");
    place.remove("nodes/a.md");
    place.write("nodes/deep/c.md", &text);
    place.ctx("mv nodes/a nodes/deep/c --fix-links").ok();
    assert!(place.read("nodes/deep/c.md").ends_with("[b](../b.md)\n"));
}

#[test]
fn impact_names_the_former_id_of_a_moved_document() {
    let place = one();
    place.ctx("read nodes/a --session before").ok();
    place.ctx("mv nodes/a nodes/b").ok();
    place.ctx("read nodes/b --session after").ok();
    let told = place.ctx("impact nodes/b").ok();
    assert!(told.stdout.contains("after") && !told.stdout.contains("before"), "{}", told.whole());
    assert_snapshot!(told.stderr, @"hint: it was moved; `ctx impact nodes/a` lists the accesses under its former id");
    let told = place.ctx("impact nodes/b --json").ok().json("ctx.impact");
    assert_eq!(told["former_id"], "nodes/a");
    let former = place.ctx("impact nodes/a").ok();
    assert!(former.stdout.contains("before"), "{}", former.whole());
    assert!(!former.stderr.contains("it was moved"), "{}", former.stderr);
}

#[test]
fn publish_says_that_a_folder_was_moved_with_its_histories() {
    let place = Place::published(&[("nodes/sub/x", "# X\n"), ("nodes/sub/y", "# Y\n")]);
    std::fs::rename(place.path("nodes/sub"), place.path("nodes/other")).unwrap();
    let refused = place.ctx("publish --all").exits(1).stderr;
    assert!(
        refused.contains("its history is that of `nodes/sub/x`, which was moved here"),
        "{refused}"
    );
    assert!(refused.contains("`ctx mv nodes/sub/x nodes/other/x`"), "{refused}");
    let verified = place.ctx("verify").exits(1).stdout;
    let back = "so that `nodes/other/x.md` is `nodes/sub/x.md` again, then move each document with `ctx mv`";
    assert!(verified.starts_with("damaged") && verified.contains(back), "{verified}");
    let before = place.tree();
    for line in ["recover", "recover --force"] {
        let said = place.ctx(line).exits(4).stderr;
        assert!(said.contains("the folder of 2 documents was moved together"), "{said}");
        assert!(said.contains("nodes/other/x.md: was nodes/sub/x.md"), "{said}");
    }
    assert_eq!(place.tree(), before);
    std::fs::rename(place.path("nodes/other"), place.path("nodes/sub")).unwrap();
    place.ctx("mv nodes/sub/x nodes/other/x").ok();
    place.ctx("verify").ok();
}

#[test]
fn publish_all_leaves_out_what_was_renamed_without_ctx() {
    let place = Place::published(&[("nodes/alpha", "# Alpha\n\nText.\n"), ("nodes/b", "# B\n")]);
    std::fs::rename(place.path("nodes/alpha.md"), place.path("nodes/omega.md")).unwrap();
    place.write("nodes/new.md", "# New\n");
    let said = place.ctx("publish --all").ok().stdout;
    let left = "left out: nodes/omega (it has the text of `nodes/alpha`, whose file is missing; name it to publish it; `ctx mv nodes/alpha nodes/omega` records the move)";
    assert!(said.contains(left) && said.contains("nodes/new"), "{said}");
    place.ctx("mv nodes/alpha nodes/omega").ok();
    place.ctx("verify").ok();
    // Two files have the text, so neither is recognized as the document.
    std::fs::copy(place.path("nodes/omega.md"), place.path("nodes/one.md")).unwrap();
    std::fs::rename(place.path("nodes/omega.md"), place.path("nodes/two.md")).unwrap();
    let said = place.ctx("publish --all").ok().stdout;
    assert!(said.contains("new  nodes/one") && said.contains("new  nodes/two"), "{said}");
}
