"""What a step declares of its tables, and what it returns of them.

`table_asset` is Dagster's `@dg.multi_asset` with a table for each output; its pages are
"Multi-assets", "Asset checks" and "Data versions" (https://docs.dagster.io). A table is
validated where a step returns it, before Dagster takes it: what breaks a rule is not
stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration.automation import batch_condition
from lunguage_assets.orchestration.checks import (
    answers_usable,
    conflict_free,
    expectations,
)
from lunguage_assets.orchestration.jobs import COSTS, pool_of_judges
from lunguage_assets.orchestration.redaction import redacted
from lunguage_assets.orchestration.spending import Spending
from lunguage_assets.packaged_data import expectation
from lunguage_assets.quality.quarantine import Tables, valid_studies
from lunguage_assets.quality.rules import InvalidStudy, studies_of
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.schema import Table
from lunguage_assets.workspace.store import EncodedTable, encode, fingerprint

if TYPE_CHECKING:
    Result = dg.MaterializeResult[EncodedTable]
else:
    # Dagster refuses one with a type argument where an asset has checks.
    Result = dg.MaterializeResult

Check = Callable[..., dg.AssetCheckResult]
Step = Callable[..., Iterator[Any]]

SUITES = frozenset(file.stem for file in expectation().iterdir())
"""Tables of which people expect something: expectations/<table>.yaml."""


def versioned(code: str, *read: object) -> str:
    """Name the version of a step: of its code, and of what it reads besides tables.

    Args:
        code: raised whenever the code gives another result for the same inputs.
        read: settings, packaged files: values of JSON.
    """
    return f"{code}-{fingerprint(read)}" if read else code


def table_asset(
    configuration: Configuration,
    group: str,
    code_version: str,
    partitions: dg.PartitionsDefinition[str],
    *tables: str,
    checks: Sequence[Check] = (),
    asks_judges: bool = False,
    automated: bool = False,
    **options: Any,
) -> Callable[[Step], dg.AssetsDefinition]:
    """Declare a step that makes tables, as `@dg.multi_asset` does.

    Args:
        configuration: of the home.
        group: of the assets.
        code_version: of the step (`versioned`).
        partitions: of the assets.
        tables: their names, which are those of the assets; the step's own first.
        checks: of the step's own table; `expectations` are added to each with a suite.
        asks_judges: whether making them may cost money.
        automated: whether the sensor requests them when a batch has landed.
        options: of `@dg.multi_asset`: `ins`, `deps`.
    """
    pool = pool_of_judges(configuration.judges) if asks_judges else None
    by_table: list[tuple[str, Check]] = [(tables[0], check) for check in checks]
    if pool is not None:
        by_table.append((tables[0], answers_usable))
    by_table += [(table, expectations) for table in tables if table in SUITES]
    outs = {}
    for table in tables:
        condition = batch_condition(configuration, table) if automated else None
        outs[table] = dg.AssetOut(
            group_name=group,
            code_version=code_version,
            automation_condition=condition,
            **_shown(TABLES[table], asks_judges=asks_judges),
        )

    def declare(step: Step) -> dg.AssetsDefinition:
        return dg.multi_asset(
            name=step.__name__,
            outs=outs,
            partitions_def=partitions,
            pool=pool,
            check_specs=[
                check_spec(check, table, partitions) for table, check in by_table
            ],
            **options,
        )(redacted(step))

    return declare


def _shown(table: Table, *, asks_judges: bool) -> dict[str, Any]:
    """Return what the UI shows of a table."""
    tags = {"paid": "llm"} if asks_judges else {}
    if any(column.restricted for column in table.columns):
        tags["contains"] = "report-text"
    # The UI reads Markdown, and would take `<finding>` for a tag of HTML.
    description = re.sub(r"(<[^>\s]+>)", r"`\1`", table.description)
    return {
        # What a step returns is no frame yet: `io_manager.ParquetStore` stores it.
        "dagster_type": dg.Any,
        "description": f"{description}\n\n{COSTS}" if asks_judges else description,
        "metadata": {
            "dagster/column_schema": column_schema(table),
            "dagster/table_name": table.name,
        },
        "kinds": {"pandas", "parquet"},
        "tags": tags,
    }


def column_schema(table: Table) -> dg.TableSchema:
    """Return the columns of a table as the UI shows them, from its declaration."""
    return dg.TableSchema(
        [
            dg.TableColumn(column.name, column.type, column.description)
            for column in table.columns
        ]
    )


def check_spec(
    check: Check, asset: str, partitions: dg.PartitionsDefinition[str]
) -> dg.AssetCheckSpec:
    """Return the spec of an asset's check, named and described as its function."""
    summary, _, _ = (check.__doc__ or "").partition("Args:")
    return dg.AssetCheckSpec(
        check.__name__,
        asset=asset,
        description=" ".join(summary.split()).replace("<table>", asset),
        blocking=check is conflict_free,
        partitions_def=partitions,
    )


def stored(
    configuration: Configuration,
    step: str,
    tables: Tables | pd.DataFrame,
    metadata: Mapping[str, Any] | None = None,
    checks: Sequence[dg.AssetCheckResult] = (),
    *,
    inputs: Tables | None = None,
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
        inputs: tables that the step read, where the studies that break a rule are still
            to be left out.
        invalid: studies that are not among the rows.
        spending: of a step that asks judges.

    Raises:
        InvalidTable: rows break a rule; nothing is stored.
    """
    if isinstance(tables, pd.DataFrame):
        tables = {step: tables}
    if inputs is not None:
        tables, invalid = valid_studies(
            step,
            inputs,
            tables,
            strict=configuration.is_strict,
            processes=configuration.processes,
        )
    shown = dict(metadata or {})
    results = list(checks)
    if invalid:
        shown["studies_set_aside"] = len(studies_of(invalid))
    if spending is not None:
        shown |= spending.metadata()
        if spending.is_paid:
            results.append(answers_usable(configuration, spending.asked))
    for table in sorted(tables, key=lambda table: table == step):
        is_step = table == step
        yield _result(
            configuration,
            table,
            tables[table],
            shown if is_step else {},
            results if is_step else [],
            invalid if is_step else [],
        )


def _result(
    configuration: Configuration,
    table: str,
    frame: pd.DataFrame,
    metadata: Mapping[str, Any],
    checks: Sequence[dg.AssetCheckResult],
    invalid: Sequence[InvalidStudy],
) -> Result:
    """Return one table, as `stored` does."""
    encoded = encode(TABLES[table], frame, invalid)
    results = list(checks)
    if table in SUITES:
        results.append(expectations(configuration, table, frame))
    key = dg.AssetKey(table)
    return dg.MaterializeResult(
        asset_key=key,
        value=encoded,
        metadata={"dagster/row_count": encoded.rows, **metadata},
        # Where several tables of a step have checks, Dagster wants to be told of which.
        check_results=[result._replace(asset_key=key) for result in results],
        data_version=dg.DataVersion(encoded.version),
    )
