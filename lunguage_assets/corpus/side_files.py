"""The optional files of a delivery: vocabulary and image metadata.

A missing file is noted and stops nothing. A row that cannot be used is noted, never put
among the rejected rows: those are rows of findings and are accounted for one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.columns import first_said, mapped, study_id
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import cleaned, read_records
from lunguage_assets.corpus.views import named_views, written
from lunguage_assets.corpus.vocabulary import category_code, plain
from lunguage_assets.tables import TERMS

_ORIENTATION = "patientorientationcodesequence_codemeaning"
_PROCEDURES = ["performedprocedurestepdescription", "procedurecodesequence_codemeaning"]
_METADATA = (
    "viewposition",
    _ORIENTATION,
    *_PROCEDURES,
    "studydate",
    "studytime",
    "subject_id",
)
_OF_STUDIES = ["view_information", "view_source", "taken_at", "patient"]


def read_terms(path: Path | None, log: IntakeLog) -> pd.DataFrame:
    """Read `tables.TERMS` from `Lunguage_vocab.csv`.

    Terms are in lower case, sorted, each line once.
    """
    if path is None:
        log.note("vocabulary-missing", "Lunguage_vocab.csv")
        return TERMS.frame()
    required = ["category", "target_term", "normed_term"]
    rows = _rows(path, required, ["subcategory"])
    rows["category"] = mapped(
        rows["category"], lambda name: category_code(name) or name.lower()
    )
    for name in required[1:]:
        rows[name] = mapped(rows[name], plain)
    is_whole = (rows[required] != "").all(axis="columns")
    _note_unused(~is_whole, path, log)
    order = [*required, "subcategory"]
    terms = rows.loc[is_whole, order].drop_duplicates().sort_values(order)
    return TERMS.frame(terms)


def read_metadata(
    path: Path | None, study_ids: pd.Series, log: IntakeLog
) -> pd.DataFrame:
    """Read views, time and patient of studies, united over the images of each.

    Args:
        path: of the metadata, if there are some.
        study_ids: of the studies that are read.
        log: takes notes.

    Returns:
        `view_information`, `view_source`, `taken_at` and `patient` of each study, empty
        where they are unknown.
    """
    if path is None:
        log.note("metadata-missing", "mimic-cxr-2.0.0-metadata.csv")
        return pd.DataFrame("", study_ids.index, _OF_STUDIES, dtype=object)
    images = _rows(path, ["study_id"], _METADATA)
    images["study_id"] = mapped(images["study_id"], study_id)
    _note_unused(images["study_id"].isna(), path, log)
    images = images[images["study_id"].isin(study_ids)]
    # What a code says is surer than a name of the procedure.
    is_coded = images["viewposition"] != ""
    procedures = images[_PROCEDURES[0]] + " ; " + images[_PROCEDURES[1]]
    words = first_said(images["viewposition"], procedures)
    # A number may have lost its zeros in front; a fraction of a second is left out.
    digits = images[["studydate", "studytime"]].replace(r"\..*", "", regex=True)
    dates = digits["studydate"].str.zfill(8)
    moment = dates + "T" + digits["studytime"].str.zfill(6)
    images = images.assign(
        words=words + " ; " + images[_ORIENTATION],
        is_coded=is_coded,
        # An undated image says nothing of when its study was made.
        moment=moment.where(images["studydate"] != ""),
    )
    studies = images.groupby("study_id").agg(
        view_information=("words", " ; ".join),
        view_source=("is_coded", "any"),
        taken_at=("moment", "min"),
        patient=("subject_id", "max"),
    )
    views = mapped(
        studies["view_information"], lambda words: written(named_views(words))
    )
    source = studies["view_source"].map({True: "metadata", False: "procedure text"})
    studies = studies.assign(
        view_information=views, view_source=source.where(views != "", "")
    )
    return studies.reindex(study_ids).set_axis(study_ids.index).fillna("")


def _note_unused(is_unused: pd.Series, path: Path, log: IntakeLog) -> None:
    """Note how many rows of a file say nothing that can be used."""
    if is_unused.any():
        log.note("rows-ignored", path.name, found=f"{is_unused.sum()} rows")


def _rows(
    path: Path, required: Sequence[str], optional: Sequence[str] = ()
) -> pd.DataFrame:
    """Read the cells of every record, empty where a column is missing.

    Args:
        path: a table.
        required: columns that must be there.
        optional: columns that may be there.
    """
    names = [*required, *optional]
    records = read_records(path, names, required=required, may_be_empty=True)
    return cleaned(records.values, names)
