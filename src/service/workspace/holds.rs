//! Legal holds: who may place and lift them, which of them are in force, and which are shown
//! (AUDIT-29).

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

/// Who may place and lift holds.
struct Keepers<'c> {
    vault: &'c Vault,
    chronicle: &'c Chronicle<'c>,
    /// By what is in force upon a checkpoint; none where any principal may.
    upon: RefCell<HashMap<CheckpointNumber, Option<RulesUpon>>>,
    in_force: OnceCell<InForce>,
}

impl<'c> Keepers<'c> {
    fn new(vault: &'c Vault, chronicle: &'c Chronicle<'c>) -> Self {
        Self { vault, chronicle, upon: RefCell::default(), in_force: OnceCell::new() }
    }

    /// Whether a principal may place and lift a hold by what is in force now.
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
            "`{who}` is no reviewer of the vault{of_document} and may neither place nor lift this \
             legal hold"
        );
        Err(Failure::new(Code::NotASteward, message).hint("`ctx steward list` shows who is"))
    }

    fn has(&self, upon: &RulesUpon, who: &str, hold: &Hold) -> bool {
        if upon.rules.is_reviewer_of_vault(who) {
            return true;
        }
        // The reviewers of the vault may not be told of the document.
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

    /// Whether a line that lifts a hold counts: by what was in force upon the later of the checkpoints
    /// that it and the line of the hold name as their heads. It follows the hold, and a copy of the
    /// vault as it was before knows no later rules.
    fn counts(&self, line: &Line, (placed, hold): (&Line, &Hold)) -> bool {
        // A head of another branch is the last one here.
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

/// The holds in force, of lines and of a folder of access logs; and whether the change logs are whole.
///
/// # Errors
/// It is not known what is held.
pub(super) fn read(vault: &Vault, folder: Option<&Path>) -> Result<(Holds, bool), Failure> {
    let (lines, is_sound) = of_log(lines_of_holds(vault))?;
    let lifts = lines.iter().any(Line::lifts_a_hold);
    let log = if lifts { Some(trusted_head::open_log(vault)?) } else { None };
    // Where the log cannot be relied on, nothing is pruned anyway.
    let chronicle = log.as_ref().and_then(|log| log.sound().ok());
    let keepers = chronicle.as_ref().map(|chronicle| Keepers::new(vault, chronicle));
    let counts = |line: &Line, placed: (&Line, &Hold)| {
        keepers.as_ref().is_none_or(|keepers| keepers.counts(line, placed))
    };
    Ok((of_holds(Holds::read(folder, &lines, &counts))?, is_sound))
}

impl Workspace<'_> {
    /// The holds in force.
    fn holds(&self, vault: &Vault) -> Result<Holds, Failure> {
        let AccessLogs { folder, .. } = self.access_logs(vault)?;
        read(vault, folder.as_deref()).map(|(holds, _)| holds)
    }

    /// The holds in force that the reader may be shown: to one who may not read everything, those of
    /// the user's own folder, and those that this reader may lift.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn shown_holds(&self, vault: &Vault) -> Result<Holds, Failure> {
        let holds = self.holds(vault)?;
        if !self.sight(vault)?.is_limited() {
            return Ok(holds);
        }
        let AccessLogs { folder, .. } = self.access_logs(vault)?;
        let own = of_holds(Holds::read(folder.as_deref(), &[], &|_, _| true))?;
        let log = trusted_head::open_log(vault)?;
        // Nothing says who may lift what.
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

    /// Places a hold; gives its name. Where changes are recorded, its line is durable before its file.
    ///
    /// # Errors
    /// The principal may not place it, or it was not placed, or not everywhere.
    pub(crate) fn place_hold(&self, vault: &Vault, hold: Hold) -> Result<PlacedHold, Failure> {
        let AccessLogs { folder, .. } = self.access_logs(vault)?;
        let (principal, _) = self.principal(vault.root(), None)?;
        self.admit_keeper(vault, &principal, &hold)?;
        let id: String = journal::digits(self.environment.random).chars().take(8).collect();
        let hold = Hold { id, ..hold };
        let placed = PlacedHold::new(self.now()?.to_string(), Some(principal.to_string()), hold);
        self.record_change(vault, Some(Change::Hold { hold: placed.hold.clone() }))?;
        // Without a folder of the user there is only the line, and accesses in the vault, which
        // records changes then.
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
    /// There is no such hold that the principal may know of, they may not lift it, or it is still in
    /// force.
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

/// The lines of the change logs that place and lift holds, and whether these logs are whole.
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
        Failure::new(Code::Io, format!("it is not known what is held: {why}"))
            .hint("restore the file from a backup, or place the hold again and remove the file")
    })
}
