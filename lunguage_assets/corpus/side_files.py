"""The optional files of a delivery: vocabulary, image metadata, texts beside findings.

A missing file is noted and stops nothing. A row that cannot be used is noted, never put
among the rejected rows: those are rows of findings and are accounted for one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.corpus.columns import clean, index_by_name, mapped, study_id
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import read_cells, read_records
from lunguage_assets.corpus.views import coded_views, named_views, written
from lunguage_assets.corpus.vocabulary import category_code, plain
from lunguage_assets.tables import TERMS

_POSITION = "viewposition"
_ORIENTATION = "patientorientationcodesequence_codemeaning"
_PROCEDURES = ("performedprocedurestepdescription", "procedurecodesequence_codemeaning")
_DATE = "studydate"
_TIME = "studytime"
_PATIENT = "subject_id"
_METADATA_ROW_IGNORED = "metadata-row-ignored"
METADATA_COLUMNS = ("view_information", "view_source", "taken_at", "patient")
"""What image metadata say of a study, empty where it is unknown."""


def read_terms(path: Path | None, log: IntakeLog) -> pd.DataFrame:
    """Read `tables.TERMS` from `Lunguage_vocab.csv`.

    Terms are in lower case, sorted, each line once.
    """
    if path is None:
        log.note("vocabulary-missing", "Lunguage_vocab.csv")
        return TERMS.frame()
    reason = "vocabulary-row-ignored"
    required = ("category", "target_term", "normed_term")
    rows = _rows(path, required, ("subcategory",), log, reason)
    rows["category"] = mapped(
        rows["category"], lambda name: category_code(name) or name.lower()
    )
    for name in ("target_term", "normed_term"):
        rows[name] = mapped(rows[name], plain)
    is_whole = (rows[list(required)] != "").all(axis="columns")
    for line, category in rows.loc[~is_whole, "category"].items():
        column = "" if category else "category"
        log.note(reason, path.name, line=line, column=column)
    order = ["category", "target_term", "normed_term", "subcategory"]
    terms = rows.loc[is_whole, order].drop_duplicates().sort_values(order)
    _note_contradictions(terms, path.name, log)
    return TERMS.frame(terms.to_dict("list"))


def _note_contradictions(terms: pd.DataFrame, file: str, log: IntakeLog) -> None:
    """Note every term of a finding or location that has several canonical forms."""
    is_location = terms["category"] == "location"
    # Terms of attributes are not used.
    is_used = is_location | terms["category"].map(category_code).notna()
    forms = (
        terms[is_used].groupby([is_location, "target_term"])["normed_term"].nunique()
    )
    for _, target in forms.index[forms > 1]:
        log.note("vocabulary-contradiction", file, column="normed_term", found=target)


def read_metadata(
    path: Path | None, study_ids: Collection[str], log: IntakeLog
) -> pd.DataFrame:
    """Read views, time and patient of studies, united over the images of each.

    The patient and the time are those of the first image. The name of the procedure
    counts only where the view position is empty.

    Args:
        path: `mimic-cxr-2.0.0-metadata.csv`, or a table of its columns; None: there is
            none, which is noted.
        study_ids: of the studies that are read.
        log: takes notes on rows, columns and codes that are not understood.

    Returns:
        `METADATA_COLUMNS` by study id.
    """
    if path is None:
        log.note("metadata-missing", "mimic-cxr-2.0.0-metadata.csv")
        return pd.DataFrame(columns=list(METADATA_COLUMNS), dtype=object)
    optional = (_POSITION, _ORIENTATION, *_PROCEDURES, _DATE, _TIME, _PATIENT)
    images = _rows_of_studies(path, (), optional, log, _METADATA_ROW_IGNORED)
    images = images[images["study"].isin(study_ids)]
    # Images repeat a handful of words.
    words = images[_POSITION] + "\n" + images[_ORIENTATION]
    codes = mapped(words, lambda cells: coded_views(*cells.split("\n", 1)))
    unknown = codes.map(lambda coded: coded[1]).explode().dropna()
    counts: dict[Any, int] = unknown.value_counts().sort_index().to_dict()
    for (column, code), count in counts.items():
        found = f"{code} ({count} images)"
        log.note("unknown-view-code", path.name, column=column, found=found)
    procedures = images[_PROCEDURES[0]] + " ; " + images[_PROCEDURES[1]]
    # A number may have lost its zeros in front.
    date = mapped(images[_DATE], lambda cell: f"{cell.split('.')[0]:0>8}")
    time = mapped(images[_TIME], lambda cell: f"{cell.split('.')[0]:0>6}")
    # What a code says is surer than a name of the procedure.
    named = mapped(procedures, lambda words: written(named_views(words)))
    images = images.assign(
        coded=codes.map(lambda coded: written(coded[0])),
        named=named.where(images[_POSITION] == "", ""),
        # Undated images and those without a patient say nothing of their study.
        taken_at=(date + time).where(images[_DATE] != ""),
        patient=images[_PATIENT].where(images[_PATIENT] != ""),
    )
    by_study = images.groupby("study")
    coded = by_study["coded"].agg(", ".join)
    views = coded + ", " + by_study["named"].agg(", ".join)
    united = views.map(lambda words: written(words.split(", ")))
    is_coded = coded.str.strip(", ") != ""
    source = is_coded.map({True: "metadata", False: "procedure text"})
    studies = {
        "view_information": united,
        "view_source": source.where(united != "", ""),
        "taken_at": by_study["taken_at"].min().fillna(""),
        "patient": by_study["patient"].first().fillna(""),
    }
    return pd.DataFrame(studies, dtype=object)


def split_metadata(path: Path, studies_by_file: Mapping[Path, Collection[str]]) -> None:
    """Divide image metadata among files, as plain CSV with the same header.

    Args:
        path: the metadata as they were delivered.
        studies_by_file: ids of the studies whose rows a file gets.
    """
    header, values, broken = read_records(path, may_be_empty=True)
    rows = values.drop(broken.index)
    index = index_by_name(header).get("study_id")
    studies = pd.Series(None, rows.index, dtype=object)
    # Without that column no row is of any study.
    if index is not None:
        studies = mapped(rows[index], lambda cell: study_id(clean(cell)))
    for file, studies_of_file in studies_by_file.items():
        of_file = rows[studies.isin(studies_of_file)]
        of_file.to_csv(file, index=False, header=header, lineterminator="\n")


def read_reports(
    path: Path | None, study_ids: Collection[str], log: IntakeLog
) -> pd.Series:
    """Read raw report texts that lie beside findings.

    Args:
        path: a table with `study_id` and `report`, if there is one.
        study_ids: of the studies that are read; others are counted in a note.
        log: takes notes.

    Returns:
        The texts by study id.
    """
    if path is None:
        return pd.Series(dtype=object)
    rows = _rows_of_studies(path, ("report",), (), log, "report-row-ignored")
    is_known = rows["study"].isin(study_ids)
    others = rows.loc[~is_known, "study"].nunique()
    rows = rows[is_known & (rows["report"] != "")]
    texts = rows.drop_duplicates("study").set_index("study")["report"]
    for line, study in rows.loc[
        rows["report"] != rows["study"].map(texts), "study"
    ].items():
        cells = {"study_id": study, "column": "report"}
        log.note("reports-differ", path.name, line=line, **cells)
    if others:
        log.note("reports-without-rows", path.name, found=f"{others} studies")
    return texts


def _rows_of_studies(
    path: Path,
    required: tuple[str, ...],
    optional: tuple[str, ...],
    log: IntakeLog,
    reason: str,
) -> pd.DataFrame:
    """Read the cells of every record with its study's id in the column `study`.

    Takes the arguments of `_rows`; a record whose id cannot be read is noted instead.
    """
    rows = _rows(path, ("study_id", *required), optional, log, reason)
    rows["study"] = mapped(rows["study_id"], study_id)
    for line, found in rows.loc[rows["study"].isna(), "study_id"].items():
        log.note(reason, path.name, line=line, column="study_id", found=found)
    return rows[rows["study"].notna()]


def _rows(
    path: Path,
    required: tuple[str, ...],
    optional: tuple[str, ...],
    log: IntakeLog,
    reason: str,
) -> pd.DataFrame:
    """Read the cleaned cells of every record by its number.

    Args:
        path: a table.
        required: columns that must be there.
        optional: columns that may be there; of image metadata missing ones are noted.
        log: takes notes; a file without rows is noted, too.
        reason: code of the note on a record that is not used.
    """
    present, cells, broken = read_cells(path, required, optional, may_be_empty=True)
    for name in optional:
        if name not in present and reason == _METADATA_ROW_IGNORED:
            log.note("metadata-column-missing", path.name, column=name)
    for line in broken.index:
        log.note(reason, path.name, line=line)
    if cells.empty:
        log.note("side-file-without-rows", path.name)
    return cells.drop(broken.index)
