# SPDX-License-Identifier: Apache-2.0
"""Stewards: `stewards.yaml`, and which of its scopes decides about an artifact."""

import re
import unicodedata

from artifact import is_principal
from formats import (
    Refused, fold, fold_case, has_control, has_invisible, id_error, is_governance, is_invisible,
)
from formats import is_reserved, read_yaml

ROLES = ["viewer", "editor", "reviewer"]
VAULT = {"vault", "nest", "data_room"}
NAMED = {"folders": "folder", "tags": "tag", "documents": "document"}
OF_VAULT = ("stewards.yaml", ".context/config.yaml")


def key_of(principal):  # STEW-4
    return fold_case(unicodedata.normalize("NFC", principal.strip()))


def number(node, most):
    return node.number if node.number and node.number <= most else None


class Stewards:
    """A file: its assignments and settings by scope, and what is wrong with it."""

    def __init__(self, text):
        self.problems, self.groups, self.scopes, self.settings = [], {}, {}, {}
        self.entries = 0
        if len(text.encode()) > 1 << 20:
            self.problems.append(("stewards-limit", 1, 1))
            return
        try:
            root = read_yaml(text)
        except Refused:
            self.problems.append(("stewards-yaml", None, None))
            return
        fields = self.mapping(root)
        for name, node in fields:
            if name.text == "groups":
                self.read_groups(node)
        for name, node in fields:
            if name.text == "version":
                if node.number != 1:
                    self.refuse("value", node)
            elif name.text == "review":
                for kind, value in self.mapping(node):
                    self.read_scopes(kind, value, self.settings, self.setting)
            elif name.text != "groups":
                self.read_scopes(name, node, self.scopes, self.assignments)
        self.problems = sorted(self.problems, key=lambda problem: problem[1:])[:100]

    def refuse(self, code, node):
        self.problems.append(("stewards-" + code, node.start.line + 1, node.start.column + 1))

    def mapping(self, node):
        if node.kind != "map" and not node.is_null:
            self.refuse("value", node)
        return node.items if node.kind == "map" else []

    def list(self, node):
        items = node.items if node.kind == "list" else []
        if not items:
            self.refuse("value", node)
        for item in items:
            if not self.count(item):
                return
            yield item

    def count(self, node):  # STEW-1
        self.entries += 1
        if self.entries == 10_001:
            self.refuse("limit", node)
        return self.entries <= 10_000

    def principal(self, node):
        if node.kind != "text" or node.is_null:
            self.refuse("value", node)
        elif not is_principal(node.text.strip()):
            self.refuse("principal", node)
        else:
            return key_of(node.text)

    def read_groups(self, node):  # STEW-3
        for name, value in self.mapping(node):
            is_named = 0 < len(name.text.encode()) <= 200 and not has_control(name.text)
            if not is_named or any(map(is_invisible, name.text)):
                self.refuse("value", name)
            members = self.groups.setdefault(name.text, [])
            for item in self.list(value):
                member = self.principal(item)
                if member in members:
                    self.refuse("twice", item)
                elif member:
                    members.append(member)

    def read_scopes(self, name, node, into, read):
        if name.text in VAULT:
            if not node.is_null:
                self.take(("vault", ""), name, node, into, read)
        elif name.text not in NAMED:
            self.refuse("key", name)
        else:
            for scope, value in self.mapping(node):
                found = self.scope(NAMED[name.text], scope.text)
                if found is None:
                    self.refuse("scope", scope)
                else:
                    self.take((NAMED[name.text], found), scope, value, into, read)

    def take(self, scope, name, node, into, read):
        if scope in into:
            self.refuse("twice", name)
        else:
            into[scope] = None
            into[scope] = read(node)

    def scope(self, kind, text):  # STEW-5
        if kind == "tag":
            tag = text.removeprefix("#")
            return fold(tag) if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", tag, re.ASCII) else None
        id = text.removesuffix("/") if kind == "folder" else text
        if id_error(id) or has_invisible(id):
            return None
        if kind == "document":
            is_file = id.endswith(".md") and id != "CONTEXT.md"
            if id in OF_VAULT or is_file or (not is_governance(id) and is_reserved(id)):
                return None
        return fold(id)

    def assignments(self, node):
        roles = {}
        for item in self.list(node):
            found = self.assignment(item)
            if found and found[0] in roles:
                self.refuse("twice", item)
            elif found:
                roles[found[0]] = found[1]
        return roles

    def assignment(self, node):
        if node.kind != "map":
            return self.refuse("value", node)
        names, role, has_role = [], None, False
        for key, value in node.items:
            if key.text in ("principal", "email"):
                names.append(("principal", self.principal(value)))
            elif key.text == "group":
                if value.text not in self.groups or value.kind != "text":
                    self.refuse("group", value)
                    names.append(("group", None))
                else:
                    names.append(("group", value.text))
            elif key.text == "role":
                has_role = True
                role = value.text if value.kind == "text" and value.text in ROLES else None
                if role is None:
                    self.refuse("role", value)
            else:
                self.refuse("key", key)
        if len(names) != 1:
            return self.refuse("value", node)
        if not has_role:
            self.refuse("value", node)
        return (names[0], role) if names[0][1] is not None and role else None

    def setting(self, node):  # STEW-6
        if not self.count(node):
            return None
        if node.kind != "map" or not node.items:
            return self.refuse("value", node)
        found = {}
        for key, value in node.items:
            days = re.fullmatch(r"([1-9][0-9]*)d", value.text, re.ASCII)
            if key.text == "required" and number(value, 100):
                found["required"] = value.number
            elif key.text == "max_age" and days and int(days[1]) <= 36_500:
                found["max_age"] = int(days[1])
            else:
                is_known = key.text in ("required", "max_age")
                self.refuse("value" if is_known else "key", value if is_known else key)
        return found

    def candidates(self, id, tags):  # STEW-10
        if id in OF_VAULT:
            return [("vault", "")]
        names = fold(id).split("/")
        folders = [("folder", "/".join(names[:n])) for n in range(len(names) - 1, 0, -1)]
        tags = [("tag", tag) for tag in sorted(map(fold, tags))]
        return [("document", fold(id)), *folders, *tags, ("vault", "")]

    def roles_at(self, scope):
        roles = {}
        for (kind, name), role in self.scopes.get(scope, {}).items():
            for principal in self.groups[name] if kind == "group" else [name]:
                roles[principal] = max(role, roles.get(principal, role), key=ROLES.index)
        return roles

    def stuck(self):  # STEW-18
        """The scopes at which nothing can be approved, each with what is required and who is there."""
        found = []
        for kind, name in set(self.scopes) | set(self.settings):
            names = name.split("/") if kind in ("document", "folder") else []
            above = [("folder", "/".join(names[:n])) for n in range(len(names) - 1, 0, -1)]
            line = [(kind, name), *above, ("vault", "")]
            roles = self.roles_at(next((one for one in line if one in self.scopes), None)).values()
            said = [self.settings[one]["required"] for one in line if "required" in self.settings.get(one, {})]
            required, reviewers = said[0] if said else 1, sum(role == "reviewer" for role in roles)
            editors = sum(role != "viewer" for role in roles)
            if reviewers - (editors == reviewers) < required:
                found.append([kind, name, required, reviewers, editors])
        return sorted(found)

    def resolve(self, id, tags):
        """The scope, its roles by principal, and the settings of reviews."""
        candidates = self.candidates(id, tags)
        scope = next((scope for scope in candidates if scope in self.scopes), None)
        roles = self.roles_at(scope)
        review = {"required": 1, "max_age": None}
        for setting in review:  # STEW-13
            said = [self.settings[one][setting] for one in candidates if setting in self.settings.get(one, {})]
            review[setting] = said[0] if said else review[setting]
        return scope, roles, review
