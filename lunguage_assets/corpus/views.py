"""Projections and postures of a study (implicit.md section 1, "Views").

They are read from its images' metadata, or from words for the examination.
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
    # Left and right lateral decubitus, as in "AP LLD": the patient lies on a side.
    "lld": "recumbent",
    "rld": "recumbent",
    # A tilt of the beam, and a beam across the table: no other projection.
    "axial": "",
    "xtable": "",
}
# Possessive (`++`): of a long row of blanks or dots the two parts would try every
# division.
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
    r"\b(?:ap|aorto\W?pulmonary)\s+(?:window|diameter|dimension)s?\b"
    r"|\b(?:left|right)\s+lateral\s+(?!dec|view|film)"
)
"""Words that name anatomy: "AP window", "right lateral ribs"."""


def coded_views(view_position: str, orientation: str) -> tuple[set[str], list[str]]:
    """Read the views of images from their metadata.

    Args:
        view_position: `ViewPosition`, such as PA, AP, LATERAL, LL.
        orientation: `PatientOrientationCodeSequence_CodeMeaning`, such as Erect or
            Recumbent.

    Returns:
        The views, and the codes of positions without a known view.
    """
    codes = re.findall(r"[^\W_]+", view_position.lower())
    unknown = [code for code in codes if code not in _POSITION_CODES]
    projections = {_POSITION_CODES.get(code, "") for code in codes} - {""}
    return _postures(orientation.lower()) | projections, unknown


def named_views(procedure: str) -> set[str]:
    """Read the views in the name of a procedure, such as CHEST (PORTABLE AP)."""
    text = procedure.lower()
    # A lateral decubitus is a posture: its "lateral" is no projection.
    without_decubitus = _DECUBITUS.sub(" ", text)
    projections = {
        view
        for view, words in _PROJECTION_WORDS.items()
        if words.search(without_decubitus)
    }
    return _postures(text) | projections


def study_views(words: str) -> frozenset[str]:
    """Read the views of a study that a person names in words.

    In "Chest, frontal and lateral" the frontal film beside a lateral one is PA, unless
    AP, portable or supine is said; a frontal film alone may be either. Two views
    without more are a frontal and a lateral one.
    """
    text = _NO_PROJECTION.sub(" ", words.lower())
    views = named_views(text)
    has_two_views = _TWO.search(text) is not None
    if has_two_views:
        views.add("lateral")
    if views & {"ap", "pa"}:
        return frozenset(views)
    is_frontal = has_two_views or _FRONTAL.search(text) is not None
    # A bedside film is AP: the detector lies behind the patient.
    if _PORTABLE.search(text):
        views.add("ap")
    elif is_frontal and "lateral" in views and "supine" not in views:
        views.add("pa")
    return frozenset(views)


def _postures(text: str) -> set[str]:
    text = _SEMI.sub(" ", text)
    postures = {view for view, words in _POSTURE_WORDS.items() if words.search(text)}
    if _DECUBITUS.search(text):
        postures.add("recumbent")
    return postures


def written(views: Iterable[str]) -> str:
    """Write a set of views in the order ap, pa, lateral, erect, supine, recumbent.

    It is empty when nothing is known.
    """
    present = set(views)
    return ", ".join(view for view in VIEWS if view in present)


def parse_default_view(option: str) -> str:
    """Read the corpus option `default_view` into the written form.

    Raises:
        ConfigurationError: it names an unknown view.
    """
    parts = (part.strip().lower() for part in option.split(","))
    named = [view for view in parts if view]
    unknown = [view for view in named if view not in VIEWS]
    if unknown:
        raise ConfigurationError(
            f"option corpus.default_view: found {unknown}; expected views out of "
            f"{list(VIEWS)}, comma-separated. Correct it in settings.toml."
        )
    return written(named)
