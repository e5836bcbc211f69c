"""A study as a whole: names, places, references, masked sentences (explicit.md section 0), place in the
patient's time line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

import pandas as pd

from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.references import (
    DeliveredRow,
    DeliveredStudy,
    StudyReferences,
    Target,
    parse_references,
)
from lunguage_assets.corpus.vocabulary import Vocabulary, plain
from lunguage_assets.tables import ATTRIBUTES, FINDINGS

MASK = "<finding>"
_GAP = re.compile(r"([\s\-\u2010-\u2014/]+)")
_ANY_GAP = r"[\s\-\u2010-\u2014/]"
_LETTERS = re.compile(r"[^\W\d_]{3,}")
_COLUMNS = (
    "finding_id", "subject_id", "study_id", "sequence", "section", "sent_idx", "sent", "ent_idx", "ent",
    "name", "cat", "status", "location", "location_parts", *ATTRIBUTES, "evidence", "associate", "currency",
    "view_information", "row", "masked_sentence", "mask_state", "same_name_in_sentence",
)  # fmt: skip
_PAST_HISTORY = tuple(ATTRIBUTES).index("past_hx")


class Masker:
    """Replaces findings in sentences by `<finding>`, with the plurals and spellings of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._patterns: dict[tuple[str, ...], re.Pattern[str] | None] = {}

    def masked(self, sentence: str, ent: str, normed_ent: str = "") -> str | None:
        """The sentence with every mention of the finding as `<finding>`.

        None when the finding is not mentioned or the mask is already there. The finding is sought as it is
        worded; only when that does not occur, in its canonical form; only then in the vocabulary's other
        spellings of it, the longest first.
        """
        if MASK in sentence.lower():
            return None
        for wordings in ((ent,), (normed_ent,)):
            found = self._replaced(sentence, wordings)
            if found is not None:
                return found
        return self._replaced(sentence, self._vocabulary.spellings(normed_ent or ent))

    def _replaced(self, sentence: str, wordings: tuple[str, ...]) -> str | None:
        if wordings not in self._patterns:
            bodies = [self._body(wording) for wording in wordings if any(map(str.isalnum, wording))]
            whole = r"(?<![^\W_])(?:" + "|".join(bodies) + r")(?![^\W_])"
            self._patterns[wordings] = re.compile(whole, re.IGNORECASE) if bodies else None
        pattern = self._patterns[wordings]
        masked, count = pattern.subn(MASK, sentence) if pattern else ("", 0)
        return masked if count else None

    def _body(self, wording: str) -> str:
        """Pattern of a name in which white space, hyphens and slashes stand for each other.

        A hyphen may also be left out ("re-expansion", "reexpansion").
        """
        body = ""
        for place, piece in enumerate(_GAP.split(wording.strip(" \t\r\n.,;:-/"))):
            if place % 2 == 0:
                body += self._word(piece)
            else:
                body += _ANY_GAP + ("*" if set(piece) <= set("-\u2010\u2011\u2012\u2013\u2014") else "+")
        return body

    def _word(self, word: str) -> str:
        if not _LETTERS.fullmatch(word):
            return re.escape(word)
        forms = {word.lower(), *self._vocabulary.word_forms(word)}
        return "(?:" + "|".join(map(re.escape, sorted(forms, key=lambda form: (-len(form), form)))) + ")"


class FindingsBuilder:
    """Makes `tables.FINDINGS`, study by study; the frame is built once at the end."""

    def __init__(self, vocabulary: Vocabulary, log: IntakeLog, file: str) -> None:
        self._vocabulary, self._log, self._file = vocabulary, log, file
        self._masker = Masker(vocabulary)
        self._plain = cache(plain)
        self._rows: list[tuple[object, ...]] = []

    def frame(self) -> pd.DataFrame:
        """All rows that were added."""
        return FINDINGS.frame(
            {name: [row[place] for row in self._rows] for place, name in enumerate(_COLUMNS)}
        )

    def add(self, study: DeliveredStudy, view_information: str) -> None:
        """Add the usable rows of a study, in the order of their row numbers."""
        rows = sorted(study.rows, key=lambda row: row.row)
        names = [self._vocabulary.finding(row.normed_ent or row.ent) for row in rows]
        masked = [self._masked(study, row) for row in rows]
        twins = self._identically_masked(rows, masked)
        self._note_one_wording(study, rows, names)
        references = self._references(study, rows, names)
        for row, name, (sentence, state), (evidence, associate) in zip(
            rows, names, masked, references, strict=True
        ):
            self._rows.append(
                (
                    row.finding_id, study.subject_id, study.study_id, study.sequence, row.section,
                    row.sent_idx, row.sent, row.ent_idx, row.ent, name, row.cat, row.status, row.location,
                    self._vocabulary.location_parts(row.location), *row.attributes, evidence, associate,
                    "past dx" if _is_past(row) else "current dx", view_information, row.row, sentence, state,
                    (row.section, row.sent_idx, sentence) in twins,
                )
            )  # fmt: skip

    def _references(
        self, study: DeliveredStudy, rows: list[DeliveredRow], names: list[str]
    ) -> list[tuple[list[str], list[str]]]:
        """Tokens of `evidence` and `associate` of every row."""
        resolver: StudyReferences | None = None
        if any(row.evidence or row.associate for row in rows):
            targets = [*study.refused]
            for row, name in zip(rows, names, strict=True):
                wordings = frozenset({self._plain(row.ent), self._plain(row.normed_ent or row.ent)})
                targets.append(Target(row.finding_id, row.section, row.ent_idx, wordings, name))
            resolver = StudyReferences(targets, self._vocabulary.finding)
        found = []
        for row in rows:
            evidence = self._tokens(study, row, "evidence", row.evidence, resolver)
            associate = self._tokens(study, row, "associate", row.associate, resolver)
            found.append(row.references or (evidence, associate))
        return found

    def _tokens(
        self,
        study: DeliveredStudy,
        row: DeliveredRow,
        column: str,
        cell: str,
        resolver: StudyReferences | None,
    ) -> list[str]:
        tokens: dict[str, None] = {}
        for reference in parse_references(cell) if cell and resolver else ():
            assert resolver is not None
            for token, written, reason in resolver.resolve(reference, row.section, row.finding_id):
                if token not in tokens and reason:
                    self._note(reason, study, row, column, written)
                tokens[token] = None
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
            reason = "mask-in-sentence" if MASK in row.sent.lower() else "finding-not-located"
            self._note(reason, study, row, "sent", row.ent)
            return None, "not located"
        return sentence, "masked"

    def _note(self, reason: str, study: DeliveredStudy, row: DeliveredRow, column: str, found: str) -> None:
        place = {"study_id": study.study_id, "finding_id": row.finding_id, "column": column}
        self._log.note(reason, self._file, line=row.line, found=found, **place)

    def _identically_masked(
        self, rows: list[DeliveredRow], masked: Sequence[tuple[str | None, str]]
    ) -> set[tuple[str, int, str]]:
        """Masked sentences of tentative findings that another finding of the sentence, also a definitive one,
        masks identically.
        """
        pairs = list(zip(rows, masked, strict=True))
        asked = {(row.section, row.sent_idx) for row, (sentence, _) in pairs if sentence is not None}
        seen: set[tuple[str, int, str]] = set()
        twins: set[tuple[str, int, str]] = set()
        for row, (sentence, state) in pairs:
            if (row.section, row.sent_idx) in asked and state == "not needed":
                sentence = self._masker.masked(row.sent, row.ent, row.normed_ent)
            if sentence is not None:
                key = (row.section, row.sent_idx, sentence)
                (twins if key in seen else seen).add(key)
        return twins


def _is_past(row: DeliveredRow) -> bool:
    return row.section == "hist" or row.attributes[_PAST_HISTORY] != ""


def place_in_time(studies: Iterable[DeliveredStudy], log: IntakeLog, file: str) -> None:
    """Fill in a missing `sequence`.

    Per patient by date and time when they are known for all of the patient's studies, else by first
    appearance in the file; counted from 1, or from the highest number that the file gives to a study of the
    patient.
    """
    patients: dict[str, list[DeliveredStudy]] = {}
    for study in studies:
        patients.setdefault(study.subject_id, []).append(study)
    for own in patients.values():
        unplaced = [study for study in own if study.sequence is None]
        dated = all(study.taken_at for study in own)
        unplaced.sort(key=lambda study: (study.taken_at if dated else "", study.first_line))
        first = 1 + max((study.sequence for study in own if study.sequence is not None), default=0)
        for number, study in enumerate(unplaced, first):
            study.sequence = number
            log.note("sequence-derived", file, study_id=study.study_id, column="sequence")
