//! Programs of a repository that rewrite Markdown and YAML, and what keeps them out of histories.
//!
//! A formatter that rewrites a file below `.versions` damages the vault. Programs with an ignore file
//! of their own are kept out by two lines in it; of the others the user changes the configuration.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::report::failure::{Code, Failure};
use crate::report::vault::FormatterReport;
use crate::vault::outside;

/// A program that a repository may use.
struct Formatter {
    name: &'static str,
    /// Files whose presence shows that the repository uses it.
    marks: &'static [&'static str],
    /// Its name in `package.json`.
    package: Option<&'static str>,
    /// The file that keeps it out of folders; else the first mark that exists, or the first one.
    ignore_file: Option<&'static str>,
    lines: &'static [&'static str],
}

/// Lines of an ignore file in the syntax of `.gitignore`.
const PATTERNS: &[&str] = &["**/.versions/**", "**/.context/**"];

const FORMATTERS: [Formatter; 11] = [
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
        ignore_file: Some(".textlintignore"),
        lines: PATTERNS,
    },
    Formatter {
        name: "editorconfig",
        marks: &[".editorconfig"],
        package: None,
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
        ignore_file: None,
        lines: &[r"exclude: '(^|/)\.(versions|context)/'"],
    },
    Formatter {
        name: "dprint",
        marks: &["dprint.json", "dprint.jsonc", ".dprint.json", ".dprint.jsonc"],
        package: Some("dprint"),
        ignore_file: None,
        lines: &["\"excludes\": [\"**/.versions\", \"**/.context\"]"],
    },
    Formatter {
        name: "mdformat",
        marks: &[".mdformat.toml"],
        package: None,
        ignore_file: None,
        lines: &["exclude = [\"**/.versions/**\", \"**/.context/**\"]"],
    },
    Formatter {
        name: "rumdl",
        marks: &[".rumdl.toml", "rumdl.toml"],
        package: None,
        ignore_file: None,
        lines: &["exclude = [\".versions\", \".context\"]"],
    },
    Formatter {
        name: "deno fmt",
        marks: &["deno.json", "deno.jsonc"],
        package: None,
        ignore_file: None,
        lines: &["\"exclude\": [\"**/.versions/\", \"**/.context/\"]"],
    },
];

/// Returns the formatters that the repository of a vault uses, each with what keeps it out, if
/// nothing there names `.versions` yet. Folders from the vault up to the top of the work tree count.
pub(crate) fn used(root: &Path) -> Vec<FormatterReport> {
    let top = outside::work_tree(root).map_or(root, |(top, _)| top);
    let folders = root.ancestors().take_while(|dir| dir.starts_with(top));
    let mut found = Vec::new();
    for folder in folders.collect::<Vec<_>>().into_iter().rev() {
        let packages = packages(folder);
        for formatter in &FORMATTERS {
            let has = |name: &&&str| folder.join(name).symlink_metadata().is_ok();
            let mark = formatter.marks.iter().find(has);
            let is_package =
                formatter.package.is_some_and(|name| packages.iter().any(|p| p == name));
            if mark.is_none() && !is_package {
                continue;
            }
            let file = formatter.ignore_file.or(mark.copied()).unwrap_or(formatter.marks[0]);
            let path = folder.join(file);
            let text = outside::read_small(&path).unwrap_or_default();
            if String::from_utf8_lossy(&text).contains(".versions") {
                continue;
            }
            found.push(FormatterReport {
                name: formatter.name,
                file: path.display().to_string(),
                lines: formatter.lines.iter().map(|line| (*line).to_owned()).collect(),
                can_write: formatter.ignore_file.is_some(),
                written: false,
                path,
            });
        }
    }
    found
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

/// The names of packages that `package.json` of a folder names.
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
