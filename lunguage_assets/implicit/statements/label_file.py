"""The closed list of study-level labels, and which findings mean which.

The list is data (`resources/labels.yaml`, implicit.md section 6). What a study is
labelled is not decided here, but in `labels/`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd

from lunguage_assets.assertion.axes import axes_of, has_axes
from lunguage_assets.caches import remembered
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.pathways.pathway_file import Form, Wordings
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    diagnosis_of,
    load_dictionary,
)
from lunguage_assets.implicit.pathways.words import names_any
from lunguage_assets.implicit.rows import Content, Row, content_of, tokens
from lunguage_assets.packaged_data import read_as, resource
from lunguage_assets.tables import TERMS

_WORDS_BEFORE = 6
"""How many words before a finding may take a meaning from it."""

ReadAs = Literal["presence", "kind", "size", "whole", "denial", "against"]


class Findings(Form):
    """Wordings and diagnoses that are a label, where, how described, and how read."""

    names: Wordings = ()
    diagnoses: Wordings = ()
    at: Wordings = ()
    not_at: Wordings = ()
    described: Wordings = ()
    not_described: Wordings = ()
    not_after: frozenset[str] = frozenset()
    not_explained_by: Wordings = ()
    reads: ReadAs = "presence"

    @property
    def placeless(self) -> bool:
        """Whether the location belongs to the finding itself."""
        return bool(self.at) or self.reads in ("size", "whole", "denial")

    def location_of(self, location_parts: tuple[str, ...]) -> tuple[str, ...]:
        """Read where a row that stands at a location says it."""
        return () if self.placeless else location_parts


class Label(Form):
    """One label of the list."""

    name: str
    chexpert: str = ""
    diagnoses: Wordings = ()
    findings: tuple[Findings, ...] = ()
    instead_of: tuple[str, ...] = ()
    denied_by: tuple[str, ...] = ()
    concluded_from: tuple[Wordings, ...] = ()

    @property
    def entries(self) -> tuple[Findings, ...]:
        """What is the label: its diagnoses first."""
        return Findings(diagnoses=self.diagnoses), *self.findings


class _LabelsFile(Form):
    labels: tuple[Label, ...]


class Meaning(NamedTuple):
    """A label that a finding may be, by its number, and how it is read then."""

    label: int
    entry: Findings


Reading = tuple[Meaning, bool]
"""A label that a row may be, and whether the row says that it is present, or reads as
it stands.
"""


class RowReading(NamedTuple):
    """What a row says."""

    name: str
    """Of its own where the row only shares the name of a diagnosis."""
    diagnosis: str
    """At its location; empty without one."""
    meanings: tuple[Reading, ...]
    """Each with whether the row says that its label is present."""
    present: Mapping[int, bool]
    """The labels that it says are present, as one with others of the label: each with
    whether its location belongs to the finding itself.
    """
    signs: AbstractSet[Any]
    """What it shares with each row that may state it: its name, or a label."""


class LabelList:
    """The labels in file order, and the meanings of findings and diagnoses."""

    def __init__(
        self,
        labels: Sequence[Label],
        vocabulary: Vocabulary,
        dictionary: PathwayDictionary,
    ) -> None:
        self.labels = labels
        self.names = [label.name for label in labels]
        self.concluding: dict[str, tuple[int, int]] = {}
        """Of a normal structure: the label that it helps to conclude, and its part."""
        self._vocabulary = vocabulary
        self.dictionary = dictionary
        self._of_name: dict[str, list[Meaning]] = defaultdict(list)
        self._of_diagnosis: dict[str, list[Meaning]] = defaultdict(list)
        for number, label in enumerate(labels):
            for entry in label.entries:
                meaning = Meaning(number, entry)
                for name in set(map(vocabulary.finding, entry.names)):
                    self._of_name[name].append(meaning)
                for diagnosis in entry.diagnoses:
                    self._of_diagnosis[diagnosis].append(meaning)
            for part, names in enumerate(label.concluded_from):
                for name in map(vocabulary.finding, names):
                    self.concluding[name] = number, part
        # Reports repeat few wordings and contents, so their readings are remembered.
        self._reading = remembered(self._read)
        self._readings = remembered(self._find_readings)

    def meanings(
        self, name: str, diagnosis: str, location: Sequence[str]
    ) -> list[Meaning]:
        """List the labels that a finding may be, in the order of preference.

        Args:
            name: of the finding.
            diagnosis: that it is; empty without one.
            location: where it lies, in one or several wordings.
        """
        by_name = self._of_name.get(name, ())
        # What its name calls a kind of a label is not all that its diagnosis means.
        is_kind_of = {
            meaning.label for meaning in by_name if meaning.entry.reads == "kind"
        }
        by_diagnosis = [
            meaning
            for meaning in self._of_diagnosis.get(diagnosis, ())
            if meaning.label not in is_kind_of
        ]
        cells = [", ".join(location)]
        return [
            meaning
            for meaning in (*by_diagnosis, *by_name)
            if _is_admitted(cells, meaning.entry.at, meaning.entry.not_at)
        ]

    def read(self, row: Row) -> RowReading:
        """Read what a row says."""
        return self._reading(*content_of(row))

    def _read(self, *content: Any) -> RowReading:
        row = Content(*content)
        diagnosis = diagnosis_of(row, self.dictionary)
        is_positive = row.status[1] == "p"
        meanings = tuple(
            (meaning, is_positive == as_it_stands)
            for meaning, as_it_stands in self._readings(row, diagnosis)
        )
        name = row.name
        # "Fracture" of a wire neither states nor denies one of a rib.
        if not diagnosis and self.dictionary.recognise(name):
            name = f"{name} elsewhere"
        present = {
            meaning.label: meaning.entry.placeless
            for meaning, is_label_present in meanings
            # What is healed is no kind of a label.
            if is_label_present
            and not self.labels[meaning.label].instead_of
            and meaning.entry.reads not in ("denial", "against")
        }
        return RowReading(name, diagnosis, meanings, present, {row.name, *present})

    def _find_readings(self, row: Content, diagnosis: str) -> list[Reading]:
        """List the labels that a row may be, each with whether it reads as it stands.

        Otherwise it is read the other way round.
        """
        # As the report words it, and in its canonical parts.
        location = (row.location, *row.location_parts)
        return [
            (meaning, as_it_stands)
            for meaning in self.meanings(row.name, diagnosis, location)
            if (as_it_stands := self._read_as(meaning.entry, row)) is not None
        ]

    def admitted_meanings(
        self,
        row: Content,
        diagnosis: str,
        cells: Sequence[str],
        causes: AbstractSet[str],
        words_before: str,
    ) -> list[Reading]:
        """List the meanings that a row has, without those that one of them replaces.

        Args:
            row: of the result.
            diagnosis: that it is; empty without one.
            cells: its wording and attributes.
            causes: what the report explains it by.
            words_before: those of its sentence before it.

        Returns:
            Each with whether the row is read as it stands, or the other way round.
        """
        admitted: list[Reading] = []
        replaced: set[str] = set()
        for meaning, as_it_stands in self._readings(row, diagnosis):
            entry = meaning.entry
            # A bare "infection" is a pneumonia, "a sequela of infection" is none.
            is_other = entry.not_after and not entry.not_after.isdisjoint(
                tokens(words_before)[-_WORDS_BEFORE:]
            )
            # An opacity that the report calls a nipple shadow is none of the lung.
            outside = map(self._vocabulary.finding, entry.not_explained_by)
            is_explained = bool(causes) and causes <= set(outside)
            if is_other or is_explained:
                continue
            if _is_admitted(cells, entry.described, entry.not_described):
                admitted.append((meaning, as_it_stands))
                replaced.update(self.labels[meaning.label].instead_of)
        return [
            reading
            for reading in admitted
            if self.names[reading[0].label] not in replaced
        ]

    def is_diagnosis(self, label: int) -> bool:
        """Whether all wordings of a label mean one thing; else it is a family."""
        return self.names[label] in self.labels[label].diagnoses

    def _read_as(self, entry: Findings, row: Content) -> bool | None:
        """Read a row as a label.

        Of a size, "normal" denies in either polarity: reports are annotated both ways
        (heart size, negative, normal). A whole that is normal denies it of its part;
        one that is enlarged says not of which part. A contour or a position says
        nothing of a size.

        Returns:
            True when a row is read as it stands, False when the other way round, None
            when it says nothing of the label.
        """
        is_positive = row.status[1] == "p"
        if entry.reads in ("kind", "against"):
            # To deny one kind denies no other.
            return is_positive or None
        if entry.reads not in ("size", "whole"):
            return entry.reads == "presence"
        measured = f"{row.measurement}, {row.morphology}"
        # "The contour of the heart is normal" leaves its size open.
        if has_axes(row.name) and axes_of(measured) and "size" not in axes_of(measured):
            return None
        is_enlarged = self.dictionary.contradictory(measured, "normal")
        is_normal = self.dictionary.contradictory(measured, "increased")
        # "The heart is stable": no word of a size, or words of both.
        if is_enlarged == is_normal:
            return None
        # An enlarged silhouette may be that of the vessels.
        if entry.reads == "whole" and is_enlarged and is_positive:
            return None
        # A positive "heart size normal" is turned round, a negative one stands.
        return is_enlarged or not is_positive


def _is_admitted(cells: Sequence[str], listed: Wordings, excluded: Wordings) -> bool:
    """Whether cells name a listed wording, where some are, and no excluded one."""
    is_listed = not listed or names_any(cells, listed)
    return is_listed and not names_any(cells, excluded)


def load_label_list(dictionary: PathwayDictionary | None = None) -> LabelList:
    """Load the list, for the diagnoses and directions of a dictionary.

    By default it is the packaged one.
    """
    packaged = _packaged_dictionary()
    content = read_as(resource("labels.yaml"), _LabelsFile)
    return LabelList(content.labels, packaged.vocabulary, dictionary or packaged)


def label_tools() -> tuple[LabelList]:
    """Load the packaged list, for `parallel.map_studies`."""
    return (load_label_list(),)


def study_tools(
    pathways: Path | None, terms: pd.DataFrame, *others: Any
) -> tuple[Any, ...]:
    """Load the list that a home reads studies by, for `parallel.map_studies`.

    Args:
        pathways: file of the home, if there is one.
        terms: TERMS of the batch.
        others: arguments that follow the list.
    """
    dictionary = load_dictionary(pathways, Vocabulary(terms))
    return load_label_list(dictionary), *others


@cache
def _packaged_dictionary() -> PathwayDictionary:
    """Load the packaged dictionary, seen through the built-in forms.

    Every batch asks for it often.
    """
    return load_dictionary(None, Vocabulary(TERMS.frame()))
