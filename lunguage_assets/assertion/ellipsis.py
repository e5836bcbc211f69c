"""What a sentence leaves out is put back before anything is read.

"The left effusion has gone, the right has not" speaks of two effusions and names one.
The second gets a copy of the first, with its characters: a row quotes what is written.
"""

from __future__ import annotations

from itertools import pairwise

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.units import (
    UNKNOWN,
    TaggedToken,
    first_beyond,
    is_adjective,
)
from lunguage_assets.assertion.vocabulary import Kind, LexiconEntry, sense_of
from lunguage_assets.assertion.word_files import WORDS

_JOINTS_OF_STATEMENTS = frozenset({"break", "comma", "and"})
_PREDICATES: frozenset[Kind] = frozenset({"ended", "negated before"})
"""What is said of a finding, and never of nothing."""
_COURSES = frozenset({"no_change", "improved", "worsened"})
_SIZES = frozenset({"measurement", "severity"})


def restore_ellipsis(units: list[TaggedToken]) -> None:
    """Put back the findings that a sentence names once and speaks of twice.

    Args:
        units: of the sentence; changed in place.
    """
    if any(unit.kind == "finding" for unit in units):
        _restore_noun_behind(units)
        _restore_subjects(units)
    _restore_predicates(units)


def _copy(unit: TaggedToken) -> TaggedToken:
    return TaggedToken(unit.sense, unit.form, unit.begin, unit.end)


def _is_side(unit: TaggedToken) -> bool:
    return unit.kind == "place" and unit.form in WORDS["sides"]


def _restore_noun_behind(units: list[TaggedToken]) -> None:
    """ "Right, but no left basal, effusion": the right side has its effusion, too."""
    for at, unit in enumerate(units):
        other_side = _denied_side_behind(units, at) if _is_side(unit) else None
        if other_side is None:
            continue
        noun = other_side + 1
        while noun < len(units) and units[noun].kind == "place":
            noun += 1
        if noun < len(units) and units[noun].kind == "comma":
            del units[noun]
        if noun < len(units) and units[noun].kind == "finding":
            shared = units[other_side + 1 : noun + 1]
            units[at + 1 : at + 1] = [_copy(unit) for unit in shared]
            return


def _denied_side_behind(units: list[TaggedToken], at: int) -> int | None:
    """Find the side behind a joint and a denial: "left" of "right, but no left"."""
    denial = at + 1
    while denial < len(units) and units[denial].kind in _JOINTS_OF_STATEMENTS:
        denial += 1
    other_side = denial + 1
    if denial == at + 1 or other_side >= len(units):
        return None
    is_denied = units[denial].kind == "negated" and _is_side(units[other_side])
    return other_side if is_denied else None


def _restore_subjects(units: list[TaggedToken]) -> None:
    """Give each predicate that stands alone the finding that was named before it."""
    subject: TaggedToken | None = None
    at = 0
    while at < len(units):
        unit = units[at]
        if unit.kind in ("finding", "anatomy"):
            # What is said next may be of a part of the body: then nothing is put back.
            subject = unit if unit.kind == "finding" else None
        elif subject is not None and _is_pronoun_of_finding(units, at):
            # "There was no effusion, but there is a small one today"
            units[at] = _copy(subject)
        elif subject is not None and _begins_statement(units, at):
            _restore_at(units, at, subject)
        at += 1


def _is_pronoun_of_finding(units: list[TaggedToken], at: int) -> bool:
    """Whether it is the "one" of "there is a small one"."""
    if units[at].kind != "other" or units[at].form not in WORDS["ones"]:
        return False
    own_words = ("word", "place", "abnormal", "other")
    before = first_beyond(reversed(units[:at]), own_words)
    return before is not None and before.kind == "break" and before.form == "there"


def _restore_predicates(units: list[TaggedToken]) -> None:
    """ "The heart is large, the mediastinum is not": it is not large."""
    predicate: TaggedToken | None = None
    judged: TaggedToken | None = None
    at = 0
    while at < len(units):
        unit = units[at]
        if unit.kind in ("normal", "abnormal"):
            predicate = unit
        elif unit.kind == "anatomy":
            judged = unit
        elif unit.kind == "finding" and not is_adjective(unit):
            judged = None
        elif judged is not None and _is_side_judged(units, at):
            # "The left angle is blunted, the right is sharp"
            units.insert(at + 1, _copy(judged))
            at += 1
        elif predicate is not None and _is_left_out(units, at):
            units.insert(at + 1, _copy(predicate))
            at += 1 + _restore_judged(units, at, judged)
        at += 1


def _restore_judged(
    units: list[TaggedToken], at: int, judged: TaggedToken | None
) -> int:
    """ "The right lung is clear and the left is not": the left lung.

    Args:
        units: of the sentence; changed in place.
        at: position of the "not".
        judged: the part of the body that was named last.

    Returns:
        How many units were inserted.
    """
    statement = _begin_of_statement(units, at)
    is_named = any(unit.kind == "anatomy" for unit in units[statement:at])
    if judged is None or is_named:
        return 0
    sides = (n for n in range(statement, at) if _is_side(units[n]))
    units.insert(next(sides, at) + 1, _copy(judged))
    return 1


def _is_side_judged(units: list[TaggedToken], at: int) -> bool:
    """Whether a side alone, behind a joint, is the subject of a judgement."""
    if not _is_side(units[at]) or not at:
        return False
    if units[at - 1].kind not in _JOINTS_OF_STATEMENTS:
        return False
    kinds = [unit.kind for unit in _statement_at(units, at)[1:]]
    return kinds[:1] == ["copula"] and bool({"normal", "abnormal"} & {*kinds[1:3]})


def _is_left_out(units: list[TaggedToken], at: int) -> bool:
    """Whether "is not" ends a statement about a part of the body."""
    if units[at].kind != "negated" or units[at].form not in WORDS["left_out_verbs"]:
        return False
    is_last = at + 1 == len(units) or units[at + 1].kind in _JOINTS_OF_STATEMENTS
    if not is_last or not at or units[at - 1].kind != "copula":
        return False
    subject = units[_begin_of_statement(units, at) : at - 1]
    named = {unit.kind for unit in subject if not _is_side(unit)}
    return bool(subject) and named <= {"anatomy", "place"}


def _begin_of_statement(units: list[TaggedToken], at: int) -> int:
    """Find the first unit behind the joint before."""
    for position in range(at - 1, -1, -1):
        if units[position].kind in _JOINTS_OF_STATEMENTS:
            return position + 1
    return 0


def _begins_statement(units: list[TaggedToken], at: int) -> bool:
    """Whether a joint stands before it, and words like "since" and "now" alone."""
    for unit in reversed(units[:at]):
        if unit.kind in _JOINTS_OF_STATEMENTS:
            return True
        if (
            unit.kind not in ("other", "copula", "seen")
            or unit.form in WORDS["pronouns"]
        ):
            return False
    return False


def _restore_at(units: list[TaggedToken], at: int, subject: TaggedToken) -> None:
    """Put the subject back where a statement begins without one."""
    statement = _statement_at(units, at)
    first = units[at]
    pronoun = _described_pronoun(statement)
    if any(unit.kind in ("finding", "anatomy") for unit in statement):
        return
    if first.kind == "preposition" and _is_none_there(units, at):
        # "... on the left, on the right there is none"
        units[at + 2].become(UNKNOWN)
        units.insert(at + 2, _copy(subject))
    elif first.doubts and _cannot_be_excluded(units, at):
        # "Cannot be excluded but is unlikely" is said of one finding.
        units[at - 1].become(UNKNOWN)
    elif pronoun is not None:
        # "No effusion on the left, but a small one on the right"
        units[units.index(pronoun)] = _copy(subject)
    elif _is_side(first):
        _restore_behind_side(units, at, statement, subject)
    elif _has_side(statement) and _speaks_of_side(units, at, statement):
        units.insert(at + 1, _copy(subject))
    else:
        _restore_before_predicate(units, at, statement, subject)


def _restore_before_predicate(
    units: list[TaggedToken],
    at: int,
    statement: list[TaggedToken],
    subject: TaggedToken,
) -> None:
    """Put the subject back before what is said of it: "..., but has gone".

    Args:
        units: of the sentence; changed in place.
        at: where the statement begins.
        statement: its units.
        subject: the finding that was named before.
    """
    first = units[at]
    if _has_side(statement):
        if first.kind == "ended" or first.code in _COURSES:
            _restore_beside_side(units, at, subject)
        elif first.kind == "negated before":
            # "Present on the right and absent on the left"
            units.insert(at, _copy(subject))
    elif first.kind in _PREDICATES and _is_clause_before(units, at):
        units.insert(at, _copy(subject))


def _is_none_there(units: list[TaggedToken], at: int) -> bool:
    """Whether a side and "there is none" follow."""
    if at + 3 >= len(units) or not _is_side(units[at + 1]):
        return False
    none = units[at + 3]
    return units[at + 2].form == "there" and none.form in WORDS["none"]


def _cannot_be_excluded(units: list[TaggedToken], at: int) -> bool:
    """Whether the predicate before a break is a hedge: "cannot be excluded, but"."""
    return (
        at > 1
        and units[at - 1].kind == "break"
        and units[at - 2].kind == "hedged before"
    )


def _speaks_of_side(
    units: list[TaggedToken], at: int, statement: list[TaggedToken]
) -> bool:
    """Whether words before a side speak of the finding before: "none on the right".

    Args:
        units: of the sentence.
        at: where the statement begins.
        statement: its units.
    """
    first = units[at]
    if first.form in WORDS["none"]:
        # "Large on the left and none on the right": "none" is "no effusion".
        first.become(sense_of(cue_named("negated.none_here")))
        return True
    kinds = {unit.kind for unit in statement[1:]}
    if not kinds <= {"preposition", "place", "other", "seen"}:
        return False
    if first.kind == "negated" and kinds & {"preposition"}:
        return True  # "consolidation on the left but not on the right"
    if first.kind == "hedged":
        # "Possibly also on the left"; "possibly in the left base" is a place alone.
        return any(unit.form in WORDS["also"] for unit in statement)
    is_size = first.kind in ("word", "abnormal") and first.code in _SIZES
    return is_size and _is_denied_before(units, at)


def _is_denied_before(units: list[TaggedToken], at: int) -> bool:
    """ "No effusion on the right and a trace on the left": the trace is stated."""
    for unit in reversed(units[:at]):
        if unit.kind == "negated":
            return True
        if unit.kind == "break" and unit.form != "but":
            return False
    return False


def _described_pronoun(statement: list[TaggedToken]) -> TaggedToken | None:
    """Find the "one" of "a small one", and not that of "the left one"."""
    for before, unit in pairwise(statement):
        is_described = before.kind in ("word", "abnormal") and before.code in _SIZES
        if unit.form in WORDS["one"] and is_described:
            return unit
    return None


def _statement_at(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Take the units up to the next joint."""
    end = at + 1
    while end < len(units) and units[end].kind not in _JOINTS_OF_STATEMENTS:
        end += 1
    return units[at:end]


def _has_side(statement: list[TaggedToken]) -> bool:
    return any(_is_side(unit) for unit in statement)


def _is_clause_before(units: list[TaggedToken], at: int) -> bool:
    """Whether a break, and no comma or "and", parts a predicate from its subject.

    A list before a comma is the predicate's own: "edema, effusion not seen".
    """
    for unit in reversed(units[:at]):
        if unit.kind == "finding":
            return False
        if unit.kind == "break":
            return unit.form not in ("which", "that")
    return False


def _restore_behind_side(
    units: list[TaggedToken],
    at: int,
    statement: list[TaggedToken],
    subject: TaggedToken,
) -> None:
    """ "The left has gone, the right has not": each side gets the finding."""
    is_judged = any(
        unit.kind in _PREDICATES or unit.kind == "negated" or unit.code in _COURSES
        for unit in statement
    )
    if not is_judged:
        return
    last = statement[-1]
    if last.kind == "negated" and last.form in WORDS["left_out_verbs"]:
        if _last_predicate(units[:at]) == "ended":
            # "... has gone, the right has not": it is still there.
            last.become(UNKNOWN)
        else:
            # "... is seen on the left, the right is not"
            last.become(LexiconEntry("negated before", cue=last.cue))
    units.insert(at + 1, _copy(subject))
    _forget_topic(units, subject)


def _last_predicate(units: list[TaggedToken]) -> str:
    for unit in reversed(units):
        if unit.kind in ("ended", "negated before", "negated"):
            return unit.kind
    return ""


def _restore_beside_side(
    units: list[TaggedToken], at: int, subject: TaggedToken
) -> None:
    """ "... persists on the right, gone on the left", "... resolved right"."""
    following = units[at + 1]
    position = at + 2 if _is_side(following) else at
    units.insert(position, _copy(subject))


def _forget_topic(units: list[TaggedToken], subject: TaggedToken) -> None:
    """ "Of the effusions, the left ...": the topic states nothing by itself."""
    at = units.index(subject)
    is_topic = at + 1 < len(units) and units[at + 1].kind == "comma"
    if is_topic and units[0].form == "of":
        for unit in units[: at + 1]:
            unit.become(UNKNOWN)
