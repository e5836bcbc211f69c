"""`lunguage compare-labels`: the labels of a release beside those of another file.

What is computed is in `labels.comparison` and `labels.other_labels`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    EXISTING_FILE,
    HOME_OPTION,
    RANKER_OPTION,
    configured,
    out_folder_option,
)

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration


@click.command(
    "compare-labels", short_help="Compare the labels with CheXpert or radiologists."
)
@click.option(
    "--with",
    "label_file",
    required=True,
    type=EXISTING_FILE,
    help="A label file of MIMIC-CXR-JPG: CheXpert's, NegBio's or the radiologists' "
    "(.csv or .csv.gz), or CheXbert's lines of CheXpert Plus (impression_fixed.json).",
)
@out_folder_option("what is found")
@HOME_OPTION
@RANKER_OPTION
@configured(existing=True)
def compare_labels(
    configuration: Configuration, label_file: Path, out: Path, ranker: str
) -> None:
    """Put the labels of the newest release beside those of another file.

    Who says what, kappa, and p against its 1 and 0.
    """
    from lunguage_assets.cli.console import print_table
    from lunguage_assets.files import write_csv
    from lunguage_assets.implicit.statements.label_file import load_label_list
    from lunguage_assets.labels.comparison import compare_with_release
    from lunguage_assets.labels.other_labels import (
        read_label_file,
        released_labels,
    )

    other_labels, differing = read_label_file(label_file, load_label_list())
    other_studies = set(other_labels["study_id"])
    released = released_labels(configuration.home, ranker, other_studies)
    crossed, agreement = compare_with_release(released.labels, other_labels)
    write_csv(crossed, out / "crossed.csv")
    write_csv(agreement, out / "agreement.csv")

    in_both = released.labels["study_id"].nunique()
    click.echo(
        f"{in_both} studies in both; {len(other_studies) - in_both} only in "
        f"{label_file.name}, {released.studies - in_both} only in release "
        f"{released.version}"
    )
    if differing:
        click.echo(
            f"{differing} studies have lines that differ in {label_file.name}: the "
            "first one counts"
        )
    print_table(crossed[crossed["label"] == "all labels"])
    print_table(agreement.drop(columns=["kappa_low", "kappa_high"]))
    click.echo(f"written into {out}: crossed.csv, agreement.csv")
