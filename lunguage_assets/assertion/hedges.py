"""Hedging phrases with their places on the published scale (`resources/hedges.yaml`).

Only 42 places are published; those of other phrases are the author's own estimates
(explicit.md section 3). What belongs here: the phrases, and those of them that are cues
of the structurer. How a judge scores with them is in `judges/rules/`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel

from lunguage_assets.assertion.categories import Direction, Reach
from lunguage_assets.assertion.cues import Cue, Example
from lunguage_assets.packaged_data import read_as, resource

Side = Literal["right", "left", "both", "list"]
"""Where the finding stands, seen from the phrase; `list`: it joins alternatives."""

_EXAMPLE = "pneumonia"
"""The mention of the sentences that show what a phrase gives."""
_NO_LETTER = re.compile(r"[\W_]")
_FormsOfWords = tuple[tuple[str, ...], ...]
"""All forms of each word of a phrase."""


class PublishedPhrase(NamedTuple):
    """A phrase of the published ranking; rank 0 is the most certain."""

    rank: int
    phrase: str
    mu: float
    sigma: float


@cache
def published_ranking() -> tuple[PublishedPhrase, ...]:
    """Read the published ranking, most certain first."""
    return tuple(
        PublishedPhrase(
            rank=int(row["rank"]),
            phrase=row["phrase"],
            mu=float(row["mu"]),
            sigma=float(row["sigma"]),
        )
        for row in csv_rows("published_ranking.csv")
    )


def csv_rows(name: str) -> list[dict[str, str]]:
    """Read the rows of a bundled CSV file."""
    with resource(name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@dataclass(frozen=True, slots=True)
class Hedge:
    """A hedging phrase.

    Attributes:
        phrase: its words.
        place: mu on the published scale.
        side: where its finding stands.
        structured: whether the offline structurer takes it for a hedge, too; for the
            others it has cues of its own.
    """

    phrase: str
    place: float
    side: Side
    structured: bool = True


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The hedging phrases.

    Attributes:
        hedges: the phrases, in every inflection.
        places_by_cue: id or category of a cue without a known phrase -> its place;
            `preferred`: of a finding for which another one is dismissed.
        shifts: word near the finding -> points of mu by which it shifts a place.
        inflections: word -> all forms of it.
    """

    hedges: tuple[Hedge, ...]
    places_by_cue: Mapping[str, float]
    shifts: Mapping[str, float]
    inflections: Mapping[str, tuple[str, ...]]


class _File(BaseModel, extra="forbid"):
    """The content of resources/hedges.yaml."""

    published: dict[Side, list[str]]
    inflections: list[tuple[str, ...]]
    rarer: list[Hedge]
    judged: list[Hedge]
    cues: dict[str, float]
    shifts: dict[str, float]


@cache
def bundled_lexicon() -> Lexicon:
    """Read published, rarer and judged phrases in every inflection, and shifts.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    sides = get_args(Side)
    remedy = f"Give a phrase a place and a side of {sides}, and every shift a number."
    file = read_as(resource("hedges.yaml"), _File, remedy)
    inflections: dict[str, tuple[str, ...]] = {}
    for forms in file.inflections:
        for word in forms:
            inflections[word] = forms
    hedges = _inflected(_listed_hedges(file), inflections)
    return Lexicon(
        hedges=tuple(hedges),
        places_by_cue=file.cues,
        shifts=file.shifts,
        inflections=inflections,
    )


def _listed_hedges(file: _File) -> list[Hedge]:
    """List the phrases as they are given."""
    side_by_phrase: dict[str, Side] = {}
    for side, phrases in file.published.items():
        for phrase in phrases:
            side_by_phrase[phrase] = side
    # The ranking has the places, the file the sides.
    published = [
        Hedge(entry.phrase, place=entry.mu, side=side_by_phrase[entry.phrase])
        for entry in published_ranking()
    ]
    judged = [replace(hedge, structured=False) for hedge in file.judged]
    return [*published, *file.rarer, *judged]


def _inflected(
    hedges: Iterable[Hedge], inflections: Mapping[str, tuple[str, ...]]
) -> Iterator[Hedge]:
    """Yield every inflection of phrases.

    Those that differ in inflection alone share one place: the mean of those given.
    """
    # "Suggest" and "suggests" have the same forms of each word, and so one group.
    hedges_by_forms: dict[_FormsOfWords, list[Hedge]] = {}
    for hedge in hedges:
        words = hedge.phrase.split()
        forms = tuple(inflections.get(word, (word,)) for word in words)
        hedges_by_forms.setdefault(forms, []).append(hedge)
    for forms, group in hedges_by_forms.items():
        mean_place = sum(hedge.place for hedge in group) / len(group)
        listed = {hedge.phrase: hedge for hedge in group}
        for words_of_phrase in product(*forms):
            phrase = " ".join(words_of_phrase)
            if phrase in listed:
                yield replace(listed[phrase], place=mean_place)
                continue
            # A form that nobody listed is for the judges: the structurer reads no other
            # phrases than those of the file.
            yield replace(group[0], phrase=phrase, place=mean_place, structured=False)


def hedge_cues() -> Iterator[Cue]:
    """Yield the phrases of hedges.yaml that the structurer reads, as cues."""
    for hedge in bundled_lexicon().hedges:
        # What joins alternatives has cues of its own (`resources/assertion/`).
        if not hedge.structured or hedge.side == "list":
            continue
        direction: Direction
        if hedge.side == "left":
            # "Pneumonia cannot be excluded"
            direction = "before"
            sentence = f"{_EXAMPLE} {hedge.phrase}"
        else:
            # "Possible pneumonia", "pneumonia is possible"
            direction = "both"
            sentence = f"{hedge.phrase} {_EXAMPLE}"
        # An adjective leaves open what follows; a phrase also what is joined to that.
        reach: Reach = "next"
        if direction == "before" or " " in hedge.phrase:
            reach = "list"
        example = Example(text=sentence, meant_by_mention={_EXAMPLE: ("hedged",)})
        yield Cue(
            id=f"hedge.{_identifier(hedge.phrase)}",
            category="hedged",
            patterns=(hedge.phrase,),
            direction=direction,
            reach=reach,
            examples=(example,),
        )


def _identifier(phrase: str) -> str:
    """Make an id of a phrase: "cannot_be_excluded", and "sign" of "?"."""
    letters = _NO_LETTER.sub("_", phrase)
    return letters.strip("_") or "sign"
