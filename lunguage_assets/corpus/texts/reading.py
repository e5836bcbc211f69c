"""Raw reports of any layout, one after the other, and the compact form in which a home stores them.

A collection of many thousand small files is one Parquet file there; what is read from it is what was read
from the files. Nothing is held but a few reports.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, fields
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lunguage_assets.corpus.texts import layouts
from lunguage_assets.corpus.texts.raw import RawReport, patient_of, study_of
from lunguage_assets.corpus.texts.source import TextSource
from lunguage_assets.errors import InputError, damaged

_TOGETHER = 1000
"""Reports in one row group: what is held at a time."""
_TYPES: Mapping[str, pa.DataType] = {"line": pa.int64(), "content": pa.binary()}
_SCHEMA = pa.schema([(own.name, _TYPES.get(own.name, pa.string())) for own in fields(RawReport)])


def raw_reports(source: TextSource) -> Iterator[RawReport]:
    """The records of a source in the order of reading, those that were chosen."""
    if source.layout == "open-i table":
        records = layouts.read_openi_table(source.place, source.projections)
    else:
        readers: Mapping[str, Callable[[Path], Iterator[RawReport]]] = {
            "packed": _read_packed,
            "table": layouts.read_table,
            "open-i XML": layouts.read_openi_xml,
            "text files": layouts.read_text_files,
        }
        records = readers[source.layout](source.place)
    for number, report in enumerate(records):
        if source.chosen is None or source.chosen[number]:
            yield report


@dataclass(frozen=True)
class SourceParts:
    """A source in parts of about equal size, with a digest of the content of each.

    Args:
        parts: the part of every record, in the order of reading, from 0.
        digests: sha256 per part, over the records themselves: the same however they are packed.
    """

    parts: array[int]
    digests: tuple[str, ...]

    def chosen(self, part: int) -> bytes | None:
        """The selection of a part, as `TextSource.chosen`; None for the only one."""
        return None if len(self.digests) == 1 else bytes(own == part for own in self.parts)


def survey(
    source: TextSource, most: int | None = None, patients: Callable[[], Mapping[str, str]] = dict
) -> SourceParts:
    """Look at every record; a part has `most` reports, or a few more: a patient's are in one part.

    `patients` gives the patients by study id, for records that name none.
    """
    parts, digests, counts = array("H"), [hashlib.sha256()], [0]
    part_of: dict[str, int] = {}
    for report in raw_reports(source):
        patient = report.patient
        if not patient and most is not None:
            patient = patients().get(study_of(report.study), "")
        owner = patient_of(patient) if patient else f"s{report.study}"
        if most is not None and counts[-1] >= most and owner not in part_of:
            counts.append(0)
            digests.append(hashlib.sha256())
        part = part_of.setdefault(owner, len(counts) - 1)
        parts.append(part)
        counts[part] += 1
        _digest(digests[part], report)
    return SourceParts(parts, tuple(digest.hexdigest() for digest in digests))


def pack(source: TextSource, parts: SourceParts, places: Mapping[int, Path]) -> dict[int, set[str]]:
    """Store the parts that have a place as one file each; the ids of the studies of each.

    Raises:
        InputError: as `raw_reports`, or the source is not what was surveyed.
    """
    studies: dict[int, set[str]] = {part: set() for part in places}
    waiting: dict[int, list[RawReport]] = {part: [] for part in places}
    with ExitStack() as opened:
        writers = {
            part: opened.enter_context(pq.ParquetWriter(place, _SCHEMA, compression="zstd"))
            for part, place in places.items()
        }

        def flush(part: int) -> None:
            columns = {name: [getattr(report, name) for report in waiting[part]] for name in _SCHEMA.names}
            writers[part].write_table(pa.table(columns, _SCHEMA))
            waiting[part].clear()

        for part, report in zip_longest(parts.parts, raw_reports(source)):
            if part is None or report is None:
                found, remedy = (
                    "files that change while they are read",
                    "Register it again when it is finished.",
                )
                raise InputError(source.place.name, found, "a finished delivery", remedy)
            if part not in places:
                continue
            if report.study:
                studies[part].add(study_of(report.study))
            waiting[part].append(report)
            if len(waiting[part]) >= _TOGETHER:
                flush(part)
        for part in writers:
            flush(part)
    return studies


def _read_packed(path: Path) -> Iterator[RawReport]:
    try:
        file = pq.ParquetFile(path)
        if file.schema_arrow.names != _SCHEMA.names:
            raise pa.ArrowInvalid("other columns")
        for batch in file.iter_batches(_TOGETHER):
            for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield RawReport(*values)
    except (pa.ArrowInvalid, OSError) as error:
        remedy = "Register the delivery again, or restore the file."
        raise damaged(path.name, "damaged data", error, "raw reports as a home stores them", remedy) from None


def _digest(digest: hashlib._Hash, report: RawReport) -> None:
    """Packing changes nothing: `.gz` of a single file does not count."""
    for name in _SCHEMA.names:
        value = getattr(report, name) if name != "file" else report.file.removesuffix(".gz")
        written = value if isinstance(value, bytes) else str(value).encode()
        digest.update(f"{len(written)}\0".encode())
        digest.update(written)
