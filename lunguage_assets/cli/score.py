"""`lunguage score`: generated reports against their references (docs/score.md).

The measures are `annotation.scoring`; here a file is read, and its mistakes are named.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import EXISTING_FILE, FILE
from lunguage_assets.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from lunguage_assets.annotation.scoring import Scores


@click.command(short_help="Score generated reports against references; doubt counts.")
@click.argument("file", type=EXISTING_FILE)
@click.option(
    "--references",
    default="reference",
    show_default=True,
    help="Column of the references.",
)
@click.option(
    "--generated",
    default="generated",
    show_default=True,
    help="Column of the generated reports.",
)
@click.option(
    "--out", type=FILE, help="CSV of the scores of every row, beside the other columns."
)
def score(file: Path, references: str, generated: str, out: Path | None) -> None:
    """Score the reports of FILE against their references.

    FILE is .csv, .csv.gz or .parquet, with a pair a row. A score is how far what a
    report says, and how surely, is what its reference says. docs/score.md explains the
    measures.
    """
    from lunguage_assets.cli.console import print_table
    from lunguage_assets.corpus.whole_tables import read_table
    from lunguage_assets.files import write_csv

    if out is not None and out.resolve() == file.resolve():
        raise InputError(
            file.name,
            "the same file as --out",
            "another file for the scores",
            "Name a new file with --out: this one would be lost.",
        )
    remedy = (
        "Add the header line if it is missing, or name it with --references or "
        "--generated."
    )
    rows = read_table(file, (references, generated), remedy)
    scores = _score_rows(file, rows, references, generated)
    print_table(scores.corpus.reset_index())
    # An empty cell is scored like a report that says nothing: that may be a mistake of
    # the export.
    for column in (references, generated):
        empty = (rows[column].str.strip() == "").sum()
        if empty:
            click.echo(
                f"{file.name}, column {column!r}, empty cells: {empty}, each scored as "
                "a report that says nothing"
            )
    if out is not None:
        # Open-i's files have a column `findings`, as the scores do: both are written.
        other_columns = rows.drop(columns=[references, generated])
        write_csv(other_columns.join(scores.studies, lsuffix="_given"), out)
        click.echo(f"{len(rows)} rows written into {out}")


def _score_rows(
    file: Path, rows: pd.DataFrame, references: str, generated: str
) -> Scores:
    """Score every pair; an error names the file, its row from 1, and its column.

    Args:
        file: that the rows were read from.
        rows: a pair of reports each.
        references: column of the references.
        generated: column of the generated reports.

    Raises:
        InputError: a cell that cannot be scored.
    """
    from lunguage_assets.annotation.scoring import score as score_reports

    try:
        return score_reports(rows[references].tolist(), rows[generated].tolist())
    except InputError as error:
        # The scorer knows two lists, and rows from 0.
        column_by_list = {"references": references, "generated": generated}
        raise InputError(
            file.name,
            error.found,
            error.expected,
            error.remedy,
            row=None if error.row is None else error.row + 1,
            column=column_by_list.get(error.column or ""),
        ) from None
