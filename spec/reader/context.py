# SPDX-License-Identifier: Apache-2.0
"""Answers to selectors, and their block for an agent (selector.md, resolve.md section 3).

It reads no sources' dependencies (RES-21), asks no search (RES-26, RES-27) and counts by `bytes/4`.
"""

import hashlib
import re
import unicodedata

from artifact import Artifact
from formats import (
    VALIDITY, Document, Refused, fold, has_control, is_artifact, is_governance, is_invisible,
    read_yaml, validity,
)  # fmt: skip
from questions import PLAIN_TAG, SCHEME, Names, Pack, Term, Uri, encoded, is_name, is_tag, read_selector
from verify import Verifier

WHOLE = "whole"


class Version:
    """What a checkpoint seals of one id: the text and its metadata (RES-6)."""

    def __init__(self, id, version, chain_hash, text):
        self.id, self.version, self.chain_hash, self.text = id, version, chain_hash, text
        self.document = None if id.endswith((".yml", ".yaml")) else Document(text)

    @property
    def body(self):
        return self.document.body

    @property
    def type(self):
        found = self.document.text_of("type")
        return found if found and is_name(found) else "document"

    def has_tag(self, wanted, is_obsidian):  # DOC-13, DOC-44, SEL-34
        node = self.document.field("tags")
        if node is None or node.kind == "map":
            return False
        words = [item.text for item in node.items] or re.split(r"[,\s]+", node.text)
        tags = [word.removeprefix("#") for word in words]
        if not is_obsidian:
            return wanted in filter(PLAIN_TAG.fullmatch, tags)
        return any(f"{fold(tag)}/".startswith(f"{fold(wanted)}/") for tag in tags if is_tag(tag))

    def is_in(self, term, is_obsidian):  # SEL-21
        key, value = term.key, term.value
        if key == "tag":
            return self.has_tag(value, is_obsidian)
        own = {"type": self.type, "status": "published"}
        return value == (own[key] if key in own else self.source(key))

    def source(self, key):  # DOC-14
        node = self.document.field("source") if self.type == "source" else None
        value = node.get(key) if node and node.kind == "map" else None
        return value.text if value else None

    def sections(self):  # SEC-1 to SEC-5, of ATX headings without markup
        fence, found, taken, at = None, [], set(), 0
        for line in self.body.splitlines(keepends=True):
            mark = re.match(r" {0,3}(```+|~~~+)", line)
            if mark and (fence is None or line.strip().startswith(fence)):
                fence = None if fence else mark.group(1)
            heading = re.match(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$", line)
            if heading and fence is None:
                title, level = heading.group(2) or "", len(heading.group(1))
                found.append([anchor(title, taken), level, at, len(self.body)])
                taken.add(found[-1][0])
                for before in found[:-1]:
                    if before[3] == len(self.body) and before[1] >= level:
                        before[3] = at
            at += len(line)
        return {name: (start, end) for name, _, start, end in found}


def anchor(title, taken):
    name = re.search(r"\{(?::\s*|/\*\s*)?#([\w.-]+)[^{}]*\}$", title)
    text = "".join("-" if c.isspace() else c for c in title.lower() if c.isspace() or is_kept(c))
    base = found = name.group(1) if name else text
    number = 0
    while found in taken:
        number += 1
        found = f"{base}-{number}"
    return found


def is_kept(char):
    return char in "-_" or unicodedata.category(char)[0] in "LNM"


class State:
    """The state of a vault at a checkpoint; the head if none is named."""

    def __init__(self, root, number=None):
        self.log = Verifier(root, "9999-12-31T23:59:59.999Z")
        self.log.walk()
        self.log.read_log()
        self.log.check_log()
        self.number = number or (len(self.log.entries) or None)
        self.entry = self.log.entries[self.number - 1] if self.number else None
        maps = self.entry.maps if self.entry else ({}, {})
        self.maps = tuple({id: map[id] for id in map if is_artifact(id)} for map in maps)
        self.withheld, self.versions = [], {}
        for id in sorted(self.maps[0], key=str.encode):
            artifact = Artifact(self.log, id)
            artifact.open()
            artifact.entries()
            version, chain_hash = self.maps[0][id], self.maps[1].get(id)
            if artifact.sound.get(version) == chain_hash:
                self.versions[id] = Version(id, version, chain_hash, artifact.texts[version])
            else:
                self.withheld.append(id)

    @property
    def config(self):
        config = self.versions.get(".context/config.yaml")
        node = read_yaml(config.text) if config else None
        return node.plainly() if node and node.kind == "map" else {}

    @property
    def names(self):
        return Names(self.config)

    @property
    def is_obsidian(self):  # DOC-35
        return self.config.get("layout") == "obsidian"

    def pack(self, id):  # SEL-24
        files = [name for name in self.versions if re.match("packs/", name) and is_governance(name)]
        packs = [(name, Pack(self.versions[name].text, self.names)) for name in files]
        found = [(name, pack) for name, pack in packs if pack.id == id]
        if len(found) != 1 or not found[0][1].is_usable:
            raise Refused("pack")
        return found[0]


class Answer:
    def __init__(self, root, text, at=None, instructions=False):
        self.selector = read_selector(text, State(root).names)
        uris = [term.value for term, _ in self.selector.places() if term.key == "uri"]
        self.state = State(root, next((uri.pin for uri in uris if uri.pin), at))
        self.is_direct = isinstance(self.selector, Term) and self.selector.key == "uri"
        self.is_direct = self.is_direct and self.selector.value.kind == "document"
        self.parts = []  # id, the pack's id, the section, the text
        self.looked = set()
        ids = {id for id in self.state.maps[0] if not is_governance(id)}
        self.looked |= self.look(self.selector, ids)
        self.withheld = self.looked & {*self.state.withheld}
        documents = [id for id in self.state.versions if not is_governance(id)]
        self.put = {id: self.put_out(self.selector, self.state.versions[id]) for id in documents}
        self.put = {id: what for id, what in self.put.items() if what is not None}
        if self.is_direct and not self.put:  # RES-9
            raise Refused("unknown-id")
        if instructions and self.put:
            self.instruct()
        for id, what in self.put.items():
            for name, text in self.texts(self.state.versions[id], what):
                self.parts.append(Part(self.state, id, text, section=name))

    def instruct(self):  # RES-13
        files = [("CONTEXT.md", None)] if "CONTEXT.md" in self.state.versions else []
        for term, is_taken in self.selector.places():
            if term.key == "pack" and not is_taken:
                files.append((self.state.pack(term.value)[0], term.value))
        for file, pack in dict.fromkeys(files):
            version = self.state.versions[file]
            fields = None if pack is None else read_yaml(version.text)
            node = fields and fields.get("agent_instructions")
            text = version.body if pack is None else node.text if node and not node.is_null else ""
            if text.strip():
                self.parts.append(Part(self.state, file, text, pack=pack, is_text=False))

    def put_out(self, node, version):  # SEL-21 to SEL-26: nothing, the whole, or anchors
        if isinstance(node, Term):
            return self.term(node, version)
        found = [self.put_out(item, version) for item in node.items]
        if node.sign == "-":
            return found[0] if all(what is None for what in found[1:]) else None
        given = [what for what in found if what is not None]
        if node.sign == "+" and len(given) < len(found) or not given:
            return None
        sections = [what for what in given if what != WHOLE]
        is_whole = not sections if node.sign == "+" else len(sections) < len(given)
        return WHOLE if is_whole else set().union(*sections)

    def look(self, node, within):  # RES-7, SEL-30
        """Notes the documents whose texts an evaluation looks at; gives the ids that are left."""
        if isinstance(node, Term) and node.key == "pack":
            self.looked |= {id for id in self.state.maps[0] if id.startswith("packs/")}
            definition = self.state.pack(node.value)[1].set
            return self.look(definition, within) if definition else set()
        if isinstance(node, Term):
            if node.key == "uri":
                return {id for id in within if self.names(node.value, id)}
            self.looked |= within
            sound = within & {*self.state.versions}
            return {id for id in sound if self.term(node, self.state.versions[id])}
        if node.sign == "|":
            return set().union(*(self.look(item, within) for item in node.items))
        if node.sign == "+":
            for item in sorted(node.items, key=lambda item: not is_of_ids(item)):
                within = self.look(item, within)
            return within
        within = self.look(node.items[0], within)
        for item in node.items[1:]:
            within = within - self.look(item, within)
        return within

    @staticmethod
    def names(uri, id):
        return id.startswith(uri.path + "/") if uri.kind == "folder" else id == uri.path

    def term(self, term, version):
        key, value = term.key, term.value
        if key == "pack":
            definition = self.state.pack(value)[1].set
            return self.put_out(definition, version) if definition else None
        if key != "uri":
            holds = version.is_in(term, self.state.is_obsidian)
        elif value.is_foreign or value.kind == "search":
            raise Refused("not part of this reader")
        else:
            holds = self.names(value, version.id)
        if not holds:
            return None
        return {value.anchor} if key == "uri" and value.anchor else WHOLE

    @staticmethod
    def texts(version, what):
        """The texts that are put out of a document, each with its section (SEL-26, SEL-27)."""
        if what == WHOLE:
            return [(None, version.body)]
        sections, texts, last = version.sections(), [], 0
        if what - {*sections}:
            raise Refused("unknown-anchor")
        for name, (start, end) in sections.items():
            if name in what and start >= last:
                texts.append((name, version.body[start:end]))
                last = end
        return texts

    # The block ----------------------------------------------------------------------------------

    def block(self, budget=None):
        count, number = len(self.parts), 0
        ids = [part.id for part in self.parts if not part.is_text] + [*self.put]
        chains = [self.state.versions[id].chain_hash + "\n" for id in ids]
        seed = "contextnest:context:v1\n" + "".join(chains)
        self.mark = hashlib.sha256(seed.encode()).hexdigest()[:24]
        most = 2**64 - 1 if budget is None else budget
        table = "<!-- ctx:hashes sha256\n"
        frame = tokens(self.first(count, most, budget, count)) + tokens(table) + tokens("-->\n")
        if frame > most:
            return ""
        left, taken, left_out, hashes, last = most - frame, "", [], "", None
        for part in self.parts:
            is_new = part.id != last
            row = "{} " + self.state.versions[part.id].chain_hash.removeprefix("sha256:") + "\n"
            cost = tokens(part.printed(count, self.mark)) + tokens(row.format(count)) * is_new
            if cost > left:
                left_out.append((part, cost, left))
                continue
            left, last, number = left - cost, part.id, number + is_new
            taken += part.printed(number, self.mark)
            hashes += row.format(number) if is_new else ""
        named = ""
        for part, cost, rest in left_out:
            keys = f"{part.name} tokens={cost} reason=budget left={rest}"
            line = comment("left-out", keys)
            if tokens(line) > left:
                break
            named, left = named + line, left - tokens(line)
        first = self.first(count - len(left_out), most - left, budget, len(left_out))
        return first + named + taken + table + hashes + "-->\n"

    def first(self, parts, used, budget, left_out):  # RES-15
        entry = self.state.entry
        kind = "direct" if self.is_direct else "set"
        keys = f"selector={quoted(str(self.selector))} class={kind}"
        if entry:
            keys += f" checkpoint={entry.number} checkpoint_hash={entry.hash} at={entry.at}"
        keys += f" mark={self.mark} parts={parts} tokens={used}"
        keys += "" if budget is None else f" budget={budget}"
        return comment("context", f"{keys} left_out={left_out} withheld={len(self.withheld)}")


def is_of_ids(node):
    return all(term.key == "uri" for term, _ in node.places())


class Part:
    """A text of the answer, or instructions (RES-13, RES-16)."""

    def __init__(self, state, id, text, section=None, pack=None, is_text=True):
        self.id, self.pack, self.is_text = id, pack, is_text
        version = state.versions[id]
        self.name = name_of(state, id, section)
        title = version.document and version.document.text_of("title")
        self.keys = f"{self.name}" + (f" pack={quoted(pack)}" if pack else "")
        self.keys += f" title={quoted(title or '')}" if is_text else ""
        self.text, escapes = shown(text)
        self.keys += f" version={version.version}"
        said = validity(version.document) if is_text and version.document else {}
        self.keys += "".join(f" {key}={quoted(said[key])}" for key in VALIDITY if key in said)
        self.keys += (f" escaped={escapes}" if escapes else "")
        if self.text and not self.text.endswith("\n"):
            self.text += "\n"

    def printed(self, number, mark):
        word = "begin" if self.is_text else "instructions"
        return comment(word, f"n={number} {self.keys}") + self.text + comment("end", mark)


def name_of(state, id, section):
    uri = SCHEME + "/".join(map(encoded, id.split("/"))) + f"@{state.number}"
    uri += f"#{encoded(section)}" if section else ""
    try:  # URI-7, URI-19
        if Uri(uri, state.names).path == id:
            return f"uri={Uri(uri, state.names)}"
    except Refused:
        pass
    return f"id={quoted(id)}" + (f" section={quoted(section)}" if section else "")


def comment(word, keys):
    return f"<!-- ctx:{word} {keys} -->\n"


def tokens(text):  # RES-12
    return (len(text.encode()) + 3) // 4


def quoted(text):  # RES-14
    signs = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    out = ""
    for char in text:
        is_odd = char in "<>" or has_control(char) or is_invisible(char)
        out += signs.get(char) or (f"\\u{{{ord(char):x}}}" if is_odd else char)
    return f'"{out}"'


def shown(text):  # RES-24, DOC-26
    """The text with what a rendered page does not show written in ASCII, and how much that is."""
    out, count = [], 0
    for place, char in enumerate(text):
        before, after = text[:place][-1:], text[place + 1 : place + 2]
        is_joiner = char in "\u200c\u200d" and before > "\x7f" and after > "\x7f"
        is_variant = "\ufe00" <= char <= "\ufe0f" and before.strip() and not is_hidden(before)
        is_first = char == "\ufeff" and not place
        is_odd = is_hidden(char) and not (is_joiner or is_variant or is_first)
        out.append(f"\\u{{{ord(char):x}}}" if is_odd else char)
        count += is_odd
    return "".join(out), count


def is_hidden(char):
    return is_invisible(char) and unicodedata.category(char)[0] != "Z" and char != "\u2800"
