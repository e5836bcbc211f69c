"""Whether p of a new batch is distributed otherwise than in the batches before it.

Large batches make every difference significant and small ones make none, so a drift needs both: a p value of
the two-sample Kolmogorov-Smirnov test that is not chance, and a distance that matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from lunguage_assets.home.home import Home
from lunguage_assets.home.store import is_stored, partition_path, read_table
from lunguage_assets.tables import FITTED_PROBABILITIES

BATCHES = 20
"""Latest earlier batches that a batch is compared with."""

CHANCE = 0.01
"""p value from which a difference counts as chance."""


class Drift(NamedTuple):
    """Two distributions of p compared: how many values each has, Kolmogorov-Smirnov distance, p value."""

    new: int
    earlier: int
    distance: float
    p_value: float
    drifted: bool


def drift_of_p(new: pd.DataFrame, earlier: Sequence[pd.DataFrame], allowed: float) -> Drift | None:
    """p of a batch's FITTED_PROBABILITIES beside that of earlier batches of the same ranking, without studies
    that come again and pairs without information; None: there is nothing to compare. `allowed` is the
    distance from which a difference matters.
    """
    from scipy.stats import ks_2samp  # slow to import, and definitions load this module

    before = pd.concat([new.head(0), *earlier])
    before = before[~before["study_id"].isin(new["study_id"])]
    before = before[before["ranking_version"].isin(new["ranking_version"])]
    here, there = (frame.loc[frame["p_source"] != "none", "p"].astype("float64") for frame in (new, before))
    if here.empty or there.empty:
        return None
    test = ks_2samp(here.to_numpy(), there.to_numpy())
    drifted = bool(test.pvalue < CHANCE and test.statistic >= allowed)
    return Drift(len(here), len(there), float(test.statistic), float(test.pvalue), drifted)


def earlier_fits(home: Home, ranker: str, batch: str) -> dict[str, pd.DataFrame]:
    """FITTED_PROBABILITIES of the latest batches registered before this one, as far as they are stored in
    this version's form.
    """
    keys = [known.key for known in home.registered()]
    before = keys[: keys.index(batch)] if batch in keys else []
    paths = {
        key: partition_path(home.tables, "fitted_probabilities", ranker, key) for key in before[-BATCHES:]
    }
    stored = {key: path for key, path in paths.items() if is_stored(FITTED_PROBABILITIES, path)}
    return {key: read_table(FITTED_PROBABILITIES, path) for key, path in stored.items()}
