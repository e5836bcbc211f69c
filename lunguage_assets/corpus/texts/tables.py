"""Tables of reports: one record per report, columns by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lunguage_assets.corpus.columns import clean, column_places, is_plainly_study, require_columns
from lunguage_assets.corpus.records import Record, read_records, shown
from lunguage_assets.corpus.texts.raw import RawReport

REQUIRED = ("study_id", "report")
OPTIONAL = ("subject_id", "view", "study_date")


def read_table(path: Path) -> Iterator[RawReport]:
    """`study_id, report`, and if there `subject_id`, `view`, `study_date`, in CSV or Parquet.

    Raises:
        InputError: the file is empty, no table, or has not both columns.
    """
    at, records = opened(path, REQUIRED, OPTIONAL, ("subject_id", "study_id"))
    for record in records:
        cell = cells(record, at)
        study, patient, date, view = (
            stored(cell[name]) for name in ("study_id", "subject_id", "study_date", "view")
        )
        if record.broken:
            study = study if is_plainly_study(study) else ""
            yield RawReport(
                path.name, record.number, study, content=as_bytes(record.raw), broken=record.broken
            )
            continue
        yield RawReport(
            path.name, record.number, study, patient, date, view, content=as_bytes(cell["report"])
        )


def opened(
    path: Path, required: Sequence[str], optional: Sequence[str], ids: Sequence[str] = ()
) -> tuple[Mapping[str, int], Iterator[Record]]:
    """Places of columns, whatever their letter case and blanks (-1: not there), and the records.

    Bytes that are not UTF-8 stay in the values (`surrogateescape`).

    Raises:
        InputError: the file is empty, no table, or lacks a required column.
    """
    header, records = read_records(path, ids, keep_bytes=True)
    place = column_places(header)
    require_columns(path.name, header, place, required, optional)
    return {name: place.get(name, -1) for name in (*required, *optional)}, records


def cells(record: Record, at: Mapping[str, int]) -> dict[str, str]:
    """The cleaned cells of a record; those that it does not have are empty."""
    values = record.values
    return {name: clean(values[place]) if 0 <= place < len(values) else "" for name, place in at.items()}


def stored(cell: str) -> str:
    """A cell that can be stored, whatever its bytes."""
    return cell if cell.isascii() and "\0" not in cell else shown(cell)


def as_bytes(text: str) -> bytes:
    """The bytes that were delivered."""
    return text.encode("utf-8", "surrogateescape")
