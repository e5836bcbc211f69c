"""The commands that tell how things stand: `status` of a home, `doctor` of what would stop or spoil a run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.cli.options import Chosen, chooses, data_class_option
from lunguage_assets.errors import LunguageError
from lunguage_assets.rights import open_to_others

if TYPE_CHECKING:
    from lunguage_assets.current.standing import Standings
    from lunguage_assets.settings import DataClass

SHOWN = 12
"""Steps that a run would make, as they are listed for one ranker; the rest is counted."""


@click.command(short_help="Show batches, what is stale and why, release, spending.")
@chooses("preset", "structurer", there=True)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def status(chosen: Chosen, as_json: bool) -> None:
    """Show batches, rankers, what is stale and why, the last releases, and what was spent.

    Makes and asks nothing.
    """
    found = _found(chosen)
    for line in [json.dumps(found, indent=2)] if as_json else _lines(found):
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
            {"key": one.key, "kind": one.kind, "sha256": one.sha256, "studies": _studies(now, one.key)}
            for one in place.registered()
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

    try:
        with partition_path(now.home.tables, "reports", batch).open("rb") as stream:
            return int(pq.read_metadata(stream).num_rows)
    except FileNotFoundError:
        return None


def _ranker(now: Standings, ranker: str) -> dict[str, Any]:
    """What there is of a ranker, and the steps that a run for it would make."""
    from lunguage_assets.current.plan import Wanted, plan
    from lunguage_assets.release.bundle.versions import current_version

    folder = now.home.release / ranker
    released = current_version(folder)
    begun = released is not None or now.exists("reference_ranking", ranker)
    stages = plan(now, Wanted(ranker)) if begun and now.batches else []
    return {
        "judges": list(now.judges.members(ranker)),
        "begun": begun,
        "complete_batches": now.complete_batches(ranker),
        "release": released.name if released is not None else None,
        "release_is": str(now.of_release(ranker, folder)),
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
    yield f"batches   {len(found['batches'])}, {sum(one['studies'] or 0 for one in found['batches'])} studies"
    for batch in found["batches"]:
        taken_in = "not taken in yet" if batch["studies"] is None else f"{batch['studies']} studies"
        yield f"          {batch['key']}  {taken_in}, delivered as {batch['kind']}"
    for gone in found["removed"]:
        yield f"          {gone['key']}  removed {gone['when']} by {gone['who']}"
    yield f"judges    preset {found['preset']}; raw reports are structured by {found['structurer']}"
    for problem in found["broken"]:
        yield f"broken    {problem} What is stale can be told when this is corrected."
    for name, ranker in found["rankers"].items():
        yield from _ranker_lines(name, ranker, len(found["batches"]))
    spent = found["spent_usd"]
    yield f"spent     ${spent['today']:.2f} today (UTC), ${spent['total']:.2f} in all"


def _ranker_lines(name: str, ranker: Mapping[str, Any], batches: int) -> Iterator[str]:
    from lunguage_assets.current.standing import in_short

    said = f"ranker    {name} ({', '.join(ranker['judges'])}):"
    if not ranker["begun"]:
        yield f"{said} not begun"
        return
    state = ranker["release_is"].partition(":")[0]  # its reasons are those of the step that makes it
    release = f"release {ranker['release']}, {state}" if ranker["release"] else "no release"
    yield f"{said} {len(ranker['complete_batches'])} of {batches} batches; {release}"
    for step in ranker["to_make"][:SHOWN]:
        yield f"          to make: {step['step']}, {in_short(step['because'])}"
    if len(ranker["to_make"]) > SHOWN:
        yield f"          ... and {len(ranker['to_make']) - SHOWN} more steps"
    if not ranker["to_make"]:
        yield "          everything is current"


@click.command(short_help="Check keys, policy, retirement dates and storage.")
@chooses("preset", "structurer")
@data_class_option("Default: the home's corpus, else credentialed.")
def doctor(chosen: Chosen, data_class: DataClass | None) -> None:
    """Check judges, keys, retirement dates, data policy and storage before anything is sent or spent."""
    from datetime import UTC, datetime

    from lunguage_assets.current.reads import broken_files
    from lunguage_assets.judges.configuration import RULES
    from lunguage_assets.judges.opening import examination
    from lunguage_assets.orchestration.runs.instance import examination as instance_examination

    root, judges, given = chosen.home.root, chosen.judges(), data_class or chosen.data_class
    lines = [*examination(judges, given, datetime.now(UTC).date(), os.environ)]
    if judges.structurer == RULES:
        lines.append(("ok", "raw reports are structured by rules in this process: nothing is sent"))
    lines.append(instance_examination(chosen.home))
    lines += [("refusal", problem) for problem in broken_files(chosen.home)]
    if given == "credentialed" and open_to_others(root):
        lines.append(("refusal", f"other accounts can read {root}: chmod -R go-rwx '{root}'"))
    if judges.models:
        shared = "rate limits and LUNGUAGE_DAILY_BUDGET hold for all that share the ledger"
        lines.append(("ok", f"--budget holds within one process; {shared}"))
    for severity, message in lines:
        click.echo(f"{severity:<8} {message}")
    if refused := sum(severity == "refusal" for severity, _ in lines):
        raise LunguageError(
            f"{refused} of the checks above refuse a run with preset {judges.preset!r} on {given} text"
        )
