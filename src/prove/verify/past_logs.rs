//! Compares the audit logs and the staging chains of a vault with those at revisions of git
//! (VER-42). Checkpoints bind few lines of them, so the log at a revision does not vouch for them.

use std::io;

use super::anchor::Anchor;
use super::changes::unreadable;
use super::finding::{Code, Finding};
use crate::files::vault::Vault;
use crate::record::audit::past::{PastLog, PastLogs};
use crate::record::audit::{Cuts, Logs, Standing};
use crate::record::staging::Chains;
use crate::values::model::layout::{ACCESS_DIR, AUDIT_DIR};

/// Reports lines that a vault had at the revisions of anchors and no longer has, one finding for
/// each log.
pub(super) fn check(vault: &Vault, anchors: &[Anchor]) -> Vec<Finding> {
    let of_anchor = |anchor: &Anchor| {
        let found = anchor.logs.as_ref().map(|past| lost(vault, anchor, past));
        match found.transpose() {
            Ok(found) => found.unwrap_or_default(),
            Err(why) => vec![unreadable(&why, AUDIT_DIR)],
        }
    };
    anchors.iter().flat_map(of_anchor).collect()
}

fn lost(vault: &Vault, anchor: &Anchor, past: &PastLogs) -> io::Result<Vec<Finding>> {
    let changes = Logs::of_changes(vault)?;
    let accesses = Logs::none().with_accesses_in(vault)?.pruned_at(Cuts::of(&changes)?);
    let chains = Chains::read(vault.files()).map_err(io::Error::other)?;
    let mut findings = Vec::new();
    let mut add = |code, log: &PastLog, lacking: Option<(u64, Standing)>| {
        findings.extend(lacking.map(|lacking| finding(code, anchor, log, lacking)));
    };
    for (dir, logs) in [(AUDIT_DIR, &changes), (ACCESS_DIR, &accesses)] {
        for (writer, log) in past.logs_in(dir) {
            add(Code::AuditRollback, log, logs.lacks(writer, log)?);
        }
    }
    for (dir, writer, chain) in past.chains() {
        let standing = chains.standing(dir, writer, &chain.last);
        let lacking = (standing != Standing::Has).then_some((chain.last.seq, standing));
        add(Code::StagedRollback, chain, lacking);
    }
    Ok(findings)
}

fn finding(
    code: Code,
    anchor: &Anchor,
    log: &PastLog,
    (seq, standing): (u64, Standing),
) -> Finding {
    let found = match standing {
        Standing::Shorter(last) => format!("it ends at line {last}"),
        Standing::Absent => "it is missing".to_owned(),
        Standing::Another | Standing::Has => "it has another line in its place".to_owned(),
    };
    let (known, fork) = (anchor.source.known(), anchor.source.fork());
    Finding::new(code, &log.path, format!("line {seq} is {known}, but {found}{fork}"))
}
