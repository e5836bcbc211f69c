"""Sentences that set one finding against another: "X rather than Y", "more likely X than Y", "X favored over
Y", "probably not X".

Which side of the contrast a finding stands on decides what the hedges of the sentence say about it. Shared by
the rule-based judges.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lunguage_assets.judges.rules.reading import Reading

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


@dataclass(frozen=True, slots=True, order=True)
class Contrast:
    """The words start..end-1 between two findings of a sentence, and which of them is preferred."""

    start: int
    end: int
    first_preferred: bool


def contrasts(reading: Reading) -> tuple[Contrast, ...]:
    """All contrasts of a sentence, by place."""
    text = " " + " ".join(reading.tokens) + " "
    found = set()
    for pattern, preferred in _CONTRASTS:
        for match in pattern.finditer(text):
            start, end = match.span(pattern.groups)
            first = text.count(" ", 0, start)
            found.add((first, first + text[start:end].strip().count(" ") + 1, preferred == "first"))
    return tuple(Contrast(*place) for place in sorted(found))


def contrast_of(reading: Reading) -> tuple[Contrast, bool] | None:
    """The contrast that the finding asked about stands in, and whether the finding is the preferred one."""
    known = contrasts(reading)
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
    return 10**6 if _ENDS.intersection(reading.tokens[start:end]) else max(0, end - start)
