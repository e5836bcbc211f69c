"""The form of `resources/pathways.yaml`, which the header of that file explains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import chain, combinations, product
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from lunguage_assets.corpus.vocabulary import plain
from lunguage_assets.tables import ATTRIBUTES, VIEWS

PLAIN = "plain"
"""The refinement of a diagnosis of which none is stated."""
PROJECTIONS = VIEWS[:3]
POSTURES = VIEWS[3:]
SYMPTOM = "PATIENT INFO."

Wording = Annotated[str, Field(min_length=1), AfterValidator(plain)]
Wordings = tuple[Wording, ...]
Projection = Literal["ap", "pa", "lateral"]
Posture = Literal["erect", "supine", "recumbent"]
Category = Literal["PF", "CF", "OTH", "COF", "NCD", "PATIENT INFO."]


def _known_attribute(name: str) -> str:
    if name not in ATTRIBUTES:
        raise ValueError(f"found {name!r}, expected one of {list(ATTRIBUTES)}")
    return name


class Form(BaseModel):
    """An entry of a file, without other keys than its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SubFinding(Form):
    """One edge of a pathway: a sub-finding as if the diagnosis were certain."""

    finding: Wording = ""
    diagnosis: Wording = ""
    status: Literal["dp", "dn"]
    location: str = ""
    attributes: dict[Annotated[str, AfterValidator(_known_attribute)], str] = {}
    strength: float | None = Field(default=None, gt=0.0, lt=1.0)
    inherits: bool = True
    paper_only: str = ""
    """Why it is generated in mode "paper" alone; empty where in both."""
    unless: Wordings = ()
    """Words of the report that keep it from being implied (mode "method")."""

    @property
    def ent(self) -> str:
        """The finding or the diagnosis that is implied."""
        return self.finding or self.diagnosis

    @property
    def notation(self) -> str:
        """It in the paper's notation: `ent: opacity > status: dp > loc: airspace`."""
        cells = {"ent": self.ent, "status": self.status, "loc": self.location}
        for name, published in ATTRIBUTES.items():
            cells[published] = self.attributes.get(name, "")
        return " > ".join(f"{name}: {cell}" for name, cell in cells.items() if cell)


class When(Form):
    """When a pathway applies: refinements of the finding, and views of the study."""

    refinements: Wordings = (PLAIN,)
    postures: tuple[frozenset[Posture], ...] = ()
    projections: tuple[frozenset[Projection], ...] = ()
    needs: frozenset[Projection] = frozenset()

    def admits(self, views: frozenset[str]) -> bool:
        """Whether the conditions hold for a study's projections and postures."""
        postures = views & set(POSTURES)
        # The size of a heart is read on ap and pa films, whatever the posture.
        if self.needs and not views & self.needs:
            return False
        # Fluid goes where the posture lets it: a posture that is known decides, and the
        # projections only without one (section 3).
        if self.postures and postures not in self.postures:
            return False
        return not self.projections or views in self.projections

    @property
    def views(self) -> list[str]:
        """The views that it names, in their order; a posture goes with any film."""
        named = set[str]().union(self.needs, *self.postures, *self.projections)
        if self.postures or not named:
            named.update(PROJECTIONS)
        return [view for view in VIEWS if view in named]


class Pathway(Form):
    """An expert pathway: when it applies and what it implies."""

    id: str = Field(min_length=1)
    when: When = When()
    implies: tuple[SubFinding, ...] = Field(min_length=1)

    @cached_property
    def notation(self) -> str:
        """It in the paper's notation, `view: ap, pa > ent: ... && ent: ...`."""
        implied = " && ".join(child.notation for child in self.implies)
        return f"view: {', '.join(self.when.views)} > {implied}"


class Refinement(Form):
    """Words that choose among the pathways of a diagnosis."""

    name: Wording
    words: Wordings = ()
    locations: Wordings = ()


class Diagnosis(Form):
    """A diagnosis: spellings, refinements (most specific first) and pathways."""

    name: Wording
    spellings: Wordings
    refinements: tuple[Refinement, ...] = ()
    elsewhere: Wordings = ()
    pathways: tuple[Pathway, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.name not in self.spellings:
            raise ValueError(f"{self.name!r} is not one of its own spellings; list it")
        refinements = [PLAIN, *(refinement.name for refinement in self.refinements)]
        for pathway in self.pathways:
            for name in pathway.when.refinements:
                if name not in refinements:
                    raise ValueError(
                        f"{pathway.id} has the unknown refinement {name!r}; known here "
                        f"are {refinements}: add it there"
                    )
        for name, views in product(refinements, view_situations()):
            ids = [pathway.id for pathway in self.applying(name, views)]
            if len(ids) > 1:
                situation = ", ".join(sorted(views)) or "unknown"
                raise ValueError(
                    f"{ids[0]} and {ids[1]} both apply to refinement {name!r} with "
                    f"views {situation}; at most one may: narrow a `when`"
                )
        return self

    def applying(self, refinement: str, views: frozenset[str]) -> list[Pathway]:
        """List the pathways of a refinement that the views admit: one, or none."""
        return [
            pathway
            for pathway in self.pathways
            if refinement in pathway.when.refinements and pathway.when.admits(views)
        ]


class PathwayFile(Form):
    """The whole file."""

    categories: dict[Wording, Category] = {}
    directions: dict[str, Wordings] = {}
    diagnoses: tuple[Diagnosis, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        spellings: list[str] = []
        pathways: list[Pathway] = []
        for diagnosis in self.diagnoses:
            spellings += diagnosis.spellings
            pathways += diagnosis.pathways
        ids = [pathway.id for pathway in pathways]
        for name, number in Counter([*spellings, *ids]).items():
            if number > 1:
                raise ValueError(f"{name!r} is given twice; keep one of the two")
        for child in chain.from_iterable(pathway.implies for pathway in pathways):
            if bool(child.diagnosis) != (child.ent in spellings) or not child.ent:
                raise ValueError(
                    f"the sub-finding {child.ent!r}: expected either a `diagnosis` "
                    "that is listed here, or a `finding` that is none"
                )
        return self


def view_situations() -> Iterator[frozenset[str]]:
    """Yield every set of views that a study can have, the unknown one (empty) too."""
    for size in range(len(VIEWS) + 1):
        yield from map(frozenset, combinations(VIEWS, size))
