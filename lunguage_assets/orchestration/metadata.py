"""What a person sees of a table in the Dagster UI: its columns, counts, examples.

Never a value of a restricted column: those hold report text. Figures of the release are
not here, but in `pictures` and `release`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence

import dagster as dg
import pandas as pd

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


def counts(
    values: pd.Series | Mapping[str, int], label: str
) -> dg.MarkdownMetadataValue:
    """Return a table of counts, largest first.

    Args:
        values: to be counted, or value -> count; the `SHOWN` most frequent are shown.
        label: heading of the values.
    """
    tally = pd.Series(values, dtype="object")
    if isinstance(values, pd.Series):
        tally = values.value_counts()
    largest = tally[tally > 0].sort_values(ascending=False, kind="stable")[:SHOWN]
    return markdown([label, "rows"], [*largest.items()], "none")


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
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return (", ".join(listed[:SHOWN]) or "none") + more


def picture(png: bytes) -> dg.MarkdownMetadataValue:
    """Return a PNG that the UI shows inside the metadata."""
    encoded = base64.b64encode(png).decode()
    return dg.MetadataValue.md(f"![plot](data:image/png;base64,{encoded})")
