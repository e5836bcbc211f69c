"""Singulars and plurals of English and Latin words in reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from lunguage_assets.caches import ENTRIES

_WORD = re.compile(r"[^\W_]+")
_SHORTEST_PLURAL = 4
"""Letters: "gas" and "pus" are no plurals."""
_REGULAR_PLURALS = (("y", "ies"), ("is", "es"), ("thorax", "thoraces"))
"""Ends of singulars and of their plurals, apart from -s and -es."""


class Singulars:
    """Finds the singular of words.

    Args:
        plurals: singular -> irregular plurals.
        invariable: words that end like a plural and are none.
    """

    def __init__(
        self, plurals: Mapping[str, Iterable[str]], invariable: Iterable[str]
    ) -> None:
        self._singular_by_plural = {
            plural.lower(): singular.lower()
            for singular, irregular in plurals.items()
            for plural in irregular
        }
        self._invariable = frozenset(word.lower() for word in invariable)

    def of_text(self, text: str) -> str:
        """Bring every word of a text to its singular."""
        return _WORD.sub(lambda match: self.of_word(match.group()), text)

    def of_word(self, word: str) -> str:
        """Bring a word to its singular.

        "Pneumothoraces" is pneumothorax, "opacities" opacity; "atelectasis", "loss" and
        "pus" stay.
        """
        if word in self._singular_by_plural:
            return self._singular_by_plural[word]
        if len(word) < _SHORTEST_PLURAL or word in self._invariable:
            return word
        if word.endswith("thoraces"):
            return word[:-3] + "x"
        if word.endswith("ae") and len(word) > _SHORTEST_PLURAL:
            return word[:-1]
        if word.endswith("ies") and len(word) > _SHORTEST_PLURAL:
            return word[:-3] + "y"
        if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
            return word[:-2]
        if word.endswith("s") and not word.endswith(("ss", "us", "is")):
            return word[:-1]
        return word

    def with_plurals(self, word: str) -> set[str]:
        """List the singular of a word and its plurals, regular and listed."""
        singular = self.of_word(word)
        forms = {word, singular}
        for plural, listed in self._singular_by_plural.items():
            if listed == singular:
                forms.add(plural)
        if singular in self._invariable:
            return forms
        forms.add(
            singular + ("es" if singular.endswith(("s", "x", "z", "ch", "sh")) else "s")
        )
        for ending, plural_ending in _REGULAR_PLURALS:
            if singular.endswith(ending):
                forms.add(singular.removesuffix(ending) + plural_ending)
        return forms


@lru_cache(maxsize=ENTRIES)
def possible_singulars(token: str) -> frozenset[str]:
    """List the token and every singular of which it may be the plural.

    "atelectases" may be of "atelectase", "atelectas" or "atelectasis": whoever compares
    tries all of them, since words of a user's own file are in no list.
    """
    forms = {token}
    if len(token) >= _SHORTEST_PLURAL:
        if token.endswith(("s", "ae")):
            forms.add(token[:-1])
        if token.endswith("es"):
            forms.update((token[:-2], token[:-2] + "is"))
        if token.endswith("ies"):
            forms.add(token[:-3] + "y")
        if token.endswith("ces"):
            forms.add(token[:-3] + "x")
    return frozenset(forms)
