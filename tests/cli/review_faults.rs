//! A step of a review happens completely or not at all. Wherever its writer dies, a change of the
//! disk is refused or a write is torn, the next writers find the vault before or after it, and the
//! queue lists the pending submissions. `experiments/src/faults` does the same with power cuts.
//!
//! By default every fifth change is tested; with `CTX_REVIEW_FAULTS`, every one; in `.ci/run`, fewer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contextnest::files::vault::disk::{Change, Overseer, Verdict};
use insta::assert_snapshot;
use serde_json::Value;

use crate::harness::{self, Output, Place, files_in};

const ANA: &str = "ana@example.com";
const BO: &str = "bo@example.com";
const KIM: &str = "kim@example.com";
/// An upper bound of the changes of the disk that each of these commands makes.
const MOST: usize = 400;

/// A fault at the n-th change of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The change fails.
    Fails,
    /// The process dies before the change.
    Dies,
    /// The process dies in the middle of the change.
    Tears,
}

impl Fault {
    /// Returns the first change that is tested: each fault begins at another.
    fn first(self) -> usize {
        self as usize * stride() / 3
    }
}

/// Returns the distance between the changes that are tested.
fn stride() -> usize {
    if std::env::var_os("CTX_REVIEW_FAULTS").is_some() { 1 } else { 5 * harness::stride(3) }
}

#[derive(Debug)]
pub(crate) struct Watch {
    at: usize,
    fault: Fault,
    seen: AtomicUsize,
}

impl Watch {
    pub(crate) fn new(at: usize, fault: Fault) -> Arc<Self> {
        Arc::new(Self { at, fault, seen: AtomicUsize::new(0) })
    }

    /// Returns true if the command made that many changes.
    pub(crate) fn struck(&self) -> bool {
        self.seen.load(Ordering::Relaxed) > self.at
    }
}

impl Overseer for Watch {
    fn judge(&self, change: &Change<'_>) -> Verdict {
        let n = self.seen.fetch_add(1, Ordering::Relaxed);
        match (self.fault, change) {
            _ if n < self.at => Verdict::Allow,
            (Fault::Fails, _) if n > self.at => Verdict::Allow,
            (Fault::Tears, Change::Write { bytes, .. }) if n == self.at => {
                Verdict::Tear(bytes.len() / 2, 5)
            }
            _ => Verdict::Refuse(5),
        }
    }
}

/// A governed vault that is restored before each case.
struct World {
    place: Place,
    before: BTreeMap<String, Vec<u8>>,
    /// Seconds of the clock of commands that are run repeatedly.
    seconds: u32,
}

impl World {
    fn new(required: u32) -> Self {
        let mut world = Self::ungoverned(required);
        world.does(ANA, "govern on");
        world
    }

    /// Returns a world before `govern on`.
    fn ungoverned(required: u32) -> Self {
        let place = Place::in_memory();
        place.typed("init --name Test").here().ok();
        let config = place.read(".context/config.yaml");
        place.write(".context/config.yaml", config + "versions:\n  keyframe_interval: 3\n");
        for n in 0..4 {
            place.write(&format!("nodes/d{n}.md"), format!("# Document {n}\n\nfirst\n"));
        }
        let mut world = Self { place, before: BTreeMap::new(), seconds: 0 };
        world.does(ANA, "publish --all");
        let stewards = format!(
            "version: 1\nvault:\n  - {{principal: {BO}, role: reviewer}}\n  - {{principal: {KIM}, role: reviewer}}\n  - {{principal: {ANA}, role: editor}}\nreview:\n  vault: {{required: {required}}}\n"
        );
        world.place.write("stewards.yaml", stewards);
        world
    }

    /// Returns a command at a fixed time, in seconds after the preparation.
    fn run(&self, who: &str, line: &str, later: u32) -> harness::Run<'_> {
        let n = self.seconds + later;
        let now = format!("2026-11-22T10:{:02}:{:02}.000Z", n / 60, n % 60);
        self.place.typed(line).var("CTX_PRINCIPAL", who).var("CTX_NOW", &now)
    }

    fn does(&mut self, who: &str, line: &str) {
        self.seconds += 1;
        self.run(who, line, 0).here().ok();
    }

    fn edit(&self, n: usize, word: &str) {
        let path = format!("nodes/d{n}.md");
        let text = self.place.read(&path);
        let body = text.trim_end().rfind('\n').unwrap() + 1;
        self.place.write(&path, format!("{}{word}\n", &text[..body]));
    }

    /// Publishes a pack and deletes its file.
    fn with_a_deleted_pack(&mut self) {
        self.does(ANA, "pack add p --query '#x'");
        self.does(ANA, "submit packs/p.yml");
        self.does(BO, "approve packs/p.yml");
        self.place.remove("packs/p.yml");
    }

    /// Asserts that `recover` does what `recover --dry-run` lists, and leaves nothing unfinished.
    fn recovers(&self, who: &str, what: &str) {
        let recover = |more: &str| {
            let said = self.run(who, &format!("recover --json{more}"), 5).here().ok();
            let mut report = said.json("ctx.recover");
            for key in ["dry_run", "folder"] {
                report.as_object_mut().unwrap().remove(key);
            }
            report
        };
        let planned = recover(" --dry-run");
        assert_eq!(planned, recover(""), "{what}");
        let verify = self.run(who, "verify --json --allow-drift", 9).here().ok();
        for code in ["unfinished", "interrupted", "audit-torn"] {
            assert!(!verify.stdout.contains(&format!("\"{code}\"")), "{what}: {}", verify.stdout);
        }
        let mut again = recover("");
        let lists = again.as_object_mut().unwrap().values_mut();
        assert!(lists.filter_map(|list| list.as_array()).all(Vec::is_empty), "{what}: {again}");
    }

    fn keep(&mut self) {
        self.seconds += 1;
        self.before = files_in(self.place.home());
    }

    fn put_back(&self) {
        for entry in fs::read_dir(self.place.home()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        }
        for (path, bytes) in &self.before {
            let path = self.place.home().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }

    fn json(&self, line: &str, schema: &str) -> Value {
        self.run(KIM, line, 9).here().ok().json(schema)
    }

    fn checkpoints(&self) -> BTreeSet<String> {
        let list = self.json("checkpoint list --json", "ctx.checkpoint.list");
        let list = list["checkpoints"].as_array().unwrap();
        list.iter().map(|c| c["checkpoint_hash"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the published texts, and every version of every history.
    fn state(&self) -> BTreeSet<String> {
        let mut state = self.checkpoints();
        let documents = ["nodes/d0", "nodes/d1", "nodes/d2", "nodes/d3", "nodes/moved"];
        let governance = ["stewards.yaml", ".context/config.yaml", "CONTEXT.md", "packs/p.yml"];
        for id in documents.iter().chain(&governance) {
            let said = self.run(KIM, &format!("history {id} --json"), 9).here();
            if said.exit == 1 {
                continue;
            }
            for version in said.ok().json("ctx.history")["versions"].as_array().unwrap() {
                state.insert(format!("{id} {}", version["chain_hash"]));
            }
        }
        state
    }

    fn queue(&self) -> BTreeSet<String> {
        let report = self.json("review --all --json", "ctx.review");
        let waiting = report["waiting"].as_array().unwrap();
        waiting.iter().map(|w| format!("{} {}", w["id"], w["version"])).collect()
    }

    /// Returns how often the change log names each version in a line of a step.
    fn lines(&self) -> BTreeMap<String, usize> {
        let mut found = BTreeMap::new();
        for (path, bytes) in files_in(&self.place.path(".context/audit")) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let lines = text.lines().filter(|_| path.ends_with(".jsonl"));
            for line in lines.filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
                for version in line["versions"].as_array().into_iter().flatten() {
                    *found.entry(format!("{version}")).or_default() += 1;
                }
            }
        }
        found
    }

    /// Asserts that nothing is damaged or unsettled.
    fn is_whole(&self, when: &str) {
        let said = self.run(KIM, "verify --json --allow-drift", 9).here();
        let report = said.json("ctx.verify");
        let findings = report["findings"].as_array().unwrap().iter();
        let is_wrong = |f: &&Value| {
            let class = f["class"].as_str().unwrap();
            ["damage", "unsettled"].contains(&class)
        };
        let wrong: Vec<&Value> = findings.filter(is_wrong).collect();
        assert!(wrong.is_empty(), "{when}: {wrong:#?}");
    }

    /// Runs the next commands of a person; the last of them must succeed.
    fn goes_on(&self, n: usize) -> Output {
        match n % 4 {
            0 => {
                let said = self.run(KIM, "publish nodes/d0", 2).here();
                assert_ne!(said.exit, 0, "{}", said.whole());
            }
            1 => drop(self.run(KIM, "recover", 2).here().ok()),
            2 => {
                self.place.write("nodes/other.md", "# Other\n");
                let watch = Watch::new(n * 7 % 40, Fault::Dies);
                let _ = self.run(ANA, "submit nodes/other", 2).on(watch);
                self.is_whole("after the second death");
            }
            _ => {}
        }
        self.place.write("nodes/later.md", "# Later\n");
        self.run(ANA, "submit nodes/later", 3).here()
    }

    /// Injects a fault at every change of a command that turns governance on or off, and runs the
    /// command again after each.
    fn changes_the_mode(&mut self, who: &str, line: &str, is_governed: bool) {
        self.keep();
        let old = self.checkpoints();
        self.run(who, line, 1).here().ok();
        let new = self.checkpoints();
        let mut seen = BTreeSet::new();
        for fault in [Fault::Fails, Fault::Dies, Fault::Tears] {
            for n in (fault.first()..MOST).step_by(stride()) {
                self.put_back();
                let watch = Watch::new(n, fault);
                let said = self.run(who, line, 1).on(watch.clone());
                if !watch.struck() {
                    break;
                }
                let what = format!("`{line}`, {fault:?} at {n}: {}", said.exit);
                self.is_whole(&what);
                let sealed = self.checkpoints();
                let is_new = sealed == new;
                assert!(is_new || sealed == old, "{what}: {sealed:#?}");
                assert!(is_new || said.exit != 0, "{what}: it is gone");
                seen.insert(is_new);
                // The checkpoint decides the mode, whatever the live file says.
                let mode_now = if is_new { is_governed } else { !is_governed };
                self.has_mode(mode_now, &what, n);
                if !is_new {
                    let again = self.run(who, line, 4).here();
                    assert_eq!(again.exit, 0, "{what}: {}", again.whole());
                }
                self.has_mode(is_governed, &what, MOST + n);
                self.is_whole(&what);
            }
        }
        assert_eq!(seen.len(), 2, "`{line}` was never seen at the state before, or after it");
    }

    /// Asserts that a document is published at once, or refused.
    fn has_mode(&self, is_governed: bool, what: &str, n: usize) {
        let id = format!("nodes/by-mode-{n}");
        self.place.write(&format!("{id}.md"), "# By mode\n");
        let said = self.run(ANA, &format!("publish {id}"), 3).here();
        let expected = if is_governed { 3 } else { 0 };
        assert_eq!(said.exit, expected, "{what}: {}", said.whole());
    }

    /// Injects a fault at every change that a command makes.
    fn suffers(&mut self, who: &str, line: &str) {
        self.keep();
        let (old, old_sealed) = (self.state(), self.checkpoints());
        let (old_queue, old_lines) = (self.queue(), self.lines());
        self.run(who, line, 1).here().ok();
        let (new, new_sealed) = (self.state(), self.checkpoints());
        let (new_queue, new_lines) = (self.queue(), self.lines());
        let mut seen = BTreeSet::new();
        for fault in [Fault::Fails, Fault::Dies, Fault::Tears] {
            for n in (fault.first()..MOST).step_by(stride()) {
                self.put_back();
                let watch = Watch::new(n, fault);
                let said = self.run(who, line, 1).on(watch.clone());
                if !watch.struck() {
                    break;
                }
                let what = format!("`{line}`, {fault:?} at {n}: {}", said.exit);
                self.is_whole(&what);
                // An unsealed version is known once the next writer has checked it.
                let sealed = self.checkpoints();
                let is_sealed = sealed == new_sealed && old_sealed != new_sealed;
                assert!(is_sealed || sealed == old_sealed, "{what}: {sealed:#?}");
                self.goes_on(n).ok();
                self.is_whole(&what);
                let found = self.state();
                let is_new = found == new;
                assert!(is_new || found == old, "{what}: {found:#?}\n{old:#?}\n{new:#?}");
                assert!(is_new || said.exit != 0 && !is_sealed, "{what}: it is gone");
                seen.insert(is_new);
                let mut queue = self.queue();
                queue.retain(|w| !w.contains("nodes/later") && !w.contains("nodes/other"));
                let expected = if is_new { &new_queue } else { &old_queue };
                assert_eq!(queue, *expected, "{what}");
                let mut lines = self.lines();
                lines.retain(|v, _| !v.contains("nodes/later") && !v.contains("nodes/other"));
                let twice: Vec<_> = lines.iter().filter(|(_, count)| **count > 1).collect();
                assert!(twice.is_empty(), "{what}: {twice:?}");
                let lines: BTreeSet<&String> = lines.keys().collect();
                let expected = if is_new { &new_lines } else { &old_lines };
                let missing = expected.keys().find(|version| !lines.contains(version));
                assert!(missing.is_none(), "{what}: {missing:?}");
                assert!(lines.len() <= expected.len(), "{what}: {lines:?}");
            }
        }
        assert_eq!(seen.len(), 2, "`{line}` was never seen at the state before, or after it");
    }
}

#[test]
fn a_submission_happens_whole_or_not_at_all() {
    let mut world = World::new(1);
    world.edit(0, "second");
    world.suffers(ANA, "submit nodes/d0");
}

#[test]
fn a_change_of_several_documents_happens_whole_or_not_at_all() {
    let mut world = World::new(1);
    // The next version of one of them is stored in full.
    world.edit(0, "second");
    world.does(ANA, "submit nodes/d0");
    for n in 0..3 {
        world.edit(n, "third");
    }
    world.suffers(ANA, "submit nodes/d0 nodes/d1 nodes/d2 --change one");
}

#[test]
fn an_approval_in_part_happens_whole_or_not_at_all() {
    let mut world = World::new(2);
    for n in 0..2 {
        world.edit(n, "second");
    }
    world.does(ANA, "submit nodes/d0 nodes/d1 --change one");
    world.suffers(BO, "approve --change one");
}

#[test]
fn an_approval_of_a_change_happens_whole_or_not_at_all() {
    let mut world = World::new(1);
    world.edit(0, "second");
    world.does(ANA, "submit nodes/d0 --change one");
    world.does(ANA, "retire nodes/d1 --change one");
    world.suffers(BO, "approve --change one");
}

#[test]
fn a_withdrawal_of_a_change_happens_whole_or_not_at_all() {
    let mut world = World::new(1);
    for n in 0..2 {
        world.edit(n, "second");
    }
    world.does(ANA, "submit nodes/d0 nodes/d1 --change one");
    world.suffers(ANA, "withdraw nodes/d0");
}

#[test]
fn a_submission_that_supersedes_a_change_happens_whole_or_not_at_all() {
    let mut world = World::new(1);
    for n in 0..3 {
        world.edit(n, "second");
    }
    world.does(ANA, "submit nodes/d0 nodes/d1 nodes/d2 --change one");
    world.edit(0, "third");
    world.suffers(KIM, "submit nodes/d0 --supersede");
}

#[test]
fn decide_refuses_uncommitted_submissions_on_another_machine() {
    let elsewhere = |world: &World, line: &str| {
        let state = world.place.home().join("another");
        world.run(BO, line, 2).var("XDG_STATE_HOME", &state.display().to_string()).here()
    };
    for (prepared, line) in [
        ("submit nodes/d3", "submit nodes/d0 nodes/d1 --change one"),
        ("submit nodes/d0 nodes/d1 --change one", "withdraw nodes/d0"),
    ] {
        let mut world = World::new(1);
        for n in [0, 1, 3] {
            world.edit(n, "second");
        }
        world.does(ANA, prepared);
        world.keep();
        let whole = |world: &World| {
            let served = |n: usize| elsewhere(world, &format!("read nodes/d{n}")).stdout;
            let is_new = [0, 1].map(|n| served(n).contains("second"));
            assert_eq!(is_new[0], is_new[1], "`{line}`");
            is_new[0]
        };
        let (mut refused, mut published) = (0, 0);
        for fault in [Fault::Dies, Fault::Tears] {
            for n in 0..MOST {
                world.put_back();
                let watch = Watch::new(n, fault);
                let _ = world.run(ANA, line, 1).on(watch.clone());
                if !watch.struck() {
                    break;
                }
                for decision in ["approve nodes/d0", "approve nodes/d1", "approve --change one"] {
                    let said = elsewhere(&world, decision);
                    refused += usize::from(said.exit != 0);
                }
                published += usize::from(whole(&world));
                let verified = elsewhere(&world, "verify --json --allow-drift");
                assert!(!verified.stdout.contains("approval-"), "{}", verified.whole());
            }
        }
        assert!(refused > 0, "`{line}`: {refused} refused, {published} published");
    }
}

#[test]
fn a_retirement_in_an_emergency_happens_whole_or_not_at_all() {
    let mut world = World::new(1);
    world.suffers(BO, "retire nodes/d0 --emergency --reason wrong");
}

#[test]
fn a_rejection_of_a_change_happens_whole_or_not_at_all() {
    let mut world = World::new(2);
    for n in 0..2 {
        world.edit(n, "second");
    }
    world.does(ANA, "submit nodes/d0 nodes/d1 --change one");
    // The approval by one reviewer is lost with the rejection.
    world.does(KIM, "approve nodes/d0");
    world.suffers(BO, "reject --change one --reason wrong");
}

#[test]
fn a_ratification_happens_whole_or_not_at_all() {
    let mut world = World::new(1);
    world.does(BO, "retire nodes/d0 --emergency --reason wrong");
    world.suffers(KIM, "approve nodes/d0");
}

#[test]
fn a_proposed_move_happens_whole_or_not_at_all() {
    let mut world = World::new(1);
    world.suffers(ANA, "mv nodes/d1 nodes/moved");
}

#[test]
fn recover_completes_or_withdraws_an_interrupted_step() {
    let mut world = World::new(1);
    world.edit(0, "second");
    world.edit(1, "second");
    world.does(ANA, "submit nodes/d1");
    world.keep();
    let mut seen = BTreeSet::new();
    for (who, line) in [
        (ANA, "submit nodes/d0 --change one"),
        (BO, "reject nodes/d1 --reason no"),
        (ANA, "withdraw nodes/d1"),
    ] {
        for fault in [Fault::Dies, Fault::Tears] {
            for n in (0..MOST).step_by(stride().div_ceil(3)) {
                world.put_back();
                let watch = Watch::new(n, fault);
                let _ = world.run(who, line, 1).on(watch.clone());
                if !watch.struck() {
                    break;
                }
                let what = format!("`{line}`, {fault:?} at {n}");
                let before = world.lines();
                world.recovers(who, &what);
                seen.insert((line, world.lines() == before));
                // The queue is correct at once.
                let json = world.json("review --all --json", "ctx.review");
                assert!(json.get("incomplete").is_none(), "{what}: {json}");
            }
        }
    }
    // Each part was completed in some case, and withdrawn in another.
    assert_eq!(seen.len(), 6, "{seen:?}");
}

#[test]
fn an_approved_move_happens_whole_or_not_at_all() {
    let mut world = World::new(1);
    world.edit(0, "second");
    world.does(ANA, "submit nodes/d0");
    world.does(ANA, "mv nodes/d1 nodes/moved");
    world.suffers(BO, "approve nodes/d0 nodes/d1");
}

#[test]
fn a_submission_of_governance_files_happens_whole_or_not_at_all() {
    let mut world = World::new(1);
    world.with_a_deleted_pack();
    world.place.edit("stewards.yaml", "version: 1", "# for everyone\nversion: 1");
    world.place.write("CONTEXT.md", "# Read this first\n");
    world.suffers(ANA, "submit stewards.yaml CONTEXT.md packs/p.yml");
}

#[test]
fn an_approval_of_governance_files_happens_whole_or_not_at_all() {
    let mut world = World::new(1);
    world.with_a_deleted_pack();
    world.place.edit("stewards.yaml", "version: 1", "# for everyone\nversion: 1");
    world.does(ANA, "submit stewards.yaml packs/p.yml");
    world.suffers(BO, "approve stewards.yaml packs/p.yml");
}

#[test]
fn an_approval_in_part_of_a_governance_file_happens_whole_or_not_at_all() {
    let mut world = World::new(2);
    world.place.edit("stewards.yaml", "version: 1", "# for everyone\nversion: 1");
    world.does(ANA, "submit stewards.yaml");
    world.suffers(BO, "approve stewards.yaml");
}

#[test]
fn a_rejection_of_a_governance_file_happens_whole_or_not_at_all() {
    let mut world = World::new(1);
    world.place.edit("stewards.yaml", "version: 1", "# for everyone\nversion: 1");
    world.does(ANA, "submit stewards.yaml");
    world.suffers(BO, "reject stewards.yaml --reason wrong");
}

#[test]
fn a_proposal_to_leave_the_mode_happens_whole_or_not_at_all() {
    let mut world = World::new(1);
    world.suffers(ANA, "govern off");
}

#[test]
fn to_leave_the_mode_happens_whole_or_not_at_all() {
    let mut world = World::new(1);
    world.does(ANA, "govern off");
    world.changes_the_mode(BO, "approve .context/config.yaml", false);
}

#[test]
fn to_govern_a_vault_happens_whole_or_not_at_all() {
    let mut world = World::ungoverned(1);
    // An edited document stays as it is.
    world.edit(0, "second");
    world.changes_the_mode(ANA, "govern on", true);
}

/// If a step was not durable, a power cut may leave its entry without the text.
#[test]
fn a_step_without_the_text_that_a_power_cut_took_is_uncommitted() {
    let mut world = World::new(1);
    world.edit(0, "second");
    world.does(ANA, "submit nodes/d0");
    world.edit(0, "third");
    world.keep();
    let old = world.state();
    let text = "nodes/.versions/d0/v3.md";
    let mut seen = 0;
    for n in 0..MOST {
        world.put_back();
        let watch = Watch::new(n, Fault::Dies);
        let _ = world.run(ANA, "submit nodes/d0", 1).on(watch.clone());
        if !watch.struck() {
            break;
        }
        let is_written = world.place.read("nodes/.versions/d0/history.yaml").contains("version: 3");
        let is_recorded = world.lines().keys().any(|version| version.contains("\"version\":3"));
        if !is_written || !world.place.has(text) || is_recorded {
            continue;
        }
        seen += 1;
        world.place.remove(text);
        world.is_whole(&format!("without the text, killed at {n}"));
        world.goes_on(3).ok();
        world.is_whole(&format!("after the next step, killed at {n}"));
        assert_eq!(world.state(), old, "killed at {n}");
    }
    assert!(seen > 0);
}

#[test]
fn a_folder_that_an_interrupted_move_left_is_no_history() {
    let mut world = World::new(1);
    world.does(ANA, "mv nodes/d1 nodes/moved");
    fs::create_dir_all(world.place.path("nodes/.versions/moved")).unwrap();
    world.does(BO, "approve nodes/d1");
    fs::create_dir_all(world.place.path("nodes/.versions/d9")).unwrap();
    world.does(ANA, "mv nodes/d2 nodes/d9");
}

#[test]
fn an_approver_who_is_no_reviewer_any_more_does_not_count() {
    let mut world = World::new(2);
    world.edit(0, "second");
    world.does(ANA, "submit nodes/d0");
    world.does(KIM, "approve nodes/d0");
    // Kim leaves, and Lee joins.
    let lee = "lee@example.com";
    let stewards = world.place.read("stewards.yaml");
    world.place.write("stewards.yaml", stewards.replace(KIM, lee));
    world.does(ANA, "submit stewards.yaml");
    world.does(BO, "approve stewards.yaml");
    world.does(KIM, "approve stewards.yaml");
    assert_snapshot!(world.run(BO, "approve nodes/d0", 1).here().whole(), @r"
    exit: 3
    -- stdout
    -- stderr
    error[approval-lapsed]: version 2 of `nodes/d0` cannot be approved, because an approval is no longer valid: `kim@example.com` is not a steward of vault, but reviewer is needed
    hint: its submitter runs `ctx withdraw nodes/d0` and then `ctx submit nodes/d0` (with `--from FILE` if the text was handed in), or a reviewer rejects it with `ctx reject nodes/d0 --version 2 --reason TEXT`
    ");
    world.seconds += 2;
    world.does(ANA, "withdraw nodes/d0");
    world.does(ANA, "submit nodes/d0");
    world.does(lee, "approve nodes/d0");
    world.does(BO, "approve nodes/d0");
    world.is_whole("after two who are");
    assert!(
        world.place.read("nodes/d0.md").contains("approved_by: [lee@example.com, bo@example.com]")
    );
}

#[test]
fn to_leave_the_mode_is_not_submitted_while_others_await() {
    let mut world = World::new(1);
    world.edit(0, "second");
    world.does(ANA, "submit nodes/d0");
    let config = world.place.read(".context/config.yaml");
    world.place.write(".context/config.yaml", config.replace(": governed", ": ungoverned"));
    let refused = world.run(ANA, "submit .context/config.yaml", 1).here();
    assert!(refused.stderr.contains("decide or withdraw 1 submission"), "{}", refused.whole());
    world.does(ANA, "withdraw nodes/d0");
    world.does(ANA, "submit .context/config.yaml");
}

#[test]
fn an_emergency_within_a_change_leaves_the_rest_of_it() {
    let mut world = World::new(1);
    for n in 0..2 {
        world.edit(n, "second");
    }
    world.does(ANA, "submit nodes/d0 nodes/d1 --change one");
    world.does(BO, "retire nodes/d0 --emergency --reason wrong");
    world.is_whole("after the emergency");
    world.does(KIM, "approve --change one");
    world.is_whole("after the rest was published");
    // A pending move ends with it.
    world.does(ANA, "mv nodes/d2 nodes/moved");
    world.does(BO, "retire nodes/d2 --emergency --reason wrong");
    world.is_whole("after the emergency of what was to be moved");
}

/// The clock is behind that of the last writer.
#[test]
fn a_step_upon_later_ones_has_the_next_instant() {
    let mut world = World::new(1);
    for n in 0..2 {
        world.edit(n, "second");
    }
    world.seconds += 50;
    world.does(ANA, "submit --changed --change one");
    world.seconds -= 50;
    world.edit(0, "third");
    world.does(ANA, "submit --changed --change one");
    world.does(BO, "approve --change one");
    world.is_whole("with a clock that is behind");
}
