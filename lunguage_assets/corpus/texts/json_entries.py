"""Reads the entries of a JSON file: an object or a list of them, or one a line.

Where an object holds lists (the splits of a data set), the entries are theirs. Numbers
are read as text, so that an id stays as it is written. Not here: what entries mean
(`layouts.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from lunguage_assets.corpus.columns import clean, folded_name
from lunguage_assets.corpus.packages import (
    DAMAGES,
    is_package,
    only_member,
    open_unpacked,
)
from lunguage_assets.corpus.records import MOST_UNPACKED, require_size
from lunguage_assets.corpus.texts.layouts import KEY, SourceRecord, as_bytes
from lunguage_assets.errors import InputError, damaged

_JSON_FORM = re.compile(r"\.(?:json|jsonl|ndjson)(?:\.gz)?$", re.IGNORECASE)
_LINES_FORM = re.compile(r"\.(?:jsonl|ndjson)(?:\.gz)?$", re.IGNORECASE)
_BYTES_LOOKED_AT = 1 << 20
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"(\s*:)?')
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)


def holds_json(path: Path) -> bool:
    """Tell whether a file is JSON by its name, or a package with one JSON file."""
    if is_package(path):
        return only_member(path, _JSON_FORM) != ""
    return _JSON_FORM.search(path.name) is not None


def json_fields(path: Path) -> list[str]:
    """List every key, at whatever depth, at the beginning of a file."""
    strings = _STRING.findall(_text_of(path, _BYTES_LOOKED_AT))
    return list(dict.fromkeys(string for string, colon in strings if colon))


def read_json(path: Path) -> Iterator[SourceRecord]:
    """Read every entry as a record.

    Raises:
        InputError: the file breaks off, is nested too deeply, cannot be unpacked, or is
            too large.
    """
    for number, (key, entry) in enumerate(_entries(path), 1):
        if isinstance(entry, dict):
            fields: dict[str, Any] = {KEY: key}
            for name, value in entry.items():
                text = clean(value) if isinstance(value, str) else value
                fields.setdefault(folded_name(name), text)
            yield SourceRecord(path.name, number, fields)
        else:
            content = as_bytes(entry) if isinstance(entry, str) else b""
            yield SourceRecord(
                path.name, number, {KEY: key}, content, "unreadable-entry"
            )


def _entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Read the entries with their keys, which are empty in a list."""
    text = _text_of(path, MOST_UNPACKED + 1)
    require_size(path.name, len(text))
    if _LINES_FORM.search(path.name):
        yield from _lines(text)
        return
    try:
        content = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        if getattr(error, "msg", "") == "Extra data":
            yield from _lines(text)
            return
        raise InputError(
            path.name,
            "JSON that breaks off here or is damaged",
            "a whole JSON file",
            "Deliver the complete file.",
            row=getattr(error, "lineno", None),
        ) from None
    groups = [content]
    if isinstance(content, dict) and all(
        isinstance(value, list) for value in content.values()
    ):
        groups = list(content.values())
    for group in groups:
        if isinstance(group, dict):
            yield from group.items()
        elif isinstance(group, list):
            yield from (("", entry) for entry in group)


def _lines(text: str) -> Iterator[tuple[str, Any]]:
    """Read an entry a line; a line that is no JSON stays a text."""
    for line in filter(str.strip, text.split("\n")):
        entry = line
        with suppress(ValueError, RecursionError):
            entry = _DECODER.decode(line.strip())
        yield "", entry


def _text_of(path: Path, most: int) -> str:
    """Read the text at the beginning of a file, of so many bytes."""
    try:
        with open_unpacked(path, _JSON_FORM) as stream:
            return stream.read(most).decode("utf-8-sig", "replace")
    except DAMAGES as error:
        problem = "a file that cannot be unpacked"
        raise damaged(path.name, problem, error, "a whole file") from None
