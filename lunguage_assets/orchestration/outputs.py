"""What a step declares of its tables, and what it returns of them.

Dagster's pages are "Multi-assets", "Asset checks" and "Data versions"
(https://docs.dagster.io). A table is validated where a step returns it, before Dagster
takes it: what breaks a rule is not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration.checks import answers_usable, expectations
from lunguage_assets.orchestration.jobs import COSTS
from lunguage_assets.orchestration.metadata import as_written, column_schema, counts
from lunguage_assets.orchestration.spending import Spending
from lunguage_assets.packaged_data import expectation
from lunguage_assets.quality.quarantine import Tables, valid_studies
from lunguage_assets.quality.rules import InvalidStudy, studies_of
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.store import EncodedTable, encode, fingerprint

if TYPE_CHECKING:
    Result = dg.MaterializeResult[EncodedTable]
else:
    # Dagster refuses one with a type argument where an asset has checks.
    Result = dg.MaterializeResult

SUITES = frozenset(file.stem for file in expectation().iterdir())
"""Tables of which people expect something: expectations/<table>.yaml."""


def versioned(code: str, *read: object) -> str:
    """Name the version of a step: of its code, and of what it reads besides tables.

    Args:
        code: raised whenever the code gives another result for the same inputs.
        read: settings, packaged files: values of JSON.
    """
    return f"{code}-{fingerprint(read)}" if read else code


def table_outs(
    group: str,
    code_version: str,
    *tables: str,
    asks_judges: bool = False,
    condition: Callable[[str], dg.AutomationCondition[dg.AssetKey]] | None = None,
) -> dict[str, dg.AssetOut]:
    """Return tables as outputs of `@dg.multi_asset`, with what the UI shows of them.

    Args:
        group: of the assets.
        code_version: of the step that makes them (`versioned`).
        tables: their names, which are those of the assets.
        asks_judges: whether making them may cost money.
        condition: returns when the sensor requests a table; None: never.
    """
    outs = {}
    for table in tables:
        declared = TABLES[table]
        tags = {}
        if asks_judges:
            tags["paid"] = "llm"
        if any(column.restricted for column in declared.columns):
            tags["contains"] = "report-text"
        costs = f"\n\n{COSTS}" if asks_judges else ""
        outs[table] = dg.AssetOut(
            group_name=group,
            code_version=code_version,
            # What an asset returns is no table yet: `io_manager.ParquetStore` stores
            # it.
            dagster_type=dg.Any,
            description=as_written(declared.description + costs),
            metadata={
                "dagster/column_schema": column_schema(declared),
                "dagster/table_name": table,
            },
            kinds={"pandas", "parquet"},
            tags=tags,
            automation_condition=condition(table) if condition else None,
        )
    return outs


def check_specs(
    asset: str,
    partitions: dg.PartitionsDefinition[str],
    *checks: Callable[..., dg.AssetCheckResult],
    blocking: bool = False,
    pool: str | None = None,
) -> list[dg.AssetCheckSpec]:
    """Return the specs of an asset's checks, named and described as their functions.

    Args:
        asset: with which they run.
        partitions: of the asset.
        checks: functions of `checks`.
        blocking: whether nothing is stored where one of them fails.
        pool: where language models are asked, whose answers are checked, too.
    """
    specs = []
    if pool is not None:
        checks = (*checks, answers_usable)
    for check in checks:
        summary, _, _ = (check.__doc__ or "").partition("Args:")
        specs.append(
            dg.AssetCheckSpec(
                check.__name__,
                asset=asset,
                description=" ".join(summary.split()).replace("<table>", asset),
                blocking=blocking,
                partitions_def=partitions,
            )
        )
    return specs


def stored(
    configuration: Configuration,
    step: str,
    tables: Tables | pd.DataFrame,
    metadata: Mapping[str, Any] | None = None,
    checks: Sequence[dg.AssetCheckResult] = (),
    *,
    invalid: Sequence[InvalidStudy] = (),
    spending: Spending | None = None,
) -> Iterator[Result]:
    """Validate tables and return them; the same rows have the same data version.

    Args:
        configuration: of the home.
        step: the table that it is named after. It is stored last, so that where it is
            current its side tables are.
        tables: by name; or the step's alone.
        metadata: of the step's table, shown in the UI.
        checks: of the step's table; `expectations` is added where a table has a suite.
        invalid: studies that are not among the rows.
        spending: of a step that asks judges.

    Raises:
        InvalidTable: rows break a rule; nothing is stored.
    """
    if isinstance(tables, pd.DataFrame):
        tables = {step: tables}
    shown = dict(metadata or {})
    results = list(checks)
    if invalid:
        shown["studies_set_aside"] = len(studies_of(invalid))
    if spending is not None:
        shown |= spending.metadata()
        if spending.is_paid:
            results.append(answers_usable(configuration, spending.asked))
    for table, frame in tables.items():
        if table != step:
            yield _result(configuration, table, frame)
    yield _result(configuration, step, tables[step], shown, results, invalid)


def _result(
    configuration: Configuration,
    table: str,
    frame: pd.DataFrame,
    metadata: Mapping[str, Any] = MappingProxyType({}),
    checks: Sequence[dg.AssetCheckResult] = (),
    invalid: Sequence[InvalidStudy] = (),
) -> Result:
    """Return one table, as `stored` does."""
    declared = TABLES[table]
    encoded = encode(declared, frame, invalid)
    shown = {"dagster/row_count": encoded.rows, **metadata}
    if declared.counted:
        shown[declared.counted] = counts(frame[declared.counted], declared.counted)
    results = list(checks)
    if table in SUITES:
        results.append(expectations(configuration, table, frame))
    key = dg.AssetKey(table)
    return dg.MaterializeResult(
        asset_key=key,
        value=encoded,
        metadata=shown,
        # Where several tables of a step have checks, Dagster wants to be told of which.
        check_results=[result._replace(asset_key=key) for result in results],
        data_version=dg.DataVersion(encoded.version),
    )


def stored_valid(
    configuration: Configuration,
    step: str,
    inputs: Tables,
    tables: Tables | pd.DataFrame,
    metadata: Mapping[str, Any] | None = None,
    checks: Sequence[dg.AssetCheckResult] = (),
    *,
    spending: Spending | None = None,
) -> Iterator[Result]:
    """Set aside the studies that break a rule, and return the tables without them.

    Args:
        configuration: of the home.
        step: the table that it is named after.
        inputs: tables that the step read.
        tables: that it made, as in `stored`.
        metadata: as in `stored`.
        checks: as in `stored`.
        spending: of a step that asks judges.

    Raises:
        InvalidTable: too many studies break a rule; nothing is stored.
    """
    if isinstance(tables, pd.DataFrame):
        tables = {step: tables}
    valid, invalid = valid_studies(
        step,
        inputs,
        tables,
        strict=configuration.is_strict,
        processes=configuration.processes,
    )
    yield from stored(
        configuration,
        step,
        valid,
        metadata,
        checks,
        invalid=invalid,
        spending=spending,
    )
