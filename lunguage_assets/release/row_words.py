"""A stored row in words: its status, its finding and location, its attributes.

Here stands one row alone. What became of it among the others is told by
`annotation/stored_study.py`, the words of single codes are in `code_words.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from lunguage_assets.assertion.tokens import alternatives
from lunguage_assets.assertion.word_files import word_file
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.statements.contradictions import QUALIFIER, qualifying
from lunguage_assets.tables import TERMS
from lunguage_assets.tables.columns import MEANINGS

Record = Mapping[str, Any]
"""A row of a table, by column."""

_DESCRIBING_COLUMNS = (
    "measurement",
    "morphology",
    "distribution",
    "severity",
    "onset",
)
"""Columns whose words describe a finding wherever they stand in its sentence."""


def status_of(row: Record) -> str:
    """Say the status of a row: `certainly present`, `denied only if “large”`.

    A part of the body is called normal rather than absent: a report that denies
    abnormal lungs does not say that they are missing.
    """
    if row.get("p_source") == QUALIFIER:
        # "No large effusion" denies a kind only: a small one may be there.
        word = qualifying_word(row)
        return f"denied only if “{word}”" if word else "denied in part"
    status = MEANINGS[row["status"]]
    names = {row.get("name", ""), _vocabulary().finding(row["ent"])}
    if _names_of_anatomy().isdisjoint(names):
        return status
    return status.replace("absent", "normal").replace("present", "abnormal")


def qualifying_word(row: Record) -> str:
    """Find the word that restricts a denial: "large" of "no large effusion"."""
    cells = tuple(row[column] for column in _DESCRIBING_COLUMNS)
    qualifier_and_word = qualifying(row["name"], row["ent"], row["sent"], cells)
    return qualifier_and_word[1] if qualifier_and_word else ""


def finding_and_location(row: Record) -> str:
    """Name a finding and its location in the report's words: `nodule, right`."""
    if not row["location"]:
        return str(row["ent"])
    return f"{row['ent']}, {row['location']}"


def printable(text: str) -> str:
    """Replace control characters by blanks: a terminal would obey them."""
    return "".join(character if character.isprintable() else " " for character in text)


@cache
def _vocabulary() -> Vocabulary:
    return Vocabulary(TERMS.frame())


@cache
def _names_of_anatomy() -> frozenset[str]:
    """Name parts of the body as findings are named, in all their spellings."""
    names = set()
    for name, synonyms in word_file("places")["anatomy"].items():
        for pattern in (name, *synonyms):
            names |= {_vocabulary().finding(word) for word in alternatives(pattern)}
    return frozenset(names)
