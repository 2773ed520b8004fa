# SPDX-License-Identifier: Apache-2.0
"""Logs of accesses and changes: which lines are what their hashes say, and what is wrong (audit.md)."""

import json
import re

import formats as f
import values
from artifact import is_principal
from stewards import key_of

LINE = {"v", "seq", "prev", "at", "writer", "tool", "event", "verb", "args", "principal_source", "labels"}
EVENTS = {
    "access": {"documents", "bytes", "sha256", "elapsed_us"},
    "listing": {"count", "bytes", "sha256", "elapsed_us"},
    "refused": {"code"},
    "output": {"bytes", "sha256"},
    "hydration": {"source", "source_version", "checkpoint", "chain_hash", "tools", "bytes", "result_hash"},
    "change": {"action"},
}
ACTIONS = {
    "bind": {"event_at"},
    "event": {"sealed", "ids"},
    "recover": {"paths"},
    "replace-log": set(),
    "head-trust": set(),
    "head-forget": set(),
    "prune": {"before", "pruned"},
    "hold": {"hold"},
    "lift": {"lifted", "reason"},
    "acknowledge": {"acknowledged", "reason"},
    "dismiss": {"dismissed", "reason"},
    "comment": {"version", "text"},
    "draft": {"draft"},
}
STEPS = ("submit", "approve-in-part", "reject", "withdraw", "ratify", "emergency")
ACTIONS |= {step: {"versions"} for step in STEPS}
ACTIONS |= {act: {"staged"} for act in ("pin", "unpin", "discard", "collect")}
ACTIONS |= {"promote": {"staged", "document", "document_version"}, "erase": {"staged", "reason"}}
UNKNOWN = {"a kind that is not known"}
FILE = re.compile(r"([0-9a-f]{32})(?:\.([1-9][0-9]*))?\.jsonl")


class Fault(Exception):
    pass


def count(value, depth):
    """How many values there are; raises for one that no line has (AUDIT-2)."""
    if isinstance(value, (dict, list)):
        if depth == 0:
            raise ValueError("nested too deep")
        items = value.values() if isinstance(value, dict) else value
        return 1 + sum(count(item, depth - 1) for item in items)
    is_number = isinstance(value, int) and 0 <= value < 1 << 53
    if not isinstance(value, (str, bool)) and not is_number:
        raise ValueError(value)
    return 1


def read_fields(text):
    """The fields of a line of any log or chain, and its hash (AUDIT-2, AUDIT-3)."""
    try:
        line = json.loads(text)
        # The line itself is not counted.
        is_small = count(line, 32) <= (1 << 16) + 1 and len(text.encode()) < 16 << 20
    except (ValueError, RecursionError):
        raise Fault("audit-malformed") from None
    if not isinstance(line, dict) or not is_small or f.jcs(line) != text or not isinstance(line.get("hash"), str):
        raise Fault("audit-malformed")
    said = line.pop("hash")
    if f.sha256(f.jcs(line)) != said:
        raise Fault("audit-chain-mismatch")
    return line, said


def read_line(text):
    """The fields of a line of a log, and its hash."""
    line, said = read_fields(text)
    event, action = str(line.get("event")), str(line.get("action"))
    wanted = LINE | EVENTS.get(event, UNKNOWN)
    if event == "change":
        wanted = wanted | ACTIONS.get(action, UNKNOWN)
    if not wanted <= line.keys() or line["v"] != 1:
        raise Fault("audit-malformed")
    if event == "change" and not are_ends(line.get("staged", []) if action == "bind" else []):
        raise Fault("audit-malformed")
    if not all(is_pinned(text) for text in line.get("documents", ())):
        raise Fault("audit-malformed")
    return line, said


def are_ends(staged):  # STAGE-21
    kinds = {"chain": str, "seq": int, "hash": str}
    sound = [isinstance(end, dict) and all(type(end.get(key)) is kinds[key] for key in kinds) for end in staged]
    return isinstance(staged, list) and all(sound)


def is_pinned(text):  # AUDIT-7
    """Whether the URI of a text, if it has one, is pinned to its checkpoint."""
    if "uri" not in text:
        return True
    _, at, pin = text["uri"].split("#")[0].partition("@")
    if not at and "checkpoint" not in text:
        return text["uri"].startswith("contextnest://staged/")
    return bool(at) and "checkpoint" in text and pin == str(text["checkpoint"])


def verify_log(files, changes=None):
    """How many lines are what their hashes say, the faults: code, file, line (AUDIT-10), and what was
    pruned: writer, first and last line (AUDIT-28). `changes` are the files of change logs."""
    said = [line for line, _ in read_logs(changes or {})[0]]
    prunes = [line for line in said if line["event"] == "change" and line["action"] == "prune"]
    cuts = {(cut["writer"], cut["seq"], cut["hash"]) for line in prunes for cut in line["pruned"]}
    pruned = []
    lines, faults = read_logs(files, cuts, pruned)
    faults += [("audit-contradicts", None, None) for line, _ in lines if is_after_head(line)]
    return len(lines), faults, pruned


def is_after_head(line):  # AUDIT-10
    """Whether it names a checkpoint after its head."""
    named = [text["checkpoint"] for text in line.get("documents", ()) if "checkpoint" in text]
    named += [line["checkpoint"]] if line["event"] == "hydration" else []
    return bool(named) and (not line.get("head") or max(named) > line["head"]["checkpoint"])


def check_changes(
    files, hashes, owed, tails=(), bindings=(), must_bind=(), histories=None, acknowledgers=(), chains=(),
    compared=None,
):
    """What is wrong with change logs: code and checkpoint (AUDIT-20 to AUDIT-22, AUDIT-26, AUDIT-31, STAGE-22).

    `hashes` are those of the checkpoints, from 1 on, `owed` the numbers of the events that need a
    line, `tails` the lines that the user wrote last. `bindings` are the lines that checkpoints
    bind: checkpoint, time, writer, number, hash; the checkpoints of `must_bind` need one.
    `histories` are the chain hashes of versions, by id and number. `acknowledgers` are, from a
    checkpoint on, the keys of those who may acknowledge a missing line; none: everybody. `chains` is
    what changes in the maps of staging chains: checkpoint, chain, number and hash, both none where it
    left the maps. `compared` has, as far as they are known, `changed`, the ids that a checkpoint set or
    removed; `kinds` of versions, by id and number; `now`; and `retention` in days. Of a log with merges
    it has `sides`, which gives the key of a checkpoint of a side line; `is_before`, the order of two
    checkpoints on their lines; `chain_at`, what a checkpoint has of a chain; and the versions `aside`.
    """
    compared = compared or {}
    sides = compared.get("sides", {})
    now = compared.get("now")
    lines, faults = read_logs(files)
    findings = [(code, None) for code, _, _ in faults]
    there = {(line["writer"], line["seq"], said) for line, said in lines}
    findings += [("audit-rollback", None) for tail in tails if tail not in there]

    def is_held(head):
        return is_in(hashes, head) or key_in(sides, head) is not None

    changes = [line for line, _ in lines if line["event"] == "change"]
    events = [line for line in changes if line["action"] == "event"]
    trusted = last_trusted(changes, is_held, now)
    findings += [
        ("audit-replaced" if may_be_replaced and trusted >= at else "audit-contradicts", number)
        for at, may_be_replaced, number in told(changes, is_held, compared)
    ]
    findings += [("timestamp-future", None) for _ in {line["writer"] for line in changes if is_far_ahead(line["at"], now)}]
    acknowledged = set()
    for line in changes:
        named = line.get({"event": "sealed", "acknowledge": "acknowledged"}.get(line["action"]))
        if named and not is_held(named):
            code = "audit-replaced" if trusted >= line["at"] else "audit-contradicts"
            findings.append((code, named["checkpoint"]))
        elif named and line["action"] == "acknowledge":  # AUDIT-31
            head, who = line.get("head"), line.get("principal")
            if head and who is not None and is_held(head) and head["checkpoint"] >= named["checkpoint"]:
                keys = [keys for n, keys in acknowledgers if n <= head["checkpoint"]][-1:]
                if keys in ([], [None]):  # before governance: those who were reviewers when it began
                    later = [keys for n, keys in acknowledgers if n > head["checkpoint"] and keys is not None]
                    keys = later[:1]
                if is_principal(who) and (keys in ([], [None]) or key_of(who) in keys[0]):
                    acknowledged.add(named["checkpoint"])
    for line in changes:  # the versions of steps and comments
        named = [line["version"]] if line["action"] == "comment" else line.get("versions", [])
        for one in named if line["action"] in (*STEPS, "comment") else []:
            if (one["id"], one["version"], one["chain_hash"]) in compared.get("aside", ()):  # MERGE-19
                continue
            if (histories or {}).get(one["id"], {}).get(one["version"]) != one["chain_hash"]:
                findings.append(("audit-replaced" if trusted >= line["at"] else "audit-contradicts", None))
            elif compared.get("kinds", {}).get(one["id"], {}).get(one["version"], said_of(line)) != said_of(line):
                findings.append(("audit-contradicts", None))
    submitted = [one for line in changes if line["action"] == "submit" for one in line["versions"]]
    submitted = [[one[key] for key in ("id", "version", "chain_hash")] for one in submitted]
    for line, one in ((line, one) for line in changes if line["action"] == "dismiss" for one in line["dismissed"]):
        if [one[key] for key in ("id", "version", "chain_hash")] not in submitted:
            findings.append(("audit-replaced" if trusted >= line["at"] else "audit-contradicts", None))
    recorded = {place_of(sides, line["sealed"]) for line in events if is_held(line["sealed"])}
    for n in sorted(set(owed) - recorded):
        findings.append(("audit-acknowledged" if n in acknowledged else "audit-missing", n))
    findings += [("audit-missing", n) for n in sorted(set(must_bind) - {b[0] for b in bindings})]
    times = {(line["writer"], line["seq"], said): line.get("event_at") for line, said in lines}
    lost, faulty, named = {}, set(), {}
    staged = staged_ends(lines)
    for number, at, *line in sorted(bindings, key=lambda bound: (bound[2], bound[3], bound[0])):
        if times.get(tuple(line)) == at:
            named.setdefault(number, set()).update(staged[tuple(line)])
            continue
        faulty.add(number)
        if tuple(line) not in times:
            lost.setdefault(line[0], number)  # of each writer the first
        else:
            findings.append(("audit-contradicts", number))
    findings += [("audit-rollback", number) for number in lost.values()]
    return findings + check_chains(chains, named, faulty, compared.get("chain_at"))


DAY = 24 * 60 * 60 * 1000
KINDS = {
    "submit": "submitted", "comment": "submitted", "approve-in-part": "approved in part", "reject": "rejected",
    "withdraw": "withdrawn", "ratify": "ratified", "emergency": "emergency",
}


def said_of(line):
    """The kind of the versions that a line names."""
    return KINDS[line["action"]]


def is_in(hashes, head):
    """Whether the log has a checkpoint with its hash; every log has the empty one before it."""
    n = head and head["checkpoint"]
    return head is None or n in range(1, len(hashes) + 1) and hashes[n - 1] == head["hash"]


def key_in(sides, head):
    return sides.get((head["checkpoint"], head["hash"])) if head else None


def place_of(sides, head):
    """The key of a checkpoint that the log holds: its number, if it is on the main line."""
    key = key_in(sides, head)
    return head["checkpoint"] if key is None else key


def last_trusted(changes, is_held, now):
    """The time of the last line that declares that the log counts as it is (AUDIT-22)."""
    ends = [line for line in changes if line["action"] in ("head-trust", "replace-log")]
    ends = [line["at"] for line in ends if is_held(line.get("to")) and not is_far_ahead(line["at"], now)]
    return max(ends, default="")


def trusted_from(files, hashes, now, sides):
    """The same, of files; none if no change is recorded."""
    changes = [line for line, _ in read_logs(files)[0] if line["event"] == "change"]

    def is_held(head):
        return is_in(hashes, head) or key_in(sides, head) is not None

    return last_trusted(changes, is_held, now) if changes else None


def is_far_ahead(at, clock):  # VER-41
    return clock is not None and f.millis(at) is not None and f.millis(at) > clock + DAY


def told(changes, is_held, compared):  # AUDIT-37
    """What lines contradict: the time of each, whether a replaced log excuses it, and a checkpoint."""
    found, heads, events, sides = [], {}, [], compared.get("sides", {})
    is_before = compared.get("is_before", lambda one, other: one < other)
    for line in changes:
        action, head, writer = line["action"], line.get("head"), line["writer"]
        if action == "event" and is_held(line["sealed"]):
            last = events[-1] if events else None
            if last and line.get("cause") == f"{writer[:8]}-{last[0]['seq']}" and last[0]["sealed"] == line["sealed"]:
                last[1].extend(line["ids"])
                last[2] = last[2] and len(line["ids"]) == 1000
            else:
                events.append([line, list(line["ids"]), len(line["ids"]) == 1000])
        if action == "prune":
            found += pruned_early(line, compared)
        if action in ("head-trust", "head-forget", "replace-log"):
            heads.pop(writer, None)
            continue
        if action == "acknowledge" or action == "event" and not is_held(line["sealed"]):
            continue
        if action == "event":
            before = line["sealed"]["checkpoint"] - 1
            # A gap of the log is reported as that.
            is_known = head and (is_held(head) or is_held({"checkpoint": before, "hash": None}))
            if not (head and head["checkpoint"] == before and is_known or head is None and before == 0):
                found.append((line["at"], False, line["sealed"]["checkpoint"]))
                continue
        elif head is None:
            if action in (*STEPS, "comment"):
                found.append((line["at"], True, None))
        elif not is_held(head):
            found.append((line["at"], True, head["checkpoint"]))
            continue
        if head and not line.get("recovered"):
            seq, last = heads.get(writer, (0, 0))
            place = place_of(sides, head)
            if seq < line["seq"] and is_before(place, last):
                found.append((line["at"], True, head["checkpoint"]))
            heads[writer] = (line["seq"], place)
    for line, ids, is_full in events:
        number = place_of(sides, line["sealed"])
        changed = compared.get("changed", {}).get(number)
        if changed is not None:
            changed = sorted(set(changed), key=str.encode)
            if ids != (changed[: len(ids)] if is_full and len(changed) > len(ids) else changed):
                found.append((line["at"], False, number))
    return found


def pruned_early(line, compared):
    at, before = f.millis(line["at"]), f.millis(line["before"])
    if at is None or before is None:
        return []
    kept = (compared.get("retention") or 0) * DAY
    return [(line["at"], False, None)] * (is_far_ahead(line["at"], compared.get("now")) + (before + kept > at + DAY))


def staged_ends(lines):  # STAGE-21
    """What lines `bind` say of staging chains, with those of the same event before them."""
    found, first, before = {}, None, set()
    for line, said in lines:
        if line["event"] != "change" or line["action"] != "bind":
            continue
        this = (line["writer"], line.get("cause"), line["event_at"])
        if this != first:
            trace = f"{line['writer'][:8]}-{line['seq']}"
            first, before = (line["writer"], trace, line["event_at"]), set()
        before = before | {(end["chain"], end["seq"], end["hash"]) for end in line.get("staged", ())}
        found[line["writer"], line["seq"], said] = before
    return found


def check_chains(chains, named, faulty, chain_at=None):  # STAGE-22
    """Compares what lines of events name with the maps of their checkpoints."""
    findings = []
    for number, ends in named.items():
        for chain, seq, hash in ends:
            held = [bound[2:] for bound in chains if bound[1] == chain and bound[0] <= number][-1:]
            held = [chain_at(number, chain)] if chain_at else held
            if not held or held[0][0] is None or not (held[0][0] > seq or tuple(held[0]) == (seq, hash)):
                findings.append(("audit-contradicts", number))
                break
    bound = {}
    for number, *end in chains:
        if end[1] is not None and number not in faulty:
            bound.setdefault(number, set()).add(tuple(end))
    return findings + [("audit-contradicts", n) for n, ends in bound.items() if ends - named.get(n, set())]


def read_logs(files, cuts=(), pruned=None):
    """The lines that are what their hashes say, each with its hash, and the faults. Lines that are
    missing before a cut are added to `pruned`."""
    sound, faults, logs = [], [], {}
    for name in files:
        if found := FILE.fullmatch(name):
            logs.setdefault(found[1], []).append((int(found[2] or 1), name))
    for writer, parts in sorted(logs.items()):
        seq, prev = 1, f"contextnest:audit:v1:{writer}"
        for first, name in sorted(parts):
            *lines, rest = files[name].split("\n")
            read = [read_of(text, writer) for text in lines]
            # A power cut leaves NUL at the end: there, no line is what its hash says.
            end = max((n for n, (_, code) in enumerate(read, 1) if code is None), default=0)
            nul = (n for n, text in enumerate(lines, 1) if n > end and "\0" in text)
            torn = next(nul, len(lines) + 1)
            for number, (line, code) in enumerate(read[: torn - 1], 1):
                if code:
                    faults.append([code, name, number])
                    continue
                is_cut = (writer, line["seq"] - 1, line["prev"]) in cuts
                if line["seq"] > seq and is_cut:
                    pruned.append([writer, seq, line["seq"] - 1])
                elif line["seq"] > seq:
                    faults.append(["audit-gap", name, number])
                elif line["seq"] < seq or line["prev"] != prev:
                    faults.append(["audit-chain-mismatch", name, number])
                if not values.are_sound(line):
                    faults.append(["audit-malformed", name, number])
                if number == 1 and line["seq"] != first and not (is_cut and line["seq"] > first):
                    faults.append(["audit-chain-mismatch", name, number])
                seq, prev = line["seq"] + 1, line["hash"]
                sound.append((line, line.pop("hash")))
            if torn <= len(lines) or rest:
                faults.append(["audit-torn", name, torn])
    return sound, faults


def read_of(text, writer):
    """A line of a writer with its hash, or what is wrong with it."""
    try:
        line, said = read_line(text)
    except Fault as fault:
        return None, str(fault)
    return (line | {"hash": said}, None) if line["writer"] == writer else (None, "audit-chain-mismatch")
