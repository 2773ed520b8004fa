//! Programs of a repository that rewrite Markdown and YAML, and settings that keep them out
//! of histories.
//!
//! A formatter that rewrites a file below `.versions` damages the vault. If a program has an ignore
//! file, lines in it are enough. For the others, the user has to change the configuration.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::files::vault::outside;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::vault::FormatterReport;
use crate::values::yaml::{self, Dialect};

/// A program that a repository may use.
struct Formatter {
    name: &'static str,
    /// Files whose presence shows that the repository uses it.
    marks: &'static [&'static str],
    /// Its name in `package.json`.
    package: Option<&'static str>,
    /// Files that other programs use, with a text that shows that the repository uses this one.
    within: &'static [(&'static str, &'static str)],
    /// The file that keeps it out of folders; `None` if that is its configuration file.
    ignore_file: Option<&'static str>,
    lines: &'static [&'static str],
}

/// Lines of an ignore file in the syntax of `.gitignore`.
const PATTERNS: &[&str] = &["**/.versions/**", "**/.context/**"];

const FORMATTERS: [Formatter; 16] = [
    Formatter {
        name: "prettier",
        marks: &[
            ".prettierrc",
            ".prettierrc.json",
            ".prettierrc.json5",
            ".prettierrc.yaml",
            ".prettierrc.yml",
            ".prettierrc.toml",
            ".prettierrc.js",
            ".prettierrc.cjs",
            ".prettierrc.mjs",
            ".prettierrc.ts",
            "prettier.config.js",
            "prettier.config.cjs",
            "prettier.config.mjs",
            "prettier.config.ts",
            ".prettierignore",
        ],
        package: Some("prettier"),
        within: &[],
        ignore_file: Some(".prettierignore"),
        lines: PATTERNS,
    },
    Formatter {
        name: "markdownlint",
        marks: &[
            ".markdownlint.json",
            ".markdownlint.jsonc",
            ".markdownlint.yaml",
            ".markdownlint.yml",
            ".markdownlintrc",
            ".markdownlintignore",
        ],
        package: Some("markdownlint-cli"),
        within: &[],
        ignore_file: Some(".markdownlintignore"),
        lines: PATTERNS,
    },
    Formatter {
        name: "markdownlint-cli2",
        marks: &[
            ".markdownlint-cli2.jsonc",
            ".markdownlint-cli2.yaml",
            ".markdownlint-cli2.cjs",
            ".markdownlint-cli2.mjs",
        ],
        package: Some("markdownlint-cli2"),
        within: &[],
        ignore_file: None,
        lines: &["\"ignores\": [\"**/.versions/**\", \"**/.context/**\"]"],
    },
    Formatter {
        name: "remark",
        marks: &[
            ".remarkrc",
            ".remarkrc.json",
            ".remarkrc.yaml",
            ".remarkrc.yml",
            ".remarkrc.js",
            ".remarkrc.cjs",
            ".remarkrc.mjs",
            ".remarkignore",
        ],
        package: Some("remark-cli"),
        within: &[],
        ignore_file: Some(".remarkignore"),
        lines: PATTERNS,
    },
    Formatter {
        name: "textlint",
        marks: &[
            ".textlintrc",
            ".textlintrc.json",
            ".textlintrc.yml",
            ".textlintrc.js",
            ".textlintignore",
        ],
        package: Some("textlint"),
        within: &[],
        ignore_file: Some(".textlintignore"),
        lines: PATTERNS,
    },
    Formatter {
        name: "editorconfig",
        marks: &[".editorconfig"],
        package: None,
        within: &[],
        ignore_file: Some(".editorconfig"),
        lines: &[
            "[**/.versions/**]",
            "charset = unset",
            "end_of_line = unset",
            "insert_final_newline = unset",
            "trim_trailing_whitespace = unset",
        ],
    },
    Formatter {
        name: "pre-commit",
        marks: &[".pre-commit-config.yaml", ".pre-commit-config.yml", "prek.toml"],
        package: None,
        within: &[],
        ignore_file: None,
        lines: &[r"exclude: '(^|/)\.(versions|context)/'"],
    },
    Formatter {
        name: "dprint",
        marks: &["dprint.json", "dprint.jsonc", ".dprint.json", ".dprint.jsonc"],
        package: Some("dprint"),
        within: &[],
        ignore_file: None,
        lines: &["\"excludes\": [\"**/.versions\", \"**/.context\"]"],
    },
    Formatter {
        name: "mdformat",
        marks: &[".mdformat.toml"],
        package: None,
        within: &[("pyproject.toml", "[tool.mdformat]")],
        ignore_file: None,
        lines: &["exclude = [\"**/.versions/**\", \"**/.context/**\"]"],
    },
    Formatter {
        name: "rumdl",
        marks: &[".rumdl.toml", "rumdl.toml"],
        package: None,
        within: &[("pyproject.toml", "[tool.rumdl]")],
        ignore_file: None,
        lines: &["exclude = [\".versions\", \".context\"]"],
    },
    Formatter {
        name: "deno fmt",
        marks: &["deno.json", "deno.jsonc"],
        package: None,
        within: &[],
        ignore_file: None,
        lines: &["\"exclude\": [\"**/.versions/\", \"**/.context/\"]"],
    },
    Formatter {
        name: "oxfmt",
        marks: &[".oxfmtrc.json", ".oxfmtrc.jsonc"],
        package: Some("oxfmt"),
        within: &[],
        ignore_file: None,
        lines: &["\"ignorePatterns\": [\"**/.versions/**\", \"**/.context/**\"]"],
    },
    Formatter {
        name: "codespell",
        marks: &[".codespellrc"],
        package: None,
        within: &[("pyproject.toml", "[tool.codespell]"), ("setup.cfg", "[codespell]")],
        ignore_file: None,
        lines: &["skip = */.versions/*,*/.context/*"],
    },
    Formatter {
        name: "trunk",
        marks: &[".trunk/trunk.yaml"],
        package: None,
        within: &[],
        ignore_file: None,
        lines: &[
            "lint:",
            "  ignore:",
            "    - linters: [ALL]",
            "      paths: ['**/.versions/**', '**/.context/**']",
        ],
    },
    Formatter {
        name: "MegaLinter",
        marks: &[".mega-linter.yml", ".mega-linter.yaml"],
        package: None,
        within: &[],
        ignore_file: None,
        lines: &[r"FILTER_REGEX_EXCLUDE: '(^|/)\.(versions|context)/'"],
    },
    Formatter {
        name: "Visual Studio Code",
        marks: &[],
        package: None,
        within: &[
            (".vscode/settings.json", "files.trimTrailingWhitespace"),
            (".vscode/settings.json", "files.trimFinalNewlines"),
            (".vscode/settings.json", "files.insertFinalNewline"),
            (".vscode/settings.json", "editor.formatOnSave"),
        ],
        ignore_file: None,
        lines: &[
            "\"files.readonlyInclude\": {\"**/.versions/**\": true, \"**/.context/**\": true}",
        ],
    },
];

/// Files from which hooks and tasks run formatters by their names.
const RUNNERS: [&str; 14] = [
    "package.json",
    ".lintstagedrc",
    ".lintstagedrc.json",
    ".lintstagedrc.yaml",
    ".lintstagedrc.yml",
    ".lintstagedrc.js",
    ".lintstagedrc.mjs",
    "lint-staged.config.js",
    "lint-staged.config.mjs",
    ".husky/pre-commit",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    "lefthook.toml",
];

/// Returns the formatters that the repository of a vault uses, each with the lines that keep
/// it out.
///
/// A formatter is left out if its file already names `.versions`. Folders from the vault up to the
/// top of the work tree are searched.
pub(crate) fn used(root: &Path) -> Vec<FormatterReport> {
    let top = outside::work_tree(root).map_or(root, |(top, _)| top);
    let folders = root.ancestors().take_while(|dir| dir.starts_with(top));
    let mut found = Vec::new();
    for folder in folders.collect::<Vec<_>>().into_iter().rev() {
        let packages = packages(folder);
        let read = |file: &str| -> String {
            let bytes = outside::read_small(&folder.join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        for formatter in &FORMATTERS {
            let has = |name: &&&str| folder.join(name).symlink_metadata().is_ok();
            let mark = formatter.marks.iter().find(has);
            let says = |(file, needle): &&(&str, &str)| read(file).contains(needle);
            let mark = mark.copied().or_else(|| Some(formatter.within.iter().find(says)?.0));
            let is_package =
                formatter.package.is_some_and(|name| packages.iter().any(|p| p == name));
            let is_run = || RUNNERS.iter().any(|file| runs(&read(file), formatter.name));
            if mark.is_none() && !is_package && !is_run() {
                continue;
            }
            let first = formatter.marks.first().copied();
            let Some(file) = formatter.ignore_file.or(mark).or(first) else { continue };
            let (path, text) = (folder.join(file), read(file));
            if text.contains(".versions") || text.contains("(versions|context)") {
                continue;
            }
            let lines: Vec<String> =
                formatter.lines.iter().map(|line| (*line).to_owned()).collect();
            let (lines, extends) = match formatter.ignore_file {
                Some(_) => (lines, None),
                None => extended(&text, lines),
            };
            found.push(FormatterReport {
                name: formatter.name,
                file: path.display().to_string(),
                lines,
                extends,
                can_write: formatter.ignore_file.is_some(),
                written: false,
                path,
            });
        }
    }
    found
}

/// Returns true if a text contains the name of a program as a word, as in `prettier --write`.
fn runs(text: &str, program: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@');
    text.split(|c| !is_part(c))
        .any(|word| word == program || word.ends_with(&format!("/{program}")))
}

/// Returns the lines to add, and their first key if the file already has it, because a file with
/// the same key twice is invalid. A regular expression is merged with the existing one.
fn extended(text: &str, lines: Vec<String>) -> (Vec<String>, Option<String>) {
    let name = |line: &str| {
        let line = line.trim_start();
        let end = line.find([':', '=']).unwrap_or(line.len());
        line[..end].trim().trim_matches('"').to_owned()
    };
    let Some(key) = lines.first().map(|line| name(line)) else { return (lines, None) };
    let is_indented =
        |line: &&str| line.starts_with([' ', '\t']) && !line.trim_start().starts_with('"');
    if !text
        .lines()
        .any(|line| !is_indented(&line) && line.contains([':', '=']) && name(line) == key)
    {
        return (lines, None);
    }
    let own = r"(^|/)\.(versions|context)/";
    let old = yaml::parse(text, Dialect::Frontmatter).ok();
    let old = old.as_ref().and_then(|root| root.get(&key)?.text()).map(str::trim_end);
    let lines = match old.filter(|_| lines[0].contains(own)) {
        Some(old) => {
            // Flags are only allowed at the beginning of an expression.
            let flags = old.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
            let flags = flags.filter(|(flags, _)| flags.bytes().all(|b| b.is_ascii_alphabetic()));
            let (flags, rest) = match flags {
                Some((flags, rest)) => (format!("(?{flags})"), rest),
                None => (String::new(), old),
            };
            match rest.contains('\n') {
                true => {
                    let inner = rest.trim_matches('\n').lines().map(|line| format!("  {line}"));
                    let first = [format!("{key}: |"), format!("  {flags}(?:")];
                    first.into_iter().chain(inner).chain([format!("  )|{own}")]).collect()
                }
                false => vec![format!("{key}: '{flags}(?:{})|{own}'", rest.replace('\'', "''"))],
            }
        }
        None => lines,
    };
    (lines, Some(key))
}

/// Adds the lines to the end of the ignore file, which is created if it is missing.
///
/// # Errors
/// The file is a link or something else, too large, or cannot be written.
pub(crate) fn write(formatter: &mut FormatterReport) -> Result<(), Failure> {
    let path = &formatter.path;
    let appended = append(path, &formatter.lines).map_err(|why| {
        let message = format!("cannot write `{}`: {why}", path.display());
        Failure::new(Code::Io, message)
            .hint("add the lines yourself: `--formatters print` shows them")
    });
    formatter.written = appended.is_ok();
    appended
}

fn append(path: &PathBuf, lines: &[String]) -> io::Result<()> {
    let old = match path.symlink_metadata() {
        Ok(_) => outside::read_small(path)
            .ok_or_else(|| io::Error::other("it is not a regular file of at most 64 KiB"))?,
        Err(_) => Vec::new(),
    };
    let end = if old.windows(2).any(|pair| pair == b"\r\n") { "\r\n" } else { "\n" };
    let begin = match old.last() {
        Some(b'\n') | None => "",
        Some(_) => end,
    };
    // A section of `.editorconfig` begins after an empty line.
    let gap = if lines[0].starts_with('[') && !old.is_empty() { end } else { "" };
    let text: String = lines.iter().map(|line| format!("{line}{end}")).collect();
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    let flags = i32::try_from(flags).unwrap_or_default();
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).custom_flags(flags).open(path)?;
    file.write_all(format!("{begin}{gap}{text}").as_bytes())?;
    file.sync_all()
}

/// Returns the names of packages in `package.json` of a folder.
fn packages(folder: &Path) -> Vec<String> {
    let json = outside::read_small(&folder.join("package.json"))
        .and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok());
    let Some(json) = json else { return Vec::new() };
    let lists = ["dependencies", "devDependencies"]
        .into_iter()
        .filter_map(|key| json.get(key)?.as_object());
    let mut names: Vec<String> = lists.flat_map(|list| list.keys().cloned()).collect();
    let keys = [("prettier", "prettier"), ("remarkConfig", "remark-cli")];
    names.extend(
        keys.iter().filter(|(key, _)| json.get(key).is_some()).map(|(_, name)| (*name).to_owned()),
    );
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatters_extend_an_existing_expression() {
        let lines = || vec![r"exclude: '(^|/)\.(versions|context)/'".to_owned()];
        let of = |text: &str| extended(text, lines());
        assert_eq!(of("repos: []\n"), (lines(), None));
        assert_eq!(of("repos:\n  - hooks:\n      exclude: x\n"), (lines(), None));
        let (found, key) = of("exclude: '^it''s/'\nrepos: []\n");
        assert_eq!(key.as_deref(), Some("exclude"));
        assert_eq!(found, [r"exclude: '(?:^it''s/)|(^|/)\.(versions|context)/'"]);
        let (found, _) = of("exclude: |\n  (?x)^(\n    a/|\n    b/\n  )$\n");
        let expected = [
            r"exclude: |",
            "  (?x)(?:",
            "  ^(",
            "    a/|",
            "    b/",
            "  )$",
            r"  )|(^|/)\.(versions|context)/",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn formatters_name_an_existing_key_of_json_or_toml() {
        let json = vec!["\"excludes\": [\"**/.versions\"]".to_owned()];
        assert_eq!(
            extended("{\n  \"excludes\": []\n}\n", json.clone()).1.as_deref(),
            Some("excludes")
        );
        assert_eq!(extended("{}\n", json).1, None);
        let toml = vec!["exclude = [\"**/.versions/**\"]".to_owned()];
        assert_eq!(extended("exclude = []\n", toml.clone()).1.as_deref(), Some("exclude"));
        assert_eq!(extended("wrap = 80\n", toml).1, None);
    }

    #[test]
    fn formatters_are_found_as_words_of_hooks() {
        assert!(runs("npx prettier --write .", "prettier"));
        assert!(runs("node_modules/.bin/prettier -w", "prettier"));
        assert!(runs("{\"lint-staged\": {\"*.md\": \"prettier --write\"}}", "prettier"));
        assert!(!runs("prettier-plugin-x eslint-config-prettier", "prettier"));
    }
}
