"""Validation of ranking and fit from the recorded comparisons; no judge is asked.

Sections 3 and 7 of docs/method/explicit.md. How much the ranking changes with half of
the comparisons; and each ranked phrase is fitted back by `fit.py` itself, against all
others: its rank is compared with the known one. In the place of a judge stand the
answers that it gave about the pair, of which one is drawn, with replacement.

Reference and answers of the fits come from the same comparisons: the distances say how
well the fit finds a known rank, not how well the ranking is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random
from typing import NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.explicit import trueskill
from lunguage_assets.explicit.fit import Fits
from lunguage_assets.explicit.ranking import (
    Examples,
    Matches,
    collect_answers,
    is_published_scale,
    random_orders,
)
from lunguage_assets.judges.protocol import (
    Choice,
    ComparisonQuestion,
)
from lunguage_assets.randomness import Floats, text_hash
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import FIT_VALIDATION, RANKING_ROBUSTNESS

REPEATS = 10
"""Of the ranking with half of the comparisons."""

PANEL_STEPS = (0, 1, 5, 10, 20, 50, 100)
OPPONENT_LIMITS = (2, 3, 5, 10, 20)
SEEDS = 10
STEPS = 100
ALL_JUDGES = "all"

_ENDLESS = 10**9
"""Patience of a fit that no stable rank ends."""
_PAIR = ["phrase_a", "phrase_b"]
_CHOICES: tuple[Choice, Choice] = ("sentence_1", "sentence_2")


# The ranking


def ranking_robustness(
    ranking: pd.DataFrame,
    matches: Matches,
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
    known_mu = ranking.set_index("phrase")["mu"].sort_index()
    phrases = list(known_mu.index)
    collected = collect_answers(phrases, matches)
    # All judges were asked about the same comparisons.
    comparisons, *_ = matches.values()
    of_pairs = comparisons.groupby(_PAIR)["match_id"]
    half = max(1, settings.repetitions // 2)
    rows = []
    for number, repeat in product(sorted({half, settings.repetitions}), range(repeats)):
        seed = text_hash(settings.seed, "half", repeat) % 2**32
        drawn = of_pairs.sample(number, random_state=seed)
        answers = collected[collected["match_id"].isin(drawn)]
        orders = random_orders(answers, settings, "order of play of a repeat", repeat)
        ratings = trueskill.play(answers, len(phrases), orders)
        mu = pd.Series(ratings.mu.mean(axis=0), phrases)
        change = (mu - known_mu).abs()
        rows.append(
            {
                "comparisons": number,
                "repeat": repeat,
                "answers": len(answers),
                "mean_abs_mu": change.mean(),
                "largest_abs_mu": change.max(),
                "mean_abs_rank": (mu.rank() - known_mu.rank()).abs().mean(),
                "spearman": mu.corr(known_mu, "spearman"),
                "ranking_version": ranking["ranking_version"].iloc[0],
            }
        )
    return RANKING_ROBUSTNESS.frame(rows)


# The fit


class Configuration(NamedTuple):
    """One way to fit a phrase back.

    Attributes:
        strategy: how opponents are chosen, as of `_KIND_BY_STRATEGY`.
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
    matches: Matches,
    settings: ExplicitSettings,
    seeds: int = SEEDS,
) -> pd.DataFrame:
    """Fit every phrase back with every configuration.

    Args:
        ranking: `REFERENCE_RANKING` frame.
        matches: the `COMPARISON_MATCHES` per judge that it was made from.
        settings: its N and K are part of the grid; the fits know no patience.
        seeds: repetitions with other random draws.

    Returns:
        A `FIT_VALIDATION` frame, a row per configuration and step; empty for the
        published scale.
    """
    if is_published_scale(ranking):
        return FIT_VALIDATION.frame()
    frames = []
    for configuration in grid(ranking["judges"].iloc[0], settings):
        distance = fit_back(ranking, matches, configuration, settings, seeds)
        measures = {
            "mean_distance": distance.mean(),
            "sd_distance": distance.std(),
            # What luck is worth: how far the means of single seeds lie from each other.
            "sd_between_seeds": distance.groupby(level="seed").mean().std(),
        }
        frames.append(pd.DataFrame(measures).assign(**configuration._asdict()))
    frame = pd.concat(frames).rename_axis("step").reset_index()
    return FIT_VALIDATION.frame(
        frame.assign(
            phrases=len(ranking),
            seeds=seeds,
            ranking_version=ranking["ranking_version"].iloc[0],
        )
    )


def grid(judges: Sequence[str], settings: ExplicitSettings) -> list[Configuration]:
    """List the configurations of the study, for both strategies.

    All judges together with K varied at the product's N, and with N varied at its K;
    every judge alone as the product is set.
    """
    # One option at a time is varied, around what the product does.
    together = ALL_JUDGES if len(judges) > 1 else judges[0]
    product_n = settings.opponent_limit
    product_k = settings.panel_steps
    varied_k = product([together], [product_n], {*PANEL_STEPS, product_k})
    varied_n = product([together], {*OPPONENT_LIMITS, product_n}, [product_k])
    alone = product(judges, [product_n], [product_k])
    shapes = sorted({*varied_k, *varied_n, *alone})
    return [
        Configuration(strategy, *shape)
        for strategy, shape in product(_KIND_BY_STRATEGY, shapes)
    ]


def fit_back(
    ranking: pd.DataFrame,
    matches: Matches,
    configuration: Configuration,
    settings: ExplicitSettings,
    seeds: int = SEEDS,
) -> pd.DataFrame:
    """Fit every phrase back against the others.

    Args:
        ranking: `REFERENCE_RANKING` frame.
        matches: the `COMPARISON_MATCHES` per judge that it was made from.
        configuration: the way to fit a phrase back.
        settings: position and seed of all draws.
        seeds: repetitions of each fit.

    Returns:
        |rank - known rank|: a row per phrase and seed, a column per step. A fit that
        has ended keeps its last one; one without any answer has none.
    """
    # The sentence of a phrase is the phrase, once for each seed.
    phrases = ranking["phrase"].tolist()
    left_out = np.repeat(np.arange(len(phrases)), seeds)
    fitted = pd.MultiIndex.from_product([phrases, range(seeds)], names=["", "seed"])
    sentences = [f"{phrase}\n{seed}" for phrase, seed in fitted]
    examples = Examples([[phrase] for phrase in phrases])
    judges = [configuration.judges]
    if configuration.judges == ALL_JUDGES:
        judges = ranking["judges"].iloc[0]
    panel = [_RecordedJudge(judge, matches[judge], settings.seed) for judge in judges]
    options = {
        "opponent_limit": configuration.opponent_limit,
        "panel_steps": configuration.panel_steps,
        "step_limit": STEPS,
        "patience": _ENDLESS,
        "fit_log": True,
    }
    changed = settings.model_copy(update=options)
    kind = _KIND_BY_STRATEGY[configuration.strategy]
    fits = kind(sentences, ranking, examples, panel, changed)
    # No phrase plays itself.
    fits.counts[np.arange(len(fitted)), left_out] = configuration.opponent_limit
    fits.run()
    log = pd.concat(fits.log)
    known_rank = left_out[log["sentence"]]
    # The phrase itself counts neither above nor below its sentence.
    rank = log["rank"] - (ranking["mu"].to_numpy()[known_rank] > log["mu"])
    log["distance"] = (rank - known_rank).abs()
    distance = log.pivot(index="sentence", columns="step", values="distance")
    distance = distance.reindex(columns=range(STEPS)).ffill(axis=1)
    distance[fits.steps == 0] = np.nan
    return distance.set_axis(range(1, STEPS + 1), axis=1).set_axis(fitted)


class _FitsAtRandom(Fits):
    """Fits whose opponents are drawn at random, among those that may still play."""

    def evenness(self) -> Floats:
        """Draw how even each phrase is."""
        random = np.random.default_rng(self.tried.sum())
        evenness = np.zeros(self.counts.shape)
        # Those that have ended draw nothing.
        running = self.counts[self.is_running]
        evenness[self.is_running] = random.random(running.shape)
        return evenness


_KIND_BY_STRATEGY = {"draw probability": Fits, "random": _FitsAtRandom}


class _RecordedJudge:
    """Answers as a judge did, who was asked about the same two phrases.

    Args:
        key: of the judge.
        matches: its `COMPARISON_MATCHES` frame.
        seed: of all draws.
    """

    def __init__(self, key: str, matches: pd.DataFrame, seed: int) -> None:
        self.key = key
        self._random = Random(f"{seed} {key}")
        self._winners = matches.groupby(_PAIR)["winner"].agg(list).to_dict()

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]:
        """Choose the sentence of the phrase that won a comparison, drawn at random."""
        choices: list[Choice] = []
        for question in questions:
            shown = (question.sentence_1, question.sentence_2)
            phrases = [sentence.partition("\n")[0] for sentence in shown]
            winner = self._random.choice(self._winners[tuple(sorted(phrases))])
            choice_by_phrase = dict(zip(phrases, _CHOICES, strict=True))
            choices.append(choice_by_phrase.get(winner, "invalid"))
        return choices
