"""Views of a study as its report words them: title, technique, or "PA and lateral views of the chest".

The words are those of `corpus/views.py`. Views of another examination are none of this one: a previous film,
one that is recommended, a radiograph of the spine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lunguage_assets.corpus.views import study_views, written
from lunguage_assets.structuring.contract import Sentence

_NAMES = (
    r"single|portable|bedside|upright|erect|semi-?upright|semi-?erect|supine|standing|recumbent|decubitus"
    r"|decub|frontal|ap|pa|antero-?posterior|postero-?anterior|cross-?table|lateral|lat|and|two|one|[12]"
)
_IMAGES = r"(?:chest\s+)?(?:views?|radio(?:graph|gram)s?|films?|projections?|x-?rays?|images?|chest)\b"
_NAMED_VIEWS = re.compile(
    rf"\b(?:{_NAMES})(?:[\s,/&-]+(?:{_NAMES}|left|right|chest)){{0,8}}[\s,/&-]+{_IMAGES}"
    r"(?!\s+of\s+(?:(?:the|both|left|right)\s+)*(?!the|both|left|right|chest|thorax|lungs)\w)",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\b(?:left|right|inferior|lower|upper)\s+lateral\s+chest\b(?!\s+\w*(?:view|film|ray|radio))",
    re.IGNORECASE,
)
_EARLIER = re.compile(
    r"\b(?:compar|prior|previous|earlier|old|last|outside|since|repeat|follow|from\b)", re.IGNORECASE
)
_WANTED = re.compile(
    r"\b(?:recommend|advis|consider|(?:help|use)ful|beneficial|of (?:benefit|value)|warranted|could|would)",
    re.IGNORECASE,
)
_LOOKED_AT = 3
"""So many sentences of findings and of the impression are looked at: the views are named first."""


def views_in_text(introduction: Iterable[str], headings: Iterable[str], told: Iterable[Sentence]) -> str:
    """Views in the written form of `corpus/views.py`, or empty.

    Args:
        introduction: texts of title, examination and technique, where every word counts.
        headings: headings as written.
        told: sentences of findings and impression; only what names images of this study counts.
    """
    views = study_views(" ; ".join((*introduction, *headings)))
    if views & {"ap", "pa", "lateral"}:
        return written(views)
    named: list[str] = []
    counts: dict[str, int] = {}
    for sentence in told:
        seen = counts[sentence.section] = counts.get(sentence.section, 0) + 1
        if seen <= _LOOKED_AT and not _WANTED.search(sentence.text):
            earlier = _EARLIER.search(sentence.text)
            part = sentence.text[: earlier.start()] if earlier else sentence.text
            named += [found.group() for found in _NAMED_VIEWS.finditer(_PLACE.sub(" ", part))]
    if named:  # "on the lateral view" is said of one film of two
        views |= study_views(" ; ".join((*named, "frontal")))
    return written(views)
