"""The table of findings, made of a study as a whole.

Here come together what needs all rows of a study: canonical names and locations,
masked sentences (explicit.md section 0), references between rows (implicit.md section
1). What concerns a row alone is decided where it is read (`lunguage.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import pandas as pd

from lunguage_assets.corpus.delivered import DeliveredRow, DeliveredStudy
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.masking import MASK, Masker
from lunguage_assets.corpus.references import (
    StudyReferences,
    Target,
    parse_references,
)
from lunguage_assets.corpus.vocabulary import Vocabulary, plain
from lunguage_assets.tables import ATTRIBUTES, FINDINGS

_COLUMNS = (
    "finding_id", "subject_id", "study_id", "sequence", "section", "sent_idx", "sent",
    "ent_idx", "ent", "name", "cat", "status", "location", "location_parts",
    *ATTRIBUTES, "evidence", "associate", "currency", "view_information", "cues", "row",
    "masked_sentence", "mask_state", "same_name_in_sentence",
)  # fmt: skip


class _MaskedSentence(NamedTuple):
    """A row's masked sentence, None without one, and the state of its masking."""

    text: str | None
    state: str


class FindingsBuilder:
    """Makes `tables.FINDINGS`, study by study; the frame is built once at the end."""

    def __init__(self, vocabulary: Vocabulary, log: IntakeLog, file: str) -> None:
        """Begin without a row.

        Args:
            vocabulary: gives canonical names and locations.
            log: takes notes on what was repaired or noticed.
            file: the name of the delivered file, for notes.
        """
        self._vocabulary = vocabulary
        self._log = log
        self._file = file
        self._masker = Masker(vocabulary)
        self._plain = cache(plain)
        self._rows: list[tuple[object, ...]] = []

    def frame(self) -> pd.DataFrame:
        """Return all rows that were added."""
        columns = {}
        for index, name in enumerate(_COLUMNS):
            columns[name] = [row[index] for row in self._rows]
        return FINDINGS.frame(columns)

    def add(self, study: DeliveredStudy, view_information: str) -> None:
        """Add the usable rows of a study, in the order of their row numbers."""
        rows = sorted(study.rows, key=lambda row: row.row)
        # Who coded the row knew what its words mean: that name goes before them.
        names = [self._vocabulary.finding(row.normed_ent or row.ent) for row in rows]
        masked_sentences = [self._masked(study, row) for row in rows]
        ambiguous = self._identically_masked(rows, masked_sentences)
        self._note_one_wording(study, rows, names)
        references = self._references(study, rows, names)
        for row, name, masked, (evidence, associate) in zip(
            rows, names, masked_sentences, references, strict=True
        ):
            currency = "past dx" if row.is_past else "current dx"
            is_ambiguous = (row.section, row.sent_idx, masked.text) in ambiguous
            self._rows.append(
                (
                    row.finding_id, study.subject_id, study.study_id, study.sequence,
                    row.section, row.sent_idx, row.sent, row.ent_idx, row.ent, name,
                    row.cat, row.status, row.location,
                    self._vocabulary.location_parts(row.location), *row.attributes,
                    evidence, associate, currency, view_information, row.cues, row.row,
                    masked.text, masked.state, is_ambiguous,
                )
            )  # fmt: skip

    def _references(
        self, study: DeliveredStudy, rows: list[DeliveredRow], names: list[str]
    ) -> list[tuple[list[str], list[str]]]:
        """Resolve `evidence` and `associate` of every row to tokens."""
        # Most studies have none, and a structurer's rows have theirs resolved.
        if not any(row.evidence or row.associate for row in rows):
            return [row.references or ([], []) for row in rows]
        # A reference to a rejected row must not find another row instead.
        targets = [*study.refused]
        for row, name in zip(rows, names, strict=True):
            normed = self._plain(row.normed_ent or row.ent)
            wordings = frozenset({self._plain(row.ent), normed})
            targets.append(
                Target(row.finding_id, row.section, row.ent_idx, wordings, name)
            )
        resolver = StudyReferences(targets, self._vocabulary.finding)
        return [
            (
                self._tokens(study, row, "evidence", resolver),
                self._tokens(study, row, "associate", resolver),
            )
            for row in rows
        ]

    def _tokens(
        self,
        study: DeliveredStudy,
        row: DeliveredRow,
        column: str,
        resolver: StudyReferences,
    ) -> list[str]:
        """Resolve one cell, and note what names no row, once per token."""
        seen: dict[str, None] = {}
        for reference in parse_references(getattr(row, column)):
            for token in resolver.resolve(reference, row.section, row.finding_id):
                if token.reason and token.text not in seen:
                    self._note(token.reason, study, row, column, token.delivered_name)
                seen[token.text] = None
        return [text for text in seen if text]

    def _note_one_wording(
        self, study: DeliveredStudy, rows: list[DeliveredRow], names: list[str]
    ) -> None:
        """Note rows that a reader of the published file takes for one.

        They have the same wording and location, and two canonical names.
        """
        name_by_wording: dict[tuple[bool, str, tuple[str, ...]], str] = {}
        for row, name in zip(rows, names, strict=True):
            wording = self._vocabulary.finding(row.ent)
            locations = self._vocabulary.location_parts(row.location)
            key = (row.is_past, wording, locations)
            if name_by_wording.setdefault(key, name) != name:
                self._note("one-wording-two-names", study, row, "normed_ent", row.ent)

    def _masked(self, study: DeliveredStudy, row: DeliveredRow) -> _MaskedSentence:
        """Mask the sentence of a tentative row; history is never compared."""
        if not row.is_tentative or row.section == "hist":
            return _MaskedSentence(None, "not needed")
        sentence = self._masker.masked(row.sent, row.ent, row.normed_ent)
        if sentence is not None:
            return _MaskedSentence(sentence, "masked")
        has_mask = MASK in row.sent.lower()
        reason = "mask-in-sentence" if has_mask else "finding-not-located"
        self._note(reason, study, row, "sent", row.ent)
        return _MaskedSentence(None, "not located")

    def _identically_masked(
        self, rows: list[DeliveredRow], masked_sentences: Sequence[_MaskedSentence]
    ) -> set[tuple[str, int, str]]:
        """Find masked sentences that two findings of one sentence share.

        "Possible effusion or effusion with edema" masks to the same words for both
        effusions, also when one of them is definitive: such a pair is ambiguous.
        """
        sentences_with_masks = {
            (row.section, row.sent_idx)
            for row, masked in zip(rows, masked_sentences, strict=True)
            if masked.text is not None
        }
        seen: set[tuple[str, int, str]] = set()
        shared: set[tuple[str, int, str]] = set()
        for row, masked in zip(rows, masked_sentences, strict=True):
            text = masked.text
            has_masked_neighbour = (row.section, row.sent_idx) in sentences_with_masks
            # A definitive row is not masked for a judge, but would read the same.
            if has_masked_neighbour and masked.state == "not needed":
                text = self._masker.masked(row.sent, row.ent, row.normed_ent)
            if text is None:
                continue
            key = (row.section, row.sent_idx, text)
            if key in seen:
                shared.add(key)
            seen.add(key)
        return shared

    def _note(
        self,
        reason: str,
        study: DeliveredStudy,
        row: DeliveredRow,
        column: str,
        found: str,
    ) -> None:
        self._log.note(
            reason,
            self._file,
            line=row.line,
            found=found,
            study_id=study.study_id,
            finding_id=row.finding_id,
            column=column,
        )


def assign_sequences(
    studies: Iterable[DeliveredStudy], log: IntakeLog, file: str
) -> None:
    """Fill in the missing ranks of studies in their patients' time lines.

    Per patient by date and time when they are known for all of the patient's studies,
    else by first appearance in the file; counted from 1, or from the highest number
    that the file gives to a study of the patient.

    Args:
        studies: all studies of a delivery; their `sequence` is set.
        log: takes a note for each number that was derived.
        file: the name of the delivered file, for notes.
    """
    studies_by_patient: dict[str, list[DeliveredStudy]] = {}
    for study in studies:
        studies_by_patient.setdefault(study.subject_id, []).append(study)
    for patient_studies in studies_by_patient.values():
        without_sequence = [
            study for study in patient_studies if study.sequence is None
        ]
        without_sequence.sort(key=lambda study: study.first_line)
        # Without the time of one study nobody knows where it lies among the others.
        if all(study.taken_at for study in patient_studies):
            without_sequence.sort(key=lambda study: study.taken_at)
        highest = max(study.sequence or 0 for study in patient_studies)
        for number, study in enumerate(without_sequence, highest + 1):
            study.sequence = number
            log.note(
                "sequence-derived", file, study_id=study.study_id, column="sequence"
            )
