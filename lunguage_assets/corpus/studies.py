"""A study as a whole: its rows grouped, positions completed, references resolved, sentences masked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.masking import mask
from lunguage_assets.corpus.references import BARE, StudyReferences, Target, parse_references
from lunguage_assets.corpus.rows import DeliveredRow, RowReader
from lunguage_assets.corpus.vocabulary import Vocabulary


@dataclass(slots=True)
class Study:
    """Usable rows of one study, sorted by row number, and how many the file has for it."""

    study_id: str
    subject_id: str
    first_line: int
    rows: list[DeliveredRow] = field(default_factory=list)
    sequence: int = 0
    sequence_known: bool = False
    report: str = ""
    rows_delivered: int = 0


def group_studies(rows: Iterable[DeliveredRow], reader: RowReader, log: IntakeLog) -> list[Study]:
    """Studies sorted by id; a study belongs to the patient of its first row, rows that name another are rejected."""
    studies: dict[str, Study] = {}
    differing: set[str] = set()
    for row in rows:
        study = studies.get(row.study_id)
        if study is None:
            study = studies[row.study_id] = Study(row.study_id, row.subject_id, row.line)
        elif row.subject_id != study.subject_id:
            reader.reject_row(row, "study-of-two-patients", "subject_id", row.subject_id)
            continue
        if row.sequence is not None and not study.sequence_known:
            study.sequence, study.sequence_known = row.sequence, True
        if not study.report:
            study.report = row.report
        elif row.report and row.report != study.report and row.study_id not in differing:
            differing.add(row.study_id)
            log.note("reports-differ", reader.file, line=row.line, study_id=row.study_id, column="report")
        row.report = ""  # kept once per study
        study.rows.append(row)
    for study_id, subject in reader.rejected_subjects.items():
        studies.setdefault(study_id, Study(study_id, subject, 0))
    for study in studies.values():
        study.rows.sort(key=lambda row: row.row)
        study.rows_delivered = reader.delivered[study.study_id]
    return [studies[key] for key in sorted(studies)]


class StudyBuilder:
    """Makes `tables.FINDINGS` rows of a study."""

    def __init__(self, vocabulary: Vocabulary, log: IntakeLog, file: str) -> None:
        self._vocabulary, self._log, self._file = vocabulary, log, file

    def finding_rows(self, study: Study, view_information: str) -> list[dict[str, object]]:
        """One mapping per row, with ids, canonical names, references as tokens and the masked sentence."""
        _complete_positions(study)
        names = [self._vocabulary.finding(row.normed_ent or row.ent) for row in study.rows]
        targets = [
            Target(_finding_id(row), row.section, row.ent_idx or 0, frozenset({" ".join(row.ent.lower().split()), name}))
            for row, name in zip(study.rows, names, strict=True)
        ]
        references = StudyReferences(targets, self._vocabulary.finding)
        masked = [self._masked(row, name) for row, name in zip(study.rows, names, strict=True)]
        twins = _identically_masked(study, masked)
        return [
            {
                "finding_id": _finding_id(row),
                "subject_id": study.subject_id,
                "study_id": study.study_id,
                "sequence": study.sequence,
                "section": row.section,
                "sent_idx": row.sent_idx,
                "sent": row.sent,
                "ent_idx": row.ent_idx,
                "ent": row.ent,
                "name": name,
                "cat": row.cat,
                "status": row.status,
                "location": row.location,
                "location_parts": list(self._vocabulary.location_parts(row.location)),
                **row.attributes,
                "evidence": self._tokens(row, "evidence", row.evidence, references),
                "associate": self._tokens(row, "associate", row.associate, references),
                "currency": "past dx" if row.section == "hist" or row.attributes["past_hx"] else "current dx",
                "view_information": view_information,
                "row": row.row,
                "masked_sentence": sentence,
                "mask_state": state,
                "same_name_in_sentence": (row.section, row.sent_idx, sentence) in twins,
            }
            for row, name, (sentence, state) in zip(study.rows, names, masked, strict=True)
        ]

    def _masked(self, row: DeliveredRow, name: str) -> tuple[str | None, str]:
        if row.status[0] != "t" or row.section == "hist":
            return None, "not needed"
        mentions = [row.ent, row.normed_ent, *self._vocabulary.spellings(name)]
        sentence = mask(row.sent, [mention for mention in mentions if mention])
        if sentence is None:
            self._log.note("finding-not-located", self._file, line=row.line, study_id=row.study_id, finding_id=_finding_id(row), column="sent")
            return None, "not located"
        return sentence, "masked"

    def _tokens(self, row: DeliveredRow, column: str, cell: str, references: StudyReferences) -> list[str]:
        if not cell:
            return []
        own = _finding_id(row)
        tokens: list[str] = []
        for pair in parse_references(cell):
            for token in references.resolve(pair, row.section):
                if token == own:
                    self._note("self-reference", row, column, pair[0])
                elif token not in tokens:
                    tokens.append(token)
                    if token.startswith(BARE):
                        self._note("bare-reference" if pair[1] is None else "dangling-reference", row, column, pair[0])
        return tokens

    def _note(self, reason: str, row: DeliveredRow, column: str, found: str) -> None:
        self._log.note(reason, self._file, line=row.line, study_id=row.study_id, finding_id=_finding_id(row), column=column, found=found)


def _finding_id(row: DeliveredRow) -> str:
    return f"{row.study_id}:{row.row}"


def _complete_positions(study: Study) -> None:
    """Number sentences and findings that the file leaves unnumbered, in row order inside each section."""
    sentences: dict[str, tuple[int, str]] = {}
    findings: dict[str, int] = {}
    for row in study.rows:
        findings[row.section] = findings.get(row.section, 0) + 1
        number, last = sentences.get(row.section, (-1, ""))
        if number < 0 or row.sent != last:
            number += 1
        sentences[row.section] = (number, row.sent)
        row.sent_idx = number if row.sent_idx is None else row.sent_idx
        row.ent_idx = findings[row.section] if row.ent_idx is None else row.ent_idx


def _identically_masked(study: Study, masked: list[tuple[str | None, str]]) -> set[tuple[str, int | None, str | None]]:
    """Sentences that more than one tentative finding of the study masks in the same way."""
    seen: set[tuple[str, int | None, str | None]] = set()
    twins: set[tuple[str, int | None, str | None]] = set()
    for row, (sentence, _) in zip(study.rows, masked, strict=True):
        if sentence is not None:
            key = (row.section, row.sent_idx, sentence)
            (twins if key in seen else seen).add(key)
    return twins
