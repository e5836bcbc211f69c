"""A study as a whole: names, places, masked sentences (explicit.md section 0), references between rows
(`evidence` and `associate`, implicit.md section 1), place in the patient's time line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

import pandas as pd

from lunguage_assets.corpus.columns import clean
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.vocabulary import Vocabulary, plain
from lunguage_assets.tables import ATTRIBUTES, FINDINGS

MASK = "<finding>"
_GAP = re.compile(r"([\s\-\u2010-\u2014/]+)")
_ANY_GAP = r"[\s\-\u2010-\u2014/]"
_LETTERS = re.compile(r"[^\W\d_]{3,}")
_COLUMNS = (
    "finding_id", "subject_id", "study_id", "sequence", "section", "sent_idx", "sent", "ent_idx", "ent",
    "name", "cat", "status", "location", "location_parts", *ATTRIBUTES, "evidence", "associate", "currency",
    "view_information", "cues", "row", "masked_sentence", "mask_state", "same_name_in_sentence",
)  # fmt: skip
_PAST_HISTORY = tuple(ATTRIBUTES).index("past_hx")
BARE = "~"
_NUMBERED = re.compile(
    r"\bidx[\s:=#._-]*(\d+)(?:\.0+)?[\s)\]]*$", re.IGNORECASE | re.ASCII
)
"""Also `(idx: 7)`, `idx7.0`, and behind a name without a comma."""
_ONLY_DIGITS = re.compile(r"[\s(\[]*\d+(?:\.0+)?[\s)\]]*", re.ASCII)


@dataclass(slots=True)
class DeliveredRow:
    """A row that can be used; `attributes` are in the order of `tables.ATTRIBUTES`.

    `evidence` and `associate` are cells whose references are still to be resolved, unless `references` has
    the finding ids of both. `cues` are those of a raw report's row, as the tables have them.
    """

    line: int
    row: int
    finding_id: str
    section: str
    sent_idx: int
    sent: str
    ent_idx: int
    ent: str
    normed_ent: str
    cat: str
    status: str
    location: str
    evidence: str
    associate: str
    attributes: tuple[str, ...]
    references: tuple[list[str], list[str]] | None = None
    cues: str = ""


@dataclass(slots=True)
class DeliveredStudy:
    """A study's rows, and its rejected rows as counts and as targets of references.

    `views` are with their source; `places` has per section the sentences so far, the last one, and the
    findings so far; `noted` is what is noted once per study.
    """

    study_id: str
    subject_id: str = ""
    source_id: str = ""
    first_line: int = 0
    sequence: int | None = None
    report: str = ""
    views: tuple[str, str] = ("", "")
    taken_at: str = ""
    rows: list[DeliveredRow] = field(default_factory=list)
    refused: list[Target] = field(default_factory=list)
    rows_delivered: int = 0
    places: dict[str, tuple[int, str, int]] = field(default_factory=dict)
    noted: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class WrittenReference:
    """One reference: comma parts before a number, whose last ones are its name.

    `number` is None for a bare name. A number that follows no name has no parts.
    """

    parts: tuple[str, ...]
    number: int | None


@dataclass(frozen=True, slots=True)
class Target:
    """A row that can be referred to: its names as delivered, in plain form, and its canonical name.

    A rejected row has an empty id.
    """

    finding_id: str
    section: str
    ent_idx: int | None
    wordings: frozenset[str]
    name: str


def parse_references(cell: str) -> list[WrittenReference]:
    """The references of a flat list `name, idxN, name, idxN`.

    Bare names and bare numbers survive. Commas inside names and bare names before a pair look alike: such
    parts stay together until the study's rows decide.
    """
    references: list[WrittenReference] = []
    pending: list[str] = []
    for token in map(clean, cell.split(",")):
        number = _NUMBERED.search(token)
        if name := token[: number.start()].rstrip(" ([") if number else token:
            pending.append(name)
        if number:
            digits = number.group(1)  # so long a number has no row
            references.append(
                WrittenReference(
                    tuple(pending), int(digits) if len(digits) <= 15 else -1
                )
            )
            pending = []
    return references + [WrittenReference((name,), None) for name in pending]


class StudyReferences:
    """Resolution of references inside one study."""

    def __init__(
        self, targets: Iterable[Target], canonical: Callable[[str], str]
    ) -> None:
        self._canonical = canonical
        self._by_name: dict[str, list[Target]] = {}
        listed = list(targets)
        live = {
            (target.section, target.ent_idx, target.name)
            for target in listed
            if target.finding_id
        }
        for target in listed:
            if (
                not target.finding_id
                and (target.section, target.ent_idx, target.name) in live
            ):
                continue  # a rejected repetition of a row that stayed
            for name in target.wordings | {target.name}:
                self._by_name.setdefault(name, []).append(target)

    def resolve(
        self, reference: WrittenReference, section: str, own: str
    ) -> list[tuple[str, str, str]]:
        """A reference in a row of `section` whose id is `own`: for each thing that it names the token in the
        table (empty: nothing is left), the name as written, and the reason of a note if it is no row.

        Same section, number and name; else a match of number and name in another section; else the row of
        that name in the study; at each step several matches are ambiguous. What fits no row stays as a bare
        name without its number: a published number is one of the rows' new numbers, and would point to a row.
        Of the parts in front of a number the longest run that names a row is the name.
        """
        if reference.number is None:
            return [_bare(part, "bare-reference") for part in reference.parts]
        for start in range(len(reference.parts)):
            name = ", ".join(reference.parts[start:])
            found, reason = self._find(name, reference.number, section)
            if reason == "dangling-reference" and start + 1 < len(reference.parts):
                continue
            if found == own:
                reason = "self-reference"
            last = (found, name, "") if not reason else _bare(name, reason)
            return [
                *(_bare(part, "bare-reference") for part in reference.parts[:start]),
                last,
            ]
        return [("", "", "number-without-name")]

    def _find(self, name: str, number: int, section: str) -> tuple[str, str]:
        """The row, or the reason why it is none."""
        wording, canonical = plain(name), self._canonical(name)
        named = list(
            dict.fromkeys(
                (*self._by_name.get(wording, ()), *self._by_name.get(canonical, ()))
            )
        )
        numbered = [target for target in named if target.ent_idx == number]
        here = [target for target in numbered if target.section == section]
        group = here or numbered or named
        if (
            len(group) > 1
        ):  # the wording tells a row from another spelling of the same finding
            group = [target for target in group if wording in target.wordings]
        elif not group:
            return "", "dangling-reference"
        if len(group) != 1:
            return "", "ambiguous-reference"
        return (
            (group[0].finding_id, "")
            if group[0].finding_id
            else ("", "reference-to-rejected-row")
        )


def _bare(name: str, reason: str) -> tuple[str, str, str]:
    return (
        ("", "", "number-without-name")
        if _ONLY_DIGITS.fullmatch(name)
        else (BARE + name, name, reason)
    )


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
            bodies = [
                self._body(wording)
                for wording in wordings
                if any(map(str.isalnum, wording))
            ]
            whole = r"(?<![^\W_])(?:" + "|".join(bodies) + r")(?![^\W_])"
            self._patterns[wordings] = (
                re.compile(whole, re.IGNORECASE) if bodies else None
            )
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
                body += _ANY_GAP + (
                    "*" if set(piece) <= set("-\u2010\u2011\u2012\u2013\u2014") else "+"
                )
        return body

    def _word(self, word: str) -> str:
        if not _LETTERS.fullmatch(word):
            return re.escape(word)
        forms = {word.lower(), *self._vocabulary.word_forms(word)}
        return (
            "(?:"
            + "|".join(
                map(re.escape, sorted(forms, key=lambda form: (-len(form), form)))
            )
            + ")"
        )


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
            {
                name: [row[place] for row in self._rows]
                for place, name in enumerate(_COLUMNS)
            }
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
                    "past dx" if _is_past(row) else "current dx", view_information, row.cues, row.row,
                    sentence, state, (row.section, row.sent_idx, sentence) in twins,
                )
            )  # fmt: skip

    def _references(
        self, study: DeliveredStudy, rows: list[DeliveredRow], names: list[str]
    ) -> list[tuple[list[str], list[str]]]:
        """Tokens of `evidence` and `associate` of every row."""
        if not any(row.evidence or row.associate for row in rows):
            return [row.references or ([], []) for row in rows]
        targets = [*study.refused]
        for row, name in zip(rows, names, strict=True):
            wordings = frozenset(
                {self._plain(row.ent), self._plain(row.normed_ent or row.ent)}
            )
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
        tokens: dict[str, None] = {}
        for reference in parse_references(getattr(row, column)):
            for token, written, reason in resolver.resolve(
                reference, row.section, row.finding_id
            ):
                if token not in tokens and reason:
                    self._note(reason, study, row, column, written)
                tokens[token] = None
        return [token for token in tokens if token]

    def _note_one_wording(
        self, study: DeliveredStudy, rows: list[DeliveredRow], names: list[str]
    ) -> None:
        """Note rows that a reader of the published file takes for one: one wording and place, two names."""
        named: dict[tuple[bool, str, tuple[str, ...]], str] = {}
        for row, name in zip(rows, names, strict=True):
            worded, places = (
                self._vocabulary.finding(row.ent),
                self._vocabulary.location_parts(row.location),
            )
            if named.setdefault((_is_past(row), worded, places), name) != name:
                self._note("one-wording-two-names", study, row, "normed_ent", row.ent)

    def _masked(
        self, study: DeliveredStudy, row: DeliveredRow
    ) -> tuple[str | None, str]:
        if row.status[0] != "t" or row.section == "hist":
            return None, "not needed"
        sentence = self._masker.masked(row.sent, row.ent, row.normed_ent)
        if sentence is None:
            reason = (
                "mask-in-sentence"
                if MASK in row.sent.lower()
                else "finding-not-located"
            )
            self._note(reason, study, row, "sent", row.ent)
            return None, "not located"
        return sentence, "masked"

    def _note(
        self,
        reason: str,
        study: DeliveredStudy,
        row: DeliveredRow,
        column: str,
        found: str,
    ) -> None:
        place = {
            "study_id": study.study_id,
            "finding_id": row.finding_id,
            "column": column,
        }
        self._log.note(reason, self._file, line=row.line, found=found, **place)

    def _identically_masked(
        self, rows: list[DeliveredRow], masked: Sequence[tuple[str | None, str]]
    ) -> set[tuple[str, int, str]]:
        """Masked sentences of tentative findings that another finding of the sentence, also a definitive one,
        masks identically.
        """
        pairs = list(zip(rows, masked, strict=True))
        asked = {
            (row.section, row.sent_idx)
            for row, (sentence, _) in pairs
            if sentence is not None
        }
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
        unplaced.sort(
            key=lambda study: (study.taken_at if dated else "", study.first_line)
        )
        first = 1 + max(
            (study.sequence for study in own if study.sequence is not None), default=0
        )
        for number, study in enumerate(unplaced, first):
            study.sequence = number
            log.note(
                "sequence-derived", file, study_id=study.study_id, column="sequence"
            )
