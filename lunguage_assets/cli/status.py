"""`lunguage status`: batches, rankers, what is stale and why, and what was spent.

Makes and asks nothing. What is stale Dagster says (`orchestration.current`), dollars
the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import click

from lunguage_assets.cli.options import (
    HOME_OPTION,
    PRESET_OPTION,
    STRUCTURER_OPTION,
    configured,
)

if TYPE_CHECKING:
    import pandas as pd

    from lunguage_assets.configuration import Configuration
    from lunguage_assets.orchestration.current import Current
    from lunguage_assets.orchestration.run_plan import Stage
    from lunguage_assets.workspace.home import Home

MAX_STAGES_SHOWN = 12
"""Stages to come that are listed for one ranker; further ones are counted."""

DollarsByJudge = Mapping[str, float]


class Spent(NamedTuple):
    """US dollars by judge; what has no price counts as nothing."""

    today: DollarsByJudge
    ever: DollarsByJudge


@click.command(short_help="Show batches, what is stale and why, release, spending.")
@HOME_OPTION
@PRESET_OPTION
@STRUCTURER_OPTION
@configured(existing=True)
def status(configuration: Configuration) -> None:
    """Show how a home stands: batches, rankers, releases, spending.

    Says what is stale and why. Makes and asks nothing.
    """
    for line in _lines(configuration):
        click.echo(line)


def _lines(configuration: Configuration) -> Iterator[str]:
    from lunguage_assets.cli.run import opened_runner
    from lunguage_assets.edited_files import broken_files

    home = configuration.home
    yield from _batch_lines(home)
    judges = configuration.judges
    yield (
        f"judges    preset {judges.preset}; raw reports are structured by "
        f"{judges.structurer}"
    )
    problems = broken_files(home)
    for problem in problems:
        yield (f"broken    {problem} What is stale can be told when this is corrected.")
    spent = _spent(configuration)
    # Tables are held against the files that they were made of: none may be unreadable.
    if not problems:
        with opened_runner(configuration) as runner:
            runner.prepare()
            current = runner.current()
        for ranker in judges.rankers:
            yield from _ranker_lines(configuration, current, ranker, spent.ever)
    yield (
        f"spent     ${sum(spent.today.values()):.2f} today (UTC), "
        f"${sum(spent.ever.values()):.2f} in all"
    )


def _batch_lines(home: Home) -> Iterator[str]:
    """Say which corpus the home holds, and its batches with their studies."""
    corpus = home.corpus()
    if corpus is None:
        yield f"{home.root}: no corpus"
    else:
        yield f"{home.root}: corpus {corpus.name!r}, {corpus.data_class}"
    batches = home.registered()
    studies = {batch.key: _count_studies(home, batch.key) for batch in batches}
    total = sum(count or 0 for count in studies.values())
    yield f"batches   {len(batches)}, {total} studies"
    for batch in batches:
        count = studies[batch.key]
        taken_in = "not taken in yet" if count is None else f"{count} studies"
        yield f"          {batch.key}  {taken_in}, delivered as {batch.kind}"
    for removal in home.removed():
        yield f"          {removal.key}  removed {removal.when} by {removal.who}"


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
    configuration: Configuration, current: Current, ranker: str, spent: DollarsByJudge
) -> Iterator[str]:
    """Say what there is of a ranker, and which stages a run for it would make."""
    from lunguage_assets.orchestration.run_plan import plan

    judges = configuration.judges
    members = judges.members(ranker)
    title = f"ranker    {ranker} ({', '.join(members)}):"
    release = _release_of(configuration, current, ranker)
    has_begun = release is not None or current.exists("reference_ranking", ranker)
    if has_begun:
        complete = len(current.complete_batches(ranker))
        yield (
            f"{title} {complete} of {len(current.batches)} batches; "
            f"{release or 'no release'}"
        )
    else:
        judges_asked = spent.keys() & {judges.structurer, judges.extractor, *members}
        if not judges_asked:
            yield f"{title} not begun"
            return
        dollars = sum(spent[judge] for judge in judges_asked)
        yield (
            f"{title} no ranking yet; ${dollars:.2f} was spent on answers of its "
            "judges, which are kept"
        )
    # Without a batch there is nothing to plan for.
    yield from _stage_lines(plan(current, judges, ranker) if current.batches else [])
    if current.waits_for_request("hedge_vocabulary", judges.extractor):
        yield (
            "          new phrases wait: `lunguage run --rebuild-ranking` ranks them, "
            "and asks every judge again"
        )


def _release_of(
    configuration: Configuration, current: Current, ranker: str
) -> str | None:
    """Name the newest release of a ranker and its state."""
    from lunguage_assets.workspace.versions import current_version

    version = current_version(configuration.releases / ranker)
    if version is None:
        return None
    # The reasons of a stale release are those of the stage that makes it, listed below.
    is_current = not any(
        current.reasons(asset, ranker) for asset in ("release_inputs", "release")
    )
    return f"release {version.name}, {'current' if is_current else 'stale'}"


def _stage_lines(stages: list[Stage]) -> Iterator[str]:
    if not stages:
        yield "          everything is current"
    for stage in stages[:MAX_STAGES_SHOWN]:
        yield f"          to make: {stage}, {stage.reason or 'missing'}"
    # An archive may have hundreds of batches.
    if len(stages) > MAX_STAGES_SHOWN:
        yield f"          ... and {len(stages) - MAX_STAGES_SHOWN} more steps"


def _spent(configuration: Configuration) -> Spent:
    """Add up the US dollars of today (UTC) and in all, by judge."""
    from datetime import UTC, datetime

    from lunguage_assets.judges.ledger.attempts import moment

    ledger = configuration.existing_ledger()
    if ledger is None:
        return Spent({}, {})
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    spent = Spent(
        today=_dollars_by_judge(ledger.statistics(moment(midnight))),
        ever=_dollars_by_judge(ledger.statistics("")),
    )
    ledger.close()
    return spent


def _dollars_by_judge(statistics: pd.DataFrame) -> DollarsByJudge:
    dollars = statistics.groupby("judge")["cost_usd"].sum()
    return {str(judge): float(usd) for judge, usd in dollars.items()}
