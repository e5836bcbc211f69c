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
_SHORTEST_STEM = 2
"""Letters before an ending: "lies" has no "ly"."""
_SINGULAR_ENDINGS = (
    # The longest first; what looks like a plural and is none stays as it is.
    ("thoraces", "thorax"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"),
    ("zzes", "zz"), ("xes", "x"), ("ies", "y"), ("ae", "a"),
    ("ss", "ss"), ("us", "us"), ("is", "is"), ("s", ""),
)  # fmt: skip
_PLURAL_ENDINGS = (
    # "Nodules"; "masses", "reflexes", "branches", "bushes"; "opacities"; "diagnoses"
    ("", "s"), ("s", "ses"), ("x", "xes"), ("ch", "ches"), ("sh", "shes"),
    ("y", "ies"), ("is", "es"), ("thorax", "thoraces"),
)  # fmt: skip
"""Ends of singulars and of their plurals."""
_POSSIBLE_ENDINGS = (
    # "Nodules", "bullae"; "masses"; "diagnoses"; "opacities"; "hemithoraces"
    ("s", ""), ("ae", "a"), ("es", ""), ("es", "is"), ("ies", "y"), ("ces", "x"),
)  # fmt: skip


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
        for ending, singular_ending in _SINGULAR_ENDINGS:
            stem = word.removesuffix(ending)
            if stem != word and len(stem) >= _SHORTEST_STEM:
                return stem + singular_ending
        return word

    def with_plurals(self, word: str) -> set[str]:
        """List the singular of a word and its plurals, regular and listed."""
        singular = self.of_word(word)
        forms = {word, singular}
        for plural, its_singular in self._singular_by_plural.items():
            if its_singular == singular:
                forms.add(plural)
        for ending, plural_ending in _PLURAL_ENDINGS:
            if singular.endswith(ending) and singular not in self._invariable:
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
        for ending, singular_ending in _POSSIBLE_ENDINGS:
            if token.endswith(ending):
                forms.add(token.removesuffix(ending) + singular_ending)
    return frozenset(forms)
