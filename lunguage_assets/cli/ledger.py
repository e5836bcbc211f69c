"""`lunguage ledger`: the paid answers of language models, counted.

The ledger itself is `judges.ledger`; docs/models.md says what it keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import configured
from lunguage_assets.errors import ConfigurationError

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration


@click.group()
def ledger() -> None:
    """Count what answers cost."""


@ledger.command("stats")
@configured(existing=True)
def show_statistics(configuration: Configuration) -> None:
    """Count attempts, tokens and US dollars by judge, stage and model."""
    existing = configuration.existing_ledger()
    if existing is None:
        raise ConfigurationError("there is no ledger: no paid answer was recorded")
    click.echo(existing.statistics().to_string(index=False))
