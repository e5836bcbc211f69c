"""`lunguage sample`: a synthetic corpus, written by `lunguage_assets.sample`."""

from __future__ import annotations

from pathlib import Path

import click

from lunguage_assets.cli.options import FOLDER


@click.command()
@click.option(
    "--reports",
    default=800,
    show_default=True,
    type=click.IntRange(min=1),
    help="Number of reports (studies).",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option(
    "--out", required=True, type=FOLDER, help="Folder to write the files into."
)
@click.option(
    "--as-text",
    is_flag=True,
    help="Write raw reports, as reports.csv. The truth about them goes into the folder "
    "OUT-truth.",
)
def sample(reports: int, seed: int, out: Path, as_text: bool) -> None:
    """Write a synthetic corpus, as findings or as raw reports.

    The findings are in the published formats; raw reports have the truth beside them.
    """
    from lunguage_assets.sample.files import write_raw_sample, write_sample

    if not as_text:
        click.echo(f"{write_sample(out, reports, seed)}, in {out}")
        return
    truth = out.with_name(f"{out.name}-truth")
    contents = write_raw_sample(out, truth, reports, seed)
    click.echo(f"{contents}, in {out}; what they say, in {truth}")
