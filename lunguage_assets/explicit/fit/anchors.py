"""Which anchors tie the ranking to probabilities: a named set of `resources/anchors.toml`, or ratings or a
file of one's own (explicit.md section 6). With them comes how far readers differ (`readers.py`).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field, model_validator
from scipy.special import logit

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
from lunguage_assets.spreadsheets import edited_rows

RATING_COLUMNS = ("rater", "phrase", "sentence", "rating")


class SetEntry(BaseModel, frozen=True, extra="forbid"):
    """A named set and where its numbers come from."""

    source: str = Field(min_length=1)
    anchors: tuple[Anchor, ...] = Field(min_length=2)


class ReadersEntry(BaseModel, frozen=True, extra="forbid"):
    """How far readers differ, and who says so: one of two forms.

    Attributes:
        points: of a hundred, that the middle 80% of readers span around one half, the same everywhere.
        numbers: a CSV beside the file with what people said of phrases (`readers.NUMBER_COLUMNS`).
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
    """The anchors in use and the `source` of their numbers; `spread` says how far readers differ, `is_own`
    whether `file` is the home's.
    """

    name: str
    source: str
    anchors: tuple[Anchor, ...]
    spread: ReaderSpread
    file: Path
    is_own: bool

    def of(self, phrases: Collection[str]) -> tuple[Anchor, ...]:
        """The anchors that count for a ranking of these phrases: optional ones only where they are ranked."""
        return tuple(
            one for one in self.anchors if one.phrase in phrases or not one.optional
        )


def chosen_anchors(
    choice: str, ratings: Path | None = None, root: Path | None = None
) -> AnchorSet:
    """The set that a home uses.

    Args:
        choice: `[explicit] anchors` of the settings: empty, for the home's ratings and without any for
            `published`; the name of a packaged set; or a CSV of ratings or a TOML file, relative to `root`.
        ratings: the home's `anchor_ratings.csv`, there or not.
        root: the home.

    Raises:
        ConfigurationError: no such set or file, or a file that is no set of anchors.
        InputError: ratings that cannot be used.
    """
    if not choice and ratings is not None and ratings.exists():
        return rated_anchors(ratings_of(ratings), ratings)
    is_own = Path(choice).suffix.lower() in (".csv", ".toml")
    file = (
        (root or Path()) / Path(choice).expanduser()
        if is_own
        else resource("anchors.toml")
    )
    if file.suffix.lower() == ".csv" and file.exists():
        return rated_anchors(ratings_of(file), file)
    content = _content(file) if file.exists() else None
    sets = content.sets if content else {}
    name = next(iter(sets)) if is_own and len(sets) == 1 else choice or "published"
    if content is None or name not in sets:
        packaged = ", ".join(_content(resource("anchors.toml")).sets)
        raise ConfigurationError(
            f"option explicit.anchors: found {choice!r}; expected one of {packaged}, or a CSV of ratings "
            "or a TOML file with one set in the home. Fix the option."
        )
    entry = sets[name]
    return AnchorSet(
        name,
        entry.source,
        entry.anchors,
        _stated_spread(file, content.readers),
        file,
        is_own,
    )


def published_anchors() -> tuple[Anchor, ...]:
    """The two anchors of the paper."""
    return chosen_anchors("published").anchors


def ratings_of(path: Path) -> pd.DataFrame:
    """The rows of a ratings file: rater, phrase in lower case, sentence, and share from 0 to 1. An empty
    rating is no answer.

    Raises:
        InputError: missing columns, a row with too few or too many values, no rating, or one that is no
            number from 0 to 100.
    """
    rows = []
    for number, row in edited_rows(path, RATING_COLUMNS):
        rating = row["rating"].strip().removesuffix("%")
        try:
            share = float(rating or "nan") / 100.0
        except ValueError:
            share = -1.0
        if rating and not 0.0 <= share <= 1.0:
            expected = "a number from 0 to 100"
            raise InputError(
                path.name,
                "no number",
                expected,
                "Fix the rating.",
                row=number,
                column="rating",
            )
        rater, phrase = (" ".join(row[name].split()) for name in ("rater", "phrase"))
        if rating:
            rows.append((rater, phrase.lower(), row["sentence"], share))
    if not rows:
        raise InputError(
            path.name,
            "no ratings",
            "two phrases rated",
            "Add ratings or remove the file.",
        )
    return pd.DataFrame(rows, columns=["rater", "phrase", "sentence", "share"])


def rated_anchors(ratings: pd.DataFrame, file: Path) -> AnchorSet:
    """One anchor per rated phrase: its mean rating with a 95% confidence interval, sorted by phrase.

    Ratings (as `ratings_of` returns them, of `file`) are the unit, as published. The interval is kept inside
    (0, 1). A single rating is given that of the widest binomial (standard error 0.5).

    Raises:
        InputError: a phrase always rated 0 or always 100.
    """
    anchors = []
    for phrase, rated in ratings.groupby("phrase", sort=True)["share"]:
        shares = rated.to_numpy(dtype=np.float64)
        mean = float(shares.mean())
        if not 0.0 < mean < 1.0:
            found, remedy = (
                f"a mean rating of {mean:.0%} for one phrase",
                "Leave that phrase out.",
            )
            raise InputError(
                file.name, found, "a mean between 0 and 100", remedy, column="rating"
            )
        error = (
            float(shares.std(ddof=1)) / math.sqrt(len(shares))
            if len(shares) > 1
            else 0.5
        )
        low, high = (
            max(mean - Z95 * error, mean * 0.01),
            min(mean + Z95 * error, 1.0 - (1.0 - mean) * 0.01),
        )
        anchors.append(Anchor(str(phrase), mean, low, high))
    by_phrase = [
        means for _, means in reader_means(ratings).groupby("phrase", sort=False)
    ]
    spread = spread_between(
        by_phrase, f"{ratings['rater'].nunique()} raters in {file.name}"
    )
    source, spread = f"ratings in {file.name}", spread or _stated_spread(file, None)
    return AnchorSet("ratings", source, tuple(anchors), spread, file, True)


def reader_means(ratings: pd.DataFrame) -> pd.Series:
    """Mean logit over the sentences that a rater saw, by phrase and rater in order of appearance."""
    logits = pd.Series(
        logit(ratings["share"].clip(NEAREST, 1.0 - NEAREST)), ratings.index
    )
    return logits.groupby([ratings["phrase"], ratings["rater"]], sort=False).agg(
        lambda values: float(np.mean(values.to_numpy()))
    )


def _stated_spread(file: Path, readers: ReadersEntry | None) -> ReaderSpread:
    """The spread that a file of sets states, or else the packaged one."""
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
