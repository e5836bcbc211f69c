"""The `backfill` command: everything of one judge, here and now or handed to a running daemon."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.home_option import HOME_OPTION, chosen_home

if TYPE_CHECKING:
    from lunguage_assets.home.home import Home
    from lunguage_assets.judges.asking.progress import Standing
    from lunguage_assets.judges.configuration import JudgesConfiguration
    from lunguage_assets.orchestration.runs.runner import Outcome


@click.command()
@HOME_OPTION
@click.option(
    "--judge", required=True, help="Judge of the active preset: of its panel, its extractor or a candidate."
)
@click.option(
    "--batch",
    "batches",
    multiple=True,
    metavar="KEY",
    help="A registered batch; may be given several times. Default: all.",
)
@click.option(
    "--queue",
    is_flag=True,
    help="Hand the work to the running daemon (`lunguage ui`) instead of doing it here.",
)
@click.option(
    "--rebuild",
    is_flag=True,
    help="Also what is current. What paid judges have answered is in the ledger, and is not asked again.",
)
@click.option(
    "--without-phrases",
    is_flag=True,
    help="Leave out the judge's own extraction: what follows reads the extractor's phrases only.",
)
@click.option(
    "--preset",
    default=None,
    help="Preset of the judges file. Also $LUNGUAGE_PRESET; a daemon keeps to its own.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0),
    default=None,
    metavar="USD",
    help="Stop before a call that could pass this sum.",
)
def backfill(
    home: Path,
    judge: str,
    batches: tuple[str, ...],
    queue: bool,
    rebuild: bool,
    without_phrases: bool,
    preset: str | None,
    budget: float | None,
) -> None:
    """Make all partitions of one judge: phrases, comparisons, ranking, fits and what follows, release.

    What is current is skipped, and no other judge's or ranker's results change. Add a judge to a copy of the
    judges file ($LUNGUAGE_JUDGES), name it in `candidates` of the preset, and run this.
    """
    if queue and budget is not None:
        raise click.UsageError(
            "--budget holds in this process; for queued work set LUNGUAGE_BUDGET or "
            "LUNGUAGE_DAILY_BUDGET where the daemon runs."
        )
    place = chosen_home(home)
    from lunguage_assets.judges.configuration import PRESET_VARIABLE, load_judges
    from lunguage_assets.orchestration.resources import BUDGET_VARIABLE, judges_file, preset_name

    for variable, value in ((PRESET_VARIABLE, preset), (BUDGET_VARIABLE, budget)):
        if value is not None:
            os.environ[variable] = str(value)
    judges = load_judges(judges_file(), preset_name())
    if queue:
        _queued(place, judges, judge, batches, rebuild, not without_phrases)
    else:
        _here(place, judges, judge, batches, rebuild, not without_phrases)


def _here(
    place: Home,
    judges: JudgesConfiguration,
    judge: str,
    batches: tuple[str, ...],
    rebuild: bool,
    phrases: bool,
) -> None:
    from lunguage_assets.cli.console import run_display
    from lunguage_assets.orchestration.runs.runner import RunFailed, Runner, dagster_instance

    with dagster_instance(place) as instance, run_display() as display:
        outcome = Runner(place, instance, judges).backfill(
            judge, batches, rebuild=rebuild, phrases=phrases, progress=display.stage
        )
    _print_outcome(place, judges, judge, outcome, display.spent())
    if outcome.checks_failed:
        raise RunFailed(f"{len(outcome.checks_failed)} checks failed: {'; '.join(outcome.checks_failed)}")


def _queued(
    place: Home,
    judges: JudgesConfiguration,
    judge: str,
    batches: tuple[str, ...],
    rebuild: bool,
    phrases: bool,
) -> None:
    from lunguage_assets.orchestration.build import build_defs
    from lunguage_assets.orchestration.runs.backfill import plan_backfill, queue_backfill, require_daemon
    from lunguage_assets.orchestration.runs.runner import Runner, dagster_instance

    with dagster_instance(place) as instance:
        require_daemon(instance)
        runner = Runner(place, instance, judges)
        runner.register_partitions()
        plan = plan_backfill(runner.inventory(), judges, judge, batches, rebuild=rebuild, phrases=phrases)
        if not plan:
            click.echo(f"everything of {judge!r} is current; nothing was queued")
            return
        backfill_id = queue_backfill(build_defs(place, judges), instance, plan, f"All of judge {judge}")
    click.echo(
        f"backfill {backfill_id} is queued ({len(plan)} steps): see Runs > Backfills in the UI, "
        "where it can be cancelled"
    )


def _print_outcome(
    place: Home, judges: JudgesConfiguration, judge: str, outcome: Outcome, spent: Sequence[Standing]
) -> None:
    if not outcome.runs:
        click.echo(f"everything of {judge!r} is current; nothing was done")
        return
    click.echo(f"{outcome.runs} runs for judge {judge!r}; {outcome.checks_passed} checks passed")
    for warning in outcome.warnings:
        click.echo(f"  warns  {warning}")
    for standing in spent:
        click.echo(f"  {standing.line()}")
    if judge in judges.rankers:
        click.echo(f"release: {place.release / judge}")
    if judge not in judges.panel_members:
        click.echo(
            f"{judge!r} ranks alone; the panel is unchanged. To pool it: "
            f"[panels.{judges.presets[judges.preset].panel}] in the judges file"
        )
