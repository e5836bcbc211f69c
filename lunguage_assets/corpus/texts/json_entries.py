"""Reads large JSON files entry by entry.

All entries of a large corpus at once would take gigabytes, and one entry that is nested
too deeply must cost only itself. Not here: what the entries mean (`published.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lunguage_assets.corpus.packages import (
    DAMAGES,
    is_package,
    only_member,
    open_unpacked,
)
from lunguage_assets.corpus.records import MOST_UNPACKED, require_size
from lunguage_assets.errors import InputError, damaged

JSON_FORM = re.compile(r"\.json(?:\.gz)?$", re.IGNORECASE)
SKIPPED = object()
"""Stands for an entry that is nested too deeply to be read."""
_PACKED_FORM = re.compile(r"\.json$", re.IGNORECASE)
_MOST_DIGITS = 1_000
"""Digits of a number; what has more is no id, date or position, and Python refuses to
read it.
"""
_STRINGS_AND_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_GAP = re.compile(r"[\s,]*")
_CLOSING = {"{": "}", "[": "]"}


class Entry(NamedTuple):
    """An entry of a JSON object or list; of a list the key is its index, from 0."""

    key: str
    value: Any


def holds_json(path: Path) -> bool:
    """Tell whether a file is JSON by its name, or a package with one JSON file."""
    if is_package(path):
        return only_member(path, _PACKED_FORM) != ""
    return JSON_FORM.search(path.name) is not None


def read_text(path: Path, most: int | None = None) -> str:
    """Read the text of a file, or its beginning of so many bytes.

    Raises:
        InputError: it cannot be unpacked, or is too large.
    """
    is_packed = path.name.lower().endswith((".gz", ".zip"))
    if most is not None:
        limit = most
    elif is_packed:
        # One byte over the limit is enough to refuse the file.
        limit = MOST_UNPACKED + 1
    else:
        limit = -1
    try:
        with open_unpacked(path, _PACKED_FORM) as stream:
            content = stream.read(limit)
    except DAMAGES as error:
        problem = "a file that cannot be unpacked"
        raise damaged(path.name, problem, error, "a whole file") from None
    if is_packed:
        require_size(path.name, len(content))
    return content.decode("utf-8-sig", "replace")


def first_bracket(text: str) -> str:
    """Return the first character of a JSON text that is not blank."""
    begin = _next_position(text, 0)
    return text[begin : begin + 1]


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a file with one JSON object per line; empty lines are passed over.

    Returns:
        The objects with the numbers of their lines.

    Raises:
        InputError: it cannot be unpacked, or a line is something else.
    """
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, parse_int=_number)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise InputError(
                path.name,
                "something else",
                "a JSON object per line",
                "Deliver the file as it is published.",
                row=number,
            )
        yield number, value


def entries(text: str, file: str) -> Iterator[Entry]:
    """Read every entry of a JSON object or list, one after the other.

    An entry that is nested too deeply is `SKIPPED`.

    Raises:
        InputError: the text breaks off, with the row where it does.
    """
    # The decoder reads one value at a position and says where it ends; what stands
    # between the values is read here.
    decoder = json.JSONDecoder(parse_int=_number)
    number = 0
    try:
        begin = _next_position(text, 0)
        closing = _CLOSING.get(text[begin : begin + 1], "")
        position = _next_position(text, begin + 1)
        while text[position] != closing:
            key: Any = str(number)
            if closing == "}":
                key, position = decoder.raw_decode(text, position)
                position = text.index(":", position) + 1
            value_begin = _next_position(text, position)
            try:
                value, position = decoder.raw_decode(text, value_begin)
            except RecursionError:
                value = SKIPPED
                position = _end_of_value(text, value_begin)
            number += 1
            yield Entry(str(key), value)
            position = _next_position(text, position)
    except (ValueError, IndexError, RecursionError):
        raise InputError(
            file,
            "JSON that breaks off here or is damaged",
            "a whole JSON file",
            "Deliver the complete file.",
            row=number + 1,
        ) from None


def _next_position(text: str, position: int) -> int:
    """Find the next character that is neither blank nor comma."""
    gap = _GAP.match(text, position)
    return gap.end() if gap else position


def _end_of_value(text: str, begin: int) -> int:
    """Find the end of the value that begins with a bracket there.

    Raises:
        ValueError: it does not end.
    """
    depth = 0
    for token in _STRINGS_AND_BRACKETS.finditer(text, begin):
        if token.group() in ("[", "{"):
            depth += 1
        elif token.group() in ("]", "}"):
            depth -= 1
        if depth == 0:
            return token.end()
    raise ValueError


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)
