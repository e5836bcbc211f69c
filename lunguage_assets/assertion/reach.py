"""How far a cue reaches: the list behind it, the list before it, and what ends a list.

"No effusion or edema, mild atelectasis" denies two findings and states one (method.md
section 6, points 1 and 2). What a cue does to what it reaches stands in `negation.py`,
`hedging.py` and their neighbours.

Every function looks from the cue outwards, until something ends the reach: a reading is
linear in its sentence.
"""

from __future__ import annotations

from itertools import takewhile

from lunguage_assets.assertion.units import (
    JOINTS,
    TaggedToken,
    first_beyond,
    first_kind,
    has_kind,
    kind_at,
    kind_beyond,
)
from lunguage_assets.assertion.vocabulary import Kind, LexiconEntry
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
_ENDS_BEFORE = frozenset(
    {"break", "negated", "negated before", "hedged", "ended", "with"}
)
"""What ends a list that is looked for backwards."""

LONGEST_CHAIN = 3
"""Hedges that may stand between a finding and a cue behind it."""


def list_behind(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List findings and predicates behind a hedge: the first, and what is joined."""
    cue = units[at]
    reached: list[TaggedToken] = []
    passed_hedges = 0
    for position in range(at + 1, len(units)):
        unit = units[position]
        has_member = bool(reached)
        if _ends_list_behind(unit, cue, has_member=has_member):
            break
        if unit.kind == "hedged":
            passed_hedges += 1
            if passed_hedges > LONGEST_CHAIN:
                break
        elif unit.kind == "negated" and has_member:
            # "Likely atelectasis, not pneumonia": what is likely is the denial, too.
            return reached + _denied_next(units, position)
        elif unit.kind in ("finding", "abnormal"):
            reached.append(unit)
        elif unit.kind in ("comma", "and"):
            goes_on = _passes_joint(units, position, at, has_member=has_member)
            if not goes_on:
                break
    return reached


def _ends_list_behind(unit: TaggedToken, cue: TaggedToken, *, has_member: bool) -> bool:
    """Whether the list of a cue ends at a unit, which is no member of it."""
    if unit.aside or unit.kind in ("break", "ended", "negated before"):
        return True
    # "Likely opacity suggesting pneumonia": the second hedge has a list of its own.
    if has_member and unit.kind in ("with", "copula", "hedged"):
        return True
    # A doubt begins a list of its own: "is favored over scarring".
    return unit.doubts or cue.stops_at(unit)


def _denied_next(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List the finding that a "not" denies; none of a denial that reaches farther."""
    if not reaches_next(units[at]):
        return []
    behind = finding_beside(units, at, 1)
    if behind is None or not behind.negation:
        return []
    return [behind]


def _passes_joint(
    units: list[TaggedToken], at: int, cue: int, *, has_member: bool
) -> bool:
    """Whether the list goes on behind a joint; a comma that ends it becomes a break.

    Args:
        units: of the sentence.
        at: position of the joint.
        cue: position of the hedge whose list it is.
        has_member: whether the list has a member before the joint.
    """
    joint = units[at]
    hedge = units[cue]
    if not has_member:
        return _is_inside_phrase(units, at)
    # The "and" of ", and" adds nothing to its comma; "questionable airspace
    # disease/atelectasis" is one doubt.
    if units[at - 1].kind in JOINTS or joint.form == "/":
        return True
    # "Likely atelectasis, not pneumonia", "... and not pneumonia".
    is_denial_next = kind_at(units, at + 1) == "negated"
    if is_denial_next and reaches_next(units[at + 1]):
        return True
    # "Possible edema and effusion" is of the edema; "possible edema or effusion" of
    # both.
    if reaches_next(hedge) and not _has_alternative_ahead(units[at + 1 :]):
        return False
    if not is_statement_behind(units, at, hedge):
        return True
    # "May represent scarring, mild edema": a finding begins a statement of its own, so
    # that nothing reaches over the comma from behind either.
    is_finding_behind = kind_beyond(units[at + 1 :], OWN_WORDS) == "finding"
    if joint.kind == "comma" and is_finding_behind:
        joint.become(LexiconEntry("break"))
    return False


def _is_inside_phrase(units: list[TaggedToken], at: int) -> bool:
    """Whether a joint before the first finding of a list does not end it."""
    joint = units[at]
    before = units[at - 1]
    if joint.form == "/":
        return True
    if joint.kind == "comma":
        # "Not diagnostic of, but suggestive of, edema"
        return before.form in WORDS["said_on"]
    # "Possible right third and fourth rib fracture"
    kind_behind = kind_at(units, at + 1)
    return before.kind == kind_behind and before.kind in ("place", "word")


def _is_relative(units: list[TaggedToken], at: int, cue: int) -> bool:
    """Whether "which" or "that" stands here, with nothing but a verb before the cue."""
    pronoun = units[at]
    if pronoun.kind != "break" or pronoun.form not in ("which", "that"):
        return False
    if units[cue].kind not in ("ended", "negated before"):
        return False
    # "Which is not evident on the lateral view": on the other view it is.
    words_behind = units[cue + 1 : cue + 3]
    if any(unit.form in WORDS["one_view"] for unit in words_behind):
        return False
    between = units[at + 1 : cue]
    return all(unit.kind in ("copula", "other", "seen") for unit in between)


def _begin_of_parenthesis(units: list[TaggedToken], at: int) -> int:
    """Find where the aside begins that a comma closes.

    "Edema, as opposed to infection, is suspected" suspects edema.

    Returns:
        The position of its first comma; that behind the last one where there is none.
    """
    no_parenthesis = at + 1
    for position in range(at - 1, 0, -1):
        unit = units[position]
        if unit.kind in ("break", "copula"):
            return no_parenthesis
        if unit.kind == "comma":
            first = units[position + 1]
            is_doubt = first.kind == "negated" and first.doubts
            return position if is_doubt else no_parenthesis
    return no_parenthesis


def list_before(
    units: list[TaggedToken],
    at: int,
    *,
    of_alternatives: bool = False,
    of_hedge: bool = False,
) -> list[TaggedToken]:
    """List the finding before a cue, and those joined to it, the nearest first.

    A comma joins where the list has an "and" or "or": "A, B and C are absent".

    Args:
        units: of the sentence.
        at: position of the cue.
        of_alternatives: the cue is the "or" itself.
        of_hedge: "A, and B cannot be excluded" is of B only.
    """
    walk = _WalkBefore(
        units, at, is_of_alternatives=of_alternatives, is_of_hedge=of_hedge
    )
    for position in range(at - 1, -1, -1):
        if not walk.passes_over(position) and not walk.goes_on_at(position):
            break
    return walk.reached


class _WalkBefore:
    """Goes back from a cue, and takes the findings of the list before it."""

    def __init__(
        self,
        units: list[TaggedToken],
        at: int,
        *,
        is_of_alternatives: bool,
        is_of_hedge: bool,
    ) -> None:
        self.reached: list[TaggedToken] = []
        self._units = units
        self._at = at
        self._cue = units[at]
        self._is_of_alternatives = is_of_alternatives
        # "A, B, and C are considerations" is of all three.
        is_plural = self._cue.form in WORDS["plural_verbs"]
        self._is_of_last_alone = is_of_hedge and not is_plural
        # "A, B or C": the "or" makes a list of what commas join before it.
        is_or = is_of_alternatives and self._cue.form == "or"
        self._is_list = is_plural or is_or
        self._is_joined = True
        self._begin_of_chain = at
        self._begin_of_parenthesis = at

    def passes_over(self, position: int) -> bool:
        """Whether a unit stands between list and cue, and belongs to neither."""
        unit = self._units[position]
        if unit.kind == "comma" and not self.reached:
            begin = _begin_of_parenthesis(self._units, position)
            self._begin_of_parenthesis = begin
        if position >= self._begin_of_parenthesis:
            return True
        # "Consolidation, which is no longer visible".
        if not self.reached and _is_relative(self._units, position, self._at):
            return True
        # "Is probably not seen", "would be difficult to exclude".
        is_next_of_chain = position == self._begin_of_chain - 1
        is_near = position >= self._at - LONGEST_CHAIN
        if unit.kind == "hedged" and is_next_of_chain and is_near:
            self._begin_of_chain = position
            return True
        return False

    def goes_on_at(self, position: int) -> bool:
        """Take what belongs to the list; whether it may go on before."""
        unit = self._units[position]
        if unit.aside or unit.kind in _ENDS_BEFORE:
            return False
        if self._cue.stops_at(unit):
            return False
        if unit.kind == "finding":
            return self._takes(unit)
        if unit.kind in JOINTS:
            return self._is_joint_of_list(position)
        # "The effusion is small, edema is absent": a verb before the list ends it.
        return not (self.reached and unit.kind in ("copula", "link", "seen"))

    def _takes(self, finding: TaggedToken) -> bool:
        """Add a finding that is joined to the list; whether it may go on before."""
        if not self._is_joined:
            return False
        # "Opacity, atelectasis or pneumonia": the sign is there, causes are open.
        is_sign = finding.name in WORDS["signs"]
        if is_sign and self._is_of_alternatives and self.reached:
            return False
        self.reached.append(finding)
        # Before the next finding there has to be another joint.
        self._is_joined = False
        return not reaches_next(self._cue)

    def _is_joint_of_list(self, position: int) -> bool:
        """Note that a joint joins the next finding; whether the list goes on before."""
        joint = self._units[position]
        # "Scarring, either atelectasis or pneumonia": the list begins here.
        if joint.form == "either":
            return False
        if joint.kind == "comma":
            # A comma joins only where the list has an "and" or "or".
            if self._is_list and self.reached:
                self._is_joined = True
            return True
        if joint.kind == "and":
            # "Edema, and pneumonia cannot be excluded" is of the pneumonia alone.
            is_behind_comma = self._units[position - 1].kind == "comma"
            if self._is_of_last_alone and is_behind_comma:
                return False
            # "Effusion and edema or pneumonia": the effusion is there.
            if self._is_of_alternatives and joint.form != "/":
                return False
        # What stands before another "or" is that one's.
        elif self._is_of_alternatives and self.reached:
            return False
        self._is_joined = True
        self._is_list = True
        return True


def is_statement_behind(units: list[TaggedToken], at: int, cue: TaggedToken) -> bool:
    """Whether a list ends at this joint, because something else is stated behind it.

    Args:
        units: of the sentence.
        at: position of the joint.
        cue: the denial or hedge whose list it is.
    """
    joint = units[at]
    is_hedge = cue.kind == "hedged"
    # "No effusion, or edema": the "or" goes on with the list, whatever follows.
    joints_behind = list(takewhile(_is_joint, units[at + 1 :]))
    if has_kind(joints_behind, "alternative"):
        return False
    behind = units[at + 1 + len(joints_behind) :]
    if not behind or behind[0].kind in ("negated", "break", "hedged", "past"):
        return True
    # "No effusion is seen (blunting may be scar)": its verb has closed the list.
    is_closed = units[at - 1].kind == "seen"
    if is_closed and not _has_alternative_ahead(behind):
        return True
    if _describes_anatomy(behind):
        return True
    # "Not enlarged and tortuous": a "not" is of the next word, unless a comma lists.
    if reaches_next(cue) and joint.kind != "comma":
        return True
    # "May represent edema and small effusion": an "and" keeps the size on the list.
    if is_hedge and joint.kind == "and":
        return False
    return _begins_description(behind, is_behind_hedge=is_hedge)


def _begins_description(units: list[TaggedToken], *, is_behind_hedge: bool) -> bool:
    """Whether a word of size or course begins a statement: "no effusion, mild edema".

    Where an "or" still follows it does not: "no small effusion, mild edema, or nodule".
    """
    first = first_beyond(units, ("place", "other")) or units[-1]
    is_word = first.kind in ("word", "abnormal")
    if is_behind_hedge:
        begins = is_word and first.code in _BEGINS_BEHIND_HEDGE
    else:
        # "No effusion, calcified granulomas": what is hardly ever denied.
        is_stated = first.form in WORDS["stated"]
        begins = is_stated or (is_word and first.code in STATEMENT_BEGINS)
    if not begins:
        return False
    statement = units[units.index(first) :]
    return not _has_alternative_ahead(statement)


def reaches_next(cue: TaggedToken) -> bool:
    """Whether a cue is said of what follows directly only: "possible", "not"."""
    return cue.reaches("next")


def _is_joint(unit: TaggedToken) -> bool:
    return unit.kind in JOINTS or unit.kind == "with"


def _describes_anatomy(units: list[TaggedToken]) -> bool:
    """Whether a part of the body is described: "... and the heart is large"."""
    is_anatomy_named = False
    for at, unit in enumerate(units):
        if unit.kind == "normal":
            return True
        # "The heart is ...", "the heart enlarged"
        if is_anatomy_named and unit.kind in ("copula", "abnormal"):
            return True
        if unit.kind == "abnormal":
            # "No effusion, tortuous aorta": the aorta is described.
            ahead = first_kind(units[at + 1 :], {"anatomy", "finding", *JOINTS})
            if ahead == "anatomy":
                return True
        if unit.kind in JOINTS or unit.kind in ("finding", "break", "copula"):
            return False
        if unit.kind == "anatomy":
            is_anatomy_named = True
    return False


def _has_alternative_ahead(units: list[TaggedToken]) -> bool:
    """Whether the list goes on to an "or"."""
    stops = ("alternative", "break", "copula", "negated", "with", "hedged")
    return first_kind(units, stops) == "alternative"


def own_words_before(
    units: list[TaggedToken], finding: TaggedToken
) -> list[TaggedToken]:
    """Take the words right before a finding that are said of it, the nearest first."""
    before = reversed(units[: units.index(finding)])
    return list(takewhile(lambda unit: unit.kind in OWN_WORDS, before))


def finding_beside(units: list[TaggedToken], at: int, step: int) -> TaggedToken | None:
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
        if unit.kind in between:
            continue
        # "Edema or, less likely, pneumonia"
        is_doubt = unit.kind == "negated" and unit.doubts
        if step < 0 or not is_doubt:
            return None
    return None
