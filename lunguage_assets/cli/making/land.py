"""`lunguage land`: one pass over the landing folder without a daemon. Heavy imports are deferred."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import FOLDER, Chosen, chooses

if TYPE_CHECKING:
    from lunguage_assets.landing.passes import PassReport


@click.command(short_help="Register what lies in the landing folder, once.")
@chooses()
@click.option(
    "--url",
    type=FOLDER,
    help="Landing folder; default: $LUNGUAGE_LANDING, else url in [landing] of settings.toml.",
)
@click.option("--now", is_flag=True, help="Wait for nothing: nobody is writing into the folder any more.")
def land(chosen: Chosen, url: Path | None, now: bool) -> None:
    """Register new deliveries of the landing folder once, without a daemon; put aside what cannot be used.

    The sensor `landing`, when it runs, or the job `ingest` then ingests the batches. Ends with status 1 when
    a delivery was put aside.
    """
    from lunguage_assets.errors import ConfigurationError, LunguageError
    from lunguage_assets.landing.folder import QUARANTINE, landing_folder
    from lunguage_assets.landing.passes import land as make_pass
    from lunguage_assets.orchestration.partitions import REPORT_BATCH

    place, settings = chosen.home, chosen.settings.landing
    if (folder := url or landing_folder(place, settings)) is None:
        raise ConfigurationError(
            "no landing folder is named. Say --url, set LUNGUAGE_LANDING, or write url in [landing] of "
            "settings.toml."
        )
    outcome = make_pass(place, folder, stable_s=None if now else settings.stable_s)
    if batches := {*(batch.key for batch in outcome.registered.values()), *outcome.skipped.values()}:
        with chosen.instance() as instance:
            instance.add_dynamic_partitions(REPORT_BATCH.name, sorted(batches))
    _tell(outcome)
    if outcome.quarantined:
        raise LunguageError(
            f"{len(outcome.quarantined)} deliveries cannot be used: see REASON.txt in {folder / QUARANTINE}"
        )


def _tell(outcome: PassReport) -> None:
    for name, batch in outcome.registered.items():
        click.echo(f"registered   {batch.key} from {name}: {batch.counts}")
    for name, key in sorted(outcome.skipped.items()):
        click.echo(f"skipped      {name}: same content as batch {key}")
    for name, error in outcome.quarantined.items():
        click.echo(f"quarantined  {name}: {error}")
    for name, why in sorted(outcome.waiting.items()):
        click.echo(f"waiting      {name}: {why}")
    for name in outcome.others:
        click.echo(f"passed over  {name}: expected findings as .csv, .csv.gz or .parquet, or a folder")
    click.echo(outcome.summary)
