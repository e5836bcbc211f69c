"""References between rows of a study: the columns `evidence` and `associate`.

A cell lists other findings of the study by name and number (`edema, idx3`). People
write such cells by hand, so that names hold commas, numbers are missing, and some
point to nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

import pandas as pd

from lunguage_assets.corpus.columns import clean
from lunguage_assets.corpus.vocabulary import Vocabulary

REFERENCES = ("evidence", "associate")
BARE = "~"
"""Stands before a name that is no row of the study."""
_NUMBER = re.compile(
    r"[\s(\[]*\bidx[\s:=#._-]*(\d{1,18})(?:\.0+)?[\s)\]]*$", re.IGNORECASE | re.ASCII
)
"""Also `(idx: 7)`, `idx7.0`, and behind a name without a comma."""


def resolved_references(rows: pd.DataFrame, vocabulary: Vocabulary) -> pd.DataFrame:
    """Resolve the cells of `evidence` and `associate`; what is named twice counts once.

    Args:
        rows: that can be used, of any studies.
        vocabulary: gives canonical names.

    Returns:
        The rows. Their cells are lists of ids of findings, and of what names no row of
        the study, behind `BARE`.
    """
    named_rows = _NamedRows(rows, vocabulary)
    resolved: dict[str, Any] = {}
    for column in REFERENCES:
        cells = zip(rows[column], rows.itertuples(), strict=True)
        resolved[column] = [named_rows.references(cell, row) for cell, row in cells]
    return rows.assign(**resolved)


class _NamedRows:
    """Rows by study and canonical name, for what refers to them."""

    def __init__(self, rows: pd.DataFrame, vocabulary: Vocabulary) -> None:
        self._name = vocabulary.finding
        self._rows = defaultdict(list)
        row: Any
        for row in rows.itertuples():
            for name in {self._name(row.ent), self._name(row.normed_ent)}:
                self._rows[row.study_id, name].append(row)

    def references(self, cell: str, row: Any) -> list[str]:
        """Read the references of a row, a flat list `name, idxN, name, idxN`.

        Commas inside names and bare names before a pair look alike: such parts stay
        together until the study's rows decide.
        """
        references: list[str] = []
        parts: list[str] = []
        for part in map(clean, cell.split(",")):
            number = _NUMBER.search(part)
            name = _NUMBER.sub("", part)
            if name:
                parts.append(name)
            if number:
                references += self._resolved(parts, int(number[1]), row)
                parts = []
        references += [BARE + part for part in parts]
        return list(dict.fromkeys(references))

    def _resolved(self, parts: list[str], number: int, row: Any) -> list[str]:
        """Find the row that the last of these parts name, with this number.

        It has the number, or else the name alone; it is in the same section, or else in
        another. Of "effusion, opacity, left, idx4" the name may be the last part, the
        last two or all: the longest that names a row. What fits no row, or several,
        stays as a bare name without its number: a published number is one of the rows'
        new numbers, and would point to a row.

        Args:
            parts: what stands before the number, between commas.
            number: of the row in its section.
            row: that refers.
        """
        bare = [BARE + part for part in parts]
        for start in range(len(parts)):
            name = ", ".join(parts[start:])
            named = self._rows.get((row.study_id, self._name(name)), [])
            named = [it for it in named if it.ent_idx == number] or named
            named = [it for it in named if it.section == row.section] or named
            if named:
                ids = {target.finding_id for target in named}
                is_one = len(ids) == 1 and row.finding_id not in ids
                return [*bare[:start], ids.pop() if is_one else BARE + name]
        return bare
