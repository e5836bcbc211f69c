"""What is printed of a run, and of the release that it wrote.

The numbers of a release are those of its `restricted/summary.json`, their words those
of `resources/run/summary.txt.j2`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lunguage_assets.cli.console import print_pairs
from lunguage_assets.files import read_record
from lunguage_assets.judges.progress import Progress
from lunguage_assets.packaged_data import page_template
from lunguage_assets.release.code_words import COUNTED_CONFLICT_WORDS
from lunguage_assets.structuring.model.second_reader import CHANGED_ROWS, SENTENCES
from lunguage_assets.workspace.versions import current_version, report_of

if TYPE_CHECKING:
    from lunguage_assets.orchestration.run import RunSummary
    from lunguage_assets.workspace.home import Home


def print_run(summary: RunSummary, spent: Sequence[Progress]) -> None:
    """Print the checks of a run, and what language models were asked and cost."""
    lines = []
    if summary.read_again:
        sentences = summary.read_again[SENTENCES]
        rows = summary.read_again[CHANGED_ROWS]
        left_open = (
            f"{sentences:,} sentences that the rules left open, {rows:,} rows changed"
        )
        lines.append(("second reader", left_open))
    # A failed check is no line here: it ends the command, and says so last.
    checks = summary.passed + len(summary.warned) + len(summary.failed)
    lines.append(("checks passed", f"{summary.passed} of {checks}"))
    lines += [("  warns", warning) for warning in summary.warned]
    if spent:
        cost_usd = sum(judge.cost_usd for judge in spent)
        lines.append(("language models", f"${cost_usd:.4f}"))
        lines += [("", judge.line()) for judge in spent]
        invalid = sum(judge.invalid for judge in spent)
        calls = sum(judge.calls for judge in spent)
        if invalid:
            useless = f"{invalid:,} of {calls:,} calls: their answers are invalid"
            lines.append(("  paid, of no use", useless))
    print_pairs(lines)


def print_release(folder: Path, home: Home) -> None:
    """Print what is in the newest release, and where everything is.

    Args:
        folder: of the ranker's releases.
        home: whose tables the release was made of.
    """
    version = current_version(folder) or folder
    restricted = version / "restricted"
    summary = read_record(
        restricted / "summary.json",
        dict,
        "Restore the release from a backup, or write it to another folder (--out).",
    )
    locations = {
        "Lunguage++": restricted / "Lunguage_plus_plus.csv",
        "labels of each study": restricted / "labels.csv",
        "report, opens offline": report_of(version),
        "all files of the release": version,
        "tables, for any DuckDB client": home.database,
        "runs, tables, checks in the UI": f"{sys.argv[0]} ui --home {home.root}",
    }
    template = page_template("run", "summary.txt.j2")
    text = template.render(summary, words=COUNTED_CONFLICT_WORDS, locations=locations)
    print_pairs([line.split("|", 1) for line in text.splitlines()])
