"""Which anchors tie the reference scale to probabilities.

Section 6 of docs/method/explicit.md: a named set of `resources/anchors.toml`, or a set
or ratings of the home. With them comes how far readers differ (`readers.py`). The line
through the anchors is drawn in `probability.py`.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, Field, model_validator
from scipy.special import logit

from lunguage_assets.corpus.whole_tables import edited_rows
from lunguage_assets.errors import ConfigurationError, InputError
from lunguage_assets.explicit.fit.probability import Z95, Anchor
from lunguage_assets.explicit.fit.readers import (
    NEAREST,
    ReaderSpread,
    people_numbers,
    spread_between,
    spread_of_numbers,
    spread_of_points,
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
    """How far readers differ, and who says so: one of two forms.

    Attributes:
        points: of a hundred, that the middle 80% of readers span around one half, the
            same everywhere.
        numbers: a CSV beside the file with what people said of phrases
            (`readers.NUMBER_COLUMNS`).
        left_out: phrases of `numbers` that name their number.
        source: who the readers are.
    """

    source: str = Field(min_length=1)
    points: float | None = Field(default=None, gt=0.0, lt=100.0)
    numbers: str | None = Field(default=None, min_length=1)
    left_out: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _in_one_form(self) -> ReadersEntry:
        if (self.points is None) == (self.numbers is None):
            raise ValueError("expected either points or numbers")
        return self


class AnchorFile(BaseModel, frozen=True, extra="forbid"):
    """The content of `resources/anchors.toml`, or of a file of this form."""

    sets: dict[str, SetEntry] = Field(min_length=1)
    readers: ReadersEntry | None = None


@dataclass(frozen=True)
class AnchorSet:
    """The anchors in use.

    Attributes:
        name: of the set; "ratings" for ratings of one's own.
        source: where their numbers come from.
        anchors: phrases of known probability.
        spread: how far readers differ.
        file: from which they were read.
        is_own: whether the file is the home's, not the package's.
    """

    name: str
    source: str
    anchors: tuple[Anchor, ...]
    spread: ReaderSpread
    file: Path
    is_own: bool

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
        return rated_anchors(ratings_of(ratings), ratings)
    suffix = Path(choice).suffix.lower()
    if suffix not in (".csv", ".toml"):
        packaged = resource("anchors.toml")
        return _named_set(packaged, choice or _DEFAULT_SET, choice, is_own=False)
    file = (root or Path()) / Path(choice).expanduser()
    if suffix == ".csv" and file.exists():
        return rated_anchors(ratings_of(file), file)
    sets: dict[str, SetEntry] = {}
    if file.exists():
        sets = _content(file).sets
    # The choice names the file: its only set is meant, whatever that is called.
    name = next(iter(sets)) if len(sets) == 1 else choice
    return _named_set(file, name, choice, is_own=True)


def _named_set(file: Path, name: str, choice: str, *, is_own: bool) -> AnchorSet:
    content = _content(file) if file.exists() else None
    if content is None or name not in content.sets:
        packaged = ", ".join(_content(resource("anchors.toml")).sets)
        raise ConfigurationError(
            f"option explicit.anchors: found {choice!r}; expected one of {packaged}, "
            "or a CSV of ratings or a TOML file with one set in the home. Fix the "
            "option."
        )
    entry = content.sets[name]
    return AnchorSet(
        name=name,
        source=entry.source,
        anchors=entry.anchors,
        spread=_stated_spread(file, content.readers),
        file=file,
        is_own=is_own,
    )


def published_anchors() -> tuple[Anchor, ...]:
    """Read the two anchors of the paper."""
    return chosen_anchors(_DEFAULT_SET).anchors


def ratings_of(path: Path) -> pd.DataFrame:
    """Read a ratings file: rater, phrase in lower case, sentence, share from 0 to 1.

    An empty rating is no answer.

    Raises:
        InputError: missing columns, a row with too few or too many values, no rating,
            or one that is no number from 0 to 100.
    """
    rows = []
    for row_number, cells in edited_rows(path, RATING_COLUMNS):
        rating = cells["rating"].strip().removesuffix("%")
        if not rating:
            continue
        rows.append(
            {
                "rater": " ".join(cells["rater"].split()),
                "phrase": " ".join(cells["phrase"].split()).lower(),
                "sentence": cells["sentence"],
                "share": _share(rating, path, row_number),
            }
        )
    if not rows:
        remedy = "Add ratings or remove the file."
        raise InputError(path.name, "no ratings", "two phrases rated", remedy)
    return pd.DataFrame(rows, columns=["rater", "phrase", "sentence", "share"])


def _share(rating: str, path: Path, row_number: int) -> float:
    try:
        share = float(rating) / 100.0
    except ValueError:
        share = math.nan
    if 0.0 <= share <= 1.0:
        return share
    raise InputError(
        path.name,
        "no number",
        "a number from 0 to 100",
        "Fix the rating.",
        row=row_number,
        column="rating",
    )


def rated_anchors(ratings: pd.DataFrame, file: Path) -> AnchorSet:
    """Make an anchor of each rated phrase, sorted by phrase.

    Args:
        ratings: as `ratings_of` returns them.
        file: from which they were read.

    Raises:
        InputError: a phrase always rated 0 or always 100.
    """
    anchors = []
    for phrase, rated in ratings.groupby("phrase", sort=True)["share"]:
        shares = rated.to_numpy(dtype=np.float64)
        anchors.append(_rated_anchor(str(phrase), shares, file))
    means_by_phrase = reader_means(ratings).groupby("phrase", sort=False)
    raters = f"{ratings['rater'].nunique()} raters in {file.name}"
    spread = spread_between([means for _, means in means_by_phrase], raters)
    # Where no phrase has two raters, the packaged readers stand in.
    if spread is None:
        spread = _stated_spread(file, None)
    return AnchorSet(
        name="ratings",
        source=f"ratings in {file.name}",
        anchors=tuple(anchors),
        spread=spread,
        file=file,
        is_own=True,
    )


def _rated_anchor(phrase: str, shares: NDArray[np.float64], file: Path) -> Anchor:
    """Take the mean rating with a 95% interval, which is kept inside (0, 1).

    Ratings are the unit, as published: neither raters nor sentences.
    """
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
        error = float(shares.std(ddof=1)) / math.sqrt(len(shares))
    # Few ratings near an end have an interval beyond it, whose logit there is not.
    low = max(mean - Z95 * error, mean * 0.01)
    high = min(mean + Z95 * error, 1.0 - (1.0 - mean) * 0.01)
    return Anchor(phrase, mean, low, high)


def reader_means(ratings: pd.DataFrame) -> pd.Series:
    """Average each rater's logits of a phrase over the sentences that the rater saw.

    Returns:
        Mean logits by phrase and rater, in order of appearance.
    """
    # A reader who says 0 or 100 is not infinitely certain.
    shares = ratings["share"].clip(NEAREST, 1.0 - NEAREST)
    logits = pd.Series(logit(shares), ratings.index)
    by_reader = logits.groupby([ratings["phrase"], ratings["rater"]], sort=False)
    return by_reader.agg(lambda values: float(np.mean(values.to_numpy())))


def _stated_spread(file: Path, readers: ReadersEntry | None) -> ReaderSpread:
    """Take the spread that a file of sets states, or else the packaged one."""
    if readers is None:
        file = resource("anchors.toml")
        readers = _content(file).readers
    assert readers is not None, "the packaged anchors.toml has a table [readers]"
    if readers.points is not None:
        return spread_of_points(readers.points, readers.source)
    assert readers.numbers is not None, "the form requires one of the two"
    numbers = people_numbers(file.parent / readers.numbers)
    return spread_of_numbers(numbers, readers.left_out, readers.source)


def _content(file: Path) -> AnchorFile:
    return read_as(file, AnchorFile, "Fix it.")
