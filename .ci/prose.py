#!/usr/bin/env python3
"""Checks sentences: documents, specification, texts of the program, comments, test names, commit subjects.

    prose.py [PATH...]     print each place that breaks a rule, and fail if there is one
    prose.py --texts FILE  write all texts that users read into one file, for a reviewer to read in a row

A rule of `spec/`, and each of its sub-clauses, has at most 60 words. A sentence of `docs/`, `spec/` and
README has at most 25, outside of tables and code. Doc comments name their subject, and test names begin
with the feature. Retired phrases are listed below.
"""

import re
import subprocess
import sys

MOST_OF_RULE, MOST_OF_SENTENCE, MOST_OF_SUBJECT = 60, 25, 72
PHRASES = re.compile(
    r"\b(nobody(?![@}])|somebody|everybody|whoever|take[ns]? along|counts? no more|cannot be had|told apart|anew|"
    r"belongs? into|none where|of which|by which|upon(?! them</h2>)|gives? back|as many as|so many|stands? to|lies beside|is had|"
    r"what awaits|who asks|also if|also of|mend(?:s|ed)?|"
    r"(?<!there )(?:is|are|holds?|makes?|gives?|takes?) no (?!longer|such|effect|more|matter|larger)[a-z]+)\b", re.IGNORECASE)  # fmt: skip
TEST = re.compile(r"#\[test\]\s+(?:#.*\s+)*fn ((?:what|who|it|they|whose|which)_\w+)")
COMMENT = re.compile(
    r"^\s*//[/!] ((?:What|Whether|Why|When|It|They|And|Who|Whose|The same)\b.*)$|"
    r"^(?!\s*//[/!])[^\n]*\n\s*//[/!] ([A-Za-z]\S{0,15})$", re.MULTILINE)  # fmt: skip


def tracked(paths):
    names = subprocess.run(["git", "ls-files", "--", *(paths or ["*.rs", "*.md"])], check=True,
                           stdout=subprocess.PIPE, text=True).stdout.split("\n")  # fmt: skip
    left_out = ("fixtures/", "spec/vectors/", "fuzz/", "docs/cli.md", "docs/json.md", "CHANGELOG.md",
                "tests/spec/words.rs", "benches/corpus.rs", "experiments/src/e3/attacks/", "src/service/starter/policy/")
    return [name for name in names if name.endswith((".rs", ".md")) and not name.startswith(left_out)]


def blocks(text):
    """Yields the first line and the text of each paragraph and list item, without code and tables."""
    text = re.sub(r"<!--.*?-->", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
    found, first, in_code = [], 0, False
    for n, line in enumerate([*text.split("\n"), ""], 1):
        if re.match(r"\s*(```|~~~)", line):
            in_code = not in_code
            line = ""
        begins = re.match(r"\s*([-*] |\d+\. |\([a-z]\) |#|$|\|)", line)
        if (begins or in_code) and found:
            yield first, " ".join(found)
            found = []
        if in_code or re.match(r"\s*(#|\||$)", line):
            continue
        if not found:
            first = n
        found.append(re.sub(r"^\s*([-*] |\d+\. |\([a-z]\) )", "", line).strip())


def sentences(block):
    """Yields the sentences. Code inside counts as one word, the target of a link as none."""
    block = re.sub(r"``.+?``|`[^`]*`", "`c`", block)
    block = re.sub(r"\]\([^)]*\)", "]", block)
    yield from re.split(r"(?<=[.!?:])\s+(?=[A-Z`*(\[\"'0-9_])|(?<=[.!?][)*\"'_])\s+", block)


def found_in(name, text):
    """Yields a line and what is wrong there."""
    if name.endswith(".rs"):
        at = lambda m: text.count("\n", 0, m.start(m.lastindex or 0)) + 1
        yield from ((at(m), f"a test name: {m[1]}") for m in TEST.finditer(text))
        yield from ((at(m), f"a doc comment without a subject: {m[m.lastindex]}") for m in COMMENT.finditer(text))
        comments = re.finditer(r"//.*|\"(?:[^\"\\\n]|\\.)* (?:[^\"\\\n]|\\.)*\"", text)
        yield from ((at(m), f"a retired phrase: {p[0]}") for m in comments for p in PHRASES.finditer(m[0]))
        return
    is_long_form = name.startswith(("docs/", "spec/", "README"))
    for line, block in blocks(text):
        yield from ((line, f"a retired phrase: {p[0]}") for p in PHRASES.finditer(re.sub(r"`[^`]*`", "`c`", block)))
        count = len(block.split())
        if name.startswith("spec/") and count > MOST_OF_RULE:
            yield line, f"{count} words in a rule or paragraph: {block[:60]}"
        if is_long_form:
            for sentence in sentences(block):
                if len(sentence.split()) > MOST_OF_SENTENCE:
                    yield line, f"{len(sentence.split())} words in a sentence: {sentence[:80]}"


def subjects():
    """Yields the subjects of commits that are too long, or not of the form `area: verb object`."""
    log = ["git", "log", "--no-merges", "--since=2026-11-27T14:00Z", "--format=%h %s"]
    for line in subprocess.run(log, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        name, subject = line.split(" ", 1)
        if len(subject) > MOST_OF_SUBJECT or not re.match(r"[a-z][a-z0-9_./-]*: [a-z]", subject):
            yield name, f"a subject that is not `area: verb object` in {MOST_OF_SUBJECT} characters: {subject}"


def texts():
    """Yields the texts of each source file of the program without tests, and the reference of commands."""
    yield "docs/cli.md", [open("docs/cli.md").read()]
    literal = re.compile(r"\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
    for name in tracked(["src/*.rs"]):
        code = open(name).read().split("#[cfg(test)]")[0]
        code = "\n".join(line for line in code.split("\n") if not line.lstrip().startswith("//"))
        code = re.sub(r"'(?:\\.|[^'\\\n])'", "''", code)
        found = [re.sub(r"\\\n\s*", "", text) for text in literal.findall(code)]
        yield name, [text for text in found if " " in text.strip()]


def main():
    if sys.argv[1:2] == ["--texts"]:
        with open(sys.argv[2], "w") as out:
            out.writelines(f"\n## {name}\n\n" + "\n".join(found) + "\n" for name, found in texts() if found)
        return
    places = [(f"{name}:{line}", what) for name in tracked(sys.argv[1:]) for line, what in
              found_in(name, open(name, errors="replace").read())]  # fmt: skip
    places += subjects() if not sys.argv[1:] else []
    for place in places:
        print(": ".join(place))
    if places:
        sys.exit(f"{len(places)} places")


main()
