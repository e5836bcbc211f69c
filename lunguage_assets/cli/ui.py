"""`lunguage ui`: the Dagster UI on a home, behind a token.

Who may open it, and how it is served, is in the room `ui` (docs/ui.md).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import configured
from lunguage_assets.errors import ConfigurationError

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration


@click.command()
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
)
@click.option("--port", default=3000, show_default=True, type=click.IntRange(1, 65535))
@configured()
def ui(configuration: Configuration, host: str, port: int) -> None:
    """Open the Dagster UI on a home.

    Runs, tables, checks; materialise and backfill.
    """
    from secrets import token_urlsafe

    from lunguage_assets.files import replace_text
    from lunguage_assets.orchestration.instance import prepare_to_serve
    from lunguage_assets.ui.access import TOKEN_VARIABLE
    from lunguage_assets.ui.processes import (
        environment_of_children,
        only_ui,
        require_free,
        serve,
    )

    home = configuration.home
    # Before anything is started: else the address would be somebody else's server.
    require_free(host, port)
    if not home.root.exists():
        raise ConfigurationError(
            f"{home.root} does not exist. Name the home with --home or $LUNGUAGE_HOME, "
            "or make a new one: lunguage run --data DIR"
        )
    # 0.0.0.0 listens on every address of the machine, and is none that a browser opens.
    shown_host = "127.0.0.1" if host == "0.0.0.0" else host
    address = f"http://{shown_host}:{port}"
    with only_ui(home.root):
        if home.corpus() is None:
            click.echo(
                f"{home.root} holds no corpus: nothing was registered there.", err=True
            )
        # Every account of the machine can read the arguments of a process; its
        # environment, where the token is, is its owner's.
        token = token_urlsafe(24)
        prepare_to_serve(home)
        environment = {**environment_of_children(home), TOKEN_VARIABLE: token}
        log = home.root / "logs" / "ui.log"
        replace_text(log, "")

        def print_address() -> None:
            click.echo(f"{address}/{token}/")
            click.echo(f"Ctrl-C stops it; its log is {log}", err=True)
            sys.stdout.flush()

        click.echo(f"starting the Dagster UI of {home.root} ...", err=True)
        sys.exit(serve(host, port, environment, log, print_address))
