# SPDX-License-Identifier: Apache-2.0
"""Live files, and the verdict of a whole vault (verify.md, sections 3 and 4.3)."""

import json
import os
import re

from artifact import Artifact
from formats import (
    MIB, Refused, claims, document_id, is_excluded, is_governance, is_markdown, normalise, read_yaml,
)  # fmt: skip
from reviews import is_submitted
from untouched import has_our_four, is_draft, is_edited, live_form, read_live
from foreign import FILES
from verify import LOGS, Verifier

NOTES = """head-elsewhere unfinished audit-torn audit-elsewhere audit-acknowledged audit-replaced foreign-record version-forgotten version-unpublished vault-nested policy-unsealed
checksum-mismatch timestamp-future history-respelled log-respelled key-unknown keyframe-interval
file-ignored checkpoint-trigger-unchanged staged-torn staged-unclaimed staged-unproved staged-elsewhere""".split()
WORKING = "drift published-without-history document-missing policy-drift".split()
UNSETTLED = """published-unsealed unrecorded-removal checkpoint-hash-missing version-unsealed
forgotten-present foreign-log file-unreadable folder-unreadable torn-tail audit-missing""".split()


def verify(root, now):
    """The verdict and the findings of a vault at a time."""
    v = Verifier(root, now)
    v.walk()
    v.read_log()
    v.check_log()
    for path in v.strays:
        v.find("foreign-record" if v.foreign_end and path in FILES else "unfinished", path=path)
    local = v.path(".context/local")
    is_folder = os.path.isdir(local) and not os.path.islink(local)
    for name in map(os.fsdecode, sorted(os.listdir(local)) if is_folder else []):
        if name == "staging-act" or name.startswith("promoting-"):
            v.find("unfinished", path=f".context/local/{name}")
    artifacts = {}
    for id in sorted(v.histories | set(v.seals), key=str.encode):
        artifacts[id] = Artifact(v, id)
        artifacts[id].check()
    entries = [e for a in artifacts.values() if a.history for e in a.history.entries]
    published = any(entry.published_at for entry in entries)
    has_log = any(map(os.path.lexists, map(v.path, LOGS)))
    is_blank = not v.entries and not any(f[0] == "checkpoint-log-unreadable" for f in v.findings)
    orphaned = is_blank and any(artifact.is_orphaned() for artifact in artifacts.values())
    if published and not has_log or orphaned:
        v.find("checkpoint-log-missing")
    v.split_changes()
    v.check_events()
    check_live(v, artifacts, v.whole or not (v.head or published))
    v.check_changes(artifacts)
    v.check_staged(artifacts)
    return verdict(v, published), v.findings


def verdict(v, published):
    codes = {finding[0] for finding in v.findings}
    if codes - set(NOTES) - set(WORKING) - set(UNSETTLED):
        return "damaged"
    if codes & set(UNSETTLED):
        return "unsettled"
    if codes & set(WORKING) and (v.entries or published):
        return "intact, working copy differs"
    return "intact, not anchored" if v.entries or published else "nothing published"


def check_live(v, artifacts, knows_head):
    exclude, layout = configuration(v)
    folded = {}
    for id in sorted({*artifacts, *documents(v, exclude, layout)}, key=str.encode):
        if any([folded.setdefault(claim, id) != id for claim in claims(id)]):
            v.find("id-collision", id)
    for id in sorted(v.head, key=str.encode):
        artifact, (version, chain_hash) = artifacts.get(id), v.head[id]
        if not os.path.lexists(v.path(v.live(id))) and not is_governance(id):
            v.find("document-missing", id)
        elif version:
            is_sound = artifact and chain_hash and artifact.sound.get(version) == chain_hash
            pending = artifact and artifact.track and artifact.track.pending
            compare(v, id, artifact.texts[version] if is_sound else None, pending)
    for path in sorted(v.files):
        kind = v.files[path]
        id, error = (path, None) if is_governance(path) else document_id(path)
        if is_governance(path):
            if path not in v.head and kind is True and knows_head:
                compare_dropped(v, artifacts.get(path), path)
        elif is_markdown(path) and is_place(v.spelled.get(path, path), exclude, layout):
            if id not in v.head or error or kind is not True:
                unpublished(v, path, id, error, kind, knows_head, layout)
        elif kind == "link" and path.startswith("packs/") and path.endswith(".yml"):
            v.find("file-ignored", path=path)


def compare_dropped(v, artifact, path):  # VER-13
    if artifact and artifact.removals and v.full and artifact.history:
        _, version, chain_hash, _ = artifact.seals[-1]
        is_retired = any(entry.retired_at for entry in artifact.history.entries)
        if not is_retired and artifact.sound.get(version) == chain_hash:
            compare(v, path, artifact.texts[version])
            return
    v.find("policy-unsealed", path)


def compare(v, id, sealed, pending=None):
    code = "policy-drift" if is_governance(id) else "drift"
    try:
        data = v.read(v.live(id), 16 * MIB)
        if data is None:
            if not (pending and pending["text"] == ""):  # REV-18
                v.find(code, id)
            return
        if sealed is None:  # VER-8 (d)
            return
        text = normalise(data.decode())
    except (Refused, UnicodeDecodeError):
        v.find(code, id)
        return
    if code == "policy-drift":
        is_same = text == sealed
    else:
        is_same = text == live_form(sealed) or is_draft(text, sealed, mode(v))
    if not is_same and not (pending and is_awaiting(id, text, pending)):
        v.find(code, id)


def is_awaiting(id, text, pending):  # REV-18
    return text == pending["text"] if is_governance(id) else is_submitted(text, pending["text"])


def mode(v):
    """Whether publishing edits live files, by the configuration sealed last."""
    return v.frontmatter[max(v.frontmatter)] if v.frontmatter else None


def unpublished(v, path, id, error, kind, knows_head, layout):
    if kind is not True:
        v.find("file-ignored", path=path)
        return
    try:
        text = v.read(v.spelled.get(path, path), 16 * MIB).decode()
        document, form, before = read_live(normalise(text))
        if "/" not in path and layout == "structured" and not before:
            return
        is_ours = is_edited(form, mode(v)) or has_our_four(document)
        is_published = document.status == "published" and is_ours
        if error:
            v.find(
                "published-without-history" if is_published and knows_head else "file-ignored",
                path=path,
            )
            return
    except (Refused, UnicodeDecodeError):
        data = v.read(v.spelled.get(path, path), 1 << 40).decode(errors="replace")
        lines = re.split("[\n\r\x85\u2028\u2029]", data)
        is_published = any(l.strip().startswith("status") and "published" in l for l in lines)
        if not is_published:
            v.find("file-ignored", path=path)
    if is_published and knows_head:
        v.find("published-without-history", id)


def documents(v, exclude, layout):
    spelled = v.spelled
    places = [p for p in v.files if is_markdown(p) and is_place(spelled.get(p, p), exclude, layout)]
    return {id for id, error in map(document_id, places) if error != "ending"}


def is_place(path, exclude, layout):  # VAULT-19, VAULT-20
    where = layout == "obsidian" or "/" not in path or path.startswith(("nodes/", "sources/"))
    return where and not is_excluded(path) and not any(p.fullmatch(path) for p in exclude)


README = re.compile(r"README\.(?i:md|markdown|mdx)", re.ASCII)  # VAULT-61


def configuration(v):
    layout = "structured" if v.files.get("nodes/") else "obsidian"
    try:
        root = read_yaml((v.read(".context/config.yaml", 64 << 10) or b"").decode())
    except (Refused, UnicodeDecodeError):
        return [README], layout
    said = root.get("layout") if root.kind == "map" else None
    patterns = root.get("exclude") if root.kind == "map" else None
    globs = [glob(item.text) for item in patterns.items] if patterns else []
    readme = root.get("readme") if root.kind == "map" else None
    if not readme or readme.text != "true":
        globs.append(README)
    layout = said.text if said and not said.is_null else layout
    return globs + templates(v, layout), layout


def templates(v, layout):  # VAULT-62
    try:
        setting = json.loads((v.read(".obsidian/templates.json", 64 << 10) or b"").decode())
        folder = setting["folder"].strip("/")
    except (Refused, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
    is_path = layout == "obsidian" and not set(folder.split("/")) & {"", ".", ".."}
    return [re.compile(re.escape(folder) + "/.*", re.DOTALL)] if is_path else []


GLOB = re.compile(r"^\*\*/|/\*\*/|/\*\*$|\*+|\?|\[!?.[^]]*\]|[{},]|\\.|.", re.DOTALL)
PARTS = {"**/": "(?:.*/)?", "/**/": "/(?:.*/)?", "/**": "/.+", "?": ".", "{": "(?:", "}": ")"}


def glob(pattern):  # VAULT-46
    out, depth = "", 0
    for part in GLOB.findall(pattern):
        depth += (part == "{") - (part == "}")
        if part in PARTS:
            out += PARTS[part]
        elif part.startswith("*"):
            out += ".*"
        elif part == "," and depth:
            out += "|"
        elif part.startswith("[") and len(part) > 1:
            out += "[" + part[1:].replace("!", "^", 1) if part[1] == "!" else part
        else:
            out += re.escape(part[-1])
    return re.compile(out, re.DOTALL)
