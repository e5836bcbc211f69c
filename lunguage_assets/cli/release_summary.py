"""What is printed of a release and of the run that wrote it.

The numbers are those of `restricted/summary.json` of the release, their words those of
`resources/run/summary.txt.j2`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.cli.console import LabelledLine, print_pairs
from lunguage_assets.files import read_record
from lunguage_assets.judges.progress import Progress
from lunguage_assets.packaged_data import page_template
from lunguage_assets.release.code_words import COUNTED_CONFLICT_WORDS
from lunguage_assets.workspace.versions import current_version, report_of

if TYPE_CHECKING:
    from lunguage_assets.orchestration.run import RunSummary
    from lunguage_assets.workspace.home import Home


def print_release(
    folder: Path, home: Home, run_lines: Sequence[LabelledLine] = ()
) -> None:
    """Print what is in the newest release, and where everything is.

    Args:
        folder: of the ranker's releases.
        home: whose tables the release was made of.
        run_lines: what the run says of its checks and spending.
    """
    version = current_version(folder) or folder
    restricted = version / "restricted"
    summary = read_record(
        restricted / "summary.json",
        dict,
        "Restore the release from a backup, or write it to another folder (--out).",
    )
    locations = [
        ("Lunguage++", str(restricted / "Lunguage_plus_plus.csv")),
        ("labels of each study", str(restricted / "labels.csv")),
        ("report, opens offline", str(report_of(version))),
        ("all files of the release", str(version)),
        ("tables, for any DuckDB client", str(home.database)),
        ("runs, tables, checks in the UI", f"{sys.argv[0]} ui --home {home.root}"),
    ]
    print_pairs([*summary_lines(summary), *run_lines, ("", ""), *locations])
    not_english = summary.get("not_in_english")
    if not_english:
        # Said once more, to stderr: these reports have no labels.
        click.echo(
            f"{not_english} reports are not in English: the offline rules read nothing "
            "in them. A language model as structurer reads them (--structurer).",
            err=True,
        )


def summary_lines(summary: Mapping[str, Any]) -> list[LabelledLine]:
    """Word every line of a release's summary."""
    template = page_template("run", "summary.txt.j2")
    text = template.render(summary, words=COUNTED_CONFLICT_WORDS)
    lines = []
    for line in text.splitlines():
        label, _, value = line.partition("|")
        lines.append((label, value))
    return lines


def checks_lines(summary: RunSummary) -> list[LabelledLine]:
    """Say how many checks passed, and what those that only warn say."""
    # A failed check is no line here: it ends the command, and says so last.
    checks = summary.passed + len(summary.warned) + len(summary.failed)
    warnings = [("  warns", warning) for warning in summary.warned]
    return [("checks passed", f"{summary.passed} of {checks}"), *warnings]


def read_again_lines(summary: RunSummary) -> list[LabelledLine]:
    """Say what a second reader read; nothing where none did."""
    if not summary.read_again:
        return []
    from lunguage_assets.structuring.model.second_reader import CHANGED_ROWS, SENTENCES

    sentences = summary.read_again[SENTENCES]
    rows = summary.read_again[CHANGED_ROWS]
    told = f"{sentences:,} sentences that the rules left open, {rows:,} rows changed"
    return [("second reader", told)]


def spending_lines(spent: Sequence[Progress]) -> list[LabelledLine]:
    """Say what language models were asked and cost; nothing where none was asked."""
    if not spent:
        return []
    lines = [("language models", f"${sum(judge.cost_usd for judge in spent):.4f}")]
    lines += [("", judge.line()) for judge in spent]
    invalid = sum(judge.invalid for judge in spent)
    calls = sum(judge.calls for judge in spent)
    if invalid:
        useless = f"{invalid:,} of {calls:,} calls: their answers are invalid"
        lines.append(("  paid, of no use", useless))
    return lines
