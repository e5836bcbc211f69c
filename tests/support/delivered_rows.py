"""Invented rows of the Lunguage format, and their CSV text; no tests here."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from lunguage_assets.corpus.intake import Intake
from lunguage_assets.tables import ATTRIBUTES

COLUMNS = [
    "", "subject_id", "study_id", "sequence", "section", "report", "sent_idx", "sent", "ent_idx", "ent",
    "normed_ent", "cat", "dx_status", "dx_certainty", "location", "evidence", "associate",
    *ATTRIBUTES.values(),
]  # fmt: skip
Row = Mapping[str, str]


def row(number: int, **cells: str) -> dict[str, str]:
    """A good row; `cells` replace single values ("past_hx" stands for the column "past
    hx").
    """
    values = dict.fromkeys(COLUMNS, "") | {
        "": str(number), "subject_id": "p10000001", "study_id": "s50000001", "sequence": "1",
        "section": "find", "report": "FINDINGS:\nAn invented report.", "sent_idx": "0",
        "sent": "There is an opacity.", "ent_idx": str(number), "ent": "opacity", "normed_ent": "opacity",
        "cat": "PF", "dx_status": "positive", "dx_certainty": "definitive",
    }  # fmt: skip
    for name, value in cells.items():
        values[ATTRIBUTES.get(name, name)] = value
    return values


def as_csv(
    rows: Sequence[Row], columns: Sequence[str] = COLUMNS, newline: str = "\n"
) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=newline)
    writer.writerow(columns)
    writer.writerows([[values[column] for column in columns] for values in rows])
    return text.getvalue()


Deliver = Callable[..., Intake]


def reasons(notes_or_rejected: pd.DataFrame) -> list[str]:
    """Reason codes in the order of the table."""
    return notes_or_rejected["reason"].tolist()
