"""Where a ledger is, connections to it, and the lock of a model: an SQLite file of its owner's alone, or
PostgreSQL; both durable at every commit. No error and no log shows a statement's values.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, func, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.requests import ModelBinding, Prompt, Request

Release = Callable[[], None]
"""Releases a held lock."""

_BUSY_S = 60
_QUIET: dict[str, Any] = {"hide_parameters": True, "logging_name": "ledger"}
# at level DEBUG it shows every row, answers among them
logging.getLogger("sqlalchemy.engine.Engine.ledger").setLevel(logging.WARNING)


class LedgerError(LunguageError):
    """The ledger cannot be opened, read or written. An answer that could not be recorded is not used."""


def ledger_url(where: str | Path) -> URL:
    """An SQLAlchemy URL with a driver that is installed; from SQLAlchemy 2.1 plain `postgresql://` means
    psycopg 3 only.
    """
    if isinstance(where, Path) or "://" not in where:
        return URL.create("sqlite", database=str(Path(where).expanduser().absolute()))
    with suppress(SQLAlchemyError):
        url = make_url(re.sub("^postgres://", "postgresql://", where))
        if url.drivername == "postgresql":
            return url.set(
                drivername=f"postgresql+{'psycopg' if find_spec('psycopg') else 'psycopg2'}"
            )
        if url.get_backend_name() == "postgresql":
            return url
    raise LedgerError(
        "invalid ledger location; expected a path or postgresql://USER@HOST/DATABASE."
    )


def shown_location(url: URL) -> str:
    """The place without user or password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return f"postgresql://{url.host or ''}{f':{url.port}' if url.port else ''}/{url.database or ''}"


def ledger_engine(url: URL) -> Engine:
    """Connections that write."""
    if url.get_backend_name() == "postgresql":
        # a server that acknowledges commits before they are on disk is asked not to, here
        durable = {"options": "-c synchronous_commit=on"}
        return _postgresql(
            url,
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            connect_args=durable,
        )
    os.close(_opened(Path(str(url.database))))  # its -wal and -shm files take its mode
    engine = create_engine(url, connect_args={"timeout": _BUSY_S}, **_QUIET)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def reading_engine(url: URL) -> Engine:
    """Connections that cannot write, and leave no file beside an SQLite file that nobody has open."""
    if url.get_backend_name() == "postgresql":
        return _postgresql(
            url, poolclass=NullPool, execution_options={"postgresql_readonly": True}
        )
    path = Path(str(url.database))
    unshared = not path.with_name(f"{path.name}-wal").exists()  # nobody writes
    address = f"file:{quote(str(path))}?mode=ro{'&immutable=1' if unshared else ''}"
    return create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(address, uri=True),
        poolclass=NullPool,
        **_QUIET,
    )


def _postgresql(url: URL, **options: Any) -> Engine:
    try:
        return create_engine(url, **options, **_QUIET)
    except (ImportError, SQLAlchemyError) as error:
        raise LedgerError(
            f"ledger {shown_location(url)}: driver {url.drivername!r} cannot be used ({type(error).__name__})."
            " Install one: pip install 'lunguage-assets[scale]'."
        ) from None


def _opened(path: Path) -> int:
    """A descriptor of a file for its owner only, whatever the process's mask; made when it is not there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        os.fchmod(handle, 0o600)
        return handle
    except OSError as error:
        raise LedgerError(
            f"ledger {path}: cannot be opened for its owner alone ({type(error).__name__}); expected a plain "
            "file of yours, or a folder that you may write to. Name another place."
        ) from None


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    """Write-ahead log, forced to disk at every commit; transactions begin when we say so."""
    connection.isolation_level = None
    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0].lower() != "wal":
        raise LedgerError(
            "the ledger's file system has no write-ahead log; put the ledger on a local disk, or "
            "use PostgreSQL."
        )
    connection.execute("PRAGMA synchronous = FULL")


def _begin_sqlite(connection: Connection) -> None:
    """A writer takes its turn at once: a reader that turns writer later would fail instead of waiting."""
    connection.exec_driver_sql(
        "BEGIN IMMEDIATE"
        if connection.get_execution_options().get("ledger_writes")
        else "BEGIN"
    )


def model_lock_name(binding: ModelBinding) -> str:
    """Names the lock of a model: 32 hexadecimal digits, the same wherever the same answers are asked for."""
    return hashlib.sha256(
        request_key(binding, Request("compare", Prompt("", ""))).encode()
    ).hexdigest()[:32]


# Both locks end when the process that holds them dies, so that nobody has to guess who is alive.


def file_lock(ledger: Path, name: str) -> Release | None:
    """Take a lock beside an SQLite file; None while another holds it, in this process or elsewhere."""
    handle = _opened(ledger.with_name(f".{ledger.name}.{name[:16]}.lock"))
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None

    def release() -> None:
        fcntl.flock(
            handle, fcntl.LOCK_UN
        )  # also for a forked process that has the file open
        os.close(handle)

    return release


def session_lock(connection: Connection, name: str) -> Release | None:
    """Take a lock in a PostgreSQL database, held by this connection; None while another session holds it."""
    number = int.from_bytes(bytes.fromhex(name)[:8], "big", signed=True)
    try:
        connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        is_taken = connection.scalar(select(func.pg_try_advisory_lock(number)))
    except BaseException:
        connection.invalidate()  # it may hold the lock
        raise
    if not is_taken:
        connection.close()
        return None

    def release() -> None:
        try:
            connection.scalar(select(func.pg_advisory_unlock(number)))
        except SQLAlchemyError:
            connection.invalidate()  # it is gone, and the lock with it
        connection.close()

    return release
