"""Report texts from files and from standard input, for `lunguage read`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lunguage_assets.errors import InputError

STDIN = "-"
LONGEST = 4 << 20
"""Bytes of a report; the longest real ones have some twenty thousand."""

_A_REPORT = "the text of one report"


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text; `name` is its path as given, or `-` for standard input."""

    name: str
    text: str = field(repr=False)


def read_files(paths: Sequence[str]) -> list[TextFile]:
    """The texts of files, each once, in the given order; `-` is standard input.

    Raises:
        InputError: no such file, a folder, nothing in it, no text, or more than a report can be.
    """
    return [TextFile(path, _text(path)) for path in dict.fromkeys(paths)]


def _text(path: str) -> str:
    content = _content(path)
    name = "standard input" if path == STDIN else path
    if len(content) > LONGEST:
        raise InputError(name, "more than 4 MB", _A_REPORT, "Give one report per file.")
    if not content.strip():
        raise InputError(name, "nothing", _A_REPORT, "Give a file with a report in it, or - for standard input.")
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(name, "bytes that are no text", _A_REPORT, "Save the report as plain text.")
    return decoded(content)


def _content(path: str) -> bytes:
    if path == STDIN:
        return sys.stdin.buffer.read(LONGEST + 1)
    file = Path(path)
    if file.is_dir():
        raise InputError(
            path, "a folder", _A_REPORT, "Name its files; a whole folder is what `lunguage run --data` takes."
        )
    try:
        with file.open("rb") as stream:
            return stream.read(LONGEST + 1)
    except FileNotFoundError:
        raise InputError(path, "no such file", _A_REPORT, "Correct the path.") from None


def decoded(content: bytes) -> str:
    """Text of bytes in UTF-8 (with or without its mark), UTF-16 with its mark, or else Windows-1252."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")
