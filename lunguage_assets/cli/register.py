"""`lunguage register`: a delivery becomes a batch of the home, and nothing is made yet.

Also the options that name a delivery, which `run` and `estimate` take as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.cli.options import (
    Command,
    configured,
    require_registered,
)

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


def takes_delivery(command: Command) -> Command:
    """Give a command --data and the options beside it, for `delivery_of`."""
    for option in reversed(_DELIVERY_OPTIONS):
        command = option(command)
    return command


def delivery_of(
    configuration: Configuration,
    data: Path | None,
    batch: str | None,
    text_column: str | None,
    id_column: str | None,
) -> dict[str, Any] | None:
    """Collect what `Home.take_in` and `Home.examine` are told of the files.

    Args:
        configuration: of the home.
        data: the files.
        batch: the key.
        text_column: of the reports.
        id_column: of their ids.

    Returns:
        None where no --data is given; the home must hold a corpus then.
    """
    from lunguage_assets.workspace.batch_keys import batch_key

    if data is None:
        if batch:
            raise click.UsageError("--batch is the key of the files that --data names.")
        require_registered(configuration.home)
        return None
    columns = None
    # Without a named column, files of every known layout are looked for.
    if id_column or text_column:
        columns = (id_column or "study_id", text_column or "report")
    return {
        "path": data,
        "key": batch or batch_key(data),
        "batch_reports": configuration.settings.corpus.batch_reports,
        "columns": columns,
    }


def register_delivery(
    configuration: Configuration, **options: Any
) -> list[Registration]:
    """Register the files; say where their content is another batch already.

    Args:
        configuration: of the home.
        options: of `takes_delivery`.
    """
    delivery = delivery_of(configuration, **options)
    if delivery is None:
        return []
    registrations = configuration.home.take_in(**delivery)
    # The same content is registered once, under its first key.
    for registration in registrations:
        present_key = registration.batch.key
        if not present_key.startswith(delivery["key"]):
            click.echo(
                f"the content of {delivery['key']} is registered as batch "
                f"{present_key}, which is used"
            )
    return registrations


@click.command()
@takes_delivery
@configured()
def register(configuration: Configuration, **delivery: Any) -> None:
    """Register a delivery as a batch, and make nothing yet."""
    if delivery["data"] is None:
        raise click.UsageError("Missing option '--data'.")
    registrations = register_delivery(configuration, **delivery)
    batches = [registration.batch for registration in registrations]
    add_partitions(configuration, batches)
    for batch in batches:
        click.echo(f"batch {batch.key} is registered in {configuration.home.root}")


def add_partitions(configuration: Configuration, batches: Sequence[Batch]) -> None:
    """Make batches known to Dagster as partitions."""
    from lunguage_assets.orchestration.instance import dagster_instance
    from lunguage_assets.orchestration.partitions import BATCH

    # The UI lists a batch, and can materialise it, once it is a partition.
    with dagster_instance(configuration.home) as instance:
        keys = [batch.key for batch in batches]
        instance.add_dynamic_partitions(BATCH, keys)
