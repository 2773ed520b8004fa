//! `ctx trace follow`.

use std::time::Duration;

use super::{Which, row};
use crate::audit::New;
use crate::cli::Answer;
use crate::cli::session::Session;
use crate::cli::ui::shown;
use crate::report::failure::Failure;
use crate::report::trace::{TraceFollowedReport, TraceRow};
use crate::workspace::recording::of_log;

/// Print accesses and changes as they are recorded
///
/// Begins after what is recorded already, and ends with Ctrl-C, at the time of `--to`, or when the
/// reader of the output goes away. With `--json` each line is an object on a line of its own. Lines that are not what
/// their hashes say are reported on stderr; `ctx trace verify` checks the chain.
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

/// The time between two looks at the folder.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn run(args: &Follow, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let (filter, mut followers) = args.which.follow(session)?;
    let (clock, sleep) = (session.workspace.environment.clock, session.workspace.environment.sleep);
    let began = clock();
    let mut left = args.count;
    let ui = &mut session.ui;
    loop {
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
        let mut goes_on = true;
        for follower in &mut followers {
            goes_on = goes_on && of_log(follower.look(&mut take))?;
        }
        let passed = Duration::from_millis(clock().abs_diff(began));
        let rest = args.seconds.map(|all| Duration::from_secs(all).saturating_sub(passed));
        let has_ended = filter.to.is_some_and(|to| clock() >= to.millis());
        if !goes_on || has_ended || rest == Some(Duration::ZERO) {
            break;
        }
        sleep(rest.map_or(PAUSE, |rest| rest.min(PAUSE)));
    }
    Ok(if left.is_some_and(|left| left > 0) { Answer::No } else { Answer::Yes })
}
