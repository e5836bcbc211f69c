"""Cuts the text of a section into sentences; enumeration marks and bullets belong to none. Full stops are not
enough: there are "approx. 2.5 cm", "Dr. Roe", "clear.No effusion", lists without full stops, wrapped lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from lunguage_assets.structuring.contract import Span
from lunguage_assets.structuring.text.words import cutting_words

_STOP = re.compile(
    r"""
        (?P<stop>[.!?]+)(?P<close>["')\]\u201d]*)   # with or without a blank behind
        (?=\s|$|[A-Z_]|[0-9]{1,2}[.)]\s?[A-Z])
    |   (?P<blank>\n\s*\n)                                      # a blank line
    |   \n[ \t]*(?P<bullet>(?:\(?[0-9]{1,2}[.)]|\#[0-9]{1,2}[.:]?|[-*\u2022\u00b7\u2013>])(?=[ \t]+\S))
    |   (?P<line>\n)
    |   (?P<listed>(?<=[\w)][ \t])[0-9]{1,2}[.)](?=[ \t]+[A-Z]))  # "1. Normal heart 2. Clear lungs"
    """,
    re.VERBOSE,
)
_ENUMERATION = re.compile(
    r"\s*(?:(?:\(?[0-9]{1,2}[.)](?![0-9])|\#[0-9]{1,2}[.:]?(?=\s)|[-*\u2022\u00b7\u2013>]+(?=[ \t]))\s*)*"
)
_DIGITS = re.compile(r"[0-9]{1,2}")
_LAST_WORD = re.compile(r"[\w.]+$")
_DOTTED = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]$")
_SUB_HEADING = re.compile(r"[ \t]*[A-Z][A-Za-z/&,-]*(?: [A-Za-z/&,-]+){0,5}:")
_FIRST_WORD = re.compile(r"\S{1,80}")
_SAYS_SOMETHING = re.compile(r"[^\W_]|__")
_RULE = re.compile(r"[_=*~.\s-]{4,}")
_USUAL_WIDTH = 60
"""Lines that are all shorter were ended on purpose: nobody wraps text so narrowly."""
_BACK, _LISTED_BEFORE = 40, 5


def line_width(text: str) -> int:
    """The longest line of a report in characters, which tells wrapped lines from those ended on purpose."""
    return max((len(line.rstrip()) for line in text.splitlines()), default=0)


def sentences(text: str, begin: int, end: int, width: int) -> Iterator[Span]:
    """Spans of the sentences between `begin` and `end`, in order; `width` is the report's `line_width`.

    Everything but blanks, enumeration marks and drawn rules is in exactly one. Linear in the text's length.
    """
    cuts = [begin, *_cuts(text, begin, end, max(width, _USUAL_WIDTH)), end]
    for first, last in pairwise(cuts):
        enumeration = _ENUMERATION.match(text, first, last)
        content = enumeration.end() if enumeration else first
        piece = text[content:last].rstrip()
        if _SAYS_SOMETHING.search(piece) and not (
            piece[0] in "_" and _RULE.fullmatch(piece) and len(piece) > 8
        ):
            yield Span(content, content + len(piece))


def _cuts(text: str, begin: int, end: int, width: int) -> Iterator[int]:
    starts = [begin]
    for match in _STOP.finditer(text, begin, end):
        kind, at = match.lastgroup, match.start()
        if kind == "close":
            if not _ends(text, starts[-1], match, end):
                continue
            at = match.end()
        elif kind == "blank":
            if text[at - 1 : at].isalnum() and text[match.end() : match.end() + 1].islower():
                continue
        elif kind == "line":
            if not _ended_on_purpose(text, begin, at, end, width):
                continue
        elif kind == "listed" and not _next_of_list(text, match, starts[-_LISTED_BEFORE:]):
            at = match.end()  # "in segment 2. The ..." ends here
        if at > starts[-1]:
            yield at
            starts.append(at)


def _next_of_list(text: str, match: re.Match[str], starts: list[int]) -> bool:
    """Whether a number inside a line numbers the next statement: one more than the last statement's."""
    if _last_word(text, match.start()).lower() in cutting_words().groups["counted"]:
        return False
    for start in reversed(starts):
        enumeration = _ENUMERATION.match(text, start, match.start())
        digits = _DIGITS.search(enumeration.group()) if enumeration else None
        if digits:
            return int(match.group("listed")[:-1]) == int(digits.group()) + 1
    return False


def _last_word(text: str, at: int) -> str:
    found = _LAST_WORD.search(text[max(0, at - _BACK) : at].rstrip())
    return found.group() if found else ""


def _ends(text: str, start: int, match: re.Match[str], end: int) -> bool:
    """Whether a full stop, or what stands for it, ends the sentence that began at `start`."""
    at, behind = match.start(), match.end()
    follows = text[behind : behind + 80].lstrip()
    following = follows[:1] if behind < end else ""
    if not following:
        return True
    stop = match.group("stop")
    before = text[max(start, at - _BACK) : at]
    if len(stop) > 1 or stop == "?":
        attached = before[-1:].isalnum() or before[-1:] in "_)"
        return not following.islower() and (attached or len(stop) > 1)
    if not before.strip() or (before.strip().isdigit() and text[start:at].strip().isdigit()):
        return False  # "1." begins a sentence
    found = _LAST_WORD.search(before)
    last = found.group() if found else ""
    if text[behind : behind + 1] in " \t\r\n\f\v" or match.group("close"):
        return not _abbreviated(last.lower(), last, before, following)
    if _DOTTED.search(last):
        return False
    last = last.rpartition(".")[2]
    glued = last[-1:].islower() and len(last) > 1 and last.lower() not in _abbreviations("inside")
    return glued or last[-1:] in (")", "_", "X") or (last[-1:].isdigit() and following.isupper())


def _abbreviated(word: str, written: str, before: str, following: str) -> bool:
    if word in _abbreviations("inside"):
        return True
    if word in _abbreviations("before_number") and following.isdigit():
        return True
    if word in _abbreviations("before_capital") or _DOTTED.search(word):
        return following.islower() or following.isdigit() or following in ",;"
    return len(word) == 1 and written.isupper() and following.isupper() and _initial(before)


def _abbreviations(where: str) -> frozenset[str]:
    """Words whose full stop may end no sentence: never, before a capital, before a number."""
    return cutting_words().groups[f"abbreviations {where}"]


def _initial(before: str) -> bool:
    """Whether a single capital at the end belongs to a name: "J. Roe", "Dr. J. Roe", "by A. Roe"."""
    name = before[:-1].split()
    return bool(name) and (name[-1].endswith((".", "_")) or name[-1] in ("by", "with", "and", "Dr"))


def _ended_on_purpose(text: str, begin: int, at: int, end: int, width: int) -> bool:
    """Whether a line ended before it was full, and a new statement begins behind."""
    line = text[max(begin, text.rfind("\n", max(begin, at - 400), at) + 1, at - 400) : at].rstrip()
    following = text[at + 1 : min(end, at + 161)].lstrip(" \t\r")
    if not line or not following or following[0].islower() or line[-1] in ":,-(/":
        return False
    if _SUB_HEADING.match(following):
        return True
    first = _FIRST_WORD.match(following)
    fits = len(line) + 1 + (len(first.group()) if first else 0) <= width
    return fits and (following[0].isupper() or following[0] in "\"'([")
