//! Hostile input: an error with a remedy, never a panic, never raw characters in a line.

use std::os::unix::fs::symlink;
use std::process::Command;

use insta::assert_snapshot;

use crate::harness::{CTX, Place};

fn refused(text: impl AsRef<[u8]>) -> String {
    let place = Place::vault();
    place.write("nodes/x.md", text);
    let before = place.tree();
    let output = place.ctx("publish --all").exits(1);
    assert_eq!(place.tree(), before);
    // No other verb fails because of it.
    for line in ["status", "list", "verify", "context", "resolve '#a'"] {
        place.ctx(line).ok();
    }
    place.ctx("validate").exits(1);
    output.stderr
}

#[test]
fn malformed_yaml_is_reported_with_line_and_column() {
    assert_snapshot!(refused("---\ntitle: a\ntags: [a, b\nowner: x\n---\n"), @"
    error[refused]: 1 file refused
      nodes/x.md
        error[frontmatter-yaml]: the frontmatter is not valid YAML: line 4, column 6: illegal placement of ':' indicator (fix the line; a text with `: ` or `#` in it needs quotes)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    assert_snapshot!(refused("---\ntitle: a: b\n---\n"), @"
    error[refused]: 1 file refused
      nodes/x.md
        error[frontmatter-yaml]: the frontmatter is not valid YAML: line 2, column 9: mapping values are not allowed in this context (fix the line; a text with `: ` or `#` in it needs quotes)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    assert_snapshot!(refused("---\ntitle: a\n\tx: b\n---\n"), @"
    error[refused]: 1 file refused
      nodes/x.md
        error[frontmatter-yaml]: the frontmatter is not valid YAML: line 2, column 8: while scanning a plain scalar, found a tab (fix the line; a text with `: ` or `#` in it needs quotes)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    assert_snapshot!(refused("---\ntitle: a\nowner: x\ntitle: b\n---\n"), @"
    error[refused]: 1 file refused
      nodes/x.md
        error[frontmatter-yaml]: the frontmatter is not valid YAML: line 4, column 1: duplicate key `title`, first 2 lines above (fix the line; a text with `: ` or `#` in it needs quotes)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    assert_snapshot!(refused("---\n- a\n---\n"), @"
    error[refused]: 1 file refused
      nodes/x.md
        error[frontmatter-not-mapping]: line 2: expected `key: value` lines between the `---` lines (write fields such as `title: ...`, or begin the file with an empty line if the dashes are thematic breaks)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    assert_snapshot!(refused("---\ntitle: a\n"), @"
    error[refused]: 1 file refused
      nodes/x.md
        error[frontmatter-unclosed]: line 1 opens a frontmatter with `---` that no line `---` closes (close the block with a line `---`, or begin the file with an empty line if the dashes are a thematic break)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    assert_snapshot!(refused("---\nbase: &b {status: published}\n<<: *b\n---\n"), @"
    error[refused]: 1 file refused
      nodes/x.md
        error[frontmatter-merge-key]: line 3, column 1: a merge key at the top level, which readers interpret differently (write the merged fields out)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
}

#[test]
fn bombs_are_refused_at_once() {
    let mut bomb = "---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let alias = format!("*a{}", n - 1);
        bomb.push_str(&format!("a{n}: &a{n} [{}]\n", [alias.as_str(); 10].join(", ")));
    }
    assert_snapshot!(refused(bomb + "---\n"), @"
    error[refused]: 1 file refused
      nodes/x.md
        error[frontmatter-yaml]: the frontmatter is not valid YAML: line 5, column 15: aliases expand to more than 64 KiB (fix the line; a text with `: ` or `#` in it needs quotes)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    assert_snapshot!(refused(format!("---\na: {}{}\n---\n", "[".repeat(100), "]".repeat(100))), @"
    error[refused]: 1 file refused
      nodes/x.md
        error[frontmatter-yaml]: the frontmatter is not valid YAML: line 2, column 36: recursion limit exceeded (fix the line; a text with `: ` or `#` in it needs quotes)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
    let many: String = (0..8000).map(|n| format!("key{n}: x\n")).collect();
    assert_snapshot!(refused(format!("---\n{many}---\n")), @"
    error[refused]: 1 file refused
      nodes/x.md
        error[frontmatter-too-large]: the frontmatter has 86890 bytes; at most 65536 are read (move long texts into the body)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
}

#[test]
fn a_file_too_large_to_read_is_refused() {
    let mut text = b"# Large\n".to_vec();
    text.resize((16 << 20) + 1, b'x');
    assert_snapshot!(refused(text), @"
    error[refused]: 1 file refused
      nodes/x.md
        error[too-large]: `nodes/x.md` is larger than 16777216 bytes (split the document)
    hint: nothing was written; fix the documents, or leave them out
    hint: `--skip-invalid` publishes the valid documents
    ");
}

#[test]
fn links_and_fifos_are_neither_followed_nor_waited_for() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    std::fs::write(place.home().join("secret.md"), "# Secret\n").unwrap();
    symlink(place.home().join("secret.md"), place.path("nodes/link.md")).unwrap();
    std::fs::create_dir(place.home().join("outside")).unwrap();
    std::fs::write(place.home().join("outside/deep.md"), "# Deep\n").unwrap();
    symlink(place.home().join("outside"), place.path("nodes/folder")).unwrap();
    let fifo = Command::new("mkfifo").arg(place.path("nodes/fifo.md")).status().unwrap();
    assert!(fifo.success());
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 0
    -- stdout
    nothing to publish
      unchanged: nodes/a
      left out: nodes/fifo.md (not a regular file)
      left out: nodes/folder (a symbolic link to a folder, which is not followed)
      left out: nodes/link.md (a symbolic link, which is not followed)
    -- stderr
    ");
    assert_snapshot!(place.ctx("publish nodes/link").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/link.md
        error[symbolic-link]: `nodes/link.md` goes through a symbolic link, which is not followed (put the file itself here)
    hint: nothing was written; fix the documents, or leave them out
    ");
    assert_snapshot!(place.ctx("publish nodes/fifo").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/fifo.md
        error[not-a-file]: `nodes/fifo.md` is not a regular file (rename it)
    hint: nothing was written; fix the documents, or leave them out
    ");
    assert_snapshot!(place.ctx("status").whole(), @"
    exit: 0
    -- stdout
    Checkpoint 1 of 2026-11-21T10:00:01.000Z
    Published and unchanged: 1 document

    Left out, not documents (next: ctx validate):
      nodes/fifo.md
          it is not a regular file
      nodes/link.md
          it is a symbolic link, which is not followed
    Nothing to publish
    -- stderr
    ");
    assert_snapshot!(place.ctx("add nodes/folder/new --body x").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/folder/.versions/new/history.yaml
        error[symbolic-link]: `nodes/folder/.versions/new/history.yaml` goes through a symbolic link, which is not followed (put the file itself here)
    hint: nothing was written; fix the documents, or leave them out
    ");
    assert!(!place.home().join("outside/new.md").exists());
    let stdout = place.ctx("publish nodes/folder/deep").exits(1);
    assert!(!stdout.stdout.contains("Deep") && !place.has("nodes/folder/.versions"));
}

#[test]
fn a_published_document_replaced_by_a_link_is_still_served_and_never_followed() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    std::fs::write(place.home().join("secret.md"), "# Secret\n").unwrap();
    place.remove("nodes/a.md");
    symlink(place.home().join("secret.md"), place.path("nodes/a.md")).unwrap();
    assert!(place.ctx("read nodes/a").ok().stdout.ends_with("# A\n"));
    assert_snapshot!(place.ctx("verify").whole(), @"
    exit: 1
    -- stdout
    intact, working copy differs
      anchor: checkpoint 1, trusted on this machine since 2026-11-21T10:00:01.000Z
      1 checkpoint, 3 artifacts, 3 versions recomputed
      head: checkpoint 1, sha256:15d4e7eac35319a507dfe6d2fcca03ae945c69717c009ba2acbe22efd0f3275b

    Working copy: live files that differ from their published versions:
      [drift] nodes/a: `nodes/a.md` goes through a symbolic link, which is not followed
          in nodes/a.md

    Notes:
      [file-ignored] nodes/a.md: it is a symbolic link, which is not followed
          in nodes/a.md

    Meaning and remedy:
      [drift] A live file differs from the published text and is not a draft.
          `ctx diff ID` shows the change, `ctx publish --changed` publishes it; for a file of an older version, or one that says that it is not for use, `ctx status` says what to do. `ctx restore --force ID` undoes the change: it is lost.
    -- stderr
    hint: `ctx help CODE` explains a finding
    ");
    assert_snapshot!(place.ctx("publish --changed").whole(), @"
    exit: 0
    -- stdout
    nothing to publish
      left out: nodes/a (a symbolic link, which is not followed)
    -- stderr
    ");
    assert_snapshot!(place.ctx("diff nodes/a").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: `nodes/a.md`: `nodes/a.md` goes through a symbolic link, which is not followed
    hint: put the file itself here
    ");
}

#[test]
fn a_selector_of_fifty_thousand_characters_is_refused_with_its_length() {
    let place = Place::vault();
    let long = ["#a"; 17_000].join(" ");
    assert_snapshot!(place.args(&["resolve", &long]).run().whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[selector-invalid]: a selector has at most 8192 bytes, but this one has 50999
      #a #a #a #a #a #a #a #a #a #a #a #a #a #a #a #a #a #a #a #a #a #a #a #…
      ^
    ");
    let deep = format!("{}#a{}", "(".repeat(2000), ")".repeat(2000));
    assert_snapshot!(place.args(&["resolve", &deep]).run().whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[selector-invalid]: parentheses nest at most 64 deep
      …((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((…
                                     ^
    ");
}

#[test]
fn text_of_a_vault_cannot_steer_a_terminal_from_a_line() {
    let place = Place::vault();
    let title = "\"\\e[31mred \\u202Egnp.exe\\u2066 \\x9B1m\"";
    place.write(
        "nodes/a.md",
        format!("---\ntitle: {title}\ntags: [x]\nstatus: \"\\e[1m\"\n---\nx\n"),
    );
    place.write("nodes/b\u{202e}.md", "# B\n");
    place.write("packs/\u{1b}.yml", "id: x\n");
    place.args(&["publish", "nodes/a", "-m", "note \u{1b}[31m", "--as", "ana"]).run().ok();
    for line in [
        "list",
        "list --json",
        "status",
        "status --json",
        "history nodes/a",
        "history nodes/a --json",
        "verify",
        "verify --json",
        "validate",
        "context",
        "resolve '#x'",
        "resolve '#x' --json",
        "checkpoint list",
        "checkpoint show 1",
        "publish --all --dry-run",
        "read 'nodes/\u{1b}'",
        "resolve '\u{1b}[31m'",
        "read contextnest://\u{1b}",
        "nope\u{1b}",
    ] {
        let output = place.ctx(line);
        for (name, text) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            let raw = |c: char| {
                c != '\n'
                    && (c.is_control()
                        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
            };
            // A dry run shows the text of the file, which a pipe gets unescaped.
            if line.contains("dry-run") && name == "stdout" {
                continue;
            }
            assert!(!text.contains(raw), "{line} {name}: {text:?}");
        }
    }
    assert_snapshot!(place.ctx("list").whole(), @r"
    exit: 0
    -- stdout
    nodes/a  v1  document  \u{1b}[31mred \u{202e}gnp.exe\u{2066} \u{9b}1m
    -- stderr
    ");
}

#[test]
fn a_reader_that_leaves_early_ends_it_quietly() {
    let place = Place::vault();
    place.write("nodes/a.md", format!("# A\n\n{}", "text\n".repeat(100_000)));
    place.ctx("publish --all").ok();
    for line in ["read nodes/a", "read nodes/a --json", "list"] {
        let mut child = place.typed(line).command().spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
        assert_eq!(output.status.code(), Some(0), "{line}");
    }
}

#[test]
fn odd_arguments_are_answered() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let report: Vec<String> = [
        "",
        "/",
        "..",
        "nodes/",
        "nodes//a",
        "nodes/a/",
        "nodes/a@0",
        "a\nb",
        "@1",
        "contextnest://nodes/a@@1",
    ]
    .iter()
    .map(|arg| {
        let output = place.args(&["read", arg]).run();
        assert!((0..3).contains(&output.exit), "{arg}: {}", output.whole());
        format!("{arg:?}: {} {}", output.exit, output.stderr.lines().next().unwrap_or_default())
    })
    .collect();
    assert_snapshot!(report.join("\n"), @r#"
    "": 2 error[id-invalid]: an id cannot be empty
    "/": 2 error[usage]: `/` is outside of the vault
    "..": 2 error[usage]: `..` is outside of the vault
    "nodes/": 2 error[usage]: `nodes/` is a folder, but a document is expected
    "nodes//a": 0 
    "nodes/a/": 0 
    "nodes/a@0": 2 error[usage]: `0` is not the number of a checkpoint
    "a\nb": 2 error[id-invalid]: ids cannot contain `\n`
    "@1": 2 error[usage]: `1` is not the number of a checkpoint
    "contextnest://nodes/a@@1": 2 error[uri-invalid]: expected a checkpoint number from 1 after `@`, but found `@1`
    "#);
    let long = "x".repeat(5000);
    place.args(&["read", &format!("nodes/{long}")]).run().exits(2);
}

/// That number of threads needs more addresses than the limit leaves.
#[test]
fn no_variable_asks_for_more_threads_than_there_are_cores() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let line = format!("ulimit -v 8000000; RAYON_NUM_THREADS=20000 {CTX} verify");
    place.typed("").shell(&line).ok();
}

#[test]
fn an_argument_of_many_anchors_is_read_without_recursion() {
    let place = Place::published(&[("nodes/a", "# A\n\n## B\n")]);
    for line in ["read", "neighbors"] {
        let args = [line.to_owned(), "#a|".repeat(30_000)];
        place.args(&args).run().exits(2);
    }
    // Only the last command names a section.
    place.ctx("read nodes/a#b").ok();
    place.ctx("read nodes/a#x#b").exits(1);
}

/// Patterns are compiled: a pattern of 16 MB needed gigabytes.
#[test]
fn no_pattern_of_a_configuration_that_is_too_large_is_compiled() {
    let place = Place::vault();
    let patterns = (0..10_000).map(|n| format!("  - '**/*{n}*x*y*z*/**'\n")).collect::<String>();
    place.write(".context/config.yaml", format!("version: 1\nexclude:\n{patterns}"));
    assert_snapshot!(place.ctx("validate").exits(1).stdout, @"
    error[config]: .context/config.yaml:1: a configuration has at most 64 KiB
      hint: fix the line; spec/vault.md lists the keys
    0 documents checked: 1 error, 0 warnings
    ");
}
