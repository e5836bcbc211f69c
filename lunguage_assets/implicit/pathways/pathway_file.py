"""The form of `resources/pathways.yaml`, the checks of the file alone, and its refinement words in cells.

Of the refinements of a diagnosis that a row states, the first in the order of the file wins (most specific
first, so "acute on chronic" is acute). A negated word is a token of its own: "non-loculated" and "without
tension" state neither loculation nor tension (implicit.md section 3). Which words are negated, the engine of
`assertion/` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Annotated, Literal, Self, TypeVar

from pydantic import BaseModel, Field, field_validator, model_validator

from lunguage_assets.assertion.phrases import split_by_denial
from lunguage_assets.assertion.plurals import possible_singulars
from lunguage_assets.caches import remembered
from lunguage_assets.implicit.rows import cell_parts, collapsed, tokens, united_cells
from lunguage_assets.packaged_data import wrong_at
from lunguage_assets.tables import ATTRIBUTES, VIEWS

T = TypeVar("T")
PLAIN = "plain"
PROJECTIONS = VIEWS[:3]
POSTURES = VIEWS[3:]
SYMPTOM_CATEGORY = "PATIENT INFO."

Projection = Literal["ap", "pa", "lateral"]
Projections = Annotated[list[Projection], Field(min_length=1)]
Postures = Annotated[list[Literal["erect", "supine", "recumbent"]], Field(min_length=1)]
Category = Literal["PF", "CF", "OTH", "COF", "NCD", "PATIENT INFO."]
_INTERNAL = {published: name for name, published in ATTRIBUTES.items()}


class Unless(BaseModel, frozen=True, extra="forbid"):
    """What keeps a sub-finding from being implied (mode "method")."""

    said: list[str] = []
    stated: list[str] = []
    denied: list[str] = []


class SubFinding(BaseModel, frozen=True, extra="forbid"):
    """One edge of a pathway: a sub-finding, as it would be stated if the diagnosis were certain."""

    finding: str = ""
    diagnosis: str = ""
    status: Literal["dp", "dn"]
    location: str = ""
    attributes: dict[str, str] = {}
    strength: float | None = Field(default=None, gt=0.0, lt=1.0)
    inherits: bool = True
    paper_only: str = ""
    """Why it is generated in mode "paper" alone; empty where it is generated in both."""
    unless: Unless = Unless()

    @field_validator("attributes")
    @classmethod
    def _known_attributes(cls, given: dict[str, str]) -> dict[str, str]:
        named = {_INTERNAL.get(name, name): value for name, value in given.items()}
        if unknown := sorted(set(named) - set(ATTRIBUTES)):
            raise ValueError(
                f"unknown attributes {unknown}; known are {list(ATTRIBUTES)}"
            )
        return {
            name: united_cells([named[name]]) for name in ATTRIBUTES if name in named
        }

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if bool(self.finding.strip()) == bool(self.diagnosis.strip()):
            raise ValueError("give either a finding or a diagnosis")
        return self

    @property
    def name(self) -> str:
        return collapsed(self.finding or self.diagnosis)


class When(BaseModel, frozen=True, extra="forbid"):
    """When a pathway applies: refinements, and at most one kind of view condition."""

    refinements: list[str] = Field(default=[PLAIN], min_length=1)
    postures: list[Postures] = []
    projections: list[Projections] = []
    needs: list[Projection] = []

    @model_validator(mode="after")
    def _one_view_condition(self) -> Self:
        if sum(map(bool, (self.postures, self.projections, self.needs))) > 1:
            raise ValueError("give at most one of postures, projections and needs")
        return self

    def admits(self, views: frozenset[str]) -> bool:
        """Whether the view condition holds for a study's projections and postures."""
        if self.needs:
            return bool(views & set(self.needs))
        postures = views & set(POSTURES)
        if self.postures:
            return any(postures == set(situation) for situation in self.postures)
        if self.projections:
            return not postures and any(
                views == set(situation) for situation in self.projections
            )
        return True


class Pathway(BaseModel, frozen=True, extra="forbid"):
    """An expert pathway: when it applies and what it implies."""

    id: str = Field(min_length=1)
    when: When = When()
    implies: list[SubFinding] = Field(min_length=1)

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if _repeated(
            [(one.name, one.status, collapsed(one.location)) for one in self.implies]
        ):
            raise wrong_at(
                ("implies",), "a sub-finding is listed twice; keep one of the two"
            )
        return self


class Union(BaseModel, frozen=True, extra="forbid"):
    """A situation that shows the signs of several pathways."""

    id: str = Field(min_length=1)
    when: When
    of: list[str] = Field(min_length=2)


class Refinement(BaseModel, frozen=True, extra="forbid"):
    """Words that choose among the pathways of a diagnosis."""

    name: str = Field(min_length=1)
    words: list[str] = []
    locations: list[str] = []
    location_patterns: list[re.Pattern[str]] = []


class Diagnosis(BaseModel, frozen=True, extra="forbid"):
    """A diagnosis with its spellings, refinements (most specific first) and pathways."""

    name: str = Field(min_length=1)
    spellings: dict[str, list[str]]
    refinements: list[Refinement] = []
    devices: list[str] = []
    elsewhere: list[str] = []
    pathways: list[Pathway] = Field(min_length=1)
    unions: list[Union] = []

    @property
    def variants(self) -> list[str]:
        return [spelling for group in self.spellings.values() for spelling in group]

    @property
    def entries(self) -> tuple[Pathway | Union, ...]:
        """Pathways, unions last."""
        return *self.pathways, *self.unions

    @model_validator(mode="after")
    def _names_what_is_there(self) -> Self:
        """Refinements, their words and members of unions; a plain spelling for the name itself."""
        known = [PLAIN, *(refinement.name for refinement in self.refinements)]
        words = [
            collapsed(word)
            for refinement in self.refinements
            for word in refinement.words
        ]
        twice = _repeated(known) or _repeated(words)
        if twice is not None:
            raise ValueError(
                f"the refinement, or its word, {twice!r} is given twice; keep one of the two"
            )
        for name in (
            *self.spellings,
            *(name for entry in self.entries for name in entry.when.refinements),
        ):
            if name not in known:
                raise ValueError(
                    f"unknown refinement {name!r}; known here are {known}: add it there"
                )
        if collapsed(self.name) not in map(collapsed, self.spellings.get(PLAIN, [])):
            raise ValueError(
                f"the diagnosis {self.name!r} is not one of its own plain spellings; list it"
            )
        members = {pathway.id for pathway in self.pathways}
        for member in (
            one for union in self.unions for one in union.of if one not in members
        ):
            raise ValueError(
                f"unknown pathway {member!r} in a union; known here are {sorted(members)}"
            )
        return self

    @model_validator(mode="after")
    def _one_pathway_each(self) -> Self:
        """Refuse two pathways for one (refinement, view situation), by trying all situations."""
        for refinement in (PLAIN, *(one.name for one in self.refinements)):
            entries = [
                entry for entry in self.entries if refinement in entry.when.refinements
            ]
            for views in view_situations():
                found = [entry.id for entry in entries if entry.when.admits(views)]
                if len(found) > 1:
                    raise ValueError(
                        f"{found[0]} and {found[1]} both apply to refinement {refinement!r} with views "
                        f"{', '.join(sorted(views)) or 'unknown'}; at most one may: narrow a `when`"
                    )
        return self


class PathwayFile(BaseModel, frozen=True, extra="forbid"):
    """The whole file."""

    categories: dict[str, Category] = {}
    negators: dict[str, list[str]] = {}
    """Of files of earlier versions: what is denied, says the engine of `assertion/` now."""
    directions: dict[str, list[str]] = {}
    diagnoses: list[Diagnosis] = Field(min_length=1)

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        """Each spelling and id once; sub-findings are diagnoses where they say so, and symptoms nowhere."""
        spellings, ids = [""], [""]
        for number, diagnosis in enumerate(self.diagnoses):
            spellings += map(collapsed, diagnosis.variants)
            ids += [entry.id for entry in diagnosis.entries]
            for field, seen in (("spellings", spellings), ("pathways", ids)):
                if (twice := _repeated(seen)) is not None:
                    problem = f"{twice!r} is given twice, or empty; keep one of the two"
                    raise wrong_at(("diagnoses", number, field), problem)
        symptoms = {
            collapsed(name)
            for name, kind in self.categories.items()
            if kind == SYMPTOM_CATEGORY
        }
        for number, diagnosis in enumerate(self.diagnoses):
            for which, pathway in enumerate(diagnosis.pathways):
                for edge, child in enumerate(pathway.implies):
                    place = ("diagnoses", number, "pathways", which, "implies", edge)
                    if bool(child.diagnosis) != (child.name in spellings):
                        kind = "no" if child.diagnosis else "a"
                        problem = f"{child.name!r} is {kind} listed diagnosis; write `diagnosis:` for those"
                        raise wrong_at(place, problem)
                    if child.name in symptoms and (child.location or child.attributes):
                        raise wrong_at(
                            place,
                            f"the symptom {child.name!r} has a location or attributes",
                        )
        return self


def view_situations() -> Iterator[frozenset[str]]:
    """Every set of projections and postures that a study can have, the unknown one (empty) included."""
    for size in range(len(VIEWS) + 1):
        yield from map(frozenset, combinations(VIEWS, size))


def _repeated(values: Sequence[T]) -> T | None:
    """The first value that comes a second time; None without one."""
    return next(
        (value for number, value in enumerate(values) if value in values[:number]), None
    )


Phrase = tuple[str, ...]

_JOINING = frozenset({"on", "and", "or", "to", "but", "however", "now"})
"""What is left of "chronic but not acute bronchitis" beside its diagnosis and refinements."""


@remembered
def read_cell(cell: str) -> tuple[Phrase, ...]:
    """Read a cell as tokens, one sequence per comma part; a denied word X is the token `non-X`."""
    return tuple(map(_read_part, cell_parts(cell)))


def _read_part(part: str) -> Phrase:
    read: list[str] = []
    for segment in split_by_denial(part):
        prefix = "non-" if segment.is_denied else ""
        read += [prefix + token for token in tokens(segment.text)]
    return tuple(read)


class ListedWords:
    """Listed words and the cells that name them; a negated word names nothing."""

    def __init__(
        self,
        words: Iterable[str],
        *,
        plurals: bool = True,
        patterns: Sequence[re.Pattern[str]] = (),
    ) -> None:
        self.phrases = tuple(
            phrase for word in words for phrase in read_cell(word) if phrase
        )
        self._plurals = plurals
        self._patterns = patterns
        # A few hundred lists of words have one of these each.
        self._in = remembered(
            lambda cell: any(map(self._in_part, read_cell(cell))), entries=1 << 10
        )

    def in_any(self, cells: Iterable[str]) -> bool:
        """Whether any comma part of a cell contains a listed phrase or a token of a pattern."""
        return bool(self.phrases or self._patterns) and any(map(self._in, cells))

    def _in_part(self, part: Phrase) -> bool:
        if any(_find(part, phrase, self._plurals) >= 0 for phrase in self.phrases):
            return True
        return any(
            pattern.fullmatch(token) for pattern in self._patterns for token in part
        )


class RefinementRule:
    """The refinement words of one diagnosis, `devices` that have it instead of the patient, and locations
    `elsewhere` that make it another condition: a pericardial "effusion" is no pleural one.
    """

    def __init__(self, diagnosis: Diagnosis) -> None:
        self._refinements = [
            (
                one.name,
                ListedWords(one.words, plurals=False),
                ListedWords(one.locations, patterns=one.location_patterns),
            )
            for one in diagnosis.refinements
        ]
        """Name, words that count anywhere, words that count in the location."""
        self.devices = ListedWords(diagnosis.devices)
        self.elsewhere = ListedWords(diagnosis.elsewhere)

    def stated(
        self, location: Sequence[str], others: Iterable[str], spelled: Iterable[str]
    ) -> list[str]:
        """Names of the refinements that apply, most specific first; `others` are names and attributes,
        `spelled` the refinements that the spelling is listed under.
        """
        if not self._refinements:
            return []
        cells, by_spelling = (
            [cell for cell in (*location, *others) if cell],
            set(spelled),
        )
        return [
            name
            for name, anywhere, there in self._refinements
            if name in by_spelling or anywhere.in_any(cells) or there.in_any(location)
        ]

    def without_refinements(self, wording: str) -> str | None:
        """The wording without this diagnosis' refinement words and their negations; None without any."""
        kept: list[str] = []
        removed = False
        for remaining in read_cell(wording):
            for phrase in (
                phrase for _, words, _ in self._refinements for phrase in words.phrases
            ):
                for form in (phrase, tuple(f"non-{token}" for token in phrase)):
                    while (start := _find(remaining, form)) >= 0:
                        remaining = remaining[:start] + remaining[start + len(form) :]
                        removed = True
            kept += remaining
        return (
            " ".join(token for token in kept if token not in _JOINING)
            if removed
            else None
        )


def _find(part: Phrase, phrase: Phrase, plurals: bool = False) -> int:
    """Where a phrase begins in a part, or -1; with `plurals` its words may be plural there."""
    for start in range(len(part) - len(phrase) + 1):
        said = part[start : start + len(phrase)]
        if said == phrase:
            return start
        if plurals and all(
            word in possible_singulars(token)
            for word, token in zip(phrase, said, strict=True)
        ):
            return start
    return -1
