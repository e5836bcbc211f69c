"""How the command line shows an estimate."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table as RichTable

if TYPE_CHECKING:
    from lunguage_assets.judges.estimate import Estimate, EstimateLine

_COLUMNS = ("stage, judge", "questions", "ledger", "calls", "tokens in", "out", "USD", "at least", "at most",
            "minutes")  # fmt: skip
_WIDE = 120
"""Columns of the estimate's table: a narrow terminal wraps it, so that no number is cut off."""


def print_estimate(estimate: Estimate, judges_file: Path) -> None:
    """What a run would ask and spend: a line per stage and judge, totals, prices, and what is not known."""
    click.echo(f"preset {estimate.preset}, ranker {estimate.ranker}, batches: {', '.join(estimate.batches)}")
    if estimate.lines:
        steps = f"; about {estimate.steps or 0:.1f} steps a fit (published: 24.6)"
        click.echo(
            f"{estimate.reports:,} reports, {estimate.pairs:,} tentative pairs in {estimate.sentences:,} "
            "different masked sentences" + (steps if estimate.steps is not None else "")
        )
        console = Console(highlight=False)
        console.width = max(console.width, _WIDE)
        console.print(_estimate_table(estimate))
    for text in _estimate_remarks(estimate, judges_file):
        click.echo(text)


def _estimate_table(estimate: Estimate) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="dim", show_footer=True)
    counts = ("questions", "hits", "calls")

    def cells(line: EstimateLine | Estimate, usd: str, minutes: float) -> list[str]:
        return [_usd(line.usd) + usd, _usd(line.usd_at_least), _usd(line.usd_at_most), f"{minutes:,.1f}"]

    def summed(name: str) -> int:
        return sum(getattr(line, name) for line in estimate.lines)

    totals = [
        "total",
        *(f"{summed(name):,}" for name in counts),
        _short(summed("input_tokens")),
        _short(summed("output_tokens")),
        *cells(estimate, " + ?" if estimate.unpriced else "", sum(estimate.minutes.values())),
    ]
    for name, total in zip(_COLUMNS, totals, strict=True):
        table.add_column(name, justify="left" if total == "total" else "right", footer=total)
    for stage, judges in groupby(estimate.lines, key=attrgetter("stage")):
        table.add_row(stage)
        for line in judges:
            tokens = (_short(line.input_tokens), _short(line.output_tokens))
            numbers = (f"{getattr(line, name):,}" for name in counts)
            table.add_row(f"  {line.judge}", *numbers, *tokens, *cells(line, "", line.minutes))
    return table


def _usd(value: float | None) -> str:
    return "?" if value is None else f"{value:,.2f}"


def _short(tokens: int) -> str:
    return f"{tokens / 1e6:,.1f} M" if tokens >= 1e6 else f"{tokens / 1e3:,.0f} k"


def _estimate_remarks(estimate: Estimate, judges_file: Path) -> list[str]:
    if not estimate.lines:
        return list(estimate.remarks)
    stages = ", ".join(f"{stage} {minutes:,.1f}" for stage, minutes in estimate.minutes.items())
    dates = ", ".join(estimate.prices_as_of) or "no date: it gives none"
    learnt = sorted({line.judge for line in estimate.lines if line.basis == "ledger"})
    basis = (
        f"measured, from the ledger, for {', '.join(learnt)}; otherwise assumed (docs/models.md)."
        if learnt
        else "assumed, as the ledger has no answers yet (docs/models.md)."
    )
    return [
        f"Minutes by stage: {stages}. Judges are asked at the same time; the slowest counts.",
        f"Prices: {judges_file}, as of {dates}. Look them up before you rely on them.",
        f"Tokens and seconds of a call: {basis}",
        "Phrases that the ledger lacks are those of the rules, and the steps of a fit a mean, so this is an "
        "expectation. At least: every question is answered at once, every fit ends as soon as it may. At "
        "most: every question takes all tries and all output tokens, every fit all its steps.",
        *estimate.remarks,
    ]
