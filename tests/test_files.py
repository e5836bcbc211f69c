"""Files for spreadsheets: nothing in a report is run as a formula, and nothing is lost."""

from __future__ import annotations

import csv
import io

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from lunguage_assets.files import cell_of_sheet, sheet, sheet_cell, sheet_frame

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")
texts = st.text() | st.builds(str.__add__, st.sampled_from([*FORMULAS, "'", "'=", "''-"]), st.text())


@given(texts)
def test_no_cell_begins_a_formula_and_every_cell_can_be_read_back(text: str) -> None:
    cell = sheet_cell(text)
    assert not cell.startswith(FORMULAS)
    assert cell_of_sheet(cell) == text
    assert cell in (text, "'" + text)


def test_numbers_stay_numbers_and_headings_are_cells_too() -> None:
    frame = pd.DataFrame({"n": [-1, 2], "p": [-0.5, None], "s": ["=1+1", None], "t": ["x", "@y"]})
    shown = sheet_frame(frame)
    assert shown["n"].tolist() == [-1, 2]
    assert shown["s"].tolist()[0] == "'=1+1"
    assert pd.isna(shown["s"][1])
    assert shown["t"].tolist() == ["x", "'@y"]
    assert list(csv.reader(io.StringIO(sheet([["=a", "b"], ["-", "1"]])))) == [["'=a", "b"], ["'-", "1"]]
