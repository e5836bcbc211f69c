"""What is printed of a run, and of the release that it wrote.

The numbers of a release are those of its `restricted/summary.json`; the words are
those of `checks.txt.j2` and `summary.txt.j2` in `resources/run`.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.files import read_record
from lunguage_assets.judges.progress import Progress
from lunguage_assets.packaged_data import page_template
from lunguage_assets.release.code_words import COUNTED_CONFLICT_WORDS
from lunguage_assets.structuring.model.second_reader import CHANGED_ROWS, SENTENCES
from lunguage_assets.workspace.versions import current_version, report_of

if TYPE_CHECKING:
    from lunguage_assets.orchestration.run import RunSummary
    from lunguage_assets.workspace.home import Home


def print_run(summary: RunSummary, spent: Collection[Progress]) -> None:
    """Print the checks of a run, and what language models were asked and cost."""
    text = page_template("run", "checks.txt.j2").render(
        summary=summary,
        spent=spent,
        sentences=SENTENCES,
        changed_rows=CHANGED_ROWS,
    )
    click.echo(text, nl=False)


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
    text = page_template("run", "summary.txt.j2").render(
        summary, words=COUNTED_CONFLICT_WORDS, locations=locations
    )
    click.echo(text, nl=False)
