"""`lunguage run`: from a delivery, or from what the home holds, to a release.

The stages of a run are planned and executed by `orchestration.run`; here is what is
asked for, refused, and printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.cli.options import (
    PRESET_OPTION,
    RANKER_OPTION,
    REBUILD_OPTION,
    STRUCTURER_OPTION,
    configured,
)
from lunguage_assets.cli.register import (
    register_delivery,
    takes_delivery,
)
from lunguage_assets.errors import ConfigurationError

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration
    from lunguage_assets.orchestration.run import Runner, Stage


@click.command()
@takes_delivery
@PRESET_OPTION
@STRUCTURER_OPTION
@click.option(
    "--budget",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Stop before a call that could pass this sum. Also $LUNGUAGE_BUDGET.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="End the run when a study breaks a rule, instead of setting it aside. Also "
    "strict in settings.toml, $LUNGUAGE_STRICT.",
)
@click.option(
    "--out",
    "release_to",
    type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
    help="Where release/<ranker>/ goes; default: the home.",
)
@RANKER_OPTION
@REBUILD_OPTION
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    help="Processes that structure, merge, expand and resolve; default: the cores. "
    "Also $LUNGUAGE_PROCESSES.",
)
@configured()
def run(
    configuration: Configuration, ranker: str, rebuild_ranking: bool, **delivery: Any
) -> None:
    """Turn reports or findings into Lunguage++ and labels.

    Registers, materialises, and writes the release. What is current is left as it is.
    When everything is, nothing is done. Without --data, everything that is registered
    is made for the ranker, such as a judge that was just added to the judges file.
    """
    from lunguage_assets.cli.release_summary import print_release

    home = configuration.home
    # A mistyped ranker is refused before files are copied into the home.
    configuration.judges.members(ranker)
    if configuration.release_to is not None:
        # A folder that cannot be written into is refused before anything is made.
        configuration.release_to.mkdir(parents=True, exist_ok=True)
    register_delivery(configuration, **delivery)
    folder = configuration.releases / ranker
    with opened_runner(configuration) as runner:
        stages = runner.plan(ranker, rebuild=rebuild_ranking)
        if not stages:
            click.echo("Everything is current: nothing to do.")
            print_release(folder, home)
            return
        _require_judges(configuration, stages)
        # From now on `panel` of this home means the same judges, whoever runs it.
        if not configuration.settings.preset:
            home.remember_preset(configuration.judges.preset)
        run_stages(runner, stages)
    print_release(folder, home)


@contextmanager
def opened_runner(configuration: Configuration) -> Iterator[Runner]:
    """Open the runner of a home with its Dagster instance."""
    from lunguage_assets.orchestration.instance import dagster_instance
    from lunguage_assets.orchestration.run import Runner

    with dagster_instance(configuration.home) as instance:
        yield Runner(configuration, instance)


def run_stages(runner: Runner, stages: Sequence[Stage]) -> None:
    """Run stages in this process, one Dagster run each, and show how far they are.

    Then their checks are printed, with what each judge was asked and cost.

    Raises:
        RunFailed: a stage failed; what was finished before is kept.
    """
    from lunguage_assets.cli.release_summary import print_run
    from lunguage_assets.cli.run_display import RunDisplay
    from lunguage_assets.judges.progress import listening

    display = RunDisplay()
    with listening(display.note):
        summary = runner.run(stages, progress=display.stage)
    print_run(summary, display.total.values())


def run_job(configuration: Configuration, job: str, ranker: str) -> None:
    """Run a job for a ranker; that it has no ranking is said before.

    Args:
        configuration: of the home.
        job: that reads the ranking.
        ranker: whose partition is made.
    """
    from lunguage_assets.orchestration.run import Stage
    from lunguage_assets.workspace.store import stored_table

    configuration.judges.members(ranker)
    stored_table(configuration.home, "reference_ranking", ranker)
    with opened_runner(configuration) as runner:
        run_stages(runner, [Stage(job, (ranker,), ("asked for",))])


def _require_judges(configuration: Configuration, stages: Sequence[Stage]) -> None:
    """Refuse stages that would ask a judge who cannot be asked.

    Raises:
        ConfigurationError: one line with everything that is wrong: policy, keys,
            SDKs.
    """
    from lunguage_assets.judges.examination import examine_judge
    from lunguage_assets.orchestration.jobs import ASKING

    judges = configuration.judges
    asked = {key for stage in stages if stage.job in ASKING for key in stage.keys}
    if judges.panel_ranker in asked:
        asked.update(judges.panel_members)
    # All answers of a model that the ledger knows may be there, to be replayed.
    ledger = configuration.existing_ledger()
    answered = set() if ledger is None else {*ledger.statistics()["model"]}
    # Rules need no key, no policy and no network.
    refusals: list[str] = []
    for key in sorted(asked & judges.models.keys()):
        if judges.models[key].model not in answered:
            examined = examine_judge(key, judges, configuration.data_class)
            refusals += [it.message for it in examined if it.severity == "refusal"]
    if refusals:
        raise ConfigurationError(
            f"{' '.join(refusals)} Nothing was asked. `lunguage doctor --preset "
            f"{judges.preset}` looks again."
        )
