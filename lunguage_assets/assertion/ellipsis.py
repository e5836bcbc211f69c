"""What a sentence leaves out is put back before anything is read.

"The left effusion has gone, the right has not" speaks of two effusions and names one.
The second gets a copy of the first, with its characters: a row quotes what is written.

What belongs here: findings, and judgements of parts of the body. Parts that a later
clause judges along another axis are in `parts.py`, shared nouns in `meaning/nouns.py`.
"""

from __future__ import annotations

from itertools import pairwise

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.units import (
    UNKNOWN,
    TaggedToken,
    first_beyond,
    first_kind,
    form_at,
    has_kind,
    is_adjective,
    kind_at,
)
from lunguage_assets.assertion.vocabulary import Kind, LexiconEntry, sense_of
from lunguage_assets.assertion.word_files import WORDS

_JOINTS_OF_STATEMENTS = frozenset({"break", "comma", "and"})
_AROUND_STATEMENTS = frozenset({"", *_JOINTS_OF_STATEMENTS})
"""The same, or the end of the sentence."""
_PREDICATES: frozenset[Kind] = frozenset({"ended", "negated before"})
"""What is said of a finding, and never of nothing."""
_COURSES = frozenset({"no_change", "improved", "worsened"})
_SIZES = frozenset({"measurement", "severity"})


def restore_ellipsis(units: list[TaggedToken]) -> None:
    """Put back the findings that a sentence names once and speaks of twice.

    Args:
        units: of the sentence; changed in place.
    """
    if has_kind(units, "finding"):
        _restore_noun_behind(units)
        _restore_subjects(units)
    _restore_predicates(units)


def _is_side(unit: TaggedToken) -> bool:
    return unit.kind == "place" and unit.form in WORDS["sides"]


def _restore_noun_behind(units: list[TaggedToken]) -> None:
    """Give a side the noun that stands behind the other, denied one.

    "Right, but no left basal, effusion": the right side has its effusion, too.
    """
    for at, unit in enumerate(units):
        if not _is_side(unit):
            continue
        other_side = _denied_side_behind(units, at)
        if other_side is None:
            continue
        noun = other_side + 1
        while kind_at(units, noun) == "place":
            noun += 1
        # The comma before the noun would end the denial: "no left, effusion".
        if kind_at(units, noun) == "comma":
            del units[noun]
        if kind_at(units, noun) == "finding":
            # "Basal effusion": the noun with the places that both sides share.
            shared = units[other_side + 1 : noun + 1]
            copies = [unit.copy() for unit in shared]
            units[at + 1 : at + 1] = copies
            return


def _denied_side_behind(units: list[TaggedToken], at: int) -> int | None:
    """Find the side behind a joint and a denial: "left" of "right, but no left"."""
    denial = at + 1
    while kind_at(units, denial) in _JOINTS_OF_STATEMENTS:
        denial += 1
    is_joined = denial > at + 1
    if not is_joined or kind_at(units, denial) != "negated":
        return None
    other_side = denial + 1
    if other_side == len(units):
        return None
    return other_side if _is_side(units[other_side]) else None


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
            units[at] = subject.copy()
        elif subject is not None and _begins_statement(units, at):
            _restore_at(units, at, subject)
        at += 1


def _is_pronoun_of_finding(units: list[TaggedToken], at: int) -> bool:
    """Whether it is the "one" of "there is a small one"."""
    if units[at].kind != "other" or units[at].form not in WORDS["ones"]:
        return False
    own_words = ("word", "place", "abnormal", "other")
    before = first_beyond(reversed(units[:at]), own_words)
    if before is None:
        return False
    return before.kind == "break" and before.form == "there"


def _restore_predicates(units: list[TaggedToken]) -> None:
    """Put back what a part of the body "is not", and the part that a side is of.

    "The heart is large, the mediastinum is not": it is not large.
    """
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
            # "The left costophrenic angle is blunted, the right is sharp"
            units.insert(at + 1, judged.copy())
            at += 1
        elif predicate is not None and _is_left_out(units, at):
            units.insert(at + 1, predicate.copy())
            if judged is not None and _restore_judged(units, at, judged):
                # The "not" stands one unit farther on now.
                at += 1
            at += 1
        at += 1


def _restore_judged(units: list[TaggedToken], at: int, judged: TaggedToken) -> bool:
    """Put back the part of which a side alone is named.

    "The right lung is clear and the left is not": the left lung.

    Args:
        units: of the sentence; changed in place.
        at: position of the "not".
        judged: the part of the body that was named last.

    Returns:
        Whether a unit was inserted.
    """
    begin = _begin_of_statement(units, at)
    is_part_named = has_kind(units[begin:at], "anatomy")
    if is_part_named:
        return False
    side = begin
    while side < at and not _is_side(units[side]):
        side += 1
    units.insert(side + 1, judged.copy())
    return True


def _is_side_judged(units: list[TaggedToken], at: int) -> bool:
    """Whether a side alone, behind a joint, is the subject of a judgement."""
    if not _is_side(units[at]):
        return False
    is_behind_joint = kind_at(units, at - 1) in _JOINTS_OF_STATEMENTS
    if not is_behind_joint or kind_at(units, at + 1) != "copula":
        return False
    # "Is sharp", "is mildly blunted": no more than one word before the judgement.
    predicate = _statement_at(units, at)[2:4]
    return has_kind(predicate, "normal", "abnormal")


def _is_left_out(units: list[TaggedToken], at: int) -> bool:
    """Whether "is not" ends a statement about a part of the body."""
    if not _is_bare_not(units[at]):
        return False
    is_last = kind_at(units, at + 1) in _AROUND_STATEMENTS
    if not is_last or kind_at(units, at - 1) != "copula":
        return False
    # "An effusion is not" leaves out a verb, and no state: a finding is none of these.
    begin = _begin_of_statement(units, at)
    subject = units[begin : at - 1]
    if not subject:
        return False
    return all(unit.kind in ("anatomy", "place") for unit in subject)


def _is_bare_not(unit: TaggedToken) -> bool:
    """Whether it is a "not" or "did not" whose verb may be left out."""
    return unit.kind == "negated" and unit.form in WORDS["left_out_verbs"]


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
        if unit.kind not in ("other", "copula", "seen"):
            return False
        # "The effusion, it has gone": the statement has its subject.
        if unit.form in WORDS["pronouns"]:
            return False
    return False


def _restore_at(units: list[TaggedToken], at: int, subject: TaggedToken) -> None:
    """Put the subject back where a statement begins without one."""
    statement = _statement_at(units, at)
    if has_kind(statement, "finding", "anatomy"):
        return
    first = units[at]
    pronoun = _described_pronoun(statement)
    if _is_none_there(units, at):
        # "... on the left, on the right there is none"
        units[at + 2].become(UNKNOWN)
        units.insert(at + 2, subject.copy())
    elif _goes_on_behind_hedge(units, at):
        # "Cannot be excluded but is unlikely" is said of one finding.
        units[at - 1].become(UNKNOWN)
    elif pronoun is not None:
        # "No effusion on the left, but a small one on the right"
        units[units.index(pronoun)] = subject.copy()
    elif _is_side(first):
        _restore_behind_side(units, at, statement, subject)
    elif any(_is_side(unit) for unit in statement):
        _restore_before_side(units, at, statement, subject)
    elif first.kind in _PREDICATES and _is_clause_before(units, at):
        # "The effusion was large, but has gone"
        units.insert(at, subject.copy())


def _restore_before_side(
    units: list[TaggedToken],
    at: int,
    statement: list[TaggedToken],
    subject: TaggedToken,
) -> None:
    """Put the subject back where something is said before a side: "gone on the left".

    Args:
        units: of the sentence; changed in place.
        at: where the statement begins.
        statement: its units.
        subject: the finding that was named before.
    """
    first = units[at]
    if first.form in WORDS["none"]:
        # "Large on the left and none on the right": "none" is "no effusion".
        first.become(sense_of(cue_named("negated.none_here")))
        units.insert(at + 1, subject.copy())
    elif _speaks_of_side(units, at, statement):
        # "... but not on the right"
        units.insert(at + 1, subject.copy())
    elif first.kind == "ended" or first.code in _COURSES:
        # "... persists on the right, gone on the left"
        position = at
        if _is_side(units[at + 1]):
            # "... increased left, resolved right": the side stands before its finding.
            position = at + 2
        units.insert(position, subject.copy())
    elif first.kind == "negated before":
        # "Present on the right and absent on the left"
        units.insert(at, subject.copy())


def _is_none_there(units: list[TaggedToken], at: int) -> bool:
    """Whether it begins "on the right there is none"."""
    if units[at].kind != "preposition":
        return False
    if form_at(units, at + 2) != "there":
        return False
    side = units[at + 1]
    denial = form_at(units, at + 3)
    return _is_side(side) and denial in WORDS["none"]


def _goes_on_behind_hedge(units: list[TaggedToken], at: int) -> bool:
    """Whether a doubt is a second predicate: "cannot be excluded but is unlikely"."""
    if not units[at].doubts or kind_at(units, at - 1) != "break":
        return False
    return kind_at(units, at - 2) == "hedged before"


def _speaks_of_side(
    units: list[TaggedToken], at: int, statement: list[TaggedToken]
) -> bool:
    """Whether words before a side speak of the finding before: "not on the right".

    Args:
        units: of the sentence.
        at: where the statement begins.
        statement: its units.
    """
    first = units[at]
    kinds_behind = {unit.kind for unit in statement[1:]}
    if not kinds_behind <= {"preposition", "place", "other", "seen"}:
        return False
    # "Consolidation on the left but not on the right".
    if first.kind == "negated" and "preposition" in kinds_behind:
        return True
    if first.kind == "hedged":
        # "Possibly also on the left"; "possibly in the left base" is a place alone.
        return any(unit.form in WORDS["also"] for unit in statement)
    # "No effusion on the right and a trace on the left": the trace is stated.
    is_size = first.kind in ("word", "abnormal") and first.code in _SIZES
    return is_size and _is_denied_before(units, at)


def _is_denied_before(units: list[TaggedToken], at: int) -> bool:
    """Whether the clause before denies, as "but" may lead on from."""
    for unit in reversed(units[:at]):
        if unit.kind == "negated":
            return True
        if unit.kind == "break" and unit.form != "but":
            return False
    return False


def _described_pronoun(statement: list[TaggedToken]) -> TaggedToken | None:
    """Find the "one" of "a small one", and not that of "the left one"."""
    for before, unit in pairwise(statement):
        if unit.form not in WORDS["one"]:
            continue
        if before.kind in ("word", "abnormal") and before.code in _SIZES:
            return unit
    return None


def _statement_at(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Take the units up to the next joint."""
    end = at + 1
    while end < len(units) and units[end].kind not in _JOINTS_OF_STATEMENTS:
        end += 1
    return units[at:end]


def _is_clause_before(units: list[TaggedToken], at: int) -> bool:
    """Whether a break, and no comma or "and", parts a predicate from its subject.

    A list before a comma is the predicate's own: "edema, effusion not seen".
    """
    for unit in reversed(units[:at]):
        if unit.kind == "finding":
            return False
        if unit.kind == "break":
            # "The effusion, which has gone": the pronoun is the subject.
            return unit.form not in ("which", "that")
    return False


def _restore_behind_side(
    units: list[TaggedToken],
    at: int,
    statement: list[TaggedToken],
    subject: TaggedToken,
) -> None:
    """Give the finding to a side of which something is said.

    "The left has gone, the right has not".

    Args:
        units: of the sentence; changed in place.
        at: position of the side.
        statement: units that begin with the side.
        subject: the finding that was named before.
    """
    is_predicate_given = any(
        unit.kind in _PREDICATES or unit.kind == "negated" or unit.code in _COURSES
        for unit in statement
    )
    if not is_predicate_given:
        return
    last = statement[-1]
    if _is_bare_not(last):
        predicates = ("ended", "negated before", "negated")
        if first_kind(reversed(units[:at]), predicates) == "ended":
            # "... has gone, the right has not": it is still there.
            last.become(UNKNOWN)
        else:
            # "... is seen on the left, the right is not"
            last.become(LexiconEntry("negated before", cue=last.cue))
    units.insert(at + 1, subject.copy())
    _forget_topic(units, subject)


def _forget_topic(units: list[TaggedToken], subject: TaggedToken) -> None:
    """Let a topic state nothing by itself: "of the effusions, the left ..."."""
    end_of_topic = units.index(subject) + 1
    is_topic = units[0].form == "of" and kind_at(units, end_of_topic) == "comma"
    if not is_topic:
        return
    for unit in units[:end_of_topic]:
        unit.become(UNKNOWN)
