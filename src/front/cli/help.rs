//! `ctx help`: the help of a verb, or the meaning of a code.

use std::collections::BTreeSet;

use super::failure::command as failure_command;
use super::meant::{self, Meant};
use super::session::Session;
use super::{Answer, help_groups};
use crate::prove::verify;
use crate::service::report::Spell;
use crate::service::report::failure::{self, Failure};
use crate::service::report::vault::{CodeReport, HelpReport, VerbReport};
use crate::values::codes::{self, Meaning};
use crate::values::model::hint::Mode;
use crate::values::text_util::nearest;

/// Show the help of a verb, or explain a code
///
/// Codes are printed by errors and by `ctx verify` and `ctx validate`, as in `error[unknown-id]`.
/// With --json and no argument every verb and every code is listed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx help publish\n  ctx help checkpoint show\n  \
ctx help content-hash-mismatch\n  ctx help head-rollback")]
pub(super) struct Help {
    /// A verb with its parts, or a code
    about: Vec<String>,
}

pub(super) fn run(args: &Help, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let mut root = help_groups::command();
    root.build();
    let mut command = &mut root;
    for (n, word) in args.about.iter().enumerate() {
        if n == 0 && command.find_subcommand(word).is_none() {
            return explain(&args.about, session);
        }
        let Some(part) = command.find_subcommand_mut(word) else {
            return Err(unknown(&args.about));
        };
        command = part;
    }
    if session.ui.json {
        let name = args.about.join(" ");
        let mut report = HelpReport::default();
        list(command, &name, &mut report.verbs);
        if let Some(first) = report.verbs.first_mut().filter(|_| !name.is_empty()) {
            first.help = Some(text_of(command));
        }
        if name.is_empty() {
            let plain = Spell::new(failure_command, Mode::Publishes);
            all_codes()
                .into_iter()
                .for_each(|code| report.codes.extend(meanings(code, plain, false)));
        }
        session.ui.report(&report);
        return Ok(Answer::Yes);
    }
    for line in text_of(command).lines() {
        session.ui.line(line);
    }
    Ok(Answer::Yes)
}

fn text_of(command: &mut clap::Command) -> String {
    let help = command.render_long_help().to_string();
    help.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Lists a verb and its parts; of the command itself, its verbs.
fn list(command: &clap::Command, name: &str, verbs: &mut Vec<VerbReport>) {
    if !name.is_empty() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        verbs.push(VerbReport { verb: name.to_owned(), about, help: None });
    }
    // Every verb with parts has the part `help`.
    let parts = command.get_subcommands();
    for part in parts.filter(|part| name.is_empty() || part.get_name() != "help") {
        list(part, format!("{name} {}", part.get_name()).trim_start(), verbs);
    }
}

/// Returns every code once, in the order of its name.
fn all_codes() -> BTreeSet<&'static str> {
    let findings = verify::Code::ALL.iter().map(|code| code.as_str());
    let errors = failure::Code::ALL.iter().map(|code| code.as_str());
    findings.chain(errors).chain(codes::problems().map(|problem| problem.code)).collect()
}

/// Explains a code. One that is both a finding and an error is explained as both.
fn meanings(word: &str, spell: Spell, is_governed: bool) -> Vec<CodeReport> {
    let mut codes = Vec::new();
    let remedy = codes::remedy(word, is_governed).unwrap_or_default();
    let mut add = |is: String, text: &[&str]| {
        let text = text.iter().map(|text| (*text).to_owned()).collect();
        codes.push(CodeReport { code: word.to_owned(), is, text });
    };
    if let Some(code) = verify::Code::ALL.iter().find(|code| code.as_str() == word) {
        let class = code.class().as_str();
        let remedy = code.remedy().render(spell);
        let text = [code.meaning(), code.cause(), &remedy];
        add(format!("a finding of `ctx verify`, class {class}"), &text);
    }
    if let Some(code) = failure::Code::ALL.iter().find(|code| code.as_str() == word) {
        let text = [code.meaning(), remedy];
        add(format!("an error, exit code {}", code.exit()), &text);
    }
    for Meaning { of, meaning, .. } in codes::problems().filter(|problem| problem.code == word) {
        add(format!("a problem of {of}"), &[meaning, remedy]);
    }
    codes
}

/// Explains a code.
fn explain(words: &[String], session: &mut Session<'_>) -> Result<Answer, Failure> {
    // If there is a vault, it decides whether texts are published or submitted.
    let _ = session.vault();
    let codes = meanings(&words[0], session.ui.spell(), session.ui.is_governed());
    if codes.is_empty() {
        return Err(unknown(words));
    }
    session.print(&HelpReport { codes, ..HelpReport::default() }, |session, report| {
        for (n, CodeReport { code, is, text }) in report.codes.iter().enumerate() {
            if n > 0 {
                session.ui.line("");
            }
            session.ui.line(&format!("{code}: {is}"));
            for text in text {
                session.ui.line("");
                session.ui.line(text);
            }
        }
    });
    Ok(Answer::Yes)
}

/// Returns an error for words that are neither a command nor a code.
fn unknown(words: &[String]) -> Failure {
    let Meant { message, hints } = meant::of_help(words);
    let failure = Failure::new(failure::Code::Usage, message.unwrap_or_default());
    match nearest(&words[0], all_codes()).filter(|_| words.len() == 1) {
        Some(near) => failure.hint(format!("did you mean the code `{near}`?")),
        None => hints.into_iter().fold(failure, Failure::hint),
    }
}
