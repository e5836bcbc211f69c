"""The command `lunguage docs`: Great Expectations' Data Docs of everything that is stored."""

from __future__ import annotations

from pathlib import Path

import click

from lunguage_assets.cli.home_option import HOME_OPTION, chosen_home


@click.command()
@HOME_OPTION
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Folder of the site; default: docs in the home.",
)
@click.option(
    "--table", "tables", multiple=True, metavar="NAME", help="Only this table; may be given several times."
)
@click.option(
    "--batch",
    "batches",
    multiple=True,
    metavar="KEY",
    help="Only this batch, and tables without batches; may be given several times.",
)
def docs(home: Path, out: Path | None, tables: tuple[str, ...], batches: tuple[str, ...]) -> None:
    """Build Data Docs: the outcome of every rule on every stored partition, as pages that need no network.

    Counts only: no value of any table is in them. The site is built anew each time, about three partitions a
    second.
    """
    place = chosen_home(home)
    from lunguage_assets.quality.data_docs import build_data_docs

    built = build_data_docs(place.tables, (out or place.root / "docs").resolve(), tables, batches, _tell)
    click.echo(
        f"{built.partitions} partitions, {len(built.failing)} with a rule that fails, "
        f"{len(built.unreadable)} that cannot be read"
    )
    for label in (*built.failing, *built.unreadable):
        click.echo(f"  {label}")
    click.echo(str(built.index))


def _tell(done: int, total: int, what: str) -> None:
    click.echo(f"[{min(done + 1, total)}/{total}] {what}", err=True)
