//! `ctx help`: the help of a verb, or what a code means.

use clap::CommandFactory as _;
use serde::Serialize;

use super::failure::{self, Failure};
use super::session::Session;
use super::{Answer, Cli};
use crate::verify;
use crate::words::nearest;

/// Show the help of a verb, or explain the code of a finding or an error
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx help publish\n  ctx help checkpoint show\n  \
ctx help content-hash-mismatch\n  ctx help head-rollback")]
pub(super) struct Help {
    /// A verb with its parts, or a code
    about: Vec<String>,
}

pub(super) fn run(args: &Help, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let mut root = Cli::command();
    root.build();
    let mut command = &mut root;
    for (n, word) in args.about.iter().enumerate() {
        if n == 0 && command.find_subcommand(word).is_none() {
            return explain(word, session);
        }
        let Some(part) = command.find_subcommand_mut(word) else {
            let message = format!("`ctx {}` has no part `{word}`", args.about[..n].join(" "));
            return Err(Failure::new(failure::Code::Usage, message).hint("`ctx help` lists all"));
        };
        command = part;
    }
    let help = command.render_long_help().to_string();
    for line in help.lines() {
        session.ui.line(line.trim_end());
    }
    Ok(Answer::Yes)
}

/// What a code means, each entry in the words of where it is stated.
#[derive(Serialize)]
struct Explained {
    code: String,
    is: String,
    text: Vec<String>,
}

/// A code that is a finding and an error is explained as both.
fn explain(word: &str, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let mut found = Vec::new();
    let mut add = |is: String, text: &[&str]| {
        let text = text.iter().map(|text| (*text).to_owned()).collect();
        found.push(Explained { code: word.to_owned(), is, text });
    };
    if let Some(code) = verify::Code::ALL.iter().find(|code| code.as_str() == word) {
        let class = code.class().as_str();
        let text = [code.meaning(), code.cause(), code.remedy()];
        add(format!("a finding of `ctx verify`, class {class}"), &text);
    }
    if let Some(code) = failure::Code::ALL.iter().find(|code| code.as_str() == word) {
        add(format!("an error, exit code {}", code.exit()), &[code.meaning()]);
    }
    for problem in problems().filter(|problem| problem.code == word) {
        add(format!("a problem of {}, see spec/{}", problem.of, problem.file), &[problem.text]);
    }
    if found.is_empty() {
        return Err(unknown(word));
    }
    if session.ui.json {
        session.ui.result("help", &serde_json::json!({"codes": found}));
        return Ok(Answer::Yes);
    }
    for (n, Explained { code, is, text }) in found.iter().enumerate() {
        if n > 0 {
            session.ui.line("");
        }
        session.ui.line(&format!("{code}: {is}"));
        for text in text {
            session.ui.line("");
            session.ui.line(text);
        }
    }
    Ok(Answer::Yes)
}

fn unknown(word: &str) -> Failure {
    let verbs = Cli::command();
    let known = verbs.get_subcommands().map(clap::Command::get_name);
    let codes = verify::Code::ALL.iter().map(|code| code.as_str());
    let codes = codes.chain(failure::Code::ALL.iter().map(|code| code.as_str()));
    let codes = codes.chain(problems().map(|problem| problem.code));
    let failure = Failure::new(failure::Code::Usage, format!("there is no verb or code `{word}`"));
    match nearest(word, known.chain(codes)) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("`ctx help` lists the verbs, `ctx verify` names the codes it found"),
    }
}

/// A code of a document, a selector or a URI, as a table of the specification states it.
struct Problem {
    code: &'static str,
    text: &'static str,
    of: &'static str,
    file: &'static str,
}

/// The pages with such tables, and what their codes are problems of.
const PAGES: [(&str, &str, &str); 5] = [
    ("errors.md", "a document, a pack or the configuration", include_str!("../../spec/errors.md")),
    ("document.md", "a document", include_str!("../../spec/document.md")),
    ("graph.md", "a document's links", include_str!("../../spec/graph.md")),
    ("selector.md", "a selector", include_str!("../../spec/selector.md")),
    ("uri.md", "a URI", include_str!("../../spec/uri.md")),
];

fn problems() -> impl Iterator<Item = Problem> {
    PAGES.into_iter().flat_map(|(file, of, page)| {
        // Other tables of these pages are of fields, whose names have no hyphen.
        let page = page.split_once("## 3. Problems").map_or(page, |(_, rest)| rest);
        page.lines().filter_map(move |line| {
            let (code, rest) = line.strip_prefix("| `")?.split_once("` |")?;
            let text = rest.trim().strip_suffix('|')?.rsplit('|').next()?.trim();
            let is_code = code.contains('-') || file == "errors.md";
            is_code.then_some(Problem { code, text, of, file })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_specification_are_read() {
        let text = |wanted: &str| problems().find(|p| p.code == wanted).map(|p| p.text);
        assert_eq!(text("id-taken"), Some("the new id has a history"));
        assert_eq!(text("title-invalid"), Some("not a text, empty, or more than 200 characters"));
        assert_eq!(text("checksum"), None);
        for file in PAGES.map(|(file, ..)| file) {
            assert!(problems().any(|problem| problem.file == file), "{file}");
        }
    }
}
