"""The sections of a report by its headings, and what is odd (docs/reports.md)."""

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
    parts = [
        part for part in _parts_between(text, headings) if _has_content(text, part)
    ]
    notes: list[str] = []
    if all(heading.kind in ("title", "sign-off") for heading in headings):
        notes.append("no-headings")
    if _count_reports(headings, parts) > 1:
        notes.append("two-reports")
    if not any(part.kind == "find" for part in parts):
        with_findings: list[Section] = []
        for part in parts:
            with_findings += _without_its_findings(text, part)
        parts = with_findings
    coded = _with_codes(parts)
    return SectionedText(coded.sections, notes + coded.notes)


def _parts_between(text: str, headings: Sequence[Heading]) -> Iterator[Section]:
    begin = Heading(0, 0, "", "title")
    end = Heading(len(text), len(text), "", "title")
    for heading, following in pairwise((begin, *headings, end)):
        yield Section(heading.end, following.begin, heading.written, heading.kind)


def _has_content(text: str, part: Section) -> bool:
    """Whether there is more than a drawn rule."""
    content = text[part.begin : part.end].strip()
    is_short = len(content) <= _LONGEST_PLACEHOLDER
    return bool(content) and (is_short or bool(content.strip(MARGIN + "\r\n")))


def _count_reports(headings: Sequence[Heading], parts: Sequence[Section]) -> int:
    """Count the reports in a text: an examination begins again behind an impression."""
    filled = {part.begin for part in parts}
    reports = 1
    is_concluded = False
    is_begun_again = False
    for heading in headings:
        if heading.written.lower().startswith("adden"):
            continue
        is_concluded = is_concluded or heading.kind == "impr"
        if is_concluded and heading.kind in ("introduction", "title", "hist"):
            is_begun_again = True
        states_findings = heading.kind in ("find", "impr") and heading.end in filled
        if is_begun_again and states_findings:
            reports += 1
            is_begun_again = False
    return reports


def _without_its_findings(text: str, part: Section) -> list[Section]:
    """Divide a part at its first blank line, where no heading names the findings.

    "HISTORY: Cough.\\n\\nThe lungs are clear.": the second paragraph is findings.
    """
    if part.kind not in ("hist", "introduction"):
        return [part]
    for blank in BLANK_LINE.finditer(text, part.begin, part.end):
        has_text_before = bool(text[part.begin : blank.start()].strip())
        if has_text_before and _SENTENCE_BEGIN.match(text, blank.end()):
            findings = Section(blank.end(), part.end, "", "find")
            return [part._replace(end=blank.start()), findings]
    return [part]


def _with_codes(parts: Sequence[Section]) -> SectionedText:
    """Decide what the sentences of each part count as."""
    kinds = {part.kind for part in parts}
    notes: list[str] = []
    if any(part.kind == "find" and not part.heading for part in parts):
        notes.append("findings-without-heading")
    if not _is_final(kinds) and "preliminary" not in kinds:
        notes.append("no-findings-section")
    sections: list[Section] = []
    unread: list[str] = []
    code: SectionCode = "other"
    for part in parts:
        code = _code_of(part, code, kinds)
        if code == "other" and part.kind in _NOTE_OF_UNREAD:
            unread.append(_NOTE_OF_UNREAD[part.kind])
        sections.append(part._replace(code=code))
    # One note a report, however many of its parts were not read.
    return SectionedText(sections, notes + list(dict.fromkeys(unread)))


_NOTE_OF_UNREAD: Mapping[HeadingKind, str] = {
    "title": "text-before-headings",
    "preliminary": "preliminary-superseded",
}
"""Notes on parts that might have been findings, and are not read."""


def _is_final(kinds: set[HeadingKind]) -> bool:
    """Whether a report has more than history and a preliminary reading."""
    return not kinds.isdisjoint(("find", "impr", "title"))


def _code_of(
    part: Section, code_before: SectionCode, kinds: set[HeadingKind]
) -> SectionCode:
    """Decide what the sentences of a part count as.

    Args:
        part: of the report.
        code_before: of the part before.
        kinds: of all parts.
    """
    if part.kind == "hist" or part.kind == "find" or part.kind == "impr":
        return part.kind
    if part.kind == "title":
        return _code_under_title(part, code_before, has_findings="find" in kinds)
    if part.kind == "preliminary" and not _is_final(kinds):
        return "find"
    return "other"


def _code_under_title(
    part: Section, code_before: SectionCode, *, has_findings: bool
) -> SectionCode:
    """Decide what text under a mere title is.

    Args:
        part: behind the title, or at the begin of the report.
        code_before: of the part before.
        has_findings: whether a heading names findings.
    """
    if not has_findings:
        return "find"
    # "FINDINGS: ...\nLATERAL CHEST\n...": behind findings they are findings of it.
    is_behind_findings = code_before in ("find", "impr")
    if is_behind_findings and is_exam_title(part.heading, cutting_words()):
        return code_before
    return "other"
