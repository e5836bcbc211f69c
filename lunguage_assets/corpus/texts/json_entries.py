"""Reads the entries of a JSON file: an object or a list of them, or one a line.

Where an object holds lists (the splits of a data set), the entries are theirs. Numbers
are read as text, so that an id stays as it is written. Not here: what entries mean
(`layouts.py`).
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from lunguage_assets.corpus.texts.archives import content_of, only_member
from lunguage_assets.errors import InputError

_JSON_FORM = re.compile(r"\.(?:json|jsonl|ndjson)(?:\.gz)?$", re.IGNORECASE)
_LINES_FORM = re.compile(r"\.(?:jsonl|ndjson)(?:\.gz)?$", re.IGNORECASE)
_BYTES_LOOKED_AT = 1 << 20
_KEY = re.compile(r'"((?:[^"\\]|\\.)*+)"(\s*:)?')
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)


def holds_json(path: Path) -> bool:
    """Tell whether a file is JSON by its name, or an archive with one JSON file."""
    return only_member(path, _JSON_FORM) != ""


def json_fields(path: Path) -> list[str]:
    """List every key, at whatever depth, at the beginning of a file."""
    content = content_of(path, _JSON_FORM, _BYTES_LOOKED_AT)
    strings = _KEY.findall(content.decode("utf-8-sig", "replace"))
    return list(dict.fromkeys(string for string, colon in strings if colon))


def json_entries(path: Path) -> list[tuple[str, Any]]:
    """Read the entries with their keys, which are empty in a list.

    A line of JSON lines that is no JSON stays a text.

    Raises:
        InputError: the file breaks off, is nested too deeply, cannot be unpacked, or is
            too large.
    """
    text = content_of(path, _JSON_FORM).decode("utf-8-sig", "replace")
    entries: list[tuple[str, Any]] = []
    if _LINES_FORM.search(only_member(path, _JSON_FORM)):
        for line in filter(str.strip, text.split("\n")):
            entry = line
            with suppress(ValueError, RecursionError):
                entry = _DECODER.decode(line.strip())
            entries.append(("", entry))
        return entries
    try:
        content = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            path.name,
            "JSON that breaks off here or is damaged",
            "a whole JSON file; with an entry a line it is called .jsonl",
            "Deliver the complete file.",
            row=getattr(error, "lineno", None),
        ) from None
    groups = [content]
    if isinstance(content, dict) and {type(it) for it in content.values()} == {list}:
        groups = list(content.values())
    for group in groups:
        if isinstance(group, dict):
            entries += group.items()
        elif isinstance(group, list):
            entries += [("", entry) for entry in group]
    return entries
