"""Validation of the fit: each ranked phrase is left out and fitted back (explicit.md section 7).

No judge is asked. A step plays by the rules of the product's fit (`fitting.py`); its answers are drawn, with
replacement, from the comparisons that were recorded for the phrase pair. All seeds and configurations of a
phrase run in lockstep.

The phrases that stay keep their places: they are not ranked again without the one left out. The rank that the
phrase should come back to is the number of the others above its own place, which is its rank in the full
ranking. The reference and the answers come from the same comparisons, so the distances say how well the fit
finds a known place, not how well the ranking itself is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.draws import U64, below, mix, text_hash, text_hashes
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.arrays import Floats, Integers
from lunguage_assets.explicit.fit import fitting
from lunguage_assets.explicit.fit.fits import INVALID, LIMIT, NO_OPPONENT, NOT_ASKED, Answers, Fits
from lunguage_assets.explicit.fit.reference import Reference, choose_opponents
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import FIT_VALIDATION

Strategy = Literal["draw probability", "random"]

STRATEGIES: tuple[Strategy, ...] = ("draw probability", "random")
PANEL_STEPS = (0, 1, 5, 10, 20, 50, 100)
OPPONENT_LIMITS = (2, 3, 5, 10, 20)
SEEDS = 10
STEPS = 100
ALL = "all"

_NEVER = 10**9


@dataclass(frozen=True)
class Configuration:
    """One way to fit a phrase back: choice of opponents, the judges (`all`, or one key), N and K."""

    strategy: Strategy
    judges: str
    opponent_limit: int
    panel_steps: int


@dataclass(frozen=True)
class Curves:
    """Fits of every phrase with every configuration and seed.

    `distance`: |rank - known rank| after every step, shape (configurations, phrases, seeds, steps); a fit
    that ends early, out of opponents, keeps its last one. `stopped`, shape (configurations, phrases, seeds):
    the step at which the product would have ended the fit, 0 when it was given up for want of valid answers
    before that.
    """

    distance: Integers
    stopped: Integers


def fit_validation(
    ranking: pd.DataFrame, matches: Mapping[str, pd.DataFrame], settings: ExplicitSettings, seeds: int = SEEDS
) -> pd.DataFrame:
    """The whole study, a `FIT_VALIDATION` frame: one row per configuration and step.

    Args:
        ranking: `REFERENCE_RANKING` frame; the published ruler, which has no matches, gives an empty frame.
        matches: `COMPARISON_MATCHES` frame per judge, those that the ranking was made from.
        settings: seed; N and K of the product's fit, which are part of the grid; patience and step limit,
            which end no fit here.
        seeds: repetitions with other random draws. Draws do not depend on the configuration, so that
            configurations differ by what they do, not by luck.

    Raises:
        MethodError: matches that are not those of the ranking.
    """
    if (ranking["ruler"] == "published").all():
        return FIT_VALIDATION.frame()
    recorded = recorded_matches(ranking, matches)
    configurations = grid(recorded.judges, settings)
    curves = fit_back(ranking, recorded, configurations, settings, seeds)
    version = str(ranking["ranking_version"].iloc[0])
    parts = [_rows(configuration, curves, i, version) for i, configuration in enumerate(configurations)]
    return FIT_VALIDATION.frame(
        {name: [value for part in parts for value in part[name]] for name in FIT_VALIDATION.names}
    )


def grid(judges: Sequence[str], settings: ExplicitSettings) -> list[Configuration]:
    """The configurations of the study, for both strategies.

    All judges with K varied at the product's N, and with N varied at its K; every judge alone with N varied.
    A judge that answers alone answers at every step, whatever K is. A ranker of one judge has no `all`.
    """
    limits = sorted({*OPPONENT_LIMITS, settings.opponent_limit})
    panels = sorted({*PANEL_STEPS, settings.panel_steps})
    several = len(judges) > 1
    shapes = [
        (ALL, settings.opponent_limit, steps) for steps in panels if several and steps != settings.panel_steps
    ]
    shapes += [
        (who, limit, settings.panel_steps)
        for who, limit in product([ALL, *judges] if several else judges, limits)
    ]
    return [
        Configuration(strategy, *shape)
        for strategy, shape in product(STRATEGIES, sorted(shapes, key=lambda s: (s[0] != ALL, s)))
    ]


def fit_back(
    ranking: pd.DataFrame,
    recorded: RecordedMatches,
    configurations: Sequence[Configuration],
    settings: ExplicitSettings,
    seeds: int = SEEDS,
) -> Curves:
    """Leave every phrase out and fit it back with every configuration and seed."""
    ordered = ranking.sort_values("rank", kind="stable")
    mu, variance = ordered["mu"].to_numpy(dtype=np.float64), ordered["sigma"].to_numpy(dtype=np.float64) ** 2
    names, judges = text_hashes(ordered["phrase"]), text_hashes(recorded.judges)
    shape = (len(configurations), len(mu), seeds)
    curves = Curves(np.zeros((*shape, STEPS), np.int64), np.zeros(shape, np.int64))
    numbers = np.arange(seeds, dtype=np.uint64)
    for limit in sorted({configuration.opponent_limit for configuration in configurations}):
        group = [i for i, configuration in enumerate(configurations) if configuration.opponent_limit == limit]
        chosen = [configurations[i] for i in group]
        alone = [-1 if c.judges == ALL else recorded.judges.index(c.judges) for c in chosen]
        for phrase in range(len(mu)):
            others = np.flatnonzero(np.arange(len(mu)) != phrase)
            seed = mix(text_hash(settings.seed, "validation"), names[phrase], numbers)
            left_out = _LeftOut(
                Reference(mu[others], variance[others], (), ()),
                names[others],
                recorded.outcomes[phrase, others],
                judges,
                np.tile(seed, len(chosen)),
                np.repeat([c.strategy == "random" for c in chosen], seeds),
                np.repeat(alone, seeds),
                np.repeat([c.panel_steps for c in chosen], seeds),
            )
            ranks, stopped = left_out.play(limit, settings)
            distance = np.abs(ranks - int((mu[others] > mu[phrase]).sum()))
            curves.distance[group, phrase] = distance.reshape(len(group), seeds, STEPS)
            curves.stopped[group, phrase] = stopped.reshape(len(group), seeds)
    return curves


@dataclass(frozen=True)
class _LeftOut:
    """One left-out phrase, its opponents, and one fit per configuration and seed.

    `names`: hashes of the other phrases, shape (phrases,); `outcomes`: recorded answers, shape (phrases,
    judges, repetitions); `judges`: hashes, shape (judges,). Of shape (fits,): `seed`, hash of its draws;
    `random`: whether opponents are drawn at random; `alone`: the judge that answers alone, -1 for none;
    `panel_steps`: K.
    """

    reference: Reference
    names: U64
    outcomes: Answers
    judges: U64
    seed: U64
    random: NDArray[np.bool_]
    alone: Integers
    panel_steps: Integers

    def play(self, limit: int, settings: ExplicitSettings) -> tuple[Integers, Integers]:
        """Ranks after every step, shape (fits, steps), and the step at which the product would have ended
        each fit, shape (fits,); the fits themselves know no patience.
        """
        rules = settings.model_copy(update={"opponent_limit": limit, "patience": _NEVER, "step_limit": STEPS})
        fits = Fits.start(len(self.seed), len(self.names), len(self.judges))
        ranks = np.zeros((len(self.seed), STEPS), dtype=np.int64)
        stopped = np.zeros(len(self.seed), dtype=np.int64)
        while len(active := fits.running()):
            opponent = self._opponents(active, fits, limit)
            said = self._answers(active, opponent, fits)
            fitting.apply_answers(active, opponent, said, fits, self.reference)
            fitting.end_fits(active, fits, rules)
            played = active[fits.steps[active] > 0]
            ranks[played, fits.steps[played] - 1] = fits.rank[played]
            settled = (fits.stable[active] >= settings.patience) | (fits.steps[active] >= settings.step_limit)
            ended = settled | np.isin(fits.stop[active], (NO_OPPONENT, LIMIT))
            first = active[ended & (stopped[active] == 0)]
            stopped[first] = fits.steps[first]
        last = np.minimum(np.arange(STEPS), np.maximum(fits.steps, 1)[:, None] - 1)
        return np.take_along_axis(ranks, last, axis=1), stopped

    def _opponents(self, active: Integers, fits: Fits, limit: int) -> Integers:
        """By draw probability as in the product, or any eligible phrase with equal chances."""
        mu, variance, counts = fits.mu[active], fits.variance[active], fits.counts[active]
        chosen = choose_opponents(mu, variance, counts, self.reference, limit)
        rows = active[self.random[active]]
        if len(rows):
            draw = mix(self.seed[rows], fits.steps[rows] + fits.void[rows], text_hash("opponent"))
            lots = mix(draw[:, None], self.names[None, :])
            lots = np.where(fits.counts[rows] < limit, lots, np.uint64(2**64 - 1))
            chosen[self.random[active]] = np.argmin(lots, axis=1)
        return chosen

    def _answers(self, active: Integers, opponent: Integers, fits: Fits) -> Answers:
        """What every judge says in this step, shape (active, judges), in the codes of `fits`.

        Each judge draws its own of the recorded comparisons, as each plays its own sentence of the opponent
        in the product.
        """
        step = fits.steps[active] + fits.void[active]
        keys = mix(self.seed[active, None], step[:, None], self.judges[None, :])
        judges = np.arange(len(self.judges))
        won = self.outcomes[opponent[:, None], judges[None, :], below(mix(keys, 0), self.outcomes.shape[2])]
        alone = self.alone[active]
        one = np.where(alone >= 0, alone, np.argmin(mix(keys, 2), axis=1))
        single = (alone >= 0) | (fits.steps[active] >= self.panel_steps[active])
        won[single[:, None] & (judges[None, :] != one[:, None])] = NOT_ASKED
        return won


def _rows(configuration: Configuration, curves: Curves, number: int, version: str) -> dict[str, list[Any]]:
    """Columns of one configuration's rows."""
    stopped, distance = curves.stopped[number], curves.distance[number].astype(np.float64)
    fitted = stopped > 0
    until = np.minimum(np.arange(STEPS), np.maximum(stopped, 1)[..., None] - 1)
    seeds = [distance[placed, seed].mean(axis=0) for seed, placed in enumerate(fitted.T) if placed.any()]
    constant = {
        **vars(configuration),
        "unfitted": int((~fitted).sum()),
        "phrases": fitted.shape[0],
        "seeds": fitted.shape[1],
        "ranking_version": version,
    }
    return {
        **{name: [value] * STEPS for name, value in constant.items()},
        "step": list(range(1, STEPS + 1)),
        "mean_distance": _mean(distance[fitted]),
        "sd_distance": _sd(distance[fitted]),
        "sd_between_seeds": _sd(np.array(seeds)),
        "mean_distance_stopped": _mean(np.take_along_axis(distance, until, axis=2)[fitted]),
    }


def _mean(values: Floats) -> list[float | None]:
    return values.mean(axis=0).tolist() if len(values) else [None] * STEPS


def _sd(values: Floats) -> list[float | None]:
    return values.std(axis=0, ddof=1).tolist() if len(values) > 1 else [None] * STEPS


_REMEDY = "Materialise comparison_matches of that judge again, then reference_ranking."
_UNKNOWN = -9


@dataclass(frozen=True)
class RecordedMatches:
    """Recorded answers, shape (phrases, phrases, judges, repetitions).

    1: the first phrase won, 0: it lost, -1: the answer was invalid. Phrases are in ranking order, judges in
    panel order. A phrase has no match with itself (-1).
    """

    judges: tuple[str, ...]
    outcomes: Answers


def recorded_matches(ranking: pd.DataFrame, matches: Mapping[str, pd.DataFrame]) -> RecordedMatches:
    """The matches that a ranking was made from.

    Args:
        ranking: `REFERENCE_RANKING` frame of an own ruler.
        matches: `COMPARISON_MATCHES` frame per judge, at least those of the ranking's judges.

    Raises:
        MethodError: a judge of the ranking without matches, or matches that are not exactly those of the
            ranked phrases.
    """
    ordered = ranking.sort_values("rank", kind="stable")
    phrases = pd.Index(ordered["phrase"])
    judges = tuple(ordered["judges"].iloc[0])
    version = str(ordered["vocabulary_version"].iloc[0])
    lacking = [judge for judge in judges if judge not in matches]
    if lacking:
        raise MethodError(f"there are no matches of judge {lacking[0]!r}, which the ranking names. {_REMEDY}")
    repetitions = 1 + max(
        int(matches[judge]["repetition"].max()) if len(matches[judge]) else 0 for judge in judges
    )
    outcomes = np.stack(
        [_of_judge(judge, matches[judge], phrases, version, repetitions) for judge in judges], axis=2
    )
    return RecordedMatches(judges, outcomes)


def _of_judge(judge: str, frame: pd.DataFrame, phrases: pd.Index, version: str, repetitions: int) -> Answers:
    """One judge's outcomes, shape (phrases, phrases, repetitions)."""
    one, two = (
        phrases.get_indexer(pd.Index(frame["phrase_a"])),
        phrases.get_indexer(pd.Index(frame["phrase_b"])),
    )
    outcomes = np.full((len(phrases), len(phrases), repetitions), _UNKNOWN, dtype=np.int8)
    known = bool((one >= 0).all() and (two >= 0).all()) and set(frame["vocabulary_version"]) <= {version}
    if known:
        repetition = frame["repetition"].to_numpy(dtype=np.int64)
        valid = (frame["answer"] != "invalid").to_numpy(dtype=bool)
        won = (frame["winner"] == frame["phrase_a"]).to_numpy(dtype=bool)
        outcomes[one, two, repetition] = np.where(valid, won, INVALID)
        outcomes[two, one, repetition] = np.where(valid, ~won, INVALID)
    itself = np.arange(len(phrases))
    outcomes[itself, itself] = INVALID
    missing = int((outcomes == _UNKNOWN).sum()) // 2
    if missing:
        raise MethodError(
            f"matches of judge {judge!r}: {missing} are missing, or they are of another vocabulary; expected "
            f"{repetitions} for every pair of the {len(phrases)} ranked phrases. {_REMEDY}"
        )
    return outcomes
