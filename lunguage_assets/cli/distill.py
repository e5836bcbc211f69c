"""`lunguage distill`: a small model learns from the panel (docs/distilled.md).

Training and evaluation are assets of the group `explicit`, launched and printed here.
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
    from lunguage_assets.workspace.home import Home


@click.command(short_help="Let a small model learn the panel's judgement.")
@HOME_OPTION
@PRESET_OPTION
@RANKER_OPTION
@click.option(
    "--encoder",
    help="Model of the hub, or a folder; default: distilled.encoder of settings.toml.",
)
@click.option(
    "--tune",
    is_flag=True,
    help="Fine-tune the encoder, too: minutes to an hour on a CPU.",
)
@configured(existing=True)
def distill(configuration: Configuration, ranker: str) -> None:
    """Train a small model on the judges' stored answers, and hold it against them.

    Asks no judge. `lunguage run --fit distilled` then fits further batches with it.
    Killed, the same command goes on.
    """
    from lunguage_assets.cli.console import print_pairs
    from lunguage_assets.cli.release_summary import checks_lines
    from lunguage_assets.cli.run import require_checks, run_stages
    from lunguage_assets.orchestration.run_plan import Stage

    home = configuration.home
    require_ranker(configuration, ranker)
    # Without a ranking there is nothing to learn: its absence is said before a run.
    stored_table(home, "reference_ranking", ranker)
    _print_encoder_in_use(configuration)
    checks = run_stages(configuration, [Stage("distill", (ranker,))]).checks
    folder = _print_scorer(home, ranker)
    print_pairs([*checks_lines(checks), ("as restricted as the reports", folder)])
    require_checks(checks)


def _print_encoder_in_use(configuration: Configuration) -> None:
    """Say where an installed copy stands in for the encoder of the settings."""
    from lunguage_assets.orchestration.resources import distilled_training

    if configuration.encoder:
        return
    named = configuration.settings.distilled.encoder
    used = distilled_training(configuration).encoder
    if used != named:
        click.echo(
            f"{named} is not on this machine: {used} is used, the copy that "
            "`make models` installed"
        )


def _print_scorer(home: Home, ranker: str) -> str:
    """Print what was tried, and how it did; return the folder of the model in use."""
    from lunguage_assets.cli.console import print_table
    from lunguage_assets.orchestration.resources import scorer_folder

    scorer = stored_table(home, "distilled_scorer", ranker)
    print_table(scorer.drop(columns=["seed", "files", "ranking_version"]))
    evaluation = stored_table(home, "distilled_evaluation", ranker)
    print_table(evaluation.drop(columns=["is_used", "ranking_version"]))
    return str(scorer_folder(home, ranker, scorer))
