# SPDX-License-Identifier: Apache-2.0
"""Runs the vectors of this specification: `python3 spec/reader/vectors.py`."""

import json
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import formats as f
import reviews
import staging
from artifact import is_principal
from audit import check_changes, verify_log
from context import Answer, Version
from edits import edited
from live import verify
from merge import Lines, Merge, choose_trunk, read_lines
from questions import Names, Pack, Uri, read_selector
from stewards import Stewards, key_of
from untouched import as_yaml, live_form, parts, read_live
from verify import LOGS, Verifier

VECTORS = Path(__file__).parent.parent / "vectors"
VAULTS = json.loads((VECTORS / "verify/cases.json").read_text())
MERGED = json.loads((VECTORS / "merge/vaults.json").read_text())


def refused(read, *args):
    try:
        return read(*args)
    except f.Refused as why:
        return why


def documents(case):
    id, error = f.document_id(case["path"])
    if error:
        return case.get("error") == error
    history = f.history_folder(id) + "/history.yaml"
    return (id, history, f.fold(id)) == (case["id"], case["history"], case["folded"])


def ids(case):
    kind = "governance" if f.is_governance(case["id"]) else "document"
    history = f.history_folder(case["id"]) + "/history.yaml"
    return (kind, f.live_path(case["id"]), history) == (case["kind"], case["live"], case["history"])


def read_document(case):
    document = refused(f.Document, case["text"])
    if "error" in case:
        return str(document) == case["error"]
    read = {"status": document.status, "version": document.version}
    read |= {name: document.text_of(name) for name in ("updated_at", "checksum")}
    read |= {name: f.validity(document).get(name) for name in f.VALIDITY}
    return all(read[name] == value for name, value in case["fields"].items() if name in read)


def entries(case):
    names = {"timestamp-malformed": "timestamp", "unknown-hash-algorithm": "unknown-hash-algorithm"}
    found = f.History(case["text"]).entries[0].faults
    return {f"{names.get(code, 'field')} {name}" for code, name in found} == set(case["refused"])


def lines(case):
    found = refused(f.read_line, case["line"].encode())
    if isinstance(found, f.Refused):
        return case.get("refused") == "unreadable"
    faults = {code.replace("-malformed", "") for code in found.faults}
    return case["refused"] in faults if "refused" in case else not faults


def full(case):
    data = case["text"].encode()
    found = refused(f.read_torn, data, f.FullLog, lambda part: True, True)
    if isinstance(found, f.Refused):
        return not case["readable"]
    log, length = found
    faults = sum(bool(entry.faults) for entry in log.entries)
    return (len(log.entries), faults, len(data) - length) == (
        case["entries"],
        case["faults"],
        case["torn"],
    )


def checkpoint(case):
    entry = f.Checkpoint()
    entry.number, entry.at, entry.trigger = case["checkpoint"], case["at"], case["triggered_by"]
    maps = case["document_versions"], case["document_chain_hashes"]
    text = entry.pre_image(case["previous"], *maps)
    return (f.jcs(maps[0]), f.jcs(maps[1]), f.sha256(text)) == (
        case["V"],
        case["H"],
        case["checkpoint_hash"],
    )


def chain(case):
    entry = f.Entry(f.read_yaml("{}"))
    for name in ("content_hash", "version", "edited_by", "edited_at"):
        setattr(entry, name, case[name])
    text = entry.chain(case["previous"])
    return (text, f.sha256(text)) == (case["pre_image"], case["chain_hash"])


def read_yaml(case):
    found = [refused(f.read_yaml, case["text"], dialect) for dialect in case["dialects"]]
    if "error" in case:
        return all(isinstance(one, f.Refused) for one in found)
    return all(not isinstance(one, f.Refused) and one.plainly() == case["value"] for one in found)


def torn(case):
    def is_enough(part):
        return part.last >= case["sealed"]

    found = refused(f.read_torn, case["text"].encode(), f.History, is_enough)
    if isinstance(found, f.Refused):
        return case.get("refused", False)
    entries, length = found[0].entries, len(case["text"].encode()) - found[1]
    faults = sum(not entry.is_sound for entry in entries)
    return (len(entries), faults, length) == (case["entries"], case["faults"], case["torn"])


def write_vault(folder, files):
    for path, file in files.items():
        place = Path(folder) / path
        if file is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(file, str):
            place.write_bytes(file.encode())
        elif file:
            place.symlink_to("/nowhere") if "link" in file else place.mkdir()


def vault(case, vaults=VAULTS):
    with tempfile.TemporaryDirectory() as folder:
        write_vault(folder, vaults["bases"][case["base"]] | case["changes"])
        verdict, findings = verify(folder, vaults["now"])
    codes = {finding["code"] for finding in case["findings"]}
    return (verdict, {finding[0] for finding in findings}) == (case["verdict"], codes)


def edit(case):
    block = case.get("original_frontmatter")
    found = refused(edited, case["text"], case["set"], case["keep"], case["derived_from"], block)
    return str(found) == case.get("result", case.get("refused"))


def live_format(case):
    form, block, before, rest = found = refused_parts(case["text"])
    if "error" in case:
        return str(found[1]) == case["error"]
    if form is None:
        return case["format"] is None
    fields = refused(as_yaml, form, block)
    body = case["text"].removeprefix("\ufeff")
    return (form, str(fields), f.normalise(body).removeprefix(before)) == (
        case["format"],
        case["yaml"],
        f.normalise(case["body"]),
    )


def refused_parts(text):
    """The parts of a live text; in place of the block, why there are none."""
    try:
        read_live(f.normalise(text))
        return parts(f.normalise(text))
    except f.Refused as why:
        return None, why, None, None


def context(case):
    if case.get("tokenizer", "bytes/4") != "bytes/4":
        return None
    with tempfile.TemporaryDirectory() as folder:
        write_vault(folder, VAULTS["bases"][case["vault"]])
        answer = Answer(folder, case["selector"], case.get("at"), case.get("instructions", False))
        return answer.block(case.get("budget")) == case["block"]


def changes(case):
    never = len(case["checkpoints"]) + 1
    begin = max(case["strict_from"] or never, case["recorded_from"] or never)
    tails = [(tail["writer"], tail["seq"], tail["hash"]) for tail in case["tails"]]
    bindings = [tuple(one) for one in case.get("bindings", [])]
    must_bind = case.get("must_bind", [])
    owed = range(begin, never)
    histories = {
        id: {int(version): hash for version, hash in chain.items()}
        for id, chain in case.get("histories", {}).items()
    }
    may = [(n, names and {key_of(name) for name in names}) for n, names in case.get("acknowledgers", [])]
    chains = case.get("chains", [])
    compared = {"now": f.millis(case["now"]) if "now" in case else None, "retention": case.get("retention")}
    compared["changed"] = {int(n): ids for n, ids in case.get("changed", {}).items()}
    compared["kinds"] = {id: {int(n): word for n, word in kinds.items()} for id, kinds in case.get("kinds", {}).items()}
    found = check_changes(
        case["files"], case["checkpoints"], owed, tails, bindings, must_bind, histories, may, chains, compared
    )
    return sorted(map(str, found)) == sorted(str(tuple(one)) for one in case["findings"])


def staged_content(case):
    content = case["payload"].encode()
    line = staging.read_line(case["line"], "sources/prices")
    found = staging.canonical_of(content, case.get("media_type"))
    said = (line["canonical"], line["content_hash"], line["raw_hash"], line["bytes"])
    return (
        found == (case["canonical"], case["content_hash"])
        and said == (*found, case["raw_hash"], len(content))
        and f.sha256_of(content) == case["raw_hash"]
    )


def staged_chain(case):
    source, writer = "sources/prices", "0123456789abcdef0123456789abcdef"
    lines, codes = staging.read_chain(case["file"].encode(), source, writer)
    entries, acts = staging.entries_of({(source, writer): lines})
    words = {"staged-chain-mismatch": "astray", "staged-contradicts": "early"}
    found = [code.removeprefix("staged-").removeprefix("chain-") for code in codes]
    found += sorted(words[code] for code in acts)
    states = {str(entry.seq): entry.state for entry in entries}
    return (states, found) == (case["states"], case["codes"])


def review_edit(case):
    said = {key: case[key] for key in ("base", "action", "target", "change", "by", "reason", "retires") if key in case}
    return reviews.step_edit(case["text"], case["version"], case["at"], case["step"], **said) == case["result"]


def review_step(case):
    entry = SimpleNamespace(published_at=None, retired_at=None)
    found = reviews.Track("nodes/a").kind(entry, case["text"])
    return (found if found in reviews.STEPS else None) == case["step"]


def review_act(case):
    found = reviews.act_of(SimpleNamespace(keyframe=False, diff=case["diff"], version=case["version"]))
    return found == case["act"]


def review_entry(n, made):
    times = {key + "_at": made["at"] if key == made["becomes"] else None for key in ("published", "retired")}
    diff = f"--- v{n - 1}\n+++ v{n}\treview: {made['act']}\n" if "act" in made else None
    return SimpleNamespace(
        version=n, edited_by=made["by"], edited_at=made["at"], keyframe=diff is None, diff=diff, **times
    )


def review_provenance(case):
    def history(versions):
        made = dict(enumerate(versions, 1))
        entries = {n: review_entry(n, one) for n, one in made.items()}
        return entries, {n: one["text"] for n, one in made.items()}

    entries, texts = history(case["versions"])
    found = [reviews.review_of(case["id"], entries, texts, n) for n in entries]
    if not found[0] and "source" in case:
        found[0] = reviews.review_of_move(case["id"], entries, texts, history(case["source"]))
    return [one for one in found if one] == case["reviews"]


def review_history(case):
    track, rules, found = reviews.Track(case["id"]), reviews.Rules(case["stewards"], case["bar_author"]), []
    for n, made in enumerate(case["versions"], 1):
        entry = review_entry(n, made)
        judge = track.judge_step if made["becomes"] == "step" else track.judge
        if n > 1:  # the first version was published before the vault was governed
            found += [[code, n] for code in set(judge(entry, made["text"], rules))]
        track.take(entry, made["text"])
    return sorted(found) == sorted(case["findings"])


def uri(case):
    found = refused(Uri, case["input"], Names(case.get("vault", {})))
    return str(found) == case.get("canonical", case.get("error"))


def selector(case):
    found = refused(read_selector, case["input"], Names(case.get("vault", {})))
    if "error" in case:
        return str(found) == case["error"]
    names = Names(case.get("vault", {}))
    return [str(found), found.tree(), read_selector(str(found), names).tree()] == [
        case["canonical"],
        case["tree"],
        case["tree"],
    ]


def selected(case):
    version, is_obsidian = Version("nodes/a", 1, "", case["text"]), case["layout"] == "obsidian"
    terms = {text: read_selector(text, Names({})) for text in case["selected_by"] + case["not_by"]}
    found = [text for text, term in terms.items() if version.is_in(term, is_obsidian)]
    return found == case["selected_by"]


def pack(case):
    found = Pack(case["text"], Names(case.get("vault", {})))
    definition = str(found.set or "") if found.is_usable else None
    return (definition, found.problems) == (case.get("set"), case.get("problems", []))


def stewards(case):
    scope, roles, review = Stewards(case["text"]).resolve(case["id"], case["tags"])
    expected = case["scope"] and tuple(case["scope"])
    return (scope, roles, review) == (expected, case["roles"], case["review"])


def read_log(lines):
    """A log in delta form by its lines, or in full form by its text."""
    if isinstance(lines, str):
        return Lines(f.FullLog(lines).entries)
    return Lines(read_lines("".join(f"{line}\n" for line in lines)))


def merge(case):
    trunk, branch = read_log(case["trunk"]), read_log(case["branch"])
    found = Merge(trunk, branch, case["now"], case.get("governed", False), picked=case.get("picked_after"))
    if found.outcome != case["outcome"] or found.collides != case.get("collides", []):
        return False
    said = found.line, found.carried, found.conflicts
    return found.line is None or said == (case["line"], case["carried"], case["conflicts"])


def merged_log(case):
    with tempfile.TemporaryDirectory() as folder:
        write_vault(folder, {LOGS[0]: "".join(f"{line}\n" for line in case["log"])})
        found = Verifier(folder, VAULTS["now"])
        found.walk()
        found.read_log()
        found.check_log()
    return sorted({code for code, *_ in found.findings} - {"checkpoint-trigger-unknown", "checkpoint-trigger-unchanged"}) == case["codes"]


def checksum(text):
    document = f.Document(text)
    return f.sha256(document.rest if document.head else "\n" + document.rest)


RUNS = {
    "audit/cases.json": {
        "": lambda c: verify_log(c["files"], c.get("changes")) == (c["lines"], c["faults"], c.get("pruned", []))
    },
    "audit/changes.json": {"": changes},
    "chain/cases.json": {"": chain},
    "history/entries.json": {"": entries},
    "history/torn.json": {"": torn},
    "checkpoint/cases.json": {"": checkpoint},
    "checkpoint/full.json": {"": full},
    "checkpoint/lines.json": {"": lines},
    "context/cases.json": {"": context},
    "diff/apply.json": {"": lambda c: refused(f.apply_diff, c["old"], c["patch"]) == c["new"]
                        if "new" in c else isinstance(refused(f.apply_diff, c["old"], c["patch"]), f.Refused)},
    "document/cases.json": {"read": read_document, "edits": edit},
    "document/live.json": {
        "formats": live_format,
        "live_forms": lambda c: live_form(c["sealed"]) == c["live"],
    },
    "id/cases.json": {
        "documents": documents, "ids": ids,
        "collisions": lambda c: bool(set.intersection(*map(f.claims, c["ids"]))) == c["collide"],
        "principals": lambda c: is_principal(c["text"].strip()) == (c["recorded"] is not None),
        "invisible": lambda c: (int(c[0], 16), int(c[1], 16)) in f.INVISIBLE,
    },
    "merge/cases.json": {
        "merges": merge,
        "trunks": lambda c: choose_trunk(list(map(read_log, c["logs"])), list(map(read_log, c["refs"]))) == c["trunk"],
    },
    "merge/logs.json": {"": merged_log},
    "merge/vaults.json": {"": lambda c: vault(c, MERGED)},
    "staging/contents.json": {"cases": staged_content},
    "staging/chains.json": {"cases": staged_chain},
    "normalise/cases.json": {
        "normalise": lambda c: (f.normalise(c["text"]), f.sha256(f.normalise(c["text"]))) == (c["normal"], c["sha256"]),
        "checksum": lambda c: checksum(c["text"]) == c["checksum"],
    },
    "pack/cases.json": {"": pack},
    "review/cases.json": {
        "edits": review_edit, "steps": review_step, "acts": review_act, "histories": review_history,
        "provenance": review_provenance,
    },
    "selector/cases.json": {"": selector},
    "selector/values.json": {"": selected},
    "stewards/cases.json": {
        "resolve": stewards,
        "problems": lambda c: [list(one) for one in Stewards(c["text"]).problems] == c["problems"],
        "stuck": lambda c: Stewards(c["text"]).stuck() == c["stuck"],
    },
    "timestamp/cases.json": {
        "accepted": lambda c: f.millis(c["text"]) == c["millis"],
        "refused": lambda text: f.millis(text) is None,
    },
    "uri/cases.json": {"": uri},
    "verify/cases.json": {"": vault},
    "yaml/cases.json": {
        "read": read_yaml,
        "scalar": lambda c: f.spelled(c["text"]) == c["spelled"],
        "in_flow": lambda c: f.spelled(c["text"], True) == c["spelled"],
        "long_text": lambda c: f.spelled_long(c["text"], 4) == c["spelled"],
    },
}  # fmt: skip

# This reader reads no Markdown but ATX headings, and computes no diffs.
NOT_RUN = "blame/cases diff/print links/cases links/names obsidian/cases sections/cases document/cases:problems".split()


def main():
    total, failed = 0, 0
    for path, areas in RUNS.items():
        cases = json.loads((VECTORS / path).read_text())
        if path in ("verify/cases.json", "merge/vaults.json"):
            cases = cases["cases"]
        ran, skipped = 0, []
        for area, run in areas.items():
            for case in cases[area] if area else cases:
                try:
                    passed = run(case)
                except Exception as why:
                    passed, case = False, (type(why).__name__, str(why), case)
                if passed is None:
                    skipped.append(case["name"])
                    continue
                ran += 1
                if not passed:
                    failed += 1
                    print(f"{path} {area}: {json.dumps(case)[:400]}")
        print(f"{ran:4} {path} {' '.join(areas)}".rstrip())
        if skipped:
            print(f"     skipped, for want of a vocabulary: {', '.join(skipped)}")
        total += ran
    print(f"not run: {' '.join(NOT_RUN)}")
    print(f"{total} vectors, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
