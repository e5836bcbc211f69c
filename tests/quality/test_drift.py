"""A drift of p is a difference that is no chance and is large enough to matter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_homes import store_unchecked

from lunguage_assets.home.home import Home
from lunguage_assets.home.store import partition_path
from lunguage_assets.quality.drift import drift_of_p, earlier_fits
from lunguage_assets.tables import FITTED_PROBABILITIES, REPORTS

ALLOWED = 0.1


def fits(n: int, centre: float, seed: int, study: str = "s", ranking: str = "r") -> pd.DataFrame:
    """Pairs of one study each, with p around a centre."""
    p = np.random.default_rng(seed).normal(centre, 0.15, n).clip(0.01, 0.99)
    frame = pd.DataFrame({"study_id": [f"{study}{number}" for number in range(n)], "p": p})
    return frame.assign(p_source="fitted", ranking_version=ranking)


@pytest.mark.parametrize(
    ("n", "centre", "drifted"),
    [
        pytest.param(300, 0.5, False, id="the same distribution"),
        pytest.param(300, 0.6, True, id="another one"),
        pytest.param(40_000, 0.51, False, id="no chance, but too small to matter"),
        pytest.param(4, 0.7, False, id="too few to say"),
    ],
)
def test_a_drift_is_no_chance_and_matters(n: int, centre: float, drifted: bool) -> None:
    found = drift_of_p(fits(n, centre, 1), [fits(900, 0.5, 2, "t"), fits(max(n, 900), 0.5, 3, "u")], ALLOWED)
    assert found is not None
    assert found.drifted is drifted
    assert found.new == n


def test_what_cannot_be_compared_is_left_out() -> None:
    new = fits(300, 0.6, 1)
    assert drift_of_p(new, [], ALLOWED) is None
    assert drift_of_p(new.assign(p_source="none"), [fits(300, 0.5, 2, "t")], ALLOWED) is None
    assert drift_of_p(new, [fits(300, 0.5, 2, "t", ranking="of before")], ALLOWED) is None
    assert drift_of_p(new, [fits(300, 0.5, 2)], ALLOWED) is None, "the same studies again"


def test_earlier_batches_are_those_registered_before_and_stored_in_this_form(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    for batch in ("one", "two", "three", "four"):
        delivery = tmp_path / batch
        delivery.mkdir()
        (delivery / "Lunguage.csv").write_text(f"study_id\n{batch}\n")
        home.register(delivery, batch, "corpus", "synthetic")
    for batch, table in (("one", REPORTS), ("three", FITTED_PROBABILITIES), ("four", FITTED_PROBABILITIES)):
        path = partition_path(home.tables, "fitted_probabilities", "panel", batch)
        store_unchecked(table, table.frame(), Path(str(path)))
    assert list(earlier_fits(home, "panel", "four")) == ["three"]
    assert earlier_fits(home, "panel", "one") == earlier_fits(home, "panel", "unknown") == {}
