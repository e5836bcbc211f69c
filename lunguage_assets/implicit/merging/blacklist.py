"""Pairs that keep two findings apart whatever their similarity (implicit.md section 2).

The pairs are data (`resources/blacklist.yaml`); numbers, levels and directions of change, which are rules and
not lists, are in `distinctions.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.pathways.annotated_yaml import YamlMapping, read_annotated
from lunguage_assets.implicit.words import collapsed, tokens, word_forms


class _PairsFile(YamlMapping):
    paper_pairs: list[tuple[str, str]] = []
    term_pairs: list[tuple[str, str]] = []
    exact_pairs: list[tuple[str, str]] = []


@dataclass(frozen=True, slots=True)
class BlacklistMarks:
    """The blacklisted words of one finding.

    `first` and `second` are bits over the pairs, one for each side; `phrases` are its listed whole phrases.
    """

    first: int
    second: int
    phrases: frozenset[str]


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
        self.exact_pairs = frozenset(frozenset((collapsed(a), collapsed(b))) for a, b in exact_pairs)
        self._listed = frozenset(phrase for pair in self.exact_pairs for phrase in pair)
        self._bits: dict[str, tuple[int, int]] = {}
        self._bits_of = cache(self._bits_of_token)
        for number, (a, b) in enumerate(self.term_pairs):
            for term, first, second in ((a, 1 << number, 0), (b, 0, 1 << number)):
                before = self._bits.get(term, (0, 0))
                self._bits[term] = before[0] | first, before[1] | second

    def of_the_paper(self) -> Blacklist:
        """The paper's pairs alone, for mode `paper`; raises `ConfigurationError` when the file lists none."""
        if not self._paper_pairs:
            raise ConfigurationError(
                "the blacklist has no paper_pairs, and mode 'paper' "
                "uses nothing else. Restore them, or use mode 'method'."
            )
        return Blacklist((), (), self._paper_pairs)

    def _bits_of_token(self, token: str) -> tuple[int, int]:
        """The bits of a word, which may be a plural."""
        first = second = 0
        for form in word_forms(token):
            bits = self._bits.get(form, (0, 0))
            first, second = first | bits[0], second | bits[1]
        return first, second

    def marks(self, texts: Iterable[str], phrases: Iterable[str] = ()) -> BlacklistMarks:
        """The blacklisted words of a finding.

        `texts` are read word by word; `phrases` are its whole wordings, for the exact pairs.
        """
        first = second = 0
        for text in texts:
            for token in tokens(text):
                bits = self._bits_of(token)
                first, second = first | bits[0], second | bits[1]
        exact = frozenset(map(collapsed, phrases)) & self._listed if self._listed else frozenset[str]()
        return BlacklistMarks(first, second, exact)

    def separates(self, a: BlacklistMarks, b: BlacklistMarks) -> bool:
        """Whether a pair has one member in `a` and the other in `b`."""
        if a.first & b.second or a.second & b.first:
            return True
        if not (a.phrases and b.phrases):
            return False
        return any(frozenset((p, q)) in self.exact_pairs for p in a.phrases for q in b.phrases)

    def separates_phrases(self, a: str, b: str) -> bool:
        """The same for two plain phrases."""
        return self.separates(self.marks([a], [a]), self.marks([b], [b]))


def load_blacklist(path: Path | None = None) -> Blacklist:
    """The packaged blacklist, or the file at `path`; raises `ConfigurationError` naming line and field."""
    source = read_annotated(path if path is not None else resource("blacklist.yaml"))
    content = source.validated(_PairsFile)
    seen: set[frozenset[str]] = set()
    for field, pairs in content:
        for number, (a, b) in enumerate(pairs):
            words = field != "exact_pairs"
            pair = frozenset((collapsed(a), collapsed(b)))
            if not all(pair) or (words and any(tokens(term) != (term,) for term in pair)):
                expected = "single words; list whole phrases under exact_pairs" if words else "two phrases"
                raise source.error((field, number), f"{a!r}, {b!r}", f"Expected {expected}.")
            if words and (len(pair) == 1 or pair in seen):
                problem = f"the pair {a!r}, {b!r} is listed twice, or a word paired with itself"
                raise source.error((field, number), problem, "Remove it.")
            seen.add(pair)
    return Blacklist(content.term_pairs, content.exact_pairs, content.paper_pairs)
