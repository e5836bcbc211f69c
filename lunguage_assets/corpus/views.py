"""Projections and postures of a study from its images' metadata (implicit.md section 1, "Views")."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.tables import VIEWS

_PROJECTIONS = {"ap": {"ap"}, "pa": {"pa"}, "lateral": {"lateral"}, "ll": {"lateral"}, "lat": {"lateral"}, "lao": set(), "rao": set()}
_POSTURES = (("erect", re.compile(r"\b(erect|upright|standing)\b")), ("supine", re.compile(r"\bsupine\b")), ("recumbent", re.compile(r"\brecumbent\b|\bdecubitus\b")))
_PORTABLE_AP = re.compile(r"\bportable\b|\bap\b")
_PA = re.compile(r"\bpa\b")
_LATERAL = re.compile(r"\b(lat|lateral)\b")


def image_views(view_position: str, orientation: str, procedure: str) -> set[str]:
    """Views that one image shows; the procedure text counts only where the view position is empty.

    Args:
        view_position: `ViewPosition`, such as PA, AP, LATERAL, LL.
        orientation: `PatientOrientationCodeSequence_CodeMeaning`, such as Erect or Recumbent.
        procedure: `PerformedProcedureStepDescription`, such as CHEST (PORTABLE AP).
    """
    views: set[str] = set()
    position = view_position.strip().lower()
    text = procedure.lower()
    if position:
        for part in re.split(r"[\s,/&+]+", position):
            views |= _PROJECTIONS.get(part, set())
    else:
        if _PORTABLE_AP.search(text):
            views.add("ap")
        if _PA.search(text):
            views.add("pa")
        if _LATERAL.search(text):
            views.add("lateral")
    for posture, words in _POSTURES:
        if words.search(orientation.lower()) or (not position and words.search(text)):
            views.add(posture)
    return views


def written(views: Iterable[str]) -> str:
    """The set, comma-joined in the fixed order ap, pa, lateral, erect, supine, recumbent; empty when unknown."""
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
        raise ConfigurationError(f"option corpus.default_view: found {unknown}; expected views out of {list(VIEWS)}, comma-separated.")
    return written(named)
