"""Which rules stored rows break: by the store's own schema, or by Great Expectations.

The store asserts a table's schema when it writes, and `schema_results` looks again in milliseconds. Great
Expectations takes 2.3 CPU seconds to import and 10 ms per rule, so `suite_results` imports it only where it
has a rule to run. Results carry keys and counts of failing rows, never their values: those may be report
text.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from upath import UPath

from lunguage_assets.home.store import stored_record
from lunguage_assets.quality.remedies import of_other_file, remedy
from lunguage_assets.quality.suites import load_suite
from lunguage_assets.tables.schema import Table

EXAMPLES = 20


@dataclass(frozen=True)
class RuleResult:
    """Outcome of one rule: how many rows break it, the keys of up to `EXAMPLES` of them, and what to do."""

    rule: str
    column: str
    why: str
    success: bool
    failing_rows: int
    failing_keys: tuple[str, ...]
    remedy: str = ""


def schema_results(table: Table, frame: pd.DataFrame, job: str = "") -> list[RuleResult]:
    """Rules of the schema that stored rows break, by the store's own assertion; none for an honest file.

    Args:
        table: whose schema it is.
        frame: one partition, columns and types asserted.
        job: makes the table, for the remedies.
    """
    return [
        RuleResult(
            rule,
            "",
            "The store refuses such rows.",
            False,
            int(rows.sum()),
            tuple(table.keys_of(frame[rows].head(EXAMPLES))),
            of_other_file(table.name, job),
        )
        for rule, rows in table.broken(frame)
    ]


def record_results(table: Table, path: UPath | Path, job: str = "") -> list[RuleResult]:
    """Whether a stored file is the one that was stored, by its record; nothing for an honest file."""
    if stored_record(table, path) is not None:
        return []
    why = "Another program wrote the file, or changed its rows."
    return [RuleResult("the file is as it was stored", "", why, False, 0, (), of_other_file(table.name, job))]


def suite_results(
    table: Table, frame: pd.DataFrame, job: str = "", *, by_hand: bool = False
) -> list[RuleResult]:
    """Run the table's suite by Great Expectations; one result per rule, in the order of the suite.

    Whether a rule holds costs half of what its failing rows cost, so these are asked for only where it does
    not.

    Args:
        table: whose suite it is.
        frame: one partition.
        job: makes the table, for the remedies.
        by_hand: leave out the rules that follow from the schema.
    """
    rules = [
        rule
        for rule in load_suite(table.name)["expectations"]
        if not (by_hand and rule["meta"].get("derived"))
    ]
    if not rules:
        return []
    found = _outcomes(frame, rules, range(len(rules)), {"result_format": "BOOLEAN_ONLY"})
    if broken := [position for position, outcome in found.items() if not outcome.success]:
        rows = {"result_format": "COMPLETE", "return_unexpected_index_query": False}
        found |= _outcomes(frame, rules, broken, rows)
    return [_result(rule, found[position], table, frame, job) for position, rule in enumerate(rules)]


def _outcomes(
    frame: pd.DataFrame,
    rules: Sequence[dict[str, Any]],
    positions: Iterable[int],
    result_format: dict[str, Any],
) -> dict[int, Any]:
    """Position of a rule -> what great_expectations finds; it reorders them by column."""
    import great_expectations as gx
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    suite = gx.ExpectationSuite(name="rules")
    for position in positions:
        rule = rules[position]
        suite.add_expectation_configuration(
            ExpectationConfiguration(type=rule["type"], kwargs=rule["kwargs"], meta={"position": position})
        )
    batch = _whole_frames().get_batch(batch_parameters={"dataframe": frame.reset_index(drop=True)})
    results = batch.validate(suite, result_format=result_format).results
    return {result.expectation_config.meta["position"]: result for result in results}


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


def _result(rule: dict[str, Any], result: Any, table: Table, frame: pd.DataFrame, job: str) -> RuleResult:
    rows = result.result.get("unexpected_index_list") or []
    known = [name for name in table.key if name in frame.columns]
    keys = ["|".join(map(str, key)) for key in frame.iloc[rows[:EXAMPLES]][known].itertuples(index=False)]
    column = (
        rule["kwargs"].get("column")
        or ", ".join(rule["kwargs"].get("column_list") or [])
        or _pair(rule["kwargs"])
    )
    if result.exception_info and result.exception_info.get("raised_exception"):
        what = remedy(table.name, rule, job, evaluated=False)
        return RuleResult(rule["type"], column, "The rule could not be evaluated.", False, 0, (), what)
    count = int(result.result.get("unexpected_count") or len(rows))
    what = "" if result.success else remedy(table.name, rule, job)
    return RuleResult(
        rule["type"], column, rule["meta"].get("why", ""), bool(result.success), count, tuple(keys), what
    )


def _pair(kwargs: dict[str, Any]) -> str:
    return " and ".join(str(kwargs[name]) for name in ("column_A", "column_B") if name in kwargs)
