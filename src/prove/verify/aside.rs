//! Check of histories aside, and of the versions that only side lines seal (MERGE-27).

use std::collections::BTreeSet;

use super::artifact::{Pass, code_of};
use super::finding::{Code, Finding};
use crate::record::chain::aside::Aside;
use crate::record::chain::history::{Entry, History};
use crate::record::chain::walk::Walk;
use crate::values::model::digest::Digest;
use crate::values::model::layout;
use crate::values::model::number::Version;
use crate::values::model::timestamp::Timestamp;

impl Pass<'_> {
    /// Checks the histories aside of the artifact, and that each version of a side line is in a
    /// history.
    pub(super) fn aside(&mut self, own: Option<&History>) {
        let marks = self.view.side_marks.get(self.id).map_or(&[][..], Vec::as_slice);
        let may_exist =
            self.names.is_none_or(|names| names.iter().any(|name| name == layout::ASIDE));
        let removals = self.view.side_removals.get(self.id);
        if marks.is_empty() && removals.is_none() && !may_exist {
            return;
        }
        let mut known: BTreeSet<(Version, Digest)> = BTreeSet::new();
        let mut retired: BTreeSet<Timestamp> = BTreeSet::new();
        let mut know = |history: &History| {
            retired.extend(history.entries().filter_map(Entry::retired_at));
            known.extend(history.entries().map(|entry| (entry.version, entry.chain_hash)));
        };
        own.into_iter().for_each(&mut know);
        let (asides, strays) = Aside::found(self.vault.files(), self.id);
        for path in strays {
            self.push(Finding::new(Code::Unfinished, path, "it is not a history aside".to_owned()));
        }
        for aside in asides {
            match aside.load() {
                Ok(history) => {
                    know(&history);
                    self.one_aside(&aside, own, &history);
                }
                Err(why) => {
                    self.push(Finding::new(Code::HistoryUnreadable, aside.path(), why.to_string()));
                }
            }
        }
        for (merge, mark) in marks {
            let Some((version, hash)) = mark.sealed() else { continue };
            if !known.contains(&(version, hash)) {
                let message = format!(
                    "a side line seals version {version}, which is neither in the history nor aside"
                );
                let finding = Finding::new(Code::HistoryMissing, self.id.history_path(), message);
                let finding = finding.version(version).checkpoint(*merge);
                self.push(Finding { expected: Some(hash.to_string()), ..finding });
            }
        }
        for at in removals.into_iter().flatten().filter(|at| !retired.contains(at)) {
            let message = format!(
                "a side line removes it at {at}, but neither its history nor one aside records that"
            );
            self.push(Finding::new(Code::UnrecordedRemoval, self.id.history_path(), message));
        }
    }

    /// Recomputes the entries of a history aside. Those that it has in common with the history were
    /// checked there.
    fn one_aside(&mut self, aside: &Aside<'_>, own: Option<&History>, history: &History) {
        let path = aside.path();
        let find = |code, message: &str| Finding::new(code, path.clone(), message.to_owned());
        if !aside.is_named(history) {
            let message = "it is not named after the chain hash of the last entry of its history";
            self.push(Finding::new(Code::Unfinished, aside.folder(), message));
        }
        let is_whole = history.slots.iter().all(|slot| slot.entry.is_ok());
        for path in aside.unused(history).into_iter().filter(|_| is_whole) {
            let message = "no entry of the history aside uses this file";
            self.push(Finding::new(Code::Unfinished, path, message));
        }
        if !history.canonical && self.began_strictly().is_some() {
            self.push(find(Code::HistoryRespelled, "it does not have the bytes that ctx writes"));
        }
        let marks = self.view.side_marks.get(self.id).map_or(&[][..], Vec::as_slice);
        let common = own.map_or(0, |own| common(own, history));
        if own.is_some_and(|own| begins_otherwise(own, history, common)) {
            let message = "it has entries of the history, but does not begin as the history does";
            self.push(find(Code::HistoryRespelled, message));
        }
        let (mut any_sealed, mut unsealed) = (false, Vec::new());
        let mut walk = Walk::new(aside, self.id, history);
        let (mut n, mut before): (usize, Option<Timestamp>) = (0, None);
        while let Some(step) = walk.next() {
            n += 1;
            let recomputed = match step.version {
                Ok(recomputed) => recomputed,
                Err(faults) => {
                    for fault in faults {
                        let message = format!("line {}: `{}` is wrong", fault.line, fault.field);
                        self.push(find(code_of(fault.kind), &message).line(fault.line));
                    }
                    continue;
                }
            };
            let entry = recomputed.entry;
            if n > common {
                let early = before.is_some_and(|before| entry.edited_at < before);
                let future = self.view.now.is_some_and(|now| entry.edited_at > now);
                let at = entry.edited_at;
                if early {
                    let message = format!("it is from {at}, before the entry before it");
                    self.push(find(Code::TimestampOrder, &message).version(entry.version));
                }
                if future {
                    let message = format!("it is from {at}, later than the clock");
                    self.push(find(Code::TimestampFuture, &message).version(entry.version));
                }
                self.checked.versions += 1;
            }
            let removed = self.view.side_removals.get(self.id);
            let (is_sealed, event) = match entry.retired_at() {
                Some(at) => (removed.is_some_and(|removed| removed.contains(&at)), "retired"),
                None => {
                    let sealed = Some((entry.version, entry.chain_hash));
                    let is_sealed = marks.iter().any(|(_, mark)| mark.sealed() == sealed);
                    (is_sealed || !entry.is_published(), "published")
                }
            };
            match n > common && entry.event_at().is_some() {
                true if is_sealed => any_sealed = true,
                true => unsealed.push((entry.version, event)),
                false => {}
            }
            before = Some(entry.edited_at);
            for why in &recomputed.wrong {
                let finding = self.chain_fault(entry, why);
                self.push(Finding { path: path.clone(), ..finding });
            }
        }
        if !self.view.complete {
            return;
        }
        // Git takes back a merge without files that it does not know.
        if !any_sealed && !unsealed.is_empty() {
            let message = "no checkpoint names it: a merge was taken back; it can be removed";
            self.push(Finding::new(Code::Unfinished, aside.folder(), message));
            return;
        }
        for (version, event) in unsealed {
            let message =
                format!("the history aside records it as {event}, but no checkpoint does so");
            self.push(find(Code::PublishedUnsealed, &message).version(version));
        }
    }
}

/// Returns the number of entries at the start that both histories have.
fn common(own: &History, aside: &History) -> usize {
    let pairs = own.entries().zip(aside.entries());
    pairs.take_while(|(own, aside)| own.chain_hash == aside.chain_hash).count()
}

/// Returns true if the first `common` entries differ in what no hash covers, or if the histories
/// have a later entry in common.
fn begins_otherwise(own: &History, aside: &History, common: usize) -> bool {
    let of = |history: &History| history.entries().take(common).cloned().collect::<Vec<Entry>>();
    let later = |history: &History| {
        history.entries().skip(common).map(|entry| entry.chain_hash).collect::<Vec<_>>()
    };
    let (own_later, aside_later) = (later(own), later(aside));
    of(own) != of(aside) || own_later.iter().any(|hash| aside_later.contains(hash))
}
