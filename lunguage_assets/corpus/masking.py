"""Masked sentences: the finding in question becomes `<finding>`.

A judge compares how sure two sentences are, not what they are sure of. So every
mention of the finding is hidden before a judge sees the sentence (explicit.md
section 0).
"""

from __future__ import annotations

import re
from functools import cache

from lunguage_assets.assertion.plurals import with_plurals
from lunguage_assets.corpus.vocabulary import Vocabulary, longest_first, plain

MASK = "<finding>"
_ANY_GAP = r"[\s\-\u2010-\u2014/]*"
"""Blanks, hyphens and slashes stand for each other, and may be left out
("re-expansion", "reexpansion").
"""
_EDGES = " \t\r\n.,;:-/"


class Masker:
    """Replaces findings in sentences by `<finding>`, in every known spelling."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._pattern = cache(self._whole_words)

    def masked(self, sentence: str, ent: str, normed_ent: str = "") -> str | None:
        """Mask every mention of a finding.

        The finding is sought as it is worded; only when that does not occur, in its
        canonical form; only then in the vocabulary's other spellings of it.

        Args:
            sentence: as delivered.
            ent: the finding in the words of the report.
            normed_ent: its canonical form, if the delivery has one.

        Returns:
            The masked sentence; None when the finding is not mentioned or a mask is
            in the sentence already.
        """
        # A mask of the delivery's own would say "<finding>" of another finding.
        if MASK in sentence.lower():
            return None
        spellings = self._vocabulary.spellings(normed_ent or ent)
        for wordings in ((ent,), (normed_ent,), spellings):
            masked, mentions = self._pattern(wordings).subn(MASK, sentence)
            if mentions:
                return masked
        return None

    def _whole_words(self, wordings: tuple[str, ...]) -> re.Pattern[str]:
        """Compile a pattern of whole words; a wording without a letter is nowhere."""
        bodies = []
        for wording in wordings:
            if any(map(str.isalnum, wording)):
                words = re.split(r"[\s\-\u2010-\u2014/]+", wording.strip(_EDGES))
                bodies.append(_ANY_GAP.join(map(self._word, words)))
        alternatives = "|".join(bodies) or r"(?!)"
        # An underscore ends a word, too.
        whole_words = rf"(?<![^\W_])(?:{alternatives})(?![^\W_])"
        return re.compile(whole_words, re.IGNORECASE)

    def _word(self, word: str) -> str:
        """Write a pattern of a word in its singular and plurals, the longest first."""
        # Short words, and codes such as "T8", have no plural.
        if not re.fullmatch(r"[^\W\d_]{3,}", word):
            return re.escape(word)
        forms = longest_first(with_plurals(plain(word)))
        alternatives = "|".join(map(re.escape, forms))
        return f"(?:{alternatives})"
