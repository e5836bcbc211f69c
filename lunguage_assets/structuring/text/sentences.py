"""The sentences of a section: where a full stop, a line or a list ends one.

Everything but blanks, enumeration marks and drawn rules is in exactly one sentence.
Words whose full stop ends none ("approx.") stand in
`resources/structuring/sections.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from lunguage_assets.structuring.contract import Span
from lunguage_assets.structuring.text.cutting_words import cutting_words

_END = re.compile(
    r"""
        # Possessive, and only where a run begins: what fails behind a run fails behind
        # every part of it.
        (?<![.!?])(?P<stop>[.!?]++)(?P<close>["')\]\u201d]*+)
        # With or without a blank behind.
        (?=\s|$|[A-Z_]|[0-9]{1,2}[.)]\s?[A-Z])
        # A page break inside a sentence is none: "in the left\n\nbase".
    |   (?P<blank>(?<![^\W_])\n\s*\n|\n\s*\n(?![a-z]))
    |   \n[ \t]*
        (?P<bullet>
            (?:\(?[0-9]{1,2}[.)]|\#[0-9]{1,2}[.:]?|[-*\u2022\u00b7\u2013>])
            (?=[ \t]+\S)
        )
    |   (?P<line>\n)
        # "1. Normal heart 2. Clear lungs".
    |   (?P<listed>(?<=[\w)][ \t])[0-9]{1,2}[.)](?=[ \t]+[A-Z]))
    """,
    re.VERBOSE,
)
"""Where a sentence may end; the name of the group tells by what."""
_ENUMERATION = re.compile(
    r"""
    \s*
    (?:
        (?:
            \(?(?P<number>[0-9]{1,2})[.)](?![0-9])
        |   \#[0-9]{1,2}[.:]?(?=\s)
        |   [-*\u2022\u00b7\u2013>]+(?=[ \t])
        )
        \s*
    )*
    """,
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"([\w.]*)\s*$")
_DOTTED = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]$")
"""A word with stops inside: "e.g"."""
_ITEM_NUMBER = re.compile(r"\s*\d*\s*")
_INITIAL = re.compile(r"(?:[._]|\b(?:by|with|and|Dr))\s+[A-Z]$")
""" "Dr. J. Roe", "by A. Roe"; "Hepatitis C. Clear lungs." are two sentences."""
_COMPLETE = re.compile(r"(?:[^\W_]*[a-z]{2}|[)_X])$")
"""What ends a sentence without a blank: "lungs.No edema", "seen.___"."""
_SUB_HEADING = re.compile(r"[ \t]*[A-Z][A-Za-z/&,-]*(?: [A-Za-z/&,-]+){0,5}:")
_STATEMENT = re.compile(r"[A-Z\"'(\[]\S{0,80}")
_BLANKS = " \t\r\n\f\v"
_SAYS_SOMETHING = re.compile(r"[^\W_]|__")
_DRAWN_RULE = re.compile(r"_[_=*~.\s-]{8,}")
""" "___" stands for something that was taken out; a longer one is a rule."""

# How far is looked around a place where a sentence may end, in characters. A sentence
# is found in linear time, whatever the text.
_LOOK_BACK = 40
_LOOK_AHEAD = 80
_LONGEST_LINE = 400
_ITEMS_BEFORE = 5
"""Statements of a list in which the number before is looked for."""
_USUAL_WIDTH = 60
"""Lines that are all shorter were ended on purpose: nobody wraps text so narrowly."""


@dataclass(frozen=True, slots=True)
class _Passage:
    """Characters `begin` to `end` of a text whose longest line has `width` of them."""

    text: str
    begin: int
    end: int
    width: int


def line_width(text: str) -> int:
    """Measure the longest line of a report in characters.

    It tells wrapped lines from those that were ended on purpose.
    """
    return max((len(line.rstrip()) for line in text.splitlines()), default=0)


def sentence_spans(text: str, begin: int, end: int, width: int) -> Iterator[Span]:
    """Find the sentences of a section, in order; linear in the text's length.

    Args:
        text: of the report.
        begin: of the section.
        end: of the section.
        width: `line_width` of the report.
    """
    passage = _Passage(text, begin, end, max(width, _USUAL_WIDTH))
    begins = [begin]
    for match in _END.finditer(text, begin, end):
        cut = _cut_at(match, passage, begins)
        if cut is not None and cut > begins[-1]:
            begins.append(cut)
    for first, last in pairwise([*begins, end]):
        enumeration = _ENUMERATION.match(text, first, last)
        content = enumeration.end() if enumeration else first
        sentence = text[content:last].rstrip()
        if _SAYS_SOMETHING.search(sentence) and not _DRAWN_RULE.fullmatch(sentence):
            yield Span(content, content + len(sentence))


def _cut_at(match: re.Match[str], passage: _Passage, begins: list[int]) -> int | None:
    """Decide where a sentence ends at a match of `_END`; None: it goes on.

    Args:
        match: what may end it.
        passage: the section.
        begins: of the sentences so far.
    """
    if match["stop"]:
        return match.end() if _is_end(match, passage, begins[-1]) else None
    # "In segment 2. The ...": the number belongs to the sentence before it.
    if match["listed"] and not _is_next_of_list(match, begins):
        return match.end()
    if match["line"] and not _is_ended_line(match.start(), passage):
        return None
    return match.start()


def _is_end(match: re.Match[str], passage: _Passage, begin: int) -> bool:
    """Whether a full stop, or what stands for it, ends a sentence.

    Args:
        match: the stop.
        passage: the section.
        begin: of the sentence.
    """
    text = passage.text
    at = match.start()
    following = text[match.end() : match.end() + _LOOK_AHEAD].lstrip()[:1]
    if match.end() >= passage.end or not following:
        return True
    before = text[max(begin, at - _LOOK_BACK) : at]
    stop = match["stop"]
    if len(stop) > 1 or stop == "?":
        return _is_end_at_run(stop, before, following)
    # "1." begins a sentence.
    if at - begin < _LOOK_BACK and _ITEM_NUMBER.fullmatch(before):
        return False
    # With a blank behind, only an abbreviation goes on; without one, as in "3.5 cm", it
    # must be told that something ends at all.
    if text[match.end()] in _BLANKS or match["close"]:
        return not _is_abbreviation(before, following)
    is_number = before[-1:].isdigit() and following.isupper()
    return (is_number or _COMPLETE.search(before) is not None) and not (
        _is_abbreviation(before, "")
    )


def _is_end_at_run(stop: str, before: str, following: str) -> bool:
    """ "Clear lungs... small heart" goes on; so does "Fever, ? pneumonia"."""
    is_behind_word = before[-1:].isalnum() or before[-1:] in "_)"
    return not following.islower() and (is_behind_word or len(stop) > 1)


def _is_abbreviation(before: str, following: str) -> bool:
    """Whether the full stop belongs to the word: "approx. 2 cm", "Dr. J. Roe".

    Args:
        before: the text before the stop, up to the word.
        following: the first character behind the stop and the blanks; empty where it
            follows without a blank.
    """
    word = _last_word(before).lower()
    abbreviations = cutting_words().abbreviations
    # "Approx. 2 cm", "vs. edema": it never ends a sentence.
    if word in abbreviations.inside:
        return True
    # "No. 2", but "Effusion: no. Clear lungs."
    if word in abbreviations.before_number and following.isdigit():
        return True
    # "3 p.m. The ..." may end one: only a small letter or a number goes on for sure.
    is_dotted = _DOTTED.search(word) is not None
    if word in abbreviations.before_capital or is_dotted:
        return following.islower() or following.isdigit() or following in ",;"
    return following.isupper() and _INITIAL.search(before) is not None


def _last_word(before: str) -> str:
    match = _LAST_WORD.search(before)
    return match[1] if match else ""


def _is_next_of_list(match: re.Match[str], begins: list[int]) -> bool:
    """Whether a number inside a line numbers the next statement.

    It is one more than the last statement's: "1. Edema 2. Effusion".
    """
    text = match.string
    at = match.start()
    # "Segment 2."
    word_before = _last_word(text[max(0, at - _LOOK_BACK) : at]).lower()
    if word_before in cutting_words().counted:
        return False
    # A statement may have several sentences: the last one with a number counts.
    for begin in reversed(begins[-_ITEMS_BEFORE:]):
        enumeration = _ENUMERATION.match(text, begin, at)
        if enumeration and enumeration["number"]:
            return int(match["listed"][:-1]) == int(enumeration["number"]) + 1
    return False


def _is_ended_line(at: int, passage: _Passage) -> bool:
    """Whether a line ended before it was full, and a new statement begins behind.

    Args:
        at: position of the line break.
        passage: the section.
    """
    text = passage.text
    line = text[max(passage.begin, at - _LONGEST_LINE) : at]
    line = line.rpartition("\n")[2].rstrip()
    following = text[at + 1 : min(passage.end, at + _LONGEST_LINE)].lstrip(" \t\r")
    # "Effusion,\nEdema" goes on.
    if not line or line[-1] in ":,-(/":
        return False
    if _SUB_HEADING.match(following):
        return True
    # Where the next word would have had room the line was ended on purpose.
    statement = _STATEMENT.match(following)
    if statement is None:
        return False
    return len(line) + 1 + len(statement.group()) <= passage.width
