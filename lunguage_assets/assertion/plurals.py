"""Singulars and plurals of English and Latin words in reports.

What belongs here: the endings. Which plurals are irregular, and which words only look
like one, is data: `resources/terms.yaml`.
"""

from __future__ import annotations

import re

from lunguage_assets.assertion.word_files import word_file
from lunguage_assets.caches import remembered

_WORD = re.compile(r"[^\W_]+")
_SHORTEST_PLURAL = 4
"""Letters: "gas" and "pus" are no plurals."""
_SHORTEST_STEM = 2
"""Letters before an ending: "lies" has no "ly"."""
_SINGULAR_BY_PLURAL_ENDING = {
    # The longest first; what looks like a plural and is none stays as it is.
    "thoraces": "thorax", "sses": "ss", "ches": "ch", "shes": "sh", "zzes": "zz",
    "xes": "x", "ies": "y", "ae": "a", "ss": "ss", "us": "us", "is": "is", "s": "",
}  # fmt: skip
_TERMS = word_file("terms", folder="")
_INVARIABLE = frozenset(_TERMS["invariable"][""])
_SINGULAR_BY_PLURAL = {
    plural: singular
    for singular, plurals in _TERMS["plurals"].items()
    for plural in plurals
}


@remembered
def singular_of(word: str) -> str:
    """Bring a word in lower case to its singular.

    "Pneumothoraces" is pneumothorax, "opacities" opacity; "atelectasis", "loss" and
    "pus" stay.
    """
    if word in _SINGULAR_BY_PLURAL:
        return _SINGULAR_BY_PLURAL[word]
    if len(word) < _SHORTEST_PLURAL or word in _INVARIABLE:
        return word
    for ending, singular_ending in _SINGULAR_BY_PLURAL_ENDING.items():
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _SHORTEST_STEM:
            return stem + singular_ending
    return word


def in_singular(text: str) -> str:
    """Bring every word of a text to its singular."""
    return _WORD.sub(lambda match: singular_of(match.group()), text)


def with_plurals(word: str) -> set[str]:
    """List the singular of a word and its plurals, regular and listed."""
    singular = singular_of(word)
    forms = {word, singular, *_TERMS["plurals"].get(singular, ())}
    for ending, singular_ending in _SINGULAR_BY_PLURAL_ENDING.items():
        plural = singular.removesuffix(singular_ending) + ending
        # "Pneumoniae" is the name of a bacterium: Latin plurals are listed.
        if singular_of(plural) == singular and ending != "ae":
            forms.add(plural)
    return forms
