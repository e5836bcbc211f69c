"""References between rows of a study: the columns `evidence` and `associate`.

A cell lists other findings of the study by name and number (`edema, idx3`). People
write such cells by hand, so that names hold commas, numbers are missing, and some
point to nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.corpus.columns import clean
from lunguage_assets.corpus.vocabulary import Vocabulary

REFERENCES = ("evidence", "associate")
BARE = "~"
"""Stands before a name that is no row of the study."""
_NUMBERED = re.compile(
    r"[\s(\[]*\bidx[\s:=#._-]*(\d{1,18})(?:\.0+)?[\s)\]]*$", re.IGNORECASE | re.ASCII
)
"""Also `(idx: 7)`, `idx7.0`, and behind a name without a comma."""


Targets = defaultdict[tuple[str, str, int | None], list[Any]]
"""Rows by study, name and number; None: whatever their number."""


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
        name = part[: number.start()] if number else part
        if name:
            pending.append(name)
        if number:
            references.append(WrittenReference(tuple(pending), int(number.group(1))))
            pending = []
    return references + [WrittenReference((name,), None) for name in pending]


def resolved_references(rows: pd.DataFrame, vocabulary: Vocabulary) -> pd.DataFrame:
    """Resolve the cells of `evidence` and `associate`; what is named twice counts once.

    Args:
        rows: that can be used, of any studies.
        vocabulary: gives canonical names.

    Returns:
        The rows. Their cells are lists of ids of findings, and of what names no row of
        the study, behind `BARE`.
    """
    targets: Targets = defaultdict(list)
    row: Any
    for row in rows.itertuples():
        for name in {vocabulary.finding(row.ent), vocabulary.finding(row.normed_ent)}:
            targets[row.study_id, name, row.ent_idx].append(row)
            targets[row.study_id, name, None].append(row)
    resolved: dict[str, Any] = {column: [] for column in REFERENCES}
    for row in rows.itertuples():
        for column in REFERENCES:
            texts: list[str] = []
            for reference in parse_references(getattr(row, column)):
                texts += _resolved(reference, row, targets, vocabulary)
            resolved[column].append(list(dict.fromkeys(texts)))
    return rows.assign(**resolved)


def _resolved(
    reference: WrittenReference, row: Any, targets: Targets, vocabulary: Vocabulary
) -> list[str]:
    """Find the row that a reference names.

    It has the number, or else the name alone; it is in the same section, or else in
    another. Of "effusion, opacity, left, idx4" the name may be the last part, the last
    two or all: the longest that names a row. What fits no row, or several, stays as a
    bare name without its number: a published number is one of the rows' new numbers,
    and would point to a row.

    Args:
        reference: as it was written.
        row: that refers.
        targets: rows of the studies.
        vocabulary: gives canonical names.
    """
    parts = [BARE + part for part in reference.parts]
    if reference.number is None:
        return parts
    for start in range(len(parts)):
        name = ", ".join(reference.parts[start:])
        key = (row.study_id, vocabulary.finding(name))
        named = targets.get((*key, reference.number)) or targets.get((*key, None), [])
        if named:
            in_section = [target for target in named if target.section == row.section]
            ids = {target.finding_id for target in in_section or named}
            is_one = len(ids) == 1 and row.finding_id not in ids
            return [*parts[:start], ids.pop() if is_one else BARE + name]
    return parts
