"""Writes the restricted part of a release: rows of single studies.

DuckDB writes rows, studies and the tables as they are stored; memory does not grow with
the corpus. Labels are made by the package `labels`, some studies at a time. The queries
are in `resources/release_files.sql`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pandas as pd

from lunguage_assets.implicit.statements.label_file import LabelList, label_tools
from lunguage_assets.labels.chexpert_files import (
    chexpert_labels,
    chexpert_probabilities,
)
from lunguage_assets.labels.row_claims import LABEL_COLUMNS, LOG_COLUMNS
from lunguage_assets.labels.study_labels import (
    STUDY_COLUMNS,
    label_evidence,
    label_frame,
)
from lunguage_assets.parallel import map_chunks
from lunguage_assets.release.context import Release
from lunguage_assets.release.growing_files import Files, csv_text, growing_files
from lunguage_assets.release.newest import named_queries, quoted
from lunguage_assets.tables import ATTRIBUTES, LUNGUAGE_PLUS_PLUS, RELEASE, TABLES
from lunguage_assets.tables.released import LABELS, PUBLISHED_COLUMNS, STUDIES
from lunguage_assets.tables.schema import Column

TABLES_AS_STORED = tuple(
    name for name, table in TABLES.items() if table.released == "as stored"
)
"""Tables that are written as they are stored, with the batch."""

_LABELLED_BY = {
    "lunguage_plus_plus": LABEL_COLUMNS,
    "pathway_matches": ("finding_id", "diagnosis"),
    "reports": STUDY_COLUMNS,
    "resolution_log": LOG_COLUMNS,
}
"""What labels are made from: columns by table. Any other would be sorted, and sent to
another process, for nothing.
"""
_PUBLISHED_OTHERWISE = {
    "cat": "upper(cat)",
    "prob": "round_even(prob, 6)",
    "evidence": "reference.evidence",
    "associate": "reference.associate",
    "report": "nullif(report, '')",
}
"""Published columns that are not written as they are stored."""
# A spreadsheet runs what begins like this (`spreadsheets.py`); what was rejected is
# fixed in one.
_AS_CELL = (
    r"CASE WHEN regexp_matches(ltrim({0}, ''''), '^[-=+@\t\r\n]') "
    "THEN '''' || {0} ELSE {0} END"
)


def write_restricted(release: Release, folder: Path) -> None:
    """Write the files of rows and labels into the restricted part.

    Args:
        release: whose rows.
        folder: of the part.
    """
    studies = release.studies
    queries = named_queries("release_files.sql")
    folder.mkdir(parents=True)
    for name in TABLES_AS_STORED:
        cell = _sheet_cell if name == "rejected" else _csv_cell
        columns = [cell(column) for column in TABLES[name].columns]
        studies.copy(
            f"SELECT {', '.join(columns)}, report_batch FROM {name} "
            "ORDER BY batch_number, row",
            folder / f"{name}.csv",
        )
    ranking = release.ranking.iloc[0]
    made_with = {
        "ranker": quoted(release.ranker),
        "judges": f"[{', '.join(map(quoted, ranking['judges']))}]::VARCHAR[]",
        "ruler": quoted(str(ranking["ruler"])),
    }
    columns = [f"{made_with.get(name, name)} AS {name}" for name in RELEASE.names]
    studies.copy(
        queries["rows"].format(columns=", ".join(columns)),
        folder / "Lunguage_plus_plus.parquet",
    )
    studies.copy_by_patients(published_query(), folder / "Lunguage_plus_plus.csv")
    studies.query(queries["studies"])
    studies.copy("SELECT * FROM studies", folder / "studies.parquet")
    columns = [_csv_cell(column) for column in STUDIES.columns]
    studies.copy(f"SELECT {', '.join(columns)} FROM studies", folder / "studies.csv")
    _write_labels(release, folder)


def published_query() -> str:
    """Select rows in the published columns (implicit.md, section 6).

    Returns:
        SQL with `{patients}` for a condition on `subject_id`, sorted by patient.
    """
    internal = {public: name for name, public in ATTRIBUTES.items()}
    internal["DxTP"] = "currency"
    stored = {column.name: column for column in LUNGUAGE_PLUS_PLUS.columns}
    columns = []
    for name in PUBLISHED_COLUMNS:
        cell = _PUBLISHED_OTHERWISE.get(name)
        if cell is None:
            cell = _cell(stored[internal.get(name, name)], "stored.")
        columns.append(f'{cell} AS "{name}"')
    query = named_queries("release_files.sql")["published"]
    return query.format(columns=", ".join(columns), patients="{patients}")


def _csv_cell(column: Column) -> str:
    return f'{_cell(column)} AS "{column.name}"'


def _sheet_cell(column: Column) -> str:
    cell = _cell(column)
    if column.type == "string":
        cell = _AS_CELL.format(cell)
    return f'{cell} AS "{column.name}"'


def _cell(column: Column, table: str = "") -> str:
    """Write a value as a CSV has it: lists are joined by '; ', absent text is empty.

    Args:
        column: as it is stored.
        table: that has it, with a dot behind it.
    """
    name = f'{table}"{column.name}"'
    # DuckDB would write an empty text as "".
    if column.type == "string":
        return f"nullif({name}, '')"
    if column.type == "strings":
        return f"nullif(array_to_string({name}, '; '), '')"
    if column.type == "bool":
        return f"CASE WHEN {name} THEN 'True' WHEN NOT {name} THEN 'False' END"
    return name


def _write_labels(release: Release, folder: Path) -> None:
    parts = ((part,) for part in release.studies.parts(_LABELLED_BY, folder))
    written = map_chunks(
        _label_files,
        parts,
        label_tools,
        studies=release.studies.count,
        processes=release.processes,
    )
    # Closed where a file cannot be written, too: the processes end with it.
    with growing_files(folder) as append, closing(written):
        for files in written:
            append(files)


def _label_files(frames: Mapping[str, pd.DataFrame], label_list: LabelList) -> Files:
    """Write the labels of some studies, in all shapes."""
    reports = frames["reports"]
    evidence = label_evidence(
        frames["lunguage_plus_plus"],
        frames["pathway_matches"],
        label_list,
        frames["resolution_log"],
    )
    labels = label_frame(evidence, reports, label_list)
    return {
        "labels.parquet": LABELS.to_arrow(labels),
        "labels.csv": csv_text(labels),
        "labels_chexpert.csv": csv_text(chexpert_labels(evidence, reports, label_list)),
        "labels_probability.csv": csv_text(chexpert_probabilities(labels)),
    }
