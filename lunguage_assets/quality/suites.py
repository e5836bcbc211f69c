"""Expectations that people write about the tables of the method, run by Great Expectations:
`expectations/<table>.yaml`, or a file of that name in the folder `expectations` of the home. They only warn.
Results carry keys and counts of rows, never their values: those may be report text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from lunguage_assets.files import is_numeric, shown_phrase
from lunguage_assets.packaged_data import expectation, read_as
from lunguage_assets.tables.schema import Table

EXAMPLES = 20

_FIX = "Fix the file, as docs/ui.md says; the other expectations of the file are looked at all the same."


class Rule(BaseModel):
    """An expectation as a person writes it: `type` and its arguments as in the gallery of Great Expectations,
    `where` for the rows that it is about, `why` and `remedy` for whoever reads that it does not hold.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    type: str
    why: str
    remedy: str
    where: str = ""

    def __str__(self) -> str:
        shown = ", ".join(
            f"{name}: {value}" for name, value in (self.model_extra or {}).items()
        )
        return f"{self.type} ({shown})" + (
            f", where {self.where}" if self.where else ""
        )


class Suite(BaseModel):
    """What is expected of a table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    expectations: tuple[Rule, ...]


class Examined(NamedTuple):
    """An expectation that was held against a table.

    Args:
        rule: it, as it is written.
        why: what stands behind it.
        expected: it in words, bounds included.
        observed: what the table has instead: numbers and shares of rows, never words of a report.
        is_met: whether it holds.
        rows: how many rows do not meet it.
        keys: the keys of up to `EXAMPLES` of them.
        remedy: what to do where it does not hold.
    """

    rule: str
    why: str
    expected: str
    observed: str
    is_met: bool
    rows: int
    keys: tuple[str, ...]
    remedy: str


def suite_file(table: str, home: Path | None = None) -> Path:
    """The file of a table's suite: the home's own, else the packaged one."""
    own = home / "expectations" / f"{table}.yaml" if home is not None else None
    return own if own is not None and own.exists() else expectation(f"{table}.yaml")


def load_suite(file: Path) -> Suite:
    """The suite of a file; raises `ConfigurationError`, with file and field, when it cannot be read."""
    return read_as(file, Suite, _FIX)


def examined(table: Table, frame: pd.DataFrame, file: Path) -> list[Examined]:
    """Hold a table's rows against all expectations of a file, in its order; an empty table against none.
    Raises as `load_suite`.
    """
    rules = load_suite(file).expectations
    if frame.empty or not rules:
        return []
    results = _run(rules, frame[columns_named(rules, table)].reset_index(drop=True))
    return [
        _examined(*of, table, frame, file) for of in zip(rules, results, strict=True)
    ]


def columns_named(rules: Sequence[Rule], table: Table) -> list[str]:
    """The key and the columns that rules name: Great Expectations hashes every column that it gets."""
    if any(rule.type.startswith("expect_table_column") for rule in rules):
        return table.names
    words = {*table.key, *re.findall(r"\w+", " ".join(map(str, rules)))}
    return [name for name in table.names if name in words]


def _run(rules: Sequence[Rule], frame: pd.DataFrame) -> list[Any]:
    """Result of every rule, in their order; None of one that Great Expectations does not know."""
    import great_expectations as gx
    from great_expectations.exceptions import GreatExpectationsError
    from great_expectations.expectations.expectation_configuration import (
        ExpectationConfiguration,
    )

    results: list[Any] = [None] * len(rules)
    known = []
    for position, rule in enumerate(rules):
        of_rows = (
            {"row_condition": rule.where, "condition_parser": "pandas"}
            if rule.where
            else {}
        )
        arguments = {**(rule.model_extra or {}), **of_rows}
        written = ExpectationConfiguration(
            rule.type, arguments, meta={"position": position}
        )
        with suppress(GreatExpectationsError, TypeError, ValueError):
            known.append(written.to_domain_obj())
    # given at once: `add_expectation_configuration` keeps one of several for a column
    suite = gx.ExpectationSuite(name="rules", expectations=known)
    batch = _whole_frames().get_batch(batch_parameters={"dataframe": frame})
    shown = {"result_format": "COMPLETE", "return_unexpected_index_query": False}
    for result in batch.validate(
        suite, result_format=shown
    ).results:  # not in their order
        if (
            result.exception_info.get("raised_exception") is False
        ):  # else great_expectations names measures
            results[result.expectation_config.meta["position"]] = result
    return results


@cache
def _whole_frames() -> Any:
    """The batch definition through which frames are handed over; one context per process, kept in memory."""
    import great_expectations as gx

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)  # nothing about a corpus leaves the machine
    context.variables.progress_bars = {"globally": False}
    asset = context.data_sources.add_pandas("frames").add_dataframe_asset("frame")
    return asset.add_batch_definition_whole_dataframe("whole")


def _examined(
    rule: Rule, result: Any, table: Table, frame: pd.DataFrame, file: Path
) -> Examined:
    """An expectation and what was observed. A mean of no rows is none, and says nothing."""
    expected = _expected(rule)
    if result is None:
        why = "Great Expectations cannot run this expectation: see its type, columns and arguments."
        return Examined(
            str(rule), why, expected, "not run", False, 0, (), f"{file}: {_FIX}"
        )
    content = result.result
    value = content.get("observed_value", 0)
    is_met = bool(result.success) or (
        value is None and not content.get("unexpected_count")
    )
    rows = [] if is_met else content.get("unexpected_index_list") or []
    keys = table.keys_of(frame.iloc[rows[:EXAMPLES]])
    if table.key == ("phrase",):
        keys = [shown_phrase(key) for key in keys]
    observed = _observed(rule, content, frame, rows, is_met=is_met)
    return Examined(
        str(rule),
        rule.why,
        expected,
        observed,
        is_met,
        len(rows),
        tuple(keys),
        rule.remedy,
    )


def _expected(rule: Rule) -> str:
    """An expectation in words: "high at least 0.8, where ..."; of another form its type and arguments."""
    arguments = rule.model_extra or {}
    low, high = arguments.get("min_value"), arguments.get("max_value")
    bounds = [f"at least {low:g}"] if isinstance(low, int | float) else []
    bounds += [f"at most {high:g}"] if isinstance(high, int | float) else []
    if not bounds:
        return str(rule)
    measured = rule.type.removeprefix("expect_").removesuffix("_to_be_between")
    measured = measured.removeprefix("column_").replace("_", " ")
    subject = str(arguments.get("column", "the table"))
    if measured != "values":
        subject = f"{measured} of {subject}"
    if isinstance(mostly := arguments.get("mostly"), int | float):
        bounds.append(f"in {100 * mostly:g}% of the rows")
    return f"{subject} {' and '.join(bounds)}" + (
        f", where {rule.where}" if rule.where else ""
    )


def _observed(
    rule: Rule,
    content: Mapping[str, Any],
    frame: pd.DataFrame,
    rows: Sequence[int],
    *,
    is_met: bool,
) -> str:
    """What the table has: a number, the range of a column of numbers, or a share of its rows."""
    share, value = content.get("unexpected_percent"), content.get("observed_value", 0)
    if share is None:
        if "observed_value" in content and isinstance(value, int | float | np.number):
            return f"{value:g}"
        return "as expected" if is_met else "other values"  # they may be report text
    column = str((rule.model_extra or {}).get("column", ""))
    there = int(content.get("element_count", 0))
    if column in frame.columns and is_numeric(frame[column]):
        seen = _rows_of(rule, frame)[column].dropna()
        spread = (
            f"{seen.min():g}"
            if seen.nunique() == 1
            else f"{seen.min():g} to {seen.max():g}"
        )
        if not len(seen):
            return "nothing to observe"
        return (
            f"{spread}; {len(rows)} of {there} rows outside"
            if rows
            else f"{spread} in {there} rows"
        )
    return f"{share:.1f}% of {there} rows otherwise" if rows else f"all {there} rows"


def _rows_of(rule: Rule, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows that an expectation is about."""
    return frame.query(rule.where, engine="python") if rule.where else frame
