"""References between rows of a study: the columns `evidence` and `associate`.

A cell lists other findings of the study by name and number (`edema, idx3`). People
write such cells by hand, so that names hold commas, numbers are missing, and some
point to nothing. implicit.md section 1 says what becomes of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from lunguage_assets.corpus.columns import clean
from lunguage_assets.corpus.vocabulary import plain

BARE = "~"
"""Stands before a name that is no row of the study."""
_NUMBERED = re.compile(
    r"\bidx[\s:=#._-]*(\d+)(?:\.0+)?[\s)\]]*$", re.IGNORECASE | re.ASCII
)
"""Also `(idx: 7)`, `idx7.0`, and behind a name without a comma."""
_ONLY_DIGITS = re.compile(r"[\s(\[]*\d+(?:\.0+)?[\s)\]]*", re.ASCII)
_MOST_DIGITS = 15
_REJECTED = {True: "reference-to-rejected-row", False: ""}
_NO_ROW = -1


@dataclass(frozen=True, slots=True)
class WrittenReference:
    """A reference as it is written: the comma parts before a number, and the number.

    The last parts are its name. `number` is None for a bare name. A number that follows
    no name has no parts.
    """

    parts: tuple[str, ...]
    number: int | None


@dataclass(frozen=True, slots=True)
class Target:
    """A row that can be referred to.

    `wordings` are its names as delivered, in plain form; `name` is its canonical one.
    A rejected row has an empty id.
    """

    finding_id: str
    section: str
    ent_idx: int | None
    wordings: frozenset[str]
    name: str


class Token(NamedTuple):
    """What stands in the table for one thing that a reference names.

    `text` is a finding id, or `BARE` and a name, and is empty when nothing is left.
    `delivered_name` is the name as delivered; `reason` is that of a note, if it names
    no row.
    """

    text: str
    delivered_name: str
    reason: str


def parse_references(cell: str) -> list[WrittenReference]:
    """Read the references of a flat list `name, idxN, name, idxN`.

    Bare names and bare numbers survive. Commas inside names and bare names before a
    pair look alike: such parts stay together until the study's rows decide.
    """
    references: list[WrittenReference] = []
    pending: list[str] = []
    for part in map(clean, cell.split(",")):
        number = _NUMBERED.search(part)
        name = part
        if number:
            # "edema (idx3)", where others write "edema, idx3".
            name = part[: number.start()].rstrip(" ([")
        if name:
            pending.append(name)
        if number:
            references.append(WrittenReference(tuple(pending), _row_number(number)))
            pending = []
    references += [WrittenReference((name,), None) for name in pending]
    return references


def _row_number(number: re.Match[str]) -> int:
    digits = number.group(1)
    # No row has so long a number, and Python refuses to read thousands of digits.
    return int(digits) if len(digits) <= _MOST_DIGITS else _NO_ROW


class StudyReferences:
    """Resolves the references inside one study."""

    def __init__(
        self, targets: Iterable[Target], canonical: Callable[[str], str]
    ) -> None:
        """Index the rows that can be referred to.

        Args:
            targets: the rows of the study, rejected ones too.
            canonical: gives the canonical name of a finding.
        """
        self._canonical = canonical
        self._targets_by_name: dict[str, list[Target]] = {}
        targets = list(targets)
        kept = {_position(target) for target in targets if target.finding_id}
        for target in targets:
            # A rejected repetition of a row that stayed is that row.
            if not target.finding_id and _position(target) in kept:
                continue
            for name in target.wordings | {target.name}:
                self._targets_by_name.setdefault(name, []).append(target)

    def resolve(
        self, reference: WrittenReference, section: str, row_id: str
    ) -> list[Token]:
        """Find the rows that a reference names.

        Same section, number and name come first, then number and name in another
        section, then the row of that name in the study; several matches at one step
        are ambiguous. What fits no row stays as a bare name without its number: a
        published number is one of the rows' new numbers, and would point to a row.
        Of the parts before a number the longest run that names a row is the name.

        Args:
            reference: as it was written.
            section: the section of the row that refers.
            row_id: the finding id of the row that refers.

        Returns:
            A token for each thing that the reference names.
        """
        if reference.number is None:
            return [_bare(part, "bare-reference") for part in reference.parts]
        # Of "effusion, opacity, left, idx4" the name may be the last part, the last two
        # or all: the longest that names a row.
        last = len(reference.parts) - 1
        for start in range(len(reference.parts)):
            name = ", ".join(reference.parts[start:])
            finding_id, reason = self._find(name, reference.number, section)
            if reason == "dangling-reference" and start < last:
                continue
            if finding_id == row_id:
                reason = "self-reference"
            token = Token(finding_id, name, "")
            if reason:
                token = _bare(name, reason)
            parts_before = reference.parts[:start]
            bare = [_bare(part, "bare-reference") for part in parts_before]
            return [*bare, token]
        return [Token("", "", "number-without-name")]

    def _find(self, name: str, number: int, section: str) -> tuple[str, str]:
        """Find the id of a row, or the reason why there is none."""
        wording = plain(name)
        same_wording = self._targets_by_name.get(wording, [])
        same_finding = self._targets_by_name.get(self._canonical(name), [])
        named = list(dict.fromkeys([*same_wording, *same_finding]))
        numbered = [target for target in named if target.ent_idx == number]
        in_section = [target for target in numbered if target.section == section]
        candidates = in_section or numbered or named
        # The wording tells a row from another spelling of the same finding.
        as_worded = [target for target in candidates if target in same_wording]
        chosen = candidates if len(candidates) == 1 else as_worded
        if not candidates:
            return "", "dangling-reference"
        if len(chosen) != 1:
            return "", "ambiguous-reference"
        finding_id = chosen[0].finding_id
        return finding_id, _REJECTED[finding_id == ""]


def _position(target: Target) -> tuple[str, int | None, str]:
    return target.section, target.ent_idx, target.name


def _bare(name: str, reason: str) -> Token:
    if _ONLY_DIGITS.fullmatch(name):
        return Token("", "", "number-without-name")
    return Token(BARE + name, name, reason)
