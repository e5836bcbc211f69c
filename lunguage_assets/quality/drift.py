"""Whether a new batch differs from earlier ones by more than chance and by enough to matter; arrays and
counts in, verdicts out.

Large batches make every difference significant and small ones make none, so a drift needs both: a p value
that is not chance, and an effect of a size that is configured. The unit of chance is the study: findings of
one report are alike. Where earlier batches are read is in `earlier.py`, what is compared in `measures.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.settings import CheckSettings

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """Values with the study that each comes from; arrays of one length."""

    values: Floats
    studies: NDArray[np.object_]

    @property
    def effective(self) -> float:
        """How many independent values these are worth: their number over Kish's design effect, 1 + (mean
        study size - 1) x ICC.

        The intraclass correlation comes from the one-way analysis of variance; studies of different size
        weigh as Kish has it.
        """
        n = len(self.values)
        _, place = np.unique(self.studies.astype(str), return_inverse=True)
        sizes = np.bincount(place).astype(np.float64)
        groups = len(sizes)
        if n <= groups or groups < 2:
            return float(min(n, groups))
        means = np.bincount(place, weights=self.values) / sizes
        between = float((sizes * (means - self.values.mean()) ** 2).sum()) / (groups - 1)
        within = float(((self.values - means[place]) ** 2).sum()) / (n - groups)
        typical = (n - float((sizes**2).sum()) / n) / (groups - 1)
        total = between + (typical - 1.0) * within
        alike = min(max((between - within) / total, 0.0), 1.0) if total > 0.0 else 1.0
        return n / (1.0 + (float((sizes**2).sum()) / n - 1.0) * alike)


@dataclass(frozen=True)
class Shift:
    """Two distributions compared: Kolmogorov-Smirnov distance, p value on effective sizes, and whether that
    is a drift.
    """

    distance: float
    p_value: float
    effective: float
    effective_earlier: float
    drifted: bool


def distribution_shift(new: Sample, earlier: Sample, settings: CheckSettings) -> Shift | None:
    """The two-sample Kolmogorov-Smirnov test; None when one of the two is empty.

    The p value is the asymptotic one with Stephens' correction, on effective sizes. Ties, which equal
    sentences make, push it up: the test then says less than it could, never more.
    """
    from scipy import stats  # takes most of a second to import, and definitions are loaded often

    if not len(new.values) or not len(earlier.values):
        return None
    distance = float(stats.ks_2samp(new.values, earlier.values, method="asymp").statistic)
    one, other = new.effective, earlier.effective
    root = math.sqrt(one * other / (one + other))
    p_value = float(stats.kstwobign.sf((root + 0.12 + 0.11 / root) * distance))
    drifted = p_value < settings.drift_p_value and distance >= settings.drift_distance
    return Shift(distance, p_value, one, other, drifted)


@dataclass(frozen=True)
class Share:
    """So many of so many studies, here and in earlier batches."""

    label: str
    hits: int
    studies: int
    hits_earlier: int
    studies_earlier: int


@dataclass(frozen=True)
class ShareShift:
    """Two shares compared: Fisher's exact p value, corrected for the number of comparisons (Holm), and
    Cohen's h (new minus earlier).
    """

    share: Share
    p_value: float
    effect: float
    drifted: bool


def share_shifts(shares: Sequence[Share], settings: CheckSettings) -> list[ShareShift]:
    """Every share that can be compared, in the order given; one without studies on either side says nothing
    and is left out.
    """
    comparable = [share for share in shares if share.studies and share.studies_earlier]
    corrected = _holm([_fisher(share) for share in comparable])
    found = []
    for share, p_value in zip(comparable, corrected, strict=True):
        effect = _angle(share.hits, share.studies) - _angle(share.hits_earlier, share.studies_earlier)
        drifted = p_value < settings.drift_p_value and abs(effect) >= settings.drift_effect
        found.append(ShareShift(share, p_value, effect, drifted))
    return found


def _fisher(share: Share) -> float:
    from scipy import stats

    counts = [
        [share.hits, share.studies - share.hits],
        [share.hits_earlier, share.studies_earlier - share.hits_earlier],
    ]
    return float(stats.fisher_exact(counts).pvalue)


def _angle(hits: int, studies: int) -> float:
    return 2.0 * math.asin(math.sqrt(hits / studies))


def _holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: the chance of any false alarm among all comparisons stays below the level asked
    for.
    """
    if not p_values:
        return []
    from statsmodels.stats.multitest import multipletests  # takes a second to import

    return [float(p) for p in multipletests(p_values, method="holm")[1]]
