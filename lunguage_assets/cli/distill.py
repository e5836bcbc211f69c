"""`lunguage distill`: a small model learns from the panel (docs/distilled.md).

Training and test are an asset of the group `explicit`, launched and printed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    HOME_OPTION,
    PRESET_OPTION,
    RANKER_OPTION,
    configured,
    require_ranker,
    stored_table,
)

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration


@click.command(short_help="Let a small model learn the panel's judgement.")
@HOME_OPTION
@PRESET_OPTION
@RANKER_OPTION
@click.option(
    "--encoder",
    help="Model of the hub, or a folder; default: distilled.encoder of settings.toml.",
)
@configured(existing=True)
def distill(configuration: Configuration, ranker: str) -> None:
    """Train a small model on the judges' stored answers, and hold it against them.

    Asks no judge. `lunguage run --fit distilled` then fits further batches with it.
    """
    from lunguage_assets.cli.console import print_pairs, print_table
    from lunguage_assets.cli.release_summary import checks_lines
    from lunguage_assets.cli.run import require_checks, run_stages
    from lunguage_assets.orchestration.run_plan import Stage

    home = configuration.home
    require_ranker(configuration, ranker)
    # Without a ranking there is nothing to learn: its absence is said before a run.
    stored_table(home, "reference_ranking", ranker)
    checks, _ = run_stages(configuration, [Stage("distill", (ranker,), ("asked for",))])
    scorer = stored_table(home, "distilled_scorer", ranker)
    print_table(scorer.drop(columns=["files", "ranking_version"]))
    folder = str(home.distilled / ranker)
    print_pairs([*checks_lines(checks), ("as restricted as the reports", folder)])
    require_checks(checks)
