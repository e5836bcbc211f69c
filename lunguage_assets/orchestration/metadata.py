"""What a person sees of a table in the Dagster UI; never a value of a restricted column."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.files import literal
from lunguage_assets.lineage.recipes import RECIPES
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.columns import choices_told
from lunguage_assets.tables.schema import Column, Table

COSTS = (
    "Asks judges: paid for where these are language models. `lunguage estimate` says before what it would "
    "cost and how long it takes; answers that are in the ledger are not asked again."
)
"""What whoever launches such a table should know first."""

SHOWN = 20
"""Values that a count shows, and keys of rows that a check does."""


def column_schema(table: Table) -> dg.TableSchema:
    """The table's columns as the UI shows them, derived from its one schema."""
    columns = []
    for column in table.columns:
        empty = dg.TableColumnConstraints(nullable=column.nullable)
        columns.append(
            dg.TableColumn(
                column.name, column.type, _described(column), constraints=empty
            )
        )
    return dg.TableSchema(columns)


def _described(column: Column) -> str:
    codes = (
        f"{column.description.rstrip('.')}. {choices_told(column)}"
        if column.choices
        else ""
    )
    return as_written(codes or column.description) + (
        " [report text]" if column.restricted else ""
    )


def as_written(text: str) -> str:
    """Text for the UI, which reads Markdown and would take `<finding>` for an unknown HTML tag."""
    return re.sub(r"(<[^>\s]+>)", r"`\1`", text)


def asset_options(name: str, group: str) -> dict[str, Any]:
    """What the UI shows of an asset that is a table; tags: report text is inside, judges are asked."""
    recipe, table = RECIPES[name], TABLES[name]
    told, tags = [table.description], {}
    if recipe.asks_judges:
        told.append(COSTS)
        tags["paid"] = "llm"
    if side := [f"- `{one}`: {TABLES[one].description}" for one in recipe.tables[1:]]:
        told.append("Side tables, made and stored with it:\n\n" + "\n".join(side))
    if any(
        column.restricted for one in recipe.tables for column in TABLES[one].columns
    ):
        tags["contains"] = "report-text"
    return {
        "key": dg.AssetKey(name),
        "description": as_written("\n\n".join(told)),
        "metadata": {
            "dagster/column_schema": column_schema(table),
            "dagster/table_name": name,
        },
        "group_name": group,
        "kinds": {"pandas", "parquet"},
        "tags": tags,
    }


def counts(values: pd.Series | Mapping[str, int], label: str) -> dg.MetadataValue:
    """A markdown table of counts, largest first and at most `SHOWN`, with their shares of all."""
    tally = Counter(values.tolist() if isinstance(values, pd.Series) else dict(values))
    found = sorted((-count, str(key)) for key, count in tally.items() if count)
    rows = (
        (key, -count, f"{-count / tally.total():.1%}") for count, key in found[:SHOWN]
    )
    return markdown([label, "rows", "share"], rows, "none")


def markdown(
    header: Sequence[str], rows: Iterable[Sequence[object]], otherwise: str = "nothing"
) -> dg.MetadataValue:
    """A table for the UI; without rows, the plain words `otherwise`."""
    lines = [
        f"| {' | '.join(literal(str(value).replace('|', ' / ')) for value in row)} |"
        for row in rows
    ]
    head = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    return dg.MetadataValue.md("\n".join([*head, *lines]) if lines else otherwise)


def examples(keys: Iterable[object]) -> str:
    """The first keys, and how many more there are."""
    listed = [str(key) for key in keys]
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + more if listed else "none"


def picture(png: bytes) -> dg.MetadataValue:
    """A PNG that the UI shows inside the metadata."""
    return dg.MetadataValue.md(
        f"![plot](data:image/png;base64,{base64.b64encode(png).decode()})"
    )
