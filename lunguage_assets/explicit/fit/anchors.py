"""Which anchors tie the reference scale to probabilities.

Section 6 of docs/method/explicit.md: a named set of `resources/anchors.toml`, or a set
or ratings of the home. With them comes how far readers differ (`readers.py`). The line
through the anchors is drawn in `probability.py`.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
from pydantic import BaseModel, Field

from lunguage_assets.corpus.whole_tables import edited_rows
from lunguage_assets.errors import ConfigurationError, InputError
from lunguage_assets.explicit.fit.probability import Z95, Anchor
from lunguage_assets.explicit.fit.readers import (
    ReaderSpread,
    people_numbers,
    spread_of_numbers,
)
from lunguage_assets.packaged_data import read_as, resource

RATING_COLUMNS = ("rater", "phrase", "sentence", "rating")
_DEFAULT_SET = "published"
_ERROR_OF_ONE_RATING = 0.5
"""Standard error of a phrase with a single rating: that of the widest binomial."""


class SetEntry(BaseModel, frozen=True, extra="forbid"):
    """A named set and where its numbers come from."""

    source: str = Field(min_length=1)
    anchors: tuple[Anchor, ...] = Field(min_length=2)


class ReadersEntry(BaseModel, frozen=True, extra="forbid"):
    """How far readers differ: a CSV with what people said of phrases.

    Attributes:
        numbers: the CSV, among the resources.
        left_out: phrases of it that name their number.
        source: who the people are.
    """

    source: str
    numbers: str
    left_out: tuple[str, ...]


class AnchorFile(BaseModel, frozen=True, extra="forbid"):
    """The content of `resources/anchors.toml`, or of a file with sets alone."""

    sets: dict[str, SetEntry] = Field(min_length=1)
    readers: ReadersEntry | None = None


@dataclass(frozen=True)
class AnchorSet:
    """The anchors in use.

    Attributes:
        name: of the set; "ratings" for ratings of one's own.
        source: where their numbers come from.
        anchors: phrases of known probability.
        file: from which they were read.
        is_own: whether the file is the home's, not the package's.
    """

    name: str
    source: str
    anchors: tuple[Anchor, ...]
    file: Path
    is_own: bool

    @property
    def spread(self) -> ReaderSpread:
        """How far readers differ."""
        return packaged_spread()

    def of(self, phrases: Collection[str]) -> tuple[Anchor, ...]:
        """Take the anchors that count for a ranking of these phrases.

        Optional ones count only where their phrase is ranked.
        """
        return tuple(
            anchor
            for anchor in self.anchors
            if anchor.phrase in phrases or not anchor.optional
        )


def chosen_anchors(
    choice: str, ratings: Path | None = None, root: Path | None = None
) -> AnchorSet:
    """Read the anchors that a home uses.

    Args:
        choice: `[explicit] anchors` of the settings: empty, for the home's ratings and
            without any for `published`; the name of a packaged set; or a CSV of
            ratings or a TOML file, relative to `root`.
        ratings: the home's `anchor_ratings.csv`, there or not.
        root: the home.

    Raises:
        ConfigurationError: no such set or file, or a file that is no set of anchors.
        InputError: ratings that cannot be used.
    """
    # A rating file in the home is there to be used, and needs no setting.
    if not choice and ratings is not None and ratings.exists():
        return rated_anchors(ratings)
    suffix = Path(choice).suffix.lower()
    file = resource("anchors.toml")
    packaged = _content(file).sets
    sets = packaged
    is_own = suffix in (".csv", ".toml")
    if is_own:
        file = (root or Path()) / Path(choice).expanduser()
        if suffix == ".csv" and file.exists():
            return rated_anchors(file)
        sets = _content(file).sets if file.exists() else {}
    # The choice may name the file: its only set is meant, whatever that is called.
    name = choice or _DEFAULT_SET
    if len(sets) == 1:
        (name,) = sets
    if name not in sets:
        raise ConfigurationError(
            f"option explicit.anchors: found {choice!r}; expected one of "
            f"{', '.join(packaged)}, or a CSV of ratings or a TOML file with one set "
            "in the home. Fix the option."
        )
    entry = sets[name]
    return AnchorSet(name, entry.source, entry.anchors, file, is_own)


def published_anchors() -> tuple[Anchor, ...]:
    """Read the two anchors of the paper."""
    return chosen_anchors(_DEFAULT_SET).anchors


def rated_anchors(file: Path) -> AnchorSet:
    """Make an anchor of each phrase of a ratings file, sorted by phrase.

    An empty rating is no answer. Ratings are the unit, as published: neither raters nor
    sentences.

    Raises:
        InputError: missing columns, a row with too few or too many values, no rating,
            one that is no number from 0 to 100, or a phrase always rated 0 or 100.
    """
    shares_by_phrase: dict[str, list[float]] = {}
    for row_number, cells in edited_rows(file, RATING_COLUMNS):
        phrase = " ".join(cells["phrase"].lower().split())
        rating = cells["rating"].strip().removesuffix("%")
        if rating:
            share = _share(rating, file, row_number)
            shares_by_phrase.setdefault(phrase, []).append(share)
    if not shares_by_phrase:
        remedy = "Add ratings or remove the file."
        raise InputError(file.name, "no ratings", "two phrases rated", remedy)
    anchors = [
        _rated_anchor(phrase, pd.Series(shares_by_phrase[phrase]), file)
        for phrase in sorted(shares_by_phrase)
    ]
    source = f"ratings in {file.name}"
    return AnchorSet("ratings", source, tuple(anchors), file, is_own=True)


def _share(rating: str, file: Path, row_number: int) -> float:
    try:
        share = float(rating) / 100.0
    except ValueError:
        share = math.nan
    if 0.0 <= share <= 1.0:
        return share
    raise InputError(
        file.name,
        "no number",
        "a number from 0 to 100",
        "Fix the rating.",
        row=row_number,
        column="rating",
    )


def _rated_anchor(phrase: str, shares: pd.Series, file: Path) -> Anchor:
    """Take the mean rating with a 95% interval, which is kept inside (0, 1)."""
    mean = float(shares.mean())
    if not 0.0 < mean < 1.0:
        # The logit of 0 or 1 is infinite: no line goes through it.
        raise InputError(
            file.name,
            f"a mean rating of {mean:.0%} for one phrase",
            "a mean between 0 and 100",
            "Leave that phrase out.",
            column="rating",
        )
    error = _ERROR_OF_ONE_RATING
    if len(shares) > 1:
        error = float(shares.std()) / math.sqrt(len(shares))
    # Few ratings near an end have an interval beyond it, whose logit there is not.
    low = max(mean - Z95 * error, mean * 0.01)
    high = min(mean + Z95 * error, 1.0 - (1.0 - mean) * 0.01)
    return Anchor(phrase, mean, low, high)


@cache
def packaged_spread() -> ReaderSpread:
    """Read how far readers differ: what the packaged anchors.toml says of people."""
    readers = _content(resource("anchors.toml")).readers
    assert readers is not None, "the packaged anchors.toml has a table [readers]"
    numbers = people_numbers(resource(*readers.numbers.split("/")))
    return spread_of_numbers(numbers, readers.left_out, readers.source)


def _content(file: Path) -> AnchorFile:
    return read_as(file, AnchorFile, "Fix it.")
