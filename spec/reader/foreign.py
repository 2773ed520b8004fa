# SPDX-License-Identifier: Apache-2.0
"""The foreign part of a log that ctx did not begin (checkpoint.md, section 7)."""

from artifact import Artifact
from formats import Refused, is_governance, millis

FILES = (".versions/chain_events.yaml", ".versions/context_latest.yaml")
CONFIG = ".context/config.yaml"


class Foreign:
    """The part of `Verifier` that tells which checkpoints are foreign."""

    foreign_end, foreign_until = 0, None  # the number of the first strict checkpoint, and its time

    def covers(self, number):
        return number < self.foreign_end

    def covers_time(self, at):
        until = self.foreign_until
        return self.foreign_end > 0 and (until is None or millis(at) < millis(until))

    def find_foreign(self, config):  # CKPT-40
        first = self.entries[0] if self.entries else None
        if first is None or first.faults or any(map(is_governance, {*first.maps[0], *first.maps[1]})):
            return
        for number, version, chain_hash, at in self.seals.get(CONFIG, []):
            if not (version and chain_hash and config.sound.get(version) == chain_hash):
                return
            text = config.texts[version]
            if self.setting(text, "governance") == "governed":
                return
            if not self.full and self.setting(text, "versions", "checkpoint_log") == "delta":
                self.foreign_end, self.foreign_until = number, at
                break
        if self.full:
            self.foreign_end = float("inf")
        if self.foreign_end:
            self.excuse()

    def is_deleted(self, seals, removals):  # CKPT-41
        """Whether the history of the first of these seals may have been deleted before adoption."""
        if not self.covers(seals[0][0]):
            return False
        gone = next((number for number, _ in removals if number > seals[0][0]), None)
        is_again = len(seals) > 1 and self.covers(seals[1][0])
        return self.foreign_end == float("inf") or is_again or (gone is not None and gone <= self.foreign_end)

    def begin_of_history(self, seals, removals, history):  # CKPT-41
        """Where the seals of the present history begin among all seals of a document."""
        hashes = {e.version: e.chain_hash for e in history.entries if not e.faults} if history else {}
        others = [
            n for n, (number, version, chain, _) in enumerate(seals)
            if self.covers(number) and version and chain and hashes.get(version) != chain
        ]  # fmt: skip
        if not others:
            return 0
        last = others[-1]
        begin = last if history and last + 1 == len(seals) else last + 1
        is_cut = any(v and chain and hashes.get(v) == chain for _, v, chain, _ in seals[:begin])
        return begin if not is_cut and self.is_deleted(seals[last:], removals) else 0

    def excuse(self):
        """Makes notes of what the reference implementation does to a log."""
        found, self.findings = self.findings, []
        for code, id, version, checkpoint, path in found:
            is_half = code == "checkpoint-hash-missing" and not is_governance(id)
            is_half = is_half and self.covers(checkpoint) and self.is_first_half(id, checkpoint)
            back = code == "version-regression" and id and not is_governance(id)
            if is_half or (back and self.is_restart(id, version, checkpoint)):
                code = "foreign-record"
            self.find(code, id, version, checkpoint, path)

    def is_first_half(self, id, checkpoint):  # CKPT-41
        for number, version, chain, _ in self.seals.get(id, []):
            if number <= checkpoint and version and chain:
                return False
        return checkpoint <= len(self.entries) and id in self.entries[checkpoint - 1].maps[0]

    def is_restart(self, id, version, checkpoint):
        quiet = self.quiet()
        artifact = Artifact(quiet, id)
        artifact.open()
        if artifact.history is None and any(code != "history-missing" for code, *_ in quiet.findings):
            return False
        seals = self.seals.get(id, [])
        begin = self.begin_of_history(seals, self.removals.get(id, []), artifact.history)
        places = [n for n, seal in enumerate(seals) if seal[0] <= checkpoint][-1:]
        if not places:
            return False
        present = [v for _, v, _, _ in seals[begin : places[0]] if v]
        return places[0] < begin or version >= max(present, default=0)
