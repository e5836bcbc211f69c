"""Which tests run, and in which order.

Those that start processes come first, so that several workers wait beside each other and none is left alone at the end. Those that take minutes run where
they are asked for: `CI=true make test`, as `.ci/run` does, and the longest, in which services are killed and started again, with `LENGTHY=true make test`.
"""

from __future__ import annotations

import os

import pytest

_FIRST = ("deploy", "platform", "judges")
_ASKED_FOR = {"lengthy": "CI", "on_request": "LENGTHY"}
"""Marker -> the variable that must be set for its tests to run."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return _FIRST.index(folder) if folder in _FIRST else len(_FIRST)

    items.sort(key=place)
    for marker, variable in _ASKED_FOR.items():
        if not os.environ.get(variable):
            skipped = pytest.mark.skip(reason=f"takes minutes: {variable}=true make test runs it")
            for item in items:
                if item.get_closest_marker(marker):
                    item.add_marker(skipped)
