"""`lunguage annotate`: the labels of every report of a file, as CSV (docs/read.md).

The labelling is `annotation.annotation`, part by part: a file may be of any length.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.read import CUES_OPTION
from lunguage_assets.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS_NAMED = 20


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--text-column",
    default="",
    help="Column of the reports; default: as in the corpus of the file, else report.",
)
@click.option(
    "--id-column",
    default="",
    help="Column of their ids; default: study_id, else the row's number.",
)
@click.option(
    "--views-column",
    default="",
    help="Column of their views; default: as in the corpus, else as the texts say.",
)
@CUES_OPTION
@click.option(
    "--wide", is_flag=True, help="A row per report, with p of each label in a column."
)
def annotate(
    file: Path,
    text_column: str,
    id_column: str,
    views_column: str,
    cues: Path | None,
    wide: bool,
) -> None:
    """Label every report of a file, as CSV.

    lunguage annotate reports.csv > labels.csv

    FILE is whatever `lunguage register` takes: a table, a JSON file, an archive or a
    folder of reports.

    Offline rules read the texts; nothing is stored or sent. The columns are those of
    labels.csv of a release.
    """
    from lunguage_assets.annotation.annotation import frames_by_part
    from lunguage_assets.annotation.given_reports import reports_of_delivery
    from lunguage_assets.structuring.text.languages import NOT_ENGLISH

    reports, unreadable_rows = reports_of_delivery(
        file, text_column, id_column, views_column
    )
    not_english = 0
    # The file is labelled part by part, and printed as one CSV with one header.
    is_first = True
    for part in frames_by_part(reports, cues, ("reports", "labels")):
        not_english += sum(NOT_ENGLISH in notes for notes in part["reports"]["notes"])
        labels = _one_row_per_report(part["labels"]) if wide else part["labels"]
        click.echo(labels.to_csv(index=False, header=is_first), nl=False)
        is_first = False
    if not_english:
        click.echo(
            f"{not_english} reports are not in English: nothing was read in them, and "
            "they have no labels",
            err=True,
        )
    if unreadable_rows:
        rows = ", ".join(unreadable_rows[:MAX_ROWS_NAMED])
        raise InputError(
            file.name,
            f"{len(unreadable_rows)} rows that cannot be read ({rows})",
            "whole rows",
            "Correct them; the others are labelled.",
        )


def _one_row_per_report(labels: pd.DataFrame) -> pd.DataFrame:
    """Put the probabilities of each label into a column, in the order of the list."""
    from lunguage_assets.implicit.statements.label_file import load_label_list

    # Pivoting sorts by name; reports keep the order of the table. The columns are those
    # of all labels: the first reports of a table may have none.
    p = labels.pivot(index="study_id", columns="label", values="p")
    names = load_label_list().names
    in_order = p.reindex(index=labels["study_id"].unique(), columns=names)
    return in_order.reset_index(names="study_id")
