"""The commands for those who train and evaluate: `targets` of a release, `score` of generated reports."""

from __future__ import annotations

from pathlib import Path

import click

from lunguage_assets.cli.options import FILE, GIVEN_FILE, RANKER_OPTION, Chosen, chooses


@click.command(short_help="Write the labels of a release as targets for training.")
@click.option(
    "--order",
    default="chexpert",
    show_default=True,
    help="torchxrayvision, chexpert, mimic-cxr, or labels, separated by commas.",
)
@click.option(
    "--policy",
    default="soft",
    show_default=True,
    help="soft, U-Ones, U-Zeros, U-Ignore, estimate.",
)
@click.option(
    "--implied", is_flag=True, help="What only a pathway implies is a target, too."
)
@click.option(
    "--images",
    type=GIVEN_FILE,
    help="MIMIC-CXR's metadata or CheXpert Plus' table (.csv or .csv.gz): a row per image.",
)
@click.option("--out", required=True, type=FILE, help="Parquet file to write.")
@chooses(there=True)
@RANKER_OPTION
def targets(
    chosen: Chosen,
    ranker: str,
    order: str,
    policy: str,
    implied: bool,
    images: Path | None,
    out: Path,
) -> None:
    """Write the labels of the newest release as targets: a row per study or image, per label a target with
    its interval, null where the report gives none.
    """
    from lunguage_assets.labels.targets import ORDERS, targets

    named = (
        order
        if order.lower() in ORDERS or "," not in order
        else [one.strip() for one in order.split(",")]
    )
    made = targets(chosen.home.release / ranker, named, policy, implied, images)
    made.write(out)
    click.echo(
        f"{len(made.ids)} rows, {int(made.mask.sum())} targets of {made.mask.size}, {policy}: {out}"
    )


_USUAL_COLUMNS = (
    "id",
    "uid",
    "study_id",
    "reference",
    "generated",
    "findings",
    "impression",
    "report",
)
"""Names of columns that a message may repeat."""


@click.command(short_help="Score generated reports against references; doubt counts.")
@click.argument("file", type=GIVEN_FILE)
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
    """Score the reports of FILE (.csv, .csv.gz or .parquet, a pair a row): how far what they say, and how
    surely, is what their references say. docs/score.md explains the measures.
    """
    import pandas as pd

    from lunguage_assets.annotation.scoring import score
    from lunguage_assets.cli.console import print_table
    from lunguage_assets.corpus.columns import shown_names
    from lunguage_assets.errors import InputError
    from lunguage_assets.files import write_csv

    try:
        rows = (
            pd.read_parquet(file)
            if file.suffix == ".parquet"
            else pd.read_csv(file, dtype="str")
        )
    except (OSError, ValueError) as error:
        found = f"a file that cannot be read ({type(error).__name__})"
        raise InputError(
            file.name, found, "a table", "Give .csv, .csv.gz or .parquet."
        ) from None
    for name in (references, generated):
        if name not in rows:
            found = f"columns {shown_names([*map(str, rows.columns)], _USUAL_COLUMNS)}"
            remedy = "Add the header line if it is missing, or name it with --references or --generated."
            raise InputError(file.name, found, f"a column {name!r}", remedy)
    column_by_part = {"references": references, "generated": generated}
    try:
        scores = score(rows[references].tolist(), rows[generated].tolist())
    except InputError as error:
        # The scorer knows lists; whoever gave a file is told its name, its row from 1, and its column.
        row = None if error.row is None else error.row + 1
        column = column_by_part.get(error.file)
        raise InputError(
            file.name, error.found, error.expected, error.remedy, row=row, column=column
        ) from None
    print_table(scores.corpus.reset_index())
    for column in column_by_part.values():
        empty_rows = [
            row for row, is_empty in enumerate(rows[column].isna(), start=1) if is_empty
        ]
        if empty_rows:
            first = ", ".join(map(str, empty_rows[:10])) + (
                " ..." if len(empty_rows) > 10 else ""
            )
            click.echo(
                f"{file.name}, column {column!r}: {len(empty_rows)} empty cells (rows {first}), each scored "
                "as a report that says nothing"
            )
    if out is not None:
        other_columns = rows.drop(columns=[references, generated])
        # Open-i's files have a column `findings`, as the scores do: both are written.
        renamed = {
            name: f"given_{name}"
            for name in other_columns.columns
            if name in scores.studies
        }
        write_csv(other_columns.rename(columns=renamed).join(scores.studies), out)
        click.echo(f"{len(rows)} rows written into {out}")
        for name, new_name in renamed.items():
            click.echo(
                f"the column {name!r} of {file.name} is {new_name!r} there: {name!r} is a score"
            )
