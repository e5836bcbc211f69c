"""Invented deliveries and what drops them into a landing folder; no tests here."""

from __future__ import annotations

import gzip
import io
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.landing import PassReport, land

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
    now: float = field(default_factory=time.time)

    def drop(self, name: str, content: bytes | str) -> None:
        """Write a file at the time that the test has set."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        os.utime(path, (self.now, self.now))

    def land(self, *, after_s: float = 0.0, seconds: float = 20.0) -> PassReport:
        """One pass, `after_s` later."""
        self.now += after_s
        return land(self.home, self.root, seconds=seconds, clock=lambda: self.now)

    def settle(self) -> PassReport:
        """A pass when what lies there is old enough."""
        return self.land(after_s=60.0)

    @property
    def files(self) -> set[str]:
        paths = (path for path in self.root.rglob("*") if not path.is_dir())
        return {path.relative_to(self.root).as_posix() for path in paths}

    @property
    def batches(self) -> dict[str, set[str]]:
        """Studies of every registered batch."""
        studies_by_batch = {}
        for batch in self.home.registered():
            path = self.home.delivery(batch.key).findings
            table = (
                pd.read_parquet(path)
                if path.suffix == ".parquet"
                else pd.read_csv(path, dtype=str)
            )
            studies_by_batch[batch.key] = set(table["study_id"])
        return studies_by_batch
