"""Two judgements of one part of the body: a row for each, one abnormal and one normal.

"The heart is large, of normal contour" is said along two axes, size and contour. Along
one axis, or where a word names none ("normal, but enlarged"), what is abnormal decides,
and there is one row.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import filterfalse

from lunguage_assets.assertion.axes import axes_of
from lunguage_assets.assertion.units import TaggedToken
from lunguage_assets.structuring.contract import Span
from lunguage_assets.structuring.rules.drafts import MentionDraft, judges


def divide_by_axis(drafts: list[MentionDraft], text: str) -> list[MentionDraft]:
    """Divide what is judged normal along one axis and abnormal along another.

    Args:
        drafts: of a sentence, in their order.
        text: of the sentence.

    Returns:
        The drafts, with two in the place of each that was divided.
    """
    return [part for draft in drafts for part in _divided(draft, text)]


def judgements_of(draft: MentionDraft) -> list[TaggedToken]:
    """Take the words that call a part of the body normal or abnormal."""
    return list(filter(judges, draft.modifiers))


def is_wrong(judgement: TaggedToken) -> bool:
    """Whether a judgement calls a part of the body abnormal.

    "enlarged", "not normal".
    """
    return (judgement.kind == "abnormal") != judgement.is_denied


def _divided(draft: MentionDraft, text: str) -> list[MentionDraft]:
    if draft.is_finding:
        return [draft]
    judgements = judgements_of(draft)
    wrong = list(filter(is_wrong, judgements))
    right = list(filterfalse(is_wrong, judgements))
    wrong_axes = _axes(wrong, text)
    right_axes = _axes(right, text)
    # A word without an axis ("unremarkable") is said of all of them.
    if not wrong_axes or not right_axes or wrong_axes & right_axes:
        return [draft]
    in_order = sorted((wrong, right), key=lambda words: words[0].begin)
    return [
        replace(draft, modifiers=_words_with(draft, judgements))
        for judgements in in_order
    ]


def _axes(judgements: list[TaggedToken], text: str) -> set[str]:
    spans = [Span(word.begin, word.end) for word in judgements]
    return set[str]().union(*(axes_of(span.of(text)) for span in spans))


def _words_with(
    draft: MentionDraft, judgements: list[TaggedToken]
) -> list[TaggedToken]:
    """Take judgements, each with the words before it.

    "The heart is mildly enlarged, of normal contour": "mildly" belongs to "enlarged".
    """
    words: list[TaggedToken] = []
    waiting: list[TaggedToken] = []
    for word in sorted(draft.modifiers, key=lambda word: word.begin):
        waiting.append(word)
        if judges(word):
            if word in judgements:
                words += waiting
            waiting = []
    return words
