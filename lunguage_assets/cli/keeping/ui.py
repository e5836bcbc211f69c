"""The `ui` command: Dagster's UI on a home."""

from __future__ import annotations

import os
import sys

import click

from lunguage_assets.cli.options import Chosen, chooses, nothing_in


@click.command(short_help="Open the Dagster UI on a home.")
@chooses()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=3000, show_default=True, type=click.IntRange(1, 65535))
@click.option(
    "--no-token",
    is_flag=True,
    help="Ask no token: every program of every account on this machine can drive the UI.",
)
def ui(chosen: Chosen, host: str, port: int, no_token: bool) -> None:
    """Open the Dagster UI on this home (runs, tables, checks; materialise and backfill)."""
    place = chosen.home
    from lunguage_assets.files import write_private
    from lunguage_assets.orchestration.runs.instance import environment_of_children
    from lunguage_assets.orchestration.ui.guard import HOSTS_VARIABLE, TOKEN_VARIABLE, Door, new_token
    from lunguage_assets.orchestration.ui.processes import Serving, only_ui, require_free

    token = "" if no_token else new_token()
    door = Door.of(host, port, {**os.environ, TOKEN_VARIABLE: token})
    require_free(host, port)
    shown = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"
    with only_ui(place.root, f"{shown}/ of process {os.getpid()}"):
        if place.corpus() is None:
            click.echo(nothing_in(place), err=True)
        environment = {**environment_of_children(place), TOKEN_VARIABLE: token}
        log = place.root / "logs" / "ui.log"
        write_private(log, b"")
        serving = Serving(log, environment)
        click.echo(f"starting the Dagster UI of {place.root} ...", err=True)
        serving.start(host, port)
        click.echo(f"{shown}{door.prefix}/")
        if no_token:
            click.echo(
                "without a token: every program of every account on this machine can drive it", err=True
            )
        if environment.get(HOSTS_VARIABLE):
            click.echo(f"also answers as {environment[HOSTS_VARIABLE]}", err=True)
        click.echo(f"Ctrl-C stops it; its log is {log}", err=True)
        sys.stdout.flush()
        sys.exit(serving.until_it_ends())
