//! `ctx trace hold`.

use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::front::cli::{Answer, Locking};
use crate::record::audit::Hold;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::retention::{HoldLifted, HoldPlaced, HoldRow, HoldsReport};

use super::{named, trace_id};

/// Keep accesses from being pruned, as a legal hold
///
/// A hold is a file next to the access log of this machine, and if changes are recorded also a line
/// of the change log, so that other clones hold the same accesses. `ctx trace prune` deletes no
/// line that a hold names, nor a later line of the same log. In a governed vault a reviewer of the
/// whole vault places and lifts holds; with `reads: stewards` also a reviewer of the document that
/// a hold names.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
ctx trace hold place --session s-42 --reason 'case 2026-117'\n  ctx trace hold list\n  \
ctx trace hold lift 0a1b2c3d --reason 'case closed'")]
pub(super) struct HoldArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Place a hold and print its name
    ///
    /// With several options it holds the accesses that match all of them. `--session` and `--agent`
    /// name the held accesses; the hold itself is recorded with CTX_SESSION and CTX_AGENT.
    Place(PlaceHold),
    /// List the holds that are in force
    List,
    /// End a hold on this machine
    ///
    /// If changes are recorded, the line ends it for clones without a file of it. A machine with
    /// such a file holds the accesses until the hold is lifted there.
    Lift(Lift),
}

#[derive(Debug, clap::Args)]
struct PlaceHold {
    /// Reason to hold the accesses
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Hold accesses by this principal
    #[arg(long = "principal", value_name = "PRINCIPAL")]
    held_principal: Option<String>,
    /// Hold accesses of this document, by id or file
    #[arg(long, value_name = "ID")]
    document: Option<String>,
    /// Hold one access, by its name
    #[arg(long, value_name = "TRACE")]
    trace: Option<String>,
    #[command(flatten)]
    locking: Locking,
}

#[derive(Debug, clap::Args)]
struct Lift {
    /// Name of the hold, as `ctx trace hold list` prints it
    hold: String,
    /// Reason to end the hold
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    locking: Locking,
}

/// Maximum length of a reason, in bytes.
const MOST_REASON: usize = 4096;

pub(super) fn run(args: &HoldArgs, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.action {
        Action::Place(args) => place(args, session),
        Action::List => list(session),
        Action::Lift(args) => lift(args, session),
    }
}

fn place(args: &PlaceHold, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    // The labels name the held accesses, not the caller.
    let labels = &mut session.workspace.options.labels;
    let (held_session, held_agent) = (labels.session.take(), labels.agent.take());
    let document = args.document.as_ref();
    let document = document.map(|id| session.workspace.readable_id(&vault, id)).transpose()?;
    let trace = args.trace.as_deref().map(trace_id).transpose()?;
    let hold = Hold {
        id: String::new(),
        reason: reason(&args.reason)?,
        session: held_session,
        agent: held_agent,
        principal: args.held_principal.clone(),
        document: document.map(|id| id.to_string()),
        trace: trace.map(|trace| trace.to_string()),
    };
    if !hold.is_of_something() {
        return Err(Failure::new(Code::Usage, "a hold names the accesses that it holds").hint(
            "pass `--session`, `--agent`, `--principal`, `--document` or `--trace`, or several",
        ));
    }
    let placed = session.workspace.place_hold(&vault, hold)?;
    session
        .print(&HoldPlaced(HoldRow::from(&placed)), |session, _| session.ui.line(&placed.hold.id));
    Ok(Answer::Yes)
}

fn list(session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.workspace.vault()?;
    let holds = session.workspace.shown_holds(&vault)?;
    let holds: Vec<HoldRow> = holds.iter().map(HoldRow::from).collect();
    super::name_lost_rules(session, &vault);
    let is_limited = session.workspace.sight(&vault)?.is_limited();
    if is_limited {
        session
            .ui
            .note("note: only holds of this machine, and those that you may lift, are listed");
    }
    session.print(&HoldsReport { holds }, |session, HoldsReport { holds }| {
        if holds.is_empty() && !is_limited {
            session.ui.note("note: no hold is in force");
        }
        session.ui.table(&holds.iter().map(row).collect::<Vec<_>>());
    });
    Ok(Answer::Yes)
}

fn row(placed: &HoldRow) -> Vec<String> {
    vec![
        shown(&placed.hold.id).into_owned(),
        shown(&placed.at).into_owned(),
        named(placed.by.as_deref()),
        what(&placed.hold),
        shown(&placed.hold.reason).into_owned(),
    ]
}

/// Describes the accesses that a hold keeps.
pub(super) fn what(hold: &Hold) -> String {
    shown(&hold.held()).into_owned()
}

fn lift(args: &Lift, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let lifted = session.workspace.lift_hold(&vault, &args.hold, reason(&args.reason)?)?;
    session.print(&HoldLifted(HoldRow::from(&lifted)), |session, _| {
        session.ui.line(&format!("lifted {}: {}", lifted.hold.id, what(&lifted.hold)));
    });
    Ok(Answer::Yes)
}

/// Returns a reason that is not empty.
pub(in crate::front::cli) fn reason(text: &str) -> Result<String, Failure> {
    let text = text.trim();
    if text.is_empty() || text.len() > MOST_REASON {
        let message = format!("a reason has 1 to {MOST_REASON} bytes");
        return Err(Failure::new(Code::Usage, message));
    }
    Ok(text.to_owned())
}
