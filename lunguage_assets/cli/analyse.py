"""`lunguage analyse`: how far the numbers can be trusted (docs/trust.md).

The analyses are assets of the group `analysis`; `--cues` counts rows of raw reports by
the cue that decided them. Here they are launched and printed.
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

_MOST_WORDS = 50


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
    import duckdb

    from lunguage_assets.cli.console import print_table
    from lunguage_assets.cli.run import run_job
    from lunguage_assets.packaged_data import resource
    from lunguage_assets.release.context import ANALYSES
    from lunguage_assets.workspace.store import stored_table

    home = configuration.home
    if cues:
        _print_rows_by_cue(home)
        return
    run_job(configuration, "analyse", ranker)
    # The main figures; the rest is in the tables.
    queries = resource("run", "analyse.sql").read_text(encoding="utf-8")
    with duckdb.connect() as connection:
        for table in ANALYSES:
            connection.register(table, stored_table(home, table, ranker))
        for query in connection.extract_statements(queries):
            print_table(connection.execute(query).df())
    click.echo(
        f"tables, for any DuckDB client  {home.database}\n"
        "in the report of the release   after the next `lunguage run`"
    )


def _print_rows_by_cue(home: Home) -> None:
    """Print the rows of all batches by the cue that decided them; no text of a report.

    Raises:
        ConfigurationError: the offline rules, which alone name cues, have read nothing.
    """
    import pandas as pd

    from lunguage_assets.cli.console import print_table
    from lunguage_assets.judges.configuration import RULES
    from lunguage_assets.structuring.contract import UNANSWERED
    from lunguage_assets.structuring.cue_counts import rows_by_cue
    from lunguage_assets.workspace.store import stored_or_none

    findings = []
    texts = []
    for batch in home.registered():
        rows = stored_or_none(home, "structured_findings", RULES, batch.key)
        if rows is not None and len(rows):
            findings.append(rows)
            texts.append(stored_or_none(home, "report_texts", batch.key))
    if not findings:
        raise ConfigurationError(
            f"{home.root} has no rows that the offline rules read, which alone name "
            "cues. Run `lunguage run --data DIR` with raw reports first."
        )
    counts = rows_by_cue(pd.concat(findings), pd.concat(texts))
    is_word = counts["cue"].str.startswith(UNANSWERED)
    print_table(counts[~is_word])
    # Single words, so that a person can call those of a corpus harmless.
    print_table(counts[is_word].head(_MOST_WORDS))
