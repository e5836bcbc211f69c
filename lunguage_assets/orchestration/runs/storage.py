"""The Dagster databases of a home: SQLite as Dagster's own, with connections that stay open.

Dagster opens and closes a connection for each event, and SQLite writes its log back each time: about
nine tenths of what an event costs. Files, tables and their versions are Dagster's; its own classes can
have them open at the same time, and read them afterwards. Not taken: one engine for all time. It would
write into a file that was deleted or restored, and a forked process would share a connection, which
SQLite forbids.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as sa
import yaml

from lunguage_assets.orchestration.dagster_private import ConfigurableClassData, InstanceRef, sqlite_storages

DagsterSqliteStorage, SqliteEventLogStorage, SqliteRunStorage, SqliteScheduleStorage = sqlite_storages()

INDEX = "index"
"""What Dagster calls the database of the events of all runs."""

OPEN_AT_ONCE = 8
"""Databases of runs that a process keeps open: its own run, and those that a person looks at."""

PATIENCE_S = 30
"""For how long a writer waits for another one, in seconds, as Dagster's event log does."""


class KeptEngines:
    """Engines by the URL of their SQLite file, for one process; the least recently used is closed.

    `synchronous` is SQLite's: FULL waits for the disk at each commit; NORMAL loses the last commits in a
    power cut, and breaks nothing.
    """

    def __init__(self, synchronous: str, most: int = OPEN_AT_ONCE) -> None:
        self._synchronous, self._most, self._lock = synchronous, most, threading.Lock()
        self._process, self._inherited = os.getpid(), []
        self._engines: OrderedDict[str, tuple[sa.Engine, tuple[int, int] | None]] = OrderedDict()

    def engine(self, url: str) -> sa.Engine:
        """The engine of a file; a new one in a forked process, and when the file is another one."""
        with self._lock:
            if self._process != os.getpid():
                self._inherited.append(self._engines)  # neither used nor closed: both would harm the parent
                self._process, self._engines = os.getpid(), OrderedDict()
            file = _identity(url)
            engine, known = self._engines.pop(url, (None, None))
            if engine is not None and known not in (None, file):
                engine.dispose()
                engine = None
            if engine is None:
                engine = sa.create_engine(url, connect_args={"timeout": PATIENCE_S})
                sa.event.listen(engine, "connect", self._configure)
            self._engines[url] = (engine, file)
            if len(self._engines) > self._most:
                self._engines.popitem(last=False)[1][0].dispose()
            return engine

    def _configure(self, connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")

    def close(self) -> None:
        """Close what this process has opened; the next use opens it again."""
        with self._lock:
            if self._process == os.getpid():
                for engine, _ in self._engines.values():
                    engine.dispose()
            self._engines = OrderedDict()


def _identity(url: str) -> tuple[int, int] | None:
    """Which file is at the place now; None: there is none yet."""
    try:
        found = Path(sa.make_url(url).database or "").stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


class KeptEventLog(SqliteEventLogStorage):
    """Dagster's event log, one database for each run, with connections that stay open."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._kept = KeptEngines("NORMAL")  # the tables are what counts; these are lines of their history
        super().__init__(base_dir, inst_data)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[sa.Connection]:
        with self._db_lock:
            engine = self._kept.engine(self.conn_string_for_shard(shard))
            if shard not in self._initialized_dbs:
                if shard == INDEX or not self._has_the_tables_of_the_index(self.path_for_shard(shard)):
                    self._initdb(engine)
                self._initialized_dbs.add(shard)
            with engine.begin() as connection:
                yield connection

    def _has_the_tables_of_the_index(self, path: str) -> bool:
        """Whether a run's database has tables. An empty one gets those of the index, at the same version.

        Dagster reads a hundred migrations for each run to find out how new tables would look: 60 ms.
        """
        with closing(sqlite3.connect(self.path_for_shard(INDEX), timeout=PATIENCE_S)) as index:
            tables = index.execute("SELECT sql FROM sqlite_master WHERE sql > '' AND name NOT LIKE 'sqlite%'")
            statements = [statement for (statement,) in tables if statement]
            version = index.execute("SELECT version_num FROM alembic_version").fetchall()
        with closing(sqlite3.connect(path, timeout=PATIENCE_S, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("BEGIN IMMEDIATE")  # another process may make the same database
            if not database.execute("SELECT 1 FROM sqlite_master").fetchone():
                for statement in statements:
                    database.execute(statement)
                database.executemany("INSERT INTO alembic_version VALUES (?)", version)
            found = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone()
            database.execute("COMMIT")
        return found is not None

    def has_table(self, table_name: str) -> bool:
        # Asked also while the index is written to, hence without the lock of `_connect`.
        with self._kept.engine(self.conn_string_for_shard(INDEX)).connect() as connection:
            return sa.inspect(connection).has_table(table_name)

    def store_event(self, event: dg.EventLogEntry) -> None:
        super().store_event(event)
        # The UI watches the file. With an open connection, SQLite writes beside it.
        os.utime(self.path_for_shard(event.run_id))

    def wipe(self) -> None:
        self._kept.close()
        super().wipe()

    def dispose(self) -> None:
        super().dispose()
        self._kept.close()


class KeptRuns(SqliteRunStorage):
    """Dagster's record of runs, with a connection that stays open."""

    def __init__(self, conn_string: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._kept = KeptEngines("FULL")
        super().__init__(conn_string, inst_data)

    @contextmanager
    def connect(self) -> Iterator[sa.Connection]:
        with self._kept.engine(self._conn_string).begin() as connection:
            yield connection

    def dispose(self) -> None:
        super().dispose()
        self._kept.close()


class HomeStorage(DagsterSqliteStorage):
    """The three databases of an instance, where `DagsterSqliteStorage` has them."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super(DagsterSqliteStorage, self).__init__()
        self.base_dir, self._inst_data = base_dir, inst_data
        self._run_storage = KeptRuns.from_local(f"{base_dir}/history/")
        self._event_log_storage = KeptEventLog(f"{base_dir}/history/runs/")
        self._schedule_storage = SqliteScheduleStorage.from_local(f"{base_dir}/schedules")

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Mapping[str, str]) -> HomeStorage:
        return cls.from_local(inst_data=inst_data, **config_value)


class HomeInstance(dg.DagsterInstance):
    """The instance of a home. dagster.yaml names it; a storage that is named there beside it is used instead.

    Dagster asks the class for defaults with the folder of dagster.yaml. A storage named in dagster.yaml
    itself would need its path there, which a home that is moved would outdate.
    """

    @classmethod
    def config_schema(cls) -> dict[str, Any]:
        return {}

    @classmethod
    def config_defaults(cls, base_dir: str) -> dict[str, ConfigurableClassData | None]:
        storage = ConfigurableClassData(__name__, HomeStorage.__name__, yaml.dump({"base_dir": base_dir}))
        return {**InstanceRef.config_defaults(base_dir), "storage": storage}
