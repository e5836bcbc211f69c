"""Whether a fetched delivery can be used, and what is in it: before it becomes a batch, which never
changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.columns import map_columns, study_id
from lunguage_assets.corpus.delivery import DECLARATION, CorpusDeclaration, find_delivery
from lunguage_assets.corpus.intake import read_files
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import read_records
from lunguage_assets.errors import InputError, LunguageError
from lunguage_assets.home.home import Corpus

REPORTED = ["file", "row", "study_id", "column", "reason", "expected", "remedy"]
"""Columns of the list of rejected rows that is laid beside a delivery: none of them repeats a cell but the
study's id.
"""


@dataclass(frozen=True)
class Examination:
    """What is in a usable delivery; `rejected` has the columns `REPORTED`."""

    studies: frozenset[str]
    rows: int
    rejected: pd.DataFrame


class NoUsableRow(InputError):
    """Every row was rejected; `rejected` says why, row by row."""

    def __init__(self, file: str, rejected: pd.DataFrame) -> None:
        self.rejected = rejected
        first = rejected.iloc[0]
        super().__init__(
            file,
            f"{len(rejected)} rows of which none can be used",
            f"at least one usable row (of the first: {first['expected']})",
            "The list of rejected rows says for each what is wrong. Mend them and deliver the file again.",
            row=int(first["row"]),
            column=str(first["column"]) or None,
        )


def examine(folder: Path) -> Examination:
    """Read all files of a delivery as the intake will.

    Raises:
        InputError: a file cannot be used as a whole, or none of its rows can.
    """
    delivery = find_delivery(folder)
    log = IntakeLog()
    try:
        read = read_files(delivery, log)
    except (LunguageError, OSError, MemoryError):
        raise
    except Exception as error:  # of one delivery; the others must go on
        raise InputError(
            delivery.findings.name,
            f"something that the readers do not expect ({type(error).__name__})",
            "a Lunguage file",
            "Report this.",
        ) from None
    rejected = log.rejected_frame().rename(columns={"line": "row"})[REPORTED]
    rows = sum(study.rows_delivered for study in read.studies.values()) + int(
        (rejected["study_id"] == "").sum()
    )
    if not any(study.rows for study in read.studies.values()):
        raise NoUsableRow(delivery.findings.name, rejected)
    return Examination(frozenset(read.studies), rows, rejected)


def delivered_studies(folder: Path) -> frozenset[str]:
    """Ids of the studies in a registered batch; none when its findings cannot be read, which its ingest will
    tell.
    """
    findings = find_delivery(folder).findings
    try:
        header, records = read_records(findings, ("subject_id", "study_id"))
        place = map_columns(header, findings.name).position["study_id"]
        return frozenset(
            found
            for record in records
            if place < len(record.values) and (found := study_id(record.values[place].strip()))
        )
    except InputError:
        return frozenset()


def corpus_of(declared: CorpusDeclaration, present: Corpus | None) -> Corpus:
    """Which corpus a delivery belongs to; undeclared text is patient data, and an unnamed corpus is the
    home's own if the class agrees.

    Raises:
        InputError: the home holds another corpus.
    """
    inherited = (
        present.name if present is not None and present.data_class == declared.data_class else "unnamed"
    )
    corpus = Corpus(declared.name or inherited, declared.data_class)
    if present is not None and corpus != present:
        undeclared = "" if declared.is_declared else ", as text is that nobody declares"
        raise InputError(
            DECLARATION,
            f"corpus {corpus.name!r} ({corpus.data_class}{undeclared})",
            f"corpus {present.name!r} ({present.data_class}), which the home holds",
            f"Correct or add {DECLARATION} in the folder of the delivery or in the landing "
            "folder, or let another home take it.",
            column="data_class" if corpus.data_class != present.data_class else "name",
        )
    return corpus
