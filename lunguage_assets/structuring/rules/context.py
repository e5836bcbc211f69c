"""Units whose meaning depends on units further on in their sentence, and what is not about the patient now:
advice, conditions, somebody else (method.md section 6).
"""

from __future__ import annotations

from lunguage_assets.structuring.rules.lexicon import Kind, ReportLexicon, Sense
from lunguage_assets.structuring.rules.tagging import Unit, first_kind

_ENDS: frozenset[Kind] = frozenset({"break", "comma", "copula", "with", "and"})
_FAVORED = ("favor", "favored", "favors", "favoring")
_INCLUDE = frozenset({"include", "includes", "including"})
_WORRIES = frozenset({"concerning", "suspicious", "worrisome"})
_DEGREES = frozenset({"mildly", "moderately", "slightly", "minimally", "somewhat", "remote"})
"""Of a hedge: "mildly concerning for", "a remote possibility of"."""
_VAGUE = frozenset({"pulmonary disease", "abnormality", "focal abnormality", "osseous abnormality"})
"""Findings that name no disease: of a list of organs they are one conclusion."""
_CONCLUSION = "acute cardiopulmonary abnormality"
_NOW = frozenset({"acute", "active"})
_OF_CHEST = frozenset(
    {
        "cardiac", "heart", "pulmonary", "lung", "pleural", "mediastinal", "hilar", "cardiopulmonary",
        "parenchymal", "intrathoracic", "thoracic",
    }
)  # fmt: skip
_LISTED: frozenset[Kind] = frozenset({"place", "anatomy", "comma", "and", "alternative"})
_SHARING: frozenset[Kind] = frozenset({"and", "alternative", "comma"})
_LIMIT = Sense("word", code="assessment_limitations")
_OVERLAP = frozenset({"overlying", "superimposed"})
"""First words of what lies over the lung; behind "due to" it is the cause."""
_ARTIFACT = Sense("finding", "artifact", "PF")
_FILMS = frozenset({"film", "radiograph", "x", "xray", "ct", "mri", "scan", "series", "view"})
"""Examinations, whose part of the body is no place of a finding: "abdomen and pelvis CT"."""
_DEVICE = "OTH"
_VIEWS = frozenset({"lateral", "chest", "thorax"})
_EXAM, _AT = Sense("exam"), Sense("preposition")
_UNCERTAIN, _DOUBTED, _UNKNOWN = Sense("open", "list"), Sense("deny", "list", "t"), Sense("other")

RECOMMENDATION, IF, OTHER_PERSON = "recommendation", "condition", "somebody else"


def settle(units: list[Unit], text: str, lexicon: ReportLexicon) -> None:
    """Give units the meaning that they have in their sentence."""
    for at in range(len(units) - 1, 0, -1):
        if at < len(units) and units[at].sense.name in _VAGUE:
            _of_organs(units, at)
    for at, unit in enumerate(units):
        if unit.kind == "preposition" and unit.form == "over":
            _favored_over(units, at)
        elif unit.kind == "preposition" and unit.form == "for":
            _concerning_for(units, at)
        elif unit.kind == "open":
            if at and units[at - 1].form in _DEGREES:
                units[at - 1].become(_UNKNOWN)
            if unit.form == "differential":
                _differential_of(units, at)
        elif unit.kind in ("deny", "deny after") and _of_a_part(units, at):
            unit.become(_LIMIT)
        elif unit.sense.name == "setting" and any(
            one.kind.startswith("open") for one in units if one is not unit
        ):
            unit.become(_UNKNOWN)
        elif unit.sense.name == "part" and _is_before_place(units, at):
            unit.become(_AT)
        elif unit.form in _VIEWS and unit.kind in ("anatomy", "place") and _is_view(units, at):
            unit.become(_EXAM)
        elif unit.kind in ("source", "exam"):
            _of_examination(units, at)
        elif unit.code == _LIMIT.code and unit.form in _OVERLAP:
            cause = next((one for one in reversed(units[:at]) if one.kind not in ("other", "word")), None)
            if cause is not None and cause.kind in ("link", "open"):
                unit.become(_ARTIFACT)
        elif unit.kind in _SHARING:
            _share_noun(units, at, text, lexicon)


def _of_organs(units: list[Unit], at: int) -> None:
    """ "Acute cardiac, pulmonary or pleural disease" is one conclusion; "... or bony abnormality" is two."""
    first = at
    while first and units[first - 1].kind in _LISTED and units[first - 1].form not in _NOW:
        first -= 1
    organs = [unit for unit in units[first:at] if unit.form in _OF_CHEST]
    if not organs or not first or units[first - 1].form not in _NOW:
        return
    conclusion = Unit(
        Sense("finding", _CONCLUSION, units[at].code), units[at].form, organs[0].begin, organs[-1].end
    )
    if units[at].sense.name == "osseous abnormality":
        units[first:at] = [conclusion, *units[units.index(organs[-1]) + 1 : at]]
    else:
        conclusion.end = units[at].end
        units[first : at + 1] = [conclusion]


def _favored_over(units: list[Unit], at: int) -> None:
    """ "Favors edema over pneumonia": what follows is less likely; "over the left base" is a place."""
    if not any(unit.kind == "open" and unit.form in _FAVORED for unit in units[:at]):
        return
    if first_kind(units[at + 1 :], {*_ENDS, "finding"}) == "finding":
        units[at].become(_DOUBTED)


def _concerning_for(units: list[Unit], at: int) -> None:
    """ "Concerning findings for pneumonia" is as open as "findings concerning for pneumonia"."""
    for unit in reversed(units[:at]):
        if unit.form in _WORRIES and unit.kind in ("word", "other", "open"):
            units[at].become(_UNCERTAIN)
            return
        if unit.kind not in ("finding", "word", "other", "place", "anatomy"):
            return


def _is_view(units: list[Unit], at: int) -> bool:
    """ "Views of the chest", "seen on the lateral": what was looked at, no place."""
    if at < 2 or units[at - 1].kind != "preposition":
        return False
    if units[at].form != "lateral":
        return units[at - 2].kind == "exam"
    following = units[at + 1].kind if at + 1 < len(units) else ""
    return units[at - 1].form == "on" and following not in ("place", "anatomy", "finding")


def _differential_of(units: list[Unit], at: int) -> None:
    """ "The differential for the opacity includes edema": the opacity is there, what follows is open."""
    for place in range(at + 1, len(units)):
        if units[place].kind == "break":
            return
        if units[place].form in _INCLUDE:
            if any(unit.kind == "finding" for unit in units[at:place]):
                units[at].become(_UNKNOWN)
                units[place].become(_UNCERTAIN)
            return


def _is_before_place(units: list[Unit], at: int) -> bool:
    """Whether a device's end stands right before its place ("PICC tip mid SVC")."""
    following = units[at + 1].kind if at + 1 < len(units) else ""
    return following in ("place", "anatomy") and any(known.code == _DEVICE for known in units[:at])


def _of_a_part(units: list[Unit], at: int) -> bool:
    """Whether a denial is about the end of a device ("the tip of the tube is not seen"): it is there."""
    before = units[at + 1 : at + 2] if units[at].kind == "deny" else reversed(units[:at])
    for unit in before:
        if unit.sense.name == "part":
            return True
        if unit.kind == "break" or (unit.kind == "finding" and unit.code != _DEVICE):
            return False
    return False


def _of_examination(units: list[Unit], at: int) -> None:
    """The parts of the body that an examination is of are no places of findings."""
    unit = units[at]
    if unit.kind == "exam" and unit.form not in _FILMS:
        return
    for one in reversed(units[:at]):
        between = one.kind == "and" and one is not units[at - 1]
        if not (between or one.kind in ("place", "anatomy")) or one.sense.name == "chest":
            return
        one.become(_UNKNOWN)


def _share_noun(units: list[Unit], at: int, text: str, lexicon: ReportLexicon) -> None:
    """ "Pleural or pericardial effusion" names two findings, "hilar or mediastinal adenopathy" one; "cardiac
    and mediastinal contours" are two parts of the body.
    """
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
        if behind.kind == "finding" or (
            behind.kind not in _SHARING and behind.kind not in ("place", "anatomy")
        ):
            return


def mark_asides(units: list[Unit]) -> None:
    """Mark the units that are advice, a condition, or about somebody else."""
    for at, unit in enumerate(units):
        if unit.kind == "somebody else":
            _mark(units, at, len(units), OTHER_PERSON)
            return
        if unit.kind == "advice":
            moved = _moved(units, at)
            _mark(units, _begin_of_advice(units, at), _end(units, at), RECOMMENDATION)
            for device in moved:
                device.aside = ""
        elif unit.kind == "aim":
            _mark(units, _begin_of_aim(units, at), _end(units, at), RECOMMENDATION)
        elif unit.kind == "condition":
            _mark(units, at, _end_of_condition(units, at), IF)


def _mark(units: list[Unit], begin: int, end: int, reason: str) -> None:
    for unit in units[begin:end]:
        unit.aside = unit.aside or reason


def _moved(units: list[Unit], at: int) -> list[Unit]:
    """The devices that are asked to be moved, so that they are there ("consider advancing the tube")."""
    if units[at].sense.name != "move":
        return []
    clause = units[_begin_of_advice(units, at) : _end(units, at)]
    return [unit for unit in clause if unit.kind == "finding" and unit.code == _DEVICE and not unit.aside]


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


def _begin_of_aim(units: list[Unit], at: int) -> int:
    """Where "... a CT to exclude" begins: at the examination, when it stands before the aim."""
    near = range(at - 1, max(-1, at - 4), -1)
    return next((place for place in near if units[place].kind in ("exam", "source")), at)


def _end(units: list[Unit], at: int) -> int:
    """The unit behind the clause."""
    ends = (n for n in range(at + 1, len(units)) if units[n].kind == "break" and units[n].form != "that")
    return next(ends, len(units))


def _end_of_condition(units: list[Unit], at: int) -> int:
    """A condition that opens the sentence ends at its comma, any other one with the clause."""
    end = _end(units, at)
    opens = at == 0 or units[at - 1].kind == "break"
    return next((place for place in range(at + 1, end) if opens and units[place].kind == "comma"), end)
