"""Along which axis a part of the body is described: size, contour, position, density.

Judgements along two axes do not contradict each other (implicit.md section 5): "the
heart is large; its contour is normal". Which words belong to which axis is data,
`resources/assertion/axes.yaml`.
"""

from __future__ import annotations

from functools import cache

from pydantic import BaseModel

from lunguage_assets.assertion.cues import WordsBeside
from lunguage_assets.assertion.plurals import possible_singulars
from lunguage_assets.assertion.tokens import bundled_tokenizer
from lunguage_assets.caches import remembered
from lunguage_assets.packaged_data import read_as, resource


class _AxesFile(BaseModel, frozen=True, extra="forbid"):
    """The content of resources/assertion/axes.yaml."""

    parts: frozenset[str]
    axes: dict[str, WordsBeside]
    nouns: WordsBeside


@cache
def _axes_file() -> _AxesFile:
    return read_as(resource("assertion", "axes.yaml"), _AxesFile)


@remembered
def axes_of(words: str) -> frozenset[str]:
    """Find the axes that words name: "not dilated" size, "normal" none.

    Where a noun names the axis, it decides: "increased density" is no size. Words
    behind a comma are read by themselves.
    """
    file = _axes_file()
    named: set[str] = set()
    for description in words.split(","):
        forms = frozenset(bundled_tokenizer().forms(description))
        # Where there is no noun of an axis, all words are asked.
        named |= forms & file.nouns or forms
    return frozenset(axis for axis, listed in file.axes.items() if named & listed)


def names_axis(form: str) -> bool:
    """Whether a word only names an axis, and another one says how it is: "contour"."""
    return form in _axes_file().nouns


def has_axes(name: str) -> bool:
    """Whether axes are told apart of what has this canonical name."""
    return not _axes_file().parts.isdisjoint(possible_singulars(name))
