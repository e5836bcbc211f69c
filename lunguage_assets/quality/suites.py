"""Expectations that people write about tables, held against them by Great Expectations.

They stand in `expectations/<table>.yaml`, or in a file of that name in the folder
`expectations` of the home, and only warn. Results carry keys and counts of rows, never
their values: those may be report text. `docs/ui.md` says how to write one.

Not here: rules that a table must hold before it is stored (`rules.py`).
"""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from functools import cache
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from pydantic import BaseModel, ConfigDict

from lunguage_assets.packaged_data import expectation, read_as
from lunguage_assets.tables.schema import Table
from lunguage_assets.wording import shown_phrase

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
        why: what is expected, in words.
        remedy: for whoever reads that it does not hold.
        where: of which rows it is, as pandas queries them; empty: of all.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    type: str
    why: str
    remedy: str
    where: str = ""


class Suite(BaseModel):
    """What is expected of a table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    expectations: tuple[Rule, ...]


class Examined(NamedTuple):
    """An expectation that was held against a table.

    Attributes:
        why: what is expected, in words.
        is_met: whether it holds.
        observed: a number, or how many rows do not meet it; never words of a report.
        keys: of up to `EXAMPLES` of these rows.
        remedy: what to do where it does not hold.
    """

    why: str
    is_met: bool
    observed: str
    keys: tuple[str, ...]
    remedy: str


def suite_file(table: str, home: Path) -> Path:
    """Find the file of a table's suite: the home's own, else the packaged one."""
    own_file = home / "expectations" / f"{table}.yaml"
    if own_file.exists():
        return own_file
    return expectation(own_file.name)


def examined(table: Table, frame: pd.DataFrame, file: Path) -> list[Examined]:
    """Hold a table's rows against all expectations of a file, in their order.

    Args:
        table: whose rows they are.
        frame: the rows; an empty table is held against nothing.
        file: of the suite.

    Raises:
        ConfigurationError: the file cannot be read; names file and field.
    """
    rules = read_as(file, Suite, _REMEDY).expectations
    if frame.empty or not rules:
        return []
    # Great Expectations hashes every column that it gets, which takes most of its time;
    # but a rule about the columns themselves needs them all.
    words = re.findall(r"\w+", str(rules))
    if "expect_table_column" not in str(rules):
        frame = frame[[name for name in table.names if name in {*table.key, *words}]]
    frame = frame.reset_index(drop=True)
    batch = _batch_definition().get_batch(batch_parameters={"dataframe": frame})
    return [_examined(rule, _result(rule, batch), table, frame, file) for rule in rules]


def _result(rule: Rule, batch: Any) -> Any:
    """Ask Great Expectations about a rule; None where it cannot run what is written."""
    from great_expectations.exceptions import GreatExpectationsError
    from great_expectations.expectations.expectation_configuration import (
        ExpectationConfiguration,
    )

    arguments = dict(rule.model_extra or {})
    if rule.where:
        arguments |= {"row_condition": rule.where, "condition_parser": "pandas"}
    # A mistyped expectation is shown as one that was not run; it ends no run.
    with suppress(GreatExpectationsError, TypeError, ValueError):
        expectation_of_rule = ExpectationConfiguration(
            rule.type, arguments
        ).to_domain_obj()
        result = batch.validate(
            expectation_of_rule,
            result_format={
                "result_format": "COMPLETE",
                "return_unexpected_index_query": False,
            },
        )
        # Where it raised, `exception_info` names measures, each with an error of its
        # own.
        if result.exception_info.get("raised_exception") is False:
            return result
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
    """Say whether an expectation holds, and what was observed."""
    if result is None:
        return Examined(
            why="Great Expectations can run what is written.",
            is_met=False,
            observed=f"{rule.type} was not run: see its type, columns and arguments",
            keys=(),
            remedy=f"{file}: {_REMEDY}",
        )
    content = result.result
    observed = content.get("observed_value", 0)
    # A mean of no rows is none, and says nothing.
    has_no_value = observed is None and not content.get("unexpected_count")
    is_met = bool(result.success) or has_no_value
    # Rows were numbered from 0 before they were handed over, so these are positions.
    positions = [] if is_met else content.get("unexpected_index_list") or []
    if "element_count" in content:
        observed = f"not so in {len(positions)} of {content['element_count']} rows"
    elif isinstance(observed, Number):
        observed = f"{observed:g}"
    else:
        # Other values may be report text.
        observed = "as expected" if is_met else "other values"
    keys = table.keys_of(frame.iloc[positions[:EXAMPLES]])
    # A phrase of a judge may be a whole sentence of a report.
    if table.key == ("phrase",):
        keys = list(map(shown_phrase, keys))
    return Examined(rule.why, is_met, observed, tuple(keys), rule.remedy)
