"""Projections and postures of a study (implicit.md section 1, "Views").

They are read from codes of its images, or from words for the examination.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from lunguage_assets.tables import VIEWS

# Possessive (`++`): of a long row of blanks or dots the two parts would try every
# division.
_DECUBITUS = re.compile(
    r"\b(?:(?:l|r|left|right|bilat|bilateral)\W++)?(?:lat|lateral)?\W*+decub(?:itus)?\b"
    r"|\b[lr]ld\b"
)
"""Also as a code: "AP LLD" is of a patient who lies on the left side."""
_SEMI = re.compile(r"\bsemi\W*(?:erect|upright|recumbent|supine)\b")
"""Half upright is neither upright nor lying: such words say nothing."""
_WORDS = {
    "ap": r"\bap\b|\bantero\W?posterior\b",
    "pa": r"\bpa\b|\bpostero\W?anterior\b",
    "lateral": r"\b(?:lat|lateral|laterals|ll|rl)\b",
    "erect": r"\b(?:erect|upright|standing)\b",
    "supine": r"\bsupine\b",
    "recumbent": r"\brecumbent\b",
}
_TWO = re.compile(r"\b(?:two|2)[\s-]*(?:\(2\)[\s-]*)?v(?:iews?)?\b")
_NO_PROJECTION = re.compile(
    r"\b(?:ap|aorto\W?pulmonary)\s+(?:window|diameter|dimension)s?\b"
    r"|\b(?:left|right)\s+lateral\s+(?!dec|view|film)"
)
"""Words that name anatomy: "AP window", "right lateral ribs"."""


def named_views(words: str) -> set[str]:
    """Read the views that words or codes name, such as CHEST (PORTABLE AP), or LL."""
    # A lateral decubitus is a posture: its "lateral" is no projection.
    text, decubitus = _DECUBITUS.subn(" ; ", words.lower())
    text = _SEMI.sub(" ", text)
    views = {view for view, pattern in _WORDS.items() if re.search(pattern, text)}
    return views | {"recumbent"} if decubitus else views


def study_views(words: str) -> set[str]:
    """Read the views of a study that a person names in words.

    In "Chest, frontal and lateral" the frontal film beside a lateral one is PA, unless
    AP, portable or supine is said; a frontal film alone may be either. Two views
    without more are a frontal and a lateral one.
    """
    text = _NO_PROJECTION.sub(" ", words.lower())
    text = _TWO.sub(" frontal and lateral ", text)
    views = named_views(text)
    if views & {"ap", "pa"}:
        return views
    # A bedside film is AP: the detector lies behind the patient.
    if re.search(r"\b(?:portable|bedside)\b", text):
        views.add("ap")
    elif "frontal" in text and "lateral" in views and "supine" not in views:
        views.add("pa")
    return views


def written(views: Collection[str]) -> str:
    """Write a set of views in the order ap, pa, lateral, erect, supine, recumbent.

    It is empty when nothing is known.
    """
    return ", ".join(view for view in VIEWS if view in views)
