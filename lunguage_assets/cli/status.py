"""`lunguage status`: batches, rankers, what is stale and why, and what was spent.

Makes and asks nothing. What is stale Dagster says (`orchestration.current`), dollars
the ledger.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    HOME_OPTION,
    PRESET_OPTION,
    STRUCTURER_OPTION,
    configured,
)

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

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
    for line in _lines(configuration):
        click.echo(line)
    if verify:
        _verify(configuration)


def _verify(configuration: Configuration) -> None:
    """Say of every sealed version whether its files are those that were sealed.

    Raises:
        LunguageError: some are not.
    """
    from lunguage_assets.errors import LunguageError
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


def _lines(configuration: Configuration) -> Iterator[str]:
    from datetime import UTC, datetime

    from lunguage_assets.cli.run import opened_runner
    from lunguage_assets.edited_files import broken_files

    home = configuration.home
    judges = configuration.judges
    yield from _batch_lines(home)
    yield (
        f"judges    preset {judges.preset}; raw reports are structured by "
        f"{judges.structurer}"
    )
    problems = broken_files(home)
    for problem in problems:
        yield f"broken    {problem} What is stale can be told when this is corrected."
    spent = _dollars_by_judge(configuration)
    # Dagster notes in the home what it sees of files that changed.
    is_writable = os.access(home.root, os.W_OK)
    if not is_writable:
        yield "stale     can't be told: this account cannot write into the home"
    # Tables are held against the files that they were made of: none may be unreadable.
    if is_writable and not problems:
        with opened_runner(configuration) as runner:
            runner.prepare()
            current = runner.current()
        for ranker in judges.rankers:
            yield from _ranker_lines(configuration, current, ranker, spent)
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    spent_today = _dollars_by_judge(configuration, midnight)
    yield (
        f"spent     ${sum(spent_today.values()):.2f} today (UTC), "
        f"${sum(spent.values()):.2f} in all"
    )


def _batch_lines(home: Home) -> Iterator[str]:
    """Say which corpus the home holds, and its batches with their studies."""
    corpus = home.corpus()
    declared = "no corpus"
    if corpus is not None:
        declared = f"corpus {corpus.name!r}, {corpus.data_class}"
    yield f"{home.root}: {declared}"
    batches = home.registered()
    studies = {batch.key: _count_studies(home, batch.key) for batch in batches}
    total = sum(count or 0 for count in studies.values())
    yield f"batches   {len(batches)}, {total} studies"
    for batch in batches:
        count = studies[batch.key]
        taken_in = "not taken in yet" if count is None else f"{count} studies"
        yield f"{_INDENT}{batch.key}  {taken_in}, delivered as {batch.kind}"
    for removal in home.removed():
        yield f"{_INDENT}{removal.key}  removed {removal.when} by {removal.who}"


def _count_studies(home: Home, batch: str) -> int | None:
    """Count the studies of a batch; None while it is not taken in."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from lunguage_assets.workspace.store import partition_path

    # A damaged table counts for nothing: the next run makes it again.
    try:
        with partition_path(home.tables, "reports", batch).open("rb") as stream:
            return int(pq.read_metadata(stream).num_rows)
    except (FileNotFoundError, pa.ArrowInvalid):
        return None


def _ranker_lines(
    configuration: Configuration,
    current: Current,
    ranker: str,
    spent: Mapping[str, float],
) -> Iterator[str]:
    """Say what there is of a ranker, and which stages a run for it would make."""
    from lunguage_assets.orchestration.run_plan import plan
    from lunguage_assets.workspace.versions import current_version

    judges = configuration.judges
    members = judges.members(ranker)
    title = f"ranker    {ranker} ({', '.join(members)}):"
    version = current_version(configuration.releases / ranker)
    asked = spent.keys() & {judges.structurer, judges.extractor, *members}
    if version is not None or current.exists("reference_ranking", ranker):
        complete = len(current.complete_batches(ranker))
        release = _release_words(current, ranker, version)
        yield f"{title} {complete} of {len(current.batches)} batches; {release}"
    elif asked:
        dollars = sum(spent[judge] for judge in asked)
        yield (
            f"{title} no ranking yet; ${dollars:.2f} was spent on answers of its "
            "judges, which are kept"
        )
    else:
        yield f"{title} not begun"
        return
    # Without a batch there is nothing to plan for.
    stages = plan(configuration, current, ranker) if current.batches else []
    if not stages:
        yield f"{_INDENT}everything is current"
    for stage in stages[:MAX_STAGES_SHOWN]:
        yield f"{_INDENT}to make: {stage}, {stage.reason}"
    # An archive may have hundreds of batches.
    if len(stages) > MAX_STAGES_SHOWN:
        yield f"{_INDENT}... and {len(stages) - MAX_STAGES_SHOWN} more steps"
    if current.waits_for_request("hedge_vocabulary", judges.extractor):
        yield (
            f"{_INDENT}new phrases wait: `lunguage run --rebuild-ranking` ranks them, "
            "and asks every judge again"
        )


def _release_words(current: Current, ranker: str, version: Path | None) -> str:
    if version is None:
        return "no release"
    for asset in ("release_inputs", "release"):
        if current.reasons(asset, ranker):
            return f"release {version.name}, stale"
    return f"release {version.name}, current"


def _dollars_by_judge(
    configuration: Configuration, since: datetime | None = None
) -> Mapping[str, float]:
    """Add up US dollars by judge; what has no price counts as nothing."""
    from lunguage_assets.judges.ledger import moment

    ledger = configuration.existing_ledger()
    if ledger is None:
        return {}
    statistics = ledger.statistics("" if since is None else moment(since))
    ledger.close()
    dollars = statistics.groupby("judge")["cost_usd"].sum()
    return {str(judge): float(usd) for judge, usd in dollars.items()}
