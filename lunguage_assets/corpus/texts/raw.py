"""A raw report as it was delivered, whatever the layout it came in.

Here: the record that every reader gives; its text from its bytes (encoding, control
characters, markup, ends of lines); ids of studies and patients from whatever a hospital
calls them. Numbers of up to 18 digits stay themselves, filled up to eight. Any other id
stands as a number of 17 digits that follows from the id alone, so that it is the same
in every delivery.
"""

from __future__ import annotations

import codecs
import hashlib
import html
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from lunguage_assets.corpus import columns

LARGEST = 1_000_000
"""Bytes of the largest text that can be one report.

Of a larger one only a little more is read.
"""


COLUMNS = (
    "file", "line", "study", "patient", "taken_at", "views", "procedure", "content",
    "broken", "sequence", "noted",
)  # fmt: skip
"""Columns of a frame of raw reports, all texts as delivered, empty where unknown.

file: the delivered file; for a folder or a package the path inside it.
line: 1-based record in the file; 1 for a file of one report.
content: bytes of the text; those of a table are UTF-8 unless the table is not.
broken: reason code when the record itself could not be read (resources/reasons.yaml),
with ": " and the column or key that is wrong, if one is.
sequence: rank in the patient's time line, from 1.
noted: what the reader left out of the record: a reason code, with ": " and the key that
is missing.
"""


def under_headings(sections: Mapping[str, str]) -> str:
    """Put a report together from its sections by name; empty ones have no heading."""
    paragraphs = [
        f"{name.upper()}: {text.strip()}"
        for name, text in sections.items()
        if text.strip()
    ]
    return "\n\n".join(paragraphs)


_LOWEST_MADE_ID = 10**16
_NUMBER_OF_MADE_IDS = 9 * _LOWEST_MADE_ID


def study_of(delivered_id: str) -> str:
    """Make 's' and 8 to 18 digits of an id as delivered, which is not empty."""
    return columns.study_id(delivered_id) or f"s{_made_id('study', delivered_id)}"


def patient_of(delivered_id: str) -> str:
    """Make 'p' and 8 to 18 digits of an id as delivered, which is not empty."""
    return columns.subject_id(delivered_id) or f"p{_made_id('patient', delivered_id)}"


def own_patient_of(study_id: str) -> str:
    """Make the patient of a study of whom nothing is known: it is nobody else's."""
    return f"p{_made_id('patient of study', study_id)}"


def is_number(delivered_id: str) -> bool:
    """Tell whether an id is kept as it is, but for zeros in front."""
    is_study = columns.study_id(delivered_id) is not None
    return is_study or columns.subject_id(delivered_id) is not None


def _made_id(subject: str, delivered_id: str) -> int:
    """Make a number of 17 digits that follows from the id alone.

    Args:
        subject: what it is an id of: a study and a patient of one name differ.
        delivered_id: as delivered.
    """
    text = f"{subject}\0{delivered_id.strip()}"
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()
    return _LOWEST_MADE_ID + int.from_bytes(digest[:8], "big") % _NUMBER_OF_MADE_IDS


_CONTROL = re.compile("[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff\ufffd]")
_ESCAPES = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_NO_TEXT = 0.05
"""Share of control characters, NUL apart, above which the bytes are not text."""
_OTHER_FORMATS = (
    b"%PDF-",
    b"{\\rtf",
    b"PK\x03\x04",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"\xd0\xcf\x11\xe0",
)
"""First bytes of PDF, RTF, ZIP (also of Office), PNG, JPEG and older Office files."""
_SILENT = re.compile(
    r"<(?:(?P<script>script\b)|(?P<style>style\b)|(?P<head>head\b)|(?P<comment>!--)"
    r"|(?P<doctype>!doctype))",
    re.I,
)
"""Where something begins that is no text of a page."""
_SILENT_ENDS = {
    "script": re.compile(r"</script\s*>", re.I),
    "style": re.compile(r"</style\s*>", re.I),
    "head": re.compile(r"</head\s*>", re.I),
    "comment": re.compile(r"-->|$"),
    "doctype": re.compile(">"),
}
_BLOCK_TAGS = (
    "address|article|aside|blockquote|body|br|center|dd|div|dl|dt|fieldset|footer|form|"
    "h[1-6r]|head|header|html|li|main|nav|ol|p|pre|section|table|tbody|td|tfoot|th|thead|"
    "title|tr|ul"
)
_INLINE_TAGS = (
    "a|abbr|b|big|code|em|font|i|img|input|label|link|meta|s|script|small|span|strong|"
    "style|sub|sup|tt|u"
)
_BLOCK = re.compile(rf"</?(?:{_BLOCK_TAGS})(?:\s[^<>]*)?/?>", re.I)
_INLINE = re.compile(rf"</?(?:{_INLINE_TAGS})(?:\s[^<>]*)?/?>", re.I)
_REFERENCE = re.compile(
    r"&(?:amp|lt|gt|nbsp|quot|apos|deg|#\d{1,6}|#x[0-9a-f]{1,5});", re.I
)
_ENDLESS_REFERENCE = re.compile(r"&#(?:[0-9]{20,}|x[0-9a-f]{20,});?", re.I)
"""No character has such a number, and Python refuses to read thousands of digits."""
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


@dataclass(frozen=True, slots=True)
class DecodedReport:
    """A text without blanks around it, and the codes of notes on what was done to it.

    `is_text` is False for bytes of another kind.
    """

    text: str = field(repr=False)
    notes: tuple[str, ...] = ()
    is_text: bool = True


_NOT_TEXT = DecodedReport("", (), is_text=False)


def decoded(content: bytes) -> DecodedReport:
    """Read the text of these bytes; never raises."""
    if content.startswith(_OTHER_FORMATS):
        return _NOT_TEXT
    text, notes = _in_encoding(content)
    text = _LINE_ENDS.sub("\n", _ESCAPES.sub("", text))
    readable, controls = _CONTROL.subn("", text)
    if controls:
        notes.append("control-characters")
    # Some systems fill a text up with NUL, which says nothing about the rest of it.
    if controls - text.count("\0") > _NO_TEXT * len(text):
        return _NOT_TEXT
    words = _without_markup(readable)
    if words != readable:
        notes.append("markup-removed")
    return DecodedReport(words.strip(), tuple(notes))


def _in_encoding(content: bytes) -> tuple[str, list[str]]:
    """Decode a text, and list the notes on its encoding."""
    # A byte order mark is sure; UTF-8 hardly ever fits by chance; Windows' code page
    # always does, so it comes last.
    with suppress(UnicodeDecodeError):
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return content.decode("utf-16"), ["encoding-converted"]
    with suppress(UnicodeDecodeError):
        return content.decode("utf-8-sig"), []
    return content.decode("cp1252", "replace"), ["encoding-guessed"]


def _without_markup(text: str) -> str:
    """Keep the words of a page, blocks on lines of their own.

    A text without marks stays as it is: "CTR <0.5" is no markup.
    """
    has_reference = _REFERENCE.search(text) is not None
    if "<" not in text and not has_reference:
        return text
    words = _without_silent(text)
    words = _BLOCK.sub("\n", words)
    words = _INLINE.sub("", words)
    if words != text:
        words = _BLANK_LINES.sub("\n\n", words)
    elif not has_reference:
        return words
    words = html.unescape(_ENDLESS_REFERENCE.sub("\ufffd", words))
    return words.replace("\xa0", " ")


def _without_silent(text: str) -> str:
    """Replace scripts, styles, heads, comments and document types by a line end.

    One that does not end stays.
    """
    kept = []
    position = 0
    # An end that is nowhere behind one beginning is nowhere behind the next: each is
    # looked for once, or a page of beginnings alone would be read again for each.
    endless: set[str] = set()
    while beginning := _SILENT.search(text, position):
        element = beginning.lastgroup or ""
        end = None
        if element not in endless:
            end = _SILENT_ENDS[element].search(text, beginning.end())
        if end is None:
            endless.add(element)
            kept.append(text[position : beginning.end()])
            position = beginning.end()
            continue
        kept += [text[position : beginning.start()], "\n"]
        position = end.end()
    return "".join([*kept, text[position:]])
