"""The `backfill` command: everything of one judge, here and now or handed to a running daemon."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.home_option import HOME_OPTION, STRUCTURER_OPTION, Chosen, existing_home
from lunguage_assets.cli.making.run import require_checks

if TYPE_CHECKING:
    from lunguage_assets.home.home import Home
    from lunguage_assets.judges.asking.progress import Standing
    from lunguage_assets.judges.configuration import JudgesConfiguration
    from lunguage_assets.orchestration.runs.runner import RunSummary


@click.command(short_help="Make everything of one judge, over all batches.")
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
@STRUCTURER_OPTION
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
    structurer: str | None,
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
    chosen = Chosen(existing_home(home), preset, budget, structurer)
    if queue:
        _queued(chosen, judge, batches, rebuild, not without_phrases)
    else:
        _here(chosen, judge, batches, rebuild, not without_phrases)


def _here(chosen: Chosen, judge: str, batches: tuple[str, ...], rebuild: bool, phrases: bool) -> None:
    from lunguage_assets.cli.console import run_display
    from lunguage_assets.cli.making.before_a_run import require_judges
    from lunguage_assets.orchestration.runs.backfill import plan_backfill
    from lunguage_assets.orchestration.runs.instance import dagster_instance
    from lunguage_assets.orchestration.runs.runner import Runner

    stages = plan_backfill(chosen.standings(), judge, batches, rebuild=rebuild, phrases=phrases)
    require_judges(chosen, chosen.judges(), stages)
    with dagster_instance(chosen.home) as instance, run_display() as display:
        outcome = Runner(chosen.resource(), instance).backfill(
            judge, batches, rebuild=rebuild, phrases=phrases, progress=display.stage
        )
    _print_outcome(chosen.home, chosen.judges(), judge, outcome, display.spent())
    require_checks(outcome)


def _queued(chosen: Chosen, judge: str, batches: tuple[str, ...], rebuild: bool, phrases: bool) -> None:
    from lunguage_assets.orchestration.partitions import REPORT_BATCH, build_partitions
    from lunguage_assets.orchestration.runs.backfill import plan_backfill, require_daemon
    from lunguage_assets.orchestration.runs.backfill import queue as hand_over
    from lunguage_assets.orchestration.runs.instance import dagster_instance

    with dagster_instance(chosen.home) as instance:
        require_daemon(instance)
        now = chosen.standings()
        instance.add_dynamic_partitions(REPORT_BATCH.name, now.batches)
        stages = plan_backfill(now, judge, batches, rebuild=rebuild, phrases=phrases)
        if not stages:
            click.echo(f"everything of {judge!r} is current; nothing was queued")
            return
        backfill_id = hand_over(build_partitions(now.judges), instance, stages, f"All of judge {judge}")
    click.echo(
        f"backfill {backfill_id} is queued ({len(stages)} steps): see Runs > Backfills in the UI, "
        "where it can be cancelled"
    )


def _print_outcome(
    place: Home, judges: JudgesConfiguration, judge: str, outcome: RunSummary, spent: Sequence[Standing]
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
