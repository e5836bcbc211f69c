"""The published ruler: the paper's 42 phrases with their places, and bundled invented sentences that show
them (explicit.md section 1).
"""

from __future__ import annotations

import csv
from functools import lru_cache
from typing import NamedTuple

from lunguage_assets.data_files import resource


class PublishedPhrase(NamedTuple):
    """A phrase of the published ranking; rank 0 is the most certain."""

    rank: int
    phrase: str
    mu: float
    sigma: float


@lru_cache(maxsize=1)
def published_ranking() -> tuple[PublishedPhrase, ...]:
    """The published ranking, most certain first."""
    return tuple(
        PublishedPhrase(int(row["rank"]), row["phrase"], float(row["mu"]), float(row["sigma"]))
        for row in _rows("published_ranking.csv")
    )


@lru_cache(maxsize=1)
def ruler_sentences() -> dict[str, tuple[str, ...]]:
    """Masked, invented example sentences of every published phrase."""
    rows = _rows("ruler_sentences.csv")
    return {
        entry.phrase: tuple(row["sentence"] for row in rows if row["phrase"] == entry.phrase)
        for entry in published_ranking()
    }


def _rows(name: str) -> list[dict[str, str]]:
    with resource(name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
