# SPDX-License-Identifier: Apache-2.0
"""Logs of accesses: which lines are what their hashes say, and what is wrong (audit.md)."""

import json
import re

import formats as f

LINE = {"v", "seq", "prev", "at", "writer", "tool", "event", "verb", "args", "principal_source", "labels"}
EVENTS = {
    "access": {"documents", "bytes", "sha256", "elapsed_us"},
    "listing": {"count", "bytes", "sha256", "elapsed_us"},
    "refused": {"code"},
    "output": {"bytes", "sha256"},
    "change": {"action"},
}


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


def read_line(text):
    """The fields of a line and its hash (AUDIT-2, AUDIT-3)."""
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
    event = str(line.get("event"))
    if line.get("v") != 1 or not LINE | EVENTS.get(event, {"event of another kind"}) <= line.keys():
        raise Fault("audit-malformed")
    return line, said


def verify_log(files):
    """How many lines are what their hashes say, and the faults: code, file, line (AUDIT-10)."""
    sound, faults, logs = 0, [], {}
    for name in files:
        if found := re.fullmatch(r"([0-9a-f]{32})(?:\.([1-9][0-9]*))?\.jsonl", name):
            logs.setdefault(found[1], []).append((int(found[2] or 1), name))
    for writer, parts in sorted(logs.items()):
        seq, prev = 1, f"contextnest:audit:v1:{writer}"
        for first, name in sorted(parts):
            *lines, rest = files[name].split("\n")
            for number, text in enumerate(lines, 1):
                try:
                    line, said = read_line(text)
                    if line["writer"] != writer:
                        raise Fault("audit-chain-mismatch")
                except Fault as fault:
                    faults.append([str(fault), name, number])
                    continue
                if line["seq"] > seq:
                    faults.append(["audit-gap", name, number])
                elif line["seq"] < seq or line["prev"] != prev:
                    faults.append(["audit-chain-mismatch", name, number])
                if number == 1 and line["seq"] != first:
                    faults.append(["audit-chain-mismatch", name, number])
                seq, prev, sound = line["seq"] + 1, said, sound + 1
            if rest:
                faults.append(["audit-torn", name, len(lines) + 1])
    return sound, faults
