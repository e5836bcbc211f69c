"""A process of its own, by fork, that SIGKILL ends before its n-th change of the disk.

Changes are found by Python's audit events (open for writing, rename, link, remove,
chmod and their like) and, as there is no event for them, at every `fsync`: of a file
that is written whole and not yet named.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

CHANGES = ["rename", "link", "symlink", "remove", "mkdir", "rmdir", "chmod", "truncate"]


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Whether the work was killed before its change number `step`, from 0; False: it
    came to its end first.

    Raises:
        AssertionError: it ended with an error instead.
    """
    child = os.fork()
    if child == 0:
        _run(step, work)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the work failed; its error is above"
    return False


def _run(step: int, work: Callable[[], object]) -> None:
    numbers = itertools.count()
    fsync = os.fsync

    def change() -> None:
        if next(numbers) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        flags = arguments[2] if event == "open" else None
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
        if writes or event.removeprefix("os.") in CHANGES:
            change()

    def change_and_fsync(descriptor: int) -> None:
        change()
        fsync(descriptor)

    os.fsync = change_and_fsync
    sys.addaudithook(audit)
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
