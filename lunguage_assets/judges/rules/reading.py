"""Reading a masked sentence: its tokens, where the finding is, and how far apart two places are.

Shared by the rule-based judges; which words mean what is in `lexicon.py` and `cues.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lunguage_assets.judges.protocol import MASK

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
        "now", "also", "entirely", "still", "quite", "felt", "thought", "considered", "therefore", "strongly",
        "highly", "clearly", "most",
    }
)  # fmt: skip
_ADJECTIVES = frozenset({"likely", "unlikely", "probable", "possible", "doubtful"})
_AFTER_PREDICATES = frozenset(
    {
        "", ".", ",", ";", "and", "but", "given", "in", "on", "at", "though", "although", "however", "based",
        "here", "present", "as", "with",
    }
)  # fmt: skip


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
        for i, token in enumerate(tokens):
            cost = 0
            if token in _HARD and i < len(tokens) - 1:  # the full stop at the end separates nothing
                cost = _HARD_COST
            elif token in _SOFT and not (token == "which" and tokens[i - 1] == ","):
                cost = _SOFT_COST
            walls.append(walls[-1] + cost)
        return cls(tokens, tuple(i for i, token in enumerate(tokens) if token == MASK), tuple(walls))

    def between(self, start: int, end: int) -> int:
        """Cost of the tokens from `start` up to, not including, `end`: their number and the clause breaks
        among them.
        """
        return max(0, end - start) + self.walls[max(start, end)] - self.walls[start]

    def apart(self, start: int, end: int, mention: int) -> int:
        """Cost of what stands between the words start..end-1 and a mention."""
        return self.between(end, mention) if end <= mention else self.between(mention + 1, start)

    def word(self, place: int) -> str:
        """The token there, or the empty string outside the sentence."""
        return self.tokens[place] if 0 <= place < len(self.tokens) else ""


def is_predicate(reading: Reading, start: int, end: int) -> bool:
    """Whether the words start..end-1 are said of what stands before them: "<finding> is (now) likely
    (present)", "<finding> less likely".
    """
    before = start - 2 if reading.word(start - 1) in _PREDICATE_ADVERBS else start - 1
    behind = reading.word(start - 1) == MASK and reading.word(end - 1) in _ADJECTIVES
    return (behind or reading.word(before) in _COPULAS) and reading.word(end) in _AFTER_PREDICATES


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
