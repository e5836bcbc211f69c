"""Along which axis a part of the body is described: size, contour, position, density.

What is said along one axis says nothing of another: "the contour of the heart is
normal" leaves its size open to a label. Which words belong to which axis is data,
`resources/assertion/axes.yaml`.
"""

from __future__ import annotations

from lunguage_assets.assertion.plurals import in_singular
from lunguage_assets.assertion.tokens import forms_of
from lunguage_assets.assertion.word_files import word_file
from lunguage_assets.caches import remembered

_AXES = word_file("axes", "assertion")


@remembered
def axes_of(words: str) -> frozenset[str]:
    """Find the axes that words name: "not dilated" size, "normal" none.

    Where a noun names the axis, it decides: "increased density" is no size. Words
    behind a comma are read by themselves.
    """
    named: set[str] = set()
    for description in words.split(","):
        forms = set(forms_of(description))
        # Where there is no noun of an axis, all words are asked.
        named |= forms.intersection(_AXES["nouns"][""]) or forms
    return frozenset(
        axis for axis, listed in _AXES["axes"].items() if named.intersection(listed)
    )


def has_axes(name: str) -> bool:
    """Whether axes are told apart of what has this canonical name."""
    return in_singular(name) in _AXES["parts"][""]
