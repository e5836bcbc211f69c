"""What a sentence states that names no finding: "Normal examination." (method.md 7).

Limits of an examination beside a finding are its attributes; only without a finding
they are a row of their own (method.md 7, point 8).
"""

from __future__ import annotations

from lunguage_assets.assertion.units import LIMITATION, TaggedToken
from lunguage_assets.assertion.vocabulary import LexiconEntry
from lunguage_assets.structuring.rules.drafts import MentionDraft

_NORMAL_CHEST = LexiconEntry("anatomy", "chest", "normal")
_LIMITED_EXAMINATION = LexiconEntry("finding", "limited examination", "PF")


def conclusion(tokens: list[TaggedToken]) -> list[MentionDraft]:
    """Draft what a sentence concludes of the examination as a whole, if anything.

    Args:
        tokens: of a sentence that names neither finding nor part of the body.
    """
    return _normal_examination(tokens) or _limited_examination(tokens)


def _normal_examination(tokens: list[TaggedToken]) -> list[MentionDraft]:
    """ "The examination is normal", "Normal."."""
    # What is more than grammar.
    telling = [
        token
        for token in tokens
        if token.kind not in ("examined", "break", "copula", "comma")
    ]
    # One other word, as in "Normal variant.", and it is no conclusion on everything.
    if not telling or not all(_is_all_clear(token) for token in telling):
        return []
    telling[0].become(_NORMAL_CHEST)
    return [MentionDraft(telling[0], [], [])]


def _is_all_clear(token: TaggedToken) -> bool:
    """ "Normal"; "negative", which denies nothing that is named."""
    is_normal = token.kind == "normal" and token.code == "measurement"
    return is_normal or token.cue.id == "negated.negative"


def _limited_examination(tokens: list[TaggedToken]) -> list[MentionDraft]:
    """ "Evaluation is limited by rotation": a row of the limit, at what it hides."""
    limits = [token for token in tokens if token.code == LIMITATION.code]
    if not limits:
        return []
    # Copies, because the first of them becomes the row's head and is an attribute too.
    words = [token.copy() for token in limits]
    locations = [token for token in tokens if token.kind in ("anatomy", "place")]
    limits[0].become(_LIMITED_EXAMINATION)
    return [MentionDraft(limits[0], locations, words)]
