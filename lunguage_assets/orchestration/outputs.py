"""What a step declares of its tables, and what becomes of those that it returns.

`table_asset` is Dagster's `@dg.multi_asset` with a table for each output; its pages are
"Multi-assets", "Asset checks" and "Data versions" (https://docs.dagster.io). A step is
a function from frames to frames. Its tables are validated before Dagster takes them:
what breaks a rule is not stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeAlias

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import InvalidTable
from lunguage_assets.judges.progress import listening
from lunguage_assets.orchestration.automation import batch_condition
from lunguage_assets.orchestration.checks import (
    ERROR,
    answers_usable,
    conflict_free,
    expectations,
)
from lunguage_assets.orchestration.jobs import COSTS, JUDGES_POOL
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.orchestration.spending import Spending
from lunguage_assets.packaged_data import expectation
from lunguage_assets.quality.quarantine import valid_studies, without_invalid
from lunguage_assets.quality.rules import InvalidStudy, Tables, studies_of
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.schema import Table
from lunguage_assets.workspace.store import encode, fingerprint

Check: TypeAlias = Callable[..., dg.AssetCheckResult]

SUITES = frozenset(file.stem for file in expectation().iterdir())
"""Tables of which people expect something: expectations/<table>.yaml."""


class StepResult(NamedTuple):
    """What a step made.

    Attributes:
        tables: by name; the step's own, and those beside it.
        metadata: of the step's own table, shown in the UI.
        checks: of the step's own table.
        invalid: studies that are not among the rows. None: those that break a rule are
            still to be left out.
    """

    tables: Tables
    metadata: Mapping[str, Any] = {}
    checks: Sequence[dg.AssetCheckResult] = ()
    invalid: Sequence[InvalidStudy] | None = None


Step: TypeAlias = Callable[..., StepResult]


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

    The step gets the tables that its parameters name, without the studies that an
    earlier step set aside.

    Args:
        configuration: of the home.
        group: of the assets.
        code_version: of the step (`versioned`).
        partitions: of the assets.
        tables: their names, which are those of the assets; the step's own first.
        checks: of the step's own table, whose results it returns. `expectations` are
            added to each table with a suite, `answers_usable` where models are asked.
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
        def redacted_step(*context: Any, **parameters: Any) -> Iterator[Any]:
            # Beside these there may be the configuration, and tables of several judges.
            inputs = {
                name: value
                for name, value in parameters.items()
                if isinstance(value, pd.DataFrame)
            }
            spending = Spending(is_paid=pool is not None)
            with redact_errors():
                with listening(spending.note):
                    result = step(*context, **{**parameters, **without_invalid(inputs)})
                resource = parameters["configuration"]
                yield from _stored(resource, tables[0], inputs, result, spending)

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


def _stored(
    configuration: Configuration,
    step: str,
    inputs: Tables,
    result: StepResult,
    spending: Spending,
) -> Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]:
    """Validate tables and return them; the same rows have the same data version.

    Args:
        configuration: of the home.
        step: its own table, which is stored last: where it is current, the others are.
        inputs: tables that the step read.
        result: what it made.
        spending: what was asked meanwhile.

    Raises:
        InvalidTable: rows break a rule, or a check that blocks did not pass; nothing is
            stored.
    """
    tables = result.tables
    invalid = result.invalid
    if invalid is None:
        tables, invalid = valid_studies(step, inputs, tables, configuration)
    metadata = {**result.metadata, **spending.metadata()}
    if invalid:
        metadata["studies_set_aside"] = len(studies_of(invalid))
    checks = [*result.checks]
    if spending.is_paid:
        checks.append(answers_usable(configuration, spending.asked))
    for check in checks:
        # Dagster stores what an asset returns before it looks whether a blocking check
        # failed. So that check comes first, and what fails it is never returned.
        if check.severity is ERROR and not check.passed:
            yield check._replace(asset_key=dg.AssetKey(step))
            raise InvalidTable(f"{step}: {check.description}")
    for table in sorted(tables, key=lambda name: name == step):
        encoded = encode(TABLES[table], tables[table], invalid)
        key = dg.AssetKey(table)
        shown: dict[str, Any] = {"dagster/row_count": encoded.rows}
        checks_of_table = []
        if table == step:
            shown |= metadata
            checks_of_table += checks
        if table in SUITES:
            checks_of_table.append(expectations(configuration, table, tables[table]))
        yield dg.MaterializeResult(
            asset_key=key,
            value=encoded,
            metadata=shown,
            # Where several tables have checks, Dagster wants to be told of which.
            check_results=[check._replace(asset_key=key) for check in checks_of_table],
            data_version=dg.DataVersion(encoded.version),
        )
