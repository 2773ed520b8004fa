//! Merges: the lines of a log, and the checkpoint that joins two of them (`spec/merge.md`).
//!
//! A log has one main line. A merge is a checkpoint of the main line that binds the head of another
//! log, and holds the checkpoints of that log which the main line lacks. `Lines` is the graph of
//! all checkpoints that a log holds and decides which values a merge takes from each side, and
//! [`merge`] makes the checkpoint. None of this reads histories: a review may refuse more.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rayon::prelude::*;

use super::event::{Carried, Checkpoint, Merged, Side, trigger};
use super::maps::Maps;
use super::state::{Mark, PublishedSet};
use crate::values::codes::words;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// The checkpoints that a log holds, each after those that it follows.
#[derive(Debug, Default)]
pub(crate) struct Lines<'l> {
    nodes: Vec<Node<'l>>,
    places: HashMap<Digest, usize>,
    /// The last checkpoint of the main line.
    head: Option<usize>,
    segments: Vec<Segment>,
    /// For an id and a segment, the checkpoints that decide about its value, in order.
    touched: HashMap<(&'l DocumentId, usize), Vec<(usize, Origin)>>,
    merges: Vec<Merge>,
}

#[derive(Clone, Copy, Debug)]
struct Node<'l> {
    checkpoint: &'l Checkpoint,
    before: Option<usize>,
    /// The head of the log that it merged.
    branch: Option<usize>,
    segment: usize,
    /// Number of merges up to here, on the longer line.
    merges: Version,
}

/// Successive checkpoints of one line.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// The checkpoint that the segment leaves.
    leaves: Option<usize>,
    last: usize,
}

/// Where the value of an id at a checkpoint comes from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// The checkpoint itself set or removed it.
    Here,
    /// A merge took it from one of its parents.
    Parent(usize),
}

/// A merge of the log, or of one that it merged.
#[derive(Clone, Debug)]
struct Merge {
    place: usize,
    /// The heads of both logs.
    trunk: usize,
    branch: usize,
    /// The checkpoints that only the branch holds.
    new: Vec<usize>,
}

/// Number of checkpoints of side lines that are hashed at once.
const AT_ONCE: usize = 64;
/// Maximum number of merges on side lines, because each is compared with the whole log.
const NESTED: usize = 1_000;

/// The checkpoints that a log holds, as lines of audit logs name them (MERGE-21).
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// The hashes of the main line.
    main: BTreeMap<CheckpointNumber, Digest>,
    /// For each checkpoint of a side line its number and hash, with the hash of the one before it,
    /// its place among all checkpoints, and what it changed.
    sides: BTreeMap<(CheckpointNumber, String), HeldSide>,
    /// The places of the main line, if there are side lines.
    places: BTreeMap<CheckpointNumber, u64>,
}

#[derive(Clone, Debug)]
struct HeldSide {
    before: Digest,
    /// The checkpoint of the main line that its line leaves.
    leaves: CheckpointNumber,
    place: u64,
    changed: Vec<String>,
    is_merge: bool,
}

impl Held {
    /// Returns the checkpoints of a log without side lines.
    pub fn of_main(main: impl IntoIterator<Item = (CheckpointNumber, Digest)>) -> Self {
        Self { main: main.into_iter().collect(), ..Self::default() }
    }

    /// Adds a checkpoint of the main line; the first one with a number counts.
    pub(crate) fn add_main(&mut self, number: CheckpointNumber, hash: Digest) {
        self.main.entry(number).or_insert(hash);
    }

    /// Adds the side lines of a log.
    pub(crate) fn add_sides(&mut self, lines: &Lines<'_>) {
        for (place, node) in (1..).zip(&lines.nodes) {
            let checkpoint = node.checkpoint;
            let Some(before) = node.before.filter(|_| node.segment > 0) else {
                self.places.insert(checkpoint.number, place);
                continue;
            };
            let before = lines.nodes[before].checkpoint.hash;
            let changed = checkpoint.artifacts().map(ToString::to_string).collect();
            let key = (checkpoint.number, checkpoint.hash.to_string());
            let leaves = lines.leaves(&checkpoint.hash).unwrap_or(CheckpointNumber::NONE);
            let is_merge = checkpoint.is_merge();
            self.sides.insert(key, HeldSide { before, leaves, place, changed, is_merge });
        }
    }

    /// Returns the hash of a checkpoint of the main line.
    pub fn main(&self, number: CheckpointNumber) -> Option<&Digest> {
        self.main.get(&number)
    }

    /// Iterates over the main line.
    pub(crate) fn of_main_line(&self) -> impl Iterator<Item = (CheckpointNumber, Digest)> + '_ {
        self.main.iter().map(|(number, hash)| (*number, *hash))
    }

    /// Returns true if the main line has a checkpoint with this number and hash.
    pub fn is_main(&self, number: CheckpointNumber, hash: &str) -> bool {
        self.main.get(&number).is_some_and(|found| found.to_string() == hash)
    }

    /// Returns the place of a checkpoint among all that the log holds, each after those that it
    /// follows; `None` if the log does not hold it. Without side lines it is its number.
    pub fn place_of(&self, number: CheckpointNumber, hash: &str) -> Option<u64> {
        if self.is_main(number, hash) {
            return Some(self.places.get(&number).copied().unwrap_or(number.0));
        }
        self.side(number, hash).map(|side| side.place)
    }

    /// Returns the number of a checkpoint of a side line, and the checkpoint of the main line that
    /// its line leaves.
    pub(crate) fn side_of(&self, hash: &Digest) -> Option<(CheckpointNumber, CheckpointNumber)> {
        let hash = hash.to_string();
        let mut sides = self.sides.iter();
        let found = sides.find(|((_, found), _)| *found == hash);
        found.map(|((number, _), side)| (*number, side.leaves))
    }

    /// Returns the checkpoints of side lines, other than merges, that leave the main line at or after
    /// a checkpoint: their numbers and hashes.
    pub(crate) fn sides_from(
        &self,
        from: CheckpointNumber,
    ) -> impl Iterator<Item = (CheckpointNumber, &str)> {
        let owed = self.sides.iter().filter(move |(_, side)| side.leaves >= from && !side.is_merge);
        owed.map(|((number, hash), _)| (*number, hash.as_str()))
    }

    /// Returns what a checkpoint of a side line changed.
    pub(crate) fn changed_by_side(
        &self,
        number: CheckpointNumber,
        hash: &str,
    ) -> Option<&[String]> {
        self.side(number, hash).map(|side| side.changed.as_slice())
    }

    /// Returns the hash of the checkpoint before another one on its line; `None` if there is none,
    /// or if it is unknown.
    pub fn before(&self, number: CheckpointNumber, hash: &str) -> Option<Digest> {
        if self.is_main(number, hash) {
            let before = number.0.checked_sub(1).map(CheckpointNumber)?;
            return self.main.get(&before).copied();
        }
        self.side(number, hash).map(|side| side.before)
    }

    fn side(&self, number: CheckpointNumber, hash: &str) -> Option<&HeldSide> {
        let is_known = !self.sides.is_empty();
        is_known.then(|| self.sides.get(&(number, hash.to_owned()))).flatten()
    }
}

/// A fault of a merge (`merge-mismatch`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MergeFault {
    #[error("checkpoint {0} of a side line follows a checkpoint that the log does not hold")]
    FollowsNothing(Digest),
    #[error("checkpoint {0} of a side line has another number than its place on the line")]
    Number(Digest),
    #[error("the log holds checkpoint {0} twice")]
    Twice(Digest),
    #[error("the checkpoints of its side lines are not in order")]
    Order,
    #[error("it binds the head of another log, but the log does not hold that checkpoint")]
    HeadUnknown,
    #[error("it binds the head of another log that was merged before")]
    Held,
    #[error("it holds checkpoints of another log, but does not bind the head of that log")]
    NotBound,
    #[error("it holds checkpoint {0}, which does not lead to the head that it binds")]
    NotOfBranch(Digest),
    #[error("it is not later than both checkpoints that it merges")]
    Early,
    #[error("it says that it is merge {found}, but it is merge {expected}")]
    Count { expected: Version, found: Version },
    #[error("it does not have the value of `{0}` that follows from both logs")]
    Value(DocumentId),
    #[error("it takes `{0}`, but not all that was changed together with it")]
    Split(DocumentId),
    #[error("the log has more than {NESTED} merges on side lines")]
    TooMany,
}

/// The values that a merge takes from the branch, and the ids that keep the value of the trunk
/// although the branch has another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The carried ids, with the value of the branch; `None` for one that is not published there.
    pub carried: BTreeMap<DocumentId, Option<Mark>>,
    /// The ids in conflict.
    pub conflicts: BTreeMap<DocumentId, Conflict>,
}

words! {
    /// The reason why an id is in conflict.
    pub enum Conflict {
        /// Both sides changed it.
        BothChanged = "both-changed",
        /// An event changed it together with an id that is in conflict.
        Event = "event",
        /// An approval does not hold by the rules of both sides.
        Approval = "approval",
        /// Its history on the branch does not go on from that of the trunk.
        History = "history",
    }
}

/// A case of MERGE-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Trunk,
    Carried,
    Conflict,
}

impl<'l> Lines<'l> {
    /// Returns the lines of a log, without comparing the values that its merges took.
    ///
    /// # Errors
    /// Fails with the number of the first checkpoint whose merge is not that of two logs.
    pub(crate) fn of(log: &[&'l Checkpoint]) -> Result<Self, (CheckpointNumber, MergeFault)> {
        Self::with(log, &[])
    }

    /// Returns the lines of a log, and of checkpoints that only another log holds.
    fn with(
        log: &[&'l Checkpoint],
        more: &'l [Side],
    ) -> Result<Self, (CheckpointNumber, MergeFault)> {
        let mut lines = Self::default();
        let sides = log.iter().flat_map(|checkpoint| checkpoint.sides()).chain(more);
        let interest: HashSet<&DocumentId> =
            sides.flat_map(|side| changed(&side.checkpoint)).collect();
        for checkpoint in log {
            let fault = |why| (checkpoint.number, why);
            lines.hold(checkpoint.sides(), &interest).map_err(fault)?;
            let place = lines.push(checkpoint, lines.head, true, &interest).map_err(fault)?;
            lines.head = Some(place);
        }
        lines.hold(more, &interest).map_err(|why| (CheckpointNumber::of_count(log.len()), why))?;
        Ok(lines)
    }

    /// Adds checkpoints of side lines.
    fn hold(
        &mut self,
        sides: &'l [Side],
        interest: &HashSet<&'l DocumentId>,
    ) -> Result<(), MergeFault> {
        if !sides.is_sorted_by(|a, b| order(a) < order(b)) {
            return Err(MergeFault::Order);
        }
        for side in sides {
            let hash = side.checkpoint.hash;
            let before = self.place_of(&side.follows).ok_or(MergeFault::FollowsNothing(hash))?;
            if self.nodes[before].checkpoint.number.next() != side.checkpoint.number {
                return Err(MergeFault::Number(hash));
            }
            self.push(&side.checkpoint, Some(before), false, interest)?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        checkpoint: &'l Checkpoint,
        before: Option<usize>,
        is_main: bool,
        interest: &HashSet<&'l DocumentId>,
    ) -> Result<usize, MergeFault> {
        let place = self.nodes.len();
        let merge = self.merge(checkpoint, before, is_main)?;
        if self.places.insert(checkpoint.hash, place).is_some() {
            return Err(MergeFault::Twice(checkpoint.hash));
        }
        let segment = before.map(|before| self.nodes[before].segment);
        let goes_on = |segment: &usize| match is_main {
            true => true,
            // The main line goes on later.
            false => *segment > 0 && Some(self.segments[*segment].last) == before,
        };
        let segment = segment.filter(goes_on).unwrap_or_else(|| {
            self.segments.push(Segment { leaves: before, last: place });
            self.segments.len() - 1
        });
        self.segments[segment].last = place;
        let counted = before.map_or(Version::NONE, |before| self.nodes[before].merges);
        let merges = merge.as_ref().map_or(counted, |_| merges_of(checkpoint).unwrap_or(counted));
        let branch = merge.as_ref().map(|merge| merge.branch);
        self.nodes.push(Node { checkpoint, before, branch, segment, merges });
        let origins: Vec<(&'l DocumentId, Origin)> = match &merge {
            None => changed(checkpoint).map(|id| (id, Origin::Here)).collect(),
            Some(merge) => self.origins_of(checkpoint, merge),
        };
        for (id, origin) in origins.into_iter().filter(|(id, _)| interest.contains(id)) {
            self.touched.entry((id, segment)).or_default().push((place, origin));
        }
        self.merges.extend(merge);
        Ok(place)
    }

    /// Returns the merge that a checkpoint is, if it is one.
    fn merge(
        &self,
        checkpoint: &Checkpoint,
        before: Option<usize>,
        is_main: bool,
    ) -> Result<Option<Merge>, MergeFault> {
        let Some(found) = merges_of(checkpoint) else {
            let is_plain = checkpoint.sides().is_empty();
            return if is_plain { Ok(None) } else { Err(MergeFault::NotBound) };
        };
        let bound = checkpoint.bound.iter().find(|(id, _)| id.is_log());
        let head = bound.and_then(|(_, mark)| mark.as_ref()?.chain_hash);
        let branch = head.and_then(|head| self.place_of(&head)).ok_or(MergeFault::HeadUnknown)?;
        let trunk = before.ok_or(MergeFault::HeadUnknown)?;
        // The main line holds everything before its own new checkpoints.
        let first = self.nodes.len() - checkpoint.sides().len();
        let new: Vec<usize> = match is_main {
            true => (first..self.nodes.len()).collect(),
            false => {
                if self.merges.iter().filter(|merge| self.is_nested(merge)).count() >= NESTED {
                    return Err(MergeFault::TooMany);
                }
                let held = self.ancestors(trunk);
                self.ancestors(branch).difference(&held).copied().collect()
            }
        };
        if new.is_empty() || is_main && branch < first {
            return Err(MergeFault::Held);
        }
        if is_main {
            let of_branch = self.ancestors_from(branch, first);
            if let Some(other) = new.iter().find(|place| !of_branch.contains(place)) {
                return Err(MergeFault::NotOfBranch(self.nodes[*other].checkpoint.hash));
            }
        }
        let heads = [trunk, branch].map(|place| &self.nodes[place]);
        if heads.iter().any(|node| node.checkpoint.at >= checkpoint.at) {
            return Err(MergeFault::Early);
        }
        let expected = heads.map(|node| node.merges).into_iter().max().unwrap_or_default().next();
        match found == expected {
            true => Ok(Some(Merge { place: self.nodes.len(), trunk, branch, new })),
            false => Err(MergeFault::Count { expected, found }),
        }
    }

    fn is_nested(&self, merge: &Merge) -> bool {
        self.nodes[merge.place].segment > 0
    }

    /// Returns the parent from which a merge took the value of each id that the branch changed.
    fn origins_of(
        &self,
        checkpoint: &'l Checkpoint,
        merge: &Merge,
    ) -> Vec<(&'l DocumentId, Origin)> {
        let taken: HashSet<&DocumentId> = changed(checkpoint).collect();
        let new = merge.new.iter().copied().collect();
        // A merge that removes nothing may have carried an id that only the branch had, and removed.
        let decided = OnceCell::new();
        let was_carried = |id: &DocumentId| {
            let values = [merge.trunk, merge.branch].map(|head| self.value(id, head));
            let decide = || self.decide(merge, false, &|_| None);
            values == [None, None]
                && self.case(id, merge, &new) == Case::Carried
                && decided.get_or_init(decide).carried.contains_key(id)
        };
        let parent = |id: &&'l DocumentId| match taken.contains(*id) || was_carried(id) {
            true => merge.branch,
            false => merge.trunk,
        };
        let ids = self.changed_by(merge);
        ids.iter().map(|id| (*id, Origin::Parent(parent(id)))).collect()
    }

    /// Returns the ids that the new checkpoints of a merge changed.
    fn changed_by(&self, merge: &Merge) -> BTreeSet<&'l DocumentId> {
        merge.new.iter().flat_map(|place| changed(self.nodes[*place].checkpoint)).collect()
    }

    /// Returns the hashes of all checkpoints that the log holds.
    pub(crate) fn hashes(&self) -> HashSet<Digest> {
        self.places.keys().copied().collect()
    }

    /// Returns the checkpoints of side lines, in the order in which the log holds them, each with
    /// the checkpoint before it.
    pub(crate) fn sides(&self) -> impl Iterator<Item = (&'l Checkpoint, &'l Checkpoint)> + '_ {
        let sides = self.nodes.iter().filter(|node| node.segment > 0);
        sides.filter_map(|node| Some((node.checkpoint, self.nodes[node.before?].checkpoint)))
    }

    /// Returns the checkpoint of the main line that merged a checkpoint of a side line.
    pub(crate) fn merged_by(&self, side: &Checkpoint) -> Option<CheckpointNumber> {
        let place = self.place_of(&side.hash)?;
        let merge = self.nodes[place..].iter().find(|node| node.segment == 0)?;
        Some(merge.checkpoint.number)
    }

    /// Returns the checkpoint of the main line that the side line of a checkpoint leaves; `None` if
    /// the log holds no such checkpoint of a side line.
    pub(crate) fn leaves(&self, hash: &Digest) -> Option<CheckpointNumber> {
        let mut node = &self.nodes[self.place_of(hash)?];
        if node.segment == 0 {
            return None;
        }
        while node.segment > 0 {
            node = &self.nodes[node.before?];
        }
        Some(node.checkpoint.number)
    }

    /// Returns the id that a merge on a side line is recorded under (MERGE-4).
    pub(crate) fn trigger_of(&self, side: &'l Checkpoint) -> Option<&'l DocumentId> {
        let place = self.place_of(&side.hash)?;
        let merge = self.merges.iter().find(|merge| merge.place == place)?;
        let items = || merge.new.iter().map(|place| self.nodes[*place].checkpoint);
        let named = || trigger(items().map(|item| &item.triggered_by));
        trigger(side.artifacts())
            .or_else(|| trigger(items().flat_map(Checkpoint::artifacts)))
            .or_else(named)
    }

    /// Returns the merges that brought a checkpoint to another line.
    pub(crate) fn merges_of(&self, hash: &Digest) -> impl Iterator<Item = Digest> + '_ {
        let place = self.place_of(hash);
        let brings = move |merge: &&Merge| {
            place.is_some_and(|place| {
                merge.place > place && self.ancestors_from(merge.branch, place).contains(&place)
            })
        };
        self.merges.iter().filter(brings).map(|merge| self.nodes[merge.place].checkpoint.hash)
    }

    /// Returns the value of an id before a checkpoint, and the last version of it on that line.
    pub(crate) fn before(
        &self,
        checkpoint: &Checkpoint,
        id: &DocumentId,
    ) -> (Option<Mark>, Option<Version>) {
        let before = self.place_of(&checkpoint.hash).and_then(|place| self.nodes[place].before);
        let Some(before) = before else { return (None, None) };
        let marks = self.line(id, before).map(|at| value_of(self.nodes[at].checkpoint, id));
        let last = marks.flatten().flatten().find_map(|mark| mark.version);
        (self.value(id, before), last)
    }

    /// Returns the checkpoints of side lines whose hash does not follow, each with the right hash.
    pub(crate) fn hash_faults(&self) -> Vec<(&'l Checkpoint, Digest)> {
        let is_side = |node: &&Node<'_>| node.segment > 0;
        let mut followers: HashMap<usize, usize> = HashMap::new();
        for before in self.nodes.iter().filter(is_side).filter_map(|node| node.before) {
            *followers.entry(before).or_default() += 1;
        }
        let mut faults = Vec::new();
        let mut compare = |batch: &mut Vec<(&'l Checkpoint, Option<&Digest>, Maps)>| {
            faults.par_extend(batch.par_drain(..).filter_map(|(checkpoint, previous, maps)| {
                let found = maps.hash(previous, checkpoint);
                (found != checkpoint.hash).then_some((checkpoint, found))
            }));
        };
        let mut batch = Vec::new();
        let (mut main, mut kept) = (Maps::default(), HashMap::<usize, Maps>::new());
        for (place, node) in self.nodes.iter().enumerate() {
            let previous = node.before.map(|before| &self.nodes[before].checkpoint.hash);
            let maps = match node.before.filter(|_| node.segment > 0) {
                None => {
                    main.apply(node.checkpoint);
                    if !followers.contains_key(&place) {
                        continue;
                    }
                    main.clone()
                }
                Some(before) => {
                    let left = followers.entry(before).or_default();
                    *left -= 1;
                    let base = match *left {
                        0 => kept.remove(&before),
                        _ => kept.get(&before).cloned(),
                    };
                    let mut maps = base.unwrap_or_default();
                    maps.apply(node.checkpoint);
                    batch.push((node.checkpoint, previous, maps.clone()));
                    maps
                }
            };
            if followers.contains_key(&place) {
                kept.insert(place, maps);
            }
            if batch.len() == AT_ONCE {
                compare(&mut batch);
            }
        }
        compare(&mut batch);
        faults
    }

    /// Returns the place of a checkpoint that the log holds.
    fn place_of(&self, hash: &Digest) -> Option<usize> {
        self.places.get(hash).copied()
    }

    /// Returns the checkpoint that set or removed the value of an id at a checkpoint (MERGE-7);
    /// `None` if none did.
    fn origin(&self, id: &DocumentId, mut at: usize) -> Option<usize> {
        loop {
            let segment = self.nodes[at].segment;
            let touched = self.touched.get(&(id, segment)).and_then(|touched| {
                let later = touched.partition_point(|(place, _)| *place <= at);
                later.checked_sub(1).map(|last| touched[last])
            });
            at = match touched {
                None => self.segments[segment].leaves?,
                Some((place, Origin::Here)) => return Some(place),
                Some((_, Origin::Parent(parent))) => parent,
            };
        }
    }

    /// Returns the checkpoints that set or removed an id, the last first.
    fn line<'s>(&'s self, id: &'s DocumentId, at: usize) -> impl Iterator<Item = usize> + 's {
        let before = |place: &usize| self.origin(id, self.nodes[*place].before?);
        std::iter::successors(self.origin(id, at), before)
    }

    /// Returns the value of an id at a checkpoint.
    fn value(&self, id: &DocumentId, at: usize) -> Option<Mark> {
        value_of(self.nodes[self.origin(id, at)?].checkpoint, id).flatten()
    }

    /// Returns the case of MERGE-8 for an id. `new` has the checkpoints that the trunk lacks.
    fn case(&self, id: &DocumentId, merge: &Merge, new: &HashSet<usize>) -> Case {
        let (ours, theirs) = (self.origin(id, merge.trunk), self.origin(id, merge.branch));
        match (ours, theirs) {
            (_, None) => Case::Trunk,
            (ours, theirs) if ours == theirs => Case::Trunk,
            // An earlier merge settled it. It may have left the id because of its event (MERGE-9).
            (_, Some(theirs)) if !new.contains(&theirs) => Case::Trunk,
            (None, Some(_)) => Case::Carried,
            (Some(ours), _) if self.line(id, merge.branch).any(|place| place == ours) => {
                Case::Carried
            }
            _ => Case::Conflict,
        }
    }

    /// Returns the checkpoints that a log with this head holds.
    fn ancestors(&self, head: usize) -> HashSet<usize> {
        self.ancestors_from(head, 0)
    }

    /// Returns the checkpoints from a place on that a log with this head holds.
    fn ancestors_from(&self, head: usize, first: usize) -> HashSet<usize> {
        let (mut found, mut open) = (HashSet::new(), vec![head]);
        while let Some(place) = open.pop() {
            if place >= first && found.insert(place) {
                open.extend(self.nodes[place].before);
                open.extend(self.nodes[place].branch);
            }
        }
        found
    }

    /// Returns the changes of the branch that each merge of the main line carries.
    pub(super) fn carried_by_main(&self) -> Vec<(CheckpointNumber, Vec<Carried>)> {
        let of_main = self.merges.iter().filter(|merge| self.nodes[merge.place].segment == 0);
        let of = |merge: &Merge| {
            let segment = self.nodes[merge.place].segment;
            let takes = |id: &DocumentId| {
                let touched = self.touched.get(&(id, segment)).map_or(&[][..], Vec::as_slice);
                let found = touched.binary_search_by_key(&merge.place, |(place, _)| *place);
                let origin = found.ok().map(|n| touched[n].1);
                matches!(origin, Some(Origin::Parent(parent)) if parent == merge.branch)
            };
            (self.nodes[merge.place].checkpoint.number, self.carried(merge, takes))
        };
        of_main.map(of).collect()
    }

    /// Returns the changes of the artifacts that a merge takes from its branch.
    fn carried(&self, merge: &Merge, takes: impl Fn(&DocumentId) -> bool) -> Vec<Carried> {
        let new: HashSet<usize> = merge.new.iter().copied().collect();
        let ids = self.changed_by(merge).into_iter().filter(|id| !id.is_chain() && takes(id));
        let mut carried: Vec<Carried> = ids
            .flat_map(|id| {
                let line = self.line(id, merge.branch).take_while(|place| new.contains(place));
                line.map(|place| {
                    let checkpoint = self.nodes[place].checkpoint;
                    let mark = value_of(checkpoint, id).flatten();
                    Carried { id: id.clone(), at: checkpoint.at, mark }
                })
                .collect::<Vec<_>>()
            })
            .collect();
        carried.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        carried
    }

    /// Decides about each id that the branch of a merge changed (MERGE-8, MERGE-9).
    ///
    /// `refused` returns the reason why a carried id is in conflict although both logs allow it
    /// (MERGE-12, MERGE-17).
    fn decide(
        &self,
        merge: &Merge,
        is_governed: bool,
        refused: &dyn Fn(&DocumentId) -> Option<Conflict>,
    ) -> Decision {
        let new: HashSet<usize> = merge.new.iter().copied().collect();
        let mut decision = Decision::default();
        for id in self.changed_by(merge) {
            match self.case(id, merge, &new) {
                Case::Trunk => {}
                Case::Conflict => {
                    decision.conflicts.insert(id.clone(), Conflict::BothChanged);
                }
                Case::Carried => match refused(id) {
                    Some(why) => {
                        decision.conflicts.insert(id.clone(), why);
                    }
                    None => {
                        let value = self.value(id, merge.branch);
                        decision.carried.insert(id.clone(), value);
                    }
                },
            }
        }
        self.keep_events_whole(merge, is_governed, &mut decision);
        decision
    }

    /// Moves to the conflicts what was changed together with an id in conflict (MERGE-9).
    fn keep_events_whole(&self, merge: &Merge, is_governed: bool, decision: &mut Decision) {
        let mut open: Vec<DocumentId> = decision.conflicts.keys().cloned().collect();
        // For each id, the events on the lines of carried ids that have it.
        let mut events: HashMap<&DocumentId, Vec<(usize, &DocumentId)>> = HashMap::new();
        let new: HashSet<usize> = merge.new.iter().copied().collect();
        // Chains of lines follow from MERGE-8 alone.
        let carried = decision.carried.keys().filter(|id| !id.is_chain());
        let carried: Vec<DocumentId> = carried.cloned().collect();
        for id in &carried {
            for place in self.line(id, merge.branch).take_while(|place| new.contains(place)) {
                let checkpoint = self.nodes[place].checkpoint;
                if is_governed || !checkpoint.removed.is_empty() {
                    for together in checkpoint.artifacts() {
                        events.entry(together).or_default().push((place, id));
                    }
                }
            }
        }
        while let Some(id) = open.pop() {
            for (_, together) in events.get(&id).into_iter().flatten() {
                if decision.carried.remove(*together).is_some() {
                    decision.conflicts.insert((*together).clone(), Conflict::Event);
                    open.push((*together).clone());
                }
            }
        }
    }

    /// Returns the faults of the values that the merges of the log took, each with the checkpoint
    /// of the merge.
    ///
    /// `is_governed` returns true if the trunk was governed before a merge.
    pub(crate) fn faults(
        &self,
        is_governed: &dyn Fn(&Checkpoint) -> bool,
    ) -> Vec<(&'l Checkpoint, MergeFault)> {
        let of = |merge: &Merge| {
            let checkpoint = self.nodes[merge.place].checkpoint;
            let trunk = self.nodes[merge.trunk].checkpoint;
            let fault = self.fault(merge, is_governed(trunk))?;
            Some((checkpoint, fault))
        };
        self.merges.iter().filter_map(of).collect()
    }

    fn fault(&self, merge: &Merge, is_governed: bool) -> Option<MergeFault> {
        let checkpoint = self.nodes[merge.place].checkpoint;
        let is_taken = |id: &DocumentId| {
            let theirs = self.value(id, merge.branch);
            // It says nothing about a value that both sides have.
            theirs == value_of(checkpoint, id).unwrap_or_else(|| self.value(id, merge.trunk))
        };
        // The approvals of what a governed merge does not take are judged elsewhere (MERGE-17).
        let refused =
            |id: &DocumentId| (is_governed && !is_taken(id)).then_some(Conflict::Approval);
        let expected = self.decide(merge, is_governed, &refused);
        let wrong = changed(checkpoint).find(|id| !expected.carried.contains_key(*id));
        if let Some(id) = wrong {
            return Some(match expected.conflicts.get(id) {
                Some(Conflict::Event) => MergeFault::Split(id.clone()),
                _ => MergeFault::Value(id.clone()),
            });
        }
        let other = expected.carried.keys().find(|id| !is_taken(id));
        other.map(|id| MergeFault::Value(id.clone()))
    }
}

/// Returns the checkpoints that `branch` holds and `trunk` does not, as a merge records them.
///
/// # Errors
/// Fails with the first checkpoint of one of the logs whose merge is not that of two logs.
pub(crate) fn sides(
    trunk: &[&Checkpoint],
    branch: &[&Checkpoint],
) -> Result<Vec<Side>, (CheckpointNumber, MergeFault)> {
    let (ours, theirs) = (Lines::of(trunk)?, Lines::of(branch)?);
    let lacked = theirs.nodes.iter().filter(|node| ours.place_of(&node.checkpoint.hash).is_none());
    let side = |node: &Node<'_>| {
        let follows = theirs.nodes[node.before?].checkpoint.hash;
        let checkpoint = Checkpoint { merged: None, ..node.checkpoint.clone() };
        Some(Side { follows, checkpoint })
    };
    let mut sides: Vec<Side> = lacked.filter_map(side).collect();
    sides.sort_by_key(order);
    Ok(sides)
}

/// Joins a branch to a trunk: returns the merge, and what was decided about each id.
///
/// `sides` are those of both logs. The time of the merge is `at`, which is later than both heads.
///
/// # Errors
/// Fails with the first checkpoint of one of the logs whose merge is not that of two logs.
pub(crate) fn join(
    (trunk, branch): (&[&Checkpoint], &[&Checkpoint]),
    sides: Vec<Side>,
    at: Timestamp,
    is_governed: bool,
    refused: &dyn Fn(&DocumentId) -> Option<Conflict>,
) -> Result<(Checkpoint, Decision), (CheckpointNumber, MergeFault)> {
    let lines = Lines::with(trunk, &sides)?;
    let number = CheckpointNumber::of_count(trunk.len()).next();
    let unknown = || (number, MergeFault::HeadUnknown);
    let head = branch.last().ok_or_else(unknown)?;
    let (place, merged) = (lines.head.ok_or_else(unknown)?, lines.place_of(&head.hash));
    let first = trunk_length(&lines, &sides);
    let merge = Merge {
        place: lines.nodes.len(),
        trunk: place,
        branch: merged.ok_or_else(unknown)?,
        new: (first..lines.nodes.len()).collect(),
    };
    let decision = lines.decide(&merge, is_governed, refused);
    let counted = [merge.trunk, merge.branch].map(|place| lines.nodes[place].merges);
    let count = counted.into_iter().max().unwrap_or_default().next();
    let (mut set, mut removed, mut bound) = (Vec::new(), Vec::new(), Vec::new());
    for (id, theirs) in &decision.carried {
        if *theirs == lines.value(id, place) {
            continue;
        }
        match theirs {
            mark if id.is_chain() => bound.push((id.clone(), *mark)),
            Some(mark) => set.push((id.clone(), *mark)),
            None => removed.push(id.clone()),
        }
    }
    bound.push((DocumentId::log(), Some(Mark::new(count, head.hash))));
    bound.sort_by(|(a, _), (b, _)| a.cmp(b));
    let hash = Digest::of(b"");
    let carried = lines.carried(&merge, |id| decision.carried.contains_key(id));
    drop(lines);
    let merged = Some(Box::new(Merged { sides, carried }));
    let triggered_by = DocumentId::log();
    let mut checkpoint = Checkpoint { number, at, triggered_by, hash, set, removed, bound, merged };
    checkpoint.triggered_by = checkpoint.greatest().cloned().ok_or_else(unknown)?;
    let mut state = PublishedSet::default();
    trunk.iter().for_each(|checkpoint| checkpoint.apply(&mut state));
    checkpoint.seal(&mut state, trunk.last().map(|head| &head.hash));
    Ok((checkpoint, decision))
}

/// Returns the merge of a branch into a trunk, and what was decided about each id, if every approval
/// holds by the rules of both sides; `None` if a merge of one of the logs is not one of two logs.
///
/// The trunk does not hold the head of the branch, and the branch does not begin with the trunk.
pub fn merge(
    trunk: &[&Checkpoint],
    branch: &[&Checkpoint],
    at: Timestamp,
    is_governed: bool,
) -> Option<(Checkpoint, Decision)> {
    let sides = sides(trunk, branch).ok()?;
    join((trunk, branch), sides, at, is_governed, &|_| None).ok()
}

/// Returns the number of checkpoints that the trunk holds.
fn trunk_length(lines: &Lines<'_>, sides: &[Side]) -> usize {
    lines.nodes.len() - sides.len()
}

/// Returns the number of the merge that a checkpoint is; `None` if it is none.
fn merges_of(checkpoint: &Checkpoint) -> Option<Version> {
    let bound = checkpoint.bound.iter().find(|(id, _)| id.is_log());
    bound.map(|(_, mark)| mark.and_then(|mark| mark.version).unwrap_or_default())
}

/// Returns the value that a checkpoint gave an id; the inner one is `None` if it was removed.
fn value_of(checkpoint: &Checkpoint, id: &DocumentId) -> Option<Option<Mark>> {
    let bound = checkpoint.bound.iter().find(|(bound, _)| bound == id).map(|(_, mark)| *mark);
    let set = checkpoint.mark_of(id).map(|mark| Some(*mark));
    bound.or(set).or_else(|| checkpoint.removed.contains(id).then_some(None))
}

/// Returns the ids whose value a checkpoint changed, without the log that it merged.
fn changed(checkpoint: &Checkpoint) -> impl Iterator<Item = &DocumentId> {
    let bound = checkpoint.bound.iter().map(|(id, _)| id).filter(|id| !id.is_log());
    checkpoint.artifacts().chain(bound)
}

/// Returns the key of the order of `merged` (MERGE-3).
fn order(side: &Side) -> (Timestamp, CheckpointNumber, String) {
    let Checkpoint { at, number, hash, .. } = &side.checkpoint;
    (*at, *number, hash.to_string())
}

#[cfg(test)]
mod tests;
