"""Where a ledger is: an SQLite file of its owner's alone, or a PostgreSQL database.

Connections are durable at every commit, and no error or log of theirs shows a
statement's values, among which answers are.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from lunguage_assets.errors import LunguageError

_BUSY_TIMEOUT_S = 60
_QUIET: dict[str, Any] = {"hide_parameters": True, "logging_name": "ledger"}
# At level DEBUG this logger shows every row, with its answer.
logging.getLogger("sqlalchemy.engine.Engine.ledger").setLevel(logging.WARNING)


class LedgerError(LunguageError):
    """The ledger cannot be opened, read or written.

    An answer that could not be recorded is not used.
    """


def ledger_url(where: str | Path) -> URL:
    """Read a location as an SQLAlchemy URL with a driver that is installed.

    Raises:
        LedgerError: it is neither a path nor a PostgreSQL URL.
    """
    if isinstance(where, Path) or "://" not in where:
        return URL.create("sqlite", database=str(Path(where).expanduser().absolute()))
    with suppress(SQLAlchemyError):
        url = make_url(re.sub("^postgres://", "postgresql://", where))
        if url.drivername == "postgresql":
            # From SQLAlchemy 2.1 on, no driver means psycopg 3 only.
            driver = "psycopg" if find_spec("psycopg") else "psycopg2"
            return url.set(drivername=f"postgresql+{driver}")
        if url.get_backend_name() == "postgresql":
            return url
    raise LedgerError(
        "invalid ledger location; expected a path or postgresql://USER@HOST/DATABASE."
    )


def shown_location(url: URL) -> str:
    """Describe a location without user or password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{url.host or ''}{port}/{url.database or ''}"


def ledger_engine(url: URL) -> Engine:
    """Make connections that write.

    Raises:
        LedgerError: no driver, or a file that is not its owner's alone.
    """
    if url.get_backend_name() == "postgresql":
        # A server may acknowledge commits before they are on disk: not these.
        durable = {"options": "-c synchronous_commit=on"}
        return _postgresql_engine(
            url,
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            connect_args=durable,
        )
    # Made here, so that SQLite gives its -wal and -shm files the same mode.
    os.close(open_private(Path(str(url.database))))
    engine = create_engine(url, connect_args={"timeout": _BUSY_TIMEOUT_S}, **_QUIET)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def reading_engine(url: URL) -> Engine:
    """Make connections that cannot write and leave no trace.

    Raises:
        LedgerError: no driver.
    """
    if url.get_backend_name() == "postgresql":
        return _postgresql_engine(
            url, poolclass=NullPool, execution_options={"postgresql_readonly": True}
        )
    path = Path(str(url.database))
    address = f"file:{quote(str(path))}?mode=ro"
    # Without a log nobody writes; `immutable` then keeps SQLite from making one.
    if not path.with_name(f"{path.name}-wal").exists():
        address += "&immutable=1"
    return create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(address, uri=True),
        poolclass=NullPool,
        **_QUIET,
    )


def _postgresql_engine(url: URL, **options: Any) -> Engine:
    try:
        return create_engine(url, **options, **_QUIET)
    except (ImportError, SQLAlchemyError) as error:
        raise LedgerError(
            f"ledger {shown_location(url)}: driver {url.drivername!r} cannot be used "
            f"({type(error).__name__}). Install one: pip install "
            "'lunguage-assets[scale]'."
        ) from None


def open_private(path: Path) -> int:
    """Open a file for its owner only, whatever the process's mask; make it if missing.

    Returns:
        A file descriptor.

    Raises:
        LedgerError: it is no plain file of the owner's, or the folder refuses.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, flags, 0o600)
        os.fchmod(descriptor, 0o600)
    except OSError as error:
        raise LedgerError(
            f"ledger {path}: cannot be opened for its owner alone "
            f"({type(error).__name__}); expected a plain file of yours, or a folder "
            "that you may write to. Name another place."
        ) from None
    return descriptor


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    """Use a write-ahead log that is forced to disk at every commit."""
    # Transactions begin when `_begin_sqlite` says so, not when the driver does.
    connection.isolation_level = None
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode.lower() != "wal":
        raise LedgerError(
            "the ledger's file system has no write-ahead log; put the ledger on a "
            "local disk, or use PostgreSQL."
        )
    connection.execute("PRAGMA synchronous = FULL")


def _begin_sqlite(connection: Connection) -> None:
    """Let a writer take its turn at once.

    A reader that turns writer later would fail instead of waiting.
    """
    is_writer = connection.get_execution_options().get("ledger_writes")
    begin = "BEGIN IMMEDIATE" if is_writer else "BEGIN"
    connection.exec_driver_sql(begin)
