"""The form of `resources/pathways.yaml`, and the checks of the file alone.

Every check here reads the file alone. What needs the vocabulary (recognising a finding, cycles) is in
`pathways.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from lunguage_assets.implicit.pathways.annotated_yaml import AnnotatedYaml, Place, YamlMapping
from lunguage_assets.implicit.words import collapsed, united_cells
from lunguage_assets.tables import ATTRIBUTES, VIEWS

PLAIN = "plain"
PROJECTIONS = VIEWS[:3]
POSTURES = VIEWS[3:]
SYMPTOM_CATEGORY = "PATIENT INFO."

Projection = Literal["ap", "pa", "lateral"]
Posture = Literal["erect", "supine", "recumbent"]
Category = Literal["PF", "CF", "OTH", "COF", "NCD", "PATIENT INFO."]
_INTERNAL = {published: name for name, published in ATTRIBUTES.items()}


class Unless(YamlMapping):
    """What keeps a sub-finding from being implied (mode "method")."""

    said: list[str] = []
    stated: list[str] = []
    denied: list[str] = []

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not any(map(collapsed, (*self.said, *self.stated, *self.denied))):
            raise ValueError("give words under said, stated or denied, or leave unless out")
        return self


class SubFinding(YamlMapping):
    """One edge of a pathway: a sub-finding, as it would be stated if the diagnosis were certain."""

    finding: str = ""
    diagnosis: str = ""
    status: Literal["dp", "dn"]
    location: str = ""
    attributes: dict[str, str] = {}
    strength: float | None = Field(default=None, gt=0.0, lt=1.0)
    inherits: bool = True
    unless: Unless | None = None

    @field_validator("attributes")
    @classmethod
    def _known_attributes(cls, given: dict[str, str]) -> dict[str, str]:
        named = {_INTERNAL.get(name, name): value for name, value in given.items()}
        unknown = sorted(set(named) - set(ATTRIBUTES))
        if unknown:
            raise ValueError(f"unknown attributes {unknown}; known are {list(ATTRIBUTES)}")
        return {name: united_cells([named[name]]) for name in ATTRIBUTES if name in named}

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if bool(self.finding.strip()) == bool(self.diagnosis.strip()):
            raise ValueError("give either a finding or a diagnosis")
        return self

    @property
    def name(self) -> str:
        return collapsed(self.finding or self.diagnosis)


class When(YamlMapping):
    """When a pathway applies: refinements, and at most one kind of view condition."""

    refinements: list[str] = [PLAIN]
    postures: list[list[Posture]] = []
    projections: list[list[Projection]] = []
    needs: list[Projection] = []

    @model_validator(mode="after")
    def _one_view_condition(self) -> Self:
        if sum(map(bool, (self.postures, self.projections, self.needs))) > 1:
            raise ValueError("give at most one of postures, projections and needs")
        if not self.refinements:
            raise ValueError("refinements is empty; leave it out for the plain diagnosis")
        if any(not situation for situation in (*self.postures, *self.projections)):
            raise ValueError("an empty set of views: the unknown view has no signs")
        return self

    def admits(self, views: frozenset[str]) -> bool:
        """Whether the view condition holds for a study's projections and postures."""
        if self.needs:
            return bool(views & set(self.needs))
        postures = views & set(POSTURES)
        if self.postures:
            return any(postures == set(situation) for situation in self.postures)
        if self.projections:
            return not postures and any(views == set(situation) for situation in self.projections)
        return True

    def views(self) -> tuple[str, ...]:
        """Views named in the paper's notation, in fixed order: a posture goes with any projection."""
        situations: list[Sequence[str]] = [*self.postures, *self.projections, self.needs]
        named = {view for situation in situations for view in situation}
        if self.postures or not named:
            named |= set(PROJECTIONS)
        return tuple(view for view in VIEWS if view in named)


class Pathway(YamlMapping):
    """An expert pathway: when it applies and what it implies."""

    id: str = Field(min_length=1)
    when: When = When()
    implies: list[SubFinding] = Field(min_length=1)


class Union(YamlMapping):
    """A situation that shows the signs of several pathways."""

    id: str = Field(min_length=1)
    when: When
    of: list[str] = Field(min_length=2)


class Refinement(YamlMapping):
    """Words that choose among the pathways of a diagnosis."""

    name: str = Field(min_length=1)
    words: list[str] = []
    locations: list[str] = []
    location_patterns: list[str] = []

    @field_validator("location_patterns")
    @classmethod
    def _compiles(cls, patterns: list[str]) -> list[str]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"not a regular expression ({error})") from None
        return patterns


class Diagnosis(YamlMapping):
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


class Negators(YamlMapping):
    """Words that turn what follows into its opposite."""

    next: list[str] = []
    rest: list[str] = []
    turns: list[str] = []


class PathwayFile(YamlMapping):
    """The whole file."""

    categories: dict[str, Category] = {}
    negators: Negators = Negators()
    directions: dict[str, list[str]] = {}
    diagnoses: list[Diagnosis] = Field(min_length=1)


def check_file(source: AnnotatedYaml, content: PathwayFile) -> None:
    """Raise `ConfigurationError`, naming line and field, where the file contradicts itself."""
    numbered = [(("diagnoses", number), diagnosis) for number, diagnosis in enumerate(content.diagnoses)]
    _check_unique(source, (((*at, "name"), collapsed(one.name)) for at, one in numbered), "diagnosis")
    spelled = [
        ((*at, "spellings", group, position), collapsed(spelling))
        for at, diagnosis in numbered
        for group, spellings in diagnosis.spellings.items()
        for position, spelling in enumerate(spellings)
    ]
    _check_unique(source, spelled, "spelling")
    ids = (((*at, *place, "id"), entry.id) for at, one in numbered for place, entry in _entries(one))
    _check_unique(source, ids, "pathway id")
    for at, diagnosis in numbered:
        _check_refinements(source, at, diagnosis)
        _check_unions(source, at, diagnosis)
        _check_exclusive(source, at, diagnosis)
    symptoms = {
        collapsed(name) for name, category in content.categories.items() if category == SYMPTOM_CATEGORY
    }
    for at, diagnosis in numbered:
        _check_sub_findings(source, at, diagnosis, {spelling for _, spelling in spelled}, symptoms)


def _entries(diagnosis: Diagnosis) -> Iterator[tuple[Place, Pathway | Union]]:
    for position, pathway in enumerate(diagnosis.pathways):
        yield ("pathways", position), pathway
    for position, union in enumerate(diagnosis.unions):
        yield ("unions", position), union


def _check_unique(source: AnnotatedYaml, values: Iterable[tuple[Place, str]], what: str) -> None:
    seen: set[str] = set()
    for place, value in values:
        if not value:
            raise source.error(place, f"an empty {what}", "The header of the file explains its form.")
        if value in seen:
            raise source.error(place, f"the {what} {value!r} is given twice", "Keep one of the two.")
        seen.add(value)


def _check_refinements(source: AnnotatedYaml, at: Place, diagnosis: Diagnosis) -> None:
    known = [PLAIN, *(refinement.name for refinement in diagnosis.refinements)]
    if len(set(known)) != len(known):
        problem = f"a refinement is named twice, or {PLAIN!r}"
        raise source.error((*at, "refinements"), problem, "Give every refinement its own name.")
    if collapsed(diagnosis.name) not in map(collapsed, diagnosis.spellings.get(PLAIN, [])):
        problem = f"the diagnosis {diagnosis.name!r} is not one of its own plain spellings"
        raise source.error((*at, "spellings"), problem, "List it there.")
    words: set[str] = set()
    for position, refinement in enumerate(diagnosis.refinements):
        for word in map(collapsed, refinement.words):
            if word in words:
                place = (*at, "refinements", position, "words")
                raise source.error(place, f"{word!r} belongs to two refinements", "Keep one of the two.")
            words.add(word)
    named: list[tuple[Place, str]] = [((*at, "spellings", group), group) for group in diagnosis.spellings]
    named += [
        ((*at, *where, "when", "refinements"), name)
        for where, entry in _entries(diagnosis)
        for name in entry.when.refinements
    ]
    for place, name in named:
        if name not in known:
            remedy = f"Known here are {known}; add it under refinements."
            raise source.error(place, f"unknown refinement {name!r}", remedy)


def _check_unions(source: AnnotatedYaml, at: Place, diagnosis: Diagnosis) -> None:
    known = {pathway.id for pathway in diagnosis.pathways}
    for position, union in enumerate(diagnosis.unions):
        for member in (one for one in union.of if one not in known):
            place = (*at, "unions", position, "of")
            raise source.error(place, f"unknown pathway {member!r}", f"Known here are {sorted(known)}.")


def view_situations() -> Iterator[frozenset[str]]:
    """Every set of projections and postures that a study can have, the unknown one (empty) included."""
    for size in range(len(VIEWS) + 1):
        yield from map(frozenset, combinations(VIEWS, size))


def _check_exclusive(source: AnnotatedYaml, at: Place, diagnosis: Diagnosis) -> None:
    """Refuse two pathways for one (refinement, view situation), by trying all situations.

    A spelling selects through its refinement alone, so the refinements stand for all terms.
    """
    for refinement in (PLAIN, *(r.name for r in diagnosis.refinements)):
        candidates = [one for one in _entries(diagnosis) if refinement in one[1].when.refinements]
        for views in view_situations():
            matching = [(place, entry.id) for place, entry in candidates if entry.when.admits(views)]
            if len(matching) > 1:
                situation = ", ".join(view for view in VIEWS if view in views) or "unknown view"
                raise source.error(
                    (*at, *matching[1][0]),
                    f"{matching[0][1]} and {matching[1][1]} both apply to refinement {refinement!r} with "
                    f"views {situation!r}",
                    "At most one pathway may apply: narrow a `when`.",
                )


def _check_sub_findings(
    source: AnnotatedYaml, at: Place, diagnosis: Diagnosis, spellings: set[str], symptoms: set[str]
) -> None:
    for number, pathway in enumerate(diagnosis.pathways):
        implied = (*at, "pathways", number, "implies")
        for edge, child in enumerate(pathway.implies):
            place, name = (*implied, edge), child.name
            if child.diagnosis and name not in spellings:
                remedy = "Spell it as listed, or call it a finding."
                raise source.error((*place, "diagnosis"), f"unknown diagnosis {name!r}", remedy)
            if child.finding and name in spellings:
                remedy = "Write `diagnosis:` instead of `finding:`."
                raise source.error((*place, "finding"), f"{name!r} is a listed diagnosis", remedy)
            if name in symptoms and (child.location or child.attributes):
                problem = f"the symptom {name!r} has a location or attributes"
                raise source.error(place, problem, "Symptoms have neither; remove them.")
        stated = [(child.name, child.status, collapsed(child.location)) for child in pathway.implies]
        if len(set(stated)) != len(stated):
            raise source.error(implied, "a sub-finding is listed twice", "Keep one of the two.")
