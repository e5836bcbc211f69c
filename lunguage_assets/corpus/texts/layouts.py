"""Reads raw reports in every layout but the published corpora's (`published.py`).

These are tables, the files of the Open-i collection, text files, and the one file in
which a home stores them (docs/reports.md). Files of one report each lie in a folder's
tree or in a `.zip` and come in the order of their names. Hidden files, and those that
data sets carry beside their reports (a licence, checksums), are no reports.
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
"""Stored reports in one row group, which is what is in memory at a time."""
_TYPES: Mapping[str, pa.DataType] = {"line": pa.int64(), "content": pa.binary()}
_STORED = pa.schema(
    [(field.name, _TYPES.get(field.name, pa.string())) for field in fields(RawReport)]
)
_TEXT_FIELDS = (
    "file", "study", "patient", "taken_at", "views", "procedure", "sequence"
)  # fmt: skip
"""Fields of a record that become cells of the tables."""
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
    """Raw reports of one layout, which `_records` knows by its name.

    `path` is a table, a package (`.zip`), one text file, or the folder under which the
    files of one report each lie; `side_table` has the views of an Open-i table, or the
    patients of PadChest-GR. `further_paths` are files of the same layout; `columns` of
    a table are those of ids and texts.
    """

    layout: str
    path: Path
    side_table: Path | None = None
    further_paths: tuple[Path, ...] = ()
    columns: tuple[str, str] = REQUIRED


def raw_reports(source: TextSource) -> Iterator[RawReport]:
    """Read the records of a source, all of which can be stored.

    Raises:
        InputError: as the reader of its layout does.
    """
    for path in (source.path, *source.further_paths):
        yield from map(_storable, _records(source, path))


def _records(source: TextSource, path: Path) -> Iterator[RawReport]:
    """Read one of a source's files in the layout of the source."""
    layout = source.layout
    if layout == "open-i table":
        return read_openi_table(path, source.side_table)
    if layout == "table":
        return read_table(path, source.columns)
    if layout in published.SHAPES:
        return published.read_shape(layout, path, source.side_table)
    return _READERS[layout](path)


def _storable(report: RawReport) -> RawReport:
    """Escape NULs and halves of characters, as JSON may have them.

    Nobody understands such a date or view. An id with half a character is nobody's: its
    record is broken.
    """
    changes: dict[str, Any] = {}
    for name in _TEXT_FIELDS:
        text = getattr(report, name)
        if _NOT_STORED.search(text):
            changes[name] = storable(text)
    if not changes:
        return report
    broken = report.broken
    if not broken and _HALF_CHARACTER.search(report.study):
        broken = f"{ENCODING}: study_id"
    if not broken and _HALF_CHARACTER.search(report.patient):
        broken = f"{ENCODING}: subject_id"
    return replace(report, **changes, broken=broken)


def write_packed(reports: Sequence[RawReport], path: Path) -> None:
    """Store records in one file; reading it gives the same records."""
    columns = {}
    for name in _STORED.names:
        columns[name] = [getattr(report, name) for report in reports]
    table = pa.table(columns, _STORED)
    pq.write_table(table, path, compression="zstd", row_group_size=_ROWS_AT_ONCE)


def reports_digest(reports: Iterable[RawReport]) -> str:
    """Hash records (sha256): the same however they are packed."""
    digest = hashlib.sha256()
    for report in reports:
        for name in _STORED.names:
            value = getattr(report, name)
            # The same text, packed or not, is the same delivery.
            if name == "file":
                value = report.file.removesuffix(".gz")
            content = value if isinstance(value, bytes) else str(value).encode()
            digest.update(f"{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def _read_packed(path: Path) -> Iterator[RawReport]:
    """Read what `write_packed` wrote."""
    try:
        file = pq.ParquetFile(path)
        if file.schema_arrow.names != _STORED.names:
            raise pa.ArrowInvalid("other columns")
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
            # Its cells may have moved: what stands there may be the id of nobody.
            if not is_plainly_study(study):
                study = ""
            yield _broken(path, record, study)
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
    views_by_uid = _views_by_uid(projections)
    _, records = read_cells(path, OPENI_REQUIRED, OPENI_OPTIONAL, keep_bytes=True)
    for record, cells in records:
        if record.broken:
            yield _broken(path, record, "")
            continue
        uid = _uid(cells["uid"])
        views = sorted(views_by_uid.get(uid, ()))
        yield RawReport(
            path.name,
            record.number,
            uid,
            views=", ".join(views),
            procedure=_stored(cells["image"]),
            content=_delivered_bytes(_openi_report(cells)),
        )


def _views_by_uid(projections: Path | None) -> Mapping[str, set[str]]:
    """Collect the projections of each study's images."""
    views_by_uid: defaultdict[str, set[str]] = defaultdict(set)
    if projections is None:
        return views_by_uid
    _, records = read_cells(projections, PROJECTIONS, keep_bytes=True)
    for record, cells in records:
        if not record.broken:
            views = views_by_uid[_uid(cells["uid"])]
            views.add(_stored(cells["projection"]).lower())
    return views_by_uid


def read_openi_xml(path: Path) -> Iterator[RawReport]:
    """Read every XML file of a folder or a `.zip`."""
    names = sorted(names_in(path, XML_FORM))
    for delivered_name, content in _contents(path, names):
        name = _stored(delivered_name)
        stem = XML_FORM.sub("", PurePosixPath(name).name)
        citation = None if content is None else _parsed(content)
        if citation is None:
            yield RawReport(name, 1, stem, content=content or b"", broken=_UNREADABLE)
            continue
        sections = _sections_of(citation)
        uid = next((tag.get("id", "") for tag in citation.iter("uId")), "")
        titles = [tag.text or "" for tag in citation.iter("ArticleTitle")]
        title = " ".join("".join(titles).split())
        report = RawReport(name, 1, uid or stem, procedure=title)
        if sections:
            text = _openi_report(sections).encode()
            yield replace(report, content=text)
        else:
            yield replace(report, content=content or b"", broken=_UNREADABLE)


def _parsed(content: bytes) -> ElementTree.Element | None:
    """Parse XML; None for what is damaged, or has entities of its own."""
    # An entity of entities of entities may expand to gigabytes. NULs are left out, so
    # that it is recognised in UTF-16, too.
    if b"<!ENTITY" in content.replace(b"\0", b""):
        return None
    try:
        return ElementTree.fromstring(content)
    except (ElementTree.ParseError, LookupError, ValueError):
        return None


def _sections_of(citation: ElementTree.Element) -> dict[str, str]:
    """Collect the texts of a report by their labels."""
    sections: dict[str, str] = {}
    for element in citation.iter("AbstractText"):
        label = element.get("Label", "").lower()
        text = sections.get(label, "") + "".join(element.itertext())
        sections[label] = " ".join(text.split())
    return sections


def read_text_files(path: Path) -> Iterator[RawReport]:
    """Read every text file of a folder or a `.zip`, or the one that the path is.

    The study is named by the file, the patient by the folder where that is called as in
    MIMIC-CXR: `p10/p10000032/s50414267.txt`.
    """
    if path.is_file() and TEXT_FORM.search(path.name):
        names = [path.name]
        path = path.parent
    else:
        names = sorted(names_in(path, TEXT_FORM))
    for name, content in _contents(path, names):
        file = PurePosixPath(_stored(name))
        folder = file.parent.name or path.name
        is_of_patient = _PATIENT_FOLDER.fullmatch(folder) is not None
        yield RawReport(
            str(file),
            1,
            study=TEXT_FORM.sub("", file.name),
            patient=folder if is_of_patient else "",
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
    # Nearly all cells are plain, which is looked at much faster.
    is_plain = cell.isascii() and "\0" not in cell
    return cell if is_plain else storable(cell)


def _delivered_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _uid(cell: str) -> str:
    """Read an id; a number that went through a spreadsheet is still the number."""
    return _stored(cell).removesuffix(".0")


def _openi_report(sections: Mapping[str, str]) -> str:
    return under_headings({name: sections.get(name, "") for name in _OPENI_SECTIONS})


def names_in(path: Path, form: re.Pattern[str]) -> Iterator[str]:
    """Name all reports of a form in a folder or a `.zip`, relative to it."""
    names = names_in_package(path) if path.is_file() else _names_in_tree(path)
    for name in names:
        if form.search(name) and not _NO_REPORT.search(name):
            yield name


def _names_in_tree(folder: Path) -> Iterator[str]:
    """Name all files; links to folders are followed, each is looked into once."""
    seen: set[tuple[int, int]] = set()
    for subfolder, inner_folders, files in os.walk(folder, followlinks=True):
        # It may have been removed meanwhile.
        with suppress(OSError):
            status = Path(subfolder).stat()
            identity = (status.st_dev, status.st_ino)
            # A link may lead to a folder above: the walk would never end.
            if identity in seen:
                inner_folders.clear()
                continue
            seen.add(identity)
        # In place, because the walk goes on by this list.
        inner_folders.sort()
        relative = PurePosixPath(Path(subfolder).relative_to(folder).as_posix())
        for name in files:
            yield str(relative / name)


def _contents(path: Path, names: list[str]) -> Iterator[tuple[str, bytes | None]]:
    """Read each file, unpacked, a little more than `LARGEST` at most.

    Args:
        path: a folder or a `.zip`.
        names: of the files in it.

    Returns:
        The name and the content of each; None for a damaged one.
    """
    unpacked = 0
    with zipfile.ZipFile(path) if path.is_file() else nullcontext() as package:
        for name in names:
            is_gzip = name.lower().endswith(".gz")
            content = None
            with suppress(*DAMAGES), _opened(name, package or path) as stream:
                unpacking = gzip.GzipFile(fileobj=stream) if is_gzip else stream
                # One byte more shows that the text is too large to be a report.
                content = unpacking.read(LARGEST + 1)
            is_packed = is_gzip or package is not None
            if content is not None and is_packed:
                unpacked += len(content)
                require_size(path.name, unpacked)
            yield name, content


def _opened(name: str, container: Path | zipfile.ZipFile) -> IO[bytes]:
    """Open a regular file of a folder, or a member of a package."""
    if not isinstance(container, Path):
        return open_member(container, name)
    # Without O_NONBLOCK a FIFO would wait for somebody who writes.
    descriptor = os.open(container / name, os.O_RDONLY | os.O_NONBLOCK)
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
