# SPDX-License-Identifier: Apache-2.0
"""The reviews of a vault: the rules in force, and the findings of each history (REV-1, REV-17)."""

from artifact import Artifact
from audit import STEPS as ACTS
from audit import read_logs
from formats import Refused, millis, normalise, read_yaml
from moves import Move
from questions import Names
from reviews import STEPS, Fields, Rules, Track, parsed, step_edit
from stewards import key_of

CONFIG, STEWARDS = ".context/config.yaml", "stewards.yaml"


class Governed:
    """What a verifier knows of reviews."""

    def load_rules(self, quiet):
        """The rules from each checkpoint on at which they changed, with its time (REV-1)."""
        files = {id: self.governance_file(quiet, id) for id in (CONFIG, STEWARDS)}
        now, is_governed = {}, False
        for number in sorted({n for artifact in files.values() for n in artifact.events}):
            # Both are judged by the rules before their event.
            now |= {id: found for id in files if (found := self.reach(files[id], number))}
            kind, text = now.get(CONFIG, ("never", None))
            assigned = now.get(STEWARDS, ("never", None))[1]
            mode = self.mode_of(text) if kind == "text" else None
            if mode:
                is_governed = mode == "governed"
            elif kind in ("text", "lost"):
                is_governed = is_governed or STEWARDS in now
            elif kind == "never" or not is_governed:
                is_governed = False
            bar_author = mode is not None and self.setting(text, "review", "bar_author") == "true"
            frontmatter = self.setting(text, "frontmatter") if mode else None
            names = Names(authorities_of(text) if mode else {})
            rules = Rules(assigned if mode else None, bar_author, frontmatter, names)
            at = next(artifact.events[number][1] for artifact in files.values() if number in artifact.events)
            self.reviews.append((number, at, rules if is_governed else None))

    @staticmethod
    def setting(text, *keys):
        try:
            node = read_yaml(normalise(text))
        except Refused:
            return None
        for key in keys:
            node = node.get(key) if node and node.kind == "map" else None
        return None if node is None or node.is_null or node.kind == "map" else node.text

    def history_of(self, quiet, id):
        """The history of an artifact, with its texts."""
        artifact = Artifact(quiet, id)
        artifact.open()
        if artifact.history:
            artifact.entries()
        return artifact

    def governance_file(self, quiet, id):
        """The history of a file, before its first version: what each checkpoint does to it first."""
        artifact = self.history_of(quiet, id)
        artifact.seals, artifact.removals = self.seals_in(id, artifact.folder + "/history.yaml", False)
        artifact.first = {}
        for number, version, chain, at in artifact.seals:
            artifact.first.setdefault(version, (number, chain, at))
        artifact.track, artifact.submission = Track(id), []
        artifact.left = iter(artifact.history.entries if artifact.history else [])
        artifact.is_whole = True
        artifact.events = {number: (None, at) for number, at in artifact.removals}
        artifact.events |= {number: (version, at) for version, (number, _, at) in artifact.first.items()}
        return artifact

    def reach(self, artifact, number):
        """What a checkpoint brings into force of a file; none if nothing changes."""
        if number not in artifact.events:
            return None
        version, at = artifact.events[number]
        entries = artifact.history.entries if artifact.history else []
        if version is None and not any(entry.retired_at == at for entry in entries):
            return None  # the reference implementation drops such files
        rules = self.rules_before(number)
        for entry in artifact.left:
            text = artifact.texts.get(entry.version)
            artifact.is_whole &= not entry.faults and entry.version not in artifact.wrong
            faults = None
            if text is None:
                artifact.track.lose(None if entry.faults else entry)
            else:
                faults = self.judge_entry(artifact, entry, text, self.event_of(artifact, entry))
                self.take(artifact, entry, text, faults)
            if entry.version == version or version is None and entry.retired_at == at:
                break
        else:
            entry, text, faults = None, None, None
        if version is None:
            if rules and (faults is None or faults):
                if artifact.id == CONFIG:
                    self.void.add(number)
                return None
            return ("retired", None)
        is_sealed = entry and artifact.first[version][1] == entry.chain_hash == artifact.sound.get(version)
        if not is_sealed or not entry.published_at or rules and not artifact.is_whole:
            return ("lost", None)
        if faults:
            if artifact.id == CONFIG:
                self.unapproved.add(version)
            return None
        return ("text", text)

    def mode_of(self, text):
        """The mode that a configuration names; none where it cannot be read."""
        try:
            if text is None or read_yaml(normalise(text)) is None:
                return None
        except Refused:
            return None
        mode = self.setting(text, "governance") or "ungoverned"
        return mode if mode in ("governed", "ungoverned") else None

    def was_governed(self):
        return any(rules for _, _, rules in self.reviews)

    def track_of(self, id):
        return Track(id) if self.was_governed() and not self.is_quiet else None

    def rules_before(self, checkpoint):
        return next((rules for n, _, rules in reversed(self.reviews) if n < checkpoint), None)

    def rules_at(self, at):  # REV-31
        before = [rules for _, t, rules in self.reviews if millis(t) < millis(at)]
        after = self.reviews[len(before) :]
        return (before and before[-1]) or next((rules for *_, rules in after if rules), None)

    @staticmethod
    def event_of(artifact, entry):
        """The checkpoint whose event published or retired a version."""
        if entry.published_at:
            return artifact.first.get(entry.version, (None,))[0]
        if entry.retired_at:
            return next((n for n, at in artifact.removals if at == entry.retired_at), None)
        return None

    def judge_entry(self, artifact, entry, text, checkpoint):
        """What is wrong with the next version of a history, before it is taken: codes and versions."""
        track, faults = artifact.track, []
        rules = self.rules_before(checkpoint) if checkpoint else None
        moved = self.move_to(track, entry, text, (checkpoint, rules)) if rules else None
        if moved is not None:
            faults = moved
        elif rules:
            faults = [*artifact.submission, *track.judge(entry, text, rules)]
            is_emergency = not track.is_rule and Fields(text).state == "emergency"
            target = not is_emergency and track.pending and track.pending["target"]
            there = [number for number, version, *_ in self.seals.get(target, []) if version == 1]
            if entry.retired_at and target and checkpoint not in there:
                faults.append("approval-altered")
        elif not entry.published_at and not entry.retired_at:
            rules = self.rules_at(entry.edited_at)
            faults = track.judge_step(entry, text, rules) if rules else []
        step = track.kind(entry, text)
        if step == "submitted":  # what is wrong with it counts once it is approved
            artifact.submission, faults = [(code, entry.version) for code in faults], []
        elif step != "approved-in-part":
            artifact.submission = []
        return [fault if isinstance(fault, tuple) else (fault, entry.version) for fault in faults]

    @staticmethod
    def take(artifact, entry, text, faults):
        is_author = bool(faults) and not artifact.track.is_exact_approval(entry, text)
        kind = artifact.track.take(entry, text)
        if kind == "event" and faults:
            artifact.track.disown(entry, is_author)
        return kind

    def review(self, artifact, entry, text):
        """Judges the next version of a history, and takes it."""
        track = artifact.track
        if not track:
            return
        if artifact.is_aside:
            artifact.steps |= {entry.version} if track.take(entry, text) in STEPS else set()
            return
        checkpoint = self.event_of(artifact, entry)
        if checkpoint and self.rules_before(checkpoint):
            self.decided.setdefault(checkpoint, []).append(self.decision(artifact, entry, text))
        faults = self.judge_entry(artifact, entry, text, checkpoint)
        for code, version in faults:
            self.find(code, artifact.id, version)
        before, kind = track.pending, self.take(artifact, entry, text, faults)
        is_emergency = kind == "event" and entry.retired_at and not track.is_rule and Fields(text).state == "emergency"
        artifact.kinds[entry.version] = "emergency" if is_emergency else kind.replace("-", " ")
        if kind in STEPS:
            artifact.steps.add(entry.version)
        after = track.pending
        if before and before["change"] and (not after or after["version"] != before["version"]):
            sealed = checkpoint if kind == "event" and not track.emergency else None
            self.parts.append((before, artifact.id, entry.edited_at, sealed, kind in ("rejected", "withdrawn")))

    @staticmethod
    def decision(artifact, entry, text):  # REV-32
        """What an entry of an event says of who made it, before it is taken."""
        fields, pending = Fields(text), artifact.track.pending
        change = pending and fields.state == "approved" and pending["change"]
        is_mine = change and key_of(entry.edited_by) in map(key_of, fields.approved_by)
        return entry.edited_by, change, is_mine, artifact.id, entry.version

    def end_review(self, artifact):
        is_begun, named = self.named_steps()
        for entry in artifact.track.tail if artifact.track and is_begun else []:  # REV-10
            if (artifact.id, entry.version, entry.chain_hash) not in named:
                self.find("unfinished", artifact.id, entry.version)
        pending = artifact.track and artifact.track.pending
        if pending and pending["change"]:
            self.parts.append((pending, artifact.id, None, None, False))

    def named_steps(self):
        """Whether there is a line of a change log, and the versions that lines name."""
        if self.step_lines is None:
            try:
                lines = [line for line, _ in read_logs(self.change_logs())[0]]
            except (OSError, Refused, UnicodeDecodeError):
                lines = []
            changes = [line for line in lines if line["event"] == "change"]
            named = [one for line in changes if line["action"] in ACTS for one in line.get("versions", [])]
            self.step_lines = bool(changes), {(one["id"], one["version"], one["chain_hash"]) for one in named}
        return self.step_lines

    def move_to(self, track, entry, text, event):  # REV-7
        """What is wrong with the move that made a first version; none if no move did."""
        if entry.version != 1 or track.pending or not entry.published_at or Fields(text).state != "approved":
            return None
        number, rules = event
        if number not in self.moves:
            removed = [id for id, gone in self.removals.items() if number in (n for n, _ in gone)]
            made = [self.moved(id, number) for id in removed]
            self.moves[number] = {one.ids[1]: (one, *rest) for one, *rest in filter(None, made)}
        move, source, faults = self.moves[number].get(track.id, (None, None, None))
        if move is None or move.by != entry.edited_by:
            return None
        document = parsed(text)
        is_it = move.text(source, rules, document and document.text_of("title")) == text
        return faults if is_it else None

    def moved(self, source, number):
        """The move that a checkpoint's retirement of a document makes, the published text, and what is
        wrong with the approval; none without a move."""
        at = next(at for n, at in self.removals[source] if n == number)
        artifact = self.history_of(self.quiet(), source)
        if not artifact.history:
            return None
        artifact.track, artifact.submission = Track(source), []
        seals, artifact.removals = self.seals_in(source, artifact.folder + "/history.yaml", False)
        artifact.first = {}
        for sealed, version, chain, when in seals:
            artifact.first.setdefault(version, (sealed, chain, when))
        for entry in artifact.history.entries:
            made, before = artifact.texts.get(entry.version), artifact.track
            if entry.faults or made is None or entry.version in artifact.wrong:
                return None
            checkpoint = self.event_of(artifact, entry)
            if entry.retired_at == at:
                pending, retired = before.pending, Fields(made)
                if not pending or pending["action"] != "move" or retired.state != "approved" or not before.published:
                    return None
                own = self.places[number].number if number in self.places else number
                move = Move((source, pending["target"]), entry, made, own - 1)
                published, is_approved = before.published, before.is_approved
                faults = [code for code, _ in self.judge_entry(artifact, entry, made, checkpoint)]
                return move, published[1], faults + ["approval-missing"] * (not is_approved)
            if checkpoint and checkpoint >= number:
                return None
            self.take(artifact, entry, made, self.judge_entry(artifact, entry, made, checkpoint))
        return None

    def reviewed_retirement(self, artifact, entry):
        """What a retirement by a review makes of the text before; none for one without."""
        text, at = artifact.text_now, entry.retired_at
        fields = Fields(text)
        if fields.state == "approved" and fields.approved_at and millis(fields.approved_at) == millis(at):
            before = artifact.before
            return before and step_edit(before, entry.version, at, "approved", by=fields.approved_by, retires=True) or ""
        if fields.state == "emergency":
            reason = fields.reason
            return step_edit(artifact.published_text, entry.version, at, "emergency", reason=reason) or ""
        return None

    def check_events(self):  # REV-32
        for number, event in self.decided.items():
            for id, version in contradicted(event):
                self.find("approval-unauthorised", id, version, number)

    def split_changes(self):  # REV-8
        for one, id, to, sealed, _ in self.parts:
            if not sealed:
                continue
            for other, other_id, until, other_sealed, is_refused in self.parts:
                end = millis(until) if until else None
                is_alone = end is None or end >= millis(to) or (is_refused and end > millis(one["at"]))
                is_split = is_alone and millis(other["at"]) < millis(to) and other_id != id and other_sealed != sealed
                if other["change"] == one["change"] and is_split:
                    self.find("approval-missing", id, one["version"], sealed)
                    break


def contradicted(event):  # REV-32
    """The versions of an event that its other versions contradict."""
    editors = [by for by, *_ in event]
    most = max(editors, key=lambda by: (editors.count(by), by.encode()), default=None)
    approved = {change for by, change, is_mine, *_ in event if is_mine and by == most}
    return [(id, version) for by, change, _, id, version in event if by != most or change and change not in approved]


def authorities_of(config):
    """The settings of a configuration that name vaults."""
    root = read_yaml(normalise(config))
    found = {}
    for key in ("federation", "namespace", "registry"):
        node = root.get(key) if root and root.kind == "map" else None
        if node and not node.is_null:
            found[key] = [k.text for k, _ in node.items] if node.kind == "map" else node.text
    return found
