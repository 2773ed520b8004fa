# SPDX-License-Identifier: Apache-2.0
"""Staged results: chains, contents, and which acts count (staging.md)."""

import json
import math
import os
import re
from decimal import Decimal
from urllib.parse import quote, unquote

import formats as f
from audit import Fault, is_far_ahead, read_fields
from formats import MIB, Refused
from values import is_label

CHAINS, OBJECTS = ".context/staging/chains", ".context/staging/objects"
FILE = re.compile(r"([0-9a-f]{32})\.jsonl")
WRITER, HASH = re.compile(r"[0-9a-f]{32}"), re.compile(r"sha256:([0-9a-f]{64})")
ACTS = ("pin", "unpin", "promote", "discard", "collect", "erase")
ENDS = ("discard", "collect", "erase")
ENTRY = {
    "source": str, "source_version": int, "labels": dict, "canonical": str, "content_hash": str, "raw_hash": str,
    "bytes": int, "tools": list, "depends_on": list, "retention_until": str,
}  # fmt: skip
MAYBE = {"session": str, "principal": str, "media_type": str, "server": str, "cache": str, "ttl": int}
LABELS = {"agent": str, "session": str, "session_implicit": bool, "thread": str, "task": str, "node": str}


def has(value, kinds, needed=True):
    """Whether an object has values of these kinds."""
    return all(type(value[key]) is kind if key in value else not needed for key, kind in kinds.items())


def read_line(text, source):  # STAGE-2 to STAGE-4
    """The fields of a line with its hash."""
    line, said = read_fields(text)
    if not has(line, {"v": int, "seq": int, "prev": str, "at": str, "kind": str}) or line["v"] != 1:
        raise Fault("audit-malformed")
    is_sound = is_entry(line, source) if line["kind"] == "stage" else is_act(line)
    if not is_sound or f.millis(line["at"]) is None:
        raise Fault("audit-malformed")
    return line | {"hash": said}


def is_entry(line, source):
    if not has(line, ENTRY) or not has(line, MAYBE, False) or not has(line["labels"], LABELS, False):
        return False
    path, at, pin = line["source"].removeprefix("contextnest://").rpartition("@")
    is_source = line["source"].startswith("contextnest://") and at and re.fullmatch(r"0|[1-9][0-9]*", pin, re.ASCII)
    texts = all(isinstance(text, str) for text in line["tools"] + line["depends_on"])
    hashes = HASH.fullmatch(line["content_hash"]) and HASH.fullmatch(line["raw_hash"])
    is_raw = line["canonical"] == "raw" and line["content_hash"] == line["raw_hash"]
    is_kept = f.millis(line["retention_until"]) is not None and (line["canonical"] == "jcs" or is_raw)
    is_kept = is_kept and line["retention_until"] >= line["at"]
    labels = [line["session"]] * ("session" in line) + [value for value in line["labels"].values() if isinstance(value, str)]
    is_numbered = pin != "0" and line["source_version"] > 0
    return bool(is_source and is_numbered and unquote(path) == source and texts and hashes and is_kept and all(map(is_label, labels)))


def is_act(line):
    entry = line.get("entry")
    if line["kind"] not in ACTS or not isinstance(entry, dict):
        return False
    if not has(entry, {"writer": str, "seq": int, "hash": str}):
        return False
    if not WRITER.fullmatch(entry["writer"]) or not HASH.fullmatch(entry["hash"]):
        return False
    if not has(line, {"principal": str, "document": str, "reason": str, "version": int}, False):
        return False
    is_made = "version" in line and "document" in line and not f.id_error(line["document"])
    return (line["kind"] != "promote" or is_made) and (line["kind"] != "erase" or "reason" in line)


def read_chain(data, source, writer):
    """The lines of a chain that are what their hashes say, and the codes of what is wrong (STAGE-11)."""
    *lines, rest = data.split(b"\n")
    read, codes, sound = [read_of(line, source) for line in lines], [], []
    end = max((n for n, (_, code) in enumerate(read, 1) if code is None), default=0)
    seq, prev, is_cut = 1, f"contextnest:staging:v1:{source}:{writer}", False
    for number, (text, (line, code)) in enumerate(zip(lines, read)):
        is_cut |= b"\0" in text and number >= end
        if code:
            codes.append("staged-torn" if is_cut else code)
            continue
        if line["seq"] != seq or line["prev"] != prev:
            codes.append("staged-chain-mismatch")
        seq, prev = line["seq"] + 1, line["hash"]
        sound.append(line)
    return sound, codes + ["staged-torn"] * bool(rest)


def read_of(line, source):
    try:
        return read_line(line.decode(), source), None
    except UnicodeDecodeError:
        return None, "staged-malformed"
    except Fault as fault:
        return None, str(fault).replace("audit", "staged")


def number(value):  # RFC 8785, as numbers of ECMAScript
    if isinstance(value, int) and abs(value) < 1 << 53:
        return str(value)
    try:
        value = float(value)
    except OverflowError as why:
        raise ValueError(value) from why
    if not math.isfinite(value):
        raise ValueError(value)
    if value == 0:
        return "0"
    _, digits, power = Decimal(repr(abs(value))).normalize().as_tuple()
    digits, count = "".join(map(str, digits)), len(digits)
    power += count - 1  # that of the first digit
    if count <= power + 1 <= 21:
        text = digits + "0" * (power + 1 - count)
    elif 0 < power + 1 <= 21:
        text = digits[: power + 1] + "." + digits[power + 1 :]
    elif -6 < power + 1 <= 0:
        text = "0." + "0" * -(power + 1) + digits
    else:
        sign = "+" if power > 0 else "-"
        text = digits[0] + ("." + digits[1:] if count > 1 else "") + f"e{sign}{abs(power)}"
    return "-" + text if value < 0 else text


def jcs(value):
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{jcs(key)}:{jcs(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(jcs, value)) + "]"
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number(value) if is_number else f.jcs(value)


def json_of(content):  # STAGE-5
    """The value of JSON that has one meaning; raises for any other content."""

    def members(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key twice")
        return dict(pairs)

    def refuse(word):
        raise ValueError(word)

    def count(value, depth):
        if isinstance(value, (dict, list)):
            if depth == 0:
                raise ValueError("nested too deep")
            items = value.values() if isinstance(value, dict) else value
            return 1 + sum(count(item, depth - 1) for item in items)
        return 1

    if len(content) > 16 * MIB:
        raise ValueError("too long")
    text = content.decode()
    value = json.loads(text.strip(" \t\n\r"), object_pairs_hook=members, parse_constant=refuse)
    jcs(value).encode()
    if text.startswith("\ufeff") or count(value, 64) > 1 << 20:
        raise ValueError("too many values")
    return value


def content_hash(content, canonical):
    """The hash of a content, as its entry takes it; none where that is not JSON of one meaning."""
    if canonical == "raw":
        return f.sha256_of(content)
    try:
        return f.sha256(jcs(json_of(content)))
    except (ValueError, RecursionError):
        return None


def canonical_of(content, media_type):
    """What the hash of a content is of, and the hash."""
    if media_type is not None:
        word = media_type.split(";")[0].strip().lower()
        is_json = word in ("application/json", "text/json") or word.endswith("+json")
    else:
        is_json = content.lstrip(b" \t\n\r\f")[:1] in (b"{", b"[")
    hashed = content_hash(content, "jcs") if is_json else None
    return ("jcs", hashed) if hashed else ("raw", f.sha256_of(content))


class Entry:
    """An entry, and what became of it (STAGE-12)."""

    def __init__(self, source, writer, line):
        self.source, self.writer, self.line = source, writer, line
        self.seq, self.raw = line["seq"], line["raw_hash"]
        self.uri = f"contextnest://staged/{quote(source, safe='/')}/{writer[:8]}-{line['seq']}"
        self.is_pinned, self.documents, self.ended, self.is_doubtful = False, set(), None, False

    @property
    def state(self):
        if self.ended:
            return {"discard": "discarded", "collect": "collected", "erase": "erased"}[self.ended]
        return "promoted" if self.documents else "pinned" if self.is_pinned else "staged"

    def apply(self, acts, judge):
        """Takes the acts in their order; gives the codes of those that are not sound (STAGE-19)."""
        codes, is_sure = [], False
        for writer, act in sorted(acts, key=lambda one: (one[1]["at"], one[0], one[1]["seq"])):
            kind = act["kind"]
            is_early = kind == "collect" and act["at"] < self.line["retention_until"]
            code = "staged-contradicts" if is_early else judge(self, act)
            codes += [code] * bool(code)
            if code in ("staged-contradicts", "staged-unauthorised"):
                continue
            self.is_pinned = kind == "pin" or (self.is_pinned and kind != "unpin")
            self.documents |= {act["document"]} if kind == "promote" else set()
            if kind in ENDS:
                is_sure |= code is None
                if self.ended is None or ENDS.index(kind) > ENDS.index(self.ended):
                    self.ended = kind
        self.is_doubtful = bool(self.ended) and not is_sure
        return codes

    def is_collected_before(self, now):
        return self.ended == "collect" and now < f.millis(self.line["retention_until"])

    def claims(self, now):  # STAGE-17
        return not self.ended or self.is_doubtful or self.is_collected_before(now)


def entries_of(chains, judge=lambda entry, act: None):
    """The entries of chains, and the codes of acts that are not sound or upon no entry."""
    acts, entries, codes = {}, [], []
    for (source, writer), lines in chains.items():
        for line in lines:
            if line["kind"] != "stage":
                key = (source, line["entry"]["writer"], line["entry"]["seq"])
                acts.setdefault(key, []).append((writer, line))
    for (source, writer), lines in sorted(chains.items()):
        for line in lines:
            if line["kind"] == "stage":
                entry = Entry(source, writer, line)
                upon = acts.pop((source, writer, line["seq"]), [])
                own = [one for one in upon if one[1]["entry"]["hash"] == line["hash"]]
                codes += ["staged-chain-mismatch"] * (len(upon) - len(own)) + entry.apply(own, judge)
                entries.append(entry)
    return entries, codes + ["staged-chain-mismatch"] * sum(map(len, acts.values()))


class Staging:
    """What a verifier knows of staged results."""

    def check_staged(self, artifacts):
        try:
            chains = self.read_chains()
        except OSError:
            self.find("staged-malformed", path=CHAINS)
            return
        self.check_bound_chains(chains)
        is_sound = self.whole and all(e.number == n for n, e in enumerate(self.entries, 1))
        judge = Judge(self, artifacts).judge if is_sound else (lambda entry, act: None)
        entries, codes = entries_of(chains, judge)
        for code in codes:
            self.find(code, path=CHAINS)
        ahead = [line for lines in chains.values() for line in lines if f.millis(line["at"]) > self.now]
        early = [entry for entry in entries if entry.is_collected_before(self.now)]
        forged = [entry for entry in early if is_far_ahead(entry.line["retention_until"], self.now)]
        for _ in forged:
            self.find("staged-contradicts", path=CHAINS)
        if len(forged) < len(early) or any(line["kind"] != "collect" for line in ahead):
            self.find("timestamp-future", path=CHAINS)
        owners = sorted((source, writer[:8]) for source, writer in chains)
        if len(set(owners)) < len(owners):  # STAGE-6
            self.find("staged-chain-mismatch", path=CHAINS)
        maps = {e.number: e.maps[0] for e in self.entries} if is_sound else {}
        for entry in entries if is_sound else []:
            pin = int(entry.line["source"].rpartition("@")[2])
            then = maps.get(pin, {}).get(entry.source)
            if then is None or then != entry.line["source_version"]:
                self.find("staged-unproved", path=CHAINS)
        times = {e.number: e.at for e in self.entries}
        for entry in entries if is_sound else []:
            at, made = entry.line["at"], times.get(int(entry.line["source"].rpartition("@")[2]))
            if made is not None and f.millis(at) < f.millis(made):
                is_bound = self.trusted is not None and self.trusted < at
                self.find("staged-contradicts" if is_bound else "staged-unproved", path=CHAINS)
        self.check_claims(entries, artifacts)
        self.check_contents(entries)

    def check_claims(self, entries, artifacts):
        """Published texts that say that they were promoted from an entry, and no act says so."""
        for id, (version, _) in self.head.items():
            text = artifacts[id].texts.get(version) if id in artifacts else None
            origin = Judge.origin(text) if text is not None else None
            if origin is None or f.Document(text).fields.get("derived_from"):
                continue
            named = [e for e in entries if origin in (e.uri, e.uri.replace(f"/{e.writer[:8]}-", f"/{e.writer}-"))]
            if named and not any(id in entry.documents for entry in named):
                self.find("staged-unproved", id)

    def check_bound_chains(self, chains):  # STAGE-22
        for _, chain, seq, hash in self.chains:
            source, writer = f.STAGED.fullmatch(chain).groups()
            lines = chains.get((source, writer), [])
            if seq is not None and (seq, hash) not in {(line["seq"], line["hash"]) for line in lines}:
                self.find("staged-rollback", path=chain)

    def read_chains(self):
        """The sound lines of the chains, by source and writer (STAGE-1)."""
        found, folders = {}, [("", 0)]
        if not os.path.lexists(self.path(CHAINS)):
            return {}
        while folders:
            folder, depth = folders.pop()
            try:
                names = self.names_in(f"{CHAINS}/{folder}" if folder else CHAINS)
                if depth > 256:
                    raise OSError("too deep")
            except OSError:
                if depth == 0:
                    raise
                self.find("staged-malformed", path=folder)
                continue
            for name in names:
                below = f"{folder}/{name}" if folder else name
                path, writer = f"{CHAINS}/{below}", FILE.fullmatch(name)
                is_file = os.path.isfile(self.path(path)) and not os.path.islink(self.path(path))
                is_folder = os.path.isdir(self.path(path)) and not os.path.islink(self.path(path))
                if writer and is_file and not f.id_error(folder):
                    self.read_one(found, folder, writer[1], path)
                elif writer and not is_folder:
                    self.find("staged-malformed", path=path)
                elif not is_file:
                    folders.append((below, depth + 1))
        return found

    def names_in(self, folder):
        at = self.root
        for name in folder.split("/"):
            at = os.path.join(at, os.fsencode(name))
            if os.path.islink(at):
                raise OSError("a link")
        names = []
        for name in os.listdir(self.path(folder)):
            try:
                names.append(name.decode())
            except UnicodeDecodeError:
                pass
        return names

    def read_one(self, found, source, writer, path):
        try:
            data = self.read(path, 256 * MIB)
        except Refused:
            self.find("staged-malformed", path=path)
            return
        found[source, writer], codes = read_chain(data or b"", source, writer)
        for code in codes:
            self.find(code, path=path)

    def check_contents(self, entries):
        ended = {entry.raw for entry in entries if entry.ended}
        for entry in entries:
            if not entry.ended:
                self.check_content(entry, entry.raw in ended)
        claimed = {entry.raw for entry in entries if entry.claims(self.now)}
        try:
            if not os.path.lexists(self.path(OBJECTS)):
                return
            for folder in self.names_in(OBJECTS):
                path = f"{OBJECTS}/{folder}"
                if len(folder.encode()) != 2 or not os.path.isdir(self.path(path)):
                    continue
                for name in self.names_in(path):
                    if HASH.fullmatch(f"sha256:{folder}{name}") and f"sha256:{folder}{name}" not in claimed:
                        self.find("staged-unclaimed", path=OBJECTS)
        except OSError:
            self.find("staged-malformed", path=OBJECTS)

    def check_content(self, entry, is_ended):
        digits = entry.raw.removeprefix("sha256:")
        path = f"{OBJECTS}/{digits[:2]}/{digits[2:]}"
        try:
            content = self.read(path, 64 * MIB)
        except Refused:
            self.find("staged-content-mismatch", path=path)
            return
        if content is None:
            self.find("staged-elsewhere" if is_ended else "staged-missing", path=path)
            return
        line = entry.line
        is_it = f.sha256_of(content) == entry.raw and len(content) == line["bytes"]
        if not is_it or content_hash(content, line["canonical"]) != line["content_hash"]:
            self.find("staged-content-mismatch", path=path)


class Judge:  # STAGE-19
    """Judges acts by the record."""

    def __init__(self, verifier, artifacts):
        self.v, self.artifacts = verifier, artifacts

    def judge(self, entry, act):
        """The code of an act that is not sound."""
        if act["kind"] == "collect":
            return None
        if act["kind"] == "promote":
            text, is_whole = self.made(entry, act)
            if text is None:
                return "staged-contradicts" if is_whole else "staged-unproved"
            if f.sha256(f.Document(text).body) != entry.raw:
                return "staged-contradicts"
            return self.role(entry, act, "editor", act["document"], [text])
        artifact = self.artifacts.get(entry.source)
        entries = artifact.history.entries if artifact and artifact.history else []
        texts = [artifact.texts.get(e.version) for e in entries if e.published_at and not e.faults]
        return self.role(entry, act, "reviewer", entry.source, [text for text in texts if text is not None])

    def made(self, entry, act):
        """The text of the version that was promoted from an entry, and whether all versions were read."""
        artifact = self.artifacts.get(act["document"])
        if artifact is None or (artifact.history is None and not os.path.isfile(self.v.path(artifact.folder + "/history.yaml"))):
            return None, True
        if artifact.history is None:
            return None, False
        texts = artifact.texts
        versions = [e.version for e in artifact.history.entries]
        named = [act["version"]] if act["version"] in artifact.sound else []
        for version in named + versions:
            if texts.get(version) is not None and self.origin(texts[version]) == entry.uri:
                return texts[version], True
        return None, all(texts.get(version) is not None for version in versions)

    @staticmethod
    def origin(text):
        try:
            document = f.Document(text)
        except Refused:
            return None
        node = document.fields.get("promoted_from") if document.fields else None
        return node.text if node and node.kind == "text" else None

    def role(self, entry, act, needed, id, texts):
        consumed = int(entry.line["source"].rpartition("@")[2])
        eras = [(0, 0, None), *((n, f.millis(at), rules) for n, at, rules in self.v.reviews)]
        first = max(n for n, era in enumerate(eras) if era[0] <= consumed)
        possible = eras[first:]
        at = f.millis(max(act["at"], entry.line["at"]))
        then = max((n for n, era in enumerate(possible) if era[1] <= at), default=0)

        def allows(rules):
            if rules is None:
                return True
            if rules.stewards is None or not texts:
                return None
            return any(rules.has_role(act.get("principal", ""), needed, [(id, text)]) for text in texts)

        allowed = [allows(rules) for _, _, rules in possible]
        if allowed[then]:
            return None
        return "staged-unproved" if any(one is not False for one in allowed) else "staged-unauthorised"
