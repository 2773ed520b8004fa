# SPDX-License-Identifier: Apache-2.0
"""Values, YAML, documents, diffs, histories and logs, read by the rules of this specification."""

import hashlib
import json
import re
import string
import unicodedata
from copy import copy
from functools import lru_cache
from pathlib import Path

import yaml
from plain import INVISIBLE, has_control, is_invisible, millis

MAX = 2**53 - 1
GENESIS = "contextnest:genesis:v1"
MIB = 1 << 20


class Refused(Exception):
    """The bytes are not what a rule asks for; the argument says why."""


# Values ------------------------------------------------------------------------------------------


def sha256(text):
    return sha256_of(text.encode())


def sha256_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def normalise(text):  # DOC-6
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def jcs(value):  # RFC 8785, for texts, numbers, lists and maps
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{jcs(key)}:{jcs(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(jcs, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def read_sequences():
    lines = (Path(__file__).parent.parent / "emoji-sequences.txt").read_text().splitlines()
    words = [line.split() for line in lines if not line.startswith("#")]
    return {"".join(chr(int(word, 16)) for word in line) for line in words}


EMOJI = read_sequences()
JOINERS = "\ufe0f\u200d"


def has_invisible(name):  # VAULT-11, of ids and names of vaults
    while name:
        lengths = [n for n in range(10, 0, -1) if name[:n] in EMOJI]
        if not lengths and is_invisible(name[0]):
            return True
        name = name[lengths[0] if lengths else 1 :]
    return False


def id_error(id):  # VAULT-8
    if not id:
        return "empty"
    chain = STAGED.fullmatch(id)
    if len((chain[1] if chain else id).encode()) > 512:
        return "too-long"
    if has_control(id) or "\\" in id:
        return "character"
    if any(name in ("", ".", "..") for name in id.split("/")):
        return "segment"
    return None if unicodedata.is_normalized("NFC", id) else "not-nfc"


def is_governance(id):  # VAULT-17
    return id in ("CONTEXT.md", "stewards.yaml", ".context/config.yaml") or bool(
        re.fullmatch(r"packs/[^./][^/]*\.yml", id, re.DOTALL)
    )


def is_markdown(path):  # VAULT-60
    return bool(re.search(r"\.(md|markdown|mdx)\Z", path, re.IGNORECASE | re.ASCII))


def keeps_ending(id):
    return is_markdown(id) and not id.endswith(".md")


def live_path(id):
    return id if is_governance(id) or keeps_ending(id) else id + ".md"


def document_id(path):
    """The id of a document's file, and the rule that it breaks."""
    id = path.removesuffix(".md")
    if id != path and keeps_ending(id):
        return id, "ending"
    return id, id_error(id) or is_reserved(id) or ("reserved" if is_governance(id) else None)


CHAIN = re.compile(r"\.context/audit/([0-9a-f]{32})\.jsonl")
STAGED = re.compile(r"\.context/staging/chains/(.+)/([0-9a-f]{32})\.jsonl", re.DOTALL)


LOG = ".versions/checkpoints.jsonl"


def is_artifact(id):  # AUDIT-25, STAGE-21, MERGE-2
    return id != LOG and not CHAIN.fullmatch(id) and not STAGED.fullmatch(id)


def history_folder(id):  # VAULT-4
    folder, _, name = id.rpartition("/")
    return (folder + "/" if folder else "") + ".versions/" + name


def fold_case(name):
    return unicodedata.normalize("NFC", name.casefold())


def fold(id):  # VAULT-14
    return fold_case(id.translate(dict.fromkeys(map(ord, JOINERS))))


def claims(id):  # VAULT-14
    folded = fold(id)
    is_kept = not is_governance(id) and keeps_ending(id) and folded.endswith(".md")
    return {folded, folded.removesuffix(".md")} if is_kept else {folded}


def is_excluded(path):  # VAULT-20, but for the patterns of the configuration
    if keeps_ending(path):
        path = path[: path.rindex(".")] + ".md"
    names = path.split("/")
    root = ("CONTEXT.md", "CLAUDE.md", "AGENTS.md", "GEMINI.md")
    hidden = any(name.startswith(".") or name == "node_modules" for name in names)
    return hidden or names[-1] == "INDEX.md" or path in root


def is_reserved(id):  # VAULT-10
    if has_invisible(id):
        return "invisible"
    if is_governance(id):
        return None
    return "reserved" if id.endswith((".yaml", ".yml")) or is_excluded(live_path(id)) else None


# YAML --------------------------------------------------------------------------------------------

ENDS = "\x85\u2028\u2029"
# What takes their place while PyYAML reads, which would end a line there.
STAND_INS = "\ufdd0\ufdd1\ufdd2"
NULLS = ("", "~", "null", "Null", "NULL")


KINDS = {yaml.SequenceStartEvent: "list", yaml.MappingStartEvent: "map"}


class Node:
    """A text, a list of nodes, or a map as a list of pairs of nodes."""

    def __init__(self, event):
        self.kind, self.text, self.items = KINDS.get(type(event), "text"), "", []
        self.plain = self.kind == "text" and event.style is None and event.tag is None
        self.start, self.end = event.start_mark, event.end_mark

    def get(self, key):
        return next((value for name, value in self.items if name.text == key), None)

    @property
    def is_null(self):
        return self.plain and self.text in NULLS

    @property
    def number(self):  # YAML-5
        is_number = self.plain and re.fullmatch(r"0|[1-9][0-9]{0,15}", self.text, re.ASCII)
        return int(self.text) if is_number else None

    def values(self):
        if self.kind == "map":
            return 1 + sum(key.values() + value.values() for key, value in self.items)
        return 1 + sum(item.values() for item in self.items)

    def plainly(self):
        if self.kind == "map":
            return {key.text: value.plainly() for key, value in self.items}
        if self.kind == "list":
            return [item.plainly() for item in self.items]
        return self.text


class Builder:
    """Makes a node of the events of PyYAML, by the rules of one dialect."""

    def __init__(self, events, dialect):
        self.events, self.is_format, self.anchors = iter(events), dialect == "format", {}
        self.ends, self.left = 0, 64 << 10

    def node(self, event, depth=1):
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event)
        if depth > 32 and not isinstance(event, yaml.ScalarEvent):
            raise Refused("nested too deep")
        if self.is_format and (event.anchor or event.tag):
            raise Refused("an anchor or a tag")
        node = Node(event)
        if node.kind == "list":
            while not isinstance(item := next(self.events), yaml.SequenceEndEvent):
                node.items.append(self.node(item, depth + 1))
            node.end = item.end_mark if event.flow_style else node.items[-1].end
        elif node.kind == "map":
            while not isinstance(key := next(self.events), yaml.MappingEndEvent):
                node.items.append(self.pair(node, key, depth + 1))
            node.end = key.end_mark if event.flow_style else node.items[-1][1].end
        else:
            ends = [c for c in event.value if c in ENDS + STAND_INS]
            if ends and event.style != '"':
                raise Refused("a character that ends a line for some readers")
            self.ends += sum(c in STAND_INS for c in ends)
            node.text = event.value.translate(str.maketrans(STAND_INS, ENDS))
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def pair(self, node, event, depth):
        key = self.node(event, depth)
        if key.kind != "text" or node.get(key.text) or (self.is_format and key.text == "<<"):
            raise Refused("a key that is no scalar, or stands twice, or merges")
        return key, self.node(next(self.events), depth)

    def alias(self, event):
        if self.is_format or event.anchor not in self.anchors:
            raise Refused("an alias")
        node = self.anchors[event.anchor]
        self.left -= len(str(node.plainly())) + 16 * node.values()
        if self.left < 0:
            raise Refused("aliases stand for too much")
        node = copy(node)
        node.start, node.end = event.start_mark, event.end_mark
        return node


@lru_cache(maxsize=8192)  # nothing changes what it returns
def read_yaml(text, dialect="format"):  # YAML-1 to YAML-7, YAML-9
    if "\0" in text or any(stand_in in text for stand_in in STAND_INS):
        raise Refused("a character that is not read")
    marked = text.translate(str.maketrans(ENDS, STAND_INS))
    try:
        events = list(yaml.parse(marked, Loader=yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as why:
        raise Refused(str(why)) from why
    starts = [event for event in events if isinstance(event, yaml.DocumentStartEvent)]
    if len(starts) > 1 or any(event.version or event.tags for event in starts):
        raise Refused("a second document, or a directive")
    builder = Builder(events, dialect)
    first = next((e for e in builder.events if isinstance(e, yaml.NodeEvent)), None)
    node = builder.node(first or yaml.ScalarEvent(None, None, (True, False), ""))
    if builder.ends != sum(c in STAND_INS for c in marked):
        raise Refused("a comment with a character that ends a line for some readers")
    return node


WORDS = "y n yes no on off true false null".split()


def escaped(char):  # YAML-13
    short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    if char in short:
        return short[char]
    code = ord(char)
    if not needs_escape(char):
        return char
    return (
        f"\\x{code:02X}" if code < 256 else f"\\u{code:04X}" if code < 65536 else f"\\U{code:08X}"
    )


def needs_escape(char):
    return (
        unicodedata.category(char) == "Cc"
        or char in "\u2028\u2029\ufeff"
        or ord(char) & 0xFFFF >= 0xFFFE
    )


def spelled(text, in_flow=False):  # YAML-11 to YAML-15
    is_plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_./@+\-: ]*", text, re.ASCII)
    is_plain = is_plain and ": " not in text and text[-1] not in " :" and text.lower() not in WORDS
    if is_plain and not (in_flow and (":" in text or " " in text)):
        return text
    if any(map(needs_escape, text)):
        return '"' + "".join(map(escaped, text)) + '"'
    return "'" + text.replace("'", "''") + "'"


def spelled_long(text, indent):  # YAML-16: what follows `diff:`, for a key indented by `indent`
    lines = text.split("\n")
    is_block = text and text[0] not in " \t\n" and text.endswith("\n") and lines[-2:] != ["", ""]
    is_block = is_block and not any(line.endswith((" ", "\t")) for line in lines)
    if is_block and not any(needs_escape(c) for c in text if c not in "\n\t"):
        pad = " " * (indent + 2)
        return " |\n" + "".join((pad + line if line else "") + "\n" for line in lines[:-1])
    return ' "' + "".join(map(escaped, text)) + '"\n'


# Documents ---------------------------------------------------------------------------------------


class Document:  # DOC-1 to DOC-5; `text` in normal form
    def __init__(self, text):
        text = text.removeprefix("\ufeff")
        lines = re.split(r"(?<=\n)", normalise(text))
        self.fields, self.head, self.rest = None, "", normalise(text)
        self.body = self.rest
        if lines[0].rstrip("\n") != "---":
            return
        close = next((n for n, line in enumerate(lines) if n and line.rstrip("\n") == "---"), None)
        if close is None:
            raise Refused("frontmatter-unclosed")
        self.head = "".join(lines[1:close])
        self.rest = "".join(lines[close:]).removeprefix("---")
        self.body = "".join(lines[close + 1 :])
        if len(self.head.encode()) > 64 << 10:
            raise Refused("frontmatter-too-large")
        try:
            self.fields = read_yaml(self.head, "frontmatter")
        except Refused as why:
            raise Refused("frontmatter-yaml") from why
        if self.fields.is_null:
            self.fields = None
        elif self.fields.kind != "map":
            raise Refused("frontmatter-not-mapping")
        elif self.fields.get("<<"):
            raise Refused("frontmatter-merge-key")

    def field(self, name):
        node = self.fields.get(name) if self.fields else None
        return None if node is None or node.is_null else node

    def text_of(self, name):
        node = self.field(name)
        return node.text if node and node.kind == "text" else None

    @property
    def status(self):  # DOC-12
        word = (self.text_of("status") or "draft").lower()
        synonyms = ("active", "live", "released", "final", "shipped")
        return "published" if word in synonyms else word

    @property
    def version(self):
        node = self.field("version")
        return node.number or None if node else None

    def edited(self, values):  # DOC-17, of fields that exist; none where one does not
        text, spans = self.head, []
        for name, value in values.items():
            node = self.field(name)
            if not node or node.kind != "text":
                return None
            spans.append((node.start.index, node.end.index, value))
        for start, end, value in sorted(spans, reverse=True):
            text = text[:start] + value + text[end:]
        return "---\n" + text + "---" + self.rest


VALIDITY = {  # DOC-48
    "valid_until": set("bestbefore effectiveto effectiveuntil enddate expiration expirationdate expires expiresat expireson expiry expirydate staleafter unpublishdate validthrough validtill validto validuntil".split()),
    "superseded_by": set("deprecatedby obsoletedby replacedby succeededby supercededby supersededby".split()),
}
LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
WHITE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
NOTHING = {"", "false", "never", "no", "none", "null", "~"}


def wikilink(node):  # DOC-49: the text of `[[a]]` without quotes, which may be in a list
    inner = node
    for _ in range(2):
        if inner.kind == "list" and len(inner.items) == 1:
            inner = inner.items[0]
    return inner if inner is not node and inner.kind == "text" and not inner.is_null else None


def validity(document):
    found = {}
    for key, value in document.fields.items if document.fields else []:
        name = re.sub("[ _-]", "", key.text or "").translate(LOWER) if key.kind == "text" else ""
        texts = [value] if value.kind == "text" else value.items if value.kind == "list" else []
        text = ", ".join(filter(None, (
            t.text.strip(WHITE) if t.kind == "text" else f"[[{wikilink(t).text.strip(WHITE)}]]"
            for t in texts if (t.kind == "text" and not t.is_null) or wikilink(t)
        )))
        for field, names in VALIDITY.items():
            if name in names and field not in found and text.translate(LOWER) not in NOTHING:
                found[field] = text[:200]
    return found


# Diffs -------------------------------------------------------------------------------------------

HUNK = re.compile(r"@@ -(0|[1-9]\d*)(?:,(0|[1-9]\d*))? \+(0|[1-9]\d*)(?:,(0|[1-9]\d*))? @@", re.A)
MARK = "\\ No newline at end of file"


def apply_diff(old, patch):  # HIST-17
    old, lines = normalise(old), re.findall(r"[^\n]*\n|[^\n]+", normalise(patch))
    source, out, at, n = re.findall(r"[^\n]*\n|[^\n]+", old), [], 0, 0

    def header(begin, exact=False):
        nonlocal n
        line = lines[n] if n < len(lines) else ""
        if (line == begin + "\n") if exact else (line.startswith(begin) and line.endswith("\n")):
            n += 1
            return True
        return False

    header("Index: ")
    header("=" * 67, exact=True)
    if not (header("--- ") and header("+++ ")):
        raise Refused("no header")
    while n < len(lines):
        hunk = HUNK.fullmatch(lines[n].removesuffix("\n"))
        if not hunk or not lines[n].endswith("\n"):
            raise Refused("no hunk header")
        start, count, new, added = (1 if part is None else int(part) for part in hunk.groups())
        n += 1
        begin, new_begin = start - (count > 0), new - (added > 0)
        if count + added == 0 or begin < at or begin + count > len(source):
            raise Refused("a range that is not in the text")
        out += source[at:begin]
        if new_begin != len(out):
            raise Refused("the new range begins elsewhere")
        at, left, more = begin, count, added
        while left or more:
            if n >= len(lines) or lines[n][0] not in " -+" or not lines[n].endswith("\n"):
                raise Refused("no line of a hunk")
            sign, line = lines[n][0], lines[n][1:]
            n += 1
            if n < len(lines) and lines[n].removesuffix("\n") == MARK:
                line, n = line[:-1], n + 1
            left, more = left - (sign != "+"), more - (sign != "-")
            if left < 0 or more < 0 or (out and not out[-1].endswith("\n") and sign != "-"):
                raise Refused("too many lines")
            if sign != "+":
                if source[at] != line:
                    raise Refused("the text has another line")
                at += 1
            if sign != "-":
                out.append(line)
    out += source[at:]
    if any(not line.endswith("\n") for line in out[:-1]):
        raise Refused("a line without an end inside of the text")
    return "".join(out)


# Histories ---------------------------------------------------------------------------------------

FIELDS = (
    "version keyframe diff edited_by edited_at published_at retired_at note content_hash chain_hash"
)
FIELDS = FIELDS.split()
REQUIRED = ("version", "edited_by", "edited_at", "content_hash", "chain_hash")


def hash_fault(text):
    if not text.startswith("sha256:"):
        return "unknown-hash-algorithm"
    return None if re.fullmatch(r"sha256:[0-9a-f]{64}", text) else "field-malformed"


class Entry:  # HIST-4 to HIST-7
    def __init__(self, node):
        self.faults, self.unknown, self.raw = [], [], {}
        self.version = self.diff = self.edited_by = self.edited_at = None
        self.published_at = self.retired_at = self.note = self.content_hash = self.chain_hash = None
        self.keyframe = self.erased = self.stub = False
        if node.kind != "map":
            self.faults.append(("entry-malformed", None))
            return
        for key, value in node.items:
            if key.text in FIELDS:
                self.take(key.text, value)
            else:
                self.unknown.append(key.text)
        is_set = {k.text: not (v.plain and v.text == "false") for k, v in node.items}
        self.erased = is_set.get("tombstone", False)  # HIST-41
        self.stub = is_set.get("forget_stub", False) and not self.erased
        if self.erased:
            known = ("tombstone", "forgotten_at", "forgotten_by", "reason_code")
            self.unknown = [name for name in self.unknown if name not in known]
        present = {key.text for key, _ in node.items}
        for name in REQUIRED:
            if name not in present:
                self.faults.append(("entry-malformed", name))
        if self.keyframe and self.diff is not None:
            self.faults.append(("entry-malformed", "diff"))
        if self.published_at and self.retired_at:
            self.faults.append(("entry-malformed", "retired_at"))

    def take(self, name, node):
        text, fault = node.text, None
        if node.kind != "text" or node.is_null:
            fault = "field-malformed"
        elif name == "version":
            text = node.number
            fault = None if text and text <= MAX else "field-malformed"
        elif name == "keyframe":
            is_boolean = node.plain and text in ("true", "false")
            text, fault = text == "true", None if is_boolean else "field-malformed"
        elif name == "edited_by":
            fault = "field-malformed" if not text or has_control(text) else None
        elif name.endswith("_at"):
            fault = "timestamp-malformed" if millis(text) is None else None
        elif name.endswith("_hash"):
            fault = hash_fault(text)
        if fault:
            self.faults.append((fault, name))
        else:
            setattr(self, name, text)

    def chain(self, previous):  # HIST-11
        fields = (
            previous or GENESIS,
            self.content_hash,
            self.version,
            self.edited_by,
            self.edited_at,
        )
        return ":".join(map(str, fields))

    @property
    def is_sound(self):
        return not self.faults

    def spelled(self):  # HIST-35
        lines = [f"  - version: {self.version}\n"]
        if self.keyframe:
            lines.append("    keyframe: true\n")
        elif self.diff is not None:
            lines.append("    diff:" + spelled_long(self.diff, 4))
        for name in FIELDS[3:]:
            if (value := getattr(self, name)) is not None:
                lines.append(f"    {name}: {spelled(value)}\n")
        return "".join(lines)


class History:
    def __init__(self, text):  # HIST-2, HIST-9
        root = read_yaml(text)
        items = root.get("versions") if root.kind == "map" else None
        if items is None or not (items.kind == "list" or items.is_null):
            raise Refused("no list of versions")
        interval = root.get("keyframe_interval")
        self.interval = interval.number if interval else None
        if interval and not self.interval:
            raise Refused("keyframe_interval")
        if any(item.values() > 1000 for item in items.items):
            raise Refused("an entry with too many values")
        self.entries = [Entry(item) for item in items.items]
        known = ("versions", "keyframe_interval")
        self.unknown = [key.text for key, _ in root.items if key.text not in known]
        if sum(not entry.is_sound for entry in self.entries) > 100:
            raise Refused("too many malformed entries")

    @property
    def is_whole(self):
        return bool(self.entries) and self.entries[-1].is_sound

    @property
    def last(self):
        return self.entries[-1].version

    def spelled(self):
        return f"keyframe_interval: {self.interval}\nversions:\n" + "".join(
            entry.spelled() for entry in self.entries
        )


def is_conflict(data):
    return any(line.startswith((b"<<<<<<< ", b">>>>>>> ")) for line in data.split(b"\n"))


def beginnings(data, may_be_whole):  # HIST-39, with CKPT-18
    bad = next((n for n, byte in enumerate(data) if byte == 0), len(data))
    try:
        data[:bad].decode()
        whole = bad
    except UnicodeDecodeError as why:
        whole = why.start
    first = data.rfind(b"\n", 0, whole) + 1
    yield first
    is_short = whole < len(data) or not data.endswith(b"\n")
    if not (is_short or may_be_whole):
        return
    items = [match.start() for match in re.finditer(rb"^ {0,2}- ", data[:first], re.MULTILINE)]
    if items:
        item = data[items[-1] :]
        pad = len(item) - len(item.lstrip(b" ")) + 2
        key = rb"^(?: {%d}| *- )(?:chain_hash|checkpoint_hash):" % pad
        if is_short or not re.search(key, item, re.MULTILINE):
            yield items[-1]


def read_torn(data, read, is_enough, log=False):
    """Reads a file, or the beginning of it before a torn end: what was read, and its length."""
    try:
        found, why = read(data.decode()), None
    except (Refused, UnicodeDecodeError) as error:
        found, why = None, error
    if (found and (found.is_whole or (log and not found.entries))) or is_conflict(data):
        if found is None:
            raise Refused(str(why))
        return found, len(data)
    for length in beginnings(data, found is not None and not log):
        if length < len(data):
            try:
                part = read(data[:length].decode())
            except (Refused, UnicodeDecodeError):
                continue
            if (part.is_whole and is_enough(part)) or (log and not part.entries):
                return part, length
    if found is None:
        raise Refused(str(why))
    return found, len(data)


# Checkpoint logs ---------------------------------------------------------------------------------


class Checkpoint:
    """One entry of a log: `set` and `removed` in the delta form, whole maps in the other."""

    def __init__(self, faults=()):
        self.faults, self.number, self.at, self.trigger, self.hash = (
            list(faults),
            None,
            None,
            None,
            None,
        )
        self.set, self.removed, self.versions, self.hashes = None, None, None, None
        self.merged, self.follows = None, None  # MERGE-3

    def check(self, number, at, trigger, hash):
        def take(value, is_sound, fault="field-malformed"):
            if not is_sound:
                self.faults.append(fault)
            return value if is_sound else None

        self.number = take(number, is_number(number))
        time_fault = "timestamp-malformed" if isinstance(at, str) else "field-malformed"
        self.at = take(at, isinstance(at, str) and millis(at) is not None, time_fault)
        self.trigger = take(trigger, isinstance(trigger, str) and not id_error(trigger))
        fault = hash_fault(hash) if isinstance(hash, str) else "field-malformed"
        self.hash = take(hash, not fault, fault)

    def pre_image(self, previous, versions, hashes):  # CKPT-9
        fields = (self.number, self.at, self.trigger, jcs(versions), jcs(hashes))
        return ":".join(map(str, (previous or GENESIS, *fields)))


def pairs(items):
    found = dict(items)
    if len(found) != len(items):
        raise Refused("a key stands twice")
    return found


def is_number(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX


def is_natural(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def read_line(line):  # CKPT-14 to CKPT-16; refuses what is no line of the delta form
    try:
        value = json.loads(line.decode(), object_pairs_hook=pairs)
        is_canonical = jcs(value).encode() == line
    except (UnicodeError, ValueError, RecursionError) as why:
        raise Refused(str(why)) from why
    if not is_canonical or not isinstance(value, dict):
        raise Refused("no canonical line")
    is_merge, merged = "merged" in value, value.pop("merged", [])
    found = read_fields(value)
    if not is_merge:
        return found
    is_list = isinstance(merged, list) and bool(merged)
    if not is_list or not all(isinstance(item, dict) for item in merged):
        raise Refused("no list of checkpoints")
    found.merged = [read_item(item) for item in merged]
    return found


def read_item(value):  # MERGE-3
    follows = value.pop("follows", None)
    if not isinstance(follows, str):
        raise Refused("an item that follows nothing")
    found = read_fields(value)
    found.follows = follows
    found.faults += filter(None, [hash_fault(follows)])
    return found


def read_fields(value):
    names = ["at", "checkpoint", "checkpoint_hash", "removed", "set", "triggered_by"]
    if sorted(value) != names:
        raise Refused("other keys")
    at, number, hash, removed, marks, trigger = (value[name] for name in names)
    is_line = all(isinstance(text, str) for text in (at, hash, trigger)) and is_natural(number)
    if not (is_line and isinstance(removed, list) and isinstance(marks, dict)):
        raise Refused("a field of another type")
    if not all(isinstance(id, str) for id in removed):
        raise Refused("no id")
    order = [id.encode() for id in removed]
    if sorted(set(order)) != order or set(marks) & set(removed):
        raise Refused("ids in another order, or in both")
    found = Checkpoint()
    found.check(number, at, trigger, hash)
    found.set, found.removed = marks, removed
    for mark in marks.values():
        is_mark = isinstance(mark, list) and len(mark) == 2
        is_mark = is_mark and (mark[0] is None or is_natural(mark[0]))
        if not (is_mark and (mark[1] is None or isinstance(mark[1], str))):
            raise Refused("no version and hash")
        found.faults += ["field-malformed"] if mark[0] is not None and not is_number(mark[0]) else []
        found.faults += ["field-malformed"] if mark == [None, None] else []
        found.faults += filter(None, [hash_fault(mark[1])] if mark[1] is not None else [])
    found.faults += ["field-malformed" for id in (*marks, *removed) if id_error(id)]
    return found


def full_entry(node):  # CKPT-23
    if node.kind != "map":
        return Checkpoint(["checkpoint-log-unreadable"])

    def text(name):
        value = node.get(name)
        return value.text if value and value.kind == "text" and not value.is_null else None

    found, number = Checkpoint(), node.get("checkpoint")
    found.check(number and number.number, text("at"), text("triggered_by"), text("checkpoint_hash"))
    found.versions = full_map(
        found,
        node.get("document_versions"),
        lambda item: (item.number, None if is_number(item.number) else "field-malformed"),
    )
    found.hashes = full_map(
        found,
        node.get("document_chain_hashes"),
        lambda item: (item.text, "field-malformed" if item.is_null else hash_fault(item.text)),
    )
    return found


def full_map(found, node, read):
    marks = {}
    for key, item in node.items if node and node.kind == "map" else []:
        mark, fault = read(item) if item.kind == "text" else (None, "field-malformed")
        if fault or id_error(key.text) or key.is_null:
            found.faults.append(fault or "field-malformed")
        marks[key.text] = mark
    if not node or node.kind != "map":
        found.faults.append("field-malformed")
    return marks


class FullLog:
    def __init__(self, text):
        root = read_yaml(text)
        items = root.get("checkpoints") if root.kind == "map" else None
        if items is None or not (items.kind == "list" or items.is_null):
            raise Refused("no list of checkpoints")
        self.entries = [full_entry(item) for item in items.items]
        if sum(bool(entry.faults) for entry in self.entries) > 100:
            raise Refused("too many malformed entries")

    @property
    def is_whole(self):
        return bool(self.entries) and not self.entries[-1].faults


def spelled_full(entry):  # CKPT-27
    lines = [f"  - checkpoint: {entry.number}\n    at: {spelled(entry.at)}\n"]
    lines.append(f"    triggered_by: {spelled(entry.trigger)}\n")
    for name, marks in (
        ("document_versions", entry.versions),
        ("document_chain_hashes", entry.hashes),
    ):
        lines.append(f"    {name}:" + ("\n" if marks else " {}\n"))
        for id in sorted(marks, key=str.encode):
            mark = marks[id]
            lines.append(
                f"      {spelled(id)}: {mark if isinstance(mark, int) else spelled(mark)}\n"
            )
    return "".join(lines) + f"    checkpoint_hash: {spelled(entry.hash)}\n"
