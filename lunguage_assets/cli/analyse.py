"""`lunguage analyse`: how far the numbers can be trusted (docs/trust.md).

The analyses are assets of the group `analysis`; `--cues` counts rows of raw reports by
the cue that decided them. Here they are launched and printed. What is printed of the
tables is asked in `resources/run/analyse.sql` and `cues.sql`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    PRESET_OPTION,
    RANKER_OPTION,
    configured,
)
from lunguage_assets.errors import ConfigurationError

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration
    from lunguage_assets.workspace.home import Home


@click.command()
@PRESET_OPTION
@RANKER_OPTION
@click.option(
    "--cues",
    is_flag=True,
    help="Instead, count the rows of raw reports by the cue that decided them, and by "
    "the words that left them open.",
)
@configured(existing=True)
def analyse(configuration: Configuration, ranker: str, cues: bool) -> None:
    """Analyse how far the numbers can be trusted.

    Agreement of the judges, robustness of the ranking, validation of the fit. Asks no
    judge: everything comes from recorded matches.
    """
    from lunguage_assets.cli.run import run_job

    home = configuration.home
    if cues:
        # The database is made with the first table.
        if not home.database.exists() or not _print_answers(home, "cues.sql", ranker):
            raise ConfigurationError(
                f"{home.root} has no rows that the offline rules read, which alone "
                "name cues. Run `lunguage run --data DIR` with raw reports first."
            )
        return
    run_job(configuration, "analyse", ranker)
    _print_answers(home, "analyse.sql", ranker)
    click.echo(
        f"tables, for any DuckDB client  {home.database}\n"
        "in the report of the release   after the next `lunguage run`"
    )


def _print_answers(home: Home, file: str, ranker: str) -> bool:
    """Print what the tables of a home answer to the queries of a file.

    Args:
        home: whose tables they are.
        file: in `resources/run`; no query of it asks for the text of a report.
        ranker: the variable of that name in the queries.

    Returns:
        Whether there was anything to print.
    """
    import duckdb
    from upath import UPath

    from lunguage_assets.cli.console import print_table
    from lunguage_assets.packaged_data import resource

    queries = resource("run", file).read_text(encoding="utf-8")
    has_rows = False
    with duckdb.connect(home.database, read_only=True) as connection:
        # Of tables on other storage.
        connection.register_filesystem(UPath(home.tables).fs)
        connection.execute("SET VARIABLE ranker = ?", [ranker])
        for query in connection.extract_statements(queries):
            answer = connection.execute(query).df()
            print_table(answer)
            has_rows |= not answer.empty
    return has_rows
