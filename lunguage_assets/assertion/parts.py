"""What is said of a part of the body, and along which axis, when its name is left out.

"The heart is large; its contour is normal" names the heart once and judges it twice.
"""

from __future__ import annotations

from typing import NamedTuple

from lunguage_assets.assertion.axes import (
    axes_of,
    has_axes,
    names_axis,
    part_of_size,
)
from lunguage_assets.assertion.units import (
    TaggedToken,
    first_beyond,
    first_kind,
    has_kind,
    is_adjective,
    kind_at,
)
from lunguage_assets.assertion.vocabulary import Kind, LexiconEntry
from lunguage_assets.assertion.word_files import WORDS

_JUDGING: frozenset[Kind] = frozenset({"normal", "abnormal"})
_BEFORE_A_SUBJECT: frozenset[Kind] = frozenset({"place", "word", "normal", "abnormal"})
_BEFORE_A_JUDGEMENT: frozenset[Kind] = frozenset(
    {"other", "copula", "word", "with", "preposition", "hedged", "negated"}
)
"""What may stand between a break and the judgement behind it: "; it is ..."."""
_BETWEEN_NOUN_AND_JUDGEMENT: frozenset[Kind] = frozenset(
    {"other", "copula", "word", "hedged"}
)
_BEHIND_A_PREDICATE = frozenset({"", "break", "comma", "and", "with", "preposition"})
"""What follows a predicate; "" is the end of the sentence."""
_PREDICATES = {
    "normal_of_a_part": LexiconEntry("normal", code="morphology"),
    "abnormal_of_a_part": LexiconEntry("abnormal", code="measurement"),
}
"""Groups of rules.yaml: words that judge a part of the body only as its predicate."""
_SIZE = "size"


class _Part(NamedTuple):
    """What a sentence speaks of.

    Attributes:
        units: the part of the body, behind its sides.
        is_size: whether only its size was named.
    """

    units: list[TaggedToken]
    is_size: bool


def restore_parts(units: list[TaggedToken], text: str) -> None:
    """Put back the part of the body that a clause judges and does not name.

    Nouns that name an axis join the word that says how it is: "contour is normal".

    Args:
        units: of the sentence; changed in place.
        text: of the sentence.
    """
    if not has_kind(units, "anatomy"):
        return
    _read_predicates(units)
    part: _Part | None = None
    at = 0
    while at < len(units):
        unit = units[at]
        if unit.kind == "anatomy":
            part = _part_at(units, at, text)
        elif unit.kind == "finding" and not is_adjective(unit):
            # "The heart is large; an effusion is seen; it is small": the effusion is.
            part = None
        elif part is not None and unit.kind in _JUDGING:
            at = _join_nouns(units, at, text)
            at += _restore(units, at, part, text)
        at += 1


def _read_predicates(units: list[TaggedToken]) -> None:
    """Read words of place as what is said of a part: "the trachea is central".

    "Central opacity" is a place, "high suspicion" no word of a finding.
    """
    for at, unit in enumerate(units):
        sense = _PREDICATES.get(_group_of(unit.form))
        if sense is None or unit.kind not in ("place", "other"):
            continue
        if kind_at(units, at + 1) not in _BEHIND_A_PREDICATE:
            continue
        before = first_beyond(reversed(units[:at]), ("word", "other", "copula"))
        if before is not None and has_axes(before.name):
            unit.become(sense)


def _group_of(form: str) -> str:
    for group in _PREDICATES:
        if form in WORDS[group]:
            return group
    return ""


def _part_at(units: list[TaggedToken], at: int, text: str) -> _Part | None:
    """Take a part of the body with its side; none where something lies there."""
    anatomy = units[at]
    begin = at
    while begin > 0 and units[begin - 1].kind in _BEFORE_A_SUBJECT:
        begin -= 1
    if _names_axis_of(units, begin):
        # "The contour of the heart is normal": the noun says along which axis.
        noun = units[begin - 2]
        is_size = _SIZE in axes_of(noun.form)
        column = "measurement" if is_size else "morphology"
        noun.become(LexiconEntry("word", code=column))
    elif kind_at(units, begin - 1) in ("preposition", "finding", "link"):
        # "Opacity in the left lung": the lung is where something lies.
        return None
    sides = [unit for unit in units[begin:at] if unit.kind == "place"]
    measured = part_of_size(anatomy.name)
    if measured:
        # "Heart size is normal; the shape is globular": the shape is of the heart.
        part = _without_size(anatomy, measured, text)
        return _Part([*sides, part], is_size=True)
    if has_axes(anatomy.name):
        return _Part([*sides, anatomy], is_size=False)
    return None


def _names_axis_of(units: list[TaggedToken], begin: int) -> bool:
    """Whether a noun before tells the axis: "the contour of the heart is normal"."""
    if begin < 2 or units[begin - 1].form != "of":
        return False
    noun = units[begin - 2]
    return noun.kind == "other" and names_axis(noun.form)


def _without_size(size: TaggedToken, part: str, text: str) -> TaggedToken:
    """Make the part whose size was named: "heart" of "heart size"."""
    words = text[size.begin : size.end]
    last_word = words.split()[-1]
    # "Size of the heart" ends in another word, and is quoted as a whole.
    if names_axis(last_word.lower()) and last_word != words:
        words = words.removesuffix(last_word).rstrip()
    end = size.begin + len(words)
    return TaggedToken(LexiconEntry("anatomy", part), size.form, size.begin, end)


def _join_nouns(units: list[TaggedToken], at: int, text: str) -> int:
    """Make the nouns of its axis a part of a judgement that does not say the axis.

    Args:
        units: of the sentence; changed in place.
        at: position of the judgement.
        text: of the sentence.

    Returns:
        Its new position.
    """
    judgement = units[at]
    axes = _axes_said(judgement, text)
    first = _noun_before(units, at, axes)
    if first is not None:
        # "Its contour is normal", "its left border is straightened"
        judgement.begin = units[first].begin
        behind_noun = first + 2 if units[first].kind == "place" else first + 1
        del units[first:behind_noun]
        at -= behind_noun - first
    else:
        last = _noun_behind(units, at)
        if last is None or axes_of(units[last].form) <= axes:
            return at
        # "Of normal shape", "abnormal in shape and position"
        judgement.end = units[last].end
        del units[at + 1 : last + 1]
    if _SIZE not in _axes_said(judgement, text):
        judgement.code = "morphology"
    return at


def _axes_said(judgement: TaggedToken, text: str) -> frozenset[str]:
    return axes_of(text[judgement.begin : judgement.end])


def _noun_before(units: list[TaggedToken], at: int, axes: frozenset[str]) -> int | None:
    """Find the noun of "its contour is normal", with the place of "its left border".

    Args:
        units: of the sentence.
        at: position of the judgement.
        axes: that it says itself: "enlarged" needs no "size" unless that has a place.
    """
    for position in range(at - 1, -1, -1):
        unit = units[position]
        if unit.kind not in _BETWEEN_NOUN_AND_JUDGEMENT:
            return None
        if unit.kind != "other" or not names_axis(unit.form):
            continue
        kind_before = kind_at(units, position - 1)
        if kind_before == "place":
            return position - 1
        # "Cardiac size and contour are normal": the noun is one of two subjects.
        is_listed = kind_before == "and"
        if is_listed or axes_of(unit.form) <= axes:
            return None
        return position
    return None


def _noun_behind(units: list[TaggedToken], at: int) -> int | None:
    """Find the last noun of "normal in size and contour"."""
    last: int | None = None
    for position in range(at + 1, len(units)):
        unit = units[position]
        if names_axis(unit.form):
            # "Normal density" is no finding, "increased density" may be one.
            is_no_finding = unit.kind == "finding" and units[at].kind == "normal"
            if unit.kind != "other" and not is_no_finding:
                break
            last = position
        elif unit.kind not in ("preposition", "and") and unit.form != "for":
            break
    return last


def _restore(units: list[TaggedToken], at: int, part: _Part, text: str) -> int:
    """Put the part back where a clause judges it along an axis and has no subject.

    Returns:
        How many units were inserted.
    """
    axes = _axes_said(units[at], text)
    # "Heart size is normal; it is not enlarged" goes on about the size.
    if not axes or (part.is_size and _SIZE in axes):
        return 0
    begin = at
    while begin > 0 and units[begin - 1].kind in _BEFORE_A_JUDGEMENT:
        begin -= 1
    if kind_at(units, begin - 1) != "break":
        return 0
    # "; enlarged nodes": it judges what follows.
    ends = ("anatomy", "finding", "preposition", "break", "comma", "and", "with")
    if first_kind(units[at + 1 :], ends) in ("anatomy", "finding"):
        return 0
    units[begin:begin] = [unit.copy() for unit in part.units]
    return len(part.units)
