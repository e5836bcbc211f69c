"""Every reading of a unit in its sentence, and the order in which they are asked.

A word means one thing in the word files and another beside certain words: "over" is a
preposition, and a doubt in "favors edema over pneumonia". The rules themselves are
those of `likelihood.py`, `examinations.py` and `nouns.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.meaning import examinations, likelihood, nouns
from lunguage_assets.assertion.units import JOINTS, LIMITATION, UNKNOWN, TaggedToken
from lunguage_assets.assertion.vocabulary import (
    Kind,
    LexiconEntry,
    Vocabulary,
    sense_of,
)
from lunguage_assets.assertion.word_files import WORDS


def settle(units: list[TaggedToken], text: str, vocabulary: Vocabulary) -> None:
    """Give units the meaning that they have in their sentence.

    Args:
        units: of the sentence; changed in place.
        text: of the sentence.
        vocabulary: to ask whether two words together are a spelling.
    """
    # From the end, because a united list is shorter than its words were.
    for at in range(len(units) - 1, 0, -1):
        is_there = at < len(units)
        if is_there and units[at].name in WORDS["vague"]:
            nouns.unite_organs(units, at)
    for at, unit in enumerate(units):
        if unit.kind in JOINTS:
            nouns.share_noun(units, at, text, vocabulary)
            continue
        _apply_first_reading(units, at)
        if unit.kind == "hedged":
            likelihood.settle_hedge(units, at)
        elif unit.kind == "hedged before" and unit.reaches("clause"):
            likelihood.settle_whether(units, at)
        elif unit.kind in ("examination", "examined"):
            examinations.forget_examined_parts(units, at)


def _apply_first_reading(units: list[TaggedToken], at: int) -> None:
    for reading in _READINGS_BY_KIND.get(units[at].kind, ()):
        if reading.is_meant(units, at):
            if reading.consequence is not None:
                reading.consequence(units, at)
            units[at].become(reading.sense())
            return


@dataclass(frozen=True, slots=True)
class _Reading:
    """A word that means something else beside others.

    Attributes:
        kinds: of the units that it may be; others are not asked.
        is_meant: whether the unit at a position is meant so.
        sense: its meaning then.
        consequence: what changes in other units then.
    """

    kinds: tuple[Kind, ...]
    is_meant: Callable[[list[TaggedToken], int], bool]
    sense: Callable[[], LexiconEntry]
    consequence: Callable[[list[TaggedToken], int], None] | None = None


def _as_cue(cue_id: str) -> Callable[[], LexiconEntry]:
    """Give the meaning of a cue that has no words of its own."""
    return lambda: sense_of(cue_named(cue_id))


def _as(sense: LexiconEntry) -> Callable[[], LexiconEntry]:
    return lambda: sense


_ARTIFACT = LexiconEntry("finding", "artifact", "PF")
_CALCIFICATION = LexiconEntry("finding", "calcification", "PF")
_ASSESSMENT: tuple[Kind, ...] = ("aim", "recommendation", "examined", "hedged", "other")

_READINGS = (
    _Reading(("hedged",), likelihood.is_plain_copula, _as(LexiconEntry("copula"))),
    _Reading(
        ("preposition",), likelihood.is_less_favored, _as_cue("doubted.favored_over")
    ),
    _Reading(("other",), likelihood.is_compared_in_likelihood, _as_cue("doubted.than")),
    _Reading(
        ("hedged",),
        likelihood.is_low_likelihood,
        _as_cue("doubted.likelihood_is_low"),
        likelihood.forget_low_degree,
    ),
    _Reading(
        _ASSESSMENT,
        examinations.is_limited_assessment,
        _as_cue("limitation.assessment"),
        examinations.note_limit,
    ),
    _Reading(
        ("hedged",),
        likelihood.is_course_unclear,
        _as(UNKNOWN),
        likelihood.forget_course,
    ),
    _Reading(("negated",), examinations.is_new_since, _as(UNKNOWN)),
    _Reading(
        ("other", "copula"),
        examinations.is_inverted_condition,
        _as_cue("condition.inverted"),
    ),
    _Reading(("other",), examinations.is_supposition, _as_cue("condition.when")),
    _Reading(
        ("preposition",),
        examinations.is_aim_of_examination,
        _as_cue("aim.of_examination"),
    ),
    _Reading(("word", "abnormal"), nouns.is_calcified_gap, _as(_CALCIFICATION)),
    _Reading(("preposition",), likelihood.is_for_of_worry, _as_cue("hedged.worry_for")),
    _Reading(("negated", "negated before"), nouns.is_of_a_device_end, _as(LIMITATION)),
    _Reading(("hedged before",), nouns.is_of_a_dim_place, _as(LIMITATION)),
    _Reading(("hedged before",), likelihood.is_setting_of_a_hedge, _as(UNKNOWN)),
    _Reading(("other",), nouns.is_end_at_a_place, _as(LexiconEntry("preposition"))),
    _Reading(("anatomy", "place"), examinations.is_view, _as(LexiconEntry("examined"))),
    _Reading(("finding",), examinations.names_a_service, _as(UNKNOWN)),
    _Reading(
        ("preposition", "other"),
        likelihood.is_range_of_states,
        _as_cue("alternative.or"),
    ),
    _Reading(("word", "examined"), nouns.is_overlap_as_cause, _as(_ARTIFACT)),
)
"""When a unit means something else in its sentence; the first that holds decides."""


def _readings_by_kind() -> Mapping[str, Sequence[_Reading]]:
    readings_by_kind: dict[str, list[_Reading]] = {}
    for reading in _READINGS:
        for kind in reading.kinds:
            readings_by_kind.setdefault(kind, []).append(reading)
    return readings_by_kind


_READINGS_BY_KIND = _readings_by_kind()
"""Only the readings that a unit may have are asked."""
