"""What an asset shows of itself: counts with shares and bars, pictures, columns."""

from __future__ import annotations

import base64
import io

import pandas as pd
from PIL import Image, ImageChops

from lunguage_assets.orchestration.metadata import account_of, as_written, column_schema, counts, picture
from lunguage_assets.pictures.plots import probability_histogram
from lunguage_assets.tables import HEDGE_PHRASES


def test_columns_that_hold_report_text_are_marked_and_no_word_is_lost() -> None:
    shown = {column.name: column.description or "" for column in column_schema(HEDGE_PHRASES).columns}
    assert "[report text]" in shown["sent"]
    assert as_written("every mention as <finding>; 3 < 5") == "every mention as `<finding>`; 3 < 5"


def test_counts_are_a_table_with_shares_and_bars() -> None:
    table = counts({"kept": 8, "merged": 2, "never": 0}, "disposition").value
    assert table.splitlines() == [
        "| disposition | rows | share | |",
        "|---|---:|---:|---|",
        "| kept | 8 | 80.0% | ████████████████ |",
        "| merged | 2 | 20.0% | ████ |",
    ]
    assert counts({"a": 3, "b": 2, "c": 1}, "letter", most=2).value.splitlines()[2:] == [
        "| a | 3 | 50.0% | ████████████████ |",
        "| b | 2 | 33.3% | ██████████▋ |",
    ], "shares are of all, also of those not shown"
    assert counts({}, "nothing").value == "none"
    assert account_of({"rows_in": 4, "merged": 0, "rows_out": 4}, "account").value.splitlines()[2:] == [
        "| rows in | 4 | 100.0% | ████████████████ |",
        "| merged | 0 | 0.0% |  |",
        "| rows out | 4 | 100.0% | ████████████████ |",
    ]


def test_a_rare_count_still_shows() -> None:
    assert counts({"many": 100_000, "one": 1}, "of").value.splitlines()[-1] == "| one | 1 | 0.0% | ▏ |"


def test_a_picture_is_stored_smaller_and_shows_the_same() -> None:
    drawn = probability_histogram(pd.Series([0.1, 0.2, 0.2, 0.9]))
    kept = base64.b64decode(
        picture(drawn).value.removeprefix("![plot](data:image/png;base64,").removesuffix(")")
    )
    assert picture(drawn).value == picture(drawn).value, "the same bytes again"
    assert len(kept) < len(drawn)
    with Image.open(io.BytesIO(drawn)) as before, Image.open(io.BytesIO(kept)) as after:
        assert after.size == before.size
        difference = ImageChops.difference(before.convert("RGB"), after.convert("RGB"))
        assert max(high for _, high in difference.getextrema()) < 64
