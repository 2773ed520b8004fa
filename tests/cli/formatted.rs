//! Formatters: how they change a vault, how `verify` names them, and how `init` excludes it
//! from them.

use crate::anchored::git;
use crate::harness::Place;

const V1: &str = "nodes/.versions/a/v1.md";
const HISTORY: &str = "nodes/.versions/a/history.yaml";

/// Returns a committed vault with one document in three versions, two of them diffs with empty
/// lines of context, and another in one version.
fn committed() -> Place {
    let place = Place::published(&[
        ("nodes/a", "# A\n\none  \ntwo\n\nthree\n\nfour\n"),
        ("nodes/b", "# B\n\n* one\n\n\n\n* two  \n"),
    ]);
    place.edit("nodes/a.md", "two", "2");
    place.ctx("publish nodes/a").ok();
    place.edit("nodes/a.md", "three", "3");
    place.ctx("publish nodes/a").ok();
    git(&place, "init -q");
    commit(&place, "all");
    place
}

fn commit(place: &Place, name: &str) {
    git(place, "add -A");
    git(place, &format!("commit -q -m {name}"));
}

/// Returns a text as pre-commit's `trailing-whitespace` rewrites it.
fn stripped(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns a history whose diffs lost the blank of empty lines of context.
fn unpadded(text: &str) -> String {
    text.replace("\\n \\n", "\\n\\n")
}

/// Rewrites a file as a formatter does.
fn rewrite(place: &Place, path: &str, with: impl Fn(&str) -> String) {
    let (before, after) = (place.read(path), with(&place.read(path)));
    assert_ne!(before, after, "{path}");
    place.write(path, after);
}

/// Runs the command that a verification names, and returns it.
fn restore(place: &Place) -> String {
    let verified = place.ctx("verify").exits(1);
    let hint =
        verified.stderr.lines().find(|line| line.contains("git restore")).unwrap_or_default();
    let command = hint.split('`').nth(1).unwrap_or_default().to_owned();
    assert!(command.starts_with("git restore"), "{}", verified.whole());
    place.typed("").shell(&command).ok();
    command
}

#[test]
fn verify_names_formatters_and_the_command_that_restores_their_files() {
    let blank_lines = |text: &str| text.replace("\n\n", "\n\n\n");
    type Case<'c> = (&'c [&'c str], fn(&str) -> String);
    let cases: [Case<'_>; 4] = [
        (&[V1], stripped),
        (&["nodes/.versions/b/v1.md"], stripped),
        (&[HISTORY], unpadded),
        (&[HISTORY, "nodes/.versions/a/v1.md"], |text| stripped(&unpadded(text))),
    ];
    let place = committed();
    for (paths, with) in cases {
        paths.iter().for_each(|path| rewrite(&place, path, with));
        let verified = place.ctx("verify").exits(1).stdout;
        assert!(verified.starts_with("damaged"), "{verified}");
        let named = "if white space is ignored: a formatter such as prettier, markdownlint";
        assert!(verified.contains(named), "{paths:?}: {verified}");
        let command = restore(&place);
        paths.iter().for_each(|path| assert!(command.contains(path), "{command}"));
        place.ctx("verify").ok();
    }
    rewrite(&place, V1, blank_lines);
    assert!(place.ctx("verify").exits(1).stdout.contains("if white space is ignored"));
    // The index is altered, too, but the last commit has the texts.
    commit(&place, "formatted");
    let head = git(&place, "rev-parse --short HEAD~1");
    assert!(restore(&place).contains(&format!("--source={head} --staged --worktree")));
    place.ctx("verify").ok();
}

#[test]
fn verify_says_if_git_shows_that_words_changed() {
    let place = committed();
    rewrite(&place, V1, |text| text.replace("one", "1"));
    let stderr = place.ctx("verify").exits(1).stderr;
    assert!(stderr.contains("; words changed in 1 of them, which no formatter does"), "{stderr}");
    restore(&place);
    place.ctx("verify").ok();
}

#[test]
fn verify_names_the_command_that_restores_a_log_with_other_line_ends() {
    for with in [|text: &str| text.replace('\n', "\r\n"), |text: &str| text.replace('\n', "")] {
        let place = committed();
        if with("\n") == "\r\n" {
            let mut logs = std::fs::read_dir(place.path(".context/audit")).unwrap();
            let log = logs.find_map(|entry| {
                entry
                    .unwrap()
                    .file_name()
                    .into_string()
                    .ok()
                    .filter(|name| name.ends_with(".jsonl"))
            });
            let log = format!(".context/audit/{}", log.unwrap());
            rewrite(&place, &log, with);
            let verified = place.ctx("verify").exits(1);
            assert!(verified.stdout.contains("a line end of CRLF"), "{}", verified.whole());
            assert!(restore(&place).contains(&log));
            place.ctx("verify").ok();
        }
        rewrite(&place, ".versions/checkpoints.jsonl", with);
        commit(&place, "rewritten");
        let command = restore(&place);
        assert!(command.contains(".versions/checkpoints.jsonl"), "{command}");
        place.ctx("verify").ok();
    }
}

/// Prettier 3 rewrites quotes, and markers of lists and tables.
#[test]
fn verify_names_formatters_that_exchange_quotes_and_markers() {
    let text = "# A\n\n* one  \n* *two*\n\n| a | b |\n|--|--|\n| 1 | 2 |\n";
    let place = Place::published(&[("nodes/a", text)]);
    git(&place, "init -q");
    commit(&place, "one");
    let only = "only white space, quotes and signs of Markdown changed there, as a formatter";
    let pretty = |text: &str| {
        let quoted =
            text.replace('\'', "\"").replace("* *two*", "- _two_").replace("* one", "- one");
        stripped(&quoted).replace("|--|--|", "| --- | --- |")
    };
    let original = place.read(V1);
    // Git has the text of a version that was rewritten with its live file.
    rewrite(&place, V1, pretty);
    rewrite(&place, "nodes/a.md", pretty);
    let verified = place.ctx("verify").exits(1);
    assert!(verified.stderr.contains(only), "{}", verified.whole());
    git(&place, "restore .");
    place.edit("nodes/a.md", "one", "1");
    place.ctx("publish nodes/a").ok();
    rewrite(&place, V1, pretty);
    let verified = place.ctx("verify").exits(1).stdout;
    let named = "fits if white space, quotes and signs of Markdown are ignored: a formatter such as prettier";
    assert!(verified.starts_with("damaged") && verified.contains(named), "{verified}");
    // A changed word is not explained by a formatter.
    place.write(V1, pretty(&original).replace("one", "once"));
    assert!(!place.ctx("verify").exits(1).whole().contains("formatter such as"));
}

#[test]
fn verify_names_no_formatter_if_words_changed() {
    let place = committed();
    let original = place.read(V1);
    for (from, to) in [("two", "too"), ("three", "3"), ("# A", "# B"), ("four", "fore")] {
        place.write(V1, stripped(&original).replace(from, to));
        let verified = place.ctx("verify").exits(1).stdout;
        assert!(verified.starts_with("damaged"), "{verified}");
        assert!(!verified.contains("formatter such as"), "{from}: {verified}");
        restore(&place);
        place.ctx("verify").ok();
    }
    // The live file shows the text of a document with one version.
    rewrite(&place, "nodes/.versions/b/v1.md", |text| stripped(text).replace("one", "two"));
    assert!(!place.ctx("verify").exits(1).stdout.contains("white space"));
}

#[test]
fn restore_command_does_not_remove_later_publications() {
    let place = committed();
    place.edit("nodes/a.md", "four", "4");
    place.ctx("publish nodes/a").ok();
    rewrite(&place, V1, stripped);
    rewrite(&place, HISTORY, unpadded);
    let command = restore(&place);
    assert!(!command.contains(HISTORY), "{command}");
    assert!(place.read(HISTORY).contains("version: 4"));
    place.ctx("verify").exits(1);
}

#[test]
fn many_damaged_texts_are_restored_by_a_pattern() {
    let place = Place::vault();
    (0..8).for_each(|n| place.write(&format!("nodes/{n}.md"), format!("# N{n}\n\none  \n")));
    place.ctx("publish --all").ok();
    git(&place, "init -q");
    commit(&place, "all");
    place.edit("nodes/0.md", "one", "two");
    place.ctx("publish nodes/0").ok();
    (0..8).for_each(|n| rewrite(&place, &format!("nodes/.versions/{n}/v1.md"), stripped));
    assert_eq!(restore(&place), "git restore -- ':(glob)**/.versions/*/v*'");
    let verified = place.ctx("verify").ok().stdout;
    assert!(verified.contains("anchored to checkpoint 2"), "{verified}");
}

#[test]
fn verify_names_no_command_without_git() {
    let place = Place::published(&[("nodes/a", "# A\n\none  \n")]);
    rewrite(&place, V1, stripped);
    let verified = place.ctx("verify").exits(1);
    assert!(verified.stdout.contains("if white space is ignored"), "{}", verified.whole());
    assert!(!verified.stderr.contains("git restore"), "{}", verified.whole());
}

/// Returns a repository with formatters, and a folder `docs` for a vault.
fn repository() -> Place {
    let place = Place::new();
    git(&place, "init -q");
    place.write(
        "package.json",
        "{\"devDependencies\": {\"prettier\": \"3\", \"remark-cli\": \"12\"}}",
    );
    place.write(".markdownlint.json", "{}");
    place.write(".markdownlintignore", "vendor\r\nbuild");
    place.write(".pre-commit-config.yaml", "repos: []\n");
    place.write("docs/.editorconfig", "root = true\n\n[*]\ntrim_trailing_whitespace = true\n");
    place.write("docs/a.md", "# A\n");
    place
}

#[test]
fn init_prints_the_lines_that_keep_formatters_out() {
    for line in ["init docs", "init docs --formatters print"] {
        let place = repository();
        let before = place.tree();
        let said = place.ctx(line).ok();
        for (name, file, text) in [
            ("prettier", ".prettierignore", "  **/.versions/**\n"),
            ("markdownlint", ".markdownlintignore", "  **/.context/**\n"),
            ("remark", ".remarkignore", "  **/.versions/**\n"),
            ("pre-commit", ".pre-commit-config.yaml", r"  exclude: '(^|/)\.(versions|context)/'"),
            ("editorconfig", "docs/.editorconfig", "  [**/.versions/**]\n"),
        ] {
            let hint = format!("keep {name} out of histories, which it would damage: add to ");
            let path = format!("/{file}\n");
            assert!(said.stderr.contains(&hint), "{name}: {}", said.stderr);
            assert!(said.stderr.contains(&path) && said.stderr.contains(text), "{}", said.stderr);
        }
        for (path, bytes) in before {
            assert_eq!(place.bytes(&path), bytes, "{path}");
        }
        assert!(!place.has(".prettierignore") && !place.has(".remarkignore"));
    }
}

#[test]
fn init_writes_the_lines_if_asked_to() {
    let lines = "**/.versions/**\n**/.context/**\n";
    let place = repository();
    let json = place.ctx("init docs --formatters write --json").ok().json("ctx.init");
    let written: Vec<(&str, bool)> = json["formatters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["written"].as_bool().unwrap()))
        .collect();
    let all = [
        ("prettier", true),
        ("markdownlint", true),
        ("remark", true),
        ("pre-commit", false),
        ("editorconfig", true),
    ];
    assert_eq!(written, all);
    assert_eq!(place.read(".prettierignore"), lines);
    assert_eq!(place.read(".remarkignore"), lines);
    assert_eq!(
        place.read(".markdownlintignore"),
        "vendor\r\nbuild\r\n**/.versions/**\r\n**/.context/**\r\n"
    );
    assert_eq!(place.read(".pre-commit-config.yaml"), "repos: []\n");
    assert!(place.read("docs/.editorconfig").ends_with("true\n\n[**/.versions/**]\ncharset = unset\nend_of_line = unset\ninsert_final_newline = unset\ntrim_trailing_whitespace = unset\n"));
    // Existing lines are not added again.
    place.write("other/a.md", "# A\n");
    let said = place.ctx("init other --formatters write").ok();
    assert!(!said.whole().contains("prettier"), "{}", said.whole());
    assert!(said.stderr.contains("pre-commit"));
}

#[test]
fn init_writes_through_no_link() {
    let place = repository();
    place.write("elsewhere", "mine\n");
    std::os::unix::fs::symlink("elsewhere", place.path(".prettierignore")).unwrap();
    let said = place.ctx("init docs --formatters write").ok();
    assert!(
        said.stderr.contains("warning: ") && said.stderr.contains("keep prettier out"),
        "{}",
        said.stderr
    );
    assert_eq!(place.read("elsewhere"), "mine\n");
}

#[test]
fn init_asks_on_a_terminal() {
    for (answer, is_written) in
        [("y\n", true), ("YES\n", true), ("\n", false), ("no\n", false), ("", false)]
    {
        let place = repository();
        let said = place.typed("init docs").stdin(answer).on_terminal().ok();
        assert!(
            said.stderr.contains("add lines that keep formatters out of histories to "),
            "{}",
            said.whole()
        );
        assert_eq!(place.has(".prettierignore"), is_written, "{answer:?}");
        assert_eq!(said.stderr.contains("keep prettier out"), !is_written, "{}", said.whole());
        assert!(said.stderr.contains("keep pre-commit out"), "{}", said.whole());
    }
    let place = Place::new();
    assert!(!place.typed("init docs").on_terminal().ok().stderr.contains("formatters"));
}

#[test]
fn init_looks_at_the_formatters_of_a_vault_that_exists() {
    let place = repository();
    place.write(".pre-commit-config.yaml", "exclude: '^site/'\nrepos: []\n");
    place
        .write("lefthook.yml", "pre-commit:\n  commands:\n    md:\n      run: npx prettier -w .\n");
    place.ctx("init docs --formatters print").ok();
    let before = place.read("docs/.context/config.yaml");
    let said = place.ctx("init docs --formatters print").ok();
    for part in [
        "only its formatters are checked",
        ".prettierignore",
        "`exclude` is in",
        r"exclude: '(?:^site/)|(^|/)\.(versions|context)/'",
    ] {
        assert!(said.stderr.contains(part), "{part}: {}", said.whole());
    }
    let json = place.ctx("init docs --formatters write --json").ok().json("ctx.init");
    assert_eq!(json["created"].as_array().map(Vec::len), Some(0), "{json}");
    assert!(place.read(".prettierignore").contains("**/.versions/**"));
    assert_eq!(place.read("docs/.context/config.yaml"), before);
    // With other work to do, an existing vault is refused as before.
    place.ctx("init docs --formatters write --name X").exits(1);
    place.ctx("init docs").exits(1);
}
