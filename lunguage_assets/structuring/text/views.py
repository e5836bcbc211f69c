"""Views of a study as its report words them: title, technique, or "PA and lateral views of the chest".

The words are those of `corpus/views.py`. "Portable" is an AP film; "frontal" may be AP or PA and says
neither; two views without more are a frontal and a lateral one, so lateral is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lunguage_assets.corpus.views import image_views, written
from lunguage_assets.structuring.contract import Sentence

_NAMES = (
    r"single|portable|bedside|upright|erect|semi-?upright|semi-?erect|supine|standing|recumbent|decubitus"
    r"|decub|frontal|ap|pa|antero-?posterior|postero-?anterior|lateral|lat|and|two|one|[12]"
)
_IMAGES = r"(?:chest\s+)?(?:views?|radio(?:graph|gram)s?|films?|projections?|x-?rays?|images?|chest)\b"
_NAMED_VIEWS = re.compile(
    rf"\b(?:{_NAMES})(?:[\s,/&-]+(?:{_NAMES}|left|right|chest)){{0,8}}[\s,/&-]+{_IMAGES}", re.IGNORECASE
)
_EARLIER = re.compile(
    r"\b(?:compar|prior|previous|since|recommend|repeat|follow|could|would|from\b)", re.IGNORECASE
)
_TWO = re.compile(r"\b(?:two|2)[\s-]+view", re.IGNORECASE)
_PORTABLE = re.compile(r"\b(?:portable|bedside)\b", re.IGNORECASE)
_WINDOW = re.compile(r"\b(?:ap|aortopulmonary)\s+(?:window|diameter)", re.IGNORECASE)
_LOOKED_AT = 3
"""So many sentences of findings and of the impression are looked at: the views are named first."""


def views_in_text(introduction: Iterable[str], headings: Iterable[str], told: Iterable[Sentence]) -> str:
    """Views in the written form of `corpus/views.py`, or empty.

    Args:
        introduction: texts of title, examination and technique, where every word counts.
        headings: headings as written.
        told: sentences of findings and impression; only what names images of this study counts.
    """
    said = [*introduction, *headings]
    views = _views_in(" ; ".join(said)) if said else set()
    if views & {"ap", "pa", "lateral"}:
        return written(views)
    counts: dict[str, int] = {}
    for sentence in told:
        seen = counts[sentence.section] = counts.get(sentence.section, 0) + 1
        if seen <= _LOOKED_AT:
            earlier = _EARLIER.search(sentence.text)
            part = sentence.text[: earlier.start()] if earlier else sentence.text
            for named in _NAMED_VIEWS.finditer(part):
                views |= _views_in(named.group())
    return written(views)


def _views_in(said: str) -> set[str]:
    text = _WINDOW.sub(" ", said)
    found = set(image_views("", "", text).from_procedure)
    if _TWO.search(text):
        found.add("lateral")
    if _PORTABLE.search(text) and "pa" not in found:
        found.add("ap")
    return found
