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
    if not any(unit.kind == "anatomy" for unit in units):
        return
    _read_predicates(units)
    part: _Part | None = None
    at = 0
    while at < len(units):
        unit = units[at]
        if unit.kind == "anatomy":
            part = _part_at(units, at, text)
        elif unit.kind == "finding" and not is_adjective(unit):
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
    return next((group for group in _PREDICATES if form in WORDS[group]), "")


def _part_at(units: list[TaggedToken], at: int, text: str) -> _Part | None:
    """Take a part of the body with its side; none where something lies there."""
    begin = at
    while begin and units[begin - 1].kind in _BEFORE_A_SUBJECT:
        begin -= 1
    if _names_axis_of(units, begin):
        noun = units[begin - 2]
        is_size = _SIZE in axes_of(noun.form)
        column = "measurement" if is_size else "morphology"
        noun.become(LexiconEntry("word", code=column))
    elif begin and units[begin - 1].kind in ("preposition", "finding", "link"):
        return None
    sides = [unit for unit in units[begin:at] if unit.kind == "place"]
    measured = part_of_size(units[at].name)
    if measured:
        return _Part([*sides, _without_size(units[at], measured, text)], is_size=True)
    if has_axes(units[at].name):
        return _Part([*sides, units[at]], is_size=False)
    return None


def _names_axis_of(units: list[TaggedToken], begin: int) -> bool:
    """Whether a noun before tells the axis: "the contour of the heart is normal"."""
    if begin < 2 or units[begin - 1].form != "of":
        return False
    noun = units[begin - 2]
    return noun.kind == "other" and names_axis(noun.form)


def _without_size(size: TaggedToken, part: str, text: str) -> TaggedToken:
    """Make the part whose size was named: "heart" of "heart size"."""
    end = size.end
    last_word = text[size.begin : end].split()[-1]
    if names_axis(last_word.lower()) and len(last_word) < end - size.begin:
        end = size.begin + len(text[size.begin : end - len(last_word)].rstrip())
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
    axes = axes_of(text[judgement.begin : judgement.end])
    noun = _noun_before(units, at)
    has_place = noun is not None and noun > 0 and units[noun - 1].kind == "place"
    if noun is not None and (has_place or not axes_of(units[noun].form) <= axes):
        # "Its contour is normal", "its left border is straightened"
        first = noun - has_place
        judgement.begin = units[first].begin
        del units[first : noun + 1]
        at -= 1 + has_place
    else:
        noun = _noun_behind(units, at)
        if noun is None or axes_of(units[noun].form) <= axes:
            return at
        # "Of normal shape", "abnormal in shape and position"
        judgement.end = units[noun].end
        del units[at + 1 : noun + 1]
    if _SIZE not in axes_of(text[judgement.begin : judgement.end]):
        judgement.code = "morphology"
    return at


def _noun_before(units: list[TaggedToken], at: int) -> int | None:
    for position in range(at - 1, -1, -1):
        unit = units[position]
        if unit.kind not in _BETWEEN_NOUN_AND_JUDGEMENT:
            return None
        if unit.kind == "other" and names_axis(unit.form):
            # "Cardiac size and contour are normal": the noun is one of two subjects.
            is_listed = position and units[position - 1].kind == "and"
            return None if is_listed else position
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
    axes = axes_of(text[units[at].begin : units[at].end])
    if not axes or (part.is_size and _SIZE in axes):
        return 0
    begin = at
    while begin and units[begin - 1].kind in _BEFORE_A_JUDGEMENT:
        begin -= 1
    if not begin or units[begin - 1].kind != "break":
        return 0
    # "; enlarged nodes": it judges what follows.
    ends = ("anatomy", "finding", "preposition", "break", "comma", "and", "with")
    if first_kind(units[at + 1 :], ends) in ("anatomy", "finding"):
        return 0
    units[begin:begin] = [unit.copy() for unit in part.units]
    return len(part.units)
