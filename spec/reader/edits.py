# SPDX-License-Identifier: Apache-2.0
"""Edits of the frontmatter in place (document.md, section 4)."""

import re

from formats import Document, Refused, read_yaml, spelled


def edited(text, values, keep=(), uri=None, block=None):
    """The document with fields set, foreign values kept, a URI in `derived_from`, and the
    frontmatter of a file that is not edited."""
    before = Document(text)
    edit = Edit(text, before)
    copies = [(name, before.field(name)) for name in keep]
    for name, value in values:
        edit.set(name, spelled_value(value))
    edit.keep([(name, node) for name, node in copies if node])
    if block is not None:
        edit.keep_block(spelled(block, True))
    if uri is not None:
        edit.derive(uri)
    found = edit.result()
    edit.check(before, found, dict(values))
    return found


def spelled_value(value):  # DOC-16
    if isinstance(value, list):
        return "[" + ", ".join(spelled(item, True) for item in value) + "]"
    return str(value) if isinstance(value, int) else spelled(value)


def copied(node):  # YAML-15
    if node.kind == "list":
        return "[" + ", ".join(copied(item) for item in node.items) + "]"
    if node.kind == "map":
        return "{" + ", ".join(f"{copied(k)}: {copied(v)}" for k, v in node.items) + "}"
    is_kept = node.plain and re.fullmatch(r"[A-Za-z0-9._+][A-Za-z0-9._+-]*", node.text, re.ASCII)
    return node.text if is_kept else spelled(node.text, True)


class Edit:
    """Spans of the frontmatter that are replaced, and lines that are added to its end."""

    def __init__(self, text, document):
        self.mark = "\ufeff" if text.startswith("\ufeff") else ""
        self.text, self.spans, self.added, self.touched = text.removeprefix("\ufeff"), [], "", set()
        first = re.search(r"\r\n|\r|\n", self.text)
        self.end = first.group() if first else "\n"
        opening = re.match(r"---(\r\n|\r|\n)", self.text)
        lines = re.findall(r".*?(?:\r\n|\r|\n)|.+\Z", self.text, re.DOTALL) if opening else []
        close = next((n for n, x in enumerate(lines) if n and x.rstrip("\r\n") == "---"), None)
        self.start, self.rest = (lines[0], "".join(lines[close:])) if close else (None, self.text)
        self.head = "".join(lines[1:close])
        self.root = read_yaml(self.head, "frontmatter") if close else None
        if self.root is None or self.root.is_null:
            self.root = None
        elif self.head[self.root.start.index] == "{":
            raise Refused("flow")
        self.items = self.root.items if self.root else []
        self.indent = " " * (self.root.start.column if self.root else 0)

    def get(self, name):
        return next(((key, value) for key, value in self.items if key.text == name), (None, None))

    def set(self, name, value):  # DOC-17, DOC-18
        self.touched.add(name)
        key, node = self.get(name)
        if key is None:
            self.added += f"{self.indent}{name}: {value}{self.end}"
        else:
            self.replace(key, node, " " + value)

    def remove(self, name):  # REV-4
        """Takes a field out, with its lines."""
        self.touched.add(name)
        key, node = self.get(name)
        if key is None:
            return
        colon = self.head.index(":", key.end.index) + 1
        end = colon + len(self.head[colon : max(colon, node.end.index)].rstrip())
        start = self.head.rfind("\n", 0, key.start.index) + 1
        end = self.head.find("\n", end)
        self.spans.append((start, len(self.head) if end < 0 else end + 1, ""))

    def replace(self, key, node, value):
        """Puts a blank and a value, or lines, behind the colon of a key."""
        colon = self.head.index(":", key.end.index) + 1
        end = max(colon, node.end.index)
        if not node.is_null:
            end = colon + len(self.head[colon:end].rstrip())
        elif not node.text:
            end = colon
        between = self.head[colon : node.start.index]
        if "#" in between:
            raise Refused("not-exact")
        if between and not between.strip(" \t") and value.startswith(" ") and end > colon:
            value = between + value[1:]
        self.spans.append((colon, end, value))

    def insert(self, node, entries):
        """Puts entries before those of a list or map."""
        at = node.start.index
        if self.head[at] in "[{":
            text = ", ".join(entries) + (", " if node.items else "")
            self.spans.append((at + 1, at + 1, text))
        else:
            mark, line = "- " * (node.kind == "list"), self.end + " " * node.start.column
            self.spans.append((at, at, "".join(mark + entry + line for entry in entries)))

    def keep(self, copies):  # DOC-20, DOC-21
        if not copies:
            return
        self.touched.add("metadata")
        key, node = self.get("metadata")
        if key is None:
            pad = self.indent + "  "
            lines = f"{pad}original:{self.end}"
            lines += "".join(f"{pad}  {name}: {copied(one)}{self.end}" for name, one in copies)
            self.added += f"{self.indent}metadata:{self.end}{lines}"
            return
        if node.is_null:
            pairs = ", ".join(f"{name}: {copied(one)}" for name, one in copies)
            self.replace(key, node, " {original: {" + pairs + "}}")
            return
        original = node.get("original") if node.kind == "map" else None
        if node.kind != "map" or (original and original.kind != "map"):
            raise Refused("metadata")
        entries = [f"{self.free(original, name)}: {copied(one)}" for name, one in copies]
        if original is None:
            self.insert(node, ["original: {" + ", ".join(entries) + "}"])
        else:
            self.insert(original, entries)

    def keep_block(self, block):  # DOC-30
        self.touched.add("metadata")
        key, node = self.get("metadata")
        entry = f"original_frontmatter: {block}"
        if key is None:
            self.added += f"{self.indent}metadata:{self.end}{self.indent}  {entry}{self.end}"
        elif node.is_null:
            self.replace(key, node, " {" + entry + "}")
        elif node.kind != "map" or node.get("original_frontmatter"):
            raise Refused("metadata")
        else:
            self.insert(node, [entry])

    @staticmethod
    def free(node, name):
        found, number = name, 1
        while node and node.get(found):
            number += 1
            found = f"{name}-{number}"
        return found

    def derive(self, uri):  # DOC-22
        _, node = self.get("derived_from")
        item = spelled(uri, True)
        if node is None or node.is_null:
            self.set("derived_from", f"[{item}]")
        elif node.kind == "list":
            self.insert(node, [item])
        else:
            self.set("derived_from", f"[{item}, {copied(node)}]")
        self.touched.add("derived_from")

    def result(self):
        head = self.head
        for start, end, value in sorted(self.spans, key=lambda span: span[0], reverse=True):
            head = head[:start] + value + head[end:]
        if self.start is None:  # DOC-19
            return f"{self.mark}---{self.end}{head}{self.added}---{self.end}{self.rest}"
        return self.mark + self.start + head + self.added + self.rest

    def check(self, before, found, values):  # DOC-23
        def others(document):
            items = document.fields.items if document.fields else []
            return [(k.text, v.plainly()) for k, v in items if k.text not in self.touched]

        try:
            after = Document(found)
        except Refused as why:
            raise Refused("not-exact") from why
        are_set = all(
            (node := after.field(name)) and node.plainly() == (v if isinstance(v, list) else str(v))
            for name, v in values.items()
        )
        rest = before.rest if self.start else "\n" + before.rest
        if not are_set or others(before) != others(after) or after.rest != rest:
            raise Refused("not-exact")
