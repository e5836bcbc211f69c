"""docs/read.md says what is there: its examples run, and it names every frame with
every column.
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

import lunguage_assets
from lunguage_assets.annotation.annotation import Annotation
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.released import LABELS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "read.md").read_text(
    encoding="utf-8"
)
KNOWN = {**TABLES, LABELS.name: LABELS}
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_page_run() -> None:
    first, second = EXAMPLES
    names: dict[str, object] = {}
    exec(first + second, names)
    annotation = names["annotation"]
    labels = names["labels"]
    assert isinstance(annotation, Annotation)
    assert isinstance(labels, pd.DataFrame)
    assert ["possible"] in annotation.findings["phrases"].tolist()
    assert set(labels["study_id"]) == {"a", "b"}


def test_the_page_names_every_frame_with_the_table_whose_columns_it_has() -> None:
    annotation = lunguage_assets.read("No effusion.")
    table_rows = re.findall(
        r"^\| `(\w+)` \| [^|]* \| ([^|]*) \| (.*)\|$", PAGE, re.MULTILINE
    )
    assert {frame for frame, _, _ in table_rows} == set(Annotation._fields)
    for frame, columns_cell, note in table_rows:
        table, *columns_named = re.findall(r"`(\w+)`", columns_cell)
        stored = (
            columns_named or KNOWN[table].names
            if table in KNOWN
            else [table, *columns_named]
        )
        all_named = {*stored, *re.findall(r"`(\w+)`", note), "study_id"} - {
            "subject_id",
            "source_id",
            "number",
        }
        assert all_named == set(getattr(annotation, frame).columns), frame
