"""Reads the entries of a JSON file: an object or a list of them, or one a line.

Where an object holds lists (the splits of a data set), the entries are theirs. Numbers
are read as text, so that an id stays as it is written. Not here: what entries mean
(`layouts.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lunguage_assets.corpus.columns import clean, folded_name
from lunguage_assets.corpus.records import Records, numbered
from lunguage_assets.corpus.texts.archives import content_of
from lunguage_assets.errors import InputError

KEY = "key of the entry"
"""The field for an entry's key in a JSON object, and for the name of a file."""
JSON_FORM = re.compile(r"\.(?:json|(jsonl|ndjson))(?:\.gz|\.zip)?$", re.IGNORECASE)
"""Its group is the ending of a file that has an entry a line."""
_BYTES_LOOKED_AT = 1 << 20
_KEY = re.compile(r'"((?:[^"\\]|\\.)*+)"\s*:')
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)


def json_fields(path: Path) -> list[str]:
    """List every key, at whatever depth, at the beginning of a file."""
    text = content_of(path, _BYTES_LOOKED_AT).decode("utf-8-sig", "replace")
    return _KEY.findall(text)


def read_entries(path: Path, names: Collection[str]) -> Records:
    """Read the entries of a file as records.

    Args:
        path: the file.
        names: of the fields that are read, by folded name, or as a path such as
            `findings.sentence_en`. A list is a text of a line for each item.

    Raises:
        InputError: the file breaks off, is nested too deeply, cannot be unpacked, or is
            too large.
    """
    rows = {}
    broken = {}
    for line, (key, entry) in enumerate(_entries(path), 1):
        if isinstance(entry, dict):
            fields = {folded_name(name): value for name, value in entry.items()}
            fields[KEY] = key
            rows[line] = [_text_at(fields, name.split(".")) for name in names]
        else:
            broken[line] = ("unreadable-entry", "", str(entry))
    return Records([*names], numbered(rows, [*names]), numbered(broken))


def _entries(path: Path) -> list[tuple[str, Any]]:
    """List the entries with their keys, which are empty in a list.

    A line of JSON lines that is no JSON stays a text.
    """
    text = content_of(path).decode("utf-8-sig", "replace")
    form = JSON_FORM.search(path.name)
    if form and form[1]:
        return [("", _decoded_line(line)) for line in text.split("\n") if line.strip()]
    try:
        content = _DECODER.decode(text)
        if isinstance(content, list):
            content = {"": content}
        groups = list(content.items())
    except (ValueError, RecursionError, AttributeError) as error:
        raise InputError(
            path.name,
            "JSON that breaks off here or is damaged",
            "a whole JSON file; with an entry a line it is called .jsonl",
            "Deliver the complete file.",
            row=getattr(error, "lineno", None),
        ) from None
    entries: list[tuple[str, Any]] = []
    for key, group in groups:
        if isinstance(group, list):
            entries += [("", entry) for entry in group]
        else:
            entries.append((key, group))
    return entries


def _decoded_line(line: str) -> Any:
    with suppress(ValueError, RecursionError):
        return _DECODER.decode(line.strip())
    return line


def _text_at(value: Any, path: Sequence[str]) -> str:
    """Read the text at a path; what is no text is empty."""
    if isinstance(value, list):
        lines = (" ".join(_text_at(item, path).split()) for item in value)
        return "\n".join(filter(None, lines))
    if path and isinstance(value, dict):
        return _text_at(value.get(path[0]), path[1:])
    if not path and isinstance(value, str):
        return clean(value)
    return ""
