"""Raw reports in tables, in the files of the Open-i collection, in text files, and in the one file in which a
home stores them, one record after the other; files of one report each lie in a folder's tree or in a `.zip`
and come in the order of their names.

Hidden files, and those that data sets carry beside their reports (a licence, checksums), are no reports.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq

from lunguage_assets.corpus.columns import folded_name, is_plainly_study
from lunguage_assets.corpus.packages import DAMAGES, names_in_package, open_member
from lunguage_assets.corpus.records import (
    ENCODING,
    Record,
    read_cells,
    require_size,
    shown,
)
from lunguage_assets.corpus.texts import published
from lunguage_assets.corpus.texts.raw import LARGEST, RawReport, under_headings
from lunguage_assets.errors import damaged

REQUIRED, OPTIONAL = ("study_id", "report"), ("subject_id", "view", "study_date")
"""Columns of a table of reports."""
OPENI_REQUIRED, OPENI_OPTIONAL = (
    ("uid", "findings", "impression"),
    ("image", "indication", "comparison"),
)
"""Columns of the Open-i table on the web."""
PROJECTIONS = ("uid", "projection")
TEXT_FORM = re.compile(r"\.txt(?:\.gz)?$", re.IGNORECASE)
XML_FORM = re.compile(r"\.xml(?:\.gz)?$", re.IGNORECASE)
_PARTS = ("indication", "comparison", "findings", "impression")
_UNREADABLE = "unreadable-file"
_TOGETHER = 1000
"""Stored reports in one row group: what is held at a time."""
_TYPES: Mapping[str, pa.DataType] = {"line": pa.int64(), "content": pa.binary()}
_STORED = pa.schema(
    [(own.name, _TYPES.get(own.name, pa.string())) for own in fields(RawReport)]
)
_SHORT = ("file", "study", "patient", "taken_at", "views", "procedure", "sequence")
"""Fields of a record that are text, and go into cells of their own."""
_ADDED = ("graph", "second_graph", "sequence", "noted")
"""Fields that records did not always have, in the order in which they were added. An empty one changes no
digest: a delivery without it is the same as before.
"""
_HALF = re.compile("[\ud800-\udfff]")
_NOT_STORED = re.compile("[\0\ud800-\udfff]")
_PATIENT = re.compile(r"p\d{8,18}", re.IGNORECASE | re.ASCII)
_NO_REPORT = re.compile(
    r"(?:^|/)(?:[~_]|\.(?!\.?/))|(?:^|/)(?:licen[cs]e|readme|sha256sums|md5sums|checksums|changes|changelog|"
    r"index|records|notes)\.(?:txt|xml)(?:\.gz)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class TextSource:
    """Raw reports of one layout, a key of `_READERS` or `published.SHAPES`.

    `place` is a table, a package (`.zip`), one text file, or the folder under which the files of one report
    each lie; `beside` has the views of an Open-i table, or the patients of PadChest-GR. `more` are further
    files of the same layout; `columns` of a table are those of ids and texts.
    """

    layout: str
    place: Path
    beside: Path | None = None
    more: tuple[Path, ...] = ()
    columns: tuple[str, str] = REQUIRED


def raw_reports(source: TextSource) -> Iterator[RawReport]:
    """The records of a source in the order of reading, all of which can be stored; raises as its reader."""
    return map(_storable, _delivered(source))


def _storable(report: RawReport) -> RawReport:
    """The record without NULs and halves of characters, as JSON may have them, which become escapes: nobody
    understands such a date or view. An id with half a character is nobody's: its record is broken.
    """
    written: dict[str, str] = {name: getattr(report, name) for name in _SHORT}
    changes: dict[str, Any] = {
        name: shown(text) for name, text in written.items() if _NOT_STORED.search(text)
    }
    if not changes:
        return report
    broken = report.broken
    for name, column in (("study", "study_id"), ("patient", "subject_id")):
        if not broken and _HALF.search(written[name]):
            broken = f"{ENCODING}: {column}"
    return replace(report, **changes, broken=broken)


def _delivered(source: TextSource) -> Iterator[RawReport]:
    for place in (source.place, *source.more):
        if source.layout == "open-i table":
            yield from read_openi_table(place, source.beside)
        elif source.layout == "table":
            yield from read_table(place, source.columns)
        elif source.layout in published.SHAPES:
            yield from published.read_shape(source.layout, place, source.beside)
        else:
            yield from _READERS[source.layout](place)


def write_packed(reports: Sequence[RawReport], place: Path) -> None:
    """Store records in one file; what is read from it is what was read where they came from."""
    columns = {
        name: [getattr(report, name) for report in reports] for name in _STORED.names
    }
    pq.write_table(
        pa.table(columns, _STORED), place, compression="zstd", row_group_size=_TOGETHER
    )


def reports_digest(reports: Iterable[RawReport]) -> str:
    """sha256 over the records: the same however they are packed."""
    digest = hashlib.sha256()
    for report in reports:
        for name in _STORED.names:
            value = (
                getattr(report, name)
                if name != "file"
                else report.file.removesuffix(".gz")
            )
            if name in _ADDED and not value:
                continue
            if name in _ADDED[1:]:  # or two of them could take each other's place
                digest.update(f"{name}\0".encode())
            written = value if isinstance(value, bytes) else str(value).encode()
            digest.update(f"{len(written)}\0".encode())
            digest.update(written)
    return digest.hexdigest()


def _read_packed(path: Path) -> Iterator[RawReport]:
    try:
        file = pq.ParquetFile(path)
        names = file.schema_arrow.names
        # a home of an earlier version lacks the last fields
        if names != _STORED.names[: len(names)] or len(names) < len(
            _STORED.names
        ) - len(_ADDED):
            raise pa.ArrowInvalid("other columns")
        for batch in file.iter_batches(_TOGETHER):
            for values in zip(
                *(column.to_pylist() for column in batch.columns), strict=True
            ):
                yield RawReport(*values)
    except (pa.ArrowInvalid, OSError) as error:
        remedy = "Register the delivery again, or restore the file."
        raise damaged(
            path.name,
            "damaged data",
            error,
            "raw reports as a home stores them",
            remedy,
        ) from None


def read_table(path: Path, columns: tuple[str, str] = REQUIRED) -> Iterator[RawReport]:
    """`study_id, report`, and if there `subject_id`, `view`, `study_date`, in CSV or Parquet."""
    own, text = map(folded_name, columns)
    for record, cell in read_cells(path, (own, text), OPTIONAL, keep_bytes=True)[1]:
        study = _stored(cell[own])
        if record.broken:
            yield _broken(path, record, study if is_plainly_study(study) else "")
            continue
        patient, date, view = (
            _stored(cell[name]) for name in ("subject_id", "study_date", "view")
        )
        content = _as_bytes(cell[text])
        yield RawReport(
            path.name, record.number, study, patient, date, view, content=content
        )


def read_openi_table(path: Path, projections: Path | None) -> Iterator[RawReport]:
    """The Open-i table (uid, image, indication, comparison, findings, impression) and its views; the parts of
    a report are put together again under their headings.
    """
    views: dict[str, set[str]] = {}
    images = (
        read_cells(projections, PROJECTIONS, keep_bytes=True)[1]
        if projections is not None
        else ()
    )
    for record, cell in images:
        if not record.broken:
            views.setdefault(_uid(cell["uid"]), set()).add(
                _stored(cell["projection"]).lower()
            )
    for record, cell in read_cells(
        path, OPENI_REQUIRED, OPENI_OPTIONAL, keep_bytes=True
    )[1]:
        if record.broken:
            yield _broken(path, record, "")
            continue
        uid = _uid(cell["uid"])
        named = {
            "views": ", ".join(sorted(views.get(uid, ()))),
            "procedure": _stored(cell["image"]),
        }
        yield RawReport(
            path.name, record.number, uid, **named, content=_as_bytes(_report(cell))
        )


def read_openi_xml(place: Path) -> Iterator[RawReport]:
    """Every XML file of a folder or a `.zip`; one with entities of its own is not read."""
    for own, content in _contents(place, sorted(names_in(place, XML_FORM))):
        name = _stored(own)
        stem = XML_FORM.sub("", PurePosixPath(name).name)
        try:
            if content is None or b"<!ENTITY" in content.replace(
                b"\0", b""
            ):  # also in UTF-16
                raise ValueError
            citation = ElementTree.fromstring(content)
        except (ElementTree.ParseError, LookupError, ValueError):
            yield RawReport(name, 1, stem, content=content or b"", broken=_UNREADABLE)
            continue
        parts: dict[str, str] = {}
        for part in citation.iter("AbstractText"):
            label = part.get("Label", "").lower()
            parts[label] = " ".join(
                (parts.get(label, "") + "".join(part.itertext())).split()
            )
        uid = next((one.get("id", "") for one in citation.iter("uId")), "") or stem
        title = " ".join(
            "".join(one.text or "" for one in citation.iter("ArticleTitle")).split()
        )
        text = _report(parts).encode() if parts else content
        yield RawReport(
            name,
            1,
            uid,
            procedure=title,
            content=text,
            broken="" if parts else _UNREADABLE,
        )


def read_text_files(place: Path) -> Iterator[RawReport]:
    """Every text file of a folder or a `.zip`, or the one that the place is; the study is the file's name,
    the patient the folder's where that is MIMIC-CXR's form of one.
    """
    alone = place.is_file() and TEXT_FORM.search(place.name) is not None
    names = [place.name] if alone else sorted(names_in(place, TEXT_FORM))
    place = place.parent if alone else place
    for name, content in _contents(place, names):
        inside = PurePosixPath(_stored(name))
        folder = inside.parent.name or place.name
        patient = folder if _PATIENT.fullmatch(folder) else ""
        broken = _UNREADABLE if content is None else ""
        study = TEXT_FORM.sub("", inside.name)
        yield RawReport(
            str(inside), 1, study, patient, content=content or b"", broken=broken
        )


def _broken(path: Path, record: Record, study: str) -> RawReport:
    return RawReport(
        path.name,
        record.number,
        study,
        content=_as_bytes(record.raw),
        broken=record.broken,
    )


def _stored(cell: str) -> str:
    """A cell that can be stored, whatever its bytes."""
    return cell if cell.isascii() and "\0" not in cell else shown(cell)


def _as_bytes(text: str) -> bytes:
    """The bytes that were delivered."""
    return text.encode("utf-8", "surrogateescape")


def _uid(written: str) -> str:
    """A number that went through a spreadsheet is still the number."""
    return _stored(written).removesuffix(".0")


def _report(parts: Mapping[str, str]) -> str:
    return under_headings({name: parts.get(name, "") for name in _PARTS})


def names_in(place: Path, form: re.Pattern[str]) -> Iterator[str]:
    """Names of all reports of a form in a folder or a `.zip`, relative to it."""
    for name in names_in_package(place) if place.is_file() else _in_tree(place):
        if form.search(name) and not _NO_REPORT.search(name):
            yield name


def _in_tree(folder: Path) -> Iterator[str]:
    """All files; links to folders are followed, each folder is looked into once."""
    seen = set[tuple[int, int]]()
    for place, folders, files in os.walk(folder, followlinks=True):
        with suppress(OSError):  # removed meanwhile
            status = Path(place).stat()
            if (status.st_dev, status.st_ino) in seen:
                folders.clear()
                continue
            seen.add((status.st_dev, status.st_ino))
        folders.sort()
        inside = PurePosixPath(Path(place).relative_to(folder).as_posix())
        yield from (str(inside / name) for name in files)


def _contents(place: Path, names: list[str]) -> Iterator[tuple[str, bytes | None]]:
    """Each file's name and its unpacked bytes, a little more than `LARGEST` at most; None: it is damaged."""
    unpacked = 0
    with zipfile.ZipFile(place) if place.is_file() else nullcontext() as package:
        for name in names:
            is_packed = name.lower().endswith(".gz")
            content = None
            with suppress(*DAMAGES), _opened(name, package or place) as stream:
                content = (gzip.GzipFile(fileobj=stream) if is_packed else stream).read(
                    LARGEST + 1
                )
            if content is not None and (package is not None or is_packed):
                unpacked += len(content)
                require_size(place.name, unpacked)
            yield name, content


def _opened(name: str, place: Path | zipfile.ZipFile) -> IO[bytes]:
    """A regular file of a folder, or a member of a package."""
    if isinstance(place, Path):
        descriptor = os.open(
            place / name, os.O_RDONLY | os.O_NONBLOCK
        )  # a FIFO is opened without waiting
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError("no file")
        return os.fdopen(descriptor, "rb")
    return open_member(place, name)


_READERS: Mapping[str, Callable[[Path], Iterator[RawReport]]] = {
    "packed": _read_packed,
    "chexpert-plus": published.read_chexpert_plus,
    "rexgradient table": published.read_rexgradient_table,
    "open-i XML": read_openi_xml,
    "text files": read_text_files,
}
