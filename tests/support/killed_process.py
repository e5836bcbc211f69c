"""A process of its own, by fork, that SIGKILL ends before its n-th change of the disk.

Changes are found by Python's audit events (open for writing, rename, link, remove, chmod and their like) and,
as there is no event for them, at every `fsync`: of a file that is written whole and not yet named.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

_CHANGES = {
    "os.rename",
    "os.link",
    "os.symlink",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.chmod",
    "os.truncate",
}
DONE, FAILED = 0, 1


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Whether the work was killed before its change number `step`, from 0; False: it came to its end first.

    Raises:
        AssertionError: it ended with an error instead.
    """
    child = os.fork()
    if child == 0:
        _run(step, work)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status)
    assert killed or os.WEXITSTATUS(status) == DONE, "the work failed; its error is above"
    assert not killed or os.WTERMSIG(status) == signal.SIGKILL
    return killed


def _run(step: int, work: Callable[[], object]) -> None:
    left = step

    def change() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CHANGES or (event == "open" and _writes(arguments[2])):
            change()

    real = os.fsync

    def fsync(descriptor: int) -> None:
        change()
        real(descriptor)

    os.fsync = fsync
    sys.addaudithook(audit)
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(FAILED)
    os._exit(DONE)


def _writes(flags: object) -> bool:
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))
