"""The `ledger` commands: what paid answers cost, and sharing them with a group."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import FILE, GIVEN_FILE, HOME_OPTION, chosen_home, existing_home

if TYPE_CHECKING:
    from lunguage_assets.judges.ledger.ledger import Ledger


@click.group(short_help="Count what answers cost; export and import them.")
def ledger() -> None:
    """Answers of language models that are paid for: what they cost, and sharing them with a group."""


_NAMED = 20
"""Rows of an imported file that messages name one by one."""

_LEDGER_OPTION = click.option(
    "--ledger",
    "place",
    envvar="LUNGUAGE_LEDGER",
    help="File or PostgreSQL URL; default: the home's. Also $LUNGUAGE_LEDGER.",
)


def _place(home: Path, place: str | None) -> str | Path:
    """Where the ledger is, of a home that is there or as it was named."""
    return place or existing_home(home).root / "ledger.sqlite"


def _opened(home: Path, place: str | None) -> Ledger:
    from lunguage_assets.judges.ledger.ledger import Ledger

    folder = chosen_home(home)
    folder.create()
    return Ledger.open(place or folder.root / "ledger.sqlite")


@ledger.command("stats", short_help="Count attempts, tokens and US dollars by judge.")
@HOME_OPTION
@_LEDGER_OPTION
def ledger_stats(home: Path, place: str | None) -> None:
    """Count attempts, tokens and US dollars per judge, stage and model."""
    from lunguage_assets.judges.ledger.reading import LedgerReader

    if LedgerReader.at(_place(home, place)) is None:
        click.echo("the ledger is empty")
        return
    opened = _opened(home, place)
    in_flight = opened.in_flight()  # counts the losses of dead processes
    frame = opened.statistics()
    click.echo(frame.to_string(index=False) if len(frame) else "the ledger is empty")
    click.echo(f"sent, answer lost: {opened.lost()}; in flight: {in_flight}")


@ledger.command("export", short_help="Export all attempts to a Parquet file.")
@HOME_OPTION
@_LEDGER_OPTION
@click.argument("file", type=FILE)
def ledger_export(home: Path, place: str | None, file: Path) -> None:
    """Write all attempts to a Parquet file, for others to import; prompts stay out."""
    from lunguage_assets.errors import ConfigurationError
    from lunguage_assets.judges.ledger.reading import LedgerReader

    where = _place(home, place)
    if LedgerReader.at(where) is None:
        raise ConfigurationError(f"there is no ledger at {where}: no paid answer was recorded there")
    click.echo(f"{_opened(home, place).export(file)} attempts in {file}")


@ledger.command("import", short_help="Import the attempts of an exported file.")
@HOME_OPTION
@_LEDGER_OPTION
@click.argument("file", type=GIVEN_FILE)
def ledger_import(home: Path, place: str | None, file: Path) -> None:
    """Add the attempts of an exported file; what is there already stays as it is.

    Each answer is read as when it was given. A row that does not fit is named and left out.
    """
    from lunguage_assets.judges.model_judge import choice_of, parse_phrase_list
    from lunguage_assets.structuring.model.schema import parse_answer

    parsers = {"extract": parse_phrase_list, "compare": choice_of, "structure": parse_answer}
    added, known, refused = _opened(home, place).import_(file, parsers)
    for error in refused[:_NAMED]:
        click.echo(str(error), err=True)
    if len(refused) > _NAMED:
        click.echo(f"... and {len(refused) - _NAMED} more rows that do not fit", err=True)
    click.echo(
        f"{added} attempts added, {known} were there already"
        + (f", {len(refused)} left out" if refused else "")
    )
