"""Which anchors tie the ranking to probabilities, and how far another reader would be from them (explicit.md
section 6): a named set of `resources/anchors.toml`, or ratings or a file of one's own.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from lunguage_assets.data_files import read_as, resource
from lunguage_assets.errors import ConfigurationError, InputError
from lunguage_assets.explicit.arrays import Floats
from lunguage_assets.explicit.fit.probability import Z95, Anchor
from lunguage_assets.explicit.fit.readers import (
    ReaderSpread,
    default_spread,
    ratings_of,
    reader_means,
    spread_between,
)

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
            f"({', '.join(_content(packaged).sets)}) or a file in the home. Mend the option."
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
            "of ratings or a TOML file in the home. Mend the option."
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
    content = read_as(file, AnchorFile, "Mend it.")
    for name, entry in content.sets.items():
        for one in entry.anchors:
            if not one.low <= one.probability <= one.high:
                raise ConfigurationError(
                    f"{file}, set {name}, {one.phrase!r}: expected low <= probability <= high. Mend it."
                )
        phrases = [one.phrase for one in entry.anchors]
        if len(set(phrases)) < len(phrases):
            raise ConfigurationError(f"{file}, set {name}: a phrase stands twice. Leave one of the two.")
    return content
