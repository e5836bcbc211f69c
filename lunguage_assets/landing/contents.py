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

from lunguage_assets.corpus.columns import study_id
from lunguage_assets.corpus.delivery import (
    DECLARATION,
    FINDINGS,
    FINDINGS_PARQUET,
    CorpusDeclaration,
    Delivery,
)
from lunguage_assets.corpus.intake import read_files
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.texts.ids import study_of
from lunguage_assets.corpus.texts.reading import raw_reports
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.corpus.texts.source import table_holds
from lunguage_assets.corpus.texts.tables import cells, opened
from lunguage_assets.corpus.unpacking import Unpacked, require_size
from lunguage_assets.errors import InputError, LunguageError, damaged
from lunguage_assets.home.home import Corpus, Home
from lunguage_assets.home.store import partition_path
from lunguage_assets.landing.entries import Entry
from lunguage_assets.landing.seen import Later, Seen, open_seen
from lunguage_assets.parquet import read_columns
from lunguage_assets.settings import CorpusSettings

_REPORTED = ["file", "row", "study_id", "column", "reason", "expected", "remedy"]
"""Columns of the list of rejected rows: no cell of the delivery but the study's id."""


class NoUsableRow(InputError):
    """Every row of a delivery was rejected; their list says why."""


@dataclass(frozen=True)
class Contents:
    """What could be read of a delivery, or of a part of one; `usable` when at least one row can be used."""

    studies: frozenset[str]
    rows: int
    rejected: pd.DataFrame
    usable: bool


def fetch(entry: Entry, folder: Path) -> dict[str, str]:
    """Copy a delivery into an empty folder under the published names; these -> delivered names.

    Packed files are unpacked, so that the same content packed twice is the same delivery.

    Raises:
        InputError: something in it may not be opened, a packed file is damaged or unpacks to too much, or one
            file comes in two forms.
        Later: a file cannot be read, or the disk is full.
    """
    folder.mkdir(parents=True)
    originals, unpacked = dict[str, str](), 0
    for file in entry.files:
        if file.oddity:
            raise InputError(file.name, file.oddity, "a file of its own", "Lay a copy of the file there.")
        target = folder / _fetched_name(entry, file)
        if target.exists():
            remedy = "Remove all but the one to use."
            raise InputError(file.name, f"{target.name} in two forms", "each file once", remedy)
        _copy(file, target)
        if file.name.lower().endswith(".gz"):
            unpacked += target.stat().st_size
            require_size(file.name, unpacked)
        if not entry.is_folder and table_holds(target) in ("reports", "open-i"):
            target = target.rename(target.with_stem("reports"))
        originals[target.relative_to(folder).as_posix()] = file.name
    return originals


def _copy(file: Seen, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open_seen(file) as source, target.open("wb") as copy:
            packed = file.name.lower().endswith(".gz")
            shutil.copyfileobj(Unpacked(source, file.name) if packed else source, copy)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise damaged(file.name, "a file that cannot be unpacked", error, "a whole .gz file") from None
    except (InputError, Later):
        raise
    except Exception as error:  # every file system has errors of its own
        raise Later(f"it cannot be read at present ({type(error).__name__})") from None


def _fetched_name(entry: Entry, file: Seen) -> str:
    """Its published name, in a folder else its own without `.gz`."""
    if not entry.is_folder:  # it may be called anything: findings, until it is read
        forms = {".parquet": FINDINGS_PARQUET, ".zip": "mimic-cxr-reports.zip"}
        return forms.get(file.path.suffix.lower(), FINDINGS)
    own: str = file.path.relative_to(entry.path).as_posix()
    return file.published or (own[: -len(".gz")] if own.lower().endswith(".gz") else own)


def examine(delivery: Delivery) -> Contents:
    """Read all files of a fetched delivery, or of a part of one, as the intake will.

    Raises:
        InputError: a file cannot be used as a whole.
    """
    try:
        if delivery.kind == "text":
            received = receive(delivery, CorpusSettings())
            read, rejected = frozenset(received.report_texts["study_id"].tolist()), received.rejected
            return Contents(read, len(read) + len(rejected), _reported(rejected), bool(read))
        log = IntakeLog()
        studies = read_files(delivery, log).studies
        rejected = log.rejected_frame()
        rows = sum(study.rows_delivered for study in studies.values()) + int((rejected.study_id == "").sum())
        usable = any(study.rows for study in studies.values())
        return Contents(frozenset(studies), rows, _reported(rejected), usable)
    except (LunguageError, OSError, MemoryError):
        raise
    except Exception as error:  # of one delivery; the others must go on
        file, found = delivery.files[0].name, "something that the readers do not expect"
        expected = "raw reports" if delivery.kind == "text" else "a Lunguage file"
        raise damaged(file, found, error, expected, "Report this.") from None


def _reported(rejected: pd.DataFrame) -> pd.DataFrame:
    return rejected.rename(columns={"line": "row"})[_REPORTED]


def no_usable_row(delivery: Delivery, rejected: pd.DataFrame) -> NoUsableRow:
    """The error of a delivery whose rows, or raw reports, were all rejected."""
    file, thing = delivery.files[0].name, "report" if delivery.kind == "text" else "row"
    if not len(rejected):
        return NoUsableRow(
            file, f"no {thing}s", f"at least one {thing}", "Put the files with the reports there."
        )
    first = rejected.iloc[0]
    return NoUsableRow(
        file,
        f"{len(rejected)} {thing}s of which none can be used",
        f"at least one usable {thing} (of the first: {first['expected']})",
        f"The list of rejected {thing}s says for each what is wrong. Mend them and deliver them again.",
        row=int(first["row"]),
        column=str(first["column"]) or None,
    )


def studies_of(home: Home, batch: str) -> set[str]:
    """Studies of a registered batch: from its table, before its ingestion from its files.

    Empty when these cannot be read; the ingestion reports that.
    """
    table = partition_path(home.tables, "reports", batch)
    if table.exists():
        with table.open("rb") as stream:
            return set(read_columns(stream, ["study_id"]).column(0).to_pylist())
    delivery = home.delivery(batch)
    try:
        if delivery.texts is not None:
            return {study_of(report.study) for report in raw_reports(delivery.texts) if report.study}
        at, records = opened(delivery.files[0], ("study_id",), (), ("subject_id", "study_id"))
        return {study for record in records if (study := study_id(cells(record, at)["study_id"]))}
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
