"""The vocabulary of the offline structurer, widened by a delivered one."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pandas as pd

from lunguage_assets.assertion.cues import Cue
from lunguage_assets.assertion.own_cues import read_own_cues
from lunguage_assets.assertion.vocabulary import (
    LexiconEntry,
    Spelling,
    Vocabulary,
    build_vocabulary,
    bundled_vocabulary,
    content_hash,
)
from lunguage_assets.corpus.vocabulary import category_code
from lunguage_assets.tables import ATTRIBUTES
from lunguage_assets.tables.values import values_of

VERSION = "35"
"""Of the rules; raise it with every change that changes an answer.

It is a part of the structurer's identity.
"""


def build_lexicon(
    terms: pd.DataFrame | None = None, own_cues: Path | None = None
) -> tuple[Vocabulary, str]:
    """Build the bundled words, widened, and the hash of all of them.

    Args:
        terms: a delivered vocabulary (`tables.TERMS`).
        own_cues: a home's cue file.

    Raises:
        ConfigurationError: a word file or cue file cannot be read; names file and
            field.
    """
    rows: tuple[tuple[str, ...], ...] = ()
    if terms is not None:
        columns = ("category", "target_term", "normed_term")
        rows = tuple(sorted({*values_of(terms, *columns)}))
    home_cues: tuple[Cue, ...] = ()
    if own_cues is not None:
        # Before its hash: a file that is not there says so in its own words.
        home_cues = read_own_cues(own_cues)
    hashed: list[bytes] = []
    if rows:
        hashed.append(repr(rows).encode("utf-8", "surrogatepass"))
    content = content_hash(*hashed, own_cues=own_cues)
    return _build(rows, home_cues), content


@lru_cache(maxsize=2)
def _build(
    terms: tuple[tuple[str, ...], ...], home_cues: tuple[Cue, ...]
) -> Vocabulary:
    if not terms and not home_cues:
        return bundled_vocabulary()
    delivered: list[Spelling] = []
    for category, spelling, name in terms:
        entry = _entry_of(category, name or spelling)
        if entry is not None:
            delivered.append(([[spelling]], entry))
    return build_vocabulary(home_cues, delivered)


def _entry_of(category: str, name: str) -> LexiconEntry | None:
    """Find what a delivered spelling is for the rules; None: nothing that they know."""
    finding_code = category_code(category)
    if finding_code is not None:
        canonical = " ".join(name.lower().split())
        return LexiconEntry("finding", canonical, finding_code)
    title = " ".join(category.lower().split())
    if title == "location":
        return LexiconEntry("place")
    column = _COLUMN_BY_TITLE.get(title, title)
    if column in ATTRIBUTES:
        return LexiconEntry("word", code=column)
    return None


_COLUMN_BY_TITLE = {published: column for column, published in ATTRIBUTES.items()}
"""A delivered vocabulary names attributes as they are published."""
