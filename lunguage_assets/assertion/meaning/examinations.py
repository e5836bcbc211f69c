"""Words of an examination: its aim, its views, its limits, and conditions for it.

What they reach then is decided in `asides.py`, `limitations.py` and `times.py`.
"""

from __future__ import annotations

from itertools import takewhile

from lunguage_assets.assertion.reach import OWN_WORDS
from lunguage_assets.assertion.units import (
    DEVICE,
    JOINTS,
    LIMITATION,
    UNKNOWN,
    TaggedToken,
    first_beyond,
    form_at,
    kind_at,
    kind_beyond,
    rest_of_clause,
)
from lunguage_assets.assertion.word_files import WORDS


def is_limited_assessment(units: list[TaggedToken], at: int) -> bool:
    """Whether a finding is not assessed: "evaluation for pneumothorax is limited".

    "Evaluation of the effusion is limited" knows that it is there: `limitations`.
    """
    is_assessment = units[at].form in WORDS["assessments"]
    return is_assessment and _word_of_limit(units, at) is not None


def note_limit(units: list[TaggedToken], at: int) -> None:
    """Make an unknown "suboptimal" what limits the examination."""
    word = _word_of_limit(units, at)
    if word is not None and word.kind == "other":
        word.become(LIMITATION)


def _word_of_limit(units: list[TaggedToken], at: int) -> TaggedToken | None:
    """Find "limited" behind the verb of the clause."""
    is_behind_verb = False
    for unit in rest_of_clause(units, at):
        if is_behind_verb and unit.form in WORDS["limited"]:
            return unit
        # "Is somewhat limited".
        is_adverb = is_behind_verb and unit.kind in ("other", "word")
        is_behind_verb = unit.kind == "copula" or is_adverb
    return None


def is_aim_of_examination(units: list[TaggedToken], at: int) -> bool:
    """Whether a "for" leads to what is looked for: "CT for abscess"."""
    if units[at].form != "for":
        return False
    examined = kind_beyond(reversed(units[:at]), ("other", "word"))
    if examined not in ("examined", "examination"):
        # "Biopsy for cancer": a procedure is one where it begins the clause.
        is_procedure = form_at(units, at - 1) in WORDS["procedures"]
        is_first = kind_at(units, at - 2) in ("", "comma", "break")
        if not is_procedure or not is_first:
            return False
    aimed_at = first_beyond(units[at + 1 :], {*OWN_WORDS, *JOINTS, "preposition"})
    if aimed_at is None or aimed_at.kind not in ("finding", "hedged"):
        return False
    # "Film for vomiting", "before surgery": why it was taken, and true.
    return aimed_at.code not in ("PATIENT INFO.", DEVICE)


def is_inverted_condition(units: list[TaggedToken], at: int) -> bool:
    """Whether a verb before its subject is a condition: "should fever persist, ..."."""
    verb = units[at].form
    if verb not in WORDS["inverted"]:
        return False
    if kind_at(units, at - 1) not in ("", "break"):
        return False
    if verb in WORDS["then"]:
        # "Were an effusion to develop, ...".
        clause = takewhile(lambda unit: unit.kind != "comma", units[at + 1 :])
        return any(unit.form == "to" for unit in clause)
    # "Should be noted that" leaves out its subject.
    return form_at(units, at + 1) not in ("", "be")


def is_supposition(units: list[TaggedToken], at: int) -> bool:
    """Whether a "when" supposes: "when tuberculosis is suspected, ...".

    "When compared to the prior film" does not.
    """
    if units[at].form != "when":
        return False
    clause = takewhile(lambda unit: unit.kind != "comma", rest_of_clause(units, at))
    return any(unit.form in WORDS["supposed"] for unit in clause)


def is_new_since(units: list[TaggedToken], at: int) -> bool:
    """Whether it is there now: "the prior film did not show the opacity"."""
    if units[at].form != "did" or kind_at(units, at - 1) != "examination":
        return False
    # Without "the" ("did not show an opacity") nothing is said of now.
    target = first_beyond(units[at + 1 :], ("copula", "other"))
    return target is not None and target.is_definite


def is_view(units: list[TaggedToken], at: int) -> bool:
    """Whether it was looked at, and is no place: "views of the chest"."""
    unit = units[at]
    if unit.form not in WORDS["views"]:
        return False
    if at < 2 or units[at - 1].kind != "preposition":
        return False
    preposition = units[at - 1]
    if unit.form != "lateral":
        return units[at - 2].kind == "examined"
    # "Seen on the lateral", but "on the lateral chest wall".
    is_adjective = kind_at(units, at + 1) in ("place", "anatomy", "finding")
    return preposition.form == "on" and not is_adjective


def names_a_service(units: list[TaggedToken], at: int) -> bool:
    """Whether a finding is a part of a name: "the stroke protocol"."""
    return form_at(units, at + 1) in WORDS["services"]


def forget_examined_parts(units: list[TaggedToken], at: int) -> None:
    """Let parts of the body that were examined be no places: "abdomen and pelvis CT".

    The chest is one: "chest CT" is the examination that is read.
    """
    examination = units[at]
    is_film = examination.form in WORDS["films"]
    if examination.kind == "examined" and not is_film:
        return
    for unit in reversed(units[:at]):
        is_joint = unit.kind == "and" and unit is not units[at - 1]
        if not is_joint and unit.kind not in ("place", "anatomy"):
            return
        if unit.name == "chest":
            return
        unit.become(UNKNOWN)
