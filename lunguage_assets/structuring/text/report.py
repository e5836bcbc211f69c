"""A report's text cut for every structurer: sections, sentences, views and notes.

What is not about the chest is not read (docs/reports.md).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from lunguage_assets.structuring.contract import SectionedReport, Sentence
from lunguage_assets.structuring.text.cutting_words import (
    SECTIONS,
    cutting_words,
)
from lunguage_assets.structuring.text.languages import (
    LANGUAGES,
    NOT_ENGLISH,
    foreign_sentences,
)
from lunguage_assets.structuring.text.sections import Section, sections_of
from lunguage_assets.structuring.text.sentences import line_width, sentence_spans
from lunguage_assets.structuring.text.views import views_in_text

VERSION = "9"
"""Raise it with every change of rules that cuts a report otherwise.

`identity` carries it.
"""

_WORD = re.compile(r"[^\W\d_]+")
_SUB_HEADING_LENGTH = 60


def identity() -> str:
    """Name everything that changes how reports are cut."""
    words = SECTIONS.read_bytes() + LANGUAGES.read_bytes()
    return f"text/{VERSION}/{hashlib.blake2b(words, digest_size=6).hexdigest()}"


def cut_report(study_id: str, text: str) -> SectionedReport:
    """Cut a report into sentences, in the order of the text; never raises.

    Notes: `empty`, `no-headings`, `findings-without-heading`, `no-findings-section`,
    `text-before-headings` (not read), `preliminary-superseded` (not read),
    `not-english` (the rules read nothing in it), `not-chest` (not read).
    """
    if not text.strip():
        return SectionedReport(study_id, text, (), notes=("empty",))
    # Too little is read rather than too much: what is odd is noted, never guessed at.
    sections, notes = sections_of(text)
    sentences, has_other_part = _numbered_sentences(text, sections)
    if has_other_part:
        notes.append("not-chest")
    if sentences and all(foreign_sentences([it.text for it in sentences])):
        notes.append(NOT_ENGLISH)
    views = views_in_text(text, sections, sentences)
    return SectionedReport(study_id, text, tuple(sentences), views, tuple(notes))


def _numbered_sentences(
    text: str, sections: Sequence[Section]
) -> tuple[list[Sentence], bool]:
    """Number the sentences; those of another part of the body count as `other`.

    "Clear lungs. KNEE: No fracture." is one report of two parts. The upper abdomen is
    on a film of the chest, and is no other part.

    Returns:
        The sentences, and whether some are of another part of the body.
    """
    words = cutting_words()
    # "HISTORY: Knee pain" does not make a report one of the knee; "CHEST: Clear." names
    # the chest in its heading alone.
    named = _words_in(
        *(
            f"{section.heading} {text[section.begin : section.end]}"
            for section in sections
            if section.code != "hist"
        )
    )
    names_other_part = not words.elsewhere.isdisjoint(named)
    is_all_of_other_part = names_other_part and words.chest.isdisjoint(named)
    width = line_width(text)
    numbers: Counter[str] = Counter()
    sentences: list[Sentence] = []
    has_other_part = False
    for section in sections:
        # A sub-heading, "KNEE:", holds at most up to the end of its section.
        is_of_other_part = is_all_of_other_part
        for span in sentence_spans(text, section.begin, section.end, width):
            sentence = span.of(text)
            code = section.code
            if names_other_part and code in ("find", "impr"):
                is_of_other_part = is_all_of_other_part or _is_of_other_part(
                    sentence, was_before=is_of_other_part
                )
                if is_of_other_part:
                    code = "other"
                    has_other_part = True
            # Findings are numbered without a gap where sentences about a knee stand
            # between them: these count among the `other` ones.
            numbers[code] += 1
            number = numbers[code]
            sentences.append(Sentence(code, number, span, sentence, section.heading))
    return sentences, has_other_part


def _words_in(*texts: str) -> set[str]:
    return set(_WORD.findall(" ".join(texts).lower()))


def _is_of_other_part(sentence: str, *, was_before: bool) -> bool:
    """Whether another part of the body is described from this sentence on.

    Args:
        sentence: of findings or impression; a sub-heading, "KNEE:", changes it.
        was_before: whether another part was described before it.
    """
    words = cutting_words()
    heading, colon, _ = sentence[:_SUB_HEADING_LENGTH].partition(":")
    named = _words_in(heading)
    names_chest = not words.chest.isdisjoint(named)
    names_other_part = not words.elsewhere.isdisjoint(named)
    if names_other_part and named <= words.elsewhere | words.exam_words:
        # "CHEST AND KNEE:" is read: it may be about the lungs.
        return not names_chest
    # Any other sub-heading ("HEART:", or "CHEST" alone) leads back to the chest.
    is_title_of_chest = names_chest and named <= words.exam_words
    return was_before and not colon and not is_title_of_chest
