"""What a judge is asked and what it answers; nothing here knows how an answer comes about.

A judge answers many questions in one call, in their order, so that an implementation may send them
concurrently or answer from a ledger. A question that could not be answered validly is answered as invalid: it
is never left out and never guessed (explicit.md sections 1 and 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, runtime_checkable

from lunguage_assets.errors import MethodError

Choice = Literal["sentence_1", "sentence_2", "invalid"]
MASK = "<finding>"


@dataclass(frozen=True, slots=True)
class ExtractionQuestion:
    """Which words or phrases of `sentence` express uncertainty about `finding`, and about that finding only?

    `masked_sentence` is the same sentence with the finding as `<finding>`, or None when it could not be
    located: a rule-based judge reads the place from it, a language model is shown the other two.
    """

    finding: str
    sentence: str
    masked_sentence: str | None = None


@dataclass(frozen=True, slots=True)
class ExtractionAnswer:
    """The phrases as the judge gave them (none: also an answer); not `valid` when none could be read."""

    phrases: tuple[str, ...]
    valid: bool = True
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class ComparisonQuestion:
    """Which of two masked sentences is closer to "finding certainly present"?

    `replicate` numbers repeated draws of one question, which deserve independent answers of a judge that
    draws at random.
    """

    sentence_1: str
    sentence_2: str
    replicate: int = 0


@dataclass(frozen=True, slots=True)
class ComparisonAnswer:
    """The label chosen, or `invalid` after the last of `attempts`."""

    answer: Choice
    attempts: int = 1

    @property
    def valid(self) -> bool:
        return self.answer != "invalid"


@runtime_checkable
class Judge(Protocol):
    """A named slot that answers.

    `key` is the slot's name in judges.toml. `identity` names everything that changes its answers (method or
    model, version, parameters, word lists) and nothing that does not (limits, retries, prices): rankings and
    fits are bound to it.
    """

    @property
    def key(self) -> str: ...

    @property
    def identity(self) -> str: ...

    def extract(self, questions: Sequence[ExtractionQuestion]) -> list[ExtractionAnswer]: ...

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[ComparisonAnswer]: ...


@runtime_checkable
class Interruptible(Protocol):
    """A judge whose questions take long: another thread can end the asking, and what was answered is kept."""

    def interrupt(self) -> None: ...


def ask_to_extract(judge: Judge, questions: Sequence[ExtractionQuestion]) -> list[ExtractionAnswer]:
    """All answers of a judge; one too few or too many would shift every later one, so it is an error."""
    return _complete(judge, judge.extract(questions) if questions else [], len(questions))


def ask_to_compare(judge: Judge, questions: Sequence[ComparisonQuestion]) -> list[ComparisonAnswer]:
    """All answers of a judge, exactly one per question."""
    return _complete(judge, judge.compare(questions) if questions else [], len(questions))


def ask_panel(
    panel: Sequence[Judge], questions: Sequence[Sequence[ComparisonQuestion]]
) -> list[list[ComparisonAnswer]]:
    """Every judge's answers to its own questions, in panel order; all judges are asked at the same time.

    When one judge fails, the others still finish, as what they answer is paid; then the first failure in
    panel order is raised. An interruption ends the asking of all judges.
    """
    asked = list(zip(panel, questions, strict=True))
    if sum(map(bool, questions)) < 2:  # no threads for one, as with most rounds of offline judges
        return [ask_to_compare(judge, those) for judge, those in asked]
    with ThreadPoolExecutor(len(asked), thread_name_prefix="panel") as threads:
        futures = [threads.submit(ask_to_compare, judge, those) for judge, those in asked]
        try:
            for future in futures:
                future.exception()
        except BaseException:
            for judge in panel:
                if isinstance(judge, Interruptible):
                    judge.interrupt()
            raise
    return [future.result() for future in futures]


Answer = TypeVar("Answer", ExtractionAnswer, ComparisonAnswer)


def _complete(judge: Judge, answers: list[Answer], expected: int) -> list[Answer]:
    if len(answers) != expected:
        raise MethodError(
            f"judge {judge.key!r} gave {len(answers)} answers to {expected} questions; expected "
            "one each. Fix the judge's implementation."
        )
    return answers
