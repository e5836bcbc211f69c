"""The released tables: the published columns, and the Parquet file with the provenance of every row."""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.tables import columns as c
from lunguage_assets.tables.columns import code, integer, listed, text
from lunguage_assets.tables.implicit import LUNGUAGE_PLUS_PLUS
from lunguage_assets.tables.schema import Table

PUBLISHED_COLUMNS: tuple[str, ...] = (
    "idx", "subject_id", "study_id", "sequence", "section", "sent", "ent", "cat", "prob", "status",
    "location", "evidence", "associate", "morphology", "distribution", "measurement", "severity",
    "comparison", "onset", "no change", "improved", "worsened", "placement", "past hx", "other source",
    "assessment limitations", "report", "view_information", "pathway", "DxTP",
)  # fmt: skip
"""Columns of the published Lunguage++ CSV, in order (implicit.md section 6)."""


RELEASE = replace(
    LUNGUAGE_PLUS_PLUS,
    name="release",
    description="The released Parquet: Lunguage++ with the provenance of every row.",
    columns=(
        *LUNGUAGE_PLUS_PLUS.columns,
        text("report_batch", "Batch that delivered the released version of the study"),
        text("ranker", "Ranker whose probabilities these are"),
        listed("judges", "Judges of the ranker, in panel order"),
        code("ruler", "own: ranked on this corpus; published: the paper's ranking", ("own", "published")),
    ),
    constant=(),
)

STUDIES = Table(
    "studies",
    "The studies of a release, one row each, also those without any row: identifiers as numbers, as in the "
    "files of MIMIC-CXR-JPG.",
    (
        c.STUDY,
        c.ANY_SUBJECT,
        integer("study_number", "study_id without its letter"),
        integer("subject_number", "subject_id without its letter"),
        c.VIEWS_WRITTEN,
        text("report_batch", "Batch that delivered the released version of the study"),
        integer("rows_out", "Rows of the study in the result"),
        text("set_aside", "Rules that the study broke, so that it has no rows and no labels; else empty"),
    ),
    ("study_id",),
)  # fmt: skip
