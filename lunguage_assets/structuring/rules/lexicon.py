"""The vocabulary of the offline structurer, widened by a delivered one."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pandas as pd

from lunguage_assets.assertion.own_cues import read_own_cues
from lunguage_assets.assertion.vocabulary import (
    LexiconEntry,
    Vocabulary,
    build_vocabulary,
    content_hash,
)
from lunguage_assets.corpus.vocabulary import category_code
from lunguage_assets.tables import ATTRIBUTES

VERSION = "15"
"""Part of the structurer's identity: raise it with every change of rules that changes an
answer."""


def build_lexicon(
    terms: pd.DataFrame | None = None, own_cues: Path | None = None
) -> tuple[Vocabulary, str]:
    """Build the bundled words, widened, and the hash of all of them.

    Args:
        terms: a delivered vocabulary (`tables.TERMS`).
        own_cues: a home's cue file.

    Raises:
        ConfigurationError: a word file or cue file that cannot be read; names file and field.
    """
    rows: tuple[tuple[str, str, str], ...] = ()
    if terms is not None:
        cells = (
            terms[name].tolist() for name in ("category", "target_term", "normed_term")
        )
        rows = tuple(sorted(set(zip(*cells, strict=True))))
    if own_cues is not None:
        read_own_cues(
            own_cues
        )  # before its hash: a file that is not there says so in its own words
    more = [repr(list(rows)).encode("utf-8", "surrogatepass")] if rows else []
    content = content_hash(*more, own_cues=own_cues)
    return _build(rows, own_cues, content), content


@lru_cache(maxsize=2)
def _build(
    terms: tuple[tuple[str, str, str], ...], own_cues: Path | None, _content: str
) -> Vocabulary:
    vocabulary = build_vocabulary(
        read_own_cues(own_cues) if own_cues is not None else ()
    )
    column_by_title = {published: column for column, published in ATTRIBUTES.items()}
    for category, spelling, name in terms:
        # A delivered spelling adds a meaning, and never takes one away.
        code = category_code(category)
        title = " ".join(category.lower().split())
        column = column_by_title.get(title, title)
        if code is not None:
            canonical = " ".join((name or spelling).lower().split())
            sense = LexiconEntry("finding", canonical, code)
        elif title == "location":
            sense = LexiconEntry("place")
        elif column in ATTRIBUTES:
            sense = LexiconEntry("word", code=column)
        else:
            continue
        vocabulary.add_literal(spelling, sense, replace=False)
    return vocabulary
