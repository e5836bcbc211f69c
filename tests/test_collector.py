"""The garbage collector runs seldom while a run is at work, and as before afterwards."""

from __future__ import annotations

import gc

import pytest

from lunguage_assets.collector import collector_seldom


def fails_within() -> None:
    with collector_seldom():
        assert gc.isenabled()
        assert gc.get_threshold()[0] > 10_000
        raise ValueError("made here")


def test_the_collector_is_as_before_also_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="made here"):
        fails_within()
    assert gc.get_threshold() == before
