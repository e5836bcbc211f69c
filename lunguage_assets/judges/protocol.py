"""What a judge is asked, and what it answers.

A judge answers many questions in one call, in their order. A question that could not be
answered validly is answered as invalid: it is never left out and never guessed
(explicit.md sections 1 and 2). How an answer comes about is not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Literal, Protocol

from lunguage_assets.assertion.tokens import MASK as MASK

Choice = Literal["sentence_1", "sentence_2", "invalid"]
"""The sentence chosen, or `invalid` after the last try."""


@dataclass(frozen=True, slots=True)
class ExtractionQuestion:
    """Which words of a sentence express uncertainty about this finding only?

    Attributes:
        finding: as the report names it.
        sentence: in which it stands.
        masked_sentence: the same with the finding as `<finding>`; None: it could not be
            located. A rule-based judge reads from it where the finding is; a language
            model is shown the other two.
    """

    finding: str
    sentence: str
    masked_sentence: str | None = None


@dataclass(frozen=True, slots=True)
class ExtractionAnswer:
    """The phrases that hedge a finding.

    Attributes:
        phrases: as the judge gave them; none is an answer, too.
        valid: False: no answer could be read.
    """

    phrases: tuple[str, ...]
    valid: bool = True


@dataclass(frozen=True, slots=True)
class ComparisonQuestion:
    """Which of two masked sentences is closer to "finding certainly present"?

    Attributes:
        sentence_1: the sentence that is shown first.
        sentence_2: the other one.
        replicate: numbers repeated draws of one question, which deserve independent
            answers of a judge that draws at random.
        is_order_drawn: a coin of whoever asks decided which sentence is shown first, so
            that a scorer needs none of its own between equal scores.
    """

    sentence_1: str
    sentence_2: str
    replicate: int = 0
    is_order_drawn: bool = False


class Comparer(Protocol):
    """Whoever compares sentences.

    Attributes:
        key: its name in the judges file.
    """

    key: str

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]:
        """Choose a sentence for each question, in the questions' order."""
        ...


class Judge(Comparer, Protocol):
    """Whoever answers, under a key of the judges file.

    Attributes:
        identity: names everything that changes its answers, and nothing that does not.
            Method or model, version, parameters and word lists do; limits, retries and
            prices do not. Rankings and fits are bound to it.
    """

    identity: str

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        """Name the hedging phrases of each question, in the questions' order."""
        ...


def ask_panel(
    panel: Sequence[Comparer], questions: Sequence[Sequence[ComparisonQuestion]]
) -> list[list[Choice]]:
    """Ask every judge of a panel its own questions, all judges at the same time.

    When one judge fails, the others still finish, as what they answer is paid; then the
    first failure in panel order is raised. An interruption ends the asking of all
    judges that have a method `interrupt`.

    Returns:
        Every judge's answers, in panel order.
    """
    with ThreadPoolExecutor(len(panel), thread_name_prefix="panel") as threads:
        futures = [
            threads.submit(judge.compare, own_questions)
            for judge, own_questions in zip(panel, questions, strict=True)
        ]
        try:
            # Raises nothing yet: what the others answer is paid.
            wait(futures)
        except BaseException:
            for judge in panel:
                getattr(judge, "interrupt", lambda: None)()
            raise
    return [future.result() for future in futures]
