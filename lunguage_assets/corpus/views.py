"""Projections and postures of a study from its images' metadata (implicit.md section 1, "Views").

The easy version searches the procedure text for "lat": it makes a lateral view of a lateral decubitus film,
which is a posture.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.tables import VIEWS

_POSITION_CODES: dict[str, frozenset[str]] = {
    "ap": frozenset({"ap"}),
    "pa": frozenset({"pa"}),
    "lateral": frozenset({"lateral"}),
    "lat": frozenset({"lateral"}),
    "ll": frozenset({"lateral"}),
    "rl": frozenset({"lateral"}),
    "lld": frozenset({"recumbent"}),  # left lateral decubitus, as in "AP LLD"
    "rld": frozenset({"recumbent"}),
    "axial": frozenset(),  # a tilt of the beam, not another projection
    "xtable": frozenset(),  # cross-table
}
_DECUBITUS = re.compile(r"\b(?:(?:l|r|left|right|bilat|bilateral)\W+)?(?:lat|lateral)?\W*decub(?:itus)?\b")
_SEMI = re.compile(r"\bsemi\W*(?:erect|upright|recumbent|supine)\b")
_PROCEDURE_WORDS = (
    ("ap", re.compile(r"\bap\b|\bantero\W?posterior\b")),
    ("pa", re.compile(r"\bpa\b|\bpostero\W?anterior\b")),
    ("lateral", re.compile(r"\b(?:lat|lateral|laterals)\b")),
)
_POSTURE_WORDS = (
    ("erect", re.compile(r"\b(?:erect|upright|standing)\b")),
    ("supine", re.compile(r"\bsupine\b")),
    ("recumbent", re.compile(r"\brecumbent\b")),
)


_FRONTAL = re.compile(r"\bfrontal\b")
_TWO = re.compile(r"\b(?:two|2)[\s-]*(?:\(2\)[\s-]*)?v(?:iews?)?\b")
_PORTABLE = re.compile(r"\b(?:portable|bedside)\b")
_NO_PROJECTION = re.compile(
    r"\b(?:ap|aorto\W?pulmonary)\s+(?:window|diameter|dimension)s?\b|\b(?:left|right)\s+lateral\s+(?!dec|view|film)"
)


@dataclass(frozen=True, slots=True)
class ImageViews:
    """Views of one image by source, and the words of coded columns without a known view."""

    coded: frozenset[str]
    from_procedure: frozenset[str]
    unknown: tuple[tuple[str, str], ...]
    """(column, word) pairs."""


def image_views(view_position: str, orientation: str, procedure: str) -> ImageViews:
    """Views of one image; the procedure text counts only where the view position is empty.

    Args:
        view_position: `ViewPosition`, such as PA, AP, LATERAL, LL.
        orientation: `PatientOrientationCodeSequence_CodeMeaning`, such as Erect or Recumbent.
        procedure: `PerformedProcedureStepDescription` and `ProcedureCodeSequence_CodeMeaning`, such as CHEST
            (PORTABLE AP).
    """
    coded: set[str] = set()
    unknown: list[tuple[str, str]] = []
    for code in re.findall(r"[^\W_]+", view_position.lower()):
        if code in _POSITION_CODES:
            coded |= _POSITION_CODES[code]
        else:
            unknown.append(("ViewPosition", code))
    postures = _postures(orientation.lower())
    if orientation.strip() and not postures:
        unknown.append(("PatientOrientationCodeSequence_CodeMeaning", orientation.strip().lower()))
    coded |= postures
    return ImageViews(
        frozenset(coded),
        frozenset() if view_position.strip() else _in_procedure(procedure.lower()),
        tuple(unknown),
    )


def _in_procedure(text: str) -> frozenset[str]:
    views = set(_postures(text))
    text = _DECUBITUS.sub(" ", text)
    views.update(view for view, words in _PROCEDURE_WORDS if words.search(text))
    return frozenset(views)


def study_views(words: str) -> frozenset[str]:
    """Views of a study that a person names in words ("Chest, frontal and lateral").

    A lateral film is taken beside a frontal one. That is a PA film, unless AP, portable or supine is said; a
    frontal film alone may be either, and says neither. Two views without more are a frontal and a lateral
    one.
    """
    text = _NO_PROJECTION.sub(" ", words.lower())
    views = set(_in_procedure(text))
    if _TWO.search(text):
        views.add("lateral")
    if not views & {"ap", "pa"}:
        if _PORTABLE.search(text):
            views.add("ap")
        elif "lateral" in views and "supine" not in views and (_FRONTAL.search(text) or _TWO.search(text)):
            views.add("pa")
    return frozenset(views)


def _postures(text: str) -> set[str]:
    """Postures that a text names.

    Half upright is neither upright nor lying: such words say nothing.
    """
    said = _SEMI.sub(" ", text)
    postures = {posture for posture, words in _POSTURE_WORDS if words.search(said)}
    if _DECUBITUS.search(said):
        postures.add("recumbent")
    return postures


def written(views: Iterable[str]) -> str:
    """The set as text, in the fixed order ap, pa, lateral, erect, supine, recumbent; empty when unknown."""
    present = set(views)
    return ", ".join(view for view in VIEWS if view in present)


def parse_default_view(option: str) -> str:
    """The corpus option `default_view` in the written form.

    Raises:
        ConfigurationError: it names an unknown view.
    """
    named = [part.strip().lower() for part in option.split(",") if part.strip()]
    unknown = [part for part in named if part not in VIEWS]
    if unknown:
        raise ConfigurationError(
            f"option corpus.default_view: found {unknown}; expected views out of {list(VIEWS)}, "
            "comma-separated. Correct it in settings.toml."
        )
    return written(named)
