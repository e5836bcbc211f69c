"""Invented deliveries and what drops them into a landing folder; no tests here."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.landing import land

DECLARED = 'name = "invented"\ndata_class = "synthetic"\n'
SPOKEN = "zebrafish"
"""A word of the invented sentences that must turn up nowhere but in the tables and the
delivered files.
"""


def rows(study: int) -> pd.DataFrame:
    """One row, of this study."""
    values = {
        "subject_id": "p10000001", "study_id": f"s{study:08d}", "section": "find", "sent_idx": "0",
        "sent": f"A possible {SPOKEN} opacity.", "ent_idx": "1", "ent": "opacity",
        "dx_status": "positive", "dx_certainty": "tentative",
    }  # fmt: skip
    return pd.DataFrame([values])


def csv(study: int) -> bytes:
    return rows(study).to_csv(index=False).encode()


def parquet(study: int) -> bytes:
    stream = io.BytesIO()
    rows(study).to_parquet(stream)
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
