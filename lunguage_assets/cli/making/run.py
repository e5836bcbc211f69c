"""The commands that make things: `run`, `register`, `analyse`, `estimate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    BUDGET_OPTION,
    FILE,
    FOLDER,
    PRESET_OPTION,
    RANKER_OPTION,
    STRICT_OPTION,
    STRUCTURER_OPTION,
    Chosen,
    GivenDelivery,
    chooses,
    existing_home,
    may_take_delivery,
    takes_delivery,
)

if TYPE_CHECKING:
    from lunguage_assets.orchestration.runs.runner import RunSummary


@click.command(short_help="Register a delivery as a batch, and make nothing yet.")
@takes_delivery
@chooses()
def register(delivery: GivenDelivery, chosen: Chosen) -> None:
    """Register a delivery as a batch, to be materialised later (in the UI, for instance)."""
    from lunguage_assets.orchestration.partitions import REPORT_BATCH

    registered = delivery.register(chosen.home)
    with chosen.instance() as instance:
        instance.add_dynamic_partitions(REPORT_BATCH.name, [one.key for one in registered])
    for one in registered:
        click.echo(f"batch {one.key} ({', '.join(one.files)}) is registered in {chosen.home.root}")


@click.command(short_help="Turn reports or findings into Lunguage++ and labels.")
@may_take_delivery
@chooses(PRESET_OPTION, STRUCTURER_OPTION, BUDGET_OPTION, STRICT_OPTION)
@click.option("--out", type=FOLDER, help="Where release/<ranker>/ goes; default: the home.")
@RANKER_OPTION
@click.option(
    "--rebuild-ranking",
    is_flag=True,
    help="Make the measuring stick (vocabulary, comparisons, ranking) again.",
)
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    envvar="LUNGUAGE_PROCESSES",
    help="Processes that structure, merge, expand and resolve; default: the cores. Also $LUNGUAGE_PROCESSES.",
)
def run(
    delivery: GivenDelivery | None,
    chosen: Chosen,
    out: Path | None,
    ranker: str,
    rebuild_ranking: bool,
    processes: int | None,
) -> None:
    """Turn Lunguage files or raw reports into Lunguage++: register, materialise, write the release.

    What is current is left as it is. When everything is, nothing is done. Without --data, everything that is
    registered is made for the ranker, such as a judge that was just added to the judges file.
    """
    from lunguage_assets.cli.console import print_release, print_run, run_display
    from lunguage_assets.cli.making.before_a_run import as_published_lines, require_judges, require_place
    from lunguage_assets.current.plan import Wanted, plan

    place, judges = chosen.home, chosen.judges(ranker)
    if delivery is None:
        existing_home(place.root)
    require_place(out)
    for line in as_published_lines(chosen.settings, judges.preset):
        click.echo(line)
    if delivery is not None:
        delivery.register(place)
    folder = (out or place.root).resolve() / "release" / ranker
    wanted = Wanted(ranker, rebuild=rebuild_ranking, release=folder)
    stages = plan(chosen.standings(), wanted)
    if not stages:
        click.echo("Everything is current: nothing to do.")
        print_release(folder, place)
        return
    require_judges(chosen, judges, stages)
    from lunguage_assets.orchestration.runs.runner import Runner

    with chosen.instance() as instance, run_display() as display:
        runner = Runner(chosen.resource(out, processes), instance)
        summary = runner.run(wanted, progress=display.stage, stages=stages)
    spent = display.spent()
    ledger = chosen.paid_answers() if spent else None
    print_run(folder, place, summary, spent, ledger.lost() if ledger is not None else 0)
    require_checks(summary)


@click.command(short_help="Estimate calls and US dollars of a run; send nothing.")
@takes_delivery
@chooses(PRESET_OPTION, STRUCTURER_OPTION)
@RANKER_OPTION
@click.option("--rebuild-ranking", is_flag=True, help="As for a run that makes the measuring stick again.")
@click.option("--json", "file", type=FILE, help="Also write the numbers to this file.")
def estimate(
    delivery: GivenDelivery, chosen: Chosen, ranker: str, rebuild_ranking: bool, file: Path | None
) -> None:
    """Estimate what a run would ask of language models and cost; write and send nothing."""
    from lunguage_assets.cli.making.estimate_shown import print_estimate
    from lunguage_assets.data_files import resource
    from lunguage_assets.files import replace_text
    from lunguage_assets.orchestration.estimate import estimate_run

    chosen.judges(ranker)
    registrations = delivery.examine(chosen.home)
    found = estimate_run(chosen.resource(), registrations, ranker, rebuild=rebuild_ranking)
    print_estimate(found, chosen.judges_file or resource("judges.toml"))
    if file is not None:
        replace_text(file, json.dumps(found.values(), indent=2) + "\n")


@click.command(short_help="Analyse how far the numbers can be trusted.")
@chooses(PRESET_OPTION, there=True)
@RANKER_OPTION
def analyse(chosen: Chosen, ranker: str) -> None:
    """Analyse how far the numbers can be trusted: agreement, robustness of the ranking, validation of the
    fit.

    Asks no judge: everything comes from recorded matches.
    """
    from lunguage_assets.cli.console import print_analyses, run_display
    from lunguage_assets.orchestration.runs.runner import Runner

    chosen.judges(ranker)
    with chosen.instance() as instance, run_display() as display:
        summary = Runner(chosen.resource(), instance).analyse(ranker, progress=display.stage)
    released = chosen.standings().of_release(ranker, chosen.home.release / ranker)
    print_analyses(chosen.home, ranker, summary, release_is_stale=released.state == "stale")
    require_checks(summary)


def require_checks(summary: RunSummary) -> None:
    """Raise when a check failed; one that only warns was printed."""
    from lunguage_assets.orchestration.runs.runner import RunFailed

    if failed := summary.checks("failed"):
        raise RunFailed(f"{len(failed)} checks failed: {'; '.join(failed)}")
