"""Raw reports in tables, in the files of the Open-i collection, and in text files, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from lunguage_assets.corpus.columns import is_plainly_study
from lunguage_assets.corpus.records import Record, read_cells, shown
from lunguage_assets.corpus.texts.members import TEXT_FORM, XML_FORM, contents, names_in
from lunguage_assets.corpus.texts.raw import RawReport

REQUIRED, OPTIONAL = ("study_id", "report"), ("subject_id", "view", "study_date")
"""Columns of a table of reports."""
OPENI_REQUIRED, OPENI_OPTIONAL = ("uid", "findings", "impression"), ("image", "indication", "comparison")
"""Columns of the Open-i table on the web."""
PROJECTIONS = ("uid", "projection")
_PARTS = ("indication", "comparison", "findings", "impression")
_UNREADABLE = "unreadable-file"
_PATIENT = re.compile(r"p\d{8,18}", re.IGNORECASE | re.ASCII)


def read_table(path: Path) -> Iterator[RawReport]:
    """`study_id, report`, and if there `subject_id`, `view`, `study_date`, in CSV or Parquet.

    Raises:
        InputError: the file is empty, no table, or has not both columns.
    """
    for record, cell in read_cells(path, REQUIRED, OPTIONAL, keep_bytes=True)[1]:
        study = _stored(cell["study_id"])
        if record.broken:
            yield _broken(path, record, study if is_plainly_study(study) else "")
            continue
        patient, date, view = (_stored(cell[name]) for name in ("subject_id", "study_date", "view"))
        yield RawReport(
            path.name, record.number, study, patient, date, view, content=_as_bytes(cell["report"])
        )


def read_openi_table(path: Path, projections: Path | None) -> Iterator[RawReport]:
    """The Open-i table (uid, image, indication, comparison, findings, impression) and its views; the parts of
    a report are put together again under their headings.

    Raises:
        InputError: a file is empty, no table, or lacks a column.
    """
    views: dict[str, set[str]] = {}
    images = read_cells(projections, PROJECTIONS, keep_bytes=True)[1] if projections is not None else ()
    for record, cell in images:
        if not record.broken:
            views.setdefault(_uid(cell["uid"]), set()).add(_stored(cell["projection"]).lower())
    for record, cell in read_cells(path, OPENI_REQUIRED, OPENI_OPTIONAL, keep_bytes=True)[1]:
        if record.broken:
            yield _broken(path, record, "")
            continue
        uid = _uid(cell["uid"])
        yield RawReport(
            path.name,
            record.number,
            uid,
            views=", ".join(sorted(views.get(uid, ()))),
            procedure=_stored(cell["image"]),
            content=_as_bytes(_under_headings(cell)),
        )


def read_openi_xml(place: Path) -> Iterator[RawReport]:
    """Every XML file of a folder or a `.zip`; one with entities of its own is not read.

    Raises:
        InputError: the package is damaged.
    """
    for own, content in contents(place, names_in(place, XML_FORM)):
        name = _stored(own)
        stem = XML_FORM.sub("", PurePosixPath(name).name)
        try:
            if content is None or b"<!ENTITY" in content:
                raise ValueError
            citation = ElementTree.fromstring(content)
        except (ElementTree.ParseError, LookupError, ValueError):
            yield RawReport(name, 1, stem, content=content or b"", broken=_UNREADABLE)
            continue
        parts: dict[str, str] = {}
        for part in citation.iter("AbstractText"):
            label = part.get("Label", "").lower()
            parts[label] = " ".join((parts.get(label, "") + "".join(part.itertext())).split())
        uid = next((one.get("id", "") for one in citation.iter("uId")), "") or stem
        title = " ".join("".join(one.text or "" for one in citation.iter("ArticleTitle")).split())
        broken = "" if parts else _UNREADABLE
        text = _under_headings(parts).encode() if parts else content
        yield RawReport(name, 1, uid, procedure=title, content=text, broken=broken)


def read_text_files(place: Path) -> Iterator[RawReport]:
    """Every text file of a folder or a `.zip`, or the one that the place is.

    The study is the file's name; the patient is the folder's where that is MIMIC-CXR's form of one.

    Raises:
        InputError: the package is damaged.
    """
    alone = place.is_file() and TEXT_FORM.search(place.name) is not None
    names = [place.name] if alone else names_in(place, TEXT_FORM)
    place = place.parent if alone else place
    for name, content in contents(place, names):
        inside = PurePosixPath(_stored(name))
        folder = inside.parent.name or place.name
        yield RawReport(
            str(inside),
            1,
            TEXT_FORM.sub("", inside.name),
            folder if _PATIENT.fullmatch(folder) else "",
            content=content or b"",
            broken=_UNREADABLE if content is None else "",
        )


def _broken(path: Path, record: Record, study: str) -> RawReport:
    return RawReport(path.name, record.number, study, content=_as_bytes(record.raw), broken=record.broken)


def _stored(cell: str) -> str:
    """A cell that can be stored, whatever its bytes."""
    return cell if cell.isascii() and "\0" not in cell else shown(cell)


def _as_bytes(text: str) -> bytes:
    """The bytes that were delivered."""
    return text.encode("utf-8", "surrogateescape")


def _uid(written: str) -> str:
    """A number that went through a spreadsheet is still the number."""
    return _stored(written).removesuffix(".0")


def _under_headings(parts: Mapping[str, str]) -> str:
    """The report under its headings; a part without words has none."""
    found = ((name.upper(), parts.get(name, "").strip()) for name in _PARTS)
    return "\n\n".join(f"{heading}: {text}" for heading, text in found if text)
