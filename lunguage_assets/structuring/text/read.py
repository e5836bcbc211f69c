"""A report's text as every structurer gets it: sections, sentences, views, and notes on what was odd."""

from __future__ import annotations

import re

from lunguage_assets.structuring.contract import SectionedReport, Sentence
from lunguage_assets.structuring.text.sections import Section, sections
from lunguage_assets.structuring.text.sentences import line_width, sentences
from lunguage_assets.structuring.text.views import views_in_text
from lunguage_assets.structuring.text.words import Languages, cutting_words

VERSION = "3"
"""Raise it with every change of rules that cuts a report otherwise; `identity` carries it."""

_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_ENOUGH_WORDS = 3
_LANGUAGE_LENGTH = 4000
_TECHNIQUE_LENGTH = 600


def identity() -> str:
    """Names everything that changes how reports are cut."""
    return f"text/{VERSION}/{cutting_words().identity}"


def sectioned(study_id: str, text: str) -> SectionedReport:
    """The report cut into sentences, in the order of the text; never raises, whatever the text.

    Notes: `empty`, `no-headings`, `findings-without-heading`, `no-findings-section`, `text-before-headings`
    (not read), `preliminary-superseded` (not read), `two-reports`, `not-english`.
    """
    if not text.strip():
        return SectionedReport(study_id, text, (), notes=("empty",))
    cut, notes = sections(text)
    found = _numbered(text, cut)
    introduction = [
        f"{section.heading} {text[section.begin : min(section.end, section.begin + _TECHNIQUE_LENGTH)]}"
        for section in cut
        if section.introduces and not section.heading.lower().startswith(("compar", "prior", "date"))
    ]
    told = (sentence for sentence in found if sentence.section in ("find", "impr"))
    if not _english(text[:_LANGUAGE_LENGTH], cutting_words().file.languages):
        notes = (*notes, "not-english")
    views = views_in_text(introduction, (section.heading for section in cut if section.heading), told)
    return SectionedReport(study_id, text, found, views, notes)


def _numbered(text: str, cut: tuple[Section, ...]) -> tuple[Sentence, ...]:
    width = line_width(text)
    numbers: dict[str, int] = {}
    found = []
    for section in cut:
        for span in sentences(text, section.begin, section.end, width):
            number = numbers[section.code] = numbers.get(section.code, 0) + 1
            found.append(Sentence(section.code, number, span, span.of(text), section.heading))
    return tuple(found)


def _english(text: str, words: Languages) -> bool:
    """Whether the text may be English: few words are enough for doubt about none, many for none about it."""
    spoken = _WORD.findall(text.lower())
    letters = "".join(spoken)
    if len(letters) > 20 and len(_LATIN.findall(letters)) < len(letters) / 2:
        return False
    english = sum(word in words.english for word in spoken)
    other = sum(word in words.other and word not in words.english for word in spoken)
    return other < _ENOUGH_WORDS or other <= english
