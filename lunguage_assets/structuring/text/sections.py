"""The word files of `resources/structuring/`, and the sections of a report by its headings, as radiologists
write them (docs/reports.md).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

from lunguage_assets.assertion.word_files import require, word_file, word_path
from lunguage_assets.structuring.contract import SectionCode

HeadingKind = Literal[
    "hist", "find", "impr", "introduction", "aside", "preliminary", "title", "sign-off"
]

_TOKEN = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*|[&/]")
_GROUPS = (
    "sign_offs", "exam_words", "exam_nouns", "elsewhere", "chest", "abbreviations inside",
    "abbreviations before_capital", "abbreviations before_number", "counted",
)  # fmt: skip


class CuttingWords(NamedTuple):
    """The words of `sections.yaml`: kinds of headings, the longest one in words, and other groups."""

    headings: Mapping[str, HeadingKind]
    longest_heading: int
    groups: Mapping[str, frozenset[str]]
    sign_off: re.Pattern[str]
    identity: str


def spoken(text: str) -> Iterator[re.Match[str]]:
    """Words of a text with their places; `&` and `/` are words of headings, too."""
    return _TOKEN.finditer(text)


def normal(words: Iterable[re.Match[str]]) -> str:
    """The form in which headings are compared."""
    return " ".join(word.group() for word in words).lower()


@lru_cache(maxsize=1)
def cutting_words() -> CuttingWords:
    file, kinds = word_file("sections"), get_args(HeadingKind)
    named = {" ".join(key).strip(): frozenset(words) for key, words in file.items()}
    require("sections", named, (*_GROUPS, *(f"headings {kind}" for kind in kinds)))
    groups = dict.fromkeys(_GROUPS, frozenset[str]()) | named
    headings: dict[str, HeadingKind] = {
        normal(spoken(phrase)): kind
        for kind in kinds
        for phrase in file.get(("headings", kind), ())
    }
    longest_first = sorted(
        groups["sign_offs"], key=lambda phrase: (-len(phrase), phrase)
    )
    alternatives = "|".join(
        re.escape(phrase).replace(r"\ ", r"[ \t]+") for phrase in longest_first
    )
    begin = r"(?:^[ \t]*|(?<=[.!?][ \t])[ \t]*)"
    sign_off = re.compile(
        rf"{begin}((?:{alternatives})(?![^\W_]))", re.IGNORECASE | re.MULTILINE
    )
    longest = max(len(heading.split()) for heading in headings)
    identity = hashlib.blake2b(
        word_path("sections").read_bytes(), digest_size=6
    ).hexdigest()
    return CuttingWords(headings, longest, groups, sign_off, identity)


_WINDOW = 72
"""Longest heading in characters, with what may stand before it on its line."""
_MARGIN = " \t*#>_-\ufeff"
_OWN_LINE = re.compile(
    r"^[ \t*#>_]*([A-Za-z][A-Za-z/&' -]{2,48}?)[ \t\r*_]*(?:[ \t][-\u2013\u2014]+[ \t]|$)",
    re.MULTILINE,
)
_CAPITALS = re.compile(
    r"^[ \t]*([A-Z]{4}[A-Z/&]*(?:[ \t][A-Z/&]{2,}){0,4})(?=[ \t]+[A-Z0-9_])",
    re.MULTILINE,
)
_LINE = re.compile(r"^[^\n]*\S[^\n]*$", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n\s*\n[ \t]*")
_TITLE_LENGTH = 100


class Section(NamedTuple):
    """Characters `begin` to `end` of the report behind their heading, which is given as written, or of a
    heading itself; `code` is what its sentences count as.
    """

    begin: int
    end: int
    heading: str
    kind: HeadingKind
    code: SectionCode = "other"


def sections(text: str) -> tuple[tuple[Section, ...], tuple[str, ...]]:
    """Sections in the order of the text, and notes on what was odd. Linear in the text's length.

    Without any heading everything is findings. Text before the first heading, under a mere title, or in a
    paragraph of its own behind history, technique or comparison is findings when no heading names them. A
    preliminary reading counts only where the report has no other.
    """
    words = cutting_words()
    found = _headings(text, words)
    parts = [
        part
        for part in _parts(text, found)
        if _has_text(text[part.begin : part.end].strip())
    ]
    notes: list[str] = []
    if all(heading.kind in ("title", "sign-off") for heading in found):
        notes.append("no-headings")
    if _reports(found, parts) > 1:
        notes.append("two-reports")
    if not any(part.kind == "find" for part in parts):
        parts = [piece for part in parts for piece in _with_findings(text, part)]
    return tuple(_decided(parts, notes)), tuple(notes)


def _has_text(piece: str) -> bool:
    """Whether there is more than a drawn rule; `___` stands for something that was taken out."""
    return bool(piece) and (len(piece) <= 8 or bool(piece.strip(_MARGIN + "\r\n")))


def _headings(text: str, words: CuttingWords) -> list[Section]:
    """Headings in order, without overlaps; of two at one place a listed one, and the longer one."""
    found = [
        *_with_colon(text, words),
        *_on_lines(text, words),
        *_exam_titles(text, words),
        *(
            Section(m.start(1), m.start(1), m[1], "sign-off")
            for m in words.sign_off.finditer(text)
        ),
    ]
    found.sort(
        key=lambda heading: (heading.begin, heading.kind == "title", -heading.end)
    )
    kept: list[Section] = []
    for heading in found:
        if not kept or (
            heading.begin >= kept[-1].end and not _in_prose(text, kept[-1], heading)
        ):
            kept.append(heading)
    return kept


def _in_prose(text: str, last: Section, title: Section) -> bool:
    """Whether a line that reads like a title stands in a paragraph of findings: how they were seen."""
    if (
        title.kind != "title"
        or last.kind not in ("find", "impr")
        or text[title.end - 1] == ":"
    ):
        return False
    if _BLANK_LINE.search(text, last.end, title.begin):
        return False
    return (
        ". " in title.heading
        or text[title.end : title.end + 2].lstrip("\r\n")[:1].islower()
    )


def _with_colon(text: str, words: CuttingWords) -> Iterator[Section]:
    """Headings before a colon: anywhere with a capital, else only where a line or sentence begins."""
    for sign in re.finditer(":", text):
        colon = sign.start()
        window = (
            text[max(0, colon - _WINDOW) : colon].rpartition("\n")[2].rstrip(" \t*_")
        )
        if window.endswith(")"):
            window = window.rpartition("(")[0]
        offset = max(
            text.rfind("\n", max(0, colon - _WINDOW), colon) + 1, colon - _WINDOW, 0
        )
        if window and (window[-1].isalpha() or window[-1] == " "):
            words_before = list(spoken(window))[-words.longest_heading :]
            for first in range(len(words_before)):
                kind = words.headings.get(normal(words_before[first:]))
                if kind is None:
                    continue
                begin = words_before[first].start()
                before = window[:begin].rstrip(_MARGIN)
                if window[begin].isupper() or before[-1:] in (".", "?", "!", ";", ""):
                    written = window[begin : words_before[-1].end()]
                    yield Section(offset + begin, colon + 1, written, kind)
                break


def _on_lines(text: str, words: CuttingWords) -> Iterator[Section]:
    """Headings without a colon: alone on a line, before a dash, or in capitals before other text."""
    for match in _OWN_LINE.finditer(text):
        written = match.group(1)
        kind = words.headings.get(normal(spoken(written)))
        if kind and written[0].isupper():
            yield Section(match.start(1), match.end(), written, kind)
    for match in _CAPITALS.finditer(text):
        capitals = list(spoken(match.group(1)))
        for last in range(len(capitals), 0, -1):
            kind = words.headings.get(normal(capitals[:last]))
            if kind and (last == len(capitals) or "  " in match.group(1)):
                end = match.start(1) + capitals[last - 1].end()
                line_end = text.find("\n", end)
                rest = text[end : line_end if line_end != -1 else len(text)]
                if any(
                    letter.islower() for letter in rest[:_WINDOW]
                ) and not _capitals_go_on(rest):
                    yield Section(match.start(1), end, text[match.start(1) : end], kind)
                break


def _capitals_go_on(rest: str) -> bool:
    """Whether the word behind is in capitals, too: "FINDINGS ARE" is no heading, "FINDINGS  PA" is."""
    following = rest.split(None, 1)[0]
    return (
        not rest.startswith(("  ", "\t")) and len(following) > 1 and following.isupper()
    )


def _exam_titles(text: str, words: CuttingWords) -> Iterator[Section]:
    """Lines that only name the examination, and such words before a colon ("PORTABLE AP CHEST: ...")."""
    for line in _LINE.finditer(text):
        written = line.group()
        begin = line.end() - len(written.lstrip())
        colon = written.rfind(":", 0, _TITLE_LENGTH)
        if len(written) <= _TITLE_LENGTH and _is_title(written, words):
            yield Section(begin, line.end(), written.strip(" \t\r:"), "title")
        elif (
            colon > 0
            and written[:colon].isupper()
            and _is_title(written[:colon], words)
        ):
            yield Section(
                begin, line.start() + colon + 1, written[:colon].strip(), "title"
            )


def _is_title(line: str, words: CuttingWords) -> bool:
    """Whether a text has words of `exam_words` only, two at least and one of `exam_nouns` among them."""
    said = [token.group().lower() for token in spoken(line)]
    named = [
        word for word in said if not word[0].isdigit() and word not in ("/", "xxxx")
    ]
    has_noun = not words.groups["exam_nouns"].isdisjoint(named)
    of_exam = (
        has_noun and len(named) >= 2 and words.groups["exam_words"].issuperset(named)
    )
    return of_exam and not line.rstrip().endswith(".")


def _parts(text: str, headings: Sequence[Section]) -> Iterator[Section]:
    begin, end = (Section(place, place, "", "title") for place in (0, len(text)))
    for heading, following in pairwise((begin, *headings, end)):
        yield Section(heading.end, following.begin, heading.heading, heading.kind)


def _reports(headings: Sequence[Section], parts: Sequence[Section]) -> int:
    """How many reports stand in the text: an examination begins again after findings or impression."""
    reports, concluded, begun_again = 1, False, False
    filled = {part.begin for part in parts}
    for heading in headings:
        if heading.heading.lower().startswith("adden"):
            continue
        concluded = concluded or heading.kind == "impr"
        begun_again = begun_again or (
            concluded and heading.kind in ("introduction", "title", "hist")
        )
        if heading.kind in ("find", "impr") and begun_again and heading.end in filled:
            reports, begun_again = reports + 1, False
    return reports


def _with_findings(text: str, part: Section) -> Iterator[Section]:
    """The part, and what stands behind its first blank line as findings, where no heading names them."""
    if part.kind in ("hist", "introduction"):
        for blank in _BLANK_LINE.finditer(text, part.begin, part.end):
            anew = re.match(r"[A-Z0-9_(]", text[blank.end() : blank.end() + 1])
            if anew and text[part.begin : blank.start()].strip():
                yield part._replace(end=blank.start())
                yield Section(blank.end(), part.end, "", "find")
                return
    yield part


def _decided(parts: Sequence[Section], notes: list[str]) -> Iterator[Section]:
    kinds = {part.kind for part in parts}
    stated = not kinds.isdisjoint(("find", "impr", "title"))
    if any(part.kind == "find" and not part.heading for part in parts):
        notes.append("findings-without-heading")
    if not stated and "preliminary" not in kinds:
        notes.append("no-findings-section")
    inside: SectionCode = "other"
    odd: list[str] = []
    for part in parts:
        code: SectionCode = "other"
        if part.kind == "hist" or part.kind == "find" or part.kind == "impr":
            code = part.kind
        elif part.kind == "title":
            # behind findings, what follows the title of an examination is findings of it
            exam = part.heading and _is_title(part.heading, cutting_words())
            code = "find" if "find" not in kinds else inside if exam else "other"
            if code == "other":
                odd.append("text-before-headings")
        elif part.kind == "preliminary":
            code = "other" if stated else "find"
            if stated:
                odd.append("preliminary-superseded")
        inside = code if code in ("find", "impr") else "other"
        yield part._replace(code=code)
    notes += dict.fromkeys(odd)
