"""Dagster's webserver behind the access rules.

`python -m lunguage_assets.ui` takes the options of `dagster-webserver`.
"""

from __future__ import annotations

import os
import sys

import dagster_webserver.app
from dagster_webserver.cli import dagster_webserver as webserver_command
from dagster_webserver.webserver import DagsterWebserver
from starlette.middleware import Middleware

from lunguage_assets.errors import LunguageError
from lunguage_assets.permissions import set_private_umask
from lunguage_assets.ui.access import guarded, path_prefix


def serve_webserver(arguments: list[str]) -> None:
    """Serve until the process is told to end; options as in `dagster-webserver`."""
    set_private_umask()
    prefix = path_prefix(os.environ)

    class GuardedWebserver(DagsterWebserver):  # type: ignore[type-arg]
        def build_middleware(self) -> list[Middleware]:
            return [Middleware(guarded, prefix=prefix), *super().build_middleware()]

    # The command makes the server of this name.
    dagster_webserver.app.DagsterWebserver = GuardedWebserver  # type: ignore[attr-defined]
    # Given here and not by whoever starts this process: other accounts see the
    # arguments of a process. Dagster's first message, of level info, shows the address.
    hidden = ["--path-prefix", prefix, "--dagster-log-level", "warning"]
    webserver_command.main([*arguments, *hidden], prog_name="lunguage-webserver")


if __name__ == "__main__":
    try:
        serve_webserver(sys.argv[1:])
    except LunguageError as error:
        sys.exit(f"lunguage: {error}")
