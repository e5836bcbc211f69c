"""The order of the tests: those that start processes first, so that several workers wait beside each other and none is left alone at the end."""

from __future__ import annotations

import pytest

_FIRST = ("deploy", "platform", "judges")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return _FIRST.index(folder) if folder in _FIRST else len(_FIRST)

    items.sort(key=place)
