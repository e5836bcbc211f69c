"""What a judge is asked and what it answers; nothing here knows how an answer comes about.

A judge answers many questions in one call, so that an implementation is free to send them concurrently, or
to answer from a ledger. Answers come back in the order of the questions. A question that
could not be answered validly, after whatever retries the judge makes, is answered as invalid: it is never
left out and never guessed (explicit.md sections 1 and 2).
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
    located. A language model is shown `finding` and `sentence` (as in the paper); a rule-based judge reads
    the place from the masked form.
    """

    finding: str
    sentence: str
    masked_sentence: str | None = None


@dataclass(frozen=True, slots=True)
class ExtractionAnswer:
    """The phrases as the judge gave them, an empty tuple being a valid answer; `valid` is False when none
    could be read.
    """

    phrases: tuple[str, ...]
    valid: bool = True
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class ComparisonQuestion:
    """Which of two masked sentences is closer to "finding certainly present"?

    `replicate` numbers repeated draws of one question: two questions that differ only there deserve two
    independent answers of a judge that draws at random, and one answer, given twice, of a deterministic
    judge.
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
    answers = judge.extract(questions) if questions else []
    return _complete(judge, answers, len(questions))


def ask_to_compare(judge: Judge, questions: Sequence[ComparisonQuestion]) -> list[ComparisonAnswer]:
    """All answers of a judge, exactly one per question."""
    answers = judge.compare(questions) if questions else []
    return _complete(judge, answers, len(questions))


def ask_panel(
    panel: Sequence[Judge], questions: Sequence[Sequence[ComparisonQuestion]]
) -> list[list[ComparisonAnswer]]:
    """Every judge's answers to its own questions, in panel order; all judges are asked at the same time.

    A round takes as long as its slowest judge, not as long as all together. When one judge fails, the others
    still finish: what they answer is paid. The first failure in panel order is then raised. An interruption
    ends the asking of all judges.
    """
    asked = [number for number, those in enumerate(questions) if those]
    if len(asked) < 2:
        return [ask_to_compare(judge, those) for judge, those in zip(panel, questions, strict=True)]
    with ThreadPoolExecutor(len(asked), thread_name_prefix="panel") as threads:
        futures = {
            number: threads.submit(ask_to_compare, panel[number], questions[number]) for number in asked
        }
        try:
            failures = [error for future in futures.values() if (error := future.exception()) is not None]
        except BaseException:
            for number in asked:
                judge = panel[number]
                if isinstance(judge, Interruptible):
                    judge.interrupt()
            raise
    if failures:
        raise failures[0]
    return [futures[number].result() if number in futures else [] for number in range(len(panel))]


Answer = TypeVar("Answer", ExtractionAnswer, ComparisonAnswer)


def _complete(judge: Judge, answers: list[Answer], expected: int) -> list[Answer]:
    if len(answers) != expected:
        raise MethodError(
            f"judge {judge.key!r} gave {len(answers)} answers to {expected} questions; expected "
            "one each. Fix the judge's implementation."
        )
    return answers
