"""docs/read.md says what is there: its examples run, and it names every frame with every column."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pandas as pd

import lunguage_assets
from lunguage_assets.annotation import Annotation
from lunguage_assets.cli.reading import DEFAULT_PORT

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "read.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_page_run() -> None:
    first, second = EXAMPLES
    names: dict[str, object] = {}
    exec(first + second, names)
    annotation, labels = names["annotation"], names["labels"]
    assert isinstance(annotation, Annotation)
    assert isinstance(labels, pd.DataFrame)
    assert "possible" in annotation.findings["phrase"].tolist()
    assert set(labels["study_id"]) == {"a", "b"}


def test_the_page_names_every_frame_with_its_columns_and_no_other() -> None:
    found = lunguage_assets.read("No effusion.")
    listed = re.findall(r"^\| `(\w+)` \| [^|]* \| (.*) \|$", PAGE, re.MULTILINE)
    assert [frame for frame, _ in listed] == [
        "reports", "sentences", "findings", "left_out", "conflicts", "labels", "spans", "set_aside"
    ]  # fmt: skip
    assert {frame for frame, _ in listed} == {part.name for part in fields(Annotation)}
    for frame, columns in listed:
        named = set(re.findall(r"`(\w+)`", columns))
        assert named | {"study_id"} == set(getattr(found, frame).columns), frame


def test_the_page_names_the_address_of_the_server() -> None:
    assert f"http://127.0.0.1:{DEFAULT_PORT}" in PAGE
