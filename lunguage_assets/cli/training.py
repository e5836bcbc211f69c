"""The commands for those who train and evaluate: `targets` of a release."""

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
@click.option("--policy", default="soft", show_default=True, help="soft, U-Ones, U-Zeros or U-Ignore.")
@click.option("--implied", is_flag=True, help="What only a pathway implies is a target, too.")
@click.option(
    "--images",
    type=GIVEN_FILE,
    help="MIMIC-CXR's metadata or CheXpert Plus' table (.csv or .csv.gz): a row per image.",
)
@click.option("--out", required=True, type=FILE, help="Parquet file to write.")
@chooses(there=True)
@RANKER_OPTION
def targets(
    chosen: Chosen, ranker: str, order: str, policy: str, implied: bool, images: Path | None, out: Path
) -> None:
    """Write the labels of the newest release as targets: a row per study or image, per label a target with
    its interval, null where the report gives none.
    """
    from lunguage_assets.release.targets import ORDERS, targets

    named = (
        order if order.lower() in ORDERS or "," not in order else [one.strip() for one in order.split(",")]
    )
    made = targets(chosen.home.release / ranker, named, policy, implied, images)
    made.write(out)
    click.echo(f"{len(made.ids)} rows, {int(made.mask.sum())} targets of {made.mask.size}, {policy}: {out}")
