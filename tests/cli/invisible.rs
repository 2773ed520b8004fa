//! Invisible characters: refused in names that are written, reported in names that are read,
//! escaped in output.

use contextnest::model::visible::Invisible;
use insta::assert_snapshot;

use crate::harness::Place;

/// A blank braille pattern, an emoji with a second variation selector, joined emoji without a
/// sequence, a blank.
const IDS: [&str; 4] = [
    "nodes/a\u{2800}b",
    "nodes/\u{2764}\u{fe0f}\u{fe0f}",
    "nodes/\u{1f525}\u{200d}\u{1f4bb}",
    "no\u{a0}tes/a",
];

#[test]
fn publish_all_leaves_out_names_with_invisible_characters_and_names_the_code_point() {
    let place = Place::vault();
    for id in &IDS[..3] {
        place.write(&format!("{id}.md"), "# A\n");
    }
    place.write("nodes/ok.md", "# Ok\n");
    assert_snapshot!(place.ctx("publish --all").whole(), @r"
    exit: 0
    -- stdout
    checkpoint 1 with 3 versions, 2026-11-21T10:00:01.000Z
      new  .context/config.yaml  v1
      new  CONTEXT.md            v1
      new  nodes/ok              v1
      left out: nodes/a\u{2800}b.md (ids cannot contain invisible characters, but `nodes/a\u{2800}b` has U+2800 (blank braille pattern) at character 8; the id without such characters is `nodes/ab`)
      left out: nodes/❤️\u{fe0f}.md (ids cannot contain invisible characters, but `nodes/❤️\u{fe0f}` has U+FE0F (variation selector) at character 9; the id without such characters is `nodes/❤`)
      left out: nodes/🔥\u{200d}💻.md (ids cannot contain invisible characters, but `nodes/🔥\u{200d}💻` has U+200D (zero width joiner) at character 8; the id without such characters is `nodes/🔥💻`)
    -- stderr
    ");
    assert_snapshot!(place.ctx("validate").whole(), @r"
    exit: 0
    -- stdout
    warning[id-invalid]: nodes/a\u{2800}b.md: ids cannot contain invisible characters, but `nodes/a\u{2800}b` has U+2800 (blank braille pattern) at character 8
      hint: the id without such characters is `nodes/ab`
    warning[id-invalid]: nodes/❤️\u{fe0f}.md: ids cannot contain invisible characters, but `nodes/❤️\u{fe0f}` has U+FE0F (variation selector) at character 9
      hint: the id without such characters is `nodes/❤`
    warning[id-invalid]: nodes/🔥\u{200d}💻.md: ids cannot contain invisible characters, but `nodes/🔥\u{200d}💻` has U+200D (zero width joiner) at character 8
      hint: the id without such characters is `nodes/🔥💻`
    4 documents checked: 0 errors, 3 warnings
    -- stderr
    ");
    assert_snapshot!(place.ctx("status").whole(), @r"
    exit: 0
    -- stdout
    Checkpoint 1 of 2026-11-21T10:00:01.000Z
    Published and unchanged: 1 document

    Left out, not documents (next: ctx validate):
      nodes/a\u{2800}b.md
          ids cannot contain invisible characters, but `nodes/a\u{2800}b` has U+2800 (blank braille pattern) at character 8
      nodes/❤️\u{fe0f}.md
          ids cannot contain invisible characters, but `nodes/❤️\u{fe0f}` has U+FE0F (variation selector) at character 9
      nodes/🔥\u{200d}💻.md
          ids cannot contain invisible characters, but `nodes/🔥\u{200d}💻` has U+200D (zero width joiner) at character 8
    Nothing to publish
    -- stderr
    ");
}

#[test]
fn emoji_sequences_are_names_like_any_other() {
    let place = Place::vault();
    let (heart, coder) = ("nodes/\u{2764}\u{fe0f}", "nodes/\u{1f469}\u{200d}\u{1f4bb} A");
    for id in [heart, coder] {
        place.write(&format!("{id}.md"), format!("# A\n\n[[{heart}]]\n"));
    }
    let published = place.ctx("publish --all").ok().stdout;
    assert!(
        published.contains(&format!("new  {heart}")) && published.contains(coder),
        "{published}"
    );
    assert!(place.args(&["read", heart]).run().ok().stdout.contains("# A"));
    let neighbors = place.args(&["neighbors", heart, "--json"]).run().json("ctx.neighbors");
    assert!(neighbors.to_string().contains(coder), "{neighbors}");
    place.ctx("verify").ok();
    // For a person, a name that differs only in invisible characters is the same name.
    place.write("nodes/\u{2764}.md", "# B\n");
    let collides = place.ctx("publish --all").exits(1).stderr;
    assert!(collides.contains("id-collision"), "{collides}");
    let collides = place.ctx("validate").exits(1).stdout;
    assert!(collides.contains("id-collision"), "{collides}");
}

#[test]
fn every_verb_that_makes_a_name_refuses_an_invisible_character() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let before = place.tree();
    for id in IDS {
        for args in [
            vec!["add", id, "--body", "x"],
            vec!["add", id, "--body", "x", "--draft"],
            vec!["mv", "nodes/a", id],
        ] {
            let output = place.args(&args).run().exits(2);
            assert!(output.stderr.contains("[id-invalid]"), "{args:?}: {}", output.stderr);
            assert!(output.stderr.contains("has U+"), "{args:?}: {}", output.stderr);
        }
    }
    for args in [
        ["add", "nodes/b", "--as", "ana\u{2800}", "--body", "x"],
        ["add", "nodes/b", "--tags", "a\u{200d}b", "--body", "x"],
        ["pack", "add", "p\u{3164}", "--query", "#a", "--label=x"],
    ] {
        let output = place.args(&args).run().exits(2);
        assert_eq!(Invisible::first_in(&output.stderr), None, "{args:?}: {}", output.stderr);
    }
    assert_eq!(place.tree(), before);
    assert_snapshot!(place.args(&["publish", "--all", "--as", "ana\u{2800}"]).run().whole(), @r#"
    exit: 2
    -- stdout
    -- stderr
    error[no-principal]: a principal cannot contain invisible characters, but `ana\u{2800}` has U+2800 (blank braille pattern) at character 4
    hint: pass `--as ana`
    "#);
    let new = Place::new();
    assert_snapshot!(new.args(&["init", "--name", "Team\u{a0}X\u{200b}"]).run().whole(), @r#"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: the vault name `Team\u{a0}X\u{200b}` contains the invisible U+00A0 (no-break space) at character 5
    hint: choose a name without this character, such as `--name 'Team X'`
    "#);
}

#[test]
fn a_name_with_an_invisible_character_is_reported_with_its_place() {
    let place = Place::vault();
    place.write("nodes/a.md", "---\ntags: [\"secret\\u2800\", ok]\n---\n# A\n");
    place.write("packs/p\u{ad}q.yml", "id: pq\nlabel: P\nquery: '#ok'\n");
    place.write("packs/p.yml", "id: \"p\\u200Bq\"\nlabel: P\nquery: '#ok'\n");
    place.edit(".context/config.yaml", "name: Test", "name: \"Te\\u00ADst\"");
    assert_snapshot!(place.ctx("validate").whole(), @r#"
    exit: 1
    -- stdout
    warning[config]: .context/config.yaml:2: the name in `name` has the invisible U+00AD (soft hyphen) at character 3
      hint: fix the line; spec/vault.md lists the keys
    warning[tag-grammar]: nodes/a.md:2: tag `secret\u{2800}` selects nothing: it has the invisible U+2800 (blank braille pattern) at character 7
      hint: without it the tag is `secret`
    warning[pack-value]: packs/p.yml:1: the id of a pack cannot contain invisible characters, but `p\u{200b}q` has U+200B (zero width space) at character 2
      hint: without this character the id is `pq`
    error[id-invalid]: packs/p\u{ad}q.yml: ids cannot contain invisible characters, but `packs/p\u{ad}q.yml` has U+00AD (soft hyphen) at character 8
      hint: the id without such characters is `packs/pq.yml`
    1 document checked: 1 error, 3 warnings
    -- stderr
    "#);
    assert_snapshot!(place.ctx("publish --all").whole(), @r"
    exit: 0
    -- stdout
    checkpoint 1 with 4 versions, 2026-11-21T10:00:02.000Z
      new  .context/config.yaml  v1
      new  CONTEXT.md            v1
      new  nodes/a               v1
      new  packs/p.yml           v1
      left out: packs/p\u{ad}q.yml (ids cannot contain invisible characters, but `packs/p\u{ad}q.yml` has U+00AD (soft hyphen) at character 8; the id without such characters is `packs/pq.yml`)
    -- stderr
    warning[config]: .context/config.yaml, line 2: the name in `name` has the invisible U+00AD (soft hyphen) at character 3 (fix the line; spec/vault.md lists the keys)
    warning[tag-grammar]: nodes/a, line 2: tag `secret\u{2800}` selects nothing: it has the invisible U+2800 (blank braille pattern) at character 7 (without it the tag is `secret`)
    warning[pack-value]: packs/p.yml, line 1: the id of a pack cannot contain invisible characters, but `p\u{200b}q` has U+200B (zero width space) at character 2 (without this character the id is `pq`)
    ");
    assert_snapshot!(place.ctx("verify").whole(), @r#"
    exit: 0
    -- stdout
    intact, anchored to checkpoint 1
      anchor: checkpoint 1, trusted on this machine since 2026-11-21T10:00:02.000Z
      1 checkpoint, 4 artifacts, 4 versions recomputed
      head: checkpoint 1, sha256:b7a96c43934a753d2481599d6b6a7eb4be4eb695fce9e50c79f3c727a17c10b5

    Notes:
      [policy-unsealed] packs/p\u{ad}q.yml: no checkpoint contains it, and none can: ids cannot contain invisible characters, but `packs/p\u{ad}q.yml` has U+00AD (soft hyphen) at character 8
          in packs/p\u{ad}q.yml
    -- stderr
    "#);
    assert_snapshot!(place.ctx("resolve pack:p\u{200b}q").whole(), @r"
    exit: 2
    -- stdout
    -- stderr
    error[selector-invalid]: expected the id of a pack, but found `p\u{200b}q`
      pack:p\u{200b}q
           ^^^^^^^^^^
    ");
}

#[test]
fn no_line_of_any_verb_prints_an_invisible_character() {
    let place = Place::vault();
    let hidden = "\\u2800\\u3164\\uFE0F\\u200D\\u00A0\\u3000\\u2028\\u0085\\u00AD\\U000E0041";
    let texts = format!("title: \"T{hidden}\"\ndescription: \"d{hidden}\"\nauthor: \"{hidden}\"");
    place
        .write("nodes/a.md", format!("---\n{texts}\ntags: [x, \"y{hidden}\"]\n---\n# T\u{fe0f}\n"));
    place.write(
        "nodes/b.md",
        "---\ntags: [x]\n---\n# B\u{2800}\nSee [[A\u{2800}]] and [x](a\u{3164}.md).\n",
    );
    place.write("packs/p.yml", format!("id: p\nlabel: \"l{hidden}\"\nquery: '#x'\n"));
    place.args(&["publish", "--all", "-m", "note \u{2800}\u{fe0f}"]).run().ok();
    place.write("nodes/c\u{2800}.md", "x\n");
    for line in [
        "list",
        "list --json",
        "status",
        "history nodes/a",
        "verify",
        "validate",
        "validate --json",
        "context",
        "resolve #x",
        "resolve #x --format json",
        "search T",
        "search B --json",
        "read --outline nodes/a",
        "read --outline nodes/b",
        "graph",
        "neighbors nodes/b",
        "pack list",
        "pack show p",
        "resolve --explain #x",
        "checkpoint show 1",
        "read nodes/\u{2800}",
        "resolve \u{2800}",
        "\u{2800}",
    ] {
        let output = place.args(&line.split(' ').collect::<Vec<_>>()).run();
        for (name, text) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            assert_eq!(Invisible::first_in(text), None, "{line} {name}: {text:?}");
        }
    }
}

#[test]
fn validate_warns_of_ids_that_look_alike() {
    let place = Place::published(&[("nodes/paypal", "# A\n"), ("nodes/modem", "# A\n")]);
    place.write("nodes/p\u{430}ypal.md", "# B\n");
    place.write("nodes/Modern.md", "# B\n");
    place.write("nodes/modern.md", "# B\n");
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 1
    -- stdout
    warning[id-confusable]: nodes/modem.md: its id looks like `nodes/modern`, but character 11 is U+006D, not U+0072
      hint: if one of the two imitates the other, rename or delete it
    error[id-collision]: nodes/modern.md: its id differs from that of `nodes/Modern.md` only in case or Unicode form
      hint: rename one of the files
    warning[id-confusable]: nodes/modern.md: its id looks like `nodes/modem`, but character 11 is U+0072, not U+006D
      hint: if one of the two imitates the other, rename or delete it
    warning[id-confusable]: nodes/paypal.md: its id looks like `nodes/pаypal`, but character 8 is U+0061, not U+0430
      hint: if one of the two imitates the other, rename or delete it
    warning[id-confusable]: nodes/pаypal.md: its id looks like `nodes/paypal`, but character 8 is U+0430, not U+0061
      hint: if one of the two imitates the other, rename or delete it
    5 documents checked: 1 error, 4 warnings
    -- stderr
    ");
    assert_snapshot!(place.ctx("validate nodes/paypal").whole(), @"
    exit: 0
    -- stdout
    warning[id-confusable]: nodes/paypal.md: its id looks like `nodes/pаypal`, but character 8 is U+0061, not U+0430
      hint: if one of the two imitates the other, rename or delete it
    1 document checked: 0 errors, 1 warning
    -- stderr
    ");
    place.ctx("mv nodes/paypal nodes/other").ok();
    assert_eq!(place.ctx("validate nodes/p\u{430}ypal").ok().lines().len(), 1, "the id is free");
}

#[test]
fn a_byte_order_mark_behind_the_frontmatter_is_a_hidden_character() {
    let place = Place::vault();
    place.write("nodes/a.md", "---\ntitle: A\n---\n\u{feff}# A\n");
    place.write("nodes/b.md", "\u{feff}---\ntitle: B\n---\n# B\n");
    place.write("nodes/c.md", "\u{feff}# C\n");
    for (line, at) in [("validate", "nodes/a.md:4"), ("publish --all", "nodes/a, line 4")] {
        let told = place.ctx(line).ok().whole();
        assert!(told.contains(&format!("{at}: the invisible character U+FEFF")), "{told}");
        assert_eq!(told.matches("U+FEFF").count(), 1, "{told}");
    }
    place.typed("add nodes/d --body -").stdin("\u{feff}# D\n").run().ok();
    assert!(place.read("nodes/d.md").starts_with("---\n"));
    assert!(!place.ctx("validate nodes/d").ok().whole().contains("U+FEFF"));
}
