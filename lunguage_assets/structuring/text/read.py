"""A report's text as every structurer gets it: sections, sentences, notes on what was odd, and views as the
report words them: title, technique, or "PA and lateral views of the chest".

The words of views are those of `corpus/views.py`; views of another examination are none of this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from lunguage_assets.corpus.views import study_views, written
from lunguage_assets.structuring.contract import SectionedReport, Sentence, Span
from lunguage_assets.structuring.text.languages import (
    NOT_ENGLISH,
    is_in_another_language,
)
from lunguage_assets.structuring.text.languages import identity as languages_identity
from lunguage_assets.structuring.text.sections import Section, cutting_words, sections

_STOP = re.compile(
    r"""
        # Possessive, and only where a run begins: what fails behind a run fails behind every part of it.
        (?<![.!?])(?P<stop>[.!?]++)(?P<close>["')\]\u201d]*+)   # with or without a blank behind
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
            if (
                text[at - 1 : at].isalnum()
                and text[match.end() : match.end() + 1].islower()
            ):
                continue
        elif kind == "line":
            if not _ended_on_purpose(text, begin, at, end, width):
                continue
        elif kind == "listed" and not _next_of_list(
            text, match, starts[-_LISTED_BEFORE:]
        ):
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
    if not before.strip() or (
        before.strip().isdigit() and text[start:at].strip().isdigit()
    ):
        return False  # "1." begins a sentence
    found = _LAST_WORD.search(before)
    last = found.group() if found else ""
    if text[behind : behind + 1] in " \t\r\n\f\v" or match.group("close"):
        return not _abbreviated(last.lower(), last, before, following)
    if _DOTTED.search(last):
        return False
    last = last.rpartition(".")[2]
    glued = (
        last[-1:].islower()
        and len(last) > 1
        and last.lower() not in _abbreviations("inside")
    )
    return (
        glued
        or last[-1:] in (")", "_", "X")
        or (last[-1:].isdigit() and following.isupper())
    )


def _abbreviated(word: str, written: str, before: str, following: str) -> bool:
    if word in _abbreviations("inside"):
        return True
    if word in _abbreviations("before_number") and following.isdigit():
        return True
    if word in _abbreviations("before_capital") or _DOTTED.search(word):
        return following.islower() or following.isdigit() or following in ",;"
    return (
        len(word) == 1
        and written.isupper()
        and following.isupper()
        and _initial(before)
    )


def _abbreviations(where: str) -> frozenset[str]:
    """Words whose full stop may end no sentence: never, before a capital, before a number."""
    return cutting_words().groups[f"abbreviations {where}"]


def _initial(before: str) -> bool:
    """Whether a single capital at the end belongs to a name: "J. Roe", "Dr. J. Roe", "by A. Roe"."""
    name = before[:-1].split()
    return bool(name) and (
        name[-1].endswith((".", "_")) or name[-1] in ("by", "with", "and", "Dr")
    )


def _ended_on_purpose(text: str, begin: int, at: int, end: int, width: int) -> bool:
    """Whether a line ended before it was full, and a new statement begins behind."""
    line = text[
        max(begin, text.rfind("\n", max(begin, at - 400), at) + 1, at - 400) : at
    ].rstrip()
    following = text[at + 1 : min(end, at + 161)].lstrip(" \t\r")
    if not line or not following or following[0].islower() or line[-1] in ":,-(/":
        return False
    if _SUB_HEADING.match(following):
        return True
    first = _FIRST_WORD.match(following)
    fits = len(line) + 1 + (len(first.group()) if first else 0) <= width
    return fits and (following[0].isupper() or following[0] in "\"'([")


VERSION = "4"
"""Raise it with every change of rules that cuts a report otherwise; `identity` carries it."""

_WORD = re.compile(r"[^\W\d_]+")
_TECHNIQUE_LENGTH, _SUB_HEADING_LENGTH = 600, 60

_NAMES = (
    r"single|portable|bedside|upright|erect|semi-?upright|semi-?erect|supine|standing|recumbent|decubitus"
    r"|decub|frontal|ap|pa|antero-?posterior|postero-?anterior|cross-?table|lateral|lat|and|two|one|[12]"
)
_IMAGES = r"(?:chest\s+)?(?:views?|radio(?:graph|gram)s?|films?|projections?|x-?rays?|images?|chest)\b"
_NAMED_VIEWS = re.compile(
    rf"\b(?:{_NAMES})(?:[\s,/&-]+(?:{_NAMES}|left|right|chest)){{0,8}}[\s,/&-]+{_IMAGES}"
    r"(?!\s+of\s+(?:(?:the|both|left|right)\s+)*(?!the|both|left|right|chest|thorax|lungs)\w)",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"(?i)\b(?:left|right|inferior|lower|upper)\s+lateral\s+chest\b(?!\s+\w*(?:view|film|ray|radio))"
)
_EARLIER = re.compile(
    r"(?i)\b(?:compar|prior|previous|earlier|old|last|outside|since|repeat|follow|from\b)"
)
_WANTED = re.compile(
    r"(?i)\b(?:recommend|advis|consider|helpful|useful|beneficial|of (?:benefit|value)|warranted|[cw]ould)"
)


def identity() -> str:
    """Names everything that changes how reports are cut."""
    return f"text/{VERSION}/{cutting_words().identity}/{languages_identity()}"


def sectioned(study_id: str, text: str) -> SectionedReport:
    """The report cut into sentences, in the order of the text; never raises, whatever the text.

    Notes: `empty`, `no-headings`, `findings-without-heading`, `no-findings-section`, `text-before-headings`
    (not read), `preliminary-superseded` (not read), `two-reports`, `not-english` (the rules read nothing in
    it), `not-chest` (not read).
    """
    if not text.strip():
        return SectionedReport(study_id, text, (), notes=("empty",))
    cut, notes = sections(text)
    found, elsewhere = _numbered(text, cut)
    if elsewhere:
        notes = (*notes, "not-chest")
    if is_in_another_language([sentence.text for sentence in found]):
        notes = (*notes, NOT_ENGLISH)
    return SectionedReport(
        study_id, text, found, _views_in_text(text, cut, found), notes
    )


def _numbered(text: str, cut: Sequence[Section]) -> tuple[tuple[Sentence, ...], bool]:
    """The sentences, and whether any is of another part of the body; such a one counts as `other`."""
    width, words = line_width(text), cutting_words().groups
    numbers: dict[str, int] = {}
    found, parts_elsewhere = [], False
    told = (
        text[section.begin : section.end].lower()
        for section in cut
        if section.code != "hist"
    )
    said = {word for part in told for word in _WORD.findall(part)}
    named = not words["elsewhere"].isdisjoint(said)
    whole = named and words["chest"].isdisjoint(said)
    for section in cut:
        elsewhere = whole
        for span in sentences(text, section.begin, section.end, width):
            code = section.code
            if named and code in ("find", "impr"):
                elsewhere = whole or _elsewhere_from(span.of(text), words, elsewhere)
            if elsewhere and code in ("find", "impr"):
                code, parts_elsewhere = "other", True
            number = numbers[code] = numbers.get(code, 0) + 1
            found.append(Sentence(code, number, span, span.of(text), section.heading))
    return tuple(found), parts_elsewhere


def _elsewhere_from(
    sentence: str, words: Mapping[str, frozenset[str]], before: bool
) -> bool:
    """Whether another part of the body is described from this sentence on: a sub-heading says so."""
    heading, colon, _ = sentence[:_SUB_HEADING_LENGTH].partition(":")
    if not colon and len(sentence) > _SUB_HEADING_LENGTH:
        return before
    said = set(_WORD.findall(heading.lower()))
    if said & words["elsewhere"] and said <= words["elsewhere"] | words["exam_words"]:
        return not said & words["chest"]
    title = bool(said & words["chest"]) and said <= words["exam_words"]
    return before and not colon and not title


def _views_in_text(text: str, cut: Iterable[Section], found: Iterable[Sentence]) -> str:
    """Views by every word of title, technique and headings; of the findings, by what names images only."""
    told = [section.heading for section in cut if section.heading]
    for section in cut:
        of_another = section.heading.lower().startswith(("compar", "prior", "date"))
        if section.kind in ("introduction", "title") and not of_another:
            end = min(section.end, section.begin + _TECHNIQUE_LENGTH)
            told.append(f"{section.heading} {text[section.begin : end]}")
    views = study_views(" ; ".join(told))
    if views & {"ap", "pa", "lateral"}:
        return written(views)
    named: list[str] = []
    counts = {"find": 0, "impr": 0}
    for sentence in found:
        if sentence.section in counts:
            counts[sentence.section] += 1
            # the views are named first
            if counts[sentence.section] <= 3 and not _WANTED.search(sentence.text):
                earlier = _EARLIER.search(sentence.text)
                part = sentence.text[: earlier.start()] if earlier else sentence.text
                named += [
                    view.group()
                    for view in _NAMED_VIEWS.finditer(_PLACE.sub(" ", part))
                ]
    if named:  # "on the lateral view" is said of one film of two
        views |= study_views(" ; ".join((*named, "frontal")))
    return written(views)
