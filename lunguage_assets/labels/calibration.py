"""Holds labels of a release against outcomes, and measures how well p is calibrated.

What the numbers mean is in docs/trust.md. Files of outcomes are read in
`other_labels.py`; the measures themselves, without labels, are in `measures.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit, ndtri

from lunguage_assets.explicit.fit.anchors import AnchorSet, ratings_of, reader_means
from lunguage_assets.explicit.fit.probability import Z95, Anchor
from lunguage_assets.explicit.fit.readers import ReaderSpread
from lunguage_assets.files import replace_file, write_csv
from lunguage_assets.labels.measures import (
    bins,
    calibration_in_the_large,
    coverage,
    distribution_brier,
    distribution_ece,
    expected_calibration_error,
    recalibration,
)
from lunguage_assets.pictures.validation_plots import reliability_diagram
from lunguage_assets.randomness import Floats
from lunguage_assets.tables.released import CALIBRATION
from lunguage_assets.wording import shown_phrase

ANCHOR_FILE = "anchor_ratings.csv"
MIN_CELLS_FOR_ANCHORS = 50
"""Hedged cells with an outcome below which no anchors are refitted."""
READERS = 21
"""Readings by which a distribution over readers is represented."""
_QUANTILES = ndtri((np.arange(READERS) + 0.5) / READERS)

_SAME_P = 1e-9
"""p of a label and of a row that differ by less are one p."""


@dataclass(frozen=True)
class LabelOutcomes:
    """Labels with an outcome.

    Attributes:
        cells: LABELS columns with `outcome`, `direct` (the label's p is that of the row
            that decided) and `phrase` (the hedging phrase of that row, where it is the
            only one; else empty).
        unmentioned: outcomes of labels without p.
        unknown: outcomes of studies that the release does not have.
        unknown_studies: how many such studies there are.
    """

    cells: pd.DataFrame
    unmentioned: int
    unknown: int
    unknown_studies: int


class RefittedAnchors(NamedTuple):
    """Anchors as outcomes have them.

    Attributes:
        anchors: empty where the outcomes give none.
        why_none: the reason then; else empty.
    """

    anchors: tuple[Anchor, ...] = ()
    why_none: str = ""


def label_outcomes(
    labels: pd.DataFrame, fitted: pd.DataFrame, outcomes: pd.DataFrame
) -> LabelOutcomes:
    """Put labels, hedging phrases and outcomes together.

    Args:
        labels: LABELS of the release.
        fitted: columns finding_id, phrases and p of FITTED_PROBABILITIES.
        outcomes: study_id, label and outcome (`read_outcomes`).
    """
    met = outcomes.merge(labels, on=["study_id", "label"], how="left")
    is_known = met["source"].notna()
    has_p = met["p"].notna()
    deciding = fitted[["finding_id", "phrases", "p"]].rename(columns={"p": "p_fitted"})
    deciding = deciding.drop_duplicates("finding_id", keep="last")
    cells = met[has_p].merge(deciding, on="finding_id", how="left")
    # A p that was bounded, or read the other way round, is not what the phrase says.
    distance = (cells["p"] - cells["p_fitted"]).abs()
    cells["direct"] = distance < _SAME_P
    # Of two phrases nobody knows which of them made p.
    phrases = cells.pop("phrases")
    is_of_one_phrase = cells["direct"] & (phrases.str.len() == 1)
    cells["phrase"] = phrases.str[0].where(is_of_one_phrase, "")
    unknown = met.loc[~is_known, "study_id"]
    return LabelOutcomes(
        cells=cells,
        unmentioned=int((is_known & ~has_p).sum()),
        unknown=len(unknown),
        unknown_studies=unknown.nunique(),
    )


def rated_by_readers(anchors: AnchorSet) -> dict[str, Floats]:
    """Take the p of each reader for every phrase that two or more have rated."""
    if not anchors.is_own or anchors.file.suffix.lower() != ".csv":
        return {}
    logits_by_phrase = reader_means(ratings_of(anchors.file)).groupby(
        "phrase", sort=False
    )
    return {
        str(phrase): expit(logits.to_numpy())
        for phrase, logits in logits_by_phrase
        if len(logits) > 1
    }


def calibration(
    outcomes: LabelOutcomes, spread: ReaderSpread, rated: Mapping[str, Floats]
) -> pd.DataFrame:
    """Measure the calibration of all cells, and of each group of them.

    Groups are of one label, one source, one source of p, or one hedging phrase where it
    is the only one of its finding. A hedge is a distribution over readers besides being
    a number (explicit.md section 6).

    Args:
        outcomes: labels with an outcome.
        spread: by which readers differ around a p.
        rated: p of each reader by phrase (`rated_by_readers`); goes before `spread`.

    Returns:
        A CALIBRATION frame.
    """
    return CALIBRATION.frame(
        {"by": by, "group": group, **_measures(cells, spread, rated)}
        for by, group, cells in _groups(outcomes.cells)
    )


def _groups(cells: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield by what cells are grouped, the group's name and its cells."""
    if cells.empty:
        return
    yield "all", "", cells
    for by in ("label", "source", "p_source"):
        for group, members in cells.groupby(by, sort=True):
            yield by, str(group), members
    with_phrase = cells[cells["phrase"] != ""]
    # A long phrase may be a patient's sentence: its begin names the group.
    shortened = with_phrase["phrase"].map(shown_phrase)
    for group, members in with_phrase.groupby(shortened, sort=True):
        yield "phrase", str(group), members


def _measures(
    cells: pd.DataFrame, spread: ReaderSpread, rated: Mapping[str, Floats]
) -> dict[str, Any]:
    """Measure the calibration of some cells, by column of CALIBRATION."""
    p = cells["p"].to_numpy(np.float64)
    outcome = cells["outcome"].to_numpy(np.float64)
    readers = []
    for phrase, p_of_cell in zip(cells["phrase"].tolist(), p.tolist(), strict=True):
        p_of_readers = rated.get(phrase)
        if p_of_readers is None:
            p_of_readers = readers_around(p_of_cell, spread)
        readers.append(p_of_readers)
    binned = bins(cells)
    all_cells = bins(cells, count=1).iloc[0]
    line = recalibration(p, outcome)
    slope = np.nan
    slope_error = np.nan
    if line is not None:
        slope = line.slope
        slope_error = np.sqrt(line.covariance[1, 1])
    intercept = calibration_in_the_large(p, outcome)
    return {
        "cells": len(cells),
        "positive": int(outcome.sum()),
        **all_cells[["mean_p", "observed", "observed_low", "observed_high"]],
        "brier": np.mean((p - outcome) ** 2),
        "ece": expected_calibration_error(binned),
        "reader_brier": distribution_brier(readers, outcome),
        "reader_ece": distribution_ece(readers, outcome),
        **_with_interval("slope", slope, slope_error),
        **_with_interval("intercept", intercept.value, intercept.error),
        "coverage": coverage(binned),
    }


def _with_interval(name: str, value: float, error: float) -> dict[str, float]:
    return {
        name: value,
        f"{name}_low": value - Z95 * error,
        f"{name}_high": value + Z95 * error,
    }


def readers_around(p: float, spread: ReaderSpread) -> Floats:
    """Represent how readers differ around a p, by `READERS` readings.

    They are evenly spaced quantiles of a distribution around p that is normal in logits
    on either side. 0 and 1 leave nothing to read.
    """
    if not 0.0 < p < 1.0:
        return np.array([p])
    middle = logit(p)
    # Readers differ more on one side of a p than on the other (explicit.md section 6).
    below, above = spread.deviations(middle)
    deviation = np.where(_QUANTILES < 0.0, below, above)
    logits = middle + deviation * _QUANTILES
    return np.asarray(expit(logits))


def refitted_anchors(
    outcomes: LabelOutcomes, anchors: Sequence[Anchor]
) -> RefittedAnchors:
    """Move the anchors to where the outcomes have them.

    logit p is linear in mu, so the logistic regression of the outcomes on logit p, over
    hedged cells whose p is fitted, moves the line of the anchors. The moved anchors are
    that line at the same phrases, with its 95% interval.
    """
    # Only such a p lies on the line of the anchors.
    is_fitted = outcomes.cells["direct"] & (outcomes.cells["p_source"] == "fitted")
    cells = outcomes.cells[is_fitted]
    if len(cells) < MIN_CELLS_FOR_ANCHORS:
        why_none = (
            f"{len(cells)} hedged cells have an outcome; {MIN_CELLS_FOR_ANCHORS} are "
            "the least"
        )
        return RefittedAnchors(why_none=why_none)
    p = cells["p"].to_numpy(np.float64)
    line = recalibration(p, cells["outcome"].to_numpy(np.float64))
    if line is None:
        why_none = "the outcomes are all the same, or p parts them without an overlap"
        return RefittedAnchors(why_none=why_none)
    # A line that does not rise would give all phrases one p, or reverse their order.
    slope_error = np.sqrt(line.covariance[1, 1])
    if line.slope - Z95 * slope_error <= 0.0:
        why_none = "the outcomes do not rise with p beyond chance, so they give no line"
        return RefittedAnchors(why_none=why_none)
    coefficients = np.array([line.intercept, line.slope])
    moved = []
    for anchor in anchors:
        position = np.array([1.0, anchor.logit])
        middle = position @ coefficients
        error = np.sqrt(position @ line.covariance @ position)
        # The interval is symmetric in logits, and stays within 0 and 1.
        moved_p = float(expit(middle))
        low = float(expit(middle - Z95 * error))
        high = float(expit(middle + Z95 * error))
        moved.append(Anchor(anchor.phrase, moved_p, low, high))
    return RefittedAnchors(anchors=tuple(moved))


def as_ratings(anchors: Sequence[Anchor]) -> pd.DataFrame:
    """Write anchors in the form of `anchor_ratings.csv`.

    Each phrase has two ratings, one standard error below and above: `rated_anchors`
    finds their mean, and a standard error of this size, again.
    """
    rows = []
    for anchor in anchors:
        p = anchor.probability
        # By the delta method: the slope of p over its logit is p (1 - p).
        error_of_p = anchor.logit_variance**0.5 * p * (1.0 - p)
        # No rating may leave the scale.
        error = min(error_of_p, p, 1.0 - p)
        for sentence, rating in ((1, p - error), (2, p + error)):
            percent = round(100.0 * rating, 6)
            rows.append(("outcomes", anchor.phrase, sentence, percent))
    return pd.DataFrame(rows, columns=["rater", "phrase", "sentence", "rating"])


def write_calibration(
    folder: Path,
    outcomes: LabelOutcomes,
    table: pd.DataFrame,
    anchors: Sequence[Anchor],
) -> list[str]:
    """Write tables, picture, and anchors where some were refitted.

    Args:
        folder: into which the files go.
        outcomes: labels with an outcome.
        table: CALIBRATION of them (`calibration`).
        anchors: refitted ones, or none.

    Returns:
        Names of the files.
    """
    points = bins(outcomes.cells)
    tables = {"calibration.csv": table, "reliability.csv": points}
    # Anchors of an earlier call would be taken for those of this one.
    (folder / ANCHOR_FILE).unlink(missing_ok=True)
    if anchors:
        tables[ANCHOR_FILE] = as_ratings(anchors)
    for name, frame in tables.items():
        write_csv(frame, folder / name)
    title = f"{len(outcomes.cells)} labels with an outcome"
    picture = reliability_diagram(points, title)
    replace_file(folder / "reliability.png", lambda stream: stream.write(picture))
    return [*tables, "reliability.png"]
