"""The commands that tell how things stand: `status` of a home, `doctor` of what would stop or spoil a run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.cli.options import PRESET_OPTION, STRUCTURER_OPTION, Chosen, chooses, data_class_option
from lunguage_assets.errors import LunguageError
from lunguage_assets.rights import open_to_others

if TYPE_CHECKING:
    from lunguage_assets.current.standing import Standings
    from lunguage_assets.judges.configuration import JudgesConfiguration
    from lunguage_assets.settings import DataClass

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


_OWN = "the corpus' own phrases"
_TO_BE = {
    "auto": f"{_OWN} where there are {{least}} and the anchors are among them, else the published one",
    "own": f"{_OWN}; a run ends before they are compared where the anchors are not among them",
    "published": "the published one",
}


@click.command(short_help="Check keys, policy, retirement dates and storage.")
@chooses(PRESET_OPTION, STRUCTURER_OPTION)
@data_class_option("Default: the home's corpus, else credentialed.")
def doctor(chosen: Chosen, data_class: DataClass | None) -> None:
    """Check judges, keys, retirement dates, data policy and storage before anything is sent or spent."""
    from datetime import UTC, datetime

    from lunguage_assets.current.reads import broken_files
    from lunguage_assets.judges.configuration import RULES
    from lunguage_assets.judges.opening import examination
    from lunguage_assets.orchestration.runs.instance import examination as instance_examination

    place, configuration, given = chosen.home, chosen.judges(), data_class or chosen.data_class
    lines = examination(configuration, given, datetime.now(UTC).date(), os.environ)
    for severity, message in lines:
        click.echo(f"{severity:<8} {message}")
    if configuration.structurer == RULES:
        click.echo("ok       raw reports are structured by rules in this process: nothing is sent")
    broken = broken_files(place)
    looked_at = () if broken else (_scale(chosen, configuration),)
    for word, message in (*looked_at, instance_examination(place)):
        click.echo(f"{word:<8} {message}")
    for problem in broken:
        click.echo(f"refusal  {problem}")
    shared = given == "credentialed" and open_to_others(place.root)
    if shared:
        click.echo(f"refusal  other accounts can read {place.root}: chmod -R go-rwx '{place.root}'")
    if configuration.models:
        click.echo(
            "ok       --budget holds within one process; rate limits and LUNGUAGE_DAILY_BUDGET "
            "hold for all that share the ledger"
        )
    refused = shared + len(broken) + sum(severity == "refusal" for severity, _ in lines)
    if refused:
        raise LunguageError(
            f"{refused} of the checks above refuse a run with preset {configuration.preset!r} on {given} text"
        )


def _scale(chosen: Chosen, configuration: JudgesConfiguration) -> tuple[str, str]:
    """The scale on which a run reads probabilities, why, and whether the anchors go with it."""
    from lunguage_assets.explicit.fit.anchors import chosen_anchors
    from lunguage_assets.explicit.fit.probability import NoScale, require_anchors
    from lunguage_assets.home.store import partition_path, read_table
    from lunguage_assets.judges.configuration import PANEL
    from lunguage_assets.tables import TABLES

    home, options = chosen.home, chosen.settings.explicit
    anchors = chosen_anchors(options.anchors, home.anchor_ratings, home.root)
    named = ", ".join(repr(one.phrase) for one in anchors.anchors if one.phrase not in anchors.optional)
    scale = f'scale of p ([explicit] ruler = "{options.ruler}", anchors {named})'
    now = chosen.standings()
    for table, key in (("reference_ranking", PANEL), ("hedge_vocabulary", configuration.extractor)):
        if not now.is_current(table, key):
            continue
        phrases = read_table(TABLES[table], partition_path(home.tables, table, key))
        if "retained" in phrases:
            phrases = phrases[phrases["retained"]]
        try:
            require_anchors(set(phrases["phrase"]), anchors.of(set(phrases["phrase"])))
        except NoScale as error:
            return "warning", f"{scale}: a run would end, {error}"
        first = phrases.iloc[0]
        published = f"the published one ({first['ruler_reason']})"
        return "ok", f"{scale}: {published if first['ruler'] == 'published' else _OWN}"
    return "ok", f"{scale}: {_TO_BE[options.ruler].format(least=options.ruler_minimum)}"
