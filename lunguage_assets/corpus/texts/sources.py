"""Reads raw reports from a table, JSON, Open-i's XML or text files, by their layout.

Facts about layouts are data (`layouts.py`). Here each kind of file becomes records, and
the records become reports, in the order of the files. Not here: which files of a
delivery are reports (`corpus/discovery.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from lunguage_assets.corpus.columns import folded_name
from lunguage_assets.corpus.records import cleaned, read_records, storable
from lunguage_assets.corpus.texts.archives import TEXT_FORM, XML_FORM, contents_in
from lunguage_assets.corpus.texts.json_entries import holds_json, json_entries
from lunguage_assets.corpus.texts.layouts import (
    KEY,
    PATH,
    Layout,
    as_bytes,
    report_of,
    reports_of_images,
)
from lunguage_assets.corpus.texts.packed import read_packed
from lunguage_assets.corpus.texts.raw import COLUMNS

Record = tuple[dict[str, Any], dict[str, Any]]
"""What a file says of a report by `raw.COLUMNS`, and the fields of its layout."""


@dataclass(frozen=True)
class TextSource:
    """Files of raw reports of one layout.

    Each path is a table, a JSON file, an archive, a text file, or the folder under
    which the files of one report each lie; `beside` is a table that says more of their
    studies. Without a layout it is the one file in which a home stores them.
    """

    layout: Layout | None
    paths: tuple[Path, ...]
    beside: Path | None = None

    @property
    def title(self) -> str:
        """What a message calls the reports."""
        title = "stored reports" if self.layout is None else self.layout.title
        return f"{title} ({self.paths[0].name})"


def raw_reports(source: TextSource) -> pd.DataFrame:
    """Read the reports of a source (`raw.COLUMNS`), all of which can be stored.

    Raises:
        InputError: a file cannot be used as a whole.
    """
    if source.layout is None:
        return read_packed(source.paths[0])
    layout = source.layout
    fields_beside: dict[Any, Any] = {}
    if source.beside is not None:
        study, *names = layout.beside
        table = read_records(source.beside, layout.beside)
        cells = cleaned(table.values, layout.beside)
        fields_beside = cells.groupby(study)[names].agg(list).to_dict("index")
    reports = []
    for path in source.paths:
        for report, fields in _records(path, layout):
            fields |= fields_beside.get(str(fields.get(layout.study[0])), {})
            reports.append(report_of(fields, layout) | report)
    frame = pd.DataFrame(reports, columns=list(COLUMNS), dtype=object)
    return reports_of_images(frame) if layout.record_is_image else frame


def _records(path: Path, layout: Layout) -> Iterator[Record]:
    """Read the records of a file, broken ones, too."""
    if layout.reads != "records":
        yield from _read_files(path, layout)
    elif not holds_json(path):
        yield from _read_table(path, layout)
    else:
        for line, (key, entry) in enumerate(json_entries(path), 1):
            report = {"file": path.name, "line": line}
            fields: dict[str, Any] = {KEY: key}
            if isinstance(entry, dict):
                fields |= {folded_name(name): value for name, value in entry.items()}
            else:
                report |= {
                    "broken": "unreadable-entry",
                    "content": as_bytes(str(entry)),
                }
            yield report, fields


def _read_table(path: Path, layout: Layout) -> Iterator[Record]:
    """Read a CSV or Parquet table, of which only the layout's columns count."""
    names = sorted(layout.fields)
    records = read_records(path, names, required=layout.known_by)
    rows: Any = cleaned(records.values, names).to_dict("index")
    for line, fields in rows.items():
        report = {"file": path.name, "line": line}
        if line in records.guessed:
            report["noted"] = "encoding-guessed: report"
        yield report, fields
    broken: Any = records.broken.itertuples()
    for row in broken:
        report = {"file": path.name, "line": row.Index, "broken": row.reason}
        yield report | {"content": as_bytes(row.content)}, {}


def _read_files(path: Path, layout: Layout) -> Iterator[Record]:
    """Read every file of one report of a folder or an archive, or the one it is."""
    is_xml = layout.reads == "xml"
    form = XML_FORM if is_xml else TEXT_FORM
    # Of a single file the folder may be that of its patient.
    is_single = path.is_file() and form.search(path.name)
    folder = path.parent if is_single else path
    for name, content in contents_in(path, form):
        file = PurePosixPath(storable(name))
        report: dict[str, Any] = {"file": str(file), "line": 1}
        fields = _fields_of_xml(content or b"") if is_xml else {}
        if content is None or (is_xml and not fields):
            report |= {"broken": "unreadable-file", "content": content or b""}
        elif not is_xml:
            report["content"] = content
        key = form.sub("", file.name)
        yield report, fields | {KEY: key, PATH: f"{folder.name}/{file}"}


def _fields_of_xml(content: bytes) -> dict[str, Any]:
    """Read a citation; empty for one that is damaged, or has entities of its own.

    Fields are the sections of the abstract by their labels, `uid` and `title`.
    """
    # An entity of entities of entities may expand to gigabytes. NULs are left out, so
    # that it is recognised in UTF-16, too.
    if b"<!ENTITY" in content.replace(b"\0", b""):
        return {}
    try:
        citation = ElementTree.fromstring(content)
    except (ElementTree.ParseError, LookupError, ValueError):
        return {}
    fields: dict[str, Any] = {}
    for element in citation.iter("AbstractText"):
        label = folded_name(element.get("Label", ""))
        fields[label] = " ".join("".join(element.itertext()).split())
    if fields:
        fields["uid"] = next((tag.get("id", "") for tag in citation.iter("uId")), "")
        fields["title"] = citation.findtext(".//ArticleTitle", "")
    return fields
