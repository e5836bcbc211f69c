"""The text of a report from its bytes: encoding, control characters, markup, ends of lines.

The easy version, `content.decode(errors="replace")`, turns the degree sign of a Windows file into a question
mark, and leaves the marks of a web page between "no" and "effusion".
"""

from __future__ import annotations

import codecs
import html
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile("[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff\ufffd]")
_ESCAPES = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_NO_TEXT = 0.05
"""Share of control characters, NUL apart, above which the bytes are not text."""
_OTHER_FORMS = (b"%PDF-", b"{\\rtf", b"PK\x03\x04", b"\x89PNG", b"\xff\xd8\xff", b"\xd0\xcf\x11\xe0")
_WORDS = re.compile(r"\w+")
_BLOCKS = frozenset(
    _WORDS.findall(
        "address article aside blockquote body br center dd div dl dt fieldset footer form h1 h2 h3 h4 h5 h6 "
        "head header hr html li main nav ol p pre section table tbody td tfoot th thead title tr ul"
    )
)
_INLINE = frozenset(
    _WORDS.findall("a abbr b big code em font i img input label meta link s small span strong sub sup tt u")
)
_SILENT = frozenset({"script", "style", "head"})
_TAG = re.compile(
    r"</?(?:" + "|".join(sorted(_BLOCKS | _INLINE | _SILENT)) + r")(?:\s[^<>]*)?/?>|<!--|<!doctype\b",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"&(?:amp|lt|gt|nbsp|quot|apos|deg|#\d{1,6}|#x[0-9a-f]{1,5});", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


@dataclass(frozen=True, slots=True)
class Mended:
    """A text without blanks around it, and the codes of `NOTES` for what was done to it.

    `is_text` is False for bytes of another kind.
    """

    text: str = field(repr=False)
    notes: tuple[str, ...] = ()
    is_text: bool = True


def mended(content: bytes) -> Mended:
    """The text of these bytes; never raises."""
    if content.startswith(_OTHER_FORMS):
        return Mended("", (), is_text=False)
    text, notes = _decoded(content)
    text = _LINE_ENDS.sub("\n", _ESCAPES.sub("", text))
    readable, count = _CONTROL.subn("", text)
    if count:
        notes.append("control-characters")
    if count - text.count("\0") > _NO_TEXT * len(text):
        return Mended("", (), is_text=False)
    if _TAG.search(readable) or _REFERENCE.search(readable):
        readable = _without_markup(readable)
        notes.append("markup-removed")
    return Mended(readable.strip(), tuple(notes))


def _decoded(content: bytes) -> tuple[str, list[str]]:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            try:
                return content.decode(encoding), [] if mark == codecs.BOM_UTF8 else ["encoding-converted"]
            except UnicodeDecodeError:
                break
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace"), ["encoding-guessed"]


class _Words(HTMLParser):
    """The words of a page, blocks on lines of their own; marks that pages do not have are taken out too."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in _SILENT
        self._break(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self._silent = max(0, self._silent - (tag in _SILENT))
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.pieces.append(data)

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.pieces.append("\n")


def _without_markup(text: str) -> str:
    if not _TAG.search(text):
        return html.unescape(text).replace("\xa0", " ")
    parser = _Words()
    parser.feed(text)
    parser.close()
    return _BLANK_LINES.sub("\n\n", "".join(parser.pieces).replace("\xa0", " "))
