"""What a person sees of a table in the Dagster UI: its columns, counts, examples.

Never a value of a restricted column: those hold report text. Figures of the release are
not here, but in `pictures` and `release`.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

import dagster as dg
import pandas as pd

from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.lineage.recipes import RECIPES
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.columns import choices_told
from lunguage_assets.tables.schema import Column, Table
from lunguage_assets.wording import literal

COSTS = (
    "Asks judges: paid for where these are language models. `lunguage estimate` says "
    "before what it would cost and how long it takes; answers that are in the ledger "
    "are not asked again."
)
"""What whoever launches such a table should know first."""

RANKED = (
    "Of its partitions only that of `{extractor}` is read further on: the phrases that "
    "it finds are ranked. Another one is chosen by one line of the judges file, "
    '`extractor = "..."` of the preset `{preset}`.'
)
"""Of the tables of one judge's phrases: what becomes of another judge's."""

JUDGES_POOL = "judges"
"""Pool of the assets that ask language models: of the runs in the queue one at a time
asks, because a budget holds by process.
"""

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


class TableOptions(TypedDict):
    """Arguments of `@dg.asset`."""

    code_version: str
    dagster_type: Any
    description: str
    metadata: Mapping[str, Any]
    kinds: set[str]
    pool: str | None
    tags: dict[str, str]


def table_options(step: str, judges: JudgesConfiguration | None = None) -> TableOptions:
    """Return the arguments of `@dg.asset` that follow from a step's declared tables.

    They are what the UI shows of the tables, the version of the step's code, and the
    pool of those that ask language models. Tags say whether report text is inside and
    whether judges are asked.

    Args:
        step: that makes the tables.
        judges: in force; of a step that asks none they change nothing.
    """
    recipe = RECIPES[step]
    table = TABLES[step]
    paragraphs = [table.description]
    tags = {}
    if recipe.asks_judges:
        paragraphs.append(COSTS)
        tags["paid"] = "llm"
    metadata: dict[str, Any] = {
        "dagster/column_schema": column_schema(table),
        "dagster/table_name": step,
    }
    if judges and step in ("hedge_phrases", "hedge_vocabulary"):
        extractor = judges.extractor
        paragraphs.append(RANKED.format(extractor=extractor, preset=judges.preset))
        metadata["ranked_phrases_of"] = extractor
    # Rules wait for nobody.
    is_limited = recipe.asks_judges and judges is not None and bool(judges.models)
    side_tables = [
        f"- `{name}`: {TABLES[name].description}" for name in recipe.tables[1:]
    ]
    if side_tables:
        heading = "Side tables, made and stored with it:\n\n"
        paragraphs.append(heading + "\n".join(side_tables))
    columns = [column for name in recipe.tables for column in TABLES[name].columns]
    if any(column.restricted for column in columns):
        tags["contains"] = "report-text"
    return TableOptions(
        code_version=recipe.code,
        # What an asset returns is no table yet: `io_manager.TableStore` stores it.
        dagster_type=dg.Any,
        description=as_written("\n\n".join(paragraphs)),
        metadata=metadata,
        kinds={"pandas", "parquet"},
        pool=JUDGES_POOL if is_limited else None,
        tags=tags,
    )


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
