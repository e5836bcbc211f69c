"""The `doctor` command: what would stop or spoil a run, before anything is sent or spent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import PRESET_OPTION, STRUCTURER_OPTION, Chosen, chooses, data_class_option
from lunguage_assets.errors import LunguageError
from lunguage_assets.rights import open_to_others

if TYPE_CHECKING:
    from lunguage_assets.judges.configuration import JudgesConfiguration
    from lunguage_assets.settings import DataClass


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
    from lunguage_assets.judges.examination import examination
    from lunguage_assets.orchestration.runs.instance import examination as instance_examination

    place, configuration, given = chosen.home, chosen.judges(), data_class or chosen.data_class
    lines = examination(configuration, given, datetime.now(UTC).date(), os.environ)
    for severity, message in lines:
        click.echo(f"{severity:<8} {message}")
    if configuration.structurer == RULES:
        click.echo("ok       raw reports are structured by rules in this process: nothing is sent")
    broken = broken_files(place)
    looked_at = () if broken else (_scale(chosen, configuration), *_calls(chosen, configuration))
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


def _calls(chosen: Chosen, configuration: JudgesConfiguration) -> Iterator[tuple[str, str]]:
    """How the latest calls of every language model went: severity and message."""
    from lunguage_assets.judges.ledger.ledger_place import LedgerError
    from lunguage_assets.quality.judge_calls import recent_calls

    limits = chosen.settings.checks
    for key, slot in configuration.models.items():
        try:
            for sign in recent_calls(key, slot, chosen.ledger, limits):
                severity = "warning" if sign.remedy else "ok"
                yield severity, f"judge {key!r}: {sign.looked_at}: {sign.found}. {sign.remedy}".rstrip()
        except LedgerError as error:
            yield "warning", str(error)
            return
