"""What a person sees of a table in the Dagster UI; never a value of a restricted column."""

from __future__ import annotations

import base64
import logging
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.current.recipes import RECIPES
from lunguage_assets.files import literal
from lunguage_assets.judges.asking.progress import Meter, Progress, announce
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.columns import choices_told
from lunguage_assets.tables.schema import Column, Table

COSTS = (
    "Asks judges: paid for where these are language models. `lunguage estimate` says before what it would "
    "cost and how long it takes; answers that are in the ledger are not asked again."
)
"""What whoever launches such a table should know first."""

COUNTED: Mapping[str, str] = {
    "structured_findings": "status",
    "findings": "status",
    "comparison_matches": "answer",
    "fitted_probabilities": "p_source",
    "deduplicated_findings": "disposition",
    "expansions": "outcome",
    "lunguage_plus_plus": "status",
}
"""Asset -> the column whose values are counted."""

SHOWN = 20
"""Values that a count shows, and keys of rows that a check does."""

LOG_EVERY_S = 30.0
"""A judge that is being asked reports so often in the run's log."""


def column_schema(table: Table) -> dg.TableSchema:
    """The table's columns as the UI shows them, derived from its one schema."""
    columns = []
    for column in table.columns:
        empty = dg.TableColumnConstraints(nullable=column.nullable)
        columns.append(dg.TableColumn(column.name, column.type, _described(column), constraints=empty))
    return dg.TableSchema(columns)


def _described(column: Column) -> str:
    codes = f"{column.description.rstrip('.')}. {choices_told(column)}" if column.choices else ""
    return as_written(codes or column.description) + (" [report text]" if column.restricted else "")


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
    if any(column.restricted for one in recipe.tables for column in TABLES[one].columns):
        tags["contains"] = "report-text"
    return {
        "key": dg.AssetKey(name),
        "description": as_written("\n\n".join(told)),
        "metadata": {"dagster/column_schema": column_schema(table), "dagster/table_name": name},
        "group_name": group,
        "kinds": {"pandas", "parquet"},
        "tags": tags,
    }


def counts(values: pd.Series | Mapping[str, int], label: str) -> dg.MetadataValue:
    """A markdown table of counts, largest first and at most `SHOWN`, with their shares of all."""
    tally = Counter(values.tolist() if isinstance(values, pd.Series) else dict(values))
    found = sorted((-count, str(key)) for key, count in tally.items() if count)
    rows = ((key, -count, f"{-count / tally.total():.1%}") for count, key in found[:SHOWN])
    return markdown([label, "rows", "share"], rows, "none")


def markdown(
    header: Sequence[str], rows: Iterable[Sequence[object]], otherwise: str = "nothing"
) -> dg.MetadataValue:
    """A table for the UI; without rows, the plain words `otherwise`."""
    lines = [f"| {' | '.join(literal(str(value).replace('|', ' / ')) for value in row)} |" for row in rows]
    head = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    return dg.MetadataValue.md("\n".join([*head, *lines]) if lines else otherwise)


def examples(keys: Iterable[object]) -> str:
    """The first keys, and how many more there are."""
    listed = [str(key) for key in keys]
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + more if listed else "none"


def picture(png: bytes) -> dg.MetadataValue:
    """A PNG that the UI shows inside the metadata."""
    return dg.MetadataValue.md(f"![plot](data:image/png;base64,{base64.b64encode(png).decode()})")


_SPENT = ("questions", "hits", "calls", "failures", "input_tokens", "output_tokens")
"""Fields of a judge's total that are shown."""


class Spending:
    """What the language models of a partition were asked and what it cost; rule-based judges leave nothing to
    show. Counts go to the run's log now and then, and to whoever listens in this process.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log, self._meter, self._logged = log, Meter(), dict[str, float]()

    def begin_with(self, prefetched: Iterable[Progress]) -> None:
        """Count calls made ahead for this partition; their questions are asked again, of the ledger."""
        for progress in prefetched:
            self._meter.note(replace(progress, questions=0, hits=0, settled=0))

    def note(self, progress: Progress) -> None:
        """Take note of where a judge stands; a line in the log at first and then every half minute."""
        self._meter.note(progress)
        announce(progress)
        now = time.monotonic()
        if now - self._logged.get(progress.judge, -LOG_EVERY_S) >= LOG_EVERY_S:
            self._logged[progress.judge] = now
            (total,) = (one for one in self._meter.totals() if one.judge == progress.judge)
            self._log.info(total.line())

    def metadata(self) -> dict[str, Any]:
        """Calls, ledger hits, failures, tokens and US dollars, in all and per language model."""
        totals = sorted(self._meter.totals(), key=lambda total: total.judge)
        for total in totals:
            self._log.info(total.line())
        if not totals:
            return {}
        rows = (
            (one.judge, *(getattr(one, name) for name in _SPENT), round(one.cost_usd, 4)) for one in totals
        )
        return {
            **{f"llm_{name}": sum(getattr(one, name) for one in totals) for name in _SPENT},
            "llm_cost_usd": round(sum(total.cost_usd for total in totals), 6),
            "llm_by_judge": markdown(["judge", *_SPENT, "US dollars"], rows),
        }
