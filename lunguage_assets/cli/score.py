"""`lunguage score`: generated reports against their references (docs/score.md).

The measures are `annotation.scoring`; here a file is read, and its mistakes are named.
"""

from __future__ import annotations

from pathlib import Path

import click

from lunguage_assets.cli.options import EXISTING_FILE, FILE
from lunguage_assets.errors import InputError


@click.command()
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
    """Score generated reports against references; doubt counts.

    FILE is .csv, .csv.gz or .parquet, with a pair a row. A score is how far what a
    report says, and how surely, is what its reference says. docs/score.md explains the
    measures.
    """
    from lunguage_assets.annotation.given_reports import Origin, given_report
    from lunguage_assets.annotation.scoring import score_reports
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
    rows = read_table(file, (references, generated))
    # An error names the file, its row from 1, and its column.
    reports_by_column = [
        [
            given_report("", text, "", Origin(file.name, column, row=row))
            for row, text in enumerate(rows[column], start=1)
        ]
        for column in (references, generated)
    ]
    scores = score_reports(*reports_by_column, source=file.name)
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
