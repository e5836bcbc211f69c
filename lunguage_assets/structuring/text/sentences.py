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
    |   (?P<blank>\n\s*\n)
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
            \(?[0-9]{1,2}[.)](?![0-9])
        |   \#[0-9]{1,2}[.:]?(?=\s)
        |   [-*\u2022\u00b7\u2013>]+(?=[ \t])
        )
        \s*
    )*
    """,
    re.VERBOSE,
)
_DIGITS = re.compile(r"[0-9]{1,2}")
_LAST_WORD = re.compile(r"[\w.]+$")
_DOTTED = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]$")
"""A word with stops inside: "e.g"."""
_SUB_HEADING = re.compile(r"[ \t]*[A-Z][A-Za-z/&,-]*(?: [A-Za-z/&,-]+){0,5}:")
_FIRST_WORD = re.compile(r"\S{1,80}")
_BLANKS = " \t\r\n\f\v"
_SAYS_SOMETHING = re.compile(r"[^\W_]|__")
_DRAWN_RULE = re.compile(r"[_=*~.\s-]{9,}")

# How far is looked around a place where a sentence may end, in characters. A sentence
# is found in linear time, whatever the text.
_LOOK_BACK = 40
_LOOK_AHEAD = 80
_LONGEST_LINE = 400
_LONGEST_LINE_AHEAD = 160
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
    for first, last in pairwise([begin, *_cuts(passage), end]):
        content = first
        enumeration = _ENUMERATION.match(text, first, last)
        if enumeration:
            content = enumeration.end()
        sentence = text[content:last].rstrip()
        if _SAYS_SOMETHING.search(sentence) and not _is_drawn_rule(sentence):
            yield Span(content, content + len(sentence))


def _is_drawn_rule(sentence: str) -> bool:
    """ "___" stands for something that was taken out; a longer one is a rule."""
    return sentence.startswith("_") and _DRAWN_RULE.fullmatch(sentence) is not None


def _cuts(passage: _Passage) -> Iterator[int]:
    """Find where sentences begin, without the first."""
    begins = [passage.begin]
    for match in _END.finditer(passage.text, passage.begin, passage.end):
        cut = _cut_at(match, passage, begins)
        if cut is not None and cut > begins[-1]:
            yield cut
            begins.append(cut)


def _cut_at(match: re.Match[str], passage: _Passage, begins: list[int]) -> int | None:
    """Decide where a sentence ends at a match of `_END`; None: it goes on.

    Args:
        match: what may end it.
        passage: the section.
        begins: of the sentences so far.
    """
    if match["stop"]:
        is_end = _is_end(match, passage, begins[-1])
        return match.end() if is_end else None
    # "In segment 2. The ...": the number belongs to the sentence before it.
    if match["listed"] and not _is_next_of_list(match, begins):
        return match.end()
    if match["blank"] and _goes_on_behind_blank(match):
        return None
    if match["line"] and not _is_ended_line(match.start(), passage):
        return None
    return match.start()


def _goes_on_behind_blank(match: re.Match[str]) -> bool:
    """A page break inside a sentence: a blank line between two lower-case words."""
    text = match.string
    before = text[match.start() - 1 : match.start()]
    following = text[match.end() : match.end() + 1]
    return before.isalnum() and following.islower()


# --- full stops


def _is_end(match: re.Match[str], passage: _Passage, begin: int) -> bool:
    """Whether a full stop, or what stands for it, ends a sentence.

    Args:
        match: the stop.
        passage: the section.
        begin: of the sentence.
    """
    text = passage.text
    at = match.start()
    behind = match.end()
    following = text[behind : behind + _LOOK_AHEAD].lstrip()[:1]
    if behind >= passage.end or not following:
        return True
    before = text[max(begin, at - _LOOK_BACK) : at]
    stop = match["stop"]
    if len(stop) > 1 or stop == "?":
        return _is_end_at_run(stop, before, following)
    if _is_item_number(before, text[begin:at]):
        return False
    last_word = _last_word_of(before)
    # With a blank behind, only an abbreviation goes on; without one, as in "3.5 cm", it
    # must be told that something ends at all.
    if text[behind] in _BLANKS or match["close"]:
        return not _is_abbreviation(last_word, before, following)
    return _is_end_without_blank(last_word, following)


def _is_end_at_run(stop: str, before: str, following: str) -> bool:
    """ "Clear lungs... small heart" goes on; so does "Fever, ? pneumonia"."""
    is_behind_word = before[-1:].isalnum() or before[-1:] in "_)"
    return not following.islower() and (is_behind_word or len(stop) > 1)


def _is_item_number(before: str, sentence: str) -> bool:
    """ "1." begins a sentence."""
    if not before.strip():
        return True
    return before.strip().isdigit() and sentence.strip().isdigit()


def _is_abbreviation(word: str, before: str, following: str) -> bool:
    """Whether the full stop belongs to the word: "approx. 2 cm", "Dr. J. Roe".

    Args:
        word: before the stop, as written.
        before: the text before the stop, up to the word.
        following: the first character behind the stop.
    """
    lower = word.lower()
    # "Approx. 2 cm", "vs. edema": it never ends a sentence.
    if lower in _abbreviations("inside"):
        return True
    # "No. 2", but "Effusion: no. Clear lungs."
    if lower in _abbreviations("before_number") and following.isdigit():
        return True
    # "3 p.m. The ..." may end one: only a small letter or a number goes on for sure.
    if lower in _abbreviations("before_capital") or _DOTTED.search(lower):
        return following.islower() or following.isdigit() or following in ",;"
    is_initial = len(word) == 1 and word.isupper() and following.isupper()
    return is_initial and _is_before_name(before)


def _abbreviations(position: str) -> frozenset[str]:
    """Read the words whose full stop may end no sentence, by what follows."""
    return cutting_words().groups[f"abbreviations {position}"]


def _is_before_name(before: str) -> bool:
    """Whether a single capital belongs to a name: "Dr. J. Roe", "by A. Roe".

    "Hepatitis C. Clear lungs." are two sentences.
    """
    words = before[:-1].split()
    if not words:
        return False
    return words[-1].endswith((".", "_")) or words[-1] in ("by", "with", "and", "Dr")


def _is_end_without_blank(word: str, following: str) -> bool:
    """ "Clear lungs.No edema", "seen.___", "at T6.The heart"; "e.g.PA" goes on."""
    if _DOTTED.search(word):
        return False
    word_at_stop = word.rpartition(".")[2]
    last_character = word_at_stop[-1:]
    is_word = last_character.islower() and len(word_at_stop) > 1
    if is_word and word_at_stop.lower() not in _abbreviations("inside"):
        return True
    # De-identification leaves "___" or "XXXX" at the end of a sentence.
    if last_character in (")", "_", "X"):
        return True
    return last_character.isdigit() and following.isupper()


def _last_word_of(before: str) -> str:
    match = _LAST_WORD.search(before)
    return match.group() if match else ""


# --- lists and lines


def _is_next_of_list(match: re.Match[str], begins: list[int]) -> bool:
    """Whether a number inside a line numbers the next statement.

    It is one more than the last statement's: "1. Edema 2. Effusion".
    """
    text = match.string
    at = match.start()
    word_before = _last_word_of(text[max(0, at - _LOOK_BACK) : at].rstrip())
    # "Segment 2."
    if word_before.lower() in cutting_words().groups["counted"]:
        return False
    number = int(match["listed"][:-1])
    # A statement may have several sentences: the last one with a number counts.
    for begin in reversed(begins[-_ITEMS_BEFORE:]):
        enumeration = _ENUMERATION.match(text, begin, at)
        if enumeration is None:
            continue
        digits = _DIGITS.search(enumeration.group())
        if digits is not None:
            return number == int(digits.group()) + 1
    return False


def _is_ended_line(at: int, passage: _Passage) -> bool:
    """Whether a line ended before it was full, and a new statement begins behind.

    Args:
        at: position of the line break.
        passage: the section.
    """
    text = passage.text
    earliest = max(passage.begin, at - _LONGEST_LINE)
    line_begin = max(text.rfind("\n", earliest, at) + 1, earliest)
    line = text[line_begin:at].rstrip()
    end_ahead = min(passage.end, at + 1 + _LONGEST_LINE_AHEAD)
    following = text[at + 1 : end_ahead].lstrip(" \t\r")
    # "Effusion,\nEdema" goes on.
    if not line or not following or following[0].islower() or line[-1] in ":,-(/":
        return False
    if _SUB_HEADING.match(following):
        return True
    begins_statement = following[0].isupper() or following[0] in "\"'(["
    if not begins_statement:
        return False
    # The next word would have had room on the line: it was ended on purpose.
    width_with_next_word = len(line) + 1
    first_word = _FIRST_WORD.match(following)
    if first_word:
        width_with_next_word += len(first_word.group())
    return width_with_next_word <= passage.width
