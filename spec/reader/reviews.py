# SPDX-License-Identifier: Apache-2.0
"""Reviews: what a version is to them, the edit of each step, and whether what was published was
approved (review.md)."""

import re

import formats as f
from artifact import is_principal
from edits import Edit, spelled_value
from stewards import ROLES, Stewards, key_of
from untouched import REVIEW as FIELDS
from untouched import live_form

WORDS = "submitted approved rejected withdrawn emergency ratified".split()
EVENT, OTHER = "event", "other"
STEPS = "submitted approved-in-part rejected withdrawn ratified".split()


def parsed(text):
    try:
        return f.Document(text)
    except f.Refused:
        return None


def unspaced(body):  # REV-12
    return re.sub("[ \\t\\n\\r]", "", body)


def texts_of(node):
    if node is None or node.kind == "map":
        return []
    return [item.text for item in node.items] if node.kind == "list" else [node.text]


class Fields:  # REV-4
    """The fields of a review; `state` is none where there is no review."""

    def __init__(self, text):
        document = parsed(text)
        word = document.text_of("review") if document else None
        self.state = word if word in WORDS else None
        if self.state is None:
            return
        base, at = document.field("review_base"), document.text_of("approved_at")
        self.base = base.number if base else None
        self.action, target = document.text_of("review_action") or "publish", document.text_of("review_target")
        if self.action not in ("publish", "retire", "move") or (self.action == "move") != bool(target):
            self.action = None
        elif target and f.id_error(target):
            self.action = None
        self.target = target if self.action == "move" else None
        self.change = document.text_of("change")
        self.approved_by, self.approved_at = texts_of(document.field("approved_by")), at
        self.reason = document.text_of("review_reason")
        self.derived = texts_of(document.field("derived_from"))


def tags_of(text):  # DOC-13
    document = parsed(text)
    node = document.field("tags") if document else None
    if node is None or node.kind == "map":
        return []
    words = [item.text for item in node.items] or re.split(r"[,\s]+", node.text)
    words = [word.removeprefix("#") for word in words]
    return [word for word in words if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", word, re.ASCII)]


def texts_within(node):
    """The texts of a node at any depth, keys too."""
    if node is None or node.is_null:
        return []
    if node.kind == "map":
        return [text for pair in node.items for one in pair for text in texts_within(one)]
    return [text for item in node.items for text in texts_within(item)] if node.kind == "list" else [node.text]


def authors_of(text, apart=True):  # REV-12
    document = parsed(text)
    items = texts_within(document.field("author")) if document else []
    if not apart:
        return items
    parts = [part for item in items for part in [item, *re.split("[,;]", item)]]
    words = [word.strip("()[]<>{}\"'.,;:") for part in parts for word in re.split("[ \t\n]", part) if "@" in word]
    parts += [found[1] for part in parts if (found := re.search(r"<([^>]*)>", part))]
    return {key_of(part) for part in [*parts, *words]}


def step_edit(text, version, at, step, **said):
    """The text of a step upon the text before it (REV-4, REV-5); none where it cannot be made."""
    word = "submitted" if step == "approved-in-part" else step
    status = "published" if step == "approved" and not said.get("retires") else "draft"
    values = [("status", status), ("version", version), ("updated_at", at)]
    if step != "approved-in-part":
        values.append(("review", word))
    if step == "submitted":
        values.append(("review_base", said["base"]))
        if said.get("action", "publish") != "publish":
            values.append(("review_action", said["action"]))
        values += [(name, said[key]) for name, key in (("review_target", "target"), ("change", "change")) if said.get(key)]
    if said.get("by") and step != "rejected":
        by = said["by"]
        values += [("approved_by", by[0] if len(by) == 1 else by), ("approved_at", at)]
    if step == "rejected":
        values.append(("rejected_by", said["by"][0]))
    if said.get("reason") is not None:
        values.append(("review_reason", said["reason"]))
    set_now = {name for name, _ in values}
    keeps = step == "approved-in-part"
    try:
        edit = Edit(text, f.Document(text))
        for name, value in values:
            edit.set(name, spelled_value(value))
        for name in FIELDS:
            if name not in set_now and not keeps:
                edit.remove(name)
        found = edit.result()
        edit.check(f.Document(text), found, dict(values))
    except f.Refused:
        return None
    return found


def without(text, is_left_out):  # REV-12
    """A text without the values of some fields, and without their lines if nothing else stands on
    them; the text where its fields cannot be read."""
    try:
        document = f.Document(text)
        edit = Edit(text, document)
    except f.Refused:
        return text
    head, out, at = edit.head, "", 0
    for key, node in edit.items:
        start, end = max(key.end.index, node.start.index), max(key.end.index, node.end.index)
        end = start + len(head[start:end].rstrip())
        if start < at or head[start : start + 1] in tuple("&*!") or not is_left_out(key.text, node):
            continue
        line, rest = head.rfind("\n", 0, key.start.index) + 1, head.find("\n", end)
        rest = len(head) if rest < 0 else rest + 1
        before = head[line:start]
        is_alone = not any(c in before for c in "#&!{,") and not head[end:rest].strip()
        first, last = (line, rest) if is_alone else (start, end)
        out, at = out + head[at:first], last
    return out + head[at:] + "\0" + document.body


def act_of(entry):  # REV-9
    """The word of an act; `?` for a diff that has the mark of one and is none."""
    if entry.keyframe or entry.diff is None:
        return None
    second = (entry.diff.split("\n") + [""])[1]
    if "\t" not in second:
        return None
    word = second.split("\t", 1)[1].removeprefix("review: ")
    n = entry.version
    return word if entry.diff == f"--- v{n - 1}\n+++ v{n}\treview: {word}\n" else "?"


class Rules:
    """The stewards and settings in force."""

    def __init__(self, stewards, bar_author, frontmatter=None, names=None):
        found = Stewards(stewards) if stewards is not None else None
        self.stewards = found if found and not found.problems else None
        self.bar_author, self.frontmatter, self.names = bar_author, frontmatter, names

    def reviewers_of_vault(self):
        """The keys of those who may approve the configuration."""
        if self.stewards is None:
            return set()
        roles = self.stewards.resolve(".context/config.yaml", [])[1]
        return {key for key, role in roles.items() if role == "reviewer"}

    def has_role(self, who, needed, subjects):
        if self.stewards is None or not is_principal(who.strip()):
            return False
        for id, text in subjects:
            _, roles, _ = self.stewards.resolve(id, self.tags(id, text))
            role = roles.get(key_of(who))
            if role is None or ROLES.index(role) < ROLES.index(needed):
                return False
        return True

    def required(self, subjects):
        if self.stewards is None:
            return 1
        return max(self.stewards.resolve(id, self.tags(id, text))[2]["required"] for id, text in subjects)

    @staticmethod
    def tags(id, text):
        return [] if f.is_governance(id) else tags_of(text)


class Track:
    """The versions of one history in order, and what awaits a decision (REV-6)."""

    def __init__(self, id):
        self.id, self.is_rule = id, f.is_governance(id)
        self.published = self.former = self.pending = self.emergency = None
        self.submitters, self.bodies, self.unspaced, self.written, self.tail = set(), {}, {}, {}, []
        self.latest = None  # the latest time of an entry so far
        self.is_approved = True  # whether what was published last was approved, or needed no approval
        # The text before events without a valid approval, and who recorded these; none if the last publication has one.
        self.distrusted, self.before_event = None, (None, set(), set())

    def kind(self, entry, text):
        if entry.published_at or entry.retired_at:
            return EVENT
        if self.is_rule:
            known = {"partial": "approved-in-part", "rejected": "rejected", "withdrawn": "withdrawn"}
            word = act_of(entry)
            return "submitted" if word is None else known.get(word, OTHER)
        fields = Fields(text)
        if fields.state == "submitted":
            return "approved-in-part" if fields.approved_by else "submitted"
        return fields.state if fields.state in STEPS else OTHER

    def lose(self, entry=None):
        self.published = self.pending = None
        self.note_time(entry)

    def is_backdated(self, entry):  # REV-31
        return self.latest is not None and f.millis(entry.edited_at) < self.latest

    def note_time(self, entry):
        if entry and not self.is_backdated(entry):
            self.latest = f.millis(entry.edited_at)

    def take(self, entry, text):
        kind, is_backdated = self.kind(entry, text), self.is_backdated(entry)
        self.note_time(entry)
        if kind == EVENT:
            editors = self.distrusted[1] if self.distrusted else set()
            self.before_event = self.last_approved(), editors, self.submitters
            if entry.published_at:  # a retirement approves no text
                self.distrusted = None
            self.pending, self.emergency, self.submitters = None, None, set()
            self.former = None if entry.published_at else self.published or self.former
            self.published = (entry.version, text) if entry.published_at else None
            self.is_approved |= bool(entry.published_at)
            if entry.retired_at and not self.is_rule and Fields(text).state == "emergency":
                self.emergency = (entry.edited_by, text)
        elif kind == "submitted":
            self.submit(entry, text)
        elif kind == "approved-in-part" and self.pending:
            self.part(entry, text)
        elif kind in ("rejected", "withdrawn"):
            self.pending, self.submitters = None, set()
        elif kind == "ratified":
            self.emergency = None
        elif kind == OTHER:
            self.pending = None
        if self.pending and is_backdated:
            self.pending["backdated"] = True
        if kind in (EVENT, OTHER, "submitted"):
            self.tail = []
        if kind in STEPS:
            self.tail.append(entry)
        return kind

    def is_exact_approval(self, entry, text):
        pending = self.pending
        if pending is None or pending["last"][0] + 1 != entry.version:
            return False
        fields = None if self.is_rule else Fields(text)
        if not self.is_rule and fields.state != "approved":
            return False
        return self.approvers(entry, text, fields) is not None

    def disown(self, entry, is_author):
        """The event that was taken last has no valid approval: it ends no authorship, and gives no role."""
        if self.published:
            self.is_approved = False
        approved, editors, self.submitters = self.before_event
        self.distrusted = approved, editors | ({key_of(entry.edited_by)} if is_author else set())

    def last_approved(self):
        return self.distrusted[0] if self.distrusted else self.published or self.former

    def retired(self, text):
        last = self.last_approved()
        return [(self.id, last[1] if last else text)]

    def approved(self):
        return self.published if self.is_approved else None

    def body(self, text):
        document = None if self.is_rule else parsed(text)
        return document.body if document else text

    def content(self, text):  # REV-12
        """What the submitter of a text wrote: without all values that publishing may write, only without
        those that it sets in any case, and whether it leaves the file alone."""
        if self.is_rule:
            return text, text, False
        live = live_form(text)
        is_untouched = live != text
        always = {"status", "version", "updated_at", "checksum", *FIELDS}

        def is_written(key, node):
            is_default = key == "type" and node.kind == "text" and node.text == "document"
            return key in always or key in ("author", "created_at") or is_default

        whole = live if is_untouched else without(live, lambda key, _: key in always)
        return without(live, is_written), whole, is_untouched

    def is_same(self, now, before):
        published = self.approved()
        last = self.content(published[1]) if published else (None,) * 3
        is_same = any(now[n] == before[n] != last[n] for n in (0, 1))
        return is_same or now[2] != before[2] and before[1] != last[1]

    def is_renewal(self):  # REV-12
        pending = self.pending
        if not self.approved() or self.is_rule:
            return bool(self.approved()) and self.published[1] == pending["text"]
        said = {"base": self.published[0], "change": pending["change"]}
        return step_edit(self.published[1], pending["version"], pending["at"], "submitted", **said) == pending["text"]

    def submit(self, entry, text):
        by = key_of(entry.edited_by)
        base = self.published[0] if self.published else 0
        new = {"base": base, "action": "publish" if text else "retire", "target": None, "change": None}
        if not self.is_rule:
            fields = Fields(text)
            new = {name: getattr(fields, name) for name in new}
        if new["action"] == "publish":
            self.bodies.setdefault(self.body(text), set()).add(by)
            self.unspaced.setdefault(unspaced(self.body(text)), []).append((by, self.body(text)))
            self.written.setdefault(self.body(text), []).append((by, self.content(text)))
        self.submitters.add(by)
        self.pending = new | {
            "version": entry.version, "at": entry.edited_at, "text": text, "approvers": [],
            "last": (entry.version, text), "altered": False, "backdated": False,
        }  # fmt: skip

    def part(self, entry, text):
        pending = self.pending
        pending["approvers"].append(entry.edited_by)
        before = pending["last"][1]
        expected = before
        if not self.is_rule:
            by = pending["approvers"]
            expected = step_edit(before, entry.version, entry.edited_at, "approved-in-part", by=by)
        if expected != text or entry.version != pending["last"][0] + 1:
            pending["altered"] = True
        pending["last"] = (entry.version, text)

    # What is wrong with a version, before it is taken (REV-17) ------------------------------------

    def subjects(self, text, target=None):
        last = self.last_approved()
        texts = [text] * bool(text) + ([last[1]] if last else [])
        ids = [self.id] + [target] * bool(target)
        return [(id, text) for id in ids for text in texts] or [(self.id, "")]

    def bars(self, who, rules):
        pending = self.pending
        if who in self.submitters or self.distrusted and who in self.distrusted[1]:
            return True
        if pending["action"] != "publish":
            return False
        body = self.body(pending["text"])
        is_published = self.approved() and self.body(self.published[1]) == body
        if who in self.bodies.get(body, ()) and not is_published:
            return True
        others = self.unspaced.get(unspaced(body), ())
        is_published = self.approved() and unspaced(self.body(self.published[1])) == unspaced(body)
        if any(by == who and other != body for by, other in others) and not is_published:
            return True
        now, written = self.content(pending["text"]), self.written.get(body, [])
        is_written = any(by == who and self.is_same(now, before) for by, before in written)
        if is_written and not self.is_renewal():
            return True
        if self.is_rule:
            return False
        last = (self.published or self.former) if self.is_approved else None
        was_named = last and who in authors_of(last[1])
        if rules.bar_author and (was_named or who in authors_of(pending["text"])):
            return True
        now = authors_of(pending["text"], apart=False)
        is_new = last is None or authors_of(last[1], apart=False) != now
        return is_new and who in authors_of(pending["text"])

    def judge_step(self, entry, text, rules):
        kind = self.kind(entry, text)
        if kind == "submitted":
            target = None if self.is_rule else Fields(text).target
            if not rules.has_role(entry.edited_by, "editor", self.subjects(text, target)):
                return ["approval-unauthorised"]
        if kind != "ratified":
            return []
        if self.emergency is None:
            return ["approval-missing"]
        by, retired = self.emergency
        found = ["approval-unauthorised"] * self.is_backdated(entry)
        found += ["approval-self"] if key_of(by) == key_of(entry.edited_by) else []
        if not rules.has_role(entry.edited_by, "reviewer", self.retired(retired)):
            found.append("approval-unauthorised")
        if step_edit(retired, entry.version, entry.edited_at, "ratified", by=[entry.edited_by]) != text:
            found.append("approval-altered")
        return found

    def judge(self, entry, text, rules):
        return self.judge_event(entry, text, rules) + ["approval-unauthorised"] * self.is_backdated(entry)

    def judge_event(self, entry, text, rules):
        fields = None if self.is_rule else Fields(text)
        if entry.retired_at and fields and fields.state == "emergency":
            subjects = self.retired(self.published[1] if self.published else "")
            return [] if rules.has_role(entry.edited_by, "reviewer", subjects) else ["approval-unauthorised"]
        if entry.retired_at and self.id in ("CONTEXT.md", "stewards.yaml", ".context/config.yaml"):
            return ["approval-altered"]
        pending = self.pending
        if pending is None or pending["last"][0] + 1 != entry.version:
            return ["approval-missing"]
        if pending["backdated"]:
            found = ["approval-unauthorised"]
        else:
            found = ["approval-altered"] if self.is_no_submission() else []
        if not self.is_rule and fields.state != "approved" and self.fits_action(entry):
            return [*found, "approval-missing"]
        approvers = self.approvers(entry, text, fields)
        if approvers is None:
            return [*found, "approval-altered"]
        subjects = self.subjects(pending["text"], pending["target"])
        for n, who in enumerate(approvers):
            key = key_of(who)
            if key in map(key_of, approvers[:n]):
                found.append("approval-missing")
            if self.bars(key, rules):
                found.append("approval-self")
            if not rules.has_role(who, "reviewer", subjects):
                found.append("approval-unauthorised")
        if len(approvers) < rules.required(subjects):
            found.append("approval-missing")
        return found

    def fits_action(self, entry):
        action = self.pending["action"]
        return action is None or (action != "publish") == bool(entry.retired_at)

    def is_no_submission(self):
        pending, base = self.pending, self.published[0] if self.published else 0
        if pending["base"] != base or pending["altered"] or pending["action"] is None:
            return True
        if pending["action"] == "publish" or self.is_rule:
            return False
        said = {key: pending[key] for key in ("base", "action", "target", "change")}
        text = self.published and step_edit(self.published[1], pending["version"], pending["at"], "submitted", **said)
        return text != pending["text"]

    def approvers(self, entry, text, fields):
        pending = self.pending
        everyone = [*pending["approvers"], entry.edited_by]
        is_approver = key_of(entry.edited_by) in map(key_of, pending["approvers"])
        if not self.fits_action(entry):
            return None
        if self.is_rule:
            everyone = pending["approvers"] if is_approver else everyone
            return everyone if act_of(entry) == "approved" and text == pending["last"][1] else None
        named = fields.approved_by
        is_completed = named == pending["approvers"] and (pending["change"] is not None or is_approver)
        if named != everyone and not is_completed:
            return None
        at = entry.published_at or entry.retired_at
        said = {"by": named, "retires": bool(entry.retired_at)}
        expected = named and step_edit(pending["last"][1], entry.version, at, "approved", **said)
        return named if expected == text else None


def review_of(id, entries, texts, n):  # REV-20
    """Who submitted and who approved version n, by the entries and texts of its history; none
    without a review."""
    last = entries[n]

    def is_step(v):
        return v in entries and not (entries[v].published_at or entries[v].retired_at)

    if is_step(n):
        return None
    in_part, decides = 0, True
    if f.is_governance(id):
        if not last.retired_at and act_of(last) != "approved":
            return None
        while is_step(n - 1 - in_part) and act_of(entries[n - 1 - in_part]) == "partial":
            in_part += 1
        decides = key_of(last.edited_by) not in (key_of(entries[n - 1 - k].edited_by) for k in range(in_part))
    else:
        fields = Fields(texts[n])
        if fields.state != "approved" or fields.approved_at != last.edited_at or not fields.approved_by:
            return None
        names, key = fields.approved_by, key_of(last.edited_by)
        decides = key_of(names[-1]) == key
        if decides and is_step(n - 1) and key_of(entries[n - 1].edited_by) == key:
            before = Fields(texts[n - 1])
            decides = before.state != "submitted" or before.approved_by != names
        in_part = len(names) - decides
    first = n - in_part
    if not all(is_step(v) for v in range(first - 1, n)):
        return None
    submission = entries[first - 1]
    return {
        "version": n, "submission": submission.version, "submitted_by": submission.edited_by,
        "submitted_at": submission.edited_at, "approved_at": last.edited_at,
        "approved_by": [entries[v].edited_by for v in range(first, n)] + [last.edited_by] * decides,
    }  # fmt: skip


def origin_of(fields):
    """The document that `derived_from` names first."""
    found = re.fullmatch(r"contextnest://(?:[^/]*@)?(nodes/[^@#?]+)@?.*", (getattr(fields, "derived", None) or [""])[0])
    return found[1] if found else None


def review_of_move(id, entries, texts, source):  # REV-20
    """The review of the first version of the target of a move: that of the retirement of its source,
    whose entries and texts these are; none where the two do not belong together."""
    first = entries[1]
    said = Fields(texts[1])
    if said.state is None or not said.approved_by or said.approved_at is None or not origin_of(said):
        return None
    entries, texts = source
    n = next((v for v in sorted(entries) if first.published_at and entries[v].retired_at == first.published_at), 1)
    if n == 1:
        return None
    retired = Fields(texts[n])
    if retired.state is None or (retired.approved_by, retired.approved_at) != (said.approved_by, said.approved_at):
        return None
    found = review_of(origin_of(said), entries, texts, n)
    submitted = found and Fields(texts[found["submission"]])
    is_move = submitted and submitted.state and submitted.target == id
    return found | {"version": 1, "submission": 1} if is_move else None


def is_submitted(live, text):
    """Whether a live text is what a submission was made from, but for what submitting writes."""
    ours = {*FIELDS, "status", "version", "updated_at", "checksum", "metadata"}
    inserted = {"title", "type", "author", "created_at"}
    live, made = parsed(live), parsed(text)
    if live is None or made is None or f.normalise(live.body) != f.normalise(made.body):
        return False
    own, other = (
        {key.text: value.plainly() for key, value in (d.fields.items if d.fields else []) if key.text not in ours}
        for d in (live, made)
    )
    return all(other.get(key) == value for key, value in own.items()) and set(other) - set(own) <= inserted
