//! Logs of clones that publish and merge, and what a reader of the merged log finds.

use proptest::prelude::*;

use super::*;
use crate::files::vault::config::LogForm;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::record::checkpoint::event::trigger;
use crate::record::checkpoint::log::Log;
use crate::record::checkpoint::maps;

/// A clone of a vault: its log, and the last version of each document in its histories.
#[derive(Clone)]
struct Clone_ {
    log: Log,
    name: &'static str,
}

fn at(second: u64) -> Timestamp {
    format!("2026-11-22T10:{:02}:{:02}.000Z", second / 60, second % 60).parse().unwrap()
}

fn id(name: &str) -> DocumentId {
    format!("nodes/{name}").parse().unwrap()
}

impl Clone_ {
    fn new() -> Self {
        let log = Log::of(LogForm::Delta, Vec::new());
        let mut vault = Self { log, name: "main" };
        vault.publish(0, &["a", "b", "c"]);
        vault
    }

    fn cloned(&self, name: &'static str) -> Self {
        Self { log: self.log.clone(), name }
    }

    fn state(&self) -> PublishedSet {
        let mut state = PublishedSet::default();
        let log = self.log.sound().unwrap();
        log.checkpoints().iter().for_each(|checkpoint| checkpoint.apply(&mut state));
        state
    }

    /// Publishes the next version of documents, in one event.
    fn publish(&mut self, second: u64, names: &[&str]) {
        self.event(second, names, &[]);
    }

    fn event(&mut self, second: u64, set: &[&str], removed: &[&str]) {
        let mut state = self.state();
        let next = |name: &&str| {
            let id = id(name);
            let last = self.last_version(&id);
            let hash = Digest::of(format!("{}{name}{second}", self.name).as_bytes());
            (id, Mark::new(last.next(), hash))
        };
        let set: Vec<_> = set.iter().map(next).collect();
        let removed: Vec<_> = removed.iter().map(|name| id(name)).collect();
        let event = set.iter().map(|(id, _)| id).chain(&removed);
        let trigger = trigger(event).unwrap().clone();
        let log = self.log.sound().unwrap();
        let (next, _) = log.next(&mut state, at(second), trigger, (set, removed), Vec::new());
        self.push(next);
    }

    /// Returns the last version of any line; a retirement has the number after it.
    fn last_version(&self, id: &DocumentId) -> Version {
        let log = self.log.sound().unwrap();
        let sides = log.checkpoints().iter().flat_map(|one| one.sides());
        let all = log.checkpoints().iter().copied().chain(sides.map(|side| &side.checkpoint));
        let versions = all.filter_map(|one| one.mark_of(id)?.version);
        versions.max().map_or(Version::NONE, Version::next)
    }

    fn push(&mut self, next: Checkpoint) {
        let mut all: Vec<Checkpoint> = self.log.entries.iter().flatten().cloned().collect();
        all.push(next);
        self.log = Log::of(LogForm::Delta, all);
    }

    /// Merges a branch into this log, the trunk.
    fn merge(&mut self, branch: &Self, second: u64, is_governed: bool) -> Decision {
        let (trunk, other) = (self.log.sound().unwrap(), branch.log.sound().unwrap());
        let sides = sides(trunk.checkpoints(), other.checkpoints()).unwrap();
        let joined = join(
            (trunk.checkpoints(), other.checkpoints()),
            sides,
            at(second),
            is_governed,
            &|_| None,
        );
        let (next, decision) = joined.unwrap();
        self.push(next);
        decision
    }

    fn faults(&self, is_governed: bool) -> Vec<String> {
        let log = match self.log.sound() {
            Ok(log) => log,
            Err(why) => return vec![why.to_string()],
        };
        let lines = Lines::of(log.checkpoints()).unwrap();
        let faults = lines.faults(&|_| is_governed);
        faults.iter().map(|(one, why)| format!("{}: {why}", one.number)).collect()
    }

    fn value(&self, name: &str) -> Option<Mark> {
        self.state().get(id(name).as_str()).copied()
    }
}

/// Returns the checkpoints of all lines whose hash does not follow.
fn hash_faults(log: &Chronicle<'_>) -> Vec<String> {
    let main = maps::first_fault(log.checkpoints()).map(|n| format!("main {n}"));
    let lines = Lines::of(log.checkpoints()).unwrap();
    let side = lines.hash_faults().into_iter().map(|(side, _)| format!("side {}", side.number));
    main.into_iter().chain(side).collect()
}

fn names(ids: impl Iterator<Item = DocumentId>) -> Vec<String> {
    ids.map(|id| id.to_string()).collect()
}

#[test]
fn merge_carries_what_only_the_branch_published() {
    let mut main = Clone_::new();
    let mut topic = main.cloned("topic");
    main.publish(1, &["a"]);
    topic.publish(2, &["b"]);
    topic.publish(3, &["b", "d"]);
    let decision = main.merge(&topic, 9, false);
    assert_eq!(names(decision.carried.into_keys()), ["nodes/b", "nodes/d"]);
    assert!(decision.conflicts.is_empty());
    assert_eq!(main.value("b"), topic.value("b"));
    let log = main.log.sound().unwrap();
    let head = log.head().unwrap();
    let changes: Vec<String> = head.changes().map(|(id, at, _)| format!("{id} {at}")).collect();
    let times = [("b", 2), ("b", 3), ("d", 3)];
    assert_eq!(changes, times.map(|(name, second)| format!("nodes/{name} {}", at(second))));
    assert_eq!((head.number.0, head.sides().len()), (3, 2));
    assert_eq!(head.triggered_by, id("d"));
    let bound = (DocumentId::log(), Some(Mark::new(Version(1), topic_head(&topic))));
    assert_eq!(head.bound, [bound]);
    assert_eq!(hash_faults(&log), Vec::<String>::new());
    assert_eq!(main.faults(false), Vec::<String>::new());
    let read = Log::parse(LogForm::Delta, &log.export(LogForm::Delta));
    assert_eq!(read.entries, main.log.entries);
}

fn topic_head(topic: &Clone_) -> Digest {
    topic.log.sound().unwrap().head().unwrap().hash
}

#[test]
fn merge_keeps_the_trunk_in_a_conflict_and_does_not_ask_again() {
    let mut main = Clone_::new();
    let mut topic = main.cloned("topic");
    main.publish(1, &["a"]);
    topic.publish(2, &["a"]);
    topic.publish(3, &["b"]);
    let decision = main.merge(&topic, 4, false);
    assert_eq!(decision.conflicts, [(id("a"), Conflict::BothChanged)].into());
    assert_eq!(names(decision.carried.into_keys()), ["nodes/b"]);
    let ours = main.value("a");
    topic.publish(5, &["c"]);
    let decision = main.merge(&topic, 6, false);
    assert!(decision.conflicts.is_empty(), "{decision:?}");
    assert_eq!((main.value("a"), main.value("c")), (ours, topic.value("c")));
    assert_eq!(main.log.sound().unwrap().head().unwrap().sides().len(), 1);
    assert_eq!(main.faults(false), Vec::<String>::new());
    // A later edit on the branch is a new conflict.
    topic.publish(7, &["a"]);
    let decision = main.merge(&topic, 8, false);
    assert_eq!(names(decision.conflicts.into_keys()), ["nodes/a"]);
}

#[test]
fn merge_carries_events_whole_if_they_remove_or_the_vault_is_governed() {
    for (is_governed, removes) in [(false, false), (false, true), (true, false)] {
        let mut main = Clone_::new();
        let mut topic = main.cloned("topic");
        main.publish(1, &["a"]);
        topic.event(2, &["a", "d"], if removes { &["b"] } else { &[] });
        topic.publish(3, &["c", "d"]);
        let decision = main.merge(&topic, 4, is_governed);
        let conflicts = names(decision.conflicts.into_keys());
        let expected: &[&str] = match (is_governed, removes) {
            (true, _) => &["nodes/a", "nodes/c", "nodes/d"],
            (false, true) => &["nodes/a", "nodes/b", "nodes/d"],
            (false, false) => &["nodes/a"],
        };
        assert_eq!(conflicts, expected);
        assert_eq!(main.faults(is_governed), Vec::<String>::new());
        // By the rules of another vault, the merge is split or lacks values.
        assert!(!main.faults(!is_governed).is_empty(), "{is_governed}");
    }
}

#[test]
fn merge_of_a_branch_that_merged_the_trunk_holds_all_checkpoints_once() {
    let mut main = Clone_::new();
    let mut topic = main.cloned("topic");
    main.publish(1, &["a"]);
    topic.publish(2, &["b"]);
    // The log of the trunk goes on in the topic's clone.
    let mut merged = main.cloned("topic");
    merged.merge(&topic, 3, false);
    merged.publish(4, &["b"]);
    main.publish(5, &["c"]);
    let decision = main.merge(&merged, 6, false);
    assert_eq!(names(decision.carried.into_keys()), ["nodes/b"]);
    assert_eq!(main.value("b"), merged.value("b"));
    let log = main.log.sound().unwrap();
    let head = log.head().unwrap();
    assert_eq!(head.sides().len(), 3);
    assert_eq!(head.bound[0].1.unwrap().version, Some(Version(2)));
    assert_eq!(main.faults(false), Vec::<String>::new());
}

/// One act of a random history.
#[derive(Clone, Debug)]
enum Act {
    Publish(usize, Vec<usize>),
    Retire(usize, usize),
    /// Merges the log of another clone into that of the first, or takes it over.
    Merge(usize, usize),
}

const CLONES: usize = 3;
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

fn act() -> impl Strategy<Value = Act> {
    let names = prop::collection::btree_set(0..NAMES.len(), 1..3);
    prop_oneof![
        4 => (0..CLONES, names).prop_map(|(at, names)| Act::Publish(at, names.into_iter().collect())),
        1 => (0..CLONES, 0..NAMES.len()).prop_map(|(at, name)| Act::Retire(at, name)),
        3 => (0..CLONES, 0..CLONES).prop_map(|(to, from)| Act::Merge(to, from)),
    ]
}

/// Runs acts, and returns the clones.
fn run(acts: &[Act], is_governed: bool) -> Vec<Clone_> {
    let first = Clone_::new();
    let mut clones = vec![first.cloned("one"), first.cloned("two"), first.cloned("three")];
    for (n, act) in acts.iter().enumerate() {
        let second = n as u64 + 1;
        match act {
            Act::Publish(at, names) => {
                let names: Vec<&str> = names.iter().map(|name| NAMES[*name]).collect();
                clones[*at].publish(second, &names);
            }
            Act::Retire(at, name) if clones[*at].value(NAMES[*name]).is_some() => {
                clones[*at].event(second, &[], &[NAMES[*name]]);
            }
            Act::Merge(to, from) if to != from => {
                let from = clones[*from].clone();
                let hash = topic_head(&from);
                let to = &mut clones[*to];
                let own = topic_head(to);
                let held = |clone: &Clone_, hash: Digest| {
                    let log = clone.log.sound().unwrap();
                    Lines::of(log.checkpoints()).unwrap().place_of(&hash).is_some()
                };
                match (held(to, hash), held(&from, own)) {
                    (true, _) => {}
                    (false, true) => to.log = from.log,
                    (false, false) => {
                        to.merge(&from, second, is_governed);
                    }
                }
            }
            _ => {}
        }
    }
    clones
}

proptest! {
    #[test]
    fn merges_of_random_clones_have_no_fault(
        acts in prop::collection::vec(act(), 1..40), is_governed: bool,
    ) {
        for clone in run(&acts, is_governed) {
            prop_assert_eq!(clone.faults(is_governed), Vec::<String>::new());
            let log = clone.log.sound().unwrap();
            prop_assert_eq!(hash_faults(&log), Vec::<String>::new());
            let read = Log::parse(LogForm::Delta, &log.export(LogForm::Delta));
            prop_assert_eq!(&read.entries, &clone.log.entries);
        }
    }

    #[test]
    fn altered_merges_of_random_clones_are_faults(
        acts in prop::collection::vec(act(), 10..40),
        choice: prop::sample::Index, item: prop::sample::Index, kind in 0..4,
    ) {
        for clone in run(&acts, false) {
            let mut all: Vec<Checkpoint> = clone.log.entries.iter().flatten().cloned().collect();
            let merges: Vec<usize> =
                (0..all.len()).filter(|n| !all[*n].sides().is_empty()).collect();
            if merges.is_empty() {
                continue;
            }
            let merge = &mut all[merges[choice.index(merges.len())]];
            let sides = &mut merge.merged.as_mut().unwrap().sides;
            let item = item.index(sides.len());
            match kind {
                0 => {
                    sides.remove(item);
                }
                1 => {
                    let twice = sides[item].clone();
                    sides.insert(item, twice);
                }
                2 => {
                    if merge.set.pop().is_none() {
                        continue;
                    }
                }
                _ => {
                    let Some((_, mark)) = merge.set.first_mut() else { continue };
                    mark.chain_hash = Some(Digest::of(b"invented"));
                }
            }
            let altered = Clone_ { log: Log::of(LogForm::Delta, all), name: "altered" };
            prop_assert!(!altered.faults(false).is_empty(), "{kind}");
        }
    }
}
