"""Validation of the fit from the recorded comparisons; no judge is asked.

Section 7 of docs/method/explicit.md: each ranked phrase is left out of the reference
scale and fitted back by the rules of `fit/fitting.py`; its rank is compared with the
known one. Answers are drawn, with replacement, from those recorded for the pair.

Reference and answers come from the same comparisons: the distances say how well the fit
finds a known rank, not how well the ranking is known (`robustness.py` does).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.algorithm import NO_OPPONENT, STEP_LIMIT, Fits
from lunguage_assets.explicit.fit.fit_panel import Outcome, Outcomes
from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.explicit.rating.ranking import is_published_scale
from lunguage_assets.randomness import (
    U64,
    Integers,
    mix,
    random_below,
    text_hash,
    text_hashes,
)
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES
from lunguage_assets.tables.analyses import FIT_VALIDATION

DRAW_PROBABILITY = "draw probability"
RANDOM = "random"
STRATEGIES = (DRAW_PROBABILITY, RANDOM)
PANEL_STEPS = (0, 1, 5, 10, 20, 50, 100)
OPPONENT_LIMITS = (2, 3, 5, 10, 20)
SEEDS = 10
STEPS = 100
ALL_JUDGES = "all"

_NO_PATIENCE_LIMIT = 10**9
_NO_LONE_JUDGE = -1


class Configuration(NamedTuple):
    """One way to fit a phrase back.

    Attributes:
        strategy: how opponents are chosen, one of `STRATEGIES`.
        judges: `all`, or the key of the only judge that answers.
        opponent_limit: N, plays against one phrase.
        panel_steps: K, steps that all judges play.
    """

    strategy: str
    judges: str
    opponent_limit: int
    panel_steps: int


def fit_validation(
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    seeds: int = SEEDS,
) -> pd.DataFrame:
    """Fit every phrase back with every configuration.

    Args:
        ranking: `REFERENCE_RANKING` frame.
        matches: the `COMPARISON_MATCHES` per judge that it was made from.
        settings: its N and K are part of the grid; patience and step limit end no fit,
            but say where the product would have ended it.
        seeds: repetitions with other random draws. The draws are the same in every
            configuration: these differ by what they do, not by luck.

    Returns:
        A `FIT_VALIDATION` frame, a row per configuration and step; empty for the
        published scale.

    Raises:
        MethodError: matches that are not those of the ranking.
    """
    if is_published_scale(ranking):
        return FIT_VALIDATION.frame()
    judges = list(ranking["judges"].iloc[0])
    outcomes = recorded_outcomes(ranking, matches)
    configurations = grid(judges, settings)
    fits = fit_back(ranking, judges, outcomes, configurations, settings, seeds)
    curves = [
        _curve(fits.distance[number], fits.stopped[number]).assign(
            **configuration._asdict()
        )
        for number, configuration in enumerate(configurations)
    ]
    frame = pd.concat(curves).assign(
        phrases=len(ranking),
        seeds=seeds,
        ranking_version=ranking["ranking_version"].iloc[0],
    )
    return FIT_VALIDATION.frame(
        {name: frame[name].tolist() for name in FIT_VALIDATION.names}
    )


def grid(judges: Sequence[str], settings: ExplicitSettings) -> list[Configuration]:
    """List the configurations of the study, for both strategies.

    All judges together, where there are several: with K varied at the product's N, and
    with N varied at its K. Every judge alone, for which K means nothing: N varied.
    """
    product_n = settings.opponent_limit
    product_k = settings.panel_steps
    # One option at a time is varied, around what the product does.
    together = [ALL_JUDGES] if len(judges) > 1 else []
    varied_k = product(together, [product_n], {*PANEL_STEPS, product_k})
    varied_n = product([*together, *judges], {*OPPONENT_LIMITS, product_n}, [product_k])
    shapes = sorted(
        {*varied_k, *varied_n}, key=lambda shape: (shape[0] != ALL_JUDGES, shape)
    )
    return [
        Configuration(strategy, *shape)
        for strategy, shape in product(STRATEGIES, shapes)
    ]


class FitBack(NamedTuple):
    """How far every phrase was from its known rank when it was fitted back.

    Attributes:
        distance: |rank - known rank| after every step, shape (configurations, phrases,
            seeds, steps). A fit that runs out of opponents keeps its last one.
        stopped: step at which the product would have ended the fit, shape
            (configurations, phrases, seeds); 0 when it was given up for want of valid
            answers before.
    """

    distance: Integers
    stopped: Integers


def fit_back(
    ranking: pd.DataFrame,
    judges: Sequence[str],
    outcomes: Outcomes,
    configurations: Sequence[Configuration],
    settings: ExplicitSettings,
    seeds: int = SEEDS,
) -> FitBack:
    """Leave every phrase out, and fit it back with every configuration and seed.

    Args:
        ranking: `REFERENCE_RANKING` frame.
        judges: of the ranking, in panel order.
        outcomes: as `recorded_outcomes` returns them.
        configurations: ways to fit a phrase back.
        settings: seed, patience, step limit.
        seeds: repetitions of each.
    """
    ordered = ranking.sort_values("rank", kind="stable")
    mu = ordered["mu"].to_numpy(dtype=np.float64)
    variance = ordered["sigma"].to_numpy(dtype=np.float64) ** 2
    phrase_hashes = text_hashes(ordered["phrase"])
    seed = text_hash(settings.seed, "validation")
    repetitions = np.arange(seeds, dtype=np.uint64)
    shape = (len(configurations), len(mu), seeds)
    distance = np.zeros((*shape, STEPS), dtype=np.int64)
    stopped = np.zeros(shape, dtype=np.int64)
    for phrase in range(len(mu)):
        others = np.arange(len(mu)) != phrase
        refit = _Refit(
            configurations=configurations,
            judges=judges,
            seeds=mix(seed, phrase_hashes[phrase], repetitions),
            reference=ReferenceScale(mu[others], variance[others], (), ()),
            phrase_hashes=phrase_hashes[others],
            outcomes=outcomes[phrase, others],
        )
        ranks, stops = refit.run(settings)
        known_rank = int((mu[others] > mu[phrase]).sum())
        distances = np.abs(ranks - known_rank)
        distance[:, phrase] = distances.reshape(len(configurations), seeds, STEPS)
        stopped[:, phrase] = stops.reshape(len(configurations), seeds)
    return FitBack(distance, stopped)


class _Refit:
    """One phrase, fitted back by every configuration and seed side by side.

    Args:
        configurations: what the fits do.
        judges: keys of the judges, in panel order.
        seeds: hashes of the draws; every configuration has all of them.
        reference: the other phrases.
        phrase_hashes: of their wordings, shape (phrases,).
        outcomes: recorded answers about the phrase, shape (phrases, judges,
            repetitions).
    """

    def __init__(
        self,
        configurations: Sequence[Configuration],
        judges: Sequence[str],
        seeds: U64,
        reference: ReferenceScale,
        phrase_hashes: U64,
        outcomes: Outcomes,
    ) -> None:
        table = pd.DataFrame(configurations)
        plan = table.loc[table.index.repeat(len(seeds))]
        self._seeds = np.tile(seeds, len(configurations))
        self._is_random = (plan["strategy"] == RANDOM).to_numpy()
        # `all` is no judge of the panel: -1.
        self._lone_judge = pd.Index(judges).get_indexer(pd.Index(plan["judges"]))
        self._opponent_limit = plan["opponent_limit"].to_numpy()
        self._panel_steps = plan["panel_steps"].to_numpy()
        self._judge_hashes = text_hashes(judges)
        self._phrase_hashes = phrase_hashes
        self._outcomes = outcomes
        self._fits = Fits(len(plan), reference, len(judges))

    def run(self, settings: ExplicitSettings) -> tuple[Integers, Integers]:
        """Play all steps: the fits know no patience.

        Returns:
            Ranks after every step, shape (fits, steps), and the step at which the
            product would have ended each fit, shape (fits,).
        """
        fits = self._fits
        rank_by_step = np.zeros((len(self._seeds), STEPS), dtype=np.int64)
        stopped = np.zeros(len(self._seeds), dtype=np.int64)
        while len(active := fits.running()):
            step = fits.tried[active]
            opponent = self._opponents(active, step)
            fits.play(active, opponent, self._draw_outcomes(active, step, opponent))
            limit = self._opponent_limit[active]
            fits.end(active, limit, STEPS, _NO_PATIENCE_LIMIT)
            played = active[fits.steps[active] > 0]
            rank_by_step[played, fits.steps[played] - 1] = fits.rank[played]
            # Whether the product would end the fit here; it goes on all the same, for
            # the curves beyond.
            would_stop = (
                (fits.stable[active] >= settings.patience)
                | (fits.steps[active] >= settings.step_limit)
                | np.isin(fits.stop[active], (NO_OPPONENT, STEP_LIMIT))
            )
            first_stop = active[would_stop & (stopped[active] == 0)]
            stopped[first_stop] = fits.steps[first_stop]
        return _until(rank_by_step, fits.steps), stopped

    def _opponents(self, active: Integers, step: Integers) -> Integers:
        limit = self._opponent_limit[active]
        opponent, _ = self._fits.opponents(active, limit)
        # At random: any phrase that may still be played, with equal chances.
        seeds = mix(self._seeds[active], step, text_hash("opponent"))
        hashes = mix(seeds[:, None], self._phrase_hashes)
        is_eligible = self._fits.counts[active] < limit[:, None]
        drawn = np.where(is_eligible, hashes, np.uint64(2**64 - 1)).argmin(axis=1)
        return np.where(self._is_random[active], drawn, opponent)

    def _draw_outcomes(
        self, active: Integers, step: Integers, opponent: Integers
    ) -> Outcomes:
        """Draw a recorded answer of every judge that plays, shape (plays, judges)."""
        # Every judge draws a comparison of its own, as it plays its own sentence of the
        # opponent in the product.
        hashes = mix(self._seeds[active, None], step[:, None], self._judge_hashes)
        judges = np.arange(len(self._judge_hashes))
        repetition = random_below(mix(hashes, 0), self._outcomes.shape[2])
        outcomes = self._outcomes[opponent[:, None], judges, repetition]
        # One judge answers all steps, or after K steps one that is drawn each time.
        planned_judge = self._lone_judge[active]
        is_planned = planned_judge != _NO_LONE_JUDGE
        drawn_judge = mix(hashes, 2).argmin(axis=1)
        lone_judge = np.where(is_planned, planned_judge, drawn_judge)
        is_late = self._fits.steps[active] >= self._panel_steps[active]
        is_silent = (is_planned | is_late)[:, None] & (judges != lone_judge[:, None])
        return np.where(is_silent, Outcome.NOT_ASKED, outcomes)


def _until(values: Integers, last_step: Integers) -> Integers:
    """Keep the value of a last step in all later ones; steps are the last axis."""
    last = np.maximum(last_step, 1)[..., None] - 1
    return np.take_along_axis(values, np.minimum(np.arange(STEPS), last), axis=-1)


def _curve(distance: Integers, stopped: Integers) -> pd.DataFrame:
    """Measure one configuration, a row per step; NaN where too few were fitted.

    Args:
        distance: to the known rank, shape (phrases, seeds, steps).
        stopped: as of `FitBack`, shape (phrases, seeds).
    """
    is_fitted = stopped > 0
    distance_stopped = _until(distance, stopped)
    # What luck is worth: how far the means of single seeds lie from each other.
    means_by_seed = [
        distance[is_fitted_by_seed, seed].mean(axis=0)
        for seed, is_fitted_by_seed in enumerate(is_fitted.T)
        if is_fitted_by_seed.any()
    ]
    fitted = pd.DataFrame(distance[is_fitted])
    means = pd.DataFrame(np.reshape(means_by_seed, (-1, STEPS)))
    return pd.DataFrame(
        {
            "mean_distance": fitted.mean(),
            "sd_distance": fitted.std(),
            "sd_between_seeds": means.std(),
            "mean_distance_stopped": pd.DataFrame(distance_stopped[is_fitted]).mean(),
            "unfitted": (~is_fitted).sum(),
            "step": range(1, STEPS + 1),
        }
    )


def recorded_outcomes(
    ranking: pd.DataFrame, matches: Mapping[str, pd.DataFrame]
) -> Outcomes:
    """Collect the recorded answers about every two ranked phrases.

    Args:
        ranking: `REFERENCE_RANKING` frame of the corpus's own phrases.
        matches: `COMPARISON_MATCHES` frame per judge.

    Returns:
        Whether the first phrase won, as an `Outcome`: shape (phrases in ranking order,
        phrases, judges in panel order, repetitions). Invalid for a phrase and itself.

    Raises:
        MethodError: a judge's matches are not exactly those of the ranked phrases.
    """
    phrases = pd.Index(ranking.sort_values("rank", kind="stable")["phrase"])
    judges = ranking["judges"].iloc[0]
    version = ranking["vocabulary_version"].iloc[0]
    frames = [matches.get(judge, COMPARISON_MATCHES.frame()) for judge in judges]
    repetitions = 1 + max(
        int(frame["repetition"].max()) if len(frame) else 0 for frame in frames
    )
    expected = repetitions * len(phrases) * (len(phrases) - 1) // 2
    shape = (len(phrases), len(phrases), len(judges), repetitions)
    outcomes = np.full(shape, Outcome.INVALID, dtype=np.int8)
    for number, (judge, frame) in enumerate(zip(judges, frames, strict=True)):
        first = phrases.get_indexer(pd.Index(frame["phrase_a"]))
        second = phrases.get_indexer(pd.Index(frame["phrase_b"]))
        is_ranked = (first >= 0) & (second >= 0)
        is_ranked &= (frame["vocabulary_version"] == version).to_numpy(dtype=bool)
        if len(frame) != expected or not is_ranked.all():
            raise MethodError(
                f"matches of judge {judge!r}: {expected - is_ranked.sum()} are missing "
                f"or of another vocabulary; expected {repetitions} for every pair of "
                f"the {len(phrases)} ranked phrases. Materialise "
                "comparison_matches of that judge again, then reference_ranking."
            )
        repetition = frame["repetition"].to_numpy()
        is_valid = frame["winner"].notna().to_numpy()
        has_won = (frame["winner"] == frame["phrase_a"]).to_numpy(dtype=bool)
        # From both sides: either of the two phrases may be the one that is left out.
        won = np.where(is_valid, has_won, Outcome.INVALID)
        lost = np.where(is_valid, ~has_won, Outcome.INVALID)
        outcomes[first, second, number, repetition] = won
        outcomes[second, first, number, repetition] = lost
    return outcomes
