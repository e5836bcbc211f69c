"""`lunguage tables`: the tables of a home in a back-up, and from there back, also to other storage."""

from __future__ import annotations

from pathlib import Path

import click

from lunguage_assets.cli.options import FOLDER, Chosen, chooses


@click.group(short_help="Save the tables of a home, or load them elsewhere.")
def tables() -> None:
    """Where the tables of a home lie: in its folder, or on shared or object storage."""


@tables.command("save", short_help="Save all tables into a folder.")
@chooses(there=True)
@click.argument("folder", type=FOLDER)
def save(chosen: Chosen, folder: Path) -> None:
    """Copy all tables, wherever they lie, into FOLDER, which must hold none: part of a back-up."""
    place = chosen.home
    from lunguage_assets.home.table_place import copy_tables

    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    click.echo(f"{copy_tables(place.tables, folder)} files of {place.tables} in {folder}")


@tables.command("load", short_help="Load saved tables to where the home keeps them.")
@chooses()
@click.option("--at", "named", metavar="PLACE", help="Another folder or URL; the home keeps it from now on.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
def load(chosen: Chosen, named: str | None, folder: Path) -> None:
    """Copy the tables that `save` wrote to where this home keeps its tables, or to PLACE.

    None may be there. Stop runs, webserver and daemon first. What lies where the tables were before stays.
    """
    place = chosen.home
    from lunguage_assets.home.table_place import load_tables, open_place
    from lunguage_assets.orchestration.io_manager import build_catalog

    copied = load_tables(place.root, folder, open_place(named) if named else None)
    build_catalog(place.tables, place.database)  # the views name the place
    click.echo(f"{copied} files of {folder} in {place.tables}")
