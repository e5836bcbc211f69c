"""Whether a new batch differs from earlier ones by more than chance and by enough to matter.

Large batches make every difference significant and small ones make none, so a drift needs both: a p value
that is not chance, and an effect of a size that is configured. The unit of chance is the study: findings of
one report are alike. Where earlier batches are read is in `earlier.py`, what is compared in `measures.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import kolmogorov

from lunguage_assets.settings import CheckSettings


@dataclass(frozen=True)
class Sample:
    """Values of several studies, summed up.

    Args:
        values: how many there are.
        studies: how many studies they come from.
        squares: sum of the squared numbers of values per study.
        between: sum of squares between studies, of the one-way analysis of variance.
        within: sum of squares within studies.
        mean, sd: of the values.
        quantiles: 10%, 50% and 90% of the values.
    """

    values: int
    studies: int
    squares: float
    between: float
    within: float
    mean: float
    sd: float
    quantiles: tuple[float, float, float]

    @property
    def effective(self) -> float:
        """How many independent values these are worth: their number over Kish's design effect, 1 + (mean
        study size - 1) x ICC.

        The intraclass correlation comes from the one-way analysis of variance; studies of different size
        weigh as Kish has it.
        """
        n, groups = self.values, self.studies
        if n <= groups or groups < 2:
            return float(min(n, groups))
        between, within = self.between / (groups - 1), self.within / (n - groups)
        typical = (n - self.squares / n) / (groups - 1)
        total = between + (typical - 1.0) * within
        alike = min(max((between - within) / total, 0.0), 1.0) if total > 0.0 else 1.0
        return n / (1.0 + (self.squares / n - 1.0) * alike)


@dataclass(frozen=True)
class Shift:
    """Two distributions compared: Kolmogorov-Smirnov distance, p value on effective sizes, is it a drift."""

    distance: float
    p_value: float
    drifted: bool


def distribution_shift(distance: float, new: Sample, earlier: Sample, settings: CheckSettings) -> Shift:
    """The two-sample Kolmogorov-Smirnov test of a distance.

    The p value is the asymptotic one with Stephens' correction, on effective sizes. Ties, which equal
    sentences make, push it up: the test then says less than it could, never more.
    """
    one, other = new.effective, earlier.effective
    root = math.sqrt(one * other / (one + other))
    p_value = float(kolmogorov((root + 0.12 + 0.11 / root) * distance))
    drifted = p_value < settings.drift_p_value and distance >= settings.drift_distance
    return Shift(distance, p_value, drifted)


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
    """Every share with studies on both sides, in the order given."""
    comparable = [share for share in shares if share.studies and share.studies_earlier]
    corrected = _holm([_fisher(share) for share in comparable])
    found = []
    for share, p_value in zip(comparable, corrected, strict=True):
        effect = _angle(share.hits, share.studies) - _angle(share.hits_earlier, share.studies_earlier)
        drifted = p_value < settings.drift_p_value and abs(effect) >= settings.drift_effect
        found.append(ShareShift(share, p_value, effect, drifted))
    return found


def _fisher(share: Share) -> float:
    from scipy.stats import fisher_exact  # slow to import, and definitions load this module

    here = [share.hits, share.studies - share.hits]
    earlier = [share.hits_earlier, share.studies_earlier - share.hits_earlier]
    return float(fisher_exact([here, earlier]).pvalue)


def _angle(hits: int, studies: int) -> float:
    return 2.0 * math.asin(math.sqrt(hits / studies))


def _holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: the chance of any false alarm among all comparisons stays below the level."""
    p, order = np.array(p_values, dtype=np.float64), np.argsort(p_values, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1.0)
    return list(map(float, corrected))
