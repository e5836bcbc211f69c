"""What a step declares of its tables, and what it returns of them.

`table_asset` is Dagster's `@dg.multi_asset` with a table for each output; its pages are
"Multi-assets", "Asset checks" and "Data versions" (https://docs.dagster.io). A table is
validated where a step returns it, before Dagster takes it: what breaks a rule is not
stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, TypeAlias

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration.automation import batch_condition
from lunguage_assets.orchestration.checks import (
    answers_usable,
    conflict_free,
    expectations,
)
from lunguage_assets.orchestration.jobs import COSTS, JUDGES_POOL
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.orchestration.spending import Spending
from lunguage_assets.packaged_data import expectation
from lunguage_assets.quality.quarantine import valid_studies
from lunguage_assets.quality.rules import InvalidStudy, Tables, studies_of
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.schema import Table
from lunguage_assets.workspace.store import encode, fingerprint

Results: TypeAlias = Iterator[Any]
Check: TypeAlias = Callable[..., dg.AssetCheckResult]
Step: TypeAlias = Callable[..., Results]

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
    pool = JUDGES_POOL if asks_judges and configuration.judges.models else None
    checks_of_step = [*checks, answers_usable] if pool else checks
    specs = [check_spec(check, tables[0], partitions) for check in checks_of_step]
    outs = {}
    for table in tables:
        if table in SUITES:
            specs.append(check_spec(expectations, table, partitions))
        condition = batch_condition(configuration, table) if automated else None
        outs[table] = _asset_out(
            TABLES[table],
            asks_judges,
            group_name=group,
            code_version=code_version,
            automation_condition=condition,
        )

    def declare(step: Step) -> dg.AssetsDefinition:
        @wraps(step)
        def redacted_step(*inputs: Any, **named_inputs: Any) -> Results:
            with redact_errors():
                yield from step(*inputs, **named_inputs)

        return dg.multi_asset(
            name=step.__name__,
            outs=outs,
            partitions_def=partitions,
            pool=pool,
            check_specs=specs,
            **options,
        )(redacted_step)

    return declare


def _asset_out(table: Table, asks_judges: bool, **options: Any) -> dg.AssetOut:
    """Declare a table as an asset, with what the UI shows of it."""
    tags = {"paid": "llm"} if asks_judges else {}
    if any(column.restricted for column in table.columns):
        tags["contains"] = "report-text"
    # The UI reads Markdown, and would take `<finding>` for a tag of HTML.
    description = re.sub(r"(<[^>\s]+>)", r"`\1`", table.description)
    return dg.AssetOut(
        # What a step returns is no frame yet: `io_manager.ParquetStore` stores it.
        dagster_type=dg.Any,
        description=f"{description}\n\n{COSTS}" if asks_judges else description,
        metadata={
            "dagster/column_schema": column_schema(table),
            "dagster/table_name": table.name,
        },
        kinds={"pandas", "parquet"},
        tags=tags,
        **options,
    )


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
    """Return the spec of an asset's check, named and described as its function.

    Args:
        check: the function.
        asset: name of the asset.
        partitions: of it.
    """
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
) -> Results:
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
        tables, invalid = valid_studies(step, inputs, tables, configuration)
    of_step = dict(metadata or {})
    results = list(checks)
    if invalid:
        of_step["studies_set_aside"] = len(studies_of(invalid))
    if spending is not None:
        of_step |= spending.metadata()
        if spending.is_paid:
            results.append(answers_usable(configuration, spending.asked))
    # The step's own last.
    for table in sorted(tables, key=lambda name: name == step):
        encoded = encode(TABLES[table], tables[table], invalid)
        about: dict[str, Any] = {"dagster/row_count": encoded.rows}
        of_table: list[dg.AssetCheckResult] = []
        if table == step:
            about |= of_step
            of_table += results
        if table in SUITES:
            of_table.append(expectations(configuration, table, tables[table]))
        key = dg.AssetKey(table)
        yield dg.MaterializeResult(
            asset_key=key,
            value=encoded,
            metadata=about,
            # Where several tables have checks, Dagster wants to be told of which.
            check_results=[result._replace(asset_key=key) for result in of_table],
            data_version=dg.DataVersion(encoded.version),
        )
