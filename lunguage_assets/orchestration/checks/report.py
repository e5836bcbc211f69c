"""How a check says what it found: one form for all of them, so that a person finds counts, a table, the keys of rows and what to do.

Nothing here looks at data. Report text never comes in: keys, counts, codes, names of findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg

from lunguage_assets.home import Home
from lunguage_assets.orchestration.partitions import partition_of
from lunguage_assets.store import PARTITIONED_BY, partition_path

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
    shown = {"partition": partition_of(context), **metadata} | ({} if passed else {"remedy": remedy})
    return dg.AssetCheckResult(passed=passed, severity=severity, metadata=shown)


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]], otherwise: str = "nothing") -> dg.MetadataValue:
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
    """Key of the partition that is looked at, by dimension of the table; Dagster writes the dimensions in the same order as the store."""
    return dict(zip(PARTITIONED_BY[table], partition_of(context).split("|"), strict=True))


def where_stored(home: Home, table: str, keys: Mapping[str, str]) -> dict[str, Any]:
    """A link to the file of the partition that was looked at."""
    return {"table": dg.MetadataValue.path(str(partition_path(home.tables, table, *keys.values())))}


def _cell(value: object) -> str:
    return " ".join(str(value).replace("|", " / ").split())
