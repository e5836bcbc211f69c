"""The views that a report's own text names: "PA and lateral views of the chest".

The words of views are those of `corpus/views.py`; those of another examination, or of
one that is wished for, are none of this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lunguage_assets.caches import remembered
from lunguage_assets.corpus.views import study_views, written
from lunguage_assets.structuring.contract import Sentence
from lunguage_assets.structuring.text.sections import Section

_TECHNIQUE_LENGTH = 600
"""Characters of title or technique in which views are looked for."""
_SENTENCES_WITH_VIEWS = 3
"""First sentences of findings and impression in which views are named."""

_NAMES = (
    r"single|portable|bedside|upright|erect|semi-?upright|semi-?erect|supine|standing"
    r"|recumbent|decubitus|decub|frontal|ap|pa|antero-?posterior|postero-?anterior"
    r"|cross-?table|lateral|lat|and|two|one|[12]"
)
_IMAGES = (
    r"(?:chest\s+)?"
    r"(?:views?|radio(?:graph|gram)s?|films?|projections?|x-?rays?|images?|chest)\b"
)
_NOT_OF_ANOTHER_PART = (
    r"(?!\s+of\s+(?:(?:the|both|left|right)\s+)*"
    r"(?!the|both|left|right|chest|thorax|lungs)\w)"
)
"""Not "lateral view of the knee"."""
_NAMED_VIEWS = re.compile(
    rf"\b(?:{_NAMES})(?:[\s,/&-]+(?:{_NAMES}|left|right|chest)){{0,8}}[\s,/&-]+"
    rf"{_IMAGES}{_NOT_OF_ANOTHER_PART}",
    re.IGNORECASE,
)
_LATERAL_BODY_PART = re.compile(
    r"\b(?:left|right|inferior|lower|upper)\s+lateral\s+chest\b"
    r"(?!\s+\w*(?:view|film|ray|radio))",
    re.IGNORECASE,
)
"""A part of the body: "the left lateral chest"."""
_EARLIER_FILM = re.compile(
    r"\b(?:compar|prior|previous|earlier|old|last|outside|since|repeat|follow|from\b)",
    re.IGNORECASE,
)
"""What leads to another examination: "compared to the PA view of ..."."""
_WISHED_FOR = re.compile(
    r"\b(?:recommend|advis|consider|helpful|useful|beneficial|of (?:benefit|value)"
    r"|warranted|[cw]ould)",
    re.IGNORECASE,
)
"""What says that a view was not taken: "a lateral view would be helpful"."""


def views_in_text(
    text: str, sections: Iterable[Section], sentences: Iterable[Sentence]
) -> str:
    """Find the views of a report, as `tables` write them.

    Of title, technique and headings every word counts; of findings and impression only
    what names images, where the former name no projection.

    Args:
        text: of the report.
        sections: of the report.
        sentences: of the report.
    """
    # Joined by what no name of a view has, so that none is made of two texts.
    views = study_views(" ; ".join(_titles_and_technique(text, sections)))
    if views & {"ap", "pa", "lateral"}:
        return written(views)
    named = [
        name
        for sentence in sentences
        if sentence.section in ("find", "impr")
        and sentence.number <= _SENTENCES_WITH_VIEWS
        for name in _views_named(sentence.text)
    ]
    if named:
        # "On the lateral view" is said of one film of two.
        views |= study_views(" ; ".join((*named, "frontal")))
    return written(views)


def _titles_and_technique(text: str, sections: Iterable[Section]) -> Iterator[str]:
    for section in sections:
        yield section.heading
        # "COMPARISON: PA view of May" names a view of another examination.
        is_of_another = section.heading.lower().startswith(("compar", "prior", "date"))
        if section.topic in ("introduction", "title") and not is_of_another:
            end = min(section.end, section.begin + _TECHNIQUE_LENGTH)
            yield f"{section.heading} {text[section.begin : end]}"


@remembered
def _views_named(sentence: str) -> list[str]:
    if _WISHED_FOR.search(sentence):
        return []
    of_this_film = _EARLIER_FILM.split(sentence, maxsplit=1)[0]
    return _NAMED_VIEWS.findall(_LATERAL_BODY_PART.sub(" ", of_this_film))
