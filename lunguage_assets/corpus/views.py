"""Projections and postures of a study from its images' metadata, or from words for the examination
(implicit.md section 1, "Views").
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.tables import VIEWS

_POSITION_CODES = {
    "ap": "ap",
    "pa": "pa",
    "lateral": "lateral",
    "lat": "lateral",
    "ll": "lateral",
    "rl": "lateral",
    "lld": "recumbent",  # left lateral decubitus, as in "AP LLD"
    "rld": "recumbent",
    "axial": "",  # a tilt of the beam, not another projection
    "xtable": "",  # cross-table
}
# Possessive (`++`): of a long row of blanks or dots the two parts would try every division.
_DECUBITUS = re.compile(
    r"\b(?:(?:l|r|left|right|bilat|bilateral)\W++)?(?:lat|lateral)?\W*+decub(?:itus)?\b"
)
_SEMI = re.compile(r"\bsemi\W*(?:erect|upright|recumbent|supine)\b")
"""Half upright is neither upright nor lying: such words say nothing."""
_PROJECTION_WORDS = {
    "ap": re.compile(r"\bap\b|\bantero\W?posterior\b"),
    "pa": re.compile(r"\bpa\b|\bpostero\W?anterior\b"),
    "lateral": re.compile(r"\b(?:lat|lateral|laterals)\b"),
}
_POSTURE_WORDS = {
    "erect": re.compile(r"\b(?:erect|upright|standing)\b"),
    "supine": re.compile(r"\bsupine\b"),
    "recumbent": re.compile(r"\brecumbent\b"),
}
_FRONTAL = re.compile(r"\bfrontal\b")
_TWO = re.compile(r"\b(?:two|2)[\s-]*(?:\(2\)[\s-]*)?v(?:iews?)?\b")
_PORTABLE = re.compile(r"\b(?:portable|bedside)\b")
_NO_PROJECTION = re.compile(
    r"\b(?:ap|aorto\W?pulmonary)\s+(?:window|diameter|dimension)s?\b|\b(?:left|right)\s+lateral\s+(?!dec|view|film)"
)


def coded_views(
    view_position: str, orientation: str
) -> tuple[set[str], list[tuple[str, str]]]:
    """Views of an image, and the words without a known view as (column, word).

    Args:
        view_position: `ViewPosition`, such as PA, AP, LATERAL, LL.
        orientation: `PatientOrientationCodeSequence_CodeMeaning`, such as Erect or Recumbent.
    """
    codes = re.findall(r"[^\W_]+", view_position.lower())
    postures = _postures(orientation.lower())
    unknown = [("ViewPosition", code) for code in codes if code not in _POSITION_CODES]
    if orientation.strip() and not postures:
        unknown.append(
            ("PatientOrientationCodeSequence_CodeMeaning", orientation.strip().lower())
        )
    return postures | {_POSITION_CODES.get(code, "") for code in codes} - {""}, unknown


def named_views(procedure: str) -> set[str]:
    """Views in the name of a procedure, such as CHEST (PORTABLE AP); a lateral decubitus is a posture."""
    text = procedure.lower()
    rest = _DECUBITUS.sub(" ", text)
    return _postures(text) | {
        view for view, words in _PROJECTION_WORDS.items() if words.search(rest)
    }


def study_views(words: str) -> frozenset[str]:
    """Views of a study that a person names in words ("Chest, frontal and lateral"). The frontal film beside a
    lateral one is PA, unless AP, portable or supine is said; a frontal film alone may be either. Two views
    without more are a frontal and a lateral one.
    """
    text = _NO_PROJECTION.sub(" ", words.lower())
    views = named_views(text)
    if _TWO.search(text):
        views.add("lateral")
    if not views & {"ap", "pa"}:
        if _PORTABLE.search(text):
            views.add("ap")
        elif (
            "lateral" in views
            and "supine" not in views
            and (_FRONTAL.search(text) or _TWO.search(text))
        ):
            views.add("pa")
    return frozenset(views)


def _postures(text: str) -> set[str]:
    said = _SEMI.sub(" ", text)
    postures = {
        posture for posture, words in _POSTURE_WORDS.items() if words.search(said)
    }
    return postures | {"recumbent"} if _DECUBITUS.search(said) else postures


def written(views: Iterable[str]) -> str:
    """The set as text, in the fixed order ap, pa, lateral, erect, supine, recumbent; empty when unknown."""
    present = set(views)
    return ", ".join(view for view in VIEWS if view in present)


def parse_default_view(option: str) -> str:
    """The corpus option `default_view` in the written form. Raises `ConfigurationError`: it names an unknown
    view.
    """
    named = [part.strip().lower() for part in option.split(",") if part.strip()]
    unknown = [part for part in named if part not in VIEWS]
    if unknown:
        raise ConfigurationError(
            f"option corpus.default_view: found {unknown}; expected views out of {list(VIEWS)}, "
            "comma-separated. Correct it in settings.toml."
        )
    return written(named)
