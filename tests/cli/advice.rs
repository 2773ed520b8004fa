//! Hints, notes and headings name the state and the command that works.

use crate::harness::Place;

#[test]
fn commands_name_the_vault_in_a_folder_below() {
    let place = Place::new();
    place.ctx("init docs").ok();
    for (line, code) in [("status", 2), ("list", 2), ("init docs", 1)] {
        let stderr = place.ctx(line).exits(code).stderr;
        assert!(stderr.contains("`ctx status --vault docs` shows its state"), "{line}: {stderr}");
    }
    place.ctx("status --vault docs").ok();
    // A vault far below is not looked for.
    let place = Place::new();
    place.ctx("init a/b/c/d").ok();
    let stderr = place.ctx("status").exits(2).stderr;
    assert!(stderr.contains("`ctx init` makes the current folder a vault"), "{stderr}");
}

#[test]
fn resolve_names_a_folder_that_is_written_without_its_slash() {
    let place = Place::published(&[("nodes/legal/a", "# A\n")]);
    for (folder, code) in [("nodes", 2), ("nodes/legal", 1)] {
        let stderr = place.ctx(&format!("resolve {folder}")).exits(code).stderr;
        assert!(stderr.contains(&format!("`ctx resolve {folder}/` prints")), "{stderr}");
        place.ctx(&format!("resolve {folder}/")).ok();
    }
}

#[test]
fn status_does_not_offer_to_publish_a_copy_of_a_pack() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.write("packs/p.yml", "name: p\ndescription: d\nquery: type:document\n");
    place.ctx("publish packs/p.yml").ok();
    let copy = "packs/p.sync-conflict-20240131-120000-ABCDEFG.yml";
    place.write(copy, place.read("packs/p.yml"));
    let stdout = place.ctx("status").ok().stdout;
    assert!(stdout.contains("Copies of governance files (next: merge each copy"), "{stdout}");
    assert!(!stdout.contains("ctx publish"), "{stdout}");
    let report = place.ctx("status --json").ok().json("ctx.status");
    assert_eq!(report["governance"][0]["state"], "copy");
}

#[test]
fn line_ends_of_a_clone_do_not_make_a_derived_file_differ() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.ctx("index").ok();
    for file in ["context.yaml", "INDEX.md"] {
        place.write(file, place.read(file).replace('\n', "\r\n"));
    }
    let stdout = place.ctx("verify").ok().stdout;
    assert!(!stdout.contains("derived-differs"), "{stdout}");
    // Derived files still follow events, and an edit is reported.
    place.write("nodes/b.md", "# B\n");
    place.ctx("publish --all").ok();
    assert!(place.read("context.yaml").contains("nodes/b"));
    place.write("context.yaml", place.read("context.yaml").replace('\n', "\r\n") + "x: 1\r\n");
    let stdout = place.ctx("verify").ok().stdout;
    assert!(stdout.contains("[derived-differs] context.yaml"), "{stdout}");
}

#[test]
fn init_counts_the_documents_that_the_next_command_publishes() {
    let place = Place::new();
    place.write("a.md", "# A\n");
    place.write("b.md", "---\nstatus: draft\n---\n# B\n");
    place.write("c.md", "---\nstatus: rejected\n---\n# C\n");
    let stderr = place.ctx("init").ok().stderr;
    assert!(stderr.contains("shows 1 document to publish"), "{stderr}");
}

#[test]
fn names_that_look_the_same_are_refused_with_the_difference() {
    let place = Place::published(&[("nodes/\u{2764}\u{fe0f} love", "# A\n")]);
    place.write("nodes/\u{2764} love.md", "# B\n");
    for line in ["publish --all", "validate"] {
        let said = place.ctx(line).exits(1).whole();
        assert!(said.contains("only in invisible characters of emoji (U+FE0F"), "{said}");
    }
}

#[test]
fn hints_name_ids_that_begin_with_a_dash_so_that_they_can_be_pasted() {
    let place = Place::new();
    place.write("-dash.md", "---\ntitle: Dash\n---\n# Dash\n");
    place.ctx("init").ok();
    let stderr = place.ctx("read -- -dash").exits(1).stderr;
    assert!(stderr.contains("`ctx publish -- -dash`"), "{stderr}");
    place.ctx("publish -- -dash").ok();
}

#[test]
fn validate_names_the_blank_after_the_first_line_of_the_fields() {
    let place = Place::vault();
    place.write("nodes/a.md", "--- \ntitle: A\ntype: document\n---\n# A\n");
    let said = place.ctx("validate").ok();
    let said = said.stdout + &said.stderr;
    assert!(
        said.contains("nodes/a.md:1: a block of fields between lines that are not exactly"),
        "{said}"
    );
}

#[test]
fn commands_report_markdown_files_outside_of_the_folders_of_the_layout() {
    let place = Place::new();
    place.ctx("init").ok();
    place.write("docs/c.md", "# C\n");
    for line in ["status", "validate", "publish --all"] {
        let stderr = place.ctx(line).ok().stderr;
        let note =
            "note: 1 Markdown file is not in nodes/ or sources/: `ctx status --ignored` lists it";
        assert!(stderr.contains(note), "{line}: {stderr}");
    }
    assert!(place.ctx("status --ignored").ok().stdout.contains("docs/c.md"));
    let stderr = place.ctx("read docs/c").exits(1).stderr;
    assert!(stderr.contains("`ctx status --ignored` gives the reason"), "{stderr}");
}
