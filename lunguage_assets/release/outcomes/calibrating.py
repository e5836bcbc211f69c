"""p of labels held against outcomes: CALIBRATION by group, and anchors refitted to the outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from lunguage_assets.explicit.fit.anchors import AnchorSet, ratings_of, reader_means
from lunguage_assets.explicit.fit.probability import Z95, Anchor
from lunguage_assets.explicit.hedges.shown import shown_phrase
from lunguage_assets.files import replace_file, write_csv
from lunguage_assets.pictures.plots import reliability_diagram
from lunguage_assets.release.outcomes.measures import (
    Floats,
    bins,
    brier,
    calibration_in_the_large,
    coverage,
    distribution_brier,
    distribution_ece,
    expected_calibration_error,
    readers_around,
    recalibration,
    wilson,
)
from lunguage_assets.tables import CALIBRATION

ANCHORS = "anchor_ratings.csv"
LEAST_FOR_ANCHORS = 50
"""Hedged cells with an outcome below which no anchors are refitted."""

_SAME_P = 1e-9


@dataclass(frozen=True)
class LabelOutcomes:
    """Labels with an outcome.

    `cells`: LABELS columns of mentioned labels with `outcome`, `direct` (the p of the row that decided is the
    label's, and not turned round) and `phrase` (of that row, where it is the only one; else empty). The
    counts are cells of the outcomes that are in no group: `unmentioned` has no p, `unknown` no study in the
    release; `unknown_studies` are the latter's.
    """

    cells: pd.DataFrame
    unmentioned: int
    unknown: int
    unknown_studies: int


def label_outcomes(labels: pd.DataFrame, fitted: pd.DataFrame, outcomes: pd.DataFrame) -> LabelOutcomes:
    """LABELS, FITTED_PROBABILITIES (finding_id, phrases, p) and outcomes (`read_outcomes`) of the same
    corpus.
    """
    met = outcomes.merge(labels, on=["study_id", "label"], how="left")
    is_known = met["source"].notna()
    has_p = is_known & met["p"].notna()
    deciding = fitted[["finding_id", "phrases", "p"]].rename(columns={"p": "p_fitted"})
    cells = met[has_p].merge(deciding.drop_duplicates("finding_id", keep="last"), on="finding_id", how="left")
    cells["direct"] = (cells["p"] - cells["p_fitted"]).abs() < _SAME_P
    phrases = cells.pop("phrases")
    cells["phrase"] = phrases.str[0].where(cells["direct"] & (phrases.str.len() == 1), "")
    return LabelOutcomes(
        cells,
        int((is_known & ~has_p).sum()),
        int((~is_known).sum()),
        int(met.loc[~is_known, "study_id"].nunique()),
    )


@dataclass(frozen=True)
class Readers:
    """Readings of a hedge by people: where a phrase was rated by two readers or more, their p; else spread
    around p with a `deviation` in logits.
    """

    deviation: float
    rated: Mapping[str, Floats] = field(default_factory=dict)

    @staticmethod
    def of(anchors: AnchorSet) -> Readers:
        """The readers that the anchors in use tell of."""
        if not anchors.is_own or anchors.file.suffix.lower() != ".csv":
            return Readers(anchors.spread.sd)
        means = reader_means(ratings_of(anchors.file)).groupby("phrase", sort=False)
        rated = {str(phrase): expit(of.to_numpy()) for phrase, of in means if len(of) > 1}
        return Readers(anchors.spread.sd, rated)

    def of_cells(self, cells: pd.DataFrame) -> list[Floats]:
        """For each cell the p of its readers."""
        known = (self.rated.get(phrase) for phrase in cells["phrase"].tolist())
        around = (readers_around(p, self.deviation) for p in cells["p"].tolist())
        return [spread if rated is None else rated for rated, spread in zip(known, around, strict=True)]


def calibration(found: LabelOutcomes, readers: Readers) -> pd.DataFrame:
    """CALIBRATION: all cells, by label, by source, by source of p, and by hedging phrase where it is the only
    one of its finding.

    As arXiv 2410.04315 has it, a hedge is a distribution over readers besides being a number.
    """
    return CALIBRATION.frame(
        {"by": by, "group": group, **_measured(cells, readers)} for by, group, cells in _groups(found.cells)
    )


def _groups(cells: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    if cells.empty:
        return
    yield "all", "", cells
    for by in ("label", "source", "p_source"):
        for group, rows in cells.groupby(by, sort=True):
            yield by, str(group), rows
    single = cells[cells["phrase"] != ""]
    for group, rows in single.groupby(single["phrase"].map(shown_phrase), sort=True):
        yield "phrase", str(group), rows


def reliability(cells: pd.DataFrame) -> pd.DataFrame:
    """Bins of equally many cells."""
    return bins(*(_values(cells, name) for name in ("p", "p_low", "p_high", "outcome")))


def _measured(cells: pd.DataFrame, readers: Readers) -> dict[str, Any]:
    p, outcome = _values(cells, "p"), _values(cells, "outcome")
    read, found = readers.of_cells(cells), reliability(cells)
    observed, low, high = wilson(int(outcome.sum()), len(outcome))
    covered, possible = coverage(found)
    line = recalibration(p, outcome)
    slope, slope_error = (line.slope, line.slope_error) if line is not None else (np.nan, np.nan)
    intercept, intercept_error = calibration_in_the_large(p, outcome) or (np.nan, np.nan)
    return {
        "cells": len(cells),
        "positive": int(outcome.sum()),
        "mean_p": p.mean(),
        "observed": observed,
        "observed_low": low,
        "observed_high": high,
        "brier": brier(p, outcome),
        "ece": expected_calibration_error(found),
        "reader_brier": distribution_brier(read, outcome),
        "reader_ece": distribution_ece(read, outcome),
        "slope": slope,
        "slope_low": slope - Z95 * slope_error,
        "slope_high": slope + Z95 * slope_error,
        "intercept": intercept,
        "intercept_low": intercept - Z95 * intercept_error,
        "intercept_high": intercept + Z95 * intercept_error,
        "coverage": covered,
        "coverage_possible": possible,
    }


def refitted_anchors(found: LabelOutcomes, anchors: Sequence[Anchor]) -> tuple[tuple[Anchor, ...], str]:
    """The anchors as the outcomes have them, or none and why.

    logit p is linear in the place on the ranking, so the logistic regression of the outcomes on logit p, over
    hedged cells whose p is fitted, moves the line of the anchors to where it fits the outcomes best. The
    anchors are that line at the same phrases, with its 95% interval there.
    """
    cells = found.cells[found.cells["direct"] & (found.cells["p_source"] == "fitted")]
    if len(cells) < LEAST_FOR_ANCHORS:
        return (), f"{len(cells)} hedged cells have an outcome; {LEAST_FOR_ANCHORS} are the least"
    line = recalibration(_values(cells, "p"), _values(cells, "outcome"))
    if line is None:
        return (), "the outcomes are all the same, or p parts them without an overlap"
    if line.slope - Z95 * line.slope_error <= 0.0:
        return (), "the outcomes do not rise with p beyond chance, so they give no line"
    moved = []
    for anchor in anchors:
        at = np.array([1.0, anchor.logit])
        place = line.intercept + line.slope * anchor.logit
        error = float(np.sqrt(at @ line.covariance @ at))
        p, low, high = (float(expit(place + times * error)) for times in (0.0, -Z95, Z95))
        moved.append(Anchor(anchor.phrase, p, low, high))
    return tuple(moved), ""


def as_ratings(anchors: Sequence[Anchor]) -> pd.DataFrame:
    """Anchors in the form of `anchor_ratings.csv`: two ratings a phrase, one standard error below and above,
    so that `rated_anchors` finds their mean and a standard error of this size again.
    """
    rows = []
    for anchor in anchors:
        error = anchor.logit_variance**0.5 * anchor.probability * (1.0 - anchor.probability)
        error = min(error, anchor.probability, 1.0 - anchor.probability)
        for sentence, rating in enumerate((anchor.probability - error, anchor.probability + error), start=1):
            rows.append(("outcomes", anchor.phrase, sentence, round(100.0 * rating, 6)))
    return pd.DataFrame(rows, columns=["rater", "phrase", "sentence", "rating"])


def write_calibration(
    folder: Path, found: LabelOutcomes, table: pd.DataFrame, anchors: Sequence[Anchor]
) -> list[Path]:
    """Write `calibration.csv`, `reliability.csv`, `reliability.png`, and anchors where some were refitted.

    Args:
        folder: is made.
        found: labels with an outcome.
        table: CALIBRATION of them.
        anchors: refitted ones, or none.
    """
    points = reliability(found.cells)
    tables = {"calibration.csv": table, "reliability.csv": points}
    if anchors:
        tables[ANCHORS] = as_ratings(anchors)
    else:
        (folder / ANCHORS).unlink(missing_ok=True)
    for name, frame in tables.items():
        write_csv(frame, folder / name)
    picture = reliability_diagram(points, f"{len(found.cells)} labels with an outcome")
    replace_file(folder / "reliability.png", lambda stream: stream.write(picture))
    return [folder / name for name in (*tables, "reliability.png")]


def _values(cells: pd.DataFrame, name: str) -> Floats:
    return cells[name].to_numpy(dtype=np.float64)
