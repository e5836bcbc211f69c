"""Reads raw reports from a table, JSON, Open-i's XML or text files, by their layout.

Facts about layouts are data (`layouts.py`). Here each kind of file becomes records, and
the records become reports, in the order of the files. Not here: which files of a
delivery are reports (`corpus/discovery.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from lunguage_assets.corpus.columns import folded_name
from lunguage_assets.corpus.records import Records, cleaned, read_records
from lunguage_assets.corpus.texts.archives import TEXT_FORM, XML_FORM, contents_in
from lunguage_assets.corpus.texts.json_entries import (
    JSON_FORM,
    KEY,
    read_entries,
)
from lunguage_assets.corpus.texts.layouts import (
    CONTENT,
    PATH,
    Layout,
    reports_of,
    storable,
)
from lunguage_assets.corpus.texts.packed import read_packed
from lunguage_assets.corpus.texts.raw import COLUMNS

FORMS = {"texts": TEXT_FORM, "xml": XML_FORM}
"""Names of files of one report each, by what a layout reads."""


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

    @property
    def title(self) -> str:
        """What a message calls the reports."""
        names = ", ".join(path.name for path in self.paths)
        return f"{self.layout.title} ({names})"


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
    fields = records.values
    if layout.reads == "records":
        fields = cleaned(fields, layout.fields)
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
    folder = path.parent if path.is_file() and form.search(path.name) else path
    names = []
    records = []
    damaged = []
    for name, content in contents_in(path, form):
        file = storable(name)
        fields: dict[str, Any] = {CONTENT: content}
        if layout.reads == "xml":
            fields = _fields_of_xml(content or b"")
        if content is None or not fields:
            damaged.append(file)
            continue
        stem = form.sub("", file.rpartition("/")[2])
        names.append(file)
        records.append({KEY: stem, PATH: f"{folder.name}/{file}", **fields})
    values = pd.DataFrame(records, names, layout.fields, dtype=object).fillna("")
    cause = {"reason": "unreadable-file", "found": "", "content": ""}
    return Records(layout.fields, values, pd.DataFrame(cause, damaged))


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
    if fields:
        fields["uid"] = next((tag.get("id", "") for tag in citation.iter("uId")), "")
        fields["title"] = citation.findtext(".//ArticleTitle", "")
    return fields
