"""References between rows of a study: the columns `evidence` and `associate`.

A cell lists other findings of the study by name and number (`edema, idx3`). People
write such cells by hand, so that names hold commas, numbers are missing, and some
point to nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import starmap
from typing import Any

import pandas as pd

from lunguage_assets.corpus.columns import clean_list
from lunguage_assets.corpus.vocabulary import Vocabulary

REFERENCES = ("evidence", "associate")
BARE = "~"
"""Stands before a name that is no row of the study."""
_NUMBER = re.compile(
    r"[\s,(\[]*\bidx[\s:=#._-]*0*(\d{1,18})(?:\.0+)?[\s)\]]*(?:,|$)",
    re.IGNORECASE | re.ASCII,
)
"""Also `(idx: 7)`, `idx7.0`, and behind a name without a comma."""


def resolved_references(rows: pd.DataFrame, vocabulary: Vocabulary) -> pd.DataFrame:
    """Resolve the cells of `evidence` and `associate`; what is named twice counts once.

    A name with a number is the row of this name and number in the same section, else in
    another. What is none of the study's rows, or several, stays as a bare name without
    its number: a published number is one of the rows' new numbers, and would point to a
    row.

    Args:
        rows: that can be used, of any studies.
        vocabulary: gives canonical names.

    Returns:
        The rows. Their cells are lists of ids of findings, and of what names no row of
        the study, behind `BARE`.
    """
    ids: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    row: Any
    for row in rows.itertuples():
        for wording in (row.ent, row.normed_ent):
            named = (row.study_id, vocabulary.finding(wording), str(row.ent_idx))
            ids[named].add(row.finding_id)
            ids[*named, row.section].add(row.finding_id)

    def references(cell: str, row: Any) -> list[str]:
        references = []
        *pairs, bare_name = map(clean_list, _NUMBER.split(cell))
        for name, number in zip(pairs[::2], pairs[1::2], strict=True):
            named = (row.study_id, vocabulary.finding(name), number)
            targets = ids[*named, row.section] or ids[named]
            is_one = len(targets) == 1 and row.finding_id not in targets
            references.append(min(targets) if is_one else BARE + name)
        references.append(BARE + bare_name)
        return [name for name in dict.fromkeys(references) if name != BARE]

    for column in REFERENCES:
        cells = zip(rows[column], rows.itertuples(), strict=True)
        rows[column] = list(starmap(references, cells))
    return rows
