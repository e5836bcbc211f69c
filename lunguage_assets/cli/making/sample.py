"""The `sample` command: a synthetic corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import FOLDER, number

if TYPE_CHECKING:
    from lunguage_assets.sample import Prose, RawFormat


@click.command(short_help="Write a synthetic corpus, as findings or as raw reports.")
@number("--reports", 800, "Number of reports (studies).")
@number("--seed", 0, least=0)
@click.option("--out", required=True, type=FOLDER, help="Folder to write the files into.")
@click.option(
    "--as-text",
    type=click.Choice(["table", "mimic", "text"]),
    help="Write raw reports: reports.csv, MIMIC-CXR's folders, or one .txt per report. The truth about them "
    "goes into the folder OUT-truth.",
)
@click.option(
    "--prose",
    type=click.Choice(["plain", "varied"]),
    help="How the reports are worded.  [default: plain; varied with --as-text]",
)
def sample(reports: int, seed: int, out: Path, as_text: RawFormat | None, prose: Prose | None) -> None:
    """Write a synthetic corpus in the published formats, or as raw reports with the truth about them."""
    from lunguage_assets.sample import write_raw_sample, write_sample

    if as_text is None:
        written = write_sample(out, reports=reports, seed=seed, prose=prose or "plain")
    else:
        truth = out.with_name(f"{out.name}-truth")
        written = write_raw_sample(out, truth, reports, seed, form=as_text, prose=prose or "varied")
    click.echo(
        f"{written.reports} reports of {written.patients} patients: {written.findings} findings "
        f"({written.tentative} tentative) and {written.history} history rows, {written.images} images, "
        f"in {out}" + (f"; what they say, in {truth}" if as_text is not None else "")
    )
