"""`lunguage status`: what a home holds, what is stale and why, the last releases, and what was spent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.cli.options import PRESET_OPTION, STRUCTURER_OPTION, Chosen, chooses

if TYPE_CHECKING:
    from lunguage_assets.current.standing import Standings

SHOWN = 12
"""Steps that a run would make, as they are listed for one ranker; the rest is counted."""


@click.command(short_help="Show batches, what is stale and why, release, spending.")
@chooses(PRESET_OPTION, STRUCTURER_OPTION, there=True)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def status(chosen: Chosen, as_json: bool) -> None:
    """Show batches, rankers, what is stale and why, the last releases, and what was spent.

    Makes and asks nothing.
    """
    found = _found(chosen)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for line in _lines(found):
        click.echo(line)


def _found(chosen: Chosen) -> dict[str, Any]:
    from lunguage_assets.current.reads import broken_files

    place, now = chosen.home, chosen.standings()
    corpus, judges, broken = place.corpus(), now.judges, broken_files(place)
    return {
        "home": str(place.root),
        "corpus": corpus.name if corpus is not None else "",
        "data_class": corpus.data_class if corpus is not None else "",
        "batches": [
            {
                "key": batch.key,
                "kind": batch.kind,
                "sha256": batch.sha256,
                "studies": _studies(now, batch.key),
            }
            for batch in place.registered()
        ],
        "removed": [{"key": one.key, "when": one.when, "who": one.who} for one in place.removed()],
        "preset": judges.preset,
        "structurer": judges.structurer,
        "broken": broken,
        "rankers": {} if broken else {ranker: _ranker(now, ranker) for ranker in judges.rankers},
        "spent_usd": _spent(chosen),
    }


def _studies(now: Standings, batch: str) -> int | None:
    """Studies of a batch; None while it is not taken in."""
    import pyarrow.parquet as pq

    from lunguage_assets.home.store import partition_path

    path = partition_path(now.home.tables, "reports", batch)
    if not path.exists():
        return None
    with path.open("rb") as stream:
        return int(pq.read_metadata(stream).num_rows)


def _ranker(now: Standings, ranker: str) -> dict[str, Any]:
    """What there is of a ranker, and the steps that a run for it would make."""
    from lunguage_assets.current.plan import Wanted, plan
    from lunguage_assets.release.bundle.versions import current_version

    folder = now.home.release / ranker
    released, standing = current_version(folder), now.of_release(ranker, folder)
    begun = released is not None or now.exists("reference_ranking", ranker)
    stages = plan(now, Wanted(ranker)) if begun and now.batches else []
    return {
        "judges": list(now.judges.members(ranker)),
        "begun": begun,
        "complete_batches": now.complete_batches(ranker),
        "release": released.name if released is not None else None,
        "release_is": str(standing),
        "to_make": [
            {"step": f"{stage.job} ({stage.label})", "because": list(stage.because) or ["missing"]}
            for stage in stages
        ],
    }


def _spent(chosen: Chosen) -> dict[str, float]:
    """US dollars of today (UTC) and in all; what has no price counts as nothing."""
    from datetime import UTC, datetime

    from lunguage_assets.judges.ledger.attempts import moment

    reader = chosen.paid_answers()
    if reader is None:
        return {"today": 0.0, "total": 0.0}
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    found = {"today": reader.spent_since(moment(midnight)), "total": reader.spent_since("")}
    reader.close()
    return found


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"{found['home']}: corpus {found['corpus']!r}, {found['data_class']}"
    known = sum(batch["studies"] or 0 for batch in found["batches"])
    yield f"batches   {len(found['batches'])}, {known} studies"
    for batch in found["batches"]:
        taken_in = "not taken in yet" if batch["studies"] is None else f"{batch['studies']} studies"
        yield f"          {batch['key']}  {taken_in}, delivered as {batch['kind']}"
    for gone in found["removed"]:
        yield f"          {gone['key']}  removed {gone['when']} by {gone['who']}"
    yield f"judges    preset {found['preset']}; raw reports are structured by {found['structurer']}"
    for problem in found["broken"]:
        yield f"broken    {problem}"
    if found["broken"]:
        yield "          What is stale can be told when this is corrected."
    for name, ranker in found["rankers"].items():
        yield from _ranker_lines(name, ranker, len(found["batches"]))
    spent = found["spent_usd"]
    yield f"spent     ${spent['today']:.2f} today (UTC), ${spent['total']:.2f} in all"


def _ranker_lines(name: str, ranker: Mapping[str, Any], batches: int) -> Iterator[str]:
    from lunguage_assets.current.standing import in_short

    judges = ", ".join(ranker["judges"])
    if not ranker["begun"]:
        yield f"ranker    {name} ({judges}): not begun"
        return
    state = str(ranker["release_is"]).partition(":")[0]  # its reasons are those of the step that makes it
    release = f"release {ranker['release']}, {state}" if ranker["release"] else "no release"
    yield f"ranker    {name} ({judges}): {len(ranker['complete_batches'])} of {batches} batches; {release}"
    for step in ranker["to_make"][:SHOWN]:
        yield f"          to make: {step['step']}, {in_short(step['because'])}"
    if len(ranker["to_make"]) > SHOWN:
        yield f"          ... and {len(ranker['to_make']) - SHOWN} more steps"
    if not ranker["to_make"]:
        yield "          everything is current"
