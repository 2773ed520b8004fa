# SPDX-License-Identifier: Apache-2.0
"""Side lines of a log, and what merges of two logs took (merge.md, section 6)."""

from fractions import Fraction

from formats import LOG, History, Refused, is_artifact, millis, read_torn
from merge import Held, after, decide, held_by, line_of, maps_of, mark, placed, taken, trigger_of

MIB, CONFIG = 1 << 20, ".context/config.yaml"


class Sides:
    """The part of `Verifier` that judges side lines."""

    def check_items(self, entry, before, is_known):  # MERGE-27
        """Judges the checkpoints of `merged`, each after the one that it follows."""
        for item in entry.merged:
            for code in item.faults:
                self.find(code, checkpoint=item.number)
        sound = [item for item in entry.merged if not item.faults]
        twice = {item.hash for item in sound if item.hash in self.held}
        entry.placed = [item for item in placed(sound, self.held) if item.hash not in twice]
        for n, item in enumerate(entry.placed, 1):
            place = (before.place if before else 0) + Fraction(n, len(entry.placed) + 1)
            past = self.held[item.follows]
            maps = after(past.maps, item)
            if item.number != past.number + 1:
                self.find("checkpoint-gap", checkpoint=item.number)
            if millis(item.at) > self.now:
                self.find("timestamp-future", checkpoint=item.number)
            if millis(item.at) < millis(past.at):
                self.find("timestamp-order", checkpoint=item.number)
            if is_known:
                self.check_hash(item, past.hash, maps)
            made = self.check_maps(item, past, maps, place)
            if made.is_merge:
                self.merges.append((made, None, is_known))
        for n, item in enumerate((one for one in sound if one not in entry.placed and one.hash not in twice), 1):
            self.take_astray(item, (before.place if before else 0) + Fraction(1, (len(sound) + 2) * (n + 1)))

    def take_astray(self, item, place):  # VER-4
        """Takes what a checkpoint records whose line is not known."""
        made = Held(item, None, after(({}, {}), item))
        made.place, made.is_side, made.highest, made.ever = place, True, {}, frozenset()
        item.changed = made.artifacts | set(item.removed)
        self.places[place] = made
        for id in filter(is_artifact, item.removed):
            self.removals.setdefault(id, []).append((place, item.at))
        for id in () if made.is_merge else filter(is_artifact, item.set):
            self.seals.setdefault(id, []).append((place, *item.set[id], item.at))

    def check_merge(self, made, items, is_known):  # MERGE-2 to MERGE-4, MERGE-7 to MERGE-9
        """Compares a merge with what the rules make of its parents."""
        trunk, made.other = made.before, self.held.get(made.maps[1].get(LOG))
        if made.other is made:
            made.other = None
        is_sound = not any(item.faults for item in items or ())
        wrong = not (made.is_merge and trunk and made.other) or not made.is_side and items is None
        if not wrong:
            ours, theirs = held_by(trunk), held_by(made.other)
            new = sorted((one for hash, one in theirs.items() if hash not in ours), key=lambda one: one.order)
            wrong = not new or items is not None and [one.hash for one in new] != [item.hash for item in items]
            if millis(made.at) <= millis(made.other.at):
                self.find("timestamp-order", checkpoint=made.number)
            made.is_judged = is_known and is_sound and not wrong
            wrong |= made.is_judged and not self.is_result(made, new)
        if wrong and (is_sound or not made.is_merge):
            self.find("merge-mismatch", checkpoint=made.number)

    def is_result(self, made, new):
        """Whether the maps and the trigger of a merge follow from its parents."""
        trunk, branch = made.before, made.other
        is_governed = any(self.rules_at_place(one) for one in (made, branch))
        carried, _ = decide(trunk, branch, is_governed)
        made.taken = taken(made, carried)
        expected = maps_of(trunk, branch, carried)
        if is_governed and made.maps != expected:  # MERGE-17
            left = {id for id in filter(is_artifact, carried) if mark(made.maps, id) != mark(branch.maps, id)}
            carried, _ = decide(trunk, branch, is_governed, left)
            expected = maps_of(trunk, branch, carried)
        return made.maps == expected and made.entry.trigger == trigger_of(trunk, expected, new)

    @property
    def has_sides(self):
        return any(made.is_merge for made in self.made)

    def rules_at_place(self, made):
        return self.rules_before(made.place) if made else None

    # Histories ---------------------------------------------------------------------------------

    def pairs_of(self, path):
        """The versions of a history with their chain hashes, and its times of retirement."""
        if path not in self.pairs:
            try:
                data = self.read(path, 256 * MIB)
                entries = read_torn(data, History, lambda part: True)[0].entries if data is not None else []
            except (Refused, UnicodeDecodeError):
                entries = []
            chains = {(entry.version, None if entry.faults else entry.chain_hash) for entry in entries}
            self.pairs[path] = chains, {entry.retired_at for entry in entries if entry.retired_at}
        return self.pairs[path]

    @staticmethod
    def is_side(place):
        return place != int(place)

    def seals_in(self, id, path, is_aside):  # MERGE-14
        """The seals and removals of an id that are about one of its histories."""
        if not self.has_sides and not is_aside:
            return self.seals.get(id, []), self.removals.get(id, [])
        chains, times = self.pairs_of(path)
        seals = [
            seal for seal in self.seals.get(id, [])
            if (seal[1], seal[2]) in chains or not (is_aside or self.is_side(seal[0]))
        ]  # fmt: skip
        removals = [
            one for one in self.removals.get(id, []) if one[1] in times or not (is_aside or self.is_side(one[0]))
        ]
        return seals, removals

    def main_places(self, id):
        """The checkpoints of the main line, and those whose value of the id a merge took."""
        if id not in self.main_lines:
            is_known = all(made.is_judged for made, *_ in self.merges)
            found = {place for place in self.places if not (is_known and self.is_side(place))}
            for made, *_ in self.merges:
                if not made.is_side and made.other and id in made.taken:
                    found |= {one.place for one in line_of(made.other, id)}
            self.main_lines[id] = found
        return self.main_lines[id]

    def check_sides(self, id, paths):  # MERGE-14, MERGE-27
        """Looks up what side lines seal or remove in the histories of an id."""
        known = [self.pairs_of(path) for path in paths]
        for place, version, chain_hash, _ in self.seals.get(id, []):
            is_half = version is None or chain_hash is None
            # A malformed entry has the version that it states.
            is_there = any({(version, chain_hash), (version, None)} & one for one, _ in known)
            if self.is_side(place) and not is_half and not is_there:
                self.find("history-missing", id, version, self.places[place].number)
        for place, at in self.removals.get(id, []):
            if self.is_side(place) and self.whole and not any(at in times for _, times in known):
                self.find("unrecorded-removal", id, None, self.places[place].number)

    # Change logs --------------------------------------------------------------------------------

    def is_merge(self, place):
        return place in self.places and self.places[place].is_merge

    def latest(self, place, places):
        """The last of some checkpoints that is on the line of a checkpoint, up to it."""
        if not self.is_side(place):
            # Of a side line, a merge brings what it took.
            return max((n for n in places if n <= place and n in self.main_places(CONFIG)), default=None)
        own = (one.place for one in self.places[place].line)
        return next((n for n in own if n in places), None)

    def is_before(self, one, other):
        """Whether a checkpoint comes before another one on the lines that lead to it."""
        if one not in self.places or other not in self.places:
            return one < other
        return one != other and self.places[one].hash in held_by(self.places[other])

    def is_later(self, place, other, id):
        """Whether a checkpoint comes after another one on the line of an id."""
        if not self.has_sides or place not in self.places:
            return place > other
        return any(one.place == other for one in line_of(self.places[place].before, id))

    def versions_aside(self, artifacts):
        paths = [path for artifact in artifacts.values() for path in artifact.asides]
        ids = {path: artifact.id for artifact in artifacts.values() for path in artifact.asides}
        return {(ids[path], *pair) for path in paths for pair in self.pairs_of(path)[0]}
