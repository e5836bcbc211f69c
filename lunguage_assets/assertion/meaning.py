"""Words whose meaning depends on others of their sentence (method.md section 6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.reach import OWN_WORDS
from lunguage_assets.assertion.units import (
    DEVICE,
    JOINTS,
    LIMITATION,
    UNKNOWN,
    Unit,
    first_beyond,
    first_kind,
    is_adjective,
)
from lunguage_assets.assertion.vocabulary import (
    DEVICE_PART,
    SETTING,
    Kind,
    Sense,
    Vocabulary,
    sense_of,
)
from lunguage_assets.assertion.word_files import WORDS

_GAP = re.compile("x{3,}|_+")
"""What de-identification leaves of a word."""
_TIMES = frozenset({"onset", "no_change", "improved", "worsened"})
"""Columns of words that say since when, or in which course."""
_NEAREST_BREAKS = ("break", "comma", "copula", "with", "and", "finding")


def settle(units: list[Unit], text: str, vocabulary: Vocabulary) -> None:
    """Give units the meaning that they have in their sentence.

    Args:
        units: of the sentence; changed in place.
        text: of the sentence.
        vocabulary: to ask whether two words together are a spelling.
    """
    for at in range(len(units) - 1, 0, -1):
        if at < len(units) and units[at].name in WORDS["vague"]:
            _unite_organs(units, at)
    for at, unit in enumerate(units):
        if unit.kind in JOINTS:
            _share_noun(units, at, text, vocabulary)
            continue
        for reading in _READINGS_BY_KIND.get(unit.kind, ()):
            if reading.is_meant(units, at):
                unit.become(reading.sense())
                break
        if unit.kind == "hedged":
            _settle_hedge(units, at)
        elif unit.kind == "hedged before" and unit.reaches("clause"):
            _settle_whether(units, at)
        elif unit.kind in ("examination", "examined"):
            _forget_examined_parts(units, at)


def _is_less_favored(units: list[Unit], at: int) -> bool:
    """ "Favors edema over pneumonia": what follows is less likely.

    "Edema over the left base" is a place.
    """
    is_preferred = at > 0 and units[at - 1].form == "preferred"
    is_over = units[at].form == "over" or (units[at].form == "to" and is_preferred)
    if units[at].kind != "preposition" or not is_over:
        return False
    favors = any(u.kind == "hedged" and u.form in WORDS["favored"] for u in units[:at])
    return favors and first_kind(units[at + 1 :], _NEAREST_BREAKS) == "finding"


def _is_compared_in_likelihood(units: list[Unit], at: int) -> bool:
    """ "Edema is suspected more than infection", "likelier than infiltrate".

    "An effusion larger than the other" compares sizes.
    """
    if units[at].form != "than" or not at or units[at - 1].form not in WORDS["more"]:
        return False
    is_left_open = any(unit.kind == "hedged" for unit in units[:at])
    return is_left_open and first_kind(units[at + 1 :], _NEAREST_BREAKS) == "finding"


def _is_low_likelihood(units: list[Unit], at: int) -> bool:
    """ "The likelihood of a fracture is low": the predicate tells how likely."""
    if units[at].kind != "hedged" or units[at].form not in WORDS["likelihoods"]:
        return False
    for position in range(at + 1, len(units) - 1):
        verb = units[position]
        if verb.kind == "break":
            return False
        if verb.kind in ("copula", "hedged before"):
            # "Is low", "is considered very low"
            degree = first_beyond(units[position + 1 :], ("other",))
            if degree is None or degree.form not in WORDS["low_degrees"]:
                return False
            degree.become(UNKNOWN)
            verb.become(Sense("copula"))
            return True
    return False


def _is_limited_assessment(units: list[Unit], at: int) -> bool:
    """ "Evaluation for pneumothorax is limited": it is not assessed.

    "Evaluation of the effusion is limited" knows that it is there: `limitations`.
    """
    if units[at].form not in WORDS["assessments"] or units[at].kind == "limitation":
        return False
    if units[at].kind not in ("aim", "recommendation", "examined", "hedged", "other"):
        return False
    clause = takewhile(lambda one: one.kind != "break", units[at + 1 :])
    is_verb_before = False
    for unit in clause:
        if is_verb_before and unit.form in WORDS["limited"]:
            if unit.kind == "other":
                unit.become(LIMITATION)
            return True
        is_verb_before = unit.kind == "copula" or (
            is_verb_before and unit.kind in ("other", "word")
        )
    return False


def _is_course_unclear(units: list[Unit], at: int) -> bool:
    """ "It is unclear whether the mass is new": the mass is there."""
    cue = units[at].cue
    if cue is None or cue.id != "hedged.unclear_whether_there_is":
        return False
    clause = list(takewhile(lambda one: one.kind != "break", units[at + 1 :]))
    verbs = [n for n, unit in enumerate(clause) if unit.kind == "copula"]
    if not verbs or not any(unit.kind == "finding" for unit in clause[: verbs[0]]):
        return False
    said = [unit for unit in clause[verbs[0] + 1 :] if unit.code in _TIMES]
    for unit in said:
        unit.become(UNKNOWN)
    return bool(said)


def _is_inverted_condition(units: list[Unit], at: int) -> bool:
    """ "Should fever persist, ...", "were an effusion to develop": a condition.

    "Should be noted that" leaves out its subject.
    """
    if units[at].form not in WORDS["inverted"] or units[at].kind not in (
        "other",
        "copula",
    ):
        return False
    if at and units[at - 1].kind != "break":
        return False
    if units[at].form in WORDS["then"]:
        clause = takewhile(lambda one: one.kind != "comma", units[at + 1 :])
        return any(unit.form == "to" for unit in clause)
    return at + 1 < len(units) and units[at + 1].form != "be"


def _is_supposition(units: list[Unit], at: int) -> bool:
    """ "When tuberculosis is suspected, ...", but "when compared to the prior film"."""
    if units[at].form != "when" or units[at].kind != "other":
        return False
    clause = takewhile(lambda one: one.kind not in ("comma", "break"), units[at + 1 :])
    return any(unit.form in WORDS["supposed"] for unit in clause)


def _is_aim_of_examination(units: list[Unit], at: int) -> bool:
    """ "CT for abscess", "views for occult fracture": what is looked for."""
    if units[at].kind != "preposition" or units[at].form != "for" or not at:
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


def _is_calcified_gap(units: list[Unit], at: int) -> bool:
    """ "Calcified hilar ___": the noun is blacked out, the calcification is not."""
    if units[at].form != "calcified" or units[at].kind not in ("word", "abnormal"):
        return False
    if at and units[at - 1].kind in ("copula", "anatomy"):
        return False  # "the aorta is calcified"
    for position in range(at + 1, len(units)):
        unit = units[position]
        if _GAP.fullmatch(unit.form):
            following = units[position + 1].kind if position + 1 < len(units) else ""
            return following not in ("finding", "anatomy", "other", "place", "word")
        if unit.kind not in ("place", "word", "and"):
            return False
    return False


def _is_new_since(units: list[Unit], at: int) -> bool:
    """ "The prior film did not show the opacity": it is there now."""
    if units[at].kind != "negated" or units[at].form != "did" or not at:
        return False
    if units[at - 1].kind != "examination":
        return False
    shown = first_beyond(units[at + 1 :], ("copula", "other"))
    return shown is not None and shown.is_definite


def _is_for_of_worry(units: list[Unit], at: int) -> bool:
    """ "Concerning findings for pneumonia" is as open as "concerning for pneumonia"."""
    if units[at].kind != "preposition" or units[at].form != "for":
        return False
    for unit in reversed(units[:at]):
        if unit.form in WORDS["worries"] and unit.kind in ("word", "other", "hedged"):
            return True
        if unit.kind not in ("finding", "word", "other", "place", "anatomy"):
            return False
    return False


def _is_of_a_device_end(units: list[Unit], at: int) -> bool:
    """ "The tip of the tube is not seen": the tube is there."""
    if units[at].kind == "negated":
        beside = units[at + 1 : at + 2]
    elif units[at].kind == "negated before":
        beside = units[:at][::-1]
    else:
        return False
    for unit in beside:
        if unit.name == DEVICE_PART:
            return True
        if unit.kind == "break" or (unit.kind == "finding" and unit.code != DEVICE):
            return False
    return False


def _is_setting_of_a_hedge(units: list[Unit], at: int) -> bool:
    """ "In the right clinical setting" adds nothing where a hedge stands already."""
    if units[at].name != SETTING:
        return False
    others = (unit for unit in units if unit is not units[at])
    return any(unit.kind in ("hedged", "hedged before") for unit in others)


def _is_end_at_a_place(units: list[Unit], at: int) -> bool:
    """ "PICC tip mid SVC": the end of a device right before its place."""
    if units[at].name != DEVICE_PART or at + 1 == len(units):
        return False
    is_device_named = any(unit.code == DEVICE for unit in units[:at])
    return units[at + 1].kind in ("place", "anatomy") and is_device_named


def _is_view(units: list[Unit], at: int) -> bool:
    """ "Views of the chest", "seen on the lateral": what was looked at, no place."""
    unit = units[at]
    if unit.kind not in ("anatomy", "place") or unit.form not in WORDS["views"]:
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


def _is_plain_copula(units: list[Unit], at: int) -> bool:
    """ "The lungs appear clear": the verb only joins an adjective to its subject."""
    if units[at].kind != "hedged" or units[at].form not in WORDS["appearances"]:
        return False
    predicate = first_beyond(units[at + 1 :], ("word", "place", "other"))
    if predicate is None:
        return False
    if predicate.kind == "normal":
        return True
    is_described = predicate.kind == "abnormal" or is_adjective(predicate)
    subject = first_beyond(reversed(units[:at]), ("word", "other"))
    return is_described and subject is not None and subject.kind in ("anatomy", "place")


def _names_a_service(units: list[Unit], at: int) -> bool:
    """ "The stroke protocol", "the sarcoid clinic": no finding."""
    if units[at].kind != "finding" or at + 1 == len(units):
        return False
    return units[at + 1].form in WORDS["services"]


def _is_overlap_as_cause(units: list[Unit], at: int) -> bool:
    """ "Due to overlying soft tissues": what lies over the lung is the cause."""
    unit = units[at]
    is_monitor = unit.cue is not None and unit.cue.id == "examined.monitor_leads"
    is_overlap = unit.code == LIMITATION.code and unit.form in WORDS["overlap"]
    if not (is_overlap or is_monitor):
        return False
    cause = first_beyond(reversed(units[:at]), ("other", "word"))
    return cause is not None and cause.kind in ("link", "hedged")


def _is_range_of_states(units: list[Unit], at: int) -> bool:
    """ "Normal to mildly enlarged": one of the two."""
    if units[at].form != "to" or not at or units[at - 1].kind != "normal":
        return False
    behind = first_beyond(units[at + 1 :], ("word",))
    return behind is not None and behind.kind == "abnormal"


class _Reading(NamedTuple):
    """A word that means something else beside others.

    Attributes:
        kinds: of the units that it may be; others are not asked.
        is_meant: whether the unit at a position is meant so.
        sense: its meaning then.
    """

    kinds: tuple[Kind, ...]
    is_meant: Callable[[list[Unit], int], bool]
    sense: Callable[[], Sense]


def _as_cue(cue_id: str) -> Callable[[], Sense]:
    """Give the meaning of a cue that has no words of its own."""
    return lambda: sense_of(cue_named(cue_id))


def _as(sense: Sense) -> Callable[[], Sense]:
    return lambda: sense


_ARTIFACT = Sense("finding", "artifact", "PF")
_CALCIFICATION = Sense("finding", "calcification", "PF")
_ASSESSMENT: tuple[Kind, ...] = ("aim", "recommendation", "examined", "hedged", "other")

_READINGS = (
    _Reading(("hedged",), _is_plain_copula, _as(Sense("copula"))),
    _Reading(("preposition",), _is_less_favored, _as_cue("doubted.favored_over")),
    _Reading(("other",), _is_compared_in_likelihood, _as_cue("doubted.than")),
    _Reading(("hedged",), _is_low_likelihood, _as_cue("doubted.likelihood_is_low")),
    _Reading(_ASSESSMENT, _is_limited_assessment, _as_cue("limitation.assessment")),
    _Reading(("hedged",), _is_course_unclear, _as(UNKNOWN)),
    _Reading(("negated",), _is_new_since, _as(UNKNOWN)),
    _Reading(
        ("other", "copula"), _is_inverted_condition, _as_cue("condition.inverted")
    ),
    _Reading(("other",), _is_supposition, _as_cue("condition.when")),
    _Reading(("preposition",), _is_aim_of_examination, _as_cue("aim.of_examination")),
    _Reading(("word", "abnormal"), _is_calcified_gap, _as(_CALCIFICATION)),
    _Reading(("preposition",), _is_for_of_worry, _as_cue("hedged.worry_for")),
    _Reading(("negated", "negated before"), _is_of_a_device_end, _as(LIMITATION)),
    _Reading(("hedged before",), _is_setting_of_a_hedge, _as(UNKNOWN)),
    _Reading(("other",), _is_end_at_a_place, _as(Sense("preposition"))),
    _Reading(("anatomy", "place"), _is_view, _as(Sense("examined"))),
    _Reading(("finding",), _names_a_service, _as(UNKNOWN)),
    _Reading(("preposition", "other"), _is_range_of_states, _as_cue("alternative.or")),
    _Reading(("word", "examined"), _is_overlap_as_cause, _as(_ARTIFACT)),
)
"""When a unit means something else in its sentence; the first that holds decides."""
_READINGS_BY_KIND: Mapping[str, Sequence[_Reading]] = {
    kind: [reading for reading in _READINGS if kind in reading.kinds]
    for kind in sorted({kind for reading in _READINGS for kind in reading.kinds})
}


def _unite_organs(units: list[Unit], at: int) -> None:
    """ "Acute cardiac, pulmonary or pleural disease" is one conclusion.

    "Acute cardiac, pulmonary or bony abnormality" is two: one of the chest, one of bones.
    """
    listed = {*JOINTS, "place", "anatomy"}
    first = at
    while first and units[first - 1].kind in listed:
        if units[first - 1].form in WORDS["now"]:
            break
        first -= 1
    organs = [unit for unit in units[first:at] if unit.form in WORDS["of_the_chest"]]
    if not organs or not first or units[first - 1].form not in WORDS["now"]:
        return
    conclusion = Unit(
        Sense("finding", "acute cardiopulmonary abnormality", units[at].code),
        units[at].form,
        organs[0].begin,
        organs[-1].end,
    )
    if units[at].name == "osseous abnormality":
        behind_organs = units[units.index(organs[-1]) + 1 : at]
        units[first:at] = [conclusion, *behind_organs]
    else:
        conclusion.end = units[at].end
        units[first : at + 1] = [conclusion]


def _settle_hedge(units: list[Unit], at: int) -> None:
    if at and units[at - 1].form in WORDS["degrees"]:
        units[at - 1].become(UNKNOWN)  # "mildly concerning for": no mild finding
    if units[at].form == "differential":
        _settle_differential(units, at)


def _settle_whether(units: list[Unit], at: int) -> None:
    """ "Whether it has cleared is unclear"; "the cause is unclear" opens nothing."""
    for unit in reversed(units[:at]):
        if unit.form == "whether":
            unit.become(UNKNOWN)
            return
    units[at].become(UNKNOWN)


def _settle_differential(units: list[Unit], at: int) -> None:
    """ "The differential for the opacity includes edema": the opacity is there."""
    for position in range(at + 1, len(units)):
        verb = units[position]
        # "The differential for these nodules includes edema"
        if verb.kind == "break" and verb.form not in WORDS["pronouns"]:
            return
        if verb.form in WORDS["include"]:
            if any(unit.kind == "finding" for unit in units[at:position]):
                verb.become(sense_of(cue_named("hedged.differential_includes")))
                verb.begin = units[at].begin
                units[at].become(UNKNOWN)
            return


def _forget_examined_parts(units: list[Unit], at: int) -> None:
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


def _share_noun(units: list[Unit], at: int, text: str, vocabulary: Vocabulary) -> None:
    """ "Pleural or pericardial effusion" names two findings.

    "Hilar or mediastinal adenopathy" names one, at two places.
    """
    before = units[at - 1] if at else units[at]
    if before.kind not in ("place", "anatomy"):
        return
    for behind in units[at + 1 :]:
        if behind.kind in ("finding", "anatomy"):
            noun = text[behind.begin : behind.end].split()[-1]
            shared = f"{text[before.begin : before.end]} {noun}"
            tokens = vocabulary.tokens(shared)
            sense, end = vocabulary.match(tokens, 0)
            if sense is None or sense.kind != behind.kind or end < len(tokens):
                return
            if sense.name != behind.name and before.kind != sense.kind:
                before.become(sense)
            return
        if behind.kind not in JOINTS and behind.kind not in ("place", "anatomy"):
            return
