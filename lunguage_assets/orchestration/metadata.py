"""What a person sees of a table in the Dagster UI: its columns, counts, examples.

Never a value of a restricted column: those hold report text. Figures of the release are
not here, but in `pictures` and `release`.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import dagster as dg
import pandas as pd

from lunguage_assets.orchestration.jobs import COSTS
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.columns import choices_told
from lunguage_assets.tables.schema import Column, Table
from lunguage_assets.wording import literal

SHOWN = 20
"""Values that a count shows, and keys of rows that a check does."""


def column_schema(table: Table) -> dg.TableSchema:
    """Return the columns of a table as the UI shows them, from its declaration."""
    return dg.TableSchema(
        [
            dg.TableColumn(
                column.name,
                column.type,
                _column_description(column),
                constraints=dg.TableColumnConstraints(nullable=column.nullable),
            )
            for column in table.columns
        ]
    )


def _column_description(column: Column) -> str:
    description = column.description
    if column.choices:
        description = f"{description.rstrip('.')}. {choices_told(column)}"
    mark = " [report text]" if column.restricted else ""
    return as_written(description) + mark


def as_written(text: str) -> str:
    """Return a text for the UI, which reads Markdown.

    It would take `<finding>` for an unknown HTML tag.
    """
    return re.sub(r"(<[^>\s]+>)", r"`\1`", text)


def table_outs(
    group: str,
    code_version: str,
    *tables: str,
    asks_judges: bool = False,
    condition: Callable[[str], dg.AutomationCondition[dg.AssetKey]] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> dict[str, dg.AssetOut]:
    """Return tables as outputs of `@dg.multi_asset`, with what the UI shows of them.

    Args:
        group: of the assets.
        code_version: of the step that makes them (`io_manager.versioned`).
        tables: their names, which are those of the assets.
        asks_judges: whether making them may cost money.
        condition: returns when the sensor requests a table; None: never.
        metadata: further words for the UI.
    """
    outs = {}
    for table in tables:
        declared = TABLES[table]
        description = declared.description
        tags = {}
        if asks_judges:
            description += f"\n\n{COSTS}"
            tags["paid"] = "llm"
        if any(column.restricted for column in declared.columns):
            tags["contains"] = "report-text"
        outs[table] = dg.AssetOut(
            group_name=group,
            code_version=code_version,
            # What an asset returns is no table yet: `io_manager.ParquetStore` stores
            # it.
            dagster_type=dg.Any,
            description=as_written(description),
            metadata={
                "dagster/column_schema": column_schema(declared),
                "dagster/table_name": table,
                **(metadata or {}),
            },
            kinds={"pandas", "parquet"},
            tags=tags,
            automation_condition=condition(table) if condition else None,
        )
    return outs


def counts(
    values: pd.Series | Mapping[str, int], label: str
) -> dg.MarkdownMetadataValue:
    """Return a table of counts, largest first, with their shares of all.

    Args:
        values: to be counted, or value -> count; of many the `SHOWN` most frequent ones
            are shown.
        label: heading of the values.
    """
    if isinstance(values, pd.Series):
        tally = Counter(values.tolist())
    else:
        tally = Counter(dict(values))
    by_frequency = sorted(
        (-count, str(value)) for value, count in tally.items() if count
    )
    total = tally.total()
    rows = [
        (value, -negative, f"{-negative / total:.1%}")
        for negative, value in by_frequency[:SHOWN]
    ]
    return markdown([label, "rows", "share"], rows, "none")


def markdown(
    header: Sequence[str], rows: Iterable[Sequence[object]], otherwise: str = "nothing"
) -> dg.MarkdownMetadataValue:
    """Return a table for the UI.

    Args:
        header: names of the columns.
        rows: their values; no markup begins in them.
        otherwise: plain words where there are no rows.
    """
    lines = [_markdown_row(row) for row in rows]
    if not lines:
        return dg.MetadataValue.md(otherwise)
    head = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    return dg.MetadataValue.md("\n".join([*head, *lines]))


def _markdown_row(row: Sequence[object]) -> str:
    cells = [literal(str(value).replace("|", " / ")) for value in row]
    return f"| {' | '.join(cells)} |"


def examples(keys: Iterable[object]) -> str:
    """Return the first keys, and how many more there are."""
    listed = [str(key) for key in keys]
    if not listed:
        return "none"
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + more


def picture(png: bytes) -> dg.MarkdownMetadataValue:
    """Return a PNG that the UI shows inside the metadata."""
    encoded = base64.b64encode(png).decode()
    return dg.MetadataValue.md(f"![plot](data:image/png;base64,{encoded})")
