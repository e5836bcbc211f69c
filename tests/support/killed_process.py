"""A process of its own, by fork, that SIGKILL ends before its n-th change of the disk.

Changes are found by Python's audit events (open for writing, rename, link, remove,
chmod and their like) and, as there is no event for them, at every `fsync`: of a file
that is written whole and not yet named.
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
DONE = 0
FAILED = 1


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Whether the work was killed before its change number `step`, from 0; False: it
    came to its end first.

    Raises:
        AssertionError: it ended with an error instead.
    """

    def kill(number: int) -> None:
        if number == step:
            os.kill(os.getpid(), signal.SIGKILL)

    return _ended_by_itself(kill, work) is False


def looked_at(look: Callable[[int], object], work: Callable[[], object]) -> None:
    """Do the work once, and call `look` with the number of every change of the disk,
    from 0, before it.

    What lies on the disk then is what a process that is killed there leaves: SIGKILL
    lets go of what was not written yet. One run so shows what as many killed ones
    would.

    Raises:
        AssertionError: the work, or a look, ended with an error.
    """
    assert _ended_by_itself(look, work)


def _ended_by_itself(
    before: Callable[[int], object], work: Callable[[], object]
) -> bool:
    child = os.fork()
    if child == 0:
        _run(before, work)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status)
    assert killed or os.WEXITSTATUS(status) == DONE, (
        "the work failed; its error is above"
    )
    assert not killed or os.WTERMSIG(status) == signal.SIGKILL
    return not killed


def _run(before: Callable[[int], object], work: Callable[[], object]) -> None:
    number = 0
    looking = False

    def change() -> None:
        nonlocal number, looking
        if looking:  # a look may write, too
            return
        looking = True
        before(number)
        number, looking = number + 1, False

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
