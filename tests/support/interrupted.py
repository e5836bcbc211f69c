"""Killing a pass at any of its steps: a step is any change of a file.

Steps on the disk are found by Python's own audit events, so that no test knows how a pass is written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree", "shutil.copyfile"}


class Killed(BaseException):
    """Nothing catches it, as nothing catches the end of a process."""


class Steps:
    """Counts steps; dies when `allowed` of them are done, and stays dead: no cleaning up changes a file."""

    def __init__(self, allowed: int) -> None:
        self.allowed, self.made = allowed, 0

    def before(self) -> None:
        if self.made >= self.allowed:
            raise Killed
        self.made += 1


_present: list[Steps] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _present or "/staging/" in str(arguments[0]):  # thrown away by the next pass
        return
    if event in _CHANGES or (event == "open" and _writes(arguments[2])):
        _present[-1].before()


def _writes(flags: object) -> bool:
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))


sys.addaudithook(_audit)


@contextmanager
def killed_after(steps: int) -> Iterator[Steps]:
    """Within, the process ends when so many steps on the disk are done."""
    _present.append(Steps(steps))
    try:
        yield _present[-1]
    finally:
        _present.pop()
