"""Two judgements of one part of the body: a row for what is abnormal of it, and one for what is normal.

"The heart is large, of normal contour" is said along two axes, size and contour. Along one axis, or where a
word names none ("normal, but enlarged"), what is abnormal decides, and there is one row.
"""

from __future__ import annotations

from collections.abc import Iterator

from lunguage_assets.assertion.axes import axes_of, has_axes
from lunguage_assets.assertion.units import TaggedToken
from lunguage_assets.structuring.rules.drafts import Draft


def divide_by_axis(drafts: list[Draft], text: str) -> list[Draft]:
    """Divide the drafts that are judged normal along one axis and abnormal along another.

    Args:
        drafts: of a sentence, in their order.
        text: of the sentence.

    Returns:
        The drafts, with two in the place of each that was divided.
    """
    divided: list[Draft] = []
    for draft in drafts:
        divided += _divided(draft, text)
    for draft in divided:
        draft.is_divided = draft.is_divided or _is_judged_otherwise(draft, divided)
    return divided


def _divided(draft: Draft, text: str) -> Iterator[Draft]:
    judgements = [word for word in draft.words if word.kind in ("normal", "abnormal")]
    if draft.is_finding or not has_axes(draft.unit.name):
        yield draft
        return
    wrong = [word for word in judgements if is_wrong(word)]
    right = [word for word in judgements if not is_wrong(word)]
    axes_of_wrong = [axes_of(text[word.begin : word.end]) for word in wrong]
    axes_of_right = [axes_of(text[word.begin : word.end]) for word in right]
    are_named = all(axes_of_wrong) and all(axes_of_right)
    shared = frozenset[str]().union(*axes_of_wrong) & frozenset[str]().union(
        *axes_of_right
    )
    if not wrong or not right or not are_named or shared:
        yield draft
        return
    first = wrong if wrong[0].begin < right[0].begin else right
    second = right if first is wrong else wrong
    for judging in (first, second):
        part = Draft(draft.unit, draft.places, _words_of(draft, judging))
        part.groups, part.links, part.organ = draft.groups, draft.links, draft.organ
        part.is_divided = True
        yield part


def is_wrong(judgement: TaggedToken) -> bool:
    """Whether a judgement calls a part of the body abnormal: "enlarged", "not normal"."""
    return (judgement.kind == "abnormal") != bool(judgement.negation)


def _words_of(draft: Draft, judging: list[TaggedToken]) -> list[TaggedToken]:
    """Take the judgements, and of the other words those that stand before one of them, or behind the last."""
    words = sorted(draft.words, key=lambda word: word.begin)
    taken: list[TaggedToken] = []
    waiting: list[TaggedToken] = []
    is_ours = False
    for word in words:
        if word.kind not in ("normal", "abnormal"):
            waiting.append(word)
            continue
        is_ours = word in judging
        if is_ours:
            taken += [*waiting, word]
        waiting = []
    return [*taken, *waiting] if is_ours else taken


def _is_judged_otherwise(draft: Draft, others: list[Draft]) -> bool:
    """Whether the sentence has another row of the same part at the same place."""
    return not draft.is_finding and any(
        other is not draft
        and other.unit.name == draft.unit.name
        and other.places == draft.places
        for other in others
    )
