"""Running a suite on a frame. Results carry keys and counts of failing rows, never their values: those may be
report text.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.quality.remedies import remedy
from lunguage_assets.quality.suites import load_suite
from lunguage_assets.tables.schema import Table

EXAMPLES = 20


@dataclass(frozen=True)
class RuleResult:
    """Outcome of one expectation: how many rows break it, the keys of up to `EXAMPLES` of them, and what to
    do.
    """

    rule: str
    column: str
    why: str
    success: bool
    failing_rows: int
    failing_keys: tuple[str, ...]
    remedy: str = ""


def validate(table: Table, frame: pd.DataFrame, job: str = "") -> list[RuleResult]:
    """Run the table's suite; one result per expectation, in the order of the suite. `job` makes the table,
    for the remedies.

    Whether a rule holds costs half of what its failing rows cost, so these are asked for only where it does
    not.
    """
    stored = load_suite(table.name)
    batch = frame_batch(frame)
    holds = _outcomes(batch, stored, range(len(stored["expectations"])), {"result_format": "BOOLEAN_ONLY"})
    broken = [position for position, outcome in holds.items() if not outcome.success]
    found = holds | (
        _outcomes(
            batch, stored, broken, {"result_format": "COMPLETE", "return_unexpected_index_query": False}
        )
        if broken
        else {}
    )
    return [
        _result(rule, found[position], table, frame, job)
        for position, rule in enumerate(stored["expectations"])
    ]


def _outcomes(
    batch: Any, stored: dict[str, Any], positions: Iterable[int], result_format: dict[str, Any]
) -> dict[int, Any]:
    """Position in the stored suite -> what great_expectations finds; it reorders them by column."""
    rules = [(position, stored["expectations"][position]) for position in positions]
    numbered = [{**rule, "meta": {**rule["meta"], "position": position}} for position, rule in rules]
    outcome = batch.validate(suite_of({**stored, "expectations": numbered}), result_format=result_format)
    return {result.expectation_config.meta["position"]: result for result in outcome.results}


def file_context(folder: Path) -> Any:
    """A project of great_expectations in a folder, from which a site can be built."""
    return _quiet(mode="file", project_root_dir=str(folder))


def _quiet(**where: str) -> Any:
    os.environ["GX_ANALYTICS_ENABLED"] = "false"  # nothing about a corpus leaves the machine
    import great_expectations as gx

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    context = gx.get_context(**where)
    context.variables.progress_bars = {"globally": False}
    return context


def suite_of(stored: dict[str, Any], advice: Callable[[str, dict[str, Any]], str] | None = None) -> Any:
    """A stored suite as great_expectations has it; `advice` says what to do when a rule of a table fails, for
    its pages.
    """
    import great_expectations as gx
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    suite = gx.ExpectationSuite(name=stored["name"])
    for rule in stored["expectations"]:
        notes = [rule["meta"]["why"], advice(stored["name"], rule)] if advice is not None else None
        suite.add_expectation_configuration(
            ExpectationConfiguration(
                type=rule["type"], kwargs=rule["kwargs"], meta=dict(rule["meta"]), notes=notes
            )
        )
    return suite


def frame_batch(frame: pd.DataFrame) -> Any:
    """A frame as great_expectations validates it."""
    source = _quiet(mode="ephemeral").data_sources.add_pandas("frames")
    definition = source.add_dataframe_asset("frame").add_batch_definition_whole_dataframe("whole")
    return definition.get_batch(batch_parameters={"dataframe": frame.reset_index(drop=True)})


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
