"""Expectations that people write about tables, held against them by Great Expectations.

They stand in `expectations/<table>.yaml`, or in a file of that name in the folder
`expectations` of the home, and only warn. Results carry keys and counts of rows, never
their values: those may be report text. `docs/ui.md` says how to write one.

Not here: rules that a table must hold before it is stored (`rules.py`).
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

from lunguage_assets.packaged_data import expectation, read_as
from lunguage_assets.tables.schema import Table
from lunguage_assets.wording import is_numeric, shown_phrase

EXAMPLES = 20
"""Keys of rows that a result shows."""

_REMEDY = (
    "Fix the file, as docs/ui.md says; the other expectations of the file are looked "
    "at all the same."
)


class Rule(BaseModel):
    """An expectation as a person writes it.

    Attributes:
        type: as in the gallery of Great Expectations; its arguments stand beside it.
        why: what stands behind it.
        remedy: for whoever reads that it does not hold.
        where: of which rows it is, as pandas queries them; empty: of all.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    type: str
    why: str
    remedy: str
    where: str = ""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What Great Expectations gets besides the type."""
        return self.model_extra or {}

    @property
    def column(self) -> str:
        """The column that it is about; empty where it is about the table."""
        return str(self.arguments.get("column", ""))

    def __str__(self) -> str:
        arguments = [f"{name}: {value}" for name, value in self.arguments.items()]
        return f"{self.type} ({', '.join(arguments)}){self.condition}"

    @property
    def condition(self) -> str:
        """The words ", where ..."; empty without a condition."""
        return f", where {self.where}" if self.where else ""


class Suite(BaseModel):
    """What is expected of a table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    expectations: tuple[Rule, ...]


class Examined(NamedTuple):
    """An expectation that was held against a table.

    Attributes:
        rule: it, as it is written.
        why: what stands behind it.
        expected: it in words, bounds included.
        observed: what the table has instead: numbers and shares of rows, never words of
            a report.
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
    """Find the file of a table's suite: the home's own, else the packaged one."""
    if home is not None:
        own_file = home / "expectations" / f"{table}.yaml"
        if own_file.exists():
            return own_file
    return expectation(f"{table}.yaml")


def load_suite(file: Path) -> Suite:
    """Read the suite of a file.

    Raises:
        ConfigurationError: it cannot be read; names file and field.
    """
    return read_as(file, Suite, _REMEDY)


def examined(table: Table, frame: pd.DataFrame, file: Path) -> list[Examined]:
    """Hold a table's rows against all expectations of a file, in their order.

    Args:
        table: whose rows they are.
        frame: the rows; an empty table is held against nothing.
        file: of the suite.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    rules = load_suite(file).expectations
    if frame.empty or not rules:
        return []
    results = _run(rules, frame[columns_named(rules, table)].reset_index(drop=True))
    return [
        _examined(rule, result, table, frame, file)
        for rule, result in zip(rules, results, strict=True)
    ]


def columns_named(rules: Sequence[Rule], table: Table) -> list[str]:
    """List the key and the columns that rules name.

    Great Expectations hashes every column that it gets, which takes most of its time.
    """
    # Such a rule is about the columns themselves, so that none may be left out.
    if any(rule.type.startswith("expect_table_column") for rule in rules):
        return table.names
    words = {*table.key, *re.findall(r"\w+", " ".join(map(str, rules)))}
    return [name for name in table.names if name in words]


def _run(rules: Sequence[Rule], frame: pd.DataFrame) -> list[Any]:
    """Run all rules, and give their results in order.

    Returns:
        For each rule what Great Expectations says; None where it cannot run it.
    """
    import great_expectations as gx

    expectations = []
    for position, rule in enumerate(rules):
        expectation_of_rule = _expectation_of(rule, position)
        if expectation_of_rule is not None:
            expectations.append(expectation_of_rule)
    # Given at once: `add_expectation_configuration` keeps one of several for a column.
    suite = gx.ExpectationSuite(name="rules", expectations=expectations)
    batch = _batch_definition().get_batch(batch_parameters={"dataframe": frame})
    result_format = {
        "result_format": "COMPLETE",
        "return_unexpected_index_query": False,
    }
    results: list[Any] = [None] * len(rules)
    # They come in another order.
    for result in batch.validate(suite, result_format=result_format).results:
        # Where it raised, `exception_info` names measures, each with an error of its
        # own.
        if result.exception_info.get("raised_exception") is False:
            results[result.expectation_config.meta["position"]] = result
    return results


def _expectation_of(rule: Rule, position: int) -> Any:
    """Make the expectation of a rule; None where there is no such type or argument."""
    from great_expectations.exceptions import GreatExpectationsError
    from great_expectations.expectations.expectation_configuration import (
        ExpectationConfiguration,
    )

    arguments = dict(rule.arguments)
    if rule.where:
        arguments |= {"row_condition": rule.where, "condition_parser": "pandas"}
    configuration = ExpectationConfiguration(
        rule.type, arguments, meta={"position": position}
    )
    # A mistyped expectation is shown as one that was not run; it ends no run.
    with suppress(GreatExpectationsError, TypeError, ValueError):
        return configuration.to_domain_obj()
    return None


@cache
def _batch_definition() -> Any:
    """Make what frames are handed over through; one for a process, kept in memory."""
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
    """Tell an expectation and what was observed."""
    if result is None:
        return Examined(
            rule=str(rule),
            why=(
                "Great Expectations cannot run this expectation: see its type, columns "
                "and arguments."
            ),
            expected=_expected(rule),
            observed="not run",
            is_met=False,
            rows=0,
            keys=(),
            remedy=f"{file}: {_REMEDY}",
        )
    content = result.result
    # A mean of no rows is none, and says nothing.
    has_no_value = content.get("observed_value", 0) is None
    is_met = bool(result.success) or (
        has_no_value and not content.get("unexpected_count")
    )
    # Rows were numbered from 0 before they were handed over, so these are positions.
    positions = [] if is_met else content.get("unexpected_index_list") or []
    return Examined(
        rule=str(rule),
        why=rule.why,
        expected=_expected(rule),
        observed=_observed(rule, content, frame, len(positions), is_met=is_met),
        is_met=is_met,
        rows=len(positions),
        keys=_shown_keys(table, frame.iloc[positions[:EXAMPLES]]),
        remedy=rule.remedy,
    )


def _shown_keys(table: Table, rows: pd.DataFrame) -> tuple[str, ...]:
    keys = table.keys_of(rows)
    # A phrase of a judge may be a whole sentence of a report.
    if table.key == ("phrase",):
        return tuple(shown_phrase(key) for key in keys)
    return tuple(keys)


def _expected(rule: Rule) -> str:
    """Word an expectation: "high at least 0.8, where ...".

    One without bounds is told by its type and arguments.
    """
    # "p at least 0.1 and at most 0.9 in 95% of the rows" is read faster than the type
    # with its arguments.
    bounds = []
    low = rule.arguments.get("min_value")
    high = rule.arguments.get("max_value")
    if isinstance(low, int | float):
        bounds.append(f"at least {low:g}")
    if isinstance(high, int | float):
        bounds.append(f"at most {high:g}")
    if not bounds:
        return str(rule)
    mostly = rule.arguments.get("mostly")
    if isinstance(mostly, int | float):
        bounds.append(f"in {100 * mostly:g}% of the rows")
    measure = rule.type.removeprefix("expect_").removesuffix("_to_be_between")
    measure = measure.removeprefix("column_").replace("_", " ")
    subject = rule.column or "the table"
    if measure != "values":
        subject = f"{measure} of {subject}"
    return f"{subject} {' and '.join(bounds)}{rule.condition}"


def _observed(
    rule: Rule,
    content: Mapping[str, Any],
    frame: pd.DataFrame,
    broken_rows: int,
    *,
    is_met: bool,
) -> str:
    """Word what the table has: a number, a range of numbers, or a share of its rows.

    Args:
        rule: that was held against it.
        content: what Great Expectations says.
        frame: the table's rows.
        broken_rows: how many do not meet it.
        is_met: whether it holds.
    """
    share = content.get("unexpected_percent")
    if share is None:
        return _observed_value(content, is_met=is_met)
    rows = int(content.get("element_count", 0))
    # A range may be shown of numbers; the values of other columns may be report text.
    if rule.column in frame.columns and is_numeric(frame[rule.column]):
        return _observed_range(rule, frame, rows, broken_rows)
    return (
        f"{share:.1f}% of {rows} rows otherwise" if broken_rows else f"all {rows} rows"
    )


def _observed_value(content: Mapping[str, Any], *, is_met: bool) -> str:
    value = content.get("observed_value")
    if isinstance(value, int | float | np.number):
        return f"{value:g}"
    # Other values are not shown: they may be report text.
    return "as expected" if is_met else "other values"


def _observed_range(
    rule: Rule, frame: pd.DataFrame, rows: int, broken_rows: int
) -> str:
    chosen = frame.query(rule.where, engine="python") if rule.where else frame
    values = chosen[rule.column].dropna()
    if values.empty:
        return "nothing to observe"
    spread = f"{values.min():g}"
    if values.nunique() > 1:
        spread = f"{spread} to {values.max():g}"
    if broken_rows:
        return f"{spread}; {broken_rows} of {rows} rows outside"
    return f"{spread} in {rows} rows"
