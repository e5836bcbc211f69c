"""The text of a report from its bytes: encoding, control characters, markup, ends of lines.

`content.decode(errors="replace")` alone turns the degree sign of a Windows file into a question mark, and
leaves the marks of a web page between "no" and "effusion".
"""

from __future__ import annotations

import codecs
import html
import re
from dataclasses import dataclass, field

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
_SILENT = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<!--.*?(?:-->|$)|<!doctype[^>]*>", re.I | re.S)
_BLOCK = re.compile(
    r"</?(?:address|article|aside|blockquote|body|br|center|dd|div|dl|dt|fieldset|footer|form|h[1-6r]|head|"
    r"header|html|li|main|nav|ol|p|pre|section|table|tbody|td|tfoot|th|thead|title|tr|ul)(?:\s[^<>]*)?/?>",
    re.I,
)
_INLINE = re.compile(
    r"</?(?:a|abbr|b|big|code|em|font|i|img|input|label|link|meta|s|script|small|span|strong|style|sub|sup|tt|u)"
    r"(?:\s[^<>]*)?/?>",
    re.I,
)
_REFERENCE = re.compile(r"&(?:amp|lt|gt|nbsp|quot|apos|deg|#\d{1,6}|#x[0-9a-f]{1,5});", re.I)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


@dataclass(frozen=True, slots=True)
class DecodedReport:
    """A text without blanks around it, and the codes of notes on what was done to it.

    `is_text` is False for bytes of another kind.
    """

    text: str = field(repr=False)
    notes: tuple[str, ...] = ()
    is_text: bool = True


def decoded(content: bytes) -> DecodedReport:
    """The text of these bytes; never raises."""
    if content.startswith(_OTHER_FORMS):
        return DecodedReport("", (), is_text=False)
    text, notes = _in_encoding(content)
    text = _LINE_ENDS.sub("\n", _ESCAPES.sub("", text))
    readable, count = _CONTROL.subn("", text)
    if count:
        notes.append("control-characters")
    if count - text.count("\0") > _NO_TEXT * len(text):
        return DecodedReport("", (), is_text=False)
    words = _without_markup(readable)
    if words != readable:
        notes.append("markup-removed")
    return DecodedReport(words.strip(), tuple(notes))


def _in_encoding(content: bytes) -> tuple[str, list[str]]:
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


def _without_markup(text: str) -> str:
    """The words of a page, blocks on lines of their own; a text without marks stays as it is."""
    if not ("<" in text or _REFERENCE.search(text)):
        return text
    words = _INLINE.sub("", _BLOCK.sub("\n", _SILENT.sub("\n", text)))
    if words != text:
        words = _BLANK_LINES.sub("\n\n", words)
    if words != text or _REFERENCE.search(text):
        words = html.unescape(words).replace("\xa0", " ")
    return words
