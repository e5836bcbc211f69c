"""Whether p of a new batch is distributed otherwise than in the batches before it.

Large batches make every difference significant and small ones make none, so a drift needs both: a p value of
the two-sample Kolmogorov-Smirnov test that is not chance, and a distance that matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from lunguage_assets.home.home import Home
from lunguage_assets.home.store import is_stored, partition_path, read_table
from lunguage_assets.tables import FITTED_PROBABILITIES

BATCHES = 20
"""Latest earlier batches that a batch is compared with."""

CHANCE = 0.01
"""p value from which a difference counts as chance."""


@dataclass(frozen=True)
class Drift:
    """Two distributions of p compared: how many values each has, Kolmogorov-Smirnov distance, p value."""

    new: int
    earlier: int
    distance: float
    p_value: float
    drifted: bool


def drift_of_p(new: pd.DataFrame, earlier: Sequence[pd.DataFrame], allowed: float) -> Drift | None:
    """p of a batch's FITTED_PROBABILITIES beside that of earlier batches fitted with the same ranking; None:
    there is nothing to compare.

    Args:
        new: of the batch.
        earlier: of the batches before it. Studies that come again in the batch are left out.
        allowed: distance from which a difference matters.
    """
    from scipy.stats import ks_2samp  # slow to import, and definitions load this module

    studies, rankings = set(new["study_id"]), set(new["ranking_version"])
    before = [
        frame[~frame["study_id"].isin(studies) & frame["ranking_version"].isin(rankings)] for frame in earlier
    ]
    here, there = _informed([new]), _informed(before)
    if here.empty or there.empty:
        return None
    test = ks_2samp(here.to_numpy(), there.to_numpy())
    drifted = bool(test.pvalue < CHANCE and test.statistic >= allowed)
    return Drift(len(here), len(there), float(test.statistic), float(test.pvalue), drifted)


def _informed(frames: Sequence[pd.DataFrame]) -> pd.Series:
    """p of the pairs that have one on some ground."""
    values = [frame.loc[frame["p_source"] != "none", "p"].astype("float64") for frame in frames]
    return pd.concat(values) if values else pd.Series(dtype="float64")


def earlier_fits(home: Home, ranker: str, batch: str) -> dict[str, pd.DataFrame]:
    """FITTED_PROBABILITIES of the latest batches registered before this one, as far as they are stored in
    this version's form.
    """
    registered = home.registered()
    number = next((known.number for known in registered if known.key == batch), -1)
    before = [known.key for known in registered if known.number < number][-BATCHES:]
    paths = {key: partition_path(home.tables, "fitted_probabilities", ranker, key) for key in before}
    return {
        key: read_table(FITTED_PROBABILITIES, path)
        for key, path in paths.items()
        if is_stored(FITTED_PROBABILITIES, path)
    }
