"""The `ui` command: Dagster's UI on a home."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from lunguage_assets.cli.home_option import HOME_OPTION, chosen_home


@click.command()
@HOME_OPTION
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The UI has no login: keep it on the loopback address.",
)
@click.option("--port", default=3000, show_default=True, type=click.IntRange(1, 65535))
def ui(home: Path, host: str, port: int) -> None:
    """Open the Dagster UI on this home (runs, tables, checks; materialise and backfill)."""
    place = chosen_home(home)
    from lunguage_assets.orchestration.runs.instance import environment_of_children

    environment = environment_of_children(place)
    click.echo(f"Dagster UI of {place.root} on http://{host}:{port} (Ctrl-C stops it)")
    sys.stdout.flush()
    command = [sys.executable, "-m", "dagster", "dev", "-m", "lunguage_assets.definitions"]
    os.execve(sys.executable, [*command, "--host", host, "--port", str(port)], environment)
