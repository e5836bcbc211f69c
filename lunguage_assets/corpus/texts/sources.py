"""Reads raw reports from a table, JSON, Open-i's XML or text files, by their layout.

Facts about layouts are data (`layouts.py`). Here each kind of file becomes records, and
the records become reports, in the order of the files. A home stores reports of any
layout in one Parquet file. Not here: which files of a delivery are reports
(`corpus/discovery.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import starmap
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pandas as pd
import pyarrow as pa

from lunguage_assets.corpus.columns import clean, folded_name
from lunguage_assets.corpus.records import (
    Broken,
    Records,
    cleaned,
    numbered,
    read_records,
)
from lunguage_assets.corpus.side_files import cells_of
from lunguage_assets.corpus.texts.archives import content_of, contents_in
from lunguage_assets.corpus.texts.layouts import (
    CONTENT,
    PATH,
    Layout,
    reports_of,
    storable,
)
from lunguage_assets.corpus.texts.raw import COLUMNS
from lunguage_assets.errors import InputError, damaged

KEY = "key of the entry"
"""The field for an entry's key in a JSON object."""
JSON_FORM = re.compile(r"\.(?:jsonl?|ndjson)(?:\.gz|\.zip)?$", re.IGNORECASE)
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)


class TextSource(NamedTuple):
    """Files of raw reports of one layout.

    Each path is a table, a JSON file, an archive, a text file, or the folder under
    which the files of one report each lie; `beside` is a table that says more of their
    studies.
    """

    layout: Layout
    paths: tuple[Path, ...]
    beside: Path | None = None


def raw_reports(source: TextSource) -> pd.DataFrame:
    """Read the reports of a source (`raw.COLUMNS`), broken ones last in each file.

    Raises:
        InputError: a file cannot be used as a whole.
    """
    if source.layout.reads == "stored":
        path = source.paths[0]
        # Threads of Arrow may abort a process that was forked.
        try:
            reports = pd.read_parquet(path, columns=[*COLUMNS], use_threads=False)
            return reports.astype(object)
        except (pa.ArrowException, OSError) as error:
            raise damaged(
                path.name,
                "damaged data",
                error,
                source.layout.title,
                "Register the delivery again, or restore the file.",
            ) from None
    files = [_read(path, source.layout, source.beside) for path in source.paths]
    reports = pd.concat(files, ignore_index=True).reindex(columns=list(COLUMNS))
    return reports.astype(object).fillna("")


def _read(path: Path, layout: Layout, beside: Path | None) -> pd.DataFrame:
    """Read the reports of a path of a source."""
    if layout.reads != "records":
        records = _read_files(path, layout)
    elif JSON_FORM.search(path.name):
        records = read_entries(path, layout.fields)
    else:
        records = read_records(path, layout.fields, required=layout.known_by)
        records = records._replace(values=cleaned(records.values, layout.fields))
    fields = records.values
    if beside is not None:
        study, *names = layout.beside
        lines = cells_of(beside, layout.beside).groupby(study).agg("\n".join)
        lines = lines.reindex(fields[layout.study[0]], fill_value="")
        fields[names] = lines.to_numpy()
    reports = pd.concat([reports_of(fields, layout), records.broken])
    if layout.reads != "texts":
        # Of a table of mixed encodings each report is decoded by itself. Half a
        # character of JSON becomes `?`.
        encoding = "cp1252" if records.note else "utf-8"
        reports["content"] = reports["content"].str.encode(encoding, "replace")
    if layout.reads == "records":
        return reports.assign(file=storable(path.name), line=reports.index)
    return reports.assign(file=reports.index, line=1)


def _read_files(path: Path, layout: Layout) -> Records:
    """Read every file of one report of a folder or an archive, or the one it is.

    Records are by the name of the file instead of their number.
    """
    # Of a single file the folder may be that of its patient.
    folder = path if path.is_dir() else path.parent
    names = []
    records = []
    unreadable = []
    for name, content in sorted(contents_in(path, layout.files), key=itemgetter(0)):
        file = storable(name)
        fields: dict[str, Any] = {CONTENT: content}
        if layout.reads == "xml":
            fields = _fields_of_xml(content or b"")
        if content is None or not fields:
            unreadable.append(file)
            continue
        names.append(file)
        records.append({PATH: f"{folder.name}/{file}", **fields})
    values = pd.DataFrame(records, names, layout.fields, dtype=object).fillna("")
    nothing = "" if layout.reads == "xml" else b""
    cause = {"reason": "unreadable-file", "content": nothing}
    return Records(values, pd.DataFrame(cause, unreadable))


def _fields_of_xml(content: bytes) -> dict[str, Any]:
    """Read a citation; empty for one that is damaged or asks for another file.

    Fields are the sections of the abstract by their labels, `uid` and `title`.
    """
    try:
        citation = ElementTree.fromstring(content)
    except (ElementTree.ParseError, LookupError, ValueError):
        return {}
    fields = {"title": citation.findtext(".//ArticleTitle", "")}
    for tag in citation.iter("uId"):
        fields["uid"] = tag.get("id", "")
    for element in citation.iter("AbstractText"):
        label = element.get("Label", "").lower()
        fields[label] = " ".join("".join(element.itertext()).split())
    return fields


def read_entries(path: Path, names: Sequence[str]) -> Records:
    """Read the entries of a file as records.

    Args:
        path: the file.
        names: of the fields that are read, by folded name, or as a path such as
            `findings.sentence_en`. A list is a text of a line for each item.

    Raises:
        InputError: the file breaks off, is nested too deeply, cannot be unpacked, or is
            too large.
    """

    def record(key: str, entry: Any) -> Sequence[str]:
        if not isinstance(entry, dict):
            return Broken("unreadable-entry", "", str(entry))
        fields = {folded_name(name): value for name, value in entry.items()}
        fields[KEY] = key
        return [_text_at(fields, name.split(".")) for name in names]

    return numbered(starmap(record, _entries(path)), names)


def _entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Give the entries with their keys, which are empty in a list.

    A line of JSON lines that is no JSON stays a text.
    """
    text = content_of(path).decode("utf-8-sig", "replace")
    try:
        if re.search(r"(?i)\.(?:jsonl|ndjson)(?:\.gz|\.zip)?$", path.name):
            lines = filter(str.strip, text.split("\n"))
            content: Any = list(map(_decoded_line, lines))
        else:
            content = _DECODER.decode(text)
        if isinstance(content, list):
            content = {"": content}
        groups = content.items()
    except (ValueError, RecursionError, AttributeError) as error:
        raise InputError(
            path.name,
            "JSON that breaks off here or is damaged",
            "a whole JSON file; with an entry a line it is called .jsonl",
            "Deliver the complete file.",
            row=getattr(error, "lineno", None),
        ) from None
    for key, group in groups:
        if isinstance(group, list):
            for entry in group:
                yield "", entry
        else:
            yield key, group


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


def write_packed(reports: pd.DataFrame, path: Path) -> None:
    """Store reports in one file; reading it gives the same reports."""
    reports.to_parquet(path, compression="zstd", index=False)
