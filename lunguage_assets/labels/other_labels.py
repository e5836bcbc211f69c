"""Reads labels from outside, and the labels of a release that they are held against.

From outside come files of outcomes, label files of other programs and of radiologists.
The comparisons are in `calibration.py` and `comparison.py`, what they mean is in
docs/trust.md. A message quotes a number that it found, and nothing else: these are
patients.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lunguage_assets.corpus.texts.json_entries import holds_json, json_lines
from lunguage_assets.corpus.texts.layouts import layouts
from lunguage_assets.corpus.texts.raw import study_of
from lunguage_assets.corpus.whole_tables import edited_rows
from lunguage_assets.errors import ConfigurationError, InputError
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.tables import FITTED_PROBABILITIES
from lunguage_assets.tables.released import CHEXPERT, LABELS
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.parquet_rows import read_rows, row_groups
from lunguage_assets.workspace.store import partition_path
from lunguage_assets.workspace.versions import current_version

ANSWERS = ("1", "0", "-1", "blank")
"""What a file of labels says of a cell: present, absent, in doubt, or nothing."""

_ROWS_AT_ONCE = 50_000
_FITTED = ["finding_id", "phrases", "p"]
_NUMBER = re.compile(r"-?\d{1,6}(?:\.\d{1,6})?")
_CHEXPERT_BY_NAME = {name.lower(): name for name in CHEXPERT}
# The radiologists' test set names one label in another way.
_CHEXPERT_BY_NAME["airspace opacity"] = "Lung Opacity"


class LabelFile(NamedTuple):
    """Labels of another program, or of radiologists.

    Attributes:
        labels: a row per study and label, sorted: study_id, label (this package's
            name), chexpert (CheXpert's name), other_answer (`ANSWERS`).
        differing: of how many studies a later line says something else than the first,
            which counts.
    """

    labels: pd.DataFrame
    differing: int


class ReleasedLabels(NamedTuple):
    """Labels of some studies of a release.

    Attributes:
        labels: LABELS with the cell of `labels_chexpert.csv` as `answer` (`ANSWERS`).
        studies: how many studies the whole release has.
        version: its name.
    """

    labels: pd.DataFrame
    studies: int
    version: str


def read_outcomes(path: Path, listed: LabelList) -> pd.DataFrame:
    """Read outcomes: what later examinations found of a study and label.

    Args:
        path: a CSV with the columns study_id, label and outcome. A label has this
            package's name or CheXpert's.
        listed: the labels.

    Returns:
        study_id ("s" and digits), label (this package's name) and outcome (0 or 1),
        sorted.

    Raises:
        InputError: an unreadable file, an unusable cell, or a repeated one.
    """
    frame = _read_table(path, ("study_id", "label", "outcome"))
    label_by_name = {}
    for entry in listed.labels:
        if entry.chexpert:
            label_by_name[entry.chexpert.lower()] = entry.name
    # After CheXpert's names: a name that both lists have is this package's.
    for name in listed.names:
        label_by_name[name.lower()] = name
    labels = frame["label"].str.lower().map(label_by_name)
    outcomes = frame["outcome"].map(_plain_number)
    expected_names = f"one of {', '.join(listed.names)}"
    _require(path, frame["label"], labels.notna(), expected_names)
    _require(path, frame["outcome"], outcomes.isin(["0", "1"]), "0 or 1")
    table = frame[["study_id"]].assign(label=labels, outcome=outcomes.astype(int))
    is_first = ~table.duplicated(["study_id", "label"])
    _require(path, frame["label"], is_first, "one outcome for a study and label")
    return table.sort_values(["study_id", "label"], ignore_index=True)


def read_label_file(path: Path, listed: LabelList) -> LabelFile:
    """Read labels that others made.

    Args:
        path: a label file of MIMIC-CXR-JPG (CheXpert's, NegBio's, the radiologists'
            test set; also .csv.gz), or the lines of CheXbert that come with CheXpert
            Plus (`impression_fixed.json`, also .gz, or alone in a .zip). Columns that
            are no label are left out.
        listed: the labels.

    Raises:
        InputError: an unreadable file, no column of a label, an unusable cell, or a
            repeated study of a table.
    """
    differing = 0
    if holds_json(path):
        frame, differing = _read_lines(path)
    else:
        frame = _read_table(path, ("study_id",))
        is_first = ~frame["study_id"].duplicated()
        _require(path, frame["study_id"], is_first, "one row per study")
    chexpert_by_column = {
        column: _CHEXPERT_BY_NAME[column.lower()]
        for column in frame.columns
        if column.lower() in _CHEXPERT_BY_NAME
    }
    repeated = len(chexpert_by_column) - len(set(chexpert_by_column.values()))
    if not chexpert_by_column or repeated:
        problem = "two columns of one label" if repeated else "no column of a label"
        raise InputError(
            path.name,
            problem,
            f"some of {', '.join(CHEXPERT)}, each once",
            "Fix the header.",
        )
    label_by_chexpert = {label.chexpert: label.name for label in listed.labels}
    cells = []
    for column, chexpert in chexpert_by_column.items():
        answers = frame[column].map(_plain_number).replace("", "blank")
        _require(path, frame[column], answers.isin(ANSWERS), "1, 0, -1 or nothing")
        of_label = frame[["study_id"]].assign(
            label=label_by_chexpert[chexpert],
            chexpert=chexpert,
            other_answer=answers,
        )
        cells.append(of_label)
    labels = pd.concat(cells).sort_values(["study_id", "label"], ignore_index=True)
    return LabelFile(labels, differing)


def _read_lines(path: Path) -> tuple[pd.DataFrame, int]:
    """Read the first line of every study, and count the studies whose lines differ.

    A line is an object about an image: `path_to_image` and 14 labels, each 1.0, 0.0,
    -1.0 or null. The images of a study have the same report. Where it was made
    anonymous in two ways, CheXbert may have read two things.

    Source: DOI 10.57761/fzna-pm76 (findings_fixed.json, impression_fixed.json,
    report_fixed.json); lines that differ: github.com/Stanford-AIMI/chexpert-plus, issue
    13.
    """
    cells_by_study: dict[str, dict[str, str]] = {}
    row_by_study: dict[str, int] = {}
    differing: set[str] = set()
    for number, line in json_lines(path):
        image = line.pop("path_to_image", None)
        if not isinstance(image, str):
            raise _image_error(path, number, found="nothing")
        named = re.search(layouts()["chexpert-plus"].ids, image)
        if named is None:
            raise _image_error(path, number, found="text")
        cells = {}
        for label, answer in line.items():
            cells[label] = "" if answer is None else str(answer)
        # Rows count from 0, as those of a table.
        row_by_study.setdefault(named["study"], number - 1)
        first_cells = cells_by_study.setdefault(named["study"], cells)
        if cells != first_cells:
            differing.add(named["study"])
    # The index has the rows of the file, for messages.
    rows = list(row_by_study.values())
    cells_of_studies = list(cells_by_study.values())
    frame = pd.DataFrame(cells_of_studies, index=rows, dtype="str").fillna("")
    ids = [study_of(study) for study in row_by_study]
    frame["study_id"] = pd.Series(ids, index=rows, dtype="str")
    return frame, len(differing)


def _image_error(path: Path, number: int, found: str) -> InputError:
    return InputError(
        path.name,
        found,
        "the path of an image of CheXpert, such as "
        "train/patient00001/study1/view1_frontal.jpg",
        "Fix the line, or leave it out.",
        row=number,
        column="path_to_image",
    )


def _read_table(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read all columns as text without surrounding blanks, and this package's ids.

    Args:
        path: a CSV.
        columns: those that must be there, `study_id` among them.
    """
    rows = [row for _, row in edited_rows(path, columns)]
    table = pd.DataFrame(rows, dtype="str")
    if not rows:
        # Without a row pandas would not know the columns.
        table = pd.DataFrame(columns=list(columns), dtype="str")
    stripped = {}
    for name in table.columns:
        stripped[name.strip()] = table[name].str.strip()
    frame = pd.DataFrame(stripped)
    ids = frame["study_id"]
    _require(path, ids, ids != "", "a study's id, here or as delivered")
    return frame.assign(study_id=ids.map(study_of).astype("str"))


def _plain_number(text: str) -> str:
    """Write a number without a needless point: "1.0" is "1"."""
    return text.removesuffix(".0") if _NUMBER.fullmatch(text) else text


def _require(path: Path, cells: pd.Series, is_right: pd.Series, expected: str) -> None:
    """Refuse a file of which a cell is not as expected, naming the first.

    Args:
        path: of the file.
        cells: a column as it was delivered; its index has the rows, from 0.
        is_right: whether each cell can be used.
        expected: what should be there.
    """
    if is_right.all():
        return
    position = int(is_right.to_numpy().argmin())
    cell = cells.iloc[position]
    found = "text" if cell else "nothing"
    if _NUMBER.fullmatch(cell):
        found = cell
    raise InputError(
        path.name,
        found,
        expected,
        "Fix the cell, or leave the row out.",
        row=int(cells.index[position]) + 1,
        column=str(cells.name),
    )


def released_labels(
    home: Home, ranker: str, studies: Collection[str]
) -> ReleasedLabels:
    """Read the labels of some studies from the current release.

    The files are read part by part, because an archive has many more.

    Args:
        home: the home with the release.
        ranker: whose release.
        studies: ids of the studies ("s" and digits).

    Raises:
        ConfigurationError: there is no release, or its labels have other columns.
    """
    version = current_version(home.release / ranker)
    if version is None:
        raise ConfigurationError(
            f"{home.root} has no release of ranker {ranker!r}. Run `lunguage run` with "
            "this ranker first, or name another with --ranker."
        )
    path = version / "restricted" / "labels.parquet"
    if not path.exists() or pq.read_schema(path).remove_metadata() != LABELS.arrow:
        raise ConfigurationError(
            f"{path}: expected the labels of this version of the software, found none "
            "or other columns. Run `lunguage run` again: it writes a new version of "
            "the release."
        )
    ids = pa.array(sorted(set(studies)), type=pa.string())
    # Without a study of the release the frame still has its columns.
    frames = [pq.read_schema(path).empty_table().to_pandas()]
    for rows in row_groups(path):
        is_of_studies = pc.is_in(rows.column("study_id"), value_set=ids)
        frames.append(rows.filter(is_of_studies).to_pandas())
    labels = pd.concat(frames, ignore_index=True)
    answers, study_count = _answers(path.with_name("labels_chexpert.csv"), studies)
    answered = labels.merge(answers, on=["study_id", "chexpert"], how="left")
    return ReleasedLabels(answered, study_count, version.name)


def _answers(path: Path, studies: Collection[str]) -> tuple[pd.DataFrame, int]:
    """Read study_id, chexpert and answer of some studies, and count all of the file."""
    study_count = 0
    wanted_studies = set(studies)
    frames = []
    for rows in pd.read_csv(path, chunksize=_ROWS_AT_ONCE):
        study_count += len(rows)
        # The file has ids as MIMIC-CXR's files write them: numbers.
        numbers = rows["study_id"].astype(str)
        rows["study_id"] = "s" + numbers.str.zfill(8)
        frames.append(rows[rows["study_id"].isin(wanted_studies)])
    cells = pd.concat(frames, ignore_index=True).melt(
        "study_id", CHEXPERT, "chexpert", "answer"
    )
    words = cells["answer"].map({1.0: "1", 0.0: "0", -1.0: "-1"})
    return cells.assign(answer=words.fillna("blank")), study_count


def fitted_of(home: Home, ranker: str, findings: Collection[str]) -> pd.DataFrame:
    """Read finding_id, phrases and p of some rows; the newest batch wins.

    Args:
        home: that stores FITTED_PROBABILITIES.
        ranker: whose they are.
        findings: ids of the rows.
    """
    frames = [FITTED_PROBABILITIES.frame()[_FITTED]]
    for batch in home.registered():
        path = partition_path(home.tables, FITTED_PROBABILITIES.name, ranker, batch.key)
        if not findings or not path.exists():
            continue
        with path.open("rb") as stream:
            rows = read_rows(stream, "finding_id", findings, _FITTED)
            frames.append(rows.to_pandas())
    fitted = pd.concat(frames, ignore_index=True)
    return fitted.drop_duplicates("finding_id", keep="last")
