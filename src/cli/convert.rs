//! `ctx checkpoint convert`.

use serde::Serialize;

use super::expect::ExpectHead;
use super::failure::Code;
use super::session::Session;
use super::ui::shown;
use super::{Answer, Failure, progress, recover, rows};
use crate::convert::{ConvertError, Converted, Request, convert};
use crate::publish::{Mode, Outcome};
use crate::vault::config::LogForm;
use crate::verify::Progress;
use crate::words::count;

/// Give the checkpoint log its other form
///
/// `delta` is one line of JSON for each checkpoint, with what changed; `full` is the YAML of the other
/// public tool, with whole maps, which it can go on writing. Every checkpoint keeps its number and its
/// hash. .context/config.yaml gets `versions.checkpoint_log`, published as an event of its own, and the
/// log that was there is kept beside the new one. The whole record is verified before anything is
/// written, and once more in its new form.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx checkpoint convert --to delta --dry-run\n  \
ctx checkpoint convert --to full")]
pub(super) struct Convert {
    /// The form to give it
    #[arg(long, value_name = "FORM", value_parser = ["delta", "full"])]
    to: String,
    /// Show what would be done, write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    expect: ExpectHead,
}

#[derive(Serialize)]
struct ConvertJson {
    dry_run: bool,
    form: &'static str,
    converted: bool,
    checkpoints: u64,
    /// The checkpoint that seals the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed_by: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_before: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
}

pub(super) fn run(args: &Convert, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let form = form_of(&args.to);
    let mode = Mode { dry_run: args.dry_run, expect: args.expect.read()?, ..Mode::default() };
    let author = session.author(&vault, None, None)?;
    let progress = Progress::default();
    let request = Request { author, form, mode, progress: Some(&progress) };
    let converted = progress::watch(session, &progress, || convert(&vault, &request))?;
    match session.ui.json {
        true => session.ui.result("checkpoint.convert", &json(args, form, &converted)),
        false => print(args, session, &converted),
    }
    recover::tell(session, &converted.recovered);
    Ok(match &converted.event {
        Some(outcome) => rows::tell_trouble(session, outcome),
        None => Answer::Yes,
    })
}

/// The form that an argument names, which is one of two words.
pub(super) fn form_of(word: &str) -> LogForm {
    if word == LogForm::Full.as_str() { LogForm::Full } else { LogForm::Delta }
}

fn sealed_by(converted: &Converted) -> Option<u64> {
    let checkpoint = |outcome: &Outcome| outcome.checkpoint.as_ref().map(|c| c.number);
    converted.event.as_ref().and_then(checkpoint)
}

fn json(args: &Convert, form: LogForm, converted: &Converted) -> ConvertJson {
    ConvertJson {
        dry_run: args.dry_run,
        form: form.as_str(),
        converted: converted.bytes.is_some(),
        checkpoints: converted.checkpoints,
        sealed_by: sealed_by(converted),
        bytes_before: converted.bytes.map(|(before, _)| before),
        bytes_after: converted.bytes.map(|(_, after)| after),
        kept: converted.kept.clone(),
    }
}

fn print(args: &Convert, session: &mut Session<'_>, converted: &Converted) {
    let would = if args.dry_run { "would be " } else { "" };
    if let Some(outcome) = converted.event.as_ref().filter(|event| event.checkpoint.is_some()) {
        rows::event_text(session, "checkpoint convert", outcome, args.dry_run);
    }
    match converted.bytes {
        None => session.ui.line(&format!("the log has the form `{}` already", args.to)),
        Some((before, after)) => session.ui.line(&format!(
            "{} {would}converted to `{}`, {before} bytes to {after}",
            count(usize::try_from(converted.checkpoints).unwrap_or(usize::MAX), "checkpoint"),
            args.to
        )),
    }
    if let Some(path) = &converted.kept {
        session.ui.note(&format!("the log that was there is kept in {path}"));
    }
}

impl From<ConvertError> for Failure {
    fn from(why: ConvertError) -> Self {
        let message = why.to_string();
        match why {
            ConvertError::Publish(why) => why.into(),
            ConvertError::Halfway { checkpoint, why } => Self::from(*why).hint(format!(
                "checkpoint {checkpoint}, which asks for the form, was published; the log keeps its old one until you ask again"
            )),
            ConvertError::Empty => Self::new(Code::LogBroken, message).hint(
                "set `versions: {checkpoint_log: full}` in .context/config.yaml before the first publication",
            ),
            ConvertError::Unsound(finding) => {
                let path = shown(&finding.path).into_owned();
                let message = format!("the record would not verify: `{path}`: {message}");
                Self::new(Code::LogBroken, message)
                    .hint("the log was not converted; `ctx verify` lists everything")
                    .hint(finding.code.remedy())
            }
            ConvertError::Inexpressible(_) => Self::new(Code::LogBroken, message)
                .hint("the log was not converted; `ctx verify` says what it does not like about it"),
        }
    }
}
