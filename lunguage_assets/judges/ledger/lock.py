"""One asker per model and ledger: a lock that its process cannot outlive.

`flock` on a file beside an SQLite ledger, an advisory lock of the session in PostgreSQL: both end when the
process that holds them dies, so that nobody has to guess who is alive.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.ledger.ledger_place import LedgerError
from lunguage_assets.judges.requests import ModelBinding, Prompt, Request

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)


def lock_name(binding: ModelBinding) -> str:
    """Names the lock of a model: 32 hexadecimal digits, the same wherever the same answers are asked for."""
    return hashlib.sha256(request_key(binding, Request("compare", Prompt("", ""))).encode()).hexdigest()[:32]


class ModelLock:
    """A held lock; `release` ends it."""

    def __init__(self, held: int | sa.Connection, number: int = 0) -> None:
        self._held, self._number = held, number

    @classmethod
    def in_file(cls, ledger: Path, name: str) -> ModelLock | None:
        """The lock beside an SQLite file; None while another holds it, in this process or elsewhere.

        Raises:
            LedgerError: the file cannot be made.
        """
        path = ledger.with_name(f".{ledger.name}.{name[:16]}.lock")
        try:
            handle = os.open(path, _FLAGS, 0o600)
        except OSError as error:
            raise LedgerError(
                f"{path}: cannot be opened ({type(error).__name__}); expected a folder that you may write "
                "to. Name another place for the ledger."
            ) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return None
        return cls(handle)

    @classmethod
    def in_session(cls, connection: sa.Connection, name: str) -> ModelLock | None:
        """The lock in a PostgreSQL database, held by this connection; None while another session holds it."""
        number = int.from_bytes(bytes.fromhex(name)[:8], "big", signed=True)
        try:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            if connection.scalar(sa.select(sa.func.pg_try_advisory_lock(number))):
                return cls(connection, number)
        except BaseException:
            connection.invalidate()  # it may hold the lock
            raise
        connection.close()
        return None

    def release(self) -> None:
        """End it; harmless when the connection that held it is gone, and the lock with it."""
        if isinstance(self._held, int):
            fcntl.flock(self._held, fcntl.LOCK_UN)  # also for a forked process that has the file open
            os.close(self._held)
            return
        try:
            self._held.scalar(sa.select(sa.func.pg_advisory_unlock(self._number)))
        except SQLAlchemyError:
            self._held.invalidate()
        self._held.close()
