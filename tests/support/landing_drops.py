"""Invented deliveries and what drops them into a landing folder; no tests here."""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.landing import land

COLUMNS = [
    "subject_id",
    "study_id",
    "section",
    "sent",
    "ent",
    "dx_status",
    "dx_certainty",
]
DECLARED = 'name = "invented"\ndata_class = "synthetic"\n'
SPOKEN = "zebrafish"
"""A word of the invented sentences that must turn up nowhere but in the tables and the
delivered files.
"""


def rows(
    *studies: int, sentence: str = f"A possible {SPOKEN} opacity.", **cells: str
) -> pd.DataFrame:
    """One row per study; `cells` replace single values in all of them."""
    values = {
        "section": "find",
        "sent": sentence,
        "ent": "opacity",
        "dx_status": "positive",
        "dx_certainty": "tentative",
    } | cells
    findings = [
        {"subject_id": "p10000001", "study_id": f"s{study:08d}"} | values
        for study in studies
    ]
    return pd.DataFrame(findings, columns=COLUMNS)


def csv(*studies: int, **cells: str) -> bytes:
    return rows(*studies, **cells).to_csv(index=False).encode()


def packed(content: bytes, *, level: int = 9) -> bytes:
    return gzip.compress(content, compresslevel=level, mtime=level)


def parquet(*studies: int, **cells: str) -> bytes:
    stream = io.BytesIO()
    rows(*studies, **cells).to_parquet(stream)
    return stream.getvalue()


def score_output(passages: Mapping[str, str]) -> pd.DataFrame:
    """Rows as `lunguage-score` writes them into pred_SR_df.csv: one per finding, the
    numbered passage of its section beside it.
    """
    columns = [
        "custom_id", "report_type", "data_from", "study_id", "subject_id", "sentences", "sent_idx", "ent_idx",
        "entity", "is_correct", "cat", "dx_status", "dx_certainty", "location", "placement", "associate",
        "evidence", "morphology", "distribution", "measurement", "severity", "comparison", "onset",
        "no change", "improved", "worsened", "past hx", "other source", "assessment limitations",
    ]  # fmt: skip
    findings = [
        {
            "entity": "opacity",
            "dx_certainty": "tentative, tentative",
            "evidence": "edema, idx2",
        },
        {"entity": "edema", "dx_certainty": "definitive"},
    ]
    shared = {
        "data_from": "chexagent",
        "study_id": "s50000001",
        "subject_id": "p10000001",
        "cat": "pf",
    }
    shared |= {"dx_status": "positive", "is_correct": "True"}
    rows_of_study = [
        shared
        | {"custom_id": f"x_{number}", "report_type": section, "sentences": passage}
        | {"sent_idx": str(row_number), "ent_idx": str(row_number)}
        | cells
        for number, (section, passage) in enumerate(passages.items())
        for row_number, cells in enumerate(findings, 1)
    ]
    return pd.DataFrame(rows_of_study).reindex(columns=columns)


@dataclass
class Landing:
    """A landing folder and the home that takes from it."""

    root: Path
    home: Home

    def drop(self, name: str, content: bytes | str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def land(self, stable_s: float | None = None) -> dict[str, tuple[str, str]]:
        """State and message of each delivery after one pass."""
        outcomes = land(self.home, self.root, stable_s)
        return {name: (state, message) for name, state, message in outcomes}

    @property
    def batches(self) -> list[str]:
        return [batch.key for batch in self.home.registered()]
