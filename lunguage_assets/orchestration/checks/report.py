"""How a check says what it found: one form for all of them, so that a person finds counts, a table, the keys
of rows and what to do.

Nothing here looks at data. Report text never comes in: keys, counts, codes, names of findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg

from lunguage_assets.home.home import Home
from lunguage_assets.home.store import PARTITIONED_BY, partition_path
from lunguage_assets.orchestration.dagster_private import AssetCheckEvaluationTargetMaterializationData
from lunguage_assets.orchestration.partitions import partition_of

EXAMPLES = 20
"""Keys of failing rows that a report shows."""


def result(
    context: dg.AssetCheckExecutionContext,
    passed: bool,
    metadata: Mapping[str, Any],
    remedy: str,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.WARN,
) -> dg.AssetCheckResult:
    """A check's result with the partition it looked at and, where it fails, what to do."""
    return result_for(partition_of(context), passed, metadata, remedy, severity)


def result_for(
    partition: str,
    passed: bool,
    metadata: Mapping[str, Any],
    remedy: str,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.WARN,
) -> dg.AssetCheckResult:
    """As `result`, for a named partition."""
    shown = {"partition": partition, **metadata} | ({} if passed else {"remedy": remedy})
    return dg.AssetCheckResult(passed=passed, severity=severity, metadata=shown)


def note_beside(
    instance: dg.DagsterInstance,
    run: dg.DagsterRun,
    check: dg.AssetCheckKey,
    record: dg.EventLogRecord,
    found: dg.AssetCheckResult,
) -> None:
    """Put a check's result beside a materialization (`record`) that another run has made.

    The event belongs to `run`: without one, Dagster takes one evaluation of a check and partition, and no
    second.
    """
    made = AssetCheckEvaluationTargetMaterializationData(
        storage_id=record.storage_id, run_id=str(record.run_id or ""), timestamp=record.timestamp
    )
    evaluation = dg.AssetCheckEvaluation(
        asset_key=check.asset_key,
        check_name=check.name,
        partition=record.partition_key,
        passed=found.passed,
        severity=found.severity,
        metadata=found.metadata,
        target_materialization_data=made,
    )
    event = dg.DagsterEvent(
        dg.DagsterEventType.ASSET_CHECK_EVALUATION.value, run.job_name, event_specific_data=evaluation
    )
    instance.report_dagster_event(event, run.run_id)


def markdown(
    header: Sequence[str], rows: Iterable[Sequence[object]], otherwise: str = "nothing"
) -> dg.MetadataValue:
    """A table for the UI; without rows, the plain words `otherwise`."""
    lines = [f"| {' | '.join(_cell(value) for value in row)} |" for row in rows]
    if not lines:
        return dg.MetadataValue.md(otherwise)
    return dg.MetadataValue.md("\n".join([f"| {' | '.join(header)} |", f"|{'---|' * len(header)}", *lines]))


def examples(keys: Iterable[object]) -> str:
    """The first keys, and how many more there are."""
    listed = [str(key) for key in keys]
    more = f" and {len(listed) - EXAMPLES} more" if len(listed) > EXAMPLES else ""
    return ", ".join(listed[:EXAMPLES]) + more if listed else "none"


def partition_keys(context: dg.AssetCheckExecutionContext, table: str) -> dict[str, str]:
    """Key of the partition that is looked at, by dimension of the table; Dagster writes the dimensions in the
    same order as the store.
    """
    return dict(zip(PARTITIONED_BY[table], partition_of(context).split("|"), strict=True))


def where_stored(context: dg.AssetCheckExecutionContext, home: Home, table: str) -> dict[str, Any]:
    """A link to the file of the partition that was looked at."""
    return {
        "table": dg.MetadataValue.path(
            str(partition_path(home.tables, table, *partition_keys(context, table).values()))
        )
    }


def _cell(value: object) -> str:
    return " ".join(str(value).replace("|", " / ").split())
