"""Hedging phrases with their places on the published scale (`resources/hedges.yaml`).

Only the 42 published places are published: those of other phrases are the author's own
estimates.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel

from lunguage_assets.assertion.cues import Cue, Example
from lunguage_assets.packaged_data import read_as, resource

Side = Literal["right", "left", "both", "list"]
"""Where the finding stands, seen from the phrase; `list`: it joins alternatives."""


_EXAMPLE = "pneumonia"
"""The mention of the sentences that show what a phrase gives."""


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
            int(row["rank"]), row["phrase"], float(row["mu"]), float(row["sigma"])
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
    inflections = {word: forms for forms in file.inflections for word in forms}
    hedges = tuple(_inflected(_listed_hedges(file), inflections))
    return Lexicon(hedges, file.cues, file.shifts, inflections)


def _listed_hedges(file: _File) -> list[Hedge]:
    """List the phrases as they are given."""
    side_by_phrase = {
        phrase: side for side, phrases in file.published.items() for phrase in phrases
    }
    published = [
        Hedge(entry.phrase, entry.mu, side_by_phrase[entry.phrase])
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
    groups: dict[tuple[tuple[str, ...], ...], list[Hedge]] = {}
    for hedge in hedges:
        words = hedge.phrase.split()
        forms = tuple(inflections.get(word, (word,)) for word in words)
        groups.setdefault(forms, []).append(hedge)
    for forms, group in groups.items():
        mean = sum(hedge.place for hedge in group) / len(group)
        listed = {hedge.phrase: hedge for hedge in group}
        for phrase in map(" ".join, product(*forms)):
            unlisted = replace(group[0], phrase=phrase, structured=False)
            yield replace(listed.get(phrase, unlisted), place=mean)


def hedge_cues() -> Iterator[Cue]:
    """Yield the phrases of hedges.yaml that the structurer reads, as cues."""
    for hedge in bundled_lexicon().hedges:
        if not hedge.structured or hedge.side == "list":
            continue
        is_behind = hedge.side == "left"
        # An adjective leaves open what follows; a phrase also what is joined to that.
        reaches_list = is_behind or " " in hedge.phrase
        invented = (
            f"{_EXAMPLE} {hedge.phrase}" if is_behind else f"{hedge.phrase} {_EXAMPLE}"
        )
        yield Cue(
            id=f"hedge.{_identifier(hedge.phrase)}",
            category="hedged",
            patterns=(hedge.phrase,),
            # "Possible pneumonia", "pneumonia is possible"
            direction="before" if is_behind else "both",
            reach="list" if reaches_list else "next",
            examples=(
                Example(text=invented, meant_by_mention={_EXAMPLE: ("hedged",)}),
            ),
        )


def _identifier(phrase: str) -> str:
    letters = "".join(sign if sign.isalnum() else "_" for sign in phrase)
    return letters.strip("_") or "sign"
