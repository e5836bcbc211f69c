"""What a table's schema says is refused before anything is stored, and every rule of every suite can fail and
says what to do.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from small_homes import store_unchecked

from lunguage_assets.errors import InvalidTable
from lunguage_assets.home.store import write_table
from lunguage_assets.quality import validation
from lunguage_assets.quality.suites import COLUMNS, derived_rules, load_suite, written_suite
from lunguage_assets.quality.validation import (
    outcomes,
    record_results,
    remedy,
    schema_results,
    suite_results,
    was_evaluated,
)
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.columns import SOME_TEXT
from lunguage_assets.tables.schema import Column, Only, Present, Table

SMALL = Table(
    "small",
    "A table with one rule of every kind.",
    (
        Column("key", "string", "Key", pattern="^k[0-9]+$"),
        Column("kind", "string", "Kind", choices=("with", "without")),
        Column("note", "string", "Note", nullable=True, pattern="<finding>"),
        Column("low", "float", "Low", nullable=True),
        Column("middle", "float", "Middle"),
        Column("high", "float", "High"),
        Column("place", "int", "Place", minimum=0),
        Column("sound", "bool", "Sound", choices=(True,)),
        Column("marked", "bool", "Marked"),
        Column("remark", "string", "Remark"),
        Column("version", "string", "Version"),
    ),
    ("key",),
    ordered=(("low", "middle", "high"),),
    unique=(("kind", "place"),),
    present=(Present("note", "kind", ("with",)),),
    only=(Only("marked", "kind", ("with",)), Only("remark", "kind", ("with",))),
    constant=("version",),
)
HONEST = {
    "key": "k1",
    "kind": "with",
    "note": "a <finding>",
    "low": 0.1,
    "middle": 0.2,
    "high": 0.3,
    "place": 1,
    "sound": True,
    "marked": True,
    "remark": "r",
    "version": "v",
}
NOTHING = {"note": None, "low": None, "marked": False, "remark": ""}
OTHER = {**HONEST, "key": "k2", "kind": "without", **NOTHING}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"key": "K1"}, r"key has the form \^k"),
        ({"note": "no mask"}, "note has the form <finding>"),
        ({"note": None}, "note is there exactly where kind is with"),
        ({"kind": "without", "place": 3}, "note is there exactly where kind is with"),
        ({"low": 0.25}, "low <= middle"),
        ({"middle": 0.4}, "middle <= high"),
        ({"kind": "without", **NOTHING}, r"\(kind, place\) is unique"),
        ({"kind": "without", **NOTHING, "marked": True}, "marked holds something only where kind is with"),
        ({"kind": "without", **NOTHING, "remark": "r"}, "remark holds something only where kind is with"),
        ({"version": "w"}, "version has one value"),
        ({"sound": False}, "sound is one of"),
        ({"key": "k2"}, r"\(key\) is unique"),
    ],
)
def test_a_row_that_breaks_a_rule_is_refused_by_key_and_nothing_is_stored(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    write_table(SMALL, SMALL.frame([HONEST, OTHER]), tmp_path / "t.parquet")
    before = (tmp_path / "t.parquet").read_bytes()
    with pytest.raises(InvalidTable, match=named) as refused:
        write_table(SMALL, SMALL.frame([{**HONEST, **change}, OTHER]), tmp_path / "t.parquet")
    assert "no mask" not in str(refused.value)
    assert (tmp_path / "t.parquet").read_bytes() == before


@examples(50)
@given(st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_an_interval_is_refused_exactly_when_it_does_not_hold_its_value(values: list[float]) -> None:
    low, middle, high = values
    frame = SMALL.frame([{**HONEST, "low": low, "middle": middle, "high": high}])
    assert (SMALL.violations(frame) == []) == (low <= middle <= high)


@examples(50)
@given(st.text(max_size=12))
def test_a_form_is_asked_of_the_whole_string(written: str) -> None:
    frame = SMALL.frame([{**HONEST, "key": written}])
    fits = written[:1] == "k" and written[1:] != "" and all(digit in "0123456789" for digit in written[1:])
    assert (SMALL.violations(frame) == []) == fits


def test_a_column_is_constant_in_each_partition_and_not_over_all_of_them() -> None:
    both = SMALL.frame([HONEST, OTHER]).assign(version=["v", "w"], report_batch=["a", "b"])
    assert SMALL.violations(both, ["report_batch"]) == []
    assert len(SMALL.violations(both)) == 1


def test_a_number_that_is_none_counts_as_empty_also_where_another_program_wrote_it() -> None:
    frame = SMALL.frame([HONEST]).assign(middle=float("nan"))
    assert any("middle is never empty" in problem for problem in SMALL.violations(frame))


def test_an_empty_table_breaks_no_rule() -> None:
    assert SMALL.violations(SMALL.frame()) == []


def plain(column: Column) -> Any:
    """A value that the column by itself allows."""
    if column.choices:
        return column.choices[0]
    return {"string": "x", "int": 1, "float": 0.5, "bool": True, "strings": []}[column.type]


def spoilt(table: Table, rules: list[dict[str, Any]]) -> pd.DataFrame:
    """A frame in which every rule about values is broken by a row of its own; equal keys break those about
    uniqueness.
    """
    rows: list[dict[str, Any]] = []
    conditions = {rule.column: rule for rule in (*table.present, *table.only)}
    for rule in rules:
        kwargs, row = rule["kwargs"], {column.name: plain(column) for column in table.columns}
        column = kwargs.get("column", "")
        if "row_condition" in kwargs and rule["meta"]["derived"]:
            known = conditions[column]
            there = kwargs["row_condition"].startswith("~")
            row[known.when] = "something else" if there else known.values[0]
            row[column] = plain(table.column(column)) if there else None
        if rule["type"] == "expect_column_values_to_not_be_null":
            row[column] = None
        elif rule["type"] == "expect_column_values_to_be_in_set":
            first = kwargs["value_set"][0]
            row[column] = not first if isinstance(first, bool) else "no such code"
        elif rule["type"] == "expect_column_values_to_be_between":
            row[column] = kwargs["min_value"] - 1 if "min_value" in kwargs else kwargs["max_value"] + 1
        elif rule["type"] == "expect_column_values_to_match_regex":
            row[column] = " " if kwargs["regex"] == SOME_TEXT else "!"
        elif rule["type"].startswith("expect_column_value_lengths"):
            row[column] = "x"
        elif rule["type"] == "expect_column_unique_value_count_to_be_between":
            row[column] = 0.25 if table.column(column).type == "float" else "another one"
        elif rule["type"] == "expect_column_pair_values_a_to_be_greater_than_b":
            text = table.column(kwargs["column_A"]).type == "string"
            row[kwargs["column_A"]], row[kwargs["column_B"]] = ("a", "b") if text else (1, 2)
        rows.append(row)
    rows += [{column.name: plain(column) for column in table.columns}] * 2
    return pd.DataFrame(rows, columns=table.names).astype(object)


WITH_RULES_BY_HAND = ("comparison_matches",)


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_every_rule_of_a_suite_fails_on_the_rows_that_break_it_and_says_what_to_do(table: Table) -> None:
    rules = [rule for rule in load_suite(table.name)["expectations"] if rule["type"] != COLUMNS]
    found = outcomes(spoilt(table, rules), rules, range(len(rules)), {"result_format": "BOOLEAN_ONLY"})
    assert [rules[position] for position, outcome in found.items() if outcome.success] == []
    assert [rules[position] for position, outcome in found.items() if not was_evaluated(outcome)] == []
    assert all(len(remedy(rule, "some_job")) > 40 for rule in rules)


def test_an_empty_table_fulfils_every_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {rule["type"] for table in TABLES for rule in load_suite(table)["expectations"]}
    suite = written_suite(SMALL, None)
    assert known <= {rule["type"] for rule in suite["expectations"]}, "one rule of every kind"
    monkeypatch.setattr(validation, "load_suite", lambda _: suite)
    assert [found for found in suite_results(SMALL, SMALL.frame(), "some_job") if not found.success] == []


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_rows_that_break_a_rule_of_the_suite_break_one_of_the_store(table: Table) -> None:
    """So nothing is lost where Great Expectations does not run the rules of a schema again."""
    rules = [
        rule for rule in derived_rules(table) if rule["type"] != COLUMNS and "unique" not in rule["type"]
    ]
    frame = spoilt(table, rules)
    broken = [rows for _, rows in table.broken(frame.iloc[: len(rules)])]
    for position, rule in enumerate(rules):
        assert any(rows[position] for rows in broken), rule
    twice = table.broken(frame.iloc[len(rules) :])
    assert f"({', '.join(table.key)}) is unique" in [rule for rule, _ in twice]


def test_rows_that_the_store_would_have_refused_are_named_by_key_and_never_shown() -> None:
    frame = SMALL.frame([HONEST, OTHER]).assign(note=["planted words", None])
    (result,) = schema_results(SMALL, frame, "some_job")
    assert (result.failing_rows, result.failing_keys) == (1, ("k1",))
    assert "`some_job`" in result.remedy
    assert "planted" not in repr(result)
    assert schema_results(SMALL, SMALL.frame([HONEST, OTHER]), "some_job") == []


def test_a_file_that_is_not_the_one_that_was_stored_is_told_though_it_breaks_no_rule(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(SMALL, SMALL.frame([HONEST]), path)
    assert record_results(SMALL, path, "some_job") == []
    store_unchecked(SMALL, SMALL.frame([{**HONEST, "place": 2}]), path)
    (result,) = record_results(SMALL, path, "some_job")
    assert "`some_job`" in result.remedy


def test_only_tables_with_rules_by_hand_need_great_expectations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "great_expectations", None)  # importing it raises
    for name, table in TABLES.items():
        if name in WITH_RULES_BY_HAND:
            with pytest.raises(ImportError):
                suite_results(table, table.frame(), "some_job", by_hand=True)
        else:
            assert suite_results(table, table.frame(), "some_job", by_hand=True) == []


def test_rules_by_hand_run_alone_and_fail_on_their_defect() -> None:
    table = TABLES["comparison_matches"]
    rules = [rule for rule in load_suite(table.name)["expectations"] if not rule["meta"]["derived"]]
    (result,) = suite_results(table, spoilt(table, rules), "some_job", by_hand=True)
    assert not result.success
    assert "`build_vocabulary`" in result.remedy


def test_great_expectations_keeps_at_most_the_frame_it_saw_last() -> None:
    table = TABLES["comparison_matches"]
    for rows in (1234, 1235):
        suite_results(table, table.frame().reindex(range(rows)), "some_job", by_hand=True)
    gc.collect()
    frames = [found for found in gc.get_objects() if isinstance(found, pd.DataFrame)]
    assert [len(frame) for frame in frames if len(frame) == 1234] == []


def test_a_table_without_a_column_fails_and_names_the_job_that_makes_it() -> None:
    table = TABLES["terms"]
    results = suite_results(table, table.frame().drop(columns="subcategory"), "ingest")
    failing = [result for result in results if result.rule == COLUMNS]
    assert [result.success for result in failing] == [False]
    assert "`ingest`" in failing[0].remedy


def test_a_rule_that_cannot_be_evaluated_says_so_and_what_a_person_advises_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule = {"type": "expect_column_values_to_be_null", "kwargs": {"column": "gone"}, "meta": {"why": "w"}}
    monkeypatch.setattr(validation, "load_suite", lambda _: {"expectations": [rule]})
    (found,) = suite_results(SMALL, SMALL.frame([HONEST]), "some_job")
    assert not found.success
    assert "could not be evaluated" in found.remedy
    assert remedy({**rule, "meta": {"remedy": "Do this."}}, "some_job") == "Do this."
