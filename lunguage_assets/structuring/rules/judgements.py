"""Two judgements of one part of the body: a row for each, one abnormal and one normal.

"The heart is large, of normal contour" is said along two axes, size and contour. Along
one axis, or where a word names none ("normal, but enlarged"), what is abnormal decides,
and there is one row.
"""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.assertion.axes import axes_of, has_axes
from lunguage_assets.assertion.units import TaggedToken
from lunguage_assets.structuring.rules.drafts import MentionDraft


def divide_by_axis(drafts: list[MentionDraft], text: str) -> list[MentionDraft]:
    """Divide what is judged normal along one axis and abnormal along another.

    Args:
        drafts: of a sentence, in their order.
        text: of the sentence.

    Returns:
        The drafts, with two in the place of each that was divided.
    """
    divided: list[MentionDraft] = []
    for draft in drafts:
        divided += _divided(draft, text)
    for draft in divided:
        draft.is_divided = draft.is_divided or _has_other_row(draft, divided)
    return divided


def judgements_of(draft: MentionDraft) -> list[TaggedToken]:
    """Take the words that call a part of the body normal or abnormal."""
    return [word for word in draft.modifiers if _judges(word)]


def is_wrong(judgement: TaggedToken) -> bool:
    """Whether a judgement calls a part of the body abnormal.

    "enlarged", "not normal".
    """
    return (judgement.kind == "abnormal") != bool(judgement.negation)


def _divided(draft: MentionDraft, text: str) -> list[MentionDraft]:
    if draft.is_finding or not has_axes(draft.head.name):
        return [draft]
    judgements = judgements_of(draft)
    wrong = [word for word in judgements if is_wrong(word)]
    right = [word for word in judgements if not is_wrong(word)]
    if not wrong or not right or not _are_along_different_axes(wrong, right, text):
        return [draft]
    is_wrong_first = wrong[0].begin < right[0].begin
    in_order = (wrong, right) if is_wrong_first else (right, wrong)
    return [
        replace(draft, modifiers=_words_with(draft, judgements), is_divided=True)
        for judgements in in_order
    ]


def _are_along_different_axes(
    wrong: list[TaggedToken], right: list[TaggedToken], text: str
) -> bool:
    axes_of_wrong = _axes(wrong, text)
    axes_of_right = _axes(right, text)
    # A word without an axis ("unremarkable") is said of all of them.
    are_all_named = all(axes_of_wrong) and all(axes_of_right)
    together_wrong = frozenset[str]().union(*axes_of_wrong)
    together_right = frozenset[str]().union(*axes_of_right)
    return are_all_named and together_wrong.isdisjoint(together_right)


def _axes(judgements: list[TaggedToken], text: str) -> list[frozenset[str]]:
    return [axes_of(text[word.begin : word.end]) for word in judgements]


def _words_with(
    draft: MentionDraft, judgements: list[TaggedToken]
) -> list[TaggedToken]:
    """Take judgements, each with the words before it, the last with those behind it.

    "The heart is mildly enlarged, of normal contour": "mildly" belongs to "enlarged".
    """
    words: list[TaggedToken] = []
    waiting: list[TaggedToken] = []
    is_last_taken = False
    for word in sorted(draft.modifiers, key=lambda word: word.begin):
        waiting.append(word)
        if _judges(word):
            is_last_taken = word in judgements
            if is_last_taken:
                words += waiting
            waiting = []
    return words + waiting if is_last_taken else words


def _judges(word: TaggedToken) -> bool:
    return word.kind in ("normal", "abnormal")


def _has_other_row(draft: MentionDraft, drafts: list[MentionDraft]) -> bool:
    """Whether another row has the same part of the body at the same location."""
    if draft.is_finding:
        return False
    rows_of_part = [
        row
        for row in drafts
        if row.head.name == draft.head.name and row.locations == draft.locations
    ]
    return len(rows_of_part) > 1
