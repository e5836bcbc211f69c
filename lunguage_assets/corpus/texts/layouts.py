"""Layouts of raw reports as data (`resources/layouts.yaml`).

An entry says by which fields a known file is recognised, which of them are study,
patient, views, date and text, and how sections are put together. Here the entries are
loaded and applied to the records of a file; these are read in `sources.py`, and
the head of the YAML file explains every key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel, RootModel

from lunguage_assets.corpus.columns import first_said, folded_name, mapped
from lunguage_assets.packaged_data import read_as, resource

PATH = "path of the file"
"""The field for the path of a file of one report, folder first."""
CONTENT = "content of the file"
"""The field for the bytes of a file of one report."""
NO_STUDY = "study-id-missing"
"""Why a record without an id is broken."""
_SINGLE_FIELDS = ("study", "patient", "taken_at", "procedure", "sequence")
"""Keys of a layout that name where a report has one value."""
_NO_VIEW = {"", "none", "nan", "n/a", "unknown", "other"}


Fields = tuple[str, ...]
"""Fields of a record by folded name."""


class Layout(BaseModel, frozen=True, extra="forbid"):
    """How a known file is recognised and read."""

    title: str
    source: str = ""
    reads: Literal["findings", "stored", "records", "texts", "xml"] = "records"
    files: str = ""
    names: Fields = ()
    known_by: Fields = ()
    beside_name: str = ""
    beside: Fields = ()
    behind_part: str = ""
    record_is_image: bool = False
    nothing: str = ""
    study: Fields
    ids: str = ""
    patient: Fields = ()
    taken_at: Fields = ()
    sequence: Fields = ()
    views: Fields = ()
    procedure: Fields = ()
    sections: dict[str, str] = {}
    text: Fields = ()
    example: dict[str, Any] = {}

    @property
    def fields(self) -> list[str]:
        """Every field that is read, in the file or in the table beside it."""
        names = {*self.known_by, *self.views, *self.text, *self.sections.values()}
        for name in _SINGLE_FIELDS:
            names.update(getattr(self, name))
        return sorted(names)


@cache
def layouts() -> Mapping[str, Layout]:
    """Read the packaged layouts by name, in the order in which they are tried."""
    return read_as(resource("layouts.yaml"), RootModel[dict[str, Layout]]).root


def layout_with(
    text: str, study: str, views: str = "view", *, known_by: tuple[str, ...]
) -> Layout:
    """Make the layout of a file whose fields a user names, of `reports` otherwise.

    Args:
        text: the field of the texts, as all of them in any spelling.
        study: the field of the ids.
        views: the field of the views.
        known_by: those of them that have to be there.
    """
    fields = {
        "title": "a file of named columns",
        "study": [folded_name(study)],
        "views": [folded_name(views)],
        "text": [folded_name(text)],
        "known_by": list(map(folded_name, known_by)),
    }
    return layouts()["reports"].model_copy(update=fields)


def reports_of(fields: pd.DataFrame, layout: Layout) -> pd.DataFrame:
    """Read raw reports in the fields of records.

    Where a record is an image, a study has one report of all its records; images with
    another text are another report of the study.

    Args:
        fields: a text for each field of the layout, by folded name; what a record has
            several of is a text of several lines.
        layout: of the records.

    Returns:
        The columns of `raw.COLUMNS` that do not say where a report stands, and its
        text as `content`.
    """
    fields = fields.replace(layout.nothing, "")
    reports = pd.DataFrame("", fields.index, _SINGLE_FIELDS, dtype=object)
    for name in _SINGLE_FIELDS:
        for field in getattr(layout, name):
            values = mapped(fields[field], _single)
            reports[name] = first_said(reports[name], values)
    if layout.ids:
        ids = reports["study"].str.extract(layout.ids).fillna("")
        reports["study"] = ids["study"]
        reports["patient"] = first_said(ids["patient"], reports["patient"])
    content = pd.Series("", fields.index, dtype=object)
    for heading, path in layout.sections.items():
        texts = fields[path].str.strip()
        # Each line of a list is a sentence of its own, also without its full stop.
        if "." in path:
            texts = texts.str.replace(r"(?m)(?<=[^.!?])$", ".", regex=True)
        paragraph = f"\n\n{heading.upper()}: " + texts
        content += paragraph.where(texts != "", "")
    content = content.str.lstrip()
    reports["content"] = first_said(content, *(fields[field] for field in layout.text))
    no_id = f"{NO_STUDY}: {layout.study[0]}"
    reports["reason"] = (reports["study"] == "").map({True: no_id, False: ""})
    words = map("\n".join, fields[[*layout.views]].to_numpy())
    views = pd.Series(words, fields.index, dtype=object)
    if layout.record_is_image:
        report = ["study", "content"]
        views = views.groupby([reports[name] for name in report]).transform("\n".join)
        reports = reports.drop_duplicates(report)
    return reports.assign(views=mapped(views, _joined_views))


def _single(lines: str) -> str:
    """Read the first line of a text in a form that can be stored."""
    text = storable(lines.strip().partition("\n")[0])
    # A spreadsheet leaves `.0` behind a number.
    return re.sub(r"^(\d+)\.0$", r"\1", text)


def storable(text: str) -> str:
    r"""Make text that can be stored: `\udcNN` for what is no whole character."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def _joined_views(lines: str) -> str:
    """Sort words for views, each once."""
    words = re.split(r"\n|, ", storable(lines).lower().replace("_", " "))
    views = {" ".join(word.split()) for word in words} - _NO_VIEW
    return ", ".join(sorted(views))
