//! An access in the vault (`audit: {accesses: vault}`) is recorded completely or not at all.
//! Wherever the command dies, a change of the disk is refused or a write is torn: the log stays
//! sound, the text leaves as `durability` says, and the next reader continues.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::harness::{Output, Place, files_in};
use crate::kept_in_vault::{FOLDER, with};
use crate::review_faults::{Fault, Watch};

/// An upper bound of the changes of the disk that recording one access makes.
const MOST: usize = 60;

/// A vault that is restored before each case.
struct World {
    place: Place,
    before: BTreeMap<String, Vec<u8>>,
    state: BTreeMap<String, Vec<u8>>,
}

impl World {
    /// Returns a vault whose reader has `lines` lines.
    fn new(durability: &str, lines: usize) -> Self {
        let place = with(&format!("accesses: vault\n  durability: {durability}"));
        for _ in 0..lines {
            place.ctx("read nodes/a --session before").ok();
        }
        let state = files_in(&place.home().join(".local"));
        Self { before: place.tree(), state, place }
    }

    fn put_back(&self) {
        let _ = fs::remove_dir_all(self.place.path(FOLDER));
        self.before.iter().for_each(|(path, bytes)| self.place.write(path, bytes));
        let state = self.place.home().join(".local");
        let _ = fs::remove_dir_all(&state);
        for (path, bytes) in &self.state {
            let path = state.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }

    fn run(&self, line: &str) -> Output {
        self.place.typed(line).here()
    }

    /// Returns the number of recorded accesses of a session.
    fn recorded(&self, session: &str) -> usize {
        let listed = self.run(&format!("trace list --session {session} --json"));
        listed.json("ctx.trace.list")["traces"].as_array().unwrap().len()
    }

    /// Returns the codes of the findings of a verifier.
    fn found(&self) -> Vec<String> {
        let verified = self.run("verify --json").json("ctx.verify");
        let code = |finding: &Value| finding["code"].as_str().unwrap().to_owned();
        verified["findings"].as_array().unwrap().iter().map(code).collect()
    }

    /// Reads on a disk that fails at this change; returns true if the command made that
    /// many changes.
    fn suffers(&self, (at, fault): (usize, Fault), durability: &str) -> bool {
        self.put_back();
        let when = format!("{durability}, {fault:?} at change {at}");
        let watch = Watch::new(at, fault);
        let output = self.place.typed("read nodes/a --session now").on(watch.clone());
        let has_left = output.stdout.contains("One.");
        match durability {
            "sync" => assert_eq!(output.exit, if has_left { 0 } else { 5 }, "{when}"),
            _ => assert!(has_left && output.exit == 0, "{when}: {}", output.whole()),
        }
        // Only an incomplete line is a note.
        let found = self.found();
        assert!(found.iter().all(|code| code == "audit-torn"), "{when}: {found:?}");
        let verified = self.run("trace verify");
        assert_eq!(verified.exit, 0, "{when}: {}", verified.whole());
        let recorded = self.recorded("now");
        let is_warned = output.stderr.contains("the access was not recorded");
        match has_left && !is_warned {
            true => assert_eq!(recorded, 1, "{when}"),
            false => assert!(recorded <= 1, "{when}"),
        }
        // The next reader continues after the last whole line.
        self.run("read nodes/a --session next").ok();
        assert_eq!(self.found(), [""; 0], "{when}");
        assert_eq!((self.recorded("now"), self.recorded("next")), (recorded, 1), "{when}");
        self.run("trace verify").ok();
        watch.struck()
    }
}

#[test]
fn an_access_in_the_vault_is_recorded_whole_or_not_at_all() {
    for durability in ["async", "sync"] {
        for lines in [0, 1] {
            let world = World::new(durability, lines);
            for fault in [Fault::Fails, Fault::Dies, Fault::Tears] {
                let struck =
                    (0..MOST).take_while(|at| world.suffers((*at, fault), durability)).count();
                assert!((1..MOST).contains(&struck), "{durability} {lines} {fault:?}: {struck}");
            }
        }
    }
}
