#!/usr/bin/env python3
# SPDX-License-Identifier: AGPL-3.0-only
"""Writes docs/figures/terminal.svg from the output of real commands.

    python3 docs/figures/terminal.py target/debug/ctx           writes the figure
    python3 docs/figures/terminal.py target/debug/ctx --check   fails if it is out of date
"""

import html
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FIGURE = Path(__file__).with_name("terminal.svg")
FORGE = "sed -i s/30/90/ handbook/nodes/policies/.versions/returns/v1.md"
SCENES = [
    ("ctx init handbook", "10:00:00"),
    ("ctx add nodes/policies/returns --tags policy --body 'Returns within 30 days.'", "10:00:01"),
    ("echo 'Electronics: 14 days.' >> handbook/nodes/policies/returns.md", None),
    ("ctx publish --changed -m 'shorter for electronics'", "10:05:00"),
    ("ctx history nodes/policies/returns", "10:06:00"),
    ("ctx resolve '#policy' --ids", "10:07:00"),
    (FORGE, None),
    ("ctx verify", "10:08:00"),
]
LINES_OF = {"ctx init handbook": 1, "ctx verify": 10}
COLORS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff"}
WIDTH, LINE, CHAR = 100, 19, 8.4


def run(ctx, folder, command, time):
    """Runs one command in a shell, with a fixed clock and principal."""
    vault = folder / "handbook"
    env = {
        "PATH": f"{ctx.parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "CTX_NOW": f"2026-11-23T{time or '10:00:00'}.000Z",
        "CTX_PRINCIPAL": "ana@example.com",
        "CLICOLOR_FORCE": "1",
    }
    if vault.exists():
        env["CTX_VAULT"] = str(vault)
    shell = ["sh", "-c", f"{command} 2>&1"]
    done = subprocess.run(shell, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.stdout.replace(str(folder), "~").rstrip("\n").split("\n")


def spans(line):
    """The line as SVG text spans, its ANSI colours as fill colours."""
    out, color, bold = "", None, False
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if code:
            for value in code.group(1).split(";"):
                if value in ("", "0"):
                    color, bold = None, False
                elif value == "1":
                    bold = True
                else:
                    color = COLORS.get(value, color)
        elif part:
            style = f' fill="{color}"' if color else ""
            style += ' font-weight="bold"' if bold else ""
            out += f"<tspan{style}>{html.escape(part)}</tspan>"
    return out


def clip(line):
    """The line cut to the width of the figure; colours do not count."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
    return line if len(plain) <= WIDTH else plain[: WIDTH - 1] + "…"


def draw(ctx):
    """The figure as SVG."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for command, time in SCENES:
            rows.append(f"\x1b[1m$ {command}\x1b[0m")
            lines = [line for line in run(ctx, Path(folder), command, time) if line]
            rows += lines[: LINES_OF.get(command, len(lines))]
    height = LINE * (len(rows) + 2)
    texts = "\n".join(
        f'<text x="16" y="{LINE * (n + 2)}" xml:space="preserve">{spans(clip(row))}</text>'
        for n, row in enumerate(rows)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{int(WIDTH * CHAR + 32)}" height="{height}" '
        f'role="img" aria-label="A terminal session with ctx">\n'
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n'
        f'<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" fill="#e6edf3">\n'
        f"{texts}\n</g>\n</svg>\n"
    )


def main():
    figure = draw(Path(sys.argv[1]).resolve())
    if "--check" not in sys.argv:
        FIGURE.write_text(figure)
    elif FIGURE.read_text() != figure:
        sys.exit("docs/figures/terminal.svg is out of date: run docs/figures/terminal.py")


if __name__ == "__main__":
    main()
