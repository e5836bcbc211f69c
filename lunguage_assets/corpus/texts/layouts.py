"""Layouts of raw reports as data (`resources/layouts.yaml`).

An entry says by which fields a known file is recognised, which of them are study,
patient, views, date and text, and how sections are put together. Here the entries are
loaded and applied to the records of a file; these are read in `sources.py`, and
the head of the YAML file explains every key.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import BaseModel, BeforeValidator, ConfigDict, RootModel

from lunguage_assets.corpus.columns import clean
from lunguage_assets.corpus.records import storable
from lunguage_assets.corpus.texts.raw import COLUMNS
from lunguage_assets.packaged_data import read_as, resource

KEY = "key of the entry"
"""The field for an entry's key in a JSON object, and for the name of a file."""
PATH = "path of the file"
"""The field for the path of a file of one report, folder first."""
REPORTS = "reports"
"""The layout of files that a user makes."""
NO_STUDY = "study-id-missing"
"""Why a record without an id is broken."""
_SINGLE_FIELDS = ("study", "patient", "taken_at", "procedure", "sequence")
"""Keys of a layout that name where a report has one value."""
_NO_VIEW = {"", "none", "nan", "n/a", "unknown", "other"}


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Fields = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""Fields of a record by folded name; in YAML one of them, or a list."""


class Layout(BaseModel):
    """How a known file is recognised and read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    source: str = ""
    reads: Literal["records", "texts", "xml"] = "records"
    known_by: Fields = ()
    beside: Fields = ()
    part: str = ""
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

    def part_in(self, file: str) -> str:
        """Name the part of the corpus that a file has; else the file is one."""
        part = re.search(self.part or "(.*)", file)
        if part is None:
            return file
        return part.group(1).lower()

    @property
    def fields(self) -> set[str]:
        """Every field that is read, except those beside."""
        names = {*self.known_by, *self.views, *self.text}
        names.update(self.sections.values())
        for name in _SINGLE_FIELDS:
            names.update(getattr(self, name))
        return names - {KEY, PATH} - set(self.beside[1:])


class _Layouts(RootModel[dict[str, Layout]]):
    """The entries by name, in the order in which they are tried."""


@cache
def layouts() -> Mapping[str, Layout]:
    """Read the packaged layouts by name."""
    return read_as(resource("layouts.yaml"), _Layouts).root


def layout_with(
    text: str, study: str, views: str = "view", *, known_by: tuple[str, ...]
) -> Layout:
    """Make the layout of a file whose fields a user names.

    Args:
        text: the field of the texts, by folded name as all of them.
        study: the field of the ids.
        views: the field of the views.
        known_by: those of them that have to be there.
    """
    names = {"study": (study,), "views": (views,), "text": (text,)}
    title = {"title": "a file of named columns", "known_by": known_by}
    return layouts()[REPORTS].model_copy(update=names | title)


def layout_of(names: Collection[str]) -> Layout | None:
    """Find the first layout all of whose fields are there."""
    for layout in layouts().values():
        if layout.known_by and set(layout.known_by).issubset(names):
            return layout
    return None


def report_of(record: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """Read a raw report in the fields of a record, by their folded names.

    Args:
        record: the fields; a field may have fields or lists of its own.
        layout: of the record.

    Returns:
        `raw.COLUMNS`.
    """
    report: dict[str, Any] = dict.fromkeys(COLUMNS, "")
    for name in _SINGLE_FIELDS:
        report[name] = _first(record, getattr(layout, name))
    report["views"] = _joined_views(_texts(record, layout.views))
    if layout.ids:
        ids = re.search(layout.ids, report["study"])
        report["study"] = ""
        if ids:
            report["study"] = ids["study"]
            report["patient"] = ids["patient"] or report["patient"]
    if not report["study"]:
        report["broken"] = f"{NO_STUDY}: {layout.study[0]}"
    # A file of one report is its text.
    if layout.reads != "texts":
        text, report["noted"] = _report_text(record, layout)
        report["content"] = as_bytes(text)
    return report


def _report_text(record: Mapping[str, Any], layout: Layout) -> tuple[str, str]:
    """Put sections under their headings, or else take the whole text.

    Returns:
        The text, and a note where a sentence is missing.
    """
    paragraphs = []
    noted = ""
    for heading, path in layout.sections.items():
        sentences = _texts(record, [path], layout.nothing)
        # Each of a list is a sentence of its own, also without its full stop.
        if "." in path:
            if not all(sentences):
                noted = f"sentence-missing: {path}"
            sentences = [
                re.sub(r"(?<![.!?])$", ".", sentence)
                for sentence in sentences
                if sentence
            ]
        text = "\n".join(sentences).strip()
        if text:
            paragraphs.append(f"{heading.upper()}: {text}")
    texts = filter(None, _texts(record, layout.text, layout.nothing))
    return "\n\n".join(paragraphs) or next(texts, ""), noted


def _texts(
    record: Mapping[str, Any], paths: Iterable[str], nothing: str = ""
) -> list[str]:
    """Read the texts at some paths such as `findings.sentence_en`, of whole lists.

    Args:
        record: of a file.
        paths: each of them is read.
        nothing: a word that stands for an empty value.
    """
    texts = []
    for path in paths:
        name, *names = path.split(".")
        for value in _values(record.get(name), names):
            text = ""
            if isinstance(value, str) and clean(value) != nothing:
                text = clean(value)
            texts.append(text)
    return texts


def _values(value: Any, path: list[str]) -> Iterator[Any]:
    """Follow a path into a value; of a list into each of its items."""
    if isinstance(value, list):
        for item in value:
            yield from _values(item, path)
    elif not path:
        yield value
    elif isinstance(value, Mapping):
        yield from _values(value.get(path[0]), path[1:])
    else:
        yield None


def _first(record: Mapping[str, Any], names: Iterable[str]) -> str:
    """Read the first of these fields that is not empty, and can be stored."""
    text = next(filter(None, _texts(record, names)), "")
    # A spreadsheet leaves `.0` behind a number.
    number = text.removesuffix(".0")
    if number.isdecimal():
        return number
    return storable(text)


def _joined_views(words: Iterable[str]) -> str:
    """Sort words for views; "frontal" says nothing beside AP or PA."""
    views = set()
    for word in words:
        views.add(" ".join(storable(word).lower().replace("_", " ").split()))
    views -= _NO_VIEW
    if views & {"ap", "pa"}:
        views.discard("frontal")
    return ", ".join(sorted(views))


def reports_of_images(reports: pd.DataFrame) -> pd.DataFrame:
    """Make one report of the records of a study's images, with all their views.

    Broken records come last. Images with another text are another report of the study.
    """
    is_good = reports["broken"] == ""
    report = ["study", "content"]
    views = reports[is_good].groupby(report)["views"].transform(", ".join)
    united = [_joined_views(words.split(", ")) for words in views]
    good = reports[is_good].assign(views=united).drop_duplicates(report)
    return pd.concat([good, reports[~is_good]])


def as_bytes(text: str) -> bytes:
    """Return the delivered bytes of a text; half a character of JSON becomes `?`."""
    return text.encode("utf-8", "replace")
