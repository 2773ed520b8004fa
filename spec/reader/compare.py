# SPDX-License-Identifier: Apache-2.0
"""Compares the verdicts and codes of this reader with those of `ctx verify --json`."""

import json
import sys
from pathlib import Path

from live import verify

NOW = "2027-01-01T00:00:00.000Z"


def main(folder):
    cases = sorted(Path(folder).glob("*/expected.json"))
    verdicts, codes = 0, 0
    for case in cases:
        name = (case.parent / "name").read_text()
        expected = json.loads(case.read_text() or "{}")
        wanted = {f["code"] for f in expected.get("findings", [])} - {"derived-differs"}
        try:
            verdict, findings = verify(str(case.parent / "vault"), NOW)
        except Exception as why:  # a defect of this reader
            if "-t" in sys.argv:
                import traceback

                traceback.print_exc()
            verdict, findings = f"{type(why).__name__}: {why}", []
        found = {finding[0] for finding in findings}
        expected_verdict = expected.get("verdict")
        verdicts += verdict == expected_verdict
        codes += found == wanted
        if verdict != expected_verdict or found != wanted:
            less, more = sorted(wanted - found), sorted(found - wanted)
            print(
                f"{case.parent.name} {name}: {verdict!r} for {expected_verdict!r}; lacks {less}, also has {more}"
            )
    print(f"{len(cases)} vaults: {verdicts} verdicts and {codes} sets of codes are the same")
    return verdicts == len(cases) and codes * 100 >= 98 * len(cases)


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1]) else 1)
