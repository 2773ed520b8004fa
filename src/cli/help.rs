//! `ctx help`: the help of a verb, or what a code means.

use clap::CommandFactory as _;

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

/// A code that is a finding and an error is explained as both.
fn explain(word: &str, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let finding = verify::Code::ALL.iter().find(|code| code.as_str() == word);
    let error = failure::Code::ALL.iter().find(|code| code.as_str() == word);
    if let Some(code) = finding {
        let class = code.class();
        session.ui.line(&format!("{code}: a finding of `ctx verify`, class {}", class.as_str()));
        for text in [code.meaning(), code.cause(), code.remedy()] {
            session.ui.line("");
            session.ui.line(text);
        }
    }
    if let Some(code) = error {
        if finding.is_some() {
            session.ui.line("");
        }
        session.ui.line(&format!("{word}: an error, exit code {}", code.exit()));
        session.ui.line("");
        session.ui.line(code.meaning());
    }
    if finding.is_some() || error.is_some() {
        return Ok(Answer::Yes);
    }
    let verbs = Cli::command();
    let known = verbs.get_subcommands().map(clap::Command::get_name);
    let codes = verify::Code::ALL.iter().map(|code| code.as_str());
    let codes = codes.chain(failure::Code::ALL.iter().map(|code| code.as_str()));
    let failure = Failure::new(failure::Code::Usage, format!("there is no verb or code `{word}`"));
    Err(match nearest(word, known.chain(codes)) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("`ctx help` lists the verbs, `ctx verify` names the codes it found"),
    })
}
