"""Simulated judges and corpora of known truth, to try intervals and fits on
(explicit.md sections 5 and 6).

Nothing here is part of a run on reports. A simulated judge answers from the true
certainty of a sentence and a noise model, as a function of a seed and the question
alone; a simulated corpus is the vocabulary, the anchors and the sentences to be placed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, ndtri, stdtrit
from tentative_findings import own_vocabulary

from lunguage_assets.explicit import intervals, trueskill
from lunguage_assets.explicit.probability import Z95, Anchor
from lunguage_assets.explicit.ranking import comparison_matches, reference_ranking
from lunguage_assets.judges.protocol import (
    Choice,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.randomness import U64, mix, text_hash
from lunguage_assets.settings import ExplicitSettings

Floats = NDArray[np.float64]


@contextmanager
def judges_that_read_alike() -> Iterator[None]:
    """Take all answers as independent, whoever gave them."""
    reading_is_score = np.eye(len(intervals._GRID))[None].repeat(4, axis=0)
    with mock.patch.multiple(
        intervals, READING_SD=0.0, _reading_weights=lambda: reading_is_score
    ):
        yield


@dataclass(frozen=True)
class Noise:
    """Noise of simulated judges and sentences; places and deviations in units of mu.

    Attributes:
        deviation: of each side's momentary certainty, as TrueSkill's beta.
        tails: degrees of freedom of that deviation's distribution (inf: normal, as the
            estimator assumes).
        lapse: share of answers that are a coin toss.
        position: added to what is shown as sentence_1.
        reading: deviation of how a judge reads a sentence, once and for all its answers
            about it, from how judges read it on average.
        wording: deviation of a phrase's example sentences from the phrase, the same for
            all judges.
    """

    deviation: float = trueskill.BETA
    tails: float = math.inf
    lapse: float = 0.0
    position: float = 0.0
    reading: float = 0.0
    wording: float = 0.0


ASSUMED = Noise()
"""The noise that TrueSkill assumes: normal, independent from answer to answer."""

ADVERSE = Noise(
    deviation=1.5, tails=3.0, lapse=0.05, position=1.0, reading=3.0, wording=3.0
)
"""Noise outside TrueSkill's assumptions.

Heavy tails, coin tosses, a preferred position, persistent readings, sentences that
stray from their phrase.
"""


@dataclass
class SimulatedJudge:
    """A judge that knows the true certainty of every sentence and errs by `noise`."""

    key: str
    truth: Mapping[str, float]
    noise: Noise = ASSUMED
    seed: int = 0

    @property
    def identity(self) -> str:
        return f"simulated/{self.key}/{self.seed}/{self.noise}"

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        """No phrases: simulated sentences have no words to extract."""
        return [ExtractionAnswer(()) for _ in questions]

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]:
        """One answer per question.

        Raises KeyError for an unknown sentence.
        """
        hash_1, certainty_1 = self._read([asked.sentence_1 for asked in questions])
        hash_2, certainty_2 = self._read([asked.sentence_2 for asked in questions])
        replicates = np.array([asked.replicate for asked in questions], dtype=np.uint64)
        draws = mix(text_hash(self.seed, self.key), hash_1, hash_2, replicates)
        strayed = self._stray(mix(draws, 4)) - self._stray(mix(draws, 5))
        ahead = certainty_1 - certainty_2 + self.noise.position
        is_first_surer = ahead + self.noise.deviation * strayed > 0.0
        has_lapsed = _uniform(mix(draws, 2)) < self.noise.lapse
        is_heads = _uniform(mix(draws, 3)) < 0.5
        is_first = np.where(has_lapsed, is_heads, is_first_surer)
        return ["sentence_1" if first else "sentence_2" for first in is_first.tolist()]

    def _read(self, sentences: Sequence[str]) -> tuple[U64, Floats]:
        """Hashes of sentences and their certainties as this judge reads them."""
        hashes = np.array(
            [text_hash(sentence) for sentence in sentences], dtype=np.uint64
        )
        truth = np.array([self.truth[sentence] for sentence in sentences])
        own = ndtri(_uniform(mix(text_hash(self.seed, self.key, "reading"), hashes)))
        return hashes, truth + self.noise.reading * own

    def _stray(self, draws: U64) -> Floats:
        """Deviates of one side's momentary certainty."""
        u = _uniform(draws)
        tails = self.noise.tails
        return ndtri(u) if math.isinf(tails) else stdtrit(tails, u)  # type: ignore[no-any-return]


def _uniform(hashes: U64) -> Floats:
    """Numbers strictly between 0 and 1."""
    return ((hashes >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


@dataclass(frozen=True)
class SimulatedCorpus:
    """A vocabulary, its anchors and sentences to be placed, all of known truth.

    `truth` is every sentence's certainty; `targets` are the sentences to be placed and
    `target_p` their probabilities, shape (targets,).
    """

    vocabulary: pd.DataFrame
    truth: Mapping[str, float]
    anchors: tuple[Anchor, ...]
    targets: tuple[str, ...]
    target_p: Floats

    def panel(self, judges: int, noise: Noise, seed: int = 0) -> list[SimulatedJudge]:
        """Judges that know the truth and err, each in its own way."""
        return [
            SimulatedJudge(f"judge-{number}", self.truth, noise, seed)
            for number in range(judges)
        ]

    def ranking(
        self, panel: Sequence[SimulatedJudge], settings: ExplicitSettings
    ) -> pd.DataFrame:
        """This panel's ranking of the vocabulary, a `REFERENCE_RANKING` frame."""
        matches = {
            judge.key: comparison_matches(self.vocabulary, judge, settings)
            for judge in panel
        }
        return reference_ranking(self.vocabulary, matches, settings)


TRUE_ALPHA = 0.089
TRUE_MU_HALF = 24.89
"""The true line from a certainty to a probability: that of the paper."""

_LOWEST = 7.0
_HIGHEST = 43.5
_ANCHOR_LOGIT_SE = 0.055
"""Standard error of an anchor's logit: that of the published intervals."""


def simulated_corpus(
    seed: int,
    phrases: int = 42,
    examples: int = 40,
    targets: int = 200,
    noise: Noise = ASSUMED,
) -> SimulatedCorpus:
    """A corpus of known truth, with phrases spread as widely as the published ones.

    Examples stray from their phrase by `noise.wording`; targets lie anywhere among the
    phrases. The anchors are the lowest and the highest phrase; their ratings err as
    widely as their intervals say. At least two phrases.
    """
    random = np.random.default_rng(seed)
    between = random.uniform(_LOWEST, _HIGHEST, phrases - 2)
    phrase_mu = np.sort([_LOWEST, _HIGHEST, *between])
    truth: dict[str, float] = {}
    examples_by_phrase: dict[str, list[str]] = {}
    for number, mu in enumerate(phrase_mu.tolist()):
        name = _phrase(number)
        sentences = [f"{name} <finding>, example {i}." for i in range(examples)]
        strayed = mu + noise.wording * random.standard_normal(examples)
        truth |= dict(zip(sentences, strayed.tolist(), strict=True))
        examples_by_phrase[name] = sentences
    target_sentences = tuple(f"<finding>, target {i}." for i in range(targets))
    target_mu = random.normal(trueskill.MU, trueskill.SIGMA, targets).clip(0.0, 50.0)
    truth |= dict(zip(target_sentences, target_mu.tolist(), strict=True))
    anchors = tuple(
        _anchor(_phrase(i), float(phrase_mu[i]), float(random.standard_normal()))
        for i in (0, phrases - 1)
    )
    return SimulatedCorpus(
        own_vocabulary(examples_by_phrase),
        truth,
        anchors,
        target_sentences,
        expit(TRUE_ALPHA * (target_mu - TRUE_MU_HALF)),
    )


def _phrase(number: int) -> str:
    return f"phrase {number:03d}"


def _anchor(phrase: str, mu: float, error: float) -> Anchor:
    logit = TRUE_ALPHA * (mu - TRUE_MU_HALF) + _ANCHOR_LOGIT_SE * error
    p = expit(logit)
    low = expit(logit - Z95 * _ANCHOR_LOGIT_SE)
    high = expit(logit + Z95 * _ANCHOR_LOGIT_SE)
    return Anchor(phrase, float(p), float(low), float(high))
