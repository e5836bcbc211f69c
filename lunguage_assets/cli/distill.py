"""`lunguage distill`: a small model learns from the panel (docs/distilled.md).

Training and test are an asset of the group `explicit`, launched and printed here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    PRESET_OPTION,
    RANKER_OPTION,
    configured,
)

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration


@click.command()
@PRESET_OPTION
@RANKER_OPTION
@configured(existing=True)
def distill(configuration: Configuration, ranker: str) -> None:
    """Let a small model learn the panel's judgement.

    It is trained on the judges' stored answers, and held against them. Asks no judge.
    The model may then be a judge itself: the lines for the judges file are printed.
    """
    from lunguage_assets.cli.console import print_table
    from lunguage_assets.cli.run import run_job
    from lunguage_assets.workspace.store import stored_table

    home = configuration.home
    run_job(configuration, "distill", ranker)
    print_table(stored_table(home, "distilled_scorer", ranker).drop(columns="files"))
    folder = home.distilled.resolve() / ranker
    click.echo(f"as restricted as the reports  {folder}")
    preset = configuration.judges.preset
    click.echo(
        f'For the judges file, with candidates = ["student"] in [presets.{preset}]:\n'
        f'[judges.student]\nprovider = "distilled"\nfolder = {json.dumps(str(folder))}'
    )
