"""Validation of ranking and fit from the recorded comparisons; no judge is asked.

Ranking (explicit.md section 3): ranked again with half of the comparisons. Fit (section 7): each ranked
phrase is left out and fitted back by the rules of `fitting.py`, to the number of the others above its own
place; answers are drawn, with replacement, from the comparisons recorded for the phrase pair.

Reference and answers come from the same comparisons, so the distances say how well the fit finds a known
place, not how well the ranking itself is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.fits import (
    INVALID,
    LIMIT,
    NO_OPPONENT,
    NOT_ASKED,
    Answers,
    Fits,
    Reference,
    choose_opponents,
)
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.bootstrap import ranks
from lunguage_assets.explicit.rating.ranking import CollectedAnswers, collect_answers
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
from lunguage_assets.tables.analyses import FIT_VALIDATION, RANKING_ROBUSTNESS

STRATEGIES = ("draw probability", "random")
PANEL_STEPS = (0, 1, 5, 10, 20, 50, 100)
OPPONENT_LIMITS = (2, 3, 5, 10, 20)
SEEDS = REPEATS = 10
STEPS = 100
ALL = "all"

_NEVER = 10**9
_UNKNOWN = -9


class Configuration(NamedTuple):
    """One way to fit a phrase back: choice of opponents, the judges (`all`, or one key), N and K."""

    strategy: str
    judges: str
    opponent_limit: int
    panel_steps: int


def ranking_robustness(
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    repeats: int = REPEATS,
) -> pd.DataFrame:
    """The ranking from half of the comparisons of every pair, a `RANKING_ROBUSTNESS` frame, empty for the
    published ruler. `ranking` is a `REFERENCE_RANKING`, `matches` the `COMPARISON_MATCHES` per judge that it
    was made from; every half is hashed from the seed, the repeat and the match.

    A comparison is kept with the answers of all judges, and every repeat plays in random orders of its own.
    As many repeats with all comparisons say how much of the change the order of play alone makes.
    """
    if (ranking["ruler"] == "published").all():
        return RANKING_ROBUSTNESS.frame()
    ordered = ranking.sort_values("phrase")
    phrases, stored = (
        ordered["phrase"].tolist(),
        ordered["mu"].to_numpy(dtype=np.float64),
    )
    answers = collect_answers(phrases, matches)
    rows = []
    numbers = sorted({max(1, settings.repetitions // 2), settings.repetitions})
    for comparisons, repeat in product(numbers, range(repeats)):
        kept = kept_answers(
            answers, comparisons, mix(text_hash(settings.seed, "half"), repeat)
        )
        seed = text_hash(settings.seed, "order of play of a repeat", repeat)
        drawn = (
            mix(seed, order, answers.identity[kept]) for order in range(settings.orders)
        )
        orders = np.stack([kept[np.argsort(draws, kind="stable")] for draws in drawn])
        mu = trueskill.play(answers.winner, answers.loser, len(phrases), orders)[
            0
        ].mean(axis=0)
        one, two = ranks(np.stack([mu, stored]))
        rows.append(
            {
                "comparisons": comparisons,
                "repeat": repeat,
                "answers": len(kept),
                "mean_abs_mu": float(np.abs(mu - stored).mean()),
                "largest_abs_mu": float(np.abs(mu - stored).max()),
                "mean_abs_rank": float(np.abs(one - two).mean()),
                "spearman": pd.Series(mu).corr(pd.Series(stored), method="spearman"),
                "ranking_version": str(ranking["ranking_version"].iloc[0]),
            }
        )
    return RANKING_ROBUSTNESS.frame(rows)


def kept_answers(answers: CollectedAnswers, comparisons: int, seed: Any) -> Integers:
    """Ascending numbers of the answers to the `comparisons` comparisons, of those with a valid answer, of
    every pair with the smallest hashes.
    """
    low, high = (
        np.minimum(answers.winner, answers.loser),
        np.maximum(answers.winner, answers.loser),
    )
    lots = pd.Series((mix(answers.match, seed) >> np.uint64(11)).astype(np.float64))
    place = lots.groupby(low * len(answers.phrases) + high).rank(method="dense")
    return np.flatnonzero(place <= comparisons).astype(np.int64)


def fit_validation(
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    seeds: int = SEEDS,
) -> pd.DataFrame:
    """Every phrase fitted back with every configuration, a `FIT_VALIDATION` frame: a row per configuration
    and step; empty for the published ruler. `ranking` and `matches` as in `ranking_robustness`; the settings'
    N and K are part of the grid, patience and step limit end no fit. `seeds` are repetitions with other
    random draws, which do not depend on the configuration: those differ by what they do, not by luck. Raises
    `MethodError` for matches that are not those of the ranking.
    """
    if (ranking["ruler"] == "published").all():
        return FIT_VALIDATION.frame()
    judges = list(ranking["judges"].iloc[0])
    outcomes = recorded_outcomes(ranking, matches)
    configurations = grid(judges, settings)
    distance, stopped = fit_back(
        ranking, judges, outcomes, configurations, settings, seeds
    )
    rows = [
        _measured(*of).assign(**one._asdict())
        for one, *of in zip(configurations, distance, stopped, strict=True)
    ]
    version = ranking["ranking_version"].iloc[0]
    frame = pd.concat(rows).assign(
        phrases=len(ranking), seeds=seeds, ranking_version=version
    )
    return FIT_VALIDATION.frame(
        {name: frame[name].tolist() for name in FIT_VALIDATION.names}
    )


def grid(judges: Sequence[str], settings: ExplicitSettings) -> list[Configuration]:
    """The configurations of the study, for both strategies: all judges, of which a ranker has several, with K
    varied at the product's N, and with N varied at its K; every judge alone, whatever K is, with N varied.
    """
    limit, steps = settings.opponent_limit, settings.panel_steps
    together = [ALL] if len(judges) > 1 else []
    shapes = {(who, limit, k) for who, k in product(together, {*PANEL_STEPS, steps})}
    shapes |= {
        (who, n, steps)
        for who, n in product([*together, *judges], {*OPPONENT_LIMITS, limit})
    }
    ordered = sorted(shapes, key=lambda shape: (shape[0] != ALL, shape))
    return [
        Configuration(strategy, *shape)
        for strategy, shape in product(STRATEGIES, ordered)
    ]


def fit_back(
    ranking: pd.DataFrame,
    judges: Sequence[str],
    outcomes: Answers,
    configurations: Sequence[Configuration],
    settings: ExplicitSettings,
    seeds: int = SEEDS,
) -> tuple[Integers, Integers]:
    """Leave every phrase out and fit it back with every configuration and seed.

    Returns:
        |rank - known rank| after every step, shape (configurations, phrases, seeds, steps); a fit that ends
        early, out of opponents, keeps its last one. And the step at which the product would have ended the
        fit, shape (configurations, phrases, seeds), 0 when it was given up for want of valid answers before.
    """
    ordered = ranking.sort_values("rank", kind="stable")
    mu, variance = (
        ordered["mu"].to_numpy(dtype=np.float64),
        ordered["sigma"].to_numpy(dtype=np.float64) ** 2,
    )
    names, shape = text_hashes(ordered["phrase"]), (len(configurations), len(mu), seeds)
    distance, stopped = np.zeros((*shape, STEPS), np.int64), np.zeros(shape, np.int64)
    strategy, who, limit, panel_steps = (
        np.repeat(v, seeds) for v in zip(*configurations, strict=True)
    )
    alone = np.array(
        [-1 if one == ALL else judges.index(one) for one in who.tolist()],
        dtype=np.int64,
    )
    numbers = np.arange(seeds, dtype=np.uint64)
    for phrase in range(len(mu)):
        others = np.flatnonzero(np.arange(len(mu)) != phrase)
        seed = mix(text_hash(settings.seed, "validation"), names[phrase], numbers)
        plan = _Plan(
            np.tile(seed, len(configurations)),
            strategy == "random",
            alone,
            limit,
            panel_steps,
        )
        left = Reference(mu[others], variance[others], (), ())
        answers = outcomes[phrase, others]
        found, ended = _play(
            plan, left, names[others], answers, text_hashes(judges), settings
        )
        known = int((mu[others] > mu[phrase]).sum())
        distance[:, phrase] = np.abs(found - known).reshape(
            len(configurations), seeds, STEPS
        )
        stopped[:, phrase] = ended.reshape(len(configurations), seeds)
    return distance, stopped


class _Plan(NamedTuple):
    """One fit per configuration and seed, arrays of shape (fits,): the hash of its draws, whether opponents
    are drawn at random, the judge that answers alone (-1: none), N and K.
    """

    seed: U64
    random: NDArray[np.bool_]
    alone: Integers
    limit: Integers
    panel_steps: Integers


def _play(
    plan: _Plan,
    reference: Reference,
    names: U64,
    outcomes: Answers,
    judges: U64,
    settings: ExplicitSettings,
) -> tuple[Integers, Integers]:
    """Fit a left-out phrase in lockstep by every plan: ranks after every step, shape (fits, steps), and the
    step at which the product would have ended each fit, shape (fits,); the fits themselves know no patience.

    Args:
        reference, names: the other phrases, and their hashes, shape (phrases,).
        outcomes: recorded answers, shape (phrases, judges, repetitions).
        judges: hashes, shape (judges,).
    """
    fits = Fits.start(len(plan.seed), len(names), len(judges))
    ranked = np.zeros((len(plan.seed), STEPS), dtype=np.int64)
    stopped = np.zeros(len(plan.seed), dtype=np.int64)
    while len(active := fits.running()):
        step = fits.steps[active] + fits.void[active]
        opponent, _ = choose_opponents(active, fits, reference, plan.limit[active])
        drawn = plan.random[active]
        if drawn.any():  # any eligible phrase with equal chances
            rows = active[drawn]
            lots = mix(
                mix(plan.seed[rows], step[drawn], text_hash("opponent"))[:, None],
                names[None, :],
            )
            lots = np.where(
                fits.counts[rows] < plan.limit[rows, None], lots, np.uint64(2**64 - 1)
            )
            opponent[drawn] = np.argmin(lots, axis=1)
        # every judge draws its own of the recorded comparisons, as it plays its own sentence in the product
        keys = mix(plan.seed[active, None], step[:, None], judges[None, :])
        each = np.arange(len(judges))[None, :]
        said = outcomes[
            opponent[:, None], each, random_below(mix(keys, 0), outcomes.shape[2])
        ]
        alone = plan.alone[active]
        one = np.where(alone >= 0, alone, np.argmin(mix(keys, 2), axis=1))
        single = (alone >= 0) | (fits.steps[active] >= plan.panel_steps[active])
        said[single[:, None] & (each != one[:, None])] = NOT_ASKED
        fits.play(active, opponent, said, reference)
        fits.end(active, plan.limit[active], STEPS, _NEVER)
        played = active[fits.steps[active] > 0]
        ranked[played, fits.steps[played] - 1] = fits.rank[played]
        settled = (fits.stable[active] >= settings.patience) | (
            fits.steps[active] >= settings.step_limit
        )
        ended = settled | np.isin(fits.stop[active], (NO_OPPONENT, LIMIT))
        first = active[ended & (stopped[active] == 0)]
        stopped[first] = fits.steps[first]
    last = np.minimum(np.arange(STEPS), np.maximum(fits.steps, 1)[:, None] - 1)
    return np.take_along_axis(ranked, last, axis=1), stopped


def _measured(distance: Integers, stopped: Integers) -> pd.DataFrame:
    """Columns of one configuration, a line per step; `distance` has shape (phrases, seeds, steps), `stopped`
    (phrases, seeds). NaN where too few were fitted.
    """
    fitted = stopped > 0
    until = np.minimum(np.arange(STEPS), np.maximum(stopped, 1)[..., None] - 1)
    by_seed = [
        distance[placed, seed].mean(axis=0)
        for seed, placed in enumerate(fitted.T)
        if placed.any()
    ]
    fits, ended = distance[fitted], np.take_along_axis(distance, until, axis=2)[fitted]
    found = {
        "mean_distance": pd.DataFrame(fits).mean(),
        "sd_distance": pd.DataFrame(fits).std(),
        "sd_between_seeds": pd.DataFrame(np.reshape(by_seed, (-1, STEPS))).std(),
        "mean_distance_stopped": pd.DataFrame(ended).mean(),
    }
    return pd.DataFrame(found).assign(
        unfitted=(~fitted).sum(), step=range(1, STEPS + 1)
    )


def recorded_outcomes(
    ranking: pd.DataFrame, matches: Mapping[str, pd.DataFrame]
) -> Answers:
    """Recorded answers, shape (phrases in ranking order, phrases, judges in panel order, repetitions): 1: the
    first phrase won, 0: it lost, -1: the answer was invalid, or it is the same phrase. `ranking` is a
    `REFERENCE_RANKING` of an own ruler. Raises `MethodError` when a judge's `COMPARISON_MATCHES` are not
    exactly those of the ranked phrases.
    """
    phrases = pd.Index(ranking.sort_values("rank", kind="stable")["phrase"])
    judges, version = ranking["judges"].iloc[0], ranking["vocabulary_version"].iloc[0]
    stored = [frame["repetition"].max() for frame in matches.values() if len(frame)]
    repetitions = 1 + int(max(stored, default=0))
    outcomes = np.full(
        (len(phrases), len(phrases), len(judges), repetitions), _UNKNOWN, dtype=np.int8
    )
    for number, judge in enumerate(judges):
        frame = matches.get(judge, COMPARISON_MATCHES.frame())
        frame = frame[
            (frame["vocabulary_version"] == version) & frame["phrase_a"].isin(phrases)
        ]
        frame = frame[frame["phrase_b"].isin(phrases)]
        one, two = (
            phrases.get_indexer(pd.Index(frame[f"phrase_{side}"])) for side in "ab"
        )
        repetition, valid = (
            frame["repetition"].to_numpy(),
            frame["winner"].notna().to_numpy(),
        )
        won = (frame["winner"] == frame["phrase_a"]).to_numpy(dtype=bool)
        outcomes[one, two, number, repetition] = np.where(valid, won, INVALID)
        outcomes[two, one, number, repetition] = np.where(valid, ~won, INVALID)
        outcomes[np.arange(len(phrases)), np.arange(len(phrases)), number] = INVALID
        missing = int((outcomes[:, :, number] == _UNKNOWN).sum()) // 2
        if missing or len(frame) < len(matches.get(judge, frame)):
            raise MethodError(
                f"matches of judge {judge!r}: {missing} are missing, or they are of another vocabulary; "
                f"expected {repetitions} for every pair of the {len(phrases)} ranked phrases. Materialise "
                "comparison_matches of that judge again, then reference_ranking."
            )
    return outcomes
