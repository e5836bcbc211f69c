"""A report's text as every structurer gets it: sections, sentences, notes on what was odd, and views as the
report words them: title, technique, or "PA and lateral views of the chest".

The words of views are those of `corpus/views.py`; views of another examination are none of this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from lunguage_assets.corpus.views import study_views, written
from lunguage_assets.structuring.contract import SectionedReport, Sentence
from lunguage_assets.structuring.text.sections import Section, sections
from lunguage_assets.structuring.text.sentences import line_width, sentences
from lunguage_assets.structuring.text.words import cutting_words

VERSION = "3"
"""Raise it with every change of rules that cuts a report otherwise; `identity` carries it."""

_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_LANGUAGE_LENGTH, _TECHNIQUE_LENGTH, _SUB_HEADING_LENGTH = 4000, 600, 60

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
    r"(?i)\b(?:left|right|inferior|lower|upper)\s+lateral\s+chest\b(?!\s+\w*(?:view|film|ray|radio))"
)
_EARLIER = re.compile(r"(?i)\b(?:compar|prior|previous|earlier|old|last|outside|since|repeat|follow|from\b)")
_WANTED = re.compile(
    r"(?i)\b(?:recommend|advis|consider|helpful|useful|beneficial|of (?:benefit|value)|warranted|[cw]ould)"
)


def identity() -> str:
    """Names everything that changes how reports are cut."""
    return f"text/{VERSION}/{cutting_words().identity}"


def sectioned(study_id: str, text: str) -> SectionedReport:
    """The report cut into sentences, in the order of the text; never raises, whatever the text.

    Notes: `empty`, `no-headings`, `findings-without-heading`, `no-findings-section`, `text-before-headings`
    (not read), `preliminary-superseded` (not read), `two-reports`, `not-english`, `not-chest` (not read).
    """
    if not text.strip():
        return SectionedReport(study_id, text, (), notes=("empty",))
    cut, notes = sections(text)
    found, elsewhere = _numbered(text, cut)
    if elsewhere:
        notes = (*notes, "not-chest")
    if not _english(text[:_LANGUAGE_LENGTH]):
        notes = (*notes, "not-english")
    return SectionedReport(study_id, text, found, _views_in_text(text, cut, found), notes)


def _numbered(text: str, cut: Sequence[Section]) -> tuple[tuple[Sentence, ...], bool]:
    """The sentences, and whether any is of another part of the body; such a one counts as `other`."""
    width, words = line_width(text), cutting_words().groups
    numbers: dict[str, int] = {}
    found, parts_elsewhere = [], False
    told = (text[section.begin : section.end].lower() for section in cut if section.code != "hist")
    said = {word for part in told for word in _WORD.findall(part)}
    named = not words["elsewhere"].isdisjoint(said)
    whole = named and words["chest"].isdisjoint(said)
    for section in cut:
        elsewhere = whole
        for span in sentences(text, section.begin, section.end, width):
            code = section.code
            if named and code in ("find", "impr"):
                elsewhere = whole or _elsewhere_from(span.of(text), words, elsewhere)
            if elsewhere and code in ("find", "impr"):
                code, parts_elsewhere = "other", True
            number = numbers[code] = numbers.get(code, 0) + 1
            found.append(Sentence(code, number, span, span.of(text), section.heading))
    return tuple(found), parts_elsewhere


def _elsewhere_from(sentence: str, words: Mapping[str, frozenset[str]], before: bool) -> bool:
    """Whether another part of the body is described from this sentence on: a sub-heading says so."""
    heading, colon, _ = sentence[:_SUB_HEADING_LENGTH].partition(":")
    if not colon and len(sentence) > _SUB_HEADING_LENGTH:
        return before
    said = set(_WORD.findall(heading.lower()))
    if said & words["elsewhere"] and said <= words["elsewhere"] | words["exam_words"]:
        return not said & words["chest"]
    title = bool(said & words["chest"]) and said <= words["exam_words"]
    return before and not colon and not title


def _english(text: str) -> bool:
    """Whether the text may be English: few words are enough for doubt about none, many for none about it."""
    words = cutting_words().groups
    spoken = _WORD.findall(text.lower())
    letters = "".join(spoken)
    if len(letters) > 20 and len(_LATIN.findall(letters)) < len(letters) / 2:
        return False
    english = sum(word in words["languages english"] for word in spoken)
    foreign = words["languages other"] - words["languages english"]
    other = sum(word in foreign for word in spoken)
    return other < 3 or other <= english


def _views_in_text(text: str, cut: Iterable[Section], found: Iterable[Sentence]) -> str:
    """Views by every word of title, technique and headings; of the findings, by what names images only."""
    told = [section.heading for section in cut if section.heading]
    for section in cut:
        of_another = section.heading.lower().startswith(("compar", "prior", "date"))
        if section.kind in ("introduction", "title") and not of_another:
            end = min(section.end, section.begin + _TECHNIQUE_LENGTH)
            told.append(f"{section.heading} {text[section.begin : end]}")
    views = study_views(" ; ".join(told))
    if views & {"ap", "pa", "lateral"}:
        return written(views)
    named: list[str] = []
    counts = {"find": 0, "impr": 0}
    for sentence in found:
        if sentence.section in counts:
            counts[sentence.section] += 1
            # the views are named first
            if counts[sentence.section] <= 3 and not _WANTED.search(sentence.text):
                earlier = _EARLIER.search(sentence.text)
                part = sentence.text[: earlier.start()] if earlier else sentence.text
                named += [view.group() for view in _NAMED_VIEWS.finditer(_PLACE.sub(" ", part))]
    if named:  # "on the lateral view" is said of one film of two
        views |= study_views(" ; ".join((*named, "frontal")))
    return written(views)
