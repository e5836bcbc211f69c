"""Replacing the mentions of a finding in its sentence by `<finding>` (explicit.md section 0)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

MASK = "<finding>"
_GAP = r"[\s\-/]+"


def mask(sentence: str, mentions: Sequence[str]) -> str | None:
    """The sentence with every mention replaced, or None when none occurs.

    Mentions are tried in order and the first that occurs is used; matching is on word boundaries, case-insensitive, tolerant of plurals and of
    white space, hyphens and slashes between words. A sentence that already shows the mask is ambiguous and counts as not located.
    """
    if MASK in sentence.lower():
        return None
    for mention in mentions:
        pattern = _pattern(mention)
        if pattern is not None:
            masked, count = pattern.subn(MASK, sentence)
            if count:
                return masked
    return None


@lru_cache(maxsize=65536)
def _pattern(mention: str) -> re.Pattern[str] | None:
    words = [word for word in re.split(_GAP, mention.strip()) if word]
    if not words:
        return None
    *first, last = words
    body = _GAP.join([*(re.escape(word) for word in first), _with_plurals(last)])
    return re.compile(rf"(?<!\w){body}(?!\w)", re.IGNORECASE)


def _with_plurals(word: str) -> str:
    """The word, its plurals, and its singular when it looks like a plural."""
    forms = {word, word + "s", word + "es"}
    lower = word.lower()
    if lower.endswith("y"):
        forms.add(word[:-1] + "ies")
    if lower.endswith("ies"):
        forms.add(word[:-3] + "y")
    if lower.endswith("s") and not lower.endswith(("ss", "is", "us")) and len(word) > 3:
        forms.add(word[:-1])
    if lower.endswith("es") and len(word) > 4:
        forms.add(word[:-2])
    if lower.endswith("is"):
        forms.add(word[:-2] + "es")
    if lower.endswith("thorax"):
        forms.add(word[:-1] + "ces")
    if lower.endswith("thoraces"):
        forms.add(word[:-3] + "x")
    if lower.endswith("a"):
        forms.add(word + "e")
    return "(?:" + "|".join(re.escape(form) for form in sorted(forms, key=lambda form: (-len(form), form))) + ")"
