"""The `backfill` command: everything of one judge, here and now or handed to a running daemon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.making.run import require_checks
from lunguage_assets.cli.options import BUDGET_OPTION, PRESET_OPTION, STRUCTURER_OPTION, Chosen, chooses

if TYPE_CHECKING:
    from lunguage_assets.current.plan import Wanted
    from lunguage_assets.judges.asking.progress import JudgeTotal
    from lunguage_assets.orchestration.runs.runner import RunSummary


@click.command(short_help="Make everything of one judge, over all batches.")
@chooses(PRESET_OPTION, STRUCTURER_OPTION, BUDGET_OPTION, there=True)
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
    help="Hand the work to the running daemon (`lunguage ui`), which keeps to its own preset, instead of "
    "doing it here.",
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
def backfill(
    chosen: Chosen, judge: str, batches: tuple[str, ...], queue: bool, rebuild: bool, without_phrases: bool
) -> None:
    """Make all partitions of one judge: phrases, comparisons, ranking, fits and what follows, release.

    What is current is skipped, and no other judge's or ranker's results change. Add a judge to a copy of the
    judges file ($LUNGUAGE_JUDGES), name it in `candidates` of the preset, and run this.
    """
    if queue and chosen.budget is not None:
        raise click.UsageError(
            "--budget holds in this process; for queued work set LUNGUAGE_BUDGET or "
            "LUNGUAGE_DAILY_BUDGET where the daemon runs."
        )
    from lunguage_assets.current.plan import Wanted

    wanted = Wanted(judge, batches or None, rebuild, own_phrases=not without_phrases)
    (_queued if queue else _here)(chosen, wanted)


def _here(chosen: Chosen, wanted: Wanted) -> None:
    from lunguage_assets.cli.console import run_display
    from lunguage_assets.cli.making.before_a_run import require_judges
    from lunguage_assets.orchestration.runs.backfill import plan_backfill
    from lunguage_assets.orchestration.runs.runner import Runner

    stages = plan_backfill(chosen.standings(), wanted)
    require_judges(chosen, chosen.judges(), stages)
    with chosen.instance() as instance, run_display() as display:
        runner = Runner(chosen.resource(), instance)
        summary = runner.run(wanted, progress=display.stage, stages=stages)
    _print_run(chosen, wanted.ranker, summary, display.spent())
    require_checks(summary)


def _queued(chosen: Chosen, wanted: Wanted) -> None:
    from lunguage_assets.orchestration.partitions import REPORT_BATCH, build_partitions
    from lunguage_assets.orchestration.runs.backfill import plan_backfill, require_daemon
    from lunguage_assets.orchestration.runs.backfill import queue as hand_over

    with chosen.instance() as instance:
        require_daemon(instance)
        now = chosen.standings()
        instance.add_dynamic_partitions(REPORT_BATCH.name, now.batches)
        stages = plan_backfill(now, wanted)
        if not stages:
            click.echo(f"everything of {wanted.ranker!r} is current; nothing was queued")
            return
        title = f"All of judge {wanted.ranker}"
        backfill_id = hand_over(build_partitions(now.judges), instance, stages, title)
    click.echo(
        f"backfill {backfill_id} is queued ({len(stages)} steps): see Runs > Backfills in the UI, "
        "where it can be cancelled"
    )


def _print_run(chosen: Chosen, judge: str, summary: RunSummary, spent: Sequence[JudgeTotal]) -> None:
    if not summary.runs:
        click.echo(f"everything of {judge!r} is current; nothing was done")
        return
    judges = chosen.judges()
    click.echo(f"{summary.runs} runs for judge {judge!r}; {len(summary.checks('passed'))} checks passed")
    for warning in summary.checks("warned"):
        click.echo(f"  warns  {warning}")
    for total in spent:
        click.echo(f"  {total.line()}")
    if judge in judges.rankers:
        click.echo(f"release: {chosen.home.release / judge}")
    if judge not in judges.panel_members:
        click.echo(
            f"{judge!r} ranks alone; the panel is unchanged. To pool it: "
            f"[panels.{judges.presets[judges.preset].panel}] in the judges file"
        )
