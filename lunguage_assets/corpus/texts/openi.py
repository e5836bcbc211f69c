"""The Open-i chest X-ray collection of Indiana University: as tables on the web, and as its own XML files.

Its reports come in parts; they are put together again under the headings that the parts have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from xml.parsers import expat

from lunguage_assets.corpus.texts.members import UNREADABLE, XML_FORM, contents, names_in
from lunguage_assets.corpus.texts.raw import RawReport
from lunguage_assets.corpus.texts.tables import as_bytes, cells, opened, stored

PARTS = ("indication", "comparison", "findings", "impression")
REPORT_COLUMNS = frozenset({"uid", "findings", "impression"})
PROJECTION_COLUMNS = frozenset({"uid", "projection"})


def read_openi_table(path: Path, projections: Path | None) -> Iterator[RawReport]:
    """The table of reports (uid, image, indication, comparison, findings, impression) and the views.

    Raises:
        InputError: a file is empty, no table, or lacks a column.
    """
    views = {} if projections is None else _projections(projections)
    at, records = opened(path, ("uid", "findings", "impression"), ("image", "indication", "comparison"))
    for record in records:
        cell = cells(record, at)
        uid = _uid(cell["uid"])
        if record.broken:
            yield RawReport(path.name, record.number, "", content=as_bytes(record.raw), broken=record.broken)
            continue
        yield RawReport(
            path.name,
            record.number,
            uid,
            views=", ".join(sorted(views.get(uid, ()))),
            procedure=stored(cell["image"]),
            content=as_bytes(_written(cell)),
        )


def read_openi_xml(place: Path) -> Iterator[RawReport]:
    """Every XML file of a folder or a `.zip`; entities are never resolved.

    Raises:
        InputError: the package is damaged.
    """
    for own, content in contents(place, names_in(place, XML_FORM)):
        name = stored(own)
        stem = XML_FORM.sub("", PurePosixPath(name).name)
        citation = None if content is None else _citation(content)
        if citation is None:
            yield RawReport(name, 1, stem, content=content or b"", broken=UNREADABLE)
            continue
        text = _written({label.lower(): " ".join(said.split()) for label, said in citation.parts.items()})
        procedure = " ".join(citation.title.split())
        yield RawReport(name, 1, citation.uid or stem, procedure=procedure, content=text.encode())


def _projections(path: Path) -> dict[str, set[str]]:
    at, records = opened(path, ("uid", "projection"), ())
    views: dict[str, set[str]] = {}
    for record in records:
        if not record.broken:
            cell = cells(record, at)
            views.setdefault(_uid(cell["uid"]), set()).add(stored(cell["projection"]).lower())
    return views


def _uid(written: str) -> str:
    """A number that went through a spreadsheet is still the number."""
    return stored(written).removesuffix(".0")


def _written(parts: Mapping[str, str]) -> str:
    """The report under its headings; a part without words has none."""
    said = ((name.upper(), parts.get(name, "").strip()) for name in PARTS)
    return "\n\n".join(f"{heading}: {text}" for heading, text in said if text)


class _Citation:
    """What an eCitation says of a report."""

    def __init__(self) -> None:
        self.uid = self.title = ""
        self.parts: dict[str, str] = {}
        self._within: list[tuple[str, str]] = []

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        self._within.append((name, attributes.get("Label", "")))
        if name == "uId":
            self.uid = attributes.get("id", "")

    def end(self, name: str) -> None:
        self._within.pop()

    def text(self, said: str) -> None:
        name, label = self._within[-1]
        if name == "AbstractText":
            self.parts[label] = self.parts.get(label, "") + said
        elif name == "ArticleTitle":
            self.title += said


class _Entities(Exception):
    """A file that declares entities is not of the collection, and may be an attack."""


def _refuse(*_: object) -> None:
    raise _Entities


def _citation(content: bytes) -> _Citation | None:
    citation = _Citation()
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = citation.begin, citation.end
    parser.CharacterDataHandler = citation.text
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, _Entities, LookupError, ValueError):
        return None
    return citation if citation.parts else None
