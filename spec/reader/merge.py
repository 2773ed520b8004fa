# SPDX-License-Identifier: Apache-2.0
"""Merges of two checkpoint logs: lines, the decision for each id, and the merged line (merge.md)."""

from datetime import datetime, timedelta

from formats import GENESIS, LOG, Refused, claims, is_artifact, is_governance, jcs, millis, read_line, sha256

DAY = 24 * 60 * 60 * 1000


class Held:
    """A checkpoint that a log holds, after the one before it on its line."""

    def __init__(self, entry, before, maps, other=None):
        self.entry, self.before, self.maps, self.other = entry, before, maps, other
        self.number, self.at, self.hash = entry.number, entry.at, entry.hash
        past = before.maps if before else ({}, {})
        ids = entry.set is not None and {*entry.set, *entry.removed} or {*maps[0], *maps[1], *past[0], *past[1]}
        self.changed = {id for id in ids if id != LOG and mark(maps, id) != mark(past, id)}
        self.removed = {id for id in self.changed if mark(maps, id) == (None, None)}
        # At a merge: the ids whose value is that of the other parent, and whether that is known.
        self.taken, self.is_judged = set(), False

    @property
    def is_merge(self):
        return self.entry.set is not None and LOG in self.entry.set

    @property
    def parents(self):
        return [one for one in (self.before, self.other) if one]

    @property
    def order(self):  # MERGE-3
        return millis(self.at), self.number, self.hash

    @property
    def line(self):
        """The checkpoints of its line up to it, the last one first."""
        one = self
        while one:
            yield one
            one = one.before

    @property
    def artifacts(self):
        return set(filter(is_artifact, self.changed))


def mark(maps, id):
    return maps[0].get(id), maps[1].get(id)


def after(maps, entry):
    """The maps after an entry."""
    if entry.set is None:
        return entry.versions, entry.hashes
    versions, hashes = dict(maps[0]), dict(maps[1])
    for id in (*entry.removed, *entry.set):
        versions.pop(id, None), hashes.pop(id, None)
    for id, (version, hash) in entry.set.items():
        versions |= {} if version is None else {id: version}
        hashes |= {} if hash is None else {id: hash}
    return versions, hashes


def held_by(head):  # MERGE-1
    """The checkpoints of a log that ends in a checkpoint, by their hashes."""
    found, left = {}, [head] if head else []
    while left:
        one = left.pop()
        if one.hash not in found:
            found[one.hash] = one
            left += one.parents
    return found


def line_of(head, id):  # MERGE-7
    """The line of an id at a checkpoint, from its last item on."""
    one = head
    while one:
        if one.is_merge:
            one = one.other if id in one.taken else one.before
            continue
        if id in one.changed:
            yield one
        one = one.before


def decide(trunk, branch, is_governed=False, left=()):  # MERGE-8, MERGE-9
    """The ids that a merge carries, and why others are in conflict. `left` are ids in conflict for
    reasons that are not in the logs."""
    ours, theirs = held_by(trunk), held_by(branch)
    new = theirs.keys() - ours.keys()
    carried, conflicts = set(), {}
    for id in sorted({id for one in theirs.values() for id in one.changed}, key=str.encode):
        their_line = [one.hash for one in line_of(branch, id)]
        our_origin = next((one.hash for one in line_of(trunk, id)), None)
        # What an earlier merge settled comes first: it may have left an event whole (MERGE-9).
        if not their_line or their_line[0] in ours:
            continue
        if our_origin is None or our_origin in their_line:
            carried.add(id)
        else:
            conflicts[id] = "both-changed"
    for id in carried & set(left):
        carried.remove(id)
        conflicts[id] = "left"
    is_done = False
    while not is_done:
        hit = set(filter(is_artifact, conflicts))
        whole = {
            id for id in filter(is_artifact, carried) for one in line_of(branch, id)
            if one.hash in new and (is_governed or any(map(is_artifact, one.removed))) and one.changed & hit
        }  # fmt: skip
        carried -= whole
        conflicts |= dict.fromkeys(whole, "event")
        is_done = not whole
    return carried, conflicts


def maps_of(trunk, branch, carried):  # MERGE-2
    """The maps of a merge that carries these ids."""
    maps = dict(trunk.maps[0]), dict(trunk.maps[1])
    for id in carried:
        for own, theirs in zip(maps, branch.maps):
            own.pop(id, None)
            own |= {id: theirs[id]} if id in theirs else {}
    greatest = max(parent.maps[0].get(LOG, 0) for parent in (trunk, branch))
    maps[0][LOG], maps[1][LOG] = greatest + 1, branch.hash
    return maps


def greatest_id(ids):  # CKPT-4
    documents = [id for id in ids if not is_governance(id)]
    return max(documents or ids, key=str.encode, default=None)


def trigger_of(trunk, maps, items):  # MERGE-4
    ids = {id for id in {*maps[0], *maps[1], *trunk.maps[0], *trunk.maps[1]} if mark(maps, id) != mark(trunk.maps, id)}
    ids = set(filter(is_artifact, ids)) or set().union(*(item.artifacts for item in items))
    # Merges alone may change nothing but the heads that they bind.
    return greatest_id(ids or {item.entry.trigger for item in items})


# Logs --------------------------------------------------------------------------------------------


class Lines:
    """A log: its main line, and all that it holds."""

    def __init__(self, entries):
        self.held, self.main = {}, []
        for entry in entries:
            for item in placed(entry.merged or [], self.held):
                self.add(item, self.held[item.follows])
            self.main.append(self.add(entry, self.main[-1] if self.main else None))

    def add(self, entry, before):
        maps = after(before.maps if before else ({}, {}), entry)
        one = Held(entry, before, maps)
        if one.is_merge:
            one.other = self.held[maps[1][LOG]]
            carried, _ = decide(before, one.other)
            one.taken = taken(one, carried)
        self.held[one.hash] = one
        return one

    @property
    def head(self):
        return self.main[-1] if self.main else None


def taken(merge, carried):
    """The ids whose value a merge takes from its branch: by the rules, if the values are equal."""
    found, (ours, theirs) = set(), (merge.before.maps, merge.other.maps)
    for id in {*carried, *ours[0], *ours[1], *theirs[0], *theirs[1]} - {LOG}:
        own = mark(merge.maps, id)
        is_equal = mark(ours, id) == mark(theirs, id)
        if id in carried if is_equal else own == mark(theirs, id):
            found.add(id)
    return found


def placed(items, held):
    """The items that follow what is held, each after what it follows and binds."""
    hashes, left = set(held), list(items)
    while True:
        found = []
        for item in left:
            bound = item.set.get(LOG, [None, None])[1]
            if item.follows in hashes and (bound is None or bound in hashes):
                found.append(item)
        if not found:
            return
        yield from found
        hashes |= {item.hash for item in found}
        left = [item for item in left if item not in found]


def read_lines(text):
    lines = text.encode().split(b"\n")
    if lines.pop():
        raise Refused("a torn end")
    entries = [read_line(line) for line in lines]
    if any(one.faults for entry in entries for one in (entry, *(entry.merged or ()))):
        raise Refused("a malformed checkpoint")
    return entries


def same(one, other):
    """How many checkpoints two main lines have in common at their beginning."""
    pairs = enumerate(zip(one.main, other.main))
    return next((n for n, (a, b) in pairs if a.hash != b.hash), min(len(one.main), len(other.main)))


def choose_trunk(logs, refs=()):  # MERGE-11
    """Which of two logs is the trunk. `refs` are the logs at the refs that decide, in their order."""
    for ref in refs:
        counts = [same(log, ref) for log in logs]
        if counts[0] != counts[1]:
            return counts.index(max(counts))
    begin = same(*logs)
    if any(len(log.main) == begin for log in logs):  # one continues the other
        return 0 if len(logs[0].main) >= len(logs[1].main) else 1
    keys = [(millis(log.main[begin].at), log.main[begin].hash) for log in logs]
    return keys.index(min(keys))


class Merge:
    """The merge of a branch into a trunk: the outcome, and the line if there is one."""

    def __init__(self, trunk, branch, now, is_governed=False, left=(), histories=(), picked=None):
        self.line, self.carried, self.conflicts, self.collides = None, [], {}, []
        self.outcome = self.settled(trunk, branch, picked)
        if self.outcome is None:
            self.at = instant(now, trunk.head, branch.head)
            self.outcome = "merged" if self.at else "clock-behind"
        if self.outcome == "merged":
            self.join(trunk.head, branch.head, is_governed, left, histories)

    @staticmethod
    def settled(trunk, branch, picked):  # MERGE-6
        """The outcome of a merge that makes no checkpoint."""
        if not branch.main:
            return "already-held"
        if trunk.main and trunk.main[0].hash != branch.main[0].hash:
            return "two-vaults"
        if branch.head.hash in trunk.held:
            return "already-held"
        if picked is not None and picked not in trunk.held:
            return "left-out"
        if same(trunk, branch) == len(trunk.main):
            return "fast-forward"
        return None

    def join(self, trunk, branch, is_governed, left, histories):
        carried, self.conflicts = decide(trunk, branch, is_governed, left)
        ours = held_by(trunk)
        items = sorted((one for one in held_by(branch).values() if one.hash not in ours), key=lambda one: one.order)
        maps = maps_of(trunk, branch, carried)
        self.carried = sorted(filter(is_artifact, carried), key=str.encode)
        self.conflicts = {id: why for id, why in self.conflicts.items() if is_artifact(id)}
        ids = {*maps[0], *maps[1], *histories, *(id for one in ours.values() for id in one.changed)}
        self.collides = sorted(collisions(filter(is_artifact, carried), filter(is_artifact, ids)), key=str.encode)
        if self.collides:
            self.outcome = "id-collision"
            return
        changed = {id for id in {*carried, LOG} if mark(maps, id) != mark(trunk.maps, id)}
        line = {
            "at": self.at, "checkpoint": trunk.number + 1, "merged": list(map(item_of, items)),
            "removed": sorted((id for id in changed if mark(maps, id) == (None, None)), key=str.encode),
            "set": {id: list(mark(maps, id)) for id in changed if mark(maps, id) != (None, None)},
            "triggered_by": trigger_of(trunk, maps, items),
        }  # fmt: skip
        fields = (trunk.hash or GENESIS, line["checkpoint"], self.at, line["triggered_by"], jcs(maps[0]), jcs(maps[1]))
        line["checkpoint_hash"] = sha256(":".join(map(str, fields)))
        self.line = jcs(line)


def item_of(one):  # MERGE-3
    ids = one.changed | ({LOG} if one.is_merge else set())
    gone = sorted((id for id in ids if mark(one.maps, id) == (None, None)), key=str.encode)
    return {
        "at": one.at, "checkpoint": one.number, "checkpoint_hash": one.hash, "follows": one.before.hash,
        "removed": gone, "set": {id: list(mark(one.maps, id)) for id in ids if id not in gone},
        "triggered_by": one.entry.trigger,
    }  # fmt: skip


def collisions(carried, ids):  # MERGE-10
    """The carried ids that collide with another id."""
    owners = {}
    for id in ids:
        for claim in claims(id):
            owners.setdefault(claim, set()).add(id)
    return {id for id in carried for claim in claims(id) if owners.get(claim, set()) - {id}}


def instant(now, *heads):  # VAULT-38, MERGE-4
    """The time of a merge; none if a head is too far ahead."""
    last = max(millis(head.at) for head in heads if head)
    if last > millis(now) + DAY:
        return None
    return now if millis(now) > last else spelled_millis(last + 1)


def spelled_millis(count):
    time = datetime(1970, 1, 1) + timedelta(milliseconds=count)
    return f"{time.isoformat(timespec='milliseconds')}Z"
