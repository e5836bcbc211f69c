"""The garbage collector runs seldom in a process that asks for it, and runs all the same."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from lunguage_assets.collector import collect_seldom


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_collector_looks_seldom_and_is_not_switched_off() -> None:
    gc.set_threshold(700, 10, 10)
    collect_seldom()
    assert gc.isenabled()
    assert gc.get_threshold()[0] > 10_000
