# SPDX-License-Identifier: Apache-2.0
"""The folders and the checkpoint log of a vault (verify.md, sections 1, 4.1 and 5)."""

import os
import re
import stat

from artifact import Artifact
from audit import FILE, check_changes, trusted_from, verify_log
from foreign import Foreign
from governed import Governed
from sides import Sides
from staging import Staging
from merge import Held, mark
from formats import (
    CHAIN, LOG, MIB, STAGED, Checkpoint, FullLog, Refused, document_id, fold_case, history_folder, id_error, is_artifact, is_excluded,
    is_governance, is_markdown, is_reserved, live_path, millis, normalise, read_line, read_torn, read_yaml, sha256, spelled_full,
)  # fmt: skip

LOGS = (".versions/checkpoints.jsonl", ".versions/context_history.yaml")

class Verifier(Foreign, Governed, Staging, Sides):
    """A vault that is verified, with what was found so far."""

    def __init__(self, root, now):
        self.root, self.now, self.findings = os.fsencode(root), millis(now), []
        self.seals, self.removals, self.strict, self.strict_by_form = {}, {}, set(), set()
        self.bindings, self.binds, self.chains = [], {}, []
        self.config, self.frontmatter, self.recorded, self.kept, self.trusted = {}, {}, {}, [], None
        self.reviews, self.parts, self.is_quiet, self.step_lines = [], [], False, None
        # By hash, and by their order in the log; what a merge takes is judged at the end.
        self.held, self.places, self.merges, self.pairs, self.main_lines = {}, {}, [], {}, {}
        self.made = []
        self.moves = {}  # by checkpoint: what approved moves publish
        self.decided = {}  # by checkpoint: what it publishes or retires in a governed vault
        # Checkpoints that retire the configuration, and versions of it, without an approval (REV-1).
        self.void, self.unapproved = set(), set()

    def find(self, code, id=None, version=None, checkpoint=None, path=None):
        self.findings.append((code, id, version, checkpoint, path))

    # Files -------------------------------------------------------------------------------------

    def path(self, path):
        return os.path.join(self.root, path.encode())

    def read(self, path, limit):
        """The bytes of a file: None if it does not exist; refused if it is no regular file."""
        at = self.root
        for name in path.encode().split(b"/"):
            at = os.path.join(at, name)
            try:
                kind = os.lstat(at).st_mode
            except (FileNotFoundError, NotADirectoryError):
                return None
            if stat.S_ISLNK(kind):
                raise Refused("a link")
        if not stat.S_ISREG(kind):
            raise Refused("no regular file")
        if os.stat(at).st_size > limit:
            raise Refused("too-large")
        with open(at, "rb") as file:
            return file.read()

    def is_vault(self, folder):
        inside = [os.path.join(folder, name.encode()) for name in (".context", *LOGS)]
        return any(map(os.path.lexists, inside))

    def walk(self):  # VER-11
        """Ids of histories, files under `.versions`, candidate documents."""
        self.histories, self.files, self.strays, self.spelled = set(), {}, [], {}
        folders = [""]
        while folders:
            folder = folders.pop()
            for entry in os.scandir(os.path.join(self.root, folder.encode())):
                try:
                    name = entry.name.decode()
                except UnicodeDecodeError:
                    self.find("file-ignored")
                    continue
                path = f"{folder}/{name}" if folder else name
                is_folder = entry.is_dir(follow_symlinks=False)
                if name == ".versions" and is_folder:
                    self.walk_versions(path)
                elif entry.is_symlink() and name in (".versions", "packs"):
                    self.find("file-ignored", path=path)
                elif not is_folder:
                    is_file = entry.is_file(follow_symlinks=False)
                    self.files[path] = "link" if entry.is_symlink() else is_file or "special"
                elif name not in (".git", "node_modules"):
                    if self.is_vault(entry.path):
                        self.find("vault-nested", path=path)
                    else:
                        folders.append(path)
                        self.files[path + "/"] = "folder"
        self.recase()

    def recase(self):  # VAULT-65
        """Gives live files the paths of the ids from which they differ only in case."""
        live, recorded = {}, {}
        for path, kind in self.files.items():
            if kind is True and is_markdown(path) and not is_excluded(path):
                id, error = document_id(path)
                if not error and id not in self.histories:
                    live.setdefault(self.in_folder(path), []).append(path)
        for id in self.histories:
            history = self.path(history_folder(id) + "/history.yaml")
            if not is_governance(id) and not is_reserved(id) and os.path.lexists(history):
                recorded.setdefault(self.in_folder(live_path(id)), []).append(live_path(id))
        for key, paths in live.items():
            meant = recorded.get(key, [])
            is_free = len(meant) == 1 and not {meant[0], meant[0] + "/"} & self.files.keys()
            if len(paths) == 1 and is_free:
                self.spelled[meant[0]] = paths[0]
                self.files[meant[0]] = self.files.pop(paths[0])

    @staticmethod
    def in_folder(path):
        folder, _, name = path.rpartition("/")
        return folder, fold_case(name)

    def live(self, id):
        """The path of the live file of an id."""
        return self.spelled.get(live_path(id), live_path(id))

    def walk_versions(self, folder):
        above = folder.removesuffix(".versions")
        for entry in os.scandir(self.path(folder)):
            name = os.fsdecode(entry.name)
            path = f"{folder}/{name}"
            if entry.is_dir(follow_symlinks=False):
                id = above + name
                if is_reserved(id) or id_error(id):
                    self.find("id-collision", path=path)
                if not id_error(id):
                    self.histories.add(id)
            elif entry.is_symlink():
                self.find("file-ignored", path=path)
            elif name == ".gitattributes" and entry.is_file(follow_symlinks=False):  # VAULT-63
                continue
            elif path not in LOGS and not (above == "" and re.fullmatch(r".*\.replaced-\d+", name)):
                self.strays.append(path)

    # The log -----------------------------------------------------------------------------------

    def read_log(self):
        found = []
        for path, read in zip(LOGS, (self.read_delta, self.read_full)):
            try:
                data = self.read(path, 4 << 30)
                if data is not None:
                    found.append(read(data))
            except (Refused, UnicodeDecodeError) as why:
                code = "too-large" if str(why) == "too-large" else "checkpoint-log-unreadable"
                found.append((None, path is LOGS[1], [(code,)]))
        self.whole, self.entries, self.full = bool(found), [], False
        if len(found) == 2:  # CKPT-25
            are_whole = all(log[0] is not None and not log[2] for log in found)
            if are_whole and self.values(found[0][0]) == self.values(found[1][0]):
                self.find("unfinished")
            else:
                self.find("foreign-log")
                self.whole = False
            sound = [sum(not e.faults for e in log[0] or []) for log in found]
            found = [found[1] if sound[1] >= sound[0] else found[0]]
        if found:
            entries, self.full, codes = found[0]
            self.entries = entries or []
            self.whole &= entries is not None and not any(e.faults for e in self.entries)
            for code in codes:
                self.find(*code)
                self.whole &= code[0] != "too-large"

    def read_delta(self, data):
        lines, codes, entries = data.split(b"\n"), [], []
        if lines.pop():
            codes.append(("torn-tail",))
        for line in lines:
            try:
                entries.append(read_line(line))
            except Refused:
                entries.append(Checkpoint(["checkpoint-log-unreadable"]))
        if sum("checkpoint-log-unreadable" in entry.faults for entry in entries) > 100:
            raise Refused("too many lines")
        return entries, False, codes

    def read_full(self, data):
        log, length = read_torn(data, FullLog, lambda log: True, log=True)
        codes = [("torn-tail",)] if length < len(data) else []
        ours = next(
            (n for n, e in enumerate(log.entries) if any(map(is_governance, e.versions or ()))),
            None,
        )
        if ours is not None and all(not e.faults for e in log.entries[ours:]):  # CKPT-28
            text = "".join(map(spelled_full, log.entries[ours:]))
            head = "# Auto-generated. Do not edit manually.\ncheckpoints:\n" if ours == 0 else ""
            found = data[:length].decode()
            if found != head + text and (ours == 0 or not found.endswith(text)):
                codes.append(("log-respelled",))
        return log.entries, True, codes

    def values(self, entries):
        marks = zip(entries, self.maps(entries))
        return [(e.number, e.at, e.trigger, e.hash, e.faults, *maps) for e, maps in marks]

    @staticmethod
    def maps(entries):
        """The maps at each entry of a log, as far as they are known."""
        versions, hashes, found = {}, {}, []
        for entry in entries:
            if entry.faults:
                pass
            elif entry.set is not None:
                versions, hashes = dict(versions), dict(hashes)
                for id in (*entry.removed, *entry.set):
                    versions.pop(id, None), hashes.pop(id, None)
                for id, (version, hash) in entry.set.items():
                    versions |= {} if version is None else {id: version}
                    hashes |= {} if hash is None else {id: hash}
            else:
                versions, hashes = entry.versions, entry.hashes
            found.append((versions, hashes))
        return found

    def check_log(self):
        previous, expected, last_at, is_known, self.hash_faults = None, 1, None, True, 0
        self.head, before = {}, None
        for entry, maps in zip(self.entries, self.maps(self.entries)):
            number = entry.number or expected
            for code in entry.faults:
                self.find(code, checkpoint=number)
            if entry.number and entry.number != expected:
                self.find("checkpoint-gap", checkpoint=number)
            expected = number + 1
            if entry.at and millis(entry.at) > self.now:
                self.find("timestamp-future", checkpoint=number)
            if entry.faults:
                is_known, previous = is_known and self.full, None
                continue
            if last_at is not None and millis(entry.at) < last_at:
                self.find("timestamp-order", checkpoint=number)
            last_at = millis(entry.at)
            if entry.merged is not None:
                self.check_items(entry, before, is_known)
            if is_known and (entry is self.entries[0] or previous):
                self.check_hash(entry, previous, maps)
            previous = entry.hash
            before = self.check_maps(entry, before, maps, number)
            if before.is_merge or entry.merged is not None or LOG in {*maps[0], *maps[1]} and self.full:
                self.merges.append((before, entry.merged, is_known))
            entry.maps = maps
            ids = filter(is_artifact, {*maps[0], *maps[1]})
            self.head = {id: (maps[0].get(id), maps[1].get(id)) for id in ids}
        self.check_strict()

    def check_hash(self, entry, previous, maps):
        if self.hash_faults < 100 and sha256(entry.pre_image(previous, *maps)) != entry.hash:
            self.find("checkpoint-hash-mismatch", checkpoint=entry.number)
            self.hash_faults += 1

    def check_maps(self, entry, past, maps, place):
        """Compares the maps of a checkpoint with those before on its line, and keeps what it changes."""
        number, (versions, hashes) = entry.number, maps
        made = Held(entry, past, maps)
        made.place, made.is_side = place, place != number
        made.highest, made.ever = (dict(past.highest), past.ever) if past else ({}, frozenset())
        before = past.maps if past else ({}, {})
        in_delta = {*(entry.set or ()), *(entry.removed or ())}
        if not all(map(is_artifact, entry.removed or ())):  # AUDIT-26, STAGE-22
            self.find("field-malformed", checkpoint=number)
        if any(mark(before, id) == mark(maps, id) for id in in_delta):
            self.find("field-malformed", checkpoint=number)
        for id in sorted({*versions} ^ {*hashes}):
            self.find("checkpoint-hash-missing", id, None, number)
        ids, past_ids = {*versions, *hashes}, {*before[0], *before[1]}
        entry.changed = in_delta | {id for id in ids | past_ids if mark(before, id) != mark(maps, id)}
        for id in filter(CHAIN.fullmatch, entry.changed & ids):
            if None not in mark(maps, id) and not made.is_merge:
                bound = (CHAIN.fullmatch(id)[1], *mark(maps, id))
                self.bindings.append((place, entry.at, *bound))
        for id in filter(STAGED.fullmatch, entry.changed):
            seq, hash = mark(maps, id)
            if (seq is None) == (hash is None) and not made.is_merge:
                self.chains.append((place, id, seq, hash))
        entry.changed = {id for id in entry.changed if is_artifact(id)}
        if not made.is_merge:
            for id in filter(is_artifact, past_ids - ids):
                self.removals.setdefault(id, []).append((place, entry.at))
        for id, version in versions.items():
            if version < made.highest.get(id, 0):
                self.find("version-regression", id, version, number)
            made.highest[id] = max(version, made.highest.get(id, 0))
            if not is_artifact(id):
                continue
            if is_reserved(id) and id not in made.ever:
                self.find("id-collision", id)
            if mark(before, id) != mark(maps, id):
                self.seals.setdefault(id, []).append((place, *mark(maps, id), entry.at))
        made.ever |= {*filter(is_artifact, ids)}
        if entry.trigger not in entry.changed and not made.is_merge:
            known = entry.trigger in made.ever or entry.trigger in self.histories
            code = "checkpoint-trigger-" + ("unchanged" if known else "unknown")
            self.find(code, checkpoint=number)
        self.held[entry.hash] = self.places[place] = made
        self.made.append(made)
        return made

    def check_strict(self):  # VER-19 to VER-21
        entries = [entry for entry in self.entries if not entry.faults]
        begun = bool(entries) and any(map(is_governance, entries[0].maps[0]))
        wanted = self.configured_forms()
        main = [one for one in wanted if one[0] == int(one[0])]
        self.strict_by_form = strict_checkpoints(self.full, begun, main, len(self.entries))
        for place, made in self.places.items():
            if made.is_side and self.is_strict_by_form(made, begun, wanted):
                self.strict_by_form.add(place)
        governed = {place for place in self.places if self.rules_before(place)}
        self.strict = self.strict_by_form | governed
        if self.full and begun and not any(form == "full" for _, form in main):
            self.find("foreign-log")
        for made in (one for one in self.made if one.place in self.strict):
            ids = made.entry.changed
            documents = [id for id in ids if not is_governance(id)] or ids
            if made.is_merge:
                pass
            elif not ids:
                self.find("field-malformed", checkpoint=made.number)
            elif made.entry.trigger != max(documents, key=str.encode):
                self.find("checkpoint-trigger-mismatch", checkpoint=made.number)
            if made.before and millis(made.before.at) == millis(made.at):
                self.find("timestamp-order", checkpoint=made.number)
        for made, items, is_known in self.merges:
            self.check_merge(made, items, is_known)

    @staticmethod
    def is_strict_by_form(made, begun, wanted):
        """Whether a checkpoint of a side line is strict, by the forms sealed on its own line."""
        numbers = {one.place: n for n, one in enumerate(reversed([*made.line]), 1)}
        own = [(numbers[place], form) for place, form in wanted if place in numbers]
        return len(numbers) in strict_checkpoints(False, begun, own, len(numbers))

    def check_changes(self, artifacts):  # AUDIT-18, AUDIT-20, AUDIT-22
        """Compares the change logs with the log."""
        try:
            files = self.change_logs()
        except OSError:  # a folder that cannot be listed says nothing
            self.find("audit-malformed")
            self.check_accesses({})
            return
        except (Refused, UnicodeDecodeError):
            self.find("audit-malformed")
            files = {}
        hashes = {entry.number: entry.hash for entry in self.entries if not entry.faults}
        count = max(hashes, default=0)
        recorded = {n for n, begun in self.recorded.items() if begun}
        owed = {n for n in self.strict if n <= count and not self.is_merge(n) and self.latest(n, recorded) is not None}
        must_bind = {n for n in self.strict_by_form if n <= count and self.binds.get(self.latest(n, self.binds))}
        must_bind -= set(filter(self.is_merge, must_bind))  # MERGE-22
        log = [hashes.get(n + 1) for n in range(count)]
        histories = {
            id: {entry.version: entry.chain_hash for entry in artifact.history.entries}
            for id, artifact in artifacts.items()
            if artifact.history
        }
        may = [(n, rules and rules.reviewers_of_vault()) for n, _, rules in self.reviews]
        changed = {e.number: e.changed for e in self.entries if not e.faults}
        kinds = {id: self.kinds_of(artifact) for id, artifact in artifacts.items() if artifact.history}
        compared = {
            "changed": changed if self.whole else {}, "kinds": kinds, "now": self.now,
            "retention": min(self.kept, default=None),
        }
        if self.has_sides:
            compared |= {
                "sides": {(one.number, one.hash): one.place for one in self.made if one.is_side},
                "is_before": self.is_before, "aside": self.versions_aside(artifacts),
                "chain_at": lambda place, id: mark(self.places[place].maps, id) if place in self.places else (None, None),
            }
            compared["changed"] |= {one.place: one.entry.changed for one in self.made if one.is_side and self.whole}
        found = check_changes(files, log, owed, (), self.bindings, must_bind, histories, may, self.chains, compared)
        self.trusted = trusted_from(files, log, self.now, compared.get("sides", {}))
        for code, number in found:
            self.find(code, checkpoint=self.places[number].number if number in self.places else number)
        self.check_accesses(files)

    @staticmethod
    def kinds_of(artifact):
        """What the versions of a history are to its reviews, as far as that is known."""
        if artifact.track:
            return artifact.kinds
        made = [entry for entry in artifact.history.entries if entry.published_at or entry.retired_at]
        return {entry.version: "event" for entry in made}

    def check_accesses(self, changes):  # AUDIT-30
        """The chains of the access logs that the vault has."""
        try:
            files = self.logs_in(".context/audit/access")
        except (OSError, Refused, UnicodeDecodeError):
            self.find("audit-malformed")
            return
        for code, *_ in verify_log(files, changes)[1]:
            self.find(code)

    def change_logs(self):
        return self.logs_in(".context/audit")

    def logs_in(self, folder):
        files, names = {}, folder.split("/")
        for n in range(len(names)):
            if os.path.islink(self.path("/".join(names[: n + 1]))):
                raise OSError("a link")
        if os.path.isdir(self.path(folder)):
            for name in map(os.fsdecode, os.listdir(self.path(folder))):
                if FILE.fullmatch(name):
                    files[name] = self.read(f"{folder}/{name}", 256 * MIB).decode()
        return files

    def quiet(self):
        """A verifier of the same files whose findings nobody reads."""
        quiet = Verifier(os.fsdecode(self.root), "9999-12-31T23:59:59.999Z")
        quiet.is_quiet = True
        return quiet

    def configured_forms(self):
        """The sealed versions of the configuration: the checkpoint, and the form it asks for."""
        id, found = ".context/config.yaml", []
        quiet = self.quiet()
        self.load_rules(quiet)
        artifact = Artifact(quiet, id)
        artifact.open()
        if artifact.history:
            artifact.entries()
        for number, version, chain_hash, _ in self.seals.get(id, []):
            if chain_hash and artifact.sound.get(version) == chain_hash and version not in self.unapproved:
                text = artifact.texts[version]
                found.append((number, self.setting(text, "versions", "checkpoint_log")))
                interval = self.setting(text, "versions", "keyframe_interval")
                self.config[number] = int(interval) if interval else 10
                self.frontmatter[number] = self.setting(text, "frontmatter")
                self.recorded[number] = self.has(text, "audit")
                self.kept.append(int((self.setting(text, "audit", "retention") or "184d")[:-1]))
                settings = [self.setting(text, key, "bind") for key in ("audit", "staging")]
                self.binds[number] = "true" in settings
        self.find_foreign(artifact)
        retired = {number: None for number, _ in self.removals.get(id, []) if number not in self.void}
        found += retired.items()
        self.binds |= dict.fromkeys(retired, False)
        self.frontmatter |= retired
        return sorted(found, key=lambda one: one[0])

    @staticmethod
    def has(text, key):
        try:
            node = read_yaml(normalise(text))
        except Refused:
            return False
        return bool(node) and node.kind == "map" and node.get(key) is not None


def strict_checkpoints(full, begun, wanted, count):  # VER-19
    """The numbers of the strict checkpoints; `wanted` is C: checkpoint and form, in order."""
    everything = set(range(1, count + 1))
    deltas = [number for number, form in wanted if form == "delta"]
    fulls = [number for number, form in wanted if form == "full"]
    if full:
        return {n for n in everything if begun and n < min(fulls, default=count + 1)}
    if not deltas:
        return everything
    granted = [number for number in fulls if any(delta > number for delta in deltas)]
    strict, is_strict = set(), begun
    for n in range(1, count + 1):
        is_strict = (is_strict or n in deltas) and n not in granted
        if is_strict:
            strict.add(n)
    return strict
