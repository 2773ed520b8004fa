//! Legal holds: who may place and lift them, which of them are in force, and which a reader may
//! see (AUDIT-29).

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::io;
use std::path::Path;

use super::Workspace;
use super::recording::{AccessLogs, of_log};
use super::staging::last_text;
use crate::files::vault::Vault;
use crate::policy::in_force::InForce;
use crate::policy::stewards::Role;
use crate::record::audit::{Change, Hold, Holds, Line, Logs, PlacedHold, hold, missing};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::journal;
use crate::record::trusted_head;
use crate::service::report::failure::{Code, Failure};
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::principal::Principal;
use crate::write::publish::review::rules_in_force;
use crate::write::publish::{RulesUpon, head_named};

/// The rules on who may place and lift holds.
struct Keepers<'c> {
    vault: &'c Vault,
    chronicle: &'c Chronicle<'c>,
    /// The rules in force at checkpoints; `None` if any principal may place and lift holds.
    upon: RefCell<HashMap<CheckpointNumber, Option<RulesUpon>>>,
    in_force: OnceCell<InForce>,
}

impl<'c> Keepers<'c> {
    fn new(vault: &'c Vault, chronicle: &'c Chronicle<'c>) -> Self {
        Self { vault, chronicle, upon: RefCell::default(), in_force: OnceCell::new() }
    }

    /// Checks that a principal may place and lift a hold by the rules in force now.
    fn admit(&self, who: &Principal, hold: &Hold, is_limited: bool) -> Result<(), Failure> {
        let Some(rules) = rules_in_force(self.vault, self.chronicle)? else { return Ok(()) };
        if self.has(&RulesUpon { rules, is_limited }, who.as_str(), hold) {
            return Ok(());
        }
        let of_document = match is_limited && hold.document.is_some() {
            true => ", nor of the document that it names,",
            false => ",",
        };
        let message = format!(
            "`{who}` is not a reviewer of the vault{of_document} and cannot place or lift this \
             legal hold"
        );
        Err(Failure::new(Code::NotASteward, message).hint("`ctx steward list` lists reviewers"))
    }

    fn has(&self, upon: &RulesUpon, who: &str, hold: &Hold) -> bool {
        if upon.rules.is_reviewer_of_vault(who) {
            return true;
        }
        // The reviewers of the vault may not know of the document.
        let named = hold.document.as_ref().filter(|_| upon.is_limited);
        let named = named.and_then(|id| id.parse::<DocumentId>().ok());
        named.is_some_and(|id| {
            let text = last_text(self.vault, self.chronicle, &id);
            let subject = |text: String| {
                upon.rules.require(who, Role::Reviewer, [(&id, text.as_str())]).is_ok()
            };
            text.is_some_and(subject)
        })
    }

    /// Returns true if a line that lifts a hold is valid.
    ///
    /// The rules in force at the later of two checkpoints decide: the heads that this line and the
    /// line of the hold name. The lift is later than the hold, and an older copy of the vault does
    /// not have newer rules.
    fn counts(&self, line: &Line, (placed, hold): (&Line, &Hold)) -> bool {
        // A head of another branch is replaced by the last one.
        let last = self.chronicle.head_number();
        let head_of = |line: &Line| head_named(self.chronicle, line).unwrap_or(last);
        let named = head_of(line).max(head_of(placed));
        let mut upon = self.upon.borrow_mut();
        let rules = upon.entry(named).or_insert_with(|| {
            let files = self.vault.files();
            let in_force = self.in_force.get_or_init(|| InForce::of(files, self.chronicle));
            RulesUpon::of(in_force, named)
        });
        let who = line.request.principal.as_deref();
        rules.as_ref().is_none_or(|rules| who.is_some_and(|who| self.has(rules, who, hold)))
    }
}

/// Returns the holds in force, from the change logs and a folder of access logs, and true if the
/// change logs are whole.
///
/// # Errors
/// The holds cannot be read.
pub(super) fn read(vault: &Vault, folder: Option<&Path>) -> Result<(Holds, bool), Failure> {
    let (lines, is_sound) = of_log(lines_of_holds(vault))?;
    let lifts = lines.iter().any(Line::lifts_a_hold);
    let log = if lifts { Some(trusted_head::open_log(vault)?) } else { None };
    // Without a valid log, nothing is pruned anyway.
    let chronicle = log.as_ref().and_then(|log| log.sound().ok());
    let keepers = chronicle.as_ref().map(|chronicle| Keepers::new(vault, chronicle));
    let counts = |line: &Line, placed: (&Line, &Hold)| {
        keepers.as_ref().is_none_or(|keepers| keepers.counts(line, placed))
    };
    Ok((of_holds(Holds::read(folder, &lines, &counts))?, is_sound))
}

impl Workspace<'_> {
    fn holds(&self, vault: &Vault) -> Result<Holds, Failure> {
        let AccessLogs { folder, .. } = self.access_logs(vault)?;
        read(vault, folder.as_deref()).map(|(holds, _)| holds)
    }

    /// Returns the holds in force that the reader may see. A reader who may not read everything
    /// sees those of the user's own folder, and those that this reader may lift.
    ///
    /// # Errors
    /// The holds cannot be read.
    pub(crate) fn shown_holds(&self, vault: &Vault) -> Result<Holds, Failure> {
        let holds = self.holds(vault)?;
        if !self.sight(vault)?.is_limited() {
            return Ok(holds);
        }
        let AccessLogs { folder, .. } = self.access_logs(vault)?;
        let own = of_holds(Holds::read(folder.as_deref(), &[], &|_, _| true))?;
        let log = trusted_head::open_log(vault)?;
        // Without a valid log, the rules are unknown.
        let Ok(chronicle) = log.sound() else { return Ok(own) };
        let keepers = Keepers::new(vault, &chronicle);
        let reader = vault.reader().principal().map(|(reader, _)| reader);
        let may_lift = |placed: &PlacedHold| {
            let hold = &placed.hold;
            let is_known =
                hold.document.as_deref().is_none_or(|id| self.readable_id(vault, id).is_ok());
            is_known && reader.is_some_and(|reader| keepers.admit(reader, hold, true).is_ok())
        };
        Ok(holds.filtered(|placed| own.get(&placed.hold.id).is_some() || may_lift(placed)))
    }

    /// Places a hold, and returns it with its name. In a vault with a change log, its line is
    /// durable before its file.
    ///
    /// # Errors
    /// The principal may not place it, or the line or the file could not be written.
    pub(crate) fn place_hold(&self, vault: &Vault, hold: Hold) -> Result<PlacedHold, Failure> {
        let AccessLogs { folder, .. } = self.access_logs(vault)?;
        let (principal, _) = self.principal(vault.root(), None)?;
        self.admit_keeper(vault, &principal, &hold)?;
        let id: String = journal::digits(self.environment.random).chars().take(8).collect();
        let hold = Hold { id, ..hold };
        let placed = PlacedHold::new(self.now()?.to_string(), Some(principal.to_string()), hold);
        self.record_change(vault, Some(Change::Hold { hold: placed.hold.clone() }))?;
        // Without a folder of the user, accesses are only recorded in a vault with a change log,
        // where the line is enough.
        if let Some(dir) = folder {
            hold::place(&dir, &self.environment.disk, &placed).map_err(|why| {
                let place = dir.display();
                Failure::new(Code::Io, format!("the hold was not written to `{place}`: {why}"))
            })?;
        }
        Ok(placed)
    }

    /// Lifts a hold.
    ///
    /// # Errors
    /// The principal cannot know of such a hold, they may not lift it, or it could not be removed
    /// and is still in force.
    pub(crate) fn lift_hold(
        &self,
        vault: &Vault,
        id: &str,
        reason: String,
    ) -> Result<PlacedHold, Failure> {
        let AccessLogs { folder, .. } = self.access_logs(vault)?;
        let (principal, _) = self.principal(vault.root(), None)?;
        let holds = self.shown_holds(vault)?;
        let Some(placed) = holds.get(id) else {
            self.check_rules(vault)?;
            let message = format!("no hold `{id}` is in force");
            return Err(
                Failure::new(Code::UnknownHold, message).hint("`ctx trace hold list` lists them")
            );
        };
        self.admit_keeper(vault, &principal, &placed.hold)?;
        self.record_change(vault, Some(Change::Lift { lifted: id.to_owned(), reason }))?;
        let lifted = folder.map_or(Ok(()), |dir| hold::lift(&dir, &self.environment.disk, id));
        lifted
            .map_err(|why| Failure::new(Code::Io, format!("the hold is still in force: {why}")))?;
        Ok(placed.clone())
    }

    /// Refuses a principal who may not place and lift this hold.
    fn admit_keeper(&self, vault: &Vault, who: &Principal, hold: &Hold) -> Result<(), Failure> {
        let log = trusted_head::open_log(vault)?;
        let chronicle = log.sound()?;
        trusted_head::check(vault, &chronicle)?;
        let is_limited = self.sight(vault)?.is_limited();
        Keepers::new(vault, &chronicle).admit(who, hold, is_limited)
    }
}

/// Returns the lines of the change logs that place and lift holds, and true if these logs
/// are whole.
fn lines_of_holds(vault: &Vault) -> io::Result<(Vec<Line>, bool)> {
    let logs = Logs::of_changes(vault)?;
    let mut lines = Vec::new();
    let faults = logs.each(&mut |line| {
        if line.is_of_hold() {
            lines.push(line);
        }
    })?;
    let missing = missing::faults(&missing::changes(vault)?);
    let is_damaged = faults.iter().chain(&missing).any(|fault| fault.kind.is_damage());
    Ok((lines, !is_damaged))
}

fn of_holds(read: io::Result<Holds>) -> Result<Holds, Failure> {
    read.map_err(|why| {
        Failure::new(Code::Io, format!("the legal holds cannot be read: {why}"))
            .hint("restore the file from a backup, or place the hold again and remove the file")
    })
}
