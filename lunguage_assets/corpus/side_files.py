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
_PROCEDURE = "performedprocedurestepdescription"
_PROCEDURE_CODE = "procedurecodesequence_codemeaning"
_METADATA = (
    "study_id",
    "viewposition",
    _ORIENTATION,
    _PROCEDURE,
    _PROCEDURE_CODE,
    "studydate",
    "studytime",
    "subject_id",
)


def read_terms(path: Path | None, log: IntakeLog) -> pd.DataFrame:
    """Read `tables.TERMS` from `Lunguage_vocab.csv`.

    Terms are in lower case, sorted, each line once.
    """
    if path is None:
        log.note("vocabulary-missing", file="Lunguage_vocab.csv")
        return TERMS.frame()
    required = ["category", "target_term", "normed_term"]
    order = [*required, "subcategory"]
    rows = cells_of(path, order, required)
    rows[required] = rows[required].map(plain)
    rows["category"] = mapped(
        rows["category"], lambda name: category_code(name) or name
    )
    is_whole = (rows[required] != "").all(axis="columns")
    _note_unused(~is_whole, path, log)
    return TERMS.frame(rows[is_whole].drop_duplicates().sort_values(order))


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
        log.note("metadata-missing", file="mimic-cxr-2.0.0-metadata.csv")
        columns = ["view_information", "view_source", "taken_at", "patient"]
        return pd.DataFrame("", study_ids.index, columns, dtype=object)
    images = cells_of(path, _METADATA, ["study_id"])
    images["study_id"] = mapped(images["study_id"], study_id)
    _note_unused(images["study_id"].isna(), path, log)
    images = images[images["study_id"].isin(study_ids)]
    # What a code says is surer than a name of the procedure.
    is_coded = images["viewposition"] != ""
    procedures = images[_PROCEDURE] + " ; " + images[_PROCEDURE_CODE]
    words = first_said(images["viewposition"], procedures)
    # A number may have lost its zeros in front; a fraction of a second is left out.
    digits = images[["studydate", "studytime"]].replace(r"\..*", "", regex=True)
    times = digits["studytime"].str.zfill(6)
    moment = digits["studydate"].str.zfill(8) + "T" + times
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
        log.note("rows-ignored", file=path.name, found=f"{is_unused.sum()} rows")


def cells_of(
    path: Path, names: Sequence[str], required: Sequence[str] = ()
) -> pd.DataFrame:
    """Read some columns of a table, empty where one is missing.

    Args:
        path: a table.
        names: of the columns.
        required: those that must be there.
    """
    records = read_records(path, names, required=required, may_be_empty=True)
    return cleaned(records.values, names)
