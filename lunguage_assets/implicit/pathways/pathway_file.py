"""The form of `resources/pathways.yaml`, the checks of the file alone, and its words.

Of the refinements of a diagnosis that a row states, the first in the order of the file
wins (most specific first, so "acute on chronic" is acute). A negated word is a token of
its own: "non-loculated" and "without tension" state neither loculation nor tension
(implicit.md section 3). Which words are negated, the engine of `assertion/` says.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Annotated, Literal, NamedTuple, Self, TypeVar

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
    """One edge of a pathway: a sub-finding as if the diagnosis were certain."""

    finding: str = ""
    diagnosis: str = ""
    status: Literal["dp", "dn"]
    location: str = ""
    attributes: dict[str, str] = {}
    strength: float | None = Field(default=None, gt=0.0, lt=1.0)
    inherits: bool = True
    paper_only: str = ""
    """Why it is generated in mode "paper" alone; empty where in both."""
    unless: Unless = Unless()

    @field_validator("attributes")
    @classmethod
    def _known_attributes(cls, attributes: dict[str, str]) -> dict[str, str]:
        cell_by_name = {
            _INTERNAL.get(name, name): cell for name, cell in attributes.items()
        }
        unknown = sorted(set(cell_by_name) - set(ATTRIBUTES))
        if unknown:
            raise ValueError(
                f"unknown attributes {unknown}; known are {list(ATTRIBUTES)}"
            )
        return {
            name: united_cells([cell_by_name[name]])
            for name in ATTRIBUTES
            if name in cell_by_name
        }

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if bool(self.finding.strip()) == bool(self.diagnosis.strip()):
            raise ValueError("give either a finding or a diagnosis")
        return self

    @property
    def name(self) -> str:
        """The finding or the diagnosis that is implied."""
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
        # The size of a heart is read on ap and pa films, whatever the posture.
        if self.needs:
            return bool(views & set(self.needs))
        # Fluid goes where the posture lets it: a posture that is known decides, and the
        # projections only without one (section 3).
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
        keys = [
            (child.name, child.status, collapsed(child.location))
            for child in self.implies
        ]
        if _repeated(keys):
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
    """A diagnosis: spellings, refinements (most specific first) and pathways."""

    name: str = Field(min_length=1)
    spellings: dict[str, list[str]]
    refinements: list[Refinement] = []
    devices: list[str] = []
    elsewhere: list[str] = []
    pathways: list[Pathway] = Field(min_length=1)
    unions: list[Union] = []

    @property
    def variants(self) -> list[str]:
        """All spellings."""
        return [spelling for group in self.spellings.values() for spelling in group]

    @property
    def entries(self) -> tuple[Pathway | Union, ...]:
        """Pathways, unions last."""
        return *self.pathways, *self.unions

    @property
    def refinement_names(self) -> list[str]:
        """The unrefined one, then all refinements."""
        return [PLAIN, *(refinement.name for refinement in self.refinements)]

    @model_validator(mode="after")
    def _names_what_is_there(self) -> Self:
        """Check refinements, their words, the own spelling, members of unions."""
        words: list[str] = []
        for refinement in self.refinements:
            words += map(collapsed, refinement.words)
        twice = _repeated(self.refinement_names) or _repeated(words)
        if twice is not None:
            raise ValueError(
                f"the refinement, or its word, {twice!r} is given twice; "
                "keep one of the two"
            )
        names_used = list(self.spellings)
        for entry in self.entries:
            names_used += entry.when.refinements
        for name in names_used:
            if name not in self.refinement_names:
                raise ValueError(
                    f"unknown refinement {name!r}; known here are "
                    f"{self.refinement_names}: add it there"
                )
        if collapsed(self.name) not in map(collapsed, self.spellings.get(PLAIN, [])):
            raise ValueError(
                f"the diagnosis {self.name!r} is not one of its own plain spellings; "
                "list it"
            )
        self._check_unions()
        return self

    def _check_unions(self) -> None:
        ids = {pathway.id for pathway in self.pathways}
        for union in self.unions:
            for member in union.of:
                if member not in ids:
                    raise ValueError(
                        f"unknown pathway {member!r} in a union; "
                        f"known here are {sorted(ids)}"
                    )

    @model_validator(mode="after")
    def _one_pathway_each(self) -> Self:
        """Refuse two pathways for one refinement and situation, by trying all."""
        for refinement in self.refinement_names:
            entries = [
                entry for entry in self.entries if refinement in entry.when.refinements
            ]
            for views in view_situations():
                ids = [entry.id for entry in entries if entry.when.admits(views)]
                if len(ids) > 1:
                    situation = ", ".join(sorted(views)) or "unknown"
                    raise ValueError(
                        f"{ids[0]} and {ids[1]} both apply to refinement "
                        f"{refinement!r} with views {situation}; at most one may: "
                        "narrow a `when`"
                    )
        return self


class PathwayFile(BaseModel, frozen=True, extra="forbid"):
    """The whole file."""

    categories: dict[str, Category] = {}
    directions: dict[str, list[str]] = {}
    diagnoses: list[Diagnosis] = Field(min_length=1)

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        """Check what several diagnoses share: spellings, ids, and what they imply."""
        # With the empty one listed before, an empty spelling is given twice.
        spellings = [""]
        ids = [""]
        for number, diagnosis in enumerate(self.diagnoses):
            spellings += map(collapsed, diagnosis.variants)
            ids += [entry.id for entry in diagnosis.entries]
            # Looked at after each diagnosis, so that the message names the later one.
            for field, seen in (("spellings", spellings), ("pathways", ids)):
                twice = _repeated(seen)
                if twice is not None:
                    problem = f"{twice!r} is given twice, or empty; keep one of the two"
                    raise wrong_at(("diagnoses", number, field), problem)
        symptoms = {
            collapsed(name)
            for name, category in self.categories.items()
            if category == SYMPTOM_CATEGORY
        }
        for position, child in self._sub_findings():
            problem = _problem_of(child, spellings, symptoms)
            if problem:
                raise wrong_at(position, problem)
        return self

    def _sub_findings(self) -> Iterator[tuple[tuple[str | int, ...], SubFinding]]:
        """Yield every sub-finding of the file, and its position in it."""
        for number, diagnosis in enumerate(self.diagnoses):
            for number_of_pathway, pathway in enumerate(diagnosis.pathways):
                position = "diagnoses", number, "pathways", number_of_pathway, "implies"
                for edge, child in enumerate(pathway.implies):
                    yield (*position, edge), child


def _problem_of(
    child: SubFinding, spellings: Collection[str], symptoms: Collection[str]
) -> str:
    """Say what is wrong with a sub-finding beside the whole file; empty: nothing.

    Args:
        child: the sub-finding.
        spellings: of all diagnoses.
        symptoms: names that are listed as symptoms.
    """
    is_listed = child.name in spellings
    if child.diagnosis and not is_listed:
        return f"{child.name!r} is no listed diagnosis; write `diagnosis:` for those"
    if is_listed and not child.diagnosis:
        return f"{child.name!r} is a listed diagnosis; write `diagnosis:` for those"
    if child.name in symptoms and (child.location or child.attributes):
        return f"the symptom {child.name!r} has a location or attributes"
    return ""


def view_situations() -> Iterator[frozenset[str]]:
    """Yield every set of views that a study can have, the unknown one (empty) too."""
    for size in range(len(VIEWS) + 1):
        yield from map(frozenset, combinations(VIEWS, size))


def _repeated(values: Sequence[T]) -> T | None:
    """Find the first value that comes a second time; None without one."""
    for number, value in enumerate(values):
        if value in values[:number]:
            return value
    return None


Phrase = tuple[str, ...]

_JOINING = frozenset({"on", "and", "or", "to", "but", "however", "now"})
"""Left of "chronic but not acute bronchitis" without diagnosis and refinements."""


@remembered
def read_cell(cell: str) -> tuple[Phrase, ...]:
    """Read a cell as tokens, one sequence per comma part.

    A denied word X is the token `non-X`.
    """
    return tuple(map(_read_part, cell_parts(cell)))


def _read_part(part: str) -> Phrase:
    phrase: list[str] = []
    for segment in split_by_denial(part):
        prefix = "non-" if segment.is_denied else ""
        phrase += [prefix + token for token in tokens(segment.text)]
    return tuple(phrase)


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
        self._in_cell = remembered(self._is_in_cell, entries=1 << 10)

    def in_any(self, cells: Iterable[str]) -> bool:
        """Whether a comma part of a cell has a listed phrase, or a token a pattern."""
        if not self.phrases and not self._patterns:
            return False
        return any(map(self._in_cell, cells))

    def _is_in_cell(self, cell: str) -> bool:
        return any(map(self._is_in_part, read_cell(cell)))

    def _is_in_part(self, part: Phrase) -> bool:
        for phrase in self.phrases:
            if _find(part, phrase, self._plurals) >= 0:
                return True
        return any(
            pattern.fullmatch(token) for pattern in self._patterns for token in part
        )


class _RefinementWords(NamedTuple):
    """The words of a refinement: which count anywhere, and which in the location."""

    name: str
    anywhere: ListedWords
    in_location: ListedWords


class RefinementRule:
    """The refinement words of one diagnosis, and where it is not the patient's.

    `devices` have it instead of the patient; locations `elsewhere` make it another
    condition: a pericardial "effusion" is no pleural one.
    """

    def __init__(self, diagnosis: Diagnosis) -> None:
        self._refinements = [
            _RefinementWords(
                refinement.name,
                ListedWords(refinement.words, plurals=False),
                ListedWords(
                    refinement.locations, patterns=refinement.location_patterns
                ),
            )
            for refinement in diagnosis.refinements
        ]
        self.devices = ListedWords(diagnosis.devices)
        self.elsewhere = ListedWords(diagnosis.elsewhere)

    def stated(
        self,
        location: Sequence[str],
        cells: Iterable[str],
        by_spelling: Collection[str],
    ) -> list[str]:
        """List the names of the refinements that apply, most specific first.

        Args:
            location: the cell and its parts.
            cells: names and attributes.
            by_spelling: refinements that the spelling is listed under.
        """
        cells_with_words = [cell for cell in (*location, *cells) if cell]
        return [
            refinement.name
            for refinement in self._refinements
            if refinement.name in by_spelling
            or refinement.anywhere.in_any(cells_with_words)
            or refinement.in_location.in_any(location)
        ]

    def without_refinements(self, wording: str) -> str | None:
        """Take the refinement words and their negations out; None where none are."""
        to_take_out: list[Phrase] = []
        for refinement in self._refinements:
            for phrase in refinement.anywhere.phrases:
                negated = tuple(f"non-{token}" for token in phrase)
                to_take_out += [phrase, negated]
        kept: list[str] = []
        is_refined = False
        for part in read_cell(wording):
            remaining = part
            for phrase in to_take_out:
                remaining = _without(remaining, phrase)
            is_refined |= remaining != part
            kept += remaining
        if not is_refined:
            return None
        return " ".join(token for token in kept if token not in _JOINING)


def _without(part: Phrase, phrase: Phrase) -> Phrase:
    while (start := _find(part, phrase)) >= 0:
        part = part[:start] + part[start + len(phrase) :]
    return part


def _find(part: Phrase, phrase: Phrase, plurals: bool = False) -> int:
    """Find where a phrase begins in a part, or -1.

    Args:
        part: tokens.
        phrase: tokens.
        plurals: whether the words of the phrase may be plural in the part.
    """
    for start in range(len(part) - len(phrase) + 1):
        words = part[start : start + len(phrase)]
        if words == phrase or (plurals and _are_forms_of(words, phrase)):
            return start
    return -1


def _are_forms_of(words: Phrase, phrase: Phrase) -> bool:
    pairs = zip(phrase, words, strict=True)
    return all(singular in possible_singulars(word) for singular, word in pairs)
