"""The published ruler: the paper's 42 phrases with their places, and bundled invented sentences that show
them (explicit.md section 1).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache

from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.protocol import MASK


@dataclass(frozen=True, slots=True)
class PublishedPhrase:
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
    """Masked, invented example sentences of every published phrase.

    Raises:
        ConfigurationError: a sentence without `<finding>`, or not of a published phrase.
    """
    name = "ruler_sentences.csv"
    sentences: dict[str, list[str]] = {entry.phrase: [] for entry in published_ranking()}
    for number, row in enumerate(_rows(name), start=1):
        if row["phrase"] not in sentences or MASK not in row["sentence"]:
            raise ConfigurationError(
                f"{name}, row {number}: expected a published phrase and a sentence with {MASK}. Fix the row."
            )
        sentences[row["phrase"]].append(row["sentence"])
    return {phrase: tuple(found) for phrase, found in sentences.items()}


def _rows(name: str) -> list[dict[str, str]]:
    with resource(name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
