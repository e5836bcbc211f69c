"""The studies of a release: identifiers as numbers too, and their part of the official split."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lunguage_assets.errors import InputError
from lunguage_assets.tables.released import SPLITS, STUDIES

_REMEDY = "Give mimic-cxr-2.0.0-split.csv as MIMIC-CXR-JPG has it, or remove it from the home."


def read_split(path: Path | None) -> pd.Series:
    """Part of the split by study number, from `mimic-cxr-2.0.0-split.csv`; empty without a file.

    Raises:
        InputError: no such columns, a part that is none, or a study in two parts.
    """
    if path is None:
        return pd.Series([], index=pd.Index([], dtype="int64"), dtype="str")
    try:
        listed = pd.read_csv(path, dtype="str", usecols=["study_id", "split"], keep_default_na=False)
    except (ValueError, OSError):
        raise InputError(
            str(path), "a file without these columns", "CSV with study_id and split", _REMEDY
        ) from None
    _refuse(path, listed, ~listed["split"].isin(SPLITS), "split", f"one of {', '.join(SPLITS)}")
    _refuse(path, listed, ~listed["study_id"].str.fullmatch(r"s?\d{8,18}"), "study_id", "8 to 18 digits")
    numbers = listed["study_id"].str.removeprefix("s").astype("int64")
    parts = listed["split"].groupby(numbers.to_numpy()).agg(["first", "nunique"])
    twice = numbers.isin(parts.index[parts["nunique"] > 1])
    _refuse(path, listed, twice, "split", "one part for all images of a study")
    return parts["first"]


def _refuse(path: Path, listed: pd.DataFrame, wrong: pd.Series, column: str, expected: str) -> None:
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        found = repr(listed[column].iloc[row])
        raise InputError(str(path), found, expected, _REMEDY, row=row + 1, column=column)


def studies_frame(
    accounts: pd.DataFrame, reports: pd.DataFrame, aside: pd.DataFrame, split: pd.Series
) -> pd.DataFrame:
    """ACCOUNTING, REPORTS and SET_ASIDE of some studies to STUDIES, sorted by patient and study.

    Args:
        accounts: with the column `report_batch`.
        reports: of the same studies, without those that are set aside.
        aside: of the same studies.
        split: `read_split`.
    """
    columns = ["study_id", "subject_id", "view_information", "set_aside"]
    listed = [
        *((*one, "") for one in reports[columns[:3]].itertuples(index=False, name=None)),
        *((*own, "", "; ".join(rows["rule"].unique())) for own, rows in aside.groupby(columns[:2])),
    ]
    joined = accounts[["study_id", "report_batch", "rows_out"]].merge(
        pd.DataFrame(listed, columns=columns), on="study_id", validate="1:1"
    )
    joined["study_number"] = joined["study_id"].str[1:].astype("int64")
    joined["subject_number"] = joined["subject_id"].str[1:].astype("int64")
    joined["split"] = joined["study_number"].map(split).astype(object)
    ordered = joined.sort_values(["subject_number", "study_number"])
    return STUDIES.frame({name: ordered[name].tolist() for name in STUDIES.names})
