"""`lunguage targets`: the labels of a release as targets of a classifier.

What a target is, is in `labels.targets` (docs/reports.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    EXISTING_FILE,
    FILE,
    RANKER_OPTION,
    configured,
)

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration


@click.command()
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
    help="soft, U-Ones, U-Zeros, U-Ignore.",
)
@click.option(
    "--implied", is_flag=True, help="What only a pathway implies is a target, too."
)
@click.option(
    "--unresolved",
    is_flag=True,
    help="What the reader did not understand is a target, too.",
)
@click.option(
    "--images",
    type=EXISTING_FILE,
    help="MIMIC-CXR's metadata or CheXpert Plus' table (.csv or .csv.gz): a row per "
    "image.",
)
@click.option("--out", required=True, type=FILE, help="Parquet file to write.")
@RANKER_OPTION
@configured(existing=True)
def targets(
    configuration: Configuration,
    ranker: str,
    order: str,
    policy: str,
    implied: bool,
    unresolved: bool,
    images: Path | None,
    out: Path,
) -> None:
    """Write the labels of a release as targets for training.

    Of the newest one. A row per study or image, and per label a target with its
    interval, null where the report gives none.
    """
    from lunguage_assets.labels.targets import targets

    # The name of an order is passed on as it is: `targets` knows its labels.
    labels: str | list[str] = order
    if "," in order:
        labels = [label.strip() for label in order.split(",")]
    releases = configuration.home.release / ranker
    table = targets(releases, labels, policy, implied, images, unresolved)
    table.write(out)
    click.echo(
        f"{len(table.ids)} rows, {int(table.mask.sum())} targets of "
        f"{table.mask.size}, {policy}: {out}"
    )
