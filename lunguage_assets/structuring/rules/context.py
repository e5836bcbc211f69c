"""Units whose meaning depends on units further on in their sentence, and what is not about the patient now:
advice, conditions, somebody else (method.md section 6).
"""

from __future__ import annotations

from itertools import takewhile

from lunguage_assets.structuring.rules.lexicon import WORDS, ReportLexicon, Sense
from lunguage_assets.structuring.rules.tagging import DEVICE, JOINS, LIMIT, Unit, beyond, first_kind

_UNCERTAIN, _DOUBTED, _UNKNOWN = Sense("open", "list"), Sense("deny", "list", "t"), Sense("other")


def settle(units: list[Unit], text: str, lexicon: ReportLexicon) -> None:
    """Give units the meaning that they have in their sentence."""
    for at in range(len(units) - 1, 0, -1):
        if at < len(units) and units[at].sense.name in WORDS["vague"]:
            _of_organs(units, at)
    for at, unit in enumerate(units):
        following = units[at + 1].kind if at + 1 < len(units) else ""
        if unit.kind == "preposition" and unit.form == "over":
            # "favors edema over pneumonia": what follows is less likely; "over the left base" is a place
            ends = ("break", "comma", "copula", "with", "and", "finding")
            favored = any(one.kind == "open" and one.form in WORDS["favored"] for one in units[:at])
            if favored and first_kind(units[at + 1 :], ends) == "finding":
                unit.become(_DOUBTED)
        elif unit.kind == "preposition" and unit.form == "for":
            _concerning_for(units, at)
        elif unit.kind == "open":
            if at and units[at - 1].form in WORDS["degrees"]:
                units[at - 1].become(_UNKNOWN)
            if unit.form == "differential":
                _differential_of(units, at)
        elif unit.kind in ("deny", "deny after") and _of_a_part(units, at):
            unit.become(LIMIT)
        elif unit.sense.name == "setting" and any(u.kind.startswith("open") for u in units if u is not unit):
            unit.become(_UNKNOWN)
        elif unit.sense.name == "part":
            # a device's end right before its place: "PICC tip mid SVC"
            if following in ("place", "anatomy") and any(known.code == DEVICE for known in units[:at]):
                unit.become(Sense("preposition"))
        elif unit.kind in ("anatomy", "place") and _is_view(units, at, following):
            unit.become(Sense("exam"))
        elif unit.kind in ("source", "exam"):
            _of_examination(units, at)
        elif unit.code == LIMIT.code and unit.form in WORDS["overlap"]:
            cause = beyond(reversed(units[:at]), ("other", "word"))
            if cause is not None and cause.kind in ("link", "open"):
                unit.become(Sense("finding", "artifact", "PF"))
        elif unit.kind in JOINS:
            _share_noun(units, at, text, lexicon)


def _of_organs(units: list[Unit], at: int) -> None:
    """ "Acute cardiac, pulmonary or pleural disease" is one conclusion; "... or bony abnormality" is two."""
    first, listed = at, {*JOINS, "place", "anatomy"}
    while first and units[first - 1].kind in listed and units[first - 1].form not in WORDS["now"]:
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
    if units[at].sense.name == "osseous abnormality":
        units[first:at] = [conclusion, *units[units.index(organs[-1]) + 1 : at]]
    else:
        conclusion.end = units[at].end
        units[first : at + 1] = [conclusion]


def _concerning_for(units: list[Unit], at: int) -> None:
    """ "Concerning findings for pneumonia" is as open as "findings concerning for pneumonia"."""
    for unit in reversed(units[:at]):
        if unit.form in WORDS["worries"] and unit.kind in ("word", "other", "open"):
            units[at].become(_UNCERTAIN)
            return
        if unit.kind not in ("finding", "word", "other", "place", "anatomy"):
            return


def _is_view(units: list[Unit], at: int, following: str) -> bool:
    """ "Views of the chest", "seen on the lateral": what was looked at, no place."""
    if units[at].form not in WORDS["views"] or at < 2 or units[at - 1].kind != "preposition":
        return False
    if units[at].form != "lateral":
        return units[at - 2].kind == "exam"
    return units[at - 1].form == "on" and following not in ("place", "anatomy", "finding")


def _differential_of(units: list[Unit], at: int) -> None:
    """ "The differential for the opacity includes edema": the opacity is there, what follows is open."""
    for place in range(at + 1, len(units)):
        if units[place].kind == "break":
            return
        if units[place].form in WORDS["include"]:
            if any(unit.kind == "finding" for unit in units[at:place]):
                units[at].become(_UNKNOWN)
                units[place].become(_UNCERTAIN)
            return


def _of_a_part(units: list[Unit], at: int) -> bool:
    """Whether a denial is about the end of a device ("the tip of the tube is not seen"): it is there."""
    before = units[at + 1 : at + 2] if units[at].kind == "deny" else reversed(units[:at])
    for unit in before:
        if unit.sense.name == "part":
            return True
        if unit.kind == "break" or (unit.kind == "finding" and unit.code != DEVICE):
            return False
    return False


def _of_examination(units: list[Unit], at: int) -> None:
    """The parts of the body that an examination is of are no places of findings."""
    unit = units[at]
    if unit.kind == "exam" and unit.form not in WORDS["films"]:
        return
    for one in reversed(units[:at]):
        between = one.kind == "and" and one is not units[at - 1]
        if not (between or one.kind in ("place", "anatomy")) or one.sense.name == "chest":
            return
        one.become(_UNKNOWN)


def _share_noun(units: list[Unit], at: int, text: str, lexicon: ReportLexicon) -> None:
    """ "Pleural or pericardial effusion" names two findings, "hilar or mediastinal adenopathy" one."""
    before = units[at - 1] if at else units[at]
    if before.kind not in ("place", "anatomy"):
        return
    for behind in units[at + 1 :]:
        if behind.kind in ("finding", "anatomy"):
            noun = text[behind.begin : behind.end].split()[-1]
            tokens = lexicon.tokens(f"{text[before.begin : before.end]} {noun}")
            sense, end = lexicon.match(tokens, 0)
            if sense is not None and sense.kind == behind.kind and end == len(tokens):
                if sense.name != behind.sense.name and before.kind != sense.kind:
                    before.become(sense)
                return
        if behind.kind not in JOINS and behind.kind not in ("place", "anatomy"):
            return


def mark_asides(units: list[Unit]) -> None:
    """Mark the units that are advice, a condition, or about somebody else."""
    for at, unit in enumerate(units):
        ends = (n for n in range(at + 1, len(units)) if units[n].kind == "break" and units[n].form != "that")
        if unit.kind == "somebody else":
            _mark(units[at:], "somebody else")
            return
        if unit.kind == "advice":
            clause = units[_begin_of_advice(units, at) : next(ends, len(units))]
            if unit.sense.name == "move":  # "consider advancing the tube": the device is there
                clause = [one for one in clause if one.kind != "finding" or one.code != DEVICE]
            _mark(clause, "recommendation")
        elif unit.kind == "aim":  # "... a CT to exclude": from the examination on
            near = range(at - 1, max(-1, at - 4), -1)
            begin = next((place for place in near if units[place].kind in ("exam", "source")), at)
            _mark(units[begin : next(ends, len(units))], "recommendation")
        elif unit.kind == "condition":  # one that opens the sentence ends at its comma
            clause = units[at : next(ends, len(units))]
            if at == 0 or units[at - 1].kind == "break":
                clause = list(takewhile(lambda one: one.kind != "comma", clause))
            _mark(clause, "condition")


def _mark(units: list[Unit], reason: str) -> None:
    for unit in units:
        unit.aside = unit.aside or reason


def _begin_of_advice(units: list[Unit], at: int) -> int:
    """Where "... CT of the chest is recommended" begins: at the examination that is asked for."""
    begin = at
    for place in range(at - 1, -1, -1):
        kind = units[place].kind
        if kind in ("finding", "break", "comma") and not units[place].aside:
            break
        if kind in ("exam", "source"):
            begin = place
    return begin
