"""The sentences of a section: where a full stop, a line or a list ends one.

Everything but blanks, enumeration marks and drawn rules is in exactly one sentence.
Words whose full stop ends none ("approx.") stand in
`resources/structuring/sections.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise

from lunguage_assets.structuring.contract import Span
from lunguage_assets.structuring.text.cutting_words import cutting_words

_END = re.compile(
    r"""
    # Most characters end nothing, and are passed at once.
    (?=[.!?\n0-9])
    (?:
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
    )
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
_ITEM_NUMBER = re.compile(r"\s*\d*\s*")
_ANSWER = re.compile(r"\s+([A-Z][a-z]+)\.(?=\s|$)")
_COMPLETE = re.compile(r"(?:[^\W_]*[a-z]{2}|[)_X])$")
"""What ends a sentence without a blank: "lungs.No edema", "seen.___"."""
_BEGINS_STATEMENT = re.compile(
    r"(?P<heading>[ \t]*[A-Z][A-Za-z/&,-]*(?: [A-Za-z/&,-]+){0,5}:)"
    r"|[A-Z\"'(\[]\S{0,80}"
)
"""A sub-heading, or the first word of a statement."""
_SAYS_SOMETHING = re.compile(r"[^\W_]|__")
_DRAWN_RULE = re.compile(r"_[_=*~.\s-]{8,}")
""" "___" stands for something that was taken out; a longer one is a rule."""

# How far is looked around a place where a sentence may end, in characters. A sentence
# is found in linear time, whatever the text.
_LOOK_BACK = 40
_LOOK_AHEAD = 80
_LONGEST_LINE = 400
_USUAL_WIDTH = 60
"""Lines that are all shorter were ended on purpose: nobody wraps text so narrowly."""


@cache
def _abbreviation() -> re.Pattern[str]:
    """Compile what ends no sentence: an abbreviation and what follows its full stop."""
    abbreviations = cutting_words().abbreviations
    inside = _alternatives(abbreviations.inside)
    before_number = _alternatives(abbreviations.before_number)
    before_capital = _alternatives(abbreviations.before_capital)
    return re.compile(
        rf"""
        (?:
            (?<![\w.])(?=\S+$)                    # a word, and the last one
            (?:
                (?i:{inside})\..?                  # "approx. 2 cm", "vs. edema"
            |   (?i:{before_number})\.[0-9]        # "No. 2", but "Effusion: no. Clear."
            |   (?:(?i:{before_capital})|(?:[A-Za-z]\.)+[A-Za-z])
                \.[a-z0-9,;]?                      # "5 a.m. by phone"
            )
        |   (?:[._]|\b(?:by|with|and|Dr))\s+[A-Z]\.[A-Z]      # "Dr. J. Roe"
        )$
        """,
        re.VERBOSE,
    )


def _alternatives(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words))


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
    passage = text[begin:end]
    begins = [0]
    number = 0
    for match in _END.finditer(passage):
        enumeration = _ENUMERATION.match(passage, begins[-1])
        if enumeration and enumeration["number"]:
            number = int(enumeration["number"])
        cut = _cut_at(match, begins[-1], number, width)
        if cut is not None:
            begins.append(cut)
    for first, last in pairwise([*begins, len(passage)]):
        enumeration = _ENUMERATION.match(passage, first, last)
        content = enumeration.end() if enumeration else first
        sentence = passage[content:last].rstrip()
        if says_something(sentence):
            yield Span(content, content + len(sentence)).moved(begin)


def says_something(text: str) -> bool:
    """Whether a text without blanks around it is more than marks and drawn rules."""
    is_drawn_rule = _DRAWN_RULE.fullmatch(text) is not None
    return not is_drawn_rule and _SAYS_SOMETHING.search(text) is not None


def _cut_at(match: re.Match[str], begin: int, number: int, width: int) -> int | None:
    """Decide where a sentence ends at a match of `_END`; None: it goes on.

    Args:
        match: what may end it.
        begin: of the sentence.
        number: of the last item of a list.
        width: of the report's longest line.
    """
    if match["stop"]:
        if _is_answered(match, begin) or not _is_end(match, begin):
            return None
        return match.end()
    # "In segment 2. The ...": the number belongs to the sentence before it.
    if match["listed"] and not _is_next_of_list(match, number):
        return match.end()
    if match["line"] and not _is_ended_line(match.string, match.start(), width):
        return None
    return match.start()


def _is_next_of_list(match: re.Match[str], number_before: int) -> bool:
    """Whether a number inside a line numbers the next statement.

    It is one more than the last statement's: "1. Edema 2. Effusion".
    """
    before = match.string[max(0, match.start() - _LOOK_BACK) : match.start()]
    # "Segment 2."
    counts = before.split()[-1].lower() in cutting_words().counted
    return not counts and int(match["listed"][:-1]) == number_before + 1


def _is_end(match: re.Match[str], begin: int) -> bool:
    """Whether a full stop, or what stands for it, ends a sentence.

    Args:
        match: the stop.
        begin: of the sentence.
    """
    passage = match.string
    following = passage[match.end() : match.end() + _LOOK_AHEAD].lstrip()[:1]
    if not following:
        return True
    before = passage[max(begin, match.start() - _LOOK_BACK) : match.start()]
    stop = match["stop"]
    if len(stop) > 1 or stop == "?":
        # "Clear lungs... small heart" goes on; so does "Fever, ? pneumonia".
        return not following.islower() and (len(stop) > 1 or not before[-1:].isspace())
    # "1." begins a sentence.
    if _ITEM_NUMBER.fullmatch(before):
        return False
    # With a blank behind, only an abbreviation goes on; without one, as in "3.5 cm", it
    # must be told that something ends at all.
    if passage[match.end()].isspace():
        return not _abbreviation().search(f"{before}.{following}")
    is_number = before[-1:].isdigit() and following.isupper()
    is_complete = is_number or _COMPLETE.search(before) is not None
    return is_complete and not _abbreviation().search(f"{before}.")


def _is_answered(match: re.Match[str], begin: int) -> bool:
    """Whether a sentence of one word answers the one before: "Ribs. Normal."."""
    answer = _ANSWER.match(match.string, match.end())
    if answer is None or answer[1].lower() not in cutting_words().answers:
        return False
    return match.string[begin : match.start()].strip().isalpha()


def _is_ended_line(passage: str, at: int, width: int) -> bool:
    """Whether a line ended before it was full, and a new statement begins behind.

    Args:
        passage: the section.
        at: position of the line break.
        width: of the report's longest line.
    """
    line = passage[max(0, at - _LONGEST_LINE) : at].rpartition("\n")[2].rstrip()
    following = passage[at + 1 : at + _LONGEST_LINE].lstrip(" \t\r")
    statement = _BEGINS_STATEMENT.match(following)
    # "Effusion,\nEdema" goes on.
    if not line or line[-1] in ":,-(/" or statement is None:
        return False
    # Where the next word would have had room the line was ended on purpose.
    room = max(width, _USUAL_WIDTH) - len(line) - 1
    return bool(statement["heading"]) or len(statement.group()) <= room
