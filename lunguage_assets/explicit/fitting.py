"""Placing tentative findings in the reference ranking: masked sentences play reference phrases, in lockstep (explicit.md section 5).

A sentence's steps are sequential, but sentences are independent: every round chooses all opponents at once, asks each judge once for
all sentences, and updates all. Which findings are fitted and what becomes of the others is in `pairs.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit import trueskill
from lunguage_assets.explicit.draws import U64, coins, mix, smallest, text_hash, text_hashes
from lunguage_assets.explicit.pairs import collect_pairs, fitted_frame
from lunguage_assets.explicit.probability import Anchor, calibrate
from lunguage_assets.judges.protocol import ComparisonQuestion, Judge, ask_panel
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import FITTED_PROBABILITIES

DRAW_BETA = 25.0 / 6.0
"""b of the draw probability; not the rounded 4.167 of the updates (explicit.md section 5)."""

VOID_STEPS = 10
"""Steps without a valid answer after which a sentence is given up."""

EXAMPLES_DRAWN_FROM = 512
"""Examples of a phrase from which opponents are drawn in a fit: all of them in the published corpus, and in a larger one a random, stable
subset, so that the cost of a fit does not grow with the corpus."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STOPS = ("stable rank", "step limit", "no opponent left", "no valid answers")
_FIRST_WON = {"sentence_1": 1, "sentence_2": 0, "invalid": -1}
_RUNNING, _STABLE, _LIMIT, _NO_OPPONENT, _NO_ANSWERS = -1, 0, 1, 2, 3


@dataclass(frozen=True)
class Reference:
    """The ranked phrases in ranking order with their distinct example sentences and those sentences' hashes."""

    mu: Floats
    variance: Floats
    sentences: tuple[tuple[str, ...], ...]
    hashes: tuple[U64, ...]

    @classmethod
    def of(cls, ranking: pd.DataFrame, vocabulary: pd.DataFrame) -> Reference:
        """Raises MethodError when a ranked phrase has no example sentence in the vocabulary."""
        ordered = ranking.sort_values("rank", kind="stable")
        retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
        examples = dict(zip(retained["phrase"].tolist(), retained["example_sentences"].tolist(), strict=True))
        phrases = ordered["phrase"].tolist()
        if not phrases or any(not len(examples.get(phrase, ())) for phrase in phrases):
            raise MethodError("the ranking and the vocabulary do not belong together. Materialise reference_ranking again.")
        sentences = tuple(_drawn_from(examples[phrase]) for phrase in phrases)
        sigma = ordered["sigma"].to_numpy(dtype=np.float64)
        return cls(ordered["mu"].to_numpy(dtype=np.float64), sigma**2, sentences, tuple(text_hashes(known) for known in sentences))


def _drawn_from(examples: Sequence[str]) -> tuple[str, ...]:
    """The distinct examples, or the ones with the smallest hashes: an added example displaces at most one."""
    return tuple(sorted(set(examples), key=lambda sentence: (text_hash("drawn from", sentence), sentence))[:EXAMPLES_DRAWN_FROM])


@dataclass
class Fits:
    """State of the fits while they run and their result at the end; arrays over sentences (`counts`: sentences x phrases).

    `steps` had a valid answer, `void` had none; `stop` is a number into `STOPS`. A fit given up keeps no meaningful mu.
    """

    mu: Floats
    variance: Floats
    counts: Integers
    steps: Integers
    void: Integers
    answers: Integers
    invalid: Integers
    rank: Integers
    stable: Integers
    stop: Integers

    @classmethod
    def start(cls, sentences: int, phrases: int) -> Fits:
        def zeros() -> Integers:
            return np.zeros(sentences, dtype=np.int64)

        return cls(
            mu=np.full(sentences, trueskill.MU),
            variance=np.full(sentences, trueskill.SIGMA**2),
            counts=np.zeros((sentences, phrases), dtype=np.int64),
            steps=zeros(),
            void=zeros(),
            answers=zeros(),
            invalid=zeros(),
            rank=zeros() - 1,
            stable=zeros(),
            stop=zeros() + _RUNNING,
        )


def fit_pairs(
    findings: pd.DataFrame,
    hedges: pd.DataFrame,
    vocabulary: pd.DataFrame,
    ranking: pd.DataFrame,
    panel: Sequence[Judge],
    anchors: Sequence[Anchor],
    settings: ExplicitSettings,
) -> pd.DataFrame:
    """Every tentative finding with its place and probability, a `FITTED_PROBABILITIES` frame sorted by study and row.

    Args:
        findings: `FINDINGS` frame of a batch.
        hedges: `HEDGE_PHRASES` frame of the same batch.
        vocabulary: `HEDGE_VOCABULARY` frame that was ranked.
        ranking: `REFERENCE_RANKING` frame.
        panel: judges, in the order in which their answers are used.
        anchors: phrases of known probability.
        settings: N, K, patience, step limit, seed, position.

    Identical masked sentences are fitted once; a result depends on its sentence, the ranking, the panel and the seed alone.

    Raises:
        MethodError: no judge; tables that do not belong together; unusable anchors.
    """
    pairs = collect_pairs(findings, hedges)
    if not panel:
        raise MethodError("the panel has no judge. Name its members in the judges file.")
    if not pairs:
        return FITTED_PROBABILITIES.frame()
    calibration = calibrate(ranking, anchors)  # before any judge is asked: unusable anchors must not cost answers
    sentences = sorted({pair.masked_sentence for pair in pairs if pair.masked_sentence is not None})
    fits = fit_sentences(sentences, Reference.of(ranking, vocabulary), panel, settings)
    return fitted_frame(pairs, {sentence: i for i, sentence in enumerate(sentences)}, fits, STOPS, ranking, calibration)


def fit_sentences(sentences: Sequence[str], reference: Reference, panel: Sequence[Judge], settings: ExplicitSettings) -> Fits:
    """Fit distinct masked sentences in lockstep rounds, with one call per judge and round."""
    fits = Fits.start(len(sentences), len(reference.mu))
    seeds = mix(text_hash(settings.seed, "fit"), text_hashes(sentences))
    while True:
        active = np.flatnonzero(fits.stop == _RUNNING)
        if not len(active):
            return fits
        opponent = choose_opponents(fits.mu[active], fits.variance[active], fits.counts[active], reference, settings.opponent_limit)
        won = _ask(active, opponent, sentences, seeds, fits, reference, panel, settings)
        _update(active, opponent, won, fits, reference)
        _stop(active, fits, settings)


def choose_opponents(mu: Floats, variance: Floats, counts: Integers, reference: Reference, limit: int) -> Integers:
    """For each sentence the phrase with the highest draw probability among those played fewer than `limit` times (step 1).

    The first maximum in ranking order wins a tie. `counts` has shape (sentences, phrases); every row has an eligible phrase.
    """
    c2 = 2.0 * DRAW_BETA**2 + variance[:, None] + reference.variance
    draw = np.sqrt(2.0 * DRAW_BETA**2 / c2) * np.exp(-((mu[:, None] - reference.mu) ** 2) / (2.0 * c2))
    chosen: Integers = np.argmax(np.where(counts < limit, draw, -1.0), axis=1).astype(np.int64)
    return chosen


def _ask(
    active: Integers,
    opponent: Integers,
    sentences: Sequence[str],
    seeds: U64,
    fits: Fits,
    reference: Reference,
    panel: Sequence[Judge],
    settings: ExplicitSettings,
) -> Integers:
    """What every judge says in this step (step 2), shape (active, judges): 1 the sentence won, 0 it lost, -1 invalid, -2 not asked."""
    step = fits.steps[active] + fits.void[active]
    keys = np.stack([mix(seeds[active], step, text_hash(judge.key)) for judge in panel], axis=1)
    asked = np.ones(keys.shape, dtype=bool)
    alone = fits.steps[active] >= settings.panel_steps
    asked[alone] = np.arange(len(panel)) == np.argmin(mix(keys[alone], 2), axis=1)[:, None]
    rows_of = [np.flatnonzero(asked[:, j]) for j in range(len(panel))]
    swaps, questions = [], []
    for j, rows in enumerate(rows_of):
        shown = _opponent_sentences(opponent[rows], mix(keys[rows, j], 0), reference)
        swapped = coins(mix(keys[rows, j], 1)) if settings.position == "coin" else np.zeros(len(rows), dtype=bool)
        swaps.append(swapped)
        questions.append(
            [
                ComparisonQuestion(theirs, sentences[own], replicate) if second else ComparisonQuestion(sentences[own], theirs, replicate)
                for own, theirs, replicate, second in zip(active[rows].tolist(), shown, step[rows].tolist(), swapped.tolist(), strict=True)
            ]
        )
    won = np.full(keys.shape, -2, dtype=np.int64)
    for j, answers in enumerate(ask_panel(panel, questions)):
        first = np.array([_FIRST_WON[answer.answer] for answer in answers], dtype=np.int64)
        won[rows_of[j], j] = np.where((first >= 0) & swaps[j], 1 - first, first)
    return won


def _opponent_sentences(opponent: Integers, draws: U64, reference: Reference) -> list[str]:
    """One example sentence of each opponent: the one with the smallest hash, so that added examples change few draws."""
    shown = [""] * len(opponent)
    for phrase in np.unique(opponent).tolist():
        rows = np.flatnonzero(opponent == phrase)
        chosen = smallest(draws[rows], reference.hashes[phrase])
        for row, example in zip(rows.tolist(), chosen.tolist(), strict=True):
            shown[row] = reference.sentences[phrase][example]
    return shown


def _update(active: Integers, opponent: Integers, won: Integers, fits: Fits, reference: Reference) -> None:
    """Move the sentences, not the reference, answer by answer in panel order (step 3); count the step."""
    for j in range(won.shape[1]):
        valid = won[:, j] >= 0
        rows, theirs = active[valid], opponent[valid]
        fits.mu[rows], fits.variance[rows] = trueskill.update(
            fits.mu[rows], fits.variance[rows], reference.mu[theirs], reference.variance[theirs], won[valid, j] == 1
        )
    fits.answers[active] += (won >= 0).sum(axis=1)
    fits.invalid[active] += (won == -1).sum(axis=1)
    answered = (won >= 0).any(axis=1)
    rows = active[answered]
    fits.void[active[~answered]] += 1
    fits.steps[rows] += 1
    fits.counts[rows, opponent[answered]] += 1
    rank = (reference.mu > fits.mu[rows, None]).sum(axis=1)
    fits.stable[rows] = np.where(rank == fits.rank[rows], fits.stable[rows] + 1, 1)
    fits.rank[rows] = rank


def _stop(active: Integers, fits: Fits, settings: ExplicitSettings) -> None:
    """End fits (step 4); of several reasons the first of `STOPS` is recorded, a void fit counting last."""
    fits.stop[active[fits.void[active] >= VOID_STEPS]] = _NO_ANSWERS
    fits.stop[active[(fits.counts[active] >= settings.opponent_limit).all(axis=1)]] = _NO_OPPONENT
    fits.stop[active[fits.steps[active] >= settings.step_limit]] = _LIMIT
    fits.stop[active[fits.stable[active] >= settings.patience]] = _STABLE
