#!/usr/bin/env python3
"""Runs the checks of a change side by side, as many at a time as there are processors.

    checks.py [--full] [--only WORD]

`.ci/run` runs them, with what runs long scaled down; `.ci/full` runs them at full size. With `--only`
those run whose name contains WORD, and what they need.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "target/checks"
PYTHON = "target/venv/bin/python"
# More bytes than the checks write into temporary folders at one time.
ROOM = 6 << 30


@dataclass
class Check:
    """A command of the shell. `full` is the command at full size, if that differs; a check without a
    `command` runs at full size only."""

    name: str
    command: str | None
    full: str | None = None
    # Names of checks that have to hold before this one starts.
    after: tuple[str, ...] = ()
    # Cargo locks its folder while it builds: a second one would wait, and take a processor from others.
    builds: bool = False


class Running:
    """A check that runs, in a process group of its own, so that it leaves no processes behind."""

    def __init__(self, check, command):
        self.check, self.began = check, time.monotonic()
        self.log = LOGS / (re.sub(r"\W+", "-", check.name) + ".log")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["sh", "-euc", command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def ended(self):
        """Whether it ended; then with the seconds that it took, and those of processors."""
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if pid == 0:
            return False
        self.process.returncode = self.code = os.waitstatus_to_exitcode(status)
        self.wall, self.cpu = time.monotonic() - self.began, usage.ru_utime + usage.ru_stime
        self.kill()
        return True

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(checks, is_full):
    """Runs the checks until one fails, and those that run beside it to their end; true if all hold."""
    waiting, running, done, failed = list(checks), [], [], []
    began = time.monotonic()
    try:
        while running or waiting and not failed:
            held = {one.check.name for one in done}
            for check in list(waiting):
                is_free = len(running) < (os.cpu_count() or 1) and not failed
                is_free &= not (check.builds and any(one.check.builds for one in running))
                if is_free and held.issuperset(check.after):
                    waiting.remove(check)
                    print(f"== {check.name}: begins", flush=True)
                    running.append(Running(check, is_full and check.full or check.command))
            time.sleep(0.1)
            for one in [one for one in running if one.ended()]:
                running.remove(one)
                done.append(one)
                print(f"\n== {one.check.name}: {one.wall:.0f} s\n{one.log.read_text(errors='replace')}", flush=True)
                if one.code != 0:
                    failed.append(one)
    finally:
        for one in running:
            one.kill()
            one.process.wait()
    print("\n  wall s  processor s  check")
    for one in done:
        print(f"{one.wall:8.0f} {one.cpu:12.0f}  {one.check.name}")
    print(f"{time.monotonic() - began:8.0f} {sum(one.cpu for one in done):12.0f}  all of them", flush=True)
    for one in failed:
        print(f"failed: {one.check.name} (code {one.code}); its output is above, and in {one.log}", file=sys.stderr)
    return not failed


BENCHES = " ".join(f"--bench {name}" for name in (
    "vault selection verify daily durability hostile trace stewards review recording staging mcp").split())
OF_EXPERIMENTS = "--locked --profile dev -p experiments"
DOCS = "RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps"
CTX = "target/debug/ctx"
# The program that cargo reports to have built: cargo itself would wait for the builds that run beside it.
PROGRAM = "$(sed -n 's/.*Executable.* (\\(.*\\))$/\\1/p' target/checks/build-the-experiments.log) --bench"
# The folder is there still if the last run was killed.
EXPERIMENT = f"rm -rf target/experiments-{{name}}; {PROGRAM} {{name}} {{size}}"
EXPERIMENTS = "e2 e3 storage retention stale honest mutation faults full recovered crashes kills writers".split()
# What builds the program, and the command.
HAS_PROGRAM, HAS_CTX = ("build the experiments",), ("build the tests",)
# All that cargo runs is built before: it would wait for the builds.
BUILT = (*HAS_PROGRAM, *HAS_CTX, "lints", "docs", "the library without its default features", "build the benchmarks")
EVIDENCE = f"PYTHONDONTWRITEBYTECODE=1 python3 fixtures/evidence/compare.py {CTX}"
ATTACKED = f"""rm -rf target/attacked; mkdir target/attacked
    {PROGRAM} vaults {{}} --dir "$PWD/target/attacked"
    {PYTHON} spec/reader/compare.py target/attacked/experiments"""


def test_command():
    """The README's."""
    found = re.search(r"^cargo test.*", (ROOT / "README.md").read_text(), re.MULTILINE)
    return found.group() if found else sys.exit("README.md names no test command")


def checks():
    tests = f"{test_command()} --locked"
    return [
        Check("format", "cargo fmt --check --all; cargo fmt --check --manifest-path fuzz/Cargo.toml"),
        Check("spelling", "target/venv/bin/typos"),
        Check("sentences", "python3 .ci/prose.py"),
        Check("build the experiments", f"cargo bench {OF_EXPERIMENTS} --no-run", builds=True),
        # Its builds are in a folder of their own, and take long: `tests/spec/fuzzed.rs` passes the corpora
        # to the same targets.
        Check("fuzzing finds nothing", None, "fuzz/smoke 5"),
        Check("build the tests", f"{tests} --no-run", builds=True),
        Check("lints", "cargo clippy --locked --workspace --all-targets -- -D warnings", builds=True),
        # For the binary, which has no links, cargo would check the library again.
        Check("docs", f"{DOCS} --lib", DOCS, builds=True),
        Check("the library without its default features",
              "cargo clippy --locked --no-default-features --lib --bins -- -D warnings", builds=True),
        Check("build the benchmarks", f"cargo bench --locked --profile dev {BENCHES} --no-run", builds=True),
        Check("tests, by the README's command", tests, after=BUILT),
        *(Check(f"experiment {name}", *(EXPERIMENT.format(name=name, size=size) for size in ("--brief", "--quick")),
                after=HAS_PROGRAM) for name in EXPERIMENTS),
        Check("programs of others call the tools", f"{PYTHON} fixtures/mcp/clients.py {CTX} target",
              f"{PYTHON} fixtures/mcp/clients.py {CTX} target all", after=HAS_CTX),
        # With the profile of the tests: whether they start and hold, not how fast they are.
        Check("benchmarks start", f"cargo bench --locked --profile dev {BENCHES} -- --quick", after=BUILT),
        Check("a second verifier of evidence gives the same verdicts", f"{EVIDENCE} 24", f"{EVIDENCE} 8",
              after=HAS_CTX),
        Check("a second reader gives the same verdicts", ATTACKED.format("--brief"), ATTACKED.format("--quick"),
              after=HAS_PROGRAM),
        Check("a second reader passes the vectors", f"{PYTHON} spec/reader/vectors.py"),
        Check("other programs read exports of the access log", f"{PYTHON} spec/reader/exports.py $PWD/{CTX}",
              after=HAS_CTX),
        Check("a job of GitLab checks a vault", f"{PYTHON} fixtures/ci/gitlab.py {CTX} target", after=HAS_CTX),
        Check("a reviewer is asked over MCP", f"{PYTHON} fixtures/mcp/reviewer.py {CTX}", after=HAS_CTX),
        Check("the picture of a terminal is current", f"python3 docs/figures/terminal.py {CTX} --check",
              after=HAS_CTX),
    ]


def work_tree():
    return subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def in_memory():
    """A folder in memory with enough room for temporary files. A container often has 64 MB."""
    folder = Path("/dev/shm")
    has_room = folder.is_dir() and shutil.disk_usage(folder).free >= ROOM
    return folder if has_room else None


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--full", action="store_true")
    args.add_argument("--only")
    args = args.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    # A run that is ended ends its checks.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    chosen = [check for check in checks() if args.full or check.command]
    if args.only:
        wanted = [check for check in chosen if args.only in check.name]
        needed = {name for check in wanted for name in check.after}
        chosen = [check for check in chosen if check in wanted or check.name in needed]
    # In memory nothing waits for the disk. At full size everything does.
    memory = None if args.full else in_memory()
    with tempfile.TemporaryDirectory(prefix="checks-", dir=memory, ignore_cleanup_errors=True) as folder:
        # Tests run commands as another user, who has to enter it.
        os.chmod(folder, 0o755)
        os.environ["TMPDIR"] = folder
        # Nothing is built twice in a fresh clone, and to build in small parts takes longer.
        if not (ROOT / "target/debug/incremental").exists():
            os.environ["CARGO_INCREMENTAL"] = "0"
        # What the slow tests read.
        os.environ.update({"CTX_REVIEW_FAULTS": "1"} if args.full else {"CTX_BRIEF_TESTS": "1", "CTX_REVIEW_CASES": "2"})
        before = work_tree()
        all_hold = run(chosen, args.full)
    if work_tree() != before:
        sys.exit(f"failed: the checks changed the work tree:\n{work_tree()}")
    if not all_hold:
        sys.exit(1)
    print("all is well")


if __name__ == "__main__":
    main()
