"""`lunguage batches`: list the batches, or remove one with all that is of it.

The register itself is `workspace.home`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import HOME_OPTION, configured
from lunguage_assets.errors import ConfigurationError, LunguageError, printable

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration
    from lunguage_assets.workspace.home import Home


@click.group(short_help="List the batches, or remove one with all that is of it.")
def batches() -> None:
    """List the registered batches, or remove one with all that follows from it."""


@batches.command("list", short_help="List the batches, and those that were removed.")
@HOME_OPTION
@configured(existing=True)
def list_batches(configuration: Configuration) -> None:
    """List the registered batches, and those that were removed."""
    home = configuration.home
    for batch in home.registered():
        files = printable(", ".join(batch.files))
        click.echo(f"{batch.key}  {batch.kind}  sha256 {batch.sha256[:12]}  {files}")
    for removal in home.removed():
        click.echo(
            f"{removal.key}  removed {removal.when} by {removal.who}  "
            f"sha256 {removal.sha256[:12]}"
        )


@batches.command("remove", short_help="Remove a batch and every table of it.")
@click.argument("key")
@click.option(
    "--yes", is_flag=True, help="Remove it; without this, only what would go is listed."
)
@HOME_OPTION
@configured(existing=True)
def remove_batch(configuration: Configuration, key: str, yes: bool) -> None:
    """Remove the batch KEY and everything that is of it alone.

    Its files, every table of it, its review queues and its partition in Dagster go. The
    home keeps a record of it. Releases that are sealed stay; the next run writes one
    without the batch.
    """
    home = configuration.home
    if key in {batch.key for batch in home.registered()}:
        # What goes cannot be had back: first it is listed.
        if not yes:
            raise LunguageError(_what_would_go(home, key))
        _require_nothing_at_work(home, key)
        home.remove(key)
        click.echo(
            f"removed  {key} with its tables; noted in {home.root / 'removals.json'}"
        )
    # A removal that was killed, or a mistyped key, may have left a partition alone.
    _remove_partition(home, key)


def _what_would_go(home: Home, key: str) -> str:
    tables, review_queues = home.files_of(key)
    names = ", ".join(sorted({table for table, _ in tables})) or "none"
    return (
        f"nothing was removed. Its files, {len(tables)} tables ({names}), "
        f"{len(review_queues)} review queues and its partition would go; what several "
        "batches made together, and sealed releases, stay. To remove it: lunguage "
        f"batches remove {key} --yes"
    )


def _require_nothing_at_work(home: Home, key: str) -> None:
    """Refuse the removal while a command or a run could read the batch."""
    from lunguage_assets.orchestration.instance import (
        dagster_instance,
        is_at_work,
        runs_of_batch,
    )

    # A run would read, or make again, the tables that go.
    if is_at_work(home.root):
        raise ConfigurationError(
            "another command works on this home. Let it end; nothing was removed."
        )
    with dagster_instance(home) as instance:
        running = runs_of_batch(instance, key)
    if running:
        raise ConfigurationError(
            f"run {running[0]} works on batch {key!r}. Let it end, or cancel it; "
            "nothing was removed."
        )


def _remove_partition(home: Home, key: str) -> None:
    """Take the partition of a removed batch, or a mistyped one, out of Dagster.

    Raises `ConfigurationError` where the key was neither a batch nor a partition.
    """
    from lunguage_assets.orchestration.instance import dagster_instance
    from lunguage_assets.orchestration.partitions import BATCH, forget_removed

    with dagster_instance(home) as instance:
        forget_removed(instance, home)
        if key in instance.get_dynamic_partitions(BATCH):
            instance.delete_dynamic_partition(BATCH, key)
            click.echo(f"{key} was a partition without a batch; it is gone")
            return
    if key not in {removal.key for removal in home.removed()}:
        registered = ", ".join(batch.key for batch in home.registered()) or "none"
        raise ConfigurationError(
            f"{home.root} has no batch {key!r}; registered: {registered}"
        )
