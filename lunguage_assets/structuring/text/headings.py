"""The headings of a report, as radiologists write them (docs/reports.md).

"FINDINGS: ...", "Impression" alone on a line, "FINDINGS The heart ...", "PORTABLE
CHEST". Which sections they make is decided in `sections.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lunguage_assets.caches import remembered
from lunguage_assets.structuring.text.cutting_words import (
    HeadingKind,
    cutting_words,
    heading_words,
)

_WINDOW = 72
"""Longest heading in characters, with what may stand before it on its line."""
_TITLE_LENGTH = 100
_MARGIN = " \t*#>_-\ufeff"
"""What may stand before a heading on its line."""
_BEHIND_WORDS = re.compile(r"[ \t*_]*(?:\([^()]*\))?[ \t*_]*$")
""" "FINDINGS (two views):" is the heading "FINDINGS"."""
_UNLISTED = re.compile(
    r"(?:^|[.?!;][ \t])[ \t*#>_-]*([A-Z][\w'/-]*(?:[ \t]+[\w'/-]+){0,4})$"
)
"""What may be a heading, where a line or sentence begins."""
_OWN_LINE = re.compile(
    r"""
    ^[ \t*#>_]*
    ([A-Z][A-Za-z/&'\x20-]{2,48}?)
    [ \t\r*_]*
    (?:[ \t][-\u2013\u2014]+[ \t]|$)        # a dash between blanks, or the line's end
    """,
    re.MULTILINE | re.VERBOSE,
)
_CAPITALS = re.compile(
    r"""
    ^[ \t]*([A-Z]{4}[A-Z/&]*(?:[ \t][A-Z/&]{2,}){0,4})
    (?=[ \t]+[A-Z0-9_])
    # "FINDINGS ARE STABLE" is none: a word of text has a small letter, or no other.
    (?=[ \t]{2}|\t|[ \t](?:\S\s|\S*[a-z]|[^A-Z\s]+\s))
    (?=[^\n]{0,72}[a-z])                    # nor is the title "CHEST PORTABLE"
    """,
    re.MULTILINE | re.VERBOSE,
)
_LINE = re.compile(r"^[^\n]*\S[^\n]*$", re.MULTILINE)
BLANK_LINE = re.compile(r"\n\s*\n[ \t]*")


class Heading(NamedTuple):
    """A heading in a report's text.

    Attributes:
        begin, end: its characters, the colon among them.
        wording: as the report writes it, without colon.
        topic: what stands below it.
    """

    begin: int
    end: int
    wording: str
    topic: HeadingKind


def headings_of(text: str) -> list[Heading]:
    """Find the headings of a report in order, without overlaps.

    Of two that begin at one character a listed one is taken before a title, and then
    the longer one.
    """
    candidates = [
        *_headings_with_colon(text),
        *_headings_without_colon(text),
        *_exam_titles(text),
    ]
    for match in cutting_words().sign_off.finditer(text):
        candidates.append(Heading(match.start(1), match.start(1), match[1], "sign-off"))
    candidates.sort(
        key=lambda heading: (heading.begin, heading.topic == "title", -heading.end)
    )
    headings: list[Heading] = []
    for heading in candidates:
        if not headings or heading.begin >= headings[-1].end:
            headings.append(heading)
    return headings


def _headings_with_colon(text: str) -> Iterator[Heading]:
    """Find the longest heading that ends at each colon: "Clinical history:"."""
    for colon in re.finditer(":", text):
        window = text[max(0, colon.start() - _WINDOW) : colon.start()]
        before_colon = window.rpartition("\n")[2]
        line = _BEHIND_WORDS.sub("", before_colon)
        # "10:30" and "Findings 2:" are none.
        if not line[-1:].isalpha():
            continue
        heading = _heading_at_end(line)
        if heading is not None:
            first_letter, topic = heading
            begin = colon.start() - len(before_colon) + first_letter
            yield Heading(begin, colon.end(), line[first_letter:], topic)


@remembered
def _heading_at_end(line: str) -> tuple[int, HeadingKind] | None:
    """Find the longest heading at the end of a line, which reports repeat.

    Returns:
        Where it begins, and its topic; None: the line ends with none.
    """
    words = cutting_words()
    tokens = list(heading_words(line))
    for first, token in enumerate(tokens):
        topic = words.heading_kind(tokens[first:])
        if topic is not None:
            first_letter = token.start()
            before = line[:first_letter].rstrip(_MARGIN)
            # It begins with a capital, or where a line or sentence begins: "there are
            # several findings: ..." is prose.
            begins_anew = before[-1:] in (".", "?", "!", ";", "")
            is_heading = begins_anew or line[first_letter].isupper()
            return (first_letter, topic) if is_heading else None
    unlisted = _UNLISTED.search(line)
    topic = unlisted and words.kind_by_first_word(unlisted[1])
    return (unlisted.start(1), topic) if unlisted and topic else None


def _headings_without_colon(text: str) -> Iterator[Heading]:
    """Find headings alone on a line, before a dash, or in capitals before other text.

    "Impression - no edema", "FINDINGS The heart is large".
    """
    words = cutting_words()
    for form in (_OWN_LINE, _CAPITALS):
        for match in form.finditer(text):
            wording = match[1]
            topic = words.heading_kind(heading_words(wording))
            # "History of sternotomy" on a line of its own may be a finding.
            if topic is None and wording.isupper() and wording.count(" ") == 1:
                topic = words.kind_by_first_word(wording)
            if topic is not None:
                yield Heading(match.start(1), match.end(), wording, topic)


def _exam_titles(text: str) -> Iterator[Heading]:
    """Find lines that only name the examination, and such words before a colon."""
    for line in _LINE.finditer(text):
        line_text = line.group()
        begin = line.end() - len(line_text.lstrip())
        before_colon, colon, _ = line_text[:_TITLE_LENGTH].rpartition(":")
        if is_exam_title(line_text):
            yield Heading(begin, line.end(), line_text.strip(" \t\r:"), "title")
        # "PORTABLE AP CHEST: The lungs are clear." Only in capitals: before a colon
        # "Portable AP chest" may be prose.
        elif colon and before_colon.isupper() and is_exam_title(before_colon):
            end = line.start() + len(before_colon) + 1
            yield Heading(begin, end, before_colon.strip(), "title")


def is_exam_title(line: str) -> bool:
    """Whether a text only names an examination.

    It has words of `exam_words` only, two at least, and one of `exam_nouns` among them.
    """
    if line.rstrip().endswith("."):
        return False
    tokens = [token.group().lower() for token in heading_words(line)]
    # Dates, and what de-identification left of a name, are no words of it.
    names = [
        name for name in tokens if name not in ("/", "xxxx") and not name[0].isdigit()
    ]
    words = cutting_words()
    has_noun = not words.exam_nouns.isdisjoint(names)
    return has_noun and len(names) >= 2 and words.exam_words.issuperset(names)
