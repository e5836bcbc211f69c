"""The scale of hedging phrases beside published human scales (explicit.md section 6).

It has p of every ranked phrase, and what people say that the phrase means to them.

Here stands what is compared; how the page and the picture show it is in
`page_tables.py` and `pictures.scale_plots`.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field, model_validator

from lunguage_assets.explicit.fit.anchors import AnchorSet
from lunguage_assets.explicit.fit.probability import calibrate, probability
from lunguage_assets.explicit.fit.readers import reader_range
from lunguage_assets.packaged_data import read_as, resource
from lunguage_assets.tables.released import PHRASE_SCALE

HELD_EQUAL = 4.0
"""Two phrases count as held equal where their means differ by fewer points. By so many
differ two groups of people about "probable" alone.
"""

_DECIMALS = 6


class ScaleEntry(BaseModel, frozen=True, extra="forbid"):
    """What one scale says of a phrase, in hundredths.

    Attributes:
        phrase: as a report has it.
        means: a mean for each group of people.
        low, high: ends of a band or an interval; the scale's source says of which.
        spread: points by which readers differ, in words.
    """

    phrase: str = Field(min_length=1)
    means: tuple[float, ...] = ()
    low: float | None = None
    high: float | None = None
    spread: str = ""

    @model_validator(mode="after")
    def _says_something(self) -> ScaleEntry:
        if (self.low is None) != (self.high is None):
            raise ValueError("expected low and high, or neither")
        if not self.means and self.low is None and not self.spread:
            raise ValueError("expected means, low and high, or spread")
        return self

    @property
    def words(self) -> str:
        """What the scale says, as a reader sees it: `71 and 72`, `70 (60 to 80)`."""
        if self.spread:
            return f"readers differ by {self.spread} points"
        means = " and ".join(f"{mean:g}" for mean in self.means)
        if self.low is None:
            return means
        between = f"{self.low:g} to {self.high:g}"
        return f"{means} ({between})" if means else between


class PublishedScale(BaseModel, frozen=True, extra="forbid"):
    """A published scale: its name and source, and what it says of phrases.

    `column`: it is shown in numbers of its own, not in words among the others.
    """

    name: str = Field(min_length=1)
    source: str = Field(min_length=1)
    column: bool = False
    phrases: tuple[ScaleEntry, ...] = Field(min_length=1)

    @property
    def means_by_phrase(self) -> dict[str, tuple[float, ...]]:
        """Phrases of which the scale has means, in hundredths."""
        return {entry.phrase: entry.means for entry in self.phrases if entry.means}


class ScaleFile(BaseModel, frozen=True, extra="forbid"):
    """The content of `resources/published_scales.toml`."""

    scales: tuple[PublishedScale, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_one_column(self) -> ScaleFile:
        if sum(scale.column for scale in self.scales) != 1:
            raise ValueError("expected one scale with column = true")
        return self


class ScaleGap(NamedTuple):
    """Two phrases that people hold equal and the ranking parts."""

    higher: str
    p_higher: float
    lower: str
    p_lower: float
    means: tuple[tuple[float, float], ...]
    """Means of the higher and of the lower phrase, of every group that was asked for
    both.
    """


class PeopleDistance(NamedTuple):
    """How far p lies from the means that people give.

    In points of a hundred, over `n` means.
    """

    points: float
    n: int


@cache
def published_scales() -> tuple[PublishedScale, ...]:
    """The scales of `resources/published_scales.toml`."""
    return read_as(resource("published_scales.toml"), ScaleFile).scales


def phrase_scale(ranking: pd.DataFrame, chosen: AnchorSet) -> pd.DataFrame:
    """Hold the ranked phrases beside what people say of them.

    Args:
        ranking: a `REFERENCE_RANKING` frame.
        chosen: the anchors in use, with the spread between readers.

    Returns:
        A `PHRASE_SCALE` frame: ranked phrases from the most certain, then published
        ones that are not ranked.

    Raises:
        MethodError: the anchors give no line on the ranking.
    """
    anchors = chosen.of(set(ranking["phrase"]))
    mu = ranking["mu"].to_numpy(dtype=np.float64)
    # mu of a phrase is the scale itself: no error of its own comparisons is added.
    p, low, high = probability(mu, np.zeros_like(mu), calibrate(ranking, anchors))
    reader_low, reader_high = reader_range(p, low, high, chosen.spread)
    measured = ranking[["phrase", "mu"]].assign(
        p=p,
        p_low=low,
        p_high=high,
        reader_low=reader_low,
        reader_high=reader_high,
    )
    # From the most certain phrase, as the page shows them.
    measured = measured.sort_values("mu", ascending=False, kind="stable")
    people = _people()
    words = _words_by_phrase()
    ranked_phrases = set(ranking["phrase"])
    unranked = [
        phrase
        for phrase in dict.fromkeys([*people["phrase"], *words])
        if phrase not in ranked_phrases
    ]
    listed = pd.concat(
        [measured, pd.DataFrame({"phrase": unranked})], ignore_index=True
    )
    listed = listed.merge(people, on="phrase", how="left")
    listed["number"] = range(len(listed))
    listed["is_anchor"] = listed["phrase"].isin([anchor.phrase for anchor in anchors])
    listed["published"] = [words.get(phrase, "") for phrase in listed["phrase"]]
    # The last digits of numpy's exp differ between processors: without rounding the
    # same release would have other bytes on another machine.
    numbers = listed.select_dtypes("number").columns
    listed[numbers] = listed[numbers].round(_DECIMALS)
    columns = {name: listed[name].tolist() for name in PHRASE_SCALE.names}
    return PHRASE_SCALE.frame(columns)


def rated_phrases(scale: pd.DataFrame) -> pd.DataFrame:
    """The rows of a `PHRASE_SCALE` frame with a p of ours and a mean of people's."""
    rated: set[str] = set()
    for published in published_scales():
        rated |= set(published.means_by_phrase)
    return scale[scale["p"].notna() & scale["phrase"].isin(rated)]


def widest_gap(scale: pd.DataFrame) -> ScaleGap | None:
    """Find two phrases that people hold equal and whose p lie furthest apart.

    Every scale that has both holds them equal.

    Args:
        scale: a `PHRASE_SCALE` frame.

    Returns:
        None where no two ranked phrases are held equal.
    """
    ranked = scale[scale["p"].notna()]
    p_by_phrase = dict(zip(ranked["phrase"], ranked["p"], strict=True))
    gaps = []
    for first, second in combinations(p_by_phrase, 2):
        # Of a pair the ranking says which phrase is the surer one.
        higher = max(first, second, key=p_by_phrase.__getitem__)
        lower = second if higher == first else first
        means = _means_of_both(higher, lower)
        if means and all(abs(a - b) < HELD_EQUAL for a, b in means):
            gaps.append(
                ScaleGap(higher, p_by_phrase[higher], lower, p_by_phrase[lower], means)
            )
    return max(gaps, key=lambda gap: gap.p_higher - gap.p_lower, default=None)


def people_distance(scale: pd.DataFrame) -> PeopleDistance | None:
    """Compute the mean distance of p from people's means.

    It is over all phrases and groups of people that have both.

    Args:
        scale: a `PHRASE_SCALE` frame.

    Returns:
        None where there is no such mean. A mean at an anchor is ours, and left out.
    """
    # At an anchor p is what raters said, so that it would lie near by construction.
    ranked = scale[scale["p"].notna() & ~scale["is_anchor"].astype(bool)]
    p_by_phrase = dict(zip(ranked["phrase"], ranked["p"], strict=True))
    distances: list[float] = []
    for people in published_scales():
        for phrase, means in people.means_by_phrase.items():
            if phrase in p_by_phrase:
                # People's means are in hundredths.
                p = 100.0 * p_by_phrase[phrase]
                distances += [abs(p - mean) for mean in means]
    if not distances:
        return None
    return PeopleDistance(float(np.mean(distances)), len(distances))


def _means_of_both(first: str, second: str) -> tuple[tuple[float, float], ...]:
    """Means of two phrases by the same people, group by group."""
    pairs: list[tuple[float, float]] = []
    for scale in published_scales():
        means = scale.means_by_phrase
        if first in means and second in means:
            pairs += zip(means[first], means[second], strict=True)
    return tuple(pairs)


def _people() -> pd.DataFrame:
    """Mean and middle 80% of the scale with a column of its own, as shares."""
    (scale,) = [scale for scale in published_scales() if scale.column]
    rows = [
        (entry.phrase, entry.means[0], entry.low, entry.high) for entry in scale.phrases
    ]
    people = pd.DataFrame(
        rows, columns=["phrase", "people", "people_low", "people_high"]
    )
    return people.set_index("phrase").div(100.0).reset_index()


def _words_by_phrase() -> dict[str, str]:
    """What the other scales say of each phrase, with their names."""
    words: dict[str, list[str]] = {}
    for scale in published_scales():
        if scale.column:
            continue
        for entry in scale.phrases:
            words.setdefault(entry.phrase, []).append(f"{scale.name}: {entry.words}")
    return {phrase: "; ".join(parts) for phrase, parts in words.items()}
