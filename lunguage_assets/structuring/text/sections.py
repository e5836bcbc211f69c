"""The sections of a report by its headings, and what is odd (docs/reports.md).

How a heading is known is decided in `headings.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from lunguage_assets.structuring.contract import SectionCode
from lunguage_assets.structuring.text.cutting_words import HeadingKind
from lunguage_assets.structuring.text.headings import (
    BLANK_LINE,
    Heading,
    headings_of,
    is_exam_title,
)
from lunguage_assets.structuring.text.sentences import says_something

_SENTENCE_BEGIN = re.compile(r"[A-Z0-9_(]")
_NOTES_OF_UNREAD: dict[HeadingKind, str] = {
    "title": "text-before-headings",
    "preliminary": "preliminary-superseded",
}
"""Notes on sections that might have been findings, and are not read."""


class Section(NamedTuple):
    """A part of a report behind its heading.

    Attributes:
        begin, end: its characters, without the heading.
        heading: as written, or empty.
        topic: of the heading.
        code: what its sentences count as.
    """

    begin: int
    end: int
    heading: str
    topic: HeadingKind
    code: SectionCode = "other"


def sections_of(text: str) -> tuple[list[Section], list[str]]:
    """Cut a report into sections; linear in the text's length.

    Without any heading everything is findings. Text before the first heading, under a
    mere title, or in a paragraph of its own behind history, technique or comparison is
    findings when no heading names them. A preliminary reading counts only where the
    report has no other.

    Returns:
        The sections in the order of the text, and notes on what was odd.
    """
    headings = headings_of(text)
    sections = list(_sections_between(text, headings))
    notes: list[str] = []
    if all(heading.topic in ("title", "sign-off") for heading in headings):
        notes.append("no-headings")
    topics = {section.topic for section in sections}
    # Before the codes: whether a heading names findings decides what other text is.
    if "find" not in topics:
        divided = list(chain(*(_paragraphs(text, section) for section in sections)))
        if len(divided) > len(sections):
            topics.add("find")
            notes.append("findings-without-heading")
        sections = divided
    if topics.isdisjoint(("find", "impr", "title", "preliminary")):
        notes.append("no-findings-section")
    code: SectionCode = "other"
    coded: list[Section] = []
    for section in sections:
        code = _code_of(section, code, topics)
        coded.append(section._replace(code=code))
    unread = {section.topic for section in coded if section.code == "other"}
    for topic, note in _NOTES_OF_UNREAD.items():
        # One note a report, however many of its sections were not read.
        notes += [note] * (topic in unread)
    return coded, notes


def _sections_between(text: str, headings: Sequence[Heading]) -> Iterator[Section]:
    """Take what stands behind each heading, if it says anything."""
    # What stands before the first heading is treated as under a mere title.
    begin = Heading(0, 0, "", "title")
    end = Heading(len(text), len(text), "", "title")
    for heading, following in pairwise((begin, *headings, end)):
        if says_something(text[heading.end : following.begin].strip()):
            yield Section(heading.end, following.begin, heading.wording, heading.topic)


def _paragraphs(text: str, section: Section) -> list[Section]:
    """Divide a section at its first blank line, where no heading names the findings.

    "HISTORY: Cough.\\n\\nThe lungs are clear.": the second paragraph is findings.
    """
    if section.topic not in ("hist", "introduction"):
        return [section]
    for blank in BLANK_LINE.finditer(text, section.begin, section.end):
        has_text_before = text[section.begin : blank.start()].strip()
        if has_text_before and _SENTENCE_BEGIN.match(text, blank.end()):
            findings = Section(blank.end(), section.end, "", "find")
            return [section._replace(end=blank.start()), findings]
    return [section]


def _code_of(
    section: Section, code_before: SectionCode, topics: set[HeadingKind]
) -> SectionCode:
    """Decide what the sentences of a section count as.

    Args:
        section: of the report.
        code_before: of the section before.
        topics: of all sections.
    """
    if section.topic in ("hist", "find", "impr"):
        return section.topic
    if section.topic == "title":
        if "find" not in topics:
            return "find"
        # "FINDINGS: ...\nLATERAL CHEST\n...": behind findings they are findings of it.
        if code_before != "hist" and is_exam_title(section.heading):
            return code_before
    # "PRELIMINARY REPORT: Possible edema." counts until there is a final reading.
    if section.topic == "preliminary" and topics.isdisjoint(("find", "impr", "title")):
        return "find"
    return "other"
