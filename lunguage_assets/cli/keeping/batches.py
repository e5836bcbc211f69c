"""`lunguage batches`: the batches of a home, and removing one with all that is of it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import Chosen, chooses
from lunguage_assets.errors import ConfigurationError, LunguageError

if TYPE_CHECKING:
    from lunguage_assets.home.home import Home


class NotConfirmed(LunguageError):
    """Something would be removed, and nobody has said so."""


@click.group(short_help="List the batches, or remove one with all that is of it.")
def batches() -> None:
    """List the registered batches, or remove one with all that follows from it."""


@batches.command("list", short_help="List the batches, and those that were removed.")
@chooses(there=True)
def list_(chosen: Chosen) -> None:
    """List the registered batches, and those that were removed."""
    for batch in chosen.home.registered():
        click.echo(f"{batch.key}  {batch.kind}  sha256 {batch.sha256[:12]}  {', '.join(batch.files)}")
    for gone in chosen.home.removed():
        click.echo(f"{gone.key}  removed {gone.when} by {gone.who}  sha256 {gone.sha256[:12]}")


@batches.command("remove", short_help="Remove a batch and every table of it.")
@click.argument("key")
@click.option("--yes", is_flag=True, help="Remove it; without this, only what would go is listed.")
@chooses(there=True)
def remove(key: str, yes: bool, chosen: Chosen) -> None:
    """Remove the batch KEY: its files, every table of it, its review queues, its partition in Dagster.

    The home keeps a record of it. Releases that are sealed stay; the next run writes one without the batch.
    """
    place = chosen.home
    if key in {batch.key for batch in place.registered()}:
        _foretell(place, key)
        if not yes:
            raise NotConfirmed(f"nothing was removed. To remove it: lunguage batches remove {key} --yes")
        _remove(chosen, key)
    from lunguage_assets.orchestration.partitions import REPORT_BATCH, forget_removed

    with chosen.instance() as instance:
        forget_removed(instance, place)
        if key in {batch.key for batch in place.registered()} | {gone.key for gone in place.removed()}:
            return
        if key not in instance.get_dynamic_partitions(REPORT_BATCH.name):
            known = ", ".join(batch.key for batch in place.registered()) or "none"
            raise ConfigurationError(f"{place.root} has no batch {key!r}; registered: {known}")
        instance.delete_dynamic_partition(REPORT_BATCH.name, key)
        click.echo(f"{key} was a partition without a batch; it is gone")


def _foretell(place: Home, key: str) -> None:
    batch, found = place.batch(key), place.following(key)
    click.echo(f"batch {key}: {batch.kind}, sha256 {batch.sha256[:12]}, {', '.join(batch.files)}")
    tables = sorted({table for table, _ in found.own})
    click.echo(f"goes     {len(found.own)} stored tables ({', '.join(tables) or 'none'})")
    click.echo(f"goes     its files, {len(found.review)} review queues, its partition in Dagster")
    for table, keys in found.kept:
        click.echo(f"stays    {table} ({', '.join(keys)}), made of it among others, until it is made again")
    if any(table == "hedge_vocabulary" for table, _ in found.kept):
        click.echo(
            "         `lunguage run --rebuild-ranking` makes vocabulary, comparisons and ranking again"
        )
    for version in sorted(place.release.glob("*/v*")):
        click.echo(f"stays    release {version.parent.name}/{version.name}, sealed")


def _remove(chosen: Chosen, key: str) -> None:
    import getpass
    from datetime import UTC, datetime

    from lunguage_assets.orchestration.runs.command_lock import is_at_work
    from lunguage_assets.orchestration.runs.instance import runs_of_batch

    place = chosen.home
    if is_at_work(place.root):
        raise ConfigurationError("another command works on this home. Let it end; nothing was removed.")
    with chosen.instance() as instance:
        if running := runs_of_batch(instance, key):
            raise ConfigurationError(
                f"run {running[0]} works on batch {key!r}. Let it end, or cancel it; nothing was removed."
            )
    gone = place.remove(key, getpass.getuser(), datetime.now(UTC).isoformat(timespec="seconds"))
    click.echo(f"removed  {key} with {gone.tables} tables; noted in {place.root / 'removals.json'}")
