"""The commands that make things: `run`, `register`, `analyse`, `estimate`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.cli.home_option import (
    BUDGET_OPTION,
    HOME_OPTION,
    PRESET_OPTION,
    RANKER_OPTION,
    STRUCTURER_OPTION,
    Chosen,
    chosen_home,
    data_options,
    existing_home,
)

if TYPE_CHECKING:
    from lunguage_assets.home.batch import Batch
    from lunguage_assets.orchestration.runs.runner import Outcome


@click.command(short_help="Register a delivery as a batch, and make nothing yet.")
@data_options
def register(data: Path, batch: str | None, corpus: str | None, data_class: Any, home: Path) -> None:
    """Register a delivery as a batch, to be materialised later (in the UI, for instance)."""
    place = chosen_home(home)
    from lunguage_assets.home.home import batch_key
    from lunguage_assets.orchestration.partitions import REPORT_BATCH
    from lunguage_assets.orchestration.runs.instance import dagster_instance
    from lunguage_assets.settings import load_settings

    most = load_settings(place.settings_file).corpus.batch_reports
    key = batch or batch_key(data)
    registered = place.register(data, key, corpus, data_class, batch_reports=most)
    with dagster_instance(place) as instance:
        instance.add_dynamic_partitions(REPORT_BATCH.name, [one.key for one in registered])
    _tell_known(registered, key)
    for one in registered:
        click.echo(f"batch {one.key} ({', '.join(one.files)}) is registered in {place.root}")


@click.command(short_help="Turn reports or findings into Lunguage++ and labels.")
@data_options
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Where release/<ranker>/ goes; default: the home.",
)
@RANKER_OPTION
@PRESET_OPTION
@STRUCTURER_OPTION
@BUDGET_OPTION
@click.option(
    "--rebuild-ranking",
    is_flag=True,
    help="Make the measuring stick (vocabulary, comparisons, ranking) again.",
)
@click.option(
    "--as-published",
    is_flag=True,
    help="Take the paper's options (mode, encoder, order of the sentences...), and note so in settings.toml.",
)
@click.option(
    "--processes",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Batches at once; with offline judges only.",
)
def run(
    data: Path,
    batch: str | None,
    corpus: str | None,
    data_class: Any,
    home: Path,
    out: Path | None,
    ranker: str,
    preset: str | None,
    structurer: str | None,
    budget: float | None,
    rebuild_ranking: bool,
    as_published: bool,
    processes: int,
) -> None:
    """Turn Lunguage files or raw reports into Lunguage++: register, materialise, write the release.

    What is current is left as it is. When everything is, nothing is done.
    """
    chosen = Chosen(chosen_home(home), preset, budget, structurer)
    place = chosen.home
    from lunguage_assets.cli.console import print_outcome, print_release, run_display
    from lunguage_assets.cli.making.as_published import as_published_lines, take_published_options
    from lunguage_assets.cli.making.before_a_run import require_judges, require_place
    from lunguage_assets.current.plan import Request, plan
    from lunguage_assets.home.home import batch_key
    from lunguage_assets.settings import load_settings

    judges = chosen.judges(ranker)
    require_place(out)
    if as_published:
        take_published_options(place)
    settings = load_settings(place.settings_file)
    for line in as_published_lines(settings, judges.preset):
        click.echo(line)
    most = settings.corpus.batch_reports
    key = batch or batch_key(data)
    _tell_known(place.register(data, key, corpus, data_class, batch_reports=most), key)
    folder = (out or place.root).resolve() / "release" / ranker
    wanted = Request(ranker, rebuild=rebuild_ranking, release=folder)
    stages = plan(chosen.standings(), wanted)
    if not stages:
        click.echo("Everything is current: nothing to do.")
        print_release(folder, place)
        return
    require_judges(chosen, judges, stages)
    from lunguage_assets.orchestration.runs.instance import dagster_instance
    from lunguage_assets.orchestration.runs.side_by_side import runner_of

    with dagster_instance(place) as instance, run_display() as display:
        outcome = runner_of(chosen.resource(out), instance, processes).run(
            wanted, progress=display.stage, stages=stages
        )
    spent = display.spent()
    print_outcome(folder, place, outcome, spent, chosen.lost_answers() if spent else 0)
    require_checks(outcome)


def _tell_known(registered: Sequence[Batch], key: str) -> None:
    """Say so when files were registered before, under another key."""
    from lunguage_assets.home.home import batch_keys

    for one, asked in zip(registered, batch_keys(key, len(registered)), strict=True):
        if one.key != asked:
            click.echo(f"the content of {asked} is registered as batch {one.key}, which is used")


@click.command(short_help="Estimate calls and US dollars of a run; send nothing.")
@data_options
@RANKER_OPTION
@PRESET_OPTION
@STRUCTURER_OPTION
@click.option("--rebuild-ranking", is_flag=True, help="As for a run that makes the measuring stick again.")
@click.option(
    "--json",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="Also write the numbers to this file.",
)
def estimate(
    data: Path,
    batch: str | None,
    corpus: str | None,
    data_class: Any,
    home: Path,
    ranker: str,
    preset: str | None,
    structurer: str | None,
    rebuild_ranking: bool,
    file: Path | None,
) -> None:
    """Estimate what a run would ask of language models and cost; write and send nothing."""
    chosen = Chosen(chosen_home(home), preset, structurer=structurer)
    from lunguage_assets.cli.making.estimate_shown import print_estimate
    from lunguage_assets.data_files import resource
    from lunguage_assets.files import replace_text
    from lunguage_assets.home.home import batch_key
    from lunguage_assets.orchestration.estimate import estimate_run
    from lunguage_assets.settings import load_settings

    chosen.judges(ranker)
    most = load_settings(chosen.home.settings_file).corpus.batch_reports
    registrations = chosen.home.examine(
        data, batch or batch_key(data), corpus, data_class, batch_reports=most
    )
    found = estimate_run(chosen.resource(), registrations, ranker, rebuild=rebuild_ranking)
    print_estimate(found, chosen.judges_file or resource("judges.toml"))
    if file is not None:
        replace_text(file, json.dumps(found.values(), indent=2) + "\n")


@click.command(short_help="Analyse how far the numbers can be trusted.")
@HOME_OPTION
@RANKER_OPTION
@PRESET_OPTION
def analyse(home: Path, ranker: str, preset: str | None) -> None:
    """Analyse how far the numbers can be trusted: agreement, robustness of the ranking, validation of the
    fit.

    Asks no judge: everything comes from recorded matches.
    """
    chosen = Chosen(existing_home(home), preset)
    from lunguage_assets.cli.console import print_analyses, run_display
    from lunguage_assets.orchestration.runs.instance import dagster_instance
    from lunguage_assets.orchestration.runs.runner import Runner

    chosen.judges(ranker)
    with dagster_instance(chosen.home) as instance, run_display() as display:
        outcome = Runner(chosen.resource(), instance).analyse(ranker, progress=display.stage)
    released = chosen.standings().of_release(ranker, chosen.home.release / ranker)
    print_analyses(chosen.home, ranker, outcome, release_is_stale=released.state == "stale")
    require_checks(outcome)


def require_checks(outcome: Outcome) -> None:
    """Raise when a check failed; one that only warns was printed."""
    from lunguage_assets.orchestration.runs.runner import RunFailed

    if outcome.checks_failed:
        raise RunFailed(f"{len(outcome.checks_failed)} checks failed: {'; '.join(outcome.checks_failed)}")
