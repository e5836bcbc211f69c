"""Reading a masked sentence: its tokens, where the finding is, and how far apart two places are.

Shared by the rule-based judges; which words mean what is in `lexicon.py` and `cues.py`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lunguage_assets.judges.protocol import MASK, ComparisonAnswer, ComparisonQuestion

_TOKEN = re.compile(r"<finding>|and/or|vs\.|[a-z]+(?:['’-][a-z]+)*|\d+(?:[.,]\d+)*|[;:.,?()/]")
_HARD = frozenset({";", ":", ".", "but", "however", "although", "though", "while", "whereas"})
_SOFT = frozenset({",", "(", ")", "with", "which"})
_HARD_COST, _SOFT_COST = 20, 3

_DENIALS = frozenset({"no", "without", "nor", "neither"})
_DENIAL_REACH = 7

SAME_CLAUSE = 16
"""Cost of a distance below which two places belong to one clause."""

_COPULAS = frozenset(
    {"is", "are", "be", "was", "were", "remain", "remains", "considered", "felt", "seems", "thought"}
)
_PREDICATE_ADVERBS = frozenset(
    {
        "now",
        "also",
        "entirely",
        "still",
        "quite",
        "felt",
        "thought",
        "considered",
        "therefore",
        "strongly",
        "highly",
        "clearly",
        "most",
    }
)
_AFTER_PREDICATES = frozenset(
    {
        "",
        ".",
        ",",
        ";",
        "and",
        "but",
        "given",
        "in",
        "on",
        "at",
        "though",
        "although",
        "however",
        "based",
        "here",
        "present",
        "as",
        "with",
    }
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence in lower case, as tokens.

    `mentions` are the places of `<finding>`; `walls[i]` is the cost of all clause breaks before token i, so
    that the breaks between two tokens are a difference.
    """

    tokens: tuple[str, ...]
    mentions: tuple[int, ...]
    walls: tuple[int, ...]

    @classmethod
    def of(cls, masked_sentence: str) -> Reading:
        tokens = tuple(_TOKEN.findall(masked_sentence.lower()))
        walls = [0]
        last = len(tokens) - 1
        for i, token in enumerate(tokens):
            hard = token in _HARD and i < last  # the full stop at the end separates nothing
            walls.append(
                walls[-1]
                + (
                    _HARD_COST
                    if hard
                    else _SOFT_COST
                    if token in _SOFT and not (token == "which" and tokens[i - 1] == ",")
                    else 0
                )
            )
        return cls(tokens, tuple(i for i, token in enumerate(tokens) if token == MASK), tuple(walls))

    def between(self, start: int, end: int) -> int:
        """Cost of the tokens from `start` up to, not including, `end`: their number and the clause breaks
        among them.
        """
        return max(0, end - start) + self.walls[max(start, end)] - self.walls[start]

    def word(self, place: int) -> str:
        """The token there, or the empty string outside the sentence."""
        return self.tokens[place] if 0 <= place < len(self.tokens) else ""


def is_predicate(reading: Reading, start: int, end: int) -> bool:
    """Whether the words start..end-1 are said of what stands before them: "<finding> is (now) likely
    (present)".
    """
    before = start - 2 if reading.word(start - 1) in _PREDICATE_ADVERBS else start - 1
    return reading.word(before) in _COPULAS and reading.word(end) in _AFTER_PREDICATES


def denies_list(reading: Reading, connector: int) -> bool:
    """Whether the list joined at this token is denied as a whole: the `or` of "no effusion or pneumothorax"
    expresses no uncertainty.
    """
    for place in range(connector - 1, max(-1, connector - _DENIAL_REACH), -1):
        if reading.word(place) in _DENIALS:
            return True
        if reading.word(place) in {".", ";", ":", "but"}:
            return False
    return False


def choose_by_score(
    questions: Sequence[ComparisonQuestion], score: Callable[[str], float | None], salt: str
) -> list[ComparisonAnswer]:
    """Answer comparisons by the higher score.

    A sentence without a score has no hedge that the judge knows. Whatever it is compared with, the answer is
    invalid: comparisons are about tentative findings, and an unknown hedge is no certainty (explicit.md
    section 6).

    Equal scores are decided by a coin hashed from the two sentences and `salt`, the same coin whichever
    sentence is shown first. Two identical sentences cannot be told apart by content: there the coin falls on
    the position, and anew for every replicate.
    """
    answers = {
        True: ComparisonAnswer("sentence_1"),
        False: ComparisonAnswer("sentence_2"),
        None: ComparisonAnswer("invalid"),
    }
    return [answers[_first_wins(question, score, salt)] for question in questions]


def _first_wins(question: ComparisonQuestion, score: Callable[[str], float | None], salt: str) -> bool | None:
    """None when either sentence has no score."""
    one, two = question.sentence_1, question.sentence_2
    score_one, score_two = score(one), score(two)
    if score_one is None or score_two is None:
        return None
    if score_one != score_two:
        return score_one > score_two
    if one == two:
        return _coin(salt, one, str(question.replicate))
    return _coin(salt, *sorted((one, two))) == (one < two)


def _coin(*parts: str) -> bool:
    return bool(
        hashlib.blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=1).digest()[0] & 1
    )
