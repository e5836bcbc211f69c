"""What the rule-based judges share: comparing by scores, and reading a masked sentence: its tokens, distances
between places, and contrasts, which set one finding against another ("X rather than Y").
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lunguage_assets.caches import remembered
from lunguage_assets.draws import Floats
from lunguage_assets.judges.protocol import (
    MASK,
    Choice,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.judges.scoring import chosen, unknown_deviation

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

    def nearest_mentions(self, start: int, end: int) -> Sequence[int]:
        """The last mention before the words start..end-1 and the first one behind: on either side every
        other is farther away, whatever stands between. A sentence may mention its finding hundreds of times.
        """
        behind = bisect_left(self.mentions, start)
        before = self.mentions[behind - 1 : behind] if behind else ()
        first_behind = bisect_left(self.mentions, end)
        return *before, *self.mentions[first_behind : first_behind + 1]

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


_BELIEF = (
    r"(?:likely|probabl[ey]|suggestive|consistent|compatible|typical|suspicious|concerning|favou?red|so)"
)
_CONTRASTS = (
    (re.compile(r"\s(?:rather than|as opposed to|instead of)(?=\s)"), "first"),
    (re.compile(rf"\smore {_BELIEF}(?:\s[^\s.;]+){{0,10}}?(\sthan)(?=\s)"), "first"),
    (re.compile(rf"\s(?:less|not as) {_BELIEF}(?:\s[^\s.;]+){{0,10}}?(\s(?:than|as))(?=\s)"), "second"),
    (re.compile(r"\s(?:favou?r(?:s|ed|ing)?|prefer(?:s|red)?)(?:\s[^\s.;]+){0,10}?(\sover)(?=\s)"), "first"),
)
"""What stands between the two findings, and which of them is preferred; over tokens joined by spaces."""

_NOT = frozenset({"not", "never"})
_NONE = frozenset({"no", "without"})
_IDIOMS = frozenset({"excluded", "exclude", "excludes", "ruled", "rule", "only", "necessarily", "just"})
_ENDS = frozenset({".", ";", ":", "but", "however", "although", "though", "while", "whereas"})
_REACH = 8


class Contrast(NamedTuple):
    """The words start..end-1 between two findings of a sentence, and which of them is preferred."""

    start: int
    end: int
    first_preferred: bool


def contrast_of(reading: Reading) -> tuple[Contrast, bool] | None:
    """The contrast that the finding asked about stands in, and whether the finding is the preferred one."""
    text, known = " " + " ".join(reading.tokens) + " ", set()
    for pattern, preferred in _CONTRASTS:
        for match in pattern.finditer(text):
            start, end = match.span(pattern.groups)
            first = text.count(" ", 0, start)
            last = first + text[start:end].strip().count(" ") + 1
            known.add(Contrast(first, last, preferred == "first"))
    for mention in reading.mentions if known else ():
        apart, nearest = min((_distance(reading, mention, one), one) for one in known)
        if apart <= _REACH:
            return nearest, (mention < nearest.start) == nearest.first_preferred
    return None


def is_denied(reading: Reading, start: int, end: int, mention: int) -> bool:
    """Whether a `not` stands beside the hedge at start..end-1, or between it and its finding: "not likely",
    "probably not X", "probably no X", "likely Y and not X", "X is probably not present".

    A `not` of an exclusion ("not excluded") is an idiom of its own.
    """
    places = range(end, mention) if end <= mention else range(end, end + 1)
    if end <= mention and reading.word(mention - 1) in _NONE:
        return True
    return any(_negates(reading, place) for place in (start - 1, *places))


def _negates(reading: Reading, place: int) -> bool:
    return reading.word(place) in _NOT and not any(
        reading.word(place + step) in _IDIOMS for step in (1, 2, 3, 4)
    )


def _distance(reading: Reading, mention: int, contrast: Contrast) -> int:
    """Tokens between, or more than any reach where the clause ends between."""
    start, end = (mention + 1, contrast.start) if mention < contrast.start else (contrast.end, mention)
    # What is out of reach is not read: hundreds of findings may stand behind hundreds of contrasts.
    is_far = end - start > _REACH
    return 10**6 if is_far or _ENDS.intersection(reading.tokens[start:end]) else max(0, end - start)


class RuleJudge(ABC):
    """Deterministic and free: of two sentences the one with the higher score is the more certain.

    Args:
        key: the slot's name.
        method: name of the rules; coins of different methods fall independently.
        version: of the rules: raised with every change that changes an answer.
        entries: all words with what they say: other words are another judge.
    """

    def __init__(self, key: str, method: str, version: str, *entries: object) -> None:
        self.key, self._method = key, method
        digest = hashlib.blake2b(repr(entries).encode(), digest_size=6).hexdigest()
        self.identity = f"{method}/{version}/{digest}"
        # A fit asks of every sentence of a batch in every round: all of them must fit in.
        self._known_score = remembered(self.score, entries=1 << 16)

    @abstractmethod
    def score(self, masked_sentence: str) -> float | None:
        """How certain the finding is; None without a hedge that the judge knows."""

    @abstractmethod
    def phrases(self, question: ExtractionQuestion) -> tuple[str, ...]:
        """The hedges of the finding, as the judge names them."""

    def extract(self, questions: Sequence[ExtractionQuestion]) -> list[ExtractionAnswer]:
        """Phrases per question, in the questions' order."""
        return [ExtractionAnswer(self.phrases(question)) for question in questions]

    def scores(self, masked_sentences: Sequence[str]) -> tuple[Floats, Floats]:
        """The scores, in the judge's own units; how far they err is not known."""
        return unknown_deviation(list(map(self._known_score, masked_sentences)))

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]:
        """The higher score wins, as `chosen` says."""
        known = self._known_score
        return [chosen(self._method, one, known(one.sentence_1), known(one.sentence_2)) for one in questions]
