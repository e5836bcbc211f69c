"""Dagster's webserver behind the door: `python -m lunguage_assets.orchestration.ui.webserver [options of
dagster-webserver]`.

Whatever serves the UI of a home starts this module instead of `dagster-webserver`: `lunguage ui`, the units
of systemd, the containers.
"""

from __future__ import annotations

import os
import sys

import dagster as dg
import dagster_webserver.app
from dagster_webserver.cli import dagster_webserver as command
from dagster_webserver.webserver import DagsterWebserver
from starlette.middleware import Middleware

from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.runs.instance import close_abandoned_runs
from lunguage_assets.orchestration.ui.guard import Door, Guard
from lunguage_assets.rights import keep_private

HEALTH = "/server_info"
"""Says versions; `lunguage ui` and the containers ask it whether the webserver is there."""


def guarded(door: Door) -> type[DagsterWebserver]:
    """Dagster's webserver with a guard before everything else."""

    class Guarded(DagsterWebserver):  # type: ignore[misc, type-arg]
        def build_middleware(self) -> list[Middleware]:
            return [Middleware(Guard, door=door), *super().build_middleware()]

    return Guarded


def main(arguments: list[str]) -> None:
    """Serve until the process is told to end; options as in `dagster-webserver`."""
    keep_private()
    options = command.make_context("lunguage-webserver", list(arguments)).params
    door = Door.of(options["host"], options["port"] or 3000, os.environ)
    with dg.DagsterInstance.get() as instance:  # a code server that was killed notices nothing itself
        close_abandoned_runs(instance)
    dagster_webserver.app.DagsterWebserver = guarded(door)  # the command makes the server of this name
    # Other accounts see the arguments of a process, not these. Dagster's first message, of level info, shows
    # the address.
    secret = ["--path-prefix", door.prefix, "--dagster-log-level", "warning"] if door.token else []
    command.main([*arguments, *secret], prog_name="lunguage-webserver")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except LunguageError as error:
        sys.exit(f"lunguage: {error}")
