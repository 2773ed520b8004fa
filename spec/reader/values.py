# SPDX-License-Identifier: Apache-2.0
"""Values of lines of logs that no writer records (audit.md, AUDIT-36)."""

import re

import plain as f
from plain import is_principal

HASH = re.compile(r"sha256:[0-9a-f]{64}")
TRACE = re.compile(r"[0-9a-f]{8}-[1-9][0-9]*")
PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
PLACEHOLDERS = {"default", "none", "null", "undefined", "unknown", "anonymous"}
SOURCES = {"option", "env", "token", "history", "git", "none"}


def is_hash(text):
    return bool(HASH.fullmatch(text))


def is_label(text):  # AUDIT-4
    is_odd = f.has_control(text) or any(map(f.is_invisible, text))
    return bool(text.strip()) and len(text.encode()) <= 256 and text.strip().lower() not in PLACEHOLDERS and not is_odd


def is_head(head):
    return head is None or head["checkpoint"] > 0 and is_hash(head["hash"])


def is_text(text):  # AUDIT-7
    start, end = text.get("range", (0, text["bytes"]))
    is_part = "range" in text and "part" in text
    return (
        text["version"] > 0
        and text.get("checkpoint", 1) > 0
        and is_hash(text["chain_hash"])
        and is_hash(text["sha256"])
        and ("uri" in text or "id" in text)
        and not is_part
        and ("range" not in text or start <= end and text["bytes"] <= end - start)
    )


def is_request(line):
    labels, source = line["labels"], line["principal_source"]
    named = [labels[key] for key in ("agent", "session", "thread", "task", "node") if key in labels]
    named += [line["client"]] if "client" in line else []
    is_asked = "principal" not in line or source == "history" or is_principal(line["principal"])
    cause = line.get("cause")
    is_caused = cause is None or (
        bool(TRACE.fullmatch(cause)) and cause[:8] == line["writer"][:8] and int(cause[9:]) < line["seq"]
    )
    return (
        f.millis(line["at"]) is not None
        and all(map(is_label, named))
        and source in SOURCES
        and ("principal" in line) == (source != "none")
        and is_asked
        and ("traceparent" not in line or bool(PARENT.fullmatch(line["traceparent"])))
        and is_head(line.get("head"))
        and is_caused
    )


def is_change(line):
    action = line["action"]
    versions = [line["version"]] if action == "comment" else line.get("versions", [])
    heads = {"event": ["sealed"], "head-trust": ["from", "to"], "head-forget": ["from"], "replace-log": ["to"]}
    heads = heads.get(action, ["acknowledged"] if action == "acknowledge" else [])
    sound = all(one["version"] > 0 and is_hash(one["chain_hash"]) for one in versions)
    sound = sound and all(is_head(line.get(key)) for key in heads)
    if action == "event":
        ids = [id.encode() for id in line["ids"]]
        return sound and all(a < b for a, b in zip(ids, ids[1:]))
    if action == "bind":
        return f.millis(line["event_at"]) is not None
    if action == "head-trust":
        return sound and all(1 <= lost["from"] <= lost["to"] for lost in line.get("lost", []))
    if action == "draft":
        return is_hash(line["draft"]["sha256"])
    if action == "prune":
        cuts = all(cut["seq"] > 0 and is_hash(cut["hash"]) for cut in line["pruned"])
        return f.millis(line["before"]) is not None and cuts
    return sound


def are_sound(line):
    """Whether a writer records these values."""
    event = line["event"]
    if not is_request(line):
        return False
    if event == "access":
        is_classed = line.get("class", "direct") in ("direct", "set", "delegated")
        return is_classed and is_hash(line["sha256"]) and all(map(is_text, line["documents"]))
    if event in ("listing", "output"):
        return is_hash(line["sha256"]) and is_label(line.get("model", "m"))
    if event == "hydration":
        sound = all(is_hash(line[key]) for key in ("chain_hash", "result_hash"))
        traces = all(TRACE.fullmatch(trace) for trace in line.get("depends_on", []))
        return sound and traces and line["source_version"] > 0 and line["checkpoint"] > 0
    return event != "change" or is_change(line)
