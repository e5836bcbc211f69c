"""Calibration of phrases that are distributions over readers, against outcomes (explicit.md section 6).

A phrase is what each reader takes it for, not one number ("Calibrating Expressions of Certainty", arXiv
2410.04315). The easy version, the calibration of the mean, calls a phrase calibrated on which no two readers
agree; here what a reader would lose by it counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.errors import MethodError

BINS = 10
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """A statement and what was there: its hedging phrase, its finding, whether it was present."""

    phrase: str
    finding: str
    present: bool


@dataclass(frozen=True, slots=True)
class DistributionCalibration:
    """Calibration of some cases.

    `by` and `value` say which ("all", "phrase" or "finding"). `brier` is the mean over cases and readers of
    (p - outcome) squared, and `brier_of_mean` what remains of it without the readers' disagreement; `ece` the
    expected calibration error; `mean_p` and `share_present` tell over- from under-confidence.
    """

    by: str
    value: str
    cases: int
    mean_p: float
    share_present: float
    brier: float
    brier_of_mean: float
    ece: float


def distribution_brier(readers: Sequence[Floats], present: Sequence[bool]) -> float:
    """Mean over cases of the expected squared error of a reader drawn at random.

    Args:
        readers: for each case the probabilities that its phrase has for each reader, from 0 to 1.
        present: for each case whether the finding was there.
    """
    errors = [np.mean((p - float(y)) ** 2) for p, y in zip(readers, present, strict=True)]
    return float(np.mean(errors))


def distribution_ece(readers: Sequence[Floats], present: Sequence[bool], bins: int = BINS) -> float:
    """Expected calibration error: every reader of a case puts an equal part of it into the bin of that
    reader's p; a bin's error is the distance of its mean p from its share of outcomes, weighted by its mass.

    Args:
        readers, present: as of `distribution_brier`.
        bins: equally wide ones.

    Where every phrase is one number this is the usual expected calibration error.
    """
    p = np.concatenate(readers)
    weight = np.concatenate([np.full(len(one), 1.0 / len(one)) for one in readers])
    outcome = np.repeat(np.asarray(present, dtype=np.float64), [len(one) for one in readers])
    at = np.minimum((p * bins).astype(np.int64), bins - 1)
    gaps = np.abs(np.bincount(at, weight * (p - outcome), minlength=bins))
    return float(gaps.sum() / weight.sum())


def reader_calibration(
    cases: Iterable[Case], ratings: Mapping[str, Sequence[float]], bins: int = BINS
) -> list[DistributionCalibration]:
    """Calibration of all cases, then per phrase and per finding, in alphabetical order.

    Args:
        cases: statements with outcomes.
        ratings: phrase -> probabilities of its readers, from 0 to 1.
        bins: of the expected calibration error.

    Raises:
        MethodError: a case's phrase has no ratings, or a rating is no probability.
    """
    known = {phrase: np.asarray(values, dtype=np.float64) for phrase, values in ratings.items()}
    if any(not len(p) or not ((p >= 0.0) & (p <= 1.0)).all() for p in known.values()):
        raise MethodError("ratings of a phrase are missing or not between 0 and 1. Mend the ratings.")
    listed = list(cases)
    without = {case.phrase for case in listed} - set(known)
    if without:
        raise MethodError(
            f"{len(without)} phrases of the outcomes have no ratings. Have them rated, or leave them out."
        )
    return [_calibrated(by, value, group, known, bins) for by, value, group in _groups(listed)]


def _groups(cases: Sequence[Case]) -> Iterator[tuple[str, str, list[Case]]]:
    if cases:
        yield "all", "", list(cases)
    for by in ("phrase", "finding"):
        grouped: dict[str, list[Case]] = {}
        for case in cases:
            grouped.setdefault(getattr(case, by), []).append(case)
        for value in sorted(grouped):
            yield by, value, grouped[value]


def _calibrated(
    by: str, value: str, cases: Sequence[Case], known: Mapping[str, Floats], bins: int
) -> DistributionCalibration:
    readers, present = [known[case.phrase] for case in cases], [case.present for case in cases]
    means = [np.array([one.mean()]) for one in readers]
    return DistributionCalibration(
        by,
        value,
        len(cases),
        float(np.mean(means)),
        float(np.mean(present)),
        distribution_brier(readers, present),
        distribution_brier(means, present),
        distribution_ece(readers, present, bins),
    )
