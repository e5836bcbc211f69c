"""Layouts of raw reports as data (`resources/layouts.yaml`).

An entry says by which fields a known file is recognised, which of them are study,
patient, views, date and text, and how sections are put together. Here the entries are
loaded and applied to one record of a file; the records are read in `sources.py`, and
the head of the YAML file explains every key.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, RootModel

from lunguage_assets.corpus.columns import clean, is_plainly_study
from lunguage_assets.corpus.records import storable
from lunguage_assets.corpus.texts.raw import RawReport, under_headings
from lunguage_assets.packaged_data import read_as, resource

KEY = "key of the entry"
"""The field for an entry's key in a JSON object, and for the name of a file."""
PATH = "path of the file"
"""The field for the path of a file of one report, folder first."""
REPORTS = "reports"
"""The layout of files that a user makes."""
NO_STUDY = "study-id-missing"
"""Why a record without an id is broken."""
_SINGLE_FIELDS = ("patient", "taken_at", "procedure", "sequence")
"""Keys of a layout that name where a report has one value."""
_NO_VIEW = {"", "none", "nan", "n/a", "unknown", "other"}
_SENTENCE_ENDS = (".", "!", "?")


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

    @property
    def fields(self) -> set[str]:
        """Every field that is read, except those beside."""
        names = {*self.known_by, *self.study, *self.views, *self.text}
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


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One record of a delivered file, before a layout says what its fields mean.

    Args:
        file: as in `RawReport`.
        line: as in `RawReport`.
        fields: cleaned texts, or what else JSON has, by folded name.
        content: the bytes of a file of one report, or of a broken record.
        broken: as in `RawReport`.
    """

    file: str
    line: int
    fields: Mapping[str, Any]
    content: bytes = field(default=b"", repr=False)
    broken: str = ""


def report_of(record: SourceRecord, layout: Layout) -> RawReport:
    """Read a record by its layout; what cannot be stored in a table is escaped."""
    fields = record.fields
    study = _first(fields, layout.study, layout)
    patient = _first(fields, layout.patient, layout)
    if layout.ids:
        ids = re.search(layout.ids, study)
        study = ids["study"] if ids else ""
        patient = (ids["patient"] if ids else "") or patient
    if record.broken:
        # Its cells may have moved: what stands there may be the id of nobody.
        study = study if is_plainly_study(study) else ""
        return RawReport(
            record.file,
            record.line,
            study,
            content=record.content,
            broken=record.broken,
        )
    content = record.content
    noted = ""
    # A file of one report is its text.
    if layout.reads != "texts":
        text, noted = _text_of(fields, layout)
        content = as_bytes(text)
    return RawReport(
        record.file,
        record.line,
        study,
        patient,
        taken_at=_first(fields, layout.taken_at, layout),
        views=_views(fields, layout.views),
        procedure=_first(fields, layout.procedure, layout),
        content=content,
        broken="" if study else f"{NO_STUDY}: {layout.study[0]}",
        sequence=_first(fields, layout.sequence, layout),
        noted=noted,
    )


def _text_of(fields: Mapping[str, Any], layout: Layout) -> tuple[str, str]:
    """Put sections under their headings, or else take the whole text.

    Returns:
        The text, and a note where a sentence is missing.
    """
    sections = {}
    noted = ""
    for heading, path in layout.sections.items():
        if "." not in path:
            sections[heading] = _text(fields.get(path), layout)
            continue
        sentences = [_text(value, layout) for value in values_at(fields, path)]
        if not all(sentences):
            noted = f"sentence-missing: {path}"
        # Each is a sentence of its own, also where its full stop is missing.
        sections[heading] = "\n".join(
            text if text.endswith(_SENTENCE_ENDS) else f"{text}."
            for text in filter(None, sentences)
        )
    text = under_headings(sections)
    for name in layout.text:
        text = text or _text(fields.get(name), layout)
    return text, noted


def values_at(fields: Mapping[str, Any], path: str) -> list[Any]:
    """Read what is at a path such as `findings.sentence_en`, in every item of lists."""
    # Nearly all values are cells of a table.
    if isinstance(cell := fields.get(path), str):
        return [cell]
    values: list[Any] = [fields]
    for name in path.split("."):
        children: list[Any] = []
        for value in values:
            child = value.get(name) if isinstance(value, Mapping) else None
            children += child if isinstance(child, list) else [child]
        values = children
    return [clean(value) if isinstance(value, str) else value for value in values]


def _first(fields: Mapping[str, Any], names: Iterable[str], layout: Layout) -> str:
    """Read the first of these fields that is not empty, and can be stored."""
    for name in names:
        for value in values_at(fields, name):
            if text := _text(value, layout):
                # A spreadsheet leaves `.0` behind a number.
                number = text.removesuffix(".0")
                return number if number.isdecimal() else _storable(text)
    return ""


def _text(value: object, layout: Layout) -> str:
    """Read a text; empty for what is none, or stands for nothing in the layout."""
    if not isinstance(value, str):
        return ""
    return "" if layout.nothing and value == layout.nothing else value


def _storable(text: str) -> str:
    # Nearly all values are plain, which is looked at much faster.
    is_plain = text.isascii() and "\0" not in text
    return text if is_plain else storable(text)


def _views(fields: Mapping[str, Any], names: Iterable[str]) -> str:
    """Read the words for views in these fields, of all images in a list."""
    words = set()
    for name in names:
        for value in values_at(fields, name):
            if value and isinstance(value, str):
                text = _storable(value).lower().replace("_", " ")
                words.add(" ".join(text.split()))
    return _joined_views(words)


def _joined_views(words: set[str]) -> str:
    """Join words for views; "frontal" says nothing beside AP or PA."""
    views = words - _NO_VIEW
    if views & {"ap", "pa"}:
        views.discard("frontal")
    return ", ".join(sorted(views))


def reports_of_images(reports: Iterable[RawReport]) -> Iterator[RawReport]:
    """Make one report of the records of a study's images, with all their views.

    Broken records, and those whose text is not that of the first image, come last: they
    are rejected.
    """
    report_by_study: dict[str, RawReport] = {}
    deviating: list[RawReport] = []
    for report in reports:
        if report.broken:
            deviating.append(report)
            continue
        first = report_by_study.setdefault(report.study, report)
        if report.content != first.content:
            deviating.append(report)
        elif report.views != first.views:
            views = {*first.views.split(", "), *report.views.split(", ")}
            report_by_study[report.study] = replace(first, views=_joined_views(views))
    yield from report_by_study.values()
    yield from deviating


def as_bytes(text: str) -> bytes:
    """Return the delivered bytes of a text; half a character of JSON becomes `?`."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")
