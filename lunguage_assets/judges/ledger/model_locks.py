"""The lock of a model: of all who share a ledger, one at a time asks it.

Beside an SQLite file it is a locked file, in PostgreSQL a lock of the session. Both end
when the process that holds them dies, so that nobody has to guess who is alive.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.ledger.ledger_location import open_private
from lunguage_assets.judges.requests import ModelBinding, Prompt, Request
from lunguage_assets.locks import try_lock

Release = Callable[[], None]
"""Releases a held lock."""


def model_lock_name(binding: ModelBinding) -> str:
    """Name the lock of a model: 32 hexadecimal digits.

    It is the same wherever the same answers are asked for.
    """
    key = request_key(binding, Request("compare", Prompt("", "")))
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def file_lock(ledger: Path, name: str) -> Release | None:
    """Take a lock beside an SQLite file.

    Returns:
        None: another holds it, in this process or elsewhere.

    Raises:
        LedgerError: the lock's file cannot be opened.
    """
    # Not deleted afterwards: whoever opened it meanwhile would lock a file of the past.
    lock_file = ledger.with_name(f".{ledger.name}.{name[:16]}.lock")
    return try_lock(open_private(lock_file))


def session_lock(connection: Connection, name: str) -> Release | None:
    """Take a lock in a PostgreSQL database, held by this connection.

    Args:
        connection: kept until the lock is released.
        name: of the lock.

    Returns:
        None: another session holds it.
    """
    # PostgreSQL names such a lock by a signed number of 64 bits.
    number = int.from_bytes(bytes.fromhex(name)[:8], "big", signed=True)
    try:
        connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        is_taken = connection.scalar(select(func.pg_try_advisory_lock(number)))
    except BaseException:
        # It may hold the lock: the session has to end.
        connection.invalidate()
        raise
    if not is_taken:
        connection.close()
        return None

    def release() -> None:
        try:
            connection.scalar(select(func.pg_advisory_unlock(number)))
        except SQLAlchemyError:
            # The session is gone, and the lock with it.
            connection.invalidate()
        connection.close()

    return release
