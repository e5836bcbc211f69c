"""The closed list of study-level labels (`resources/labels.yaml`), and which findings mean which label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Literal, NamedTuple, Self

from pydantic import BaseModel, model_validator

from lunguage_assets.assertion.axes import axes_of, has_axes
from lunguage_assets.assertion.plurals import possible_singulars
from lunguage_assets.caches import ENTRIES, remembered
from lunguage_assets.corpus.vocabulary import Vocabulary, plain
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.pathways.pathway_file import ListedWords
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    diagnosis_of,
    is_of_device,
    load_dictionary,
)
from lunguage_assets.implicit.rows import Content, Row, content_of, tokens
from lunguage_assets.packaged_data import read_as, resource, wrong_at
from lunguage_assets.tables import TERMS

REFINING = ("morphology", "distribution", "severity", "onset")
"""Attributes that may name a refinement of a diagnosis."""

_REFINING_OF = attrgetter(*REFINING)
_BORDERLINE = frozenset({"upper", "top", "borderline"})

Reading = Literal["presence", "kind", "size", "whole", "denial", "against"]


class Findings(BaseModel, frozen=True, extra="forbid"):
    """Wordings and diagnoses that are a label, where, how described, and how they are read."""

    names: list[str] = []
    diagnoses: list[str] = []
    at: list[str] = []
    not_at: list[str] = []
    described: list[str] = []
    not_described: list[str] = []
    not_explained_by: list[str] = []
    reads: Reading = "presence"


class Label(BaseModel, frozen=True, extra="forbid"):
    """One label of the list."""

    name: str
    chexpert: str = ""
    diagnoses: list[str] = []
    findings: list[Findings] = []
    instead_of: list[str] = []
    denied_by: list[str] = []
    concluded_from: list[list[str]] = []

    @model_validator(mode="after")
    def _is_stated_by_something(self) -> Self:
        if not self.diagnoses and not self.findings:
            raise ValueError("nothing states this label: give diagnoses or findings")
        return self


class _LabelsFile(BaseModel, frozen=True, extra="forbid"):
    labels: list[Label]

    @model_validator(mode="after")
    def _names_labels_of_the_file(self) -> Self:
        names = [label.name for label in self.labels]
        alone = {label.name for label in self.labels if not label.denied_by}
        for number, label in enumerate(self.labels):
            wrong = {
                "name": [label.name] if label.name in names[:number] else [],
                "instead_of": [
                    one
                    for one in label.instead_of
                    if one not in names or one == label.name
                ],
                "denied_by": [one for one in label.denied_by if one not in alone],
            }
            for field, found in wrong.items():
                if found:
                    problem = f"found {', '.join(found)}, expected names of the file, each label once"
                    raise wrong_at(("labels", number, field), problem)
        return self


@dataclass(frozen=True, eq=False)
class Meaning:
    """A finding read as a label: the number of the label, how, and the words that describe it or do not."""

    label: int
    entry: Findings
    described: ListedWords
    not_described: ListedWords
    not_explained_by: frozenset[str]

    @property
    def reads(self) -> Reading:
        return self.entry.reads

    @property
    def placeless(self) -> bool:
        """Whether the place belongs to the finding itself."""
        return bool(self.entry.at) or self.reads in ("size", "whole", "denial")

    def describes(self, cells: Sequence[str]) -> bool:
        """Whether the wording and the attributes of a row admit this meaning."""
        wanted = not self.entry.described or self.described.in_any(cells)
        return wanted and not self.not_described.in_any(cells)

    def holds_at(self, location: str) -> bool:
        """Whether the place of a row admits this meaning."""
        at, not_at = self.entry.at, self.entry.not_at
        if not at and not not_at:
            return True
        words = _words(location)
        if any(words.issuperset(tokens(place)) for place in not_at):
            return False
        return not at or any(words.issuperset(tokens(place)) for place in at)


class RowReading(NamedTuple):
    """What a row says: its diagnosis at its place or empty, whether a device has it, the refinements of it,
    and its meanings, each with whether the row says that its label is present.
    """

    diagnosis: str
    of_device: bool
    refinements: frozenset[str]
    meanings: tuple[tuple[Meaning, bool], ...]


@lru_cache(maxsize=ENTRIES)
def _words(location: str) -> frozenset[str]:
    """The words of a place, and the singulars that they may be the plural of."""
    return frozenset(
        form for token in tokens(location) for form in possible_singulars(token)
    )


class LabelList:
    """The labels in the order of the file, and the meanings of findings and diagnoses."""

    def __init__(
        self, labels: list[Label], vocabulary: Vocabulary, dictionary: PathwayDictionary
    ) -> None:
        self.labels = tuple(labels)
        self.names = [label.name for label in labels]
        self._vocabulary, self._dictionary = vocabulary, dictionary
        self._of_name: dict[str, list[Meaning]] = {}
        self._of_diagnosis: dict[str, list[Meaning]] = {}
        for number, label in enumerate(labels):
            for entry in (Findings(diagnoses=label.diagnoses), *label.findings):
                self._note(number, entry)
        self.concluding = {
            vocabulary.finding(name): (number, part)
            for number, label in enumerate(labels)
            for part, names in enumerate(label.concluded_from)
            for name in names
        }
        """Of a normal structure: the label that it helps to conclude, and which part of it."""
        self.meanings = remembered(self._meanings)
        self._reading = lru_cache(maxsize=ENTRIES)(self._read)

    def _note(self, label: int, entry: Findings) -> None:
        described, not_described = (
            ListedWords(words, plurals=False)
            for words in (entry.described, entry.not_described)
        )
        causes = frozenset(map(self._vocabulary.finding, entry.not_explained_by))
        meaning = Meaning(label, entry, described, not_described, causes)
        for form in set(map(self._vocabulary.finding, entry.names)):
            self._of_name.setdefault(form, []).append(meaning)
        for diagnosis in map(plain, entry.diagnoses):
            self._of_diagnosis.setdefault(diagnosis, []).append(meaning)

    def _meanings(self, name: str, ent: str, diagnosis: str) -> tuple[Meaning, ...]:
        """Labels that a finding may be, by its diagnosis or its names, in the order of preference."""
        by_name = (
            *self._of_name.get(name, ()),
            *self._of_name.get(self._vocabulary.finding(ent), ()),
        )
        kinds = {meaning.label for meaning in by_name if meaning.reads == "kind"}
        general = (
            one
            for one in self._of_diagnosis.get(diagnosis, ())
            if one.label not in kinds
        )
        return tuple(dict.fromkeys((*general, *by_name)))

    def read(self, row: Row, status: str = "") -> RowReading:
        """What a row says; `status` is read instead of its own."""
        content = Content._make(content_of(row))
        return self._reading(content._replace(status=status) if status else content)

    def _read(self, row: Content) -> RowReading:
        found = diagnosis_of(row, self._dictionary)
        of_device = found is not None and is_of_device(row, found, self._dictionary)
        diagnosis = "" if found is None or of_device else found
        location = row.location, *row.location_parts
        refinements = self.refinements(
            diagnosis, row.name, row.ent, location, _REFINING_OF(row)
        )
        meanings = []
        for meaning in self.meanings(row.name, row.ent, diagnosis):
            if meaning.holds_at(", ".join(location)):
                reading = self.read_as(
                    meaning, row.status, row.name, row.measurement, row.morphology
                )
                if reading is not None:
                    meanings.append((meaning, (row.status[1] == "p") == reading))
        return RowReading(diagnosis, of_device, refinements, tuple(meanings))

    def of_wording(self, wording: str, place: str) -> frozenset[int]:
        """Labels that a finding in these words is at a place."""
        name = self._vocabulary.finding(wording)
        meanings = self.meanings(name, wording, "")
        return frozenset(
            one.label
            for one in meanings
            if one.holds_at(place) and self._is_family(one)
        )

    def held(
        self,
        meanings: Sequence[Meaning],
        place: str,
        cells: Sequence[str],
        causes: AbstractSet[str] = frozenset(),
    ) -> Iterator[Meaning]:
        """The meanings that a row has at its place, with its words, and with what the report explains it by;
        one that is instead of others replaces them.
        """
        found = [
            one for one in meanings if one.holds_at(place) and one.describes(cells)
        ]
        if causes:
            found = [one for one in found if not causes <= one.not_explained_by]
        replaced = {
            other for one in found for other in self.labels[one.label].instead_of
        }
        return (one for one in found if self.names[one.label] not in replaced)

    def _is_family(self, meaning: Meaning) -> bool:
        """Whether what has this meaning is one with others of the label: what is healed is no kind of it."""
        return (
            meaning.reads not in ("denial", "against")
            and not self.labels[meaning.label].instead_of
        )

    def is_diagnosis(self, label: int) -> bool:
        """Whether all wordings of a label mean one thing, a diagnosis; else it is a family of findings."""
        return self.names[label] in self.labels[label].diagnoses

    def present(self, row: Row) -> Mapping[int, bool]:
        """Labels that a row says are present, each with whether its place belongs to the finding itself."""
        return {
            one.label: one.placeless
            for one, there in self.read(row).meanings
            if there and self._is_family(one)
        }

    def refinements(
        self,
        diagnosis: str,
        name: str,
        ent: str,
        location: tuple[str, ...],
        attributes: tuple[str, ...],
    ) -> frozenset[str]:
        """Refinements that a row states of its diagnosis (or of none, empty): to deny a loculated effusion
        denies no other. `location`: the cell and its parts, `attributes`: those of `REFINING`.
        """
        if not diagnosis:
            return frozenset()
        return frozenset(
            self._dictionary.refinements(diagnosis, name, ent, location, attributes)
        )

    def read_as(
        self,
        meaning: Meaning,
        status: str,
        name: str,
        measurement: str,
        morphology: str,
    ) -> bool | None:
        """Read a row as a label.

        Of a size, "normal" denies in either polarity: reports are annotated both ways (heart size, negative,
        normal). A whole that is normal denies it of its part; one that is enlarged says not of which part.
        A contour or a position says nothing of a size.

        Args:
            meaning: the label, and how the row is read.
            status: of the row.
            name: its canonical name.
            measurement: its cell.
            morphology: its cell.

        Returns:
            True when a row is read as it stands, False when the other way round, None when it says nothing of
            the label.
        """
        if meaning.reads in ("kind", "against"):
            return True if status[1] == "p" else None
        if meaning.reads not in ("size", "whole"):
            return meaning.reads == "presence"
        measured = f"{measurement}, {morphology}"
        axes = axes_of(measured) if has_axes(name) else frozenset()
        if axes and "size" not in axes:
            return None
        enlarged = self._dictionary.contradictory(measured, "normal")
        if enlarged == self._dictionary.contradictory(measured, "increased"):
            return None  # neither enlarged nor normal
        if meaning.reads == "whole" and enlarged and status[1] == "p":
            return None
        return enlarged or status[1] == "n"


def is_borderline(measured: str) -> bool:
    """Whether a size is at the upper limit of normal: no contradiction of what calls it mildly enlarged."""
    return not _BORDERLINE.isdisjoint(tokens(measured))


def load_label_list(
    path: Path | None = None, dictionary: PathwayDictionary | None = None
) -> LabelList:
    """The packaged list, or the file at `path`, checked; raises `ConfigurationError` naming line and field.
    `dictionary`: whose diagnoses and directions count, by default the packaged one.
    """
    file = path or resource("labels.yaml")
    labels = read_as(file, _LabelsFile, "See the header of the packaged file.").labels
    vocabulary, packaged = _packaged()
    named = {one for label in labels for one in label.diagnoses}
    named |= {
        one for label in labels for entry in label.findings for one in entry.diagnoses
    }
    if unknown := sorted(one for one in named if plain(one) not in packaged.diagnoses):
        raise ConfigurationError(
            f"{file}: found diagnoses {unknown}, expected those of pathways.yaml."
        )
    return LabelList(labels, vocabulary, dictionary or packaged)


@cache
def _packaged() -> tuple[Vocabulary, PathwayDictionary]:
    """The built-in forms, and the packaged dictionary seen through them; every batch asks for them often."""
    vocabulary = Vocabulary.from_terms(TERMS.frame())
    return vocabulary, load_dictionary(None, vocabulary)
