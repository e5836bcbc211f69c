"""Which tests run, and in which order.

Those that start processes come first, so that several workers wait beside each other and none is left alone
at the end. Those that take minutes run where
they are asked for: `CI=true make test`, as `.ci/run` does.
"""

from __future__ import annotations

import os
import signal

import pytest

# Tests that a script started in the background interrupt what they start, all the same.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_FIRST = ("deploy", "platform", "judges")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return _FIRST.index(folder) if folder in _FIRST else len(_FIRST)

    items.sort(key=place)
    if not os.environ.get("CI"):
        skipped = pytest.mark.skip(reason="takes minutes: CI=true make test runs it")
        for item in items:
            if item.get_closest_marker("lengthy"):
                item.add_marker(skipped)
