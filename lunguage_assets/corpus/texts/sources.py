"""Reads raw reports from a table, JSON, Open-i's XML or text files, by their layout.

Facts about layouts are data (`layouts.py`). Here each kind of file becomes records, and
the records become reports, in the order of the files. Not here: which files of a
delivery are reports (`corpus/discovery.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from lunguage_assets.corpus.columns import folded_name
from lunguage_assets.corpus.records import read_cells, storable
from lunguage_assets.corpus.texts.archives import TEXT_FORM, XML_FORM, contents_in
from lunguage_assets.corpus.texts.json_entries import holds_json, read_json
from lunguage_assets.corpus.texts.layouts import (
    BROKEN,
    CONTENT,
    FILE,
    KEY,
    LINE,
    PATH,
    Layout,
    Record,
    as_bytes,
    report_of,
    reports_of_images,
)
from lunguage_assets.corpus.texts.packed import read_packed
from lunguage_assets.corpus.texts.raw import COLUMNS


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
    reports: list[Record] = []
    for path in source.paths:
        records = _records(path, source.layout)
        if source.beside is not None:
            records = _with_fields_beside(records, source.beside, source.layout)
        reports += (report_of(record, source.layout) for record in records)
    frame = pd.DataFrame(reports, columns=list(COLUMNS), dtype=object)
    return reports_of_images(frame) if source.layout.record_is_image else frame


def _records(path: Path, layout: Layout) -> Iterator[Record]:
    if layout.reads != "records":
        return _read_files(path, layout)
    if holds_json(path):
        return read_json(path)
    return _read_table(path, layout.known_by, layout.fields)


def _read_table(
    path: Path, required: tuple[str, ...], fields: set[str]
) -> Iterator[Record]:
    """Read a CSV or Parquet table, of which only these columns count."""
    optional = sorted(fields - set(required))
    _, cells, broken = read_cells(path, required, optional, keep_bytes=True)
    reasons = broken["reason"].reindex(cells.index, fill_value="")
    raw = broken["raw"].reindex(cells.index, fill_value="")
    places: dict[str, Any] = {FILE: path.name, LINE: cells.index, BROKEN: reasons}
    records: Any = cells.assign(**places, **{CONTENT: raw}).to_dict("records")
    for record in records:
        yield record | {CONTENT: as_bytes(record[CONTENT])}


def _with_fields_beside(
    records: Iterable[Record], table: Path, layout: Layout
) -> Iterator[Record]:
    """Give each record the fields of its study in the table beside, as lists."""
    study, *names = layout.beside
    _, cells, _ = read_cells(table, layout.beside, keep_bytes=True)
    by_study: Any = cells.groupby(study)[names].agg(list).to_dict("index")
    for record in records:
        yield {**record, **by_study.get(record.get(study), {})}


def _read_files(path: Path, layout: Layout) -> Iterator[Record]:
    """Read every file of one report of a folder or an archive, or the one it is.

    Fields of an XML file are the sections of the abstract by their labels, `uid` and
    `title`.
    """
    is_xml = layout.reads == "xml"
    form = XML_FORM if is_xml else TEXT_FORM
    # Of a single file the folder may be that of its patient.
    is_single = path.is_file() and form.search(path.name)
    folder = path.parent if is_single else path
    for name, content in contents_in(path, form):
        file = PurePosixPath(storable(name))
        fields = _fields_of_xml(content or b"") if is_xml else {}
        is_broken = not fields if is_xml else content is None
        yield fields | {
            KEY: form.sub("", file.name),
            PATH: f"{folder.name}/{file}",
            FILE: str(file),
            LINE: 1,
            BROKEN: "unreadable-file" if is_broken else "",
            CONTENT: content or b"",
        }


def _fields_of_xml(content: bytes) -> dict[str, object]:
    """Read a citation; empty for one that is damaged, or has entities of its own."""
    # An entity of entities of entities may expand to gigabytes. NULs are left out, so
    # that it is recognised in UTF-16, too.
    if b"<!ENTITY" in content.replace(b"\0", b""):
        return {}
    try:
        citation = ElementTree.fromstring(content)
    except (ElementTree.ParseError, LookupError, ValueError):
        return {}
    fields: dict[str, object] = {}
    for element in citation.iter("AbstractText"):
        label = folded_name(element.get("Label", ""))
        text = str(fields.get(label, "")) + "".join(element.itertext())
        fields[label] = " ".join(text.split())
    if fields:
        fields["uid"] = next((tag.get("id", "") for tag in citation.iter("uId")), "")
        titles = [tag.text or "" for tag in citation.iter("ArticleTitle")]
        fields["title"] = " ".join("".join(titles).split())
    return fields
