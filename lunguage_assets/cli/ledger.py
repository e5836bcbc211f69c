"""`lunguage ledger`: the paid answers of language models, counted, exported, imported.

The ledger itself is `judges.ledger`; docs/models.md says what it keeps.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import EXISTING_FILE, FILE, HOME_OPTION, configured
from lunguage_assets.errors import ConfigurationError

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration
    from lunguage_assets.judges.ledger import Ledger

MAX_ROWS_SHOWN = 20
"""Rows of an imported file that are named when they do not fit; the rest is counted."""


@click.group(short_help="Count what answers cost; export and import them.")
def ledger() -> None:
    """Count the paid answers of language models, and share them with a group."""


@ledger.command("stats", short_help="Count attempts, tokens and US dollars by judge.")
@HOME_OPTION
@configured(existing=True)
def show_statistics(configuration: Configuration) -> None:
    """Count attempts, tokens and US dollars per judge, stage and model."""
    statistics = _existing_ledger(configuration).statistics()
    click.echo(statistics.to_string(index=False))


@ledger.command("export", short_help="Export all answers to a CSV file.")
@HOME_OPTION
@configured(existing=True)
@click.argument("file", type=FILE)
def export_answers(configuration: Configuration, file: Path) -> None:
    """Write all answers to FILE (CSV), for others to import.

    Prompts stay out; answers may quote reports.
    """
    exported = _existing_ledger(configuration).export_replies(file)
    click.echo(f"{exported} answers in {file}")


@ledger.command("import", short_help="Import the answers of an exported file.")
@HOME_OPTION
@configured()
@click.argument("file", type=EXISTING_FILE)
def import_answers(configuration: Configuration, file: Path) -> None:
    """Add the answers of an exported file.

    What is there already stays as it is. A row that does not fit is named and left out.
    """
    from lunguage_assets.judges.ledger import Ledger

    # The answers of a group may come before the first delivery, into a new home.
    configuration.home.create()
    opened = Ledger.open(configuration.ledger_location)
    added, left_out = opened.import_replies(file)
    click.echo(f"{added} answers added")
    if left_out:
        rows = ", ".join(map(str, left_out[:MAX_ROWS_SHOWN]))
        click.echo(
            f"{file}: {len(left_out)} rows do not fit and are left out, such as {rows}",
            err=True,
        )


def _existing_ledger(configuration: Configuration) -> Ledger:
    """Open the ledger of $LUNGUAGE_LEDGER or the home; refuse to make a new one."""
    existing = configuration.existing_ledger()
    if existing is None:
        raise ConfigurationError("there is no ledger: no paid answer was recorded")
    return existing
