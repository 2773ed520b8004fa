# SPDX-License-Identifier: Apache-2.0
"""Files that publishing does not edit (document.md, section 6)."""

import json
import math
import re
import tomllib

from formats import Document, Refused, hash_fault, millis, normalise, spelled

OURS = ("version", "status", "updated_at", "checksum")
INSERTED = ("title", "type", "author", "created_at")
REVIEW = """review review_base review_action review_target change approved_by approved_at
rejected_by review_reason""".split()  # REV-4
FORMAT = Refused("frontmatter-format")


def read_live(text):
    """The document of a live text in normal form, its format, and the lines before its body."""
    form, block, before, rest = parts(text)
    if form is None:
        document = Document(text)
        return document, None, text[: len(text) - len(document.body)]
    if len(block.encode()) > 64 << 10:
        raise Refused("frontmatter-too-large")
    try:
        document = Document(f"---\n{as_yaml(form, block)}---{rest}")
    except Refused as why:
        is_syntax = str(why) == "frontmatter-yaml"
        raise (FORMAT if is_syntax else why) from why
    return document, form, before


FILTERED = (
    "version https://git-lfs.github.com/spec/v",
    "\0GITCRYPT\0",
    "/annex/objects/",
    "U2FsdGVkX1",
)
OTHER_OPENING = re.compile(
    r"(---[ \t]*(ya?ml|toml|json5?|hjson|js|javascript|cson|coffee)|;;;)[ \t]*", re.I | re.A
)


def parts(text):  # DOC-28
    text = text.removeprefix("\ufeff")
    lines = re.split(r"(?<=\n)", text)
    if text.startswith(FILTERED):  # DOC-53
        raise Refused("git-filtered")
    if OTHER_OPENING.fullmatch(lines[0].rstrip("\n")):
        raise FORMAT
    fences = [n for n, line in enumerate(lines) if line.rstrip("\n").rstrip(" \t") == "+++"]
    if fences[:1] == [0]:
        if len(fences) < 2:
            raise FORMAT
        head, last = "".join(lines[: fences[1]]), lines[fences[1]].rstrip("\n")
        before = head + lines[fences[1]]
        return "toml", "".join(lines[1 : fences[1]]), before, text[len(head) + len(last) :]
    if text.startswith("{"):
        try:
            _, end = json.JSONDecoder(parse_constant=refuse).raw_decode(text)
        except (ValueError, RecursionError):
            return None, None, None, None
        blanks = re.compile(r"[ \t]*(?=\n|\Z)").match(text, end)
        if blanks:
            body = min(len(text), blanks.end() + 1)
            return "json", text[:end], text[:body], text[blanks.end() :]
    return None, None, None, None


def refuse(constant):
    raise ValueError(constant)


def as_yaml(form, block):  # DOC-29
    try:
        if form == "toml":
            entries = ordered(tomllib.loads(block)).items()
        else:
            entries = json.loads(block, object_pairs_hook=once).items()
    except (ValueError, RecursionError) as why:
        raise FORMAT from why
    return "".join(f"{spelled(key, True)}: {value_of(value)}\n" for key, value in entries)


def ordered(value):
    if isinstance(value, list):
        return [ordered(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: ordered(value[key]) for key in sorted(value, key=str.encode)}


def once(pairs):
    if len(dict(pairs)) < len(pairs):
        raise FORMAT
    return dict(pairs)


def value_of(value):
    if isinstance(value, dict):
        pairs = value.items()
        return "{" + ", ".join(f"{spelled(k, True)}: {value_of(v)}" for k, v in pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(value_of, value)) + "]"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 64:
        return str(value)
    if isinstance(value, (int, float)):
        number = repr(float(value))
        is_finite = math.isfinite(value)
        return re.sub(r"e([+-])0*", exponent, number) if is_finite else spelled(number, True)
    # A date of TOML: this reader cannot tell `Z` and `+00:00` apart.
    text = value if isinstance(value, str) else value.isoformat().replace("+00:00", "Z")
    return spelled(text, True)


def exponent(match):
    return "e" + match[1].removeprefix("+")


def live_form(sealed):  # DOC-31
    try:
        made = Document(sealed)
    except Refused:
        return sealed
    metadata = made.field("metadata")
    block = metadata.get("original_frontmatter") if metadata and metadata.kind == "map" else None
    if block is None or block.is_null or block.kind != "text":
        return sealed
    text = block.text + made.body
    try:
        live, _, before = read_live(text)
    except Refused:
        return sealed
    is_whole = before == block.text and normalise(text) == text
    return text if is_whole and is_made_from(made, live) else sealed


def is_made_from(made, live):
    keys = {key.text for of in (made, live) for key, _ in (of.fields.items if of.fields else [])}
    return all(is_kept(key, made.field(key), live.field(key)) for key in keys)


def is_kept(key, made, live):
    if key in OURS or key in REVIEW or (key in INSERTED and live is None):
        return True
    if key == "derived_from":
        one, other = ([plain(i) for i in of.items or [of]] if of else [] for of in (made, live))
        return all(item in one for item in other)
    if key == "metadata":
        one, other = (of.items if of and of.kind == "map" else [] for of in (made, live))
        one = [(k.text, plain(v)) for k, v in one if k.text != "original_frontmatter"]
        return one == [(k.text, plain(v)) for k, v in other]
    return plain(made) == plain(live)


def plain(node):
    """The value of a node, with whether its texts are written plain."""
    if node is None or node.kind == "text":
        return node and (node.text, node.plain)
    if node.kind == "list":
        return [plain(item) for item in node.items]
    return [(plain(key), plain(value)) for key, value in node.items]


def is_edited(form, mode):  # DOC-30
    return form is None and mode != "untouched"


def has_our_four(document):  # DOC-20
    checksum, at = document.text_of("checksum"), document.text_of("updated_at")
    return bool(
        document.version
        and document.field("status")
        and document.status in ("draft", "published")
        and hash_fault(checksum or "") is None
        and millis(at or "") is not None
    )


def is_draft(text, sealed, mode):  # DOC-33
    try:
        live, form, before = read_live(text)
        original = live_form(sealed)
        if original == sealed and (is_edited(form, mode) or has_our_four(live)):
            has_frontmatter = form is not None or before.strip("\ufeff") != ""
            return live.status == "draft" and has_frontmatter
        was, _, _ = read_live(original)
    except Refused:
        return False
    had = original != sealed and says_draft(was)
    return says_draft(live) and not had


def says_draft(document):  # DOC-40
    if document.field("status"):
        return document.status == "draft"
    return any(
        key.kind == value.kind == "text"
        and re.sub("[ _-]", "", key.text).lower() in ("draft", "isdraft")
        and value.text.strip().lower() in ("true", "yes", "on", "y", "t", "1")
        for key, value in (document.fields.items if document.fields else [])
    )
