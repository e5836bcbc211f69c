"""Labels of a release held against outcomes and beside labels that others made, and the measures of both. A p
of 0 or 1 has no logit: slope and intercept leave such cells out.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit, ndtri

from lunguage_assets.explicit.fit.anchors import AnchorSet, ratings_of, reader_means
from lunguage_assets.explicit.fit.probability import Z95, Anchor
from lunguage_assets.explicit.fit.readers import ReaderSpread
from lunguage_assets.files import replace_file, write_csv
from lunguage_assets.labels.other_labels import ANSWERS
from lunguage_assets.pictures.plots import reliability_diagram
from lunguage_assets.randomness import Floats
from lunguage_assets.tables.released import CALIBRATION, LABEL_SOURCES
from lunguage_assets.wording import shown_phrase

ANCHORS = "anchor_ratings.csv"
LEAST_FOR_ANCHORS = 50
"""Hedged cells with an outcome below which no anchors are refitted."""
BINS = 10
READERS = 21
"""Readings by which a distribution over readers is represented."""
_QUANTILES = ndtri((np.arange(READERS) + 0.5) / READERS)

_SAME_P = 1e-9


@dataclass(frozen=True)
class LabelOutcomes:
    """Labels with an outcome: LABELS columns with `outcome`, `direct` (the label's p is that of the row that
    decided) and `phrase` (of that row, where it is the only one; else empty). The counts are cells of the
    outcomes that are in no group: without p, without a study in the release, and how many such studies.
    """

    cells: pd.DataFrame
    unmentioned: int
    unknown: int
    unknown_studies: int


def label_outcomes(
    labels: pd.DataFrame, fitted: pd.DataFrame, outcomes: pd.DataFrame
) -> LabelOutcomes:
    """LABELS, FITTED_PROBABILITIES (finding_id, phrases, p) and outcomes (`read_outcomes`) together."""
    met = outcomes.merge(labels, on=["study_id", "label"], how="left")
    is_known, has_p = met["source"].notna(), met["p"].notna()
    deciding = fitted[["finding_id", "phrases", "p"]].rename(columns={"p": "p_fitted"})
    cells = met[has_p].merge(
        deciding.drop_duplicates("finding_id", keep="last"), on="finding_id", how="left"
    )
    cells["direct"] = (cells["p"] - cells["p_fitted"]).abs() < _SAME_P
    phrases = cells.pop("phrases")
    cells["phrase"] = phrases.str[0].where(
        cells["direct"] & (phrases.str.len() == 1), ""
    )
    unknown = met.loc[~is_known, "study_id"]
    return LabelOutcomes(
        cells, int((is_known & ~has_p).sum()), len(unknown), unknown.nunique()
    )


def rated_by_readers(anchors: AnchorSet) -> dict[str, Floats]:
    """The p of each reader for every phrase that two readers or more have rated."""
    if not anchors.is_own or anchors.file.suffix.lower() != ".csv":
        return {}
    means = reader_means(ratings_of(anchors.file)).groupby("phrase", sort=False)
    return {str(phrase): expit(of.to_numpy()) for phrase, of in means if len(of) > 1}


def calibration(
    found: LabelOutcomes, spread: ReaderSpread, rated: Mapping[str, Floats]
) -> pd.DataFrame:
    """CALIBRATION: all cells, by label, by source, by source of p, and by hedging phrase where it is the only
    one of its finding. A hedge is a distribution over readers besides being a number (explicit.md section 6):
    those who `rated` its phrase (`rated_by_readers`), else with the `spread` of readers around p.
    """
    return CALIBRATION.frame(
        {"by": by, "group": group, **_measured(cells, spread, rated)}
        for by, group, cells in _groups(found.cells)
    )


def _groups(cells: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    if cells.empty:
        return
    yield "all", "", cells
    single = cells[cells["phrase"] != ""]
    single = single.assign(phrase=single["phrase"].map(shown_phrase))
    for by in ("label", "source", "p_source", "phrase"):
        for group, rows in (single if by == "phrase" else cells).groupby(by, sort=True):
            yield by, str(group), rows


def _measured(
    cells: pd.DataFrame, spread: ReaderSpread, rated: Mapping[str, Floats]
) -> dict[str, Any]:
    p, outcome = _p_and_outcome(cells)
    readers = [
        rated[phrase] if phrase in rated else readers_around(one, spread)
        for phrase, one in zip(cells["phrase"].tolist(), p.tolist(), strict=True)
    ]
    found, whole = bins(cells), bins(cells, count=1).iloc[0]
    line, covariance = recalibration(p, outcome) or (
        np.full(2, np.nan),
        np.full((2, 2), np.nan),
    )
    return {
        "cells": len(cells),
        "positive": int(outcome.sum()),
        **whole[["mean_p", "observed", "observed_low", "observed_high"]],
        "brier": np.mean((p - outcome) ** 2),
        "ece": expected_calibration_error(found),
        "reader_brier": distribution_brier(readers, outcome),
        "reader_ece": distribution_ece(readers, outcome),
        **_interval("slope", line[1], np.sqrt(covariance[1, 1])),
        **_interval("intercept", *calibration_in_the_large(p, outcome)),
        "coverage": coverage(found),
    }


def _interval(name: str, value: float, error: float) -> dict[str, float]:
    return {
        name: value,
        f"{name}_low": value - Z95 * error,
        f"{name}_high": value + Z95 * error,
    }


def _p_and_outcome(cells: pd.DataFrame) -> tuple[Floats, Floats]:
    return cells["p"].to_numpy(np.float64), cells["outcome"].to_numpy(np.float64)


def refitted_anchors(
    found: LabelOutcomes, anchors: Sequence[Anchor]
) -> tuple[tuple[Anchor, ...], str]:
    """The anchors as the outcomes have them, or none and why.

    logit p is linear in mu, so the logistic regression of the outcomes on logit p, over hedged cells whose p
    is fitted, moves the line of the anchors. They are that line at the same phrases, with its 95% interval.
    """
    cells = found.cells[found.cells["direct"] & (found.cells["p_source"] == "fitted")]
    if len(cells) < LEAST_FOR_ANCHORS:
        return (
            (),
            f"{len(cells)} hedged cells have an outcome; {LEAST_FOR_ANCHORS} are the least",
        )
    found_line = recalibration(*_p_and_outcome(cells))
    if found_line is None:
        return (), "the outcomes are all the same, or p parts them without an overlap"
    line, covariance = found_line
    if line[1] - Z95 * np.sqrt(covariance[1, 1]) <= 0.0:
        return (), "the outcomes do not rise with p beyond chance, so they give no line"
    moved = []
    for anchor in anchors:
        at = np.array([1.0, anchor.logit])
        error = np.sqrt(at @ covariance @ at)
        p, low, high = (
            float(expit(at @ line + times * error)) for times in (0.0, -Z95, Z95)
        )
        moved.append(Anchor(anchor.phrase, p, low, high))
    return tuple(moved), ""


def as_ratings(anchors: Sequence[Anchor]) -> pd.DataFrame:
    """Anchors in the form of `anchor_ratings.csv`: two ratings a phrase, one standard error below and above,
    so that `rated_anchors` finds their mean and a standard error of this size again.
    """
    rows = []
    for anchor in anchors:
        p = anchor.probability
        error = min(anchor.logit_variance**0.5 * p * (1.0 - p), p, 1.0 - p)
        for sentence, rating in ((1, p - error), (2, p + error)):
            rows.append(("outcomes", anchor.phrase, sentence, round(100.0 * rating, 6)))
    return pd.DataFrame(rows, columns=["rater", "phrase", "sentence", "rating"])


def write_calibration(
    folder: Path, found: LabelOutcomes, table: pd.DataFrame, anchors: Sequence[Anchor]
) -> list[str]:
    """Write the tables, the picture, and anchors where some were refitted; return the files' names."""
    points = bins(found.cells)
    tables = {"calibration.csv": table, "reliability.csv": points}
    (folder / ANCHORS).unlink(missing_ok=True)
    if anchors:
        tables[ANCHORS] = as_ratings(anchors)
    for name, frame in tables.items():
        write_csv(frame, folder / name)
    picture = reliability_diagram(points, f"{len(found.cells)} labels with an outcome")
    replace_file(folder / "reliability.png", lambda stream: stream.write(picture))
    return [*tables, "reliability.png"]


def compared(
    labels: pd.DataFrame, theirs: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """LABELS of a release (with `answer`, as `released_labels`) beside another file (`read_label_file`), for
    the studies and labels that both have: counts by label and source, a column per answer of the file; and
    per label cells, agreement of `labels_chexpert.csv` with the file, Cohen's kappa with its 95% interval,
    AUROC and Brier score of p against its 1 and 0.
    """
    met = theirs.drop(columns="label").merge(labels, on=["study_id", "chexpert"])
    crossed, agreement = [], []
    for name, rows in (("all labels", met), *met.groupby("chexpert", sort=True)):
        counts = pd.crosstab(rows["source"], rows["said"])
        counts = counts.reindex(
            index=[*LABEL_SOURCES], columns=[*ANSWERS], fill_value=0
        )
        counts = counts.rename_axis(index="source", columns=None).reset_index()
        counts.insert(0, "label", name)
        crossed.append(counts)
        agreement.append({"label": name, **_agreement(rows)})
    return pd.concat(crossed), pd.DataFrame(agreement)


def _agreement(rows: pd.DataFrame) -> dict[str, Any]:
    table = pd.crosstab(rows["answer"], rows["said"]).reindex(
        index=ANSWERS, columns=ANSWERS, fill_value=0
    )
    counts = table.to_numpy(dtype=np.float64)
    sure = rows[rows["p"].notna() & rows["said"].isin(("0", "1"))]
    p, outcome = _p_and_outcome(sure.assign(outcome=sure["said"] == "1"))
    kappa, low, high = cohens_kappa(counts)
    return {
        "cells": int(counts.sum()),
        "agreement": float(np.trace(counts) / counts.sum())
        if counts.sum()
        else math.nan,
        "kappa": kappa,
        "kappa_low": low,
        "kappa_high": high,
        "with_p": len(sure),
        "positive": int(outcome.sum()),
        "auroc": auroc(p, outcome),
        "brier": float(np.mean((p - outcome) ** 2)) if len(sure) else math.nan,
    }


def bins(cells: pd.DataFrame, count: int = BINS) -> pd.DataFrame:
    """At most `count` bins of about equally many cells (columns p, p_low, p_high, outcome), by p; equal p are
    never parted. A row per bin: cells, mean_p, mean_low, mean_high, observed (share of outcomes that are 1)
    with Wilson's 95% interval observed_low and observed_high.
    """
    from statsmodels.stats.proportion import proportion_confint  # slow to import

    names = {
        "p": "mean_p",
        "p_low": "mean_low",
        "p_high": "mean_high",
        "outcome": "observed",
    }
    values = cells[list(names)].astype("float64").rename(columns=names)
    grouped = values.groupby(
        ((values["mean_p"].rank() - 0.5) / max(len(values), 1) * count).astype(int)
    )
    found = grouped.mean()
    found.insert(0, "cells", grouped.size())
    low, high = proportion_confint(
        grouped["observed"].sum(), found["cells"], method="wilson"
    )
    found["observed_low"] = np.minimum(low, found["observed"])
    found["observed_high"] = np.maximum(high, found["observed"])
    return found.reset_index(drop=True)


def expected_calibration_error(found: pd.DataFrame) -> float:
    """Mean distance of a bin's mean p from its observed share, by cells."""
    return float(
        np.average((found["mean_p"] - found["observed"]).abs(), weights=found["cells"])
    )


def coverage(found: pd.DataFrame) -> float:
    """Share of cells whose bin's observed share lies within the bin's mean interval."""
    inside = found["observed"].between(found["mean_low"], found["mean_high"])
    return float(np.average(inside, weights=found["cells"]))


def readers_around(p: float, spread: ReaderSpread) -> Floats:
    """Readings of a p by `READERS` readers: evenly spaced quantiles of a distribution around it, on either
    side normal in logits. 0 and 1 leave nothing to read.
    """
    if not 0.0 < p < 1.0:
        return np.array([p])
    below, above = spread.deviations(logit(p))
    deviation = np.where(_QUANTILES < 0.0, below, above)
    return np.asarray(expit(logit(p) + deviation * _QUANTILES))


def distribution_brier(readers: Sequence[Floats], outcome: Floats) -> float:
    """Mean over cells of the squared error of one of the cell's `readers`, drawn at random."""
    return float(
        np.mean([np.mean((p - y) ** 2) for p, y in zip(readers, outcome, strict=True)])
    )


def distribution_ece(readers: Sequence[Floats], outcome: Floats) -> float:
    """The expected calibration error of distributions (arXiv 2410.04315): every reader of a cell puts an
    equal part of it into the bin of that reader's p; a bin's error is the distance of its mean p from its
    share of outcomes, weighted by its mass. Bins are equally wide.
    """
    sizes = [len(one) for one in readers]
    p, seen = np.concatenate(readers), np.repeat(outcome, sizes)
    weight = np.repeat(1.0 / np.array(sizes), sizes)
    at = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    return float(
        np.abs(np.bincount(at, weight * (p - seen), minlength=BINS)).sum()
        / weight.sum()
    )


def recalibration(p: Floats, outcome: Floats) -> tuple[Floats, Floats] | None:
    """logit P(outcome) = intercept + slope logit p, of 0 < p < 1, by maximum likelihood: the two and their
    covariance. None where it is not determined: one outcome only, one p only, or outcomes that p parts
    without an overlap.
    """
    inside = (p > 0.0) & (p < 1.0)
    places, outcome = logit(p[inside]), outcome[inside]
    ones, zeros = places[outcome == 1], places[outcome == 0]
    if not len(ones) or not len(zeros) or np.ptp(places) < 1e-9:
        return None
    if ones.min() >= zeros.max() or ones.max() <= zeros.min():
        return None
    return _logistic(outcome, np.column_stack([np.ones(len(places)), places]))


def calibration_in_the_large(p: Floats, outcome: Floats) -> tuple[float, float]:
    """The intercept with the slope held at 1, of 0 < p < 1, and its error; NaN for outcomes all the same."""
    inside = (p > 0.0) & (p < 1.0)
    if len({*outcome[inside].tolist()}) < 2:
        return math.nan, math.nan
    value, variance = _logistic(
        outcome[inside], np.ones((inside.sum(), 1)), logit(p[inside])
    )
    return float(value[0]), math.sqrt(float(variance[0, 0]))


def _logistic(
    outcome: Floats, design: Floats, offset: Floats | None = None
) -> tuple[Floats, Floats]:
    """Coefficients of a logistic regression, and their covariance."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = GLM(outcome, design, family=Binomial(), offset=offset).fit()
    return np.asarray(fitted.params), np.asarray(fitted.cov_params())


def auroc(p: Floats, outcome: Floats) -> float:
    """P(a cell with outcome 1 has the higher p), ties counting half; NaN without both outcomes."""
    from scipy.stats import mannwhitneyu  # slow to import

    ones, zeros = p[outcome == 1], p[outcome == 0]
    if not len(ones) or not len(zeros):
        return math.nan
    return float(
        mannwhitneyu(ones, zeros, method="asymptotic").statistic
        / (len(ones) * len(zeros))
    )


def cohens_kappa(table: Floats) -> tuple[float, float, float]:
    """Cohen's kappa of a square table of counts with its 95% interval; NaN where nothing varies."""
    from statsmodels.stats.inter_rater import cohens_kappa as estimate

    used = (table.sum(axis=0) + table.sum(axis=1)) > 0
    if used.sum() < 2:
        return math.nan, math.nan, math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = estimate(table[np.ix_(used, used)])
    return float(found.kappa), float(found.kappa_low), float(found.kappa_upp)
