//! `ctx owners`.

use std::collections::BTreeSet;

use super::as_of::AsOf;
use super::limit::{self, Limit};
use super::session::Session;
use super::ui::shown;
use super::{Answer, steward};
use crate::files::vault::Vault;
use crate::policy::stewards::{Stewards, Stewardship};
use crate::prove::verify::lacking_lines;
use crate::read::snapshot::{Need, Snapshot};
use crate::record::audit::missing;
use crate::service::report::access::{AccessReport, PrincipalReport, RoleReport};
use crate::service::report::failure::Failure;
use crate::service::report::owners::{LoadReport, OwnedReport, OwnersReport};
use crate::service::report::stewards::{ScopeKey, scope_key};
use crate::service::workspace::call::Note;
use crate::service::workspace::recording::of_log;
use crate::values::model::id::DocumentId;
use crate::values::model::timestamp::Timestamp;
use crate::values::text_util::count;
use crate::write::publish::review::access;

/// Show who governs which documents, and the load of each reviewer
///
/// Lists every scope of stewards.yaml with the number of published documents that it decides about,
/// the documents without a dedicated steward (only the scope of the vault matches), and how many
/// documents each reviewer may approve.
///
/// With --access-review it lists every principal of stewards.yaml and of the change log with their
/// roles and their last recorded change, and approvals whose reviewers have lost the role. With
/// --at, it includes only changes up to that checkpoint. Exit code 1 if the change log is damaged or
/// lacks lines: a principal without an act in it may have acted.
///
/// With `reads: stewards` a principal who may not read stewards.yaml sees the scopes at which they
/// have a role, and their own changes.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx owners\n  ctx owners -n 100\n  ctx owners --at 3 --json\n  ctx owners --access-review"
)]
pub(super) struct Owners {
    /// List principals with their roles and last act, and approvals that lapsed
    #[arg(long, conflicts_with = "limit")]
    access_review: bool,
    #[command(flatten)]
    at: AsOf,
    #[command(flatten)]
    limit: Limit,
}

/// Default number of listed documents.
const LISTED: usize = 20;

pub(super) fn run(args: &Owners, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Fields)?;
    let at = args.at.checkpoint(session, &vault, &source)?;
    let snapshot = Snapshot::of(&vault, &source, at)?;
    let listing = snapshot.listing()?;
    let (found, known) = session.workspace.stewards_at(&vault, source.log(&vault)?, at)?;
    known?;
    let stewards = &found.in_force.stewards;
    let own = session.workspace.own_scopes(&vault, source.log(&vault)?, &found)?;
    if args.access_review {
        let chronicle = source.log(&vault)?.sound()?;
        let until = at.and_then(|at| Some(chronicle.checkpoint(at).ok()?.at));
        let lacking = lacking_lines(&vault, &chronicle, session.workspace.now()?)?;
        let is_lacking = !lacking.is_empty();
        return access_review(session, &vault, (stewards, is_lacking), (own.as_ref(), until));
    }
    let mut report = OwnersReport::new(found.checkpoint, stewards, &listing);
    let hidden = own.map_or(0, |own| report.keep(&own));
    session.recording.listed = Some(listing.documents.len());
    let limit = if session.ui.json { args.limit } else { args.limit.or(LISTED) };
    let (undedicated, unowned) = (report.undedicated.len(), report.unowned.len());
    let omitted = limit.first(&mut report.undedicated) + limit.first(&mut report.unowned);
    session.note_unreadable(&snapshot)?;
    limit::print(session, report, omitted, |session, report| {
        session.ui.line(&format!("{} published", count(report.documents, "document")));
        session.ui.table(&report.scopes.iter().map(owned).collect::<Vec<_>>());
        list(session, "without a dedicated steward", undedicated, &report.undedicated);
        list(session, "without any steward", unowned, &report.unowned);
        if !report.reviewers.is_empty() {
            session.ui.line("Load by reviewer");
            session.ui.table(&report.reviewers.iter().map(load).collect::<Vec<_>>());
        }
    });
    note_hidden(session, hidden);
    let answer = steward::note_basis(session, &found);
    let withheld = session.answer(&listing.withheld);
    Ok(if answer == Answer::Yes { withheld } else { answer })
}

fn access_review(
    session: &mut Session<'_>,
    vault: &Vault,
    (stewards, is_lacking): (&Stewards, bool),
    (own, until): (Option<&BTreeSet<ScopeKey>>, Option<Timestamp>),
) -> Result<Answer, Failure> {
    let (all, mut faults) = access::of(vault, stewards, until)?;
    faults.extend(missing::faults(&of_log(missing::changes(vault))?));
    let is_faulty = is_lacking || faults.iter().any(|fault| fault.kind.is_damage());
    if is_faulty {
        session.call.note(Note::ChangeFaults);
        session.tell();
    }
    // A pending submission is one of now, and not of an earlier checkpoint.
    let lapsed = if until.is_none() { access::lapsed(vault)? } else { Vec::new() };
    let mut report = AccessReport::new(&all, &lapsed);
    let mut hidden = 0;
    if let Some(own) = own {
        let (who, _) = session.workspace.principal(vault.root(), None)?;
        report.keep(own, &who.key());
        let is_hidden = |at: &&Stewardship| !own.contains(&scope_key(&at.scope));
        hidden = stewards.scopes().filter(is_hidden).count();
    }
    session.recording.listed = Some(lapsed.len());
    note_hidden(session, hidden);
    session.print(&report, |session, _| {
        let row = |one: &PrincipalReport<'_>| {
            let role = |role: &RoleReport| {
                let name = role.scope.name.as_deref().map(|name| format!(" {}", shown(name)));
                format!("{} of {}{}", role.role, role.scope.scope, name.unwrap_or_default())
            };
            let roles: Vec<String> = one.roles.iter().map(role).collect();
            let roles = if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") };
            let last = match (one.last_action, one.last_at) {
                (Some(action), Some(at)) => format!("{action} at {}", shown(at)),
                _ => "no recorded act".to_owned(),
            };
            vec![shown(one.principal).into_owned(), last, roles]
        };
        session.ui.table(&report.principals.iter().map(row).collect::<Vec<_>>());
        for lapse in &report.lapsed_approvals {
            let (why, id) = (shown(lapse.why), shown(lapse.id.as_str()));
            session.ui.line(&format!("lapsed: v{} of {id}: {why}", lapse.version));
        }
    });
    Ok(if is_faulty { Answer::No } else { Answer::Yes })
}

/// Notes how many scopes the reader may not read, as the list of stewards does.
fn note_hidden(session: &mut Session<'_>, hidden: usize) {
    if hidden > 0 {
        let what = count(hidden, "scope");
        session.ui.note(&format!("note: you may not read {what} at which you do not have a role"));
    }
}

fn owned(one: &OwnedReport<'_>) -> Vec<String> {
    let name = one.scope.name.as_deref().map(|name| format!(" {}", shown(name)));
    let reviewers: Vec<_> = one.reviewers.iter().map(|name| shown(name)).collect();
    let reviewers =
        if reviewers.is_empty() { "no reviewer".to_owned() } else { reviewers.join(", ") };
    vec![
        format!("  {}{}", one.scope.scope, name.unwrap_or_default()),
        count(one.documents, "document"),
        reviewers,
    ]
}

fn list(session: &mut Session<'_>, what: &str, all: usize, ids: &[DocumentId]) {
    if all > 0 {
        session.ui.line(&format!("{} {what}", count(all, "document")));
        ids.iter().for_each(|id| session.ui.line(&format!("  {}", shown(id.as_str()))));
    }
}

fn load(one: &LoadReport<'_>) -> Vec<String> {
    let alone = if one.alone == 0 { String::new() } else { format!("{} alone", one.alone) };
    vec![format!("  {}", shown(one.principal)), count(one.documents, "document"), alone]
}
