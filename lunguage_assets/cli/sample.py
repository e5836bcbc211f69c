"""The `sample` command: a synthetic corpus."""

from __future__ import annotations

from pathlib import Path

import click


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
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write the three files into.",
)
def sample(reports: int, seed: int, out: Path) -> None:
    """Write a synthetic corpus in the published formats."""
    from lunguage_assets.sample import write_sample

    written = write_sample(out, reports=reports, seed=seed)
    click.echo(
        f"{written.reports} reports of {written.patients} patients: {written.findings} findings "
        f"({written.tentative} tentative) and "
        f"{written.history} history rows, {written.images} images, {len(written.phrases)} hedging "
        f"phrases, in {out}"
    )
