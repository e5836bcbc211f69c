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


@click.command(short_help="Check keys, policy, retirement dates and storage.")
@chooses(PRESET_OPTION, STRUCTURER_OPTION)
@data_class_option("Default: the home's corpus, else credentialed.")
def doctor(chosen: Chosen, data_class: DataClass | None) -> None:
    """Check judges, keys, retirement dates, data policy and storage before anything is sent or spent."""
    from datetime import UTC, datetime

    from lunguage_assets.judges.binding_record import BindingRecord
    from lunguage_assets.judges.configuration import RULES
    from lunguage_assets.judges.examination import examination
    from lunguage_assets.orchestration.runs.instance import examination as instance_examination

    place, configuration, given = chosen.home, chosen.judges(), data_class or chosen.data_class
    record, today = BindingRecord(place.binding_file), datetime.now(UTC).date()
    lines = examination(configuration, given, today, os.environ, record)
    for severity, message in lines:
        click.echo(f"{severity:<8} {message}")
    if configuration.structurer == RULES:
        click.echo("ok       raw reports are structured by rules in this process: nothing is sent")
    for word, message in (*_calls(chosen, configuration), instance_examination(place)):
        click.echo(f"{word:<8} {message}")
    shared = given == "credentialed" and open_to_others(place.root)
    if shared:
        click.echo(f"refusal  other accounts can read {place.root}: chmod -R go-rwx '{place.root}'")
    if configuration.models:
        click.echo(
            "ok       --budget holds within one process; rate limits and LUNGUAGE_DAILY_BUDGET "
            "hold for all that share the ledger"
        )
    refused = shared + sum(severity == "refusal" for severity, _ in lines)
    if refused:
        raise LunguageError(
            f"{refused} of the checks above refuse a run with preset {configuration.preset!r} on {given} text"
        )


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
