"""A home and its tables as a run would leave them, of which nothing is written.

The estimate of a run (`estimate`) makes its steps on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.lineage.staleness import Keys
from lunguage_assets.orchestration.assets.steps import StoredTables, Tables
from lunguage_assets.workspace.home import Batch, Home, Registration


@dataclass(frozen=True)
class PreviewHome(Home):
    """A home with the registrations of a delivery, which are not made.

    The files of the delivery are read where they lie.
    """

    registrations: Mapping[str, Registration] = field(kw_only=True)

    def registered(self) -> list[Batch]:
        new_batches = [
            registration.batch
            for registration in self.registrations.values()
            if registration.is_new
        ]
        return [*super().registered(), *new_batches]

    def batch(self, key: str) -> Batch:
        if key in self.registrations:
            return self.registrations[key].batch
        return super().batch(key)

    def delivery(self, key: str) -> Delivery:
        if key in self.registrations:
            return self.registrations[key].delivery
        return super().delivery(key)


class PreviewTables(StoredTables):
    """Tables that were made in memory, and those stored."""

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._made: dict[tuple[str, Keys], pd.DataFrame] = {}

    def add(self, tables: Tables, keys: Keys) -> None:
        """Keep the tables of a partition that was made."""
        for table, frame in tables.items():
            self._made[table, keys] = frame

    def exists(self, table: str, keys: Keys) -> bool:
        return (table, keys) in self._made or super().exists(table, keys)

    def read(self, table: str, keys: Keys) -> pd.DataFrame:
        if (table, keys) in self._made:
            return self._made[table, keys]
        return super().read(table, keys)
