# SPDX-License-Identifier: Apache-2.0
"""What an approved move publishes under the new id (review.md, REV-7)."""

import re

from edits import Edit, spelled_value
from formats import Document, Refused, hash_fault, millis, sha256, spelled
from questions import encoded
from reviews import FIELDS, Fields
from untouched import OURS, as_yaml, has_our_four, is_edited, live_form, parts, read_live


class Move:
    """A move from one id to another, approved by an event upon the checkpoint `head`."""

    def __init__(self, ids, entry, retired, head):
        self.ids, self.by, self.at, self.head = ids, entry.edited_by, entry.retired_at, head
        self.approved_by = Fields(retired).approved_by

    def text(self, published, rules, title):
        """The first version of the target, from the published text of its source; none if it cannot
        be made. `title` is the title that it has, for a body whose heading this reader cannot read."""
        live = live_form(published)
        try:
            document, form, before = read_live(live)
            is_managed = is_edited(form, rules.frontmatter)
            yaml = live if form is None else f"---\n{as_yaml(form, parts(live)[1])}---{parts(live)[3]}"
            edit = Edit(yaml, Document(yaml))
            values = self.values(document, Document(yaml), title)
            foreign = foreign_values(document) if is_managed else []
            for name, value in values:
                edit.set(name, spelled_value(value))
            self.derive(edit, rules)
            edit.keep(foreign) if is_managed else edit.keep_block(spelled(before, True))
            for name in FIELDS:
                if name not in ("review", "approved_by", "approved_at"):
                    edit.remove(name)
            found = edit.result()
            edit.check(Document(yaml), found, dict(values))
        except Refused:
            return None
        return found

    def values(self, document, yaml, title):  # DOC-15
        by = self.approved_by
        rest = yaml.rest if yaml.head or yaml.fields else "\n" + yaml.rest
        inserted = {
            "title": title_of(document.body, self.ids[1]) or title, "type": "document",
            "author": self.by, "created_at": self.at,
        }  # fmt: skip
        values = [
            ("title", None), ("type", None), ("status", "published"), ("version", 1), ("author", None),
            ("created_at", None), ("updated_at", self.at), ("checksum", sha256(rest)),
            ("review", "approved"), ("approved_by", by[0] if len(by) == 1 else by), ("approved_at", self.at),
        ]  # fmt: skip
        values = [(name, value or inserted[name]) for name, value in values if value or not document.field(name)]
        return [(name, value) for name, value in values if value is not None]

    def derive(self, edit, rules):  # PUB-14
        old = self.ids[0].split("/")
        if len(old) > 1 and old[0] in ("tag", "search", "staged"):
            return
        if rules.names.begin(old, False):
            if not rules.names.own:
                return
            old = [rules.names.own, *old]
        edit.derive("contextnest://" + "/".join(map(encoded, old)) + f"@{self.head}")


def foreign_values(document):  # DOC-20, REV-4
    def is_ours(name, node):
        text = node.text if node.kind == "text" else ""
        return {
            "version": bool(node.number) and (has_our_four(document) or node.number == 1),
            "status": document.status in ("draft", "published") or text.lower() == "stable",
            "updated_at": millis(text) is not None,
            "checksum": hash_fault(text) is None,
        }[name]

    own = {"review", "approved_by", "approved_at"} if document.text_of("review") == "approved" else set()
    found = [(name, document.field(name)) for name in (*OURS, *FIELDS)]
    found = [(name, node) for name, node in found if node]
    return [(n, node) for n, node in found if n not in own and not (n in OURS and is_ours(n, node))]


def title_of(body, id):
    """The first heading of a body, else the last name of the id; none if that takes a reader of Markdown."""
    for line in body.splitlines():
        heading = re.fullmatch(r"#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*", line)
        if heading and re.fullmatch(r"[\w ,.;:?()-]+", heading[1]):
            return " ".join(heading[1].split())[:200]
        if line.strip() and not re.match(r"[A-Za-z]", line):
            return None
        if re.search(r"[<`]", line):
            return None
    return None if re.search(r"^(=|-)+[ \t]*$", body, re.MULTILINE) else id.split("/")[-1]
