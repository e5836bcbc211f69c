"""Along which axis a part of the body is described: size, contour, position, density.

Judgements along two axes do not contradict each other (implicit.md section 5): "the
heart is large; its contour is normal". Which words belong to which axis is data,
`resources/assertion/axes.yaml`.
"""

from __future__ import annotations

import re
from functools import cache

from pydantic import BaseModel

from lunguage_assets.assertion.cues import cue_path
from lunguage_assets.assertion.plurals import possible_singulars
from lunguage_assets.caches import remembered
from lunguage_assets.packaged_data import read_as

_WORD = re.compile(r"[^\W\d_]+")


class _AxesFile(BaseModel, frozen=True, extra="forbid"):
    """The content of resources/assertion/axes.yaml."""

    parts: frozenset[str]
    axes: dict[str, frozenset[str]]
    nouns: frozenset[str]


@cache
def _axes_file() -> _AxesFile:
    return read_as(cue_path("axes"), _AxesFile)


@cache
def _axes_by_word() -> dict[str, set[str]]:
    axes_by_word: dict[str, set[str]] = {}
    for axis, words in _axes_file().axes.items():
        for word in words:
            axes_by_word.setdefault(word, set()).add(axis)
    return axes_by_word


@remembered
def axes_of(words: str) -> frozenset[str]:
    """Find the axes that words name: "not dilated" size, "normal" none.

    Where a noun names the axis, it decides: "increased density" is no size. Words
    behind a comma are read by themselves.
    """
    axes_by_word = _axes_by_word()
    nouns_of_axes = _axes_file().nouns
    axes: set[str] = set()
    for description in words.lower().split(","):
        forms: set[str] = set()
        for word in _WORD.findall(description):
            forms |= possible_singulars(word)
        listed = forms & axes_by_word.keys()
        nouns = listed & nouns_of_axes
        for word in nouns or listed:
            axes |= axes_by_word[word]
    return frozenset(axes)


def names_axis(form: str) -> bool:
    """Whether a word only names an axis, and another one says how it is: "contour"."""
    return form in _axes_file().nouns


def has_axes(name: str) -> bool:
    """Whether axes are told apart of what has this canonical name."""
    return not _axes_file().parts.isdisjoint(possible_singulars(name))
