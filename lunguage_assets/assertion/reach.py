"""How far a cue reaches: the list behind it, the list before it, and what ends a list.

Every function looks from the cue outwards, until something ends the reach: a reading is
linear in its sentence.
"""

from __future__ import annotations

from itertools import takewhile

from lunguage_assets.assertion.units import JOINTS, Unit, first_beyond, first_kind
from lunguage_assets.assertion.vocabulary import Kind, Sense
from lunguage_assets.assertion.word_files import WORDS

OWN_WORDS: frozenset[Kind] = frozenset(
    {"word", "place", "anatomy", "abnormal", "other"}
)
"""What stands between a word and the finding that it is said of."""
STATEMENT_BEGINS = frozenset(
    {"no_change", "severity", "improved", "worsened", "measurement"}
)
"""Columns of words that begin a statement of their own: "no effusion, mild edema"."""
_BEGINS_BEHIND_HEDGE = STATEMENT_BEGINS | {
    "morphology", "distribution", "onset",
}  # fmt: skip
"""The same, behind a hedge: "may represent scarring, scattered calcifications"."""

LONGEST_CHAIN = 3
"""Hedges that may stand between a finding and a cue behind it."""


def list_behind(units: list[Unit], at: int) -> list[Unit]:
    """List findings and predicates behind a hedge: the first, and what is joined."""
    reached: list[Unit] = []
    passed_hedges = 0
    for position in range(at + 1, len(units)):
        unit = units[position]
        if unit.aside or unit.kind in ("break", "ended", "negated before"):
            break
        passed_hedges += unit.kind == "hedged"
        if passed_hedges > LONGEST_CHAIN:
            break
        if unit.doubts:
            break  # "is favored over scarring"
        if reached and unit.kind == "negated" and reaches_next(unit):
            # "Likely atelectasis, not pneumonia": what is likely is the denial, too.
            behind = finding_beside(units, position, 1)
            is_denied = behind is not None and bool(behind.negation)
            return [*reached, behind] if behind is not None and is_denied else reached
        if units[at].stops_at(unit):
            break
        if unit.kind == "negated" and (reached or unit.doubts):
            break  # "is favored over edema"
        if reached and unit.kind in ("with", "copula", "hedged"):
            break
        if unit.kind in ("finding", "abnormal"):
            reached.append(unit)
        elif unit.kind in ("comma", "and"):
            if not reached:
                if _joins_words(units, position) or _is_said_on(units, position):
                    continue
                break
            if units[position - 1].kind in JOINTS or unit.form == "/":
                continue  # "questionable airspace disease/atelectasis" is one doubt
            if _is_before_not(units, position):
                continue
            if reaches_next(units[at]) and not _has_alternative_ahead(
                units[position + 1 :]
            ):
                break
            if is_statement_behind(units, position, units[at]):
                if unit.kind == "comma":
                    _separate(units, position)
                break
    return reached


def _separate(units: list[Unit], at: int) -> None:
    """Make a comma a break where a finding begins a statement behind it."""
    behind = first_beyond(units[at + 1 :], OWN_WORDS)
    if behind is not None and behind.kind == "finding":
        units[at].become(Sense("break"))


def _is_before_not(units: list[Unit], at: int) -> bool:
    """ "Likely atelectasis, not pneumonia", "... and not pneumonia"."""
    following = units[at + 1] if at + 1 < len(units) else units[at]
    return following.kind == "negated" and reaches_next(following)


def _joins_words(units: list[Unit], at: int) -> bool:
    """Whether an "and" is inside a phrase: "possible right third and fourth rib"."""
    if units[at].form == "/":
        return True
    following = units[min(at + 1, len(units) - 1)]
    around = {units[at - 1].kind, following.kind}
    return units[at].kind == "and" and around in ({"place"}, {"word"})


def _is_relative(units: list[Unit], at: int, cue: int) -> bool:
    """Whether "which" or "that" stands here, with nothing but a verb before the cue."""
    if units[at].kind != "break" or units[at].form not in ("which", "that"):
        return False
    if units[cue].kind not in ("ended", "negated before"):
        return False
    if any(unit.form in WORDS["one_view"] for unit in units[cue + 1 : cue + 3]):
        return False  # "which is not evident on the lateral view"
    return all(unit.kind in ("copula", "other", "seen") for unit in units[at + 1 : cue])


def _begin_of_parenthesis(units: list[Unit], at: int) -> int:
    """Find where the aside begins that a comma closes.

    "Edema, as opposed to infection, is suspected" suspects edema.

    Returns:
        The position of its first comma; that behind the last one where there is none.
    """
    for position in range(at - 1, 0, -1):
        if units[position].kind == "comma":
            first = units[position + 1]
            is_doubt = first.kind == "negated" and first.doubts
            return position if is_doubt else at + 1
        if units[position].kind in ("break", "copula"):
            return at + 1
    return at + 1


def _is_said_on(units: list[Unit], at: int) -> bool:
    """ "Is not diagnostic of, but suggestive of, edema": the comma ends no hedge."""
    return units[at].kind == "comma" and units[at - 1].form in WORDS["said_on"]


def list_before(
    units: list[Unit], at: int, *, of_alternatives: bool = False, of_hedge: bool = False
) -> list[Unit]:
    """List the finding before a cue, and those joined to it, the nearest first.

    A comma joins where the list has an "and" or "or": "A, B and C are absent".

    Args:
        units: of the sentence.
        at: position of the cue.
        of_alternatives: the cue is the "or" itself.
        of_hedge: "A, and B cannot be excluded" is of B only.
    """
    reached: list[Unit] = []
    is_joined = True
    chain = at
    # "A, B, and C are considerations" is of all three.
    is_plural = units[at].form in WORDS["plural_verbs"]
    is_list = is_plural or (of_alternatives and units[at].form == "or")
    begin_of_parenthesis = at
    for position in range(at - 1, -1, -1):
        unit = units[position]
        if unit.kind == "comma" and not reached:
            begin_of_parenthesis = _begin_of_parenthesis(units, position)
        if position >= begin_of_parenthesis:
            continue
        if not reached and _is_relative(units, position, at):
            continue  # "consolidation, which is no longer visible"
        ends = ("break", "negated", "negated before", "hedged", "ended", "with")
        if unit.kind == "hedged" and position == chain - 1 >= at - LONGEST_CHAIN:
            chain = position
            continue  # "is probably not seen", "would be difficult to exclude"
        if unit.aside or unit.kind in ends or units[at].stops_at(unit):
            break
        if unit.kind == "finding":
            # "Opacity, atelectasis or pneumonia": the sign is there, causes are open.
            is_sign = bool(reached) and of_alternatives and unit.name in WORDS["signs"]
            if not is_joined or is_sign:
                break
            reached.append(unit)
            if reaches_next(units[at]):
                break
            is_joined = False
        elif unit.form == "either" or (
            of_hedge
            and not is_plural
            and unit.kind == "and"
            and units[position - 1].kind == "comma"
        ):
            break
        elif of_alternatives and unit.kind == "and" and unit.form != "/":
            break  # "A and B or C": A is there
        elif unit.kind == "alternative" and of_alternatives and reached:
            break  # what stands before another "or" is that one's
        elif unit.kind in ("and", "alternative"):
            is_joined = is_list = True
        elif unit.kind == "comma":
            is_joined = is_joined or (is_list and bool(reached))
        elif unit.kind in ("copula", "link", "seen") and reached:
            break
    return reached


def is_statement_behind(units: list[Unit], at: int, cue: Unit) -> bool:
    """Whether a list ends at this joint, because something else is stated behind it.

    Args:
        units: of the sentence.
        at: position of the joint.
        cue: the denial or hedge whose list it is.
    """
    joint = list(takewhile(_is_joint, units[at + 1 :]))
    if any(unit.kind == "alternative" for unit in joint):
        return False
    behind = units[at + 1 + len(joint) :]
    if not behind or behind[0].kind in ("negated", "break", "hedged", "past"):
        return True
    if units[at - 1].kind == "seen" and not _has_alternative_ahead(behind):
        # "No effusion is seen (blunting may be scarring)": its verb has closed the list.
        return True
    if _describes_anatomy(behind):
        return True
    is_hedge = cue.kind == "hedged"
    if reaches_next(cue) and units[at].kind != "comma":
        return True
    if is_hedge and units[at].kind == "and":
        return False
    columns = _BEGINS_BEHIND_HEDGE if is_hedge else STATEMENT_BEGINS
    first = first_beyond(behind, ("place", "other")) or behind[-1]
    is_stated = first.form in WORDS["stated"] and not is_hedge
    is_description = first.kind in ("word", "abnormal") and first.code in columns
    if not is_stated and not is_description:
        return False
    return not _has_alternative_ahead(behind[behind.index(first) :])


def reaches_next(cue: Unit) -> bool:
    """Whether a cue is said of what follows directly only: "possible", "not"."""
    return cue.reaches("next")


def _is_joint(unit: Unit) -> bool:
    return unit.kind in JOINTS or unit.kind == "with"


def _describes_anatomy(units: list[Unit]) -> bool:
    """Whether a part of the body is described: "... and the heart is large"."""
    is_anatomy_named = False
    for number, unit in enumerate(units, start=1):
        if unit.kind == "normal" or (unit.kind == "copula" and is_anatomy_named):
            return True
        if unit.kind == "abnormal":
            ahead = first_kind(units[number:], {"anatomy", "finding", *JOINTS})
            if is_anatomy_named or ahead == "anatomy":
                return True
        if unit.kind in JOINTS or unit.kind in ("finding", "break", "copula"):
            return False
        is_anatomy_named = is_anatomy_named or unit.kind == "anatomy"
    return False


def _has_alternative_ahead(units: list[Unit]) -> bool:
    """Whether the list goes on to an "or"."""
    stops = ("alternative", "break", "copula", "negated", "with", "hedged")
    return first_kind(units, stops) == "alternative"


def finding_beside(units: list[Unit], at: int, step: int) -> Unit | None:
    """Find the finding next to a joint, with nothing but its own words between.

    Args:
        units: of the sentence.
        at: position of the joint.
        step: 1 to look behind it, -1 to look before it.
    """
    between = {*OWN_WORDS, "preposition", "comma", "hedged"}
    beside = units[at + 1 :] if step > 0 else reversed(units[:at])
    for unit in beside:
        if unit.kind == "finding":
            return None if unit.aside else unit
        is_doubt = step > 0 and unit.kind == "negated" and unit.doubts
        if not is_doubt and unit.kind not in between:
            return None
    return None
