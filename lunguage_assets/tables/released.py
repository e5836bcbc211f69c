"""The released tables: the published columns, and the Parquet file with the provenance of every row."""

from __future__ import annotations

from lunguage_assets.tables.columns import text
from lunguage_assets.tables.implicit import LUNGUAGE_PLUS_PLUS
from lunguage_assets.tables.schema import Column, Table

PUBLISHED_COLUMNS: tuple[str, ...] = (
    "idx", "subject_id", "study_id", "sequence", "section", "sent", "ent", "cat", "prob", "status",
    "location", "evidence", "associate", "morphology", "distribution", "measurement", "severity",
    "comparison", "onset", "no change", "improved", "worsened", "placement", "past hx", "other source",
    "assessment limitations", "report", "view_information", "pathway", "DxTP",
)  # fmt: skip
"""Columns of the published Lunguage++ CSV, in order (implicit.md section 6)."""


RELEASE = Table(
    "release",
    "The released Parquet: Lunguage++ with the provenance of every row.",
    (
        *LUNGUAGE_PLUS_PLUS.columns,
        text("report_batch", "Batch that delivered the released version of the study"),
        text("ranker", "Ranker whose probabilities these are"),
        Column("judges", "strings", "Judges of the ranker, in panel order"),
        Column(
            "ruler",
            "string",
            "own: ranked on this corpus; published: the paper's ranking",
            choices=("own", "published"),
        ),
    ),
    ("finding_id",),
    ordered=LUNGUAGE_PLUS_PLUS.ordered,
    unique=LUNGUAGE_PLUS_PLUS.unique,
    present=LUNGUAGE_PLUS_PLUS.present,
    only=LUNGUAGE_PLUS_PLUS.only,
)
