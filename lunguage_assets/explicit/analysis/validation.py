"""Validation of ranking and fit from the recorded comparisons; no judge is asked.

Sections 3 and 7 of docs/method/explicit.md. How much the ranking changes with half of
the comparisons; and each ranked phrase is left out of the reference scale and fitted
back by the rules of `fit.py`: its rank is compared with the known one. Answers are
drawn, with replacement, from those recorded for the pair.

Reference and answers of the fits come from the same comparisons: the distances say how
well the fit finds a known rank, not how well the ranking is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.explicit import trueskill
from lunguage_assets.explicit.fit import (
    MAX_STEPS_WITHOUT_ANSWER,
    Fits,
    Outcome,
    Outcomes,
    ReferenceScale,
    Rules,
)
from lunguage_assets.explicit.intervals import ranks
from lunguage_assets.explicit.ranking import (
    Examples,
    collect_answers,
    is_published_scale,
    random_orders,
)
from lunguage_assets.randomness import text_hash
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import FIT_VALIDATION, RANKING_ROBUSTNESS

REPEATS = 10
"""Of the ranking with half of the comparisons."""

RANDOM = "random"
STRATEGIES = ("draw probability", RANDOM)
PANEL_STEPS = (0, 1, 5, 10, 20, 50, 100)
OPPONENT_LIMITS = (2, 3, 5, 10, 20)
SEEDS = 10
STEPS = 100
ALL_JUDGES = "all"

_ENDLESS = 10**9
"""Patience of a fit that no stable rank ends."""


# The ranking


def ranking_robustness(
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    repeats: int = REPEATS,
) -> pd.DataFrame:
    """Rank again with half of the comparisons of every pair, many times.

    A comparison is kept with the answers of all judges, and every repeat plays in
    random orders of its own. As many repeats with all comparisons say how much of the
    change the order of play alone makes.

    Args:
        ranking: `REFERENCE_RANKING` frame.
        matches: the `COMPARISON_MATCHES` per judge that it was made from.
        settings: those that it was made with.
        repeats: with other halves and other orders, which follow from the seed.

    Returns:
        A `RANKING_ROBUSTNESS` frame; empty for the published scale.
    """
    if is_published_scale(ranking):
        return RANKING_ROBUSTNESS.frame()
    ordered = ranking.sort_values("phrase")
    ranked_mu = ordered["mu"].to_numpy(dtype=np.float64)
    answers = collect_answers(ordered["phrase"].tolist(), matches)
    sides = np.sort(answers[["winner", "loser"]], axis=1)
    comparisons = answers.assign(a=sides[:, 0], b=sides[:, 1]).drop_duplicates("match")
    # With all comparisons only the order of play differs: what that alone changes.
    half = max(1, settings.repetitions // 2)
    numbers_of_comparisons = sorted({half, settings.repetitions})
    rows = []
    for number, repeat in product(numbers_of_comparisons, range(repeats)):
        seed = text_hash(settings.seed, "half", repeat) % 2**32
        drawn = comparisons.groupby(["a", "b"])["match"].sample(
            frac=number / settings.repetitions, random_state=seed
        )
        kept = answers[answers["match"].isin(drawn)]
        orders = random_orders(kept, settings, "order of play of a repeat", repeat)
        mu = trueskill.play(kept, len(ordered), orders).mu.mean(axis=0)
        change = np.abs(mu - ranked_mu)
        rows.append(
            {
                "comparisons": number,
                "repeat": repeat,
                "answers": len(kept),
                "mean_abs_mu": change.mean(),
                "largest_abs_mu": change.max(),
                "mean_abs_rank": np.abs(ranks(mu) - ranks(ranked_mu)).mean(),
                "spearman": pd.Series(mu).corr(pd.Series(ranked_mu), "spearman"),
                "ranking_version": ranking["ranking_version"].iloc[0],
            }
        )
    return RANKING_ROBUSTNESS.frame(rows)


# The fit


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
        settings: its N and K are part of the grid; the fits know no patience.
        seeds: repetitions with other random draws. The draws are the same in every
            configuration: these differ by what they do, not by luck.

    Returns:
        A `FIT_VALIDATION` frame, a row per configuration and step; empty for the
        published scale.
    """
    if is_published_scale(ranking):
        return FIT_VALIDATION.frame()
    configurations = grid(list(ranking["judges"].iloc[0]), settings)
    distance = fit_back(ranking, matches, configurations, settings.seed, seeds)
    by_configuration = distance.groupby(level="configuration")
    means_by_seed = distance.groupby(level=["configuration", "seed"]).mean()
    measures = {
        "mean_distance": by_configuration.mean(),
        "sd_distance": by_configuration.std(),
        # What luck is worth: how far the means of single seeds lie from each other.
        "sd_between_seeds": means_by_seed.groupby(level="configuration").std(),
    }
    frame = pd.DataFrame({name: table.stack() for name, table in measures.items()})
    frame = frame.rename_axis(["configuration", "step"]).reset_index()
    frame = frame.join(pd.DataFrame(configurations), on="configuration").assign(
        phrases=len(ranking),
        seeds=seeds,
        ranking_version=ranking["ranking_version"].iloc[0],
    )
    return FIT_VALIDATION.frame(frame.to_dict("list"))


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


def fit_back(
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    configurations: Sequence[Configuration],
    seed: int,
    seeds: int = SEEDS,
) -> pd.DataFrame:
    """Leave every phrase out, and fit it back with every configuration and seed.

    Args:
        ranking: `REFERENCE_RANKING` frame.
        matches: the `COMPARISON_MATCHES` per judge that it was made from.
        configurations: ways to fit a phrase back.
        seed: of all draws.
        seeds: repetitions of each.

    Returns:
        |rank - known rank|: a row per phrase, configuration and seed, a column per
        step with a valid answer. A fit that has ended keeps its last one; one without
        any answer has none.
    """
    ordered = ranking.sort_values("rank", kind="stable")
    judges = list(ranking["judges"].iloc[0])
    outcomes = recorded_outcomes(ordered["phrase"].tolist(), judges, matches)
    mu = ordered["mu"].to_numpy(dtype=np.float64)
    variance = ordered["sigma"].to_numpy(dtype=np.float64) ** 2
    plan = pd.DataFrame(configurations).rename_axis("configuration").reset_index()
    # `all` is no judge of the panel: -1.
    plan["judge"] = pd.Index(judges).get_indexer(pd.Index(plan["judges"]))
    plan = plan.merge(pd.DataFrame({"seed": range(seeds)}), how="cross")
    plan = plan.set_index(["configuration", "seed"])
    distances = {}
    for phrase in range(len(mu)):
        is_opponent = np.arange(len(mu)) != phrase
        reference = ReferenceScale(mu[is_opponent], variance[is_opponent], Examples([]))
        random = np.random.default_rng([seed, phrase])
        rank = _refit(plan, reference, outcomes[phrase, is_opponent], random)
        known_rank = int((mu[is_opponent] > mu[phrase]).sum())
        distances[phrase] = (rank - known_rank).abs()
    return pd.concat(distances, names=["phrase"])


def _refit(
    plan: pd.DataFrame,
    reference: ReferenceScale,
    outcomes: Outcomes,
    random: np.random.Generator,
) -> pd.DataFrame:
    """Fit one phrase back, by every configuration and seed side by side.

    Args:
        plan: the `Configuration` of each fit.
        reference: the other phrases.
        outcomes: recorded answers about the phrase, (phrases, judges, repetitions).
        random: of all draws.

    Returns:
        Ranks after every step, a row per fit.
    """
    phrases, judges, repetitions = outcomes.shape
    seed = plan.index.get_level_values("seed").to_numpy()
    # What every seed draws in every step, whatever the configuration.
    draws = (seed.max() + 1, STEPS + MAX_STEPS_WITHOUT_ANSWER)
    chance = random.random((*draws, phrases))
    repetition = random.integers(repetitions, size=(*draws, judges))
    drawn_judge = random.integers(judges, size=draws)
    is_random = (plan["strategy"] == RANDOM).to_numpy()
    only_judge = plan["judge"].to_numpy()
    rules = Rules(plan["opponent_limit"], plan["panel_steps"], STEPS, _ENDLESS)
    fits = Fits(len(plan), judges, reference, rules)
    rank_by_step = np.full((len(plan), STEPS + 1), np.nan)
    while len(active := fits.running()):
        draw = (seed[active], fits.tried[active])
        most_even, _ = fits.opponents(active)
        any_other = np.where(fits.eligible(active), chance[draw], -1.0).argmax(axis=1)
        opponent = np.where(is_random[active], any_other, most_even)
        # Every judge draws a comparison of its own, as it plays its own sentence of the
        # opponent in the product. One judge answers all steps, or after K steps one
        # that is drawn each time.
        numbers = np.arange(judges)
        drawn = outcomes[opponent[:, None], numbers, repetition[draw]]
        only = only_judge[active]
        lone_judge = np.where(only >= 0, only, drawn_judge[draw])
        is_lone = (only >= 0) | ~fits.is_whole_panel(active)
        is_silent = is_lone[:, None] & (numbers != lone_judge[:, None])
        fits.play(active, opponent, np.where(is_silent, Outcome.NOT_ASKED, drawn))
        fits.end(active)
        rank_by_step[active, fits.steps[active]] = fits.rank[active]
    # Column 0 is before the first valid answer.
    steps = range(1, STEPS + 1)
    return pd.DataFrame(rank_by_step[:, 1:], plan.index, steps).ffill(axis=1)


def recorded_outcomes(
    phrases: Sequence[str], judges: Sequence[str], matches: Mapping[str, pd.DataFrame]
) -> Outcomes:
    """Collect the recorded answers about every two ranked phrases.

    Args:
        phrases: in ranking order.
        judges: in panel order.
        matches: `COMPARISON_MATCHES` frame per judge.

    Returns:
        Whether the first phrase won, as an `Outcome`: shape (phrases, phrases, judges,
        repetitions). Invalid for a phrase and itself.
    """
    numbers = pd.Index(phrases)
    repetitions = 1 + max(int(matches[judge]["repetition"].max()) for judge in judges)
    shape = (len(phrases), len(phrases), len(judges), repetitions)
    outcomes = np.full(shape, Outcome.INVALID, dtype=np.int8)
    for number, judge in enumerate(judges):
        valid = matches[judge].dropna(subset="winner")
        first = numbers.get_indexer(pd.Index(valid["phrase_a"]))
        second = numbers.get_indexer(pd.Index(valid["phrase_b"]))
        has_won = (valid["winner"] == valid["phrase_a"]).to_numpy(dtype=bool)
        # From both sides: either of the two phrases may be the one that is left out.
        outcomes[first, second, number, valid["repetition"]] = has_won
        outcomes[second, first, number, valid["repetition"]] = ~has_won
    return outcomes
