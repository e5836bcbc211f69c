"""`lunguage register`: a delivery becomes a batch of the home, and nothing is made yet.

Also the options that name a delivery, which `run` and `estimate` take as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.cli.options import HOME_OPTION, Command, configured
from lunguage_assets.errors import printable

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration
    from lunguage_assets.workspace.home import Batch, Registration

_DELIVERY_OPTIONS = (
    click.option(
        "--data",
        type=click.Path(path_type=Path),
        help="Folder or file with Lunguage.csv, or with raw reports (docs/reports.md).",
    ),
    click.option(
        "--batch", help="Key of the batch: [a-z0-9._-]; default: the name of --data."
    ),
    click.option(
        "--text-column",
        help="Column of the reports, where --data is a table; default: report.",
    ),
    click.option(
        "--id-column",
        help="Column of their ids, where --data is a table; default: study_id.",
    ),
)


@dataclass(frozen=True)
class DeliveryOptions:
    """What the options say of the files to be taken in."""

    data: Path | None
    batch: str | None
    text_column: str | None
    id_column: str | None

    @property
    def path(self) -> Path:
        """The folder or file that --data names."""
        if self.data is None:
            raise click.UsageError("Missing option '--data'.")
        return self.data

    @property
    def key(self) -> str:
        """The key of the batch: of --batch, else made of the name of the files."""
        from lunguage_assets.workspace.batch_keys import batch_key

        return self.batch or batch_key(self.path)

    @property
    def columns(self) -> tuple[str, str] | None:
        """Columns of the ids and of the reports, where the options name any."""
        # Without a named column, files of every known layout are looked for.
        if not self.id_column and not self.text_column:
            return None
        return (self.id_column or "study_id", self.text_column or "report")

    def register(self, configuration: Configuration) -> list[Batch]:
        """Register the files; say where their content is another batch already."""
        from lunguage_assets.workspace.batch_keys import batch_keys

        batches = configuration.home.register(
            self.path,
            self.key,
            batch_reports=configuration.settings.corpus.batch_reports,
            columns=self.columns,
        )
        keys_asked_for = batch_keys(self.key, len(batches))
        # The same content is registered once, under its first key.
        for batch, key in zip(batches, keys_asked_for, strict=True):
            if batch.key != key:
                click.echo(
                    f"the content of {key} is registered as batch {batch.key}, which "
                    "is used"
                )
        return batches

    def examine(self, configuration: Configuration) -> list[Registration]:
        """Preview what `register` would do."""
        return configuration.home.examine(
            self.path,
            self.key,
            batch_reports=configuration.settings.corpus.batch_reports,
            columns=self.columns,
        )


def takes_delivery(command: Command) -> Command:
    """Give a command a `delivery`, made of --data and the options beside it."""

    @wraps(command)
    def with_delivery(**arguments: Any) -> None:
        options = {
            field.name: arguments.pop(field.name) for field in fields(DeliveryOptions)
        }
        command(delivery=DeliveryOptions(**options), **arguments)

    decorated: Command = with_delivery
    for option in reversed(_DELIVERY_OPTIONS):
        decorated = option(decorated)
    return decorated


@click.command(short_help="Register a delivery as a batch, and make nothing yet.")
@HOME_OPTION
@takes_delivery
@configured()
def register(configuration: Configuration, delivery: DeliveryOptions) -> None:
    """Register a delivery as a batch, to be materialised later (in the UI, say)."""
    batches = delivery.register(configuration)
    add_partitions(configuration, batches)
    for batch in batches:
        files = printable(", ".join(batch.files))
        click.echo(
            f"batch {batch.key} ({files}) is registered in {configuration.home.root}"
        )


def add_partitions(configuration: Configuration, batches: Sequence[Batch]) -> None:
    """Make batches known to Dagster as partitions."""
    from lunguage_assets.lineage.recipes import BATCH
    from lunguage_assets.orchestration.runs.instance import dagster_instance

    # The UI lists a batch, and can materialise it, once it is a partition.
    with dagster_instance(configuration.home) as instance:
        keys = [batch.key for batch in batches]
        instance.add_dynamic_partitions(BATCH, keys)
