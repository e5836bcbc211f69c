"""The figures of the report: which there are, what they show, from how much, and where each comes from."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.probability import calibrate
from lunguage_assets.judges.rules.published import published_ranking
from lunguage_assets.pictures.heat_maps import agreement_heat_map, correlation_heat_map
from lunguage_assets.pictures.plots import (
    P_EDGES,
    calibration_plot,
    conflict_bars,
    probability_bars,
    ranking_plot,
    robustness_plot,
    scale_plot,
    validation_curves,
    validation_spread,
    vocabulary_histogram,
)
from lunguage_assets.release.bundle.material import Material
from lunguage_assets.release.report.published_tables import load_published_tables
from lunguage_assets.release.report.scales import published_scales, scale_marks

NOT_RUN = (
    "Not run for this version: `lunguage run` makes only what the result needs. `lunguage analyse` asks no "
    "judge and takes seconds; then `lunguage run` again."
)
STALE = "Left out: it was made with another ranking. Run `lunguage analyse`, then the release again."
_NO_MATCHES = "Nothing to show: the published ranking has no recorded comparisons."


@dataclass(frozen=True)
class Figure:
    """A picture (PNG) with its words; `source` says which table it is drawn from."""

    file: str
    title: str
    alt: str
    caption: str
    source: str
    png: bytes

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels, from the PNG's header."""
        width, height = struct.unpack(">II", self.png[16:24])
        return int(width), int(height)

    @property
    def inline(self) -> str:
        """As a data URL."""
        return f"data:image/png;base64,{base64.b64encode(self.png).decode('ascii')}"


@dataclass(frozen=True)
class Missing:
    """A figure or table that this release does not have, and why."""

    title: str
    why: str


def published_places() -> dict[str, float]:
    """mu of every phrase of the published ranking."""
    return {entry.phrase: entry.mu for entry in published_ranking()}


def explicit_figures(material: Material) -> Iterator[Figure | Missing]:
    """Vocabulary, ranking, calibration and the distribution of p."""
    yield _vocabulary_figure(material)
    comparisons = (
        f"{material.provenance['ranking']['matches']:,} valid comparisons of this corpus' own phrases."
    )
    ruler = (
        comparisons
        if material.has_own_ruler
        else "their published places, not measured on this corpus and without intervals."
    )
    n = f"n = {len(material.ranking)} phrases; {ruler}"
    yield Figure(
        "ranking.png",
        "Hedging phrases from least to most certain",
        "Dots with intervals: mu of every hedging phrase, the most certain at the top",
        "mu of every phrase (unit: TrueSkill points, prior 25), with an own ranking with its 95% "
        f"interval over sentence pairs, and beside it the phrase's mu in the published ranking. {n}",
        "reference_ranking",
        ranking_plot(material.ranking, published_places() if material.has_own_ruler else None),
    )
    try:
        yield Figure(
            "calibration.png",
            "From place to probability",
            "A rising curve through the anchors: mu against p",
            "p (probability that the finding is present, 0 to 1) against mu: the line through "
            "the anchors with its 95% band; findings with their 95% intervals. n = "
            f"{material.totals.placed:,} findings with a place.",
            "fitted_probabilities, reference_ranking, anchors",
            calibration_plot(
                material.points,
                material.all_mu,
                calibrate(material.ranking, material.anchors),
                material.anchors,
            ),
        )
    except MethodError:
        yield Missing(
            "From place to probability", "Nothing to show: the anchors do not give a line on this ranking."
        )
    if not material.scale.empty:
        ranked = int(material.scale["p"].notna().sum())
        yield Figure(
            "scale.png",
            "What words of doubt mean",
            "Dots with intervals for every phrase, and published human scales beside them",
            "p of every phrase: thick, the 95% interval of the mean; thin, the range in which another "
            "reader's p would lie. Beside it published scales, as far as they name the phrase. "
            f"n = {ranked} phrases. Anchors: {material.origin.anchors.name}.",
            "phrase_scale",
            scale_plot(material.scale, scale_marks(published_scales())),
        )
    published = load_published_tables().fit["p"]
    yield Figure(
        "probabilities.png",
        "Probabilities of tentative findings",
        "Histogram of p",
        f"p of all tentative findings, in steps of {P_EDGES[1]:g}. n = "
        f"{material.totals.tentative:,} tentative findings. Published, of "
        f"2,066: mean {published.mean}, sd {published.sd}, {published.minimum} to {published.maximum}.",
        "fitted_probabilities",
        probability_bars(material.totals.p_heights),
    )


def _vocabulary_figure(material: Material) -> Figure | Missing:
    """How often each ranked phrase was extracted."""
    title = "How often hedging phrases occur"
    counts = material.examples[material.examples > 0]
    if counts.empty:
        return Missing(title, "Nothing to show: no hedging phrase was extracted, or the vocabulary is gone.")
    frame = pd.DataFrame(
        {
            "phrase": counts.index,
            "n_examples": counts.to_numpy(),
            "retained": counts.index.isin(material.ranking["phrase"]),
        }
    )
    published = load_published_tables().vocabulary
    often = ", ".join(f"{phrase} {count}" for phrase, count in published.most_frequent.items())
    return Figure(
        "vocabulary.png",
        title,
        "Bars: tentative findings by hedging phrase, the most frequent at the top",
        "Tentative findings from which each ranked phrase was extracted. n = "
        f"{int(frame['retained'].sum())} phrases. Published: {published.phrases} "
        f"phrases, the most frequent {often}.",
        "hedge_vocabulary",
        vocabulary_histogram(frame),
    )


def analysis_figures(material: Material) -> Iterator[Figure | Missing]:
    """Agreement of judges, robustness of the ranking, validation of the fit; what was not run is named."""
    settings = material.origin.settings.explicit
    limits = settings.opponent_limit, settings.panel_steps
    robust, pairs = load_published_tables().robustness, load_published_tables().agreement.pairs
    validation = material.analyses.get("fit_validation")
    fits = ""
    if validation is not None and not validation.empty:
        fits = (
            f"{validation['phrases'].max()} phrases left out one by one, {validation['seeds'].max()} seeds."
        )
    wanted: list[tuple[str, str, str, str, str, Callable[[pd.DataFrame], bytes]]] = [
        (
            "judge_agreement",
            "agreement.png",
            "Agreement of judges",
            "Square: how often two judges give the same answer",
            "Share of comparisons in which two judges give the same answer (0.5 is chance). n = "
            f"{_agreement_n(material)} comparisons a pair of judges. Published, of four LLMs: "
            f"{min(value for *_, value in pairs):.3f} to {max(value for *_, value in pairs):.3f}.",
            agreement_heat_map,
        ),
        (
            "ranking_correlations",
            "correlations.png",
            "Correlation of rankings",
            "Square: rank correlations of judges and orders of play",
            "Spearman's correlation of mu between every two rankings: each judge in "
            f"{settings.orders} random orders of play, and the pooled ranking. n = "
            f"{len(material.ranking)} phrases.",
            correlation_heat_map,
        ),
        (
            "ranking_robustness",
            "robustness.png",
            "What fewer comparisons would have given",
            "Points: change of mu, rank and correlation with fewer comparisons",
            "Change against the ranking (mu in TrueSkill points, rank in places) with fewer "
            "comparisons per phrase pair, and with other random orders alone. n = "
            f"{len(material.ranking)} phrases. Published, with {robust.comparisons} instead of 10: mu "
            f"{robust.mean_abs_mu}, rank {robust.mean_abs_rank}, Spearman {robust.spearman}.",
            robustness_plot,
        ),
        (
            "fit_validation",
            "validation_curves.png",
            "Phrases fitted back",
            "Falling curves: distance to the known rank by step",
            "Mean distance (ranks) of a phrase that was left out from its known place, after "
            f"each comparison (step). n = {fits}",
            lambda frame: validation_curves(frame, *limits),
        ),
        (
            "fit_validation",
            "validation_spread.png",
            "Spread of the fits",
            "Standard deviation of the distance by K and by N",
            f"Standard deviation (ranks) of that distance at the last step. n = {fits}",
            lambda frame: validation_spread(frame, *limits),
        ),
    ]
    for table, file, title, alt, caption, draw in wanted:
        frame = material.analyses.get(table)
        if frame is None:
            yield Missing(title, STALE if material.stale_analyses else NOT_RUN)
        elif frame.empty:
            yield Missing(title, _NO_MATCHES)
        else:
            yield Figure(file, title, alt, caption, table, draw(frame))


def conflict_figure(material: Material) -> Figure:
    """Conflicts before resolution by type and by which kinds of rows meet."""
    crossed = material.totals.conflicts
    return Figure(
        "conflicts.png",
        "Conflicts by type",
        "Bars: conflicts of each type, by the kinds of rows that meet",
        "Groups of rows that disagree about, or repeat, the same finding at the same place, "
        f"before resolution. n = {crossed.total():,} groups.",
        "conflicts",
        conflict_bars(crossed),
    )


def write_figures(figures: Iterable[Figure], folder: Path) -> None:
    """Each as a PNG of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        (folder / figure.file).write_bytes(figure.png)


def _agreement_n(material: Material) -> str:
    frame = material.analyses.get("judge_agreement")
    counts = (
        frame.loc[frame["measure"] == "pairwise agreement", "n"]
        if frame is not None
        else pd.Series(dtype="int64")
    )
    if counts.empty:
        return "0"
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
