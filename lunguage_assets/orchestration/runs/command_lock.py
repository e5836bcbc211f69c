"""A command that carries batches on holds a lock on its home, so that automation leaves them to it.

The lock ends with the process, however it ends.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FILE = ".command.lock"


@contextmanager
def command_at_work(home: Path) -> Iterator[None]:
    """Hold the lock. Several commands may: the lock is shared among them."""
    with (home / _FILE).open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_SH)
        yield


def is_at_work(home: str | Path) -> bool:
    """Whether a living command holds the lock."""
    try:
        with (Path(home) / _FILE).open("a") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no home yet
        return False
    return False
