"""What is in a delivery: its files under published names, and whether they can be used.

All of this comes before registration, because a batch never changes.
"""

from __future__ import annotations

import gzip
import shutil
import zlib
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.columns import map_columns, study_id
from lunguage_assets.corpus.delivery import (
    DECLARATION,
    FINDINGS,
    FINDINGS_PARQUET,
    CorpusDeclaration,
    Delivery,
)
from lunguage_assets.corpus.intake import read_files
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import read_records
from lunguage_assets.corpus.texts.ids import study_of
from lunguage_assets.corpus.texts.reading import raw_reports
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.corpus.texts.source import table_holds
from lunguage_assets.errors import InputError, LunguageError
from lunguage_assets.home.home import Corpus, Home
from lunguage_assets.home.store import partition_path
from lunguage_assets.landing.entries import Entry, Later, Seen
from lunguage_assets.parquet import read_columns
from lunguage_assets.settings import CorpusSettings

_REPORTED = ["file", "row", "study_id", "column", "reason", "expected", "remedy"]
"""Columns of the list of rejected rows: no cell of the delivery but the study's id."""


class NoUsableRow(InputError):
    """Every row of a delivery was rejected; their list says why."""


@dataclass(frozen=True)
class Contents:
    """What could be read of a delivery; `unusable` when no row can be used."""

    studies: frozenset[str]
    rows: int
    rejected: pd.DataFrame
    unusable: NoUsableRow | None


def fetch(entry: Entry, folder: Path) -> dict[str, str]:
    """Copy a delivery into an empty folder under the published names; these -> delivered names.

    Packed files are unpacked, so that the same content packed twice is the same delivery.

    Raises:
        InputError: a packed file is damaged, or one file comes in two forms.
        Later: a file cannot be read, or the disk is full.
    """
    folder.mkdir(parents=True)
    originals = {}
    for file in entry.files:
        target = folder / (_name_inside(entry, file) if entry.is_folder else _name_alone(file))
        if target.exists():
            remedy = "Remove all but the one to use."
            raise InputError(file.name, f"{target.name} in two forms", "each file once", remedy)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with file.path.open("rb") as source, target.open("wb") as copy:
                packed = file.name.lower().endswith(".gz")
                shutil.copyfileobj(gzip.GzipFile(fileobj=source) if packed else source, copy)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            found = f"a file that cannot be unpacked ({type(error).__name__})"
            raise InputError(file.name, found, "a whole .gz file", "Deliver it again.") from None
        except Exception as error:  # every file system has errors of its own
            raise Later(f"it cannot be read at present ({type(error).__name__})") from None
        if not entry.is_folder and table_holds(target) in ("reports", "open-i"):
            target = target.rename(target.with_stem("reports"))
        originals[target.relative_to(folder).as_posix()] = file.name
    return originals


def _name_inside(entry: Entry, file: Seen) -> str:
    """The name of a file in the fetched folder: published, else its own without `.gz`."""
    own: str = file.path.relative_to(entry.path).as_posix()
    packed = own.lower().endswith(".gz")
    return file.published or (own[: -len(".gz")] if packed else own)


def _name_alone(file: Seen) -> str:
    """The name for a delivery of one file, which may be called anything: findings, until it is read."""
    form = file.path.suffix.lower()
    return {".parquet": FINDINGS_PARQUET, ".zip": "mimic-cxr-reports.zip"}.get(form, FINDINGS)


def examine(delivery: Delivery) -> Contents:
    """Read all files of a fetched delivery, or of a part of one, as the intake will.

    Raises:
        InputError: a file cannot be used as a whole.
    """
    try:
        return _examine_texts(delivery) if delivery.kind == "text" else _examine_findings(delivery)
    except (LunguageError, OSError, MemoryError):
        raise
    except Exception as error:  # of one delivery; the others must go on
        found = f"something that the readers do not expect ({type(error).__name__})"
        expected = "raw reports" if delivery.kind == "text" else "a Lunguage file"
        raise InputError(delivery.files[0].name, found, expected, "Report this.") from None


def _examine_findings(delivery: Delivery) -> Contents:
    log = IntakeLog()
    studies = read_files(delivery, log).studies
    rejected = _reported(log.rejected_frame())
    rows = sum(study.rows_delivered for study in studies.values()) + int((rejected["study_id"] == "").sum())
    usable = any(study.rows for study in studies.values())
    unusable = None if usable else _unusable(delivery.files[0].name, rejected, "rows", "row")
    return Contents(frozenset(studies), rows, rejected, unusable)


def _examine_texts(delivery: Delivery) -> Contents:
    received = receive(delivery, CorpusSettings())
    rejected = _reported(received.rejected)
    studies = frozenset(received.report_texts["study_id"].tolist())
    unusable = None if studies else _unusable(delivery.files[0].name, rejected, "reports", "report")
    return Contents(studies, len(studies) + len(rejected), rejected, unusable)


def _reported(rejected: pd.DataFrame) -> pd.DataFrame:
    return rejected.rename(columns={"line": "row"})[_REPORTED]


def _unusable(file: str, rejected: pd.DataFrame, things: str, thing: str) -> NoUsableRow:
    if not len(rejected):
        remedy = "Put the files with the reports there."
        return NoUsableRow(file, f"no {things}", f"at least one {thing}", remedy)
    first = rejected.iloc[0]
    return NoUsableRow(
        file,
        f"{len(rejected)} {things} of which none can be used",
        f"at least one usable {thing} (of the first: {first['expected']})",
        f"The list of rejected {things} says for each what is wrong. Mend them and deliver them again.",
        row=int(first["row"]),
        column=str(first["column"]) or None,
    )


def studies_of(home: Home, batch: str) -> set[str]:
    """Studies of a registered batch: from its table, before its ingestion from its findings.

    Empty when the findings cannot be read; the ingestion reports that.
    """
    table = partition_path(home.tables, "reports", batch)
    if table.exists():
        with table.open("rb") as stream:
            return set(read_columns(stream, ["study_id"]).column(0).to_pylist())
    delivery = home.delivery(batch)
    findings = delivery.findings
    try:
        if delivery.texts is not None:
            return {study_of(report.study) for report in raw_reports(delivery.texts) if report.study}
        if findings is None:
            return set()
        header, records = read_records(findings, ("subject_id", "study_id"))
        place = map_columns(header, "").position["study_id"]
        written = (record.values[place].strip() for record in records if place < len(record.values))
        return {study for value in written if (study := study_id(value)) is not None}
    except InputError:
        return set()


def corpus_of(declared: CorpusDeclaration, present: Corpus | None) -> Corpus:
    """The corpus of a delivery; one without a name belongs to the home's own if the class agrees.

    Raises:
        InputError: the home holds another corpus.
    """
    agrees = present is not None and present.data_class == declared.data_class
    name = declared.name or (present.name if present is not None and agrees else "unnamed")
    corpus = Corpus(name, declared.data_class)
    if present is None or corpus == present:
        return corpus
    undeclared = "" if declared.is_declared else ", as text without a declaration is"
    raise InputError(
        DECLARATION,
        f"corpus {corpus.name!r} ({corpus.data_class}{undeclared})",
        f"corpus {present.name!r} ({present.data_class}), which the home holds",
        f"Correct or add {DECLARATION} in the folder of the delivery or in the landing folder, or let "
        "another home take it.",
        column="name" if agrees else "data_class",
    )
