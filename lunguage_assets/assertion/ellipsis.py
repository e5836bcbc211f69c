"""What a sentence leaves out is put back before anything is read.

"The left effusion has gone, the right has not" speaks of two effusions and names one.
The second gets a copy of the first, with its characters: a row quotes what is written.
"""

from __future__ import annotations

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.units import UNKNOWN, Unit, first_beyond
from lunguage_assets.assertion.vocabulary import Kind, Sense, sense_of
from lunguage_assets.assertion.word_files import WORDS

_JOINTS_OF_STATEMENTS = frozenset({"break", "comma", "and"})
_PREDICATES: frozenset[Kind] = frozenset({"ended", "negated before"})
"""What is said of a finding, and never of nothing."""
_COURSES = frozenset({"no_change", "improved", "worsened"})


def restore_ellipsis(units: list[Unit]) -> None:
    """Put back the findings that a sentence names once and speaks of twice.

    Args:
        units: of the sentence; changed in place.
    """
    if not any(unit.kind == "finding" for unit in units):
        return
    _restore_noun_behind(units)
    _restore_subjects(units)


def _copy(finding: Unit) -> Unit:
    return Unit(finding.sense, finding.form, finding.begin, finding.end)


def _is_side(unit: Unit) -> bool:
    return unit.kind == "place" and unit.form in WORDS["sides"]


def _restore_noun_behind(units: list[Unit]) -> None:
    """ "Right, but no left, effusion" is "right effusion, but no left effusion"."""
    for at, unit in enumerate(units):
        if not _is_side(unit):
            continue
        behind = first_beyond(units[at + 1 :], ("break", "comma", "and"))
        if behind is None or behind.kind != "negated":
            continue
        denial = units.index(behind)
        joint = units[at + 1 : denial]
        other_side = denial + 1
        if not joint or other_side >= len(units) or not _is_side(units[other_side]):
            continue
        noun = other_side + 1
        has_comma = noun < len(units) and units[noun].kind == "comma"
        noun += has_comma
        if noun < len(units) and units[noun].kind == "finding":
            if has_comma:
                del units[noun - 1]
                noun -= 1
            units.insert(at + 1, _copy(units[noun]))
            return


def _restore_subjects(units: list[Unit]) -> None:
    """Give each predicate that stands alone the finding that was named before it."""
    subject: Unit | None = None
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
            at += _restore_at(units, at, subject)
        at += 1


def _is_pronoun_of_finding(units: list[Unit], at: int) -> bool:
    """Whether it is the "one" of "there is a small one"."""
    if units[at].kind != "other" or units[at].form not in WORDS["ones"]:
        return False
    own_words = ("word", "place", "abnormal", "other")
    before = first_beyond(reversed(units[:at]), own_words)
    return before is not None and before.kind == "break" and before.form == "there"


def _begins_statement(units: list[Unit], at: int) -> bool:
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


def _restore_at(units: list[Unit], at: int, subject: Unit) -> int:
    """Put the subject back where a statement begins without one.

    Returns:
        How many units were inserted.
    """
    statement = _statement_at(units, at)
    if any(unit.kind in ("finding", "anatomy") for unit in statement):
        return 0
    first = units[at]
    if _is_side(first):
        return _restore_behind_side(units, at, statement, subject)
    if first.form in WORDS["none"]:
        # "Large on the left and none on the right": "none" is "no effusion".
        if _has_side(statement):
            first.become(sense_of(cue_named("negated.none_of")))
            units.insert(at + 1, _copy(subject))
            return 1
        return 0
    if first.kind == "ended" or first.code in _COURSES:
        if _has_side(statement):
            return _restore_beside_side(units, at, subject)
        is_new_clause = units[at - 1].kind == "break" or first.kind == "ended"
        if first.kind == "ended" and is_new_clause and _is_clause_before(units, at):
            units.insert(at, _copy(subject))
            return 1
    if first.kind == "negated before" and _is_clause_before(units, at):
        units.insert(at, _copy(subject))
        return 1
    return 0


def _statement_at(units: list[Unit], at: int) -> list[Unit]:
    """Take the units up to the next joint."""
    end = at + 1
    while end < len(units) and units[end].kind not in _JOINTS_OF_STATEMENTS:
        end += 1
    return units[at:end]


def _has_side(statement: list[Unit]) -> bool:
    return any(_is_side(unit) for unit in statement)


def _is_clause_before(units: list[Unit], at: int) -> bool:
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
    units: list[Unit], at: int, statement: list[Unit], subject: Unit
) -> int:
    """ "The left has gone, the right has not": each side gets the finding."""
    is_judged = any(
        unit.kind in _PREDICATES or unit.kind == "negated" or unit.code in _COURSES
        for unit in statement
    )
    if not is_judged:
        return 0
    last = statement[-1]
    if last.kind == "negated" and last.form in WORDS["left_out_verbs"]:
        if _last_predicate(units[:at]) == "ended":
            # "... has gone, the right has not": it is still there.
            last.become(UNKNOWN)
        else:
            # "... is seen on the left, the right is not"
            last.become(Sense("negated before", cue=last.cue))
    units.insert(at + 1, _copy(subject))
    _forget_topic(units, subject)
    return 1


def _last_predicate(units: list[Unit]) -> str:
    for unit in reversed(units):
        if unit.kind in ("ended", "negated before", "negated"):
            return unit.kind
    return ""


def _restore_beside_side(units: list[Unit], at: int, subject: Unit) -> int:
    """ "... persists on the right, gone on the left", "... resolved right"."""
    following = units[at + 1]
    position = at + 2 if _is_side(following) else at
    units.insert(position, _copy(subject))
    return 1


def _forget_topic(units: list[Unit], subject: Unit) -> None:
    """ "Of the effusions, the left ...": the topic states nothing by itself."""
    at = units.index(subject)
    is_topic = at + 1 < len(units) and units[at + 1].kind == "comma"
    if is_topic and at == 1 and units[0].form == "of":
        subject.become(UNKNOWN)
