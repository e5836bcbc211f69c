"""Which anchors tie the ranking to probabilities: a named set of `resources/anchors.toml`, or ratings or a
file of one's own; and how far another radiologist's p would lie from ours (explicit.md section 6).

Beside the interval of the mean stands a prediction interval for one more reader, on the logit scale: the mean
alone is known as narrowly as one likes with more ratings, although readers differ as much as before.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, Field
from scipy.special import expit, logit, ndtri, stdtrit

from lunguage_assets.data_files import read_as, resource
from lunguage_assets.errors import ConfigurationError, InputError
from lunguage_assets.explicit.arrays import Floats
from lunguage_assets.explicit.fit.probability import Z95, Anchor
from lunguage_assets.explicit.hedges.edited_csv import edited_rows

RATING_COLUMNS = ("rater", "phrase", "sentence", "rating")
_ONE_VALUE = "one value per column, text with commas in quotes"
NEAREST = 0.005
"""Ratings of 0 and 100 count as this far from the end: no reader's certainty is infinite."""


@dataclass(frozen=True, slots=True)
class ReaderSpread:
    """How readers differ in what a phrase means to them.

    `sd` is between readers, in logits; `df` its degrees of freedom, infinite where it is a stated default;
    `source` says where it comes from.
    """

    sd: float
    df: float
    source: str

    @property
    def reach(self) -> float:
        """Standard deviations that hold 95% of further readers."""
        return Z95 if math.isinf(self.df) else float(stdtrit(self.df, 0.975))


@dataclass(frozen=True, slots=True)
class Rating:
    """What one rater said of one sentence with a phrase; `share` from 0 to 1."""

    rater: str
    phrase: str
    sentence: str
    share: float


OWN_RATINGS = "ratings"
"""Name of the set that a ratings file gives."""

_Share = Annotated[float, Field(gt=0.0, lt=1.0)]


class _FrozenEntry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AnchorEntry(_FrozenEntry):
    """One anchor of a set; `optional`: left out where the ranking does not have the phrase."""

    phrase: str = Field(min_length=1)
    probability: _Share
    low: _Share
    high: _Share
    optional: bool = False


class SetEntry(_FrozenEntry):
    """A named set and where its numbers come from."""

    source: str = Field(min_length=1)
    anchors: list[AnchorEntry] = Field(min_length=2)


class ReadersEntry(_FrozenEntry):
    """Points that the middle 80% of readers span, and who says so."""

    points: float = Field(gt=0.0, lt=100.0)
    source: str = Field(min_length=1)


class AnchorFile(_FrozenEntry):
    """The content of `resources/anchors.toml`, or of a file of this form."""

    sets: dict[str, SetEntry] = Field(min_length=1)
    readers: ReadersEntry | None = None


@dataclass(frozen=True)
class AnchorSet:
    """The anchors in use.

    Args:
        name: of the set; of a file the file's own name.
        source: where its numbers come from.
        anchors: all of them.
        optional: phrases that a ranking need not have.
        spread: how far readers differ, from ratings per rater or from the literature.
        file: where the numbers stand, and `is_own` whether it is the home's.
    """

    name: str
    source: str
    anchors: tuple[Anchor, ...]
    optional: frozenset[str]
    spread: ReaderSpread
    file: Path
    is_own: bool

    def of(self, phrases: Collection[str]) -> tuple[Anchor, ...]:
        """The anchors that count for a ranking of these phrases: optional ones only where they are ranked."""
        return tuple(one for one in self.anchors if one.phrase in phrases or one.phrase not in self.optional)


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
        return _rated(ratings)
    packaged = resource("anchors.toml")
    if Path(choice).suffix.lower() not in (".csv", ".toml"):
        return _named(packaged, choice or "published", is_own=False)
    file = (root or Path()) / Path(choice).expanduser()
    if not file.exists():
        raise ConfigurationError(
            f"option explicit.anchors: no file {choice!r}; expected the name of a set "
            f"({', '.join(_content(packaged).sets)}) or a file in the home. Fix the option."
        )
    return _rated(file) if file.suffix.lower() == ".csv" else _named(file, "", is_own=True)


def published_anchors() -> tuple[Anchor, ...]:
    """The two anchors of the paper."""
    return chosen_anchors("published").anchors


def anchors_from_ratings(path: Path) -> tuple[Anchor, ...]:
    """One anchor per rated phrase: its mean rating with a 95% confidence interval, sorted by phrase.

    Ratings are the unit, as published. The interval is kept inside (0, 1). A phrase with a single rating has
    no interval of its own: it is given that of the widest binomial with one observation's information
    (standard error 0.5).

    Raises:
        InputError: missing columns, a row with too few or too many values, an unreadable rating, no rating at
            all, or a phrase always rated 0 or always 100.
    """
    shares: dict[str, list[float]] = {}
    for rating in ratings_of(path):
        shares.setdefault(rating.phrase, []).append(rating.share)
    if not shares:
        raise InputError(
            path.name, "no ratings", "at least two phrases rated", "Add ratings or remove the file."
        )
    return tuple(_rated_anchor(path, phrase, np.array(rated)) for phrase, rated in sorted(shares.items()))


def _rated_anchor(path: Path, phrase: str, shares: Floats) -> Anchor:
    mean = float(shares.mean())
    if not 0.0 < mean < 1.0:
        found = f"a mean rating of {mean:.0%} for one phrase"
        remedy = "Leave that phrase out."
        raise InputError(path.name, found, "a mean between 0 and 100", remedy, column="rating")
    error = float(shares.std(ddof=1)) / math.sqrt(len(shares)) if len(shares) > 1 else 0.5
    low, high = mean - Z95 * error, mean + Z95 * error
    return Anchor(phrase, mean, max(low, mean * 0.01), min(high, 1.0 - (1.0 - mean) * 0.01))


def _rated(file: Path) -> AnchorSet:
    ratings = ratings_of(file)
    raters = len({rating.rater for rating in ratings})
    spread = spread_between(reader_means(ratings), f"{raters} raters in {file.name}")
    if spread is None:
        spread = _default(_content(resource("anchors.toml")).readers)
    anchors = anchors_from_ratings(file)
    return AnchorSet(OWN_RATINGS, f"ratings in {file.name}", anchors, frozenset(), spread, file, True)


def _named(file: Path, name: str, *, is_own: bool) -> AnchorSet:
    content = _content(file)
    if not name:
        if len(content.sets) > 1:
            raise ConfigurationError(
                f"{file.name}: {len(content.sets)} sets of anchors; expected one. Leave one in the file."
            )
        (name,) = content.sets
    if name not in content.sets:
        raise ConfigurationError(
            f"option explicit.anchors: found {name!r}; expected one of {', '.join(content.sets)}, or a CSV "
            "of ratings or a TOML file in the home. Fix the option."
        )
    entry = content.sets[name]
    anchors = tuple(Anchor(one.phrase, one.probability, one.low, one.high) for one in entry.anchors)
    optional = frozenset(one.phrase for one in entry.anchors if one.optional)
    readers = content.readers or _content(resource("anchors.toml")).readers
    return AnchorSet(name, entry.source, anchors, optional, _default(readers), file, is_own)


def _default(readers: ReadersEntry | None) -> ReaderSpread:
    if readers is None:
        raise ConfigurationError("anchors.toml: no table [readers]. Restore the packaged file.")
    return default_spread(readers.points, readers.source)


def _content(file: Path) -> AnchorFile:
    content = read_as(file, AnchorFile, "Fix it.")
    for name, entry in content.sets.items():
        for one in entry.anchors:
            if not one.low <= one.probability <= one.high:
                raise ConfigurationError(
                    f"{file}, set {name}, {one.phrase!r}: expected low <= probability <= high. Fix it."
                )
        phrases = [one.phrase for one in entry.anchors]
        if len(set(phrases)) < len(phrases):
            raise ConfigurationError(f"{file}, set {name}: a phrase stands twice. Leave one of the two.")
    return content


def default_spread(points: float, source: str) -> ReaderSpread:
    """The spread when the middle 80% of readers span so many points of 100 around one half."""
    half = float(logit(0.5 + points / 200.0))
    return ReaderSpread(half / float(ndtri(0.9)), math.inf, source)


def ratings_of(path: Path) -> list[Rating]:
    """The rows of a ratings file; a phrase in lower case.

    Raises:
        InputError: missing columns, a row with too few or too many values, or an unreadable rating.
    """
    return [
        Rating(
            " ".join(row["rater"].split()),
            " ".join(row["phrase"].lower().split()),
            row["sentence"],
            _share(path, number, row["rating"]),
        )
        for number, row in edited_rows(path, RATING_COLUMNS, _ONE_VALUE)
    ]


def _share(path: Path, number: int, text: str) -> float:
    """A rating from 0 to 100 as a share."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 100.0:
        expected, remedy = "a number from 0 to 100", "Fix the rating."
        raise InputError(path.name, "no such number", expected, remedy, row=number, column="rating")
    return value / 100.0


def reader_means(ratings: Sequence[Rating]) -> dict[str, dict[str, float]]:
    """Phrase -> rater -> mean logit over the sentences that the rater saw."""
    listed: dict[str, dict[str, list[float]]] = {}
    for one in ratings:
        share = min(max(one.share, NEAREST), 1.0 - NEAREST)
        listed.setdefault(one.phrase, {}).setdefault(one.rater, []).append(float(logit(share)))
    return {
        phrase: {rater: float(np.mean(values)) for rater, values in by_rater.items()}
        for phrase, by_rater in listed.items()
    }


def spread_between(means: Mapping[str, Mapping[str, float]], source: str) -> ReaderSpread | None:
    """The spread pooled over phrases: the squared deviations of raters from their phrase's mean, by the
    degrees of freedom that they have together. None when no phrase has two raters.
    """
    rated = [np.array(list(by_rater.values())) for by_rater in means.values()]
    df = sum(len(values) - 1 for values in rated)
    if not df:
        return None
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in rated)
    return ReaderSpread(math.sqrt(squares / df), float(df), source)


def reader_range(
    p: ArrayLike, p_low: ArrayLike, p_high: ArrayLike, spread: ReaderSpread
) -> tuple[Floats, Floats]:
    """The range in which another reader's p would lie, 19 times of 20; arrays of the shape of `p`.

    Args:
        p: ours, strictly between 0 and 1.
        p_low, p_high: its own 95% interval, which the range always contains.
        spread: between readers.

    The variances of our p and between readers are added on the logit scale. The range is about what the words
    mean to a reader of the report, not about whether the finding is there.
    """
    centre, low, high = (logit(np.asarray(value, dtype=np.float64)) for value in (p, p_low, p_high))
    own = ((high - low) / (2.0 * Z95)) ** 2
    margin = spread.reach * np.sqrt(spread.sd**2 + own)
    return np.minimum(expit(centre - margin), p_low), np.maximum(expit(centre + margin), p_high)
