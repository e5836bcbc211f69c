"""The headings of a report, as radiologists write them (docs/reports.md).

"FINDINGS: ...", "Impression" alone on a line, "FINDINGS The heart ...", "PORTABLE
CHEST". Which sections they make is decided in `sections.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lunguage_assets.structuring.text.cutting_words import (
    CuttingWords,
    HeadingKind,
    heading_words,
)

_WINDOW = 72
"""Longest heading in characters, with what may stand before it on its line."""
_TITLE_LENGTH = 100
MARGIN = " \t*#>_-\ufeff"
"""What may stand before a heading on its line."""
_OWN_LINE = re.compile(
    r"""
    ^[ \t*#>_]*
    ([A-Za-z][A-Za-z/&'\x20-]{2,48}?)
    [ \t\r*_]*
    (?:[ \t][-\u2013\u2014]+[ \t]|$)        # a dash between blanks, or the line's end
    """,
    re.MULTILINE | re.VERBOSE,
)
_CAPITALS = re.compile(
    r"^[ \t]*([A-Z]{4}[A-Z/&]*(?:[ \t][A-Z/&]{2,}){0,4})(?=[ \t]+[A-Z0-9_])",
    re.MULTILINE,
)
_LINE = re.compile(r"^[^\n]*\S[^\n]*$", re.MULTILINE)
BLANK_LINE = re.compile(r"\n\s*\n[ \t]*")


class Heading(NamedTuple):
    """A heading in a report's text.

    Attributes:
        begin, end: its characters, the colon among them.
        wording: as the report writes it, without colon.
        kind: what stands below it.
    """

    begin: int
    end: int
    wording: str
    kind: HeadingKind


def headings_of(text: str, words: CuttingWords) -> list[Heading]:
    """Find the headings of a report in order, without overlaps.

    Of two that begin at one character a listed one is taken before a title, and then
    the longer one.
    """
    candidates = [
        *_headings_with_colon(text, words),
        *_headings_on_own_lines(text, words),
        *_headings_in_capitals(text, words),
        *_exam_titles(text, words),
        *_sign_offs(text, words),
    ]
    candidates.sort(
        key=lambda heading: (heading.begin, heading.kind == "title", -heading.end)
    )
    headings: list[Heading] = []
    for heading in candidates:
        if headings and heading.begin < headings[-1].end:
            continue
        if headings and _is_title_in_prose(text, headings[-1], heading):
            continue
        headings.append(heading)
    return headings


def _is_title_in_prose(text: str, last: Heading, title: Heading) -> bool:
    """Whether a line that reads like a title says, among findings, how they were seen.

    "The heart is large on the\\nPA and lateral chest\\nradiographs of today".
    """
    if title.kind != "title" or last.kind not in ("find", "impr"):
        return False
    # A colon or a blank line sets it apart from the prose before it.
    if text[title.end - 1] == ":" or BLANK_LINE.search(text, last.end, title.begin):
        return False
    following = text[title.end : title.end + 2].lstrip("\r\n")
    return ". " in title.wording or following[:1].islower()


def _headings_with_colon(text: str, words: CuttingWords) -> Iterator[Heading]:
    for colon in re.finditer(":", text):
        heading = _heading_before_colon(text, colon.start(), words)
        if heading is not None:
            yield heading


def _heading_before_colon(text: str, colon: int, words: CuttingWords) -> Heading | None:
    """Find the longest heading that ends at a colon.

    Args:
        text: of the report.
        colon: its position.
        words: of headings.
    """
    begin_of_window = max(0, colon - _WINDOW)
    begin_of_line = text.rfind("\n", begin_of_window, colon) + 1
    offset = max(begin_of_line, begin_of_window)
    window = text[offset:colon].rstrip(" \t*_")
    # "FINDINGS (two views):" is the heading "FINDINGS".
    if window.endswith(")"):
        window = window.rpartition("(")[0]
    # "10:30" and "Findings 2:" are none.
    if not window or not (window[-1].isalpha() or window[-1] == " "):
        return None
    before_colon = list(heading_words(window))[-words.longest_heading :]
    # The longest first: of "Clinical history:" not "history" alone.
    for first, word in enumerate(before_colon):
        heading_kind = words.heading_kind(before_colon[first:])
        if heading_kind is not None:
            if not _may_begin_heading(window, word.start()):
                return None
            wording = window[word.start() : before_colon[-1].end()]
            return Heading(offset + word.start(), colon + 1, wording, heading_kind)
    return None


def _may_begin_heading(line: str, begin: int) -> bool:
    """Whether it begins with a capital, or where a line or sentence begins.

    "There are several findings: ..." is prose.
    """
    before = line[:begin].rstrip(MARGIN)
    return line[begin].isupper() or before[-1:] in (".", "?", "!", ";", "")


def _headings_on_own_lines(text: str, words: CuttingWords) -> Iterator[Heading]:
    """Find headings alone on a line, or before a dash: "Impression - no edema"."""
    for match in _OWN_LINE.finditer(text):
        wording = match.group(1)
        heading_kind = words.heading_kind(heading_words(wording))
        if heading_kind is not None and wording[0].isupper():
            yield Heading(match.start(1), match.end(), wording, heading_kind)


def _headings_in_capitals(text: str, words: CuttingWords) -> Iterator[Heading]:
    """Find headings in capitals before other text: "FINDINGS The heart is large"."""
    for match in _CAPITALS.finditer(text):
        heading = _longest_in_capitals(text, match, words)
        if heading is not None:
            yield heading


def _longest_in_capitals(
    text: str, match: re.Match[str], words: CuttingWords
) -> Heading | None:
    """Find the longest heading with which a run of capitals begins.

    Args:
        text: of the report.
        match: the run, where a line begins.
        words: of headings.
    """
    begin = match.start(1)
    capitals = list(heading_words(match.group(1)))
    has_gap = "  " in match.group(1)
    for last in range(len(capitals), 0, -1):
        heading_kind = words.heading_kind(capitals[:last])
        # A part of the capitals is a heading where two blanks are somewhere among them:
        # "FINDINGS  PA VIEW shows".
        if heading_kind is not None and (last == len(capitals) or has_gap):
            end = begin + capitals[last - 1].end()
            if not _is_followed_by_prose(text, end):
                return None
            return Heading(begin, end, text[begin:end], heading_kind)
    return None


def _is_followed_by_prose(text: str, end: int) -> bool:
    """Whether the rest of the line is a sentence.

    "FINDINGS ARE" is no heading, "FINDINGS  PA view" is.
    """
    line_end = text.find("\n", end)
    if line_end == -1:
        line_end = len(text)
    line = text[end:line_end]
    # A line all in capitals is a title: "CHEST PORTABLE".
    if not any(letter.islower() for letter in line[:_WINDOW]):
        return False
    if line.startswith(("  ", "\t")):
        return True
    # "A" is an article as well: "IMPRESSION A small effusion".
    following = line.split(None, 1)[0]
    return len(following) <= 1 or not following.isupper()


def _exam_titles(text: str, words: CuttingWords) -> Iterator[Heading]:
    """Find lines that only name the examination, and such words before a colon."""
    for line in _LINE.finditer(text):
        line_text = line.group()
        begin = line.end() - len(line_text.lstrip())
        colon = line_text.rfind(":", 0, _TITLE_LENGTH)
        if len(line_text) <= _TITLE_LENGTH and is_exam_title(line_text, words):
            yield Heading(begin, line.end(), line_text.strip(" \t\r:"), "title")
        elif colon > 0:
            # "PORTABLE AP CHEST: The lungs are clear." Only in capitals: before a colon
            # "Portable AP chest" may be prose.
            before_colon = line_text[:colon]
            if before_colon.isupper() and is_exam_title(before_colon, words):
                end = line.start() + colon + 1
                yield Heading(begin, end, before_colon.strip(), "title")


def is_exam_title(line: str, words: CuttingWords) -> bool:
    """Whether a text only names an examination.

    It has words of `exam_words` only, two at least, and one of `exam_nouns` among them.
    """
    if line.rstrip().endswith("."):
        return False
    names: list[str] = []
    for token in heading_words(line):
        word = token.group().lower()
        # Dates, and what de-identification left of a name, are no words of it.
        if not word[0].isdigit() and word not in ("/", "xxxx"):
            names.append(word)
    has_noun = not words.groups["exam_nouns"].isdisjoint(names)
    are_all_of_exams = words.groups["exam_words"].issuperset(names)
    return has_noun and len(names) >= 2 and are_all_of_exams


def _sign_offs(text: str, words: CuttingWords) -> Iterator[Heading]:
    for match in words.sign_off.finditer(text):
        yield Heading(match.start(1), match.start(1), match[1], "sign-off")
