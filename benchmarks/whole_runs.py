"""What whole runs of the command cost, in processor seconds, beside another commit in
the same session.

python benchmarks/whole_runs.py --against 8e36038

Measured: a first run of 800 reports with its ranking (`make run`), the same again with
nothing to do, a further batch of five reports, and one of 100. Each command is a
process of its own; user and system time of it and of its children count, not the time
that passes. The commits take turns on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
ENTRY = (
    "import importlib.util as u, sys;"
    "sys.argv[0] = 'lunguage';"
    "new = u.find_spec('lunguage_assets.cli').submodule_search_locations;"
    "module = __import__('lunguage_assets.cli' + ('.main' if new else ''), fromlist=['main']);"
    "getattr(module, 'process', module.main)()"
)
"""Calls the command of a source tree; the module has moved between commits."""


@dataclass(frozen=True)
class Cost:
    """Processor seconds and seconds of one command."""

    cpu_s: float
    wall_s: float


def command(tree: Path, home: Path, *arguments: str) -> Cost:
    """Run the command of a source tree on a home."""
    variables = {
        "PYTHONPATH": str(tree),
        "LUNGUAGE_HOME": str(home),
        "PATH": os.environ["PATH"],
    }
    before = os.times()
    start = time.monotonic()
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ENTRY, *arguments],
        env=variables,
        cwd=tree,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = os.times()
    cpu = (
        after.children_user
        + after.children_system
        - before.children_user
        - before.children_system
    )
    return Cost(cpu, time.monotonic() - start)


def tree_of(commit: str, folder: Path) -> Path:
    """The files of a commit, without touching the checkout."""
    tree = folder / "tree"
    tree.mkdir()
    archive = subprocess.run(
        ["git", "archive", commit], cwd=HERE, check=True, capture_output=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive, check=True)
    return tree


def main() -> None:
    """Print one line per scenario."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--against", default="", help="another commit; empty: this checkout alone"
    )
    parser.add_argument("--reports", type=int, default=800)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trees = {"this checkout": HERE}
        if options.against:
            trees[options.against] = tree_of(options.against, folder)
        for label, tree in trees.items():
            for seed, reports in enumerate((options.reports, 5, 100)):
                out = folder / label / f"delivery-{reports}"
                size = ("--reports", str(reports), "--seed", str(seed))
                command(
                    tree, folder / label / "unused", "sample", *size, "--out", str(out)
                )
        scenarios = [
            (f"first run, {options.reports} reports", options.reports),
            ("the same again, nothing to do", options.reports),
            ("a batch of 5 more", 5),
            ("a batch of 100 more", 100),
        ]
        print(f"{'':40}" + "".join(f"{label:>30}" for label in trees))
        for title, reports in scenarios:
            costs = [
                command(
                    tree,
                    folder / label / "home",
                    "run",
                    "--data",
                    str(folder / label / f"delivery-{reports}"),
                )
                for label, tree in trees.items()
            ]
            print(
                f"{title:40}"
                + "".join(f"{c.cpu_s:>14.1f} CPU s {c.wall_s:>8.1f} s" for c in costs),
                flush=True,
            )


if __name__ == "__main__":
    main()
