"""Answers that a panel has given about sentences: what a distilled model learns from.

Every answer is a probit: of two sentences in a comparison, or of a sentence against a
phrase at its score (sections 3 and 5 of docs/method/explicit.md). So what is learnt is
in units of mu. The answers are collected from tables in `collecting.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import log_ndtr

from lunguage_assets.explicit.fit.posterior import Posterior, panel_posterior
from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.randomness import Floats, Integers

Mask = NDArray[np.bool_]

NO_SENTENCE = -1
"""In the place of the other sentence, of an answer about a sentence and a phrase."""
NO_PHRASE = -1

_ARRAYS = (
    "sentence",
    "other_sentence",
    "phrase",
    "phrase_mu",
    "noise",
    "won",
    "judge",
    "step",
    "count",
)
_INV_SQRT_2PI = 0.3989422804014327


class Loss(NamedTuple):
    """Minus the log likelihood of answers, under scores of all sentences.

    Attributes:
        value: the sum over all answers.
        gradient: by the scores, shape (sentences,).
        curvature: second derivative by each answer's difference, which is positive;
            shape (answers,).
    """

    value: float
    gradient: Floats
    curvature: Floats


class Halves(NamedTuple):
    """mu of each sentence by either half of its answers, NaN without a fit."""

    first: Floats
    second: Floats


@dataclass(frozen=True, eq=False)
class Answers:
    """Valid answers about distinct masked sentences.

    Attributes:
        sentences: a row per sentence, by `sentence_key`: `sentence`, its `phrases`,
            `group` (sentences that are held out together), `pair` (masked sentences of
            one sentence share it), and `mu`, `mu_centre`, `mu_sd` where the panel has
            fitted it, else NaN.
        judges: keys of the judges.
        sentence: number of the sentence, shape (answers,) as all below.
        other_sentence: that with which it was compared, or -1: a phrase.
        phrase: number of the phrase in the ranking, or -1: a sentence.
        phrase_mu: score of the phrase.
        noise: deviation of the difference.
        won: whether the sentence is the more certain one.
        judge: number of the judge.
        step: of the fit, or number of the comparison.
        count: times that the answer was given.
    """

    sentences: pd.DataFrame
    judges: tuple[str, ...]
    sentence: Integers
    other_sentence: Integers
    phrase: Integers
    phrase_mu: Floats
    noise: Floats
    won: Mask
    judge: Integers
    step: Integers
    count: Floats

    @property
    def size(self) -> int:
        return len(self.sentence)

    @cached_property
    def is_fitted(self) -> Mask:
        """Whether the panel has fitted each sentence, so that its score is known."""
        is_fitted: Mask = self.sentences["mu_centre"].notna().to_numpy()
        return is_fitted

    @cached_property
    def is_of_pair(self) -> Mask:
        """Whether each answer compares two sentences, not a sentence and a phrase."""
        is_of_pair: Mask = self.other_sentence >= 0
        return is_of_pair

    @cached_property
    def asked_sentences(self) -> Integers:
        """Numbers of the sentences that an answer is about."""
        return np.union1d(self.sentence, self.other_sentence[self.is_of_pair])

    def subset(self, kept: NDArray[Any]) -> Answers:
        """Take some of the answers, about the same sentences."""
        return replace(self, **{name: getattr(self, name)[kept] for name in _ARRAYS})

    def merged(self) -> Answers:
        """Merge equal answers of several judges, or steps, into one with a count.

        Its loss is the same.
        """
        questions = np.stack(
            [self.sentence, self.other_sentence, self.phrase, self.won]
        )
        _, first, merged_into = np.unique(
            questions, axis=1, return_index=True, return_inverse=True
        )
        count = np.bincount(np.ravel(merged_into), self.count).astype(np.float64)
        return replace(self.subset(first), count=count)

    def excluding(self, held_out: Mask) -> Answers:
        """Leave out the answers in which a held-out sentence takes part.

        Args:
            held_out: whether each sentence is held out, shape (sentences,).
        """
        # With -1 as its number a phrase would be looked up as the last sentence.
        is_other_held_out = held_out[self.other_sentence] & self.is_of_pair
        return self.subset(~(held_out[self.sentence] | is_other_held_out))

    def margin(self, scores: Floats) -> Floats:
        """Compute by how many deviations each sentence is ahead of its opponent."""
        opponent = np.where(
            self.is_of_pair, scores[self.other_sentence], self.phrase_mu
        )
        return np.asarray((scores[self.sentence] - opponent) / self.noise)

    def loss(self, scores: Floats) -> Loss:
        """Compute minus the log likelihood under scores of all sentences."""
        sign = np.where(self.won, 1.0, -1.0)
        margin = sign * self.margin(scores)
        # Probit: an answer has the probability Phi(margin). In logarithms, because
        # Phi of an answer against all expectation is 0 in doubles.
        log_p = log_ndtr(margin)
        ratio = _INV_SQRT_2PI * np.exp(-0.5 * margin**2 - log_p)
        slope = -sign * ratio / self.noise * self.count
        curvature = ratio * (ratio + margin) / self.noise**2 * self.count
        return Loss(
            value=-float(log_p @ self.count),
            gradient=self._difference_by_sentence(slope, len(scores)),
            curvature=curvature,
        )

    def _difference_by_sentence(self, values: Floats, sentences: int) -> Floats:
        """Sum values of the answers over sentences, negative for the other one."""
        total: Floats = np.bincount(self.sentence, values, sentences).astype(np.float64)
        is_of_pair = self.is_of_pair
        second = self.other_sentence[is_of_pair]
        total -= np.bincount(second, values[is_of_pair], sentences)
        return total

    def halves(self, reference: ReferenceScale) -> Halves:
        """Score each sentence by one half of the answers of its fit, and by the other.

        Every second answer of a judge, so that both halves have all judges.
        """
        fits = self.subset(~self.is_of_pair)
        order = np.lexsort((fits.step, fits.judge, fits.sentence))
        judge = fits.judge[order]
        # Odd judges begin with the other half, so that both are of about one size.
        turn = pd.Series(judge).groupby([fits.sentence[order], judge]).cumcount()
        is_second = np.zeros(fits.size, dtype=bool)
        is_second[order] = (turn + judge) % 2 == 1
        first = fits.subset(~is_second).posterior(reference).mean
        second = fits.subset(is_second).posterior(reference).mean
        return Halves(
            first=np.where(self.is_fitted, first, np.nan),
            second=np.where(self.is_fitted, second, np.nan),
        )

    def posterior(self, reference: ReferenceScale) -> Posterior:
        """Score each sentence by its answers against phrases, as fits do."""
        return panel_posterior(
            won=self._counts(self.won, reference),
            lost=self._counts(~self.won, reference),
            reference=reference,
        )

    def _counts(self, is_counted: Mask, reference: ReferenceScale) -> NDArray[np.int16]:
        """Count answers against phrases, shape (sentences, judges, phrases)."""
        shape = len(self.sentences), len(self.judges), len(reference.mu)
        counts = np.zeros(shape, dtype=np.int16)
        kept = is_counted & ~self.is_of_pair
        cells = (self.sentence[kept], self.judge[kept], self.phrase[kept])
        np.add.at(counts, cells, 1)
        return counts
