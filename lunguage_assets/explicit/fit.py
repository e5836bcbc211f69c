"""Algorithm 1 of the paper: a sentence plays ranked phrases until its rank is stable.

Section 5 of docs/method/explicit.md, whose steps are numbered here. A sentence's steps
follow one another, but sentences are independent: every round plays one step of each
sentence, and asks each judge once. From tables to tables: `fitted_findings.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.explicit import trueskill
from lunguage_assets.explicit.probability import ranked_phrases
from lunguage_assets.explicit.ranking import Examples, is_published_scale
from lunguage_assets.judges.progress import announce
from lunguage_assets.judges.protocol import ComparisonQuestion, Judge, ask_panel
from lunguage_assets.judges.rules.lexicon import reference_sentences
from lunguage_assets.judges.scoring import Scorer
from lunguage_assets.randomness import (
    Floats,
    Integers,
    mix,
    random_bits,
    text_hash,
    text_hashes,
)
from lunguage_assets.settings import ExplicitSettings

DRAW_BETA = 25.0 / 6.0
"""b of the draw probability, which is not the rounded 4.167 of the updates."""

MAX_STEPS_WITHOUT_ANSWER = 10
"""Steps without a valid answer after which the fit of a sentence is given up."""

RUNNING = ""
STABLE_RANK = "stable rank"
STEP_LIMIT = "step limit"
NO_OPPONENT = "no opponent left"
NO_ANSWERS = "no valid answers"
"""Why a fit ended, in the words of the column `stop`."""

EXAMPLES_DRAWN_FROM = 512
"""Examples of a phrase that a fit draws from, so that a frequent phrase costs no more
than others; of more examples a random, stable subset.
"""

# Mixed into the hash of a play, so that its draws are independent.
_EXAMPLE = 0
_COIN = 1
_LONE_JUDGE = 2


class Outcome(IntEnum):
    """What a judge said of a sentence and its opponent; valid from `LOST` on."""

    NOT_ASKED = -2
    INVALID = -1
    LOST = 0  # False: has not won
    WON = 1  # True


Outcomes = NDArray[np.int8]


@dataclass(frozen=True)
class ReferenceScale:
    """Ranked phrases, the most certain first, with what a fit needs of each.

    Attributes:
        mu: score of each phrase, shape (phrases,).
        variance: square of each phrase's sigma, shape (phrases,).
        examples: masked sentences of each phrase.
        phrases: wording of each phrase.
    """

    mu: Floats
    variance: Floats
    examples: Examples
    phrases: tuple[str, ...] = ()

    @classmethod
    def from_tables(
        cls, ranking: pd.DataFrame, vocabulary: pd.DataFrame
    ) -> ReferenceScale:
        """Combine the scores of a ranking with the examples of a vocabulary.

        Args:
            ranking: `REFERENCE_RANKING` frame.
            vocabulary: `HEDGE_VOCABULARY` frame that was ranked.
        """
        ordered = ranked_phrases(ranking).sort_values("rank", kind="stable")
        phrases = ordered["phrase"].tolist()
        examples = _examples_by_phrase(ordered, vocabulary)
        return cls(
            mu=ordered["mu"].to_numpy(dtype=np.float64),
            variance=ordered["sigma"].to_numpy(dtype=np.float64) ** 2,
            examples=Examples([_stable_subset(examples[phrase]) for phrase in phrases]),
            phrases=tuple(phrases),
        )


def _examples_by_phrase(
    ranking: pd.DataFrame, vocabulary: pd.DataFrame
) -> Mapping[str, Sequence[str]]:
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
    # The phrases of the corpus were compared, but their ranking gave no probabilities:
    # the published scale stands in for it and brings its own sentences (section 1).
    if is_published_scale(ranking) and not is_published_scale(retained):
        return reference_sentences()
    return dict(zip(retained["phrase"], retained["example_sentences"], strict=True))


def _stable_subset(examples: Sequence[str]) -> list[str]:
    """Take the distinct examples with the smallest hashes.

    An example that is added later displaces one of them at most.
    """
    hashed = [(text_hash("drawn from", example), example) for example in set(examples)]
    return [example for _, example in sorted(hashed)[:EXAMPLES_DRAWN_FROM]]


class Fits:
    """Fits of many sentences; every sentence begins at the prior, without an answer.

    Every draw follows from (seed, sentence, step, judge) and nothing else. For a judge
    that is a scorer the sentence is left out: it gives a sentence one number, and
    chance would tell apart sentences of the same number (section 5).

    Args:
        sentences: masked sentences, distinct.
        reference: the phrases that they play.
        panel: judges, in the order in which their answers are used.
        settings: N, K, patience, limit of steps, seed, position, whether there is a
            log.

    Attributes:
        mu: score of each sentence.
        variance: square of its sigma.
        counts: steps with a valid answer against each phrase, (sentences, phrases).
        answers: valid answers that it lost and won, (sentences, judges, phrases, 2).
        steps: steps with a valid answer.
        tried: steps with and without one.
        invalid: invalid answers.
        rank: number of phrases with a higher mu; -1 before the first step.
        stable: consecutive steps with this rank.
        stop: why it ended; `RUNNING` before.
        log: the plays of each round, and where each sentence was after its play.
    """

    def __init__(
        self,
        sentences: Sequence[str],
        reference: ReferenceScale,
        panel: Sequence[Judge],
        settings: ExplicitSettings,
    ) -> None:
        self._sentences = np.array(sentences, dtype=object)
        self._reference = reference
        self._panel = panel
        self._settings = settings
        self._is_scorer = np.array([isinstance(judge, Scorer) for judge in panel])
        self._judge_hashes = text_hashes(judge.key for judge in panel)
        seed = text_hash(settings.seed, "fit")
        of_sentences = mix(seed, text_hashes(sentences))[:, None]
        self._seeds = np.where(self._is_scorer, np.uint64(seed), of_sentences)
        shape = (len(sentences), len(reference.mu))
        self.mu = np.full(len(sentences), trueskill.MU)
        self.variance = np.full(len(sentences), trueskill.SIGMA**2)
        self.counts = np.zeros(shape, dtype=np.int16)
        self.answers = np.zeros((shape[0], len(panel), shape[1], 2), dtype=np.int16)
        self.steps = np.zeros(len(sentences), dtype=np.int64)
        self.tried = np.zeros_like(self.steps)
        self.invalid = np.zeros_like(self.steps)
        self.stable = np.zeros_like(self.steps)
        self.rank = np.full(len(sentences), -1)
        self.stop = np.full(len(sentences), RUNNING, dtype=object)
        self.log: list[pd.DataFrame] = []

    def run(self) -> None:
        """Play rounds until every fit has ended."""
        while len(active := np.flatnonzero(self.stop == RUNNING)):
            opponent, draw = self.opponents(active)
            outcomes = self.ask(active, opponent)
            self.play(active, opponent, outcomes)
            self.end(active)
            if self._settings.fit_log:
                self.note(active, opponent, outcomes, draw)
            rounds = int(self.tried[active].max())
            running = int((self.stop == RUNNING).sum())
            announce(
                f"{running:,} of {len(self.stop):,} sentences are still being fitted, "
                f"after {rounds} comparisons each"
            )

    def opponents(self, active: Integers) -> tuple[Integers, Floats]:
        """Step 1: choose the most even opponent that was played less than N times.

        Args:
            active: numbers of the sentences that play; each has such an opponent.

        Returns:
            The phrase of each, the first in ranking order where several are as even,
            and how even it is.
        """
        evenness = self.evenness(active)
        # Below every probability, so that what was played often enough is not chosen.
        evenness[self.counts[active] >= self._settings.opponent_limit] = -1.0
        return evenness.argmax(axis=1), evenness.max(axis=1)

    def evenness(self, active: Integers) -> Floats:
        """Compute the probability of a draw with each phrase, (plays, phrases)."""
        noise = 2.0 * DRAW_BETA**2
        c2 = noise + self.variance[active, None] + self._reference.variance
        squares = (self.mu[active, None] - self._reference.mu) ** 2
        draw: Floats = np.sqrt(noise / c2) * np.exp(-squares / (2.0 * c2))
        return draw

    def ask(self, active: Integers, opponent: Integers) -> Outcomes:
        """Step 2: ask every judge about its plays, all judges at the same time.

        Args:
            active: numbers of the sentences that play, shape (plays,).
            opponent: number of the phrase that each plays, shape (plays,).

        Returns:
            An `Outcome` for each play and judge, shape (plays, judges).
        """
        step = self.tried[active]
        draws = mix(self._seeds[active], step[:, None], self._judge_hashes)
        lone_judge = mix(draws, _LONE_JUDGE).argmin(axis=1)
        is_lone_judge = np.arange(len(self._panel)) == lone_judge[:, None]
        # Steps without a valid answer do not use up the whole panel's share of K steps.
        is_panels = self.steps[active] < self._settings.panel_steps
        is_asked = is_panels[:, None] | is_lone_judge
        # Who is shown second; of a scorer it decides between equal scores.
        is_coin = self._is_scorer | (self._settings.position == "coin")
        is_second = random_bits(mix(draws, _COIN)) & is_coin
        outcomes = np.full(is_asked.shape, Outcome.NOT_ASKED, dtype=np.int8)
        questions: list[list[ComparisonQuestion]] = [[] for _ in self._panel]
        for number, judge in enumerate(self._panel):
            rows = np.flatnonzero(is_asked[:, number])
            sentences = self._sentences[active[rows]]
            example_draws = mix(draws[rows, number], _EXAMPLE)
            examples = self._reference.examples.draw(opponent[rows], example_draws)
            turned = is_second[rows, number]
            if isinstance(judge, Scorer):
                mu = judge.scores(sentences.tolist())
                opponent_mu = judge.scores(examples.tolist())
                has_won = np.where(mu == opponent_mu, turned, mu > opponent_mu)
                # Without a score of both the answer is invalid.
                is_valid = ~np.isnan(mu + opponent_mu)
                outcomes[rows, number] = np.where(is_valid, has_won, Outcome.INVALID)
                continue
            pairs = np.where(turned, [examples, sentences], [sentences, examples])
            questions[number] = list(
                map(ComparisonQuestion, *pairs.tolist(), step[rows].tolist())
            )
        for number, choices in enumerate(ask_panel(self._panel, questions)):
            if choices:
                rows = np.flatnonzero(is_asked[:, number])
                choice = np.array(choices)
                has_won = (choice == "sentence_1") != is_second[rows, number]
                is_valid = choice != "invalid"
                outcomes[rows, number] = np.where(is_valid, has_won, Outcome.INVALID)
        return outcomes

    def play(self, active: Integers, opponent: Integers, outcomes: Outcomes) -> None:
        """Step 3: move the scores of sentences by the answers of one step.

        Args:
            active: numbers of the sentences that play, each once, shape (plays,).
            opponent: number of the phrase that each plays, shape (plays,).
            outcomes: an `Outcome` of every judge in panel order, (plays, judges).
        """
        is_valid = outcomes >= Outcome.LOST
        for judge, has_answered in enumerate(is_valid.T):
            sentences = active[has_answered]
            phrases = opponent[has_answered]
            outcome = outcomes[has_answered, judge]
            self.answers[sentences, judge, phrases, outcome] += 1
            # The scale is fixed: only the sentence moves, answer by answer.
            self.mu[sentences], self.variance[sentences] = trueskill.update(
                mu=self.mu[sentences],
                variance=self.variance[sentences],
                opponent_mu=self._reference.mu[phrases],
                opponent_variance=self._reference.variance[phrases],
                won=outcome == Outcome.WON,
            )
        # A step in which every answer was invalid has taught nothing: neither patience
        # nor counts advance by it.
        is_answered = is_valid.any(axis=1)
        self.invalid[active] += (outcomes == Outcome.INVALID).sum(axis=1)
        self.tried[active] += 1
        self.steps[active] += is_answered
        self.counts[active, opponent] += is_answered
        rank = (self._reference.mu > self.mu[active, None]).sum(axis=1)
        stable = np.where(rank == self.rank[active], self.stable[active] + 1, 1)
        self.stable[active] = np.where(is_answered, stable, self.stable[active])
        self.rank[active] = rank

    def end(self, active: Integers) -> None:
        """Step 4: end the fits that have just played, and have a reason to end."""
        rules = self._settings
        steps = self.steps[active]
        # The strongest reason first: a fit that is stable says so, even where it has
        # run out of opponents in the same step.
        applies_by_reason = {
            STABLE_RANK: self.stable[active] >= rules.patience,
            STEP_LIMIT: steps >= rules.step_limit,
            NO_OPPONENT: (self.counts[active] >= rules.opponent_limit).all(axis=1),
            NO_ANSWERS: self.tried[active] - steps >= MAX_STEPS_WITHOUT_ANSWER,
        }
        self.stop[active] = np.select(
            list(applies_by_reason.values()), list(applies_by_reason), RUNNING
        )

    def note(
        self, active: Integers, opponent: Integers, outcomes: Outcomes, draw: Floats
    ) -> None:
        """Add the plays of a round to the log.

        Args:
            active: numbers of the sentences that have just played.
            opponent: number of the phrase that each played.
            outcomes: an `Outcome` of every judge, in the column of its number.
            draw: how probable a draw was.
        """
        plays: dict[Any, Any] = {
            "sentence": active,
            "step": self.tried[active] - 1,
            "opponent": opponent,
            "draw_probability": draw,
            "mu": self.mu[active],
            "sigma": np.sqrt(self.variance[active]),
            "rank": self.rank[active],
        }
        self.log.append(pd.DataFrame({**plays, **dict(enumerate(outcomes.T))}))
