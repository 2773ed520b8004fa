# SPDX-License-Identifier: Apache-2.0
"""One artifact: its history, entry by entry, and its history against the log (verify.md, 4.2)."""

import itertools
import os
import re

from formats import (
    MIB, Document, History, Refused, apply_diff, history_folder, is_governance, millis, normalise,
    read_torn, sha256, sha256_of, spelled,
)  # fmt: skip
from plain import is_principal


class Artifact:
    """The history of one artifact, checked entry by entry and against the log."""

    is_aside = False

    def __init__(self, verifier, id, folder=None):
        self.v, self.id, self.folder = verifier, id, folder or history_folder(id)
        self.rule, self.used, self.history = is_governance(id), {"history.yaml"}, None
        self.texts, self.sound, self.steps, self.wrong = {}, {}, set(), set()
        self.kinds = {}  # of each version, to the reviews
        self.submission, self.asides = [], []
        self.track = verifier.track_of(id)
        self.seals, self.removals = verifier.seals_in(id, self.folder + "/history.yaml", self.is_aside)
        self.first = {}
        for number, version, chain, at in self.seals:
            self.first.setdefault(version, (number, chain, at))
        begins = min((number for number, _, _ in self.first.values()), default=None)
        self.strict = begins in verifier.strict
        self.is_erased = False

    def find(self, code, version=None, checkpoint=None):
        self.v.find(code, self.id, version, checkpoint)

    def open(self):
        last = max(self.first, default=0)
        try:
            data = self.v.read(self.folder + "/history.yaml", 256 * MIB)
            if data is None:
                if self.seals:
                    self.find("foreign-record" if self.is_deleted() else "history-missing")
                return
            self.history, length = read_torn(data, History, lambda part: part.last >= last)
        except Refused as why:
            self.find("too-large" if str(why) == "too-large" else "history-unreadable")
            return
        if not self.history.entries:
            self.find("history-empty")
            self.history = None
            return
        self.data = data[:length]
        if length < len(data):
            self.find("torn-tail")

    def check(self):
        self.open()
        if self.history:
            self.drop_former_seals()
            self.entries()
            self.v.end_review(self)
            self.with_log()
        entries = self.history.entries if self.history else []
        self.check_asides()
        folder = self.v.path(self.folder)
        if os.path.isdir(folder) and not any(entry.faults for entry in entries):
            for name in map(os.fsdecode, os.listdir(folder)):
                if name not in self.used and (self.history or not self.seals):
                    link = os.path.islink(os.path.join(folder, os.fsencode(name)))
                    self.find("file-ignored" if link else "unfinished")

    def check_asides(self):  # MERGE-13, MERGE-14
        """Judges the histories aside, and looks up what side lines seal."""
        folder, is_known = self.v.path(self.folder + "/aside"), self.history is not None or not self.is_expected()
        if os.path.isdir(folder) and not os.path.islink(folder):
            self.used.add("aside")
            for name in sorted(map(os.fsdecode, os.listdir(folder))):
                aside = f"{self.folder}/aside/{name}"
                kept = os.path.join(folder, os.fsencode(name))
                if os.path.islink(kept):
                    self.find("file-ignored")
                elif not os.path.isdir(kept) or not os.path.lexists(os.path.join(kept, b"history.yaml")):
                    self.find("unfinished")
                else:
                    kept = Aside(self.v, self.id, aside)
                    kept.check()
                    is_known &= kept.history is not None
                    self.asides.append(aside + "/history.yaml")
        if is_known:  # VER-8
            self.v.check_sides(self.id, [self.folder + "/history.yaml", *self.asides])

    def is_expected(self):
        """Whether there has to be a history that is not aside."""
        return bool(self.seals) or os.path.lexists(self.v.path(self.folder + "/history.yaml"))

    def is_orphaned(self):
        """Whether there are texts of versions, but no history."""
        folder = self.v.path(self.folder)
        names = map(os.fsdecode, os.listdir(folder)) if os.path.isdir(folder) else []
        is_missing = not os.path.lexists(self.v.path(self.folder + "/history.yaml"))
        return is_missing and any(re.fullmatch(r"v[0-9]+\.(md|diff)", name) for name in names)

    def is_deleted(self):  # CKPT-41
        head = self.v.head.get(self.id)
        is_gone = head is None
        if head is not None and self.v.entries and self.v.covers(self.v.entries[-1].number):
            is_gone = head[1] is None or not os.path.exists(self.v.path(self.v.live(self.id)))
        is_deleted = not self.seals or self.v.is_deleted(self.seals[-1:], self.removals)
        return is_gone and not self.rule and is_deleted

    def drop_former_seals(self):  # CKPT-41
        if self.rule:
            return
        begin = self.v.begin_of_history(self.seals, self.removals, self.history)
        if begin:
            self.find("foreign-record", None, self.seals[begin - 1][0])
        self.seals = [
            seal for seal in self.seals[begin:]
            if not (self.v.covers(seal[0]) and None in (seal[1], seal[2]))
        ]  # fmt: skip
        self.first = {}
        for number, version, chain, at in self.seals:
            self.first.setdefault(version, (number, chain, at))
        entries = [entry for entry in self.history.entries if not entry.faults]
        self.is_erased = (
            self.v.head.get(self.id) is None
            and any(entry.stub for entry in entries)
            and all(entry.stub or entry.erased for entry in entries)
        )

    def is_forgotten(self, entry):  # HIST-41
        later = [number for v, (number, _, _) in sorted(self.first.items()) if v >= entry.version]
        is_taken_over = bool(later) and later[0] in self.v.strict
        return self.is_erased and not is_taken_over and self.v.covers_time(entry.edited_at)

    def forgotten(self, entry):
        if not self.is_forgotten(entry):
            self.find("entry-malformed", entry.version)
            return
        names = [f"v{entry.version}.md", f"v{entry.version}.diff"]
        kept = any(os.path.exists(self.v.path(f"{self.folder}/{name}")) for name in names)
        is_kept = kept or (not entry.keyframe and entry.diff is not None)
        self.find("forgotten-present" if is_kept else "version-forgotten", entry.version)

    def entries(self):
        self.published_text = None
        previous, text, is_sound, seen = None, None, False, set()
        for entry in self.history.entries:
            for code, _ in entry.faults:
                self.find(code, entry.version)
            if entry.unknown:
                self.find("key-unknown", entry.version)
            if entry.version:
                self.check_number(entry.version, previous and previous.version, seen)
            if entry.faults:
                text, is_sound = None, False
                if self.track:
                    self.track.lose()
            else:
                follows = self.check_record(entry, previous)
                old, text, is_right = text, *self.text(entry, text)
                if text is not None:
                    self.before = old
                    self.v.review(self, entry, text)
                    self.check_text(entry, text, old)
                elif self.track:
                    self.track.lose(entry)
                is_next = entry.keyframe or (is_sound and entry.version == previous.version + 1)
                is_sound = text is not None and follows and is_right and is_next
                if not (follows and is_right) and not entry.erased:
                    self.wrong.add(entry.version)
                if is_sound:  # HIST-25
                    self.sound[entry.version] = entry.chain_hash
                self.texts[entry.version] = text
            previous = entry
        self.check_spelling()

    def check_number(self, version, before, seen):  # HIST-5
        if version in seen:
            self.find("version-duplicate", version)
        elif before is None and version > 1 and self.strict:
            self.find("version-gap", version)
        elif before is not None and version < before:
            self.find("version-order", version)
        elif before is not None and version > before + 1:
            self.find("version-gap", version)
        seen.add(version)

    def check_record(self, entry, previous):
        """Checks times, principal and chain hash; whether the chain hash follows."""
        if millis(entry.edited_at) > self.v.now:
            self.find("timestamp-future", entry.version)
        if self.is_strict(entry.version) and not is_principal(entry.edited_by):
            self.find("field-malformed", entry.version)
        if previous and previous.faults:
            return True
        if previous and millis(entry.edited_at) < millis(previous.edited_at):
            self.find("timestamp-order", entry.version)
        follows = sha256(entry.chain(previous and previous.chain_hash)) == entry.chain_hash
        if not follows:
            self.find("chain-hash-mismatch", entry.version)
        return follows

    def check_text(self, entry, text, old):
        self.text_now = text
        self.describes(entry, text)
        is_ours = (self.rule or self.strict) and self.is_strict(entry.version)
        if is_ours and self.is_other_form(entry, text, old):
            self.find("version-self-mismatch", entry.version)
        if entry.published_at:
            self.published_text = text

    def check_spelling(self):  # HIST-38, VER-22
        if self.history.unknown:
            self.find("key-unknown")
        if self.strict:
            is_sound = not any(entry.faults for entry in self.history.entries)
            if not (is_sound and self.data == self.history.spelled().encode()):
                self.find("history-respelled")
            if self.history.interval != self.configured_interval():
                self.find("keyframe-interval")

    def text(self, entry, before):
        """The text of an entry, built upon the one before, and whether its hash is right."""
        if entry.erased:
            self.forgotten(entry)
            self.used.add(f"v{entry.version}." + ("md" if entry.keyframe else "diff"))
            return None, False
        name = f"v{entry.version}." + ("md" if entry.keyframe else "diff")
        kind, stored = "keyframe" if entry.keyframe else "diff", entry.diff
        if entry.keyframe or entry.diff is None:
            self.used.add(name)
            limit = (16 if entry.keyframe else 256) * MIB
            try:
                data = self.stored(name, limit, entry)
                if data is None:
                    self.find(kind + "-missing", entry.version)
                    return None, False
                stored = data.decode()
            except (Refused, UnicodeDecodeError) as why:
                large = str(why) == "too-large"
                self.find("too-large" if large else "version-unreconstructable", entry.version)
                return None, False
        if self.strict and (stored != normalise(stored) or not (entry.keyframe or entry.diff)):
            self.find("history-respelled", entry.version)
        stored = normalise(stored)
        is_right = sha256(stored) == entry.content_hash
        if not is_right:
            self.find("content-hash-mismatch", entry.version)
        header = f"--- v{entry.version - 1}\n+++ v{entry.version}"
        if self.rule and stored.startswith(header) == entry.keyframe:  # HIST-22
            self.find("version-self-mismatch", entry.version)
            return None, False
        if entry.keyframe:
            return stored, is_right
        if before is None:
            if entry is self.history.entries[0]:
                self.find("version-unreconstructable", entry.version)
            return None, False
        try:
            return apply_diff(before, stored), is_right
        except Refused:
            self.find("version-unreconstructable", entry.version)
            return None, False

    def stored(self, name, limit, entry):
        return self.v.read(f"{self.folder}/{name}", limit)

    def configured_interval(self):  # VER-23
        begins = min((number for number, _, _ in self.first.values()), default=0)
        settings = [value for at, value in sorted(self.v.config.items()) if at <= begins]
        return settings[-1] if settings else 10

    def is_other_form(self, entry, text, before):  # VER-18, HIST-19 to HIST-21
        interval = self.history.interval or self.configured_interval()
        required = entry is self.history.entries[0] or entry.version % interval == 0
        large = len(text.encode()) + len((before or "").encode()) > 512 << 10
        is_act = self.rule and self.track and not entry.keyframe and "\t" in (entry.diff or "\n").split("\n")[1]
        return entry.keyframe != required and not large and not is_act

    def describes(self, entry, text):  # HIST-28, HIST-30, HIST-33
        strict_at = None
        number, _, sealed_at = self.first.get(entry.version, (None, None, None))
        if number in self.v.strict:
            strict_at = sealed_at
        updated = None
        if not self.rule:
            try:
                document = Document(text)
            except Refused:
                self.find("version-unreconstructable", entry.version)
                return
            if entry.stub and not document.rest.strip() and self.is_forgotten(entry):
                self.find("version-forgotten", entry.version)
            elif document.version != entry.version or (document.status == "published") != bool(
                entry.published_at
            ):
                self.find("version-self-mismatch", entry.version)
            elif entry.retired_at and not self.is_retirement(entry, document):
                self.find("version-self-mismatch", entry.version)
            checksum = document.text_of("checksum")
            if checksum and document.fields and checksum != sha256(document.rest):
                self.find("checksum-mismatch", entry.version)
            updated = document.text_of("updated_at")
            updated = updated if updated and millis(updated) is not None else None
            if entry.published_at and updated is None:
                self.find("publication-time-mismatch", entry.version)
                return
        elif entry.retired_at and text:
            self.find("version-self-mismatch", entry.version)
        wrong = False
        if entry.published_at:
            first = updated or (entry.edited_at if self.rule else None)
            order = [millis(t) for t in (first, entry.published_at, sealed_at) if t]
            wrong = order != sorted(order)
            if strict_at:
                wrong |= {
                    millis(t) for t in (entry.edited_at, entry.published_at, updated) if t
                } != {millis(strict_at)}
        elif entry.retired_at:
            wrong = entry.retired_at != entry.edited_at or (
                not self.rule and updated != entry.retired_at
            )
        if wrong:
            self.find("publication-time-mismatch", entry.version)

    def is_strict(self, version):
        """Whether only a writer of ours can have made a version (VER-17)."""
        later = [number for v, (number, _, _) in sorted(self.first.items()) if v >= version]
        last = [number for _, (number, _, _) in sorted(self.first.items())][-1:]
        return self.rule or bool(self.v.strict & set(later[:1] or last))

    def is_retirement(self, entry, document):
        if self.published_text is None:
            return True
        expected = self.v.reviewed_retirement(self, entry)
        if expected is not None:  # REV-7
            return expected == "---\n" + document.head + "---" + document.rest
        before = Document(self.published_text)
        edit = before.edited({
            "status": "draft", "version": str(entry.version), "updated_at": spelled(entry.retired_at),
        })  # fmt: skip
        return edit is None or edit == "---\n" + document.head + "---" + document.rest

    def with_log(self):
        entries = [entry for entry in self.history.entries if not entry.faults]
        by_version = {}
        for entry in self.history.entries:
            by_version.setdefault(entry.version, entry)
        for version, (number, _, _) in self.first.items():
            entry = by_version.get(version)
            if entry is None:
                self.find("checkpoint-version-unknown", version, number)
            elif entry.faults:
                continue
            elif any(
                c is not None and c != entry.chain_hash for _, v, c, _ in self.seals if v == version
            ):
                self.find("cross-chain-mismatch", version, number)
            elif not entry.published_at:
                self.find("checkpoint-version-unpublished", version, number)
        on_main = self.v.main_places(self.id)
        removed, is_out, last = (
            {at: number for number, at in reversed(self.removals) if self.is_aside or number in on_main},
            True,
            max(self.first, default=0),
        )
        unsealed = []
        last_of_main = max((version or 0 for place, version, *_ in self.seals if place in on_main), default=0)
        for entry in entries:
            if entry.published_at:
                is_out = False
                is_stub = entry.stub and self.is_forgotten(entry)
                is_beyond = entry.version > last_of_main and not self.is_aside
                if (entry.version not in self.first or is_beyond) and self.v.whole and not is_stub:
                    unsealed.append(entry.version)
            elif entry.retired_at:
                taken = removed.get(entry.retired_at)
                for number, version, _, _ in self.seals:
                    if taken and version <= entry.version and self.v.is_later(number, taken, self.id):
                        self.find("version-regression", version, number)
                if self.v.whole and (is_out or not taken):
                    unsealed.append(entry.version)
                is_out = True
            elif entry.version in self.steps:
                pass
            elif self.v.whole and (entry.version > last or self.is_strict(entry.version)):
                ours = self.rule or not self.v.full
                self.find("version-" + ("unsealed" if ours else "unpublished"), entry.version)
        if self.is_aside and unsealed and not any(entry.version in self.first for entry in self.beyond()):
            # Git takes back a merge without files that it does not know.
            self.find("unfinished")
        else:
            for version in unsealed:
                self.find("published-unsealed", version)
        if self.v.whole:
            for number, at in self.removals:
                if not self.is_aside and not any(entry.retired_at == at for entry in entries):
                    dropped = self.rule and self.v.full and not self.v.rules_before(number)
                    adopted = number == self.v.foreign_end and all(n > number for n, *_ in self.seals)
                    foreign = not self.rule and (self.v.covers(number) or adopted)
                    code = "foreign-record" if foreign else "unrecorded-removal"
                    self.find("policy-unsealed" if dropped else code, None, number)


class Aside(Artifact):  # MERGE-13
    """A history that a merge kept aside."""

    is_aside = True

    def beyond(self):
        """Its entries after the last one that it begins with like the history."""
        try:
            data = self.v.read(history_folder(self.id) + "/history.yaml", 256 * MIB)
            own = read_torn(data, History, lambda part: True)[0].entries if data is not None else []
        except Refused:
            own = []
        pairs = zip(self.history.entries, own)
        same = itertools.takewhile(lambda pair: pair[0].chain_hash == pair[1].chain_hash, pairs)
        return self.history.entries[len(list(same)) :]

    def check(self):
        self.open()
        if not self.history:
            return
        last = self.history.entries[-1].chain_hash or ""
        if last.removeprefix("sha256:")[:16] != self.folder.rpartition("/")[2]:
            self.find("unfinished")
        self.drop_former_seals()
        self.entries()
        self.with_log()
        folder = self.v.path(self.folder)
        if not any(entry.faults for entry in self.history.entries):
            for name in map(os.fsdecode, os.listdir(folder)):
                if name not in self.used:
                    link = os.path.islink(os.path.join(folder, os.fsencode(name)))
                    self.find("file-ignored" if link else "unfinished")

    def stored(self, name, limit, entry):
        data = super().stored(name, limit, entry)
        if data is None:
            data = self.v.read(f"{history_folder(self.id)}/{name}", limit)
            is_it = data is not None and sha256_of(normalise(data.decode()).encode()) == entry.content_hash
            return data if is_it else None
        return data
