"""Replaces the mentions of a finding in its sentence by `<finding>` (explicit.md section 0).

The easy version, `sentence.replace(ent, "<finding>")`, misses "Nodules" for nodule and "ground glass" for
ground-glass, and masks half of "opacification".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lunguage_assets.corpus.vocabulary import Vocabulary

MASK = "<finding>"
_GAP = re.compile(r"([\s\-\u2010-\u2014/]+)")
_ANY_GAP = r"[\s\-\u2010-\u2014/]"
_LETTERS = re.compile(r"[^\W\d_]{3,}")


def shows_mask(sentence: str) -> bool:
    """Whether the sentence itself contains the mask.

    The masked finding could then not be found again.
    """
    return MASK in sentence.lower()


class Masker:
    """Finds findings in sentences, with the plurals and spellings of a vocabulary.

    The pattern of a finding is compiled once.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._patterns: dict[tuple[str, ...], re.Pattern[str] | None] = {}

    def masked(self, sentence: str, ent: str, normed_ent: str = "") -> str | None:
        """The sentence with every mention of the finding as `<finding>`.

        None when the finding is not mentioned or the mask is already there. The finding is sought as it is
        worded; only when that does not occur, in its canonical form; only then in the vocabulary's other
        spellings of it, the longest first.
        """
        if shows_mask(sentence):
            return None
        for wordings in ((ent,), (normed_ent,)):
            found = self._replaced(sentence, wordings)
            if found is not None:
                return found
        return self._replaced(sentence, self._vocabulary.spellings(normed_ent or ent))

    def _replaced(self, sentence: str, wordings: Sequence[str]) -> str | None:
        key = tuple(wordings)
        if key not in self._patterns:
            self._patterns[key] = self._pattern(key)
        pattern = self._patterns[key]
        if pattern is None:
            return None
        masked, count = pattern.subn(MASK, sentence)
        return masked if count else None

    def _pattern(self, wordings: Sequence[str]) -> re.Pattern[str] | None:
        bodies = [body for body in map(self._body, wordings) if body]
        if not bodies:
            return None
        return re.compile(r"(?<![^\W_])(?:" + "|".join(bodies) + r")(?![^\W_])", re.IGNORECASE)

    def _body(self, wording: str) -> str:
        """Pattern of a name in which white space, hyphens and slashes stand for each other.

        A hyphen may also be left out ("re-expansion", "reexpansion").
        """
        pieces = _GAP.split(wording.strip(" \t\r\n.,;:-/"))
        if not any(character.isalnum() for character in wording):
            return ""
        body = ""
        for place, piece in enumerate(pieces):
            if place % 2 == 0:
                body += self._word(piece)
            else:
                body += _ANY_GAP + ("*" if set(piece) <= set("-\u2010\u2011\u2012\u2013\u2014") else "+")
        return body

    def _word(self, word: str) -> str:
        if not _LETTERS.fullmatch(word):
            return re.escape(word)
        forms = sorted(
            {word.lower(), *self._vocabulary.word_forms(word)}, key=lambda form: (-len(form), form)
        )
        return "(?:" + "|".join(re.escape(form) for form in forms) + ")"
