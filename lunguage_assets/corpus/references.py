"""References between rows of a study: the columns `evidence` and `associate`.

A cell lists other findings of the study by name and number (`edema, idx3`). People
write such cells by hand, so that names hold commas, numbers are missing, and some
point to nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from lunguage_assets.corpus.columns import clean
from lunguage_assets.corpus.vocabulary import plain

BARE = "~"
"""Stands before a name that is no row of the study."""
_NUMBERED = re.compile(
    r"\bidx[\s:=#._-]*(\d+)(?:\.0+)?[\s)\]]*$", re.IGNORECASE | re.ASCII
)
"""Also `(idx: 7)`, `idx7.0`, and behind a name without a comma."""
_MOST_DIGITS = 16
_ONLY_DIGITS = re.compile(r"[\s(\[]*\d+(?:\.0+)?[\s)\]]*", re.ASCII)


class WrittenReference(NamedTuple):
    """A reference as it is written: the comma parts before a number, and the number.

    The last parts are its name. `number` is None for a bare name. A number that follows
    no name has no parts.
    """

    parts: tuple[str, ...]
    number: int | None


def parse_references(cell: str) -> list[WrittenReference]:
    """Read the references of a flat list `name, idxN, name, idxN`.

    Bare names and bare numbers survive. Commas inside names and bare names before a
    pair look alike: such parts stay together until the study's rows decide.
    """
    references: list[WrittenReference] = []
    pending: list[str] = []
    for part in map(clean, cell.split(",")):
        number = _NUMBERED.search(part)
        # "edema (idx3)", where others write "edema, idx3".
        name = part
        if number:
            name = part[: number.start()].rstrip(" ([")
        if name:
            pending.append(name)
        if number:
            # No row has a longer one, and Python refuses to read thousands of digits.
            digits = number.group(1)[:_MOST_DIGITS]
            references.append(WrittenReference(tuple(pending), int(digits)))
            pending = []
    return references + [WrittenReference((name,), None) for name in pending]


class StudyReferences:
    """Resolves the references inside one study.

    Args:
        rows: of the study, with `finding_id`, `section`, `ent_idx`, `ent`,
            `normed_ent` and the canonical `name`.
        canonical: gives the canonical name of a finding.
    """

    def __init__(self, rows: Iterable[Any], canonical: Callable[[str], str]) -> None:
        self._canonical = canonical
        self._rows_by_name: defaultdict[str, list[Any]] = defaultdict(list)
        for row in rows:
            for name in {plain(row.ent), plain(row.normed_ent or row.ent), row.name}:
                self._rows_by_name[name].append(row)

    def resolved(self, cell: str, row: Any) -> list[str]:
        """Resolve a cell of a row; what it names twice counts once.

        Returns:
            Ids of findings, and what names no row of the study, behind `BARE`.
        """
        texts: list[str] = []
        for reference in parse_references(cell):
            texts += self._resolve(reference, row)
        return list(dict.fromkeys(filter(None, texts)))

    def _resolve(self, reference: WrittenReference, row: Any) -> list[str]:
        """Find the rows that a reference names.

        Of "effusion, opacity, left, idx4" the name may be the last part, the last two
        or all: the longest that names a row. What fits no row, or several, stays as a
        bare name without its number: a published number is one of the rows' new
        numbers, and would point to a row.

        Args:
            reference: as it was written.
            row: that refers.
        """
        parts = reference.parts
        if reference.number is None:
            return list(map(_bare, parts))
        for start in range(len(parts)):
            name = ", ".join(parts[start:])
            candidates = self._candidates(name, reference.number, row.section)
            ids = [candidate.finding_id for candidate in candidates]
            if ids:
                text = _bare(name)
                if len(ids) == 1 and ids != [row.finding_id]:
                    text = ids[0]
                return [*map(_bare, parts[:start]), text]
        return list(map(_bare, parts))

    def _candidates(self, name: str, number: int, section: str) -> list[Any]:
        """List the rows that fit best.

        Same section, number and name come first, then number and name in another
        section, then the name in the study; of several the one that is worded so.

        Args:
            name: as delivered.
            number: as delivered.
            section: of the row that refers.
        """
        worded = self._rows_by_name.get(plain(name), [])
        of_finding = self._rows_by_name.get(self._canonical(name), [])
        named = list({row.finding_id: row for row in (*worded, *of_finding)}.values())
        numbered = [row for row in named if row.ent_idx == number]
        in_section = [row for row in numbered if row.section == section]
        candidates = in_section or numbered or named
        as_worded = [row for row in candidates if row in worded]
        return as_worded if len(as_worded) == 1 else candidates


def _bare(name: str) -> str:
    """Mark a name that is no row; a number without a name says nothing."""
    return "" if _ONLY_DIGITS.fullmatch(name) else BARE + name
