"""`lunguage land`: one pass over the landing folder without a daemon. Heavy imports are deferred."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import Chosen, chooses

if TYPE_CHECKING:
    from lunguage_assets.landing.passes import PassReport


@click.command(short_help="Register what lies in the landing folder, once.")
@chooses()
@click.option(
    "--url",
    help="Landing folder or fsspec URL; default: $LUNGUAGE_LANDING, else url in [landing] of settings.toml.",
)
@click.option("--now", is_flag=True, help="Wait for nothing: nobody is writing into the folder any more.")
def land(chosen: Chosen, url: str | None, now: bool) -> None:
    """Register new deliveries of the landing folder once, without a daemon; put aside what cannot be used.

    The sensor `landing`, when it runs, or the job `ingest` then ingests the batches. Ends with status 1 when
    a delivery was put aside.
    """
    from lunguage_assets.errors import ConfigurationError, LunguageError
    from lunguage_assets.landing.entries import QUARANTINE, landing_url, shown
    from lunguage_assets.landing.passes import land as make_pass
    from lunguage_assets.landing.record import record_folder
    from lunguage_assets.orchestration.partitions import REPORT_BATCH

    place, settings = chosen.home, chosen.settings.landing
    if url is not None and "://" not in url:
        url = str(Path(url).expanduser().resolve())
    if (url := url or landing_url(place, settings)) is None:
        raise ConfigurationError(
            "no landing folder is named. Say --url, set LUNGUAGE_LANDING, or write url in [landing] of "
            "settings.toml."
        )
    outcome = make_pass(place, url, stable_s=None if now else settings.stable_s)
    if batches := {*(batch.key for batch in outcome.registered.values()), *outcome.skipped.values()}:
        with chosen.instance() as instance:
            instance.add_dynamic_partitions(REPORT_BATCH.name, sorted(batches))
    _tell(outcome)
    if outcome.quarantined:
        raise LunguageError(
            f"{len(outcome.quarantined)} deliveries cannot be used: see REASON.txt in "
            f"{shown(url)}/{QUARANTINE}; of a read-only folder, in {record_folder(place) / QUARANTINE}"
        )


def _tell(outcome: PassReport) -> None:
    for name, batch in outcome.registered.items():
        click.echo(f"registered   {batch.key} from {name}: {batch.counts}")
    for name, key in sorted(outcome.skipped.items()):
        click.echo(f"skipped      {name}: same content as batch {key}")
    for name, move in outcome.quarantined.items():
        click.echo(f"quarantined  {name}: {move.reason}")
    for name, why in sorted(outcome.waiting.items()):
        click.echo(f"waiting      {name}: {why}")
    for name in outcome.others:
        click.echo(f"passed over  {name}: expected findings as .csv, .csv.gz or .parquet, or a folder")
    click.echo(outcome.summary)
