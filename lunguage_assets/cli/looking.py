"""The commands that tell how things stand: `status` of a home, `doctor` of what would stop or spoil a run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import Chosen, chooses
from lunguage_assets.errors import LunguageError
from lunguage_assets.rights import open_to_others

if TYPE_CHECKING:
    from lunguage_assets.current.standing import Standings

SHOWN = 12
"""Steps that a run would make, as they are listed for one ranker; the rest is counted."""


@click.command(short_help="Show batches, what is stale and why, release, spending.")
@chooses("preset", "structurer", there=True)
def status(chosen: Chosen) -> None:
    """Show batches, rankers, what is stale and why, the last releases, and what was spent.

    Makes and asks nothing.
    """
    for line in _lines(chosen):
        click.echo(line)


def _lines(chosen: Chosen) -> Iterator[str]:
    from lunguage_assets.current.reads import broken_files

    place, now, corpus = chosen.home, chosen.standings(), chosen.home.corpus()
    named = f"corpus {corpus.name!r}, {corpus.data_class}" if corpus is not None else "no corpus"
    yield f"{place.root}: {named}"
    batches = [(batch, _studies(now, batch.key)) for batch in place.registered()]
    yield f"batches   {len(batches)}, {sum(studies or 0 for _, studies in batches)} studies"
    for batch, studies in batches:
        taken_in = "not taken in yet" if studies is None else f"{studies} studies"
        yield f"          {batch.key}  {taken_in}, delivered as {batch.kind}"
    for gone in place.removed():
        yield f"          {gone.key}  removed {gone.when} by {gone.who}"
    yield f"judges    preset {now.judges.preset}; raw reports are structured by {now.judges.structurer}"
    broken = broken_files(place)
    for problem in broken:
        yield f"broken    {problem} What is stale can be told when this is corrected."
    for ranker in () if broken else now.judges.rankers:
        yield from _ranker(now, ranker, len(batches))
    today, total = _spent(chosen)
    yield f"spent     ${today:.2f} today (UTC), ${total:.2f} in all"


def _studies(now: Standings, batch: str) -> int | None:
    """Studies of a batch; None while it is not taken in."""
    import pyarrow.parquet as pq

    from lunguage_assets.home.store import partition_path

    try:
        with partition_path(now.home.tables, "reports", batch).open("rb") as stream:
            return int(pq.read_metadata(stream).num_rows)
    except FileNotFoundError:
        return None


def _ranker(now: Standings, ranker: str, batches: int) -> Iterator[str]:
    """What there is of a ranker, and the steps that a run for it would make."""
    from lunguage_assets.current.standing import plan
    from lunguage_assets.release.bundle.versions import current_version

    folder = now.home.release / ranker
    released = current_version(folder)
    named = f"ranker    {ranker} ({', '.join(now.judges.members(ranker))}):"
    if released is None and not now.exists("reference_ranking", ranker):
        yield f"{named} not begun"
        return
    # the reasons of a stale release are those of the step that makes it
    state = now.of("release", ranker).state
    release = f"release {released.name}, {state}" if released is not None else "no release"
    yield f"{named} {len(now.complete_batches(ranker))} of {batches} batches; {release}"
    stages = plan(now, ranker) if batches else []
    for stage in stages[:SHOWN]:
        yield f"          to make: {stage}, {stage.reason or 'missing'}"
    if len(stages) > SHOWN:
        yield f"          ... and {len(stages) - SHOWN} more steps"
    if not stages:
        yield "          everything is current"


def _spent(chosen: Chosen) -> tuple[float, float]:
    """US dollars of today (UTC) and in all; what has no price counts as nothing."""
    from datetime import UTC, datetime

    from lunguage_assets.judges.ledger.attempts import moment

    reader = chosen.paid_answers()
    if reader is None:
        return 0.0, 0.0
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    today, ever = (float(reader.statistics(since)["cost_usd"].sum()) for since in (moment(midnight), ""))
    reader.close()
    return today, ever


@click.command(short_help="Check keys, policy, retirement dates and storage.")
@chooses("preset", "structurer")
def doctor(chosen: Chosen) -> None:
    """Check judges, keys, retirement dates, data policy and storage before anything is sent or spent."""
    from datetime import UTC, datetime

    from lunguage_assets.current.reads import broken_files
    from lunguage_assets.judges.configuration import RULES
    from lunguage_assets.judges.opening import examination
    from lunguage_assets.orchestration.runs.instance import examination as instance_examination

    root, judges, given = chosen.home.root, chosen.judges(), chosen.data_class
    lines = [*examination(judges, given, datetime.now(UTC).date(), os.environ)]
    if judges.structurer == RULES:
        lines.append(("ok", "raw reports are structured by rules in this process: nothing is sent"))
    lines.append(instance_examination(chosen.home))
    lines += [("refusal", problem) for problem in broken_files(chosen.home)]
    if given == "credentialed" and open_to_others(root):
        lines.append(("refusal", f"other accounts can read {root}: chmod -R go-rwx '{root}'"))
    if judges.models:
        shared = "LUNGUAGE_DAILY_BUDGET holds for all that share the ledger"
        lines.append(("ok", f"--budget holds within one process; {shared}"))
    for severity, message in lines:
        click.echo(f"{severity:<8} {message}")
    if refused := sum(severity == "refusal" for severity, _ in lines):
        raise LunguageError(
            f"{refused} of the checks above refuse a run with preset {judges.preset!r} on {given} text"
        )
