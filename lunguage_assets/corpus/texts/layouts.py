"""Raw reports in every layout but the published JSON shapes (`published.py`).

Tables, the files of the Open-i collection, text files, and the one file in which a home
stores them are read one record after the other. Files of one report each lie in a
folder's tree or in a `.zip` and come in the order of their names. Hidden files, and
those that data sets carry beside their reports (a licence, checksums), are no reports.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import stat
import zipfile
from collections import defaultdict
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
    storable,
)
from lunguage_assets.corpus.texts import published
from lunguage_assets.corpus.texts.raw import LARGEST, RawReport, under_headings
from lunguage_assets.errors import damaged

REQUIRED = ("study_id", "report")
"""Columns of a table of reports."""
OPTIONAL = ("subject_id", "view", "study_date")
OPENI_REQUIRED = ("uid", "findings", "impression")
"""Columns of the Open-i table on the web."""
OPENI_OPTIONAL = ("image", "indication", "comparison")
PROJECTIONS = ("uid", "projection")
TEXT_FORM = re.compile(r"\.txt(?:\.gz)?$", re.IGNORECASE)
XML_FORM = re.compile(r"\.xml(?:\.gz)?$", re.IGNORECASE)
_OPENI_SECTIONS = ("indication", "comparison", "findings", "impression")
_UNREADABLE = "unreadable-file"
_ROWS_AT_ONCE = 1000
"""Stored reports in one row group: what is held at a time."""
_TYPES: Mapping[str, pa.DataType] = {"line": pa.int64(), "content": pa.binary()}
_STORED = pa.schema(
    [(item.name, _TYPES.get(item.name, pa.string())) for item in fields(RawReport)]
)
_TEXT_FIELDS = (
    "file", "study", "patient", "taken_at", "views", "procedure", "sequence"
)  # fmt: skip
"""Fields of a record that go into cells of their own."""
_ADDED_FIELDS = ("graph", "second_graph", "sequence", "noted")
"""Fields that records did not always have, in the order in which they were added.

An empty one changes no digest: a delivery without it is the same as before.
"""
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_NOT_STORED = re.compile("[\0\ud800-\udfff]")
_PATIENT_FOLDER = re.compile(r"p\d{8,18}", re.IGNORECASE | re.ASCII)
_NO_REPORT = re.compile(
    r"(?:^|/)(?:[~_]|\.(?!\.?/))"
    r"|(?:^|/)(?:licen[cs]e|readme|sha256sums|md5sums|checksums|changes|changelog|"
    r"index|records|notes)\.(?:txt|xml)(?:\.gz)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class TextSource:
    """Raw reports of one layout, a key of `_READERS` or `published.SHAPES`.

    `place` is a table, a package (`.zip`), one text file, or the folder under which the
    files of one report each lie; `beside` has the views of an Open-i table, or the
    patients of PadChest-GR. `more` are further files of the same layout; `columns` of a
    table are those of ids and texts.
    """

    layout: str
    place: Path
    beside: Path | None = None
    more: tuple[Path, ...] = ()
    columns: tuple[str, str] = REQUIRED


def raw_reports(source: TextSource) -> Iterator[RawReport]:
    """Read the records of a source, all of which can be stored.

    Raises:
        InputError: as the reader of its layout does.
    """
    return map(_storable, _delivered(source))


def _storable(report: RawReport) -> RawReport:
    """Escape NULs and halves of characters, as JSON may have them.

    Nobody understands such a date or view. An id with half a character is nobody's: its
    record is broken.
    """
    texts: dict[str, str] = {name: getattr(report, name) for name in _TEXT_FIELDS}
    changes: dict[str, Any] = {
        name: storable(text) for name, text in texts.items() if _NOT_STORED.search(text)
    }
    if not changes:
        return report
    broken = report.broken
    if not broken and _HALF_CHARACTER.search(report.study):
        broken = f"{ENCODING}: study_id"
    if not broken and _HALF_CHARACTER.search(report.patient):
        broken = f"{ENCODING}: subject_id"
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
    """Store records in one file; reading it gives the same records."""
    columns = {
        name: [getattr(report, name) for report in reports] for name in _STORED.names
    }
    pq.write_table(
        pa.table(columns, _STORED),
        place,
        compression="zstd",
        row_group_size=_ROWS_AT_ONCE,
    )


def reports_digest(reports: Iterable[RawReport]) -> str:
    """Hash records (sha256): the same however they are packed."""
    digest = hashlib.sha256()
    for report in reports:
        for name in _STORED.names:
            value = getattr(report, name)
            if name == "file":
                value = report.file.removesuffix(".gz")
            if name in _ADDED_FIELDS and not value:
                continue
            # Without their names two of the later fields could stand for each other.
            if name in _ADDED_FIELDS[1:]:
                digest.update(f"{name}\0".encode())
            content = value if isinstance(value, bytes) else str(value).encode()
            digest.update(f"{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def _read_packed(path: Path) -> Iterator[RawReport]:
    try:
        file = pq.ParquetFile(path)
        _require_stored_columns(file.schema_arrow.names)
        for batch in file.iter_batches(_ROWS_AT_ONCE):
            columns = [column.to_pylist() for column in batch.columns]
            for values in zip(*columns, strict=True):
                yield RawReport(*values)
    except (pa.ArrowInvalid, OSError) as error:
        raise damaged(
            path.name,
            "damaged data",
            error,
            "raw reports as a home stores them",
            "Register the delivery again, or restore the file.",
        ) from None


def _require_stored_columns(names: Sequence[str]) -> None:
    """Refuse other columns; a home of an earlier version lacks the last fields."""
    fewest = len(_STORED.names) - len(_ADDED_FIELDS)
    if len(names) < fewest or names != _STORED.names[: len(names)]:
        raise pa.ArrowInvalid("other columns")


def read_table(path: Path, columns: tuple[str, str] = REQUIRED) -> Iterator[RawReport]:
    """Read a CSV or Parquet table of reports.

    Beside ids and texts it may have `subject_id`, `view` and `study_date`.
    """
    id_column, text_column = map(folded_name, columns)
    required = (id_column, text_column)
    _, records = read_cells(path, required, OPTIONAL, keep_bytes=True)
    for record, cells in records:
        study = _stored(cells[id_column])
        if record.broken:
            # In a broken record another column may stand in the place of the id.
            yield _broken(path, record, study if is_plainly_study(study) else "")
            continue
        yield RawReport(
            path.name,
            record.number,
            study,
            patient=_stored(cells["subject_id"]),
            taken_at=_stored(cells["study_date"]),
            views=_stored(cells["view"]),
            content=_delivered_bytes(cells[text_column]),
        )


def read_openi_table(path: Path, projections: Path | None) -> Iterator[RawReport]:
    """Read the Open-i table, whose sections are put together under their headings.

    Args:
        path: uid, image, indication, comparison, findings, impression.
        projections: uid and projection of every image, if there is such a table.
    """
    views_by_uid = {} if projections is None else _views_by_uid(projections)
    _, records = read_cells(path, OPENI_REQUIRED, OPENI_OPTIONAL, keep_bytes=True)
    for record, cells in records:
        if record.broken:
            yield _broken(path, record, "")
            continue
        uid = _uid(cells["uid"])
        yield RawReport(
            path.name,
            record.number,
            uid,
            views=", ".join(sorted(views_by_uid.get(uid, ()))),
            procedure=_stored(cells["image"]),
            content=_delivered_bytes(_openi_report(cells)),
        )


def _views_by_uid(projections: Path) -> Mapping[str, set[str]]:
    views_by_uid: defaultdict[str, set[str]] = defaultdict(set)
    _, records = read_cells(projections, PROJECTIONS, keep_bytes=True)
    for record, cells in records:
        if not record.broken:
            views = views_by_uid[_uid(cells["uid"])]
            views.add(_stored(cells["projection"]).lower())
    return views_by_uid


def read_openi_xml(place: Path) -> Iterator[RawReport]:
    """Read every XML file of a folder or a `.zip`."""
    for delivered_name, content in _contents(place, sorted(names_in(place, XML_FORM))):
        name = _stored(delivered_name)
        stem = XML_FORM.sub("", PurePosixPath(name).name)
        citation = None if content is None else _parsed(content)
        if citation is None:
            yield RawReport(name, 1, stem, content=content or b"", broken=_UNREADABLE)
            continue
        sections = _sections_of(citation)
        uid = next((tag.get("id", "") for tag in citation.iter("uId")), "")
        titles = [tag.text or "" for tag in citation.iter("ArticleTitle")]
        text = _openi_report(sections).encode() if sections else content
        yield RawReport(
            name,
            1,
            uid or stem,
            procedure=" ".join("".join(titles).split()),
            content=text or b"",
            broken="" if sections else _UNREADABLE,
        )


def _parsed(content: bytes) -> ElementTree.Element | None:
    """Parse XML; one with entities of its own is not read, as they may explode."""
    if b"<!ENTITY" in content.replace(b"\0", b""):  # also in UTF-16
        return None
    try:
        return ElementTree.fromstring(content)
    except (ElementTree.ParseError, LookupError, ValueError):
        return None


def _sections_of(citation: ElementTree.Element) -> dict[str, str]:
    sections: dict[str, str] = {}
    for part in citation.iter("AbstractText"):
        label = part.get("Label", "").lower()
        text = sections.get(label, "") + "".join(part.itertext())
        sections[label] = " ".join(text.split())
    return sections


def read_text_files(place: Path) -> Iterator[RawReport]:
    """Read every text file of a folder or a `.zip`, or the one that the place is.

    The study is the file's name, the patient the folder's where that is MIMIC-CXR's
    form of one.
    """
    if place.is_file() and TEXT_FORM.search(place.name):
        names = [place.name]
        place = place.parent
    else:
        names = sorted(names_in(place, TEXT_FORM))
    for name, content in _contents(place, names):
        path = PurePosixPath(_stored(name))
        folder = path.parent.name or place.name
        yield RawReport(
            str(path),
            1,
            TEXT_FORM.sub("", path.name),
            folder if _PATIENT_FOLDER.fullmatch(folder) else "",
            content=content or b"",
            broken=_UNREADABLE if content is None else "",
        )


def _broken(path: Path, record: Record, study: str) -> RawReport:
    content = _delivered_bytes(record.raw)
    return RawReport(
        path.name, record.number, study, content=content, broken=record.broken
    )


def _stored(cell: str) -> str:
    """Make a cell that can be stored, whatever its bytes."""
    return cell if cell.isascii() and "\0" not in cell else storable(cell)


def _delivered_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _uid(written: str) -> str:
    """Read an id; a number that went through a spreadsheet is still the number."""
    return _stored(written).removesuffix(".0")


def _openi_report(sections: Mapping[str, str]) -> str:
    return under_headings({name: sections.get(name, "") for name in _OPENI_SECTIONS})


def names_in(place: Path, form: re.Pattern[str]) -> Iterator[str]:
    """Name all reports of a form in a folder or a `.zip`, relative to it."""
    names = names_in_package(place) if place.is_file() else _names_in_tree(place)
    for name in names:
        if form.search(name) and not _NO_REPORT.search(name):
            yield name


def _names_in_tree(folder: Path) -> Iterator[str]:
    """Name all files; links to folders are followed, each is looked into once."""
    seen: set[tuple[int, int]] = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        with suppress(OSError):  # removed meanwhile
            status = Path(place).stat()
            if (status.st_dev, status.st_ino) in seen:
                folders.clear()
                continue
            seen.add((status.st_dev, status.st_ino))
        folders.sort()
        relative = PurePosixPath(Path(place).relative_to(folder).as_posix())
        yield from (str(relative / name) for name in files)


def _contents(place: Path, names: list[str]) -> Iterator[tuple[str, bytes | None]]:
    """Read each file, unpacked, a little more than `LARGEST` at most.

    Returns:
        The name and the content of each; None for a damaged one.
    """
    unpacked = 0
    with zipfile.ZipFile(place) if place.is_file() else nullcontext() as package:
        for name in names:
            is_gzip = name.lower().endswith(".gz")
            content = None
            with suppress(*DAMAGES), _opened(name, package or place) as stream:
                content = _unpacked(stream, is_gzip=is_gzip)
            if content is not None and (package is not None or is_gzip):
                unpacked += len(content)
                require_size(place.name, unpacked)
            yield name, content


def _unpacked(stream: IO[bytes], *, is_gzip: bool) -> bytes:
    if is_gzip:
        return gzip.GzipFile(fileobj=stream).read(LARGEST + 1)
    return stream.read(LARGEST + 1)


def _opened(name: str, place: Path | zipfile.ZipFile) -> IO[bytes]:
    """Open a regular file of a folder, or a member of a package."""
    if not isinstance(place, Path):
        return open_member(place, name)
    # Without O_NONBLOCK a FIFO would wait for somebody who writes.
    descriptor = os.open(place / name, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("no file")
    return os.fdopen(descriptor, "rb")


_READERS: Mapping[str, Callable[[Path], Iterator[RawReport]]] = {
    "packed": _read_packed,
    "chexpert-plus": published.read_chexpert_plus,
    "rexgradient table": published.read_rexgradient_table,
    "open-i XML": read_openi_xml,
    "text files": read_text_files,
}
