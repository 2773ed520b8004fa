//! `ctx trace follow`.

use std::io;
use std::time::Duration;

use super::{Followed, Which, row};
use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::record::audit::New;
use crate::service::report::failure::Failure;
use crate::service::report::trace::{TraceFollowedReport, TraceRow};
use crate::service::workspace::recording::of_log;

/// Print accesses and changes as they are recorded
///
/// Begins after the lines that are recorded already, and ends with Ctrl-C, at the time of `--to`,
/// or when the reader of the output closes it. With `--json` each line is an object on a line of
/// its own. Lines that do not match their hashes are reported on stderr; `ctx trace verify` checks
/// the chain. A log that cannot be read, such as a folder that is a link, is reported; the others
/// are followed, and the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx trace follow --agent scout\n  \
ctx trace follow --document nodes/policies/returns --count 1 --for 60")]
pub(super) struct Follow {
    #[command(flatten)]
    which: Which,
    /// End after this many lines; exit code 1 if there were fewer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// End after this time
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<u64>,
}

/// The time between two checks of the folder.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn run(args: &Follow, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let Followed { filter, mut followers, mut is_partial } = args.which.follow(session)?;
    session.ui.flush();
    let (clock, sleep) = (session.workspace.environment.clock, session.workspace.environment.sleep);
    let began = clock();
    let mut left = args.count;
    loop {
        let ui = &mut session.ui;
        let mut take = |new| {
            match new {
                New::Line(line) if filter.wants(&line) => {
                    let trace = TraceRow::from(&*line);
                    match ui.json {
                        true => ui.report_line(&TraceFollowedReport(trace)),
                        false => ui.table(&[row(&trace)]),
                    }
                    left = left.map(|left| left - 1);
                }
                New::Line(_) => return true,
                New::Fault { file, why } => {
                    ui.note(&format!("warning: {}: {}", shown(&file), shown(&why)));
                }
            }
            ui.flush() && left != Some(0)
        };
        let (mut goes_on, mut unread) = (true, None);
        followers.retain_mut(|follower| match goes_on.then(|| follower.look(&mut take)) {
            Some(Ok(next)) => {
                goes_on = next;
                true
            }
            None => true,
            Some(Err(why)) => {
                unread = Some(why);
                false
            }
        });
        if let Some(why) = unread {
            if followers.is_empty() {
                return of_log(Err(why));
            }
            warn_of(session, &why);
            session.ui.flush();
            is_partial = true;
        }
        let passed = Duration::from_millis(clock().abs_diff(began));
        let rest = args.seconds.map(|all| Duration::from_secs(all).saturating_sub(passed));
        let has_ended = filter.to.is_some_and(|to| clock() >= to.millis());
        if !goes_on || has_ended || rest == Some(Duration::ZERO) {
            break;
        }
        sleep(rest.map_or(PAUSE, |rest| rest.min(PAUSE)));
    }
    let is_short = left.is_some_and(|left| left > 0);
    Ok(if is_short || is_partial { Answer::No } else { Answer::Yes })
}

/// Warns of a log that cannot be followed; the others are.
pub(super) fn warn_of(session: &mut Session<'_>, why: &io::Error) {
    let why = why.to_string();
    session
        .ui
        .note(&format!("warning: a log cannot be read, and is not followed: {}", shown(&why)));
}
