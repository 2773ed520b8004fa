# SPDX-License-Identifier: Apache-2.0
"""Questions to a vault: URIs, selectors and packs (uri.md, selector.md, vault.md section 13)."""

import re
from urllib.parse import quote, unquote_to_bytes

from formats import Refused, has_control, id_error, is_governance, is_invisible, read_yaml

SCHEME = "contextnest://"
PLAIN_TAG = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
WORDS = {
    "status": ["draft", "published"],
    "transport": ["mcp", "rest", "cli", "function"],
}


def is_tag(text):  # SEL-33
    is_odd = re.search(r"[\s!-,.:-@\[-^`{-~\u2000-\u206f\u2e00-\u2e7f]", text)
    is_odd = is_odd or has_control(text) or any(map(is_invisible, text))
    is_named = all(text.split("/")) and re.search("[^_/-]", text) and re.search("[^0-9]", text)
    return not is_odd and bool(is_named) and len(text.encode()) <= 256


# URIs --------------------------------------------------------------------------------------------


def decoded(text):  # URI-4
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise Refused("uri-percent")
    try:
        found = unquote_to_bytes(text).decode()
    except UnicodeDecodeError as why:
        raise Refused("uri-not-utf8") from why
    if has_control(found):
        raise Refused("uri-character")
    return found


def encoded(text):
    return quote(text, safe="")


class Names:
    """The names that a configuration gives to vaults (URI-14)."""

    def __init__(self, config):
        is_anonymous = config.get("federation", "none") == "none"
        self.own = None if is_anonymous else config.get("namespace", "").lower() or None
        others = () if is_anonymous else config.get("registry", ())
        self.all = {name.lower() for name in (self.own, *others) if name}

    def begin(self, names, is_folder):
        """Whether the first of these names is an authority."""
        return len(names) + is_folder > 1 and names[0].lower() in self.all


class Uri:
    """A URI as a vault reads it; `vault` is the name of another vault."""

    def __init__(self, text, names):
        self.names, self.vault, self.pin, self.anchor = names, None, None, None
        if text[: len(SCHEME)].lower() != SCHEME:
            raise Refused("uri-scheme")
        if len(text.encode()) > 8192:
            raise Refused("uri-too-long")
        path, pin, anchor = re.fullmatch(
            "([^@#]*)(@[^#]*)?(#.*)?", text[len(SCHEME) :], re.DOTALL
        ).groups()
        if has_control(text) or re.search(r'[ "<>?\\^`{|}]', text):
            raise Refused("uri-character")
        if not path:
            raise Refused("uri-empty")
        self.resolve(path.split("/"))
        self.check()
        if (pin or anchor) and self.kind != "document":
            raise Refused("uri-not-a-document")
        if pin:
            number = decoded(pin[1:])
            if not re.fullmatch("[1-9][0-9]*", number) or int(number) >= 2**64:
                raise Refused("uri-pin")
            self.pin = int(number)
        if anchor:
            self.anchor = decoded(anchor[1:])
            if not self.anchor or re.search("[@#/]", anchor[1:]):
                raise Refused("uri-anchor")
            if "/" in self.anchor:
                raise Refused("uri-encoded-slash")
        if len(str(self).encode()) > 8192:
            raise Refused("uri-too-long")

    def resolve(self, segments):  # URI-5, URI-6, URI-14
        path, raw = [], []
        for place, segment in enumerate(segments, 1):
            name = decoded(segment)
            if not name and place < len(segments):
                raise Refused("uri-empty-segment")
            if name == "..":
                if not path or (len(path) == 1 and self.names.begin(path, True)):
                    raise Refused("uri-escape")
                path.pop(), raw.pop()
            elif name not in ("", "."):
                path.append(name), raw.append(segment)
        is_folder = name in ("", ".", "..")
        if path and self.names.begin(path, is_folder):
            self.vault = path.pop(0).lower()
            raw.pop(0)
        if not path:
            raise Refused("uri-empty")
        is_set = len(path) + is_folder > 1
        self.kind = "folder" if is_folder else "document"
        if is_set and path[0] in ("tag", "search"):
            self.kind, path, raw = path[0], path[1:], raw[1:]
        elif is_set and path[0] == "staged":  # URI-6
            raise Refused("uri-staged")
        if any("/" in name for name in path) and self.kind in ("document", "folder"):
            raise Refused("uri-encoded-slash")
        if self.kind == "search" and not is_folder:
            path = [decoded(segment.replace("+", " ")) for segment in raw]
        self.segments, self.is_one = path, len(path) == 1 and not is_folder
        self.is_folder, self.is_flat = is_folder, not any("/" in name for name in path)
        self.path = "/".join(path)

    def check(self):
        is_set = self.kind == "tag" and self.segments and not self.is_folder
        if self.kind == "tag" and not (is_set and self.is_flat and is_tag(self.path)):
            raise Refused("uri-tag")
        if self.kind == "search" and not self.is_one:
            raise Refused("uri-query")
        if self.kind in ("document", "folder") and id_error(self.path):
            raise Refused("uri-id")

    @property
    def is_foreign(self):
        return self.vault not in (None, self.names.own)

    def __str__(self):  # URI-21
        path = "/".join(map(encoded, self.segments))
        is_path = self.kind in ("document", "folder")
        if self.kind == "search":
            path = path.replace("%20", "+")
        before = self.vault + "/" if self.is_foreign else ""
        if not before and is_path and self.names.begin(self.segments, self.kind == "folder"):
            before = self.names.own + "/"
        path = before + (path if is_path else f"{self.kind}/{path}")
        path += "/" * (self.kind == "folder") + (f"@{self.pin}" if self.pin else "")
        return SCHEME + path + (f"#{encoded(self.anchor)}" if self.anchor else "")


# Selectors ---------------------------------------------------------------------------------------


class Term:
    """A term of a selector: a key, and a text or a URI."""

    def __init__(self, key, value):
        self.key, self.value, self.terms = key, value, [self]

    def __str__(self):  # SEL-18
        text = str(self.value)
        if self.key == "uri":
            return f'"{text}"' if "+" in text else text
        if self.key == "tag":
            return "#" + text
        is_bare = NAME.fullmatch(text)
        return f"{self.key}:" + (text if is_bare else '"' + text.replace('"', '""') + '"')

    tree = __str__

    def places(self, taken_away=False):
        yield self, taken_away


class Chain:
    """Operands with one operator between them; a chain in a chain of its kind is one (SEL-18)."""

    ORDER = "|-+"

    def __init__(self, sign, items):
        self.sign, self.items = sign, []
        for place, item in enumerate(items):
            is_one = isinstance(item, Chain) and item.sign == sign and (sign != "-" or not place)
            self.items += item.items if is_one else [item]

    def __str__(self):
        texts = []
        for place, item in enumerate(self.items):
            is_inside = isinstance(item, Chain) and (
                self.ORDER.index(item.sign) < self.ORDER.index(self.sign) or item.sign == self.sign
            )
            texts.append(f"({item})" if is_inside else str(item))
        return f" {self.sign} ".join(texts)

    def tree(self):
        return f"({self.sign} " + " ".join(item.tree() for item in self.items) + ")"

    def places(self, taken_away=False):
        """Its terms, each with whether it stands on the right side of a difference."""
        for place, item in enumerate(self.items):
            yield from item.places(taken_away or (self.sign == "-" and place > 0))


def chain(sign, items):
    return Chain(sign, items) if len(items) > 1 else items[0]


class Parser:
    def __init__(self, text, names):
        self.text, self.names, self.at, self.depth = text, names, 0, 0

    def whole(self):
        found = self.union()
        if self.next():
            raise Refused("selector-expected")
        return found

    def next(self):
        """The next character behind blanks; nothing at the end."""
        self.at = re.compile("[ \t\r\n]*").match(self.text, self.at).end()
        return self.text[self.at : self.at + 1]

    def binary(self, sign, operand):
        items = [operand()]
        while self.next() == sign:
            self.at += 1
            items.append(operand())
        return chain(sign, items)

    def union(self):
        return self.binary("|", self.difference)

    def difference(self):
        return self.binary("-", self.intersection)

    def intersection(self):
        items = [self.operand()]
        while (char := self.next()) and char not in "|-)":
            self.at += char == "+"
            items.append(self.operand())
        return chain("+", items)

    def operand(self):
        char = self.next()
        if not char or char in "+|)":
            raise Refused("selector-expected")
        if char == "-":
            raise Refused("selector-minus-unary")
        if char in "*/":
            raise Refused("selector-reserved")
        if char != "(":
            return self.atom()
        self.depth += 1
        if self.depth > 64:
            raise Refused("selector-too-deep")
        self.at += 1
        found = self.union()
        if self.next() != ")":
            raise Refused("selector-expected")
        self.at, self.depth = self.at + 1, self.depth - 1
        return found

    def take(self, pattern):
        found = re.compile(pattern).match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found and found.group()

    def atom(self):
        if self.text[self.at] == '"':
            text = self.quoted()
            if text.lower().startswith("contextnest:"):
                return self.uri(text)
            if text.endswith("/"):
                return self.folder(text)
            raise Refused("selector-bare-word")
        if self.text[self.at : self.at + len("contextnest:")].lower() == "contextnest:":
            text = self.take(r"[^ \t\r\n()|+*]*")
            self.check_minus(text)
            found = self.uri(text)
            self.check_end()
            return found
        word = re.compile(r"[^ \t\r\n()|+*#]*").match(self.text, self.at).group()
        if word.endswith("/") and ":" not in word:  # SEL-14
            self.at += len(word)
            found = self.folder(word)
            self.check_end()
            return found
        key = "tag" if self.take("#") else self.key()
        if self.text[self.at - 1] == ":" and self.text[self.at : self.at + 1] == '"':
            return self.term(key, self.quoted())
        is_sign = self.text[self.at - 1] == "#"
        text = self.take(r"[^ \t\r\n()|+*#]*")
        if is_sign and re.match(r"[^:]*-[^:]*:", text):
            raise Refused("selector-minus-joined")
        self.check_minus(text)
        if key in ("type", "server", "pack") and not NAME.fullmatch(text):
            raise Refused("selector-expected")
        found = self.term(key, text)
        self.check_end()
        return found

    def key(self):
        key = self.take(r"[^ \t\r\n()|+*#:]*")
        if not self.take(":"):
            raise Refused("selector-bare-word")
        if key not in ("tag", "type", "server", "pack", *WORDS):
            raise Refused("selector-unknown-key")
        return key

    def check_minus(self, text):  # SEL-4
        if text.endswith("-") and self.text[self.at : self.at + 1] in ("#", "("):
            raise Refused("selector-minus-joined")

    def check_end(self):  # SEL-2
        char = self.text[self.at : self.at + 1]
        if char in ("*", "/"):
            raise Refused("selector-reserved")
        if char == "#":
            raise Refused("selector-expected")

    def quoted(self):  # SEL-11
        text = self.take(r'"(?:[^"]|"")*"(?!")')
        if text is None:
            raise Refused("selector-quote")
        return text[1:-1].replace('""', '"')

    def term(self, key, text):
        if key == "tag" and not is_tag(text):
            raise Refused("selector-tag")
        if (key, text) == ("status", "staged"):  # SEL-9
            raise Refused("selector-unsupported")
        if key in WORDS and text not in WORDS[key]:
            raise Refused("selector-unknown-word")
        if key in ("type", "server", "pack") and not is_name(text):
            raise Refused("selector-expected")
        return Term(key, text)

    def folder(self, path):  # SEL-14
        return self.uri(SCHEME + "/".join(map(encoded, path.split("/"))))

    def uri(self, text):
        uri = Uri(text, self.names)
        is_tag = uri.kind == "tag" and not uri.is_foreign  # SEL-14
        return Term("tag", uri.path) if is_tag else Term("uri", uri)


def is_name(text):  # SEL-12
    is_odd = has_control(text) or any(map(is_invisible, text))
    return not is_odd and text == text.strip() and 0 < len(text.encode()) <= 200


def read_selector(text, names):
    if len(text.encode()) > 8192:
        raise Refused("selector-too-long")
    try:
        found = Parser(text, names).whole()
    except Refused as why:
        try:  # SEL-15
            uri = Uri(text.strip(" \t\r\n"), names)
        except Refused:
            raise why from None
        if uri.kind != "search":
            raise
        return Term("uri", uri)
    uris = [(term.value, away) for term, away in found.places() if term.key == "uri"]
    if len({uri.pin for uri, _ in uris if uri.pin}) > 1:
        raise Refused("selector-pins")
    if any(away and uri.anchor for uri, away in uris):
        raise Refused("selector-section")
    return found


# Packs -------------------------------------------------------------------------------------------

KINDS = {"includes": "list", "excludes": "list", "audiences": "list", "filters": "map"}
KEYS = "id label description query includes excludes filters audiences agent_instructions".split()


class Pack:
    """A pack file: its id, its definition as a tree (none: nothing), and what is wrong with it."""

    def __init__(self, text, names):
        self.names, self.problems, self.id, self.set = names, [], None, None
        self.is_usable = True  # VAULT-54: some problems keep a file from nothing
        try:
            root = read_yaml(text)
            if len(text.encode()) > 64 << 10:
                raise Refused("too-large")
        except Refused:
            self.refuse("pack-yaml")
            return
        if root.kind != "map":
            self.refuse("pack-value")
            return
        fields = {key.text: value for key, value in root.items if not value.is_null}
        if "id" not in fields:
            self.refuse("pack-value")
        if "label" not in fields:
            self.problems.append("pack-value")
        added = fields.get("query") or fields.get("includes")
        if not added or (added.kind == "list" and not added.items):
            self.problems.append("pack-empty")
        self.added, self.taken, self.types = [], [], []
        for key, value in fields.items():
            self.take(key, value)
        if self.added:
            self.set = chain("-", [chain("|", self.added), *self.taken])
        if self.set and self.types:
            self.set = chain("+", [self.set, chain("|", self.types)])

    def refuse(self, code):
        self.problems.append(code)
        self.is_usable = False

    def take(self, key, value):
        if key not in KEYS:
            self.problems.append("pack-key")
        elif value.kind != KINDS.get(key, "text") or (key == "id" and not is_name(value.text)):
            self.refuse("pack-value")
        elif key in ("includes", "excludes"):
            self.take_list(key, value)
        elif key == "audiences":
            if any(item.kind != "text" for item in value.items):
                self.refuse("pack-value")
        elif key == "filters":
            self.filter(value)
        elif key == "id":
            self.id = value.text
        elif key == "query":
            try:
                found = read_selector(value.text, self.names)
            except Refused:
                self.refuse("pack-query")
                return
            for term, _ in found.places():
                self.check(term)
            self.added.insert(0, found)

    def filter(self, value):
        for key, types in value.items:
            if key.text != "node_types":
                self.problems.append("pack-key")
            elif not types.items:
                self.refuse("pack-value")
            for item in types.items if key.text == "node_types" else ():
                if not is_name(item.text or ""):
                    self.refuse("pack-value")
                self.types.append(Term("type", item.text))

    def take_list(self, key, value):
        for item in value.items:
            if item.kind != "text":
                self.refuse("pack-value")
                continue
            try:
                is_plain = not (id_error(item.text) or is_governance(item.text) or item.text.startswith("contextnest:"))
                text = "contextnest://" + quote(item.text) if is_plain else item.text
                uri = Uri(text, Names({}) if is_plain else self.names)
            except Refused:
                self.refuse("pack-uri")
                continue
            is_tag = uri.kind == "tag" and not uri.is_foreign
            term = Term("tag", uri.path) if is_tag else Term("uri", uri)
            self.check(term)
            if uri.anchor and key == "excludes":
                self.refuse("pack-uri")
            (self.added if key == "includes" else self.taken).append(term)

    def check(self, term):  # VAULT-53
        if term.key == "pack":
            self.refuse("pack-nested")
        elif term.key == "uri" and term.value.is_foreign:
            self.refuse("pack-foreign")
        elif term.key == "uri" and term.value.pin:
            self.refuse("pack-pinned")
