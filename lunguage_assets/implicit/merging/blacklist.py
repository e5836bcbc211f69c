"""Pairs that keep two findings apart whatever their similarity (implicit.md section 2).

The pairs are data (`resources/blacklist.yaml`); numbers, levels and directions of change are in
`distinctions.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

from pydantic import model_validator

from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.rows import collapsed, tokens, word_forms
from lunguage_assets.implicit.yaml_file import YamlMapping, read_yaml, wrong_at


class _PairsFile(YamlMapping):
    paper_pairs: list[tuple[str, str]] = []
    term_pairs: list[tuple[str, str]] = []
    exact_pairs: list[tuple[str, str]] = []

    @model_validator(mode="after")
    def _single_words_each_once(self) -> Self:
        seen: set[frozenset[str]] = set()
        for field, pairs in self:
            for number, pair in enumerate(pairs):
                both, words = frozenset(map(collapsed, pair)), field != "exact_pairs"
                if not all(both) or (words and any(tokens(term) != (term,) for term in both)):
                    problem = f"{pair}, expected single words, or whole phrases under exact_pairs"
                    raise wrong_at((field, number), problem)
                if words and (len(both) == 1 or both in seen):
                    raise wrong_at((field, number), f"{pair} is listed twice, or one word paired with itself")
                seen.add(both)
        return self


class Marks(NamedTuple):
    """The listed words and whole phrases of a finding, and what the other finding must not say."""

    said: frozenset[object]
    opposite: frozenset[object]

    def separate(self, other: Marks) -> bool:
        """Whether a pair has one member here and the other there."""
        return not self.said.isdisjoint(other.opposite)


class Blacklist:
    """Pairs that must never be merged.

    `paper_pairs` (the paper's) and `term_pairs` are pairs of single words, `exact_pairs` of whole phrases;
    all are symmetric.
    """

    def __init__(
        self,
        term_pairs: Iterable[tuple[str, str]],
        exact_pairs: Iterable[tuple[str, str]] = (),
        paper_pairs: Iterable[tuple[str, str]] = (),
    ) -> None:
        self._paper_pairs = tuple((collapsed(a), collapsed(b)) for a, b in paper_pairs)
        self.term_pairs = (*self._paper_pairs, *((collapsed(a), collapsed(b)) for a, b in term_pairs))
        phrases = [((collapsed(a),), (collapsed(b),)) for a, b in exact_pairs]
        self._opposites: dict[object, set[object]] = {}
        """Of a word, or of a phrase in a tuple of its own."""
        for a, b in (*self.term_pairs, *phrases):
            self._opposites.setdefault(a, set()).add(b)
            self._opposites.setdefault(b, set()).add(a)
        self._listed = cache(lambda token: [form for form in word_forms(token) if form in self._opposites])

    def of_the_paper(self) -> Blacklist:
        """The paper's pairs alone, for mode `paper`; raises `ConfigurationError` when the file lists none."""
        if not self._paper_pairs:
            raise ConfigurationError(
                "the blacklist has no paper_pairs, and mode 'paper' "
                "uses nothing else. Restore them, or use mode 'method'."
            )
        return Blacklist((), (), self._paper_pairs)

    def marks(self, texts: Iterable[str], phrases: Iterable[str] = ()) -> Marks:
        """The blacklisted words of a finding, plurals too.

        `texts` are read word by word; `phrases` are its whole wordings, for the exact pairs.
        """
        said: set[object] = {form for text in texts for token in tokens(text) for form in self._listed(token)}
        said.update((phrase,) for phrase in map(collapsed, phrases) if (phrase,) in self._opposites)
        return Marks(frozenset(said), frozenset[object]().union(*(self._opposites[one] for one in said)))

    def separates(self, a: str, b: str) -> bool:
        """Whether a pair keeps two plain phrases apart."""
        return self.marks([a], [a]).separate(self.marks([b], [b]))


def load_blacklist(path: Path | None = None) -> Blacklist:
    """The packaged blacklist, or the file at `path`; raises `ConfigurationError` naming line and field."""
    content = read_yaml(path or resource("blacklist.yaml"), _PairsFile)
    return Blacklist(content.term_pairs, content.exact_pairs, content.paper_pairs)
