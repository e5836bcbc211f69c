"""Expectations that people write about the tables of the method, run by Great Expectations:
`expectations/<table>.yaml`, or a file of that name in the folder `expectations` of the home. They only warn.
Results carry keys and counts of rows, never their values: those may be report text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from lunguage_assets.data_files import expectation, read_as
from lunguage_assets.files import shown_phrase
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
        shown = ", ".join(f"{name}: {value}" for name, value in (self.model_extra or {}).items())
        return f"{self.type} ({shown})" + (f", where {self.where}" if self.where else "")


class Suite(BaseModel):
    """What is expected of a table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    expectations: tuple[Rule, ...]


class Unmet(NamedTuple):
    """An expectation that does not hold: what was found, how many rows, the keys of up to `EXAMPLES`."""

    rule: str
    why: str
    found: str
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


def unmet(table: Table, frame: pd.DataFrame, file: Path) -> list[Unmet]:
    """Expectations that a table's rows do not meet, in the order of the file; none of an empty table. Raises
    as `load_suite`.
    """
    rules = load_suite(file).expectations
    if frame.empty or not rules:
        return []
    results = _run(rules, frame[columns_named(rules, table)].reset_index(drop=True))
    described = (_described(*of, table, frame, file) for of in zip(rules, results, strict=True))
    return [one for one in described if one is not None]


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
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    results: list[Any] = [None] * len(rules)
    known = []
    for position, rule in enumerate(rules):
        of_rows = {"row_condition": rule.where, "condition_parser": "pandas"} if rule.where else {}
        arguments = {**(rule.model_extra or {}), **of_rows}
        written = ExpectationConfiguration(rule.type, arguments, meta={"position": position})
        with suppress(GreatExpectationsError, TypeError, ValueError):
            known.append(written.to_domain_obj())
    # given at once: `add_expectation_configuration` keeps one of several for a column
    suite = gx.ExpectationSuite(name="rules", expectations=known)
    batch = _whole_frames().get_batch(batch_parameters={"dataframe": frame})
    shown = {"result_format": "COMPLETE", "return_unexpected_index_query": False}
    for result in batch.validate(suite, result_format=shown).results:  # not in their order
        if result.exception_info.get("raised_exception") is False:  # else great_expectations names measures
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


def _described(rule: Rule, result: Any, table: Table, frame: pd.DataFrame, file: Path) -> Unmet | None:
    """What does not hold; None where it does. A mean of no rows is none, and says nothing."""
    if result is None:
        why = "Great Expectations cannot run this expectation: see its type, columns and arguments."
        return Unmet(str(rule), why, "not run", 0, (), f"{file}: {_FIX}")
    content = result.result
    share, value = content.get("unexpected_percent"), content.get("observed_value", 0)
    if result.success or (value is None and not content.get("unexpected_count")):
        return None
    rows = content.get("unexpected_index_list") or []
    keys = table.keys_of(frame.iloc[rows[:EXAMPLES]])
    if table.key == ("phrase",):
        keys = [shown_phrase(key) for key in keys]
    found = "other values"  # not which ones: they may be report text
    if share is not None:
        found = f"{share:.1f}% of the rows"
    elif isinstance(value, int | float | np.number) and "observed_value" in content:
        found = f"{value:g}"
    return Unmet(str(rule), rule.why, found, len(rows), tuple(keys), rule.remedy)
