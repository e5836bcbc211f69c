"""docs/read.md says what is there: its examples run, and it names every frame with every column."""

from __future__ import annotations

import re
from dataclasses import fields
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
    annotation, labels = names["annotation"], names["labels"]
    assert isinstance(annotation, Annotation)
    assert isinstance(labels, pd.DataFrame)
    assert ["possible"] in annotation.findings["phrases"].tolist()
    assert set(labels["study_id"]) == {"a", "b"}


def test_the_page_names_every_frame_with_the_table_whose_columns_it_has() -> None:
    found = lunguage_assets.read("No effusion.")
    listed = re.findall(
        r"^\| `(\w+)` \| [^|]* \| ([^|]*) \| (.*)\|$", PAGE, re.MULTILINE
    )
    assert {frame for frame, _, _ in listed} == {
        part.name for part in fields(Annotation)
    }
    for frame, columns, more in listed:
        table, *some = re.findall(r"`(\w+)`", columns)
        stored = some or KNOWN[table].names if table in KNOWN else [table, *some]
        named = {*stored, *re.findall(r"`(\w+)`", more), "study_id"} - {
            "subject_id",
            "source_id",
            "number",
        }
        assert named == set(getattr(found, frame).columns), frame
