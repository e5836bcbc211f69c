"""`lunguage status`: batches, rankers, what is stale and why, and what was spent.

Makes and asks nothing. What is stale Dagster says (`orchestration.current`), dollars
the ledger.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    HOME_OPTION,
    PRESET_OPTION,
    STRUCTURER_OPTION,
    configured,
)
from lunguage_assets.errors import LunguageError

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration
    from lunguage_assets.orchestration.current import Current
    from lunguage_assets.workspace.home import Home

MAX_STAGES_SHOWN = 12
"""Stages to come that are listed for one ranker; further ones are counted."""
_INDENT = " " * 10


@click.command(short_help="Show batches, what is stale and why, release, spending.")
@HOME_OPTION
@PRESET_OPTION
@STRUCTURER_OPTION
@click.option(
    "--verify", is_flag=True, help="Compare sealed releases with their checksums."
)
@configured(existing=True)
def status(configuration: Configuration, verify: bool) -> None:
    """Show how a home stands: batches, rankers, releases, spending.

    Says what is stale and why. Makes and asks nothing.
    """
    from lunguage_assets.cli.run import opened_runner
    from lunguage_assets.edited_files import broken_files

    home = configuration.home
    judges = configuration.judges
    _print_batches(home)
    click.echo(
        f"judges    preset {judges.preset}; raw reports are structured by "
        f"{judges.structurer}"
    )
    problems = broken_files(home)
    for problem in problems:
        click.echo(
            f"broken    {problem} What is stale can be told when this is corrected."
        )
    # Dagster notes in the home what it sees of files that changed.
    is_writable = os.access(home.root, os.W_OK)
    if not is_writable:
        click.echo("stale     can't be told: this account cannot write into the home")
    # Tables are held against the files that they were made of: none may be unreadable.
    if is_writable and not problems:
        with opened_runner(configuration) as runner:
            runner.prepare()
            current = runner.current()
        for ranker in judges.rankers:
            _print_ranker(configuration, current, ranker)
    _print_spending(configuration)
    if verify:
        _verify(configuration)


def _print_batches(home: Home) -> None:
    """Print which corpus the home holds, and its batches with their studies."""
    import pyarrow.parquet as pq

    from lunguage_assets.tables import REPORTS
    from lunguage_assets.workspace.store import is_stored, partition_path

    corpus = home.corpus()
    declared = "no corpus"
    if corpus is not None:
        declared = f"corpus {corpus.name!r}, {corpus.data_class}"
    click.echo(f"{home.root}: {declared}")
    lines = []
    total = 0
    for batch in home.registered():
        taken_in = "not taken in yet"
        # A damaged table counts for nothing: the next run makes it again.
        path = partition_path(home.tables, "reports", batch.key)
        if is_stored(REPORTS, path):
            with path.open("rb") as stream:
                studies = pq.read_metadata(stream).num_rows
            taken_in = f"{studies} studies"
            total += studies
        lines.append(f"{batch.key}  {taken_in}, delivered as {batch.kind}")
    click.echo(f"batches   {len(lines)}, {total} studies")
    for removal in home.removed():
        lines.append(f"{removal.key}  removed {removal.when} by {removal.who}")
    for line in lines:
        click.echo(f"{_INDENT}{line}")


def _print_ranker(configuration: Configuration, current: Current, ranker: str) -> None:
    """Print what there is of a ranker, and which stages a run for it would make."""
    from lunguage_assets.orchestration.current import MISSING, complete_batches
    from lunguage_assets.orchestration.run_plan import plan
    from lunguage_assets.workspace.versions import current_version

    judges = configuration.judges
    title = f"ranker    {ranker} ({', '.join(judges.members(ranker))}):"
    version = current_version(configuration.releases / ranker)
    is_ranked = current.reasons("reference_ranking", ranker) != [MISSING]
    if version is None and not is_ranked:
        click.echo(f"{title} not begun")
        return
    # Without a batch there is nothing to plan for.
    stages = plan(configuration, current, ranker) if current.batches else []
    release = "no release"
    if version is not None:
        is_stale = any(stage.job == "release" for stage in stages)
        release = f"release {version.name}, {'stale' if is_stale else 'current'}"
    complete = complete_batches(configuration.home, ranker)
    click.echo(f"{title} {len(complete)} of {len(current.batches)} batches; {release}")
    if not stages:
        click.echo(f"{_INDENT}everything is current")
    for stage in stages[:MAX_STAGES_SHOWN]:
        click.echo(f"{_INDENT}to make: {stage}, {stage.reason}")
    # An archive may have hundreds of batches.
    if len(stages) > MAX_STAGES_SHOWN:
        click.echo(f"{_INDENT}... and {len(stages) - MAX_STAGES_SHOWN} more steps")
    if current.waits_for_request("hedge_vocabulary", judges.extractor):
        click.echo(
            f"{_INDENT}new phrases wait: `lunguage run --rebuild-ranking` ranks them, "
            "and asks every judge again"
        )


def _print_spending(configuration: Configuration) -> None:
    """Print US dollars of today and in all; what has no price counts as nothing."""
    from datetime import UTC, datetime

    from lunguage_assets.judges.ledger import moment

    today = 0.0
    in_all = 0.0
    ledger = configuration.existing_ledger()
    if ledger is not None:
        midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        today = ledger.statistics(moment(midnight))["cost_usd"].sum()
        in_all = ledger.statistics()["cost_usd"].sum()
        ledger.close()
    click.echo(f"spent     ${today:.2f} today (UTC), ${in_all:.2f} in all")


def _verify(configuration: Configuration) -> None:
    """Say of every sealed version whether its files are those that were sealed.

    Raises:
        LunguageError: some are not.
    """
    from lunguage_assets.workspace.versions import (
        changes_since_sealing,
        sealed_versions,
    )

    changes = []
    for ranker in configuration.judges.rankers:
        for version in sealed_versions(configuration.releases / ranker):
            changes_of_version = changes_since_sealing(version)
            state = "changed" if changes_of_version else "as it was sealed"
            click.echo(f"sealed    {ranker} {version.name}: {state}")
            changes += changes_of_version
    if changes:
        raise LunguageError(
            f"{'; '.join(changes)}. Restore them from a copy, or delete that version."
        )
