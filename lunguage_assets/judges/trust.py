"""Whether a judge judges: its answers have to depend on what the sentences say.

A model that always names the sentence shown first gives every finding a probability
all the same. So the answers of every step are counted by position, and by how often the
judge agrees with itself where a pair is asked in both orders; and before the first
question that is paid, a judge answers thirty invented pairs whose answer no reader
doubts (explicit.md section 2). Nothing is asked here: `model_judge.py` asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple, cast

from lunguage_assets.assertion.hedges import csv_rows
from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.ask import FIRST_LOOK
from lunguage_assets.judges.ledger import Settled
from lunguage_assets.judges.progress import Progress
from lunguage_assets.judges.protocol import Choice, ComparisonQuestion
from lunguage_assets.judges.requests import Order

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
    "Choose another model or mode, let it be asked in both orders (order = "
    '"both" in its table), or leave it out of the preset. A line let_in = "REASON" in '
    "its table of the judges file lets it in all the same; every release then says so."
)


_CHOICE = re.compile(r"\W*(?:answer\W+)?(sentence_[12])\W*", re.IGNORECASE)


class UnfitJudge(LunguageError):
    """A judge's answers do not depend on what stands in the sentences."""


def choice_of(text: str) -> Choice | None:
    """Read the sentence that an answer chooses; None: none, and the answer is invalid.

    Signs around it, upper or lower case, a leading "Answer:" and the JSON of a
    constrained answer are tolerated; a second label, a reason or any other word is not.
    """
    answer = _CHOICE.fullmatch(text)
    return cast(Choice, answer[1].lower()) if answer else None


class AnsweredPair(NamedTuple):
    """The answers about two sentences.

    Attributes:
        answers: as asked and, where both orders are, with the other sentence first.
    """

    answers: Sequence[Settled]

    @property
    def choices(self) -> list[Choice]:
        """What was chosen, as shown: first as asked, then turned."""
        return [choice_of(it.answer or "") or "invalid" for it in self.answers]

    @property
    def margins(self) -> list[float]:
        """How much likelier the sentence shown first is, where both answers tell."""
        margins = [it.margin for it in self.answers if it.margin is not None]
        return margins if len(margins) == 2 else []

    @property
    def choice(self) -> Choice:
        """The sentence chosen, `invalid` where the answers contradict each other.

        The mean of the margins of both orders decides where there is one.
        """
        # Equal margins say nothing: then the answers decide, as without margins.
        if len(set(self.margins)) == 2:
            as_asked, turned_margin = self.margins
            return "sentence_1" if as_asked > turned_margin else "sentence_2"
        first, *turned = self.choices
        # Unequal answers are a draw, and a draw is no match.
        return "invalid" if turned in ([first], ["invalid"]) else first


def answered_pairs(answers: Sequence[Settled], order: Order) -> list[AnsweredPair]:
    """Put together the answers about the same two sentences, as `in_order` asks."""
    size = 2 if order == "both" else 1
    starts = range(0, len(answers), size)
    return [AnsweredPair(answers[start : start + size]) for start in starts]


def in_order(
    questions: Iterable[ComparisonQuestion], order: Order
) -> list[ComparisonQuestion]:
    """List what is asked about questions: in both orders, one after the other."""
    asked: list[ComparisonQuestion] = []
    for question in questions:
        asked.append(question)
        if order == "both":
            swapped = ComparisonQuestion(
                question.sentence_2, question.sentence_1, question.replicate
            )
            asked.append(swapped)
    return asked


def counted(judge: str, pairs: Iterable[AnsweredPair]) -> Progress:
    """Count a judge's answers by position, and those that agree in both orders."""
    choices_by_pair = [pair.choices for pair in pairs]
    choices = list(chain.from_iterable(choices_by_pair))
    turned = [
        answered
        for answered in choices_by_pair
        if len(answered) == 2 and "invalid" not in answered
    ]
    return Progress(
        judge,
        decided=len(choices) - choices.count("invalid"),
        first=choices.count("sentence_1"),
        pairs=len(turned),
        agreed=sum(first != second for first, second in turned),
    )


def share_of(hits: int, total: int) -> tuple[float, float, str]:
    """Compute the exact 95% interval of a share, and write the share with it."""
    if not total:
        return 0.0, 1.0, "of none"
    # scipy is slow to import, and rules are never looked at.
    from scipy.stats import binomtest

    low, high = binomtest(hits, total).proportion_ci()
    return low, high, f"{hits / total:.2f} [{low:.2f} to {high:.2f}]"


def unfitness(
    answers: Progress,
    most_one_sided: float = MOST_ONE_SIDED,
    least_agreement: float = LEAST_AGREEMENT,
) -> str:
    """Say by what a judge shows that it does not judge; empty: it does not show it.

    Args:
        answers: counted by position and agreement.
        most_one_sided: share of one position, surely passed by who does not judge.
        least_agreement: share of pairs in which a judge agrees with itself.
    """
    if answers.decided < FIRST_LOOK:
        return ""
    faults: list[str] = []
    # First, as it says more: a judge can be balanced by chance and still be a coin.
    agreement = answers.agreed / max(answers.pairs, 1)
    if answers.pairs >= FIRST_LOOK // 2 and agreement < least_agreement:
        faults.append(
            f"asked in both orders about {answers.pairs:,} pairs it agreed with itself "
            f"in {agreement:.2f}; expected {least_agreement:.2f} or more"
        )
    low, high, share = share_of(answers.first, answers.decided)
    if low > most_one_sided or high < 1.0 - most_one_sided:
        faults.append(
            f"of {answers.decided:,} answers {answers.first:,} chose the sentence "
            f"shown first, {share}; expected about a half"
        )
    return "; ".join(faults)


def doubt(answers: Progress) -> str:
    """Say what a person should know of a judge that is not unfit; empty: nothing."""
    return unfitness(answers, HARDLY_ONE_SIDED, GOOD_AGREEMENT)


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
    rows = csv_rows("trial_pairs.csv")
    return tuple(ComparisonQuestion(row["surer"], row["less_sure"]) for row in rows)


class Trial(NamedTuple):
    """How a judge answered the thirty pairs, each in both orders.

    Attributes:
        judge: key of the judge.
        pairs: its answers, in the order of the questions.
    """

    judge: str
    pairs: Sequence[AnsweredPair]

    @property
    def wrong(self) -> list[tuple[ComparisonQuestion, AnsweredPair]]:
        """The pairs that it did not answer rightly."""
        answered = zip(trial_questions(), self.pairs, strict=True)
        return [entry for entry in answered if entry[1].choice != "sentence_1"]

    @property
    def is_passed(self) -> bool:
        """Whether enough pairs were answered rightly."""
        return len(self.pairs) - len(self.wrong) >= LEAST_RIGHT

    @property
    def verdict(self) -> str:
        """Say what was seen, in a line."""
        answers = counted(self.judge, self.pairs)
        pairs = len(self.pairs)
        *_, share = share_of(answers.first, answers.decided)
        return (
            f"{pairs - len(self.wrong)} of {pairs} pairs right (expected {LEAST_RIGHT} "
            f"or more), share of first-shown answers {share}, agreed with itself in "
            f"{answers.agreed} of {answers.pairs} pairs, "
            f"{2 * pairs - answers.decided} of {2 * pairs} answers unreadable"
        )

    def require_passed(self) -> None:
        """Stop where a judge cannot tell what no reader doubts.

        Raises:
            UnfitJudge: says what was seen and what to do.
        """
        if not self.is_passed:
            raise UnfitJudge(
                f"judge {self.judge!r} did not pass its trial, thirty invented pairs "
                'such as "pneumonia is certain" against "pneumonia is excluded": '
                f"{self.verdict}. Its answers give no probability, and nothing more is "
                "asked; `lunguage doctor --ask` shows its wrong answers. "
                f"{_REMEDY}"
            )
