"""`lunguage batches`: list the batches, or remove one with all that is of it.

The register itself is `workspace.home`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import configured
from lunguage_assets.errors import ConfigurationError

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration


@click.group()
def batches() -> None:
    """List the batches, or remove one with all that is of it."""


@batches.command("list")
@configured(existing=True)
def list_batches(configuration: Configuration) -> None:
    """List the batches, and those that were removed."""
    home = configuration.home
    for batch in home.registered():
        click.echo(f"{batch.key}  {batch.kind}  sha256 {batch.sha256[:12]}")
    for removal in home.removed():
        click.echo(f"{removal.key}  removed {removal.when} by {removal.who}")


@batches.command("remove")
@click.argument("key")
@click.confirmation_option(
    help="Do not ask.",
    prompt="Its files, all tables of it, review queues and its partition go; what "
    "several batches made together, and sealed releases, stay. Remove it?",
)
@configured(existing=True)
def remove_batch(configuration: Configuration, key: str) -> None:
    """Remove a batch and every table of it.

    Its files, every table of it, its review queues and its partition in Dagster go. The
    home keeps a record of it. Releases that are sealed stay; the next run writes one
    without the batch.
    """
    from lunguage_assets.locks import is_at_work
    from lunguage_assets.orchestration.instance import UNFINISHED, dagster_instance
    from lunguage_assets.orchestration.partitions import BATCH

    home = configuration.home
    is_registered = key in {batch.key for batch in home.registered()}
    with dagster_instance(home) as instance:
        # A run would read, or make again, the tables that go.
        running = instance.get_runs(UNFINISHED)
        if running or is_at_work(home.root):
            at_work = f"run {running[0].run_id}" if running else "another command"
            raise ConfigurationError(
                f"{at_work} is at work. Let it end, or cancel it; nothing was removed."
            )
        if is_registered:
            home.remove(key)
        # A removal that was killed, or a mistyped key, may have left a partition alone.
        is_partition = key in instance.get_dynamic_partitions(BATCH)
        if is_partition:
            instance.delete_dynamic_partition(BATCH, key)
    if not is_registered and not is_partition:
        raise ConfigurationError(
            f"{home.root} has no batch {key!r}; `lunguage batches list` lists them."
        )
    click.echo(f"removed  {key} with its tables; noted in {home.root}/removals.json")
