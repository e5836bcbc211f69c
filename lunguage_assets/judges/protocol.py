"""What a judge is asked and what it answers; nothing here knows how an answer comes about.

A judge answers many questions in one call, in their order. A question that could not be answered validly is
answered as invalid: it is never left out and never guessed (explicit.md sections 1 and 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, Protocol

from lunguage_assets.assertion.tokens import MASK as MASK
from lunguage_assets.errors import MethodError

Choice = Literal["sentence_1", "sentence_2", "invalid"]
"""The sentence chosen, or `invalid` after the last try."""


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


@dataclass(frozen=True, slots=True)
class ComparisonQuestion:
    """Which of two masked sentences is closer to "finding certainly present"?

    `replicate` numbers repeated draws of one question, which deserve independent answers of a judge that
    draws at random.
    """

    sentence_1: str
    sentence_2: str
    replicate: int = 0


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

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]: ...

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]: ...


def ask_panel(
    panel: Sequence[Judge], questions: Sequence[Sequence[ComparisonQuestion]]
) -> list[list[Choice]]:
    """Every judge's answers to its own questions, in panel order; all judges are asked at the same time.

    When one judge fails, the others still finish, as what they answer is paid; then the first failure in
    panel order is raised. An interruption ends the asking of all judges that have a method `interrupt`.

    Raises:
        MethodError: a judge gave one answer too few or too many, which would shift every later one.
    """

    def asked(judge: Judge, those: Sequence[ComparisonQuestion]) -> list[Choice]:
        answers = judge.compare(those) if those else []
        if len(answers) != len(those):
            raise MethodError(
                f"judge {judge.key!r} gave {len(answers)} answers to {len(those)} questions; expected one "
                "each. Fix the judge's implementation."
            )
        return answers

    if (
        sum(map(bool, questions)) < 2
    ):  # no threads for one, as with most rounds of offline judges
        return list(map(asked, panel, questions))
    with ThreadPoolExecutor(len(panel), thread_name_prefix="panel") as threads:
        futures = [
            threads.submit(asked, *one) for one in zip(panel, questions, strict=True)
        ]
        try:
            for future in futures:
                future.exception()
        except BaseException:
            for judge in panel:
                getattr(judge, "interrupt", lambda: None)()
            raise
    return [future.result() for future in futures]
