"""The `--home` option that the commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from lunguage_assets.home.home import Home

HOME_OPTION = click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="LUNGUAGE_HOME",
    default=".lunguage",
    show_default=True,
    help="Folder that holds everything: tables, DuckDB file, Dagster instance. Also $LUNGUAGE_HOME.",
)


def chosen_home(folder: Path) -> Home:
    """The chosen home, also for the processes that this one starts."""
    from lunguage_assets.home.home import ENVIRONMENT_VARIABLE, Home

    os.environ[ENVIRONMENT_VARIABLE] = str(folder.expanduser().resolve())
    return Home.from_environment()
