"""`lunguage land`: one pass over the landing folder, without a daemon.

The pass itself is `workspace.landing`; the sensor `landing` makes the same one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import configured
from lunguage_assets.cli.register import add_partitions
from lunguage_assets.errors import ConfigurationError, LunguageError

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration


@click.command()
@click.option(
    "--now",
    is_flag=True,
    help="Wait for nothing: nobody is writing into the folder any more.",
)
@configured()
def land(configuration: Configuration, now: bool) -> None:
    """Register what lies in the landing folder, once.

    Needs no daemon. Puts aside what cannot be used, and then ends with status 1. The
    sensor `landing`, when it runs, or the job `ingest` then ingests the batches.
    """
    from lunguage_assets.workspace.landing import QUARANTINE, landing_folder, summary
    from lunguage_assets.workspace.landing import land as land_once

    home = configuration.home
    settings = configuration.settings.landing
    folder = landing_folder(home, settings)
    if folder is None:
        raise ConfigurationError(
            "no landing folder is named. Set LUNGUAGE_LANDING, or write url in "
            "[landing] of settings.toml."
        )
    outcomes = land_once(home, folder, stable_s=None if now else settings.stable_s)
    add_partitions(configuration, home.registered())
    for outcome in outcomes:
        if outcome.message:
            click.echo(f"{outcome.state:<13}{outcome.name}: {outcome.message}")
    click.echo(summary(outcomes))
    quarantined = [outcome for outcome in outcomes if outcome.state == "quarantined"]
    if quarantined:
        raise LunguageError(
            f"{len(quarantined)} deliveries cannot be used: see REASON.txt in "
            f"{folder / QUARANTINE}"
        )
