"""Locks between processes: files that one process holds, or several share.

Every lock here is `flock` on a file that is never removed. It ends when the process
that holds it ends, however it ends, so that nobody has to guess whether a holder is
alive. The package `filelock` is not used: it has no shared lock, which commands at work
need.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

COMMAND_LOCK = ".command.lock"
"""File of a home that commands at work hold."""


class LockHeld(Exception):
    """Another process holds the lock."""


def exclusive_lock(path: Path) -> AbstractContextManager[None]:
    """Hold a lock that nobody else holds; wait for it.

    Args:
        path: of the lock file, made where it is missing.
    """
    return _lock(path, fcntl.LOCK_EX)


def exclusive_lock_at_once(path: Path) -> AbstractContextManager[None]:
    """Hold a lock that nobody else holds, without waiting for it.

    Args:
        path: of the lock file, made where it is missing.

    Raises:
        LockHeld: another process holds it, alone or with others.
    """
    return _lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)


def shared_lock(path: Path) -> AbstractContextManager[None]:
    """Hold a lock that others may share, but nobody hold alone; wait for it.

    Args:
        path: of the lock file, made where it is missing.
    """
    return _lock(path, fcntl.LOCK_SH)


@contextmanager
def command_at_work(home: Path) -> Iterator[None]:
    """Hold a lock on the home, so that automation leaves its batches to this command.

    Several commands may hold it; it ends with the process, however that ends.
    """
    with shared_lock(home / COMMAND_LOCK):
        yield


def is_at_work(home: Path) -> bool:
    """Tell whether a living command holds the lock, or one that looks just now."""
    try:
        with exclusive_lock_at_once(home / COMMAND_LOCK):
            return False
    except LockHeld:
        return True


@contextmanager
def _lock(path: Path, operation: int) -> Iterator[None]:
    with path.open("a") as stream:
        try:
            fcntl.flock(stream, operation)
        except BlockingIOError:
            raise LockHeld from None
        yield
