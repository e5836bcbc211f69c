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
from typing import NamedTuple

from lunguage_assets.corpus import columns

NOT_TEXT = "report-not-text: report"
LARGEST = 1_000_000
"""Bytes of the largest text that can be one report.

Of a larger one only a little more is read.
"""


COLUMNS = (
    "file", "line", "study", "patient", "taken_at", "views", "procedure", "content",
    "reason", "sequence", "view_information", "view_source",
)  # fmt: skip
"""Columns of a frame of raw reports, all texts as delivered, empty where unknown.

file: the delivered file; for a folder or a package the path inside it.
line: 1-based record in the file; 1 for a file of one report.
content: bytes of the text; those of a table are UTF-8 unless the table is not.
reason: its code when the record itself could not be read (resources/reasons.yaml),
with ": " and the column or key that is wrong, if one is.
sequence: rank in the patient's time line, from 1.
view_information, view_source: as image metadata have them (`side_files.py`).
"""


_LOWEST_MADE_ID = 10**16


def study_of(delivered_id: str) -> str:
    """Make 's' and 8 to 18 digits of an id as delivered; nothing stays nothing."""
    return columns.study_id(delivered_id) or _made_id("study", delivered_id)


def patient_of(delivered_id: str) -> str:
    """Make 'p' and 8 to 18 digits of an id as delivered; nothing stays nothing."""
    return columns.patient_id(delivered_id) or _made_id("patient", delivered_id)


def own_patient_of(study_id: str) -> str:
    """Make the patient of a study of whom nothing is known: it is nobody else's."""
    return _made_id("patient of study", study_id)


def _made_id(subject: str, delivered_id: str) -> str:
    """Make an id of a letter and 17 digits that follows from the delivered one alone.

    Args:
        subject: what it is an id of: a study and a patient of one name differ.
        delivered_id: as delivered; nothing stays nothing.
    """
    if not delivered_id:
        return ""
    text = f"{subject}\0{delivered_id.strip()}"
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()
    number = int.from_bytes(digest[:8], "big") % (9 * _LOWEST_MADE_ID)
    return f"{subject[0]}{_LOWEST_MADE_ID + number}"


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
_TAGS = (
    "a|abbr|address|article|aside|b|big|blockquote|body|br|center|code|dd|div|dl|dt|em|"
    "fieldset|font|footer|form|h[1-6r]|head|header|html|i|img|input|label|li|link|main|"
    "meta|nav|ol|p|pre|s|script|section|small|span|strong|style|sub|sup|table|tbody|td|"
    "tfoot|th|thead|title|tr|tt|u|ul"
)
_MARK = re.compile(
    r"<(script|style)\b[^<>]*>[^<]*</\1\s*>|<!--[^<>]*-->|<!doctype\b[^<>]*>"
    rf"|</?(?:{_TAGS})(?:\s[^<>]*)?/?>",
    re.I,
)
_REFERENCE = re.compile(r"&(?:[a-z]{2,8}|#\d{1,6}|#x[0-9a-f]{1,5});", re.I)


class DecodedReport(NamedTuple):
    """A text without blanks around it, and the code of a note on it, or nothing.

    `refusal` is the code of a rejection and the column; empty: it is a report.
    """

    report: str
    note: str = ""
    refusal: str = ""


def text_of(content: bytes) -> tuple[str, str]:
    """Decode bytes; the second value is the code of a note on a guess, or nothing."""
    # A byte order mark is sure; UTF-8 hardly ever fits by chance; Windows' code page
    # always does, so it comes last.
    has_mark = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if has_mark else "utf-8-sig"), ""
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace"), "encoding-guessed"


def decoded(content: bytes) -> DecodedReport:
    """Read the text of these bytes; never raises."""
    if len(content) > LARGEST:
        return DecodedReport("", refusal="report-too-large: report")
    text, note = text_of(content)
    text = _LINE_ENDS.sub("\n", _ESCAPES.sub("", text))
    readable, controls = _CONTROL.subn("", text)
    # Some systems fill a text up with NUL, which says nothing about the rest of it.
    is_binary = controls - text.count("\0") > _NO_TEXT * len(text)
    if is_binary or content.startswith(_OTHER_FORMATS):
        return DecodedReport("", refusal=NOT_TEXT)
    words = _without_markup(readable).strip()
    refusal = "" if any(map(str.isalnum, words)) else "report-empty: report"
    return DecodedReport(words, note, refusal)


def _without_markup(text: str) -> str:
    """Keep the words of a page, each mark a line's end.

    A text without marks stays as it is: "CTR <0.5" is no markup.
    """
    words = _MARK.sub("\n", text)
    words = _REFERENCE.sub(lambda reference: html.unescape(reference[0]), words)
    if words == text:
        return text
    return re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", words).replace("\xa0", " ")
