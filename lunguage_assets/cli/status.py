"""`lunguage status`: batches, rankers, what is stale and why, and what was spent.

Makes and asks nothing. What is stale Dagster says (`orchestration.current`), dollars
the ledger. The words are those of `resources/run/status.txt.j2`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.cli.options import (
    PRESET_OPTION,
    STRUCTURER_OPTION,
    configured,
)
from lunguage_assets.errors import LunguageError
from lunguage_assets.packaged_data import page_template

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration
    from lunguage_assets.orchestration.run import Runner
    from lunguage_assets.workspace.home import Batch, Home


@click.command()
@PRESET_OPTION
@STRUCTURER_OPTION
@click.option(
    "--verify", is_flag=True, help="Compare sealed releases with their checksums."
)
@configured(existing=True)
def status(configuration: Configuration, verify: bool) -> None:
    """Show batches, what is stale and why, release, spending.

    Makes and asks nothing.
    """
    from lunguage_assets.cli.run import opened_runner
    from lunguage_assets.edited_files import broken_files

    home = configuration.home
    judges = configuration.judges
    problems = broken_files(home)
    # Dagster notes in the home what it sees of files that changed.
    is_writable = os.access(home.root, os.W_OK)
    rankers = []
    has_new_phrases = False
    # Tables are held against the files that they were made of: none may be unreadable.
    if is_writable and not problems:
        with opened_runner(configuration) as runner:
            rankers = [
                _ranker(configuration, runner, ranker) for ranker in judges.rankers
            ]
            vocabulary = "hedge_vocabulary", judges.extractor
            current = runner.current()
            has_new_phrases = current.is_current(*vocabulary) and bool(
                current.reasons(*vocabulary, on_request=True)
            )
    spent = 0.0
    # What has no price counts as nothing.
    ledger = configuration.existing_ledger()
    if ledger is not None:
        spent = ledger.statistics()["cost_usd"].sum()
        ledger.close()
    text = page_template("run", "status.txt.j2").render(
        home=home,
        corpus=home.corpus(),
        batches=[_batch(home, batch) for batch in home.registered()],
        judges=judges,
        problems=problems,
        is_writable=is_writable,
        rankers=rankers,
        has_new_phrases=has_new_phrases,
        spent=spent,
    )
    click.echo(text, nl=False)
    if verify:
        _verify(configuration)


def _batch(home: Home, batch: Batch) -> dict[str, Any]:
    """Count the studies of a batch; a damaged table is made again by the next run."""
    import pyarrow.parquet as pq

    from lunguage_assets.tables import REPORTS
    from lunguage_assets.workspace.store import is_stored, partition_path

    path = partition_path(home.tables, "reports", batch.key)
    studies = 0
    is_taken_in = is_stored(REPORTS, path)
    if is_taken_in:
        with path.open("rb") as stream:
            studies = pq.read_metadata(stream).num_rows
    return {"batch": batch, "is_taken_in": is_taken_in, "studies": studies}


def _ranker(
    configuration: Configuration, runner: Runner, ranker: str
) -> dict[str, Any]:
    """Say what there is of a ranker, and which stages a run for it would make."""
    from lunguage_assets.workspace.store import complete_batches, partition_path
    from lunguage_assets.workspace.versions import current_version

    home = configuration.home
    version = current_version(configuration.releases / ranker)
    ranking = partition_path(home.tables, "reference_ranking", ranker)
    is_begun = version is not None or ranking.exists()
    # Without a batch there is nothing to plan for.
    stages = runner.plan(ranker) if is_begun and home.registered() else []
    return {
        "name": ranker,
        "is_begun": is_begun,
        "complete": len(complete_batches(home, ranker)),
        "release": version and version.name,
        "is_stale": any(stage.job == "release" for stage in stages),
        "stages": stages,
    }


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
