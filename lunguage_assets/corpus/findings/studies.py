"""A study as a whole: names, places, references, masked sentences, place in the patient's time line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import pandas as pd

from lunguage_assets.corpus.findings.masking import Masker, shows_mask
from lunguage_assets.corpus.findings.references import (
    DeliveredRow,
    DeliveredStudy,
    StudyReferences,
    Target,
    parse_references,
)
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.vocabulary import Vocabulary, plain
from lunguage_assets.tables import ATTRIBUTES, FINDINGS

_COLUMNS = (
    "finding_id", "subject_id", "study_id", "sequence", "section", "sent_idx", "sent", "ent_idx", "ent",
    "name", "cat", "status", "location", "location_parts", *ATTRIBUTES, "evidence", "associate", "currency",
    "view_information", "row", "masked_sentence", "mask_state", "same_name_in_sentence",
)  # fmt: skip
_PAST_HISTORY = tuple(ATTRIBUTES).index("past_hx")


class FindingsBuilder:
    """Makes `tables.FINDINGS`, study by study; the frame is built once at the end."""

    def __init__(self, vocabulary: Vocabulary, log: IntakeLog, file: str) -> None:
        self._vocabulary, self._log, self._file = vocabulary, log, file
        self._masker = Masker(vocabulary)
        self._plain = cache(plain)
        self._rows: list[tuple[object, ...]] = []

    def frame(self) -> pd.DataFrame:
        return FINDINGS.frame(
            {name: [row[place] for row in self._rows] for place, name in enumerate(_COLUMNS)}
        )

    def add(self, study: DeliveredStudy, view_information: str) -> None:
        """The usable rows of a study, in the order of their row numbers."""
        rows = sorted(study.rows, key=lambda row: row.row)
        names = [self._vocabulary.finding(row.normed_ent or row.ent) for row in rows]
        references = self._references(study, rows, names)
        masked = [self._masked(study, row) for row in rows]
        twins = self._identically_masked(rows, masked)
        self._note_one_wording(study, rows, names)
        for row, name, (sentence, state) in zip(rows, names, masked, strict=True):
            self._rows.append(
                (
                    row.finding_id, study.subject_id, study.study_id, study.sequence, row.section,
                    row.sent_idx, row.sent, row.ent_idx, row.ent, name, row.cat, row.status, row.location,
                    self._vocabulary.location_parts(row.location), *row.attributes,
                    self._tokens(study, row, "evidence", references),
                    self._tokens(study, row, "associate", references),
                    "past dx" if _is_past(row) else "current dx", view_information, row.row, sentence, state,
                    (row.section, row.sent_idx, sentence) in twins,
                )
            )  # fmt: skip

    def _references(
        self, study: DeliveredStudy, rows: list[DeliveredRow], names: list[str]
    ) -> StudyReferences | None:
        if not any(row.evidence or row.associate for row in rows):
            return None
        targets = [
            Target(row.finding_id, row.section, row.ent_idx, self._wordings(row), name)
            for row, name in zip(rows, names, strict=True)
        ]
        return StudyReferences([*targets, *study.refused], self._vocabulary.finding)

    def _wordings(self, row: DeliveredRow) -> frozenset[str]:
        return frozenset({self._plain(row.ent), self._plain(row.normed_ent or row.ent)})

    def _tokens(
        self, study: DeliveredStudy, row: DeliveredRow, column: str, references: StudyReferences | None
    ) -> list[str]:
        cell = row.evidence if column == "evidence" else row.associate
        if row.references is not None:
            return list(row.references[column == "associate"])
        if not cell or references is None:
            return []
        tokens: dict[str, None] = {}
        for reference in parse_references(cell):
            for resolved in references.resolve(reference, row.section, row.finding_id):
                if resolved.token not in tokens and resolved.reason:
                    self._note(resolved.reason, study, row, column, resolved.written)
                tokens[resolved.token] = None
        return [token for token in tokens if token]

    def _note_one_wording(self, study: DeliveredStudy, rows: list[DeliveredRow], names: list[str]) -> None:
        """Note rows that a reader of the published file takes for one: one wording and place, two names."""
        named: dict[tuple[bool, str, tuple[str, ...]], str] = {}
        for row, name in zip(rows, names, strict=True):
            worded, places = self._vocabulary.finding(row.ent), self._vocabulary.location_parts(row.location)
            if named.setdefault((_is_past(row), worded, places), name) != name:
                self._note("one-wording-two-names", study, row, "normed_ent", row.ent)

    def _masked(self, study: DeliveredStudy, row: DeliveredRow) -> tuple[str | None, str]:
        if row.status[0] != "t" or row.section == "hist":
            return None, "not needed"
        sentence = self._masker.masked(row.sent, row.ent, row.normed_ent)
        if sentence is None:
            reason = "mask-in-sentence" if shows_mask(row.sent) else "finding-not-located"
            self._note(reason, study, row, "sent", row.ent)
            return None, "not located"
        return sentence, "masked"

    def _note(self, reason: str, study: DeliveredStudy, row: DeliveredRow, column: str, found: str) -> None:
        place = {"study_id": study.study_id, "finding_id": row.finding_id, "column": column}
        self._log.note(reason, self._file, line=row.line, found=found, **place)

    def _identically_masked(
        self, rows: list[DeliveredRow], masked: list[tuple[str | None, str]]
    ) -> set[tuple[str, int, str | None]]:
        """Masked sentences of tentative findings that another finding of the sentence masks identically.

        Definitive findings count too.
        """
        asked = {
            (row.section, row.sent_idx)
            for row, (sentence, _) in zip(rows, masked, strict=True)
            if sentence is not None
        }
        seen: set[tuple[str, int, str | None]] = set()
        twins: set[tuple[str, int, str | None]] = set()
        for row, (sentence, state) in zip(rows, masked, strict=True):
            if (row.section, row.sent_idx) not in asked:
                continue
            if state == "not needed":
                sentence = self._masker.masked(row.sent, row.ent, row.normed_ent)
            if sentence is not None:
                key = (row.section, row.sent_idx, sentence)
                (twins if key in seen else seen).add(key)
        return twins


def _is_past(row: DeliveredRow) -> bool:
    return row.section == "hist" or row.attributes[_PAST_HISTORY] != ""


def place_in_time(
    studies: Iterable[DeliveredStudy], taken_at: Mapping[str, str], log: IntakeLog, file: str
) -> None:
    """Fill in a missing `sequence`.

    Per patient by date and time when the metadata has them for all of the patient's studies, else by first
    appearance in the file; counted from 1, or from the highest number that the file gives to a study of the
    patient.
    """
    patients: dict[str, list[DeliveredStudy]] = {}
    for study in studies:
        patients.setdefault(study.subject_id, []).append(study)
    for own in patients.values():
        unplaced = [study for study in own if study.sequence is None]
        if not unplaced:
            continue
        dated = all(taken_at.get(study.study_id) for study in own)
        unplaced.sort(key=lambda study: (taken_at[study.study_id] if dated else "", study.first_line))
        first = 1 + max((study.sequence for study in own if study.sequence is not None), default=0)
        for number, study in enumerate(unplaced, first):
            study.sequence = number
            log.note("sequence-derived", file, study_id=study.study_id, column="sequence")
