"""Files for spreadsheets and pages: nothing in them is run or drawn, and nothing is
lost.
"""

from __future__ import annotations

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lunguage_assets.errors import InputError
from lunguage_assets.spreadsheets import cell_of_sheet, sheet_cell, sheet_frame
from lunguage_assets.wording import literal

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")
texts = st.text() | st.builds(
    str.__add__, st.sampled_from([*FORMULAS, "'", "'=", "''-"]), st.text()
)


@given(texts)
def test_no_cell_begins_a_formula_and_every_cell_can_be_read_back(text: str) -> None:
    cell = sheet_cell(text)
    assert not cell.startswith(FORMULAS)
    assert cell_of_sheet(cell) == text
    assert cell in (text, "'" + text)


def test_numbers_stay_numbers() -> None:
    frame = pd.DataFrame(
        {"n": [-1, 2], "p": [-0.5, None], "s": ["=1+1", None], "t": ["x", "@y"]}
    )
    cells = sheet_frame(frame)
    assert cells["n"].tolist() == [-1, 2]
    assert cells["s"].tolist()[0] == "'=1+1"
    assert pd.isna(cells["s"][1])
    assert cells["t"].tolist() == ["x", "'@y"]


@given(st.text(st.sampled_from("ab _*`<>[]()!&~|\\#;:/.-"), max_size=20))
def test_markdown_shows_any_words_as_they_are(words: str) -> None:
    text = " ".join(words.split())
    (_, inline, _) = MarkdownIt("commonmark").parse(f"Of {literal(text)}.")
    assert {token.type for token in inline.children or ()} <= {"text", "text_special"}
    assert "".join(token.content for token in inline.children or ()) == f"Of {text}."


def test_words_for_markdown_have_no_line_ends_or_terminal_codes() -> None:
    assert literal("a\n# b\x1b[31m") == "a # b\\\\x1b\\[31m"


def test_an_error_is_told_on_one_line_without_codes_of_a_terminal() -> None:
    error = InputError("a\nremedy: b\x1b[31m\u202e.csv", "x\ud800", "y", "z")
    assert (
        str(error) == "a\\nremedy: b\\x1b[31m\\u202e.csv: found x\\ud800; expected y. z"
    )
