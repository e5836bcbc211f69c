"""Files of outcomes and of labels that others made: read, checked, and named by the labels of this package;
and the labels of the newest release, with the hedging phrases of the rows that decided them.

Cells are coded, so a message quotes a number that it found, and nothing else: these files are about patients.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from lunguage_assets.errors import ConfigurationError, InputError
from lunguage_assets.home.home import Home
from lunguage_assets.home.store import partition_path
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.parquet import read_columns, read_rows
from lunguage_assets.release.bundle.versions import current_version
from lunguage_assets.tables import FITTED_PROBABILITIES
from lunguage_assets.tables.labels import CHEXPERT, LABELS

OUTCOME_COLUMNS = ("study_id", "label", "outcome")
ANSWERS = ("1", "0", "-1", "blank")
"""What a file of labels says of a cell."""

_OF_LABELS = (
    *("study_id", "label", "chexpert", "source", "p", "p_low", "p_high", "p_source", "p_is_bound", "status"),
    "finding_id",
)
_FITTED = ("finding_id", "phrases", "p")
_STUDY = re.compile(r"s?\d{1,18}")
_NUMBER = re.compile(r"-?\d{1,6}(?:\.\d{1,6})?")
_OTHER_NAMES = {"airspace opacity": "Lung Opacity"}
"""The radiologists' test set names one label in another way."""


@dataclass(frozen=True)
class OtherLabels:
    """A file of labels in long form.

    `cells` has study_id, label (this package's name), chexpert and said (`ANSWERS`), one row per study and
    label of the file; `ignored` are columns that are no label.
    """

    cells: pd.DataFrame
    studies: int
    ignored: tuple[str, ...]


def read_outcomes(path: Path, listed: LabelList) -> pd.DataFrame:
    """Outcomes: study_id ("s" and digits), label (this package's name), outcome (0 or 1), sorted.

    Args:
        path: CSV with the columns study_id, label and outcome; a label by its name or its CheXpert name.
        listed: the labels.

    Raises:
        InputError: an unreadable file, a missing column, an unusable study, label or outcome, a repeated
            cell.
    """
    frame = _read(path)
    missing = [name for name in OUTCOME_COLUMNS if name not in frame.columns]
    if missing:
        raise InputError(
            path.name, f"no column {missing}", f"columns {list(OUTCOME_COLUMNS)}", "Add the columns."
        )
    ours = {label.chexpert.lower(): label.name for label in listed.labels if label.chexpert}
    ours |= {label.name.lower(): label.name for label in listed.labels}
    label = frame["label"].str.lower().map(ours)
    _refuse(path, frame["label"], label.isna(), "label", f"one of {', '.join(listed.names)}", "Fix the name.")
    outcome = frame["outcome"].map(_number)
    _refuse(path, frame["outcome"], ~outcome.isin(["0", "1"]), "outcome", "0 or 1", "Fix the value.")
    read = pd.DataFrame({"study_id": _studies(path, frame), "label": label, "outcome": outcome.astype(int)})
    again = read.duplicated(["study_id", "label"])
    if again.any():
        found = "a study and label that stand further above"
        remedy = "Keep one of the rows."
        raise InputError(path.name, found, "one outcome for a study and label", remedy, row=_row(again))
    return read.sort_values(["study_id", "label"], ignore_index=True)


def read_label_file(path: Path, listed: LabelList) -> OtherLabels:
    """A label file of MIMIC-CXR-JPG: CheXpert's, NegBio's, or the radiologists' test set; also as .csv.gz.

    One row per study; a column study_id, and a column for some or all of the 14 labels with 1, 0, -1 or
    nothing.

    Raises:
        InputError: an unreadable file, no column of a label, an unusable study or value, a repeated study.
    """
    frame = _read(path)
    if "study_id" not in frame.columns:
        raise InputError(path.name, "no column 'study_id'", "study_id and labels", "Add the column.")
    ours = {label.chexpert: label.name for label in listed.labels if label.chexpert}
    theirs = {name.lower(): name for name in CHEXPERT} | _OTHER_NAMES
    columns = {name: theirs[name.lower()] for name in frame.columns if name.lower() in theirs}
    if not columns:
        raise InputError(
            path.name, "no column of a label", f"some of {', '.join(CHEXPERT)}", "Fix the header."
        )
    if len(set(columns.values())) < len(columns):
        raise InputError(path.name, "two columns of one label", "one of each", "Leave one of them out.")
    studies = _studies(path, frame)
    again = studies.duplicated()
    if again.any():
        found, remedy = "a study that stands further above", "Keep one of the rows."
        raise InputError(path.name, found, "one row per study", remedy, row=_row(again), column="study_id")
    cells = []
    for column, chexpert in columns.items():
        said = frame[column].map(_number).replace("", "blank")
        wrong = ~said.isin(ANSWERS)
        _refuse(path, frame[column], wrong, column, "1, 0, -1 or nothing", "Fix the value.")
        cells.append(
            pd.DataFrame({"study_id": studies, "label": ours[chexpert], "chexpert": chexpert, "said": said})
        )
    ignored = tuple(
        name for name in frame.columns if name not in columns and name not in ("study_id", "subject_id")
    )
    long = pd.concat(cells, ignore_index=True).sort_values(["study_id", "label"], ignore_index=True)
    return OtherLabels(long, len(studies), ignored)


def _read(path: Path) -> pd.DataFrame:
    """All columns as text without surrounding blanks, plain or compressed; nothing is empty text."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
            header, *rows = csv.reader(stream, strict=True)
    except (OSError, EOFError, zlib.error, csv.Error, ValueError) as error:  # ValueError: no row, or no UTF-8
        raise InputError(
            path.name,
            f"an unreadable file ({type(error).__name__})",
            "a CSV in UTF-8 with a header",
            "Save it again as CSV.",
        ) from None
    names = [name.strip() for name in header]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            expected, remedy = f"{len(names)}, one per column", "Fix the commas and quotes."
            raise InputError(path.name, f"{len(row)} values", expected, remedy, row=number)
    if len(set(names)) < len(names):
        raise InputError(path.name, "two columns of one name", "different names", "Fix the header.")
    return pd.DataFrame([[cell.strip() for cell in row] for row in rows], columns=names, dtype="str")


def _studies(path: Path, frame: pd.DataFrame) -> pd.Series:
    """study_id as this package writes it."""
    given = frame["study_id"].str.lower().str.removesuffix(".0")
    wrong = ~given.str.fullmatch(_STUDY)
    _refuse(path, frame["study_id"], wrong, "study_id", "digits, with or without 's'", "Fix the study.")
    return "s" + given.str.removeprefix("s")


def _number(text: str) -> str:
    """A number without a needless point: "1.0" is "1"."""
    return text.removesuffix(".0") if _NUMBER.fullmatch(text) else text


def _refuse(path: Path, given: pd.Series, wrong: pd.Series, column: str, expected: str, remedy: str) -> None:
    if wrong.any():
        text = given.iloc[_row(wrong) - 1]
        found = text if _NUMBER.fullmatch(text) else "text" if text else "nothing"
        raise InputError(path.name, found, expected, remedy, row=_row(wrong), column=column)


def _row(wrong: pd.Series) -> int:
    """1-based number of the first row that is wrong."""
    return int(wrong.to_numpy().argmax()) + 1


@dataclass(frozen=True)
class ReleasedLabels:
    """Some columns of LABELS, and the version that they are of; `statements` are the cells of CHEXPERT_LABELS
    as study_id, chexpert, answer (`ANSWERS`).
    """

    labels: pd.DataFrame
    statements: pd.DataFrame
    version: str


def released_labels(home: Home, ranker: str) -> ReleasedLabels:
    """The labels of the current release.

    Raises:
        ConfigurationError: there is no release of the ranker, or its labels have other columns.
    """
    version = current_version(home.release / ranker)
    if version is None:
        raise ConfigurationError(
            f"{home.root} has no release of ranker {ranker!r}. Run `lunguage run` with this ranker first, or "
            "name another with --ranker."
        )
    path = version / "restricted" / "labels.parquet"
    if not path.exists() or not pq.read_schema(path).remove_metadata().equals(LABELS.arrow):
        raise ConfigurationError(
            f"{path}: expected the labels of this version of the software, found none or other columns. Run "
            "`lunguage run` again: it writes a new version of the release."
        )
    labels: pd.DataFrame = read_columns(path, _OF_LABELS).to_pandas()
    return ReleasedLabels(labels, _statements(path.with_name("labels_chexpert.csv")), version.name)


def _statements(path: Path) -> pd.DataFrame:
    wide = pd.read_csv(path)
    long = wide.melt("study_id", CHEXPERT, "chexpert", "answer")
    answer = long["answer"].map({1.0: "1", 0.0: "0", -1.0: "-1"}).fillna("blank")
    return long.assign(study_id="s" + long["study_id"].astype(str), answer=answer)


def fitted_of(home: Home, ranker: str, findings: Collection[str]) -> pd.DataFrame:
    """finding_id, phrases and p of these rows from the stored FITTED_PROBABILITIES; the newest batch wins."""
    found = []
    for batch in home.registered() if findings else ():
        path = partition_path(home.tables, FITTED_PROBABILITIES.name, ranker, batch.key)
        if path.exists():
            with path.open("rb") as stream:
                found.append(read_rows(stream, "finding_id", findings, _FITTED).to_pandas())
    if not found:
        return FITTED_PROBABILITIES.frame()[list(_FITTED)]
    newest: pd.DataFrame = pd.concat(found, ignore_index=True).drop_duplicates("finding_id", keep="last")
    return newest
