"""Algorithm 1 of the paper: a sentence plays ranked phrases until its rank is stable.

Section 5 of docs/method/explicit.md, whose steps are numbered here. A sentence's steps
follow one another, but sentences are independent: every round plays one step of each
sentence, and asks each judge once. From tables to tables: `fitted_findings.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.explicit import trueskill
from lunguage_assets.explicit.probability import ranked_phrases
from lunguage_assets.explicit.ranking import Examples, is_published_scale
from lunguage_assets.judges.progress import Fitting, announce
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
    LOST = 0
    WON = 1


Outcomes = NDArray[np.int8]


@dataclass(frozen=True)
class ReferenceScale:
    """Ranked phrases, the most certain first, with what a fit needs of each.

    Attributes:
        mu: score of each phrase, shape (phrases,).
        variance: square of each phrase's sigma, shape (phrases,).
        examples: masked sentences of each phrase.
        phrases: wording of each phrase.
        reading_sd: how far judges differ in reading one sentence, in units of mu.
    """

    mu: Floats
    variance: Floats
    examples: Examples
    phrases: tuple[str, ...] = ()
    reading_sd: float = 0.0

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
            reading_sd=float(ordered["reading_sd"].iloc[0]),
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


class Rules(NamedTuple):
    """When a fit ends, and who plays: numbers for all fits, or one for each.

    Attributes:
        opponent_limit: N, plays against one phrase.
        panel_steps: K, steps that all judges play; then one of them plays alone.
        step_limit: steps with a valid answer after which a fit ends.
        patience: consecutive steps with the same rank after which it ends.
    """

    opponent_limit: Any
    panel_steps: Any
    step_limit: Any
    patience: Any


def fit_sentences(
    sentences: Sequence[str],
    reference: ReferenceScale,
    panel: Sequence[Judge],
    settings: ExplicitSettings,
) -> Fits:
    """Fit distinct masked sentences.

    Args:
        sentences: masked sentences.
        reference: the phrases that they play.
        panel: judges, in the order in which their answers are used.
        settings: the `Rules`, and whether there is a log.

    Returns:
        The fits, all ended.
    """
    rules = Rules(*(getattr(settings, name) for name in Rules._fields))
    fits = Fits(len(sentences), len(panel), reference, rules)
    judges = FitPanel(sentences, reference, panel, settings)
    while len(active := fits.running()):
        opponent, draw = fits.opponents(active)
        outcomes = judges.ask(active, opponent, fits)
        fits.play(active, opponent, outcomes)
        fits.end(active)
        if settings.fit_log:
            fits.note(active, opponent, outcomes, draw)
        rounds = int(fits.tried[active].max())
        announce(Fitting(len(fits.running()), len(sentences), rounds))
    return fits


class Fits:
    """Fits of many sentences; every sentence begins at the prior, without an answer.

    Attributes:
        rules: of each sentence, shape (sentences,) as all that have no other.
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
        self, sentences: int, judges: int, reference: ReferenceScale, rules: Rules
    ) -> None:
        phrases = len(reference.mu)
        self._reference = reference
        self.rules = Rules(*(np.broadcast_to(rule, sentences) for rule in rules))
        self.mu = np.full(sentences, trueskill.MU)
        self.variance = np.full(sentences, trueskill.SIGMA**2)
        self.counts = np.zeros((sentences, phrases), dtype=np.int16)
        self.answers = np.zeros((sentences, judges, phrases, 2), dtype=np.int16)
        self.steps = np.zeros(sentences, dtype=np.int64)
        self.tried = np.zeros_like(self.steps)
        self.invalid = np.zeros_like(self.steps)
        self.stable = np.zeros_like(self.steps)
        self.rank = np.full(sentences, -1)
        self.stop = np.full(sentences, RUNNING, dtype=object)
        self.log: list[pd.DataFrame] = []

    def running(self) -> Integers:
        """Find the numbers of the sentences whose fit has not ended."""
        return np.flatnonzero(self.stop == RUNNING)

    def eligible(self, active: Integers) -> NDArray[np.bool_]:
        """Find the phrases that were played less than N times, (plays, phrases)."""
        limit: Integers = self.rules.opponent_limit[active, None]
        return self.counts[active] < limit

    def is_whole_panel(self, active: Integers) -> NDArray[np.bool_]:
        """Whether all judges play the next step of each; else one of them does.

        Steps without a valid answer do not use up the whole panel's share of K steps.
        """
        panel_steps: Integers = self.rules.panel_steps[active]
        return self.steps[active] < panel_steps

    def opponents(self, active: Integers) -> tuple[Integers, Floats]:
        """Step 1: choose the most even opponent that was played less than N times.

        Args:
            active: numbers of the sentences that play; each has such an opponent.

        Returns:
            The phrase of each, the first in ranking order where several are as even,
            and the probability of a draw.
        """
        draw = draw_probability(
            self.mu[active, None],
            self.variance[active, None],
            self._reference.mu,
            self._reference.variance,
        )
        # Below every probability, so that what was played often enough is not chosen.
        draw[~self.eligible(active)] = -1.0
        return draw.argmax(axis=1), draw.max(axis=1)

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
        steps = self.steps[active]
        # The strongest reason first: a fit that is stable says so, even where it has
        # run out of opponents in the same step.
        applies_by_reason = {
            STABLE_RANK: self.stable[active] >= self.rules.patience[active],
            STEP_LIMIT: steps >= self.rules.step_limit[active],
            NO_OPPONENT: ~self.eligible(active).any(axis=1),
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


def draw_probability(
    mu: Any, variance: Any, opponent_mu: Any, opponent_variance: Any
) -> Floats:
    """Compute how probable a draw would be, with the formula of step 1.

    Args:
        mu: scores of one side; all arguments broadcast.
        variance: squares of their sigma.
        opponent_mu: scores of the other side.
        opponent_variance: squares of their sigma.
    """
    c2 = 2.0 * DRAW_BETA**2 + variance + opponent_variance
    distance = np.exp(-((mu - opponent_mu) ** 2) / (2.0 * c2))
    draw: Floats = np.sqrt(2.0 * DRAW_BETA**2 / c2) * distance
    return draw


class FitPanel:
    """Step 2: asks a panel about distinct masked sentences.

    Every draw follows from (seed, sentence, step, judge) and nothing else. For a judge
    that is a scorer the sentence is left out: it gives a sentence one number, and
    chance would tell apart sentences of the same number (section 5).

    Args:
        sentences: masked sentences, by their number in the fits.
        reference: the phrases that they play.
        panel: the judges, in the order in which their answers are used.
        settings: seed and position.
    """

    def __init__(
        self,
        sentences: Sequence[str],
        reference: ReferenceScale,
        panel: Sequence[Judge],
        settings: ExplicitSettings,
    ) -> None:
        self._sentences = np.array(sentences, dtype=object)
        self._examples = reference.examples
        self._panel = panel
        self._is_coin = settings.position == "coin"
        self._is_scorer = np.array([isinstance(judge, Scorer) for judge in panel])
        self._judge_hashes = text_hashes(judge.key for judge in panel)
        self._seed = text_hash(settings.seed, "fit")
        self._sentence_seeds = mix(self._seed, text_hashes(sentences))

    def ask(self, active: Integers, opponent: Integers, fits: Fits) -> Outcomes:
        """Ask every judge about its plays; all judges are asked at the same time.

        Args:
            active: numbers of the sentences that play, shape (plays,).
            opponent: number of the phrase that each plays, shape (plays,).
            fits: before the plays.

        Returns:
            An `Outcome` for each play and judge, shape (plays, judges).
        """
        step = fits.tried[active]
        by_step = mix(self._seed, step[:, None], self._judge_hashes)
        seeds = self._sentence_seeds[active, None]
        by_sentence = mix(seeds, step[:, None], self._judge_hashes)
        # Without a language model the step alone says who plays alone: sentences of the
        # same score then meet the same judges, and have the same probability.
        turns = by_step if self._is_scorer.all() else by_sentence
        lone_judge = mix(turns, _LONE_JUDGE).argmin(axis=1)
        is_lone_judge = np.arange(len(self._panel)) == lone_judge[:, None]
        is_asked = fits.is_whole_panel(active)[:, None] | is_lone_judge
        draws = np.where(self._is_scorer, by_step, by_sentence)
        # Who is shown second; of a scorer it decides between equal scores.
        coin = random_bits(mix(draws, _COIN)) & (self._is_coin | self._is_scorer)
        outcomes = np.full(is_asked.shape, Outcome.NOT_ASKED, dtype=np.int8)
        questions: list[list[ComparisonQuestion]] = [[] for _ in self._panel]
        for number, judge in enumerate(self._panel):
            rows = np.flatnonzero(is_asked[:, number])
            sentences = self._sentences[active[rows]]
            example_draws = mix(draws[rows, number], _EXAMPLE)
            examples = self._examples.draw(opponent[rows], example_draws)
            is_second = coin[rows, number]
            if isinstance(judge, Scorer):
                outcomes[rows, number] = _compare(
                    judge, sentences.tolist(), examples.tolist(), is_second
                )
                continue
            pairs = np.where(is_second, [examples, sentences], [sentences, examples])
            questions[number] = list(
                map(ComparisonQuestion, *pairs.tolist(), step[rows].tolist())
            )
        for number, choices in enumerate(ask_panel(self._panel, questions)):
            if choices:
                rows = np.flatnonzero(is_asked[:, number])
                choice = np.array(choices)
                has_won = (choice == "sentence_1") != coin[rows, number]
                outcomes[rows, number] = _outcomes(has_won, choice != "invalid")
        return outcomes


def _compare(
    scorer: Scorer,
    sentences: Sequence[str],
    examples: Sequence[str],
    coin: NDArray[np.bool_],
) -> Outcomes:
    """Let the higher score win; without a score of both the answer is invalid.

    Args:
        scorer: whose scores they are.
        sentences: that are fitted.
        examples: of their opponents.
        coin: decides between equal scores.
    """
    mu, _ = scorer.scores(sentences)
    opponent_mu, _ = scorer.scores(examples)
    has_won = np.where(mu == opponent_mu, coin, mu > opponent_mu)
    return _outcomes(has_won, ~np.isnan(mu + opponent_mu))


def _outcomes(has_won: NDArray[np.bool_], is_valid: NDArray[np.bool_]) -> Outcomes:
    outcomes = np.where(has_won, Outcome.WON, Outcome.LOST)
    return np.where(is_valid, outcomes, Outcome.INVALID).astype(np.int8)
