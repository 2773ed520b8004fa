//! `frontmatter: untouched`: publishing leaves live files as they are, and every command recognizes
//! an unchanged file as published.

use insta::assert_snapshot;

use crate::harness::Place;

/// Returns the site of a documentation generator, published as it is.
fn site() -> Place {
    let place = Place::vault();
    place.edit(".context/config.yaml", "layout:", "frontmatter: untouched\nlayout:");
    for (path, text) in PAGES {
        place.write(path, text);
    }
    place.ctx("publish --all").ok();
    place
}

const PAGES: [(&str, &str); 4] = [
    ("nodes/plain.md", "# Plain\n\nText.\n"),
    ("nodes/hugo.md", "+++\ntitle = 'Hugo'\ndate = 2026-01-02\nstatus = 'done'\n+++\nText.\n"),
    ("nodes/json.md", "{\n  \"title\": \"Json\",\n  \"version\": \"2.4\"\n}\n\nText.\n"),
    ("nodes/docs.md", "\u{feff}---\r\nsidebar_position: 2\r\nversion: 7\r\n---\r\n# Docs\r\n"),
];

fn states(place: &Place) -> Vec<String> {
    let json = place.ctx("status --json").ok().json("ctx.status");
    let rows = json["documents"].as_array().unwrap().clone();
    rows.iter().map(|row| format!("{} {}", row["id"], row["state"]).replace('"', "")).collect()
}

#[test]
fn no_live_file_is_edited() {
    let place = site();
    for (path, text) in PAGES {
        assert_eq!(place.read(path), text);
    }
    assert!(states(&place).iter().all(|row| row.ends_with(" published")), "{:?}", states(&place));
    assert_eq!(place.ctx("publish --all").ok().lines()[0], "nothing to publish");
    assert_eq!(place.ctx("diff").ok().stdout, "");
    place.ctx("verify").ok();
    assert_snapshot!(place.ctx("read nodes/hugo").ok().stdout, @r#"
    ---
    date: '2026-01-02'
    status: published
    title: Hugo
    type: document
    version: 1
    author: ana@example.com
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:01.000Z'
    checksum: sha256:1fb3b97132b06c737af418efbeac94c2eb196e934d014a7785cbb5557d073152
    metadata:
      original_frontmatter: "+++\ntitle = 'Hugo'\ndate = 2026-01-02\nstatus = 'done'\n+++\n"
    ---
    Text.
    "#);
    assert_snapshot!(place.ctx("read nodes/plain").ok().stdout, @"
    ---
    title: Plain
    type: document
    status: published
    version: 1
    author: ana@example.com
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:01.000Z'
    checksum: sha256:967f22a93495869b493ee9087736f8f0ce756e2944627b41fe4e07ebd7b31020
    metadata:
      original_frontmatter: ''
    ---
    # Plain

    Text.
    ");
    assert_snapshot!(place.ctx("read nodes/docs").ok().stdout, @r#"
    ---
    sidebar_position: 2
    version: 1
    title: Docs
    type: document
    status: published
    author: ana@example.com
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:01.000Z'
    checksum: sha256:1469b28d240a5629c9121010aa716edbb7edb9b7c5927aeb0e221825932258bd
    metadata:
      original_frontmatter: "---\nsidebar_position: 2\nversion: 7\n---\n"
    ---
    # Docs
    "#);
    assert_snapshot!(place.ctx("read nodes/json").ok().stdout, @r#"
    ---
    title: Json
    version: 1
    type: document
    status: published
    author: ana@example.com
    created_at: '2026-11-21T10:00:01.000Z'
    updated_at: '2026-11-21T10:00:01.000Z'
    checksum: sha256:2f916d9827078c59755459d974825d9370805b30c4f3201a0c5b4148e29729ce
    metadata:
      original_frontmatter: "{\n  \"title\": \"Json\",\n  \"version\": \"2.4\"\n}\n"
    ---

    Text.
    "#);
}

#[test]
fn an_edited_file_is_changed_unless_it_newly_says_draft() {
    let place = site();
    place.edit("nodes/plain.md", "Text.", "Other text.");
    place.edit("nodes/docs.md", "version: 7", "version: 7\r\nstatus: draft");
    assert_eq!(
        states(&place),
        ["nodes/docs draft", "nodes/hugo published", "nodes/json published", "nodes/plain changed"]
    );
    let verified = place.ctx("verify").exits(1).stdout;
    assert!(verified.contains("[drift] nodes/plain: the live file differs"), "{verified}");
    assert!(!verified.contains("nodes/docs"), "{verified}");
    assert!(verified.contains("no finding: 1 edited live file with `status: draft`"), "{verified}");
    assert_snapshot!(place.ctx("diff nodes/plain").ok().stdout, @"
    --- v1
    +++ live
    @@ -1,3 +1,3 @@
     # Plain
     
    -Text.
    +Other text.
    ");
    let published = place.ctx("publish --changed").ok().stdout;
    assert!(
        published.contains("changed  nodes/plain  v2") && !published.contains("nodes/docs  v2")
    );
    // Named explicitly, the draft is published; the field stays in the file, without effect.
    place.ctx("publish nodes/docs").ok();
    assert!(place.read("nodes/docs.md").contains("status: draft"));
    assert!(place.ctx("read nodes/docs").ok().stdout.contains("status: published\n"));
    place.edit("nodes/docs.md", "# Docs", "# Documents");
    place.ctx("verify").exits(1);
    assert!(place.ctx("publish --changed").ok().stdout.contains("nodes/docs  v3"));
    place.ctx("verify").ok();
}

#[test]
fn the_text_of_an_older_version_is_stale() {
    let place = site();
    let first = place.read("nodes/hugo.md");
    place.edit("nodes/hugo.md", "Text.", "More.");
    place.ctx("publish nodes/hugo").ok();
    assert_snapshot!(place.ctx("restore nodes/hugo --version 1").whole(), @"
    exit: 0
    -- stdout
    restored nodes/hugo.md from version 1
    -- stderr
    hint: the published version stays; `ctx publish nodes/hugo --expect-version 2` publishes this text as a new version, `ctx restore nodes/hugo` restores the published text
    ");
    assert_eq!(place.read("nodes/hugo.md"), first);
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 2 of 2026-11-21T10:00:02.000Z
    Published and unchanged: 3 documents

    Not edited from the published version (next: as shown for each):
      nodes/hugo.md (v2)
          the file has the text of version 1, but version 2 is published
          merge what `ctx diff nodes/hugo 1 2` shows; or run `ctx publish nodes/hugo --expect-version 2`, if the old text is to be published again
    -- stderr
    ");
    let json = place.ctx("status nodes/hugo --json").ok().json("ctx.status");
    assert_eq!(json["documents"][0]["state"], "stale");
    assert!(place.ctx("diff").ok().stdout.contains("-More."));
    assert_snapshot!(place.ctx("publish nodes/hugo").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/hugo.md
        error[stale]: the file has the text of version 1, but version 2 is published (merge what `ctx diff nodes/hugo 1 2` shows; or run `ctx publish nodes/hugo --expect-version 2`, if the old text is to be published again)
    hint: nothing was written; fix the documents, or leave them out
    ");
    place.ctx("publish nodes/hugo --expect-version 1").exits(4);
    place.ctx("publish nodes/hugo --expect-version 2").ok();
    place.ctx("verify").ok();
    place.edit("nodes/hugo.md", "Text.", "An edit that no version contains.");
    place.ctx("restore nodes/hugo").exits(4);
    place.ctx("restore nodes/hugo --force").ok();
    assert_eq!(place.read("nodes/hugo.md"), first);
}

#[test]
fn files_that_are_gone_are_restored_as_they_were() {
    let place = site();
    for (path, text) in PAGES {
        place.remove(path);
        place.ctx(&format!("restore {path}")).ok();
        // The text is in the form that is hashed.
        let normal = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        assert_eq!(place.read(path), normal);
    }
    assert!(states(&place).iter().all(|row| row.ends_with(" published")));
}

#[test]
fn retiring_and_moving_leave_the_text_of_files() {
    let place = site();
    let text = place.read("nodes/hugo.md");
    place.ctx("mv nodes/hugo nodes/site").ok();
    assert!(!place.has("nodes/hugo.md"));
    assert_eq!(place.read("nodes/site.md"), text);
    let read = place.ctx("read nodes/site").ok().stdout;
    assert!(read.contains("derived_from: ['contextnest://nodes/hugo@1']"), "{read}");
    place.ctx("retire nodes/plain").ok();
    assert_eq!(place.read("nodes/plain.md"), PAGES[0].1);
    place.ctx("verify").ok();
    assert_eq!(
        states(&place),
        [
            "nodes/docs published",
            "nodes/json published",
            "nodes/plain retired",
            "nodes/site published"
        ]
    );
    assert_eq!(place.ctx("publish --all").ok().lines()[0], "nothing to publish");
    place.ctx("publish nodes/plain").ok();
    // A file was renamed without ctx.
    let (from, to) = (place.path("nodes/plain.md"), place.path("nodes/renamed.md"));
    std::fs::rename(from, to).unwrap();
    let hints = place.ctx("status").ok().stdout;
    assert!(hints.contains("ctx mv nodes/plain nodes/renamed"), "{hints}");
    place.ctx("mv nodes/plain nodes/renamed").ok();
    assert_eq!(place.read("nodes/renamed.md"), PAGES[0].1);
    place.ctx("verify").ok();
}

#[test]
fn a_new_document_is_written_as_it_was_given() {
    let place = site();
    place.ctx("add nodes/new --title New --body 'Text.'").ok();
    let text = place.read("nodes/new.md");
    assert!(!text.contains("checksum"), "{text}");
    place.ctx("verify").ok();
}

#[test]
fn the_setting_can_be_changed_both_ways() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    let managed = place.read("nodes/a.md");
    place.edit(".context/config.yaml", "layout:", "frontmatter: untouched\nlayout:");
    place.edit("nodes/a.md", "# A\n", "# A\n\nMore.\n");
    let edited = place.read("nodes/a.md");
    // The setting that the event seals is in force.
    place.ctx("publish --all").ok();
    assert_eq!(place.read("nodes/a.md"), edited);
    assert_eq!(states(&place), ["nodes/a published", "nodes/b published"]);
    // Fields that remain in the file no longer have a meaning.
    place.edit("nodes/a.md", "More.", "Much more.");
    place.ctx("publish --changed").ok();
    // The file of a managed version still records the version that it was edited from.
    place.write("nodes/a.md", managed);
    place.ctx("publish nodes/a").exits(1);
    place.ctx("restore nodes/a").ok();
    place.ctx("verify").ok();
    place.edit(".context/config.yaml", "frontmatter: untouched\n", "");
    place.edit("nodes/a.md", "Much more.", "Less.");
    place.ctx("publish --all").ok();
    assert!(place.read("nodes/a.md").contains("\nversion: 4\n"), "{}", place.read("nodes/a.md"));
    assert!(!place.ctx("read nodes/a").ok().stdout.contains("original_frontmatter"));
    place.ctx("verify").ok();
}

#[test]
fn a_file_in_the_root_stays_a_document_once_it_is_published() {
    let place = site();
    place.write("guide.md", "# Guide\n");
    assert_eq!(place.ctx("publish --all").ok().lines()[0], "nothing to publish");
    place.ctx("publish guide").ok();
    assert_eq!(states(&place)[0], "guide published");
    place.write("guide.md", "# Guide\n\nMore.\n");
    assert_eq!(states(&place)[0], "guide changed");
    assert!(place.ctx("publish --all").ok().stdout.contains("changed  guide  v2"));
    place.ctx("verify").ok();
}

#[test]
fn toml_and_json_are_never_edited() {
    let place = Place::vault();
    for (path, text) in &PAGES[1..3] {
        place.write(path, text);
    }
    place.ctx("publish --all").ok();
    for (path, text) in &PAGES[1..3] {
        assert_eq!(place.read(path), *text);
    }
    place.ctx("verify").ok();
    place.edit("nodes/json.md", "Text.", "Other.");
    assert_eq!(states(&place), ["nodes/hugo published", "nodes/json changed"]);
    place.ctx("verify").exits(1);
    place.ctx("publish --changed").ok();
    place.ctx("retire nodes/json").ok();
    place.ctx("verify").ok();
    place.write("nodes/broken.md", "+++\ntitle = \n+++\nText.\n");
    place.write("nodes/twice.md", "{\"a\": 1, \"a\": 2}\nText.\n");
    assert_snapshot!(place.ctx("publish nodes/broken nodes/twice").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 2 files refused
      nodes/broken.md
        error[frontmatter-format]: the frontmatter cannot be read as TOML: line 2: string values must be quoted, expected literal string (fix it, or begin the file with an empty line if it is text)
      nodes/twice.md
        error[frontmatter-format]: the frontmatter cannot be read as JSON: duplicate key `a` at line 1 column 16 (fix it, or begin the file with an empty line if it is text)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
}

#[test]
fn a_published_text_in_a_file_is_refused() {
    let place = site();
    let text = place.ctx("read nodes/plain").ok().stdout;
    place.write("nodes/plain.md", &text);
    assert_eq!(states(&place)[3], "nodes/plain invalid");
    place.ctx("verify").exits(1);
    assert_snapshot!(place.ctx("publish nodes/plain").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/plain.md
        error[original-frontmatter]: line 11: `metadata.original_frontmatter` belongs to a published text: publishing writes it for a file that it does not edit (`ctx restore` writes the file of a published text; or remove the field)
    hint: nothing was written; fix the documents, or leave them out
    ");
}

#[test]
fn a_vault_that_is_shared_cannot_have_it() {
    let place = Place::with_maps();
    place.write("nodes/hugo.md", PAGES[1].1);
    assert_snapshot!(place.ctx("publish nodes/hugo").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/hugo.md
        error[frontmatter-format]: the frontmatter is TOML, which the reference implementation does not read in the vaults that it shares (write it as YAML between lines `---`, or begin the file with an empty line if it is text)
    hint: nothing was written; fix the documents, or leave them out
    ");
    place.edit(".context/config.yaml", "layout:", "frontmatter: untouched\nlayout:");
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[config-invalid]: `frontmatter: untouched` is not possible in a vault that the reference implementation shares
    hint: remove the line from .context/config.yaml
    hint: or remove it, convert the log to the delta form with `ctx checkpoint convert --to delta`, and set it again
    ");
    let place = site();
    place.ctx("checkpoint convert --to full").exits(2);
    place.ctx("verify").ok();
}

#[test]
fn problems_and_links_of_a_toml_file_have_its_lines() {
    let place = site();
    let text = "+++\ntitle = ''\n[source]\ndepends_on = 'contextnest://nodes/plain'\n+++\n\n[P](plain.md) {{ x }} [p](./plain.md)\n";
    place.write("nodes/page.md", text);
    assert_snapshot!(place.ctx("validate nodes/page").exits(1).stdout, @"
    error[title-invalid]: nodes/page.md:1: `title` is empty
      hint: write a text, or remove the line to use the first heading
    warning[source-ignored]: nodes/page.md:1: `source` is ignored: the type is not source
      hint: set `type: source`
    warning[placeholder]: nodes/page.md:7: a placeholder of a template
      hint: fill it in, or write it as code
    1 document checked: 1 error, 2 warnings
    ");
    place.edit("nodes/page.md", "title = ''", "title = 'Page'\ntype = 'source'");
    assert_snapshot!(place.ctx("mv nodes/plain nodes/else --fix-links").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 2 versions, 2026-11-21T10:00:03.000Z
      new      nodes/else   v1
      retired  nodes/plain  v2
    Links that lead there:
      nodes/page.md:1  nodes/plain  depends_on
      nodes/page.md:8  nodes/plain
      changed 2 links in nodes/page.md, not published
    -- stderr
    warning: nodes/page.md:1: change this link by hand: `contextnest://nodes/plain`
    next: `ctx diff` shows the changed links, `ctx publish --changed` publishes them
    ");
    assert!(place.read("nodes/page.md").contains("\n+++\n\n[P](else.md) {{ x }} [p](./else.md)\n"));
}

#[test]
fn publish_refuses_text_without_a_normal_form() {
    let place = Place::vault();
    place.edit(".context/config.yaml", "layout:", "frontmatter: untouched\nlayout:");
    let bom = "\u{feff}\u{feff}";
    for (n, text) in ["# A\n", "+++\na = 1\n+++\n", "---\na: 1\n---\n", "{}\n"].iter().enumerate() {
        place.write(&format!("nodes/d{n}.md"), format!("{bom}{text}"));
    }
    place.write("nodes/e.md", "---\nmetadata: x\n---\n");
    let validated = place.ctx("validate").exits(1).stdout;
    assert!(validated.contains("5 errors"), "{validated}");
    let refused = place.ctx("publish --all").exits(1).stderr;
    assert_eq!(refused.matches("error[two-marks]").count(), 4, "{refused}");
    assert_eq!(refused.matches("error[frontmatter-spelling]").count(), 1, "{refused}");
    place.ctx("publish --all --skip-invalid").exits(1);
    place.ctx("verify").ok();
}

#[test]
fn a_draft_of_hugo_is_published_by_its_name_only() {
    let place = site();
    place.write("nodes/new.md", "+++\ntitle = 'New'\ndraft = true\n+++\nText.\n");
    place.edit("nodes/docs.md", "version: 7", "version: 7\r\ndraft: true");
    assert_snapshot!(place.ctx("validate nodes/new nodes/docs").whole(), @"
    exit: 0
    -- stdout
    warning[field-foreign]: nodes/docs.md:4: `draft: true` is not a status; it is read as `status: draft`
      hint: `ctx publish --all` leaves the file out; delete the line to publish it
    warning[field-foreign]: nodes/new.md:1: `draft: true` is not a status; it is read as `status: draft`
      hint: `ctx publish --all` leaves the file out; delete the line to publish it
    2 documents checked: 0 errors, 2 warnings
    -- stderr
    ");
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 0
    -- stdout
    nothing to publish
      unchanged: 3 documents
      left out: nodes/docs (its live file is a draft)
      left out: nodes/new (it says `draft: true`; name it to publish it; `ctx publish --all --drafts` includes drafts)
    -- stderr
    ");
    assert_snapshot!(place.ctx("publish --changed").whole(), @"
    exit: 0
    -- stdout
    nothing to publish
      unchanged: 3 documents
      left out: nodes/docs (its live file is a draft)
    -- stderr
    ");
    let expected = ["nodes/docs draft", "nodes/new unpublished"];
    assert!(expected.iter().all(|row| states(&place).contains(&(*row).to_owned())));
    place.ctx("verify").ok();
    place.ctx("publish nodes/new nodes/docs").ok();
    // A file that was published as it is is not a draft of the next version.
    place.edit("nodes/new.md", "Text.", "More.");
    assert!(place.ctx("publish --changed").ok().stdout.contains("nodes/new"));
    place.edit("nodes/new.md", "More.", "Again.");
    assert!(place.ctx("publish --all").ok().stdout.contains("changed  nodes/new"));
}

#[test]
fn a_setting_that_is_not_published_yet_is_named() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.edit(".context/config.yaml", "layout:", "frontmatter: untouched\nlayout:");
    place.edit("nodes/a.md", "# A\n", "# A\n\nMore.\n");
    let json = place.ctx("publish nodes/a --dry-run --json").ok().json("ctx.publish");
    assert!(json["notes"][0].as_str().unwrap().starts_with("`frontmatter: untouched` is not"));
    assert_snapshot!(place.ctx("publish nodes/a").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 1 version, 2026-11-21T10:00:03.000Z
      changed  nodes/a  v2
      left out: .context/config.yaml (it was not named; `--changed`, `--all` and its name publish it)
    -- stderr
    note: `frontmatter: untouched` is not published yet, so publishing still writes fields into files; `ctx publish .context/config.yaml` publishes the setting
    ");
    assert!(place.ctx("mv nodes/a nodes/c").ok().stderr.contains("`frontmatter: untouched`"));
    // If the event contains the setting, there is nothing to report.
    place.edit("nodes/b.md", "# B\n", "# B\n\nMore.\n");
    assert_eq!(place.ctx("publish --changed").ok().stderr, "");
    place.edit(".context/config.yaml", "frontmatter: untouched\n", "");
    place.edit("nodes/b.md", "More.", "Again.");
    assert_snapshot!(place.ctx("publish nodes/b").ok().stderr, @"note: `frontmatter: untouched` is still published, so no fields were written into files; `ctx publish .context/config.yaml` publishes the setting of the configuration");
}

#[test]
fn relative_links_of_a_moved_file_are_changed_on_request_only() {
    for by_hand in [false, true] {
        let place = site();
        place.edit("nodes/hugo.md", "Text.", "[p](plain.md)");
        place.ctx("publish --changed").ok();
        if by_hand {
            place.write("nodes/deep/hugo.md", place.read("nodes/hugo.md"));
            place.remove("nodes/hugo.md");
        }
        let listed = place.ctx("mv nodes/hugo nodes/deep/hugo --dry-run").ok();
        assert!(listed.stdout.contains("nodes/deep/hugo.md:6  plain.md"), "{}", listed.stdout);
        place.ctx("mv nodes/hugo nodes/deep/hugo --fix-links").ok();
        let live = place.read("nodes/deep/hugo.md");
        assert!(live.starts_with("+++") && live.ends_with("[p](../plain.md)\n"), "{live}");
        assert!(states(&place).contains(&"nodes/deep/hugo changed".to_owned()));
        place.ctx("publish --changed").ok();
        assert_eq!(place.read("nodes/deep/hugo.md"), live);
        place.ctx("verify").ok();
    }
}
