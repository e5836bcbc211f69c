"""Killing a pass at any of its steps: whatever changes the record, the home or the landing folder counts as
one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lunguage_assets.home.home import Home
from lunguage_assets.landing.place import LandingPlace
from lunguage_assets.landing.record import LandingRecord

_STEPS = {
    LandingRecord: ("remember", "forget", "intend", "settle", "withdraw", "index", "plan_move", "moved"),
    Home: ("claim", "_store"),
    LandingPlace: ("write", "move", "remove", "remove_empty_folders"),
}


class Killed(BaseException):
    """Nothing catches it, as nothing catches the end of a process."""


class Steps:
    """Counts steps; dies when `allowed` of them are done: after each, the next call is never made."""

    def __init__(self, allowed: int) -> None:
        self.allowed, self.made = allowed, 0

    def before(self) -> None:
        if self.made >= self.allowed:
            raise Killed
        self.made += 1


@contextmanager
def killed_after(steps: int) -> Iterator[Steps]:
    """Within, the process ends when so many steps are done."""
    counter = Steps(steps)
    with pytest.MonkeyPatch.context() as patch:
        for kind, methods in _STEPS.items():
            for method in methods:
                patch.setattr(kind, method, _counted(getattr(kind, method), counter))
        yield counter


def _counted(method: Any, counter: Steps) -> Any:
    def call(*arguments: Any, **named: Any) -> Any:
        counter.before()
        return method(*arguments, **named)

    return call
