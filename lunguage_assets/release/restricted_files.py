"""Writes the restricted part of a release: rows of single studies.

Everything that is written has passed its rules and guarantees first. The files come
from the newest delivery of every study (`newest.py`), some studies at a time; which
rows a label is decided by is in `labels/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lunguage_assets.errors import InvalidTable
from lunguage_assets.implicit.resolution.guarantees import refuse_violations
from lunguage_assets.implicit.rows import BARE
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.labels.chexpert_files import (
    chexpert_labels,
    chexpert_probabilities,
)
from lunguage_assets.labels.study_labels import label_evidence, label_frame
from lunguage_assets.parallel import map_chunks
from lunguage_assets.quality.rules import refuse_broken
from lunguage_assets.release.context import Release
from lunguage_assets.release.growing_files import Files, csv_text, growing_files
from lunguage_assets.release.newest import Order, Part
from lunguage_assets.spreadsheets import sheet_frame
from lunguage_assets.tables import ATTRIBUTES, RELEASE, TABLES
from lunguage_assets.tables.released import LABELS, PUBLISHED_COLUMNS, STUDIES

TABLES_AS_STORED = tuple(
    name for name, table in TABLES.items() if table.released == "as stored"
)
"""Tables that are written as they are stored, with the batch."""


class _FileGroup(NamedTuple):
    """Files that are written together.

    Attributes:
        write: makes their content of some studies.
        order: of the studies in them.
        tables: that they are made from.
    """

    write: Callable[..., Files]
    order: Order
    tables: Sequence[str]


def write_restricted(release: Release, folder: Path) -> None:
    """Write the files of rows and labels into the restricted part.

    Args:
        release: whose rows.
        folder: of the part.
    """
    for group in _FILE_GROUPS:
        parts = ((part,) for part in release.studies.parts(group.order, group.tables))
        written = map_chunks(
            group.write,
            parts,
            _tools,
            release.ranker,
            release.ranking,
            studies=release.studies.count,
            processes=release.processes,
        )
        # Closed where a file cannot be written, too: the processes end with it.
        with growing_files(folder) as append, closing(written):
            for files in written:
                append(files)


def _tools(ranker: str, ranking: pd.DataFrame) -> tuple[str, pd.DataFrame, LabelList]:
    """Make what every process needs once, besides the rows."""
    return ranker, ranking, load_label_list()


def _files_as_stored(part: Part, *_: object) -> Files:
    """Write tables as they are stored, with the batch."""
    files = {}
    for name, rows in part.frames().items():
        # What was rejected is for a spreadsheet, in which a person fixes it.
        table = sheet_frame(rows) if name == "rejected" else rows
        files[f"{name}.csv"] = csv_text(table)
    return files


def _label_files(
    part: Part, _ranker: str, _ranking: pd.DataFrame, label_list: LabelList
) -> Files:
    """Write the labels of some studies, in all shapes."""
    frames = part.frames()
    rows = frames["lunguage_plus_plus"]
    reports = frames["reports"]
    # Labels repeat p of these rows, so the rules about p are asserted on them.
    refuse_broken("fitted_probabilities", frames["fitted_probabilities"])
    refuse_broken("lunguage_plus_plus", rows)
    evidence = label_evidence(
        rows, frames["pathway_matches"], label_list, frames["resolution_log"]
    )
    labels = label_frame(evidence, reports, label_list)
    return {
        "labels.parquet": LABELS.to_arrow(labels),
        "labels.csv": csv_text(labels),
        "labels_chexpert.csv": csv_text(chexpert_labels(evidence, reports, label_list)),
        "labels_probability.csv": csv_text(chexpert_probabilities(labels)),
    }


def _row_files(
    part: Part, ranker: str, ranking: pd.DataFrame, _label_list: LabelList
) -> Files:
    """Write Lunguage++ of some studies, and the list of the studies."""
    frames = part.frames()
    rows = frames["lunguage_plus_plus"]
    accounts = frames["accounting"]
    reports = frames["reports"]
    # Asserted before these rows are written: a release that breaks a guarantee is none.
    refuse_violations(rows, accounts, reports)
    _refuse_missing(rows, accounts)
    released = released_rows(rows, ranker, ranking)
    studies = studies_frame(accounts, reports, frames["set_aside"])
    return {
        "Lunguage_plus_plus.csv": csv_text(published_frame(released, reports)),
        "Lunguage_plus_plus.parquet": RELEASE.to_arrow(released[RELEASE.names]),
        "studies.csv": csv_text(studies),
        "studies.parquet": STUDIES.to_arrow(studies),
    }


_FILE_GROUPS = (
    _FileGroup(_files_as_stored, "batch", TABLES_AS_STORED),
    _FileGroup(
        _label_files,
        "study",
        (
            "lunguage_plus_plus",
            "pathway_matches",
            "reports",
            "resolution_log",
            "fitted_probabilities",
        ),
    ),
    _FileGroup(
        _row_files,
        "patient",
        ("lunguage_plus_plus", "accounting", "reports", "set_aside"),
    ),
)


def published_frame(rows: pd.DataFrame, reports: pd.DataFrame) -> pd.DataFrame:
    """Put rows into the published columns (implicit.md, section 6).

    References go by number, `prob` is rounded to six decimals.

    Args:
        rows: LUNGUAGE_PLUS_PLUS.
        reports: REPORTS of the same studies; their text fills `report`.
    """
    text_by_study = dict(zip(reports["study_id"], reports["report"], strict=True))
    name_and_number = {
        finding: f"{ent}, idx{idx}"
        for finding, ent, idx in zip(
            rows["finding_id"], rows["ent"], rows["idx"], strict=True
        )
    }
    published = {
        "cat": rows["cat"].str.upper(),
        "prob": rows["prob"].round(6),
        "evidence": _references(rows["evidence"], name_and_number),
        "associate": _references(rows["associate"], name_and_number),
        "report": [text_by_study[study] for study in rows["study_id"]],
        "DxTP": rows["currency"],
        **{public: rows[internal] for internal, public in ATTRIBUTES.items()},
    }
    columns = {
        name: published[name] if name in published else rows[name]
        for name in PUBLISHED_COLUMNS
    }
    return pd.DataFrame(columns, index=rows.index)


def _references(
    references_by_row: pd.Series, name_and_number: Mapping[str, str]
) -> list[str]:
    """Write references to rows, then bare names: `nodule, idx2, haze`.

    A bare name before a pair would read as the beginning of the pair's name.
    """
    cells = []
    for references in references_by_row:
        rows = [
            name_and_number[reference]
            for reference in references
            if not reference.startswith(BARE)
        ]
        bare_names = [
            reference.removeprefix(BARE)
            for reference in references
            if reference.startswith(BARE)
        ]
        cells.append(", ".join(rows + bare_names))
    return cells


def released_rows(
    rows: pd.DataFrame, ranker: str, ranking: pd.DataFrame
) -> pd.DataFrame:
    """Put rows into the order and columns of RELEASE.

    Args:
        rows: LUNGUAGE_PLUS_PLUS with `report_batch`.
        ranker: whose probabilities these are.
        ranking: its REFERENCE_RANKING.
    """
    ordered = rows.sort_values(
        ["subject_id", "sequence", "study_id", "idx"], kind="stable", ignore_index=True
    )
    index = ordered.index
    judges = list(ranking["judges"].iloc[0])
    scale = str(ranking["ruler"].iloc[0])
    return ordered.assign(
        ranker=pd.Series(ranker, index=index, dtype="str"),
        judges=pd.Series([judges] * len(ordered), index=index, dtype=object),
        ruler=pd.Series(scale, index=index, dtype="str"),
    ).astype({"report_batch": "str"})


def studies_frame(
    accounts: pd.DataFrame, reports: pd.DataFrame, set_aside: pd.DataFrame
) -> pd.DataFrame:
    """List studies as STUDIES, sorted by patient and study.

    Args:
        accounts: ACCOUNTING with `report_batch`.
        reports: REPORTS of those that are not set aside.
        set_aside: SET_ASIDE of the others.
    """
    with_report = reports[["study_id", "subject_id", "source_id", "view_information"]]
    listed = with_report.assign(set_aside="").to_dict("records")
    for (study, subject), broken in set_aside.groupby(["study_id", "subject_id"]):
        listed.append(
            {
                "study_id": study,
                "subject_id": subject,
                "source_id": "",
                "view_information": "",
                "set_aside": "; ".join(broken["rule"].unique()),
            }
        )
    columns = [*with_report.columns, "set_aside"]
    joined = accounts[["study_id", "report_batch", "rows_out"]].merge(
        pd.DataFrame(listed, columns=columns), on="study_id", validate="1:1"
    )
    # As numbers, so that "s9" stands before "s10".
    joined["study_number"] = joined["study_id"].str[1:].astype("int64")
    joined["subject_number"] = joined["subject_id"].str[1:].astype("int64")
    ordered = joined.sort_values(["subject_number", "study_number"])
    return STUDIES.frame({name: ordered[name].tolist() for name in STUDIES.names})


def _refuse_missing(rows: pd.DataFrame, accounts: pd.DataFrame) -> None:
    """Raise `InvalidTable` unless every study has as many rows as its account says."""
    counts = rows["study_id"].value_counts()
    rows_by_study = counts.reindex(accounts["study_id"], fill_value=0).to_numpy()
    is_wrong = rows_by_study != accounts["rows_out"].to_numpy()
    wrong = accounts.loc[is_wrong, "study_id"].tolist()
    # Rows of a study without an account are in no count.
    if wrong or len(rows) != rows_by_study.sum():
        raise InvalidTable(
            "lunguage_plus_plus: not the rows that accounting counted, for instance of "
            f"{wrong[:5]}. Launch `expand` for their batches."
        )
