"""Words that were taken out between a sign and a diagnosis: they may have been a hedge.

"Opacity ___ atelectasis" may have said "likely": the diagnosis is hedged, and no judge
knows by what. No word list and no second reader can tell either.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from lunguage_assets.assertion.cues import Cue
from lunguage_assets.assertion.tokens import GAP
from lunguage_assets.assertion.units import DEVICE, UNKNOWN, TaggedToken
from lunguage_assets.assertion.vocabulary import Kind, LexiconEntry
from lunguage_assets.assertion.word_files import WORDS

_REDACTION = LexiconEntry(
    "hedged", cue=Cue.model_construct(id="hedged.redaction", category="hedged")
)
_BEGIN = TaggedToken(UNKNOWN, "", 0, 0)
"""Stands before the first word."""
_ENDS: frozenset[Kind] = frozenset({"break", "with", "negated", "alternative"})
"""What begins something else than the meaning of a sign."""
_BEHIND_NOUN: frozenset[Kind] = _ENDS | {"and", "comma", "preposition"}
"""Behind these what was taken out was a noun: "in the left ___, atelectasis"."""


def mark_redactions(tokens: Sequence[TaggedToken]) -> None:
    """Leave open the diagnoses before which words were taken out.

    Args:
        tokens: of the sentence, with what their cues have said; changed in place.
    """
    has_sign = False
    gap: TaggedToken | None = None
    for before, token in pairwise([_BEGIN, *tokens]):
        if before.form == GAP:
            gap = before if _begins_meaning(token, has_sign=has_sign) else None
        if token.kind == "finding":
            if gap is not None and _is_diagnosis(token) and not token.meanings:
                gap.become(_REDACTION)
                token.mark("hedged", gap)
            has_sign = _is_sign(token)
        elif token.kind == "and":
            # "Opacity ___ edema and pneumonia" leaves open both, "opacity and ___
            # edema" none.
            has_sign = False
            gap = gap if gap in before.meanings.values() else None
        elif token.kind == "comma":
            gap = None
        elif token.kind in _ENDS and token.form not in ("that", "which"):
            has_sign = False
            gap = None


def _begins_meaning(token: TaggedToken, *, has_sign: bool) -> bool:
    """Whether what follows words that were taken out may say what a sign means."""
    # "This ___ represents pneumonia": of the sentence before.
    is_meaning = has_sign or token.kind == "link"
    return is_meaning and token.kind not in _BEHIND_NOUN


def _is_diagnosis(finding: TaggedToken) -> bool:
    return finding.code == "CF" or finding.name in WORDS["causes_of_signs"]


def _is_sign(finding: TaggedToken) -> bool:
    """Whether a finding is there, and may be explained by what follows it."""
    if finding.is_denied or finding.code == DEVICE:
        return False
    return not _is_diagnosis(finding) or finding.name in WORDS["explained_signs"]
