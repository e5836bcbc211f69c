"""What a person sees of a table in the Dagster UI: its columns, its tags, small count tables, pictures. Never
a value of a restricted column.
"""

from __future__ import annotations

import base64
import io
import logging
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.current.recipes import RECIPES
from lunguage_assets.documents import literal, markdown_table
from lunguage_assets.judges.asking.progress import Meter, Progress, announce
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.columns import choices_told
from lunguage_assets.tables.schema import Column, Table

OWNERS = ["team:radiology-nlp"]
HALVES = ("explicit", "implicit")
COSTS = (
    "Asks judges: paid for where these are language models. `lunguage estimate` says before what it would "
    "cost and how long it takes; answers that are in the ledger are not asked again."
)
"""What whoever launches such a table should know first."""

KINDS = {"findings": {"csv"}, "report_texts": {"text"}}
"""Table -> kind of its source, for the UI."""

_REASONS = {"reasons": ("reason", "reason")}
COUNTED: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "report_texts": {"views": ("view_source", "views from")},
    "report_sentences": {"sections": ("section", "section")},
    "rejected_reports": _REASONS,
    "reading_notes": _REASONS,
    "structured_findings": {"status": ("status", "status"), "findings": ("normed_ent", "finding")},
    "sentence_accounts": {"accounts": ("account", "account")},
    "refused_values": _REASONS,
    "findings": {"status": ("status", "status"), "masking": ("mask_state", "mask")},
    "reports": {"views": ("view_source", "views from")},
    "rejected": _REASONS,
    "intake_notes": _REASONS,
    "terms": {"categories": ("category", "category")},
    "comparison_matches": {"answers": ("answer", "answer")},
    "fitted_probabilities": {"p_source": ("p_source", "source of p"), "stop": ("stop", "fit ended by")},
    "fit_log": {"opponents": ("opponent", "opponent")},
    "deduplicated_findings": {
        "disposition": ("disposition", "disposition"),
        "p_source": ("p_source", "source of p"),
    },
    "pathway_matches": _REASONS,
    "expansions": {"outcome": ("outcome", "outcome")},
    "lunguage_plus_plus": {"source": ("source", "source"), "status": ("status", "status")},
    "resolution_log": {"events": ("event", "event"), "rules": ("rule", "rule")},
}
"""Table -> metadata -> the column whose values are counted, and the heading of the counts."""

MOST_FREQUENT = 20

EXAMPLES = 20
"""Keys of failing rows that a check shows."""

BAR_WIDTH = 16
"""Characters of the longest bar."""

COLOURS = 64

LOG_EVERY_S = 30.0
"""A judge that is being asked reports so often in the run's log."""


def column_schema(table: Table) -> dg.TableSchema:
    """The table's columns as the UI shows them, derived from its one schema."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=column.name,
                type=column.type,
                description=_described(column),
                constraints=dg.TableColumnConstraints(nullable=column.nullable),
            )
            for column in table.columns
        ]
    )


def _described(column: Column) -> str:
    """What the column is, and what its codes mean."""
    codes = f"{column.description.rstrip('.')}. {choices_told(column)}" if column.choices else ""
    return as_written(codes or column.description) + (" [report text]" if column.restricted else "")


def as_written(text: str) -> str:
    """Text for the UI, which reads Markdown and would take `<finding>` for an unknown HTML tag."""
    return re.sub(r"(<[^>\s]+>)", r"`\1`", text)


def asset_options(name: str, group: str) -> dict[str, Any]:
    """What the UI shows of an asset that is a table: description, columns, owner, group, kinds, tags to
    search for (report text inside, half of the method, judges asked).
    """
    recipe, table = RECIPES[name], TABLES[name]
    side = [f"- `{one}`: {TABLES[one].description}" for one in recipe.tables[1:]]
    told = [table.description, *([COSTS] if recipe.asks_judges else [])]
    if side:
        told.append("Side tables, made and stored with it:\n\n" + "\n".join(side))
    columns = [column for one in recipe.tables for column in TABLES[one].columns]
    return {
        "key": dg.AssetKey(name),
        "description": as_written("\n\n".join(told)),
        "metadata": {"dagster/column_schema": column_schema(table), "dagster/table_name": name},
        "group_name": group,
        "owners": OWNERS,
        "kinds": {"pandas", "parquet"} | KINDS.get(name, set()),
        "tags": {
            **({"contains": "report-text"} if any(column.restricted for column in columns) else {}),
            **({"half": group} if group in HALVES else {}),
            **({"paid": "llm"} if recipe.asks_judges else {}),
        },
    }


def counted(table: Table, frame: pd.DataFrame) -> dict[str, dg.MetadataValue]:
    """The counts that are shown of a table."""
    shown = COUNTED.get(table.name, {})
    return {name: counts(frame[column], heading) for name, (column, heading) in shown.items()}


def counts(values: pd.Series | Mapping[str, int], label: str) -> dg.MetadataValue:
    """A markdown table of counts, largest first and at most `MOST_FREQUENT`, with their shares of all as
    numbers and as bars.
    """
    tally = values.value_counts() if isinstance(values, pd.Series) else pd.Series(dict(values), dtype="int64")
    pairs = sorted(
        ((str(key), int(count)) for key, count in tally.items() if count),
        key=lambda pair: (-pair[1], pair[0]),
    )
    return _bars(pairs[:MOST_FREQUENT], label, sum(count for _, count in pairs))


def probability_bars(values: pd.Series) -> dg.MetadataValue:
    """How many probabilities lie in each tenth from 0 to 1: a histogram without a picture."""
    tenths = (values.dropna() * 10).clip(0, 9).astype(int)
    tally = tenths.value_counts().reindex(range(10), fill_value=0)
    return _bars(
        [(f"{tenth / 10:.1f} to {(tenth + 1) / 10:.1f}", int(count)) for tenth, count in tally.items()],
        "p",
        int(tally.sum()),
    )


def account_of(totals: Mapping[str, int], label: str) -> dg.MetadataValue:
    """A markdown table of numbers in the order given, with their shares of the first one as numbers and as
    bars.
    """
    pairs = [(name.replace("_", " "), int(count)) for name, count in totals.items()]
    return _bars(pairs, label, pairs[0][1] if pairs else 0)


def _bars(pairs: Sequence[tuple[str, int]], label: str, total: int) -> dg.MetadataValue:
    if not total:
        return dg.MetadataValue.md("none")
    largest = max(count for _, count in pairs)
    lines = [f"| {label} | rows | share | |", "|---|---:|---:|---|"]
    lines += [
        f"| {literal(key)} | {count} | {count / total:.1%} | {_bar(count / largest)} |"
        for key, count in pairs
    ]
    return dg.MetadataValue.md("\n".join(lines))


def _bar(share: float) -> str:
    """A bar of block characters: a chart that needs no picture, and of which thousands may be stored."""
    eighths = max(1 if share > 0 else 0, round(share * BAR_WIDTH * 8))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


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


def _cell(value: object) -> str:
    return literal(str(value).replace("|", " / "))


def rows_table(frame: pd.DataFrame, columns: Sequence[str]) -> dg.MetadataValue:
    """Columns of a small frame as a table in the UI; an empty frame has none to show."""
    shown = markdown_table(frame[list(columns)], written=literal) if len(frame) else "no rows"
    return dg.MetadataValue.md(shown)


def picture(png: bytes) -> dg.MetadataValue:
    """A PNG that the UI shows inside the metadata, reduced to few colours: Dagster stores it with every
    event.
    """
    from PIL import Image  # slow to import, and definitions load this module

    stream = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        image.convert("RGB").quantize(
            COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        ).save(stream, "PNG", optimize=True)
    return dg.MetadataValue.md(
        f"![plot](data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()})"
    )


_SPENT = {
    "questions": "questions",
    "ledger_hits": "hits",
    "calls": "calls",
    "failed_calls": "failures",
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
}
"""Metadata of a table -> field of a judge's total."""


class Spending:
    """What the language models of a partition were asked and what it cost; rule-based judges leave nothing to
    show.

    Counts go to the run's log now and then, and to whoever listens in this process.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log, self._meter, self._ahead = log, Meter(), 0
        self._last: dict[str, float] = {}

    def begin_with(self, ahead: Sequence[Progress]) -> None:
        """Rounds in which the partition's one judge was asked before (`runs/ahead.py`); what they answered is
        not counted again.
        """
        self._ahead = sum(progress.settled for progress in ahead)
        for progress in ahead:
            self._meter.note(replace(progress, questions=progress.settled))

    def note(self, progress: Progress) -> None:
        """Take note of where a judge stands; a line in the log at its first report and then every half
        minute.
        """
        if self._ahead:
            counts = {name: getattr(progress, name) for name in ("questions", "hits", "settled")}
            progress = replace(progress, **{name: max(0, n - self._ahead) for name, n in counts.items()})
        self._meter.note(progress)
        announce(progress)
        now = time.monotonic()
        if now - self._last.get(progress.judge, -LOG_EVERY_S) >= LOG_EVERY_S:
            self._last[progress.judge] = now
            (total,) = (one for one in self._meter.totals() if one.judge == progress.judge)
            self._log.info(total.line())

    def metadata(self) -> dict[str, Any]:
        """Calls, ledger hits, failures, tokens and US dollars of this materialization, in all and per
        language model.
        """
        totals = sorted(self._meter.totals(), key=lambda total: total.judge)
        if not totals:
            return {}
        for total in totals:
            self._log.info(total.line())
        rows = [
            (one.judge, *(getattr(one, name) for name in _SPENT.values()), f"{one.cost_usd:.4f}")
            for one in totals
        ]
        header = ["judge", "questions", "from the ledger", "calls", "failed", "tokens in", "tokens out"]
        sums = {f"llm_{shown}": sum(getattr(s, name) for s in totals) for shown, name in _SPENT.items()}
        cost = round(sum(total.cost_usd for total in totals), 6)
        return {
            **sums,
            "llm_cost_usd": cost,
            "llm_by_judge": markdown([*header, "US dollars"], rows),
        }
