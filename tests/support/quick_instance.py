"""A Dagster instance in memory, for tests that ask it much.

Dagster's own opens a connection for each statement, looks before each one whether the
table is there, and reads a hundred migrations when it is made: most of what an event
and a tick of the automation cost in it. Statements and tables are Dagster's here too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from unittest import mock

import dagster as dg
import sqlalchemy as sa
from dagster._core.storage.event_log.in_memory import InMemoryEventLogStorage
from dagster._core.storage.runs.in_memory import InMemoryRunStorage

_PLACES = ("event_log", "runs")


def _kept(engine: sa.Engine) -> sa.Engine:
    """The same database, by connections that stay open."""
    return sa.create_engine(
        engine.url, poolclass=sa.QueuePool, connect_args={"check_same_thread": False}
    )


class _Log(InMemoryEventLogStorage):
    def __init__(self, preload: object = None) -> None:
        super().__init__()
        self._engine, self._partitions = _kept(self._engine), dict[str, list[str]]()
        self._tables = set(sa.inspect(self._held_conn).get_table_names())

    @contextmanager
    def _connect(self) -> Iterator[sa.Connection]:
        with self._db_lock, self._engine.begin() as connection:
            yield connection

    def has_table(self, table_name: str) -> bool:
        return table_name in self._tables

    def get_dynamic_partitions(self, partitions_def_name: str) -> Sequence[str]:
        if partitions_def_name not in self._partitions:
            self._partitions[partitions_def_name] = list(
                super().get_dynamic_partitions(partitions_def_name)
            )
        return list(self._partitions[partitions_def_name])

    def add_dynamic_partitions(
        self, partitions_def_name: str, partition_keys: Sequence[str]
    ) -> None:
        self._partitions.pop(partitions_def_name, None)
        super().add_dynamic_partitions(partitions_def_name, partition_keys)

    def delete_dynamic_partition(
        self, partitions_def_name: str, partition_key: str
    ) -> None:
        self._partitions.pop(partitions_def_name, None)
        super().delete_dynamic_partition(partitions_def_name, partition_key)


class _Runs(InMemoryRunStorage):
    def __init__(self, preload: object = None) -> None:
        super().__init__()
        self._engine = _kept(self._engine)

    @contextmanager
    def connect(self) -> Iterator[sa.Connection]:
        with self._engine.begin() as connection:
            yield connection


def _sqlite(instance: dg.DagsterInstance) -> sqlite3.Connection:
    log = instance.event_log_storage
    assert isinstance(log, _Log)
    connection = log._held_conn.connection.driver_connection
    assert isinstance(connection, sqlite3.Connection)
    return connection


def save_events(instance: dg.DagsterInstance, file: Path) -> None:
    """Write what a quick instance knows of assets and partitions into a file."""
    with closing(sqlite3.connect(file)) as target:
        _sqlite(instance).backup(target)


def quick_instance(events: Path | None = None) -> dg.DagsterInstance:
    """As `DagsterInstance.ephemeral()`; it knows what `save_events` wrote."""
    with ExitStack() as patched:
        for target in _PLACES:
            patched.enter_context(
                mock.patch(
                    f"dagster._core.storage.{target}.in_memory.stamp_alembic_rev"
                )
            )
        patched.enter_context(
            mock.patch("dagster._core.storage.event_log.InMemoryEventLogStorage", _Log)
        )
        patched.enter_context(
            mock.patch("dagster._core.storage.runs.InMemoryRunStorage", _Runs)
        )
        instance = dg.DagsterInstance.ephemeral()
    if events is not None:
        with closing(sqlite3.connect(events)) as source:
            source.backup(_sqlite(instance))
    return instance
