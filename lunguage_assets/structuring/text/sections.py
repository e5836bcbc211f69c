"""The sections of a report by its headings, and what is odd (docs/reports.md).

How a heading is known is decided in `headings.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from lunguage_assets.structuring.contract import SectionCode
from lunguage_assets.structuring.text.cutting_words import HeadingKind, cutting_words
from lunguage_assets.structuring.text.headings import (
    BLANK_LINE,
    MARGIN,
    Heading,
    headings_of,
    is_exam_title,
)

_LONGEST_PLACEHOLDER = 8
"""Characters of `___`, which stands for something; a longer one is a drawn rule."""
_SENTENCE_BEGIN = re.compile(r"[A-Z0-9_(]")


class Section(NamedTuple):
    """A part of a report behind its heading.

    Attributes:
        begin, end: its characters, without the heading.
        heading: as written, or empty.
        kind: of the heading.
        code: what its sentences count as.
    """

    begin: int
    end: int
    heading: str
    kind: HeadingKind
    code: SectionCode = "other"


class SectionedText(NamedTuple):
    """The sections of a report in the order of the text, and notes on what was odd."""

    sections: list[Section]
    notes: list[str]


def sections_of(text: str) -> SectionedText:
    """Cut a report into sections; linear in the text's length.

    Without any heading everything is findings. Text before the first heading, under a
    mere title, or in a paragraph of its own behind history, technique or comparison is
    findings when no heading names them. A preliminary reading counts only where the
    report has no other.
    """
    headings = headings_of(text, cutting_words())
    sections = [
        section
        for section in _sections_between(text, headings)
        if _has_content(text, section)
    ]
    notes: list[str] = []
    if all(heading.kind in ("title", "sign-off") for heading in headings):
        notes.append("no-headings")
    if _count_reports(headings, sections) > 1:
        notes.append("two-reports")
    # Before the codes: whether a heading names findings decides what other text is.
    if not any(section.kind == "find" for section in sections):
        with_findings: list[Section] = []
        for section in sections:
            with_findings += _apart_from_findings(text, section)
        sections = with_findings
    coded = _with_codes(sections)
    return SectionedText(coded.sections, notes + coded.notes)


def _sections_between(text: str, headings: Sequence[Heading]) -> Iterator[Section]:
    # What stands before the first heading is treated as under a mere title.
    begin = Heading(0, 0, "", "title")
    end = Heading(len(text), len(text), "", "title")
    for heading, following in pairwise((begin, *headings, end)):
        yield Section(heading.end, following.begin, heading.wording, heading.kind)


def _has_content(text: str, section: Section) -> bool:
    """Whether there is more than a drawn rule."""
    content = text[section.begin : section.end].strip()
    is_short = len(content) <= _LONGEST_PLACEHOLDER
    return bool(content) and (is_short or bool(content.strip(MARGIN + "\r\n")))


def _count_reports(headings: Sequence[Heading], sections: Sequence[Section]) -> int:
    """Count the reports in a text: an examination begins again behind an impression."""
    begins_with_content = {section.begin for section in sections}
    reports = 1
    is_concluded = False
    is_begun_again = False
    for heading in headings:
        # "ADDENDUM: ..." with findings of its own belongs to the report before it.
        if heading.wording.lower().startswith("adden"):
            continue
        is_concluded = is_concluded or heading.kind == "impr"
        if is_concluded and heading.kind in ("introduction", "title", "hist"):
            is_begun_again = True
        has_content = heading.end in begins_with_content
        states_findings = has_content and heading.kind in ("find", "impr")
        # A second title alone may be a repeated header of the page.
        if is_begun_again and states_findings:
            reports += 1
            is_begun_again = False
    return reports


def _apart_from_findings(text: str, section: Section) -> list[Section]:
    """Divide a section at its first blank line, where no heading names the findings.

    "HISTORY: Cough.\\n\\nThe lungs are clear.": the second paragraph is findings.
    """
    if section.kind not in ("hist", "introduction"):
        return [section]
    for blank in BLANK_LINE.finditer(text, section.begin, section.end):
        has_text_before = bool(text[section.begin : blank.start()].strip())
        if has_text_before and _SENTENCE_BEGIN.match(text, blank.end()):
            findings = Section(blank.end(), section.end, "", "find")
            return [section._replace(end=blank.start()), findings]
    return [section]


def _with_codes(sections: Sequence[Section]) -> SectionedText:
    """Decide what the sentences of each section count as."""
    heading_kinds = {section.kind for section in sections}
    notes: list[str] = []
    if any(section.kind == "find" and not section.heading for section in sections):
        notes.append("findings-without-heading")
    if not _is_final(heading_kinds) and "preliminary" not in heading_kinds:
        notes.append("no-findings-section")
    coded: list[Section] = []
    unread: list[str] = []
    code: SectionCode = "other"
    for section in sections:
        code = _code_of(section, code, heading_kinds)
        if code == "other" and section.kind in _NOTE_OF_UNREAD:
            unread.append(_NOTE_OF_UNREAD[section.kind])
        coded.append(section._replace(code=code))
    # One note a report, however many of its sections were not read.
    return SectionedText(coded, notes + list(dict.fromkeys(unread)))


_NOTE_OF_UNREAD: Mapping[HeadingKind, str] = {
    "title": "text-before-headings",
    "preliminary": "preliminary-superseded",
}
"""Notes on sections that might have been findings, and are not read."""


def _is_final(heading_kinds: set[HeadingKind]) -> bool:
    """Whether a report has more than history and a preliminary reading."""
    return not heading_kinds.isdisjoint(("find", "impr", "title"))


def _code_of(
    section: Section, code_before: SectionCode, heading_kinds: set[HeadingKind]
) -> SectionCode:
    """Decide what the sentences of a section count as.

    Args:
        section: of the report.
        code_before: of the section before.
        heading_kinds: of all sections.
    """
    if section.kind == "hist" or section.kind == "find" or section.kind == "impr":
        return section.kind
    if section.kind == "title":
        has_findings = "find" in heading_kinds
        return _code_under_title(section, code_before, has_findings=has_findings)
    # "PRELIMINARY REPORT: Possible edema." counts until there is a final reading.
    if section.kind == "preliminary" and not _is_final(heading_kinds):
        return "find"
    return "other"


def _code_under_title(
    section: Section, code_before: SectionCode, *, has_findings: bool
) -> SectionCode:
    """Decide what text under a mere title is.

    Args:
        section: behind the title, or at the begin of the report.
        code_before: of the section before.
        has_findings: whether a heading names findings.
    """
    if not has_findings:
        return "find"
    # "FINDINGS: ...\nLATERAL CHEST\n...": behind findings they are findings of it.
    is_behind_findings = code_before in ("find", "impr")
    if is_behind_findings and is_exam_title(section.heading, cutting_words()):
        return code_before
    return "other"
