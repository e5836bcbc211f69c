"""Words of an examination: its aim, its views, its limits, and conditions for it."""

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
    rest_of_clause,
)
from lunguage_assets.assertion.word_files import WORDS


def is_limited_assessment(units: list[TaggedToken], at: int) -> bool:
    """ "Evaluation for pneumothorax is limited": it is not assessed.

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
        is_adverb = is_behind_verb and unit.kind in ("other", "word")
        is_behind_verb = unit.kind == "copula" or is_adverb
    return None


def is_aim_of_examination(units: list[TaggedToken], at: int) -> bool:
    """ "CT for abscess", "views for occult fracture": what is looked for."""
    if units[at].form != "for" or not at:
        return False
    examination = first_beyond(reversed(units[:at]), ("other", "word"))
    if examination is None or examination.kind not in ("examined", "examination"):
        begins = at == 1 or units[at - 2].kind in ("comma", "break")
        if units[at - 1].form not in WORDS["procedures"] or not begins:
            return False
    aimed_at = first_beyond(units[at + 1 :], {*OWN_WORDS, *JOINTS, "preposition"})
    if aimed_at is None or aimed_at.kind not in ("finding", "hedged"):
        return False
    # "Film for vomiting", "before surgery": why it was taken, and true.
    return aimed_at.code not in ("PATIENT INFO.", DEVICE)


def is_inverted_condition(units: list[TaggedToken], at: int) -> bool:
    """ "Should fever persist, ...", "were an effusion to develop": a condition.

    "Should be noted that" leaves out its subject.
    """
    if units[at].form not in WORDS["inverted"]:
        return False
    if at and units[at - 1].kind != "break":
        return False
    if units[at].form in WORDS["then"]:
        clause = takewhile(lambda unit: unit.kind != "comma", units[at + 1 :])
        return any(unit.form == "to" for unit in clause)
    return at + 1 < len(units) and units[at + 1].form != "be"


def is_supposition(units: list[TaggedToken], at: int) -> bool:
    """ "When tuberculosis is suspected, ...", but "when compared to the prior film"."""
    if units[at].form != "when":
        return False
    clause = takewhile(
        lambda unit: unit.kind not in ("comma", "break"), units[at + 1 :]
    )
    return any(unit.form in WORDS["supposed"] for unit in clause)


def is_new_since(units: list[TaggedToken], at: int) -> bool:
    """ "The prior film did not show the opacity": it is there now."""
    if units[at].form != "did" or not at:
        return False
    if units[at - 1].kind != "examination":
        return False
    target = first_beyond(units[at + 1 :], ("copula", "other"))
    return target is not None and target.is_definite


def is_view(units: list[TaggedToken], at: int) -> bool:
    """ "Views of the chest", "seen on the lateral": what was looked at, no place."""
    unit = units[at]
    if unit.form not in WORDS["views"]:
        return False
    if at < 2 or units[at - 1].kind != "preposition":
        return False
    if unit.form != "lateral":
        return units[at - 2].kind == "examined"
    following = units[at + 1].kind if at + 1 < len(units) else ""
    return units[at - 1].form == "on" and following not in (
        "place",
        "anatomy",
        "finding",
    )


def names_a_service(units: list[TaggedToken], at: int) -> bool:
    """ "The stroke protocol", "the sarcoid clinic": no finding."""
    return at + 1 < len(units) and units[at + 1].form in WORDS["services"]


def forget_examined_parts(units: list[TaggedToken], at: int) -> None:
    """ "Abdomen and pelvis CT": parts of the body that were examined are no places."""
    if units[at].kind == "examined" and units[at].form not in WORDS["films"]:
        return
    for unit in reversed(units[:at]):
        is_joint = unit.kind == "and" and unit is not units[at - 1]
        if not is_joint and unit.kind not in ("place", "anatomy"):
            return
        if unit.name == "chest":
            return
        unit.become(UNKNOWN)
