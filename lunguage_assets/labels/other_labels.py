"""Files of outcomes and of labels that others made, and the labels of the newest release with the hedging
phrases of the rows that decided them. A message quotes a number that it found, and nothing else: these are
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

from lunguage_assets.corpus.texts import published
from lunguage_assets.corpus.texts.json_entries import holds_json, json_lines
from lunguage_assets.corpus.texts.raw import study_of
from lunguage_assets.errors import ConfigurationError, InputError
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.spreadsheets import edited_rows
from lunguage_assets.tables import FITTED_PROBABILITIES
from lunguage_assets.tables.released import CHEXPERT, LABELS
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.parquet_rows import read_rows, row_groups
from lunguage_assets.workspace.store import partition_path
from lunguage_assets.workspace.versions import current_version

ANSWERS = ("1", "0", "-1", "blank")
"""What a file of labels says of a cell."""

DIFFERING = "differing"

_ROWS_AT_ONCE = 50_000
_FITTED = ("finding_id", "phrases", "p")
_NUMBER = re.compile(r"-?\d{1,6}(?:\.\d{1,6})?")
_OTHER_NAMES = {"airspace opacity": "Lung Opacity"}
"""The radiologists' test set names one label in another way."""


def read_outcomes(path: Path, listed: LabelList) -> pd.DataFrame:
    """Outcomes of a CSV with the columns study_id, label (by its name or its CheXpert name) and outcome, as
    study_id ("s" and digits), label (this package's name), outcome (0 or 1), sorted. Raises `InputError` for
    an unreadable file, an unusable cell, or a repeated one.
    """
    frame = _read(path, ("study_id", "label", "outcome"))
    ours = {
        label.chexpert.lower(): label.name for label in listed.labels if label.chexpert
    }
    ours |= {label.name.lower(): label.name for label in listed.labels}
    label = frame["label"].str.lower().map(ours)
    _refuse(path, frame["label"], label.isna(), f"one of {', '.join(listed.names)}")
    outcome = frame["outcome"].map(_number)
    _refuse(path, frame["outcome"], ~outcome.isin(["0", "1"]), "0 or 1")
    read = pd.DataFrame(
        {"study_id": frame["study_id"], "label": label, "outcome": outcome.astype(int)}
    )
    _refuse(
        path,
        frame["label"],
        read.duplicated(["study_id", "label"]),
        "one outcome for a study and label",
    )
    return read.sort_values(["study_id", "label"], ignore_index=True)


def read_label_file(path: Path, listed: LabelList) -> pd.DataFrame:
    """Read a label file of MIMIC-CXR-JPG (CheXpert's, NegBio's, the radiologists' test set; also .csv.gz), or
    the lines of CheXbert that come with CheXpert Plus (`impression_fixed.json`, also .gz, or alone in a
    .zip). Columns that are no label are left out.

    Returns:
        A row per study and label, sorted: study_id, label (this package's name), chexpert, other_answer (`ANSWERS`);
        `attrs[DIFFERING]`: of how many studies a later line says something else; the first one counts.

    Raises:
        InputError: for an unreadable file, no column of a label, an unusable cell, or a repeated study of a
            table.
    """
    differing = 0
    if holds_json(path):
        frame, differing = _read_lines(path)
    else:
        frame = _read(path, ("study_id",))
        _refuse(
            path, frame["study_id"], frame["study_id"].duplicated(), "one row per study"
        )
    ours = {label.chexpert: label.name for label in listed.labels if label.chexpert}
    theirs = {name.lower(): name for name in CHEXPERT} | _OTHER_NAMES
    columns = {
        name: theirs[name.lower()] for name in frame.columns if name.lower() in theirs
    }
    if not columns or len(set(columns.values())) < len(columns):
        found = "two columns of one label" if columns else "no column of a label"
        raise InputError(
            path.name,
            found,
            f"some of {', '.join(CHEXPERT)}, each once",
            "Fix the header.",
        )
    cells = []
    for column, chexpert in columns.items():
        answers = frame[column].map(_number).replace("", "blank")
        _refuse(path, frame[column], ~answers.isin(ANSWERS), "1, 0, -1 or nothing")
        cells.append(
            frame[["study_id"]].assign(
                label=ours[chexpert], chexpert=chexpert, other_answer=answers
            )
        )
    labels = pd.concat(cells).sort_values(["study_id", "label"], ignore_index=True)
    labels.attrs[DIFFERING] = differing
    return labels


def _read_lines(path: Path) -> tuple[pd.DataFrame, int]:
    """The first line of every study, all cells as text, and how many studies have a line that differs.

    An object per line and image: `path_to_image`, and 14 labels, 1.0, 0.0, -1.0 or null. The images of a
    study have the same report. Where it was made anonymous in two ways, CheXbert may have read two things.

    Source: DOI 10.57761/fzna-pm76 (findings_fixed.json, impression_fixed.json, report_fixed.json); lines that
    differ: github.com/Stanford-AIMI/chexpert-plus, issue 13.
    """
    first_of_study: dict[str, dict[str, str]] = {}
    line_of_study: dict[str, int] = {}
    differing = set()
    for number, line in json_lines(path):
        image = line.pop("path_to_image", None)
        named = published.study_of_image(image) if isinstance(image, str) else None
        if named is None:
            expected = "the path of an image of CheXpert, such as train/patient00001/study1/view1_frontal.jpg"
            remedy = "Fix the line, or leave it out."
            found = "text" if isinstance(image, str) else "nothing"
            raise InputError(
                path.name, found, expected, remedy, row=number, column="path_to_image"
            )
        cells = {
            label: "" if value is None else str(value) for label, value in line.items()
        }
        if first_of_study.setdefault(named.study, cells) != cells:
            differing.add(named.study)
        line_of_study.setdefault(named.study, number)
    numbers = [
        number - 1 for number in line_of_study.values()
    ]  # as those of a table, from 0
    frame = pd.DataFrame(
        list(first_of_study.values()), index=numbers, dtype="str"
    ).fillna("")
    studies = [study_of(study) for study in first_of_study]
    return frame.assign(study_id=pd.Series(studies, index=numbers, dtype="str")), len(
        differing
    )


def _read(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """All columns as text without surrounding blanks; study_id as this package writes it."""
    rows = [row for _, row in edited_rows(path, columns)]
    frame = (
        pd.DataFrame(rows, dtype="str")
        if rows
        else pd.DataFrame(columns=list(columns), dtype="str")
    )
    frame = pd.DataFrame(
        {name.strip(): frame[name].str.strip() for name in frame.columns}
    )
    _refuse(
        path,
        frame["study_id"],
        frame["study_id"] == "",
        "a study's id, here or as delivered",
    )
    return frame.assign(study_id=frame["study_id"].map(study_of).astype("str"))


def _number(text: str) -> str:
    """A number without a needless point: "1.0" is "1"."""
    return text.removesuffix(".0") if _NUMBER.fullmatch(text) else text


def _refuse(path: Path, given: pd.Series, wrong: pd.Series, expected: str) -> None:
    """Raise `InputError` for the first cell that is wrong."""
    if wrong.any():
        place = int(wrong.to_numpy().argmax())
        row = int(given.index[place])
        text = given.iloc[place]
        found = text if _NUMBER.fullmatch(text) else "text" if text else "nothing"
        remedy = "Fix the cell, or leave the row out."
        raise InputError(
            path.name, found, expected, remedy, row=row + 1, column=str(given.name)
        )


class ReleasedLabels(NamedTuple):
    """Labels of some studies of a release.

    Args:
        labels: LABELS with the cell of `labels_chexpert.csv` as `answer` (`ANSWERS`).
        studies: how many studies the whole release has.
        version: its name.
    """

    labels: pd.DataFrame
    studies: int
    version: str


def released_labels(
    home: Home, ranker: str, studies: Collection[str]
) -> ReleasedLabels:
    """Read the labels of some studies from the current release; the files are read part by part, because an
    archive has many more.

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
            f"{home.root} has no release of ranker {ranker!r}. Run `lunguage run` with this ranker first, or "
            "name another with --ranker."
        )
    path = version / "restricted" / "labels.parquet"
    if not path.exists() or not _has_known_columns(pq.read_schema(path)):
        raise ConfigurationError(
            f"{path}: expected the labels of this version of the software, found none or other columns. Run "
            "`lunguage run` again: it writes a new version of the release."
        )
    wanted = set(studies)
    of_wanted = [pq.read_schema(path).empty_table().to_pandas()]
    for rows in row_groups(path):
        is_wanted = pc.is_in(
            rows.column("study_id"),
            value_set=pa.array(sorted(wanted), type=pa.string()),
        )
        of_wanted.append(rows.filter(is_wanted).to_pandas())
    labels = pd.concat(of_wanted, ignore_index=True)
    cells, number_of_studies = _answers(path.with_name("labels_chexpert.csv"), wanted)
    answered = labels.merge(cells, on=["study_id", "chexpert"], how="left")
    return ReleasedLabels(answered, number_of_studies, version.name)


def _has_known_columns(schema: pa.Schema) -> bool:
    """Whether labels have the columns of LABELS, beside which older ones may have an estimate."""
    if "p_estimate" in schema.names:
        schema = schema.remove(schema.get_field_index("p_estimate"))
    return bool(schema.remove_metadata() == LABELS.arrow)


def _answers(path: Path, studies: Collection[str]) -> tuple[pd.DataFrame, int]:
    """study_id, chexpert, answer of some studies, and how many studies the file has."""
    of_studies = []
    number_of_studies = 0
    for wide in pd.read_csv(path, chunksize=_ROWS_AT_ONCE):
        number_of_studies += len(wide)
        wide["study_id"] = "s" + wide["study_id"].astype(str).str.zfill(8)
        of_studies.append(wide[wide["study_id"].isin(set(studies))])
    cells = pd.concat(of_studies, ignore_index=True).melt(
        "study_id", CHEXPERT, "chexpert", "answer"
    )
    cells["answer"] = (
        cells["answer"].map({1.0: "1", 0.0: "0", -1.0: "-1"}).fillna("blank")
    )
    return cells, number_of_studies


def fitted_of(home: Home, ranker: str, findings: Collection[str]) -> pd.DataFrame:
    """finding_id, phrases and p of these rows from the stored FITTED_PROBABILITIES; the newest batch wins."""
    found = [FITTED_PROBABILITIES.frame()[list(_FITTED)]]
    for batch in home.registered() if findings else ():
        path = partition_path(home.tables, FITTED_PROBABILITIES.name, ranker, batch.key)
        if path.exists():
            with path.open("rb") as stream:
                found.append(
                    read_rows(stream, "finding_id", findings, _FITTED).to_pandas()
                )
    return pd.concat(found, ignore_index=True).drop_duplicates(
        "finding_id", keep="last"
    )
