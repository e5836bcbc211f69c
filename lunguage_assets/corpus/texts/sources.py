"""Reads raw reports from a table, JSON, Open-i's XML or text files, by their layout.

Facts about layouts are data (`layouts.py`). Here each kind of file becomes records, and
the records become reports, in the order of the files. A home stores reports of any
layout in one Parquet file. Not here: which files of a delivery are reports
(`corpus/discovery.py`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lunguage_assets.corpus.columns import clean, folded_name
from lunguage_assets.corpus.records import Records, cleaned, numbered, read_records
from lunguage_assets.corpus.texts.archives import (
    TEXT_FORM,
    XML_FORM,
    content_of,
    contents_in,
)
from lunguage_assets.corpus.texts.layouts import (
    CONTENT,
    PATH,
    Layout,
    reports_of,
    storable,
)
from lunguage_assets.corpus.texts.raw import COLUMNS
from lunguage_assets.errors import InputError, damaged

FORMS = {"texts": TEXT_FORM, "xml": XML_FORM}
"""Names of files of one report each, by what a layout reads."""
KEY = "key of the entry"
"""The field for an entry's key in a JSON object, and for the name of a file."""
JSON_FORM = re.compile(r"\.(?:json|(jsonl|ndjson))(?:\.gz|\.zip)?$", re.IGNORECASE)
"""Its group is the ending of a file that has an entry a line."""
_BYTES_LOOKED_AT = 1 << 20
_KEY = re.compile(r'"((?:[^"\\]|\\.)*+)"\s*:')
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)


@dataclass(frozen=True)
class TextSource:
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
        return read_packed(source.paths[0])
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
        table = cleaned(read_records(beside, layout.beside).values, layout.beside)
        lines = table.groupby(study).agg("\n".join)
        lines = lines.reindex(fields[layout.study[0]], fill_value="")
        fields[names] = lines.to_numpy()
    broken = records.broken.rename(columns={"reason": "broken"})
    reports = pd.concat([reports_of(fields, layout), broken])
    reports["content"] = [
        _as_bytes(text, records.encoding) for text in reports["content"]
    ]
    if layout.reads == "records":
        return reports.assign(file=storable(path.name), line=reports.index)
    return reports.assign(file=reports.index, line=1)


def _as_bytes(text: str | bytes, encoding: str) -> bytes:
    """Return the bytes of a text; half a character of JSON becomes `?`."""
    return text if isinstance(text, bytes) else text.encode(encoding, "replace")


def _read_files(path: Path, layout: Layout) -> Records:
    """Read every file of one report of a folder or an archive, or the one it is.

    Records are by the name of the file instead of their number.
    """
    form = FORMS[layout.reads]
    # Of a single file the folder may be that of its patient.
    folder = path if path.is_dir() else path.parent
    names = []
    records = []
    unreadable = []
    for name, content in sorted(contents_in(path, form), key=itemgetter(0)):
        file = storable(name)
        fields: dict[str, Any] = {CONTENT: content}
        if layout.reads == "xml":
            fields = _fields_of_xml(content or b"")
        if content is None or not fields:
            unreadable.append(file)
            continue
        stem = form.sub("", file.rpartition("/")[2])
        names.append(file)
        records.append({KEY: stem, PATH: f"{folder.name}/{file}", **fields})
    values = pd.DataFrame(records, names, layout.fields, dtype=object).fillna("")
    cause = {"reason": "unreadable-file", "found": "", "content": ""}
    return Records(layout.fields, values, pd.DataFrame(cause, unreadable))


def _fields_of_xml(content: bytes) -> dict[str, Any]:
    """Read a citation; empty for one that is damaged or asks for another file.

    Fields are the sections of the abstract by their labels, `uid` and `title`.
    """
    try:
        citation = ElementTree.fromstring(content)
    except (ElementTree.ParseError, LookupError, ValueError):
        return {}
    fields: dict[str, Any] = {}
    for element in citation.iter("AbstractText"):
        label = folded_name(element.get("Label", ""))
        fields[label] = " ".join("".join(element.itertext()).split())
    ids = [tag.get("id", "") for tag in citation.iter("uId")]
    fields["uid"] = "".join(ids)
    fields["title"] = citation.findtext(".//ArticleTitle", "")
    return fields


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


def write_packed(reports: pd.DataFrame, path: Path) -> None:
    """Store reports in one file; reading it gives the same reports."""
    reports.to_parquet(path, compression="zstd", index=False)


def read_packed(path: Path) -> pd.DataFrame:
    """Read what `write_packed` wrote.

    Raises:
        InputError: the file is damaged.
    """
    try:
        # Not `pd.read_parquet`: its threads may abort a process that was forked.
        table = pq.ParquetFile(path).read(use_threads=False)
        reports: pd.DataFrame = table.to_pandas().astype(object)[[*COLUMNS]]
    except (pa.ArrowException, OSError, KeyError) as error:
        raise damaged(
            path.name,
            "damaged data",
            error,
            "raw reports as a home stores them",
            "Register the delivery again, or restore the file.",
        ) from None
    return reports


def reports_digest(reports: pd.DataFrame) -> str:
    """Hash reports (sha256): the same however they are packed."""
    digest = hashlib.sha256()
    # The same text, packed or not, is the same delivery.
    files = reports["file"].map(lambda name: name.removesuffix(".gz"))
    for values in reports.assign(file=files).itertuples(index=False, name=None):
        # How Python writes them keeps one value apart from the next.
        digest.update(repr(values).encode())
    return digest.hexdigest()
