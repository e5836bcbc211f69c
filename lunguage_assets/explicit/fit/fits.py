"""The ranking as fits use it, questions and state of fits: what judges are asked of a sentence, and where it
stands (explicit.md section 5). How the fits of many sentences proceed together is in `fitting.py`.

The interval is made from the posterior of the place given all answers at once, on a grid (docs/trust.md):
TrueSkill's filter depends on their order and slowly forgets. The prior is TrueSkill's; an answer against a
reference phrase is a probit with TrueSkill's noise, the phrase's place fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import log_ndtr

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.probability import placed
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.judges.protocol import ComparisonQuestion, Judge, ask_panel
from lunguage_assets.judges.rules.lexicon import reference_sentences
from lunguage_assets.judges.scoring import Scorer
from lunguage_assets.randomness import (
    U64,
    Floats,
    Integers,
    mix,
    random_bits,
    smallest,
    text_hash,
    text_hashes,
)
from lunguage_assets.settings import ExplicitSettings

VOID_STEPS = 10
"""Steps without a valid answer after which a sentence is given up."""

STOPS = ("stable rank", "step limit", "no opponent left", "no valid answers")
RUNNING, STABLE, LIMIT, NO_OPPONENT, NO_ANSWERS = -1, 0, 1, 2, 3
"""Reasons for the end of a fit, as numbers into `STOPS`."""

NOT_ASKED, INVALID, LOST, WON = -2, -1, 0, 1
"""Codes of a judge's answer about a sentence and its opponent."""

Answers = NDArray[np.int8]
Counts = NDArray[np.int16]
_FIRST_WON = {"sentence_1": 1, "sentence_2": 0, "invalid": INVALID}


DRAW_BETA = 25.0 / 6.0
"""b of the draw probability; not the rounded 4.167 of the updates (explicit.md section 5)."""

EXAMPLES_DRAWN_FROM = 512
"""Examples of a phrase that a fit draws from; of more a random, stable subset, so that the cost stays."""


@dataclass(frozen=True)
class Reference:
    """The ranked phrases in ranking order, with their distinct example sentences and these sentences' hashes;
    `reading_sd` says how far judges lie apart in reading one sentence.
    """

    mu: Floats
    variance: Floats
    sentences: tuple[tuple[str, ...], ...]
    hashes: tuple[U64, ...]
    phrases: tuple[str, ...] = ()
    reading_sd: float = 0.0

    @classmethod
    def of(cls, ranking: pd.DataFrame, vocabulary: pd.DataFrame) -> Reference:
        """The placed phrases of a ranking with their examples in the vocabulary; with the bundled ones where
        the published ruler has taken the place of an own ranking.

        Raises:
            MethodError: a phrase has no example sentence, or a place that is not a number.
        """
        ordered = placed(ranking).sort_values("rank", kind="stable")
        phrases = ordered["phrase"].tolist()
        retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
        listed = zip(retained["phrase"], retained["example_sentences"], strict=True)
        examples: Mapping[str, Sequence[str]] = dict(listed)
        if set(ordered["ruler"]) == {"published"} and set(retained["ruler"]) == {"own"}:
            examples = reference_sentences()
        mu, sigma = (
            ordered[name].to_numpy(dtype=np.float64) for name in ("mu", "sigma")
        )
        known = bool(phrases) and all(
            len(examples.get(phrase, ())) for phrase in phrases
        )
        if not known or not (np.isfinite(mu) & np.isfinite(sigma)).all():
            raise MethodError(
                "the ranking has phrases without examples in the vocabulary, or places that are not numbers. "
                "Materialise reference_ranking again."
            )
        sentences = tuple(_drawn_from(examples[phrase]) for phrase in phrases)
        hashes = tuple(text_hashes(shown) for shown in sentences)
        return cls(
            mu,
            sigma**2,
            sentences,
            hashes,
            tuple(phrases),
            float(ordered["reading_sd"].iloc[0]),
        )


def draw_probability(
    mu: Any, variance: Any, opponent_mu: Any, opponent_variance: Any
) -> Floats:
    """How even a game would be: the draw probability of explicit.md section 5, step 1; arrays broadcast."""
    c2 = 2.0 * DRAW_BETA**2 + variance + opponent_variance
    draw: Floats = np.sqrt(2.0 * DRAW_BETA**2 / c2) * np.exp(
        -((mu - opponent_mu) ** 2) / (2.0 * c2)
    )
    return draw


def _drawn_from(examples: Sequence[str]) -> tuple[str, ...]:
    """The distinct examples, or the ones with the smallest hashes: an added example displaces at most one."""
    hashed = sorted(
        (text_hash("drawn from", sentence), sentence) for sentence in set(examples)
    )
    return tuple(sentence for _, sentence in hashed[:EXAMPLES_DRAWN_FROM])


@dataclass
class Fits:
    """State of the fits while they run and their result at the end; arrays over sentences.

    `counts` (sentences, phrases): steps with a valid answer against each phrase. `won`, `lost` (sentences,
    judges, phrases): valid answers. `steps` had a valid answer, `void` had none; `stop` is a number into
    `STOPS`. A fit given up keeps no meaningful mu.
    """

    mu: Floats
    variance: Floats
    counts: Counts
    won: Counts
    lost: Counts
    steps: Integers
    void: Integers
    invalid: Integers
    rank: Integers
    stable: Integers
    stop: Integers

    @classmethod
    def start(cls, sentences: int, phrases: int, judges: int) -> Fits:
        """Every sentence at the prior, without an answer."""
        return cls(
            mu=np.full(sentences, trueskill.MU),
            variance=np.full(sentences, trueskill.SIGMA**2),
            counts=np.zeros((sentences, phrases), dtype=np.int16),
            won=np.zeros((sentences, judges, phrases), dtype=np.int16),
            lost=np.zeros((sentences, judges, phrases), dtype=np.int16),
            steps=np.zeros(sentences, dtype=np.int64),
            void=np.zeros(sentences, dtype=np.int64),
            invalid=np.zeros(sentences, dtype=np.int64),
            rank=np.full(sentences, -1, dtype=np.int64),
            stable=np.zeros(sentences, dtype=np.int64),
            stop=np.full(sentences, RUNNING, dtype=np.int64),
        )

    @property
    def answers(self) -> Integers:
        """Valid answers, shape (sentences,)."""
        total: Integers = (self.won + self.lost).sum(axis=(1, 2), dtype=np.int64)
        return total

    def running(self) -> Integers:
        """Numbers of the sentences whose fit has not ended."""
        return np.flatnonzero(self.stop == RUNNING)

    def play(
        self, active: Integers, opponent: Integers, said: Answers, reference: Reference
    ) -> None:
        """Move the sentences, not the reference, answer by answer in panel order (step 3); count the step.

        Sentences and opponents have shape (plays,), a sentence once; `said` (plays, judges).
        """
        for judge, answers in enumerate(said.T):
            rows, theirs = active[answers >= 0], opponent[answers >= 0]
            self.mu[rows], self.variance[rows] = trueskill.update(
                self.mu[rows],
                self.variance[rows],
                reference.mu[theirs],
                reference.variance[theirs],
                answers[answers >= 0] == WON,
            )
            self.won[active, judge, opponent] += answers == WON
            self.lost[active, judge, opponent] += answers == LOST
        answered = (said >= 0).any(axis=1)
        self.invalid[active] += (said == INVALID).sum(axis=1)
        self.void[active] += ~answered
        self.steps[active] += answered
        self.counts[active, opponent] += answered
        rank = (reference.mu > self.mu[active, None]).sum(axis=1)
        same = np.where(rank == self.rank[active], self.stable[active] + 1, 1)
        self.stable[active] = np.where(answered, same, self.stable[active])
        self.rank[active] = rank

    def end(
        self,
        active: Integers,
        opponent_limit: Integers | int,
        step_limit: int,
        patience: int,
    ) -> None:
        """End fits (step 4); of several reasons the first of `STOPS` is recorded, a void fit counting last.

        Args:
            opponent_limit: plays against one phrase, for each active sentence or for all.
        """
        exhausted = self.counts[active].min(axis=1) >= opponent_limit
        self.stop[active[self.void[active] >= VOID_STEPS]] = NO_ANSWERS
        self.stop[active[exhausted]] = NO_OPPONENT
        self.stop[active[self.steps[active] >= step_limit]] = LIMIT
        self.stop[active[self.stable[active] >= patience]] = STABLE


def choose_opponents(
    active: Integers, fits: Fits, reference: Reference, limit: Integers | int
) -> tuple[Integers, Floats]:
    """The opponent of each active sentence, and how even the play is expected to be: highest draw
    probability, played fewer than `limit` times (step 1).

    The first maximum in ranking order wins a tie. Every sentence has an eligible phrase.
    """
    draw = draw_probability(
        fits.mu[active, None],
        fits.variance[active, None],
        reference.mu,
        reference.variance,
    )
    eligible = fits.counts[active] < np.reshape(limit, (-1, 1))
    chosen: Integers = np.argmax(np.where(eligible, draw, -1.0), axis=1).astype(
        np.int64
    )
    return chosen, draw[np.arange(len(active)), chosen]


@dataclass(frozen=True)
class FitPanel:
    """Asks a panel about distinct masked sentences.

    Every draw follows from (seed, sentence, step, judge) and nothing else. For a judge that is a scorer the
    sentence is left out: it says one number of a sentence, so that chance between two sentences of one
    number would only tell apart words that mean nothing (explicit.md section 5).
    """

    sentences: Sequence[str]
    reference: Reference
    panel: Sequence[Judge]
    settings: ExplicitSettings

    @cached_property
    def _seed(self) -> int:
        return text_hash(self.settings.seed, "fit")

    @cached_property
    def _seeds(self) -> U64:
        return mix(self._seed, text_hashes(self.sentences))

    @cached_property
    def _draws_by_step(self) -> bool:
        """Whether no judge is a language model: then who plays alone follows from the step, too."""
        return all(isinstance(judge, Scorer) for judge in self.panel)

    def ask(
        self,
        active: Integers,
        opponent: Integers,
        step: Integers,
        whole: NDArray[np.bool_],
    ) -> Answers:
        """The judges' answers, shape (plays, judges), all judges asked at the same time, each against its own
        sentence of the opponent.

        Args:
            active, opponent: numbers of sentence and phrase, shape (plays,).
            step: number of the play for that sentence.
            whole: all judges play; else one, drawn by hash.
        """
        seeds = self._seed if self._draws_by_step else self._seeds[active]
        keys = np.stack(
            [mix(seeds, step, text_hash(judge.key)) for judge in self.panel], axis=1
        )
        drawn = np.argmin(mix(keys, 2), axis=1)
        asked = whole[:, None] | (np.arange(len(self.panel)) == drawn[:, None])
        won = np.full(asked.shape, NOT_ASKED, dtype=np.int8)
        swaps: list[NDArray[np.bool_]] = []
        questions: list[list[ComparisonQuestion]] = []
        for number, judge in enumerate(self.panel):
            rows = np.flatnonzero(asked[:, number])
            own = [self.sentences[i] for i in active[rows].tolist()]
            if isinstance(judge, Scorer):
                won[rows, number] = self._compared(
                    judge, own, opponent[rows], step[rows]
                )
                swaps.append(np.empty(0, dtype=np.bool_))
                questions.append([])
                continue
            key = keys[rows, number]
            shown = self._examples(opponent[rows], mix(key, 0))
            swapped = random_bits(mix(key, 1)) & (self.settings.position == "coin")
            sides = zip(own, shown, step[rows].tolist(), swapped.tolist(), strict=True)
            swaps.append(swapped)
            questions.append(
                [
                    ComparisonQuestion(
                        theirs if second else mine,
                        mine if second else theirs,
                        replicate,
                    )
                    for mine, theirs, replicate, second in sides
                ]
            )
        for number, answers in enumerate(ask_panel(self.panel, questions)):
            if questions[number]:
                first = np.array(
                    [_FIRST_WON[answer] for answer in answers], dtype=np.int8
                )
                won[asked[:, number], number] = np.where(
                    (first >= 0) & swaps[number], 1 - first, first
                )
        return won

    def _compared(
        self, judge: Judge, own: Sequence[str], opponent: Integers, step: Integers
    ) -> Answers:
        """A scorer's answers, shape (plays,): the higher score wins, without a score of both it is invalid.

        Args:
            judge: a scorer.
            own: sentences that play.
            opponent: numbers of the phrases that they play.
            step: numbers of the plays; the example and the coin between equal scores follow from them alone.
        """
        assert isinstance(judge, Scorer)
        keys = mix(self._seed, step, text_hash(judge.key))
        mu, _ = judge.scores(own)
        opponent_mu, _ = judge.scores(self._examples(opponent, mix(keys, 0)))
        has_won = np.where(
            mu == opponent_mu, random_bits(mix(keys, 1)), mu > opponent_mu
        )
        is_valid = ~(np.isnan(mu) | np.isnan(opponent_mu))
        return np.where(is_valid, np.where(has_won, WON, LOST), INVALID).astype(np.int8)

    def _examples(self, opponent: Integers, draws: U64) -> list[str]:
        """One example sentence of each opponent, the one with the smallest hash: added examples change few
        draws.
        """
        shown = [""] * len(opponent)
        for phrase in np.unique(opponent).tolist():
            rows = np.flatnonzero(opponent == phrase)
            chosen = smallest(draws[rows], self.reference.hashes[phrase])
            for row, example in zip(rows.tolist(), chosen.tolist(), strict=True):
                shown[row] = self.reference.sentences[phrase][example]
        return shown


_STEP = 0.5
_GRID = np.arange(-25.0, 75.0 + _STEP / 2, _STEP)
"""Six prior deviations to either side; exact to 1e-8 for posteriors of deviation 0.5 and more."""

_PRIOR = -0.5 * ((_GRID - trueskill.MU) / trueskill.SIGMA) ** 2
_BLOCK = 512
"""Sentences at a time, for memory; a result depends on no other sentence."""

_TINY = 1e-300
_SPREADS = np.array([0.5, 1.0, 1.5, 2.0])
_SPREAD_WEIGHTS = np.array([0.35, 0.5, 0.12, 0.03])
"""How far judges lie apart about one sentence, in units of `reading_sd`; the mean square is close to 1."""


def posterior_of_a_panel(
    won: Counts, lost: Counts, reference: Reference
) -> tuple[Floats, Floats]:
    """Mean and deviation of each sentence's place when judges read a sentence differently.

    A judge's answers about one sentence share its reading. Readings are normal around the place. How far they
    lie apart is the ranking's `reading_sd` on average and differs between sentences (`_SPREADS`), which is
    summed out for each sentence alone.

    Args:
        won, lost: valid answers, shape (sentences, judges, phrases).
        reference: the phrases.

    Returns:
        Two arrays of shape (sentences,); without an answer they are the prior's.
    """
    mean, sd = np.empty(len(won)), np.empty(len(won))
    kernels = _kernels(reference.reading_sd)
    for start in range(0, len(won), _BLOCK):
        part = slice(start, start + _BLOCK)
        alone = _likelihood(won[part], lost[part], reference)
        likelihood = np.exp(alone - alone.max(axis=-1, keepdims=True))
        by_spread = [
            np.log(np.maximum(likelihood @ kernel, _TINY)).sum(axis=1) + _PRIOR + weight
            for kernel, weight in zip(kernels, np.log(_SPREAD_WEIGHTS), strict=True)
        ]
        log_density = np.logaddexp.reduce(by_spread, axis=0)
        density = np.exp(log_density - log_density.max(axis=-1, keepdims=True))
        density /= density.sum(axis=-1, keepdims=True)
        mean[part] = (density * _GRID).sum(axis=-1)
        sd[part] = np.sqrt((density * (_GRID - mean[part, None]) ** 2).sum(axis=-1))
    return mean, sd


def _likelihood(won: Counts, lost: Counts, reference: Reference) -> Floats:
    """Log likelihood on the grid, shape (sentences, judges, grid).

    Given how a judge reads the sentence, its answers stray less: the deviation of readings is a part of
    TrueSkill's noise.
    """
    noise = np.sqrt(
        2.0 * trueskill.BETA**2 - reference.reading_sd**2 + reference.variance
    )[:, None]
    ahead = (_GRID - reference.mu[:, None]) / noise
    likelihood: Floats = won.astype(np.float64) @ log_ndtr(ahead) + lost.astype(
        np.float64
    ) @ log_ndtr(-ahead)
    return likelihood


@lru_cache(maxsize=8)
def _kernels(reading_sd: float) -> list[Floats]:
    """Normal weights of readings (rows) around a place (columns), for each of `_SPREADS`; narrower than the
    grid sees, a judge's reading is the place.
    """
    kernels = []
    for deviation in (_SPREADS * reading_sd).tolist():
        weights = np.eye(len(_GRID))
        if deviation >= _STEP / 4.0:
            weights = np.exp(-0.5 * ((_GRID[:, None] - _GRID) / deviation) ** 2)
        kernels.append(weights / weights.sum(axis=0))
    return kernels
