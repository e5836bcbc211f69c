"""Whether a judge judges: its answers have to depend on what the sentences say.

A model that always names the sentence shown first gives every finding a probability
all the same. So the answers of every step are counted by position, and by how often the
judge agrees with itself where a pair is asked in both orders; and before the first
question that is paid, a judge answers thirty invented pairs whose answer no reader
doubts (explicit.md section 2). Nothing is asked here: `model_judge.py` asks.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.progress import Progress
from lunguage_assets.judges.protocol import Choice, ComparisonQuestion
from lunguage_assets.packaged_data import resource

FIRST_LOOK = 40
"""Answers after which a step looks at a judge for the first time."""

MOST_ONE_SIDED = 0.75
"""A judge whose share of first-shown answers lies surely above this, or surely below 1
less this, does not read the sentences.
"""

LEAST_AGREEMENT = 0.6
"""Of pairs asked in both orders: a coin agrees with itself in half of them."""

GOOD_AGREEMENT = 0.8
HARDLY_ONE_SIDED = 0.6
"""Between these and the limits above a person is warned."""

LEAST_RIGHT = 21
"""Of the thirty pairs of the trial: the fewest whose 95% interval lies above a half."""

_REMEDY = (
    "Choose another model, mode or prompts, let it be asked in both orders (order = "
    '"both" in its table), or leave it out of the preset. A line let_in = "REASON" in '
    "its table of the judges file lets it in all the same; every release then says so."
)


class UnfitJudge(LunguageError):
    """A judge's answers do not depend on what stands in the sentences."""


class Share(NamedTuple):
    """A share with its exact 95% interval."""

    share: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.share:.2f} [{self.low:.2f} to {self.high:.2f}]"


def share_of(hits: int, total: int) -> Share:
    """Compute a share with its Clopper-Pearson interval; of nothing, anything."""
    if not total:
        return Share(0.5, 0.0, 1.0)
    # scipy is slow to import, and rules are never looked at.
    from scipy.stats import binomtest

    interval = binomtest(hits, total).proportion_ci()
    return Share(hits / total, float(interval.low), float(interval.high))


def unfitness(answers: Progress) -> str:
    """Say by what a judge shows that it does not judge; empty: it does not show it."""
    if answers.decided < FIRST_LOOK:
        return ""
    # First, as it says more: a judge can be balanced by chance and still be a coin.
    if answers.pairs >= FIRST_LOOK // 2:
        agreement = answers.agreed / answers.pairs
        if agreement < LEAST_AGREEMENT:
            return (
                f"asked in both orders about {answers.pairs:,} pairs it agreed with "
                f"itself in {agreement:.2f}; expected {LEAST_AGREEMENT:.2f} or more"
            )
    first = share_of(answers.first, answers.decided)
    if first.low > MOST_ONE_SIDED or first.high < 1.0 - MOST_ONE_SIDED:
        return f"{_of_first(answers, first)}; expected about a half"
    return ""


def doubt(answers: Progress) -> str:
    """Say what a person should know of a judge that is not unfit; empty: nothing."""
    if answers.decided < FIRST_LOOK:
        return ""
    reasons = []
    first = share_of(answers.first, answers.decided)
    if first.low > HARDLY_ONE_SIDED or first.high < 1.0 - HARDLY_ONE_SIDED:
        reasons.append(_of_first(answers, first))
    if answers.pairs and answers.agreed < GOOD_AGREEMENT * answers.pairs:
        agreement = answers.agreed / answers.pairs
        reasons.append(
            f"it agreed with itself in {agreement:.2f} of {answers.pairs:,} pairs"
        )
    return "; ".join(reasons)


def _of_first(answers: Progress, first: Share) -> str:
    return (
        f"of {answers.decided:,} answers {answers.first:,} chose the sentence shown "
        f"first, {first}"
    )


def require_fit(judge: str, answers: Progress) -> None:
    """Stop where a judge shows that it does not judge.

    Raises:
        UnfitJudge: says what was seen and what to do.
    """
    reason = unfitness(answers)
    if reason:
        raise UnfitJudge(
            f"judge {judge!r}: {reason}. Its answers do not depend on what the "
            "sentences say: they give no probability, and nothing more is asked. "
            f"{_REMEDY}"
        )


@cache
def trial_questions() -> tuple[ComparisonQuestion, ...]:
    """Read the thirty pairs; the surer sentence is the first."""
    text = resource("trial_pairs.csv").read_text(encoding="utf-8")
    return tuple(
        ComparisonQuestion(row["surer"], row["less_sure"])
        for row in csv.DictReader(text.splitlines())
    )


def swapped(question: ComparisonQuestion) -> ComparisonQuestion:
    """Show the other sentence first."""
    return ComparisonQuestion(
        question.sentence_2, question.sentence_1, question.replicate
    )


class Trial(NamedTuple):
    """How a judge answered the thirty pairs, each in both orders.

    Attributes:
        answers: counted by position and agreement.
        unreadable: answers that could not be read, of twice thirty.
        wrong: pairs that it did not answer rightly, with both of its answers: with the
            surer sentence first, and with the other one first.
    """

    answers: Progress
    unreadable: int
    wrong: Sequence[tuple[ComparisonQuestion, Choice, Choice]]

    @property
    def right(self) -> int:
        return len(trial_questions()) - len(self.wrong)

    @property
    def verdict(self) -> str:
        """Say what was seen, in a line."""
        first = share_of(self.answers.first, self.answers.decided)
        pairs = len(trial_questions())
        return (
            f"{self.right} of {pairs} pairs right (expected {LEAST_RIGHT} or more), "
            f"share of first-shown answers {first}, agreed with itself in "
            f"{self.answers.agreed} of {self.answers.pairs} pairs, {self.unreadable} "
            f"of {2 * pairs} answers unreadable"
        )

    @property
    def is_passed(self) -> bool:
        return self.right >= LEAST_RIGHT

    def require_passed(self, judge: str) -> None:
        """Stop where a judge cannot tell what no reader doubts.

        Raises:
            UnfitJudge: says what was seen and what to do.
        """
        if not self.is_passed:
            raise UnfitJudge(
                f"judge {judge!r} did not pass its trial, thirty invented pairs such "
                f'as "pneumonia is certain" against "pneumonia is excluded": '
                f"{self.verdict}. Its answers give no probability, and nothing more is "
                "asked; `lunguage doctor --ask` shows its wrong answers. "
                f"{_REMEDY}"
            )
