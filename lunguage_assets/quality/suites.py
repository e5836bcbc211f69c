"""The suites in `expectations/`, one per table: the derivable rules come from the table's schema,
hand-written ones stand beside them.

A rule carries `meta.derived`: true means that `python -m lunguage_assets.quality.suites` writes it from the
schema; the others are kept as a person wrote them. great_expectations takes seconds to import, so only
`validation` imports it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from lunguage_assets.data_files import expectation
from lunguage_assets.files import replace_text
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.schema import Column, Only, Present, Table

COLUMNS = "expect_table_columns_to_match_ordered_list"

_NOT_EMPTY = "expect_column_values_to_not_be_null"
_ONE_OF = "expect_column_values_to_be_in_set"


def derived_rules(table: Table) -> list[dict[str, Any]]:
    """Expectations that follow from the schema: columns, presence, codes, ranges, forms, order of columns,
    keys.

    Types, and the presence of text (absent text is the empty string), are part of the Parquet schema, which
    reading asserts: repeating them here could not fail, and every rule costs great_expectations some 20 ms.
    """
    rules = [_rule(COLUMNS, "The table has exactly these columns.", column_list=table.names)]
    for column in table.columns:
        rules += _column_rules(column, column.name in table.key)
    rules += [_ordered(low, high) for chain in table.ordered for low, high in pairwise(chain)]
    for rule in table.present:
        rules += _presence_rules(rule)
    rules += [_only(table.column(rule.column), rule) for rule in table.only]
    rules += [_constant(name) for name in table.constant]
    rules.append(_unique(table.key, "The key identifies one row."))
    rules += [_unique(group, f"No two rows share {' and '.join(group)}.") for group in table.unique]
    return rules


def _column_rules(column: Column, in_key: bool) -> Iterator[dict[str, Any]]:
    # a float that is not a number counts as empty
    if not column.nullable and (in_key or column.type == "float"):
        yield _rule(_NOT_EMPTY, f"{column.description}: never empty.", column=column.name)
    if column.choices:
        yield _rule(_ONE_OF, column.description, column=column.name, value_set=list(column.choices))
    limits = {"min_value": column.minimum, "max_value": column.maximum}
    if bounds := {name: limit for name, limit in limits.items() if limit is not None}:
        kind = "expect_column_values_to_be_between"
        yield _rule(kind, column.description, column=column.name, **bounds)
    if column.pattern:
        kind = "expect_column_values_to_match_regex"
        yield _rule(kind, column.description, column=column.name, regex=column.pattern)


def _ordered(low: str, high: str) -> dict[str, Any]:
    pair = {"column_A": high, "column_B": low, "or_equal": True, "ignore_row_if": "either_value_is_missing"}
    return _rule("expect_column_pair_values_a_to_be_greater_than_b", f"{low} is at most {high}.", **pair)


def _presence_rules(rule: Present) -> Iterator[dict[str, Any]]:
    there = _named_rows(rule)
    for kind, what, rows in (
        (_NOT_EMPTY, "there where", there),
        ("expect_column_values_to_be_null", "empty unless", f"~{there}"),
    ):
        why = f"{rule.column} is {what} {rule.when} is {' or '.join(rule.values)}."
        yield _rule(kind, why, column=rule.column, row_condition=rows, condition_parser="pandas")


def _only(column: Column, rule: Only) -> dict[str, Any]:
    rows = f"~{_named_rows(rule)}"
    elsewhere: dict[str, Any] = {"column": rule.column, "row_condition": rows, "condition_parser": "pandas"}
    why = f"{rule.column} holds something only where {rule.when} is {' or '.join(rule.values)}."
    if column.type == "bool":
        return _rule(_ONE_OF, why, **elsewhere, value_set=[False])
    return _rule("expect_column_value_lengths_to_equal", why, **elsewhere, value=0)


def _named_rows(rule: Present | Only) -> str:
    return f"{rule.when}.isin([{', '.join(json.dumps(value) for value in rule.values)}])"


def _constant(name: str) -> dict[str, Any]:
    kind, why = "expect_column_unique_value_count_to_be_between", f"All rows of a partition have one {name}."
    return _rule(kind, why, column=name, min_value=0, max_value=1)


def _unique(columns: tuple[str, ...], why: str) -> dict[str, Any]:
    if len(columns) == 1:
        return _rule("expect_column_values_to_be_unique", why, column=columns[0])
    return _rule("expect_compound_columns_to_be_unique", why, column_list=list(columns))


def _rule(kind: str, why: str, **kwargs: Any) -> dict[str, Any]:
    return {"type": kind, "kwargs": kwargs, "meta": {"derived": True, "why": why}}


def load_suite(table: str) -> dict[str, Any]:
    """The suite of a table as stored."""
    suite: dict[str, Any] = json.loads(expectation(f"{table}.json").read_text(encoding="utf-8"))
    return suite


def written_suite(table: Table, present: dict[str, Any] | None) -> dict[str, Any]:
    """The suite with its derived rules renewed and its hand-written rules kept."""
    kept = [rule for rule in (present or {}).get("expectations", []) if not rule["meta"].get("derived")]
    return {
        "name": table.name,
        "meta": {"description": table.description},
        "expectations": [*derived_rules(table), *kept],
    }


def main() -> None:
    """Renew the derived rules of every suite."""
    for name, table in TABLES.items():
        path = expectation(f"{name}.json")
        present = load_suite(name) if path.exists() else None
        replace_text(path, json.dumps(written_suite(table, present), indent=1) + "\n")


if __name__ == "__main__":
    main()
