"""Which tests run, and in which order.

Those that start processes come first, so that several workers wait beside each other and none is left alone at the end. Those that take minutes run where
CI is set: `CI=true make test`, as `.ci/run` does.
"""

from __future__ import annotations

import os

import pytest

_FIRST = ("deploy", "platform", "judges")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return _FIRST.index(folder) if folder in _FIRST else len(_FIRST)

    items.sort(key=place)
    if not os.environ.get("CI"):
        minutes = pytest.mark.skip(reason="takes minutes: CI=true make test runs it")
        for item in items:
            if item.get_closest_marker("lengthy"):
                item.add_marker(minutes)
