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
from lunguage_assets.tables.columns import flag, integer, number, text
from lunguage_assets.tables.schema import Table, Where

SMALL = Table(
    name="small",
    description="A table with one rule of every kind.",
    key=("key",),
    columns=(
        text("key", "Key", pattern="^k[0-9]+$"),
        text("kind", "Kind", choices=("with", "without")),
        text("note", "Note", nullable=True, pattern="<finding>"),
        number("low", "Low", nullable=True),
        *(number(name, name) for name in ("middle", "high")),
        integer("place", "Place"),
        flag("sound", "Sound", choices=(True,)),
        flag("marked", "Marked"),
        *(text(name, name) for name in ("remark", "version")),
    ),
    ordered=(("low", "middle", "high"),),
    unique=(("kind", "place"),),
    present=(Where("note", "kind", ("with",)),),
    only=(Where("marked", "kind", ("with",)), Where("remark", "kind", ("with",))),
    constant=("version",),
)
HONEST = {
    "key": "k1", "kind": "with", "note": "a <finding>", "low": 0.1, "middle": 0.2, "high": 0.3, "place": 1,
    "sound": True, "marked": True, "remark": "r", "version": "v",
}  # fmt: skip
NOTHING = {"note": None, "low": None, "marked": False, "remark": ""}
OTHER = {**HONEST, "key": "k2", "kind": "without", **NOTHING}


@pytest.mark.parametrize(
    ("change", "expected_key"),
    [
        ({"key": "K1"}, r"key has the form \^k"),
        ({"note": "no mask"}, "note has the form <finding>"),
        ({"note": None}, "note is there exactly where kind is with"),
        ({"kind": "without", "place": 3}, "note is there exactly where kind is with"),
        ({"low": 0.25}, "low <= middle"),
        ({"middle": 0.4}, "middle <= high"),
        ({"kind": "without", **NOTHING}, r"\(kind, place\) is unique"),
        (
            {"kind": "without", **NOTHING, "marked": True},
            "marked holds something only where kind is with",
        ),
        (
            {"kind": "without", **NOTHING, "remark": "r"},
            "remark holds something only where kind is with",
        ),
        ({"version": "w"}, "version has one value"),
        ({"sound": False}, "sound is one of"),
        ({"key": "k2"}, r"\(key\) is unique"),
    ],
)
def test_a_row_that_breaks_a_rule_is_refused_by_key(
    tmp_path: Path, change: dict[str, Any], expected_key: str
) -> None:
    store_table(SMALL, SMALL.frame([HONEST, OTHER]), tmp_path / "t.parquet")
    before = (tmp_path / "t.parquet").read_bytes()
    with pytest.raises(InvalidTable, match=expected_key) as refused:
        store_table(
            SMALL, SMALL.frame([{**HONEST, **change}, OTHER]), tmp_path / "t.parquet"
        )
    assert "no mask" not in str(refused.value)
    assert (tmp_path / "t.parquet").read_bytes() == before


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
