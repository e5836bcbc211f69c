"""The garbage collector runs seldom while a run is at work, and as before afterwards."""

from __future__ import annotations

import gc

import pytest

from lunguage_assets.collector import collector_seldom


def test_the_collector_is_as_before_also_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="made here"), collector_seldom():
        assert gc.get_threshold()[0] > 100 * before[0]
        assert gc.isenabled()
        raise ValueError("made here")
    assert gc.get_threshold() == before
