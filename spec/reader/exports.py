# SPDX-License-Identifier: Apache-2.0
"""Exports of the access log, read with the programs of others (audit.md, AUDIT-14 to AUDIT-16).

    exports.py CTX

Makes a vault with the program CTX, reads some of it, and compares `ctx trace list --format` with the
lines of the log itself: OTLP as the classes of `opentelemetry-proto` read it, PROV-JSON as the
package `prov` does.
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from prov import model
from prov.model import ProvDocument

from audit import read_line, verify_log

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
HOSTILE = 'a\u00e9"}],"agent:x":{\\'
# Attribute -> where the line has it.
FIELDS = {
    "contextnest.line.hash": "hash",
    "contextnest.line.previous": "prev",
    "contextnest.event": "event",
    "contextnest.cause": "cause",
    "contextnest.verb": "verb",
    "contextnest.args.argv": "args.argv",
    "contextnest.args.sha256": "args.sha256",
    "contextnest.args.cwd": "args.cwd",
    "contextnest.args.terminal": "args.terminal",
    "contextnest.principal.source": "principal_source",
    "contextnest.session.implicit": "labels.session_implicit",
    "contextnest.task": "labels.task",
    "contextnest.node": "labels.node",
    "contextnest.head.checkpoint": "head.checkpoint",
    "contextnest.head.hash": "head.hash",
    "contextnest.class": "class",
    "contextnest.query.sha256": "query_sha256",
    "contextnest.listed": "count",
    "contextnest.output.elapsed_us": "elapsed_us",
    "error.type": "code",
    "gen_ai.agent.id": "labels.agent",
    "gen_ai.conversation.id": "labels.thread",
    "gen_ai.response.model": "model",
    "gen_ai.retrieval.query.text": "query",
    "session.id": "labels.session",
    "user.id": "principal",
}
VERSION = {
    "contextnest.document.version": "version",
    "contextnest.document.chain_hash": "chain_hash",
    "contextnest.document.author": "author",
    "contextnest.document.edited_by": "edited_by",
    "contextnest.document.edited_at": "edited_at",
    "contextnest.document.approved_by": "approved_by",
    "contextnest.document.approved_at": "approved_at",
}
BYTES = {"contextnest.text.bytes": "bytes", "contextnest.text.sha256": "sha256"}
USE = {
    "contextnest.text.uri": "uri",
    "contextnest.text.checkpoint": "checkpoint",
    "contextnest.text.part": "part",
    "contextnest.text.steward.scope": "steward.scope",
    "contextnest.text.steward.reviewers": "steward.reviewers",
    "contextnest.text.steward.more": "steward.more",
    "contextnest.text.review_due": "review_due",
}


def picked(table, line):
    """The attributes of a table, as a line has them."""
    found = {}
    for name, path in table.items():
        value = line
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            found[name] = value
    return found


def of_line(line):
    said = picked(FIELDS, line)
    said["contextnest.trace"] = f"{line['writer'][:8]}-{line['seq']}"
    output = "produced" if line["event"] == "output" else "output"
    said |= picked({f"contextnest.{output}.{key}": key for key in ("bytes", "sha256")}, line)
    if line["event"] == "access":
        said |= {"gen_ai.operation.name": "retrieval", "contextnest.documents": len(line["documents"])}
    if withheld := line.get("withheld"):
        said["contextnest.withheld.count"] = sum(w["count"] for w in withheld)
        said["contextnest.withheld.reasons"] = [w["reason"] for w in withheld]
    return said


def of_version(text):
    name = re.split("[@#]", text["uri"])[0] if "uri" in text else text["id"]
    return picked(VERSION, text) | {"contextnest.document": name}


def of_use(text):
    first, end = text.get("range", (None, None))
    part = {} if first is None else {"contextnest.text.first": first, "contextnest.text.end": end}
    return picked(USE, text) | part


def digits(text):
    return text.removeprefix("sha256:")


def micros(line):
    """Begin and end in microseconds since 1970."""
    since = datetime.fromisoformat(line["at"]) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    end = since // timedelta(microseconds=1)
    return end - line.get("elapsed_us", 0), end


# --- OpenTelemetry ---


def decoded(text):
    """A request, whose ids are hexadecimal and not base64 as in other JSON of protobuf."""
    request = json.loads(text)
    for resource in request["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    if key in span:
                        assert re.fullmatch("(?:[0-9a-f]{16}){1,2}", span[key]), span[key]
                        span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    return json_format.ParseDict(request, ExportTraceServiceRequest())


def value(any_value):
    kind = any_value.WhichOneof("value")
    found = getattr(any_value, kind)
    return [value(one) for one in found.values] if kind == "array_value" else found


def attributes(of):
    found = {one.key: value(one.value) for one in of}
    assert len(found) == len(of), "an attribute twice"
    return found


def check_otlp(text, lines):
    requests = [decoded(one) for one in text.splitlines()]
    same(len(requests), len(lines))
    for request, line in zip(requests, lines):
        [resource] = request.resource_spans
        same(attributes(resource.resource.attributes), {
            "service.name": "contextnest",
            "service.version": line["tool"],
            "service.instance.id": line["writer"],
        })
        [scope] = resource.scope_spans
        same((scope.scope.name, scope.scope.version), ("contextnest.audit", line["tool"]))
        [span] = scope.spans
        session = hashlib.sha256(b"contextnest:session:" + line["labels"]["session"].encode())
        trace, parent = session.digest()[:16], b""
        if "traceparent" in line:
            _, trace, parent, _ = (bytes.fromhex(id) for id in line["traceparent"].split("-"))
        same((span.trace_id, span.parent_span_id), (trace, parent))
        same(span.span_id, bytes.fromhex(digits(line["hash"]))[:8])
        same((span.name, span.kind), ("ctx " + line["verb"], Span.SPAN_KIND_INTERNAL))
        begin, end = micros(line)
        same((span.start_time_unix_nano, span.end_time_unix_nano), (begin * 1000, end * 1000))
        same(attributes(span.attributes), of_line(line))
        status = Status.STATUS_CODE_ERROR if line["event"] == "refused" else Status.STATUS_CODE_UNSET
        same((span.status.code, span.status.message), (status, line.get("code", "")))
        same([event.name for event in span.events], ["contextnest.text"] * len(line.get("documents", [])))
        for event, text in zip(span.events, line.get("documents", [])):
            said = of_version(text) | picked(BYTES, text) | of_use(text)
            same((event.time_unix_nano, attributes(event.attributes)), (end * 1000, said))


# --- PROV ---


def formal(record):
    """The formal attributes of a record: `prov:activity` -> name or time."""
    return {name.localpart: str(found) for name, found in record.formal_attributes if found is not None}


def extra(record):
    """The attributes of a record that are ours."""
    found = {}
    for name, one in record.extra_attributes:
        if name.namespace.prefix == "attribute":
            found.setdefault(name.localpart, []).append(one)
    return {name: all if name == "contextnest.args.argv" or len(all) > 1 else all[0] for name, all in found.items()}


def named(record_type, document):
    records = list(document.get_records(record_type))
    found = {str(record.identifier): record for record in records}
    assert len(found) == len(records), f"a name twice among {record_type}"
    return found


def relations(record_type, document, *keys):
    return sorted(tuple(formal(record)[key] for key in keys) for record in document.get_records(record_type))


def check_prov(text, lines):
    document = ProvDocument.deserialize(content=text, format="json")
    spaces = {space.prefix: space.uri for space in document.namespaces}
    same(spaces, {prefix: f"urn:contextnest:{prefix}:" for prefix in
                  ("line", "text", "version", "output", "result", "principal", "agent", "attribute")})
    name = lambda line: "line:" + digits(line["hash"])
    accesses = [line for line in lines if line["event"] == "access"]
    outputs = [line for line in lines if line["event"] == "output"]
    texts = [(line, text) for line in accesses for text in line["documents"]]

    activities = named(model.ProvActivity, document)
    same(sorted(activities), sorted(map(name, lines)))
    for line in lines:
        said = extra(activities[name(line)])
        # A list is a set in PROV.
        argv = said.pop("contextnest.args.argv")
        expected = of_line(line)
        same(sorted(argv), sorted(set(expected.pop("contextnest.args.argv"))))
        if "contextnest.withheld.reasons" in expected:
            [expected["contextnest.withheld.reasons"]] = expected["contextnest.withheld.reasons"]
        same(said, expected)
        begin = datetime.fromisoformat(line["at"]) - timedelta(milliseconds=line.get("elapsed_us", 0) // 1000)
        times = (activities[name(line)].get_startTime(), activities[name(line)].get_endTime())
        same(times, (begin, datetime.fromisoformat(line["at"])))

    versions = {"version:" + digits(text["chain_hash"]): of_version(text) for _, text in texts}
    bytes_of = {"text:" + digits(text["sha256"]): picked(BYTES, text) for _, text in texts}
    made = {"output:" + digits(line["hash"]): {
        name: said for name, said in of_line(line).items()
        if name.startswith(("contextnest.produced.", "gen_ai.response."))
    } for line in outputs}
    entities = named(model.ProvEntity, document)
    same({name: extra(one) for name, one in entities.items()}, versions | bytes_of | made)

    people = {line["principal"] for line in lines if "principal" in line}
    people |= {text["edited_by"] for _, text in texts}
    robots = {line["labels"]["agent"] for line in lines if "agent" in line["labels"]}
    principal, agent = (lambda id: "principal:" + encoded(id)), (lambda id: "agent:" + encoded(id))
    expected = {principal(id): {"user.id": id} for id in people} | {agent(id): {"gen_ai.agent.id": id} for id in robots}
    agents = named(model.ProvAgent, document)
    same({name: extra(one) for name, one in agents.items()}, expected)
    software = {name for name, one in agents.items() if model.PROV["SoftwareAgent"] in one.get_asserted_types()}
    same(software, set(map(agent, robots)))

    used = [(name(line), "text:" + digits(text["sha256"]), str(datetime.fromisoformat(line["at"]))) for line, text in texts]
    same(relations(model.ProvUsage, document, "activity", "entity", "time"), sorted(used))
    uses = sorted((name(line), sorted(of_use(text).items())) for line, text in texts)
    same(sorted((formal(one)["activity"], sorted(extra(one).items())) for one in document.get_records(model.ProvUsage)), uses)
    with_whom = [(name(line), principal(line["principal"])) for line in lines if "principal" in line]
    with_whom += [(name(line), agent(line["labels"]["agent"])) for line in lines if "agent" in line["labels"]]
    same(relations(model.ProvAssociation, document, "activity", "agent"), sorted(with_whom))
    on_behalf = [(agent(line["labels"]["agent"]), principal(line["principal"]), name(line))
                 for line in lines if "agent" in line["labels"] and "principal" in line]
    same(relations(model.ProvDelegation, document, "delegate", "responsible", "activity"), sorted(on_behalf))
    made_by = [("output:" + digits(line["hash"]), name(line), str(datetime.fromisoformat(line["at"]))) for line in outputs]
    same(relations(model.ProvGeneration, document, "entity", "activity", "time"), sorted(made_by))
    derived = {("text:" + digits(text["sha256"]), "version:" + digits(text["chain_hash"])) for _, text in texts}
    for output in outputs:
        derived |= {("output:" + digits(output["hash"]), "text:" + digits(text["sha256"])) for line, text in texts
                    if line["labels"]["session"] == output["labels"]["session"] and line["seq"] < output["seq"]}
    same(relations(model.ProvDerivation, document, "generatedEntity", "usedEntity"), sorted(derived))
    edited = {("version:" + digits(text["chain_hash"]), principal(text["edited_by"])) for _, text in texts}
    same(relations(model.ProvAttribution, document, "entity", "agent"), sorted(edited))
    return len(derived)


def encoded(text):
    """Every byte but ASCII letters and digits is percent-encoded."""
    plain = lambda c: c.isascii() and c.isalnum()
    return "".join(c if plain(c) else "".join(f"%{byte:02X}" for byte in c.encode()) for c in text)


# --- The vault ---


def same(found, expected):
    assert found == expected, f"\nfound    {found!r}\nexpected {expected!r}"


def main(program):
    with tempfile.TemporaryDirectory() as home:
        vault = Path(home, "vault")
        vault.mkdir()
        env = {"HOME": home, "PATH": os.environ["PATH"], "CTX_PRINCIPAL": "ana@example.com"}

        def ctx(*args, input="", exits=0, **more):
            done = subprocess.run([program, *args], cwd=vault, env=env | more, input=input, capture_output=True, text=True)
            assert done.returncode == exits, (args, done)
            return done.stdout

        ctx("init", "--name", "Exports")
        # Changes have lines of their own, in another log.
        config = vault / ".context/config.yaml"
        config.write_text(config.read_text().replace("audit:\n  retention: 184d\n", ""))
        (vault / "nodes").mkdir(exist_ok=True)
        (vault / "nodes/fees.md").write_text("---\ntags: [money]\n---\nFive percent.\n\n## Waivers\n\nNone.\n")
        (vault / "nodes/returns @ home.md").write_text("---\ntags: [money]\nauthor: Ben\n---\n30 days.\n")
        ctx("publish", "--all")
        ctx("read", "nodes/fees", "--session", "s", "--agent", "scout", "--thread", "t", "--task", "k", "--node", "n")
        ctx("read", "nodes/fees#waivers", "--session", "s", TRACEPARENT=PARENT)
        (vault / "nodes/fees.md").write_text((vault / "nodes/fees.md").read_text().replace("Five", "Four"))
        ctx("publish", "nodes/fees", CTX_PRINCIPAL="ben@example.com")
        ctx("resolve", "#money", "--bodies", "--session", "s", "--agent", HOSTILE, CTX_PRINCIPAL="no principal\n")
        ctx("search", "percent", "--session", HOSTILE)
        ctx("list")
        ctx("trace", "output", "--session", "s", "--model", "small-1", input="The fee is 4 percent.\n")
        ctx("read", "nodes/fees@1", "--session", "s")
        ctx("trace", "output", "--session", "s", "--agent", "scout")
        next((vault / "nodes/.versions").glob("returns*/v1.md")).write_text("forged\n")
        ctx("resolve", "#money", "--bodies", exits=1)

        [log] = Path(home, ".local/state/contextnest/audit").glob("*/*.jsonl")
        same(verify_log({log.name: log.read_text()}), (9, [], []))
        lines = [(line | {"hash": said}) for line, said in map(read_line, log.read_text().split("\n")[:-1])]
        same([line["event"] for line in lines].count("access"), 6)
        check_otlp(ctx("trace", "list", "--format", "otlp"), lines)
        derived = check_prov(ctx("trace", "list", "--format", "prov-json"), lines)
        # One line, and all accesses before an output.
        trace = f"{lines[5]['writer'][:8]}-6"
        check_otlp(ctx("trace", "show", trace, "--format", "otlp"), lines[5:6])
        before = [line for line in lines[:6] if line["labels"]["session"] == "s"]
        check_prov(ctx("trace", "show", trace, "--format", "prov-json"), before)
        check_prov(ctx("trace", "list", "--format", "prov-json", "--verb", "list"), lines[4:5])
    print(f"{len(lines)} spans, {derived} derivations: both formats say what the log says")


if __name__ == "__main__":
    main(sys.argv[1])
