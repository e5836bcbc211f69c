"""What a table's schema says is refused before anything is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from stored_tables import store_table

from lunguage_assets.errors import InvalidTable
from lunguage_assets.tables.columns import number, text
from lunguage_assets.tables.schema import Table

SMALL = Table(
    name="small",
    description="A small table.",
    key=("key",),
    columns=(
        text("key", "Key", pattern="^k[0-9]+$"),
        text("note", "Note", pattern="<finding>"),
        *(number(name, name) for name in ("low", "middle", "high")),
    ),
    ordered=(("low", "middle", "high"),),
)
HONEST = {"key": "k1", "note": "a <finding>", "low": 0.1, "middle": 0.2, "high": 0.3}


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"note": "no mask"}, "note has the form <finding>"),
        ({"middle": 0.4}, "middle <= high"),
        ({"key": "k2"}, r"\(key\) is unique"),
    ],
)
def test_a_row_that_breaks_a_rule_is_refused_and_the_stored_table_stays(
    tmp_path: Path, change: dict[str, Any], rule: str
) -> None:
    """Each rule of a release's tables is broken in tests/release/test_sealing.py."""
    other = HONEST | {"key": "k2"}
    file = tmp_path / "t.parquet"
    store_table(SMALL, SMALL.frame([HONEST, other]), file)
    before = file.read_bytes()
    with pytest.raises(InvalidTable, match=rule) as refused:
        store_table(SMALL, SMALL.frame([HONEST | change, other]), file)
    assert "no mask" not in str(refused.value)
    assert file.read_bytes() == before


@examples(50)
@given(st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_an_interval_is_refused_exactly_when_it_does_not_hold_its_value(
    values: list[float],
) -> None:
    low, middle, high = values
    frame = SMALL.frame([{**HONEST, "low": low, "middle": middle, "high": high}])
    assert (SMALL.violations(frame) == []) == (low <= middle <= high)


@examples(50)
@given(st.text(max_size=12))
def test_a_form_is_asked_of_the_whole_string(key: str) -> None:
    frame = SMALL.frame([{**HONEST, "key": key}])
    fits = (
        key[:1] == "k"
        and key[1:] != ""
        and all(digit in "0123456789" for digit in key[1:])
    )
    assert (SMALL.violations(frame) == []) == fits


def test_what_is_not_a_number_counts_as_empty() -> None:
    frame = SMALL.frame([HONEST]).assign(middle=float("nan"))
    assert any(
        "middle is never empty" in problem for problem in SMALL.violations(frame)
    )
