"""Reads raw reports from a table, JSON, Open-i's XML or text files, by their layout.

Facts about layouts are data (`layouts.py`). Here each kind of file becomes records, and
the records become reports, in the order of the files. Not here: which files of a
delivery are reports (`corpus/discovery.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

from lunguage_assets.corpus.columns import folded_name
from lunguage_assets.corpus.records import read_cells, storable
from lunguage_assets.corpus.texts.json_entries import holds_json, read_json
from lunguage_assets.corpus.texts.layouts import (
    KEY,
    PATH,
    Layout,
    SourceRecord,
    as_bytes,
    report_of,
    reports_of_images,
)
from lunguage_assets.corpus.texts.members import TEXT_FORM, XML_FORM, contents_in
from lunguage_assets.corpus.texts.packed import read_packed
from lunguage_assets.corpus.texts.raw import RawReport


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


def raw_reports(source: TextSource) -> Iterator[RawReport]:
    """Read the reports of a source, all of which can be stored.

    Raises:
        InputError: a file cannot be used as a whole.
    """
    for path in source.paths:
        if source.layout is None:
            yield from read_packed(path)
            continue
        records = _records(path, source.layout)
        if source.beside is not None:
            records = _with_fields_beside(records, source.beside, source.layout)
        reports = (report_of(record, source.layout) for record in records)
        yield from (
            reports_of_images(reports) if source.layout.record_is_image else (reports)
        )


def _records(path: Path, layout: Layout) -> Iterator[SourceRecord]:
    if layout.reads == "texts":
        return _read_text_files(path)
    if layout.reads == "xml":
        return _read_openi_xml(path)
    if holds_json(path):
        return read_json(path)
    return _read_table(path, layout.known_by, layout.fields)


def _read_table(
    path: Path, required: tuple[str, ...], fields: set[str]
) -> Iterator[SourceRecord]:
    """Read a CSV or Parquet table, of which only these columns count."""
    optional = sorted(fields - set(required))
    _, records = read_cells(path, required, optional, keep_bytes=True)
    for record, cells in records:
        content = as_bytes(record.raw)
        yield SourceRecord(path.name, record.number, cells, content, record.broken)


def _with_fields_beside(
    records: Iterator[SourceRecord], table: Path, layout: Layout
) -> Iterator[SourceRecord]:
    """Give each record the fields of its study in the table beside, as lists."""
    study_field, *names = layout.beside
    rows_by_study: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in _read_table(table, layout.beside, set()):
        if not row.broken:
            rows_by_study[row.fields[study_field]].append(row.fields)
    for record in records:
        rows = rows_by_study.get(record.fields.get(study_field, ""), [])
        beside = {name: [row[name] for row in rows] for name in names}
        yield replace(record, fields={**record.fields, **beside})


def _read_text_files(path: Path) -> Iterator[SourceRecord]:
    """Read every text file of a folder or an archive, or the one that the path is."""
    is_single = path.is_file() and TEXT_FORM.search(path.name)
    folder = path.parent if is_single else path
    for name, content in contents_in(path, TEXT_FORM):
        file = PurePosixPath(storable(name))
        fields = {PATH: f"{folder.name}/{file}"}
        broken = "unreadable-file" if content is None else ""
        yield SourceRecord(str(file), 1, fields, content or b"", broken)


def _read_openi_xml(path: Path) -> Iterator[SourceRecord]:
    """Read every XML file of a folder or an archive.

    Its fields are the sections of the abstract by their labels, `uid` and `title`.
    """
    for name, content in contents_in(path, XML_FORM):
        file = storable(name)
        fields = {KEY: XML_FORM.sub("", PurePosixPath(file).name)}
        sections = _fields_of_xml(content or b"")
        broken = "" if sections else "unreadable-file"
        yield SourceRecord(file, 1, fields | sections, content or b"", broken)


def _fields_of_xml(content: bytes) -> dict[str, str]:
    """Read a citation; empty for one that is damaged, or has entities of its own."""
    # An entity of entities of entities may expand to gigabytes. NULs are left out, so
    # that it is recognised in UTF-16, too.
    if b"<!ENTITY" in content.replace(b"\0", b""):
        return {}
    try:
        citation = ElementTree.fromstring(content)
    except (ElementTree.ParseError, LookupError, ValueError):
        return {}
    fields: dict[str, str] = {}
    for element in citation.iter("AbstractText"):
        label = folded_name(element.get("Label", ""))
        text = fields.get(label, "") + "".join(element.itertext())
        fields[label] = " ".join(text.split())
    if fields:
        fields["uid"] = next((tag.get("id", "") for tag in citation.iter("uId")), "")
        titles = [tag.text or "" for tag in citation.iter("ArticleTitle")]
        fields["title"] = " ".join("".join(titles).split())
    return fields
