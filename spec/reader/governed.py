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
        """The rules from each checkpoint on at which they changed, with its time."""
        (configs, retired), (stewards, left) = self.sealed_texts(quiet, CONFIG), self.sealed_texts(quiet, STEWARDS)
        for number in retired:  # what a governed vault retires of both stays in force (REV-1)
            if self.mode_of(last_at(configs, number - 1)) == "governed":
                del configs[number]
                self.void.add(number)
        for number in left:
            if self.mode_of(last_at(configs, number - 1)) == "governed":
                del stewards[number]
        times = {number: at for id in (CONFIG, STEWARDS) for number, _, _, at in self.seals.get(id, [])}
        times |= {number: at for id in (CONFIG, STEWARDS) for number, at in self.removals.get(id, [])}
        is_governed = False
        for number in sorted({*configs, *stewards}):
            config, assigned = last_at(configs, number), last_at(stewards, number)
            mode = self.mode_of(config)
            if mode:
                is_governed = mode == "governed"
            is_governed &= any(n <= number for n in configs)
            bar_author = mode is not None and self.setting(config, "review", "bar_author") == "true"
            frontmatter = self.setting(config, "frontmatter") if mode else None
            names = Names(authorities_of(config) if mode else {})
            rules = Rules(assigned if mode else None, bar_author, frontmatter, names)
            self.reviews.append((number, times[number], rules if is_governed else None))

    def mode_of(self, text):
        """The mode that a configuration names; none where it cannot be read."""
        try:
            if text is None or read_yaml(normalise(text)) is None:
                return None
        except Refused:
            return None
        mode = self.setting(text, "governance") or "ungoverned"
        return mode if mode in ("governed", "ungoverned") else None

    def sealed_texts(self, quiet, id):
        """The texts that checkpoints seal first, none where they are lost or retired; and which
        checkpoints retire the file."""
        first = {}
        for number, version, chain_hash, _ in self.seals.get(id, []):
            first.setdefault(version, (number, chain_hash))
        found, retired = {number: None for number, _ in first.values()}, set()
        artifact = Artifact(quiet, id)
        artifact.open()
        if artifact.history:
            artifact.entries()
            for entry in artifact.history.entries:
                removed = [n for n, at in self.removals.get(id, []) if entry.retired_at == at]
                found |= {number: None for number in removed[:1]}
                retired |= set(removed[:1])
                number, chain_hash = first.get(entry.version, (None, None))
                if number and chain_hash == entry.chain_hash:
                    found[number] = artifact.texts.get(entry.version)
        return found, sorted(retired)

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

    def review(self, artifact, entry, text):
        """Judges the next version of a history, and takes it."""
        track = artifact.track
        if not track:
            return
        checkpoint, faults = None, []
        if entry.published_at:
            checkpoint = artifact.first.get(entry.version, (None,))[0]
        elif entry.retired_at:
            checkpoint = next((n for n, at in artifact.removals if at == entry.retired_at), None)
        rules = self.rules_before(checkpoint) if checkpoint else None
        if rules:
            fields, pending = Fields(text), track.pending
            change = pending and fields.state == "approved" and pending["change"]
            is_mine = change and key_of(entry.edited_by) in map(key_of, fields.approved_by)
            self.decided.setdefault(checkpoint, []).append((entry.edited_by, change, is_mine, artifact.id, entry.version))
        if rules and not self.is_target_of_move(track, entry, text, (checkpoint, rules)):
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
        for code in faults:
            code, version = code if isinstance(code, tuple) else (code, entry.version)
            self.find(code, artifact.id, version)
        before, kind = track.pending, track.take(entry, text)
        if kind in STEPS:
            artifact.steps.add(entry.version)
        after = track.pending
        if before and before["change"] and (not after or after["version"] != before["version"]):
            sealed = checkpoint if kind == "event" and not track.emergency else None
            self.parts.append((before, artifact.id, entry.edited_at, sealed, kind in ("rejected", "withdrawn")))

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

    def is_target_of_move(self, track, entry, text, event):  # REV-7
        if entry.version != 1 or track.pending or not entry.published_at or Fields(text).state != "approved":
            return False
        number, rules = event
        if number not in self.moves:
            removed = [id for id, gone in self.removals.items() if number in (n for n, _ in gone)]
            made = [self.moved(id, number, rules) for id in removed]
            self.moves[number] = {one.ids[1]: (one, source) for one, source in filter(None, made)}
        move, source = self.moves[number].get(track.id, (None, None))
        if move is None or move.by != entry.edited_by:
            return False
        document = parsed(text)
        return move.text(source, rules, document and document.text_of("title")) == text

    def moved(self, source, number, rules):
        """The move that a checkpoint's retirement of a document makes, and the published text; none
        without one."""
        at = next(at for n, at in self.removals[source] if n == number)
        artifact = Artifact(self.quiet(), source)
        artifact.open()
        if not artifact.history:
            return None
        artifact.entries()
        before = Track(source)
        for entry in artifact.history.entries:
            made = artifact.texts.get(entry.version)
            if entry.faults or made is None:
                return None
            if entry.retired_at == at:
                pending, retired = before.pending, Fields(made)
                if not pending or pending["action"] != "move" or retired.state != "approved" or not before.published:
                    return None
                return Move((source, pending["target"]), entry, made, number - 1), before.published[1]
            before.take(entry, made)
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
            editors = [by for by, *_ in event]
            most = max(editors, key=lambda by: (editors.count(by), by.encode()))
            approved = {change for by, change, is_mine, *_ in event if is_mine and by == most}
            for by, change, _, id, version in event:
                if by != most or change and change not in approved:
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


def last_at(texts, number):
    before = [n for n in sorted(texts) if n <= number]
    return texts[before[-1]] if before else None


def authorities_of(config):
    """The settings of a configuration that name vaults."""
    root = read_yaml(normalise(config))
    found = {}
    for key in ("federation", "namespace", "registry"):
        node = root.get(key) if root and root.kind == "map" else None
        if node and not node.is_null:
            found[key] = [k.text for k, _ in node.items] if node.kind == "map" else node.text
    return found
