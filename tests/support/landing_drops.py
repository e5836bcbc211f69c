"""Invented deliveries and what drops them into a landing folder; no tests here."""

from __future__ import annotations

import gzip
import io
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.landing import land

COLUMNS = [
    "subject_id",
    "study_id",
    "section",
    "sent_idx",
    "sent",
    "ent_idx",
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
        "sent_idx": "0",
        "ent_idx": "1",
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
