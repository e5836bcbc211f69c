"""Which rules stored rows break, and what to do: by the store's own schema, or by Great Expectations.

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
from lunguage_assets.quality.suites import COLUMNS, load_suite
from lunguage_assets.tables.schema import Table

EXAMPLES = 20

_OTHER_FILE = (
    "The package stores no such row, so the file was changed or put there by something else: launch `{job}` "
    "on this partition again, which replaces it. If the rule fails again, report it with the keys; do not "
    "use the rows."
)
_OTHER_VERSION = (
    "The file was written by another version: launch `{job}` on this partition again, then what follows from "
    "it."
)
_NOT_EVALUATED = (
    "The rule could not be evaluated, so it says nothing: see expectations/{table}.json, mend the rule, and "
    "run the check again."
)


@dataclass(frozen=True)
class RuleResult:
    """Outcome of one rule: how many rows break it, the keys of up to `EXAMPLES` of them, and what to do."""

    rule: str
    why: str
    success: bool
    column: str = ""
    failing_rows: int = 0
    failing_keys: tuple[str, ...] = ()
    remedy: str = ""


def schema_results(table: Table, frame: pd.DataFrame, job: str) -> list[RuleResult]:
    """Rules of the schema that stored rows break, by the store's own assertion; none for an honest file.

    Args:
        table: whose schema it is.
        frame: one partition, columns and types asserted.
        job: makes the table, for the remedies.
    """
    return [
        RuleResult(
            rule,
            "The store refuses such rows.",
            success=False,
            failing_rows=int(rows.sum()),
            failing_keys=tuple(table.keys_of(frame[rows].head(EXAMPLES))),
            remedy=_OTHER_FILE.format(job=job),
        )
        for rule, rows in table.broken(frame)
    ]


def record_results(table: Table, path: UPath | Path, job: str) -> list[RuleResult]:
    """Whether a stored file is the one that was stored, by its record; nothing for an honest file."""
    if stored_record(table, path) is not None:
        return []
    why, what = "Another program wrote the file, or changed its rows.", _OTHER_FILE.format(job=job)
    return [RuleResult("the file is as it was stored", why, success=False, remedy=what)]


def suite_results(table: Table, frame: pd.DataFrame, job: str, *, by_hand: bool = False) -> list[RuleResult]:
    """Run the table's suite by Great Expectations; one result per rule, in the order of the suite.

    Whether a rule holds costs half of what its failing rows cost, so these are asked for only where it does
    not. `by_hand`: leave out the rules that follow from the schema.
    """
    rules = load_suite(table.name)["expectations"]
    rules = [rule for rule in rules if not (by_hand and rule["meta"].get("derived"))]
    if not rules:
        return []
    found = outcomes(frame, rules, range(len(rules)), {"result_format": "BOOLEAN_ONLY"})
    if broken := [position for position, outcome in found.items() if not outcome.success]:
        rows = {"result_format": "COMPLETE", "return_unexpected_index_query": False}
        found |= outcomes(frame, rules, broken, rows)
    return [_result(rule, found[position], table, frame, job) for position, rule in enumerate(rules)]


def outcomes(
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
    kind, kwargs = rule["type"], rule["kwargs"]
    of_pair = [kwargs[name] for name in ("column_A", "column_B") if name in kwargs]
    column = kwargs.get("column") or ", ".join(kwargs.get("column_list", [])) or " and ".join(of_pair)
    if not was_evaluated(result):
        why, what = "The rule could not be evaluated.", _NOT_EVALUATED.format(table=table.name)
        return RuleResult(kind, why, success=False, column=column, remedy=what)
    rows = result.result.get("unexpected_index_list") or []
    known = [name for name in table.key if name in frame.columns]
    return RuleResult(
        kind,
        rule["meta"].get("why", ""),
        success=bool(result.success),
        column=column,
        failing_rows=int(result.result.get("unexpected_count") or len(rows)),
        failing_keys=tuple(
            "|".join(map(str, key)) for key in frame.iloc[rows[:EXAMPLES]][known].itertuples(index=False)
        ),
        remedy="" if result.success else remedy(rule, job),
    )


def was_evaluated(result: Any) -> bool:
    """False where the rule itself broke down: great_expectations then names the measures that did."""
    return bool(result.success) or result.exception_info.get("raised_exception") is False


def remedy(rule: dict[str, Any], job: str) -> str:
    """What to do when a rule fails: its own advice where a person wrote one, else what its kind says.

    Rules that follow from the schema are checked before a table is stored. If one fails afterwards, the file
    is not the one that was stored, and reading it is refused (`Table.require`).
    """
    otherwise = _OTHER_VERSION if rule["type"] == COLUMNS else _OTHER_FILE
    return str(rule["meta"].get("remedy") or otherwise.format(job=job))
