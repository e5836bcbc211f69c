"""Which anchors tie the ranking to probabilities: a named set of `resources/anchors.toml`, or ratings or a
file of one's own; and how far another radiologist's p would lie from ours (explicit.md section 6).

Beside the interval of the mean stands a prediction interval for one more reader, on the logit scale.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import BaseModel, Field
from scipy.special import expit, logit, ndtri, stdtrit

from lunguage_assets.data_files import read_as, resource
from lunguage_assets.draws import Floats
from lunguage_assets.errors import ConfigurationError, InputError
from lunguage_assets.explicit.fit.probability import Z95, Anchor
from lunguage_assets.files import edited_rows

RATING_COLUMNS = ("rater", "phrase", "sentence", "rating")
NEAREST = 0.005
"""Ratings of 0 and 100 count as this far from the end: no reader's certainty is infinite."""


class ReaderSpread(NamedTuple):
    """How readers differ in what a phrase means to them: `sd` between readers, in logits, its degrees of
    freedom (infinite where it is a stated default), and where it comes from.
    """

    sd: float
    df: float
    source: str


class SetEntry(BaseModel, frozen=True, extra="forbid"):
    """A named set and where its numbers come from."""

    source: str = Field(min_length=1)
    anchors: tuple[Anchor, ...] = Field(min_length=2)


class ReadersEntry(BaseModel, frozen=True, extra="forbid"):
    """Points that the middle 80% of readers span around one half, and who says so."""

    points: float = Field(gt=0.0, lt=100.0)
    source: str = Field(min_length=1)


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
        return tuple(one for one in self.anchors if one.phrase in phrases or not one.optional)


def chosen_anchors(choice: str, ratings: Path | None = None, root: Path | None = None) -> AnchorSet:
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
    file = (root or Path()) / Path(choice).expanduser() if is_own else resource("anchors.toml")
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
    return AnchorSet(name, entry.source, entry.anchors, _stated_spread(content.readers), file, is_own)


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
            raise InputError(path.name, "no number", expected, "Fix the rating.", row=number, column="rating")
        rater, phrase = (" ".join(row[name].split()) for name in ("rater", "phrase"))
        if rating:
            rows.append((rater, phrase.lower(), row["sentence"], share))
    if not rows:
        raise InputError(path.name, "no ratings", "two phrases rated", "Add ratings or remove the file.")
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
            found, remedy = f"a mean rating of {mean:.0%} for one phrase", "Leave that phrase out."
            raise InputError(file.name, found, "a mean between 0 and 100", remedy, column="rating")
        error = float(shares.std(ddof=1)) / math.sqrt(len(shares)) if len(shares) > 1 else 0.5
        low, high = max(mean - Z95 * error, mean * 0.01), min(mean + Z95 * error, 1.0 - (1.0 - mean) * 0.01)
        anchors.append(Anchor(str(phrase), mean, low, high))
    by_phrase = [means for _, means in reader_means(ratings).groupby("phrase", sort=False)]
    spread = spread_between(by_phrase, f"{ratings['rater'].nunique()} raters in {file.name}")
    source, spread = f"ratings in {file.name}", spread or _stated_spread(None)
    return AnchorSet("ratings", source, tuple(anchors), spread, file, True)


def reader_means(ratings: pd.DataFrame) -> pd.Series:
    """Mean logit over the sentences that a rater saw, by phrase and rater in order of appearance."""
    logits = pd.Series(logit(ratings["share"].clip(NEAREST, 1.0 - NEAREST)), ratings.index)
    return logits.groupby([ratings["phrase"], ratings["rater"]], sort=False).agg(
        lambda values: float(np.mean(values.to_numpy()))
    )


def spread_between(means: Iterable[ArrayLike], source: str) -> ReaderSpread | None:
    """The spread pooled over phrases: the squared deviations of raters from their phrase's mean, by the
    degrees of freedom that they have together. None when no phrase has two raters.

    `means` has the raters' mean logits of each phrase.
    """
    rated = [np.asarray(values, dtype=np.float64) for values in means]
    df = sum(len(values) - 1 for values in rated)
    if not df:
        return None
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in rated)
    return ReaderSpread(math.sqrt(squares / df), float(df), source)


def _stated_spread(readers: ReadersEntry | None) -> ReaderSpread:
    """The spread that a file of sets states, or else the packaged one."""
    readers = readers or _content(resource("anchors.toml")).readers
    assert readers is not None, "the packaged anchors.toml has a table [readers]"
    half = float(logit(0.5 + readers.points / 200.0))
    return ReaderSpread(half / float(ndtri(0.9)), math.inf, readers.source)


def _content(file: Path) -> AnchorFile:
    return read_as(file, AnchorFile, "Fix it.")


def reader_range(
    p: ArrayLike, p_low: ArrayLike, p_high: ArrayLike, spread: ReaderSpread
) -> tuple[Floats, Floats]:
    """The range in which another reader's p would lie, 19 times of 20; arrays of the shape of `p`.

    Args:
        p: ours, strictly between 0 and 1.
        p_low, p_high: its own 95% interval, which the range always contains.
        spread: between readers.

    The variances of our p and between readers are added on the logit scale.
    """
    centre, low, high = (logit(np.asarray(value, dtype=np.float64)) for value in (p, p_low, p_high))
    own = ((high - low) / (2.0 * Z95)) ** 2
    reach = Z95 if math.isinf(spread.df) else float(stdtrit(spread.df, 0.975))
    margin = reach * np.sqrt(spread.sd**2 + own)
    return np.minimum(expit(centre - margin), p_low), np.maximum(expit(centre + margin), p_high)
