"""What a person sees of a table in the Dagster UI: its columns, its size, small count tables. Never a value of a restricted column."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.engine import Progress
from lunguage_assets.schema import Table
from lunguage_assets.tables import TABLES

OWNERS = ["team:radiology-nlp"]


def column_schema(table: Table) -> dg.TableSchema:
    """The table's columns as the UI shows them, derived from its one schema."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=column.name,
                type=column.type,
                description=column.description + (" [report text]" if column.restricted else ""),
                constraints=dg.TableColumnConstraints(nullable=column.nullable),
            )
            for column in table.columns
        ]
    )


def table_options(name: str, group: str, *, kinds: set[str] | None = None, description: str = "") -> dict[str, Any]:
    """Options shared by every asset that is a table: key, description, columns, owner, group, kinds."""
    table = TABLES[name]
    return {
        "key": dg.AssetKey(name),
        "description": f"{table.description}\n\n{description}".strip(),
        "metadata": {"dagster/column_schema": column_schema(table), "dagster/table_name": name},
        "group_name": group,
        "owners": OWNERS,
        "kinds": {"pandas", "parquet"} | (kinds or set()),
    }


def asset_options(name: str, group: str, *, kinds: set[str] | None = None, description: str = "") -> dict[str, Any]:
    """`table_options` for the `asset` decorator, which names its output's I/O itself."""
    return table_options(name, group, kinds=kinds, description=description)


def counts(values: pd.Series | Mapping[str, int], label: str) -> dg.MetadataValue:
    """A markdown table of counts, largest first."""
    tally = values.value_counts() if isinstance(values, pd.Series) else pd.Series(dict(values), dtype="int64")
    pairs = sorted(((str(key), int(count)) for key, count in tally.items() if count), key=lambda pair: (-pair[1], pair[0]))
    lines = [f"| {label} | rows |", "|---|---|", *(f"| {key} | {count} |" for key, count in pairs)]
    return dg.MetadataValue.md("\n".join(lines))


def picture(png: bytes) -> dg.MetadataValue:
    """A PNG that the UI shows inside the metadata."""
    return dg.MetadataValue.md(f"![plot](data:image/png;base64,{base64.b64encode(png).decode()})")


class Spending:
    """What the language models of a partition were asked and what it cost; rule-based judges leave nothing to show."""

    def __init__(self) -> None:
        self._latest: dict[str, list[Progress]] = {}

    def note(self, progress: Progress) -> None:
        """Take note of where a judge stands; a new round of questions starts its counts anew."""
        rounds = self._latest.setdefault(progress.judge, [])
        if rounds and rounds[-1].settled < rounds[-1].questions:
            rounds[-1] = progress
        else:
            rounds.append(progress)

    def metadata(self) -> dict[str, Any]:
        """Calls, ledger hits, failures, tokens and US dollars of this materialization, over all its language models."""
        rounds = [progress for judge in self._latest.values() for progress in judge]
        if not rounds:
            return {}
        return {
            "llm_questions": sum(p.questions for p in rounds),
            "llm_ledger_hits": sum(p.hits for p in rounds),
            "llm_calls": sum(p.calls for p in rounds),
            "llm_failed_calls": sum(p.failures for p in rounds),
            "llm_input_tokens": sum(p.input_tokens for p in rounds),
            "llm_output_tokens": sum(p.output_tokens for p in rounds),
            "llm_cost_usd": round(sum(p.cost_usd for p in rounds), 6),
        }


@contextmanager
def plain_failures() -> Iterator[None]:
    """Turn an error that a person can act on into a Dagster failure with that message, and no retry."""
    try:
        yield
    except LunguageError as error:
        raise dg.Failure(description=str(error), metadata={"kind": type(error).__name__}, allow_retries=False) from None
