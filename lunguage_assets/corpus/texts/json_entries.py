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

from lunguage_assets.corpus.columns import folded_name
from lunguage_assets.corpus.texts.archives import content_of, only_member
from lunguage_assets.corpus.texts.layouts import (
    BROKEN,
    CONTENT,
    FILE,
    KEY,
    LINE,
    Record,
    as_bytes,
)
from lunguage_assets.errors import InputError

_JSON_FORM = re.compile(r"\.(?:json|jsonl|ndjson)(?:\.gz)?$", re.IGNORECASE)
_LINES_FORM = re.compile(r"\.(?:jsonl|ndjson)(?:\.gz)?$", re.IGNORECASE)
_BYTES_LOOKED_AT = 1 << 20
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"(\s*:)?')
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)


def holds_json(path: Path) -> bool:
    """Tell whether a file is JSON by its name, or an archive with one JSON file."""
    return only_member(path, _JSON_FORM) != ""


def json_fields(path: Path) -> list[str]:
    """List every key, at whatever depth, at the beginning of a file."""
    strings = _STRING.findall(_text_of(path, _BYTES_LOOKED_AT))
    return list(dict.fromkeys(string for string, colon in strings if colon))


def read_json(path: Path) -> Iterator[Record]:
    """Read every entry as a record.

    Raises:
        InputError: the file breaks off, is nested too deeply, cannot be unpacked, or is
            too large.
    """
    for number, (key, entry) in enumerate(_entries(path), 1):
        record = {FILE: path.name, LINE: number, KEY: key, BROKEN: "", CONTENT: b""}
        if isinstance(entry, dict):
            for name, value in entry.items():
                record.setdefault(folded_name(name), value)
        else:
            content = as_bytes(entry) if isinstance(entry, str) else b""
            record |= {BROKEN: "unreadable-entry", CONTENT: content}
        yield record


def _entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Read the entries with their keys, which are empty in a list."""
    text = _text_of(path)
    if _LINES_FORM.search(only_member(path, _JSON_FORM)):
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


def _text_of(path: Path, most: int | None = None) -> str:
    """Read the text of a file, or the beginning of so many bytes."""
    return content_of(path, _JSON_FORM, most).decode("utf-8-sig", "replace")
