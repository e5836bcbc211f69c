"""Locks between processes: files that one process holds, or several share.

Every lock here is `flock` on a file that is never removed. It ends when the process
that holds it ends, however it ends, so that nobody has to guess whether a holder is
alive. The package `filelock` is not used: it has no shared lock, which commands at work
need.

Not here: locks in PostgreSQL (`judges/ledger/ledger_location.py`).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def exclusive_lock(path: Path) -> Iterator[TextIO]:
    """Hold a lock that nobody else holds; wait for it.

    Args:
        path: of the lock file, made where it is missing.

    Yields:
        The open file, in which the holder may leave a word for others.
    """
    # Not "w": it would empty the file before the lock is held, and with it the word of
    # the holder.
    with path.open("a+", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield stream


@contextmanager
def exclusive_lock_at_once(path: Path) -> Iterator[TextIO]:
    """Hold a lock that nobody else holds, without waiting for it.

    Args:
        path: of the lock file, made where it is missing.

    Yields:
        The open file, as `exclusive_lock` does.

    Raises:
        LockHeld: another process holds it, alone or with others.
    """
    with path.open("a+", encoding="utf-8") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.seek(0)
            raise LockHeld(stream.read()) from None
        yield stream


@contextmanager
def shared_lock(path: Path) -> Iterator[None]:
    """Hold a lock that others may share, but nobody hold alone; wait for it.

    Args:
        path: of the lock file, made where it is missing.
    """
    with path.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_SH)
        yield


def try_lock(handle: int) -> Callable[[], None] | None:
    """Lock an open file without waiting, for holders that end at no fixed place.

    Args:
        handle: descriptor of the lock file; closed when the lock is released or
            refused.

    Returns:
        The function that releases the lock; None while another holds it, in this
        process or elsewhere.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None

    def release() -> None:
        # A forked process may have the file open too: closing alone would not unlock
        # it.
        fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)

    return release


class LockHeld(Exception):
    """Another process holds the lock; the message is the word that it left there."""
