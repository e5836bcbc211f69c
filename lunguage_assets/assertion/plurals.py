"""Singulars and plurals of English and Latin words in reports.

What belongs here: the endings. Which plurals are irregular, and which words only look
like one, is data: `resources/terms.yaml`.
"""

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
        self._singular_by_plural: dict[str, str] = {}
        for singular, irregular in plurals.items():
            for plural in irregular:
                self._singular_by_plural[plural.lower()] = singular.lower()
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
        # The longest endings first: "pneumothoraces" ends in -s, too.
        if word.endswith("thoraces"):
            return word.removesuffix("ces") + "x"
        has_stem = len(word) > _SHORTEST_PLURAL
        if word.endswith("ae") and has_stem:
            # "Bullae"
            return word.removesuffix("e")
        if word.endswith("ies") and has_stem:
            # "Opacities", but "lies"
            return word.removesuffix("ies") + "y"
        if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
            # "Masses", "patches"
            return word.removesuffix("es")
        is_singular = word.endswith(("ss", "us", "is"))
        if word.endswith("s") and not is_singular:
            return word.removesuffix("s")
        return word

    def with_plurals(self, word: str) -> set[str]:
        """List the singular of a word and its plurals, regular and listed."""
        singular = self.of_word(word)
        forms = {word, singular}
        for plural, its_singular in self._singular_by_plural.items():
            if its_singular == singular:
                forms.add(plural)
        if singular in self._invariable:
            return forms
        ends_in_hiss = singular.endswith(("s", "x", "z", "ch", "sh"))
        usual_ending = "es" if ends_in_hiss else "s"
        forms.add(singular + usual_ending)
        for ending, plural_ending in _REGULAR_PLURALS:
            if singular.endswith(ending):
                stem = singular.removesuffix(ending)
                forms.add(stem + plural_ending)
        return forms


@lru_cache(maxsize=ENTRIES)
def possible_singulars(token: str) -> frozenset[str]:
    """List the token and every singular of which it may be the plural.

    "atelectases" may be of "atelectase", "atelectas" or "atelectasis": whoever compares
    tries all of them, since words of a user's own file are in no list.
    """
    forms = {token}
    if len(token) < _SHORTEST_PLURAL:
        return frozenset(forms)
    if token.endswith(("s", "ae")):
        # "Nodules", "bullae"
        forms.add(token[:-1])
    if token.endswith("es"):
        # "Masses", "diagnoses"
        stem = token.removesuffix("es")
        forms.add(stem)
        forms.add(stem + "is")
    if token.endswith("ies"):
        # "Opacities"
        forms.add(token.removesuffix("ies") + "y")
    if token.endswith("ces"):
        # "Hemithoraces"
        forms.add(token.removesuffix("ces") + "x")
    return frozenset(forms)
