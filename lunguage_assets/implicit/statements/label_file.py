"""The closed list of study-level labels, and which findings mean which.

The list is data (`resources/labels.yaml`, implicit.md section 6). What a study is
labelled is not decided here, but in `labels/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    diagnosis_of,
    is_of_device,
    load_dictionary,
)
from lunguage_assets.implicit.pathways.words import Words, names_any
from lunguage_assets.implicit.rows import Content, Row, content_of, tokens
from lunguage_assets.packaged_data import read_as, resource, wrong_at
from lunguage_assets.tables import TERMS

REFINING = ("morphology", "distribution", "severity", "onset")
"""Attributes that may name a refinement of a diagnosis."""

_REFINING_OF = attrgetter(*REFINING)
_BORDERLINE = frozenset({"upper", "top", "borderline"})

_WORDS_BEFORE = 6
"""How many words before a finding may take a meaning from it."""

Reading = Literal["presence", "kind", "size", "whole", "denial", "against"]


class Findings(BaseModel, frozen=True, extra="forbid"):
    """Wordings and diagnoses that are a label, where, how described, and how read."""

    names: list[str] = []
    diagnoses: list[str] = []
    at: list[str] = []
    not_at: list[str] = []
    described: Words = ()
    not_described: Words = ()
    not_after: list[str] = []
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
        for number, label in enumerate(self.labels):
            for field, names in self._wrong_names(number, label).items():
                if names:
                    problem = (
                        f"found {', '.join(names)}, expected names of the file, "
                        "each label once"
                    )
                    raise wrong_at(("labels", number, field), problem)
        return self

    def _wrong_names(self, number: int, label: Label) -> dict[str, list[str]]:
        names = [listed.name for listed in self.labels]
        earlier_names = names[:number]
        # A label that others deny denies none itself.
        may_deny = {listed.name for listed in self.labels if not listed.denied_by}
        may_be_replaced = set(names) - {label.name}
        return {
            "name": [name for name in earlier_names if name == label.name],
            "instead_of": _not_in(may_be_replaced, label.instead_of),
            "denied_by": _not_in(may_deny, label.denied_by),
        }


def _not_in(known_names: AbstractSet[str], names: Sequence[str]) -> list[str]:
    return [name for name in names if name not in known_names]


@dataclass(frozen=True, eq=False)
class Meaning:
    """A finding read as a label: which, how, and the words that admit it or do not."""

    label: int
    entry: Findings
    not_explained_by: frozenset[str]

    @property
    def reads(self) -> Reading:
        """How a row is read as the label."""
        return self.entry.reads

    @property
    def placeless(self) -> bool:
        """Whether the location belongs to the finding itself."""
        return bool(self.entry.at) or self.reads in ("size", "whole", "denial")

    def describes(self, cells: Sequence[str]) -> bool:
        """Whether the wording and the attributes of a row admit this meaning."""
        if self.entry.described and not names_any(cells, self.entry.described):
            return False
        return not names_any(cells, self.entry.not_described)

    def holds_after(self, words_before: str) -> bool:
        """Whether the words of the sentence before the finding admit this meaning."""
        nearest = set(tokens(words_before)[-_WORDS_BEFORE:])
        return nearest.isdisjoint(self.entry.not_after)

    def holds_at(self, location: str) -> bool:
        """Whether the location of a row admits this meaning."""
        if not self.entry.at and not self.entry.not_at:
            return True
        words = _words(location)
        if _names_any(words, self.entry.not_at):
            return False
        return not self.entry.at or _names_any(words, self.entry.at)


class RowReading(NamedTuple):
    """What a row says."""

    diagnosis: str
    """At its location; empty without one."""
    of_device: bool
    """Whether a device has it, and not the patient."""
    refinements: frozenset[str]
    meanings: tuple[tuple[Meaning, bool], ...]
    """Each with whether the row says that its label is present."""


@lru_cache(maxsize=ENTRIES)
def _words(location: str) -> frozenset[str]:
    """List the words of a location, and their possible singulars."""
    words: set[str] = set()
    for token in tokens(location):
        words.update(possible_singulars(token))
    return frozenset(words)


def _names_any(words: frozenset[str], locations: Iterable[str]) -> bool:
    return any(words.issuperset(tokens(location)) for location in locations)


class LabelList:
    """The labels in file order, and the meanings of findings and diagnoses."""

    def __init__(
        self, labels: list[Label], vocabulary: Vocabulary, dictionary: PathwayDictionary
    ) -> None:
        self.labels = tuple(labels)
        self.names = [label.name for label in labels]
        self.concluding: dict[str, tuple[int, int]] = {}
        """Of a normal structure: the label that it helps to conclude, and its part."""
        self._vocabulary = vocabulary
        self._dictionary = dictionary
        self._of_name: dict[str, list[Meaning]] = {}
        self._of_diagnosis: dict[str, list[Meaning]] = {}
        for number, label in enumerate(labels):
            for entry in (Findings(diagnoses=label.diagnoses), *label.findings):
                self._add_meaning(number, entry)
            for part, names in enumerate(label.concluded_from):
                for name in names:
                    self.concluding[vocabulary.finding(name)] = number, part
        # Reports repeat few wordings and contents, so their readings are remembered.
        self.meanings = remembered(self._meanings)
        self._reading = lru_cache(maxsize=ENTRIES)(self._read)

    def _add_meaning(self, label: int, entry: Findings) -> None:
        meaning = Meaning(
            label,
            entry,
            not_explained_by=frozenset(
                map(self._vocabulary.finding, entry.not_explained_by)
            ),
        )
        for name in set(map(self._vocabulary.finding, entry.names)):
            self._of_name.setdefault(name, []).append(meaning)
        for diagnosis in map(plain, entry.diagnoses):
            self._of_diagnosis.setdefault(diagnosis, []).append(meaning)

    def _meanings(self, name: str, ent: str, diagnosis: str) -> tuple[Meaning, ...]:
        """List the labels that a finding may be, in the order of preference."""
        by_name = [
            *self._of_name.get(name, ()),
            *self._of_name.get(self._vocabulary.finding(ent), ()),
        ]
        # What its name calls a kind of a label is not all that its diagnosis means.
        is_kind_of = {meaning.label for meaning in by_name if meaning.reads == "kind"}
        by_diagnosis = [
            meaning
            for meaning in self._of_diagnosis.get(diagnosis, ())
            if meaning.label not in is_kind_of
        ]
        return tuple(dict.fromkeys((*by_diagnosis, *by_name)))

    def read(self, row: Row, status: str = "") -> RowReading:
        """Read what a row says; `status` is read instead of its own."""
        content = Content._make(content_of(row))
        if status:
            content = content._replace(status=status)
        return self._reading(content)

    def _read(self, row: Content) -> RowReading:
        diagnosis = diagnosis_of(row, self._dictionary) or ""
        of_device = bool(diagnosis) and is_of_device(row, diagnosis, self._dictionary)
        if of_device:
            diagnosis = ""
        location = row.location, *row.location_parts
        refinements = self.refinements(
            diagnosis, row.name, row.ent, location, _REFINING_OF(row)
        )
        is_positive = row.status[1] == "p"
        meanings: list[tuple[Meaning, bool]] = []
        for meaning in self.meanings(row.name, row.ent, diagnosis):
            if not meaning.holds_at(", ".join(location)):
                continue
            reads_as_it_stands = self.read_as(
                meaning, row.status, row.name, row.measurement, row.morphology
            )
            if reads_as_it_stands is not None:
                meanings.append((meaning, is_positive == reads_as_it_stands))
        return RowReading(diagnosis, of_device, refinements, tuple(meanings))

    def labels_of_wording(self, wording: str, location: str) -> frozenset[int]:
        """List the labels that a finding in these words is at a location."""
        name = self._vocabulary.finding(wording)
        return frozenset(
            meaning.label
            for meaning in self.meanings(name, wording, "")
            if meaning.holds_at(location) and self._is_family(meaning)
        )

    def admitted_meanings(
        self,
        meanings: Sequence[Meaning],
        location: str,
        cells: Sequence[str],
        causes: AbstractSet[str] = frozenset(),
        words_before: str = "",
    ) -> Iterator[Meaning]:
        """Yield the meanings that a row has, without those that one of them replaces.

        Args:
            meanings: that its name may have.
            location: its cell and parts, in one text.
            cells: its wording and attributes.
            causes: what the report explains it by.
            words_before: those of its sentence before it.
        """
        admitted: list[Meaning] = []
        replaced: set[str] = set()
        for meaning in meanings:
            if not meaning.holds_at(location) or not meaning.describes(cells):
                continue
            # "Sequela of infection": there is none now.
            if not meaning.holds_after(words_before):
                continue
            # An opacity that the report calls a nipple shadow is none of the lung.
            if causes and causes <= meaning.not_explained_by:
                continue
            admitted.append(meaning)
            replaced.update(self.labels[meaning.label].instead_of)
        for meaning in admitted:
            if self.names[meaning.label] not in replaced:
                yield meaning

    def _is_family(self, meaning: Meaning) -> bool:
        """Whether what has this meaning is one with others of the label.

        What is healed is no kind of it.
        """
        if meaning.reads in ("denial", "against"):
            return False
        return not self.labels[meaning.label].instead_of

    def is_diagnosis(self, label: int) -> bool:
        """Whether all wordings of a label mean one thing; else it is a family."""
        return self.names[label] in self.labels[label].diagnoses

    def present(self, row: Row) -> Mapping[int, bool]:
        """List the labels that a row says are present.

        Each with whether its location belongs to the finding itself.
        """
        return {
            meaning.label: meaning.placeless
            for meaning, is_label_present in self.read(row).meanings
            if is_label_present and self._is_family(meaning)
        }

    def refinements(
        self,
        diagnosis: str,
        name: str,
        ent: str,
        location: tuple[str, ...],
        attributes: tuple[str, ...],
    ) -> frozenset[str]:
        """List the refinements of its diagnosis that a row states.

        To deny a loculated effusion denies no other.

        Args:
            diagnosis: of the row; empty without one, and then there are none.
            name: its canonical name.
            ent: its words.
            location: the cell and its parts.
            attributes: those of `REFINING`.
        """
        if not diagnosis:
            return frozenset()
        return frozenset(
            self._dictionary.refinements(
                diagnosis, (name, plain(ent), *attributes), location
            )
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

        Of a size, "normal" denies in either polarity: reports are annotated both ways
        (heart size, negative, normal). A whole that is normal denies it of its part;
        one that is enlarged says not of which part. A contour or a position says
        nothing of a size.

        Args:
            meaning: the label, and how the row is read.
            status: of the row.
            name: its canonical name.
            measurement: its cell.
            morphology: its cell.

        Returns:
            True when a row is read as it stands, False when the other way round, None
            when it says nothing of the label.
        """
        is_positive = status[1] == "p"
        if meaning.reads in ("kind", "against"):
            # To deny one kind denies no other.
            return True if is_positive else None
        if meaning.reads not in ("size", "whole"):
            return meaning.reads == "presence"
        measured = f"{measurement}, {morphology}"
        # "The contour of the heart is normal" leaves its size open (section 5).
        axes = axes_of(measured) if has_axes(name) else frozenset()
        if axes and "size" not in axes:
            return None
        is_enlarged = self._dictionary.contradictory(measured, "normal")
        is_normal = self._dictionary.contradictory(measured, "increased")
        # "The heart is stable": no word of a size, or words of both.
        if is_enlarged == is_normal:
            return None
        # An enlarged silhouette may be that of the vessels.
        if meaning.reads == "whole" and is_enlarged and is_positive:
            return None
        # A positive "heart size normal" is turned round, a negative one stands.
        return is_enlarged or not is_positive


def is_borderline(measured: str) -> bool:
    """Whether a size is at the upper limit of normal.

    That contradicts nobody who calls it mildly enlarged.
    """
    return not _BORDERLINE.isdisjoint(tokens(measured))


def load_label_list(
    path: Path | None = None, dictionary: PathwayDictionary | None = None
) -> LabelList:
    """Load the packaged list, or the file at `path`.

    Args:
        path: another file.
        dictionary: whose diagnoses and directions count, by default the packaged one.

    Raises:
        ConfigurationError: what is wrong with the file, by line and field.
    """
    file = path or resource("labels.yaml")
    labels = read_as(file, _LabelsFile, "See the header of the packaged file.").labels
    vocabulary, packaged = _packaged()
    diagnoses: set[str] = set()
    for label in labels:
        diagnoses.update(label.diagnoses)
        for entry in label.findings:
            diagnoses.update(entry.diagnoses)
    unknown = [
        name for name in sorted(diagnoses) if plain(name) not in packaged.diagnoses
    ]
    if unknown:
        raise ConfigurationError(
            f"{file}: found diagnoses {unknown}, expected those of pathways.yaml."
        )
    return LabelList(labels, vocabulary, dictionary or packaged)


@cache
def _packaged() -> tuple[Vocabulary, PathwayDictionary]:
    """Load the built-in forms, and the packaged dictionary seen through them.

    Every batch asks for them often.
    """
    vocabulary = Vocabulary.from_terms(TERMS.frame())
    return vocabulary, load_dictionary(None, vocabulary)
