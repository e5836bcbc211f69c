"""Algorithm 1 of the paper: a sentence plays ranked phrases until its rank is stable.

Section 5 of docs/method/explicit.md, whose steps are numbered here. A sentence's steps
follow one another, but sentences are independent: every round plays one step of each
sentence, and asks each judge once. From tables to tables: `fitted_findings.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.explicit import trueskill
from lunguage_assets.explicit.intervals import panel_posterior
from lunguage_assets.explicit.ranking import Examples, is_published_scale
from lunguage_assets.judges.progress import announce
from lunguage_assets.judges.protocol import Comparer, ComparisonQuestion, ask_panel
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


def phrase_examples(ranking: pd.DataFrame, vocabulary: pd.DataFrame) -> Examples:
    """Take the sentences that show each phrase of a ranking.

    Args:
        ranking: `REFERENCE_RANKING` frame.
        vocabulary: `HEDGE_VOCABULARY` frame that was ranked.
    """
    sentences: Any = vocabulary.set_index("phrase")["example_sentences"]
    # Where the published scale stands in for phrases of the corpus, it brings its own
    # sentences (section 1).
    if is_published_scale(ranking):
        sentences = reference_sentences()
    examples = []
    for phrase in ranking["phrase"]:
        # One that is added later displaces one of them at most.
        by_hash = sorted(set(sentences[phrase]), key=partial(text_hash, "drawn from"))
        examples.append(by_hash[:EXAMPLES_DRAWN_FROM])
    return Examples(examples)


class Fits:
    """Fits of many sentences; every sentence begins at the prior, without an answer.

    Every draw follows from (seed, sentence, step, judge) and nothing else. For a judge
    that is a scorer the sentence is left out: it gives a sentence one number, and
    chance would tell apart sentences of the same number (section 5).

    Args:
        sentences: masked sentences, distinct.
        ranking: `REFERENCE_RANKING` frame of the phrases that they play.
        examples: of these phrases.
        panel: judges, in the order in which their answers are used.
        settings: N, K, patience, limit of steps, seed, position, whether there is a
            log.

    Attributes:
        mu: score of each sentence.
        variance: square of its sigma.
        counts: steps with a valid answer against each phrase, (sentences, phrases).
        answers: how often each `Outcome` came, (sentences, judges, phrases, outcomes).
        steps: steps with a valid answer.
        tried: steps with and without one.
        rank: number of phrases with a higher mu; -1 before the first step.
        stable: consecutive steps with this rank.
        stop: why it ended; `RUNNING` before.
        log: the plays of each round, and where each sentence was after its play.
    """

    def __init__(
        self,
        sentences: Sequence[str],
        ranking: pd.DataFrame,
        examples: Examples,
        panel: Sequence[Comparer],
        settings: ExplicitSettings,
    ) -> None:
        self._sentences = np.array(sentences, dtype=object)
        self._ranking = ranking
        self._phrase_mu = ranking["mu"].to_numpy()
        self._phrase_variance = ranking["sigma"].to_numpy() ** 2
        self._examples = examples
        self._panel = panel
        self._settings = settings
        self._judge_hashes = text_hashes(judge.key for judge in panel)
        is_scorer = np.array([isinstance(judge, Scorer) for judge in panel])
        self._is_order_drawn = is_scorer | (settings.position == "coin")
        seed = text_hash(settings.seed, "fit")
        of_sentences = mix(seed, text_hashes(sentences))[:, None]
        self._seeds = np.where(is_scorer, np.uint64(seed), of_sentences)
        count = len(sentences)
        self.mu = np.full(count, trueskill.MU)
        self.variance = np.full(count, trueskill.SIGMA**2)
        self.counts = np.zeros((count, len(ranking)), dtype=np.int16)
        self.answers = np.zeros(
            (count, len(panel), len(ranking), len(Outcome)), dtype=np.int16
        )
        self.steps = np.zeros(count, dtype=np.int64)
        self.tried = np.zeros_like(self.steps)
        self.stable = np.zeros_like(self.steps)
        self.rank = np.full(count, -1)
        self.stop = np.full(count, RUNNING)
        self.log: list[pd.DataFrame] = []

    @property
    def is_running(self) -> NDArray[np.bool_]:
        """Which fits have not ended; the others are asked no more, and stay."""
        is_running: NDArray[np.bool_] = self.stop == RUNNING
        return is_running

    def run(self) -> None:
        """Play rounds until every fit has ended."""
        while self.is_running.any():
            opponent, draw = self.opponents()
            outcomes = self.ask(opponent)
            self.play(opponent, outcomes)
            self.end()
            if self._settings.fit_log:
                self.note(opponent, outcomes, draw)
            announce(
                f"{self.is_running.sum():,} of {len(self.stop):,} sentences are still "
                f"being fitted, after {self.tried.max()} comparisons each"
            )

    def opponents(self) -> tuple[Integers, Floats]:
        """Step 1: choose the most even opponent that was played less than N times.

        Returns:
            The phrase that each sentence plays, the first in ranking order where
            several are as even, and how even it is.
        """
        evenness = self.evenness()
        # Below every probability, so that what was played often enough is not chosen.
        evenness[self.counts >= self._settings.opponent_limit] = -1.0
        return evenness.argmax(axis=1), evenness.max(axis=1)

    def evenness(self) -> Floats:
        """Compute the probability of a draw with each phrase, (sentences, phrases)."""
        noise = 2.0 * DRAW_BETA**2
        c2 = noise + self.variance[:, None] + self._phrase_variance
        squares = (self.mu[:, None] - self._phrase_mu) ** 2
        draw: Floats = np.sqrt(noise / c2) * np.exp(-squares / (2.0 * c2))
        return draw

    def ask(self, opponent: Integers) -> Outcomes:
        """Step 2: ask every judge about its plays, all judges at the same time.

        Args:
            opponent: number of the phrase that each sentence plays.

        Returns:
            An `Outcome` for each sentence and judge, shape (sentences, judges).
        """
        draws = mix(self._seeds, self.tried[:, None], self._judge_hashes)
        lone_judge = mix(draws, _LONE_JUDGE).argmin(axis=1)
        judges = np.arange(len(self._panel))
        # Steps without a valid answer do not use up the whole panel's share of K steps.
        is_panels = self.steps < self._settings.panel_steps
        is_asked = is_panels[:, None] | (judges == lone_judge[:, None])
        is_asked &= self.is_running[:, None]
        # From here on in one row for each question.
        sentence, judge = np.nonzero(is_asked)
        draws = draws[is_asked]
        sentences = self._sentences[sentence]
        examples = self._examples.draw(opponent[sentence], mix(draws, _EXAMPLE))
        is_drawn = self._is_order_drawn[judge]
        is_second = random_bits(mix(draws, _COIN)) & is_drawn
        pairs = np.where(is_second, [examples, sentences], [sentences, examples])
        tried = self.tried[sentence].tolist()
        questions = np.array(
            list(map(ComparisonQuestion, *pairs.tolist(), tried, is_drawn.tolist())),
            dtype=object,
        )
        choice = np.empty_like(questions)
        of_judges = [questions[judge == number].tolist() for number in judges]
        for number, choices in enumerate(ask_panel(self._panel, of_judges)):
            choice[judge == number] = choices
        has_won = (choice == "sentence_1") != is_second
        outcomes = np.full(is_asked.shape, Outcome.NOT_ASKED, dtype=np.int8)
        outcomes[is_asked] = np.where(choice == "invalid", Outcome.INVALID, has_won)
        return outcomes

    def play(self, opponent: Integers, outcomes: Outcomes) -> None:
        """Step 3: move the scores of sentences by the answers of one step.

        Args:
            opponent: number of the phrase that each sentence plays.
            outcomes: an `Outcome` of every judge in panel order, (sentences, judges).
        """
        phrase_mu = self._phrase_mu[opponent]
        phrase_variance = self._phrase_variance[opponent]
        # The scale is fixed: only the sentence moves, answer by answer.
        for outcome in outcomes.T:
            before = (self.mu, self.variance)
            has_won = outcome == Outcome.WON
            after = trueskill.update(*before, phrase_mu, phrase_variance, has_won)
            self.mu, self.variance = np.where(outcome >= Outcome.LOST, after, before)
        sentence = np.arange(len(opponent))
        judges = np.arange(len(self._panel))
        self.answers[sentence[:, None], judges, opponent[:, None], outcomes] += 1
        # A step in which every answer was invalid has taught nothing: neither patience
        # nor counts advance by it.
        is_answered = (outcomes >= Outcome.LOST).any(axis=1)
        self.tried += (outcomes > Outcome.NOT_ASKED).any(axis=1)
        self.steps += is_answered
        self.counts[sentence, opponent] += is_answered
        rank = (self._phrase_mu > self.mu[:, None]).sum(axis=1)
        self.stable = self.stable * (rank == self.rank) + is_answered
        self.rank = rank

    def end(self) -> None:
        """Step 4: end the fits that have a reason to end."""
        rules = self._settings
        # The strongest reason first: a fit that is stable says so, even where it has
        # run out of opponents in the same step.
        applies_by_reason = {
            STABLE_RANK: self.stable >= rules.patience,
            STEP_LIMIT: self.steps >= rules.step_limit,
            NO_OPPONENT: (self.counts >= rules.opponent_limit).all(axis=1),
            NO_ANSWERS: self.tried - self.steps >= MAX_STEPS_WITHOUT_ANSWER,
        }
        applies = list(applies_by_reason.values())
        self.stop = np.select(applies, list(applies_by_reason), RUNNING)

    def note(self, opponent: Integers, outcomes: Outcomes, draw: Floats) -> None:
        """Add the plays of a round to the log.

        Args:
            opponent: number of the phrase that each sentence played.
            outcomes: an `Outcome` of every judge, in the column of its number.
            draw: how probable a draw was.
        """
        plays = pd.DataFrame(outcomes).assign(
            sentence=range(len(opponent)),
            step=self.tried - 1,
            opponent=opponent,
            draw_probability=draw,
            mu=self.mu,
            sigma=np.sqrt(self.variance),
            rank=self.rank,
        )
        has_played: Any = (outcomes > Outcome.NOT_ASKED).any(axis=1)
        self.log.append(plays.loc[has_played])

    def plays(self) -> pd.DataFrame:
        """List what was noted, with `answers` in the words of the table `FIT_LOG`."""
        plays = pd.concat(self.log)
        # 'judge=won' for every judge that was asked, in panel order.
        words = {Outcome.INVALID: "invalid", Outcome.LOST: "lost", Outcome.WON: "won"}
        plays["answers"] = ""
        for number, judge in enumerate(self._panel):
            answered = f" {judge.key}=" + plays[number].map(words)
            plays["answers"] += answered.fillna("")
        plays["answers"] = plays["answers"].str.strip()
        opponents = self._ranking["phrase"].to_numpy()[plays["opponent"]]
        return plays.assign(opponent=opponents)

    def scores(self) -> pd.DataFrame:
        """Make a row per fit; no score where it was given up.

        `mu`, `sigma` and `rank` are the filter's, from which p follows. `mu_centre` and
        `mu_sd` are of the score given all answers, from which the interval follows
        (docs/trust.md). `steps` has those without a valid answer, too.
        """
        posterior = panel_posterior(self.answers, self._ranking)
        scores = pd.DataFrame(
            {
                "mu": self.mu,
                "sigma": np.sqrt(self.variance),
                "mu_centre": posterior.mean,
                "mu_sd": posterior.sd,
                "rank": pd.array(self.rank, dtype="Int64"),
            }
        )
        scores.loc[self.stop == NO_ANSWERS] = None
        times = self.answers.sum(axis=(1, 2))
        return scores.assign(
            steps=self.tried,
            answers=times[:, Outcome.LOST] + times[:, Outcome.WON],
            invalid_answers=times[:, Outcome.INVALID],
            stop=self.stop,
        )
