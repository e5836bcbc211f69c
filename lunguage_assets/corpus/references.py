"""Rows of findings as they were delivered or structured, and the references between them: `evidence` and
`associate` cells are read and resolved to rows of a study (implicit.md section 1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from lunguage_assets.corpus.columns import clean
from lunguage_assets.corpus.vocabulary import plain

BARE = "~"
_NUMBER = re.compile(r"\bidx[\s:=#._-]*(\d+)(?:\.0+)?[\s)\]]*$", re.IGNORECASE | re.ASCII)
"""Also `(idx: 7)`, `idx7.0`, and behind a name without a comma."""
_DIGITS = re.compile(r"[\s(\[]*\d+(?:\.0+)?[\s)\]]*", re.ASCII)


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
        number = _NUMBER.search(token)
        if name := token[: number.start()].rstrip(" ([") if number else token:
            pending.append(name)
        if number:
            digits = number.group(1)  # so long a number has no row
            references.append(WrittenReference(tuple(pending), int(digits) if len(digits) <= 15 else -1))
            pending = []
    return references + [WrittenReference((name,), None) for name in pending]


class StudyReferences:
    """Resolution of references inside one study."""

    def __init__(self, targets: Iterable[Target], canonical: Callable[[str], str]) -> None:
        self._canonical = canonical
        self._by_name: dict[str, list[Target]] = {}
        listed = list(targets)
        live = {(target.section, target.ent_idx, target.name) for target in listed if target.finding_id}
        for target in listed:
            if not target.finding_id and (target.section, target.ent_idx, target.name) in live:
                continue  # a rejected repetition of a row that stayed
            for name in target.wordings | {target.name}:
                self._by_name.setdefault(name, []).append(target)

    def resolve(self, reference: WrittenReference, section: str, own: str) -> list[tuple[str, str, str]]:
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
            return [*(_bare(part, "bare-reference") for part in reference.parts[:start]), last]
        return [("", "", "number-without-name")]

    def _find(self, name: str, number: int, section: str) -> tuple[str, str]:
        """The row, or the reason why it is none."""
        wording, canonical = plain(name), self._canonical(name)
        named = list(dict.fromkeys((*self._by_name.get(wording, ()), *self._by_name.get(canonical, ()))))
        numbered = [target for target in named if target.ent_idx == number]
        here = [target for target in numbered if target.section == section]
        group = here or numbered or named
        if len(group) > 1:  # the wording tells a row from another spelling of the same finding
            group = [target for target in group if wording in target.wordings]
        elif not group:
            return "", "dangling-reference"
        if len(group) != 1:
            return "", "ambiguous-reference"
        return (group[0].finding_id, "") if group[0].finding_id else ("", "reference-to-rejected-row")


def _bare(name: str, reason: str) -> tuple[str, str, str]:
    return ("", "", "number-without-name") if _DIGITS.fullmatch(name) else (BARE + name, name, reason)


@dataclass(slots=True)
class DeliveredRow:
    """A row that can be used; `attributes` are in the order of `tables.ATTRIBUTES`.

    `evidence` and `associate` are cells whose references are still to be resolved, unless `references` has
    the finding ids of both.
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


@dataclass(slots=True)
class DeliveredStudy:
    """A study's rows, and its rejected rows as counts and as targets of references.

    `views` are with their source; `places` has per section the sentences so far, the last one, and the
    findings so far; `noted` is what is noted once per study.
    """

    study_id: str
    subject_id: str = ""
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
