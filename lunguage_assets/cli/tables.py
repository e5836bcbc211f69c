"""`lunguage tables`: moving the tables of a home to other storage, and their part in a back-up."""

from __future__ import annotations

from pathlib import Path

import click

from lunguage_assets.cli.home_option import HOME_OPTION, chosen_home


@click.group()
def tables() -> None:
    """Where the tables of a home lie: in its folder, or on shared or object storage."""


@tables.command("move")
@HOME_OPTION
@click.argument("place")
def move(home: Path, place: str) -> None:
    """Copy all tables to PLACE, a folder or an fsspec URL such as s3://BUCKET/tables, and keep them there
    from now on.

    Stop runs, webserver and daemon first. The old copy stays; remove it when the new one is in use.
    """
    folder = chosen_home(home)
    from lunguage_assets.home.table_place import kept_place, move_tables, open_place

    before = kept_place(folder.root)
    copied = move_tables(folder.root, open_place(place))
    _renew_catalog(folder.root)
    click.echo(
        f"{copied} files copied from {before}; the tables of {folder.root} are now at "
        f"{kept_place(folder.root)}"
    )


@tables.command("save")
@HOME_OPTION
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def save(home: Path, folder: Path) -> None:
    """Copy all tables, wherever they lie, into FOLDER, which must be empty: part of a back-up."""
    place = chosen_home(home)
    from lunguage_assets.home.table_place import copy_tables, require_no_tables

    require_no_tables(folder)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    click.echo(f"{copy_tables(place.tables, folder)} files of {place.tables} in {folder}")


@tables.command("load")
@HOME_OPTION
@click.option(
    "--at",
    "place",
    default=None,
    help="Keep the tables at this place from now on; default: where the home kept them.",
)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
def load(home: Path, place: str | None, folder: Path) -> None:
    """Copy the tables that `save` wrote back to where this home keeps its tables; none may be there."""
    root = chosen_home(home).root
    from lunguage_assets.home.table_place import kept_place, load_tables, open_place

    copied = load_tables(root, folder, open_place(place) if place else None)
    _renew_catalog(root)
    click.echo(f"{copied} files of {folder} in {kept_place(root)}")


def _renew_catalog(root: Path) -> None:
    """The views of the DuckDB file name the place, so they are made again."""
    from lunguage_assets.home.home import Home
    from lunguage_assets.orchestration.io_manager import build_catalog

    place = Home(root)
    build_catalog(place.tables, place.database)
