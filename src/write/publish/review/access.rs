//! The data of an access review: the roles of each principal, and their last act.

use std::collections::BTreeMap;

use super::super::PublishError;
use super::queue::queue;
use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::policy::rules::Fault;
use crate::policy::stewards::{Role, Scope, Stewards};
use crate::read::snapshot::{CheckpointSource, Need};
use crate::record::audit::{self, Change, Event, Logs};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{AUDIT_DIR, STEWARDS};
use crate::values::model::number::Version;
use crate::values::model::principal::PrincipalKey;
use crate::values::model::timestamp::Timestamp;

/// A principal with their roles and their last act.
#[derive(Debug, Default)]
pub(crate) struct Access {
    /// The name as an assignment spells it, or else as the change log does.
    pub(crate) principal: String,
    /// The roles, each with its scope.
    pub(crate) roles: Vec<(Scope, Role)>,
    /// Time and name of their last act in the change log.
    pub(crate) last: Option<(String, &'static str)>,
}

/// An approval that is no longer valid.
#[derive(Debug)]
pub(crate) struct Lapsed {
    /// The artifact.
    pub(crate) id: DocumentId,
    /// The version that was submitted.
    pub(crate) version: Version,
    /// The approver.
    pub(crate) by: String,
    /// The reason, as a sentence.
    pub(crate) why: String,
}

/// Returns every principal of some stewards and of the change log, by name, and the faults of the
/// log.
///
/// If `until` is given, later lines of the log are ignored.
///
/// # Errors
/// The change log cannot be read.
pub(crate) fn of(
    vault: &Vault,
    stewards: &Stewards,
    until: Option<Timestamp>,
) -> Result<(Vec<Access>, Vec<audit::Fault>), PublishError> {
    let until = until.map(|until| until.to_string());
    let mut found: BTreeMap<PrincipalKey, Access> = BTreeMap::new();
    for scope in stewards.scopes() {
        for holder in stewards.holders(scope) {
            let one = found.entry(holder.principal.key()).or_default();
            one.principal = holder.principal.to_string();
            one.roles.push((scope.scope.clone(), holder.role));
        }
    }
    let logs = Logs::of_changes(vault);
    // The line of an emergency retirement precedes that of its event (AUDIT-19).
    let mut emergency = None;
    let read = logs.and_then(|logs| {
        logs.each(&mut |line| {
            let place = (line.writer.clone(), line.seq);
            let is_emergency = emergency.take().is_some_and(|before| before == place);
            let Event::Change(change) = &line.event else { return };
            if matches!(change, Change::Emergency(_)) {
                emergency = Some((place.0, line.seq.saturating_add(1)));
            }
            // Times are written in one form, so that they can be compared as texts.
            if until.as_ref().is_some_and(|until| line.at > *until) {
                return;
            }
            let Some(name) = line.request.principal.as_deref() else { return };
            let one = found.entry(PrincipalKey::of(name)).or_default();
            if one.principal.is_empty() {
                name.clone_into(&mut one.principal);
            }
            if one.last.as_ref().is_none_or(|(at, _)| *at <= line.at) {
                let act = if is_emergency { "emergency" } else { act(change, &line.request.verb) };
                one.last = Some((line.at.clone(), act));
            }
        })
    });
    let path = AUDIT_DIR.to_owned();
    let faults = read.map_err(|source| FileError::Io { path, action: "read", source })?;
    Ok((found.into_values().collect(), faults))
}

/// Returns the name of an act: for an event, by its command or the artifacts that it published.
fn act(change: &Change, verb: &str) -> &'static str {
    let Change::Event { ids, recovered, .. } = change else { return change.as_str() };
    let is_of_stewards = ids.iter().any(|id| id == STEWARDS);
    match verb.split(' ').next() {
        // The recorded command is the later one that added the line.
        _ if *recovered && !is_of_stewards => "publication",
        Some("approve") => "approval",
        _ if is_of_stewards => "assignment",
        Some("retire") => "retirement",
        _ => "publication",
    }
}

/// Returns the approvals of pending submissions that are no longer valid.
///
/// Empty in an ungoverned vault.
///
/// # Errors
/// The log or the configuration cannot be relied on.
pub(crate) fn lapsed(vault: &Vault) -> Result<Vec<Lapsed>, PublishError> {
    let source = CheckpointSource::open(vault, Need::Versions, &mut |_, _| ())?;
    let queue = match queue(vault, &source, None) {
        Err(PublishError::Ungoverned) => return Ok(Vec::new()),
        queue => queue?,
    };
    let mut lapsed = Vec::new();
    for waiting in &queue.waiting {
        let track = &waiting.track;
        let Some(pending) = &track.pending else { continue };
        let of = |(by, fault): (String, Fault)| Lapsed {
            id: track.id().clone(),
            version: pending.version,
            by,
            why: fault.message,
        };
        lapsed.extend(track.lapses(pending, &queue.rules).into_iter().map(of));
    }
    Ok(lapsed)
}
